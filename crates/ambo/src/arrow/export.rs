//! Rows of a column table as Arrow batches.
//!
//! A batch is what a scan selects of some thousand rows. Columns are decoded straight into the buffers of Arrow's arrays; nothing is
//! copied after that.

use std::sync::{
    Arc,
    atomic::{AtomicU64, AtomicUsize, Ordering},
    mpsc::{Receiver, sync_channel},
};

use ambo_codec::column::Element;
use ambo_engine::{database::TableScan, scan::Morsel};
use arrow_array::{
    ArrayRef, ArrowPrimitiveType, BinaryArray, BooleanArray, DictionaryArray, PrimitiveArray, RecordBatch,
    RecordBatchOptions, StringArray,
    types::{
        Date32Type, Decimal128Type, Float32Type, Float64Type, Int8Type, Int16Type, Int32Type, Int64Type,
        Time64NanosecondType, TimestampMicrosecondType, UInt8Type, UInt16Type, UInt32Type, UInt64Type,
    },
};
use arrow_buffer::{BooleanBuffer, Buffer, NullBuffer, OffsetBuffer, ScalarBuffer};
use arrow_schema::{ArrowError, SchemaRef};

use super::{logical, types};
use crate::{Error, Logical, Read, Result, Select, Snapshot, Transaction, Type};

/// Batches that wait for each thread of a [`Stream`].
const WAITING: usize = 2;

/// The rows of a [`Select`] as Arrow batches, to be read as a [`Stream`] or folded.
///
/// ```
/// use ambo::{Database, Storage, TableDefinition, Type};
/// # let dir = tempfile::tempdir()?;
/// # let db = Database::open(dir.path())?;
/// let cities = db.create_table(
///     TableDefinition::new("cities")
///         .column("id", Type::I64)
///         .column_nullable("name", Type::Utf8)
///         .primary_key(&["id"])
///         .storage(Storage::Column),
/// )?;
/// cities.upsert_row(&[1i64.into(), "Bergen".into()])?;
/// cities.upsert_row(&[2i64.into(), "Porto".into()])?;
/// let mut rows = 0;
/// for batch in cities.select(&["name", "id"])?.batches()?.limit(1).stream(2) {
///     let batch = batch?;
///     assert_eq!(batch.schema().field(0).name(), "name");
///     rows += batch.num_rows();
/// }
/// assert_eq!(rows, 1);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[must_use = "nothing is read before `stream` or `fold`"]
pub struct Batches {
    pub(super) scan: TableScan,
    types: Vec<Type>,
    logical: Vec<Option<Logical>>,
    select: Select,
    /// Which columns may have NULLs.
    nullable: Vec<bool>,
    schema: SchemaRef,
    dictionaries: bool,
    pub(super) limit: u64,
}

impl Select {
    /// The rows that are committed now, as Arrow batches.
    ///
    /// # Errors
    /// [`Error::Invalid`] if the table is not of storage column, or a constant does not fit its column.
    pub fn batches(&self) -> Result<Batches> {
        Ok(Batches::new(self, self.scan()?))
    }
}

impl Snapshot {
    /// Rows as they were at this moment, as Arrow batches.
    pub fn batches(&self, select: &Select) -> Result<Batches> {
        Ok(Batches::new(select, self.scan_columns(select)?))
    }
}

impl Transaction {
    /// Rows as this transaction sees them, its own writes among them, as Arrow batches.
    pub fn batches(&self, select: &Select) -> Result<Batches> {
        Ok(Batches::new(select, self.scan_columns(select)?))
    }
}

impl Batches {
    fn new(select: &Select, scan: TableScan) -> Self {
        let definition = select.table().definition();
        let columns = &select.plan().columns;
        let ty = |column: &usize| definition.columns.get(*column).map_or(Type::U64, |column| column.kind);
        // Of the moment of the scan: the handle may be older, or newer.
        let nullable: Vec<_> = (0..columns.len()).map(|place| scan.is_nullable(place)).collect();
        Self {
            scan,
            types: columns.iter().map(ty).collect(),
            logical: columns.iter().map(|column| definition.columns.get(*column)?.logical.clone()).collect(),
            schema: types::schema(definition, columns, &nullable, false),
            select: select.clone(),
            nullable,
            dictionaries: false,
            limit: u64::MAX,
        }
    }

    /// Hands out text as numbers of dictionary entries, as it is stored where it repeats. Where it does not, each row has an entry.
    pub fn dictionaries(mut self, on: bool) -> Self {
        self.dictionaries = on;
        self.schema =
            types::schema(self.select.table().definition(), &self.select.plan().columns, &self.nullable, on);
        self
    }

    /// Hands out so many rows at most, whichever come first.
    pub fn limit(mut self, rows: u64) -> Self {
        self.limit = rows;
        self
    }

    /// The schema of all batches.
    pub fn schema(&self) -> &SchemaRef {
        &self.schema
    }

    /// How many batches there may be at most.
    pub fn units(&self) -> usize {
        self.scan.units()
    }

    /// One of them; `None` if it has no rows. For callers with threads of their own; a limit is not seen here.
    ///
    /// # Errors
    /// [`Error::Damaged`] for what cannot be read.
    pub fn read(&self, unit: usize) -> Result<Option<RecordBatch>> {
        self.read_limited(unit, &AtomicU64::new(u64::MAX))
    }

    /// Reads batches in any order by `threads` threads of its own, which wait when they are ahead.
    pub fn stream(self, threads: usize) -> Stream {
        let threads = threads.clamp(1, self.scan.units().max(1));
        let (send, receive) = sync_channel(threads * WAITING);
        let schema = self.schema.clone();
        let (left, next) = (AtomicU64::new(self.limit), AtomicUsize::new(0));
        let shared = Arc::new((self, left, next));
        let mut workers = Vec::with_capacity(threads);
        for _ in 0..threads {
            let (shared, send) = (shared.clone(), send.clone());
            workers.push(std::thread::spawn(move || {
                let (batches, left, next) = &*shared;
                loop {
                    let unit = next.fetch_add(1, Ordering::Relaxed);
                    if unit >= batches.scan.units() {
                        return;
                    }
                    let batch = batches.read_limited(unit, left);
                    let is_last = batch.is_err() || left.load(Ordering::Relaxed) == 0;
                    if is_last {
                        next.store(batches.scan.units(), Ordering::Relaxed);
                    }
                    // Without a receiver nobody wants more.
                    if batch.transpose().is_some_and(|batch| send.send(batch).is_err()) {
                        return;
                    }
                }
            }));
        }
        Stream { schema, receive: Some(receive), workers }
    }

    /// Folds all batches, in any order, by `threads` threads, each with a state of its own. Returns the states.
    ///
    /// # Errors
    /// The first of any thread; the others stop.
    pub fn fold<S: Send>(
        &self,
        threads: usize,
        init: impl Fn() -> S + Sync,
        step: impl Fn(&mut S, RecordBatch) -> Result<()> + Sync,
    ) -> Result<Vec<S>> {
        let left = AtomicU64::new(self.limit);
        self.scan.fold(threads, init, |state, morsel| match self.convert(morsel, &left)? {
            Some(batch) => step(state, batch),
            None => Ok(()),
        })
    }

    pub(super) fn read_limited(&self, unit: usize, left: &AtomicU64) -> Result<Option<RecordBatch>> {
        match self.scan.morsel(unit)? {
            Some(morsel) => self.convert(&morsel, left),
            None => Ok(None),
        }
    }

    /// The rows of a morsel, as many as are `left` to be handed out.
    pub(super) fn convert(&self, morsel: &Morsel<'_>, left: &AtomicU64) -> Result<Option<RecordBatch>> {
        let selected = morsel.selected();
        let take = |left: u64| Some(left.saturating_sub(selected as u64));
        let before = left.fetch_update(Ordering::Relaxed, Ordering::Relaxed, take).expect("always some");
        let rows = before.min(selected as u64) as usize;
        if rows == 0 {
            return Ok(None);
        }
        let arrays = (0..self.types.len()).map(|place| self.array(morsel, place));
        let arrays = arrays.collect::<Result<Vec<_>>>()?;
        let options = RecordBatchOptions::new().with_row_count(Some(selected));
        let batch =
            RecordBatch::try_new_with_options(self.schema.clone(), arrays, &options).map_err(refused)?;
        Ok(Some(if rows < selected { batch.slice(0, rows) } else { batch }))
    }

    /// The column at a place of the projection, of the selected rows.
    pub(super) fn array(&self, morsel: &Morsel<'_>, place: usize) -> Result<ArrayRef> {
        let nulls = nulls(morsel, place)?;
        Ok(match self.types[place] {
            Type::Bool => {
                let mut values = Vec::<bool>::new();
                morsel.values(place, &mut values)?;
                Arc::new(BooleanArray::new(values.into(), nulls))
            }
            Type::I8 => primitive::<Int8Type>(morsel, place, nulls)?,
            Type::I16 => primitive::<Int16Type>(morsel, place, nulls)?,
            Type::I32 => primitive::<Int32Type>(morsel, place, nulls)?,
            Type::I64 => primitive::<Int64Type>(morsel, place, nulls)?,
            Type::U8 => primitive::<UInt8Type>(morsel, place, nulls)?,
            Type::U16 => {
                let codes = primitive::<UInt16Type>(morsel, place, nulls)?;
                match &self.logical[place] {
                    Some(logical) => logical::from_stored(&codes, &logical::logical_type(logical))?,
                    None => codes,
                }
            }
            Type::U32 => primitive::<UInt32Type>(morsel, place, nulls)?,
            Type::U64 => primitive::<UInt64Type>(morsel, place, nulls)?,
            Type::F32 => primitive::<Float32Type>(morsel, place, nulls)?,
            Type::F64 => primitive::<Float64Type>(morsel, place, nulls)?,
            Type::Date32 => primitive::<Date32Type>(morsel, place, nulls)?,
            Type::Time64 => primitive::<Time64NanosecondType>(morsel, place, nulls)?,
            Type::Timestamp => primitive::<TimestampMicrosecondType>(morsel, place, nulls)?,
            Type::TimestampTz => {
                let array = primitive_array::<TimestampMicrosecondType>(morsel, place, nulls)?;
                Arc::new(array.with_timezone("UTC"))
            }
            Type::Decimal128 { precision, scale } => {
                let array = primitive_array::<Decimal128Type>(morsel, place, nulls)?;
                Arc::new(array.with_precision_and_scale(precision, scale).map_err(refused)?)
            }
            Type::Utf8 if self.dictionaries => dictionary(morsel, place, nulls)?,
            Type::Utf8 => {
                let (offsets, data) = texts(morsel, place)?;
                Arc::new(StringArray::try_new(offsets, data, nulls).map_err(refused)?)
            }
            Type::Binary => {
                let (offsets, data) = texts(morsel, place)?;
                let stored = BinaryArray::try_new(offsets, data, nulls).map_err(refused)?;
                match &self.logical[place] {
                    Some(logical) => logical::decoded(&stored, logical)?,
                    None => Arc::new(stored),
                }
            }
        })
    }
}

/// What Arrow does not take: only damaged blocks yield it.
pub(super) fn refused(error: ArrowError) -> Error {
    Error::Invalid(format!("a damaged block: {error}"))
}

/// Which of the selected rows have a value; `None` if all have.
fn nulls(morsel: &Morsel<'_>, place: usize) -> Result<Option<NullBuffer>> {
    let block = morsel.block(place)?;
    if block.has_no_nulls() {
        return Ok(None);
    }
    let valid = block.validity().among(morsel.mask());
    let bits = BooleanBuffer::new(Buffer::from_slice_ref(valid.words()), 0, valid.len());
    let nulls = NullBuffer::new(bits);
    Ok((nulls.null_count() > 0).then_some(nulls))
}

fn primitive_array<T: ArrowPrimitiveType<Native: Element>>(
    morsel: &Morsel<'_>,
    place: usize,
    nulls: Option<NullBuffer>,
) -> Result<PrimitiveArray<T>> {
    let mut values = Vec::new();
    morsel.values(place, &mut values)?;
    PrimitiveArray::try_new(ScalarBuffer::from(values), nulls).map_err(refused)
}

fn primitive<T: ArrowPrimitiveType<Native: Element>>(
    morsel: &Morsel<'_>,
    place: usize,
    nulls: Option<NullBuffer>,
) -> Result<ArrayRef> {
    Ok(Arc::new(primitive_array::<T>(morsel, place, nulls)?))
}

/// Offsets in Arrow's type: the same bytes, for text of a block has less than 2 GiB.
pub(super) fn offsets(offsets: Vec<u32>) -> OffsetBuffer<i32> {
    let len = offsets.len();
    OffsetBuffer::new(ScalarBuffer::new(Buffer::from_vec(offsets), 0, len))
}

fn texts(morsel: &Morsel<'_>, place: usize) -> Result<(OffsetBuffer<i32>, Buffer)> {
    let (mut ends, mut data) = (Vec::new(), Vec::new());
    morsel.texts(place, &mut ends, &mut data)?;
    Ok((offsets(ends), Buffer::from_vec(data)))
}

/// Text as numbers of the block's dictionary entries, or of the rows themselves where there is no dictionary, or one that is longer
/// than the rows.
fn dictionary(morsel: &Morsel<'_>, place: usize, nulls: Option<NullBuffer>) -> Result<ArrayRef> {
    let mut keys = Vec::new();
    let (keys, values): (Vec<i32>, _) = match morsel.codes(place, &mut keys)? {
        Some((ends, data)) => {
            let keys = keys.into_iter().map(|key| key as i32).collect();
            (keys, (offsets(ends), Buffer::from_vec(data)))
        }
        None => ((0..morsel.selected() as i32).collect(), texts(morsel, place)?),
    };
    let (ends, data) = values;
    let values = StringArray::try_new(ends, data, None).map_err(refused)?;
    let keys = PrimitiveArray::<Int32Type>::try_new(keys.into(), nulls).map_err(refused)?;
    Ok(Arc::new(DictionaryArray::try_new(keys, Arc::new(values)).map_err(refused)?))
}

/// An iterator over batches that threads read. Dropped early, it ends them.
pub struct Stream {
    schema: SchemaRef,
    receive: Option<Receiver<Result<RecordBatch>>>,
    workers: Vec<std::thread::JoinHandle<()>>,
}

impl Stream {
    /// The schema of all batches.
    pub fn schema(&self) -> &SchemaRef {
        &self.schema
    }
}

impl Iterator for Stream {
    type Item = Result<RecordBatch>;

    fn next(&mut self) -> Option<Self::Item> {
        let next = self.receive.as_ref()?.recv().ok();
        if next.as_ref().is_none_or(Result::is_err) {
            // Who waits to send now fails, and ends.
            self.receive = None;
            for worker in self.workers.drain(..) {
                if let Err(panic) = worker.join() {
                    std::panic::resume_unwind(panic);
                }
            }
        }
        next
    }
}

impl Drop for Stream {
    fn drop(&mut self) {
        self.receive = None;
        for worker in self.workers.drain(..) {
            // Its panic was printed, and nobody waits for its rows.
            let _ = worker.join();
        }
    }
}
