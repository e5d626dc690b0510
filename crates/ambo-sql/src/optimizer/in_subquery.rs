//! `IN (SELECT …)` with NULL for what is not known (SQL:2016 part 2, 8.4), and queries within expressions.
//!
//! `x IN (q)` is true if a row of q equals x; else NULL if x is NULL and q has a row, or a row of q is NULL; else false. The planner knows that
//! of `x NOT IN (q)` as a condition by itself, if q has no columns from outside and x is no constant. Elsewhere it joins as if what is not
//! known were false, or refuses the statement. In a condition, only what is true counts. So NOT is taken down to the leaves, where
//! `x NOT IN (q)` becomes
//!
//! > not exists (q where it = x) and not exists (q where it is null) and (x is not null or not exists (q)),
//!
//! whose parts are joins by equal values. Where more than truth counts (within CASE, IS NULL, a comparison, in the list of a SELECT), it becomes a
//! CASE of the three answers. Queries for what cannot be NULL are left out.
//!
//! In the list of a SELECT the planner knows queries with one value only. So `exists (q)` becomes `(select count(*) > 0 from q)` there.

use std::sync::Arc;

use datafusion::{
    common::{
        Column, DFSchema, Result, ScalarValue,
        tree_node::{Transformed, TreeNode, TreeNodeRecursion},
    },
    functions_aggregate::count::count,
    logical_expr::{
        BinaryExpr, Expr, ExprSchemable, Filter, LogicalPlan, LogicalPlanBuilder, Operator, Projection,
        Subquery, col,
        expr::{Exists, InSubquery},
        lit,
        utils::{conjunction, split_conjunction_owned},
        when,
    },
    optimizer::{ApplyOrder, OptimizerConfig, OptimizerRule},
};

/// See the module. To be run before subqueries become joins.
#[derive(Debug)]
pub(super) struct NullsInSubqueries;

impl OptimizerRule for NullsInSubqueries {
    fn name(&self) -> &str {
        "nulls_in_subqueries"
    }

    fn apply_order(&self) -> Option<ApplyOrder> {
        Some(ApplyOrder::TopDown)
    }

    fn rewrite(&self, plan: LogicalPlan, _: &dyn OptimizerConfig) -> Result<Transformed<LogicalPlan>> {
        match plan {
            LogicalPlan::Filter(filter) if has_in_subquery(&filter.predicate)? => {
                let meaning = Meaning { schema: filter.input.schema() };
                let predicate = meaning.condition(filter.predicate)?;
                let filter = Filter::try_new(predicate, filter.input.clone())?;
                Ok(Transformed::yes(LogicalPlan::Filter(filter)))
            }
            LogicalPlan::Projection(projection) => {
                let meaning = Meaning { schema: projection.input.schema() };
                let mut is_changed = false;
                let mut exprs = Vec::with_capacity(projection.expr.len());
                for expr in &projection.expr {
                    let value = meaning.value(expr.clone())?;
                    is_changed |= value.transformed;
                    exprs.push(named_as(value, expr));
                }
                match is_changed {
                    true => {
                        let changed = Projection::try_new(exprs, projection.input.clone())?;
                        Ok(Transformed::yes(LogicalPlan::Projection(changed)))
                    }
                    false => Ok(Transformed::no(LogicalPlan::Projection(projection))),
                }
            }
            plan => Ok(Transformed::no(plan)),
        }
    }
}

fn has_in_subquery(expr: &Expr) -> Result<bool> {
    expr.exists(|expr| Ok(matches!(expr, Expr::InSubquery(_))))
}

/// Expressions over rows of a schema.
struct Meaning<'s> {
    schema: &'s DFSchema,
}

impl Meaning<'_> {
    /// A condition with the same rows.
    fn condition(&self, predicate: Expr) -> Result<Expr> {
        let part = |part: Expr| match &part {
            // A join of its own.
            Expr::InSubquery(of) if !of.negated => Ok(part),
            _ => self.truth(part, false),
        };
        let parts = split_conjunction_owned(predicate).into_iter().map(part).collect::<Result<Vec<_>>>()?;
        Ok(conjunction(parts).unwrap_or_else(|| lit(true)))
    }

    /// An expression whose queries have one value each.
    fn value(&self, expr: Expr) -> Result<Transformed<Expr>> {
        expr.transform_down(|expr| match expr {
            Expr::InSubquery(of) => {
                let answer = self.value(self.answer(&of)?)?.data;
                Ok(Transformed::new(answer, true, TreeNodeRecursion::Jump))
            }
            Expr::Exists(of) => {
                let is_there = counted(&of.subquery)?;
                let value = if of.negated { Expr::Not(Box::new(is_there)) } else { is_there };
                Ok(Transformed::new(value, true, TreeNodeRecursion::Jump))
            }
            expr => Ok(Transformed::no(expr)),
        })
    }

    /// What is true where an expression, or NOT the expression, is true; and else false or NULL.
    fn truth(&self, expr: Expr, is_negated: bool) -> Result<Expr> {
        if !has_in_subquery(&expr)? {
            return Ok(if is_negated { Expr::Not(Box::new(expr)) } else { expr });
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
            Expr::InSubquery(of) => {
                let is_negated = of.negated != is_negated;
                match is_negated {
                    true => self.is_not_in(&of)?,
                    false => Expr::InSubquery(InSubquery { negated: false, ..of }),
                }
            }
            other => {
                let answered = other.transform_down(|expr| match expr {
                    Expr::InSubquery(of) => {
                        Ok(Transformed::new(self.answer(&of)?, true, TreeNodeRecursion::Jump))
                    }
                    expr => Ok(Transformed::no(expr)),
                })?;
                if is_negated { Expr::Not(Box::new(answered.data)) } else { answered.data }
            }
        })
    }

    fn may_be_null(&self, expr: &Expr) -> bool {
        expr.nullable(self.schema).unwrap_or(true)
    }

    fn is_not_in(&self, of: &InSubquery) -> Result<Expr> {
        let mut all = Expr::Not(Box::new(self.has_equal(of)?));
        if let Some(null) = has_null(of)? {
            all = all.and(Expr::Not(Box::new(null)));
        }
        if self.may_be_null(&of.expr) {
            let is_nothing = Expr::Not(Box::new(is_there(&of.subquery)?));
            all = all.and((*of.expr).clone().is_not_null().or(is_nothing));
        }
        Ok(all)
    }

    /// True, false or NULL.
    fn answer(&self, of: &InSubquery) -> Result<Expr> {
        let mut is_unknown = has_null(of)?.unwrap_or_else(|| lit(false));
        if self.may_be_null(&of.expr) {
            is_unknown = is_unknown.or((*of.expr).clone().is_null().and(is_there(&of.subquery)?));
        }
        let answer = when(self.has_equal(of)?, lit(true))
            .when(is_unknown, lit(ScalarValue::Boolean(None)))
            .otherwise(lit(false))?;
        Ok(if of.negated { Expr::Not(Box::new(answer)) } else { answer })
    }

    /// Whether a row of the query equals the expression.
    fn has_equal(&self, of: &InSubquery) -> Result<Expr> {
        let mut references = of.subquery.outer_ref_columns.clone();
        let outside = |expr: Expr| {
            let Expr::Column(column) = expr else { return Ok(Transformed::no(expr)) };
            let (_, field) = self.schema.qualified_field_from_column(&column)?;
            let reference = Expr::OuterReferenceColumn(field.clone(), column);
            if !references.contains(&reference) {
                references.push(reference.clone());
            }
            Ok(Transformed::yes(reference))
        };
        let wanted = of.expr.as_ref().clone().transform_up(outside)?.data;
        let column = value_of(&of.subquery);
        let equal =
            LogicalPlanBuilder::from(of.subquery.subquery.clone()).filter(column.eq(wanted))?.build()?;
        Ok(has_row(equal, references, &of.subquery))
    }
}

/// A changed expression under the name of the one before.
fn named_as(value: Transformed<Expr>, before: &Expr) -> Expr {
    match (value.transformed, before) {
        (true, before) if !matches!(before, Expr::Alias(_)) => {
            value.data.unalias().alias(before.schema_name().to_string())
        }
        _ => value.data,
    }
}

/// The column of a query.
fn value_of(query: &Subquery) -> Expr {
    Expr::Column(Column::from(query.subquery.schema().qualified_field(0)))
}

/// Whether a plan, made of a query, has a row; `references` are the columns from outside that it has.
fn has_row(plan: LogicalPlan, references: Vec<Expr>, query: &Subquery) -> Expr {
    let subquery =
        Subquery { subquery: Arc::new(plan), outer_ref_columns: references, spans: query.spans.clone() };
    Expr::Exists(Exists { subquery, negated: false })
}

/// Whether a query has a row.
fn is_there(query: &Subquery) -> Result<Expr> {
    let plan = first_row(LogicalPlanBuilder::from(query.subquery.clone()), query)?;
    Ok(has_row(plan, query.outer_ref_columns.clone(), query))
}

/// A plan of a query of which one row is enough; where columns from outside say which rows there are, of all.
fn first_row(plan: LogicalPlanBuilder, query: &Subquery) -> Result<LogicalPlan> {
    match query.outer_ref_columns.is_empty() {
        true => plan.limit(0, Some(1))?.build(),
        false => plan.build(),
    }
}

/// Whether a query has a row, as a query with one value.
fn counted(query: &Subquery) -> Result<Expr> {
    let rows = first_row(LogicalPlanBuilder::from(query.subquery.clone()), query)?;
    let plan = LogicalPlanBuilder::from(rows)
        .aggregate(Vec::<Expr>::new(), [count(lit(1)).alias("rows")])?
        .project([col("rows").gt(lit(0i64)).alias("is_there")])?
        .build()?;
    let references = query.outer_ref_columns.clone();
    let spans = query.spans.clone();
    Ok(Expr::ScalarSubquery(Subquery { subquery: Arc::new(plan), outer_ref_columns: references, spans }))
}

/// Whether a row of the query is NULL; None if none can be.
fn has_null(of: &InSubquery) -> Result<Option<Expr>> {
    let plan = &of.subquery.subquery;
    if !plan.schema().field(0).is_nullable() {
        return Ok(None);
    }
    let nulls = LogicalPlanBuilder::from(plan.clone()).filter(value_of(&of.subquery).is_null())?;
    let nulls = first_row(nulls, &of.subquery)?;
    Ok(Some(has_row(nulls, of.subquery.outer_ref_columns.clone(), &of.subquery)))
}
