//! Column tables: settling their runs into segments, and the catalog's rows of segments.
//!
//! What is spilled of a column table becomes a run, a packed tree, as of any table. Settling takes all runs at once: the newest
//! row of each key goes into new segments, the row that it replaces is marked as deleted, and so the segments hold each key
//! once. The deleted rows of a segment are a bitmap in blob pages, written anew when it changes.

use std::{
    collections::{HashMap, HashSet},
    sync::Arc,
};

use ambo_codec::bitmap::{Bitmap, Positions};

use super::{
    blobs::read_whole,
    checkpoint::Turnover,
    cursor::{Cover, MergedCursor, Seek},
    damage::Damage,
    engine::{Engine, NEWEST},
    version::{DatabaseVersion, TableVersion},
    version_edit::{TableEdit, VersionEdit},
};
use crate::{
    Error, Result,
    base::{
        btree::{RowStream, Tree},
        column::{ColumnRun, ColumnSet, Deleted, Part, Segment, SegmentRow, SegmentStore},
    },
    catalog,
    id::{PageNo, TableId},
    page::{self, BlobRef, BlobWriter, PageRange, PageStore},
    record::Record,
};

/// How much of a table is settled at once.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Extent {
    /// The runs, and nothing more.
    Runs,
    /// The runs, and all segments into one run of segments.
    All,
}

/// Settling is due with so many rows in runs, for scans look at each by itself …
const ROWS_DUE: u64 = 8 << 10;
/// … or with so many runs, for reads look into each.
const RUNS_DUE: usize = 4;

/// With so many runs of segments a load waits until they are fewer.
const COLUMN_RUNS_LIMIT: usize = 32;

/// Whether the runs of a column table should be settled.
pub(super) fn is_settling_due(table: &TableVersion) -> bool {
    let rows = table.runs.iter().map(|run| run.meta().rows).sum::<u64>();
    !table.awaits_main && (rows >= ROWS_DUE || table.runs.len() >= RUNS_DUE)
}

/// The rows of a cursor from the first to the last.
pub(super) struct Rows {
    cursor: MergedCursor,
    started: bool,
}

impl Rows {
    pub fn new(cursor: MergedCursor) -> Self {
        Self { cursor, started: false }
    }
}

impl RowStream for Rows {
    fn next_row(&mut self) -> Result<Option<(&[u8], Record<'_>)>> {
        let there = match self.started {
            true => self.cursor.next()?,
            false => self.cursor.seek(Seek::First)?,
        };
        self.started = true;
        Ok(there.then(|| (self.cursor.key(), self.cursor.record())))
    }
}

impl Engine {
    /// Settles all runs of this very version of a column table: newer ones may have come, none may have gone. With
    /// `relocate_from` its pages from there on are moved down. The caller holds `merging`.
    pub(super) fn settle_columns(
        &self,
        table: &TableVersion,
        extent: Extent,
        relocate_from: Option<PageNo>,
    ) -> Result<()> {
        let id = table.shared.id;
        let Some(old) = table.columns.clone() else { return Ok(()) };
        let mut rows = Rows::new(MergedCursor::new(table, None, NEWEST, Cover::Runs));
        let store = &table.shared.store;
        let read_blob = |reference: &[u8]| read_whole(store, &Self::decode_blob(reference, id)?);
        let settled = match table.runs.is_empty() {
            true => (*old).clone(),
            false => old.settle(&mut rows, &read_blob, &self.cancel_merge)?,
        };
        let tidy = match extent {
            Extent::Runs => settled,
            Extent::All => settled.tidy(true, &self.cancel_merge)?,
        };
        self.replace_columns(table, tidy, relocate_from)
    }

    /// Merges segments of a table as they are due, beside loads and settling. Returns whether some were. The caller holds `tidying`.
    pub(super) fn tidy_columns(&self, id: TableId) -> Result<bool> {
        let Some(from) = self.tidying_due(id) else { return Ok(false) };
        let tidy = from.tidy(false, &self.cancel_merge)?;
        let _merging = self.merging.lock();
        let version = self.versions.load_full();
        // It may be another table by now, or be held as it is.
        let Some(table) = version.tables.get(&id).filter(|table| !table.awaits_main) else {
            return Ok(false);
        };
        let Some(now) = &table.columns else { return Ok(false) };
        let tidy = if Arc::ptr_eq(now, &from) { tidy } else { tidy.rebased(&from, now)? };
        // Runs stay as they are.
        let table = TableVersion { runs: Vec::new(), ..(**table).clone() };
        self.replace_columns(&table, tidy, None)?;
        Ok(true)
    }

    /// The segments of a table, if some of them are to be merged.
    fn tidying_due(&self, id: TableId) -> Option<Arc<ColumnSet>> {
        let version = self.versions.load();
        let table = version.tables.get(&id).filter(|table| !table.awaits_main)?;
        table.columns.clone().filter(|columns| columns.is_tidying_due())
    }

    /// Merges segments of a table as long as there are so many runs of them that look-ups would suffer: who brings more keeps up with merging.
    pub(super) fn limit_column_runs(&self, id: TableId) -> Result<()> {
        let is_crowded = |columns: Arc<ColumnSet>| columns.runs().len() >= COLUMN_RUNS_LIMIT;
        while self.tidying_due(id).is_some_and(is_crowded) {
            let _tidying = self.tidying.lock();
            self.tidy_columns(id)?;
        }
        Ok(())
    }

    /// Publishes a set in the place of the columns and the runs of a table, unless it is the same.
    fn replace_columns(
        &self,
        table: &TableVersion,
        new: ColumnSet,
        relocate_from: Option<PageNo>,
    ) -> Result<()> {
        let old = table.columns.as_ref().expect("a column table");
        let store = &table.shared.store;
        let mut born = Vec::new();
        let stored = store_deleted(store, &new, relocate_from, &mut born);
        let result = match stored {
            Ok(None) if table.runs.is_empty() && is_same(&new, old) => return Ok(()),
            Ok(stored) => {
                let new = Arc::new(stored.unwrap_or(new));
                self.install_settled(table.shared.id, &table.runs, old, &new, born.clone())
            }
            Err(error) => Err(error),
        };
        result.inspect_err(|_| self.give_back(store, born))
    }

    /// Publishes a settled set in the place of the old one and the runs.
    fn install_settled(
        &self,
        id: TableId,
        inputs: &[Arc<Tree>],
        old: &ColumnSet,
        new: &Arc<ColumnSet>,
        born: Vec<PageRange>,
    ) -> Result<()> {
        let turnover = turnover(inputs, old, new, born)?;
        let locks = self.lock_checkpoint();
        if !locks.version().tables.contains_key(&id) {
            // Dropped meanwhile: nobody has what is new.
            self.store.free(turnover.born);
            return Ok(());
        }
        let mut edit = VersionEdit::checkpoint(turnover);
        edit.table(id, TableEdit::Settle { inputs: inputs.to_vec(), columns: new.clone() });
        self.apply(locks, edit)
    }
}

/// What comes and goes when `new` takes the place of `old` and of trees.
pub(super) fn turnover(
    trees: &[Arc<Tree>],
    old: &ColumnSet,
    new: &ColumnSet,
    born: Vec<PageRange>,
) -> Result<Turnover> {
    let mut retired = Vec::new();
    for tree in trees {
        retired.extend(tree.all_pages()?);
    }
    let kept: HashSet<_> = new.deleted_pages().map(|range| range.start).collect();
    retired.extend(old.deleted_pages().filter(|range| !kept.contains(&range.start)));
    let without = |these: &ColumnSet, others: &ColumnSet| -> Vec<Arc<Segment>> {
        let others: HashSet<_> = others.segments().map(|segment| segment.id()).collect();
        these.segments().filter(|segment| !others.contains(&segment.id())).cloned().collect()
    };
    let (new_segments, old_segments) = (without(new, old), without(old, new));
    Ok(Turnover { born, retired, new_segments, old_segments, ..Turnover::default() })
}

/// Whether two sets are the same.
fn is_same(a: &ColumnSet, b: &ColumnSet) -> bool {
    let same_run = |a: &ColumnRun, b: &ColumnRun| {
        a.parts.len() == b.parts.len() && a.parts.iter().zip(&b.parts).all(|(a, b)| a.is_same(b))
    };
    a.runs().len() == b.runs().len() && a.runs().iter().zip(b.runs()).all(|(a, b)| same_run(a, b))
}

/// Writes the deleted rows that are not stored yet, or are to be moved. None if there are none.
pub(super) fn store_deleted(
    store: &Arc<PageStore>,
    set: &ColumnSet,
    relocate_from: Option<PageNo>,
    born: &mut Vec<PageRange>,
) -> Result<Option<ColumnSet>> {
    let is_due = |deleted: &Deleted| match (&deleted.blob, relocate_from) {
        (None, _) => true,
        (Some(blob), Some(from)) => blob.pages().iter().any(|range| range.end() > from.0),
        (Some(_), None) => false,
    };
    if !set.parts().filter_map(|part| part.deleted.as_ref()).any(|deleted| is_due(deleted)) {
        return Ok(None);
    }
    let mut runs = set.runs().to_vec();
    for deleted in runs.iter_mut().flat_map(|run| &mut run.parts).filter_map(|part| part.deleted.as_mut()) {
        if is_due(deleted) {
            let mut bytes = Vec::new();
            deleted.rows.encode(&mut bytes);
            let mut writer = BlobWriter::new(store, None);
            writer.write_all(&bytes)?;
            let blob = writer.finish()?;
            born.extend(blob.pages().iter().copied());
            *deleted =
                Arc::new(Deleted { rows: deleted.rows.clone(), count: deleted.count, blob: Some(blob) });
        }
    }
    Ok(Some(ColumnSet::new(set.store().clone(), set.schema().clone(), runs)))
}

/// The catalog's rows of all segments, in key order.
pub(super) fn segment_rows(version: &DatabaseVersion) -> Vec<(Vec<u8>, Vec<u8>)> {
    let mut rows = Vec::new();
    for (id, table) in &version.tables {
        rows.extend(table.damage.iter().flat_map(|damage| damage.rows.iter().cloned()));
        let runs = table.columns.iter().flat_map(|columns| columns.runs()).enumerate();
        for (run, part) in runs.flat_map(|(run, of)| of.parts.iter().map(move |part| (run, part))) {
            let row = SegmentRow {
                run: run as u64,
                file_bytes: part.segment.file_bytes(),
                rows: part.rows(),
                deleted: part.deleted_rows(),
                blob: part.deleted.as_ref().and_then(|deleted| deleted.blob.clone()),
            };
            rows.push((catalog::segment_key(*id, part.segment.id()), row.encode()));
        }
    }
    rows.sort_unstable();
    rows
}

/// The segments that a checkpoint's catalog names.
#[derive(Default)]
pub(super) struct CatalogSegments(HashMap<TableId, Vec<(u64, SegmentRow)>>);

impl CatalogSegments {
    /// Takes a row of the catalog if it is one of a segment.
    pub(super) fn take(&mut self, key: &[u8], value: &[u8]) -> Result<bool, String> {
        let Some((table, segment)) = catalog::segment_row(key) else { return Ok(false) };
        self.0.entry(table).or_default().push((segment, SegmentRow::decode(value)?));
        Ok(true)
    }

    /// Opens the segments of a table. If one of them cannot be read, neither can the table.
    pub(super) fn open(&mut self, mut table: Arc<TableVersion>) -> Result<Arc<TableVersion>> {
        let id = table.shared.id;
        let Some(rows) = self.0.remove(&id) else { return Ok(table) };
        match Self::open_set(&table, &rows) {
            Ok(columns) => Arc::make_mut(&mut table).columns = Some(Arc::new(columns)),
            Err(error) => {
                let pages = rows.iter().filter_map(|(_, row)| row.blob.as_ref());
                let pages = pages.flat_map(|blob| blob.pages().iter().copied()).collect();
                let rows =
                    rows.iter().map(|(segment, row)| (catalog::segment_key(id, *segment), row.encode()));
                let damage = Damage::of(error, rows.collect(), pages)?;
                let table = Arc::make_mut(&mut table);
                table.damage = Some(Arc::new(damage));
                table.awaits_main = true;
            }
        }
        Ok(table)
    }

    fn open_set(table: &TableVersion, rows: &[(u64, SegmentRow)]) -> Result<ColumnSet> {
        let id = table.shared.id;
        let damaged =
            |what: String| Error::damaged(page::NAME, 0, format!("the catalog: table {id}: {what}"));
        let Some(empty) = &table.columns else {
            return Err(damaged("it has segments and is no column table".into()));
        };
        let mut runs: Vec<ColumnRun> = Vec::new();
        let count = rows.len() as u64;
        for (number, row) in rows {
            let number = *number;
            if row.run >= count {
                return Err(damaged(format!("segment {number} belongs to run {} of {count}", row.run)));
            }
            let run = row.run as usize;
            let segment = empty.store().open(number, row.file_bytes, empty.schema())?;
            if segment.directory().rows() != row.rows {
                return Err(damaged(format!("segment {number} has another number of rows")));
            }
            runs.resize_with(runs.len().max(run + 1), ColumnRun::default);
            let deleted = read_deleted(&table.shared.store, row)?;
            runs[run].parts.push(Part { segment, deleted });
        }
        for run in &mut runs {
            run.parts
                .sort_by(|a, b| a.segment.directory().first_key().cmp(b.segment.directory().first_key()));
        }
        Ok(ColumnSet::new(empty.store().clone(), empty.schema().clone(), runs))
    }

    /// Lets later segments have other ids, and removes files that a crash left behind.
    pub(super) fn sweep(&self, store: &SegmentStore, read_only: bool) -> Result<()> {
        let known: HashSet<u64> = self.0.values().flatten().map(|(segment, _)| *segment).collect();
        known.iter().for_each(|id| store.note_id(*id));
        for id in store.list()? {
            store.note_id(id);
            if !read_only && !known.contains(&id) {
                store.remove(id)?;
            }
        }
        Ok(())
    }
}

fn read_deleted(store: &Arc<PageStore>, row: &SegmentRow) -> Result<Option<Arc<Deleted>>> {
    let Some(blob) = &row.blob else { return Ok(None) };
    let bytes = read_whole(store, blob)?;
    let damaged = |what: String| {
        let at = first_page(blob).map_or(0, |page| page.0 * store.page_size() as u64);
        Error::damaged(page::NAME, at, format!("the deleted rows of a segment: {what}"))
    };
    let rows = Bitmap::decode(&bytes).map_err(|error| damaged(error.to_string()))?;
    if rows.cardinality() != u64::from(row.deleted) || rows.last() >= Some(u64::from(row.rows)) {
        return Err(damaged("not so many, or not rows of it".into()));
    }
    Ok(Some(Arc::new(Deleted { rows, count: row.deleted, blob: Some(blob.clone()) })))
}

fn first_page(blob: &BlobRef) -> Option<PageNo> {
    blob.pages().first().map(|range| range.start)
}
