//! Operators of which the planner would not take the values, or would take the result for one of another type: days with intervals that
//! have hours, intervals multiplied by numbers; intervals and UUIDs compared with texts.

use arrow::datatypes::DataType;
use datafusion::{
    common::{DFSchema, Result},
    logical_expr::{
        ExprSchemable, Operator,
        planner::{ExprPlanner, PlannerResult, RawBinaryExpr},
    },
    sql::sqlparser::ast::BinaryOperator,
};

use super::{
    is_interval, is_text,
    rules::{combined, compared, is_comparison, is_said},
};

/// Whether the planner would not compare them, because one is a text.
fn with_text(from: &DataType, to: &DataType) -> bool {
    let is_other = |ty: &DataType| is_said(ty) || is_interval(ty);
    is_other(from) && is_text(to) || is_text(from) && is_other(to)
}

/// The operator of a comparison as the parser has it.
pub(crate) fn comparison(op: &BinaryOperator) -> Option<Operator> {
    Some(match op {
        BinaryOperator::Eq => Operator::Eq,
        BinaryOperator::NotEq => Operator::NotEq,
        BinaryOperator::Lt => Operator::Lt,
        BinaryOperator::LtEq => Operator::LtEq,
        BinaryOperator::Gt => Operator::Gt,
        BinaryOperator::GtEq => Operator::GtEq,
        _ => return None,
    })
}

/// See the module.
#[derive(Debug)]
pub(crate) struct TimeOperators;

impl ExprPlanner for TimeOperators {
    fn plan_binary_op(&self, expr: RawBinaryExpr, schema: &DFSchema) -> Result<PlannerResult<RawBinaryExpr>> {
        let op = match &expr.op {
            BinaryOperator::Plus => Operator::Plus,
            BinaryOperator::Minus => Operator::Minus,
            BinaryOperator::Multiply => Operator::Multiply,
            BinaryOperator::Divide => Operator::Divide,
            other => match comparison(other) {
                Some(op) => op,
                None => return Ok(PlannerResult::Original(expr)),
            },
        };
        let (Ok(from), Ok(to)) = (expr.left.get_type(schema), expr.right.get_type(schema)) else {
            return Ok(PlannerResult::Original(expr));
        };
        if is_comparison(op) {
            return Ok(match with_text(&from, &to) {
                true => PlannerResult::Planned(compared(expr.left, &from, op, expr.right, &to)?.data),
                false => PlannerResult::Original(expr),
            });
        }
        Ok(match combined(&expr.left, &from, op, &expr.right, &to)? {
            Some(combined) => PlannerResult::Planned(combined),
            None => PlannerResult::Original(expr),
        })
    }
}
