//! The codes of lengths of group-varint and stream-vbyte.
//!
//! A control byte says how long the next integers are: four of `u32`, two bits each, or two of `u64`, four bits each,
//! the first in the lowest bits.
//!
//! | codec | word | code | bytes |
//! |---|---|---|---|
//! | group-varint | u32 | 0, 1, 2, 3 | 1, 2, 3, 4 |
//! | stream-vbyte | u32 | 0, 1, 2, 3 | 0, 1, 2, 4 |
//! | both | u64 | 0 to 8 | 0 to 8; 9 to 15 are never written, and read as 8 |

use super::{IntegerCodec, Word};

/// Which of the tables a block follows.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum LengthCode {
    /// Two bits: 1, 2, 3, 4 bytes.
    OneToFour,
    /// Two bits: 0, 1, 2, 4 bytes.
    ZeroToFour,
    /// Four bits: 0 to 8 bytes.
    ZeroToEight,
}

impl LengthCode {
    /// That of the codec for this word.
    #[inline(always)]
    pub(super) fn of<W: Word>(codec: IntegerCodec) -> Self {
        match codec {
            _ if W::BITS == 64 => Self::ZeroToEight,
            IntegerCodec::GroupVarint => Self::OneToFour,
            _ => Self::ZeroToFour,
        }
    }

    /// The code that `value` takes.
    #[inline(always)]
    pub(super) const fn code(self, value: u64) -> u8 {
        let bytes = (71 - value.leading_zeros()) as u8 / 8;
        match self {
            Self::OneToFour => bytes - (bytes != 0) as u8,
            Self::ZeroToFour => bytes - (bytes == 4) as u8,
            Self::ZeroToEight => bytes,
        }
    }

    /// The bytes that a code stands for.
    #[inline(always)]
    pub(super) const fn bytes(self, code: u8) -> usize {
        let bytes = match self {
            Self::OneToFour => code + 1,
            Self::ZeroToFour => code + (code == 3) as u8,
            Self::ZeroToEight if code > 8 => 8,
            Self::ZeroToEight => code,
        };
        bytes as usize
    }
}

/// Integers that a control byte describes.
#[inline(always)]
pub(super) const fn per_control<W: Word>() -> usize {
    16 / W::BYTES
}

/// Integers that four control bytes describe: 64 bytes of them, a group of group-varint.
#[inline(always)]
pub(super) const fn per_group<W: Word>() -> usize {
    64 / W::BYTES
}

/// Bits of a code.
#[inline(always)]
pub(super) const fn code_bits<W: Word>() -> usize {
    W::BITS / 16
}

/// The code of the integer at `index` below the control bytes `controls`.
#[inline(always)]
pub(super) fn code_at<W: Word>(controls: &[u8], index: usize) -> u8 {
    let in_byte = index % per_control::<W>() * code_bits::<W>();
    controls[index / per_control::<W>()] >> in_byte & ((1 << code_bits::<W>()) - 1)
}
