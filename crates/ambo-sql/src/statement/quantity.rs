//! Durations and sizes of memory as settings have them.

use std::time::Duration;

use crate::{Error, Result};

/// Microseconds of each unit, the longest first.
const TIMES: [(&str, u64); 6] = [
    ("d", 86_400_000_000),
    ("h", 3_600_000_000),
    ("min", 60_000_000),
    ("s", 1_000_000),
    ("ms", 1_000),
    ("us", 1),
];

const SIZES: [(&str, u64); 10] = [
    ("", 1),
    ("b", 1),
    ("kb", 1_000),
    ("mb", 1_000_000),
    ("gb", 1_000_000_000),
    ("tb", 1_000_000_000_000),
    ("kib", 1 << 10),
    ("mib", 1 << 20),
    ("gib", 1 << 30),
    ("tib", 1 << 40),
];

/// The longest time that is waited.
const LONGEST: Duration = Duration::from_secs(10 * 365 * 86_400);

/// A number and the unit behind it, in small letters.
fn parts(text: &str) -> Option<(f64, String)> {
    let text = text.trim();
    let end = text.find(|c: char| !c.is_ascii_digit() && c != '.').unwrap_or(text.len());
    let (number, unit) = text.split_at(end);
    Some((number.parse().ok()?, unit.trim().to_lowercase()))
}

/// A time, in milliseconds if it has no unit, as in PostgreSQL; `None` for 0.
pub(super) fn time(setting: &str, text: &str) -> Result<Option<Duration>> {
    let read = parts(text).and_then(|(number, unit)| {
        let unit = if unit.is_empty() { "ms" } else { &unit };
        let (_, micros) = TIMES.iter().find(|(known, _)| *known == unit)?;
        Duration::try_from_secs_f64(number * *micros as f64 / 1e6).ok().filter(|time| *time <= LONGEST)
    });
    let time = read.ok_or_else(|| {
        Error::invalid(format!("{setting} is a time, not {text}"))
            .with_hint("a time is written as 500 (milliseconds), '2s' or '5min'; 0 is none")
    })?;
    Ok((!time.is_zero()).then_some(time))
}

pub(super) fn time_text(time: Option<Duration>) -> String {
    let Some(time) = time else { return "0".to_owned() };
    let micros = time.as_micros();
    let fits = |(_, unit): &&(&str, u64)| micros.is_multiple_of(u128::from(*unit));
    let (unit, of) = TIMES.iter().find(fits).unwrap_or(&("us", 1));
    format!("{}{unit}", micros / u128::from(*of))
}

/// A number of bytes.
pub(super) fn size(setting: &str, text: &str) -> Result<usize> {
    let read = parts(text).and_then(|(number, unit)| {
        let (_, bytes) = SIZES.iter().find(|(known, _)| *known == unit)?;
        let bytes = number * *bytes as f64;
        (bytes >= 1.0 && bytes < (1u64 << 60) as f64).then_some(bytes as usize)
    });
    read.ok_or_else(|| {
        Error::invalid(format!("{setting} is a number of bytes, not {text}"))
            .with_hint("a size is written as '4GB', '512MiB' or 1000000")
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Keeps away: a unit that is read as another.
    #[test]
    fn times_and_sizes_are_read_as_they_are_shown() {
        for (text, shown) in [
            ("500", "500ms"),
            ("2s", "2s"),
            ("90 s", "90s"),
            ("60000", "1min"),
            ("1.5h", "90min"),
            ("0", "0"),
        ] {
            assert_eq!(time_text(time("t", text).unwrap()), shown);
        }
        for text in ["5 parsecs", "-1", "1e99d"] {
            assert_eq!(time("t", text).unwrap_err().message(), format!("t is a time, not {text}"));
        }
        assert_eq!(size("m", "1GB").unwrap(), 1_000_000_000);
        assert_eq!(size("m", "2 KiB").unwrap(), 2048);
        assert_eq!(size("m", "77").unwrap(), 77);
        for text in ["80%", "0"] {
            assert_eq!(size("m", text).unwrap_err().message(), format!("m is a number of bytes, not {text}"));
        }
    }
}
