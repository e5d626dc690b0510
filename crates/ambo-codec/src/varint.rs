//! LEB128 for unsigned integers of 64 bits, and zigzag for signed ones.
//!
//! Seven bits a byte, the lowest first; the high bit says that another byte follows. 300 is `AC 02`.
//! Only the shortest form is accepted, so equal values have equal bytes.

/// The longest encoding of a `u64`, in bytes.
pub const LEN_MAX: usize = 10;

/// Appends `value` to `out`.
pub fn encode(value: u64, out: &mut Vec<u8>) {
    let mut bytes = [0; LEN_MAX];
    let len = encode_to(value, &mut bytes);
    out.extend_from_slice(&bytes[..len]);
}

/// Writes `value` to the beginning of `out` and returns the number of bytes.
///
/// REQUIRES: `out` has room for [`len`]`(value)` bytes.
pub fn encode_to(mut value: u64, out: &mut [u8]) -> usize {
    let mut at = 0;
    while value >= 0x80 {
        out[at] = value as u8 | 0x80;
        value >>= 7;
        at += 1;
    }
    out[at] = value as u8;
    at + 1
}

/// The value at the beginning of `bytes` and its length; `None` when it is cut off, too large for 64 bits,
/// or longer than it need be.
pub fn decode(bytes: &[u8]) -> Option<(u64, usize)> {
    let first = *bytes.first()?;
    if first < 0x80 {
        return Some((u64::from(first), 1));
    }
    let mut value = u64::from(first & 0x7f);
    for (index, &byte) in bytes.iter().enumerate().take(LEN_MAX).skip(1) {
        let bits = u64::from(byte & 0x7f);
        if index == LEN_MAX - 1 && byte > 1 {
            return None;
        }
        value |= bits << (7 * index);
        if byte < 0x80 {
            return (byte != 0).then_some((value, index + 1));
        }
    }
    None
}

/// As [`decode`], and moves `bytes` behind the value.
pub fn take(bytes: &mut &[u8]) -> Option<u64> {
    let (value, len) = decode(bytes)?;
    *bytes = &bytes[len..];
    Some(value)
}

/// The number of bytes that `value` takes, 1 to [`LEN_MAX`].
pub const fn len(value: u64) -> usize {
    let bits = 64 - (value | 1).leading_zeros() as usize;
    bits.div_ceil(7)
}

/// Signed to unsigned so that small magnitudes stay small: 0, -1, 1, -2 … become 0, 1, 2, 3 ….
pub const fn zigzag(value: i64) -> u64 {
    ((value << 1) ^ (value >> 63)) as u64
}

/// The inverse of [`zigzag`].
pub const fn unzigzag(value: u64) -> i64 {
    (value >> 1) as i64 ^ -((value & 1) as i64)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn edge_values() -> impl Strategy<Value = u64> {
        (0u32..64, any::<u64>()).prop_map(|(shift, value)| value >> shift)
    }

    proptest! {
        // Keeps away a value that reads back as another, and a length that disagrees with the bytes.
        #[test]
        fn round_trip(value in edge_values(), tail in any::<[u8; 3]>()) {
            let mut bytes = Vec::new();
            encode(value, &mut bytes);
            prop_assert_eq!(bytes.len(), len(value));
            let written = bytes.len();
            bytes.extend_from_slice(&tail);
            prop_assert_eq!(decode(&bytes), Some((value, written)));
            prop_assert_eq!(decode(&bytes[..written - 1]), None);
        }

        // Keeps away two encodings of one value, and a panic on hostile bytes.
        #[test]
        fn accepted_bytes_are_the_only_ones(bytes in prop::collection::vec(any::<u8>(), 0..12)) {
            if let Some((value, used)) = decode(&bytes) {
                let mut again = Vec::new();
                encode(value, &mut again);
                prop_assert_eq!(&bytes[..used], &again[..]);
            }
        }

        // Keeps away a zigzag that loses the sign.
        #[test]
        fn zigzag_round_trip(value in any::<i64>()) {
            prop_assert_eq!(unzigzag(zigzag(value)), value);
        }
    }

    // Keeps away drift from the documented bytes.
    #[test]
    fn worked_example() {
        let mut bytes = Vec::new();
        encode(300, &mut bytes);
        assert_eq!(bytes, [0xac, 0x02]);
        assert_eq!(len(u64::MAX), LEN_MAX);
        assert_eq!(decode(&[0x80, 0x00]), None);
        assert_eq!(decode(&[0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x02]), None);
        assert_eq!((zigzag(0), zigzag(-1), zigzag(1), zigzag(i64::MIN)), (0, 1, 2, u64::MAX));
    }
}
