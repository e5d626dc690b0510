//! Taking the parts of a block from its front.

use crate::{Error, Result};

/// The next `len` bytes.
#[inline]
pub(crate) fn take<'a>(bytes: &mut &'a [u8], len: usize) -> Result<&'a [u8]> {
    let (part, rest) = bytes.split_at_checked(len).ok_or(Error::malformed(0, "a column block is cut off"))?;
    *bytes = rest;
    Ok(part)
}

/// The next 4 bytes as a count, not above `max`.
#[inline]
pub(crate) fn take_count(bytes: &mut &[u8], max: usize) -> Result<usize> {
    let raw: [u8; 4] = take(bytes, 4)?.try_into().expect("4 bytes");
    let count = u32::from_le_bytes(raw) as usize;
    if count > max {
        return Err(Error::malformed(0, "a count is out of bounds"));
    }
    Ok(count)
}

/// Appends a count of 4 bytes.
pub(crate) fn put_count(count: usize, out: &mut Vec<u8>) {
    let count = u32::try_from(count).expect("counts of a block fit 32 bits");
    out.extend_from_slice(&count.to_le_bytes());
}
