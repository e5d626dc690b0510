//! Floats that are decimal numbers, as integers.
//!
//! The encoding is ALP (Afroozeh, Kuffo and Boncz, "ALP: Adaptive Lossless floating-Point Compression", SIGMOD
//! 2024): a float `x` becomes the integer `n = round(x × 10^e × 10^-f)`, and comes back as `n × 10^f × 10^-e`.
//! `e` and `f` are those of the block, found by sampling. What does not come back to the bit is an *exception*,
//! stored as it is. `f32` takes the same way through `f64`.
//!
//! # Format
//! | part | bytes | meaning |
//! |---|---|---|
//! | e | 1 | 0 to 18 |
//! | f | 1 | 0 to e |
//! | exceptions | 4 | how many, x |
//! | positions | x × 2 | of the exceptions, rising |
//! | values | x × size | of the exceptions, little-endian |
//! | integers | any | [`super::frames`] of the integers plus 2^63, 8-byte codes; any at an exception |
//!
//! Example: 1.5, 0.25, 3.0 with e = 14 and f = 12 have the integers 150, 25, 300: `0E 0C`, `00 00 00 00`, width `09`, base
//! `19 00 00 00 00 00 00 80`, and a row `7D 00 00 00 13 01 00 … 00`.
//!
//! The way back is monotone: two roundings and a conversion, none of which changes an order. So a range of
//! floats is a range of integers, found by binary search for its ends.

use std::{marker::PhantomData, ops::Range};

use super::{
    Code, Mask, Native,
    bits::width_of,
    frames::{self, Frames, Map},
    ranges::{Point, Ranges},
    section::{put_count, take, take_count},
    simd::{self, Kernel, Level},
};
use crate::{Error, Result};

const EXPONENT_MAX: usize = 18;

const POWERS: [f64; EXPONENT_MAX + 1] =
    [1e0, 1e1, 1e2, 1e3, 1e4, 1e5, 1e6, 1e7, 1e8, 1e9, 1e10, 1e11, 1e12, 1e13, 1e14, 1e15, 1e16, 1e17, 1e18];

const INVERSES: [f64; EXPONENT_MAX + 1] = [
    1e0, 1e-1, 1e-2, 1e-3, 1e-4, 1e-5, 1e-6, 1e-7, 1e-8, 1e-9, 1e-10, 1e-11, 1e-12, 1e-13, 1e-14, 1e-15,
    1e-16, 1e-17, 1e-18,
];

/// 2^52 + 2^51: what is added to it is rounded to an integer, which then stands in its low bits.
const ROUND: f64 = 6_755_399_441_055_744.0;

/// The pair of exponents of a block.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Exponents {
    pub(crate) e: u8,
    pub(crate) f: u8,
}

impl Exponents {
    /// The integer of a float; meaningless unless [`Exponents::value`] gives the float back.
    #[inline(always)]
    fn integer<N: Native>(self, value: N) -> i64 {
        let scaled = value.to_f64() * POWERS[usize::from(self.e)] * INVERSES[usize::from(self.f)];
        (scaled + ROUND).to_bits().wrapping_sub(ROUND.to_bits()) as i64
    }

    /// The float of an integer.
    #[inline(always)]
    fn value<N: Native>(self, integer: i64) -> N {
        N::from_f64(integer as f64 * POWERS[usize::from(self.f)] * INVERSES[usize::from(self.e)])
    }
}

/// Whether the integer brings the float back to the bit.
#[inline(always)]
fn is_exact<N: Native>(exponents: Exponents, value: N, integer: i64) -> bool {
    exponents.value::<N>(integer).to_code() == value.to_code()
}

/// How many values the full search looks at, and how many decide among its best pairs.
const SEARCH: usize = 32;
const DECIDE: usize = 256;
const BEST: usize = 5;

/// At most `count` of the values, evenly spread.
fn sample<N: Native>(values: &[N], count: usize) -> Vec<N> {
    let step = values.len().div_ceil(count).max(1);
    values.iter().step_by(step).copied().collect()
}

/// What the values would take under a pair, in bits.
fn cost<N: Native>(exponents: Exponents, values: &[N]) -> usize {
    let (mut low, mut high, mut exact) = (i64::MAX, i64::MIN, 0);
    for &value in values {
        let integer = exponents.integer(value);
        if is_exact(exponents, value, integer) {
            (low, high) = (low.min(integer), high.max(integer));
            exact += 1;
        }
    }
    let width = if exact == 0 { 0 } else { width_of(high.wrapping_sub(low) as u64) as usize };
    values.len() * width + (values.len() - exact) * (16 + N::Code::BITS as usize)
}

/// The pair that makes `values` smallest, as far as samples tell; `None` when hardly any value is a decimal number.
pub(crate) fn search<N: Native>(values: &[N]) -> Option<Exponents> {
    let few = sample(values, SEARCH);
    let pairs = (0..=EXPONENT_MAX as u8).flat_map(|e| (0..=e).map(move |f| Exponents { e, f }));
    let mut costs: Vec<(usize, u8, Exponents)> =
        pairs.map(|pair| (cost(pair, &few), EXPONENT_MAX as u8 - pair.e, pair)).collect();
    // Of equal costs the largest exponent, which is the least likely to have exceptions.
    costs.sort_unstable_by_key(|&(cost, order, pair)| (cost, order, pair.f));
    if costs[0].0 >= few.len() * N::Code::BITS as usize {
        return None;
    }
    let many = sample(values, DECIDE);
    costs.iter().take(BEST).map(|&(_, _, pair)| pair).min_by_key(|&pair| cost(pair, &many))
}

/// A column of floats taken apart.
#[derive(Debug)]
pub(crate) struct Parts<N> {
    exponents: Exponents,
    codes: Vec<u64>,
    positions: Vec<u16>,
    values: Vec<N>,
}

/// Takes `values` apart under a pair.
pub(crate) fn split<N: Native>(values: &[N], exponents: Exponents) -> Parts<N> {
    let mut codes = vec![0; values.len()];
    let mut exact = vec![false; values.len()];
    simd::run(Split { values, exponents, codes: &mut codes, exact: &mut exact });
    let mut parts = Parts { exponents, codes, positions: Vec::new(), values: Vec::new() };
    if exact.iter().all(|&exact| exact) {
        return parts;
    }
    // An exception takes the integer before it, so that it widens no frame.
    let first = exact.iter().position(|&exact| exact);
    let mut before = first.map_or(u64::SIGN, |first| parts.codes[first]);
    for (index, (&value, &exact)) in values.iter().zip(&exact).enumerate() {
        if exact {
            before = parts.codes[index];
        } else {
            parts.codes[index] = before;
            parts.positions.push(index as u16);
            parts.values.push(value);
        }
    }
    parts
}

struct Split<'a, N> {
    values: &'a [N],
    exponents: Exponents,
    codes: &'a mut [u64],
    exact: &'a mut [bool],
}

impl<N: Native> Kernel for Split<'_, N> {
    type Output = ();

    #[inline(always)]
    fn run(self, _: Level) {
        for ((&value, code), exact) in self.values.iter().zip(self.codes).zip(self.exact) {
            let integer = self.exponents.integer(value);
            *code = integer.to_code();
            *exact = is_exact(self.exponents, value, integer);
        }
    }
}

impl<N: Native> Parts<N> {
    /// The bytes that [`Parts::encode`] appends.
    pub(crate) fn encoded_len(&self) -> usize {
        6 + self.positions.len() * (2 + N::Code::SIZE) + frames::encoded_len(&self.codes)
    }

    pub(crate) fn encode(&self, out: &mut Vec<u8>) {
        out.extend([self.exponents.e, self.exponents.f]);
        put_count(self.positions.len(), out);
        self.positions.iter().for_each(|&position| Code::write(position, out));
        self.values.iter().for_each(|value| value.write(out));
        frames::encode(&self.codes, out);
    }
}

/// Floats as integers.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Alp<'a, N> {
    exponents: Exponents,
    positions: &'a [[u8; 2]],
    values: &'a [u8],
    integers: Frames<'a, u64>,
    native: PhantomData<N>,
}

impl<'a, N: Native<Code: Point>> Alp<'a, N> {
    pub(crate) fn parse(bytes: &mut &'a [u8], count: usize) -> Result<Self> {
        let pair = take(bytes, 2)?;
        let exponents = Exponents { e: pair[0], f: pair[1] };
        if usize::from(exponents.e) > EXPONENT_MAX || exponents.f > exponents.e {
            return Err(Error::malformed(0, "exponents out of bounds"));
        }
        let exceptions = take_count(bytes, count)?;
        let positions = take(bytes, exceptions * 2)?.as_chunks().0;
        let values = take(bytes, exceptions * N::Code::SIZE)?;
        Ok(Self { exponents, positions, values, integers: Frames::parse(bytes, count)?, native: PhantomData })
    }

    #[inline]
    pub(crate) fn len(&self) -> usize {
        self.integers.len()
    }

    /// How many exceptions.
    #[inline]
    pub(crate) fn exceptions(&self) -> usize {
        self.positions.len()
    }

    /// The position of exception `index`.
    #[inline]
    fn position(&self, index: usize) -> usize {
        u16::from_le_bytes(self.positions[index]).into()
    }

    /// The first exception at or behind a position.
    fn first_exception(&self, position: usize) -> usize {
        self.positions.partition_point(|&raw| usize::from(u16::from_le_bytes(raw)) < position)
    }

    /// The value of exception `index`.
    #[inline]
    fn exception(&self, index: usize) -> N {
        N::read(&self.values[index * N::Code::SIZE..])
    }

    /// Whether the positions rise and lie inside.
    pub(crate) fn verify(&self) -> Result<()> {
        let rise = (1..self.exceptions()).all(|index| self.position(index - 1) < self.position(index));
        let inside = self.exceptions() == 0 || self.position(self.exceptions() - 1) < self.len();
        if rise && inside { Ok(()) } else { Err(Error::malformed(0, "exceptions out of order")) }
    }

    /// Value `index`. Panics when there is none.
    pub(crate) fn get(&self, index: usize) -> N {
        let exception = self.first_exception(index);
        if exception < self.exceptions() && self.position(exception) == index {
            return self.exception(exception);
        }
        self.exponents.value(i64::from_code(self.integers.get(index)))
    }

    /// The integers that stand for the values.
    pub(crate) fn integers(&self) -> &Frames<'a, u64> {
        &self.integers
    }

    /// Writes the values of `range` to `out`, of the same length.
    pub(crate) fn decode(&self, range: Range<usize>, out: &mut [N]) {
        let exceptions = self.first_exception(range.start)..self.first_exception(range.end);
        self.integers.decode(range.clone(), out, Back::new(self.exponents));
        for index in exceptions {
            if let Some(out) = self.position(index).checked_sub(range.start).and_then(|at| out.get_mut(at)) {
                *out = self.exception(index);
            }
        }
    }

    /// Clears the bits of `mask` whose values are not in `set`.
    pub(crate) fn filter(&self, set: &Ranges<N::Code>, mask: &mut Mask) {
        let inside = |index: usize| self.position(index) < mask.len() && mask.get(self.position(index));
        let selected: Vec<bool> = (0..self.exceptions()).map(inside).collect();
        let code = |integer: u64| self.exponents.value::<N>(i64::from_code(integer)).to_code();
        let integers = set.as_slice().iter().filter_map(|&(low, high)| {
            let first = first_code(N::from_code(low), self.exponents, |integer| code(integer) >= low)?;
            let behind = first_code(N::from_code(high), self.exponents, |integer| code(integer) > high);
            Some((first, behind.map_or(Some(u64::MAX), |behind| behind.previous())?))
        });
        self.integers.filter(&Ranges::union(integers.collect()), mask.words_mut());
        for (index, selected) in selected.into_iter().enumerate() {
            if self.position(index) < mask.len() {
                mask.set(self.position(index), selected && set.contains(self.exception(index).to_code()));
            }
        }
    }

    /// The sum of all values: the integers' exactly, then the exceptions in their order.
    pub(crate) fn sum(&self) -> f64 {
        let integer = |code: u64| i128::from(i64::from_code(code));
        let zero = i128::from(u64::SIGN) * self.len() as i128;
        let mut sum = self.integers.sum() as i128 - zero;
        let inside = (0..self.exceptions()).filter(|&index| self.position(index) < self.len());
        inside.clone().for_each(|index| sum -= integer(self.integers.get(self.position(index))));
        let power = POWERS[usize::from(self.exponents.f)];
        let inverse = INVERSES[usize::from(self.exponents.e)];
        inside.fold(sum as f64 * power * inverse, |sum, index| sum + self.exception(index).to_f64())
    }
}

/// The first code of an integer for which `reached`, which is monotone, holds; `guess` is a float near it.
fn first_code<N: Native>(guess: N, exponents: Exponents, reached: impl Fn(u64) -> bool) -> Option<u64> {
    let guess = exponents.integer(guess).to_code();
    let (mut low, mut high) = (guess.saturating_sub(2), guess.saturating_add(2));
    if reached(low) || !reached(high) {
        (low, high) = (0, u64::MAX);
        if !reached(high) {
            return None;
        }
    }
    while low < high {
        let middle = low + (high - low) / 2;
        if reached(middle) { high = middle } else { low = middle + 1 }
    }
    Some(low)
}

/// From the code of an integer to its float.
#[derive(Clone, Copy)]
struct Back {
    power: f64,
    inverse: f64,
}

impl Back {
    fn new(exponents: Exponents) -> Self {
        Self { power: POWERS[usize::from(exponents.f)], inverse: INVERSES[usize::from(exponents.e)] }
    }
}

impl<N: Native> Map<u64, N> for Back {
    #[inline(always)]
    fn map(self, code: u64) -> N {
        N::from_f64(i64::from_code(code) as f64 * self.power * self.inverse)
    }
}
