//! `row_number`, `rank`, `dense_rank` and `ntile` as BIGINT, as `count` is and SQL has it.
//!
//! The planner's are unsigned. A column of signed numbers with one of unsigned ones makes a decimal (the only type that has both), so that
//! `CASE … THEN rank() … ELSE 1 END / 2` would be no whole number.

use std::{ops::Range, sync::Arc};

use arrow::{
    array::ArrayRef,
    compute::SortOptions,
    datatypes::{DataType, FieldRef},
};
use datafusion::{
    common::{Result, ScalarValue, arrow::compute::cast},
    logical_expr::{
        Documentation, LimitEffect, PartitionEvaluator, Signature, WindowUDF, WindowUDFImpl,
        function::{ExpressionArgs, PartitionEvaluatorArgs, WindowUDFFieldArgs},
        window_state::WindowAggState,
    },
    physical_expr::PhysicalExpr,
};

/// One of them with signed numbers.
pub(super) fn signed(function: Arc<WindowUDF>) -> WindowUDF {
    WindowUDF::new_from_impl(Signed(function))
}

/// Whether it is one of these.
pub(super) fn is_signed(function: &WindowUDF) -> bool {
    function.inner().is::<Signed>()
}

#[derive(Debug, PartialEq, Eq, Hash)]
struct Signed(Arc<WindowUDF>);

impl WindowUDFImpl for Signed {
    fn name(&self) -> &str {
        self.0.name()
    }

    fn aliases(&self) -> &[String] {
        self.0.aliases()
    }

    fn signature(&self) -> &Signature {
        self.0.signature()
    }

    fn expressions(&self, args: ExpressionArgs<'_>) -> Vec<Arc<dyn PhysicalExpr>> {
        self.0.inner().expressions(args)
    }

    fn partition_evaluator(&self, args: PartitionEvaluatorArgs<'_>) -> Result<Box<dyn PartitionEvaluator>> {
        Ok(Box::new(SignedEvaluator(self.0.inner().partition_evaluator(args)?)))
    }

    fn field(&self, args: WindowUDFFieldArgs<'_>) -> Result<FieldRef> {
        let field = self.0.inner().field(args)?;
        Ok(Arc::new(field.as_ref().clone().with_data_type(DataType::Int64)))
    }

    fn sort_options(&self) -> Option<SortOptions> {
        self.0.inner().sort_options()
    }

    fn documentation(&self) -> Option<&Documentation> {
        self.0.inner().documentation()
    }

    fn limit_effect(&self, args: &[Arc<dyn PhysicalExpr>]) -> LimitEffect {
        self.0.inner().limit_effect(args)
    }
}

#[derive(Debug)]
struct SignedEvaluator(Box<dyn PartitionEvaluator>);

fn as_signed(values: ArrayRef) -> Result<ArrayRef> {
    Ok(cast(&values, &DataType::Int64)?)
}

impl PartitionEvaluator for SignedEvaluator {
    fn memoize(&mut self, state: &mut WindowAggState) -> Result<()> {
        self.0.memoize(state)
    }

    fn get_range(&self, place: usize, rows: usize) -> Result<Range<usize>> {
        self.0.get_range(place, rows)
    }

    fn is_causal(&self) -> bool {
        self.0.is_causal()
    }

    fn evaluate_all(&mut self, values: &[ArrayRef], rows: usize) -> Result<ArrayRef> {
        as_signed(self.0.evaluate_all(values, rows)?)
    }

    fn evaluate(&mut self, values: &[ArrayRef], range: &Range<usize>) -> Result<ScalarValue> {
        self.0.evaluate(values, range)?.cast_to(&DataType::Int64)
    }

    fn evaluate_all_with_rank(&self, rows: usize, ranks: &[Range<usize>]) -> Result<ArrayRef> {
        as_signed(self.0.evaluate_all_with_rank(rows, ranks)?)
    }

    fn supports_bounded_execution(&self) -> bool {
        self.0.supports_bounded_execution()
    }

    fn uses_window_frame(&self) -> bool {
        self.0.uses_window_frame()
    }

    fn include_rank(&self) -> bool {
        self.0.include_rank()
    }
}
