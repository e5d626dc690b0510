//! Transactions and snapshots: several operations at one moment.

use ambo_engine::{database, id::Timestamp};

use crate::{
    Cursor, Groups, KeyRange, Query, Result, Savepoint, Scan, Select, Sync, Table, TableScan, Value,
    range::{Bounds, half_open, prefix_bounds},
    sum::sum_of_keys,
};

/// A transaction: what it reads is of one moment, what it writes is committed together or not at all.
///
/// Dropped without [`Transaction::commit`], it never was. When two transactions write the same row, the second to commit
/// gets [`Error::Conflict`](crate::Error::Conflict) and is to be run again:
///
/// ```
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

    /// The value of a key, as the transaction left or found it.
    pub fn get(&self, table: &Table, key: &[u8]) -> Result<Option<Value>> {
        self.inner.get(table.id(), key)
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
        self.inner.delete(table.id(), key)
    }

    /// Locks a row now, until the end of the transaction: others wait to write it.
    ///
    /// # Errors
    /// [`Error::Conflict`](crate::Error::Conflict) if it was changed since the transaction began, [`Error::Lock`](crate::Error::Lock)
    /// after waiting in vain or when waiting would be a deadlock.
    pub fn lock(&mut self, table: &Table, key: &[u8]) -> Result<()> {
        self.inner.lock(table.id(), key)
    }

    /// The rows of a range in key order, own writes so far included. The transaction may go on writing while the scan is
    /// read.
    pub fn scan(&self, table: &Table, range: impl KeyRange) -> Result<Scan> {
        self.scan_bounds(table, range.into_bounds())
    }

    /// The rows whose keys begin with `prefix`.
    pub fn scan_prefix(&self, table: &Table, prefix: impl AsRef<[u8]>) -> Result<Scan> {
        self.scan_bounds(table, prefix_bounds(prefix.as_ref()))
    }

    fn scan_bounds(&self, table: &Table, bounds: Bounds) -> Result<Scan> {
        let (lower, upper) = half_open(bounds.clone());
        let cursor =
            self.inner.cursor_in(table.id(), lower.as_deref().unwrap_or_default(), upper.as_deref())?;
        Ok(Scan::new(cursor, bounds))
    }

    /// A cursor over the table as the transaction sees it now. A serializable transaction has then read the whole table.
    pub fn cursor(&self, table: &Table) -> Result<Cursor> {
        self.inner.cursor(table.id())
    }

    /// How many rows a range has.
    pub fn count(&self, table: &Table, range: impl KeyRange) -> Result<u64> {
        let (lower, upper) = half_open(range.into_bounds());
        self.inner.count(table.id(), lower.as_deref(), upper.as_deref())
    }

    /// The sum of the keys of a range. See [`Table::sum_keys`].
    pub fn sum_keys(&self, table: &Table, range: impl KeyRange) -> Result<i128> {
        let (lower, upper) = half_open(range.into_bounds());
        sum_of_keys(table.definition(), || {
            self.inner.sum_keys(table.id(), lower.as_deref(), upper.as_deref())
        })
    }

    /// Prepares a scan of columns, with what this transaction wrote.
    pub fn scan_columns(&self, select: &Select) -> Result<TableScan> {
        self.inner.scan_columns(select.table().id(), &*select.plan_in(self.inner.catalog())?)
    }

    /// Runs a query on what this transaction sees, its own writes among it.
    ///
    /// # Errors
    /// As [`Query::run`].
    pub fn aggregate(&self, query: &Query, threads: usize) -> Result<Groups> {
        query.run_on(&self.scan_columns(query.select())?, threads)
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

/// A consistent, read-only view of all tables at one moment. It blocks nobody and is never blocked.
///
/// ```
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

    /// The value of a key.
    pub fn get(&self, table: &Table, key: &[u8]) -> Result<Option<Value>> {
        self.inner.get(table.id(), key)
    }

    /// The rows of a range in key order.
    pub fn scan(&self, table: &Table, range: impl KeyRange) -> Result<Scan> {
        Ok(Scan::new(self.cursor(table)?, range.into_bounds()))
    }

    /// The rows whose keys begin with `prefix`.
    pub fn scan_prefix(&self, table: &Table, prefix: impl AsRef<[u8]>) -> Result<Scan> {
        Ok(Scan::new(self.cursor(table)?, prefix_bounds(prefix.as_ref())))
    }

    /// A cursor over a table.
    pub fn cursor(&self, table: &Table) -> Result<Cursor> {
        self.inner.cursor(table.id())
    }

    /// Prepares a scan of columns as they were at this moment.
    pub fn scan_columns(&self, select: &Select) -> Result<TableScan> {
        self.inner.scan_columns(select.table().id(), &*select.plan_in(self.inner.catalog())?)
    }

    /// Runs a query on the rows as they were at this moment.
    ///
    /// # Errors
    /// As [`Query::run`].
    pub fn aggregate(&self, query: &Query, threads: usize) -> Result<Groups> {
        query.run_on(&self.scan_columns(query.select())?, threads)
    }

    /// How many rows a range has.
    pub fn count(&self, table: &Table, range: impl KeyRange) -> Result<u64> {
        let (lower, upper) = half_open(range.into_bounds());
        self.inner.count(table.id(), lower.as_deref(), upper.as_deref())
    }

    /// The sum of the keys of a range. See [`Table::sum_keys`].
    pub fn sum_keys(&self, table: &Table, range: impl KeyRange) -> Result<i128> {
        let (lower, upper) = half_open(range.into_bounds());
        sum_of_keys(table.definition(), || {
            self.inner.sum_keys(table.id(), lower.as_deref(), upper.as_deref())
        })
    }
}
