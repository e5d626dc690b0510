//! What a base has to do, by its parts.

use std::sync::Arc;

use ambo_pages::{
    page::{PageRange, PageStore},
    sync::Ordering,
};
use ambo_types::{Error, Result, TableDefinition};

use super::{
    job::{Job, Merged},
    parts::Parts,
    slots::{Level, Sizes},
};
use crate::{
    BaseCursor, BaseOps, BaseRecord, BaseReport, Built, Compacted, Compaction, Lowest, Made, Prober, Root,
    Workshop,
    btree::{KeySum, RowStream, Tree, TreeCopy, is_outdated},
    column::{CursorRows, SetColumn},
    runs::merge_trees,
};

/// See `lsm`.
#[derive(Clone)]
pub struct LsmBase {
    pub(super) parts: Arc<Parts>,
    sizes: Sizes,
}

impl LsmBase {
    /// A base without rows, whose parts are to have about so many bytes.
    pub fn new(part_bytes: u64, page_size: usize) -> Self {
        Self { parts: Arc::default(), sizes: Sizes::new(part_bytes, page_size) }
    }

    fn with(&self, parts: impl Into<Arc<Parts>>) -> Self {
        Self { parts: parts.into(), sizes: self.sizes }
    }

    fn level<'l>(&'l self, runs: &'l [Arc<Tree>]) -> Level<'l> {
        Level { parts: &self.parts, runs, sizes: self.sizes }
    }

    /// Merges runs with each other; nothing of the last level is touched.
    fn merge_runs(
        &self,
        taken: &[Arc<Tree>],
        is_lowest: bool,
        workshop: &Workshop<'_>,
    ) -> Result<Option<Compacted<Self>>> {
        if taken.is_empty() {
            return Ok(None);
        }
        let merged = merge_trees(taken, is_lowest, &workshop.build, workshop)?;
        Ok(Some(merged.into_compacted(taken, Made::Run)))
    }

    /// Merges a slot, or all of them.
    fn merge_slots(&self, runs: &[Arc<Tree>], workshop: &Workshop<'_>) -> Result<Option<Compacted<Self>>> {
        let is_all = workshop.rewrite || workshop.relocate_from.is_some();
        let job = Job::new(&self.parts, runs, self.sizes, workshop);
        let merged = match self.sizes.oversized(&self.parts) {
            _ if is_all && !(runs.is_empty() && self.parts.trees().is_empty()) => job.merge_all()?,
            Some(part) => job.cut(part)?,
            None if !runs.is_empty() => job.merge_next()?,
            // What has come to be left out is looked for in all of it.
            None if workshop.leave_out.is_some() && !self.parts.trees().is_empty() => job.merge_all()?,
            None => return Ok(None),
        };
        Ok(Some(self.compacted(runs, merged, is_all)))
    }

    fn compacted(&self, inputs: &[Arc<Tree>], merged: Merged, is_all: bool) -> Compacted<Self> {
        let Merged { parts, runs, pages, build } = merged;
        let base = self.with(parts);
        let is_more = !is_all && (!runs.is_empty() || base.sizes.oversized(&base.parts).is_some());
        let (born, retired) = pages.finish();
        Compacted {
            inputs: inputs.to_vec(),
            made: Made::Slot { base, runs },
            born,
            retired,
            new_segments: Vec::new(),
            old_segments: Vec::new(),
            dictionary: build.records.and_then(|records| records.dictionary),
            is_more,
        }
    }
}

impl BaseOps for LsmBase {
    #[inline]
    fn get(&self, key: &[u8], _picked: Option<&[bool]>) -> Result<Option<BaseRecord<'_>>> {
        Ok(self.parts.get(key)?.map(BaseRecord::Tree))
    }

    fn cursors(&self, _wanted: CursorRows, take: &mut dyn FnMut(BaseCursor)) {
        if let Some(cursor) = self.parts.cursor() {
            take(BaseCursor::Parts(cursor));
        }
    }

    fn prober(&self) -> Prober<'_> {
        if self.parts.trees().is_empty() { Prober::Nothing } else { Prober::Parts(&self.parts) }
    }

    fn rows(&self) -> u64 {
        self.parts.rows()
    }

    fn rank(&self, key: &[u8]) -> Result<u64> {
        self.parts.rank(key)
    }

    fn sum_keys(&self, lower: Option<&[u8]>, upper: Option<&[u8]>) -> Result<Option<KeySum>> {
        self.parts.sum_keys(lower, upper).map(Some)
    }

    fn trees(&self) -> &[Arc<Tree>] {
        self.parts.trees()
    }

    fn take_lowest(&mut self) -> Option<Lowest> {
        let parts = std::mem::take(&mut self.parts);
        (!parts.trees().is_empty()).then(|| Lowest::Parts(parts))
    }

    fn adopted(&self, tree: &Arc<Tree>) -> Option<Self> {
        debug_assert!(self.parts.trees().is_empty(), "a tree takes the place of nothing");
        (tree.meta().tombstones == 0).then(|| self.with(Parts::new([(Box::default(), tree.clone())])))
    }

    fn is_same(&self, other: &Self) -> bool {
        let trees = |base: &Self| base.parts.trees().iter().map(Arc::as_ptr).collect::<Vec<_>>();
        trees(self) == trees(other)
    }

    fn figures(&self, _column: usize) -> Option<SetColumn> {
        // Of no rows all is known.
        self.parts.trees().is_empty().then(SetColumn::default)
    }

    fn check(&self, problems_max: usize) -> Result<BaseReport> {
        self.parts.check(problems_max)
    }

    fn root_pages(&self) -> Vec<PageRange> {
        self.parts.trees().iter().map(|tree| PageRange::from(tree.meta().root)).collect()
    }

    fn pages(&self) -> Result<Vec<PageRange>> {
        let mut pages = Vec::new();
        for tree in self.parts.trees() {
            pages.append(&mut tree.all_pages()?);
        }
        Ok(pages)
    }

    fn roots(&self) -> Vec<Root> {
        self.parts.roots()
    }

    fn open(&self, roots: &[Root], store: &Arc<PageStore>) -> Result<Self> {
        debug_assert!(self.parts.trees().is_empty(), "a base is opened once");
        Ok(self.with(Parts::open(roots, store)?))
    }

    fn due(&self, runs: &[Arc<Tree>]) -> Option<Compaction> {
        self.level(runs).due()
    }

    fn compact(
        &self,
        runs: &[Arc<Tree>],
        compaction: Compaction,
        workshop: &Workshop<'_>,
    ) -> Result<Option<Compacted<Self>>> {
        if compaction.whole {
            return self.merge_slots(runs, workshop);
        }
        let is_lowest = self.parts.trees().is_empty() && compaction.runs == runs.len();
        self.merge_runs(&runs[..compaction.runs], is_lowest, workshop)
    }

    fn is_outdated(&self, runs: &[Arc<Tree>], definition: &TableDefinition) -> bool {
        runs.iter().chain(self.parts.trees()).any(|tree| is_outdated(tree, definition))
    }

    fn build(&self, rows: &mut dyn RowStream, workshop: &Workshop<'_>) -> Result<Built<Self>> {
        assert!(self.parts.trees().is_empty(), "what is built replaces nothing");
        let mut pages = super::pages::Pages::new(workshop.store);
        let mut parts = Vec::new();
        let new = || TreeCopy::new(workshop.store, workshop.build.clone(), workshop.copy_blob);
        let (mut fence, mut copy) = (Box::<[u8]>::default(), new());
        while let Some((key, record)) = rows.next_row()? {
            if copy.leaf_pages() >= self.sizes.part_pages {
                let full = std::mem::replace(&mut copy, new());
                let (meta, born) = full.finish()?;
                pages.written(born);
                parts.push((
                    std::mem::replace(&mut fence, key.into()),
                    Tree::open(workshop.store.clone(), meta),
                ));
            }
            copy.push(key, record)?;
            if workshop.cancel.load(Ordering::Relaxed) {
                return Err(Error::Cancelled);
            }
        }
        let (meta, born) = copy.finish()?;
        pages.written(born);
        parts.push((fence, Tree::open(workshop.store.clone(), meta)));
        assert!(parts.iter().all(|(_, tree)| tree.meta().tombstones == 0), "rows of a base are live");
        Ok(Built { base: self.with(Parts::new(parts)), born: pages.finish().0 })
    }
}
