//! Differences of neighbours, for codes that rise or fall slowly.
//!
//! # Format
//! With `v = ceil(count / 1024)` vectors and codes of `s` bytes:
//!
//! | part | bytes | meaning |
//! |---|---|---|
//! | starts | v × s | the first code of each vector |
//! | steps | any | [`super::frames`] of `count` codes: each code minus the one before, modulo 2^(8 s), plus 2^(8 s - 1) |
//!
//! Example: the codes 10, 13, 16 of 2 bytes are `0A 00`, width `00`, base `03 80`: five bytes for any number of such steps up to
//! 1,024.
//!
//! The step of a vector's first code is not read; the encoder repeats the second. Every vector is decoded
//! on its own, so one code costs one vector at most, and nothing at all when all steps are equal.

use std::ops::Range;

use super::{
    Code, VECTOR,
    bits::{self, Lanes},
    frames::{self, Frames, Map},
    ranges::Point,
    section::take,
    simd::{self, Kernel, Level},
};
use crate::Result;

/// Codes as steps.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Deltas<'a, C> {
    starts: &'a [u8],
    steps: Frames<'a, C>,
}

/// The steps of `codes`, as they are stored.
pub(crate) fn steps<C: Code>(codes: &[C]) -> Vec<C> {
    let mut steps = Vec::with_capacity(codes.len());
    for codes in codes.chunks(VECTOR) {
        let step = |pair: &[C]| pair[1].sub(pair[0]).add(C::SIGN);
        steps.push(codes.get(..2).map_or(C::SIGN, step));
        steps.extend(codes.windows(2).map(step));
    }
    steps
}

/// The bytes that [`encode`] appends.
pub(crate) fn encoded_len<C: Code>(steps: &[C]) -> usize {
    steps.len().div_ceil(VECTOR) * C::SIZE + frames::encoded_len(steps)
}

/// Appends `codes`, of which `steps` are the [`steps`].
pub(crate) fn encode<C: Code>(codes: &[C], steps: &[C], out: &mut Vec<u8>) {
    codes.iter().step_by(VECTOR).for_each(|code| code.write(out));
    frames::encode(steps, out);
}

impl<'a, C: Code + Point> Deltas<'a, C> {
    pub(crate) fn parse(bytes: &mut &'a [u8], count: usize) -> Result<Self> {
        let starts = take(bytes, count.div_ceil(VECTOR) * C::SIZE)?;
        Ok(Self { starts, steps: Frames::parse(bytes, count)? })
    }

    #[inline]
    pub(crate) fn len(&self) -> usize {
        self.steps.len()
    }

    /// Code `index`. Panics when there is none.
    pub(crate) fn get(&self, index: usize) -> C {
        assert!(index < self.len());
        let (vector, within) = (index / VECTOR, index % VECTOR);
        let start = self.start(vector);
        if within == 0 {
            return start;
        }
        if let Some(step) = self.steps.constant(vector) {
            return start.add(C::truncate(within as u64).mul(step.sub(C::SIGN)));
        }
        Lanes::lend(|lanes| simd::run(Get { deltas: *self, index, lanes }))
    }

    /// Writes `map(code)` for the codes of `range` to `out`, of the same length.
    pub(crate) fn decode<T, F: Map<C, T>>(&self, range: Range<usize>, out: &mut [T], map: F) {
        assert!(range.start <= range.end && range.end <= self.len() && range.len() == out.len());
        Lanes::lend(|lanes| simd::run(Decode { deltas: *self, range, out, map, lanes }));
    }
}

impl<C: Code + Point> Deltas<'_, C> {
    /// Those of `rows`, which ascend, whose code is from `low` to `high`; an empty range where they would be if there are none.
    pub(crate) fn equal_range(&self, rows: Range<usize>, low: C, high: C) -> Range<usize> {
        assert!(rows.start <= rows.end && rows.end <= self.len());
        Lanes::lend(|lanes| simd::run(Equal { deltas: *self, rows, low, high, lanes }))
    }

    /// Whether the steps of each vector are equal.
    pub(crate) fn is_even(&self) -> bool {
        (0..self.len().div_ceil(VECTOR)).all(|vector| self.steps.constant(vector).is_some())
    }

    /// The first code of a vector.
    #[inline(always)]
    fn start(&self, vector: usize) -> C {
        C::read(&self.starts[vector * C::SIZE..])
    }
}

/// So many rows are passed by, or added up, at once.
const TOGETHER: usize = 64;

#[inline(always)]
fn sum<C: Code>(steps: &[C]) -> C {
    steps.iter().fold(C::default(), |sum, &step| sum.add(step))
}

struct Equal<'a, 'l, C> {
    deltas: Deltas<'a, C>,
    rows: Range<usize>,
    low: C,
    high: C,
    lanes: &'l mut Lanes,
}

impl<C: Code + Point> Kernel for Equal<'_, '_, C> {
    type Output = Range<usize>;

    #[inline(always)]
    fn run(self, level: Level) -> Range<usize> {
        let from = self.first_vector();
        let Self { deltas, rows, low, high, lanes } = self;
        let mut first = None;
        for vector in from..rows.end.div_ceil(VECTOR) {
            let begin = vector * VECTOR;
            let part = rows.start.max(begin) - begin..rows.end.min(begin + VECTOR) - begin;
            if let Some(step) = deltas.steps.constant(vector) {
                let (start, step) = (deltas.start(vector), step.sub(C::SIGN));
                first = first.or_else(|| reached(start, step, &part, low).map(|row| begin + row));
                if let Some(end) = high.next().and_then(|next| reached(start, step, &part, next)) {
                    return first.unwrap_or(begin + end)..begin + end;
                }
                continue;
            }
            let (base, width, packed) = deltas.steps.frame(vector);
            bits::unpack_vector(packed, width, part.end, lanes, level);
            let (mut code, mut buffer) = (C::default(), [C::default(); TOGETHER]);
            for from in (0..part.end).step_by(TOGETHER) {
                let steps = &mut buffer[..TOGETHER.min(part.end - from)];
                lanes.write(width, base.sub(C::SIGN), from, steps, |step| step);
                if from == 0 {
                    steps[0] = deltas.start(vector);
                }
                // Of rows that are all before the first the steps are added up side by side.
                let behind = code.add(sum(steps));
                if from + steps.len() <= part.start || first.is_none() && behind < low {
                    code = behind;
                    continue;
                }
                for (row, &mut step) in (from..).zip(steps) {
                    code = code.add(step);
                    if row < part.start {
                        continue;
                    }
                    if first.is_none() && code >= low {
                        first = Some(begin + row);
                    }
                    if code > high {
                        return first.unwrap_or(begin + row)..begin + row;
                    }
                }
            }
        }
        first.unwrap_or(rows.end)..rows.end
    }
}

impl<C: Code + Point> Equal<'_, '_, C> {
    /// The vector in which the first code from `low` on is, or would be behind all others: the last one that begins with less.
    fn first_vector(&self) -> usize {
        let first = self.rows.start / VECTOR;
        let (mut from, mut to) = (first + 1, self.rows.end.div_ceil(VECTOR).max(first + 1));
        while from < to {
            let middle = from.midpoint(to);
            match self.deltas.start(middle) < self.low {
                true => from = middle + 1,
                false => to = middle,
            }
        }
        from - 1
    }
}

/// The first row of `rows` whose code, `start` plus `row` steps, is `code` or more, if there is one.
#[inline(always)]
fn reached<C: Code>(start: C, step: C, rows: &Range<usize>, code: C) -> Option<usize> {
    let ahead = code.widen().saturating_sub(start.widen());
    let row = match step.widen() {
        _ if ahead == 0 => 0,
        0 => return None,
        step => ahead.div_ceil(step),
    };
    usize::try_from(row).ok().map(|row| row.max(rows.start)).filter(|row| *row < rows.end)
}

struct Decode<'a, 'o, C, T, F> {
    deltas: Deltas<'a, C>,
    range: Range<usize>,
    out: &'o mut [T],
    map: F,
    lanes: &'o mut Lanes,
}

impl<C: Code + Point, T, F: Map<C, T>> Kernel for Decode<'_, '_, C, T, F> {
    type Output = ();

    #[inline(always)]
    fn run(self, level: Level) {
        let Self { deltas, range, mut out, map, lanes } = self;
        let mut codes = [C::default(); VECTOR];
        for part in bits::vectors(range) {
            let (now, later) = out.split_at_mut(part.len());
            out = later;
            let (base, width, packed) = deltas.steps.frame(part.vector);
            bits::unpack_vector(packed, width, part.end, lanes, level);
            lanes.write(width, base.sub(C::SIGN), 0, &mut codes[..part.end], |step| step);
            codes[0] = deltas.start(part.vector);
            running_sum(&mut codes[..part.end]);
            let pairs = now.iter_mut().zip(&codes[part.start..part.end]);
            pairs.for_each(|(out, &code)| *out = map.map(code));
        }
    }
}

/// Replaces each value by the sum of all up to it. Sums by doubling steps within vectors of the processor were a tenth faster
/// only: they wait for shuffles instead.
#[inline(always)]
fn running_sum<C: Code>(values: &mut [C]) {
    let mut sum = C::default();
    for value in values {
        sum = sum.add(*value);
        *value = sum;
    }
}

/// One code: the steps up to it are added in any order.
struct Get<'a, 'l, C> {
    deltas: Deltas<'a, C>,
    index: usize,
    lanes: &'l mut Lanes,
}

impl<C: Code + Point> Kernel for Get<'_, '_, C> {
    type Output = C;

    #[inline(always)]
    fn run(self, level: Level) -> C {
        let Self { deltas, index, lanes } = self;
        let (vector, within) = (index / VECTOR, index % VECTOR);
        let mut steps = [C::default(); VECTOR];
        let (base, width, packed) = deltas.steps.frame(vector);
        bits::unpack_vector(packed, width, within + 1, lanes, level);
        lanes.write(width, base.sub(C::SIGN), 0, &mut steps[..=within], |step| step);
        steps[0] = deltas.start(vector);
        steps[..=within].iter().fold(C::default(), |sum, &step| sum.add(step))
    }
}
