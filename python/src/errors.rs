//! Errors as the exceptions of `ambo._errors`.

use ambo_face::{Class, Error};
use pyo3::{prelude::*, types::PyDict};

/// An error as an exception.
pub(crate) fn raise(py: Python<'_>, error: &Error) -> PyErr {
    exception(py, error).unwrap_or_else(|other| other)
}

/// An error of a class with a message.
pub(crate) fn raise_new(py: Python<'_>, class: Class, message: impl Into<String>) -> PyErr {
    raise(py, &Error::new(class, message))
}

/// The exception of a fault in the use of the interface.
pub(crate) fn interface(py: Python<'_>, message: &str) -> PyErr {
    let made =
        || Ok(PyErr::from_value(py.import("ambo._errors")?.getattr("InterfaceError")?.call1((message,))?));
    made().unwrap_or_else(|other: PyErr| other)
}

fn exception(py: Python<'_>, error: &Error) -> PyResult<PyErr> {
    let class = match error.class {
        Class::Syntax => "SqlSyntaxError",
        Class::NotFound => "NotFoundError",
        Class::NotSupported => "NotSupportedError",
        Class::Data => "DataError",
        Class::Integrity => "IntegrityError",
        Class::Conflict => "ConflictError",
        Class::Cancelled => "CancelledError",
        Class::DiskFull => "DiskFullError",
        Class::InUse => "InUseError",
        Class::Poisoned => "PoisonedError",
        Class::Damaged => "DamagedError",
        Class::Closed | Class::Request => "ProgrammingError",
        Class::Internal => "InternalError",
        _ => "OperationalError",
    };
    let more = PyDict::new(py);
    more.set_item("sqlstate", error.sqlstate)?;
    more.set_item("line", error.place.map(|place| place.line))?;
    more.set_item("column", error.place.map(|place| place.column))?;
    more.set_item("hint", &error.hint)?;
    more.set_item("object", &error.object)?;
    more.set_item("statement", &error.statement)?;
    more.set_item("retryable", error.is_retryable())?;
    let class = py.import("ambo._errors")?.getattr(class)?;
    Ok(PyErr::from_value(class.call((error.show(),), Some(&more))?))
}
