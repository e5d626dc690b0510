//! What a filter asks of each value, and its translation into codes.

use std::{cmp::Ordering, sync::Arc};

use super::{
    KeySet, Native,
    ranges::{Point, Ranges},
    text::TextPredicate,
};
use crate::{Error, Result, ValueRef};

/// A comparison.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Compare {
    /// `=`
    Equal,
    /// `<>`
    NotEqual,
    /// `<`
    Less,
    /// `<=`
    LessEqual,
    /// `>`
    Greater,
    /// `>=`
    GreaterEqual,
}

impl Compare {
    /// Whether two values that are so ordered compare like this.
    pub fn holds(self, order: Ordering) -> bool {
        match self {
            Self::Equal => order.is_eq(),
            Self::NotEqual => order.is_ne(),
            Self::Less => order.is_lt(),
            Self::LessEqual => order.is_le(),
            Self::Greater => order.is_gt(),
            Self::GreaterEqual => order.is_ge(),
        }
    }

    /// The comparison that is true of two values where this one is false.
    pub fn negated(self) -> Self {
        match self {
            Self::Equal => Self::NotEqual,
            Self::NotEqual => Self::Equal,
            Self::Less => Self::GreaterEqual,
            Self::LessEqual => Self::Greater,
            Self::Greater => Self::LessEqual,
            Self::GreaterEqual => Self::Less,
        }
    }

    /// The comparison with its sides changed.
    pub fn turned(self) -> Self {
        match self {
            Self::Equal | Self::NotEqual => self,
            Self::Less => Self::Greater,
            Self::LessEqual => Self::GreaterEqual,
            Self::Greater => Self::Less,
            Self::GreaterEqual => Self::LessEqual,
        }
    }
}

/// A question that each value of a block answers with yes or no.
///
/// NULL answers no to all but [`Predicate::IsNull`], and a constant that is NULL is answered by no to every value, as in
/// SQL's WHERE. The order is that of [`crate::Value`]: NaN equals NaN and is above +∞, -0.0 equals 0.0.
/// Integers of any type may be compared with each other and with floats; the comparison is of the exact
/// numbers. A decimal is compared by its unscaled integer with decimals only; the caller sees to equal scales.
#[derive(Clone, Copy, Debug)]
#[non_exhaustive]
pub enum Predicate<'a> {
    /// How the value compares with a constant.
    Compare(Compare, ValueRef<'a>),
    /// At least the first and at most the second constant.
    Between(ValueRef<'a>, ValueRef<'a>),
    /// Equal to one of the constants.
    In(&'a [ValueRef<'a>]),
    /// Text or bytes that begin so.
    Prefix(&'a [u8]),
    /// Text or bytes with these in them.
    Contains(&'a [u8]),
    /// Text or bytes that are LIKE a pattern, by what is between its `%`: two pieces at least, which may be empty.
    Like(&'a [&'a [u8]]),
    /// A value that another question about values answers with no. NULL answers no to both.
    Not(&'a Predicate<'a>),
    /// Integers, dates and times of a set. Of decimals, by the low 64 bits of their unscaled integers.
    Among(&'a Arc<KeySet>),
    /// NULL.
    IsNull,
    /// Not NULL.
    IsNotNull,
}

impl<'a> Predicate<'a> {
    /// Calls `then` with the same question about strings; with `None` when a constant is NULL, so that all answer no.
    pub(crate) fn with_text<R>(&self, then: impl FnOnce(Option<TextPredicate<'_>>) -> R) -> Result<R> {
        let bytes = |constant: ValueRef<'a>| match constant {
            ValueRef::Null => Ok(None),
            constant => constant.as_bytes().map(Some).ok_or_else(mismatch),
        };
        Ok(match *self {
            Self::IsNull | Self::IsNotNull | Self::Among(_) | Self::Not(_) => return Err(mismatch()),
            Self::Prefix(prefix) => then(Some(TextPredicate::Prefix(prefix))),
            Self::Contains(part) => then(Some(TextPredicate::Contains(part))),
            Self::Like(pieces) => then(Some(TextPredicate::Like(pieces))),
            Self::Between(low, high) => {
                let pair = bytes(low)?.zip(bytes(high)?);
                then(pair.map(|(low, high)| TextPredicate::Between(low, high)))
            }
            Self::In(list) => {
                let list: Vec<Option<&[u8]>> =
                    list.iter().map(|&constant| bytes(constant)).collect::<Result<_>>()?;
                let list: Vec<&[u8]> = list.into_iter().flatten().collect();
                then(Some(TextPredicate::In(&list)))
            }
            Self::Compare(compare, constant) => then(bytes(constant)?.map(|constant| match compare {
                Compare::Equal => TextPredicate::Eq(constant),
                Compare::NotEqual => TextPredicate::Ne(constant),
                Compare::Less => TextPredicate::Lt(constant),
                Compare::LessEqual => TextPredicate::Le(constant),
                Compare::Greater => TextPredicate::Gt(constant),
                Compare::GreaterEqual => TextPredicate::Ge(constant),
            })),
        })
    }
}

/// A constant as a number.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Number {
    Integer(i128),
    Float(f64),
    Decimal(i128),
    Bool(bool),
}

impl Number {
    /// The number of a constant that is not NULL.
    fn of(value: ValueRef<'_>) -> Result<Self> {
        Ok(match value {
            ValueRef::Bool(value) => Self::Bool(value),
            ValueRef::F32(value) => Self::Float(value.into()),
            ValueRef::F64(value) => Self::Float(value),
            ValueRef::Decimal128 { unscaled, .. } => Self::Decimal(unscaled),
            ValueRef::Date32(value) => Self::Integer(value.into()),
            ValueRef::Time64(value) | ValueRef::Timestamp(value) | ValueRef::TimestampTz(value) => {
                Self::Integer(value.into())
            }
            _ => Self::Integer(value.as_integer().ok_or_else(mismatch)?),
        })
    }
}

fn mismatch() -> Error {
    Error::invalid("a constant that cannot be compared with the values of this block")
}

/// Values with codes that numbers can be compared with.
pub(crate) trait Comparable {
    type Code: Point;

    /// The first code whose value is at least `number`; `None` when there is none.
    fn first_at_least(number: Number) -> Result<Option<Self::Code>>;
    /// The last code whose value is at most `number`; `None` when there is none.
    fn last_at_most(number: Number) -> Result<Option<Self::Code>>;
}

/// Whether a constant of a question is NULL, so that neither it nor its opposite is answered with yes.
pub(crate) fn has_null(predicate: &Predicate<'_>) -> bool {
    match predicate {
        Predicate::Compare(_, constant) => constant.is_null(),
        Predicate::Between(low, high) => low.is_null() || high.is_null(),
        Predicate::In(list) => list.iter().any(|constant| constant.is_null()),
        Predicate::Not(inner) => has_null(inner),
        _ => false,
    }
}

/// The codes that answer yes; `None` for the two questions about NULL.
pub(crate) fn ranges<V: Comparable>(predicate: Predicate<'_>) -> Result<Option<Ranges<V::Code>>> {
    let between = |low: ValueRef<'_>, high: ValueRef<'_>| -> Result<Option<(V::Code, V::Code)>> {
        if low.is_null() || high.is_null() {
            return Ok(None);
        }
        let low = V::first_at_least(Number::of(low)?)?;
        Ok(low.zip(V::last_at_most(Number::of(high)?)?).filter(|(low, high)| low <= high))
    };
    let one = |range: Option<(V::Code, V::Code)>| match range {
        Some((low, high)) => Ranges::one(low, high),
        None => Ranges::none(),
    };
    Ok(Some(match predicate {
        Predicate::IsNull | Predicate::IsNotNull => return Ok(None),
        Predicate::Prefix(_)
        | Predicate::Contains(_)
        | Predicate::Like(_)
        | Predicate::Among(_)
        | Predicate::Not(_) => return Err(mismatch()),
        Predicate::Compare(_, constant) if constant.is_null() => Ranges::none(),
        Predicate::Between(low, high) => one(between(low, high)?),
        Predicate::In(list) => {
            let parts = list.iter().map(|&constant| between(constant, constant));
            Ranges::union(parts.filter_map(Result::transpose).collect::<Result<_>>()?)
        }
        Predicate::Compare(compare, constant) => {
            let number = Number::of(constant)?;
            let at_least = || -> Result<_> {
                let low = V::first_at_least(number)?;
                Ok(low.map_or(Ranges::none(), |low| Ranges::one(low, V::Code::LAST)))
            };
            let at_most = || -> Result<_> {
                let high = V::last_at_most(number)?;
                Ok(high.map_or(Ranges::none(), |high| Ranges::one(V::Code::FIRST, high)))
            };
            match compare {
                Compare::Equal => one(between(constant, constant)?),
                Compare::NotEqual => one(between(constant, constant)?).complement(),
                Compare::Less => at_least()?.complement(),
                Compare::LessEqual => at_most()?,
                Compare::Greater => at_most()?.complement(),
                Compare::GreaterEqual => at_least()?,
            }
        }
    }))
}

macro_rules! integers {
    ($($int:ty),*) => {$(
        impl Comparable for $int {
            type Code = <$int as Native>::Code;

            fn first_at_least(number: Number) -> Result<Option<Self::Code>> {
                let low = match number {
                    Number::Integer(value) => value,
                    // NaN is above all integers.
                    Number::Float(value) if value.is_nan() => return Ok(None),
                    Number::Float(value) => value.ceil() as i128,
                    Number::Decimal(_) | Number::Bool(_) => return Err(mismatch()),
                };
                let fits = low <= i128::from(<$int>::MAX);
                Ok(fits.then(|| (low.max(<$int>::MIN.into()) as $int).to_code()))
            }

            fn last_at_most(number: Number) -> Result<Option<Self::Code>> {
                let high = match number {
                    Number::Integer(value) => value,
                    Number::Float(value) if value.is_nan() => i128::MAX,
                    Number::Float(value) => value.floor() as i128,
                    Number::Decimal(_) | Number::Bool(_) => return Err(mismatch()),
                };
                let fits = high >= i128::from(<$int>::MIN);
                Ok(fits.then(|| (high.min(<$int>::MAX.into()) as $int).to_code()))
            }
        }
    )*};
}

integers!(i8, i16, i32, i64, u8, u16, u32, u64);

macro_rules! floats {
    ($($float:ty),*) => {$(
        impl Comparable for $float {
            type Code = <$float as Native>::Code;

            fn first_at_least(number: Number) -> Result<Option<Self::Code>> {
                let low = match number {
                    Number::Integer(value) => {
                        let near = value as $float;
                        // Infinity saturates, which only a nearest value above all of 128 bits would do.
                        if (near as i128) < value { near.next_up() } else { near }
                    }
                    Number::Float(value) => {
                        let near = value as $float;
                        if f64::from(near) < value { near.next_up() } else { near }
                    }
                    Number::Decimal(_) | Number::Bool(_) => return Err(mismatch()),
                };
                Ok(Some(low.low_code()))
            }

            fn last_at_most(number: Number) -> Result<Option<Self::Code>> {
                let high = match number {
                    Number::Integer(value) => {
                        let near = value as $float;
                        if near as i128 > value { near.next_down() } else { near }
                    }
                    Number::Float(value) => {
                        let near = value as $float;
                        if f64::from(near) > value { near.next_down() } else { near }
                    }
                    Number::Decimal(_) | Number::Bool(_) => return Err(mismatch()),
                };
                Ok(Some(high.high_code()))
            }
        }
    )*};
}

floats!(f32, f64);

impl Comparable for bool {
    type Code = u8;

    fn first_at_least(number: Number) -> Result<Option<u8>> {
        let Number::Bool(value) = number else { return Err(mismatch()) };
        Ok(Some(value.into()))
    }

    fn last_at_most(number: Number) -> Result<Option<u8>> {
        Self::first_at_least(number)
    }
}

/// The code of 128 bits: shifted to begin at zero.
#[inline(always)]
pub(crate) fn wide_code(value: i128) -> u128 {
    value as u128 ^ 1 << 127
}

impl Comparable for i128 {
    type Code = u128;

    fn first_at_least(number: Number) -> Result<Option<u128>> {
        let Number::Decimal(value) = number else { return Err(mismatch()) };
        Ok(Some(wide_code(value)))
    }

    fn last_at_most(number: Number) -> Result<Option<u128>> {
        Self::first_at_least(number)
    }
}
