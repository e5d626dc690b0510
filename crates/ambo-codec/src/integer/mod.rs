//! Sorted blocks of integers, compressed.
//!
//! A block is a strictly increasing sequence of `u32` or `u64`, up to [`IntegerCodec::block_len`] of them. Its first
//! value and its length are kept by whoever keeps the block (a B+tree page has them in a directory that it
//! searches), so they are not in the block's bytes. A block of one value has no bytes.
//!
//! What is stored of every further value is at least one smaller than it could be, as values never repeat
//! (`docs/formats/integers.md`).
//!
//! ```
//! use ambo_codec::integer::IntegerCodec;
//!
//! let keys = [1000u32, 1001, 1002, 1003];
//! let mut bytes = Vec::new();
//! IntegerCodec::Bp128.encode(&keys, &mut bytes);
//! assert_eq!(bytes, [0]);
//!
//! let block = IntegerCodec::Bp128.block(&bytes, keys[0], keys.len())?;
//! assert_eq!(block.lower_bound(1002)?, (2, true));
//! assert_eq!(block.sum()?, 4006);
//! # Ok::<(), ambo_codec::integer::Damaged>(())
//! ```

mod bits;
mod block;
mod codec;
mod encode;
mod lengths;
mod measure;
mod scalar;
#[cfg(target_arch = "x86_64")]
mod simd;
#[cfg(not(target_arch = "x86_64"))]
#[path = "portable.rs"]
mod simd;
#[cfg(test)]
mod tests;
mod word;

pub use block::{Block, Damaged};
pub use codec::{IntegerCodec, UnknownCodec};
pub use measure::BlockMeasure;
pub use word::Word;
