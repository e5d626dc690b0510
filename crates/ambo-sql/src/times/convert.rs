//! Times in other types, and texts of them.

use std::{fmt::Write, sync::Arc};

use ambo::calendar::{Endless, write_date, write_time, write_timestamp};
use arrow::{
    array::{
        Array, ArrayRef, AsArray, IntervalMonthDayNanoArray, PrimitiveArray, StringArray, StringBuilder,
    },
    compute::cast,
    datatypes::{
        ArrowPrimitiveType, DataType, Date32Type, DurationMicrosecondType, Int64Type, IntervalMonthDayNano,
        IntervalMonthDayNanoType, IntervalUnit, Time64NanosecondType, TimeUnit, TimestampMicrosecondType,
        TimestampNanosecondType,
    },
};
use datafusion::common::{Result, exec_err};

use crate::logical;

use super::{DAY, MOMENT, SECOND, Zone, instant, interval_text, is_interval, is_text, text};

/// Whether values of a type become those of another here; otherwise the planner's casts are right.
pub(crate) fn converts(from: &DataType, to: &DataType) -> bool {
    use DataType as D;
    match (from, to) {
        (from, to) if from == to => false,
        (from, D::Timestamp(..) | D::Date32 | D::Time64(_) | D::Interval(_)) if is_text(from) => true,
        (D::Timestamp(..) | D::Date32 | D::Time64(_) | D::Interval(_) | D::Duration(_), to)
            if is_text(to) =>
        {
            true
        }
        (D::Timestamp(..), D::Timestamp(..) | D::Date32 | D::Time64(_)) => true,
        (D::Date32, D::Timestamp(..)) => true,
        (D::Duration(_), D::Interval(_)) => true,
        (from, to) => logical::converts(from, to),
    }
}

/// The values in another type, as [`converts`] says. Clocks show what those of the zone do. What does not fit is an error, or NULL if that
/// is not `strict`.
///
/// # Errors
/// A value that is none of the other type, with its text.
pub(crate) fn converted(array: &ArrayRef, to: &DataType, zone: Zone, strict: bool) -> Result<ArrayRef> {
    if array.data_type() == to {
        return Ok(array.clone());
    }
    if logical::converts(array.data_type(), to) {
        return logical::converted(array, to, zone, strict);
    }
    if is_text(array.data_type()) {
        return from_text(array, to, zone, strict);
    }
    let array = in_micros(array, strict)?;
    if is_text(to) {
        let texts: ArrayRef = Arc::new(texts(&array, zone)?);
        return Ok(cast(&texts, to)?);
    }
    match (array.data_type(), to) {
        (D::Timestamp(_, from), D::Timestamp(_, to)) => {
            let moved = |value| match (from.is_some(), to.is_some()) {
                (true, false) => zone.local(value),
                (false, true) => zone.instant(value),
                _ => Some(value),
            };
            let to = if to.is_some() { instant() } else { MOMENT };
            mapped::<TimestampMicrosecondType, TimestampMicrosecondType>(&array, &to, strict, moved)
        }
        (D::Timestamp(_, from), D::Date32) => {
            let local = local_of(from.is_some(), zone);
            mapped::<TimestampMicrosecondType, Date32Type>(&array, to, strict, |value| {
                match same_end::<i64, i32>(value) {
                    None => i32::try_from(local(value)?.div_euclid(DAY)).ok(),
                    end => end,
                }
            })
        }
        (D::Timestamp(_, from), D::Time64(_)) => {
            let local = local_of(from.is_some(), zone);
            mapped::<TimestampMicrosecondType, Time64NanosecondType>(&array, to, strict, |value| {
                if value.is_endless() {
                    return None;
                }
                Some(local(value)?.rem_euclid(DAY) * 1000)
            })
        }
        (D::Date32, D::Timestamp(_, to)) => {
            let ty = if to.is_some() { instant() } else { MOMENT };
            let begin = |days: i32| {
                if let Some(end) = same_end(days) {
                    return Some(end);
                }
                let local = i64::from(days).checked_mul(DAY)?;
                if to.is_some() { zone.instant(local) } else { Some(local) }
            };
            mapped::<Date32Type, TimestampMicrosecondType>(&array, &ty, strict, begin)
        }
        (D::Duration(_), D::Interval(_)) => {
            mapped::<DurationMicrosecondType, IntervalMonthDayNanoType>(&array, to, strict, |micros| {
                let days = i32::try_from(micros / DAY).ok()?;
                Some(IntervalMonthDayNano::new(0, days, micros % DAY * 1000))
            })
        }
        (from, to) => exec_err!("there is no cast from {from} to {to}"),
    }
}

use DataType as D;

/// What clocks show, of values that are moments of the world or of a calendar.
fn local_of(is_instant: bool, zone: Zone) -> impl Fn(i64) -> Option<i64> {
    move |value| if is_instant { zone.local(value) } else { Some(value) }
}

/// Values of another type, each by itself. REQUIRES: the array and `to` are of these types.
fn mapped<F: ArrowPrimitiveType, T: ArrowPrimitiveType>(
    array: &ArrayRef,
    to: &DataType,
    strict: bool,
    map: impl Fn(F::Native) -> Option<T::Native>,
) -> Result<ArrayRef> {
    let from = array.as_primitive::<F>();
    let mapped: PrimitiveArray<T> = from.unary_opt(map);
    if strict && mapped.null_count() > from.null_count() {
        let row = (0..from.len()).find(|row| mapped.is_null(*row) && from.is_valid(*row)).unwrap_or(0);
        let value = texts(&array.slice(row, 1), Zone::UTC)?;
        return exec_err!("{} is beyond the range of type {}", value.value(0), name_of(to));
    }
    Ok(Arc::new(mapped.with_data_type(to.clone())))
}

/// Moments and durations of other units in whole microseconds; others as they are.
fn in_micros(array: &ArrayRef, strict: bool) -> Result<ArrayRef> {
    let (unit, to, raw) = match array.data_type() {
        D::Timestamp(unit, zone) => {
            (*unit, if zone.is_some() { instant() } else { MOMENT }, D::Timestamp(*unit, None))
        }
        D::Duration(unit) => (*unit, D::Duration(TimeUnit::Microsecond), array.data_type().clone()),
        _ => return Ok(array.clone()),
    };
    let plain = |array: &ArrayRef| cast(&cast(array, &raw)?, &D::Int64);
    let values = match unit {
        TimeUnit::Microsecond => {
            return Ok(match array.data_type() {
                D::Timestamp(..) => {
                    Arc::new(array.as_primitive::<TimestampMicrosecondType>().clone().with_data_type(to))
                }
                _ => array.clone(),
            });
        }
        TimeUnit::Second => scaled(&plain(array)?, |value| value.checked_mul(SECOND)),
        TimeUnit::Millisecond => scaled(&plain(array)?, |value| value.checked_mul(1000)),
        TimeUnit::Nanosecond => scaled(&plain(array)?, |value| Some(value.div_euclid(1000))),
    };
    if strict && values.null_count() > array.null_count() {
        return exec_err!("a value is beyond the range of type {}", name_of(&to));
    }
    let values: ArrayRef = Arc::new(values);
    Ok(cast(&values, &to)?)
}

fn scaled(values: &ArrayRef, scale: impl Fn(i64) -> Option<i64>) -> PrimitiveArray<Int64Type> {
    values.as_primitive::<Int64Type>().unary_opt(scale)
}

/// Texts as times.
fn from_text(array: &ArrayRef, to: &DataType, zone: Zone, strict: bool) -> Result<ArrayRef> {
    let texts = cast(array, &D::Utf8)?;
    let texts = texts.as_string::<i32>();
    let nanos = D::Time64(TimeUnit::Nanosecond);
    match to {
        D::Timestamp(_, Some(_)) => {
            read::<TimestampMicrosecondType>(texts, &instant(), strict, |of| text::instant(of, zone))
        }
        D::Timestamp(_, None) => read::<TimestampMicrosecondType>(texts, &MOMENT, strict, text::moment),
        D::Date32 => read::<Date32Type>(texts, to, strict, text::date),
        D::Time64(_) => Ok(cast(&read::<Time64NanosecondType>(texts, &nanos, strict, text::time)?, to)?),
        D::Interval(_) => {
            let to = D::Interval(IntervalUnit::MonthDayNano);
            read::<IntervalMonthDayNanoType>(texts, &to, strict, |of| interval_text::read(of, None))
        }
        to => exec_err!("there is no cast from text to {to}"),
    }
}

fn read<T: ArrowPrimitiveType>(
    texts: &StringArray,
    to: &DataType,
    strict: bool,
    read: impl Fn(&str) -> Option<T::Native>,
) -> Result<ArrayRef> {
    let value = |text: Option<&str>| match text {
        None => Ok(None),
        Some(text) => match read(text) {
            None if strict => exec_err!("'{text}' is no {}", name_of(to)),
            value => Ok(value),
        },
    };
    let values = texts.iter().map(value).collect::<Result<PrimitiveArray<T>>>()?;
    Ok(Arc::new(values.with_data_type(to.clone())))
}

/// The name of a type in statements.
pub(super) fn name_of(ty: &DataType) -> &'static str {
    match ty {
        D::Timestamp(_, None) => "timestamp",
        D::Timestamp(_, Some(_)) => "timestamptz",
        D::Date32 | D::Date64 => "date",
        D::Time32(_) | D::Time64(_) => "time",
        D::Interval(_) | D::Duration(_) => "interval",
        &logical::UUID => "uuid",
        &logical::BIT => "bit",
        &logical::GEOMETRY => "geometry",
        _ => "value",
    }
}

/// Texts of times, where clocks are those of a zone. REQUIRES: moments and durations are in microseconds.
fn texts(array: &ArrayRef, zone: Zone) -> Result<StringArray> {
    let mut builder = StringBuilder::with_capacity(array.len(), array.len() * 19);
    let mut text = String::new();
    for row in 0..array.len() {
        if array.is_null(row) {
            builder.append_null();
            continue;
        }
        text.clear();
        let _ = match array.data_type() {
            D::Timestamp(_, None) => {
                write_timestamp(&mut text, array.as_primitive::<TimestampMicrosecondType>().value(row), None)
            }
            D::Timestamp(_, Some(_)) => {
                let value = array.as_primitive::<TimestampMicrosecondType>().value(row);
                text::write_instant(&mut text, value, zone);
                Ok(())
            }
            D::Date32 => write_date(&mut text, array.as_primitive::<Date32Type>().value(row).into()),
            D::Time64(TimeUnit::Nanosecond) => {
                write_time(&mut text, array.as_primitive::<Time64NanosecondType>().value(row))
            }
            D::Interval(IntervalUnit::MonthDayNano) => {
                interval_text::write(&mut text, array.as_primitive::<IntervalMonthDayNanoType>().value(row));
                Ok(())
            }
            D::Duration(_) => {
                let micros = array.as_primitive::<DurationMicrosecondType>().value(row);
                let days = micros / DAY;
                // Days of more than 32 bits are less than a duration can have.
                let interval = IntervalMonthDayNano::new(0, days as i32, micros % DAY * 1000);
                interval_text::write(&mut text, interval);
                Ok(())
            }
            other => write!(text, "{other}"),
        };
        builder.append_value(&text);
    }
    Ok(builder.finish())
}

/// The texts of a column of times, as statements show them where clocks are those of the zone of this name; `None` for a column of
/// something else.
pub(crate) fn time_texts(array: &ArrayRef, zone: &str) -> Option<StringArray> {
    let is_time = matches!(array.data_type(), D::Timestamp(..) | D::Date32 | D::Time64(_))
        || is_interval(array.data_type());
    if !is_time {
        return None;
    }
    let zone = Zone::find(zone).unwrap_or(Zone::UTC);
    let nanos = match array.data_type() {
        D::Timestamp(TimeUnit::Nanosecond, _) => Some(array.as_primitive::<TimestampNanosecondType>()),
        _ => None,
    };
    let array = in_micros(array, false).ok()?;
    let array: ArrayRef = match array.data_type() {
        D::Interval(unit) if *unit != IntervalUnit::MonthDayNano => return None,
        D::Time64(TimeUnit::Microsecond) => cast(&array, &D::Time64(TimeUnit::Nanosecond)).ok()?,
        _ => array,
    };
    let texts = texts(&array, zone).ok()?;
    Some(match nanos {
        Some(nanos) => with_nanos(&texts, nanos),
        None => texts,
    })
}

/// Texts of moments in microseconds as those of the nanoseconds that they were cut from.
fn with_nanos(texts: &StringArray, nanos: &PrimitiveArray<TimestampNanosecondType>) -> StringArray {
    /// Of `2024-02-29 10:11:12`; nanoseconds have no years of five digits.
    const SECONDS_END: usize = 19;
    let texts = texts.iter().zip(nanos).map(|(text, nanos)| {
        let (text, nanos) = (text?, nanos?.rem_euclid(1_000_000_000));
        if nanos % 1000 == 0 {
            return Some(text.to_owned());
        }
        let (seconds, rest) = text.split_at(SECONDS_END);
        let zone = rest.trim_start_matches(|c: char| c == '.' || c.is_ascii_digit());
        let fraction = format!("{nanos:09}");
        Some(format!("{seconds}.{}{zone}", fraction.trim_end_matches('0')))
    });
    texts.collect()
}

/// An interval in microseconds, a month being thirty days, by which intervals are compared.
pub(super) fn length(interval: IntervalMonthDayNano) -> i128 {
    let days = i128::from(interval.months) * 30 + i128::from(interval.days);
    days * i128::from(DAY) * 1000 + i128::from(interval.nanoseconds)
}

/// Any array of intervals or durations as intervals.
pub(super) fn intervals(array: &ArrayRef) -> Result<IntervalMonthDayNanoArray> {
    let to = D::Interval(IntervalUnit::MonthDayNano);
    let array = match array.data_type() {
        D::Duration(_) => converted(array, &to, Zone::UTC, true)?,
        _ => cast(array, &to)?,
    };
    Ok(array.as_primitive::<IntervalMonthDayNanoType>().clone())
}

/// A day or a moment without end as one of the other kind.
fn same_end<F: Endless + PartialEq, T: Endless>(of: F) -> Option<T> {
    match of {
        of if of == F::INFINITY => Some(T::INFINITY),
        of if of == F::MINUS_INFINITY => Some(T::MINUS_INFINITY),
        _ => None,
    }
}
