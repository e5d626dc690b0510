//! Queries that are computed once for all that read them.
//!
//! The planner (DataFusion 55) computes the query of a common table expression for each mention. Where its rows would be others each time
//! (see `planner/once.rs`), the query has an alias that begins with [`ONCE`]: those of one alias become nodes that share their rows.
//! Nothing is pushed down into them, so that all of them are made of the same rows. So are rows of which subqueries have values from
//! outside (`subquery/domain.rs`). Aggregations that are equal when plans are optimized are computed once, too ([`common`]).

mod common;
mod exec;
mod planning;
mod rows;

use std::{
    cmp::Ordering,
    collections::HashMap,
    fmt,
    hash::{Hash, Hasher},
    sync::Arc,
};

use datafusion::{
    common::{
        DFSchemaRef, Result,
        config::ConfigOptions,
        tree_node::{Transformed, TreeNodeRecursion},
    },
    logical_expr::{Expr, Extension, LogicalPlan, UserDefinedLogicalNodeCore},
    optimizer::AnalyzerRule,
};

pub(crate) use planning::QueryPlanner;
use rows::SharedRows;

/// Begins the aliases of such queries.
pub(crate) const ONCE: &str = "\u{1}once ";

/// See the module. To be run when plans are as they will be computed.
#[derive(Debug)]
pub(super) struct ComputedOnce;

impl AnalyzerRule for ComputedOnce {
    fn name(&self) -> &str {
        "computed_once"
    }

    fn analyze(&self, plan: LogicalPlan, _: &ConfigOptions) -> Result<LogicalPlan> {
        if !has_once(&plan)? {
            return Ok(plan);
        }
        // By columns, too: where those from outside were added, the rows are others.
        let mut shared: HashMap<(String, DFSchemaRef), Arc<SharedRows>> = HashMap::new();
        Ok(plan
            .transform_up_with_subqueries(|node| {
                let Some(alias) = alias(&node) else { return Ok(Transformed::no(node)) };
                let name = alias.trim_start_matches(ONCE).to_owned();
                let rows = shared.entry((name.clone(), node.schema().clone())).or_default().clone();
                let once = Once { name, rows, input: node };
                Ok(Transformed::yes(LogicalPlan::Extension(Extension { node: Arc::new(once) })))
            })?
            .data)
    }
}

/// Whether there is such a query in a plan.
pub(crate) fn has_once(plan: &LogicalPlan) -> Result<bool> {
    let mut is_there = false;
    plan.apply_with_subqueries(|node| {
        is_there = alias(node).is_some();
        Ok(if is_there { TreeNodeRecursion::Stop } else { TreeNodeRecursion::Continue })
    })?;
    Ok(is_there)
}

fn alias(node: &LogicalPlan) -> Option<&str> {
    match node {
        LogicalPlan::SubqueryAlias(of) if of.alias.table().starts_with(ONCE) => Some(of.alias.table()),
        _ => None,
    }
}

/// A plan whose rows are computed once, whoever reads it and its copies.
pub(super) fn once(plan: LogicalPlan) -> LogicalPlan {
    let once = Once { name: "rows".to_owned(), rows: Arc::default(), input: plan };
    LogicalPlan::Extension(Extension { node: Arc::new(once) })
}

/// Whether it is such a plan.
pub(super) fn is_once(plan: &LogicalPlan) -> bool {
    matches!(plan, LogicalPlan::Extension(extension) if extension.node.as_any().is::<Once>())
}

/// A query whose rows are shared.
#[derive(Debug)]
struct Once {
    name: String,
    rows: Arc<SharedRows>,
    input: LogicalPlan,
}

impl PartialEq for Once {
    fn eq(&self, other: &Self) -> bool {
        self.name == other.name && Arc::ptr_eq(&self.rows, &other.rows) && self.input == other.input
    }
}

impl Eq for Once {}

impl PartialOrd for Once {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        (self == other).then_some(Ordering::Equal)
    }
}

impl Hash for Once {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.name.hash(state);
        self.input.hash(state);
    }
}

impl UserDefinedLogicalNodeCore for Once {
    fn name(&self) -> &str {
        "Once"
    }

    fn inputs(&self) -> Vec<&LogicalPlan> {
        vec![&self.input]
    }

    fn schema(&self) -> &DFSchemaRef {
        self.input.schema()
    }

    fn expressions(&self) -> Vec<Expr> {
        Vec::new()
    }

    fn fmt_for_explain(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Once: {}", self.name)
    }

    fn with_exprs_and_inputs(&self, _: Vec<Expr>, mut inputs: Vec<LogicalPlan>) -> Result<Self> {
        Ok(Self { name: self.name.clone(), rows: self.rows.clone(), input: inputs.swap_remove(0) })
    }
}
