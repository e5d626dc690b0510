//! Which way leads to the rows that conditions leave: by a path, by several together, by a scan of columns, or by a look at each row.
//!
//! The path with fewest entries is taken; others with not many more are taken, too, and the keys that all of them name are looked up: a row
//! that one of them excludes is never read. A column table is scanned where that costs less than the look-ups: a scan skips groups of rows
//! whose bounds, or a bitmap index, exclude them, and asks the others' blocks. In other tables all rows are looked at, where no path
//! excludes most of them.
//!
//! # Weights
//! What ways cost is compared in nanoseconds. The figures were measured with `examples/find_rows` of crate `ambo` on one machine, in cache,
//! and are rounded; others are faster or slower at all of it.

use ambo_scan::Filter;

use ambo_base::{
    BaseOps,
    column::{ColumnSchema, ColumnSet, Reach, answers_at_once, is_answered_at_once},
};
use ambo_types::{Result, TableDefinition, id::TableId};

use super::{
    find::{Fetch, ReadView},
    path::{Path, paths},
    scan::{ScanPlan, TableScan, stored_filters},
    scanned::ScannedRows,
    version::TableVersion,
};

/// A path is worth its look-ups if it has at most one in so many of the table's rows.
const SHARE_MAX: u64 = 8;
/// Fewer keys than these are looked up as they are.
const LOOKED_UP_MIN: u64 = 64;
/// A path with at most so many times the keys of the best is worth reading for the look-ups that it saves.
const INTERSECTED_SHARE: u64 = 8;
/// With more keys than these their list would be too long.
const INTERSECTED_MAX: u64 = 1 << 20;

/// To look up a row of a column table by its key: 3 µs if it was looked up lately, up to 20 if not.
const LOOK_UP: u64 = 8000;
/// To come to the next row of a range of keys, and to ask it.
const STEP: u64 = 700;
/// To read the entry of an index for the key that it names.
const ENTRY: u64 = 150;
/// To ask a row of a block.
const ASK: u64 = 1;
/// To find out where in the blocks of all columns of a group rows are.
const GROUP: u64 = 8000;
/// To put a row together, in a scan.
const MAKE: u64 = 500;
/// To make columns of a row that is not in a segment; the next scan may find them made.
const NEWER: u64 = 400;

/// A way to rows.
pub(super) enum Way {
    /// One after the other; all conditions have to be asked of them.
    Rows(Fetch),
    /// By columns; they are those that the conditions leave.
    Scan(ScannedRows),
}

/// How to get at the rows of a table that answer filters with yes.
pub(super) fn choose(
    view: &dyn ReadView,
    id: TableId,
    definition: &TableDefinition,
    filters: &[Filter],
) -> Result<Way> {
    let table = view.version().table(id)?;
    let count = |path: Path| Ok((path.count(view, id)?, path));
    let mut counted =
        paths(view, id, definition, filters)?.into_iter().map(count).collect::<Result<Vec<_>>>()?;
    counted.sort_by_key(|(count, _)| *count);
    if let (Some(columns), Some(schema)) = (table.base.columns(), &table.shared.schema)
        && !filters.is_empty()
        && counted.first().is_none_or(|(best, _)| *best > LOOKED_UP_MIN)
    {
        let question = Question { view, id, definition, table, columns, schema, filters };
        if let Some(scan) = question.scan_instead(&counted)? {
            question.note_scan(&counted);
            return Ok(Way::Scan(ScannedRows::new(scan)));
        }
    }
    by_rows(view, id, counted).map(Way::Rows)
}

/// By one of these paths, which ascend by their counts, by several, or by a look at each row.
fn by_rows(view: &dyn ReadView, id: TableId, mut counted: Vec<(u64, Path)>) -> Result<Fetch> {
    debug_assert!(counted.is_sorted_by_key(|(count, _)| *count), "paths ascend by their counts");
    let all = Path::Keys { lower: Vec::new(), upper: None };
    let Some(&(best, _)) = counted.first() else { return all.source(view, id) };
    if best > LOOKED_UP_MIN && best > view.count_in(id, &[], None)? / SHARE_MAX {
        // A range of keys is never more than all of them.
        let keys = counted.into_iter().find(|(_, path)| matches!(path, Path::Keys { .. }));
        return keys.map_or(all, |(_, path)| path).source(view, id);
    }
    let together = together(&counted);
    if best <= LOOKED_UP_MIN || together < 2 {
        let (_, path) = counted.swap_remove(0);
        return path.source(view, id);
    }
    let mut common: Option<Vec<Vec<u8>>> = None;
    for (_, path) in counted.into_iter().take(together) {
        let keys = path.keys(view, id)?;
        common = Some(match common {
            None => keys,
            Some(common) => intersection(common, &keys),
        });
    }
    Ok(Fetch::Keys(common.expect("at least two").into_iter()))
}

/// How many paths, which ascend by their counts, are worth being read for the keys that they have in common.
fn together(counted: &[(u64, Path)]) -> usize {
    let best = counted.first().map_or(0, |(count, _)| *count);
    let most = best.saturating_mul(INTERSECTED_SHARE).min(INTERSECTED_MAX);
    counted.iter().filter(|(count, _)| *count <= most).count()
}

/// What is in both of two sorted lists.
fn intersection(mut a: Vec<Vec<u8>>, b: &[Vec<u8>]) -> Vec<Vec<u8>> {
    debug_assert!(a.is_sorted() && b.is_sorted(), "lists that are compared are in order");
    let mut at = 0;
    a.retain(|key| {
        while b.get(at).is_some_and(|other| other < key) {
            at += 1;
        }
        b.get(at) == Some(key)
    });
    a
}

/// Conditions on a column table.
struct Question<'a> {
    view: &'a dyn ReadView,
    id: TableId,
    definition: &'a TableDefinition,
    table: &'a TableVersion,
    columns: &'a ColumnSet,
    schema: &'a ColumnSchema,
    filters: &'a [Filter],
}

impl Question<'_> {
    /// A scan, if it costs less than to follow the best of these paths, or some of them together.
    fn scan_instead(&self, counted: &[(u64, Path)]) -> Result<Option<TableScan>> {
        let Some(followed) = self.weight_of(counted) else { return self.scan().map(Some) };
        let Some(left) = followed.checked_sub(self.newer_rows().saturating_mul(NEWER)) else {
            return Ok(None);
        };
        let most = counted[0].0;
        let stored = stored_filters(self.definition, self.schema, self.filters)?;
        if weight_of_scan(self.columns.reach(&stored), most) < left {
            return self.scan().map(Some);
        }
        // To make postings for so few rows would take longer than they save.
        let bitmaps = self.view.version().catalog.bitmap_columns(self.id);
        let bitmaps: Vec<_> = bitmaps.map(|column| self.schema.place(column)).collect();
        let mut answered = stored.iter().filter(|filter| bitmaps.contains(&filter.column)).peekable();
        let is_asked = answered.peek().is_some() || answers_at_once(self.columns, &stored);
        if !is_asked || !answered.all(|filter| is_answered_at_once(self.columns, filter)) {
            return Ok(None);
        }
        let scan = self.scan()?;
        Ok((weight_of_scan(scan.reach(), most) < left).then_some(scan))
    }

    fn scan(&self) -> Result<TableScan> {
        self.view.scan(
            self.id,
            &ScanPlan { columns: Vec::new(), filters: self.filters.to_vec(), ..ScanPlan::default() },
        )
    }

    /// Notes what a scan reads: a row that comes to be elsewhere is none that the conditions leave.
    fn note_scan(&self, counted: &[(u64, Path)]) {
        let keys = counted.iter().find_map(|(_, path)| match path {
            Path::Keys { lower, upper } => Some((&lower[..], upper.as_deref())),
            _ => None,
        });
        let (lower, upper) = keys.unwrap_or((&[], None));
        self.view.note_read(self.id, lower, upper);
    }

    /// What it costs to follow the path that costs least, or several together; none without a path.
    fn weight_of(&self, counted: &[(u64, Path)]) -> Option<u64> {
        let least = counted.iter().map(|(count, path)| weight(path, *count)).min()?;
        let together = together(counted);
        if together < 2 {
            return Some(least);
        }
        // As if the conditions had nothing to do with each other.
        let rows = self.columns.live_rows().saturating_add(self.newer_rows()).max(1) as f64;
        let counts = || counted[..together].iter().map(|(count, _)| *count);
        let common = counts().fold(rows, |rows_left, count| rows_left * (count as f64 / rows).min(1.0));
        let entries = counts().fold(0, u64::saturating_add).saturating_mul(ENTRY);
        Some(least.min(entries.saturating_add((common * LOOK_UP as f64) as u64)))
    }

    /// Rows, and keys that were deleted, that are not in segments yet; several of a key count so often.
    fn newer_rows(&self) -> u64 {
        let memtables = std::iter::once(&self.table.active).chain(&self.table.frozen);
        let in_memtables: u64 = memtables.map(|memtable| memtable.rows() as u64).sum();
        let in_runs: u64 = self.table.runs.iter().map(|run| run.meta().rows).sum();
        in_memtables.saturating_add(in_runs)
    }
}

/// What it costs to scan for so many rows at most.
fn weight_of_scan(reach: Reach, most: u64) -> u64 {
    let Reach { groups, asked, rows } = reach;
    let rows = rows.min(most);
    (asked * ASK).saturating_add(groups.min(rows) * GROUP).saturating_add(rows * MAKE)
}

/// What it costs to follow a path of so many entries.
fn weight(path: &Path, count: u64) -> u64 {
    let rows = |each: u64| count.saturating_mul(each);
    match path {
        Path::Keys { .. } => rows(STEP).saturating_add(LOOK_UP),
        Path::Index { .. } => rows(LOOK_UP),
        Path::Several(paths) => match paths.first() {
            Some(Path::Keys { .. }) => rows(STEP).saturating_add(paths.len() as u64 * LOOK_UP),
            _ => rows(LOOK_UP),
        },
    }
}
