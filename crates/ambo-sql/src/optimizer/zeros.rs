//! 0.0 and -0.0 are one value.
//!
//! They are equal, and one group, but aggregates with DISTINCT and windows tell them apart. `x + 0.0` is the same for both.

use datafusion::{
    common::{
        DFSchema, Result,
        config::ConfigOptions,
        tree_node::{Transformed, TreeNode},
    },
    logical_expr::{Expr, ExprSchemable, LogicalPlan, lit},
    optimizer::AnalyzerRule,
};

use super::expressions::changed;

#[derive(Debug)]
pub(super) struct Zeros;

impl AnalyzerRule for Zeros {
    fn name(&self) -> &str {
        "zeros"
    }

    fn analyze(&self, plan: LogicalPlan, _: &ConfigOptions) -> Result<LogicalPlan> {
        let has_keys = |expr: &Expr| matches!(expr, Expr::AggregateFunction(_) | Expr::WindowFunction(_));
        changed(plan, has_keys, |expr, schema, _| expr.transform_up(|expr| with_one_zero(expr, schema)))
    }
}

fn with_one_zero(expr: Expr, schema: &DFSchema) -> Result<Transformed<Expr>> {
    Ok(match expr {
        Expr::AggregateFunction(mut function) if function.params.distinct => {
            let is_changed = function.params.args.iter_mut().fold(false, |is, arg| unify(arg, schema) | is);
            Transformed::new_transformed(Expr::AggregateFunction(function), is_changed)
        }
        Expr::WindowFunction(mut function) => {
            let params = &mut function.params;
            let sorts = params.order_by.iter_mut().map(|sort| &mut sort.expr);
            let keys = params.partition_by.iter_mut().chain(sorts);
            let is_changed = keys.fold(false, |is, key| unify(key, schema) | is);
            Transformed::new_transformed(Expr::WindowFunction(function), is_changed)
        }
        expr => Transformed::no(expr),
    })
}

/// Makes both zeros one; whether the expression is one that has two.
fn unify(expr: &mut Expr, schema: &DFSchema) -> bool {
    let has_two = expr.get_type(schema).is_ok_and(|data_type| data_type.is_floating());
    if has_two {
        *expr = std::mem::take(expr) + lit(0.0);
    }
    has_two
}
