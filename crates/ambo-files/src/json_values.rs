//! JSON that is no lines: a list of objects, or objects over several lines. It is made lines of, for all that reads.

use std::{
    fs::File,
    io::{self, BufRead, BufWriter, Read, Write},
    path::Path,
};

use crate::{
    Error, Result,
    source::{Position, Source},
};

/// How much of a file is looked at to see whether it is lines.
const LOOKED_AT: u64 = 1 << 20;
const BUFFER_BYTES: usize = 256 << 10;

/// Where a reader of JSON is: in a text, and how deep in lists and objects.
#[derive(Default)]
struct Place {
    in_text: bool,
    is_escaped: bool,
    depth: usize,
}

impl Place {
    fn step(&mut self, byte: u8) {
        match byte {
            _ if self.is_escaped => self.is_escaped = false,
            b'\\' if self.in_text => self.is_escaped = true,
            b'"' => self.in_text = !self.in_text,
            b'[' | b'{' if !self.in_text => self.depth += 1,
            b']' | b'}' if !self.in_text => self.depth = self.depth.saturating_sub(1),
            _ => {}
        }
    }
}

/// Whether what a file begins with is a value a line: an object that ends on its line.
pub(crate) fn are_lines(beginning: impl Read) -> io::Result<bool> {
    let mut place = Place::default();
    let mut has_begun = false;
    for byte in io::BufReader::new(beginning.take(LOOKED_AT)).bytes() {
        match byte? {
            // A list at the top has its objects in it.
            b'[' if !has_begun => return Ok(false),
            b'\n' if has_begun => return Ok(place.depth == 0),
            byte if byte.is_ascii_whitespace() && !has_begun => {}
            byte => {
                // The mark of UTF-8 is before the first value.
                has_begun |= byte.is_ascii();
                place.step(byte);
            }
        }
    }
    Ok(true)
}

/// Writes the values of a file as lines of a nameless file: the elements of a list at the top, or values one behind the other. A value
/// begins on the line that it began on, if that is its own.
pub(crate) fn lines(input: impl Read) -> io::Result<File> {
    let mut out = BufWriter::with_capacity(BUFFER_BYTES, tempfile::tempfile()?);
    let mut values =
        Values { place: Place::default(), top: None, value: Vec::new(), breaks: 0, on_line: false };
    let mut input = io::BufReader::with_capacity(BUFFER_BYTES, input);
    let mut chunk = vec![0; BUFFER_BYTES];
    loop {
        let length = input.read(&mut chunk)?;
        if length == 0 {
            break;
        }
        for byte in &chunk[..length] {
            values.take(*byte, &mut out)?;
        }
    }
    values.end(&mut out)?;
    out.into_inner().map_err(io::IntoInnerError::into_error)
}

struct Values {
    place: Place,
    /// How deep the values lie; it is known from the first byte that says something.
    top: Option<usize>,
    value: Vec<u8>,
    /// Ends of lines that were read, and are not written yet.
    breaks: usize,
    /// Whether a value was written to the line that is being written.
    on_line: bool,
}

impl Values {
    fn take(&mut self, byte: u8, out: &mut impl Write) -> io::Result<()> {
        if byte == b'\n' && !self.place.in_text {
            self.breaks += 1;
        }
        let Some(top) = self.top else {
            if byte == b'[' {
                self.top = Some(1);
                self.place.step(byte);
                return Ok(());
            }
            if !byte.is_ascii_whitespace() && byte.is_ascii() {
                self.top = Some(0);
                return self.take(byte, out);
            }
            return Ok(());
        };
        let was = self.place.depth;
        let in_text = self.place.in_text;
        self.place.step(byte);
        let is_between = !in_text && was <= top && self.place.depth <= top && !self.place.in_text;
        match byte {
            // The end of the list.
            b']' if top == 1 && !in_text && was == 1 => self.end(out),
            b',' if top == 1 && is_between => self.end(out),
            byte if is_between && byte.is_ascii_whitespace() && self.value.is_empty() => Ok(()),
            byte if is_between && byte.is_ascii_whitespace() && top == 0 => self.end(out),
            // Between the parts of a value, or wrong within a text.
            b'\n' | b'\r' => {
                self.value.push(b' ');
                Ok(())
            }
            byte => {
                if self.value.is_empty() {
                    self.begin(out)?;
                }
                self.value.push(byte);
                // Objects may stand one behind the other.
                match top == 0 && !in_text && was == 1 && self.place.depth == 0 {
                    true => self.end(out),
                    false => Ok(()),
                }
            }
        }
    }

    fn begin(&mut self, out: &mut impl Write) -> io::Result<()> {
        let breaks = self.breaks.max(usize::from(self.on_line));
        (0..breaks).try_for_each(|_| out.write_all(b"\n"))?;
        (self.breaks, self.on_line) = (0, true);
        Ok(())
    }

    fn end(&mut self, out: &mut impl Write) -> io::Result<()> {
        out.write_all(&self.value)?;
        self.value.clear();
        Ok(())
    }
}

/// The elements of a list, as they are written. REQUIRES: it is one.
pub(crate) fn elements(list: &str) -> Vec<&str> {
    let (mut place, mut found, mut from) = (Place::default(), Vec::new(), 1);
    for (at, byte) in list.bytes().enumerate() {
        let is_top = place.depth == 1 && !place.in_text;
        place.step(byte);
        if is_top && matches!(byte, b',' | b']') {
            found.push(list[from..at].trim());
            from = at + 1;
        }
    }
    found.retain(|element| !element.is_empty());
    found
}

/// Has `act` called with each value of a file of JSON and the line that it begins on, by which it is told what it is. What it says is
/// wrong is told with the name of the file.
///
/// # Errors
/// A file that cannot be read, or what `act` says.
pub fn json_values(path: &Path, mut act: impl FnMut(u64, &str) -> Result<(), String>) -> Result<()> {
    let source = Source::open(path)?.with_lines_of_json()?;
    let fail = |error: io::Error| Error::io(path, &error);
    let mut lines = io::BufReader::with_capacity(BUFFER_BYTES, source.read(&Position::default())?);
    let (mut line, mut number) = (Vec::new(), 0);
    while lines.read_until(b'\n', &mut line).map_err(fail)? > 0 {
        number += 1;
        let text = std::str::from_utf8(&line);
        let text = text.map_err(|_| Error::in_file(path, format!("line {number}: the text is not UTF-8")))?;
        let text = text.trim_start_matches('\u{feff}').trim();
        if !text.is_empty() {
            act(number, text).map_err(|what| Error::in_file(path, what))?;
        }
        line.clear();
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use std::io::Seek;

    use super::*;

    fn said(text: &str) -> String {
        let (mut file, mut said) = (lines(text.as_bytes()).unwrap(), String::new());
        file.rewind().unwrap();
        file.read_to_string(&mut said).unwrap();
        said
    }

    /// Keeps away: values that are cut at a mark within a text, and lines that are counted wrong.
    #[test]
    fn values_become_lines() {
        assert_eq!(
            said("[{\"a\": \"],[{\\\"\"},\n {\"a\":\n[1,\n2]} , {}]\n"),
            "{\"a\": \"],[{\\\"\"}\n{\"a\": [1, 2]} \n\n{}"
        );
        assert_eq!(
            said("{\n  \"a\": 1\n}\n\n{\"a\": 2}{\"a\": 3}\n"),
            "{   \"a\": 1 }\n\n\n\n{\"a\": 2}\n{\"a\": 3}"
        );
        assert_eq!(said("[]"), "");
        assert_eq!(said("  [ ] "), "");
        assert_eq!(said(""), "");
        assert_eq!(said("[1, [2, 3], \"x, y\"]"), "1\n[2, 3]\n\"x, y\"");
    }

    /// Keeps away: lines that are read twice, and lists that are refused.
    #[test]
    fn lines_are_told_from_values() {
        let are = |text: &str| are_lines(text.as_bytes()).unwrap();
        assert!(are("{\"a\": 1}\n{\"a\": 2}\n") && are("") && are("{\"a\": \"{\"}") && are("\u{feff}{}\n{}"));
        assert!(!are("[{\"a\": 1}]") && !are("{\n\"a\": 1}") && !are(" \n[1]"));
    }
}
