//! Filters in two steps: what cannot fail, and of the rows that are left what can.

use std::sync::{Arc, LazyLock};

use datafusion::{
    common::{
        Result,
        config::ConfigOptions,
        tree_node::{Transformed, TreeNode},
    },
    logical_expr::{Expr, ScalarUDF},
    physical_expr::{PhysicalExpr, ScalarFunctionExpr, conjunction, split_conjunction},
    physical_optimizer::PhysicalOptimizerRule,
    physical_plan::{
        ExecutionPlan,
        filter::{FilterExec, FilterExecBuilder},
    },
};

use crate::identity::{fixed, identity};

const LAST: &str = "asked last";
const LAST_HERE: &str = "asked last here";

/// A term of a filter that is asked of rows that all others leave; one that `is_fixed` stays where it is.
pub(super) fn marked(term: Expr, is_fixed: bool) -> Expr {
    static MARKS: LazyLock<[Arc<ScalarUDF>; 2]> =
        LazyLock::new(|| [Arc::new(identity(LAST, 1, true)), Arc::new(fixed(LAST_HERE))]);
    MARKS[usize::from(is_fixed)].call(vec![term])
}

fn mark(expr: &Arc<dyn PhysicalExpr>) -> Option<&ScalarFunctionExpr> {
    let function = expr.downcast_ref::<ScalarFunctionExpr>()?;
    matches!(function.fun().name(), LAST | LAST_HERE).then_some(function)
}

/// Whether a term is to be asked behind all others.
pub(crate) fn is_last(term: &Arc<dyn PhysicalExpr>) -> bool {
    mark(term).is_some()
}

/// The term that is to be asked.
pub(crate) fn without_mark(term: &Arc<dyn PhysicalExpr>) -> Arc<dyn PhysicalExpr> {
    mark(term).map_or_else(|| term.clone(), |mark| mark.args()[0].clone())
}

/// See the module. To be run when filters are where they stay.
#[derive(Debug)]
pub(in crate::optimizer) struct FilterSteps;

impl PhysicalOptimizerRule for FilterSteps {
    fn optimize(&self, plan: Arc<dyn ExecutionPlan>, _: &ConfigOptions) -> Result<Arc<dyn ExecutionPlan>> {
        Ok(plan.transform_up(in_steps)?.data)
    }

    fn name(&self) -> &str {
        "filter_steps"
    }

    fn schema_check(&self) -> bool {
        true
    }
}

fn in_steps(plan: Arc<dyn ExecutionPlan>) -> Result<Transformed<Arc<dyn ExecutionPlan>>> {
    let Some(filter) = plan.downcast_ref::<FilterExec>() else { return Ok(Transformed::no(plan)) };
    let terms = split_conjunction(filter.predicate()).into_iter().cloned();
    let (last, first): (Vec<_>, Vec<_>) = terms.partition(is_last);
    if last.is_empty() {
        return Ok(Transformed::no(plan));
    }
    let mut input = filter.input().clone();
    if !first.is_empty() {
        input = Arc::new(FilterExecBuilder::new(conjunction(first), input).build()?);
    }
    let last = conjunction(last.iter().map(without_mark));
    let last = FilterExecBuilder::from(filter).with_input(input).with_predicate(last).build()?;
    Ok(Transformed::yes(Arc::new(last)))
}
