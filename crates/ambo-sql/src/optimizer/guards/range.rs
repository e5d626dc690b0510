//! Between which bounds whole numbers are that are computed.

use arrow::datatypes::DataType;
use datafusion::{
    common::{DFSchema, ScalarValue},
    logical_expr::{Expr, ExprSchemable},
};

use crate::numbers::{Operation, operation};

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
    if let Some((operation, left, right)) = operation(expr) {
        let (left, right) = (range(left, schema)?, range(right, schema)?);
        let all = of_type(&expr.get_type(schema).ok()?)?;
        return Some(match operation {
            Operation::Add | Operation::Subtract | Operation::Multiply => {
                let computed = computed(operation, left, right).filter(|range| range.is_within(all));
                computed.unwrap_or(Range { is_exact: false, ..all })
            }
            _ => all,
        });
    }
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
        _ => of_type(&expr.get_type(schema).ok()?),
    }
}

/// The sums, differences or products of numbers in two ranges. `None`: there are some of more than 128 bits.
fn computed(operation: Operation, left: Range, right: Range) -> Option<Range> {
    let ends = match operation {
        Operation::Add => [left.low + right.low, left.high + right.high].to_vec(),
        Operation::Subtract => [left.low - right.high, left.high - right.low].to_vec(),
        _ => vec![
            left.low.checked_mul(right.low)?,
            left.low.checked_mul(right.high)?,
            left.high.checked_mul(right.low)?,
            left.high.checked_mul(right.high)?,
        ],
    };
    Some(Range::new(*ends.iter().min()?, *ends.iter().max()?))
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
