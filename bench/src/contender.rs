//! Whose a figure is: an engine, a codec, a file format, by the name that tables show.

use std::cmp::Ordering;
use std::fmt;

use serde::{Deserialize, Serialize};

use crate::engine::Kind;

/// The name of what a figure was measured on.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Contender(String);

/// This project, everywhere but in `compressed-tables`, where its codecs stand side by side.
pub const AMBO: &str = "ambo";
/// This project, where size goes before speed.
pub const AMBO_SIZE: &str = "ambo-size";
/// Tables without a codec, which those with one are held against.
pub const UNCOMPRESSED: &str = "none";
/// Arrays without a codec: a copy of the bytes, a binary search, …
pub const PLAIN: &str = "plain";

/// The order of the columns of tables, and colours that stay apart for people who see few of them (after Okabe and
/// Ito, 2008). Names that are not here come last, by the alphabet.
const KNOWN: [(&str, &str); 30] = [
    (AMBO, "#d55e00"),
    (AMBO_SIZE, "#cc79a7"),
    ("rocksdb", "#0072b2"),
    ("lmdb", "#009e73"),
    ("redb", "#cc79a7"),
    ("fjall", "#e69f00"),
    ("sqlite", "#7f7f7f"),
    ("bitpacking", "#0072b2"),
    ("stream-vbyte crate", "#009e73"),
    ("stream-vbyte crate, differences only", "#56b4e9"),
    ("roaring", "#0072b2"),
    ("croaring", "#009e73"),
    ("parquet-snappy", "#0072b2"),
    ("parquet-zstd", "#009e73"),
    ("duckdb", "#e69f00"),
    (PLAIN, "#7f7f7f"),
    (UNCOMPRESSED, "#7f7f7f"),
    ("vbyte", "#e69f00"),
    ("masked-vbyte", "#cc79a7"),
    ("group-varint", "#56b4e9"),
    ("stream-vbyte", "#009e73"),
    ("for", "#f0e442"),
    ("simd-for", "#0072b2"),
    ("bp128", "#d55e00"),
    ("firebird-rle", "#0072b2"),
    ("elekt-rle", "#d55e00"),
    ("lz4", "#009e73"),
    ("zstd", "#e69f00"),
    ("snappy", "#cc79a7"),
    ("zlib", "#56b4e9"),
];
const OTHER_COLOUR: &str = "#333333";

impl Contender {
    /// The name.
    pub fn name(&self) -> &str {
        &self.0
    }

    /// Whether this is the project itself, which others are compared with.
    pub fn is_ambo(&self) -> bool {
        self.0 == AMBO
    }

    /// Whether others compete with it; plain arrays are there for scale only.
    pub fn is_peer(&self) -> bool {
        !self.is_ambo() && self.0 != AMBO_SIZE && self.0 != PLAIN
    }

    /// The colour of its bars.
    pub fn colour(&self) -> &'static str {
        self.known().map_or(OTHER_COLOUR, |place| KNOWN[place].1)
    }

    fn known(&self) -> Option<usize> {
        KNOWN.iter().position(|(name, _)| *name == self.0)
    }
}

impl Ord for Contender {
    fn cmp(&self, other: &Contender) -> Ordering {
        let place = |contender: &Contender| contender.known().unwrap_or(KNOWN.len());
        place(self).cmp(&place(other)).then_with(|| self.0.cmp(&other.0))
    }
}

impl PartialOrd for Contender {
    fn partial_cmp(&self, other: &Contender) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl fmt::Display for Contender {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl From<&str> for Contender {
    fn from(name: &str) -> Contender {
        Contender(name.to_owned())
    }
}

impl From<Kind> for Contender {
    fn from(kind: Kind) -> Contender {
        kind.name().into()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ambo_comes_first_and_strangers_last() {
        // Keeps away: columns that change places between two reports.
        let mut all: Vec<Contender> = ["unheard of", "lmdb", "another", AMBO].map(Contender::from).to_vec();
        all.sort();
        assert_eq!(all, [AMBO, "lmdb", "another", "unheard of"].map(Contender::from));
    }

    #[test]
    fn every_engine_has_a_colour() {
        // Keeps away: bars of two engines that look alike.
        for kind in Kind::ALL {
            assert_ne!(Contender::from(kind).colour(), OTHER_COLOUR, "{}", kind.name());
        }
    }
}
