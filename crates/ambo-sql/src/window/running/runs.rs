//! Values of rows, each for so many rows that follow each other, until these are asked for.

use std::collections::VecDeque;

use arrow::{
    array::{ArrayRef, ArrowPrimitiveType, PrimitiveArray, UInt64Array},
    buffer::NullBuffer,
    compute::take,
    datatypes::{ArrowNativeType, DataType},
};
use datafusion::common::{Result, ScalarValue};
use std::sync::Arc;

/// See the module.
pub(crate) struct Runs<V> {
    runs: VecDeque<(V, usize)>,
    rows: usize,
}

impl<V> Default for Runs<V> {
    fn default() -> Self {
        Self { runs: VecDeque::new(), rows: 0 }
    }
}

impl<V> Runs<V> {
    pub(crate) fn push(&mut self, value: V, rows: usize) {
        if rows > 0 {
            self.runs.push_back((value, rows));
            self.rows += rows;
        }
    }

    /// How many rows have a value here.
    pub(crate) fn rows(&self) -> usize {
        self.rows
    }

    /// Takes the first rows: calls back with each value and for how many of them it stands.
    ///
    /// REQUIRES: so many rows are there.
    fn take(&mut self, mut rows: usize, mut each: impl FnMut(&V, usize)) {
        self.rows -= rows;
        while rows > 0 {
            let (value, of) = self.runs.front_mut().expect("rows that are counted have values");
            let taken = rows.min(*of);
            each(value, taken);
            (*of, rows) = (*of - taken, rows - taken);
            if *of == 0 {
                self.runs.pop_front();
            }
        }
    }
}

impl<N: ArrowNativeType> Runs<Option<N>> {
    /// The values of the first rows as a column.
    pub(crate) fn column<T>(&mut self, rows: usize, ty: &DataType) -> ArrayRef
    where
        T: ArrowPrimitiveType<Native = N>,
    {
        let mut values = Vec::with_capacity(rows);
        let mut valid = Vec::with_capacity(rows);
        self.take(rows, |value, rows| {
            values.extend(std::iter::repeat_n(value.unwrap_or_default(), rows));
            valid.extend(std::iter::repeat_n(value.is_some(), rows));
        });
        let nulls = Some(NullBuffer::from(valid)).filter(|nulls| nulls.null_count() > 0);
        Arc::new(PrimitiveArray::<T>::new(values.into(), nulls).with_data_type(ty.clone()))
    }
}

impl Runs<ScalarValue> {
    /// The same.
    pub(crate) fn scalars(&mut self, rows: usize, ty: &DataType) -> Result<ArrayRef> {
        let (mut values, mut places) = (Vec::new(), Vec::with_capacity(rows));
        self.take(rows, |value, rows| {
            places.extend(std::iter::repeat_n(values.len() as u64, rows));
            values.push(value.clone());
        });
        if values.is_empty() {
            return Ok(arrow::array::new_empty_array(ty));
        }
        let is_each_of_one_row = values.len() == rows;
        let values = ScalarValue::iter_to_array(values)?;
        Ok(if is_each_of_one_row { values } else { take(&values, &UInt64Array::from(places), None)? })
    }
}

#[cfg(test)]
mod tests {
    use arrow::{array::Int64Array, datatypes::Int64Type};

    use super::*;

    #[test]
    fn values_stand_for_rows_of_several_batches() {
        let (mut runs, mut scalars) = (Runs::default(), Runs::default());
        for (value, rows) in [(Some(1), 2), (None, 3), (Some(7), 0), (Some(2), 1)] {
            runs.push(value, rows);
            scalars.push(ScalarValue::Int64(value), rows);
        }
        assert_eq!(runs.rows(), 6);
        for (rows, wanted) in [(1, vec![Some(1)]), (2, vec![Some(1), None]), (3, vec![None, None, Some(2)])] {
            let wanted = Int64Array::from(wanted);
            assert_eq!(*runs.column::<Int64Type>(rows, &DataType::Int64), wanted);
            assert_eq!(*scalars.scalars(rows, &DataType::Int64).unwrap(), wanted);
        }
        assert_eq!((runs.rows(), scalars.rows()), (0, 0));
    }
}
