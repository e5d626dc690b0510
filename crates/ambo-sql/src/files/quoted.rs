//! Which fields of a line of CSV stood in quotes: the reader of fields does not say, and an empty field is NULL where `""` is an empty text.

use std::io::{self, Read};

/// Bytes that are kept at most behind the place that was forgotten last, beside what a record has.
const KEPT_BYTES: usize = 256 << 10;

/// A reader that keeps what was read of late.
pub(super) struct Kept<R> {
    inner: R,
    /// Where in the file the kept bytes begin.
    begin: u64,
    bytes: Vec<u8>,
}

impl<R: Read> Read for Kept<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let read = self.inner.read(buffer)?;
        self.bytes.extend_from_slice(&buffer[..read]);
        Ok(read)
    }
}

impl<R> Kept<R> {
    pub(super) fn new(inner: R) -> Self {
        Self { inner, begin: 0, bytes: Vec::new() }
    }

    /// The bytes of a range of the file, without those that were forgotten.
    pub(super) fn range(&self, from: u64, to: u64) -> &[u8] {
        let place = |at: u64| (at.saturating_sub(self.begin) as usize).min(self.bytes.len());
        &self.bytes[place(from)..place(to)]
    }

    /// Forgets what stands before a place, once that is much.
    pub(super) fn forget(&mut self, before: u64) {
        let gone = (before.saturating_sub(self.begin) as usize).min(self.bytes.len());
        if gone >= KEPT_BYTES {
            self.bytes.drain(..gone);
            self.begin += gone as u64;
        }
    }
}

/// How fields are told apart.
#[derive(Clone, Copy)]
pub(super) struct Marks {
    pub delimiter: u8,
    pub quote: u8,
    /// Before a quote within quotes; doubled quotes if there is none.
    pub escape: Option<u8>,
}

impl Marks {
    /// For each field of a record whether it begins with a quote. What stands before and behind the record may be ends of lines, or a byte order
    /// mark.
    pub(super) fn quoted(self, record: &[u8], quoted: &mut Vec<bool>) {
        let record = record.strip_prefix("\u{feff}".as_bytes()).unwrap_or(record);
        let mut at = record.iter().position(|byte| !b"\r\n".contains(byte)).unwrap_or(record.len());
        quoted.clear();
        loop {
            let is_quoted = record.get(at) == Some(&self.quote);
            quoted.push(is_quoted);
            if is_quoted {
                at = self.behind_quotes(record, at + 1);
            }
            match record[at..].iter().position(|byte| *byte == self.delimiter) {
                Some(rest) => at += rest + 1,
                None => return,
            }
        }
    }

    /// The place behind the closing quote of a text that begins at `at`.
    fn behind_quotes(self, record: &[u8], mut at: usize) -> usize {
        while let Some(byte) = record.get(at) {
            at += 1;
            if Some(*byte) == self.escape {
                at += 1;
            } else if *byte == self.quote {
                match self.escape.is_none() && record.get(at) == Some(&self.quote) {
                    true => at += 1,
                    false => return at,
                }
            }
        }
        record.len()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Keeps away: fields that are counted otherwise than the reader counts them.
    #[test]
    fn fields_in_quotes_are_found_where_the_reader_finds_fields() {
        for escape in [None, Some(b'\\')] {
            let marks = Marks { delimiter: b',', quote: b'"', escape };
            let mut state = 7u64;
            for _ in 0..20_000 {
                let mut next = |n: usize| {
                    state = state.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
                    (state >> 33) as usize % n
                };
                let length = next(24);
                let text: Vec<u8> = (0..length).map(|_| b"\"\"\",,,a\n\r\\b"[next(11)]).collect();
                let mut reader = csv::ReaderBuilder::new()
                    .has_headers(false)
                    .flexible(true)
                    .escape(escape)
                    .double_quote(escape.is_none())
                    .from_reader(Kept::new(&text[..]));
                let (mut record, mut quoted) = (csv::ByteRecord::new(), Vec::new());
                while reader.read_byte_record(&mut record).unwrap() {
                    let begin = record.position().unwrap().byte();
                    let raw = reader.get_ref().range(begin, reader.position().byte());
                    marks.quoted(raw, &mut quoted);
                    assert_eq!(quoted.len(), record.len(), "{:?}", text.escape_ascii().to_string());
                }
            }
        }
    }

    #[test]
    fn quotes_are_those_that_a_field_begins_with() {
        let marks = Marks { delimiter: b';', quote: b'\'', escape: None };
        let of = |record: &str| {
            let mut quoted = Vec::new();
            marks.quoted(record.as_bytes(), &mut quoted);
            quoted
        };
        assert_eq!(of("\u{feff}'';;a'';'a;''b';\r\n"), [true, false, false, true, false]);
        assert_eq!(of("\n''"), [true]);
    }

    #[test]
    fn bytes_are_kept_until_they_are_forgotten() {
        let text: Vec<u8> = (0..3 * KEPT_BYTES).map(|n| n as u8).collect();
        let mut kept = Kept::new(&text[..]);
        io::copy(&mut kept, &mut io::sink()).unwrap();
        kept.forget(10);
        assert_eq!(kept.range(1, 4), [1, 2, 3]);
        let at = KEPT_BYTES as u64 + 5;
        kept.forget(at);
        assert_eq!(kept.range(at, at + 3), [5, 6, 7]);
        assert_eq!(kept.bytes.len(), 2 * KEPT_BYTES - 5);
    }
}
