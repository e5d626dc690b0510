//! Tables of native keys and values.

use std::marker::PhantomData;

use crate::{Database, Datum, Error, Result, Rows, Table, TableDefinition, TableOptions, Type};

/// A Rust type that a column holds as it is.
pub trait Native: Sized {
    /// The column's type.
    const TYPE: Type;
    /// The value for the column.
    fn into_datum(self) -> Datum;
    /// The value from the column; `None` if it is of another type.
    fn from_datum(datum: Datum) -> Option<Self>;
}

macro_rules! native {
    ($($rust:ty => $variant:ident),* $(,)?) => {
        $(impl Native for $rust {
            const TYPE: Type = Type::$variant;
            fn into_datum(self) -> Datum {
                Datum::$variant(self)
            }
            fn from_datum(datum: Datum) -> Option<Self> {
                match datum {
                    Datum::$variant(value) => Some(value),
                    _ => None,
                }
            }
        })*
    };
}

native! {
    bool => Bool, i8 => I8, i16 => I16, i32 => I32, i64 => I64, u8 => U8, u16 => U16, u32 => U32, u64 => U64,
    f32 => F32, f64 => F64, String => Utf8, Vec<u8> => Binary,
}

/// A table from `K` to `V`, in the order of `K`. See [`Database::typed`].
pub struct TypedTable<K, V> {
    table: Table,
    types: PhantomData<fn(K) -> V>,
}

impl<K: Native, V: Native> TypedTable<K, V> {
    pub(crate) fn open(db: &Database, name: &str, options: &TableOptions) -> Result<Self> {
        let wanted =
            TableDefinition::new(name).column("key", K::TYPE).column("value", V::TYPE).primary_key(&["key"]);
        let table = match db.create_table(options.apply(wanted.clone())) {
            Err(Error::Exists(_)) => db.table(name)?,
            Err(error) => {
                return db.table(name).map_err(|_| error).and_then(|table| Self::checked(table, &wanted));
            }
            Ok(table) => table,
        };
        Self::checked(table, &wanted)
    }

    fn checked(table: Table, wanted: &TableDefinition) -> Result<Self> {
        let there = table.definition();
        if there.columns != wanted.columns || there.key != wanted.key || there.is_raw() {
            let types: Vec<_> = there.columns.iter().map(|column| column.kind.to_string()).collect();
            return Err(Error::Invalid(format!(
                "table \"{}\" is not from {} to {}: its columns are {}",
                there.name,
                K::TYPE,
                V::TYPE,
                types.join(", ")
            )));
        }
        Ok(Self { table, types: PhantomData })
    }

    /// The table itself, for transactions and scans of bytes.
    pub fn table(&self) -> &Table {
        &self.table
    }

    /// Maps `key` to `value`.
    pub fn put(&self, key: K, value: V) -> Result<()> {
        let row = [key.into_datum(), value.into_datum()];
        let stored = self.table.format().encode_key(&row, 0)?;
        self.table.check_row(&row)?;
        self.table.put_stored(&stored, &self.table.format().encode_row(&row)?)
    }

    /// The value of `key`.
    pub fn get(&self, key: K) -> Result<Option<V>> {
        let stored = self.table.format().encode_key_values(&[key.into_datum()], 0)?;
        let Some(value) = self.table.get(&stored)? else { return Ok(None) };
        Ok(Some(Self::split(self.table.format().decode(&stored, &value)?)?.1))
    }

    /// Deletes `key`, whether or not it is there.
    pub fn delete(&self, key: K) -> Result<()> {
        self.table.delete(&self.table.format().encode_key_values(&[key.into_datum()], 0)?)
    }

    /// All pairs in the order of their keys.
    pub fn iter(&self) -> Result<impl Iterator<Item = Result<(K, V)>> + use<K, V>> {
        let rows: Rows = self.table.rows()?;
        Ok(rows.map(|row| Self::split(row?)))
    }

    fn split(row: Vec<Datum>) -> Result<(K, V)> {
        let mut row = row.into_iter();
        let mut next = || row.next().unwrap_or(Datum::Null);
        match (K::from_datum(next()), V::from_datum(next())) {
            (Some(key), Some(value)) => Ok((key, value)),
            _ => Err(Error::Invalid("a row whose values are not of the table's types".into())),
        }
    }
}
