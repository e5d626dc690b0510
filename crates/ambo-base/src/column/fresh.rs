//! Rows that are not in segments yet, as columns for scans.
//!
//! [`FreshRows`] are what a memtable, a run, or several of them hold at one moment: the newest row of each of their keys. Rows are kept as
//! bytes; a column of a few thousand of them is encoded when a scan first asks for it, by the thread that asks, and kept, so that rows
//! that scans share are converted once.
//!
//! A [`FreshLayer`] is such rows above certain segments: where the row is that each key replaces there. Places name segments, not where
//! these stand in a set, so they stay when others come and go ([`FreshLayer::above`]).
//!
//! Rows that are kept beyond a scan are charged to the budget of memory ([`FreshLayer::keep`]), with the columns that scans make of them
//! later.

use std::{
    cmp::Ordering,
    sync::{Arc, OnceLock},
};

use ambo_codec::{
    Value,
    bitmap::{Bitmap, Positions},
    column::{Goal, Kind, encode},
};
use ambo_pages::budget::{Charge, MemoryBudget};
use ambo_types::{Error, Result, record::key_head};
use parking_lot::Mutex;

use super::{
    finder::{FOUND_TOGETHER, Finder},
    gallop::gallop,
    row_reader::RowReader,
    schema::ColumnSchema,
    set::{ColumnSet, RowPlace},
};
use ambo_scan::{Strings, buffer::ColumnBuffer};

/// Rows of one group.
const GROUP_ROWS: usize = 8 << 10;
/// With fewer keys to find, threads cost more than they gain.
const KEYS_A_THREAD: usize = 8 << 10;

/// A column of a group.
#[derive(Debug)]
pub(super) struct FreshColumn {
    pub kind: Kind,
    pub block: Vec<u8>,
    /// Its least and greatest value.
    pub bounds: Option<(Value, Value)>,
}

/// A few thousand rows of a layer.
#[derive(Debug)]
pub struct FreshGroup {
    /// Its first row among those of the layer.
    first: u32,
    keys: Strings,
    records: Strings,
    /// Each stored column, once it was asked for.
    columns: Vec<OnceLock<FreshColumn>>,
    /// Held while columns are made.
    making: Mutex<()>,
}

impl FreshGroup {
    fn new(first: u32, columns: usize) -> Self {
        let columns = (0..columns).map(|_| OnceLock::new()).collect();
        Self {
            first,
            keys: Strings::default(),
            records: Strings::default(),
            columns,
            making: Mutex::default(),
        }
    }

    /// How many rows.
    pub(super) fn rows(&self) -> usize {
        self.keys.len()
    }

    /// Its first row among those of the layer.
    pub(super) fn first_row(&self) -> u64 {
        self.first.into()
    }

    /// How many stored columns there are.
    pub(super) fn stored_columns(&self) -> usize {
        self.columns.len()
    }

    /// A column that [`FreshGroup::prepare`] was asked for.
    pub(super) fn column(&self, column: usize) -> &FreshColumn {
        self.columns[column].get().expect("a column that the scan asked for")
    }

    /// Makes the stored columns that are `needed`; returns how many bytes they take that were not there.
    fn prepare(&self, schema: &ColumnSchema, needed: &[bool]) -> Result<usize> {
        let missing = |column: &usize| needed[*column] && self.columns[*column].get().is_none();
        if !(0..needed.len()).any(|column| missing(&column)) {
            return Ok(0);
        }
        let mut bytes = 0;
        let _making = self.making.lock();
        let columns: Vec<usize> = (0..needed.len()).filter(missing).collect();
        let buffer = |column: &usize| ColumnBuffer::new(schema.types()[*column]);
        let mut buffers: Vec<_> = columns.iter().map(buffer).collect();
        let mut reader = RowReader::new(schema, &columns, &[])?;
        let unreadable =
            |error: ambo_codec::Error| Error::Invalid(format!("a row that cannot be read: {error}"));
        for row in 0..self.rows() {
            reader.read(self.keys.get(row), self.records.get(row), &mut buffers).map_err(unreadable)?;
        }
        debug_assert!(buffers.iter().all(|buffer| buffer.len() == self.rows()), "each row is read");
        for (column, buffer) in columns.into_iter().zip(buffers) {
            let mut block = Vec::new();
            let summary = encode(buffer.slice(), buffer.validity(), Goal::Speed, &mut block)
                .map_err(|error| Error::Invalid(error.to_string()))?;
            block.shrink_to_fit();
            bytes += block.len();
            let kind = Kind::of(buffer.ty());
            // The encoder of text counts NULLs as empty strings.
            let is_known = kind != Kind::Bytes || summary.nulls == 0;
            let bounds = summary.min.zip(summary.max).filter(|_| is_known);
            let _ = self.columns[column].set(FreshColumn { kind, block, bounds });
        }
        Ok(bytes)
    }

    /// Keeps columns, and forgets the rows that they are of. REQUIRES: no other columns are asked for.
    fn forget_rows(&mut self) -> usize {
        let before = self.keys.memory() + self.records.memory();
        self.records = Strings::default();
        self.keys.forget_bytes();
        before - self.keys.memory()
    }
}

/// No row.
const NO_ROW: u32 = u32::MAX;

/// The newest rows of some keys.
#[derive(Debug)]
pub struct FreshRows {
    /// All keys, in order, and the first bytes of each as a number: most comparisons need no more.
    names: Strings,
    heads: Vec<u64>,
    /// The row of each key among those of all groups, or [`NO_ROW`] if it is deleted.
    rows: Vec<u32>,
    groups: Vec<FreshGroup>,
    count: u32,
    /// The columns that are there of rows that were too many; none if the rows are there.
    only: Option<Vec<bool>>,
    account: Mutex<Account>,
}

/// Memory of rows.
#[derive(Debug, Default)]
struct Account {
    /// Of keys, records and columns.
    bytes: usize,
    /// The same in the budget, once they are kept.
    charge: Option<Charge>,
}

impl Account {
    fn add(&mut self, bytes: usize) {
        self.bytes += bytes;
        if let Some(charge) = &mut self.charge {
            charge.grow(bytes);
        }
    }
}

/// A row of a segment.
#[derive(Clone, Copy, Debug)]
struct SegmentPlace {
    segment: u64,
    row: u32,
}

/// See the module.
#[derive(Debug)]
pub struct FreshLayer {
    rows: Arc<FreshRows>,
    /// The row that each key replaces.
    places: Vec<Option<SegmentPlace>>,
    replaced: Arc<Replaced>,
    /// The segments in which these were looked for, in order, and the number of their set.
    segments: Vec<u64>,
    set: u64,
}

/// Rows of a set that newer ones replace.
#[derive(Debug, Default)]
pub struct Replaced {
    /// By run and part; none of a part of which no row is.
    parts: Vec<Vec<Option<Bitmap>>>,
    count: u64,
}

/// Takes rows in the order of their keys.
pub struct FreshBuilder<'s> {
    schema: &'s ColumnSchema,
    /// Beyond so many bytes only some columns are kept of rows: those that are needed now.
    bytes_max: usize,
    /// Those of the key among them, for scans in order.
    needed: Vec<bool>,
    rows: FreshRows,
}

impl<'s> FreshBuilder<'s> {
    /// Begins rows for a scan that needs some stored columns, instead of layers that may have only some, which come again.
    pub fn new(schema: &'s ColumnSchema, needed: &[bool], bytes_max: usize, instead: &[&FreshLayer]) -> Self {
        let mut needed = needed.to_vec();
        needed[..schema.key_columns()].fill(true);
        for only in instead.iter().filter_map(|layer| layer.rows.only.as_ref()) {
            needed.iter_mut().zip(only).for_each(|(needed, is_there)| *needed |= is_there);
        }
        let rows = FreshRows {
            names: Strings::default(),
            heads: Vec::new(),
            rows: Vec::new(),
            groups: Vec::new(),
            count: 0,
            only: None,
            account: Mutex::default(),
        };
        Self { schema, bytes_max, needed, rows }
    }

    /// Appends the newest row of a key, or that it is deleted.
    pub fn push(&mut self, key: &[u8], record: Option<&[u8]>) -> Result<()> {
        let rows = &mut self.rows;
        let columns = self.schema.types().len();
        debug_assert!(rows.names.is_empty() || rows.names.get(rows.names.len() - 1) < key, "keys ascend");
        rows.names.push(key);
        rows.heads.push(key_head(key));
        rows.rows.push(if record.is_some() { rows.count } else { NO_ROW });
        let account = rows.account.get_mut();
        // Its name with its end, its head, its row and its place.
        account.bytes += key.len() + size_of::<(usize, u64, u32, Option<SegmentPlace>)>();
        let Some(record) = record else { return Ok(()) };
        if rows.groups.last().is_none_or(|group| group.rows() == GROUP_ROWS) {
            if let Some(group) = rows.groups.last_mut() {
                group.keys.shrink_to_fit();
                group.records.shrink_to_fit();
            }
            self.cut_down()?;
            let first = self.rows.count;
            self.rows.groups.push(FreshGroup::new(first, columns));
        }
        let rows = &mut self.rows;
        let group = rows.groups.last_mut().expect("just pushed");
        group.keys.push(key);
        group.records.push(record);
        rows.count += 1;
        rows.account.get_mut().bytes += key.len() + record.len() + 2 * size_of::<usize>();
        Ok(())
    }

    /// Of rows that are too many only the columns stay that are needed.
    fn cut_down(&mut self) -> Result<()> {
        let rows = &mut self.rows;
        let account = rows.account.get_mut();
        if account.bytes <= self.bytes_max {
            return Ok(());
        }
        for group in rows.groups.iter_mut().filter(|group| !group.records.is_empty()) {
            account.bytes += group.prepare(self.schema, &self.needed)?;
            account.bytes -= group.forget_rows();
            rows.only.get_or_insert_with(|| self.needed.clone());
        }
        Ok(())
    }

    /// The rows.
    pub fn finish(mut self) -> Result<FreshRows> {
        self.cut_down()?;
        self.rows.names.shrink_to_fit();
        self.rows.heads.shrink_to_fit();
        self.rows.rows.shrink_to_fit();
        if cfg!(debug_assertions) {
            self.rows.verify();
        }
        Ok(self.rows)
    }
}

impl FreshRows {
    /// That its parts are of the same rows.
    fn verify(&self) {
        assert_eq!((self.heads.len(), self.rows.len()), (self.names.len(), self.names.len()));
        let live = self.rows.iter().filter(|row| **row != NO_ROW);
        assert!(live.copied().eq(0..self.count), "rows are numbered in the order of their keys");
        let mut first = 0;
        for group in &self.groups {
            assert_eq!(group.first_row(), first, "groups follow each other");
            assert!((1..=GROUP_ROWS).contains(&group.rows()));
            assert!(group.records.is_empty() || group.records.len() == group.rows(), "a record for each key");
            first += group.rows() as u64;
        }
        assert_eq!(first, u64::from(self.count), "each row is in a group");
    }
    /// The first key at or behind `from` that is not less than key `of` of other rows: keys of one layer are often near in another.
    fn search_from(&self, from: usize, other: &Self, of: usize) -> usize {
        let head = other.heads[of];
        let is_less = |at: usize| match self.heads[at].cmp(&head) {
            Ordering::Equal => self.names.get(at) < other.names.get(of),
            order => order.is_lt(),
        };
        from + gallop(self.rows.len() - from, |ahead| is_less(from + ahead))
    }

    /// Whether the key at a place is key `of` of other rows.
    fn is_at(&self, at: usize, other: &Self, of: usize) -> bool {
        at < self.rows.len() && self.heads[at] == other.heads[of] && self.names.get(at) == other.names.get(of)
    }
}

impl FreshLayer {
    /// Rows above a set. Places of keys that other layers above the same set know are taken from there.
    pub fn new(rows: FreshRows, set: &ColumnSet, known: &[&Self]) -> Result<Self> {
        let mut places = vec![None; rows.rows.len()];
        let mut unknown = Vec::new();
        let mut known: Vec<_> =
            known.iter().filter(|known| known.set == set.number()).map(|known| (*known, 0)).collect();
        for (index, place) in places.iter_mut().enumerate() {
            let found = known.iter_mut().find_map(|(known, at)| {
                *at = known.rows.search_from(*at, &rows, index);
                known.rows.is_at(*at, &rows, index).then(|| known.places[*at])
            });
            match found {
                Some(found) => *place = found,
                None => unknown.push(index),
            }
        }
        find_all(set, &rows.names, &unknown, &mut places)?;
        Ok(Self::with_places(Arc::new(rows), places, set))
    }

    /// The same rows above a set that was made from the one below them.
    ///
    /// A row that is left in a segment of both sets is where it was. Else its key can only be in a segment that is new: in one that both
    /// have, each row that is left now was left before, and there each key is left once.
    pub fn above(&self, set: &ColumnSet) -> Result<Self> {
        let mut places = self.places.clone();
        let mut gone = Vec::new();
        let mut last: Option<(u64, Option<(usize, usize)>)> = None;
        for (index, place) in places.iter_mut().enumerate() {
            let is_left = place.is_some_and(|SegmentPlace { segment, row }| {
                let (_, part) = match last {
                    Some(last) if last.0 == segment => last,
                    _ => *last.insert((segment, set.part_of(segment))),
                };
                part.is_some_and(|(run, part)| !set.runs()[run].parts[part].is_deleted(row))
            });
            if !is_left {
                *place = None;
                gone.push(index);
            }
        }
        let new = set.without_segments_of(&self.segments);
        if !new.runs().is_empty() {
            find_all(&new, &self.rows.names, &gone, &mut places)?;
        }
        Ok(Self::with_places(self.rows.clone(), places, set))
    }

    fn with_places(rows: Arc<FreshRows>, places: Vec<Option<SegmentPlace>>, set: &ColumnSet) -> Self {
        assert_eq!(places.len(), rows.rows.len(), "a place for each key");
        let mut replaced: Vec<Vec<Vec<u64>>> =
            set.runs().iter().map(|run| vec![Vec::new(); run.parts.len()]).collect();
        let mut last = None;
        for SegmentPlace { segment, row } in places.iter().flatten().copied() {
            let (_, (run, part)) = match last {
                Some(last @ (of, _)) if of == segment => last,
                _ => *last.insert((segment, set.part_of(segment).expect("a segment of the set"))),
            };
            replaced[run][part].push(row.into());
        }
        let count = places.iter().flatten().count() as u64;
        let bitmap = |rows: Vec<u64>| {
            (!rows.is_empty()).then(|| Bitmap::from_sorted(rows).expect("rows ascend with their keys"))
        };
        let parts = replaced.into_iter().map(|parts| parts.into_iter().map(bitmap).collect()).collect();
        let mut segments: Vec<u64> = set.segments().map(|segment| segment.id()).collect();
        segments.sort_unstable();
        Self { rows, places, replaced: Arc::new(Replaced { parts, count }), segments, set: set.number() }
    }

    /// Rows, without keys that are deleted.
    pub fn rows(&self) -> u64 {
        self.rows.count.into()
    }

    /// Whether keys are deleted.
    pub fn has_tombstones(&self) -> bool {
        self.rows.rows.len() > self.rows.count as usize
    }

    /// Whether it changes nothing.
    pub fn is_empty(&self) -> bool {
        self.rows.rows.is_empty()
    }

    /// Bytes of its keys, records and columns.
    pub fn bytes(&self) -> usize {
        self.rows.account.lock().bytes
    }

    /// Whether it has the columns that a scan needs.
    pub fn serves(&self, needed: &[bool]) -> bool {
        let has = |only: &Vec<bool>| needed.iter().zip(only).all(|(needed, is_there)| is_there | !needed);
        self.rows.only.as_ref().is_none_or(has)
    }

    /// Takes memory from the budget for what it holds and will hold, unless it has; false if there is none.
    pub fn keep(&self, memory: &Arc<MemoryBudget>) -> bool {
        let mut account = self.rows.account.lock();
        if account.charge.is_none() {
            account.charge = memory.charge_fresh(account.bytes);
        }
        account.charge.is_some()
    }

    /// How many groups its rows are in.
    pub fn groups(&self) -> usize {
        self.rows.groups.len()
    }

    /// A group of rows, with the stored columns that are needed.
    pub fn group(&self, group: usize, schema: &ColumnSchema, needed: &[bool]) -> Result<&FreshGroup> {
        let group = &self.rows.groups[group];
        let made = group.prepare(schema, needed)?;
        if made > 0 {
            self.rows.account.lock().add(made);
        }
        Ok(group)
    }

    /// The rows of the set that it replaces.
    pub fn replaced(&self) -> &Arc<Replaced> {
        &self.replaced
    }

    /// The number of the set that it is above.
    pub fn set(&self) -> u64 {
        self.set
    }

    /// The rows of an older layer whose keys this one has too; none if there are none.
    pub fn hidden_in(&self, older: &Self) -> Option<Bitmap> {
        let (newer, older) = (&*self.rows, &*older.rows);
        let mut rows = Vec::new();
        let mut at = 0;
        for index in 0..newer.rows.len() {
            at = older.search_from(at, newer, index);
            if at == older.rows.len() {
                break;
            }
            if older.rows[at] != NO_ROW && older.is_at(at, newer, index) {
                rows.push(older.rows[at].into());
            }
        }
        (!rows.is_empty()).then(|| Bitmap::from_sorted(rows).expect("rows ascend with their keys"))
    }
}

impl Replaced {
    /// The rows of a part of a run.
    pub fn of(&self, run: usize, part: usize) -> Option<&Bitmap> {
        self.parts.get(run)?.get(part)?.as_ref()
    }

    /// How many rows.
    pub fn count(&self) -> u64 {
        self.count
    }

    /// What is in either, both of the same set.
    pub fn or(self: &Arc<Self>, other: &Arc<Self>) -> Arc<Self> {
        if self.count == 0 || other.count == 0 {
            return if self.count == 0 { other.clone() } else { self.clone() };
        }
        debug_assert!(
            self.parts.iter().map(Vec::len).eq(other.parts.iter().map(Vec::len)),
            "both are of one set"
        );
        let either = |(a, b): (&Option<Bitmap>, &Option<Bitmap>)| match (a, b) {
            (Some(a), Some(b)) => Some(a.or(b)),
            (a, b) => a.clone().or_else(|| b.clone()),
        };
        let run = |(a, b): (&Vec<_>, &Vec<_>)| a.iter().zip(b).map(either).collect::<Vec<_>>();
        let parts: Vec<Vec<Option<Bitmap>>> = self.parts.iter().zip(&other.parts).map(run).collect();
        let count = parts.iter().flatten().flatten().map(Positions::cardinality).sum();
        debug_assert!(count <= self.count + other.count);
        Arc::new(Self { parts, count })
    }
}

/// Finds those of the keys, which ascend, that `wanted` names, and sets their places; many by several threads.
fn find_all(
    set: &ColumnSet,
    names: &Strings,
    wanted: &[usize],
    places: &mut [Option<SegmentPlace>],
) -> Result<()> {
    debug_assert!(wanted.is_sorted_by(|a, b| a < b));
    let find = |keys: &[usize]| -> Result<Vec<_>> {
        let mut finder = Finder::new(set);
        let place = |found: RowPlace| SegmentPlace {
            segment: set.runs()[found.run].parts[found.place.part].segment.id(),
            row: found.place.row,
        };
        let mut places = Vec::with_capacity(keys.len());
        for keys in keys.chunks(FOUND_TOGETHER) {
            let keys: Vec<_> = keys.iter().map(|key| names.get(*key)).collect();
            places.extend(finder.find_all(&keys)?.into_iter().map(|found| found.map(place)));
        }
        debug_assert_eq!(places.len(), keys.len(), "an answer for each key");
        Ok(places)
    };
    // How many processors there are is read from files: not for few keys.
    let threads = match wanted.len() / KEYS_A_THREAD {
        0 | 1 => 1,
        most => std::thread::available_parallelism().map_or(1, usize::from).min(most),
    };
    let chunks = wanted.chunks(wanted.len().div_ceil(threads).max(1));
    let found: Vec<Vec<_>> = std::thread::scope(|scope| {
        let mut chunks = chunks.clone();
        let own = chunks.next();
        let others: Vec<_> = chunks.map(|keys| scope.spawn(|| find(keys))).collect();
        let join = |thread: std::thread::ScopedJoinHandle<'_, Result<_>>| {
            thread.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic))
        };
        own.map(find).into_iter().chain(others.into_iter().map(join)).collect::<Result<_>>()
    })?;
    for (keys, found) in chunks.zip(found) {
        keys.iter().zip(found).for_each(|(key, place)| places[*key] = place);
    }
    Ok(())
}
