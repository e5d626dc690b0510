//! Blocks of integers and floats: one encoding for all values, chosen by the block.
//!
//! | encoding | bytes | see |
//! |---|---|---|
//! | 1 constant | the code of every value, little-endian | |
//! | 2 frames | frames of reference | [`super::frames`] |
//! | 3 delta | steps from value to value | [`super::delta`] |
//! | 4 runs | run lengths | [`super::runs`] |
//! | 5 dictionary | distinct values and their numbers | [`super::dictionary`] |
//! | 6 raw | the values, little-endian | |
//! | 7 alp | floats as integers | [`super::alp`] |
//!
//! The encodings work on codes ([`Native`]), except 5, 6 and 7.

use std::ops::Range;

use super::{
    BitsView, Code, Encoding, Goal, Mask, Native, VECTOR,
    alp::{self, Alp},
    bits::{self, Lanes},
    compare,
    delta::{self, Deltas},
    dictionary::{self, Dictionary},
    frames::{self, Frames, Map},
    mask::word_mask,
    ranges::{self, Point, Ranges},
    runs::{self, Runs},
    section::take,
    simd::{self, Kernel, Level},
};
use crate::{Error, Result, prefetch::prefetch_byte};

/// Values of one encoding.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Numbers<'a, N: Native> {
    Constant(N::Code, usize),
    Frames(Frames<'a, N::Code>),
    Deltas(Deltas<'a, N::Code>),
    Runs(Runs<'a, N::Code>),
    Dictionary(Dictionary<'a, N>),
    Raw(&'a [u8]),
    Alp(Alp<'a, N>),
}

/// From a code to its value.
#[derive(Clone, Copy)]
struct Back;

impl<N: Native> Map<N::Code, N> for Back {
    #[inline(always)]
    fn map(self, code: N::Code) -> N {
        N::from_code(code)
    }
}

/// A sum of integers, exact, or of floats.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Sum {
    /// Of integers, or of the unscaled integers of decimals.
    Integer(i128),
    /// Of floats: the order of the additions is not specified.
    Float(f64),
}

impl<'a, N: Native<Code: Point>> Numbers<'a, N> {
    /// Takes `count` values from the front of `bytes`.
    pub(crate) fn parse(encoding: Encoding, bytes: &mut &'a [u8], count: usize) -> Result<Self> {
        Ok(match encoding {
            Encoding::Constant => Self::Constant(Code::read(take(bytes, N::Code::SIZE)?), count),
            Encoding::Frames => Self::Frames(Frames::parse(bytes, count)?),
            Encoding::Delta => Self::Deltas(Deltas::parse(bytes, count)?),
            Encoding::Runs => Self::Runs(Runs::parse(bytes, count)?),
            Encoding::Dictionary => Self::Dictionary(Dictionary::parse(bytes, count)?),
            Encoding::Raw => Self::Raw(take(bytes, count * N::Code::SIZE)?),
            Encoding::Alp if N::FLOAT => Self::Alp(Alp::parse(bytes, count)?),
            _ => return Err(Error::malformed(2, "an encoding that this kind of values has not")),
        })
    }

    /// Whether what `parse` has not looked at is sound too.
    pub(crate) fn verify(&self) -> Result<()> {
        match self {
            Self::Runs(runs) => runs.verify(),
            Self::Dictionary(dictionary) => dictionary.verify(),
            Self::Alp(alp) => alp.verify(),
            _ => Ok(()),
        }
    }

    #[inline]
    pub(crate) fn len(&self) -> usize {
        match self {
            Self::Constant(_, count) => *count,
            Self::Frames(frames) => frames.len(),
            Self::Deltas(deltas) => deltas.len(),
            Self::Runs(runs) => runs.len(),
            Self::Dictionary(dictionary) => dictionary.len(),
            Self::Raw(bytes) => bytes.len() / N::Code::SIZE,
            Self::Alp(alp) => alp.len(),
        }
    }

    /// Value `index`. Panics when there is none.
    #[inline]
    pub(crate) fn get(&self, index: usize) -> N {
        match self {
            Self::Constant(code, _) => N::from_code(*code),
            Self::Frames(frames) => N::from_code(frames.get(index)),
            Self::Deltas(deltas) => N::from_code(deltas.get(index)),
            Self::Runs(runs) => N::from_code(runs.get(index)),
            Self::Dictionary(dictionary) => dictionary.get(index),
            Self::Raw(bytes) => N::read(&bytes[index * N::Code::SIZE..]),
            Self::Alp(alp) => alp.get(index),
        }
    }

    /// Asks for the memory of value `index`, as far as it is known without reading other memory.
    #[inline]
    pub(crate) fn prefetch(&self, index: usize) {
        match self {
            Self::Frames(frames) => frames.prefetch(index),
            Self::Dictionary(dictionary) => dictionary.numbers().prefetch(index),
            Self::Raw(bytes) => prefetch_byte(bytes, index * N::Code::SIZE),
            Self::Alp(alp) => alp.integers().prefetch(index),
            Self::Constant(..) | Self::Deltas(_) | Self::Runs(_) => {}
        }
    }

    /// Writes the values of `range` to `out`, of the same length.
    pub(crate) fn decode(&self, range: Range<usize>, out: &mut [N]) {
        assert!(range.start <= range.end && range.end <= self.len() && range.len() == out.len());
        match self {
            Self::Constant(code, _) => out.fill(N::from_code(*code)),
            Self::Frames(frames) => frames.decode(range, out, Back),
            Self::Deltas(deltas) => deltas.decode(range, out, Back),
            Self::Runs(runs) => runs.decode(range, out, Back),
            Self::Dictionary(dictionary) => dictionary.decode(range, out),
            Self::Raw(bytes) => {
                let bytes = &bytes[range.start * N::Code::SIZE..range.end * N::Code::SIZE];
                out.iter_mut()
                    .zip(bytes.chunks_exact(N::Code::SIZE))
                    .for_each(|(out, raw)| *out = N::read(raw));
            }
            Self::Alp(alp) => alp.decode(range, out),
        }
    }

    /// Writes the values at `positions` to `out`, of the same length. Panics when there is no such position.
    pub(crate) fn gather(&self, positions: &[u32], out: &mut [N]) {
        assert_eq!(positions.len(), out.len());
        let mut buffer = [N::default(); VECTOR];
        let mut at = 0;
        while at < positions.len() {
            let vector = positions[at] as usize / VECTOR;
            let same = positions[at..].iter().take_while(|&&position| position as usize / VECTOR == vector);
            let some = &positions[at..at + same.count()];
            let out = &mut out[at..at + some.len()];
            at += some.len();
            if some.len() < self.few() {
                out.iter_mut().zip(some).for_each(|(out, &position)| *out = self.get(position as usize));
                continue;
            }
            let first = vector * VECTOR;
            let end = (first + VECTOR).min(self.len());
            self.decode(first..end, &mut buffer[..end.saturating_sub(first)]);
            let picks = out.iter_mut().zip(some);
            picks.for_each(|(out, &position)| *out = buffer[..end - first][position as usize - first]);
        }
    }

    /// Below how many positions of a vector reading them one by one is faster than decoding it.
    fn few(&self) -> usize {
        match self {
            Self::Deltas(_) => 2,
            Self::Constant(..) | Self::Raw(_) => usize::MAX,
            _ => 64,
        }
    }

    /// Clears the bits of `mask` whose values are not in `set`.
    pub(crate) fn filter(&self, set: &Ranges<N::Code>, mask: &mut Mask) {
        match self {
            Self::Constant(code, _) if set.contains(*code) => {}
            Self::Constant(..) => mask.clear(),
            Self::Frames(frames) => frames.filter(set, mask.words_mut()),
            Self::Runs(runs) => runs.filter(set, mask),
            Self::Dictionary(dictionary) => dictionary.filter(set, mask.words_mut()),
            Self::Alp(alp) => alp.filter(set, mask),
            Self::Deltas(_) | Self::Raw(_) => self.filter_decoded(set, mask.words_mut()),
        }
    }

    /// As [`Numbers::filter`], of values that have to be decoded first.
    fn filter_decoded(&self, set: &Ranges<N::Code>, mask: &mut [u64]) {
        let mut buffer = [N::default(); VECTOR];
        let mut lanes = Lanes::new();
        for (part, mask) in bits::vectors(0..self.len()).zip(mask.chunks_mut(VECTOR / 64)) {
            if mask.iter().all(|&word| word == 0) {
                continue;
            }
            let values = &mut buffer[..part.end];
            let start = part.vector * VECTOR;
            self.decode(start..start + part.end, values);
            simd::run(Select { values, lanes: &mut lanes, set: set.as_slice(), mask });
        }
    }

    /// Calls `each` with the values of every vector and the bits of those in `rows`; vectors without one are left out.
    fn each_vector(&self, rows: Option<BitsView<'_>>, mut each: impl FnMut(&[N], &Words)) {
        let mut buffer = [N::default(); VECTOR];
        for part in bits::vectors(0..self.len()) {
            let first = part.vector * (VECTOR / 64);
            let word = |index: usize| match rows {
                None => word_mask(index, self.len()),
                Some(rows) if index < rows.words().len() => rows.word(index),
                Some(_) => 0,
            };
            let words: Words = std::array::from_fn(|index| word(first + index));
            if words.iter().all(|&word| word == 0) {
                continue;
            }
            let start = part.vector * VECTOR;
            self.decode(start..start + part.end, &mut buffer[..part.end]);
            each(&buffer[..part.end], &words);
        }
    }

    /// The least and the largest code of `rows`, or of all; `None` when there is no row.
    pub(crate) fn bounds(&self, rows: Option<BitsView<'_>>) -> Option<(N::Code, N::Code)> {
        let count = rows.map_or(self.len(), |rows| rows.count());
        if count == 0 {
            return None;
        }
        match self {
            Self::Constant(code, _) => Some((*code, *code)),
            Self::Runs(runs) => {
                let mut bounds = Bounds::default();
                runs.weigh(rows, |code, _| bounds.add(code));
                bounds.get()
            }
            Self::Dictionary(dictionary) => {
                // The order of the numbers is that of the values.
                let numbers: Numbers<'_, u16> = Numbers::Frames(dictionary.numbers());
                let (low, high) = numbers.bounds(rows)?;
                let code = |number: u16| dictionary.entry(number.into()).to_code();
                Some((code(low), code(high)))
            }
            _ => {
                let mut bounds = Bounds::default();
                self.each_vector(rows, |values, words| {
                    simd::run(Bound { values, words, bounds: &mut bounds })
                });
                bounds.get()
            }
        }
    }

    /// The sum of `rows`, or of all.
    pub(crate) fn sum(&self, rows: Option<BitsView<'_>>) -> Sum {
        match N::FLOAT {
            true => Sum::Float(self.sum_floats(rows)),
            false => Sum::Integer(self.sum_integers(rows)),
        }
    }

    fn sum_integers(&self, rows: Option<BitsView<'_>>) -> i128 {
        let count = rows.map_or(self.len(), |rows| rows.count());
        let codes = match self {
            Self::Constant(code, _) => u128::from(code.widen()) * count as u128,
            Self::Frames(frames) => match rows {
                Some(rows) if count < self.len() => frames.sum_of(rows),
                _ => frames.sum(),
            },
            Self::Runs(runs) => {
                let mut sum = 0;
                runs.weigh(rows, |code, weight| sum += u128::from(code.widen()) * weight as u128);
                sum
            }
            Self::Dictionary(dictionary) => {
                let mut sum = 0;
                dictionary.weigh(rows, |value, weight| {
                    sum += u128::from(value.to_code().widen()) * weight as u128;
                });
                sum
            }
            _ => {
                let mut sum = 0;
                self.each_vector(rows, |values, words| sum += simd::run(SumCodes { values, words }));
                sum
            }
        };
        codes as i128 - i128::from(N::default().to_code().widen()) * count as i128
    }

    fn sum_floats(&self, rows: Option<BitsView<'_>>) -> f64 {
        let count = rows.map_or(self.len(), |rows| rows.count());
        let mut sum = 0.0;
        match self {
            Self::Constant(code, _) if count > 0 => N::from_code(*code).to_f64() * count as f64,
            // The integers of `f32` stand for decimal numbers that its values only come near.
            Self::Alp(alp) if count == self.len() && N::Code::BITS == 64 => alp.sum(),
            Self::Runs(runs) => {
                runs.weigh(rows, |code, weight| sum += N::from_code(code).to_f64() * weight as f64);
                sum
            }
            Self::Dictionary(dictionary) => {
                dictionary.weigh(rows, |value, weight| sum += value.to_f64() * weight as f64);
                sum
            }
            _ => {
                self.each_vector(rows, |values, words| sum += simd::run(SumFloats { values, words }));
                sum
            }
        }
    }
}

/// The bits of a vector's rows.
type Words = [u64; VECTOR / 64];

/// The least and the largest of the codes so far.
struct Bounds<C> {
    low: C,
    high: C,
    any: bool,
}

impl<C: Code> Default for Bounds<C> {
    fn default() -> Self {
        Self { low: C::MAX, high: C::default(), any: false }
    }
}

impl<C: Code> Bounds<C> {
    #[inline(always)]
    fn add(&mut self, code: C) {
        (self.low, self.high, self.any) = (self.low.min(code), self.high.max(code), true);
    }

    fn get(self) -> Option<(C, C)> {
        self.any.then_some((self.low, self.high))
    }
}

struct Select<'a, N: Native> {
    values: &'a [N],
    lanes: &'a mut Lanes,
    set: &'a [(N::Code, N::Code)],
    mask: &'a mut [u64],
}

impl<N: Native> Kernel for Select<'_, N> {
    type Output = ();

    #[inline(always)]
    fn run(self, level: Level) {
        self.lanes.fill(self.values, N::Code::BITS, |value| value.to_code().widen());
        ranges::relative(self.set, N::Code::default(), N::Code::MAX, |ranges| {
            compare::select(self.lanes, N::Code::BITS, ranges, self.mask, level);
        });
    }
}

struct Bound<'a, N: Native> {
    values: &'a [N],
    words: &'a Words,
    bounds: &'a mut Bounds<N::Code>,
}

impl<N: Native> Kernel for Bound<'_, N> {
    type Output = ();

    #[inline(always)]
    fn run(self, _: Level) {
        let (mut low, mut high) = (self.bounds.low, self.bounds.high);
        for (values, &word) in self.values.chunks(64).zip(self.words) {
            for (bit, value) in values.iter().enumerate() {
                let (code, selected) = (value.to_code(), word >> bit & 1 != 0);
                low = low.min(if selected { code } else { N::Code::MAX });
                high = high.max(if selected { code } else { N::Code::default() });
            }
        }
        *self.bounds = Bounds { low, high, any: true };
    }
}

/// Whether every row of a full vector is selected.
#[inline(always)]
fn all_selected<N>(values: &[N], words: &Words) -> bool {
    values.len() == VECTOR && words.iter().all(|&word| word == u64::MAX)
}

struct SumCodes<'a, N> {
    values: &'a [N],
    words: &'a Words,
}

impl<N: Native> Kernel for SumCodes<'_, N> {
    type Output = u128;

    #[inline(always)]
    fn run(self, _: Level) -> u128 {
        let (mut low, mut high) = (0u64, 0u64);
        if all_selected(self.values, self.words) {
            for value in self.values {
                let code = value.to_code().widen();
                low += code & u64::from(u32::MAX);
                high += code >> 32;
            }
            return u128::from(low) + (u128::from(high) << 32);
        }
        for (values, &word) in self.values.chunks(64).zip(self.words) {
            for (bit, value) in values.iter().enumerate() {
                let code = value.to_code().widen() & 0u64.wrapping_sub(word >> bit & 1);
                low += code & u64::from(u32::MAX);
                high += code >> 32;
            }
        }
        u128::from(low) + (u128::from(high) << 32)
    }
}

struct SumFloats<'a, N> {
    values: &'a [N],
    words: &'a Words,
}

impl<N: Native> Kernel for SumFloats<'_, N> {
    type Output = f64;

    #[inline(always)]
    fn run(self, _: Level) -> f64 {
        // Sixteen sums side by side: the additions of one need not wait for those of another.
        let mut sums = [0.0f64; 16];
        if all_selected(self.values, self.words) {
            for values in self.values.as_chunks::<16>().0 {
                sums.iter_mut().zip(values).for_each(|(sum, value)| *sum += value.to_f64());
            }
            return sums.iter().sum();
        }
        for (values, &word) in self.values.chunks(64).zip(self.words) {
            for (quarter, values) in values.chunks(16).enumerate() {
                let word = word >> (quarter * 16);
                for (bit, (sum, value)) in sums.iter_mut().zip(values).enumerate() {
                    *sum += if word >> bit & 1 != 0 { value.to_f64() } else { 0.0 };
                }
            }
        }
        sums.iter().sum()
    }
}

/// Appends `values` in the encoding that suits `goal`, and returns it and the least and the largest code.
///
/// REQUIRES: `values` is not empty.
pub(crate) fn encode<N: Native<Code: Point>>(
    values: &[N],
    goal: Goal,
    out: &mut Vec<u8>,
) -> (Encoding, N::Code, N::Code) {
    let codes: Vec<N::Code> = values.iter().map(|value| value.to_code()).collect();
    let (low, high) = frames::bounds(&codes);
    if low == high {
        low.write(out);
        return (Encoding::Constant, low, high);
    }
    let choice = choose(values, &codes, goal);
    match &choice.plan {
        Plan::Frames => frames::encode(&codes, out),
        Plan::Delta(steps) => delta::encode(&codes, steps, out),
        Plan::Runs(values, ends) => runs::encode(values, ends, out),
        Plan::Dictionary(entries, numbers) => dictionary::encode::<N>(entries, numbers, out),
        Plan::Raw => values.iter().for_each(|value| value.write(out)),
        Plan::Alp(parts) => parts.encode(out),
    }
    (choice.plan.encoding(), low, high)
}

/// Appends `values` as they are, and returns the least and the largest code. REQUIRES: there are some.
pub(crate) fn encode_raw<N: Native>(values: &[N], out: &mut Vec<u8>) -> (Encoding, N::Code, N::Code) {
    let fold = |(low, high): (N::Code, N::Code), value: &N| {
        let code = value.to_code();
        (low.min(code), high.max(code))
    };
    let (low, high) = values.iter().fold((N::Code::MAX, N::Code::default()), fold);
    out.reserve(values.len() * N::Code::SIZE);
    values.iter().for_each(|value| value.write(out));
    (Encoding::Raw, low, high)
}

/// An encoding and what it has found out about the values.
enum Plan<N: Native> {
    Frames,
    Delta(Vec<N::Code>),
    Runs(Vec<N::Code>, Vec<u32>),
    Dictionary(Vec<N::Code>, Vec<u16>),
    Raw,
    Alp(alp::Parts<N>),
}

impl<N: Native> Plan<N> {
    fn encoding(&self) -> Encoding {
        match self {
            Self::Frames => Encoding::Frames,
            Self::Delta(_) => Encoding::Delta,
            Self::Runs(..) => Encoding::Runs,
            Self::Dictionary(..) => Encoding::Dictionary,
            Self::Raw => Encoding::Raw,
            Self::Alp(_) => Encoding::Alp,
        }
    }
}

/// The best plan so far.
struct Choice<N: Native> {
    plan: Plan<N>,
    cost: usize,
}

impl<N: Native> Choice<N> {
    /// Takes a plan of `len` bytes if it is the smallest, its slowness in `percent` being charged as size.
    fn offer(&mut self, len: usize, percent: usize, plan: impl FnOnce() -> Plan<N>) {
        let cost = len + len * percent / 100;
        if cost < self.cost {
            *self = Self { plan: plan(), cost };
        }
    }
}

/// Chooses by size; for speed an encoding that decodes slower has to be smaller by a part of its size.
///
/// Sizes are exact. What is dear to find out is tried on samples first: distinct values and decimal exponents.
fn choose<N: Native<Code: Point>>(values: &[N], codes: &[N::Code], goal: Goal) -> Choice<N> {
    let count = codes.len();
    let percent = |slowness: usize| if goal == Goal::Speed { slowness } else { 0 };
    let mut best = Choice { plan: Plan::Raw, cost: count * N::Code::SIZE };
    best.offer(frames::encoded_len(codes), 0, || Plan::Frames);
    let runs = runs::count(codes);
    // Decoding a run has a price of its own, so short runs are no gain.
    if runs < count / 3 {
        let (values, ends) = runs::split(codes);
        best.offer(runs::encoded_len(&values, &ends), percent(10), || Plan::Runs(values, ends));
    }
    if N::FLOAT {
        if let Some(exponents) = alp::search(values) {
            let parts = alp::split(values, exponents);
            best.offer(parts.encoded_len(), 0, || Plan::Alp(parts));
        }
    } else if count > 2 {
        let steps = delta::steps(codes);
        best.offer(delta::encoded_len(&steps), percent(15), || Plan::Delta(steps));
    }
    // A dictionary is no gain once its entries alone outweigh the best.
    let entries = best.cost.min(count * N::Code::SIZE / 2) / N::Code::SIZE;
    if entries >= 2
        && has_few_distinct(codes)
        && let Some((entries, numbers)) = dictionary::split(codes, entries)
    {
        let len = dictionary::encoded_len(&entries, &numbers);
        best.offer(len, percent(5), || Plan::Dictionary(entries, numbers));
    }
    best
}

/// Whether values repeat in a sample.
fn has_few_distinct<C: Code>(codes: &[C]) -> bool {
    const SAMPLE: usize = 256;
    let step = codes.len().div_ceil(SAMPLE).max(1);
    let mut sample: Vec<C> = codes.iter().step_by(step).copied().collect();
    let len = sample.len();
    sample.sort_unstable();
    sample.dedup();
    // With D distinct values evenly drawn, 256 of them repeat in about 256² / 2 D cases.
    sample.len() < len - len / 16
}
