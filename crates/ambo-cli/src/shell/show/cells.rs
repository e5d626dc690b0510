//! Values of a batch as text.

use std::fmt::Write;

use arrow_array::cast::AsArray;
use arrow_array::{Array, ArrayRef, RecordBatch, StringArray};
use arrow_cast::display::{ArrayFormatter, FormatOptions};
use arrow_schema::DataType;

use super::unwritable;
use crate::failure::Result;
use crate::text::escape;

/// As values of tables are written elsewhere.
const FORMAT: FormatOptions<'static> = FormatOptions::new()
    .with_timestamp_format(Some("%Y-%m-%d %H:%M:%S%.f"))
    .with_timestamp_tz_format(Some("%Y-%m-%d %H:%M:%S%.f%:z"))
    .with_datetime_format(Some("%Y-%m-%d %H:%M:%S%.f"));

/// The columns of a batch.
pub struct Cells<'a> {
    columns: Vec<Column<'a>>,
}

struct Column<'a> {
    array: &'a ArrayRef,
    form: Form<'a>,
}

enum Form<'a> {
    Text,
    Bytes,
    /// Dates, times, moments, UUIDs, lists, structs and maps, as texts.
    Written(StringArray),
    Other(ArrayFormatter<'a>),
}

/// What a cell holds.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Cell {
    Null,
    Text,
    Other,
}

/// Moments of clocks of UTC as what these show: their offset says nothing.
fn without_utc(array: &ArrayRef) -> Result<ArrayRef> {
    match array.data_type() {
        DataType::Timestamp(unit, Some(zone)) if zone.as_ref() == "UTC" => {
            Ok(arrow_cast::cast(array, &DataType::Timestamp(*unit, None)).map_err(unwritable)?)
        }
        _ => Ok(array.clone()),
    }
}

fn formatted(array: &ArrayRef) -> Result<Form<'_>> {
    Ok(Form::Other(ArrayFormatter::try_new(array.as_ref(), &FORMAT).map_err(unwritable)?))
}

impl<'a> Cells<'a> {
    pub fn new(batch: &'a RecordBatch) -> Result<Self> {
        let column = |array: &'a ArrayRef| {
            let zone = match array.data_type() {
                DataType::Timestamp(_, Some(zone)) => zone,
                _ => "UTC",
            };
            let form = match array.data_type() {
                DataType::Utf8 | DataType::LargeUtf8 | DataType::Utf8View => Form::Text,
                DataType::Binary | DataType::LargeBinary | DataType::BinaryView => Form::Bytes,
                _ => match ambo_sql::value_texts(&without_utc(array)?, zone).map_err(unwritable)? {
                    Some(texts) => Form::Written(texts),
                    None => formatted(array)?,
                },
            };
            Ok(Column { array, form })
        };
        Ok(Self { columns: batch.columns().iter().map(column).collect::<Result<_>>()? })
    }

    pub fn columns(&self) -> usize {
        self.columns.len()
    }

    /// Puts the text of a value into `text`, in place of what is there. Bytes come with escapes, NULL as nothing.
    pub fn read(&self, row: usize, column: usize, text: &mut String) -> Result<Cell> {
        text.clear();
        let Column { array, form } = &self.columns[column];
        if array.is_null(row) || *array.data_type() == DataType::Null {
            return Ok(Cell::Null);
        }
        match form {
            Form::Text => text.push_str(text_at(array.as_ref(), row)),
            Form::Bytes => text.push_str(&escape(bytes_at(array.as_ref(), row))),
            Form::Written(texts) => {
                text.push_str(texts.value(row));
                return Ok(Cell::Other);
            }
            Form::Other(format) => {
                write!(text, "{}", format.value(row).try_to_string().map_err(unwritable)?)
                    .expect("a String takes any text");
                let is_text = matches!(array.data_type(), DataType::Dictionary(_, of) if is_text(of));
                return Ok(if is_text { Cell::Text } else { Cell::Other });
            }
        }
        Ok(Cell::Text)
    }
}

fn is_text(ty: &DataType) -> bool {
    matches!(ty, DataType::Utf8 | DataType::LargeUtf8 | DataType::Utf8View)
}

fn text_at(array: &dyn Array, row: usize) -> &str {
    match array.data_type() {
        DataType::Utf8 => array.as_string::<i32>().value(row),
        DataType::LargeUtf8 => array.as_string::<i64>().value(row),
        _ => array.as_string_view().value(row),
    }
}

/// The bytes of a value of a type that has bytes.
fn bytes_at(array: &dyn Array, row: usize) -> &[u8] {
    match array.data_type() {
        DataType::Binary => array.as_binary::<i32>().value(row),
        DataType::LargeBinary => array.as_binary::<i64>().value(row),
        _ => array.as_binary_view().value(row),
    }
}

/// The text with escapes for what would break a line or move the cursor, and as it is otherwise.
pub fn visible(text: &str) -> String {
    if !text.chars().any(char::is_control) {
        return text.to_owned();
    }
    let mut shown = String::with_capacity(text.len() + 8);
    for c in text.chars() {
        match c {
            '\n' => shown.push_str("\\n"),
            '\r' => shown.push_str("\\r"),
            '\t' => shown.push_str("\\t"),
            c if c.is_control() => write!(shown, "\\x{:02x}", u32::from(c)).expect("a String takes any text"),
            c => shown.push(c),
        }
    }
    shown
}
