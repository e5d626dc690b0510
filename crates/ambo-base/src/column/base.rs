//! The base of storage `column`: a set of segments.
//!
//! Compacting takes all runs at once: the newest row of each key goes into new segments, the row that it replaces is marked as deleted,
//! and so the segments hold each key once. The deleted rows of a segment are a bitmap in blob pages, written anew when it changes.
//! Segments are merged with each other beside that.

use std::{
    collections::HashSet,
    sync::{Arc, atomic::AtomicBool},
};

use ambo_codec::bitmap::{Bitmap, Positions};
use ambo_pages::page::{BlobWriter, PageRange, PageStore};
use ambo_types::{Result, TableDefinition, id::PageNo};

use super::{
    ColumnSchema, ColumnSet, ColumnSpace, CursorRows, Deleted, Finder, Segment, SetColumn,
    run::{ColumnRun, Part},
};
use crate::{
    BaseCursor, BaseOps, BaseRecord, BaseReport, Built, Compacted, Compaction, Crowding, Made, Prober, Root,
    Workshop,
    btree::{RowStream, Tree},
    runs::NewestRows,
};

/// Compacting is due with so many rows in runs, for scans look at each by itself …
const ROWS_DUE: u64 = 8 << 10;
/// … or with so many runs, for reads look into each.
const RUNS_DUE: usize = 4;
/// With so many runs of segments a load waits until they are fewer.
const COLUMN_RUNS_LIMIT: usize = 32;

/// See the module.
#[derive(Clone)]
pub struct ColumnBase(Arc<ColumnSet>);

impl ColumnBase {
    /// The base that this set is.
    pub fn new(set: impl Into<Arc<ColumnSet>>) -> Self {
        Self(set.into())
    }

    /// What comes and goes when `new` takes the place of this base and of runs. None if it is the same.
    fn replaced(
        &self,
        new: ColumnSet,
        runs: &[Arc<Tree>],
        workshop: &Workshop<'_>,
    ) -> Result<Option<Compacted<Self>>> {
        let mut born = Vec::new();
        let replaced = store_deleted(workshop.store, &new, workshop.relocate_from, &mut born);
        let replaced = replaced.and_then(|stored| match stored {
            None if runs.is_empty() && is_same(&new, &self.0) => Ok(None),
            stored => self.turnover(stored.unwrap_or(new), runs, born.clone()).map(Some),
        });
        replaced.inspect_err(|_| workshop.store.free(born))
    }

    fn turnover(&self, new: ColumnSet, runs: &[Arc<Tree>], born: Vec<PageRange>) -> Result<Compacted<Self>> {
        let mut retired = Vec::new();
        for run in runs {
            retired.extend(run.all_pages()?);
        }
        let Exchanged { retired: deleted, new_segments, old_segments } = exchanged(&self.0, &new);
        retired.extend(deleted);
        let (inputs, made) = (runs.to_vec(), Made::Base(Self::new(new)));
        Ok(Compacted {
            inputs,
            made,
            born,
            retired,
            new_segments,
            old_segments,
            dictionary: None,
            is_more: false,
        })
    }
}

impl BaseOps for ColumnBase {
    fn get(&self, key: &[u8], picked: Option<&[bool]>) -> Result<Option<BaseRecord<'_>>> {
        Ok(self.0.get_picked(key, picked)?.map(BaseRecord::Row))
    }

    fn get_many(
        &self,
        keys: &[&[u8]],
        picked: Option<&[bool]>,
        found: &mut dyn FnMut(usize, BaseRecord<'_>) -> Result<()>,
    ) -> Result<()> {
        for (place, row) in self.0.get_many(keys, picked)?.into_iter().enumerate() {
            if let Some(row) = row {
                found(place, BaseRecord::Row(row))?;
            }
        }
        Ok(())
    }

    fn cursors(&self, wanted: CursorRows, take: &mut dyn FnMut(BaseCursor)) {
        self.0.cursors(wanted).for_each(|cursor| take(BaseCursor::Columns(cursor)));
    }

    fn prober(&self) -> Prober<'_> {
        Prober::Columns(Finder::new(&self.0))
    }

    fn rows(&self) -> u64 {
        self.0.live_rows()
    }

    fn rank(&self, key: &[u8]) -> Result<u64> {
        self.0.rank(key)
    }

    fn columns(&self) -> Option<&Arc<ColumnSet>> {
        Some(&self.0)
    }

    fn with_schema(&self, schema: &Arc<ColumnSchema>) -> Self {
        if Arc::ptr_eq(schema, self.0.schema()) {
            return self.clone();
        }
        Self::new(self.0.with_schema(schema.clone()))
    }

    fn is_same(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.0, &other.0)
    }

    fn figures(&self, column: usize) -> Option<SetColumn> {
        Some(self.0.figures_of(self.0.schema().place(column)).clone())
    }

    fn space(&self, definition: &TableDefinition, blocks_max: usize) -> Result<Option<ColumnSpace>> {
        self.0.space(definition, blocks_max).map(Some)
    }

    fn check(&self, _problems_max: usize) -> Result<BaseReport> {
        let found = self.0.check()?;
        Ok(BaseReport {
            problems: found.problems,
            trees: 0,
            segments: found.segments,
            rows: found.rows,
            pages: vec![("deleted rows", self.0.deleted_pages().collect())],
        })
    }

    fn root_pages(&self) -> Vec<PageRange> {
        self.0.deleted_pages().collect()
    }

    fn pages(&self) -> Result<Vec<PageRange>> {
        Ok(self.0.deleted_pages().collect())
    }

    fn segments(&self) -> Vec<Arc<Segment>> {
        self.0.segments().cloned().collect()
    }

    fn roots(&self) -> Vec<Root> {
        self.0.roots()
    }

    fn pages_of(&self, roots: &[Root]) -> Result<Vec<PageRange>, String> {
        ColumnSet::pages_of(roots)
    }

    fn open(&self, roots: &[Root], store: &Arc<PageStore>) -> Result<Self> {
        self.0.open(roots, store).map(Self::new)
    }

    fn due(&self, runs: &[Arc<Tree>]) -> Option<Compaction> {
        let rows = runs.iter().map(|run| run.meta().rows).sum::<u64>();
        (rows >= ROWS_DUE || runs.len() >= RUNS_DUE).then_some(Compaction { runs: runs.len(), whole: false })
    }

    /// Takes all runs in. Whole: all segments into one run of segments.
    fn compact(
        &self,
        runs: &[Arc<Tree>],
        compaction: Compaction,
        workshop: &Workshop<'_>,
    ) -> Result<Option<Compacted<Self>>> {
        debug_assert_eq!(compaction.runs, runs.len(), "what is older must not come above what is newer");
        let compacted = match runs {
            [] => (*self.0).clone(),
            runs => {
                let mut rows = NewestRows::new(runs)?;
                self.0.compact(&mut rows, workshop.read_blob, workshop.cancel)?
            }
        };
        let new = if compaction.whole { compacted.merge_segments(true, workshop.cancel)? } else { compacted };
        debug_assert!(!compaction.whole || new.runs().len() <= 1, "what is merged whole is one run");
        self.replaced(new, runs, workshop)
    }

    fn crowding(&self) -> Crowding {
        match self.0.is_segment_merge_due() {
            false => Crowding::None,
            true if self.0.runs().len() < COLUMN_RUNS_LIMIT => Crowding::Due,
            true => Crowding::Limit,
        }
    }

    fn merge_parts(&self, cancel: &AtomicBool) -> Result<Self> {
        self.0.merge_segments(false, cancel).map(Self::new)
    }

    fn take_merged(
        &self,
        merged: &Self,
        from: &Self,
        workshop: &Workshop<'_>,
    ) -> Result<Option<Compacted<Self>>> {
        let new =
            if self.is_same(from) { (*merged.0).clone() } else { merged.0.rebased(&from.0, &self.0)? };
        self.replaced(new, &[], workshop)
    }

    fn build(&self, rows: &mut dyn RowStream, workshop: &Workshop<'_>) -> Result<Built<Self>> {
        assert!(self.0.runs().is_empty(), "what is built replaces nothing");
        let set = self.0.compact(rows, workshop.read_blob, workshop.cancel)?;
        Ok(Built { base: Self::new(set), born: Vec::new() })
    }
}

/// What goes, and what comes, when a set takes the place of another.
pub struct Exchanged {
    /// Pages of deleted rows.
    pub retired: Vec<PageRange>,
    /// Segments.
    pub new_segments: Vec<Arc<Segment>>,
    /// Segments.
    pub old_segments: Vec<Arc<Segment>>,
}

/// What goes, and what comes, when `new` takes the place of `old`.
pub fn exchanged(old: &ColumnSet, new: &ColumnSet) -> Exchanged {
    let is_stored = |part: &Part| part.deleted.as_ref().is_none_or(|deleted| deleted.blob.is_some());
    assert!(new.parts().all(is_stored), "deleted rows are stored before a set takes another's place");
    let kept: HashSet<_> = new.deleted_pages().map(|range| range.start).collect();
    let without = |these: &ColumnSet, others: &ColumnSet| -> Vec<Arc<Segment>> {
        let others: HashSet<_> = others.segments().map(|segment| segment.id()).collect();
        these.segments().filter(|segment| !others.contains(&segment.id())).cloned().collect()
    };
    let (new_segments, old_segments) = (without(new, old), without(old, new));
    assert_eq!(
        old.segments().count() + new_segments.len(),
        new.segments().count() + old_segments.len(),
        "a segment stays, comes or goes"
    );
    let retired = old.deleted_pages().filter(|range| !kept.contains(&range.start)).collect();
    Exchanged { retired, new_segments, old_segments }
}

/// Whether two sets are the same.
fn is_same(a: &ColumnSet, b: &ColumnSet) -> bool {
    let same_run = |a: &ColumnRun, b: &ColumnRun| {
        a.parts.len() == b.parts.len() && a.parts.iter().zip(&b.parts).all(|(a, b)| a.is_same(b))
    };
    a.runs().len() == b.runs().len() && a.runs().iter().zip(b.runs()).all(|(a, b)| same_run(a, b))
}

/// Writes the deleted rows that are not stored yet, or are to be moved. None if there are none.
pub fn store_deleted(
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
            debug_assert!(Bitmap::decode(&bytes).is_ok_and(|rows| rows == deleted.rows));
            let mut writer = BlobWriter::new(store, None);
            writer.write_all(&bytes)?;
            let blob = writer.finish()?;
            assert_eq!(blob.bytes(), bytes.len() as u64, "all of it is written");
            born.extend(blob.pages().iter().copied());
            *deleted =
                Arc::new(Deleted { rows: deleted.rows.clone(), count: deleted.count, blob: Some(blob) });
        }
    }
    let stored = ColumnSet::new(set.store().clone(), set.schema().clone(), runs);
    assert_eq!(stored.live_rows(), set.live_rows(), "who stores deleted rows deletes none");
    Ok(Some(stored))
}
