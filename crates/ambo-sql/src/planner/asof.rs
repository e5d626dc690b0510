//! ASOF JOIN: each row of the left side with the one row of the right side that is nearest by an inequality, among those that fulfil the
//! other conditions.
//!
//! The mark in the condition becomes a function around it, by which the optimizer knows the join ([`crate::optimizer`]).

use datafusion::sql::sqlparser::ast::{
    BinaryOperator, Expr, Ident, JoinConstraint, ObjectNamePart, Query, TableFactor, TableWithJoins,
};

use super::{
    row_value::compared,
    trees::{self, all_of, mark},
};
use crate::{
    Error, Result,
    names::about,
    optimizer::ASOF_CONDITION,
    parse::{ASOF, each_select},
};

/// Puts the function around conditions behind ON.
pub(super) fn say_asof(query: &mut Query) -> Result<()> {
    let mut result = Ok(());
    each_select(&mut query.body, &mut |select| {
        if result.is_ok() {
            result = select.from.iter_mut().try_for_each(in_tables);
        }
    });
    result
}

fn in_tables(tables: &mut TableWithJoins) -> Result<()> {
    if let TableFactor::NestedJoin { table_with_joins, .. } = &mut tables.relation {
        in_tables(table_with_joins)?;
    }
    for join in &mut tables.joins {
        if let TableFactor::NestedJoin { table_with_joins, .. } = &mut join.relation {
            in_tables(table_with_joins)?;
        }
        if let Some(JoinConstraint::On(condition)) = super::using::constraint_of_any(&mut join.join_operator)
            && let Some(found) = first_mark(condition)
        {
            let mut conditions = Vec::new();
            conjunction(condition, &mut conditions);
            if conditions.len() < 2 || mark(&conditions[0]) != Some(ASOF) {
                let error = Error::invalid(
                    "the conditions of an ASOF JOIN stand one beside the other, with AND",
                )
                .with_hint(
                    "what is to hold of the right side alone can stand in a query there: (SELECT … WHERE …)",
                );
                return Err(about(error, &found));
            }
            *condition = around(all_of(conditions.into_iter().skip(1)).expect("there is a condition"));
        }
    }
    Ok(())
}

fn conjunction(expr: &Expr, parts: &mut Vec<Expr>) {
    match expr {
        Expr::BinaryOp { left, op: BinaryOperator::And, right } => {
            conjunction(left, parts);
            conjunction(right, parts);
        }
        other => parts.push(other.clone()),
    }
}

/// The mark of an ASOF JOIN at the beginning of a condition.
fn first_mark(expr: &Expr) -> Option<Ident> {
    match expr {
        Expr::Identifier(name) if mark(expr) == Some(ASOF) => Some(name.clone()),
        Expr::BinaryOp { left, .. } => first_mark(left),
        Expr::Nested(inner) => first_mark(inner),
        _ => None,
    }
}

fn around(condition: Expr) -> Expr {
    let mut call = trees::expr(&format!("\"{ASOF_CONDITION}\"(true)"));
    if let Expr::Function(function) = &mut call {
        trees::set_argument(function, 0, condition);
    }
    call
}

/// Whether the columns behind USING are those of an ASOF JOIN.
pub(super) fn is_asof(constraint: &JoinConstraint) -> bool {
    let JoinConstraint::Using(names) = constraint else { return false };
    let first = names.first().and_then(|name| name.0.first());
    matches!(first, Some(ObjectNamePart::Identifier(name)) if name.value == ASOF)
}

/// The condition of USING: the last columns are compared by `>=`, the others are equal.
pub(super) fn condition(lefts: &[Expr], rights: &[Expr]) -> Option<Expr> {
    let ((left, lefts), (right, rights)) = (lefts.split_last()?, rights.split_last()?);
    let last = compared(std::slice::from_ref(left), &BinaryOperator::GtEq, std::slice::from_ref(right))?;
    let equal = compared(lefts, &BinaryOperator::Eq, rights);
    all_of(equal.into_iter().chain([last])).map(around)
}
