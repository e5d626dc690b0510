//! Ascending positions, unpacked a few hundred at a time.

use super::{
    container::{Container, Low, WORDS, lower_bound},
    kernel,
    positions::{Containers, split},
};

/// Words that are unpacked at a time.
const STEP: usize = 4;
/// What they may hold.
const BLOCK: usize = 64 * STEP;

/// The positions of a set, ascending. Made by [`Positions::iter`](super::Positions::iter) and
/// [`Positions::range`](super::Positions::range).
pub struct Iter<'a, C> {
    containers: &'a C,
    /// The container of which the next block is.
    index: usize,
    /// The next element of its list, or the next of its words.
    at: usize,
    /// The first position that is wanted.
    first: u64,
    /// The last position that is wanted.
    last: u64,
    /// The key of `block`, shifted.
    base: u64,
    block: [Low; BLOCK + 64 + kernel::SLACK],
    next: usize,
    len: usize,
}

impl<'a, C: Containers> Iter<'a, C> {
    pub(super) fn new(containers: &'a C, first: u64, last: u64) -> Self {
        let (key, low) = split(first);
        let index = if first > last { containers.len() } else { containers.lower_bound(key) };
        let inside = index < containers.len() && containers.key(index) == key;
        let at = match inside.then(|| containers.container(index)) {
            None => 0,
            Some(Container::Array(list)) => lower_bound(list, u32::from(low)),
            Some(_) => usize::from(low) / 64,
        };
        let block = [[0; 2]; BLOCK + 64 + kernel::SLACK];
        Self { containers, index, at, first, last, base: 0, block, next: 0, len: 0 }
    }

    /// Unpacks the next block that has a wanted position; false if there is none.
    fn fill(&mut self) -> bool {
        while self.index < self.containers.len() {
            self.base = self.containers.key(self.index) << 16;
            if self.base > self.last {
                break;
            }
            self.next = 0;
            self.len = self.unpack();
            if self.len == 0 {
                (self.index, self.at) = (self.index + 1, 0);
                continue;
            }
            let block = &self.block[..self.len];
            if self.base < self.first {
                self.next = lower_bound(block, (self.first - self.base).min(1 << 16) as u32);
            }
            if self.last - self.base < 0xffff {
                self.len = lower_bound(block, (self.last - self.base) as u32 + 1);
            }
            if self.next < self.len {
                return true;
            }
        }
        (self.index, self.next, self.len) = (self.containers.len(), 0, 0);
        false
    }

    /// Unpacks the next positions of the container; none at its end.
    fn unpack(&mut self) -> usize {
        let container = self.containers.container(self.index);
        if let Container::Array(list) = container {
            let rest = list.get(self.at..).unwrap_or(&[]);
            let len = rest.len().min(BLOCK);
            self.block[..len].copy_from_slice(&rest[..len]);
            self.at += len;
            return len;
        }
        while self.at < WORDS {
            // A range begins in the middle of a step.
            let step = STEP.min(WORDS - self.at);
            let base = (self.at * 64) as u16;
            let len = if let Container::Bits(words) = container {
                kernel::decode(&words[self.at..self.at + step], base, false, &mut self.block)
            } else {
                let mut words = [0; STEP];
                container.words(self.at, &mut words[..step]);
                kernel::decode(&words.map(u64::to_le_bytes)[..step], base, false, &mut self.block)
            };
            self.at += step;
            if len > 0 {
                return len;
            }
        }
        0
    }
}

impl<C: Containers> Iterator for Iter<'_, C> {
    type Item = u64;

    #[inline]
    fn next(&mut self) -> Option<u64> {
        if self.next == self.len && !self.fill() {
            return None;
        }
        let low = u16::from_le_bytes(self.block[self.next]);
        self.next += 1;
        Some(self.base | u64::from(low))
    }

    fn fold<B, F: FnMut(B, u64) -> B>(mut self, first: B, mut f: F) -> B {
        let mut folded = first;
        loop {
            for &low in &self.block[self.next..self.len] {
                folded = f(folded, self.base | u64::from(u16::from_le_bytes(low)));
            }
            if !self.fill() {
                return folded;
            }
        }
    }
}

impl<C: Containers> std::iter::FusedIterator for Iter<'_, C> {}
