//! # Values with types

use std::{ffi::c_void, ptr};

use ambo::uuid_text;
use ambo_face::Class;

use crate::{
    c::{bytes, many},
    error::{Failure, Result},
};

/// NULL. A datum of zeros is NULL.
pub const AMBO_NULL: i32 = 0;
/// A truth: `integer` is 0 or 1.
pub const AMBO_BOOL: i32 = 1;
/// An integer with a sign: `integer`.
pub const AMBO_INT: i32 = 2;
/// An integer without a sign: `integer`, read as uint64_t.
pub const AMBO_UINT: i32 = 3;
/// A number: `real`.
pub const AMBO_REAL: i32 = 4;
/// A decimal: all its digits as a number of 128 bits, of which `integer` has the lower and `upper` the upper half; `scale` of them are
/// behind the point.
pub const AMBO_DECIMAL: i32 = 5;
/// A text: `data` and `size`. It need not end in a zero byte.
pub const AMBO_TEXT: i32 = 6;
/// Bytes: `data` and `size`.
pub const AMBO_BLOB: i32 = 7;
/// A date: `integer`, in days since 1970.
pub const AMBO_DATE: i32 = 8;
/// A time of day: `integer`, in nanoseconds.
pub const AMBO_TIME: i32 = 9;
/// A time without a zone: `integer`, in microseconds since 1970.
pub const AMBO_TIMESTAMP: i32 = 10;
/// A moment: `integer`, in microseconds since 1970 in UTC.
pub const AMBO_TIMESTAMPTZ: i32 = 11;
/// A UUID: `data` are 16 bytes.
pub const AMBO_UUID: i32 = 12;
/// An interval: `scale` months, `upper` days and `integer` nanoseconds.
pub const AMBO_INTERVAL: i32 = 13;
/// A list, a struct or a map: it is read as a text, or as Arrow.
pub const AMBO_NESTED: i32 = 14;

/// A value with its type. Which of the other fields count is said by `kind`.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct Datum {
    /// AMBO_NULL, AMBO_BOOL and so on.
    pub kind: i32,
    /// Digits behind the point, or months.
    pub scale: i32,
    /// Integers, dates and times.
    pub integer: i64,
    /// The upper half of decimals, or days.
    pub upper: i64,
    /// Numbers.
    pub real: f64,
    /// Texts and bytes.
    pub data: *const c_void,
    /// How many bytes those have.
    pub size: usize,
}

impl Datum {
    /// NULL.
    pub(crate) const NULL: Self =
        Self { kind: AMBO_NULL, scale: 0, integer: 0, upper: 0, real: 0.0, data: ptr::null(), size: 0 };

    pub(crate) fn integer(kind: i32, integer: i64) -> Self {
        Self { kind, integer, ..Self::NULL }
    }

    pub(crate) fn real(real: f64) -> Self {
        Self { kind: AMBO_REAL, real, ..Self::NULL }
    }

    pub(crate) fn decimal(unscaled: i128, scale: i8) -> Self {
        let (integer, upper) = (unscaled as i64, (unscaled >> 64) as i64);
        Self { kind: AMBO_DECIMAL, scale: scale.into(), integer, upper, ..Self::NULL }
    }

    /// Bytes that somebody else keeps.
    pub(crate) fn lent(kind: i32, bytes: &[u8]) -> Self {
        Self { kind, data: bytes.as_ptr().cast(), size: bytes.len(), ..Self::NULL }
    }

    /// A value that is kept elsewhere.
    pub(crate) fn of(value: &ambo::Datum) -> Self {
        use ambo::Datum as D;
        match value {
            D::Null => Self::NULL,
            D::Bool(truth) => Self::integer(AMBO_BOOL, (*truth).into()),
            D::I8(number) => Self::integer(AMBO_INT, (*number).into()),
            D::I16(number) => Self::integer(AMBO_INT, (*number).into()),
            D::I32(number) => Self::integer(AMBO_INT, (*number).into()),
            D::I64(number) => Self::integer(AMBO_INT, *number),
            D::U8(number) => Self::integer(AMBO_UINT, (*number).into()),
            D::U16(number) => Self::integer(AMBO_UINT, (*number).into()),
            D::U32(number) => Self::integer(AMBO_UINT, (*number).into()),
            D::U64(number) => Self::integer(AMBO_UINT, *number as i64),
            D::F32(number) => Self::real((*number).into()),
            D::F64(number) => Self::real(*number),
            D::Decimal128 { unscaled, scale } => Self::decimal(*unscaled, *scale),
            D::Date32(days) => Self::integer(AMBO_DATE, (*days).into()),
            D::Time64(time) => Self::integer(AMBO_TIME, *time),
            D::Timestamp(time) => Self::integer(AMBO_TIMESTAMP, *time),
            D::TimestampTz(time) => Self::integer(AMBO_TIMESTAMPTZ, *time),
            D::Utf8(text) => Self::lent(AMBO_TEXT, text.as_bytes()),
            D::Binary(bytes) => Self::lent(AMBO_BLOB, bytes),
        }
    }

    /// The value, as Rust keeps it. Called from what C calls alone, as the functions of [`crate::c`].
    pub(crate) fn read(&self) -> Result<ambo::Datum> {
        use ambo::Datum as D;
        Ok(match self.kind {
            AMBO_NULL => D::Null,
            AMBO_BOOL => D::Bool(self.integer != 0),
            AMBO_INT => D::I64(self.integer),
            AMBO_UINT => D::U64(self.integer as u64),
            AMBO_REAL => D::F64(self.real),
            AMBO_DECIMAL => self.read_decimal()?,
            AMBO_TEXT => D::Utf8(crate::c::text("the text", self.data.cast(), self.size)?.to_owned()),
            AMBO_BLOB => D::Binary(bytes("the bytes", self.data, self.size)?.to_vec()),
            AMBO_DATE => D::Date32(
                self.integer
                    .try_into()
                    .map_err(|_| Failure::new(Class::Data, "a date that is out of range"))?,
            ),
            AMBO_TIME => D::Time64(self.integer),
            AMBO_TIMESTAMP => D::Timestamp(self.integer),
            AMBO_TIMESTAMPTZ => D::TimestampTz(self.integer),
            AMBO_UUID => match bytes("the UUID", self.data, self.size)? {
                uuid if uuid.len() == 16 => D::Utf8(uuid_text(uuid)),
                other => return Err(Failure::misuse(format!("a UUID has 16 bytes, not {}", other.len()))),
            },
            AMBO_INTERVAL => self.read_interval()?,
            AMBO_NESTED => {
                let message = "lists, structs and maps are given as texts, or as Arrow";
                return Err(Failure::new(Class::NotSupported, message));
            }
            kind => return Err(Failure::misuse(format!("{kind} is no kind of a datum"))),
        })
    }

    fn read_decimal(&self) -> Result<ambo::Datum> {
        const MOST: i128 = 10i128.pow(38);
        let unscaled = i128::from(self.upper) << 64 | i128::from(self.integer as u64);
        match i8::try_from(self.scale) {
            Ok(scale @ 0..=38) if unscaled > -MOST && unscaled < MOST => {
                Ok(ambo::Datum::Decimal128 { unscaled, scale })
            }
            _ => Err(Failure::new(
                Class::Data,
                "a decimal has at most 38 digits, of which 0 to 38 are behind the point",
            )),
        }
    }

    fn read_interval(&self) -> Result<ambo::Datum> {
        if self.integer % 1000 != 0 {
            let message = "parts of an interval that are below a microsecond are not read";
            return Err(Failure::new(Class::NotSupported, message));
        }
        let (months, days, micros) = (self.scale, self.upper, self.integer / 1000);
        Ok(ambo::Datum::Utf8(format!("{months} months {days} days {micros} microseconds")))
    }
}

/// The values of a key or a row.
pub(crate) fn read_key(values: *const Datum, count: usize) -> Result<Vec<ambo::Datum>> {
    many("the values", values, count)?.iter().map(Datum::read).collect()
}
