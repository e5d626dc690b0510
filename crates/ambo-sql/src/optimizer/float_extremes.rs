//! `min` and `max` of doubles by groups: NaN is greater than all other numbers, as it is everywhere else.
//!
//! The planner's (DataFusion 55) let NaN in, and whatever comes behind it, so that the result depends on the order of the rows: the
//! greatest of 1000, NaN and 0 was 0 (apache/datafusion#24432).

use std::{marker::PhantomData, sync::Arc};

use arrow::{
    array::{Array, ArrayRef, ArrowPrimitiveType, AsArray, BooleanArray, PrimitiveArray},
    buffer::NullBuffer,
    datatypes::{DataType, Float32Type, Float64Type},
};
use datafusion::{
    common::{
        DFSchema, Result, ScalarValue,
        tree_node::{Transformed, TreeNode},
    },
    logical_expr::{
        Accumulator, AggregateUDF, AggregateUDFImpl, EmitTo, Expr, ExprSchemable, GroupsAccumulator,
        ReversedUDAF, SetMonotonicity, Signature, StatisticsArgs, function::AccumulatorArgs,
        utils::AggregateOrderSensitivity,
    },
};

use super::expressions::ExpressionRule;

pub(super) const FLOAT_EXTREMES: ExpressionRule = ExpressionRule {
    name: "float_extremes",
    wanted: |expr| matches!(expr, Expr::AggregateFunction(of) if is_extreme(of.func.name())),
    change: |expr, schema, _| expr.transform_up(|expr| ordered(expr, schema)),
};

fn is_extreme(name: &str) -> bool {
    ["min", "max"].contains(&name)
}

fn ordered(expr: Expr, schema: &DFSchema) -> Result<Transformed<Expr>> {
    let Expr::AggregateFunction(mut function) = expr else { return Ok(Transformed::no(expr)) };
    let [of] = &function.params.args[..] else {
        return Ok(Transformed::no(Expr::AggregateFunction(function)));
    };
    if !is_extreme(function.func.name())
        || !matches!(of.get_type(schema)?, DataType::Float32 | DataType::Float64)
    {
        return Ok(Transformed::no(Expr::AggregateFunction(function)));
    }
    let is_greatest = function.func.name() == "max";
    let ours = Extreme { planners: function.func.clone(), is_greatest };
    function.func = Arc::new(AggregateUDF::new_from_impl(ours));
    Ok(Transformed::yes(Expr::AggregateFunction(function)))
}

#[derive(Debug, PartialEq, Eq, Hash)]
struct Extreme {
    planners: Arc<AggregateUDF>,
    is_greatest: bool,
}

impl AggregateUDFImpl for Extreme {
    fn name(&self) -> &str {
        self.planners.name()
    }

    fn signature(&self) -> &Signature {
        self.planners.signature()
    }

    fn coerce_types(&self, given: &[DataType]) -> Result<Vec<DataType>> {
        self.planners.coerce_types(given)
    }

    fn return_type(&self, given: &[DataType]) -> Result<DataType> {
        Ok(given[0].clone())
    }

    fn accumulator(&self, args: AccumulatorArgs<'_>) -> Result<Box<dyn Accumulator>> {
        self.planners.accumulator(args)
    }

    fn groups_accumulator_supported(&self, args: AccumulatorArgs<'_>) -> bool {
        matches!(args.return_field.data_type(), DataType::Float32 | DataType::Float64)
    }

    fn create_groups_accumulator(&self, args: AccumulatorArgs<'_>) -> Result<Box<dyn GroupsAccumulator>> {
        let is_greatest = self.is_greatest;
        Ok(match args.return_field.data_type() {
            DataType::Float32 => Box::new(Extremes::<Float32Type>::new(is_greatest)),
            _ => Box::new(Extremes::<Float64Type>::new(is_greatest)),
        })
    }

    fn value_from_stats(&self, args: &StatisticsArgs<'_>) -> Option<ScalarValue> {
        self.planners.value_from_stats(args)
    }

    fn order_sensitivity(&self) -> AggregateOrderSensitivity {
        AggregateOrderSensitivity::Insensitive
    }

    fn reverse_expr(&self) -> ReversedUDAF {
        ReversedUDAF::Identical
    }

    fn set_monotonicity(&self, data_type: &DataType) -> SetMonotonicity {
        self.planners.inner().set_monotonicity(data_type)
    }
}

/// The extremes of groups.
struct Extremes<T: ArrowPrimitiveType> {
    is_greatest: bool,
    values: Vec<T::Native>,
    /// Which of them were set.
    are_set: Vec<bool>,
    of: PhantomData<T>,
}

impl<T: ArrowPrimitiveType> Extremes<T> {
    fn new(is_greatest: bool) -> Self {
        Self { is_greatest, values: Vec::new(), are_set: Vec::new(), of: PhantomData }
    }
}

/// Whether a number comes before the one that is there.
#[allow(clippy::eq_op, reason = "only NaN is not equal to itself")]
fn is_better<N: PartialOrd + Copy>(new: N, old: N, is_greatest: bool) -> bool {
    let (new_is_nan, old_is_nan) = (new != new, old != old);
    match is_greatest {
        true => !old_is_nan && (new_is_nan || new > old),
        false => !new_is_nan && (old_is_nan || new < old),
    }
}

impl<T: ArrowPrimitiveType + Send> GroupsAccumulator for Extremes<T> {
    fn update_batch(
        &mut self,
        values: &[ArrayRef],
        groups: &[usize],
        filter: Option<&BooleanArray>,
        total: usize,
    ) -> Result<()> {
        let values = values[0].as_primitive::<T>();
        self.values.resize(total, T::default_value());
        self.are_set.resize(total, false);
        let all = values.null_count() == 0 && filter.is_none();
        for (row, &group) in groups.iter().enumerate() {
            let counts = all
                || values.is_valid(row)
                    && filter.is_none_or(|filter| filter.is_valid(row) && filter.value(row));
            if !counts {
                continue;
            }
            let new = values.value(row);
            if !self.are_set[group] || is_better(new, self.values[group], self.is_greatest) {
                self.values[group] = new;
                self.are_set[group] = true;
            }
        }
        Ok(())
    }

    fn evaluate(&mut self, emit_to: EmitTo) -> Result<ArrayRef> {
        let values = emit_to.take_needed(&mut self.values);
        let nulls = NullBuffer::from(emit_to.take_needed(&mut self.are_set));
        Ok(Arc::new(PrimitiveArray::<T>::new(values.into(), Some(nulls))))
    }

    fn state(&mut self, emit_to: EmitTo) -> Result<Vec<ArrayRef>> {
        Ok(vec![self.evaluate(emit_to)?])
    }

    fn merge_batch(&mut self, values: &[ArrayRef], groups: &[usize], total: usize) -> Result<()> {
        self.update_batch(values, groups, None, total)
    }

    fn convert_to_state(&self, values: &[ArrayRef], filter: Option<&BooleanArray>) -> Result<Vec<ArrayRef>> {
        let Some(filter) = filter else { return Ok(values.to_vec()) };
        let of = values[0].as_primitive::<T>();
        let counts = |row: usize| of.is_valid(row) && filter.is_valid(row) && filter.value(row);
        let nulls = NullBuffer::from((0..of.len()).map(counts).collect::<Vec<bool>>());
        Ok(vec![Arc::new(PrimitiveArray::<T>::new(of.values().clone(), Some(nulls)))])
    }

    fn size(&self) -> usize {
        self.values.capacity() * size_of::<T::Native>() + self.are_set.capacity()
    }
}
