//! A struct has no two fields of one name.
//!
//! The planner makes it, and takes the first for both: `{'a': 1, 'a': 2}['a']` is 1.

use std::collections::HashSet;

use datafusion::{
    common::{
        Result, plan_err,
        tree_node::{Transformed, TreeNode, TreeNodeRecursion},
    },
    logical_expr::{Expr, expr::ScalarFunction},
};

use super::expressions::ExpressionRule;

pub(super) const STRUCT_FIELDS: ExpressionRule = ExpressionRule {
    name: "struct_fields",
    wanted: |expr| matches!(expr, Expr::ScalarFunction(function) if makes_struct(function)),
    change: |expr, _, _| {
        expr.apply(|expr| {
            refuse(expr)?;
            Ok(TreeNodeRecursion::Continue)
        })?;
        Ok(Transformed::no(expr))
    },
};

fn makes_struct(function: &ScalarFunction) -> bool {
    function.name() == "named_struct"
}

fn refuse(expr: &Expr) -> Result<()> {
    let Expr::ScalarFunction(function) = expr else { return Ok(()) };
    if !makes_struct(function) {
        return Ok(());
    }
    let mut seen = HashSet::new();
    for name in function.args.iter().step_by(2) {
        if let Expr::Literal(name, _) = name
            && let Some(name) = name.try_as_str().flatten()
            && !seen.insert(name)
        {
            return plan_err!("a struct has two fields \"{name}\"");
        }
    }
    Ok(())
}
