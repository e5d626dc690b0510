//! Intervals that are equal are one group.
//!
//! `30 days`, `1 month` and `720:00:00` are equal, but the planner (DataFusion 55) groups and joins them by their bytes. So GROUP BY,
//! DISTINCT, IN and the joins of set operations go by the lengths of intervals. What a group shows is the one of its intervals with the
//! most months, then days.

use std::sync::Arc;

use arrow::datatypes::DataType;
use datafusion::{
    common::{
        Column, DFSchema, DFSchemaRef, Result, ScalarValue, TableReference,
        config::ConfigOptions,
        tree_node::{Transformed, TreeNode, TreeNodeRecursion},
    },
    functions_aggregate::min_max::max,
    logical_expr::{
        Aggregate, Distinct, Expr, ExprSchemable, Join, LogicalPlan, Projection, Subquery, expr::InSubquery,
        utils::grouping_set_to_exprlist, when,
    },
    optimizer::AnalyzerRule,
};

use super::expressions::{map_named, schema_of_rows};
use crate::times::interval_length;

/// See the module. To be run before subqueries are joined.
#[derive(Debug)]
pub(super) struct IntervalGroups;

impl AnalyzerRule for IntervalGroups {
    fn name(&self) -> &str {
        "interval_groups"
    }

    fn analyze(&self, plan: LogicalPlan, _: &ConfigOptions) -> Result<LogicalPlan> {
        Ok(plan.transform_up_with_subqueries(changed)?.data)
    }
}

fn changed(plan: LogicalPlan) -> Result<Transformed<LogicalPlan>> {
    if !has_intervals(&plan) && !compares(&plan)? {
        return Ok(Transformed::no(plan));
    }
    let schema = schema_of_rows(&plan);
    let plan = map_named(plan, |_| Ok(true), |expr| expr.transform_up(|expr| by_length(expr, &schema)))?;
    plan.transform_data(|plan| match plan {
        LogicalPlan::Aggregate(aggregate) => grouped(aggregate),
        LogicalPlan::Distinct(Distinct::All(input)) => distinct(input),
        LogicalPlan::Distinct(Distinct::On(mut of)) => {
            let length = |expr: Expr| Ok(if is_of(&expr, &schema)? { interval_length(expr) } else { expr });
            of.on_expr = of.on_expr.into_iter().map(length).collect::<Result<_>>()?;
            for sort in of.sort_expr.iter_mut().flatten() {
                sort.expr = length(sort.expr.clone())?;
            }
            Ok(Transformed::yes(LogicalPlan::Distinct(Distinct::On(of))))
        }
        LogicalPlan::Join(join) => joined(join),
        plan => Ok(Transformed::no(plan)),
    })
}

fn is_interval(ty: &DataType) -> bool {
    matches!(ty, DataType::Interval(_) | DataType::Duration(_))
}

fn is_of(expr: &Expr, schema: &DFSchema) -> Result<bool> {
    Ok(is_interval(&expr.get_type(schema)?))
}

/// Whether there are intervals among the rows of an operator.
fn has_intervals(plan: &LogicalPlan) -> bool {
    let inputs = plan.inputs();
    let mut fields = inputs.iter().flat_map(|input| input.schema().fields());
    fields.any(|field| is_interval(field.data_type()))
}

/// Whether an operator may compare intervals that are no columns of its rows.
fn compares(plan: &LogicalPlan) -> Result<bool> {
    let mut is_there = matches!(plan, LogicalPlan::Aggregate(_));
    plan.apply_expressions(|expr| {
        is_there = is_there || expr.exists(|expr| Ok(matches!(expr, Expr::InSubquery(_))))?;
        Ok(TreeNodeRecursion::Continue)
    })?;
    Ok(is_there)
}

/// `i IN (SELECT …)` and `count(DISTINCT i)` by lengths.
fn by_length(expr: Expr, schema: &DFSchema) -> Result<Transformed<Expr>> {
    Ok(match expr {
        Expr::InSubquery(InSubquery { expr, subquery, negated }) if is_of(&expr, schema)? => {
            let plan = lengths(subquery.subquery.clone())?;
            let subquery = Subquery { subquery: plan, ..subquery };
            let expr = Box::new(interval_length(*expr));
            Transformed::yes(Expr::InSubquery(InSubquery { expr, subquery, negated }))
        }
        Expr::AggregateFunction(mut of) => {
            let counts = match of.func.name() {
                "count" => of.params.distinct,
                name => name == "approx_distinct",
            };
            let mut is_changed = false;
            for arg in of.params.args.iter_mut().filter(|_| counts) {
                if is_of(arg, schema)? {
                    *arg = interval_length(arg.clone());
                    is_changed = true;
                }
            }
            let expr = Expr::AggregateFunction(of);
            if is_changed { Transformed::yes(expr) } else { Transformed::no(expr) }
        }
        expr => Transformed::no(expr),
    })
}

/// The rows of a query of one column, an interval, as lengths.
fn lengths(query: Arc<LogicalPlan>) -> Result<Arc<LogicalPlan>> {
    let (table, field) = query.schema().qualified_field(0);
    let (table, name) = (table.cloned(), field.name().clone());
    let length =
        interval_length(Expr::Column(Column::from((table.as_ref(), field)))).alias_qualified(table, name);
    Ok(Arc::new(LogicalPlan::Projection(Projection::try_new(vec![length], query)?)))
}

fn joined(mut join: Join) -> Result<Transformed<LogicalPlan>> {
    let mut is_changed = false;
    for (left, right) in &mut join.on {
        if is_of(left, join.left.schema())? && is_of(right, join.right.schema())? {
            *left = interval_length(left.clone());
            *right = interval_length(right.clone());
            is_changed = true;
        }
    }
    let plan = LogicalPlan::Join(join);
    Ok(if is_changed { Transformed::yes(plan) } else { Transformed::no(plan) })
}

/// Rows without copies: groups of all columns.
fn distinct(input: Arc<LogicalPlan>) -> Result<Transformed<LogicalPlan>> {
    let columns = input.schema().columns().into_iter().map(Expr::Column).collect();
    let plan = grouped(Aggregate::try_new(input.clone(), columns, Vec::new())?)?;
    Ok(if plan.transformed { plan } else { Transformed::no(LogicalPlan::Distinct(Distinct::All(input))) })
}

/// An aggregation whose groups are by lengths, and the columns that it had on top.
fn grouped(aggregate: Aggregate) -> Result<Transformed<LogicalPlan>> {
    let (input, schema) = (&aggregate.input, &aggregate.schema);
    let mut intervals: Vec<Expr> = Vec::new();
    let groups = grouping_set_to_exprlist(&aggregate.group_expr)?;
    for group in &groups {
        if is_of(group, input.schema())? && !intervals.contains(group) {
            intervals.push((*group).clone());
        }
    }
    if intervals.is_empty() {
        return Ok(Transformed::no(LogicalPlan::Aggregate(aggregate)));
    }
    let by_length = |expr: Expr| {
        expr.transform_down(|expr| match intervals.contains(&expr) {
            true => Ok(Transformed::new(interval_length(expr), true, TreeNodeRecursion::Jump)),
            false => Ok(Transformed::no(expr)),
        })
    };
    let lengths = aggregate.group_expr.iter().cloned().map(|group| Ok(by_length(group)?.data));
    let lengths = lengths.collect::<Result<Vec<_>>>()?;
    let shown = intervals
        .iter()
        .enumerate()
        .map(|(place, interval)| max(interval.clone()).alias(format!("\u{1}interval {place}")));
    let aggregates = aggregate.aggr_expr.iter().cloned().chain(shown).collect();
    let grouped = Aggregate::try_new(input.clone(), lengths, aggregates)?;
    let columns = columns(&grouped.schema, schema, &groups, &intervals)?;
    let grouped = Arc::new(LogicalPlan::Aggregate(grouped));
    Ok(Transformed::yes(LogicalPlan::Projection(Projection::try_new(columns, grouped)?)))
}

/// The columns that an aggregation had, of one by lengths, behind whose columns the intervals stand.
fn columns(
    by_length: &DFSchema,
    wanted: &DFSchemaRef,
    groups: &[&Expr],
    intervals: &[Expr],
) -> Result<Vec<Expr>> {
    let column = |place: usize| Expr::Column(Column::from(by_length.qualified_field(place)));
    let columns = wanted.iter().enumerate().map(|(place, (table, field))| {
        let interval = groups.get(place).and_then(|group| intervals.iter().position(|of| of == *group));
        let value = match interval {
            // A set of groups without it has none.
            Some(nth) => {
                when(column(place).is_null(), Expr::Literal(ScalarValue::try_from(field.data_type())?, None))
                    .otherwise(column(wanted.fields().len() + nth))?
            }
            None => column(place),
        };
        let is_named =
            matches!(&value, Expr::Column(of) if of.relation.as_ref() == table && of.name == *field.name());
        Ok(if is_named { value } else { named(value, table, field.name()) })
    });
    columns.collect()
}

fn named(value: Expr, table: Option<&TableReference>, name: &str) -> Expr {
    value.alias_qualified(table.cloned(), name)
}
