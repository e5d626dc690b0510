//! Scans of column tables: groups of segments and what is newer, morsel by morsel, by several threads.
//!
//! # How what is newer is merged in
//! Memtables, runs and a transaction's own writes hold the newest row of some keys. Where the segments have a row of such a key, that row
//! is *replaced*: it is looked up once, before the scan begins, and taken out of the selection of its group, so the scan itself never asks
//! for a key. The newer rows are turned into columns and are morsels like others; `fresh` keeps them for the next scan.

use std::sync::Arc;

use ambo_codec::{
    Type,
    bitmap::{Bitmap, Positions},
};
use ambo_types::{Error, Result, TableDefinition, id::TableId, parts::fold_parts};

use super::{
    ahead::WRITES_MIN,
    expiry::Moment,
    fresh::{AllFresh, Fresh, FreshRequest},
    snapshot::Snapshot,
    version::{DatabaseVersion, TableVersion},
};
use crate::transaction::write_set::TableWrites;
use ambo_base::{
    BaseOps,
    column::{ColumnSchema, ColumnSet, Part, PartCounts, Partials, Question, Reach, Selected, Selection},
};
use ambo_scan::{CountedColumn, Filter, Identity, Morsel, Test};

/// With more rows than this in the active memtable a scan has them compacted in the background: in layers they cost it far more than in
/// segments (decision 0013).
const FRESH_ROWS_MAX: usize = 16 << 10;

/// What a scan reads: columns and filters by their places in the table's definition.
#[derive(Clone, Debug, Default)]
pub struct ScanPlan {
    /// The columns that are asked for, in this order.
    pub columns: Vec<usize>,
    /// What rows have to answer with yes, all of them. Those that leave fewest rows should come first.
    pub filters: Vec<Filter>,
    /// Of each of these sets, whoever asks leaves out the rows that answer none with yes; the scan may do so where an index says it.
    pub either: Vec<Vec<Filter>>,
}

/// A part of a scan.
#[derive(Clone, Copy, Debug)]
pub(super) enum Unit {
    Group { run: usize, part: usize, group: usize },
    Fresh { layer: usize, group: usize },
}

/// Where the rows of a unit are.
pub(super) enum UnitRowsIn<'s> {
    /// In a group of a segment.
    Group(&'s Part, usize),
    /// Not in segments yet.
    Fresh,
}

/// A scan of a column table at one moment.
pub struct TableScan {
    /// Keeps segments and their files.
    _version: Arc<DatabaseVersion>,
    columns: Arc<ColumnSet>,
    /// What is newer than the segments.
    fresh: AllFresh,
    /// Stored columns that are asked for or filtered by.
    needed: Vec<bool>,
    units: Vec<Unit>,
    projection: Vec<usize>,
    /// Whether NULL may be among the values, by places of the projection.
    nullable: Vec<bool>,
    filters: Vec<Filter>,
    /// The one of them that leaves out what has expired, if something may have.
    unexpired: Option<Filter>,
    /// What bitmap indexes say of the rows in segments, if they are asked, and the filters that are left then.
    selection: Option<(Selection, Vec<Filter>)>,
    /// How many rows of segments are selected, if leaves of postings say so.
    counted: Option<u64>,
    /// Whether rows may be left out that whoever asks would leave out.
    is_narrowed: bool,
}

impl Snapshot {
    /// Prepares a scan of a column table.
    ///
    /// # Errors
    /// [`Error::Invalid`] for a table of other storage, or a plan that does not fit its columns.
    pub fn scan_columns(&self, table: TableId, plan: &ScanPlan) -> Result<TableScan> {
        let scan = TableScan::new(self.version(), table, self.own(table), self.moment(), plan)?;
        let options = self.engine().options();
        let active_rows = self.version().table(table)?.active.rows();
        if options.background_threads && !options.read_only {
            if active_rows > FRESH_ROWS_MAX {
                self.engine().request_flush();
            }
            if active_rows > WRITES_MIN {
                self.engine().signals.raise(|state| &mut state.ahead);
            }
        }
        Ok(scan)
    }
}

/// Where a column of a table is stored. Behind its columns comes the number that ends the keys of rows, if something does.
pub(super) fn stored_place(
    definition: &TableDefinition,
    schema: &ColumnSchema,
    column: usize,
) -> Result<usize> {
    let columns = definition.columns.len();
    match column {
        _ if column < columns => Ok(schema.place(column)),
        _ if column == columns && definition.is_numbered() => Ok(schema.key_columns() - 1),
        _ => Err(Error::Invalid(format!("table \"{}\" has no column {column}", definition.name))),
    }
}

/// Filters of a table's columns as filters of what is stored.
pub(super) fn stored_filters(
    definition: &TableDefinition,
    schema: &ColumnSchema,
    filters: &[Filter],
) -> Result<Vec<Filter>> {
    let stored = |filter: &Filter| {
        let place = stored_place(definition, schema, filter.column)?;
        let Some(column) = definition.columns.get(filter.column) else {
            return Err(Error::Invalid(format!(
                "rows of table \"{}\" are not filtered by their number",
                definition.name
            )));
        };
        filter.stored(place, column.kind).map_err(|error| {
            Error::Invalid(format!("column \"{}\" of table \"{}\": {error}", column.name, definition.name))
        })
    };
    filters.iter().map(stored).collect()
}

/// What rows of a table are asked at a moment so that none has expired: nothing where segments say that none of theirs has, and there are
/// no others.
fn unexpired(
    table: &TableVersion,
    columns: &ColumnSet,
    own: Option<&TableWrites>,
    moment: Moment,
) -> Option<Filter> {
    let filter = table.shared.expiry.as_ref()?.filter(moment.now?);
    let is_empty = own.is_none_or(|own| own.is_empty())
        && std::iter::once(&table.active).chain(&table.frozen).all(|memtable| memtable.is_empty())
        && table.runs.is_empty();
    let is_answered = is_empty && columns.parts().all(|part| part.answers_whole(columns.schema(), &filter));
    (!is_answered).then_some(filter)
}

impl TableScan {
    pub(super) fn new(
        version: &Arc<DatabaseVersion>,
        id: TableId,
        own: Option<TableWrites>,
        moment: Moment,
        plan: &ScanPlan,
    ) -> Result<Self> {
        let table = version.table(id)?;
        let definition = version.catalog.table(id).expect("the table is there");
        let (Some(columns), Some(schema)) = (table.base.columns(), &table.shared.schema) else {
            return Err(Error::Invalid(format!(
                "table \"{}\" is of storage {}, and only tables of storage column are scanned by column",
                definition.name,
                definition.storage.name()
            )));
        };
        let place = |column: &usize| stored_place(definition, schema, *column);
        let is_nullable =
            |column: &usize| definition.columns.get(*column).is_some_and(|column| column.nullable);
        let projection = plan.columns.iter().map(place).collect::<Result<Vec<_>>>()?;
        let mut filters = stored_filters(definition, schema, &plan.filters)?;
        let unexpired = unexpired(table, columns, own.as_ref(), moment);
        filters.extend(unexpired.clone());
        let asked = |column| {
            projection.contains(&column) || filters.iter().any(|filter: &Filter| filter.column == column)
        };
        let needed: Vec<bool> = (0..schema.types().len()).map(asked).collect();
        let bytes_max = columns.memory().fresh_most();
        let request = FreshRequest { table, id, columns, at: moment.at, needed: &needed, bytes_max };
        let mut scan = Self {
            columns: columns.clone(),
            fresh: request.layers(own)?,
            needed,
            units: Vec::new(),
            projection,
            nullable: plan.columns.iter().map(is_nullable).collect(),
            filters,
            unexpired,
            selection: None,
            counted: None,
            is_narrowed: false,
            _version: version.clone(),
        };
        let stored = |filters: &Vec<Filter>| stored_filters(definition, schema, filters);
        let either = plan.either.iter().map(stored).collect::<Result<Vec<_>>>()?;
        scan.is_narrowed = !either.is_empty();
        if plan.columns.is_empty() && !scan.filters.is_empty() && scan.fresh.replaced.count() == 0 {
            scan.counted = Selection::count_alone(&scan.columns, &scan.filters)?;
        }
        scan.ask_indexes(version, id, &either)?;
        scan.units = scan.plan_units();
        Ok(scan)
    }

    /// Asks the bitmap indexes of the table for the rows that answer filters.
    fn ask_indexes(&mut self, version: &DatabaseVersion, id: TableId, either: &[Vec<Filter>]) -> Result<()> {
        if self.filters.is_empty() && either.is_empty() || self.counted.is_some() {
            return Ok(());
        }
        let columns = version.catalog.bitmap_columns(id);
        let columns: Vec<_> = columns.map(|column| self.schema().place(column)).collect();
        self.selection = Selection::new(&self.columns, &self.filters, either, &columns)?;
        Ok(())
    }

    fn plan_units(&self) -> Vec<Unit> {
        let mut units = Vec::new();
        for (layer, fresh) in self.fresh.layers.iter().enumerate() {
            units.extend((0..fresh.layer.groups()).map(|group| Unit::Fresh { layer, group }));
        }
        for (run, of) in self.columns.runs().iter().enumerate() {
            for (part, of) in of.parts.iter().enumerate() {
                let directory = of.segment.directory();
                let selected = self.selection.as_ref().and_then(|(selection, _)| selection.of(run, part));
                let has_rows = |group: &usize| {
                    let rows = directory.group(*group);
                    selected.is_none_or(|Selected { rows: selected, .. }| {
                        selected.rank(rows.start.into()) < selected.rank(rows.end.into())
                    })
                };
                let groups = (0..directory.groups()).filter(has_rows);
                units.extend(groups.map(|group| Unit::Group { run, part, group }));
            }
        }
        units
    }

    /// Rows that are not in segments yet.
    pub fn fresh_rows(&self) -> u64 {
        self.fresh.layers.iter().map(Fresh::rows).sum()
    }

    /// How many rows are selected, where that is known before one is looked at: nothing is filtered.
    pub(super) fn rows_known(&self) -> Option<u64> {
        let (live, replaced) = (self.columns.live_rows(), self.fresh.replaced.count());
        debug_assert!(replaced <= live, "{replaced} rows of {live} are replaced");
        let compacted = || live - replaced;
        match self.counted {
            // Rows that are newer are looked at.
            Some(counted) => (self.fresh_rows() == 0).then_some(counted),
            None => self.filters.is_empty().then(|| compacted() + self.fresh_rows()),
        }
    }

    /// Whether the column at a place of the projection may be NULL.
    pub fn is_nullable(&self, place: usize) -> bool {
        self.nullable[place]
    }

    /// The same of all places.
    pub(super) fn nullable(&self) -> &[bool] {
        &self.nullable
    }

    /// All parts, one lane behind the other.
    pub(super) fn all_units(&self) -> &[Unit] {
        &self.units
    }

    /// Where the rows of a part of it are.
    pub(super) fn place(&self, unit: usize) -> UnitRowsIn<'_> {
        match self.units[unit] {
            Unit::Group { run, part, group } => {
                UnitRowsIn::Group(&self.columns.runs()[run].parts[part], group)
            }
            Unit::Fresh { .. } => UnitRowsIn::Fresh,
        }
    }

    /// Whether bitmap indexes answer a filter of it.
    pub(super) fn asks_bitmaps(&self) -> bool {
        self.selection.is_some() || self.counted.is_some()
    }

    /// Whether leaves of postings say how many rows of segments are selected.
    pub(super) fn is_counted(&self) -> bool {
        self.counted.is_some()
    }

    /// What a file of postings says of the values of a column in the rows of a segment that are selected; none where rows are to be
    /// looked at.
    pub(super) fn counts(
        &self,
        place: (usize, usize),
        counted: CountedColumn,
        gone: Option<&Bitmap>,
    ) -> Result<Option<PartCounts>> {
        if self.is_narrowed {
            return Ok(None);
        }
        let column = self.projection[counted.place];
        self.part(place).counts(self.schema(), (column, counted), &self.filters, gone)
    }

    /// What it looks at in segments, with what bitmap indexes say.
    pub(super) fn reach(&self) -> Reach {
        let mut reach = Reach::default();
        for unit in &self.units {
            let Unit::Group { run, part, group } = *unit else { continue };
            let group = self.columns.runs()[run].parts[part].segment.directory().group(group);
            let selected = self.selection.as_ref().and_then(|(selection, left)| {
                let Selected { rows, is_whole } = selection.of(run, part)?;
                let before = |row: u32| rows.rank(row.into());
                Some((before(group.end) - before(group.start), *is_whole && left.is_empty()))
            });
            let (rows, is_answered) = selected.unwrap_or((group.len() as u64, false));
            debug_assert!(rows <= group.len() as u64, "rows are selected of those of the group");
            reach.groups += 1;
            reach.rows += rows;
            reach.asked += if is_answered { 0 } else { group.len() as u64 };
        }
        reach
    }

    /// What aggregates of segments came to.
    pub(super) fn partials(&self) -> &Partials {
        self.columns.store().partials()
    }

    /// What a scan for `identity` asks of segments, of which all rows answer these filters with yes; none where that cannot be told in a
    /// few bytes.
    pub(super) fn question(&self, identity: &Identity, answered: &[bool]) -> Option<Question> {
        let left = self.filters.iter().zip(answered).filter(|(_, is_answered)| !**is_answered);
        let left: Vec<_> = left.map(|(filter, _)| filter.clone()).collect();
        let is_expiring = self.unexpired.as_ref().is_some_and(|unexpired| left.contains(unexpired));
        if is_expiring || self.is_narrowed {
            // Nobody asks the same at another time, or with what others leave out.
            return None;
        }
        let identity = identity.clone().and_numbers(&self.projection).and_filters(&left)?;
        Some(Question::new(self.columns.schema(), identity))
    }

    /// Which filters all rows of a segment answer with yes, as its directory says.
    pub(super) fn answered_whole(&self, place: (usize, usize)) -> Vec<bool> {
        let part = self.part(place);
        self.filters.iter().map(|filter| part.answers_whole(self.columns.schema(), filter)).collect()
    }

    /// A segment that it reads.
    pub(super) fn part(&self, (run, part): (usize, usize)) -> &Part {
        &self.columns.runs()[run].parts[part]
    }

    /// The rows of a segment that do not count.
    pub(super) fn gone(&self, (run, part): (usize, usize)) -> Option<Bitmap> {
        self.part((run, part)).gone(self.fresh.replaced.of(run, part))
    }

    /// The types of the projection.
    pub(super) fn types(&self) -> Vec<Type> {
        let types = self.columns.schema().types();
        self.projection.iter().map(|column| types[*column]).collect()
    }

    /// Stored columns that are asked for or filtered by.
    pub(super) fn needed(&self) -> &[bool] {
        &self.needed
    }

    pub(super) fn schema(&self) -> &ColumnSchema {
        self.columns.schema()
    }

    /// How many morsels there may be at most.
    pub fn units(&self) -> usize {
        self.units.len()
    }

    /// A question about the column at a place of the projection, for [`Morsel::narrowed`].
    ///
    /// # Errors
    /// [`Error::Invalid`]: a constant that cannot be compared with values of the column.
    pub fn filter(&self, place: usize, test: Test) -> Result<Filter> {
        let column = self.projection[place];
        let ty = self.schema().types()[column];
        let test = test.fit(ty).map_err(|error| Error::Invalid(error.to_string()))?;
        Ok(Filter { column, test })
    }

    /// One of them; `None` if no row of it is selected.
    pub fn morsel(&self, unit: usize) -> Result<Option<Morsel<'_>>> {
        self.morsel_with(unit, &self.needed)
    }

    /// One of them, of which these stored columns may be asked for.
    pub(super) fn morsel_with(&self, unit: usize, needed: &[bool]) -> Result<Option<Morsel<'_>>> {
        debug_assert_eq!(needed.len(), self.schema().types().len(), "asked of each stored column");
        debug_assert!(
            self.needed.iter().zip(needed).all(|(asked, given)| *given || !asked),
            "what the scan asks for is made"
        );
        match self.units[unit] {
            Unit::Fresh { layer, group } => {
                let Fresh { layer, hidden } = &self.fresh.layers[layer];
                let rows = layer.group(group, self.columns.schema(), needed)?;
                let hidden = hidden.as_deref().into_iter();
                rows.morsel(hidden, &self.filters, &self.projection)
            }
            Unit::Group { run, part, group } => {
                // With an answer to all that indexes were asked only the other filters are left.
                let selected = self.selection.as_ref().and_then(|(selection, left)| {
                    let Selected { rows, is_whole } = selection.of(run, part)?;
                    Some((rows, if *is_whole { left } else { &self.filters }))
                });
                let (selected, filters) = selected.unzip();
                let part_of_run = &self.columns.runs()[run].parts[part];
                part_of_run.morsel(
                    self.columns.schema(),
                    group,
                    self.fresh.replaced.of(run, part).into_iter(),
                    selected,
                    filters.unwrap_or(&self.filters),
                    &self.projection,
                )
            }
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
        let units: Vec<usize> = (0..self.units.len()).collect();
        self.fold_units(&units, threads, init, step)
    }

    fn fold_units<S: Send>(
        &self,
        units: &[usize],
        threads: usize,
        init: impl Fn() -> S + Sync,
        step: impl Fn(&mut S, &Morsel<'_>) -> Result<()> + Sync,
    ) -> Result<Vec<S>> {
        fold_parts(units.len(), threads, init, |state, index| match self.morsel(units[index])? {
            Some(morsel) => step(state, &morsel),
            None => Ok(()),
        })
    }

    /// How many rows are selected.
    pub fn count(&self, threads: usize) -> Result<u64> {
        if let Some(rows) = self.rows_known() {
            return Ok(rows);
        }
        let (counted, units) = match self.counted {
            Some(counted) => (counted, self.fresh_units()),
            None => self.count_by_indexes(),
        };
        let add = |count: &mut u64, morsel: &Morsel<'_>| {
            *count += morsel.selected() as u64;
            Ok(())
        };
        let counts = self.fold_units(&units, threads, || 0u64, add)?;
        let count = counts.into_iter().sum::<u64>() + counted;
        debug_assert!(
            count <= self.columns.live_rows() - self.fresh.replaced.count() + self.fresh_rows(),
            "no more rows are selected than there are"
        );
        Ok(count)
    }

    /// The units of what is not in segments.
    fn fresh_units(&self) -> Vec<usize> {
        (0..self.units.len()).filter(|unit| matches!(self.units[*unit], Unit::Fresh { .. })).collect()
    }

    /// The rows that bitmap indexes count, and the units of the others.
    fn count_by_indexes(&self) -> (u64, Vec<usize>) {
        let mut counted = 0;
        let mut last = None;
        let mut is_counted = |unit: &usize| {
            let (Unit::Group { run, part, .. }, Some((selection, left))) =
                (self.units[*unit], &self.selection)
            else {
                return false;
            };
            if last.is_none_or(|(place, _)| place != (run, part)) {
                let replaced = self.fresh.replaced.of(run, part).into_iter();
                let count = match left.is_empty() {
                    true => selection.count(&self.columns, (run, part), replaced),
                    false => None,
                };
                counted += count.unwrap_or(0);
                last = Some(((run, part), count.is_some()));
            }
            last.is_some_and(|(_, is_counted)| is_counted)
        };
        let units = (0..self.units.len()).filter(|unit| !is_counted(unit)).collect();
        debug_assert!(
            counted <= self.columns.live_rows() - self.fresh.replaced.count(),
            "of those not replaced"
        );
        (counted, units)
    }
}
