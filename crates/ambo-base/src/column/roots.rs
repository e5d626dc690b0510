//! What a checkpoint says of a set: its segments, and which of their rows are deleted.

use std::{collections::HashSet, sync::Arc};

use ambo_codec::bitmap::{Bitmap, Positions};
use ambo_pages::page::{self, BlobReader, PageRange, PageStore};
use ambo_types::{Error, Result};

use super::{
    manifest::SegmentRow,
    run::{ColumnRun, Deleted, Part},
    segment::SegmentStore,
    set::ColumnSet,
};
use crate::{Root, root::SEGMENT};

impl ColumnSet {
    /// A root for each segment.
    pub(super) fn roots(&self) -> Vec<Root> {
        let mut roots = Vec::new();
        for (run, of) in self.runs().iter().enumerate() {
            for part in &of.parts {
                let row = SegmentRow {
                    run: run as u64,
                    file_bytes: part.segment.file_bytes(),
                    rows: part.rows(),
                    deleted: part.deleted_rows(),
                    blob: part.deleted.as_ref().and_then(|deleted| deleted.blob.clone()),
                };
                roots.push(Root { tag: SEGMENT, part: part.segment.id(), bytes: row.encode() });
            }
        }
        roots
    }

    /// Pages of deleted rows that roots name.
    pub(super) fn pages_of(roots: &[Root]) -> Result<Vec<PageRange>, String> {
        let mut pages = Vec::new();
        for root in roots.iter().filter(|root| root.tag == SEGMENT) {
            let row = SegmentRow::decode(&root.bytes)?;
            pages.extend(row.blob.iter().flat_map(|blob| blob.pages().iter().copied()));
        }
        Ok(pages)
    }

    /// The set with the segments that roots name. REQUIRES: this one is empty.
    pub(super) fn open(&self, roots: &[Root], store: &Arc<PageStore>) -> Result<Self> {
        let damaged = |what: String| Error::damaged(page::NAME, 0, format!("the catalog: {what}"));
        debug_assert!(self.runs().is_empty(), "a base is opened once");
        let mut runs: Vec<ColumnRun> = Vec::new();
        let count = roots.len() as u64;
        for Root { tag, part: number, bytes } in roots {
            if *tag != SEGMENT {
                return Err(damaged(format!("a root of kind {tag} of a column table")));
            }
            let row = SegmentRow::decode(bytes).map_err(damaged)?;
            if row.run >= count {
                return Err(damaged(format!("segment {number} belongs to run {} of {count}", row.run)));
            }
            let run = row.run as usize;
            let segment = self.store().open(*number, row.file_bytes, self.schema())?;
            if segment.directory().rows() != row.rows {
                return Err(damaged(format!("segment {number} has another number of rows")));
            }
            runs.resize_with(runs.len().max(run + 1), ColumnRun::default);
            let deleted = read_deleted(store, &row)?;
            runs[run].parts.push(Part { segment, deleted });
        }
        for run in &mut runs {
            run.parts
                .sort_by(|a, b| a.segment.directory().first_key().cmp(b.segment.directory().first_key()));
        }
        Ok(Self::new(self.store().clone(), self.schema().clone(), runs))
    }
}

fn read_deleted(store: &Arc<PageStore>, row: &SegmentRow) -> Result<Option<Arc<Deleted>>> {
    let Some(blob) = &row.blob else { return Ok(None) };
    let bytes = BlobReader::new(store, blob.clone())?.read_all()?;
    let damaged = |what: String| {
        let first = blob.pages().first().map_or(0, |range| range.start.0);
        let at = first * store.page_size() as u64;
        Error::damaged(page::NAME, at, format!("the deleted rows of a segment: {what}"))
    };
    let rows = Bitmap::decode(&bytes).map_err(|error| damaged(error.to_string()))?;
    if rows.cardinality() != u64::from(row.deleted) || rows.last() >= Some(u64::from(row.rows)) {
        return Err(damaged("not so many, or not rows of it".into()));
    }
    Ok(Some(Arc::new(Deleted { rows, count: row.deleted, blob: Some(blob.clone()) })))
}

impl SegmentStore {
    /// Lets later segments have other ids than those that a checkpoint names, or that a crash left behind. Returns the latter.
    pub fn sweep(&self, known: &HashSet<u64>) -> Result<Vec<u64>> {
        known.iter().for_each(|id| self.note_id(*id));
        let mut left = self.list()?;
        left.iter().for_each(|id| self.note_id(*id));
        left.retain(|id| !known.contains(id));
        Ok(left)
    }
}
