//! Bits of whole numbers that no integer has the digits for, as HUGEINT is one: `&`, `|`, XOR, `<<`, `>>`. A negative number has ones
//! before its first digit, as of 128 bits. What is shifted out on the left is an error.

use std::sync::Arc;

use arrow::{
    array::{ArrayRef, AsArray, Decimal128Array},
    datatypes::{DataType, Decimal128Type},
};
use datafusion::{
    common::{DFSchema, Result, ScalarValue},
    logical_expr::{
        ColumnarValue, Expr, ExprSchemable, ScalarFunctionArgs, ScalarUDF, ScalarUDFImpl, Signature,
        Volatility,
        planner::{ExprPlanner, PlannerResult, RawBinaryExpr},
    },
    sql::sqlparser::ast::BinaryOperator,
};

use super::{checked::WHOLE, has_at_most, range_error};
use crate::value::returned;

/// See the module. To be asked before others.
#[derive(Debug)]
pub(crate) struct WideBits;

impl ExprPlanner for WideBits {
    fn plan_binary_op(&self, expr: RawBinaryExpr, schema: &DFSchema) -> Result<PlannerResult<RawBinaryExpr>> {
        let Some(operation) = Operation::of(&expr.op) else { return Ok(PlannerResult::Original(expr)) };
        let types = [&expr.left, &expr.right].map(|side| side.get_type(schema).ok());
        let is_wide = |ty: &DataType| matches!(ty, DataType::Decimal128(_, 0));
        let are_whole =
            types.iter().flatten().filter(|ty| ty.is_integer() || ty.is_null() || is_wide(ty)).count()
                == types.len();
        if !are_whole || !types.iter().flatten().any(is_wide) {
            return Ok(PlannerResult::Original(expr));
        }
        let sides = vec![expr.left.cast_to(&WHOLE, schema)?, expr.right.cast_to(&WHOLE, schema)?];
        let function =
            ScalarUDF::new_from_impl(Bits { operation, signature: Signature::any(2, Volatility::Immutable) });
        Ok(PlannerResult::Planned(Arc::new(function).call(sides)))
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
enum Operation {
    And,
    Or,
    Xor,
    Left,
    Right,
}

impl Operation {
    fn of(op: &BinaryOperator) -> Option<Self> {
        Some(match op {
            BinaryOperator::BitwiseAnd => Self::And,
            BinaryOperator::BitwiseOr => Self::Or,
            BinaryOperator::BitwiseXor | BinaryOperator::PGBitwiseXor => Self::Xor,
            BinaryOperator::PGBitwiseShiftLeft => Self::Left,
            BinaryOperator::PGBitwiseShiftRight => Self::Right,
            _ => return None,
        })
    }

    fn sign(self) -> &'static str {
        match self {
            Self::And => "&",
            Self::Or => "|",
            Self::Xor => "BIT_XOR",
            Self::Left => "<<",
            Self::Right => ">>",
        }
    }

    /// `None`: it does not fit.
    fn of_numbers(self, left: i128, right: i128) -> Option<i128> {
        let by = || u32::try_from(right).ok();
        match self {
            Self::And => Some(left & right),
            Self::Or => Some(left | right),
            Self::Xor => Some(left ^ right),
            Self::Right => Some(left >> by()?.min(i128::BITS - 1)),
            Self::Left if left == 0 => by().map(|_| 0),
            Self::Left => left.checked_mul(1i128.checked_shl(by()?).filter(|factor| *factor > 0)?),
        }
    }
}

#[derive(Debug, PartialEq, Eq, Hash)]
struct Bits {
    operation: Operation,
    signature: Signature,
}

impl ScalarUDFImpl for Bits {
    fn name(&self) -> &str {
        self.operation.sign()
    }

    /// As the planner's operator, so that columns have the names of the others.
    fn schema_name(&self, args: &[Expr]) -> Result<String> {
        let names: Vec<_> = args.iter().map(|arg| arg.schema_name().to_string()).collect();
        Ok(names.join(&format!(" {} ", self.operation.sign())))
    }

    fn display_name(&self, args: &[Expr]) -> Result<String> {
        self.schema_name(args)
    }

    fn signature(&self) -> &Signature {
        &self.signature
    }

    fn return_type(&self, _: &[DataType]) -> Result<DataType> {
        Ok(WHOLE)
    }

    fn invoke_with_args(&self, args: ScalarFunctionArgs) -> Result<ColumnarValue> {
        if args.args.iter().any(|arg| arg.data_type().is_null()) {
            return Ok(ColumnarValue::Scalar(ScalarValue::try_from(&WHOLE)?));
        }
        let is_one = args.args.iter().all(|arg| matches!(arg, ColumnarValue::Scalar(_)));
        let rows = if is_one { 1 } else { args.number_rows };
        let (left, right) = (args.args[0].to_array(rows)?, args.args[1].to_array(rows)?);
        let pairs = left.as_primitive::<Decimal128Type>().iter().zip(right.as_primitive::<Decimal128Type>());
        let numbers = pairs.map(|pair| match pair {
            (Some(left), Some(right)) => {
                let number = self.operation.of_numbers(left, right);
                match number.filter(|number| has_at_most(*number, arrow::datatypes::DECIMAL128_MAX_PRECISION))
                {
                    None => Err(range_error(format!("{left} {} {right}", self.operation.sign()), &WHOLE)),
                    number => Ok(number),
                }
            }
            _ => Ok(None),
        });
        let numbers = numbers.collect::<Result<Decimal128Array>>()?;
        let numbers: ArrayRef = Arc::new(numbers.with_data_type(WHOLE));
        returned(numbers, is_one)
    }
}
