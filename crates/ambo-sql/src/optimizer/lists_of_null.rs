//! `map` of lists that are NULL is NULL, and `concat` of lists is a list.
//!
//! The planner (DataFusion 55) makes an empty map of NULL lists, and a text of lists that are concatenated.

use arrow::datatypes::DataType;
use datafusion::{
    common::{
        DFSchema, Result, ScalarValue,
        tree_node::{Transformed, TreeNode},
    },
    functions_nested::expr_fn::array_concat,
    logical_expr::{Expr, ExprSchemable, lit, when},
};

use super::expressions::ExpressionRule;

pub(super) const LISTS_OF_NULL: ExpressionRule = ExpressionRule {
    name: "lists_of_null",
    wanted: |expr| matches!(expr, Expr::ScalarFunction(of) if ["map", "concat"].contains(&of.name())),
    change: |expr, schema, _| expr.transform_up(|expr| changed(expr, schema)),
};

fn changed(expr: Expr, schema: &DFSchema) -> Result<Transformed<Expr>> {
    let Expr::ScalarFunction(of) = &expr else { return Ok(Transformed::no(expr)) };
    match of.name() {
        "map" => map(expr, schema),
        "concat" => concat(expr, schema),
        _ => Ok(Transformed::no(expr)),
    }
}

fn map(expr: Expr, schema: &DFSchema) -> Result<Transformed<Expr>> {
    let Expr::ScalarFunction(of) = &expr else { return Ok(Transformed::no(expr)) };
    let mut nullable = Vec::new();
    for argument in &of.args {
        if argument.nullable(schema)? {
            nullable.push(argument.clone().is_null());
        }
    }
    Ok(match nullable.into_iter().reduce(Expr::or) {
        Some(is_null) => Transformed::yes(when(is_null, lit(ScalarValue::Null)).otherwise(expr)?),
        None => Transformed::no(expr),
    })
}

/// Of lists alone, NULL being none.
fn concat(expr: Expr, schema: &DFSchema) -> Result<Transformed<Expr>> {
    let Expr::ScalarFunction(of) = &expr else { return Ok(Transformed::no(expr)) };
    let mut lists = Vec::new();
    for argument in &of.args {
        match argument.get_type(schema)? {
            DataType::Null => {}
            DataType::List(_) | DataType::LargeList(_) | DataType::FixedSizeList(..) => {
                lists.push(argument.clone());
            }
            _ => return Ok(Transformed::no(expr)),
        }
    }
    Ok(if lists.is_empty() { Transformed::no(expr) } else { Transformed::yes(array_concat(lists)) })
}
