//! The physical kinds of values.

use crate::{Error, Result, Type};

/// How the values of a block are represented. Several [`Type`]s share a kind.
///
/// Its number on disk is that of the type of the same name ([`Type::code`]), text being `Bytes`, 17.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[repr(u8)]
pub enum Kind {
    /// `boolean`.
    Bool = 1,
    /// `tinyint`.
    I8 = 2,
    /// `smallint`.
    I16 = 3,
    /// `int`, `date`.
    I32 = 4,
    /// `bigint`, `time`, `timestamp`.
    I64 = 5,
    /// `utinyint`.
    U8 = 6,
    /// `usmallint`.
    U16 = 7,
    /// `uint`.
    U32 = 8,
    /// `ubigint`.
    U64 = 9,
    /// `real`.
    F32 = 10,
    /// `double`.
    F64 = 11,
    /// `decimal`: the unscaled integer.
    I128 = 12,
    /// `text`, `binary`.
    Bytes = 17,
}

impl Kind {
    /// All of them.
    pub const ALL: [Self; 13] = [
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
        Self::I128,
        Self::Bytes,
    ];

    /// The kind that holds the values of `ty`.
    pub const fn of(ty: Type) -> Self {
        match ty {
            Type::Bool => Self::Bool,
            Type::I8 => Self::I8,
            Type::I16 => Self::I16,
            Type::I32 | Type::Date32 => Self::I32,
            Type::I64 | Type::Time64 | Type::Timestamp | Type::TimestampTz => Self::I64,
            Type::U8 => Self::U8,
            Type::U16 => Self::U16,
            Type::U32 => Self::U32,
            Type::U64 => Self::U64,
            Type::F32 => Self::F32,
            Type::F64 => Self::F64,
            Type::Decimal128 { .. } => Self::I128,
            Type::Utf8 | Type::Binary => Self::Bytes,
        }
    }

    /// The number on disk.
    pub const fn code(self) -> u8 {
        self as u8
    }

    /// The bytes of a value in memory; `None` when they differ.
    pub const fn size(self) -> Option<usize> {
        match self {
            Self::Bool | Self::I8 | Self::U8 => Some(1),
            Self::I16 | Self::U16 => Some(2),
            Self::I32 | Self::U32 | Self::F32 => Some(4),
            Self::I64 | Self::U64 | Self::F64 => Some(8),
            Self::I128 => Some(16),
            Self::Bytes => None,
        }
    }

    /// The kind of a number on disk.
    pub fn from_code(code: u8) -> Result<Self> {
        let found = Self::ALL.into_iter().find(|kind| kind.code() == code);
        found.ok_or(Error::malformed(1, "unknown kind of values"))
    }
}

/// How the values of a block are encoded.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[repr(u8)]
#[non_exhaustive]
pub enum Encoding {
    /// One value for all rows.
    Constant = 1,
    /// Frames of reference: bit-packed differences from the least value of each vector.
    Frames = 2,
    /// Frames of reference of the differences of neighbours.
    Delta = 3,
    /// Run lengths.
    Runs = 4,
    /// Distinct values in order, and bit-packed numbers of them.
    Dictionary = 5,
    /// The values as they are.
    Raw = 6,
    /// Floats that are decimal numbers, as integers.
    Alp = 7,
    /// 128-bit integers as 64-bit differences from the least, which are encoded in turn.
    Offset = 8,
    /// Booleans.
    Bits = 9,
    /// Strings, which have encodings of their own: [`super::text::TextEncoding`].
    Text = 10,
}

impl Encoding {
    /// All of them.
    pub const ALL: [Self; 10] = [
        Self::Constant,
        Self::Frames,
        Self::Delta,
        Self::Runs,
        Self::Dictionary,
        Self::Raw,
        Self::Alp,
        Self::Offset,
        Self::Bits,
        Self::Text,
    ];

    /// The number on disk.
    pub const fn code(self) -> u8 {
        self as u8
    }

    /// The name for reports.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Constant => "constant",
            Self::Frames => "frames",
            Self::Delta => "delta",
            Self::Runs => "runs",
            Self::Dictionary => "dictionary",
            Self::Raw => "raw",
            Self::Alp => "alp",
            Self::Offset => "offset",
            Self::Bits => "bits",
            Self::Text => "text",
        }
    }

    /// The encoding of a number on disk.
    pub fn from_code(code: u8) -> Result<Self> {
        let found = Self::ALL.into_iter().find(|encoding| encoding.code() == code);
        found.ok_or(Error::malformed(2, "unknown encoding of a column block"))
    }
}
