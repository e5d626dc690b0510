//! Rows that a table keeps for a time: parts of its base all of whose rows are older go as a whole.
//!
//! 1. A part goes when the bounds of all its pages say that each row has a time and that the newest is too old. No row is read for that,
//!    and none is looked for: rows stay until all that lie with them are too old.
//! 2. What goes is one commit, as a load is. Snapshots from before see the rows, and keep the files.
//! 3. Entries of indexes go with their rows. So all that was written to the table is compacted first, and what is written meanwhile to one
//!    of the rows puts it off.

use std::sync::Arc;

use ambo_base::{
    BaseOps,
    column::{ColumnRun, ColumnSet, Exchanged, Finder, Part, exchanged},
};
use ambo_codec::{Type, Value, column::Kind};
use ambo_types::{Error, Expiry, Records, Result, TableDefinition, id::TableId};

use super::{
    checkpoint::Turnover,
    engine::Engine,
    index_loads::{IndexRuns, LoadedRows},
    index_rows::SetRows,
    version::TableVersion,
    version_edit::{TableEdit, VersionEdit},
};

/// How often others may get in between.
const TRIES: usize = 3;
/// Nobody commits while rows of memtables are looked up, so there must be few.
const LOOKED_UP_MAX: usize = 4096;
const DAY: i64 = 86_400_000_000;

impl Engine {
    /// Drops the rows that tables keep no longer, as far as they lie together. Returns how many.
    pub fn drop_expired(&self) -> Result<u64> {
        self.drop_expired_at(self.now())
    }

    /// The same as if it were `now`, in microseconds since 1970.
    pub fn drop_expired_at(&self, now: i64) -> Result<u64> {
        let version = self.versions.load_full();
        let kept_for_a_time = |id: &TableId| {
            let definition = version.catalog.table(*id);
            definition.is_some_and(|definition| {
                definition.records.retention.is_some()
                    || (definition.expires() && definition.storage.traits().by_column)
            })
        };
        let ids: Vec<_> = version.tables.keys().copied().filter(kept_for_a_time).collect();
        drop(version);
        ids.into_iter().try_fold(0, |rows, id| Ok(rows + self.drop_expired_of(id, now)?))
    }

    fn drop_expired_of(&self, id: TableId, now: i64) -> Result<u64> {
        self.check_writable()?;
        for _ in 0..TRIES {
            {
                let version = self.versions.load();
                let Some(table) = version.tables.get(&id).filter(|table| !table.is_held) else {
                    return Ok(0);
                };
                let definition = version.catalog.table(id).expect("the table is there");
                if split(table, definition, now).is_none() {
                    return Ok(0);
                }
            }
            let _loading = self.loading.lock();
            self.flush()?;
            let _merging_segments = self.merging_segments.lock();
            let _merging = self.merging.lock();
            self.compact_runs(id)?;
            if let Some(rows) = self.try_drop_expired(id, now)? {
                return Ok(rows);
            }
        }
        // They are as old the next time.
        Ok(0)
    }

    /// How many rows went; none if something was in the way.
    fn try_drop_expired(&self, id: TableId, now: i64) -> Result<Option<u64>> {
        let table = self.kept_table(id)?;
        let version = self.versions.load_full();
        let definition = version.catalog.table(id).expect("the table is there");
        if table.is_held {
            return Ok(Some(0));
        }
        let Some(Split { old, left, gone }) = split(&table, definition, now) else { return Ok(Some(0)) };
        let come = left.minus(&left);
        let rows = LoadedRows {
            new: &SetRows::new(&come, &table.indexes),
            gone: &SetRows::new(&gone, &table.indexes),
            after: &|key| left.get(key),
            threads: 1,
        };
        let runs = match self.index_runs(&version, &table, rows, &self.cancel_merge) {
            // An index is being built: they are as old when it is there.
            Err(Error::Conflict(_)) => return Ok(Some(0)),
            runs => runs?,
        };
        let dropped = gone.live_rows();
        let published = self.publish_expired(id, definition, &old, (left, &gone), &runs);
        if !matches!(published, Ok(true)) {
            self.give_back_runs(&version, runs);
        }
        Ok(published?.then_some(dropped))
    }

    fn publish_expired(
        &self,
        id: TableId,
        definition: &TableDefinition,
        old: &Arc<ColumnSet>,
        (left, gone): (ColumnSet, &ColumnSet),
        runs: &IndexRuns,
    ) -> Result<bool> {
        let Exchanged { retired, new_segments, old_segments } = exchanged(old, &left);
        debug_assert!(new_segments.is_empty(), "rows go, none come");
        let turnover = Turnover { retired, old_segments, ..Turnover::default() };
        let locks = self.lock_checkpoint().latched().quiet()?;
        let now = locks.version();
        let table = now.table(id)?;
        let same =
            |now: &Arc<TableDefinition>| (now.expiry, now.records) == (definition.expiry, definition.records);
        if !now.catalog.table(id).is_some_and(same) {
            return Ok(false);
        }
        let is_old = table.base.columns().is_some_and(|columns| Arc::ptr_eq(columns, old));
        if !is_old || table.is_held || !runs.fit(now, table) || !table.runs.is_empty() || meets(table, gone)?
        {
            return Ok(false);
        }
        let mut edit = VersionEdit { is_commit: true, ..VersionEdit::checkpoint(turnover) };
        edit.table(id, TableEdit::LoadBase(left.into()));
        runs.install(&mut edit);
        self.apply(locks, edit)?;
        Ok(true)
    }
}

/// Whether a row that goes was written to, so that entries of indexes may be those of the newer row.
fn meets(table: &TableVersion, gone: &ColumnSet) -> Result<bool> {
    let memtables =
        || std::iter::once(&table.active).chain(&table.frozen).filter(|memtable| !memtable.is_empty());
    if memtables().map(|memtable| memtable.rows()).sum::<usize>() > LOOKED_UP_MAX {
        return Ok(true);
    }
    let mut finder = Finder::new(gone);
    for memtable in memtables() {
        let mut cursor = memtable.cursor();
        let mut there = cursor.seek_first();
        while there {
            if finder.find(cursor.key())?.is_some() {
                return Ok(true);
            }
            there = cursor.next();
        }
    }
    Ok(false)
}

/// A set, and what becomes of it.
struct Split {
    old: Arc<ColumnSet>,
    left: ColumnSet,
    gone: ColumnSet,
}

/// The parts of a table that are too old, and the others; none if none is.
fn split(table: &TableVersion, definition: &TableDefinition, now: i64) -> Option<Split> {
    let old = table.base.columns()?.clone();
    let ends: Vec<_> = ends(definition, &old, now).collect();
    let is_too_old = |part: &Part| ends.iter().any(|end| end.is_behind(part));
    if !old.parts().any(is_too_old) {
        return None;
    }
    let chosen = |wanted: bool| {
        let of = |run: &ColumnRun| {
            let parts = run.parts.iter().filter(|part| is_too_old(part) == wanted).cloned().collect();
            ColumnRun { parts }
        };
        let runs = old.runs().iter().map(of).filter(|run| !run.parts.is_empty()).collect();
        ColumnSet::new(old.store().clone(), old.schema().clone(), runs)
    };
    let (left, gone) = (chosen(false), chosen(true));
    assert_eq!(left.live_rows() + gone.live_rows(), old.live_rows(), "each row stays or goes");
    Some(Split { left, gone, old })
}

/// Until when rows are too old, by the times in a stored column.
struct End {
    place: usize,
    kind: Type,
    /// In microseconds since 1970: those before it go.
    before: i64,
    /// Whether all of a day has to be over, or its midnight.
    whole_days: bool,
}

/// Those of a table that are said.
fn ends(definition: &TableDefinition, set: &ColumnSet, now: i64) -> impl Iterator<Item = End> {
    let end = |column: usize, micros: u64, whole_days: bool| {
        let before = now.checked_sub_unsigned(micros)?.saturating_add(i64::from(!whole_days));
        Some(End {
            place: set.schema().place(column),
            kind: definition.columns.get(column)?.kind,
            before,
            whole_days,
        })
    };
    let Records { retention, time, .. } = definition.records;
    let kept = retention.zip(time).and_then(|(retention, time)| end(time, retention.micros, true));
    let Expiry { ttl, column, .. } = definition.expiry;
    // A row has expired that is just so old.
    let expires = ttl.zip(column).and_then(|(ttl, column)| end(column, ttl.micros, false));
    kept.into_iter().chain(expires)
}

impl End {
    fn is_behind(&self, part: &Part) -> bool {
        newest(part, self.place, self.kind, self.whole_days).is_some_and(|newest| newest < self.before)
    }
}

/// When the newest of the rows is of, in microseconds since 1970; none if that is not known of all.
fn newest(part: &Part, place: usize, kind: Type, whole_days: bool) -> Option<i64> {
    let directory = part.segment.directory();
    let column = directory.columns.get(place)?;
    let newest = |block: &ambo_base::column::directory::BlockEntry| {
        let bounds = block.bounds.as_ref().filter(|_| block.nulls == 0)?;
        match (bounds.values(Kind::of(kind))?.1, kind) {
            (Value::I32(day), Type::Date32) if whole_days => {
                Some((i64::from(day) + 1).saturating_mul(DAY) - 1)
            }
            (Value::I32(day), Type::Date32) => Some(i64::from(day).saturating_mul(DAY)),
            (Value::I64(micros), Type::Timestamp | Type::TimestampTz) => Some(micros),
            _ => None,
        }
    };
    column.blocks.iter().map(newest).try_fold(i64::MIN, |most, newest| Some(most.max(newest?)))
}
