//! Which types the columns of a file have, from what their cells look like.
//!
//! Each cell is of one kind; a column's type is the narrowest that holds every kind that was seen in it:
//!
//! | seen | type |
//! |---|---|
//! | booleans only | `Bool` |
//! | integers only | `I64` |
//! | integers and floats, or floats only | `F64` |
//! | dates only | `Date32` |
//! | dates and timestamps, or timestamps only | `Timestamp` |
//! | anything else, or nothing | `Utf8` |
//!
//! What would not be written back as it was read is text: `007`, `+1`, an integer beyond 64 bits. A column is nullable
//! when a NULL was seen in it. One text that keeps a whole column from being a number is pointed out: `NA` often means NULL.

use ambo::{Datum, Type};
use serde_json::Value as Json;

use super::records::{BadRecord, Cell, Records};
use crate::schema::Column;

const BOOL: u8 = 1;
const INTEGER: u8 = 2;
const FLOAT: u8 = 4;
const DATE: u8 = 8;
const TIMESTAMP: u8 = 16;
const TEXT: u8 = 32;

/// What was seen in one column.
#[derive(Clone, Debug)]
struct Guess {
    name: String,
    kinds: u8,
    text: Texts,
    /// The first line without a value.
    null_line: Option<u64>,
}

/// The texts in a column.
#[derive(Clone, Debug, PartialEq)]
enum Texts {
    None,
    /// Always this one.
    One(String),
    /// Different ones, so there is nothing left to find out.
    Many,
}

/// What was seen in the records so far.
#[derive(Debug, Default)]
pub struct Inference {
    guesses: Vec<Guess>,
    records: u64,
}

impl Inference {
    /// Nothing seen yet, of columns with these names.
    pub fn new(names: &[String]) -> Self {
        let guess = |name: &String| Guess::new(name, None);
        Self { guesses: names.iter().map(guess).collect(), records: 0 }
    }

    /// Looks at the current record.
    pub fn see(&mut self, records: &Records) -> Result<(), BadRecord> {
        for name in records.members() {
            if !self.guesses.iter().any(|guess| guess.name == name) {
                // The records before this one did not have the member.
                let null_line = (self.records > 0).then_some(1);
                self.guesses.push(Guess::new(name, null_line));
            }
        }
        for (position, guess) in self.guesses.iter_mut().enumerate() {
            let cell = records.cell(position, &guess.name)?;
            guess.see(cell, records.line);
        }
        self.records += 1;
        Ok(())
    }

    /// Takes in what was seen in the records behind these, the first of which begins on `line`.
    pub fn merge(&mut self, later: Self, line: u64) {
        if later.records == 0 {
            return;
        }
        for guess in &mut self.guesses {
            if !later.guesses.iter().any(|other| other.name == guess.name) {
                guess.null_line.get_or_insert(line);
            }
        }
        for mut other in later.guesses {
            match self.guesses.iter_mut().find(|guess| guess.name == other.name) {
                Some(guess) => guess.merge(other),
                None => {
                    if self.records > 0 {
                        other.null_line = Some(1);
                    }
                    self.guesses.push(other);
                }
            }
        }
        self.records += later.records;
    }

    /// The columns. When not the whole file was seen (`sample`), every column may yet hold a NULL.
    pub fn columns(&self, sample: bool) -> Vec<Column> {
        let column = |guess: &Guess| Column {
            name: guess.name.clone(),
            ty: type_of(guess.kinds),
            nullable: sample || guess.null_line.is_some(),
        };
        self.guesses.iter().map(column).collect()
    }

    /// A key column without a value somewhere, and the line.
    pub fn null_in_key(&self, key: &[String]) -> Option<(&str, u64)> {
        let in_key = |guess: &&Guess| key.contains(&guess.name) && guess.null_line.is_some();
        self.guesses.iter().find(in_key).and_then(|guess| Some((guess.name.as_str(), guess.null_line?)))
    }

    /// Columns that are text because of one text only: the name, that text, and the type without it.
    pub fn spoiled(&self) -> impl Iterator<Item = (&str, &str, Type)> {
        self.guesses.iter().filter_map(|guess| match (&guess.text, guess.kinds & !TEXT) {
            (Texts::One(text), kinds) if type_of(kinds) != Type::Utf8 => {
                Some((guess.name.as_str(), text.as_str(), type_of(kinds)))
            }
            _ => None,
        })
    }

    /// How many records were seen.
    pub fn records(&self) -> u64 {
        self.records
    }
}

fn type_of(kinds: u8) -> Type {
    const NUMBER: u8 = INTEGER | FLOAT;
    const MOMENT: u8 = DATE | TIMESTAMP;
    match kinds {
        BOOL => Type::Bool,
        INTEGER => Type::I64,
        FLOAT | NUMBER => Type::F64,
        DATE => Type::Date32,
        TIMESTAMP | MOMENT => Type::Timestamp,
        _ => Type::Utf8,
    }
}

impl Guess {
    fn new(name: &str, null_line: Option<u64>) -> Self {
        Self { name: name.to_string(), kinds: 0, text: Texts::None, null_line }
    }

    fn merge(&mut self, later: Self) {
        self.kinds |= later.kinds;
        self.null_line = self.null_line.or(later.null_line);
        let text = std::mem::replace(&mut self.text, Texts::None);
        self.text = match (text, later.text) {
            (Texts::None, text) | (text, Texts::None) => text,
            (Texts::One(a), Texts::One(b)) if a == b => Texts::One(a),
            _ => Texts::Many,
        };
    }

    fn see(&mut self, cell: Cell<'_>, line: u64) {
        let kind = match cell {
            Cell::Null => {
                self.null_line.get_or_insert(line);
                return;
            }
            _ if self.text == Texts::Many => return,
            Cell::Text(text) => text_kind(text),
            Cell::Json(json) => json_kind(json),
        };
        self.kinds |= kind;
        if kind == TEXT {
            self.see_text(cell);
        }
    }

    fn see_text(&mut self, cell: Cell<'_>) {
        let text = match cell {
            Cell::Text(text) => text,
            Cell::Json(json) => json.as_str().unwrap_or_default(),
            Cell::Null => return,
        };
        match &self.text {
            Texts::None => self.text = Texts::One(text.to_string()),
            Texts::One(known) if known == text => {}
            _ => self.text = Texts::Many,
        }
    }
}

fn json_kind(json: &Json) -> u8 {
    match json {
        Json::Bool(_) => BOOL,
        Json::Number(number) if number.is_i64() => INTEGER,
        Json::Number(number) if number.is_f64() => FLOAT,
        // A number in quotes was meant as text.
        Json::String(text) => match text_kind(text) {
            kind @ (DATE | TIMESTAMP) => kind,
            _ => TEXT,
        },
        _ => TEXT,
    }
}

fn text_kind(text: &str) -> u8 {
    let bytes = text.as_bytes();
    match bytes.first() {
        Some(b'0'..=b'9' | b'-' | b'.') => number_kind(text),
        Some(b't' | b'T' | b'f' | b'F') if is_bool(text) => BOOL,
        Some(b'N' | b'i') if matches!(text, "NaN" | "inf") => FLOAT,
        _ => TEXT,
    }
}

fn is_bool(text: &str) -> bool {
    matches!(text, "true" | "false" | "True" | "False" | "TRUE" | "FALSE")
}

/// For what begins with a digit, a sign or a point.
fn number_kind(text: &str) -> u8 {
    let unsigned = text.strip_prefix('-').unwrap_or(text);
    let all_digits = !unsigned.is_empty() && unsigned.bytes().all(|byte| byte.is_ascii_digit());
    let padded = unsigned.len() > 1 && unsigned.starts_with('0');
    if all_digits {
        let exact = (!padded || unsigned == "0") && text.parse::<i64>().is_ok() && text != "-0";
        return if exact { INTEGER } else { TEXT };
    }
    let is_float =
        |text: &str| text.bytes().all(|b| matches!(b, b'0'..=b'9' | b'.' | b'-' | b'+' | b'e' | b'E'));
    if text == "-inf" || (is_float(text) && text.parse::<f64>().is_ok_and(f64::is_finite)) {
        return FLOAT;
    }
    moment_kind(text)
}

/// Dates are written `2013-01-31`; a timestamp has a time behind that.
fn moment_kind(text: &str) -> u8 {
    let dated = text.len() >= 10 && text.as_bytes()[4] == b'-' && text.as_bytes()[7] == b'-';
    if dated && text.len() == 10 && Datum::parse(text, Type::Date32).is_ok() {
        return DATE;
    }
    if dated && text.len() > 10 && Datum::parse(text, Type::Timestamp).is_ok() {
        return TIMESTAMP;
    }
    TEXT
}

#[cfg(test)]
mod tests {
    use super::*;

    fn guess(cells: &[&str]) -> Inference {
        let mut guess = Guess::new("c", None);
        cells.iter().for_each(|cell| guess.see(Cell::Text(cell), 1));
        Inference { guesses: vec![guess], records: cells.len() as u64 }
    }

    fn of(cells: &[&str]) -> Type {
        guess(cells).columns(false)[0].ty
    }

    // Keeps away columns that come out otherwise because several threads looked at pieces of the file.
    #[test]
    fn pieces_together_are_the_whole() {
        let cells = ["1", "2.5", "NA", "", "x", "NA", "true", "2013-01-31"];
        let look = |cells: &[&str], line: u64| {
            let mut guess = Guess::new("c", None);
            for (cell, line) in cells.iter().zip(line..) {
                guess.see(if cell.is_empty() { Cell::Null } else { Cell::Text(cell) }, line);
            }
            Inference { guesses: vec![guess], records: cells.len() as u64 }
        };
        for from in 0..cells.len() {
            for to in from..=cells.len() {
                let whole = look(&cells[from..to], 1);
                for cut in from..=to {
                    let mut merged = look(&cells[from..cut], 1);
                    let line = 1 + (cut - from) as u64;
                    merged.merge(look(&cells[cut..to], line), line);
                    // Once there are different texts, nobody looks at the kinds of cells any more.
                    let told = |inference: &Inference| {
                        let spoiled: Vec<_> = inference.spoiled().map(|found| format!("{found:?}")).collect();
                        let null = inference.null_in_key(&["c".into()]).map(|(_, line)| line);
                        (inference.columns(false), spoiled, null, inference.records())
                    };
                    assert_eq!(told(&merged), told(&whole), "{:?} at {cut}", &cells[from..to]);
                }
            }
        }
        // A member that some pieces lack may be NULL.
        let named = |name: &str| Inference { guesses: vec![Guess::new(name, None)], records: 1 };
        let mut both = named("a");
        both.merge(named("b"), 2);
        let columns = both.columns(false);
        assert_eq!(both.records(), 2);
        assert!(columns.iter().map(|c| (c.name.as_str(), c.nullable)).eq([("a", true), ("b", true)]));
    }

    // Keeps away a column of numbers that is text for the sake of NA, without a word about it.
    #[test]
    fn points_out_the_one_text_among_numbers() {
        assert_eq!(guess(&["1", "NA", "2", "NA"]).spoiled().next(), Some(("c", "NA", Type::I64)));
        assert_eq!(guess(&["1", "NA", "none"]).spoiled().next(), None);
        assert_eq!(guess(&["NA", "NA"]).spoiled().next(), None);
    }

    // Keeps away a column whose text is changed by the type that was guessed for it.
    #[test]
    fn narrowest_type_that_keeps_the_text() {
        assert_eq!(of(&["1", "-20", "0"]), Type::I64);
        assert_eq!(of(&["1", "2.5", "1e9", "-.5", "NaN", "-inf"]), Type::F64);
        assert_eq!(of(&["true", "FALSE"]), Type::Bool);
        assert_eq!(of(&["2013-01-31"]), Type::Date32);
        assert_eq!(of(&["2013-01-31", "2013-01-01T10:00:00Z"]), Type::Timestamp);
        for text in [
            "007",
            "-0",
            "+1",
            "99999999999999999999",
            "2013-02-30",
            "tru",
            "",
            "1 2",
            "1e999",
            "N14228",
            "é013-01-01x",
        ] {
            assert_eq!(of(&[text]), Type::Utf8, "{text}");
        }
        assert_eq!(of(&["1", "true"]), Type::Utf8);
        assert_eq!(of(&[]), Type::Utf8);
        assert_eq!(type_of(json_kind(&serde_json::json!("5"))), Type::Utf8);
    }
}
