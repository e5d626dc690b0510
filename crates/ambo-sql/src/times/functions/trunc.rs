//! `date_trunc(unit, moment)`: the beginning of the hour, day, month … that a moment is in; of a moment of the world, of what clocks of the
//! session's zone show, or of those of a third argument.

use std::sync::Arc;

use ambo::calendar::Endless;
use arrow::{
    array::{Array, ArrayRef, AsArray, PrimitiveArray},
    compute::cast,
    datatypes::{DataType, Int64Type, IntervalUnit, TimeUnit, TimestampMicrosecondType},
};
use datafusion::{
    common::{Result, ScalarValue, exec_err, plan_err},
    logical_expr::{ColumnarValue, ScalarFunctionArgs, ScalarUDFImpl, Signature, Volatility},
};

use super::{super::convert::intervals, as_given, at_zone, constant, micros, moment_type, zone_for};
use crate::times::{SECOND, Zone, fields::Unit, is_interval};

#[derive(Debug, PartialEq, Eq, Hash)]
pub(super) struct DateTrunc {
    signature: Signature,
    aliases: Vec<String>,
}

impl DateTrunc {
    pub(super) fn new() -> Self {
        let aliases = vec!["datetrunc".to_owned()];
        Self { signature: Signature::user_defined(Volatility::Immutable), aliases }
    }
}

impl ScalarUDFImpl for DateTrunc {
    fn name(&self) -> &str {
        "date_trunc"
    }

    fn aliases(&self) -> &[String] {
        &self.aliases
    }

    fn signature(&self) -> &Signature {
        &self.signature
    }

    fn coerce_types(&self, types: &[DataType]) -> Result<Vec<DataType>> {
        let [_, moment, zone @ ..] = types else {
            return plan_err!("date_trunc has a unit and a moment: date_trunc('month', t)");
        };
        let moment = match moment {
            DataType::Time32(_) | DataType::Time64(_) => DataType::Time64(TimeUnit::Nanosecond),
            moment if is_interval(moment) => DataType::Interval(IntervalUnit::MonthDayNano),
            moment if moment.is_numeric() || matches!(moment, DataType::Boolean) => {
                return plan_err!("date_trunc is of a date, a time, a timestamp or an interval");
            }
            moment => moment_type(moment),
        };
        match (zone.len(), &moment) {
            (0, _) => Ok(vec![DataType::Utf8, moment]),
            (1, DataType::Timestamp(_, Some(_))) => Ok(vec![DataType::Utf8, moment, DataType::Utf8]),
            _ => plan_err!("date_trunc has a unit, a timestamptz and a zone"),
        }
    }

    fn return_type(&self, types: &[DataType]) -> Result<DataType> {
        Ok(types[1].clone())
    }

    fn invoke_with_args(&self, args: ScalarFunctionArgs) -> Result<ColumnarValue> {
        let value = &args.args[1];
        if let Some(name) = constant(&args.args[0]) {
            let array = match value {
                ColumnarValue::Array(array) => array.clone(),
                ColumnarValue::Scalar(scalar) => scalar.to_array()?,
            };
            let zone = match args.args.get(2).map(constant) {
                None => zone_for(array.data_type(), &args),
                Some(Some(zone)) => at_zone::known(zone)?,
                Some(None) => return exec_err!("date_trunc: the zone is to be a constant"),
            };
            return as_given(truncated(known(name)?, &array, zone)?, value);
        }
        let names = cast(&args.args[0].to_array(args.number_rows)?, &DataType::Utf8)?;
        let array = value.to_array(args.number_rows)?;
        let zone = zone_for(array.data_type(), &args);
        let null = ScalarValue::try_new_null(array.data_type())?;
        let each = names.as_string::<i32>().iter().enumerate().map(|(row, name)| match name {
            None => Ok(null.clone()),
            Some(name) => {
                let one = truncated(known(name)?, &array.slice(row, 1), zone)?;
                ScalarValue::try_from_array(&one, 0)
            }
        });
        let each = each.collect::<Result<Vec<_>>>()?;
        match each.is_empty() {
            true => Ok(ColumnarValue::Array(arrow::array::new_empty_array(array.data_type()))),
            false => Ok(ColumnarValue::Array(ScalarValue::iter_to_array(each)?)),
        }
    }
}

fn known(name: &str) -> Result<Unit> {
    // What has a day each: it begins with that.
    let of_day = || match name.trim().to_ascii_lowercase().as_str() {
        "dow" | "dayofweek" | "weekday" | "isodow" | "doy" | "dayofyear" | "julian" => Some(Unit::Day),
        "isoyear" => Some(Unit::IsoYear),
        "epoch" => Some(Unit::Second),
        _ => None,
    };
    match Unit::named(name).or_else(of_day) {
        Some(unit) => Ok(unit),
        None => {
            exec_err!("date_trunc: '{name}' is no unit; there are year, quarter, month, week, day, hour …")
        }
    }
}

fn truncated(unit: Unit, array: &ArrayRef, zone: Zone) -> Result<ArrayRef> {
    match array.data_type() {
        DataType::Time64(_) => {
            if !unit.is_short() {
                return exec_err!("date_trunc: a time of day has no {unit:?}");
            }
            let times = cast(array, &DataType::Int64)?;
            let times = times.as_primitive::<Int64Type>();
            let begins: PrimitiveArray<Int64Type> =
                times.unary(|nanos| unit.begin(nanos / 1000).unwrap_or(0) * 1000);
            Ok(cast(&(Arc::new(begins) as ArrayRef), array.data_type())?)
        }
        DataType::Interval(_) => {
            let begins = intervals(array)?.unary(|interval| begin_of_interval(unit, interval));
            let begins: arrow::array::IntervalMonthDayNanoArray = begins;
            Ok(Arc::new(begins))
        }
        ty => {
            let begin = |moment: i64| {
                if zone == Zone::UTC {
                    return unit.begin(moment);
                }
                let offset = i64::from(zone.offset(moment)) * SECOND;
                let local = unit.begin(moment.checked_add(offset)?)?;
                // An hour that comes twice begins twice.
                if unit.is_short() { local.checked_sub(offset) } else { zone.instant(local) }
            };
            let begin = |moment: i64| match begin(moment) {
                _ if moment.is_endless() => Ok(Some(moment)),
                None => exec_err!("date_trunc: the beginning is before the range of timestamps"),
                begin => Ok(begin),
            };
            let moments = micros(array).iter().map(|moment| moment.map_or(Ok(None), begin));
            let moments = moments.collect::<Result<PrimitiveArray<TimestampMicrosecondType>>>()?;
            Ok(Arc::new(moments.with_data_type(ty.clone())))
        }
    }
}

fn begin_of_interval(
    unit: Unit,
    interval: arrow::datatypes::IntervalMonthDayNano,
) -> arrow::datatypes::IntervalMonthDayNano {
    let months = |of: i32| (interval.months / of * of, 0, 0);
    let nanos = |of: i64| (interval.months, interval.days, interval.nanoseconds / of * of);
    let (months, days, nanos) = match unit {
        Unit::Millennium => months(12_000),
        Unit::Century => months(1200),
        Unit::Decade => months(120),
        Unit::Year | Unit::IsoYear => months(12),
        Unit::Quarter => months(3),
        Unit::Month => months(1),
        Unit::Week => (interval.months, interval.days / 7 * 7, 0),
        Unit::Day => (interval.months, interval.days, 0),
        Unit::Hour => nanos(3_600_000_000_000),
        Unit::Minute => nanos(60_000_000_000),
        Unit::Second => nanos(1_000_000_000),
        Unit::Millisecond => nanos(1_000_000),
        Unit::Microsecond => nanos(1000),
    };
    arrow::datatypes::IntervalMonthDayNano::new(months, days, nanos)
}
