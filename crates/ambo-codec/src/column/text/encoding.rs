//! The encodings by number and name.

use std::fmt;

/// How the strings of a block are stored. The numbers are on disk; zero is reserved.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
#[repr(u8)]
#[non_exhaustive]
pub enum TextEncoding {
    /// One string that all rows have.
    Constant = 1,
    /// The bytes as they are.
    Raw = 2,
    /// Codes for symbols of up to eight bytes.
    Fsst = 3,
    /// What a string has in common with the one before it is left out.
    Front = 4,
    /// The different strings once, and their numbers.
    Dictionary = 5,
    /// Numbers of strings in the shared table.
    SharedDictionary = 6,
    /// Strings of one length, an alphabet for each place.
    Positional = 7,
    /// LZ4 or Zstandard over sub-blocks.
    Compressed = 8,
}

impl TextEncoding {
    /// All encodings.
    pub const ALL: [Self; 8] = [
        Self::Constant,
        Self::Raw,
        Self::Fsst,
        Self::Front,
        Self::Dictionary,
        Self::SharedDictionary,
        Self::Positional,
        Self::Compressed,
    ];

    /// The encoding with this number on disk, if there is one.
    pub fn from_u8(number: u8) -> Option<Self> {
        Self::ALL.into_iter().find(|encoding| *encoding as u8 == number)
    }

    /// The name in messages.
    pub fn name(self) -> &'static str {
        match self {
            Self::Constant => "constant",
            Self::Raw => "raw",
            Self::Fsst => "fsst",
            Self::Front => "front",
            Self::Dictionary => "dictionary",
            Self::SharedDictionary => "shared-dictionary",
            Self::Positional => "positional",
            Self::Compressed => "compressed",
        }
    }
}

impl fmt::Display for TextEncoding {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}
