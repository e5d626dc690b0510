//! Encodings of blocks of byte strings: text and binary.
//!
//! A block holds up to 65,536 strings, usually some thousands of a column. [`encode`] chooses an encoding from the
//! strings; [`TextBlock::parse`] finds the parts of a block; the strings come out in Arrow's layout
//! ([`TextBlock::decode`]), one at a time ([`TextBlock::get`]), or for some rows ([`TextBlock::gather`]).
//! [`TextBlock::filter`] evaluates predicates on what is stored. NULLs are no matter of a block: they stand in it as empty
//! strings, and their rows are taken out elsewhere.
//!
//! What the blocks of one column chunk have in common, symbols and a dictionary, may be stored once: a [`TextTable`] is
//! trained for the chunk, its bytes are stored beside the blocks, and a [`SharedTable`] reads them.
//!
//! ```
//! use ambo_codec::column::{BytesView, Goal, Mask, text::{TextBlock, TextPredicate, encode}};
//!
//! let flags = BytesView::new(&[0, 1, 2, 3, 4], b"NNRN");
//! let mut bytes = Vec::new();
//! encode(&flags, Goal::Speed, None, &mut bytes)?;
//!
//! let block = TextBlock::parse(&bytes, 4, None)?;
//! let mut returned = Mask::all(4);
//! block.filter(&TextPredicate::Eq(b"R"), &mut returned)?;
//! assert_eq!(returned.iter().collect::<Vec<_>>(), [2]);
//!
//! let (mut offsets, mut data) = (Vec::new(), Vec::new());
//! block.decode(1..3, &mut offsets, &mut data)?;
//! assert_eq!((offsets, data), (vec![0, 1, 2], b"NR".to_vec()));
//! # Ok::<(), ambo_codec::Error>(())
//! ```
//!
//! # Format
//! | part | size | meaning |
//! |---|---|---|
//! | encoding | 1 | [`TextEncoding`] |
//! | decoded | varint | bytes of all strings, at most 2^31 - 1 |
//! | body | to the end | see below |
//!
//! | encoding | body |
//! |---|---|
//! | constant | the one string |
//! | raw | the bounds of the strings, then their bytes |
//! | FSST | symbols, then the strings in codes |
//! | front | prefix lengths, then the rest of each string as a block |
//! | dictionary | the different strings as a block, then codes |
//! | shared dictionary | codes |
//! | positional | alphabets, then codes |
//! | compressed | sub-blocks |
//!
//! The bodies are described in the modules of their names. Numbers of varying length are [`crate::varint`]s.
//! Examples: `x`, `x` are `01 02 78`. `ab`, `c` are raw `02 03 03 01 01 01 61 62 63`: three bytes; bounds of three
//! bytes, the shortest string 1 byte, 1 bit for each length, lengths 1 and 0 more than that; the bytes.

mod bits;
mod block;
mod bounds;
mod compressed;
mod copy;
mod dictionary;
mod encode;
mod encoding;
mod filter;
mod front;
mod fsst;
mod like;
mod positional;
mod reader;
mod shared;
mod strings;
mod symbols;
#[cfg(test)]
mod tests;

pub use block::TextBlock;
pub use dictionary::TextCodes;
pub use encode::{TextSummary, encode, encode_as};
pub use encoding::TextEncoding;
pub use filter::TextPredicate;
pub(crate) use like::Like;
pub use shared::{SharedTable, TextTable};

use super::{BLOCK_ROWS_MAX, BytesView, Goal, Mask};

/// The most bytes of the strings of a block: Arrow's offsets are 32 bits and signed.
const DECODED_MAX: usize = i32::MAX as usize;
