//! Looking for a value among rows that ascend, without decoding them.

use std::ops::Range;

use super::{
    Block, Code, Compare, Native, Predicate,
    block::{Body, with_numbers},
    numbers::Numbers,
    predicate,
    ranges::Point,
};
use crate::ValueRef;

impl Block<'_> {
    /// Those of `rows`, which ascend, whose value is `value`; an empty range where they would be if there are none. `None`: in this block
    /// that cannot be said without decoding it, for it holds strings, floats or NULLs, or the value is not one of its kind. Panics when
    /// `rows` reaches behind the end.
    ///
    /// Of rows that do not ascend it says anything.
    pub fn equal_range(&self, rows: Range<usize>, value: ValueRef<'_>) -> Option<Range<usize>> {
        assert!(rows.start <= rows.end && rows.end <= self.rows(), "no such rows");
        if !self.has_no_nulls() {
            return None;
        }
        with_numbers!(self, numbers: N => {
            let set = predicate::ranges::<N>(Predicate::Compare(Compare::Equal, value)).ok()??;
            let [(low, high)] = set.as_slice() else { return None };
            numbers.equal_range(rows, *low, *high)
        };
            Body::Nothing | Body::Bool(_) | Body::I128(_) | Body::Bytes(_) => None
        )
    }

    /// Whether values are equal, or rise by steps that are equal from vector to vector: then [`Block::equal_range`] takes some ten
    /// nanoseconds.
    pub fn ascends_evenly(&self) -> bool {
        with_numbers!(self, numbers: N => match numbers {
            Numbers::Constant(..) => true,
            Numbers::Deltas(deltas) => deltas.is_even(),
            _ => false,
        };
            _ => false
        )
    }
}

impl<N: Native<Code: Point>> Numbers<'_, N> {
    /// Those of `rows`, which ascend, whose code is from `low` to `high`.
    fn equal_range(&self, rows: Range<usize>, low: N::Code, high: N::Code) -> Option<Range<usize>> {
        match self {
            // The order of floats is not that of their codes' equality: there are two zeros.
            _ if N::FLOAT => None,
            Self::Deltas(deltas) => Some(deltas.equal_range(rows, low, high)),
            _ => Some(by_halves(rows, low, high, |index| self.get(index).to_code())),
        }
    }
}

/// Those of `rows` whose code is from `low` to `high`. Few are: behind the first they are looked for in steps that double.
fn by_halves<C: Code>(rows: Range<usize>, low: C, high: C, code: impl Fn(usize) -> C) -> Range<usize> {
    let bound = |mut rows: Range<usize>, is_before: &dyn Fn(C) -> bool| {
        while !rows.is_empty() {
            let middle = rows.start.midpoint(rows.end);
            match is_before(code(middle)) {
                true => rows.start = middle + 1,
                false => rows.end = middle,
            }
        }
        rows.start
    };
    let start = bound(rows.clone(), &|code| code < low);
    let (mut from, mut step) = (start, 1);
    while from + step < rows.end && code(from + step) <= high {
        from += step;
        step *= 2;
    }
    start..bound(from..rows.end.min(from + step), &|code| code <= high)
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use proptest::prelude::*;

    use super::super::{ColumnSlice, Encoding, Goal, Kind, encode};
    use super::*;

    /// Values that ascend between multiples of `tooth`, of some shapes that get different encodings.
    fn values() -> impl Strategy<Value = (Vec<i64>, usize)> {
        let rows = prop_oneof![1..40usize, 900..1200usize, 2040..5000usize];
        let shape = (0..7u8, any::<i64>(), rows, prop_oneof![Just(usize::MAX), 1..3000usize]);
        (shape, any::<u64>()).prop_map(|((shape, start, rows, tooth), seed)| {
            let mut state = seed | 1;
            let mut next = move || {
                state = state.wrapping_mul(0x5851_f42d_4c95_7f2d).wrapping_add(1);
                state >> 33
            };
            let start = start >> 1;
            let mut value = start;
            let one = |row: usize| {
                if row.is_multiple_of(tooth) {
                    value = start;
                }
                let step = match shape {
                    0 => 0,
                    1 => 1,
                    2 => 3,
                    3 => (next() % 3) as i64,
                    4 => (next() % 1000) as i64 + 1_000_000_000,
                    5 => i64::from(next() % 40 == 0) * 1000,
                    _ => (next() << 20) as i64,
                };
                value = value.saturating_add(step);
                value
            };
            ((0..rows).map(one).collect(), tooth)
        })
    }

    fn compare(block: &Block<'_>, values: &[i64], rows: Range<usize>, value: i64) {
        let part = &values[rows.clone()];
        let start = rows.start + part.partition_point(|other| *other < value);
        let end = rows.start + part.partition_point(|other| *other <= value);
        let wanted = Some(start..end);
        assert_eq!(block.equal_range(rows, value.into()), wanted, "{value}, {:?}", block.encoding());
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(400))]
        /// Keeps away: a row that is not found, or found where it is not, in each encoding, at the edges of vectors, with values that are
        /// there many times.
        #[test]
        fn equal_values_are_where_halving_finds_them(
            (values, tooth) in values(),
            places in prop::collection::vec((any::<prop::sample::Index>(), -2..3i64, any::<(prop::sample::Index, prop::sample::Index)>()), 30),
        ) {
            let mut bytes = Vec::new();
            encode(ColumnSlice::I64(&values), None, Goal::Speed, &mut bytes).unwrap();
            let block = Block::parse(&bytes, Kind::I64, values.len()).unwrap();
            for (place, off, (from, to)) in places {
                let place = place.index(values.len());
                let (first, last) = match tooth {
                    usize::MAX => (0, values.len()),
                    tooth => (place / tooth * tooth, values.len().min((place / tooth + 1) * tooth)),
                };
                let value = values[place].saturating_add(off);
                compare(&block, &values, first..last, value);
                let (from, to) = (first + from.index(last - first + 1), first + to.index(last - first + 1));
                compare(&block, &values, from.min(to)..from.max(to), value);
                compare(&block, &values, first..last, i64::MAX);
                compare(&block, &values, first..last, i64::MIN);
            }
        }
    }

    /// Keeps away: encodings that the test above does not see, and answers where there is none.
    #[test]
    fn every_encoding_answers_or_says_that_it_does_not() {
        let mut seen = HashSet::new();
        let shapes: [&dyn Fn(u64) -> u64; 6] = [
            &|_| 7,
            &|row| row * 3,
            &|row| row / 100,
            &|row| row * row * 97 % 1009 + row * 5000,
            &|row| (row / 300) << 50,
            &|row| row << 50,
        ];
        for shape in shapes {
            let mut values: Vec<u64> = (0..5000).map(shape).collect();
            values.sort_unstable();
            let mut bytes = Vec::new();
            encode(ColumnSlice::U64(&values), None, Goal::Speed, &mut bytes).unwrap();
            let block = Block::parse(&bytes, Kind::U64, values.len()).unwrap();
            for value in [values[0], values[1023], values[1024], values[4999], values[2000] + 1] {
                let wanted = values.partition_point(|other| *other < value)
                    ..values.partition_point(|other| *other <= value);
                assert_eq!(block.equal_range(0..5000, value.into()), Some(wanted));
            }
            // Not of this kind.
            assert_eq!(block.equal_range(0..5000, "x".into()), None);
            assert_eq!(block.equal_range(0..5000, ValueRef::Null), None);
            seen.extend(block.encoding());
        }
        assert!(seen.len() >= 3 && seen.contains(&Encoding::Delta), "{seen:?}");
        let mut bytes = Vec::new();
        encode(ColumnSlice::F64(&[0.5, 1.5]), None, Goal::Speed, &mut bytes).unwrap();
        let floats = Block::parse(&bytes, Kind::F64, 2).unwrap();
        assert_eq!(floats.equal_range(0..2, 0.5.into()), None);
    }
}
