//! Changing the shape of a table's compacted part while the table is in use.
//!
//! 1. What is compacted stays as it is for a while: runs are merged among themselves, nothing is merged or compacted into it.
//! 2. A compacted part of the other shape is built from it. What is written meanwhile is in memtables and runs, which both shapes have.
//! 3. In one moment the new part takes the place of the old, with the definition: a checkpoint, so after a crash there is the one or the
//!    other. The log does not carry it: a definition that is replayed leaves a table the storage that its checkpoint says.
//!
//! Where a table comes from memory or goes there, all of it has to go to other pages: `relocate`.
//!
//! Only rows that fit the columns can go into segments. Those of the compacted part are looked at while it is built, those in runs and
//! memtables before the moment, and those that commit then have to be looked at with the new definition in mind.

use std::sync::Arc;

use ambo_base::{Base, BaseOps, Built, Workshop, btree::Tree, column::ColumnSchema};
use ambo_pages::{log::Operation, page::PageStore};
use ambo_types::{Error, Result, Storage, TableDefinition, id::TableId};

use super::{
    blobs::read_whole,
    checkpoint::Turnover,
    commit::check_row,
    cursor::{Cover, CursorStream, MergedCursor},
    engine::{Engine, NEWEST},
    expiry::Moment,
    relocate::members,
    version::{TableVersion, stored_columns},
    version_edit::{Reshaped, TableEdit, VersionEdit},
};

/// How often loads may get in between.
pub(super) const TRIES: usize = 3;

impl Engine {
    /// Gives a table another storage. Reads and writes go on meanwhile; a transaction that began before may fail with a conflict. A table
    /// that comes from memory is durable, and logged, from then on; one that goes there is not any more.
    ///
    /// # Errors
    /// [`Error::Invalid`] if a row cannot be stored as columns, or an index is being built that would have to move: then nothing has
    /// changed. [`Error::Cancelled`] when the database is closed meanwhile.
    pub fn set_storage(&self, name: &str, storage: Storage) -> Result<()> {
        self.check_writable()?;
        let current = self.current();
        let (id, definition) = current.catalog.find(name)?;
        if definition.storage == storage {
            return Ok(());
        }
        reshaped(definition, storage)?;
        current.catalog.check_storage(id, storage)?;
        let moves = definition.storage.traits().durable != storage.traits().durable;
        let held = if moves { members(&current, id)? } else { vec![id] };
        // Little is left to be looked at in the end.
        self.flush()?;
        {
            let _merging = self.merging.lock();
            for member in &held {
                if current.table(*member)?.base.columns().is_none() {
                    self.merge_all(*member, None)?;
                }
            }
            self.hold_compacted(&held, true)?;
        }
        // From now on no range of keys is deleted as such. Those that were become tombstones, which all storages have.
        let result = self.flush().and_then(|()| match moves {
            true => self.relocate(id, storage),
            false => self.reshape(id, storage),
        });
        if result.is_err() {
            // Dropped meanwhile, or it is held by nobody any more.
            let _ = self.hold_compacted(&held, false);
        }
        result
    }

    fn reshape(&self, id: TableId, storage: Storage) -> Result<()> {
        for _ in 0..TRIES {
            let current = self.current();
            let old = current.table(id)?.clone();
            debug_assert!(old.is_held, "what is compacted is held while it is built in another shape");
            // With the columns that it has now: rows of later ones are not in what is compacted.
            let reshaped = &reshaped(current.catalog.table(id).expect("the table is there"), storage)?;
            let new = self.build_compacted(&old, reshaped, &old.shared.store)?;
            let pages = new.born.clone();
            let replaced = self.replace_compacted(id, &old, reshaped, new);
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

    /// Keeps merges away from what is compacted of tables, or lets them to it again. Those that are gone need no letting.
    fn hold_compacted(&self, ids: &[TableId], hold: bool) -> Result<()> {
        let locks = self.lock_versions();
        let mut edit = VersionEdit::default();
        for id in ids {
            let table = match locks.version().tables.get(id) {
                None if hold => return Err(gone()),
                None => continue,
                Some(table) => table,
            };
            if hold && table.is_held {
                return Err(Error::Invalid("the storage of the table is being changed already".into()));
            }
            edit.table(*id, TableEdit::Hold(hold));
        }
        self.apply(locks, edit)
    }

    /// What is compacted of a table as a base of another storage, with its pages in `to`.
    pub(super) fn build_compacted(
        &self,
        old: &TableVersion,
        reshaped: &TableDefinition,
        to: &Arc<PageStore>,
    ) -> Result<Built<Base>> {
        let (id, from) = (old.shared.id, &old.shared.store);
        // Nothing but what is compacted.
        let compacted = TableVersion {
            active: self.memtables.make(old.shared.storage)?,
            frozen: Vec::new(),
            runs: Vec::new(),
            ..old.clone()
        };
        let mut rows =
            CursorStream::new(MergedCursor::new(&compacted, None, Moment::all(NEWEST), Cover::Live));
        let by_column = reshaped.storage.traits().by_column;
        let version = self.current();
        let schema = by_column.then(|| stored_columns(&version.catalog, id, reshaped));
        let schema = schema.transpose()?.map(Arc::new);
        let copy_blob = version.blob_copier(id, from, to);
        let workshop = Workshop {
            store: to,
            build: version.copy_options(id, from, to),
            train: &|_| Ok(None),
            read_blob: &|reference| read_whole(from, &Self::decode_blob(reference, id)?),
            copy_blob: copy_blob.as_deref(),
            relocate_from: None,
            rewrite: false,
            cancel: &self.cancel_merge,
            leave_out: None,
            all_below: None,
        };
        Base::empty(reshaped.storage, self.place(), schema.as_ref()).build(&mut rows, &workshop)
    }

    /// Publishes the new compacted part in the place of the old; false if that is not the same any more, because rows were loaded into it.
    fn replace_compacted(
        &self,
        id: TableId,
        old: &TableVersion,
        reshaped: &TableDefinition,
        new: Built<Base>,
    ) -> Result<bool> {
        let Built { base, born } = new;
        let turnover = Turnover {
            born,
            retired: old.base.pages()?,
            new_segments: base.segments(),
            old_segments: old.base.segments(),
            ..Turnover::default()
        };
        let by_column = reshaped.storage.traits().by_column;
        // Most of what came meanwhile is looked at here, where it keeps nobody waiting.
        self.flush()?;
        let looked_at = self.kept_table(id)?;
        // Columns may have come and gone since it was built.
        let schema = Arc::new(looked_at.version().columns_in(id, reshaped.storage)?);
        if by_column {
            check_trees(&looked_at.runs, &schema, old)?;
        }
        let _merging = self.merging.lock();
        let locks = self.lock_checkpoint().quiet()?;
        let now = locks.version();
        let schema_now = now.columns_in(id, reshaped.storage)?;
        let mut catalog = now.catalog.clone();
        catalog.check_storage(id, reshaped.storage)?;
        Arc::make_mut(&mut catalog).set_storage(id, reshaped.storage)?;
        let table = now.tables.get(&id).ok_or_else(gone)?;
        if !table.base.is_same(&old.base) || *schema != schema_now {
            return Ok(false);
        }
        if by_column {
            let is_new = |run: &&Arc<Tree>| !looked_at.runs.iter().any(|other| Arc::ptr_eq(run, other));
            let runs: Vec<_> = table.runs.iter().filter(is_new).cloned().collect();
            check_trees(&runs, &schema, old)?;
            check_memtables(table, &schema)?;
        }
        let base = base.with_schema(&schema);
        let shared =
            table.shared.with_base(&table.shared.store, reshaped.storage, by_column.then_some(schema));
        let reshaped = Reshaped { shared: Arc::new(shared), base };
        let mut edit = VersionEdit {
            catalog: Some(catalog),
            beyond: Some(locks.last()),
            is_new_epoch: true,
            ..VersionEdit::checkpoint(turnover)
        };
        edit.table(id, TableEdit::Reshape(reshaped));
        self.apply(locks, edit).map(|()| true)
    }
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

/// Refuses rows in memtables that do not fit their columns.
pub(super) fn check_memtables(table: &TableVersion, schema: &ColumnSchema) -> Result<()> {
    for memtable in std::iter::once(&table.active).chain(&table.frozen) {
        let mut cursor = memtable.cursor();
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
