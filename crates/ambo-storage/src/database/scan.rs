//! Scans of column tables: groups of segments and what is newer, morsel by morsel, by several threads.
//!
//! # How what is newer is merged in
//! Deltas, runs and a transaction's own writes hold the newest row of some keys. Where the segments have a row of such a key, that row is
//! *replaced*: it is looked up once, before the scan begins, and taken out of the selection of its group, so the scan itself never
//! asks for a key. The newer rows are turned into columns and are morsels like others.

use std::sync::{
    Arc,
    atomic::{AtomicUsize, Ordering},
};

use ambo_codec::{Value, bitmap::Bitmap, column::Sum};

use super::{
    blobs::read_whole,
    cursor::{Cover, MergedCursor, Seek},
    engine::Engine,
    snapshot::Snapshot,
    version::{DatabaseVersion, TableVersion},
};
use crate::{
    Error, Result,
    base::column::{
        AggregatePlan, Aggregation, ColumnSet, Filter, Finder, FreshGroup, Groups, Morsel, RowPlace,
    },
    id::{TableId, Timestamp},
    record::RecordKind,
    transaction::write_set::TableWrites,
};

/// With more newer rows than this a scan has them settled in the background: the next one looks up fewer.
const FRESH_ROWS_MAX: u64 = 16 << 10;
/// Newer rows of one morsel.
const FRESH_ROWS: usize = 8 << 10;

/// What a scan reads: columns and filters by their places in the table's definition.
#[derive(Clone, Debug, Default)]
pub struct ScanPlan {
    /// The columns that are asked for, in this order.
    pub columns: Vec<usize>,
    /// What rows have to answer with yes, all of them. Those that leave fewest rows should come first.
    pub filters: Vec<Filter>,
}

/// A part of a scan.
#[derive(Clone, Copy, Debug)]
enum Unit {
    Group { run: usize, part: usize, group: usize },
    Fresh(usize),
}

/// A scan of a column table at one moment.
pub struct TableScan {
    /// Keeps segments and their files.
    _version: Arc<DatabaseVersion>,
    columns: Arc<ColumnSet>,
    /// Rows of each part that newer ones replace.
    replaced: Vec<Vec<Option<Bitmap>>>,
    fresh: Vec<FreshGroup>,
    fresh_rows: u64,
    units: Vec<Unit>,
    projection: Vec<usize>,
    filters: Vec<Filter>,
}

impl Snapshot {
    /// Prepares a scan of a column table.
    ///
    /// # Errors
    /// [`Error::Invalid`] for a table of other storage, or a plan that does not fit its columns.
    pub fn scan_columns(&self, table: TableId, plan: &ScanPlan) -> Result<TableScan> {
        let scan = TableScan::new(self.version(), table, None, self.timestamp(), plan)?;
        let options = self.engine().options();
        if scan.fresh_rows > FRESH_ROWS_MAX && options.background_threads && !options.read_only {
            self.engine().request_spill();
        }
        Ok(scan)
    }
}

impl TableScan {
    pub(super) fn new(
        version: &Arc<DatabaseVersion>,
        id: TableId,
        own: Option<TableWrites>,
        at: Timestamp,
        plan: &ScanPlan,
    ) -> Result<Self> {
        let table = version.table(id)?;
        let definition = version.catalog.table(id).expect("the table is there");
        let (Some(columns), Some(schema)) = (&table.columns, &table.shared.schema) else {
            return Err(Error::Invalid(format!(
                "table \"{}\" is of storage {}, and only tables of storage column are scanned by column",
                definition.name,
                definition.storage.name()
            )));
        };
        let place = |column: usize| match column < definition.columns.len() {
            true => Ok(schema.place(column)),
            false => Err(Error::Invalid(format!("table \"{}\" has no column {column}", definition.name))),
        };
        let projection = plan.columns.iter().map(|column| place(*column)).collect::<Result<Vec<_>>>()?;
        let mut filters = Vec::new();
        for filter in &plan.filters {
            let stored = place(filter.column)?;
            let column = &definition.columns[filter.column];
            filters.push(filter.stored(stored, column.kind).map_err(|error| {
                Error::Invalid(format!(
                    "column \"{}\" of table \"{}\": {error}",
                    column.name, definition.name
                ))
            })?);
        }
        let mut scan = Self {
            columns: columns.clone(),
            replaced: columns.runs().iter().map(|run| vec![None; run.parts.len()]).collect(),
            fresh: Vec::new(),
            fresh_rows: 0,
            units: Vec::new(),
            projection,
            filters,
            _version: version.clone(),
        };
        scan.gather_fresh(table, id, own, at)?;
        scan.units = scan.plan_units();
        Ok(scan)
    }

    /// Turns what is newer than the segments into columns, and finds what it replaces.
    fn gather_fresh(
        &mut self,
        table: &TableVersion,
        id: TableId,
        own: Option<TableWrites>,
        at: Timestamp,
    ) -> Result<()> {
        let schema = self.columns.schema().clone();
        let needed: Vec<bool> = {
            let asked = |column| {
                self.projection.contains(&column) || self.filters.iter().any(|filter| filter.column == column)
            };
            (0..schema.types().len()).map(asked).collect()
        };
        let mut cursor = MergedCursor::new(table, own, at, Cover::AboveMain);
        let mut buffers = schema.buffers();
        let mut places: Vec<Vec<Vec<u64>>> =
            self.replaced.iter().map(|parts| vec![Vec::new(); parts.len()]).collect();
        let columns = self.columns.clone();
        let mut finder = Finder::new(&columns);
        let mut there = cursor.seek(Seek::First)?;
        while there {
            if let Some(RowPlace { run, place }) = finder.find(cursor.key())? {
                places[run][place.part].push(u64::from(place.row));
            }
            let record = cursor.record();
            let blob = match record.kind {
                RecordKind::Blob => {
                    Some(read_whole(&table.shared.store, &Engine::decode_blob(record.bytes, id)?)?)
                }
                RecordKind::Inline | RecordKind::Tombstone => None,
            };
            if !record.is_tombstone() {
                let bytes = blob.as_deref().unwrap_or(record.bytes);
                schema
                    .push(cursor.key(), bytes, &mut buffers)
                    .map_err(|error| Error::Invalid(format!("a row that cannot be read: {error}")))?;
                self.fresh_rows += 1;
                if buffers[0].len() == FRESH_ROWS {
                    self.fresh.push(FreshGroup::new(&buffers, |column| needed[column])?);
                    buffers.iter_mut().for_each(|buffer| buffer.clear());
                }
            }
            there = cursor.next()?;
        }
        if !buffers[0].is_empty() {
            self.fresh.push(FreshGroup::new(&buffers, |column| needed[column])?);
        }
        for (parts, places) in self.replaced.iter_mut().zip(places) {
            for (part, rows) in parts.iter_mut().zip(places).filter(|(_, rows)| !rows.is_empty()) {
                *part = Some(Bitmap::from_sorted(rows).expect("rows ascend with their keys"));
            }
        }
        Ok(())
    }

    fn plan_units(&self) -> Vec<Unit> {
        let mut units: Vec<_> = (0..self.fresh.len()).map(Unit::Fresh).collect();
        for (run, of) in self.columns.runs().iter().enumerate() {
            for (part, of) in of.parts.iter().enumerate() {
                let groups = 0..of.segment.directory().groups();
                units.extend(groups.map(|group| Unit::Group { run, part, group }));
            }
        }
        units
    }

    /// Rows that are not in segments yet.
    pub fn fresh_rows(&self) -> u64 {
        self.fresh_rows
    }

    /// How many morsels there may be at most.
    pub fn units(&self) -> usize {
        self.units.len()
    }

    /// One of them; `None` if no row of it is selected.
    pub fn morsel(&self, unit: usize) -> Result<Option<Morsel<'_>>> {
        match self.units[unit] {
            Unit::Fresh(index) => Morsel::of_fresh(&self.fresh[index], &self.filters, &self.projection),
            Unit::Group { run, part, group } => Morsel::of_part(
                &self.columns.runs()[run].parts[part],
                group,
                self.replaced[run][part].as_ref(),
                &self.filters,
                &self.projection,
            ),
        }
    }

    /// Folds all morsels, in any order, by `threads` threads, each with a state of its own. Returns the states.
    ///
    /// # Errors
    /// The first of any thread; the others stop.
    pub fn fold<S: Send>(
        &self,
        threads: usize,
        init: impl Fn() -> S + Sync,
        step: impl Fn(&mut S, &Morsel<'_>) -> Result<()> + Sync,
    ) -> Result<Vec<S>> {
        let next = AtomicUsize::new(0);
        let work = || -> Result<S> {
            let mut state = init();
            loop {
                let unit = next.fetch_add(1, Ordering::Relaxed);
                if unit >= self.units.len() {
                    return Ok(state);
                }
                let done = self.morsel(unit).and_then(|morsel| match morsel {
                    Some(morsel) => step(&mut state, &morsel),
                    None => Ok(()),
                });
                if done.is_err() {
                    next.store(self.units.len(), Ordering::Relaxed);
                    done?;
                }
            }
        };
        let others = threads.min(self.units.len()).saturating_sub(1);
        std::thread::scope(|scope| {
            let others: Vec<_> = (0..others).map(|_| scope.spawn(work)).collect();
            let own = work();
            let join = |other: std::thread::ScopedJoinHandle<'_, Result<S>>| {
                other.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic))
            };
            std::iter::once(own).chain(others.into_iter().map(join)).collect()
        })
    }

    /// How many rows are selected.
    pub fn count(&self, threads: usize) -> Result<u64> {
        let counts = self.fold(
            threads,
            || 0u64,
            |count, morsel| {
                *count += morsel.selected() as u64;
                Ok(())
            },
        )?;
        Ok(counts.into_iter().sum())
    }

    /// The sum of the selected rows' values at a place of the projection, in units of the last digit if they are decimals; none if no
    /// row has a value.
    ///
    /// # Errors
    /// [`Error::Invalid`] if they are no numbers, or 128 bits cannot hold the sum.
    pub fn sum(&self, place: usize, threads: usize) -> Result<Option<Sum>> {
        let sums = self.fold(
            threads,
            || None,
            |sum: &mut Option<Sum>, morsel| {
                if morsel.count(place)? > 0 {
                    *sum = Some(add(*sum, morsel.sum(place)?)?);
                }
                Ok(())
            },
        )?;
        sums.into_iter().flatten().try_fold(None, |sum, part| add(sum, part).map(Some))
    }

    /// Aggregates of the selected rows. The plan's columns are places of the projection.
    ///
    /// # Errors
    /// [`Error::Invalid`]: a plan that does not fit the columns, or a result that 128 bits cannot hold.
    pub fn aggregate(&self, plan: &AggregatePlan, threads: usize) -> Result<Groups> {
        let types = self.columns.schema().types();
        let types: Vec<_> = self.projection.iter().map(|column| types[*column]).collect();
        let aggregation = Aggregation::new(plan, &types)?;
        let parts = self.fold(threads, || aggregation.begin(), |part, morsel| part.add(morsel))?;
        aggregation.finish(parts)
    }

    /// The least and the greatest of the selected rows' values at a place of the projection, in the type that blocks have them in
    /// (`docs/formats/columns.md`): text as bytes, dates as integers, decimals in units of the last digit. None if no row has a value.
    pub fn min_max(&self, place: usize, threads: usize) -> Result<Option<(Value, Value)>> {
        let bounds = self.fold(
            threads,
            || None,
            |bounds, morsel| {
                *bounds = widest(bounds.take(), morsel.min_max(place)?);
                Ok(())
            },
        )?;
        Ok(bounds.into_iter().fold(None, widest))
    }
}

fn add(sum: Option<Sum>, part: Sum) -> Result<Sum> {
    match (sum, part) {
        (None, part) => Ok(part),
        (Some(Sum::Integer(a)), Sum::Integer(b)) => a
            .checked_add(b)
            .map(Sum::Integer)
            .ok_or_else(|| Error::Invalid("a sum that 128 bits cannot hold".into())),
        (Some(Sum::Float(a)), Sum::Float(b)) => Ok(Sum::Float(a + b)),
        (Some(_), _) => unreachable!("the values of one column are of one type"),
    }
}

type Bounds = Option<(Value, Value)>;

fn widest(a: Bounds, b: Bounds) -> Bounds {
    let (Some((a_low, a_high)), Some((b_low, b_high))) = (&a, &b) else { return a.or(b) };
    let low = if a_low.as_ref().compare(b_low.as_ref()).is_le() { a_low } else { b_low };
    let high = if a_high.as_ref().compare(b_high.as_ref()).is_ge() { a_high } else { b_high };
    Some((low.clone(), high.clone()))
}
