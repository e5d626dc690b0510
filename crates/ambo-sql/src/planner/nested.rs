//! Operators on lists, structs and maps that the planner reads otherwise than they are meant.

use std::sync::{Arc, LazyLock};

use arrow::datatypes::DataType;
use datafusion::{
    common::{DFSchema, Result, ScalarValue, plan_err},
    functions::core,
    logical_expr::{
        Expr, ExprSchemable, GetFieldAccess, Operator, ScalarUDF, ScalarUDFImpl, cast, lit,
        planner::{ExprPlanner, PlannerResult, RawBinaryExpr, RawFieldAccessExpr},
    },
    sql::sqlparser::ast::BinaryOperator,
};

use crate::{
    functions::{Joined, JsonExtract, MapElement, NestedOrder, TextOrList, is_json},
    logical::is_enum,
    times::is_text,
};

/// `map[key]` by [`MapElement`], `text[place]` by [`TextOrList`], `list || list` by [`Joined`] (NULL beside a list is one), `<` and the
/// like by [`NestedOrder`].
#[derive(Debug)]
pub(crate) struct NestedValues;

fn call(function: impl ScalarUDFImpl + 'static, args: Vec<Expr>) -> Expr {
    ScalarUDF::new_from_impl(function).call(args)
}

fn is_list(ty: &DataType) -> bool {
    matches!(ty, DataType::List(_) | DataType::LargeList(_) | DataType::FixedSizeList(..))
}

fn has_order(ty: &DataType) -> bool {
    is_list(ty) || matches!(ty, DataType::Struct(_)) && !is_enum(ty)
}

fn depth(ty: &DataType) -> usize {
    match ty {
        DataType::List(field) | DataType::LargeList(field) | DataType::FixedSizeList(field, _) => {
            1 + depth(field.data_type())
        }
        _ => 0,
    }
}

/// Whether a list, a struct or a map may come of an expression. What is no such is mostly told without its type, which long expressions
/// take long to tell.
fn may_be_nested(expr: &Expr) -> bool {
    match expr {
        Expr::BinaryExpr(_)
        | Expr::Not(_)
        | Expr::Negative(_)
        | Expr::Like(_)
        | Expr::Between(_)
        | Expr::InList(_) => false,
        Expr::Literal(value, _) => has_order(&value.data_type()),
        _ => true,
    }
}

fn order(op: &BinaryOperator) -> Option<NestedOrder> {
    NestedOrder::of(match op {
        BinaryOperator::Lt => Operator::Lt,
        BinaryOperator::LtEq => Operator::LtEq,
        BinaryOperator::Gt => Operator::Gt,
        BinaryOperator::GtEq => Operator::GtEq,
        _ => return None,
    })
}

fn is_comparison(op: &BinaryOperator) -> bool {
    matches!(op, BinaryOperator::Eq | BinaryOperator::NotEq) || order(op).is_some()
}

/// A comparison of a list or a struct with one that is written as a text.
fn beside_text(mut expr: RawBinaryExpr, schema: &DFSchema) -> RawBinaryExpr {
    let is_written = |expr: &Expr| match expr {
        Expr::Literal(value, _) => is_text(&value.data_type()),
        Expr::Placeholder(parameter) => {
            parameter.field.as_ref().is_some_and(|field| is_text(field.data_type()))
        }
        _ => false,
    };
    let of = |expr: &Expr| match may_be_nested(expr) {
        true => expr.get_type(schema).ok().filter(has_order),
        false => None,
    };
    if is_written(&expr.right)
        && let Some(ty) = of(&expr.left)
    {
        expr.right = cast(expr.right, ty);
    } else if is_written(&expr.left)
        && let Some(ty) = of(&expr.right)
    {
        expr.left = cast(expr.left, ty);
    }
    expr
}

/// The field of a struct at a place, counted from 1: `(ROW(1, 'a'))[2]`.
fn field_at(ty: &DataType, key: &Expr) -> Option<String> {
    let (DataType::Struct(fields), Expr::Literal(ScalarValue::Int64(Some(place)), _)) = (ty, key) else {
        return None;
    };
    let place = usize::try_from(*place).ok()?.checked_sub(1)?;
    fields.get(place).filter(|_| !is_enum(ty)).map(|field| field.name().clone())
}

/// `json['name']`, `json[0]`: as `->`.
fn in_json(access: RawFieldAccessExpr) -> Result<PlannerResult<RawFieldAccessExpr>> {
    let RawFieldAccessExpr { expr, field_access } = access;
    let place = match field_access {
        GetFieldAccess::ListIndex { key } => *key,
        GetFieldAccess::NamedStructField { name } => Expr::Literal(name, None),
        GetFieldAccess::ListRange { .. } => {
            return plan_err!("a part of JSON is taken by one place or name, not by a range of them");
        }
    };
    Ok(PlannerResult::Planned(call(JsonExtract::plain(), vec![expr, place])))
}

impl ExprPlanner for NestedValues {
    fn plan_binary_op(&self, expr: RawBinaryExpr, schema: &DFSchema) -> Result<PlannerResult<RawBinaryExpr>> {
        let is_join = expr.op == BinaryOperator::StringConcat;
        let order = order(&expr.op);
        let expr = if is_comparison(&expr.op) { beside_text(expr, schema) } else { expr };
        let [left, right] = [&expr.left, &expr.right].map(may_be_nested);
        if !(is_join && (left || right) || order.is_some() && left && right) {
            return Ok(PlannerResult::Original(expr));
        }
        let (Ok(left), Ok(right)) = (expr.left.get_type(schema), expr.right.get_type(schema)) else {
            return Ok(PlannerResult::Original(expr));
        };
        if let Some(order) = order.filter(|_| has_order(&left) && has_order(&right)) {
            return Ok(PlannerResult::Planned(call(order, vec![expr.left, expr.right])));
        }
        let null = match (&left, &right) {
            (list, DataType::Null) | (DataType::Null, list) if is_list(list) => Some(list),
            _ => None,
        };
        if let Some(list) = null.filter(|_| is_join) {
            return Ok(PlannerResult::Planned(lit(ScalarValue::try_new_null(list)?)));
        }
        if is_join && is_list(&left) && depth(&left) == depth(&right) {
            return Ok(PlannerResult::Planned(call(Joined::new(), vec![expr.left, expr.right])));
        }
        Ok(PlannerResult::Original(expr))
    }

    fn plan_array_literal(&self, exprs: Vec<Expr>, schema: &DFSchema) -> Result<PlannerResult<Vec<Expr>>> {
        let types: Vec<_> = exprs.iter().map(|expr| expr.get_type(schema).ok()).collect();
        let mut known = types.iter().flatten().filter(|ty| !ty.is_null());
        // The planner has no common type of NULL and bytes.
        let Some(first) = known.next().filter(|ty| ty.is_binary() && known.all(|other| other == *ty)) else {
            return Ok(PlannerResult::Original(exprs));
        };
        let null = ScalarValue::try_new_null(first)?;
        let is_null = |ty: &Option<DataType>| ty.as_ref().is_some_and(DataType::is_null);
        let exprs = exprs.into_iter().zip(&types);
        let exprs = exprs.map(|(expr, ty)| if is_null(ty) { lit(null.clone()) } else { expr });
        Ok(PlannerResult::Original(exprs.collect()))
    }

    fn plan_field_access(
        &self,
        access: RawFieldAccessExpr,
        schema: &DFSchema,
    ) -> Result<PlannerResult<RawFieldAccessExpr>> {
        static ELEMENT: LazyLock<Arc<ScalarUDF>> =
            LazyLock::new(|| Arc::new(ScalarUDF::new_from_impl(MapElement::new())));
        if is_json(&access.expr.to_field(schema)?.1) {
            return in_json(access);
        }
        let ty = access.expr.get_type(schema)?;
        let is_map = matches!(ty, DataType::Map(..));
        let RawFieldAccessExpr { expr, field_access } = access;
        match field_access {
            GetFieldAccess::ListIndex { key } if is_map => {
                Ok(PlannerResult::Planned(ELEMENT.call(vec![expr, *key])))
            }
            GetFieldAccess::NamedStructField { name } if is_map => {
                Ok(PlannerResult::Planned(ELEMENT.call(vec![expr, Expr::Literal(name, None)])))
            }
            GetFieldAccess::ListIndex { key } if field_at(&ty, &key).is_some() => {
                let name = field_at(&ty, &key).unwrap_or_default();
                Ok(PlannerResult::Planned(core::get_field().call(vec![expr, lit(name)])))
            }
            GetFieldAccess::ListIndex { key } if is_text(&ty) => {
                Ok(PlannerResult::Planned(call(TextOrList::element(), vec![expr, *key])))
            }
            GetFieldAccess::ListRange { stride, .. } if is_text(&ty) && *stride != lit(1_i64) => {
                plan_err!("a part of a text has no step: x[from:to]")
            }
            GetFieldAccess::ListRange { start, stop, .. } if is_text(&ty) => {
                Ok(PlannerResult::Planned(call(TextOrList::slice(), vec![expr, *start, *stop])))
            }
            field_access => Ok(PlannerResult::Original(RawFieldAccessExpr { expr, field_access })),
        }
    }
}
