//! Lists of IN stay apart where the planner would take NULL for an answer.
//!
//! The planner makes one list of `x IN (…) AND x IN (…)`, of the elements that are in both as they are written, and of `x NOT IN (…) OR x
//! NOT IN (…)`; no common element is false, or true. That is right of constants other than NULL, if x is not NULL, or if not known counts
//! as false. So:
//!
//! - Elements that have columns or may be NULL are compared one by one: `x IN (1, y)` is `x IN (1) OR x = y`.
//! - Of lists for the same x, which may be NULL, all but the first are said with that: `CASE WHEN x IS NULL THEN NULL ELSE x IN (…) END`.
//!   The conditions that AND joins in WHERE are left as they are.

use datafusion::{
    common::{
        DFSchema, Result,
        tree_node::{Transformed, TreeNode, TreeNodeRecursion},
    },
    logical_expr::{
        BinaryExpr, Expr, ExprSchemable, Operator,
        expr::InList,
        lit,
        utils::{conjunction, disjunction, split_conjunction_owned},
        when,
    },
    scalar::ScalarValue,
};

use super::expressions::ExpressionRule;

pub(super) const IN_LISTS: ExpressionRule =
    ExpressionRule { name: "in_lists", wanted: |expr| sought_of(expr).is_some(), change: kept_apart };

fn kept_apart(expr: Expr, schema: &DFSchema, is_condition: bool) -> Result<Transformed<Expr>> {
    let expr = expr.transform_up(|expr| one_by_one(expr, schema))?.data;
    let parts = if is_condition { split_conjunction_owned(expr) } else { vec![expr] };
    let parts = parts.into_iter().map(|part| Lists::new(schema).apart(part)).collect::<Result<Vec<_>>>()?;
    Ok(Transformed::yes(conjunction(parts).unwrap_or_else(|| lit(true))))
}

/// A list of constants that are not NULL, and comparisons with what else was in it.
fn one_by_one(expr: Expr, schema: &DFSchema) -> Result<Transformed<Expr>> {
    let Expr::InList(InList { expr, list, negated }) = expr else { return Ok(Transformed::no(expr)) };
    let is_constant =
        |element: &Expr| !element.any_column_refs() && !element.nullable(schema).unwrap_or(true);
    let (constants, others): (Vec<_>, Vec<_>) = list.into_iter().partition(is_constant);
    if others.is_empty() {
        return Ok(Transformed::no(Expr::InList(InList { expr, list: constants, negated })));
    }
    let is_among = match constants.is_empty() {
        true => None,
        false => Some(Expr::InList(InList { expr: expr.clone(), list: constants, negated })),
    };
    let compared = others.into_iter().map(|other| match negated {
        true => expr.as_ref().clone().not_eq(other),
        false => expr.as_ref().clone().eq(other),
    });
    let parts = is_among.into_iter().chain(compared);
    let joined = if negated { conjunction(parts) } else { disjunction(parts) };
    Ok(Transformed::yes(joined.unwrap_or_else(|| lit(negated))))
}

/// What lists of an expression are asked for.
struct Lists<'s> {
    schema: &'s DFSchema,
    sought: Vec<Expr>,
}

impl<'s> Lists<'s> {
    fn new(schema: &'s DFSchema) -> Self {
        Self { schema, sought: Vec::new() }
    }

    fn apart(&mut self, expr: Expr) -> Result<Expr> {
        Ok(expr
            .transform_down(|expr| {
                let Some(sought) = sought_of(&expr) else { return Ok(Transformed::no(expr)) };
                if !self.sought.contains(sought) {
                    self.sought.push(sought.clone());
                    return Ok(Transformed::new(expr, false, TreeNodeRecursion::Jump));
                }
                let expr = match sought.nullable(self.schema).unwrap_or(true) {
                    true => when(sought.clone().is_null(), lit(ScalarValue::Boolean(None)))
                        .otherwise(expr.clone())?,
                    false => expr,
                };
                Ok(Transformed::new(expr, true, TreeNodeRecursion::Jump))
            })?
            .data)
    }
}

/// What a list is asked for; `x = 1 OR x = 2` is a list too.
fn sought_of(expr: &Expr) -> Option<&Expr> {
    match expr {
        Expr::InList(list) => Some(&list.expr),
        Expr::BinaryExpr(BinaryExpr { left, op: Operator::Or, right }) => {
            let (left, right) = (element_of(left)?, element_of(right)?);
            (left == right).then_some(left)
        }
        _ => None,
    }
}

/// What is compared, on one side of OR.
fn element_of(expr: &Expr) -> Option<&Expr> {
    match expr {
        Expr::InList(list) if list.negated => None,
        Expr::BinaryExpr(BinaryExpr { left, op: Operator::Eq, right }) => {
            match (left.any_column_refs(), right.any_column_refs()) {
                (_, false) => Some(left),
                (false, true) => Some(right),
                (true, true) => None,
            }
        }
        expr => sought_of(expr),
    }
}
