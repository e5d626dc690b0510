//! Between which bounds whole numbers are that are computed.

use arrow::datatypes::DataType;
use datafusion::{
    common::{DFSchema, ScalarValue},
    logical_expr::{Expr, ExprSchemable, expr::ScalarFunction},
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

/// The values of an expression of an integer type; None of others. Takes time linear in the size of the expression.
pub(super) fn range(expr: &Expr, schema: &DFSchema) -> Option<Range> {
    typed_range(expr, schema).map(|(range, _)| range)
}

/// The type of an expression. The planner's own way makes names of all parts of calls, which in a long chain of sums takes minutes.
pub(crate) fn type_of(expr: &Expr, schema: &DFSchema) -> Option<DataType> {
    match (expr, operation(expr)) {
        (Expr::ScalarFunction(ScalarFunction { func, .. }), Some((_, left, right))) => {
            func.return_type(&[type_of(left, schema)?, type_of(right, schema)?]).ok()
        }
        _ => expr.get_type(schema).ok(),
    }
}

fn typed_range(expr: &Expr, schema: &DFSchema) -> Option<(Range, DataType)> {
    if let Some((operation, left, right)) = operation(expr) {
        let ((left, left_type), (right, right_type)) =
            (typed_range(left, schema)?, typed_range(right, schema)?);
        let ty = if left_type == right_type { left_type } else { type_of(expr, schema)? };
        let all = of_type(&ty)?;
        let range = match operation {
            Operation::Add | Operation::Subtract | Operation::Multiply => {
                fitted(computed(operation, left, right), all)
            }
            _ => all,
        };
        return Some((range, ty));
    }
    match expr {
        Expr::Alias(alias) => typed_range(&alias.expr, schema),
        Expr::Literal(value, _) => Some((literal(value)?, value.data_type())),
        Expr::Negative(of) => {
            let (of, ty) = typed_range(of, schema)?;
            Some((fitted(Some(Range::new(-of.high, -of.low)), of_type(&ty)?), ty))
        }
        Expr::Cast(cast) => {
            let ty = cast.field.data_type();
            let to = of_type(ty)?;
            let from = typed_range(&cast.expr, schema).map(|(from, _)| from);
            Some((from.filter(|from| from.is_within(to)).unwrap_or(to), ty.clone()))
        }
        _ => {
            let ty = type_of(expr, schema)?;
            Some((of_type(&ty)?, ty))
        }
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

/// Values that are computed, as far as a type has them.
fn fitted(range: Option<Range>, all: Range) -> Range {
    range.filter(|range| range.is_within(all)).unwrap_or(Range { is_exact: false, ..all })
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
