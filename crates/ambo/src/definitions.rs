//! What there is: schemas, tables, indexes and views, at the moment of a view of the database.

use std::sync::Arc;

use ambo_engine::{catalog::Catalog, database::TableShared};

use crate::{Database, Object, ObjectKind, Read, Result, SchemaStamp, Table, View, moment::Moment};

/// The schemas, tables and views as a [view](Read) of the database knows them: for a transaction with what it has
/// [defined](crate::Transaction::define) itself.
///
/// ```
/// use ambo::{CatalogEdit, Database, TableDefinition, Type};
/// let db = Database::in_memory()?;
/// let mut tx = db.begin()?;
/// let cities = TableDefinition::new("cities").column("name", Type::Utf8).primary_key(&["name"]);
/// tx.define(&CatalogEdit::CreateTable(cities))?;
/// let cities = db.definitions(&tx).table("cities")?;
/// tx.insert_row(&cities, &["Delft".into()])?;
/// assert!(db.tables().is_empty());
/// tx.commit()?;
/// assert_eq!(db.table("cities")?.len()?, 1);
/// # Ok::<(), ambo::Error>(())
/// ```
pub struct Definitions<'a> {
    db: Database,
    moment: Moment<'a>,
    catalog: Arc<Catalog>,
}

/// What a table handle knows that comes from definitions which only a transaction has.
pub(crate) struct Own {
    pub catalog: Arc<Catalog>,
    pub shared: Arc<TableShared>,
}

impl Database {
    /// What there is, as a view of this database knows it.
    pub fn definitions<'a>(&self, of: &'a impl Read) -> Definitions<'a> {
        let moment = of.view();
        let catalog = moment.catalog();
        Definitions { db: self.clone(), moment, catalog }
    }
}

impl Definitions<'_> {
    /// The moment in the life of the schema that they are of.
    pub fn stamp(&self) -> SchemaStamp {
        SchemaStamp(self.catalog.clone())
    }

    /// The table `name` (`table`, or `schema.table`). Of a table that only a transaction has, the handle is good for reading and writing
    /// in this transaction alone until that has committed.
    ///
    /// # Errors
    /// [`Error::NotFound`](crate::Error::NotFound), with the nearest name there is.
    pub fn table(&self, name: &str) -> Result<Table> {
        let (id, definition) = self.catalog.find(name)?;
        let own = self.moment.own(id).map(|shared| Own { catalog: self.catalog.clone(), shared });
        Table::seen(self.db.clone(), id, definition.clone(), &self.catalog, own)
    }

    /// Whether there is a table of this name by now that the view, which is of an earlier moment, does not know.
    pub fn is_newer(&self, name: &str) -> bool {
        self.catalog.find(name).is_err()
            && !self.moment.has_own_definitions()
            && self.db.engine().current().catalog.find(name).is_ok()
    }

    /// The names of all tables, as `schema.table`.
    pub fn tables(&self) -> Vec<String> {
        let mut names: Vec<_> = self.catalog.tables().map(|(_, table)| table.name.clone()).collect();
        names.sort_unstable();
        names
    }

    /// The names of all schemas.
    pub fn schemas(&self) -> Vec<String> {
        self.catalog.schemas().map(str::to_owned).collect()
    }

    /// The view of this name (`view` or `schema.view`).
    ///
    /// # Errors
    /// [`Error::NotFound`](crate::Error::NotFound), with the nearest name there is.
    pub fn view(&self, name: &str) -> Result<Arc<View>> {
        self.catalog.find_view(name).cloned()
    }

    /// The object of this kind and name (`name` or `schema.name`).
    ///
    /// # Errors
    /// [`Error::NotFound`](crate::Error::NotFound), with the nearest name there is.
    pub fn object(&self, kind: ObjectKind, name: &str) -> Result<Arc<Object>> {
        self.catalog.find_object(kind, name).cloned()
    }

    /// All objects of a kind by name.
    pub fn objects(&self, kind: ObjectKind) -> Vec<Arc<Object>> {
        self.catalog.objects(kind).cloned().collect()
    }

    /// All views by name.
    pub fn views(&self) -> Vec<Arc<View>> {
        self.catalog.views().cloned().collect()
    }
}
