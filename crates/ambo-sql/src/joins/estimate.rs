//! How many rows a plan has, and how many different values a column of it: guesses for those who choose between plans.

use std::{collections::HashMap, sync::Arc};

use datafusion::{
    common::{Column, JoinType},
    logical_expr::{
        BinaryExpr, Expr, FetchType, Join, LogicalPlan, Operator, TableScan, utils::split_conjunction,
    },
};

use crate::table::{Figures, StoredTable, UNKNOWN_SHARE, filter::filter, of_source};

/// Rows of a plan of which nothing is known.
const UNKNOWN_ROWS: f64 = 1000.0;
/// The same, of a condition that only leaves something out.
const ALMOST_ALL: f64 = 0.9;
/// Groups for each row, where the values of a group's columns are not known.
const GROUPS: f64 = 0.1;

/// Estimates of relations, each made once.
pub(super) struct Estimates<'r> {
    relations: &'r [LogicalPlan],
    rows: Vec<f64>,
    distinct: HashMap<(usize, Column), f64>,
}

impl<'r> Estimates<'r> {
    pub(super) fn new(relations: &'r [LogicalPlan]) -> Self {
        Self { relations, rows: relations.iter().map(rows).collect(), distinct: HashMap::new() }
    }

    /// About how many rows a relation has.
    pub(super) fn rows(&self, relation: usize) -> f64 {
        self.rows[relation]
    }

    /// How many different values a column has that is of one of a set of relations.
    pub(super) fn distinct(&mut self, among: u64, column: &Column) -> f64 {
        let is_of = |of: &usize| among >> of & 1 != 0 && self.relations[*of].schema().has_column(column);
        let Some(of) = (0..self.relations.len()).find(is_of) else { return UNKNOWN_ROWS };
        let (relation, rows) = (&self.relations[of], self.rows[of]);
        *self
            .distinct
            .entry((of, column.clone()))
            .or_insert_with(|| distinct(relation, column).unwrap_or(rows).min(rows))
    }
}

/// How many different combinations of values some columns of a plan may have; as one, columns of which nothing is known.
pub(crate) fn combinations(plan: &LogicalPlan, columns: &[Expr]) -> f64 {
    columns.iter().filter_map(|column| distinct_left(plan, column)).fold(1.0, |all, one| all * one.max(1.0))
}

/// About how many rows a plan has.
pub(crate) fn rows(plan: &LogicalPlan) -> f64 {
    let rows = match plan {
        LogicalPlan::TableScan(scan) => {
            let figures = figures(scan);
            let all = figures.as_ref().and_then(|figures| Some(figures.get()?.rows.value as f64));
            let share: f64 = scan.filters.iter().map(|filter| selectivity(filter, plan)).product();
            let rows = all.unwrap_or(UNKNOWN_ROWS) * share;
            scan.fetch.map_or(rows, |fetch| rows.min(fetch as f64))
        }
        LogicalPlan::Filter(of) => {
            let parts = split_conjunction(&of.predicate).into_iter();
            rows(&of.input) * parts.map(|part| selectivity(part, &of.input)).product::<f64>()
        }
        LogicalPlan::Aggregate(of) => {
            let input = rows(&of.input);
            let group = |expr| distinct_left(&of.input, expr).unwrap_or(input * GROUPS);
            let groups = of.group_expr.iter().map(group);
            groups.fold(1.0, |all, one| all * one).min(input)
        }
        LogicalPlan::Limit(of) => match of.get_fetch_type() {
            Ok(FetchType::Literal(Some(fetch))) => rows(&of.input).min(fetch as f64),
            _ => rows(&of.input),
        },
        LogicalPlan::Join(of) => {
            let (left, right) = (rows(&of.left), rows(&of.right));
            match of.join_type {
                JoinType::LeftSemi | JoinType::LeftAnti | JoinType::LeftMark => left * 0.5,
                JoinType::RightSemi | JoinType::RightAnti | JoinType::RightMark => right * 0.5,
                _ if of.on.is_empty() => left * right,
                JoinType::Inner => left * right * share_joined(of, left, right),
                _ => left.max(right),
            }
        }
        LogicalPlan::Union(of) => of.inputs.iter().map(|input| rows(input)).sum(),
        LogicalPlan::EmptyRelation(of) => f64::from(u8::from(of.produce_one_row)),
        LogicalPlan::Values(of) => of.values.len() as f64,
        other => match other.inputs()[..] {
            [input] => rows(input),
            _ => UNKNOWN_ROWS,
        },
    };
    rows.max(1.0)
}

/// The share of all pairs of rows, so many of each side, that an inner join by columns leaves: as its strongest key says.
fn share_joined(join: &Join, left_rows: f64, right_rows: f64) -> f64 {
    let shares = join.on.iter().map(|(left, right)| {
        let left = distinct_of(&join.left, left).unwrap_or(left_rows).min(left_rows);
        let right = distinct_of(&join.right, right).unwrap_or(right_rows).min(right_rows);
        1.0 / left.max(right).max(1.0)
    });
    shares.fold(1.0, f64::min)
}

/// The share of rows that a condition leaves.
fn selectivity(condition: &Expr, plan: &LogicalPlan) -> f64 {
    if let Some((_, test)) = filter(condition)
        && let Some(column) = condition.column_refs().into_iter().next()
        && let Some((figures, place)) = origin(plan, column)
    {
        return figures.share(place, &test);
    }
    match condition {
        Expr::BinaryExpr(BinaryExpr { left, op: Operator::Or, right }) => {
            (selectivity(left, plan) + selectivity(right, plan)).min(1.0)
        }
        Expr::BinaryExpr(BinaryExpr { left, op: Operator::And, right }) => {
            selectivity(left, plan) * selectivity(right, plan)
        }
        Expr::BinaryExpr(BinaryExpr { op: Operator::NotEq, .. }) => ALMOST_ALL,
        Expr::Not(_) => ALMOST_ALL,
        Expr::Like(like) if like.negated => ALMOST_ALL,
        Expr::InList(list) if list.negated => ALMOST_ALL,
        _ => UNKNOWN_SHARE,
    }
}

/// As [`distinct`], of an expression that is a column.
fn distinct_of(plan: &LogicalPlan, expr: &Expr) -> Option<f64> {
    match expr {
        Expr::Column(column) => distinct(plan, column),
        _ => None,
    }
}

/// How many different values a column of a plan has, before conditions.
fn distinct(plan: &LogicalPlan, column: &Column) -> Option<f64> {
    let (figures, place) = origin(plan, column)?;
    figures.distinct(place)
}

/// As [`distinct_of`], of those that conditions on the column alone leave.
fn distinct_left(plan: &LogicalPlan, expr: &Expr) -> Option<f64> {
    let Expr::Column(column) = expr else { return None };
    let (scan, stored) = scan_of(plan, column)?;
    let LogicalPlan::TableScan(of) = scan else { return None };
    let is_alone = |filter: &&Expr| filter.column_refs().iter().all(|one| one.name == stored.name);
    let share: f64 = of.filters.iter().filter(is_alone).map(|filter| selectivity(filter, scan)).product();
    Some((distinct(scan, &stored)? * share).max(1.0))
}

fn figures(scan: &TableScan) -> Option<Arc<Figures>> {
    of_source(scan, |table: &StoredTable| table.figures().clone())
}

/// The stored column that a column of a plan comes from.
fn origin(plan: &LogicalPlan, column: &Column) -> Option<(Arc<Figures>, usize)> {
    let (scan, column) = scan_of(plan, column)?;
    let LogicalPlan::TableScan(scan) = scan else { return None };
    let place = scan.source.schema().index_of(&column.name).ok()?;
    of_source(scan, |table: &StoredTable| Some((table.figures().clone(), table.place(place)?)))?
}

/// The scan that a column of a plan comes from, and the column there.
fn scan_of<'p>(plan: &'p LogicalPlan, column: &Column) -> Option<(&'p LogicalPlan, Column)> {
    if let LogicalPlan::TableScan(scan) = plan {
        // Columns of filters need not be among those that are read.
        let is_other = column.relation.as_ref().is_some_and(|of| !of.resolved_eq(&scan.table_name));
        let is_there = !is_other && scan.source.schema().index_of(&column.name).is_ok();
        return is_there.then(|| (plan, column.clone()));
    }
    let place = plan.schema().maybe_index_of_column(column)?;
    let below = |input: &LogicalPlan| Some(Column::from(input.schema().qualified_field(place)));
    match plan {
        LogicalPlan::SubqueryAlias(of) => scan_of(&of.input, &below(&of.input)?),
        LogicalPlan::Projection(of) => match of.expr[place].clone().unalias() {
            Expr::Column(column) => scan_of(&of.input, &column),
            _ => None,
        },
        LogicalPlan::Aggregate(of) => match of.group_expr.get(place)? {
            Expr::Column(column) => scan_of(&of.input, column),
            _ => None,
        },
        LogicalPlan::Filter(_) | LogicalPlan::Sort(_) | LogicalPlan::Limit(_) | LogicalPlan::Join(_) => {
            plan.inputs().into_iter().find_map(|input| scan_of(input, column))
        }
        _ => None,
    }
}
