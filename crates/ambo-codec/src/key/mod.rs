//! Keys of one or more columns as bytes: `memcmp` of two keys is the lexicographic order of their columns.
//!
//! A key is its columns one behind the other, with nothing between them:
//!
//! | part | bytes | meaning |
//! |---|---|---|
//! | marker | 1, only in a nullable column | `01` NULL (nothing follows), `02` a value follows |
//! | bool | 1 | `00` false, `01` true |
//! | i8 … i64, date, time, timestamp | 1, 2, 4, 8 | big-endian, the sign bit flipped |
//! | u8 … u64 | 1, 2, 4, 8 | big-endian |
//! | f32, f64 | 4, 8 | IEEE bits, big-endian; all bits flipped if negative, else the sign bit flipped; one zero, one NaN (`7FF8…`), which is last |
//! | decimal128 | 16 | the unscaled integer, big-endian, the sign bit flipped |
//! | utf8, binary | any | each `00` becomes `00 FF`, and `00 01` ends it |
//! | utf8, binary as the last column, ascending | any | the bytes as they are |
//!
//! A descending column is the complement of all its bytes, the marker's too. A raw last column makes the
//! key of a key-value table the user's bytes themselves.
//!
//! Example, `(text, int descending)` of `("a\0", -2)`:
//!
//! | offset | bytes | meaning |
//! |---|---|---|
//! | 0 | `61` | `a` |
//! | 1 | `00 FF` | the zero byte, escaped |
//! | 3 | `00 01` | end of the text |
//! | 5 | `80 00 00 01` | -2 = `FF FF FF FE`, sign flipped `7F FF FF FE`, complemented |
//!
//! Only bytes that an encoder writes are accepted, so a key that decodes encodes to the same bytes.

mod decode;
mod encode;
mod range;

pub use range::{KeyRange, successor};

use crate::{Error, Result, Type, ValueRef};

const NULL_MARKER: u8 = 0x01;
const VALUE_MARKER: u8 = 0x02;
const ESCAPED: u8 = 0x00;
const ESCAPE_ZERO: u8 = 0xff;
const ESCAPE_END: u8 = 0x01;

// NULL sorts before values, and the end of a text before anything that may follow it.
const _: () = assert!(NULL_MARKER < VALUE_MARKER && ESCAPE_END < ESCAPE_ZERO && NULL_MARKER > 0);

/// The direction of one column of a key.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Default)]
pub enum Order {
    /// Small values first, NULL before all.
    #[default]
    Ascending,
    /// Large values first, NULL behind all.
    Descending,
}

/// One column of a key.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct KeyColumn {
    /// What it holds.
    pub ty: Type,
    /// Its direction.
    pub order: Order,
    /// Whether it may be NULL: never in a primary key, often in an index.
    pub nullable: bool,
}

impl KeyColumn {
    /// A column that is ascending and not null.
    pub const fn new(ty: Type) -> Self {
        Self { ty, order: Order::Ascending, nullable: false }
    }

    /// The same, descending.
    pub const fn descending(mut self) -> Self {
        self.order = Order::Descending;
        self
    }

    /// The same, nullable.
    pub const fn nullable(mut self) -> Self {
        self.nullable = true;
        self
    }
}

/// How one column stands in a key, decided once.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Layout {
    ty: Type,
    nullable: bool,
    /// What every byte is exclusive-ored with: `FF` in a descending column.
    flip: u8,
    /// Whether text or bytes stand as they are, up to the end of the key.
    raw: bool,
}

/// The columns of a key, in order. Cheap to use from many threads; built once for a table or an index.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct KeySpec {
    columns: Vec<KeyColumn>,
    layouts: Vec<Layout>,
}

impl KeySpec {
    /// A key of these columns, of which there must be at least one.
    pub fn new(columns: Vec<KeyColumn>) -> Result<Self> {
        if columns.is_empty() {
            return Err(Error::invalid("a key has at least one column"));
        }
        let last = columns.len() - 1;
        let layouts = columns.iter().enumerate().map(|(index, column)| Layout {
            ty: column.ty,
            nullable: column.nullable,
            flip: if column.order == Order::Descending { 0xff } else { 0 },
            raw: index == last && column.ty.is_variable() && column.order == Order::Ascending,
        });
        let layouts = layouts.collect();
        Ok(Self { columns, layouts })
    }

    /// The key of a key-value table: bytes as they are.
    pub fn bytes() -> Self {
        let column = KeyColumn::new(Type::Binary);
        let layout = Layout { ty: Type::Binary, nullable: false, flip: 0, raw: true };
        Self { columns: vec![column], layouts: vec![layout] }
    }

    /// The columns.
    pub fn columns(&self) -> &[KeyColumn] {
        &self.columns
    }

    /// Whether a key is the user's text or bytes themselves: one column, ascending, never NULL, of variable
    /// size.
    pub fn is_raw(&self) -> bool {
        matches!(self.layouts[..], [Layout { raw: true, nullable: false, .. }])
    }

    /// The size of every key in bytes, when all have the same.
    pub fn fixed_width(&self) -> Option<usize> {
        let width = |layout: &Layout| if layout.nullable { None } else { layout.ty.fixed_width() };
        self.layouts.iter().map(width).sum()
    }

    /// Checks that `values` may stand in the first columns of a key.
    fn check(&self, values: &[ValueRef<'_>]) -> Result<()> {
        if values.len() > self.columns.len() {
            let (given, columns) = (values.len(), self.columns.len());
            return Err(Error::invalid(format!("{given} values for a key of {columns} columns")));
        }
        (0..).zip(values).try_for_each(|(index, value)| self.check_at(index, *value))
    }

    fn check_at(&self, index: usize, value: ValueRef<'_>) -> Result<()> {
        let column = &self.columns[index];
        let fits = if value.is_null() { column.nullable } else { value.is_of(column.ty) };
        match fits {
            true => Ok(()),
            false => {
                let ty = column.ty;
                Err(Error::invalid(format!("{value} cannot be in key column {index} of type {ty}")))
            }
        }
    }
}

#[cfg(test)]
mod tests;
