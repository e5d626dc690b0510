//! Changes of any number of rows of a column table: one commit without a transaction, and without memory for each row.
//!
//! What is changed goes the way of a load: whole rows that take the places of those with their keys, or keys alone, whose rows are deleted.
//! Unlike a load a change rests on what was read, at the moment of a snapshot, so it is held to the rules of a transaction that began
//! there:
//!
//! 1. If somebody else has changed one of its rows since, it fails with a conflict: the first committer wins. Commits since are known one
//!    by one from memtables, which are kept as long as the snapshot lives, or the change fails as well.
//! 2. It waits for row locks that others hold on its rows.
//!
//! Nobody else waits for it but for the moment in which it is published (`load_publish`).

use std::sync::Arc;

use ambo_scan::ColumnBuffer;

use ambo_base::column::{ColumnSchema, ColumnSet, CursorRows, Duplicates, Finder, LoadedParts};
use ambo_codec::Type;
use ambo_types::{
    Error, Result,
    id::{TableId, Timestamp},
};

use super::{
    engine::Engine,
    load::{ColumnLoad, LoadOptions, LoadWriter, Shared},
    snapshot::Snapshot,
    version::TableVersion,
};
use crate::memtable::Memtable;

/// Stored rows that are given one by one go on as columns together.
const GATHERED_ROWS: usize = 8192;

/// What becomes of the rows.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum BulkChange {
    /// They are replaced by those that are brought: whole rows with the keys that they had.
    Update,
    /// They go; their keys are brought.
    Delete,
}

/// A change, for the load that brings it.
pub(super) struct Change {
    pub what: BulkChange,
    /// Where the rows were read.
    since: Snapshot,
}

impl Change {
    /// The stored columns that are brought of a table with these.
    pub fn brought(&self, schema: Arc<ColumnSchema>) -> Arc<ColumnSchema> {
        let columns = schema.key_columns();
        let brought = match self.what {
            BulkChange::Update => schema,
            BulkChange::Delete => Arc::new(schema.key_only()),
        };
        debug_assert_eq!(brought.key_columns(), columns, "keys are brought whole");
        brought
    }

    /// When rows expire that were not read.
    pub fn now(&self) -> Option<i64> {
        self.since.now()
    }

    /// When the rows were read.
    pub fn since(&self) -> Timestamp {
        self.since.timestamp()
    }
}

impl Engine {
    /// Begins a change of rows of a column table that were read in a snapshot of the database. Each row comes once; of several with a key
    /// the last counts.
    ///
    /// The change is finished as a load is, with [`Error::Conflict`] if others have changed one of the rows since.
    ///
    /// # Errors
    /// As [`Engine::column_load`].
    pub fn column_change(
        self: &Arc<Self>,
        table: TableId,
        what: BulkChange,
        since: Snapshot,
        options: LoadOptions,
    ) -> Result<ColumnLoad> {
        let options = LoadOptions { duplicates: Duplicates::KeepLast, ..options };
        self.load_into(table, options, Some(Change { what, since }))
    }
}

impl LoadWriter {
    /// Takes rows of a change: of an update a buffer for each column of the table, of a deletion one for each column of its key in the
    /// key's order; and the numbers of rows that have one ([`ambo_types::TableDefinition::is_numbered`]). The first of them is row
    /// `first` in messages.
    ///
    /// # Errors
    /// As [`LoadWriter::push`].
    pub fn push_changed(
        &mut self,
        columns: Vec<ColumnBuffer>,
        numbers: Option<ColumnBuffer>,
        first: u64,
    ) -> Result<()> {
        let Some(change) = &self.shared.change else {
            return self.shared.invalid("changed rows are given to a load".into());
        };
        let stored = match change.what {
            BulkChange::Update => (self.shared.check(&columns, first))
                .and_then(|()| self.shared.check_numbers(numbers.as_ref(), columns[0].len()))
                .and_then(|()| self.stored(columns, numbers)),
            BulkChange::Delete => self.shared.keys(columns, numbers),
        };
        self.push_stored(stored)
    }

    /// Takes a row of a change as it is stored; of a deletion the key is enough.
    ///
    /// # Errors
    /// [`Error::Invalid`] for a row that the table's columns cannot hold.
    pub fn push_row(&mut self, key: &[u8], row: &[u8]) -> Result<()> {
        match self.gather(key, row) {
            Ok(rows) if rows < GATHERED_ROWS => Ok(()),
            Ok(_) => self.push_gathered(),
            Err(error) => self.push_stored(Err(error)),
        }
    }

    fn gather(&mut self, key: &[u8], row: &[u8]) -> Result<usize> {
        let (change, schema) = (&self.shared.change, self.shared.schema());
        let gathered = self.gathered.get_or_insert_with(|| schema.buffers());
        let pushed = match change.as_ref().map(|change| change.what) {
            Some(BulkChange::Update) => {
                schema.check(key, row)?;
                schema.push(key, row, gathered)
            }
            Some(BulkChange::Delete) => schema.push_key(key, gathered),
            None => return self.shared.invalid("a stored row is given to a load".into()),
        };
        pushed.map_err(|error| Error::Invalid(error.to_string()))?;
        debug_assert!(
            gathered.iter().all(|buffer| buffer.len() == gathered[0].len()),
            "each column has each row"
        );
        Ok(gathered[0].len())
    }

    pub(super) fn push_gathered(&mut self) -> Result<()> {
        match self.gathered.take() {
            Some(gathered) => self.push_stored(Ok(gathered)),
            None => Ok(()),
        }
    }
}

impl Shared {
    /// The stored columns of keys.
    pub(super) fn keys(
        &self,
        columns: Vec<ColumnBuffer>,
        numbers: Option<ColumnBuffer>,
    ) -> Result<Vec<ColumnBuffer>> {
        let definition = &self.definition;
        let types = definition.key.iter().map(|&column| definition.columns[column].kind);
        let mut keys = columns;
        let rows = keys.first().or(numbers.as_ref()).map_or(0, ColumnBuffer::len);
        let fits = types.eq(keys.iter().map(ColumnBuffer::ty))
            && keys.iter().all(|column| column.nulls() == 0 && column.len() == rows);
        if !fits {
            return self.invalid("keys of rows are to be deleted that are none of this table".into());
        }
        self.check_numbers(numbers.as_ref(), rows)?;
        keys.extend(numbers);
        keys.iter_mut().for_each(ColumnBuffer::make_canonical);
        debug_assert!(
            keys.iter().map(ColumnBuffer::ty).eq(self.schema().types().iter().copied()),
            "a key's columns"
        );
        Ok(keys)
    }

    /// That there is a number for each of `rows` rows, if rows of the table have one.
    pub(super) fn check_numbers(&self, numbers: Option<&ColumnBuffer>, rows: usize) -> Result<()> {
        let fits = match numbers {
            Some(numbers) => {
                self.definition.is_numbered()
                    && numbers.ty() == Type::U64
                    && numbers.len() == rows
                    && numbers.nulls() == 0
            }
            None => !self.definition.is_numbered(),
        };
        match fits {
            true => Ok(()),
            false => self.invalid("rows are to be changed without the numbers that tell them apart".into()),
        }
    }

    /// The hash of a row lock that somebody holds on a row that others' rows or keys are brought for.
    pub(super) fn locked(&self, parts: &LoadedParts, set: &ColumnSet) -> Result<Option<u64>> {
        let locks = &self.engine.row_locks;
        if !locks.any() || self.options.duplicates != Duplicates::KeepLast {
            return Ok(None);
        }
        for mut cursor in Arc::new(parts.alone(set)).cursors(CursorRows::Keys) {
            let mut there = cursor.seek_first()?;
            while there {
                let hash = Engine::row_hash(self.table, cursor.key());
                if locks.blocked(hash, None) {
                    return Ok(Some(hash));
                }
                there = cursor.next()?;
            }
        }
        Ok(None)
    }
}

/// That nobody has committed to the rows of a change since they were read, as far as memtables say that were flushed already.
///
/// # Errors
/// [`Error::Conflict`].
pub(super) fn check_flushed(
    table: &TableVersion,
    parts: &LoadedParts,
    set: &ColumnSet,
    since: Timestamp,
) -> Result<()> {
    table.check_history(since)?;
    let rows = parts.alone(set);
    let mut finder = Finder::new(&rows);
    for memtable in &table.retired {
        check_memtable(memtable, &mut finder, since)?;
    }
    Ok(())
}

fn check_memtable(memtable: &Memtable, finder: &mut Finder<'_>, since: Timestamp) -> Result<()> {
    if !memtable.is_later_than(since) {
        return Ok(());
    }
    let mut cursor = memtable.cursor();
    let mut there = cursor.seek_first();
    while there {
        let newest = cursor.newest().timestamp;
        if newest > since && finder.find(cursor.key())?.is_some() {
            return Err(Error::Conflict(
                "a row that was to be changed was changed by a transaction that committed first".into(),
            ));
        }
        there = cursor.next();
    }
    Ok(())
}
