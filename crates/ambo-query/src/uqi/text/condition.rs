//! Conditions. NOT is moved down to what cannot be taken apart while they are read.

use ambo_codec::Value;

use super::{Condition, Read, Scanner, inputs, number};
use crate::predicate::{Arithmetic, Compare, Operand, Predicate, TextTest};

/// A condition, or with `is` false its opposite.
pub(super) fn condition(scanner: &mut Scanner<'_>, is: bool) -> Read<Condition> {
    scanner.nested(|scanner| {
        let mut parts = vec![all(scanner, is)?];
        while scanner.word("or") {
            parts.push(all(scanner, is)?);
        }
        Ok(joined(parts, is, Condition::Or, Condition::And))
    })
}

fn all(scanner: &mut Scanner<'_>, is: bool) -> Read<Condition> {
    let mut parts = vec![negated(scanner, is)?];
    while scanner.word("and") {
        parts.push(negated(scanner, is)?);
    }
    Ok(joined(parts, is, Condition::And, Condition::Or))
}

/// Parts that are joined by a word; those of rows alone become one.
fn joined(
    mut parts: Vec<Condition>,
    is: bool,
    word: fn(Vec<Condition>) -> Condition,
    other: fn(Vec<Condition>) -> Condition,
) -> Condition {
    if parts.len() == 1 {
        return parts.swap_remove(0);
    }
    let made = if is { word(parts) } else { other(parts) };
    let (Condition::And(parts) | Condition::Or(parts)) = &made else { return made };
    let of_rows = |part: &Condition| if let Condition::Rows(rows) = part { Some(rows.clone()) } else { None };
    match parts.iter().map(of_rows).collect::<Option<Vec<_>>>() {
        None => made,
        Some(rows) if matches!(made, Condition::And(_)) => Condition::Rows(Predicate::And(rows)),
        Some(rows) => Condition::Rows(Predicate::Or(rows)),
    }
}

fn negated(scanner: &mut Scanner<'_>, is: bool) -> Read<Condition> {
    match scanner.word("not") {
        true => scanner.nested(|scanner| negated(scanner, !is)),
        false => single(scanner, is),
    }
}

fn single(scanner: &mut Scanner<'_>, is: bool) -> Read<Condition> {
    let at = scanner.at();
    if let Some(plugin) = plugin(scanner, is)? {
        return Ok(plugin);
    }
    let known = scanner.names.len();
    let read = comparison(scanner);
    let of_rows = match read {
        Ok(rows) => rows,
        // What is in parentheses may be a condition.
        Err(what) => {
            scanner.back_to(at);
            scanner.names.truncate(known);
            if !scanner.sign("(") {
                return Err(what);
            }
            let inner = condition(scanner, is)?;
            scanner.expect(")")?;
            return Ok(inner);
        }
    };
    Ok(Condition::Rows(if is { of_rows } else { of_rows.not() }))
}

/// A call of a predicate, if one stands here.
fn plugin(scanner: &mut Scanner<'_>, is: bool) -> Read<Option<Condition>> {
    let at = scanner.at();
    let name = scanner.function();
    if let Some(name) = name.filter(|_| scanner.sign("(")) {
        scanner.back_to(scanner.at() - 1);
        let inputs = inputs(scanner)?;
        return Ok(Some(Condition::Plugin { name, inputs, is }));
    }
    scanner.back_to(at);
    Ok(None)
}

fn comparison(scanner: &mut Scanner<'_>) -> Read<Predicate> {
    let left = sum(scanner)?;
    if scanner.word("is") {
        let is_not = scanner.word("not");
        scanner.expect_word("null")?;
        let is_null = Predicate::IsNull(left);
        return Ok(if is_not { is_null.not() } else { is_null });
    }
    let is_not = scanner.word("not");
    let of = |made: Predicate| Ok(if is_not { made.not() } else { made });
    if scanner.word("between") {
        let low = sum(scanner)?;
        scanner.expect_word("and")?;
        return of(Predicate::Between(left, low, sum(scanner)?));
    }
    if scanner.word("in") {
        return of(Predicate::In(left, list(scanner)?));
    }
    if scanner.word("like") {
        let pattern = scanner.text().ok_or("a text in single quotes should stand behind LIKE")?;
        return of(Predicate::Text(left, TextTest::Like(pattern.into_bytes())));
    }
    if is_not {
        return Err("BETWEEN, IN or LIKE should stand behind NOT".into());
    }
    let signs = [
        ("<>", Compare::NotEqual),
        ("!=", Compare::NotEqual),
        ("<=", Compare::LessEqual),
        (">=", Compare::GreaterEqual),
        ("<", Compare::Less),
        (">", Compare::Greater),
        ("==", Compare::Equal),
        ("=", Compare::Equal),
    ];
    match signs.iter().find(|(sign, _)| scanner.sign(sign)) {
        Some((_, by)) => Ok(Predicate::Compare(*by, left, sum(scanner)?)),
        None => Err("a comparison should stand here".into()),
    }
}

fn list(scanner: &mut Scanner<'_>) -> Read<Vec<Value>> {
    scanner.expect("(")?;
    let mut list = Vec::new();
    loop {
        list.push(constant(scanner).ok_or("a constant should stand here")?);
        if !scanner.sign(",") {
            break;
        }
    }
    scanner.expect(")")?;
    Ok(list)
}

/// Operands that are joined by these signs, from left to right.
fn joined_by(
    scanner: &mut Scanner<'_>,
    signs: &[(&str, Arithmetic)],
    part: fn(&mut Scanner<'_>) -> Read<Operand>,
) -> Read<Operand> {
    let mut made = part(scanner)?;
    let mut depth = 0;
    while let Some((_, what)) = signs.iter().find(|(sign, _)| scanner.sign(sign)) {
        depth += 1;
        if depth > 100 {
            return Err("arithmetic of at most 100 parts can stand in a row".into());
        }
        made = made.with(*what, part(scanner)?);
    }
    Ok(made)
}

fn sum(scanner: &mut Scanner<'_>) -> Read<Operand> {
    joined_by(scanner, &[("<<", Arithmetic::ShiftLeft), (">>", Arithmetic::ShiftRight)], |scanner| {
        joined_by(scanner, &[("+", Arithmetic::Add), ("-", Arithmetic::Subtract)], product)
    })
}

fn product(scanner: &mut Scanner<'_>) -> Read<Operand> {
    let signs = [("*", Arithmetic::Multiply), ("/", Arithmetic::Divide), ("%", Arithmetic::Remainder)];
    joined_by(scanner, &signs, operand)
}

fn operand(scanner: &mut Scanner<'_>) -> Read<Operand> {
    if let Some(constant) = constant(scanner) {
        return Ok(Operand::Literal(constant));
    }
    if scanner.sign("(") {
        return scanner.nested(|scanner| {
            let inner = sum(scanner)?;
            scanner.expect(")")?;
            Ok(inner)
        });
    }
    match scanner.input() {
        Some(input) => Ok(Operand::column(scanner.place(input))),
        None => Err("a condition should stand here".into()),
    }
}

fn constant(scanner: &mut Scanner<'_>) -> Option<Value> {
    for (word, value) in [("true", Value::Bool(true)), ("false", Value::Bool(false)), ("null", Value::Null)] {
        if scanner.word(word) {
            return Some(value);
        }
    }
    if let Some(text) = scanner.text() {
        return Some(Value::Utf8(text));
    }
    let at = scanner.at();
    let sign = if scanner.sign("-") { "-" } else { "" };
    match scanner.unsigned() {
        Some(digits) => number(&format!("{sign}{digits}")),
        None => {
            scanner.back_to(at);
            None
        }
    }
}
