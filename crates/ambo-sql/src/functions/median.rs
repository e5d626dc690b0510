//! `median(x)`: of numbers the planner's; of days, moments and times what lies between the two in the middle; of texts the first of them.

use std::sync::Arc;

use arrow::datatypes::{DataType, FieldRef};
use datafusion::{
    common::Result,
    functions_aggregate::median::median_udaf,
    logical_expr::{
        Accumulator, AggregateUDF, AggregateUDFImpl, GroupsAccumulator, Signature, Volatility,
        function::{AccumulatorArgs, StateFieldsArgs},
    },
};

use super::quantiles::Quantile;

#[derive(Debug, PartialEq, Eq, Hash)]
pub(super) struct Median {
    planners: Arc<AggregateUDF>,
    ours: Quantile,
    signature: Signature,
}

impl Median {
    pub(super) fn new() -> Self {
        let signature = Signature::user_defined(Volatility::Immutable);
        Self { planners: median_udaf(), ours: Quantile::median(), signature }
    }
}

fn is_number(field: &FieldRef) -> bool {
    field.data_type().is_numeric()
}

impl AggregateUDFImpl for Median {
    fn name(&self) -> &str {
        "median"
    }

    fn signature(&self) -> &Signature {
        &self.signature
    }

    fn coerce_types(&self, types: &[DataType]) -> Result<Vec<DataType>> {
        match types {
            // What may lie between whole numbers and decimals is a double.
            [ty] if ty.is_numeric() && !ty.is_floating() || ty.is_null() => Ok(vec![DataType::Float64]),
            [ty] if ty.is_floating() => Ok(vec![ty.clone()]),
            types => self.ours.coerce_types(types),
        }
    }

    fn return_type(&self, types: &[DataType]) -> Result<DataType> {
        Ok(types[0].clone())
    }

    fn accumulator(&self, args: AccumulatorArgs<'_>) -> Result<Box<dyn Accumulator>> {
        if is_number(&args.expr_fields[0]) {
            self.planners.accumulator(args)
        } else {
            self.ours.accumulator(args)
        }
    }

    fn create_sliding_accumulator(&self, args: AccumulatorArgs<'_>) -> Result<Box<dyn Accumulator>> {
        match is_number(&args.expr_fields[0]) {
            true => self.planners.create_sliding_accumulator(args),
            false => self.ours.accumulator(args),
        }
    }

    fn state_fields(&self, args: StateFieldsArgs<'_>) -> Result<Vec<FieldRef>> {
        match is_number(&args.input_fields[0]) {
            true => self.planners.inner().state_fields(args),
            false => self.ours.state_fields(args),
        }
    }

    fn groups_accumulator_supported(&self, args: AccumulatorArgs<'_>) -> bool {
        is_number(&args.expr_fields[0]) && self.planners.groups_accumulator_supported(args)
    }

    fn create_groups_accumulator(&self, args: AccumulatorArgs<'_>) -> Result<Box<dyn GroupsAccumulator>> {
        self.planners.create_groups_accumulator(args)
    }
}
