//! Dictionary: each distinct value once, in order, and for each row the number of its value.
//!
//! # Format
//! | part | bytes | meaning |
//! |---|---|---|
//! | entries | 4 | how many, 1 to 65,536 |
//! | values | entries × size | little-endian, in strict order of their codes |
//! | numbers | any | [`super::frames`] of a number for each row, 2-byte codes |
//!
//! The order of the numbers is the order of the values, so a range of values is a range of numbers.

use std::{marker::PhantomData, ops::Range};

use super::{
    Code, Native,
    frames::{self, Frames, Map},
    ranges::{Point, Ranges},
    section::{put_count, take, take_count},
};
use crate::{Error, Result};

/// The most entries, so that a number has two bytes.
pub(crate) const ENTRIES_MAX: usize = 65_536;

/// Values as numbers of dictionary entries.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Dictionary<'a, N> {
    entries: &'a [u8],
    numbers: Frames<'a, u16>,
    native: PhantomData<N>,
}

/// The distinct codes in order and the number of each row's; `None` when there are more than `limit`.
pub(crate) fn split<C: Code>(codes: &[C], limit: usize) -> Option<(Vec<C>, Vec<u16>)> {
    let limit = limit.min(ENTRIES_MAX);
    let slots = (limit + 1).next_power_of_two() * 2;
    // A slot holds the number of an entry plus one; zero is free.
    let mut table = vec![0u32; slots];
    let mut entries: Vec<C> = Vec::new();
    let mut numbers: Vec<u16> = Vec::with_capacity(codes.len());
    for &code in codes {
        let hash = code.widen().wrapping_mul(0x9e37_79b9_7f4a_7c15);
        let mut slot = (hash >> 32) as usize & (slots - 1);
        let number = loop {
            match table[slot] {
                0 => {
                    if entries.len() == limit {
                        return None;
                    }
                    entries.push(code);
                    table[slot] = entries.len() as u32;
                    break entries.len() - 1;
                }
                used if entries[used as usize - 1] == code => break used as usize - 1,
                _ => slot = (slot + 1) & (slots - 1),
            }
        };
        numbers.push(number as u16);
    }
    let mut order: Vec<u16> = (0..entries.len()).map(|index| index as u16).collect();
    order.sort_unstable_by_key(|&index| entries[usize::from(index)]);
    let mut rank = vec![0u16; entries.len()];
    order.iter().enumerate().for_each(|(place, &index)| rank[usize::from(index)] = place as u16);
    numbers.iter_mut().for_each(|number| *number = rank[usize::from(*number)]);
    entries.sort_unstable();
    Some((entries, numbers))
}

/// The bytes that [`encode`] appends.
pub(crate) fn encoded_len<C: Code>(entries: &[C], numbers: &[u16]) -> usize {
    4 + entries.len() * C::SIZE + frames::encoded_len(numbers)
}

/// Appends a dictionary as [`split`] gives it.
pub(crate) fn encode<N: Native>(entries: &[N::Code], numbers: &[u16], out: &mut Vec<u8>) {
    put_count(entries.len(), out);
    entries.iter().for_each(|&code| N::from_code(code).write(out));
    frames::encode(numbers, out);
}

impl<'a, N: Native<Code: Point>> Dictionary<'a, N> {
    pub(crate) fn parse(bytes: &mut &'a [u8], count: usize) -> Result<Self> {
        let entries = take_count(bytes, ENTRIES_MAX)?;
        if entries == 0 {
            return Err(Error::malformed(0, "an empty dictionary"));
        }
        let entries = take(bytes, entries * N::Code::SIZE)?;
        Ok(Self { entries, numbers: Frames::parse(bytes, count)?, native: PhantomData })
    }

    #[inline]
    pub(crate) fn len(&self) -> usize {
        self.numbers.len()
    }

    /// How many entries.
    #[inline]
    pub(crate) fn entries(&self) -> usize {
        self.entries.len() / N::Code::SIZE
    }

    /// Entry `index`; of one that a damaged block lacks, the last.
    #[inline(always)]
    pub(crate) fn entry(&self, index: usize) -> N {
        N::read(&self.entries[index.min(self.entries() - 1) * N::Code::SIZE..])
    }

    /// The numbers of the entries, a row each.
    pub(crate) fn numbers(&self) -> Frames<'a, u16> {
        self.numbers
    }

    /// Whether the entries are in order and every number has one.
    pub(crate) fn verify(&self) -> Result<()> {
        let ordered =
            (1..self.entries()).all(|index| self.entry(index - 1).to_code() < self.entry(index).to_code());
        let known = (0..self.len()).all(|index| usize::from(self.numbers.get(index)) < self.entries());
        if ordered && known { Ok(()) } else { Err(Error::malformed(0, "a dictionary out of order")) }
    }

    /// Value `index`. Panics when there is none.
    pub(crate) fn get(&self, index: usize) -> N {
        self.entry(self.numbers.get(index).into())
    }

    /// Writes the values of `range` to `out`, of the same length.
    pub(crate) fn decode(&self, range: Range<usize>, out: &mut [N]) {
        self.numbers.decode(range, out, Look(*self));
    }

    /// Clears the bits of `mask` whose values are not in `set`.
    pub(crate) fn filter(&self, set: &Ranges<N::Code>, mask: &mut [u64]) {
        let positions = set.positions(self.entries(), |index| self.entry(index).to_code());
        let numbers = positions.into_iter().map(|(from, to)| (from as u16, to as u16)).collect();
        self.numbers.filter(&Ranges::union(numbers), mask);
    }
}

#[derive(Clone, Copy)]
struct Look<'a, N>(Dictionary<'a, N>);

impl<N: Native<Code: Point>> Map<u16, N> for Look<'_, N> {
    #[inline(always)]
    fn map(self, number: u16) -> N {
        self.0.entry(number.into())
    }
}
