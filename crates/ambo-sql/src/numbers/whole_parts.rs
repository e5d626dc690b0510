//! `ceil(x)`, `floor(x)`, `trunc(x)`, `trunc(x, places)` and `round_even(x, places)` of decimals and whole numbers.
//!
//! The planner's keep the type of a decimal, in which the next whole number may have no room: `ceil(0.5)` is an error there. Its `trunc`
//! makes doubles of whole numbers, which lose digits. Of doubles, the first three are the planner's.

use std::sync::Arc;

use arrow::{
    array::{Array, ArrayRef, ArrowPrimitiveType, AsArray, PrimitiveArray},
    compute::{CastOptions, cast_with_options},
    datatypes::{DECIMAL128_MAX_PRECISION, DataType, Decimal128Type, Float64Type, Int64Type},
};
use datafusion::{
    common::{Result, exec_err, plan_err},
    functions::math,
    logical_expr::{
        ColumnarValue, ScalarFunctionArgs, ScalarUDF, ScalarUDFImpl, Signature, Volatility,
        sort_properties::{ExprProperties, SortProperties},
    },
};

use crate::value::returned;

/// Whole numbers as decimals.
const WHOLE: DataType = DataType::Decimal128(DECIMAL128_MAX_PRECISION, 0);

/// Where a number between two others goes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
enum Way {
    Up,
    Down,
    TowardsZero,
    HalfToEven,
}

#[derive(Debug, PartialEq, Eq, Hash)]
pub(crate) struct WholePart {
    name: &'static str,
    aliases: Vec<String>,
    way: Way,
    /// The planner's function.
    of_doubles: Option<Arc<ScalarUDF>>,
    signature: Signature,
}

impl WholePart {
    /// Each of them.
    pub(crate) fn all() -> [Self; 4] {
        let of = |name, alias: Option<&str>, way, of_doubles| Self {
            name,
            aliases: alias.map(str::to_owned).into_iter().collect(),
            way,
            of_doubles,
            signature: Signature::user_defined(Volatility::Immutable),
        };
        [
            of("ceil", None, Way::Up, Some(math::ceil())),
            of("floor", None, Way::Down, Some(math::floor())),
            of("trunc", None, Way::TowardsZero, Some(math::trunc())),
            of("round_even", Some("roundbankers"), Way::HalfToEven, None),
        ]
    }

    /// Whether a number of places can follow.
    fn takes_places(&self) -> bool {
        matches!(self.way, Way::TowardsZero | Way::HalfToEven)
    }

    /// Whether whole numbers stay what they are, in place of doubles.
    fn keeps(&self, ty: &DataType) -> bool {
        matches!(ty, DataType::Decimal128(..)) || (self.takes_places() && ty.is_integer())
    }

    fn exact(&self, args: &ScalarFunctionArgs) -> Result<ColumnarValue> {
        let is_one = args.args.iter().all(|arg| matches!(arg, ColumnarValue::Scalar(_)));
        let rows = if is_one { 1 } else { args.number_rows };
        let given = args.args[0].to_array(rows)?;
        let options = CastOptions { safe: false, ..CastOptions::default() };
        let numbers = match given.data_type() {
            DataType::Decimal128(..) => given,
            _ => cast_with_options(&given, &WHOLE, &options)?,
        };
        let scale = scale_of(numbers.data_type());
        let places = args.args.get(1).map(|places| places.to_array(rows)).transpose()?;
        let to = args.return_field.data_type();
        let to_scale = scale_of(to);
        let numbers = numbers.as_primitive::<Decimal128Type>();
        let of_row = |row: usize| {
            let places = match &places {
                Some(places) if places.is_null(row) => return Ok(None),
                Some(places) => places.as_primitive::<Int64Type>().value(row),
                None => 0,
            };
            if numbers.is_null(row) {
                return Ok(None);
            }
            match part(numbers.value(row), i64::from(scale), places, self.way) {
                // Behind the point of what has no places there is nothing.
                Some(number) => Ok(Some(number / 10_i128.pow(u32::from(scale.abs_diff(to_scale))))),
                None => exec_err!("{}: the result is out of range", self.name),
            }
        };
        let parts: PrimitiveArray<Decimal128Type> = (0..rows).map(of_row).collect::<Result<_>>()?;
        let array: ArrayRef = match to {
            DataType::Decimal128(precision, scale) => {
                let parts = parts.with_precision_and_scale(*precision, *scale)?;
                if parts.validate_decimal_precision(*precision).is_err() {
                    return exec_err!("{}: the result is out of range", self.name);
                }
                Arc::new(parts)
            }
            to => {
                let whole = parts.with_precision_and_scale(DECIMAL128_MAX_PRECISION, 0)?;
                cast_with_options(&whole, to, &options)?
            }
        };
        returned(array, is_one)
    }
}

fn scale_of(ty: &DataType) -> i8 {
    match ty {
        DataType::Decimal128(_, scale) => *scale,
        _ => 0,
    }
}

/// A number of `scale` places behind its point, of which only so many are left; the others are 0.
fn part(number: i128, scale: i64, places: i64, way: Way) -> Option<i128> {
    if places >= scale {
        return Some(number);
    }
    let Some(unit) =
        u32::try_from(scale.saturating_sub(places)).ok().and_then(|cut| 10_i128.checked_pow(cut))
    else {
        // The unit is more than twice what a decimal can be.
        return Some(0);
    };
    let (down, rest) = (number.div_euclid(unit), number.rem_euclid(unit));
    let is_up = match way {
        _ if rest == 0 => false,
        Way::Up => true,
        Way::Down => false,
        Way::TowardsZero => number < 0,
        Way::HalfToEven => (rest, down.rem_euclid(2)) > (unit - rest, 0),
    };
    (down + i128::from(is_up)).checked_mul(unit)
}

/// A double to so many places, half of one to the even digit.
fn round_even(number: f64, places: i64) -> f64 {
    let places = places.clamp(-400, 400) as i32;
    let scale = 10_f64.powi(places.abs());
    let rounded = match places < 0 {
        true => (number / scale).round_ties_even() * scale,
        false => (number * scale).round_ties_even() / scale,
    };
    // With so many places it is what it was, with so few 0.
    match number.is_finite() {
        true if rounded.is_finite() => rounded,
        true if places < 0 => 0.0,
        _ => number,
    }
}

fn rounded_even(args: &ScalarFunctionArgs) -> Result<ColumnarValue> {
    let is_one = args.args.iter().all(|arg| matches!(arg, ColumnarValue::Scalar(_)));
    let rows = if is_one { 1 } else { args.number_rows };
    let [numbers, places] = [0, 1].map(|at| args.args.get(at).map(|arg| arg.to_array(rows)));
    let numbers = numbers.transpose()?;
    let places = places.transpose()?;
    let value = |row: usize| {
        let number = there::<Float64Type>(numbers.as_ref()?, row)?;
        let places = places.as_ref().map_or(Some(0), |places| there::<Int64Type>(places, row))?;
        Some(round_even(number, places))
    };
    let rounded: PrimitiveArray<Float64Type> = (0..rows).map(value).collect();
    returned(Arc::new(rounded), is_one)
}

fn there<T: ArrowPrimitiveType>(array: &ArrayRef, row: usize) -> Option<T::Native> {
    let array = array.as_primitive::<T>();
    array.is_valid(row).then(|| array.value(row))
}

impl ScalarUDFImpl for WholePart {
    fn name(&self) -> &str {
        self.name
    }

    fn aliases(&self) -> &[String] {
        &self.aliases
    }

    fn signature(&self) -> &Signature {
        &self.signature
    }

    fn coerce_types(&self, types: &[DataType]) -> Result<Vec<DataType>> {
        let most = if self.takes_places() { 2 } else { 1 };
        let number = match types.first() {
            Some(_) if types.len() > most => {
                return plan_err!("{} takes one number, not {}", self.name, types.len());
            }
            Some(ty) if self.keeps(ty) => ty.clone(),
            Some(ty @ DataType::Float32) if self.of_doubles.is_some() => ty.clone(),
            // The planner's decimals of 256 bits.
            Some(ty) if ty.is_decimal() && self.of_doubles.is_some() => ty.clone(),
            Some(ty) if ty.is_numeric() || ty.is_null() => DataType::Float64,
            Some(_) => return plan_err!("{} takes a number", self.name),
            None => return plan_err!("{} takes a number; none is there", self.name),
        };
        let places = match types.get(1) {
            Some(places) if !places.is_integer() && !places.is_null() => {
                return plan_err!("{}: the number of places is not a whole number", self.name);
            }
            places => places.map(|_| DataType::Int64),
        };
        Ok([number].into_iter().chain(places).collect())
    }

    fn return_type(&self, types: &[DataType]) -> Result<DataType> {
        Ok(match &types[0] {
            // With places, which are another number in each row, it keeps its own.
            DataType::Decimal128(precision, scale) if types.len() > 1 || *scale <= 0 => {
                let room = u8::from(self.way == Way::HalfToEven);
                DataType::Decimal128((precision + room).min(DECIMAL128_MAX_PRECISION), *scale)
            }
            DataType::Decimal128(precision, scale) => {
                let room = u8::from(self.way != Way::TowardsZero);
                let digits = precision.saturating_sub(scale.unsigned_abs()) + room;
                DataType::Decimal128(digits.max(1), 0)
            }
            ty => match &self.of_doubles {
                Some(planners) if !self.keeps(ty) => planners.return_type(std::slice::from_ref(ty))?,
                _ => ty.clone(),
            },
        })
    }

    fn output_ordering(&self, inputs: &[ExprProperties]) -> Result<SortProperties> {
        match &self.of_doubles {
            Some(planners) => planners.output_ordering(inputs),
            None => Ok(SortProperties::Unordered),
        }
    }

    fn invoke_with_args(&self, args: ScalarFunctionArgs) -> Result<ColumnarValue> {
        if self.keeps(&args.args[0].data_type()) {
            return self.exact(&args);
        }
        match &self.of_doubles {
            Some(planners) => planners.invoke_with_args(args),
            None => rounded_even(&args),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Keeps away: numbers that are cut at the wrong side of 0, and halves that go to odd digits.
    #[test]
    fn numbers_go_where_they_belong() {
        let all = |number| {
            [Way::Up, Way::Down, Way::TowardsZero, Way::HalfToEven]
                .map(|way| part(number, 1, 0, way).unwrap())
        };
        assert_eq!(all(5), [10, 0, 0, 0]);
        assert_eq!(all(-5), [0, -10, 0, 0]);
        assert_eq!(all(15), [20, 10, 10, 20]);
        assert_eq!(all(-15), [-10, -20, -10, -20]);
        assert_eq!(all(-16), [-10, -20, -10, -20]);
        assert_eq!(all(20), [20; 4]);
        assert_eq!(part(i128::MAX, 0, -60, Way::TowardsZero), Some(0));
        assert_eq!(part(i128::MAX, 0, -1, Way::Up), None);
        assert_eq!([round_even(2.5, 0), round_even(25.0, -1), round_even(1e300, 400)], [2.0, 20.0, 1e300]);
        assert!(round_even(f64::INFINITY, -5).is_infinite() && round_even(f64::NAN, 1).is_nan());
    }
}
