//! Sizes in bytes as people read them, and back.

use datafusion::common::{Result, exec_err};

use super::plain::{
    Form, Given,
    Kind::{Text, Whole},
    Made, Named, plain,
};

pub(super) static ALL: [Named; 3] = [
    plain!(["format_bytes", "formatreadablesize", "pg_size_pretty"], [Whole] => Text, |of| Ok(written(of, 1024, &BINARY))),
    plain!(["formatreadabledecimalsize"], [Whole] => Text, |of| Ok(written(of, 1000, &DECIMAL))),
    plain!(["parse_formatted_bytes"], [Text] => Whole, read),
];

const BINARY: [&str; 5] = ["KiB", "MiB", "GiB", "TiB", "PiB"];
const DECIMAL: [&str; 5] = ["kB", "MB", "GB", "TB", "PB"];

fn written(of: &[Given<'_>], step: u64, units: &[&str]) -> Made {
    let number = of[0].whole();
    let (sign, bytes) = (if number < 0 { "-" } else { "" }, number.unsigned_abs());
    // The unit that the number is still more than one of, and how many bytes it has.
    let (mut unit, mut of_unit) = (None, 1);
    for name in units {
        if bytes / of_unit < step {
            break;
        }
        unit = Some(*name);
        of_unit *= step;
    }
    match unit {
        None if bytes == 1 => format!("{sign}1 byte").into(),
        None => format!("{sign}{bytes} bytes").into(),
        Some(unit) => {
            // Cut, not rounded: 1023.99 KiB are not yet a MiB.
            let tenths = bytes % of_unit * 10 / of_unit;
            format!("{sign}{}.{tenths} {unit}", bytes / of_unit).into()
        }
    }
}

/// A number and a unit: 16 KiB are 16,384 bytes, 16 kB 16,000.
fn read(of: &[Given<'_>]) -> Result<Made> {
    let text = of[0].text();
    let trimmed = text.trim();
    let end = trimmed.find(|c: char| !c.is_ascii_digit() && c != '.').unwrap_or(trimmed.len());
    let (number, unit) = trimmed.split_at(end);
    let unit = unit.trim().to_lowercase();
    let Ok(number) = number.parse::<f64>() else {
        return exec_err!("parse_formatted_bytes: '{text}' is no number with a unit, as '16 KiB'");
    };
    // "k" alone is 1000 as well.
    let place = |units: &[&str]| {
        units.iter().position(|known| known.to_lowercase() == unit || known[..1].to_lowercase() == unit)
    };
    let binary = if unit.len() > 1 { place(&BINARY) } else { None };
    let bytes = match (unit.as_str(), binary, place(&DECIMAL)) {
        ("b" | "byte" | "bytes", ..) => 1.0,
        (_, Some(place), _) => 1024_f64.powi(place as i32 + 1),
        (_, None, Some(place)) => 1000_f64.powi(place as i32 + 1),
        _ => {
            return exec_err!(
                "parse_formatted_bytes: '{text}' has no unit that is known; there are B, kB, KiB, MB, MiB …"
            );
        }
    };
    match number * bytes {
        bytes if bytes < i64::MAX as f64 => Ok((bytes.round() as i64).into()),
        _ => exec_err!("parse_formatted_bytes: '{text}' is more than bigint has"),
    }
}
