//! # SQL: results

use std::{
    collections::VecDeque,
    ffi::{CString, c_char, c_void},
    ptr,
};

use ambo_face::{Cell, Class, Column};
use ambo_sql::{Batches, value_texts};
use arrow_array::{Array, RecordBatch, ffi::FFI_ArrowSchema, ffi_stream::FFI_ArrowArrayStream};
use arrow_schema::{DataType, SchemaRef};

use crate::{
    c::{Out, tell},
    connection::{Connected, of_statement},
    datum::*,
    error::{Error, Failure, Result, ask, c_text, call, free},
    handle::{Child, Handle, body, of, take},
    running::Running,
    status::{AMBO_NOT_FOUND, AMBO_OK, Status},
    stream::{Taken, schema_of},
};

/// Rows on their way.
enum Rows {
    /// Nothing was taken.
    Fresh(Box<ambo_sql::Rows<'static>>),
    /// As values, with the row that is current.
    Values(VecDeque<Vec<ambo::Datum>>, Option<Vec<ambo::Datum>>),
    /// As batches, with the row that is current.
    Batches(Box<Batches<'static>>, Option<(RecordBatch, usize)>),
}

/// A result until the database is closed.
struct Taking {
    rows: Rows,
    /// What was lent of the current row and is stored nowhere.
    texts: Vec<Box<[u8]>>,
}

/// What a statement returned.
pub struct ResultBody {
    statement: String,
    schema: SchemaRef,
    names: Vec<CString>,
    types: Vec<CString>,
    tag: CString,
    affected: Option<u64>,
    taking: Child<Running<Taking>>,
}
body!(ResultBody, "result", b"amboresl");

/// What a statement returned. Rows are computed as they are taken; they are those of the moment when the statement began, and need neither
/// statement nor connection.
pub type QueryResult = Handle<ResultBody>;

impl Taking {
    /// Goes to the next row.
    fn next(&mut self) -> Result<bool, ambo_sql::Error> {
        self.texts.clear();
        if let Rows::Fresh(_) = &self.rows {
            let Rows::Fresh(mut rows) =
                std::mem::replace(&mut self.rows, Rows::Values(VecDeque::new(), None))
            else {
                return Ok(false);
            };
            self.rows = match rows.take_values() {
                Some(values) => Rows::Values(values, None),
                None => Rows::Batches(Box::new(rows.batches()), None),
            };
        }
        match &mut self.rows {
            Rows::Fresh(_) => Ok(false),
            Rows::Values(values, current) => {
                *current = values.pop_front();
                Ok(current.is_some())
            }
            Rows::Batches(batches, current) => {
                if let Some((batch, row)) = current
                    && *row + 1 < batch.num_rows()
                {
                    *row += 1;
                    return Ok(true);
                }
                *current = None;
                loop {
                    match batches.next().transpose()? {
                        Some(batch) if batch.num_rows() == 0 => {}
                        Some(batch) => {
                            *current = Some((batch, 0));
                            return Ok(true);
                        }
                        None => return Ok(false),
                    }
                }
            }
        }
    }

    /// The value of a column of the current row.
    fn datum(&mut self, column: usize) -> Result<Datum> {
        let no_column = || Failure::misuse(format!("there is no column {column}"));
        match &self.rows {
            Rows::Values(_, Some(row)) => Ok(Datum::of(row.get(column).ok_or_else(no_column)?)),
            Rows::Batches(_, Some((batch, row))) => {
                let array = batch.columns().get(column).ok_or_else(no_column)?;
                of_cell(&Column::of(array)?, *row, &mut self.texts)
            }
            _ => Err(Failure::misuse(
                "the result stands on no row: call ambo_result_next, and see what it says",
            )),
        }
    }

    /// The same as a text; `None` is NULL.
    fn text(&mut self, column: usize) -> Result<Option<(*const c_void, usize)>> {
        let datum = self.datum(column)?;
        let text = match datum.kind {
            AMBO_NULL => return Ok(None),
            AMBO_TEXT => return Ok(Some((datum.data, datum.size))),
            AMBO_BLOB => return Err(Failure::new(Class::Data, "bytes are no text: read them as they are")),
            _ => self.shown(column, &datum)?,
        };
        let text = text.into_bytes().into_boxed_slice();
        let lent = (text.as_ptr().cast(), text.len());
        self.texts.push(text);
        Ok(Some(lent))
    }

    /// A value that is no text as SQL shows it.
    fn shown(&self, column: usize, datum: &Datum) -> Result<String> {
        if let Rows::Batches(_, Some((batch, row))) = &self.rows {
            let one = batch.column(column).slice(*row, 1);
            let texts = value_texts(&one, "UTC");
            let texts = texts.map_err(|error| Failure::new(Class::NotSupported, error.to_string()))?;
            if let Some(texts) = texts {
                return Ok(texts.value(0).to_owned());
            }
        }
        Ok(datum.read()?.to_string())
    }
}

/// A value of an array. What it is stored in for nobody is kept in `texts`.
fn of_cell(column: &Column<'_>, row: usize, texts: &mut Vec<Box<[u8]>>) -> Result<Datum> {
    let is_unsigned = matches!(column, Column::U8(_) | Column::U16(_) | Column::U32(_));
    Ok(match column.cell(row) {
        Cell::Null => Datum::NULL,
        Cell::Bool(truth) => Datum::integer(AMBO_BOOL, truth.into()),
        Cell::Int(number) => Datum::integer(if is_unsigned { AMBO_UINT } else { AMBO_INT }, number),
        Cell::UInt(number) => Datum::integer(AMBO_UINT, number as i64),
        Cell::Float(number) => Datum::real(number),
        Cell::Decimal(unscaled, scale) => Datum::decimal(unscaled, scale),
        Cell::Text(text) => Datum::lent(AMBO_TEXT, text.as_bytes()),
        Cell::Bytes(bytes) => Datum::lent(AMBO_BLOB, bytes),
        Cell::Date(days) => Datum::integer(AMBO_DATE, days.into()),
        Cell::Time(time) => Datum::integer(AMBO_TIME, time),
        Cell::Timestamp(time) => Datum::integer(AMBO_TIMESTAMP, time),
        Cell::Moment(time) => Datum::integer(AMBO_TIMESTAMPTZ, time),
        Cell::Uuid(uuid) => {
            let uuid: Box<[u8]> = Box::new(uuid);
            let lent = Datum::lent(AMBO_UUID, &uuid);
            texts.push(uuid);
            lent
        }
        Cell::Interval(interval) => Datum {
            scale: interval.months,
            upper: interval.days.into(),
            ..Datum::integer(AMBO_INTERVAL, interval.nanoseconds)
        },
        Cell::List(_) | Cell::Struct(..) | Cell::Map(..) => Datum { kind: AMBO_NESTED, ..Datum::NULL },
    })
}

/// The kind of the values of a column.
fn kind_of(ty: &DataType) -> i32 {
    match ty {
        DataType::Null => AMBO_NULL,
        DataType::Boolean => AMBO_BOOL,
        ty if ty.is_signed_integer() => AMBO_INT,
        ty if ty.is_unsigned_integer() => AMBO_UINT,
        DataType::Float16 | DataType::Float32 | DataType::Float64 => AMBO_REAL,
        DataType::Decimal128(..) => AMBO_DECIMAL,
        DataType::Utf8 => AMBO_TEXT,
        DataType::Date32 => AMBO_DATE,
        DataType::Time64(_) => AMBO_TIME,
        DataType::Timestamp(_, None) => AMBO_TIMESTAMP,
        DataType::Timestamp(_, Some(_)) => AMBO_TIMESTAMPTZ,
        DataType::FixedSizeBinary(16) => AMBO_UUID,
        DataType::Binary | DataType::FixedSizeBinary(_) => AMBO_BLOB,
        DataType::Interval(_) => AMBO_INTERVAL,
        _ => AMBO_NESTED,
    }
}

impl ResultBody {
    pub(crate) fn new(
        connection: &Child<Connected>,
        rows: ambo_sql::Rows<'static>,
        statement: &str,
    ) -> Result<Self> {
        let schema = rows.schema().clone();
        let (tag, affected) = (c_text(rows.tag()), rows.affected());
        let taking = Taking { rows: Rows::Fresh(Box::new(rows)), texts: Vec::new() };
        let fields = schema.fields();
        Ok(Self {
            statement: statement.to_owned(),
            names: fields.iter().map(|field| c_text(field.name())).collect(),
            types: fields.iter().map(|field| c_text(&ambo_sql::type_in_sql(field.data_type()))).collect(),
            tag,
            affected,
            taking: Child::of(connection, taking)?,
            schema,
        })
    }
}

/// How many columns a result has: none, if the statement returns no rows.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ambo_result_columns(result: *const QueryResult) -> usize {
    ask(0, || Ok(of(result)?.names.len()))
}

/// The name of a column, from 0; NULL behind the last.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ambo_result_name(result: *const QueryResult, column: usize) -> *const c_char {
    ask(ptr::null(), || Ok(of(result)?.names.get(column).map_or(ptr::null(), |name| name.as_ptr())))
}

/// The type of a column, as SQL calls it; NULL behind the last.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ambo_result_type(result: *const QueryResult, column: usize) -> *const c_char {
    ask(ptr::null(), || Ok(of(result)?.types.get(column).map_or(ptr::null(), |name| name.as_ptr())))
}

/// The kind of the values of a column that are not NULL: AMBO_INT, AMBO_TEXT and so on; -1 behind the last.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ambo_result_kind(result: *const QueryResult, column: usize) -> i32 {
    ask(-1, || Ok(of(result)?.schema.fields().get(column).map_or(-1, |field| kind_of(field.data_type()))))
}

/// How many rows the statement inserted, changed or deleted; -1 if it is none that does such things.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ambo_result_affected(result: *const QueryResult) -> i64 {
    ask(-1, || Ok(of(result)?.affected.map_or(-1, |rows| rows as i64)))
}

/// What kind of statement it was, in capitals, such as "SELECT".
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ambo_result_tag(result: *const QueryResult) -> *const c_char {
    ask(ptr::null(), || Ok(of(result)?.tag.as_ptr()))
}

/// Goes to the next row, before the first at the beginning: AMBO_OK, or AMBO_NOT_FOUND behind the last.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ambo_result_next(result: *mut QueryResult, error: *mut *mut Error) -> Status {
    call(error, || {
        let result = of(result)?;
        let next =
            |taking: &mut Taking| taking.next().map_err(|error| of_statement(error, &result.statement));
        Ok(if result.taking.with(next)? { AMBO_OK } else { AMBO_NOT_FOUND })
    })
}

/// Reads a value of the row that the result stands on.
fn value<R>(
    result: *mut QueryResult,
    column: usize,
    place: *mut R,
    error: *mut *mut Error,
    read: impl FnOnce(Datum) -> Option<R>,
) -> Status {
    call(error, || {
        let (result, place) = (of(result)?, Out::new("value", place)?);
        let datum = result.taking.with(|taking| taking.datum(column))?;
        let value = read(datum).ok_or_else(|| {
            let ty = result.types.get(column).map(|ty| ty.to_string_lossy()).unwrap_or_default();
            let what = if datum.kind == AMBO_NULL { "NULL".into() } else { format!("a value of type {ty}") };
            let hint = "look at ambo_result_kind and ambo_result_is_null, or cast it in the statement";
            let message = format!("column {column} has {what} here, which is not what was asked for");
            Failure::from(ambo_face::Error::new(Class::Data, message).with_hint(hint))
        })?;
        place.set(value);
        Ok(AMBO_OK)
    })
}

/// The value of a column, from 0, of the row that the result stands on. What it lends is there until the result goes on.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ambo_result_datum(
    result: *mut QueryResult,
    column: usize,
    datum: *mut Datum,
    error: *mut *mut Error,
) -> Status {
    value(result, column, datum, error, Some)
}

/// Whether the value of a column is NULL.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ambo_result_is_null(result: *mut QueryResult, column: usize) -> bool {
    ask(true, || Ok(of(result)?.taking.with(|taking| taking.datum(column))?.kind == AMBO_NULL))
}

/// A truth.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ambo_result_bool(
    result: *mut QueryResult,
    column: usize,
    truth: *mut bool,
    error: *mut *mut Error,
) -> Status {
    value(result, column, truth, error, |datum| (datum.kind == AMBO_BOOL).then_some(datum.integer != 0))
}

/// An integer. NULL, another kind, and what does not fit are errors.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ambo_result_int64(
    result: *mut QueryResult,
    column: usize,
    integer: *mut i64,
    error: *mut *mut Error,
) -> Status {
    value(result, column, integer, error, |datum| match datum.kind {
        AMBO_INT => Some(datum.integer),
        AMBO_UINT if datum.integer >= 0 => Some(datum.integer),
        _ => None,
    })
}

/// An integer without a sign. NULL, another kind, and what does not fit are errors.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ambo_result_uint64(
    result: *mut QueryResult,
    column: usize,
    integer: *mut u64,
    error: *mut *mut Error,
) -> Status {
    value(result, column, integer, error, |datum| match datum.kind {
        AMBO_UINT => Some(datum.integer as u64),
        AMBO_INT if datum.integer >= 0 => Some(datum.integer as u64),
        _ => None,
    })
}

/// A number: of reals, integers and decimals the nearest. NULL and another kind are errors.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ambo_result_double(
    result: *mut QueryResult,
    column: usize,
    number: *mut f64,
    error: *mut *mut Error,
) -> Status {
    value(result, column, number, error, |datum| match datum.kind {
        AMBO_REAL => Some(datum.real),
        AMBO_INT => Some(datum.integer as f64),
        AMBO_UINT => Some(datum.integer as u64 as f64),
        AMBO_DECIMAL => datum.read().ok()?.to_string().parse().ok(),
        _ => None,
    })
}

/// Bytes, or those of a text, until the result goes on. NULL and another kind are errors.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ambo_result_blob(
    result: *mut QueryResult,
    column: usize,
    data: *mut *const c_void,
    size: *mut usize,
    error: *mut *mut Error,
) -> Status {
    value(result, column, data, error, |datum| {
        let is_it = matches!(datum.kind, AMBO_BLOB | AMBO_TEXT | AMBO_UUID);
        if is_it {
            tell(size, datum.size);
        }
        is_it.then_some(datum.data)
    })
}

/// The value as a text, whatever its type is, as SQL shows it with clocks in UTC; until the result goes on. NULL is a NULL with size 0.
/// It does not end in a zero byte. Of bytes it is an error.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ambo_result_text(
    result: *mut QueryResult,
    column: usize,
    text: *mut *const c_char,
    size: *mut usize,
    error: *mut *mut Error,
) -> Status {
    call(error, || {
        let (body, text, size) = (of(result)?, Out::new("text", text)?, Out::new("size", size)?);
        let (data, length) = body.taking.with(|taking| taking.text(column))?.unwrap_or((ptr::null(), 0));
        text.set(data.cast());
        size.set(length);
        Ok(AMBO_OK)
    })
}

/// The columns as Arrow's schema, to be released by the caller.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ambo_result_schema(
    result: *const QueryResult,
    schema: *mut FFI_ArrowSchema,
    error: *mut *mut Error,
) -> Status {
    call(error, || {
        let (result, schema) = (of(result)?, Out::new("schema", schema)?);
        schema.set(schema_of(&result.schema)?);
        Ok(AMBO_OK)
    })
}

/// The rows as a stream of Arrow's, to be released by the caller, and frees the result. Rows must not have been taken before; on an error
/// the result stays. When the database is closed, the stream ends with an error.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ambo_result_stream(
    result: *mut *mut QueryResult,
    stream: *mut FFI_ArrowArrayStream,
    error: *mut *mut Error,
) -> Status {
    call(error, || {
        let (place, stream) = (Out::new("result", result)?, Out::new("stream", stream)?);
        let body = of(place.peek())?;
        body.taking.with(|taking| match taking.rows {
            Rows::Fresh(_) => Ok(()),
            _ => Err(Failure::misuse("rows of the result were taken already")),
        })?;
        let batches = body.taking.turned(|taking| match taking.rows {
            Rows::Fresh(rows) => Ok(rows.batches()),
            _ => Err(Failure::misuse("rows of the result were taken meanwhile")),
        })?;
        stream.set(Taken::stream(&body.schema, batches));
        drop(take(result));
        Ok(AMBO_OK)
    })
}

/// Frees a result, and ends what computes it.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ambo_result_free(result: *mut *mut QueryResult) {
    free(result);
}
