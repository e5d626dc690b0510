//! The containers of an owned bitmap, one behind the other in one allocation, and how operations write them.

use std::sync::Arc;

use super::{
    container::{Container, Kind, LIST_MAX, Low, Run, SPAN, WORDS, Words, set},
    kernel,
};

/// Where the bytes of a container are.
#[derive(Clone, Debug)]
pub(super) struct Slot {
    pub(super) kind: Kind,
    /// First byte in the heap, unless the container has bytes of its own.
    at: usize,
    len: usize,
    /// The bytes of a container that was changed since the heap was written.
    own: Option<Arc<Vec<u8>>>,
}

/// Containers in the order of their keys (positions without their low 16 bits). Three columns, so that looking for a key
/// and adding up counts read only what they need.
#[derive(Clone, Default)]
pub(super) struct Store {
    keys: Vec<u64>,
    /// Set positions, less one.
    pub(super) counts: Vec<u16>,
    slots: Vec<Slot>,
    heap: Arc<Vec<u8>>,
}

impl Store {
    #[inline]
    pub(super) fn len(&self) -> usize {
        self.keys.len()
    }

    #[inline]
    pub(super) fn key(&self, index: usize) -> u64 {
        self.keys[index]
    }

    /// The first container with `key` or a later one.
    #[inline]
    pub(super) fn lower_bound(&self, key: u64) -> usize {
        self.keys.partition_point(|&other| other < key)
    }

    #[inline]
    pub(super) fn container(&self, index: usize) -> Container<'_> {
        let slot = &self.slots[index];
        let bytes = match &slot.own {
            Some(own) => own,
            None => &self.heap[slot.at..slot.at + slot.len],
        };
        Container::new(slot.kind, bytes)
    }

    #[inline]
    pub(super) fn count(&self, index: usize) -> u32 {
        u32::from(self.counts[index]) + 1
    }

    /// The bytes of a container to change: copied first, unless they are this bitmap's alone.
    pub(super) fn own(&mut self, index: usize) -> (&mut Kind, &mut Vec<u8>) {
        let slot = &mut self.slots[index];
        let heap = &self.heap[slot.at..slot.at + slot.len];
        let own = slot.own.get_or_insert_with(|| Arc::new(heap.to_vec()));
        (slot.at, slot.len) = (0, 0);
        (&mut slot.kind, Arc::make_mut(own))
    }

    /// Puts a container with bytes of its own before the one at `index`.
    pub(super) fn insert(&mut self, index: usize, key: u64, count: u32, kind: Kind, bytes: Vec<u8>) {
        self.keys.insert(index, key);
        self.counts.insert(index, (count - 1) as u16);
        self.slots.insert(index, Slot { kind, at: 0, len: 0, own: Some(Arc::new(bytes)) });
    }

    pub(super) fn remove(&mut self, index: usize) {
        self.keys.remove(index);
        self.counts.remove(index);
        self.slots.remove(index);
    }
}

/// Writes containers in ascending order of their keys.
#[derive(Default)]
pub(super) struct Sink {
    keys: Vec<u64>,
    counts: Vec<u16>,
    slots: Vec<Slot>,
    heap: Vec<u8>,
    /// First byte of the container that is being written.
    at: usize,
}

impl Sink {
    pub(super) fn with_capacity(containers: usize) -> Self {
        Self {
            keys: Vec::with_capacity(containers),
            counts: Vec::with_capacity(containers),
            slots: Vec::with_capacity(containers),
            ..Self::default()
        }
    }

    pub(super) fn finish(mut self) -> Store {
        if self.heap.capacity() > 2 * self.heap.len() {
            self.heap.shrink_to_fit();
        }
        Store { keys: self.keys, counts: self.counts, slots: self.slots, heap: Arc::new(self.heap) }
    }

    /// Room for `len` elements and the kernels' slack, zeros where nothing was written before.
    pub(super) fn room<const N: usize>(&mut self, len: usize) -> &mut [[u8; N]] {
        self.heap.resize(self.at + N * (len + kernel::SLACK), 0);
        self.heap[self.at..].as_chunks_mut().0
    }

    /// Room for the words of a container.
    pub(super) fn words_room(&mut self) -> &mut Words {
        self.heap.resize(self.at + 8 * WORDS, 0);
        (&mut self.heap[self.at..].as_chunks_mut().0[..WORDS]).try_into().expect("as many words")
    }

    /// Keeps the first `bytes` bytes of the room as a container of `count` positions, if there are any.
    pub(super) fn keep(&mut self, key: u64, kind: Kind, count: u32, bytes: usize) {
        self.heap.truncate(self.at + bytes);
        if count == 0 {
            self.heap.truncate(self.at);
            return;
        }
        self.keys.push(key);
        self.counts.push((count - 1) as u16);
        self.slots.push(Slot { kind, at: self.at, len: bytes, own: None });
        self.at = self.heap.len();
    }

    /// Copies a container.
    pub(super) fn copy(&mut self, key: u64, container: Container<'_>, count: u32) {
        let bytes = container.bytes();
        self.heap.truncate(self.at);
        self.heap.extend_from_slice(bytes);
        self.keep(key, container.kind(), count, bytes.len());
    }

    /// A container of which the room has a list of `len` positions: those that are set, or, if `inverted`, those that are not.
    pub(super) fn keep_list(&mut self, key: u64, inverted: bool, len: usize) {
        let listed = len.min(SPAN as usize) as u32;
        let count = if inverted { SPAN - listed } else { listed };
        let kind = if inverted { Kind::Inverted } else { Kind::Array };
        if inverted && listed == 0 {
            return self.keep(key, Kind::Full, SPAN, 0);
        }
        if listed <= LIST_MAX {
            return self.keep(key, kind, count, 2 * len);
        }
        let mut words = [[0; 8]; WORDS];
        Container::new(kind, &self.heap[self.at..self.at + 2 * len]).expand(&mut words);
        self.push_words(key, &words, kernel::count(&words));
    }

    /// A container of which the room has the words.
    pub(super) fn keep_words(&mut self, key: u64, count: u32) {
        if Kind::of(count) == Kind::Bits {
            return self.keep(key, Kind::Bits, count, 8 * WORDS);
        }
        let words = *self.words_room();
        self.push_words(key, &words, count);
    }

    /// A container of which the room has `len` runs, with `count` positions.
    pub(super) fn keep_runs(&mut self, key: u64, len: usize, count: u32) {
        let kind = Kind::of(count);
        if count > 0 && kind.bytes(count).is_some_and(|bytes| bytes <= 4 * len) {
            let mut words = [[0; 8]; WORDS];
            Container::new(Kind::Runs, &self.heap[self.at..self.at + 4 * len]).expand(&mut words);
            return self.push_words(key, &words, count);
        }
        self.keep(key, Kind::Runs, count, 4 * len);
    }

    /// A container of `words`, `count` of whose bits are set, in the smallest form, runs aside.
    pub(super) fn push_words(&mut self, key: u64, words: &Words, count: u32) {
        if count == 0 {
            return self.keep(key, Kind::Array, 0, 0);
        }
        match Kind::of(count) {
            Kind::Full => self.keep(key, Kind::Full, count, 0),
            Kind::Bits => {
                *self.words_room() = *words;
                self.keep(key, Kind::Bits, count, 8 * WORDS);
            }
            kind => {
                let inverted = kind == Kind::Inverted;
                let listed = if inverted { SPAN - count } else { count } as usize;
                let len = kernel::decode(words, 0, inverted, self.room(listed + 64));
                debug_assert_eq!(len, listed);
                self.keep(key, kind, count, 2 * listed);
            }
        }
    }

    /// All positions from `first` to `last`.
    pub(super) fn push_range(&mut self, key: u64, first: u16, last: u16) {
        if first == 0 && last == u16::MAX {
            return self.keep(key, Kind::Full, SPAN, 0);
        }
        self.room::<4>(1)[0] = run(first, last);
        self.keep_runs(key, 1, u32::from(last - first) + 1);
    }
}

/// A run's bytes.
#[inline]
pub(super) fn run(first: u16, last: u16) -> Run {
    let ([a, b], [c, d]) = (first.to_le_bytes(), (last - first).to_le_bytes());
    [a, b, c, d]
}

/// Collects ascending positions of one container, then writes them in the smallest form, runs included.
pub(super) struct Collector {
    count: u32,
    runs: u32,
    last: u16,
    /// The positions, as long as they fit.
    list: Vec<Low>,
    /// All positions, from the first that the list had no room for.
    words: Box<Words>,
}

impl Collector {
    pub(super) fn new() -> Self {
        Self { count: 0, runs: 0, last: 0, list: Vec::new(), words: Box::new([[0; 8]; WORDS]) }
    }

    /// REQUIRES: `low` is above all positions before.
    #[inline]
    pub(super) fn push(&mut self, low: u16) {
        self.runs += u32::from(self.count == 0 || low != self.last.wrapping_add(1));
        self.last = low;
        if self.count < LIST_MAX {
            self.list.push(low.to_le_bytes());
        } else {
            if self.count == LIST_MAX {
                self.list.iter().for_each(|&low| set(&mut self.words, u16::from_le_bytes(low)));
            }
            set(&mut self.words, low);
        }
        self.count += 1;
    }

    /// Writes the container and begins anew.
    pub(super) fn flush(&mut self, key: u64, sink: &mut Sink) {
        let kind = Kind::of(self.count);
        let by_runs = 4 * self.runs as usize;
        if kind.bytes(self.count).is_some_and(|bytes| by_runs < bytes) {
            let room = sink.room(self.runs as usize);
            if kind == Kind::Array {
                runs_of_list(&self.list, room);
            } else {
                runs_of_words(&self.words, room);
            }
            sink.keep(key, Kind::Runs, self.count, by_runs);
        } else if kind == Kind::Array {
            let len = self.list.len();
            sink.room(len)[..len].copy_from_slice(&self.list);
            sink.keep(key, Kind::Array, self.count, 2 * len);
        } else {
            sink.push_words(key, &self.words, self.count);
        }
        if self.count > LIST_MAX {
            self.words.fill([0; 8]);
        }
        self.list.clear();
        (self.count, self.runs) = (0, 0);
    }

    pub(super) fn is_empty(&self) -> bool {
        self.count == 0
    }
}

/// Writes the runs of set bits; returns how many. Stops where `out` is full.
pub(super) fn runs_of_words(words: &Words, out: &mut [Run]) -> usize {
    let mut len = 0;
    let mut open = None;
    for (index, word) in words.iter().enumerate() {
        let first = index as u32 * 64;
        let mut at = 0;
        let word = u64::from_le_bytes(*word);
        while at < 64 {
            let rest = word >> at;
            match open {
                None if rest == 0 => break,
                None => {
                    at += rest.trailing_zeros();
                    open = Some(first + at);
                }
                Some(from) => {
                    at += rest.trailing_ones();
                    if at < 64 {
                        let Some(out) = out.get_mut(len) else { return len };
                        *out = run(from as u16, (first + at - 1) as u16);
                        len += 1;
                        open = None;
                    }
                }
            }
        }
    }
    if let (Some(from), Some(out)) = (open, out.get_mut(len)) {
        *out = run(from as u16, u16::MAX);
        len += 1;
    }
    len
}

/// Joins ascending positions into runs; returns how many. Stops where `out` is full.
pub(super) fn runs_of_list(list: &[Low], out: &mut [Run]) -> usize {
    let mut len = 0;
    let mut open: Option<(u16, u16)> = None;
    for &low in list {
        let position = u16::from_le_bytes(low);
        match &mut open {
            Some((_, last)) if u32::from(*last) + 1 == u32::from(position) => *last = position,
            _ => {
                if let Some((first, last)) = open.replace((position, position)) {
                    let Some(out) = out.get_mut(len) else { return len };
                    *out = run(first, last);
                    len += 1;
                }
            }
        }
    }
    if let (Some((first, last)), Some(out)) = (open, out.get_mut(len)) {
        *out = run(first, last);
        len += 1;
    }
    len
}
