//! Sums and means of many groups at once.

use std::{collections::HashMap, sync::Arc};

use arrow::{
    array::{Array, ArrayRef, ArrowPrimitiveType, AsArray, BooleanArray, PrimitiveArray, UInt64Array},
    datatypes::{ArrowNativeTypeOp, DataType, UInt64Type},
};
use datafusion::{
    common::Result,
    logical_expr::{EmitTo, GroupsAccumulator},
};

use super::total::{Mean, Whole, WideOf, numbers};

/// The sum of each group: in the bits that its numbers have, and the rest of those that need more.
#[derive(Debug)]
pub(super) struct Groups<T: Mean> {
    whole: Whole,
    /// The type of a sum on its way to another thread.
    state: DataType,
    sums: Vec<T::Native>,
    rests: HashMap<usize, WideOf<T>>,
    counts: Vec<u64>,
}

impl<T: Mean> Groups<T>
where
    WideOf<T>: ArrowNativeTypeOp,
{
    pub(super) fn new(whole: Whole, state: DataType) -> Self {
        Self { whole, state, sums: Vec::new(), rests: HashMap::new(), counts: Vec::new() }
    }

    fn grow(&mut self, groups: usize) {
        self.sums.resize(groups, T::default_value());
        self.counts.resize(groups, 0);
    }

    fn add(&mut self, group: usize, number: T::Native) {
        let sum = &mut self.sums[group];
        match T::added(*sum, number) {
            Some(added) => *sum = added,
            None => {
                let rest = self.rests.entry(group).or_default();
                *rest = rest.add_wrapping(T::wide(*sum));
                *sum = number;
            }
        }
    }

    fn add_wide(&mut self, group: usize, number: WideOf<T>) {
        match T::narrow(number) {
            Some(number) => self.add(group, number),
            None => {
                let rest = self.rests.entry(group).or_default();
                *rest = rest.add_wrapping(number);
            }
        }
    }

    /// Takes groups out: their sums and how many numbers they are of.
    fn taken(&mut self, emit: EmitTo) -> Vec<(WideOf<T>, u64)> {
        let sums = emit.take_needed(&mut self.sums);
        let counts = emit.take_needed(&mut self.counts);
        let rests = std::mem::take(&mut self.rests);
        let mut taken: Vec<_> = sums.into_iter().map(T::wide).zip(counts).collect();
        for (group, rest) in rests {
            match taken.get_mut(group) {
                Some((sum, _)) => *sum = sum.add_wrapping(rest),
                None => {
                    self.rests.insert(group - taken.len(), rest);
                }
            }
        }
        taken
    }

    /// Sums as they go to another thread.
    fn states(&self, sums: impl Iterator<Item = Option<WideOf<T>>>) -> ArrayRef {
        Arc::new(sums.collect::<PrimitiveArray<T::Wide>>().with_data_type(self.state.clone()))
    }

    fn is_mean(&self) -> bool {
        matches!(self.whole, Whole::Mean(..))
    }
}

impl<T: Mean> GroupsAccumulator for Groups<T>
where
    WideOf<T>: ArrowNativeTypeOp,
{
    fn update_batch(
        &mut self,
        values: &[ArrayRef],
        groups: &[usize],
        filter: Option<&BooleanArray>,
        total: usize,
    ) -> Result<()> {
        self.grow(total);
        let numbers = numbers::<T>(&values[0]);
        if numbers.null_count() == 0 && filter.is_none() {
            for (group, number) in groups.iter().zip(numbers.values()) {
                self.counts[*group] += 1;
                self.add(*group, *number);
            }
            return Ok(());
        }
        for (row, group) in groups.iter().enumerate() {
            let counts = filter.is_none_or(|filter| filter.is_valid(row) && filter.value(row));
            if counts && numbers.is_valid(row) {
                self.counts[*group] += 1;
                self.add(*group, numbers.value(row));
            }
        }
        Ok(())
    }

    fn evaluate(&mut self, emit: EmitTo) -> Result<ArrayRef> {
        let taken = self.taken(emit);
        let ty = self.whole.ty();
        Ok(match &self.whole {
            Whole::Sum(_) => {
                let total = |(sum, count)| (count > 0).then(|| T::total(sum, ty)).transpose();
                let totals = taken.into_iter().map(total).collect::<Result<PrimitiveArray<T>>>()?;
                Arc::new(totals.with_data_type(ty.clone()))
            }
            Whole::Mean(_, scale) => {
                let mean = |(sum, count)| (count > 0).then(|| T::mean(sum, count, *scale, ty)).transpose();
                let means = taken.into_iter().map(mean).collect::<Result<PrimitiveArray<T::Output>>>()?;
                Arc::new(means.with_data_type(ty.clone()))
            }
        })
    }

    fn state(&mut self, emit: EmitTo) -> Result<Vec<ArrayRef>> {
        let taken = self.taken(emit);
        let sums = self.states(taken.iter().map(|(sum, count)| (*count > 0).then_some(*sum)));
        let counts: UInt64Array = taken.iter().map(|(_, count)| Some(*count)).collect();
        Ok(if self.is_mean() { vec![Arc::new(counts), sums] } else { vec![sums] })
    }

    fn merge_batch(&mut self, values: &[ArrayRef], groups: &[usize], total: usize) -> Result<()> {
        self.grow(total);
        let (counts, sums) = match values {
            [counts, sums] => (Some(counts.as_primitive::<UInt64Type>()), sums),
            sums => (None, &sums[0]),
        };
        let sums = numbers::<T::Wide>(sums);
        for (row, group) in groups.iter().enumerate().filter(|(row, _)| sums.is_valid(*row)) {
            self.counts[*group] += counts.map_or(1, |counts| counts.value(row));
            self.add_wide(*group, sums.value(row));
        }
        Ok(())
    }

    fn convert_to_state(&self, values: &[ArrayRef], filter: Option<&BooleanArray>) -> Result<Vec<ArrayRef>> {
        let numbers = numbers::<T>(&values[0]);
        let counts = |row: usize| {
            numbers.is_valid(row) && filter.is_none_or(|filter| filter.is_valid(row) && filter.value(row))
        };
        let sums = (0..numbers.len()).map(|row| counts(row).then(|| T::wide(numbers.value(row))));
        let sums = self.states(sums);
        let counts: UInt64Array = (0..numbers.len()).map(|row| Some(u64::from(counts(row)))).collect();
        Ok(if self.is_mean() { vec![Arc::new(counts), sums] } else { vec![sums] })
    }

    fn size(&self) -> usize {
        self.sums.capacity() * size_of::<T::Native>()
            + self.counts.capacity() * size_of::<u64>()
            + self.rests.capacity() * size_of::<(usize, <T::Wide as ArrowPrimitiveType>::Native)>()
    }
}
