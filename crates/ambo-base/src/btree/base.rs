//! The base of storage `btree`, and of `memory`, whose pages are in memory: one tree, the *main tree*.

use std::sync::Arc;

use ambo_pages::{
    page::{self, PageRange, PageStore},
    sync::Ordering,
};
use ambo_types::{Error, Result, TableDefinition};

use super::{CheckOptions, KeySum, RowStream, Tree, TreeCompression, TreeCopy, TreeMeta, TreeProblem};
use crate::{
    BaseCursor, BaseOps, BaseRecord, BaseReport, Built, Compacted, Compaction, Lowest, Made, Prober, Root,
    Workshop,
    column::{CursorRows, SetColumn},
    root::TREE,
    runs::{due_above, merge_trees},
};

/// The longest dictionary.
pub const DICTIONARY_BYTES: usize = 16 << 10;
/// Fewer bytes of values are not worth a dictionary.
pub const TRAINING_BYTES_MIN: u64 = 8 * DICTIONARY_BYTES as u64;

/// Whether leaves of a tree are not compressed as a definition says.
pub(crate) fn is_outdated(tree: &Tree, definition: &TableDefinition) -> bool {
    let TreeCompression { keys, records, dictionary, mixed } = tree.meta().compression;
    // A small tree may be without the dictionary that is wanted.
    let trained = dictionary == definition.record_dictionary || tree.meta().value_bytes < TRAINING_BYTES_MIN;
    mixed || !trained || keys != definition.key_compression || records != definition.record_compression
}

/// See the module. Without a tree it is empty.
#[derive(Clone, Default)]
pub struct TreeBase {
    main: Option<Arc<Tree>>,
}

impl TreeBase {
    /// The base that this tree is.
    pub fn new(main: Option<Arc<Tree>>) -> Self {
        Self { main }
    }
}

impl BaseOps for TreeBase {
    #[inline]
    fn get(&self, key: &[u8], _picked: Option<&[bool]>) -> Result<Option<BaseRecord<'_>>> {
        match &self.main {
            Some(main) => Ok(main.get(key)?.map(BaseRecord::Tree)),
            None => Ok(None),
        }
    }

    fn cursors(&self, _wanted: CursorRows, take: &mut dyn FnMut(BaseCursor)) {
        self.main.iter().for_each(|main| take(BaseCursor::Tree(main.cursor())));
    }

    fn prober(&self) -> Prober<'_> {
        self.main.as_deref().map_or(Prober::Nothing, Prober::Tree)
    }

    fn rows(&self) -> u64 {
        self.main.as_ref().map_or(0, |main| main.meta().rows)
    }

    fn rank(&self, key: &[u8]) -> Result<u64> {
        self.main.as_ref().map_or(Ok(0), |main| main.rank(key))
    }

    fn sum_keys(&self, lower: Option<&[u8]>, upper: Option<&[u8]>) -> Result<Option<KeySum>> {
        self.main.as_ref().map_or(Ok(KeySum::default()), |main| main.sum_keys(lower, upper)).map(Some)
    }

    fn trees(&self) -> &[Arc<Tree>] {
        self.main.as_slice()
    }

    fn take_lowest(&mut self) -> Option<Lowest> {
        self.main.take().map(Lowest::Tree)
    }

    fn adopted(&self, tree: &Arc<Tree>) -> Option<Self> {
        debug_assert!(self.main.is_none(), "a tree takes the place of nothing");
        (tree.meta().tombstones == 0).then(|| Self::new(Some(tree.clone())))
    }

    fn is_same(&self, other: &Self) -> bool {
        self.main.as_ref().map(Arc::as_ptr) == other.main.as_ref().map(Arc::as_ptr)
    }

    fn figures(&self, _column: usize) -> Option<SetColumn> {
        // Of no rows all is known.
        self.main.is_none().then(SetColumn::default)
    }

    fn check(&self, problems_max: usize) -> Result<BaseReport> {
        let Some(main) = &self.main else { return Ok(BaseReport::default()) };
        let found = main.check(&CheckOptions { tombstones_allowed: false, problems_max })?;
        let problem =
            |problem: &TreeProblem| format!("main tree: page {}: {}", problem.page.number(), problem.what);
        Ok(BaseReport {
            problems: found.problems.iter().map(problem).collect(),
            trees: 1,
            segments: 0,
            rows: found.counted.rows,
            pages: vec![("main tree", found.pages)],
        })
    }

    fn root_pages(&self) -> Vec<PageRange> {
        self.main.iter().map(|main| PageRange::from(main.meta().root)).collect()
    }

    fn pages(&self) -> Result<Vec<PageRange>> {
        self.main.as_ref().map_or(Ok(Vec::new()), |main| main.all_pages())
    }

    fn roots(&self) -> Vec<Root> {
        let root = |main: &Arc<Tree>| Root { tag: TREE, part: 0, bytes: main.meta().encode().to_vec() };
        self.main.iter().map(root).collect()
    }

    fn open(&self, roots: &[Root], store: &Arc<PageStore>) -> Result<Self> {
        debug_assert!(self.main.is_none(), "a base is opened once");
        let meta = match roots {
            [] => return Ok(Self::default()),
            [Root { tag: TREE, bytes, .. }] => TreeMeta::decode(bytes),
            _ => None,
        };
        let damaged = || Error::damaged(page::NAME, 0, "the catalog: roots that are not those of one tree");
        Ok(Self::new(Some(Tree::open(store.clone(), meta.ok_or_else(damaged)?))))
    }

    fn due(&self, runs: &[Arc<Tree>]) -> Option<Compaction> {
        due_above(runs, self.main.as_ref().map_or(0, |main| main.meta().pages()))
    }

    /// Runs stay a run unless all is merged: see [`crate::runs`].
    fn compact(
        &self,
        runs: &[Arc<Tree>],
        compaction: Compaction,
        workshop: &Workshop<'_>,
    ) -> Result<Option<Compacted<Self>>> {
        let Compaction { runs: count, whole } = compaction;
        let taken = &runs[..count];
        let main = self.main.iter().filter(|_| whole);
        let inputs: Vec<_> = taken.iter().chain(main).cloned().collect();
        let is_left_alone = taken.is_empty()
            && workshop.relocate_from.is_none()
            && !workshop.rewrite
            && workshop.leave_out.is_none();
        if inputs.is_empty() || is_left_alone {
            return Ok(None);
        }
        let mut build = workshop.build.clone();
        if whole
            && let Some(records) = &mut build.records
            && let Some(dictionary) = (workshop.train)(&inputs)?
        {
            records.dictionary = Some(dictionary);
        }
        let is_lowest = whole || (self.main.is_none() && count == runs.len());
        let merged = merge_trees(&inputs, is_lowest, &build, workshop)?;
        let made = |tree| if whole { Made::Base(Self::new(tree)) } else { Made::Run(tree) };
        Ok(Some(merged.into_compacted(taken, made)))
    }

    fn is_outdated(&self, runs: &[Arc<Tree>], definition: &TableDefinition) -> bool {
        runs.iter().chain(&self.main).any(|tree| is_outdated(tree, definition))
    }

    fn build(&self, rows: &mut dyn RowStream, workshop: &Workshop<'_>) -> Result<Built<Self>> {
        assert!(self.main.is_none(), "what is built replaces nothing");
        let mut copy = TreeCopy::new(workshop.store, workshop.build.clone(), workshop.copy_blob);
        while let Some((key, record)) = rows.next_row()? {
            copy.push(key, record)?;
            if workshop.cancel.load(Ordering::Relaxed) {
                return Err(Error::Cancelled);
            }
        }
        let (meta, born) = copy.finish()?;
        assert_eq!(meta.tombstones, 0, "rows of a base are live");
        let main = (!meta.is_empty()).then(|| Tree::open(workshop.store.clone(), meta));
        Ok(Built { base: Self::new(main), born })
    }
}
