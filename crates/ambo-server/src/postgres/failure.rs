//! What clients are told when something fails.

use ambo_sql::{Error, Place};

use super::message::{Malformed, write, write_text};

/// An error as PostgreSQL says it.
#[derive(Clone, Debug)]
pub(super) struct Failure {
    pub code: &'static str,
    pub message: String,
    pub hint: Option<String>,
    /// The character of the statement that it is about, from 1 on.
    pub position: Option<usize>,
}

impl Failure {
    pub fn new(code: &'static str, message: impl Into<String>) -> Self {
        Self { code, message: message.into(), hint: None, position: None }
    }

    pub fn with_hint(self, hint: impl Into<String>) -> Self {
        Self { hint: Some(hint.into()), ..self }
    }

    /// An error of a statement, which stands in what the client sent at a character.
    pub fn of(error: &Error, text: &str, begin: usize) -> Self {
        Self {
            code: error.sqlstate(),
            message: error.message().to_owned(),
            hint: error.hint().map(str::to_owned),
            position: error.place().and_then(|place| position(text, place)).map(|at| begin + at),
        }
    }

    /// Writes it as an error that the session survives, or that ends it.
    pub fn write(&self, out: &mut Vec<u8>, is_fatal: bool) {
        report(out, b'E', if is_fatal { "FATAL" } else { "ERROR" }, self);
    }

    /// Writes it as a warning or a notice.
    pub fn write_notice(&self, out: &mut Vec<u8>, severity: &str) {
        report(out, b'N', severity, self);
    }
}

impl From<Malformed> for Failure {
    fn from(Malformed(what): Malformed) -> Self {
        Self::new("08P01", format!("a message cannot be read: {what}"))
    }
}

fn report(out: &mut Vec<u8>, tag: u8, severity: &str, failure: &Failure) {
    write(out, tag, |out| {
        let mut field = |letter: u8, text: &str| {
            out.push(letter);
            write_text(out, text);
        };
        field(b'S', severity);
        field(b'V', severity);
        field(b'C', failure.code);
        field(b'M', &failure.message);
        if let Some(hint) = &failure.hint {
            field(b'H', hint);
        }
        if let Some(position) = failure.position {
            field(b'P', &position.to_string());
        }
        out.push(0);
    });
}

/// The character of a text at which a place is, from 1 on.
fn position(text: &str, place: Place) -> Option<usize> {
    let line = usize::try_from(place.line).ok()?.checked_sub(1)?;
    let before: usize = text.split_inclusive('\n').take(line).map(|line| line.chars().count()).sum();
    Some(before + usize::try_from(place.column).ok()?)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn positions_count_characters_through_lines() {
        assert_eq!(position("select 'ü',\n  x", Place { line: 2, column: 3 }), Some(15));
        assert_eq!(position("select x", Place { line: 1, column: 8 }), Some(8));
    }
}
