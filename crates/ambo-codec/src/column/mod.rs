//! Encodings of column blocks.
//!
//! A **block** is up to 65,536 values of one column, encoded in whichever way suits them: [`encode`] chooses. A
//! [`Block`] is parsed without looking at the values; then any range or position is decoded, predicates are answered, and
//! sums and bounds computed, on the encoded form wherever it allows.
//!
//! ```
//! use ambo_codec::ValueRef;
//! use ambo_codec::column::{Block, ColumnSlice, Compare, Goal, Kind, Mask, Predicate, Sum, encode};
//!
//! let prices: Vec<f64> = (0..5000).map(|i| f64::from(i % 700) / 100.0).collect();
//! let mut bytes = Vec::new();
//! let summary = encode(ColumnSlice::F64(&prices), None, Goal::Speed, &mut bytes)?;
//! assert!(summary.bytes < 5000 * 8 / 5);
//!
//! let block = Block::parse(&bytes, Kind::F64, 5000)?;
//! let mut some = [0.0; 100];
//! block.decode(900..1000, &mut some)?;
//! assert_eq!(some, prices[900..1000]);
//!
//! let mut mask = Mask::all(5000);
//! block.filter(Predicate::Compare(Compare::Less, ValueRef::F64(0.05)), &mut mask)?;
//! assert_eq!(mask.count(), 40);
//! assert_eq!(block.min_max(Some(&mask))?.unwrap().1.as_ref().as_f64(), Some(0.04));
//! # Ok::<(), ambo_codec::Error>(())
//! ```
//!
//! The layers, each of which uses those before it: `mask`, `kind`, `native` (values and their codes), [`bits`] (packing),
//! `compare` (codes to selection bits), `frames`, then the encodings `delta`, `runs`, `dictionary`, `alp`, `bitset`,
//! chosen in `numbers` and `wide`, and `block` with its face. The formats are also in `docs/formats/columns.md`.

mod alp;
pub mod arithmetic;
pub mod bits;
mod bitset;
mod block;
mod code;
mod compare;
mod delta;
mod dictionary;
mod encode;
pub mod envelope;
mod frames;
mod input;
mod integers;
mod key_set;
mod kind;
mod mask;
mod native;
mod numbers;
mod predicate;
mod ranges;
mod runs;
mod search;
mod section;
pub mod simd;
pub mod text;
mod value_test;
mod wide;

pub use block::{Block, Codes, Element};
pub use code::Code;
pub use encode::{BlockSummary, encode, encode_raw, encode_text};
pub use input::{BytesView, ColumnSlice};
pub use key_set::{KeySet, KeySetBuilder};
pub use kind::{Encoding, Kind};
pub use mask::{BitsView, Mask};
pub use native::Native;
pub use numbers::Sum;
pub use predicate::{Compare, Predicate};
pub use value_test::ValueTest;

/// What an encoder is to spare.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum Goal {
    /// The smallest encoding that is scanned without being decompressed first.
    #[default]
    Speed,
    /// The smallest form, general compression included when it gains enough.
    Size,
}

/// How many values are packed together.
pub const VECTOR: usize = 1024;

/// The most rows of a block.
pub const BLOCK_ROWS_MAX: usize = 65_536;

#[cfg(test)]
mod tests;
