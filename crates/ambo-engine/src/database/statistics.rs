//! Statistics of a table at a moment, from what is known without looking at its rows: for those who choose between plans.
//!
//! Directories of segments bound the values of each column; trees and memtables are counted. Of what is newer than the compacted part up to
//! a thousand rows are looked at, so that the figures stay bounds after a few writes; with more newer rows little is known of columns until
//! they are compacted. Where an index has postings in files its leaves say how many rows answer a condition, and how many values a column
//! has, exactly for rows in segments. Where a figure is called *exact*, a scan at that moment would find it. In a serializable transaction
//! nothing is: statistics are no reads that are checked when it commits.

use std::{collections::HashMap, sync::Arc};

use ambo_base::{BaseOps, column::SetColumn};
use ambo_codec::Value;
use ambo_scan::Filter;
use ambo_types::{
    Error, Result, TableDefinition,
    id::{TableId, Timestamp},
    record::RecordKind,
};
use parking_lot::Mutex;

use super::{
    count::{compacted_count, count, newer_rows},
    cursor::{Cover, MergedCursor, Seek},
    expiry::Moment,
    scan::stored_filters,
    snapshot::Snapshot,
    table::RowFormat,
    transaction::Transaction,
    version::{DatabaseVersion, TableVersion},
};
use crate::transaction::write_set::TableWrites;

/// With at most so many newer rows they are looked up in the compacted part, so that the number of rows is exact.
const LOOKED_UP_MAX: u64 = 64;
/// At most so many newer rows are looked at.
const LOOKED_AT_MAX: u64 = 1024;
/// With more newer rows than these, or deleted ones in segments, the ends of the table are not looked for: many may be gone there.
const ENDS_MAX: u64 = 64 << 10;
/// An estimate is made again when the table has grown or shrunk by this share of its rows.
const OUTDATED_SHARE: u64 = 10;

/// A figure, and whether it is what a scan would find.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Figure<T> {
    /// The figure.
    pub value: T,
    /// Whether it is no bound or estimate.
    pub is_exact: bool,
}

/// What is known of the values of a column.
#[derive(Clone, PartialEq, Debug)]
pub struct ColumnStatistics {
    /// Rows without a value; if not exact, at most so many.
    pub nulls: Figure<u64>,
    /// No value is less. None if that is not known, or there is no value.
    pub min: Option<Figure<Value>>,
    /// No value is greater. As `min`.
    pub max: Option<Figure<Value>>,
    /// How many different values there are, if that is known; if not exact, an estimate. See [`Snapshot::sample_distinct`].
    pub distinct: Option<Figure<u64>>,
    /// Bytes of its blocks in segments; none in a table of other storage.
    pub bytes: Option<u64>,
}

/// What is known of a table.
#[derive(Clone, PartialEq, Debug)]
pub struct TableStatistics {
    /// Rows; if not exact, at most so many.
    pub rows: Figure<u64>,
    /// Its columns, in the order of the definition.
    pub columns: Vec<ColumnStatistics>,
}

/// Estimates of how many different values columns have, with how many rows were compacted then; by stored column.
#[derive(Default)]
pub struct Samples(Mutex<HashMap<usize, (u64, u64)>>);

impl Snapshot {
    /// Statistics of a table. Takes microseconds for most tables, some milliseconds at most.
    pub fn statistics(&self, table: TableId) -> Result<TableStatistics> {
        StatisticsRequest::new(self.version(), table, self.timestamp())?.statistics(self.own(table))
    }

    /// How many rows answer a question about a column (its place in the definition), as leaves of postings say, and of how many: rows that
    /// are newer than segments are not among them, deleted ones are, and of many segments some are asked. None if no index says it.
    ///
    /// # Errors
    /// [`Error::Invalid`] if there is no such column, or a constant does not fit it; damage.
    pub fn count_answers(&self, table: TableId, filter: &Filter) -> Result<Option<(u64, u64)>> {
        StatisticsRequest::new(self.version(), table, self.timestamp())?.count_answers(filter)
    }

    /// A value that at least so many rows are no greater than (`from_last`: no less than) in a column (its place in the definition), as
    /// leaves of postings say; none if they do not.
    ///
    /// # Errors
    /// Damage.
    pub fn bound_of_first(
        &self,
        table: TableId,
        (column, from_last): (usize, bool),
        rows: u64,
    ) -> Result<Option<Value>> {
        let own = self.own(table).map_or(0, |own| own.len() as u64);
        let request = StatisticsRequest::new(self.version(), table, self.timestamp())?;
        request.bound_of_first((column, from_last), rows + own)
    }

    /// About how many different values a column of a column table has: from a sample of its blocks, which is remembered until the table has
    /// grown or shrunk by a tenth, and is among [`Snapshot::statistics`] then. None if nothing is compacted, and in a table of other
    /// storage.
    pub fn sample_distinct(&self, table: TableId, column: usize) -> Result<Option<u64>> {
        StatisticsRequest::new(self.version(), table, self.timestamp())?.sample_distinct(column)
    }
}

impl Transaction {
    /// As [`Snapshot::statistics`], with what this transaction wrote so far.
    pub fn statistics(&self, table: TableId) -> Result<TableStatistics> {
        let snapshot = self.snapshot();
        let own = self.own_writes(table);
        let mut found =
            StatisticsRequest::new(snapshot.version(), table, snapshot.timestamp())?.statistics(own)?;
        if self.is_serializable() {
            found.blur();
        }
        Ok(found)
    }

    /// As [`Snapshot::count_answers`].
    pub fn count_answers(&self, table: TableId, filter: &Filter) -> Result<Option<(u64, u64)>> {
        self.snapshot().count_answers(table, filter)
    }

    /// As [`Snapshot::sample_distinct`].
    pub fn sample_distinct(&self, table: TableId, column: usize) -> Result<Option<u64>> {
        self.snapshot().sample_distinct(table, column)
    }
}

impl TableStatistics {
    /// Calls nothing exact.
    fn blur(&mut self) {
        self.rows.is_exact = false;
        for column in &mut self.columns {
            column.nulls.is_exact = false;
            for bound in column.min.iter_mut().chain(&mut column.max) {
                bound.is_exact = false;
            }
            if let Some(distinct) = &mut column.distinct {
                distinct.is_exact = false;
            }
        }
    }
}

/// A table of which something is asked.
struct StatisticsRequest<'v> {
    table: &'v TableVersion,
    definition: &'v Arc<TableDefinition>,
    at: Timestamp,
}

/// Newer rows, as far as they were looked at.
struct Newer {
    /// Rows without a value, by column.
    nulls: Vec<u64>,
    /// Least and greatest value, by column.
    bounds: Vec<Option<(Value, Value)>>,
    /// How many there are that are not deleted.
    live: u64,
}

impl<'v> StatisticsRequest<'v> {
    fn new(version: &'v DatabaseVersion, id: TableId, at: Timestamp) -> Result<Self> {
        let table = version.table(id)?;
        let definition = version.catalog.table(id).ok_or_else(|| {
            Error::Invalid(format!("table {id} holds the entries of an index, which has no statistics"))
        })?;
        Ok(Self { table, definition, at })
    }

    fn statistics(&self, own: Option<TableWrites>) -> Result<TableStatistics> {
        let newer = newer_rows(self.table) + own.as_ref().map_or(0, |own| own.len() as u64);
        let looked_at = match newer <= LOOKED_AT_MAX && !self.table.has_ranges() {
            true => self.look_at(own.clone())?,
            false => None,
        };
        let rows = self.rows(newer, own.clone(), looked_at.as_ref())?;
        let ends = self.ends(newer, own)?;
        let columns = (0..self.definition.columns.len())
            .map(|column| self.column(column, rows, newer, looked_at.as_ref(), &ends))
            .collect();
        let mut found = TableStatistics { rows, columns };
        if self.table.shared.expiry.is_some() {
            // Rows that have expired are among them.
            found.blur();
        }
        Ok(found)
    }

    fn rows(&self, newer: u64, own: Option<TableWrites>, looked_at: Option<&Newer>) -> Result<Figure<u64>> {
        let compacted = compacted_count(self.table, None, None)?;
        Ok(match looked_at {
            _ if newer == 0 => Figure { value: compacted, is_exact: true },
            Some(looked_at) if compacted == 0 => Figure { value: looked_at.live, is_exact: true },
            Some(_) if newer <= LOOKED_UP_MAX => {
                Figure { value: count(self.table, own, Moment::all(self.at), None, None)?, is_exact: true }
            }
            Some(looked_at) => Figure { value: compacted + looked_at.live, is_exact: false },
            None => Figure { value: compacted + newer, is_exact: false },
        })
    }

    /// What newer rows hold, each read; none if one is too long for that, or no row of the table's columns.
    fn look_at(&self, own: Option<TableWrites>) -> Result<Option<Newer>> {
        if self.table.shared.stamped {
            return Ok(None);
        }
        let columns = self.definition.columns.len();
        let mut newer = Newer { nulls: vec![0; columns], bounds: vec![None; columns], live: 0 };
        let format = RowFormat::new(self.definition.clone())?;
        let mut cursor = MergedCursor::new(self.table, own, Moment::all(self.at), Cover::AboveBase);
        let mut there = cursor.seek(Seek::First)?;
        while there {
            let record = cursor.record();
            match record.kind {
                RecordKind::Tombstone => {}
                RecordKind::Blob => return Ok(None),
                RecordKind::Inline => match format.decode(cursor.key(), record.bytes) {
                    Ok(row) => newer.add(row),
                    Err(_) => return Ok(None),
                },
            }
            there = cursor.next()?;
        }
        Ok(Some(newer))
    }

    /// The first and the last value of the key's first column.
    fn ends(&self, newer: u64, own: Option<TableWrites>) -> Result<Option<(Value, Value)>> {
        let gone = newer + self.deleted_rows();
        if self.definition.key.is_empty() || gone > ENDS_MAX {
            return Ok(None);
        }
        let keys = self.definition.key_spec().map_err(|error| Error::Invalid(error.to_string()))?;
        let mut cursor = MergedCursor::new(self.table, own, Moment::all(self.at), Cover::LiveKeys);
        let mut end = |to: Seek<'_>| -> Result<Option<Value>> {
            if !cursor.seek(to)? {
                return Ok(None);
            }
            let values = keys.decode(cursor.key()).map_err(|error| Error::Invalid(error.to_string()))?;
            Ok(values.into_iter().next())
        };
        Ok(end(Seek::First)?.zip(end(Seek::Last)?))
    }

    fn column(
        &self,
        column: usize,
        rows: Figure<u64>,
        newer: u64,
        looked_at: Option<&Newer>,
        ends: &Option<(Value, Value)>,
    ) -> ColumnStatistics {
        let exact = |value| Some(Figure { value, is_exact: true });
        let of = &self.definition.columns[column];
        let compacted = self.compacted(column);
        let (mut min, mut max) = match looked_at {
            Some(looked_at) => looked_at.join(column, compacted.as_ref(), newer == 0),
            None => (None, None),
        };
        if let (Some((first, last)), true) = (ends, self.definition.key.first() == Some(&column)) {
            (min, max) = (exact(first.clone()), exact(last.clone()));
        }
        let nulls = match (of.nullable, &compacted) {
            (false, _) => Figure { value: 0, is_exact: true },
            (true, Some(compacted)) => {
                let is_whole = newer == 0 && self.deleted_rows() == 0;
                let of_newer = looked_at.map_or(newer, |looked_at| looked_at.nulls[column]);
                let value = compacted.nulls + of_newer;
                Figure { value: value.min(rows.value), is_exact: is_whole || value == 0 }
            }
            (true, None) => Figure { value: rows.value, is_exact: false },
        };
        let distinct = self.known_distinct(column, rows, nulls, newer);
        ColumnStatistics { nulls, min, max, distinct, bytes: compacted.map(|compacted| compacted.bytes) }
    }

    /// What is known of a column's compacted values. Without any that is all, whatever the storage.
    fn compacted(&self, column: usize) -> Option<SetColumn> {
        self.table.base.figures(column)
    }

    /// Deleted rows that are still in segments.
    fn deleted_rows(&self) -> u64 {
        let parts = self.table.base.columns().into_iter().flat_map(|columns| columns.parts());
        parts.map(|part| u64::from(part.deleted_rows())).sum()
    }

    fn known_distinct(
        &self,
        column: usize,
        rows: Figure<u64>,
        nulls: Figure<u64>,
        newer: u64,
    ) -> Option<Figure<u64>> {
        let is_key = self.definition.primary_columns() == [column] && !self.definition.duplicates;
        let mut unique = self.table.indexes.iter().map(|index| index.format.of());
        if is_key || unique.any(|of| of.ready && of.unique && of.columns == [column]) {
            let is_exact = rows.is_exact && nulls.is_exact;
            return Some(Figure { value: rows.value.saturating_sub(nulls.value), is_exact });
        }
        let columns = self.table.base.columns()?;
        let place = columns.schema().place(column);
        if let Some((least, most)) = columns.distinct_bounds(place)
            && least == most
        {
            let is_exact = newer == 0 && self.deleted_rows() == 0;
            return Some(Figure { value: least.min(rows.value), is_exact });
        }
        let sampled = self.sampled(place, columns.live_rows())?;
        Some(Figure { value: sampled.min(rows.value), is_exact: false })
    }

    fn count_answers(&self, filter: &Filter) -> Result<Option<(u64, u64)>> {
        let (Some(columns), Some(schema)) = (self.table.base.columns(), &self.table.shared.schema) else {
            return Ok(None);
        };
        if schema.indexed().is_empty() {
            return Ok(None);
        }
        columns.count_answers(&stored_filters(self.definition, schema, std::slice::from_ref(filter))?)
    }

    fn bound_of_first(&self, (column, from_last): (usize, bool), rows: u64) -> Result<Option<Value>> {
        let Some(columns) = self.table.base.columns() else { return Ok(None) };
        let of = self.definition.columns.get(column);
        let Some(of) = of.filter(|_| self.table.shared.expiry.is_none() && !self.table.has_ranges()) else {
            return Ok(None);
        };
        // Each newer row may replace one of them.
        let rows = rows + newer_rows(self.table);
        let found = columns.bound_of_first(columns.schema().place(column), rows, from_last)?;
        found.map(|value| value.fit(of.kind).map_err(|error| Error::Invalid(error.to_string()))).transpose()
    }

    /// A remembered estimate that is not outdated.
    fn sampled(&self, place: usize, rows: u64) -> Option<u64> {
        let (then, distinct) = *self.table.shared.samples.0.lock().get(&place)?;
        (then.abs_diff(rows) <= then / OUTDATED_SHARE).then_some(distinct)
    }

    fn sample_distinct(&self, column: usize) -> Result<Option<u64>> {
        if column >= self.definition.columns.len() {
            let name = &self.definition.name;
            return Err(Error::Invalid(format!("table \"{name}\" has no column {column}")));
        }
        let Some(columns) = self.table.base.columns() else { return Ok(None) };
        let (place, rows) = (columns.schema().place(column), columns.live_rows());
        if let Some(distinct) = self.sampled(place, rows) {
            return Ok(Some(distinct));
        }
        let bounds = columns.distinct_bounds(place);
        if let Some((least, most)) = bounds
            && least == most
        {
            return Ok(Some(least));
        }
        let Some(distinct) = columns.sample_distinct(place)? else { return Ok(None) };
        let distinct = bounds.map_or(distinct, |(least, most)| distinct.clamp(least, most)).min(rows);
        self.table.shared.samples.0.lock().insert(place, (rows, distinct));
        Ok(Some(distinct))
    }
}

/// A bound, if there is one.
type Bound = Option<Figure<Value>>;

impl Newer {
    fn add(&mut self, row: Vec<Value>) {
        debug_assert_eq!(row.len(), self.nulls.len(), "a value for each column");
        self.live += 1;
        for (column, value) in row.into_iter().enumerate() {
            if value.is_null() {
                self.nulls[column] += 1;
                continue;
            }
            match &mut self.bounds[column] {
                None => self.bounds[column] = Some((value.clone(), value)),
                Some((low, _)) if value.as_ref().compare(low.as_ref()).is_lt() => *low = value,
                Some((_, high)) if value.as_ref().compare(high.as_ref()).is_gt() => *high = value,
                Some(_) => {}
            }
        }
    }

    /// Bounds of a column's newer values and the compacted ones. Where there are newer rows a compacted value may be replaced.
    fn join(&self, column: usize, compacted: Option<&SetColumn>, is_compacted: bool) -> (Bound, Bound) {
        let Some(compacted) = compacted.filter(|compacted| !compacted.is_open) else { return (None, None) };
        let (low, high) = self.bounds[column].clone().unzip();
        let join =
            |newer: Option<Value>, compacted: &Option<(Value, bool)>, further: std::cmp::Ordering| match (
                newer, compacted,
            ) {
                (None, None) => None,
                (Some(value), None) => Some(Figure { value, is_exact: true }),
                (newer, Some((value, is_there))) => match newer {
                    Some(newer) if newer.as_ref().compare(value.as_ref()) != further => {
                        Some(Figure { value: newer, is_exact: true })
                    }
                    _ => Some(Figure { value: value.clone(), is_exact: *is_there && is_compacted }),
                },
            };
        (
            join(low, &compacted.low, std::cmp::Ordering::Greater),
            join(high, &compacted.high, std::cmp::Ordering::Less),
        )
    }
}
