//! Rows by conditions on their columns, in a table of any storage.
//!
//! A path leads to rows that may be meant (`path`); whatever the path, they are then compared with all conditions, a batch at a time, as
//! scans of columns compare them. Or a scan of columns finds those that are meant (`scanned`). Which it is says `choose`.

use std::{collections::VecDeque, sync::Arc};

use super::{
    choose::{Way, choose},
    count,
    cursor::Seek,
    index_scan::{IndexRange, IndexScan},
    path::Path,
    scan::{ScanPlan, TableScan, stored_filters},
    snapshot::{Cursor, Snapshot},
    transaction::Transaction,
    value::Value,
    version::DatabaseVersion,
};
use crate::{
    Error, Result,
    base::column::{ColumnSchema, Filter, RowReader, WholeRow},
    id::TableId,
};

/// Rows that are compared with the conditions at once.
const BATCH_ROWS: usize = 1024;
const BATCH_BYTES: usize = 4 << 20;

/// A view of tables at one moment.
pub(super) trait View: Sync {
    fn version(&self) -> &Arc<DatabaseVersion>;
    fn row(&self, table: TableId, key: &[u8]) -> Result<Option<Value>>;
    fn rows_in(&self, table: TableId, lower: &[u8], upper: Option<&[u8]>) -> Result<Cursor>;
    fn entries(&self, index: TableId, range: IndexRange<'_>) -> Result<IndexScan>;
    /// Counts a range of keys as read.
    fn note_read(&self, table: TableId, lower: &[u8], upper: Option<&[u8]>);
    /// As `row`; it is not counted as read.
    fn peek(&self, table: TableId, key: &[u8]) -> Result<Option<Value>>;
    /// How many rows there are. What is found does not depend on it, so they are not counted as read.
    fn count_in(&self, table: TableId, lower: &[u8], upper: Option<&[u8]>) -> Result<u64>;
    /// Prepares a scan of a column table; what it finds is not counted as read.
    fn scan(&self, table: TableId, plan: &ScanPlan) -> Result<TableScan>;
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
    fn entries(&self, index: TableId, range: IndexRange<'_>) -> Result<IndexScan> {
        self.index_scan(index, range)
    }
    fn note_read(&self, _: TableId, _: &[u8], _: Option<&[u8]>) {}
    fn peek(&self, table: TableId, key: &[u8]) -> Result<Option<Value>> {
        self.get(table, key)
    }
    fn count_in(&self, table: TableId, lower: &[u8], upper: Option<&[u8]>) -> Result<u64> {
        self.count(table, Some(lower), upper)
    }
    fn scan(&self, table: TableId, plan: &ScanPlan) -> Result<TableScan> {
        self.scan_columns(table, plan)
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
    fn entries(&self, index: TableId, range: IndexRange<'_>) -> Result<IndexScan> {
        self.index_scan(index, range)
    }
    fn note_read(&self, table: TableId, lower: &[u8], upper: Option<&[u8]>) {
        self.note_range(table, lower, upper);
    }
    fn peek(&self, table: TableId, key: &[u8]) -> Result<Option<Value>> {
        Self::peek(self, table, key)
    }
    fn count_in(&self, table: TableId, lower: &[u8], upper: Option<&[u8]>) -> Result<u64> {
        let version = self.snapshot().version().table(table)?;
        count::count(version, self.own_writes(table), self.timestamp(), Some(lower), upper)
    }
    fn scan(&self, table: TableId, plan: &ScanPlan) -> Result<TableScan> {
        TableScan::new(self.snapshot().version(), table, self.own_writes(table), self.timestamp(), plan)
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

/// How rows are fetched.
pub(super) enum Source {
    Walk {
        cursor: Cursor,
        lower: Vec<u8>,
        upper: Option<Vec<u8>>,
        started: bool,
    },
    Index(IndexScan),
    Keys(std::vec::IntoIter<Vec<u8>>),
    /// One path after the other.
    Several {
        what: String,
        paths: std::vec::IntoIter<Path>,
        now: Option<Box<Source>>,
    },
}

/// Rows that answer all filters with yes.
pub struct FoundRows<'v> {
    moment: Moment<'v>,
    table: TableId,
    /// Asks rows whether they are meant; of no columns.
    reader: RowReader,
    way: Way,
    /// Found and not yet taken.
    ready: VecDeque<(Vec<u8>, Vec<u8>)>,
}

/// A row by its key and stored form.
pub type FoundRow = WholeRow;

impl<'v> FoundRows<'v> {
    fn new(moment: Moment<'v>, table: TableId, filters: &[Filter]) -> Result<Self> {
        let version = moment.view().version();
        version.table(table)?;
        let definition = version.catalog.table(table).expect("the table is there");
        let way = choose(moment.view(), table, definition, filters)?;
        Self::with_way(moment, table, filters, way)
    }

    fn with_way(moment: Moment<'v>, table: TableId, filters: &[Filter], way: Way) -> Result<Self> {
        let definition = moment.view().version().catalog.table(table).expect("the table is there");
        let schema = ColumnSchema::new(definition)?;
        let reader = RowReader::new(&schema, &[], &stored_filters(definition, &schema, filters)?)?;
        Ok(Self { moment, table, reader, way, ready: VecDeque::new() })
    }

    /// How rows are looked for, in words.
    pub fn path(&self) -> String {
        match &self.way {
            Way::Scan(rows) if rows.asks_bitmaps() => "a scan of columns with bitmap indexes".into(),
            Way::Scan(_) => "a scan of columns".into(),
            Way::Rows(source) => source.describe(),
        }
    }

    /// The next row; `None` behind the last.
    pub fn next_row(&mut self) -> Result<Option<FoundRow>> {
        while self.ready.is_empty() {
            let batch = match &mut self.way {
                Way::Rows(source) => source.fetch(self.moment.view(), self.table)?,
                Way::Scan(rows) => rows.next_rows(self.moment.view(), self.table)?,
            };
            if batch.is_empty() {
                return Ok(None);
            }
            match self.way {
                Way::Rows(_) => self.sift(batch)?,
                Way::Scan(_) => self.ready.extend(batch),
            }
        }
        Ok(self.ready.pop_front())
    }

    /// Keeps the rows of a batch that answer all filters with yes.
    fn sift(&mut self, batch: Vec<FoundRow>) -> Result<()> {
        for (key, row) in batch {
            let is_meant = self.reader.read(&key, &row, &mut []);
            if is_meant.map_err(|error| Error::Invalid(format!("a row that cannot be read: {error}")))? {
                self.ready.push_back((key, row));
            }
        }
        Ok(())
    }
}

impl FoundRows<'static> {
    /// By a way that is chosen already.
    pub(super) fn by_way(snapshot: Snapshot, table: TableId, filters: &[Filter], way: Way) -> Result<Self> {
        Self::with_way(Moment::Own(Box::new(snapshot)), table, filters, way)
    }
}

impl Source {
    /// The way in words.
    pub(super) fn describe(&self) -> String {
        match self {
            Self::Walk { lower, upper, .. } if lower.is_empty() && upper.is_none() => "all rows".into(),
            Self::Walk { .. } => "a range of keys".into(),
            Self::Index(scan) => format!("index \"{}\"", scan.index_name()),
            Self::Keys(_) => "several indexes".into(),
            Self::Several { what, .. } => what.clone(),
        }
    }

    /// The next rows on the way; none behind the last.
    fn fetch(&mut self, view: &dyn View, table: TableId) -> Result<Vec<FoundRow>> {
        let mut batch = Vec::new();
        let mut bytes = 0;
        while batch.len() < BATCH_ROWS && bytes < BATCH_BYTES {
            let Some(row) = self.fetch_row(view, table)? else { break };
            bytes += row.0.len() + row.1.len();
            batch.push(row);
        }
        Ok(batch)
    }

    /// The next row on the way, which the conditions may leave out.
    fn fetch_row(&mut self, view: &dyn View, table: TableId) -> Result<Option<FoundRow>> {
        match self {
            Self::Walk { cursor, lower, upper, started } => {
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
            Self::Index(scan) => {
                let Some(key) = scan.next_key()?.map(<[u8]>::to_vec) else { return Ok(None) };
                match view.row(table, &key)? {
                    Some(row) => Ok(Some((key, row.to_vec()))),
                    None => Err(scan.no_row(&key)),
                }
            }
            Self::Keys(keys) => {
                let Some(key) = keys.next() else { return Ok(None) };
                match view.row(table, &key)? {
                    Some(row) => Ok(Some((key, row.to_vec()))),
                    None => Err(Error::damaged(
                        crate::page::NAME,
                        0,
                        format!("an index of table {table} names a row that is not there"),
                    )),
                }
            }
            Self::Several { paths, now, .. } => loop {
                if let Some(source) = now
                    && let Some(row) = source.fetch_row(view, table)?
                {
                    return Ok(Some(row));
                }
                let Some(path) = paths.next() else { return Ok(None) };
                *now = Some(Box::new(path.source(view, table)?));
            },
        }
    }
}
