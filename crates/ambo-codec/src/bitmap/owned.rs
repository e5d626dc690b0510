//! A bitmap in memory, which can be changed.

use std::{collections::BTreeMap, fmt, ops::RangeBounds};

use super::{
    combine::{Op, combine},
    container::{Container, Kind, LIST_MAX, Low, SPAN, WORDS, Words, clear, find, set},
    kernel,
    positions::{Containers, Positions, copy, inclusive, split},
    store::{Collector, Sink, Store, run},
};

/// A set of 64-bit row positions, compressed. What reads it is in [`Positions`].
///
/// A clone shares the containers and copies one when it changes it, so a version of a deleted-row bitmap costs its
/// directory (about 50 bytes a container) and what was deleted since.
#[derive(Clone, Default)]
pub struct Bitmap {
    store: Store,
}

impl Bitmap {
    /// The empty set.
    pub fn new() -> Self {
        Self::default()
    }

    pub(super) fn from_store(store: Store) -> Self {
        Self { store }
    }

    /// The set of `positions`.
    ///
    /// # Errors
    /// [`Error::Invalid`](crate::Error::Invalid) if they are not strictly ascending.
    pub fn from_sorted(positions: impl IntoIterator<Item = u64>) -> crate::Result<Self> {
        let mut sink = Sink::default();
        let mut collector = Collector::new();
        let mut current = 0;
        let mut last = None;
        for position in positions {
            if last.is_some_and(|last| last >= position) {
                return Err(crate::Error::invalid("positions are not strictly ascending"));
            }
            last = Some(position);
            let (key, low) = split(position);
            if key != current {
                if !collector.is_empty() {
                    collector.flush(current, &mut sink);
                }
                current = key;
            }
            collector.push(low);
        }
        if !collector.is_empty() {
            collector.flush(current, &mut sink);
        }
        Ok(Self { store: sink.finish() })
    }

    /// The set of the positions in `range`. It takes about 50 bytes for each 2^16 positions.
    pub fn from_range(range: impl RangeBounds<u64>) -> Self {
        let mut sink = Sink::default();
        if let Some((first, last)) = inclusive(&range) {
            let ((first_key, first_low), (last_key, last_low)) = (split(first), split(last));
            for key in first_key..=last_key {
                let from = if key == first_key { first_low } else { 0 };
                let to = if key == last_key { last_low } else { u16::MAX };
                sink.push_range(key, from, to);
            }
        }
        Self { store: sink.finish() }
    }

    /// What is in all of `sets`; nothing if there are none. Begins with the smallest.
    pub fn intersection<'a, P: Positions + 'a>(sets: impl IntoIterator<Item = &'a P>) -> Self {
        let mut sets: Vec<_> = sets.into_iter().collect();
        sets.sort_by_cached_key(|set| set.cardinality());
        let Some((smallest, others)) = sets.split_first() else { return Self::new() };
        let Some((next, others)) = others.split_first() else { return Self::copy_of(*smallest) };
        let mut result = smallest.and(*next);
        for set in others {
            if result.is_empty() {
                break;
            }
            result = result.and(*set);
        }
        result
    }

    /// What is in any of `sets`.
    pub fn union<'a, P: Positions + 'a>(sets: impl IntoIterator<Item = &'a P>) -> Self {
        let mut by_key: BTreeMap<u64, Vec<(&P, usize)>> = BTreeMap::new();
        for set in sets {
            for index in 0..set.len() {
                by_key.entry(set.key(index)).or_default().push((set, index));
            }
        }
        let mut sink = Sink::with_capacity(by_key.len());
        for (key, parts) in by_key {
            match parts[..] {
                [(set, index)] => copy(&mut sink, set, index..index + 1),
                [(a, in_a), (b, in_b)] => {
                    let (a, b) = (a.container(in_a), b.container(in_b));
                    combine(&mut sink, key, Op::Or, a, b);
                }
                _ => unite(&mut sink, key, parts.iter().map(|&(set, index)| set.container(index))),
            }
        }
        Self { store: sink.finish() }
    }

    /// The positions of any set, owned.
    pub fn copy_of(set: &impl Positions) -> Self {
        let mut sink = Sink::with_capacity(set.len());
        copy(&mut sink, set, 0..set.len());
        Self { store: sink.finish() }
    }

    /// Adds a position; whether it was not there.
    pub fn insert(&mut self, position: u64) -> bool {
        let (key, low) = split(position);
        let index = self.store.lower_bound(key);
        if index == self.store.len() || self.store.key(index) != key {
            self.store.insert(index, key, 1, Kind::Array, low.to_le_bytes().to_vec());
            return true;
        }
        self.change(index, low, true)
    }

    /// Takes a position away; whether it was there.
    pub fn remove(&mut self, position: u64) -> bool {
        let (key, low) = split(position);
        let index = self.store.lower_bound(key);
        if index == self.store.len() || self.store.key(index) != key {
            return false;
        }
        if self.store.count(index) == 1 && self.store.container(index).contains(low) {
            self.store.remove(index);
            return true;
        }
        self.change(index, low, false)
    }

    /// Adds all positions of `range`.
    pub fn insert_range(&mut self, range: impl RangeBounds<u64>) {
        *self = self.or(&Self::from_range(range));
    }

    /// Takes all positions of `range` away.
    pub fn remove_range(&mut self, range: impl RangeBounds<u64>) {
        let Some((first, last)) = inclusive(&range) else { return };
        let ((first_key, first_low), (last_key, last_low)) = (split(first), split(last));
        let mut sink = Sink::with_capacity(self.len());
        for index in 0..self.len() {
            let key = self.key(index);
            if key < first_key || key > last_key {
                copy(&mut sink, self, index..index + 1);
                continue;
            }
            let from = if key == first_key { first_low } else { 0 };
            let to = if key == last_key { last_low } else { u16::MAX };
            if from > 0 || to < u16::MAX {
                let gone = [run(from, to)];
                combine(&mut sink, key, Op::AndNot, self.container(index), Container::Runs(&gone));
            }
        }
        self.store = sink.finish();
    }

    /// Brings `low` into the container or out of it; whether that changed it. The container stays filled.
    fn change(&mut self, index: usize, low: u16, wanted: bool) -> bool {
        if self.store.container(index).contains(low) == wanted {
            return false;
        }
        let before = self.store.count(index);
        let count = if wanted { before + 1 } else { before - 1 };
        self.store.counts[index] = (count - 1) as u16;
        let (kind, bytes) = self.store.own(index);
        if *kind != Kind::of(count) {
            let mut words = [[0; 8]; WORDS];
            Container::new(*kind, bytes).expand(&mut words);
            if wanted {
                set(&mut words, low)
            } else {
                clear(&mut words, low)
            }
            *kind = Kind::of(count);
            *bytes = packed(&words, *kind, count);
            return true;
        }
        match kind {
            Kind::Bits => {
                let byte = &mut bytes[usize::from(low) / 8];
                *byte ^= 1 << (low % 8);
            }
            Kind::Array | Kind::Inverted => match find(bytes.as_chunks().0, low) {
                Ok(at) => {
                    bytes.drain(2 * at..2 * at + 2);
                }
                Err(at) => {
                    let len = bytes.len();
                    bytes.extend_from_slice(&[0; 2]);
                    bytes.copy_within(2 * at..len, 2 * at + 2);
                    bytes[2 * at..2 * at + 2].copy_from_slice(&low.to_le_bytes());
                }
            },
            Kind::Full | Kind::Runs => {
                unreachable!("a changed container is never runs, and full ones are changed above")
            }
        }
        true
    }
}

/// The bytes of `words` in the form `kind`, which is not runs.
fn packed(words: &Words, kind: Kind, count: u32) -> Vec<u8> {
    match kind {
        Kind::Full => Vec::new(),
        Kind::Bits => words.as_flattened().to_vec(),
        _ => {
            let inverted = kind == Kind::Inverted;
            let len = if inverted { SPAN - count } else { count } as usize;
            let mut list = vec![[0; 2]; len + 64 + kernel::SLACK];
            let len = kernel::decode(words, 0, inverted, &mut list);
            list[..len].as_flattened().to_vec()
        }
    }
}

/// Writes what is in any of several containers.
fn unite<'a>(sink: &mut Sink, key: u64, containers: impl Iterator<Item = Container<'a>> + Clone) {
    if containers.clone().any(|container| container.kind() == Kind::Full) {
        return sink.keep(key, Kind::Full, SPAN, 0);
    }
    // What no container has is among what any one of them has not.
    if let Some(Container::Inverted(list)) =
        containers.clone().find(|container| container.kind() == Kind::Inverted)
    {
        let absent =
            |low: &&Low| !containers.clone().any(|container| container.contains(u16::from_le_bytes(**low)));
        let mut len = 0;
        for (out, low) in sink.room(list.len()).iter_mut().zip(list.iter().filter(absent)) {
            *out = *low;
            len += 1;
        }
        return sink.keep_list(key, true, len);
    }
    let lists_only = containers.clone().all(|container| container.kind() == Kind::Array);
    let listed: usize = containers.clone().map(|container| container.bytes().len() / 2).sum();
    if lists_only && listed <= FEW {
        let mut lows: Vec<u16> = Vec::with_capacity(listed);
        for container in containers {
            lows.extend(container.bytes().as_chunks().0.iter().map(|&low| u16::from_le_bytes(low)));
        }
        lows.sort_unstable();
        lows.dedup();
        let room = sink.room(lows.len());
        room.iter_mut().zip(&lows).for_each(|(out, low)| *out = low.to_le_bytes());
        return sink.keep_list(key, false, lows.len());
    }
    let mut united = [[0; 8]; WORDS];
    let mut or = |words: &Words| {
        let both = united.iter_mut().zip(words);
        both.for_each(|(a, b)| *a = (u64::from_le_bytes(*a) | u64::from_le_bytes(*b)).to_le_bytes());
    };
    let mut words = [[0; 8]; WORDS];
    for container in containers.clone() {
        match container {
            Container::Array(_) => {}
            Container::Bits(words) => or(words),
            _ => {
                container.expand(&mut words);
                or(&words);
            }
        }
    }
    for container in containers {
        if let Container::Array(list) = container {
            list.iter().for_each(|&low| set(&mut united, u16::from_le_bytes(low)));
        }
    }
    sink.push_words(key, &united, kernel::count(&united));
}

/// Up to this many elements of several lists are sorted rather than set as bits.
const FEW: usize = 256;
const _: () = assert!(FEW <= LIST_MAX as usize);

impl Containers for Bitmap {
    #[inline]
    fn len(&self) -> usize {
        self.store.len()
    }

    #[inline]
    fn key(&self, index: usize) -> u64 {
        self.store.key(index)
    }

    #[inline]
    fn count(&self, index: usize) -> u32 {
        self.store.count(index)
    }

    #[inline]
    fn container(&self, index: usize) -> Container<'_> {
        self.store.container(index)
    }

    fn count_before(&self, end: usize) -> u64 {
        self.store.counts[..end].iter().map(|&count| u64::from(count)).sum::<u64>() + end as u64
    }

    #[inline]
    fn lower_bound(&self, key: u64) -> usize {
        self.store.lower_bound(key)
    }
}

impl PartialEq for Bitmap {
    fn eq(&self, other: &Self) -> bool {
        self.equals(other)
    }
}

impl Eq for Bitmap {}

impl fmt::Debug for Bitmap {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_set().entries(self.iter().take(64)).finish_non_exhaustive()
    }
}

impl Extend<u64> for Bitmap {
    fn extend<I: IntoIterator<Item = u64>>(&mut self, positions: I) {
        for position in positions {
            self.insert(position);
        }
    }
}

impl FromIterator<u64> for Bitmap {
    /// From positions in any order.
    fn from_iter<I: IntoIterator<Item = u64>>(positions: I) -> Self {
        let mut positions: Vec<u64> = positions.into_iter().collect();
        positions.sort_unstable();
        positions.dedup();
        Self::from_sorted(positions).expect("sorted above")
    }
}
