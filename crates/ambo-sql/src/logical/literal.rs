//! Values as expressions that make them.

use arrow::{
    array::{Array, ArrayRef, AsArray},
    datatypes::DataType,
};

use super::{
    BIT, UUID,
    bytes::{bytes_texts, is_bytes},
    enums::{is_enum, labels},
    uuid_text,
};
use crate::{Error, Result, nested::is_nested, statement, times::time_texts, value};

/// The value of a row as an expression.
///
/// # Errors
/// A type that no expression makes.
pub(crate) fn literal(array: &ArrayRef, row: usize) -> Result<String> {
    if array.is_null(row) {
        return Ok("NULL".to_owned());
    }
    let all =
        |items: &ArrayRef| -> Result<Vec<String>> { (0..items.len()).map(|at| literal(items, at)).collect() };
    let quoted = |text: &str| format!("'{}'", text.replace('\'', "''"));
    Ok(match array.data_type() {
        ty if is_enum(ty) => quoted(labels(array).map_err(value::wrong)?.value(row)),
        ty if is_bytes(ty) => {
            let text = bytes_texts(&array.slice(row, 1)).map_err(value::wrong)?;
            format!("CAST({} AS {})", quoted(text.value(0)), if *ty == BIT { "bit" } else { "geometry" })
        }
        &UUID => format!("UUID {}", quoted(&uuid_text(array.as_fixed_size_binary().value(row)))),
        DataType::Interval(_) => match time_texts(&array.slice(row, 1), "UTC") {
            Some(texts) => format!("INTERVAL {}", quoted(texts.value(0))),
            None => return Err(Error::invalid("an interval of this kind has no literal")),
        },
        DataType::List(_) => format!("[{}]", all(&array.as_list::<i32>().value(row))?.join(", ")),
        DataType::FixedSizeList(..) => {
            format!("[{}]", all(&array.as_fixed_size_list().value(row))?.join(", "))
        }
        DataType::Struct(fields) => {
            let columns = fields.iter().zip(array.as_struct().columns());
            let fields = columns
                .map(|(field, column)| Ok(format!("{}: {}", quoted(field.name()), literal(column, row)?)));
            format!("{{{}}}", fields.collect::<Result<Vec<_>>>()?.join(", "))
        }
        DataType::Map(..) => {
            let entries = array.as_map().value(row);
            let (keys, values) = (all(entries.column(0))?, all(entries.column(1))?);
            let pairs: Vec<_> =
                keys.iter().zip(values).map(|(key, value)| format!("{key}: {value}")).collect();
            format!("MAP {{{}}}", pairs.join(", "))
        }
        ty if is_nested(ty) => return Err(Error::invalid("a value of this kind has no literal")),
        ty => statement::literal(&value::value_at(array, row)?, ty)?,
    })
}
