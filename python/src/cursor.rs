//! A cursor: statements and their rows, as PEP 249 has them, as Arrow, and as frames.

use std::{
    collections::VecDeque,
    sync::{
        Arc, Mutex,
        atomic::{AtomicUsize, Ordering},
    },
};

use ambo::Datum;
use ambo_face::{Class, Column, Error, Result};
use ambo_sql::{Batches, Rows};
use arrow_array::RecordBatch;
use arrow_schema::SchemaRef;
use pyo3::{
    exceptions::PyTypeError,
    intern,
    prelude::*,
    sync::MutexExt,
    types::{PyCapsule, PyList, PyString, PyTuple},
};

use crate::{
    arrow::{schema_capsule, stream_capsule},
    errors::{interface, raise, raise_new},
    parameters,
    session::{Session, closed, lock},
    values,
};

/// Rows of a result.
pub(crate) enum State {
    /// No statement was run, or one without rows.
    Nothing,
    /// Nothing was taken.
    Fresh(Box<Rows<'static>>),
    Values(VecDeque<Vec<Datum>>),
    /// The batch that rows are taken from, with the next of it.
    Batches(Box<Batches<'static>>, Option<(RecordBatch, usize)>),
    /// As Arrow.
    Taken,
    /// With the connection or the cursor.
    Closed,
}

/// What is known of the statement that was run last.
#[derive(Default)]
struct Known {
    schema: Option<SchemaRef>,
    affected: Option<u64>,
    statement: String,
}

/// Statements of a connection and their rows.
#[pyclass(frozen, module = "ambo", weakref)]
pub(crate) struct Cursor {
    session: Arc<Session>,
    connection: Py<PyAny>,
    state: Arc<Mutex<State>>,
    known: Mutex<Known>,
    arraysize: AtomicUsize,
}

/// Rows that `executemany` makes values of before the engine has them.
const ROWS_AT_ONCE: usize = 1024;
/// Rows that are shown.
const SHOWN_ROWS: usize = 40;

impl Cursor {
    pub(crate) fn new(session: &Arc<Session>, connection: Py<PyAny>) -> Self {
        let state = Arc::new(Mutex::new(State::Nothing));
        session.keep_result(&state);
        Self {
            session: session.clone(),
            connection,
            state,
            known: Mutex::default(),
            arraysize: AtomicUsize::new(1),
        }
    }

    /// Runs a statement. `implicit`: in a transaction, which is begun where the statement writes and none is open.
    pub(crate) fn run(
        &self,
        py: Python<'_>,
        sql: &str,
        params: Option<&Bound<'_, PyAny>>,
        implicit: bool,
    ) -> PyResult<()> {
        self.require_open(py)?;
        self.set(py, State::Nothing);
        let needs_names = params.is_some_and(|params| params.hasattr(intern!(py, "keys")).unwrap_or(false));
        let names = match needs_names {
            true => self.session.with(py, |connection| {
                let prepared = connection.prepare(sql).map_err(|error| Error::from(error).of(sql))?;
                Ok(prepared.parameter_names().map(|name| name.map(str::to_owned)).collect::<Vec<_>>())
            })?,
            false => Vec::new(),
        };
        let values = parameters::values(params, &names)?;
        let rows = self.session.with(py, |connection| {
            let run = |connection: &mut ambo_sql::Connection| {
                let mut prepared = match connection.prepare(sql) {
                    Ok(prepared) => prepared,
                    // Several statements are run as they are.
                    Err(_) if values.is_empty() => return connection.run(sql, ()),
                    Err(error) => return Err(error),
                };
                if implicit && !connection.in_transaction() && prepared.writes() {
                    connection.sql("begin")?;
                }
                prepared.run(connection, values)
            };
            run(connection).map_err(|error| Error::from(error).of(sql))
        })?;
        let mut known = lock(&self.known);
        known.affected = rows.affected();
        sql.clone_into(&mut known.statement);
        let has_rows = !rows.schema().fields().is_empty();
        known.schema = has_rows.then(|| rows.schema().clone());
        drop(known);
        self.set(py, if has_rows { State::Fresh(Box::new(rows)) } else { State::Nothing });
        Ok(())
    }

    /// Runs a statement for each of many rows of values, all or none.
    pub(crate) fn run_many(
        &self,
        py: Python<'_>,
        sql: &str,
        rows: &Bound<'_, PyAny>,
        implicit: bool,
    ) -> PyResult<()> {
        self.require_open(py)?;
        self.set(py, State::Nothing);
        let (mut prepared, begun) = self.session.with(py, |connection| {
            let told = |error: ambo_sql::Error| Error::from(error).of(sql);
            let prepared = connection.prepare(sql).map_err(told)?;
            let begins = !connection.in_transaction() && prepared.writes();
            if begins {
                connection.sql("begin").map_err(told)?;
            }
            Ok((prepared, begins))
        })?;
        let done = self.run_rows(py, sql, rows, &mut prepared);
        if begun && (!implicit || done.is_err()) {
            let end = if done.is_ok() { "commit" } else { "rollback" };
            let ended =
                self.session.with(py, |connection| connection.sql(end).map(drop).map_err(Error::from));
            // What went wrong first is told.
            if done.is_ok() {
                ended?;
            }
        }
        let affected = done?;
        *lock(&self.known) = Known { schema: None, affected, statement: sql.to_owned() };
        Ok(())
    }

    fn run_rows(
        &self,
        py: Python<'_>,
        sql: &str,
        rows: &Bound<'_, PyAny>,
        prepared: &mut ambo_sql::PreparedStatement,
    ) -> PyResult<Option<u64>> {
        let names: Vec<_> = prepared.parameter_names().map(|name| name.map(str::to_owned)).collect();
        let mut rows = rows.try_iter()?;
        let mut affected = None;
        loop {
            let mut some = Vec::with_capacity(ROWS_AT_ONCE);
            for row in rows.by_ref().take(ROWS_AT_ONCE) {
                some.push(parameters::values(Some(&row?), &names)?);
            }
            if some.is_empty() {
                return Ok(affected);
            }
            let (last, prepared) = (some.len() < ROWS_AT_ONCE, &mut *prepared);
            let more = self.session.with(py, |connection| {
                let mut more = None;
                for values in some {
                    let rows =
                        prepared.run(connection, values).map_err(|error| Error::from(error).of(sql))?;
                    if !rows.schema().fields().is_empty() {
                        return Err(Error::new(
                            Class::Request,
                            "executemany is for statements that return no rows",
                        ));
                    }
                    more = rows.affected().map(|rows| rows + more.unwrap_or(0)).or(more);
                }
                Ok(more)
            })?;
            affected = more.map(|rows| rows + affected.unwrap_or(0)).or(affected);
            if last {
                return Ok(affected);
            }
        }
    }

    fn require_open(&self, py: Python<'_>) -> PyResult<()> {
        if matches!(
            *self.state.lock_py_attached(py).unwrap_or_else(std::sync::PoisonError::into_inner),
            State::Closed
        ) {
            return Err(match self.session.is_closed() {
                true => raise(py, &closed()),
                false => raise_new(py, Class::Closed, "the cursor is closed"),
            });
        }
        self.session.check().map_err(|error| raise(py, &error))
    }

    fn set(&self, py: Python<'_>, state: State) {
        let before = std::mem::replace(
            &mut *self.state.lock_py_attached(py).unwrap_or_else(std::sync::PoisonError::into_inner),
            state,
        );
        // It may wait for what runs.
        py.detach(|| drop(before));
    }

    /// Takes up to `most` rows.
    fn take<'py>(&self, py: Python<'py>, most: usize) -> PyResult<Vec<Bound<'py, PyTuple>>> {
        self.require_open(py)?;
        let mut state = self.state.lock_py_attached(py).unwrap_or_else(std::sync::PoisonError::into_inner);
        if let State::Fresh(_) = &*state
            && let State::Fresh(mut rows) = std::mem::replace(&mut *state, State::Nothing)
        {
            *state = match rows.take_values() {
                Some(values) => State::Values(values),
                None => State::Batches(Box::new(rows.batches()), None),
            };
        }
        let mut taken = Vec::new();
        match &mut *state {
            State::Values(rows) => {
                for row in rows.drain(..most.min(rows.len())) {
                    taken.push(values::row_of(py, &row)?);
                }
            }
            State::Batches(batches, current) => {
                while taken.len() < most {
                    let (batch, next) = match current {
                        Some((batch, next)) if *next < batch.num_rows() => (batch, next),
                        _ => match self.next_batch(py, batches)? {
                            Some(batch) => {
                                *current = Some((batch, 0));
                                continue;
                            }
                            None => {
                                *current = None;
                                break;
                            }
                        },
                    };
                    let columns = batch.columns().iter().map(Column::of).collect::<Result<Vec<_>>>();
                    let columns = columns.map_err(|error| raise(py, &error))?;
                    let end = batch.num_rows().min(next.saturating_add(most - taken.len()));
                    while *next < end {
                        taken.push(values::row(py, &columns, *next)?);
                        *next += 1;
                    }
                }
            }
            State::Nothing => {
                return Err(raise_new(py, Class::Request, "there are no rows: no query was run"));
            }
            State::Taken => return Err(interface(py, "the result was taken already, as Arrow")),
            State::Fresh(_) | State::Closed => return Err(raise(py, &closed())),
        }
        Ok(taken)
    }

    fn next_batch(&self, py: Python<'_>, batches: &mut Batches<'static>) -> PyResult<Option<RecordBatch>> {
        let statement = lock(&self.known).statement.clone();
        self.session
            .detached(py, || batches.next().transpose().map_err(|error| Error::from(error).of(&statement)))
    }
}

#[pymethods]
impl Cursor {
    /// Runs a statement, with values for its parameters: a sequence for `?` and `$1`, a mapping for `:name` and `$name`.
    ///
    /// >>> import ambo
    /// >>> cursor = ambo.connect().cursor()
    /// >>> cursor.execute("select ? + 1", (41,)).fetchone()
    /// (42,)
    #[pyo3(signature = (sql, params=None))]
    fn execute<'py>(
        slf: Bound<'py, Self>,
        sql: &str,
        params: Option<&Bound<'py, PyAny>>,
    ) -> PyResult<Bound<'py, Self>> {
        let cursor = slf.get();
        let implicit = cursor.is_implicit(slf.py())?;
        cursor.run(slf.py(), sql, params, implicit)?;
        Ok(slf)
    }

    /// Runs a statement once for each row of values, in one transaction.
    ///
    /// >>> import ambo
    /// >>> con = ambo.connect()
    /// >>> _ = con.execute("create table t (a int, b text)")
    /// >>> con.cursor().executemany("insert into t values (?, ?)", [(1, "one"), (2, "two")]).rowcount
    /// 2
    fn executemany<'py>(
        slf: Bound<'py, Self>,
        sql: &str,
        seq_of_params: &Bound<'py, PyAny>,
    ) -> PyResult<Bound<'py, Self>> {
        let cursor = slf.get();
        let implicit = cursor.is_implicit(slf.py())?;
        cursor.run_many(slf.py(), sql, seq_of_params, implicit)?;
        Ok(slf)
    }

    /// The next row as a tuple, or `None`.
    fn fetchone<'py>(&self, py: Python<'py>) -> PyResult<Option<Bound<'py, PyTuple>>> {
        Ok(self.take(py, 1)?.pop())
    }

    /// The next rows: `size` of them, or `arraysize`.
    #[pyo3(signature = (size=None))]
    fn fetchmany<'py>(&self, py: Python<'py>, size: Option<usize>) -> PyResult<Bound<'py, PyList>> {
        PyList::new(py, self.take(py, size.unwrap_or_else(|| self.arraysize.load(Ordering::Relaxed)))?)
    }

    /// All rows that are left.
    fn fetchall<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyList>> {
        PyList::new(py, self.take(py, usize::MAX)?)
    }

    fn __iter__(slf: Bound<'_, Self>) -> Bound<'_, Self> {
        slf
    }

    fn __next__<'py>(&self, py: Python<'py>) -> PyResult<Option<Bound<'py, PyTuple>>> {
        self.fetchone(py)
    }

    /// The columns of the result, seven values each, of which the first two are given: name and type; `None` without a result.
    #[getter]
    fn description<'py>(&self, py: Python<'py>) -> PyResult<Option<Bound<'py, PyList>>> {
        let Some(schema) = lock(&self.known).schema.clone() else { return Ok(None) };
        let columns = schema.fields().iter().map(|field| {
            let (precision, scale) = match field.data_type() {
                arrow_schema::DataType::Decimal128(precision, scale) => (Some(*precision), Some(*scale)),
                _ => (None, None),
            };
            let ty = ambo_sql::type_in_sql(field.data_type());
            (field.name(), ty, None::<usize>, None::<usize>, precision, scale, None::<bool>).into_pyobject(py)
        });
        Ok(Some(PyList::new(py, columns.collect::<PyResult<Vec<_>>>()?)?))
    }

    /// How many rows the statement inserted, changed or deleted; -1 if it is none that does such things.
    #[getter]
    fn rowcount(&self) -> i64 {
        lock(&self.known).affected.map_or(-1, |rows| rows as i64)
    }

    /// The number of rows that `fetchmany` takes.
    #[getter]
    fn get_arraysize(&self) -> usize {
        self.arraysize.load(Ordering::Relaxed)
    }

    #[setter]
    fn set_arraysize(&self, rows: usize) {
        self.arraysize.store(rows, Ordering::Relaxed);
    }

    /// Always `None`: rows have keys of any type. RETURNING says what was inserted.
    #[getter]
    fn lastrowid(&self) -> Option<i64> {
        None
    }

    /// The connection.
    #[getter]
    fn connection(&self, py: Python<'_>) -> Py<PyAny> {
        self.connection.clone_ref(py)
    }

    /// Does nothing: PEP 249 asks for it.
    #[pyo3(signature = (sizes, /))]
    fn setinputsizes(&self, sizes: &Bound<'_, PyAny>) {
        let _ = sizes;
    }

    /// Does nothing: PEP 249 asks for it.
    #[pyo3(signature = (size, column=None, /))]
    fn setoutputsize(&self, size: &Bound<'_, PyAny>, column: Option<&Bound<'_, PyAny>>) {
        let _ = (size, column);
    }

    /// Lets go of the result. The cursor cannot be used any more.
    fn close(&self, py: Python<'_>) {
        self.set(py, State::Closed);
    }

    fn __enter__(slf: Bound<'_, Self>) -> Bound<'_, Self> {
        slf
    }

    #[pyo3(signature = (*_exception))]
    fn __exit__(&self, py: Python<'_>, _exception: &Bound<'_, PyTuple>) {
        self.close(py);
    }

    /// The rows as a stream of Arrow batches, once: the Arrow PyCapsule interface. Rows that were taken already are not among them.
    #[pyo3(signature = (requested_schema=None))]
    fn __arrow_c_stream__<'py>(
        &self,
        py: Python<'py>,
        requested_schema: Option<&Bound<'py, PyAny>>,
    ) -> PyResult<Bound<'py, PyCapsule>> {
        // Which is a wish.
        let _ = requested_schema;
        self.require_open(py)?;
        let mut state = self.state.lock_py_attached(py).unwrap_or_else(std::sync::PoisonError::into_inner);
        let batches = match &*state {
            State::Fresh(_) | State::Batches(_, None) => match std::mem::replace(&mut *state, State::Taken) {
                State::Fresh(rows) => rows.batches(),
                State::Batches(batches, _) => *batches,
                _ => unreachable!("it was looked at"),
            },
            State::Nothing => {
                return Err(raise_new(py, Class::Request, "there are no rows: no query was run"));
            }
            State::Taken => return Err(interface(py, "the result was taken already, as Arrow")),
            State::Values(_) | State::Batches(..) => {
                return Err(interface(
                    py,
                    "some of the rows were fetched already; run the statement again for Arrow",
                ));
            }
            State::Closed => return Err(raise(py, &closed())),
        };
        stream_capsule(py, batches, self.session.drawing())
    }

    /// The columns of the result: the Arrow PyCapsule interface.
    fn __arrow_c_schema__<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyCapsule>> {
        let schema = lock(&self.known).schema.clone();
        let schema =
            schema.ok_or_else(|| raise_new(py, Class::Request, "there are no rows: no query was run"))?;
        schema_capsule(py, &schema)
    }

    fn __repr__(&self) -> String {
        let known = lock(&self.known);
        match &known.schema {
            Some(schema) => {
                let names: Vec<_> = schema.fields().iter().map(|field| field.name().as_str()).collect();
                format!("<ambo.Cursor of columns {}>", names.join(", "))
            }
            None => "<ambo.Cursor without rows>".to_owned(),
        }
    }

    /// What notebooks show: the first rows, which are taken by that.
    fn _repr_html_<'py>(&self, py: Python<'py>) -> PyResult<Option<Bound<'py, PyString>>> {
        let Some(schema) = lock(&self.known).schema.clone() else { return Ok(None) };
        let mut rows = self.take(py, SHOWN_ROWS + 1)?;
        let is_more = rows.len() > SHOWN_ROWS;
        rows.truncate(SHOWN_ROWS);
        let escape = py.import("html")?.getattr("escape")?;
        let escaped = |text: &str| -> PyResult<String> { escape.call1((text,))?.extract() };
        let mut html = String::from("<table><thead><tr>");
        for field in schema.fields() {
            let ty = ambo_sql::type_in_sql(field.data_type());
            html.push_str(&format!("<th title=\"{}\">{}</th>", escaped(&ty)?, escaped(field.name())?));
        }
        html.push_str("</tr></thead><tbody>");
        for row in &rows {
            html.push_str("<tr>");
            for value in row.iter() {
                let text = if value.is_none() { "NULL".to_owned() } else { value.str()?.extract()? };
                html.push_str(&format!("<td>{}</td>", escaped(&text)?));
            }
            html.push_str("</tr>");
        }
        if is_more {
            html.push_str(&format!("<tr><td colspan=\"{}\">…</td></tr>", schema.fields().len()));
        }
        html.push_str("</tbody></table>");
        Ok(Some(PyString::new(py, &html)))
    }

    fn __reduce__(&self) -> PyResult<()> {
        Err(PyTypeError::new_err("a cursor cannot be pickled: open the database where its rows are wanted"))
    }
}

impl Cursor {
    /// Whether the connection begins transactions by itself.
    fn is_implicit(&self, py: Python<'_>) -> PyResult<bool> {
        Ok(!self.connection.bind(py).cast::<crate::connection::Connection>()?.get().is_autocommit())
    }
}
