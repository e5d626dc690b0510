//! Aggregates in two stages: of the first come parts, of these the wholes, as if there had been one.
//!
//! `count` becomes a sum of counts, `avg` a sum by a count; `min`, `max` and sums are what they are. Integers are summed in 128 bits on the
//! way, so that a sum fails where it would have failed.

use arrow::datatypes::DataType;
use datafusion::{
    common::{Column, DFSchema, DataFusionError, Result},
    functions::core::expr_fn::coalesce,
    functions_aggregate::expr_fn::count,
    logical_expr::{
        Aggregate, Cast, Expr, ExprSchemable, LogicalPlan, LogicalPlanBuilder, cast,
        expr::{AggregateFunction, AggregateFunctionParams},
        lit,
    },
};

use super::chosen::Chosen;
use crate::numbers::{fitted_sum, sum};

/// Sums of integers, of which none is too large.
const WIDE: DataType = DataType::Decimal128(38, 0);
/// The relation that columns of parts are of.
const RELATION: &str = "grouped";

/// See the module.
#[derive(Default)]
pub(super) struct Parts {
    parts: Vec<Expr>,
    wholes: Vec<Whole>,
}

/// How an aggregate comes from the parts, of which some are counted, others are expressions of the second stage.
enum Whole {
    Count(usize),
    Sum(Expr),
    Extreme(Expr, AggregateFunction),
    Mean {
        sum: usize,
        count: usize,
    },
    /// As it is, for it only looks at which values there are.
    Same(Expr),
}

/// Whether an expression is about parts.
pub(super) fn is_of_parts(expr: &Expr) -> bool {
    let is_part = |column: &&Column| column.relation.as_ref().is_some_and(|of| of.table() == RELATION);
    expr.column_refs().iter().any(is_part)
}

impl Parts {
    /// Adds an aggregate over rows of this schema; `None` if it cannot be put together. What is `DISTINCT` is left as it is, for those
    /// who group by its columns, too.
    pub(super) fn add(&mut self, expr: &Expr, schema: &DFSchema) -> Result<Option<()>> {
        let Expr::AggregateFunction(function) = expr else { return Ok(None) };
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
            _ if *distinct => Whole::Same(expr.clone()),
            "count" => Whole::Count(self.part(expr.clone())),
            "sum" => {
                let part = match whole_number(arg, schema)? {
                    Some(arg) => filtered(sum(cast(arg, WIDE))),
                    None => expr.clone(),
                };
                let number = self.part(part);
                Whole::Sum(Expr::Column(self.column_of(number)))
            }
            "min" | "max" => {
                let number = self.part(expr.clone());
                Whole::Extreme(Expr::Column(self.column_of(number)), function.clone())
            }
            "avg"
                if matches!(
                    arg.get_type(schema)?,
                    DataType::Float64 | DataType::Int64 | DataType::UInt64
                ) =>
            {
                let (summed, counted) = match whole_number(arg, schema)? {
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

    /// Adds an aggregate over rows of this schema that rows of others choose.
    pub(super) fn add_chosen(&mut self, chosen: Chosen, schema: &DFSchema) -> Result<()> {
        let function = chosen.function.clone();
        let is_sum = function.func.name() == "sum";
        let choice = chosen.of_parts(schema, |value| {
            let aggregate = match whole_number(value, schema)?.filter(|_| is_sum) {
                Some(value) => sum(cast(value, WIDE)),
                None => {
                    let params =
                        AggregateFunctionParams { args: vec![value.clone()], ..function.params.clone() };
                    Expr::AggregateFunction(AggregateFunction { params, ..function.clone() })
                }
            };
            let number = self.part(aggregate.clone());
            Ok((aggregate, Expr::Column(self.column_of(number))))
        })?;
        self.wholes.push(if is_sum { Whole::Sum(choice) } else { Whole::Extreme(choice, function) });
        Ok(())
    }

    fn part(&mut self, expr: Expr) -> usize {
        place_of(expr, &mut self.parts)
    }

    /// The column of a part.
    fn column_of(&self, number: usize) -> Column {
        let name = self.parts[number].schema_name().to_string();
        // Casts have no names.
        let is_taken = self.parts[..number].iter().any(|part| part.schema_name().to_string() == name);
        Column::new(Some(RELATION), if is_taken { format!("{name} #{number}") } else { name })
    }

    /// The aggregates of the first stage, under the names that the second knows.
    pub(super) fn first(&self) -> Vec<Expr> {
        let named = self.parts.iter().enumerate().map(|(number, part)| {
            let Column { relation, name, .. } = self.column_of(number);
            part.clone().alias_qualified(relation, name)
        });
        named.collect()
    }

    /// The second stage over rows of the first: the groups, and the wholes. Returns also at which of its columns the results are made.
    fn second(&self, rows: LogicalPlanBuilder, groups: Vec<Expr>) -> Result<(LogicalPlan, Vec<Vec<usize>>)> {
        let part = |number: usize| Expr::Column(self.column_of(number));
        let mut wholes: Vec<Expr> = Vec::new();
        let mut whole = |expr: Expr| place_of(expr, &mut wholes);
        let results: Vec<Vec<usize>> = self
            .wholes
            .iter()
            .map(|of| match of {
                Whole::Count(number) => vec![whole(sum(part(*number)))],
                Whole::Sum(of) => vec![whole(sum(of.clone()))],
                Whole::Mean { sum: total, count } => vec![whole(sum(part(*total))), whole(sum(part(*count)))],
                Whole::Extreme(of, function) => {
                    let params = AggregateFunctionParams {
                        args: vec![of.clone()],
                        filter: None,
                        ..function.params.clone()
                    };
                    vec![whole(Expr::AggregateFunction(AggregateFunction { params, ..function.clone() }))]
                }
                Whole::Same(expr) => vec![whole(expr.clone())],
            })
            .collect();
        let plan = rows.aggregate(groups, wholes)?.build()?;
        Ok((plan, results))
    }

    /// Groups rows of the first stage by `groups`, and shows the columns of the aggregation before: its groups at these places of the
    /// groups now, and the aggregates that were added.
    pub(super) fn wholes(
        &self,
        rows: LogicalPlanBuilder,
        groups: Vec<Expr>,
        places: &[usize],
        before: &Aggregate,
    ) -> Result<LogicalPlan> {
        let (plan, results) = self.second(rows, groups)?;
        let aggregates = results.iter().flatten().max().map_or(0, |last| last + 1);
        let groups = plan.schema().fields().len() - aggregates;
        let has_whole = before.group_expr.iter().all(|group| matches!(group, Expr::GroupingSet(_)));
        let column = |place: usize| Expr::Column(Column::from(plan.schema().qualified_field(place)));
        let fields = before.schema.iter().enumerate();
        let columns = fields.map(|(place, (qualifier, field))| {
            let expr = match place.checked_sub(places.len()) {
                None => column(places[place]),
                Some(number) => {
                    let of: Vec<Expr> = results[number].iter().map(|place| column(groups + place)).collect();
                    let expr = match &self.wholes[number] {
                        // Where all rows are one group there may be none to count.
                        Whole::Count(_) if has_whole => coalesce(vec![of[0].clone(), lit(0i64)]),
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
pub(super) fn place_of(expr: Expr, all: &mut Vec<Expr>) -> usize {
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
