//! Compaction filters: functions of the program that say which rows of a table go.
//!
//! 1. A table names a filter, the options of the open database have it. Without one of the name all rows stay.
//! 2. What a filter removes is deleted, by commits as any other, up to a thousand rows each. So entries of indexes, postings and counts go
//!    with the rows, snapshots and readers beside see what they saw, the log and the feed tell of it, and nothing else knows of filters.
//! 3. A row is deleted as the filter saw it: if others wrote to it meanwhile the commit has a conflict, and the filter is asked again.
//! 4. A pass asks of all rows that are seen when it comes by, memtables included. It is cut into pieces, each at a moment of its own, so
//!    that nobody waits for pages and log that it holds.
//! 5. In the background a pass follows merges of the table, and takes an eighth of the time at most. `compact` and VACUUM make one.
//! 6. What a filter says that fails or panics is no answer: the pass ends with the error, and the rows that are left stay.

use std::{
    cell::OnceCell,
    collections::{BTreeMap, HashMap},
    fmt,
    panic::{AssertUnwindSafe, catch_unwind},
    sync::Arc,
    time::Duration,
};

use ambo_codec::Value as Datum;
use ambo_types::{Error, Result, TableDefinition, id::TableId};
use parking_lot::Mutex;

use super::{
    cursor::Seek,
    engine::Engine,
    table::RowFormat,
    transaction::{Isolation, Transaction},
    version::DatabaseVersion,
};

/// Rows that go with one commit.
const BATCH_ROWS: usize = 1024;
/// Rows that are looked at with one snapshot, and their bytes.
const PIECE_ROWS: usize = 16 << 10;
const PIECE_BYTES: usize = 16 << 20;
/// When so many rows one after the other are those that others write to, the rest waits for the next pass.
const BUSY_MAX: usize = 16;
/// In the background a table rests so many times as long as its last pass took.
const RESTS: i64 = 7;

/// Says which rows of a table stay.
///
/// It is asked of the same row again as long as that stays, by one thread at a time. It must not use the database: what it needs to know
/// it has.
pub trait RowFilter: Send + Sync {
    /// Whether the row stays. One that does not is deleted.
    ///
    /// # Errors
    /// The pass ends with the error, and the row stays.
    fn keeps(&self, row: &FilteredRow<'_>) -> Result<bool>;
}

impl<F: Fn(&FilteredRow<'_>) -> Result<bool> + Send + Sync> RowFilter for F {
    fn keeps(&self, row: &FilteredRow<'_>) -> Result<bool> {
        self(row)
    }
}

/// A row that a filter is asked about.
pub struct FilteredRow<'r> {
    format: &'r RowFormat,
    key: &'r [u8],
    stored: &'r [u8],
    values: OnceCell<Vec<Datum>>,
}

impl<'r> FilteredRow<'r> {
    fn new(format: &'r RowFormat, key: &'r [u8], stored: &'r [u8]) -> Self {
        Self { format, key, stored, values: OnceCell::new() }
    }

    /// The table that it is a row of.
    pub fn table(&self) -> &TableDefinition {
        self.format.definition()
    }

    /// The stored key; in a key-value table the key.
    pub fn key(&self) -> &'r [u8] {
        self.key
    }

    /// The row as it is stored; in a key-value table the value.
    pub fn stored(&self) -> &'r [u8] {
        self.stored
    }

    /// A value for each column.
    ///
    /// # Errors
    /// What is wrong with the stored row.
    pub fn values(&self) -> Result<&[Datum]> {
        if self.values.get().is_none() {
            let values = self.format.decode(self.key, self.stored)?;
            return Ok(self.values.get_or_init(|| values));
        }
        Ok(self.values.get().expect("it is there"))
    }

    /// The value of a column, by its name.
    ///
    /// # Errors
    /// [`Error::NotFound`] for a column that the table does not have.
    pub fn get(&self, column: &str) -> Result<&Datum> {
        let place = self.table().column_index(column).ok_or_else(|| {
            Error::NotFound(format!("column \"{column}\" of table \"{}\"", self.table().name))
        })?;
        Ok(&self.values()?[place])
    }
}

/// The filters that a program has registered, by their names.
#[derive(Clone, Default)]
pub struct Filters(BTreeMap<String, Arc<dyn RowFilter>>);

impl Filters {
    /// Adds a filter, in the place of one of the same name.
    pub fn register(&mut self, name: impl Into<String>, filter: impl RowFilter + 'static) {
        self.0.insert(name.into(), Arc::new(filter));
    }

    fn of(&self, table: &TableDefinition) -> Option<(&str, &Arc<dyn RowFilter>)> {
        let (name, filter) = self.0.get_key_value(table.compaction_filter.as_deref()?)?;
        Some((name, filter))
    }
}

impl fmt::Debug for Filters {
    fn fmt(&self, to: &mut fmt::Formatter<'_>) -> fmt::Result {
        to.debug_set().entries(self.0.keys()).finish()
    }
}

/// What is known of the filters of tables since the database was opened.
#[derive(Default)]
pub(super) struct Filtering {
    /// Held by who makes a pass.
    pass: Mutex<()>,
    tables: Mutex<HashMap<TableId, Passes>>,
}

#[derive(Default)]
struct Passes {
    /// Whether the table was merged since the last pass began.
    is_merged: bool,
    /// Until when the background leaves it alone.
    rests_until: Option<i64>,
    removed: u64,
    error: Option<String>,
}

/// How a table and its filter get on.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct FilterInfo {
    /// The table.
    pub table: String,
    /// The filter that it names.
    pub filter: String,
    /// Whether the program has registered it. All rows stay as long as it has not.
    pub is_registered: bool,
    /// Rows that it has removed since the database was opened.
    pub removed: u64,
    /// What went wrong in the last pass.
    pub error: Option<String>,
}

impl Filtering {
    /// Counts a merge of a table that names a filter.
    pub(super) fn note_merged(&self, id: TableId, definition: Option<&Arc<TableDefinition>>) {
        if definition.is_some_and(|definition| definition.compaction_filter.is_some()) {
            self.tables.lock().entry(id).or_default().is_merged = true;
        }
    }
}

impl Engine {
    /// Asks the filters of all tables that have one which rows go, and deletes those. Returns how many.
    ///
    /// # Errors
    /// What a filter said, or what stopped a commit. Rows that went before are gone.
    pub fn apply_filters(self: &Arc<Self>) -> Result<u64> {
        let version = self.current();
        let tables = version.catalog.tables();
        let is_damaged = |id| version.tables.get(&id).is_none_or(|table| table.damage.is_some());
        let has_filter = |table: &Arc<TableDefinition>| self.options.filters.of(table).is_some();
        let filtered = tables.filter(|(id, table)| has_filter(table) && !is_damaged(*id));
        let ids: Vec<_> = filtered.map(|(id, _)| id).collect();
        drop(version);
        ids.into_iter().try_fold(0, |rows, id| Ok(rows + self.apply_filter(id)?))
    }

    /// The same of the table of this name.
    ///
    /// # Errors
    /// As [`Engine::apply_filters`]; [`Error::Invalid`] for a table that names no filter, [`Error::NotFound`] for a filter that is not
    /// registered.
    pub fn apply_filter_of(self: &Arc<Self>, name: &str) -> Result<u64> {
        let version = self.current();
        let (id, definition) = version.catalog.find(name)?;
        let Some(filter) = &definition.compaction_filter else {
            return Err(Error::Invalid(format!("table \"{}\" has no compaction filter", definition.name)));
        };
        if self.options.filters.of(definition).is_none() {
            return Err(Error::NotFound(format!(
                "the compaction filter \"{filter}\" of table \"{}\": the program has not registered it",
                definition.name
            )));
        }
        drop(version);
        self.apply_filter(id)
    }

    /// Those of tables that were merged since they were asked last.
    pub(super) fn apply_filters_due(self: &Arc<Self>) -> Result<u64> {
        let merged = |passes: &Passes| passes.is_merged;
        self.filters_that(merged).into_iter().try_fold(0, |rows, id| Ok(rows + self.apply_filter(id)?))
    }

    /// The same in the background, where a table rests after its pass. Returns how long it takes until more is due. What goes wrong is
    /// told by [`Engine::info`]: merges and writes go on.
    pub(super) fn filter_and_report(self: &Arc<Self>) -> Option<Duration> {
        let is_due =
            |passes: &Passes, now| passes.is_merged && passes.rests_until.is_none_or(|until| until <= now);
        let now = self.now();
        for id in self.filters_that(|passes| is_due(passes, now)) {
            // It is kept with the table.
            let _ = self.apply_filter(id);
        }
        let now = self.now();
        let tables = self.filtering.tables.lock();
        let waits = tables.values().filter(|passes| passes.is_merged).filter_map(|passes| passes.rests_until);
        waits.min().map(|until| Duration::from_micros(until.saturating_sub(now).max(0) as u64))
    }

    /// Tables whose filter is registered and of which this is so. Others are forgotten.
    fn filters_that(&self, is_so: impl Fn(&Passes) -> bool) -> Vec<TableId> {
        let version = self.versions.load();
        let mut tables = self.filtering.tables.lock();
        tables.retain(|id, _| {
            version.catalog.table(*id).is_some_and(|table| self.options.filters.of(table).is_some())
        });
        let mut ids: Vec<_> = tables.iter().filter(|(_, passes)| is_so(passes)).map(|(id, _)| *id).collect();
        ids.sort_unstable();
        ids
    }

    fn apply_filter(self: &Arc<Self>, id: TableId) -> Result<u64> {
        self.check_writable()?;
        let _pass = self.filtering.pass.lock();
        let begin = self.now();
        self.filtering.tables.lock().entry(id).or_default().is_merged = false;
        let mut removed = 0;
        let passed = self.pass(id, &mut removed);
        let end = self.now();
        let mut tables = self.filtering.tables.lock();
        let passes = tables.entry(id).or_default();
        passes.removed += removed;
        passes.rests_until = Some(end.saturating_add((end - begin).saturating_mul(RESTS)));
        passes.error = passed.as_ref().err().map(Error::to_string);
        passed.map(|()| removed)
    }

    /// Looks at all rows of a table, piece by piece.
    fn pass(self: &Arc<Self>, id: TableId, removed: &mut u64) -> Result<()> {
        let (mut from, mut most, mut busy) = (Vec::new(), BATCH_ROWS, 0);
        while !self.signals.is_stopped() {
            match self.filter_piece(id, &from, most)? {
                Piece::Done { gone, next } => {
                    *removed += gone;
                    let Some(next) = next else { break };
                    (from, most) = (next, (most * 4).min(BATCH_ROWS));
                    busy = if gone > 0 { 0 } else { busy };
                }
                Piece::Busy { .. } if most > 1 => most /= 4,
                Piece::Busy { first } => {
                    busy += 1;
                    if busy == BUSY_MAX {
                        break;
                    }
                    // Others write to it. The next key is the least that is greater.
                    from = first;
                    from.push(0);
                }
            }
        }
        Ok(())
    }

    /// Asks about rows from a key on, and deletes up to so many.
    fn filter_piece(self: &Arc<Self>, id: TableId, from: &[u8], most: usize) -> Result<Piece> {
        const OVER: Piece = Piece::Done { gone: 0, next: None };
        let mut tx = Transaction::new(self, Isolation::Snapshot)?;
        // Whoever has locked a row is not waited for.
        tx.set_lock_timeout(Some(Duration::ZERO));
        let Some(definition) = tx.catalog().table(id).cloned() else { return Ok(OVER) };
        let Some((name, filter)) = self.options.filters.of(&definition) else { return Ok(OVER) };
        let asked = Asked { name, filter, format: RowFormat::new(definition.clone())? };
        let Found { rows, next } = match asked.find(&tx, id, from, most) {
            // It was dropped while it was read.
            Err(Error::NotFound(_)) if self.versions.load().table(id).is_err() => return Ok(OVER),
            found => found?,
        };
        let Some((first, _)) = rows.first() else { return Ok(Piece::Done { gone: 0, next }) };
        let (first, gone) = (first.clone(), rows.len() as u64);
        for (key, row) in &rows {
            tx.delete_stored(id, key, row)?;
        }
        tx.removes_by_filter(id, name);
        match tx.commit() {
            Ok(_) => Ok(Piece::Done { gone, next }),
            Err(error) if error.is_retryable() => Ok(Piece::Busy { first }),
            Err(Error::NotFound(_)) => Ok(OVER),
            Err(error) => Err(error),
        }
    }

    /// What is known of the filters of all tables that name one.
    pub(super) fn filters_info(&self, version: &DatabaseVersion) -> Vec<FilterInfo> {
        let passes = self.filtering.tables.lock();
        let of = |(id, table): (TableId, &Arc<TableDefinition>)| {
            let passes = passes.get(&id);
            Some(FilterInfo {
                table: table.name.clone(),
                filter: table.compaction_filter.clone()?,
                is_registered: self.options.filters.of(table).is_some(),
                removed: passes.map_or(0, |passes| passes.removed),
                error: passes.and_then(|passes| passes.error.clone()),
            })
        };
        version.catalog.tables().filter_map(of).collect()
    }
}

/// What became of a part of a pass.
enum Piece {
    /// So many rows are gone, and the next begins there.
    Done { gone: u64, next: Option<Vec<u8>> },
    /// Others write to one of the rows that were to go, of which this is the first.
    Busy { first: Vec<u8> },
}

/// Rows that are to go, and where the next piece begins.
struct Found {
    rows: Vec<(Vec<u8>, Vec<u8>)>,
    next: Option<Vec<u8>>,
}

/// A filter and the table that it is asked about.
struct Asked<'f> {
    name: &'f str,
    filter: &'f Arc<dyn RowFilter>,
    format: RowFormat,
}

impl Asked<'_> {
    fn find(&self, tx: &Transaction, id: TableId, from: &[u8], most: usize) -> Result<Found> {
        let mut cursor = tx.cursor(id)?;
        let mut there = cursor.seek(Seek::Ge(from))?;
        let (mut rows, mut looked, mut bytes) = (Vec::new(), 0, 0);
        while there && rows.len() < most && looked < PIECE_ROWS && bytes < PIECE_BYTES {
            let (key, row) = cursor.row()?;
            if !self.keeps(key, row)? {
                rows.push((key.to_vec(), row.to_vec()));
            }
            looked += 1;
            bytes += key.len() + row.len();
            there = cursor.next()?;
        }
        Ok(Found { rows, next: there.then(|| cursor.key().to_vec()) })
    }

    fn keeps(&self, key: &[u8], row: &[u8]) -> Result<bool> {
        let row = FilteredRow::new(&self.format, key, row);
        let asked = catch_unwind(AssertUnwindSafe(|| self.filter.keeps(&row)));
        let answer = asked.unwrap_or_else(|_| Err(Error::Invalid("it panicked".into())));
        let said = |what: &str| {
            format!("the compaction filter \"{}\" of table \"{}\": {what}", self.name, row.table().name)
        };
        answer.map_err(|error| match error {
            Error::Invalid(what) => Error::Invalid(said(&what)),
            Error::NotFound(what) => Error::NotFound(said(&what)),
            error => error,
        })
    }
}

/// Fails if another filter, or none, says which rows of a table go than did when they were looked at.
pub(super) fn check_filter(now: &DatabaseVersion, id: TableId, name: &str) -> Result<()> {
    now.table(id)?;
    let definition = now.catalog.table(id).expect("the table is there");
    match definition.compaction_filter.as_deref() == Some(name) {
        true => Ok(()),
        false => {
            Err(Error::Conflict("the compaction filter of a table was changed while it was asked".into()))
        }
    }
}
