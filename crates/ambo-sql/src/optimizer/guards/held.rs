//! Terms that can fail stay above joins that leave rows out.
//!
//! The planner's rule takes each term of a condition to the side of a join that has its columns, and gives the other side what follows from
//! equal columns. A term that can fail for a row is not shown to it: it stays above the join, or among the conditions that a pair of rows
//! must obey.

use datafusion::{
    common::{JoinType, Result, tree_node::Transformed},
    logical_expr::{
        BinaryExpr, Expr, Filter, Join, LogicalPlan, Operator,
        utils::{conjunction, split_conjunction_owned},
    },
    optimizer::{ApplyOrder, OptimizerConfig, OptimizerRule},
};

use super::failing::may_fail;
use crate::optimizer::Rule;

/// The rule that takes filters down, over plans without such terms.
#[derive(Debug)]
pub(in crate::optimizer) struct WithHeldFilters(pub Rule);

impl OptimizerRule for WithHeldFilters {
    fn name(&self) -> &str {
        self.0.name()
    }

    fn apply_order(&self) -> Option<ApplyOrder> {
        self.0.apply_order()
    }

    fn rewrite(&self, plan: LogicalPlan, config: &dyn OptimizerConfig) -> Result<Transformed<LogicalPlan>> {
        match plan {
            LogicalPlan::Filter(filter) if matches!(&*filter.input, LogicalPlan::Join(_)) => {
                self.filter(filter, config)
            }
            LogicalPlan::Join(join) => self.join(join, config),
            plan => self.0.rewrite(plan, config),
        }
    }
}

impl WithHeldFilters {
    fn filter(&self, filter: Filter, config: &dyn OptimizerConfig) -> Result<Transformed<LogicalPlan>> {
        let LogicalPlan::Join(join) = &*filter.input else {
            return self.0.rewrite(LogicalPlan::Filter(filter), config);
        };
        let terms = split_conjunction_owned(filter.predicate.clone());
        let (held, others): (Vec<_>, Vec<_>) =
            terms.into_iter().partition(|term| is_held(term, join) && !is_of_kept_side(term, join));
        if held.is_empty() {
            return self.0.rewrite(LogicalPlan::Filter(filter), config);
        }
        let Some(others) = conjunction(others) else {
            return Ok(Transformed::no(LogicalPlan::Filter(filter)));
        };
        let below = LogicalPlan::Filter(Filter::try_new(others, filter.input.clone())?);
        self.0.rewrite(below, config)?.map_data(|below| above(held, below))
    }

    /// Conditions of a join are about pairs of its rows.
    fn join(&self, mut join: Join, config: &dyn OptimizerConfig) -> Result<Transformed<LogicalPlan>> {
        let terms = join.filter.clone().map_or_else(Vec::new, split_conjunction_owned);
        let (held, others): (Vec<_>, Vec<_>) = terms.into_iter().partition(|term| is_held(term, &join));
        if held.is_empty() {
            return self.0.rewrite(LogicalPlan::Join(join), config);
        }
        join.filter = conjunction(others);
        self.0.rewrite(LogicalPlan::Join(join), config)?.map_data(|plan| match plan {
            LogicalPlan::Join(mut join) => {
                join.filter = conjunction(join.filter.into_iter().chain(held));
                Ok(LogicalPlan::Join(join))
            }
            plan => above(held, plan),
        })
    }
}

fn above(terms: Vec<Expr>, plan: LogicalPlan) -> Result<LogicalPlan> {
    Ok(match conjunction(terms) {
        Some(terms) => LogicalPlan::Filter(Filter::try_new(terms, plan.into())?),
        None => plan,
    })
}

/// Whether a term of the conditions of a join, or above it, must not go below.
fn is_held(term: &Expr, join: &Join) -> bool {
    let columns =
        |plan: &LogicalPlan| term.column_refs().iter().any(|column| plan.schema().has_column(column));
    let (of_left, of_right) = (columns(&join.left), columns(&join.right));
    let Ok(schema) = join.left.schema().join(join.right.schema()) else { return false };
    // Of OR the rule makes conditions for each side.
    let is_either = matches!(term, Expr::BinaryExpr(BinaryExpr { op: Operator::Or, .. }));
    may_fail(term, &schema)
        && !compares_relations(term)
        && (!(of_left && of_right) || is_either || join.join_type != JoinType::Inner)
}

/// Whether a term above a join is of columns of a side all of whose rows are in the result.
fn is_of_kept_side(term: &Expr, join: &Join) -> bool {
    let is_of = |plan: &LogicalPlan| term.column_refs().iter().all(|column| plan.schema().has_column(column));
    match join.join_type {
        JoinType::Left | JoinType::LeftMark => is_of(&join.left),
        JoinType::Right | JoinType::RightMark => is_of(&join.right),
        _ => false,
    }
}

/// Whether it is an equality of something of one relation with something of another, by which they may be joined.
fn compares_relations(term: &Expr) -> bool {
    let Expr::BinaryExpr(BinaryExpr { left, op: Operator::Eq, right }) = term else { return false };
    let relations = |expr: &Expr| {
        let columns = expr.column_refs();
        columns.into_iter().map(|column| column.relation.clone()).collect::<Vec<_>>()
    };
    let (left, right) = (relations(left), relations(right));
    !left.is_empty() && !right.is_empty() && !left.iter().any(|relation| right.contains(relation))
}
