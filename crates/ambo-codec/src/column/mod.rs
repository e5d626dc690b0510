//! Encodings of column blocks.
//!
//! Strings are encoded in `text`, everything else here.

pub mod bits;
mod code;
mod input;
mod kind;
mod mask;
mod simd;
pub mod text;

pub use code::Code;
pub use input::{BytesView, ColumnSlice};
pub use kind::Kind;
pub use mask::{BitsView, Mask};

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
