//! Sums and means of all rows, of different values, and, if they are exact, of frames that slide.

use std::collections::HashMap;

use arrow::{
    array::{Array, ArrayRef, ArrowPrimitiveType, AsArray, PrimitiveArray},
    datatypes::{ArrowNativeTypeOp, DataType, ToByteSlice, UInt64Type},
};
use datafusion::{
    common::{Result, ScalarValue, utils::SingleRowListArrayBuilder},
    logical_expr::Accumulator,
};
use std::sync::Arc;

use super::total::{Mean, Whole, WideOf, add_all, numbers};

/// A value of a type.
fn scalar<T: ArrowPrimitiveType>(value: Option<T::Native>, ty: &DataType) -> Result<ScalarValue> {
    let array: PrimitiveArray<T> = [value].into_iter().collect();
    ScalarValue::try_from_array(&array.with_data_type(ty.clone()), 0)
}

fn result<T: Mean>(whole: &Whole, sum: WideOf<T>, count: u64) -> Result<ScalarValue> {
    let ty = whole.ty();
    match whole {
        Whole::Sum(_) => scalar::<T>((count > 0).then(|| T::total(sum, ty)).transpose()?, ty),
        Whole::Mean(_, scale) => {
            scalar::<T::Output>((count > 0).then(|| T::mean(sum, count, *scale, ty)).transpose()?, ty)
        }
    }
}

/// A sum and how many numbers it is of.
#[derive(Debug)]
pub(super) struct Running<T: Mean> {
    whole: Whole,
    state: DataType,
    sum: WideOf<T>,
    count: u64,
}

impl<T: Mean> Running<T>
where
    WideOf<T>: ArrowNativeTypeOp,
{
    pub(super) fn new(whole: Whole, state: DataType) -> Self {
        Self { whole, state, sum: Default::default(), count: 0 }
    }
}

impl<T: Mean> Accumulator for Running<T>
where
    WideOf<T>: ArrowNativeTypeOp,
{
    fn update_batch(&mut self, values: &[ArrayRef]) -> Result<()> {
        let numbers = numbers::<T>(&values[0]);
        add_all(&mut self.sum, numbers);
        self.count += (numbers.len() - numbers.null_count()) as u64;
        Ok(())
    }

    /// REQUIRES: the numbers are exact.
    fn retract_batch(&mut self, values: &[ArrayRef]) -> Result<()> {
        let numbers = numbers::<T>(&values[0]);
        let mut gone = Default::default();
        add_all(&mut gone, numbers);
        self.sum = self.sum.sub_wrapping(gone);
        self.count -= (numbers.len() - numbers.null_count()) as u64;
        Ok(())
    }

    fn supports_retract_batch(&self) -> bool {
        true
    }

    fn evaluate(&mut self) -> Result<ScalarValue> {
        result::<T>(&self.whole, self.sum, self.count)
    }

    fn state(&mut self) -> Result<Vec<ScalarValue>> {
        let sum = scalar::<T::Wide>((self.count > 0).then_some(self.sum), &self.state)?;
        Ok(match self.whole {
            Whole::Sum(_) => vec![sum],
            Whole::Mean(..) => vec![ScalarValue::UInt64(Some(self.count)), sum],
        })
    }

    fn merge_batch(&mut self, states: &[ArrayRef]) -> Result<()> {
        let (counts, sums) = match states {
            [counts, sums] => (Some(counts.as_primitive::<UInt64Type>()), sums),
            sums => (None, &sums[0]),
        };
        let sums = numbers::<T::Wide>(sums);
        for row in (0..sums.len()).filter(|row| sums.is_valid(*row)) {
            self.sum = self.sum.add_wrapping(sums.value(row));
            self.count += counts.map_or(1, |counts| counts.value(row));
        }
        Ok(())
    }

    fn size(&self) -> usize {
        size_of_val(self)
    }
}

/// Each value counts once.
#[derive(Debug)]
pub(super) struct Different<T: Mean> {
    whole: Whole,
    ty: DataType,
    /// By their bits, with how many rows have them.
    values: HashMap<Vec<u8>, (T::Native, u64)>,
}

impl<T: Mean> Different<T>
where
    WideOf<T>: ArrowNativeTypeOp,
{
    /// `ty` is the type of the values.
    pub(super) fn new(whole: Whole, ty: DataType) -> Self {
        Self { whole, ty, values: HashMap::new() }
    }

    fn key(number: T::Native) -> Vec<u8> {
        // Adding zero makes one zero of two.
        let number = T::added(number, T::default_value()).unwrap_or(number);
        [number].as_slice().to_byte_slice().to_vec()
    }

    fn add(&mut self, array: &PrimitiveArray<T>) {
        for number in array.iter().flatten() {
            self.values.entry(Self::key(number)).or_insert((number, 0)).1 += 1;
        }
    }

    fn numbers(&self) -> PrimitiveArray<T> {
        self.values.values().map(|(number, _)| Some(*number)).collect()
    }
}

impl<T: Mean> Accumulator for Different<T>
where
    WideOf<T>: ArrowNativeTypeOp,
{
    fn update_batch(&mut self, values: &[ArrayRef]) -> Result<()> {
        self.add(numbers::<T>(&values[0]));
        Ok(())
    }

    fn retract_batch(&mut self, values: &[ArrayRef]) -> Result<()> {
        for number in numbers::<T>(&values[0]).iter().flatten() {
            let key = Self::key(number);
            if let Some((_, rows)) = self.values.get_mut(&key) {
                *rows -= 1;
                if *rows == 0 {
                    self.values.remove(&key);
                }
            }
        }
        Ok(())
    }

    fn supports_retract_batch(&self) -> bool {
        true
    }

    fn evaluate(&mut self) -> Result<ScalarValue> {
        let mut sum = Default::default();
        add_all(&mut sum, &self.numbers());
        result::<T>(&self.whole, sum, self.values.len() as u64)
    }

    fn state(&mut self) -> Result<Vec<ScalarValue>> {
        let values = Arc::new(self.numbers().with_data_type(self.ty.clone()));
        Ok(vec![SingleRowListArrayBuilder::new(values).build_list_scalar()])
    }

    fn merge_batch(&mut self, states: &[ArrayRef]) -> Result<()> {
        for values in states[0].as_list::<i32>().iter().flatten() {
            self.add(numbers::<T>(&values));
        }
        Ok(())
    }

    fn size(&self) -> usize {
        size_of_val(self) + self.values.capacity() * (size_of::<(Vec<u8>, T::Native, u64)>() + 16)
    }
}
