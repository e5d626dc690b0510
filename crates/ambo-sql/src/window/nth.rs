//! `nth_value`: the value of a row of the frame, counted from 1.
//!
//! The planner's counts from the end below 0 and has none at 0; in SQL there are no such numbers, and what asks for them is an error. Where
//! the number is no literal, it is another one in each row.

use std::{ops::Range, sync::Arc};

use arrow::{
    array::{Array, ArrayRef, AsArray},
    datatypes::{DataType, FieldRef, Int64Type},
};
use datafusion::{
    common::{DataFusionError, Result, ScalarValue, plan_err},
    logical_expr::{
        Documentation, LimitEffect, PartitionEvaluator, ReversedUDWF, Signature, Volatility, WindowUDF,
        WindowUDFImpl,
        function::{PartitionEvaluatorArgs, WindowUDFFieldArgs},
    },
    physical_expr::{PhysicalExpr, expressions::Literal},
};

/// `nth_value`, with the planner's beside it.
pub(super) fn nth_value(planners: Arc<WindowUDF>) -> WindowUDF {
    let signature = Signature::user_defined(Volatility::Immutable);
    WindowUDF::new_from_impl(NthValue { planners, signature })
}

#[derive(Clone, Debug, PartialEq, Eq, Hash)]
struct NthValue {
    planners: Arc<WindowUDF>,
    signature: Signature,
}

impl WindowUDFImpl for NthValue {
    fn name(&self) -> &str {
        self.planners.name()
    }

    fn signature(&self) -> &Signature {
        &self.signature
    }

    fn coerce_types(&self, given: &[DataType]) -> Result<Vec<DataType>> {
        match given {
            [value, number] if number.is_integer() || number.is_null() => {
                Ok(vec![value.clone(), DataType::Int64])
            }
            _ => plan_err!("nth_value takes a value and a whole number"),
        }
    }

    fn field(&self, args: WindowUDFFieldArgs<'_>) -> Result<FieldRef> {
        self.planners.inner().field(args)
    }

    fn partition_evaluator(&self, args: PartitionEvaluatorArgs<'_>) -> Result<Box<dyn PartitionEvaluator>> {
        let literal = args.input_exprs().get(1).and_then(|number| number.downcast_ref::<Literal>());
        if let Some(ScalarValue::Int64(Some(number))) = literal.map(Literal::value) {
            counted(*number)?;
            return self.planners.inner().partition_evaluator(args);
        }
        Ok(Box::new(Numbered { row: 0, is_reversed: args.is_reversed(), ignores_nulls: args.ignore_nulls() }))
    }

    fn reverse_expr(&self) -> ReversedUDWF {
        ReversedUDWF::Reversed(Arc::new(WindowUDF::new_from_impl(self.clone())))
    }

    fn documentation(&self) -> Option<&Documentation> {
        self.planners.documentation()
    }

    fn limit_effect(&self, args: &[Arc<dyn PhysicalExpr>]) -> LimitEffect {
        self.planners.inner().limit_effect(args)
    }
}

/// A number that rows are counted by.
pub(super) fn counted(number: i64) -> Result<usize> {
    match usize::try_from(number) {
        Ok(number) if number > 0 => Ok(number),
        _ => Err(DataFusionError::Execution(format!(
            "nth_value counts rows from 1, and {number} is not one of them"
        ))),
    }
}

/// Is asked for the rows of a partition one by one.
#[derive(Debug)]
struct Numbered {
    row: usize,
    /// Whether rows come from the last to the first.
    is_reversed: bool,
    ignores_nulls: bool,
}

impl PartitionEvaluator for Numbered {
    fn evaluate(&mut self, values: &[ArrayRef], frame: &Range<usize>) -> Result<ScalarValue> {
        let numbers = values[1].as_primitive::<Int64Type>();
        let row = self.row;
        self.row += 1;
        let nothing = || ScalarValue::try_from(values[0].data_type());
        if numbers.is_null(row) {
            return nothing();
        }
        let skipped = counted(numbers.value(row))? - 1;
        let nulls = values[0].logical_nulls().filter(|_| self.ignores_nulls);
        let mut rows = frame.clone().filter(|at| nulls.as_ref().is_none_or(|nulls| nulls.is_valid(*at)));
        let at = if self.is_reversed { rows.nth_back(skipped) } else { rows.nth(skipped) };
        at.map_or_else(nothing, |at| ScalarValue::try_from_array(&values[0], at))
    }

    fn uses_window_frame(&self) -> bool {
        true
    }
}
