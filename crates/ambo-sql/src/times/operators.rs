//! Operators of which the planner would not take the values, or would take the result for one of another type: days with intervals that
//! have hours, intervals multiplied by numbers.

use datafusion::{
    common::{DFSchema, Result},
    logical_expr::{
        ExprSchemable, Operator,
        planner::{ExprPlanner, PlannerResult, RawBinaryExpr},
    },
    sql::sqlparser::ast::BinaryOperator,
};

use super::rules::combined;

/// See the module.
#[derive(Debug)]
pub(crate) struct TimeOperators;

impl ExprPlanner for TimeOperators {
    fn plan_binary_op(&self, expr: RawBinaryExpr, schema: &DFSchema) -> Result<PlannerResult<RawBinaryExpr>> {
        let op = match expr.op {
            BinaryOperator::Plus => Operator::Plus,
            BinaryOperator::Minus => Operator::Minus,
            BinaryOperator::Multiply => Operator::Multiply,
            BinaryOperator::Divide => Operator::Divide,
            _ => return Ok(PlannerResult::Original(expr)),
        };
        let (Ok(from), Ok(to)) = (expr.left.get_type(schema), expr.right.get_type(schema)) else {
            return Ok(PlannerResult::Original(expr));
        };
        Ok(match combined(&expr.left, &from, op, &expr.right, &to)? {
            Some(combined) => PlannerResult::Planned(combined),
            None => PlannerResult::Original(expr),
        })
    }
}
