//! The codecs by name and number.

use std::{fmt, str::FromStr};

use crate::integer::UnknownCodec;

/// How the bytes of a record are stored. The numbers are on disk; zero is reserved.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum RecordCodec {
    /// Number 1. Zeros, repeated bytes and literal runs, as Elekt Labs made it for Firebird.
    ElektRle,
    /// Number 2. The run-length encoding of Firebird 3.
    FirebirdRle,
    /// Number 3. LZ4 blocks.
    Lz4,
    /// Number 4. Zstandard, with the level at which records are compressed.
    Zstd {
        /// 1 to 22.
        level: u8,
    },
    /// Number 5. Snappy.
    Snappy,
    /// Number 6. Deflate with zlib's frame, with the level at which records are compressed.
    Zlib {
        /// 1 to 9.
        level: u8,
    },
    /// Number 7. LibLZF.
    Lzf,
}

impl RecordCodec {
    /// All codecs, at their usual levels.
    pub const ALL: [Self; 7] = [
        Self::ElektRle,
        Self::FirebirdRle,
        Self::Lz4,
        Self::Zstd { level: 3 },
        Self::Snappy,
        Self::Zlib { level: 6 },
        Self::Lzf,
    ];

    /// The number on disk.
    pub fn number(self) -> u8 {
        match self {
            Self::ElektRle => 1,
            Self::FirebirdRle => 2,
            Self::Lz4 => 3,
            Self::Zstd { .. } => 4,
            Self::Snappy => 5,
            Self::Zlib { .. } => 6,
            Self::Lzf => 7,
        }
    }

    /// The level at which records are compressed; 0 for codecs without levels.
    pub fn level(self) -> u8 {
        match self {
            Self::Zstd { level } | Self::Zlib { level } => level,
            _ => 0,
        }
    }

    /// The codec with this number, at this level, if there is one. Level 0 is the usual one.
    pub fn from_parts(number: u8, level: u8) -> Option<Self> {
        let codec = Self::ALL.into_iter().find(|codec| codec.number() == number)?;
        match codec {
            _ if level == 0 => Some(codec),
            Self::Zstd { .. } if level <= 22 => Some(Self::Zstd { level }),
            Self::Zlib { .. } if level <= 9 => Some(Self::Zlib { level }),
            _ => None,
        }
    }

    /// The name in options and messages, without the level.
    pub fn name(self) -> &'static str {
        match self {
            Self::ElektRle => "elekt-rle",
            Self::FirebirdRle => "firebird-rle",
            Self::Lz4 => "lz4",
            Self::Zstd { .. } => "zstd",
            Self::Snappy => "snappy",
            Self::Zlib { .. } => "zlib",
            Self::Lzf => "lzf",
        }
    }
}

/// The name, and the level where it is not the usual one: `zstd`, `zstd:19`.
impl fmt::Display for RecordCodec {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())?;
        if Self::ALL.contains(self) { Ok(()) } else { write!(f, ":{}", self.level()) }
    }
}

/// Reads what `Display` writes.
impl FromStr for RecordCodec {
    type Err = UnknownCodec;
    fn from_str(text: &str) -> Result<Self, UnknownCodec> {
        let (name, level) = match text.split_once(':') {
            Some((name, level)) => (name, level.parse().ok().filter(|level| *level > 0)),
            None => (text, Some(0)),
        };
        let codec = Self::ALL.into_iter().find(|codec| codec.name() == name);
        codec
            .zip(level)
            .and_then(|(codec, level)| Self::from_parts(codec.number(), level))
            .ok_or_else(|| UnknownCodec::new(text, Self::ALL.into_iter().map(Self::name)))
    }
}
