//! Arrow in and out by its capsules (the Arrow PyCapsule interface): no copy, and no library that both sides have to share.

use std::{ffi::CStr, sync::Arc};

use ambo_face::{Class, Error, caught};
use ambo_sql::{Reader, Source};
use arrow_array::{
    RecordBatch, RecordBatchReader, StructArray,
    ffi::{FFI_ArrowArray, FFI_ArrowSchema, from_ffi},
    ffi_stream::{ArrowArrayStreamReader, FFI_ArrowArrayStream},
};
use arrow_schema::{ArrowError, Schema, SchemaRef};
use pyo3::{
    intern,
    prelude::*,
    types::{PyCapsule, PyDict, PyList},
};

use crate::{
    drawing::Drawing,
    errors::{raise, raise_new},
};

const STREAM: &CStr = c"arrow_array_stream";
const SCHEMA: &CStr = c"arrow_schema";
const ARRAY: &CStr = c"arrow_array";

/// What Python holds rows in, as rows for statements; `None` if it holds none.
pub(crate) fn source(value: &Bound<'_, PyAny>) -> PyResult<Option<Source>> {
    let py = value.py();
    if let Some(dataset) = dataset(value)? {
        return Ok(Some(dataset));
    }
    if value.hasattr(intern!(py, "__arrow_c_stream__"))? {
        let reader = stream(&value.call_method0(intern!(py, "__arrow_c_stream__"))?)?;
        // Others can be asked again for the same rows, and have them in memory.
        let is_reader = value.hasattr(intern!(py, "read_next_batch"))?;
        return Ok(Some(if is_reader { Source::Once(reader) } else { batches(py, reader)? }));
    }
    if value.hasattr(intern!(py, "__arrow_c_array__"))? {
        let batch = record_batch(&value.call_method0(intern!(py, "__arrow_c_array__"))?)?;
        return Ok(Some(Source::Batches(batch.schema(), vec![batch])));
    }
    let class = value.get_type();
    let module = class.module()?.to_string_lossy().into_owned();
    let name = class.name()?.to_string_lossy().into_owned();
    if name == "LazyFrame" && module.starts_with("polars") {
        return source(&value.call_method0("collect")?);
    }
    let table = if name == "DataFrame" && module.starts_with("pandas") {
        pyarrow(py, "a pandas frame")?.getattr("Table")?.call_method1("from_pandas", (value,))?
    } else if value.is_instance_of::<PyDict>() {
        pyarrow(py, "a dict of columns")?.call_method1("table", (value,))?
    } else if let Ok(rows) = value.cast::<PyList>()
        && rows.iter().all(|row| row.is_instance_of::<PyDict>())
        && !rows.is_empty()
    {
        pyarrow(py, "a list of dicts")?.getattr("Table")?.call_method1("from_pylist", (value,))?
    } else {
        return Ok(None);
    };
    source(&table)
}

/// Rows that Python holds, to be read once.
pub(crate) fn reader(value: &Bound<'_, PyAny>) -> PyResult<Reader> {
    let py = value.py();
    match source(value)? {
        Some(Source::Once(reader)) => Ok(reader),
        Some(Source::Batches(schema, batches)) => {
            Ok(Box::new(arrow_array::RecordBatchIterator::new(batches.into_iter().map(Ok), schema)))
        }
        Some(Source::Again(_, open)) => {
            py.detach(|| open(None)).map_err(|error| raise_new(py, Class::Operational, error.to_string()))
        }
        None => Err(raise_new(
            py,
            Class::NotSupported,
            format!(
                "there are no rows in {}: give what has the Arrow PyCapsule interface",
                value.get_type().name()?
            ),
        )),
    }
}

/// `pyarrow`, which makes Arrow of what has none.
fn pyarrow<'py>(py: Python<'py>, what: &str) -> PyResult<Bound<'py, PyModule>> {
    py.import("pyarrow").map_err(|_| {
        let error =
            Error::new(Class::NotSupported, format!("for {what} pyarrow is needed, which is not installed"));
        raise(py, &error.with_hint("pip install pyarrow"))
    })
}

fn batches(py: Python<'_>, reader: Reader) -> PyResult<Source> {
    let schema = reader.schema();
    let read = py.detach(|| reader.collect::<Result<Vec<_>, _>>());
    let batches = read.map_err(|error| raise_new(py, Class::Operational, error.to_string()))?;
    Ok(Source::Batches(schema, batches))
}

fn capsule<'a, 'py>(value: &'a Bound<'py, PyAny>) -> PyResult<&'a Bound<'py, PyCapsule>> {
    Ok(value.cast::<PyCapsule>()?)
}

/// The reader of a stream in a capsule, which is empty then.
fn stream(value: &Bound<'_, PyAny>) -> PyResult<Reader> {
    let py = value.py();
    let pointer = capsule(value)?.pointer_checked(Some(STREAM))?.cast::<FFI_ArrowArrayStream>();
    // SAFETY: the name of the capsule says that it points to a stream, and nobody else uses that while we have the GIL. What is taken is
    // left released, as the interface asks for.
    let reader = unsafe { ArrowArrayStreamReader::from_raw(pointer.as_ptr()) };
    let reader =
        reader.map_err(|error| raise_new(py, Class::Operational, format!("no stream of Arrow: {error}")))?;
    Ok(Box::new(reader))
}

/// The batch of a pair of capsules.
fn record_batch(value: &Bound<'_, PyAny>) -> PyResult<RecordBatch> {
    let py = value.py();
    let (schema, array): (Bound<'_, PyAny>, Bound<'_, PyAny>) = value.extract()?;
    let schema = capsule(&schema)?.pointer_checked(Some(SCHEMA))?.cast::<FFI_ArrowSchema>();
    let array = capsule(&array)?.pointer_checked(Some(ARRAY))?.cast::<FFI_ArrowArray>();
    // SAFETY: the names of the capsules say what they point to, and nobody else uses that while we have the GIL; the array is taken, and
    // left released.
    let (array, schema) = unsafe { (FFI_ArrowArray::from_raw(array.as_ptr()), schema.as_ref()) };
    // SAFETY: the two belong together, as the interface says.
    let data = unsafe { from_ffi(array, schema) };
    let data =
        data.map_err(|error| raise_new(py, Class::Operational, format!("no array of Arrow: {error}")))?;
    match data.data_type() {
        arrow_schema::DataType::Struct(_) => Ok(RecordBatch::from(StructArray::from(data))),
        other => Err(raise_new(py, Class::NotSupported, format!("an array of {other} is no table"))),
    }
}

/// A dataset of pyarrow's, whose files are read as often as is asked for, and only the columns that are wanted.
fn dataset(value: &Bound<'_, PyAny>) -> PyResult<Option<Source>> {
    let class = value.get_type();
    let is_dataset =
        class.module()?.to_string_lossy().starts_with("pyarrow._dataset") && value.hasattr("scanner")?;
    if !is_dataset {
        return Ok(None);
    }
    let schema = schema_of(&value.getattr("schema")?)?;
    let names: Vec<String> = schema.fields().iter().map(|field| field.name().clone()).collect();
    let dataset = value.clone().unbind();
    let open = move |columns: Option<&[usize]>| -> Result<Reader, ArrowError> {
        Python::try_attach(|py| {
            let wanted: Option<Vec<&str>> =
                columns.map(|columns| columns.iter().map(|place| names[*place].as_str()).collect());
            let named = PyDict::new(py);
            named.set_item("columns", wanted)?;
            let reader =
                dataset.bind(py).call_method("scanner", (), Some(&named))?.call_method0("to_reader")?;
            stream(&reader.call_method0("__arrow_c_stream__")?)
        })
        .ok_or_else(|| ArrowError::ExternalError("Python has ended".into()))?
        .map_err(|error: PyErr| ArrowError::ExternalError(Box::new(error)))
    };
    Ok(Some(Source::Again(schema, Arc::new(open))))
}

fn schema_of(value: &Bound<'_, PyAny>) -> PyResult<SchemaRef> {
    let py = value.py();
    let made = value.call_method0("__arrow_c_schema__")?;
    let pointer = capsule(&made)?.pointer_checked(Some(SCHEMA))?.cast::<FFI_ArrowSchema>();
    // SAFETY: the name of the capsule says what it points to; it is only read.
    let schema = Schema::try_from(unsafe { pointer.as_ref() });
    Ok(Arc::new(schema.map_err(|error| raise_new(py, Class::Operational, error.to_string()))?))
}

/// A schema in a capsule.
pub(crate) fn schema_capsule<'py>(py: Python<'py>, schema: &Schema) -> PyResult<Bound<'py, PyCapsule>> {
    let schema = FFI_ArrowSchema::try_from(schema)
        .map_err(|error| raise_new(py, Class::Operational, error.to_string()))?;
    PyCapsule::new_with_value(py, schema, SCHEMA)
}

/// Batches of a result as a stream in a capsule.
pub(crate) fn stream_capsule<'py>(
    py: Python<'py>,
    batches: ambo_sql::Batches<'static>,
    drawing: &Arc<Drawing>,
) -> PyResult<Bound<'py, PyCapsule>> {
    let schema = batches.schema().clone();
    let stream = FFI_ArrowArrayStream::new(Box::new(Taken { batches, schema, drawing: drawing.clone() }));
    PyCapsule::new_with_value(py, stream, STREAM)
}

/// Batches that whoever has the stream takes.
struct Taken {
    batches: ambo_sql::Batches<'static>,
    schema: SchemaRef,
    drawing: Arc<Drawing>,
}

impl Iterator for Taken {
    type Item = Result<RecordBatch, ArrowError>;

    fn next(&mut self) -> Option<Self::Item> {
        let mut next = || {
            let taken = caught(|| self.batches.next().transpose().map_err(Error::from));
            taken.map_err(|error| ArrowError::ExternalError(Box::new(error))).transpose()
        };
        // Whoever takes them may have the GIL, which a reader that they come from may want. Nobody comes here from Rust that has the GIL:
        // PyO3 would not see that Arrow's own code gave it away between.
        let taken = Python::try_attach(|py| {
            self.drawing.begin();
            let taken = py.detach(&mut next);
            self.drawing.end(py);
            taken
        });
        match taken {
            Some(next) => next,
            None => next(),
        }
    }
}

impl RecordBatchReader for Taken {
    fn schema(&self) -> SchemaRef {
        self.schema.clone()
    }
}
