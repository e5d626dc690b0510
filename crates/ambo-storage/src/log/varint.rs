//! Unsigned numbers in as few bytes as they need: seven bits a byte, the least first, the high bit says that more follow
//! (LEB128).

/// The most bytes that a number takes.
pub(super) const BYTES_MAX: usize = 10;

/// Appends `value`.
#[inline]
pub(super) fn put(out: &mut Vec<u8>, mut value: u64) {
    while value >= 0x80 {
        out.push(value as u8 | 0x80);
        value >>= 7;
    }
    out.push(value as u8);
}

/// Takes a number off the front of `bytes`; `None` if it is cut off or too large.
#[inline]
pub(super) fn take(bytes: &mut &[u8]) -> Option<u64> {
    let mut value = 0;
    for i in 0..BYTES_MAX {
        let (&byte, rest) = bytes.split_first()?;
        *bytes = rest;
        let part = u64::from(byte & 0x7F);
        if i == BYTES_MAX - 1 && byte > 1 {
            return None;
        }
        value |= part << (7 * i);
        if byte < 0x80 {
            return Some(value);
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_come_back_and_bad_ones_do_not() {
        // Keeps away lengths that wrap around: a hostile length must not become a small one.
        for value in (0..64).flat_map(|bit| [(1u64 << bit) - 1, 1 << bit, u64::MAX << bit]) {
            let mut bytes = Vec::new();
            put(&mut bytes, value);
            assert!(bytes.len() <= BYTES_MAX);
            assert_eq!(take(&mut &bytes[..bytes.len() - 1]), None);
            bytes.push(7);
            let mut rest = &bytes[..];
            assert_eq!((take(&mut rest), rest), (Some(value), &[7][..]));
        }
        assert_eq!(take(&mut &[0xFF; 12][..]), None);
        assert_eq!(take(&mut &[0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 2][..]), None);
    }
}
