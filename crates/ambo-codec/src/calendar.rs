//! Days, times and timestamps as text: proleptic Gregorian calendar, no time zones, no leap seconds.
//!
//! The conversion between days and dates follows Howard Hinnant's "chrono-Compatible Low-Level Date
//! Algorithms" (the era of 400 years, years beginning in March).

use std::fmt;

const DAYS_FROM_0000_03_01: i64 = 719_468;
const DAYS_PER_ERA: i64 = 146_097;
pub(crate) const MICROS_PER_DAY: i64 = 86_400_000_000;
pub(crate) const NANOS_PER_SECOND: i64 = 1_000_000_000;

/// Year, month and day of the day numbered `days` since 1970-01-01.
fn date_of(days: i64) -> (i64, u32, u32) {
    let shifted = days + DAYS_FROM_0000_03_01;
    let era = shifted.div_euclid(DAYS_PER_ERA);
    let day_of_era = shifted.rem_euclid(DAYS_PER_ERA);
    let year_of_era = (day_of_era - day_of_era / 1460 + day_of_era / 36_524 - day_of_era / 146_096) / 365;
    let day_of_year = day_of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    let month_from_march = (5 * day_of_year + 2) / 153;
    let day = (day_of_year - (153 * month_from_march + 2) / 5 + 1) as u32;
    let month = if month_from_march < 10 { month_from_march + 3 } else { month_from_march - 9 } as u32;
    let year = year_of_era + era * 400 + i64::from(month <= 2);
    (year, month, day)
}

/// The inverse of [`date_of`]; `None` for a date that no calendar has.
fn days_of(year: i64, month: u32, day: u32) -> Option<i64> {
    if !(1..=12).contains(&month) || day == 0 || year.abs() > 6_000_000 {
        return None;
    }
    let shifted = if month <= 2 { year - 1 } else { year };
    let era = shifted.div_euclid(400);
    let year_of_era = shifted.rem_euclid(400);
    let month_from_march = i64::from((month + 9) % 12);
    let day_of_year = (153 * month_from_march + 2) / 5 + i64::from(day) - 1;
    let day_of_era = year_of_era * 365 + year_of_era / 4 - year_of_era / 100 + day_of_year;
    let days = era * DAYS_PER_ERA + day_of_era - DAYS_FROM_0000_03_01;
    (date_of(days) == (year, month, day)).then_some(days)
}

/// Writes `2026-11-20`.
pub(crate) fn write_date(f: &mut fmt::Formatter<'_>, days: i64) -> fmt::Result {
    let (year, month, day) = date_of(days);
    let sign = if year < 0 { "-" } else { "" };
    write!(f, "{sign}{:04}-{month:02}-{day:02}", year.abs())
}

/// Writes `23:15:00`, and behind a point as many digits of the nanoseconds as are needed.
pub(crate) fn write_time(f: &mut fmt::Formatter<'_>, nanos: i64) -> fmt::Result {
    let sign = if nanos < 0 { "-" } else { "" };
    let nanos = nanos.unsigned_abs();
    let (seconds, mut fraction) = (nanos / NANOS_PER_SECOND as u64, nanos % NANOS_PER_SECOND as u64);
    write!(f, "{sign}{:02}:{:02}:{:02}", seconds / 3600, seconds / 60 % 60, seconds % 60)?;
    if fraction == 0 {
        return Ok(());
    }
    let mut digits = 9;
    while fraction % 10 == 0 {
        fraction /= 10;
        digits -= 1;
    }
    write!(f, ".{fraction:0digits$}")
}

/// Writes `2026-11-20 23:15:00`, with a fraction when there is one.
pub(crate) fn write_timestamp(f: &mut fmt::Formatter<'_>, micros: i64) -> fmt::Result {
    write_date(f, micros.div_euclid(MICROS_PER_DAY))?;
    f.write_str(" ")?;
    write_time(f, micros.rem_euclid(MICROS_PER_DAY) * 1000)
}

/// Reads `[-]YYYY-MM-DD` as days since 1970-01-01.
pub(crate) fn parse_date(text: &str) -> Option<i64> {
    let (negative, rest) = strip_minus(text);
    let mut parts = rest.split('-');
    let year = digits(parts.next()?, 4..=7)? as i64;
    let month = digits(parts.next()?, 1..=2)? as u32;
    let day = digits(parts.next()?, 1..=2)? as u32;
    match parts.next() {
        Some(_) => None,
        None => days_of(if negative { -year } else { year }, month, day),
    }
}

/// Reads `[-]H:MM[:SS[.fraction]]` as nanoseconds; the hour may be any, so that every value of the type
/// has a text.
pub(crate) fn parse_time(text: &str) -> Option<i64> {
    let (negative, rest) = strip_minus(text);
    let mut parts = rest.split(':');
    let hours = digits(parts.next()?, 1..=7)?;
    let minutes = digits(parts.next()?, 2..=2).filter(|&minutes| minutes < 60)?;
    let (seconds, nanos) = match parts.next() {
        None => (0, 0),
        Some(text) => parse_seconds(text)?,
    };
    if parts.next().is_some() {
        return None;
    }
    let whole = i128::from(hours * 3600 + minutes * 60 + seconds);
    let total = whole * i128::from(NANOS_PER_SECOND) + i128::from(nanos);
    i64::try_from(if negative { -total } else { total }).ok()
}

/// Reads a date, a blank or a `T`, and a time, with an optional `Z`; or a date alone. Microseconds.
pub(crate) fn parse_timestamp(text: &str) -> Option<i64> {
    let text = text.strip_suffix(['Z', 'z']).unwrap_or(text);
    let (date, time) = match text.split_once([' ', 'T', 't']) {
        Some((date, time)) => (date, parse_time(time)?),
        None => (text, 0),
    };
    let in_a_day = (0..MICROS_PER_DAY * 1000).contains(&time) && time % 1000 == 0;
    if !in_a_day {
        return None;
    }
    let micros = i128::from(parse_date(date)?) * i128::from(MICROS_PER_DAY) + i128::from(time / 1000);
    i64::try_from(micros).ok()
}

/// Seconds and the nanoseconds behind the point.
fn parse_seconds(text: &str) -> Option<(u64, u64)> {
    let (whole, fraction) = match text.split_once('.') {
        Some((whole, fraction)) => (whole, Some(fraction)),
        None => (text, None),
    };
    let seconds = digits(whole, 2..=2).filter(|&seconds| seconds < 60)?;
    let nanos = match fraction {
        None => 0,
        Some(fraction) => digits(fraction, 1..=9)? * 10u64.pow(9 - fraction.len() as u32),
    };
    Some((seconds, nanos))
}

fn strip_minus(text: &str) -> (bool, &str) {
    match text.strip_prefix('-') {
        Some(rest) => (true, rest),
        None => (false, text),
    }
}

/// An unsigned number of so many digits and nothing else.
fn digits(text: &str, count: std::ops::RangeInclusive<usize>) -> Option<u64> {
    let only_digits = text.bytes().all(|byte| byte.is_ascii_digit());
    (count.contains(&text.len()) && only_digits).then(|| text.parse().ok()).flatten()
}

#[cfg(test)]
mod tests {
    use super::*;

    // Keeps away an off-by-one at the ends of months, leap years and centuries.
    #[test]
    fn known_days() {
        for (days, date) in [
            (0, (1970, 1, 1)),
            (-1, (1969, 12, 31)),
            (11_016, (2000, 2, 29)),
            (20_777, (2026, 11, 20)),
            (-719_468, (0, 3, 1)),
            (-719_529, (-1, 12, 31)),
        ] {
            assert_eq!(date_of(days), date);
            assert_eq!(days_of(date.0, date.1, date.2), Some(days));
        }
        assert_eq!(days_of(1900, 2, 29), None);
        assert_eq!(days_of(2026, 11, 31), None);
    }

    // Keeps away a day that no date names, over the whole range of a date column.
    #[test]
    fn every_day_round_trips() {
        for days in (i64::from(i32::MIN)..=i64::from(i32::MAX)).step_by(99_991) {
            let (year, month, day) = date_of(days);
            assert_eq!(days_of(year, month, day), Some(days));
        }
    }

    // Keeps away a sloppy reader that takes a wrong time for another.
    #[test]
    fn refuses_wrong_times() {
        for text in
            ["", "1", "24", "1:2", "00:60", "00:00:60", "00:00:00.", "00:00:00.1234567890", "0:00:00:00"]
        {
            assert_eq!(parse_time(text), None, "{text}");
        }
        assert_eq!(parse_time("23:59:59.5"), Some(86_399_500_000_000));
        assert_eq!(parse_timestamp("1970-01-02T00:00:01Z"), Some(MICROS_PER_DAY + 1_000_000));
        assert_eq!(parse_timestamp("1970-01-02 24:00:00"), None);
        assert_eq!(parse_timestamp("1970-01-02 00:00:00.0000001"), None);
    }
}
