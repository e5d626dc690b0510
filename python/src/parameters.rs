//! Values of Python's for parameters of statements.

use ambo::{Datum, calendar::days_of};
use ambo_face::Class;
use pyo3::{
    buffer::PyBuffer,
    prelude::*,
    sync::PyOnceLock,
    types::{
        PyBool, PyBytes, PyDate, PyDateAccess, PyDateTime, PyDelta, PyDeltaAccess, PyDict, PyFloat, PyInt,
        PyList, PyMapping, PySequence, PyString, PyTime, PyTimeAccess, PyTuple, PyType, PyTzInfoAccess,
    },
};

use crate::errors::{interface, raise_new};

/// The values of parameters: of a sequence, or of a mapping by the names that a statement has for them.
pub(crate) fn values(params: Option<&Bound<'_, PyAny>>, names: &[Option<String>]) -> PyResult<Vec<Datum>> {
    let Some(params) = params.filter(|params| !params.is_none()) else { return Ok(Vec::new()) };
    let py = params.py();
    if let Ok(named) = params.cast::<PyDict>() {
        return by_name(py, named.as_mapping(), names);
    }
    if params.is_instance_of::<PyString>() || params.is_instance_of::<PyBytes>() {
        return Err(interface(py, "parameters are a sequence of values, such as (value,), or a dict"));
    }
    if let Ok(sequence) = params.cast::<PySequence>() {
        return sequence.try_iter()?.map(|value| datum(&value?)).collect();
    }
    match params.cast::<PyMapping>() {
        Ok(named) => by_name(py, named, names),
        Err(_) => Err(interface(py, "parameters are a sequence of values, such as (value,), or a dict")),
    }
}

fn by_name(py: Python<'_>, named: &Bound<'_, PyMapping>, names: &[Option<String>]) -> PyResult<Vec<Datum>> {
    let value = |name: &Option<String>| {
        let Some(name) = name else {
            return Err(interface(
                py,
                "the statement has parameters without names, and values by name were given",
            ));
        };
        if let Ok(value) = named.get_item(name) {
            return datum(&value);
        }
        // Names are in small letters in SQL.
        for key in named.keys()?.iter() {
            if key.cast::<PyString>().is_ok_and(|key| key.to_string_lossy().to_lowercase() == *name) {
                return datum(&named.get_item(key)?);
            }
        }
        Err(interface(py, &format!("there is no value for the parameter :{name}")))
    };
    names.iter().map(value).collect()
}

/// A value.
pub(crate) fn datum(value: &Bound<'_, PyAny>) -> PyResult<Datum> {
    let py = value.py();
    if value.is_none() {
        return Ok(Datum::Null);
    }
    if let Ok(text) = value.cast::<PyString>() {
        return Ok(Datum::Utf8(text.to_cow()?.into_owned()));
    }
    if let Ok(truth) = value.cast::<PyBool>() {
        return Ok(Datum::Bool(truth.is_true()));
    }
    if value.is_instance_of::<PyInt>() {
        return integer(value);
    }
    if let Ok(number) = value.cast::<PyFloat>() {
        return Ok(Datum::F64(number.value()));
    }
    if let Ok(bytes) = value.cast::<PyBytes>() {
        return Ok(Datum::Binary(bytes.as_bytes().to_vec()));
    }
    if let Ok(moment) = value.cast::<PyDateTime>() {
        return timestamp(moment);
    }
    if let Ok(date) = value.cast::<PyDate>() {
        return Ok(Datum::Date32(days(py, date)? as i32));
    }
    if let Ok(time) = value.cast::<PyTime>() {
        if time.get_tzinfo().is_some() {
            return Err(raise_new(py, Class::Data, "a time of day has no time zone here; give a datetime"));
        }
        return Ok(Datum::Time64(micros(time) * 1000));
    }
    if let Ok(delta) = value.cast::<PyDelta>() {
        let text = format!(
            "{} days {} seconds {} microseconds",
            delta.get_days(),
            delta.get_seconds(),
            delta.get_microseconds()
        );
        return Ok(Datum::Utf8(text));
    }
    if is_a(value, &DECIMAL, "decimal", "Decimal")? {
        return decimal(value);
    }
    if is_a(value, &UUID, "uuid", "UUID")? {
        return Ok(Datum::Utf8(value.str()?.to_cow()?.into_owned()));
    }
    if value.is_instance_of::<PyList>()
        || value.is_instance_of::<PyTuple>()
        || value.is_instance_of::<PyDict>()
    {
        return nested(value);
    }
    // Numbers of numpy and the like.
    if value.hasattr("dtype")? && value.hasattr("item")? {
        let own = value.call_method0("item")?;
        if !own.hasattr("dtype")? {
            return datum(&own);
        }
    }
    if let Ok(bytes) = bytes(value) {
        return Ok(Datum::Binary(bytes));
    }
    Err(raise_new(
        py,
        Class::NotSupported,
        format!("a parameter cannot be {}", value.get_type().fully_qualified_name()?),
    ))
}

/// A list or a struct as a text, which becomes one of the column's type.
fn nested(value: &Bound<'_, PyAny>) -> PyResult<Datum> {
    let py = value.py();
    let named = PyDict::new(py);
    named.set_item("ensure_ascii", false)?;
    named.set_item("default", py.import("builtins")?.getattr("str")?)?;
    Ok(Datum::Utf8(py.import("json")?.getattr("dumps")?.call((value,), Some(&named))?.extract()?))
}

static DECIMAL: PyOnceLock<Py<PyType>> = PyOnceLock::new();
static UUID: PyOnceLock<Py<PyType>> = PyOnceLock::new();

fn is_a(
    value: &Bound<'_, PyAny>,
    class: &PyOnceLock<Py<PyType>>,
    module: &str,
    name: &str,
) -> PyResult<bool> {
    value.is_instance(class.import(value.py(), module, name)?)
}

/// The bytes of whatever has a buffer of them.
pub(crate) fn bytes(value: &Bound<'_, PyAny>) -> PyResult<Vec<u8>> {
    if let Ok(bytes) = value.cast::<PyBytes>() {
        return Ok(bytes.as_bytes().to_vec());
    }
    PyBuffer::<u8>::get(value)?.to_vec(value.py())
}

fn integer(value: &Bound<'_, PyAny>) -> PyResult<Datum> {
    if let Ok(number) = value.extract::<i64>() {
        return Ok(Datum::I64(number));
    }
    const MOST: i128 = 10i128.pow(38);
    match value.extract::<i128>() {
        Ok(unscaled) if unscaled > -MOST && unscaled < MOST => Ok(Datum::Decimal128 { unscaled, scale: 0 }),
        _ => Err(raise_new(value.py(), Class::Data, format!("{value} has more than 38 digits"))),
    }
}

fn decimal(value: &Bound<'_, PyAny>) -> PyResult<Datum> {
    let py = value.py();
    let wrong = |what: &str| raise_new(py, Class::Data, format!("{value} {what}"));
    let (is_negative, digits, exponent): (u8, Vec<u8>, Bound<'_, PyAny>) =
        value.call_method0("as_tuple")?.extract()?;
    let Ok(exponent) = exponent.extract::<i32>() else {
        return Err(wrong("is no number that a decimal holds"));
    };
    // Behind the point there are as many digits as the exponent says; before it, zeros may follow.
    let scale = (-exponent).max(0);
    let zeros = exponent.max(0) as usize;
    let first = digits.iter().position(|digit| *digit > 0).unwrap_or(digits.len());
    if digits.len() - first + zeros > 38 || scale > 38 {
        return Err(wrong("has more than 38 digits"));
    }
    let number = digits.iter().fold(0i128, |number, digit| number * 10 + i128::from(*digit));
    let number = number * 10i128.pow(zeros as u32 * u32::from(number != 0));
    Ok(Datum::Decimal128 { unscaled: if is_negative == 1 { -number } else { number }, scale: scale as i8 })
}

fn days(py: Python<'_>, date: &impl PyDateAccess) -> PyResult<i64> {
    let days = days_of(date.get_year().into(), date.get_month().into(), date.get_day().into());
    days.ok_or_else(|| raise_new(py, Class::Data, "a date that is none"))
}

fn micros(time: &impl PyTimeAccess) -> i64 {
    let seconds =
        (i64::from(time.get_hour()) * 60 + i64::from(time.get_minute())) * 60 + i64::from(time.get_second());
    seconds * 1_000_000 + i64::from(time.get_microsecond())
}

fn timestamp(moment: &Bound<'_, PyDateTime>) -> PyResult<Datum> {
    const DAY_MICROS: i64 = 86_400_000_000;
    let py = moment.py();
    let own = days(py, moment)? * DAY_MICROS + micros(moment);
    if moment.get_tzinfo().is_none() {
        return Ok(Datum::Timestamp(own));
    }
    let offset = moment.call_method0("utcoffset")?;
    let Ok(offset) = offset.cast::<PyDelta>() else { return Ok(Datum::Timestamp(own)) };
    let seconds = i64::from(offset.get_days()) * 86_400 + i64::from(offset.get_seconds());
    let offset = seconds * 1_000_000 + i64::from(offset.get_microseconds());
    Ok(Datum::TimestampTz(own - offset))
}
