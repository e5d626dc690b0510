//! Changing the shape of a table's settled part while the table is in use.
//!
//! 1. What is settled stays as it is for a while: runs are merged among themselves, nothing is merged or settled into it.
//! 2. A settled part of the other shape is built from it. What is written meanwhile is in deltas and runs, which both shapes have.
//! 3. In one moment the new part takes the place of the old, with the definition: a checkpoint, so after a crash there is the one or the
//!    other. The log does not carry it: a definition that is replayed leaves a table the storage that its checkpoint says.
//!
//! Where a table comes from memory or goes there, all of it has to go to other pages: `relocate`.
//!
//! Only rows that fit the columns can go into segments. Those of the settled part are looked at while it is built, those in runs and deltas
//! before the moment, and those that commit then have to be looked at with the new definition in mind.

use std::sync::Arc;

use super::{
    blobs::read_whole,
    checkpoint::Turnover,
    columns::Rows,
    commit::check_row,
    cursor::{Cover, MergedCursor},
    engine::{Engine, NEWEST},
    relocate::members,
    tree_copy::TreeCopy,
    version::TableVersion,
    version_edit::{Base, TableEdit, VersionEdit},
};
use crate::{
    Error, Result,
    base::{
        btree::{RowStream, Tree, TreeMeta},
        column::{ColumnSchema, ColumnSet},
    },
    catalog::{Storage, TableDefinition},
    id::TableId,
    log::Operation,
    page::{PageRange, PageStore},
    sync::Ordering,
};

/// How often loads may get in between.
pub(super) const TRIES: usize = 3;

/// A settled part that is not part of any version yet.
pub(super) enum Settled {
    Tree(TreeMeta, Vec<PageRange>),
    Columns(Arc<ColumnSet>),
}

impl Engine {
    /// Gives a table another storage. Reads and writes go on meanwhile; a transaction that began before may fail with a conflict. A table that
    /// comes from memory is durable, and logged, from then on; one that goes there is not any more.
    ///
    /// # Errors
    /// [`Error::Invalid`] if a row cannot be stored as columns, or an index is being built that would have to move: then nothing has changed.
    /// [`Error::Cancelled`] when the database is closed meanwhile.
    pub fn set_storage(&self, name: &str, storage: Storage) -> Result<()> {
        self.check_writable()?;
        let current = self.current();
        let (id, definition) = current.catalog.find(name)?;
        if definition.storage == storage {
            return Ok(());
        }
        reshaped(definition, storage)?;
        current.catalog.check_storage(id, storage)?;
        let moves = (definition.storage == Storage::Memory) != (storage == Storage::Memory);
        let held = if moves { members(&current, id)? } else { vec![id] };
        // Little is left to be looked at in the end.
        self.flush()?;
        {
            let _merging = self.merging.lock();
            for member in &held {
                if current.table(*member)?.columns.is_none() {
                    self.merge_all(*member, None)?;
                }
            }
            self.hold_settled(&held, true)?;
        }
        let result = if moves { self.relocate(id, storage) } else { self.reshape(id, storage) };
        if result.is_err() {
            // Dropped meanwhile, or it is held by nobody any more.
            let _ = self.hold_settled(&held, false);
        }
        result
    }

    fn reshape(&self, id: TableId, storage: Storage) -> Result<()> {
        for _ in 0..TRIES {
            let current = self.current();
            let old = current.table(id)?.clone();
            // With the columns that it has now: rows of later ones are not in what is settled.
            let reshaped = &reshaped(current.catalog.table(id).expect("the table is there"), storage)?;
            let new = self.build_settled(&old, reshaped, &old.shared.store)?;
            let pages = match &new {
                Settled::Tree(_, pages) => pages.clone(),
                Settled::Columns(_) => Vec::new(),
            };
            let replaced = self.replace_settled(id, &old, reshaped, new);
            if !matches!(replaced, Ok(true)) {
                self.give_back(&self.store, pages);
            }
            if replaced? {
                return Ok(());
            }
        }
        Err(Error::Conflict(
            "rows were loaded into the table again and again while its storage was changed".into(),
        ))
    }

    /// Keeps merges away from what is settled of tables, or lets them to it again. Those that are gone need no letting.
    fn hold_settled(&self, ids: &[TableId], hold: bool) -> Result<()> {
        let locks = self.lock_versions();
        let mut edit = VersionEdit::default();
        for id in ids {
            let table = match locks.version().tables.get(id) {
                None if hold => return Err(gone()),
                None => continue,
                Some(table) => table,
            };
            if hold && table.awaits_main {
                return Err(Error::Invalid("the storage of the table is being changed already".into()));
            }
            edit.table(*id, TableEdit::Hold(hold));
        }
        self.apply(locks, edit)
    }

    /// What is settled in the shape of a definition, with its pages in `to`.
    pub(super) fn build_settled(
        &self,
        old: &TableVersion,
        reshaped: &TableDefinition,
        to: &Arc<PageStore>,
    ) -> Result<Settled> {
        let id = old.shared.id;
        let store = &old.shared.store;
        // Nothing but what is settled: the main tree counts as a run of an empty column table.
        let mut settled = TableVersion {
            active: self.deltas.make(old.shared.storage)?,
            frozen: Vec::new(),
            runs: old.main.iter().cloned().collect(),
            main: None,
            ..old.clone()
        };
        if reshaped.storage == Storage::Column {
            let schema = Arc::new(ColumnSchema::new(reshaped)?);
            let empty = ColumnSet::new(self.segments.clone(), schema, Vec::new());
            let mut rows = Rows::new(MergedCursor::new(&settled, None, NEWEST, Cover::Runs));
            let read_blob = |reference: &[u8]| read_whole(store, &Self::decode_blob(reference, id)?);
            let columns = empty.settle(&mut rows, &read_blob, &self.cancel_merge)?;
            return Ok(Settled::Columns(Arc::new(columns)));
        }
        (settled.runs, settled.main) = (Vec::new(), old.main.clone());
        let mut rows = Rows::new(MergedCursor::new(&settled, None, NEWEST, Cover::Live));
        let mut copy = TreeCopy::new(&self.current(), id, store, to);
        while let Some((key, record)) = rows.next_row()? {
            copy.push(key, record)?;
            if self.cancel_merge.load(Ordering::Relaxed) {
                return Err(Error::Cancelled);
            }
        }
        let (meta, pages) = copy.finish()?;
        Ok(Settled::Tree(meta, pages))
    }

    /// Publishes the new settled part in the place of the old; false if that is not the same any more, because rows were loaded into it.
    fn replace_settled(
        &self,
        id: TableId,
        old: &TableVersion,
        reshaped: &TableDefinition,
        new: Settled,
    ) -> Result<bool> {
        let mut turnover = Turnover::default();
        if let Some(tree) = &old.main {
            turnover.retired.extend(tree.all_pages()?);
        }
        if let Some(columns) = &old.columns {
            turnover.retired.extend(columns.deleted_pages());
            turnover.old_segments.extend(columns.segments().cloned());
        }
        // Most of what came meanwhile is looked at here, where it keeps nobody waiting.
        self.flush()?;
        let looked_at = self.kept_table(id)?;
        // Columns may have come and gone since it was built.
        let schema = Arc::new(looked_at.version().columns_of(id)?);
        if let Settled::Columns(_) = &new {
            check_trees(&looked_at.runs, &schema, old)?;
        }
        let _merging = self.merging.lock();
        let locks = self.lock_checkpoint().quiet()?;
        let now = locks.version();
        let schema_now = now.columns_of(id)?;
        let mut catalog = now.catalog.clone();
        catalog.check_storage(id, reshaped.storage)?;
        Arc::make_mut(&mut catalog).set_storage(id, reshaped.storage)?;
        let table = now.tables.get(&id).ok_or_else(gone)?;
        if !has_same_base(table, old) || *schema != schema_now {
            return Ok(false);
        }
        let base = match new {
            Settled::Columns(columns) => {
                let is_new = |run: &&Arc<Tree>| !looked_at.runs.iter().any(|other| Arc::ptr_eq(run, other));
                let runs: Vec<_> = table.runs.iter().filter(is_new).cloned().collect();
                check_trees(&runs, &schema, old)?;
                check_deltas(table, &schema)?;
                turnover.new_segments = columns.segments().cloned().collect();
                let columns = Some(Arc::new(columns.with_schema(schema.clone())));
                let shared = table.shared.with_base(&table.shared.store, reshaped.storage, Some(schema));
                Base { shared: Arc::new(shared), main: None, columns }
            }
            Settled::Tree(meta, pages) => {
                turnover.born = pages;
                let shared = table.shared.with_base(&table.shared.store, reshaped.storage, None);
                let main = (!meta.is_empty()).then(|| Tree::open(shared.store.clone(), meta));
                Base { shared: Arc::new(shared), main, columns: None }
            }
        };
        let mut edit = VersionEdit {
            catalog: Some(catalog),
            beyond: Some(locks.last()),
            is_new_epoch: true,
            ..VersionEdit::checkpoint(turnover)
        };
        edit.table(id, TableEdit::Reshape(base));
        self.apply(locks, edit).map(|()| true)
    }
}

/// Whether what is settled of a table is what it was.
pub(super) fn has_same_base(table: &TableVersion, old: &TableVersion) -> bool {
    let main = |table: &TableVersion| table.main.as_ref().map(Arc::as_ptr);
    let columns = |table: &TableVersion| table.columns.as_ref().map(Arc::as_ptr);
    main(table) == main(old) && columns(table) == columns(old)
}

pub(super) fn gone() -> Error {
    Error::NotFound("the table was dropped or truncated meanwhile".into())
}

/// The definition with another storage.
pub(super) fn reshaped(definition: &TableDefinition, storage: Storage) -> Result<TableDefinition> {
    let reshaped = definition.with_storage(storage);
    reshaped.validate()?;
    Ok(reshaped)
}

/// Refuses rows of trees that do not fit their columns.
pub(super) fn check_trees(trees: &[Arc<Tree>], schema: &ColumnSchema, table: &TableVersion) -> Result<()> {
    for tree in trees {
        let mut cursor = tree.cursor();
        let mut there = cursor.seek_first()?;
        while there {
            let op = Operation { table: table.shared.id, key: cursor.key(), record: cursor.record() };
            check_row(schema, table, &op)?;
            there = cursor.next()?;
        }
    }
    Ok(())
}

/// Refuses rows in deltas that do not fit their columns.
pub(super) fn check_deltas(table: &TableVersion, schema: &ColumnSchema) -> Result<()> {
    for delta in std::iter::once(&table.active).chain(&table.frozen) {
        let mut cursor = delta.cursor();
        let mut there = cursor.seek_first();
        while there {
            for version in cursor.versions() {
                let op = Operation { table: table.shared.id, key: cursor.key(), record: version.record };
                check_row(schema, table, &op)?;
            }
            there = cursor.next();
        }
    }
    Ok(())
}
