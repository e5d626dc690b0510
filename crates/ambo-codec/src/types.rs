//! What a column may hold.
//!
//! On disk a type is one byte, its number below (zero is reserved); a decimal is followed by its precision
//! and its scale, a byte each.
//!
//! | number | type | SQL name | size of a value, bytes |
//! |---|---|---|---|
//! | 1 | `Bool` | `boolean` | 1 |
//! | 2, 3, 4, 5 | `I8`, `I16`, `I32`, `I64` | `tinyint`, `smallint`, `int`, `bigint` | 1, 2, 4, 8 |
//! | 6, 7, 8, 9 | `U8`, `U16`, `U32`, `U64` | `utinyint`, `usmallint`, `uint`, `ubigint` | 1, 2, 4, 8 |
//! | 10, 11 | `F32`, `F64` | `real`, `double` | 4, 8 |
//! | 12 | `Decimal128` | `decimal(precision, scale)` | 16 |
//! | 13 | `Date32` | `date` | 4 |
//! | 14 | `Time64` | `time` | 8 |
//! | 15 | `Timestamp` | `timestamp` | 8 |
//! | 16 | `Utf8` | `text` | any |
//! | 17 | `Binary` | `binary` | any |
//! | 18 | `TimestampTz` | `timestamptz` | 8 |
//!
//! Example: `decimal(10,2)` is `0C 0A 02`, `bigint` is `05`.

use std::fmt;
use std::str::FromStr;

use crate::{Error, Result};

/// The type of a column.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Type {
    /// True or false.
    Bool,
    /// Signed, 8 bits.
    I8,
    /// Signed, 16 bits.
    I16,
    /// Signed, 32 bits.
    I32,
    /// Signed, 64 bits.
    I64,
    /// Unsigned, 8 bits.
    U8,
    /// Unsigned, 16 bits.
    U16,
    /// Unsigned, 32 bits.
    U32,
    /// Unsigned, 64 bits.
    U64,
    /// IEEE 754 binary32.
    F32,
    /// IEEE 754 binary64.
    F64,
    /// An integer of at most `precision` digits, times ten to the power of minus `scale`.
    Decimal128 {
        /// Decimal digits, 1 to 38.
        precision: u8,
        /// Digits behind the point, -38 to `precision`.
        scale: i8,
    },
    /// Days since 1970-01-01.
    Date32,
    /// Nanoseconds since midnight.
    Time64,
    /// Microseconds since 1970-01-01 00:00:00 of a calendar and a clock, wherever they hang.
    Timestamp,
    /// Microseconds since 1970-01-01 00:00:00 UTC: a moment, whatever clocks show then.
    TimestampTz,
    /// Text.
    Utf8,
    /// Bytes.
    Binary,
}

/// The most digits that a decimal of 128 bits can promise.
const PRECISION_MAX: u8 = 38;
const DECIMAL_CODE: u8 = 12;

impl Type {
    /// A decimal, when precision (1 to 38) and scale (-38 to precision) are in their bounds.
    pub fn decimal(precision: u8, scale: i8) -> Result<Self> {
        let sane = (1..=PRECISION_MAX).contains(&precision)
            && scale >= -(PRECISION_MAX as i8)
            && scale <= precision as i8;
        match sane {
            true => Ok(Self::Decimal128 { precision, scale }),
            false => Err(Error::invalid(format!(
                "decimal({precision},{scale}): precision is 1 to {PRECISION_MAX}, scale -{PRECISION_MAX} to precision"
            ))),
        }
    }

    /// The type's number on disk; never changed, never zero.
    pub const fn code(self) -> u8 {
        match self {
            Self::Bool => 1,
            Self::I8 => 2,
            Self::I16 => 3,
            Self::I32 => 4,
            Self::I64 => 5,
            Self::U8 => 6,
            Self::U16 => 7,
            Self::U32 => 8,
            Self::U64 => 9,
            Self::F32 => 10,
            Self::F64 => 11,
            Self::Decimal128 { .. } => DECIMAL_CODE,
            Self::Date32 => 13,
            Self::Time64 => 14,
            Self::Timestamp => 15,
            Self::Utf8 => 16,
            Self::Binary => 17,
            Self::TimestampTz => 18,
        }
    }

    /// Appends the type, 1 byte or, for a decimal, 3.
    pub fn encode(self, out: &mut Vec<u8>) {
        out.push(self.code());
        if let Self::Decimal128 { precision, scale } = self {
            out.push(precision);
            out.push(scale as u8);
        }
    }

    /// The type at the beginning of `bytes`, and its length in bytes.
    pub fn decode(bytes: &[u8]) -> Result<(Self, usize)> {
        let code = *bytes.first().ok_or(Error::malformed(0, "a type is cut off"))?;
        if code == DECIMAL_CODE {
            let &[_, precision, scale, ..] = bytes else {
                return Err(Error::malformed(0, "a decimal type is cut off"));
            };
            let decimal = Self::decimal(precision, scale as i8);
            return decimal
                .map(|decimal| (decimal, 3))
                .map_err(|_| Error::malformed(1, "precision or scale of a decimal type"));
        }
        let simple = [
            Self::Bool,
            Self::I8,
            Self::I16,
            Self::I32,
            Self::I64,
            Self::U8,
            Self::U16,
            Self::U32,
            Self::U64,
            Self::F32,
            Self::F64,
            Self::Date32,
            Self::Time64,
            Self::Timestamp,
            Self::Utf8,
            Self::Binary,
            Self::TimestampTz,
        ];
        let found = simple.into_iter().find(|ty| ty.code() == code);
        found.map(|ty| (ty, 1)).ok_or(Error::malformed(0, "unknown type number"))
    }

    /// The size of a value in bytes, when every value has the same.
    pub const fn fixed_width(self) -> Option<usize> {
        match self {
            Self::Bool | Self::I8 | Self::U8 => Some(1),
            Self::I16 | Self::U16 => Some(2),
            Self::I32 | Self::U32 | Self::F32 | Self::Date32 => Some(4),
            Self::I64 | Self::U64 | Self::F64 | Self::Time64 | Self::Timestamp | Self::TimestampTz => Some(8),
            Self::Decimal128 { .. } => Some(16),
            Self::Utf8 | Self::Binary => None,
        }
    }

    /// Whether values differ in size: text and bytes.
    pub const fn is_variable(self) -> bool {
        self.fixed_width().is_none()
    }

    /// Whether the type is an integer, signed or not.
    pub const fn is_integer(self) -> bool {
        matches!(self.code(), 2..=9)
    }

    /// Whether the type is a number: integer, float or decimal.
    pub const fn is_numeric(self) -> bool {
        matches!(self.code(), 2..=12)
    }
}

impl fmt::Display for Type {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let name = match self {
            Self::Bool => "boolean",
            Self::I8 => "tinyint",
            Self::I16 => "smallint",
            Self::I32 => "int",
            Self::I64 => "bigint",
            Self::U8 => "utinyint",
            Self::U16 => "usmallint",
            Self::U32 => "uint",
            Self::U64 => "ubigint",
            Self::F32 => "real",
            Self::F64 => "double",
            Self::Decimal128 { precision, scale } => return write!(f, "decimal({precision},{scale})"),
            Self::Date32 => "date",
            Self::Time64 => "time",
            Self::Timestamp => "timestamp",
            Self::TimestampTz => "timestamptz",
            Self::Utf8 => "text",
            Self::Binary => "binary",
        };
        f.write_str(name)
    }
}

impl FromStr for Type {
    type Err = Error;

    /// Reads the SQL name or a usual other one, in any case: `integer`, `int4`, `i32`, `varchar`, `blob`,
    /// `numeric(10,2)` ….
    fn from_str(text: &str) -> Result<Self> {
        let name = text.trim().to_ascii_lowercase();
        if let Some((base, rest)) = name.split_once('(') {
            return parse_decimal(base.trim(), rest)
                .unwrap_or_else(|| Err(Error::invalid(format!("unknown type: {text}"))));
        }
        Ok(match name.as_str() {
            "boolean" | "bool" => Self::Bool,
            "tinyint" | "i8" => Self::I8,
            "smallint" | "int2" | "i16" => Self::I16,
            "int" | "integer" | "int4" | "i32" => Self::I32,
            "bigint" | "int8" | "i64" | "long" => Self::I64,
            "utinyint" | "tinyint unsigned" | "u8" => Self::U8,
            "usmallint" | "smallint unsigned" | "u16" => Self::U16,
            "uint" | "uinteger" | "int unsigned" | "u32" => Self::U32,
            "ubigint" | "bigint unsigned" | "u64" => Self::U64,
            "real" | "float" | "float4" | "f32" => Self::F32,
            "double" | "double precision" | "float8" | "f64" => Self::F64,
            "decimal" | "numeric" => Self::decimal(PRECISION_MAX, 10)?,
            "date" | "date32" => Self::Date32,
            "time" | "time64" => Self::Time64,
            "timestamp" | "datetime" | "timestamp without time zone" => Self::Timestamp,
            "timestamptz" | "timestamp with time zone" => Self::TimestampTz,
            "text" | "varchar" | "string" | "utf8" => Self::Utf8,
            "binary" | "varbinary" | "blob" | "bytea" | "bytes" => Self::Binary,
            _ => return Err(Error::invalid(format!("unknown type: {text}"))),
        })
    }
}

/// `rest` is what stands behind the opening bracket; `None` when it is no decimal at all.
fn parse_decimal(base: &str, rest: &str) -> Option<Result<Type>> {
    if base != "decimal" && base != "numeric" {
        return None;
    }
    let arguments = rest.strip_suffix(')')?;
    let (precision, scale) = arguments.split_once(',').unwrap_or((arguments, "0"));
    Some(Type::decimal(precision.trim().parse().ok()?, scale.trim().parse().ok()?))
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;

    pub(crate) const ALL: [Type; 19] = [
        Type::Bool,
        Type::I8,
        Type::I16,
        Type::I32,
        Type::I64,
        Type::U8,
        Type::U16,
        Type::U32,
        Type::U64,
        Type::F32,
        Type::F64,
        Type::Decimal128 { precision: 38, scale: 10 },
        Type::Decimal128 { precision: 9, scale: -2 },
        Type::Date32,
        Type::Time64,
        Type::Timestamp,
        Type::Utf8,
        Type::Binary,
        Type::TimestampTz,
    ];

    // Keeps away a catalog whose types read back as others.
    #[test]
    fn bytes_and_names_round_trip() {
        for ty in ALL {
            let mut bytes = Vec::new();
            ty.encode(&mut bytes);
            assert_eq!(Type::decode(&bytes), Ok((ty, bytes.len())));
            assert!(Type::decode(&bytes[..bytes.len() - 1]).is_err());
            assert_eq!(ty.to_string().parse(), Ok(ty));
        }
    }

    // Keeps away renumbered types: these numbers are on disk.
    #[test]
    fn numbers_are_pinned() {
        let mut bytes = Vec::new();
        ALL.iter().for_each(|ty| ty.encode(&mut bytes));
        let pinned = [1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 38, 10, 12, 9, 0xfe, 13, 14, 15, 16, 17, 18];
        assert_eq!(bytes, pinned);
    }

    // Keeps away acceptance of damaged or senseless types.
    #[test]
    fn refuses_what_is_no_type() {
        for code in (0..=0).chain(19..=255) {
            assert!(Type::decode(&[code]).is_err());
        }
        assert!(Type::decode(&[12, 39, 0]).is_err());
        assert!(Type::decode(&[12, 5, 6]).is_err());
        for name in ["", "varchar(", "decimal(", "decimal(0,0)", "decimal(5,6)", "decimal(5,1", "int(4)"] {
            assert!(name.parse::<Type>().is_err(), "{name}");
        }
        assert_eq!(" Numeric( 10 , 2 ) ".parse(), Type::decimal(10, 2));
        assert_eq!("INTEGER".parse(), Ok(Type::I32));
    }
}
