//! Values for parameters, from the texts and bytes of clients.

use ambo::{Datum, calendar};

use super::{
    encode::{decimal_text, parse_numeric, read_numeric},
    failure::Failure,
    message::{Format, Malformed, Reader},
    types::{item_of, oid},
};

const EPOCH_DAYS: i64 = 10_957;
const MICROS_PER_DAY: i64 = 86_400_000_000;

/// The value that bytes mean which are of PostgreSQL's type `ty`.
pub(super) fn decode(bytes: &[u8], ty: u32, format: Format) -> Result<Datum, Failure> {
    match format {
        Format::Text => {
            let text = utf8(bytes)?;
            from_text(text, ty).ok_or_else(|| {
                let name = name_of(ty);
                Failure::new("22P02", format!("invalid input syntax for type {name}: \"{text}\""))
            })
        }
        Format::Binary => from_binary(bytes, ty),
    }
}

fn utf8(bytes: &[u8]) -> Result<&str, Failure> {
    let text = std::str::from_utf8(bytes).map_err(|_| Failure::new("22021", "a text is no UTF-8"))?;
    match text.contains('\0') {
        true => Err(Failure::new("22021", "a text has a zero byte")),
        false => Ok(text),
    }
}

fn name_of(ty: u32) -> &'static str {
    match ty {
        oid::BOOL => "boolean",
        oid::BYTEA => "bytea",
        oid::INT2 => "smallint",
        oid::INT4 => "integer",
        oid::INT8 => "bigint",
        oid::OID => "oid",
        oid::FLOAT4 => "real",
        oid::FLOAT8 => "double precision",
        oid::NUMERIC => "numeric",
        _ => "of the parameter",
    }
}

/// A value from its text; `None` if it is none of the type.
pub(super) fn from_text(text: &str, ty: u32) -> Option<Datum> {
    let trimmed = text.trim();
    let same = || Datum::Utf8(text.to_owned());
    Some(match ty {
        oid::BOOL => Datum::Bool(boolean(trimmed)?),
        oid::INT2 => Datum::I16(trimmed.parse().ok()?),
        oid::INT4 => Datum::I32(trimmed.parse().ok()?),
        oid::INT8 | oid::OID => Datum::I64(trimmed.parse().ok()?),
        oid::FLOAT4 => Datum::F32(trimmed.parse().ok()?),
        oid::FLOAT8 => Datum::F64(trimmed.parse().ok()?),
        oid::NUMERIC => parse_numeric(trimmed)?,
        oid::BYTEA => Datum::Binary(bytea(text)?),
        // What is written otherwise than here, the statement reads, or says what is wrong with it.
        oid::DATE => match calendar::parse_date(trimmed).and_then(|days| i32::try_from(days).ok()) {
            Some(days) => Datum::Date32(days),
            None => same(),
        },
        oid::TIMESTAMP => moment(trimmed).map_or_else(same, |(micros, _)| Datum::Timestamp(micros)),
        oid::TIMESTAMPTZ => match moment(trimmed) {
            Some((micros, Some(offset))) => Datum::TimestampTz(micros - i64::from(offset) * 1_000_000),
            _ => same(),
        },
        ty => match item_of(ty) {
            Some(item) => Datum::Utf8(list_text(trimmed, item)?),
            None => same(),
        },
    })
}

/// A moment as a clock shows it, and by how many seconds the clock is east of UTC, if that is said.
fn moment(text: &str) -> Option<(i64, Option<i32>)> {
    let written = calendar::read_moment(text)?;
    let offset = match written.zone {
        Some(zone) => Some(calendar::read_offset(zone)?),
        None => None,
    };
    Some((written.micros()?, offset))
}

fn boolean(text: &str) -> Option<bool> {
    match text.to_ascii_lowercase().as_str() {
        "t" | "true" | "y" | "yes" | "on" | "1" => Some(true),
        "f" | "false" | "n" | "no" | "off" | "0" => Some(false),
        _ => None,
    }
}

/// Bytes from `\x…`, or from text with octal escapes.
pub(super) fn bytea(text: &str) -> Option<Vec<u8>> {
    if let Some(hex) = text.strip_prefix("\\x") {
        let digits: Option<Vec<u8>> =
            hex.chars().filter(|c| !c.is_whitespace()).map(|c| Some(c.to_digit(16)? as u8)).collect();
        let digits = digits.filter(|digits| digits.len() % 2 == 0)?;
        return Some(digits.chunks_exact(2).map(|pair| pair[0] << 4 | pair[1]).collect());
    }
    let (mut out, mut rest) = (Vec::new(), text.as_bytes());
    while let Some((byte, after)) = rest.split_first() {
        rest = after;
        match (byte, after) {
            (b'\\', [b'\\', after @ ..]) => {
                out.push(b'\\');
                rest = after;
            }
            (b'\\', [a @ b'0'..=b'3', b @ b'0'..=b'7', c @ b'0'..=b'7', after @ ..]) => {
                out.push((a - b'0') << 6 | (b - b'0') << 3 | (c - b'0'));
                rest = after;
            }
            (b'\\', _) => return None,
            _ => out.push(*byte),
        }
    }
    Some(out)
}

fn from_binary(bytes: &[u8], ty: u32) -> Result<Datum, Failure> {
    let wrong = || Failure::new("22P03", format!("incorrect binary data format of type {}", name_of(ty)));
    let mut from = Reader(bytes);
    let value = read(&mut from, bytes, ty).map_err(|Malformed(_)| wrong())?;
    let is_whole = value.is_some() && (from.0.is_empty() || takes_all(ty));
    match value {
        Some(value) if is_whole => Ok(value),
        Some(_) => Err(wrong()),
        // Texts, and what has the form of texts.
        None => Ok(Datum::Utf8(utf8(bytes)?.to_owned())),
    }
}

/// Whether the value is all bytes that there are.
fn takes_all(ty: u32) -> bool {
    matches!(ty, oid::BYTEA | oid::NUMERIC | oid::JSONB)
}

/// A value from its bytes; `None` if they are a text.
fn read(from: &mut Reader<'_>, bytes: &[u8], ty: u32) -> Result<Option<Datum>, Malformed> {
    let i64 = |from: &mut Reader<'_>| -> Result<i64, Malformed> {
        Ok(i64::from(from.i32()?) << 32 | i64::from(from.u32()?))
    };
    Ok(Some(match ty {
        oid::BOOL => Datum::Bool(from.byte()? != 0),
        oid::INT2 => Datum::I16(from.i16()?),
        oid::INT4 => Datum::I32(from.i32()?),
        oid::OID => Datum::I64(from.u32()?.into()),
        oid::INT8 => Datum::I64(i64(from)?),
        oid::FLOAT4 => Datum::F32(f32::from_bits(from.u32()?)),
        oid::FLOAT8 => Datum::F64(f64::from_bits(i64(from)? as u64)),
        oid::NUMERIC => read_numeric(bytes)?,
        oid::BYTEA => Datum::Binary(bytes.to_vec()),
        oid::DATE => match from.i32()? {
            end @ (i32::MAX | i32::MIN) => Datum::Date32(end),
            days => Datum::Date32(days.checked_add(EPOCH_DAYS as i32).ok_or(BEYOND)?),
        },
        oid::TIME => Datum::Time64(i64(from)?.checked_mul(1000).ok_or(BEYOND)?),
        oid::TIMESTAMP => Datum::Timestamp(micros(i64(from)?)?),
        oid::TIMESTAMPTZ => Datum::TimestampTz(micros(i64(from)?)?),
        oid::INTERVAL => {
            let (micros, days, months) = (i64(from)?, from.i32()?, from.i32()?);
            let sign = if micros < 0 { "-" } else { "" };
            let time = micros.unsigned_abs();
            let (seconds, fraction) = (time / 1_000_000, time % 1_000_000);
            let (hours, minutes, seconds) = (seconds / 3600, seconds / 60 % 60, seconds % 60);
            let text = format!(
                "{months} months {days} days {sign}{hours:02}:{minutes:02}:{seconds:02}.{fraction:06}"
            );
            Datum::Utf8(text)
        }
        oid::UUID => {
            let hex: String = from.take(16)?.iter().map(|byte| format!("{byte:02x}")).collect();
            let parts = [&hex[..8], &hex[8..12], &hex[12..16], &hex[16..20], &hex[20..]];
            Datum::Utf8(parts.join("-"))
        }
        oid::JSONB => {
            if from.byte()? != 1 {
                return Err(Malformed("another version of jsonb"));
            }
            let text = std::str::from_utf8(from.0).map_err(|_| Malformed("a text is no UTF-8"))?;
            Datum::Utf8(text.to_owned())
        }
        ty if item_of(ty).is_some() => Datum::Utf8(read_array(from)?),
        _ => return Ok(None),
    }))
}

const BEYOND: Malformed = Malformed("a time is beyond its range");

fn micros(since_2000: i64) -> Result<i64, Malformed> {
    match since_2000 {
        end @ (i64::MAX | i64::MIN) => Ok(end),
        micros => micros.checked_add(EPOCH_DAYS * MICROS_PER_DAY).ok_or(BEYOND),
    }
}

/// How deep arrays may be, as PostgreSQL's.
const DEPTH_MAX: i32 = 6;

/// An array as the text of a list.
fn read_array(from: &mut Reader<'_>) -> Result<String, Malformed> {
    let dimensions = from.i32()?;
    let (_has_null, item) = (from.i32()?, from.u32()?);
    if !(0..=DEPTH_MAX).contains(&dimensions) {
        return Err(Malformed("an array has more than six dimensions"));
    }
    let mut lengths = Vec::new();
    for _ in 0..dimensions {
        let length = usize::try_from(from.i32()?).map_err(|_| Malformed("a length is below zero"))?;
        from.i32()?;
        lengths.push(length);
    }
    // Each item takes four bytes or more.
    let items = lengths.iter().try_fold(1usize, |all, length| all.checked_mul(*length));
    if items.is_none_or(|items| items > from.0.len() / 4 && !lengths.is_empty()) {
        return Err(Malformed("it ends too early"));
    }
    let mut text = String::new();
    match lengths.contains(&0) || lengths.is_empty() {
        true => text.push_str("[]"),
        false => read_items(from, item, &lengths, &mut text)?,
    }
    Ok(text)
}

fn read_items(
    from: &mut Reader<'_>,
    item: u32,
    lengths: &[usize],
    text: &mut String,
) -> Result<(), Malformed> {
    let [length, rest @ ..] = lengths else { return Ok(()) };
    text.push('[');
    for nth in 0..*length {
        if nth > 0 {
            text.push_str(", ");
        }
        if !rest.is_empty() {
            read_items(from, item, rest, text)?;
            continue;
        }
        match from.i32()? {
            -1 => text.push_str("NULL"),
            length => {
                let length = usize::try_from(length).map_err(|_| Malformed("a length is below zero"))?;
                let bytes = from.take(length)?;
                let value = match item_of(item) {
                    Some(_) => return Err(Malformed("an array is of arrays")),
                    None => read(&mut Reader(bytes), bytes, item)?,
                };
                match value {
                    Some(value) => list_item(&shown(&value), text),
                    None => list_item(
                        std::str::from_utf8(bytes).map_err(|_| Malformed("a text is no UTF-8"))?,
                        text,
                    ),
                }
            }
        }
    }
    text.push(']');
    Ok(())
}

/// The text that an item of a list has.
fn shown(value: &Datum) -> String {
    match value {
        Datum::Decimal128 { unscaled, scale } => {
            let mut out = Vec::new();
            decimal_text(*unscaled, *scale, &mut out);
            String::from_utf8_lossy(&out).into_owned()
        }
        Datum::Utf8(text) => text.clone(),
        Datum::Binary(bytes) => {
            let escape = |byte: &u8| format!("\\x{byte:02X}");
            bytes.iter().map(escape).collect()
        }
        other => other.to_string(),
    }
}

/// Adds an item to the text of a list, between quotes.
fn list_item(item: &str, text: &mut String) {
    text.push('\'');
    for sign in item.chars() {
        if matches!(sign, '\'' | '\\') {
            text.push('\\');
        }
        text.push(sign);
    }
    text.push('\'');
}

/// The text of an array, `{1,NULL,"a,b"}`, as that of a list. `None` if it is none.
fn list_text(text: &str, item: u32) -> Option<String> {
    // Bounds of an array, `[1:2]={…}`, are of no use to lists.
    let text = match text.starts_with('[') {
        true => text.split_once('=')?.1,
        false => text,
    };
    let (mut out, mut rest) = (String::new(), text.trim());
    list_part(&mut rest, item, 0, &mut out)?;
    rest.trim().is_empty().then_some(out)
}

fn list_part(rest: &mut &str, item: u32, depth: i32, out: &mut String) -> Option<()> {
    if depth > DEPTH_MAX {
        return None;
    }
    *rest = rest.trim_start().strip_prefix('{')?;
    out.push('[');
    let mut is_first = true;
    loop {
        *rest = rest.trim_start();
        if let Some(after) = rest.strip_prefix('}') {
            *rest = after;
            out.push(']');
            return Some(());
        }
        if !is_first {
            *rest = rest.strip_prefix(',')?.trim_start();
            out.push_str(", ");
        }
        is_first = false;
        match rest.starts_with('{') {
            true => list_part(rest, item, depth + 1, out)?,
            false => array_item(rest, item, out)?,
        }
    }
}

fn array_item(rest: &mut &str, item: u32, out: &mut String) -> Option<()> {
    let is_quoted = rest.starts_with('"');
    let (mut meant, mut signs) = (String::new(), rest.char_indices().skip(usize::from(is_quoted)));
    let end = loop {
        let (place, sign) = signs.next()?;
        match sign {
            '\\' => meant.push(signs.next()?.1),
            '"' if is_quoted => break place + 1,
            ',' | '}' if !is_quoted => break place,
            '{' | '"' if !is_quoted => return None,
            sign => meant.push(sign),
        }
    };
    *rest = &rest[end..];
    let meant = if is_quoted { meant.as_str() } else { meant.trim_end() };
    match is_quoted || !meant.eq_ignore_ascii_case("null") {
        false => out.push_str("NULL"),
        true if meant.is_empty() && !is_quoted => return None,
        true => {
            let value = from_text(meant, item)?;
            list_item(&shown(&value), out);
        }
    }
    Some(())
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn texts_are_values_of_their_types() {
        assert_eq!(from_text(" 5 ", oid::INT4), Some(Datum::I32(5)));
        assert_eq!(from_text("5.", oid::INT4), None);
        assert_eq!(from_text("on", oid::BOOL), Some(Datum::Bool(true)));
        assert_eq!(from_text("2000-01-02", oid::DATE), Some(Datum::Date32(10_958)));
        assert_eq!(from_text("1970-01-01 01:00:00+01", oid::TIMESTAMPTZ), Some(Datum::TimestampTz(0)));
        assert_eq!(bytea("\\x00fF"), Some(vec![0, 255]));
        assert_eq!(bytea("a\\\\\\001"), Some(b"a\\\x01".to_vec()));
        assert_eq!(list_text("{1, NULL,{\"2\"}}", oid::INT4).as_deref(), Some("['1', NULL, ['2']]"));
        assert_eq!(list_text("{\"a,\\\"b\",c d}", oid::TEXT).as_deref(), Some("['a,\"b', 'c d']"));
        assert!(["{", "{1,}", "{1}x", "1", "{x"].iter().all(|text| list_text(text, oid::INT4).is_none()));
    }

    #[test]
    fn bytes_are_values_of_their_types() {
        assert_eq!(from_binary(&[0, 0, 0, 7], oid::INT4).unwrap(), Datum::I32(7));
        assert_eq!(from_binary(&[0, 0, 7], oid::INT4).unwrap_err().code, "22P03");
        assert_eq!(from_binary(&[0, 0, 0, 7, 0], oid::INT4).unwrap_err().code, "22P03");
        assert_eq!(from_binary(&(-1i64).to_be_bytes(), oid::INT8).unwrap(), Datum::I64(-1));
        assert_eq!(
            from_binary(&0i64.to_be_bytes(), oid::TIMESTAMP).unwrap(),
            Datum::Timestamp(946_684_800_000_000)
        );
        let array = [
            0, 0, 0, 1, 0, 0, 0, 1, 0, 0, 0, 23, 0, 0, 0, 2, 0, 0, 0, 1, 0, 0, 0, 4, 0, 0, 0, 9, 255, 255,
            255, 255,
        ];
        assert_eq!(from_binary(&array, 1007).unwrap(), Datum::Utf8("['9', NULL]".to_owned()));
    }

    proptest! {
        #[test]
        fn any_bytes_are_a_value_or_an_error(
            ty in prop::sample::select(vec![16u32, 17, 20, 21, 23, 25, 26, 114, 700, 701, 1007, 1009, 1082, 1083, 1114, 1184, 1186, 1231, 1700, 2950, 3802, 0]),
            bytes in prop::collection::vec(any::<u8>(), 0..60),
        ) {
            let _value_or_error = decode(&bytes, ty, Format::Binary).is_ok() || decode(&bytes, ty, Format::Text).is_ok();
        }

        #[test]
        fn any_text_is_an_array_or_none(text in "[{},\"\\\\ a1]{0,30}") {
            list_text(&text, oid::TEXT);
        }
    }
}
