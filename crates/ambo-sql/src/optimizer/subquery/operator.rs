//! Subqueries in the expressions of an operator.

use std::sync::Arc;

use arrow::datatypes::Field;
use datafusion::{
    common::{
        Column, DFSchema, Result, TableReference, not_impl_err,
        tree_node::{Transformed, TreeNode, TreeNodeRecursion},
    },
    logical_expr::{
        Aggregate, BinaryExpr, Distinct, DistinctOn, Expr, Filter, Join, JoinType, LogicalPlan, Operator,
        Projection, Sort, Window, expr,
        utils::{conjunction, split_conjunction_owned},
    },
};

use super::{
    dependent::each_once,
    has_query,
    names::Names,
    pairs::by_pairs,
    rows::{Place, Rows},
    subquery_of,
};

/// An operator without subqueries that the planner cannot join. Those of its inputs, and within its subqueries, are done.
pub(super) fn unnested(node: LogicalPlan, names: &Names) -> Result<Transformed<LogicalPlan>> {
    if let LogicalPlan::Join(join) = &node
        && let Some((query, alias)) = lateral(join)
    {
        let rows = Rows::new(join.left.as_ref().clone(), names);
        let same = join.on.iter().map(|(left, right)| left.clone().eq(right.clone()));
        let condition = conjunction(same.chain(join.filter.clone()));
        if !matches!(join.join_type, JoinType::Inner | JoinType::Left) {
            return not_impl_err!("{} JOIN LATERAL", join.join_type.to_string().to_uppercase());
        }
        return rows.lateral(query, alias, join.join_type, condition).map(Transformed::yes);
    }
    if !has_queries(&node)? {
        return Ok(Transformed::no(node));
    }
    Ok(Transformed::yes(match node {
        LogicalPlan::Filter(filter) => in_filter(filter, names)?,
        LogicalPlan::Projection(projection) => {
            let schema = projection.schema.clone();
            let mut rows = Rows::new(Arc::unwrap_or_clone(projection.input), names);
            let exprs = replaced(projection.expr, &mut rows, Place::Projection)?;
            named(exprs, rows.plan(), &schema)?
        }
        LogicalPlan::Aggregate(aggregate) => {
            let schema = aggregate.schema.clone();
            let mut rows = Rows::new(Arc::unwrap_or_clone(aggregate.input), names);
            let groups = replaced(each_once(&aggregate.group_expr), &mut rows, Place::Elsewhere)?;
            let values = replaced(aggregate.aggr_expr, &mut rows, Place::Elsewhere)?;
            let grouped = LogicalPlan::Aggregate(Aggregate::try_new(rows.plan().into(), groups, values)?);
            let columns = columns(&grouped, 0..grouped.schema().fields().len());
            named(columns, grouped, &schema)?
        }
        LogicalPlan::Window(window) => {
            let schema = window.schema.clone();
            let mut rows = Rows::new(Arc::unwrap_or_clone(window.input), names);
            let exprs = replaced(window.window_expr, &mut rows, Place::Elsewhere)?;
            let before = rows.columns().count();
            let count = exprs.len();
            let windows = LogicalPlan::Window(Window::try_new(exprs, rows.plan().into())?);
            let all = windows.schema().fields().len();
            let columns = columns(&windows, (0..before).chain(all - count..all));
            named(columns, windows, &schema)?
        }
        LogicalPlan::Sort(sort) => in_sort(sort, names)?,
        LogicalPlan::Distinct(Distinct::On(distinct)) => {
            let mut rows = Rows::new(Arc::unwrap_or_clone(distinct.input), names);
            let on = replaced(distinct.on_expr, &mut rows, Place::Elsewhere)?;
            let select = replaced(distinct.select_expr, &mut rows, Place::Elsewhere)?;
            let sort = distinct.sort_expr.map(|by| sorts(by, &mut rows)).transpose()?;
            let one = DistinctOn::try_new(on, select, sort, rows.plan().into())?;
            let one = LogicalPlan::Distinct(Distinct::On(one));
            let columns = columns(&one, 0..one.schema().fields().len());
            named(columns, one, &distinct.schema)?
        }
        LogicalPlan::Join(join) => in_join(join, names)?,
        node => node,
    }))
}

fn in_sort(sort: Sort, names: &Names) -> Result<LogicalPlan> {
    let shown = columns(&sort.input, 0..sort.input.schema().fields().len());
    let mut rows = Rows::new(with_outer(Arc::unwrap_or_clone(sort.input), &sort.expr)?, names);
    let by = sorts(sort.expr, &mut rows)?;
    let sorted = LogicalPlan::Sort(Sort { expr: by, input: rows.plan().into(), fetch: sort.fetch });
    Ok(LogicalPlan::Projection(Projection::try_new(shown, sorted.into())?))
}

fn sorts(by: Vec<expr::Sort>, rows: &mut Rows<'_>) -> Result<Vec<expr::Sort>> {
    by.into_iter()
        .map(|sort| Ok(expr::Sort { expr: rows.replaced(sort.expr, Place::Elsewhere)?, ..sort }))
        .collect()
}

/// A SELECT with the further columns that queries in its ORDER BY need.
fn with_outer(plan: LogicalPlan, by: &[expr::Sort]) -> Result<LogicalPlan> {
    let LogicalPlan::Projection(projection) = &plan else { return Ok(plan) };
    let mut exprs = projection.expr.clone();
    for reference in by.iter().map(|sort| outer_references(&sort.expr)).collect::<Result<Vec<_>>>()?.concat()
    {
        let Expr::OuterReferenceColumn(_, column) = reference else { continue };
        let wanted = Expr::Column(column.clone());
        if !plan.schema().has_column(&column)
            && projection.input.schema().has_column(&column)
            && !exprs.contains(&wanted)
        {
            exprs.push(wanted);
        }
    }
    Ok(LogicalPlan::Projection(Projection::try_new(exprs, projection.input.clone())?))
}

/// The columns from outside of the queries in an expression.
fn outer_references(expr: &Expr) -> Result<Vec<Expr>> {
    let mut all = Vec::new();
    expr.apply(|expr| {
        all.extend(subquery_of(expr).iter().flat_map(|query| query.outer_ref_columns.clone()));
        Ok(TreeNodeRecursion::Continue)
    })?;
    Ok(all)
}

fn in_filter(filter: Filter, names: &Names) -> Result<LogicalPlan> {
    let mut rows = Rows::new(Arc::unwrap_or_clone(filter.input), names);
    let predicate = rows.replaced(filter.predicate, Place::Filter)?;
    let plan = rows.plan();
    let all = plan.schema().fields().len();
    let filter = LogicalPlan::Filter(Filter::try_new(predicate, plan.into())?);
    match rows.columns().count() == all {
        true => Ok(filter),
        false => Ok(LogicalPlan::Projection(Projection::try_new(rows.columns().collect(), filter.into())?)),
    }
}

/// Conditions of inner joins are asked behind them; those of outer joins are columns of the side that they are about.
pub(super) fn in_join(join: Join, names: &Names) -> Result<LogicalPlan> {
    let parts = join.filter.clone().map(split_conjunction_owned).unwrap_or_default();
    if join.join_type == JoinType::Inner {
        let mut asked = Vec::new();
        let mut kept = Vec::new();
        for part in parts {
            if has_query(&part)? { asked.push(part) } else { kept.push(part) }
        }
        let joined = LogicalPlan::Join(Join { filter: conjunction(kept), ..join });
        return match conjunction(asked) {
            Some(asked) => in_filter(Filter::try_new(asked, joined.into())?, names),
            None => Ok(joined),
        };
    }
    let mut is_about_both = false;
    for part in &parts {
        is_about_both |= asks_both(part, (join.left.schema(), join.right.schema()))?;
    }
    if is_about_both {
        let condition = conjunction(parts).expect("a part is about both sides");
        return by_pairs(join, condition, names);
    }
    let (schema, joined_type) = (join.schema.clone(), join.join_type);
    let mut left = Rows::new(Arc::unwrap_or_clone(join.left), names);
    let mut right = Rows::new(Arc::unwrap_or_clone(join.right), names);
    let mut conditions = Vec::with_capacity(parts.len());
    for part in parts {
        conditions.push(on_sides(part, &mut left, &mut right)?);
    }
    let widths = (left.columns().count(), right.columns().count());
    let (left, right) = (left.plan(), right.plan());
    let before = left.schema().fields().len();
    let joined = LogicalPlan::Join(Join::try_new(
        left.into(),
        right.into(),
        join.on,
        conjunction(conditions),
        join.join_type,
        join.join_constraint,
        join.null_equality,
        join.null_aware,
    )?);
    let columns = match joined_type {
        JoinType::LeftSemi | JoinType::LeftAnti => columns(&joined, 0..widths.0),
        JoinType::RightSemi | JoinType::RightAnti => columns(&joined, 0..widths.1),
        _ => columns(&joined, (0..widths.0).chain(before..before + widths.1)),
    };
    named(columns, joined, &schema)
}

/// Whether there is a subquery that is about both sides of a join.
fn asks_both(part: &Expr, sides: (&DFSchema, &DFSchema)) -> Result<bool> {
    if !has_query(part)? {
        return Ok(false);
    }
    match part {
        Expr::BinaryExpr(BinaryExpr { left, op: Operator::And | Operator::Or, right }) => {
            Ok(asks_both(left, sides)? || asks_both(right, sides)?)
        }
        Expr::Not(inner) => asks_both(inner, sides),
        part => Ok(!is_of(part, sides.0)? && !is_of(part, sides.1)?),
    }
}

/// A condition whose subqueries are columns of the sides that they are about.
fn on_sides(part: Expr, left: &mut Rows<'_>, right: &mut Rows<'_>) -> Result<Expr> {
    if !has_query(&part)? {
        return Ok(part);
    }
    match part {
        Expr::BinaryExpr(BinaryExpr { left: a, op: op @ (Operator::And | Operator::Or), right: b }) => {
            let (a, b) = (on_sides(*a, left, right)?, on_sides(*b, left, right)?);
            Ok(if op == Operator::And { a.and(b) } else { a.or(b) })
        }
        Expr::Not(inner) => Ok(Expr::Not(Box::new(on_sides(*inner, left, right)?))),
        part => {
            // One about both is asked of pairs.
            match is_of(&part, left.plan().schema())? {
                true => left.replaced(part, Place::Elsewhere),
                false => right.replaced(part, Place::Elsewhere),
            }
        }
    }
}

/// Whether all columns of an expression, those of its subqueries from outside among them, are of a schema.
fn is_of(expr: &Expr, schema: &DFSchema) -> Result<bool> {
    let is_here = |reference: &Expr| is_in(reference, schema);
    Ok(expr.column_refs().into_iter().all(|column| schema.has_column(column))
        && outer_references(expr)?.iter().all(is_here))
}

/// The query of a LATERAL, and the name of its rows.
fn lateral(join: &Join) -> Option<(&LogicalPlan, Option<&TableReference>)> {
    let (query, alias) = match join.right.as_ref() {
        LogicalPlan::SubqueryAlias(alias) => (alias.input.as_ref(), Some(&alias.alias)),
        plan => (plan, None),
    };
    match query {
        LogicalPlan::Subquery(query) => Some((query.subquery.as_ref(), alias)),
        // The planner does not see what only queries within it name.
        query => query
            .all_out_ref_exprs()
            .iter()
            .any(|expr| is_in(expr, join.left.schema()))
            .then_some((query, alias)),
    }
}

/// Whether a column from outside is one of a schema.
fn is_in(reference: &Expr, schema: &DFSchema) -> bool {
    matches!(reference, Expr::OuterReferenceColumn(_, column) if schema.has_column(column))
}

pub(super) fn has_queries(node: &LogicalPlan) -> Result<bool> {
    let mut has = false;
    node.apply_expressions(|expr| {
        has = has || has_query(expr)?;
        Ok(TreeNodeRecursion::Continue)
    })?;
    Ok(has)
}

fn replaced(exprs: Vec<Expr>, rows: &mut Rows<'_>, place: Place) -> Result<Vec<Expr>> {
    exprs.into_iter().map(|expr| rows.replaced(expr, place)).collect()
}

pub(super) fn columns(plan: &LogicalPlan, which: impl IntoIterator<Item = usize>) -> Vec<Expr> {
    which.into_iter().map(|i| Expr::Column(Column::from(plan.schema().qualified_field(i)))).collect()
}

/// Expressions under the names of a schema.
pub(super) fn named(exprs: Vec<Expr>, plan: LogicalPlan, schema: &DFSchema) -> Result<LogicalPlan> {
    let named = |(expr, (table, field)): (Expr, (Option<&_>, &Arc<Field>))| match &expr {
        Expr::Column(column) if column.relation.as_ref() == table && column.name == *field.name() => expr,
        _ => expr.unalias().alias_qualified(table.cloned(), field.name()),
    };
    let exprs = exprs.into_iter().zip(schema.iter()).map(named).collect();
    Ok(LogicalPlan::Projection(Projection::try_new(exprs, Arc::new(plan))?))
}
