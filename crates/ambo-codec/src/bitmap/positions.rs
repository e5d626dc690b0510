//! What an owned and a borrowed bitmap have in common: all that reads them.

use std::ops::{Bound, RangeBounds};

use super::{
    Bitmap, Iter,
    combine::{Op, combine},
    container::{Container, SPAN, WORDS},
    format,
    store::Sink,
};

/// Containers in strictly ascending order of their keys.
pub trait Containers {
    /// How many there are.
    fn len(&self) -> usize;
    /// The positions of a container without their low 16 bits.
    fn key(&self, index: usize) -> u64;
    /// How many positions of a container are set, 1 to 2^16.
    fn count(&self, index: usize) -> u32;
    /// The container.
    fn container(&self, index: usize) -> Container<'_>;

    /// How many positions are in the containers before the one at `end`.
    fn count_before(&self, end: usize) -> u64 {
        (0..end).map(|index| u64::from(self.count(index))).sum()
    }

    /// The first container with `key` or a later one.
    #[inline]
    fn lower_bound(&self, key: u64) -> usize {
        gallop(self, 0, key)
    }
}

/// The first container from `from` on with `key` or a later one.
#[inline]
pub(super) fn gallop<C: Containers + ?Sized>(containers: &C, from: usize, key: u64) -> usize {
    let (mut low, mut high, mut step) = (from, from, 1);
    while high < containers.len() && containers.key(high) < key {
        low = high + 1;
        high += step;
        step *= 2;
    }
    high = high.min(containers.len());
    while low < high {
        let middle = usize::midpoint(low, high);
        if containers.key(middle) < key { low = middle + 1 } else { high = middle }
    }
    low
}

/// A set of row positions, [`Bitmap`] or [`BitmapRef`](super::BitmapRef).
pub trait Positions: Containers + Sized {
    /// How many positions are in the set.
    fn cardinality(&self) -> u64 {
        self.count_before(self.len())
    }

    /// Whether the set has no position.
    fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Whether `position` is in the set.
    #[inline]
    fn contains(&self, position: u64) -> bool {
        let (key, low) = split(position);
        let index = self.lower_bound(key);
        index < self.len() && self.key(index) == key && self.container(index).contains(low)
    }

    /// How many positions of the set are below `position`.
    fn rank(&self, position: u64) -> u64 {
        let (key, low) = split(position);
        let index = self.lower_bound(key);
        let before = self.count_before(index);
        let inside = index < self.len() && self.key(index) == key;
        if inside { before + u64::from(self.container(index).rank(u32::from(low))) } else { before }
    }

    /// The position with `rank` positions of the set below it; none if there are not more than `rank`.
    fn select(&self, mut rank: u64) -> Option<u64> {
        for index in 0..self.len() {
            let count = u64::from(self.count(index));
            if rank < count {
                let low = self.container(index).select(rank as u32)?;
                return Some(self.key(index) << 16 | u64::from(low));
            }
            rank -= count;
        }
        None
    }

    /// The lowest position.
    fn first(&self) -> Option<u64> {
        self.select(0)
    }

    /// The highest position.
    fn last(&self) -> Option<u64> {
        let index = self.len().checked_sub(1)?;
        let low = self.container(index).select(self.count(index) - 1)?;
        Some(self.key(index) << 16 | u64::from(low))
    }

    /// All positions, ascending.
    fn iter(&self) -> Iter<'_, Self> {
        Iter::new(self, 0, u64::MAX)
    }

    /// The positions in `range`, ascending.
    fn range(&self, range: impl RangeBounds<u64>) -> Iter<'_, Self> {
        match inclusive(&range) {
            Some((first, last)) => Iter::new(self, first, last),
            None => Iter::new(self, 1, 0),
        }
    }

    /// Writes the positions from `start` on as a mask, position `start + n` as bit `n % 64` of word `n / 64`.
    ///
    /// REQUIRES: `start` is a multiple of 64.
    fn mask(&self, start: u64, mask: &mut [u64]) {
        each_window(self, start, mask, |container, word, part| match container {
            Some(container) => container.words(word, part),
            None => part.fill(0),
        });
    }

    /// Takes from a selection what is not in the set: [`Positions::mask`] and-ed with `selection`.
    ///
    /// REQUIRES: `start` is a multiple of 64.
    fn select_from(&self, start: u64, selection: &mut [u64]) {
        each_window(self, start, selection, |container, word, part| match container {
            Some(container) => combine_words(container, word, part, |selected, word| selected & word),
            None => part.fill(0),
        });
    }

    /// Takes from a selection what is in the set, such as deleted rows.
    ///
    /// REQUIRES: `start` is a multiple of 64.
    fn deselect_from(&self, start: u64, selection: &mut [u64]) {
        each_window(self, start, selection, |container, word, part| {
            if let Some(container) = container {
                combine_words(container, word, part, |selected, word| selected & !word);
            }
        });
    }

    /// What is in both sets.
    fn and(&self, other: &impl Positions) -> Bitmap {
        combined(Op::And, self, other)
    }

    /// What is in either set.
    fn or(&self, other: &impl Positions) -> Bitmap {
        combined(Op::Or, self, other)
    }

    /// What is in this set and not in the other.
    fn and_not(&self, other: &impl Positions) -> Bitmap {
        combined(Op::AndNot, self, other)
    }

    /// What is in exactly one of the sets.
    fn xor(&self, other: &impl Positions) -> Bitmap {
        combined(Op::Xor, self, other)
    }

    /// Whether both sets have the same positions, in whatever form.
    fn equals(&self, other: &impl Positions) -> bool {
        self.len() == other.len()
            && (0..self.len()).all(|index| {
                self.key(index) == other.key(index)
                    && self.count(index) == other.count(index)
                    && equal(self.container(index), other.container(index))
            })
    }

    /// Appends the bytes that [`BitmapRef::parse`](super::BitmapRef::parse) reads. Equal sets have equal bytes.
    fn encode(&self, out: &mut Vec<u8>) {
        format::encode(self, out);
    }
}

impl<C: Containers> Positions for C {}

/// The key and the low bits of a position.
#[inline]
pub(super) fn split(position: u64) -> (u64, u16) {
    (position >> 16, position as u16)
}

/// The first and last number of a range; none if it is empty.
pub(super) fn inclusive(range: &impl RangeBounds<u64>) -> Option<(u64, u64)> {
    let first = match range.start_bound() {
        Bound::Included(&first) => first,
        Bound::Excluded(&before) => before.checked_add(1)?,
        Bound::Unbounded => 0,
    };
    let last = match range.end_bound() {
        Bound::Included(&last) => last,
        Bound::Excluded(&end) => end.checked_sub(1)?,
        Bound::Unbounded => u64::MAX,
    };
    (first <= last).then_some((first, last))
}

/// Calls `visit` for the parts of `mask` that lie in one container each, with that container and the number of its first word.
fn each_window<C: Containers>(
    containers: &C,
    start: u64,
    mut mask: &mut [u64],
    mut visit: impl FnMut(Option<Container<'_>>, usize, &mut [u64]),
) {
    assert!(start.is_multiple_of(64), "a mask begins at a multiple of 64");
    let (mut key, low) = split(start);
    let mut word = usize::from(low) / 64;
    let mut index = containers.lower_bound(key);
    while !mask.is_empty() {
        let (part, rest) = mask.split_at_mut(mask.len().min(WORDS - word));
        let here = index < containers.len() && containers.key(index) == key;
        visit(here.then(|| containers.container(index)), word, part);
        index += usize::from(here);
        mask = rest;
        (key, word) = (key + 1, 0);
    }
}

fn combine_words(container: Container<'_>, mut from: usize, mask: &mut [u64], op: impl Fn(u64, u64) -> u64) {
    let mut words = [0; 16];
    for part in mask.chunks_mut(words.len()) {
        let words = &mut words[..part.len()];
        container.words(from, words);
        part.iter_mut().zip(words).for_each(|(selected, word)| *selected = op(*selected, *word));
        from += part.len();
    }
}

fn combined(op: Op, x: &impl Containers, y: &impl Containers) -> Bitmap {
    let (keep_x, keep_y) = op.keeps();
    let most = match op {
        Op::And => x.len().min(y.len()),
        Op::AndNot => x.len(),
        Op::Or | Op::Xor => x.len().max(y.len()),
    };
    let mut sink = Sink::with_capacity(most);
    let (mut at_x, mut at_y) = (0, 0);
    while at_x < x.len() && at_y < y.len() {
        let (key_x, key_y) = (x.key(at_x), y.key(at_y));
        if key_x == key_y {
            combine(&mut sink, key_x, op, x.container(at_x), y.container(at_y));
            (at_x, at_y) = (at_x + 1, at_y + 1);
        } else if key_x < key_y {
            let behind = gallop(x, at_x, key_y);
            if keep_x {
                copy(&mut sink, x, at_x..behind);
            }
            at_x = behind;
        } else {
            let behind = gallop(y, at_y, key_x);
            if keep_y {
                copy(&mut sink, y, at_y..behind);
            }
            at_y = behind;
        }
    }
    if keep_x {
        copy(&mut sink, x, at_x..x.len());
    }
    if keep_y {
        copy(&mut sink, y, at_y..y.len());
    }
    Bitmap::from_store(sink.finish())
}

pub(super) fn copy(sink: &mut Sink, from: &impl Containers, range: std::ops::Range<usize>) {
    for index in range {
        sink.copy(from.key(index), from.container(index), from.count(index));
    }
}

/// Whether two containers with the same count have the same positions.
fn equal(x: Container<'_>, y: Container<'_>) -> bool {
    if x.kind() == y.kind() {
        return x.bytes() == y.bytes();
    }
    let (mut x_words, mut y_words) = ([0; 64], [0; 64]);
    (0..SPAN as usize / 64).step_by(64).all(|from| {
        x.words(from, &mut x_words);
        y.words(from, &mut y_words);
        x_words == y_words
    })
}
