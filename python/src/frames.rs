//! Variables of Python's as tables: where a statement names a table that is not there, one of the caller's that holds rows.
//!
//! Looked at are the local and the global variables of the function that runs the statement, and of no other; and of those only what holds
//! rows of its own accord: what has Arrow's capsules, and frames.

use ambo_sql::Source;
use pyo3::{prelude::*, types::PyDict};

use crate::arrow::source;

/// The rows of a variable.
pub(crate) fn find(py: Python<'_>, name: &str) -> PyResult<Option<Source>> {
    let Some(frame) = caller(py)? else { return Ok(None) };
    for variables in ["f_locals", "f_globals"] {
        let variables = frame.getattr(variables)?;
        let Some(value) = variable(&variables, name)? else { continue };
        if holds_rows(&value)? {
            return source(&value);
        }
    }
    Ok(None)
}

/// The frame of the function that runs the statement: the first that is none of this package's.
fn caller(py: Python<'_>) -> PyResult<Option<Bound<'_, PyAny>>> {
    let Ok(mut frame) = py.import("sys")?.call_method1("_getframe", (0,)) else { return Ok(None) };
    loop {
        let name = frame.getattr("f_globals")?.get_item("__name__");
        let name = name.and_then(|name| name.extract::<String>()).unwrap_or_default();
        if name != "ambo" && !name.starts_with("ambo.") {
            return Ok(Some(frame));
        }
        frame = frame.getattr("f_back")?;
        if frame.is_none() {
            return Ok(None);
        }
    }
}

/// The variable of a name: the one that has it, or else the only one that has it but for large and small letters.
fn variable<'py>(variables: &Bound<'py, PyAny>, name: &str) -> PyResult<Option<Bound<'py, PyAny>>> {
    if let Ok(value) = variables.get_item(name) {
        return Ok(Some(value));
    }
    let Ok(variables) = variables.cast::<PyDict>() else { return Ok(None) };
    let mut alike = Vec::new();
    for (known, value) in variables.iter() {
        if known.extract::<String>().is_ok_and(|known| known.to_lowercase() == name) {
            alike.push(value);
        }
    }
    Ok(if alike.len() == 1 { alike.pop() } else { None })
}

fn holds_rows(value: &Bound<'_, PyAny>) -> PyResult<bool> {
    if value.hasattr("__arrow_c_stream__")? || value.hasattr("__arrow_c_array__")? {
        return Ok(true);
    }
    let class = value.get_type();
    let module = class.module()?.to_string_lossy().into_owned();
    let name = class.name()?.to_string_lossy().into_owned();
    Ok(["DataFrame", "LazyFrame"].contains(&name.as_str())
        && (module.starts_with("pandas") || module.starts_with("polars"))
        || module.starts_with("pyarrow._dataset"))
}
