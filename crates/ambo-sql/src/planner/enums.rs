//! Enums beside texts and each other: what the planner would not take, and what it would take otherwise.
//!
//! | beside | what is done |
//! |---|---|
//! | a constant text | it is the label, or an error that names those that there are |
//! | a text of a column | labels are compared as texts |
//! | another enum | labels are compared as texts |
//!
//! What is one of several values ([`alike`]) is a text where these are not of one enum, and so is what a function of texts is given.

use arrow::datatypes::DataType;
use datafusion::{
    common::{
        DFSchema, Result, ScalarValue,
        config::ConfigOptions,
        plan_err,
        tree_node::{Transformed, TreeNode, TreeNodeRecursion},
    },
    logical_expr::{
        Between, BinaryExpr, Case, Cast, Expr, ExprSchemable, Like, LogicalPlan, Operator,
        expr::{InList, ScalarFunction},
        planner::{ExprPlanner, PlannerResult, RawBinaryExpr},
    },
    optimizer::AnalyzerRule,
    sql::sqlparser::ast::BinaryOperator,
};

use crate::{
    logical::{converted, is_enum},
    optimizer::{is_of_texts, map_named, schema_of_rows},
    times::{Zone, comparison, is_text, rules::is_comparison},
};

/// Functions of any number of values of one type.
const ALIKE: [&str; 5] = ["coalesce", "greatest", "least", "make_array", "nvl"];

fn type_of(expr: &Expr, schema: &DFSchema) -> Option<DataType> {
    expr.get_type(schema).ok()
}

fn as_text(expr: Expr) -> Expr {
    Expr::Cast(Cast::new(Box::new(expr), DataType::Utf8))
}

/// A text as a value of an enum, which is known already if the text is.
fn as_enum(expr: Expr, to: &DataType) -> Result<Expr> {
    Ok(match &expr {
        Expr::Literal(text, _) if is_text(&text.data_type()) => {
            let value = converted(&text.to_array()?, to, Zone::UTC, true)?;
            Expr::Literal(ScalarValue::try_from_array(&value, 0)?, None)
        }
        _ => Expr::Cast(Cast::new(Box::new(expr), to.clone())),
    })
}

fn is_constant(expr: &Expr) -> bool {
    matches!(expr, Expr::Literal(..) | Expr::Placeholder(_))
}

/// Both sides of a comparison as values that are compared; `None` if they are.
fn compared(left: &Expr, from: &DataType, right: &Expr, to: &DataType) -> Result<Option<(Expr, Expr)>> {
    let texts = || Some((as_text(left.clone()), as_text(right.clone())));
    Ok(match (is_enum(from), is_enum(to)) {
        (true, true) if from != to => texts(),
        (true, false) if is_text(to) && is_constant(right) => {
            Some((left.clone(), as_enum(right.clone(), from)?))
        }
        (false, true) if is_text(from) && is_constant(left) => {
            Some((as_enum(left.clone(), to)?, right.clone()))
        }
        (true, false) if is_text(to) => Some((as_text(left.clone()), right.clone())),
        (false, true) if is_text(from) => Some((left.clone(), as_text(right.clone()))),
        (true, false) if !to.is_null() && !is_enum(to) => {
            return plan_err!(
                "an enum is not compared with {to}; enum_code(x) is its place, x::text its label"
            );
        }
        (false, true) if !from.is_null() => {
            return plan_err!(
                "an enum is not compared with {from}; enum_code(x) is its place, x::text its label"
            );
        }
        _ => None,
    })
}

/// Operators as the parser gives them.
#[derive(Debug)]
pub(crate) struct EnumOperators;

impl ExprPlanner for EnumOperators {
    fn plan_binary_op(&self, expr: RawBinaryExpr, schema: &DFSchema) -> Result<PlannerResult<RawBinaryExpr>> {
        let op = match &expr.op {
            BinaryOperator::StringConcat => Operator::StringConcat,
            other => match comparison(other) {
                Some(op) => op,
                None => return Ok(PlannerResult::Original(expr)),
            },
        };
        let (Some(from), Some(to)) = (type_of(&expr.left, schema), type_of(&expr.right, schema)) else {
            return Ok(PlannerResult::Original(expr));
        };
        if op == Operator::StringConcat {
            let text = |expr, ty: &DataType| if is_enum(ty) { as_text(expr) } else { expr };
            let (left, right) = (text(expr.left, &from), text(expr.right, &to));
            return Ok(PlannerResult::Original(RawBinaryExpr { left, right, op: expr.op }));
        }
        Ok(match compared(&expr.left, &from, &expr.right, &to)? {
            Some((left, right)) => PlannerResult::Planned(binary(left, op, right)),
            None => PlannerResult::Original(expr),
        })
    }
}

fn binary(left: Expr, op: Operator, right: Expr) -> Expr {
    Expr::BinaryExpr(BinaryExpr::new(Box::new(left), op, Box::new(right)))
}

/// What else has enums in it, before the planner's rule for types.
#[derive(Debug)]
pub(crate) struct Enums;

impl AnalyzerRule for Enums {
    fn name(&self) -> &str {
        "enums"
    }

    fn analyze(&self, plan: LogicalPlan, _: &ConfigOptions) -> Result<LogicalPlan> {
        let mut is_there = false;
        plan.apply_with_subqueries(|plan| {
            is_there = has_enums(plan)?;
            Ok(if is_there { TreeNodeRecursion::Stop } else { TreeNodeRecursion::Continue })
        })?;
        if !is_there {
            return Ok(plan);
        }
        let plan = plan.transform_up_with_subqueries(|plan| {
            let schema = schema_of_rows(&plan);
            let plan = map_named(plan, |_| Ok(true), |expr| expr.transform_up(|expr| meant(expr, &schema)))?;
            let plan = plan.data.recompute_schema()?;
            Ok(Transformed::yes(match plan {
                LogicalPlan::Unnest(unnest) => {
                    let of = |place: &usize| unnest.input.schema().field(*place).data_type();
                    if unnest.struct_type_columns.iter().map(of).any(is_enum) {
                        return plan_err!("unnest is of lists, structs and maps, not of an enum");
                    }
                    LogicalPlan::Unnest(unnest)
                }
                plan => plan,
            }))
        })?;
        Ok(plan.data)
    }
}

/// Whether there is an enum in the rows or in the expressions of an operator.
fn has_enums(plan: &LogicalPlan) -> Result<bool> {
    let is_of = |schema: &DFSchema| schema.fields().iter().any(|field| is_enum(field.data_type()));
    let mut is_there = is_of(plan.schema()) || plan.inputs().iter().any(|input| is_of(input.schema()));
    plan.apply_expressions(|expr| {
        is_there = is_there
            || expr.exists(|expr| {
                Ok(match expr {
                    Expr::Literal(value, _) => is_enum(&value.data_type()),
                    Expr::Cast(of) => is_enum(of.field.data_type()),
                    Expr::TryCast(of) => is_enum(of.field.data_type()),
                    _ => false,
                })
            })?;
        Ok(if is_there { TreeNodeRecursion::Stop } else { TreeNodeRecursion::Continue })
    })?;
    Ok(is_there)
}

fn meant(expr: Expr, schema: &DFSchema) -> Result<Transformed<Expr>> {
    let is_of = |expr: &Expr| type_of(expr, schema).filter(is_enum);
    Ok(match expr {
        Expr::BinaryExpr(BinaryExpr { left, op, right }) if is_comparison(op) => {
            let types = (type_of(&left, schema), type_of(&right, schema));
            let changed = match types {
                (Some(from), Some(to)) => compared(&left, &from, &right, &to)?,
                _ => None,
            };
            match changed {
                Some((left, right)) => Transformed::yes(binary(left, op, right)),
                None => Transformed::no(Expr::BinaryExpr(BinaryExpr { left, op, right })),
            }
        }
        Expr::Between(Between { expr, negated, low, high }) if is_of(&expr).is_some() => {
            // All by their places, or all texts.
            if [&low, &high].into_iter().any(|bound| is_texts(bound, schema) && !is_constant(bound)) {
                let [expr, low, high] = [expr, low, high].map(|of| Box::new(as_text(*of)));
                return Ok(Transformed::yes(Expr::Between(Between { expr, negated, low, high })));
            }
            let [low, high] = [low, high].map(|bound| side(&expr, &bound, schema));
            let (low, high) = (Box::new(low?), Box::new(high?));
            Transformed::yes(Expr::Between(Between { expr, negated, low, high }))
        }
        Expr::InList(InList { expr, list, negated }) if is_of(&expr).is_some() => {
            // All of one type, or all texts.
            let sides = list.iter().map(|item| side(&expr, item, schema));
            let list = sides.collect::<Result<Vec<_>>>()?;
            let ty = is_of(&expr);
            match list
                .iter()
                .all(|item| is_of(item).is_none_or(|of| Some(of) == ty) && !is_texts(item, schema))
            {
                true => Transformed::yes(Expr::InList(InList { expr, list, negated })),
                false => {
                    let list = list.into_iter().map(as_text).collect();
                    Transformed::yes(Expr::InList(InList { expr: Box::new(as_text(*expr)), list, negated }))
                }
            }
        }
        Expr::Like(Like { negated, expr, pattern, escape_char, case_insensitive })
            if is_of(&expr).is_some() =>
        {
            let expr = Box::new(as_text(*expr));
            Transformed::yes(Expr::Like(Like { negated, expr, pattern, escape_char, case_insensitive }))
        }
        Expr::SimilarTo(Like { negated, expr, pattern, escape_char, case_insensitive })
            if is_of(&expr).is_some() =>
        {
            let expr = Box::new(as_text(*expr));
            Transformed::yes(Expr::SimilarTo(Like { negated, expr, pattern, escape_char, case_insensitive }))
        }
        Expr::BinaryExpr(BinaryExpr { left, op, right })
            if is_pattern(op) && (is_of(&left).is_some() || is_of(&right).is_some()) =>
        {
            let [left, right] = [left, right].map(|of| if is_of(&of).is_some() { as_text(*of) } else { *of });
            Transformed::yes(binary(left, op, right))
        }
        Expr::Case(case) => of_case(case, schema)?,
        Expr::ScalarFunction(function) => of_function(function, schema),
        expr => Transformed::no(expr),
    })
}

fn is_texts(expr: &Expr, schema: &DFSchema) -> bool {
    type_of(expr, schema).is_some_and(|ty| is_text(&ty))
}

fn is_pattern(op: Operator) -> bool {
    matches!(
        op,
        Operator::StringConcat
            | Operator::RegexMatch
            | Operator::RegexIMatch
            | Operator::RegexNotMatch
            | Operator::RegexNotIMatch
    )
}

/// What an enum is compared with, as `compared` has it.
fn side(of: &Expr, other: &Expr, schema: &DFSchema) -> Result<Expr> {
    let (Some(from), Some(to)) = (type_of(of, schema), type_of(other, schema)) else {
        return Ok(other.clone());
    };
    Ok(compared(of, &from, other, &to)?.map_or_else(|| other.clone(), |(_, other)| other))
}

/// Values of which one is the result, as texts if some are enums and others are not of the same; `None` if all are of one type.
fn alike<'e>(values: impl Iterator<Item = &'e Expr>, schema: &DFSchema) -> bool {
    let types: Vec<_> =
        values.filter_map(|value| type_of(value, schema)).filter(|ty| !ty.is_null()).collect();
    !types.iter().any(is_enum) || types.windows(2).all(|pair| pair[0] == pair[1])
}

fn of_case(case: Case, schema: &DFSchema) -> Result<Transformed<Expr>> {
    let Case { mut expr, mut when_then_expr, mut else_expr } = case;
    let mut changed = false;
    if let Some(of) = &mut expr
        && type_of(of, schema).is_some_and(|ty| is_enum(&ty))
    {
        let whens = when_then_expr.iter().map(|(when, _)| side(of, when, schema));
        let whens = whens.collect::<Result<Vec<_>>>()?;
        let are_alike = alike(whens.iter().chain([of.as_ref()]), schema);
        for ((when, _), new) in when_then_expr.iter_mut().zip(whens) {
            **when = if are_alike { new } else { as_text(new) };
        }
        if !are_alike {
            **of = as_text(of.as_ref().clone());
        }
        changed = true;
    }
    let values = || when_then_expr.iter().map(|(_, then)| then.as_ref()).chain(else_expr.as_deref());
    if !alike(values(), schema) {
        let thens = when_then_expr.iter_mut().map(|(_, then)| then).chain(else_expr.as_mut());
        thens.for_each(|then| **then = as_text(then.as_ref().clone()));
        changed = true;
    }
    let case = Expr::Case(Case { expr, when_then_expr, else_expr });
    Ok(if changed { Transformed::yes(case) } else { Transformed::no(case) })
}

fn of_function(mut function: ScalarFunction, schema: &DFSchema) -> Transformed<Expr> {
    let is_of = |expr: &Expr| type_of(expr, schema).is_some_and(|ty| is_enum(&ty));
    let is_changed = match function.name() {
        name if ALIKE.contains(&name) => !alike(function.args.iter(), schema),
        "concat" | "concat_ws" => function.args.iter().any(is_of),
        _ => is_of_texts(&function) && function.args.iter().any(is_of),
    };
    if is_changed {
        function.args =
            function.args.into_iter().map(|arg| if is_of(&arg) { as_text(arg) } else { arg }).collect();
    }
    Transformed::new_transformed(Expr::ScalarFunction(function), is_changed)
}
