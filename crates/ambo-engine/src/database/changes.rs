//! What was committed since a moment, in order, each commit once.
//!
//! 1. It is read from the log, as far as that is kept (`Options::keep_log_bytes`), up to a moment that is fixed at the beginning. The log
//!    is synced first: what is handed out survives a crash, so a later timestamp never comes to mean another commit.
//! 2. Every timestamp between two commits that the log does not have is told of: a load or a bulk change, which goes past the log, a commit
//!    to tables without a log alone, or one that failed for lack of space. A load has an empty transaction in the log. Whoever follows
//!    tables that are loaded reads them anew then.
//! 3. Entries of indexes, and rows of tables that are gone by now, are left out.
//! 4. A long value is in the log by reference only. Where its pages still belong to the row it is read from there.

use std::{collections::VecDeque, sync::Arc};

use ambo_pages::log::{LoggedChanges, Operations};
use ambo_types::{
    Error, Result,
    id::{TableId, Timestamp},
    record::{Record, RecordKind},
};

use super::{
    engine::{Engine, NEWEST},
    expiry::Moment,
    notes::NOTES_TABLE,
    ranges::{RANGES_TABLE, TableRange},
    version::DatabaseVersion,
};
use crate::catalog::CATALOG_TABLE;

/// What happened at a moment.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Change {
    /// A commit.
    Commit {
        /// When.
        timestamp: Timestamp,
        /// Ranges of keys that it deleted as such. What rows they had is not in the log.
        ranges: Vec<RangeChange>,
        /// The rows that it wrote, in order.
        rows: Vec<RowChange>,
        /// Whether it changed definitions.
        defines: bool,
    },
    /// Commits that the log does not have, if there were any.
    Unlogged {
        /// The first of their timestamps.
        first: Timestamp,
        /// The last.
        last: Timestamp,
    },
}

/// A row that was written.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RowChange {
    /// Its table.
    pub table: TableId,
    /// Its stored key.
    pub key: Vec<u8>,
    /// What became of it.
    pub value: ChangedValue,
}

/// A range of keys that was deleted.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RangeChange {
    /// Their table.
    pub table: TableId,
    /// The first stored key in it.
    pub lower: Vec<u8>,
    /// The first stored key behind it; none if there is no end.
    pub upper: Option<Vec<u8>>,
}

/// What became of a row.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ChangedValue {
    /// It has this value.
    Written(Vec<u8>),
    /// It is gone.
    Deleted,
    /// It has a value that was too long for the log, and that is elsewhere by now: it was compacted, or replaced by a later commit.
    Elsewhere,
}

/// The commits after one moment, up to another.
pub struct ChangeFeed {
    engine: Arc<Engine>,
    log: LoggedChanges,
    read: ReadChanges,
}

/// What was read of the log, up to a moment. After an error the group that it was in is read again: what is here of it does not come twice.
struct ReadChanges {
    ready: VecDeque<Change>,
    /// All up to here was handed out, or is ready.
    last: Timestamp,
    until: Timestamp,
}

impl ReadChanges {
    fn new(after: Timestamp, until: Timestamp) -> Self {
        debug_assert!(after <= until, "a feed goes on");
        Self { ready: VecDeque::new(), last: after, until }
    }

    /// Takes what the log has at a moment: a commit, if it is one that wrote something.
    fn take(&mut self, at: Timestamp, commit: Option<impl FnOnce() -> Result<Change>>) -> Result<()> {
        if at <= self.last || at > self.until {
            return Ok(());
        }
        let Some(commit) = commit else {
            self.pass(at);
            return Ok(());
        };
        self.pass(Timestamp(at.0 - 1));
        let commit = commit()?;
        debug_assert_eq!(self.last.0 + 1, at.0, "each moment comes once, in order");
        self.ready.push_back(commit);
        self.last = at;
        Ok(())
    }

    /// Goes on to a moment up to which the log has nothing.
    fn pass(&mut self, to: Timestamp) {
        if to > self.last {
            self.ready.push_back(Change::Unlogged { first: Timestamp(self.last.0 + 1), last: to });
            self.last = to;
        }
    }
}

impl Engine {
    /// What was committed after `after`, up to now. What is committed meanwhile comes with the next feed, after [`ChangeFeed::until`].
    ///
    /// # Errors
    /// [`Error::NotFound`] if the log does not reach back so far, [`Error::Invalid`] for a moment that is to come, or if opened read-only.
    pub fn changes_since(self: &Arc<Self>, after: Timestamp) -> Result<ChangeFeed> {
        self.check_writable()?;
        let published = self.pipeline.publisher.published();
        if after > published {
            return Err(Error::Invalid(format!("changes after {after}; the newest commit is {published}")));
        }
        // What comes after the last commit of the log is not durable yet, and may come to be another.
        let logged = self.pipeline.with_log(|log| Ok(log.last_ts()))?;
        let until = published.min(logged).max(after);
        self.pipeline.sync_all()?;
        let log = self.pipeline.with_log(|log| log.changes_after(after))?;
        Ok(ChangeFeed { engine: self.clone(), log, read: ReadChanges::new(after, until) })
    }
}

impl ChangeFeed {
    /// Everything up to this moment is in it.
    pub fn until(&self) -> Timestamp {
        self.read.until
    }

    /// The next commit, or what stands for some; none at the end.
    ///
    /// # Errors
    /// [`Error::Damaged`] if the log, or a long value, cannot be read.
    #[expect(clippy::should_implement_trait, reason = "it fails, and is read again where it failed")]
    pub fn next(&mut self) -> Result<Option<Change>> {
        loop {
            if let Some(change) = self.read.ready.pop_front() {
                return Ok(Some(change));
            }
            let version = self.engine.current();
            let Self { log, read, .. } = self;
            let there = log.read_group(&mut |at, operations| {
                let mut all = operations.clone();
                let is_commit =
                    all.any(|operation| !operation.is_ok_and(|operation| operation.table == NOTES_TABLE));
                read.take(at, is_commit.then_some(|| commit(&version, at, operations)))
            })?;
            if !there {
                read.pass(read.until);
                return Ok(read.ready.pop_front());
            }
        }
    }
}

/// A commit as the log has it.
fn commit(version: &DatabaseVersion, timestamp: Timestamp, operations: Operations<'_>) -> Result<Change> {
    let (mut rows, mut ranges, mut defines) = (Vec::new(), Vec::new(), false);
    for operation in operations {
        let operation = operation?;
        if operation.table == RANGES_TABLE {
            let range = TableRange::decode(&operation).ok_or_else(|| {
                Error::damaged(
                    "log",
                    0,
                    format!("the transaction {timestamp} deletes a range that cannot be read"),
                )
            })?;
            if version.catalog.table(range.table).is_some() {
                let (lower, upper) = (range.lower.to_vec(), range.upper.map(<[u8]>::to_vec));
                ranges.push(RangeChange { table: range.table, lower, upper });
            }
            continue;
        }
        if operation.table == NOTES_TABLE {
            continue;
        }
        if operation.table == CATALOG_TABLE {
            defines = true;
            continue;
        }
        let Some(definition) = version.catalog.table(operation.table) else { continue };
        if definition.index.is_some() {
            continue;
        }
        rows.push(RowChange {
            table: operation.table,
            key: operation.key.to_vec(),
            value: value(version, operation.table, operation.key, operation.record)?,
        });
    }
    Ok(Change::Commit { timestamp, ranges, rows, defines })
}

fn value(version: &DatabaseVersion, table: TableId, key: &[u8], record: Record<'_>) -> Result<ChangedValue> {
    match record.kind {
        RecordKind::Inline => {
            let value = version.table(table).map_or(record.bytes, |table| table.shown(record.bytes));
            Ok(ChangedValue::Written(value.to_vec()))
        }
        RecordKind::Tombstone => Ok(ChangedValue::Deleted),
        RecordKind::Blob => {
            // Pages of a value that was replaced may be those of another by now.
            let of = version.table(table)?;
            let found = of.find(key, Moment::all(NEWEST))?;
            let is_there = found.is_some_and(|found| {
                found.record().kind == RecordKind::Blob && found.record().bytes == record.bytes
            });
            match is_there {
                true => {
                    let value = Engine::load_blob(version, table, record.bytes)?;
                    Ok(ChangedValue::Written(of.shown(&value).to_vec()))
                }
                false => Ok(ChangedValue::Elsewhere),
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    // Keeps away: commits that come twice, because one behind them in their group could not be read at first.
    #[test]
    fn what_is_read_again_comes_once() {
        let mut read = ReadChanges::new(Timestamp(2), Timestamp(7));
        let commit =
            |at| Change::Commit { timestamp: Timestamp(at), ranges: vec![], rows: vec![], defines: false };
        let mut take = |at: u64, fails: bool| {
            let commit = || match fails {
                true => Err(Error::Invalid("a value that cannot be read".into())),
                false => Ok(commit(at)),
            };
            read.take(Timestamp(at), Some(commit))
        };
        take(3, false).unwrap();
        take(5, true).unwrap_err();
        for at in [3, 5, 6, 8] {
            take(at, false).unwrap();
        }
        read.pass(read.until);
        let nothing = |first, last| Change::Unlogged { first: Timestamp(first), last: Timestamp(last) };
        assert_eq!(read.ready, [commit(3), nothing(4, 4), commit(5), commit(6), nothing(7, 7)]);
    }
}
