//! A database with SQL.

use std::{ops::Deref, path::Path, sync::Arc};

use ambo::CheckReport;

use crate::{
    Access, Connection, Keeper, Result, Role, Rows, check::check, engine::SqlEngine, engine::SqlOptions,
    rights::StoredRole,
};

/// An open database that understands SQL. Everything else it does as [`ambo::Database`], to which it derefs. Clones share it.
///
/// ```
/// # let dir = tempfile::tempdir()?;
/// # let path = dir.path().join("db");
/// let db = ambo_sql::Database::open(&path)?;
/// db.sql("create table towns (id int primary key, name text not null)")?;
/// db.sql("insert into towns values (1, 'Bergen'), (2, 'Porto')")?;
/// let name: String = db.sql("select name from towns where id = 2")?.single()?.into_values()?;
/// assert_eq!(name, "Porto");
/// // The same table without SQL.
/// assert_eq!(db.table("towns")?.len()?, 2);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone)]
pub struct Database {
    engine: Arc<SqlEngine>,
}

impl Database {
    /// Opens the database in the directory `path`, or creates it.
    pub fn open(path: impl AsRef<Path>) -> Result<Self> {
        Ok(Self::new(ambo::Database::open(path)?))
    }

    /// A new database in memory, gone when it is closed.
    pub fn in_memory() -> Result<Self> {
        Ok(Self::new(ambo::Database::in_memory()?))
    }

    /// SQL for a database that is open.
    pub fn new(db: ambo::Database) -> Self {
        Self::with_options(db, SqlOptions::default())
    }

    /// As [`Database::new`], saying how statements are run.
    pub fn with_options(db: ambo::Database, options: SqlOptions) -> Self {
        Self { engine: Arc::new(SqlEngine::new(db, options)) }
    }

    /// A connection: what transactions, prepared statements and interruption belong to. Each thread has one of its own.
    pub fn connect(&self) -> Connection {
        Connection::new(self.engine.clone())
    }

    /// The names of all functions, in their order: of values, of groups, of windows, and those that return tables.
    ///
    /// # Errors
    /// What may go wrong when the planner is made.
    pub fn functions(&self) -> Result<Vec<String>> {
        let state = self.engine.state()?;
        let mut names: Vec<_> = state.scalar_functions().keys().cloned().collect();
        names.extend(state.aggregate_functions().keys().cloned());
        names.extend(state.window_functions().keys().cloned());
        names.extend(state.higher_order_functions().keys().cloned());
        names.extend(state.table_functions().keys().cloned());
        names.sort_unstable();
        names.dedup();
        Ok(names)
    }

    /// Says who keeps the passwords of roles, and knows roles of its own; the first stays.
    pub fn set_keeper(&self, keeper: Arc<dyn Keeper>) {
        // Two servers of one database keep passwords in the same manner.
        let _is_first = self.engine.keeper.set(keeper);
    }

    /// Whether the database has roles that may come in.
    pub fn has_roles(&self) -> bool {
        StoredRole::all(&self.definitions(&**self)).iter().any(|role| role.can_login)
    }

    /// The role of a name that may come in, and what is kept of its password; `None` if there is none, or it may not.
    pub fn login(&self, name: &str) -> Option<(Role, Option<String>)> {
        let role = StoredRole::find(&self.definitions(&**self), name).filter(|role| role.can_login)?;
        Some((role.role(), role.secret))
    }

    /// Whether a role may do something without SQL. `name` is `schema.table`, or `table` of the schema `main`.
    ///
    /// # Errors
    /// It may not: `42501`.
    pub fn require(&self, role: &Role, name: &str, access: Access) -> Result<()> {
        role.require(&self.definitions(&**self), name, access)
    }

    /// Whether a role has any right to a table or view.
    pub fn shows(&self, role: &Role, name: &str) -> bool {
        ambo::qualify(name).is_ok_and(|name| role.may_see(&self.definitions(&**self), &name))
    }

    /// Makes a role the owner of what it has made without SQL.
    ///
    /// # Errors
    /// As those of the store.
    pub fn own(&self, role: &Role, name: &str) -> Result<()> {
        let mut connection = self.connect();
        connection.set_role(role.clone());
        connection.own(name)
    }

    /// Verifies every page, segment and row as [`ambo::Database::check`] does, and counts rows that are forbidden by checks which
    /// only SQL can evaluate.
    ///
    /// # Errors
    /// As [`ambo::Database::check`]: what is damaged is no error, it stands in the report.
    pub fn check(&self) -> ambo::Result<CheckReport> {
        check(&self.engine)
    }

    /// Runs one statement by itself, on a new connection.
    ///
    /// # Errors
    /// As [`Connection::sql`].
    pub fn sql(&self, statement: &str) -> Result<Rows<'static>> {
        self.connect().run_once(statement)
    }
}

impl Deref for Database {
    type Target = ambo::Database;

    fn deref(&self) -> &ambo::Database {
        &self.engine.db
    }
}
