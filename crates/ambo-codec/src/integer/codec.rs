//! The codecs by name and number.

use std::{fmt, str::FromStr};

/// How a block of sorted integers is stored. The numbers are on disk; zero is reserved.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
#[repr(u8)]
pub enum IntegerCodec {
    /// Differences of neighbours, 7 bits a byte.
    VByte = 1,
    /// The bytes of [`IntegerCodec::VByte`], decoded several at a time.
    MaskedVByte = 2,
    /// Differences in groups of 64 bytes, four bytes of lengths before each group.
    GroupVarint = 3,
    /// Differences, all lengths before all bytes.
    StreamVByte = 4,
    /// Differences from a line through the first value, bit-packed at one width, one after the other.
    For = 5,
    /// As [`IntegerCodec::For`], laid out for vectors of lanes.
    SimdFor = 6,
    /// Differences of neighbours, bit-packed at one width, one after the other.
    Bp128 = 7,
}

/// A name that is no codec's.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
#[error("unknown codec {name:?}; there are {known}")]
pub struct UnknownCodec {
    name: String,
    known: String,
}

impl UnknownCodec {
    /// That `name` is none of `known`.
    pub(crate) fn new<'k>(name: &str, known: impl Iterator<Item = &'k str>) -> Self {
        Self { name: name.to_owned(), known: known.collect::<Vec<_>>().join(", ") }
    }
}

impl IntegerCodec {
    /// All codecs.
    pub const ALL: [Self; 7] = [
        Self::VByte,
        Self::MaskedVByte,
        Self::GroupVarint,
        Self::StreamVByte,
        Self::For,
        Self::SimdFor,
        Self::Bp128,
    ];

    /// The codec with this number on disk, if there is one.
    pub fn from_u8(number: u8) -> Option<Self> {
        Self::ALL.into_iter().find(|codec| *codec as u8 == number)
    }

    /// The name in options and messages.
    pub fn name(self) -> &'static str {
        match self {
            Self::VByte => "vbyte",
            Self::MaskedVByte => "masked-vbyte",
            Self::GroupVarint => "group-varint",
            Self::StreamVByte => "stream-vbyte",
            Self::For => "for",
            Self::SimdFor => "simd-for",
            Self::Bp128 => "bp128",
        }
    }

    /// The most values of a block.
    pub const fn block_len(self) -> usize {
        match self {
            Self::Bp128 => 128,
            _ => 256,
        }
    }
}

impl fmt::Display for IntegerCodec {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

impl FromStr for IntegerCodec {
    type Err = UnknownCodec;
    fn from_str(name: &str) -> Result<Self, UnknownCodec> {
        Self::ALL
            .into_iter()
            .find(|codec| codec.name() == name)
            .ok_or_else(|| UnknownCodec::new(name, Self::ALL.into_iter().map(Self::name)))
    }
}
