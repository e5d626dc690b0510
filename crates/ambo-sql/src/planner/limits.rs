//! LIMIT and OFFSET that are no numbers: queries, and shares of the rows.
//!
//! What they are is computed when the statement is planned, at the moment of the statement. `LIMIT 20 %` is so many rows of all that the
//! query has, rounded down.

use std::ops::ControlFlow;

use datafusion::sql::sqlparser::ast::{Expr, LimitClause, Query, TableFactor, Value, Visitor, With};

use super::{
    ask::Ask,
    trees::{self, arguments},
};
use crate::{Error, Result, names::written, parse::PERCENT, walk::Walk};

/// Says them as numbers.
pub(super) fn say_limits(query: &mut Query, with: Option<&With>, ask: &Ask<'_>) -> Result<()> {
    let Some(mut clause) = query.limit_clause.take() else { return Ok(()) };
    let (limit, offset) = match &mut clause {
        LimitClause::LimitOffset { limit, offset, .. } => {
            (limit.as_mut(), offset.as_mut().map(|offset| &mut offset.value))
        }
        LimitClause::OffsetCommaLimit { offset, limit } => (Some(limit), Some(offset)),
    };
    let mut is_all = false;
    if let Some(limit) = limit {
        if let Some(share) = share(limit) {
            let rows = rows_of(&share, query, with, ask)?;
            *limit = number(rows);
        } else if has_query(limit) {
            match value_of(limit, "BIGINT", with, ask)? {
                Some(rows) => *limit = number(whole(&rows, "LIMIT")?),
                None => is_all = true,
            }
        }
    }
    if let Some(offset) = offset
        && has_query(offset)
    {
        let rows = value_of(offset, "BIGINT", with, ask)?;
        *offset = number(rows.map_or(Ok(0), |rows| whole(&rows, "OFFSET"))?);
    }
    // NULL is no limit.
    if is_all && let LimitClause::LimitOffset { limit, .. } = &mut clause {
        *limit = None;
    }
    query.limit_clause = Some(clause);
    Ok(())
}

fn number(rows: u64) -> Expr {
    Expr::value(Value::Number(rows.to_string(), false))
}

fn whole(rows: &str, word: &str) -> Result<u64> {
    rows.parse().map_err(|_| Error::invalid(format!("{word} is {rows}: it is at least 0")))
}

/// The share behind LIMIT, if it is one.
fn share(limit: &Expr) -> Option<Expr> {
    let Expr::Function(function) = limit else { return None };
    let is_share = written(&function.name).is_ok_and(|name| name == PERCENT);
    is_share.then(|| arguments(function)?.first().map(|share| (*share).clone())).flatten()
}

fn has_query(expr: &Expr) -> bool {
    struct Queries;
    impl Visitor for Queries {
        type Break = ();

        fn pre_visit_query(&mut self, _: &Query) -> ControlFlow<()> {
            ControlFlow::Break(())
        }
    }
    expr.walk(&mut Queries).is_break()
}

/// The value of an expression, as a text; `None` if it is NULL.
pub(super) fn value_of(
    expr: &Expr,
    data_type: &str,
    with: Option<&With>,
    ask: &Ask<'_>,
) -> Result<Option<String>> {
    let mut query = trees::query("SELECT 1");
    let mut cast = trees::expr(&format!("CAST(1 AS {data_type})"));
    if let Expr::Cast { expr: value, .. } = &mut cast {
        **value = Expr::Nested(Box::new(expr.clone()));
    }
    trees::select(&mut query).projection = vec![trees::named(cast, "rows")];
    query.with = with.cloned();
    Ok(ask.texts(query)?.into_iter().next().and_then(|row| row.into_iter().next().flatten()))
}

/// So many rows of a query are that share of all.
fn rows_of(share: &Expr, query: &Query, with: Option<&With>, ask: &Ask<'_>) -> Result<u64> {
    let share = value_of(share, "DOUBLE", with, ask)?;
    let Some(share) = share.and_then(|share| share.parse::<f64>().ok()) else { return Ok(u64::MAX >> 1) };
    if !(0.0..=100.0).contains(&share) {
        return Err(Error::invalid(format!("LIMIT {share} %: it is between 0 and 100")));
    }
    let mut counting = trees::query("SELECT count(*) FROM (SELECT 1) AS rows");
    if let TableFactor::Derived { subquery, .. } = &mut trees::select(&mut counting).from[0].relation {
        **subquery = Query { with: None, order_by: None, limit_clause: None, fetch: None, ..query.clone() };
    }
    counting.with = with.cloned();
    let all = ask.texts(counting)?.into_iter().next().and_then(|row| row.into_iter().next().flatten());
    let all: f64 = all.and_then(|all| all.parse().ok()).unwrap_or(0.0);
    // A share of a whole number of rows that is whole is not to become less by how doubles are stored.
    let rows = share * all / 100.0;
    Ok(if (rows - rows.round()).abs() < 1e-9 * all.max(1.0) { rows.round() } else { rows.floor() } as u64)
}
