//! Sums of integer keys.

use ambo_engine::database::KeySum;

use crate::{Error, Result, TableDefinition, Type};

/// From the sum of the stored keys to the sum of the integers that they are.
///
/// # Errors
/// [`Error::Invalid`] if the table's key is not one integer.
pub(crate) fn sum_of_keys(
    definition: &TableDefinition,
    stored: impl FnOnce() -> Result<KeySum>,
) -> Result<i128> {
    let key = match definition.key[..] {
        _ if definition.duplicates || definition.is_raw() || definition.has_sort_key() => None,
        [] => Some(Type::U64),
        [column] => Some(definition.columns[column].kind),
        _ => None,
    };
    // The stored form of a signed integer is itself plus this, so that it orders as bytes.
    let offset = match key {
        Some(Type::U8 | Type::U16 | Type::U32 | Type::U64) => 0,
        Some(Type::I8) => 1i128 << 7,
        Some(Type::I16) => 1 << 15,
        Some(Type::I32) => 1 << 31,
        Some(Type::I64) => 1 << 63,
        _ => {
            return Err(Error::Invalid(format!(
                "the keys of table \"{}\" cannot be summed; the key must be one integer column",
                definition.name
            )));
        }
    };
    let KeySum { count, sum } = stored()?;
    // Fewer than 2^63 keys of 64 bits each.
    Ok(sum as i128 - offset * i128::from(count))
}
