//! Numbers that storages compute for each row: exact arithmetic, and choices by conditions on columns.

use ambo::{Datum, Expression, Test, Type};
use arrow::datatypes::DataType;
use datafusion::logical_expr::{Between, BinaryExpr, Case, Expr, Like, Operator, expr::InList};

use super::filter::filter;
use crate::value::{column_type, datum};

/// The types of columns, by name.
pub(super) type Kinds<'a> = dyn Fn(&str) -> Option<Type> + 'a;

/// An expression of numbers as the storage computes it, and whether it is a float. Casts that lose nothing are left out.
pub(super) fn number(expr: &Expr, kind: &Kinds<'_>) -> Option<(Expression, bool)> {
    match expr {
        Expr::Column(column) => {
            let is_float = match kind(&column.name)? {
                Type::F64 => true,
                Type::I8 | Type::I16 | Type::I32 | Type::I64 | Type::U8 | Type::U16 | Type::U32 => false,
                Type::U64 | Type::Decimal128 { .. } => false,
                _ => return None,
            };
            Some((Expression::Column(column.name.clone()), is_float))
        }
        Expr::Literal(constant, _) => {
            let value = datum(constant)?;
            let is_float = match value {
                Datum::F64(_) => true,
                Datum::I64(_) | Datum::I32(_) | Datum::I16(_) | Datum::I8(_) | Datum::Decimal128 { .. } => {
                    false
                }
                _ => return None,
            };
            Some((Expression::Constant(value), is_float))
        }
        Expr::Cast(cast) => {
            let (inner, is_float) = number(&cast.expr, kind)?;
            match (is_float, cast.field.data_type()) {
                (true, DataType::Float64) => Some((inner, true)),
                (false, to) if keeps_all(&cast.expr, to, kind) => Some((inner, false)),
                _ => None,
            }
        }
        Expr::BinaryExpr(BinaryExpr { left, op, right }) => {
            let ((left, a), (right, b)) = (number(left, kind)?, number(right, kind)?);
            let combined = match op {
                Operator::Plus => left + right,
                Operator::Minus => left - right,
                Operator::Multiply => left * right,
                _ => return None,
            };
            (a == b).then_some((combined, a))
        }
        Expr::Case(case) => choice(case, kind),
        _ => None,
    }
}

/// CASE with conditions that storages answer, of numbers of one kind.
fn choice(case: &Case, kind: &Kinds<'_>) -> Option<(Expression, bool)> {
    let is_null = |expr: &Expr| matches!(expr, Expr::Literal(constant, _) if constant.is_null());
    let mut chosen = match &case.else_expr {
        Some(other) if !is_null(other) => Some(number(other, kind)?),
        _ => None,
    };
    for (when, then) in case.when_then_expr.iter().rev() {
        let condition = match &case.expr {
            Some(of) => truth(&Expr::eq(*of.clone(), *when.clone()), true, kind)?,
            None => truth(when, true, kind)?,
        };
        let (then, is_float) = number(then, kind)?;
        chosen = Some(match chosen {
            Some((other, of_other)) if of_other == is_float => (condition.choose(then, other), is_float),
            Some(_) => return None,
            None => (condition.choose_or_null(then), is_float),
        });
    }
    chosen
}

/// A condition as a number: one where it is `wanted`, zero where it is not, or is NULL.
pub(super) fn truth(expr: &Expr, wanted: bool, kind: &Kinds<'_>) -> Option<Expression> {
    let of_both = |left: &Expr, right: &Expr| Some((truth(left, wanted, kind)?, truth(right, wanted, kind)?));
    Some(match expr {
        Expr::BinaryExpr(BinaryExpr { left, op: op @ (Operator::And | Operator::Or), right }) => {
            let (left, right) = of_both(left, right)?;
            // That one of two is false is enough for AND to be false.
            match (*op == Operator::And) == wanted {
                true => left * right,
                false => left.choose(1, right),
            }
        }
        Expr::Not(of) => truth(of, !wanted, kind)?,
        Expr::InList(list) if list.negated => {
            truth(&Expr::InList(InList { negated: false, ..list.clone() }), !wanted, kind)?
        }
        Expr::Between(between) if between.negated => {
            truth(&Expr::Between(Between { negated: false, ..between.clone() }), !wanted, kind)?
        }
        Expr::Like(like) if like.negated => {
            truth(&Expr::Like(Like { negated: false, ..like.clone() }), !wanted, kind)?
        }
        _ => {
            let (column, test) = filter(expr)?;
            let test = test.fit(kind(&column)?).ok()?;
            let holds = |test: Test| Expression::Holds(column.clone(), test);
            match (wanted, test) {
                (true, test) => holds(test),
                (false, Test::IsNull) => holds(Test::IsNotNull),
                (false, Test::IsNotNull) => holds(Test::IsNull),
                (false, test) => holds(Test::IsNotNull) - holds(test),
            }
        }
    })
}

/// Whether a cast of whole numbers and decimals leaves each value what it is.
fn keeps_all(expr: &Expr, to: &DataType, kind: &Kinds<'_>) -> bool {
    let digits = |ty: Type| match ty {
        Type::I8 | Type::U8 => Some((3, 0)),
        Type::I16 | Type::U16 => Some((5, 0)),
        Type::I32 | Type::U32 => Some((10, 0)),
        Type::I64 | Type::U64 => Some((20, 0)),
        Type::Decimal128 { precision, scale } => Some((i32::from(precision), i32::from(scale))),
        _ => None,
    };
    let from = ty(expr, kind).and_then(digits);
    let (Some((digits, scale)), Some(to)) = (from, column_type(to)) else { return false };
    match to {
        Type::Decimal128 { precision, scale: wider } => {
            let (precision, wider) = (i32::from(precision), i32::from(wider));
            wider >= scale && precision - wider >= digits - scale
        }
        Type::I64 => scale == 0 && digits < 20,
        Type::I32 => scale == 0 && digits < 10,
        _ => false,
    }
}

/// The type of what the planner computes, where it is plain to see: operands of arithmetic have one type.
fn ty(expr: &Expr, kind: &Kinds<'_>) -> Option<Type> {
    match expr {
        Expr::Column(column) => kind(&column.name),
        Expr::Literal(constant, _) => column_type(&constant.data_type()),
        Expr::Cast(cast) => column_type(cast.field.data_type()),
        Expr::Case(case) => case.when_then_expr.iter().find_map(|(_, then)| ty(then, kind)),
        // Decimals become longer.
        Expr::BinaryExpr(of) => ty(&of.left, kind).filter(|ty| !matches!(ty, Type::Decimal128 { .. })),
        _ => None,
    }
}
