//! Sources of rows that say how far they have come: [`ambo::Ingest`].

use std::sync::{Arc, Mutex};

use ambo::{Ingest, IngestWriter, LoadOptions, Table};
use ambo_face::{Class, Error};
use pyo3::{
    exceptions::PyTypeError,
    prelude::*,
    sync::MutexExt,
    types::{PyBytes, PyDict},
};

use crate::{
    arrow,
    session::{Session, closed},
};

/// An ingest with the writer of this side.
pub(crate) struct Open {
    table: Table,
    /// The names of the table's columns.
    columns: Vec<String>,
    ingest: Ingest,
    writer: IngestWriter,
}

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
            let table = db.table(table)?;
            let columns = table.definition().columns.iter().map(|column| column.name.clone()).collect();
            let ingest = table.ingest(name, LoadOptions::default())?;
            let writer = ingest.writer();
            Ok(Open { table, columns, ingest, writer })
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
        let token = self.with(py, |open| Ok(open.ingest.token()))?;
        Ok(token.map(|token| PyBytes::new(py, &token)))
    }

    /// Takes rows, whose columns have the names and types of the table's, and returns how many. They are not seen before the checkpoint.
    fn push(&self, py: Python<'_>, rows: &Bound<'_, PyAny>) -> PyResult<u64> {
        let reader = arrow::reader(rows)?;
        self.with(py, |open| {
            let mut count = 0;
            for batch in reader {
                let batch = batch.map_err(|error| Error::new(Class::Operational, error.to_string()))?;
                open.writer.push_batch(&batch)?;
                count += batch.num_rows() as u64;
            }
            Ok(count)
        })
    }

    /// How records lie that `push_records` takes: their `itemsize`, the `offsets` of the columns' fields by name, and for each column that
    /// may be NULL the byte and the bit of it that is set where it is.
    ///
    /// >>> import ambo
    /// >>> con = ambo.connect(":memory:")
    /// >>> _ = con.execute("create table seen (at bigint not null, port smallint) storage = append")
    /// >>> feed = con.feed("seen", "probe")
    /// >>> feed.record_layout() == {"itemsize": 16, "offsets": {"at": 0, "port": 8}, "nulls": {"port": (10, 0)}}
    /// True
    /// >>> feed.push_records(b"".join(at.to_bytes(8, "little") + bytes([80, 0, 0, 0, 0, 0, 0, 0]) for at in range(1000)))
    /// 1000
    /// >>> feed.checkpoint(b"first thousand")
    /// 1000
    fn record_layout<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        let (columns, layout) =
            self.with(py, |open| Ok((open.columns.clone(), open.table.record_layout()?)))?;
        let (offsets, nulls) = (PyDict::new(py), PyDict::new(py));
        for (name, field) in columns.iter().zip(layout.fields()) {
            offsets.set_item(name, field.offset)?;
            if let Some(null) = field.null {
                nulls.set_item(name, null)?;
            }
        }
        let told = PyDict::new(py);
        told.set_item("itemsize", layout.size())?;
        told.set_item("offsets", offsets)?;
        told.set_item("nulls", nulls)?;
        Ok(told)
    }

    /// Takes rows as records of one width, one behind the other, as `record_layout` says, and returns how many: bytes of an array of numpy
    /// with a type of its own, of a file, or of a wire.
    fn push_records(&self, py: Python<'_>, records: &[u8]) -> PyResult<u64> {
        self.with(py, |open| {
            let layout = open.table.record_layout()?;
            open.writer.push_records(&layout, records)?;
            Ok((records.len() / layout.size()) as u64)
        })
    }

    /// Publishes all that was pushed, and `token` in the same moment. Returns how many rows that are.
    fn checkpoint(&self, py: Python<'_>, token: Vec<u8>) -> PyResult<u64> {
        self.with(py, |open| Ok(open.ingest.checkpoint(&token)?.rows))
    }

    fn __reduce__(&self) -> PyResult<()> {
        Err(PyTypeError::new_err("a feed cannot be pickled: begin it again where it is wanted"))
    }
}
