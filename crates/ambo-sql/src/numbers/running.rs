//! Sums and means of all rows so far.

use std::ops::Range;

use arrow::{
    array::{Array, ArrayRef, ArrowPrimitiveType, PrimitiveArray},
    datatypes::ArrowNativeTypeOp,
};
use datafusion::common::Result;

use super::total::{Mean, Whole, WideOf, add_numbers, numbers};
use crate::window::{RunningValues, Runs};

/// What becomes of a sum and of how many numbers it is.
type Outcome<T, O> = fn(&Whole, WideOf<T>, u64) -> Result<<O as ArrowPrimitiveType>::Native>;

/// Sums of rows, or means, in a column of type `O`. The numbers are added as by [`super::sliding::Running`].
pub(super) struct SoFar<T: Mean, O: ArrowPrimitiveType> {
    whole: Whole,
    outcome: Outcome<T, O>,
    sum: WideOf<T>,
    count: u64,
    numbers: PrimitiveArray<T>,
    runs: Runs<Option<O::Native>>,
}

impl<T: Mean, O: ArrowPrimitiveType> SoFar<T, O> {
    fn new(whole: Whole, outcome: Outcome<T, O>) -> Self {
        let numbers = PrimitiveArray::from_iter_values(std::iter::empty());
        Self { whole, outcome, sum: Default::default(), count: 0, numbers, runs: Runs::default() }
    }
}

/// Sums of rows.
pub(super) type SumsSoFar<T> = SoFar<T, T>;

/// Means of rows.
pub(super) type MeansSoFar<T> = SoFar<T, <T as Mean>::Output>;

impl<T: Mean> SumsSoFar<T> {
    pub(super) fn sums(whole: Whole) -> Self {
        Self::new(whole, |whole, sum, _| T::total(sum, whole.ty()))
    }
}

impl<T: Mean> MeansSoFar<T> {
    pub(super) fn means(whole: Whole) -> Self {
        Self::new(whole, |whole, sum, count| T::mean(sum, count, whole.scale(), whole.ty()))
    }
}

impl<T: Mean, O: ArrowPrimitiveType> RunningValues for SoFar<T, O>
where
    WideOf<T>: ArrowNativeTypeOp,
{
    fn look_at(&mut self, args: Vec<ArrayRef>) {
        self.numbers = numbers::<T>(&args[0]).clone();
    }

    fn add(&mut self, rows: Range<usize>) -> Result<()> {
        let values = &self.numbers.values()[rows.clone()];
        match self.numbers.nulls() {
            None => {
                add_numbers::<T>(&mut self.sum, values.iter().copied());
                self.count += rows.len() as u64;
            }
            Some(nulls) => {
                let valid = rows.zip(values).filter(|(row, _)| nulls.is_valid(*row));
                let count = &mut self.count;
                add_numbers::<T>(&mut self.sum, valid.map(|(_, number)| *number).inspect(|_| *count += 1));
            }
        }
        Ok(())
    }

    fn give(&mut self, rows: usize) -> Result<()> {
        let of_some = || (self.outcome)(&self.whole, self.sum, self.count);
        let value = (self.count > 0).then(of_some).transpose()?;
        self.runs.push(value, rows);
        Ok(())
    }

    fn begin(&mut self) -> Result<()> {
        (self.sum, self.count) = (Default::default(), 0);
        Ok(())
    }

    fn given(&self) -> usize {
        self.runs.rows()
    }

    fn take(&mut self, rows: usize) -> Result<ArrayRef> {
        Ok(self.runs.column::<O>(rows, self.whole.ty()))
    }
}
