//! Truth values beside constant texts: `is_new = 'true'` is a comparison with true, as in PostgreSQL and DuckDB. A text that is no truth
//! value is an error, and so is a text of a column.

use arrow::datatypes::DataType;
use datafusion::{
    common::{DFSchema, Result},
    logical_expr::{
        Expr, ExprSchemable,
        planner::{ExprPlanner, PlannerResult, RawBinaryExpr},
    },
};

use crate::times::{comparison, is_text};

/// See the module.
#[derive(Debug)]
pub(crate) struct Truths;

impl ExprPlanner for Truths {
    fn plan_binary_op(&self, expr: RawBinaryExpr, schema: &DFSchema) -> Result<PlannerResult<RawBinaryExpr>> {
        if comparison(&expr.op).is_none() {
            return Ok(PlannerResult::Original(expr));
        }
        let is_truth = |side: &Expr| side.get_type(schema).is_ok_and(|ty| ty == DataType::Boolean);
        let is_constant =
            |side: &Expr| matches!(side, Expr::Literal(value, _) if is_text(&value.data_type()));
        let RawBinaryExpr { left, op, right } = expr;
        let (left, right) = match () {
            () if is_truth(&left) && is_constant(&right) => {
                (left, right.cast_to(&DataType::Boolean, schema)?)
            }
            () if is_constant(&left) && is_truth(&right) => {
                (left.cast_to(&DataType::Boolean, schema)?, right)
            }
            () => (left, right),
        };
        Ok(PlannerResult::Original(RawBinaryExpr { left, op, right }))
    }
}
