//! The values that columns from outside have: a table with a row for each combination.
//!
//! They are computed a second time, beside the rows that they are from. So these have to be computed alike each time. LIMIT, windows and
//! DISTINCT ON may choose others among rows that tie; but values that no row has do no harm, as nothing is joined to them. So what chooses
//! is left out, where it only chooses ([`all_values`]). Other rows are kept when they are computed the first time ([`kept`]).

use std::sync::Arc;

use arrow::datatypes::DataType;
use datafusion::{
    common::{
        Column, DFSchema, Result, ScalarValue, not_impl_err,
        tree_node::{Transformed, TreeNode, TreeNodeRecursion},
    },
    datasource::{cte_worktable::CteWorkTable, source_as_provider},
    logical_expr::{
        Distinct, DistinctOn, Expr, ExprSchemable, JoinType, LogicalPlan, LogicalPlanBuilder, Projection,
        SubqueryAlias, WindowFrameUnits,
        expr::{Exists, InSubquery},
        lit,
    },
};

use super::{dependent::cross, names::Names, simple};
use crate::optimizer::once::{is_once, once};

/// See the module.
pub(super) struct Domain<'n> {
    pub(super) names: &'n Names,
    /// Its columns are those of `columns`, no row is there twice.
    pub(super) rows: LogicalPlan,
    /// Columns from outside, as they stand in the query, and those with their values.
    pub(super) columns: Vec<(Column, Column)>,
}

impl<'n> Domain<'n> {
    /// `outside` are columns as a query has them, `keys` the plan's columns with their values. The plan may become one whose rows are kept.
    pub(super) fn new(
        names: &'n Names,
        plan: &mut LogicalPlan,
        outside: Vec<Column>,
        keys: &[Column],
    ) -> Result<Self> {
        let columns: Vec<_> = outside.into_iter().map(|from| (from, names.column())).collect();
        let mut source = all_values(plan, keys)?;
        if source.is_none() {
            *plan = kept(plan.clone())?;
            source = all_values(plan, keys)?;
        }
        let Some(source) = source else {
            let names: Vec<_> = keys.iter().map(|key| key.name.as_str()).collect();
            return not_impl_err!(
                "a subquery with \"{}\" from outside, which a recursion finds, or another subquery around it, and which may be another value each time it is computed: make a table of it first",
                names.join("\", \"")
            );
        };
        let values = keys.iter().zip(&columns).map(|(key, (_, column))| renamed(key.clone(), column));
        let projection = Projection::try_new(values.collect(), Arc::new(source))?;
        let rows = LogicalPlan::Distinct(Distinct::All(Arc::new(LogicalPlan::Projection(projection))));
        Ok(Self { names, rows, columns })
    }

    /// Its columns.
    pub(super) fn values(&self) -> impl Iterator<Item = &Column> {
        self.columns.iter().map(|(_, column)| column)
    }

    /// An expression with its columns instead of those from outside.
    pub(super) fn inside(&self, expr: Expr) -> Result<Expr> {
        let inside = |expr: Expr| match &expr {
            Expr::OuterReferenceColumn(_, from) => Ok(match self.column(from) {
                Some(column) => Transformed::yes(Expr::Column(column.clone())),
                None => Transformed::no(expr),
            }),
            _ => Ok(Transformed::no(expr)),
        };
        Ok(expr.transform_up(inside)?.data)
    }

    fn column(&self, outside: &Column) -> Option<&Column> {
        self.columns.iter().find(|(from, _)| from == outside).map(|(_, column)| column)
    }
}

pub(super) fn renamed(from: Column, to: &Column) -> Expr {
    named(Expr::Column(from), to)
}

fn named(expr: Expr, to: &Column) -> Expr {
    expr.alias_qualified(to.relation.clone(), to.name.clone())
}

/// The plan with rows that are kept when they are computed the first time. What is from further outside, and what a recursion has found
/// last, is other rows each time by right, and stays as it is.
pub(super) fn kept(plan: LogicalPlan) -> Result<LogicalPlan> {
    let is_other = simple::is_correlated(&plan) || is_in_recursion(&plan)?;
    Ok(if is_other { plan } else { once(plan) })
}

/// Whether a plan reads the rows that a recursion has found last.
fn is_in_recursion(plan: &LogicalPlan) -> Result<bool> {
    let mut is_there = false;
    plan.apply_with_subqueries(|node| {
        if let LogicalPlan::TableScan(scan) = node {
            is_there |=
                source_as_provider(&scan.source).is_ok_and(|table| table.as_ref().is::<CteWorkTable>());
        }
        Ok(if is_there { TreeNodeRecursion::Stop } else { TreeNodeRecursion::Continue })
    })?;
    Ok(is_there)
}

/// A plan with all values of columns of a plan, the same each time, and maybe others; `None` if there is none.
fn all_values(plan: &LogicalPlan, columns: &[Column]) -> Result<Option<LogicalPlan>> {
    use JoinType::{Inner, Left, LeftAnti, LeftMark, LeftSemi};
    match plan {
        // Other columns beside them.
        LogicalPlan::Join(join)
            if matches!(join.join_type, Left | LeftSemi | LeftAnti | LeftMark)
                && are_of(&join.left, columns) =>
        {
            return all_values(&join.left, columns);
        }
        plan if is_repeatable(plan)? => return Ok(Some(plan.clone())),
        _ => {}
    }
    match plan {
        LogicalPlan::Limit(limit) => all_values(&limit.input, columns),
        LogicalPlan::Sort(sort) => all_values(&sort.input, columns),
        LogicalPlan::Filter(filter) => all_values(&filter.input, columns),
        LogicalPlan::Distinct(Distinct::All(input)) => all_values(input, columns),
        LogicalPlan::Window(window) if are_of(&window.input, columns) => all_values(&window.input, columns),
        LogicalPlan::Projection(Projection { expr, input, .. })
        | LogicalPlan::Distinct(Distinct::On(DistinctOn { select_expr: expr, input, .. })) => {
            let wanted = positions(plan, columns)?.into_iter().map(|i| expr[i].clone()).collect();
            computed(wanted, input)
        }
        LogicalPlan::SubqueryAlias(SubqueryAlias { input, alias, .. }) => {
            let own = |i: usize| Expr::Column(Column::from(input.schema().qualified_field(i)));
            let values = computed(positions(plan, columns)?.into_iter().map(own).collect(), input)?;
            // Not a projection with names of the table: the planner's rules take those away (DataFusion 55).
            let named = |values| SubqueryAlias::try_new(Arc::new(values), alias.clone());
            values.map(named).transpose().map(|named| named.map(LogicalPlan::SubqueryAlias))
        }
        LogicalPlan::Join(join) if matches!(join.join_type, Inner | Left) => {
            let is_left = |column: &Column| join.left.schema().has_column(column);
            let (left, right): (Vec<_>, Vec<_>) = columns.iter().cloned().partition(is_left);
            let of_right = match right.is_empty() {
                true => return all_values(&join.left, &left),
                false => all_values(&join.right, &right)?,
            };
            let of_right = match of_right {
                Some(of_right) if join.join_type == Left => or_nulls(of_right, &right)?,
                Some(of_right) => of_right,
                None => return Ok(None),
            };
            match left.is_empty() {
                true => Ok(Some(of_right)),
                false => all_values(&join.left, &left)?.map(|of_left| cross(of_left, of_right)).transpose(),
            }
        }
        _ => Ok(None),
    }
}

/// Columns of a plan, and a row without values.
fn or_nulls(plan: LogicalPlan, columns: &[Column]) -> Result<LogicalPlan> {
    let null = |column: &Column| {
        let data_type = plan.schema().qualified_field_from_column(column)?.1.data_type();
        Ok(named(lit(ScalarValue::try_from(data_type)?), column))
    };
    let nulls = columns.iter().map(null).collect::<Result<Vec<_>>>()?;
    let nulls = LogicalPlanBuilder::empty(true).project(nulls)?.build()?;
    let values = columns.iter().cloned().map(Expr::Column);
    let all = LogicalPlanBuilder::from(plan).project(values)?.union(nulls)?.build()?;
    // A union's columns may be those of no table.
    let values =
        columns.iter().enumerate().map(|(i, to)| renamed(Column::from(all.schema().qualified_field(i)), to));
    Ok(LogicalPlan::Projection(Projection::try_new(values.collect(), Arc::new(all))?))
}

fn are_of(plan: &LogicalPlan, columns: &[Column]) -> bool {
    columns.iter().all(|column| plan.schema().has_column(column))
}

fn positions(plan: &LogicalPlan, columns: &[Column]) -> Result<Vec<usize>> {
    columns.iter().map(|column| plan.schema().index_of_column(column)).collect()
}

/// Expressions over all values of the columns that they need.
fn computed(exprs: Vec<Expr>, input: &LogicalPlan) -> Result<Option<LogicalPlan>> {
    if exprs.iter().any(Expr::is_volatile) {
        return Ok(None);
    }
    let mut needed: Vec<Column> = Vec::new();
    let mut are_repeatable = true;
    for expr in &exprs {
        expr.apply(|expr| {
            let found = match expr {
                Expr::Column(column) => vec![column.clone()],
                Expr::ScalarSubquery(query)
                | Expr::Exists(Exists { subquery: query, .. })
                | Expr::InSubquery(InSubquery { subquery: query, .. }) => {
                    are_repeatable &= is_repeatable(&query.subquery)?;
                    columns_outside(&query.subquery)
                }
                _ => Vec::new(),
            };
            for column in found.into_iter().filter(|column| input.schema().has_column(column)) {
                if !needed.contains(&column) {
                    needed.push(column);
                }
            }
            Ok(TreeNodeRecursion::Continue)
        })?;
    }
    if !are_repeatable {
        return Ok(None);
    }
    let Some(input) = all_values(input, &needed)? else { return Ok(None) };
    Ok(Some(LogicalPlan::Projection(Projection::try_new(exprs, Arc::new(input))?)))
}

/// The columns from outside that a subquery is about.
fn columns_outside(plan: &LogicalPlan) -> Vec<Column> {
    let column = |expr: Expr| match expr {
        Expr::OuterReferenceColumn(_, column) => Some(column),
        _ => None,
    };
    plan.all_out_ref_exprs().into_iter().filter_map(column).collect()
}

/// Whether a plan has the same rows whenever it is computed.
pub(super) fn is_repeatable(plan: &LogicalPlan) -> Result<bool> {
    let mut is_repeatable = true;
    plan.apply_with_subqueries(|node| {
        if is_once(node) {
            return Ok(TreeNodeRecursion::Jump);
        }
        is_repeatable &= match node {
            LogicalPlan::Limit(_) | LogicalPlan::Distinct(Distinct::On(_)) => false,
            LogicalPlan::Aggregate(aggregate) => all_steady(&aggregate.aggr_expr, aggregate.input.schema())?,
            LogicalPlan::Window(window) => all_steady(&window.window_expr, window.input.schema())?,
            _ => true,
        };
        node.apply_expressions(|expr| {
            is_repeatable &= !expr.is_volatile();
            Ok(TreeNodeRecursion::Continue)
        })?;
        Ok(if is_repeatable { TreeNodeRecursion::Continue } else { TreeNodeRecursion::Stop })
    })?;
    Ok(is_repeatable)
}

/// Functions of groups and windows whose value does not depend on the order of rows that tie.
const STEADY: [&str; 10] = [
    "count",
    "min",
    "max",
    "bool_and",
    "bool_or",
    "rank",
    "dense_rank",
    "percent_rank",
    "cume_dist",
    "grouping",
];

fn all_steady(exprs: &[Expr], input: &DFSchema) -> Result<bool> {
    // A sum of doubles depends on their order.
    let is_steady = |name: &str, args: &[Expr]| -> Result<bool> {
        let has_doubles = || -> Result<bool> {
            let types = args.iter().map(|arg| arg.get_type(input)).collect::<Result<Vec<_>>>()?;
            Ok(types.iter().any(DataType::is_floating))
        };
        Ok(STEADY.contains(&name) || matches!(name, "sum" | "avg") && !has_doubles()?)
    };
    let mut all = true;
    for expr in exprs {
        expr.apply(|expr| {
            all &= match expr {
                Expr::AggregateFunction(function) => is_steady(function.func.name(), &function.params.args)?,
                Expr::WindowFunction(function) => {
                    let frame = &function.params.window_frame;
                    let is_by_value =
                        frame.units == WindowFrameUnits::Range || function.params.order_by.is_empty();
                    is_by_value && is_steady(function.fun.name(), &function.params.args)?
                }
                _ => true,
            };
            Ok(TreeNodeRecursion::Continue)
        })?;
    }
    Ok(all)
}
