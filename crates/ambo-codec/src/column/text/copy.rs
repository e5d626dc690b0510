//! Copies of short strings without a call: sixteen bytes at a time, beyond the end of the string.

/// Bytes behind the last string that a copy may overwrite, and that it may read behind its source.
pub(super) const SLACK: usize = 32;
/// Bytes that are copied at once.
const CHUNK: usize = 16;

/// Copies `from[start..start + len]` to `to[at..]`. Up to [`SLACK`] bytes more are read and overwritten.
///
/// # Panics
/// When either ends less than [`SLACK`] bytes behind the string.
#[inline(always)]
pub(super) fn copy(from: &[u8], start: usize, len: usize, to: &mut [u8], at: usize) {
    if len > 4 * CHUNK {
        to[at..at + len].copy_from_slice(&from[start..start + len]);
        return;
    }
    let mut done = 0;
    loop {
        let chunk: [u8; CHUNK] = from[start + done..][..CHUNK].try_into().expect("so many bytes");
        to[at + done..][..CHUNK].copy_from_slice(&chunk);
        done += CHUNK;
        if done >= len {
            return;
        }
    }
}

/// As [`copy`], within one slice, from before to behind: the string at `start` ends before `at`.
#[inline]
pub(super) fn copy_within(bytes: &mut [u8], start: usize, len: usize, at: usize) {
    if len > 4 * CHUNK {
        bytes.copy_within(start..start + len, at);
        return;
    }
    let mut done = 0;
    while done < len {
        let chunk: [u8; CHUNK] = bytes[start + done..][..CHUNK].try_into().expect("so many bytes");
        bytes[at + done..][..CHUNK].copy_from_slice(&chunk);
        done += CHUNK;
    }
}
