//! Backups of a database that is in use.

use std::path::Path;

use ambo_engine::io::Env;

use crate::{BackupReport, CheckReport, Database, KeySource, Options, RestoredKey, Result};

impl Database {
    /// Makes the directory `path` a backup of the database as it is now, while it goes on being used. A backup is a database: open it, or
    /// [restore](Database::restore) it to another directory.
    ///
    /// Segments of column tables, which are never edited, are linked where the file system can do that, and copied elsewhere. The pages are
    /// copied. A directory with an earlier backup of the database becomes the new one, and what it has already is not copied again; until
    /// the new one is whole, the earlier one is. Rows of tables in memory are in no backup.
    ///
    /// ```
    /// # let dir = tempfile::tempdir()?;
    /// # let (data, backup) = (dir.path().join("data"), dir.path().join("backup"));
    /// let db = ambo::Database::open(&data)?;
    /// let users = db.key_value("users")?;
    /// users.put(b"ada", b"Ada Lovelace")?;
    /// db.backup_to(&backup)?;
    /// users.put(b"grace", b"Grace Hopper")?;
    ///
    /// assert!(ambo::Database::verify_backup(&backup)?.is_sound());
    /// let then = ambo::Options::new().read_only(true).open(&backup)?;
    /// assert_eq!(then.key_value("users")?.len()?, 1);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// [`Error::Invalid`](crate::Error::Invalid) for a directory that holds something else, also a backup that was opened for writing;
    /// [`Error::InUse`](crate::Error::InUse) if somebody has it open; [`Error::Damaged`](crate::Error::Damaged) if a table cannot be read.
    /// The database, and an earlier backup, are as they were then.
    pub fn backup_to(&self, path: impl AsRef<Path>) -> Result<BackupReport> {
        self.engine().backup_to(&Env::os(path, true)?.disk)
    }

    /// Makes the directory `to` a database like the backup `from`, or like a database that was closed in order and that nobody has open.
    /// The backup stays what it is. One that is opened for writing itself becomes a database of its own, and no later backup is made there.
    ///
    /// # Errors
    /// As [`Database::backup_to`], and those of opening `from`.
    pub fn restore(from: impl AsRef<Path>, to: impl AsRef<Path>) -> Result<BackupReport> {
        Options::new().restore(from, to, &RestoredKey::Same)
    }

    /// Lets `key` be what opens this encrypted database from now on; the one before opens it no more. Nothing is written anew but the data
    /// keys. What is written from now on is under a new data key, too; [`Database::vacuum`] writes anew what is compacted.
    ///
    /// ```
    /// # let dir = tempfile::tempdir()?;
    /// # let path = dir.path().join("db");
    /// let db = ambo::Options::new().key(ambo::Key::new([1; 32])).open(&path)?;
    /// db.set_key(ambo::Key::new([2; 32]))?;
    /// db.close()?;
    /// let before = ambo::Options::new().key(ambo::Key::new([1; 32])).open(&path);
    /// assert!(matches!(before, Err(ambo::Error::Invalid(_))));
    /// assert_eq!(ambo::Options::new().key(ambo::Key::new([2; 32])).open(&path)?.info()?.data_keys, 2);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// [`Error::Invalid`](crate::Error::Invalid) if the database is not encrypted. After an error of the disk the key is the one before or
    /// the new one.
    pub fn set_key(&self, key: impl Into<KeySource>) -> Result<()> {
        self.engine().set_key(&key.into())
    }

    /// Opens a backup for reading, and [checks](Database::check) it: every page, segment and row. It stays a backup.
    ///
    /// # Errors
    /// [`Error::Invalid`](crate::Error::Invalid) for a backup that was broken off.
    pub fn verify_backup(path: impl AsRef<Path>) -> Result<CheckReport> {
        Options::new().read_only(true).open(path)?.check()
    }
}
