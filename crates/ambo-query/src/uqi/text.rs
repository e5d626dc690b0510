//! The text of a query, read once.

use ambo_codec::Value;
use ambo_types::{Error, Result};

use crate::predicate::Predicate;

mod condition;
mod scanner;

use scanner::Scanner;

/// What a name in parentheses stands for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Name {
    Key,
    Record,
    Column(String),
}

/// Of what rows are read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Target {
    /// A database by its number, as upscaledb has them: the table `db_N`.
    Number(u16),
    /// A table by name.
    Table(String),
}

impl Target {
    /// The name of the table.
    pub fn table(&self) -> String {
        match self {
            Self::Number(number) => format!("db_{number}"),
            Self::Table(name) => name.clone(),
        }
    }
}

/// Which rows are left. Columns of conditions are names, by their places.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Condition {
    Rows(Predicate),
    /// That a predicate answers with `is`.
    Plugin {
        name: String,
        inputs: Vec<usize>,
        is: bool,
    },
    And(Vec<Condition>),
    Or(Vec<Condition>),
}

/// A query as it was read.
#[derive(Clone, Debug, PartialEq)]
pub struct Statement {
    pub(super) is_distinct: bool,
    pub(super) function: String,
    pub(super) inputs: Vec<usize>,
    pub(super) target: Target,
    pub(super) condition: Option<Condition>,
    pub(super) limit: Option<u64>,
    pub(super) names: Vec<Name>,
}

impl Statement {
    /// Reads a text.
    ///
    /// # Errors
    /// [`Error::Invalid`]: where it is not understood, and what should stand there.
    pub fn parse(text: &str) -> Result<Self> {
        let mut scanner = Scanner::new(text);
        let read = statement(&mut scanner);
        read.map_err(|what| Error::Invalid(format!("UQI, at byte {}: {what}", scanner.at())))
    }

    /// Of what rows are read.
    pub fn target(&self) -> &Target {
        &self.target
    }
}

type Read<T> = std::result::Result<T, String>;

fn statement(scanner: &mut Scanner<'_>) -> Read<Statement> {
    let is_distinct = scanner.word("distinct");
    let function = scanner.function().ok_or("the name of a function should stand here")?;
    let inputs = inputs(scanner)?;
    scanner.expect_word("from")?;
    let target = target(scanner)?;
    let condition = match scanner.word("where") {
        true => Some(condition::condition(scanner, true)?),
        false => None,
    };
    let limit = match scanner.word("limit") {
        true => Some(scanner.whole().ok_or("a number should stand behind LIMIT")?),
        false => None,
    };
    scanner.sign(";");
    if !scanner.is_end() {
        return Err("the text should end here".into());
    }
    let names = std::mem::take(&mut scanner.names);
    Ok(Statement { is_distinct, function, inputs, target, condition, limit, names })
}

/// One or two inputs in parentheses.
fn inputs(scanner: &mut Scanner<'_>) -> Read<Vec<usize>> {
    scanner.expect("(")?;
    let mut inputs = Vec::new();
    loop {
        let input = scanner.input().ok_or("$key, $record or the name of a column should stand here")?;
        inputs.push(scanner.place(input));
        if inputs.len() == 2 || !scanner.sign(",") {
            break;
        }
    }
    scanner.expect(")")?;
    Ok(inputs)
}

fn target(scanner: &mut Scanner<'_>) -> Read<Target> {
    if scanner.word("database") {
        let number = scanner.number_of_database().ok_or("the number of a database should stand here")?;
        return match u16::try_from(number) {
            Ok(number) => Ok(Target::Number(number)),
            Err(_) => Err(format!("the number of a database has 16 bits, and {number} has more")),
        };
    }
    let mut name =
        scanner.name().ok_or("DATABASE and a number, or the name of a table, should stand here")?;
    if scanner.sign(".") {
        let table = scanner.name().ok_or("the name of a table should stand here")?;
        name = format!("{name}.{table}");
    }
    Ok(Target::Table(name))
}

/// A number as it is written, with its sign.
fn number(text: &str) -> Option<Value> {
    if let Ok(integer) = text.parse::<i128>() {
        let small = i64::try_from(integer).map(Value::I64);
        let small = small.or_else(|_| u64::try_from(integer).map(Value::U64));
        return Some(small.unwrap_or(Value::Decimal128 { unscaled: integer, scale: 0 }));
    }
    text.parse().ok().map(Value::F64)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::predicate::{Arithmetic, Compare, Operand};

    fn parse(text: &str) -> Statement {
        Statement::parse(text).unwrap_or_else(|error| panic!("{text}: {error}"))
    }

    #[test]
    fn the_language_of_upscaledb_is_read() {
        let read = parse("  dIsTiNcT  Top ( $KEY ) from DATABASE 0x10 where even($record) limit 7 ;");
        assert!(read.is_distinct);
        assert_eq!((read.function.as_str(), read.limit, read.target), ("top", Some(7), Target::Number(16)));
        assert_eq!(read.names, [Name::Key, Name::Record]);
        assert_eq!(
            read.condition,
            Some(Condition::Plugin { name: "even".into(), inputs: vec![1], is: true })
        );
        assert_eq!(parse("COUNT($key) FROM DATABASE 010").target, Target::Number(8));
        assert_eq!(parse("\"My-Fun@lib.so\"($key, $record) FROM database 1").function, "my-fun@lib.so");
        assert_eq!(parse("a-b_1($key) FROM database 1").function, "a-b_1");
    }

    #[test]
    fn conditions_are_trees() {
        let read = parse(
            "SUM(bytes) FROM main.flows WHERE NOT (src = 5 AND even(dst)) OR bytes % 2 + 1 BETWEEN 1 AND 3 AND (name LIKE 'a%' OR ts IS NOT NULL)",
        );
        assert_eq!(read.target, Target::Table("main.flows".into()));
        let Some(Condition::Or(parts)) = &read.condition else { panic!("{read:?}") };
        assert_eq!(
            parts[0],
            Condition::Or(vec![
                Condition::Rows(Predicate::column(1, Compare::Equal, 5i64).not()),
                Condition::Plugin { name: "even".into(), inputs: vec![2], is: false },
            ])
        );
        let Condition::Rows(rows) = &parts[1] else { panic!("{parts:?}") };
        let Predicate::And(both) = rows else { panic!("{rows}") };
        let made = Operand::column(0).with(Arithmetic::Remainder, Operand::literal(2i64));
        let made = made.with(Arithmetic::Add, Operand::literal(1i64));
        assert_eq!(both[0], Predicate::Between(made, Operand::literal(1i64), Operand::literal(3i64)));
    }

    #[test]
    fn what_is_not_understood_is_said() {
        for (text, what) in [
            ("", "at byte 0: the name of a function should stand here"),
            ("COUNT $key FROM DATABASE 1", "\"(\" should stand here"),
            ("COUNT(*) FROM DATABASE 1", "$key, $record or the name of a column"),
            ("COUNT($key)", "FROM should stand here"),
            ("COUNT($key) FROM DATABASE 65536", "has 16 bits"),
            ("COUNT($key) FROM DATABASE 1 WHERE", "a condition should stand here"),
            ("COUNT($key) FROM DATABASE 1 LIMIT x", "a number should stand behind LIMIT"),
            ("COUNT($key) FROM DATABASE 1 garbage", "the text should end here"),
            ("COUNT($key) FROM DATABASE 1 WHERE $key = 'x", "a condition should stand here"),
        ] {
            let error = Statement::parse(text).unwrap_err().to_string();
            assert!(error.contains(what), "{text}: {error}");
        }
        let deep = format!("COUNT($key) FROM t WHERE {}$key = 1", "(".repeat(100_000));
        assert!(Statement::parse(&deep).unwrap_err().to_string().contains("nested"));
        let deep = format!("COUNT($key) FROM t WHERE {}$key = 1", "NOT ".repeat(100_000));
        assert!(Statement::parse(&deep).unwrap_err().to_string().contains("nested"));
    }
}
