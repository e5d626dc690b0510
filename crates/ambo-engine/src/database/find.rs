//! Rows by conditions on their columns, in a table of any storage.
//!
//! A path leads to rows that may be meant (`path`); whatever the path, they are then compared with all conditions, a batch at a time, as
//! scans of columns compare them. Or a scan of columns finds those that are meant (`scanned`). Which it is says `choose`.

use std::{collections::VecDeque, sync::Arc};

use ambo_scan::Filter;

use ambo_base::column::{ColumnSchema, RowReader, WholeRow};
use ambo_types::{Error, Result, id::TableId};

use super::{
    choose::{Way, choose},
    count,
    cursor::Seek,
    expiry::Moment,
    index_scan::{IndexRange, IndexScan},
    path::Path,
    scan::{ScanPlan, TableScan, stored_filters},
    snapshot::{Cursor, Snapshot},
    transaction::Transaction,
    value::Value,
    version::DatabaseVersion,
};

/// Rows that are looked up and compared with the conditions at once: few at first, for who wants few.
const BATCH_ROWS_MIN: usize = 16;
const BATCH_ROWS_MAX: usize = 1024;
const BATCH_BYTES: usize = 4 << 20;

/// A view of tables at one moment.
pub(super) trait ReadView: Sync {
    fn version(&self) -> &Arc<DatabaseVersion>;
    /// The rows of some keys, each of which is there once. Columns that are not `picked` may be NULL.
    fn rows(&self, table: TableId, keys: &[Vec<u8>], picked: Option<&[bool]>)
    -> Result<Vec<Option<Vec<u8>>>>;
    fn rows_in(&self, table: TableId, lower: &[u8], upper: Option<&[u8]>) -> Result<Cursor>;
    fn entries(&self, index: TableId, range: IndexRange<'_>) -> Result<IndexScan>;
    /// Counts a range of keys as read.
    fn note_read(&self, table: TableId, lower: &[u8], upper: Option<&[u8]>);
    /// The row of a key; it is not counted as read.
    fn peek(&self, table: TableId, key: &[u8]) -> Result<Option<Value>>;
    /// How many rows there are, with those that have expired. What is found does not depend on it, so they are not counted as read.
    fn count_in(&self, table: TableId, lower: &[u8], upper: Option<&[u8]>) -> Result<u64>;
    /// Prepares a scan of a column table; what it finds is not counted as read.
    fn scan(&self, table: TableId, plan: &ScanPlan) -> Result<TableScan>;
}

impl ReadView for Snapshot {
    fn version(&self) -> &Arc<DatabaseVersion> {
        Self::version(self)
    }
    fn rows(
        &self,
        table: TableId,
        keys: &[Vec<u8>],
        picked: Option<&[bool]>,
    ) -> Result<Vec<Option<Vec<u8>>>> {
        self.get_many(table, keys, picked)
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
        let version = self.version().table(table)?;
        let at = Moment::all(self.timestamp());
        count::count(version, self.own(table), at, Some(lower), upper)
    }
    fn scan(&self, table: TableId, plan: &ScanPlan) -> Result<TableScan> {
        self.scan_columns(table, plan)
    }
}

impl ReadView for Transaction {
    fn version(&self) -> &Arc<DatabaseVersion> {
        self.snapshot().version()
    }
    fn rows(
        &self,
        table: TableId,
        keys: &[Vec<u8>],
        picked: Option<&[bool]>,
    ) -> Result<Vec<Option<Vec<u8>>>> {
        self.get_many(table, keys, picked)
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
        count::count(version, self.own_writes(table), Moment::all(self.timestamp()), Some(lower), upper)
    }
    fn scan(&self, table: TableId, plan: &ScanPlan) -> Result<TableScan> {
        TableScan::new(
            self.snapshot().version(),
            table,
            self.own_writes(table),
            self.snapshot().moment(),
            plan,
        )
    }
}

impl Snapshot {
    /// The rows that answer all filters with yes, by key and stored row, in no order that is promised.
    ///
    /// # Errors
    /// [`Error::Invalid`] for filters that do not fit their columns.
    pub fn find_rows(&self, table: TableId, filters: &[Filter]) -> Result<FoundRows<'_>> {
        FoundRows::new(HeldView::Borrowed(self), table, filters)
    }

    /// As [`Snapshot::find_rows`], keeping the snapshot.
    pub fn into_rows(self, table: TableId, filters: &[Filter]) -> Result<FoundRows<'static>> {
        FoundRows::new(HeldView::Own(Box::new(self)), table, filters)
    }
}

impl Transaction {
    /// As [`Snapshot::find_rows`], with what this transaction wrote so far.
    pub fn find_rows(&self, table: TableId, filters: &[Filter]) -> Result<FoundRows<'_>> {
        FoundRows::new(HeldView::Borrowed(self), table, filters)
    }
}

/// The view that rows are read in.
enum HeldView<'v> {
    Own(Box<Snapshot>),
    Borrowed(&'v dyn ReadView),
}

impl HeldView<'_> {
    fn view(&self) -> &dyn ReadView {
        match self {
            Self::Own(snapshot) => &**snapshot,
            Self::Borrowed(view) => *view,
        }
    }
}

/// How rows are fetched.
pub(super) enum Fetch {
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
        now: Option<Box<Fetch>>,
    },
}

/// Rows that answer all filters with yes.
pub struct FoundRows<'v> {
    moment: HeldView<'v>,
    table: TableId,
    /// Asks rows whether they are meant; of no columns.
    reader: RowReader,
    way: Way,
    wanted: RowsAsked,
    /// Found and not yet taken.
    ready: VecDeque<(Vec<u8>, Vec<u8>)>,
}

/// What is wanted of rows on the way.
struct RowsAsked {
    /// The slots of rows; all, if it does not say.
    picked: Option<Vec<bool>>,
    /// How many rows at once.
    rows: usize,
}

/// A row by its key and stored form.
pub type FoundRow = WholeRow;

impl<'v> FoundRows<'v> {
    fn new(moment: HeldView<'v>, table: TableId, filters: &[Filter]) -> Result<Self> {
        let version = moment.view().version();
        version.table(table)?;
        let definition = version.catalog.table(table).expect("the table is there");
        let way = choose(moment.view(), table, definition, filters)?;
        Self::with_way(moment, table, filters, way)
    }

    fn with_way(moment: HeldView<'v>, table: TableId, filters: &[Filter], way: Way) -> Result<Self> {
        let definition = moment.view().version().catalog.table(table).expect("the table is there");
        let schema = ColumnSchema::new(definition)?;
        let reader = RowReader::new(&schema, &[], &stored_filters(definition, &schema, filters)?)?;
        let wanted = RowsAsked { picked: None, rows: BATCH_ROWS_MIN };
        Ok(Self { moment, table, reader, way, wanted, ready: VecDeque::new() })
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
                Way::Rows(source) => {
                    let batch = source.fetch(self.moment.view(), self.table, &self.wanted)?;
                    self.wanted.note(&batch);
                    batch
                }
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

    /// From now on only these slots of rows are asked for; others may be NULL.
    #[must_use]
    pub(super) fn picking(mut self, slots: Vec<bool>) -> Self {
        debug_assert!(self.ready.is_empty(), "columns are picked before rows are fetched");
        self.wanted.picked = Some(slots);
        self
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
        Self::with_way(HeldView::Own(Box::new(snapshot)), table, filters, way)
    }
}

impl RowsAsked {
    /// Rows that were fetched say how many of the next are not too long together.
    fn note(&mut self, rows: &[FoundRow]) {
        let bytes: usize = rows.iter().map(|(key, row)| key.len() + row.len()).sum();
        let most = (BATCH_BYTES * rows.len()).checked_div(bytes).unwrap_or(BATCH_ROWS_MAX);
        self.rows = (2 * self.rows).min(most).clamp(1, BATCH_ROWS_MAX);
    }
}

impl Fetch {
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

    /// The next rows on the way, which the conditions may leave out; none behind the last.
    fn fetch(&mut self, view: &dyn ReadView, table: TableId, wanted: &RowsAsked) -> Result<Vec<FoundRow>> {
        match self {
            Self::Walk { cursor, lower, upper, started } => {
                let mut batch = Vec::new();
                while batch.len() < wanted.rows {
                    let there = match std::mem::replace(started, true) {
                        false => cursor.seek(Seek::Ge(lower))?,
                        // Behind the last a cursor stays there.
                        true => cursor.is_valid() && cursor.next()?,
                    };
                    if !there || upper.as_deref().is_some_and(|upper| cursor.key() >= upper) {
                        break;
                    }
                    let (key, row) = cursor.row()?;
                    batch.push((key.to_vec(), row.to_vec()));
                }
                debug_assert!(batch.first().is_none_or(|(key, _)| *key >= *lower), "rows of the range");
                Ok(batch)
            }
            Self::Index(scan) => {
                let mut keys = Vec::new();
                while keys.len() < wanted.rows
                    && let Some(key) = scan.next_key()?
                {
                    keys.push(key.to_vec());
                }
                look_up(view, table, keys, wanted, |key| scan.no_row(key))
            }
            Self::Keys(keys) => {
                let keys = keys.take(wanted.rows).collect();
                look_up(view, table, keys, wanted, |_| {
                    Error::damaged(
                        ambo_pages::page::NAME,
                        0,
                        format!("an index of table {table} names a row that is not there"),
                    )
                })
            }
            Self::Several { paths, now, .. } => loop {
                if let Some(source) = now {
                    let batch = source.fetch(view, table, wanted)?;
                    if !batch.is_empty() {
                        return Ok(batch);
                    }
                }
                let Some(path) = paths.next() else { return Ok(Vec::new()) };
                *now = Some(Box::new(path.source(view, table)?));
            },
        }
    }
}

/// The rows that an index names.
fn look_up(
    view: &dyn ReadView,
    table: TableId,
    keys: Vec<Vec<u8>>,
    wanted: &RowsAsked,
    no_row: impl Fn(&[u8]) -> Error,
) -> Result<Vec<FoundRow>> {
    let rows = view.rows(table, &keys, wanted.picked.as_deref())?;
    assert_eq!(rows.len(), keys.len(), "an answer for each key");
    let row = |(key, row): (Vec<u8>, Option<Vec<u8>>)| match row {
        Some(row) => Ok((key, row)),
        None => Err(no_row(&key)),
    };
    keys.into_iter().zip(rows).map(row).collect()
}
