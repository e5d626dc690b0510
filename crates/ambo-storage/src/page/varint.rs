//! LEB128: seven bits a byte, low ones first, the high bit says that more follow.

/// The most bytes of a number.
pub(super) const BYTES_MAX: usize = 10;

/// Appends a number.
pub(super) fn put(out: &mut Vec<u8>, mut value: u64) {
    while value >= 0x80 {
        out.push(value as u8 | 0x80);
        value >>= 7;
    }
    out.push(value as u8);
}

/// The bytes that a number takes.
pub(super) fn len(value: u64) -> usize {
    (value.max(1).ilog2() as usize) / 7 + 1
}

/// Takes a number off the front; `None` if the bytes end, or say more than 64 bits.
pub(super) fn take(bytes: &mut &[u8]) -> Option<u64> {
    let mut value = 0u64;
    for at in 0..BYTES_MAX {
        let byte = *bytes.get(at)?;
        let bits = u64::from(byte & 0x7f);
        if at == BYTES_MAX - 1 && bits > 1 {
            return None;
        }
        value |= bits << (7 * at);
        if byte & 0x80 == 0 {
            *bytes = &bytes[at + 1..];
            return Some(value);
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        // Keeps away: numbers that come back as others, and bytes that make the reader run on.
        #[test]
        fn numbers_come_back(value: u64, noise: Vec<u8>) {
            for value in [value, value >> 32, value >> 50, u64::MAX] {
                let mut bytes = Vec::new();
                put(&mut bytes, value);
                prop_assert!(bytes.len() <= BYTES_MAX);
                prop_assert_eq!(bytes.len(), len(value));
                bytes.extend_from_slice(&noise);
                let mut rest = &bytes[..];
                prop_assert_eq!(take(&mut rest), Some(value));
                prop_assert_eq!(rest, &noise[..]);
            }
            let mut rest = &noise[..];
            while take(&mut rest).is_some() {}
        }
    }
}
