//! Copies of short strings without a call: sixteen bytes at a time, beyond the end of the string.

/// Bytes behind the last string that a copy may overwrite, and that it may read behind its source.
pub(super) const SLACK: usize = 16;

/// Copies `from[start..start + len]` to `to[at..]`. Up to [`SLACK`] bytes more are read and overwritten.
///
/// # Panics
/// When either ends less than [`SLACK`] bytes behind the string.
#[inline]
pub(super) fn copy(from: &[u8], start: usize, len: usize, to: &mut [u8], at: usize) {
    if len > 4 * SLACK {
        to[at..at + len].copy_from_slice(&from[start..start + len]);
        return;
    }
    let mut done = 0;
    loop {
        let chunk: [u8; SLACK] = from[start + done..][..SLACK].try_into().expect("so many bytes");
        to[at + done..][..SLACK].copy_from_slice(&chunk);
        done += SLACK;
        if done >= len {
            return;
        }
    }
}

/// As [`copy`], within one slice, from before to behind: the string at `start` ends before `at`.
#[inline]
pub(super) fn copy_within(bytes: &mut [u8], start: usize, len: usize, at: usize) {
    if len > 4 * SLACK {
        bytes.copy_within(start..start + len, at);
        return;
    }
    let mut done = 0;
    while done < len {
        let chunk: [u8; SLACK] = bytes[start + done..][..SLACK].try_into().expect("so many bytes");
        bytes[at + done..][..SLACK].copy_from_slice(&chunk);
        done += SLACK;
    }
}
