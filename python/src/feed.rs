//! Sources of rows that say how far they have come: [`ambo::Ingest`].

use std::sync::{Arc, Mutex};

use ambo::{Ingest, IngestWriter, LoadOptions};
use ambo_face::{Class, Error};
use pyo3::{exceptions::PyTypeError, prelude::*, sync::MutexExt, types::PyBytes};

use crate::{
    arrow,
    session::{Session, closed},
};

/// An ingest with the writer of this side.
pub(crate) type Open = (Ingest, IngestWriter);

/// A source of rows of a table that is stored by column, best of storage `append`. What is pushed is seen when a checkpoint publishes it,
/// as one commit and together with a token that says how far the source has come: after a crash both are there, or neither.
#[pyclass(frozen, module = "ambo")]
pub(crate) struct Feed {
    session: Arc<Session>,
    open: Arc<Mutex<Option<Open>>>,
}

impl Feed {
    pub(crate) fn new(py: Python<'_>, session: &Arc<Session>, table: &str, name: &str) -> PyResult<Self> {
        let open = session.with_database(py, |db| {
            let ingest = db.table(table)?.ingest(name, LoadOptions::default())?;
            let writer = ingest.writer();
            Ok((ingest, writer))
        })?;
        let open = Arc::new(Mutex::new(Some(open)));
        session.keep(&open);
        Ok(Self { session: session.clone(), open })
    }

    fn with<T: Send>(
        &self,
        py: Python<'_>,
        act: impl FnOnce(&mut Open) -> ambo_face::Result<T> + Send,
    ) -> PyResult<T> {
        let mut open = self.open.lock_py_attached(py).unwrap_or_else(std::sync::PoisonError::into_inner);
        let open = &mut *open;
        self.session.detached(py, || act(open.as_mut().ok_or_else(closed)?))
    }
}

#[pymethods]
impl Feed {
    /// What the last checkpoint said, this one's or one before it: where the source is to go on. `None` if there was none.
    #[getter]
    fn token<'py>(&self, py: Python<'py>) -> PyResult<Option<Bound<'py, PyBytes>>> {
        let token = self.with(py, |(ingest, _)| Ok(ingest.token()))?;
        Ok(token.map(|token| PyBytes::new(py, &token)))
    }

    /// Takes rows, whose columns have the names and types of the table's, and returns how many. They are not seen before the checkpoint.
    fn push(&self, py: Python<'_>, rows: &Bound<'_, PyAny>) -> PyResult<u64> {
        let reader = arrow::reader(rows)?;
        self.with(py, |(_, writer)| {
            let mut count = 0;
            for batch in reader {
                let batch = batch.map_err(|error| Error::new(Class::Operational, error.to_string()))?;
                writer.push_batch(&batch)?;
                count += batch.num_rows() as u64;
            }
            Ok(count)
        })
    }

    /// Publishes all that was pushed, and `token` in the same moment. Returns how many rows that are.
    fn checkpoint(&self, py: Python<'_>, token: Vec<u8>) -> PyResult<u64> {
        self.with(py, |(ingest, _)| Ok(ingest.checkpoint(&token)?.rows))
    }

    fn __reduce__(&self) -> PyResult<()> {
        Err(PyTypeError::new_err("a feed cannot be pickled: begin it again where it is wanted"))
    }
}
