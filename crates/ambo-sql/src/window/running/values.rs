//! What aggregates are of all rows so far.

use std::{ops::Range, sync::Arc};

use arrow::{
    array::{Array, ArrayRef, ArrowPrimitiveType, AsArray, PrimitiveArray, new_empty_array},
    buffer::NullBuffer,
    datatypes::{ArrowNativeTypeOp, DataType, Int64Type},
};
use datafusion::{
    common::{Result, ScalarValue},
    functions_aggregate::{
        count::Count,
        min_max::{Max, Min},
    },
    logical_expr::Accumulator,
    physical_expr::aggregate::AggregateFunctionExpr,
};

use super::runs::Runs;
use crate::numbers::running_totals;

/// An aggregate of rows that are added one after the other.
pub(crate) trait RunningValues: Send {
    /// Takes the arguments for the rows of the next batch.
    fn look_at(&mut self, args: Vec<ArrayRef>);

    /// Adds rows of that batch, at least one.
    fn add(&mut self, rows: Range<usize>) -> Result<()>;

    /// Gives so many rows the value of all that were added, of which there is at least one.
    fn give(&mut self, rows: usize) -> Result<()>;

    /// Forgets all that were added: a partition begins.
    fn begin(&mut self) -> Result<()>;

    /// How many rows have a value that was not taken yet.
    fn given(&self) -> usize;

    /// The values of the first of these rows, of the type that the aggregate has.
    fn take(&mut self, rows: usize) -> Result<ArrayRef>;
}

/// What is known of a frame.
#[derive(Clone, Debug)]
pub(super) enum Of {
    Aggregate(Arc<AggregateFunctionExpr>),
    /// The value of its first row, of this type.
    First(DataType),
    Last(DataType),
}

/// The values of a function over columns of these types.
pub(super) fn running_values(of: &Of, types: &[DataType]) -> Result<Box<dyn RunningValues>> {
    let of = match of {
        Of::Aggregate(of) => of,
        Of::First(ty) => return Ok(Box::new(EndRow::new(true, ty))),
        Of::Last(ty) => return Ok(Box::new(EndRow::new(false, ty))),
    };
    if let Some(values) = typed(of, types) {
        return Ok(values);
    }
    let accumulator = of.create_accumulator()?;
    Ok(Box::new(Any { of: of.clone(), accumulator, args: Vec::new(), runs: Runs::default() }))
}

/// Those without a call a row, of functions that are asked for most.
fn typed(of: &AggregateFunctionExpr, types: &[DataType]) -> Option<Box<dyn RunningValues>> {
    let ([ty], false) = (types, of.is_distinct()) else { return None };
    let function = of.fun().inner();
    let result = of.field().data_type().clone();
    if function.is::<Count>() && result == DataType::Int64 {
        return Some(Box::new(Counts::default()));
    }
    if let Some(totals) = running_totals(of.fun(), ty, &result) {
        return Some(totals);
    }
    let is_min = function.is::<Min>();
    if !(is_min || function.is::<Max>()) || *ty != result || ty.is_floating() {
        return None;
    }
    macro_rules! extremes {
        ($arrow:ty) => {
            Some(Box::new(Extremes::<$arrow>::new(is_min, result)) as Box<dyn RunningValues>)
        };
    }
    use arrow::datatypes::*;
    match ty {
        DataType::Int8 => extremes!(Int8Type),
        DataType::Int16 => extremes!(Int16Type),
        DataType::Int32 => extremes!(Int32Type),
        DataType::Int64 => extremes!(Int64Type),
        DataType::UInt8 => extremes!(UInt8Type),
        DataType::UInt16 => extremes!(UInt16Type),
        DataType::UInt32 => extremes!(UInt32Type),
        DataType::UInt64 => extremes!(UInt64Type),
        DataType::Date32 => extremes!(Date32Type),
        DataType::Decimal128(..) => extremes!(Decimal128Type),
        DataType::Timestamp(TimeUnit::Microsecond, _) => extremes!(TimestampMicrosecondType),
        _ => None,
    }
}

/// Any aggregate, by the accumulator that it has for a whole table.
struct Any {
    of: Arc<AggregateFunctionExpr>,
    accumulator: Box<dyn Accumulator>,
    args: Vec<ArrayRef>,
    runs: Runs<ScalarValue>,
}

impl RunningValues for Any {
    fn look_at(&mut self, args: Vec<ArrayRef>) {
        self.args = args;
    }

    fn add(&mut self, rows: Range<usize>) -> Result<()> {
        let args: Vec<_> = self.args.iter().map(|arg| arg.slice(rows.start, rows.len())).collect();
        self.accumulator.update_batch(&args)
    }

    fn give(&mut self, rows: usize) -> Result<()> {
        self.runs.push(self.accumulator.evaluate()?, rows);
        Ok(())
    }

    fn begin(&mut self) -> Result<()> {
        self.accumulator = self.of.create_accumulator()?;
        Ok(())
    }

    fn given(&self) -> usize {
        self.runs.rows()
    }

    fn take(&mut self, rows: usize) -> Result<ArrayRef> {
        self.runs.scalars(rows, self.of.field().data_type())
    }
}

/// `count(x)`, `count(*)`.
#[derive(Default)]
struct Counts {
    nulls: Option<NullBuffer>,
    count: i64,
    runs: Runs<Option<i64>>,
}

impl RunningValues for Counts {
    fn look_at(&mut self, args: Vec<ArrayRef>) {
        self.nulls = args[0].logical_nulls();
    }

    fn add(&mut self, rows: Range<usize>) -> Result<()> {
        let count = match &self.nulls {
            None => rows.len(),
            Some(nulls) => rows.filter(|row| nulls.is_valid(*row)).count(),
        };
        self.count += count as i64;
        Ok(())
    }

    fn give(&mut self, rows: usize) -> Result<()> {
        self.runs.push(Some(self.count), rows);
        Ok(())
    }

    fn begin(&mut self) -> Result<()> {
        self.count = 0;
        Ok(())
    }

    fn given(&self) -> usize {
        self.runs.rows()
    }

    fn take(&mut self, rows: usize) -> Result<ArrayRef> {
        Ok(self.runs.column::<Int64Type>(rows, &DataType::Int64))
    }
}

/// The smallest or the largest value of a type whose values have the order of their numbers.
struct Extremes<T: ArrowPrimitiveType> {
    is_min: bool,
    ty: DataType,
    values: PrimitiveArray<T>,
    extreme: Option<T::Native>,
    runs: Runs<Option<T::Native>>,
}

impl<T: ArrowPrimitiveType> Extremes<T> {
    fn new(is_min: bool, ty: DataType) -> Self {
        let values = PrimitiveArray::from_iter_values(std::iter::empty());
        Self { is_min, ty, values, extreme: None, runs: Runs::default() }
    }
}

impl<T: ArrowPrimitiveType> RunningValues for Extremes<T> {
    fn look_at(&mut self, args: Vec<ArrayRef>) {
        self.values = args[0].as_primitive().clone();
    }

    fn add(&mut self, rows: Range<usize>) -> Result<()> {
        for row in rows.filter(|row| self.values.is_valid(*row)) {
            let value = self.values.value(row);
            let is_beyond = |extreme: T::Native| match self.is_min {
                true => value.is_lt(extreme),
                false => value.is_gt(extreme),
            };
            if self.extreme.is_none_or(is_beyond) {
                self.extreme = Some(value);
            }
        }
        Ok(())
    }

    fn give(&mut self, rows: usize) -> Result<()> {
        self.runs.push(self.extreme, rows);
        Ok(())
    }

    fn begin(&mut self) -> Result<()> {
        self.extreme = None;
        Ok(())
    }

    fn given(&self) -> usize {
        self.runs.rows()
    }

    fn take(&mut self, rows: usize) -> Result<ArrayRef> {
        Ok(self.runs.column::<T>(rows, &self.ty))
    }
}

/// The value of the first row, or of the last one.
struct EndRow {
    is_first: bool,
    ty: DataType,
    values: ArrayRef,
    value: Option<ScalarValue>,
    runs: Runs<ScalarValue>,
}

impl EndRow {
    fn new(is_first: bool, ty: &DataType) -> Self {
        let (ty, values) = (ty.clone(), new_empty_array(ty));
        Self { is_first, ty, values, value: None, runs: Runs::default() }
    }
}

impl RunningValues for EndRow {
    fn look_at(&mut self, mut args: Vec<ArrayRef>) {
        self.values = args.swap_remove(0);
    }

    fn add(&mut self, rows: Range<usize>) -> Result<()> {
        if !self.is_first {
            self.value = Some(ScalarValue::try_from_array(&self.values, rows.end - 1)?);
        } else if self.value.is_none() {
            self.value = Some(ScalarValue::try_from_array(&self.values, rows.start)?);
        }
        Ok(())
    }

    fn give(&mut self, rows: usize) -> Result<()> {
        if let Some(value) = &self.value {
            self.runs.push(value.clone(), rows);
        }
        Ok(())
    }

    fn begin(&mut self) -> Result<()> {
        self.value = None;
        Ok(())
    }

    fn given(&self) -> usize {
        self.runs.rows()
    }

    fn take(&mut self, rows: usize) -> Result<ArrayRef> {
        self.runs.scalars(rows, &self.ty)
    }
}
