//! Changes of the catalog, whether each is a commit of its own or several are part of a transaction.

use ambo_types::{Error, Result, TableDefinition, TableOptions, id::TableId, qualify};

use crate::catalog::{Catalog, CatalogChange, Object, ObjectKind, TableChange, Truncated, View};

/// A change of schemas, tables, indexes or views.
#[derive(Clone, Debug)]
pub enum CatalogEdit {
    /// Creates a table; with a sort key, the index that keeps its primary key, too.
    CreateTable(TableDefinition),
    /// Creates a table in the place of one of its name, if there is one.
    CreateOrReplaceTable(TableDefinition),
    /// Puts a table in the place of another, if that is there, whose name it gets, and then gives indexes other names.
    ReplaceTable {
        /// The table that goes.
        name: String,
        /// The table that takes its name.
        with: String,
        /// Indexes, each by the name it has and the one it gets.
        indexes: Vec<(String, String)>,
    },
    /// Drops a table with everything in it, and its indexes.
    DropTable(String),
    /// Renames a table; the new name may be in another schema.
    RenameTable {
        /// What it is called.
        from: String,
        /// What it is to be called.
        to: String,
    },
    /// Changes options of a table.
    AlterTable {
        /// The table.
        name: String,
        /// Those that change.
        options: TableOptions,
    },
    /// Makes changes of a table that touch no row, all or none.
    ChangeTable {
        /// The table.
        name: String,
        /// One after the other.
        changes: Vec<TableChange>,
    },
    /// Removes all rows of a table at once. It gets a new id.
    TruncateTable(String),
    /// Drops an index.
    DropIndex(String),
    /// Renames an index, in its schema.
    RenameIndex {
        /// What it is called.
        from: String,
        /// What it is to be called.
        to: String,
    },
    /// Creates a view; with `replace` in the place of one of its name.
    CreateView {
        /// The view.
        view: View,
        /// Whether one of its name goes.
        replace: bool,
    },
    /// Drops a view.
    DropView(String),
    /// Renames a view; the new name may be in another schema.
    RenameView {
        /// What it is called.
        from: String,
        /// What it is to be called.
        to: String,
    },
    /// Sets the comment of a view.
    CommentView {
        /// The view.
        name: String,
        /// What is said about it.
        comment: Option<String>,
    },
    /// Creates an object of SQL's; with `replace` in the place of one of its kind and name.
    CreateObject {
        /// The object.
        object: Object,
        /// Whether one of its kind and name goes.
        replace: bool,
    },
    /// Drops an object of SQL's.
    DropObject {
        /// What it is.
        kind: ObjectKind,
        /// What it is called.
        name: String,
    },
    /// Creates a schema.
    CreateSchema(String),
    /// Drops a schema that has no tables and no views.
    DropSchema(String),
}

/// What a change of the catalog means for the tables.
#[derive(Default)]
pub(super) struct Effect {
    pub changes: Vec<CatalogChange>,
    pub added: Vec<TableId>,
    pub removed: Vec<TableId>,
    /// Tables with other columns than before, or that are stored otherwise.
    pub reformed: Option<TableId>,
}

impl CatalogEdit {
    /// Makes the change. Returns what it means, and the id of a table that is new by it.
    ///
    /// # Errors
    /// Those of the catalog, which is not to be used then.
    pub(super) fn on(&self, catalog: &mut Catalog) -> Result<(Effect, Option<TableId>)> {
        let one = |change| Ok((Effect::of(vec![change]), None));
        match self {
            Self::CreateTable(definition) => Effect::default().with_table(catalog, definition),
            Self::CreateOrReplaceTable(definition) => {
                Effect::default().without_table(catalog, &definition.name)?.with_table(catalog, definition)
            }
            Self::ReplaceTable { name, with, indexes } => replace_table(catalog, name, with, indexes),
            Self::DropTable(name) => {
                let (removed, changes) = catalog.drop_table(name)?;
                Ok((Effect { changes, removed, ..Effect::default() }, None))
            }
            Self::RenameTable { from, to } => Ok((Effect::of(catalog.rename_table(from, to)?), None)),
            Self::AlterTable { name, options } => {
                let change = catalog.alter_table(name, options)?;
                // Records may be of another width from now on.
                let reformed = Some(catalog.find(name)?.0);
                Ok((Effect { changes: vec![change], reformed, ..Effect::default() }, None))
            }
            Self::ChangeTable { name, changes } => {
                let (id, changes) = catalog.change_table(name, changes)?;
                Ok((Effect { changes, reformed: Some(id), ..Effect::default() }, None))
            }
            Self::TruncateTable(name) => {
                let Truncated { removed, added, changes } = catalog.truncate_table(name)?;
                let new = added[0];
                Ok((Effect { changes, added, removed, ..Effect::default() }, Some(new)))
            }
            Self::DropIndex(name) => {
                let (id, change) = catalog.drop_index(name)?;
                Ok((Effect { changes: vec![change], removed: vec![id], ..Effect::default() }, None))
            }
            Self::RenameIndex { from, to } => one(catalog.rename_index(from, to)?),
            Self::CreateView { view, replace } => one(catalog.create_view(view.clone(), *replace)?),
            Self::DropView(name) => Ok((Effect::of(catalog.drop_view(name)?), None)),
            Self::RenameView { from, to } => Ok((Effect::of(catalog.rename_view(from, to)?), None)),
            Self::CommentView { name, comment } => one(catalog.comment_view(name, comment.clone())?),
            Self::CreateObject { object, replace } => one(catalog.create_object(object.clone(), *replace)?),
            Self::DropObject { kind, name } => one(catalog.drop_object(*kind, name)?),
            Self::CreateSchema(name) => one(catalog.create_schema(name)?),
            Self::DropSchema(name) => Ok((Effect::of(catalog.drop_schema(name)?), None)),
        }
    }
}

fn replace_table(
    catalog: &mut Catalog,
    name: &str,
    with: &str,
    indexes: &[(String, String)],
) -> Result<(Effect, Option<TableId>)> {
    if catalog.find(with)?.1.name == qualify(name)? {
        return Err(Error::Invalid(format!("table \"{with}\" cannot take its own place")));
    }
    // Who may do what with the table that goes may do it with the one that comes.
    let rights = catalog.find_object(ObjectKind::Rights, name).ok().cloned();
    let mut effect = Effect::default().without_table(catalog, name)?;
    effect.changes.extend(catalog.rename_table(with, name)?);
    if let Some(rights) = rights {
        effect.changes.push(catalog.create_object((*rights).clone(), true)?);
    }
    for (from, to) in indexes {
        effect.changes.push(catalog.rename_index(from, to)?);
    }
    Ok((effect, None))
}

impl Effect {
    /// That it is what a change has made of the catalog.
    pub(super) fn verify(&self, after: &Catalog) {
        assert!(
            self.added.iter().all(|id| after.table(*id).is_some()),
            "a table that comes is in the catalog"
        );
        assert!(
            self.removed.iter().all(|id| after.table(*id).is_none()),
            "a table that goes is not in the catalog"
        );
        assert!(self.reformed.is_none_or(|id| after.table(id).is_some()), "a table that changes stays");
        assert!(
            self.changes.len() >= self.added.len() + self.removed.len(),
            "the log knows of each table that comes or goes"
        );
    }
    fn of(changes: Vec<CatalogChange>) -> Self {
        Self { changes, ..Self::default() }
    }

    fn with_table(
        mut self,
        catalog: &mut Catalog,
        definition: &TableDefinition,
    ) -> Result<(Self, Option<TableId>)> {
        let (id, change) = catalog.create_table(definition.clone())?;
        self.changes.push(change);
        self.added.push(id);
        if let Some((index, change)) = catalog.create_primary_index(id)? {
            self.changes.push(change);
            self.added.push(index);
        }
        Ok((self, Some(id)))
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
