//! Bulk loads of column tables: columns straight into segments, by several threads, all of them or none.
//!
//! Any number of [`LoadWriter`]s sort, encode and write what they are given, each in its thread; [`ColumnLoad::finish`] sees to it that
//! each key is there once and publishes the segments with one checkpoint (`load_publish`). Until then nobody sees a row, and whoever drops
//! the load or crashes leaves nothing: files that no checkpoint names are removed.
//!
//! A load is one commit: it reads nothing while it runs, and at its end it counts as committed at one timestamp. Why so: decision 0014.

use std::{
    collections::HashSet,
    sync::{
        Arc,
        atomic::{AtomicBool, AtomicU64},
    },
};

use ambo_codec::{Value, ValueRef};
use ambo_pages::sync::Ordering;
use ambo_types::{Error, Result, TableDefinition, id::TableId};
use parking_lot::Mutex;

use crate::catalog::Object;

use super::{bulk_change::Change, engine::Engine, version::TableShared};
use ambo_base::column::{ChunkOptions, ChunkWriter, ColumnSchema, Duplicates, LoadedPart, SEGMENT_ROWS_MAX};
use ambo_scan::ColumnBuffer;

/// How to load.
#[derive(Clone, Debug)]
pub struct LoadOptions {
    /// What is done about rows with the key of another row of the load, or of the table.
    pub duplicates: Duplicates,
    /// Memory for rows that are not written yet, of all writers together, in bytes.
    pub memory_bytes: u64,
    /// Threads that compare keys at the end.
    pub threads: usize,
    /// Set to end the load early: whatever is called next answers [`Error::Cancelled`].
    pub cancel: Arc<AtomicBool>,
}

impl Default for LoadOptions {
    fn default() -> Self {
        let threads = std::thread::available_parallelism().map_or(1, usize::from);
        Self { duplicates: Duplicates::Refuse, memory_bytes: 512 << 20, threads, cancel: Arc::default() }
    }
}

/// What a load did.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Loaded {
    /// Rows that are in the table now.
    pub rows: u64,
    /// Rows of the load that were left out, because another had their key.
    pub left_out: u64,
    /// Rows of the table that gave way.
    pub replaced: u64,
}

/// The longest row: it is in memory as a whole while it is written.
const ROW_BYTES_MAX: usize = 256 << 20;

/// What the writers of a load share.
pub(super) struct Shared {
    pub(super) engine: Arc<Engine>,
    pub(super) table: TableId,
    pub(super) options: LoadOptions,
    /// Set if rows are changed that are there, and none are added.
    pub(super) change: Option<Change>,
    of_table: Arc<TableShared>,
    pub(super) definition: Arc<TableDefinition>,
    /// The stored columns that are brought: all of the table, or those of its key.
    schema: Arc<ColumnSchema>,
    chunks: Arc<ChunkOptions>,
    /// The memory of one writer.
    budget: Arc<AtomicU64>,
    rows: AtomicU64,
    /// What becomes known with the rows, in the same moment.
    pub(super) told: Mutex<Option<Object>>,
    state: Mutex<LoadState>,
}

#[derive(Default)]
struct LoadState {
    writers_begun: u64,
    writers_open: u64,
    /// A writer did not come to its end, so rows are missing.
    is_broken: bool,
    parts: Vec<LoadedPart>,
    left_out: u64,
}

/// A load under way. Dropped before `finish`, it never was.
pub struct ColumnLoad {
    shared: Arc<Shared>,
}

/// Takes the rows of one thread. Rows of a writer that was made later count as later ones.
pub struct LoadWriter {
    pub(super) shared: Arc<Shared>,
    chunk: Option<ChunkWriter>,
    /// Stored rows on their way to the chunk.
    pub(super) gathered: Option<Vec<ColumnBuffer>>,
    /// Rows so far.
    rows: u64,
    /// Numbers for rows with a hidden key.
    numbers: std::ops::Range<u64>,
    is_finished: bool,
}

impl Engine {
    /// Begins a load into a column table.
    ///
    /// # Errors
    /// [`Error::Invalid`] for a table of other storage, or one whose keys may have several rows.
    pub fn column_load(self: &Arc<Self>, table: TableId, options: LoadOptions) -> Result<ColumnLoad> {
        self.load_into(table, options, None)
    }

    pub(super) fn load_into(
        self: &Arc<Self>,
        table: TableId,
        options: LoadOptions,
        change: Option<Change>,
    ) -> Result<ColumnLoad> {
        self.check_writable()?;
        let version = self.versions.load_full();
        let of_table = version.table(table)?.shared.clone();
        let definition = version.catalog.table(table).expect("the table is there").clone();
        let invalid = |what: String| Err(Error::Invalid(format!("table \"{}\" {what}", definition.name)));
        let Some(schema) = of_table.schema.clone() else {
            let storage = definition.storage.name();
            return invalid(format!(
                "is of storage {storage}; columns are loaded into tables of storage column"
            ));
        };
        if definition.duplicates {
            return invalid("may have several rows of one key, in an order that a load does not know".into());
        }
        let schema = match &change {
            Some(change) => change.brought(schema),
            None => schema,
        };
        let chunks = ChunkOptions {
            store: self.segments.clone(),
            schema: schema.clone(),
            duplicates: options.duplicates,
            cancel: options.cancel.clone(),
        };
        let shared = Shared {
            engine: self.clone(),
            table,
            change,
            of_table,
            definition,
            schema,
            chunks: Arc::new(chunks),
            budget: Arc::new(AtomicU64::new(options.memory_bytes)),
            rows: AtomicU64::new(0),
            told: Mutex::default(),
            state: Mutex::default(),
            options,
        };
        Ok(ColumnLoad { shared: Arc::new(shared) })
    }
}

impl ColumnLoad {
    /// A writer, for one thread.
    pub fn writer(&self) -> LoadWriter {
        let shared = &self.shared;
        let mut state = shared.state.lock();
        let order = state.writers_begun;
        state.writers_begun += 1;
        state.writers_open += 1;
        debug_assert!(state.writers_open <= state.writers_begun, "a writer that is open was begun");
        shared.share_budget(&state);
        let chunk = ChunkWriter::new(shared.chunks.clone(), order, shared.budget.clone());
        let mut writer = LoadWriter {
            shared: shared.clone(),
            chunk: Some(chunk),
            gathered: None,
            rows: 0,
            numbers: 0..0,
            is_finished: false,
        };
        // Under the lock, so that rows are numbered in the order of their writers.
        if shared.definition.has_hidden_key() && shared.change.is_none() {
            writer.take_numbers();
        }
        writer
    }

    /// Rows that writers have taken so far.
    pub fn rows(&self) -> u64 {
        self.shared.rows.load(Ordering::Relaxed)
    }

    /// Publishes the rows: from now on they are there, and stay. Every writer is to be finished.
    ///
    /// # Errors
    /// [`Error::Exists`] with a key that is there already, or twice in the load, if that is refused. [`Error::Cancelled`]. After
    /// any error there is nothing of the load.
    pub fn finish(self) -> Result<Loaded> {
        self.finish_telling(None)
    }

    /// The same, and puts an object into the catalog with the rows, in the place of one of its kind and name: both, or neither. Without
    /// rows the object alone.
    pub fn finish_telling(self, told: Option<Object>) -> Result<Loaded> {
        let shared = self.shared;
        if shared.needs_free_keys()? {
            let now = shared.change.as_ref().and_then(Change::now).unwrap_or_else(|| shared.engine.now());
            shared.engine.purge_expired_at(shared.table, now)?;
        }
        *shared.told.lock() = told;
        let mut state = shared.state.lock();
        if state.is_broken || state.writers_open > 0 {
            return Err(Error::Invalid(
                "a load is finished although one of its writers was not; nothing is loaded".into(),
            ));
        }
        let (parts, left_out) = (std::mem::take(&mut state.parts), state.left_out);
        drop(state);
        let rows: u64 = parts.iter().map(|loaded| u64::from(loaded.part.rows())).sum();
        let orders: HashSet<_> = parts.iter().map(|loaded| loaded.order).collect();
        debug_assert_eq!(orders.len(), parts.len(), "each segment of a load has a place of its own");
        assert_eq!(rows + left_out, shared.rows.load(Ordering::Relaxed), "each row is in a part or left out");
        shared.publish_parts(parts, left_out)
    }
}

impl Shared {
    /// Whether rows of the table that have expired may be in the way of others: their keys are free.
    fn needs_free_keys(&self) -> Result<bool> {
        let version = self.engine.current();
        let table = version.table(self.table)?;
        let refuses = self.options.duplicates != Duplicates::KeepLast && !self.definition.has_hidden_key();
        let is_unique = table.indexes.iter().any(|index| index.format.of().unique);
        Ok(table.shared.expiry.is_some() && (refuses || is_unique))
    }

    /// Every writer may have the same.
    fn share_budget(&self, state: &LoadState) {
        let share = self.options.memory_bytes / state.writers_open.max(1);
        self.budget.store(share, Ordering::Relaxed);
    }

    pub(super) fn schema(&self) -> &Arc<ColumnSchema> {
        &self.schema
    }

    pub(super) fn invalid<T>(&self, what: String) -> Result<T> {
        Err(Error::Invalid(format!("table \"{}\": {what}", self.definition.name)))
    }

    pub(super) fn check_cancelled(&self) -> Result<()> {
        match self.options.cancel.load(Ordering::Relaxed) {
            true => Err(Error::Cancelled),
            false => Ok(()),
        }
    }

    /// That the columns are rows of the table, whose first has the number `first` in messages.
    pub(super) fn check(&self, columns: &[ColumnBuffer], first: u64) -> Result<()> {
        let expected = self.definition.columns.len();
        if columns.len() != expected {
            return self.invalid(format!("it has {expected} columns, and {} were given", columns.len()));
        }
        let rows = columns[0].len();
        for (place, (column, buffer)) in self.definition.columns.iter().zip(columns).enumerate() {
            let name = &column.name;
            if buffer.ty() != column.kind || buffer.len() != rows {
                return self.invalid(format!(
                    "column \"{name}\" is of type {}; {} values of type {} were given for {rows} rows",
                    column.kind,
                    buffer.len(),
                    buffer.ty()
                ));
            }
            if buffer.nulls() > 0 && !column.nullable && !self.definition.numbers_itself(place) {
                let row = (0..rows).position(|row| !buffer.is_valid(row)).unwrap_or(0) as u64;
                return self
                    .invalid(format!("row {}, column \"{name}\": NULL in a column without", first + row));
            }
            if let Some((row, value)) = buffer.first_beyond_precision() {
                return self.invalid(format!(
                    "row {}, column \"{name}\": {value} does not fit type {}",
                    first + row as u64,
                    column.kind
                ));
            }
        }
        let text: usize = columns.iter().map(ColumnBuffer::data_bytes).sum();
        if text > ROW_BYTES_MAX {
            let row_bytes = |row| columns.iter().map(|column| column.text_len(row)).sum::<usize>();
            if let Some(row) = (0..rows).find(|row| row_bytes(*row) > ROW_BYTES_MAX) {
                return self.invalid(format!(
                    "row {} has {} bytes; a column table takes up to {ROW_BYTES_MAX}",
                    first + row as u64,
                    row_bytes(row)
                ));
            }
        }
        Ok(())
    }
}

impl LoadWriter {
    /// How many rows it has taken.
    pub fn rows(&self) -> u64 {
        self.rows
    }

    /// Takes rows: a buffer for each column of the table, in its order. Rows are numbered from 1 in messages.
    ///
    /// # Errors
    /// [`Error::Invalid`] for values that the table cannot have, naming row and column; [`Error::Exists`] for a key that came before,
    /// if that is refused and noticed already. Nothing of the load can be kept then.
    pub fn push(&mut self, columns: Vec<ColumnBuffer>) -> Result<()> {
        self.push_numbered(columns, self.rows + 1)
    }

    /// As [`LoadWriter::push`], the first of the rows being number `first` in messages.
    pub fn push_numbered(&mut self, columns: Vec<ColumnBuffer>, first: u64) -> Result<()> {
        if self.shared.change.is_some() {
            return self.shared.invalid("new rows are given to a change of rows".into());
        }
        let stored = self.shared.check(&columns, first).and_then(|()| self.stored(columns, None));
        self.push_stored(stored)
    }

    /// Is of no use from now on: nothing of the load can be kept.
    pub fn fail(&mut self) {
        self.chunk = None;
    }

    /// Takes the stored columns of rows, if they could be made. A writer is of no use any more when something failed.
    pub(super) fn push_stored(&mut self, stored: Result<Vec<ColumnBuffer>>) -> Result<()> {
        let Some(mut chunk) = self.chunk.take() else {
            return self.shared.invalid("a writer of a load that failed is used again".into());
        };
        let stored = stored?;
        chunk.push(&stored)?;
        self.chunk = Some(chunk);
        let rows = stored[0].len() as u64;
        self.rows += rows;
        self.shared.rows.fetch_add(rows, Ordering::Relaxed);
        Ok(())
    }

    /// Writes what is left. Dropped without, the writer keeps the whole load from being finished.
    pub fn finish(mut self) -> Result<()> {
        self.push_gathered()?;
        let Some(chunk) = self.chunk.take() else {
            return self.shared.invalid("a writer of a load that failed is finished".into());
        };
        let (parts, left_out) = chunk.finish()?;
        let mut state = self.shared.state.lock();
        state.parts.extend(parts);
        state.left_out += left_out;
        drop(state);
        self.is_finished = true;
        Ok(())
    }

    /// The stored columns, in their order. `numbers` are those of the rows; without, rows that need one are given the next.
    pub(super) fn stored(
        &mut self,
        columns: Vec<ColumnBuffer>,
        numbers: Option<ColumnBuffer>,
    ) -> Result<Vec<ColumnBuffer>> {
        let shared = self.shared.clone();
        let schema = &shared.schema;
        let rows = columns[0].len();
        let mut stored = schema.buffers();
        if let Some(numbers) = numbers {
            stored[shared.definition.key.len()] = numbers;
        } else if shared.definition.has_hidden_key() {
            for _ in 0..rows {
                if self.numbers.is_empty() {
                    self.take_numbers();
                }
                let number = self.numbers.next().expect("some were taken");
                // Behind the columns of a sort key, if there is one.
                stored[shared.definition.key.len()].push(ValueRef::U64(number)).map_err(unstorable)?;
            }
        }
        for (index, buffer) in columns.into_iter().enumerate() {
            stored[schema.place(index)] = buffer;
        }
        schema.fill_dropped(&mut stored, rows).map_err(unstorable)?;
        debug_assert!(
            stored.iter().zip(schema.types()).all(|(buffer, ty)| buffer.len() == rows && buffer.ty() == *ty),
            "each stored column is there"
        );
        if shared.definition.auto_increment {
            let place = schema.place(shared.definition.primary_columns()[0]);
            number_keys(&shared.of_table, &mut stored[place])?;
        }
        stored[..schema.key_columns()].iter_mut().for_each(ColumnBuffer::make_canonical);
        Ok(stored)
    }

    fn take_numbers(&mut self) {
        debug_assert!(self.numbers.is_empty(), "numbers are used before others are taken");
        let count = SEGMENT_ROWS_MAX as u64;
        let first = self.shared.of_table.next_row.fetch_add(count, Ordering::Relaxed);
        self.numbers = first..first + count;
    }
}

impl Drop for LoadWriter {
    fn drop(&mut self) {
        if !self.numbers.is_empty() {
            // Numbers that were not needed are given to others, if nobody took some since.
            let next = &self.shared.of_table.next_row;
            let (from, to) = (self.numbers.end, self.numbers.start);
            let _ = next.compare_exchange(from, to, Ordering::Relaxed, Ordering::Relaxed);
        }
        let mut state = self.shared.state.lock();
        state.writers_open -= 1;
        state.is_broken |= !self.is_finished;
        self.shared.share_budget(&state);
    }
}

fn unstorable(error: ambo_codec::Error) -> Error {
    Error::Invalid(error.to_string())
}

/// Gives the next numbers to keys that are NULL, and notes those that are not.
fn number_keys(table: &TableShared, keys: &mut ColumnBuffer) -> Result<()> {
    let ty = keys.ty();
    let mut numbered = ColumnBuffer::new(ty);
    for row in 0..keys.len() {
        let key = keys.get(row).map_err(unstorable)?;
        let key = match key.is_null() {
            true => Value::U64(table.take_row_number())
                .fit(ty)
                .map_err(|_| Error::Invalid("the auto-increment key has no more numbers".into()))?,
            false => {
                if let Some(used) = key.as_u64() {
                    table.note_row_number(used);
                }
                key.to_value()
            }
        };
        numbered.push(key.as_ref()).map_err(unstorable)?;
    }
    debug_assert!(numbered.len() == keys.len() && numbered.nulls() == 0, "each row has a number");
    *keys = numbered;
    Ok(())
}
