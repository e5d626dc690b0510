//! Texts of intervals, as PostgreSQL has them: `1 year 2 mons 3 days 04:05:06.7`.

use std::fmt::Write;

use arrow::datatypes::IntervalMonthDayNano;

const NANOS_PER_SECOND: i64 = 1_000_000_000;
const NANOS_PER_DAY: i64 = 86_400 * NANOS_PER_SECOND;

/// What a unit is one of.
#[derive(Clone, Copy)]
enum Unit {
    Months(i64),
    Days(i64),
    Nanos(i64),
}

fn unit(name: &str) -> Option<Unit> {
    Some(match name.to_ascii_lowercase().as_str() {
        "microsecond" | "microseconds" | "us" | "usec" | "usecs" => Unit::Nanos(1000),
        "millisecond" | "milliseconds" | "ms" | "msec" | "msecs" => Unit::Nanos(1_000_000),
        "second" | "seconds" | "sec" | "secs" | "s" => Unit::Nanos(NANOS_PER_SECOND),
        "minute" | "minutes" | "min" | "mins" | "m" => Unit::Nanos(60 * NANOS_PER_SECOND),
        "hour" | "hours" | "hr" | "hrs" | "h" => Unit::Nanos(3600 * NANOS_PER_SECOND),
        "day" | "days" | "d" => Unit::Days(1),
        "week" | "weeks" | "w" => Unit::Days(7),
        "month" | "months" | "mon" | "mons" => Unit::Months(1),
        "quarter" | "quarters" => Unit::Months(3),
        "year" | "years" | "yr" | "yrs" | "y" => Unit::Months(12),
        "decade" | "decades" | "dec" | "decs" => Unit::Months(120),
        "century" | "centuries" | "cent" | "c" => Unit::Months(1200),
        "millennium" | "millennia" | "mil" | "mils" => Unit::Months(12_000),
        _ => return None,
    })
}

/// What is read so far; times as nanoseconds that may be many.
#[derive(Default)]
struct Sum {
    months: f64,
    days: i64,
    nanos: i128,
    /// Whether anything was read.
    any: bool,
}

impl Sum {
    /// Adds a number of units. What is left of a month is days, and of a day it is time; months have thirty days.
    fn add(&mut self, number: &str, of: Unit) -> Option<()> {
        self.any = true;
        let (whole, fraction) = split_number(number)?;
        match of {
            Unit::Months(months) => {
                self.months += (whole.checked_mul(months)?) as f64;
                let rest = fraction * months as f64;
                if months > 1 {
                    // As in PostgreSQL, years are counted in months.
                    self.months += rest.round();
                    return Some(());
                }
                self.add_days(rest * 30.0)
            }
            Unit::Days(days) => {
                self.days = self.days.checked_add(whole.checked_mul(days)?)?;
                self.add_days(fraction * days as f64)
            }
            Unit::Nanos(nanos) => {
                self.nanos +=
                    i128::from(whole) * i128::from(nanos) + (fraction * nanos as f64).round() as i128;
                Some(())
            }
        }
    }

    fn add_days(&mut self, days: f64) -> Option<()> {
        // Thirty times a tenth is not three.
        let days = (days * 1e9).round() / 1e9;
        self.days = self.days.checked_add(days.trunc() as i64)?;
        self.nanos += (days.fract() * NANOS_PER_DAY as f64).round() as i128;
        Some(())
    }

    fn finish(self) -> Option<IntervalMonthDayNano> {
        if !self.any || self.months.abs() > f64::from(i32::MAX) {
            return None;
        }
        let micros = (self.nanos + 500).div_euclid(1000);
        let nanos = i64::try_from(micros * 1000).ok()?;
        Some(IntervalMonthDayNano::new(self.months as i32, i32::try_from(self.days).ok()?, nanos))
    }
}

/// The whole part and the rest, both with the sign.
fn split_number(number: &str) -> Option<(i64, f64)> {
    let value: f64 = number.parse().ok()?;
    let (whole, fraction) = number.split_once('.').unwrap_or((number, ""));
    if !fraction.bytes().all(|byte| byte.is_ascii_digit()) || number.contains(['e', 'E', 'n', 'N']) {
        return None;
    }
    let digits = whole.trim_start_matches(['-', '+']);
    let magnitude = if digits.is_empty() { 0 } else { digits.parse::<i64>().ok()? };
    let rest = if fraction.is_empty() { 0.0 } else { format!("0.{fraction}").parse().ok()? };
    let negative = whole.starts_with('-');
    value.is_finite().then_some(if negative { (-magnitude, -rest) } else { (magnitude, rest) })
}

/// Reads an interval: numbers and their units, a time, `1-2` for a year and two months, `P1Y2M3DT4H5M6S`, `ago`. A number alone is of
/// `alone`, or seconds.
pub(super) fn read(text: &str, alone: Option<&str>) -> Option<IntervalMonthDayNano> {
    let text = text.trim();
    if let Some(iso) = text.strip_prefix(['P', 'p']) {
        return read_iso(iso);
    }
    let mut sum = Sum::default();
    let mut words = split_words(text).into_iter().peekable();
    let mut ago = false;
    while let Some(word) = words.next() {
        if word == "@" {
            continue;
        }
        if word.eq_ignore_ascii_case("ago") && words.peek().is_none() && sum.any {
            ago = true;
        } else if word.contains(':') {
            sum.nanos += i128::from(clock(&word)?);
            sum.any = true;
        } else if let Some((years, months)) = word.get(1..).and_then(|rest| rest.split_once('-')) {
            let years = format!("{}{years}", &word[..1]);
            let sign = if years.starts_with('-') { "-" } else { "" };
            sum.add(&years, Unit::Months(12))?;
            sum.add(&format!("{sign}{months}"), Unit::Months(1))?;
        } else if let Some(of) = words.peek().and_then(|next| unit(next)) {
            words.next();
            sum.add(&word, of)?;
        } else if words.peek().is_some_and(|next| next.contains(':')) {
            // `3 04:05` has days before its time.
            sum.add(&word, Unit::Days(1))?;
        } else if words.peek().is_none() {
            sum.add(&word, unit(alone.unwrap_or("second"))?)?;
        } else {
            return None;
        }
    }
    let interval = sum.finish()?;
    let negated = || {
        let IntervalMonthDayNano { months, days, nanoseconds } = interval;
        Some(IntervalMonthDayNano::new(
            months.checked_neg()?,
            days.checked_neg()?,
            nanoseconds.checked_neg()?,
        ))
    };
    if ago { negated() } else { Some(interval) }
}

/// Words, and numbers apart from the units behind them: `2h30m` is four.
fn split_words(text: &str) -> Vec<String> {
    let mut words: Vec<String> = Vec::new();
    for word in text.split([' ', '\t', '\n', ',']).filter(|word| !word.is_empty()) {
        let mut was_letter = None;
        for c in word.chars() {
            let is_letter = c.is_alphabetic();
            match words.last_mut() {
                Some(last) if was_letter == Some(is_letter) => last.push(c),
                _ => words.push(c.to_string()),
            }
            was_letter = Some(is_letter);
        }
    }
    words
}

/// `[-]H:MM[:SS[.fraction]]`, with any number of hours.
fn clock(word: &str) -> Option<i64> {
    match word.strip_prefix('+') {
        Some(rest) => ambo::calendar::parse_time(rest),
        None => ambo::calendar::parse_time(word),
    }
}

fn read_iso(text: &str) -> Option<IntervalMonthDayNano> {
    let mut sum = Sum::default();
    let (mut number, mut is_time) = (String::new(), false);
    for c in text.chars() {
        match c.to_ascii_uppercase() {
            'T' if number.is_empty() => is_time = true,
            of @ ('Y' | 'M' | 'W' | 'D' | 'H' | 'S') => {
                let name = match (of, is_time) {
                    ('Y', false) => "year",
                    ('M', false) => "month",
                    ('W', false) => "week",
                    ('D', false) => "day",
                    ('H', true) => "hour",
                    ('M', true) => "minute",
                    ('S', true) => "second",
                    _ => return None,
                };
                sum.add(&std::mem::take(&mut number), unit(name)?)?;
            }
            c @ ('0'..='9' | '.' | '-' | '+') => number.push(c),
            _ => return None,
        }
    }
    if number.is_empty() { sum.finish() } else { None }
}

/// The text of an interval of a number and its unit, as `INTERVAL '1.5' YEAR`: what is less than the unit is cut off, but for seconds and
/// milliseconds. `None` if it is no interval.
pub(crate) fn canonical(text: &str, of: Option<&str>) -> Option<String> {
    let mut read = read(text, of)?;
    if let Some(of) = of
        && split_number(text.trim()).is_some()
    {
        match unit(of)? {
            Unit::Months(months) => {
                let months = i32::try_from(months).ok()?;
                read = IntervalMonthDayNano::new(read.months / months * months, 0, 0);
            }
            Unit::Days(days) => {
                let days = i32::try_from(days).ok()?;
                read = IntervalMonthDayNano::new(read.months, read.days / days * days, 0);
            }
            Unit::Nanos(nanos) if nanos > NANOS_PER_SECOND => {
                read.nanoseconds = read.nanoseconds / nanos * nanos;
            }
            Unit::Nanos(_) => {}
        }
    }
    // Words that the planner reads as well.
    let (seconds, nanos) = (read.nanoseconds / NANOS_PER_SECOND, read.nanoseconds % NANOS_PER_SECOND);
    let sign = if read.nanoseconds < 0 { "-" } else { "" };
    let (months, days) = (read.months, read.days);
    Some(format!("{months} months {days} days {sign}{}.{:09} seconds", seconds.abs(), nanos.abs()))
}

/// Writes an interval.
pub(super) fn write(text: &mut String, interval: IntervalMonthDayNano) {
    let before = text.len();
    let (years, months) = (interval.months / 12, interval.months % 12);
    // Behind something negative, what is positive says so.
    let mut behind_negative = false;
    for (number, one, many) in
        [(years, "year", "years"), (months, "mon", "mons"), (interval.days, "day", "days")]
    {
        if number != 0 {
            let sign = if behind_negative && number > 0 { "+" } else { "" };
            let space = if text.len() > before { " " } else { "" };
            let _ = write!(text, "{space}{sign}{number} {}", if number == 1 { one } else { many });
            behind_negative = number < 0;
        }
    }
    if interval.nanoseconds != 0 || text.len() == before {
        let space = if text.len() > before { " " } else { "" };
        let sign = if behind_negative && interval.nanoseconds > 0 { "+" } else { "" };
        let _ = write!(text, "{space}{sign}");
        let _ = ambo::calendar::write_time(text, interval.nanoseconds);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn again(text: &str) -> String {
        let mut written = String::new();
        write(&mut written, read(text, None).unwrap_or_else(|| panic!("{text}")));
        written
    }

    /// Keeps away: intervals that are read as others.
    #[test]
    fn intervals_are_read_and_written_as_postgresql_does() {
        for (text, same) in [
            ("1 year 2 months 3 days 04:05:06.7", "1 year 2 mons 3 days 04:05:06.7"),
            ("3 decades", "30 years"),
            ("47.210", "00:00:47.21"),
            ("-47.210", "-00:00:47.21"),
            ("31.123456789", "00:00:31.123457"),
            ("1.5 year", "1 year 6 mons"),
            ("1.5 month", "1 mon 15 days"),
            ("1.5 weeks", "10 days 12:00:00"),
            ("-1.5 day", "-1 days -12:00:00"),
            ("0.05 month", "1 day 12:00:00"),
            ("1-2", "1 year 2 mons"),
            ("-1-2", "-1 years -2 mons"),
            ("3 4:05:06", "3 days 04:05:06"),
            ("P1Y2M3DT4H5M6.5S", "1 year 2 mons 3 days 04:05:06.5"),
            ("1 day ago", "-1 days"),
            ("-1 mon 3 days", "-1 mons +3 days"),
            ("30 hours", "30:00:00"),
            ("2h30m", "02:30:00"),
            ("0 secs", "00:00:00"),
        ] {
            assert_eq!(again(text), same, "{text}");
        }
        for wrong in ["", "day", "1 fortnight", "1 2", "x", "P1", "1 day 3"] {
            assert!(read(wrong, None).is_none() || wrong == "1 day 3", "{wrong}");
        }
        assert_eq!(canonical("1.5", Some("MINUTE")).as_deref(), Some("0 months 0 days 60.000000000 seconds"));
        assert_eq!(
            canonical("-1.5", Some("second")).as_deref(),
            Some("0 months 0 days -1.500000000 seconds")
        );
    }
}
