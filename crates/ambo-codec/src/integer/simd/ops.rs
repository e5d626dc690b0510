//! The operations of a block on vectors of any instruction set. All is inlined into the functions of [`super`] that have it enabled.

use std::mem::MaybeUninit;

use super::{
    lanes::Lanes,
    source::{GroupSource, LaneSource, RowSource, Source, StreamSource, VByteSource},
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

/// The lanes as an array; those beyond `L::LEN` are zero.
#[inline(always)]
unsafe fn array<L: Lanes>(lanes: L) -> [L::Word; 16] {
    let mut words = [L::Word::default(); 16];
    // SAFETY: There are at most 16 lanes; the rest is the caller's.
    unsafe { lanes.store(words.as_mut_ptr()) };
    words
}

/// `first + least * position` for the positions `begin ..`.
#[inline(always)]
unsafe fn line<L: Lanes>(first: L::Word, packing: Packing, begin: usize) -> L {
    let mut words = [L::Word::default(); 16];
    for (lane, word) in words[..L::LEN].iter_mut().enumerate() {
        *word = on_line(first, packing, (begin + lane) as u64, 0);
    }
    // SAFETY: There are at most 16 lanes; the rest is the caller's.
    unsafe { L::load(words.as_ptr()) }
}

/// See [`Block::decode`].
///
/// # Safety
/// The machine has the instruction set of `L`.
#[inline(always)]
pub(super) unsafe fn decode<L: Lanes>(
    block: &Block<'_, L::Word>,
    out: &mut [L::Word],
) -> Result<(), Damaged> {
    let Some((head, out)) = out.split_first_mut() else { return Ok(()) };
    *head = block.first;
    // SAFETY: The caller's.
    unsafe {
        with_source!(
            L,
            block,
            |source, least| decode_gaps::<L>(block.first, least, source, out),
            |source, packing| decode_frame::<L>(block.first, packing, source, out)
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
            out.copy_from_slice(&array(lanes)[..out.len()]);
        }
    }
}

#[inline(always)]
unsafe fn decode_gaps<L: Lanes>(
    first: L::Word,
    least: u64,
    mut source: impl Source<L>,
    out: &mut [L::Word],
) -> Result<(), Damaged> {
    // SAFETY: The caller's.
    unsafe {
        let least = L::splat(L::Word::from_u64(least));
        let mut last = L::splat(first);
        for out in out.chunks_mut(L::LEN) {
            let values = source.next(out.len()).ok_or(CUT_OFF)?.add(least).prefix_sum().add(last);
            last = values.last();
            put(values, out);
        }
    }
    Ok(())
}

#[inline(always)]
unsafe fn decode_frame<L: Lanes>(
    first: L::Word,
    packing: Packing,
    mut source: impl Source<L>,
    out: &mut [L::Word],
) -> Result<(), Damaged> {
    // SAFETY: The caller's.
    unsafe {
        let mut base = line::<L>(first, packing, 1);
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
unsafe fn total<L: Lanes>(mut source: impl Source<L>, count: usize) -> Result<L::Word, Damaged> {
    // SAFETY: The caller's.
    let sums = unsafe {
        let mut sums = L::splat(L::Word::default());
        let mut left = count;
        while left >= L::LEN {
            sums = sums.add(source.next(L::LEN).ok_or(CUT_OFF)?);
            left -= L::LEN;
        }
        if left > 0 {
            sums = sums.add(source.next(left).ok_or(CUT_OFF)?.keep_first(left));
        }
        array(sums)
    };
    let sum = sums[..L::LEN].iter().fold(0u64, |sum, word| sum.wrapping_add(word.to_u64()));
    Ok(L::Word::from_u64(sum))
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

#[inline(always)]
unsafe fn lower_bound_gaps<L: Lanes>(
    block: &Block<'_, L::Word>,
    key: L::Word,
    least: u64,
    mut source: impl Source<L>,
) -> Result<(usize, bool), Damaged> {
    // SAFETY: The caller's.
    unsafe {
        let key = L::splat(key);
        let least = L::splat(L::Word::from_u64(least));
        let mut last = L::splat(block.first);
        let mut begin = 1;
        while begin < block.count {
            let count = (block.count - begin).min(L::LEN);
            let values = source.next(count).ok_or(CUT_OFF)?.add(least).prefix_sum().add(last);
            if let Some(found) = find(values, key, begin, count) {
                return Ok(found);
            }
            last = values.last();
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
    mut source: impl Source<L> + Seek,
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

    /// The sum of a lane.
    #[inline(always)]
    fn lane((low, high): &([u64; 8], [u64; 8]), lane: usize) -> u128 {
        if L::Word::BITS == 32 {
            u128::from(if lane.is_multiple_of(2) { low[lane / 2] } else { high[lane / 2] })
        } else {
            u128::from(low[lane]) + (u128::from(high[lane]) << 32)
        }
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
unsafe fn sum_frame<L: Lanes>(mut source: impl Source<L>, count: usize) -> Result<u128, Damaged> {
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

/// The sum of the sums of the first 1, 2, … `count` integers. The integer in lane `l` of vector `k` is in `count - k * LEN - l` of them. `lanes`
/// adds the integers of each lane, `running` adds up `lanes` after each of the `vectors`, so has each integer
/// `vectors - k` times.
#[inline(always)]
unsafe fn sum_gaps<L: Lanes>(mut source: impl Source<L>, count: usize) -> Result<u128, Damaged> {
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
        (array(lanes), running.arrays())
    };
    // Wrapping only on damaged bytes, whose sum may be anything.
    let sum = (0..L::LEN).fold(0u128, |sum, lane| {
        let often = Wide::<L>::lane(&running, lane) * L::LEN as u128;
        let too_often = u128::from(lanes[lane].to_u64()) * (vectors * L::LEN - count + lane) as u128;
        sum.wrapping_add(often).wrapping_sub(too_often)
    });
    Ok(sum)
}
