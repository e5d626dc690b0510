//! What stands beside a double is a double.
//!
//! The planner compares and unites a double and a decimal, such as the literal 0.1, as `DECIMAL(30, 15)`: doubles that differ behind the
//! 15th place are equal, and one of more than 15 digits, infinity or NaN makes the statement fail (apache/datafusion#14272). So whatever is
//! beside a double (or REAL) becomes one before the planner looks for a common type; a literal becomes the double that its text is. So does
//! one of more than 38 digits, which no decimal has. The same goes for the parts of lists, structs and maps.

use std::sync::Arc;

use arrow::datatypes::{DataType, Decimal128Type, Decimal256Type, DecimalType};
use datafusion::{
    common::{
        Column, DFSchema, Result, ScalarValue,
        config::ConfigOptions,
        tree_node::{Transformed, TreeNode},
    },
    logical_expr::{
        BinaryExpr, Case, Cast, Expr, ExprSchemable, LogicalPlan, LogicalPlanBuilder, Operator, Subquery,
        Values, cast, expr::ScalarFunction, type_coercion::binary::type_union_coercion,
    },
    optimizer::AnalyzerRule,
};

use super::beside::{float_among, has_decimals, with_floats};
use crate::optimizer::{change_from_below, map_named, schema_of_rows, united};

/// Functions whose arguments have one type, from this argument on.
const UNITED: [(&str, usize); 9] = [
    ("coalesce", 0),
    ("nvl", 0),
    ("ifnull", 0),
    ("nvl2", 1),
    ("nullif", 0),
    ("greatest", 0),
    ("least", 0),
    ("make_array", 0),
    ("make_list", 0),
];

const MEDIAN: &str = "median";

/// The rule. See the module. To be run before the planner makes types equal.
#[derive(Debug)]
pub(crate) struct Doubles;

impl AnalyzerRule for Doubles {
    fn name(&self) -> &str {
        "doubles"
    }

    fn analyze(&self, plan: LogicalPlan, _: &ConfigOptions) -> Result<LogicalPlan> {
        in_plan(plan)
    }
}

/// A plan in which what is beside a double is one.
pub(crate) fn in_plan(plan: LogicalPlan) -> Result<LogicalPlan> {
    change_from_below(plan, &mut changed)
}

/// The expressions of one operator.
fn changed(plan: LogicalPlan) -> Result<Transformed<LogicalPlan>> {
    let plan = match plan {
        LogicalPlan::Union(union) => return united(union),
        LogicalPlan::Values(values) => return in_values(values),
        plan => plan,
    };
    let schema = schema_of_rows(&plan);
    let changed = map_named(plan, |_| Ok(true), |expr| beside_doubles(expr, &schema))?;
    let is_changed = changed.transformed;
    let mut plan = changed.data;
    let mut is_joined = false;
    if let LogicalPlan::Join(join) = &mut plan {
        for (left, right) in &mut join.on {
            let types = [left.get_type(join.left.schema())?, right.get_type(join.right.schema())?];
            if let Some(float) = float_among(&types) {
                *left = as_float(std::mem::take(left), &types[0], &float);
                *right = as_float(std::mem::take(right), &types[1], &float);
                is_joined = true;
            }
        }
    }
    Ok(Transformed::new_transformed(plan, is_changed || is_joined))
}

/// An expression over rows of a schema, in which what is beside a double is one.
pub(crate) fn beside_doubles(expr: Expr, schema: &DFSchema) -> Result<Transformed<Expr>> {
    expr.transform_up(|expr| beside(expr, schema))
}

fn beside(expr: Expr, schema: &DFSchema) -> Result<Transformed<Expr>> {
    match expr {
        Expr::BinaryExpr(mut of) if is_for_numbers(&of) => {
            let is_changed = unite([&mut *of.left, &mut *of.right], schema)?;
            Ok(Transformed::new_transformed(Expr::BinaryExpr(of), is_changed))
        }
        Expr::Between(mut of) => {
            let is_changed = unite([&mut *of.expr, &mut *of.low, &mut *of.high], schema)?;
            Ok(Transformed::new_transformed(Expr::Between(of), is_changed))
        }
        Expr::InList(mut of) => {
            let is_changed = unite(std::iter::once(&mut *of.expr).chain(&mut of.list), schema)?;
            Ok(Transformed::new_transformed(Expr::InList(of), is_changed))
        }
        Expr::InSubquery(mut of) => {
            let is_changed = beside_subquery(&mut of.expr, &mut of.subquery, schema)?;
            Ok(Transformed::new_transformed(Expr::InSubquery(of), is_changed))
        }
        Expr::SetComparison(mut of) => {
            let is_changed = beside_subquery(&mut of.expr, &mut of.subquery, schema)?;
            Ok(Transformed::new_transformed(Expr::SetComparison(of), is_changed))
        }
        Expr::Case(of) => in_case(of, schema),
        Expr::ScalarFunction(mut of) => {
            let is_changed = match united_from(&of) {
                Some(first) => unite(&mut of.args[first..], schema)?,
                None if is_of_lists(of.name()) => unite_elements(&mut of.args, schema)?,
                None => false,
            };
            Ok(Transformed::new_transformed(Expr::ScalarFunction(of), is_changed))
        }
        Expr::AggregateFunction(mut of) if of.func.name() == MEDIAN => {
            let is_changed = between(&mut of.params.args, schema)?;
            Ok(Transformed::new_transformed(Expr::AggregateFunction(of), is_changed))
        }
        Expr::WindowFunction(mut of) if of.fun.name() == MEDIAN => {
            let is_changed = between(&mut of.params.args, schema)?;
            Ok(Transformed::new_transformed(Expr::WindowFunction(of), is_changed))
        }
        // The value of rows that are not there.
        Expr::WindowFunction(mut of) if ["lag", "lead"].contains(&of.fun.name()) => {
            let is_changed = match &mut of.params.args[..] {
                [value, _, default] => unite([value, default], schema)?,
                _ => false,
            };
            Ok(Transformed::new_transformed(Expr::WindowFunction(of), is_changed))
        }
        // No decimal has more than 38 digits.
        Expr::Literal(ScalarValue::Decimal256(Some(number), digits, scale), metadata) => {
            let text = Decimal256Type::format_decimal(number, digits, scale);
            Ok(match text.parse() {
                Ok(double) => Transformed::yes(Expr::Literal(ScalarValue::Float64(Some(double)), metadata)),
                Err(_) => Transformed::no(Expr::Literal(
                    ScalarValue::Decimal256(Some(number), digits, scale),
                    metadata,
                )),
            })
        }
        expr => Ok(Transformed::no(expr)),
    }
}

fn is_for_numbers(of: &BinaryExpr) -> bool {
    use Operator as O;
    matches!(of.op, O::Plus | O::Minus | O::Multiply | O::Divide | O::Modulo)
        || matches!(of.op, O::Eq | O::NotEq | O::Lt | O::LtEq | O::Gt | O::GtEq)
        || matches!(of.op, O::IsDistinctFrom | O::IsNotDistinctFrom)
}

/// Whether a function looks for values in lists, or adds them.
fn is_of_lists(name: &str) -> bool {
    name.starts_with("array_") || name.starts_with("list_")
}

/// As [`unite`], of the elements of lists and what may be among them.
fn unite_elements(args: &mut [Expr], schema: &DFSchema) -> Result<bool> {
    let types = args.iter().map(|arg| arg.get_type(schema)).collect::<Result<Vec<_>>>()?;
    let element = |ty: &DataType| match ty {
        DataType::List(element) | DataType::LargeList(element) => Some(element.data_type().clone()),
        _ => None,
    };
    let elements: Vec<_> = types.iter().map(|ty| element(ty).unwrap_or_else(|| ty.clone())).collect();
    if types.iter().all(|ty| element(ty).is_none()) {
        return Ok(false);
    }
    let Some(float) = float_among(&elements) else { return Ok(false) };
    for ((arg, ty), of) in args.iter_mut().zip(&types).zip(&elements).filter(|(_, of)| of.is_decimal()) {
        let expr = std::mem::take(arg);
        *arg = match element(ty) {
            Some(_) => cast(expr, DataType::new_list(float.clone(), true)),
            None => as_float(expr, of, &float),
        };
    }
    Ok(true)
}

fn united_from(function: &ScalarFunction) -> Option<usize> {
    UNITED.iter().find(|(name, _)| *name == function.name()).map(|(_, first)| *first)
}

/// Gives expressions the type of a float, if one of them is one and another a decimal; so with parts of nested values.
fn unite<'e>(exprs: impl IntoIterator<Item = &'e mut Expr>, schema: &DFSchema) -> Result<bool> {
    let exprs: Vec<&mut Expr> = exprs.into_iter().collect();
    let types = exprs.iter().map(|expr| expr.get_type(schema)).collect::<Result<Vec<_>>>()?;
    let Some(wanted) = with_floats(&types) else { return Ok(false) };
    for ((expr, ty), wanted) in exprs.into_iter().zip(&types).zip(&wanted) {
        *expr = as_wanted(std::mem::take(expr), ty, wanted);
    }
    Ok(true)
}

/// A value of a type as one of another, which has floats where it had numbers.
fn as_wanted(expr: Expr, ty: &DataType, wanted: &DataType) -> Expr {
    match wanted {
        wanted if wanted.is_floating() => as_float(expr, ty, wanted),
        wanted if wanted == ty => expr,
        wanted => cast(expr, wanted.clone()),
    }
}

/// A number of a type as a float of another.
fn as_float(expr: Expr, ty: &DataType, float: &DataType) -> Expr {
    match expr {
        expr if ty == float || !ty.is_numeric() => expr,
        Expr::Literal(ScalarValue::Decimal128(Some(number), digits, scale), metadata) => {
            let text = Decimal128Type::format_decimal(number, digits, scale);
            let literal = match float {
                DataType::Float32 => text.parse().map(|number| ScalarValue::Float32(Some(number))),
                _ => text.parse().map(|number| ScalarValue::Float64(Some(number))),
            };
            match literal {
                Ok(literal) => Expr::Literal(literal, metadata),
                Err(_) => cast(
                    Expr::Literal(ScalarValue::Decimal128(Some(number), digits, scale), metadata),
                    float.clone(),
                ),
            }
        }
        Expr::Negative(of) => Expr::Negative(Box::new(as_float(*of, ty, float))),
        expr => cast(expr, float.clone()),
    }
}

/// What may lie between two numbers is a double: the planner's median of integers and decimals cuts, and wraps.
fn between(args: &mut [Expr], schema: &DFSchema) -> Result<bool> {
    let mut is_changed = false;
    for arg in args {
        let ty = arg.get_type(schema)?;
        if ty.is_integer() || ty.is_decimal() {
            *arg = as_float(std::mem::take(arg), &ty, &DataType::Float64);
            is_changed = true;
        }
    }
    Ok(is_changed)
}

/// What is compared with the rows of a query, and that query.
fn beside_subquery(expr: &mut Expr, subquery: &mut Subquery, schema: &DFSchema) -> Result<bool> {
    let inner = subquery.subquery.schema();
    let types = [expr.get_type(schema)?, inner.field(0).data_type().clone()];
    let Some(float) = float_among(&types) else { return Ok(false) };
    *expr = as_float(std::mem::take(expr), &types[0], &float);
    if types[1] != float {
        let column = Expr::Column(Column::from(inner.qualified_field(0)));
        let name = inner.field(0).name().clone();
        let plan = LogicalPlanBuilder::from(subquery.subquery.clone())
            .project([cast(column, float).alias(name)])?
            .build()?;
        subquery.subquery = Arc::new(plan);
    }
    Ok(true)
}

/// What is compared in CASE, and what it returns. The planner takes its type for that of the first result; so all have their common one.
fn in_case(mut of: Case, schema: &DFSchema) -> Result<Transformed<Expr>> {
    let mut is_changed = false;
    if let Some(sought) = &mut of.expr {
        let whens = of.when_then_expr.iter_mut().map(|(when, _)| &mut **when);
        is_changed |= unite(std::iter::once(&mut **sought).chain(whens), schema)?;
    }
    let thens = of.when_then_expr.iter_mut().map(|(_, then)| &mut **then);
    let results: Vec<&mut Expr> = thens.chain(of.else_expr.as_deref_mut()).collect();
    let types = results.iter().map(|result| result.get_type(schema)).collect::<Result<Vec<_>>>()?;
    if let Some(wanted) = with_floats(&types).filter(|_| !types.iter().any(DataType::is_numeric)) {
        for ((result, ty), wanted) in results.into_iter().zip(&types).zip(&wanted) {
            *result = as_wanted(std::mem::take(result), ty, wanted);
        }
        return Ok(Transformed::yes(Expr::Case(of)));
    }
    let numbers = || types.iter().filter(|ty| !ty.is_null());
    let common = match float_among(&types) {
        Some(float) => Some(float),
        None if numbers().all(DataType::is_numeric) => {
            let mut numbers = numbers().cloned();
            numbers.next().and_then(|first| numbers.try_fold(first, |a, b| type_union_coercion(&a, &b)))
        }
        None => None,
    };
    if let Some(common) = common.filter(|common| numbers().any(|ty| ty != common)) {
        is_changed = true;
        for (result, ty) in results.into_iter().zip(&types).filter(|(_, ty)| !ty.is_null()) {
            let expr = std::mem::take(result);
            *result = match common.is_floating() {
                true => as_float(expr, ty, &common),
                false if *ty == common => expr,
                false => cast(expr, common.clone()),
            };
        }
    }
    Ok(Transformed::new_transformed(Expr::Case(of), is_changed))
}

/// The columns of VALUES: the planner has made decimals of doubles there already.
fn in_values(values: Values) -> Result<Transformed<LogicalPlan>> {
    let Values { schema, values: mut rows } = values;
    let none = DFSchema::empty();
    let mut is_changed = false;
    for (column, field) in
        schema.fields().iter().enumerate().filter(|(_, field)| has_decimals(field.data_type()))
    {
        let given = |expr: &Expr| match expr {
            Expr::Cast(Cast { expr, field: to }) if to.data_type() == field.data_type() => {
                expr.as_ref().clone()
            }
            expr => expr.clone(),
        };
        let mut of_column: Vec<Expr> = rows.iter().map(|row| given(&row[column])).collect();
        if unite(&mut of_column, &none)? {
            is_changed = true;
            rows.iter_mut().zip(of_column).for_each(|(row, expr)| row[column] = expr);
        }
    }
    let plan = match is_changed {
        // With the schema that follows from the rows.
        true => LogicalPlanBuilder::values(rows)?.build()?,
        false => LogicalPlan::Values(Values { schema, values: rows }),
    };
    Ok(Transformed::new_transformed(plan, is_changed))
}
