//! A text file in regions that end with a record, so that several threads can read one each.
//!
//! Whether a line's end is a record's depends on all quotes before it, so one pass over the bytes finds the ends; it looks at quotes and
//! line ends only and is far quicker than reading the records. A quote opens a field only at its beginning, as the `csv` crate has it.

use std::io::{self, Read};

use super::records::{Dialect, Format};
use super::source::Input;

/// Whole records of a file.
pub struct Region {
    /// Their bytes.
    pub bytes: Vec<u8>,
    /// The line that the first begins on, from 1.
    pub first_line: u64,
}

/// Cuts a file.
pub struct Regions {
    input: Input,
    quotes: Option<Quotes>,
    region_bytes: usize,
    /// What was read behind the last region.
    rest: Vec<u8>,
    line: u64,
    at_end: bool,
}

/// How CSV quotes.
#[derive(Clone, Copy)]
struct Quotes {
    delimiter: u8,
}

/// How much is read at once.
const READ_BYTES: usize = 1 << 20;
const QUOTE: u8 = b'"';

impl Regions {
    /// Regions of about so many bytes.
    pub fn new(input: Input, dialect: &Dialect, region_bytes: usize) -> Self {
        let quotes = match dialect.format {
            Format::Csv => Some(Quotes { delimiter: dialect.delimiter }),
            Format::Jsonl | Format::Parquet => None,
        };
        Self { input, quotes, region_bytes, rest: Vec::new(), line: 1, at_end: false }
    }

    /// The next region; none at the end.
    pub fn next(&mut self) -> io::Result<Option<Region>> {
        let mut bytes = std::mem::take(&mut self.rest);
        let mut scan = Scan::default();
        while !self.at_end && (bytes.len() < self.region_bytes || scan.end.is_none()) {
            let start = bytes.len();
            let read = self.input.by_ref().take(READ_BYTES as u64).read_to_end(&mut bytes)?;
            self.at_end = read == 0;
            debug_assert_eq!(bytes.len(), start + read);
            match self.quotes {
                Some(quotes) => scan.csv(&bytes, quotes, self.at_end),
                None => scan.lines(&bytes),
            }
        }
        if let (false, Some(end)) = (self.at_end, scan.end) {
            self.rest = bytes.split_off(end);
        }
        if bytes.is_empty() {
            return Ok(None);
        }
        let first_line = self.line;
        self.line += memchr::memchr_iter(b'\n', &bytes).count() as u64;
        Ok(Some(Region { bytes, first_line }))
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
        if let Some(line) = memchr::memrchr(b'\n', &bytes[self.at..to]) {
            self.end = Some(self.at + line + 1);
        }
        self.at = to;
    }

    fn lines(&mut self, bytes: &[u8]) {
        self.note_lines(bytes, bytes.len());
    }

    fn csv(&mut self, bytes: &[u8], quotes: Quotes, at_end: bool) {
        while self.at < bytes.len() {
            let quote = memchr::memchr(QUOTE, &bytes[self.at..]).map(|offset| self.at + offset);
            let Some(quote) = quote else {
                match self.in_quotes {
                    true => self.at = bytes.len(),
                    false => self.note_lines(bytes, bytes.len()),
                }
                return;
            };
            if self.in_quotes {
                match bytes.get(quote + 1) {
                    Some(&QUOTE) => self.at = quote + 2,
                    // What follows decides, and is not read yet.
                    None if !at_end => {
                        self.at = quote;
                        return;
                    }
                    _ => (self.in_quotes, self.at) = (false, quote + 1),
                }
                continue;
            }
            self.note_lines(bytes, quote);
            let before = quote.checked_sub(1).map(|before| bytes[before]);
            let opens = before.is_none_or(|byte| matches!(byte, b'\n' | b'\r') || byte == quotes.delimiter);
            (self.in_quotes, self.at) = (opens, quote + 1);
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

    fn dialect(format: Format) -> Dialect {
        Dialect { format, delimiter: b',', header: false, nulls: Vec::new() }
    }

    fn records(bytes: &[u8]) -> Vec<Vec<Vec<u8>>> {
        let mut reader = csv::ReaderBuilder::new().has_headers(false).flexible(true).from_reader(bytes);
        let fields = |record: csv::ByteRecord| record.iter().map(<[u8]>::to_vec).collect();
        reader.byte_records().map(|record| fields(record.unwrap())).collect()
    }

    // Keeps away: a record that is cut in two, because of a line's end within quotes or a quote within a field, and wrong lines in messages.
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
                let mut regions = Regions::new(Box::new(input), &dialect(Format::Csv), region_bytes);
                // So small a file is read at once, so cut what was read again.
                let (mut found, mut lines, mut all) = (Vec::new(), 1, Vec::new());
                while let Some(region) = regions.next().unwrap() {
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
}
