//! `mode(x)`: the value that most rows have, the least of several; NULL if there is none.

use std::{collections::HashMap, sync::Arc};

use arrow::{
    array::{ArrayRef, AsArray},
    datatypes::{DataType, Field, FieldRef, UInt64Type},
};
use datafusion::{
    common::{Result, ScalarValue},
    logical_expr::{
        Accumulator, AggregateUDFImpl, Signature, Volatility,
        function::{AccumulatorArgs, StateFieldsArgs},
        utils::format_state_name,
    },
};

#[derive(Debug, PartialEq, Eq, Hash)]
pub(super) struct Mode(Signature);

impl Mode {
    pub(super) fn new() -> Self {
        Self(Signature::any(1, Volatility::Immutable))
    }
}

impl AggregateUDFImpl for Mode {
    fn name(&self) -> &str {
        "mode"
    }

    fn signature(&self) -> &Signature {
        &self.0
    }

    fn return_type(&self, arguments: &[DataType]) -> Result<DataType> {
        Ok(arguments[0].clone())
    }

    fn accumulator(&self, args: AccumulatorArgs<'_>) -> Result<Box<dyn Accumulator>> {
        Ok(Box::new(Counts {
            data_type: args.return_field.data_type().clone(),
            of: HashMap::new(),
            bytes: 0,
        }))
    }

    fn state_fields(&self, args: StateFieldsArgs<'_>) -> Result<Vec<FieldRef>> {
        let list = |name: &str, of: DataType| {
            let item = Field::new_list_field(of, true);
            Arc::new(Field::new_list(format_state_name(args.name, name), item, true))
        };
        Ok(vec![list("values", args.input_fields[0].data_type().clone()), list("counts", DataType::UInt64)])
    }
}

/// How many rows have each value.
#[derive(Debug)]
struct Counts {
    data_type: DataType,
    of: HashMap<ScalarValue, u64>,
    bytes: usize,
}

impl Counts {
    fn add(&mut self, value: ScalarValue, count: u64) {
        // 0.0 and -0.0 are one.
        let value = match value {
            ScalarValue::Float64(Some(0.0)) => ScalarValue::Float64(Some(0.0)),
            ScalarValue::Float32(Some(0.0)) => ScalarValue::Float32(Some(0.0)),
            value if value.is_null() => return,
            value => value,
        };
        let size = value.size() + size_of::<u64>();
        let counted = self.of.entry(value).or_insert_with(|| {
            self.bytes += size;
            0
        });
        *counted += count;
    }
}

impl Accumulator for Counts {
    fn update_batch(&mut self, values: &[ArrayRef]) -> Result<()> {
        for row in 0..values[0].len() {
            self.add(ScalarValue::try_from_array(&values[0], row)?, 1);
        }
        Ok(())
    }

    fn evaluate(&mut self) -> Result<ScalarValue> {
        let is_better = |(value, count): (&ScalarValue, &u64), (best, most): (&ScalarValue, &u64)| {
            count > most || count == most && value.partial_cmp(best).is_some_and(|order| order.is_lt())
        };
        let best = self.of.iter().reduce(|best, one| if is_better(one, best) { one } else { best });
        best.map_or_else(|| ScalarValue::try_from(&self.data_type), |(value, _)| Ok(value.clone()))
    }

    fn size(&self) -> usize {
        size_of_val(self) + self.bytes
    }

    fn state(&mut self) -> Result<Vec<ScalarValue>> {
        let (values, counts): (Vec<_>, Vec<_>) =
            self.of.iter().map(|(value, count)| (value.clone(), ScalarValue::UInt64(Some(*count)))).unzip();
        let list = |values: &[ScalarValue], of| ScalarValue::List(ScalarValue::new_list_nullable(values, of));
        Ok(vec![list(&values, &self.data_type), list(&counts, &DataType::UInt64)])
    }

    fn merge_batch(&mut self, states: &[ArrayRef]) -> Result<()> {
        let (values, counts) = (states[0].as_list::<i32>(), states[1].as_list::<i32>());
        for (values, counts) in values.iter().zip(counts.iter()) {
            let (Some(values), Some(counts)) = (values, counts) else { continue };
            for (row, count) in counts.as_primitive::<UInt64Type>().values().iter().enumerate() {
                self.add(ScalarValue::try_from_array(&values, row)?, *count);
            }
        }
        Ok(())
    }
}
