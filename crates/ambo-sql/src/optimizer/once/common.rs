//! Aggregations that are equal are computed once, with the windows above them.
//!
//! A common table expression, a view or a subquery that stands in a statement several times is planned for each place: filters go into one
//! and not into another, columns that nobody reads are left out. What is equal behind all that is computed once, and read by all. Only
//! aggregations are looked at: they read all their rows before they have one, so that nobody who asks for a few rows computes more than
//! before; and they have few. So have windows over them, whose rows are sorted.
//!
//! Where each place joins the groups with few rows by columns that are equal, nothing is shared: the keys of these rows go into what each
//! place reads (`joins/keys`), which is less than all together.
//!
//! Equal is what has equal rows: the same expressions, none of them volatile, over the same tables at the same moment. (Zhou, Larson,
//! Freytag, Lehner: Efficient exploitation of similar subexpressions for query processing, SIGMOD 2007.)

use std::{
    collections::HashMap,
    hash::{BuildHasher, BuildHasherDefault, DefaultHasher},
    sync::Arc,
};

use datafusion::{
    common::{
        JoinType, Result,
        tree_node::{Transformed, TreeNode, TreeNodeRecursion},
    },
    logical_expr::{Expr, Extension, LogicalPlan, LogicalPlanBuilder, TableScanBuilder},
};

use super::{Once, is_once, rows::SharedRows};
use crate::{
    joins::{combinations, estimated_rows},
    table,
};

/// Groups are mostly left out that are joined with so many times fewer rows than they have keys.
const NARROW: f64 = 2.0;

/// The plan, in which aggregations that are equal share their rows. To be done when plans are as they will be computed.
pub(super) fn computed_once(plan: LogicalPlan) -> Result<LogicalPlan> {
    let mut found = Found::default();
    plan.apply_with_subqueries(|node| {
        if let Some(whole) = aggregation(node)?
            && is_steady(&whole)?
        {
            found.add(whole)?;
        }
        Ok(TreeNodeRecursion::Continue)
    })?;
    if !found.has_equal() {
        return Ok(plan);
    }
    plan.apply_with_subqueries(|node| {
        if let LogicalPlan::Join(join) = node
            && join.join_type == JoinType::Inner
            && !join.on.is_empty()
        {
            let (left, right): (Vec<_>, Vec<_>) = join.on.iter().cloned().unzip();
            found.narrow(&join.left, &left, &join.right)?;
            found.narrow(&join.right, &right, &join.left)?;
        }
        Ok(TreeNodeRecursion::Continue)
    })?;
    if !found.has_equal() {
        return Ok(plan);
    }
    let shared = plan.transform_down_with_subqueries(|node| {
        let Some(whole) = aggregation(&node)? else { return Ok(Transformed::no(node)) };
        let Some(rows) = found.rows(&whole)? else { return Ok(Transformed::no(node)) };
        let once = Once { name: "equal aggregations".to_owned(), rows, input: whole };
        let once = LogicalPlan::Extension(Extension { node: Arc::new(once) });
        let columns = node.schema().columns();
        let once = match columns.len() == once.schema().fields().len() {
            true => once,
            false => {
                LogicalPlanBuilder::from(once).project(columns.into_iter().map(Expr::Column))?.build()?
            }
        };
        // What is within is computed once with it.
        Ok(Transformed::new(once, true, TreeNodeRecursion::Jump))
    })?;
    Ok(shared.data)
}

/// An aggregation or a window over one, with all columns that it has before some are left out; `None` of another plan.
fn aggregation(node: &LogicalPlan) -> Result<Option<LogicalPlan>> {
    match node {
        LogicalPlan::Aggregate(_) => Ok(Some(node.clone())),
        LogicalPlan::Window(_) if is_of_groups(node) => Ok(Some(node.clone())),
        LogicalPlan::TableScan(scan) if table::is_computed(scan) => {
            let source = scan.source.clone();
            let whole =
                TableScanBuilder::new(scan.table_name.clone(), source).with_filters(scan.filters.clone());
            Ok(Some(LogicalPlan::TableScan(whole.build()?)))
        }
        _ => Ok(None),
    }
}

/// Whether a window has no more rows than an aggregation.
fn is_of_groups(mut plan: &LogicalPlan) -> bool {
    loop {
        plan = match plan {
            LogicalPlan::Window(window) => &window.input,
            LogicalPlan::Projection(_) | LogicalPlan::SubqueryAlias(_) | LogicalPlan::Filter(_) => {
                plan.inputs()[0]
            }
            LogicalPlan::Aggregate(_) => return true,
            LogicalPlan::TableScan(scan) => return table::is_computed(scan),
            _ => return false,
        }
    }
}

/// Aggregations of a plan, by their hashes.
#[derive(Default)]
struct Found(HashMap<u64, Vec<Equal>>);

/// Aggregations that are equal.
struct Equal {
    plan: LogicalPlan,
    count: usize,
    /// How many of them are joined with few rows.
    narrow: usize,
    rows: Arc<SharedRows>,
}

impl Equal {
    fn is_shared(&self) -> bool {
        self.count > 1 && self.narrow < self.count
    }
}

impl Found {
    fn hash(plan: &LogicalPlan) -> u64 {
        BuildHasherDefault::<DefaultHasher>::default().hash_one(plan)
    }

    fn add(&mut self, plan: LogicalPlan) -> Result<()> {
        let alike = self.0.entry(Self::hash(&plan)).or_default();
        for equal in &mut *alike {
            if has_same_rows(&equal.plan, &plan)? {
                equal.count += 1;
                return Ok(());
            }
        }
        alike.push(Equal { plan, count: 1, narrow: 0, rows: Arc::default() });
        Ok(())
    }

    /// Notes that a side of a join by these columns of it, if it is an aggregation, is joined with few rows.
    fn narrow(&mut self, side: &LogicalPlan, keys: &[Expr], other: &LogicalPlan) -> Result<()> {
        let mut below = side;
        while let LogicalPlan::Projection(_) | LogicalPlan::SubqueryAlias(_) | LogicalPlan::Filter(_) = below
        {
            below = below.inputs()[0];
        }
        // Keys do not go below windows.
        if matches!(below, LogicalPlan::Window(_)) {
            return Ok(());
        }
        let Some(whole) = aggregation(below)? else { return Ok(()) };
        if estimated_rows(other) * NARROW > combinations(side, keys) {
            return Ok(());
        }
        for equal in self.0.get_mut(&Self::hash(&whole)).into_iter().flatten() {
            if has_same_rows(&equal.plan, &whole)? {
                equal.narrow += 1;
            }
        }
        Ok(())
    }

    fn has_equal(&self) -> bool {
        self.0.values().flatten().any(Equal::is_shared)
    }

    /// What an aggregation shares with others; none if it is the only one of its kind.
    fn rows(&self, plan: &LogicalPlan) -> Result<Option<Arc<SharedRows>>> {
        for equal in self.0.get(&Self::hash(plan)).into_iter().flatten() {
            if has_same_rows(&equal.plan, plan)? {
                return Ok(equal.is_shared().then(|| equal.rows.clone()));
            }
        }
        Ok(None)
    }
}

/// Whether a plan has the same rows each time it is computed, as far as is known: it reads tables of the database, and nothing in it is
/// volatile, or comes from outside.
fn is_steady(plan: &LogicalPlan) -> Result<bool> {
    let mut is_steady = true;
    plan.apply_with_subqueries(|node| {
        is_steady &= match node {
            LogicalPlan::TableScan(scan) => table::rows_identity(scan).is_some(),
            LogicalPlan::Extension(_) => is_once(node),
            LogicalPlan::RecursiveQuery(_) => false,
            _ => true,
        };
        node.apply_expressions(|expr| {
            is_steady &= !expr.exists(|expr| {
                Ok(expr.is_volatile_node()
                    || matches!(expr, Expr::OuterReferenceColumn(..) | Expr::Placeholder(_)))
            })?;
            Ok(TreeNodeRecursion::Continue)
        })?;
        Ok(if is_steady { TreeNodeRecursion::Continue } else { TreeNodeRecursion::Stop })
    })?;
    Ok(is_steady)
}

/// Whether two plans have the same rows: they are equal, and what they read is the same. The planner takes scans for equal that have the
/// name of the table in common.
fn has_same_rows(one: &LogicalPlan, other: &LogicalPlan) -> Result<bool> {
    Ok(one == other && sources(one)? == sources(other)?)
}

/// What a plan reads, in the order of its nodes.
fn sources(plan: &LogicalPlan) -> Result<Vec<Option<String>>> {
    let mut sources = Vec::new();
    plan.apply_with_subqueries(|node| {
        if let LogicalPlan::TableScan(scan) = node {
            sources.push(table::rows_identity(scan));
        }
        Ok(TreeNodeRecursion::Continue)
    })?;
    Ok(sources)
}
