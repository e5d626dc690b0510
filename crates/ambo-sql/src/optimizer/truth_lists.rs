//! `flag IN ('t', 'f')`: constant texts in a list beside a truth value are truth values, as they are in comparisons (`planner/truths.rs`).

use arrow::datatypes::DataType;
use datafusion::{
    common::{
        DFSchema, Result,
        tree_node::{Transformed, TreeNode},
    },
    logical_expr::{Between, Expr, ExprSchemable},
};

use super::expressions::ExpressionRule;
use crate::times::is_text;

pub(super) const TRUTH_LISTS: ExpressionRule = ExpressionRule {
    name: "truth_lists",
    wanted: |expr| matches!(expr, Expr::InList(_) | Expr::Between(_)),
    change: |expr, schema, _| expr.transform_up(|expr| with_truths(expr, schema)),
};

fn with_truths(expr: Expr, schema: &DFSchema) -> Result<Transformed<Expr>> {
    let (mut expr, of) = match expr {
        Expr::InList(list) => (Expr::InList(list.clone()), list.expr),
        Expr::Between(between) => (Expr::Between(between.clone()), between.expr),
        expr => return Ok(Transformed::no(expr)),
    };
    if of.get_type(schema)? != DataType::Boolean {
        return Ok(Transformed::no(expr));
    }
    let beside: Vec<&mut Expr> = match &mut expr {
        Expr::InList(list) => list.list.iter_mut().collect(),
        Expr::Between(Between { low, high, .. }) => vec![low, high],
        _ => Vec::new(),
    };
    let mut is_changed = false;
    for value in beside {
        if matches!(value, Expr::Literal(of, _) if is_text(&of.data_type())) {
            *value = std::mem::take(value).cast_to(&DataType::Boolean, schema)?;
            is_changed = true;
        }
    }
    Ok(Transformed::new_transformed(expr, is_changed))
}
