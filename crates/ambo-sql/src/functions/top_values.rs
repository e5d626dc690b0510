//! `min(x, n)` and `max(x, n)`: the n least or greatest values, as a list from there on; `arg_min(x, y, n)` and `arg_max(x, y, n)`: x of
//! the n rows with the least or greatest y. Rows where one of them is NULL do not count; NULL if there is none.

use std::{cmp::Ordering, sync::Arc};

use arrow::{
    array::{Array, ArrayRef, AsArray},
    datatypes::{DataType, Field, FieldRef},
};
use datafusion::{
    common::{Result, ScalarValue, plan_err},
    logical_expr::{
        Accumulator, AggregateUDFImpl, Signature, Volatility,
        function::{AccumulatorArgs, StateFieldsArgs},
        utils::format_state_name,
    },
};

use super::{
    constants::whole,
    distinct::{Distinct, state_fields},
};

#[derive(Debug, PartialEq, Eq, Hash)]
pub(super) struct TopValues {
    name: &'static str,
    is_greatest: bool,
    /// Whether the values are others than what they are chosen by.
    has_key: bool,
    signature: Signature,
}

/// More are a mistake that would take the memory.
const COUNT_MAX: i64 = 1_000_000;

impl TopValues {
    pub(super) fn all() -> [Self; 4] {
        let of = |name, is_greatest, has_key| Self {
            name,
            is_greatest,
            has_key,
            signature: Signature::any(if has_key { 3 } else { 2 }, Volatility::Immutable),
        };
        [
            of("min_n", false, false),
            of("max_n", true, false),
            of("arg_min_n", false, true),
            of("arg_max_n", true, true),
        ]
    }
}

impl AggregateUDFImpl for TopValues {
    fn name(&self) -> &str {
        self.name
    }

    fn signature(&self) -> &Signature {
        &self.signature
    }

    fn return_type(&self, types: &[DataType]) -> Result<DataType> {
        Ok(DataType::new_list(types[0].clone(), true))
    }

    fn accumulator(&self, args: AccumulatorArgs<'_>) -> Result<Box<dyn Accumulator>> {
        let Some(count) = args.exprs.last() else { return plan_err!("{}: how many?", self.name) };
        let count = match whole(count, args.schema)? {
            Some(count) if (1..=COUNT_MAX).contains(&count) => count as usize,
            _ => return plan_err!("{}: the number of values is not between 1 and {COUNT_MAX}", self.name),
        };
        let first = args.expr_fields[0].data_type().clone();
        let best = Best {
            better: if self.is_greatest { Ordering::Greater } else { Ordering::Less },
            count,
            key: if self.has_key { args.expr_fields[1].data_type().clone() } else { first.clone() },
            value: first,
            has_key: self.has_key,
            rows: Vec::new(),
        };
        Ok(match args.is_distinct {
            true => Box::new(Distinct::new(Box::new(best), args.expr_fields)),
            false => Box::new(best),
        })
    }

    fn state_fields(&self, args: StateFieldsArgs<'_>) -> Result<Vec<FieldRef>> {
        if args.is_distinct {
            return Ok(state_fields(&args));
        }
        let list = |name: &str, of: &FieldRef| {
            let item = Field::new_list_field(of.data_type().clone(), true);
            Arc::new(Field::new_list(format_state_name(args.name, name), item, true)) as FieldRef
        };
        let key = usize::from(self.has_key);
        Ok(vec![list("values", &args.input_fields[0]), list("keys", &args.input_fields[key])])
    }
}

/// The best rows up to now, the best first, of several the first.
#[derive(Debug)]
struct Best {
    better: Ordering,
    count: usize,
    value: DataType,
    key: DataType,
    has_key: bool,
    /// Keys with their values.
    rows: Vec<(ScalarValue, ScalarValue)>,
}

impl Best {
    fn add(&mut self, values: &ArrayRef, keys: &ArrayRef) -> Result<()> {
        let (no_value, no_key) = (values.logical_nulls(), keys.logical_nulls());
        for row in 0..keys.len() {
            if no_value.as_ref().is_some_and(|nulls| nulls.is_null(row))
                || no_key.as_ref().is_some_and(|nulls| nulls.is_null(row))
            {
                continue;
            }
            let key = ScalarValue::try_from_array(keys, row)?;
            let is_behind = |other: &ScalarValue| key.partial_cmp(other) != Some(self.better);
            let place = self.rows.partition_point(|(other, _)| is_behind(other));
            if place < self.count {
                self.rows.truncate(self.count - 1);
                let value = ScalarValue::try_from_array(values, row)?.compacted();
                self.rows.insert(place, (key.compacted(), value));
            }
        }
        Ok(())
    }
}

impl Accumulator for Best {
    fn update_batch(&mut self, columns: &[ArrayRef]) -> Result<()> {
        self.add(&columns[0], &columns[usize::from(self.has_key)])
    }

    fn evaluate(&mut self) -> Result<ScalarValue> {
        if self.rows.is_empty() {
            return ScalarValue::try_from(&DataType::new_list(self.value.clone(), true));
        }
        let values: Vec<_> = self.rows.iter().map(|(_, value)| value.clone()).collect();
        Ok(ScalarValue::List(ScalarValue::new_list_nullable(&values, &self.value)))
    }

    fn size(&self) -> usize {
        size_of_val(self) + self.rows.iter().map(|(key, value)| key.size() + value.size()).sum::<usize>()
    }

    fn state(&mut self) -> Result<Vec<ScalarValue>> {
        let (keys, values): (Vec<_>, Vec<_>) = self.rows.iter().cloned().unzip();
        let list = |values: &[ScalarValue], of| ScalarValue::List(ScalarValue::new_list_nullable(values, of));
        Ok(vec![list(&values, &self.value), list(&keys, &self.key)])
    }

    fn merge_batch(&mut self, states: &[ArrayRef]) -> Result<()> {
        let (values, keys) = (states[0].as_list::<i32>(), states[1].as_list::<i32>());
        for (values, keys) in values.iter().zip(keys.iter()) {
            if let (Some(values), Some(keys)) = (values, keys) {
                self.add(&values, &keys)?;
            }
        }
        Ok(())
    }
}
