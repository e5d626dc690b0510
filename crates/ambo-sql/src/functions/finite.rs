//! `isfinite(x)` and `isinf(x)` of numbers, dates and moments: those without end are infinite, NaN is neither.

use std::sync::Arc;

use ambo::calendar::Endless;
use arrow::{
    array::{Array, ArrayRef, AsArray, BooleanArray},
    datatypes::{DataType, Date32Type, Float64Type, TimeUnit, TimestampMicrosecondType},
};
use datafusion::{
    common::{Result, arrow::compute::cast, plan_err},
    logical_expr::{ColumnarValue, ScalarFunctionArgs, ScalarUDFImpl, Signature, Volatility},
};

#[derive(Debug, PartialEq, Eq, Hash)]
pub(super) struct Finite {
    is_finite: bool,
    signature: Signature,
}

impl Finite {
    /// `isfinite`.
    pub(super) fn is_finite() -> Self {
        Self { is_finite: true, signature: Signature::user_defined(Volatility::Immutable) }
    }

    /// `isinf`.
    pub(super) fn is_infinite() -> Self {
        Self { is_finite: false, signature: Signature::user_defined(Volatility::Immutable) }
    }

    fn answers(&self, of: &ArrayRef) -> Result<BooleanArray> {
        let endless = |is_endless: bool| is_endless != self.is_finite;
        Ok(match of.data_type() {
            DataType::Date32 => of
                .as_primitive::<Date32Type>()
                .iter()
                .map(|day| day.map(|day| endless(day.is_endless())))
                .collect(),
            DataType::Timestamp(_, zone) => {
                let micros = cast(of, &DataType::Timestamp(TimeUnit::Microsecond, zone.clone()))?;
                let moments = micros.as_primitive::<TimestampMicrosecondType>();
                moments.iter().map(|moment| moment.map(|moment| endless(moment.is_endless()))).collect()
            }
            _ => {
                let numbers = cast(of, &DataType::Float64)?;
                let answer =
                    |number: f64| if self.is_finite { number.is_finite() } else { number.is_infinite() };
                numbers.as_primitive::<Float64Type>().iter().map(|number| number.map(answer)).collect()
            }
        })
    }
}

impl ScalarUDFImpl for Finite {
    fn name(&self) -> &str {
        if self.is_finite { "isfinite" } else { "isinf" }
    }

    fn signature(&self) -> &Signature {
        &self.signature
    }

    fn coerce_types(&self, types: &[DataType]) -> Result<Vec<DataType>> {
        match types {
            [own @ (DataType::Date32 | DataType::Timestamp(..))] => Ok(vec![own.clone()]),
            [other] if other.is_numeric() || other.is_null() => Ok(vec![DataType::Float64]),
            _ => plan_err!("{} is of one number, date or timestamp", self.name()),
        }
    }

    fn return_type(&self, _: &[DataType]) -> Result<DataType> {
        Ok(DataType::Boolean)
    }

    fn invoke_with_args(&self, args: ScalarFunctionArgs) -> Result<ColumnarValue> {
        let of = args.args[0].to_array(args.number_rows)?;
        Ok(ColumnarValue::Array(Arc::new(self.answers(&of)?)))
    }
}
