//! Sparse rows: a 4-bit code a field, then only the bytes that are needed.
//!
//! | part | bytes | meaning |
//! |---|---|---|
//! | count | 1 or more | how many fields are stored, LEB128 |
//! | codes | (count + 1) / 2 | two codes a byte, the first in the low half; the half that is left over is zero |
//! | payloads | any | the fields' payloads, one behind the other, little-endian, as long as their codes say |
//!
//! The codes, and what they mean for each type, are in [`code`]. A payload's length follows from its code
//! alone, never from the column's type, so a reader steps over fields two at a time by one table.
//!
//! **Fields that are not stored.** A column behind the last stored field has its *missing value*: the default of its
//! [`RowColumn`], or NULL. The encoder leaves out trailing fields that are equal to it. So adding a column
//! rewrites no row. It follows that the default of a `RowColumn` never changes once a row was written with
//! it: what `ALTER COLUMN SET DEFAULT` changes is the default of inserts, which the catalog keeps apart.
//! A dropped column keeps its place. A row with more fields than there are columns was written when there were more: readers that
//! still have the older columns step over the rest, and [`RowSpec::encode_over`] keeps it.
//!
//! Example, `(bigint, text, double, boolean, int)` of `(300, "Delft", 12.34, true, NULL)`:
//!
//! | offset | bytes | meaning |
//! |---|---|---|
//! | 0 | `04` | 4 fields stored; the trailing NULL is not |
//! | 1 | `E6` | field 0: code 6, two bytes; field 1: code 14, short text |
//! | 2 | `37` | field 2: code 7, two bytes of hundredths; field 3: code 3, true |
//! | 3 | `58 02` | zigzag of 300 = 600 |
//! | 5 | `05 44 65 6C 66 74` | 5 bytes, `Delft` |
//! | 11 | `A4 09` | zigzag of 1234 hundredths = 2468 |

mod code;
mod decode;
mod encode;
mod field;
mod number;

pub use decode::{Fields, Projection};

use crate::{Error, Result, Type, Value, ValueRef};

/// One column of a row.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RowColumn {
    /// What it holds.
    pub ty: Type,
    /// Whether it may be NULL.
    pub nullable: bool,
    /// What rows have that were written before the column was added, and what is stored in half a byte.
    /// Never changed once a row was written.
    pub default: Option<Value>,
}

impl RowColumn {
    /// A column that is not null and has no default.
    pub const fn new(ty: Type) -> Self {
        Self { ty, nullable: false, default: None }
    }

    /// The same, nullable.
    pub fn nullable(mut self) -> Self {
        self.nullable = true;
        self
    }

    /// The same with a default.
    pub fn with_default(mut self, default: impl Into<Value>) -> Self {
        self.default = Some(default.into());
        self
    }
}

/// The columns of a row, in order. Cheap to use from many threads; built once for a table.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RowSpec {
    columns: Vec<RowColumn>,
}

impl RowSpec {
    /// Rows of these columns; each default must fit its column.
    pub fn new(columns: Vec<RowColumn>) -> Result<Self> {
        for (index, column) in columns.iter().enumerate() {
            if let Some(default) = &column.default {
                check_value(index, column, default.as_ref())?;
            }
        }
        Ok(Self { columns })
    }

    /// The columns.
    pub fn columns(&self) -> &[RowColumn] {
        &self.columns
    }

    /// What column `index` has in a row that does not store it; `None` when every row stores it.
    pub fn missing(&self, index: usize) -> Option<ValueRef<'_>> {
        let column = &self.columns[index];
        match &column.default {
            Some(default) => Some(default.as_ref()),
            None => column.nullable.then_some(ValueRef::Null),
        }
    }
}

/// Checks that a value may stand in a column.
fn check_value(index: usize, column: &RowColumn, value: ValueRef<'_>) -> Result<()> {
    let fits = if value.is_null() { column.nullable } else { value.is_of(column.ty) };
    if fits {
        return Ok(());
    }
    Err(refusal(index, column, value))
}

#[cold]
fn refusal(index: usize, column: &RowColumn, value: ValueRef<'_>) -> Error {
    let (ty, nullable) = (column.ty, if column.nullable { "" } else { " not null" });
    Error::invalid(format!("{value} cannot be in column {index} of type {ty}{nullable}"))
}

/// Whether two values are the same to the bit: the two zeros and the many NaNs of floats are kept apart.
fn is_identical(left: ValueRef<'_>, right: ValueRef<'_>) -> bool {
    match (left, right) {
        (ValueRef::F32(left), ValueRef::F32(right)) => left.to_bits() == right.to_bits(),
        (ValueRef::F64(left), ValueRef::F64(right)) => left.to_bits() == right.to_bits(),
        _ => left == right,
    }
}

#[cfg(test)]
mod tests;
