//! In which order inner joins are done, by what is known of their tables.
//!
//! The planner joins tables in the order of the statement. This rule looks for the order with the least work: of all orders in which one
//! relation after the other is joined, by dynamic programming over sets of relations (Selinger et al.: Access path selection in a
//! relational database management system, SIGMOD 1979), and greedily where there are too many. Of each join the side with fewer rows comes
//! first: that is the one that the planner puts into the hash table unless it knows better, and it knows nothing of joins by text.

use std::collections::HashMap;

use datafusion::{
    common::{
        Result,
        tree_node::{Transformed, TreeNodeRecursion},
    },
    logical_expr::{Expr, LogicalPlan, LogicalPlanBuilder},
    optimizer::{ApplyOrder, OptimizerConfig, OptimizerRule},
};

use super::{estimate::Estimates, graph::JoinGraph};

/// With more relations the order is found greedily.
const EXACT_MAX: usize = 10;
/// What a row in a hash table costs, in rows that are looked up in it.
const BUILD_COST: f64 = 3.0;

/// See the module.
#[derive(Debug)]
pub(crate) struct JoinOrder;

impl OptimizerRule for JoinOrder {
    fn name(&self) -> &str {
        "join_order"
    }

    fn apply_order(&self) -> Option<ApplyOrder> {
        None
    }

    fn rewrite(&self, plan: LogicalPlan, _: &dyn OptimizerConfig) -> Result<Transformed<LogicalPlan>> {
        reordered(plan)
    }
}

fn reordered(plan: LogicalPlan) -> Result<Transformed<LogicalPlan>> {
    plan.transform_down_with_subqueries(|plan| {
        let LogicalPlan::Join(join) = &plan else { return Ok(Transformed::no(plan)) };
        let Some(mut graph) = JoinGraph::new(join) else { return Ok(Transformed::no(plan)) };
        let mut changed = false;
        for relation in &mut graph.relations {
            let below = reordered(std::mem::take(relation))?;
            changed |= below.transformed;
            *relation = below.data;
        }
        let order = best_order(&graph);
        let ordered = graph.in_order(&order)?;
        if !changed && ordered == plan {
            return Ok(Transformed::new(plan, false, TreeNodeRecursion::Jump));
        }
        let columns = plan.schema().columns().into_iter().map(Expr::Column);
        let ordered = LogicalPlanBuilder::from(ordered).project(columns)?.build()?;
        Ok(Transformed::new(ordered, true, TreeNodeRecursion::Jump))
    })
}

/// A relation that is joined with those before it.
#[derive(Clone, Copy, Debug)]
pub(super) struct Turn {
    pub relation: usize,
    /// Whether it has fewer rows than those before it together.
    pub is_smaller: bool,
}

/// The rows of joins of some relations, and what they cost.
#[derive(Clone, Debug)]
struct Joined {
    relations: u64,
    order: Vec<Turn>,
    rows: f64,
    cost: f64,
}

fn best_order(graph: &JoinGraph) -> Vec<Turn> {
    let mut chooser = Chooser { graph, estimates: Estimates::new(&graph.relations) };
    match graph.relations.len() <= EXACT_MAX {
        true => chooser.exact(),
        false => chooser.greedy(),
    }
}

struct Chooser<'g> {
    graph: &'g JoinGraph,
    estimates: Estimates<'g>,
}

impl Chooser<'_> {
    fn single(&self, relation: usize) -> Joined {
        let rows = self.estimates.rows(relation);
        Joined {
            relations: 1 << relation,
            order: vec![Turn { relation, is_smaller: false }],
            rows,
            cost: 0.0,
        }
    }

    /// The join of what is joined with one more; `None` without a common column, unless `by_force`.
    fn with(&mut self, joined: &Joined, next: usize, by_force: bool) -> Option<Joined> {
        let mut keys = self.graph.keys(joined.relations, next).peekable();
        if keys.peek().is_none() && !by_force {
            return None;
        }
        let other = self.estimates.rows(next);
        let mut rows = joined.rows * other;
        // Several keys are seldom independent of each other: the strongest counts in full, each other one by its root.
        let mut shares: Vec<f64> = Vec::new();
        for (left, right) in keys {
            let left = self.estimates.distinct(joined.relations, left);
            let right = self.estimates.distinct(1 << next, right);
            shares.push(1.0 / left.max(right).max(1.0));
        }
        shares.sort_by(f64::total_cmp);
        for (place, share) in shares.into_iter().enumerate() {
            rows *= if place == 0 { share } else { share.sqrt() };
        }
        let rows = rows.max(1.0);
        let (build, probe) = (joined.rows.min(other), joined.rows.max(other));
        let cost = joined.cost + BUILD_COST * build + probe + rows;
        let mut order = joined.order.clone();
        order.push(Turn { relation: next, is_smaller: other < joined.rows });
        Some(Joined { relations: joined.relations | 1 << next, order, rows, cost })
    }

    /// The cheapest of all orders.
    fn exact(&mut self) -> Vec<Turn> {
        let count = self.graph.relations.len();
        let mut best: HashMap<u64, Joined> =
            (0..count).map(|relation| (1 << relation, self.single(relation))).collect();
        let mut layer: Vec<u64> = best.keys().copied().collect();
        for _ in 1..count {
            layer.sort_unstable();
            let mut next_layer = Vec::new();
            for by_force in [false, true] {
                for &set in &layer {
                    for next in (0..count).filter(|next| set >> next & 1 == 0) {
                        let joined = best[&set].clone();
                        let Some(joined) = self.with(&joined, next, by_force) else { continue };
                        let set = joined.relations;
                        match best.get(&set) {
                            Some(other) if other.cost <= joined.cost => {}
                            Some(_) => drop(best.insert(set, joined)),
                            None => {
                                next_layer.push(set);
                                best.insert(set, joined);
                            }
                        }
                    }
                }
                // Without a common column only where there is no other way.
                if !next_layer.is_empty() {
                    break;
                }
            }
            layer = next_layer;
        }
        best.remove(&(u64::MAX >> (64 - count))).expect("all relations are joined").order
    }

    /// From each relation on, the one that makes fewest rows next; of these the cheapest.
    fn greedy(&mut self) -> Vec<Turn> {
        let count = self.graph.relations.len();
        let mut best: Option<Joined> = None;
        for first in 0..count {
            let mut joined = self.single(first);
            while joined.order.len() < count {
                let left: Vec<_> = (0..count).filter(|next| joined.relations >> next & 1 == 0).collect();
                let connected = left.iter().filter_map(|next| self.with(&joined, *next, false));
                let next = connected.min_by(|a, b| a.cost.total_cmp(&b.cost));
                joined = match next {
                    Some(next) => next,
                    None => self.with(&joined, left[0], true).expect("by force"),
                };
            }
            if best.as_ref().is_none_or(|best| joined.cost < best.cost) {
                best = Some(joined);
            }
        }
        best.expect("there are relations").order
    }
}
