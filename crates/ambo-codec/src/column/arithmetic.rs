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
}
