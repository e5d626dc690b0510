//! A text file in regions that end with a record, so that several threads can read one each.
//!
//! Whether a line's end is a record's depends on all quotes before it, so one pass over the bytes finds the ends; it looks at quotes and
//! line ends only and is far quicker than reading the records. A quote opens a field only at its beginning, as [`csv`](crate::csv) has it.

use std::io::{self, Read};

use memchr::{memchr, memchr_iter, memchr2, memrchr};

use crate::{
    Form, Format, Result,
    csv::Marks,
    source::{Input, Position, Source},
};

/// Whole records of a file.
pub struct Region {
    /// Their bytes.
    pub bytes: Vec<u8>,
    /// The line that the first begins on, from 1.
    pub first_line: u64,
    /// Whether it is the first of the file, which has the names.
    pub is_first: bool,
}

/// Cuts a file.
pub struct Regions {
    input: Input,
    /// How CSV quotes.
    marks: Option<Marks>,
    region_bytes: usize,
    /// What was read behind the last region.
    rest: Vec<u8>,
    line: u64,
    at_end: bool,
}

/// How much is read at once.
const READ_BYTES: usize = 1 << 20;
/// No record has more: a quote that is never closed does not take the whole file into memory.
const RECORD_BYTES_MAX: usize = 1 << 30;
const BYTE_ORDER_MARK: &[u8] = "\u{feff}".as_bytes();

impl Regions {
    /// Regions of about so many bytes.
    pub(crate) fn new(input: Input, format: &Format, region_bytes: usize) -> Self {
        let marks = (format.form == Form::Csv).then(|| Marks::of(format));
        Self { input, marks, region_bytes, rest: Vec::new(), line: 1, at_end: false }
    }

    /// Regions of a file. What is read of it is added to `position`.
    ///
    /// # Errors
    /// A file that cannot be read.
    pub fn open(source: &Source, format: &Format, region_bytes: usize, position: &Position) -> Result<Self> {
        Ok(Self::new(source.read(position)?, format, region_bytes))
    }

    /// The next region; none at the end.
    ///
    /// # Errors
    /// What the operating system says, or whoever decompresses.
    pub fn cut(&mut self) -> io::Result<Option<Region>> {
        let mut bytes = std::mem::take(&mut self.rest);
        let mut scan = Scan::default();
        while !self.at_end && (bytes.len() < self.region_bytes || scan.end.is_none()) {
            if bytes.len() > RECORD_BYTES_MAX.max(2 * self.region_bytes) {
                let what = format!(
                    "the record from line {} on has no end within 1 GiB; is a quote not closed?",
                    self.line
                );
                return Err(io::Error::new(io::ErrorKind::InvalidData, what));
            }
            let read = self.input.by_ref().take(READ_BYTES as u64).read_to_end(&mut bytes)?;
            self.at_end = read == 0;
            match self.marks {
                Some(marks) => scan.csv(&bytes, marks, self.at_end),
                None => scan.lines(&bytes),
            }
        }
        if let (false, Some(end)) = (self.at_end, scan.end) {
            self.rest = bytes.split_off(end);
        }
        if bytes.is_empty() {
            return Ok(None);
        }
        let (first_line, is_first) = (self.line, self.line == 1);
        if is_first && bytes.starts_with(BYTE_ORDER_MARK) {
            bytes.drain(..BYTE_ORDER_MARK.len());
        }
        self.line += memchr_iter(b'\n', &bytes).count() as u64;
        Ok(Some(Region { bytes, first_line, is_first }))
    }
}

/// How far the ends of records were looked for, from the beginning of a record on.
#[derive(Default)]
struct Scan {
    at: usize,
    in_quotes: bool,
    /// Behind the last record.
    end: Option<usize>,
}

impl Scan {
    fn note_lines(&mut self, bytes: &[u8], to: usize) {
        if let Some(line) = memrchr(b'\n', &bytes[self.at..to]) {
            self.end = Some(self.at + line + 1);
        }
        self.at = to;
    }

    fn lines(&mut self, bytes: &[u8]) {
        self.note_lines(bytes, bytes.len());
    }

    fn csv(&mut self, bytes: &[u8], marks: Marks, at_end: bool) {
        while self.at < bytes.len() {
            let rest = &bytes[self.at..];
            let found = match (self.in_quotes, marks.escape) {
                (true, Some(escape)) => memchr2(marks.quote, escape, rest),
                _ => memchr(marks.quote, rest),
            };
            let Some(found) = found.map(|offset| self.at + offset) else {
                match self.in_quotes {
                    true => self.at = bytes.len(),
                    false => self.note_lines(bytes, bytes.len()),
                }
                return;
            };
            if self.in_quotes {
                let next = bytes.get(found + 1);
                // What follows decides, and is not read yet.
                if next.is_none() && !at_end {
                    self.at = found;
                    return;
                }
                let goes_on = match marks.escape {
                    Some(escape) => bytes[found] == escape,
                    None => next == Some(&marks.quote),
                };
                match goes_on {
                    true => self.at = (found + 2).min(bytes.len()),
                    false => (self.in_quotes, self.at) = (false, found + 1),
                }
                continue;
            }
            self.note_lines(bytes, found);
            let before = found.checked_sub(1).map(|before| bytes[before]);
            let opens = before.is_none_or(|byte| matches!(byte, b'\n' | b'\r') || byte == marks.delimiter);
            let opens = opens || (found == BYTE_ORDER_MARK.len() && bytes.starts_with(BYTE_ORDER_MARK));
            (self.in_quotes, self.at) = (opens, found + 1);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Gives a few bytes at a time.
    struct Dribble(io::Cursor<Vec<u8>>, usize);

    impl Read for Dribble {
        fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
            let len = buffer.len().min(self.1);
            self.0.read(&mut buffer[..len])
        }
    }

    fn records(bytes: &[u8]) -> Vec<Vec<Vec<u8>>> {
        let mut reader = ::csv::ReaderBuilder::new().has_headers(false).flexible(true).from_reader(bytes);
        let fields = |record: ::csv::ByteRecord| record.iter().map(<[u8]>::to_vec).collect();
        reader.byte_records().map(|record| fields(record.unwrap())).collect()
    }

    // Keeps away: a record that is cut in two, because of a line's end within quotes or a quote within a field, and wrong lines in
    // messages.
    #[test]
    fn regions_have_the_records_of_the_whole() {
        let pieces = [
            "a,b\n",
            "\"x\ny\",z\n",
            "1,\"\"\"\n\"\"\"\n",
            "it\"s,\"in\"\"ch\"\"\"\r\n",
            "\n",
            "\"\",\"\n\n\"\n",
            "say \"a\nb\",c\n",
            "\"q\"tail\"\n",
            ",\"a,b\"\n",
        ];
        let mut state = 7u64;
        for _ in 0..300 {
            let mut text = String::new();
            for _ in 0..20 {
                state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
                text += pieces[(state >> 33) as usize % pieces.len()];
            }
            let whole = records(text.as_bytes());
            for region_bytes in [1, 5, 17, 1000] {
                let input = Dribble(io::Cursor::new(text.clone().into_bytes()), 1 + (state as usize % 9));
                let mut regions = Regions::new(Box::new(input), &Format::new(Form::Csv), region_bytes);
                // So small a file is read at once, so cut what was read again.
                let (mut found, mut lines, mut all) = (Vec::new(), 1, Vec::new());
                while let Some(region) = regions.cut().unwrap() {
                    assert_eq!(region.first_line, lines, "{text:?}");
                    lines += region.bytes.iter().filter(|byte| **byte == b'\n').count() as u64;
                    found.extend(records(&region.bytes));
                    all.extend(region.bytes);
                }
                assert_eq!(all, text.as_bytes());
                assert_eq!(found, whole, "{text:?} in regions of {region_bytes}");
            }
        }
    }

    // Keeps away: a file of more than a piece that is cut within a text, with other marks than the usual ones.
    #[test]
    fn escapes_are_seen_where_a_file_is_cut() {
        let row = "7;'it\\'s\nlong \\\\';x\n";
        let text = row.repeat(200_000);
        let marks = Format { delimiter: b';', quote: b'\'', escape: Some(b'\\'), ..Format::new(Form::Csv) };
        let mut regions = Regions::new(Box::new(io::Cursor::new(text.clone().into_bytes())), &marks, 100_000);
        let (mut bytes, mut count) = (0, 0);
        while let Some(region) = regions.cut().unwrap() {
            assert!(region.bytes.starts_with(b"7;") && region.bytes.ends_with(b";x\n"));
            (bytes, count) = (bytes + region.bytes.len(), count + 1);
        }
        assert_eq!(bytes, text.len());
        assert!(count > 2);
    }
}
