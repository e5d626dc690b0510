//! How a database is opened.

use std::{
    path::{Path, PathBuf},
    sync::Arc,
    time::Duration,
};

use ambo_engine::{
    database::{Engine, Options as Settings, RowFilter, Running, Sync},
    io::{Env, sim::SimDisk},
};

use crate::{BackupReport, Database, Key, KeySource, Passphrase, RestoredKey, Result};

/// Settings to open a database with; the defaults are right for most.
///
/// ```
/// # let dir = tempfile::tempdir()?;
/// # let path = dir.path().join("db");
/// let db = ambo::Options::new().cache_bytes(64 << 20).sync(ambo::Sync::Off).open(&path)?;
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug, Default)]
#[must_use = "call `open` at the end"]
pub struct Options {
    pub(crate) settings: Settings,
    plugin_directory: Option<PathBuf>,
    archive: Option<PathBuf>,
}

impl Options {
    /// The defaults: 256 MiB cache, 128 MiB for uncompacted rows, every commit synced.
    pub fn new() -> Self {
        Self::default()
    }

    /// Memory for all that is cached, in bytes, at least 256 KiB: pages, encoded blocks and rows of column tables, and what their scans
    /// keep of rows that are not compacted. Tables of all storages share it by need; pages have a thirty-second for certain, and so have
    /// blocks with rows. Not in it are pages and blocks that readers hold when there is no room for them, layers that only one scan uses,
    /// and the directories of segments.
    pub fn cache_bytes(mut self, bytes: usize) -> Self {
        self.settings.cache_bytes = bytes;
        self
    }

    /// Memory for rows that are not compacted yet, in bytes.
    pub fn memtable_bytes(mut self, bytes: usize) -> Self {
        self.settings.memtable_bytes = bytes;
        self
    }

    /// How durable a commit is when it returns.
    pub fn sync(mut self, sync: Sync) -> Self {
        self.settings.sync = sync;
        self
    }

    /// Whether log groups are compressed (LZ4) where it pays.
    pub fn log_compression(mut self, on: bool) -> Self {
        self.settings.log_compression = on;
        self
    }

    /// How many bytes of the log are kept beyond what recovery needs, for [`Database::changes_since`]; none if nothing is said. Less is
    /// kept where that is more than half of what the disk has free.
    pub fn keep_log_bytes(mut self, bytes: u64) -> Self {
        self.settings.keep_log_bytes = bytes;
        self
    }

    /// As [`Database::archive_to`], as soon as the database is opened.
    pub fn archive(mut self, directory: impl AsRef<Path>) -> Self {
        self.archive = Some(directory.as_ref().to_path_buf());
        self
    }

    /// The size of a page, a power of two from 4 KiB to 64 KiB; only a new database takes it.
    pub fn page_size(mut self, bytes: usize) -> Self {
        self.settings.page_size = bytes;
        self
    }

    /// Bytes of a part of a table of storage `lsm`, at least 4 KiB; 64 MiB if nothing is said. Eight parts are merged at a time.
    pub fn part_bytes(mut self, bytes: u64) -> Self {
        self.settings.part_bytes = bytes;
        self
    }

    /// The key of an encrypted database, wherever it comes from. A database that is created with a key is encrypted: pages, segments, the
    /// log and backups, by AES-256-GCM. One that is there already is encrypted by being [restored](Options::restore) with a key.
    ///
    /// ```
    /// # let dir = tempfile::tempdir()?;
    /// # let path = dir.path().join("db");
    /// let key = ambo::Key::random()?;
    /// let db = ambo::Options::new().key(key.clone()).open(&path)?;
    /// db.key_value("users")?.put(b"ada", b"Ada Lovelace")?;
    /// db.close()?;
    ///
    /// let refused = |options: ambo::Options| matches!(options.open(&path), Err(ambo::Error::Invalid(_)));
    /// assert!(refused(ambo::Options::new()));
    /// assert!(refused(ambo::Options::new().key(ambo::Key::random()?)));
    /// assert_eq!(ambo::Options::new().key(key).open(&path)?.key_value("users")?.len()?, 1);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn key(mut self, key: impl Into<KeySource>) -> Self {
        self.settings.key = Some(key.into());
        self
    }

    /// As [`Options::key`], for the key in a file: 32 bytes, or 64 hexadecimal digits. It is read when the database is opened.
    pub fn key_file(self, file: impl AsRef<Path>) -> Self {
        let file = file.as_ref().to_path_buf();
        self.key(KeySource::Call(Arc::new(move || Key::from_file(&file))))
    }

    /// As [`Options::key`], for the key in an environment variable, as 64 hexadecimal digits.
    pub fn key_environment(self, name: &str) -> Self {
        let name = name.to_owned();
        self.key(KeySource::Call(Arc::new(move || Key::from_environment(&name))))
    }

    /// As [`Options::key`], for a key that is made of a passphrase, by Argon2id.
    pub fn passphrase(self, text: impl Into<String>) -> Self {
        self.key(Passphrase::new(text))
    }

    /// As [`Database::restore`], with the key of the backup, if it is encrypted; `to` says how the database will be.
    ///
    /// # Errors
    /// As [`Database::restore`]; [`Error::Invalid`](crate::Error::Invalid) for a directory that is not empty, if `to` is not
    /// [`RestoredKey::Same`].
    pub fn restore(
        self,
        from: impl AsRef<Path>,
        directory: impl AsRef<Path>,
        to: &RestoredKey,
    ) -> Result<BackupReport> {
        let db = self.read_only(true).open(from)?;
        db.engine().restore_with_key(&Env::os(directory, true)?.disk, to)
    }

    /// Whether a database is created where none is (the default).
    pub fn create(mut self, on: bool) -> Self {
        self.settings.create = on;
        self
    }

    /// Opens for reading only, beside other readers.
    pub fn read_only(mut self, on: bool) -> Self {
        self.settings.read_only = on;
        self
    }

    /// Opens for reading beside the process that writes the database, whether or not there is one now. What is seen is a checkpoint of that
    /// process: a second old at most if nothing is said, and everything that was committed after [`Database::refresh`]. A snapshot or a
    /// transaction stays what it was; a later one sees what is newer. Nobody waits for such readers, and who is killed leaves nothing
    /// behind; pages and files that one still reads are not reused, so the files grow while a reader keeps a snapshot for long.
    ///
    /// Tables in memory are not seen. The reader has to write to the file `readers` of the directory, which is not on a file system of
    /// another machine.
    ///
    /// ```
    /// # let dir = tempfile::tempdir()?;
    /// # let path = dir.path().join("db");
    /// let db = ambo::Database::open(&path)?;
    /// let users = db.key_value("users")?;
    /// users.put(b"ada", b"Ada Lovelace")?;
    ///
    /// // In another process, or in this one:
    /// let beside = ambo::Options::new().beside(true).open(&path)?;
    /// beside.refresh(std::time::Duration::from_secs(10))?;
    /// assert_eq!(beside.table("users")?.get(b"ada")?.as_deref(), Some(&b"Ada Lovelace"[..]));
    /// assert!(beside.key_value("other").is_err());
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn beside(mut self, on: bool) -> Self {
        self.settings.beside = on;
        self
    }

    /// How long to wait for another transaction's row lock.
    pub fn lock_timeout(mut self, timeout: Duration) -> Self {
        self.settings.lock_timeout = timeout;
        self
    }

    /// Whether runs are merged in the background (the default), or only by [`Database::compact`].
    pub fn background_merge(mut self, on: bool) -> Self {
        self.settings.background_merge = on;
        self
    }

    /// Whether what aggregates of single segments and extents came to is kept in memory (the default), so that those who ask again read
    /// what is new only. It takes an eighth of [`cache_bytes`](Options::cache_bytes) at most. See [`Database::keep_partials`].
    pub fn keep_partials(mut self, on: bool) -> Self {
        self.settings.keep_partials = on;
        self
    }

    /// The most bytes that one transaction may write.
    pub fn transaction_bytes_max(mut self, bytes: usize) -> Self {
        self.settings.transaction_bytes_max = bytes;
        self
    }

    /// Registers a compaction filter: a function that says which rows stay of the tables that name it
    /// ([`TableDefinition::compaction_filter`](crate::TableDefinition::compaction_filter),
    /// [`TableOptions::compaction_filter`](crate::TableOptions::compaction_filter)). A filter of the same name is replaced.
    ///
    /// A row that it removes is there until a pass of the filter comes by: in the background passes follow merges of the table;
    /// [`Database::compact`], [`Database::vacuum`] and [`Database::apply_filters`] make one at once. It is deleted by a commit as any
    /// other, so indexes, counts and snapshots know of it. Where a table names a filter that is not registered all rows stay.
    ///
    /// ```
    /// use ambo::{FilteredRow, TableDefinition};
    /// let db = ambo::Options::new()
    ///     .compaction_filter("of_tenants", |row: &FilteredRow<'_>| Ok(!row.key().starts_with(b"gone/")))
    ///     .open_in_memory()?;
    /// let t = db.create_table(TableDefinition::key_value("t").compaction_filter("of_tenants"))?;
    /// t.put(b"gone/1", b"x")?;
    /// t.put(b"here/1", b"y")?;
    /// assert_eq!(t.len()?, 2);
    /// db.compact()?;
    /// assert_eq!(t.len()?, 1);
    /// # Ok::<(), ambo::Error>(())
    /// ```
    pub fn compaction_filter(mut self, name: impl Into<String>, filter: impl RowFilter + 'static) -> Self {
        self.settings.filters.register(name, filter);
        self
    }

    /// From where [`Database::uqi`](crate::Database::uqi) may load libraries with functions of others: none if nothing is said. A library
    /// is code in this process, which may read and break everything; it and the directory belong to this user or to root, and nobody else
    /// may write to them.
    pub fn plugin_directory(mut self, directory: impl AsRef<Path>) -> Self {
        self.plugin_directory = Some(directory.as_ref().to_path_buf());
        self
    }

    /// Opens the database in the directory `path`, or creates it.
    ///
    /// # Errors
    /// [`Error::InUse`](crate::Error::InUse) when another process has it (see [`Options::beside`]),
    /// [`Error::Damaged`](crate::Error::Damaged) with file and offset, or what the operating system said.
    pub fn open(self, path: impl AsRef<Path>) -> Result<Database> {
        self.settings.validate()?;
        let create = self.settings.create && !self.settings.read_only && !self.settings.beside;
        let env = Env::os(path, create)?;
        self.open_in(env)
    }

    /// A new database in memory, gone when it is closed.
    pub fn open_in_memory(self) -> Result<Database> {
        self.open_in(SimDisk::new(0).env())
    }

    fn open_in(self, env: Env) -> Result<Database> {
        let (engine, recovery) = Engine::open(env, self.settings)?;
        let db = Database::new(Running::start(engine)?, Arc::new(recovery));
        if let Some(directory) = self.plugin_directory {
            db.uqi_plugins().set_directory(directory);
        }
        if let Some(archive) = self.archive {
            db.archive_to(archive)?;
        }
        Ok(db)
    }
}
