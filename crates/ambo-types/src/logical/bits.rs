//! Bits: any number of them, in their order.
//!
//! They are stored in groups of four bytes, the first bit the highest of the first byte, what is missing zero. Behind each group stands how
//! many of its bits there are, 33 if another group follows. So bytes are in the order of the bits, by the first that differs, where the
//! shorter one of two that differ in no bit is the lesser.
//!
//! `101` is `A0 00 00 00 03`, no bit is `00 00 00 00 00`.

use std::fmt::{self, Write};

/// Bytes of a group without the one behind it.
const GROUP: usize = 4;
const GROUP_BITS: usize = GROUP * 8;
/// Another group follows.
const MORE: u8 = GROUP_BITS as u8 + 1;

/// See the module.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Bits(Vec<bool>);

impl Bits {
    /// The bits of bytes, the highest of a byte first.
    pub fn of_bytes(bytes: &[u8]) -> Self {
        let bits = |byte: &u8| {
            let byte = *byte;
            (0..8).rev().map(move |nth| byte >> nth & 1 == 1)
        };
        Self(bytes.iter().flat_map(bits).collect())
    }

    /// What a text of zeros and ones says, or one of digits of 16 behind an `x`, of which each is four bits.
    ///
    /// # Errors
    /// The first sign that is none of these.
    pub fn read(text: &str) -> Result<Self, String> {
        if let Some(digits) = text.strip_prefix(['x', 'X']) {
            let digit = |sign: char| match sign.to_digit(16) {
                Some(digit) => Ok((0..4).rev().map(move |nth| digit >> nth & 1 == 1)),
                None => Err(format!("'{text}' is no bit: '{sign}' is no digit of 16")),
            };
            let digits = digits.chars().map(digit).collect::<Result<Vec<_>, _>>()?;
            return Ok(Self(digits.into_iter().flatten().collect()));
        }
        let bit = |sign| match sign {
            '0' => Ok(false),
            '1' => Ok(true),
            other => Err(format!("'{text}' is no bit: '{other}' is neither 0 nor 1")),
        };
        text.chars().map(bit).collect::<Result<_, _>>().map(Self)
    }

    /// The bits.
    pub fn bits(&self) -> &[bool] {
        &self.0
    }

    /// As bytes, with zeros before the first bit where it is not the first of a byte.
    pub fn to_bytes(&self) -> Vec<u8> {
        let missing = self.0.len().next_multiple_of(8) - self.0.len();
        let whole: Vec<bool> = std::iter::repeat_n(false, missing).chain(self.0.iter().copied()).collect();
        whole.chunks(8).map(byte).collect()
    }

    /// As they are stored.
    pub fn encode(&self) -> Vec<u8> {
        let groups = self.0.len().div_ceil(GROUP_BITS).max(1);
        let mut out = Vec::with_capacity(groups * (GROUP + 1));
        for nth in 0..groups {
            let from = nth * GROUP_BITS;
            let group = &self.0[from..self.0.len().min(from + GROUP_BITS)];
            let bytes = group.chunks(8).map(byte).chain(std::iter::repeat(0));
            out.extend(bytes.take(GROUP));
            out.push(if nth + 1 < groups { MORE } else { group.len() as u8 });
        }
        out
    }

    /// What is stored in the bytes.
    ///
    /// # Errors
    /// They are no bits, or not in the one form that these have.
    pub fn decode(bytes: &[u8]) -> Result<Self, String> {
        let wrong = || "bytes that are no bits".to_owned();
        let mut bits = Vec::with_capacity(bytes.len() * 8);
        let groups = bytes.chunks(GROUP + 1);
        let last = groups.len().checked_sub(1).ok_or_else(wrong)?;
        for (nth, group) in groups.enumerate() {
            let [group @ .., count] = group else { return Err(wrong()) };
            let count = match (nth < last, *count) {
                (true, MORE) => GROUP_BITS,
                (false, count) if count < MORE => usize::from(count),
                _ => return Err(wrong()),
            };
            let of_group = Self::of_bytes(group).0;
            if group.len() != GROUP || of_group[count..].contains(&true) {
                return Err(wrong());
            }
            bits.extend_from_slice(&of_group[..count]);
        }
        // A group without bits stands alone.
        match bits.len().div_ceil(GROUP_BITS).max(1) == last + 1 {
            true => Ok(Self(bits)),
            false => Err(wrong()),
        }
    }
}

fn byte(bits: &[bool]) -> u8 {
    bits.iter().zip((0..8).rev()).fold(0, |byte, (bit, nth)| byte | u8::from(*bit) << nth)
}

impl From<Vec<bool>> for Bits {
    fn from(bits: Vec<bool>) -> Self {
        Self(bits)
    }
}

impl fmt::Display for Bits {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.iter().try_for_each(|bit| f.write_char(if *bit { '1' } else { '0' }))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    // Keeps away: bits that come back otherwise, and bytes in another order than theirs.
    #[test]
    fn bytes_are_in_the_order_of_bits() {
        let mut state = 7u64;
        let mut all = vec![Bits::default()];
        for length in 0..200 {
            let mut next = || {
                state = state.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
                state >> 63 == 1
            };
            all.push(Bits((0..length % 70).map(|_| next()).collect()));
            all.push(Bits(vec![length % 2 == 0; length % 70]));
        }
        for one in &all {
            assert_eq!(Bits::decode(&one.encode()), Ok(one.clone()));
            assert_eq!(Bits::read(&one.to_string()), Ok(one.clone()));
            for other in &all {
                assert_eq!(one.encode().cmp(&other.encode()), one.cmp(other), "{one} {other}");
            }
        }
    }

    // Keeps away: bytes of a damaged page that are taken for bits, or are two forms of one value.
    #[test]
    fn other_bytes_are_refused() {
        assert_eq!(Bits::read("101").unwrap().encode(), [0xA0, 0, 0, 0, 3]);
        assert_eq!(Bits::default().encode(), [0; 5]);
        let bad: [&[u8]; 7] = [
            &[],
            &[0, 0, 0, 0],
            &[0xA0, 0, 0, 0, 2],
            &[0, 0, 0, 0, 34],
            &[0, 0, 0, 0, 33],
            &[0, 0, 0, 0, 32, 0, 0, 0, 0, 1],
            &[0, 0, 0, 0, 33, 0, 0, 0, 0, 0],
        ];
        for bytes in bad {
            assert!(Bits::decode(bytes).is_err(), "{bytes:?}");
        }
        assert_eq!(Bits::read("012").unwrap_err(), "'012' is no bit: '2' is neither 0 nor 1");
        assert_eq!(Bits::read("10111").unwrap().to_bytes(), [0b10111]);
        assert_eq!(Bits::read("x1F").unwrap().to_string(), "00011111");
        assert_eq!(Bits::read("x1g").unwrap_err(), "'x1g' is no bit: 'g' is no digit of 16");
    }
}
