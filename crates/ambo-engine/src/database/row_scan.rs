//! Scans of tables that are stored as rows: columns of the rows that answer all filters, in parts that any number of threads take.
//!
//! What is looked through is a range of keys, all of them unless filters say more of the key. It is cut into *units*, ranges that follow
//! each other, so that a unit has its rows in the order of keys, and all of them before those of the next. A scan holds its snapshot, which
//! tells what is in each unit, whatever is written, split, merged or frozen between two of them. Rows that an index leads to are one unit,
//! in no order.

use std::{
    ops::ControlFlow,
    sync::{Arc, OnceLock},
};

use ambo_scan::{ColumnBuffer, Filter, Test};

use ambo_base::{
    BaseOps,
    column::{ColumnSchema, RowReader},
};
use ambo_codec::KeyRange;
use ambo_types::{
    Error, Result,
    id::TableId,
    record::{Record, RecordKind},
};
use parking_lot::Mutex;

use super::{
    blobs::read_whole,
    choose::{Way, choose},
    cuts::{KeyBounds, cuts, part_rows, rows_about},
    engine::Engine,
    find::{Fetch, FoundRows},
    path::key_range,
    scan::{ScanPlan, stored_filters, stored_place},
    snapshot::Snapshot,
    walk::{Layers, Walk, Walked},
};

/// Buffers end with the row that brings them to so many bytes.
const BATCH_BYTES: usize = 4 << 20;

/// See the module.
pub struct RowScan {
    snapshot: Snapshot,
    table: TableId,
    schema: ColumnSchema,
    plan: ScanPlan,
    /// The stored columns that are asked for.
    columns: Vec<usize>,
    /// By stored columns.
    filters: Vec<Filter>,
    /// Rows of a unit, if not as many as usual.
    unit_rows: Option<u64>,
    path: String,
    source: RowOrigin,
}

/// Where rows come from.
enum RowOrigin {
    Range {
        layers: Box<Layers>,
        range: KeyBounds,
        cuts: OnceLock<Vec<Vec<u8>>>,
    },
    /// Rows that are looked for once more when they were taken.
    Found(Mutex<Option<Box<FoundRows<'static>>>>),
}

impl Snapshot {
    /// Prepares a scan of a table, which keeps the snapshot. Of a column table it is slower than [`Snapshot::scan_columns`], unless an
    /// index leads to the rows.
    ///
    /// # Errors
    /// [`Error::Invalid`] for a plan that does not fit the columns.
    pub fn into_row_scan(self, table: TableId, plan: &ScanPlan) -> Result<RowScan> {
        RowScan::new(self, table, plan)
    }

    /// The same of the rows whose stored keys are not less than `lower`, and less than `upper`. REQUIRES: the plan filters nothing.
    ///
    /// # Errors
    /// As [`Snapshot::into_row_scan`]; and [`Error::Invalid`] of a column table.
    pub fn into_range_scan(
        self,
        table: TableId,
        plan: &ScanPlan,
        lower: &[u8],
        upper: Option<&[u8]>,
    ) -> Result<RowScan> {
        let mut scan = RowScan::new(self, table, plan)?;
        match &mut scan.source {
            RowOrigin::Range { range, layers, .. } => {
                let wanted = KeyBounds { lower: lower.to_vec(), upper: upper.map(<[u8]>::to_vec) };
                *range = live(layers, wanted);
                Ok(scan)
            }
            RowOrigin::Found(_) => {
                Err(Error::Invalid("a range of keys of what is not stored as rows".into()))
            }
        }
    }
}

/// A range without the rows that have expired, if rows are in the order of time.
fn live(layers: &Layers, range: KeyBounds) -> KeyBounds {
    let live = layers.newer.expired(layers.at).and_then(|expired| expired.live_from());
    match (live, &range.upper) {
        (Some(live), Some(upper)) if live > *upper => KeyBounds { lower: upper.clone(), ..range },
        (Some(live), _) if live > range.lower => KeyBounds { lower: live, ..range },
        _ => range,
    }
}

impl RowScan {
    fn new(snapshot: Snapshot, table: TableId, plan: &ScanPlan) -> Result<Self> {
        let version = snapshot.version().clone();
        let there = version.table(table)?;
        let definition = version.catalog.table(table).expect("the table is there");
        let schema = ColumnSchema::new(definition)?;
        let place = |column: &usize| stored_place(definition, &schema, *column);
        let columns = plan.columns.iter().map(place).collect::<Result<Vec<_>>>()?;
        let filters = stored_filters(definition, &schema, &plan.filters)?;
        let (path, source) = match choose(&snapshot, table, definition, &plan.filters)? {
            Way::Rows(source @ Fetch::Walk { .. }) if there.base.columns().is_none() => {
                let path = source.describe();
                let Fetch::Walk { lower, upper, .. } = source else { unreachable!("it was just that") };
                let layers = Box::new(Layers::new(there, snapshot.own(table), snapshot.moment()));
                let range = live(&layers, KeyBounds { lower, upper });
                (path, RowOrigin::Range { layers, range, cuts: OnceLock::new() })
            }
            way => {
                let found = FoundRows::by_way(snapshot.clone(), table, &plan.filters, way)?;
                let found = found.picking(slots(&schema, &columns, &filters));
                (found.path(), RowOrigin::Found(Mutex::new(Some(Box::new(found)))))
            }
        };
        Ok(Self {
            snapshot,
            table,
            schema,
            plan: plan.clone(),
            columns,
            filters,
            unit_rows: None,
            path,
            source,
        })
    }

    /// Units with about so many rows, instead of the usual 16,384, or up to 65,536 in large tables. To be said before units are read.
    #[must_use]
    pub fn with_unit_rows(mut self, rows: u64) -> Self {
        self.unit_rows = Some(rows.max(1));
        self
    }

    /// How rows are looked for, in words.
    pub fn path(&self) -> &str {
        &self.path
    }

    /// Whether rows come in the order of their stored keys, unit after unit and within each.
    pub fn is_in_order(&self) -> bool {
        matches!(self.source, RowOrigin::Range { .. })
    }

    /// About how many units there will be; quicker to say than how many there are.
    pub fn units_about(&self) -> Result<usize> {
        match &self.source {
            RowOrigin::Range { layers, range, .. } => {
                let rows = rows_about(layers, range)?;
                Ok((rows / self.unit_rows.unwrap_or(part_rows(rows))).max(1) as usize)
            }
            RowOrigin::Found(_) => Ok(1),
        }
    }

    /// How many units there are: at least one.
    pub fn units(&self) -> Result<usize> {
        Ok(self.cuts()?.len() + 1)
    }

    /// The stored keys of a unit: from the first on, and below the second, if there is one.
    ///
    /// # Panics
    /// If there is no such unit.
    pub fn unit_bounds(&self, unit: usize) -> Result<(Vec<u8>, Option<Vec<u8>>)> {
        let RowOrigin::Range { range, .. } = &self.source else { return Ok((Vec::new(), None)) };
        let cuts = self.cuts()?;
        assert!(unit <= cuts.len(), "no such unit");
        let lower = unit.checked_sub(1).map_or(&range.lower, |before| &cuts[before]);
        Ok((lower.clone(), cuts.get(unit).or(range.upper.as_ref()).cloned()))
    }

    /// The keys between units.
    fn cuts(&self) -> Result<&[Vec<u8>]> {
        let RowOrigin::Range { layers, range, cuts: known } = &self.source else { return Ok(&[]) };
        if let Some(cuts) = known.get() {
            return Ok(cuts);
        }
        // Of two that cut at once the first counts: rows that came in between may have moved the cuts of the other.
        let rows = rows_about(layers, range)?;
        let cuts = cuts(layers, range, rows, self.unit_rows.unwrap_or(part_rows(rows)))?;
        Ok(known.get_or_init(|| cuts))
    }

    /// A question about the column at a place of the plan, for [`RowScan::unit`].
    ///
    /// # Errors
    /// [`Error::Invalid`]: a constant that cannot be compared with values of the column.
    pub fn filter(&self, place: usize, test: Test) -> Result<Filter> {
        let column = self.columns[place];
        let test =
            test.fit(self.schema.types()[column]).map_err(|error| Error::Invalid(error.to_string()))?;
        Ok(Filter { column, test })
    }

    /// The rows of a unit, which answer `more` questions with yes, too.
    ///
    /// # Panics
    /// If there is no such unit.
    pub fn unit(self: &Arc<Self>, unit: usize, more: &[Filter]) -> Result<UnitRows> {
        match &self.source {
            RowOrigin::Range { range, .. } => {
                let cuts = self.cuts()?;
                assert!(unit <= cuts.len(), "no such unit");
                let lower = unit.checked_sub(1).map_or(&range.lower, |before| &cuts[before]);
                let upper = cuts.get(unit).or(range.upper.as_ref());
                self.range(lower, upper.map(Vec::as_slice), more)
            }
            RowOrigin::Found(kept) => {
                assert!(unit == 0, "no such unit");
                let kept = kept.lock().take();
                let found = match kept {
                    Some(found) => found,
                    None => {
                        let found = self.snapshot.clone().into_rows(self.table, &self.plan.filters)?;
                        Box::new(found.picking(slots(&self.schema, &self.columns, &self.filters)))
                    }
                };
                let reader = RowReader::new(&self.schema, &self.columns, more)?;
                Ok(UnitRows { scan: self.clone(), reader, walk: UnitWalk::Found(found) })
            }
        }
    }

    /// All rows, as if they were one unit.
    pub fn all(self: &Arc<Self>) -> Result<UnitRows> {
        match &self.source {
            RowOrigin::Range { range, .. } => self.range(&range.lower, range.upper.as_deref(), &[]),
            RowOrigin::Found(_) => self.unit(0, &[]),
        }
    }

    fn range(self: &Arc<Self>, lower: &[u8], upper: Option<&[u8]>, more: &[Filter]) -> Result<UnitRows> {
        let RowOrigin::Range { layers, .. } = &self.source else { unreachable!("asked of ranges only") };
        let filters: Vec<_> = self.filters.iter().chain(more).cloned().collect();
        let reader = RowReader::new(&self.schema, &self.columns, &filters)?;
        // What is asked of the key later may leave less of the range.
        let left = self.key_range(more)?;
        let lower = left.as_ref().map_or(lower, |left| lower.max(&left.lower));
        let left_upper = left.as_ref().and_then(|left| left.upper.as_deref());
        let upper = upper.into_iter().chain(left_upper).min();
        let walk = match upper.is_some_and(|upper| lower >= upper) {
            true => None,
            false => Some(Box::new(Walk::new(layers, lower, upper, reader.needs_keys())?)),
        };
        Ok(UnitRows { scan: self.clone(), reader, walk: UnitWalk::Range(walk) })
    }

    /// The keys of rows that answer filters of stored columns with yes, if that are not all.
    fn key_range(&self, filters: &[Filter]) -> Result<Option<KeyRange>> {
        let definition = self.snapshot.catalog().table(self.table).expect("the table is there");
        let of_key = |filter: &Filter| {
            let column = *definition.key.get(filter.column)?;
            Some(Filter { column, test: filter.test.clone() })
        };
        key_range(definition, &filters.iter().filter_map(of_key).collect::<Vec<_>>())
    }

    /// The value of a row that is out of line.
    #[cold]
    fn long_value(&self, reference: &[u8]) -> Result<Vec<u8>> {
        let of = self.snapshot.version().table(self.table)?;
        let mut value = read_whole(&of.shared.store, &Engine::decode_blob(reference, self.table)?)?;
        value.truncate(of.shown(&value).len());
        Ok(value)
    }
}

/// The slots of rows in which these stored columns and filters look.
fn slots(schema: &ColumnSchema, columns: &[usize], filters: &[Filter]) -> Vec<bool> {
    let wanted =
        |column: &usize| columns.contains(column) || filters.iter().any(|filter| filter.column == *column);
    (schema.key_columns()..schema.types().len()).map(|column| wanted(&column)).collect()
}

/// The rows of a unit, as columns. It keeps the scan.
pub struct UnitRows {
    scan: Arc<RowScan>,
    reader: RowReader,
    walk: UnitWalk,
}

enum UnitWalk {
    /// None behind the last row.
    Range(Option<Box<Walk>>),
    Found(Box<FoundRows<'static>>),
}

impl UnitRows {
    /// As [`RowScan::path`].
    pub fn path(&self) -> &str {
        self.scan.path()
    }

    /// Values of the columns of the next rows, in the order of the plan, and how many rows that are, `rows` at most; `None` behind the
    /// last.
    ///
    /// # Errors
    /// [`Error::Damaged`], or a row that cannot be read.
    pub fn next_columns(&mut self, rows: usize) -> Result<Option<(Vec<ColumnBuffer>, usize)>> {
        let Self { scan, reader, walk } = self;
        let mut taker = Taker::new(scan, reader, rows);
        match walk {
            UnitWalk::Range(left) => {
                let Some(walk) = left else { return Ok(None) };
                if walk.go_on(|key, record| taker.take(key, record))? == Walked::End {
                    *left = None;
                }
            }
            UnitWalk::Found(found) => {
                while let Some((key, row)) = found.next_row()?
                    && taker.take(&key, Record::inline(&row))?.is_continue()
                {}
            }
        }
        Ok((taker.taken > 0).then_some((taker.buffers, taker.taken)))
    }
}

/// Takes the columns of rows, until they are as many as were asked for.
struct Taker<'r> {
    scan: &'r RowScan,
    reader: &'r mut RowReader,
    needs_records: bool,
    buffers: Vec<ColumnBuffer>,
    /// The buffers of text and bytes.
    texts: Vec<usize>,
    wanted: usize,
    taken: usize,
}

impl<'r> Taker<'r> {
    fn new(scan: &'r RowScan, reader: &'r mut RowReader, wanted: usize) -> Self {
        let types = || scan.columns.iter().map(|column| scan.schema.types()[*column]);
        Self {
            needs_records: reader.needs_records(),
            buffers: types().map(ColumnBuffer::new).collect(),
            texts: (0..).zip(types()).filter(|(_, ty)| ty.is_variable()).map(|(place, _)| place).collect(),
            scan,
            reader,
            wanted,
            taken: 0,
        }
    }

    #[inline]
    fn take(&mut self, key: &[u8], record: Record<'_>) -> Result<ControlFlow<()>> {
        let is_taken = match record.kind {
            RecordKind::Blob if self.needs_records => {
                self.reader.read(key, &self.scan.long_value(record.bytes)?, &mut self.buffers)
            }
            _ => self.reader.read(key, record.bytes, &mut self.buffers),
        };
        if !is_taken.map_err(unreadable)? {
            return Ok(ControlFlow::Continue(()));
        }
        self.taken += 1;
        debug_assert!(
            self.buffers.iter().all(|buffer| buffer.len() == self.taken),
            "each column has each row"
        );
        let bytes: usize = self.texts.iter().map(|place| self.buffers[*place].data_bytes()).sum();
        match self.taken == self.wanted || bytes >= BATCH_BYTES {
            true => Ok(ControlFlow::Break(())),
            false => Ok(ControlFlow::Continue(())),
        }
    }
}

fn unreadable(error: ambo_codec::Error) -> Error {
    Error::Invalid(format!("a row that cannot be read: {error}"))
}
