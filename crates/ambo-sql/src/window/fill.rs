//! `fill(x) OVER (ORDER BY t)`: x, and where it is NULL what lies on the line between the last value before and the first one behind, or
//! on that through the two nearest ones at an end. The second argument is t: the order of the window, or of the parentheses.
//!
//! It is as in DuckDB, also where values are whole numbers: those between two values are cut towards zero, those beyond them are rounded;
//! where the type has no such value there is none. NULL and infinity are no values, and rows whose t is NULL are left as they are.

use std::sync::Arc;

use arrow::{
    array::{Array, ArrayRef, AsArray, Float64Array, Int64Array, make_comparator},
    compute::{CastOptions, SortOptions, cast, cast_with_options, interleave},
    datatypes::{DataType, Decimal128Type, Field, FieldRef, Float64Type, Int64Type},
};
use datafusion::{
    common::{Result, plan_err},
    logical_expr::{
        LimitEffect, PartitionEvaluator, Signature, Volatility, WindowUDF, WindowUDFImpl,
        function::{PartitionEvaluatorArgs, WindowUDFFieldArgs},
    },
    physical_expr::PhysicalExpr,
};

#[derive(Debug, PartialEq, Eq, Hash)]
struct Fill(Signature);

pub(super) fn fill() -> WindowUDF {
    WindowUDF::new_from_impl(Fill(Signature::user_defined(Volatility::Immutable)))
}

/// Whether lines can be drawn through values of a type.
fn is_measured(ty: &DataType) -> bool {
    ty.is_integer()
        || ty.is_floating()
        || matches!(
            ty,
            DataType::Decimal128(..) | DataType::Date32 | DataType::Timestamp(..) | DataType::Time64(_)
        )
}

impl WindowUDFImpl for Fill {
    fn name(&self) -> &str {
        "fill"
    }

    fn signature(&self) -> &Signature {
        &self.0
    }

    fn coerce_types(&self, types: &[DataType]) -> Result<Vec<DataType>> {
        match types {
            [value, by] if (is_measured(value) || value.is_null()) && (is_measured(by) || by.is_null()) => {
                Ok(types.to_vec())
            }
            [_, _] => plan_err!("fill is of numbers and times, in the order of one number or time"),
            _ => plan_err!("fill takes a value, and OVER has one order: fill(x) OVER (ORDER BY t)"),
        }
    }

    fn field(&self, args: WindowUDFFieldArgs<'_>) -> Result<FieldRef> {
        let value = args.get_input_field(0).map_or(DataType::Null, |field| field.data_type().clone());
        Ok(Arc::new(Field::new(args.name(), value, true)))
    }

    fn partition_evaluator(&self, _: PartitionEvaluatorArgs<'_>) -> Result<Box<dyn PartitionEvaluator>> {
        Ok(Box::new(Filling))
    }

    fn limit_effect(&self, _: &[Arc<dyn PhysicalExpr>]) -> LimitEffect {
        LimitEffect::Unknown
    }
}

#[derive(Debug)]
struct Filling;

impl PartitionEvaluator for Filling {
    fn evaluate_all(&mut self, values: &[ArrayRef], rows: usize) -> Result<ArrayRef> {
        let (given, by) = (&values[0], &values[1]);
        let Some((numbers, keys)) = Numbers::of(given)?.zip(Numbers::of(by)?) else {
            return Ok(given.clone());
        };
        let order = make_comparator(by, by, SortOptions { descending: false, nulls_first: false })?;
        let mut places: Vec<usize> = (0..rows).filter(|row| keys.is_there(*row)).collect();
        places.sort_by(|left, right| order(*left, *right));
        // Where the rows with a value are in this order.
        let known: Vec<usize> = (0..places.len()).filter(|at| numbers.is_there(places[*at])).collect();
        let mut made: Vec<Option<Number>> = vec![None; rows];
        for (at, row) in places.iter().enumerate().filter(|(_, row)| given.is_null(**row)) {
            let behind = known.partition_point(|known| *known < at);
            let [low, high] = match (behind, known.len()) {
                (_, 0) => continue,
                (_, 1) => [known[0]; 2],
                (0, _) => [known[0], known[1]],
                (all, count) if all == count => [known[count - 2], known[count - 1]],
                (behind, _) => [known[behind - 1], known[behind]],
            };
            let is_beyond = behind == 0 || behind == known.len();
            let [low, high] = [places[low], places[high]];
            let width = keys.difference(high, low);
            let share = if width == 0.0 { 0.0 } else { keys.difference(*row, low) / width };
            made[*row] = numbers.on_line(low, high, share, is_beyond);
        }
        let made = numbers.as_type(made, given.data_type())?;
        let pick: Vec<_> = (0..rows).map(|row| (usize::from(given.is_null(row)), row)).collect();
        Ok(interleave(&[given.as_ref(), made.as_ref()], &pick)?)
    }
}

#[derive(Clone, Copy, Debug)]
enum Number {
    Whole(i128),
    Double(f64),
}

/// Values as numbers.
enum Numbers {
    Whole(Vec<Option<i128>>),
    Doubles(Float64Array),
}

impl Numbers {
    fn of(values: &ArrayRef) -> Result<Option<Self>> {
        // Days and moments without end are no places on a line.
        let [least, greatest] = match values.data_type() {
            DataType::Date32 => [i32::MIN.into(), i32::MAX.into()],
            DataType::Timestamp(..) => [i64::MIN, i64::MAX],
            _ => [0, 0],
        };
        let is_endless = |number: &i64| least < greatest && (*number == least || *number == greatest);
        let wholes = |of: &ArrayRef| {
            let of: &Int64Array = of.as_primitive::<Int64Type>();
            Self::Whole(of.iter().map(|of| of.filter(|of| !is_endless(of)).map(i128::from)).collect())
        };
        Ok(Some(match values.data_type() {
            DataType::Null => return Ok(None),
            ty if ty.is_floating() => {
                Self::Doubles(cast(values, &DataType::Float64)?.as_primitive::<Float64Type>().clone())
            }
            DataType::Decimal128(..) => Self::Whole(values.as_primitive::<Decimal128Type>().iter().collect()),
            DataType::UInt64 => {
                let wide = cast(values, &DataType::Decimal128(20, 0))?;
                Self::Whole(wide.as_primitive::<Decimal128Type>().iter().collect())
            }
            DataType::Date32 => wholes(&cast(&cast(values, &DataType::Int32)?, &DataType::Int64)?),
            _ => wholes(&cast(values, &DataType::Int64)?),
        }))
    }

    /// Whether there is a number that lines can be drawn through.
    fn is_there(&self, row: usize) -> bool {
        match self {
            Self::Whole(of) => of[row].is_some(),
            Self::Doubles(of) => of.is_valid(row) && of.value(row).is_finite(),
        }
    }

    fn whole(of: &[Option<i128>], row: usize) -> i128 {
        of[row].unwrap_or(0)
    }

    fn difference(&self, high: usize, low: usize) -> f64 {
        match self {
            Self::Whole(of) => (Self::whole(of, high) - Self::whole(of, low)) as f64,
            Self::Doubles(of) => of.value(high) - of.value(low),
        }
    }

    fn on_line(&self, low: usize, high: usize, share: f64, is_beyond: bool) -> Option<Number> {
        let rise = self.difference(high, low) * share;
        match self {
            // With one rounding less, as DuckDB does.
            Self::Doubles(of) => {
                Some(Number::Double(of.value(low).mul_add(1.0 - share, of.value(high) * share)))
            }
            Self::Whole(of) if is_beyond => {
                Self::whole(of, low).checked_add(rise.round_ties_even() as i128).map(Number::Whole)
            }
            Self::Whole(of) => {
                const EXACT: f64 = 9_007_199_254_740_992.0;
                let low = Self::whole(of, low);
                let sum = low as f64 + rise;
                let exact = sum.abs() < EXACT && (low as f64).abs() < EXACT;
                Some(Number::Whole(if exact { sum.trunc() as i128 } else { low + rise.trunc() as i128 }))
            }
        }
    }

    /// What was made, as values of a type; what it has no room for is NULL.
    fn as_type(&self, made: Vec<Option<Number>>, ty: &DataType) -> Result<ArrayRef> {
        let safe = CastOptions { safe: true, ..CastOptions::default() };
        let wholes = || {
            made.iter().map(|number| match number {
                Some(Number::Whole(number)) => Some(*number),
                _ => None,
            })
        };
        let longs = || -> ArrayRef {
            Arc::new(wholes().map(|number| i64::try_from(number?).ok()).collect::<Int64Array>())
        };
        Ok(match ty {
            DataType::Decimal128(precision, _) => {
                let fits = |number: &i128| number.unsigned_abs() < 10u128.pow(u32::from(*precision));
                let of = wholes().map(|number| number.filter(fits));
                let of: arrow::array::Decimal128Array = of.collect();
                Arc::new(of.with_data_type(ty.clone()))
            }
            DataType::UInt64 => {
                let of = wholes().map(|number| u64::try_from(number?).ok());
                Arc::new(of.collect::<arrow::array::UInt64Array>())
            }
            DataType::Date32 => cast(&cast_with_options(&longs(), &DataType::Int32, &safe)?, ty)?,
            _ if matches!(self, Self::Doubles(_)) => {
                let doubles = made.iter().map(|number| match number {
                    Some(Number::Double(number)) => Some(*number),
                    _ => None,
                });
                cast(&doubles.collect::<Float64Array>(), ty)?
            }
            _ => cast_with_options(&longs(), ty, &safe)?,
        })
    }
}
