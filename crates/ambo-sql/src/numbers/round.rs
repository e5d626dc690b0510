//! `round(x)`, `round(x, places)`, in the place of the planner's, whose factor of ten leaves the doubles: `round(x, 1000)` is NaN there.

use std::sync::Arc;

use arrow::{
    array::{ArrayRef, ArrowPrimitiveType, AsArray, PrimitiveArray},
    datatypes::{DataType, FieldRef, Float32Type, Float64Type, Int32Type},
};
use datafusion::{
    common::{Result, ScalarValue},
    functions::math,
    logical_expr::{
        ColumnarValue, ReturnFieldArgs, ScalarFunctionArgs, ScalarUDF, ScalarUDFImpl, Signature,
        sort_properties::{ExprProperties, SortProperties},
    },
};

use crate::value::returned;

/// Doubles are rounded here, other numbers by the planner's function.
#[derive(Debug, PartialEq, Eq, Hash)]
pub(crate) struct Round(Arc<ScalarUDF>);

impl Round {
    pub(crate) fn new() -> Self {
        Self(math::round())
    }
}

/// A number rounded to so many places behind the point, or in front of it, half away from zero.
trait ToPlaces: Sized {
    fn to_places(self, places: i32) -> Self;
}

macro_rules! to_places {
    ($($ty:ident),*) => {$(
        impl ToPlaces for $ty {
            fn to_places(self, places: i32) -> Self {
                let factor = (10 as $ty).powi(places.saturating_abs());
                match places {
                    0 => self.round(),
                    // As many places as that it has anyway.
                    1.. if !(self * factor).is_finite() => self,
                    1.. => (self * factor).round() / factor,
                    _ if factor.is_infinite() && self.is_finite() => 0.0,
                    _ if !self.is_finite() => self,
                    _ => (self / factor).round() * factor,
                }
            }
        }
    )*};
}

to_places!(f32, f64);

fn rounded<T>(numbers: &ArrayRef, places: &ArrayRef) -> ArrayRef
where
    T: ArrowPrimitiveType,
    T::Native: ToPlaces,
{
    let numbers = numbers.as_primitive::<T>().iter();
    let places = places.as_primitive::<Int32Type>().iter();
    let rounded = numbers.zip(places).map(|(number, places)| Some(number?.to_places(places?)));
    Arc::new(rounded.collect::<PrimitiveArray<T>>())
}

impl ScalarUDFImpl for Round {
    fn name(&self) -> &str {
        "round"
    }

    fn signature(&self) -> &Signature {
        self.0.signature()
    }

    fn return_type(&self, types: &[DataType]) -> Result<DataType> {
        self.0.return_type(types)
    }

    fn return_field_from_args(&self, args: ReturnFieldArgs<'_>) -> Result<FieldRef> {
        self.0.return_field_from_args(args)
    }

    fn output_ordering(&self, inputs: &[ExprProperties]) -> Result<SortProperties> {
        self.0.output_ordering(inputs)
    }

    fn invoke_with_args(&self, args: ScalarFunctionArgs) -> Result<ColumnarValue> {
        let ty = args.args[0].data_type();
        if !matches!(ty, DataType::Float32 | DataType::Float64) {
            return self.0.invoke_with_args(args);
        }
        let is_one = args.args.iter().all(|arg| matches!(arg, ColumnarValue::Scalar(_)));
        let rows = if is_one { 1 } else { args.number_rows };
        let numbers = args.args[0].to_array(rows)?;
        let places = match args.args.get(1) {
            Some(places) => arrow::compute::cast(&places.to_array(rows)?, &DataType::Int32)?,
            None => ScalarValue::Int32(Some(0)).to_array_of_size(rows)?,
        };
        let array = match ty {
            DataType::Float32 => rounded::<Float32Type>(&numbers, &places),
            _ => rounded::<Float64Type>(&numbers, &places),
        };
        returned(array, is_one)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Keeps away: factors that are no doubles.
    #[test]
    fn any_number_of_places_is_rounded_to() {
        assert_eq!([2.5f64, -2.5, 2.675].map(|number| number.to_places(0)), [3.0, -3.0, 3.0]);
        assert_eq!(1234.5f64.to_places(-2), 1200.0);
        assert_eq!([1000, 308, -1000].map(|places| 5.25f64.to_places(places)), [5.25, 5.25, 0.0]);
        assert!(f64::INFINITY.to_places(-5).is_infinite() && f64::NAN.to_places(3).is_nan());
    }
}
