//! The archive of the log, and restoring to a point in time.

use std::path::Path;

use ambo_engine::{database::RestorePoint, io::Env};

use crate::{ArchiveInfo, ArchiveReport, Database, Error, Options, PointReport, RestoredKey, Result};

impl Database {
    /// Has the log archived in a directory from now on, by whoever opens the database: files of the log are copied there before they go. A
    /// [backup](Database::backup_to) that is made from now on can be restored to any commit since, by [`Options::restore_archived`].
    ///
    /// Files of the log are archived once they are full, and after a checkpoint; what is newer by [`Database::archive_log`] and when the
    /// database is closed. Where the archive is full or away, the log stays, up to
    /// [`Options::archive_wait_bytes`]; then commits are refused. [`Info::archive`](crate::Info::archive) says how it stands.
    ///
    /// ```
    /// # let dir = tempfile::tempdir()?;
    /// # let [data, backup, archive, then] = ["data", "backup", "archive", "then"].map(|name| dir.path().join(name));
    /// use ambo::RestorePoint;
    ///
    /// let db = ambo::Database::open(&data)?;
    /// db.archive_to(&archive)?;
    /// let users = db.key_value("users")?;
    /// users.put(b"ada", b"Ada Lovelace")?;
    /// db.backup_to(&backup)?;
    /// users.put(b"grace", b"Grace Hopper")?;
    /// let good = db.snapshot().timestamp();
    /// users.delete(b"ada")?;
    /// db.archive_log()?;
    ///
    /// let options = ambo::Options::new();
    /// options.restore_archived(&backup, &then, &ambo::RestoredKey::Same, &archive, RestorePoint::Commit(good))?;
    /// assert_eq!(ambo::Database::open(&then)?.key_value("users")?.len()?, 2);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// [`Error::Invalid`] for a directory that has something else, or the archive of another database or of another history of this one.
    pub fn archive_to(&self, directory: impl AsRef<Path>) -> Result<()> {
        let directory = directory.as_ref();
        let named =
            || Error::Invalid(format!("the archive's directory {} is not UTF-8", directory.display()));
        let failed = |error| Error::io(format!("making the archive {}", directory.display()), error);
        std::fs::create_dir_all(directory).map_err(failed)?;
        let whole = directory.canonicalize().map_err(failed)?;
        self.engine().set_archive(Some(whole.to_str().ok_or_else(named)?))
    }

    /// The log is not archived any more. What is in the archive stays there.
    pub fn stop_archive(&self) -> Result<()> {
        self.engine().set_archive(None)
    }

    /// Archives what was committed until now.
    ///
    /// # Errors
    /// [`Error::Invalid`] if the log is not archived; [`Error::DiskFull`] and others if the archive cannot be written to: the log stays
    /// then.
    pub fn archive_log(&self) -> Result<ArchiveReport> {
        self.engine().archive_log()
    }

    /// How the archive stands; none if the log is not archived.
    pub fn archive_info(&self) -> Option<ArchiveInfo> {
        self.engine().archive_info()
    }
}

impl Options {
    /// How many bytes of the log may wait for an archive that cannot be written to (4 GiB if nothing is said), before commits are refused.
    pub fn archive_wait_bytes(mut self, bytes: u64) -> Self {
        self.settings.archive_wait_bytes = bytes;
        self
    }

    /// As [`Options::restore`], with the log that was archived in `archive` since the backup was made, up to a point. Tables in memory are
    /// empty, and tables without a log are as they were in the backup.
    ///
    /// # Errors
    /// As [`Options::restore`]; [`Error::NotFound`] if the archive begins behind the backup; [`Error::Invalid`] for an archive with a gap
    /// or of another database, for a point before the backup or behind the archive's end, and if rows of a table came past the log before
    /// it: by a load, a bulk change, or a move to or from memory. [`Error::Damaged`] for a file that is not what was archived.
    pub fn restore_archived(
        self,
        from: impl AsRef<Path>,
        directory: impl AsRef<Path>,
        to: &RestoredKey,
        archive: impl AsRef<Path>,
        point: RestorePoint,
    ) -> Result<PointReport> {
        let archive = Env::os(archive, false)?.disk;
        let db = self.read_only(true).open(from)?;
        db.engine().restore_archived(&Env::os(directory, true)?, to, &archive, point)
    }
}
