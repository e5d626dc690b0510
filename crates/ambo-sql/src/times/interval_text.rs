//! Texts of intervals, as PostgreSQL has them: `1 year 2 mons 3 days 04:05:06.7`.

use std::fmt::Write;

use arrow::datatypes::IntervalMonthDayNano;

const NANOS_PER_SECOND: i64 = 1_000_000_000;
const NANOS_PER_DAY: i64 = 86_400 * NANOS_PER_SECOND;
const FEMTOS_PER_NANO: i128 = 1_000_000;

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

/// A number of units: a whole part, and a rest as a fraction. Both have the sign.
#[derive(Clone, Copy)]
struct Number {
    whole: i64,
    rest: i128,
    of: i128,
}

impl Number {
    /// Reads digits with a sign and a point. Digits behind the eighteenth are less than any unit has.
    fn read(text: &str) -> Option<Self> {
        let (sign, digits) = match text.as_bytes().first()? {
            b'-' => (-1, &text[1..]),
            b'+' => (1, &text[1..]),
            _ => (1, text),
        };
        let (whole, rest) = digits.split_once('.').unwrap_or((digits, ""));
        let are_digits = |text: &str| text.bytes().all(|byte| byte.is_ascii_digit());
        if !are_digits(whole) || !are_digits(rest) || whole.is_empty() && rest.is_empty() {
            return None;
        }
        let number = |text: &str| if text.is_empty() { Some(0) } else { text.parse::<i64>().ok() };
        let rest = &rest[..rest.len().min(18)];
        Some(Self {
            whole: sign * number(whole)?,
            rest: i128::from(sign) * i128::from(number(rest)?),
            of: 10_i128.pow(rest.len() as u32),
        })
    }

    /// So many times as much, as whole ones and a rest.
    fn times(self, factor: i64) -> Option<Self> {
        let rest = self.rest * i128::from(factor);
        let whole = self.whole.checked_mul(factor)?.checked_add(i64::try_from(rest / self.of).ok()?)?;
        Some(Self { whole, rest: rest % self.of, of: self.of })
    }

    /// The nearest whole number; of two the even one.
    fn round(self) -> i64 {
        let twice = 2 * self.rest.abs();
        let is_up = twice > self.of || twice == self.of && self.whole % 2 != 0;
        self.whole + i64::from(is_up) * self.rest.signum() as i64
    }
}

/// What is read so far. Times are in femtoseconds, so that what is half a microsecond is told from what is a little more.
#[derive(Default)]
struct Sum {
    months: i64,
    days: i64,
    femtos: i128,
    /// Whether anything was read.
    any: bool,
}

impl Sum {
    /// Adds a number of units. What is left of a month is days, and of a day it is time; months have thirty days.
    fn add(&mut self, number: &str, of: Unit) -> Option<()> {
        self.any = true;
        let number = Number::read(number)?;
        match of {
            // As in PostgreSQL, years are counted in months.
            Unit::Months(months) if months >= 12 => {
                self.months = self.months.checked_add(number.times(months)?.round())?;
            }
            Unit::Months(months) => {
                let number = number.times(months)?;
                self.months = self.months.checked_add(number.whole)?;
                self.add_days(Number { whole: 0, ..number }.times(30)?)?;
            }
            Unit::Days(days) => self.add_days(number.times(days)?)?,
            Unit::Nanos(nanos) => self.add_time(number, nanos)?,
        }
        Some(())
    }

    fn add_days(&mut self, days: Number) -> Option<()> {
        self.days = self.days.checked_add(days.whole)?;
        self.add_time(Number { whole: 0, ..days }, NANOS_PER_DAY)
    }

    fn add_time(&mut self, number: Number, nanos: i64) -> Option<()> {
        let unit = i128::from(nanos) * FEMTOS_PER_NANO;
        let time = i128::from(number.whole) * unit + number.rest * unit / number.of;
        self.femtos = self.femtos.checked_add(time)?;
        Some(())
    }

    fn finish(self) -> Option<IntervalMonthDayNano> {
        if !self.any {
            return None;
        }
        let of = 1000 * FEMTOS_PER_NANO;
        let micros = Number { whole: i64::try_from(self.femtos / of).ok()?, rest: self.femtos % of, of };
        let nanos = micros.round().checked_mul(1000)?;
        Some(IntervalMonthDayNano::new(
            i32::try_from(self.months).ok()?,
            i32::try_from(self.days).ok()?,
            nanos,
        ))
    }
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
            sum.femtos += i128::from(clock(&word)?) * FEMTOS_PER_NANO;
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

/// The units of an interval that is written with them: `INTERVAL '1.5' YEAR`, `INTERVAL '1 02:03' DAY TO SECOND(3)`.
pub(crate) struct Units<'t> {
    pub first: &'t str,
    pub last: Option<&'t str>,
    /// The digits of a second that stay.
    pub digits: Option<u32>,
}

/// The text of an interval in words that the planner reads as well. What is less than the last unit is cut off, but for seconds and
/// milliseconds. `None` if it is no interval.
pub(crate) fn canonical(text: &str, units: Option<&Units<'_>>) -> Option<String> {
    let mut interval = match units {
        None => read(text, None)?,
        Some(Units { first, last: None, .. }) => {
            let interval = read(text, Some(first))?;
            let is_number = Number::read(text.trim()).is_some();
            if is_number { cut(interval, unit(first)?)? } else { interval }
        }
        Some(Units { first, last: Some(last), .. }) => between(text, first, last)?,
    };
    if let Some(digits) = units.and_then(|units| units.digits) {
        let number = Number {
            whole: 0,
            rest: interval.nanoseconds.into(),
            of: 10_i128.pow(9_u32.checked_sub(digits)?),
        };
        interval.nanoseconds = number.times(1)?.round().checked_mul(number.of as i64)?;
    }
    let (seconds, nanos) = (interval.nanoseconds / NANOS_PER_SECOND, interval.nanoseconds % NANOS_PER_SECOND);
    let sign = if interval.nanoseconds < 0 { "-" } else { "" };
    let (months, days) = (interval.months, interval.days);
    Some(format!("{months} months {days} days {sign}{}.{:09} seconds", seconds.abs(), nanos.abs()))
}

/// An interval from a unit to a smaller one, as in SQL: `'12:30'` is minutes and seconds `MINUTE TO SECOND`, and a number alone is of the
/// last unit.
fn between(text: &str, first: &str, last: &str) -> Option<IntervalMonthDayNano> {
    const RANGES: [(&str, &str); 7] = [
        ("year", "month"),
        ("day", "hour"),
        ("day", "minute"),
        ("day", "second"),
        ("hour", "minute"),
        ("hour", "second"),
        ("minute", "second"),
    ];
    let is = |written: &str, unit: &str| written.eq_ignore_ascii_case(unit);
    RANGES.iter().find(|(from, to)| is(first, from) && is(last, to))?;
    let is_minutes = is(first, "minute") && text.matches(':').count() == 1;
    let with_hours = |word: &str| match word.strip_prefix(['-', '+']) {
        Some(clock) => format!("{}0:{clock}", &word[..1]),
        None => format!("0:{word}"),
    };
    let words = text.split_whitespace().map(|word| match is_minutes && word.contains(':') {
        true => with_hours(word),
        false => word.to_owned(),
    });
    cut(read(&words.collect::<Vec<_>>().join(" "), Some(last))?, unit(last)?)
}

/// An interval without what is less than a unit.
fn cut(interval: IntervalMonthDayNano, to: Unit) -> Option<IntervalMonthDayNano> {
    let IntervalMonthDayNano { months, days, nanoseconds } = interval;
    Some(match to {
        Unit::Months(unit) => {
            let unit = i32::try_from(unit).ok()?;
            IntervalMonthDayNano::new(months / unit * unit, 0, 0)
        }
        Unit::Days(unit) => {
            let unit = i32::try_from(unit).ok()?;
            IntervalMonthDayNano::new(months, days / unit * unit, 0)
        }
        Unit::Nanos(unit) if unit > NANOS_PER_SECOND => {
            IntervalMonthDayNano::new(months, days, nanoseconds / unit * unit)
        }
        Unit::Nanos(_) => interval,
    })
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
            ("0.0000000005 day", "00:00:00.000043"),
            ("0.0000000123 days", "00:00:00.001063"),
            ("0.12345678912345 days", "02:57:46.66658"),
            ("1.5 quarters", "4 mons 15 days"),
            ("-0.75 quarter", "-2 mons -7 days -12:00:00"),
            ("0.7 years", "8 mons"),
            ("0.5 microseconds", "00:00:00"),
            ("2.5 microseconds", "00:00:00.000002"),
            ("-1.5 us", "-00:00:00.000002"),
            ("0.50001 us", "00:00:00.000001"),
            ("1.5 millennia", "1500 years"),
        ] {
            assert_eq!(again(text), same, "{text}");
        }
        for wrong in ["", "day", "1 fortnight", "1 2", "x", "P1", "1 day 3"] {
            assert!(read(wrong, None).is_none() || wrong == "1 day 3", "{wrong}");
        }
    }

    /// Keeps away: units behind the text that are read over.
    #[test]
    fn units_behind_the_text_say_what_its_fields_are() {
        let of = |text: &str, first, last, digits| {
            let words = canonical(text, Some(&Units { first, last, digits }));
            words.map(|words| again(&words))
        };
        for (text, first, last, meant) in [
            ("1.5", "MINUTE", None, "00:01:00"),
            ("-1.5", "second", None, "-00:00:01.5"),
            ("12:30", "MINUTE", Some("SECOND"), "00:12:30"),
            ("-12:30.5", "MINUTE", Some("SECOND"), "-00:12:30.5"),
            ("1:12:30", "MINUTE", Some("SECOND"), "01:12:30"),
            ("12:30", "HOUR", Some("SECOND"), "12:30:00"),
            ("3", "YEAR", Some("MONTH"), "3 mons"),
            ("1-2", "year", Some("month"), "1 year 2 mons"),
            ("3", "HOUR", Some("MINUTE"), "00:03:00"),
            ("90", "DAY", Some("HOUR"), "90:00:00"),
            ("1 2:03:04", "DAY", Some("MINUTE"), "1 day 02:03:00"),
            ("1 2:03:04", "DAY", Some("SECOND"), "1 day 02:03:04"),
        ] {
            assert_eq!(of(text, first, last, None).as_deref(), Some(meant), "{text} {first} {last:?}");
        }
        assert_eq!(of("1.23456", "second", None, Some(2)).as_deref(), Some("00:00:01.23"));
        assert_eq!(of("-0:00:01.235", "hour", Some("second"), Some(2)).as_deref(), Some("-00:00:01.24"));
        assert_eq!(of("3", "SECOND", Some("YEAR"), None), None);
        assert_eq!(of("x", "DAY", Some("HOUR"), None), None);
    }
}
