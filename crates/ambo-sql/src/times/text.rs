//! Texts of dates, times and moments.

use std::sync::LazyLock;

use ambo::calendar::{
    Endless, MICROS_PER_DAY, Written, parse_time, read_endless, read_moment, read_offset, write_timestamp,
};

use regex::Regex;

use super::{SECOND, Zone};

const NANOS_PER_DAY: i64 = MICROS_PER_DAY * 1000;

/// A text in which hours, minutes and seconds have two digits, if it is another one: `1:2:3` is `01:02:03`.
fn padded(text: &str) -> Option<String> {
    static CLOCK: LazyLock<Option<Regex>> =
        LazyLock::new(|| Regex::new(r"(^|[ Tt])(\d{1,2}):(\d{1,2})(?::(\d{1,2}))?").ok());
    let found = CLOCK.as_ref()?.captures(text)?;
    let clock = found.get(0)?;
    let fields = (2..5).filter_map(|nth| found.get(nth)).map(|field| format!("{:0>2}", field.as_str()));
    let fields = fields.collect::<Vec<_>>().join(":");
    let made = format!("{}{}{fields}{}", &text[..clock.start()], &found[1], &text[clock.end()..]);
    (made != text).then_some(made)
}

/// The moment that a text means where clocks are those of a zone, unless the text has another.
pub(super) fn instant(text: &str, zone: Zone) -> Option<i64> {
    instant_as_written(text, zone).or_else(|| instant_as_written(&padded(text)?, zone))
}

fn instant_as_written(text: &str, zone: Zone) -> Option<i64> {
    if let Some(moment) = read_endless(text) {
        return Some(moment);
    }
    let written = read(text)?;
    let local = written.micros()?;
    match written.zone {
        None => zone.instant(local),
        Some(name) => match read_offset(name) {
            // The range ends in UTC, not where the clock hangs.
            Some(offset) => {
                let local = i128::from(local) - i128::from(offset) * i128::from(SECOND);
                i64::try_from(local).ok().filter(|moment| !moment.is_endless())
            }
            None => Zone::find(name)?.instant(local),
        },
    }
}

/// What the clock shows that a text means. A zone in it says nothing.
pub(super) fn moment(text: &str) -> Option<i64> {
    moment_as_written(text).or_else(|| moment_as_written(&padded(text)?))
}

fn moment_as_written(text: &str) -> Option<i64> {
    if let Some(moment) = read_endless(text) {
        return Some(moment);
    }
    let written = read(text)?;
    has_known_zone(&written).then(|| written.micros()).flatten()
}

/// The day that a text means.
pub(super) fn date(text: &str) -> Option<i32> {
    date_as_written(text).or_else(|| date_as_written(&padded(text)?))
}

fn date_as_written(text: &str) -> Option<i32> {
    if let Some(day) = read_endless(text) {
        return Some(day);
    }
    let written = read(text)?;
    has_known_zone(&written).then(|| i32::try_from(written.days).ok()).flatten()
}

/// Nanoseconds of the day, rounded to microseconds; of a moment its time.
pub(super) fn time(text: &str) -> Option<i64> {
    let text = text.trim();
    time_as_written(text).or_else(|| time_as_written(&padded(text)?))
}

fn time_as_written(text: &str) -> Option<i64> {
    let nanos = match parse_time(text) {
        Some(nanos) => nanos,
        None => {
            let written = read(text)?;
            has_known_zone(&written).then_some(written.nanos)?
        }
    };
    let rounded = (nanos + 500).div_euclid(1000) * 1000;
    (0..=NANOS_PER_DAY).contains(&rounded).then_some(rounded)
}

/// What a clock shows at a moment, and how far it is from UTC there.
pub(super) fn write_instant(text: &mut String, instant: i64, zone: Zone) {
    let _ = write_timestamp(text, instant, Some(zone.offset(instant)));
}

fn has_known_zone(written: &Written<'_>) -> bool {
    written.zone.is_none_or(|name| Zone::find(name).is_some())
}

/// Reads `2024-02-29`, `20240229` and `epoch` as well as what others read.
fn read(text: &str) -> Option<Written<'_>> {
    let text = text.trim();
    if text.eq_ignore_ascii_case("epoch") {
        return Some(Written { days: 0, nanos: 0, zone: None });
    }
    if text.len() == 8 && text.bytes().all(|byte| byte.is_ascii_digit()) {
        let days = ambo::calendar::parse_date(&format!("{}-{}-{}", &text[..4], &text[4..6], &text[6..]))?;
        return Some(Written { days, nanos: 0, zone: None });
    }
    read_moment(text)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Keeps away: texts that are read as another moment, or not at all.
    #[test]
    fn texts_are_read_as_postgresql_reads_them() {
        let hour = 3_600 * SECOND;
        let brussels = Zone::find("Europe/Brussels").unwrap();
        assert_eq!(moment("1970-01-01 02:00:00+07"), Some(2 * hour));
        assert_eq!(instant("1970-01-01 02:00:00+07", brussels), Some(-5 * hour));
        assert_eq!(instant("1970-01-01 02:00:00", brussels), Some(hour));
        assert_eq!(instant("1970-01-01 02:00:00 America/New_York", brussels), Some(7 * hour));
        assert_eq!(instant("1970-01-01 02:00:00 EST", brussels), Some(7 * hour));
        assert_eq!(moment("19700102"), Some(24 * hour));
        assert_eq!(moment("1970-01-01 00:00:00.0000005"), Some(1));
        assert_eq!(date("1970-01-02 10:00"), Some(1));
        assert_eq!(time("11"), None);
        assert_eq!(time("1:2:3"), time("01:02:03"));
        assert_eq!(moment("1970-01-01 1:2:3.5+02"), moment("1970-01-01 01:02:03.5+02"));
        assert_eq!(time("1:2:3:4"), None);
        assert_eq!(time("24:00"), Some(NANOS_PER_DAY));
        assert_eq!(time("1970-01-01 11:00"), Some(11 * hour * 1000));
        for wrong in ["", "1970-02-30", "1970-01-01 25:00", "1970-01-01 Nowhere", "1970-01-01 10:00 Nowhere"]
        {
            assert_eq!(moment(wrong), None, "{wrong}");
        }
    }
}
