//! JSON as it is in texts (RFC 8259): read with all it says, in its order, and written without blanks. Numbers keep the digits that they
//! are written with.

use std::{borrow::Cow, fmt::Write};

use datafusion::common::{Result, exec_err};

/// A value. Names of an object stand in the order of the text, and may stand there several times: the first one is meant.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Json<'a> {
    Null,
    Bool(bool),
    Number(Cow<'a, str>),
    Text(Cow<'a, str>),
    Array(Vec<Json<'a>>),
    Object(Vec<(Cow<'a, str>, Json<'a>)>),
}

/// What is nested deeper is refused: reading it takes a part of the stack for each level.
const DEPTH_MAX: usize = 1000;

/// The value that a text is, or where it is none and why.
pub(super) fn read(text: &str) -> std::result::Result<Json<'_>, (usize, &'static str)> {
    let mut reader = Reader { text, bytes: text.as_bytes(), at: 0 };
    reader.blanks();
    let value = reader.value(0)?;
    reader.blanks();
    match reader.at == text.len() {
        true => Ok(value),
        false => Err((reader.at, "something stands behind the value")),
    }
}

/// The same as an error of a function.
pub(super) fn given<'a>(name: &str, text: &'a str) -> Result<Json<'a>> {
    match read(text) {
        Ok(value) => Ok(value),
        Err((at, why)) => {
            let mut begin: String = text.chars().take(60).collect();
            if begin.len() < text.len() {
                begin.push('…');
            }
            exec_err!("{name}: '{begin}' is no JSON: {why}, at byte {at}")
        }
    }
}

struct Reader<'a> {
    text: &'a str,
    bytes: &'a [u8],
    at: usize,
}

type Read<T> = std::result::Result<T, (usize, &'static str)>;

impl<'a> Reader<'a> {
    fn fail<T>(&self, why: &'static str) -> Read<T> {
        Err((self.at, why))
    }

    fn peek(&self) -> Option<u8> {
        self.bytes.get(self.at).copied()
    }

    fn blanks(&mut self) {
        while matches!(self.peek(), Some(b' ' | b'\t' | b'\n' | b'\r')) {
            self.at += 1;
        }
    }

    /// Takes a sign, if it comes next.
    fn takes(&mut self, sign: u8) -> bool {
        let is_next = self.peek() == Some(sign);
        self.at += usize::from(is_next);
        is_next
    }

    fn value(&mut self, depth: usize) -> Read<Json<'a>> {
        if depth > DEPTH_MAX {
            return self.fail("it is nested deeper than 1000 levels");
        }
        match self.peek() {
            Some(b'{') => self.object(depth),
            Some(b'[') => self.array(depth),
            Some(b'"') => Ok(Json::Text(self.string()?)),
            Some(b'-' | b'0'..=b'9') => self.number(),
            _ => self.word(),
        }
    }

    fn word(&mut self) -> Read<Json<'a>> {
        for (word, value) in [("null", Json::Null), ("true", Json::Bool(true)), ("false", Json::Bool(false))]
        {
            if self.bytes[self.at..].starts_with(word.as_bytes()) {
                self.at += word.len();
                return Ok(value);
            }
        }
        self.fail("a value is missing")
    }

    fn digits(&mut self) -> Read<()> {
        let begin = self.at;
        while matches!(self.peek(), Some(b'0'..=b'9')) {
            self.at += 1;
        }
        if self.at == begin { self.fail("a digit is missing") } else { Ok(()) }
    }

    fn number(&mut self) -> Read<Json<'a>> {
        let begin = self.at;
        self.takes(b'-');
        if !self.takes(b'0') {
            self.digits()?;
        }
        if self.takes(b'.') {
            self.digits()?;
        }
        if matches!(self.peek(), Some(b'e' | b'E')) {
            self.at += 1;
            if matches!(self.peek(), Some(b'+' | b'-')) {
                self.at += 1;
            }
            self.digits()?;
        }
        Ok(Json::Number(Cow::Borrowed(&self.text[begin..self.at])))
    }

    fn array(&mut self, depth: usize) -> Read<Json<'a>> {
        self.at += 1;
        let mut all = Vec::new();
        self.blanks();
        if self.takes(b']') {
            return Ok(Json::Array(all));
        }
        loop {
            self.blanks();
            all.push(self.value(depth + 1)?);
            self.blanks();
            if self.takes(b']') {
                return Ok(Json::Array(all));
            }
            if !self.takes(b',') {
                return self.fail("a comma or the end of an array is missing");
            }
        }
    }

    fn object(&mut self, depth: usize) -> Read<Json<'a>> {
        self.at += 1;
        let mut all = Vec::new();
        self.blanks();
        if self.takes(b'}') {
            return Ok(Json::Object(all));
        }
        loop {
            self.blanks();
            if self.peek() != Some(b'"') {
                return self.fail("a name in quotes is missing");
            }
            let name = self.string()?;
            self.blanks();
            if !self.takes(b':') {
                return self.fail("a colon is missing");
            }
            self.blanks();
            all.push((name, self.value(depth + 1)?));
            self.blanks();
            if self.takes(b'}') {
                return Ok(Json::Object(all));
            }
            if !self.takes(b',') {
                return self.fail("a comma or the end of an object is missing");
            }
        }
    }

    fn string(&mut self) -> Read<Cow<'a, str>> {
        self.at += 1;
        let begin = self.at;
        loop {
            match self.peek() {
                Some(b'"') => {
                    let text = &self.text[begin..self.at];
                    self.at += 1;
                    return Ok(Cow::Borrowed(text));
                }
                Some(b'\\') => break,
                Some(0..0x20) => return self.fail("a control character stands in a text"),
                Some(_) => self.at += 1,
                None => return self.fail("a text has no end"),
            }
        }
        self.escaped(begin)
    }

    /// A text with backslashes.
    fn escaped(&mut self, begin: usize) -> Read<Cow<'a, str>> {
        let mut out = self.text[begin..self.at].to_owned();
        loop {
            let from = self.at;
            while !matches!(self.peek(), Some(b'"' | b'\\' | 0..0x20) | None) {
                self.at += 1;
            }
            out.push_str(&self.text[from..self.at]);
            match self.peek() {
                Some(b'"') => {
                    self.at += 1;
                    return Ok(Cow::Owned(out));
                }
                Some(b'\\') => out.push(self.escape()?),
                Some(_) => return self.fail("a control character stands in a text"),
                None => return self.fail("a text has no end"),
            }
        }
    }

    fn escape(&mut self) -> Read<char> {
        self.at += 1;
        let escaped = self.peek();
        self.at += 1;
        Ok(match escaped {
            Some(c @ (b'"' | b'\\' | b'/')) => c as char,
            Some(b'b') => '\u{8}',
            Some(b'f') => '\u{c}',
            Some(b'n') => '\n',
            Some(b'r') => '\r',
            Some(b't') => '\t',
            Some(b'u') => return self.unicode(),
            _ => {
                self.at -= 1;
                return self.fail("what stands behind a backslash has no meaning");
            }
        })
    }

    fn hex(&mut self) -> Read<u32> {
        let digits =
            self.bytes.get(self.at..self.at + 4).filter(|digits| digits.iter().all(u8::is_ascii_hexdigit));
        let Some(digits) = digits else { return self.fail("four digits are missing behind \\u") };
        self.at += 4;
        Ok(digits.iter().fold(0, |number, digit| number * 16 + (*digit as char).to_digit(16).unwrap_or(0)))
    }

    /// A code point, which may be two halves.
    fn unicode(&mut self) -> Read<char> {
        let first = self.hex()?;
        let code = match first {
            0xD800..0xDC00 if self.bytes[self.at..].starts_with(b"\\u") => {
                self.at += 2;
                let second = self.hex()?;
                match second {
                    0xDC00..0xE000 => 0x10000 + ((first - 0xD800) << 10) + (second - 0xDC00),
                    _ => return self.fail("half of a code point stands alone"),
                }
            }
            code => code,
        };
        char::from_u32(code).map_or_else(|| self.fail("half of a code point stands alone"), Ok)
    }
}

impl<'a> Json<'a> {
    /// What a name in an object means.
    pub(super) fn field(&self, name: &str) -> Option<&Self> {
        match self {
            Self::Object(fields) => fields.iter().find(|(of, _)| of == name).map(|(_, value)| value),
            _ => None,
        }
    }

    /// The element at a place, from 0, or from the end if it is negative.
    pub(super) fn element(&self, place: i64) -> Option<&Self> {
        let Self::Array(elements) = self else { return None };
        let place = if place < 0 { place.checked_add(elements.len() as i64)? } else { place };
        elements.get(usize::try_from(place).ok()?)
    }

    pub(super) fn text(&self) -> String {
        let mut out = String::new();
        self.write(&mut out);
        out
    }

    pub(super) fn write(&self, out: &mut String) {
        match self {
            Self::Null => out.push_str("null"),
            Self::Bool(value) => out.push_str(if *value { "true" } else { "false" }),
            Self::Number(digits) => out.push_str(digits),
            Self::Text(text) => write_text(text, out),
            Self::Array(elements) => {
                out.push('[');
                for (nth, element) in elements.iter().enumerate() {
                    if nth > 0 {
                        out.push(',');
                    }
                    element.write(out);
                }
                out.push(']');
            }
            Self::Object(fields) => {
                out.push('{');
                for (nth, (name, value)) in fields.iter().enumerate() {
                    if nth > 0 {
                        out.push(',');
                    }
                    write_text(name, out);
                    out.push(':');
                    value.write(out);
                }
                out.push('}');
            }
        }
    }

    /// With a line for each value, four blanks further in for each level.
    pub(super) fn write_lines(&self, level: usize, out: &mut String) {
        let line = |level: usize, out: &mut String| {
            out.push('\n');
            (0..level).for_each(|_| out.push_str("    "));
        };
        let (signs, count) = match self {
            Self::Array(elements) if !elements.is_empty() => (['[', ']'], elements.len()),
            Self::Object(fields) if !fields.is_empty() => (['{', '}'], fields.len()),
            _ => return self.write(out),
        };
        out.push(signs[0]);
        for nth in 0..count {
            if nth > 0 {
                out.push(',');
            }
            line(level + 1, out);
            match self {
                Self::Object(fields) => {
                    write_text(&fields[nth].0, out);
                    out.push_str(": ");
                    fields[nth].1.write_lines(level + 1, out);
                }
                Self::Array(elements) => elements[nth].write_lines(level + 1, out),
                _ => {}
            }
        }
        line(level, out);
        out.push(signs[1]);
    }

    /// A text as it is, other values as they are written, null as nothing.
    pub(super) fn bare(&self) -> Option<String> {
        match self {
            Self::Null => None,
            Self::Text(text) => Some(text.to_string()),
            other => Some(other.text()),
        }
    }

    /// The word for what it is: those of DuckDB.
    pub(super) fn kind(&self) -> &'static str {
        match self {
            Self::Null => "NULL",
            Self::Bool(_) => "BOOLEAN",
            Self::Number(digits) if digits.contains(['.', 'e', 'E']) => "DOUBLE",
            Self::Number(digits) if digits.parse::<u64>().is_ok() => "UBIGINT",
            Self::Number(digits) if digits.parse::<i64>().is_ok() => "BIGINT",
            Self::Number(_) => "DOUBLE",
            Self::Text(_) => "VARCHAR",
            Self::Array(_) => "ARRAY",
            Self::Object(_) => "OBJECT",
        }
    }
}

/// A text in quotes.
pub(super) fn write_text(text: &str, out: &mut String) {
    out.push('"');
    for c in text.chars() {
        match c {
            '"' => out.push_str("\\\""),
            '\\' => out.push_str("\\\\"),
            '\n' => out.push_str("\\n"),
            '\r' => out.push_str("\\r"),
            '\t' => out.push_str("\\t"),
            '\u{8}' => out.push_str("\\b"),
            '\u{c}' => out.push_str("\\f"),
            c if c < ' ' => {
                let _ = write!(out, "\\u{:04x}", u32::from(c));
            }
            c => out.push(c),
        }
    }
    out.push('"');
}

#[cfg(test)]
mod tests {
    use super::*;

    // Keeps away: texts that are no JSON and pass, or that are and do not.
    #[test]
    fn only_json_is_read() {
        for text in [
            "null",
            " true ",
            "-0",
            "1.5e+3",
            "\"\\u00e9\\ud83d\\ude00\\/\"",
            "[]",
            "{ }",
            "[1,[2,{\"a\":[]}]]",
        ] {
            assert!(read(text).is_ok(), "{text}");
        }
        let (value, digit) = ("a value is missing", "a digit is missing");
        let (behind, array) =
            ("something stands behind the value", "a comma or the end of an array is missing");
        for (text, at, why) in [
            ("", 0, value),
            ("nul", 0, value),
            ("01", 1, behind),
            ("+1", 0, value),
            (".5", 0, value),
            ("1.", 2, digit),
            ("1e", 2, digit),
            ("inf", 0, value),
            ("NaN", 0, value),
            ("[1,]", 3, value),
            ("{\"a\":1,}", 7, "a name in quotes is missing"),
            ("{a:1}", 1, "a name in quotes is missing"),
            ("'a'", 0, value),
            ("\"\\x\"", 2, "what stands behind a backslash has no meaning"),
            ("\"\\ud83d\"", 7, "half of a code point stands alone"),
            ("\"\n\"", 1, "a control character stands in a text"),
            ("1 2", 2, behind),
            ("[1", 2, array),
            ("\"a", 2, "a text has no end"),
        ] {
            assert_eq!(read(text), Err((at, why)), "{text}");
        }
        let deep = |levels| "[".repeat(levels) + &"]".repeat(levels);
        assert!(read(&deep(1000)).is_ok());
        assert_eq!(read(&deep(100_000)), Err((1001, "it is nested deeper than 1000 levels")));
    }

    // Keeps away: values that are others when they are written.
    #[test]
    fn what_is_read_is_written() {
        let text = "{\"a\\\"b\":[1.50,-0,1e3,12345678901234567890],\"a\":null,\"a\":\"\\u0001\\t/é\"}";
        assert_eq!(read(text).unwrap().text(), text);
        assert_eq!(read(" [ 1 , { \"a\" : true } ] ").unwrap().text(), "[1,{\"a\":true}]");
        assert_eq!(read("{\"a\":1,\"a\":2}").unwrap().field("a").unwrap().text(), "1");
        assert_eq!(read("\"\\ud83d\\ude00\"").unwrap(), Json::Text("😀".into()));
    }
}
