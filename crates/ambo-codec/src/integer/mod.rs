//! Sorted blocks of integers, compressed.
//!
//! A block is a strictly increasing sequence of `u32` or `u64`, up to [`IntegerCodec::block_len`] of them. Its first
//! value and its length are kept by whoever keeps the block (a B+tree page has them in a directory that it
//! searches), so they are not in the block's bytes.

mod codec;

pub use codec::{IntegerCodec, UnknownCodec};
