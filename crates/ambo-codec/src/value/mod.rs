//! One value of a column: owned ([`Value`]) or borrowed ([`ValueRef`]).

mod compare;
mod fit;
mod text;

pub(crate) use compare::{canonical_f32, canonical_f64};

use crate::Type;

/// A value that owns its bytes.
///
/// **Order.** NULL is first. Within a type the order is the natural one: false before true, numbers by
/// magnitude, text and bytes by their bytes. Floats are ordered totally: -∞ … -0.0 = 0.0 … +∞, then NaN;
/// all NaNs are equal. Equality and hashing follow that order, and so does the key encoding. Values of
/// different types are ordered by the number of their type, decimals of different scale by scale, only so that
/// the order is total: a column never holds two types.
#[derive(Clone, Debug)]
pub enum Value {
    /// No value.
    Null,
    /// See [`Type::Bool`].
    Bool(bool),
    /// See [`Type::I8`].
    I8(i8),
    /// See [`Type::I16`].
    I16(i16),
    /// See [`Type::I32`].
    I32(i32),
    /// See [`Type::I64`].
    I64(i64),
    /// See [`Type::U8`].
    U8(u8),
    /// See [`Type::U16`].
    U16(u16),
    /// See [`Type::U32`].
    U32(u32),
    /// See [`Type::U64`].
    U64(u64),
    /// See [`Type::F32`].
    F32(f32),
    /// See [`Type::F64`].
    F64(f64),
    /// `unscaled` times ten to the power of minus `scale`; see [`Type::Decimal128`].
    Decimal128 {
        /// All digits, as an integer.
        unscaled: i128,
        /// How many of them are behind the point.
        scale: i8,
    },
    /// Days since 1970-01-01.
    Date32(i32),
    /// Nanoseconds since midnight.
    Time64(i64),
    /// See [`Type::Timestamp`].
    Timestamp(i64),
    /// See [`Type::TimestampTz`].
    TimestampTz(i64),
    /// See [`Type::Utf8`].
    Utf8(String),
    /// See [`Type::Binary`].
    Binary(Vec<u8>),
}

/// A value that borrows text and bytes from where they are stored.
#[derive(Clone, Copy, Debug)]
pub enum ValueRef<'a> {
    /// No value.
    Null,
    /// See [`Type::Bool`].
    Bool(bool),
    /// See [`Type::I8`].
    I8(i8),
    /// See [`Type::I16`].
    I16(i16),
    /// See [`Type::I32`].
    I32(i32),
    /// See [`Type::I64`].
    I64(i64),
    /// See [`Type::U8`].
    U8(u8),
    /// See [`Type::U16`].
    U16(u16),
    /// See [`Type::U32`].
    U32(u32),
    /// See [`Type::U64`].
    U64(u64),
    /// See [`Type::F32`].
    F32(f32),
    /// See [`Type::F64`].
    F64(f64),
    /// `unscaled` times ten to the power of minus `scale`; see [`Type::Decimal128`].
    Decimal128 {
        /// All digits, as an integer.
        unscaled: i128,
        /// How many of them are behind the point.
        scale: i8,
    },
    /// Days since 1970-01-01.
    Date32(i32),
    /// Nanoseconds since midnight.
    Time64(i64),
    /// See [`Type::Timestamp`].
    Timestamp(i64),
    /// See [`Type::TimestampTz`].
    TimestampTz(i64),
    /// See [`Type::Utf8`].
    Utf8(&'a str),
    /// See [`Type::Binary`].
    Binary(&'a [u8]),
}

// A row of many columns is decoded into an array of these.
const _: () = assert!(size_of::<ValueRef<'_>>() == 32);

impl Value {
    /// The same value, borrowed.
    pub fn as_ref(&self) -> ValueRef<'_> {
        match *self {
            Self::Null => ValueRef::Null,
            Self::Bool(value) => ValueRef::Bool(value),
            Self::I8(value) => ValueRef::I8(value),
            Self::I16(value) => ValueRef::I16(value),
            Self::I32(value) => ValueRef::I32(value),
            Self::I64(value) => ValueRef::I64(value),
            Self::U8(value) => ValueRef::U8(value),
            Self::U16(value) => ValueRef::U16(value),
            Self::U32(value) => ValueRef::U32(value),
            Self::U64(value) => ValueRef::U64(value),
            Self::F32(value) => ValueRef::F32(value),
            Self::F64(value) => ValueRef::F64(value),
            Self::Decimal128 { unscaled, scale } => ValueRef::Decimal128 { unscaled, scale },
            Self::Date32(value) => ValueRef::Date32(value),
            Self::Time64(value) => ValueRef::Time64(value),
            Self::Timestamp(value) => ValueRef::Timestamp(value),
            Self::TimestampTz(value) => ValueRef::TimestampTz(value),
            Self::Utf8(ref value) => ValueRef::Utf8(value),
            Self::Binary(ref value) => ValueRef::Binary(value),
        }
    }

    /// Whether this is NULL.
    pub const fn is_null(&self) -> bool {
        matches!(self, Self::Null)
    }
}

impl<'a> ValueRef<'a> {
    /// A copy that owns its bytes.
    pub fn to_value(self) -> Value {
        match self {
            Self::Null => Value::Null,
            Self::Bool(value) => Value::Bool(value),
            Self::I8(value) => Value::I8(value),
            Self::I16(value) => Value::I16(value),
            Self::I32(value) => Value::I32(value),
            Self::I64(value) => Value::I64(value),
            Self::U8(value) => Value::U8(value),
            Self::U16(value) => Value::U16(value),
            Self::U32(value) => Value::U32(value),
            Self::U64(value) => Value::U64(value),
            Self::F32(value) => Value::F32(value),
            Self::F64(value) => Value::F64(value),
            Self::Decimal128 { unscaled, scale } => Value::Decimal128 { unscaled, scale },
            Self::Date32(value) => Value::Date32(value),
            Self::Time64(value) => Value::Time64(value),
            Self::Timestamp(value) => Value::Timestamp(value),
            Self::TimestampTz(value) => Value::TimestampTz(value),
            Self::Utf8(value) => Value::Utf8(value.to_owned()),
            Self::Binary(value) => Value::Binary(value.to_owned()),
        }
    }

    /// Whether this is NULL.
    pub const fn is_null(self) -> bool {
        matches!(self, Self::Null)
    }

    /// The number on disk of the value's type ([`Type::code`]), 0 for NULL.
    pub const fn type_code(self) -> u8 {
        match self {
            Self::Null => 0,
            Self::Bool(_) => Type::Bool.code(),
            Self::I8(_) => Type::I8.code(),
            Self::I16(_) => Type::I16.code(),
            Self::I32(_) => Type::I32.code(),
            Self::I64(_) => Type::I64.code(),
            Self::U8(_) => Type::U8.code(),
            Self::U16(_) => Type::U16.code(),
            Self::U32(_) => Type::U32.code(),
            Self::U64(_) => Type::U64.code(),
            Self::F32(_) => Type::F32.code(),
            Self::F64(_) => Type::F64.code(),
            Self::Decimal128 { .. } => Type::Decimal128 { precision: 38, scale: 0 }.code(),
            Self::Date32(_) => Type::Date32.code(),
            Self::Time64(_) => Type::Time64.code(),
            Self::Timestamp(_) => Type::Timestamp.code(),
            Self::TimestampTz(_) => Type::TimestampTz.code(),
            Self::Utf8(_) => Type::Utf8.code(),
            Self::Binary(_) => Type::Binary.code(),
        }
    }

    /// Whether a column of type `ty` holds this value as it is: the same type and, for a decimal, the same
    /// scale and not more digits than its precision. NULL is of no type.
    pub fn is_of(self, ty: Type) -> bool {
        match (self, ty) {
            (Self::Decimal128 { unscaled, scale }, Type::Decimal128 { precision, scale: of_type }) => {
                scale == of_type && fits_precision(unscaled, precision)
            }
            _ => self.type_code() == ty.code(),
        }
    }

    /// The boolean, if it is one.
    pub const fn as_bool(self) -> Option<bool> {
        match self {
            Self::Bool(value) => Some(value),
            _ => None,
        }
    }

    /// Any integer that fits, the days of a date, the nanoseconds of a time or the microseconds of a timestamp.
    pub fn as_i64(self) -> Option<i64> {
        match self {
            Self::Date32(value) => Some(value.into()),
            Self::Time64(value) | Self::Timestamp(value) | Self::TimestampTz(value) => Some(value),
            _ => self.as_integer().and_then(|value| value.try_into().ok()),
        }
    }

    /// Any integer that fits.
    pub fn as_u64(self) -> Option<u64> {
        self.as_integer().and_then(|value| value.try_into().ok())
    }

    /// Any number, rounded to the nearest double.
    pub fn as_f64(self) -> Option<f64> {
        match self {
            Self::F32(value) => Some(value.into()),
            Self::F64(value) => Some(value),
            Self::Decimal128 { unscaled, scale } => Some(unscaled as f64 / 10f64.powi(scale.into())),
            _ => self.as_integer().map(|value| value as f64),
        }
    }

    /// The text, if it is one.
    pub const fn as_str(self) -> Option<&'a str> {
        match self {
            Self::Utf8(value) => Some(value),
            _ => None,
        }
    }

    /// The bytes of binary or text.
    pub const fn as_bytes(self) -> Option<&'a [u8]> {
        match self {
            Self::Utf8(value) => Some(value.as_bytes()),
            Self::Binary(value) => Some(value),
            _ => None,
        }
    }

    /// The value of the eight integer types.
    pub(crate) fn as_integer(self) -> Option<i128> {
        match self {
            Self::I8(value) => Some(value.into()),
            Self::I16(value) => Some(value.into()),
            Self::I32(value) => Some(value.into()),
            Self::I64(value) => Some(value.into()),
            Self::U8(value) => Some(value.into()),
            Self::U16(value) => Some(value.into()),
            Self::U32(value) => Some(value.into()),
            Self::U64(value) => Some(value.into()),
            _ => None,
        }
    }
}

/// Whether a decimal's digits are not more than its type promises.
pub(crate) fn fits_precision(unscaled: i128, precision: u8) -> bool {
    unscaled.unsigned_abs() < 10u128.pow(precision.into())
}

/// `From` for both kinds of value, for types that are copied.
macro_rules! from_copied {
    ($($rust:ty => $variant:ident),*) => {$(
        impl From<$rust> for Value {
            fn from(value: $rust) -> Self {
                Self::$variant(value)
            }
        }
        impl From<$rust> for ValueRef<'_> {
            fn from(value: $rust) -> Self {
                Self::$variant(value)
            }
        }
    )*};
}

from_copied!(bool => Bool, i8 => I8, i16 => I16, i32 => I32, i64 => I64, u8 => U8, u16 => U16, u32 => U32,
    u64 => U64, f32 => F32, f64 => F64);

impl From<&str> for Value {
    fn from(value: &str) -> Self {
        Self::Utf8(value.to_owned())
    }
}

impl From<String> for Value {
    fn from(value: String) -> Self {
        Self::Utf8(value)
    }
}

impl From<&[u8]> for Value {
    fn from(value: &[u8]) -> Self {
        Self::Binary(value.to_owned())
    }
}

impl From<Vec<u8>> for Value {
    fn from(value: Vec<u8>) -> Self {
        Self::Binary(value)
    }
}

impl From<ValueRef<'_>> for Value {
    fn from(value: ValueRef<'_>) -> Self {
        value.to_value()
    }
}

impl<T: Into<Self>> From<Option<T>> for Value {
    fn from(value: Option<T>) -> Self {
        value.map_or(Self::Null, Into::into)
    }
}

impl<'a> From<&'a str> for ValueRef<'a> {
    fn from(value: &'a str) -> Self {
        Self::Utf8(value)
    }
}

impl<'a> From<&'a [u8]> for ValueRef<'a> {
    fn from(value: &'a [u8]) -> Self {
        Self::Binary(value)
    }
}

impl<'a> From<&'a Value> for ValueRef<'a> {
    fn from(value: &'a Value) -> Self {
        value.as_ref()
    }
}

impl<'a, T: Into<Self>> From<Option<T>> for ValueRef<'a> {
    fn from(value: Option<T>) -> Self {
        value.map_or(ValueRef::Null, Into::into)
    }
}

#[cfg(test)]
pub(crate) mod tests;
