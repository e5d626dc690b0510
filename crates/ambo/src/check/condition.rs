//! Conditions of the columns of a row, in the logic of three values.

use std::cmp::Ordering;

use crate::{Compare, Datum, DatumRef, Result};

/// A condition of a row.
#[derive(Debug, PartialEq)]
pub(super) enum Condition {
    Compare(Operand, Compare, Operand),
    In(Operand, Vec<Operand>),
    IsNull(Operand),
    /// Whether a boolean column is true.
    Is(usize),
    Not(Box<Self>),
    All(Vec<Self>),
    Any(Vec<Self>),
}

/// What is compared. Both sides of a comparison are of one type.
#[derive(Debug, PartialEq)]
pub(super) enum Operand {
    Column(usize),
    /// The characters of a text column.
    Length(usize),
    Constant(Datum),
}

impl Condition {
    /// What it says of a row with these values; none for NULL.
    pub(super) fn answer<'a>(&self, value: &impl Fn(usize) -> Result<DatumRef<'a>>) -> Result<Option<bool>> {
        Ok(match self {
            Self::Compare(left, compare, right) => {
                left.with(value, |left| right.with(value, |right| Ok(compared(left, *compare, right))))?
            }
            Self::In(operand, others) => {
                let equal = |other: &Operand| {
                    operand.with(value, |left| {
                        other.with(value, |right| Ok(compared(left, Compare::Equal, right)))
                    })
                };
                any(others.iter().map(equal))?
            }
            Self::IsNull(operand) => operand.with(value, |value| Ok(Some(value.is_null())))?,
            Self::Is(column) => value(*column)?.as_bool(),
            Self::Not(inner) => inner.answer(value)?.map(|answer| !answer),
            Self::Any(parts) => any(parts.iter().map(|part| part.answer(value)))?,
            Self::All(parts) => {
                let not = |part: &Self| Ok(part.answer(value)?.map(|answer| !answer));
                any(parts.iter().map(not))?.map(|answer| !answer)
            }
        })
    }
}

impl Operand {
    fn with<'a, R>(
        &self,
        value: &impl Fn(usize) -> Result<DatumRef<'a>>,
        act: impl FnOnce(DatumRef<'_>) -> Result<R>,
    ) -> Result<R> {
        match self {
            Self::Column(column) => act(value(*column)?),
            Self::Constant(constant) => act(constant.as_ref()),
            Self::Length(column) => act(match value(*column)? {
                DatumRef::Utf8(text) => DatumRef::I64(text.chars().count() as i64),
                _ => DatumRef::Null,
            }),
        }
    }
}

/// True if one is, otherwise NULL if one is.
fn any(answers: impl Iterator<Item = Result<Option<bool>>>) -> Result<Option<bool>> {
    let mut all = Some(false);
    for answer in answers {
        match answer? {
            Some(true) => return Ok(Some(true)),
            Some(false) => {}
            None => all = None,
        }
    }
    Ok(all)
}

fn compared(left: DatumRef<'_>, compare: Compare, right: DatumRef<'_>) -> Option<bool> {
    if left.is_null() || right.is_null() {
        return None;
    }
    Some(compare.holds(match (left, right) {
        (DatumRef::F64(left), DatumRef::F64(right)) => order_of_floats(left, right),
        _ => left.compare(right),
    }))
}

/// As SQL has it: zeros are equal, and what is no number is equal to itself and greater than all others.
fn order_of_floats(left: f64, right: f64) -> Ordering {
    left.partial_cmp(&right).unwrap_or_else(|| left.is_nan().cmp(&right.is_nan()))
}
