//! The base of storage `append`: a set of extents. What it does is what a column table does with segments, by asking its base.

use std::sync::{Arc, atomic::AtomicBool};

use ambo_pages::page::{PageRange, PageStore};
use ambo_types::{Result, TableDefinition};

use crate::{
    BaseCursor, BaseOps, BaseRecord, BaseReport, Built, Compacted, Compaction, Crowding, Prober, Root,
    Workshop,
    btree::{RowStream, Tree},
    column::{ColumnBase, ColumnSchema, ColumnSet, ColumnSpace, CursorRows, Segment, SetColumn},
};

/// See the module.
#[derive(Clone)]
pub struct AppendBase(ColumnBase);

impl AppendBase {
    /// The base that this set of extents is.
    pub fn new(set: impl Into<Arc<ColumnSet>>) -> Self {
        Self(ColumnBase::new(set))
    }
}

impl BaseOps for AppendBase {
    fn get(&self, key: &[u8], picked: Option<&[bool]>) -> Result<Option<BaseRecord<'_>>> {
        self.0.get(key, picked)
    }

    fn get_many(
        &self,
        keys: &[&[u8]],
        picked: Option<&[bool]>,
        found: &mut dyn FnMut(usize, BaseRecord<'_>) -> Result<()>,
    ) -> Result<()> {
        self.0.get_many(keys, picked, found)
    }

    fn cursors(&self, wanted: CursorRows, take: &mut dyn FnMut(BaseCursor)) {
        self.0.cursors(wanted, take);
    }

    fn prober(&self) -> Prober<'_> {
        self.0.prober()
    }

    fn rows(&self) -> u64 {
        self.0.rows()
    }

    fn rank(&self, key: &[u8]) -> Result<u64> {
        self.0.rank(key)
    }

    fn columns(&self) -> Option<&Arc<ColumnSet>> {
        self.0.columns()
    }

    fn with_schema(&self, schema: &Arc<ColumnSchema>) -> Self {
        Self(self.0.with_schema(schema))
    }

    fn is_same(&self, other: &Self) -> bool {
        self.0.is_same(&other.0)
    }

    fn figures(&self, column: usize) -> Option<SetColumn> {
        self.0.figures(column)
    }

    fn space(&self, definition: &TableDefinition, blocks_max: usize) -> Result<Option<ColumnSpace>> {
        self.0.space(definition, blocks_max)
    }

    fn check(&self, problems_max: usize) -> Result<BaseReport> {
        self.0.check(problems_max)
    }

    fn root_pages(&self) -> Vec<PageRange> {
        self.0.root_pages()
    }

    fn pages(&self) -> Result<Vec<PageRange>> {
        self.0.pages()
    }

    fn segments(&self) -> Vec<Arc<Segment>> {
        self.0.segments()
    }

    fn roots(&self) -> Vec<Root> {
        self.0.roots()
    }

    fn pages_of(&self, roots: &[Root]) -> Result<Vec<PageRange>, String> {
        self.0.pages_of(roots)
    }

    fn open(&self, roots: &[Root], store: &Arc<PageStore>) -> Result<Self> {
        self.0.open(roots, store).map(Self)
    }

    fn due(&self, runs: &[Arc<Tree>]) -> Option<Compaction> {
        self.0.due(runs)
    }

    fn compact(
        &self,
        runs: &[Arc<Tree>],
        compaction: Compaction,
        workshop: &Workshop<'_>,
    ) -> Result<Option<Compacted<Self>>> {
        let compacted = self.0.compact(runs, compaction, workshop)?;
        Ok(compacted.map(|compacted| compacted.map(Self)))
    }

    fn crowding(&self) -> Crowding {
        self.0.crowding()
    }

    fn merge_parts(&self, cancel: &AtomicBool) -> Result<Self> {
        self.0.merge_parts(cancel).map(Self)
    }

    fn take_merged(
        &self,
        merged: &Self,
        from: &Self,
        workshop: &Workshop<'_>,
    ) -> Result<Option<Compacted<Self>>> {
        let compacted = self.0.take_merged(&merged.0, &from.0, workshop)?;
        Ok(compacted.map(|compacted| compacted.map(Self)))
    }

    fn build(&self, rows: &mut dyn RowStream, workshop: &Workshop<'_>) -> Result<Built<Self>> {
        Ok(self.0.build(rows, workshop)?.map(Self))
    }
}
