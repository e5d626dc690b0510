//! What the user typed as a key or a value, in the shell or at the prompt.
//!
//! In the shell a word is text with escapes ([`crate::text`]). At the prompt it may also be quoted, with `"` or
//! `'`, whole or in part, so that it can hold blanks; `NULL` without quotes is no value.

use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;

use ambo::{Datum, Type};

use crate::datum;
use crate::failure::{Failure, Result};
use crate::schema::Column;
use crate::text::unescape;

/// A word, read.
#[derive(Clone, Debug, PartialEq)]
pub struct Word {
    /// What it means.
    pub bytes: Vec<u8>,
    /// Whether any of it stood in quotes.
    quoted: bool,
}

/// Where words are typed.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Spelling {
    /// As an argument of the program: the shell has taken the quotes away.
    Shell,
    /// At the prompt.
    Prompt,
}

impl Spelling {
    /// Reads a word.
    pub fn read(self, raw: &OsStr) -> Result<Word> {
        let raw = raw.as_bytes();
        let word = match self {
            Self::Shell => unescape(raw).map(|bytes| Word { bytes, quoted: false }),
            Self::Prompt => read_quoted(raw),
        };
        word.map_err(Failure::Usage)
    }

    /// Reads several.
    pub fn read_all<S: AsRef<OsStr>>(self, raw: &[S]) -> Result<Vec<Word>> {
        raw.iter().map(|raw| self.read(raw.as_ref())).collect()
    }
}

fn read_quoted(raw: &[u8]) -> Result<Word, String> {
    let mut word = Word { bytes: Vec::with_capacity(raw.len()), quoted: false };
    for piece in pieces(raw) {
        let quoted = matches!(piece.first(), Some(b'"' | b'\''));
        let inner = if quoted { &piece[1..piece.len() - 1] } else { piece };
        word.quoted |= quoted;
        word.bytes.extend(unescape(inner)?);
    }
    Ok(word)
}

/// Runs of quoted and of unquoted text; [`split`] has seen that every quote is closed.
fn pieces(raw: &[u8]) -> Vec<&[u8]> {
    let mut pieces = Vec::new();
    let mut rest = raw;
    while let Some(&first) = rest.first() {
        let end = match first {
            b'"' | b'\'' => closing_quote(rest).map_or(rest.len(), |close| close + 1),
            _ => unquoted_end(rest),
        };
        pieces.push(&rest[..end]);
        rest = &rest[end..];
    }
    pieces
}

/// Where the quote that opens `text` is closed.
fn closing_quote(text: &[u8]) -> Option<usize> {
    let quote = text[0];
    let mut i = 1;
    while i < text.len() {
        match text[i] {
            b'\\' => i += 2,
            byte if byte == quote => return Some(i),
            _ => i += 1,
        }
    }
    None
}

fn unquoted_end(text: &[u8]) -> usize {
    let mut i = 0;
    while i < text.len() && !matches!(text[i], b'"' | b'\'') {
        i += if text[i] == b'\\' { 2 } else { 1 };
    }
    i.min(text.len())
}

/// Splits a line at the prompt into words, quotes and escapes still in them. `#` begins a comment.
pub fn split(line: &str) -> Result<Vec<String>> {
    let bytes = line.as_bytes();
    let mut words = Vec::new();
    let mut i = 0;
    while i < bytes.len() {
        if bytes[i].is_ascii_whitespace() {
            i += 1;
        } else if bytes[i] == b'#' {
            break;
        } else {
            let end = word_end(bytes, i)?;
            words.push(line[i..end].to_string());
            i = end;
        }
    }
    Ok(words)
}

fn word_end(bytes: &[u8], start: usize) -> Result<usize> {
    let mut i = start;
    while i < bytes.len() && !bytes[i].is_ascii_whitespace() {
        i += match bytes[i] {
            b'"' | b'\'' => {
                1 + closing_quote(&bytes[i..]).ok_or_else(|| {
                    Failure::usage(format!("a quote {} is not closed", char::from(bytes[i])))
                })?
            }
            b'\\' => 1 + bytes.get(i + 1).map_or(0, |&next| utf8_length(next)),
            _ => 1,
        };
    }
    Ok(i.min(bytes.len()))
}

fn utf8_length(first: u8) -> usize {
    (first.leading_ones() as usize).max(1)
}

impl Word {
    fn is_null(&self) -> bool {
        !self.quoted && self.bytes == b"NULL"
    }

    /// The word as a value of a column.
    pub fn datum(&self, column: &Column) -> Result<Datum> {
        if self.is_null() {
            return match column.nullable {
                true => Ok(Datum::Null),
                false => Err(Failure::usage(format!("column {} cannot be NULL", column.name))),
            };
        }
        if column.ty == Type::Binary {
            return Ok(Datum::Binary(self.bytes.clone()));
        }
        let text = std::str::from_utf8(&self.bytes)
            .map_err(|_| Failure::usage(format!("column {}: the text is not UTF-8", column.name)))?;
        datum::parse(text, column.ty)
            .map_err(|error| Failure::usage(format!("column {}: {error}", column.name)))
    }
}

/// As many words as columns, as a row.
pub fn row(words: &[Word], columns: &[Column], what: &str) -> Result<Vec<Datum>> {
    if words.len() != columns.len() {
        let names: Vec<&str> = columns.iter().map(|column| column.name.as_str()).collect();
        return Err(Failure::usage(format!(
            "{what} takes {} values here, not {}: {}",
            columns.len(),
            words.len(),
            names.join(" ")
        )));
    }
    words.iter().zip(columns).map(|(word, column)| word.datum(column)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(line: &str) -> Vec<String> {
        let words = Spelling::Prompt.read_all(&split(line).unwrap()).unwrap();
        words.iter().map(|word| crate::text::escape(&word.bytes)).collect()
    }

    // Keeps away a quote or an escape that ends a word too early or too late.
    #[test]
    fn quotes_and_escapes() {
        assert_eq!(read(r#"put "a b" 'c"d'  # not this"#), ["put", "a b", "c\"d"]);
        assert_eq!(read(r#""a\"b" x"y z"w \xff\x00 a\ b"#), ["a\"b", "xy zw", "\\xff\\0", "a b"]);
        assert_eq!(read(r#""" ü"#), ["", "ü"]);
        for wrong in ["\"a", "'", "x'y", "\"\\\""] {
            assert!(split(wrong).is_err(), "{wrong}");
        }
        assert!(Spelling::Prompt.read("\\q".as_ref()).is_err());
        assert!(Spelling::Prompt.read_all(&split("\\").unwrap()).is_err());
    }

    // Keeps away the text "NULL" that becomes no value although it was quoted.
    #[test]
    fn null_is_bare() {
        let column = Column { name: "c".into(), ty: Type::Utf8, nullable: true };
        let read = |raw: &str| Spelling::Prompt.read(raw.as_ref()).unwrap().datum(&column).unwrap();
        assert_eq!(read("NULL"), Datum::Null);
        assert_eq!(read("'NULL'"), Datum::Utf8("NULL".into()));
    }
}
