//! Values of a batch as text that reading brings back.

use std::fmt::Write;

use ambo::Datum;
use arrow_array::{
    Array, ArrayRef, ArrowPrimitiveType,
    cast::AsArray,
    types::{
        Date32Type, Float16Type, Float32Type, Float64Type, Time64NanosecondType, TimestampMicrosecondType,
    },
};
use arrow_cast::{
    cast,
    display::{ArrayFormatter, FormatOptions},
};
use arrow_schema::{DataType, TimeUnit};

use crate::text::escape;

/// As values of tables are written elsewhere.
const FORMAT: FormatOptions<'static> = FormatOptions::new()
    .with_timestamp_format(Some("%Y-%m-%d %H:%M:%S%.f"))
    .with_timestamp_tz_format(Some("%Y-%m-%d %H:%M:%S%.f%:z"))
    .with_datetime_format(Some("%Y-%m-%d %H:%M:%S%.f"));

/// Values as they are themselves, and not the numbers that stand for them.
pub(crate) fn unpacked(array: &ArrayRef) -> Result<ArrayRef, String> {
    match array.data_type() {
        DataType::Dictionary(_, values) => cast(array, values).map_err(|error| error.to_string()),
        _ => Ok(array.clone()),
    }
}

/// The bytes of a value of a type that has bytes.
pub(crate) fn bytes_at(array: &dyn Array, row: usize) -> &[u8] {
    match array.data_type() {
        DataType::Binary => array.as_binary::<i32>().value(row),
        DataType::LargeBinary => array.as_binary::<i64>().value(row),
        DataType::FixedSizeBinary(_) => array.as_fixed_size_binary().value(row),
        _ => array.as_binary_view().value(row),
    }
}

/// How values of a type are written.
pub(crate) enum Form<'a> {
    Text,
    Bytes,
    Uuid,
    /// As those of tables, the whole range of them.
    Datum(fn(&dyn Array, usize) -> Datum),
    Other(Box<ArrayFormatter<'a>>),
}

fn at<T: ArrowPrimitiveType>(array: &dyn Array, row: usize) -> T::Native {
    array.as_primitive::<T>().value(row)
}

impl<'a> Form<'a> {
    pub(crate) fn of(array: &'a dyn Array) -> Result<Self, String> {
        Ok(match array.data_type() {
            DataType::Utf8 | DataType::LargeUtf8 | DataType::Utf8View => Self::Text,
            DataType::FixedSizeBinary(16) => Self::Uuid,
            DataType::Binary
            | DataType::LargeBinary
            | DataType::BinaryView
            | DataType::FixedSizeBinary(_) => Self::Bytes,
            ty => match datum_of(ty) {
                Some(datum) => Self::Datum(datum),
                None => {
                    let formatter = ArrayFormatter::try_new(array, &FORMAT);
                    Self::Other(Box::new(formatter.map_err(|error| error.to_string())?))
                }
            },
        })
    }
}

/// How a type of tables is read from an array, if Arrow would not write all of its values.
pub(crate) fn datum_of(ty: &DataType) -> Option<fn(&dyn Array, usize) -> Datum> {
    Some(match ty {
        DataType::Float16 => |array, row| Datum::F32(at::<Float16Type>(array, row).to_f32()),
        DataType::Float32 => |array, row| Datum::F32(at::<Float32Type>(array, row)),
        DataType::Float64 => |array, row| Datum::F64(at::<Float64Type>(array, row)),
        DataType::Date32 => |array, row| Datum::Date32(at::<Date32Type>(array, row)),
        DataType::Time64(TimeUnit::Nanosecond) => {
            |array, row| Datum::Time64(at::<Time64NanosecondType>(array, row))
        }
        DataType::Timestamp(TimeUnit::Microsecond, None) => {
            |array, row| Datum::Timestamp(at::<TimestampMicrosecondType>(array, row))
        }
        DataType::Timestamp(TimeUnit::Microsecond, Some(_)) => {
            |array, row| Datum::TimestampTz(at::<TimestampMicrosecondType>(array, row))
        }
        _ => return None,
    })
}

/// Puts the text of a value that is not NULL into `text`, in place of what is there.
pub(crate) fn read(array: &dyn Array, form: &Form<'_>, row: usize, text: &mut String) -> Result<(), String> {
    text.clear();
    match form {
        Form::Text => text.push_str(text_at(array, row)),
        Form::Bytes => text.push_str(&escape(bytes_at(array, row))),
        Form::Uuid => text.push_str(&ambo::uuid_text(bytes_at(array, row))),
        Form::Datum(datum) => text.push_str(&crate::datum::field(&datum(array, row))),
        Form::Other(formatter) => {
            let value = formatter.value(row).try_to_string().map_err(|error| error.to_string())?;
            // Memory takes any text.
            let _ = write!(text, "{value}");
        }
    }
    Ok(())
}

fn text_at(array: &dyn Array, row: usize) -> &str {
    match array.data_type() {
        DataType::Utf8 => array.as_string::<i32>().value(row),
        DataType::LargeUtf8 => array.as_string::<i64>().value(row),
        _ => array.as_string_view().value(row),
    }
}
