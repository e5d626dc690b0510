//! Functions of times, in place of the planner's.

mod at_zone;
mod bin;
mod bucket;
mod epoch;
pub(super) mod era;
mod justify;
mod make;
mod names;
mod now;
mod number;
mod part;
pub(super) mod series;
mod strftime;
mod strptime;
mod trunc;

use arrow::{
    array::{Array, ArrayRef, AsArray},
    datatypes::{DataType, TimestampMicrosecondType},
};
use datafusion::{
    common::{Result, ScalarValue},
    logical_expr::{ColumnarValue, ScalarFunctionArgs, ScalarUDF},
};

use super::{MOMENT, Zone, cast::zone_of, instant};
use crate::value::returned;

pub(crate) use now::{moment_called, statement_timestamp};

/// All of them.
pub(crate) fn all() -> Vec<ScalarUDF> {
    let mut all = vec![
        ScalarUDF::new_from_impl(at_zone::AtZone::new()),
        ScalarUDF::new_from_impl(bin::DateBin::new()),
        ScalarUDF::new_from_impl(bucket::TimeBucket::new()),
        ScalarUDF::new_from_impl(make::MakeDate::new()),
        ScalarUDF::new_from_impl(make::MakeTime::new()),
        ScalarUDF::new_from_impl(make::MakeTimestamp::new(false)),
        ScalarUDF::new_from_impl(make::MakeTimestamp::new(true)),
        ScalarUDF::new_from_impl(names::NameInMoment::new()),
        ScalarUDF::new_from_impl(part::DatePart::new()),
        ScalarUDF::new_from_impl(trunc::DateTrunc::new()),
        ScalarUDF::new_from_impl(number::ToUnixtime::new()),
        ScalarUDF::new_from_impl(strftime::Strftime::new()),
        ScalarUDF::new_from_impl(super::scale::RoundMoment::new()),
    ];
    all.extend(strptime::Strptime::all().map(ScalarUDF::new_from_impl));
    all.extend(justify::Justify::all().map(ScalarUDF::new_from_impl));
    all.extend(epoch::Epoch::all().map(ScalarUDF::new_from_impl));
    all.extend(now::all());
    all.extend(number::all());
    all
}

/// The types of moments that an argument of a type is taken as: days and texts are moments of a calendar.
fn moment_type(ty: &DataType) -> DataType {
    match ty {
        DataType::Timestamp(_, Some(_)) => instant(),
        _ => MOMENT,
    }
}

/// The text of an argument that is to be a constant.
fn constant(value: &ColumnarValue) -> Option<&str> {
    match value {
        ColumnarValue::Scalar(
            ScalarValue::Utf8(Some(text))
            | ScalarValue::Utf8View(Some(text))
            | ScalarValue::LargeUtf8(Some(text)),
        ) => Some(text),
        _ => None,
    }
}

/// The zone of the session for moments of the world, UTC for those of a calendar.
fn zone_for(ty: &DataType, args: &ScalarFunctionArgs) -> Zone {
    match ty {
        DataType::Timestamp(_, Some(_)) => zone_of(&args.config_options),
        _ => Zone::UTC,
    }
}

/// Microseconds of an array of moments.
fn micros(array: &ArrayRef) -> &arrow::array::TimestampMicrosecondArray {
    array.as_primitive::<TimestampMicrosecondType>()
}

/// An array as the argument was: one value for a scalar.
fn as_given(array: ArrayRef, given: &ColumnarValue) -> Result<ColumnarValue> {
    let is_one = matches!(given, ColumnarValue::Scalar(_)) && array.len() == 1;
    returned(array, is_one)
}
