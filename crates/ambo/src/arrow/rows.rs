//! Rows of a table of any storage as Arrow batches, found by its key or its indexes.
//!
//! Columns are decoded from the bytes of rows straight into the buffers of Arrow's arrays.

use std::sync::Arc;

use ambo_engine::{
    database::{RowScan, UnitRows},
    scan::{ColumnBuffer, Test, Values},
};

use arrow_array::{
    ArrayRef, ArrowPrimitiveType, BinaryArray, BooleanArray, PrimitiveArray, RecordBatch, RecordBatchOptions,
    StringArray,
    types::{
        Date32Type, Decimal128Type, Float32Type, Float64Type, Int8Type, Int16Type, Int32Type, Int64Type,
        Time64NanosecondType, TimestampMicrosecondType, UInt8Type, UInt16Type, UInt32Type, UInt64Type,
    },
};
use arrow_buffer::{BooleanBuffer, Buffer, NullBuffer, ScalarBuffer};
use arrow_schema::{DataType, SchemaRef};

use super::{
    export::{offsets, refused},
    logical::from_stored,
    types,
    unit::UnitFilter,
};
use crate::{Error, Result, Select, Snapshot, Type};

/// The rows that fit the filters of a [`Select`], in units that any number of threads read. Units of a table that is stored as rows are
/// ranges of keys with some ten thousand rows each; rows that an index leads to, and those of a column table, are one unit.
///
/// ```
/// use ambo::{TableDefinition, Type};
/// let db = ambo::Database::in_memory()?;
/// let t = TableDefinition::new("t").column("id", Type::I64).column("name", Type::Utf8).primary_key(&["id"]);
/// let t = db.create_table(t)?;
/// for id in 0..100i64 {
///     t.insert_row(&[id.into(), format!("name {id}").into()])?;
/// }
/// let units = db.snapshot().row_units(&t.select(&["name"])?)?;
/// let mut rows = 0;
/// for unit in 0..units.units()? {
///     for batch in units.read(unit, 8192, &[])? {
///         rows += batch?.num_rows();
///     }
/// }
/// assert_eq!(rows, 100);
/// # Ok::<(), ambo::Error>(())
/// ```
pub struct RowUnits {
    scan: Arc<RowScan>,
    schema: SchemaRef,
}

/// An iterator over rows that fit the filters of a [`Select`], as Arrow batches, in no order that is promised but by
/// [`RowUnits::is_in_order`].
///
/// ```
/// use ambo::{TableDefinition, Test, Compare, Type};
/// let db = ambo::Database::in_memory()?;
/// let t = TableDefinition::new("t").column("id", Type::I64).column("name", Type::Utf8).primary_key(&["id"]);
/// let t = db.create_table(t)?;
/// for id in 0..100i64 {
///     t.insert_row(&[id.into(), format!("name {id}").into()])?;
/// }
/// let few = t.select(&["name"])?.filter("id", Test::Compare(Compare::Less, 10i64.into()))?;
/// let rows = db.snapshot().row_batches(&few, 8192)?;
/// assert_eq!(rows.path(), "a range of keys");
/// assert_eq!(rows.map(|batch| batch.unwrap().num_rows()).sum::<usize>(), 10);
/// # Ok::<(), ambo::Error>(())
/// ```
pub struct RowBatches {
    rows: UnitRows,
    schema: SchemaRef,
    batch: usize,
}

impl Snapshot {
    /// Rows as they were at this moment, `rows` at most in a batch, from a table of any storage. For all rows of a column table
    /// [`Snapshot::batches`] is faster.
    ///
    /// # Errors
    /// [`Error::Invalid`](crate::Error::Invalid) if a constant does not fit its column.
    pub fn row_batches(&self, select: &Select, rows: usize) -> Result<RowBatches> {
        let RowUnits { scan, schema } = self.row_units(select)?;
        Ok(RowBatches { rows: scan.all()?, schema, batch: rows.max(1) })
    }

    /// As [`Snapshot::row_batches`], in units for callers with threads of their own.
    ///
    /// # Errors
    /// [`Error::Invalid`](crate::Error::Invalid) if a constant does not fit its column.
    pub fn row_units(&self, select: &Select) -> Result<RowUnits> {
        let table = select.table();
        let plan = select.plan_in(self.inner().catalog())?;
        let scan = self.inner().clone().into_row_scan(table.id(), &plan)?;
        // Of that moment: the handle may be older, or newer.
        let there = self.inner().catalog().table(table.id()).expect("its rows were found");
        let is_nullable = |column: &usize| there.columns.get(*column).is_some_and(|column| column.nullable);
        let nullable: Vec<_> = plan.columns.iter().map(is_nullable).collect();
        let schema = types::schema(table.definition(), &select.plan().columns, &nullable, false);
        Ok(RowUnits { scan: Arc::new(scan), schema })
    }
}

impl RowUnits {
    /// The schema of all batches.
    pub fn schema(&self) -> &SchemaRef {
        &self.schema
    }

    /// How the rows are looked for: by which index, by several, in a range of keys, by a scan of columns, or among all.
    pub fn path(&self) -> &str {
        self.scan.path()
    }

    /// Whether rows ascend by the sort key, or the primary key, from each unit to the next and within it.
    pub fn is_in_order(&self) -> bool {
        self.scan.is_in_order()
    }

    /// About how many units there are, before they are made.
    pub fn units_about(&self) -> Result<usize> {
        self.scan.units_about()
    }

    /// How many units there are: at least one.
    ///
    /// # Errors
    /// [`Error::Damaged`] for what cannot be read.
    pub fn units(&self) -> Result<usize> {
        self.scan.units()
    }

    /// A question about the column at a place of the select, for [`RowUnits::read`].
    ///
    /// # Errors
    /// [`Error::Invalid`](crate::Error::Invalid): a constant that cannot be compared with values of the column.
    pub fn filter(&self, place: usize, test: Test) -> Result<UnitFilter> {
        Ok(UnitFilter(self.scan.filter(place, test)?))
    }

    /// The rows of a unit that answer `more` questions with yes, too, `rows` at most in a batch. They keep what the units hold.
    ///
    /// # Errors
    /// [`Error::Damaged`] for what cannot be read.
    ///
    /// # Panics
    /// If there is no such unit.
    pub fn read(&self, unit: usize, rows: usize, more: &[UnitFilter]) -> Result<RowBatches> {
        let more: Vec<_> = more.iter().map(|filter| filter.0.clone()).collect();
        let rows = RowBatches {
            rows: self.scan.unit(unit, &more)?,
            schema: self.schema.clone(),
            batch: rows.max(1),
        };
        Ok(rows)
    }
}

impl RowBatches {
    /// The schema of all batches.
    pub fn schema(&self) -> &SchemaRef {
        &self.schema
    }

    /// As [`RowUnits::path`].
    pub fn path(&self) -> &str {
        self.rows.path()
    }

    fn next_batch(&mut self) -> Result<Option<RecordBatch>> {
        let Some((buffers, rows)) = self.rows.next_columns(self.batch)? else { return Ok(None) };
        let arrays = buffers.into_iter().zip(self.schema.fields());
        let arrays = arrays.map(|(buffer, field)| meant(array(buffer)?, field.data_type()));
        let arrays = arrays.collect::<Result<Vec<_>>>()?;
        let options = RecordBatchOptions::new().with_row_count(Some(rows));
        RecordBatch::try_new_with_options(self.schema.clone(), arrays, &options).map(Some).map_err(refused)
    }
}

impl Iterator for RowBatches {
    type Item = Result<RecordBatch>;

    fn next(&mut self) -> Option<Self::Item> {
        self.next_batch().transpose()
    }
}

/// Values as the column means them, which are stored so, or in binary.
fn meant(array: ArrayRef, ty: &DataType) -> Result<ArrayRef> {
    match array.data_type() {
        DataType::Binary => from_stored(&array, ty),
        DataType::UInt16 if *ty != DataType::UInt16 => from_stored(&array, ty),
        _ => Ok(array),
    }
}

/// The values of a buffer, which become the array's.
///
/// # Errors
/// None that callers can cause.
pub fn array(buffer: ColumnBuffer) -> Result<ArrayRef> {
    let (ty, rows) = (buffer.ty(), buffer.len());
    let bits = |words: Vec<u64>| BooleanBuffer::new(Buffer::from_vec(words), 0, rows);
    let (values, valid) = buffer.into_parts();
    let nulls = valid.map(|valid| NullBuffer::new(bits(valid)));
    Ok(match (ty, values) {
        (Type::Date32, Values::I32(values)) => Arc::new(primitive::<Date32Type>(values, nulls)?),
        (Type::Time64, Values::I64(values)) => Arc::new(primitive::<Time64NanosecondType>(values, nulls)?),
        (Type::Timestamp, Values::I64(values)) => {
            Arc::new(primitive::<TimestampMicrosecondType>(values, nulls)?)
        }
        (Type::TimestampTz, Values::I64(values)) => {
            Arc::new(primitive::<TimestampMicrosecondType>(values, nulls)?.with_timezone("UTC"))
        }
        (Type::Decimal128 { precision, scale }, Values::I128(values)) => {
            let array = primitive::<Decimal128Type>(values, nulls)?;
            Arc::new(array.with_precision_and_scale(precision, scale).map_err(refused)?)
        }
        (_, Values::Bool(values)) => Arc::new(BooleanArray::new(bits(values), nulls)),
        (_, Values::I8(values)) => Arc::new(primitive::<Int8Type>(values, nulls)?),
        (_, Values::I16(values)) => Arc::new(primitive::<Int16Type>(values, nulls)?),
        (_, Values::I32(values)) => Arc::new(primitive::<Int32Type>(values, nulls)?),
        (_, Values::I64(values)) => Arc::new(primitive::<Int64Type>(values, nulls)?),
        (_, Values::U8(values)) => Arc::new(primitive::<UInt8Type>(values, nulls)?),
        (_, Values::U16(values)) => Arc::new(primitive::<UInt16Type>(values, nulls)?),
        (_, Values::U32(values)) => Arc::new(primitive::<UInt32Type>(values, nulls)?),
        (_, Values::U64(values)) => Arc::new(primitive::<UInt64Type>(values, nulls)?),
        (_, Values::F32(values)) => Arc::new(primitive::<Float32Type>(values, nulls)?),
        (_, Values::F64(values)) => Arc::new(primitive::<Float64Type>(values, nulls)?),
        (Type::Utf8, Values::Bytes { offsets: ends, data }) => {
            let data = Buffer::from_vec(data);
            Arc::new(StringArray::try_new(offsets(ends), data, nulls).map_err(refused)?)
        }
        (Type::Binary, Values::Bytes { offsets: ends, data }) => {
            let data = Buffer::from_vec(data);
            Arc::new(BinaryArray::try_new(offsets(ends), data, nulls).map_err(refused)?)
        }
        (ty, _) => return Err(Error::Invalid(format!("values of type {ty} have no Arrow array"))),
    })
}

fn primitive<T: ArrowPrimitiveType>(
    values: Vec<T::Native>,
    nulls: Option<NullBuffer>,
) -> Result<PrimitiveArray<T>> {
    PrimitiveArray::try_new(ScalarBuffer::from(values), nulls).map_err(refused)
}
