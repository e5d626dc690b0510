//! The kernels without SIMD. The bodies are inlined into the functions for AVX2 and AVX-512 where the compiler's own
//! vectors are as good as hand-written ones.

use super::{
    super::container::{Low, Word, Words, lower_bound},
    And, SLACK,
};

/// All bits or none.
#[inline(always)]
fn mask(flip: bool) -> u64 {
    if flip { !0 } else { 0 }
}

#[inline(always)]
fn combine(x: &Words, y: &Words, out: &mut Words, op: impl Fn(u64, u64) -> u64) -> u32 {
    let mut count = 0;
    for ((out, x), y) in out.iter_mut().zip(x).zip(y) {
        let word = op(u64::from_le_bytes(*x), u64::from_le_bytes(*y));
        *out = word.to_le_bytes();
        count += u64::from(word.count_ones());
    }
    count as u32
}

#[inline(always)]
pub(super) fn and(x: &Words, y: &Words, how: And, out: &mut Words) -> u32 {
    let (flip_x, flip_y, flip) = (mask(how.flip_x), mask(how.flip_y), mask(how.flip));
    combine(x, y, out, |x, y| ((x ^ flip_x) & (y ^ flip_y)) ^ flip)
}

#[inline(always)]
pub(super) fn xor(x: &Words, y: &Words, flip: bool, out: &mut Words) -> u32 {
    let flip = mask(flip);
    combine(x, y, out, |x, y| x ^ y ^ flip)
}

#[inline(always)]
pub(super) fn count(words: &Words) -> u32 {
    words.iter().map(|word| u64::from(u64::from_le_bytes(*word).count_ones())).sum::<u64>() as u32
}

/// A run begins at each set bit whose predecessor is not set.
#[inline(always)]
pub(super) fn count_runs(words: &Words) -> u32 {
    let first = u64::from_le_bytes(words[0]);
    let mut runs = u64::from((first & !(first << 1)).count_ones());
    for pair in words.windows(2) {
        let (before, word) = (u64::from_le_bytes(pair[0]), u64::from_le_bytes(pair[1]));
        runs += u64::from((word & !(word << 1 | before >> 63)).count_ones());
    }
    runs as u32
}

/// A step is an element that does not follow on the one before it.
#[inline(always)]
pub(super) fn count_steps(list: &[Low]) -> usize {
    let next = list.get(1..).unwrap_or(&[]);
    let step =
        |(low, next): (&Low, &Low)| u16::from_le_bytes(*low).wrapping_add(1) != u16::from_le_bytes(*next);
    list.iter().zip(next).map(|pair| usize::from(step(pair))).sum()
}

/// Merges without a branch on the elements.
pub(super) fn union(a: &[Low], b: &[Low], out: &mut [Low]) -> usize {
    merge(a, b, true, out)
}

/// Merges two lists. What is in both is written once, or, unless `with_both`, not at all.
#[inline(always)]
pub(super) fn merge(a: &[Low], b: &[Low], with_both: bool, out: &mut [Low]) -> usize {
    let (mut at_a, mut at_b, mut len) = (0, 0, 0);
    while at_a < a.len() && at_b < b.len() {
        let (low_a, low_b) = (u16::from_le_bytes(a[at_a]), u16::from_le_bytes(b[at_b]));
        out[len] = low_a.min(low_b).to_le_bytes();
        at_a += usize::from(low_a <= low_b);
        at_b += usize::from(low_b <= low_a);
        len += usize::from(with_both || low_a != low_b);
    }
    for rest in [&a[at_a..], &b[at_b..]] {
        out[len..len + rest.len()].copy_from_slice(rest);
        len += rest.len();
    }
    len
}

pub(super) fn keep(x: &[Low], y: &[Low], wanted: bool, out: &mut [Low]) -> usize {
    let (mut at, mut len) = (0, 0);
    for &element in x {
        let value = u16::from_le_bytes(element);
        while at < y.len() && u16::from_le_bytes(y[at]) < value {
            at += 1;
        }
        let found = y.get(at) == Some(&element);
        out[len] = element;
        len += usize::from(found == wanted);
    }
    len
}

/// As [`keep`] for an `x` much shorter than `y`: by searching, from where the last search ended.
pub(super) fn keep_few(x: &[Low], y: &[Low], wanted: bool, out: &mut [Low]) -> usize {
    let (mut rest, mut len) = (y, 0);
    for &element in x {
        let value = u32::from(u16::from_le_bytes(element));
        let mut step = 1;
        while step < rest.len() && u32::from(u16::from_le_bytes(rest[step])) < value {
            step *= 2;
        }
        let (from, to) = (step / 2, (step + 1).min(rest.len()));
        rest = &rest[from.min(to)..];
        rest = &rest[lower_bound(&rest[..to - from.min(to)], value)..];
        let found = rest.first() == Some(&element);
        out[len] = element;
        len += usize::from(found == wanted);
    }
    len
}

pub(super) fn decode(words: &[Word], base: u16, flip: bool, out: &mut [Low]) -> usize {
    let mut len = 0;
    for (index, word) in words.iter().enumerate() {
        let Some(out) = out.get_mut(len..).filter(|out| out.len() >= 64 + SLACK) else { break };
        let first = base.wrapping_add((index * 64) as u16);
        let mut word = u64::from_le_bytes(*word) ^ mask(flip);
        len += word.count_ones() as usize;
        for out in out {
            if word == 0 {
                break;
            }
            *out = first.wrapping_add(word.trailing_zeros() as u16).to_le_bytes();
            word &= word - 1;
        }
    }
    len
}
