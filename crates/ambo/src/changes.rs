//! What was committed since a moment: for caches, searches and copies that follow a database.

use std::sync::Arc;

use ambo_engine::database::{Change, ChangeFeed, ChangedValue, RangeChange, RowChange, RowFormat};

use crate::{Database, Result, Row, TableDefinition, Timestamp};

/// What happened at a moment.
#[derive(Clone, Debug)]
pub enum Committed {
    /// A commit.
    Commit {
        /// When.
        timestamp: Timestamp,
        /// Ranges of keys that [`Table::delete_range`](crate::Table::delete_range) deleted. It came before the rows.
        ranges: Vec<CommittedRange>,
        /// The rows that it wrote, in order. Rows of tables that are dropped by now are left out.
        rows: Vec<CommittedRow>,
        /// Whether it changed definitions.
        defines: bool,
    },
    /// Commits that the log does not have: loads and bulk changes of column tables, which go past it; commits to tables without a log
    /// alone; some that failed. Who follows such tables reads them anew.
    Unlogged {
        /// The first of their timestamps.
        first: Timestamp,
        /// The last.
        last: Timestamp,
    },
}

/// A range of keys that was deleted, whatever rows it had.
#[derive(Clone, Debug)]
pub struct CommittedRange {
    /// Its table, as it is now.
    pub table: Arc<TableDefinition>,
    /// The first stored key in it.
    pub lower: Vec<u8>,
    /// The first stored key behind it; none if there is no end.
    pub upper: Option<Vec<u8>>,
}

/// A row that was written.
#[derive(Clone, Debug)]
pub struct CommittedRow {
    /// Its table, as it is now.
    pub table: Arc<TableDefinition>,
    /// The values of the table's key, in the order of its columns; a hidden number stands at the end.
    pub key: Row,
    /// What became of it.
    pub fate: Fate,
}

/// What became of a row.
#[derive(Clone, Debug, PartialEq)]
pub enum Fate {
    /// It has these values.
    Written(Row),
    /// It is gone.
    Deleted,
    /// It is too long for the log (1 MiB), and was compacted or replaced since. Read it; if it is gone, a later commit says so.
    Elsewhere,
}

/// The commits after one moment, up to another, in order.
pub struct Changes {
    feed: ChangeFeed,
    db: Database,
    /// The table that was seen last.
    format: Option<(ambo_engine::id::TableId, RowFormat)>,
    has_failed: bool,
}

impl Database {
    /// What was committed after a moment, up to now, in order. Each commit comes once: whoever keeps [`Changes::until`] with what was made
    /// of them goes on from there, also after a crash, for what is handed out is durable.
    ///
    /// The log has it, so that must be kept: [`Options::keep_log_bytes`](crate::Options::keep_log_bytes) says how much of it. Begin with a
    /// [snapshot](Database::snapshot): read the tables at its moment, and follow from there.
    ///
    /// ```
    /// # let dir = tempfile::tempdir()?;
    /// use ambo::{Committed, Fate, Options};
    /// let db = Options::new().keep_log_bytes(1 << 30).open(dir.path())?;
    /// let users = db.key_value("users")?;
    /// let begin = db.snapshot().timestamp();
    /// users.put(b"ada", b"Ada Lovelace")?;
    /// users.delete(b"ada")?;
    ///
    /// let mut changes = db.changes_since(begin)?;
    /// let mut fates = Vec::new();
    /// for change in &mut changes {
    ///     if let Committed::Commit { rows, .. } = change? {
    ///         fates.extend(rows.into_iter().map(|row| row.fate));
    ///     }
    /// }
    /// let ada = Fate::Written(vec![b"ada".as_slice().into(), b"Ada Lovelace".as_slice().into()]);
    /// assert_eq!(fates, [ada, Fate::Deleted]);
    /// assert!(db.changes_since(changes.until())?.next().is_none());
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// [`Error::NotFound`](crate::Error::NotFound) if the log does not reach back so far; [`Error::Invalid`](crate::Error::Invalid) for a
    /// moment that is to come, and where the database is opened read-only.
    pub fn changes_since(&self, moment: Timestamp) -> Result<Changes> {
        let feed = self.engine().changes_since(moment)?;
        Ok(Changes { feed, db: self.clone(), format: None, has_failed: false })
    }
}

impl Changes {
    /// Everything up to this moment is in it: begin the next with it.
    pub fn until(&self) -> Timestamp {
        self.feed.until()
    }

    fn committed(&mut self, change: Change) -> Result<Committed> {
        Ok(match change {
            Change::Unlogged { first, last } => Committed::Unlogged { first, last },
            Change::Commit { timestamp, ranges, rows, defines } => {
                let catalog = self.db.engine().current().catalog.clone();
                let range = |range: RangeChange| {
                    let table = catalog.table(range.table)?.clone();
                    Some(CommittedRange { table, lower: range.lower, upper: range.upper })
                };
                let ranges = ranges.into_iter().filter_map(range).collect();
                let mut of_commit = Vec::with_capacity(rows.len());
                for row in &rows {
                    of_commit.extend(self.row(row)?);
                }
                Committed::Commit { timestamp, ranges, rows: of_commit, defines }
            }
        })
    }

    fn row(&mut self, row: &RowChange) -> Result<Option<CommittedRow>> {
        let catalog = self.db.engine().current().catalog.clone();
        let Some(definition) = catalog.table(row.table) else { return Ok(None) };
        let is_known =
            |(id, format): &(_, RowFormat)| *id == row.table && Arc::ptr_eq(format.definition(), definition);
        if !self.format.as_ref().is_some_and(is_known) {
            self.format = Some((row.table, RowFormat::new(definition.clone())?));
        }
        let (_, format) = self.format.as_ref().expect("it was just made");
        let fate = match &row.value {
            ChangedValue::Written(value) => Fate::Written(format.decode(&row.key, value)?),
            ChangedValue::Deleted => Fate::Deleted,
            ChangedValue::Elsewhere => Fate::Elsewhere,
        };
        Ok(Some(CommittedRow { table: definition.clone(), key: format.decode_key(&row.key)?, fate }))
    }
}

impl Iterator for Changes {
    type Item = Result<Committed>;

    fn next(&mut self) -> Option<Self::Item> {
        if self.has_failed {
            return None;
        }
        let next = self.feed.next().transpose()?;
        let committed = next.and_then(|change| self.committed(change));
        self.has_failed = committed.is_err();
        Some(committed)
    }
}
