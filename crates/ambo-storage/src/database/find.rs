//! Rows by conditions on their columns, in a table of any storage: by its key, by one index, by several, or by looking at all.
//!
//! Conditions of equality name values for the first columns of a key or an index; one more condition may bound the column after them. Each such *path* is asked
//! how many entries it has, which costs a few look-ups. The one with fewest is taken; others with not many more are taken, too, and the keys that all of
//! them name are looked up: a row that one of them excludes is never read. With too many for any of them the table is walked. Whatever the
//! path, rows are then compared with all conditions, a batch at a time, as scans of columns compare them.

use std::{collections::VecDeque, ops::Bound, sync::Arc};

use ambo_codec::{
    Type, Value as Datum,
    column::{Block, Compare, Goal, Kind, Mask, encode},
};

use super::{
    cursor::Seek,
    index_scan::{IndexRange, IndexScan},
    indexes::TableIndex,
    snapshot::{Cursor, Snapshot},
    transaction::Transaction,
    value::Value,
    version::DatabaseVersion,
};
use crate::{
    Error, Result,
    base::column::{ColumnSchema, Filter, Test},
    catalog::TableDefinition,
    id::TableId,
};

/// A path is worth its look-ups if it has at most one in so many of the table's rows.
const SHARE_MAX: u64 = 8;
/// Fewer keys than these are looked up as they are.
const INTERSECTED_MIN: u64 = 64;
/// A path with at most so many times the keys of the best is worth reading for the look-ups that it saves.
const INTERSECTED_SHARE: u64 = 8;
/// With more keys than these their list would be too long.
const INTERSECTED_MAX: u64 = 1 << 20;
/// Rows that are compared with the conditions at once.
const BATCH_ROWS: usize = 1024;
const BATCH_BYTES: usize = 4 << 20;

/// A view of tables at one moment.
pub(super) trait View {
    fn version(&self) -> &Arc<DatabaseVersion>;
    fn row(&self, table: TableId, key: &[u8]) -> Result<Option<Value>>;
    fn rows_in(&self, table: TableId, lower: &[u8], upper: Option<&[u8]>) -> Result<Cursor>;
    fn count_in(&self, table: TableId, lower: &[u8], upper: Option<&[u8]>) -> Result<u64>;
    fn entries(&self, index: TableId, range: IndexRange<'_>) -> Result<IndexScan>;
}

impl View for Snapshot {
    fn version(&self) -> &Arc<DatabaseVersion> {
        Self::version(self)
    }
    fn row(&self, table: TableId, key: &[u8]) -> Result<Option<Value>> {
        self.get(table, key)
    }
    fn rows_in(&self, table: TableId, _: &[u8], _: Option<&[u8]>) -> Result<Cursor> {
        self.cursor(table)
    }
    fn count_in(&self, table: TableId, lower: &[u8], upper: Option<&[u8]>) -> Result<u64> {
        self.count(table, Some(lower), upper)
    }
    fn entries(&self, index: TableId, range: IndexRange<'_>) -> Result<IndexScan> {
        self.index_scan(index, range)
    }
}

impl View for Transaction {
    fn version(&self) -> &Arc<DatabaseVersion> {
        self.snapshot().version()
    }
    fn row(&self, table: TableId, key: &[u8]) -> Result<Option<Value>> {
        self.get(table, key)
    }
    fn rows_in(&self, table: TableId, lower: &[u8], upper: Option<&[u8]>) -> Result<Cursor> {
        self.cursor_in(table, lower, upper)
    }
    fn count_in(&self, table: TableId, lower: &[u8], upper: Option<&[u8]>) -> Result<u64> {
        self.count(table, Some(lower), upper)
    }
    fn entries(&self, index: TableId, range: IndexRange<'_>) -> Result<IndexScan> {
        self.index_scan(index, range)
    }
}

impl Snapshot {
    /// The rows that answer all filters with yes, by key and stored row, in no order that is promised.
    ///
    /// # Errors
    /// [`Error::Invalid`] for filters that do not fit their columns.
    pub fn find_rows(&self, table: TableId, filters: &[Filter]) -> Result<FoundRows<'_>> {
        FoundRows::new(Moment::Borrowed(self), table, filters)
    }

    /// As [`Snapshot::find_rows`], keeping the snapshot.
    pub fn into_rows(self, table: TableId, filters: &[Filter]) -> Result<FoundRows<'static>> {
        FoundRows::new(Moment::Own(Box::new(self)), table, filters)
    }
}

impl Transaction {
    /// As [`Snapshot::find_rows`], with what this transaction wrote so far.
    pub fn find_rows(&self, table: TableId, filters: &[Filter]) -> Result<FoundRows<'_>> {
        FoundRows::new(Moment::Borrowed(self), table, filters)
    }
}

/// The view that rows are read in.
enum Moment<'v> {
    Own(Box<Snapshot>),
    Borrowed(&'v dyn View),
}

impl Moment<'_> {
    fn view(&self) -> &dyn View {
        match self {
            Self::Own(snapshot) => &**snapshot,
            Self::Borrowed(view) => *view,
        }
    }
}

/// Where rows may be.
enum Path {
    /// In a range of keys.
    Keys { lower: Vec<u8>, upper: Option<Vec<u8>> },
    /// In a range of an index: equal values of its first columns, and bounds of the next, if any.
    Index { index: Arc<TableIndex>, equal: Vec<Datum>, bounds: Option<(Bound<Datum>, Bound<Datum>)> },
}

/// How rows are fetched.
enum Source {
    Walk { cursor: Cursor, lower: Vec<u8>, upper: Option<Vec<u8>>, started: bool },
    Index(IndexScan),
    Keys(std::vec::IntoIter<Vec<u8>>),
}

/// Rows that answer all filters with yes.
pub struct FoundRows<'v> {
    moment: Moment<'v>,
    table: TableId,
    schema: ColumnSchema,
    /// By stored columns.
    filters: Vec<Filter>,
    source: Source,
    /// Found and not yet taken.
    ready: VecDeque<(Vec<u8>, Vec<u8>)>,
}

/// A row by its key and stored form.
pub type FoundRow = (Vec<u8>, Vec<u8>);

impl<'v> FoundRows<'v> {
    fn new(moment: Moment<'v>, table: TableId, filters: &[Filter]) -> Result<Self> {
        let version = moment.view().version();
        version.table(table)?;
        let definition = version.catalog.table(table).expect("the table is there");
        let schema = ColumnSchema::new(definition)?;
        let mut stored = Vec::new();
        for filter in filters {
            let Some(column) = definition.columns.get(filter.column) else {
                return Err(Error::Invalid(format!(
                    "table \"{}\" has no column {}",
                    definition.name, filter.column
                )));
            };
            stored.push(filter.stored(schema.place(filter.column), column.kind).map_err(|error| {
                Error::Invalid(format!(
                    "column \"{}\" of table \"{}\": {error}",
                    column.name, definition.name
                ))
            })?);
        }
        let source = choose(moment.view(), table, definition, filters)?;
        Ok(Self { moment, table, schema, filters: stored, source, ready: VecDeque::new() })
    }

    /// How rows are looked for, in words.
    pub fn path(&self) -> String {
        match &self.source {
            Source::Walk { lower, upper, .. } if lower.is_empty() && upper.is_none() => "all rows".into(),
            Source::Walk { .. } => "a range of keys".into(),
            Source::Index(scan) => format!("index \"{}\"", scan.index_name()),
            Source::Keys(_) => "several indexes".into(),
        }
    }

    /// The next row; `None` behind the last.
    pub fn next_row(&mut self) -> Result<Option<FoundRow>> {
        while self.ready.is_empty() {
            let batch = self.fetch()?;
            if batch.is_empty() {
                return Ok(None);
            }
            self.sift(batch)?;
        }
        Ok(self.ready.pop_front())
    }

    fn fetch(&mut self) -> Result<Vec<FoundRow>> {
        let mut batch = Vec::new();
        let mut bytes = 0;
        while batch.len() < BATCH_ROWS && bytes < BATCH_BYTES {
            let Some(row) = self.fetch_row()? else { break };
            bytes += row.0.len() + row.1.len();
            batch.push(row);
        }
        Ok(batch)
    }

    fn fetch_row(&mut self) -> Result<Option<FoundRow>> {
        match &mut self.source {
            Source::Walk { cursor, lower, upper, started } => {
                let there = match std::mem::replace(started, true) {
                    false => cursor.seek(Seek::Ge(lower))?,
                    // Behind the last a cursor stays there.
                    true => cursor.is_valid() && cursor.next()?,
                };
                if !there || upper.as_deref().is_some_and(|upper| cursor.key() >= upper) {
                    return Ok(None);
                }
                let (key, row) = cursor.row()?;
                Ok(Some((key.to_vec(), row.to_vec())))
            }
            Source::Index(scan) => {
                let Some(key) = scan.next_key()?.map(<[u8]>::to_vec) else { return Ok(None) };
                match self.moment.view().row(self.table, &key)? {
                    Some(row) => Ok(Some((key, row.to_vec()))),
                    None => Err(scan.no_row(&key)),
                }
            }
            Source::Keys(keys) => {
                let Some(key) = keys.next() else { return Ok(None) };
                match self.moment.view().row(self.table, &key)? {
                    Some(row) => Ok(Some((key, row.to_vec()))),
                    None => Err(Error::damaged(
                        crate::page::NAME,
                        0,
                        format!("an index of table {} names a row that is not there", self.table),
                    )),
                }
            }
        }
    }

    /// Keeps the rows of a batch that answer all filters with yes.
    fn sift(&mut self, batch: Vec<FoundRow>) -> Result<()> {
        let wrong = |error: ambo_codec::Error| Error::Invalid(error.to_string());
        let mut mask = Mask::all(batch.len());
        if !self.filters.is_empty() {
            let mut buffers = self.schema.buffers();
            for (key, row) in &batch {
                self.schema
                    .push(key, row, &mut buffers)
                    .map_err(|error| Error::Invalid(format!("a row that cannot be read: {error}")))?;
            }
            for filter in &self.filters {
                let buffer = &buffers[filter.column];
                let mut bytes = Vec::new();
                encode(buffer.slice(), buffer.validity(), Goal::Speed, &mut bytes).map_err(wrong)?;
                let block = Block::parse(&bytes, Kind::of(buffer.ty()), batch.len()).map_err(wrong)?;
                filter.test.with(|predicate| block.filter(*predicate, &mut mask)).map_err(wrong)?;
            }
        }
        let selected: Vec<bool> = {
            let mut selected = vec![false; batch.len()];
            mask.iter().for_each(|row| selected[row] = true);
            selected
        };
        self.ready.extend(batch.into_iter().zip(selected).filter(|(_, yes)| *yes).map(|(row, _)| row));
        Ok(())
    }
}

fn choose(view: &dyn View, id: TableId, definition: &TableDefinition, filters: &[Filter]) -> Result<Source> {
    let table = view.version().table(id)?;
    let mut paths = Vec::new();
    paths.extend(key_path(definition, filters)?);
    for index in table.indexes.iter().filter(|index| index.is_ready()) {
        paths.extend(index_path(index, definition, filters));
    }
    let mut counted = Vec::new();
    for path in paths {
        counted.push((path.count(view, id)?, path));
    }
    counted.sort_by_key(|(count, _)| *count);
    let all = Path::Keys { lower: Vec::new(), upper: None };
    let Some((best, _)) = counted.first() else { return all.source(view, id) };
    let best = *best;
    if best > INTERSECTED_MIN && best > view.count_in(id, &[], None)? / SHARE_MAX {
        // A range of keys is never more than all of them.
        let keys = counted.into_iter().find(|(_, path)| matches!(path, Path::Keys { .. }));
        return keys.map_or(all, |(_, path)| path).source(view, id);
    }
    let worth = |count: u64| count <= best.saturating_mul(INTERSECTED_SHARE).min(INTERSECTED_MAX);
    let together = counted.iter().filter(|(count, _)| worth(*count)).count();
    if best <= INTERSECTED_MIN || together < 2 {
        let (_, path) = counted.swap_remove(0);
        return path.source(view, id);
    }
    let mut common: Option<Vec<Vec<u8>>> = None;
    for (_, path) in &counted[..together] {
        let keys = path.keys(view, id)?;
        common = Some(match common {
            None => keys,
            Some(common) => intersection(common, &keys),
        });
    }
    Ok(Source::Keys(common.expect("at least two").into_iter()))
}

/// What is in both of two sorted lists.
fn intersection(mut a: Vec<Vec<u8>>, b: &[Vec<u8>]) -> Vec<Vec<u8>> {
    let mut at = 0;
    a.retain(|key| {
        while b.get(at).is_some_and(|other| other < key) {
            at += 1;
        }
        b.get(at) == Some(key)
    });
    a
}

/// The value that a column has to be equal to.
fn equal_to(filters: &[Filter], column: usize, kind: Type) -> Option<Datum> {
    filters.iter().filter(|filter| filter.column == column).find_map(|filter| match &filter.test {
        Test::Compare(Compare::Equal, value) if !value.is_null() => value.clone().fit(kind).ok(),
        _ => None,
    })
}

/// Bounds of a column.
fn bounds_of(filters: &[Filter], column: usize, kind: Type) -> Option<(Bound<Datum>, Bound<Datum>)> {
    let fit = |value: &Datum| (!value.is_null()).then(|| value.clone().fit(kind).ok()).flatten();
    let (mut low, mut high) = (Bound::Unbounded, Bound::Unbounded);
    for filter in filters.iter().filter(|filter| filter.column == column) {
        match &filter.test {
            Test::Compare(Compare::Less, value) => high = fit(value).map_or(high, Bound::Excluded),
            Test::Compare(Compare::LessEqual, value) => high = fit(value).map_or(high, Bound::Included),
            Test::Compare(Compare::Greater, value) => low = fit(value).map_or(low, Bound::Excluded),
            Test::Compare(Compare::GreaterEqual, value) => low = fit(value).map_or(low, Bound::Included),
            Test::Between(from, to) => {
                low = fit(from).map_or(low, Bound::Included);
                high = fit(to).map_or(high, Bound::Included);
            }
            _ => {}
        }
    }
    (!matches!((&low, &high), (Bound::Unbounded, Bound::Unbounded))).then_some((low, high))
}

/// The range of keys that the filters leave, if they leave out some.
fn key_path(definition: &TableDefinition, filters: &[Filter]) -> Result<Option<Path>> {
    let spec = definition.key_spec().map_err(|error| Error::Invalid(error.to_string()))?;
    let mut equal = Vec::new();
    let mut bounds = None;
    for &column in &definition.key {
        let kind = definition.columns[column].kind;
        match equal_to(filters, column, kind) {
            Some(value) => equal.push(value),
            None => {
                bounds = bounds_of(filters, column, kind);
                break;
            }
        }
    }
    if equal.is_empty() && bounds.is_none() {
        return Ok(None);
    }
    let range = |last: Option<&Datum>| {
        let values: Vec<_> = equal.iter().chain(last).map(ambo_codec::ValueRef::from).collect();
        spec.prefix_range(&values).map_err(|error| Error::Invalid(error.to_string()))
    };
    let whole = range(None)?;
    let (low, high) = bounds.unwrap_or((Bound::Unbounded, Bound::Unbounded));
    let lower = match &low {
        Bound::Unbounded => whole.lower,
        Bound::Included(value) => range(Some(value))?.lower,
        Bound::Excluded(value) => match range(Some(value))?.upper {
            Some(lower) => lower,
            None => return Ok(Some(Path::Keys { lower: Vec::new(), upper: Some(Vec::new()) })),
        },
    };
    let upper = match &high {
        Bound::Unbounded => whole.upper,
        Bound::Included(value) => range(Some(value))?.upper,
        Bound::Excluded(value) => Some(range(Some(value))?.lower),
    };
    Ok(Some(Path::Keys { lower, upper }))
}

/// The part of an index that the filters leave, if they leave out some.
fn index_path(index: &Arc<TableIndex>, definition: &TableDefinition, filters: &[Filter]) -> Option<Path> {
    let of = index.format.of();
    let mut equal = Vec::new();
    let mut bounds = None;
    for &column in &of.columns {
        let kind = definition.columns[column].kind;
        match equal_to(filters, column, kind) {
            Some(value) => equal.push(value),
            None => {
                bounds = bounds_of(filters, column, kind);
                break;
            }
        }
    }
    let usable = match index.format.is_hashed() {
        true => equal.len() == of.columns.len(),
        false => !equal.is_empty() || bounds.is_some(),
    };
    usable.then(|| Path::Index { index: index.clone(), equal, bounds })
}

impl Path {
    /// Calls `then` with the range of an index.
    fn with_range<R>(
        equal: &[Datum],
        bounds: &Option<(Bound<Datum>, Bound<Datum>)>,
        then: impl FnOnce(IndexRange<'_>) -> R,
    ) -> R {
        let Some((low, high)) = bounds else { return then(IndexRange::Equal(equal)) };
        let values = |bound: &Bound<Datum>| match bound {
            // All that begins with the equal values.
            Bound::Unbounded => Bound::Included(equal.to_vec()),
            Bound::Included(value) => Bound::Included([equal, std::slice::from_ref(value)].concat()),
            Bound::Excluded(value) => Bound::Excluded([equal, std::slice::from_ref(value)].concat()),
        };
        let (low, high) = (values(low), values(high));
        then(IndexRange::Between(low.as_ref().map(Vec::as_slice), high.as_ref().map(Vec::as_slice)))
    }

    fn count(&self, view: &dyn View, table: TableId) -> Result<u64> {
        match self {
            Self::Keys { lower, upper } => view.count_in(table, lower, upper.as_deref()),
            Self::Index { index, equal, bounds } => {
                let range = Self::with_range(equal, bounds, |range| index.key_range(range))?;
                view.count_in(index.id, &range.lower, range.upper.as_deref())
            }
        }
    }

    fn source(&self, view: &dyn View, table: TableId) -> Result<Source> {
        match self {
            Self::Keys { lower, upper } => Ok(Source::Walk {
                cursor: view.rows_in(table, lower, upper.as_deref())?,
                lower: lower.clone(),
                upper: upper.clone(),
                started: false,
            }),
            Self::Index { index, equal, bounds } => {
                Self::with_range(equal, bounds, |range| view.entries(index.id, range)).map(Source::Index)
            }
        }
    }

    /// The keys of all rows on the path, in order.
    fn keys(&self, view: &dyn View, table: TableId) -> Result<Vec<Vec<u8>>> {
        let mut keys = Vec::new();
        match self.source(view, table)? {
            Source::Walk { mut cursor, lower, upper, .. } => {
                let mut there = cursor.seek(Seek::Ge(&lower))?;
                while there && upper.as_deref().is_none_or(|upper| cursor.key() < upper) {
                    keys.push(cursor.key().to_vec());
                    there = cursor.next()?;
                }
            }
            Source::Index(mut scan) => {
                while let Some(key) = scan.next_key()? {
                    keys.push(key.to_vec());
                }
                keys.sort_unstable();
            }
            Source::Keys(_) => unreachable!("a path is one range"),
        }
        Ok(keys)
    }
}
