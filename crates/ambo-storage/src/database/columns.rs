//! The catalog's rows of segments: written with each checkpoint, and what opening makes of them.

use std::{
    collections::{HashMap, HashSet},
    sync::Arc,
};

use ambo_codec::bitmap::{Bitmap, Positions};

use super::{
    blobs::read_whole,
    damage::Damage,
    version::{DatabaseVersion, TableVersion},
};
use crate::{
    Error, Result,
    base::{
        BaseOps,
        column::{ColumnRun, ColumnSet, Deleted, Part, SegmentRow, SegmentStore},
    },
    catalog,
    id::{PageNo, TableId},
    page::{self, BlobRef, PageStore},
};

/// The catalog's rows of all segments, in key order.
pub(super) fn segment_rows(version: &DatabaseVersion) -> Vec<(Vec<u8>, Vec<u8>)> {
    let mut rows = Vec::new();
    for (id, table) in &version.tables {
        rows.extend(table.damage.iter().flat_map(|damage| damage.rows.iter().cloned()));
        let runs = table.base.columns().into_iter().flat_map(|columns| columns.runs()).enumerate();
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
            Ok(columns) => Arc::make_mut(&mut table).base = columns.into(),
            Err(error) => {
                let pages = rows.iter().filter_map(|(_, row)| row.blob.as_ref());
                let pages = pages.flat_map(|blob| blob.pages().iter().copied()).collect();
                let rows =
                    rows.iter().map(|(segment, row)| (catalog::segment_key(id, *segment), row.encode()));
                let damage = Damage::of(error, rows.collect(), pages)?;
                let table = Arc::make_mut(&mut table);
                table.damage = Some(Arc::new(damage));
                table.is_held = true;
            }
        }
        Ok(table)
    }

    fn open_set(table: &TableVersion, rows: &[(u64, SegmentRow)]) -> Result<ColumnSet> {
        let id = table.shared.id;
        let damaged =
            |what: String| Error::damaged(page::NAME, 0, format!("the catalog: table {id}: {what}"));
        let Some(empty) = table.base.columns() else {
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
