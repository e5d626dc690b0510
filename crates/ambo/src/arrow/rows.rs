//! Rows of a table of any storage as Arrow batches, found by its key or its indexes.

use std::sync::Arc;

use ambo_codec::column::ColumnSlice;
use ambo_storage::{base::column::ColumnBuffer, database::FoundRows};
use arrow_array::{
    ArrayRef, ArrowPrimitiveType, BinaryArray, BooleanArray, PrimitiveArray, RecordBatch, RecordBatchOptions,
    StringArray,
    types::{
        Date32Type, Decimal128Type, Float32Type, Float64Type, Int8Type, Int16Type, Int32Type, Int64Type,
        Time64NanosecondType, TimestampMicrosecondType, UInt8Type, UInt16Type, UInt32Type, UInt64Type,
    },
};
use arrow_buffer::{BooleanBuffer, Buffer, NullBuffer, OffsetBuffer, ScalarBuffer};
use arrow_schema::SchemaRef;

use super::{export::refused, types};
use crate::{Error, Result, Select, Snapshot, Type};

/// An iterator over the rows that fit the filters of a [`Select`], as Arrow batches, in no order that is promised.
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
    found: FoundRows<'static>,
    columns: Vec<usize>,
    schema: SchemaRef,
    rows: usize,
}

impl Snapshot {
    /// Rows as they were at this moment, `rows` at most in a batch, from a table of any storage. For all rows of a column table
    /// [`Snapshot::batches`] is faster.
    ///
    /// # Errors
    /// [`Error::Invalid`](crate::Error::Invalid) if a constant does not fit its column.
    pub fn row_batches(&self, select: &Select, rows: usize) -> Result<RowBatches> {
        let table = select.table();
        let plan = select.plan_in(self.inner().catalog())?;
        let found = self.inner().clone().into_rows(table.id(), &plan.filters)?;
        // Of that moment: the handle may be older, or newer.
        let there = self.inner().catalog().table(table.id()).expect("its rows were found");
        let is_nullable = |column: &usize| there.columns.get(*column).is_some_and(|column| column.nullable);
        let nullable: Vec<_> = plan.columns.iter().map(is_nullable).collect();
        let schema = types::schema(table.definition(), &select.plan().columns, &nullable, false);
        Ok(RowBatches { found, columns: plan.columns.clone(), schema, rows: rows.max(1) })
    }
}

impl RowBatches {
    /// The schema of all batches.
    pub fn schema(&self) -> &SchemaRef {
        &self.schema
    }

    /// How the rows are looked for: by which index, by several, in a range of keys, by a scan of columns, or among all.
    pub fn path(&self) -> String {
        self.found.path()
    }

    fn next_batch(&mut self) -> Result<Option<RecordBatch>> {
        let Some((buffers, rows)) = self.found.next_columns(&self.columns, self.rows)? else {
            return Ok(None);
        };
        let arrays = buffers.iter().map(array).collect::<Result<Vec<_>>>()?;
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

/// The values of a buffer.
fn array(buffer: &ColumnBuffer) -> Result<ArrayRef> {
    let nulls = buffer.validity().map(|valid| {
        let valid: BooleanBuffer = (0..buffer.len()).map(|row| valid.get(row)).collect();
        NullBuffer::new(valid)
    });
    Ok(match (buffer.ty(), buffer.slice()) {
        (Type::Date32, ColumnSlice::I32(values)) => Arc::new(primitive::<Date32Type>(values, nulls)?),
        (Type::Time64, ColumnSlice::I64(values)) => {
            Arc::new(primitive::<Time64NanosecondType>(values, nulls)?)
        }
        (Type::Timestamp, ColumnSlice::I64(values)) => {
            Arc::new(primitive::<TimestampMicrosecondType>(values, nulls)?.with_timezone("UTC"))
        }
        (Type::Decimal128 { precision, scale }, ColumnSlice::I128(values)) => {
            let array = primitive::<Decimal128Type>(values, nulls)?;
            Arc::new(array.with_precision_and_scale(precision, scale).map_err(refused)?)
        }
        (_, ColumnSlice::Bool(bits)) => {
            let bits: BooleanBuffer = (0..buffer.len()).map(|row| bits.get(row)).collect();
            Arc::new(BooleanArray::new(bits, nulls))
        }
        (_, ColumnSlice::I8(values)) => Arc::new(primitive::<Int8Type>(values, nulls)?),
        (_, ColumnSlice::I16(values)) => Arc::new(primitive::<Int16Type>(values, nulls)?),
        (_, ColumnSlice::I32(values)) => Arc::new(primitive::<Int32Type>(values, nulls)?),
        (_, ColumnSlice::I64(values)) => Arc::new(primitive::<Int64Type>(values, nulls)?),
        (_, ColumnSlice::U8(values)) => Arc::new(primitive::<UInt8Type>(values, nulls)?),
        (_, ColumnSlice::U16(values)) => Arc::new(primitive::<UInt16Type>(values, nulls)?),
        (_, ColumnSlice::U32(values)) => Arc::new(primitive::<UInt32Type>(values, nulls)?),
        (_, ColumnSlice::U64(values)) => Arc::new(primitive::<UInt64Type>(values, nulls)?),
        (_, ColumnSlice::F32(values)) => Arc::new(primitive::<Float32Type>(values, nulls)?),
        (_, ColumnSlice::F64(values)) => Arc::new(primitive::<Float64Type>(values, nulls)?),
        (_, ColumnSlice::I128(values)) => Arc::new(primitive::<Decimal128Type>(values, nulls)?),
        (ty, ColumnSlice::Bytes(bytes)) => {
            let mut ends = Vec::with_capacity(buffer.len() + 1);
            let mut data = Vec::with_capacity(buffer.data_bytes());
            ends.push(0i32);
            for row in 0..buffer.len() {
                data.extend_from_slice(bytes.get(row));
                ends.push(data.len() as i32);
            }
            let (ends, data) = (OffsetBuffer::new(ends.into()), Buffer::from_vec(data));
            match ty {
                Type::Utf8 => Arc::new(StringArray::try_new(ends, data, nulls).map_err(refused)?),
                _ => Arc::new(BinaryArray::try_new(ends, data, nulls).map_err(refused)?),
            }
        }
        (ty, _) => return Err(Error::Invalid(format!("values of type {ty} have no Arrow array"))),
    })
}

fn primitive<T: ArrowPrimitiveType>(
    values: &[T::Native],
    nulls: Option<NullBuffer>,
) -> Result<PrimitiveArray<T>> {
    PrimitiveArray::try_new(ScalarBuffer::from(values.to_vec()), nulls).map_err(refused)
}
