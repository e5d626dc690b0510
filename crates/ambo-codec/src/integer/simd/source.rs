//! The integers of a block, a vector at a time.

use super::{lanes::Lanes, tables::Controls};
use crate::integer::lengths::{LengthCode, per_control, per_group};

/// The integers of a block in order.
pub(super) trait Integers<L> {
    /// The next `count` integers, at most as many as there are lanes, and in the other lanes anything. All calls
    /// but the last ask for all lanes. `None` if the block is cut off.
    ///
    /// # Safety
    /// The machine has the instruction set of `L`.
    unsafe fn next(&mut self, count: usize) -> Option<L>;
}

/// Nothing but zeros.
pub(super) struct Zeros;

impl<L: Lanes> Integers<L> for Zeros {
    #[inline(always)]
    unsafe fn next(&mut self, _: usize) -> Option<L> {
        // SAFETY: The caller's.
        Some(unsafe { L::splat(L::Word::default()) })
    }
}

/// Bits in a row.
pub(super) struct RowSource<'b, L: Lanes> {
    pub data: &'b [u8],
    pub plan: L::Row,
    pub group: usize,
}

impl<L: Lanes> Integers<L> for RowSource<'_, L> {
    #[inline(always)]
    unsafe fn next(&mut self, _: usize) -> Option<L> {
        self.group += 1;
        // SAFETY: The caller's.
        Some(unsafe { L::row(self.plan, self.data, self.group - 1) })
    }
}

/// Bits in lanes.
pub(super) struct LaneSource<'b> {
    pub data: &'b [u8],
    pub width: u8,
    pub group: usize,
}

impl<L: Lanes> Integers<L> for LaneSource<'_> {
    #[inline(always)]
    unsafe fn next(&mut self, _: usize) -> Option<L> {
        self.group += 1;
        // SAFETY: The caller's.
        Some(unsafe { L::lanes(self.data, self.width, self.group - 1) })
    }
}

/// Up to four control bytes from the beginning of `controls`.
#[inline(always)]
fn four(controls: &[u8]) -> u32 {
    match controls.first_chunk() {
        Some(four) => u32::from_le_bytes(*four),
        None => controls.iter().rev().fold(0, |word, &byte| word << 8 | u32::from(byte)),
    }
}

/// All control bytes first.
pub(super) struct StreamSource<'b> {
    lengths: &'static Controls,
    controls: &'b [u8],
    data: &'b [u8],
}

impl<'b> StreamSource<'b> {
    /// `None` if there are not even the control bytes of `count` integers.
    #[inline(always)]
    pub(super) fn new<L: Lanes>(lengths: LengthCode, data: &'b [u8], count: usize) -> Option<Self> {
        let (controls, data) = data.split_at_checked(count.div_ceil(per_control::<L::Word>()))?;
        Some(Self { lengths: Controls::of(lengths), controls, data })
    }
}

impl<L: Lanes> Integers<L> for StreamSource<'_> {
    #[inline(always)]
    unsafe fn next(&mut self, count: usize) -> Option<L> {
        let controls = four(self.controls);
        // SAFETY: The caller's.
        let (integers, used) = unsafe { L::controlled(self.lengths, controls, self.data, count) }?;
        self.data = &self.data[used..];
        let passed = L::LEN / per_control::<L::Word>();
        self.controls = self.controls.get(passed..).unwrap_or(&[]);
        Some(integers)
    }
}

/// Control bytes before each group.
pub(super) struct GroupSource<'b> {
    lengths: &'static Controls,
    data: &'b [u8],
    /// Control bytes of the group that are still to be used, and for how many integers they are.
    controls: u32,
    left: usize,
    /// Integers of the block behind the group.
    behind: usize,
}

impl<'b> GroupSource<'b> {
    #[inline(always)]
    pub(super) fn new(lengths: LengthCode, data: &'b [u8], count: usize) -> Self {
        Self { lengths: Controls::of(lengths), data, controls: 0, left: 0, behind: count }
    }
}

impl<L: Lanes> Integers<L> for GroupSource<'_> {
    #[inline(always)]
    unsafe fn next(&mut self, count: usize) -> Option<L> {
        if self.left == 0 {
            self.left = self.behind.min(per_group::<L::Word>());
            self.behind -= self.left;
            let bytes = self.left.div_ceil(per_control::<L::Word>());
            let (controls, data) = self.data.split_at_checked(bytes)?;
            self.controls = four(controls);
            self.data = data;
        }
        // SAFETY: The caller's.
        let (integers, used) = unsafe { L::controlled(self.lengths, self.controls, self.data, count) }?;
        self.data = &self.data[used..];
        self.left = self.left.saturating_sub(L::LEN);
        self.controls =
            self.controls.checked_shr(8 * (L::LEN / per_control::<L::Word>()) as u32).unwrap_or(0);
        Some(integers)
    }
}

/// Seven bits a byte.
pub(super) struct VByteSource<'b> {
    pub data: &'b [u8],
}

impl<L: Lanes> Integers<L> for VByteSource<'_> {
    #[inline(always)]
    unsafe fn next(&mut self, count: usize) -> Option<L> {
        // SAFETY: The caller's.
        let (integers, used) = unsafe { L::vbyte(self.data, count) }?;
        self.data = &self.data[used..];
        Some(integers)
    }
}
