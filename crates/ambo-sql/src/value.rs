//! Values of statements: between the planner's scalars, Arrow arrays and the values of tables.

use std::cell::OnceCell;

use ambo::{Column, Datum, Part, Type, arrow::from_stored};
use arrow::{
    array::{
        Array, ArrayRef, AsArray, BinaryBuilder, BooleanArray, BooleanBuilder, PrimitiveBuilder, RecordBatch,
        RecordBatchOptions, StringBuilder, new_null_array,
    },
    datatypes::{
        ArrowPrimitiveType, DataType, Date32Type, Decimal128Type, Field, Float32Type, Float64Type, Int8Type,
        Int16Type, Int32Type, Int64Type, Schema, SchemaRef, Time64NanosecondType, TimeUnit,
        TimestampMicrosecondType, UInt8Type, UInt16Type, UInt32Type, UInt64Type,
    },
    util::display::{ArrayFormatter, FormatOptions},
};
use datafusion::{
    common::ScalarValue,
    logical_expr::{ColumnarValue, ScalarFunctionArgs},
};

use crate::{
    Error, Result,
    functions::{is_json, json_field},
    logical::{self, UUID},
    nested::{is_nested, nested_texts},
    times::{is_text, time_texts},
};

/// The Arrow type that values of a type have in statements: as in batches of tables.
pub(crate) fn sql_type(ty: Type) -> DataType {
    ambo::arrow::data_type(ty)
}

/// The field that a column is in statements.
pub(crate) fn field_of(column: &Column) -> Field {
    match &column.logical {
        Some(ambo::Logical::Json) => json_field(&column.name, DataType::Utf8).with_nullable(column.nullable),
        Some(ambo::Logical::Collated(name)) => {
            ambo::arrow::collated(Field::new(&column.name, DataType::Utf8, column.nullable), name)
        }
        _ => Field::new(&column.name, ambo::arrow::column_type(column), column.nullable),
    }
}

/// A column, which may be NULL, for the values of a field, if one holds them.
pub(crate) fn column_of(field: &Field) -> Option<Column> {
    let part = match (is_json(field), ambo::arrow::collation_of(field)) {
        (true, _) => Part::Logical(ambo::Logical::Json),
        (_, Some(name)) if is_text(field.data_type()) => {
            Part::Logical(ambo::Logical::Collated(name.to_owned()))
        }
        _ => part_of(field.data_type())?,
    };
    Some(Column::typed(field.name(), part).nullable())
}

/// The type of a column that holds values of an Arrow type, if one does.
pub(crate) fn part_of(ty: &DataType) -> Option<Part> {
    match column_type(ty) {
        Some(plain) => Some(Part::Plain(plain)),
        None => ambo::arrow::logical_of(&logical::without_durations(ty)).ok()?.map(Part::Logical),
    }
}

/// The same, of a type that is no logical one.
pub(crate) fn column_type(ty: &DataType) -> Option<Type> {
    Some(match ty {
        DataType::Timestamp(_, None) => Type::Timestamp,
        DataType::Timestamp(_, Some(_)) => Type::TimestampTz,
        DataType::Date64 => Type::Timestamp,
        DataType::Time32(_) | DataType::Time64(_) => Type::Time64,
        DataType::Utf8View | DataType::LargeUtf8 | DataType::Null => Type::Utf8,
        DataType::Dictionary(_, values) => column_type(values)?,
        &UUID => return None,
        ty if logical::is_bytes(ty) => return None,
        DataType::FixedSizeBinary(_) => Type::Binary,
        DataType::Decimal32(precision, scale) | DataType::Decimal64(precision, scale) => {
            Type::decimal(*precision, *scale).ok()?
        }
        DataType::Float16 => Type::F32,
        ty => ambo::arrow::type_of(ty).ok()?,
    })
}

/// What a function returns whose argument has no type: NULL. The optimizer (DataFusion 55) asks functions so, behind the rules that give
/// arguments their types, to see whether a condition on the key of a join is true of NULL.
pub(crate) fn null_without_type(args: &ScalarFunctionArgs) -> Option<ColumnarValue> {
    let has_none = args.args.iter().any(|argument| argument.data_type() == DataType::Null);
    has_none.then(|| ColumnarValue::Array(new_null_array(args.return_type(), args.number_rows)))
}

/// What a function returns: the only value of an array if all of its arguments were constants.
pub(crate) fn returned(array: ArrayRef, is_one: bool) -> datafusion::common::Result<ColumnarValue> {
    Ok(match is_one {
        true => ColumnarValue::Scalar(ScalarValue::try_from_array(&array, 0)?),
        false => ColumnarValue::Array(array),
    })
}

/// An exact number in units of its last digit.
pub(crate) fn unscaled(value: &Datum) -> Option<(i128, i8)> {
    Some(match value {
        Datum::I8(number) => (i128::from(*number), 0),
        Datum::I16(number) => (i128::from(*number), 0),
        Datum::I32(number) => (i128::from(*number), 0),
        Datum::I64(number) => (i128::from(*number), 0),
        Datum::U8(number) => (i128::from(*number), 0),
        Datum::U16(number) => (i128::from(*number), 0),
        Datum::U32(number) => (i128::from(*number), 0),
        Datum::U64(number) => (i128::from(*number), 0),
        Datum::Decimal128 { unscaled, scale } => (*unscaled, *scale),
        _ => return None,
    })
}

/// A constant of the planner as a value, if tables have such values.
pub(crate) fn datum(scalar: &ScalarValue) -> Option<Datum> {
    use ScalarValue as S;
    if scalar.is_null() {
        return Some(Datum::Null);
    }
    Some(match scalar {
        S::Boolean(Some(value)) => Datum::Bool(*value),
        S::Int8(Some(value)) => Datum::I8(*value),
        S::Int16(Some(value)) => Datum::I16(*value),
        S::Int32(Some(value)) => Datum::I32(*value),
        S::Int64(Some(value)) => Datum::I64(*value),
        S::UInt8(Some(value)) => Datum::U8(*value),
        S::UInt16(Some(value)) => Datum::U16(*value),
        S::UInt32(Some(value)) => Datum::U32(*value),
        S::UInt64(Some(value)) => Datum::U64(*value),
        S::Float32(Some(value)) => Datum::F32(*value),
        S::Float64(Some(value)) => Datum::F64(*value),
        S::Decimal128(Some(unscaled), _, scale) => Datum::Decimal128 { unscaled: *unscaled, scale: *scale },
        S::Date32(Some(days)) => Datum::Date32(*days),
        S::Time64Nanosecond(Some(value)) => Datum::Time64(*value),
        S::TimestampMicrosecond(Some(value), None) => Datum::Timestamp(*value),
        S::TimestampMicrosecond(Some(value), Some(_)) => Datum::TimestampTz(*value),
        S::Utf8(Some(text)) | S::Utf8View(Some(text)) | S::LargeUtf8(Some(text)) => Datum::Utf8(text.clone()),
        S::Binary(Some(bytes)) | S::BinaryView(Some(bytes)) | S::LargeBinary(Some(bytes)) => {
            Datum::Binary(bytes.clone())
        }
        S::Dictionary(_, value) => return datum(value),
        _ => return None,
    })
}

/// Makes a NaN the one that there is in the database.
pub(crate) fn make_one_nan(value: &mut Datum) {
    match value {
        Datum::F64(value) if value.is_nan() => *value = f64::NAN,
        Datum::F32(value) if value.is_nan() => *value = f32::NAN,
        _ => {}
    }
}

/// A value as a constant of the planner.
pub(crate) fn scalar(value: &Datum) -> ScalarValue {
    use ScalarValue as S;
    match value {
        Datum::Null => S::Null,
        Datum::Bool(value) => S::Boolean(Some(*value)),
        Datum::I8(value) => S::Int8(Some(*value)),
        Datum::I16(value) => S::Int16(Some(*value)),
        Datum::I32(value) => S::Int32(Some(*value)),
        Datum::I64(value) => S::Int64(Some(*value)),
        Datum::U8(value) => S::UInt8(Some(*value)),
        Datum::U16(value) => S::UInt16(Some(*value)),
        Datum::U32(value) => S::UInt32(Some(*value)),
        Datum::U64(value) => S::UInt64(Some(*value)),
        Datum::F32(value) => S::Float32(Some(*value)),
        Datum::F64(value) => S::Float64(Some(*value)),
        Datum::Decimal128 { unscaled, scale } => S::Decimal128(Some(*unscaled), 38, *scale),
        Datum::Date32(value) => S::Date32(Some(*value)),
        Datum::Time64(value) => S::Time64Nanosecond(Some(*value)),
        Datum::Timestamp(value) => S::TimestampMicrosecond(Some(*value), None),
        Datum::TimestampTz(value) => S::TimestampMicrosecond(Some(*value), Some("UTC".into())),
        Datum::Utf8(text) => S::Utf8(Some(text.clone())),
        Datum::Binary(bytes) => S::Binary(Some(bytes.clone())),
    }
}

/// A stored value as a constant of the planner, of the type that its column has in statements.
pub(crate) fn stored_scalar(value: &Datum, column: &Column) -> Result<ScalarValue> {
    let ty = ambo::arrow::column_type(column);
    Ok(ScalarValue::try_from_array(&array(&ty, std::iter::once(value))?, 0)?)
}

/// Columns of a batch, to take values of rows from.
pub(crate) struct Values<'a> {
    columns: Vec<&'a ArrayRef>,
    /// The columns as tables store them, made when they are asked for; none where values are to be shown.
    stored: Option<Vec<OnceCell<ArrayRef>>>,
}

impl<'a> Values<'a> {
    /// Values as results show them: a list, and whatever else has a logical type, comes as its text.
    pub(crate) fn new(batch: &'a RecordBatch) -> Self {
        Self { columns: batch.columns().iter().collect(), stored: None }
    }

    /// Values as tables store them.
    pub(crate) fn stored(batch: &'a RecordBatch) -> Self {
        let stored = (0..batch.num_columns()).map(|_| OnceCell::new()).collect();
        Self { stored: Some(stored), ..Self::new(batch) }
    }

    /// The value of a column in a row.
    pub(crate) fn get(&self, row: usize, column: usize) -> Result<Datum> {
        let array = self.columns[column];
        let Some(stored) = &self.stored else { return value_at(array, row) };
        if column_type(array.data_type()).is_some() {
            return value_at(array, row);
        }
        if stored[column].get().is_none() {
            let _ = stored[column].set(ambo::arrow::to_stored(array)?);
        }
        value_at(stored[column].get().unwrap_or(array), row)
    }

    /// All values of a row.
    pub(crate) fn row(&self, row: usize) -> Result<Vec<Datum>> {
        (0..self.columns.len()).map(|column| self.get(row, column)).collect()
    }
}

/// A value of an array.
pub(crate) fn value_at(array: &ArrayRef, row: usize) -> Result<Datum> {
    if array.is_null(row) {
        return Ok(Datum::Null);
    }
    fn of<T: ArrowPrimitiveType>(array: &ArrayRef, row: usize) -> T::Native {
        array.as_primitive::<T>().value(row)
    }
    Ok(match array.data_type() {
        DataType::Null => Datum::Null,
        DataType::Boolean => Datum::Bool(array.as_boolean().value(row)),
        DataType::Int8 => Datum::I8(of::<Int8Type>(array, row)),
        DataType::Int16 => Datum::I16(of::<Int16Type>(array, row)),
        DataType::Int32 => Datum::I32(of::<Int32Type>(array, row)),
        DataType::Int64 => Datum::I64(of::<Int64Type>(array, row)),
        DataType::UInt8 => Datum::U8(of::<UInt8Type>(array, row)),
        DataType::UInt16 => Datum::U16(of::<UInt16Type>(array, row)),
        DataType::UInt32 => Datum::U32(of::<UInt32Type>(array, row)),
        DataType::UInt64 => Datum::U64(of::<UInt64Type>(array, row)),
        DataType::Float32 => Datum::F32(of::<Float32Type>(array, row)),
        DataType::Float64 => Datum::F64(of::<Float64Type>(array, row)),
        DataType::Decimal128(_, scale) => {
            Datum::Decimal128 { unscaled: of::<Decimal128Type>(array, row), scale: *scale }
        }
        DataType::Date32 => Datum::Date32(of::<Date32Type>(array, row)),
        DataType::Time64(TimeUnit::Nanosecond) => Datum::Time64(of::<Time64NanosecondType>(array, row)),
        DataType::Timestamp(TimeUnit::Microsecond, None) => {
            Datum::Timestamp(of::<TimestampMicrosecondType>(array, row))
        }
        DataType::Timestamp(TimeUnit::Microsecond, Some(_)) => {
            Datum::TimestampTz(of::<TimestampMicrosecondType>(array, row))
        }
        DataType::Utf8 => Datum::Utf8(array.as_string::<i32>().value(row).to_owned()),
        DataType::LargeUtf8 => Datum::Utf8(array.as_string::<i64>().value(row).to_owned()),
        DataType::Utf8View => Datum::Utf8(array.as_string_view().value(row).to_owned()),
        DataType::Binary => Datum::Binary(array.as_binary::<i32>().value(row).to_vec()),
        ty if logical::is_bytes(ty) => {
            Datum::Utf8(logical::bytes_texts(&array.slice(row, 1)).map_err(wrong)?.value(0).to_owned())
        }
        &UUID => Datum::Utf8(logical::uuid_text(array.as_fixed_size_binary().value(row))),
        ty => match column_type(ty) {
            // The same value in a type that columns have.
            Some(like) if like != Type::Utf8 => {
                let one = arrow::compute::cast(&array.slice(row, 1), &sql_type(like)).map_err(wrong)?;
                value_at(&one, 0)?
            }
            _ if is_nested(ty) => {
                Datum::Utf8(nested_texts(&array.slice(row, 1)).map_err(wrong)?.value(0).to_owned())
            }
            _ => match time_texts(&array.slice(row, 1), "UTC") {
                Some(text) => Datum::Utf8(text.value(0).to_owned()),
                None => {
                    let options = FormatOptions::default();
                    let format = ArrayFormatter::try_new(array, &options).map_err(wrong)?;
                    Datum::Utf8(format.value(row).try_to_string().map_err(wrong)?)
                }
            },
        },
    })
}

/// The values of each row of a batch, for parameters: of a type that has no value of its own its text.
///
/// # Errors
/// A value that has no text.
pub fn rows_of(batch: &RecordBatch) -> Result<Vec<Vec<Datum>>> {
    let values = Values::new(batch);
    (0..batch.num_rows()).map(|row| values.row(row)).collect()
}

/// Values of rows as a batch of a schema, whose columns may be NULL.
///
/// # Errors
/// A value that is none of its column's type.
pub fn batch_of(schema: &SchemaRef, rows: &[Vec<Datum>]) -> Result<RecordBatch> {
    batch(schema, rows)
}

/// Rows as an Arrow batch. REQUIRES: each value is of its field's type, or NULL.
pub(crate) fn batch(schema: &SchemaRef, rows: &[Vec<Datum>]) -> Result<RecordBatch> {
    let column = |(place, field): (usize, &arrow::datatypes::FieldRef)| {
        array(field.data_type(), rows.iter().map(|row| &row[place]))
    };
    let columns = schema.fields().iter().enumerate().map(column).collect::<Result<Vec<_>>>()?;
    let options = RecordBatchOptions::new().with_row_count(Some(rows.len()));
    RecordBatch::try_new_with_options(schema.clone(), columns, &options).map_err(wrong)
}

/// The same columns under the names of a schema.
pub(crate) fn with_names(batch: RecordBatch, names: &SchemaRef) -> Result<RecordBatch> {
    let (old, new) = (batch.schema(), names.fields());
    if old.fields().iter().zip(new).all(|(old, new)| old.name() == new.name()) {
        return Ok(batch);
    }
    let fields = old.fields().iter().zip(new).map(|(old, new)| old.as_ref().clone().with_name(new.name()));
    let schema = Schema::new_with_metadata(fields.collect::<Vec<_>>(), old.metadata().clone());
    let options = RecordBatchOptions::new().with_row_count(Some(batch.num_rows()));
    RecordBatch::try_new_with_options(schema.into(), batch.columns().to_vec(), &options).map_err(wrong)
}

macro_rules! primitives {
    ($builder:ident, $values:ident, $variant:ident) => {{
        let mut builder = PrimitiveBuilder::<$builder>::new();
        for value in $values {
            match value {
                Datum::$variant(value) => builder.append_value(*value),
                Datum::Null => builder.append_null(),
                other => return Err(unlike(other)),
            }
        }
        std::sync::Arc::new(builder.finish())
    }};
}

/// Values, as tables store them, as an array of a type.
pub(crate) fn array<'a>(ty: &DataType, values: impl Iterator<Item = &'a Datum>) -> Result<ArrayRef> {
    use std::sync::Arc;
    Ok(match ty {
        DataType::Boolean => {
            let mut builder = BooleanBuilder::new();
            for value in values {
                match value {
                    Datum::Bool(value) => builder.append_value(*value),
                    Datum::Null => builder.append_null(),
                    other => return Err(unlike(other)),
                }
            }
            let array: BooleanArray = builder.finish();
            Arc::new(array)
        }
        DataType::Int8 => primitives!(Int8Type, values, I8),
        DataType::Int16 => primitives!(Int16Type, values, I16),
        DataType::Int32 => primitives!(Int32Type, values, I32),
        DataType::Int64 => primitives!(Int64Type, values, I64),
        DataType::UInt8 => primitives!(UInt8Type, values, U8),
        DataType::UInt16 => primitives!(UInt16Type, values, U16),
        DataType::UInt32 => primitives!(UInt32Type, values, U32),
        DataType::UInt64 => primitives!(UInt64Type, values, U64),
        DataType::Float32 => primitives!(Float32Type, values, F32),
        DataType::Float64 => primitives!(Float64Type, values, F64),
        DataType::Date32 => primitives!(Date32Type, values, Date32),
        DataType::Time64(TimeUnit::Nanosecond) => primitives!(Time64NanosecondType, values, Time64),
        DataType::Timestamp(TimeUnit::Microsecond, None) => {
            primitives!(TimestampMicrosecondType, values, Timestamp)
        }
        DataType::Timestamp(TimeUnit::Microsecond, Some(zone)) => {
            let mut builder = PrimitiveBuilder::<TimestampMicrosecondType>::new();
            for value in values {
                match value {
                    Datum::TimestampTz(value) => builder.append_value(*value),
                    Datum::Null => builder.append_null(),
                    other => return Err(unlike(other)),
                }
            }
            Arc::new(builder.finish().with_timezone(zone.clone()))
        }
        DataType::Decimal128(precision, scale) => {
            let mut builder = PrimitiveBuilder::<Decimal128Type>::new();
            for value in values {
                match value {
                    Datum::Decimal128 { unscaled, scale: of } if of == scale => {
                        builder.append_value(*unscaled);
                    }
                    Datum::Null => builder.append_null(),
                    other => return Err(unlike(other)),
                }
            }
            Arc::new(builder.finish().with_precision_and_scale(*precision, *scale).map_err(wrong)?)
        }
        DataType::Utf8 => {
            let mut builder = StringBuilder::new();
            for value in values {
                match value {
                    Datum::Utf8(text) => builder.append_value(text),
                    Datum::Null => builder.append_null(),
                    other => return Err(unlike(other)),
                }
            }
            Arc::new(builder.finish())
        }
        DataType::Binary => {
            let mut builder = BinaryBuilder::new();
            for value in values {
                match value {
                    Datum::Binary(bytes) => builder.append_value(bytes),
                    Datum::Null => builder.append_null(),
                    other => return Err(unlike(other)),
                }
            }
            Arc::new(builder.finish())
        }
        DataType::Null => arrow::array::new_null_array(ty, values.count()),
        other if logical::is_enum(other) => from_stored(&array(&DataType::UInt16, values)?, other)?,
        other
            if is_nested(other)
                || *other == UUID
                || logical::is_bytes(other)
                || matches!(other, DataType::Interval(_)) =>
        {
            from_stored(&array(&DataType::Binary, values)?, other)?
        }
        other => return Err(Error::invalid(format!("values of type {other} are not made from rows"))),
    })
}

fn unlike(value: &Datum) -> Error {
    Error::invalid(format!("a value of another type than its column's: {value}"))
}

pub(crate) fn wrong(error: arrow::error::ArrowError) -> Error {
    Error::from(datafusion::error::DataFusionError::from(error))
}
