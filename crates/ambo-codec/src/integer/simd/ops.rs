//! The operations of a block on vectors of any instruction set. All is inlined into the functions of [`super`] that have it enabled.

use std::mem::MaybeUninit;

use super::{
    lanes::Lanes,
    source::{GroupSource, Integers, LaneSource, RowSource, StreamSource, VByteSource, Zeros},
};
use crate::integer::{
    Block, Damaged, Word,
    bits::{Packing, get_lanes, get_row},
    block::{CUT_OFF, Stored},
    scalar::on_line,
};

/// Binds `$source` to the integers of the block and `$least` to what each gap has beyond them, for blocks of gaps; and
/// `$source` and `$packing` for blocks of distances.
macro_rules! with_source {
    ($L:ty, $block:expr, |$source:ident, $least:ident| $gaps:expr, |$framed:ident, $packing:ident| $frames:expr) => {
        match $block.stored {
            Stored::VByte => {
                let ($source, $least) = (VByteSource { data: $block.data }, 1u64);
                $gaps
            }
            Stored::Stream(lengths) => {
                let count = $block.count - 1;
                let ($source, $least) =
                    (StreamSource::new::<$L>(lengths, $block.data, count).ok_or(CUT_OFF)?, 1u64);
                $gaps
            }
            Stored::Group(lengths) => {
                let ($source, $least) = (GroupSource::new(lengths, $block.data, $block.count - 1), 1u64);
                $gaps
            }
            Stored::GapRow(packing) => {
                let plan = <$L>::row_plan(packing.width);
                let $source = RowSource::<$L> { data: $block.data, plan, group: 0 };
                let $least = packing.step.wrapping_add(1);
                $gaps
            }
            Stored::FrameRow($packing) => {
                let plan = <$L>::row_plan($packing.width);
                let $framed = RowSource::<$L> { data: $block.data, plan, group: 0 };
                $frames
            }
            Stored::FrameLanes($packing) => {
                let $framed = LaneSource { data: $block.data, width: $packing.width, group: 0 };
                $frames
            }
        }
    };
}

/// `first + least * position` for the positions `begin ..`.
#[inline(always)]
unsafe fn line<L: Lanes>(first: L::Word, packing: Packing, begin: usize) -> L {
    let slope = on_line(L::Word::default(), packing, 1, 0);
    // SAFETY: The caller's.
    unsafe { L::line(on_line(first, packing, begin as u64, 0), slope) }
}

/// All values of a block that there is special code for, called without the way over memory that a block takes: the
/// jump to the code of its width is often mispredicted, and would be known so much later. `false` if there is none.
///
/// # Safety
/// The machine has the instruction set of `L`.
#[inline(always)]
pub(super) unsafe fn decode_whole<L: Lanes>(block: &Block<'_, L::Word>, out: &mut [L::Word]) -> bool {
    match block.stored {
        // SAFETY: The caller's.
        Stored::GapRow(packing) if packing.width > 0 => unsafe {
            L::decode_gap_row(block.first, packing, block.data, out)
        },
        Stored::FrameLanes(packing) if packing.width > 0 => {
            let Some((head, out)) = out.split_first_mut() else { return false };
            *head = block.first;
            // SAFETY: The caller's.
            unsafe { L::decode_lanes(block.first, packing, block.data, out) }
        }
        _ => false,
    }
}

/// See [`Block::decode`].
///
/// # Safety
/// The machine has the instruction set of `L`.
#[inline(always)]
pub(super) unsafe fn decode_any<L: Lanes>(
    block: &Block<'_, L::Word>,
    out: &mut [L::Word],
) -> Result<(), Damaged> {
    if let Some(packing) = block.stored.is_line() {
        // SAFETY: The caller's.
        return unsafe { decode_frame::<L>(block.first, packing, 0, Zeros, out) };
    }
    let Some((head, out)) = out.split_first_mut() else { return Ok(()) };
    *head = block.first;
    // SAFETY: The caller's.
    unsafe {
        with_source!(
            L,
            block,
            |source, least| decode_gaps::<L>(block.first, least, source, out),
            |source, packing| decode_frame::<L>(block.first, packing, 1, source, out)
        )
    }
}

/// Writes `lanes` to `out`, as many as it takes.
#[inline(always)]
unsafe fn put<L: Lanes>(lanes: L, out: &mut [L::Word]) {
    // SAFETY: The room is looked at; the rest is the caller's.
    unsafe {
        if out.len() >= L::LEN {
            lanes.store(out.as_mut_ptr());
        } else {
            lanes.store_first(out.as_mut_ptr(), out.len());
        }
    }
}

#[inline(always)]
unsafe fn decode_gaps<L: Lanes>(
    first: L::Word,
    least: u64,
    mut source: impl Integers<L>,
    out: &mut [L::Word],
) -> Result<(), Damaged> {
    // SAFETY: The caller's.
    unsafe {
        let least = L::splat(L::Word::from_u64(least));
        let mut last = L::splat(first);
        for out in out.chunks_mut(L::LEN) {
            let sums = source.next(out.len()).ok_or(CUT_OFF)?.add(least).prefix_sum();
            put(sums.add(last), out);
            last = last.add(sums.last());
        }
    }
    Ok(())
}

/// The values from position `begin` on.
#[inline(always)]
unsafe fn decode_frame<L: Lanes>(
    first: L::Word,
    packing: Packing,
    begin: usize,
    mut source: impl Integers<L>,
    out: &mut [L::Word],
) -> Result<(), Damaged> {
    // SAFETY: The caller's.
    unsafe {
        let mut base = line::<L>(first, packing, begin);
        let step = L::splat(on_line(L::Word::default(), packing, L::LEN as u64, 0));
        for out in out.chunks_mut(L::LEN) {
            put(source.next(out.len()).ok_or(CUT_OFF)?.add(base), out);
            base = base.add(step);
        }
    }
    Ok(())
}

/// See [`Block::select`]; only for blocks of gaps.
///
/// # Safety
/// The machine has the instruction set of `L`.
#[inline(always)]
pub(super) unsafe fn select<L: Lanes>(block: &Block<'_, L::Word>, index: usize) -> Result<L::Word, Damaged> {
    // SAFETY: The caller's.
    unsafe {
        with_source!(
            L,
            block,
            |source, least| {
                let sum = total::<L>(source, index)?.to_u64();
                let gaps = sum.wrapping_add(least.wrapping_mul(index as u64));
                Ok(L::Word::from_u64(block.first.to_u64().wrapping_add(gaps)))
            },
            |_source, _packing| unreachable!("a frame is looked into")
        )
    }
}

/// The sum of the first `count` integers, wrapping.
#[inline(always)]
unsafe fn total<L: Lanes>(mut source: impl Integers<L>, count: usize) -> Result<L::Word, Damaged> {
    // SAFETY: The caller's.
    let sum = unsafe {
        let mut sums = L::splat(L::Word::default());
        let mut left = count;
        while left >= L::LEN {
            sums = sums.add(source.next(L::LEN).ok_or(CUT_OFF)?);
            left -= L::LEN;
        }
        if left > 0 {
            sums = sums.add(source.next(left).ok_or(CUT_OFF)?.keep_first(left));
        }
        sums.total()
    };
    Ok(sum)
}

/// See [`Block::lower_bound`].
///
/// # Safety
/// The machine has the instruction set of `L`.
#[inline(always)]
pub(super) unsafe fn lower_bound<L: Lanes>(
    block: &Block<'_, L::Word>,
    key: L::Word,
) -> Result<(usize, bool), Damaged> {
    // SAFETY: The caller's.
    unsafe {
        with_source!(
            L,
            block,
            |source, least| lower_bound_gaps::<L>(block, key, least, source),
            |source, packing| lower_bound_frame::<L>(block, key, packing, source)
        )
    }
}

/// Whether the key is among the values at `begin ..`, of which there are `count`: the answer if one of them is not below.
#[inline(always)]
unsafe fn find<L: Lanes>(values: L, key: L, begin: usize, count: usize) -> Option<(usize, bool)> {
    // SAFETY: The caller's.
    let (below, equal) = unsafe { (values.below(key), values.equal(key)) };
    let index = below.trailing_ones() as usize;
    (index < count).then(|| (begin + index, equal >> index & 1 != 0))
}

/// Adds up four vectors at once and compares the last value of them; only those that may have the key are looked into.
#[inline(always)]
unsafe fn lower_bound_gaps<L: Lanes>(
    block: &Block<'_, L::Word>,
    key: L::Word,
    least: u64,
    mut source: impl Integers<L>,
) -> Result<(usize, bool), Damaged> {
    const SKIP: usize = 4;
    // SAFETY: The caller's.
    let (keys, leasts) = unsafe { (L::splat(key), L::splat(L::Word::from_u64(least))) };
    let mut last = block.first;
    let mut begin = 1;
    // SAFETY: The caller's.
    unsafe {
        while begin + SKIP * L::LEN <= block.count {
            let mut vectors = [L::splat(L::Word::default()); SKIP];
            for vector in &mut vectors {
                *vector = source.next(L::LEN).ok_or(CUT_OFF)?;
            }
            let total = vectors[0].add(vectors[1]).add(vectors[2].add(vectors[3])).total().to_u64();
            let gaps = total.wrapping_add(least.wrapping_mul((SKIP * L::LEN) as u64));
            let end = L::Word::from_u64(last.to_u64().wrapping_add(gaps));
            if end >= key {
                let mut last = L::splat(last);
                for (index, vector) in vectors.into_iter().enumerate() {
                    let sums = vector.add(leasts).prefix_sum();
                    if let Some(found) = find(sums.add(last), keys, begin + index * L::LEN, L::LEN) {
                        return Ok(found);
                    }
                    last = last.add(sums.last());
                }
            }
            last = end;
            begin += SKIP * L::LEN;
        }
        let mut last = L::splat(last);
        while begin < block.count {
            let count = (block.count - begin).min(L::LEN);
            let sums = source.next(count).ok_or(CUT_OFF)?.add(leasts).prefix_sum();
            if let Some(found) = find(sums.add(last), keys, begin, count) {
                return Ok(found);
            }
            last = last.add(sums.last());
            begin += L::LEN;
        }
    }
    Ok((block.count, false))
}

/// Searches the last values of the vectors, then the vector.
#[inline(always)]
unsafe fn lower_bound_frame<L: Lanes>(
    block: &Block<'_, L::Word>,
    key: L::Word,
    packing: Packing,
    mut source: impl Integers<L> + Seek,
) -> Result<(usize, bool), Damaged> {
    let gaps = block.count - 1;
    let last_of = |group: usize| {
        let index = group * L::LEN + L::LEN - 1;
        let integer = match block.stored {
            Stored::FrameLanes(_) => get_lanes::<L::Word>(block.data, packing.width, index),
            _ => get_row(block.data, packing.width, index),
        };
        on_line(block.first, packing, index as u64 + 1, integer)
    };
    // Whole groups only: a last one that is not whole is looked into if all before it are below.
    let (mut group, mut len) = (0, gaps / L::LEN);
    while len > 0 {
        let half = len / 2;
        let below = last_of(group + half) < key;
        group = if below { group + half + 1 } else { group };
        len = if below { len - half - 1 } else { half };
    }
    let begin = 1 + group * L::LEN;
    if begin >= block.count {
        return Ok((block.count, false));
    }
    source.seek(group);
    // SAFETY: The caller's.
    let found = unsafe {
        let count = (block.count - begin).min(L::LEN);
        let values = source.next(count).ok_or(CUT_OFF)?.add(line::<L>(block.first, packing, begin));
        find(values, L::splat(key), begin, count)
    };
    Ok(found.unwrap_or((block.count, false)))
}

/// A source that can begin anywhere.
pub(super) trait Seek {
    /// The next integers are the `group`-th vector of them.
    fn seek(&mut self, group: usize);
}

impl<L: Lanes> Seek for RowSource<'_, L> {
    #[inline(always)]
    fn seek(&mut self, group: usize) {
        self.group = group;
    }
}

impl Seek for LaneSource<'_> {
    #[inline(always)]
    fn seek(&mut self, group: usize) {
        self.group = group;
    }
}

/// Sums of lanes that are wider than the lanes: the low and the high halves of each 64 bits.
#[derive(Clone, Copy)]
struct Wide<L>(L, L);

impl<L: Lanes> Wide<L> {
    #[inline(always)]
    unsafe fn zero() -> Self {
        // SAFETY: The caller's.
        unsafe { Self(L::splat(L::Word::default()), L::splat(L::Word::default())) }
    }

    #[inline(always)]
    unsafe fn add(self, lanes: L) -> Self {
        // SAFETY: The caller's.
        unsafe {
            let (low, high) = lanes.halves();
            Self(self.0.add_wide(low), self.1.add_wide(high))
        }
    }

    /// The lanes as 64 bits: the low halves, the high halves.
    #[inline(always)]
    unsafe fn arrays(self) -> ([u64; 8], [u64; 8]) {
        let mut arrays = MaybeUninit::<([u64; 8], [u64; 8])>::zeroed();
        // SAFETY: A vector has at most 64 bytes, and all bytes are a `u64`; the rest is the caller's.
        unsafe {
            let to = &mut *arrays.as_mut_ptr();
            self.0.store(to.0.as_mut_ptr().cast());
            self.1.store(to.1.as_mut_ptr().cast());
            arrays.assume_init()
        }
    }

    /// The sum of all lanes.
    #[inline(always)]
    unsafe fn sum(self) -> u128 {
        // SAFETY: The caller's.
        let (low, high) = unsafe { self.arrays() };
        // Each is a sum of at most 64 integers of 32 bits.
        let (low, high) = (low.iter().sum::<u64>(), high.iter().sum::<u64>());
        if L::Word::BITS == 32 { u128::from(low + high) } else { u128::from(low) + (u128::from(high) << 32) }
    }
}

/// See [`Block::sum`].
///
/// # Safety
/// The machine has the instruction set of `L`.
#[inline(always)]
pub(super) unsafe fn sum<L: Lanes>(block: &Block<'_, L::Word>) -> Result<u128, Damaged> {
    let gaps = block.count - 1;
    let firsts = u128::from(block.first.to_u64()) * block.count as u128;
    let line = |least: u64| u128::from(least) * (gaps * (gaps + 1) / 2) as u128;
    match block.stored {
        Stored::GapRow(packing) | Stored::FrameRow(packing) | Stored::FrameLanes(packing)
            if packing.width == 0 =>
        {
            return Ok(firsts + line(packing.step.wrapping_add(1)));
        }
        _ => {}
    }
    // SAFETY: The caller's.
    unsafe {
        if let Stored::FrameLanes(packing) = block.stored
            && let Some(sum) = L::sum_lanes(packing.width, block.data, gaps)
        {
            return Ok(firsts + line(packing.step.wrapping_add(1)) + u128::from(sum));
        }
        if let Stored::GapRow(packing) = block.stored
            && let Some(sum) = L::sum_gap_row(packing.width, block.data, gaps)
        {
            return Ok(firsts + line(packing.step.wrapping_add(1)) + u128::from(sum));
        }
        with_source!(
            L,
            block,
            |source, least| Ok(sum_gaps::<L>(source, gaps)?.wrapping_add(firsts + line(least))),
            |source, packing| {
                Ok(firsts + line(packing.step.wrapping_add(1)) + sum_frame::<L>(source, gaps)?)
            }
        )
    }
}

#[inline(always)]
unsafe fn sum_frame<L: Lanes>(mut source: impl Integers<L>, count: usize) -> Result<u128, Damaged> {
    // SAFETY: The caller's.
    unsafe {
        let mut sums = Wide::<L>::zero();
        let mut left = count;
        while left >= L::LEN {
            sums = sums.add(source.next(L::LEN).ok_or(CUT_OFF)?);
            left -= L::LEN;
        }
        if left > 0 {
            sums = sums.add(source.next(left).ok_or(CUT_OFF)?.keep_first(left));
        }
        Ok(sums.sum())
    }
}

/// The sum of the sums of the first 1, 2, … `count` integers. The integer in lane `l` of vector `k` is in `count - k * LEN - l` of them.
/// `lanes` adds the integers of each lane, `running` adds up `lanes` after each of the `vectors`, so has each integer `vectors - k` times.
#[inline(always)]
unsafe fn sum_gaps<L: Lanes>(mut source: impl Integers<L>, count: usize) -> Result<u128, Damaged> {
    let vectors = count.div_ceil(L::LEN);
    // SAFETY: The caller's.
    let (lanes, running) = unsafe {
        let mut lanes = L::splat(L::Word::default());
        let mut running = Wide::<L>::zero();
        let mut left = count;
        while left > 0 {
            let taken = left.min(L::LEN);
            let mut integers = source.next(taken).ok_or(CUT_OFF)?;
            if taken < L::LEN {
                integers = integers.keep_first(taken);
            }
            lanes = lanes.add(integers);
            running = running.add(lanes);
            left -= taken;
        }
        (Wide::zero().add(lanes).arrays(), running.arrays())
    };
    let beyond = vectors * L::LEN - count;
    // The low halves are of the even lanes and the high ones of the odd lanes, or both of the same lanes.
    let words = 64 / L::Word::BITS;
    let weigh = |running: &[u64; 8], lanes: &[u64; 8], odd: usize| {
        (0..8).fold(0i64, |sum, at| {
            let too_often = lanes[at].wrapping_mul((beyond + words * at + odd) as u64);
            sum.wrapping_add((running[at].wrapping_mul(L::LEN as u64)).wrapping_sub(too_often) as i64)
        })
    };
    let low = i128::from(weigh(&running.0, &lanes.0, 0));
    let high = i128::from(weigh(&running.1, &lanes.1, words - 1));
    // Negative only on damaged bytes, whose sum may be anything.
    Ok((if words == 2 { low + high } else { low + (high << 32) }) as u128)
}
