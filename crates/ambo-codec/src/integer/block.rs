//! A block to read.

use std::ops::Range;

use super::{
    IntegerCodec, Word,
    bits::Packing,
    encode::BLOCK_MAX,
    lengths::{LengthCode, code_at, per_control, per_group},
    scalar,
    simd::{self, Level},
};

/// Encoded bytes that no encoder wrote, and what is wrong with them. The caller knows where they are.
#[derive(Clone, Copy, PartialEq, Eq, Debug, thiserror::Error)]
#[error("damaged: {0}")]
pub struct Damaged(pub &'static str);

/// What a codec stores of each value behind the first.
#[derive(Clone, Copy, Debug)]
pub(super) enum Stored {
    /// Gaps less one, seven bits a byte.
    VByte,
    /// Gaps less one, control bytes before each group.
    Group(LengthCode),
    /// Gaps less one, all control bytes first.
    Stream(LengthCode),
    /// Gaps less one and the step, bits in a row.
    GapRow(Packing),
    /// Distances from the first value on the line of the steps, bits in a row.
    FrameRow(Packing),
    /// As `FrameRow`, in lanes.
    FrameLanes(Packing),
}

impl Stored {
    /// How the block is packed, if that is without any bits: its values are on a line.
    #[inline(always)]
    pub(super) fn is_line(self) -> Option<Packing> {
        match self {
            Self::GapRow(packing) | Self::FrameRow(packing) | Self::FrameLanes(packing) => {
                (packing.width == 0).then_some(packing)
            }
            _ => None,
        }
    }
}

/// A block of values, borrowed. Made by [`IntegerCodec::block`], which checks what can be checked in constant time.
///
/// Bytes that are not what [`IntegerCodec::encode`] writes, but have the right shape, give values that wrap around or do not increase:
/// pages have checksums, so no operation pays for looking. [`Block::check`] looks. No operation panics or reads outside
/// of `bytes`.
#[derive(Clone, Copy, Debug)]
pub struct Block<'b, W> {
    pub(super) codec: IntegerCodec,
    pub(super) first: W,
    pub(super) count: usize,
    pub(super) stored: Stored,
    /// Bytes of the header before the data.
    header: usize,
    /// Behind the header: at least what the header says, and perhaps what lies behind the block.
    pub(super) data: &'b [u8],
}

impl IntegerCodec {
    /// A block to read: of `count` values, the first of them `first`. `bytes` begins with the block and may go on behind it; there
    /// should be 64 bytes more where that is easy, as the last values are read a little faster then.
    #[inline(always)]
    pub fn block<W: Word>(self, bytes: &[u8], first: W, count: usize) -> Result<Block<'_, W>, Damaged> {
        if count == 0 || count > self.block_len() {
            return Err(Damaged("a count that no block has"));
        }
        let gaps = count - 1;
        let mut header = 0;
        let (stored, least) = match self {
            Self::VByte | Self::MaskedVByte => (Stored::VByte, gaps),
            Self::GroupVarint => {
                (Stored::Group(LengthCode::of::<W>(self)), gaps.div_ceil(per_control::<W>()))
            }
            Self::StreamVByte => {
                (Stored::Stream(LengthCode::of::<W>(self)), gaps.div_ceil(per_control::<W>()))
            }
            Self::For | Self::SimdFor | Self::Bp128 => {
                let mut packing = Packing { step: 0, width: 0 };
                if gaps > 0 {
                    (packing, header) = Packing::decode::<W>(bytes)?;
                }
                let stored = match self {
                    Self::For => Stored::FrameRow(packing),
                    Self::SimdFor => Stored::FrameLanes(packing),
                    _ => Stored::GapRow(packing),
                };
                (stored, packing.packed_size::<W>(self, gaps))
            }
        };
        let data = &bytes[header..];
        if data.len() < least {
            return Err(Damaged("a block that is cut off"));
        }
        Ok(Block { codec: self, first, count, stored, header, data })
    }
}

impl<'b, W: Word> Block<'b, W> {
    /// The number of values.
    #[inline]
    #[allow(clippy::len_without_is_empty, reason = "a block has at least one value")]
    pub fn len(&self) -> usize {
        self.count
    }

    /// The first value.
    #[inline]
    pub fn first(&self) -> W {
        self.first
    }

    /// How many bytes the block has. Bit-packed blocks know it; others look at all their lengths.
    pub fn bytes_used(&self) -> Result<usize, Damaged> {
        let gaps = self.count - 1;
        let used = match self.stored {
            Stored::VByte => scalar::vbyte_size(self.data, gaps)?,
            Stored::Stream(lengths) => controlled_size::<W>(self.data, lengths, gaps),
            Stored::Group(lengths) => {
                let (mut used, mut left) = (0, gaps);
                while left > 0 {
                    let group = left.min(per_group::<W>());
                    let data = &self.data[used..];
                    if data.len() < group.div_ceil(per_control::<W>()) {
                        return Err(CUT_OFF);
                    }
                    used += controlled_size::<W>(data, lengths, group);
                    if used > self.data.len() {
                        return Err(CUT_OFF);
                    }
                    left -= group;
                }
                used
            }
            Stored::GapRow(packing) | Stored::FrameRow(packing) | Stored::FrameLanes(packing) => {
                packing.packed_size::<W>(self.codec, gaps)
            }
        };
        if used > self.data.len() { Err(CUT_OFF) } else { Ok(self.header + used) }
    }

    /// All values. `out` has the length of the block; panics if not.
    #[inline]
    pub fn decode(&self, out: &mut [W]) -> Result<(), Damaged> {
        assert_eq!(out.len(), self.count, "room for the values of the block");
        simd::decode(Level::best(), self, out)
    }

    /// The values at `range`, which is one of the block. `out` has the length of the range; panics if not.
    pub fn decode_range(&self, range: Range<usize>, out: &mut [W]) -> Result<(), Damaged> {
        assert!(range.end <= self.count, "a range of the block");
        assert_eq!(out.len(), range.len(), "room for the values of the range");
        if out.len() == self.count {
            return self.decode(out);
        }
        if let Some(value) = scalar::frame(self) {
            out.iter_mut().zip(range).for_each(|(slot, position)| *slot = value(position));
            return Ok(());
        }
        let mut values = [W::default(); BLOCK_MAX];
        simd::decode(Level::best(), self, &mut values[..range.end])?;
        out.copy_from_slice(&values[range]);
        Ok(())
    }

    /// The value at `index`; panics if the block has fewer.
    #[inline]
    pub fn select(&self, index: usize) -> Result<W, Damaged> {
        assert!(index < self.count, "a value of the block");
        match scalar::frame(self) {
            Some(value) => Ok(value(index)),
            None => simd::select(Level::best(), self, index),
        }
    }

    /// The number of values smaller than `key`, and whether the next one is `key`.
    #[inline]
    pub fn lower_bound(&self, key: W) -> Result<(usize, bool), Damaged> {
        if key <= self.first {
            return Ok((0, key == self.first));
        }
        simd::lower_bound(Level::best(), self, key)
    }

    /// The number of values smaller than `key`.
    #[inline]
    pub fn count_below(&self, key: W) -> Result<usize, Damaged> {
        Ok(self.lower_bound(key)?.0)
    }

    /// The sum of the values.
    #[inline]
    pub fn sum(&self) -> Result<u128, Damaged> {
        simd::sum(Level::best(), self)
    }

    /// The last value.
    #[inline]
    pub fn last(&self) -> Result<W, Damaged> {
        self.select(self.count - 1)
    }

    /// Errors unless the block is, byte for byte, what [`IntegerCodec::encode`] writes for its values.
    pub fn check(&self) -> Result<(), Damaged> {
        let mut values = [W::default(); BLOCK_MAX];
        let values = &mut values[..self.count];
        self.decode(values)?;
        if !values.windows(2).all(|pair| pair[0] < pair[1]) {
            return Err(Damaged("values that are not strictly increasing"));
        }
        let mut again = Vec::new();
        self.codec.encode(values, &mut again);
        let same = again.len() == self.bytes_used()?
            && again[self.header..] == self.data[..again.len() - self.header];
        let header = match self.stored {
            Stored::GapRow(packing) | Stored::FrameRow(packing) | Stored::FrameLanes(packing)
                if self.count > 1 =>
            {
                Packing::decode::<W>(&again)?.0 == packing
            }
            _ => true,
        };
        if same && header { Ok(()) } else { Err(Damaged("a block that is not written the shortest way")) }
    }
}

/// Fewer bytes than the lengths in them say.
pub(super) const CUT_OFF: Damaged = Damaged("a block that is cut off");

/// The bytes of `count` integers and their control bytes, which `data` begins with.
fn controlled_size<W: Word>(data: &[u8], lengths: LengthCode, count: usize) -> usize {
    let bytes = (0..count).map(|index| lengths.bytes(code_at::<W>(data, index)));
    count.div_ceil(per_control::<W>()) + bytes.sum::<usize>()
}
