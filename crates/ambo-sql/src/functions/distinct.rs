//! DISTINCT in aggregates that look at all rows: each row counts once.

use std::collections::HashSet;
use std::sync::Arc;

use arrow::{
    array::{Array, ArrayRef, AsArray, UInt32Array},
    compute::take_arrays,
    datatypes::{DataType, Field, FieldRef},
};
use datafusion::{
    common::{Result, ScalarValue},
    logical_expr::{Accumulator, function::StateFieldsArgs, utils::format_state_name},
};

use super::one_zero::with_one_zero;

/// What is handed on: a list of the values of each argument.
pub(crate) fn state_fields(args: &StateFieldsArgs<'_>) -> Vec<FieldRef> {
    let list = |(nth, field): (usize, &FieldRef)| {
        let item = Field::new_list_field(field.data_type().clone(), true);
        let name = format_state_name(args.name, &format!("distinct {nth}"));
        Arc::new(Field::new(name, DataType::List(Arc::new(item)), true)) as FieldRef
    };
    args.input_fields.iter().enumerate().map(list).collect()
}

/// Hands each row on once, 0.0 and -0.0 being one, in the order in which they came.
#[derive(Debug)]
pub(crate) struct Distinct {
    of: Box<dyn Accumulator>,
    types: Vec<DataType>,
    seen: HashSet<Vec<ScalarValue>>,
    rows: Vec<Vec<ScalarValue>>,
    bytes: usize,
}

impl Distinct {
    pub(crate) fn new(of: Box<dyn Accumulator>, fields: &[FieldRef]) -> Self {
        let types = fields.iter().map(|field| field.data_type().clone()).collect();
        Self { of, types, seen: HashSet::new(), rows: Vec::new(), bytes: 0 }
    }
}

impl Accumulator for Distinct {
    fn update_batch(&mut self, columns: &[ArrayRef]) -> Result<()> {
        let mut new = Vec::new();
        let alike = columns.iter().map(with_one_zero).collect::<Result<Vec<_>>>()?;
        for row in 0..columns.first().map_or(0, Array::len) {
            let value = |column: &ArrayRef| Ok(ScalarValue::try_from_array(column, row)?.compacted());
            let values = alike.iter().map(value).collect::<Result<Vec<_>>>()?;
            if self.seen.insert(values.clone()) {
                self.bytes += 2 * values.iter().map(ScalarValue::size).sum::<usize>();
                self.rows.push(values);
                new.push(row as u32);
            }
        }
        self.of.update_batch(&take_arrays(columns, &UInt32Array::from(new), None)?)
    }

    fn evaluate(&mut self) -> Result<ScalarValue> {
        self.of.evaluate()
    }

    fn size(&self) -> usize {
        size_of_val(self) + self.of.size() + self.bytes
    }

    fn state(&mut self) -> Result<Vec<ScalarValue>> {
        let column = |(nth, ty): (usize, &DataType)| {
            let values: Vec<_> = self.rows.iter().map(|row| row[nth].clone()).collect();
            ScalarValue::List(ScalarValue::new_list_nullable(&values, ty))
        };
        Ok(self.types.iter().enumerate().map(column).collect())
    }

    fn merge_batch(&mut self, states: &[ArrayRef]) -> Result<()> {
        for row in 0..states.first().map_or(0, Array::len) {
            let columns: Vec<_> = states.iter().map(|lists| lists.as_list::<i32>().value(row)).collect();
            self.update_batch(&columns)?;
        }
        Ok(())
    }
}
