//! Fields of CSV in bytes that lie in memory. A quote opens a field only at its beginning; what stands behind the closing one belongs to it
//! as it is.
//!
//! Each field tells whether it stood in quotes: an empty field is NULL where `""` is an empty text. A quote that is never closed is an
//! error.

use memchr::{memchr, memchr_iter, memchr2};

use crate::Format;

/// How fields are told apart.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Marks {
    pub delimiter: u8,
    pub quote: u8,
    /// Before a quote within quotes; doubled quotes if there is none.
    pub escape: Option<u8>,
}

impl Marks {
    pub(crate) fn of(format: &Format) -> Self {
        let escape = format.escape.filter(|escape| *escape != format.quote);
        Self { delimiter: format.delimiter, quote: format.quote, escape }
    }
}

/// A quote that is never closed.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Open;

#[derive(Clone, Copy, Debug)]
struct Field {
    from: usize,
    to: usize,
    /// Whether the bytes are in the scratch, because quotes were taken out.
    is_copy: bool,
    is_quoted: bool,
}

/// The fields of a record.
#[derive(Default, Debug)]
pub(crate) struct Record {
    fields: Vec<Field>,
    scratch: Vec<u8>,
}

impl Record {
    pub(crate) fn len(&self) -> usize {
        self.fields.len()
    }

    /// The bytes of a field, and whether it stood in quotes.
    pub(crate) fn field<'a>(&'a self, bytes: &'a [u8], nth: usize) -> Option<(&'a [u8], bool)> {
        let field = self.fields.get(nth)?;
        let of = if field.is_copy { &self.scratch } else { bytes };
        Some((&of[field.from..field.to], field.is_quoted))
    }

    /// Reads the record at a place, and goes behind it. REQUIRES: the place is at the beginning of a record and not at the end. Returns how
    /// many lines it has.
    ///
    /// # Errors
    /// A quote that is never closed; then the place is behind the line that it is on.
    pub(crate) fn read(&mut self, bytes: &[u8], at: &mut usize, marks: Marks) -> Result<u64, Open> {
        self.fields.clear();
        self.scratch.clear();
        let (begin, mut has_quotes) = (*at, false);
        loop {
            let is_quoted = bytes.get(*at) == Some(&marks.quote);
            has_quotes |= is_quoted;
            let field = match is_quoted {
                false => plain(bytes, at, marks.delimiter),
                true => match self.quoted(bytes, at, marks) {
                    Some(field) => field,
                    None => {
                        *at = memchr(b'\n', &bytes[begin..]).map_or(bytes.len(), |end| begin + end + 1);
                        return Err(Open);
                    }
                },
            };
            self.fields.push(field);
            match bytes.get(*at) {
                Some(byte) if *byte == marks.delimiter => *at += 1,
                end => {
                    *at += match (end, bytes.get(*at + 1)) {
                        (None, _) => 0,
                        (Some(b'\r'), Some(b'\n')) => 2,
                        (Some(_), _) => 1,
                    };
                    return Ok(match has_quotes {
                        true => memchr_iter(b'\n', &bytes[begin..*at]).count() as u64,
                        false => u64::from(bytes[begin..*at].ends_with(b"\n")),
                    });
                }
            }
        }
    }

    /// A field whose opening quote is at a place; `None` if it is never closed. Goes to the delimiter or the end of the line.
    fn quoted(&mut self, bytes: &[u8], at: &mut usize, marks: Marks) -> Option<Field> {
        let begin = *at + 1;
        let copied = self.scratch.len();
        // What is not copied yet begins here.
        let (mut from, mut next) = (begin, begin);
        let close = loop {
            let found = match marks.escape {
                None => memchr(marks.quote, &bytes[next..]),
                Some(escape) => memchr2(marks.quote, escape, &bytes[next..]),
            };
            let found = next + found?;
            let is_escape = marks.escape == Some(bytes[found]);
            match bytes.get(found + 1) {
                None if is_escape => return None,
                Some(_) if is_escape => {}
                Some(byte) if marks.escape.is_none() && *byte == marks.quote => {}
                _ => break found,
            }
            // The first of the two goes, the second stays.
            self.scratch.extend_from_slice(&bytes[from..found]);
            (from, next) = (found + 1, found + 2);
        };
        *at = close + 1;
        let tail = plain(bytes, at, marks.delimiter);
        if from == begin && tail.from == tail.to {
            return Some(Field { from, to: close, is_copy: false, is_quoted: true });
        }
        self.scratch.extend_from_slice(&bytes[from..close]);
        self.scratch.extend_from_slice(&bytes[tail.from..tail.to]);
        Some(Field { from: copied, to: self.scratch.len(), is_copy: true, is_quoted: true })
    }
}

/// What stands before the next delimiter or end of a line.
fn plain(bytes: &[u8], at: &mut usize, delimiter: u8) -> Field {
    let from = *at;
    let is_end = |byte: &u8| *byte == delimiter || *byte == b'\n' || *byte == b'\r';
    *at = bytes[from..].iter().position(is_end).map_or(bytes.len(), |end| from + end);
    Field { from, to: *at, is_copy: false, is_quoted: false }
}

/// Goes behind lines without anything. Returns how many lines that were.
pub(crate) fn skip_blank(bytes: &[u8], at: &mut usize) -> u64 {
    let begin = *at;
    while matches!(bytes.get(*at), Some(b'\r' | b'\n')) {
        *at += 1;
    }
    memchr_iter(b'\n', &bytes[begin..*at]).count() as u64
}

#[cfg(test)]
mod tests {
    use super::*;

    // Keeps away: fields that are cut otherwise than other readers of CSV cut them.
    #[test]
    fn fields_are_those_of_another_reader() {
        for escape in [None, Some(b'\\')] {
            let marks = Marks { delimiter: b',', quote: b'"', escape };
            let mut state = 7u64;
            for _ in 0..30_000 {
                let mut next = |n: usize| {
                    state = state.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
                    (state >> 33) as usize % n
                };
                let length = next(24);
                let text: Vec<u8> = (0..length).map(|_| b"\"\"\",,,a\n\r\\b"[next(11)]).collect();
                let mut other = ::csv::ReaderBuilder::new()
                    .has_headers(false)
                    .flexible(true)
                    .escape(escape)
                    .double_quote(escape.is_none())
                    .from_reader(&text[..]);
                let (mut record, mut at) = (Record::default(), 0);
                for expected in other.byte_records() {
                    let expected = expected.unwrap();
                    skip_blank(&text, &mut at);
                    if record.read(&text, &mut at, marks).is_err() {
                        // The other one takes the rest for a field.
                        at = text.len();
                        break;
                    }
                    let fields: Vec<_> =
                        (0..record.len()).map(|nth| record.field(&text, nth).unwrap().0).collect();
                    assert_eq!(
                        fields,
                        expected.iter().collect::<Vec<_>>(),
                        "{:?}",
                        text.escape_ascii().to_string()
                    );
                }
                skip_blank(&text, &mut at);
                assert_eq!(at, text.len(), "{:?}", text.escape_ascii().to_string());
            }
        }
    }

    // Keeps away: an empty text that is taken for NULL, and a rest of the file that is taken for a field.
    #[test]
    fn quotes_are_told() {
        let marks = Marks { delimiter: b';', quote: b'\'', escape: None };
        let text = b"'';;a'';'a;''b';\r\n'x\ny';1\n3;'open\n4;5\n";
        let (mut record, mut at) = (Record::default(), 0);
        assert_eq!(record.read(text, &mut at, marks), Ok(1));
        let quoted: Vec<_> = (0..record.len()).map(|nth| record.field(text, nth).unwrap().1).collect();
        assert_eq!(quoted, [true, false, false, true, false]);
        assert_eq!(record.field(text, 3).unwrap().0, b"a;'b");
        assert_eq!(record.read(text, &mut at, marks), Ok(2));
        assert_eq!(record.read(text, &mut at, marks), Err(Open));
        assert_eq!(record.read(text, &mut at, marks), Ok(1));
        assert_eq!(at, text.len());
    }
}
