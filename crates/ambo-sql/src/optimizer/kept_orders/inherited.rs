//! The order that the rows of a plan have by a query below, in columns of the plan.

use std::sync::Arc;

use datafusion::{
    common::{Column, Result},
    logical_expr::{Expr, LogicalPlan, Projection, SortExpr, SubqueryAlias},
};

/// Begins the names of columns that are only there for an order.
const KEY: &str = "\u{1}order";

/// The plan with the columns that its order needs, and the order; `None` if it has none.
pub(super) fn inherited(plan: &LogicalPlan) -> Result<Option<(LogicalPlan, Vec<SortExpr>)>> {
    match plan {
        LogicalPlan::Sort(sort) => Ok(Some((plan.clone(), sort.expr.clone()))),
        LogicalPlan::Filter(_) | LogicalPlan::Limit(_) => {
            let Some((input, keys)) = inherited(plan.inputs()[0])? else { return Ok(None) };
            let plan = plan.with_new_exprs(plan.expressions(), vec![input])?.recompute_schema()?;
            Ok(Some((plan, keys)))
        }
        LogicalPlan::Projection(projection) => {
            let Some((input, keys)) = inherited(&projection.input)? else { return Ok(None) };
            with_keys(projection.expr.clone(), input, keys).map(Some)
        }
        LogicalPlan::SubqueryAlias(SubqueryAlias { input, alias, .. }) => {
            let Some((input, keys)) = inherited(input)? else { return Ok(None) };
            let columns = input.schema().iter().map(|field| Expr::Column(Column::from(field))).collect();
            let (input, keys) = match keys.iter().all(|key| matches!(key.expr, Expr::Column(_))) {
                true => (input, keys),
                false => with_keys(columns, input, keys)?,
            };
            let inner = input.schema().clone();
            let plan = LogicalPlan::SubqueryAlias(SubqueryAlias::try_new(Arc::new(input), alias.clone())?);
            let outside = |mut key: SortExpr| -> Result<SortExpr> {
                if let Expr::Column(column) = &key.expr {
                    let place = inner.index_of_column(column)?;
                    key.expr = Expr::Column(Column::from(plan.schema().qualified_field(place)));
                }
                Ok(key)
            };
            let keys = keys.into_iter().map(outside).collect::<Result<_>>()?;
            Ok(Some((plan, keys)))
        }
        _ => Ok(None),
    }
}

/// A list of expressions over rows, and what of it the rows are ordered by: more columns, where it is not there.
fn with_keys(
    mut exprs: Vec<Expr>,
    input: LogicalPlan,
    keys: Vec<SortExpr>,
) -> Result<(LogicalPlan, Vec<SortExpr>)> {
    let mut places = Vec::with_capacity(keys.len());
    for (nth, key) in keys.iter().enumerate() {
        let place = exprs.iter().position(|expr| expr.clone().unalias() == key.expr);
        places.push(place.unwrap_or(exprs.len()));
        if place.is_none() {
            exprs.push(key.expr.clone().alias(format!("{KEY}{nth}")));
        }
    }
    let plan = LogicalPlan::Projection(Projection::try_new(exprs, Arc::new(input))?);
    let keys = keys.into_iter().zip(places).map(|(key, place)| SortExpr {
        expr: Expr::Column(Column::from(plan.schema().qualified_field(place))),
        ..key
    });
    let keys = keys.collect();
    Ok((plan, keys))
}
