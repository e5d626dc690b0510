//! Counting a range without reading its records.
//!
//! The main tree counts its part by position (its inner pages hold the entries below them). What is newer, deltas and runs, is
//! walked key by key: a key that the main tree has not adds one, a tombstone on one that it has takes one away. Where
//! much is newer, walking everything is cheaper than a look-up each.

use super::{
    cursor::{Cover, MergedCursor, Seek},
    version::TableVersion,
};
use crate::{Result, id::Timestamp, transaction::write_set::TableWrites};

/// A look-up in the main tree costs about as much as so many steps of a scan.
const LOOK_UP_STEPS: u64 = 8;

/// Rows of `table` at `at` with `lower <= key < upper`.
pub(super) fn count(
    table: &TableVersion,
    own: Option<TableWrites>,
    at: Timestamp,
    lower: Option<&[u8]>,
    upper: Option<&[u8]>,
) -> Result<u64> {
    if lower.zip(upper).is_some_and(|(lower, upper)| lower >= upper) {
        return Ok(0);
    }
    let settled = settled_count(table, lower, upper)?;
    let newer = newer_rows(table) + own.as_ref().map_or(0, |own| own.len() as u64);
    if newer == 0 {
        return Ok(settled);
    }
    if newer.saturating_mul(LOOK_UP_STEPS) > settled {
        let mut cursor = MergedCursor::new(table, own, at, Cover::Live);
        let mut rows = 0;
        walk(&mut cursor, lower, upper, |_| {
            rows += 1;
            Ok(())
        })?;
        return Ok(rows);
    }
    let mut rows = settled;
    let mut cursor = MergedCursor::new(table, own, at, Cover::AboveMain);
    walk(&mut cursor, lower, upper, |cursor| {
        let was_there = match &table.main {
            Some(main) => main.get(cursor.key())?.is_some(),
            None => false,
        };
        let is_there = !cursor.record().is_tombstone();
        rows = rows + u64::from(is_there) - u64::from(was_there);
        Ok(())
    })?;
    Ok(rows)
}

fn settled_count(table: &TableVersion, lower: Option<&[u8]>, upper: Option<&[u8]>) -> Result<u64> {
    let Some(main) = &table.main else { return Ok(0) };
    let below = |key: Option<&[u8]>, none: u64| key.map_or(Ok(none), |key| main.rank(key));
    Ok(below(upper, main.meta().rows)? - below(lower, 0)?)
}

fn newer_rows(table: &TableVersion) -> u64 {
    let deltas = std::iter::once(&table.active).chain(&table.frozen).map(|delta| delta.rows() as u64);
    deltas.chain(table.runs.iter().map(|run| run.meta().rows)).sum()
}

fn walk(
    cursor: &mut MergedCursor,
    lower: Option<&[u8]>,
    upper: Option<&[u8]>,
    mut visit: impl FnMut(&MergedCursor) -> Result<()>,
) -> Result<()> {
    let mut there = cursor.seek(lower.map_or(Seek::First, Seek::Ge))?;
    while there && upper.is_none_or(|upper| cursor.key() < upper) {
        visit(cursor)?;
        there = cursor.next()?;
    }
    Ok(())
}
