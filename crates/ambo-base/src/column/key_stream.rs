//! The keys of several parts side by side: which keys do they share?
//!
//! Streams leap: one that is behind moves to the first key that is not less than that of the other, over whole groups by their
//! first keys and within a group in growing steps. So parts whose keys do not mix cost next to nothing, and parts that
//! mix cost each key once; or, if all of one's keys would be read for few of another, those of the other are looked up, most of
//! which its filter ([`super::key_filter`]) denies.

use std::{cmp::Ordering, ops::Range, sync::atomic::AtomicBool};

use ambo_pages::{page::Access, sync};
use ambo_types::{Error, Result};

use super::{
    gallop::gallop,
    keys::Keys,
    run::Part,
    schema::ColumnSchema,
    search::{Probe, Window},
};
use crate::key_filter::{KeyFilter, KeyHash};
use ambo_scan::{Strings, buffer::ColumnBuffer};

/// The keys that are left in a part, in their order.
pub(super) struct KeyStream<'a> {
    schema: &'a ColumnSchema,
    part: &'a Part,
    buffers: Vec<ColumnBuffer>,
    keys: Keys,
    group: usize,
    /// The row in the group; the stream is at its end if the group is behind the last.
    row: usize,
}

impl<'a> KeyStream<'a> {
    /// The keys from the first on that is at least `from`.
    pub(super) fn new(schema: &'a ColumnSchema, part: &'a Part, from: &[u8]) -> Result<Self> {
        let mut buffers = schema.buffers();
        buffers.truncate(schema.key_columns());
        let keys = Keys::Bytes { bytes: Vec::new(), ends: Vec::new() };
        let mut stream = Self { schema, part, buffers, keys, group: 0, row: 0 };
        stream.load(part.segment.directory().group_for(from).unwrap_or(0))?;
        stream.leap(|keys, row| keys.with(row, |key| key < from))?;
        Ok(stream)
    }

    fn is_done(&self) -> bool {
        self.group == self.part.segment.directory().groups()
    }

    /// The row of the part.
    fn row(&self) -> u32 {
        self.part.segment.directory().group(self.group).start + self.row as u32
    }

    /// The current key.
    fn key(&self) -> Vec<u8> {
        self.keys.to_vec(self.row)
    }

    fn compare(&self, other: &Self) -> Ordering {
        self.keys.compare(self.row, &other.keys, other.row)
    }

    /// Moves on by one.
    fn next(&mut self) -> Result<()> {
        self.row += 1;
        self.leap(|_, _| false)
    }

    /// Moves to the first key that is not less than that of `other`.
    fn seek(&mut self, other: &Self) -> Result<()> {
        debug_assert!(!self.is_done() && !other.is_done(), "streams that have keys are compared");
        let last = self.keys.len() - 1;
        if self.keys.compare(last, &other.keys, other.row).is_lt() {
            let key = other.key();
            let group = self.part.segment.directory().group_for(&key).unwrap_or(0);
            // The next group may begin behind the key.
            self.load(group.max(self.group + 1))?;
        }
        self.leap(|keys, row| keys.compare(row, &other.keys, other.row).is_lt())
    }

    /// Moves on to the first row that is left and not `before`.
    fn leap(&mut self, before: impl Fn(&Keys, usize) -> bool) -> Result<()> {
        while !self.is_done() {
            let rows = self.keys.len();
            self.row += gallop(rows - self.row, |ahead| before(&self.keys, self.row + ahead));
            let first = self.part.segment.directory().group(self.group).start;
            while self.row < rows && self.part.is_deleted(first + self.row as u32) {
                self.row += 1;
            }
            if self.row < rows {
                return Ok(());
            }
            self.load(self.group + 1)?;
        }
        Ok(())
    }

    fn load(&mut self, group: usize) -> Result<()> {
        (self.group, self.row) = (group, 0);
        let segment = &self.part.segment;
        if group < segment.directory().groups() {
            let rows = segment.directory().group(group).len();
            self.buffers.iter_mut().for_each(ColumnBuffer::clear);
            segment.read_into(self.schema, &mut self.buffers, 0, group, 0..rows, Access::Scan)?;
            self.keys = Keys::of(self.schema, &self.buffers).map_err(|error| segment.damaged(0, error))?;
            debug_assert_eq!(self.keys.len(), rows, "a key for each row of the group");
        }
        Ok(())
    }
}

/// Keys that are left in a part, with their rows: read once, to be looked for in many others.
#[derive(Default)]
pub(super) struct PartKeys {
    keys: Strings,
    hashes: Vec<KeyHash>,
    rows: Vec<u32>,
}

/// Of more bytes the keys of a part are read again for each other part.
const KEPT_BYTES_MAX: usize = 16 << 20;

impl PartKeys {
    /// All of a part; `None` if they are too many.
    pub(super) fn of(schema: &ColumnSchema, part: &Part) -> Result<Option<Self>> {
        let mut keys = Self::default();
        let mut stream = KeyStream::new(schema, part, &[])?;
        while !stream.is_done() {
            keys.push(&stream);
            if keys.keys.memory() > KEPT_BYTES_MAX {
                return Ok(None);
            }
            stream.next()?;
        }
        Ok(Some(keys))
    }

    /// A hash of each.
    pub(super) fn hashes(&self) -> &[KeyHash] {
        &self.hashes
    }

    fn push(&mut self, stream: &KeyStream<'_>) {
        debug_assert!(self.rows.last().is_none_or(|last| *last < stream.row()), "rows of a part ascend");
        stream.keys.with(stream.row, |key| {
            self.keys.push(key);
            self.hashes.push(KeyHash::of(key));
        });
        self.rows.push(stream.row());
        debug_assert_eq!((self.keys.len(), self.hashes.len()), (self.rows.len(), self.rows.len()));
    }

    fn clear(&mut self) {
        self.keys.clear();
        self.hashes.clear();
        self.rows.clear();
    }

    /// The number of the first key that is not `before`. REQUIRES: they ascend, and so do those that are.
    fn bound(&self, before: impl Fn(&[u8]) -> bool) -> usize {
        let (mut low, mut high) = (0, self.rows.len());
        while low < high {
            let middle = low.midpoint(high);
            match before(self.keys.get(middle)) {
                true => low = middle + 1,
                false => high = middle,
            }
        }
        low
    }
}

/// Streams, the one with the least key on top.
struct Heap<'a> {
    streams: Vec<KeyStream<'a>>,
    /// Numbers of streams that are not at their end; none has a lesser key than the one at half its place.
    order: Vec<usize>,
}

impl<'a> Heap<'a> {
    fn new(streams: Vec<KeyStream<'a>>) -> Self {
        let order: Vec<_> = (0..streams.len()).filter(|stream| !streams[*stream].is_done()).collect();
        let mut heap = Self { streams, order };
        (0..heap.order.len() / 2).rev().for_each(|place| heap.sink(place));
        debug_assert!(heap.is_in_order());
        heap
    }

    fn top(&self) -> Option<&KeyStream<'a>> {
        self.order.first().map(|stream| &self.streams[*stream])
    }

    fn is_less(&self, a: usize, b: usize) -> bool {
        self.streams[self.order[a]].compare(&self.streams[self.order[b]]).is_lt()
    }

    fn sink(&mut self, mut place: usize) {
        loop {
            let children = 2 * place + 1..self.order.len().min(2 * place + 3);
            let Some(least) = children.reduce(|a, b| if self.is_less(b, a) { b } else { a }) else { return };
            if !self.is_less(least, place) {
                return;
            }
            self.order.swap(place, least);
            place = least;
        }
    }

    /// Mends the order after the top has moved on.
    fn settle_top(&mut self) {
        if self.top().is_some_and(KeyStream::is_done) {
            self.order.swap_remove(0);
        }
        self.sink(0);
        debug_assert!(self.is_in_order());
    }

    /// Whether nobody has a lesser key than who is above; for assertions.
    fn is_in_order(&self) -> bool {
        (1..self.order.len()).all(|place| !self.is_less(place, (place - 1) / 2))
    }

    /// The place of the second least key.
    fn second(&self) -> Option<usize> {
        (1..self.order.len().min(3)).reduce(|a, b| if self.is_less(b, a) { b } else { a })
    }
}

/// How many steps lie between two looks at whether to go on.
const CANCEL_STEPS: u64 = 1 << 12;

fn check_cancelled(step: &mut u64, cancel: &AtomicBool) -> Result<()> {
    *step += 1;
    match step.is_multiple_of(CANCEL_STEPS) && cancel.load(sync::Ordering::Relaxed) {
        true => Err(Error::Cancelled),
        false => Ok(()),
    }
}

/// Calls `found` for each key that is left in several parts, with the parts and rows, and the key.
pub(super) fn shared(
    schema: &ColumnSchema,
    parts: &[&Part],
    cancel: &AtomicBool,
    mut found: impl FnMut(&[(usize, u32)], &[u8]) -> Result<()>,
) -> Result<()> {
    let streams = parts.iter().map(|part| KeyStream::new(schema, part, &[])).collect::<Result<Vec<_>>>()?;
    let mut heap = Heap::new(streams);
    let (mut step, mut places) = (0, Vec::new());
    // With one stream left nothing is shared any more.
    while let Some(second) = heap.second() {
        check_cancelled(&mut step, cancel)?;
        let (top, second) = (heap.order[0], heap.order[second]);
        let [top_stream, second_stream] =
            heap.streams.get_disjoint_mut([top, second]).expect("two of the streams");
        if top_stream.compare(second_stream).is_lt() {
            top_stream.seek(second_stream)?;
            heap.settle_top();
            continue;
        }
        let key = top_stream.key();
        places.clear();
        while let Some(stream) = heap.top()
            && stream.keys.with(stream.row, |other| other == key)
        {
            let number = heap.order[0];
            places.push((number, stream.row()));
            heap.streams[number].next()?;
            heap.settle_top();
        }
        debug_assert!(places.len() > 1, "two streams have the key");
        found(&places, &key)?;
    }
    Ok(())
}

/// The keys of a part, by its number, if they are at hand.
pub(super) type KnownKeys<'k> = dyn Fn(usize) -> Result<Option<&'k PartKeys>> + 'k;

/// Calls `found` for each key that is left in `old` and in one of the other parts, which share none: with the row of `old`, the other
/// part and its row, and the key. Maybe more than once. `known`: the keys of another part, if they are at hand.
pub(super) fn shared_with(
    schema: &ColumnSchema,
    old: &Part,
    (parts, known): (&[&Part], &KnownKeys<'_>),
    cancel: &AtomicBool,
    mut found: impl FnMut(u32, (usize, u32), &[u8]) -> Result<()>,
) -> Result<()> {
    if mix(old, parts)
        && let Some(filter) = old.segment.key_filter(schema)?
    {
        let mut search =
            Search { schema, old, filter, cancel, seen: 0, sought: 0, window: Window::new(schema) };
        if search.all(parts, known, &mut found)? {
            return Ok(());
        }
    }
    let first = old.segment.directory().first_key();
    let streams = parts.iter().map(|part| KeyStream::new(schema, part, first)).collect::<Result<Vec<_>>>()?;
    let mut heap = Heap::new(streams);
    let mut old = KeyStream::new(schema, old, &[])?;
    let mut step = 0;
    while !old.is_done() {
        check_cancelled(&mut step, cancel)?;
        let Some(least) = heap.top() else { break };
        match old.compare(least) {
            Ordering::Less => old.seek(least)?,
            Ordering::Greater => {
                let top = heap.order[0];
                heap.streams[top].seek(&old)?;
                heap.settle_top();
            }
            Ordering::Equal => {
                found(old.row(), (heap.order[0], least.row()), &old.key())?;
                old.next()?;
            }
        }
    }
    Ok(())
}

/// Whether most groups of `old` have other parts' keys between theirs, in nearly all of which would be one.
fn mix(old: &Part, parts: &[&Part]) -> bool {
    let directory = old.segment.directory();
    let group_of = |key: &[u8]| directory.group_for(key).unwrap_or(0);
    let first = parts.iter().map(|part| group_of(part.segment.directory().first_key())).min();
    let last = parts.iter().map(|part| group_of(part.segment.directory().last_key())).max();
    let groups = first.zip(last).map_or(0, |(first, last)| last + 1 - first);
    let keys: u64 = parts.iter().map(|part| u64::from(part.live_rows())).sum();
    2 * groups > directory.groups() && keys > groups as u64
}

/// One in so many keys may be there to be sought.
const SOUGHT_SHARE: usize = 8;
/// So many are, before that is looked at.
const SOUGHT_MIN: usize = 1 << 10;

/// So many keys are asked of a filter at once.
const ASKED_TOGETHER: usize = 4096;

/// A search for keys of other parts in `old`: for those that its filter does not deny.
struct Search<'a, B> {
    schema: &'a ColumnSchema,
    old: &'a Part,
    filter: KeyFilter<B>,
    cancel: &'a AtomicBool,
    /// Keys so far, and those that were looked for.
    seen: usize,
    sought: usize,
    window: Window,
}

impl<B: AsRef<[u8]>> Search<'_, B> {
    /// Looks for all keys of parts. False if there are too many to be looked for: then all keys side by side are faster.
    fn all(
        &mut self,
        parts: &[&Part],
        known: &KnownKeys<'_>,
        found: &mut impl FnMut(u32, (usize, u32), &[u8]) -> Result<()>,
    ) -> Result<bool> {
        let directory = self.old.segment.directory();
        let (first, last) = (directory.first_key(), directory.last_key());
        for (number, part) in parts.iter().enumerate() {
            if let Some(keys) = known(number)? {
                let mut left = keys.bound(|key| key < first)..keys.bound(|key| key <= last);
                while !left.is_empty() {
                    let some = left.start..left.end.min(left.start + ASKED_TOGETHER);
                    left.start = some.end;
                    if !self.some(keys, some, number, found)? {
                        return Ok(false);
                    }
                }
                continue;
            }
            let mut stream = KeyStream::new(self.schema, part, first)?;
            let mut keys = PartKeys::default();
            let is_within =
                |stream: &KeyStream<'_>| !stream.is_done() && stream.keys.with(stream.row, |key| key <= last);
            while is_within(&stream) {
                keys.clear();
                while keys.rows.len() < ASKED_TOGETHER && is_within(&stream) {
                    keys.push(&stream);
                    stream.next()?;
                }
                if !self.some(&keys, 0..keys.rows.len(), number, found)? {
                    return Ok(false);
                }
            }
        }
        Ok(true)
    }

    /// Looks for some keys of a part.
    fn some(
        &mut self,
        keys: &PartKeys,
        some: Range<usize>,
        number: usize,
        found: &mut impl FnMut(u32, (usize, u32), &[u8]) -> Result<()>,
    ) -> Result<bool> {
        if self.cancel.load(sync::Ordering::Relaxed) {
            return Err(Error::Cancelled);
        }
        self.seen += some.len();
        let maybe = self.filter.not_denied(some.map(|key| (key, keys.hashes[key])));
        self.sought += maybe.len();
        debug_assert!(self.sought <= self.seen, "only keys that were seen are sought");
        if self.sought > SOUGHT_MIN + self.seen / SOUGHT_SHARE {
            return Ok(false);
        }
        for index in maybe {
            let key = keys.keys.get(index);
            if let Some(row) = self.old.find(self.schema, &Probe::new(self.schema, key), &mut self.window)? {
                found(row, (number, keys.rows[index]), key)?;
            }
        }
        Ok(true)
    }
}
