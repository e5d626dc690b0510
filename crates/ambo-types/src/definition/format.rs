//! The definition of a table as bytes: version 2, or 3 where a column has a logical type, or 4 where rows expire, or 5 with a compaction
//! filter.
//!
//! | part | encoding |
//! |---|---|
//! | version | u8 = 2; 3 if a column has a logical type; 4 if it is said when rows expire; 5 if there is a compaction filter |
//! | storage | u8: 1 `btree`, 2 `memory`, 3 `column`, 4 `append`, 5 `lsm` |
//! | flags | u8: 1 logged, 2 raw (key-value: stored bytes are the user's), 4 auto-increment, 8 duplicates, 16 record dictionary, 32 index, 64 notes, 128 sort key |
//! | name | varint length, UTF-8 `schema.table` |
//! | columns | varint count; each: varint length and UTF-8 name, type (`ambo_codec::Type`), u8 1 = nullable, then u8 1 and the default as a one-column row, or u8 0 |
//! | key | varint count, then a varint column index each; 0 columns: a hidden row number. With a sort key: its columns, then those of the primary key that are not among them |
//! | key compression | u8: number of the [`IntegerCodec`], 0 none |
//! | record compression | u8: number of the [`RecordCodec`], 0 none; u8: its level, 0 for a codec without levels |
//! | index, only with flag 32 | table id (u32, big-endian), u8: 1 ordered, 2 hash, 3 bitmap, 4 br64, 5 br64 of any column, flags (u8: 1 unique, 2 ready), varint count of columns, then a varint column index each, in the table's definition |
//! | notes, only with flag 64 | dropped columns, and what is kept for SQL (`definition/notes.rs`) |
//! | sort key, only with flag 128 | varint count, then a varint column index each; then the primary key likewise, 0 columns: a hidden row number |
//! | logical types, only in versions 3 to 5 | varint count, in version 3 at least 1; each: varint column index, greater than the one before; the type (`logical.rs`) |
//! | expiry, only in versions 4 and 5 | `definition/expiry.rs` |
//! | compaction filter, only in version 5 | varint length, UTF-8 |
//! | records, only of storage `append` | `definition/records.rs` |
//!
//! Nothing follows. Version 1 ends behind the key, has none of the flags from 16 on, and no compression; it is read, but no longer written.
//!
//! `key_value("t")` with records in `zstd` at level 9 is
//! `02 01 03 06 "main.t" 02 03 "key" 11 00 00 05 "value" 11 00 00 01 00 00 04 09`.
//!
//! A logged column table `(id i64, day date)` with primary key `(id)` and sort key `(day)` ends, behind its columns, in `02 01 00 00 00 00
//! 01 01 01 00`: the stored key `(day, id)`, no compression, the sort key `(day)`, the primary key `(id)`; its flags are `81`.

use ambo_codec::{
    RowColumn, RowSpec, Type, Value, ValueRef, integer::IntegerCodec, record::RecordCodec, varint,
};

use super::{COLUMNS_MAX, Column, Expiry, Records, Storage, TableDefinition, sort_key::SortKey};
use crate::{
    Logical, Result,
    encoding::{Input, put_text},
    id::TableId,
    index::{INDEX_COLUMNS_MAX, IndexKind, IndexOf},
};

const VERSION: u8 = 2;
/// With logical types. All bits of the flags are taken.
const VERSION_LOGICAL: u8 = 3;
/// With when rows expire, and logical types, if there are any.
const VERSION_EXPIRY: u8 = 4;
/// With a compaction filter, and when rows expire, which may be never.
const VERSION_FILTER: u8 = 5;
/// Without compression.
const VERSION_1: u8 = 1;
const LOGGED: u8 = 1;
const RAW: u8 = 2;
const AUTO_INCREMENT: u8 = 4;
const DUPLICATES: u8 = 8;
const RECORD_DICTIONARY: u8 = 16;
const INDEX: u8 = 32;
const NOTES: u8 = 64;
const SORT_KEY: u8 = 128;
// All bits are taken: no flag is unknown, and the next one needs another byte. A flag that is taken twice would be missing in the sum.
const _: () = assert!(LOGGED | RAW | AUTO_INCREMENT | DUPLICATES == 15);
const _: () = assert!(RECORD_DICTIONARY | INDEX | NOTES | SORT_KEY == 240);
const INDEX_UNIQUE: u8 = 1;
const INDEX_READY: u8 = 2;

impl TableDefinition {
    /// The definition as bytes.
    pub fn encode(&self) -> Vec<u8> {
        let flag = |on: bool, bit: u8| if on { bit } else { 0 };
        let flags = flag(self.log, LOGGED)
            | flag(self.raw, RAW)
            | flag(self.auto_increment, AUTO_INCREMENT)
            | flag(self.duplicates, DUPLICATES)
            | flag(self.record_dictionary, RECORD_DICTIONARY)
            | flag(self.index.is_some(), INDEX)
            | flag(self.has_notes(), NOTES)
            | flag(self.has_sort_key(), SORT_KEY);
        let is_logical = self.columns.iter().any(|column| column.logical.is_some());
        let version = match (&self.compaction_filter, self.expiry != Expiry::default(), is_logical) {
            (Some(_), ..) => VERSION_FILTER,
            (None, true, _) => VERSION_EXPIRY,
            (None, false, true) => VERSION_LOGICAL,
            (None, false, false) => VERSION,
        };
        let mut out = vec![version, self.storage as u8, flags];
        put_text(&mut out, &self.name);
        varint::encode(self.columns.len() as u64, &mut out);
        for column in &self.columns {
            put_text(&mut out, &column.name);
            column.kind.encode(&mut out);
            out.push(u8::from(column.nullable));
            put_default(&mut out, column.kind, column.default.as_ref());
        }
        varint::encode(self.key.len() as u64, &mut out);
        for &index in &self.key {
            varint::encode(index as u64, &mut out);
        }
        out.push(self.key_compression.map_or(0, |codec| codec as u8));
        out.push(self.record_compression.map_or(0, RecordCodec::number));
        out.push(self.record_compression.map_or(0, RecordCodec::level));
        if let Some(index) = &self.index {
            out.extend_from_slice(&index.table.0.to_be_bytes());
            out.push(index.kind as u8);
            out.push(flag(index.unique, INDEX_UNIQUE) | flag(index.ready, INDEX_READY));
            varint::encode(index.columns.len() as u64, &mut out);
            for &column in &index.columns {
                varint::encode(column as u64, &mut out);
            }
        }
        if self.has_notes() {
            self.encode_notes(&mut out);
        }
        if self.has_sort_key() {
            for columns in [self.sort_columns(), self.primary_columns()] {
                varint::encode(columns.len() as u64, &mut out);
                columns.iter().for_each(|column| varint::encode(*column as u64, &mut out));
            }
        }
        if version >= VERSION_LOGICAL {
            self.encode_logical(&mut out);
        }
        if version >= VERSION_EXPIRY {
            self.expiry.encode(&mut out);
        }
        if let Some(filter) = &self.compaction_filter {
            put_text(&mut out, filter);
        }
        if self.storage.traits().records {
            self.records.encode(&mut out);
        }
        out
    }

    fn encode_logical(&self, out: &mut Vec<u8>) {
        let logical = |(index, column): (usize, &'_ Column)| Some((index, column.logical.clone()?));
        let all: Vec<_> = self.columns.iter().enumerate().filter_map(logical).collect();
        varint::encode(all.len() as u64, out);
        for (index, logical) in all {
            varint::encode(index as u64, out);
            logical.encode(out);
        }
    }

    fn decode_logical(&mut self, input: &mut Input<'_>) -> Result<(), String> {
        let count = input.count(COLUMNS_MAX)?;
        let mut next = 0;
        for _ in 0..count {
            let index = input.count(COLUMNS_MAX)?;
            let Some(column) = self.columns.get_mut(index).filter(|_| index >= next) else {
                return Err(format!(
                    "a logical type of column {index}, which is not there or has one already"
                ));
            };
            next = index + 1;
            column.logical = Some(Logical::decode(input)?);
        }
        Ok(())
    }

    /// The definition in `bytes`.
    ///
    /// # Errors
    /// What is wrong with them, in words.
    pub fn decode(bytes: &[u8]) -> Result<Self, String> {
        let mut input = Input(bytes);
        let version = input.byte()?;
        if !(VERSION_1..=VERSION_FILTER).contains(&version) {
            return Err(format!(
                "a table definition of version {version}, which this version of Ambo cannot read"
            ));
        }
        let storage = input.byte()?;
        let storage = Storage::numbered(storage).ok_or_else(|| format!("unknown storage {storage}"))?;
        let flags = input.byte()?;
        let mut table = Self::new(input.text()?);
        table.storage = storage;
        table.log = flags & LOGGED != 0;
        table.raw = flags & RAW != 0;
        table.auto_increment = flags & AUTO_INCREMENT != 0;
        table.duplicates = flags & DUPLICATES != 0;
        table.record_dictionary = flags & RECORD_DICTIONARY != 0;
        for _ in 0..input.count(COLUMNS_MAX)? {
            let name = input.text()?;
            let (kind, len) = Type::decode(input.0).map_err(|error| error.to_string())?;
            input.take(len)?;
            let nullable = input.byte()? != 0;
            let default = input.default(kind)?;
            table.columns.push(Column { nullable, default, ..Column::new(name, kind) });
        }
        table.key = input.columns()?;
        if version != VERSION_1 {
            (table.key_compression, table.record_compression) = input.compression()?;
        }
        if flags & INDEX != 0 {
            table.index = Some(input.index()?);
        }
        if flags & NOTES != 0 {
            table.decode_notes(&mut input)?;
        }
        if flags & SORT_KEY != 0 {
            table.sorted = Some(SortKey { columns: input.columns()?, primary: input.columns()? });
        }
        if version >= VERSION_LOGICAL {
            table.decode_logical(&mut input)?;
            let is_needed =
                version != VERSION_LOGICAL || table.columns.iter().any(|column| column.logical.is_some());
            if !is_needed {
                return Err("a table definition of a later version without what that is for".into());
            }
        }
        if version >= VERSION_EXPIRY {
            table.expiry = Expiry::decode(&mut input)?;
            if version == VERSION_EXPIRY && table.expiry == Expiry::default() {
                return Err("a table definition of a later version without what that is for".into());
            }
        }
        if version == VERSION_FILTER {
            table.compaction_filter = Some(input.text()?);
        }
        if storage.traits().records {
            table.records = Records::decode(&mut input)?;
        }
        if !input.0.is_empty() {
            return Err(format!("{} bytes too many in a table definition", input.0.len()));
        }
        table.validate().map_err(|error| error.to_string())?;
        Ok(table)
    }
}

fn default_spec(kind: Type) -> ambo_codec::Result<RowSpec> {
    RowSpec::new(vec![RowColumn::new(kind).nullable()])
}

/// A default: whether there is one, and it as a row of one column.
pub(super) fn put_default(out: &mut Vec<u8>, kind: Type, default: Option<&Value>) {
    out.push(u8::from(default.is_some()));
    if let Some(value) = default {
        let mut row = Vec::new();
        default_spec(kind)
            .and_then(|spec| spec.encode(&[ValueRef::from(value)], &mut row))
            .expect("validated when the table was created");
        varint::encode(row.len() as u64, out);
        out.extend_from_slice(&row);
    }
}

impl Input<'_> {
    pub(super) fn default(&mut self, kind: Type) -> Result<Option<Value>, String> {
        if self.byte()? == 0 {
            return Ok(None);
        }
        let len = self.count(usize::MAX)?;
        let row = self.take(len)?;
        let spec = default_spec(kind).map_err(|error| error.to_string())?;
        Ok(Some(spec.decode_column(row, 0).map_err(|error| error.to_string())?.to_value()))
    }
    fn columns(&mut self) -> Result<Vec<usize>, String> {
        (0..self.count(COLUMNS_MAX)?).map(|_| self.count(COLUMNS_MAX)).collect()
    }
    fn index(&mut self) -> Result<IndexOf, String> {
        let table = self.take(4)?.try_into().expect("four bytes");
        let kind = match self.byte()? {
            1 => IndexKind::Ordered,
            2 => IndexKind::Hash,
            3 => IndexKind::Bitmap,
            4 => IndexKind::Br64,
            5 => IndexKind::Br64Any,
            other => return Err(format!("unknown kind of index {other}")),
        };
        let flags = self.byte()?;
        if flags & !(INDEX_UNIQUE | INDEX_READY) != 0 {
            return Err(format!("unknown flags {flags:#04x} of an index"));
        }
        let count = self.count(INDEX_COLUMNS_MAX)?;
        let columns = (0..count).map(|_| self.count(COLUMNS_MAX)).collect::<Result<Vec<_>, _>>()?;
        if columns.is_empty() {
            return Err("an index without columns".into());
        }
        Ok(IndexOf {
            table: TableId(u32::from_be_bytes(table)),
            columns,
            kind,
            unique: flags & INDEX_UNIQUE != 0,
            ready: flags & INDEX_READY != 0,
        })
    }
    fn compression(&mut self) -> Result<(Option<IntegerCodec>, Option<RecordCodec>), String> {
        let key = match self.byte()? {
            0 => None,
            number => Some(
                IntegerCodec::from_u8(number).ok_or_else(|| format!("unknown key compression {number}"))?,
            ),
        };
        let record = match (self.byte()?, self.byte()?) {
            (0, 0) => None,
            (number, level) => Some(
                RecordCodec::from_parts(number, level)
                    .filter(|codec| codec.level() == level)
                    .ok_or_else(|| format!("unknown record compression {number} at level {level}"))?,
            ),
        };
        Ok((key, record))
    }
}
