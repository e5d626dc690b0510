//! Moving a table to memory, or from there to the database's files, while it is in use.
//!
//! All of its pages, those of its indexes, and the long values that rows refer to, change their place.
//!
//! 1. What is compacted is held, as in `reshape`, and copied. Runs are copied while new ones come, until little is left.
//! 2. While nothing is sequenced the rest, the rows of the active memtables, is written as runs. Then one checkpoint puts the copies in the
//!    place of the table and its indexes, with their definitions: after a crash there is the one or the other. The memtables stay only for
//!    the conflicts of transactions that began before.
//! 3. Copies hold everything up to that moment, and no timestamps: older snapshots go on with the old version.
//!
//! A table that moved to memory may have commits in the log behind its checkpoint; opening leaves them out. One that came from there has
//! none before that moment, and all after it. So that nothing of a transaction is durable without the rest of it, the log is synced first.
//!
//! What somebody has prepared for the old place, a long value or a load, is noticed when it is committed:
//! [`super::version::TableShared::moved`].

use std::sync::Arc;

use ambo_base::{
    Base, BaseOps, Built,
    btree::{Tree, TreeCopy, TreeMeta},
    column::ColumnSchema,
    key_filter::{FEW_BITS, KeyFilter},
};
use ambo_pages::{
    page::{PageRange, PageStore},
    sync::Ordering,
};
use ambo_types::{Error, Result, Storage, TableDefinition, id::TableId};

use super::{
    checkpoint::Turnover,
    engine::Engine,
    reshape::{TRIES, check_memtables, check_trees, gone, reshaped},
    version::{DatabaseVersion, TableShared, TableVersion},
    version_edit::{Reshaped, TableEdit, VersionEdit},
};
use crate::memtable::Memtable;

/// How often what came meanwhile is copied before the rest is.
const ROUNDS: usize = 8;
/// So few bytes of rows are copied while no checkpoint can be written.
const REST_BYTES: u64 = 4 << 20;

/// A table, or an index of it, on its way.
struct Move {
    /// As it was in the beginning.
    old: Arc<TableVersion>,
    definition: TableDefinition,
    store: Arc<PageStore>,
    compacted: Built<Base>,
    /// The columns that rows have to fit, of a table that becomes a column table.
    schema: Option<Arc<ColumnSchema>>,
    /// Copies of runs, by what they are copies of.
    runs: Vec<(Arc<Tree>, Copied)>,
    /// What was in memtables, newest first.
    memtables: Vec<Copied>,
}

/// A run in its new place.
struct Copied {
    tree: Arc<Tree>,
    pages: Vec<PageRange>,
}

/// A table and its indexes that have entries.
///
/// # Errors
/// [`Error::Invalid`] if one of them is being built.
pub(super) fn members(version: &DatabaseVersion, id: TableId) -> Result<Vec<TableId>> {
    let mut members = vec![id];
    for (index, definition) in version.catalog.indexes_of(id) {
        if definition.index.as_ref().is_some_and(|index| !index.ready) {
            return Err(Error::Invalid(format!(
                "index \"{}\" is being built; the storage of its table cannot be changed meanwhile",
                definition.name
            )));
        }
        members.push(index);
    }
    Ok(members)
}

impl Move {
    fn id(&self) -> TableId {
        self.old.shared.id
    }

    /// Its pages, if nobody refers to them.
    fn into_pages(self) -> (Arc<PageStore>, Vec<PageRange>) {
        let runs = self.runs.into_iter().map(|(_, copied)| copied).chain(self.memtables);
        (self.store, runs.flat_map(|copied| copied.pages).chain(self.compacted.born).collect())
    }
}

impl Engine {
    /// Moves a table, whose compacted part is held, and that of its indexes, to where the storage has its pages.
    pub(super) fn relocate(&self, id: TableId, storage: Storage) -> Result<()> {
        self.note_unlogged(&[id])?;
        for _ in 0..TRIES {
            let mut moves = Vec::new();
            let moved = self.copy_and_replace(id, storage, &mut moves);
            if !matches!(moved, Ok(true)) {
                for (store, pages) in moves.into_iter().map(Move::into_pages) {
                    self.give_back(&store, pages);
                }
            }
            if moved? {
                return Ok(());
            }
        }
        Err(Error::Conflict(
            "rows were loaded into the table, or it came to have other columns or indexes, again and again while its storage was changed".into(),
        ))
    }

    fn copy_and_replace(&self, id: TableId, storage: Storage, moves: &mut Vec<Move>) -> Result<bool> {
        let current = self.current();
        for member in members(&current, id)? {
            let old = current.table(member)?.clone();
            let to = if member == id { storage } else { storage.of_indexes() };
            let definition = reshaped(current.catalog.table(member).ok_or_else(gone)?, to)?;
            let store = self.place().store(storage);
            let by_column = to.traits().by_column;
            let schema = by_column.then(|| current.columns_in(member, to)).transpose()?.map(Arc::new);
            let compacted = self.build_compacted(&old, &definition, &store)?;
            let (runs, memtables) = (Vec::new(), Vec::new());
            moves.push(Move { old, definition, store, compacted, schema, runs, memtables });
        }
        for _ in 0..ROUNDS {
            self.flush()?;
            if self.copy_runs(moves)? <= REST_BYTES {
                break;
            }
        }
        self.replace_moved(id, storage, moves)
    }

    /// Copies the runs that are not copied yet. Returns the bytes of their rows.
    fn copy_runs(&self, moves: &mut [Move]) -> Result<u64> {
        let current = self.current();
        let mut bytes = 0;
        for moved in moves {
            let table = current.table(moved.id())?;
            // Runs are merged with each other meanwhile.
            let (kept, merged): (Vec<_>, Vec<_>) = std::mem::take(&mut moved.runs)
                .into_iter()
                .partition(|(of, _)| table.runs.iter().any(|run| Arc::ptr_eq(run, of)));
            moved.runs = kept;
            self.give_back(&moved.store, merged.into_iter().flat_map(|(_, copied)| copied.pages));
            for run in &table.runs {
                if moved.runs.iter().any(|(of, _)| Arc::ptr_eq(run, of)) {
                    continue;
                }
                if let Some(schema) = &moved.schema {
                    check_trees(std::slice::from_ref(run), schema, &moved.old)?;
                }
                let copied = self.copy_run(&current, moved, run)?;
                moved.runs.push((run.clone(), copied));
                bytes += run.meta().value_bytes + run.meta().rows;
            }
        }
        Ok(bytes)
    }

    fn copy_run(&self, version: &DatabaseVersion, moved: &Move, run: &Arc<Tree>) -> Result<Copied> {
        let (from, to) = (run.store(), &moved.store);
        let copy_blob = version.blob_copier(moved.id(), from, to);
        let mut copy = TreeCopy::new(to, version.copy_options(moved.id(), from, to), copy_blob.as_deref());
        let mut filter = KeyFilter::new(run.meta().rows as usize, FEW_BITS);
        let mut cursor = run.cursor();
        let mut there = cursor.seek_first()?;
        while there {
            filter.iter_mut().for_each(|filter| filter.insert(cursor.key()));
            copy.push(cursor.key(), cursor.record())?;
            if self.cancel_merge.load(Ordering::Relaxed) {
                return Err(Error::Cancelled);
            }
            there = cursor.next()?;
        }
        Ok(Copied::new(&moved.store, copy.finish()?, filter))
    }

    /// Publishes the copies in the place of the tables; false if these are not what was copied any more.
    fn replace_moved(&self, id: TableId, storage: Storage, moves: &mut [Move]) -> Result<bool> {
        let _merging = self.merging.lock();
        let mut checkpoint = self.checkpoint.lock();
        // Neither merges nor flushes now: what is left after this is in memtables.
        self.copy_runs(moves)?;
        let locks = self.lock_versions_within(&mut checkpoint).quiet()?;
        let now = locks.version();
        if !members(now, id)?.into_iter().eq(moves.iter().map(Move::id)) {
            return Ok(false);
        }
        now.catalog.check_storage(id, storage)?;
        for moved in &mut *moves {
            let table = now.tables.get(&moved.id()).ok_or_else(gone)?;
            if !moved.is_of(table) {
                return Ok(false);
            }
            if let Some(schema) = &moved.schema {
                if **schema != now.columns_in(id, storage)? {
                    return Ok(false);
                }
                check_memtables(table, schema)?;
            }
            for memtable in table.frozen.iter().rev().chain([&table.active]) {
                let copied = copy_memtable(now, moved, memtable)?;
                moved.memtables.splice(0..0, copied);
            }
        }
        debug_assert!(self.merging.is_locked());
        self.pipeline.sync_all()?;
        let mut catalog = (*now.catalog).clone();
        catalog.set_storage_of_all(id, storage)?;
        moves.iter().for_each(|moved| catalog.forget_dictionaries(moved.id()));
        let mut edit = VersionEdit {
            catalog: Some(Arc::new(catalog)),
            since: Some(locks.last()),
            is_new_epoch: true,
            ..VersionEdit::checkpoint(Turnover::default())
        };
        for moved in &*moves {
            let table = now.tables.get(&moved.id()).ok_or_else(gone)?;
            moved.turn_over(table, &mut edit.turnover)?;
            let active = self.memtables.make(moved.definition.storage)?;
            edit.table(moved.id(), moved.edit(table, active, now.index_epoch + 1));
        }
        self.apply(locks, edit).map(|()| true)
    }
}

impl Move {
    /// What comes and goes in the database's files when it takes the place of the table.
    fn turn_over(&self, table: &TableVersion, turnover: &mut Turnover) -> Result<()> {
        debug_assert!(!Arc::ptr_eq(&self.store, &table.shared.store), "pages are copied to other ones");
        debug_assert_eq!(self.runs.len(), table.runs.len(), "there is a copy of each run, and of no other");
        if !table.shared.store.is_memory() {
            turnover.retired.extend(table.pages()?);
            turnover.old_segments.extend(table.base.segments());
        }
        turnover.new_segments.extend(self.compacted.base.segments());
        if !self.store.is_memory() {
            turnover.born.extend(self.runs_of(table).flat_map(|copied| copied.pages.iter().copied()));
            turnover.born.extend(self.compacted.born.iter().copied());
        }
        Ok(())
    }

    /// What it makes of the table, from this epoch on.
    fn edit(&self, table: &TableVersion, active: Arc<Memtable>, epoch: u64) -> TableEdit {
        let shared = TableShared {
            logged: self.definition.log,
            moved: epoch,
            ..table.shared.with_base(&self.store, self.definition.storage, self.schema.clone())
        };
        let base = &self.compacted.base;
        let base = self.schema.as_ref().map_or_else(|| base.clone(), |schema| base.with_schema(schema));
        let runs = self.runs_of(table).map(|copied| copied.tree.clone()).collect();
        TableEdit::Move { reshaped: Reshaped { shared: Arc::new(shared), base }, runs, active }
    }

    /// Its runs in the new place, newest first.
    fn runs_of<'m>(&'m self, table: &'m TableVersion) -> impl Iterator<Item = &'m Copied> {
        let copies = table.runs.iter().map(|run| self.copy_of(run).expect("all are copied"));
        self.memtables.iter().chain(copies)
    }

    fn copy_of(&self, run: &Arc<Tree>) -> Option<&Copied> {
        self.runs.iter().find(|(of, _)| Arc::ptr_eq(of, run)).map(|(_, copied)| copied)
    }

    /// Whether it has all that is compacted, or in runs, of a table.
    fn is_of(&self, table: &TableVersion) -> bool {
        table.base.is_same(&self.old.base) && table.runs.iter().all(|run| self.copy_of(run).is_some())
    }
}

impl Copied {
    fn new(
        store: &Arc<PageStore>,
        (meta, pages): (TreeMeta, Vec<PageRange>),
        filter: Option<KeyFilter>,
    ) -> Self {
        Self { tree: Tree::open_filtered(store.clone(), meta, filter), pages }
    }
}

/// The newest version of each key of a memtable, as a run; none if there is no key.
fn copy_memtable(
    version: &DatabaseVersion,
    moved: &Move,
    memtable: &Arc<Memtable>,
) -> Result<Option<Copied>> {
    if memtable.is_empty() {
        return Ok(None);
    }
    let (from, to) = (&moved.old.shared.store, &moved.store);
    let copy_blob = version.blob_copier(moved.id(), from, to);
    let mut copy = TreeCopy::new(to, version.copy_options(moved.id(), from, to), copy_blob.as_deref());
    let mut filter = KeyFilter::new(memtable.rows(), FEW_BITS);
    let mut cursor = memtable.cursor();
    let mut there = cursor.seek_first();
    while there {
        let newest = cursor.newest();
        filter.iter_mut().for_each(|filter| filter.insert(cursor.key()));
        copy.push(cursor.key(), newest.record)?;
        there = cursor.next();
    }
    let (meta, pages) = copy.finish()?;
    assert_eq!(meta.rows, memtable.rows() as u64, "nothing is written to it meanwhile");
    Ok(Some(Copied::new(&moved.store, (meta, pages), filter)))
}
