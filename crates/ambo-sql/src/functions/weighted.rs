//! `weighted_avg(x, weight)`: the mean of values, each as often as its weight says; NULL where no value has a weight,
//! NaN where the weights are 0 together.

use std::sync::Arc;

use arrow::{
    array::{ArrayRef, AsArray},
    datatypes::{DataType, Field, FieldRef, Float64Type},
};
use datafusion::{
    common::{Result, ScalarValue, plan_err},
    logical_expr::{
        Accumulator, AggregateUDFImpl, Signature, Volatility,
        function::{AccumulatorArgs, StateFieldsArgs},
        utils::format_state_name,
    },
};

use super::distinct::{Distinct, state_fields};

#[derive(Debug, PartialEq, Eq, Hash)]
pub(super) struct WeightedAverage {
    aliases: Vec<String>,
    signature: Signature,
}

impl WeightedAverage {
    pub(super) fn new() -> Self {
        Self { aliases: vec!["wavg".to_owned()], signature: Signature::user_defined(Volatility::Immutable) }
    }
}

impl AggregateUDFImpl for WeightedAverage {
    fn name(&self) -> &str {
        "weighted_avg"
    }

    fn aliases(&self) -> &[String] {
        &self.aliases
    }

    fn signature(&self) -> &Signature {
        &self.signature
    }

    fn coerce_types(&self, types: &[DataType]) -> Result<Vec<DataType>> {
        match types.len() == 2 && types.iter().all(|ty| ty.is_numeric() || ty.is_null()) {
            true => Ok(vec![DataType::Float64; 2]),
            false => plan_err!("weighted_avg has a number and its weight"),
        }
    }

    fn return_type(&self, _: &[DataType]) -> Result<DataType> {
        Ok(DataType::Float64)
    }

    fn accumulator(&self, args: AccumulatorArgs<'_>) -> Result<Box<dyn Accumulator>> {
        Ok(match args.is_distinct {
            true => Box::new(Distinct::new(Box::new(Sums::default()), args.expr_fields)),
            false => Box::new(Sums::default()),
        })
    }

    fn state_fields(&self, args: StateFieldsArgs<'_>) -> Result<Vec<FieldRef>> {
        if args.is_distinct {
            return Ok(state_fields(&args));
        }
        let part = |name: &str| {
            Arc::new(Field::new(format_state_name(args.name, name), DataType::Float64, false)) as FieldRef
        };
        Ok(vec![part("count"), part("values"), part("weights")])
    }
}

#[derive(Debug, Default)]
struct Sums {
    count: f64,
    values: f64,
    weights: f64,
}

impl Accumulator for Sums {
    fn update_batch(&mut self, columns: &[ArrayRef]) -> Result<()> {
        let [values, weights] = [0, 1].map(|nth| columns[nth].as_primitive::<Float64Type>());
        for (value, weight) in values.iter().zip(weights.iter()) {
            if let (Some(value), Some(weight)) = (value, weight) {
                self.count += 1.0;
                self.values += value * weight;
                self.weights += weight;
            }
        }
        Ok(())
    }

    fn evaluate(&mut self) -> Result<ScalarValue> {
        Ok(ScalarValue::Float64((self.count > 0.0).then(|| self.values / self.weights)))
    }

    fn size(&self) -> usize {
        size_of_val(self)
    }

    fn state(&mut self) -> Result<Vec<ScalarValue>> {
        Ok(vec![self.count.into(), self.values.into(), self.weights.into()])
    }

    fn merge_batch(&mut self, states: &[ArrayRef]) -> Result<()> {
        let [count, values, weights] = [0, 1, 2].map(|nth| states[nth].as_primitive::<Float64Type>());
        self.count += count.values().iter().sum::<f64>();
        self.values += values.values().iter().sum::<f64>();
        self.weights += weights.values().iter().sum::<f64>();
        Ok(())
    }
}
