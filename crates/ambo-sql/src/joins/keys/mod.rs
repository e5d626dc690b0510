//! What the first side of a hash join found is asked of the other side's scans: of encoded blocks, before anything is decoded.
//!
//! The planner (DataFusion 55) has a filter of its own for that, which asks the join's hash table about each row: 20 to 45 of 100 of the
//! time of queries with large joins. So an operator above the first side collects its keys as they pass ([`tap`]), and the scans on the
//! other side, which the planner has given its filter, ask for bits instead ([`ambo::KeySet`]). Each key of a join of several has a set of
//! its own. Keys that are no integers, or lie too far apart, are left to the planner's filter, which goes on to be there; the join asks its
//! table in any case, so a set may have more keys than there are, never fewer.
//!
//! (Sideways information passing: Beeri, Ramakrishnan, PODS 1987; Shrinivas et al., Materialization strategies in the Vertica analytic
//! database, ICDE 2013.)

mod found;
mod tap;

use std::sync::Arc;

use datafusion::{
    common::{
        NullEquality, Result,
        config::ConfigOptions,
        tree_node::{Transformed, TreeNode},
    },
    physical_expr::PhysicalExpr,
    physical_optimizer::PhysicalOptimizerRule,
    physical_plan::{
        ExecutionPlan, ExecutionPlanProperties,
        execution_plan::{ChildrenPropertiesMode, ReplaceChildrenOptions},
        joins::HashJoinExec,
    },
};

pub(crate) use found::FoundKeys;
use found::is_taken;
use tap::KeyTap;

use crate::table::TableScanExec;

/// See the module. To be run when filters have gone down, and no operator is moved any more.
#[derive(Debug)]
pub(crate) struct JoinKeys;

impl PhysicalOptimizerRule for JoinKeys {
    fn optimize(&self, plan: Arc<dyn ExecutionPlan>, _: &ConfigOptions) -> Result<Arc<dyn ExecutionPlan>> {
        let tap = |plan: Arc<dyn ExecutionPlan>| {
            let join = plan.downcast_ref::<HashJoinExec>();
            Ok(match join.map(tapped).transpose()?.flatten() {
                Some(children) => {
                    let options = ReplaceChildrenOptions::new(ChildrenPropertiesMode::Recompute);
                    Transformed::yes(plan.replace_children(children, options)?)
                }
                None => Transformed::no(plan),
            })
        };
        Ok(plan.transform_up(tap)?.data)
    }

    fn name(&self) -> &str {
        "JoinKeys"
    }

    fn schema_check(&self) -> bool {
        true
    }
}

/// The sides of a join, of which the first collects keys that scans of the other ask for; `None` where there are none to ask.
fn tapped(join: &HashJoinExec) -> Result<Option<Vec<Arc<dyn ExecutionPlan>>>> {
    let produced = join.dynamic_expressions_produced();
    let [filter] = &produced[..] else { return Ok(None) };
    let Some(filter_id) = filter.expression_id() else { return Ok(None) };
    // NULL that is to find NULL, or that decides about all rows, is in no set.
    if join.null_equality() != NullEquality::NullEqualsNothing || join.null_aware {
        return Ok(None);
    }
    // The filter is of the join's keys, in their order.
    let asked = filter.children();
    if asked.len() != join.on().len() || !asked.iter().zip(join.on()).all(|(asked, (_, key))| *asked == key) {
        return Ok(None);
    }
    let (left, right) = (join.left(), join.right());
    let mut types = Vec::with_capacity(join.on().len());
    for (one, other) in join.on() {
        let ty = one.data_type(&left.schema())?;
        if ty != other.data_type(&right.schema())? {
            return Ok(None);
        }
        types.push(ty);
    }
    if !types.iter().any(is_taken) {
        return Ok(None);
    }
    let found = Arc::new(FoundKeys::new(&types, left.output_partitioning().partition_count()));
    let asking = right.clone().transform_down(|plan| {
        let scan = plan.downcast_ref::<TableScanExec>();
        Ok(match scan.and_then(|scan| scan.asking_for(filter_id, &found)) {
            Some(asking) => Transformed::yes(Arc::new(asking) as Arc<dyn ExecutionPlan>),
            None => Transformed::no(plan),
        })
    })?;
    if !asking.transformed {
        return Ok(None);
    }
    let keys: Vec<Arc<dyn PhysicalExpr>> = join.on().iter().map(|(key, _)| key.clone()).collect();
    Ok(Some(vec![Arc::new(KeyTap::new(left.clone(), keys, found)), asking.data]))
}
