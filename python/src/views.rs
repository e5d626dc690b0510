//! Key-value tables at one moment, and several writes as one.

use std::sync::{Arc, Mutex};

use pyo3::{exceptions::PyTypeError, prelude::*, types::PyTuple};

use crate::{
    errors::raise_new,
    key_value::{KeyValue, Owned, key_of},
    session::{Session, lock},
};

/// What was there at a moment. `snapshot[table]` is the table as it was, which can be read.
#[pyclass(frozen, module = "ambo")]
pub(crate) struct Snapshot {
    session: Arc<Session>,
    inner: Arc<ambo::Snapshot>,
}

impl Snapshot {
    pub(crate) fn new(session: &Arc<Session>, inner: ambo::Snapshot) -> Self {
        Self { session: session.clone(), inner: Arc::new(inner) }
    }
}

#[pymethods]
impl Snapshot {
    /// The moment: every commit up to it is seen, and `changes` go on from there.
    #[getter]
    fn moment(&self) -> u64 {
        self.inner.timestamp().0
    }

    /// A table of the connection as it was.
    fn __getitem__(&self, py: Python<'_>, table: &Bound<'_, KeyValue>) -> PyResult<KeyValue> {
        if !table.get().is_of(&self.session) {
            return Err(raise_new(py, ambo_face::Class::Request, "the table is of another connection"));
        }
        Ok(table.get().at(&self.inner))
    }
}

/// Writes that are done at once.
#[pyclass(frozen, module = "ambo")]
pub(crate) struct Batch {
    session: Arc<Session>,
    writes: Mutex<Vec<Write>>,
}

/// A table, a key, and the value that it is to have, if it is to have one.
type Write = (Py<KeyValue>, Owned, Option<Owned>);

impl Batch {
    pub(crate) fn new(session: &Arc<Session>) -> Self {
        Self { session: session.clone(), writes: Mutex::default() }
    }
}

#[pymethods]
impl Batch {
    /// Maps a key of a table to a value, when the batch is committed.
    fn put(
        &self,
        table: &Bound<'_, KeyValue>,
        key: &Bound<'_, PyAny>,
        value: &Bound<'_, PyAny>,
    ) -> PyResult<()> {
        let of = table.get();
        let (key, value) = (key_of(key, of.key_kind())?, key_of(value, of.value_kind())?);
        lock(&self.writes).push((table.clone().unbind(), key, Some(value)));
        Ok(())
    }

    /// Deletes a key of a table, when the batch is committed.
    fn delete(&self, table: &Bound<'_, KeyValue>, key: &Bound<'_, PyAny>) -> PyResult<()> {
        let key = key_of(key, table.get().key_kind())?;
        lock(&self.writes).push((table.clone().unbind(), key, None));
        Ok(())
    }

    fn __len__(&self) -> usize {
        lock(&self.writes).len()
    }

    /// Does all of it: in the open transaction, or as one commit.
    fn commit(&self, py: Python<'_>) -> PyResult<()> {
        let writes = std::mem::take(&mut *lock(&self.writes));
        let tables: Vec<_> = writes.iter().map(|(table, ..)| table.get().shared()).collect();
        let begins = !self.session.in_transaction();
        if begins {
            self.session.with(py, |connection| Ok(connection.sql("begin").map(drop)?))?;
        }
        let done = writes.iter().zip(&tables).try_for_each(|((_, key, value), table)| {
            self.session.write(py, table, |table, transaction| {
                crate::key_value::put(table, transaction, key, value.as_ref())
            })
        });
        if begins {
            let end = if done.is_ok() { "commit" } else { "rollback" };
            self.session.with(py, |connection| Ok(connection.sql(end).map(drop)?))?;
        }
        done
    }

    fn __enter__(slf: Bound<'_, Self>) -> Bound<'_, Self> {
        slf
    }

    /// Commits, unless something was raised.
    #[pyo3(signature = (*exception))]
    fn __exit__(&self, py: Python<'_>, exception: &Bound<'_, PyTuple>) -> PyResult<()> {
        match exception.get_item(0) {
            Ok(raised) if !raised.is_none() => {
                lock(&self.writes).clear();
                Ok(())
            }
            _ => self.commit(py),
        }
    }

    fn __reduce__(&self) -> PyResult<()> {
        Err(PyTypeError::new_err("a batch cannot be pickled"))
    }
}
