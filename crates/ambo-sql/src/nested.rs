//! The text of lists, structs and maps, one for results, casts and files: `[1, NULL]`, `{'a': 1}`, `{k=1}`, as DuckDB has it.
//!
//! A text in them stands between quotes where it would be taken for something else: `['NULL', 'a, b', '']`.

use arrow::{
    array::{Array, ArrayRef, AsArray, StringArray, StringBuilder},
    compute::cast,
    datatypes::DataType,
    error::ArrowError,
    util::display::{ArrayFormatter, FormatOptions},
};

use crate::{
    logical::{UUID, bytes_texts, is_bytes, is_enum, labels, uuid_texts},
    times::time_texts,
};

/// As values of tables are written elsewhere.
const FORMAT: FormatOptions<'static> = FormatOptions::new()
    .with_timestamp_format(Some("%Y-%m-%d %H:%M:%S%.f"))
    .with_timestamp_tz_format(Some("%Y-%m-%d %H:%M:%S%.f%:z"))
    .with_datetime_format(Some("%Y-%m-%d %H:%M:%S%.f"));

/// Whether values of a type have others in them.
pub(crate) fn is_nested(ty: &DataType) -> bool {
    use DataType as T;
    matches!(ty, T::List(_) | T::LargeList(_) | T::FixedSizeList(..) | T::Struct(_) | T::Map(..))
}

/// The texts of values that have others in them; NULL of NULL.
///
/// # Errors
/// A type within that has no text.
pub(crate) fn nested_texts(array: &ArrayRef) -> Result<StringArray, ArrowError> {
    if is_enum(array.data_type()) {
        return labels(array);
    }
    let mut texts = StringBuilder::with_capacity(array.len(), array.len() * 16);
    let writer = Writer::new(array)?;
    let mut text = String::new();
    for row in 0..array.len() {
        match array.is_null(row) {
            true => texts.append_null(),
            false => {
                text.clear();
                writer.write(row, &mut text)?;
                texts.append_value(&text);
            }
        }
    }
    Ok(texts.finish())
}

/// What writes values of an array.
enum Writer {
    List { array: ArrayRef, offsets: Vec<usize>, values: Box<Self> },
    Struct { array: ArrayRef, fields: Vec<(String, Self)> },
    Map { array: ArrayRef, offsets: Vec<usize>, keys: Box<Self>, values: Box<Self> },
    Text(StringArray),
}

fn places(offsets: &[i32]) -> Vec<usize> {
    offsets.iter().map(|offset| usize::try_from(*offset).unwrap_or(0)).collect()
}

impl Writer {
    fn new(array: &ArrayRef) -> Result<Self, ArrowError> {
        let array = array.clone();
        Ok(match array.data_type() {
            ty if is_enum(ty) => Self::Text(labels(&array)?),
            DataType::List(_) => {
                let list = array.as_list::<i32>();
                let (offsets, values) = (places(list.value_offsets()), Box::new(Self::new(list.values())?));
                Self::List { offsets, values, array }
            }
            DataType::LargeList(field) | DataType::FixedSizeList(field, _) => {
                Self::new(&cast(&array, &DataType::List(field.clone()))?)?
            }
            DataType::Struct(fields) => {
                let columns = fields.iter().zip(array.as_struct().columns());
                let fields = columns.map(|(field, column)| -> Result<_, ArrowError> {
                    Ok((field.name().clone(), Self::new(column)?))
                });
                Self::Struct { fields: fields.collect::<Result<_, ArrowError>>()?, array }
            }
            DataType::Map(..) => {
                let map = array.as_map();
                let (keys, values) = (Box::new(Self::new(map.keys())?), Box::new(Self::new(map.values())?));
                Self::Map { offsets: places(map.value_offsets()), keys, values, array }
            }
            DataType::Utf8 | DataType::LargeUtf8 | DataType::Utf8View | DataType::Dictionary(..) => {
                Self::Text(cast(&array, &DataType::Utf8)?.as_string::<i32>().clone())
            }
            ty if is_bytes(ty) => Self::Text(bytes_texts(&array)?),
            &UUID => Self::Text(uuid_texts(array.as_fixed_size_binary())),
            _ => match time_texts(&array, "UTC") {
                Some(texts) => Self::Text(texts),
                None => Self::Text(plain_texts(&array)?),
            },
        })
    }

    fn is_null(&self, row: usize) -> bool {
        match self {
            Self::List { array, .. } | Self::Struct { array, .. } | Self::Map { array, .. } => {
                array.is_null(row)
            }
            Self::Text(texts) => texts.is_null(row),
        }
    }

    fn write(&self, row: usize, into: &mut String) -> Result<(), ArrowError> {
        if self.is_null(row) {
            into.push_str("NULL");
            return Ok(());
        }
        match self {
            Self::List { offsets, values, .. } => {
                into.push('[');
                for at in offsets[row]..offsets[row + 1] {
                    into.push_str(if at > offsets[row] { ", " } else { "" });
                    values.write(at, into)?;
                }
                into.push(']');
            }
            Self::Struct { fields, .. } => {
                into.push('{');
                for (nth, (name, values)) in fields.iter().enumerate() {
                    into.push_str(if nth > 0 { ", " } else { "" });
                    quote(name, into);
                    into.push_str(": ");
                    values.write(row, into)?;
                }
                into.push('}');
            }
            Self::Map { offsets, keys, values, .. } => {
                into.push('{');
                for at in offsets[row]..offsets[row + 1] {
                    into.push_str(if at > offsets[row] { ", " } else { "" });
                    keys.write(at, into)?;
                    into.push('=');
                    values.write(at, into)?;
                }
                into.push('}');
            }
            Self::Text(texts) => write_text(texts.value(row), into),
        }
        Ok(())
    }
}

fn plain_texts(array: &ArrayRef) -> Result<StringArray, ArrowError> {
    let format = ArrayFormatter::try_new(array, &FORMAT)?;
    let is_null = |row| array.is_null(row) || *array.data_type() == DataType::Null;
    let text = |row| match is_null(row) {
        true => Ok(None),
        false => format.value(row).try_to_string().map(Some),
    };
    (0..array.len()).map(text).collect()
}

fn write_text(text: &str, into: &mut String) {
    let is_special = |sign: char| "\"'(),:=[]{}".contains(sign);
    let is_plain = !text.is_empty()
        && !text.starts_with(char::is_whitespace)
        && !text.ends_with(char::is_whitespace)
        && !text.eq_ignore_ascii_case("null")
        && !text.contains(is_special);
    match is_plain {
        true => into.push_str(text),
        false => quote(text, into),
    }
}

fn quote(text: &str, into: &mut String) {
    into.push('\'');
    for sign in text.chars() {
        if matches!(sign, '\'' | '\\') {
            into.push('\\');
        }
        into.push(sign);
    }
    into.push('\'');
}
