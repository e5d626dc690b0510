//! Intervals: months, days and nanoseconds, which are no multiples of each other.
//!
//! | part | encoding |
//! |---|---|
//! | length | 12 bytes, big-endian, the sign bit flipped: nanoseconds, where a month has 30 days and a day 24 hours |
//! | months | i32, big-endian, the sign bit flipped |
//! | days | i32, big-endian, the sign bit flipped |
//!
//! The nanoseconds are what months and days leave of the length. Bytes are in the order of the lengths, as SQL compares intervals;
//! intervals of one length have bytes of their own each.
//!
//! One month, -2 days and 3 nanoseconds are `80 00 00 00 00 08 98 3F E4 A4 00 03`, `80 00 00 01`, `7F FF FF FE`.

/// Bytes of an interval.
pub(super) const LEN: usize = 20;
/// Bytes of its length.
const LENGTH_LEN: usize = 12;
/// The sign of a length in its place.
const LENGTH_SIGN: i128 = 1 << (8 * LENGTH_LEN - 1);
const DAY: i128 = 24 * 60 * 60 * 1_000_000_000;

/// See the module.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Interval {
    /// Months of a calendar.
    pub months: i32,
    /// Days of a calendar.
    pub days: i32,
    /// Nanoseconds.
    pub nanoseconds: i64,
}

impl Interval {
    /// Of what stands before the nanoseconds.
    fn of_days(self) -> i128 {
        (i128::from(self.months) * 30 + i128::from(self.days)) * DAY
    }

    /// As it is stored.
    pub fn encode(self) -> [u8; LEN] {
        let length = self.of_days() + i128::from(self.nanoseconds) + LENGTH_SIGN;
        let mut out = [0; LEN];
        out[..LENGTH_LEN].copy_from_slice(&length.to_be_bytes()[16 - LENGTH_LEN..]);
        for (at, part) in [(LENGTH_LEN, self.months), (LENGTH_LEN + 4, self.days)] {
            out[at..at + 4].copy_from_slice(&((part as u32) ^ 1 << 31).to_be_bytes());
        }
        out
    }

    /// What is stored in the bytes; `None` if they are no interval.
    pub fn decode(bytes: &[u8]) -> Option<Self> {
        let bytes: &[u8; LEN] = bytes.try_into().ok()?;
        let mut length = [0; 16];
        length[16 - LENGTH_LEN..].copy_from_slice(&bytes[..LENGTH_LEN]);
        let length = i128::from_be_bytes(length) - LENGTH_SIGN;
        let part = |at: usize| {
            let part = bytes[at..at + 4].try_into().expect("four bytes");
            (u32::from_be_bytes(part) ^ 1 << 31) as i32
        };
        let whole = Self { months: part(LENGTH_LEN), days: part(LENGTH_LEN + 4), nanoseconds: 0 };
        Some(Self { nanoseconds: i64::try_from(length - whole.of_days()).ok()?, ..whole })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const fn interval(months: i32, days: i32, nanoseconds: i64) -> Interval {
        Interval { months, days, nanoseconds }
    }

    /// Keeps away: a changed format, and intervals that are others when they are read.
    #[test]
    fn the_example_holds() {
        let bytes = interval(1, -2, 3).encode();
        let expected =
            [0x80, 0, 0, 0, 0, 8, 0x98, 0x3F, 0xE4, 0xA4, 0, 3, 0x80, 0, 0, 1, 0x7F, 0xFF, 0xFF, 0xFE];
        assert_eq!(bytes, expected, "{bytes:02x?}");
        let ends = [i32::MIN, -1, 0, 1, i32::MAX];
        for (months, days) in ends.into_iter().flat_map(|one| ends.map(|other| (one, other))) {
            for nanoseconds in [i64::MIN, -1, 0, 1, i64::MAX] {
                let one = interval(months, days, nanoseconds);
                assert_eq!(Interval::decode(&one.encode()), Some(one));
            }
        }
    }

    /// Keeps away: an order of bytes that is not that of the lengths.
    #[test]
    fn bytes_are_in_the_order_of_lengths() {
        let ordered = [
            interval(i32::MIN, i32::MIN, i64::MIN),
            interval(-1, 0, 0),
            interval(0, -29, 0),
            interval(0, 0, -1),
            interval(0, 0, 0),
            interval(0, 1, -1),
            interval(0, 1, 0),
            interval(0, 31, 0),
            interval(2, 0, 0),
            interval(i32::MAX, i32::MAX, i64::MAX),
        ];
        assert!(ordered.map(Interval::encode).is_sorted());
        assert_eq!(interval(1, 0, 0).encode()[..LENGTH_LEN], interval(0, 30, 0).encode()[..LENGTH_LEN]);
    }

    /// Keeps away: bytes that are taken for an interval that nobody wrote.
    #[test]
    fn other_bytes_are_refused() {
        assert_eq!(Interval::decode(&[]), None);
        assert_eq!(Interval::decode(&[0; LEN + 1]), None);
        assert_eq!(Interval::decode(&[0xFF; LEN]), None);
        assert!(Interval::decode(&interval(0, 0, 0).encode()[1..]).is_none());
    }
}
