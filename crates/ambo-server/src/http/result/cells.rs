//! Values of batches as JSON, so that no digit is lost.
//!
//! 1. Integers that a double holds exactly (up to 2^53 - 1) are numbers, larger ones are texts. Decimals are texts.
//! 2. What JSON has no number for is a text: `"NaN"`, `"Infinity"`, `"-Infinity"`.
//! 3. Bytes are base64. Times, UUIDs and maps are the texts that SQL shows. Lists and structs are arrays and objects.

use std::io::Write;

use arrow_array::{
    Array, ArrayRef, ArrowPrimitiveType, RecordBatch, StringArray,
    cast::AsArray,
    types::{
        Float16Type, Float32Type, Float64Type, Int8Type, Int16Type, Int32Type, Int64Type, UInt8Type,
        UInt16Type, UInt32Type, UInt64Type,
    },
};
use arrow_cast::{
    cast,
    display::{ArrayFormatter, FormatOptions},
};
use arrow_schema::DataType;
use base64::{Engine, engine::general_purpose::STANDARD};

/// The greatest integer below which a double holds all.
const EXACT_MAX: u64 = (1 << 53) - 1;

/// A column of a batch, ready to be written.
pub(crate) struct Cells {
    array: ArrayRef,
    kind: Kind,
}

enum Kind {
    Null,
    Bool,
    Signed(fn(&dyn Array, usize) -> i64),
    Unsigned(fn(&dyn Array, usize) -> u64),
    Float(fn(&dyn Array, usize) -> (f64, String)),
    Text,
    Bytes,
    Texts(StringArray),
    List(Box<Cells>),
    Struct(Vec<(String, Cells)>),
    Other,
}

fn at<T: ArrowPrimitiveType>(array: &dyn Array, row: usize) -> T::Native {
    array.as_primitive::<T>().value(row)
}

macro_rules! signed {
    ($ty:ty) => {
        Kind::Signed(|array, row| at::<$ty>(array, row).into())
    };
}

macro_rules! unsigned {
    ($ty:ty) => {
        Kind::Unsigned(|array, row| at::<$ty>(array, row).into())
    };
}

impl Cells {
    /// The columns of a batch; clocks are those of a zone.
    pub(crate) fn of_batch(batch: &RecordBatch, zone: &str) -> Result<Vec<Self>, String> {
        batch.columns().iter().map(|array| Self::new(array, zone)).collect()
    }

    fn new(array: &ArrayRef, zone: &str) -> Result<Self, String> {
        let wrong = |error: arrow_schema::ArrowError| error.to_string();
        let array = match array.data_type() {
            DataType::Dictionary(_, values) => cast(array, values).map_err(wrong)?,
            DataType::LargeUtf8 | DataType::Utf8View => cast(array, &DataType::Utf8).map_err(wrong)?,
            DataType::LargeBinary | DataType::BinaryView => cast(array, &DataType::Binary).map_err(wrong)?,
            _ => array.clone(),
        };
        let kind = match array.data_type() {
            DataType::Null => Kind::Null,
            DataType::Boolean => Kind::Bool,
            DataType::Int8 => signed!(Int8Type),
            DataType::Int16 => signed!(Int16Type),
            DataType::Int32 => signed!(Int32Type),
            DataType::Int64 => signed!(Int64Type),
            DataType::UInt8 => unsigned!(UInt8Type),
            DataType::UInt16 => unsigned!(UInt16Type),
            DataType::UInt32 => unsigned!(UInt32Type),
            DataType::UInt64 => unsigned!(UInt64Type),
            DataType::Float16 => Kind::Float(|array, row| single(at::<Float16Type>(array, row).to_f32())),
            DataType::Float32 => Kind::Float(|array, row| single(at::<Float32Type>(array, row))),
            DataType::Float64 => Kind::Float(|array, row| {
                let number = at::<Float64Type>(array, row);
                (number, format!("{number:?}"))
            }),
            DataType::Utf8 => Kind::Text,
            DataType::Binary => Kind::Bytes,
            DataType::List(_) => Kind::List(Box::new(Self::new(array.as_list::<i32>().values(), zone)?)),
            DataType::Struct(fields) => {
                let columns = fields.iter().zip(array.as_struct().columns());
                let own = columns.map(|(field, column)| Ok((field.name().clone(), Self::new(column, zone)?)));
                Kind::Struct(own.collect::<Result<_, String>>()?)
            }
            _ => match ambo_sql::value_texts(&array, zone).map_err(wrong)? {
                Some(texts) => Kind::Texts(texts),
                None => Kind::Other,
            },
        };
        Ok(Self { array, kind })
    }

    /// Appends the value of a row.
    pub(crate) fn write(&self, row: usize, out: &mut Vec<u8>) -> Result<(), String> {
        let array = self.array.as_ref();
        if array.is_null(row) {
            out.extend_from_slice(b"null");
            return Ok(());
        }
        match &self.kind {
            Kind::Null => out.extend_from_slice(b"null"),
            Kind::Bool => {
                let word: &[u8] = if array.as_boolean().value(row) { b"true" } else { b"false" };
                out.extend_from_slice(word);
            }
            Kind::Signed(value) => {
                let value = value(array, row);
                integer(value.unsigned_abs(), &value, out);
            }
            Kind::Unsigned(value) => {
                let value = value(array, row);
                integer(value, &value, out);
            }
            Kind::Float(value) => match value(array, row) {
                (number, text) if number.is_finite() => out.extend_from_slice(text.as_bytes()),
                (number, _) if number.is_nan() => out.extend_from_slice(b"\"NaN\""),
                (number, _) if number > 0.0 => out.extend_from_slice(b"\"Infinity\""),
                _ => out.extend_from_slice(b"\"-Infinity\""),
            },
            Kind::Text => text(array.as_string::<i32>().value(row), out),
            Kind::Bytes => {
                out.push(b'"');
                out.extend_from_slice(STANDARD.encode(array.as_binary::<i32>().value(row)).as_bytes());
                out.push(b'"');
            }
            Kind::Texts(texts) => text(texts.value(row), out),
            Kind::List(values) => {
                let offsets = array.as_list::<i32>().value_offsets();
                out.push(b'[');
                for (nth, place) in (offsets[row]..offsets[row + 1]).enumerate() {
                    separate(nth, out);
                    values.write(place as usize, out)?;
                }
                out.push(b']');
            }
            Kind::Struct(fields) => {
                out.push(b'{');
                for (nth, (name, cells)) in fields.iter().enumerate() {
                    separate(nth, out);
                    text(name, out);
                    out.push(b':');
                    cells.write(row, out)?;
                }
                out.push(b'}');
            }
            Kind::Other => {
                let options = FormatOptions::new();
                let formatter =
                    ArrayFormatter::try_new(array, &options).map_err(|error| error.to_string())?;
                text(&formatter.value(row).try_to_string().map_err(|error| error.to_string())?, out);
            }
        }
        Ok(())
    }
}

/// A number of 32 bits with its own digits.
fn single(number: f32) -> (f64, String) {
    (number.into(), format!("{number:?}"))
}

fn integer(size: u64, value: &dyn std::fmt::Display, out: &mut Vec<u8>) {
    // Memory takes any text.
    let _ = match size <= EXACT_MAX {
        true => write!(out, "{value}"),
        false => write!(out, "\"{value}\""),
    };
}

/// Puts a comma before all but the first.
pub(crate) fn separate(nth: usize, out: &mut Vec<u8>) {
    if nth > 0 {
        out.push(b',');
    }
}

/// Appends a text with its quotes.
pub(crate) fn text(value: &str, out: &mut Vec<u8>) {
    // Memory takes any text.
    let _ = serde_json::to_writer(out, value);
}
