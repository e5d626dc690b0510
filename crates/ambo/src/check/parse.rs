//! From the text of a check to a condition, if it is one of columns and constants.
//!
//! ```text
//! any      = all { OR all }
//! all      = not { AND not }
//! not      = NOT not | question
//! question = ( any ) | operand [ comparison operand | IS [NOT] NULL | [NOT] BETWEEN operand AND operand | [NOT] IN ( operand , … ) ]
//! operand  = column | length ( column ) | [-] number | 'text' | [DATE | TIMESTAMP] 'text' | TRUE | FALSE
//! ```
//!
//! Everything else is for SQL, and so is a constant that is not a value of its column's type: what SQL makes of it is not known here.

use ambo_engine::catalog::TableDefinition;

use super::condition::{Condition, Operand};
use crate::{Compare, Datum, Type};

/// The condition that a text says of a table's columns.
pub(super) fn condition(text: &str, definition: &TableDefinition) -> Option<Condition> {
    let mut parser = Parser { tokens: tokens(text)?, at: 0, definition };
    let condition = parser.any()?;
    (parser.at == parser.tokens.len()).then_some(condition)
}

#[derive(Clone, Debug, PartialEq)]
enum Token {
    /// A word, in lower case, that is not quoted.
    Word(String),
    /// A name in double quotes.
    Name(String),
    Number(String),
    Text(String),
    Sign(&'static str),
}

const SIGNS: [&str; 12] = ["<=", ">=", "<>", "!=", "=", "<", ">", "(", ")", ",", "-", "+"];

fn tokens(text: &str) -> Option<Vec<Token>> {
    let mut tokens = Vec::new();
    let mut rest = text.trim_start();
    while let Some(first) = rest.chars().next() {
        let (token, len) = if first == '\'' || first == '"' {
            let (inner, len) = quoted(rest, first)?;
            (if first == '"' { Token::Name(inner) } else { Token::Text(inner) }, len)
        } else if first.is_ascii_digit()
            || (first == '.' && rest[1..].starts_with(|c: char| c.is_ascii_digit()))
        {
            let len = number_len(rest)?;
            (Token::Number(rest[..len].to_owned()), len)
        } else if first.is_alphabetic() || first == '_' {
            let len = rest.find(|c: char| !c.is_alphanumeric() && c != '_').unwrap_or(rest.len());
            (Token::Word(rest[..len].to_lowercase()), len)
        } else {
            let sign = SIGNS.into_iter().find(|sign| rest.starts_with(sign))?;
            (Token::Sign(sign), sign.len())
        };
        tokens.push(token);
        rest = rest[len..].trim_start();
    }
    Some(tokens)
}

/// What is in quotes, and how long that is with them.
fn quoted(text: &str, quote: char) -> Option<(String, usize)> {
    let mut inner = String::new();
    let mut chars = text.char_indices().skip(1).peekable();
    while let Some((at, c)) = chars.next() {
        if c != quote {
            inner.push(c);
        } else if chars.next_if(|(_, next)| *next == quote).is_some() {
            inner.push(quote);
        } else {
            return Some((inner, at + 1));
        }
    }
    None
}

/// Digits with a point and an exponent; nothing that a letter follows.
fn number_len(text: &str) -> Option<usize> {
    let bytes = text.as_bytes();
    let digits = |mut at: usize| {
        while bytes.get(at).is_some_and(u8::is_ascii_digit) {
            at += 1;
        }
        at
    };
    let mut at = digits(0);
    if bytes.get(at) == Some(&b'.') {
        at = digits(at + 1);
    }
    if matches!(bytes.get(at), Some(b'e' | b'E')) {
        let sign = usize::from(matches!(bytes.get(at + 1), Some(b'+' | b'-')));
        let end = digits(at + 1 + sign);
        (end > at + 1 + sign).then_some(())?;
        at = end;
    }
    let is_word = |byte: &u8| byte.is_ascii_alphanumeric() || *byte == b'_' || *byte == b'.' || *byte >= 0x80;
    (!bytes.get(at).is_some_and(is_word)).then_some(at)
}

/// An operand before its type is known.
enum Raw {
    Column(usize),
    Length(usize),
    Number(String),
    Text(String),
    Typed(Type, String),
    Bool(bool),
}

struct Parser<'a> {
    tokens: Vec<Token>,
    at: usize,
    definition: &'a TableDefinition,
}

impl Parser<'_> {
    fn next(&mut self) -> Option<Token> {
        let token = self.tokens.get(self.at)?.clone();
        self.at += 1;
        Some(token)
    }

    /// Takes a token, if it is the next.
    fn takes(&mut self, token: &Token) -> bool {
        let is_next = self.tokens.get(self.at) == Some(token);
        self.at += usize::from(is_next);
        is_next
    }

    fn takes_word(&mut self, word: &str) -> bool {
        let is_next = matches!(self.tokens.get(self.at), Some(Token::Word(next)) if next == word);
        self.at += usize::from(is_next);
        is_next
    }

    fn takes_sign(&mut self, sign: &'static str) -> bool {
        self.takes(&Token::Sign(sign))
    }

    fn any(&mut self) -> Option<Condition> {
        let mut parts = vec![self.all()?];
        while self.takes_word("or") {
            parts.push(self.all()?);
        }
        Some(if parts.len() == 1 { parts.remove(0) } else { Condition::Any(parts) })
    }

    fn all(&mut self) -> Option<Condition> {
        let mut parts = vec![self.not()?];
        while self.takes_word("and") {
            parts.push(self.not()?);
        }
        Some(if parts.len() == 1 { parts.remove(0) } else { Condition::All(parts) })
    }

    fn not(&mut self) -> Option<Condition> {
        if self.takes_word("not") {
            return Some(Condition::Not(Box::new(self.not()?)));
        }
        self.question()
    }

    fn question(&mut self) -> Option<Condition> {
        if self.takes_sign("(") {
            let inner = self.any()?;
            return self.takes_sign(")").then_some(inner);
        }
        let left = self.operand()?;
        if let Some(compare) = self.comparison() {
            let right = self.operand()?;
            return self.compared(&left, compare, &right);
        }
        if self.takes_word("is") {
            let is_not = self.takes_word("not");
            self.takes_word("null").then_some(())?;
            let is_null = Condition::IsNull(self.alone(&left)?);
            return Some(if is_not { Condition::Not(Box::new(is_null)) } else { is_null });
        }
        let is_not = self.takes_word("not");
        let condition = if self.takes_word("between") {
            let low = self.operand()?;
            self.takes_word("and").then_some(())?;
            let high = self.operand()?;
            Condition::All(vec![
                self.compared(&left, Compare::GreaterEqual, &low)?,
                self.compared(&left, Compare::LessEqual, &high)?,
            ])
        } else if self.takes_word("in") {
            self.among(&left)?
        } else {
            let Raw::Column(column) = left else { return None };
            let is_bool = self.definition.columns[column].kind == Type::Bool;
            return (is_bool && !is_not).then_some(Condition::Is(column));
        };
        Some(if is_not { Condition::Not(Box::new(condition)) } else { condition })
    }

    fn among(&mut self, left: &Raw) -> Option<Condition> {
        let operand = self.alone(left)?;
        self.takes_sign("(").then_some(())?;
        let mut others = Vec::new();
        loop {
            let other = self.operand()?;
            let (_, other) = self.pair(left, &other)?;
            others.push(other);
            if self.takes_sign(")") {
                return Some(Condition::In(operand, others));
            }
            self.takes_sign(",").then_some(())?;
        }
    }

    fn comparison(&mut self) -> Option<Compare> {
        let compare = match self.tokens.get(self.at)? {
            Token::Sign("=") => Compare::Equal,
            Token::Sign("<>" | "!=") => Compare::NotEqual,
            Token::Sign("<") => Compare::Less,
            Token::Sign("<=") => Compare::LessEqual,
            Token::Sign(">") => Compare::Greater,
            Token::Sign(">=") => Compare::GreaterEqual,
            _ => return None,
        };
        self.at += 1;
        Some(compare)
    }

    fn operand(&mut self) -> Option<Raw> {
        Some(match self.next()? {
            Token::Name(name) => Raw::Column(self.definition.column_index(&name)?),
            Token::Number(number) => Raw::Number(number),
            Token::Text(text) => Raw::Text(text),
            Token::Sign("-") => match self.next()? {
                Token::Number(number) => Raw::Number(format!("-{number}")),
                _ => return None,
            },
            Token::Sign(_) => return None,
            Token::Word(word) => return self.word(&word),
        })
    }

    fn word(&mut self, word: &str) -> Option<Raw> {
        let literal = match self.tokens.get(self.at) {
            Some(Token::Text(text)) => Some(text.clone()),
            _ => None,
        };
        match (word, literal) {
            ("date", Some(text)) => self.typed(Type::Date32, text),
            ("timestamp", Some(text)) => self.typed(Type::Timestamp, text),
            ("true", None) => Some(Raw::Bool(true)),
            ("false", None) => Some(Raw::Bool(false)),
            ("length" | "char_length" | "character_length", None) if self.takes_sign("(") => {
                let Raw::Column(column) = self.operand()? else { return None };
                let is_text = self.definition.columns[column].kind == Type::Utf8;
                (self.takes_sign(")") && is_text).then_some(Raw::Length(column))
            }
            (_, None) => Some(Raw::Column(self.definition.column_index(word)?)),
            _ => None,
        }
    }

    fn typed(&mut self, kind: Type, text: String) -> Option<Raw> {
        self.at += 1;
        Some(Raw::Typed(kind, text))
    }

    fn compared(&self, left: &Raw, compare: Compare, right: &Raw) -> Option<Condition> {
        let (left, right) = self.pair(left, right)?;
        Some(Condition::Compare(left, compare, right))
    }

    /// Two operands of one type, one of which is of a column.
    fn pair(&self, left: &Raw, right: &Raw) -> Option<(Operand, Operand)> {
        let kind = self.kind(left).or(self.kind(right))?;
        Some((self.of(left, kind)?, self.of(right, kind)?))
    }

    fn kind(&self, raw: &Raw) -> Option<Type> {
        match raw {
            // How values compare that mean more than their bytes, SQL knows.
            Raw::Column(column) => match &self.definition.columns[*column] {
                of if of.logical.as_ref().is_some_and(|logical| logical.kind() != Type::Utf8) => None,
                of => Some(of.kind),
            },
            Raw::Length(_) => Some(Type::I64),
            _ => None,
        }
    }

    fn alone(&self, raw: &Raw) -> Option<Operand> {
        self.of(raw, self.kind(raw)?)
    }

    /// An operand as a value of a type, if it is one.
    fn of(&self, raw: &Raw, kind: Type) -> Option<Operand> {
        let constant = |text: &str| Datum::parse(text, kind).ok().map(Operand::Constant);
        let is_number = !matches!(
            kind,
            Type::Bool | Type::Utf8 | Type::Binary | Type::Date32 | Type::Time64 | Type::Timestamp
        );
        match raw {
            // What SQL compares a short float as is not known here.
            _ if kind == Type::F32 => None,
            Raw::Column(column) if self.kind(raw) == Some(kind) => Some(Operand::Column(*column)),
            Raw::Length(column) if kind == Type::I64 => Some(Operand::Length(*column)),
            Raw::Number(text) if is_number => constant(text),
            Raw::Text(text) if kind == Type::Utf8 => constant(text),
            Raw::Typed(of, text) if *of == kind => constant(text),
            Raw::Bool(value) if kind == Type::Bool => Some(Operand::Constant(Datum::Bool(*value))),
            _ => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::DatumRef;

    fn table() -> TableDefinition {
        let decimal = Type::Decimal128 { precision: 10, scale: 2 };
        let table = TableDefinition::new("t").column("a", Type::I32).column("Big", Type::I64);
        let table = table.column("f", Type::F64).column("d", decimal).column("s", Type::Utf8);
        table.column("on_", Type::Bool).column("day", Type::Date32).column("b", Type::I32)
    }

    fn answer(text: &str) -> Option<bool> {
        let row = [
            Datum::I32(5),
            Datum::I64(7),
            Datum::F64(-0.0),
            Datum::parse("1.50", table().columns[3].kind).unwrap(),
            Datum::Utf8("it's ø".into()),
            Datum::Bool(true),
            Datum::parse("2020-02-29", Type::Date32).unwrap(),
            Datum::Null,
        ];
        let condition = condition(text, &table()).unwrap_or_else(|| panic!("{text}"));
        condition.answer(&|column: usize| Ok::<DatumRef<'_>, crate::Error>(row[column].as_ref())).unwrap()
    }

    /// Keeps away: conditions that say another thing here than in SQL.
    #[test]
    fn conditions_say_what_sql_says() {
        for text in [
            "a > 4",
            "(A >= 5 AND a <= 5)",
            "5 = a",
            "a <> -5",
            "NOT (a = 4 OR a = 6)",
            "a BETWEEN 5 AND 9 AND a NOT BETWEEN 6 AND 9",
            "a IN (1, 5)",
            "a NOT IN (1, 2)",
            "\"Big\" = 7",
            "f = 0",
            "f >= 0.0 AND f < 1e-3",
            "d = 1.5",
            "d > 1.49",
            "s = 'it''s ø'",
            "length(s) = 6",
            "char_length(s) <= 6",
            "on_",
            "on_ = TRUE",
            "day = DATE '2020-02-29'",
            "b IS NULL AND a IS NOT NULL",
            "a = 5 OR b > 3",
        ] {
            assert_eq!(answer(text), Some(true), "{text}");
            assert_eq!(answer(&format!("NOT ({text})")), Some(false), "{text}");
        }
        for text in ["b > 3", "a IN (1, 2) AND NULL IS NULL OR b = 1", "b IN (1, 2)", "a = b", "NOT b = 1"] {
            if let Some(condition) = condition(text, &table()) {
                let null = |column: usize| {
                    Ok::<_, crate::Error>(if column == 0 { DatumRef::I32(5) } else { DatumRef::Null })
                };
                assert_eq!(condition.answer(&null).unwrap(), None, "{text}");
            }
        }
    }

    /// Keeps away: taking a condition for understood that is not.
    #[test]
    fn what_is_for_sql_is_left_to_it() {
        for text in [
            "",
            "a",
            "a >",
            "a > 1.5",
            "a > 'x'",
            "a + 1 > 5",
            "s LIKE 'x%'",
            "lower(s) = 'x'",
            "a = \"Big\"",
            "s > 5",
            "d = 1.555",
            "nosuch = 1",
            "(a > 1",
            "a > 1)",
            "a = 5 5",
            "a > 12345678901",
            "day > '2020-01-01'",
            "a > 1 = true",
            "big = 7",
            "1 < 2",
            "a > 1_000",
            "x'ff' = s",
        ] {
            assert_eq!(condition(text, &table()), None, "{text}");
        }
    }
}
