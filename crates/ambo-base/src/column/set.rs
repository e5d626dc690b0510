//! The compacted part of a column table: runs of segments, each row at most once in all of them.

use std::sync::{Arc, OnceLock};

use ambo_pages::{budget::MemoryBudget, page::PageRange};
use ambo_types::Result;

use super::{
    cursor::{CursorRows, RunCursor},
    row_cache::Slot,
    run::{ColumnRun, Part, RunRow},
    schema::ColumnSchema,
    scratch::Scratch,
    search::{Probe, Window},
    segment::{Segment, SegmentStore},
    statistics::SetColumn,
};

/// All compacted rows of a column table at one moment.
///
/// A key is left in one segment at most: who compacts a new row of a key deletes the old one. So runs have no order of age.
#[derive(Clone)]
pub struct ColumnSet {
    store: Arc<SegmentStore>,
    schema: Arc<ColumnSchema>,
    runs: Vec<ColumnRun>,
    /// Greater than that of every set that it was made from.
    number: u64,
    /// Each segment's id, run and part, by id.
    places: Arc<[(u64, usize, usize)]>,
    /// What directories say of each stored column, once it was asked for.
    figures: Arc<[OnceLock<SetColumn>]>,
}

/// A row of a set.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub struct RowPlace {
    /// Which run.
    pub run: usize,
    /// Where in it.
    pub place: RunRow,
}

impl ColumnSet {
    /// A set of these runs. REQUIRES: what is said of it.
    pub fn new(store: Arc<SegmentStore>, schema: Arc<ColumnSchema>, runs: Vec<ColumnRun>) -> Self {
        let parts = |(run, of): (usize, &ColumnRun)| {
            let parts = of.parts.iter().enumerate();
            parts.map(|(part, of)| (of.segment.id(), run, part)).collect::<Vec<_>>()
        };
        let mut places: Vec<_> = runs.iter().enumerate().flat_map(parts).collect();
        places.sort_unstable();
        if cfg!(debug_assertions) {
            runs.iter().flat_map(|run| &run.parts).for_each(Part::verify);
        }
        let figures = schema.types().iter().map(|_| OnceLock::new()).collect();
        Self { number: store.number_set(), store, schema, runs, places: places.into(), figures }
    }

    /// A number that is greater than that of every set that it was made from.
    pub fn number(&self) -> u64 {
        self.number
    }

    /// The run and the part of a segment, if it is one of the set's.
    pub(super) fn part_of(&self, segment: u64) -> Option<(usize, usize)> {
        let place = self.places.binary_search_by_key(&segment, |(segment, ..)| *segment).ok()?;
        let (_, run, part) = self.places[place];
        Some((run, part))
    }

    /// Whether a row of a segment is one of the set's.
    fn is_left(&self, segment: u64, row: u32) -> bool {
        self.part_of(segment).is_some_and(|(run, part)| !self.runs[run].parts[part].is_deleted(row))
    }

    /// The parts of segments that `other` does not have.
    pub(super) fn without_segments_of(&self, other: &[u64]) -> Self {
        let is_new = |part: &&Part| other.binary_search(&part.segment.id()).is_err();
        let run = |run: &ColumnRun| ColumnRun { parts: run.parts.iter().filter(is_new).cloned().collect() };
        let runs = self.runs.iter().map(run).filter(|run| !run.parts.is_empty()).collect();
        Self::new(self.store.clone(), self.schema.clone(), runs)
    }

    /// The same segments with the columns of another definition of their table.
    pub fn with_schema(&self, schema: Arc<ColumnSchema>) -> Self {
        assert_eq!(schema.key_columns(), self.schema.key_columns(), "columns of the key stay");
        debug_assert!(
            self.segments()
                .all(|segment| schema.takes(segment.directory().columns.iter().map(|column| column.ty))),
            "segments have no columns but those of their table"
        );
        let figures = schema.types().iter().map(|_| OnceLock::new()).collect();
        Self { schema, figures, ..self.clone() }
    }

    /// Where its segments are.
    pub fn store(&self) -> &Arc<SegmentStore> {
        &self.store
    }

    /// Its columns.
    pub fn schema(&self) -> &Arc<ColumnSchema> {
        &self.schema
    }

    /// Its runs.
    pub fn runs(&self) -> &[ColumnRun] {
        &self.runs
    }

    /// All parts.
    pub fn parts(&self) -> impl Iterator<Item = &Part> {
        self.runs.iter().flat_map(|run| &run.parts)
    }

    /// All segments.
    pub fn segments(&self) -> impl Iterator<Item = &Arc<Segment>> {
        self.parts().map(|part| &part.segment)
    }

    /// Pages in which deleted rows are stored.
    pub fn deleted_pages(&self) -> impl Iterator<Item = PageRange> + '_ {
        let blobs = self.parts().filter_map(|part| part.deleted.as_ref()?.blob.as_ref());
        blobs.flat_map(|blob| blob.pages().iter().copied())
    }

    /// Rows that are left.
    pub fn live_rows(&self) -> u64 {
        self.runs.iter().map(ColumnRun::live_rows).sum()
    }

    /// What the directories say of a stored column. They are read once.
    pub fn figures_of(&self, place: usize) -> &SetColumn {
        self.figures[place].get_or_init(|| SetColumn::of(self, place))
    }

    /// Where the row of a key is.
    pub fn find(&self, key: &[u8]) -> Result<Option<RowPlace>> {
        Scratch::with(&self.schema, |scratch| self.find_with(key, &mut scratch.window))
    }

    fn find_with(&self, key: &[u8], window: &mut Window) -> Result<Option<RowPlace>> {
        let probe = Probe::new(&self.schema, key);
        for (run, of) in self.runs.iter().enumerate() {
            if let Some(place) = of.find(&self.schema, &probe, window)? {
                return Ok(Some(RowPlace { run, place }));
            }
        }
        Ok(None)
    }

    /// The record of a key.
    pub fn get(&self, key: &[u8]) -> Result<Option<Vec<u8>>> {
        self.get_picked(key, None)
    }

    /// The record of a key. Of its columns, those that are not `picked` may be NULL.
    pub fn get_picked(&self, key: &[u8], picked: Option<&[bool]>) -> Result<Option<Vec<u8>>> {
        let slot = self.slot(key);
        if let Some(record) = self.kept_record(slot, key) {
            return Ok(Some(record));
        }
        Scratch::with(&self.schema, |scratch| {
            let Some(RowPlace { run, place }) = self.find_with(key, &mut scratch.window)? else {
                return Ok(None);
            };
            let part = &self.runs[run].parts[place.part];
            // Only whole rows are kept.
            let is_kept = self.store.keeps_row(slot);
            let picked = picked.filter(|_| !is_kept);
            let record = part.record_of(&self.schema, place.row, picked, &mut scratch.row)?;
            if is_kept {
                self.store.keep_row(slot, key, (part.segment.id(), place.row), &record);
            }
            Ok(Some(record))
        })
    }

    /// Where the row of a key is kept, if it is.
    pub(super) fn slot(&self, key: &[u8]) -> Slot {
        Slot::new(Arc::as_ptr(&self.schema).addr(), key)
    }

    /// The record of a key, if it is kept.
    pub(super) fn kept_record(&self, slot: Slot, key: &[u8]) -> Option<Vec<u8>> {
        self.store.rows().get(slot, key, |segment, row| self.is_left(segment, row))
    }

    /// Where memory for what is kept of it comes from.
    pub fn memory(&self) -> &Arc<MemoryBudget> {
        self.store.memory()
    }

    /// How many rows have keys less than `key`.
    pub fn rank(&self, key: &[u8]) -> Result<u64> {
        let rank = self.runs.iter().map(|run| run.rank(&self.schema, key)).sum::<Result<u64>>()?;
        debug_assert!(rank <= self.live_rows(), "rows before a key are rows of the set");
        Ok(rank)
    }

    /// A cursor for each run.
    pub fn cursors(self: &Arc<Self>, wanted: CursorRows) -> impl Iterator<Item = RunCursor> + '_ {
        (0..self.runs.len()).map(move |run| RunCursor::new(self, run, wanted))
    }
}

impl std::fmt::Debug for ColumnSet {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("ColumnSet").field("runs", &self.runs).finish_non_exhaustive()
    }
}
