//! Numbers of any type: how they compare, and what is made of two.

use std::cmp::Ordering;

use ambo_codec::{Type, Value, ValueRef};

use super::Arithmetic;

/// What a value is to comparisons.
#[derive(Clone, Copy, PartialEq, Debug)]
pub(super) enum Number {
    Integer(i128),
    Float(f64),
    Decimal(i128, i8),
}

impl Number {
    /// The number that a value is, if it is one.
    pub(super) fn of(value: ValueRef<'_>) -> Option<Self> {
        Some(match value {
            ValueRef::I8(value) => Self::Integer(value.into()),
            ValueRef::I16(value) => Self::Integer(value.into()),
            ValueRef::I32(value) => Self::Integer(value.into()),
            ValueRef::I64(value) => Self::Integer(value.into()),
            ValueRef::U8(value) => Self::Integer(value.into()),
            ValueRef::U16(value) => Self::Integer(value.into()),
            ValueRef::U32(value) => Self::Integer(value.into()),
            ValueRef::U64(value) => Self::Integer(value.into()),
            ValueRef::F32(value) => Self::Float(value.into()),
            ValueRef::F64(value) => Self::Float(value),
            ValueRef::Decimal128 { unscaled, scale } => Self::Decimal(unscaled, scale),
            _ => return None,
        })
    }
}

/// Whether values of two types can be compared.
pub(super) fn are_comparable(left: Type, right: Type) -> bool {
    let is_decimal = |ty: Type| matches!(ty, Type::Decimal128 { .. });
    let is_float = |ty: Type| matches!(ty, Type::F32 | Type::F64);
    let is_number = |ty: Type| is_integer(ty) || is_float(ty) || is_decimal(ty);
    match is_number(left) && is_number(right) {
        true => !(is_decimal(left) && is_float(right) || is_float(left) && is_decimal(right)),
        false => left == right,
    }
}

/// Whether a type is one of integers.
pub(super) fn is_integer(ty: Type) -> bool {
    use Type::{I8, I16, I32, I64, U8, U16, U32, U64};
    matches!(ty, I8 | I16 | I32 | I64 | U8 | U16 | U32 | U64)
}

/// How two values compare that are not NULL and can be compared.
pub(super) fn compare(left: ValueRef<'_>, right: ValueRef<'_>) -> Ordering {
    match (Number::of(left), Number::of(right)) {
        (Some(left), Some(right)) => compare_numbers(left, right),
        _ => left.compare(right),
    }
}

pub(super) fn compare_numbers(left: Number, right: Number) -> Ordering {
    match (left, right) {
        (Number::Integer(left), Number::Integer(right)) => left.cmp(&right),
        (Number::Float(left), Number::Float(right)) => compare_floats(left, right),
        (Number::Integer(left), Number::Float(right)) => integer_to_float(left, right),
        (Number::Float(left), Number::Integer(right)) => integer_to_float(right, left).reverse(),
        (Number::Decimal(left, scale), Number::Integer(right)) => scaled((left, scale), (right, 0)),
        (Number::Integer(left), Number::Decimal(right, scale)) => scaled((left, 0), (right, scale)),
        (Number::Decimal(left, from), Number::Decimal(right, to)) => scaled((left, from), (right, to)),
        // They are refused before: there is no exact answer in 128 bits.
        (Number::Decimal(..), Number::Float(_)) | (Number::Float(_), Number::Decimal(..)) => Ordering::Equal,
    }
}

/// NaN equals NaN and is above all; -0.0 equals 0.0.
pub(super) fn compare_floats(left: f64, right: f64) -> Ordering {
    left.partial_cmp(&right).unwrap_or_else(|| left.is_nan().cmp(&right.is_nan()))
}

fn integer_to_float(integer: i128, float: f64) -> Ordering {
    // Below this all integers of 128 bits, and above it none.
    const BEYOND: f64 = 1.7e38;
    if float.is_nan() || float >= BEYOND {
        return Ordering::Less;
    }
    if float <= -BEYOND {
        return Ordering::Greater;
    }
    let whole = float.floor();
    // What is left of the float is less than one.
    integer.cmp(&(whole as i128)).then(if float > whole { Ordering::Less } else { Ordering::Equal })
}

/// Decimals of different scales.
fn scaled(left: (i128, i8), right: (i128, i8)) -> Ordering {
    let (Some(to_left), Some(to_right)) = (power(right.1, left.1), power(left.1, right.1)) else {
        // A number that is multiplied by more than 128 bits hold is the greater in magnitude, unless it is 0.
        return match left.1 < right.1 {
            true => beyond(left.0, right.0),
            false => beyond(right.0, left.0).reverse(),
        };
    };
    match (left.0.checked_mul(to_left), right.0.checked_mul(to_right)) {
        (Some(left), Some(right)) => left.cmp(&right),
        (None, _) => beyond(left.0, right.0),
        (_, None) => beyond(right.0, left.0).reverse(),
    }
}

/// How a number whose magnitude is beyond that of another compares with it; 0 is not beyond anything.
fn beyond(large: i128, other: i128) -> Ordering {
    if large == 0 { 0.cmp(&other) } else { large.cmp(&0) }
}

/// What a number of scale `from` is multiplied by to have that of another, which is not less; 1 if it is.
fn power(to: i8, from: i8) -> Option<i128> {
    10i128.checked_pow((i32::from(to) - i32::from(from)).max(0) as u32)
}

/// What is made of two numbers.
///
/// # Errors
/// What has no result, in words.
pub(super) fn combine(left: Number, what: Arithmetic, right: Number) -> Result<Number, String> {
    match (left, right) {
        (Number::Integer(left), Number::Integer(right)) => {
            integers(left, what, right).map(Number::Integer).ok_or_else(|| {
                let why = match what {
                    Arithmetic::Divide | Arithmetic::Remainder if right == 0 => "division by zero",
                    Arithmetic::ShiftLeft | Arithmetic::ShiftRight if !(0..64).contains(&right) => {
                        "a shift by less than 0 or more than 63"
                    }
                    _ => "overflow",
                };
                format!("{left} {what} {right}: {why}")
            })
        }
        (Number::Decimal(..), _) | (_, Number::Decimal(..)) => {
            Err("there is no arithmetic on decimals in conditions".into())
        }
        (left, right) => {
            let (left, right) = (as_float(left), as_float(right));
            Ok(Number::Float(match what {
                Arithmetic::Add => left + right,
                Arithmetic::Subtract => left - right,
                Arithmetic::Multiply => left * right,
                Arithmetic::Divide => left / right,
                Arithmetic::Remainder => left % right,
                Arithmetic::ShiftLeft | Arithmetic::ShiftRight => {
                    return Err(format!("{left} {what} {right}: only integers are shifted"));
                }
            }))
        }
    }
}

fn integers(left: i128, what: Arithmetic, right: i128) -> Option<i128> {
    let shift = || u32::try_from(right).ok().filter(|right| *right < 64);
    match what {
        Arithmetic::Add => left.checked_add(right),
        Arithmetic::Subtract => left.checked_sub(right),
        Arithmetic::Multiply => left.checked_mul(right),
        Arithmetic::Divide => left.checked_div(right),
        Arithmetic::Remainder => left.checked_rem(right),
        Arithmetic::ShiftLeft => left.checked_mul(1 << shift()?),
        Arithmetic::ShiftRight => Some(left >> shift()?),
    }
}

fn as_float(number: Number) -> f64 {
    match number {
        Number::Integer(integer) => integer as f64,
        Number::Float(float) => float,
        Number::Decimal(unscaled, scale) => unscaled as f64 / 10f64.powi(scale.into()),
    }
}

/// The type that a constant has by itself, none of NULL.
pub(super) fn type_of(value: &Value) -> Option<Type> {
    Some(match value {
        Value::Null => return None,
        Value::Bool(_) => Type::Bool,
        Value::I8(_) => Type::I8,
        Value::I16(_) => Type::I16,
        Value::I32(_) => Type::I32,
        Value::I64(_) => Type::I64,
        Value::U8(_) => Type::U8,
        Value::U16(_) => Type::U16,
        Value::U32(_) => Type::U32,
        Value::U64(_) => Type::U64,
        Value::F32(_) => Type::F32,
        Value::F64(_) => Type::F64,
        Value::Decimal128 { scale, .. } => Type::Decimal128 { precision: 38, scale: *scale },
        Value::Date32(_) => Type::Date32,
        Value::Time64(_) => Type::Time64,
        Value::Timestamp(_) => Type::Timestamp,
        Value::TimestampTz(_) => Type::TimestampTz,
        Value::Utf8(_) => Type::Utf8,
        Value::Binary(_) => Type::Binary,
    })
}
