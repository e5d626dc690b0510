//! Days, times and moments as numbers and as text: proleptic Gregorian calendar, no leap seconds.
//!
//! The conversion between days and dates follows Howard Hinnant's "chrono-Compatible Low-Level Date
//! Algorithms" (the era of 400 years, years beginning in March). There is a year 0, which texts call 1 BC.

use std::fmt;

const DAYS_FROM_0000_03_01: i64 = 719_468;
const DAYS_PER_ERA: i64 = 146_097;
/// Microseconds of a day.
pub const MICROS_PER_DAY: i64 = 86_400_000_000;
pub(crate) const NANOS_PER_SECOND: i64 = 1_000_000_000;
const NANOS_PER_DAY: i64 = MICROS_PER_DAY * 1000;

/// A moment in microseconds, or a day, that is later than all others, or earlier.
pub trait Endless: Copy {
    /// Later than all others.
    const INFINITY: Self;
    /// Earlier than all others.
    const MINUS_INFINITY: Self;

    /// Whether it is one of them.
    fn is_endless(self) -> bool;
}

impl Endless for i64 {
    const INFINITY: Self = Self::MAX;
    const MINUS_INFINITY: Self = Self::MIN;

    fn is_endless(self) -> bool {
        self == Self::INFINITY || self == Self::MINUS_INFINITY
    }
}

impl Endless for i32 {
    const INFINITY: Self = Self::MAX;
    const MINUS_INFINITY: Self = Self::MIN;

    fn is_endless(self) -> bool {
        self == Self::INFINITY || self == Self::MINUS_INFINITY
    }
}

/// Reads `infinity` and `-infinity`.
pub fn read_endless<T: Endless>(text: &str) -> Option<T> {
    let text = text.trim();
    let (is_minus, name) = match text.strip_prefix(['+', '-']) {
        Some(name) => (text.starts_with('-'), name),
        None => (false, text),
    };
    name.eq_ignore_ascii_case("infinity").then_some(if is_minus { T::MINUS_INFINITY } else { T::INFINITY })
}

/// Year, month and day of the day numbered `days` since 1970-01-01.
pub fn date_of(days: i64) -> (i64, u32, u32) {
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
pub fn days_of(year: i64, month: u32, day: u32) -> Option<i64> {
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

/// Writes a year as texts have it, at least four digits; the caller adds ` BC` for those before year 1.
fn write_day(f: &mut impl fmt::Write, days: i64) -> fmt::Result {
    let (year, month, day) = date_of(days);
    let year = if year < 1 { 1 - year } else { year };
    write!(f, "{year:04}-{month:02}-{day:02}")
}

fn era(days: i64) -> &'static str {
    if date_of(days).0 < 1 { " BC" } else { "" }
}

/// Writes `2026-11-20`, or `0044-03-15 BC`, or `infinity`.
pub fn write_date(f: &mut impl fmt::Write, days: i64) -> fmt::Result {
    if let Some(name) = i32::try_from(days).ok().and_then(name_of_endless) {
        return f.write_str(name);
    }
    write_day(f, days)?;
    f.write_str(era(days))
}

fn name_of_endless<T: Endless + PartialEq>(value: T) -> Option<&'static str> {
    match value {
        value if value == T::INFINITY => Some("infinity"),
        value if value == T::MINUS_INFINITY => Some("-infinity"),
        _ => None,
    }
}

/// Writes `23:15:00`, and behind a point as many digits of the nanoseconds as are needed.
pub fn write_time(f: &mut impl fmt::Write, nanos: i64) -> fmt::Result {
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

/// Writes `2026-11-20 23:15:00`, with a fraction when there is one; with `offset` seconds east of UTC, what a clock there shows at the
/// moment `micros` of UTC, and the offset: `2026-11-21 00:15:00+01`. One without end is `infinity`.
pub fn write_timestamp(f: &mut impl fmt::Write, micros: i64, offset: Option<i32>) -> fmt::Result {
    if let Some(name) = name_of_endless(micros) {
        return f.write_str(name);
    }
    // The ends of the range are days away from what 64 bits hold with an offset.
    let shown = i128::from(micros) + i128::from(offset.unwrap_or(0)) * 1_000_000;
    let days = shown.div_euclid(i128::from(MICROS_PER_DAY)) as i64;
    write_day(f, days)?;
    f.write_str(" ")?;
    write_time(f, shown.rem_euclid(i128::from(MICROS_PER_DAY)) as i64 * 1000)?;
    if let Some(offset) = offset {
        write_offset(f, offset)?;
    }
    f.write_str(era(days))
}

/// Writes `+01`, `-03:30`, or with seconds where a place once had its own time.
fn write_offset(f: &mut impl fmt::Write, offset: i32) -> fmt::Result {
    let sign = if offset < 0 { '-' } else { '+' };
    let (hours, minutes, seconds) = (offset.abs() / 3600, offset.abs() / 60 % 60, offset.abs() % 60);
    write!(f, "{sign}{hours:02}")?;
    if minutes != 0 || seconds != 0 {
        write!(f, ":{minutes:02}")?;
    }
    if seconds != 0 { write!(f, ":{seconds:02}") } else { Ok(()) }
}

/// What a text says about a moment.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Written<'a> {
    /// Since 1970-01-01.
    pub days: i64,
    /// Nanoseconds of the day, up to and with 24:00.
    pub nanos: i64,
    /// What stands behind the time, if something does: `Z`, `+02`, `Europe/Brussels`.
    pub zone: Option<&'a str>,
}

impl Written<'_> {
    /// What the clock shows, as microseconds since 1970-01-01, rounded; `None` outside of the range.
    pub fn micros(&self) -> Option<i64> {
        let time = (self.nanos + 500).div_euclid(1000);
        finite(i128::from(self.days) * i128::from(MICROS_PER_DAY) + i128::from(time))
    }

    /// Whether microseconds hold it without rounding.
    fn is_exact(&self) -> bool {
        self.nanos % 1000 == 0
    }
}

/// A moment within the range.
fn finite(micros: i128) -> Option<i64> {
    i64::try_from(micros).ok().filter(|micros| !micros.is_endless())
}

/// Reads a date, and behind a blank or a `T` a time of that day and a zone: `2026-11-20`, `2026-11-20T23:15+01`,
/// `0044-03-15 12:00 BC`. A year before 1 may also have a minus; then there is a year 0.
pub fn read_moment(text: &str) -> Option<Written<'_>> {
    let (text, is_bc) = strip_era(text.trim());
    let Some((date, rest)) = text.split_once([' ', 'T', 't']) else {
        return Some(Written { days: read_date(text, is_bc)?, nanos: 0, zone: None });
    };
    let rest = rest.trim_start();
    // As DuckDB writes it, behind the day.
    let (rest, is_bc) = match rest.get(..4) {
        Some(era) if !is_bc && era.eq_ignore_ascii_case("(BC)") => (rest[4..].trim_start(), true),
        _ => (rest, is_bc),
    };
    let end = rest.find(|c: char| !c.is_ascii_digit() && c != ':' && c != '.').unwrap_or(rest.len());
    let (time, zone) = (&rest[..end], rest[end..].trim());
    let nanos = parse_time(time).filter(|nanos| (0..=NANOS_PER_DAY).contains(nanos))?;
    let days = read_date(date, is_bc)?;
    Some(Written { days, nanos, zone: (!zone.is_empty()).then_some(zone) })
}

/// The text without `BC` or `AD` at its end, and whether it was the former.
fn strip_era(text: &str) -> (&str, bool) {
    for (era, is_bc) in [("(BC)", true), ("BC", true), ("(AD)", false), ("AD", false)] {
        let Some(at) = text.len().checked_sub(era.len()).filter(|at| text.is_char_boundary(*at)) else {
            continue;
        };
        if text[at..].eq_ignore_ascii_case(era)
            && text[..at].ends_with(|c: char| c == ' ' || c.is_ascii_digit())
        {
            return (text[..at].trim_end(), is_bc);
        }
    }
    (text, false)
}

/// Seconds east of UTC: `Z`, `UTC`, `+02`, `-0330`, `+05:30:15`; `None` for what is no such thing, as a name.
pub fn read_offset(zone: &str) -> Option<i32> {
    if ["z", "utc", "gmt"].iter().any(|name| zone.eq_ignore_ascii_case(name)) {
        return Some(0);
    }
    let (sign, rest) = match zone.strip_prefix('+') {
        Some(rest) => (1, rest),
        None => (-1, zone.strip_prefix('-')?),
    };
    let parts: Vec<&str> = match rest.contains(':') {
        true => rest.split(':').collect(),
        false if rest.len() == 4 => vec![&rest.get(..2)?, rest.get(2..)?],
        false => vec![rest],
    };
    let [hours, others @ ..] = &parts[..] else { return None };
    let hours = digits(hours, 1..=2).filter(|hours| *hours < 16)?;
    let mut seconds = hours * 3600;
    for (part, unit) in others.iter().zip([60, 1]) {
        seconds += digits(part, 2..=2).filter(|part| *part < 60)? * unit;
    }
    (others.len() <= 2).then_some(sign * seconds as i32)
}

/// Reads a date as days since 1970-01-01: `2026-11-20`, `2026/11/20`, `-0043-03-15`, `0044-03-15 BC`, `infinity`.
pub fn parse_date(text: &str) -> Option<i64> {
    if let Some(days) = read_endless::<i32>(text) {
        return Some(days.into());
    }
    let (text, is_bc) = strip_era(text.trim());
    read_date(text, is_bc)
}

fn read_date(text: &str, is_bc: bool) -> Option<i64> {
    let (negative, rest) = strip_minus(text);
    if negative && is_bc {
        return None;
    }
    let separator = if rest.contains('/') { '/' } else { '-' };
    let mut parts = rest.split(separator);
    let year = digits(parts.next()?, 3..=7)? as i64;
    let month = digits(parts.next()?, 1..=2)? as u32;
    let day = digits(parts.next()?, 1..=2)? as u32;
    // There is no year 0 BC.
    let year = match (negative, is_bc) {
        (true, _) => -year,
        (_, true) if year == 0 => return None,
        (_, true) => 1 - year,
        _ => year,
    };
    match parts.next() {
        Some(_) => None,
        None => days_of(year, month, day).filter(|days| !i32::try_from(*days).is_ok_and(Endless::is_endless)),
    }
}

/// Reads `[-]H:MM[:SS[.fraction]]` as nanoseconds; the hour may be any, so that every value of the type
/// has a text.
pub fn parse_time(text: &str) -> Option<i64> {
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
    if let Some(moment) = read_endless(text) {
        return Some(moment);
    }
    let written = read_moment(text)?;
    let is_without_zone = written.zone.is_none_or(|zone| zone.eq_ignore_ascii_case("z"));
    (is_without_zone && written.is_exact()).then(|| written.micros()).flatten()
}

/// Reads what [`parse_timestamp`] reads, with an offset from UTC: without one, it is UTC.
pub(crate) fn parse_instant(text: &str) -> Option<i64> {
    if let Some(moment) = read_endless(text) {
        return Some(moment);
    }
    let written = read_moment(text)?;
    let offset = written.zone.map_or(Some(0), read_offset)?;
    let micros = i128::from(written.days) * i128::from(MICROS_PER_DAY) + i128::from(written.nanos / 1000);
    let instant = finite(micros - i128::from(offset) * 1_000_000);
    instant.filter(|_| written.is_exact())
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
        assert_eq!(parse_timestamp("1970-01-02 24:00:00"), Some(2 * MICROS_PER_DAY));
        assert_eq!(parse_timestamp("1970-01-02 24:00:01"), None);
        assert_eq!(parse_timestamp("1970-01-02 00:00:00.0000001"), None);
    }

    // Keeps away moments before our era, or with an offset, that are read as others.
    #[test]
    fn eras_and_offsets_are_read_and_written() {
        let shown = |micros: i64, offset: Option<i32>| {
            let mut text = String::new();
            write_timestamp(&mut text, micros, offset).map(|()| text).unwrap_or_default()
        };
        let ides = days_of(-43, 3, 15).map_or(0, |days| days * MICROS_PER_DAY);
        assert_eq!(shown(ides, None), "0044-03-15 00:00:00 BC");
        assert_eq!(shown(ides, Some(3600)), "0044-03-15 01:00:00+01 BC");
        assert_eq!(shown(0, Some(-12_600)), "1969-12-31 20:30:00-03:30");
        assert_eq!(shown(i64::MAX - 1, Some(50_400)), "294247-01-10 18:00:54.775806+14");
        for text in [
            "0044-03-15 BC",
            "0044-03-15 00:00 (BC)",
            "0044-03-15 (BC) 00:00",
            "-0043-03-15",
            "0044/03/15 bc",
        ] {
            assert_eq!(parse_timestamp(text), Some(ides), "{text}");
        }
        for text in ["0000-01-01 BC", "-0044-03-15 BC", "0044-03-15 00:00 XBC", "2024-01-01 10:00 +02"] {
            assert_eq!(parse_timestamp(text), None, "{text}");
        }
        for (text, hours) in
            [("2024-01-01 10:00+02", 8), ("2024-01-01T10:00Z", 10), ("2024-01-01 10:00 -0330", 13)]
        {
            let hour = parse_instant(text).map(|micros| micros.rem_euclid(MICROS_PER_DAY) / 3_600_000_000);
            assert_eq!(hour, Some(hours), "{text}");
        }
        assert_eq!(read_offset("+16"), None);
        assert_eq!(read_offset("+05:30:15"), Some(19_815));
    }
}
