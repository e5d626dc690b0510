//! Time zones: of the IANA database, or so many seconds from UTC.
//!
//! What clocks show that were put forward or back meanwhile follows PostgreSQL: an hour that does not exist is taken with the offset
//! before, so that it is an hour later; of one that exists twice it is the second.

use std::{
    collections::BTreeMap,
    sync::{LazyLock, Mutex, PoisonError},
};

use jiff::{
    Timestamp,
    tz::{TimeZone, TimeZoneDatabase},
};

use ambo::calendar::{Endless, date_of, days_of, read_offset};

use super::{DAY, SECOND};

/// A time zone.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Zone {
    /// Seconds east of UTC.
    Fixed(i32),
    Named(&'static Named),
}

/// A zone of the database, with its name there.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Named {
    name: String,
    zone: TimeZone,
}

/// The zone of a name, in any case. Those that were asked for are kept for good: there are some 600.
fn named(name: &str) -> Option<&'static Named> {
    // The one in the program, so that statements mean the same on every machine.
    static DATABASE: LazyLock<TimeZoneDatabase> = LazyLock::new(TimeZoneDatabase::bundled);
    static KNOWN: Mutex<BTreeMap<String, &'static Named>> = Mutex::new(BTreeMap::new());
    let mut known = KNOWN.lock().unwrap_or_else(PoisonError::into_inner);
    let key = name.to_ascii_lowercase();
    if let Some(named) = known.get(&key) {
        return Some(named);
    }
    let zone = DATABASE.get(name).ok()?;
    let name = zone.iana_name().unwrap_or(name).to_owned();
    let named: &'static Named = Box::leak(Box::new(Named { name, zone }));
    known.insert(key, named);
    Some(named)
}

/// Abbreviations that are no names in the database.
const ABBREVIATIONS: [(&str, i32); 13] = [
    ("ADT", -3),
    ("AST", -4),
    ("EDT", -4),
    ("CST", -6),
    ("CDT", -5),
    ("MDT", -6),
    ("PST", -8),
    ("PDT", -7),
    ("CEST", 2),
    ("EEST", 3),
    ("WEST", 1),
    ("BST", 1),
    ("JST", 9),
];

/// The last year that is computed; clocks of later years are put forward and back as in one before with the same days of the week.
const LAST_YEAR: i64 = 9998;

const SECONDS_OF_DAY: i64 = 24 * 60 * 60;

impl Zone {
    pub(crate) const UTC: Self = Self::Fixed(0);

    /// The zone of a name, in any case, or of an offset as in `+02`, `-03:30` or `UTC+2`, which is east of UTC.
    pub(crate) fn find(name: &str) -> Option<Self> {
        let name = name.trim();
        if let Some(offset) = read_offset(name).or_else(|| beside_utc(name)) {
            return Some(Self::Fixed(offset));
        }
        if let Some(zone) = named(name) {
            return Some(Self::Named(zone));
        }
        let short = ABBREVIATIONS.iter().find(|(short, _)| short.eq_ignore_ascii_case(name));
        short.map(|(_, hours)| Self::Fixed(hours * 3600))
    }

    /// Its name, by which it is found again.
    pub(crate) fn name(self) -> String {
        match self {
            Self::Named(named) => named.name.clone(),
            Self::Fixed(0) => "UTC".to_owned(),
            Self::Fixed(offset) => {
                let sign = if offset < 0 { '-' } else { '+' };
                let seconds = offset.unsigned_abs();
                let text = format!("{sign}{:02}:{:02}", seconds / 3600, seconds / 60 % 60);
                if seconds % 60 == 0 { text } else { format!("{text}:{:02}", seconds % 60) }
            }
        }
    }

    /// How many seconds its clocks are before those of UTC at a moment.
    pub(crate) fn offset(self, instant: i64) -> i32 {
        match self {
            Self::Fixed(offset) => offset,
            Self::Named(named) => {
                let seconds = known_year(instant.div_euclid(SECOND));
                let moment = Timestamp::from_second(seconds).unwrap_or_default();
                named.zone.to_offset(moment).seconds()
            }
        }
    }

    /// What its clocks show at a moment; `None` outside of the range. Moments without end stay what they are.
    pub(crate) fn local(self, instant: i64) -> Option<i64> {
        if instant.is_endless() {
            return Some(instant);
        }
        instant.checked_add(i64::from(self.offset(instant)) * SECOND)
    }

    /// The moment at which its clocks show something; `None` outside of the range. Moments without end stay what they are.
    pub(crate) fn instant(self, local: i64) -> Option<i64> {
        if local.is_endless() {
            return Some(local);
        }
        let back = |offset: i32| local.checked_sub(i64::from(offset) * SECOND);
        let Self::Named(_) = self else { return back(self.offset(local)) };
        let before = self.offset(local.saturating_sub(DAY));
        let after = self.offset(local.saturating_add(DAY));
        if before == after {
            return back(before);
        }
        let shows = |instant: &i64| self.local(*instant) == Some(local);
        match (back(before), back(after)) {
            (Some(first), Some(second)) if shows(&first) && shows(&second) => Some(first.max(second)),
            (_, Some(second)) if shows(&second) => Some(second),
            (first, _) => first,
        }
    }
}

/// Seconds east of UTC, as in `UTC+5`, `UTC-0330`, `UTC+05:30`. As in DuckDB; in PostgreSQL such a name is west of UTC.
fn beside_utc(name: &str) -> Option<i32> {
    let (utc, offset) = name.split_at_checked(3)?;
    let (sign, digits) = offset.split_at_checked(1)?;
    if !utc.eq_ignore_ascii_case("utc") || !matches!(sign, "+" | "-") {
        return None;
    }
    match digits.len() == 3 && !digits.contains(':') {
        true => read_offset(&format!("{sign}0{digits}")),
        false => read_offset(offset),
    }
}

/// The same second of a year that is computed.
fn known_year(seconds: i64) -> i64 {
    let year = date_of(seconds.div_euclid(SECONDS_OF_DAY)).0;
    let begin = |year: i64| days_of(year, 1, 1).unwrap_or(0);
    // Before there were zones each place had its own time, for ever.
    if year < 1800 {
        return begin(1800) * SECONDS_OF_DAY;
    }
    if year <= LAST_YEAR {
        return seconds;
    }
    let shape = |year: i64| (begin(year + 1) - begin(year), begin(year).rem_euclid(7));
    let alike = (LAST_YEAR - 27..=LAST_YEAR).rev().find(|known| shape(*known) == shape(year));
    let alike = alike.unwrap_or(LAST_YEAR);
    seconds - (begin(year) - begin(alike)) * SECONDS_OF_DAY
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(year: i64, month: u32, day: u32, hour: i64, minute: i64) -> i64 {
        days_of(year, month, day).unwrap() * DAY + (hour * 60 + minute) * 60 * SECOND
    }

    fn zone(name: &str) -> Zone {
        Zone::find(name).unwrap()
    }

    /// Keeps away: hours that do not exist, or exist twice, taken otherwise than PostgreSQL takes them.
    #[test]
    fn clocks_that_are_put_forward_and_back() {
        let denver = zone("america/denver");
        assert_eq!(denver.instant(at(2024, 3, 10, 2, 30)), Some(at(2024, 3, 10, 9, 30)));
        assert_eq!(denver.instant(at(2024, 3, 10, 1, 59)), Some(at(2024, 3, 10, 8, 59)));
        assert_eq!(denver.instant(at(2024, 3, 10, 3, 0)), Some(at(2024, 3, 10, 9, 0)));
        let berlin = zone("Europe/Berlin");
        assert_eq!(berlin.instant(at(2024, 10, 27, 2, 30)), Some(at(2024, 10, 27, 1, 30)));
        assert_eq!(berlin.instant(at(2024, 10, 27, 1, 30)), Some(at(2024, 10, 26, 23, 30)));
        assert_eq!(berlin.instant(at(2024, 10, 27, 3, 0)), Some(at(2024, 10, 27, 2, 0)));
        // A day that does not exist.
        let apia = zone("Pacific/Apia");
        assert_eq!(apia.instant(at(2011, 12, 30, 12, 0)), Some(at(2011, 12, 30, 22, 0)));
    }

    /// Keeps away: years behind those of the database that have no summer.
    #[test]
    fn far_years_have_summers() {
        let berlin = zone("Europe/Berlin");
        for year in [2037, 2038, 2050, 2096, 2099, 2100, 2101, 2400, 9999, 290_000] {
            assert_eq!(berlin.offset(at(year, 7, 1, 0, 0)), 7200, "{year}");
            assert_eq!(berlin.offset(at(year, 1, 15, 0, 0)), 3600, "{year}");
        }
        // The last Sunday of March 2121 is the thirtieth.
        assert_eq!(berlin.offset(at(2121, 3, 30, 0, 59)), 3600);
        assert_eq!(berlin.offset(at(2121, 3, 30, 1, 0)), 7200);
        assert_eq!(berlin.offset(at(-4712, 1, 1, 0, 0)), 53 * 60 + 28);
    }

    /// Keeps away: rules that were changed and are not known. British Columbia keeps its summer time since March 2026.
    #[test]
    fn rules_of_this_year_are_known() {
        assert_eq!(zone("America/Vancouver").offset(at(2026, 11, 10, 12, 0)), -7 * 3600);
        assert_eq!(zone("America/Vancouver").offset(at(2025, 11, 10, 12, 0)), -8 * 3600);
    }

    /// Keeps away: a zone that is not found by its own name.
    #[test]
    fn names_are_found_again() {
        for name in ["UTC", "Europe/Brussels", "+05:30", "-03", "EST", "pst", "Z"] {
            let known = zone(name);
            assert_eq!(Zone::find(&known.name()), Some(known), "{name}");
        }
        assert_eq!(Zone::find("Europe/Nowhere"), None);
        assert_eq!(zone("europe/brussels").name(), "Europe/Brussels");
    }
}
