//! Groups are made before the join where a storage makes them out of what it stores.
//!
//! Many statements group a large table by a column of a small one: flights by the name of their airline. Joined first, each flight gets its
//! name, and names are hashed; but all flights of one airline have the same key of the small table, so they can be grouped by that key, in
//! the storage, on the codes of their dictionaries, and the few groups be joined and put together. (Yan, Larson: Eager aggregation and lazy
//! aggregation, VLDB 1995.)
//!
//! The join may be of any multiplicity: what is equal in the key finds the same rows. It has to be an inner one by columns of the large
//! side, which alone the aggregates are about. `count` becomes a sum of counts, `avg` a sum by a count; what takes different values only
//! (`DISTINCT`) is grouped by them, too, and stays as it is. Joins below joins are gone through in the same way.

use std::sync::Arc;

use arrow::datatypes::DataType;
use datafusion::{
    common::{Column, DFSchema, DataFusionError, JoinType, Result, tree_node::Transformed},
    functions::core::expr_fn::coalesce,
    functions_aggregate::expr_fn::count,
    logical_expr::{
        Aggregate, Cast, Expr, ExprSchemable, Join, LogicalPlan, LogicalPlanBuilder, cast,
        expr::{AggregateFunction, AggregateFunctionParams},
        lit,
    },
    optimizer::{ApplyOrder, OptimizerConfig, OptimizerRule},
};

use super::estimate;
use crate::{
    numbers::{fitted_sum, sum},
    projected::Projected,
    table::in_storage,
};

/// If the other side leaves less than this share of the keys, the storage would do much for groups that nobody asks for.
const SHARE_LEAST: f64 = 0.1;
/// With fewer rows for each group the join is hardly less work behind it.
const ROWS_LEAST: f64 = 8.0;
/// Sums of integers, of which none is too large.
const WIDE: DataType = DataType::Decimal128(38, 0);

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
    let is_plain = join.join_type == JoinType::Inner && join.filter.is_none() && !join.null_aware;
    if !is_plain || join.on.is_empty() {
        return Ok(None);
    }
    let in_join = |expr: &Expr| below.resolved(expr.clone());
    let groups = aggregate.group_expr.iter().map(in_join).collect::<Result<Vec<_>>>()?;
    let asked = aggregate.aggr_expr.iter().map(in_join).collect::<Result<Vec<_>>>()?;
    if groups.iter().chain(&asked).any(|expr| expr.is_volatile() || matches!(expr, Expr::GroupingSet(_))) {
        return Ok(None);
    }
    for is_left in [false, true] {
        let Some(split) = Split::new(join, is_left, &groups, &asked)? else { continue };
        let Some(grouped) = split.grouped()? else { continue };
        return split.joined(join, grouped, groups, aggregate).map(Some);
    }
    Ok(None)
}

/// An aggregation of one side of a join, and how its results become those of the join.
struct Split {
    side: Arc<LogicalPlan>,
    is_left: bool,
    keys: Vec<Expr>,
    parts: Vec<Expr>,
    wholes: Vec<Whole>,
}

/// How an aggregate of the join comes from the parts, which are counted.
enum Whole {
    Count(usize),
    Sum(usize),
    Extreme(usize, AggregateFunction),
    Mean {
        sum: usize,
        count: usize,
    },
    /// As it is, for it only looks at which values there are.
    Same(Expr),
}

impl Split {
    fn new(join: &Join, is_left: bool, groups: &[Expr], asked: &[Expr]) -> Result<Option<Self>> {
        let (side, other) = if is_left { (&join.left, &join.right) } else { (&join.right, &join.left) };
        let mut split =
            Self { side: side.clone(), is_left, keys: Vec::new(), parts: Vec::new(), wholes: Vec::new() };
        for (left, right) in &join.on {
            match if is_left { left } else { right } {
                Expr::Column(column) => split.add_key(column),
                _ => return Ok(None),
            }
        }
        let share = estimate::rows(other) / estimate::combinations(side, &split.keys);
        if share < SHARE_LEAST {
            return Ok(None);
        }
        let columns = groups.iter().flat_map(Expr::column_refs);
        columns.filter(|column| side.schema().has_column(column)).for_each(|column| split.add_key(column));
        for expr in asked {
            if split.add(expr)?.is_none() {
                return Ok(None);
            }
        }
        let groups = estimate::combinations(side, &split.keys);
        Ok((estimate::rows(side) >= groups * ROWS_LEAST).then_some(split))
    }

    fn add_key(&mut self, column: &Column) {
        let key = Expr::Column(column.clone());
        if !self.keys.contains(&key) {
            self.keys.push(key);
        }
    }

    /// `None` if the aggregate is not of this side, or not one that can be put together.
    fn add(&mut self, expr: &Expr) -> Result<Option<()>> {
        let Expr::AggregateFunction(function) = expr else { return Ok(None) };
        let schema = self.side.schema().clone();
        if !expr.column_refs().into_iter().all(|column| schema.has_column(column)) {
            return Ok(None);
        }
        let AggregateFunctionParams { args, distinct, filter, order_by, null_treatment } = &function.params;
        let [arg] = &args[..] else { return Ok(None) };
        if !order_by.is_empty() || null_treatment.is_some() {
            return Ok(None);
        }
        let filtered = |part: Expr| match part {
            Expr::AggregateFunction(part) => {
                let params = AggregateFunctionParams { filter: filter.clone(), ..part.params };
                Expr::AggregateFunction(AggregateFunction { params, ..part })
            }
            part => part,
        };
        let whole = match function.func.name() {
            _ if *distinct => {
                expr.column_refs().into_iter().for_each(|column| self.add_key(column));
                Whole::Same(expr.clone())
            }
            "count" => Whole::Count(self.part(expr.clone())),
            "sum" => match whole_number(arg, &schema)? {
                Some(arg) => Whole::Sum(self.part(filtered(sum(cast(arg, WIDE))))),
                None => Whole::Sum(self.part(expr.clone())),
            },
            "min" | "max" => Whole::Extreme(self.part(expr.clone()), function.clone()),
            "avg"
                if matches!(
                    arg.get_type(&schema)?,
                    DataType::Float64 | DataType::Int64 | DataType::UInt64
                ) =>
            {
                let (summed, counted) = match whole_number(arg, &schema)? {
                    Some(arg) => (cast(arg.clone(), WIDE), arg),
                    None => (arg.clone(), arg.clone()),
                };
                Whole::Mean {
                    sum: self.part(filtered(sum(summed))),
                    count: self.part(filtered(count(counted))),
                }
            }
            _ => return Ok(None),
        };
        self.wholes.push(whole);
        Ok(Some(()))
    }

    fn part(&mut self, expr: Expr) -> usize {
        place_of(expr, &mut self.parts)
    }

    /// The column of a part.
    fn column_of(&self, number: usize) -> Column {
        let name = self.parts[number].schema_name().to_string();
        // Casts have no names.
        let is_taken = self.parts[..number].iter().any(|part| part.schema_name().to_string() == name);
        Column::new(Some("grouped"), if is_taken { format!("{name} #{number}") } else { name })
    }

    /// The groups of the side, if a storage computes them.
    fn grouped(&self) -> Result<Option<LogicalPlan>> {
        let named = self.parts.iter().enumerate().map(|(number, part)| {
            let Column { relation, name, .. } = self.column_of(number);
            part.clone().alias_qualified(relation, name)
        });
        let side = LogicalPlanBuilder::from(self.side.clone());
        let plan = side.aggregate(self.keys.clone(), named.collect::<Vec<_>>())?.build()?;
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
        let joined = Join::try_new(
            left,
            right,
            join.on.clone(),
            None,
            JoinType::Inner,
            join.join_constraint,
            join.null_equality,
            false,
        )?;
        let joined = LogicalPlanBuilder::from(LogicalPlan::Join(joined));

        let part = |number: usize| Expr::Column(self.column_of(number));
        // Two columns of a projection may be the same column below it.
        let mut different: Vec<Expr> = Vec::new();
        let places: Vec<usize> = groups.into_iter().map(|group| place_of(group, &mut different)).collect();
        let mut wholes: Vec<Expr> = Vec::new();
        let mut whole = |expr: Expr| different.len() + place_of(expr, &mut wholes);
        let results: Vec<Vec<usize>> = self
            .wholes
            .iter()
            .map(|of| match of {
                Whole::Count(number) | Whole::Sum(number) => vec![whole(sum(part(*number)))],
                Whole::Mean { sum: total, count } => vec![whole(sum(part(*total))), whole(sum(part(*count)))],
                Whole::Extreme(number, function) => {
                    let params = AggregateFunctionParams {
                        args: vec![part(*number)],
                        filter: None,
                        ..function.params.clone()
                    };
                    vec![whole(Expr::AggregateFunction(AggregateFunction { params, ..function.clone() }))]
                }
                Whole::Same(expr) => vec![whole(expr.clone())],
            })
            .collect();
        let count = places.len();
        let plan = joined.aggregate(different, wholes)?.build()?;

        let column = |place: usize| Expr::Column(Column::from(plan.schema().qualified_field(place)));
        let fields = before.schema.iter().enumerate();
        let columns = fields.map(|(place, (qualifier, field))| {
            let expr = match place.checked_sub(count) {
                None => column(places[place]),
                Some(number) => {
                    let of: Vec<Expr> = results[number].iter().map(|place| column(*place)).collect();
                    let expr = match &self.wholes[number] {
                        // Without groups there may be no row to count.
                        Whole::Count(_) if count == 0 => coalesce(vec![of[0].clone(), lit(0i64)]),
                        // Where nothing was counted the sum is NULL.
                        Whole::Mean { .. } => {
                            let [sum, count] = [0, 1].map(|place| cast(of[place].clone(), DataType::Float64));
                            sum / count
                        }
                        Whole::Sum(_) if field.data_type().is_integer() => {
                            fitted_sum(of[0].clone(), field.data_type().clone())
                        }
                        _ => of[0].clone(),
                    };
                    match expr.get_type(plan.schema())? == *field.data_type() {
                        true => expr,
                        false => cast(expr, field.data_type().clone()),
                    }
                }
            };
            Ok(expr.alias_qualified(qualifier.cloned(), field.name()))
        });
        let columns = columns.collect::<Result<Vec<_>>>()?;
        LogicalPlanBuilder::from(plan).project(columns)?.build()
    }
}

/// Where an expression stands among others, behind which it is put if it is not there.
fn place_of(expr: Expr, all: &mut Vec<Expr>) -> usize {
    all.iter().position(|known| *known == expr).unwrap_or_else(|| {
        all.push(expr);
        all.len() - 1
    })
}

/// What is summed, if it is a whole number: without the casts that make a longer one or a double of it.
fn whole_number(arg: &Expr, schema: &DFSchema) -> Result<Option<Expr>> {
    let is_whole = |expr: &Expr| Ok::<_, DataFusionError>(expr.get_type(schema)?.is_integer());
    if let Expr::Cast(Cast { expr, field }) = arg {
        let to = field.data_type();
        let is_wider = to.is_integer() && to.primitive_width() > expr.get_type(schema)?.primitive_width();
        if is_whole(expr)? && (is_wider || *to == DataType::Float64) {
            return whole_number(expr, schema);
        }
    }
    Ok(is_whole(arg)?.then(|| arg.clone()))
}
