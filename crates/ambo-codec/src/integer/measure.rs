//! The exact size of a block while it grows.

use super::{
    IntegerCodec, Word,
    bits::Packing,
    lengths::{LengthCode, per_control},
};
use crate::varint;

/// The exact size of a block that grows value by value. A page builder asks for every key how large the block
/// becomes with it, and keeps the answer if the page has room.
///
/// ```
/// use ambo_codec::integer::{BlockMeasure, IntegerCodec};
/// let block = BlockMeasure::new(IntegerCodec::VByte).with(7u32).with(8).with(300);
/// assert_eq!((block.len(), block.bytes()), (3, 3));
/// ```
#[derive(Clone, Copy, Debug)]
pub struct BlockMeasure<W> {
    codec: IntegerCodec,
    len: u32,
    /// Bytes of the integers, for codecs of whole bytes.
    data: u32,
    first: W,
    last: W,
    /// The smallest and the largest gap, less one.
    gap_min: W,
    gap_max: W,
}

impl<W: Word> BlockMeasure<W> {
    /// A block without values, 0 bytes.
    #[inline]
    pub fn new(codec: IntegerCodec) -> Self {
        let zero = W::default();
        let gap_min = W::from_u64(u64::MAX);
        Self { codec, len: 0, data: 0, first: zero, last: zero, gap_min, gap_max: zero }
    }

    /// The block with `value`, which is larger than its last.
    #[inline]
    #[must_use]
    pub fn with(&self, value: W) -> Self {
        if self.len == 0 {
            return Self { len: 1, first: value, last: value, ..*self };
        }
        debug_assert!(value > self.last, "values of a block are strictly increasing");
        let gap = W::from_u64(value.to_u64().wrapping_sub(self.last.to_u64()).wrapping_sub(1));
        Self {
            codec: self.codec,
            len: self.len + 1,
            data: self.data + gap_bytes::<W>(self.codec, gap.to_u64()) as u32,
            first: self.first,
            last: value,
            gap_min: self.gap_min.min(gap),
            gap_max: self.gap_max.max(gap),
        }
    }

    /// Values so far.
    #[inline]
    pub fn len(&self) -> usize {
        self.len as usize
    }

    /// Whether there are none.
    #[inline]
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// The size of the block in bytes.
    #[inline]
    pub fn bytes(&self) -> usize {
        if self.len <= 1 {
            return 0;
        }
        let gaps = self.len() - 1;
        match self.codec {
            IntegerCodec::VByte | IntegerCodec::MaskedVByte => self.data as usize,
            IntegerCodec::GroupVarint | IntegerCodec::StreamVByte => {
                gaps.div_ceil(per_control::<W>()) + self.data as usize
            }
            IntegerCodec::For | IntegerCodec::SimdFor | IntegerCodec::Bp128 => {
                self.packing().size::<W>(self.codec, gaps)
            }
        }
    }

    /// How a bit-packed block of at least two values is packed.
    #[inline]
    pub(super) fn packing(&self) -> Packing {
        let gaps = self.len() - 1;
        let distance = self.last.to_u64() - self.first.to_u64();
        Packing::of_gaps::<W>(self.codec, gaps, self.gap_min.to_u64(), self.gap_max.to_u64(), distance)
    }
}

/// The bytes of a gap less one, without what describes its length. 0 for bit-packed codecs.
#[inline(always)]
fn gap_bytes<W: Word>(codec: IntegerCodec, gap: u64) -> usize {
    match codec {
        IntegerCodec::VByte | IntegerCodec::MaskedVByte => varint::len(gap),
        IntegerCodec::GroupVarint | IntegerCodec::StreamVByte => {
            let lengths = LengthCode::of::<W>(codec);
            lengths.bytes(lengths.code(gap))
        }
        IntegerCodec::For | IntegerCodec::SimdFor | IntegerCodec::Bp128 => 0,
    }
}
