//! What the store does beside statements and mappings: backups, and what was committed since a moment.

use std::sync::{Arc, Mutex};

use ambo::{BackupReport, Committed, CommittedRow, Fate, Timestamp};
use ambo_face::{Options, Result, View, caught};
use pyo3::{
    exceptions::PyTypeError,
    prelude::*,
    sync::{MutexExt, PyOnceLock},
    types::{PyBytes, PyDict, PyTuple, PyType},
};

use crate::{
    errors::raise,
    session::{Session, closed},
    values::row_of,
};

/// What a backup did, as the parts of `ambo.BackupReport`.
pub(crate) type Report = (u64, u64, u64, u64, u64, u64, u64);

pub(crate) fn report(of: BackupReport) -> Report {
    (of.timestamp.0, of.page_bytes, of.linked, of.copied, of.copied_bytes, of.kept, of.removed)
}

/// Makes a directory a database like a backup.
#[pyfunction]
pub(crate) fn restore(
    py: Python<'_>,
    backup: &str,
    path: &str,
    options: &Bound<'_, PyDict>,
) -> PyResult<Report> {
    let options = given(options)?;
    outside(py, || Ok(report(ambo_face::restore(backup, path, &options)?)))
}

/// Reads everything in a backup, and returns what is wrong.
#[pyfunction]
pub(crate) fn verify_backup(
    py: Python<'_>,
    path: &str,
    options: &Bound<'_, PyDict>,
) -> PyResult<Vec<String>> {
    let options = given(options)?;
    outside(py, || Ok(ambo_face::verify_backup(path, &options)?.problems))
}

/// Options as Python has them.
pub(crate) fn given(options: &Bound<'_, PyDict>) -> PyResult<Options> {
    let mut given = Options::new();
    for (name, value) in options.iter() {
        let (name, value): (String, String) = (name.extract()?, value.str()?.extract()?);
        given.set(&name, &value).map_err(|error| raise(options.py(), &error))?;
    }
    Ok(given)
}

/// Does something that is of no connection.
fn outside<T: Send>(py: Python<'_>, act: impl FnOnce() -> Result<T> + Send) -> PyResult<T> {
    py.detach(|| caught(act)).map_err(|error| raise(py, &error))
}

/// A query of UQI, of what a view sees.
pub(crate) fn uqi(db: &ambo::Database, view: View<'_>, query: &str) -> Result<Vec<[ambo::Datum; 2]>> {
    let result = match view {
        View::Now(db) => db.uqi(db, query)?,
        View::Transaction(transaction) => db.uqi(transaction, query)?,
        View::Snapshot(snapshot) => db.uqi(snapshot, query)?,
    };
    let value = |stream: &ambo::uqi::Stream, row: usize| match row < stream.len() {
        true => stream.value(row).to_value(),
        false => ambo::Datum::Null,
    };
    Ok((0..result.rows()).map(|row| [value(&result.keys, row), value(&result.records, row)]).collect())
}

/// What was committed after one moment, up to another, in order: an iterator of `Commit` and `Unlogged`.
#[pyclass(frozen, module = "ambo")]
pub(crate) struct Changes {
    session: Arc<Session>,
    until: u64,
    feed: Arc<Mutex<Option<ambo::Changes>>>,
}

impl Changes {
    pub(crate) fn new(py: Python<'_>, session: &Arc<Session>, since: u64) -> PyResult<Self> {
        let feed = session.with_database(py, |db| Ok(db.changes_since(Timestamp(since))?))?;
        let until = feed.until().0;
        let feed = Arc::new(Mutex::new(Some(feed)));
        session.keep(&feed);
        Ok(Self { session: session.clone(), until, feed })
    }
}

#[pymethods]
impl Changes {
    /// Everything up to this moment is in it: the next `changes` begin with it.
    #[getter]
    fn until(&self) -> u64 {
        self.until
    }

    fn __iter__(slf: Bound<'_, Self>) -> Bound<'_, Self> {
        slf
    }

    fn __next__<'py>(&self, py: Python<'py>) -> PyResult<Option<Bound<'py, PyAny>>> {
        let mut feed = self.feed.lock_py_attached(py).unwrap_or_else(std::sync::PoisonError::into_inner);
        let feed = &mut *feed;
        let next = self.session.detached(py, || {
            let feed = feed.as_mut().ok_or_else(closed)?;
            Ok(feed.next().transpose()?)
        })?;
        next.map(|committed| told(py, committed)).transpose()
    }

    fn __reduce__(&self) -> PyResult<()> {
        Err(PyTypeError::new_err("changes cannot be pickled: keep `until`, and ask for those after it"))
    }
}

/// A class of `ambo._changes`.
fn class<'py>(
    py: Python<'py>,
    of: &'static PyOnceLock<Py<PyType>>,
    name: &str,
) -> PyResult<Bound<'py, PyType>> {
    Ok(of.import(py, "ambo._changes", name)?.clone())
}

/// What happened at a moment, as Python has it.
fn told(py: Python<'_>, committed: Committed) -> PyResult<Bound<'_, PyAny>> {
    static COMMIT: PyOnceLock<Py<PyType>> = PyOnceLock::new();
    static UNLOGGED: PyOnceLock<Py<PyType>> = PyOnceLock::new();
    static RANGE: PyOnceLock<Py<PyType>> = PyOnceLock::new();
    match committed {
        Committed::Unlogged { first, last } => class(py, &UNLOGGED, "Unlogged")?.call1((first.0, last.0)),
        Committed::Commit { timestamp, ranges, rows, defines } => {
            let range = class(py, &RANGE, "DeletedRange")?;
            let of_range = |of: &ambo::CommittedRange| {
                let upper = of.upper.as_ref().map(|upper| PyBytes::new(py, upper));
                range.call1((&of.table.name, PyBytes::new(py, &of.lower), upper))
            };
            let ranges = ranges.iter().map(of_range).collect::<PyResult<Vec<_>>>()?;
            let rows = rows.iter().map(|row| change(py, row)).collect::<PyResult<Vec<_>>>()?;
            class(py, &COMMIT, "Commit")?.call1((timestamp.0, rows, ranges, defines))
        }
    }
}

fn change<'py>(py: Python<'py>, row: &CommittedRow) -> PyResult<Bound<'py, PyAny>> {
    static CHANGE: PyOnceLock<Py<PyType>> = PyOnceLock::new();
    let (fate, values): (_, Option<Bound<'_, PyTuple>>) = match &row.fate {
        Fate::Written(values) => ("written", Some(row_of(py, values)?)),
        Fate::Deleted => ("deleted", None),
        Fate::Elsewhere => ("elsewhere", None),
    };
    class(py, &CHANGE, "Change")?.call1((&row.table.name, row_of(py, &row.key)?, fate, values))
}
