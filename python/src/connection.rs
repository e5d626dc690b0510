//! A connection. The class `ambo.Connection` extends it by what needs nothing of Rust.

use std::sync::{
    Arc,
    atomic::{AtomicBool, Ordering},
};

use ambo_face::{Class, Error, Kind, ingest_mode};
use ambo_sql::Source;
use pyo3::{
    exceptions::PyTypeError,
    prelude::*,
    types::{PyDict, PyString, PyTuple},
};

use crate::{
    arrow,
    cursor::Cursor,
    errors::{raise, raise_new},
    feed::Feed,
    key_value::KeyValue,
    session::{Session, closed},
    store::{self, Changes, Report, report},
    values::row_of,
    views::{Batch, Snapshot},
};

/// See the module.
#[pyclass(frozen, subclass, module = "ambo", name = "BaseConnection", weakref)]
pub(crate) struct Connection {
    session: Arc<Session>,
    autocommit: AtomicBool,
}

impl Connection {
    pub(crate) fn is_autocommit(&self) -> bool {
        self.autocommit.load(Ordering::Relaxed)
    }

    fn require_open(&self, py: Python<'_>) -> PyResult<()> {
        self.session.check().map_err(|error| raise(py, &error))
    }

    /// Runs a statement of ours, without a result.
    fn say(&self, py: Python<'_>, statement: &str) -> PyResult<()> {
        self.session.with(py, |connection| {
            connection.run(statement, ()).map_err(|error| Error::from(error).of(statement))?;
            Ok(())
        })
    }
}

#[pymethods]
impl Connection {
    #[new]
    #[pyo3(signature = (path, options, autocommit=true, scan_frames=true, progress=None))]
    fn new(
        py: Python<'_>,
        path: &str,
        options: &Bound<'_, PyDict>,
        autocommit: bool,
        scan_frames: bool,
        progress: Option<bool>,
    ) -> PyResult<Self> {
        let given = store::given(options)?;
        let opened = py.detach(|| ambo_face::caught(|| ambo_face::open(path, &given)));
        let opened = opened.map_err(|error| raise(py, &error))?;
        let session = Session::new(opened, scan_frames, progress);
        Ok(Self { session, autocommit: AtomicBool::new(autocommit) })
    }

    /// A cursor, which runs its statements in this connection and its transaction.
    fn cursor(slf: &Bound<'_, Self>) -> PyResult<Cursor> {
        slf.get().require_open(slf.py())?;
        Ok(Cursor::new(&slf.get().session, slf.clone().into_any().unbind()))
    }

    /// Runs a statement with a cursor of its own, and returns that.
    ///
    /// >>> import ambo
    /// >>> ambo.connect().execute("select 1 as one, 'two' as two").fetchall()
    /// [(1, 'two')]
    #[pyo3(signature = (sql, params=None))]
    fn execute<'py>(
        slf: &Bound<'py, Self>,
        sql: &str,
        params: Option<&Bound<'py, PyAny>>,
    ) -> PyResult<Cursor> {
        let cursor = Self::cursor(slf)?;
        cursor.run(slf.py(), sql, params, !slf.get().is_autocommit())?;
        Ok(cursor)
    }

    /// Runs a statement once for each row of values, in one transaction, with a cursor of its own.
    fn executemany<'py>(
        slf: &Bound<'py, Self>,
        sql: &str,
        seq_of_params: &Bound<'py, PyAny>,
    ) -> PyResult<Cursor> {
        let cursor = Self::cursor(slf)?;
        cursor.run_many(slf.py(), sql, seq_of_params, !slf.get().is_autocommit())?;
        Ok(cursor)
    }

    /// Runs several statements, one after the other, until one fails.
    fn executescript(&self, py: Python<'_>, sql: &str) -> PyResult<()> {
        self.session.with(py, |connection| connection.script(sql).map_err(|error| Error::from(error).of(sql)))
    }

    /// Begins a transaction.
    #[pyo3(signature = (*, serializable=false, read_only=false))]
    fn begin(&self, py: Python<'_>, serializable: bool, read_only: bool) -> PyResult<()> {
        self.say(
            py,
            match (serializable, read_only) {
                (true, true) => "begin isolation level serializable read only",
                (true, false) => "begin isolation level serializable",
                (false, true) => "begin read only",
                (false, false) => "begin",
            },
        )
    }

    /// Makes what was done since the transaction began durable. Without a transaction it does nothing.
    fn commit(&self, py: Python<'_>) -> PyResult<()> {
        self.require_open(py)?;
        if self.session.in_transaction() { self.say(py, "commit") } else { Ok(()) }
    }

    /// Takes back what was done since the transaction began. Without a transaction it does nothing.
    fn rollback(&self, py: Python<'_>) -> PyResult<()> {
        self.require_open(py)?;
        if self.session.in_transaction() { self.say(py, "rollback") } else { Ok(()) }
    }

    /// Whether each statement is a transaction of its own where none was begun. Otherwise a statement that writes begins one.
    #[getter]
    fn get_autocommit(&self) -> bool {
        self.is_autocommit()
    }

    #[setter]
    fn set_autocommit(&self, py: Python<'_>, autocommit: bool) -> PyResult<()> {
        // As the PEP says of it: what is open is committed.
        if autocommit && !self.is_autocommit() {
            self.commit(py)?;
        }
        self.autocommit.store(autocommit, Ordering::Relaxed);
        Ok(())
    }

    /// Whether a transaction is open.
    #[getter]
    fn in_transaction(&self) -> bool {
        self.session.in_transaction()
    }

    /// Whether it was closed.
    #[getter]
    fn closed(&self) -> bool {
        self.session.is_closed()
    }

    /// Ends the statement that runs, from another thread: it raises `CancelledError`, and an open transaction stays open.
    fn interrupt(&self) {
        self.session.interrupter().interrupt();
    }

    /// How far the query is that runs: rows read, rows in all if that is known, bytes in temporary files.
    fn _progress(&self) -> Option<(u64, Option<u64>, u64)> {
        let progress = self.session.interrupter().progress()?;
        Some((progress.rows_read, progress.rows_total, progress.bytes_spilled))
    }

    /// Has statements of this connection read rows of Python's under a name: whatever has Arrow's capsules, frames, a dict of columns, a
    /// list of dicts.
    fn register(&self, py: Python<'_>, name: &str, rows: &Bound<'_, PyAny>) -> PyResult<()> {
        let source = match arrow::source(rows)? {
            Some(source) => source,
            None => Source::Once(arrow::reader(rows)?),
        };
        self.session.with(py, |connection| Ok(connection.register(name, source)?))
    }

    /// Forgets what was registered under a name. Returns whether there was something.
    fn unregister(&self, py: Python<'_>, name: &str) -> PyResult<bool> {
        self.session.with(py, |connection| Ok(connection.unregister(name)))
    }

    /// Puts rows of Python's into a table, all or none, and returns how many. `mode` is `append`, `create`, `replace` or `create_append`;
    /// of a table that is made, `key` is the column, or the columns, of its primary key, and `storage` is where it is stored. Columns are
    /// found by their names.
    ///
    /// >>> import ambo
    /// >>> con = ambo.connect()
    /// >>> con.ingest("t", [{"a": 1}, {"a": 2}], mode="create")
    /// 2
    #[pyo3(signature = (table, rows, mode="append", *, key=None, storage=None))]
    fn ingest(
        &self,
        py: Python<'_>,
        table: &str,
        rows: &Bound<'_, PyAny>,
        mode: &str,
        key: Option<&Bound<'_, PyAny>>,
        storage: Option<&str>,
    ) -> PyResult<u64> {
        self.require_open(py)?;
        let mode = ingest_mode(mode).map_err(|error| raise(py, &error))?;
        let reader = arrow::reader(rows)?;
        let key = match key {
            Some(key) if key.is_instance_of::<PyString>() => vec![key.extract::<String>()?],
            Some(key) => key.extract()?,
            None => Vec::new(),
        };
        let key = match key.is_empty() {
            true => String::new(),
            false => {
                let quoted = |name: &String| format!("\"{}\"", name.replace('"', "\"\""));
                format!("(primary key ({}))", key.iter().map(quoted).collect::<Vec<_>>().join(", "))
            }
        };
        let storage = match storage {
            Some(storage) if storage.chars().all(|c| c.is_ascii_alphanumeric()) => {
                format!(" storage = {storage}")
            }
            Some(storage) => {
                return Err(raise_new(py, Class::Request, format!("there is no storage \"{storage}\"")));
            }
            None => String::new(),
        };
        let options = key + &storage;
        let begins = !self.is_autocommit();
        self.session.with(py, |connection| {
            if begins && !connection.in_transaction() {
                connection.sql("begin")?;
            }
            Ok(connection.ingest(table, reader, mode, &options)?)
        })
    }

    /// A table from keys to values, as a mapping; it is made if it is not there. Keys and values are `bytes`, `str` or `int`.
    ///
    /// >>> import ambo
    /// >>> ages = ambo.connect().kv("ages", key="str", value="int")
    /// >>> ages["Ada"] = 36
    /// >>> ages["Ada"], "Bob" in ages, len(ages)
    /// (36, False, 1)
    #[pyo3(signature = (name, *, key="bytes", value="bytes"))]
    fn kv(&self, py: Python<'_>, name: &str, key: &str, value: &str) -> PyResult<KeyValue> {
        let kinds = Kind::named(key).and_then(|key| Ok((key, Kind::named(value)?)));
        let (key, value) = kinds.map_err(|error| raise(py, &error))?;
        let table = self.session.with_database(py, |db| ambo_face::KeyValue::open(db, name, key, value))?;
        Ok(KeyValue::new(&self.session, name, table))
    }

    /// Computes a query of UQI, such as the sum of keys or the greatest records, of what the open transaction sees, or what is committed.
    /// Returns keys and records.
    ///
    /// >>> import ambo
    /// >>> con = ambo.connect()
    /// >>> con.kv("counts", key="int", value="int").update({1: 10, 2: 30, 3: 20})
    /// >>> con.uqi("TOP($record) FROM counts LIMIT 2")
    /// [(3, 20), (2, 30)]
    fn uqi<'py>(&self, py: Python<'py>, query: &str) -> PyResult<Vec<Bound<'py, PyTuple>>> {
        let rows = self.session.view(py, |db, view| store::uqi(db, view, query))?;
        rows.iter().map(|row| row_of(py, row)).collect()
    }

    /// What was committed after a moment, up to now, in order: an iterator of `Commit` and `Unlogged`. The moment is that of a snapshot,
    /// of a commit, or `until` of earlier changes. The log has them, of which the option `keep_log_bytes` says how much is kept.
    fn changes(&self, py: Python<'_>, since: u64) -> PyResult<Changes> {
        Changes::new(py, &self.session, since)
    }

    /// The moment of the last commit.
    #[getter]
    fn moment(&self, py: Python<'_>) -> PyResult<u64> {
        self.session.with_database(py, |db| Ok(db.snapshot().timestamp().0))
    }

    /// Begins, or goes on with, a source of rows of a table that is stored by column, best of storage `append`: what is pushed is
    /// published by checkpoints, with a token that says how far the source has come.
    ///
    /// >>> import ambo
    /// >>> con = ambo.connect()
    /// >>> _ = con.execute("create table points (x bigint) storage = append")
    /// >>> feed = con.feed("points", "sensor")
    /// >>> feed.push([{"x": 1}, {"x": 2}]), feed.checkpoint(b"line 2")
    /// (2, 2)
    /// >>> con.feed("points", "sensor").token
    /// b'line 2'
    fn feed(&self, py: Python<'_>, table: &str, name: &str) -> PyResult<Feed> {
        Feed::new(py, &self.session, table, name)
    }

    fn _backup(&self, py: Python<'_>, path: &str) -> PyResult<Report> {
        self.session.with_database(py, |db| Ok(report(db.backup_to(path)?)))
    }

    /// Writes of several key-value tables that are done at once: `with con.batch() as batch: batch.put(table, key, value)`.
    fn batch(&self) -> Batch {
        Batch::new(&self.session)
    }

    /// What is there now, for reading key-value tables as they were, whatever is written meanwhile.
    fn snapshot(&self, py: Python<'_>) -> PyResult<Snapshot> {
        let snapshot = self.session.with_database(py, |db| Ok(db.snapshot()))?;
        Ok(Snapshot::new(&self.session, snapshot))
    }

    /// The names of the tables, with their schemas.
    fn tables(&self, py: Python<'_>) -> PyResult<Vec<String>> {
        self.session.with_database(py, |db| Ok(db.tables()))
    }

    /// Merges what is due to be merged: after a load, so that reads are fast.
    fn settle(&self, py: Python<'_>) -> PyResult<()> {
        self.session.with_database(py, |db| Ok(db.compact_due()?))
    }

    /// Writes what memory holds of commits to pages, so that opening has nothing to replay.
    fn flush(&self, py: Python<'_>) -> PyResult<()> {
        self.session.with_database(py, |db| Ok(db.flush()?))
    }

    /// Merges all that can be merged, and gives free space back to the file system.
    fn vacuum(&self, py: Python<'_>) -> PyResult<()> {
        self.session.with_database(py, |db| Ok(db.vacuum().map(drop)?))
    }

    /// Merges all that can be merged.
    fn compact(&self, py: Python<'_>) -> PyResult<()> {
        self.session.with_database(py, |db| Ok(db.compact()?))
    }

    /// Reads everything, and returns what is wrong: nothing, in a sound database.
    fn check(&self, py: Python<'_>) -> PyResult<Vec<String>> {
        self.session.with_database(py, |db| Ok(db.check()?.problems))
    }

    /// Where the database is; `None` if it is in memory.
    #[getter]
    fn path(&self) -> Option<String> {
        self.session.path()
    }

    /// Ends what runs, takes back a transaction that is open, and closes the connection; the last of a database closes that. A connection
    /// may be closed more than once.
    fn close(&self, py: Python<'_>) {
        py.detach(|| self.session.close());
    }

    fn __reduce__(&self) -> PyResult<()> {
        Err(PyTypeError::new_err("a connection cannot be pickled: connect again where it is wanted"))
    }

    fn __enter__<'py>(slf: &Bound<'py, Self>) -> PyResult<Bound<'py, Self>> {
        if slf.get().session.is_closed() {
            return Err(raise(slf.py(), &closed()));
        }
        Ok(slf.clone())
    }

    #[pyo3(signature = (*_exception))]
    fn __exit__(&self, py: Python<'_>, _exception: &Bound<'_, PyTuple>) {
        self.close(py);
    }
}
