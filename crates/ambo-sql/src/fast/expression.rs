//! Expressions that need no planner: constants, parameters, columns, and arithmetic that is exact.

use ambo::{Datum, Type};
use datafusion::{
    common::ScalarValue,
    sql::sqlparser::ast::{BinaryOperator, Expr, UnaryOperator, Value},
};

use crate::{
    names,
    numbers::DIGITS_MAX,
    optimizer::writes_bytes,
    times::{Zone, converted, converts},
    value::{datum, scalar, sql_type, unscaled},
};

/// See the module.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Expression {
    Constant(Datum),
    /// The parameter at this place.
    Parameter(usize),
    /// The value of a row at this place.
    Column(usize),
    Arithmetic(Operator, Box<Self>, Box<Self>),
}

#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Operator {
    Add,
    Subtract,
    Multiply,
}

impl Expression {
    /// The expression of a tree, if it is one of these. `column` knows the places of names.
    pub(crate) fn of(expr: &Expr, column: &dyn Fn(&[&str]) -> Option<usize>) -> Option<Self> {
        Some(match expr {
            Expr::Nested(inner) => return Self::of(inner, column),
            Expr::Identifier(name) => Self::Column(column(&[&names::ident(name)])?),
            Expr::CompoundIdentifier(parts) => {
                let parts: Vec<_> = parts.iter().map(names::ident).collect();
                Self::Column(column(&parts.iter().map(String::as_str).collect::<Vec<_>>())?)
            }
            Expr::Value(value) => constant(&value.value)?,
            Expr::UnaryOp { op: UnaryOperator::Minus, expr } => match Self::of(expr, column)? {
                Self::Constant(Datum::I64(number)) => Self::Constant(Datum::I64(number.checked_neg()?)),
                Self::Constant(Datum::Decimal128 { unscaled, scale }) => {
                    Self::Constant(Datum::Decimal128 { unscaled: -unscaled, scale })
                }
                _ => return None,
            },
            Expr::BinaryOp { left, op, right } => {
                let operator = match op {
                    BinaryOperator::Plus => Operator::Add,
                    BinaryOperator::Minus => Operator::Subtract,
                    BinaryOperator::Multiply => Operator::Multiply,
                    _ => return None,
                };
                Self::Arithmetic(operator, Self::of(left, column)?.into(), Self::of(right, column)?.into())
            }
            _ => return None,
        })
    }

    /// Whether it is the same for every row.
    pub(super) fn is_constant(&self) -> bool {
        match self {
            Self::Constant(_) | Self::Parameter(_) => true,
            Self::Column(_) => false,
            Self::Arithmetic(_, left, right) => left.is_constant() && right.is_constant(),
        }
    }

    /// The value for a row; `None` if it takes more than this module knows.
    pub(crate) fn value(&self, row: &[Datum], params: &[Datum]) -> Option<Datum> {
        match self {
            Self::Constant(value) => Some(value.clone()),
            Self::Parameter(place) => params.get(*place).cloned(),
            Self::Column(place) => row.get(*place).cloned(),
            Self::Arithmetic(operator, left, right) => {
                operator.combine(&left.value(row, params)?, &right.value(row, params)?)
            }
        }
    }
}

/// A constant as the planner reads it: whole numbers have 64 bits, others are decimals.
fn constant(value: &Value) -> Option<Expression> {
    Some(match value {
        Value::Number(text, _) => match text.parse::<i64>() {
            Ok(number) => Expression::Constant(Datum::I64(number)),
            Err(_) => Expression::Constant(decimal(text)?),
        },
        Value::SingleQuotedString(text) => Expression::Constant(text.as_str().into()),
        Value::Boolean(value) => Expression::Constant(Datum::Bool(*value)),
        Value::Null => Expression::Constant(Datum::Null),
        Value::Placeholder(name) => {
            Expression::Parameter(name.strip_prefix('$')?.parse::<usize>().ok()?.checked_sub(1)?)
        }
        _ => return None,
    })
}

/// Digits around a point.
fn decimal(text: &str) -> Option<Datum> {
    let (whole, part) = text.split_once('.')?;
    let digits = format!("{whole}{part}");
    let is_plain =
        !digits.is_empty() && digits.len() <= 38 && digits.bytes().all(|byte| byte.is_ascii_digit());
    is_plain.then_some(())?;
    Some(Datum::Decimal128 { unscaled: digits.parse().ok()?, scale: part.len() as i8 })
}

impl Operator {
    /// Two numbers combined, if the result is exact: NULL with anything is NULL, floats go with floats.
    fn combine(self, left: &Datum, right: &Datum) -> Option<Datum> {
        if left.is_null() || right.is_null() {
            return Some(Datum::Null);
        }
        if let (Datum::F64(left), Datum::F64(right)) = (left, right) {
            return Some(Datum::F64(match self {
                Self::Add => left + right,
                Self::Subtract => left - right,
                Self::Multiply => left * right,
            }));
        }
        let ((a, a_scale), (b, b_scale)) = (exact(left)?, exact(right)?);
        let (unscaled, scale) = match self {
            Self::Multiply => (a.checked_mul(b)?, a_scale.checked_add(b_scale)?),
            Self::Add | Self::Subtract => {
                let scale = a_scale.max(b_scale);
                let (a, b) = (rescaled(a, scale - a_scale)?, rescaled(b, scale - b_scale)?);
                let sum = if self == Self::Add { a.checked_add(b) } else { a.checked_sub(b) };
                (sum?, scale)
            }
        };
        if matches!(left, Datum::Decimal128 { .. }) || matches!(right, Datum::Decimal128 { .. }) {
            let fits = unscaled.unsigned_abs() < 10u128.pow(DIGITS_MAX.into()) && scale <= 38;
            return fits.then_some(Datum::Decimal128 { unscaled, scale });
        }
        // The longer type of two. What does not fit is an error, which the planner has the words for.
        Some(match (left, right) {
            (Datum::I8(_), Datum::I8(_)) => Datum::I8(unscaled.try_into().ok()?),
            (Datum::I8(_) | Datum::I16(_), Datum::I8(_) | Datum::I16(_)) => {
                Datum::I16(unscaled.try_into().ok()?)
            }
            (Datum::I8(_) | Datum::I16(_) | Datum::I32(_), Datum::I8(_) | Datum::I16(_) | Datum::I32(_)) => {
                Datum::I32(unscaled.try_into().ok()?)
            }
            (Datum::I64(_), _) | (_, Datum::I64(_)) => Datum::I64(unscaled.try_into().ok()?),
            _ => return None,
        })
    }
}

/// An integer of up to 63 bits or a decimal as a number and how many of its digits are behind the point.
fn exact(value: &Datum) -> Option<(i128, i8)> {
    unscaled(value).filter(|(_, scale)| !matches!(value, Datum::U64(_)) && *scale >= 0)
}

fn rescaled(number: i128, by: i8) -> Option<i128> {
    number.checked_mul(10i128.checked_pow(u32::try_from(by).ok()?)?)
}

/// A value in the type of a column: as it is, or text as the planner's cast reads it. `None`: something of it would be lost.
pub(crate) fn cast(value: Datum, ty: Type) -> Option<Datum> {
    if let Datum::Utf8(text) = &value
        && sql_type(ty).is_binary()
        && writes_bytes(text)
    {
        return None;
    }
    match value.clone().fit(ty) {
        Ok(value) => Some(value),
        Err(_) if matches!(value, Datum::Utf8(_)) => {
            let (value, to) = (scalar(&value), sql_type(ty));
            match converts(&value.data_type(), &to) {
                true => {
                    let cast = converted(&value.to_array().ok()?, &to, Zone::UTC, true).ok()?;
                    datum(&ScalarValue::try_from_array(&cast, 0).ok()?)
                }
                false => datum(&value.cast_to(&to).ok()?),
            }
        }
        Err(_) => None,
    }
}

#[cfg(test)]
mod tests {
    use datafusion::sql::sqlparser::parser::Parser;

    use super::*;
    use crate::parse::DIALECT;

    fn expression(text: &str) -> Option<Expression> {
        let expr = Parser::new(&DIALECT).try_with_sql(text).unwrap().parse_expr().unwrap();
        Expression::of(&expr, &|name| ["a", "b"].iter().position(|known| [*known] == *name))
    }

    fn value(text: &str) -> Option<Datum> {
        expression(text)?.value(&[Datum::I32(7), Datum::F64(0.5)], &["x".into(), 9i64.into()])
    }

    #[test]
    fn values_are_exact_or_none() {
        let decimal = |unscaled, scale| Some(Datum::Decimal128 { unscaled, scale });
        assert_eq!(value("5"), Some(Datum::I64(5)));
        assert_eq!(value("-5"), Some(Datum::I64(-5)));
        assert_eq!(value("0.05"), decimal(5, 2));
        assert_eq!(value("-1.50"), decimal(-150, 2));
        assert_eq!(value("a + 1"), Some(Datum::I64(8)));
        assert_eq!(value("(a - 1) * 2"), Some(Datum::I64(12)));
        assert_eq!(value("a + 0.5"), decimal(75, 1));
        assert_eq!(value("0.5 * 0.25"), decimal(125, 3));
        assert_eq!(value("b + b"), Some(Datum::F64(1.0)));
        assert_eq!(value("a + null"), Some(Datum::Null));
        assert_eq!(value("$1"), Some("x".into()));
        assert_eq!(value("a * $2"), Some(Datum::I64(63)));
        assert_eq!(value("'it''s'"), Some("it's".into()));
        assert_eq!(value("9223372036854775807 + 1"), None, "no 64 bits");
        assert_eq!(value("a + b"), None, "not exact");
        for other in ["a / 2", "c", "upper('a')", "a || 'b'", "$0", "1e5"] {
            assert_eq!(expression(other), None, "{other}");
        }
        assert_eq!(value("$3"), None);
    }

    #[test]
    fn values_are_cast_as_the_planner_does() {
        assert_eq!(cast("2024-02-29".into(), Type::Date32), Some(Datum::Date32(19782)));
        assert_eq!(cast(Datum::I64(5), Type::I16), Some(Datum::I16(5)));
        assert_eq!(cast("17".into(), Type::I32), Some(Datum::I32(17)));
        assert_eq!(cast("x".into(), Type::I32), None);
        assert!(cast(Datum::I64(70000), Type::I16).is_none());
        assert!(cast(Datum::F64(2.5), Type::I16).is_none());
    }
}
