//! Comparisons within an expression: of texts with a collation, their keys are compared.

use std::sync::Arc;

use arrow::datatypes::DataType;
use datafusion::{
    common::{
        DFSchema, Result,
        tree_node::{Transformed, TreeNode},
    },
    functions::string,
    logical_expr::{
        Between, BinaryExpr, Case, Expr, ExprSchemable, LogicalPlanBuilder, Operator, Subquery, binary_expr,
        expr::{InSubquery, SetComparison},
        lit, when,
    },
    scalar::ScalarValue,
};

use super::{
    Collation,
    derived::{Derived, derived},
};
use crate::{functions::strip_accents, times};

impl Collation {
    /// What is compared of a text over rows of a schema.
    pub(super) fn key(self, text: Expr, schema: &DFSchema) -> Result<Expr> {
        let text = match text.get_type(schema)? {
            DataType::Utf8 => text,
            _ => text.cast_to(&DataType::Utf8, schema)?,
        };
        let text = if self.accents { strip_accents().call(vec![text]) } else { text };
        Ok(if self.case { string::lower().call(vec![text]) } else { text })
    }
}

/// Whether an expression is a text. What a lambda is given is none, as far as is known here.
pub(super) fn is_text(expr: &Expr, schema: &DFSchema) -> bool {
    expr.get_type(schema).is_ok_and(|ty| times::is_text(&ty))
}

/// Whether a comparison asks for an order of its sides, or whether they are equal.
fn compares(op: Operator) -> bool {
    use Operator as Op;
    matches!(
        op,
        Op::Eq
            | Op::NotEq
            | Op::Lt
            | Op::LtEq
            | Op::Gt
            | Op::GtEq
            | Op::IsDistinctFrom
            | Op::IsNotDistinctFrom
    )
}

/// Puts their keys in the place of texts that are compared with each other; whether they are.
fn key_all(exprs: Vec<&mut Expr>, schema: &DFSchema) -> Result<bool> {
    for expr in &exprs {
        if !is_text(expr, schema) {
            return Ok(false);
        }
    }
    let all = exprs.iter().try_fold(Derived::None, |found, expr| found.and(derived(expr, schema)?))?;
    let Some(how) = all.of_comparison()? else { return Ok(false) };
    for expr in exprs {
        *expr = how.key(std::mem::take(expr), schema)?;
    }
    Ok(true)
}

/// As [`key_all`], of one expression.
pub(super) fn key_one(expr: &mut Expr, schema: &DFSchema) -> Result<bool> {
    key_all(vec![expr], schema)
}

/// The collation by which an expression is put in order or grouped; `None` for code points, and for what is no text.
pub(super) fn of_order(expr: &Expr, schema: &DFSchema) -> Result<Option<Collation>> {
    match is_text(expr, schema) {
        true => derived(expr, schema)?.of_comparison(),
        false => Ok(None),
    }
}

/// An expression over rows of a schema, in which texts are compared by their collations. Types are known.
///
/// # Errors
/// Two collations where one is needed.
pub(crate) fn compared(expr: Expr, schema: &DFSchema) -> Result<Transformed<Expr>> {
    expr.transform_up(|expr| of_one(expr, schema))
}

fn of_one(expr: Expr, schema: &DFSchema) -> Result<Transformed<Expr>> {
    Ok(match expr {
        Expr::BinaryExpr(BinaryExpr { mut left, op, mut right }) if compares(op) => {
            let is_changed = key_all(vec![&mut left, &mut right], schema)?;
            Transformed::new_transformed(Expr::BinaryExpr(BinaryExpr { left, op, right }), is_changed)
        }
        Expr::Between(Between { expr: mut of, negated, mut low, mut high }) => {
            let is_changed = key_all(vec![&mut of, &mut low, &mut high], schema)?;
            Transformed::new_transformed(Expr::Between(Between { expr: of, negated, low, high }), is_changed)
        }
        Expr::InList(mut of) => {
            let all = std::iter::once(of.expr.as_mut()).chain(&mut of.list).collect();
            let is_changed = key_all(all, schema)?;
            Transformed::new_transformed(Expr::InList(of), is_changed)
        }
        Expr::Case(case) => of_case(case, schema)?,
        Expr::InSubquery(InSubquery { expr: mut of, mut subquery, negated }) => {
            let is_changed = key_subquery(&mut of, &mut subquery, schema)?;
            let of = Expr::InSubquery(InSubquery { expr: of, subquery, negated });
            Transformed::new_transformed(of, is_changed)
        }
        Expr::SetComparison(SetComparison { expr: mut of, mut subquery, op, quantifier }) if compares(op) => {
            let is_changed = key_subquery(&mut of, &mut subquery, schema)?;
            let of = Expr::SetComparison(SetComparison { expr: of, subquery, op, quantifier });
            Transformed::new_transformed(of, is_changed)
        }
        Expr::ScalarFunction(mut function) if function.name() == "nullif" && function.args.len() == 2 => {
            let [mut value, mut other] = [function.args[0].clone(), function.args[1].clone()];
            match key_all(vec![&mut value, &mut other], schema)? {
                true => {
                    let given = std::mem::take(&mut function.args[0]);
                    let null = lit(ScalarValue::try_from(given.get_type(schema)?)?);
                    Transformed::yes(when(binary_expr(value, Operator::Eq, other), null).otherwise(given)?)
                }
                false => Transformed::no(Expr::ScalarFunction(function)),
            }
        }
        Expr::ScalarFunction(mut function) if looks_within(function.name()) && function.args.len() == 2 => {
            let all = derived(&function.args[0], schema)?.and(derived(&function.args[1], schema)?)?;
            let how = all.of_comparison()?;
            if let Some(how) = how {
                for arg in &mut function.args {
                    *arg = how.key(std::mem::take(arg), schema)?;
                }
            }
            Transformed::new_transformed(Expr::ScalarFunction(function), how.is_some())
        }
        expr => Transformed::no(expr),
    })
}

/// `CASE x WHEN a … WHEN b …` compares x with each by itself: it is `CASE WHEN x = a … WHEN x = b …`, if one of them has a collation.
fn of_case(mut case: Case, schema: &DFSchema) -> Result<Transformed<Expr>> {
    let Some(of) = case.expr.take() else { return Ok(Transformed::no(Expr::Case(case))) };
    if of.is_volatile() {
        case.expr = Some(of);
        let whens = case.when_then_expr.iter_mut().map(|(when, _)| when.as_mut());
        let is_changed = key_all(case.expr.as_deref_mut().into_iter().chain(whens).collect(), schema)?;
        return Ok(Transformed::new_transformed(Expr::Case(case), is_changed));
    }
    let mut is_changed = false;
    let mut compared = Vec::with_capacity(case.when_then_expr.len());
    for (when, _) in &case.when_then_expr {
        let (mut left, mut right) = (of.as_ref().clone(), when.as_ref().clone());
        is_changed |= key_all(vec![&mut left, &mut right], schema)?;
        compared.push(binary_expr(left, Operator::Eq, right));
    }
    match is_changed {
        true => {
            for ((when, _), compared) in case.when_then_expr.iter_mut().zip(compared) {
                **when = compared;
            }
        }
        false => case.expr = Some(of),
    }
    Ok(Transformed::new_transformed(Expr::Case(case), is_changed))
}

/// Whether a function looks for a text in another.
fn looks_within(name: &str) -> bool {
    ["contains", "starts_with", "ends_with", "strpos"].contains(&name)
}

/// The same of an expression and the column of a subquery.
fn key_subquery(of: &mut Expr, subquery: &mut Subquery, schema: &DFSchema) -> Result<bool> {
    let rows = subquery.subquery.schema().clone();
    let Some(column) = rows.columns().into_iter().next().map(Expr::Column) else { return Ok(false) };
    if !is_text(of, schema) || !is_text(&column, &rows) {
        return Ok(false);
    }
    let all = derived(of, schema)?.and(derived(&column, &rows)?)?;
    let Some(how) = all.of_comparison()? else { return Ok(false) };
    let keys =
        LogicalPlanBuilder::from(subquery.subquery.clone()).project([how.key(column, &rows)?])?.build()?;
    subquery.subquery = Arc::new(keys);
    *of = how.key(std::mem::take(of), schema)?;
    Ok(true)
}
