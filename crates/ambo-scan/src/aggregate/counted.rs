//! Aggregates that follow from the values of one column and how many rows have each: an index may say that without a row being looked at.

use ambo_types::{Error, Result};

use crate::buffer::{ColumnBuffer, Values};

use super::{
    plan::{Accumulator, Compiled, Input, Output},
    program::{Step, exact},
    worker::Worker,
};

/// Values of a column, NULL among them, and how many rows have each: at least one.
#[derive(Clone, Debug)]
pub struct ValueCounts {
    /// The values.
    pub values: ColumnBuffer,
    /// Rows of each.
    pub rows: Vec<u64>,
}

/// A column of whose values, and how many rows have each, all results follow.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct CountedColumn {
    /// Its place in the projection.
    pub place: usize,
    /// Whether the least and the greatest value are enough, and of each that a row has it.
    pub only_ends: bool,
}

impl Compiled {
    /// The only column that is asked for, if nothing else of rows matters but how many there are.
    pub(super) fn counted(&self) -> Option<CountedColumn> {
        if self.group_by.len() > 1 {
            return None;
        }
        let mut column = self.group_by.first().copied();
        for accumulator in &self.accumulators {
            let place = match accumulator.input() {
                Input::Text(place) => place,
                Input::Step(step) => match self.program.steps[step] {
                    Step::Column(place) => place,
                    _ => return None,
                },
            };
            let is_extreme = matches!(accumulator, Accumulator::Least(_) | Accumulator::Greatest(_));
            let is_known = match accumulator {
                Accumulator::Count(_) => true,
                // An index has one zero.
                _ => {
                    is_extreme
                        && !matches!(self.columns[place], ambo_codec::Type::F32 | ambo_codec::Type::F64)
                }
            };
            if !is_known || column.is_some_and(|column| column != place) {
                return None;
            }
            column = Some(place);
        }
        let is_extreme = |output: &Output| matches!(output, Output::Extreme { .. });
        let only_ends = self.key.is_none() && self.outputs.iter().all(is_extreme);
        column.map(|place| CountedColumn { place, only_ends })
    }
}

impl Worker<'_> {
    /// Adds rows by the values that they have in the column that is counted.
    pub(super) fn add_counts(&mut self, mut counts: ValueCounts) -> Result<()> {
        let compiled = self.compiled;
        let rows = &counts.rows;
        assert_eq!(counts.values.len(), rows.len(), "of each value it is known how many rows have it");
        debug_assert!(compiled.counted().is_some(), "nothing else is asked");
        match &compiled.key {
            Some(form) => {
                let encoded = form.encode(std::slice::from_mut(&mut counts.values), &mut self.keys);
                encoded.map_err(|error| Error::Invalid(error.to_string()))?;
                self.table.number(&self.keys, &compiled.accumulators, &mut self.numbers);
            }
            None => {
                self.numbers.clear();
                self.numbers.resize(rows.len(), 0);
            }
        }
        let numbers = || self.numbers.iter().copied();
        self.table.add_rows(numbers().zip(rows.iter().copied()));
        let values = &counts.values;
        let valid = |(place, number): (usize, u32)| values.is_valid(place).then_some((place, number));
        let there = || numbers().enumerate().filter_map(valid);
        for (index, &accumulator) in compiled.accumulators.iter().enumerate() {
            match (accumulator, &values.values) {
                (Accumulator::Count(_), _) => {
                    self.table.add_counts(index, there().map(|(place, number)| (number, rows[place])));
                }
                (_, Values::Bytes { offsets, data }) => {
                    let text = |place: usize| &data[offsets[place] as usize..offsets[place + 1] as usize];
                    let texts = there().map(|(place, number)| (number, Some(text(place))));
                    self.table.add_texts(index, accumulator, texts);
                }
                _ => {
                    let number = |place: usize| {
                        let value = values.get(place).map_err(|error| Error::Invalid(error.to_string()))?;
                        Ok(exact(&value.to_value()).expect("neither floats nor text are added here"))
                    };
                    let found = there().map(|(place, group)| Ok((group, number(place)?)));
                    let found = found.collect::<Result<Vec<_>>>()?;
                    self.table.add_exact(index, accumulator, found.into_iter())?;
                }
            }
        }
        Ok(())
    }
}
