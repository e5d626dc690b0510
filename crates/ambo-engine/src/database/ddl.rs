//! Data definition: changes to the catalog. Each is a commit of its own, atomic and durable like any other.

use std::sync::Arc;

use ambo_base::Stores;
use ambo_pages::sync::AtomicU64;
use ambo_types::{
    Result, TableDefinition, TableOptions,
    id::{TableId, Timestamp},
};

use super::{
    catalog_edit::{CatalogEdit, Effect},
    engine::Engine,
    expiry::Expiry,
    memtables::Memtables,
    version::{TableShared, TableVersion, stored_columns},
    version_edit::{Durability, TableEdit, VersionEdit},
};
use crate::catalog::{Catalog, CatalogChange, TableChange};

impl Engine {
    /// Makes a change of the catalog. Returns the id of a table that is new by it.
    ///
    /// # Errors
    /// [`ambo_types::Error::Exists`] and [`ambo_types::Error::NotFound`] for names, [`ambo_types::Error::Invalid`] for what cannot be.
    pub fn define(&self, edit: &CatalogEdit) -> Result<Option<TableId>> {
        self.change_catalog(|catalog| edit.on(catalog))
    }

    /// [`CatalogEdit::CreateTable`].
    pub fn create_table(&self, definition: TableDefinition) -> Result<TableId> {
        Ok(self.define(&CatalogEdit::CreateTable(definition))?.expect("a table is new"))
    }

    /// [`CatalogEdit::DropTable`].
    pub fn drop_table(&self, name: &str) -> Result<()> {
        self.define(&CatalogEdit::DropTable(name.into())).map(drop)
    }

    /// [`CatalogEdit::RenameTable`].
    pub fn rename_table(&self, from: &str, to: &str) -> Result<()> {
        self.define(&CatalogEdit::RenameTable { from: from.into(), to: to.into() }).map(drop)
    }

    /// [`CatalogEdit::AlterTable`]. Rows are rewritten as they are compacted and merged, all of them by [`Engine::vacuum`]; a merge that is
    /// under way ends with the options that it began with.
    pub fn alter_table(&self, name: &str, options: &TableOptions) -> Result<()> {
        self.define(&CatalogEdit::AlterTable { name: name.into(), options: options.clone() }).map(drop)
    }

    /// [`CatalogEdit::ChangeTable`]: columns come, go and are renamed, and what is kept for SQL. Transactions and snapshots that are older
    /// go on with the table as it was.
    pub fn change_table(&self, name: &str, changes: &[TableChange]) -> Result<()> {
        self.define(&CatalogEdit::ChangeTable { name: name.into(), changes: changes.to_vec() }).map(drop)
    }

    /// [`CatalogEdit::TruncateTable`].
    pub fn truncate_table(&self, name: &str) -> Result<TableId> {
        Ok(self.define(&CatalogEdit::TruncateTable(name.into()))?.expect("it has a new id"))
    }

    /// [`CatalogEdit::DropIndex`].
    pub fn drop_index(&self, name: &str) -> Result<()> {
        self.define(&CatalogEdit::DropIndex(name.into()))?;
        self.find_postings()
    }

    /// Commits a change of the catalog.
    pub(super) fn change_catalog<R>(
        &self,
        change: impl FnOnce(&mut Catalog) -> Result<(Effect, R)>,
    ) -> Result<R> {
        self.check_writable()?;
        let _defining = self.defining.read();
        let locks = self.lock_versions();
        let (edit, result) = self.edit_of(&locks.version().catalog, change)?;
        self.apply(locks, edit)?;
        Ok(result)
    }

    /// What a change of a catalog means for a version that has it.
    pub(super) fn edit_of<R>(
        &self,
        before: &Catalog,
        change: impl FnOnce(&mut Catalog) -> Result<(Effect, R)>,
    ) -> Result<(VersionEdit, R)> {
        let mut catalog = before.clone();
        let (effect, result) = {
            // Ids are given out once, whatever becomes of the change.
            let mut end_of_ids = self.end_of_ids.lock();
            catalog.reserve_ids(*end_of_ids);
            let changed = change(&mut catalog);
            *end_of_ids = catalog.end_of_ids();
            changed?
        };
        effect.verify(&catalog);
        let Effect { changes, added, removed, reformed } = effect;
        debug_assert!(leads_to(before, &changes, &catalog), "as after a crash");
        let mut edit = VersionEdit { durability: Durability::Log(changes), ..VersionEdit::default() };
        removed.into_iter().for_each(|id| edit.table(id, TableEdit::Drop));
        for id in added {
            let floor = Timestamp::default();
            let table = open_table(&self.memtables, self.place(), id, &catalog, floor)?;
            edit.table(id, TableEdit::Create(table));
        }
        reformed.into_iter().for_each(|id| edit.table(id, TableEdit::Reform));
        edit.catalog = Some(Arc::new(catalog));
        Ok((edit, result))
    }
}

/// Whether changes, as the log has them, make one catalog of another; for assertions.
fn leads_to(before: &Catalog, changes: &[CatalogChange], after: &Catalog) -> bool {
    let mut catalog = before.clone();
    let rows = |of: &Catalog| {
        of.rows().into_iter().chain(of.view_rows()).chain(of.object_rows()).collect::<Vec<_>>()
    };
    changes.iter().all(|change| catalog.apply(&change.key, change.record()).is_ok())
        && rows(&catalog) == rows(after)
}

/// An empty table as its definition says.
pub(super) fn open_table(
    memtables: &Memtables,
    place: Stores<'_>,
    id: TableId,
    catalog: &Catalog,
    floor: Timestamp,
) -> Result<Arc<TableVersion>> {
    let definition = catalog.table(id).expect("its definition is in the catalog");
    let by_column = definition.storage.traits().by_column;
    let schema = by_column.then(|| stored_columns(catalog, id, definition)).transpose()?.map(Arc::new);
    let shared = TableShared {
        id,
        store: place.store(definition.storage),
        storage: definition.storage,
        logged: definition.log,
        moved: 0,
        next_row: Arc::new(AtomicU64::new(1)),
        schema,
        guard: None,
        fresh: Default::default(),
        samples: Default::default(),
        expiry: Expiry::of(definition)?,
        stamped: definition.expiry.stamped,
    };
    Engine::new_table(memtables, place, shared, floor)
}
