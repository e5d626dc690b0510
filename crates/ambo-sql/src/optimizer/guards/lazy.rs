//! AND, OR and functions that choose become CASE where they guard something.
//!
//! CASE is evaluated for the rows that come to each of its branches; AND and OR for all, unless most rows are known by the left side, and
//! none is NULL there. This is done when the planner's rules are through with the plan: they know more of AND and OR than of CASE.

use datafusion::{
    common::{
        DFSchema, Result,
        tree_node::{Transformed, TreeNode},
    },
    logical_expr::{
        Case, Expr, ExprSchemable, Filter, LogicalPlan, Operator,
        expr::ScalarFunction,
        lit,
        utils::{merge_schema, split_binary_owned, split_conjunction_owned},
        when,
    },
};

use super::{
    failing::{by_failing, can_fail},
    filters::marked,
    keys::guarded_keys,
    late::computed_late,
    order::joined,
};
use crate::optimizer::map_named;

/// A plan of which nothing is evaluated that is guarded. To be made when all rules are done.
pub(crate) fn lazily(plan: &LogicalPlan) -> Result<LogicalPlan> {
    Ok(plan.clone().transform_down_with_subqueries(lazy_plan)?.data)
}

fn lazy_plan(plan: LogicalPlan) -> Result<Transformed<LogicalPlan>> {
    let late = computed_late(&plan)?;
    let is_late = late.is_some();
    let lazy = lazy_operator(late.unwrap_or(plan))?;
    Ok(Transformed { transformed: lazy.transformed || is_late, ..lazy })
}

fn lazy_operator(plan: LogicalPlan) -> Result<Transformed<LogicalPlan>> {
    match plan {
        LogicalPlan::Filter(filter) => lazy_filter(filter),
        LogicalPlan::TableScan(_) | LogicalPlan::Explain(_) => Ok(Transformed::no(plan)),
        LogicalPlan::Join(join) => {
            let schema = join.left.schema().join(join.right.schema())?;
            let join = guarded_keys(join, &schema)?;
            join.map_data(|mut join| {
                join.filter =
                    join.filter.map(|filter| lazy(filter, &schema, true)).transpose()?.map(|lazy| lazy.data);
                Ok(LogicalPlan::Join(join))
            })
        }
        plan => {
            let schema = merge_schema(&plan.inputs());
            map_named(plan, |expr| Ok(can_fail(expr, &schema)), |expr| lazy(expr, &schema, false))
        }
    }
}

/// The terms of a filter stay terms, so that each goes as far down as it may.
fn lazy_filter(filter: Filter) -> Result<Transformed<LogicalPlan>> {
    let schema = filter.input.schema().clone();
    if !can_fail(&filter.predicate, &schema) {
        return Ok(Transformed::no(LogicalPlan::Filter(filter)));
    }
    let terms = split_conjunction_owned(filter.predicate);
    let terms = terms.into_iter().map(|term| Ok(lazy(term, &schema, true)?.data));
    let (mut terms, failing) = by_failing(terms.collect::<Result<_>>()?, &schema);
    let is_fixed = filter.input.exists(|plan| Ok(matches!(plan, LogicalPlan::Join(_))))?;
    let guarded = failing.into_iter().rev().reduce(|guarded, guard| chosen(guard, Operator::And, guarded));
    terms.extend(guarded.map(|guarded| marked(guarded, is_fixed)));
    let filter = Filter::try_new(joined(terms, Operator::And), filter.input)?;
    Ok(Transformed::yes(LogicalPlan::Filter(filter)))
}

/// The same value, of which nothing is evaluated that is guarded.
pub(crate) fn lazy_value(expr: Expr, schema: &DFSchema) -> Result<Expr> {
    Ok(lazy(expr, schema, false)?.data)
}

/// `is_condition`: NULL is as good as false.
fn lazy(expr: Expr, schema: &DFSchema, is_condition: bool) -> Result<Transformed<Expr>> {
    match expr {
        expr if !can_fail(&expr, schema) => Ok(Transformed::no(expr)),
        Expr::BinaryExpr(ref binary) if matches!(binary.op, Operator::And | Operator::Or) => {
            let op = binary.op;
            let terms = split_binary_owned(expr, op).into_iter();
            let terms = terms.map(|term| Ok(lazy(term, schema, is_condition)?.data));
            let (safe, failing) = by_failing(terms.collect::<Result<_>>()?, schema);
            let safe = (!safe.is_empty()).then(|| joined(safe, op));
            let mut steps = safe.into_iter().chain(failing).rev();
            let Some(mut guarded) = steps.next() else {
                return Ok(Transformed::yes(lit(op == Operator::And)));
            };
            for guard in steps {
                guarded = match is_condition || !guard.nullable(schema)? {
                    true => chosen(guard, op, guarded),
                    false => chosen_or_null(guard, op, guarded)?,
                };
            }
            Ok(Transformed::yes(guarded))
        }
        Expr::Case(case) => {
            let is_simple = case.expr.is_some();
            let part = |part: Box<Expr>, is_condition| -> Result<_> {
                Ok(Box::new(lazy(*part, schema, is_condition)?.data))
            };
            let branches = case.when_then_expr.into_iter();
            let branches =
                branches.map(|(when, then)| Ok((part(when, !is_simple)?, part(then, is_condition)?)));
            Ok(Transformed::yes(Expr::Case(Case {
                when_then_expr: branches.collect::<Result<_>>()?,
                expr: case.expr.map(|of| part(of, false)).transpose()?,
                else_expr: case.else_expr.map(|of| part(of, is_condition)).transpose()?,
            })))
        }
        Expr::ScalarFunction(function) => match choice(function)? {
            Ok(case) => lazy(case, schema, is_condition),
            Err(function) => Expr::ScalarFunction(function).map_children(|part| lazy(part, schema, false)),
        },
        Expr::AggregateFunction(mut function) => {
            if let Some(filter) = &function.params.filter {
                for argument in &mut function.params.args {
                    guard_argument(argument, filter, schema)?;
                }
                for sort in &mut function.params.order_by {
                    guard_argument(&mut sort.expr, filter, schema)?;
                }
            }
            let changed = Expr::AggregateFunction(function).map_children(|part| lazy(part, schema, false))?;
            Ok(Transformed::yes(changed.data))
        }
        Expr::WindowFunction(mut function) => {
            if let Some(filter) = &function.params.filter {
                for argument in &mut function.params.args {
                    guard_argument(argument, filter, schema)?;
                }
            }
            let changed = Expr::WindowFunction(function).map_children(|part| lazy(part, schema, false))?;
            Ok(Transformed::yes(changed.data))
        }
        expr => expr.map_children(|part| lazy(part, schema, false)),
    }
}

/// `guard AND guarded`, or OR, where NULL does not count.
fn chosen(guard: Expr, op: Operator, guarded: Expr) -> Expr {
    let (then, other) = match op {
        Operator::And => (guarded, lit(false)),
        _ => (lit(true), guarded),
    };
    Expr::Case(Case {
        expr: None,
        when_then_expr: vec![(guard.into(), then.into())],
        else_expr: Some(other.into()),
    })
}

/// The same where it does: of rows that the guard does not decide both sides are asked for.
fn chosen_or_null(guard: Expr, op: Operator, guarded: Expr) -> Result<Expr> {
    match op {
        Operator::And => when(Expr::Not(guard.clone().into()), lit(false)).otherwise(guard.and(guarded)),
        _ => when(guard.clone(), lit(true)).otherwise(guard.or(guarded)),
    }
}

/// An argument of an aggregate is asked for of the rows that its FILTER lets through.
fn guard_argument(argument: &mut Expr, filter: &Expr, schema: &DFSchema) -> Result<()> {
    if can_fail(argument, schema) {
        *argument = when(filter.clone(), std::mem::take(argument)).end()?;
    }
    Ok(())
}

/// What functions choose, as CASE.
fn choice(function: ScalarFunction) -> Result<Result<Expr, ScalarFunction>> {
    let is_nvl = matches!(function.name(), "nvl" | "ifnull");
    Ok(match (function.name(), &function.args[..]) {
        (name, [first, others @ ..]) if !others.is_empty() && (is_nvl || name == "coalesce") => {
            let rest = match others {
                [last] => last.clone(),
                _ => Expr::ScalarFunction(ScalarFunction {
                    func: function.func.clone(),
                    args: others.to_vec(),
                }),
            };
            Ok(when(first.clone().is_not_null(), first.clone()).otherwise(rest)?)
        }
        ("nvl2", [of, known, unknown]) => {
            Ok(when(of.clone().is_not_null(), known.clone()).otherwise(unknown.clone())?)
        }
        _ => Err(function),
    })
}
