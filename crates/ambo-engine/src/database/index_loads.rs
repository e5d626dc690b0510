//! What a load of rows brings to the indexes of its table: a run of entries for each, made at once and published with the rows.

use std::sync::{Arc, atomic::AtomicBool};

use ambo_base::btree::Tree;
use ambo_pages::page::PageRange;
use ambo_types::{Error, Result, id::TableId};

use super::{
    cursor::{Cover, MergedCursor, Seek},
    engine::{Engine, NEWEST},
    expiry::Moment,
    index_rows::{Fate, IndexedRows, gather},
    indexes::TableIndex,
    version::{DatabaseVersion, TableVersion},
    version_edit::{TableEdit, VersionEdit},
};
use crate::index::EntrySorter;

/// The row of a key.
pub(super) type Find<'a> = dyn Fn(&[u8]) -> Result<Option<Vec<u8>>> + 'a;

/// The rows of a load, in any order, and what the table is like with them.
pub(super) struct LoadedRows<'a> {
    /// Those that come.
    pub new: &'a dyn IndexedRows,
    /// Those of the same keys that go.
    pub gone: &'a dyn IndexedRows,
    /// The row of a key once the load is there.
    pub after: &'a Find<'a>,
    /// How many threads make their entries.
    pub threads: usize,
}

/// The entries of a load, for one index.
pub(super) struct IndexRun {
    index: TableId,
    tree: Arc<Tree>,
    pages: Vec<PageRange>,
}

/// The runs of a load for all indexes of a table. They are the caller's until they are installed.
#[derive(Default)]
pub(super) struct IndexRuns {
    /// The indexes as they were.
    indexes: Arc<[Arc<TableIndex>]>,
    runs: Vec<IndexRun>,
}

impl Engine {
    /// The runs that a load brings to the indexes of a table.
    ///
    /// # Errors
    /// [`Error::Exists`] if a unique index has another row with the values of one that comes; [`Error::Conflict`] while an index is being
    /// built.
    pub(super) fn index_runs(
        &self,
        version: &DatabaseVersion,
        table: &TableVersion,
        rows: LoadedRows<'_>,
        cancel: &AtomicBool,
    ) -> Result<IndexRuns> {
        let indexes = table.indexes.clone();
        if let Some(index) = indexes.iter().find(|index| !index.is_ready()) {
            let name = index.format.name();
            return Err(Error::Conflict(format!("index \"{name}\" of the table is being built meanwhile")));
        }
        let mut runs = IndexRuns { indexes, runs: Vec::new() };
        if runs.indexes.is_empty() {
            return Ok(runs);
        }
        let filled = self.fill(version, &mut runs, rows, cancel);
        match filled {
            Ok(()) => {
                assert_eq!(runs.runs.len(), runs.indexes.len(), "a run for each index");
                Ok(runs)
            }
            Err(error) => {
                self.give_back_runs(version, runs);
                Err(error)
            }
        }
    }

    fn fill(
        &self,
        version: &DatabaseVersion,
        runs: &mut IndexRuns,
        rows: LoadedRows<'_>,
        cancel: &AtomicBool,
    ) -> Result<()> {
        let indexes = runs.indexes.clone();
        let memory = self.segments.memory();
        let sorter =
            |index: &Arc<TableIndex>| Ok(EntrySorter::new(&version.table(index.id)?.shared.store, memory));
        let sorters = indexes.iter().map(sorter).collect::<Result<Vec<_>>>()?;
        // A row that comes again with the same values has an entry that is taken away first.
        let both = [(rows.new, Fate::Come), (rows.gone, Fate::Go)];
        gather(&both, &indexes, &sorters, rows.threads, cancel)?;
        for (index, sorter) in indexes.iter().zip(sorters) {
            let store = version.table(index.id)?.shared.store.clone();
            let sorted = sorter.finish(rows.threads, cancel)?;
            let tree = Tree::open(store, sorted.meta);
            runs.runs.push(IndexRun { index: index.id, tree: tree.clone(), pages: sorted.pages });
            if let Some(entry) = &sorted.twice {
                return Err(index.taken_in(&tree, entry, rows.after)?);
            }
            if index.format.of().unique {
                check_unique(version.table(index.id)?, index, &tree, rows.after)?;
            }
        }
        Ok(())
    }

    /// Frees the pages of runs that are not installed.
    pub(super) fn give_back_runs(&self, version: &DatabaseVersion, runs: IndexRuns) {
        for run in runs.runs {
            if let Ok(index) = version.table(run.index) {
                self.give_back(&index.shared.store, run.pages);
            }
        }
    }
}

impl IndexRuns {
    /// Whether they fit a version in which the table has these indexes, and nothing was written to them meanwhile.
    pub(super) fn fit(&self, version: &DatabaseVersion, table: &TableVersion) -> bool {
        let same = match self.indexes.is_empty() {
            true => table.indexes.is_empty(),
            false => Arc::ptr_eq(&self.indexes, &table.indexes),
        };
        same && self.runs.iter().all(|run| {
            let index = version.tables.get(&run.index);
            index.is_some_and(|index| {
                let is_there = Arc::ptr_eq(run.tree.store(), &index.shared.store);
                is_there && index.active.is_empty() && index.frozen.is_empty()
            })
        })
    }

    /// Puts the runs above what the indexes have, in whose memtables nothing is, by the commit that brings the rows.
    pub(super) fn install(&self, edit: &mut VersionEdit) {
        debug_assert!(edit.is_commit, "entries come with the commit that brings their rows");
        for run in &self.runs {
            let is_empty = run.tree.meta().is_empty();
            edit.table(run.index, TableEdit::Load((!is_empty).then(|| run.tree.clone())));
            if !is_empty && !run.tree.store().is_memory() {
                edit.turnover.born.extend(run.pages.iter().copied());
            }
        }
    }
}

/// Fails if another row has the values of one that comes, and keeps them.
fn check_unique(
    entries: &TableVersion,
    index: &TableIndex,
    tree: &Arc<Tree>,
    after: &Find<'_>,
) -> Result<()> {
    let mut there = MergedCursor::new(entries, None, Moment::all(NEWEST), Cover::Live);
    let mut at = there.seek(Seek::First)?;
    let mut new = tree.cursor();
    let mut more = new.seek_first()?;
    while more && at {
        match there.key().cmp(new.key()) {
            std::cmp::Ordering::Less => at = there.seek(Seek::Ge(new.key()))?,
            std::cmp::Ordering::Greater => more = new.next()?,
            std::cmp::Ordering::Equal => {
                if !new.record().is_tombstone() {
                    let ours = index.value(tree.store(), new.record())?;
                    let theirs = index.value(tree.store(), there.record())?;
                    let ours = index.format.row_key(new.key(), &ours)?;
                    let theirs = index.format.row_key(new.key(), &theirs)?;
                    if ours != theirs
                        && let Some(row) = after(theirs)?
                        && index.format.entry(theirs, &row)?.key == new.key()
                    {
                        return Err(index.format.taken(theirs, &row));
                    }
                }
                more = new.next()?;
            }
        }
    }
    Ok(())
}
