//! The loops over lists and words, by what the processor has: AVX-512, AVX2, or neither. The scalar form of each is its
//! definition; the tests hold the others equal to it.

mod scalar;
#[cfg(target_arch = "x86_64")]
mod x86;

#[cfg(test)]
mod tests;

use super::container::{Low, Word, Words};

/// By how many elements the kernels may write past the last element of their result.
pub(super) const SLACK: usize = 32;

/// `((x ^ flip_x) & (y ^ flip_y)) ^ flip`, word by word: with the flips all four of and, and-not, or and their negations.
#[derive(Clone, Copy, PartialEq, Debug)]
pub(super) struct And {
    pub(super) flip_x: bool,
    pub(super) flip_y: bool,
    pub(super) flip: bool,
}

/// Calls the best form of a kernel. The level is looked up once in a process.
macro_rules! dispatch {
    ($name:ident($($argument:expr),*)) => {{
        #[cfg(target_arch = "x86_64")]
        if let Some(result) = x86::$name($($argument),*) {
            return result;
        }
        scalar::$name($($argument),*)
    }};
}

/// Writes the combined words to `out` and returns how many bits are set.
pub(super) fn and(x: &Words, y: &Words, how: And, out: &mut Words) -> u32 {
    dispatch!(and(x, y, how, out))
}

/// Writes `x ^ y`, all bits flipped if asked, and returns how many bits are set.
pub(super) fn xor(x: &Words, y: &Words, flip: bool, out: &mut Words) -> u32 {
    dispatch!(xor(x, y, flip, out))
}

/// How many bits are set.
pub(super) fn count(words: &Words) -> u32 {
    dispatch!(count(words))
}

/// How many runs of set bits there are.
pub(super) fn count_runs(words: &Words) -> u32 {
    dispatch!(count_runs(words))
}

/// Writes the elements of `x` that are in `y` (or, not `wanted`, that are not) to `out`, and returns how many.
///
/// REQUIRES: `out` is [`SLACK`] elements longer than `x`.
pub(super) fn keep(x: &[Low], y: &[Low], wanted: bool, out: &mut [Low]) -> usize {
    assert!(out.len() >= x.len() + SLACK, "room for the kernel's last store");
    if y.len() / 64 > x.len() {
        return scalar::keep_few(x, y, wanted, out);
    }
    dispatch!(keep(x, y, wanted, out))
}

/// How many elements of a list do not follow on the one before them, the first aside.
pub(super) fn count_steps(list: &[Low]) -> usize {
    dispatch!(count_steps(list))
}

/// Writes the elements of `a` and `b` to `out`, those in both once, and returns how many.
///
/// REQUIRES: `out` is [`SLACK`] elements longer than `a` and `b` together.
pub(super) fn union(a: &[Low], b: &[Low], out: &mut [Low]) -> usize {
    assert!(out.len() >= a.len() + b.len() + SLACK, "room for the kernel's last store");
    dispatch!(union(a, b, out))
}

/// Writes the elements of exactly one of `a` and `b` to `out`, and returns how many.
///
/// REQUIRES: `out` is as long as `a` and `b` together, and one more.
pub(super) fn difference(a: &[Low], b: &[Low], out: &mut [Low]) -> usize {
    scalar::merge(a, b, false, out)
}

/// Writes the numbers of the set bits (of the unset ones, if `flip`), counted from `base`, and returns how many; stops
/// where `out` has no room for 64 and [`SLACK`] more.
pub(super) fn decode(words: &[Word], base: u16, flip: bool, out: &mut [Low]) -> usize {
    dispatch!(decode(words, base, flip, out))
}
