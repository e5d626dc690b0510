//! Where rows are read: at one moment, with or without what a transaction wrote.

use std::sync::Arc;

use ambo_engine::{
    catalog::Catalog,
    database::{self, Engine, IndexRange, IndexScan, KeySum, Picked, ScanPlan, TableShared},
    id::TableId,
};

use crate::{
    Cursor, Datum, Result, Scan, TableScan, Value,
    range::{Bounds, half_open},
};

/// What a view of the database shows.
pub enum Moment<'a> {
    /// What is committed now, looked at anew each time.
    Now(&'a Arc<Engine>),
    /// What was committed when it was [pinned](Moment::pinned).
    Pinned(database::Snapshot),
    Snapshot(&'a database::Snapshot),
    Transaction(&'a database::Transaction),
}

macro_rules! each {
    ($moment:expr, $view:ident => $read:expr) => {
        match $moment {
            Self::Now(engine) => {
                let $view = engine.snapshot();
                $read
            }
            Self::Pinned($view) => $read,
            Self::Snapshot($view) => $read,
            Self::Transaction($view) => $read,
        }
    };
}

impl Moment<'_> {
    /// The same moment for several reads.
    pub(crate) fn pinned(self) -> Self {
        match self {
            Self::Now(engine) => Self::Pinned(engine.snapshot()),
            moment => moment,
        }
    }

    pub(crate) fn catalog(&self) -> Arc<Catalog> {
        each!(self, view => view.catalog().clone())
    }

    /// What it shows, as a snapshot. What is read there is no read of a transaction: see [`Moment::note_scan`].
    pub(crate) fn view(&self) -> database::Snapshot {
        match self {
            Self::Now(engine) => engine.snapshot(),
            Self::Pinned(snapshot) => snapshot.clone(),
            Self::Snapshot(snapshot) => (*snapshot).clone(),
            Self::Transaction(transaction) => transaction.view(),
        }
    }

    /// Counts a table as read from end to end, if this is what a transaction sees.
    pub(crate) fn note_scan(&self, table: TableId) {
        if let Self::Transaction(transaction) = self {
            transaction.note_scan(table);
        }
    }

    pub(crate) fn has_own_definitions(&self) -> bool {
        each!(self, view => view.has_own_definitions())
    }

    /// What all versions of a table share, if it may be that only a transaction has it: one that has changed definitions, and whose view
    /// this is.
    pub(crate) fn own(&self, table: TableId) -> Option<Arc<TableShared>> {
        each!(self, view => view.has_own_definitions().then(|| view.shared(table)).flatten())
    }

    // A look-up of what is committed now needs no snapshot.
    pub(crate) fn get(&self, table: TableId, key: &[u8]) -> Result<Option<Value>> {
        match self {
            Self::Now(engine) => engine.get(table, key),
            Self::Pinned(snapshot) => snapshot.get(table, key),
            Self::Snapshot(snapshot) => snapshot.get(table, key),
            Self::Transaction(transaction) => transaction.get(table, key),
        }
    }

    pub(crate) fn get_picked(&self, table: TableId, key: &[u8], picked: &Picked) -> Result<Option<Value>> {
        match self {
            Self::Now(engine) => engine.get_picked(table, key, Some(picked)),
            Self::Pinned(snapshot) => snapshot.get_picked(table, key, Some(picked)),
            Self::Snapshot(snapshot) => snapshot.get_picked(table, key, Some(picked)),
            Self::Transaction(transaction) => transaction.get_picked(table, key, Some(picked)),
        }
    }

    pub(crate) fn cursor_in(&self, table: TableId, lower: &[u8], upper: Option<&[u8]>) -> Result<Cursor> {
        match self {
            Self::Now(engine) => engine.snapshot().cursor(table),
            Self::Pinned(snapshot) => snapshot.cursor(table),
            Self::Snapshot(snapshot) => snapshot.cursor(table),
            Self::Transaction(transaction) => transaction.cursor_in(table, lower, upper),
        }
    }

    pub(crate) fn scan(&self, table: TableId, bounds: Bounds) -> Result<Scan> {
        Ok(Scan::new(self.cursor_of(table, &bounds)?, bounds))
    }

    /// A cursor for the rows between bounds; a serializable transaction has then read these.
    pub(crate) fn cursor_of(&self, table: TableId, bounds: &Bounds) -> Result<Cursor> {
        // Only what a transaction reads is noted by its bounds.
        if !matches!(self, Self::Transaction(_)) {
            return self.cursor_in(table, &[], None);
        }
        let (lower, upper) = half_open(bounds.clone());
        self.cursor_in(table, lower.as_deref().unwrap_or_default(), upper.as_deref())
    }

    pub(crate) fn count(&self, table: TableId, lower: Option<&[u8]>, upper: Option<&[u8]>) -> Result<u64> {
        each!(self, view => view.count(table, lower, upper))
    }

    pub(crate) fn sum_keys(
        &self,
        table: TableId,
        lower: Option<&[u8]>,
        upper: Option<&[u8]>,
    ) -> Result<KeySum> {
        each!(self, view => view.sum_keys(table, lower, upper))
    }

    /// The stored key and the row of the first that an index finds.
    pub(crate) fn index_get(
        &self,
        index: TableId,
        table: TableId,
        values: &[Datum],
    ) -> Result<Option<(Vec<u8>, Value)>> {
        match self {
            Self::Now(engine) => engine.snapshot().index_get(index, values),
            Self::Pinned(snapshot) => snapshot.index_get(index, values),
            Self::Snapshot(snapshot) => snapshot.index_get(index, values),
            Self::Transaction(_) => {
                let mut scan = self.index_scan(index, IndexRange::Equal(values))?;
                self.next_found(&mut scan, table)
            }
        }
    }

    /// The stored key and the row of the next that a scan of an index finds.
    pub(crate) fn next_found(
        &self,
        scan: &mut IndexScan,
        table: TableId,
    ) -> Result<Option<(Vec<u8>, Value)>> {
        loop {
            let Some(key) = scan.next_key()?.map(<[u8]>::to_vec) else { return Ok(None) };
            let row = self.get(table, &key)?.ok_or_else(|| scan.no_row(&key))?;
            if scan.is_meant(&key, &row)? {
                return Ok(Some((key, row)));
            }
        }
    }

    pub(crate) fn index_scan(&self, index: TableId, range: IndexRange<'_>) -> Result<IndexScan> {
        each!(self, view => view.index_scan(index, range))
    }

    pub(crate) fn scan_columns(&self, table: TableId, plan: &ScanPlan) -> Result<TableScan> {
        each!(self, view => view.scan_columns(table, plan))
    }
}
