//! Groups and aggregates of texts with a collation.
//!
//! Groups are made of keys. The text that stands for a group is the least of its texts by code points, so that it does not depend on the
//! order of the rows. `min` and `max` give the least of those that are equal, too.

use std::sync::Arc;

use datafusion::{
    common::{
        Column, DFSchema, Result, plan_err,
        tree_node::{Transformed, TreeNode, TreeNodeRecursion},
    },
    functions_aggregate::{first_last::first_value_udaf, min_max::min_udaf},
    logical_expr::{
        Aggregate, Expr, ExprSchemable, LogicalPlan, LogicalPlanBuilder, Projection,
        expr::{AggregateFunction, Sort},
        lit, when,
    },
    scalar::ScalarValue,
};

use super::{
    Collation, collate,
    compare::{compared, key_one, of_order},
};

/// Begins the names of keys, and of the texts that stand for groups.
const KEY: &str = "\u{1}key of ";
const TEXT: &str = "\u{1}text of ";

/// A group whose texts are compared by a collation.
struct Keyed {
    group: Expr,
    how: Collation,
    key: Expr,
    text: Expr,
}

/// The groups of an aggregate, with those of its sets.
fn groups(aggregate: &Aggregate) -> Vec<Expr> {
    match &aggregate.group_expr[..] {
        [Expr::GroupingSet(sets)] => sets.distinct_expr().into_iter().cloned().collect(),
        groups => groups.to_vec(),
    }
}

/// An aggregate by keys, if it has groups of texts with a collation, or aggregates that compare such.
///
/// # Errors
/// What cannot be said with a collation.
pub(super) fn of_aggregate(aggregate: Aggregate) -> Result<Transformed<LogicalPlan>> {
    let schema = aggregate.input.schema().clone();
    let mut keyed: Vec<Keyed> = Vec::new();
    for group in groups(&aggregate) {
        if let Some(how) = of_order(&group, &schema)? {
            let nth = keyed.len();
            let named = |what: &str| Expr::Column(Column::new_unqualified(format!("{what}{nth}")));
            keyed.push(Keyed { group, how, key: named(KEY), text: named(TEXT) });
        }
    }
    let mut asked = Vec::with_capacity(aggregate.aggr_expr.len());
    let mut is_changed = !keyed.is_empty();
    for (nth, expr) in aggregate.aggr_expr.iter().enumerate() {
        let changed = of_expression(expr.clone(), &schema)?;
        is_changed |= changed.transformed;
        // A name of its own: what is asked for twice is told apart by its expression.
        asked.push(if changed.transformed {
            changed.data.alias(format!("{KEY}aggregate {nth}"))
        } else {
            changed.data
        });
    }
    if !is_changed {
        return Ok(Transformed::no(LogicalPlan::Aggregate(aggregate)));
    }
    let Aggregate { input, group_expr, schema: output, .. } = aggregate;
    let given = schema.columns().into_iter().map(Expr::Column);
    let key =
        |(nth, of): (usize, &Keyed)| Ok(of.how.key(of.group.clone(), &schema)?.alias(format!("{KEY}{nth}")));
    let keys = keyed.iter().enumerate().map(key).collect::<Result<Vec<_>>>()?;
    let rows = match keyed.is_empty() {
        true => input,
        false => Arc::new(LogicalPlanBuilder::from(input).project(given.chain(keys))?.build()?),
    };
    let by_key = |expr: Expr| match keyed.iter().find(|of| of.group == expr) {
        Some(of) => Transformed::new(of.key.clone(), true, TreeNodeRecursion::Jump),
        None => Transformed::no(expr),
    };
    let group_expr = group_expr.into_iter().map(|expr| match expr {
        Expr::GroupingSet(_) => Ok(expr.transform_down(|expr| Ok(by_key(expr)))?.data),
        expr => Ok(by_key(expr).data),
    });
    let group_expr = group_expr.collect::<Result<Vec<_>>>()?;
    let least =
        keyed.iter().enumerate().map(|(nth, of)| least_of(of.group.clone()).alias(format!("{TEXT}{nth}")));
    let asked: Vec<_> = asked.into_iter().chain(least).collect();
    let made = LogicalPlan::Aggregate(Aggregate::try_new(rows, group_expr, asked)?);
    named_as(made, &output, &keyed).map(Transformed::yes)
}

fn least_of(text: Expr) -> Expr {
    Expr::AggregateFunction(AggregateFunction::new_udf(min_udaf(), vec![text], false, None, Vec::new(), None))
}

/// The columns of an aggregate by keys, as those of the aggregate before.
fn named_as(made: LogicalPlan, output: &DFSchema, keyed: &[Keyed]) -> Result<LogicalPlan> {
    let columns = made.schema().columns();
    let texts = keyed.len();
    let mut exprs = Vec::with_capacity(output.fields().len());
    for (place, (table, field)) in output.iter().enumerate() {
        let column = &columns[place];
        let is_key = column.relation.is_none() && column.name.starts_with(KEY);
        let of = is_key.then(|| keyed.iter().find(|of| of.key == Expr::Column(column.clone()))).flatten();
        let value = match of {
            // In sets that do not have the group it is NULL, as its key is.
            Some(of) => {
                let null = lit(ScalarValue::try_from(of.text.get_type(made.schema())?)?);
                collate(when(of.key.clone().is_null(), null).otherwise(of.text.clone())?, of.how)
            }
            None => Expr::Column(column.clone()),
        };
        exprs.push(value.alias_qualified(table.cloned(), field.name()));
    }
    debug_assert_eq!(columns.len(), output.fields().len() + texts);
    Ok(LogicalPlan::Projection(Projection::try_new(exprs, Arc::new(made))?))
}

/// An aggregate function, and what is within it, by collations.
fn of_expression(expr: Expr, schema: &DFSchema) -> Result<Transformed<Expr>> {
    let within = compared(expr, schema)?;
    let of_functions = within.data.transform_up(|expr| match expr {
        Expr::AggregateFunction(function) => of_function(function, schema),
        expr => Ok(Transformed::no(expr)),
    })?;
    Ok(Transformed::new_transformed(of_functions.data, within.transformed || of_functions.transformed))
}

fn of_function(mut function: AggregateFunction, schema: &DFSchema) -> Result<Transformed<Expr>> {
    let mut is_changed = false;
    for sort in &mut function.params.order_by {
        is_changed |= key_one(&mut sort.expr, schema)?;
    }
    let name = function.func.name().to_owned();
    let how = match function.params.args.first() {
        Some(first) => of_order(first, schema)?,
        None => None,
    };
    if let Some(how) = how {
        let text = function.params.args[0].clone();
        match &*name {
            "min" | "max" => {
                let by = |expr, asc| Sort { expr, asc, nulls_first: false };
                function.func = first_value_udaf();
                function.params.distinct = false;
                function.params.order_by =
                    vec![by(how.key(text.clone(), schema)?, name == "min"), by(text, true)];
                is_changed = true;
            }
            "count" if function.params.distinct => {
                function.params.args[0] = how.key(text, schema)?;
                is_changed = true;
            }
            _ if function.params.distinct => {
                return plan_err!(
                    "{name}(DISTINCT …) of texts that are compared by {how}: which of equal texts is meant is not said; write \
                     {name}(…) over SELECT DISTINCT"
                );
            }
            _ => {}
        }
    }
    if let ("arg_min" | "arg_max", Some(by)) = (&*name, function.params.args.get_mut(1)) {
        is_changed |= key_one(by, schema)?;
    }
    Ok(Transformed::new_transformed(Expr::AggregateFunction(function), is_changed))
}
