//! Outer joins, and joins for whether there is a partner, with a subquery in their condition that is about columns of both sides.
//!
//! The pairs that fulfil the condition are those of an inner join with a filter behind it. The rows of both sides are numbered, and by the
//! numbers the pairs come to the rows that have none:
//!
//! | join | rows |
//! |---|---|
//! | LEFT | the left side, with its pairs by LEFT JOIN |
//! | RIGHT | the right side, with its pairs by LEFT JOIN |
//! | FULL | those of LEFT, and the rows of the right side that are in no pair |
//! | SEMI, ANTI | the rows of their side that are in a pair, or in none |
//!
//! A side is computed once for both of its mentions: its numbers have to be the same.

use std::sync::Arc;

use datafusion::{
    common::{Column, NullEquality, Result, ScalarValue, not_impl_err},
    functions_window::row_number::row_number_udwf,
    logical_expr::{
        Expr, Join, JoinType, LogicalPlan, LogicalPlanBuilder, Projection, SubqueryAlias, Union, Window,
        WindowFunctionDefinition, expr::WindowFunction, lit,
    },
};

use super::{
    names::Names,
    operator::{columns, in_join, named},
};
use crate::optimizer::ONCE;

/// The rows of one side, and their number.
struct Side {
    plan: LogicalPlan,
    number: Column,
    width: usize,
}

/// The join by its pairs. `condition` is all of it.
pub(super) fn by_pairs(join: Join, condition: Expr, names: &Names) -> Result<LogicalPlan> {
    use JoinType as J;
    let schema = join.schema.clone();
    let left = numbered(&join.left, names)?;
    let right = numbered(&join.right, names)?;
    let inner = Join::try_new(
        Arc::new(left.plan.clone()),
        Arc::new(right.plan.clone()),
        join.on.clone(),
        Some(condition),
        J::Inner,
        join.join_constraint,
        join.null_equality,
        false,
    )?;
    let pairs = in_join(inner, names)?;
    let (of_left, of_right) = (0..=left.width, left.width + 1..=left.width + 1 + right.width);
    let pairs_of = |kept: std::ops::Range<usize>, number: usize| -> Result<(LogicalPlan, Column)> {
        let name = names.column();
        let mut exprs = columns(&pairs, kept);
        exprs.push(columns(&pairs, [number]).remove(0).alias(&name.name));
        Ok((LogicalPlan::Projection(Projection::try_new(exprs, Arc::new(pairs.clone()))?), name))
    };
    let joined = |side: &Side, pairs: (LogicalPlan, Column), kind: JoinType| {
        let keys = (vec![side.number.clone()], vec![pairs.1]);
        LogicalPlanBuilder::from(side.plan.clone())
            .join_detailed(pairs.0, kind, keys, None, NullEquality::NullEqualsNothing)?
            .build()
    };
    let right_columns = *of_right.start()..*of_right.end();
    match join.join_type {
        J::Left | J::Full => {
            let rows = joined(&left, pairs_of(right_columns, *of_left.end())?, J::Left)?;
            let shown = (0..left.width).chain(left.width + 1..left.width + 1 + right.width);
            let exprs = columns(&rows, shown);
            let rows = named(exprs, rows, &schema)?;
            if join.join_type == J::Left {
                return Ok(rows);
            }
            let alone = joined(&right, pairs_of(0..0, *of_right.end())?, J::LeftAnti)?;
            let mut exprs = Vec::with_capacity(schema.fields().len());
            for field in &schema.fields()[..left.width] {
                exprs.push(lit(ScalarValue::try_from(field.data_type())?));
            }
            exprs.extend(columns(&alone, 0..right.width));
            let alone = named(exprs, alone, &schema)?;
            let all = LogicalPlan::Union(Union::try_new(vec![Arc::new(rows), Arc::new(alone)])?);
            let exprs = columns(&all, 0..schema.fields().len());
            named(exprs, all, &schema)
        }
        J::Right => {
            let rows = joined(&right, pairs_of(0..left.width, *of_right.end())?, J::Left)?;
            let shown = (right.width + 1..right.width + 1 + left.width).chain(0..right.width);
            let exprs = columns(&rows, shown);
            named(exprs, rows, &schema)
        }
        kind @ (J::LeftSemi | J::LeftAnti) => {
            let rows = joined(&left, pairs_of(0..0, *of_left.end())?, kind)?;
            let exprs = columns(&rows, 0..left.width);
            named(exprs, rows, &schema)
        }
        J::RightSemi | J::RightAnti => {
            let kind = if join.join_type == J::RightSemi { J::LeftSemi } else { J::LeftAnti };
            let rows = joined(&right, pairs_of(0..0, *of_right.end())?, kind)?;
            let exprs = columns(&rows, 0..right.width);
            named(exprs, rows, &schema)
        }
        other => not_impl_err!("a subquery about both sides in the condition of a {other} join"),
    }
}

/// The rows of a side with their numbers behind them, which are the same for each mention.
fn numbered(side: &Arc<LogicalPlan>, names: &Names) -> Result<Side> {
    let width = side.schema().fields().len();
    let number = WindowFunction::new(WindowFunctionDefinition::WindowUDF(row_number_udwf()), Vec::new());
    let number = Expr::WindowFunction(Box::new(number)).alias(names.column().name);
    let windows = LogicalPlan::Window(Window::try_new(vec![number], side.clone())?);
    let own = names.columns(width + 1);
    let renamed =
        columns(&windows, 0..=width).into_iter().zip(&own).map(|(expr, name)| expr.alias(&name.name));
    let renamed = Projection::try_new(renamed.collect(), Arc::new(windows))?;
    let alias = format!("{ONCE}{}", names.column().name);
    let once = SubqueryAlias::try_new(Arc::new(LogicalPlan::Projection(renamed)), alias)?;
    let once = LogicalPlan::SubqueryAlias(once);
    let number = names.column();
    let mut exprs = columns(&once, 0..=width);
    let last = exprs.pop().expect("there is the number").alias(&number.name);
    let shown = exprs.into_iter().zip(side.schema().iter());
    let mut exprs: Vec<Expr> =
        shown.map(|(expr, (table, field))| expr.alias_qualified(table.cloned(), field.name())).collect();
    exprs.push(last);
    let plan = LogicalPlan::Projection(Projection::try_new(exprs, Arc::new(once))?);
    Ok(Side { plan, number, width })
}
