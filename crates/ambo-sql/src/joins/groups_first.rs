//! Groups are made before the join where that is less work.
//!
//! Many statements group a large table by a column of a small one: flights by the name of their airline. Joined first, each flight gets its
//! name, and names are hashed; but all flights of one airline have the same key of the small table, so they can be grouped by that key, in
//! the storage, on the codes of their dictionaries, and the few groups be joined and put together. (Yan, Larson: Eager aggregation and lazy
//! aggregation, VLDB 1995.) Where no storage makes the groups, that is worth it still if names would be hashed behind the join, and most of
//! the groups are among those of the result.
//!
//! The join may be of any multiplicity: what is equal in the key finds the same rows. It has to be an inner one by columns of the large
//! side, which alone the aggregates are about (`parts.rs`). What takes different values only (`DISTINCT`) is grouped by them, too, and
//! stays as it is. Joins below joins are gone through in the same way.

use std::sync::Arc;

use arrow::datatypes::DataType;
use datafusion::{
    common::{Column, DFSchema, DFSchemaRef, DataFusionError, Result, tree_node::Transformed},
    logical_expr::{Aggregate, Expr, ExprSchemable, Join, LogicalPlan, LogicalPlanBuilder},
    optimizer::{ApplyOrder, OptimizerConfig, OptimizerRule},
};

use super::{
    chosen::Chosen,
    estimate,
    lift::{is_plain, joined, lifted},
    parts::{Parts, place_of},
};
use crate::{optimizer::may_fail, projected::Projected, table::in_storage};

/// If the other side leaves less than this share of the keys, the storage would do much for groups that nobody asks for.
const SHARE_LEAST: f64 = 0.1;
/// The same, where no storage does it.
const SHARE_LEAST_HASHED: f64 = 0.5;
/// Decimals of so many digits have a sum, however many rows there are.
const DIGITS_MOST: u8 = 19;
/// With fewer rows for each group the join is hardly less work behind it.
const ROWS_LEAST: f64 = 8.0;
/// The same, where texts are hashed behind it.
const ROWS_LEAST_HASHED: f64 = 2.0;

/// The rule. See the module. To be run behind the one that looks for aggregates of a table alone.
#[derive(Debug)]
pub(crate) struct GroupsFirst;

impl OptimizerRule for GroupsFirst {
    fn name(&self) -> &str {
        "groups_first"
    }

    fn apply_order(&self) -> Option<ApplyOrder> {
        Some(ApplyOrder::BottomUp)
    }

    fn rewrite(&self, plan: LogicalPlan, _: &dyn OptimizerConfig) -> Result<Transformed<LogicalPlan>> {
        let LogicalPlan::Aggregate(aggregate) = &plan else { return Ok(Transformed::no(plan)) };
        match grouped_first(aggregate)? {
            Some(plan) => Ok(Transformed::yes(plan)),
            None => Ok(Transformed::no(plan)),
        }
    }
}

/// An aggregation of a join as a join of aggregations, if a storage computes one of them.
fn grouped_first(aggregate: &Aggregate) -> Result<Option<LogicalPlan>> {
    let below = Projected::new(&aggregate.input)?;
    let LogicalPlan::Join(join) = below.input else { return Ok(None) };
    if !is_plain(join) {
        return Ok(None);
    }
    let in_join = |expr: &Expr| below.resolved(expr.clone());
    let groups = aggregate.group_expr.iter().map(in_join).collect::<Result<Vec<_>>>()?;
    let asked = aggregate.aggr_expr.iter().map(in_join).collect::<Result<Vec<_>>>()?;
    if groups.iter().chain(&asked).any(|expr| expr.is_volatile() || matches!(expr, Expr::GroupingSet(_))) {
        return Ok(None);
    }
    let mut splits = Vec::new();
    for is_left in [false, true] {
        splits.extend(Split::new(join, is_left, &groups, &asked)?);
    }
    let mut hashed = None;
    for split in splits {
        if let Some(grouped) = split.grouped()? {
            return split.joined(join, grouped, groups, aggregate).map(Some);
        }
        if hashed.is_none() && split.saves_work(&groups, &join.schema)? {
            hashed = Some(split);
        }
    }
    if asked.iter().any(|expr| may_fail_for_others(expr, &join.schema)) {
        return Ok(None);
    }
    if let Some(split) = hashed {
        let grouped = split.plan()?;
        return split.joined(join, grouped, groups, aggregate).map(Some);
    }
    // A table of names that was joined earlier can be joined last, if no other one is joined by it.
    let has = |plan: &LogicalPlan, exprs: &[Expr]| {
        exprs.iter().flat_map(Expr::column_refs).any(|column| plan.schema().has_column(column))
    };
    let is_wanted = |plan: &LogicalPlan| {
        !matches!(plan, LogicalPlan::Join(_)) && has(plan, &groups) && !has(plan, &asked)
    };
    let Some(join) = lifted(join, &is_wanted)? else { return Ok(None) };
    match Split::new(&join, false, &groups, &asked)? {
        Some(split) if split.saves_work(&groups, &join.schema)? => {
            let grouped = split.plan()?;
            split.joined(&join, grouped, groups, aggregate).map(Some)
        }
        _ => Ok(None),
    }
}

/// Whether an aggregate may fail for rows that find none in a join, and not for the others.
fn may_fail_for_others(expr: &Expr, joined: &DFSchema) -> bool {
    let Expr::AggregateFunction(function) = expr else { return true };
    let parts = function.params.args.iter().chain(function.params.filter.as_deref());
    let is_long = |arg: &Expr| match arg.get_type(joined) {
        Ok(DataType::Decimal128(digits, _)) => digits > DIGITS_MOST,
        Ok(of) => of.is_decimal(),
        Err(_) => true,
    };
    parts.clone().any(|part| may_fail(part, joined)) || function.params.args.iter().any(is_long)
}

/// An aggregation of one side of a join, and how its results become those of the join.
struct Split {
    side: Arc<LogicalPlan>,
    is_left: bool,
    joined: DFSchemaRef,
    keys: Vec<Expr>,
    parts: Parts,
    /// Whether the other side says what is aggregated.
    chooses: bool,
    /// About which share of the groups finds rows of the other side.
    share: f64,
    /// About how many rows a group has.
    rows: f64,
}

impl Split {
    fn new(join: &Join, is_left: bool, groups: &[Expr], asked: &[Expr]) -> Result<Option<Self>> {
        let (side, other) = if is_left { (&join.left, &join.right) } else { (&join.right, &join.left) };
        let (keys, parts) = (Vec::new(), Parts::default());
        let (side, joined) = (side.clone(), join.schema.clone());
        let mut split = Self { side, is_left, joined, keys, parts, chooses: false, share: 0.0, rows: 0.0 };
        for (left, right) in &join.on {
            match if is_left { left } else { right } {
                Expr::Column(column) => split.add_key(column),
                _ => return Ok(None),
            }
        }
        split.share = estimate::rows(other) / estimate::combinations(&split.side, &split.keys);
        if split.share < SHARE_LEAST {
            return Ok(None);
        }
        let columns = groups.iter().flat_map(Expr::column_refs);
        let side = split.side.clone();
        columns.filter(|column| side.schema().has_column(column)).for_each(|column| split.add_key(column));
        for expr in asked {
            if split.add(expr)?.is_none() {
                return Ok(None);
            }
        }
        split.rows = estimate::rows(&split.side) / estimate::combinations(&split.side, &split.keys);
        Ok((split.rows >= ROWS_LEAST_HASHED).then_some(split))
    }

    fn add_key(&mut self, column: &Column) {
        let key = Expr::Column(column.clone());
        if !self.keys.contains(&key) {
            self.keys.push(key);
        }
    }

    /// `None` if the aggregate is not of this side, or not one that can be put together.
    fn add(&mut self, expr: &Expr) -> Result<Option<()>> {
        let schema = self.side.schema().clone();
        if !expr.column_refs().into_iter().all(|column| schema.has_column(column)) {
            return self.add_chosen(expr);
        }
        if matches!(expr, Expr::AggregateFunction(function) if function.params.distinct) {
            expr.column_refs().into_iter().for_each(|column| self.add_key(column));
        }
        self.parts.add(expr, &schema)
    }

    fn add_chosen(&mut self, expr: &Expr) -> Result<Option<()>> {
        if may_fail_for_others(expr, &self.joined) {
            return Ok(None);
        }
        let Some(chosen) = Chosen::of(expr, self.side.schema()) else { return Ok(None) };
        self.chooses = true;
        self.parts.add_chosen(chosen, self.side.schema()).map(Some)
    }

    /// The groups of the side.
    fn plan(&self) -> Result<LogicalPlan> {
        LogicalPlanBuilder::from(self.side.clone()).aggregate(self.keys.clone(), self.parts.first())?.build()
    }

    /// Whether texts of the other side need not be hashed, nor choices be made, for each row if the side is grouped by what are no texts.
    fn saves_work(&self, groups: &[Expr], joined: &DFSchema) -> Result<bool> {
        let side = self.side.schema();
        let is_text =
            |expr: &Expr, schema: &DFSchema| Ok::<_, DataFusionError>(expr.get_type(schema)?.is_string());
        for key in &self.keys {
            if is_text(key, side)? {
                return Ok(false);
            }
        }
        if self.chooses {
            return Ok(self.share >= SHARE_LEAST_HASHED);
        }
        for group in groups {
            let is_of_other = !group.column_refs().into_iter().all(|column| side.has_column(column));
            if is_of_other && is_text(group, joined)? {
                return Ok(self.share >= SHARE_LEAST_HASHED);
            }
        }
        Ok(false)
    }

    /// The groups of the side, if a storage computes them.
    fn grouped(&self) -> Result<Option<LogicalPlan>> {
        if self.rows < ROWS_LEAST {
            return Ok(None);
        }
        let plan = self.plan()?;
        let LogicalPlan::Aggregate(aggregate) = &plan else { return Ok(None) };
        match in_storage(aggregate)? {
            Some(plan) => Ok(Some(plan)),
            None => grouped_first(aggregate),
        }
    }

    /// The join with the groups in the place of their side, put together, with the columns of the aggregation before.
    fn joined(
        self,
        join: &Join,
        grouped: LogicalPlan,
        groups: Vec<Expr>,
        before: &Aggregate,
    ) -> Result<LogicalPlan> {
        let grouped = Arc::new(grouped);
        let (left, right) = match self.is_left {
            true => (grouped, join.right.clone()),
            false => (join.left.clone(), grouped),
        };
        let joined = joined(left, right, join.on.clone(), join)?;
        let joined = LogicalPlanBuilder::from(LogicalPlan::Join(joined));

        // Two columns of a projection may be the same column below it.
        let mut different: Vec<Expr> = Vec::new();
        let places: Vec<usize> = groups.into_iter().map(|group| place_of(group, &mut different)).collect();
        self.parts.wholes(joined, different, &places, before)
    }
}
