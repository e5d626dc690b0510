//! Arrow batches as columns of a table.
//!
//! | Arrow | column |
//! |---|---|
//! | boolean, integers, floats | the same; `float16` as `real` |
//! | decimals of 32 to 128 bits | `decimal(p, s)` |
//! | date32 | `date` |
//! | date64, timestamps of any unit without a zone | `timestamp`: microseconds; a value between two of them is refused |
//! | timestamps of any unit with a zone | `timestamptz`: likewise, in UTC |
//! | time32, time64 | `time` |
//! | text, large text, text views | `text` |
//! | binary, large, views, of fixed size | `binary` |
//! | dictionaries | as their values |
//! | null | `text`, every value NULL |
//! | intervals, lists, structs, maps; bytes with the extension `arrow.uuid`, text with `arrow.json` | the same (`logical`) |
//!
//! A value may go into a column of another type if nothing is lost, as everywhere: see [`DatumRef::fit`].

use ambo_codec::column::{BitsView, BytesView, ColumnSlice};
use arrow_array::{
    Array, ArrayRef, BooleanArray, RecordBatch,
    cast::AsArray,
    types::{
        ArrowDictionaryKeyType, ArrowPrimitiveType, Date32Type, Date64Type, Decimal32Type, Decimal64Type,
        Decimal128Type, Float16Type, Float32Type, Float64Type, Int8Type, Int16Type, Int32Type, Int64Type,
        Time32MillisecondType, Time32SecondType, Time64MicrosecondType, Time64NanosecondType,
        TimestampMicrosecondType, TimestampMillisecondType, TimestampNanosecondType, TimestampSecondType,
        UInt8Type, UInt16Type, UInt32Type, UInt64Type,
    },
};
use arrow_schema::{DataType, Field, Schema, TimeUnit};

use super::logical::{codes, encoded, logical_of_field};
use crate::{Column, ColumnBuffer, Datum, DatumRef, Error, Logical, Result, TableDefinition, Type};

/// The type of a column that holds what an Arrow type holds.
///
/// # Errors
/// [`Error::Invalid`] for lists, structs and others that columns of logical types hold, if any do.
pub fn type_of(ty: &DataType) -> Result<Type> {
    let invalid = || {
        Error::Invalid(format!("no column type holds Arrow's {ty}; flatten it or cast it to text or binary"))
    };
    Ok(match ty {
        DataType::Boolean => Type::Bool,
        DataType::Int8 => Type::I8,
        DataType::Int16 => Type::I16,
        DataType::Int32 => Type::I32,
        DataType::Int64 => Type::I64,
        DataType::UInt8 => Type::U8,
        DataType::UInt16 => Type::U16,
        DataType::UInt32 => Type::U32,
        DataType::UInt64 => Type::U64,
        DataType::Float16 | DataType::Float32 => Type::F32,
        DataType::Float64 => Type::F64,
        DataType::Decimal32(precision, scale)
        | DataType::Decimal64(precision, scale)
        | DataType::Decimal128(precision, scale) => {
            Type::decimal(*precision, *scale).map_err(|_| invalid())?
        }
        DataType::Date32 => Type::Date32,
        DataType::Date64 | DataType::Timestamp(_, None) => Type::Timestamp,
        DataType::Timestamp(_, Some(_)) => Type::TimestampTz,
        DataType::Time32(_) | DataType::Time64(_) => Type::Time64,
        DataType::Utf8 | DataType::LargeUtf8 | DataType::Utf8View | DataType::Null => Type::Utf8,
        DataType::Binary | DataType::LargeBinary | DataType::BinaryView | DataType::FixedSizeBinary(_) => {
            Type::Binary
        }
        DataType::Dictionary(_, values) => type_of(values)?,
        _ => return Err(invalid()),
    })
}

/// A table with the columns of an Arrow schema: what is nullable there is here, but for the columns of the key.
///
/// # Errors
/// [`Error::Invalid`] that names a column whose type no column has.
pub fn definition(name: &str, schema: &Schema, key: &[&str]) -> Result<TableDefinition> {
    let mut definition = TableDefinition::new(name);
    for field in schema.fields() {
        let column = column_of(field).map_err(|error| in_column(field.name(), &error))?;
        let nullable = field.is_nullable() || field.data_type() == &DataType::Null;
        definition = match nullable && !key.contains(&field.name().as_str()) {
            true => definition.with_column(column.nullable()),
            false => definition.with_column(column),
        };
    }
    Ok(if key.is_empty() { definition } else { definition.primary_key(key) })
}

/// A column, which is never NULL, of the type of a field.
fn column_of(field: &Field) -> Result<Column> {
    Ok(match logical_of_field(field)? {
        Some(logical) => Column::of(field.name(), logical),
        None => Column::new(field.name(), type_of(field.data_type())?),
    })
}

/// The columns of a table, in its order, from a batch whose columns have their names. A column that the batch lacks has its default,
/// or NULL. Rows are numbered from `first` in messages.
///
/// # Errors
/// [`Error::Invalid`] that names the column, and the row if a value does not fit.
pub fn buffers(definition: &TableDefinition, batch: &RecordBatch, first: u64) -> Result<Vec<ColumnBuffer>> {
    let schema = batch.schema_ref();
    if let Some(unknown) =
        schema.fields().iter().find(|field| definition.column_index(field.name()).is_none())
    {
        let known: Vec<_> = definition.columns.iter().map(|column| column.name.as_str()).collect();
        return Err(Error::Invalid(format!(
            "table \"{}\" has no column \"{}\"; it has {}",
            definition.name,
            unknown.name(),
            known.join(", ")
        )));
    }
    let column = |column: &Column| {
        let mut buffer = ColumnBuffer::new(column.kind);
        let filled = match batch.column_by_name(&column.name) {
            Some(array) => fill_column(&mut buffer, column, array, first),
            None => {
                computed_default(column)?;
                let value = column.default.as_ref().map_or(DatumRef::Null, Datum::as_ref);
                (0..batch.num_rows()).try_for_each(|_| buffer.push(value)).map_err(unfit)
            }
        };
        filled.map(|()| buffer).map_err(|error| in_column(&column.name, &error))
    };
    definition.columns.iter().map(column).collect()
}

/// # Errors
/// [`Error::Invalid`] for a column whose default only SQL can compute.
fn computed_default(column: &crate::Column) -> Result<()> {
    match &column.default_expression {
        None => Ok(()),
        Some(text) => Err(Error::Invalid(format!(
            "column \"{}\" is missing, and only SQL can compute its default {text}; give it values, or use SQL",
            column.name
        ))),
    }
}

/// Some columns of a table, by their places, from a batch that has them in this order, maybe with others behind.
///
/// # Errors
/// As [`buffers`].
pub(crate) fn buffers_of(
    definition: &TableDefinition,
    places: &[usize],
    batch: &RecordBatch,
    first: u64,
) -> Result<Vec<ColumnBuffer>> {
    let filled = |(column, array): (&crate::Column, &ArrayRef)| {
        let mut buffer = ColumnBuffer::new(column.kind);
        fill_column(&mut buffer, column, array, first).map_err(|error| in_column(&column.name, &error))?;
        Ok(buffer)
    };
    if batch.num_columns() < places.len() {
        let (has, wanted) = (batch.num_columns(), places.len());
        return Err(Error::Invalid(format!("a batch has {has} columns where {wanted} are read")));
    }
    places.iter().map(|place| &definition.columns[*place]).zip(batch.columns()).map(filled).collect()
}

/// The numbers of rows in the last column of a batch.
pub(crate) fn numbers(batch: &RecordBatch, first: u64) -> Result<ColumnBuffer> {
    let mut numbers = ColumnBuffer::new(Type::U64);
    if let Some(array) = batch.columns().last() {
        fill(&mut numbers, array, first)?;
    }
    Ok(numbers)
}

fn in_column(name: &str, error: &Error) -> Error {
    match error {
        Error::Invalid(what) => Error::Invalid(format!("column \"{name}\": {what}")),
        error => Error::Invalid(format!("column \"{name}\": {error}")),
    }
}

fn unfit(error: ambo_codec::Error) -> Error {
    Error::Invalid(error.to_string())
}

/// Appends the values of an array as the column stores them.
fn fill_column(buffer: &mut ColumnBuffer, column: &Column, array: &ArrayRef, first: u64) -> Result<()> {
    match &column.logical {
        None => fill(buffer, array, first),
        Some(Logical::Enum(of)) => extend(buffer, &codes(array, of)?, first),
        Some(logical) if logical.kind() == Type::Binary => extend(buffer, &encoded(array, logical)?, first),
        Some(logical) => {
            fill(buffer, array, first)?;
            (0..buffer.len()).try_for_each(|row| {
                let value = buffer.get(row).map_err(unfit)?;
                logical.check(value).map_err(|what| in_row(first, row, &what))
            })
        }
    }
}

/// Appends the values of an array, in the buffer's type.
pub(super) fn fill(buffer: &mut ColumnBuffer, array: &dyn Array, first: u64) -> Result<()> {
    let natural = type_of(array.data_type())?;
    if natural == buffer.ty() {
        return extend(buffer, array, first);
    }
    let mut values = ColumnBuffer::new(natural);
    extend(&mut values, array, first)?;
    for row in 0..values.len() {
        let value = values.get(row).map_err(unfit)?;
        let fitted = value.fit(buffer.ty());
        buffer.push(fitted.map_err(|error| in_row(first, row, &error.to_string()))?).map_err(unfit)?;
    }
    Ok(())
}

fn in_row(first: u64, row: usize, what: &str) -> Error {
    Error::Invalid(format!("row {}: {what}", first + row as u64))
}

/// Appends the values of an array whose natural type is the buffer's.
fn extend(buffer: &mut ColumnBuffer, array: &dyn Array, first: u64) -> Result<()> {
    match array.data_type() {
        DataType::Null => (0..array.len()).try_for_each(|_| buffer.push(DatumRef::Null)).map_err(unfit),
        DataType::Boolean => booleans(buffer, array.as_boolean()),
        DataType::Int8 => slice::<Int8Type>(buffer, array, ColumnSlice::I8),
        DataType::Int16 => slice::<Int16Type>(buffer, array, ColumnSlice::I16),
        DataType::Int32 => slice::<Int32Type>(buffer, array, ColumnSlice::I32),
        DataType::Int64 => slice::<Int64Type>(buffer, array, ColumnSlice::I64),
        DataType::UInt8 => slice::<UInt8Type>(buffer, array, ColumnSlice::U8),
        DataType::UInt16 => slice::<UInt16Type>(buffer, array, ColumnSlice::U16),
        DataType::UInt32 => slice::<UInt32Type>(buffer, array, ColumnSlice::U32),
        DataType::UInt64 => slice::<UInt64Type>(buffer, array, ColumnSlice::U64),
        // There is one NaN.
        DataType::Float32 if array.as_primitive::<Float32Type>().values().iter().any(|x| x.is_nan()) => {
            let values = array.as_primitive::<Float32Type>().values().iter();
            let values: Vec<f32> = values.map(|x| if x.is_nan() { f32::NAN } else { *x }).collect();
            put(buffer, ColumnSlice::F32(&values), array)
        }
        DataType::Float64 if array.as_primitive::<Float64Type>().values().iter().any(|x| x.is_nan()) => {
            let values = array.as_primitive::<Float64Type>().values().iter();
            let values: Vec<f64> = values.map(|x| if x.is_nan() { f64::NAN } else { *x }).collect();
            put(buffer, ColumnSlice::F64(&values), array)
        }
        DataType::Float32 => slice::<Float32Type>(buffer, array, ColumnSlice::F32),
        DataType::Float64 => slice::<Float64Type>(buffer, array, ColumnSlice::F64),
        DataType::Decimal128(..) => slice::<Decimal128Type>(buffer, array, ColumnSlice::I128),
        DataType::Date32 => slice::<Date32Type>(buffer, array, ColumnSlice::I32),
        DataType::Timestamp(TimeUnit::Microsecond, _) => {
            slice::<TimestampMicrosecondType>(buffer, array, ColumnSlice::I64)
        }
        DataType::Time64(TimeUnit::Nanosecond) => {
            slice::<Time64NanosecondType>(buffer, array, ColumnSlice::I64)
        }
        DataType::Float16 => {
            let values: Vec<_> =
                array.as_primitive::<Float16Type>().values().iter().map(|value| value.to_f32()).collect();
            put(buffer, ColumnSlice::F32(&values), array)
        }
        DataType::Decimal32(..) => wide::<Decimal32Type>(buffer, array),
        DataType::Decimal64(..) => wide::<Decimal64Type>(buffer, array),
        DataType::Date64 => times::<Date64Type>(buffer, array, first, |ms| ms.checked_mul(1000)),
        DataType::Timestamp(TimeUnit::Second, _) => {
            times::<TimestampSecondType>(buffer, array, first, |s| s.checked_mul(1_000_000))
        }
        DataType::Timestamp(TimeUnit::Millisecond, _) => {
            times::<TimestampMillisecondType>(buffer, array, first, |ms| ms.checked_mul(1000))
        }
        DataType::Timestamp(TimeUnit::Nanosecond, _) => {
            let micros = |ns: i64| (ns % 1000 == 0).then_some(ns / 1000);
            times::<TimestampNanosecondType>(buffer, array, first, micros)
        }
        DataType::Time32(TimeUnit::Second) => {
            times::<Time32SecondType>(buffer, array, first, |s| s.checked_mul(1_000_000_000))
        }
        DataType::Time32(_) => {
            times::<Time32MillisecondType>(buffer, array, first, |ms| ms.checked_mul(1_000_000))
        }
        DataType::Time64(_) => {
            times::<Time64MicrosecondType>(buffer, array, first, |us| us.checked_mul(1000))
        }
        DataType::Utf8 => {
            let strings = array.as_string::<i32>();
            bytes(buffer, strings.value_offsets(), strings.value_data(), array)
        }
        DataType::LargeUtf8 => {
            let strings = array.as_string::<i64>();
            bytes(buffer, strings.value_offsets(), strings.value_data(), array)
        }
        DataType::Binary => {
            let strings = array.as_binary::<i32>();
            bytes(buffer, strings.value_offsets(), strings.value_data(), array)
        }
        DataType::LargeBinary => {
            let strings = array.as_binary::<i64>();
            bytes(buffer, strings.value_offsets(), strings.value_data(), array)
        }
        DataType::Utf8View => {
            let strings = array.as_string_view();
            scattered(buffer, (0..array.len()).map(|row| strings.value(row).as_bytes()), array)
        }
        DataType::BinaryView => {
            let strings = array.as_binary_view();
            scattered(buffer, (0..array.len()).map(|row| strings.value(row)), array)
        }
        DataType::FixedSizeBinary(_) => {
            let strings = array.as_fixed_size_binary();
            scattered(buffer, (0..array.len()).map(|row| strings.value(row)), array)
        }
        DataType::Dictionary(key, _) => match **key {
            DataType::Int8 => dictionary::<Int8Type>(buffer, array, first),
            DataType::Int16 => dictionary::<Int16Type>(buffer, array, first),
            DataType::Int32 => dictionary::<Int32Type>(buffer, array, first),
            DataType::Int64 => dictionary::<Int64Type>(buffer, array, first),
            DataType::UInt8 => dictionary::<UInt8Type>(buffer, array, first),
            DataType::UInt16 => dictionary::<UInt16Type>(buffer, array, first),
            DataType::UInt32 => dictionary::<UInt32Type>(buffer, array, first),
            _ => dictionary::<UInt64Type>(buffer, array, first),
        },
        other => Err(Error::Invalid(format!("no column type holds Arrow's {other}"))),
    }
}

/// Appends the values with the array's NULLs.
fn put(buffer: &mut ColumnBuffer, values: ColumnSlice<'_>, array: &dyn Array) -> Result<()> {
    let words = array.nulls().filter(|nulls| nulls.null_count() > 0).map(|nulls| {
        // Arrow's bits may begin anywhere in a byte.
        nulls.inner().bit_chunks().iter_padded().collect::<Vec<u64>>()
    });
    let validity = words.as_deref().map(|words| BitsView::new(words, array.len()));
    buffer.extend(values, validity).map_err(unfit)
}

fn slice<'a, T: ArrowPrimitiveType>(
    buffer: &mut ColumnBuffer,
    array: &'a dyn Array,
    of: impl Fn(&'a [T::Native]) -> ColumnSlice<'a>,
) -> Result<()> {
    put(buffer, of(array.as_primitive::<T>().values()), array)
}

fn booleans(buffer: &mut ColumnBuffer, array: &BooleanArray) -> Result<()> {
    let words: Vec<u64> = array.values().bit_chunks().iter_padded().collect();
    put(buffer, ColumnSlice::Bool(BitsView::new(&words, array.len())), array)
}

fn wide<T: ArrowPrimitiveType<Native: Into<i128>>>(
    buffer: &mut ColumnBuffer,
    array: &dyn Array,
) -> Result<()> {
    let values: Vec<i128> = array.as_primitive::<T>().values().iter().map(|value| (*value).into()).collect();
    put(buffer, ColumnSlice::I128(&values), array)
}

fn times<T: ArrowPrimitiveType<Native: Into<i64>>>(
    buffer: &mut ColumnBuffer,
    array: &dyn Array,
    first: u64,
    convert: impl Fn(i64) -> Option<i64>,
) -> Result<()> {
    let mut values = Vec::with_capacity(array.len());
    for (row, value) in array.as_primitive::<T>().values().iter().enumerate() {
        let value = (*value).into();
        values.push(match convert(value) {
            Some(value) => value,
            None if array.is_null(row) => 0,
            None => {
                let (ty, to) = (array.data_type(), buffer.ty());
                return Err(in_row(first, row, &format!("{value} of Arrow's {ty} is no value of type {to}")));
            }
        });
    }
    put(buffer, ColumnSlice::I64(&values), array)
}

fn bytes<O: Copy + TryInto<u64>>(
    buffer: &mut ColumnBuffer,
    offsets: &[O],
    data: &[u8],
    array: &dyn Array,
) -> Result<()> {
    let offset = |offset: O| offset.try_into().unwrap_or(u64::MAX);
    let base = offset(offsets[0]);
    let ends: Option<Vec<u32>> = offsets.iter().map(|end| u32::try_from(offset(*end) - base).ok()).collect();
    let ends =
        ends.ok_or_else(|| Error::Invalid("more than 2 GiB of text in one batch; make smaller ones".into()))?;
    put(buffer, ColumnSlice::Bytes(BytesView::new(&ends, &data[base as usize..])), array)
}

/// Appends strings that do not lie one behind the other.
fn scattered<'a>(
    buffer: &mut ColumnBuffer,
    strings: impl Iterator<Item = &'a [u8]>,
    array: &dyn Array,
) -> Result<()> {
    let (mut ends, mut data) = (vec![0u32], Vec::new());
    for (row, string) in strings.enumerate() {
        // What stands in the place of a NULL is nobody's.
        if array.is_valid(row) {
            data.extend_from_slice(string);
        }
        ends.push(
            u32::try_from(data.len()).map_err(|_| {
                Error::Invalid("more than 2 GiB of text in one batch; make smaller ones".into())
            })?,
        );
    }
    put(buffer, ColumnSlice::Bytes(BytesView::new(&ends, &data)), array)
}

fn dictionary<K: ArrowDictionaryKeyType>(
    buffer: &mut ColumnBuffer,
    array: &dyn Array,
    first: u64,
) -> Result<()> {
    let array = array.as_dictionary::<K>();
    let mut values = ColumnBuffer::new(buffer.ty());
    extend(&mut values, array.values(), first)?;
    let normal = |row: usize| array.key(row);
    if array.nulls().is_none_or(|nulls| nulls.null_count() == 0) {
        let keys: Vec<u32> = (0..array.len()).map(|row| normal(row).expect("none is NULL") as u32).collect();
        return buffer.gather(&values, &keys).map_err(unfit);
    }
    for row in 0..array.len() {
        let value = match normal(row) {
            Some(key) => values.get(key).map_err(unfit)?,
            None => DatumRef::Null,
        };
        buffer.push(value).map_err(unfit)?;
    }
    Ok(())
}
