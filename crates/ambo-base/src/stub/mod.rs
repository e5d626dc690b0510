//! A storage that does what `btree` does, by asking it. It is compiled for tests alone, which run it as they run the others: so a storage
//! can be a folder here and an arm of [`Base`](super::Base), and nothing else of the engine has to know it.

use std::sync::Arc;

use ambo_pages::page::{PageRange, PageStore};
use ambo_types::{Result, TableDefinition};

use super::{
    BaseCursor, BaseOps, BaseRecord, BaseReport, Built, Compacted, Compaction, Lowest, Prober, Root,
    Workshop,
    btree::{KeySum, RowStream, Tree, TreeBase},
    column::{CursorRows, SetColumn},
    root::{STUB, TREE},
};

/// See the module.
#[derive(Clone, Default)]
pub struct StubBase(TreeBase);

impl BaseOps for StubBase {
    fn get(&self, key: &[u8], picked: Option<&[bool]>) -> Result<Option<BaseRecord<'_>>> {
        self.0.get(key, picked)
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

    fn sum_keys(&self, lower: Option<&[u8]>, upper: Option<&[u8]>) -> Result<Option<KeySum>> {
        self.0.sum_keys(lower, upper)
    }

    fn trees(&self) -> &[Arc<Tree>] {
        self.0.trees()
    }

    fn take_lowest(&mut self) -> Option<Lowest> {
        self.0.take_lowest()
    }

    fn adopted(&self, tree: &Arc<Tree>) -> Option<Self> {
        self.0.adopted(tree).map(Self)
    }

    fn is_same(&self, other: &Self) -> bool {
        self.0.is_same(&other.0)
    }

    fn figures(&self, column: usize) -> Option<SetColumn> {
        self.0.figures(column)
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

    fn roots(&self) -> Vec<Root> {
        self.0.roots().into_iter().map(|root| Root { tag: STUB, ..root }).collect()
    }

    fn open(&self, roots: &[Root], store: &Arc<PageStore>) -> Result<Self> {
        let tag = |tag| if tag == STUB { TREE } else { tag };
        let roots: Vec<_> = roots.iter().map(|root| Root { tag: tag(root.tag), ..root.clone() }).collect();
        self.0.open(&roots, store).map(Self)
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

    fn is_outdated(&self, runs: &[Arc<Tree>], definition: &TableDefinition) -> bool {
        self.0.is_outdated(runs, definition)
    }

    fn build(&self, rows: &mut dyn RowStream, workshop: &Workshop<'_>) -> Result<Built<Self>> {
        Ok(self.0.build(rows, workshop)?.map(Self))
    }
}
