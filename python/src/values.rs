//! Values of results as Python's.

use ambo::{Datum, calendar::date_of};
use ambo_face::{Cell, Class, Column};
use arrow_array::Array;
use pyo3::{
    IntoPyObjectExt,
    exceptions::PyOverflowError,
    prelude::*,
    sync::PyOnceLock,
    types::{
        PyBytes, PyDate, PyDateTime, PyDelta, PyDict, PyList, PyString, PyTime, PyTuple, PyType, PyTzInfo,
    },
};

use crate::errors::{raise, raise_new};

const DAY_MICROS: i64 = 86_400_000_000;

/// The row of some columns.
pub(crate) fn row<'py>(py: Python<'py>, columns: &[Column<'_>], row: usize) -> PyResult<Bound<'py, PyTuple>> {
    let values = columns.iter().map(|column| value(py, column.cell(row))).collect::<PyResult<Vec<_>>>()?;
    PyTuple::new(py, values)
}

/// The row of some values.
pub(crate) fn row_of<'py>(py: Python<'py>, values: &[Datum]) -> PyResult<Bound<'py, PyTuple>> {
    let values = values.iter().map(|datum| value(py, cell(datum))).collect::<PyResult<Vec<_>>>()?;
    PyTuple::new(py, values)
}

fn cell(datum: &Datum) -> Cell<'_> {
    match datum {
        Datum::Null => Cell::Null,
        Datum::Bool(value) => Cell::Bool(*value),
        Datum::I8(value) => Cell::Int((*value).into()),
        Datum::I16(value) => Cell::Int((*value).into()),
        Datum::I32(value) => Cell::Int((*value).into()),
        Datum::I64(value) => Cell::Int(*value),
        Datum::U8(value) => Cell::Int((*value).into()),
        Datum::U16(value) => Cell::Int((*value).into()),
        Datum::U32(value) => Cell::Int((*value).into()),
        Datum::U64(value) => Cell::UInt(*value),
        Datum::F32(value) => Cell::Float((*value).into()),
        Datum::F64(value) => Cell::Float(*value),
        Datum::Decimal128 { unscaled, scale } => Cell::Decimal(*unscaled, *scale),
        Datum::Date32(days) => Cell::Date(*days),
        Datum::Time64(nanos) => Cell::Time(*nanos),
        Datum::Timestamp(micros) => Cell::Timestamp(*micros),
        Datum::TimestampTz(micros) => Cell::Moment(*micros),
        Datum::Utf8(text) => Cell::Text(text),
        Datum::Binary(bytes) => Cell::Bytes(bytes),
    }
}

/// A value.
fn value<'py>(py: Python<'py>, cell: Cell<'_>) -> PyResult<Bound<'py, PyAny>> {
    match cell {
        Cell::Null => Ok(py.None().into_bound(py)),
        Cell::Bool(value) => value.into_bound_py_any(py),
        Cell::Int(value) => value.into_bound_py_any(py),
        Cell::UInt(value) => value.into_bound_py_any(py),
        Cell::Float(value) => value.into_bound_py_any(py),
        Cell::Decimal(unscaled, scale) => decimal(py, unscaled, scale),
        Cell::Text(text) => Ok(PyString::new(py, text).into_any()),
        Cell::Bytes(bytes) => Ok(PyBytes::new(py, bytes).into_any()),
        Cell::Date(days) => {
            let (year, month, day) = date(days.into())?;
            Ok(PyDate::new(py, year, month, day)?.into_any())
        }
        Cell::Time(nanos) => {
            let (hour, minute, second, micros) = clock(nanos / 1000);
            Ok(PyTime::new(py, hour, minute, second, micros, None)?.into_any())
        }
        Cell::Timestamp(micros) => moment(py, micros, None),
        Cell::Moment(micros) => moment(py, micros, Some(&PyTzInfo::utc(py)?.to_owned())),
        Cell::Uuid(bytes) => {
            static UUID: PyOnceLock<Py<PyType>> = PyOnceLock::new();
            let bytes = PyBytes::new(py, &bytes);
            let named = PyDict::new(py);
            named.set_item("bytes", bytes)?;
            UUID.import(py, "uuid", "UUID")?.call((), Some(&named))
        }
        Cell::Interval(interval) => {
            if interval.months != 0 {
                return Err(raise_new(
                    py,
                    Class::Data,
                    format!(
                        "an interval of {} months is no timedelta: months differ in length; cast it to text",
                        interval.months
                    ),
                ));
            }
            let micros = interval.nanoseconds / 1000;
            let (seconds, micros) = (micros.div_euclid(1_000_000), micros.rem_euclid(1_000_000));
            let days = interval
                .days
                .checked_add((seconds / 86_400) as i32)
                .ok_or_else(|| PyOverflowError::new_err("an interval is beyond the range of timedelta"))?;
            Ok(PyDelta::new(py, days, (seconds % 86_400) as i32, micros as i32, true)?.into_any())
        }
        Cell::List(values) => {
            let column = Column::of(&values).map_err(|error| raise(py, &error))?;
            let values =
                (0..values.len()).map(|row| value(py, column.cell(row))).collect::<PyResult<Vec<_>>>()?;
            Ok(PyList::new(py, values)?.into_any())
        }
        Cell::Struct(of, row) => {
            let fields = PyDict::new(py);
            for (name, part) in of.column_names().into_iter().zip(of.columns()) {
                let column = Column::of(part).map_err(|error| raise(py, &error))?;
                fields.set_item(name, value(py, column.cell(row))?)?;
            }
            Ok(fields.into_any())
        }
        Cell::Map(keys, values) => {
            let column = |array| Column::of(array).map_err(|error| raise(py, &error));
            let (of_keys, of_values) = (column(&keys)?, column(&values)?);
            let map = PyDict::new(py);
            for row in 0..keys.len() {
                map.set_item(value(py, of_keys.cell(row))?, value(py, of_values.cell(row))?)?;
            }
            Ok(map.into_any())
        }
    }
}

fn decimal(py: Python<'_>, unscaled: i128, scale: i8) -> PyResult<Bound<'_, PyAny>> {
    static DECIMAL: PyOnceLock<Py<PyType>> = PyOnceLock::new();
    let text = Datum::Decimal128 { unscaled, scale }.to_string();
    DECIMAL.import(py, "decimal", "Decimal")?.call1((text,))
}

/// A date of Python's, which knows the years from 1 to 9999.
fn date(days: i64) -> PyResult<(i32, u8, u8)> {
    let (year, month, day) = date_of(days);
    match (1..=9999).contains(&year) {
        true => Ok((year as i32, month as u8, day as u8)),
        false => Err(PyOverflowError::new_err(format!(
            "the date {year}-{month:02}-{day:02} is beyond the range of Python's; fetch Arrow, or cast it to text"
        ))),
    }
}

fn clock(micros: i64) -> (u8, u8, u8, u32) {
    let seconds = micros / 1_000_000;
    let clock = ((seconds / 3600) as u8, (seconds / 60 % 60) as u8, (seconds % 60) as u8);
    (clock.0, clock.1, clock.2, (micros % 1_000_000) as u32)
}

fn moment<'py>(
    py: Python<'py>,
    micros: i64,
    zone: Option<&Bound<'py, PyTzInfo>>,
) -> PyResult<Bound<'py, PyAny>> {
    let (year, month, day) = date(micros.div_euclid(DAY_MICROS))?;
    let (hour, minute, second, micros) = clock(micros.rem_euclid(DAY_MICROS));
    Ok(PyDateTime::new(py, year, month, day, hour, minute, second, micros, zone)?.into_any())
}
