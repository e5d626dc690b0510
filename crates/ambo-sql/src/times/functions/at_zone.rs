//! `moment AT TIME ZONE zone`, also `timezone(zone, moment)`: the moment of the world at which clocks of the zone show a moment of the
//! calendar, and what they show at a moment of the world.

use std::sync::Arc;

use arrow::{
    array::{Array, AsArray, PrimitiveArray},
    compute::cast,
    datatypes::{DataType, IntervalUnit, TimestampMicrosecondType},
};
use datafusion::{
    common::{Result, exec_err, plan_err},
    logical_expr::{ColumnarValue, ScalarFunctionArgs, ScalarUDFImpl, Signature, Volatility},
};

use super::{super::convert::intervals, constant, micros};
use crate::times::{MOMENT, Zone, instant, is_interval, is_text};

#[derive(Debug, PartialEq, Eq, Hash)]
pub(super) struct AtZone(Signature);

impl AtZone {
    pub(super) fn new() -> Self {
        Self(Signature::user_defined(Volatility::Immutable))
    }
}

impl ScalarUDFImpl for AtZone {
    fn name(&self) -> &str {
        "timezone"
    }

    fn signature(&self) -> &Signature {
        &self.0
    }

    fn coerce_types(&self, types: &[DataType]) -> Result<Vec<DataType>> {
        let [zone, moment] = types else {
            return plan_err!("timezone has a zone and a moment: timezone('Europe/Brussels', now())");
        };
        let zone = match zone {
            zone if is_interval(zone) => DataType::Interval(IntervalUnit::MonthDayNano),
            zone if is_text(zone) || zone.is_null() => DataType::Utf8,
            _ => return plan_err!("a time zone is a text or an interval"),
        };
        // Days and texts are moments of the world here, as in PostgreSQL.
        let moment = match moment {
            DataType::Timestamp(_, None) => MOMENT,
            DataType::Timestamp(..) | DataType::Date32 | DataType::Null => instant(),
            moment if is_text(moment) => instant(),
            _ => return plan_err!("AT TIME ZONE is of a timestamp"),
        };
        Ok(vec![zone, moment])
    }

    fn return_type(&self, types: &[DataType]) -> Result<DataType> {
        Ok(match types[1] {
            DataType::Timestamp(_, None) => instant(),
            _ => MOMENT,
        })
    }

    fn invoke_with_args(&self, args: ScalarFunctionArgs) -> Result<ColumnarValue> {
        let moments = args.args[1].to_array(args.number_rows)?;
        let is_instant = matches!(moments.data_type(), DataType::Timestamp(_, Some(_)));
        let moved = |moment: i64, zone: Zone| {
            let moved = if is_instant { zone.local(moment) } else { zone.instant(moment) };
            match moved {
                None => exec_err!("AT TIME ZONE: a moment is beyond the range of timestamps"),
                moved => Ok(moved),
            }
        };
        let moments = micros(&moments);
        let shifted: PrimitiveArray<TimestampMicrosecondType> = if let Some(name) = constant(&args.args[0]) {
            let zone = known(name)?;
            let moments = moments.iter().map(|moment| moment.map_or(Ok(None), |moment| moved(moment, zone)));
            moments.collect::<Result<_>>()?
        } else {
            let zones = zones(&args)?;
            let pairs = moments.iter().zip(zones).map(|(moment, zone)| match (moment, zone) {
                (Some(moment), Some(zone)) => moved(moment, zone),
                _ => Ok(None),
            });
            pairs.collect::<Result<_>>()?
        };
        let ty = if is_instant { MOMENT } else { instant() };
        Ok(ColumnarValue::Array(Arc::new(shifted.with_data_type(ty))))
    }
}

/// The zones of all rows.
fn zones(args: &ScalarFunctionArgs) -> Result<Vec<Option<Zone>>> {
    let zones = args.args[0].to_array(args.number_rows)?;
    if is_interval(zones.data_type()) {
        let intervals = intervals(&zones)?;
        let offset = |interval: arrow::datatypes::IntervalMonthDayNano| {
            if interval.months != 0 || interval.days != 0 {
                return exec_err!("a time zone as an interval has hours and minutes only");
            }
            let seconds = i32::try_from(interval.nanoseconds / 1_000_000_000);
            match seconds.ok().filter(|seconds| seconds.abs() < 16 * 3600) {
                Some(seconds) => Ok(Some(Zone::Fixed(seconds))),
                None => exec_err!("a time zone is less than 16 hours from UTC"),
            }
        };
        return intervals.iter().map(|of| of.map_or(Ok(None), offset)).collect();
    }
    let names = cast(&zones, &DataType::Utf8)?;
    names.as_string::<i32>().iter().map(|name| name.map_or(Ok(None), |name| known(name).map(Some))).collect()
}

/// The zone of a name.
pub(super) fn known(name: &str) -> Result<Zone> {
    // With a sign PostgreSQL means west of UTC here, and others east.
    if name.trim_start().starts_with(['+', '-']) {
        return exec_err!(
            "'{name}' is no name of a time zone; an offset is an interval: AT TIME ZONE INTERVAL '2 hours' is east of UTC"
        );
    }
    match Zone::find(name) {
        Some(zone) => Ok(zone),
        None => exec_err!("there is no time zone '{name}'; zones are named as 'Europe/Brussels' or 'UTC'"),
    }
}
