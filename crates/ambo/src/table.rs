//! The table handle: single operations on keys and values.

use std::sync::Arc;

use ambo_engine::{
    catalog::{Catalog, TableDefinition},
    database::RowFormat,
    id::TableId,
};

use crate::{
    BulkLoad, Cursor, Database, Datum, KeyRange, Read, Result, Scan, Value, ValueReader, ValueWriter,
    check::RowChecks, definitions::Own, range::half_open,
};

/// A table of an open database. Clones are cheap.
///
/// Each operation here is a transaction of its own, committed when it returns; [`Database::begin`] ties several together.
/// Keys and values are bytes as they are stored; for tables of typed columns see the methods on rows, such as
/// [`Table::insert_row`].
#[derive(Clone)]
pub struct Table {
    db: Database,
    id: TableId,
    format: Arc<RowFormat>,
    /// The index that leads from the primary key to rows that are stored in another order.
    primary: Option<TableId>,
    checks: Checking,
    /// Where it is found, if that is where only a transaction looks.
    own: Option<Arc<Own>>,
}

/// Who holds rows to the checks of the table.
#[derive(Clone)]
enum Checking {
    /// This handle, to these or to what they have become since.
    Handle(Option<Arc<RowChecks>>),
    Caller,
}

impl Table {
    pub(crate) fn new(db: Database, id: TableId, definition: Arc<TableDefinition>) -> Result<Self> {
        let catalog = db.engine().current().catalog.clone();
        Self::seen(db, id, definition, &catalog, None)
    }

    /// A table of a catalog.
    pub(crate) fn seen(
        db: Database,
        id: TableId,
        definition: Arc<TableDefinition>,
        catalog: &Catalog,
        own: Option<Own>,
    ) -> Result<Self> {
        let primary = catalog.primary_index(id).map(|(index, _)| index);
        let checks = Checking::Handle(RowChecks::new(&definition, &definition));
        let format = Arc::new(RowFormat::new(definition)?);
        Ok(Self { db, id, format, primary, checks, own: own.map(Arc::new) })
    }

    /// The catalog where its indexes are found.
    pub(crate) fn catalog(&self) -> Arc<Catalog> {
        match &self.own {
            Some(own) => own.catalog.clone(),
            None => self.db.engine().current().catalog.clone(),
        }
    }

    /// Takes the next row number.
    pub(crate) fn take_row_number(&self) -> Result<u64> {
        match &self.own {
            Some(own) => Ok(own.shared.take_row_number()),
            None => Ok(self.db.engine().current().table(self.id)?.shared.take_row_number()),
        }
    }

    /// The number that the next row gets which is given none, of a table whose primary key numbers itself.
    ///
    /// # Errors
    /// The table was dropped.
    pub fn next_number(&self) -> Result<u64> {
        let shared = match &self.own {
            Some(own) => own.shared.clone(),
            None => self.db.engine().current().table(self.id)?.shared.clone(),
        };
        Ok(shared.next_row.load(std::sync::atomic::Ordering::Relaxed))
    }

    /// Makes later row numbers greater than `used`.
    pub(crate) fn note_row_number(&self, used: u64) -> Result<()> {
        match &self.own {
            Some(own) => own.shared.note_row_number(used),
            None => self.db.engine().current().table(self.id)?.shared.note_row_number(used),
        }
        Ok(())
    }

    pub(crate) fn without_checks(self) -> Self {
        Self { checks: Checking::Caller, ..self }
    }

    /// What rows are held to that are written through this handle.
    pub(crate) fn checks(&self) -> Result<Option<Arc<RowChecks>>> {
        let Checking::Handle(known) = &self.checks else { return Ok(None) };
        let catalog = self.catalog();
        let own = self.format.definition();
        // Without a table the write fails by itself.
        Ok(match catalog.table(self.id) {
            Some(current) if current.checks != own.checks => RowChecks::new(own, current),
            _ => known.clone(),
        })
    }

    pub(crate) fn primary(&self) -> Option<TableId> {
        self.primary
    }

    pub(crate) fn id(&self) -> TableId {
        self.id
    }

    pub(crate) fn format(&self) -> &Arc<RowFormat> {
        &self.format
    }

    /// The database that it belongs to.
    pub fn database(&self) -> &Database {
        &self.db
    }

    /// What the table is, as it was when this handle was made.
    pub fn definition(&self) -> &TableDefinition {
        self.format.definition()
    }

    /// Maps `key` to `value`.
    ///
    /// ```
    /// let db = ambo::Database::in_memory()?;
    /// let t = db.key_value("t")?;
    /// t.put(b"k", b"v")?;
    /// # Ok::<(), ambo::Error>(())
    /// ```
    ///
    /// # Errors
    /// [`Error::Invalid`](crate::Error::Invalid) above 64 KiB of key or 4 GiB of value.
    #[inline]
    pub fn put(&self, key: &[u8], value: &[u8]) -> Result<()> {
        self.check_stored(key, value)?;
        self.put_stored(key, value)
    }

    /// As [`Table::put`], of what is a row that the table allows.
    #[inline]
    pub(crate) fn put_stored(&self, key: &[u8], value: &[u8]) -> Result<()> {
        self.db.engine().put(self.id, key, value)
    }

    /// The value of `key`, where it lies: in the cache or in memory, without a copy.
    ///
    /// ```
    /// let db = ambo::Database::in_memory()?;
    /// let t = db.key_value("t")?;
    /// assert!(t.get(b"k")?.is_none());
    /// t.put(b"k", b"v")?;
    /// assert_eq!(t.get(b"k")?.unwrap(), b"v");
    /// # Ok::<(), ambo::Error>(())
    /// ```
    #[inline]
    pub fn get(&self, key: &[u8]) -> Result<Option<Value>> {
        self.db.engine().get(self.id, key)
    }

    /// Runs `read` on the value of `key`: the cheapest way to look at it.
    ///
    /// ```
    /// let db = ambo::Database::in_memory()?;
    /// let t = db.key_value("t")?;
    /// t.put(b"k", b"value")?;
    /// assert_eq!(t.get_with(b"k", |value| value.len())?, Some(5));
    /// # Ok::<(), ambo::Error>(())
    /// ```
    #[inline]
    pub fn get_with<R>(&self, key: &[u8], read: impl FnOnce(&[u8]) -> R) -> Result<Option<R>> {
        self.db.engine().get_with(self.id, key, read)
    }

    /// Whether `key` is there.
    pub fn contains(&self, key: &[u8]) -> Result<bool> {
        self.db.engine().contains(self.id, key)
    }

    /// Deletes `key`, whether or not it is there.
    #[inline]
    pub fn delete(&self, key: &[u8]) -> Result<()> {
        self.check_delete()?;
        self.db.engine().delete(self.id, key)
    }

    /// Deletes all rows of a range of keys at once, however many there are: one commit, which takes about as long as one of a single row.
    /// Whoever reads an older snapshot still has them; their space comes back with compactions.
    ///
    /// Rows are deleted one by one instead, in one transaction, where the table has indexes or is stored by column, where it is just being
    /// given another storage, and while any transaction holds a lock on a row.
    ///
    /// ```
    /// let db = ambo::Database::in_memory()?;
    /// let t = db.key_value("t")?;
    /// for key in ["2025-12", "2026-01", "2026-02"] {
    ///     t.put(key.as_bytes(), b"")?;
    /// }
    /// t.delete_range(.."2026")?;
    /// assert_eq!(t.len()?, 2);
    /// # Ok::<(), ambo::Error>(())
    /// ```
    ///
    /// # Errors
    /// [`Error::Invalid`](crate::Error::Invalid) for a table whose rows others refer to. Where rows are deleted one by one: the same if
    /// they are too many for a transaction, [`Error::Conflict`](crate::Error::Conflict) if others kept writing them.
    pub fn delete_range(&self, range: impl KeyRange) -> Result<()> {
        self.check_delete()?;
        let (lower, upper) = half_open(range.into_bounds());
        self.db.engine().delete_range(self.id, lower.as_deref().unwrap_or_default(), upper.as_deref())
    }

    /// The rows of a range in key order.
    ///
    /// ```
    /// let db = ambo::Database::in_memory()?;
    /// let t = db.key_value("t")?;
    /// for key in [b"a", b"b", b"c"] {
    ///     t.put(key, b"")?;
    /// }
    /// let keys: Vec<_> = t.scan("a".."c")?.rev().map(|row| row.map(|(key, _)| key)).collect::<Result<_, _>>()?;
    /// assert_eq!(keys, ["b", "a"]);
    /// # Ok::<(), ambo::Error>(())
    /// ```
    pub fn scan(&self, range: impl KeyRange) -> Result<Scan> {
        Read::scan(&self.db, self, range)
    }

    /// The rows whose keys begin with `prefix`.
    pub fn scan_prefix(&self, prefix: impl AsRef<[u8]>) -> Result<Scan> {
        Read::scan_prefix(&self.db, self, prefix)
    }

    /// A cursor over the table as it is now. It lends rows without copying.
    ///
    /// ```
    /// use ambo::Seek;
    /// let db = ambo::Database::in_memory()?;
    /// let t = db.key_value("t")?;
    /// t.put(b"k", b"v")?;
    /// let mut cursor = t.cursor()?;
    /// let mut there = cursor.seek(Seek::First)?;
    /// while there {
    ///     println!("{:?} {:?}", cursor.key().to_vec(), cursor.value()?);
    ///     there = cursor.next()?;
    /// }
    /// # Ok::<(), ambo::Error>(())
    /// ```
    pub fn cursor(&self) -> Result<Cursor> {
        Read::cursor(&self.db, self)
    }

    /// How many rows a range has. Records are not read; once the table is compacted, neither are most keys.
    pub fn count(&self, range: impl KeyRange) -> Result<u64> {
        Read::count(&self.db, self, range)
    }

    /// The sum of the keys of a range. The key is one integer. Records are not read, and keys that are compressed are summed
    /// as they are.
    ///
    /// ```
    /// # let dir = tempfile::tempdir()?;
    /// # let db = ambo::Database::open(dir.path())?;
    /// let squares = db.typed::<u32, u64>("squares")?;
    /// for n in 1..=100 {
    ///     squares.put(n, u64::from(n * n))?;
    /// }
    /// assert_eq!(squares.table().sum_keys(..)?, 5050);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// [`Error::Invalid`](crate::Error::Invalid) if the key is something else.
    pub fn sum_keys(&self, range: impl KeyRange) -> Result<i128> {
        Read::sum_keys(&self.db, self, range)
    }

    /// Reads columns of a column table: these, of rows that a [`Select`](crate::Select) leaves.
    ///
    /// # Errors
    /// [`Error::NotFound`](crate::Error::NotFound) if there is no such column.
    pub fn select(&self, columns: &[&str]) -> Result<crate::Select> {
        crate::Select::new(self, columns)
    }

    /// How many rows there are.
    pub fn len(&self) -> Result<u64> {
        self.count(..)
    }

    /// Whether there are no rows.
    pub fn is_empty(&self) -> Result<bool> {
        Ok(!self.cursor()?.seek(crate::Seek::First)?)
    }

    /// Begins a value of any length, written in parts and committed by [`ValueWriter::finish`].
    ///
    /// ```
    /// use std::io::{Read, Write};
    /// let db = ambo::Database::in_memory()?;
    /// let t = db.key_value("t")?;
    /// let mut writer = t.put_stream(b"film")?;
    /// writer.write_all(b"a lot of bytes")?;
    /// writer.finish()?;
    /// let mut reader = t.get_stream(b"film")?.expect("just written");
    /// let mut start = [0; 5];
    /// reader.read_exact(&mut start)?;
    /// assert_eq!((reader.len(), &start), (14, b"a lot"));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// [`Error::Invalid`](crate::Error::Invalid) for a table of typed columns, whose rows are written whole.
    pub fn put_stream(&self, key: &[u8]) -> Result<ValueWriter> {
        if !self.definition().is_raw() {
            return Err(crate::Error::Invalid(format!(
                "table \"{}\" has typed columns; write whole rows to it",
                self.definition().name
            )));
        }
        self.db.engine().put_stream(self.id, key)
    }

    /// Opens a value for reading in parts.
    pub fn get_stream(&self, key: &[u8]) -> Result<Option<ValueReader>> {
        self.db.engine().get_stream(self.id, key)
    }

    /// A row as it is stored: its key and its value, as [`Table::put`] takes them. For tables with a primary key, whose key and value a
    /// program keeps as columns.
    ///
    /// ```
    /// use ambo::{Datum, TableDefinition, Type};
    /// let db = ambo::Database::in_memory()?;
    /// let names = TableDefinition::new("names").column("key", Type::I64).column("value", Type::Utf8).primary_key(&["key"]);
    /// let names = db.create_table(names)?;
    /// let (key, value) = names.stored_row(&[Datum::I64(7), "seven".into()])?;
    /// names.put(&key, &value)?;
    /// assert_eq!(names.row_of(&key, &value)?, [Datum::I64(7), "seven".into()]);
    /// # Ok::<(), ambo::Error>(())
    /// ```
    ///
    /// # Errors
    /// [`Error::Invalid`](crate::Error::Invalid): no row of the table.
    pub fn stored_row(&self, row: &[Datum]) -> Result<(Vec<u8>, Vec<u8>)> {
        let row = crate::rows::fit_row(self, row)?;
        self.check_row(&row)?;
        Ok((self.format.encode_key(&row, 0)?, self.format.encode_row(&row)?))
    }

    /// The row that is stored as this key and value.
    ///
    /// # Errors
    /// [`Error::Damaged`](crate::Error::Damaged): bytes that are no row of the table.
    pub fn row_of(&self, key: &[u8], value: &[u8]) -> Result<Vec<Datum>> {
        self.format.decode(key, value)
    }

    /// Begins a bulk load: sorted rows straight to packed pages, visible and durable at once when it is finished.
    ///
    /// ```
    /// let db = ambo::Database::in_memory()?;
    /// let t = db.key_value("t")?;
    /// let mut load = t.bulk_load()?;
    /// for number in 0..1000u32 {
    ///     load.push(&number.to_be_bytes(), b"row")?;
    /// }
    /// assert_eq!(load.finish()?, 1000);
    /// # Ok::<(), ambo::Error>(())
    /// ```
    pub fn bulk_load(&self) -> Result<BulkLoad> {
        BulkLoad::new(self)
    }
}
