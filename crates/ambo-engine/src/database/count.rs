//! Counting a range, and summing its keys, without reading its records.
//!
//! The base counts its part by position, and a tree sums it by whole blocks. What is newer, memtables and runs, is
//! walked key by key: a key that the base has not adds one, a tombstone on one that it has takes one away. Where
//! much is newer, walking everything is cheaper than a look-up each. Where rows expire all are walked,
//! and asked, unless they are in the order of time.

use ambo_base::{BaseOps, btree::KeySum};
use ambo_types::Result;

use super::{
    cursor::{Cover, MergedCursor, Seek},
    expiry::Moment,
    version::TableVersion,
};
use crate::transaction::write_set::TableWrites;

/// A look-up in the base costs about as much as so many steps of a scan.
const LOOK_UP_STEPS: u64 = 8;

/// What is told of a range of keys.
trait Tally: Default {
    fn add(&mut self, key: &[u8]);
    fn remove(&mut self, key: &[u8]);
    fn count(&self) -> u64;
}

impl Tally for u64 {
    fn add(&mut self, _: &[u8]) {
        *self += 1;
    }
    fn remove(&mut self, _: &[u8]) {
        *self -= 1;
    }
    fn count(&self) -> u64 {
        *self
    }
}

impl Tally for KeySum {
    fn add(&mut self, key: &[u8]) {
        KeySum::add(self, key);
    }
    fn remove(&mut self, key: &[u8]) {
        KeySum::remove(self, key);
    }
    fn count(&self) -> u64 {
        self.count
    }
}

/// Rows of `table` at `at` with `lower <= key < upper`.
pub(super) fn count(
    table: &TableVersion,
    own: Option<TableWrites>,
    at: Moment,
    lower: Option<&[u8]>,
    upper: Option<&[u8]>,
) -> Result<u64> {
    if is_empty(lower, upper) {
        return Ok(0);
    }
    let Some(live) = live_from(table, at) else {
        return tally(MergedCursor::new(table, own, at, Cover::LiveKeys), lower, upper);
    };
    let lower = lower.max(live.as_deref());
    if is_empty(lower, upper) {
        return Ok(0);
    }
    newest(table, own, at, (lower, upper), compacted_count(table, lower, upper)?)
}

/// How many rows of `table` there are at `at` with `lower <= key < upper`, and the sum of their keys, which all have one
/// length of up to 8 bytes.
pub(super) fn sum_keys(
    table: &TableVersion,
    own: Option<TableWrites>,
    at: Moment,
    lower: Option<&[u8]>,
    upper: Option<&[u8]>,
) -> Result<KeySum> {
    if is_empty(lower, upper) {
        return Ok(KeySum::default());
    }
    let Some(live) = live_from(table, at) else {
        return tally(MergedCursor::new(table, own, at, Cover::LiveKeys), lower, upper);
    };
    let lower = lower.max(live.as_deref());
    if is_empty(lower, upper) {
        return Ok(KeySum::default());
    }
    match table.base.sum_keys(lower, upper)? {
        Some(compacted) => newest(table, own, at, (lower, upper), compacted),
        None => tally(MergedCursor::new(table, own, at, Cover::LiveKeys), lower, upper),
    }
}

/// From which key on no row has expired; none if keys do not say it. All below have.
fn live_from(table: &TableVersion, at: Moment) -> Option<Option<Vec<u8>>> {
    table.expired(at).map_or(Some(None), |expired| expired.live_from().map(Some))
}

fn is_empty(lower: Option<&[u8]>, upper: Option<&[u8]>) -> bool {
    lower.zip(upper).is_some_and(|(lower, upper)| lower >= upper)
}

/// From what is told of the base alone to what is told of the table.
fn newest<T: Tally>(
    table: &TableVersion,
    own: Option<TableWrites>,
    at: Moment,
    (lower, upper): (Option<&[u8]>, Option<&[u8]>),
    compacted: T,
) -> Result<T> {
    let newer = newer_rows(table) + own.as_ref().map_or(0, |own| own.len() as u64);
    if newer == 0 {
        return Ok(compacted);
    }
    if newer.saturating_mul(LOOK_UP_STEPS) > compacted.count() {
        return tally(MergedCursor::new(table, own, at, Cover::LiveKeys), lower, upper);
    }
    let mut tally = compacted;
    let mut compacted = table.base.prober();
    let mut cursor = MergedCursor::new(table, own, at, Cover::AboveBase);
    walk(&mut cursor, lower, upper, |cursor| {
        match (compacted.has(cursor.key())?, !cursor.record().is_tombstone()) {
            (false, true) => tally.add(cursor.key()),
            (true, false) => tally.remove(cursor.key()),
            _ => (),
        }
        Ok(())
    })?;
    Ok(tally)
}

/// What is told of the rows of a cursor, one by one.
fn tally<T: Tally>(mut cursor: MergedCursor, lower: Option<&[u8]>, upper: Option<&[u8]>) -> Result<T> {
    let mut tally = T::default();
    walk(&mut cursor, lower, upper, |cursor| {
        tally.add(cursor.key());
        Ok(())
    })?;
    Ok(tally)
}

/// Rows of the base alone.
pub(super) fn compacted_count(
    table: &TableVersion,
    lower: Option<&[u8]>,
    upper: Option<&[u8]>,
) -> Result<u64> {
    let below = upper.map_or_else(|| Ok(table.base.rows()), |upper| table.base.rank(upper))?;
    Ok(below - lower.map_or(Ok(0), |lower| table.base.rank(lower))?)
}

/// Rows above them, deletions and rows in several places among them. Where a range of keys was deleted, all may be.
pub(super) fn newer_rows(table: &TableVersion) -> u64 {
    let memtables =
        std::iter::once(&table.active).chain(&table.frozen).map(|memtable| memtable.rows() as u64);
    let above: u64 = memtables.chain(table.runs.iter().map(|run| run.meta().rows)).sum();
    if table.has_ranges() { above + table.base.rows() } else { above }
}

fn walk(
    cursor: &mut MergedCursor,
    lower: Option<&[u8]>,
    upper: Option<&[u8]>,
    mut visit: impl FnMut(&MergedCursor) -> Result<()>,
) -> Result<()> {
    let mut there = cursor.seek(lower.map_or(Seek::First, Seek::Ge))?;
    while there && upper.is_none_or(|upper| cursor.key() < upper) {
        debug_assert!(lower.is_none_or(|lower| lower <= cursor.key()), "a key of the range");
        visit(cursor)?;
        there = cursor.next()?;
    }
    Ok(())
}
