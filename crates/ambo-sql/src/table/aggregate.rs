//! Aggregates of one column table, computed by its storage on encoded blocks: a rule that recognises them in a plan.
//!
//! The rule runs behind all others, when filters and projections stand in the scan. It takes an aggregation whose input is such a scan,
//! whose filters the storage answers, and which asks for `count`, `sum`, `min`, `max` and `avg` of columns or of exact arithmetic on them,
//! with CASE and FILTER, in all rows or in few groups. The different values of a column, which `count(DISTINCT …)` becomes, are read off an
//! index where one has them in order. Everything else stays with the planner's own operators.

use std::sync::Arc;

use ambo::{Aggregate as Asked, Datum, Expression, Groups, Query, Read, Select, Snapshot, Test, Type};
use arrow::datatypes::{DataType, SchemaRef, i256};
use datafusion::{
    common::{Result, tree_node::Transformed},
    datasource::source_as_provider,
    logical_expr::{Aggregate, Expr, LogicalPlan, TableScan, expr::AggregateFunctionParams},
    optimizer::{ApplyOrder, OptimizerConfig, OptimizerRule},
};

use super::{
    StoredTable,
    computed::{Computation, Computed, computed},
    distinct::DistinctPlan,
    filter::filter,
    number::{Columns, number, truth},
};
use crate::{
    names::shown,
    numbers::{divided, out_of_range},
    projected::Projected,
    value::{self, column_type, unscaled},
};

/// With more groups than these the planner's operators are faster.
const GROUPS_MAX: u64 = 1 << 12;
/// The same where an index has them, and no row is looked at.
const GROUPS_OF_LEAVES_MAX: u64 = 1 << 16;

/// As many rows as are thought possible where nothing is known of them.
const ROWS_MOST: u64 = 1 << 40;

/// The rule. See the module.
#[derive(Debug)]
pub(crate) struct AggregateInStorage;

impl OptimizerRule for AggregateInStorage {
    fn name(&self) -> &str {
        "aggregate_in_storage"
    }

    fn apply_order(&self) -> Option<ApplyOrder> {
        Some(ApplyOrder::BottomUp)
    }

    fn rewrite(&self, plan: LogicalPlan, _: &dyn OptimizerConfig) -> Result<Transformed<LogicalPlan>> {
        let LogicalPlan::Aggregate(aggregate) = &plan else { return Ok(Transformed::no(plan)) };
        match in_storage(aggregate)? {
            Some(replaced) => Ok(Transformed::yes(replaced)),
            None => Ok(Transformed::no(plan)),
        }
    }
}

/// The plan in the place of an aggregation, if the storage computes it.
pub(crate) fn in_storage(aggregate: &Aggregate) -> Result<Option<LogicalPlan>> {
    let below = Projected::new(&aggregate.input)?;
    let LogicalPlan::TableScan(scan) = below.input else { return Ok(None) };
    let provider = source_as_provider(&scan.source)?;
    let Some(table) = (provider.as_ref() as &dyn std::any::Any).downcast_ref::<StoredTable>() else {
        return Ok(None);
    };
    let plan: Arc<dyn Computation> = match distinct(aggregate, scan, &below, table) {
        Some(plan) => Arc::new(plan),
        None => match recognise(aggregate, scan, &below, table) {
            Some(plan) => Arc::new(plan),
            None => return Ok(None),
        },
    };
    computed(plan, &aggregate.schema).map(Some)
}

/// The different values of a column, where they stand in order, if that is less work than to look at all rows.
fn distinct(
    aggregate: &Aggregate,
    scan: &TableScan,
    below: &Projected<'_>,
    table: &StoredTable,
) -> Option<DistinctPlan> {
    let [group] = &aggregate.group_expr[..] else { return None };
    if !aggregate.aggr_expr.is_empty() || !scan.filters.is_empty() || scan.fetch.is_some() {
        return None;
    }
    let Expr::Column(column) = below.resolved(group.clone()).ok()? else { return None };
    let definition = table.table().definition();
    DistinctPlan::new(table, definition.column_index(&column.name)?)
}

/// An aggregation that the storage computes.
struct AggregatePlan {
    view: Arc<Snapshot>,
    query: Query,
    select: Select,
    groups: usize,
    outputs: Vec<Output>,
    words: String,
    identity: String,
    rows: usize,
}

/// A column of the result from columns that the storage computed, by their places behind those of the groups.
#[derive(Clone, Copy, Debug)]
enum Output {
    Plain(usize),
    /// A decimal: the sum, and how many values it is the sum of.
    DecimalAverage {
        sum: usize,
        count: usize,
    },
}

fn recognise(
    aggregate: &Aggregate,
    scan: &TableScan,
    below: &Projected<'_>,
    table: &StoredTable,
) -> Option<AggregatePlan> {
    let definition = table.table().definition();
    if !definition.storage.traits().by_column || scan.fetch.is_some() {
        return None;
    }
    let mut select = table.table().select(&[]).ok()?;
    for expr in &scan.filters {
        let (name, test) = filter(expr)?;
        select = select.filter(&name, test).ok()?;
    }
    let mut by = Vec::new();
    for expr in &aggregate.group_expr {
        let Expr::Column(column) = below.resolved(expr.clone()).ok()? else { return None };
        by.push(column.name);
    }
    let groups = groups_about(table, &by)?;
    if groups > GROUPS_OF_LEAVES_MAX {
        return None;
    }
    let mut asked = Vec::new();
    let mut outputs = Vec::new();
    // Those whose stored values are equal and in order where the values are.
    let kind = |name: &str| {
        let column = &definition.columns[definition.column_index(name)?];
        column.logical.as_ref().is_none_or(ambo::Logical::is_ordered).then_some(column.kind)
    };
    if !by.iter().all(|name| kind(name).is_some()) {
        return None;
    }
    let figures = table.figures().get();
    let bounds = |name: &str| {
        let known = figures?.columns.get(definition.column_index(name)?)?;
        Some((unscaled(&known.min.as_ref()?.value)?.0, unscaled(&known.max.as_ref()?.value)?.0))
    };
    let rows_most = figures.map_or(ROWS_MOST, |figures| figures.rows.value);
    let columns = Columns { kind: &kind, bounds: &bounds };
    for (expr, field) in aggregate.aggr_expr.iter().zip(&aggregate.schema.fields()[by.len()..]) {
        outputs.push(ask(expr, field.data_type(), below, (&columns, rows_most), &mut asked)?);
    }
    let group_by: Vec<&str> = by.iter().map(String::as_str).collect();
    let query = select.group_by(&group_by).and_then(|groups| groups.aggregate(&asked)).ok()?;
    if groups > GROUPS_MAX && !matches!(query.counting_index(), Ok(Some(_))) {
        return None;
    }
    let results = &aggregate.schema.fields()[by.len()..];
    let words = results.iter().map(|field| field.name().as_str()).collect::<Vec<_>>().join(", ");
    let words = if by.is_empty() { words } else { format!("{words} by {}", by.join(", ")) };
    let identity = format!(
        "{}, {asked:?} as {outputs:?} by {by:?} where {:?}",
        table.identity(),
        select.filters().collect::<Vec<_>>()
    );
    let view = table.view().clone();
    let (rows, groups) = (groups as usize, by.len());
    Some(AggregatePlan { view, query, select, groups, outputs, words, identity, rows })
}

/// About how many groups there may be.
fn groups_about(table: &StoredTable, by: &[String]) -> Option<u64> {
    let mut groups = 1u64;
    for name in by {
        let column = table.table().definition().column_index(name)?;
        let distinct = match table.view().sample_distinct(table.table(), column).ok()? {
            Some(distinct) => distinct,
            // Without compacted rows.
            None => table.figures().get()?.rows.value,
        };
        groups = groups.saturating_mul(distinct.max(1));
    }
    Some(groups)
}

/// Adds what an aggregate needs to what is asked of the storage.
fn ask(
    expr: &Expr,
    ty: &DataType,
    below: &Projected<'_>,
    (columns, rows): (&Columns<'_>, u64),
    asked: &mut Vec<Asked>,
) -> Option<Output> {
    let Expr::AggregateFunction(function) = (match expr {
        Expr::Alias(alias) => &*alias.expr,
        expr => expr,
    }) else {
        return None;
    };
    let AggregateFunctionParams { args, distinct: false, filter, order_by, null_treatment: None } =
        &function.params
    else {
        return None;
    };
    let [arg] = &args[..] else { return None };
    if !order_by.is_empty() {
        return None;
    }
    let mut add = |wanted: Asked| {
        asked.iter().position(|known| *known == wanted).unwrap_or_else(|| {
            asked.push(wanted);
            asked.len() - 1
        })
    };
    let arg = below.resolved(arg.clone()).ok()?;
    let condition = match filter {
        Some(filter) => Some(truth(&below.resolved(*filter.clone()).ok()?, true, columns)?),
        None => None,
    };
    // Of rows that FILTER leaves out there is no value.
    let of = |expression: Expression| match &condition {
        Some(condition) => condition.clone().choose_or_null(expression),
        None => expression,
    };
    let numbers = |arg: &Expr| {
        number(arg, columns).map(|number| (of(number.expression), number.range.is_none(), number.range))
    };
    // Those of which the sum does not leave 38 digits, in any order.
    let summed = |arg: &Expr| {
        let (expression, is_float, range) = numbers(arg)?;
        range.is_none_or(|range| range.can_be_summed(rows)).then_some((expression, is_float))
    };
    let kind = columns.kind;
    Some(match function.func.name() {
        "count" => match &arg {
            Expr::Literal(constant, _) if !constant.is_null() => Output::Plain(add(match condition {
                Some(_) => Asked::Count(of(Expression::constant(1))),
                None => Asked::Rows,
            })),
            Expr::Column(column) if condition.is_none() => {
                kind(&column.name)?;
                Output::Plain(add(Asked::Count(Expression::Column(column.name.clone()))))
            }
            Expr::Column(column) => {
                kind(&column.name)?;
                let is_there = Expression::holds(column.name.clone(), Test::IsNotNull);
                Output::Plain(add(Asked::Count(of(is_there.choose_or_null(1)))))
            }
            _ => Output::Plain(add(Asked::Count(numbers(&arg)?.0))),
        },
        "sum" => {
            let (expression, is_float) = summed(&arg)?;
            matches!(
                (is_float, ty),
                (true, DataType::Float64)
                    | (false, DataType::Int64 | DataType::UInt64 | DataType::Decimal128(..))
            )
            .then_some(())?;
            Output::Plain(add(Asked::Sum(expression)))
        }
        "avg" => match ty {
            DataType::Float64 => Output::Plain(add(Asked::Average(summed(averaged(&arg))?.0))),
            DataType::Decimal128(..) => {
                let (expression, is_float) = summed(&arg)?;
                (!is_float).then_some(())?;
                Output::DecimalAverage {
                    sum: add(Asked::Sum(expression.clone())),
                    count: add(Asked::Count(expression)),
                }
            }
            _ => return None,
        },
        "min" | "max" => {
            let extreme = match function.func.name() {
                "min" => Asked::Min,
                _ => Asked::Max,
            };
            let of = match &arg {
                Expr::Column(column) if condition.is_none() => {
                    // The order of floats differs where there are NaNs.
                    let is_float = matches!(kind(&column.name)?, Type::F32 | Type::F64);
                    (!is_float).then_some(())?;
                    Expression::Column(column.name.clone())
                }
                _ => {
                    let (expression, is_float, _) = numbers(&arg)?;
                    (!is_float).then_some(())?;
                    expression
                }
            };
            Output::Plain(add(extreme(of)))
        }
        _ => return None,
    })
}

/// What a mean is computed of: integers as they are, and not as the doubles that a statement makes of them.
fn averaged(arg: &Expr) -> &Expr {
    match arg {
        Expr::Cast(cast) if *cast.field.data_type() == DataType::Float64 => &cast.expr,
        arg => arg,
    }
}

impl Computation for AggregatePlan {
    fn rows(&self) -> usize {
        self.rows
    }

    fn describe(&self) -> String {
        let table = &self.select.table().definition().name;
        let mut words = format!("{table}, {}", self.words);
        let filters = self.select.describe();
        if !filters.is_empty() {
            words.push_str(&format!(", filters=[{filters}]"));
        }
        if let Ok(Some(index)) = self.query.counting_index() {
            words.push_str(&format!(", leaves=[{}]", shown(&index)));
        }
        words
    }

    fn identity(&self) -> String {
        self.identity.clone()
    }

    fn run(&self, schema: &SchemaRef, threads: usize) -> crate::Result<Computed> {
        let (Groups { rows, .. }, used) = self.view.aggregate_told(&self.query, threads)?;
        let mut out = Vec::with_capacity(rows.len());
        for row in rows {
            let (keys, values) = row.split_at(self.groups);
            let mut row = keys.to_vec();
            for (output, field) in self.outputs.iter().zip(&schema.fields()[self.groups..]) {
                row.push(output.value(values, field.data_type())?);
            }
            out.push(row);
        }
        Ok(Computed { rows: value::batch(schema, &out)?, used })
    }
}

impl Output {
    fn value(self, values: &[Datum], ty: &DataType) -> crate::Result<Datum> {
        let value = match self {
            Self::Plain(place) => values[place].clone(),
            Self::DecimalAverage { sum, count } => match (&values[sum], &values[count], ty) {
                (Datum::Null, ..) => Datum::Null,
                (
                    Datum::Decimal128 { unscaled, scale },
                    Datum::I64(count),
                    DataType::Decimal128(_, wanted),
                ) => {
                    let (sum, count) = (i256::from_i128(*unscaled), i256::from_i128(i128::from(*count)));
                    let mean = divided(sum, *scale, count, 0, *wanted);
                    let unscaled = mean.ok_or_else(|| out_of_range("an average", ty))?;
                    Datum::Decimal128 { unscaled, scale: *wanted }
                }
                _ => return Err(out_of_range("an average", ty)),
            },
        };
        match column_type(ty) {
            Some(wanted) => {
                let text = value.to_string();
                value.fit(wanted).map_err(|_| match self {
                    Self::Plain(_) => out_of_range(format!("the sum {text}"), ty),
                    Self::DecimalAverage { .. } => out_of_range("an average", ty),
                })
            }
            None => Ok(value),
        }
    }
}
