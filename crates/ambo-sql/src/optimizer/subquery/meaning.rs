//! `IN (SELECT …)` and its like with NULL for what is not known (SQL:2016 part 2, 8.4 and 8.9).
//!
//! `x = ANY (q)` is true if a row of q equals x; else NULL if x is NULL and q has a row, or a row of q is NULL; else false. So with every
//! comparison. `x IN (q)` is `x = ANY (q)`, and `x <= ALL (q)` is `NOT x > ANY (q)`. The planner knows NULL of `x NOT IN (q)` as a
//! condition by itself, if q has no columns from outside and x is no constant. Elsewhere it joins as if what is not known were false, or
//! refuses the statement; and it fails where q has constants or windows for its rows. In a condition, only what is true counts. So NOT is
//! taken down to the leaves, where `x NOT IN (q)` becomes
//!
//! > not exists (q where it = x) and not exists (q where it is null) and (x is not null or not exists (q)),
//!
//! whose parts are joins by equal values. Where more than truth counts (within CASE, IS NULL, a comparison, in the list of a SELECT), it
//! becomes a CASE of the three answers. Queries for what cannot be NULL are left out.

use datafusion::{
    common::{
        Column, DFSchema, Result, ScalarValue,
        tree_node::{Transformed, TreeNode, TreeNodeRecursion},
    },
    error::DataFusionError,
    logical_expr::{
        BinaryExpr, Distinct, Expr, ExprSchemable, LogicalPlan, LogicalPlanBuilder, Operator, Projection,
        expr::{Case, Exists, InSubquery, SetQuantifier},
        lit,
        utils::{conjunction, split_conjunction_owned},
        when,
    },
};

use super::{names::Names, subquery};
use crate::optimizer::nested_comparisons::compared;

/// Expressions over rows of a schema.
pub(super) struct Meaning<'s> {
    pub(super) schema: &'s DFSchema,
    pub(super) names: &'s Names,
}

/// `x op ANY (q)`.
struct AnyOf {
    expr: Expr,
    op: Operator,
    query: LogicalPlan,
}

/// What an expression asks of a query, and whether NOT of that is its value.
fn any_of(expr: &Expr) -> Result<Option<(AnyOf, bool)>> {
    Ok(match expr {
        Expr::InSubquery(InSubquery { expr, subquery, negated }) => {
            let query = subquery.subquery.as_ref().clone();
            Some((AnyOf { expr: expr.as_ref().clone(), op: Operator::Eq, query }, *negated))
        }
        Expr::SetComparison(of) => {
            let is_all = of.quantifier == SetQuantifier::All;
            let op = match is_all {
                false => of.op,
                true => of.op.negate().ok_or_else(|| no_comparison(of.op))?,
            };
            let query = of.subquery.subquery.as_ref().clone();
            Some((AnyOf { expr: of.expr.as_ref().clone(), op, query }, is_all))
        }
        _ => None,
    })
}

fn no_comparison(op: Operator) -> DataFusionError {
    DataFusionError::NotImplemented(format!("{op} ALL (SELECT …): {op} is no comparison"))
}

fn asks_any(expr: &Expr) -> Result<bool> {
    expr.exists(|expr| Ok(matches!(expr, Expr::InSubquery(_) | Expr::SetComparison(_))))
}

/// When the answer of whether a row is among those of a query is true, and when it is NULL (`planner/row_value.rs`).
fn answer_of(expr: &Expr) -> Option<(&Expr, &Expr)> {
    let Expr::Case(Case { expr: None, when_then_expr, else_expr: Some(other) }) = expr else { return None };
    let [(is_true, yes), (is_unknown, null)] = &when_then_expr[..] else { return None };
    let both_exist = matches!((is_true.as_ref(), is_unknown.as_ref()), (Expr::Exists(_), Expr::Exists(_)));
    let is_answer = **yes == lit(true) && is_null(null) && **other == lit(false) && both_exist;
    is_answer.then_some((is_true, is_unknown))
}

fn is_null(expr: &Expr) -> bool {
    match expr {
        Expr::Literal(value, _) => value.is_null(),
        Expr::Cast(cast) => is_null(&cast.expr),
        _ => false,
    }
}

fn has_answer(expr: &Expr) -> Result<bool> {
    expr.exists(|expr| Ok(answer_of(expr).is_some()))
}

impl Meaning<'_> {
    /// A condition with the same rows, without IN, ANY and ALL.
    pub(super) fn condition(&self, predicate: Expr) -> Result<Expr> {
        let parts = split_conjunction_owned(predicate).into_iter().map(|part| self.truth(part, false));
        Ok(conjunction(parts.collect::<Result<Vec<_>>>()?).unwrap_or_else(|| lit(true)))
    }

    /// An expression of the same value without IN, ANY and ALL.
    pub(super) fn value(&self, expr: Expr) -> Result<Transformed<Expr>> {
        expr.transform_down(|expr| match any_of(&expr)? {
            Some((of, is_negated)) => {
                Ok(Transformed::new(self.answer(&of, is_negated)?, true, TreeNodeRecursion::Jump))
            }
            None => Ok(Transformed::no(expr)),
        })
    }

    /// What is true where an expression, or NOT the expression, is true; and else false or NULL.
    fn truth(&self, expr: Expr, is_negated: bool) -> Result<Expr> {
        let not = |expr| if is_negated { Expr::Not(Box::new(expr)) } else { expr };
        if let Some((is_true, is_unknown)) = answer_of(&expr) {
            let is_true = self.truth(is_true.clone(), false)?;
            return Ok(match is_negated {
                true => Expr::Not(Box::new(is_true)).and(Expr::Not(Box::new(is_unknown.clone()))),
                false => is_true,
            });
        }
        if !asks_any(&expr)? && !has_answer(&expr)? {
            return Ok(not(expr));
        }
        if let Some((of, is_not)) = any_of(&expr)? {
            return match is_not != is_negated {
                true => self.is_none(&of),
                false => self.has_such(&of),
            };
        }
        Ok(match expr {
            Expr::Not(inner) => self.truth(*inner, !is_negated)?,
            Expr::Alias(alias) => self.truth(*alias.expr, is_negated)?,
            Expr::BinaryExpr(BinaryExpr { left, op: op @ (Operator::And | Operator::Or), right }) => {
                let (left, right) = (self.truth(*left, is_negated)?, self.truth(*right, is_negated)?);
                match (op == Operator::And) != is_negated {
                    true => left.and(right),
                    false => left.or(right),
                }
            }
            other => not(self.value(other)?.data),
        })
    }

    fn may_be_null(&self, expr: &Expr) -> bool {
        expr.nullable(self.schema).unwrap_or(true)
    }

    /// Whether the comparison is false for all rows of the query.
    fn is_none(&self, of: &AnyOf) -> Result<Expr> {
        let mut all = Expr::Not(Box::new(self.has_such(of)?));
        if let Some(null) = self.has_null(&of.query)? {
            all = all.and(Expr::Not(Box::new(null)));
        }
        if self.may_be_null(&of.expr) {
            let is_nothing = Expr::Not(Box::new(is_there(&of.query)?));
            all = all.and(of.expr.clone().is_not_null().or(is_nothing));
        }
        Ok(all)
    }

    /// True, false or NULL.
    fn answer(&self, of: &AnyOf, is_negated: bool) -> Result<Expr> {
        let mut is_unknown = self.has_null(&of.query)?.unwrap_or_else(|| lit(false));
        if self.may_be_null(&of.expr) {
            is_unknown = is_unknown.or(of.expr.clone().is_null().and(is_there(&of.query)?));
        }
        let answer = when(self.has_such(of)?, lit(true))
            .when(is_unknown, lit(ScalarValue::Boolean(None)))
            .otherwise(lit(false))?;
        Ok(if is_negated { Expr::Not(Box::new(answer)) } else { answer })
    }

    /// Whether the comparison is true for a row of the query.
    fn has_such(&self, of: &AnyOf) -> Result<Expr> {
        let outside = |expr: Expr| {
            let Expr::Column(column) = expr else { return Ok(Transformed::no(expr)) };
            let (_, field) = self.schema.qualified_field_from_column(&column)?;
            Ok(Transformed::yes(Expr::OuterReferenceColumn(field.clone(), column)))
        };
        let wanted = of.expr.clone().transform_up(outside)?.data;
        let (rows, value) = self.named(&of.query)?;
        // The query's column on the left: `wanted op column`, turned.
        let comparison = match of.op.swap() {
            Some(turned) => compared(value, turned, wanted, rows.schema())?,
            None => compared(wanted, of.op, value, rows.schema())?,
        };
        Ok(has_row(LogicalPlanBuilder::from(rows).filter(comparison)?.build()?))
    }

    /// Whether a row of the query is NULL; None if none can be.
    fn has_null(&self, query: &LogicalPlan) -> Result<Option<Expr>> {
        if !query.schema().field(0).is_nullable() {
            return Ok(None);
        }
        let (rows, value) = self.named(query)?;
        let nulls = LogicalPlanBuilder::from(rows).filter(value.is_null())?;
        Ok(Some(has_row(first_row(nulls)?)))
    }

    /// A query whose column has a name that no other has, and that column: in `t.x IN (SELECT t.x FROM …)` two are called `t.x`. It gets
    /// the name where it is made, so that conditions that the planner takes up do not meet the one that it had.
    fn named(&self, query: &LogicalPlan) -> Result<(LogicalPlan, Expr)> {
        let name = self.names.column();
        Ok((with_name(query, &name.name)?, Expr::Column(name)))
    }
}

fn with_name(query: &LogicalPlan, name: &str) -> Result<LogicalPlan> {
    Ok(match query {
        LogicalPlan::Projection(of) => {
            let value = of.expr[0].clone().unalias().alias(name);
            LogicalPlan::Projection(Projection::try_new(vec![value], of.input.clone())?)
        }
        LogicalPlan::Distinct(Distinct::All(rows)) => {
            LogicalPlan::Distinct(Distinct::All(with_name(rows, name)?.into()))
        }
        other => {
            let value = Expr::Column(Column::from(other.schema().qualified_field(0)));
            LogicalPlanBuilder::from(other.clone()).project([value.alias(name)])?.build()?
        }
    })
}

fn has_row(plan: LogicalPlan) -> Expr {
    Expr::Exists(Exists { subquery: subquery(plan), negated: false })
}

/// Whether a query has a row.
fn is_there(query: &LogicalPlan) -> Result<Expr> {
    Ok(has_row(first_row(LogicalPlanBuilder::from(query.clone()))?))
}

/// A query of which one row is enough; where columns from outside say which rows there are, of all.
pub(super) fn first_row(query: LogicalPlanBuilder) -> Result<LogicalPlan> {
    match query.plan().all_out_ref_exprs().is_empty() {
        true => query.limit(0, Some(1))?.build(),
        false => query.build(),
    }
}
