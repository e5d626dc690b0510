//! `strptime(text, format)`: the moment that a text in a format says, an error if it says none; `try_strptime`, NULL then. The format may
//! be a list of formats, of which the first that fits counts.
//!
//! | sign | what |
//! |---|---|
//! | `%Y`, `%y` | the year, in four digits or two: 69 to 99 are of the last century |
//! | `%m`, `%B`, `%b` | the month, as a number or by its name |
//! | `%d`, `%j` | the day of the month or of the year |
//! | `%U`, `%W` with `%w`, `%u`, `%a`, `%A` | the week that begins on Sunday or Monday, and the day of the week |
//! | `%G`, `%V` | the year and the week of ISO 8601 |
//! | `%H`, `%I`, `%p`, `%M`, `%S`, `%f`, `%g` | hour, hour of 12 with AM or PM, minute, second, digits behind its point, milliseconds |
//! | `%z`, `%Z` | how far clocks are ahead of UTC, the name of a zone |
//! | `%c`, `%x`, `%X`, `%T`, `%D`, `%F`, `%R` | several of them at once |
//!
//! A `-` behind `%` changes nothing: digits that are missing may be missing. What a format does not say is that of 1900-01-01. With a zone
//! the result is a `timestamptz`.

use std::sync::Arc;

use ambo::calendar::days_of;
use arrow::{
    array::{Array, ArrayRef, AsArray, PrimitiveArray},
    datatypes::{DataType, TimestampMicrosecondType},
};
use datafusion::{
    common::{Result, exec_err, plan_err},
    logical_expr::{ColumnarValue, ScalarFunctionArgs, ScalarUDFImpl, Signature, Volatility},
};

use crate::{
    times::{DAY, MOMENT, SECOND, Zone, instant, is_text},
    value::returned,
};

#[derive(Debug, PartialEq, Eq, Hash)]
pub(super) struct Strptime {
    /// Whether a text that says nothing is an error.
    is_strict: bool,
    /// Whether a format has a zone, which the result has then, too.
    has_zone: bool,
    signature: Signature,
}

impl Strptime {
    pub(super) fn all() -> [Self; 4] {
        [(true, false), (true, true), (false, false), (false, true)].map(|(is_strict, has_zone)| Self {
            is_strict,
            has_zone,
            signature: Signature::user_defined(Volatility::Immutable),
        })
    }
}

impl ScalarUDFImpl for Strptime {
    fn name(&self) -> &str {
        match (self.is_strict, self.has_zone) {
            (true, false) => "strptime",
            (true, true) => "strptime_with_zone",
            (false, false) => "try_strptime",
            (false, true) => "try_strptime_with_zone",
        }
    }

    fn signature(&self) -> &Signature {
        &self.signature
    }

    fn coerce_types(&self, types: &[DataType]) -> Result<Vec<DataType>> {
        match types {
            [text, formats] if (is_text(text) || text.is_null()) && formats.is_list() => {
                Ok(vec![DataType::Utf8, DataType::new_list(DataType::Utf8, true)])
            }
            [text, format] if [text, format].iter().all(|ty| is_text(ty) || ty.is_null()) => {
                Ok(vec![DataType::Utf8; 2])
            }
            _ => plan_err!("{} takes a text and a format, or a list of formats", self.name()),
        }
    }

    fn return_type(&self, _: &[DataType]) -> Result<DataType> {
        Ok(if self.has_zone { instant() } else { MOMENT })
    }

    fn invoke_with_args(&self, args: ScalarFunctionArgs) -> Result<ColumnarValue> {
        let is_one = args.args.iter().all(|arg| matches!(arg, ColumnarValue::Scalar(_)));
        let rows = if is_one { 1 } else { args.number_rows };
        let (texts, formats) = (args.args[0].to_array(rows)?, args.args[1].to_array(rows)?);
        let moment = |row: usize| {
            if texts.is_null(row) || formats.is_null(row) {
                return Ok(None);
            }
            let text = texts.as_string::<i32>().value(row);
            let formats = formats_of(&formats, row);
            if !self.has_zone && formats.iter().any(|format| format.contains("%z") || format.contains("%Z")) {
                return exec_err!(
                    "{}: a format with a zone stands as a constant behind the text",
                    self.name()
                );
            }
            for format in &formats {
                if let Some(moment) = read(self.name(), text, format)? {
                    return Ok(Some(moment));
                }
            }
            match self.is_strict {
                true => exec_err!("strptime: '{text}' is not in the format '{}'", formats.join("', '")),
                false => Ok(None),
            }
        };
        let moments: PrimitiveArray<TimestampMicrosecondType> =
            (0..rows).map(moment).collect::<Result<_>>()?;
        let moments = Arc::new(moments.with_data_type(args.return_type().clone()));
        returned(moments, is_one)
    }
}

fn formats_of(formats: &ArrayRef, row: usize) -> Vec<String> {
    match formats.as_list_opt::<i32>() {
        Some(lists) => lists.value(row).as_string::<i32>().iter().flatten().map(str::to_owned).collect(),
        None => vec![formats.as_string::<i32>().value(row).to_owned()],
    }
}

const MONTHS: [&str; 12] = [
    "january",
    "february",
    "march",
    "april",
    "may",
    "june",
    "july",
    "august",
    "september",
    "october",
    "november",
    "december",
];
const DAYS: [&str; 7] = ["sunday", "monday", "tuesday", "wednesday", "thursday", "friday", "saturday"];

/// What of a moment was read.
#[derive(Default)]
struct Parts {
    year: Option<i64>,
    month: Option<i64>,
    day: Option<i64>,
    day_of_year: Option<i64>,
    /// Of weeks that begin on Sunday, on Monday, and those of ISO 8601.
    weeks: [Option<i64>; 3],
    iso_year: Option<i64>,
    /// From Sunday, which is 0, on.
    weekday: Option<i64>,
    hour: i64,
    is_of_twelve: bool,
    is_afternoon: Option<bool>,
    micros: i64,
    ahead: i64,
    zone: Option<Zone>,
}

/// The moment that a text says in a format, if it says one.
///
/// # Errors
/// The format has a sign that is none.
fn read(name: &str, text: &str, format: &str) -> Result<Option<i64>> {
    let format = expanded(format);
    if let Some((one, other)) = contradiction(&format) {
        if name.starts_with("try_") {
            return Ok(None);
        }
        return exec_err!("{name}: %{one} and %{other} in '{format}' say different things of one day");
    }
    if text.is_empty() {
        return Ok(None);
    }
    let mut signs = format.chars();
    let (mut rest, mut parts) = (text.trim_start(), Parts::default());
    while let Some(c) = signs.next() {
        if c != '%' {
            match c.is_whitespace() {
                // One blank stands for several.
                true => rest = rest.trim_start(),
                false => match rest.strip_prefix(c) {
                    Some(behind) => rest = behind,
                    None => return Ok(None),
                },
            }
            continue;
        }
        let sign = match signs.next() {
            Some('-') => signs.next(),
            sign => sign,
        };
        match sign {
            Some('%') => match rest.strip_prefix('%') {
                Some(behind) => rest = behind,
                None => return Ok(None),
            },
            Some(sign) if KNOWN.contains(sign) => match parts.take(sign, rest) {
                Some(behind) => rest = behind,
                None => return Ok(None),
            },
            Some(other) => return exec_err!("{name}: %{other} in '{format}' has no meaning"),
            None => return exec_err!("{name}: '{format}' ends within a sign"),
        }
    }
    Ok(if rest.trim().is_empty() { parts.moment() } else { None })
}

/// Two signs of a format that do not go together: weeks of two kinds, years of ISO 8601 with others.
fn contradiction(format: &str) -> Option<(char, char)> {
    const AGAINST: [(char, &str); 4] = [('U', "WVG"), ('W', "VG"), ('V', "jY"), ('G', "jY")];
    let signs: Vec<char> =
        format.split('%').skip(1).filter_map(|part| part.trim_start_matches('-').chars().next()).collect();
    let found = |(one, others): (char, &str)| {
        let other = others.chars().find(|other| signs.contains(other));
        other.filter(|_| signs.contains(&one)).map(|other| (one, other))
    };
    let day_of_year = [('U', "j"), ('W', "j")];
    AGAINST.into_iter().chain(day_of_year).find_map(found)
}

const KNOWN: &str = "YymBbhdjUWwuaAGVHIpMSfgnzZ";

fn expanded(format: &str) -> String {
    let several = [
        ("%c", "%Y-%m-%d %H:%M:%S"),
        ("%x", "%Y-%m-%d"),
        ("%X", "%H:%M:%S"),
        ("%T", "%H:%M:%S"),
        ("%D", "%m/%d/%y"),
        ("%F", "%Y-%m-%d"),
        ("%R", "%H:%M"),
    ];
    several.iter().fold(format.to_owned(), |format, (sign, meant)| format.replace(sign, meant))
}

/// Up to so many digits, and what stands behind.
fn digits(text: &str, most: usize) -> Option<(i64, &str)> {
    let end = text.bytes().take(most).take_while(u8::is_ascii_digit).count();
    Some((text[..end].parse().ok()?, &text[end..]))
}

fn number(text: &str, most: usize, range: std::ops::RangeInclusive<i64>) -> Option<(i64, &str)> {
    digits(text, most).filter(|(number, _)| range.contains(number))
}

/// The place of the name that a text begins with, in full or its first three letters.
fn named<'t>(text: &'t str, names: &[&str], is_whole: bool) -> Option<(i64, &'t str)> {
    let begins = |name: &&str| text.get(..name.len()).is_some_and(|begin| begin.eq_ignore_ascii_case(name));
    let short = |name: &str| if is_whole { name.to_owned() } else { name[..3].to_owned() };
    let place = names.iter().position(|name| begins(&short(name).as_str()))?;
    Some((place as i64, &text[short(names[place]).len()..]))
}

impl Parts {
    /// Reads what a sign stands for, and returns what stands behind.
    fn take<'t>(&mut self, sign: char, text: &'t str) -> Option<&'t str> {
        let set = |to: &mut Option<i64>, found: Option<(i64, &'t str)>| {
            let (number, rest) = found?;
            *to = Some(number);
            Some(rest)
        };
        match sign {
            'Y' => {
                let (sign, plain) = text.strip_prefix('-').map_or((1, text), |plain| (-1, plain));
                let (year, rest) = digits(plain, 4)?;
                self.year = Some(sign * year);
                Some(rest)
            }
            'y' => {
                let (year, rest) = digits(text, 2)?;
                self.year = Some(if year < 69 { 2000 + year } else { 1900 + year });
                Some(rest)
            }
            'G' => set(&mut self.iso_year, digits(text, 4)),
            'm' => set(&mut self.month, number(text, 2, 1..=12)),
            'B' | 'b' | 'h' => {
                let (place, rest) = named(text, &MONTHS, sign == 'B')?;
                self.month = Some(place + 1);
                Some(rest)
            }
            'd' => set(&mut self.day, number(text, 2, 1..=31)),
            'j' => set(&mut self.day_of_year, number(text, 3, 1..=366)),
            'U' => set(&mut self.weeks[0], number(text, 2, 0..=53)),
            'W' => set(&mut self.weeks[1], number(text, 2, 0..=53)),
            'V' => set(&mut self.weeks[2], number(text, 2, 1..=53)),
            'w' => set(&mut self.weekday, number(text, 1, 0..=6)),
            'u' => {
                let (day, rest) = number(text, 1, 1..=7)?;
                self.weekday = Some(day % 7);
                Some(rest)
            }
            'A' | 'a' => set(&mut self.weekday, named(text, &DAYS, sign == 'A')),
            _ => self.take_time(sign, text),
        }
    }

    fn take_time<'t>(&mut self, sign: char, text: &'t str) -> Option<&'t str> {
        let of_unit = |most, range, unit: i64| {
            let (number, rest) = number(text, most, range)?;
            Some((number * unit, rest))
        };
        let (micros, rest) = match sign {
            'H' | 'I' => {
                let (hour, rest) = number(text, 2, if sign == 'H' { 0..=23 } else { 1..=12 })?;
                self.hour = hour;
                self.is_of_twelve = sign == 'I';
                return Some(rest);
            }
            'p' => {
                let half = text.get(..2)?;
                self.is_afternoon = Some(half.eq_ignore_ascii_case("pm"));
                return (half.eq_ignore_ascii_case("am") || half.eq_ignore_ascii_case("pm"))
                    .then(|| &text[2..]);
            }
            'M' => of_unit(2, 0..=59, 60 * SECOND)?,
            'S' => of_unit(2, 0..=59, SECOND)?,
            'g' => fraction(text, 3)?,
            'f' => fraction(text, 6)?,
            'n' => fraction(text, 9)?,
            'z' => {
                let (ahead, rest) = ahead(text)?;
                self.ahead = ahead;
                return Some(rest);
            }
            _ => {
                let is_of_name = |c: &char| c.is_ascii_alphanumeric() || "/_+-".contains(*c);
                let end: usize = text.chars().take_while(is_of_name).map(char::len_utf8).sum();
                self.zone = Some(Zone::find(&text[..end])?);
                return Some(&text[end..]);
            }
        };
        self.micros += micros;
        Some(rest)
    }

    fn moment(&self) -> Option<i64> {
        let hour = match (self.is_of_twelve, self.is_afternoon) {
            (true, Some(is_afternoon)) => self.hour % 12 + if is_afternoon { 12 } else { 0 },
            (false, Some(_)) if !(1..=12).contains(&self.hour) => return None,
            (false, Some(is_afternoon)) => self.hour % 12 + if is_afternoon { 12 } else { 0 },
            (_, None) => self.hour,
        };
        let of_day = hour * 3600 * SECOND + self.micros;
        let local = self.day()?.checked_mul(DAY)?.checked_add(of_day)?;
        match self.zone {
            Some(zone) => zone.instant(local),
            None => local.checked_sub(self.ahead),
        }
    }

    /// Days since 1970.
    fn day(&self) -> Option<i64> {
        let year = self.year.unwrap_or(1900);
        if self.month.is_some() || self.day.is_some() {
            let (month, day) = (self.month.unwrap_or(1), self.day.unwrap_or(1));
            return days_of(year, u32::try_from(month).ok()?, u32::try_from(day).ok()?);
        }
        if let Some(day) = self.day_of_year {
            let first = days_of(year, 1, 1)?;
            return Some(first + day - 1)
                .filter(|day| days_of(year + 1, 1, 1).is_some_and(|next| *day < next));
        }
        // 1970-01-01 was a Thursday.
        let weekday = |day: i64| (day + 4).rem_euclid(7);
        if let Some(week) = self.weeks[2] {
            let fourth = days_of(self.iso_year.unwrap_or(1900), 1, 4)?;
            let monday = fourth - (weekday(fourth) + 6) % 7;
            return Some(monday + (week - 1) * 7 + (self.weekday.unwrap_or(1) + 6) % 7);
        }
        let first = days_of(year, 1, 1)?;
        match self.weeks {
            [Some(week), ..] => {
                let sunday = first + (7 - weekday(first)) % 7;
                Some(sunday + (week - 1) * 7 + self.weekday.unwrap_or(0))
            }
            [_, Some(week), _] => {
                let monday = first + (8 - weekday(first)) % 7;
                Some(monday + (week - 1) * 7 + (self.weekday.unwrap_or(1) + 6) % 7)
            }
            _ => Some(first),
        }
    }
}

/// Digits behind a point as microseconds.
fn fraction(text: &str, most: usize) -> Option<(i64, &str)> {
    let end = text.bytes().take(most).take_while(u8::is_ascii_digit).count();
    let digits = text[..end].get(..end.min(6))?;
    let number: i64 = digits.parse().ok()?;
    Some((number * 10_i64.pow(6 - digits.len() as u32), &text[end..]))
}

/// `+02`, `-05:30`, `+0100`, `Z` as microseconds.
fn ahead(text: &str) -> Option<(i64, &str)> {
    if let Some(rest) = text.strip_prefix(['Z', 'z']) {
        return Some((0, rest));
    }
    let sign = match text.as_bytes().first()? {
        b'+' => 1,
        b'-' => -1,
        _ => return None,
    };
    let two = |text| digits(text, 2).filter(|(_, rest): &(i64, &str)| rest.len() + 2 == text.len());
    let (hours, rest) = two(&text[1..])?;
    let behind = rest.strip_prefix(':').unwrap_or(rest);
    let (minutes, rest) = match behind.starts_with(|c: char| c.is_ascii_digit()) {
        true => two(behind)?,
        false => (0, rest),
    };
    (hours < 24 && minutes < 60).then_some((sign * (hours * 60 + minutes) * 60 * SECOND, rest))
}
