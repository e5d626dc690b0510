//! Aggregates of distinct values keep their order.
//!
//! The planner (DataFusion 55) turns the order of an aggregate around where its rows come the other way, and `array_agg` and `string_agg`
//! give them back in the order that was asked for; with DISTINCT, they forget to: of `array_agg(DISTINCT x ORDER BY x DESC),
//! array_agg(DISTINCT x ORDER BY x)` both had the first order. They sort their values themselves, so their order need not be turned.

use std::sync::Arc;

use arrow::datatypes::{DataType, FieldRef};
use datafusion::{
    common::{
        Result, ScalarValue,
        tree_node::{Transformed, TreeNode},
    },
    logical_expr::{
        Accumulator, AggregateUDF, AggregateUDFImpl, Expr, GroupsAccumulator, ReversedUDAF, Signature,
        function::{AccumulatorArgs, StateFieldsArgs},
        utils::AggregateOrderSensitivity,
    },
};

use super::expressions::ExpressionRule;

pub(super) const DISTINCT_ORDERS: ExpressionRule = ExpressionRule {
    name: "distinct_orders",
    wanted: has_order,
    change: |expr, _, _| expr.transform_up(|expr| Ok(kept(expr))),
};

fn has_order(expr: &Expr) -> bool {
    matches!(expr, Expr::AggregateFunction(of)
        if of.params.distinct
            && !of.params.order_by.is_empty()
            && ["array_agg", "string_agg"].contains(&of.func.name()))
}

fn kept(expr: Expr) -> Transformed<Expr> {
    if !has_order(&expr) {
        return Transformed::no(expr);
    }
    let Expr::AggregateFunction(mut function) = expr else { return Transformed::no(expr) };
    function.func = Arc::new(AggregateUDF::new_from_impl(OneWay(function.func.clone())));
    Transformed::yes(Expr::AggregateFunction(function))
}

/// An aggregate whose order is not turned around.
#[derive(Debug, PartialEq, Eq, Hash)]
struct OneWay(Arc<AggregateUDF>);

impl AggregateUDFImpl for OneWay {
    fn name(&self) -> &str {
        self.0.name()
    }

    fn signature(&self) -> &Signature {
        self.0.signature()
    }

    fn coerce_types(&self, given: &[DataType]) -> Result<Vec<DataType>> {
        self.0.coerce_types(given)
    }

    fn return_type(&self, given: &[DataType]) -> Result<DataType> {
        self.0.return_type(given)
    }

    fn return_field(&self, given: &[FieldRef]) -> Result<FieldRef> {
        self.0.return_field(given)
    }

    fn accumulator(&self, args: AccumulatorArgs<'_>) -> Result<Box<dyn Accumulator>> {
        self.0.accumulator(args)
    }

    fn state_fields(&self, args: StateFieldsArgs<'_>) -> Result<Vec<FieldRef>> {
        self.0.state_fields(args)
    }

    fn groups_accumulator_supported(&self, args: AccumulatorArgs<'_>) -> bool {
        self.0.groups_accumulator_supported(args)
    }

    fn create_groups_accumulator(&self, args: AccumulatorArgs<'_>) -> Result<Box<dyn GroupsAccumulator>> {
        self.0.create_groups_accumulator(args)
    }

    fn order_sensitivity(&self) -> AggregateOrderSensitivity {
        self.0.order_sensitivity()
    }

    fn with_beneficial_ordering(self: Arc<Self>, _: bool) -> Result<Option<Arc<dyn AggregateUDFImpl>>> {
        Ok(Some(self))
    }

    fn reverse_expr(&self) -> ReversedUDAF {
        ReversedUDAF::NotSupported
    }

    fn default_value(&self, data_type: &DataType) -> Result<ScalarValue> {
        self.0.default_value(data_type)
    }

    fn supports_null_handling_clause(&self) -> bool {
        self.0.supports_null_handling_clause()
    }
}
