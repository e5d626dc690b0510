//! Aggregates of one column table, computed by its storage on encoded blocks: a rule that recognises them in a plan.
//!
//! The rule runs behind all others, when filters and projections stand in the scan. It takes an aggregation whose input is such a scan,
//! whose filters the storage answers, and which asks for `count`, `sum`, `min`, `max` and `avg` of columns or of exact arithmetic on
//! them, in all rows or in few groups. The different values of a column, which `count(DISTINCT …)` becomes, are read off an index where one has
//! them in order. Everything else stays with the planner's own operators.

use std::{collections::HashMap, sync::Arc};

use ambo::{Aggregate as Asked, Datum, Expression, Groups, Query, Select, Snapshot, Storage, Type};
use arrow::{
    array::RecordBatch,
    datatypes::{DataType, SchemaRef},
};
use datafusion::{
    common::{Column, Result, tree_node::Transformed},
    datasource::source_as_provider,
    logical_expr::{
        Aggregate, BinaryExpr, Cast, Expr, LogicalPlan, Operator, TableScan, expr::AggregateFunctionParams,
    },
    optimizer::{ApplyOrder, OptimizerConfig, OptimizerRule},
};

use super::{
    StoredTable,
    computed::{Computation, computed},
    distinct::DistinctPlan,
    filter::filter,
};
use crate::value::{self, column_type, datum};

/// With more groups than these the planner's operators are faster.
const GROUPS_MAX: u64 = 1 << 12;

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
        match replaced(aggregate)? {
            Some(replaced) => Ok(Transformed::yes(replaced)),
            None => Ok(Transformed::no(plan)),
        }
    }
}

/// The plan in the place of an aggregation, if the storage computes it.
fn replaced(aggregate: &Aggregate) -> Result<Option<LogicalPlan>> {
    let Some((scan, names)) = scan_below(&aggregate.input) else { return Ok(None) };
    let provider = source_as_provider(&scan.source)?;
    let Some(table) = (provider.as_ref() as &dyn std::any::Any).downcast_ref::<StoredTable>() else {
        return Ok(None);
    };
    let plan: Arc<dyn Computation> = match distinct(aggregate, scan, &names, table) {
        Some(plan) => Arc::new(plan),
        None => match recognise(aggregate, scan, &names, table) {
            Some(plan) => Arc::new(plan),
            None => return Ok(None),
        },
    };
    computed(plan, &aggregate.schema).map(Some)
}

/// What columns of a plan are in terms of the scan's.
type Names = HashMap<String, Expr>;

/// The scan below projections, and what the names above it stand for.
fn scan_below(plan: &LogicalPlan) -> Option<(&TableScan, Names)> {
    match plan {
        LogicalPlan::TableScan(scan) => Some((scan, Names::new())),
        LogicalPlan::SubqueryAlias(alias) => scan_below(&alias.input),
        LogicalPlan::Projection(projection) => {
            let (scan, below) = scan_below(&projection.input)?;
            let mut names = Names::new();
            for (expr, field) in projection.expr.iter().zip(projection.schema.fields()) {
                names.insert(field.name().clone(), resolved(expr, &below)?);
            }
            Some((scan, names))
        }
        _ => None,
    }
}

/// An expression in terms of the scan's columns; only of kinds that the storage may compute.
fn resolved(expr: &Expr, names: &Names) -> Option<Expr> {
    Some(match expr {
        Expr::Column(column) if names.is_empty() => Expr::Column(Column::from_name(&column.name)),
        Expr::Column(column) => names.get(&column.name)?.clone(),
        Expr::Alias(alias) => resolved(&alias.expr, names)?,
        Expr::Literal(..) => expr.clone(),
        Expr::Cast(cast) => Expr::Cast(Cast { expr: Box::new(resolved(&cast.expr, names)?), ..cast.clone() }),
        Expr::BinaryExpr(BinaryExpr { left, op, right }) => Expr::BinaryExpr(BinaryExpr {
            left: Box::new(resolved(left, names)?),
            op: *op,
            right: Box::new(resolved(right, names)?),
        }),
        _ => return None,
    })
}

/// The different values of a column, where they stand in order, if that is less work than to look at all rows.
fn distinct(
    aggregate: &Aggregate,
    scan: &TableScan,
    names: &Names,
    table: &StoredTable,
) -> Option<DistinctPlan> {
    let [group] = &aggregate.group_expr[..] else { return None };
    if !aggregate.aggr_expr.is_empty() || !scan.filters.is_empty() || scan.fetch.is_some() {
        return None;
    }
    let Expr::Column(column) = resolved(group, names)? else { return None };
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
    names: &Names,
    table: &StoredTable,
) -> Option<AggregatePlan> {
    let definition = table.table().definition();
    if definition.storage != Storage::Column || scan.fetch.is_some() {
        return None;
    }
    let mut select = table.table().select(&[]).ok()?;
    for expr in &scan.filters {
        let (name, test) = filter(expr)?;
        select = select.filter(&name, test).ok()?;
    }
    let mut by = Vec::new();
    for expr in &aggregate.group_expr {
        let Expr::Column(column) = resolved(expr, names)? else { return None };
        by.push(column.name);
    }
    if !has_few_groups(table, &by) {
        return None;
    }
    let mut asked = Vec::new();
    let mut outputs = Vec::new();
    let kind = |name: &str| definition.column_index(name).map(|place| definition.columns[place].kind);
    for (expr, field) in aggregate.aggr_expr.iter().zip(&aggregate.schema.fields()[by.len()..]) {
        outputs.push(ask(expr, field.data_type(), names, &kind, &mut asked)?);
    }
    let group_by: Vec<&str> = by.iter().map(String::as_str).collect();
    let query = select.group_by(&group_by).and_then(|groups| groups.aggregate(&asked)).ok()?;
    let results = &aggregate.schema.fields()[by.len()..];
    let words = results.iter().map(|field| field.name().as_str()).collect::<Vec<_>>().join(", ");
    let words = if by.is_empty() { words } else { format!("{words} by {}", by.join(", ")) };
    Some(AggregatePlan { view: table.view().clone(), query, select, groups: by.len(), outputs, words })
}

/// Whether there are so few groups that a table of them stays small.
fn has_few_groups(table: &StoredTable, by: &[String]) -> bool {
    let mut groups = 1u64;
    for name in by {
        let Some(column) = table.table().definition().column_index(name) else { return false };
        let Ok(Some(distinct)) = table.view().sample_distinct(table.table(), column) else { return false };
        groups = groups.saturating_mul(distinct.max(1));
    }
    groups <= GROUPS_MAX
}

/// Adds what an aggregate needs to what is asked of the storage.
fn ask(
    expr: &Expr,
    ty: &DataType,
    names: &Names,
    kind: &dyn Fn(&str) -> Option<Type>,
    asked: &mut Vec<Asked>,
) -> Option<Output> {
    let Expr::AggregateFunction(function) = (match expr {
        Expr::Alias(alias) => &*alias.expr,
        expr => expr,
    }) else {
        return None;
    };
    let AggregateFunctionParams { args, distinct: false, filter: None, order_by, null_treatment: None } =
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
    let arg = resolved(arg, names)?;
    let numbers = || exact(&arg, kind);
    Some(match function.func.name() {
        "count" => match &arg {
            Expr::Literal(constant, _) if !constant.is_null() => Output::Plain(add(Asked::Rows)),
            Expr::Column(column) => {
                kind(&column.name)?;
                Output::Plain(add(Asked::Count(Expression::Column(column.name.clone()))))
            }
            _ => Output::Plain(add(Asked::Count(numbers()?.0))),
        },
        "sum" => {
            let (expression, is_float) = numbers()?;
            matches!(
                (is_float, ty),
                (true, DataType::Float64)
                    | (false, DataType::Int64 | DataType::UInt64 | DataType::Decimal128(..))
            )
            .then_some(())?;
            Output::Plain(add(Asked::Sum(expression)))
        }
        "avg" => match ty {
            DataType::Float64 => Output::Plain(add(Asked::Average(numbers()?.0))),
            DataType::Decimal128(..) => {
                let (expression, is_float) = numbers()?;
                (!is_float).then_some(())?;
                Output::DecimalAverage {
                    sum: add(Asked::Sum(expression.clone())),
                    count: add(Asked::Count(expression)),
                }
            }
            _ => return None,
        },
        "min" | "max" => {
            let Expr::Column(column) = &arg else { return None };
            // The order of floats differs where there are NaNs.
            let is_float = matches!(kind(&column.name)?, Type::F32 | Type::F64);
            (!is_float).then_some(())?;
            let of = Expression::Column(column.name.clone());
            Output::Plain(add(if function.func.name() == "min" { Asked::Min(of) } else { Asked::Max(of) }))
        }
        _ => return None,
    })
}

/// An expression of numbers as the storage computes it, and whether it is a float. Casts that lose nothing are left out.
fn exact(expr: &Expr, kind: &dyn Fn(&str) -> Option<Type>) -> Option<(Expression, bool)> {
    match expr {
        Expr::Column(column) => {
            let is_float = match kind(&column.name)? {
                Type::F64 => true,
                Type::I8 | Type::I16 | Type::I32 | Type::I64 | Type::U8 | Type::U16 | Type::U32 => false,
                Type::U64 | Type::Decimal128 { .. } => false,
                _ => return None,
            };
            Some((Expression::Column(column.name.clone()), is_float))
        }
        Expr::Literal(constant, _) => {
            let value = datum(constant)?;
            let is_float = match value {
                Datum::F64(_) => true,
                Datum::I64(_) | Datum::I32(_) | Datum::I16(_) | Datum::I8(_) | Datum::Decimal128 { .. } => {
                    false
                }
                _ => return None,
            };
            Some((Expression::Constant(value), is_float))
        }
        Expr::Cast(cast) => {
            let (inner, is_float) = exact(&cast.expr, kind)?;
            match (is_float, cast.field.data_type()) {
                (true, DataType::Float64) => Some((inner, true)),
                (false, to) if keeps_all(&cast.expr, to, kind) => Some((inner, false)),
                _ => None,
            }
        }
        Expr::BinaryExpr(BinaryExpr { left, op, right }) => {
            let ((left, a), (right, b)) = (exact(left, kind)?, exact(right, kind)?);
            let combined = match op {
                Operator::Plus => left + right,
                Operator::Minus => left - right,
                Operator::Multiply => left * right,
                _ => return None,
            };
            (a == b).then_some((combined, a))
        }
        _ => None,
    }
}

/// Whether a cast of whole numbers and decimals leaves each value what it is.
fn keeps_all(expr: &Expr, to: &DataType, kind: &dyn Fn(&str) -> Option<Type>) -> bool {
    let digits = |ty: Type| match ty {
        Type::I8 | Type::U8 => Some((3, 0)),
        Type::I16 | Type::U16 => Some((5, 0)),
        Type::I32 | Type::U32 => Some((10, 0)),
        Type::I64 | Type::U64 => Some((20, 0)),
        Type::Decimal128 { precision, scale } => Some((i32::from(precision), i32::from(scale))),
        _ => None,
    };
    let from = match expr {
        Expr::Column(column) => kind(&column.name).and_then(digits),
        Expr::Literal(constant, _) => column_type(&constant.data_type()).and_then(digits),
        Expr::Cast(cast) => column_type(cast.field.data_type()).and_then(digits),
        _ => None,
    };
    let (Some((digits, scale)), Some(to)) = (from, column_type(to)) else { return false };
    match to {
        Type::Decimal128 { precision, scale: wider } => {
            let (precision, wider) = (i32::from(precision), i32::from(wider));
            wider >= scale && precision - wider >= digits - scale
        }
        Type::I64 => scale == 0 && digits < 20,
        Type::I32 => scale == 0 && digits < 10,
        _ => false,
    }
}

impl Computation for AggregatePlan {
    fn describe(&self) -> String {
        let table = &self.select.table().definition().name;
        let filters = self.select.describe();
        match filters.is_empty() {
            true => format!("{table}, {}", self.words),
            false => format!("{table}, {}, filters=[{filters}]", self.words),
        }
    }

    fn run(&self, schema: &SchemaRef, threads: usize) -> crate::Result<RecordBatch> {
        let Groups { rows, .. } = self.view.aggregate(&self.query, threads)?;
        let mut out = Vec::with_capacity(rows.len());
        for row in rows {
            let (keys, values) = row.split_at(self.groups);
            let mut row = keys.to_vec();
            for (output, field) in self.outputs.iter().zip(&schema.fields()[self.groups..]) {
                row.push(output.value(values, field.data_type())?);
            }
            out.push(row);
        }
        value::batch(schema, &out)
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
                    let factor = 10i128.checked_pow(u32::from(wanted.abs_diff(*scale)));
                    let scaled = factor.and_then(|factor| unscaled.checked_mul(factor));
                    let scaled = scaled.ok_or_else(|| too_large("an average"))?;
                    Datum::Decimal128 { unscaled: scaled / i128::from(*count), scale: *wanted }
                }
                _ => return Err(too_large("an average")),
            },
        };
        match column_type(ty) {
            Some(wanted) => value.fit(wanted).map_err(|_| too_large("a sum")),
            None => Ok(value),
        }
    }
}

fn too_large(what: &str) -> crate::Error {
    crate::Error::new(crate::ErrorKind::Execution, format!("{what} is too large for its type"))
}
