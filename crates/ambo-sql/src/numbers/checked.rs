//! Arithmetic that is an error where its result does not fit its type.
//!
//! The planner's `+`, `-` and `*` of integers and decimals wrap (apache/datafusion#17539), also where it computes constants, and decimals
//! may get 39 digits. So wherever a result might not fit, the operator is a function of ours that looks at each. It is rewritten when all
//! types are known, before anything is made better, so that whatever evaluates it later gets the same. Quotients of decimals are rounded
//! instead of cut.

use std::sync::Arc;

use arrow::{
    array::ArrayRef,
    datatypes::{
        ArrowPrimitiveType, DECIMAL128_MAX_PRECISION, DataType, Decimal128Type, FieldRef, Int8Type,
        Int16Type, Int32Type, Int64Type, UInt8Type, UInt16Type, UInt32Type, UInt64Type, i256,
    },
};
use datafusion::{
    common::{
        DFSchema, Result, ScalarValue,
        tree_node::{Transformed, TreeNode},
    },
    logical_expr::{
        BinaryExpr, ColumnarValue, Expr, ExprSchemable, Operator, ReturnFieldArgs, ScalarFunctionArgs,
        ScalarUDF, ScalarUDFImpl, Signature, Volatility, binary::BinaryTypeCoercer, expr::ScalarFunction,
    },
};

use super::{
    digits::{divided, narrowed, rescaled, shown},
    field, has_at_most,
    kernel::{Side, combine},
    range_error,
};
use crate::{
    optimizer::{ExpressionRule, type_of},
    value::returned,
};

/// The rule. See the module. To be run when types are known.
pub(crate) const CHECKED: ExpressionRule = ExpressionRule {
    name: "checked",
    wanted: |expr| match expr {
        Expr::BinaryExpr(BinaryExpr { op, .. }) => Operation::of(*op).is_some(),
        expr => matches!(expr, Expr::Negative(_)),
    },
    change: |expr, schema, _| expr.transform_up(|expr| checked(expr, schema)),
};

/// The type of whole numbers that no integer has the digits for.
pub(super) const WHOLE: DataType = DataType::Decimal128(DECIMAL128_MAX_PRECISION, 0);

/// `left // right` of numbers of type [`WHOLE`].
pub(super) fn whole_quotient(left: Expr, right: Expr) -> Expr {
    Arc::new(ScalarUDF::new_from_impl(Checked::new(Operation::DivideWhole))).call(vec![left, right])
}

/// What is computed of two numbers, or of one.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Operation {
    Add,
    Subtract,
    Multiply,
    /// Of decimals.
    Divide,
    /// The whole part of a quotient, of decimals without places.
    DivideWhole,
    /// Of decimals.
    Remainder,
    ShiftLeft,
    ShiftRight,
    /// Zero without the number.
    Negate,
}

impl Operation {
    fn of(operator: Operator) -> Option<Self> {
        Some(match operator {
            Operator::Plus => Self::Add,
            Operator::Minus => Self::Subtract,
            Operator::Multiply => Self::Multiply,
            Operator::Divide => Self::Divide,
            Operator::Modulo => Self::Remainder,
            Operator::BitwiseShiftLeft => Self::ShiftLeft,
            Operator::BitwiseShiftRight => Self::ShiftRight,
            _ => return None,
        })
    }

    fn operator(self) -> Operator {
        match self {
            Self::Add => Operator::Plus,
            Self::Subtract | Self::Negate => Operator::Minus,
            Self::Multiply => Operator::Multiply,
            Self::Divide => Operator::Divide,
            Self::DivideWhole => Operator::IntegerDivide,
            Self::Remainder => Operator::Modulo,
            Self::ShiftLeft => Operator::BitwiseShiftLeft,
            Self::ShiftRight => Operator::BitwiseShiftRight,
        }
    }

    fn sign(self) -> &'static str {
        match self {
            Self::Add => "+",
            Self::Subtract | Self::Negate => "-",
            Self::Multiply => "*",
            Self::Divide => "/",
            Self::DivideWhole => "//",
            Self::Remainder => "%",
            Self::ShiftLeft => "<<",
            Self::ShiftRight => ">>",
        }
    }
}

/// What an expression computes of what, if it is exact arithmetic: one of the planner's operators, or of ours.
pub(crate) fn operation(expr: &Expr) -> Option<(Operation, &Expr, &Expr)> {
    match expr {
        Expr::BinaryExpr(BinaryExpr { left, op, right }) => Some((Operation::of(*op)?, left, right)),
        Expr::ScalarFunction(ScalarFunction { func, args }) => {
            let Checked { operation, .. } = func.inner().downcast_ref::<Checked>()?;
            match &args[..] {
                [left, right] => Some((*operation, left, right)),
                _ => None,
            }
        }
        _ => None,
    }
}

fn checked(expr: Expr, schema: &DFSchema) -> Result<Transformed<Expr>> {
    let (operation, args) = match expr {
        Expr::BinaryExpr(BinaryExpr { left, op, right }) => {
            let types = (typed(&left, schema)?, typed(&right, schema)?);
            match Operation::of(op).filter(|operation| may_fail(*operation, &types.0, &types.1)) {
                Some(operation) => (operation, vec![*left, *right]),
                None => return Ok(Transformed::no(Expr::BinaryExpr(BinaryExpr { left, op, right }))),
            }
        }
        Expr::Negative(of) if typed(&of, schema)?.is_integer() => (Operation::Negate, vec![*of]),
        expr => return Ok(Transformed::no(expr)),
    };
    Ok(Transformed::yes(Arc::new(ScalarUDF::new_from_impl(Checked::new(operation))).call(args)))
}

/// The type of an expression, found quickly also for a long chain.
pub(crate) fn typed(expr: &Expr, schema: &DFSchema) -> Result<DataType> {
    type_of(expr, schema).map_or_else(|| expr.get_type(schema), Ok)
}

/// Whether there are values of these types whose result does not fit, or that the planner computes otherwise.
fn may_fail(operation: Operation, left: &DataType, right: &DataType) -> bool {
    match (left, right) {
        (DataType::Decimal128(p1, s1), DataType::Decimal128(p2, s2)) => {
            let (p1, s1, p2, s2) = (i32::from(*p1), i32::from(*s1), i32::from(*p2), i32::from(*s2));
            let most = i32::from(DECIMAL128_MAX_PRECISION);
            match operation {
                Operation::Add | Operation::Subtract => (p1 - s1).max(p2 - s2) + s1.max(s2) + 1 > most,
                Operation::Multiply => p1 + p2 > most,
                Operation::Divide | Operation::DivideWhole => true,
                Operation::Remainder => p1.max(p2) + (s1 - s2).abs() > most,
                Operation::ShiftLeft | Operation::ShiftRight | Operation::Negate => false,
            }
        }
        (left, right) => {
            let is_for_decimals = matches!(operation, Operation::Divide | Operation::Remainder);
            left.is_integer() && left == right && !is_for_decimals
        }
    }
}

#[derive(Debug, PartialEq, Eq, Hash)]
struct Checked {
    operation: Operation,
    signature: Signature,
}

impl Checked {
    fn new(operation: Operation) -> Self {
        let arguments = if operation == Operation::Negate { 1 } else { 2 };
        Self { operation, signature: Signature::any(arguments, Volatility::Immutable) }
    }

    /// The arguments, each as one value or one for each row.
    fn compute(&self, (left, right): (&Value, &Value), rows: usize, to: &DataType) -> Result<ArrayRef> {
        macro_rules! integers {
            ($($ty:ident $arrow:ident,)*) => {
                match to {
                    $(DataType::$ty => {
                        let sides = (&left.side::<$arrow>(), &right.side::<$arrow>());
                        let wrong = |left, right| self.wrong(left, right, to);
                        let array = match self.operation {
                            Operation::Add => combine::<$arrow, $arrow, _, _>(
                                sides, rows, |a, b| a.overflowing_add(b), wrong),
                            Operation::Multiply => combine::<$arrow, $arrow, _, _>(
                                sides, rows, |a, b| a.overflowing_mul(b), wrong),
                            Operation::ShiftLeft | Operation::ShiftRight => combine::<$arrow, $arrow, _, _>(
                                sides, rows,
                                |a, by| {
                                    let shifted = self.shifted(a.into(), by.into());
                                    let fitting = shifted.and_then(|shifted| shifted.try_into().ok());
                                    (fitting.unwrap_or_default(), fitting.is_none())
                                },
                                wrong),
                            _ => combine::<$arrow, $arrow, _, _>(
                                sides, rows, |a, b| a.overflowing_sub(b), wrong),
                        }?;
                        Ok(Arc::new(array) as ArrayRef)
                    })*
                    DataType::Decimal128(digits, scale) => self.decimals((left, right), rows, *digits, *scale),
                    other => Err(range_error("arithmetic", other)),
                }
            };
        }
        integers!(
            Int8 Int8Type,
            Int16 Int16Type,
            Int32 Int32Type,
            Int64 Int64Type,
            UInt8 UInt8Type,
            UInt16 UInt16Type,
            UInt32 UInt32Type,
            UInt64 UInt64Type,
        )
    }

    /// A number with its bits at other places; of those that are lost on the right, the number rounded down is what is left.
    fn shifted(&self, number: i128, by: i128) -> Option<i128> {
        let by = u32::try_from(by).ok()?;
        match self.operation {
            Operation::ShiftRight => Some(number >> by.min(i128::BITS - 1)),
            _ if number == 0 => Some(0),
            // Of 64 bits at most.
            _ => (by < u64::BITS).then(|| number << by),
        }
    }

    fn decimals(
        &self,
        (left, right): (&Value, &Value),
        rows: usize,
        digits: u8,
        scale: i8,
    ) -> Result<ArrayRef> {
        let (of_left, of_right) = (left.scale(), right.scale());
        let to = DataType::Decimal128(digits, scale);
        let is_narrow = matches!(self.operation, Operation::Multiply | Operation::DivideWhole);
        // Most of the time 128 bits are enough on the way.
        let factor = |from: i8| 10i128.checked_pow(u32::try_from(scale.checked_sub(from)?).ok()?);
        let factors = (factor(of_left), factor(of_right));
        let narrow = |a: i128, b: i128| match self.operation {
            Operation::Multiply => a.checked_mul(b),
            Operation::Add => a.checked_mul(factors.0?)?.checked_add(b.checked_mul(factors.1?)?),
            Operation::DivideWhole => a.checked_div(b),
            Operation::Divide | Operation::Remainder => None,
            _ => a.checked_mul(factors.0?)?.checked_sub(b.checked_mul(factors.1?)?),
        };
        let wide = |a: i128, b: i128| {
            let (a, b) = (i256::from_i128(a), i256::from_i128(b));
            if self.operation == Operation::Divide {
                return divided(a, of_left, b, of_right, scale);
            }
            let (a, b) = (rescaled(a, of_left, scale)?, rescaled(b, of_right, scale)?);
            narrowed(match self.operation {
                Operation::Add => a.checked_add(b)?,
                Operation::Remainder => a.checked_rem(b)?,
                _ => a.checked_sub(b)?,
            })
        };
        let act = |a: i128, b: i128| {
            let result = narrow(a, b).or_else(|| if is_narrow { None } else { wide(a, b) });
            let fitting = result.filter(|result| has_at_most(*result, digits));
            (fitting.unwrap_or_default(), fitting.is_none())
        };
        let wrong = |a: i128, b: i128| match (self.operation, b) {
            (Operation::Divide | Operation::DivideWhole | Operation::Remainder, 0) => {
                arrow::error::ArrowError::DivideByZero.into()
            }
            _ => {
                let shown = |number: i128, scale: i8| shown(i256::from_i128(number), scale);
                self.wrong(shown(a, of_left), shown(b, of_right), &to)
            }
        };
        let sides = (&left.side::<Decimal128Type>(), &right.side::<Decimal128Type>());
        let array = combine::<Decimal128Type, Decimal128Type, _, _>(sides, rows, act, wrong)?;
        Ok(Arc::new(array.with_precision_and_scale(digits, scale)?))
    }

    fn wrong(
        &self,
        left: impl std::fmt::Display,
        right: impl std::fmt::Display,
        to: &DataType,
    ) -> datafusion::error::DataFusionError {
        match self.operation {
            Operation::Negate => range_error(format!("-({right})"), to),
            operation => range_error(format!("{left} {} {right}", operation.sign()), to),
        }
    }
}

/// An argument as an array, which may be of one value for all rows.
struct Value {
    array: ArrayRef,
    is_one: bool,
}

impl Value {
    fn new(value: &ColumnarValue) -> Result<Self> {
        Ok(match value {
            ColumnarValue::Array(array) => Self { array: array.clone(), is_one: false },
            ColumnarValue::Scalar(scalar) => Self { array: scalar.to_array()?, is_one: true },
        })
    }

    fn side<T: ArrowPrimitiveType>(&self) -> Side<'_, T::Native> {
        Side::new::<T>(&self.array, self.is_one)
    }

    fn scale(&self) -> i8 {
        match self.array.data_type() {
            DataType::Decimal128(_, scale) => *scale,
            _ => 0,
        }
    }
}

impl ScalarUDFImpl for Checked {
    fn name(&self) -> &str {
        self.operation.sign()
    }

    /// As the planner's operator, so that columns keep their names.
    fn schema_name(&self, args: &[Expr]) -> Result<String> {
        let names: Vec<String> = args.iter().map(|arg| arg.schema_name().to_string()).collect();
        Ok(match &names[..] {
            [of] => format!("(- {of})"),
            names => names.join(&format!(" {} ", self.operation.sign())),
        })
    }

    fn display_name(&self, args: &[Expr]) -> Result<String> {
        self.schema_name(args)
    }

    fn signature(&self) -> &Signature {
        &self.signature
    }

    fn is_strict(&self) -> bool {
        true
    }

    fn return_type(&self, types: &[DataType]) -> Result<DataType> {
        match types {
            _ if self.operation == Operation::DivideWhole => Ok(WHOLE),
            [left, right] => {
                BinaryTypeCoercer::new(left, &self.operation.operator(), right).get_result_type()
            }
            types => Ok(types[0].clone()),
        }
    }

    fn return_field_from_args(&self, args: ReturnFieldArgs<'_>) -> Result<FieldRef> {
        field(self, &args, false)
    }

    fn invoke_with_args(&self, args: ScalarFunctionArgs) -> Result<ColumnarValue> {
        let to = args.return_field.data_type();
        let values = args.args.iter().map(Value::new).collect::<Result<Vec<_>>>()?;
        // Rules of the planner ask what a condition is where a column is NULL, and give NULL no type.
        if values.iter().any(|value| value.array.data_type().is_null()) {
            return Ok(ColumnarValue::Scalar(ScalarValue::try_from(to)?));
        }
        let is_one = values.iter().all(|value| value.is_one);
        let rows = if is_one { 1 } else { args.number_rows };
        let array = match &values[..] {
            [left, right] => self.compute((left, right), rows, to)?,
            values => {
                let zero = Value { array: ScalarValue::new_zero(to)?.to_array()?, is_one: true };
                self.compute((&zero, &values[0]), rows, to)?
            }
        };
        returned(array, is_one)
    }
}
