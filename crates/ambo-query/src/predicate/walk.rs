//! The tree walk: what a condition says of a row, value by value. The other evaluators are held to it.

use ambo_codec::{Value, ValueRef};
use ambo_types::{Error, Result};

use super::{
    Compare, Operand, Predicate, TextTest,
    numbers::{Number, combine, compare, compare_numbers},
};

/// What is known of a part: true, false or unknown (NULL); or there is no answer, and why.
type Answer = Result<Option<bool>, String>;

/// What an operand is.
enum Of<'v> {
    Value(ValueRef<'v>),
    Number(Number),
}

/// Whether a row is taken, whose values `value` gives by relation and column. `None` is NULL, neither true nor false.
///
/// # Errors
/// [`Error::Invalid`] if the row cannot be answered: see rule 3 of the module.
pub fn walk<'v>(
    predicate: &'v Predicate,
    value: &impl Fn(usize, usize) -> ValueRef<'v>,
) -> Result<Option<bool>> {
    answer(predicate, value).map_err(|why| Error::Invalid(format!("a condition has no answer: {why}")))
}

fn answer<'v>(predicate: &'v Predicate, value: &impl Fn(usize, usize) -> ValueRef<'v>) -> Answer {
    match predicate {
        Predicate::Compare(by, left, right) => ordered(*by, operand(left, value)?, operand(right, value)?),
        Predicate::Between(of, low, high) => all([
            operand(of, value).and_then(|of| ordered(Compare::GreaterEqual, of, operand(low, value)?)),
            operand(of, value).and_then(|of| ordered(Compare::LessEqual, of, operand(high, value)?)),
        ]),
        Predicate::In(of, list) => {
            let is = |one: &'v Value| ordered(Compare::Equal, operand(of, value)?, Of::Value(one.as_ref()));
            any(list.iter().map(is))
        }
        Predicate::IsNull(of) => operand(of, value).map(|of| Some(is_null(&of))),
        Predicate::Text(of, test) => match operand(of, value)? {
            Of::Value(ValueRef::Null) => Ok(None),
            Of::Value(ValueRef::Utf8(text)) => Ok(Some(test.holds(text.as_bytes()))),
            Of::Value(ValueRef::Binary(bytes)) => Ok(Some(test.holds(bytes))),
            _ => Err("a part of text was asked of what is no text".into()),
        },
        Predicate::And(parts) => all(parts.iter().map(|part| answer(part, value))),
        Predicate::Or(parts) => any(parts.iter().map(|part| answer(part, value))),
        Predicate::Not(part) => Ok(answer(part, value)?.map(|is| !is)),
    }
}

/// False if any part is, else unknown if any part is, else an error if any part has no answer: whoever passes over rows that are not taken
/// need not know why.
fn all(parts: impl IntoIterator<Item = Answer>) -> Answer {
    join(parts, false)
}

fn any(parts: impl IntoIterator<Item = Answer>) -> Answer {
    join(parts, true)
}

fn join(parts: impl IntoIterator<Item = Answer>, decides: bool) -> Answer {
    let mut so_far = Ok(Some(!decides));
    for part in parts {
        match part {
            Ok(Some(part)) if part == decides => return Ok(Some(decides)),
            Ok(Some(_)) => {}
            Ok(None) => so_far = Ok(None),
            Err(why) if so_far != Ok(None) => so_far = Err(why),
            Err(_) => {}
        }
    }
    so_far
}

fn is_null(of: &Of<'_>) -> bool {
    matches!(of, Of::Value(ValueRef::Null))
}

fn ordered(by: Compare, left: Of<'_>, right: Of<'_>) -> Answer {
    if is_null(&left) || is_null(&right) {
        return Ok(None);
    }
    let number = |of: &Of<'_>| match of {
        Of::Value(value) => Number::of(*value),
        Of::Number(number) => Some(*number),
    };
    let order = match (&left, &right) {
        (Of::Value(left), Of::Value(right)) => compare(*left, *right),
        _ => match (number(&left), number(&right)) {
            (Some(left), Some(right)) => compare_numbers(left, right),
            _ => return Err("a number was compared with what is none".into()),
        },
    };
    Ok(Some(by.holds(order)))
}

fn operand<'v>(of: &'v Operand, value: &impl Fn(usize, usize) -> ValueRef<'v>) -> Result<Of<'v>, String> {
    match of {
        Operand::Column { relation, column } => Ok(Of::Value(value((*relation).into(), *column))),
        Operand::Literal(literal) => Ok(Of::Value(literal.as_ref())),
        Operand::Parameter(number) => Err(format!("parameter {} was not given", number + 1)),
        Operand::Arithmetic(left, what, right) => {
            let (left, right) = (operand(left, value)?, operand(right, value)?);
            if is_null(&left) || is_null(&right) {
                return Ok(Of::Value(ValueRef::Null));
            }
            let number = |of| match of {
                Of::Number(number) => Ok(number),
                Of::Value(value) => {
                    Number::of(value).ok_or_else(|| format!("{value} is no number to reckon with"))
                }
            };
            combine(number(left)?, *what, number(right)?).map(Of::Number)
        }
    }
}

impl TextTest {
    /// Whether text is so.
    pub fn holds(&self, text: &[u8]) -> bool {
        match self {
            Self::Prefix(prefix) => text.starts_with(prefix),
            Self::Contains(part) => part.is_empty() || text.windows(part.len()).any(|window| window == part),
            Self::Like(pattern) => like(text, pattern),
        }
    }
}

/// As SQL's LIKE. What behind a `%` was once not found is looked for one character later: never more than text times pattern.
fn like(text: &[u8], pattern: &[u8]) -> bool {
    let (mut at, mut of) = (0, 0);
    let mut again: Option<(usize, usize)> = None;
    loop {
        let matched = match pattern.get(of) {
            Some(b'%') => {
                again = Some((at, of + 1));
                of += 1;
                continue;
            }
            Some(b'_') => (at < text.len()).then(|| (width(text[at]).min(text.len() - at), 1)),
            Some(b'\\') if of + 1 < pattern.len() => {
                (text.get(at) == Some(&pattern[of + 1])).then_some((1, 2))
            }
            Some(byte) => (text.get(at) == Some(byte)).then_some((1, 1)),
            None if at == text.len() => return true,
            None => None,
        };
        match (matched, again) {
            (Some((text, pattern)), _) => (at, of) = (at + text, of + pattern),
            (None, Some((from, behind))) if from < text.len() => {
                let from = from + width(text[from]).min(text.len() - from);
                again = Some((from, behind));
                (at, of) = (from, behind);
            }
            _ => return false,
        }
    }
}

/// The bytes of a character that begins so.
fn width(first: u8) -> usize {
    match first {
        0xF0.. => 4,
        0xE0.. => 3,
        0xC0.. => 2,
        _ => 1,
    }
}
