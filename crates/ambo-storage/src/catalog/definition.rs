//! The definition of a table.
//!
//! # Format (version 1)
//!
//! | part | encoding |
//! |---|---|
//! | version | u8 = 1 |
//! | storage | u8: 1 `btree`, 2 `memory` |
//! | flags | u8: 1 logged, 2 raw (key-value: stored bytes are the user's), 4 auto-increment, 8 duplicates |
//! | name | varint length, UTF-8 `schema.table` |
//! | columns | varint count; each: varint length and UTF-8 name, type (`ambo_codec::Type`), u8 1 = nullable, then u8 1 and the default as a one-column row, or u8 0 |
//! | key | varint count, then a varint column index each; 0 columns: a hidden row number |
//!
//! `key_value("t")` is `01 01 03 06 "main.t" 02 03 "key" 11 00 00 05 "value" 11 00 00 01 00`.

use ambo_codec::{KeyColumn, KeySpec, RowColumn, RowSpec, Type, Value, ValueRef, varint};

use super::names;
use crate::{Error, Result};

const VERSION: u8 = 1;
const LOGGED: u8 = 1;
const RAW: u8 = 2;
const AUTO_INCREMENT: u8 = 4;
const DUPLICATES: u8 = 8;

/// The most columns of a table.
pub const COLUMNS_MAX: usize = 4096;

/// The shape of a table's base.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[repr(u8)]
pub enum Storage {
    /// Packed B+trees in the `pages` file.
    BTree = 1,
    /// The same trees in memory only: the definition is kept, the rows live as long as the database is open. Never logged.
    Memory = 2,
}

impl Storage {
    /// The name in definitions and messages.
    pub fn name(self) -> &'static str {
        match self {
            Self::BTree => "btree",
            Self::Memory => "memory",
        }
    }
}

/// A column of a table.
#[derive(Clone, Debug, PartialEq)]
pub struct Column {
    /// Its name, unique in the table.
    pub name: String,
    /// What it holds.
    pub kind: Type,
    /// Whether it may be NULL.
    pub nullable: bool,
    /// What a row without it reads.
    pub default: Option<Value>,
}

/// What a table is: columns, key, storage and options.
///
/// ```
/// use ambo_storage::catalog::TableDefinition;
/// use ambo_codec::Type;
/// let flights = TableDefinition::new("flights")
///     .column("id", Type::I64)
///     .column_nullable("delay", Type::F64)
///     .primary_key(&["id"]);
/// flights.validate()?;
/// # Ok::<(), ambo_storage::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct TableDefinition {
    /// `schema.table`, or `table` for the schema `main`.
    pub name: String,
    /// The columns in their order.
    pub columns: Vec<Column>,
    /// Indexes of the key's columns, in key order; empty for a hidden row number.
    pub key: Vec<usize>,
    /// The shape of the base.
    pub storage: Storage,
    /// Whether commits to it go to the log. Without, they are durable from the next checkpoint on.
    pub log: bool,
    /// Whether the key's only column, an integer, is given the next number when it is NULL.
    pub auto_increment: bool,
    /// Whether several rows may have the same key, in an order that the writer chooses.
    pub duplicates: bool,
    /// Whether key and value are stored as the user's bytes.
    raw: bool,
    /// Names given to `primary_key` that are no column, kept for the error message.
    unknown_key: Option<String>,
}

impl TableDefinition {
    /// A table without columns yet, of storage `btree`, logged.
    pub fn new(name: impl Into<String>) -> Self {
        Self {
            name: name.into(),
            columns: Vec::new(),
            key: Vec::new(),
            storage: Storage::BTree,
            log: true,
            auto_increment: false,
            duplicates: false,
            raw: false,
            unknown_key: None,
        }
    }

    /// The table `(key BINARY PRIMARY KEY, value BINARY)`, whose bytes are stored as they are.
    pub fn key_value(name: impl Into<String>) -> Self {
        let mut table =
            Self::new(name).column("key", Type::Binary).column("value", Type::Binary).primary_key(&["key"]);
        table.raw = true;
        table
    }

    /// Adds a column that is never NULL.
    #[must_use]
    pub fn column(mut self, name: impl Into<String>, kind: Type) -> Self {
        self.columns.push(Column { name: name.into(), kind, nullable: false, default: None });
        self
    }

    /// Adds a column that may be NULL.
    #[must_use]
    pub fn column_nullable(mut self, name: impl Into<String>, kind: Type) -> Self {
        self.columns.push(Column { name: name.into(), kind, nullable: true, default: None });
        self
    }

    /// Gives the last added column a default.
    #[must_use]
    pub fn default_value(mut self, value: impl Into<Value>) -> Self {
        if let Some(column) = self.columns.last_mut() {
            column.default = Some(value.into());
        }
        self
    }

    /// Sets the key. Without it the table has a hidden row number as its key.
    #[must_use]
    pub fn primary_key(mut self, names: &[&str]) -> Self {
        self.key.clear();
        for name in names {
            match self.columns.iter().position(|column| column.name == *name) {
                Some(index) => self.key.push(index),
                None => self.unknown_key = Some((*name).to_owned()),
            }
        }
        self
    }

    /// Sets the shape of the base.
    #[must_use]
    pub fn storage(mut self, storage: Storage) -> Self {
        self.storage = storage;
        self.log &= storage != Storage::Memory;
        self
    }

    /// Switches the log on or off for commits to this table.
    #[must_use]
    pub fn log(mut self, log: bool) -> Self {
        self.log = log && self.storage != Storage::Memory;
        self
    }

    /// Lets the key's only column, an integer, number itself: 1, 2, 3 ….
    #[must_use]
    pub fn auto_increment(mut self) -> Self {
        self.auto_increment = true;
        self
    }

    /// Lets several rows have the same key.
    #[must_use]
    pub fn duplicates(mut self) -> Self {
        self.duplicates = true;
        self
    }

    /// Whether key and value are stored as the user's bytes.
    pub fn is_raw(&self) -> bool {
        self.raw
    }

    /// The index of a column.
    pub fn column_index(&self, name: &str) -> Option<usize> {
        self.columns.iter().position(|column| column.name == name)
    }

    /// Whether the key is a hidden row number.
    pub fn has_hidden_key(&self) -> bool {
        self.key.is_empty()
    }

    /// Checks that the definition can be a table.
    ///
    /// # Errors
    /// [`Error::Invalid`] that names the column and what is wrong with it.
    pub fn validate(&self) -> Result<()> {
        names::qualify(&self.name)?;
        let table = &self.name;
        let invalid = |what: String| Err(Error::Invalid(format!("table \"{table}\": {what}")));
        if let Some(name) = &self.unknown_key {
            return invalid(format!("the key's column \"{name}\" is not one of its columns"));
        }
        if self.columns.is_empty() || self.columns.len() > COLUMNS_MAX {
            return invalid(format!(
                "it has {} columns; 1 to {COLUMNS_MAX} are possible",
                self.columns.len()
            ));
        }
        for (index, column) in self.columns.iter().enumerate() {
            names::check("column", &column.name)?;
            if self.columns[..index].iter().any(|other| other.name == column.name) {
                return invalid(format!("two columns are named \"{}\"", column.name));
            }
        }
        for (position, &index) in self.key.iter().enumerate() {
            let Some(column) = self.columns.get(index) else {
                return invalid(format!("the key names column {index}, which is not there"));
            };
            if column.nullable {
                return invalid(format!(
                    "column \"{}\" is part of the key, so it cannot be NULL",
                    column.name
                ));
            }
            if self.key[..position].contains(&index) {
                return invalid(format!("column \"{}\" is twice in the key", column.name));
            }
        }
        if self.auto_increment && !self.numbers_itself() {
            return invalid(
                "auto-increment needs a key of one column of a 32- or 64-bit integer type".into(),
            );
        }
        if self.duplicates && (self.key.is_empty() || self.auto_increment || self.raw) {
            return invalid("duplicate keys need declared key columns without auto-increment, and no plain key-value table".into());
        }
        if self.storage == Storage::Memory && self.log {
            return invalid("a memory table is never logged".into());
        }
        if self.raw && !self.looks_raw() {
            return invalid(
                "a plain key-value table is (key BINARY, value BINARY) with the first as its key".into(),
            );
        }
        let wrap = |error: ambo_codec::Error| Error::Invalid(format!("table \"{table}\": {error}"));
        self.key_spec().map_err(wrap)?;
        self.row_spec().map_err(wrap)?;
        Ok(())
    }

    fn numbers_itself(&self) -> bool {
        matches!(&self.key[..], [index] if matches!(self.columns[*index].kind, Type::I32 | Type::I64 | Type::U32 | Type::U64))
    }

    fn looks_raw(&self) -> bool {
        self.key == [0]
            && self.columns.len() == 2
            && self
                .columns
                .iter()
                .all(|column| column.kind == Type::Binary && !column.nullable && column.default.is_none())
    }

    /// How keys are stored: the key's columns; with duplicates an order number (u64) behind them; a hidden key
    /// is the row number (u64) alone.
    pub fn key_spec(&self) -> ambo_codec::Result<KeySpec> {
        let mut columns: Vec<_> =
            self.key.iter().map(|&index| KeyColumn::new(self.columns[index].kind)).collect();
        if self.duplicates || columns.is_empty() {
            columns.push(KeyColumn::new(Type::U64));
        }
        KeySpec::new(columns)
    }

    /// Indexes of the columns that are stored in the row: those that are not in the key.
    pub fn row_columns(&self) -> Vec<usize> {
        (0..self.columns.len()).filter(|index| !self.key.contains(index)).collect()
    }

    /// How rows are stored: the columns that are not in the key.
    pub fn row_spec(&self) -> ambo_codec::Result<RowSpec> {
        RowSpec::new(self.row_columns().into_iter().map(|index| row_column(&self.columns[index])).collect())
    }

    /// The definition as bytes.
    pub fn encode(&self) -> Vec<u8> {
        let flag = |on: bool, bit: u8| if on { bit } else { 0 };
        let flags = flag(self.log, LOGGED)
            | flag(self.raw, RAW)
            | flag(self.auto_increment, AUTO_INCREMENT)
            | flag(self.duplicates, DUPLICATES);
        let mut out = vec![VERSION, self.storage as u8, flags];
        put_text(&mut out, &self.name);
        varint::encode(self.columns.len() as u64, &mut out);
        for column in &self.columns {
            put_text(&mut out, &column.name);
            column.kind.encode(&mut out);
            out.push(u8::from(column.nullable));
            match &column.default {
                None => out.push(0),
                Some(value) => {
                    out.push(1);
                    let mut row = Vec::new();
                    default_spec(column.kind)
                        .and_then(|spec| spec.encode(&[ValueRef::from(value)], &mut row))
                        .expect("validated when the table was created");
                    varint::encode(row.len() as u64, &mut out);
                    out.extend_from_slice(&row);
                }
            }
        }
        varint::encode(self.key.len() as u64, &mut out);
        for &index in &self.key {
            varint::encode(index as u64, &mut out);
        }
        out
    }

    /// The definition in `bytes`.
    ///
    /// # Errors
    /// What is wrong with them, in words.
    pub fn decode(bytes: &[u8]) -> Result<Self, String> {
        let mut input = Input(bytes);
        if input.byte()? != VERSION {
            return Err("a table definition of an unknown version".into());
        }
        let storage = match input.byte()? {
            1 => Storage::BTree,
            2 => Storage::Memory,
            other => return Err(format!("unknown storage {other}")),
        };
        let flags = input.byte()?;
        let mut table = Self::new(input.text()?);
        table.storage = storage;
        table.log = flags & LOGGED != 0;
        table.raw = flags & RAW != 0;
        table.auto_increment = flags & AUTO_INCREMENT != 0;
        table.duplicates = flags & DUPLICATES != 0;
        for _ in 0..input.count(COLUMNS_MAX)? {
            let name = input.text()?;
            let (kind, len) = Type::decode(input.0).map_err(|error| error.to_string())?;
            input.take(len)?;
            let nullable = input.byte()? != 0;
            let default = match input.byte()? {
                0 => None,
                _ => {
                    let len = input.count(usize::MAX)?;
                    let row = input.take(len)?;
                    let spec = default_spec(kind).map_err(|error| error.to_string())?;
                    Some(spec.decode_column(row, 0).map_err(|error| error.to_string())?.to_value())
                }
            };
            table.columns.push(Column { name, kind, nullable, default });
        }
        for _ in 0..input.count(COLUMNS_MAX)? {
            table.key.push(input.count(COLUMNS_MAX)?);
        }
        table.validate().map_err(|error| error.to_string())?;
        Ok(table)
    }
}

fn row_column(column: &Column) -> RowColumn {
    let mut row = RowColumn::new(column.kind);
    if column.nullable {
        row = row.nullable();
    }
    match &column.default {
        Some(value) => row.with_default(value.clone()),
        None => row,
    }
}

fn default_spec(kind: Type) -> ambo_codec::Result<RowSpec> {
    RowSpec::new(vec![RowColumn::new(kind).nullable()])
}

fn put_text(out: &mut Vec<u8>, text: &str) {
    varint::encode(text.len() as u64, out);
    out.extend_from_slice(text.as_bytes());
}

/// Bytes being decoded.
struct Input<'a>(&'a [u8]);

impl<'a> Input<'a> {
    fn take(&mut self, len: usize) -> Result<&'a [u8], String> {
        let (head, rest) = self.0.split_at_checked(len).ok_or("a table definition that is cut off")?;
        self.0 = rest;
        Ok(head)
    }
    fn byte(&mut self) -> Result<u8, String> {
        Ok(self.take(1)?[0])
    }
    fn count(&mut self, max: usize) -> Result<usize, String> {
        let (value, len) = varint::decode(self.0).ok_or("a bad varint in a table definition")?;
        self.take(len)?;
        usize::try_from(value)
            .ok()
            .filter(|value| *value <= max)
            .ok_or_else(|| format!("{value} is too many"))
    }
    fn text(&mut self) -> Result<String, String> {
        let len = self.count(usize::MAX)?;
        String::from_utf8(self.take(len)?.to_vec()).map_err(|_| "a name that is not UTF-8".into())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn flights() -> TableDefinition {
        TableDefinition::new("air.flights")
            .column("day", Type::Date32)
            .column("carrier", Type::Utf8)
            .column_nullable("delay", Type::F64)
            .column("seats", Type::I32)
            .default_value(Value::from(180i32))
            .primary_key(&["day", "carrier"])
    }

    /// Keeps away: a definition that changes when it is written and read.
    #[test]
    fn encoding_round_trips() {
        for table in [
            flights(),
            flights().duplicates().log(false),
            TableDefinition::key_value("main.t").storage(Storage::Memory),
            TableDefinition::new("main.n").column("id", Type::U64).primary_key(&["id"]).auto_increment(),
            TableDefinition::new("main.h").column("x", Type::Bool),
        ] {
            assert_eq!(TableDefinition::decode(&table.encode()).unwrap(), table);
        }
    }

    /// Keeps away: a changed format under the same version number.
    #[test]
    fn the_example_of_the_format_holds() {
        let expected = b"\x01\x01\x03\x06main.t\x02\x03key\x11\x00\x00\x05value\x11\x00\x00\x01\x00";
        assert_eq!(TableDefinition::key_value("main.t").encode(), expected);
    }

    /// Keeps away: a panic on damaged catalog rows.
    #[test]
    fn cut_and_flipped_bytes_are_errors_or_other_definitions() {
        let bytes = flights().encode();
        for len in 0..bytes.len() {
            assert!(TableDefinition::decode(&bytes[..len]).is_err());
        }
        for at in 0..bytes.len() {
            let mut bytes = bytes.clone();
            bytes[at] ^= 0x41;
            let _ = TableDefinition::decode(&bytes);
        }
    }

    /// Keeps away: tables that could not hold a row.
    #[test]
    fn impossible_tables_are_refused() {
        for (table, part) in [
            (TableDefinition::new("t"), "0 columns"),
            (flights().primary_key(&["dya"]), "\"dya\""),
            (flights().primary_key(&["delay"]), "cannot be NULL"),
            (flights().column("day", Type::I8), "two columns"),
            (flights().auto_increment(), "auto-increment"),
            (flights().primary_key(&[]).duplicates(), "duplicate"),
        ] {
            let error = table.validate().unwrap_err().to_string();
            assert!(error.contains(part), "{error}");
        }
    }
}
