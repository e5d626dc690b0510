//! Key-value tables over bytes, texts and integers, read as they are now, as a transaction sees them, or as they were.
//!
//! Tables of bytes are those that [`ambo::Database::key_value`] makes; others have typed columns `key` and `value`, so that SQL reads them
//! as what they are.

use ambo::{
    Bounds, Cursor, Database, Datum, KeyRange, Read, Scan, Snapshot, Table, TableDefinition, Transaction,
    Type,
};
use std::{borrow::Cow, ops::Bound};

use crate::{Class, Error, Result};

/// A key and a value as they are stored.
pub type Stored<'a> = (Cow<'a, [u8]>, Cow<'a, [u8]>);

/// What keys or values are.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Kind {
    /// Bytes.
    Bytes,
    /// A text.
    Text,
    /// An integer of 64 bits.
    Int,
}

impl Kind {
    /// The kind of a name: `bytes`, `str` or `int`.
    ///
    /// # Errors
    /// [`Class::Request`].
    pub fn named(name: &str) -> Result<Self> {
        Ok(match name {
            "bytes" => Self::Bytes,
            "str" => Self::Text,
            "int" => Self::Int,
            _ => {
                return Err(Error::new(
                    Class::Request,
                    format!("there are no keys and values of type \"{name}\""),
                )
                .with_hint("there are bytes, str and int"));
            }
        })
    }

    fn ty(self) -> Type {
        match self {
            Self::Bytes => Type::Binary,
            Self::Text => Type::Utf8,
            Self::Int => Type::I64,
        }
    }

    fn name(self) -> &'static str {
        match self {
            Self::Bytes => "bytes",
            Self::Text => "str",
            Self::Int => "int",
        }
    }
}

/// A key or a value.
#[derive(Clone, PartialEq, Debug)]
pub enum Value<'a> {
    /// Bytes.
    Bytes(Cow<'a, [u8]>),
    /// A text.
    Text(Cow<'a, str>),
    /// An integer.
    Int(i64),
}

impl<'a> Value<'a> {
    /// Bytes that are borrowed.
    pub fn bytes(bytes: &'a [u8]) -> Self {
        Self::Bytes(Cow::Borrowed(bytes))
    }

    fn kind(&self) -> Kind {
        match self {
            Self::Bytes(_) => Kind::Bytes,
            Self::Text(_) => Kind::Text,
            Self::Int(_) => Kind::Int,
        }
    }

    fn datum(&self) -> Datum {
        match self {
            Self::Bytes(bytes) => Datum::Binary(bytes.to_vec()),
            Self::Text(text) => Datum::Utf8(text.to_string()),
            Self::Int(number) => Datum::I64(*number),
        }
    }

    fn of(datum: Datum) -> Option<Value<'static>> {
        Some(match datum {
            Datum::Binary(bytes) => Value::Bytes(Cow::Owned(bytes)),
            Datum::Utf8(text) => Value::Text(Cow::Owned(text)),
            Datum::I64(number) => Value::Int(number),
            _ => return None,
        })
    }
}

/// Where a table is read.
#[derive(Clone, Copy)]
pub enum View<'a> {
    /// As it is now.
    Now(&'a Database),
    /// As a transaction sees it.
    Transaction(&'a Transaction),
    /// As it was at a moment.
    Snapshot(&'a Snapshot),
}

/// A table from keys to values.
#[derive(Clone)]
pub struct KeyValue {
    table: Table,
    key: Kind,
    value: Kind,
}

impl KeyValue {
    /// The table of a name; it is created when it is not there.
    ///
    /// # Errors
    /// [`Class::Request`]: there is a table of that name with other columns.
    pub fn open(db: &Database, name: &str, key: Kind, value: Kind) -> Result<Self> {
        if (key, value) == (Kind::Bytes, Kind::Bytes) {
            return Ok(Self { table: db.key_value(name)?, key, value });
        }
        let wanted = TableDefinition::new(name)
            .column("key", key.ty())
            .column("value", value.ty())
            .primary_key(&["key"]);
        let table = match db.create_table(wanted.clone()) {
            Ok(table) => table,
            // Who only reads cannot create, but may find it.
            Err(error) => db.table(name).map_err(|_| error)?,
        };
        let there = table.definition();
        if there.is_raw() || there.columns != wanted.columns || there.key != wanted.key {
            return Err(Error::new(
                Class::Request,
                format!(
                    "table \"{name}\" is not one from {} to {}: it has other columns",
                    key.name(),
                    value.name()
                ),
            ));
        }
        Ok(Self { table, key, value })
    }

    /// The table.
    pub fn table(&self) -> &Table {
        &self.table
    }

    /// What keys are.
    pub fn key_kind(&self) -> Kind {
        self.key
    }

    /// What values are.
    pub fn value_kind(&self) -> Kind {
        self.value
    }

    fn is_raw(&self) -> bool {
        (self.key, self.value) == (Kind::Bytes, Kind::Bytes)
    }

    /// A key as it is stored.
    ///
    /// # Errors
    /// [`Class::Request`]: a key of another kind.
    pub fn stored_key<'a>(&self, key: &'a Value<'_>) -> Result<Cow<'a, [u8]>> {
        self.check("key", self.key, key)?;
        match key {
            Value::Bytes(bytes) if self.is_raw() => Ok(Cow::Borrowed(bytes)),
            key => Ok(Cow::Owned(self.table.stored_key_of(&[key.datum()], 0)?)),
        }
    }

    /// A pair as it is stored.
    ///
    /// # Errors
    /// [`Class::Request`]: a key or a value of another kind.
    pub fn stored<'a>(&self, key: &'a Value<'_>, value: &'a Value<'_>) -> Result<Stored<'a>> {
        self.check("value", self.value, value)?;
        match value {
            Value::Bytes(bytes) if self.is_raw() => Ok((self.stored_key(key)?, Cow::Borrowed(bytes))),
            value => {
                self.check("key", self.key, key)?;
                let (key, value) = self.table.stored_row(&[key.datum(), value.datum()])?;
                Ok((Cow::Owned(key), Cow::Owned(value)))
            }
        }
    }

    fn check(&self, what: &str, wanted: Kind, given: &Value<'_>) -> Result<()> {
        match wanted == given.kind() {
            true => Ok(()),
            false => Err(Error::new(
                Class::Request,
                format!("a {what} of this table is {}, not {}", wanted.name(), given.kind().name()),
            )),
        }
    }

    /// A pair that is stored as this.
    ///
    /// # Errors
    /// [`Class::Damaged`]: bytes that are no pair.
    pub fn pair(&self, key: &[u8], value: &[u8]) -> Result<(Value<'static>, Value<'static>)> {
        if self.is_raw() {
            return Ok((Value::Bytes(Cow::Owned(key.to_vec())), Value::Bytes(Cow::Owned(value.to_vec()))));
        }
        let mut row = self.table.row_of(key, value)?.into_iter().map(Value::of);
        match (row.next().flatten(), row.next().flatten()) {
            (Some(key), Some(value)) => Ok((key, value)),
            _ => Err(Error::new(Class::Damaged, "a row whose values are not of the table's types")),
        }
    }

    /// The value of a key, as it is stored.
    ///
    /// # Errors
    /// A key of another kind; what the database says.
    pub fn get(&self, view: View<'_>, key: &[u8]) -> Result<Option<ambo::Value>> {
        Ok(match view {
            View::Now(_) => self.table.get(key)?,
            View::Transaction(transaction) => transaction.get(&self.table, key)?,
            View::Snapshot(snapshot) => snapshot.get(&self.table, key)?,
        })
    }

    /// The pairs of a range of stored keys, in their order.
    ///
    /// # Errors
    /// What the database says.
    pub fn scan(&self, view: View<'_>, range: impl KeyRange) -> Result<Scan> {
        Ok(match view {
            View::Now(_) => self.table.scan(range)?,
            View::Transaction(transaction) => transaction.scan(&self.table, range)?,
            View::Snapshot(snapshot) => snapshot.scan(&self.table, range)?,
        })
    }

    /// How many pairs a range has.
    ///
    /// # Errors
    /// What the database says.
    pub fn count(&self, view: View<'_>, range: impl KeyRange) -> Result<u64> {
        Ok(match view {
            View::Now(_) => self.table.count(range)?,
            View::Transaction(transaction) => transaction.count(&self.table, range)?,
            View::Snapshot(snapshot) => snapshot.count(&self.table, range)?,
        })
    }

    /// The sum of the keys of a range, which are integers.
    ///
    /// # Errors
    /// [`Class::Request`]: keys of another kind.
    pub fn sum_keys(&self, view: View<'_>, range: impl KeyRange) -> Result<i128> {
        if self.key != Kind::Int {
            return Err(Error::new(Class::Request, format!("keys that are {} have no sum", self.key.name())));
        }
        Ok(match view {
            View::Now(_) => self.table.sum_keys(range)?,
            View::Transaction(transaction) => transaction.sum_keys(&self.table, range)?,
            View::Snapshot(snapshot) => snapshot.sum_keys(&self.table, range)?,
        })
    }

    /// A cursor over stored keys and values.
    ///
    /// # Errors
    /// What the database says.
    pub fn cursor(&self, view: View<'_>) -> Result<Cursor> {
        Ok(match view {
            View::Now(_) => self.table.cursor()?,
            View::Transaction(transaction) => transaction.cursor(&self.table)?,
            View::Snapshot(snapshot) => snapshot.cursor(&self.table)?,
        })
    }

    /// The range of stored keys between two keys.
    ///
    /// # Errors
    /// A key of another kind.
    pub fn bounds(&self, start: Bound<&Value<'_>>, stop: Bound<&Value<'_>>) -> Result<Bounds> {
        let stored = |bound: Bound<&Value<'_>>| -> Result<Bound<Vec<u8>>> {
            Ok(match bound {
                Bound::Included(key) => Bound::Included(self.stored_key(key)?.into_owned()),
                Bound::Excluded(key) => Bound::Excluded(self.stored_key(key)?.into_owned()),
                Bound::Unbounded => Bound::Unbounded,
            })
        };
        Ok((stored(start)?, stored(stop)?))
    }

    /// The range of stored keys that begin with a prefix, of bytes or texts.
    ///
    /// # Errors
    /// A prefix of another kind than keys are, or one of integers.
    pub fn prefix(&self, prefix: &Value<'_>) -> Result<Bounds> {
        self.check("prefix", self.key, prefix)?;
        let next = match prefix {
            Value::Bytes(bytes) => ambo::successor(bytes).map(|next| Value::Bytes(Cow::Owned(next))),
            // The order of texts is that of their bytes, and the next prefix may be no text: it is found by characters.
            Value::Text(text) => next_text(text).map(|next| Value::Text(Cow::Owned(next))),
            Value::Int(_) => return Err(Error::new(Class::Request, "integers have no prefixes")),
        };
        self.bounds(Bound::Included(prefix), next.as_ref().map_or(Bound::Unbounded, Bound::Excluded))
    }
}

/// The first text behind all that begin with a prefix.
fn next_text(prefix: &str) -> Option<String> {
    let mut letters: Vec<char> = prefix.chars().collect();
    while let Some(letter) = letters.pop() {
        // Behind the last letter before the surrogates comes the first behind them.
        let next = match letter {
            '\u{d7ff}' => Some('\u{e000}'),
            letter => char::from_u32(letter as u32 + 1),
        };
        if let Some(next) = next {
            letters.push(next);
            return Some(letters.into_iter().collect());
        }
    }
    None
}

#[cfg(all(test, feature = "sql"))]
mod tests {
    use super::*;

    fn text(text: &str) -> Value<'_> {
        Value::Text(Cow::Borrowed(text))
    }

    fn put(kv: &KeyValue, key: &Value<'_>, value: &Value<'_>) {
        let (key, value) = kv.stored(key, value).unwrap();
        kv.table().put(&key, &value).unwrap();
    }

    #[test]
    fn texts_and_integers_are_columns_of_sql() {
        let db = ambo_sql::Database::in_memory().unwrap();
        let kv = KeyValue::open(&db, "numbers", Kind::Int, Kind::Text).unwrap();
        for number in [-5, 7, 0] {
            put(&kv, &Value::Int(number), &text(&format!("n{number}")));
        }
        let names: Vec<String> = db
            .sql("select value from numbers order by key")
            .unwrap()
            .map(|row| row.unwrap().into_values().unwrap())
            .collect();
        assert_eq!(names, ["n-5", "n0", "n7"]);
        let view = View::Now(&db);
        let bounds = kv.bounds(Bound::Included(&Value::Int(-5)), Bound::Excluded(&Value::Int(7))).unwrap();
        assert_eq!(kv.count(view, bounds.clone()).unwrap(), 2);
        assert_eq!((kv.sum_keys(view, bounds.clone()).unwrap(), kv.sum_keys(view, ..).unwrap()), (-5, 2));
        let (key, value) = kv.scan(view, bounds).unwrap().next().unwrap().unwrap();
        assert_eq!(kv.pair(&key, &value).unwrap(), (Value::Int(-5), text("n-5")));
        let error = kv.stored_key(&text("7")).unwrap_err();
        assert_eq!(
            (error.class, &error.message[..]),
            (Class::Request, "a key of this table is int, not str")
        );
        let error = KeyValue::open(&db, "numbers", Kind::Text, Kind::Text).err().unwrap();
        let message = "table \"numbers\" is not one from str to str: it has other columns";
        assert_eq!((error.class, &error.message[..]), (Class::Request, message));
        assert!(db.check().unwrap().is_sound());
    }

    #[test]
    fn prefixes_end_before_what_comes_next() {
        let db = ambo_sql::Database::in_memory().unwrap();
        let texts = KeyValue::open(&db, "texts", Kind::Text, Kind::Int).unwrap();
        for key in ["", "a", "ab", "a\u{10ffff}", "b", "\u{d7ff}x", "\u{e000}", "\u{10ffff}z"] {
            put(&texts, &text(key), &Value::Int(0));
        }
        let count = |prefix: &str| texts.count(View::Now(&db), texts.prefix(&text(prefix)).unwrap()).unwrap();
        assert_eq!(["", "a", "a\u{10ffff}", "\u{d7ff}", "\u{10ffff}", "c"].map(count), [8, 3, 1, 1, 1, 0]);
        let bytes = KeyValue::open(&db, "bytes", Kind::Bytes, Kind::Bytes).unwrap();
        for key in [&b"\x01"[..], b"\x01\xff", b"\x02", b"\xff", b"\xff\xff\x00"] {
            put(&bytes, &Value::bytes(key), &Value::bytes(b""));
        }
        let count = |prefix: &[u8]| {
            bytes.count(View::Now(&db), bytes.prefix(&Value::bytes(prefix)).unwrap()).unwrap()
        };
        assert_eq!([&b"\x01"[..], b"\xff", b"\xff\xff", b""].map(count), [2, 2, 1, 5]);
    }
}
