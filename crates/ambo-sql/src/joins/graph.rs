//! Inner joins below one another as a graph: relations, and what connects them.

use datafusion::{
    common::{Column, JoinType, NullEquality, Result, tree_node::TreeNode},
    logical_expr::{
        BinaryExpr, Expr, Join, LogicalPlan, LogicalPlanBuilder, Operator, utils::split_conjunction_owned,
    },
};

use super::order::Turn;
use crate::optimizer::may_fail;

/// Relations and the conditions between them. A set of relations is a word: bit `i` is relation `i`.
pub(super) struct JoinGraph {
    pub relations: Vec<LogicalPlan>,
    /// Columns that are equal in all rows of the join, each with its relation; no relation has two in one class.
    pub classes: Vec<Vec<(usize, Column)>>,
    /// The other conditions.
    filters: Vec<Condition>,
}

struct Condition {
    expr: Expr,
    /// The relations that it is about.
    relations: u64,
    /// Whether it may fail for rows that the joins leave out.
    may_fail: bool,
}

/// How many relations a word has bits for.
const RELATIONS_MAX: usize = 64;

impl JoinGraph {
    /// The graph below a join; `None` if there are fewer than three relations, or conditions that the graph does not hold.
    pub(super) fn new(join: &Join) -> Option<Self> {
        let mut parts = Parts::default();
        parts.add_join(join).then_some(())?;
        if !(3..=RELATIONS_MAX).contains(&parts.relations.len()) {
            return None;
        }
        let mut graph = Self { relations: parts.relations, classes: Vec::new(), filters: Vec::new() };
        for (left, right) in parts.equal {
            match (graph.column(&left), graph.column(&right)) {
                (Some(left), Some(right)) if left.0 != right.0 => graph.unite(left, right),
                _ => graph.add_filter(left.eq(right))?,
            }
        }
        for filter in parts.filters {
            graph.add_filter(filter)?;
        }
        for filter in &mut graph.filters {
            filter.may_fail = may_fail(&filter.expr, &join.schema);
        }
        let is_twice = |class: &Vec<(usize, Column)>| {
            class.iter().enumerate().any(|(at, (of, _))| class[..at].iter().any(|(other, _)| other == of))
        };
        (!graph.classes.iter().any(is_twice)).then_some(graph)
    }

    fn relation_of(&self, column: &Column) -> Option<usize> {
        let mut having =
            (0..self.relations.len()).filter(|of| self.relations[*of].schema().has_column(column));
        // A column that two might have is nobody's.
        having.next().filter(|_| having.next().is_none())
    }

    fn column(&self, expr: &Expr) -> Option<(usize, Column)> {
        let Expr::Column(column) = expr else { return None };
        Some((self.relation_of(column)?, column.clone()))
    }

    fn unite(&mut self, left: (usize, Column), right: (usize, Column)) {
        let (has, mut classes): (Vec<_>, Vec<_>) =
            self.classes.drain(..).partition(|class| class.contains(&left) || class.contains(&right));
        let mut class = has.concat();
        for member in [left, right] {
            if !class.contains(&member) {
                class.push(member);
            }
        }
        classes.push(class);
        self.classes = classes;
    }

    fn add_filter(&mut self, filter: Expr) -> Option<()> {
        if filter
            .exists(|expr| Ok(is_subquery(expr) || matches!(expr, Expr::OuterReferenceColumn(..))))
            .ok()?
        {
            return None;
        }
        let relations = filter.column_refs().into_iter().map(|column| self.relation_of(column));
        let relations = relations.collect::<Option<Vec<_>>>()?;
        let relations = relations.iter().fold(0, |set, relation| set | 1 << relation);
        self.filters.push(Condition { expr: filter, relations, may_fail: false });
        Some(())
    }

    /// Pairs of equal columns between relations that are joined and another.
    pub(super) fn keys(&self, joined: u64, next: usize) -> impl Iterator<Item = (&Column, &Column)> {
        self.classes.iter().filter_map(move |class| {
            let own = class.iter().find(|(of, _)| *of == next)?;
            let other = class.iter().find(|(of, _)| joined >> of & 1 != 0)?;
            Some((&other.1, &own.1))
        })
    }

    /// The relations joined in this order, one after the other, the smaller side first.
    pub(super) fn in_order(mut self, order: &[Turn]) -> Result<LogicalPlan> {
        let first = order[0].relation;
        let mut plan = self.relations[first].clone();
        let mut joined = 1u64 << first;
        for &Turn { relation: next, is_smaller } in &order[1..] {
            let (left, right): (Vec<_>, Vec<_>) =
                self.keys(joined, next).map(|(left, right)| (left.clone(), right.clone())).unzip();
            let with = joined | 1 << next;
            let is_last = with == u64::MAX >> (64 - self.relations.len());
            let (due, later): (Vec<_>, Vec<_>) =
                std::mem::take(&mut self.filters).into_iter().partition(|filter| {
                    filter.relations & !with == 0 && (is_last || left.is_empty() || !filter.may_fail)
                });
            self.filters = later;
            let filter = due.into_iter().map(|filter| filter.expr).reduce(Expr::and);
            let mut sides = [(plan, left), (self.relations[next].clone(), right)];
            if is_smaller {
                sides.reverse();
            }
            let [(left_plan, left), (right_plan, right)] = sides;
            plan = LogicalPlanBuilder::from(left_plan)
                .join_with_expr_keys(right_plan, JoinType::Inner, (left, right), filter)?
                .build()?;
            joined = with;
        }
        Ok(plan)
    }
}

pub(crate) fn is_subquery(expr: &Expr) -> bool {
    matches!(expr, Expr::ScalarSubquery(_) | Expr::InSubquery(_) | Expr::Exists(_) | Expr::SetComparison(_))
}

#[derive(Default)]
struct Parts {
    relations: Vec<LogicalPlan>,
    equal: Vec<(Expr, Expr)>,
    filters: Vec<Expr>,
}

impl Parts {
    /// Returns false for a join whose conditions cannot be moved.
    fn add_join(&mut self, join: &Join) -> bool {
        if !is_inner(join) {
            return false;
        }
        for side in [&join.left, &join.right] {
            match &**side {
                LogicalPlan::Join(below) if is_inner(below) => {
                    if !self.add_join(below) {
                        return false;
                    }
                }
                other => self.relations.push(other.clone()),
            }
        }
        self.equal.extend(join.on.iter().cloned());
        for filter in join.filter.clone().into_iter().flat_map(split_conjunction_owned) {
            match filter {
                Expr::BinaryExpr(BinaryExpr { left, op: Operator::Eq, right }) => {
                    self.equal.push((*left, *right));
                }
                filter => self.filters.push(filter),
            }
        }
        true
    }
}

fn is_inner(join: &Join) -> bool {
    join.join_type == JoinType::Inner
        && join.null_equality == NullEquality::NullEqualsNothing
        && !join.null_aware
}
