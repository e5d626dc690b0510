//! `a // b`: of integers `a / b`, which drops the fraction as well; of decimals without places, as HUGEINT is one, the whole part of their
//! quotient; of other numbers `a / b`, as in DuckDB.

use arrow::datatypes::DataType;
use datafusion::{
    common::{DFSchema, Result},
    logical_expr::{
        ExprSchemable,
        planner::{ExprPlanner, PlannerResult, RawBinaryExpr},
    },
    sql::sqlparser::ast::BinaryOperator,
};

use super::checked::{WHOLE, whole_quotient};

/// See the module. To be asked before others, which know `/`.
#[derive(Debug)]
pub(crate) struct WholeQuotients;

fn is_whole(ty: &DataType) -> bool {
    ty.is_integer() || matches!(ty, DataType::Decimal128(_, 0))
}

impl ExprPlanner for WholeQuotients {
    fn plan_binary_op(&self, expr: RawBinaryExpr, schema: &DFSchema) -> Result<PlannerResult<RawBinaryExpr>> {
        if expr.op != BinaryOperator::DuckIntegerDivide {
            return Ok(PlannerResult::Original(expr));
        }
        // What is not known of a parameter without a value does not make it a decimal.
        let types = [&expr.left, &expr.right].map(|side| side.get_type(schema).ok());
        let are_whole = types.iter().flatten().filter(|ty| is_whole(ty)).count() == types.len();
        if are_whole && types.iter().flatten().any(DataType::is_decimal) {
            let (left, right) = (expr.left.cast_to(&WHOLE, schema)?, expr.right.cast_to(&WHOLE, schema)?);
            return Ok(PlannerResult::Planned(whole_quotient(left, right)));
        }
        Ok(PlannerResult::Original(RawBinaryExpr { op: BinaryOperator::Divide, ..expr }))
    }
}
