//! Blocks of integers read as 64-bit integers, whatever their own width is.
//!
//! Arithmetic on columns wants one width. Integers of 8 to 64 bits, booleans as 0 and 1, and decimals whose unscaled integers
//! fit into 64 bits come out of their encodings as `i64` in one pass: what is stored are small differences from a base, and
//! the base is added as 64 bits at once. Values that do not fit (some of `ubigint` and of long decimals) are cut to their low
//! 64 bits, so the caller has to know that all fit, as the block's bounds say.

use std::ops::Range;

use super::{
    Block, Code, Native, VECTOR,
    block::Body,
    dictionary::Dictionary,
    frames::{Map, Same},
    numbers::Numbers,
    ranges::Point,
    wide::Wide,
};
use crate::{Error, Result};

/// From a code to its value: the two differ by a constant, modulo 2^64.
#[derive(Clone, Copy)]
struct Plus(u64);

impl<C: Code> Map<C, i64> for Plus {
    #[inline(always)]
    fn map(self, code: C) -> i64 {
        code.widen().wrapping_add(self.0) as i64
    }
}

impl Plus {
    /// For codes of `N`.
    fn of<N: Native>() -> Self {
        Self(N::default().to_code().widen().wrapping_neg())
    }
}

impl<N: Native<Code: Point>> Numbers<'_, N> {
    fn decode_integers(&self, range: Range<usize>, out: &mut [i64], plus: Plus) {
        match self {
            Self::Constant(code, _) => out.fill(plus.map(*code)),
            Self::Frames(frames) => frames.decode(range, out, plus),
            Self::Deltas(deltas) => deltas.decode(range, out, plus),
            Self::Runs(runs) => runs.decode(range, out, plus),
            Self::Dictionary(dictionary) => dictionary.decode_integers(range, out, plus),
            Self::Raw(_) | Self::Alp(_) => {
                out.iter_mut().zip(range).for_each(|(out, index)| *out = plus.map(self.get(index).to_code()));
            }
        }
    }

    fn gather_integers(&self, positions: &[u32], out: &mut [i64], plus: Plus) {
        let mut values = vec![N::default(); positions.len()];
        self.gather(positions, &mut values);
        out.iter_mut().zip(values).for_each(|(out, value)| *out = plus.map(value.to_code()));
    }
}

impl<N: Native<Code: Point>> Dictionary<'_, N> {
    fn decode_integers(&self, range: Range<usize>, out: &mut [i64], plus: Plus) {
        let entry = |index: usize| plus.map(self.entry(index).to_code());
        if range.len() < self.entries() / 4 {
            out.iter_mut().zip(range).for_each(|(out, index)| *out = plus.map(self.get(index).to_code()));
            return;
        }
        // A table that every byte has a place in needs no check.
        let is_small = self.entries() <= 256;
        let mut small = [entry(self.entries() - 1); 256];
        let large: Vec<i64> = match is_small {
            true => {
                small[..self.entries()].iter_mut().enumerate().for_each(|(index, out)| *out = entry(index));
                Vec::new()
            }
            false => (0..self.entries()).map(entry).collect(),
        };
        let last = self.entries() - 1;
        let mut numbers = [0; VECTOR];
        let mut from = range.start;
        for out in out.chunks_mut(VECTOR) {
            let numbers = &mut numbers[..out.len()];
            self.numbers().decode(from..from + numbers.len(), numbers, Same);
            from += numbers.len();
            let pairs = out.iter_mut().zip(&*numbers);
            match is_small {
                true => pairs.for_each(|(out, &number)| *out = small[usize::from(number as u8)]),
                false => pairs.for_each(|(out, &number)| *out = large[last.min(number.into())]),
            }
        }
    }
}

impl Wide<'_> {
    fn decode_integers(&self, range: Range<usize>, out: &mut [i64]) {
        match self {
            Self::Offset(low, numbers) => numbers.decode_integers(range, out, Plus(*low as u64)),
            Self::Raw(values) => {
                let pairs = out.iter_mut().zip(&values[range]);
                pairs.for_each(|(out, raw)| *out = i128::from_le_bytes(*raw) as i64);
            }
        }
    }

    fn gather_integers(&self, positions: &[u32], out: &mut [i64]) {
        match self {
            Self::Offset(low, numbers) => numbers.gather_integers(positions, out, Plus(*low as u64)),
            Self::Raw(_) => {
                let pairs = out.iter_mut().zip(positions);
                pairs.for_each(|(out, position)| *out = self.get(*position as usize) as i64);
            }
        }
    }
}

/// `$body` for the numbers of a block of integers, `$plus` being their [`Plus`].
macro_rules! with_integers {
    ($body:expr, $numbers:ident, $plus:ident => $then:expr; $($other:tt)*) => {
        match $body {
            Body::I8($numbers) => { let $plus = Plus::of::<i8>(); $then }
            Body::I16($numbers) => { let $plus = Plus::of::<i16>(); $then }
            Body::I32($numbers) => { let $plus = Plus::of::<i32>(); $then }
            Body::I64($numbers) => { let $plus = Plus::of::<i64>(); $then }
            Body::U8($numbers) => { let $plus = Plus::of::<u8>(); $then }
            Body::U16($numbers) => { let $plus = Plus::of::<u16>(); $then }
            Body::U32($numbers) => { let $plus = Plus::of::<u32>(); $then }
            Body::U64($numbers) => { let $plus = Plus::of::<u64>(); $then }
            $($other)*
        }
    };
}

fn no_integers() -> Error {
    Error::invalid("values that are no integers, read as integers")
}

impl Block<'_> {
    /// Writes the values of the rows of `range` to `out`: integers, booleans as 0 and 1, and decimals as their unscaled integers;
    /// those that 64 bits cannot hold are cut. At the places of NULLs stands any value.
    ///
    /// Whole vectors of 1,024 are decoded fastest. An error when the block holds floats or text; panics when `range` reaches
    /// behind the end or `out` is of another length.
    pub fn decode_integers(&self, range: Range<usize>, out: &mut [i64]) -> Result<()> {
        assert!(range.start <= range.end && range.end <= self.rows(), "no such rows");
        assert_eq!(range.len(), out.len(), "as many places as rows");
        with_integers!(self.body(), numbers, plus => numbers.decode_integers(range, out, plus);
            Body::Nothing => out.fill(0),
            Body::Bool(bits) => out.iter_mut().zip(range).for_each(|(out, row)| *out = bits.get(row).into()),
            Body::I128(wide) => wide.decode_integers(range, out),
            Body::F32(_) | Body::F64(_) | Body::Bytes(_) => return Err(no_integers())
        );
        Ok(())
    }

    /// Writes the values of the rows at `positions` to `out`, best in increasing order; otherwise as [`Block::decode_integers`].
    pub fn gather_integers(&self, positions: &[u32], out: &mut [i64]) -> Result<()> {
        assert!(positions.iter().all(|&position| (position as usize) < self.rows()), "no such row");
        assert_eq!(positions.len(), out.len(), "as many places as positions");
        with_integers!(self.body(), numbers, plus => numbers.gather_integers(positions, out, plus);
            Body::Nothing => out.fill(0),
            Body::Bool(bits) => {
                out.iter_mut().zip(positions).for_each(|(out, row)| *out = bits.get(*row as usize).into());
            },
            Body::I128(wide) => wide.gather_integers(positions, out),
            Body::F32(_) | Body::F64(_) | Body::Bytes(_) => return Err(no_integers())
        );
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::super::{ColumnSlice, Goal, Kind, encode};
    use super::*;

    /// Every encoding that integers have: values that each of them suits best.
    fn shapes(low: i64, high: i64) -> Vec<Vec<i64>> {
        let span = (high as i128 - low as i128 + 1) as u128;
        let mut seed = 7u64;
        let mut next = || {
            seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            seed >> 11
        };
        let mut any = |of: u128| (low as i128 + (u128::from(next()) % span.min(of)) as i128) as i64;
        vec![
            vec![high; 3000],
            (0..3000).map(|_| any(100)).collect(),
            (0..3000).map(|_| any(u128::MAX)).collect(),
            (0..3000).map(|row| if row % 300 < 200 { low } else { high }).collect(),
            (0..3000i128).map(|row| (low as i128 + row * (span as i128 / 3001)) as i64).collect(),
            (0..3000).map(|row| [low, high, low / 2, high / 3, high / 7 * 2][row * row % 5]).collect(),
        ]
    }

    fn check(slice: ColumnSlice<'_>, kind: Kind, expected: &[i64]) {
        let mut bytes = Vec::new();
        encode(slice, None, Goal::Speed, &mut bytes).unwrap();
        let block = Block::parse(&bytes, kind, expected.len()).unwrap();
        for range in [0..expected.len(), 0..1024, 1024..2048, 5..6, 700..2900, 3..3] {
            let mut out = vec![1; range.len()];
            block.decode_integers(range.clone(), &mut out).unwrap();
            assert_eq!(out, expected[range], "{kind:?} {:?}", block.encoding());
        }
        for step in [1, 7, 900] {
            let positions: Vec<u32> = (0..expected.len() as u32).step_by(step).collect();
            let mut out = vec![1; positions.len()];
            block.gather_integers(&positions, &mut out).unwrap();
            assert!(out.iter().zip(&positions).all(|(value, at)| *value == expected[*at as usize]));
        }
    }

    /// Keeps away: integers that come out of an encoding as other ones, at the ends of their types or behind a sign.
    #[test]
    fn integers_of_all_widths_and_encodings() {
        macro_rules! check {
            ($($int:ty, $kind:ident);*) => {$(
                for values in shapes(<$int>::MIN as i64, <$int>::MAX.min(i64::MAX as $int) as i64) {
                    let narrow: Vec<$int> = values.iter().map(|value| *value as $int).collect();
                    check(ColumnSlice::$kind(&narrow), Kind::$kind, &values);
                }
            )*};
        }
        check!(i8, I8; i16, I16; i32, I32; i64, I64; u8, U8; u16, U16; u32, U32; u64, U64);
        for (low, high) in [(-5, 5), (-1_000_000_000_000, 10), (0, 99_999_999), (i64::MIN, i64::MAX)] {
            for values in shapes(low, high) {
                let wide: Vec<i128> = values.iter().map(|value| i128::from(*value)).collect();
                check(ColumnSlice::I128(&wide), Kind::I128, &values);
            }
        }
        // Too far apart for differences of 64 bits, so raw; and cut.
        let wide = [1i128 << 90, -1, 7];
        check(ColumnSlice::I128(&wide.repeat(1000)), Kind::I128, &[0, -1, 7].repeat(1000));
    }

    /// Keeps away: bytes of floats taken for integers.
    #[test]
    fn floats_are_no_integers() {
        let mut bytes = Vec::new();
        encode(ColumnSlice::F64(&[1.0; 10]), None, Goal::Speed, &mut bytes).unwrap();
        let block = Block::parse(&bytes, Kind::F64, 10).unwrap();
        assert!(block.decode_integers(0..1, &mut [0]).is_err());
        assert!(block.gather_integers(&[0], &mut [0]).is_err());
    }
}
