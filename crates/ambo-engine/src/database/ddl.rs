//! Data definition: changes to the catalog. Each is a commit of its own, atomic and durable like any other.

use std::sync::Arc;

use ambo_base::{Stores, column::ColumnSchema};
use ambo_pages::sync::AtomicU64;
use ambo_types::{
    Error, Result, TableDefinition, TableOptions,
    id::{TableId, Timestamp},
    qualify,
};

use super::{
    engine::Engine,
    memtables::Memtables,
    version::{TableShared, TableVersion},
    version_edit::{Durability, TableEdit, VersionEdit},
};
use crate::{
    catalog::Catalog, catalog::CatalogChange, catalog::TableChange, catalog::Truncated, catalog::View,
};

/// What a change of the catalog means for the tables.
#[derive(Default)]
pub(super) struct Effect {
    pub changes: Vec<CatalogChange>,
    pub added: Vec<TableId>,
    pub removed: Vec<TableId>,
    /// Tables with other columns than before.
    pub reformed: Option<TableId>,
}

impl Effect {
    fn with_table(mut self, catalog: &mut Catalog, definition: TableDefinition) -> Result<(Self, TableId)> {
        let (id, change) = catalog.create_table(definition)?;
        self.changes.push(change);
        self.added.push(id);
        if let Some((index, change)) = catalog.create_primary_index(id)? {
            self.changes.push(change);
            self.added.push(index);
        }
        Ok((self, id))
    }

    /// Without the table of this name, if there is one.
    fn without_table(mut self, catalog: &mut Catalog, name: &str) -> Result<Self> {
        match catalog.drop_table(name) {
            Err(Error::NotFound(_)) => {}
            dropped => {
                let (removed, changes) = dropped?;
                self.removed.extend(removed);
                self.changes.extend(changes);
            }
        }
        Ok(self)
    }
}

impl Engine {
    /// Creates a table; with a sort key, the index that keeps its primary key, too.
    pub fn create_table(&self, definition: TableDefinition) -> Result<TableId> {
        self.change_catalog(|catalog| Effect::default().with_table(catalog, definition))
    }

    /// Creates a table in the place of one of its name, if there is one: a crash leaves the old one or the new.
    pub fn create_or_replace_table(&self, definition: TableDefinition) -> Result<TableId> {
        self.change_catalog(|catalog| {
            Effect::default().without_table(catalog, &definition.name)?.with_table(catalog, definition)
        })
    }

    /// Puts a table in the place of another, if that is there, whose name it gets, and then gives indexes other names: a crash leaves both
    /// tables, or this one with those names.
    pub fn replace_table(&self, name: &str, with: &str, indexes: &[(String, String)]) -> Result<()> {
        self.change_catalog(|catalog| {
            if catalog.find(with)?.1.name == qualify(name)? {
                return Err(Error::Invalid(format!("table \"{with}\" cannot take its own place")));
            }
            let mut effect = Effect::default().without_table(catalog, name)?;
            effect.changes.extend(catalog.rename_table(with, name)?);
            for (from, to) in indexes {
                effect.changes.push(catalog.rename_index(from, to)?);
            }
            Ok((effect, ()))
        })
    }

    /// Drops a table with everything in it, and its indexes.
    pub fn drop_table(&self, name: &str) -> Result<()> {
        self.change_catalog(|catalog| {
            let (removed, changes) = catalog.drop_table(name)?;
            Ok((Effect { changes, removed, ..Effect::default() }, ()))
        })
    }

    /// Renames a table; the new name may be in another schema.
    pub fn rename_table(&self, from: &str, to: &str) -> Result<()> {
        self.change_catalog(|catalog| {
            let changes = catalog.rename_table(from, to)?;
            Ok((Effect { changes, ..Effect::default() }, ()))
        })
    }

    /// Changes options of a table. Rows are rewritten as they are compacted and merged, all of them by [`Engine::vacuum`]; a merge that is
    /// under way ends with the options that it began with.
    pub fn alter_table(&self, name: &str, options: &TableOptions) -> Result<()> {
        self.change_catalog(|catalog| {
            let change = catalog.alter_table(name, options)?;
            Ok((Effect { changes: vec![change], ..Effect::default() }, ()))
        })
    }

    /// Makes changes of a table that touch no row, all or none: columns come, go and are renamed, and what is kept for SQL. Transactions
    /// and snapshots that are older go on with the table as it was.
    ///
    /// # Errors
    /// As [`Catalog::change_table`].
    pub fn change_table(&self, name: &str, changes: &[TableChange]) -> Result<()> {
        self.change_catalog(|catalog| {
            let (id, changes) = catalog.change_table(name, changes)?;
            Ok((Effect { changes, reformed: Some(id), ..Effect::default() }, ()))
        })
    }

    /// Creates a view; with `replace` in the place of one of its name.
    pub fn create_view(&self, view: View, replace: bool) -> Result<()> {
        self.change_views(|catalog| Ok(vec![catalog.create_view(view, replace)?]))
    }

    /// Drops a view.
    pub fn drop_view(&self, name: &str) -> Result<()> {
        self.change_views(|catalog| Ok(vec![catalog.drop_view(name)?]))
    }

    /// Renames a view; the new name may be in another schema.
    pub fn rename_view(&self, from: &str, to: &str) -> Result<()> {
        self.change_views(|catalog| catalog.rename_view(from, to))
    }

    /// Sets the comment of a view.
    pub fn comment_view(&self, name: &str, comment: Option<String>) -> Result<()> {
        self.change_views(|catalog| Ok(vec![catalog.comment_view(name, comment)?]))
    }

    fn change_views(&self, change: impl FnOnce(&mut Catalog) -> Result<Vec<CatalogChange>>) -> Result<()> {
        self.change_catalog(|catalog| Ok((Effect { changes: change(catalog)?, ..Effect::default() }, ())))
    }

    /// Removes all rows of a table at once. It gets a new id.
    pub fn truncate_table(&self, name: &str) -> Result<TableId> {
        self.change_catalog(|catalog| {
            let Truncated { removed, added, changes } = catalog.truncate_table(name)?;
            let new = added[0];
            Ok((Effect { changes, added, removed, ..Effect::default() }, new))
        })
    }

    /// Creates a schema.
    pub fn create_schema(&self, name: &str) -> Result<()> {
        self.change_catalog(|catalog| {
            let change = catalog.create_schema(name)?;
            Ok((Effect { changes: vec![change], ..Effect::default() }, ()))
        })
    }

    /// Drops a schema that has no tables and no views.
    pub fn drop_schema(&self, name: &str) -> Result<()> {
        self.change_catalog(|catalog| {
            let change = catalog.drop_schema(name)?;
            Ok((Effect { changes: vec![change], ..Effect::default() }, ()))
        })
    }

    /// Commits a change of the catalog.
    pub(super) fn change_catalog<R>(
        &self,
        change: impl FnOnce(&mut Catalog) -> Result<(Effect, R)>,
    ) -> Result<R> {
        self.check_writable()?;
        let locks = self.lock_versions();
        let mut catalog = (*locks.version().catalog).clone();
        let (effect, result) = change(&mut catalog)?;
        let Effect { changes, added, removed, reformed } = effect;
        debug_assert!(leads_to(&locks.version().catalog, &changes, &catalog), "as after a crash");
        let mut edit = VersionEdit { durability: Durability::Log(changes), ..VersionEdit::default() };
        removed.into_iter().for_each(|id| edit.table(id, TableEdit::Drop));
        for id in added {
            let floor = Timestamp::default();
            let table = open_table(&self.memtables, self.place(), id, &catalog, floor)?;
            edit.table(id, TableEdit::Create(table));
        }
        reformed.into_iter().for_each(|id| edit.table(id, TableEdit::Reform));
        edit.catalog = Some(Arc::new(catalog));
        self.apply(locks, edit)?;
        Ok(result)
    }
}

/// Whether changes, as the log has them, make one catalog of another; for assertions.
fn leads_to(before: &Catalog, changes: &[CatalogChange], after: &Catalog) -> bool {
    let mut catalog = before.clone();
    let rows = |of: &Catalog| of.rows().into_iter().chain(of.view_rows()).collect::<Vec<_>>();
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
    let schema = by_column.then(|| ColumnSchema::new(definition)).transpose()?.map(Arc::new);
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
    };
    Engine::new_table(memtables, place, shared, floor)
}
