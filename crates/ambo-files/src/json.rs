//! The members of a JSON object, as they are written: a number keeps all of its digits, a list or an object is its text.

use serde::de::IgnoredAny;

/// What a member is.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Kind {
    Null,
    Bool,
    Number,
    String,
    /// A list or an object.
    Nested,
}

/// A piece of the line, or of the scratch if the line has it with escapes.
#[derive(Clone, Copy, Debug)]
struct Piece {
    from: usize,
    to: usize,
    is_copy: bool,
}

/// The members of the object of a line.
#[derive(Default, Debug)]
pub(crate) struct Object {
    members: Vec<(Piece, Piece, Kind)>,
    scratch: String,
}

impl Object {
    pub(crate) fn len(&self) -> usize {
        self.members.len()
    }

    fn text<'a>(&'a self, line: &'a str, piece: Piece) -> &'a str {
        if piece.is_copy { &self.scratch[piece.from..piece.to] } else { &line[piece.from..piece.to] }
    }

    pub(crate) fn name<'a>(&'a self, line: &'a str, nth: usize) -> &'a str {
        self.text(line, self.members[nth].0)
    }

    pub(crate) fn value<'a>(&'a self, line: &'a str, nth: usize) -> (&'a str, Kind) {
        let (_, value, kind) = self.members[nth];
        (self.text(line, value), kind)
    }

    /// Takes the object of a line apart.
    ///
    /// # Errors
    /// What is wrong with the line.
    pub(crate) fn read(&mut self, line: &str) -> Result<(), String> {
        self.members.clear();
        self.scratch.clear();
        serde_json::from_str::<IgnoredAny>(line)
            .map_err(|error| format!("character {}: no JSON object: {}", error.column(), words(&error)))?;
        let mut scan = Scan { text: line, at: 0 };
        if scan.next() != Some(b'{') {
            let what = if line.trim_start().starts_with('[') { "a list" } else { "a value" };
            return Err(format!("{what} and no JSON object; a file has an object a line"));
        }
        loop {
            match scan.next() {
                Some(b'"') => {}
                Some(b',') => continue,
                _ => return Ok(()),
            }
            let name = self.string(line, scan.string())?;
            scan.next();
            let begin = scan.at_value();
            let (value, kind) = match line.as_bytes().get(begin) {
                Some(b'"') => {
                    scan.at = begin + 1;
                    (self.string(line, scan.string())?, Kind::String)
                }
                Some(b'{' | b'[') => (scan.nested(), Kind::Nested),
                first => {
                    let kind = match first {
                        Some(b'n') => Kind::Null,
                        Some(b't' | b'f') => Kind::Bool,
                        _ => Kind::Number,
                    };
                    (scan.literal(), kind)
                }
            };
            let twice = (0..self.members.len()).find(|nth| self.name(line, *nth) == self.text(line, name));
            if twice.is_some() {
                return Err(format!("the object has two members \"{}\"", self.text(line, name)));
            }
            self.members.push((name, value, kind));
        }
    }

    /// A string without its quotes and escapes.
    fn string(&mut self, line: &str, piece: Piece) -> Result<Piece, String> {
        if !line[piece.from..piece.to].contains('\\') {
            return Ok(piece);
        }
        let quoted = &line[piece.from - 1..piece.to + 1];
        let text: String = serde_json::from_str(quoted)
            .map_err(|error| format!("character {}: no JSON text: {}", piece.from, words(&error)))?;
        let from = self.scratch.len();
        self.scratch.push_str(&text);
        Ok(Piece { from, to: self.scratch.len(), is_copy: true })
    }
}

/// serde_json ends its messages with a line number of its own, which is always 1 here.
fn words(error: &serde_json::Error) -> String {
    let text = error.to_string();
    text.split(" at line ").next().unwrap_or_default().to_string()
}

/// A place in JSON that is known to be sound.
struct Scan<'a> {
    text: &'a str,
    at: usize,
}

impl Scan<'_> {
    fn at_value(&mut self) -> usize {
        while self.text.as_bytes().get(self.at).is_some_and(u8::is_ascii_whitespace) {
            self.at += 1;
        }
        self.at
    }

    /// The next byte that is no blank; the place is behind it.
    fn next(&mut self) -> Option<u8> {
        let at = self.at_value();
        self.at += 1;
        self.text.as_bytes().get(at).copied()
    }

    /// What stands before the closing quote; the place is behind it.
    fn string(&mut self) -> Piece {
        let (from, bytes) = (self.at, self.text.as_bytes());
        while let Some(found) = memchr::memchr2(b'"', b'\\', bytes.get(self.at..).unwrap_or_default()) {
            self.at += found;
            if bytes[self.at] == b'"' {
                break;
            }
            self.at += 2;
        }
        let to = self.at.min(bytes.len());
        self.at = to + 1;
        Piece { from, to, is_copy: false }
    }

    fn literal(&mut self) -> Piece {
        let from = self.at;
        let rest = &self.text.as_bytes()[from..];
        let is_end = |byte: &u8| matches!(byte, b',' | b'}' | b']') || byte.is_ascii_whitespace();
        self.at = rest.iter().position(is_end).map_or(self.text.len(), |end| from + end);
        Piece { from, to: self.at, is_copy: false }
    }

    fn nested(&mut self) -> Piece {
        let (from, mut depth) = (self.at, 0usize);
        while let Some(byte) = self.next() {
            match byte {
                b'"' => drop(self.string()),
                b'{' | b'[' => depth += 1,
                b'}' | b']' if depth == 1 => break,
                b'}' | b']' => depth -= 1,
                _ => {}
            }
        }
        Piece { from, to: self.at.min(self.text.len()), is_copy: false }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn members(line: &str) -> Result<Vec<(String, String, Kind)>, String> {
        let mut object = Object::default();
        object.read(line)?;
        let member = |nth: usize| {
            let (value, kind) = object.value(line, nth);
            (object.name(line, nth).to_owned(), value.to_owned(), kind)
        };
        Ok((0..object.len()).map(member).collect())
    }

    // Keeps away: digits that are lost, members that are lost, and texts with their escapes left in.
    #[test]
    fn members_are_as_they_are_written() {
        let line = r#" { "a" : 12345678901234567890.10 , "b\"\u00e4":"x\ny\\" ,"c":[1,{"d":"]}\""}], "":null,"e" :{} , "f":false, "g":-1e-400,"h":"" } "#;
        let expected = [
            ("a", "12345678901234567890.10", Kind::Number),
            ("b\"ä", "x\ny\\", Kind::String),
            ("c", r#"[1,{"d":"]}\""}]"#, Kind::Nested),
            ("", "null", Kind::Null),
            ("e", "{}", Kind::Nested),
            ("f", "false", Kind::Bool),
            ("g", "-1e-400", Kind::Number),
            ("h", "", Kind::String),
        ];
        let expected: Vec<_> =
            expected.map(|(name, value, kind)| (name.to_owned(), value.to_owned(), kind)).into();
        assert_eq!(members(line).unwrap(), expected);
        assert_eq!(members("{}").unwrap(), []);
        for (line, what) in [
            ("{\"a\": 1, \"a\": 2}", "two members \"a\""),
            ("[{\"a\": 1}]", "a list"),
            ("5", "a value"),
            ("{\"a\": tru}", "character 10"),
            ("{\"a\": 1", "EOF"),
            ("{\"a\": 1} {\"a\": 2}", "trailing characters"),
            (r#"{"a": "\ud800"}"#, "JSON"),
            ("{\"a\": 01}", "no JSON object"),
        ] {
            assert!(members(line).unwrap_err().contains(what), "{line}: {:?}", members(line));
        }
    }

    // Keeps away: objects that are taken apart otherwise than another reader does it.
    #[test]
    fn members_are_those_of_another_reader() {
        let pieces = [
            "{", "}", "[", "]", "\"", "\\", "a", "\"a\"", "\"b\"", ":", ",", " ", "1", "-0.5e3", "null",
            "true", "\"\\\"\"",
        ];
        let mut state = 11u64;
        let mut sound = 0;
        for _ in 0..200_000 {
            let mut next = |n: usize| {
                state = state.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
                (state >> 33) as usize % n
            };
            let values = ["1", "[1,\"]\"]", "{\"x\":[]}", "\"a\\\\\"", "null", "[]", "\"}\""];
            let mut line = format!("{{\"k\":{},", values[next(values.len())]);
            (0..next(7)).for_each(|_| line += pieces[next(pieces.len())]);
            line += &format!("\"z\":{}}}", values[next(values.len())]);
            let other = serde_json::from_str::<serde_json::Map<String, serde_json::Value>>(&line);
            match (members(&line), other) {
                (Ok(found), Ok(other)) => {
                    sound += 1;
                    assert_eq!(found.len(), other.len(), "{line}");
                    for (name, value, kind) in found {
                        let value = match kind {
                            Kind::String => serde_json::Value::String(value),
                            _ => serde_json::from_str(&value).unwrap(),
                        };
                        assert_eq!(value, other[&name], "{line}");
                    }
                }
                (Ok(_), Err(error)) => panic!("{line}: {error}"),
                (Err(_), _) => {}
            }
        }
        assert!(sound > 1000, "{sound}");
    }
}
