//! Sums that are exact, whatever the order of rows: numbers are added in as many bits as they have, and what leaves these goes to a wider
//! sum.

use std::fmt;

use arrow::{
    array::{Array, ArrayRef, ArrowPrimitiveType, AsArray, PrimitiveArray},
    datatypes::{
        ArrowNativeTypeOp, DataType, Decimal128Type, Decimal256Type, DecimalType, Float64Type, Int64Type,
        UInt64Type, i256,
    },
};
use datafusion::common::Result;

use super::{
    digits::{divided, narrowed},
    has_at_most, range_error,
};

/// Numbers that are summed.
pub(super) trait Summed: ArrowPrimitiveType + fmt::Debug {
    /// What sums come to threads that put them together in.
    type Wide: ArrowPrimitiveType;

    /// The sum, if it has as many bits as the numbers.
    fn added(sum: Self::Native, number: Self::Native) -> Option<Self::Native>;

    fn wide(number: Self::Native) -> <Self::Wide as ArrowPrimitiveType>::Native;

    /// The same number, if it has as few bits.
    fn narrow(number: <Self::Wide as ArrowPrimitiveType>::Native) -> Option<Self::Native>;

    /// The number as a value of what sums have for a result.
    ///
    /// # Errors
    /// It does not fit.
    fn total(number: <Self::Wide as ArrowPrimitiveType>::Native, ty: &DataType) -> Result<Self::Native>;
}

/// A sum as others get it.
pub(super) type WideOf<T> = <<T as Summed>::Wide as ArrowPrimitiveType>::Native;

fn too_large(number: impl fmt::Display, ty: &DataType) -> datafusion::error::DataFusionError {
    range_error(format!("the sum {number}"), ty)
}

macro_rules! integers {
    ($($arrow:ident $native:ident),*) => {$(
        impl Summed for $arrow {
            // Of 64 bits, so that there are not enough rows to leave 128.
            type Wide = Decimal128Type;

            fn added(sum: $native, number: $native) -> Option<$native> {
                sum.checked_add(number)
            }

            fn wide(number: $native) -> i128 {
                number.into()
            }

            fn narrow(number: i128) -> Option<$native> {
                number.try_into().ok()
            }

            fn total(number: i128, ty: &DataType) -> Result<$native> {
                Self::narrow(number).ok_or_else(|| too_large(number, ty))
            }
        }
    )*};
}

integers!(Int64Type i64, UInt64Type u64);

impl Summed for Decimal128Type {
    type Wide = Decimal256Type;

    fn added(sum: i128, number: i128) -> Option<i128> {
        sum.checked_add(number)
    }

    fn wide(number: i128) -> i256 {
        i256::from_i128(number)
    }

    fn narrow(number: i256) -> Option<i128> {
        narrowed(number)
    }

    fn total(number: i256, ty: &DataType) -> Result<i128> {
        let DataType::Decimal128(digits, scale) = ty else { return Err(too_large("of decimals", ty)) };
        let fitting = narrowed(number).filter(|number| has_at_most(*number, *digits));
        let shown = || Decimal256Type::format_decimal(number, Decimal256Type::MAX_PRECISION, *scale);
        fitting.ok_or_else(|| too_large(shown(), ty))
    }
}

impl Summed for Float64Type {
    type Wide = Float64Type;

    fn added(sum: f64, number: f64) -> Option<f64> {
        Some(sum + number)
    }

    fn wide(number: f64) -> f64 {
        number
    }

    fn narrow(number: f64) -> Option<f64> {
        Some(number)
    }

    fn total(number: f64, _: &DataType) -> Result<f64> {
        Ok(number)
    }
}

/// What becomes of a sum and of how many numbers it is.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Whole {
    Sum(DataType),
    /// The mean, of decimals of this scale.
    Mean(DataType, i8),
}

impl Whole {
    pub(super) fn ty(&self) -> &DataType {
        match self {
            Self::Sum(ty) | Self::Mean(ty, _) => ty,
        }
    }

    /// How many places the summed numbers have.
    pub(super) fn scale(&self) -> i8 {
        match self {
            Self::Sum(_) => 0,
            Self::Mean(_, scale) => *scale,
        }
    }
}

/// Means of sums.
pub(super) trait Mean: Summed {
    type Output: ArrowPrimitiveType;

    /// # Errors
    /// It does not fit its type.
    fn mean(
        sum: WideOf<Self>,
        count: u64,
        scale: i8,
        ty: &DataType,
    ) -> Result<<Self::Output as ArrowPrimitiveType>::Native>;
}

macro_rules! means {
    ($($arrow:ident),*) => {$(
        impl Mean for $arrow {
            type Output = Float64Type;

            fn mean(sum: i128, count: u64, _: i8, _: &DataType) -> Result<f64> {
                Ok(sum as f64 / count as f64)
            }
        }
    )*};
}

means!(Int64Type, UInt64Type);

impl Mean for Float64Type {
    type Output = Float64Type;

    fn mean(sum: f64, count: u64, _: i8, _: &DataType) -> Result<f64> {
        Ok(sum / count as f64)
    }
}

impl Mean for Decimal128Type {
    type Output = Decimal128Type;

    fn mean(sum: i256, count: u64, scale: i8, ty: &DataType) -> Result<i128> {
        let DataType::Decimal128(digits, to) = ty else { return Err(too_large("of decimals", ty)) };
        let mean = divided(sum, scale, i256::from_i128(count.into()), 0, *to);
        mean.filter(|mean| has_at_most(*mean, *digits)).ok_or_else(|| range_error("an average", ty))
    }
}

/// Adds the numbers of a column to a sum, as often as there are some.
pub(super) fn add_all<T: Summed>(sum: &mut WideOf<T>, array: &PrimitiveArray<T>)
where
    WideOf<T>: ArrowNativeTypeOp,
{
    match array.nulls() {
        None => add_numbers::<T>(sum, array.values().iter().copied()),
        Some(_) => add_numbers::<T>(sum, array.iter().flatten()),
    }
}

/// Adds numbers to a sum.
pub(super) fn add_numbers<T: Summed>(sum: &mut WideOf<T>, numbers: impl Iterator<Item = T::Native>)
where
    WideOf<T>: ArrowNativeTypeOp,
{
    let mut narrow = T::default_value();
    numbers.for_each(|number| match T::added(narrow, number) {
        Some(sum) => narrow = sum,
        None => {
            *sum = sum.add_wrapping(T::wide(narrow));
            narrow = number;
        }
    });
    *sum = sum.add_wrapping(T::wide(narrow));
}

/// A column of numbers of a type.
pub(super) fn numbers<T: ArrowPrimitiveType>(array: &ArrayRef) -> &PrimitiveArray<T> {
    array.as_primitive::<T>()
}
