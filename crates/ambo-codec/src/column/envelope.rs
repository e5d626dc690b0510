//! Blocks compressed as a whole: the last resort when size is all that counts.
//!
//! # Format
//! | offset | bytes | meaning |
//! |---|---|---|
//! | 0 | 1 | form: 2 LZ4 block, 3 Zstandard frame |
//! | 1 | 3 | zero, reserved |
//! | 4 | 4 | bytes of the plain block |
//! | 8 | any | the plain block, compressed |

use std::borrow::Cow;

use super::block::FORM_PLAIN;
use crate::{Error, Result};

const FORM_LZ4: u8 = 2;
const FORM_ZSTD: u8 = 3;
const HEADER: usize = 8;
/// The level at which Zstandard's gain over the encodings flattens.
const ZSTD_LEVEL: i32 = 3;

/// Whether a block has to be expanded before it is parsed.
pub fn is_compressed(bytes: &[u8]) -> bool {
    bytes.first().is_some_and(|&form| form != FORM_PLAIN)
}

/// Replaces the plain block from `start` to the end of `out` by its compressed form, if that saves an eighth.
/// LZ4, which expands several times faster, is taken unless Zstandard is smaller by a tenth.
pub(crate) fn shrink(start: usize, out: &mut Vec<u8>) {
    let plain = &out[start..];
    let lz4 = lz4_flex::block::compress(plain);
    let zstd = zstd::bulk::compress(plain, ZSTD_LEVEL).unwrap_or_default();
    let (form, best) = match !zstd.is_empty() && zstd.len() < lz4.len() - lz4.len() / 10 {
        true => (FORM_ZSTD, zstd),
        false => (FORM_LZ4, lz4),
    };
    let Ok(len) = u32::try_from(plain.len()) else { return };
    if HEADER + best.len() >= plain.len() - plain.len() / 8 {
        return;
    }
    out.truncate(start);
    out.extend([form, 0, 0, 0]);
    out.extend_from_slice(&len.to_le_bytes());
    out.extend_from_slice(&best);
}

/// The plain block of `bytes`: `bytes` themselves if they are not compressed.
///
/// `limit` bounds the bytes of the plain block, and so the memory that damaged bytes can ask for. Errors are
/// [`Error::Malformed`].
pub fn expand(bytes: &[u8], limit: usize) -> Result<Cow<'_, [u8]>> {
    if !is_compressed(bytes) {
        return Ok(Cow::Borrowed(bytes));
    }
    let Some((&[form, 0, 0, 0, l0, l1, l2, l3], packed)) = bytes.split_first_chunk::<HEADER>() else {
        return Err(Error::malformed(0, "the header of a compressed block"));
    };
    let len = u32::from_le_bytes([l0, l1, l2, l3]) as usize;
    if len > limit {
        return Err(Error::malformed(4, "a compressed block is larger than its limit"));
    }
    let mut plain = vec![0; len];
    let written = match form {
        FORM_LZ4 => lz4_flex::block::decompress_into(packed, &mut plain).ok(),
        FORM_ZSTD => zstd::bulk::decompress_to_buffer(packed, &mut plain).ok(),
        _ => return Err(Error::malformed(0, "unknown form of a column block")),
    };
    match written == Some(len) && !is_compressed(&plain) {
        true => Ok(Cow::Owned(plain)),
        false => Err(Error::malformed(HEADER, "a compressed block does not expand")),
    }
}
