//! Whether a text is JSON (RFC 8259).

/// As deep as SQL reads it.
const DEPTH_MAX: usize = 1000;

/// # Errors
/// Where it is none, and why.
pub(super) fn check(text: &str) -> Result<(), String> {
    let mut scanner = Scanner { bytes: text.as_bytes(), at: 0 };
    scanner.document().map_err(|why| {
        let begin: String = text.chars().take(60).collect();
        let more = if begin.len() < text.len() { "…" } else { "" };
        format!("'{begin}{more}' is no JSON: {why}, at byte {}", scanner.at)
    })
}

type Checked = Result<(), &'static str>;

struct Scanner<'a> {
    bytes: &'a [u8],
    at: usize,
}

impl Scanner<'_> {
    fn peek(&self) -> Option<u8> {
        self.bytes.get(self.at).copied()
    }

    fn blanks(&mut self) {
        while matches!(self.peek(), Some(b' ' | b'\t' | b'\n' | b'\r')) {
            self.at += 1;
        }
    }

    fn takes(&mut self, sign: u8) -> bool {
        let is_next = self.peek() == Some(sign);
        self.at += usize::from(is_next);
        is_next
    }

    fn document(&mut self) -> Checked {
        // What is open: the signs that end it.
        let mut open = Vec::new();
        self.blanks();
        loop {
            // A value comes next.
            match self.peek() {
                Some(b'[') => {
                    self.begin(b']', &mut open)?;
                    if !self.takes(b']') {
                        continue;
                    }
                    open.pop();
                }
                Some(b'{') => {
                    self.begin(b'}', &mut open)?;
                    if !self.takes(b'}') {
                        self.name()?;
                        continue;
                    }
                    open.pop();
                }
                Some(b'"') => self.string()?,
                Some(b'-' | b'0'..=b'9') => self.number()?,
                _ => self.word()?,
            }
            // Behind a value.
            loop {
                self.blanks();
                let Some(&end) = open.last() else {
                    return if self.at == self.bytes.len() {
                        Ok(())
                    } else {
                        Err("something stands behind the value")
                    };
                };
                if self.takes(b',') {
                    self.blanks();
                    if end == b'}' {
                        self.name()?;
                    }
                    break;
                }
                if !self.takes(end) {
                    return Err(match end {
                        b']' => "a comma or the end of an array is missing",
                        _ => "a comma or the end of an object is missing",
                    });
                }
                open.pop();
            }
        }
    }

    fn begin(&mut self, end: u8, open: &mut Vec<u8>) -> Checked {
        if open.len() >= DEPTH_MAX {
            return Err("it is nested deeper than 1000 levels");
        }
        self.at += 1;
        open.push(end);
        self.blanks();
        Ok(())
    }

    /// The name of a field and the colon behind it.
    fn name(&mut self) -> Checked {
        if self.peek() != Some(b'"') {
            return Err("a name in quotes is missing");
        }
        self.string()?;
        self.blanks();
        if !self.takes(b':') {
            return Err("a colon is missing");
        }
        self.blanks();
        Ok(())
    }

    fn word(&mut self) -> Checked {
        let words: [&[u8]; 3] = [b"null", b"true", b"false"];
        match words.iter().find(|word| self.bytes[self.at..].starts_with(word)) {
            Some(word) => {
                self.at += word.len();
                Ok(())
            }
            None => Err("a value is missing"),
        }
    }

    fn digits(&mut self) -> Checked {
        let begin = self.at;
        while matches!(self.peek(), Some(b'0'..=b'9')) {
            self.at += 1;
        }
        if self.at == begin { Err("a digit is missing") } else { Ok(()) }
    }

    fn number(&mut self) -> Checked {
        self.takes(b'-');
        if !self.takes(b'0') {
            self.digits()?;
        }
        if self.takes(b'.') {
            self.digits()?;
        }
        if self.takes(b'e') || self.takes(b'E') {
            let _ = self.takes(b'+') || self.takes(b'-');
            self.digits()?;
        }
        Ok(())
    }

    fn string(&mut self) -> Checked {
        self.at += 1;
        loop {
            match self.peek() {
                Some(b'"') => {
                    self.at += 1;
                    return Ok(());
                }
                Some(b'\\') => {
                    self.at += 1;
                    self.escape()?;
                }
                Some(0..0x20) => return Err("a control character stands in a text"),
                Some(_) => self.at += 1,
                None => return Err("a text has no end"),
            }
        }
    }

    fn escape(&mut self) -> Checked {
        match self.peek() {
            Some(b'"' | b'\\' | b'/' | b'b' | b'f' | b'n' | b'r' | b't') => {
                self.at += 1;
                Ok(())
            }
            Some(b'u') => {
                self.at += 1;
                match self.hex()? {
                    0xD800..0xDC00 => {
                        let has_other = self.takes(b'\\') && self.takes(b'u');
                        if !has_other || !(0xDC00..0xE000).contains(&self.hex()?) {
                            return Err("half of a code point stands alone");
                        }
                    }
                    0xDC00..0xE000 => return Err("half of a code point stands alone"),
                    _ => {}
                }
                Ok(())
            }
            _ => Err("what stands behind a backslash has no meaning"),
        }
    }

    fn hex(&mut self) -> Result<u32, &'static str> {
        let digits = self.bytes.get(self.at..self.at + 4).ok_or("four digits are missing behind \\u")?;
        let mut number = 0;
        for digit in digits {
            let digit = (*digit as char).to_digit(16).ok_or("four digits are missing behind \\u")?;
            number = number * 16 + digit;
        }
        self.at += 4;
        Ok(number)
    }
}

#[cfg(test)]
mod tests {
    use super::check;

    /// Keeps away: texts that are no JSON and pass, or that are and do not.
    #[test]
    fn only_json_passes() {
        for text in [
            "null",
            " true ",
            "-0",
            "1.5e+3",
            "\"\\u00e9\\ud83d\\ude00\\/\"",
            "[]",
            "{ }",
            "[1,[2,{\"a\":[] , \"b\" : {}}], \"é\"]",
        ] {
            assert_eq!(check(text), Ok(()), "{text}");
        }
        for text in [
            "",
            "nul",
            "01",
            "+1",
            ".5",
            "1.",
            "1e",
            "inf",
            "NaN",
            "[1,]",
            "[,1]",
            "{\"a\":1,}",
            "{a:1}",
            "{\"a\" 1}",
            "'a'",
            "\"\\x\"",
            "\"\\u12g4\"",
            "\"\\ud83d\"",
            "\"\\ude00\"",
            "\"\\ud83d\\u0041\"",
            "\"\n\"",
            "1 2",
            "[1",
            "{\"a\":1]",
            "]",
            "\"a",
            "{\"a\"",
            "\"\\u12",
        ] {
            assert!(check(text).is_err(), "{text}");
        }
        assert_eq!(
            check("{\"a\":1,}"),
            Err("'{\"a\":1,}' is no JSON: a name in quotes is missing, at byte 7".to_owned())
        );
        let deep = |levels| "[".repeat(levels) + &"]".repeat(levels);
        assert_eq!(check(&deep(1000)), Ok(()));
        assert!(check(&deep(100_000)).unwrap_err().contains("deeper than 1000 levels"));
    }
}
