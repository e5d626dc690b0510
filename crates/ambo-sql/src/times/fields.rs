//! Years, months, days … of what a clock shows, and its beginning of an hour, a week, a century.

use ambo::calendar::{date_of, days_of};

use super::{DAY, SECOND};

/// What is asked of a moment.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Unit {
    Microsecond,
    Millisecond,
    Second,
    Minute,
    Hour,
    Day,
    Week,
    Month,
    Quarter,
    Year,
    /// Of weeks: from Monday of the week that has the first Thursday of January.
    IsoYear,
    Decade,
    Century,
    Millennium,
}

impl Unit {
    pub(crate) fn named(name: &str) -> Option<Self> {
        Some(match name.trim().to_ascii_lowercase().as_str() {
            "microsecond" | "microseconds" | "us" | "usec" | "usecs" => Self::Microsecond,
            "millisecond" | "milliseconds" | "ms" | "msec" | "msecs" => Self::Millisecond,
            "second" | "seconds" | "sec" | "secs" | "s" => Self::Second,
            "minute" | "minutes" | "min" | "mins" | "m" => Self::Minute,
            "hour" | "hours" | "hr" | "hrs" | "h" => Self::Hour,
            "day" | "days" | "d" | "dayofmonth" => Self::Day,
            "week" | "weeks" | "w" | "weekofyear" | "yearweek" => Self::Week,
            "month" | "months" | "mon" | "mons" => Self::Month,
            "quarter" | "quarters" | "qtr" => Self::Quarter,
            "year" | "years" | "yr" | "yrs" | "y" => Self::Year,
            "decade" | "decades" => Self::Decade,
            "century" | "centuries" => Self::Century,
            "millennium" | "millennia" => Self::Millennium,
            _ => return None,
        })
    }

    /// Its length, if that is the same at all times.
    fn length(self) -> Option<i64> {
        Some(match self {
            Self::Microsecond => 1,
            Self::Millisecond => 1000,
            Self::Second => SECOND,
            Self::Minute => 60 * SECOND,
            Self::Hour => 3600 * SECOND,
            Self::Day => DAY,
            _ => return None,
        })
    }

    /// Whether it is shorter than a day: then it begins where it does, whatever clocks are put forward or back.
    pub(super) fn is_short(self) -> bool {
        self.length().is_some_and(|length| length < DAY)
    }

    /// The beginning of the one that a moment is in; `None` if it is before the range.
    pub(super) fn begin(self, moment: i64) -> Option<i64> {
        if let Some(length) = self.length() {
            return moment.div_euclid(length).checked_mul(length);
        }
        let days = moment.div_euclid(DAY);
        if self == Self::Week {
            return (days - weekday(days)).checked_mul(DAY);
        }
        if self == Self::IsoYear {
            let thursday = days - weekday(days) + 3;
            let fourth = days_of(date_of(thursday).0, 1, 4)?;
            return (fourth - weekday(fourth)).checked_mul(DAY);
        }
        let (year, month, _) = date_of(days);
        let (year, month) = match self {
            Self::Month => (year, month),
            Self::Quarter => (year, (month - 1) / 3 * 3 + 1),
            Self::Decade => (year.div_euclid(10) * 10, 1),
            Self::Century => ((year - 1).div_euclid(100) * 100 + 1, 1),
            Self::Millennium => ((year - 1).div_euclid(1000) * 1000 + 1, 1),
            _ => (year, 1),
        };
        days_of(year, month, 1)?.checked_mul(DAY)
    }
}

/// Days since Monday.
fn weekday(days: i64) -> i64 {
    (days + 3).rem_euclid(7)
}

/// What `date_part` gives.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) enum Part {
    Of(Unit),
    Nanosecond,
    Dow,
    IsoDow,
    Doy,
    IsoYear,
    YearWeek,
    Era,
    Epoch,
    Julian,
    Zone,
    ZoneHour,
    ZoneMinute,
}

impl Part {
    pub(super) fn named(name: &str) -> Option<Self> {
        if name.trim().eq_ignore_ascii_case("yearweek") {
            return Some(Self::YearWeek);
        }
        if let Some(unit) = Unit::named(name) {
            return Some(Self::Of(unit));
        }
        Some(match name.trim().to_ascii_lowercase().as_str() {
            "nanosecond" | "nanoseconds" | "ns" | "nsec" => Self::Nanosecond,
            "dow" | "dayofweek" | "weekday" => Self::Dow,
            "isodow" => Self::IsoDow,
            "doy" | "dayofyear" => Self::Doy,
            "isoyear" => Self::IsoYear,
            "era" => Self::Era,
            "epoch" => Self::Epoch,
            "julian" => Self::Julian,
            "timezone" => Self::Zone,
            "timezone_hour" => Self::ZoneHour,
            "timezone_minute" => Self::ZoneMinute,
            _ => return None,
        })
    }

    /// Whether it is of a time of day alone.
    pub(super) fn is_of_time(self) -> bool {
        match self {
            Self::Of(unit) => unit.is_short(),
            part => matches!(part, Self::Nanosecond | Self::Epoch),
        }
    }

    /// Of what a clock shows that is so many seconds before UTC.
    pub(super) fn of(self, moment: i64, offset: i32) -> i64 {
        let (days, time) = (moment.div_euclid(DAY), moment.rem_euclid(DAY));
        match self {
            Self::Of(unit) if unit.is_short() => time_part(unit, time),
            Self::Of(unit) => date_unit(unit, days),
            Self::Nanosecond => time % (60 * SECOND) * 1000,
            Self::Dow => (weekday(days) + 1) % 7,
            Self::IsoDow => weekday(days) + 1,
            Self::Doy => days - days_of(date_of(days).0, 1, 1).unwrap_or(days) + 1,
            Self::IsoYear => iso_week(days).0,
            Self::YearWeek => {
                let (year, week) = iso_week(days);
                if year < 0 { year * 100 - week } else { year * 100 + week }
            }
            Self::Era => i64::from(date_of(days).0 > 0),
            Self::Zone => offset.into(),
            Self::ZoneHour => (offset / 3600).into(),
            Self::ZoneMinute => (offset / 60 % 60).into(),
            Self::Epoch | Self::Julian => 0,
        }
    }

    /// The same of a part with a fraction.
    pub(super) fn fraction_of(self, moment: i64, offset: i32) -> f64 {
        match self {
            Self::Epoch => moment as f64 / SECOND as f64 - f64::from(offset),
            Self::Julian => {
                moment.div_euclid(DAY) as f64 + 2_440_588.0 + moment.rem_euclid(DAY) as f64 / DAY as f64
            }
            part => part.of(moment, offset) as f64,
        }
    }

    pub(super) fn has_fraction(self) -> bool {
        matches!(self, Self::Epoch | Self::Julian)
    }
}

/// Of microseconds of a day.
fn time_part(unit: Unit, time: i64) -> i64 {
    match unit {
        Unit::Hour => time / (3600 * SECOND),
        Unit::Minute => time / (60 * SECOND) % 60,
        Unit::Second => time / SECOND % 60,
        Unit::Millisecond => time % (60 * SECOND) / 1000,
        _ => time % (60 * SECOND),
    }
}

fn date_unit(unit: Unit, days: i64) -> i64 {
    let (year, month, day) = date_of(days);
    // There is no year 0 for those who count years BC.
    let counted = |length: i64| match year > 0 {
        true => (year - 1) / length + 1,
        false => -((-year) / length + 1),
    };
    match unit {
        Unit::Day => day.into(),
        Unit::Week => iso_week(days).1,
        Unit::Month => month.into(),
        Unit::Quarter => i64::from((month - 1) / 3 + 1),
        Unit::Decade => year.div_euclid(10),
        Unit::Century => counted(100),
        Unit::Millennium => counted(1000),
        _ => shown_year(year),
    }
}

/// The year as PostgreSQL counts: the one before 1 is -1.
fn shown_year(year: i64) -> i64 {
    if year < 1 { year - 1 } else { year }
}

/// The year that a week of ISO 8601 is of, and its number there.
fn iso_week(days: i64) -> (i64, i64) {
    // Its Thursday says which year it is of.
    let thursday = days - weekday(days) + 3;
    let year = date_of(thursday).0;
    let begin = days_of(year, 1, 1).unwrap_or(thursday);
    (shown_year(year), (thursday - begin) / 7 + 1)
}

/// How often a unit begins up to what a clock shows, from any fixed moment on.
pub(crate) fn units_begun(unit: Unit, moment: i64) -> i64 {
    let days = moment.div_euclid(DAY);
    let (year, month, _) = date_of(days);
    match (unit, unit.length()) {
        (_, Some(length)) => moment.div_euclid(length),
        (Unit::Week, _) => (days + 3).div_euclid(7),
        (Unit::Month, _) => year * 12 + i64::from(month),
        (Unit::Quarter, _) => year * 4 + i64::from((month - 1) / 3),
        (Unit::IsoYear, _) => iso_week(days).0,
        (Unit::Decade, _) => year.div_euclid(10),
        (Unit::Century, _) => (year - 1).div_euclid(100),
        (Unit::Millennium, _) => (year - 1).div_euclid(1000),
        _ => year,
    }
}

/// How many whole units lie between two moments. A month is whole on the same day of the next one, or on its last if that is earlier.
pub(crate) fn units_between(unit: Unit, from: i64, to: i64) -> Option<i64> {
    if from > to {
        return Some(-units_between(unit, to, from)?);
    }
    if let Some(length) = unit.length() {
        return to.checked_sub(from).map(|between| between / length);
    }
    let months = match unit {
        Unit::Week => return to.checked_sub(from).map(|between| between / (7 * DAY)),
        Unit::Month => 1,
        Unit::Quarter => 3,
        Unit::Decade => 120,
        Unit::Century => 1200,
        Unit::Millennium => 12_000,
        _ => 12,
    };
    let [(from_year, from_month, from_day), (year, month, day)] =
        [from, to].map(|moment| date_of(moment.div_euclid(DAY)));
    let is_last_day = date_of(to.div_euclid(DAY) + 1).1 != month;
    let from_day = if is_last_day { from_day.min(day) } else { from_day };
    let is_before = (day, to.rem_euclid(DAY)) < (from_day, from.rem_euclid(DAY));
    let between = (year - from_year) * 12 + i64::from(month) - i64::from(from_month) - i64::from(is_before);
    Some(between / months)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(year: i64, month: u32, day: u32) -> i64 {
        days_of(year, month, day).unwrap() * DAY
    }

    /// Keeps away: months that are not whole, and those that end on the last day of a shorter one.
    #[test]
    fn whole_units_are_counted() {
        let months = |from, to| units_between(Unit::Month, from, to);
        assert_eq!(months(at(2024, 1, 31), at(2024, 2, 29)), Some(1));
        assert_eq!(months(at(2024, 1, 31), at(2024, 2, 28)), Some(0));
        assert_eq!(months(at(2024, 1, 15) + 1, at(2024, 3, 15)), Some(1));
        assert_eq!(months(at(2024, 3, 15), at(2024, 1, 15) + 1), Some(-1));
        assert_eq!(units_between(Unit::Year, at(2020, 2, 29), at(2024, 2, 28)), Some(3));
        assert_eq!(units_between(Unit::Hour, 0, 2 * DAY - 1), Some(47));
        assert_eq!(units_between(Unit::Day, i64::MIN + 1, i64::MAX - 1), None);
    }

    /// Keeps away: fields of weeks and years that are others where a year ends or our era begins.
    #[test]
    fn fields_are_those_of_postgresql() {
        let part = |name: &str, moment| Part::named(name).unwrap().of(moment, 0);
        assert_eq!(part("week", at(2021, 1, 3)), 53);
        assert_eq!(part("isoyear", at(2021, 1, 3)), 2020);
        assert_eq!(part("dow", at(2024, 9, 1)), 0);
        assert_eq!(part("isodow", at(2024, 9, 1)), 7);
        assert_eq!(part("doy", at(2024, 12, 31)), 366);
        assert_eq!(part("century", at(2000, 12, 31)), 20);
        assert_eq!(part("century", at(2001, 1, 1)), 21);
        assert_eq!(part("century", at(0, 1, 1)), -1);
        assert_eq!(part("year", at(-43, 3, 15)), -44);
        assert_eq!(part("millennium", at(2001, 1, 1)), 3);
        assert_eq!(Part::Julian.fraction_of(at(2022, 1, 1) + DAY / 2, 0), 2_459_581.5);
        let begin = |name: &str, moment| Unit::named(name).unwrap().begin(moment);
        assert_eq!(begin("week", at(2020, 1, 1) + 1), Some(at(2019, 12, 30)));
        assert_eq!(begin("century", at(2000, 5, 5)), Some(at(1901, 1, 1)));
        assert_eq!(begin("decade", at(-1, 5, 5)), Some(at(-10, 1, 1)));
        assert_eq!(begin("quarter", at(2024, 6, 30)), Some(at(2024, 4, 1)));
        assert_eq!(begin("year", i64::MIN), None);
        assert_eq!(begin("hour", -1), Some(-3600 * SECOND));
    }
}
