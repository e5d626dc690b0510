//! The text form of PostgreSQL's COPY: a line a row, fields between tabs, `\N` for NULL, and backslashes before what would be a mark.
//!
//! What comes in is kept as JSON lines, one for each line, so that it is read as other files are: a value that does not fit is told with
//! its line.

use std::{
    fs::File,
    io::{BufRead, BufReader, BufWriter, Read, Write},
    path::Path,
};

use arrow_array::{Array, RecordBatch, cast::AsArray};
use arrow_schema::DataType;

use crate::{
    BadRecord, Error, Result,
    text::escape,
    write::{CellForm as Form, bytes_at, read, unpacked},
};

/// How rows are written as text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CopyText {
    /// Between fields.
    pub delimiter: u8,
    /// What stands for NULL.
    pub null: String,
    /// Whether the first line has names. They are passed over.
    pub header: bool,
}

impl Default for CopyText {
    fn default() -> Self {
        Self { delimiter: b'\t', null: "\\N".into(), header: false }
    }
}

impl CopyText {
    /// # Errors
    /// Marks that cannot be told from values.
    pub fn check(&self) -> Result<()> {
        let is_taken =
            |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'\\' | b'\r' | b'\n' | b'.');
        if is_taken(self.delimiter) {
            let mark = char::from(self.delimiter).escape_default();
            return Err(Error::request(format!("the delimiter of text cannot be '{mark}'")));
        }
        let is_mark = |byte: u8| byte == self.delimiter || matches!(byte, b'\r' | b'\n');
        match self.null.bytes().any(is_mark) {
            true => Err(Error::request("what stands for NULL has the delimiter or the end of a line in it")),
            false => Ok(()),
        }
    }

    /// Keeps the rows of a stream as JSON lines, with these names; those of `bytes` are of bytes. `\.` ends them.
    ///
    /// # Errors
    /// A line with too few or too many fields, or that is no UTF-8; what the system says.
    pub(crate) fn keep(&self, stream: &mut dyn Read, path: &Path, names: &[(&str, bool)]) -> Result<File> {
        let failed = |error: std::io::Error| Error::io(path, &error);
        let mut kept = BufWriter::new(tempfile::tempfile().map_err(failed)?);
        let (mut lines, mut line, mut number) = (BufReader::new(stream), Vec::new(), 0);
        let keys: Vec<_> = names.iter().map(|(name, _)| serde_json::Value::from(*name).to_string()).collect();
        loop {
            line.clear();
            number += 1;
            if lines.read_until(b'\n', &mut line).map_err(failed)? == 0 || is_end(&line) {
                break;
            }
            let first = number;
            // A backslash takes the end of the line into the value.
            while line.ends_with(b"\n") && ends_escaped(&line[..line.len() - 1]) {
                number += 1;
                if lines.read_until(b'\n', &mut line).map_err(failed)? == 0 {
                    break;
                }
            }
            if first == 1 && self.header {
                kept.write_all(b"\n").map_err(failed)?;
                continue;
            }
            let row = self.json(without_end(&line), &keys, names).map_err(|(column, what)| {
                BadRecord { line: first, column: column.map(|place| names[place].0.to_owned()), what }
                    .in_file(path)
            })?;
            kept.write_all(&row).map_err(failed)?;
            // Lines have their numbers.
            (first..=number).try_for_each(|_| kept.write_all(b"\n")).map_err(failed)?;
        }
        kept.into_inner().map_err(|error| failed(error.into_error()))
    }

    /// A line as an object of JSON.
    fn json(
        &self,
        line: &[u8],
        keys: &[String],
        names: &[(&str, bool)],
    ) -> Result<Vec<u8>, (Option<usize>, String)> {
        let fields = self.fields(line);
        if fields.len() != keys.len() {
            return Err((None, format!("{} fields where {} were expected", fields.len(), keys.len())));
        }
        let mut row = b"{".to_vec();
        for (nth, (field, key)) in fields.into_iter().zip(keys).enumerate() {
            if nth > 0 {
                row.push(b',');
            }
            row.extend_from_slice(key.as_bytes());
            row.push(b':');
            if field == self.null.as_bytes() {
                row.extend_from_slice(b"null");
                continue;
            }
            let text = String::from_utf8(plain(field));
            let text = text.map_err(|_| (Some(nth), "the text is not UTF-8".to_owned()))?;
            let text = match text.strip_prefix("\\x").filter(|_| names[nth].1) {
                Some(digits) => {
                    escape(&hex(digits).ok_or_else(|| (Some(nth), format!("'{text}' are no bytes")))?)
                }
                None => text,
            };
            row.extend_from_slice(serde_json::Value::from(text).to_string().as_bytes());
        }
        row.push(b'}');
        Ok(row)
    }

    fn fields<'l>(&self, line: &'l [u8]) -> Vec<&'l [u8]> {
        let (mut fields, mut begin, mut at) = (Vec::new(), 0, 0);
        while at < line.len() {
            match line[at] {
                b'\\' => at += 1,
                byte if byte == self.delimiter => {
                    fields.push(&line[begin..at]);
                    begin = at + 1;
                }
                _ => {}
            }
            at += 1;
        }
        fields.push(&line[begin..]);
        fields
    }
}

/// Writes rows as text.
pub struct CopyTextRows(pub CopyText);

impl CopyTextRows {
    /// Appends the line of names, if there is one.
    pub fn head<'n>(&self, names: impl Iterator<Item = &'n str>, out: &mut Vec<u8>) {
        if !self.0.header {
            return;
        }
        for (nth, name) in names.enumerate() {
            if nth > 0 {
                out.push(self.0.delimiter);
            }
            write_copy_text(name.as_bytes(), self.0.delimiter, out);
        }
        out.push(b'\n');
    }

    /// Appends rows.
    ///
    /// # Errors
    /// A value that has no text.
    pub fn batch(&self, batch: &RecordBatch, out: &mut Vec<u8>) -> Result<(), String> {
        let arrays = batch.columns().iter().map(unpacked).collect::<Result<Vec<_>, _>>()?;
        let forms = arrays.iter().map(|array| Form::of(array.as_ref())).collect::<Result<Vec<_>, _>>()?;
        let mut text = String::new();
        for row in 0..batch.num_rows() {
            for (nth, (array, form)) in arrays.iter().zip(&forms).enumerate() {
                if nth > 0 {
                    out.push(self.0.delimiter);
                }
                if array.is_null(row) || *array.data_type() == DataType::Null {
                    out.extend_from_slice(self.0.null.as_bytes());
                    continue;
                }
                match array.data_type() {
                    DataType::Boolean => out.push(if array.as_boolean().value(row) { b't' } else { b'f' }),
                    _ if matches!(form, Form::Bytes) => {
                        out.extend_from_slice(b"\\\\x");
                        for byte in bytes_at(array.as_ref(), row) {
                            write!(out, "{byte:02x}").map_err(|error| error.to_string())?;
                        }
                    }
                    _ => {
                        read(array.as_ref(), form, row, &mut text)?;
                        write_copy_text(text.as_bytes(), self.0.delimiter, out);
                    }
                }
            }
            out.push(b'\n');
        }
        Ok(())
    }
}

/// Writes a field of PostgreSQL's text, with backslashes before what would be taken for something else.
pub fn write_copy_text(field: &[u8], delimiter: u8, out: &mut Vec<u8>) {
    for byte in field.iter().copied() {
        let letter = match byte {
            b'\\' => b'\\',
            b'\n' => b'n',
            b'\r' => b'r',
            b'\t' => b't',
            8 => b'b',
            11 => b'v',
            12 => b'f',
            byte if byte == delimiter => byte,
            byte => {
                out.push(byte);
                continue;
            }
        };
        out.extend_from_slice(&[b'\\', letter]);
    }
}

fn without_end(line: &[u8]) -> &[u8] {
    let line = line.strip_suffix(b"\n").unwrap_or(line);
    line.strip_suffix(b"\r").unwrap_or(line)
}

fn is_end(line: &[u8]) -> bool {
    without_end(line) == b"\\."
}

/// Whether a backslash is left open at the end.
fn ends_escaped(line: &[u8]) -> bool {
    line.iter().rev().take_while(|byte| **byte == b'\\').count() % 2 == 1
}

/// What a field with backslashes means.
fn plain(field: &[u8]) -> Vec<u8> {
    let (mut plain, mut rest) = (Vec::with_capacity(field.len()), field);
    while let [first, tail @ ..] = rest {
        rest = tail;
        let ([escape, behind @ ..], b'\\') = (tail, first) else {
            plain.push(*first);
            continue;
        };
        rest = behind;
        let number = |digits: &[u8], radix: u32, most: usize| {
            let length =
                digits.iter().take(most).take_while(|digit| char::from(**digit).is_digit(radix)).count();
            let value = digits[..length].iter().fold(0, |value: u32, digit| {
                value * radix + char::from(*digit).to_digit(radix).unwrap_or_default()
            });
            (value as u8, length)
        };
        plain.push(match escape {
            b'b' => 8,
            b'f' => 12,
            b'n' => b'\n',
            b'r' => b'\r',
            b't' => b'\t',
            b'v' => 11,
            b'0'..=b'7' => {
                let (byte, length) = number(tail, 8, 3);
                rest = &tail[length..];
                byte
            }
            b'x' if behind.first().is_some_and(u8::is_ascii_hexdigit) => {
                let (byte, length) = number(behind, 16, 2);
                rest = &behind[length..];
                byte
            }
            other => *other,
        });
    }
    plain
}

fn hex(digits: &str) -> Option<Vec<u8>> {
    let digits = digits.as_bytes();
    let of = |digit: u8| char::from(digit).to_digit(16);
    match digits.len() % 2 {
        0 => digits.chunks(2).map(|two| Some((of(two[0])? * 16 + of(two[1])?) as u8)).collect(),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use std::{io::Seek, sync::Arc};

    use arrow_array::{ArrayRef, BinaryArray, BooleanArray, StringArray};

    use super::*;

    fn kept(text: &str, names: &[(&str, bool)], form: &CopyText) -> Result<String> {
        let mut file = form.keep(&mut text.as_bytes(), Path::new("rows"), names)?;
        let mut lines = String::new();
        file.rewind().unwrap();
        file.read_to_string(&mut lines).unwrap();
        Ok(lines)
    }

    /// Keeps away: values that a backslash changes, a NULL that is a text, lines that are counted wrong.
    #[test]
    fn rows_are_read_as_postgresql_writes_them() {
        let names = [("a", false), ("b \"c\"", true)];
        let text = "1\t\\N\n\\\\N\t\\\\xFF00\r\nx\\ty\\101\\x42\\q\\\nz\tb\n\\.\nnot read\n";
        let lines = kept(text, &names, &CopyText::default()).unwrap();
        assert_eq!(
            lines,
            "{\"a\":\"1\",\"b \\\"c\\\"\":null}\n{\"a\":\"\\\\N\",\"b \\\"c\\\"\":\"\\\\xff\\\\0\"}\n\
             {\"a\":\"x\\tyABq\\nz\",\"b \\\"c\\\"\":\"b\"}\n\n"
        );
        let form = CopyText { delimiter: b'|', null: String::new(), header: true };
        assert_eq!(kept("a|b\n|\\|\n", &names, &form).unwrap(), "\n{\"a\":null,\"b \\\"c\\\"\":\"|\"}\n");
        let error = kept("1\t2\n3\n", &names, &CopyText::default()).unwrap_err();
        assert_eq!(error.message(), "rows: line 2: 1 fields where 2 were expected");
        let error = kept("1\t\\\\x1\n", &names, &CopyText::default()).unwrap_err();
        assert!(error.message().contains("line 1, column \"b \"c\"\""), "{error}");
        let error = CopyText { delimiter: b'n', ..CopyText::default() }.check().unwrap_err();
        assert_eq!(error.message(), "the delimiter of text cannot be 'n'");
        let error = CopyText { null: "\t".into(), ..CopyText::default() }.check().unwrap_err();
        assert!(error.message().starts_with("what stands for NULL has the delimiter"), "{error}");
    }

    /// Keeps away: rows that are not read as what was written.
    #[test]
    fn rows_that_were_written_are_read() {
        let texts: Vec<Option<&str>> = vec![Some("a\tb\\\n"), None, Some(""), Some("\\N"), Some("\u{b}é")];
        let bytes: Vec<Option<&[u8]>> = vec![Some(b"\0\xff\\"), Some(b""), None, Some(b"x"), Some(b"\n")];
        let columns: [(&str, ArrayRef); 3] = [
            ("t", Arc::new(StringArray::from(texts))),
            ("b", Arc::new(BinaryArray::from_opt_vec(bytes))),
            ("o", Arc::new(BooleanArray::from(vec![true, false, true, true, false]))),
        ];
        let batch = RecordBatch::try_from_iter(columns).unwrap();
        let mut out = Vec::new();
        CopyTextRows(CopyText::default()).batch(&batch, &mut out).unwrap();
        let out = String::from_utf8(out).unwrap();
        assert_eq!(out.lines().next(), Some("a\\tb\\\\\\n\t\\\\x00ff5c\tt"));
        let lines = kept(&out, &[("t", false), ("b", true), ("o", false)], &CopyText::default()).unwrap();
        let lines: Vec<_> = lines.lines().collect();
        assert_eq!(lines[0], "{\"t\":\"a\\tb\\\\\\n\",\"b\":\"\\\\0\\\\xff\\\\\\\\\",\"o\":\"t\"}");
        assert_eq!(lines[1], "{\"t\":null,\"b\":\"\",\"o\":\"f\"}");
        assert_eq!(lines[3], "{\"t\":\"\\\\N\",\"b\":\"x\",\"o\":\"t\"}");
        assert_eq!(lines[4], "{\"t\":\"\\u000bé\",\"b\":\"\\\\n\",\"o\":\"f\"}");
    }
}
