//! Numbers that storages compute for each row: exact arithmetic, and choices by conditions on columns.

use ambo::{Datum, Expression, Test, Type};
use arrow::datatypes::DataType;
use datafusion::logical_expr::{Between, BinaryExpr, Case, Expr, Like, Operator, expr::InList};

use super::{filter::filter, range::Range};
use crate::{
    numbers::{Operation, operation},
    value::{column_type, datum},
};

/// What is known of columns, by name.
pub(super) struct Columns<'a> {
    pub kind: &'a dyn Fn(&str) -> Option<Type>,
    /// Between which numbers all values lie, in units of the column's last digit.
    pub bounds: &'a dyn Fn(&str) -> Option<(i128, i128)>,
}

/// A number as the storage computes it.
pub(super) struct Number {
    pub expression: Expression,
    /// Between what an exact one lies; `None`: it is a float.
    pub range: Option<Range>,
}

/// An expression of numbers as the storage computes it. Casts that lose nothing are left out. `None`, too, if a result in it may not fit
/// the type that it has in statements: that is an error, which the storage does not know.
pub(super) fn number(expr: &Expr, columns: &Columns<'_>) -> Option<Number> {
    match expr {
        Expr::Column(column) => {
            let kind = (columns.kind)(&column.name)?;
            let range = match kind {
                Type::F64 => None,
                Type::I8 | Type::I16 | Type::I32 | Type::I64 | Type::U8 | Type::U16 | Type::U32 => {
                    Some(Range::of_type(kind)?)
                }
                Type::U64 | Type::Decimal128 { .. } => Some(Range::of_type(kind)?),
                _ => return None,
            };
            let known = range.and_then(|range| {
                let (low, high) = (columns.bounds)(&column.name)?;
                Some(Range { low, high, ..range })
            });
            Some(Number { expression: Expression::Column(column.name.clone()), range: known.or(range) })
        }
        Expr::Literal(constant, _) => {
            let value = datum(constant)?;
            let range = match value {
                Datum::F64(_) => None,
                Datum::I64(_) | Datum::I32(_) | Datum::I16(_) | Datum::I8(_) | Datum::Decimal128 { .. } => {
                    Some(Range::of_value(&value)?)
                }
                _ => return None,
            };
            Some(Number { expression: Expression::Constant(value), range })
        }
        Expr::Cast(cast) => {
            let inner = number(&cast.expr, columns)?;
            match (inner.range.is_none(), cast.field.data_type()) {
                (true, DataType::Float64) => Some(inner),
                (false, to) if keeps_all(&cast.expr, to, columns) => Some(inner),
                _ => None,
            }
        }
        Expr::Case(case) => choice(case, columns),
        expr => {
            let (operation, left, right) = operation(expr)?;
            let (left, right) = (number(left, columns)?, number(right, columns)?);
            let range = match (left.range, right.range) {
                (None, None) => None,
                (Some(left), Some(right)) => {
                    let range = left.combined(operation, right)?;
                    range.fits(ty(expr, columns)?).then_some(())?;
                    Some(range)
                }
                _ => return None,
            };
            let (left, right) = (left.expression, right.expression);
            let expression = match operation {
                Operation::Add => left + right,
                Operation::Subtract => left - right,
                Operation::Multiply => left * right,
                _ => return None,
            };
            Some(Number { expression, range })
        }
    }
}

/// CASE with conditions that storages answer, of numbers of one kind.
fn choice(case: &Case, columns: &Columns<'_>) -> Option<Number> {
    let is_null = |expr: &Expr| matches!(expr, Expr::Literal(constant, _) if constant.is_null());
    let mut chosen = match &case.else_expr {
        Some(other) if !is_null(other) => Some(number(other, columns)?),
        _ => None,
    };
    for (when, then) in case.when_then_expr.iter().rev() {
        let condition = match &case.expr {
            Some(of) => truth(&Expr::eq(*of.clone(), *when.clone()), true, columns)?,
            None => truth(when, true, columns)?,
        };
        let Number { expression: then, range } = number(then, columns)?;
        chosen = Some(match chosen {
            Some(other) => {
                let range = match (range, other.range) {
                    (None, None) => None,
                    (Some(range), Some(other)) => Some(range.hull(other)?),
                    _ => return None,
                };
                Number { expression: condition.choose(then, other.expression), range }
            }
            None => Number { expression: condition.choose_or_null(then), range },
        });
    }
    chosen
}

/// A condition as a number: one where it is `wanted`, zero where it is not, or is NULL.
pub(super) fn truth(expr: &Expr, wanted: bool, columns: &Columns<'_>) -> Option<Expression> {
    let of_both =
        |left: &Expr, right: &Expr| Some((truth(left, wanted, columns)?, truth(right, wanted, columns)?));
    Some(match expr {
        Expr::BinaryExpr(BinaryExpr { left, op: op @ (Operator::And | Operator::Or), right }) => {
            let (left, right) = of_both(left, right)?;
            // That one of two is false is enough for AND to be false.
            match (*op == Operator::And) == wanted {
                true => left * right,
                false => left.choose(1, right),
            }
        }
        Expr::Not(of) => truth(of, !wanted, columns)?,
        Expr::InList(list) if list.negated => {
            truth(&Expr::InList(InList { negated: false, ..list.clone() }), !wanted, columns)?
        }
        Expr::Between(between) if between.negated => {
            truth(&Expr::Between(Between { negated: false, ..between.clone() }), !wanted, columns)?
        }
        Expr::Like(like) if like.negated => {
            truth(&Expr::Like(Like { negated: false, ..like.clone() }), !wanted, columns)?
        }
        _ => {
            let (column, test) = filter(expr)?;
            let test = test.fit((columns.kind)(&column)?).ok()?;
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
fn keeps_all(expr: &Expr, to: &DataType, columns: &Columns<'_>) -> bool {
    let digits = |ty: Type| match ty {
        Type::I8 | Type::U8 => Some((3, 0)),
        Type::I16 | Type::U16 => Some((5, 0)),
        Type::I32 | Type::U32 => Some((10, 0)),
        Type::I64 | Type::U64 => Some((20, 0)),
        Type::Decimal128 { precision, scale } => Some((i32::from(precision), i32::from(scale))),
        _ => None,
    };
    let from = ty(expr, columns).and_then(digits);
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

/// The type of what the planner computes, where it is plain to see.
fn ty(expr: &Expr, columns: &Columns<'_>) -> Option<Type> {
    match expr {
        Expr::Column(column) => (columns.kind)(&column.name),
        Expr::Literal(constant, _) => column_type(&constant.data_type()),
        Expr::Cast(cast) => column_type(cast.field.data_type()),
        Expr::Case(case) => case.when_then_expr.iter().find_map(|(_, then)| ty(then, columns)),
        expr => {
            let (operation, left, right) = operation(expr)?;
            combined(operation, ty(left, columns)?, ty(right, columns)?)
        }
    }
}

/// The type of an operation's result: of integers their own, decimals become longer.
fn combined(operation: Operation, left: Type, right: Type) -> Option<Type> {
    let (Type::Decimal128 { precision: p1, scale: s1 }, Type::Decimal128 { precision: p2, scale: s2 }) =
        (left, right)
    else {
        return (left == right && !matches!(left, Type::Decimal128 { .. })).then_some(left);
    };
    let (p1, s1, p2, s2) = (i32::from(p1), i32::from(s1), i32::from(p2), i32::from(s2));
    let (precision, scale) = match operation {
        Operation::Add | Operation::Subtract => ((p1 - s1).max(p2 - s2) + s1.max(s2) + 1, s1.max(s2)),
        Operation::Multiply => (p1 + p2 + 1, s1 + s2),
        _ => return None,
    };
    Type::decimal(precision.min(38).try_into().ok()?, scale.try_into().ok()?).ok()
}
