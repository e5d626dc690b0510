//! Numbers as moments, and back: `to_timestamp` and others.

use std::sync::Arc;

use ambo::calendar::Endless;
use arrow::{
    array::{Array, ArrayRef, AsArray, PrimitiveArray},
    compute::cast,
    datatypes::{DataType, Float64Type, Int64Type, TimestampMicrosecondType},
};
use chrono::{DateTime, NaiveDate, NaiveDateTime};
use datafusion::{
    common::{Result, exec_err, plan_err},
    logical_expr::{ColumnarValue, ScalarFunctionArgs, ScalarUDF, ScalarUDFImpl, Signature, Volatility},
};

use super::{as_given, micros, moment_type};
use crate::times::{MOMENT, SECOND, Zone, cast::zone_of, converted, instant, is_text};

/// `to_timestamp` is of seconds and a moment of the world; the others are moments of a calendar.
#[derive(Debug, PartialEq, Eq, Hash)]
struct ToTimestamp {
    name: &'static str,
    /// How many of its units are a second.
    per_second: i64,
    zoned: bool,
    signature: Signature,
}

pub(super) fn all() -> Vec<ScalarUDF> {
    let of = |name, per_second, zoned| {
        let volatility = if zoned { Volatility::Stable } else { Volatility::Immutable };
        let signature = Signature::user_defined(volatility);
        ScalarUDF::new_from_impl(ToTimestamp { name, per_second, zoned, signature })
    };
    vec![
        of("to_timestamp", 1, true),
        of("to_timestamp_seconds", 1, false),
        of("from_unixtime", 1, false),
        of("to_timestamp_millis", 1000, false),
        of("to_timestamp_micros", SECOND, false),
        of("to_timestamp_nanos", 1000 * SECOND, false),
    ]
}

impl ScalarUDFImpl for ToTimestamp {
    fn name(&self) -> &str {
        self.name
    }

    fn signature(&self) -> &Signature {
        &self.signature
    }

    fn coerce_types(&self, types: &[DataType]) -> Result<Vec<DataType>> {
        let own = self.return_type(&[])?;
        match types {
            [ty] if ty.is_integer() => Ok(vec![DataType::Int64]),
            [ty] if ty.is_numeric() => Ok(vec![DataType::Float64]),
            [_] => Ok(vec![own]),
            [ty, formats @ ..] if is_text(ty) && !formats.is_empty() => Ok(vec![DataType::Utf8; types.len()]),
            _ => plan_err!("{} is of a number, or of a text and its formats", self.name),
        }
    }

    fn return_type(&self, _: &[DataType]) -> Result<DataType> {
        Ok(if self.zoned { instant() } else { MOMENT })
    }

    fn invoke_with_args(&self, args: ScalarFunctionArgs) -> Result<ColumnarValue> {
        let array = match &args.args[0] {
            ColumnarValue::Array(array) => array.clone(),
            ColumnarValue::Scalar(scalar) if args.args.len() == 1 => scalar.to_array()?,
            value => value.to_array(args.number_rows)?,
        };
        let ty = self.return_type(&[])?;
        let moments = match array.data_type() {
            DataType::Int64 => self.of_integers(&array)?,
            DataType::Float64 => self.of_floats(&array)?,
            DataType::Utf8 => return Ok(ColumnarValue::Array(self.of_texts(&array, &args)?)),
            _ => return as_given(array, &args.args[0]),
        };
        as_given(Arc::new(moments.with_data_type(ty)), &args.args[0])
    }
}

impl ToTimestamp {
    fn of_integers(&self, array: &ArrayRef) -> Result<PrimitiveArray<TimestampMicrosecondType>> {
        let numbers = array.as_primitive::<Int64Type>();
        let moment = |number: i64| match self.per_second {
            per if per <= SECOND => number.checked_mul(SECOND / per).filter(|moment| !moment.is_endless()),
            per => Some(number.div_euclid(per / SECOND)),
        };
        let moment = |number: i64| match moment(number) {
            None => exec_err!("{}: {number} is beyond the range of timestamps", self.name),
            moment => Ok(moment),
        };
        numbers.iter().map(|number| number.map_or(Ok(None), moment)).collect()
    }

    fn of_floats(&self, array: &ArrayRef) -> Result<PrimitiveArray<TimestampMicrosecondType>> {
        let moment = |number: f64| {
            let micros = (number * SECOND as f64 / self.per_second as f64).round_ties_even();
            match micros.abs() < i64::MAX as f64 {
                true => Ok(Some(micros as i64)),
                false => exec_err!("{}: {number} is beyond the range of timestamps", self.name),
            }
        };
        array.as_primitive::<Float64Type>().iter().map(|number| number.map_or(Ok(None), moment)).collect()
    }

    /// Texts in the first of the formats that fits, those of chrono.
    fn of_texts(&self, array: &ArrayRef, args: &ScalarFunctionArgs) -> Result<ArrayRef> {
        let formats = args.args[1..].iter().map(|format| format.to_array(args.number_rows));
        let formats = formats.collect::<Result<Vec<_>>>()?;
        let zone = if self.zoned { zone_of(&args.config_options) } else { Zone::UTC };
        let texts = array.as_string::<i32>();
        let moment = |row: usize| {
            if texts.is_null(row) {
                return Ok(None);
            }
            let text = texts.value(row);
            let mut of_row =
                formats.iter().map(|format| format.as_string::<i32>()).filter(|format| format.is_valid(row));
            match of_row.find_map(|format| read(text, format.value(row), zone)) {
                None => exec_err!("{}: '{text}' is in none of the formats", self.name),
                moment => Ok(moment),
            }
        };
        let moments: PrimitiveArray<TimestampMicrosecondType> =
            (0..texts.len()).map(moment).collect::<Result<_>>()?;
        Ok(Arc::new(moments.with_data_type(self.return_type(&[])?)))
    }
}

fn read(text: &str, format: &str, zone: Zone) -> Option<i64> {
    if let Ok(moment) = DateTime::parse_from_str(text, format) {
        return Some(moment.timestamp_micros());
    }
    let local = NaiveDateTime::parse_from_str(text, format)
        .or_else(|_| NaiveDate::parse_from_str(text, format).map(NaiveDateTime::from))
        .ok()?;
    zone.instant(local.and_utc().timestamp_micros())
}

/// `to_unixtime(moment)`: whole seconds since 1970 began.
#[derive(Debug, PartialEq, Eq, Hash)]
pub(super) struct ToUnixtime(Signature);

impl ToUnixtime {
    pub(super) fn new() -> Self {
        Self(Signature::user_defined(Volatility::Immutable))
    }
}

impl ScalarUDFImpl for ToUnixtime {
    fn name(&self) -> &str {
        "to_unixtime"
    }

    fn signature(&self) -> &Signature {
        &self.0
    }

    fn coerce_types(&self, types: &[DataType]) -> Result<Vec<DataType>> {
        match types {
            [ty] if ty.is_numeric() => Ok(vec![DataType::Int64]),
            [ty] => Ok(vec![moment_type(ty)]),
            [ty, _, ..] if is_text(ty) => Ok(vec![DataType::Utf8; types.len()]),
            _ => plan_err!("to_unixtime has one moment"),
        }
    }

    fn return_type(&self, _: &[DataType]) -> Result<DataType> {
        Ok(DataType::Int64)
    }

    fn invoke_with_args(&self, args: ScalarFunctionArgs) -> Result<ColumnarValue> {
        let array = match &args.args[0] {
            ColumnarValue::Scalar(scalar) if args.args.len() == 1 => scalar.to_array()?,
            value => value.to_array(args.number_rows)?,
        };
        let moments = match array.data_type() {
            DataType::Int64 => return Ok(args.args[0].clone()),
            DataType::Utf8 => {
                let own = ToTimestamp {
                    name: "to_unixtime",
                    per_second: 1,
                    zoned: false,
                    signature: Signature::user_defined(Volatility::Immutable),
                };
                own.of_texts(&array, &args)?
            }
            DataType::Timestamp(..) => array,
            _ => converted(&cast(&array, &MOMENT)?, &MOMENT, Zone::UTC, true)?,
        };
        let seconds = micros(&moments)
            .unary_opt::<_, Int64Type>(|moment| (!moment.is_endless()).then(|| moment.div_euclid(SECOND)));
        as_given(Arc::new(seconds), &args.args[0])
    }
}
