//! Constants that have no place in a type are errors where a row needs them.
//!
//! The planner computes what is constant. Operations that fail are left for the rows, but not casts of literals: `CASE WHEN x > 5 THEN
//! CAST('a' AS INT) END` fails whatever x is. So its rule is not shown those.

use std::sync::{Arc, LazyLock};

use datafusion::{
    common::{
        Result,
        tree_node::{Transformed, TreeNode},
    },
    logical_expr::{Expr, LogicalPlan, ScalarUDF, expr::Cast},
    optimizer::{ApplyOrder, OptimizerConfig, OptimizerRule},
};

use crate::{
    identity::fixed,
    optimizer::{Rule, map_named},
};

/// The rule that computes what is constant.
#[derive(Debug)]
pub(in crate::optimizer) struct WithWrongLiterals(pub Rule);

impl OptimizerRule for WithWrongLiterals {
    fn name(&self) -> &str {
        self.0.name()
    }

    fn apply_order(&self) -> Option<ApplyOrder> {
        self.0.apply_order()
    }

    fn rewrite(&self, plan: LogicalPlan, config: &dyn OptimizerConfig) -> Result<Transformed<LogicalPlan>> {
        let mut has_casts = false;
        plan.apply_expressions(|expr| {
            has_casts |= expr.exists(|expr| Ok(matches!(expr, Expr::Cast(_))))?;
            Ok(datafusion::common::tree_node::TreeNodeRecursion::Continue)
        })?;
        if !has_casts {
            return self.0.rewrite(plan, config);
        }
        let before = hidden(plan)?;
        // Constants that are computed may be wrong, too: the plan is left as it is then.
        match self.0.rewrite(before.data.clone(), config) {
            Ok(after) => Ok(Transformed { transformed: after.transformed || before.transformed, ..after }),
            Err(_) => Ok(before),
        }
    }
}

fn hidden(plan: LogicalPlan) -> Result<Transformed<LogicalPlan>> {
    static HIDDEN: LazyLock<Arc<ScalarUDF>> = LazyLock::new(|| Arc::new(fixed("constant")));
    let hide = |expr: Expr| match expr {
        Expr::Cast(Cast { expr: of, field }) if fails(&of, field.data_type()) => {
            let of = Box::new(HIDDEN.call(vec![*of]));
            Ok(Transformed::yes(Expr::Cast(Cast { expr: of, field })))
        }
        expr => Ok(Transformed::no(expr)),
    };
    map_named(plan, has_wrong_literal, |expr| expr.transform_up(hide))
}

fn has_wrong_literal(expr: &Expr) -> Result<bool> {
    expr.exists(|expr| Ok(matches!(expr, Expr::Cast(cast) if fails(&cast.expr, cast.field.data_type()))))
}

fn fails(of: &Expr, to: &arrow::datatypes::DataType) -> bool {
    matches!(of, Expr::Literal(value, _) if value.cast_to(to).is_err())
}
