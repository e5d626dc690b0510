//! Entries of an index.
//!
//! | index | entry's key | entry's value |
//! |---|---|---|
//! | ordered | the columns as a key ([`ambo_codec::key`]), the row's stored key | nothing |
//! | ordered, unique, no NULL | the columns as a key | the row's stored key |
//! | hash | XXH3 of the columns as a key, 8 bytes big-endian; the row's stored key | nothing |
//! | hash, unique, no NULL | XXH3 of the columns as a key, 16 bytes big-endian | the row's stored key |
//!
//! A unique index has rows with a NULL among their values as an index that is not unique has them, behind 16 bytes of hash. The columns
//! are followed by something in every case, so texts among them are escaped and end in `00 01`.
//!
//! Example: an ordered index over a text column, nullable, of a table with an `i32` key, and the row `(7, "ab")`:
//!
//! | offset | bytes | meaning |
//! |---|---|---|
//! | 0 | `02` | not NULL |
//! | 1 | `61 62 00 01` | `ab`, and its end |
//! | 5 | `80 00 00 07` | the row's key; if the index is unique this is the value |

use std::ops::Bound;

use ambo_codec::{KeyColumn, KeyRange, KeySpec, RowSpec, Type, Value, ValueRef};
use ambo_types::{Error, IndexKind, IndexOf, Result, StoredIn, TableDefinition, record::KEY_BYTES_MAX};
use twox_hash::{XxHash3_64, XxHash3_128};

/// Where a column of the index is in a row.
#[derive(Clone, Copy, PartialEq, Debug)]
enum ValueAt {
    /// In the stored key.
    Key(usize),
    /// In the stored row.
    Row(usize),
    /// It is the stored row: the value of a plain key-value table.
    Whole,
}

/// An entry: a row of the index.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Entry {
    /// Its key.
    pub key: Vec<u8>,
    /// Its value: the stored key of the row, if the key does not end in it.
    pub value: Vec<u8>,
    /// Whether no other row may have an entry of this key.
    pub is_exclusive: bool,
}

/// How the entries of one index follow from the rows of its table.
#[derive(PartialEq, Debug)]
pub struct EntryFormat {
    of: IndexOf,
    name: String,
    /// Names of the columns, for messages.
    columns: Vec<String>,
    sources: Vec<ValueAt>,
    keys: KeySpec,
    rows: RowSpec,
    /// The columns, and behind them the row's key as bytes.
    spec: KeySpec,
}

impl EntryFormat {
    /// The format of an index of this name over this table.
    ///
    /// # Errors
    /// [`Error::Invalid`] if it does not fit the table.
    pub fn new(name: &str, of: &IndexOf, table: &TableDefinition) -> Result<Self> {
        if !of.kind.has_entries() {
            let kind = of.kind.name();
            return Err(Error::Invalid(format!("index \"{name}\" is a {kind} index, which has no entries")));
        }
        let mut sources = Vec::new();
        let mut spec = Vec::new();
        let mut columns = Vec::new();
        for &index in &of.columns {
            let column = table.columns.get(index).ok_or_else(|| {
                Error::Invalid(format!("index \"{name}\" names column {index}, which its table has not"))
            })?;
            sources.push(match table.stored_in(index) {
                StoredIn::Row(_) if table.is_raw() => ValueAt::Whole,
                StoredIn::Row(slot) => ValueAt::Row(slot),
                StoredIn::Key(place) => ValueAt::Key(place),
            });
            let key = KeyColumn::new(column.kind);
            spec.push(if column.nullable { key.nullable() } else { key });
            columns.push(column.title().to_owned());
        }
        spec.push(KeyColumn::new(Type::Binary));
        let invalid = |error: ambo_codec::Error| Error::Invalid(format!("index \"{name}\": {error}"));
        Ok(Self {
            of: of.clone(),
            name: name.to_owned(),
            columns,
            sources,
            keys: table.key_spec().map_err(invalid)?,
            rows: table.row_spec().map_err(invalid)?,
            spec: KeySpec::new(spec).map_err(invalid)?,
        })
    }

    /// Whether both make the same entries of all rows, and are as ready.
    pub(crate) fn has_same_entries(&self, other: &Self) -> bool {
        let parts = |format: &Self| (format.of.table, format.of.kind, format.of.unique, format.of.ready);
        parts(self) == parts(other) && self.sources == other.sources && self.spec == other.spec
    }

    /// What it is an index of.
    pub fn of(&self) -> &IndexOf {
        &self.of
    }

    /// The index's name.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// The keys of entries of an ordered index that is not unique: its columns, and the row's key as bytes.
    pub fn key_spec(&self) -> &KeySpec {
        &self.spec
    }

    /// The entry of a row.
    ///
    /// # Errors
    /// [`Error::Invalid`] for values too long for an entry, and if the row cannot be read.
    pub fn entry(&self, key: &[u8], row: &[u8]) -> Result<Entry> {
        let mut entry = Entry::default();
        self.write_entry(key, row, &mut entry)?;
        Ok(entry)
    }

    /// As [`EntryFormat::entry`], in the place of another.
    pub fn write_entry(&self, key: &[u8], row: &[u8], entry: &mut Entry) -> Result<()> {
        let (mut scratch, mut in_key) = (Vec::new(), Vec::new());
        let values = self.each_value(key, row, &mut scratch, &mut in_key)?;
        self.write_entry_of(values, key, entry)
    }

    /// The values of a row in the index's columns.
    fn values<'r>(
        &'r self,
        key: &'r [u8],
        row: &'r [u8],
        scratch: &'r mut Vec<u8>,
    ) -> Result<Vec<ValueRef<'r>>> {
        let mut in_key = Vec::new();
        self.each_value(key, row, scratch, &mut in_key)?.collect()
    }

    fn each_value<'r>(
        &'r self,
        key: &'r [u8],
        row: &'r [u8],
        scratch: &'r mut Vec<u8>,
        in_key: &mut Vec<ValueRef<'r>>,
    ) -> Result<impl Iterator<Item = Result<ValueRef<'r>>>> {
        if self.sources.iter().any(|source| matches!(source, ValueAt::Key(_))) {
            self.keys.decode_refs(key, scratch, in_key).map_err(|error| self.unreadable(error))?;
        }
        let value = |source: &ValueAt| match *source {
            ValueAt::Key(index) => Ok(in_key[index]),
            ValueAt::Row(index) => {
                self.rows.decode_column(row, index).map_err(|error| self.unreadable(error))
            }
            ValueAt::Whole => Ok(ValueRef::Binary(row)),
        };
        Ok(self.sources.iter().map(value))
    }

    /// The error of a row of which a value cannot be read.
    pub fn unreadable(&self, error: ambo_codec::Error) -> Error {
        Error::Invalid(format!("index \"{}\": a row that cannot be read: {error}", self.name))
    }

    /// The entry of a row with these values in the index's columns, in the place of another.
    ///
    /// # Errors
    /// [`Error::Invalid`] for values too long for an entry, or of other types, and those of `values`.
    pub fn write_entry_of<'v>(
        &self,
        values: impl Iterator<Item = Result<ValueRef<'v>>>,
        key: &[u8],
        entry: &mut Entry,
    ) -> Result<()> {
        entry.key.clear();
        entry.value.clear();
        entry.is_exclusive = self.of.unique;
        let mut columns = 0;
        for (index, value) in values.enumerate() {
            let value = value?;
            columns += 1;
            entry.is_exclusive &= !value.is_null();
            self.spec.encode_at(index, value, &mut entry.key).map_err(|error| self.unfit(error))?;
        }
        debug_assert_eq!(columns, self.sources.len(), "a value for each column");
        self.hash(&mut entry.key);
        match entry.is_exclusive {
            true => entry.value.extend_from_slice(key),
            false => entry.key.extend_from_slice(key),
        }
        if entry.key.len() > KEY_BYTES_MAX {
            return Err(Error::Invalid(format!(
                "index \"{}\": an entry of {} bytes for ({}); at most {KEY_BYTES_MAX} are possible, a hash index takes values of any length",
                self.name,
                entry.key.len(),
                self.columns.join(", "),
            )));
        }
        debug_assert!(self.row_key(&entry.key, &entry.value).is_ok_and(|row| row == key), "it names its row");
        Ok(())
    }

    /// Makes of values as a key what entries of rows with them begin with.
    fn hash(&self, name: &mut Vec<u8>) {
        match (self.of.kind, self.of.unique) {
            (IndexKind::Ordered | IndexKind::Bitmap | IndexKind::Br64 | IndexKind::Br64Any, _) => {}
            (IndexKind::Hash, false) => {
                let hash = XxHash3_64::oneshot(name);
                name.clear();
                name.extend_from_slice(&hash.to_be_bytes());
            }
            (IndexKind::Hash, true) => {
                let hash = XxHash3_128::oneshot(name);
                name.clear();
                name.extend_from_slice(&hash.to_be_bytes());
            }
        }
    }

    fn encode(&self, values: &[ValueRef<'_>]) -> Result<Vec<u8>> {
        let mut bytes = Vec::new();
        self.spec.encode_prefix(values, &mut bytes).map_err(|error| self.unfit(error))?;
        Ok(bytes)
    }

    fn unfit(&self, error: ambo_codec::Error) -> Error {
        Error::Invalid(format!("index \"{}\": {error}", self.name))
    }

    /// The stored key of the row that an entry belongs to.
    ///
    /// # Errors
    /// [`Error::Invalid`] if the entry is none of this index.
    pub fn row_key<'e>(&self, key: &'e [u8], value: &'e [u8]) -> Result<&'e [u8]> {
        if !value.is_empty() {
            return Ok(value);
        }
        let len = match self.of.kind {
            IndexKind::Ordered | IndexKind::Bitmap | IndexKind::Br64 | IndexKind::Br64Any => {
                self.spec.prefix_len(key, self.sources.len()).unwrap_or(usize::MAX)
            }
            IndexKind::Hash if self.of.unique => size_of::<u128>(),
            IndexKind::Hash => size_of::<u64>(),
        };
        key.get(len..).ok_or_else(|| {
            Error::Invalid(format!("index \"{}\" has an entry that cannot be read", self.name))
        })
    }

    /// The entries of rows whose first columns have these values; for a hash index all columns are to be given, and rows with other values
    /// may be among them.
    ///
    /// # Errors
    /// [`Error::Invalid`] for values that do not fit.
    pub fn prefix(&self, values: &[Value]) -> Result<KeyRange> {
        self.check_width(values)?;
        let mut lower = self.encode(&refs(values))?;
        self.hash(&mut lower);
        let upper = ambo_codec::successor(&lower);
        Ok(KeyRange { lower, upper })
    }

    /// The entries between two bounds on the first columns of an ordered index.
    ///
    /// # Errors
    /// [`Error::Invalid`] for a hash index, and for values that do not fit.
    pub fn range(&self, lower: Bound<&[Value]>, upper: Bound<&[Value]>) -> Result<KeyRange> {
        if self.of.kind == IndexKind::Hash {
            return Err(Error::Invalid(format!(
                "index \"{}\" is a hash index, which has no order; ranges need an ordered one",
                self.name
            )));
        }
        for bound in [lower, upper] {
            if let Bound::Included(values) | Bound::Excluded(values) = bound {
                self.check_width(values)?;
            }
        }
        self.spec.range_between(lower, upper).map_err(|error| self.unfit(error))
    }

    fn check_width(&self, values: &[Value]) -> Result<()> {
        let columns = self.sources.len();
        if values.len() > columns || (self.of.kind == IndexKind::Hash && values.len() != columns) {
            return Err(Error::Invalid(format!(
                "index \"{}\" is over ({}); {} values were given",
                self.name,
                self.columns.join(", "),
                values.len()
            )));
        }
        Ok(())
    }

    /// Whether entries in a range of equal values may belong to rows with other values.
    pub fn is_hashed(&self) -> bool {
        self.of.kind == IndexKind::Hash
    }

    /// Values of all columns as bytes: equal where the values are, as they are for a key.
    ///
    /// # Errors
    /// [`Error::Invalid`] for values that do not fit.
    pub fn as_bytes(&self, values: &[Value]) -> Result<Vec<u8>> {
        self.check_width(values)?;
        self.encode(&refs(values))
    }

    /// Whether a row has the values that [`EntryFormat::as_bytes`] gave these bytes for.
    ///
    /// # Errors
    /// [`Error::Invalid`] if the row cannot be read.
    pub fn has_values(&self, key: &[u8], row: &[u8], wanted: &[u8]) -> Result<bool> {
        let mut scratch = Vec::new();
        let values = self.values(key, row, &mut scratch)?;
        Ok(self.encode(&values)? == wanted)
    }

    /// The error for a second row with the values of a row.
    pub fn taken(&self, key: &[u8], row: &[u8]) -> Error {
        let mut scratch = Vec::new();
        let values = match self.values(key, row, &mut scratch) {
            Ok(values) => values.iter().map(ToString::to_string).collect::<Vec<_>>().join(", "),
            Err(error) => error.to_string(),
        };
        Error::Exists(format!(
            "a row with ({}) = ({values}), by the unique index \"{}\"",
            self.columns.join(", "),
            self.name
        ))
    }
}

fn refs(values: &[Value]) -> Vec<ValueRef<'_>> {
    values.iter().map(ValueRef::from).collect()
}
