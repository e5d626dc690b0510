//! The database handle.

use std::{
    path::Path,
    sync::{Arc, atomic::AtomicBool},
    time::Duration,
};

use ambo_engine::{
    catalog::Catalog,
    database::{Engine, Isolation, Running},
    id::TableId,
};

use crate::{
    Advice, Batch, CatalogEdit, CheckReport, Error, IndexDefinition, Info, Native, Options, RecoveryReport,
    Result, Snapshot, Storage, Table, TableDefinition, TableOptions, Transaction, TypedTable, VacuumReport,
};

/// An open database. Clones share it; the last handle to go closes it.
#[derive(Clone)]
pub struct Database {
    running: Arc<Running>,
    recovery: Arc<RecoveryReport>,
    plugins: Arc<ambo_query::uqi::Plugins>,
}

/// A moment in the life of the schema. See [`Database::schema_stamp`].
#[derive(Clone, Debug)]
pub struct SchemaStamp(pub(crate) Arc<Catalog>);

/// Whether both are of the same moment. It may say no although nothing has changed.
impl PartialEq for SchemaStamp {
    fn eq(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.0, &other.0)
    }
}

impl SchemaStamp {
    /// Whether the schemas, tables and indexes of a database are what they were. It may say no although nothing has changed.
    pub fn is_current(&self, db: &Database) -> bool {
        Arc::ptr_eq(&self.0, &db.engine().current().catalog)
    }
}

impl Database {
    pub(crate) fn new(running: Running, recovery: Arc<RecoveryReport>) -> Self {
        Self { running: Arc::new(running), recovery, plugins: Arc::default() }
    }

    pub(crate) fn engine(&self) -> &Arc<Engine> {
        self.running.engine()
    }

    /// The functions and predicates of others that [`Database::uqi`] knows.
    pub fn uqi_plugins(&self) -> &ambo_query::uqi::Plugins {
        &self.plugins
    }

    /// Opens the database in the directory `path` with the default [`Options`], or creates it.
    ///
    /// ```
    /// # let dir = tempfile::tempdir()?;
    /// let db = ambo::Database::open(dir.path().join("db"))?;
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn open(path: impl AsRef<Path>) -> Result<Self> {
        Options::new().open(path)
    }

    /// What schemas, tables and indexes there are now, to be compared with what there will be.
    pub fn schema_stamp(&self) -> SchemaStamp {
        SchemaStamp(self.engine().current().catalog.clone())
    }

    /// A new database in memory, gone when it is closed.
    ///
    /// ```
    /// let db = ambo::Database::in_memory()?;
    /// # Ok::<(), ambo::Error>(())
    /// ```
    pub fn in_memory() -> Result<Self> {
        Options::new().open_in_memory()
    }

    /// Whether what aggregates of segments and extents came to is kept, so that those who ask again read what is new only.
    pub fn keeps_partials(&self) -> bool {
        self.engine().keeps_partials()
    }

    /// Keeps what aggregates of segments and extents came to from now on, or does not, and forgets what is kept; with `None` as the
    /// [options](crate::Options::keep_partials) said. Answers are the same.
    pub fn keep_partials(&self, on: impl Into<Option<bool>>) {
        self.engine().keep_partials(on.into());
    }

    /// How long a transaction waits for what others have locked, if nothing else was [said](Transaction::set_lock_timeout).
    pub fn lock_timeout(&self) -> Duration {
        self.engine().lock_timeout()
    }

    /// What opening found: how much of the log was replayed, and whether a torn end was cut off.
    pub fn recovery(&self) -> &RecoveryReport {
        &self.recovery
    }

    /// The key-value table `name`; it is created when it is not there.
    ///
    /// ```
    /// let db = ambo::Database::in_memory()?;
    /// db.key_value("sessions")?.put(b"42", b"open")?;
    /// # Ok::<(), ambo::Error>(())
    /// ```
    ///
    /// # Errors
    /// [`Error::Invalid`] if there is a table of that name with other columns.
    pub fn key_value(&self, name: &str) -> Result<Table> {
        let table = match self.create_table(TableDefinition::key_value(name)) {
            Err(Error::Exists(_)) => self.table(name)?,
            // A reader cannot create, but may find it.
            Err(error) => return self.table(name).map_err(|_| error),
            Ok(table) => return Ok(table),
        };
        match table.definition().is_raw() {
            true => Ok(table),
            false => Err(Error::Invalid(format!(
                "table \"{name}\" has typed columns; open it with Database::table"
            ))),
        }
    }

    /// A table of native keys and values, such as `u64` to `String`; it is created when it is not there.
    ///
    /// ```
    /// let db = ambo::Database::in_memory()?;
    /// let names = db.typed::<u64, String>("names")?;
    /// names.put(7, "seven".into())?;
    /// assert_eq!(names.get(7)?.as_deref(), Some("seven"));
    /// # Ok::<(), ambo::Error>(())
    /// ```
    pub fn typed<K: Native, V: Native>(&self, name: &str) -> Result<TypedTable<K, V>> {
        self.typed_with(name, TableOptions::new())
    }

    /// As [`Database::typed`]; if the table is created, it is with these options.
    ///
    /// ```
    /// use ambo::{IntegerCodec, TableOptions};
    /// let db = ambo::Database::in_memory()?;
    /// let compressed = TableOptions::new().key_compression(IntegerCodec::Bp128);
    /// db.typed_with::<u32, u64>("counts", compressed)?.put(7, 1)?;
    /// # Ok::<(), ambo::Error>(())
    /// ```
    pub fn typed_with<K: Native, V: Native>(
        &self,
        name: &str,
        options: TableOptions,
    ) -> Result<TypedTable<K, V>> {
        TypedTable::open(self, name, &options)
    }

    /// Creates a table.
    ///
    /// ```
    /// use ambo::{TableDefinition, Type};
    /// let db = ambo::Database::in_memory()?;
    /// let cities = db.create_table(
    ///     TableDefinition::new("cities").column("name", Type::Utf8).column("people", Type::I64).primary_key(&["name"]),
    /// )?;
    /// cities.insert_row(&["Delft".into(), 109_000i64.into()])?;
    /// # Ok::<(), ambo::Error>(())
    /// ```
    ///
    /// # Errors
    /// [`Error::Exists`], or [`Error::Invalid`] for a definition that cannot be.
    pub fn create_table(&self, definition: TableDefinition) -> Result<Table> {
        self.created(self.engine().create_table(definition)?)
    }

    /// As [`Database::create_table`], in the place of a table of its name if there is one, which is dropped in the same commit.
    pub fn create_or_replace_table(&self, definition: TableDefinition) -> Result<Table> {
        let id = self.engine().define(&CatalogEdit::CreateOrReplaceTable(definition))?;
        self.created(id.expect("a table is new"))
    }

    fn created(&self, id: TableId) -> Result<Table> {
        let catalog = self.engine().current().catalog.clone();
        let definition =
            catalog.table(id).ok_or_else(|| Error::NotFound("the table was dropped at once".into()))?;
        Table::new(self.clone(), id, definition.clone())
    }

    /// The table `name` (`table`, or `schema.table`).
    ///
    /// # Errors
    /// [`Error::NotFound`], with the nearest name there is.
    pub fn table(&self, name: &str) -> Result<Table> {
        let version = self.engine().current();
        let (id, definition) = version.catalog.find(name)?;
        Table::new(self.clone(), id, definition.clone())
    }

    /// The names of all tables, as `schema.table`.
    pub fn tables(&self) -> Vec<String> {
        let mut names: Vec<_> =
            self.engine().current().catalog.tables().map(|(_, table)| table.name.clone()).collect();
        names.sort_unstable();
        names
    }

    /// The names of all schemas.
    pub fn schemas(&self) -> Vec<String> {
        self.engine().current().catalog.schemas().map(str::to_owned).collect()
    }

    /// Creates a schema, a namespace for tables.
    pub fn create_schema(&self, name: &str) -> Result<()> {
        self.define(&CatalogEdit::CreateSchema(name.into()))
    }

    /// Drops a schema that has no tables and no views.
    pub fn drop_schema(&self, name: &str) -> Result<()> {
        self.define(&CatalogEdit::DropSchema(name.into()))
    }

    /// Refuses what takes all rows of a table to which others may refer.
    fn refuse_referred(&self, name: &str) -> Result<()> {
        match self.table(name) {
            Ok(table) => table.check_delete(),
            // Whoever goes on says what is wrong.
            Err(_) => Ok(()),
        }
    }

    /// Drops a table with everything in it.
    ///
    /// # Errors
    /// [`Error::Invalid`](crate::Error::Invalid) for a table that a foreign key refers to: SQL drops it.
    pub fn drop_table(&self, name: &str) -> Result<()> {
        self.refuse_referred(name)?;
        self.engine().drop_table(name)
    }

    /// Renames a table; the new name may be in another schema.
    pub fn rename_table(&self, from: &str, to: &str) -> Result<()> {
        self.engine().rename_table(from, to)
    }

    /// Gives a table the name of another, which is dropped in the same commit if it is there: whoever looks finds the one or the other.
    ///
    /// ```
    /// let db = ambo::Database::in_memory()?;
    /// db.key_value("prices")?.put(b"a", b"old")?;
    /// db.key_value("new_prices")?.put(b"a", b"new")?;
    /// db.replace_table("prices", "new_prices")?;
    /// assert_eq!(db.key_value("prices")?.get(b"a")?.unwrap(), b"new");
    /// assert_eq!(db.tables(), ["main.prices"]);
    /// # Ok::<(), ambo::Error>(())
    /// ```
    ///
    /// # Errors
    /// [`Error::NotFound`] for the table `with`; [`Error::Exists`] if the name is that of a view or an index.
    pub fn replace_table(&self, name: &str, with: &str) -> Result<()> {
        self.replace_table_and_indexes(name, with, &[])
    }

    /// As [`Database::replace_table`]; and indexes get other names, each `(from, to)`, in the same commit. So the indexes of the new table
    /// can have the names of those that go.
    ///
    /// ```
    /// use ambo::{IndexDefinition, TableDefinition, Type};
    /// let db = ambo::Database::in_memory()?;
    /// for name in ["users", "new_users"] {
    ///     db.create_table(TableDefinition::new(name).column("id", Type::I64).column("mail", Type::Utf8).primary_key(&["id"]))?;
    ///     db.create_index(&IndexDefinition::new(format!("{name}_by_mail"), name, &["mail"]).unique())?;
    /// }
    /// db.replace_table_and_indexes("users", "new_users", &[("new_users_by_mail".into(), "users_by_mail".into())])?;
    /// assert!(db.table("users")?.index("users_by_mail").is_ok());
    /// # Ok::<(), ambo::Error>(())
    /// ```
    ///
    /// # Errors
    /// As [`Database::replace_table`], and the same for indexes. Nothing was changed then.
    pub fn replace_table_and_indexes(
        &self,
        name: &str,
        with: &str,
        indexes: &[(String, String)],
    ) -> Result<()> {
        let (name, with, indexes) = (name.into(), with.into(), indexes.to_vec());
        self.define(&CatalogEdit::ReplaceTable { name, with, indexes })
    }

    /// Changes options of a table that may have rows. What is compacted from now on is stored that way; [`Database::vacuum`] rewrites the
    /// rest.
    ///
    /// ```
    /// use ambo::{RecordCodec, TableOptions};
    /// let db = ambo::Database::in_memory()?;
    /// let notes = db.key_value("notes")?;
    /// db.alter_table("notes", TableOptions::new().record_compression(RecordCodec::Zstd { level: 9 }))?;
    /// db.vacuum()?;
    /// # Ok::<(), ambo::Error>(())
    /// ```
    ///
    /// # Errors
    /// [`Error::NotFound`], or [`Error::Invalid`] if the table cannot have them.
    pub fn alter_table(&self, name: &str, options: TableOptions) -> Result<()> {
        self.engine().alter_table(name, &options)
    }

    /// Creates an index and builds it. Its table stays in use meanwhile; a transaction that writes to it and began before fails with
    /// a conflict.
    ///
    /// ```
    /// use ambo::{Error, IndexDefinition, TableDefinition, Type};
    /// let db = ambo::Database::in_memory()?;
    /// let users = TableDefinition::new("users").column("id", Type::I64).column("mail", Type::Utf8);
    /// let users = db.create_table(users.primary_key(&["id"]))?;
    /// users.insert_row(&[1.into(), "ada@example.org".into()])?;
    /// db.create_index(&IndexDefinition::new("users_by_mail", "users", &["mail"]).unique())?;
    ///
    /// let by_mail = users.index("users_by_mail")?;
    /// assert_eq!(by_mail.get(&["ada@example.org".into()])?.unwrap()[0], 1i64.into());
    /// let again = users.insert_row(&[2.into(), "ada@example.org".into()]);
    /// assert!(matches!(again, Err(Error::Exists(_))));
    /// # Ok::<(), ambo::Error>(())
    /// ```
    ///
    /// # Errors
    /// [`Error::Exists`] for its name, or when it is to be unique and two rows have the same values: then there is no index.
    /// [`Error::NotFound`] for its table or a column.
    pub fn create_index(&self, index: &IndexDefinition) -> Result<()> {
        self.engine().create_index(index).map(drop)
    }

    /// As [`Database::create_index`], until `cancel` is set by another thread: then there is no such index.
    ///
    /// # Errors
    /// [`Error::Cancelled`].
    pub fn create_index_until(&self, index: &IndexDefinition, cancel: &AtomicBool) -> Result<()> {
        self.engine().create_index_until(index, cancel).map(drop)
    }

    /// Gives a table another storage while it is in use: what is compacted is built in the other shape, and takes the place
    /// of what was, at once. A transaction that began before and writes to the table may fail with a conflict.
    ///
    /// From `memory` to another storage all rows become durable, and the table is logged from then on. To `memory` it is the other way
    /// round: the rows, but not the table itself, are gone when the database is closed.
    ///
    /// ```
    /// # let dir = tempfile::tempdir()?;
    /// use ambo::{Database, Storage, TableDefinition, Type};
    /// let db = Database::open(dir.path())?;
    /// let t = TableDefinition::new("t").column("id", Type::I64).column("x", Type::F64).primary_key(&["id"]);
    /// let t = db.create_table(t)?;
    /// t.insert_row(&[1.into(), 2.5.into()])?;
    /// db.set_storage("t", Storage::Column)?;
    /// assert_eq!(t.select(&["x"])?.scan()?.count(1)?, 1);
    /// db.set_storage("t", Storage::Memory)?;
    /// assert_eq!(t.len()?, 1);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// [`Error::Invalid`] for rows that its columns cannot hold, for a bitmap index where none can be, and to or from memory while an index
    /// is being built: then nothing has changed.
    pub fn set_storage(&self, table: &str, storage: Storage) -> Result<()> {
        self.engine().set_storage(table, storage)
    }

    /// Drops an index.
    pub fn drop_index(&self, name: &str) -> Result<()> {
        self.engine().drop_index(name)
    }

    /// Removes all rows of a table at once. Open handles of it see an error from then on; get a new one.
    ///
    /// # Errors
    /// [`Error::Invalid`](crate::Error::Invalid) for a table that a foreign key refers to: SQL truncates it.
    pub fn truncate_table(&self, name: &str) -> Result<()> {
        self.refuse_referred(name)?;
        self.engine().truncate_table(name).map(drop)
    }

    /// Begins a transaction with snapshot isolation.
    ///
    /// ```
    /// let db = ambo::Database::in_memory()?;
    /// let accounts = db.key_value("accounts")?;
    /// let mut tx = db.begin()?;
    /// tx.put(&accounts, b"a", b"90")?;
    /// tx.put(&accounts, b"b", b"10")?;
    /// tx.commit()?;
    /// # Ok::<(), ambo::Error>(())
    /// ```
    pub fn begin(&self) -> Result<Transaction> {
        self.engine().begin(Isolation::Snapshot).map(Transaction::new)
    }

    /// Begins a serializable transaction: what it reads is checked when it commits.
    pub fn begin_serializable(&self) -> Result<Transaction> {
        self.engine().begin(Isolation::Serializable).map(Transaction::new)
    }

    /// Begins a transaction whose statements each read at a moment of their own: [`Transaction::refresh`] begins the next. What it writes
    /// is locked at once.
    ///
    /// ```
    /// use ambo::Read;
    /// let db = ambo::Database::in_memory()?;
    /// let t = db.key_value("t")?;
    /// let mut tx = db.begin_read_committed()?;
    /// t.put(b"a", b"meanwhile")?;
    /// assert!(tx.get(&t, b"a")?.is_none());
    /// tx.refresh()?;
    /// assert_eq!(tx.get(&t, b"a")?.unwrap(), b"meanwhile");
    /// # Ok::<(), ambo::Error>(())
    /// ```
    pub fn begin_read_committed(&self) -> Result<Transaction> {
        self.engine().begin(Isolation::ReadCommitted).map(Transaction::new)
    }

    /// A consistent, read-only view of all tables. It blocks nobody.
    pub fn snapshot(&self) -> Snapshot {
        Snapshot::new(self.engine().snapshot())
    }

    /// Sees everything that was committed until now, where the database is read [beside](crate::Options::beside) the process that writes
    /// it: that one is asked for a checkpoint. Returns the timestamp that is seen. Elsewhere everything is seen anyhow. If no process
    /// writes the database, what the last one left in its last checkpoint is seen, after the timeout.
    ///
    /// # Errors
    /// [`Error::InUse`] if the process that writes does not answer in time, or why its checkpoint cannot be read.
    pub fn refresh(&self, timeout: Duration) -> Result<u64> {
        Ok(self.engine().refresh(timeout)?.0)
    }

    /// Whether it is read [beside](crate::Options::beside) the process that writes it.
    pub fn is_beside(&self) -> bool {
        self.engine().is_beside()
    }

    /// Whether the rows of a table are in the memory of another process, beside which this one reads.
    pub fn has_elsewhere(&self, table: &Table) -> bool {
        self.is_beside() && !table.definition().storage.traits().durable
    }

    /// How many readers in other processes are [beside](crate::Options::beside) this one, which writes.
    pub fn readers(&self) -> usize {
        self.engine().readers().0
    }

    /// Begins a batch of writes that are committed together.
    pub fn batch(&self) -> Batch {
        Batch::new(self.clone())
    }

    /// Writes all uncompacted rows to pages and publishes a checkpoint. Where the database is read
    /// [beside](crate::Options::beside) the process that writes it, see [`Database::refresh`].
    pub fn flush(&self) -> Result<()> {
        self.engine().flush()
    }

    /// As [`Database::flush`], and merges each table into one packed tree: the state in which reads are fastest. What
    /// [filters](crate::Options::compaction_filter) remove is deleted first.
    pub fn compact(&self) -> Result<()> {
        self.engine().compact()
    }

    /// Asks the [filters](crate::Options::compaction_filter) of all tables that name a registered one which rows go, and deletes these.
    /// Returns how many. A row that others write to, or have locked, stays for the next time.
    ///
    /// # Errors
    /// What a filter said. Rows that went before are gone.
    pub fn apply_filters(&self) -> Result<u64> {
        self.engine().apply_filters()
    }

    /// The same of one table.
    ///
    /// # Errors
    /// As [`Database::apply_filters`]; [`Error::NotFound`] for a filter that is not registered, [`Error::Invalid`] for a table that names
    /// none.
    pub fn apply_filter(&self, table: &str) -> Result<u64> {
        self.engine().apply_filter_of(table)
    }

    /// As [`Database::flush`], and waits until nothing is due to be merged, without merging all that could be. Good after a
    /// load into a column table, before the database is closed: what is not merged then waits for the next time it is opened.
    ///
    /// ```
    /// # let db = ambo::Database::in_memory()?;
    /// use ambo::{Storage, TableDefinition, Type};
    ///
    /// let prices = db.create_table(
    ///     TableDefinition::new("prices")
    ///         .column("id", Type::I64)
    ///         .column("price", Type::F64)
    ///         .primary_key(&["id"])
    ///         .storage(Storage::Column),
    /// )?;
    /// for id in 0..10_000i64 {
    ///     prices.upsert_row(&[id.into(), 9.5.into()])?;
    /// }
    /// db.compact_due()?;
    /// let segments = db.info()?.tables[0].segments.clone().unwrap();
    /// assert_eq!((segments.rows, segments.segments), (10_000, 1));
    /// # Ok::<(), ambo::Error>(())
    /// ```
    pub fn compact_due(&self) -> Result<()> {
        self.engine().compact_due()
    }

    /// Compacts, and gives free space back to the file system, while the database is in use.
    pub fn vacuum(&self) -> Result<VacuumReport> {
        self.engine().vacuum()
    }

    /// How many data keys an encrypted database has had; `None` if it is not encrypted.
    pub fn data_keys(&self) -> Option<u32> {
        self.engine().data_keys()
    }

    /// Walks every page and names what is wrong; and holds every row to the columns and checks of its table, but for checks that only
    /// SQL can evaluate.
    ///
    /// ```
    /// let db = ambo::Database::in_memory()?;
    /// assert!(db.check()?.is_sound());
    /// # Ok::<(), ambo::Error>(())
    /// ```
    pub fn check(&self) -> Result<CheckReport> {
        let mut report = self.engine().check()?;
        crate::check::check_rows(self, &mut report)?;
        Ok(report)
    }

    /// Tables, rows, sizes, cache and log figures.
    pub fn info(&self) -> Result<Info> {
        self.engine().info()
    }

    /// Measures on a sample of about `rows` rows what each codec would save and cost for a table, and recommends options. Takes about a
    /// second for each 10 MB of sample.
    ///
    /// ```
    /// let db = ambo::Database::in_memory()?;
    /// let notes = db.key_value("notes")?;
    /// for n in 0..1000u32 {
    ///     notes.put(&n.to_be_bytes(), format!("note number {n}, of a thousand like it").as_bytes())?;
    /// }
    /// let advice = db.advise("notes", 10_000)?;
    /// db.alter_table("notes", advice.recommended)?;
    /// # Ok::<(), ambo::Error>(())
    /// ```
    pub fn advise(&self, table: &str, rows: u64) -> Result<Advice> {
        let id = self.engine().current().catalog.find(table)?.0;
        self.engine().advise(id, rows)
    }

    /// Closes the database for all handles: what is not compacted is written to pages, so that the next open has nothing to
    /// replay. Dropping the last handle does the same, and keeps errors to itself.
    pub fn close(self) -> Result<()> {
        self.running.close()
    }
}
