//! What the operations need of a vector of lanes.

use super::tables::Controls;
use crate::integer::{Word, bits::Packing};

/// A vector of words. Each instruction set has one of `u32` and one of `u64`.
///
/// # Safety
/// All functions: the machine has the instruction set of the type. Pointers: as each says.
pub(super) trait Lanes: Copy {
    /// What a lane holds.
    type Word: Word;
    /// The number of lanes, at most 16.
    const LEN: usize;
    /// What reading bits in a row needs to know of a width.
    type Row: Copy;

    /// `word` in all lanes.
    unsafe fn splat(word: Self::Word) -> Self;
    /// `first + slope * lane`, wrapping.
    unsafe fn line(first: Self::Word, slope: Self::Word) -> Self;
    /// Reads all lanes from `from`, which has them.
    unsafe fn load(from: *const Self::Word) -> Self;
    /// Writes all lanes to `to`, which has room.
    unsafe fn store(self, to: *mut Self::Word);
    /// Writes the first `count` lanes to `to`, which has room for them.
    unsafe fn store_first(self, to: *mut Self::Word, count: usize);
    /// The first `count` lanes, and zeros.
    unsafe fn keep_first(self, count: usize) -> Self;
    /// Sums, wrapping.
    unsafe fn add(self, other: Self) -> Self;
    /// Sums of lanes of 64 bits, whatever the word is.
    unsafe fn add_wide(self, other: Self) -> Self;
    /// The low and the high halves of lanes of 64 bits, whatever the word is, each in a lane of 64 bits.
    unsafe fn halves(self) -> (Self, Self);
    /// The sum of all lanes, wrapping.
    unsafe fn total(self) -> Self::Word;
    /// Each lane and all before it, wrapping.
    unsafe fn prefix_sum(self) -> Self;
    /// The last lane in all.
    unsafe fn last(self) -> Self;
    /// A bit for each lane that is smaller than that of `other`, without sign.
    unsafe fn below(self, other: Self) -> u32;
    /// A bit for each lane that is that of `other`.
    unsafe fn equal(self, other: Self) -> u32;

    /// Prepares for [`Lanes::row`].
    unsafe fn row_plan(width: u8) -> Self::Row;
    /// `LEN` integers of bits in a row, the `group`-th so many. Those that are not in `data` are any.
    unsafe fn row(plan: Self::Row, data: &[u8], group: usize) -> Self;
    /// `LEN` integers of bits in lanes, the `group`-th so many. Those that are not in `data` are any.
    unsafe fn lanes(data: &[u8], width: u8, group: usize) -> Self;
    /// The values of a whole block of gaps in a row. `false` if there is no special code for it.
    #[inline(always)]
    unsafe fn decode_gap_row(_: Self::Word, _: Packing, _: &[u8], _: &mut [Self::Word]) -> bool {
        false
    }
    /// The values behind the first of a whole block of bits in lanes. `false` if there is no special code for it.
    #[inline(always)]
    unsafe fn decode_lanes(_: Self::Word, _: Packing, _: &[u8], _: &mut [Self::Word]) -> bool {
        false
    }
    /// The sum of the sums of the first 1, 2, … `count` integers of a block of gaps in a row, if there is special code for it.
    #[inline(always)]
    unsafe fn sum_gap_row(_: u8, _: &[u8], _: usize) -> Option<u64> {
        None
    }
    /// The sum of the integers of a whole block of bits in lanes, if there is special code for it.
    #[inline(always)]
    unsafe fn sum_lanes(_: u8, _: &[u8], _: usize) -> Option<u64> {
        None
    }
    /// `count` integers, at most `LEN`, whose lengths `controls` has in its lowest bytes, and zeros; and their bytes.
    /// `None` if `data` has fewer.
    unsafe fn controlled(
        lengths: &Controls,
        controls: u32,
        data: &[u8],
        count: usize,
    ) -> Option<(Self, usize)>;
    /// `count` integers of 7 bits a byte, at most `LEN`, and zeros; and their bytes. `None` if they do not end in `data`,
    /// or one does not end.
    unsafe fn vbyte(data: &[u8], count: usize) -> Option<(Self, usize)>;
}
