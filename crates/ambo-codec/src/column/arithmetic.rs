//! Loops over decoded integers that aggregates are made of, compiled for each instruction set (`simd`).
//!
//! All wrap around at 64 bits: who calls them has shown from bounds that nothing does.

use super::simd::{self, Kernel, Level};

/// What is done with two numbers.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Operator {
    /// `+`
    Add,
    /// `-`
    Subtract,
    /// `*`
    Multiply,
}

/// The right side of an operation.
#[derive(Clone, Copy, Debug)]
pub enum Operand<'a> {
    /// A number for each row.
    Values(&'a [i64]),
    /// The same number for all rows.
    Constant(i64),
}

/// Writes `left` and `right` combined to `out`. Panics when they differ in length.
pub fn combine(operator: Operator, left: Operand<'_>, right: Operand<'_>, out: &mut [i64]) {
    for side in [left, right] {
        if let Operand::Values(values) = side {
            assert_eq!(values.len(), out.len(), "as many values as places");
        }
    }
    simd::run(Combine { operator, left, right, out });
}

struct Combine<'a, 'o> {
    operator: Operator,
    left: Operand<'a>,
    right: Operand<'a>,
    out: &'o mut [i64],
}

impl Kernel for Combine<'_, '_> {
    type Output = ();

    #[inline(always)]
    fn run(self, _: Level) {
        let Self { operator, left, right, out } = self;
        match operator {
            Operator::Add => each(left, right, out, i64::wrapping_add),
            Operator::Subtract => each(left, right, out, i64::wrapping_sub),
            Operator::Multiply => each(left, right, out, i64::wrapping_mul),
        }
    }
}

#[inline(always)]
fn each(left: Operand<'_>, right: Operand<'_>, out: &mut [i64], with: impl Fn(i64, i64) -> i64) {
    match (left, right) {
        (Operand::Values(left), Operand::Values(right)) => {
            let pairs = left.iter().zip(right);
            out.iter_mut().zip(pairs).for_each(|(out, (&left, &right))| *out = with(left, right));
        }
        (Operand::Values(left), Operand::Constant(right)) => {
            out.iter_mut().zip(left).for_each(|(out, &left)| *out = with(left, right));
        }
        (Operand::Constant(left), Operand::Values(right)) => {
            out.iter_mut().zip(right).for_each(|(out, &right)| *out = with(left, right));
        }
        (Operand::Constant(left), Operand::Constant(right)) => out.fill(with(left, right)),
    }
}

/// The sum of all values.
pub fn sum(values: &[i64]) -> i64 {
    simd::run(SumAll(values))
}

struct SumAll<'a>(&'a [i64]);

impl Kernel for SumAll<'_> {
    type Output = i64;

    #[inline(always)]
    fn run(self, _: Level) -> i64 {
        self.0.iter().fold(0, |sum, &value| sum.wrapping_add(value))
    }
}

/// The sum of the values whose bit is set in `words`. Panics when there are fewer bits than values.
pub fn sum_selected(values: &[i64], words: &[u64]) -> i64 {
    assert!(words.len() * 64 >= values.len(), "a bit for each value");
    simd::run(SumSelected { values, words })
}

struct SumSelected<'a> {
    values: &'a [i64],
    words: &'a [u64],
}

impl Kernel for SumSelected<'_> {
    type Output = i64;

    #[inline(always)]
    fn run(self, _: Level) -> i64 {
        let mut sum = 0i64;
        for (values, &word) in self.values.chunks(64).zip(self.words) {
            for (bit, &value) in values.iter().enumerate() {
                sum = sum.wrapping_add(value & ((word >> bit & 1) as i64).wrapping_neg());
            }
        }
        sum
    }
}

/// Up to so many groups have sums of their own for each of four rows in turn: else an addition would wait for the one before, which
/// is often to the same group.
const FEW: usize = 64;
const TURNS: usize = 4;

/// Adds each value to the sum of its row's group. Panics when a group has no sum, or lengths differ.
pub fn add_by_group(groups: &[u16], values: &[i64], sums: &mut [i64]) {
    assert_eq!(groups.len(), values.len(), "a group for each value");
    if sums.len() > FEW {
        for (&group, &value) in groups.iter().zip(values) {
            let sum = &mut sums[usize::from(group)];
            *sum = sum.wrapping_add(value);
        }
        return;
    }
    check(groups, sums.len());
    let mut turns = [[0i64; FEW]; TURNS];
    let (rows, rest) = groups.as_chunks::<TURNS>();
    let (of_rows, of_rest) = values.as_chunks::<TURNS>();
    for (groups, values) in rows.iter().zip(of_rows) {
        for turn in 0..TURNS {
            let sum = &mut turns[turn][usize::from(groups[turn]) % FEW];
            *sum = sum.wrapping_add(values[turn]);
        }
    }
    for (&group, &value) in rest.iter().zip(of_rest) {
        turns[0][usize::from(group) % FEW] = turns[0][usize::from(group) % FEW].wrapping_add(value);
    }
    for (group, sum) in sums.iter_mut().enumerate() {
        *sum = turns.iter().fold(*sum, |sum, turn| sum.wrapping_add(turn[group]));
    }
}

/// Adds the rows of each group to its count. Panics when a group has no count.
pub fn count_by_group(groups: &[u16], counts: &mut [u32]) {
    if counts.len() > FEW {
        groups.iter().for_each(|&group| counts[usize::from(group)] += 1);
        return;
    }
    check(groups, counts.len());
    let mut turns = [[0u32; FEW]; TURNS];
    let (rows, rest) = groups.as_chunks::<TURNS>();
    for groups in rows {
        for turn in 0..TURNS {
            turns[turn][usize::from(groups[turn]) % FEW] += 1;
        }
    }
    rest.iter().for_each(|&group| turns[0][usize::from(group) % FEW] += 1);
    for (group, count) in counts.iter_mut().enumerate() {
        *count += turns.iter().map(|turn| turn[group]).sum::<u32>();
    }
}

/// Panics when a group has a number of `count` or above.
fn check(groups: &[u16], count: usize) {
    let highest = simd::run(Highest(groups));
    assert!(groups.is_empty() || usize::from(highest) < count, "a group that is not there");
}

struct Highest<'a>(&'a [u16]);

impl Kernel for Highest<'_> {
    type Output = u16;

    #[inline(always)]
    fn run(self, _: Level) -> u16 {
        self.0.iter().fold(0, |highest, &group| highest.max(group))
    }
}

/// Writes by how much each value is above `low` to `out`: `most` where it is more, or the value is below. All that was in `out` goes.
pub fn codes_above(values: &[i64], low: i64, most: u32, out: &mut Vec<u32>) {
    out.resize(values.len(), 0);
    simd::run(CodesAbove { values, low, most, out });
}

struct CodesAbove<'a, 'o> {
    values: &'a [i64],
    low: i64,
    most: u32,
    out: &'o mut [u32],
}

impl Kernel for CodesAbove<'_, '_> {
    type Output = ();

    #[inline(always)]
    fn run(self, _: Level) {
        for (code, value) in self.out.iter_mut().zip(self.values) {
            *code = (value.wrapping_sub(self.low) as u64).min(self.most.into()) as u32;
        }
    }
}

/// Writes the low 16 bits of each code to `out`, `none` where its bit in `words` is not set. All that was in `out` goes. Panics when there
/// are fewer bits than codes.
pub fn groups_of_codes(codes: &[u32], words: &[u64], none: u16, out: &mut Vec<u16>) {
    assert!(words.len() * 64 >= codes.len(), "a bit for each code");
    out.resize(codes.len(), 0);
    simd::run(GroupsOfCodes { codes, words, none, out });
}

struct GroupsOfCodes<'a, 'o> {
    codes: &'a [u32],
    words: &'a [u64],
    none: u16,
    out: &'o mut [u16],
}

impl Kernel for GroupsOfCodes<'_, '_> {
    type Output = ();

    #[inline(always)]
    fn run(self, _: Level) {
        let chunks = self.out.chunks_mut(64).zip(self.codes.chunks(64));
        for ((groups, codes), &word) in chunks.zip(self.words) {
            let pairs = groups.iter_mut().zip(codes);
            match word {
                u64::MAX => pairs.for_each(|(group, code)| *group = *code as u16),
                _ => pairs.enumerate().for_each(|(bit, (group, code))| {
                    *group = if word >> bit & 1 == 1 { *code as u16 } else { self.none };
                }),
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn numbers(count: usize) -> Vec<i64> {
        (0..count as i64).map(|index| index.wrapping_mul(0x9e37_79b9_7f4a_7c15u64 as i64) >> 30).collect()
    }

    /// Keeps away: operands in the wrong order, and loops that stop early.
    #[test]
    fn operators() {
        for count in [0, 1, 7, 1000] {
            let (a, b) = (numbers(count), numbers(count + 3)[3..].to_vec());
            let mut out = vec![0; count];
            for (operator, with) in [
                (Operator::Add, i64::wrapping_add as fn(i64, i64) -> i64),
                (Operator::Subtract, i64::wrapping_sub),
                (Operator::Multiply, i64::wrapping_mul),
            ] {
                combine(operator, Operand::Values(&a), Operand::Values(&b), &mut out);
                assert!((0..count).all(|row| out[row] == with(a[row], b[row])));
                combine(operator, Operand::Values(&a), Operand::Constant(5), &mut out);
                assert!((0..count).all(|row| out[row] == with(a[row], 5)));
                combine(operator, Operand::Constant(5), Operand::Values(&a), &mut out);
                assert!((0..count).all(|row| out[row] == with(5, a[row])));
                combine(operator, Operand::Constant(5), Operand::Constant(3), &mut out);
                assert!(out.iter().all(|value| *value == with(5, 3)));
            }
        }
    }

    /// Keeps away: rows that are added to another group, twice or not at all.
    #[test]
    fn groups() {
        for (count, of) in [(0, 1), (1, 1), (1023, 5), (5000, 64), (5000, 65), (4097, 3000)] {
            let values = numbers(count);
            let groups: Vec<u16> = (0..count).map(|row| (row * row % 7919 % of) as u16).collect();
            let (mut sums, mut counts) = (vec![1i64; of], vec![2u32; of]);
            add_by_group(&groups, &values, &mut sums);
            count_by_group(&groups, &mut counts);
            for group in 0..of {
                let rows = (0..count).filter(|row| usize::from(groups[*row]) == group);
                assert_eq!(sums[group], 1 + rows.clone().map(|row| values[row]).sum::<i64>());
                assert_eq!(counts[group], 2 + rows.count() as u32);
            }
            let words: Vec<u64> =
                (0..count.div_ceil(64) as u64).map(|word| word.wrapping_mul(0x1234_5678_9abc_def1)).collect();
            let selected = (0..count).filter(|row| words[row / 64] >> (row % 64) & 1 == 1);
            assert_eq!(sum_selected(&values, &words), selected.map(|row| values[row]).sum::<i64>());
            assert_eq!(sum(&values), values.iter().sum::<i64>());
        }
    }

    /// Keeps away: codes of other rows, values out of bounds that are somebody's code, and rows left out that are of a group.
    #[test]
    fn codes() {
        for count in [0, 1, 63, 64, 65, 1000] {
            let values = numbers(count);
            let (low, most) = (-5_000_000_000, 3_000_000_000u32);
            let mut codes = vec![7; 100];
            codes_above(&values, low, most, &mut codes);
            let code = |value: i64| u32::try_from(value - low).map_or(most, |code| code.min(most));
            assert_eq!(codes, values.iter().map(|value| code(*value)).collect::<Vec<_>>());
            assert!(count < 1000 || codes.contains(&most) && codes.iter().any(|code| *code < most));

            let words: Vec<u64> = (0..count.div_ceil(64) as u64)
                .map(|word| if word % 3 == 0 { u64::MAX } else { word.wrapping_mul(0x1234_5678_9abc_def1) })
                .collect();
            let mut groups = vec![7; 100];
            groups_of_codes(&codes, &words, 9, &mut groups);
            let counts = |row: usize| words[row / 64] >> (row % 64) & 1 == 1;
            let expected = (0..count).map(|row| if counts(row) { codes[row] as u16 } else { 9 });
            assert_eq!(groups, expected.collect::<Vec<_>>());
        }
    }
}
