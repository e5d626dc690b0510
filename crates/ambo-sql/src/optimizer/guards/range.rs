//! Between which bounds whole numbers are that are computed.

use arrow::datatypes::DataType;
use datafusion::{
    common::{DFSchema, ScalarValue},
    logical_expr::{BinaryExpr, Expr, ExprSchemable, Operator},
};

/// All values that an expression of an integer type has.
#[derive(Clone, Copy, PartialEq, Debug)]
pub(super) struct Range {
    pub low: i128,
    pub high: i128,
    /// Whether each value is what the operation gives; else it may have no place in its type.
    pub is_exact: bool,
}

impl Range {
    fn new(low: i128, high: i128) -> Self {
        Self { low, high, is_exact: true }
    }

    pub(super) fn is_within(self, other: Self) -> bool {
        other.low <= self.low && self.high <= other.high
    }
}

/// The values of an integer type.
pub(super) fn of_type(ty: &DataType) -> Option<Range> {
    Some(match ty {
        DataType::Int8 => Range::new(i8::MIN.into(), i8::MAX.into()),
        DataType::Int16 => Range::new(i16::MIN.into(), i16::MAX.into()),
        DataType::Int32 => Range::new(i32::MIN.into(), i32::MAX.into()),
        DataType::Int64 => Range::new(i64::MIN.into(), i64::MAX.into()),
        DataType::UInt8 => Range::new(0, u8::MAX.into()),
        DataType::UInt16 => Range::new(0, u16::MAX.into()),
        DataType::UInt32 => Range::new(0, u32::MAX.into()),
        DataType::UInt64 => Range::new(0, u64::MAX.into()),
        _ => return None,
    })
}

/// The values of an expression of an integer type; None of others.
pub(super) fn range(expr: &Expr, schema: &DFSchema) -> Option<Range> {
    match expr {
        Expr::Alias(alias) => range(&alias.expr, schema),
        Expr::Literal(value, _) => literal(value),
        Expr::Negative(of) => {
            let of = range(of, schema)?;
            fitted(Range::new(-of.high, -of.low), expr, schema)
        }
        Expr::Cast(cast) => {
            let to = of_type(cast.field.data_type())?;
            Some(range(&cast.expr, schema).filter(|from| from.is_within(to)).unwrap_or(to))
        }
        Expr::BinaryExpr(BinaryExpr { left, op, right }) => {
            let (left, right) = (range(left, schema)?, range(right, schema)?);
            let ends = match op {
                Operator::Plus => [left.low + right.low, left.high + right.high].to_vec(),
                Operator::Minus => [left.low - right.high, left.high - right.low].to_vec(),
                Operator::Multiply => vec![
                    left.low.checked_mul(right.low)?,
                    left.low.checked_mul(right.high)?,
                    left.high.checked_mul(right.low)?,
                    left.high.checked_mul(right.high)?,
                ],
                _ => return of_type(&expr.get_type(schema).ok()?),
            };
            let (low, high) = (ends.iter().min()?, ends.iter().max()?);
            fitted(Range::new(*low, *high), expr, schema)
        }
        _ => of_type(&expr.get_type(schema).ok()?),
    }
}

/// Values that are computed, as far as the type of the expression has them.
fn fitted(range: Range, expr: &Expr, schema: &DFSchema) -> Option<Range> {
    let all = of_type(&expr.get_type(schema).ok()?)?;
    Some(if range.is_within(all) { range } else { Range { is_exact: false, ..all } })
}

fn literal(value: &ScalarValue) -> Option<Range> {
    let value: i128 = match value {
        ScalarValue::Int8(Some(value)) => (*value).into(),
        ScalarValue::Int16(Some(value)) => (*value).into(),
        ScalarValue::Int32(Some(value)) => (*value).into(),
        ScalarValue::Int64(Some(value)) => (*value).into(),
        ScalarValue::UInt8(Some(value)) => (*value).into(),
        ScalarValue::UInt16(Some(value)) => (*value).into(),
        ScalarValue::UInt32(Some(value)) => (*value).into(),
        ScalarValue::UInt64(Some(value)) => (*value).into(),
        _ => return None,
    };
    Some(Range::new(value, value))
}
