//! `arg_max(x, y)` and `arg_min(x, y)`: x of the row with the greatest or the least y. Rows where one of them is NULL do not count; of
//! several the first is taken.
//!
//! `max(x)` and `min(x)` of lists, structs and maps are the same with x for y: NULL within them is greater than all else, as ORDER BY
//! has it, where the planner's depend on the order of the rows.

use std::{cmp::Ordering, sync::Arc};

use arrow::{
    array::{Array, ArrayRef, make_comparator},
    datatypes::{DataType, Field, FieldRef},
};
use datafusion::{
    common::{DataFusionError, Result, ScalarValue},
    logical_expr::{
        Accumulator, AggregateUDF, AggregateUDFImpl, Signature, Volatility,
        function::{AccumulatorArgs, StateFieldsArgs},
        utils::{AggregateOrderSensitivity, format_state_name},
    },
};

use super::nested_order::ORDER;

#[derive(Debug, PartialEq, Eq, Hash)]
pub(super) struct ArgExtreme {
    name: &'static str,
    is_greatest: bool,
    aliases: Vec<String>,
    signature: Signature,
}

impl ArgExtreme {
    pub(super) fn new(is_greatest: bool) -> Self {
        let (name, aliases) =
            if is_greatest { ("arg_max", ["max_by", "argmax"]) } else { ("arg_min", ["min_by", "argmin"]) };
        let signature = Signature::any(2, Volatility::Immutable);
        Self { name, is_greatest, aliases: aliases.map(str::to_owned).to_vec(), signature }
    }
}

/// `arg_max` or `arg_min`.
pub(crate) fn arg_extreme(is_greatest: bool) -> AggregateUDF {
    AggregateUDF::new_from_impl(ArgExtreme::new(is_greatest))
}

/// `max(x)` or `min(x)` of lists, structs or maps.
pub(crate) fn nested_extreme(is_greatest: bool) -> AggregateUDF {
    let name = if is_greatest { "nested_max" } else { "nested_min" };
    let signature = Signature::any(1, Volatility::Immutable);
    AggregateUDF::new_from_impl(ArgExtreme { name, is_greatest, aliases: Vec::new(), signature })
}

/// `max(x)` or `min(x)` of intervals, of which the second argument is the length.
pub(crate) fn interval_extreme(is_greatest: bool) -> AggregateUDF {
    let name = if is_greatest { "interval_max" } else { "interval_min" };
    AggregateUDF::new_from_impl(ArgExtreme { name, aliases: Vec::new(), ..ArgExtreme::new(is_greatest) })
}

impl AggregateUDFImpl for ArgExtreme {
    fn name(&self) -> &str {
        self.name
    }

    fn aliases(&self) -> &[String] {
        &self.aliases
    }

    fn signature(&self) -> &Signature {
        &self.signature
    }

    fn return_type(&self, arguments: &[DataType]) -> Result<DataType> {
        Ok(arguments[0].clone())
    }

    fn accumulator(&self, args: AccumulatorArgs<'_>) -> Result<Box<dyn Accumulator>> {
        let nothing = ScalarValue::try_from(args.return_field.data_type())?;
        let of = args.expr_fields.last().unwrap_or(&args.return_field);
        let key = ScalarValue::try_from(of.data_type())?;
        let better = if self.is_greatest { Ordering::Greater } else { Ordering::Less };
        Ok(Box::new(Best { better, value: nothing, key }))
    }

    fn state_fields(&self, args: StateFieldsArgs<'_>) -> Result<Vec<FieldRef>> {
        let state = |name: &str, field: &FieldRef| {
            Arc::new(Field::new(format_state_name(args.name, name), field.data_type().clone(), true))
        };
        let value = &args.input_fields[0];
        Ok(vec![state("value", value), state("key", args.input_fields.last().unwrap_or(value))])
    }

    fn order_sensitivity(&self) -> AggregateOrderSensitivity {
        AggregateOrderSensitivity::Insensitive
    }
}

/// The best row up to now; the key is NULL as long as there is none.
#[derive(Debug)]
struct Best {
    better: Ordering,
    value: ScalarValue,
    key: ScalarValue,
}

impl Accumulator for Best {
    fn update_batch(&mut self, columns: &[ArrayRef]) -> Result<()> {
        let (Some(values), Some(keys)) = (columns.first(), columns.last()) else { return Ok(()) };
        let (no_value, no_key) = (values.logical_nulls(), keys.logical_nulls());
        let counts = |row: &usize| {
            no_value.as_ref().is_none_or(|nulls| nulls.is_valid(*row))
                && no_key.as_ref().is_none_or(|nulls| nulls.is_valid(*row))
        };
        let mut rows = (0..keys.len()).filter(counts);
        let Some(first) = rows.next() else { return Ok(()) };
        let compared = make_comparator(keys, keys, ORDER)?;
        let best = rows.fold(first, |best, row| if compared(row, best) == self.better { row } else { best });
        let is_better = || {
            let before = self.key.to_array()?;
            Ok::<_, DataFusionError>(make_comparator(keys, &before, ORDER)?(best, 0) == self.better)
        };
        if self.key.is_null() || is_better()? {
            self.value = ScalarValue::try_from_array(values, best)?.compacted();
            self.key = ScalarValue::try_from_array(keys, best)?.compacted();
        }
        Ok(())
    }

    fn evaluate(&mut self) -> Result<ScalarValue> {
        Ok(self.value.clone())
    }

    fn size(&self) -> usize {
        size_of_val(self) - 2 * size_of::<ScalarValue>() + self.value.size() + self.key.size()
    }

    fn state(&mut self) -> Result<Vec<ScalarValue>> {
        Ok(vec![self.value.clone(), self.key.clone()])
    }

    fn merge_batch(&mut self, states: &[ArrayRef]) -> Result<()> {
        self.update_batch(states)
    }
}
