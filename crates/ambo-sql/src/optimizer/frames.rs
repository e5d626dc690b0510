//! Aggregates of doubles, over frames that move without subtraction.
//!
//! A frame is a queue of rows. It is kept as two stacks: behind, what came since the front was empty, and its total; in front, for each row
//! the total of it and what came after it, up to where the stack behind begins. A row that leaves takes its total along; when none is left
//! in front, all rows move there. So each row is added three times at most, and nothing of it is left when it is gone.

use std::{collections::VecDeque, fmt::Debug, sync::Arc};

use arrow::{
    array::{Array, ArrayRef, AsArray},
    datatypes::{DataType, Field, FieldRef, Float64Type},
};
use datafusion::{
    common::{Result, ScalarValue, not_impl_err},
    logical_expr::{
        Accumulator, AggregateUDF, AggregateUDFImpl, Signature, Volatility,
        function::{AccumulatorArgs, StateFieldsArgs},
        utils::format_state_name,
    },
};

use super::moments::{Figure, Moments, PARTS};

/// The aggregate of a name over so many columns of doubles, if it is one of these.
pub(crate) fn over_frames(name: &str, columns: usize) -> Option<Arc<AggregateUDF>> {
    let (name, figure) = Figure::named(name, columns)?;
    let signature = Signature::exact(vec![DataType::Float64; columns], Volatility::Immutable);
    Some(Arc::new(AggregateUDF::new_from_impl(OverFrames { name, figure, signature })))
}

#[derive(Debug, PartialEq, Eq, Hash)]
struct OverFrames {
    name: &'static str,
    figure: Figure,
    signature: Signature,
}

impl AggregateUDFImpl for OverFrames {
    fn name(&self) -> &str {
        self.name
    }

    fn signature(&self) -> &Signature {
        &self.signature
    }

    fn return_type(&self, _: &[DataType]) -> Result<DataType> {
        Ok(DataType::Float64)
    }

    fn accumulator(&self, _: AccumulatorArgs<'_>) -> Result<Box<dyn Accumulator>> {
        Ok(Box::new(Whole { figure: self.figure, total: Moments::default() }))
    }

    fn create_sliding_accumulator(&self, _: AccumulatorArgs<'_>) -> Result<Box<dyn Accumulator>> {
        let (front, back, total) = (Vec::new(), VecDeque::new(), Moments::default());
        Ok(Box::new(Frame { figure: self.figure, front, back, total }))
    }

    fn state_fields(&self, args: StateFieldsArgs<'_>) -> Result<Vec<FieldRef>> {
        let part = |nth: usize| {
            let name = format_state_name(args.name, &nth.to_string());
            Arc::new(Field::new(name, DataType::Float64, false))
        };
        Ok((0..PARTS).map(part).collect())
    }
}

/// All rows.
#[derive(Debug)]
struct Whole {
    figure: Figure,
    total: Moments,
}

impl Accumulator for Whole {
    fn update_batch(&mut self, values: &[ArrayRef]) -> Result<()> {
        for (y, x) in rows(values) {
            self.total = self.total.and(&Moments::of(y, x));
        }
        Ok(())
    }

    fn evaluate(&mut self) -> Result<ScalarValue> {
        Ok(ScalarValue::Float64(self.total.figure(self.figure)))
    }

    fn size(&self) -> usize {
        size_of_val(self)
    }

    fn state(&mut self) -> Result<Vec<ScalarValue>> {
        Ok(self.total.parts().map(|part| ScalarValue::Float64(Some(part))).to_vec())
    }

    fn merge_batch(&mut self, states: &[ArrayRef]) -> Result<()> {
        let states: Vec<_> = states.iter().map(|part| part.as_primitive::<Float64Type>()).collect();
        for row in 0..states[0].len() {
            let part = std::array::from_fn(|nth| states[nth].value(row));
            self.total = self.total.and(&Moments::from_parts(part));
        }
        Ok(())
    }
}

/// The rows of a frame that have values.
#[derive(Debug)]
struct Frame {
    figure: Figure,
    front: Vec<Moments>,
    back: VecDeque<Moments>,
    /// Of those behind.
    total: Moments,
}

impl Frame {
    fn leave(&mut self) {
        if self.front.is_empty() {
            let mut total = Moments::default();
            while let Some(last) = self.back.pop_back() {
                total = last.and(&total);
                self.front.push(total);
            }
            self.total = Moments::default();
        }
        self.front.pop();
    }
}

/// The rows that have values in all columns.
fn rows(values: &[ArrayRef]) -> impl Iterator<Item = (f64, f64)> + '_ {
    let columns: Vec<_> = values.iter().map(|column| column.as_primitive::<Float64Type>()).collect();
    (0..values[0].len()).filter_map(move |row| {
        let mut of = columns.iter().map(|column| column.is_valid(row).then(|| column.value(row)));
        let first = of.next()??;
        Some((first, of.next().unwrap_or(Some(0.0))?))
    })
}

impl Accumulator for Frame {
    fn update_batch(&mut self, values: &[ArrayRef]) -> Result<()> {
        for (y, x) in rows(values) {
            let row = Moments::of(y, x);
            self.total = self.total.and(&row);
            self.back.push_back(row);
        }
        Ok(())
    }

    fn retract_batch(&mut self, values: &[ArrayRef]) -> Result<()> {
        rows(values).for_each(|_| self.leave());
        Ok(())
    }

    fn supports_retract_batch(&self) -> bool {
        true
    }

    fn evaluate(&mut self) -> Result<ScalarValue> {
        let whole = self.front.last().map_or(self.total, |front| front.and(&self.total));
        Ok(ScalarValue::Float64(whole.figure(self.figure)))
    }

    fn size(&self) -> usize {
        size_of_val(self) + (self.front.capacity() + self.back.capacity()) * size_of::<Moments>()
    }

    fn state(&mut self) -> Result<Vec<ScalarValue>> {
        not_impl_err!("parts of a frame that are computed apart")
    }

    fn merge_batch(&mut self, _: &[ArrayRef]) -> Result<()> {
        not_impl_err!("parts of a frame that are computed apart")
    }
}
