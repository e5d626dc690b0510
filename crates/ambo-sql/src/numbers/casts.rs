//! Casts of numbers round as values do that are written to a column.
//!
//! Arrow's casts to integers cut, and read no text such as `1.5e3` ([`super::texts`]), and those from decimals to doubles divide, so that
//! `CAST(0.3 AS DOUBLE)` with many digits is another double than its text (apache/arrow-rs#10508). Doubles that are no reals become
//! infinity there. Here decimals are rounded half away from zero and doubles half to even, as in PostgreSQL, and a double is the one that
//! is nearest.

use std::sync::Arc;

use arrow::{
    array::{ArrayRef, AsArray, BooleanArray, PrimitiveArray},
    compute::{CastOptions, cast_with_options},
    datatypes::{
        ArrowPrimitiveType, DataType, Decimal128Type, FieldRef, Float32Type, Float64Type, Int8Type,
        Int16Type, Int32Type, Int64Type, UInt8Type, UInt16Type, UInt32Type, UInt64Type, i256,
    },
};
use datafusion::{
    common::{
        DFSchema, Result,
        tree_node::{Transformed, TreeNode},
    },
    logical_expr::{
        ColumnarValue, Expr, ExprSchemable, ReturnFieldArgs, ScalarFunctionArgs, ScalarUDF, ScalarUDFImpl,
        Signature, Volatility,
    },
};

use super::{
    digits::{narrowed, rescaled, shown},
    field,
    kernel::map,
    nested_casts, range_error, texts,
};
use crate::{optimizer::ExpressionRule, times::is_text, value::returned};

/// The rule. See the module. To be run when types are known.
pub(crate) const CASTS: ExpressionRule = ExpressionRule {
    name: "casts",
    wanted: |expr| matches!(expr, Expr::Cast(_) | Expr::TryCast(_)),
    change: |expr, schema, _| expr.transform_up(|expr| rounded(expr, schema)),
};

fn rounded(expr: Expr, schema: &DFSchema) -> Result<Transformed<Expr>> {
    let (of, to, is_try) = match &expr {
        Expr::Cast(cast) => (&cast.expr, cast.field.data_type(), false),
        Expr::TryCast(cast) => (&cast.expr, cast.field.data_type(), true),
        _ => return Ok(Transformed::no(expr)),
    };
    let from = of.get_type(schema)?;
    if !differs(&from, to) {
        return Ok(Transformed::no(expr));
    }
    let what = match is_try {
        true => What::Try,
        false if is_text(&from) => What::Read,
        false => What::Cast,
    };
    Ok(Transformed::yes(number_cast(what, to.clone(), of.as_ref().clone())))
}

/// Whether a cast is one of ours.
fn differs(from: &DataType, to: &DataType) -> bool {
    match from {
        // Keys may become equal.
        DataType::Map(..) if from != to => nested_casts::parts(from, to)
            .is_some_and(|parts| parts[0].0 != parts[0].1 || differs(parts[1].0, parts[1].1)),
        from if from.is_nested() => nested_casts::parts(from, to)
            .is_some_and(|parts| parts.iter().any(|(from, to)| !is_text(from) && differs(from, to))),
        from if is_text(from) => to.is_integer() || matches!(to, DataType::Decimal128(..)),
        DataType::Float64 if *to == DataType::Float32 => true,
        from if from.is_floating() => to.is_integer(),
        DataType::Decimal128(_, scale) => {
            to.is_integer() && *scale != 0
                || matches!(to, DataType::Float32 | DataType::Float64 | DataType::Boolean)
        }
        _ => false,
    }
}

/// Numbers as a cast makes others of them, where one that does not fit is an error, or NULL if that is not `strict`; `None` where Arrow's
/// cast does.
pub(crate) fn cast_numbers(from: &ArrayRef, to: &DataType, strict: bool) -> Option<Result<ArrayRef>> {
    let what = if strict { What::Cast } else { What::Try };
    differs(from.data_type(), to).then(|| NumberCast::new(what, to.clone()).array(from))
}

/// A sum of wide decimals as the integer or decimal that it is of.
pub(crate) fn fitted_sum(sum: Expr, to: DataType) -> Expr {
    number_cast(What::Sum, to, sum)
}

fn number_cast(what: What, to: DataType, of: Expr) -> Expr {
    Arc::new(ScalarUDF::new_from_impl(NumberCast::new(what, to))).call(vec![of])
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
enum What {
    Cast,
    /// It is of texts, of which some are no numbers.
    Read,
    /// What does not fit is NULL.
    Try,
    /// It is a sum, and what does not fit is said of that.
    Sum,
}

#[derive(Debug, PartialEq, Eq, Hash)]
struct NumberCast {
    what: What,
    to: DataType,
    signature: Signature,
}

impl NumberCast {
    fn new(what: What, to: DataType) -> Self {
        Self { what, to, signature: Signature::any(1, Volatility::Immutable) }
    }

    fn array(&self, from: &ArrayRef) -> Result<ArrayRef> {
        match &self.to {
            to if to.is_nested() => {
                nested_casts::cast(from, to, self.what != What::Try, |part, to| self.part(part, to))
            }
            to if is_text(from.data_type()) => texts::numbers(from, to, self.what == What::Try),
            DataType::Int8 => self.whole::<Int8Type>(from),
            DataType::Int16 => self.whole::<Int16Type>(from),
            DataType::Int32 => self.whole::<Int32Type>(from),
            DataType::Int64 => self.whole::<Int64Type>(from),
            DataType::UInt8 => self.whole::<UInt8Type>(from),
            DataType::UInt16 => self.whole::<UInt16Type>(from),
            DataType::UInt32 => self.whole::<UInt32Type>(from),
            DataType::UInt64 => self.whole::<UInt64Type>(from),
            DataType::Float32 if *from.data_type() == DataType::Float64 => self.reals(from),
            DataType::Float32 => Ok(floats::<Float32Type>(from)),
            DataType::Float64 => Ok(floats::<Float64Type>(from)),
            DataType::Boolean if let Some(of) = from.as_primitive_opt::<Decimal128Type>() => {
                let truths: BooleanArray = of.iter().map(|number| number.map(|number| number != 0)).collect();
                Ok(Arc::new(truths))
            }
            to => Ok(arrow::compute::cast(from, to)?),
        }
    }

    /// What is in a list or a struct, as another type.
    fn part(&self, from: &ArrayRef, to: &DataType) -> Result<ArrayRef> {
        if differs(from.data_type(), to) {
            return Self::new(self.what, to.clone()).array(from);
        }
        let options = CastOptions { safe: self.what == What::Try, ..CastOptions::default() };
        Ok(cast_with_options(from, to, &options)?)
    }

    /// Doubles as reals, which hold infinity, but not as what a number becomes.
    fn reals(&self, from: &ArrayRef) -> Result<ArrayRef> {
        map::<Float64Type, Float32Type>(from, |number| match real(number) {
            None if self.what == What::Try => Ok(None),
            None => Err(range_error(number, &self.to)),
            real => Ok(real),
        })
    }

    fn whole<T: ArrowPrimitiveType>(&self, from: &ArrayRef) -> Result<ArrayRef>
    where
        T::Native: TryFrom<i128>,
    {
        let found = |number: Option<i128>, text: &dyn Fn() -> String| match (
            number.and_then(|number| T::Native::try_from(number).ok()),
            self.what,
        ) {
            (Some(number), _) => Ok(Some(number)),
            (None, What::Try) => Ok(None),
            (None, What::Cast | What::Read) => Err(range_error(text(), &self.to)),
            (None, What::Sum) => Err(range_error(format!("the sum {}", text()), &self.to)),
        };
        let of_double = |number: f64, text: &dyn Fn() -> String| {
            let rounded = number.round_ties_even();
            // Beyond, no integer has so many bits.
            found((rounded.abs() < 1e30).then_some(rounded as i128), text)
        };
        match from.data_type() {
            DataType::Float64 => {
                map::<Float64Type, T>(from, |number| of_double(number, &|| number.to_string()))
            }
            DataType::Float32 => {
                map::<Float32Type, T>(from, |number| of_double(number.into(), &|| number.to_string()))
            }
            DataType::Decimal128(_, scale) => map::<Decimal128Type, T>(from, |number| {
                let number = i256::from_i128(number);
                found(rescaled(number, *scale, 0).and_then(narrowed), &|| shown(number, *scale))
            }),
            _ => {
                let wide = arrow::compute::cast(from, &DataType::Float64)?;
                map::<Float64Type, T>(&wide, |number| of_double(number, &|| number.to_string()))
            }
        }
    }
}

/// A double as a real; `None`: it is too large.
fn real(number: f64) -> Option<f32> {
    let narrow = number as f32;
    (narrow.is_finite() || !number.is_finite()).then_some(narrow)
}

/// The floats that are nearest to decimals.
fn floats<T: ArrowPrimitiveType>(from: &ArrayRef) -> ArrayRef
where
    T::Native: Nearest,
{
    let DataType::Decimal128(_, scale) = from.data_type() else {
        return Arc::new(PrimitiveArray::<T>::new_null(from.len()));
    };
    let scale = *scale;
    let nearest: PrimitiveArray<T> =
        from.as_primitive::<Decimal128Type>().unary(|number| T::Native::nearest(number, scale));
    Arc::new(nearest)
}

trait Nearest {
    /// The float that is nearest to a decimal.
    fn nearest(number: i128, scale: i8) -> Self;
}

macro_rules! nearest {
    ($($float:ident $scale:literal),*) => {$(
        impl Nearest for $float {
            fn nearest(number: i128, scale: i8) -> Self {
                // Integers up to this one, and powers of ten up to that one, are floats, and a quotient of floats is the one nearest to the
                // quotient.
                let is_exact = number.unsigned_abs() <= 1 << $float::MANTISSA_DIGITS;
                match scale {
                    0..=$scale if is_exact => number as Self / (10 as Self).powi(scale.into()),
                    _ => format!("{number}e{}", -i32::from(scale)).parse().unwrap_or(Self::NAN),
                }
            }
        }
    )*};
}

nearest!(f32 10, f64 22);

impl ScalarUDFImpl for NumberCast {
    fn name(&self) -> &str {
        match self.what {
            What::Try => "try_cast",
            What::Read => "read_number",
            What::Cast | What::Sum => "cast",
        }
    }

    /// Not that of its argument: joins have both as columns.
    fn schema_name(&self, args: &[Expr]) -> Result<String> {
        Ok(format!("{}({} AS {})", self.name(), args[0].schema_name(), self.to))
    }

    fn display_name(&self, args: &[Expr]) -> Result<String> {
        self.schema_name(args)
    }

    fn signature(&self) -> &Signature {
        &self.signature
    }

    fn return_type(&self, _: &[DataType]) -> Result<DataType> {
        Ok(self.to.clone())
    }

    fn is_strict(&self) -> bool {
        true
    }

    fn return_field_from_args(&self, args: ReturnFieldArgs<'_>) -> Result<FieldRef> {
        field(self, &args, self.what == What::Try)
    }

    fn invoke_with_args(&self, args: ScalarFunctionArgs) -> Result<ColumnarValue> {
        let (from, is_one) = match &args.args[0] {
            ColumnarValue::Array(array) => (array.clone(), false),
            ColumnarValue::Scalar(scalar) => (scalar.to_array()?, true),
        };
        returned(self.array(&from)?, is_one)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Keeps away: doubles that are next to the nearest.
    #[test]
    fn floats_are_nearest_to_decimals() {
        assert_eq!(f64::nearest(10i128.pow(37), 37), 1.0);
        assert_eq!(f64::nearest(12_345_678_901_234_567_890, 2), 123_456_789_012_345_678.9);
        assert_eq!(f64::nearest(-3, 1), -0.3);
        assert_eq!(f32::nearest(16_777_217, 0), 16_777_216.0);
        assert_eq!(f32::nearest(1, 1), 0.1);
    }
}
