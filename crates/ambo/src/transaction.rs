//! Transactions and snapshots: several operations at one moment.

use std::time::Duration;

use ambo_engine::{database, id::Timestamp};

use crate::{KeyRange, Result, Savepoint, Sync, Table, range::half_open};

/// A transaction: what it [reads](crate::Read) is of one moment, what it writes is committed together or not at all.
///
/// Dropped without [`Transaction::commit`], it never was. When two transactions write the same row, the second to commit
/// gets [`Error::Conflict`](crate::Error::Conflict) and is to be run again:
///
/// ```
/// use ambo::Read;
/// # let db = ambo::Database::in_memory()?;
/// # let t = db.key_value("t")?;
/// loop {
///     let mut tx = db.begin()?;
///     let count = tx.get(&t, b"visits")?.map_or(0, |bytes| bytes[0]);
///     tx.put(&t, b"visits", &[count + 1])?;
///     match tx.commit() {
///         Err(error) if error.is_retryable() => continue,
///         result => break result?,
///     }
/// }
/// # Ok::<(), ambo::Error>(())
/// ```
pub struct Transaction {
    inner: database::Transaction,
}

impl Transaction {
    pub(crate) fn new(inner: database::Transaction) -> Self {
        Self { inner }
    }

    pub(crate) fn inner(&self) -> &database::Transaction {
        &self.inner
    }

    pub(crate) fn inner_mut(&mut self) -> &mut database::Transaction {
        &mut self.inner
    }

    /// The moment that it reads at.
    pub fn timestamp(&self) -> Timestamp {
        self.inner.timestamp()
    }

    /// Maps `key` to `value`.
    ///
    /// # Errors
    /// [`Error::Invalid`](crate::Error::Invalid) above 64 KiB of key or 4 GiB of value, or for a row that the table does not allow.
    pub fn put(&mut self, table: &Table, key: &[u8], value: &[u8]) -> Result<()> {
        table.check_stored(key, value)?;
        self.inner.put(table.id(), key, value)
    }

    /// Deletes `key`, whether or not it is there.
    pub fn delete(&mut self, table: &Table, key: &[u8]) -> Result<()> {
        table.check_delete()?;
        self.inner.delete(table.id(), key)
    }

    /// Deletes all rows of a range of keys, as [`Table::delete_range`] does. Its commit ends with a conflict if others have written any
    /// key of the range since it began.
    ///
    /// Rows are deleted one by one also where the transaction has changed definitions or is
    /// [read committed](crate::Database::begin_read_committed).
    ///
    /// ```
    /// use ambo::Read;
    /// let db = ambo::Database::in_memory()?;
    /// let (new, old) = (db.key_value("new")?, db.key_value("old")?);
    /// new.put(b"2025-12", b"")?;
    /// let mut tx = db.begin()?;
    /// tx.put(&old, b"until", b"2026")?;
    /// tx.delete_range(&new, .."2026")?;
    /// assert_eq!(tx.count(&new, ..)?, 0);
    /// tx.commit()?;
    /// assert!(new.is_empty()?);
    /// # Ok::<(), ambo::Error>(())
    /// ```
    ///
    /// # Errors
    /// As [`Table::delete_range`]; then none is deleted.
    pub fn delete_range(&mut self, table: &Table, range: impl KeyRange) -> Result<()> {
        table.check_delete()?;
        let (lower, upper) = half_open(range.into_bounds());
        self.inner.delete_range(table.id(), lower.as_deref().unwrap_or_default(), upper.as_deref())
    }

    /// Whether [`Transaction::delete_range`] would take a range of the table as such now, however many rows it has, and not row by row.
    pub fn takes_range(&self, table: &Table) -> Result<bool> {
        self.inner.takes_range(table.id())
    }

    /// Locks a row now, until the end of the transaction: others wait to write it.
    ///
    /// # Errors
    /// [`Error::Conflict`](crate::Error::Conflict) if it was changed since the transaction began, [`Error::Lock`](crate::Error::Lock)
    /// after waiting in vain or when waiting would be a deadlock.
    pub fn lock(&mut self, table: &Table, key: &[u8]) -> Result<()> {
        self.inner.lock(table.id(), key)
    }

    /// What the transaction sees now, as a snapshot that may be shared among threads; its later writes are not shown. REQUIRES: the
    /// snapshot is not read any more once the transaction was rolled back.
    ///
    /// What is read there is no read of a serializable transaction: [`Transaction::note_scan`] says that it is.
    pub fn view(&self) -> Snapshot {
        Snapshot::new(self.inner.view())
    }

    /// Counts a table as read from end to end: a serializable transaction fails if another has changed it.
    pub fn note_scan(&self, table: &Table) {
        self.inner.note_scan(table.id());
    }

    /// Whether its statements are to be at moments of their own.
    pub fn is_read_committed(&self) -> bool {
        self.inner.is_read_committed()
    }

    /// Begins a statement of its own of a transaction that was begun by
    /// [`Database::begin_read_committed`](crate::Database::begin_read_committed): what others have committed meanwhile is seen. For others
    /// nothing changes.
    ///
    /// # Errors
    /// [`Error::Conflict`](crate::Error::Conflict) if it has changed definitions that others have changed meanwhile.
    pub fn refresh(&mut self) -> Result<()> {
        self.inner.refresh()
    }

    /// Marks this moment, for [`Transaction::rollback_to`].
    pub fn savepoint(&mut self) -> Savepoint {
        self.inner.savepoint()
    }

    /// Takes back what was written after `savepoint`.
    pub fn rollback_to(&mut self, savepoint: Savepoint) -> Result<()> {
        self.inner.rollback_to(savepoint)
    }

    /// Chooses how durable the commit is, if not as the database is.
    pub fn set_sync(&mut self, sync: Sync) {
        self.inner.set_sync(sync);
    }

    /// Chooses how long it waits for what others have locked, if not as [`Options::lock_timeout`](crate::Options::lock_timeout) says.
    pub fn set_lock_timeout(&mut self, timeout: Option<Duration>) {
        self.inner.set_lock_timeout(timeout);
    }

    /// Commits: durable as asked, and visible, when it returns.
    ///
    /// # Errors
    /// [`Error::Conflict`](crate::Error::Conflict) or [`Error::Lock`](crate::Error::Lock): nothing was written, run it again.
    /// [`Error::DiskFull`](crate::Error::DiskFull): nothing was written. Others: whether it was written shows after reopening.
    pub fn commit(self) -> Result<()> {
        self.inner.commit().map(drop)
    }

    /// Gives up all writes and locks.
    pub fn rollback(self) {
        self.inner.rollback();
    }
}

/// A consistent, read-only [view](crate::Read) of all tables at one moment. It blocks nobody and is never blocked.
///
/// ```
/// use ambo::Read;
/// let db = ambo::Database::in_memory()?;
/// let t = db.key_value("t")?;
/// t.put(b"k", b"before")?;
/// let snapshot = db.snapshot();
/// t.put(b"k", b"after")?;
/// assert_eq!(snapshot.get(&t, b"k")?.unwrap(), b"before");
/// # Ok::<(), ambo::Error>(())
/// ```
#[derive(Clone)]
pub struct Snapshot {
    inner: database::Snapshot,
}

impl Snapshot {
    pub(crate) fn new(inner: database::Snapshot) -> Self {
        Self { inner }
    }

    pub(crate) fn inner(&self) -> &database::Snapshot {
        &self.inner
    }

    /// The moment that it shows.
    pub fn timestamp(&self) -> Timestamp {
        self.inner.timestamp()
    }
}
