//! Which types the columns of a file have, from what their cells look like.
//!
//! Each cell is of one kind; a column's type is the narrowest that holds every cell as it is written:
//!
//! | seen | type |
//! |---|---|
//! | booleans only | `Bool` |
//! | integers of 64 bits only | `I64` |
//! | numbers that are all the same as doubles | `F64` |
//! | numbers of which some are not, up to 38 digits | `Decimal128` |
//! | dates only | `Date32` |
//! | dates and timestamps, or timestamps only | `Timestamp` |
//! | anything else, or nothing | `Utf8` |
//!
//! What would not be written back as it was read is text: `007`, `+1`, moments between two microseconds. A column is nullable
//! when a NULL was seen in it. One text that keeps a whole column from being a number is pointed out: `NA` often means NULL.

use ambo::{Datum, Type};

use crate::{
    BadRecord, Column,
    number::{Number, Shape, number},
    records::{Cell, Records},
};

const BOOL: u16 = 1;
const INTEGER: u16 = 2;
/// A number that is the same as a double.
const FLOAT: u16 = 4;
const DATE: u16 = 8;
const TIMESTAMP: u16 = 16;
const TEXT: u16 = 32;
/// A number that is another as a double.
const EXACT: u16 = 64;
/// An integer of 64 bits that is another as a double.
const LARGE: u16 = 128;
/// A number without a place for each digit: `1e300`, `inf`.
const WIDE: u16 = 256;
/// JSON has no numbers for these.
const NAMED: u16 = 512;
/// A list or an object.
const NESTED: u16 = 1024;

/// What was seen in one column.
#[derive(Clone, Debug)]
struct Guess {
    name: String,
    kinds: u16,
    /// Digits of its numbers.
    shape: Shape,
    text: Texts,
    /// The first line without a value.
    null_line: Option<u64>,
    /// The first line with what is NULL unless the column is text.
    quoted_line: Option<u64>,
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
#[derive(Clone, Debug, Default)]
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
    ///
    /// # Errors
    /// Text that is not UTF-8.
    pub fn see(&mut self, records: &Records) -> Result<(), BadRecord> {
        if records.has_members() {
            for (position, name) in records.members().enumerate() {
                let is_known = self.guesses.get(position).is_some_and(|guess| guess.name == name)
                    || self.guesses.iter().any(|guess| guess.name == name);
                if !is_known {
                    // The records before this one did not have the member.
                    let null_line = (self.records > 0).then_some(1);
                    self.guesses.push(Guess::new(name, null_line));
                }
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
        if later.records == 0 && !self.guesses.is_empty() {
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
            ty: guess.ty(guess.kinds),
            nullable: sample || guess.null_line().is_some(),
        };
        self.guesses.iter().map(column).collect()
    }

    /// The columns of lists and objects only, by their places.
    pub(crate) fn nested(&self) -> Vec<usize> {
        (0..self.guesses.len()).filter(|place| self.guesses[*place].kinds == NESTED).collect()
    }

    /// A key column without a value somewhere, and the line.
    pub fn null_in_key(&self, key: &[String]) -> Option<(&str, u64)> {
        let in_key = |guess: &&Guess| key.contains(&guess.name) && guess.null_line().is_some();
        self.guesses.iter().find(in_key).and_then(|guess| Some((guess.name.as_str(), guess.null_line()?)))
    }

    /// Columns that are text because of one text only: the name, that text, and the type without it.
    pub fn spoiled(&self) -> impl Iterator<Item = (&str, &str, Type)> {
        self.guesses.iter().filter_map(|guess| match (&guess.text, guess.ty(guess.kinds & !TEXT)) {
            (Texts::One(text), ty) if ty != Type::Utf8 => Some((guess.name.as_str(), text.as_str(), ty)),
            _ => None,
        })
    }

    /// How many records were seen.
    pub fn records(&self) -> u64 {
        self.records
    }
}

impl Guess {
    fn new(name: &str, null_line: Option<u64>) -> Self {
        let (kinds, shape, text) = (0, Shape::default(), Texts::None);
        Self { name: name.to_string(), kinds, shape, text, null_line, quoted_line: None }
    }

    fn ty(&self, kinds: u16) -> Type {
        const NUMBER: u16 = INTEGER | FLOAT | WIDE | LARGE | EXACT;
        const MOMENT: u16 = DATE | TIMESTAMP;
        let numbers = kinds & !NAMED;
        match kinds {
            BOOL => Type::Bool,
            DATE => Type::Date32,
            _ if kinds != 0 && kinds & !MOMENT == 0 => Type::Timestamp,
            _ if numbers == 0 || numbers & !NUMBER != 0 => Type::Utf8,
            _ if kinds & !(INTEGER | LARGE) == 0 => Type::I64,
            _ if kinds & (EXACT | LARGE) == 0 => Type::F64,
            _ if kinds & (WIDE | NAMED) != 0 => Type::Utf8,
            _ => self.shape.decimal().unwrap_or(Type::Utf8),
        }
    }

    fn null_line(&self) -> Option<u64> {
        match (self.null_line, self.quoted_line) {
            (line, _) if self.ty(self.kinds) == Type::Utf8 => line,
            (Some(line), Some(quoted)) => Some(line.min(quoted)),
            (line, quoted) => line.or(quoted),
        }
    }

    fn merge(&mut self, later: Self) {
        self.kinds |= later.kinds;
        self.shape.merge(later.shape);
        self.null_line = self.null_line.or(later.null_line);
        self.quoted_line = self.quoted_line.or(later.quoted_line);
        let text = std::mem::replace(&mut self.text, Texts::None);
        self.text = match (text, later.text) {
            (Texts::None, text) | (text, Texts::None) => text,
            (Texts::One(a), Texts::One(b)) if a == b => Texts::One(a),
            _ => Texts::Many,
        };
    }

    fn see(&mut self, cell: Cell<'_>, line: u64) {
        match cell {
            Cell::Null | Cell::Empty => {
                self.null_line.get_or_insert(line);
                return;
            }
            Cell::Quoted(_) => {
                self.quoted_line.get_or_insert(line);
                return;
            }
            _ => {}
        }
        if self.text == Texts::Many {
            return;
        }
        let kind = match cell {
            Cell::Null | Cell::Empty | Cell::Quoted(_) => return,
            Cell::Bool(_) => BOOL,
            Cell::Nested(_) => NESTED,
            Cell::Number(text) => self.number(text),
            Cell::Text(text) => self.text_kind(text),
            // A number in quotes was meant as text.
            Cell::String(text) => match text {
                "NaN" | "inf" | "-inf" => NAMED,
                text => moment_kind(text),
            },
        };
        self.kinds |= kind;
        if let (TEXT, Cell::Text(text) | Cell::String(text)) = (kind, cell) {
            self.see_text(text);
        }
    }

    fn see_text(&mut self, text: &str) {
        match &self.text {
            Texts::None => self.text = Texts::One(text.to_string()),
            Texts::One(known) if known == text => {}
            _ => self.text = Texts::Many,
        }
    }

    fn text_kind(&mut self, text: &str) -> u16 {
        match text.as_bytes().first() {
            Some(b'0'..=b'9' | b'-' | b'.') => match self.number(text) {
                TEXT => moment_kind(text),
                kind => kind,
            },
            Some(b't' | b'T' | b'f' | b'F') if is_bool(text) => BOOL,
            Some(b'N' | b'i') if matches!(text, "NaN" | "inf") => NAMED,
            _ => TEXT,
        }
    }

    fn number(&mut self, text: &str) -> u16 {
        match number(text) {
            None if text == "-inf" => NAMED,
            None => TEXT,
            Some(Number::Wide { is_kept: true }) => WIDE,
            Some(Number::Wide { is_kept: false }) => TEXT,
            Some(Number::Plain { shape, is_integer, is_double }) => {
                self.shape.merge(shape);
                match (is_integer, is_double) {
                    (true, true) => INTEGER,
                    (true, false) => LARGE,
                    (false, true) => FLOAT,
                    (false, false) => EXACT,
                }
            }
        }
    }
}

fn is_bool(text: &str) -> bool {
    matches!(text, "true" | "false" | "True" | "False" | "TRUE" | "FALSE")
}

/// Dates are written `2013-01-31`; a timestamp has a time behind that, which is not of another zone than UTC.
fn moment_kind(text: &str) -> u16 {
    let bytes = text.as_bytes();
    let dated = bytes.len() >= 10 && bytes[4] == b'-' && bytes[7] == b'-';
    if dated && bytes.len() == 10 && Datum::parse(text, Type::Date32).is_ok() {
        return DATE;
    }
    let is_plain =
        |text: &str| text.bytes().all(|byte| matches!(byte, b'0'..=b'9' | b':' | b'.' | b' ' | b'T' | b't'));
    let time = || is_plain(text[10..].trim_end_matches(['Z', 'z']));
    if dated && bytes.len() > 10 && text.is_ascii() && time() && Datum::parse(text, Type::Timestamp).is_ok() {
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
        let cells = ["1", "2.5", "NA", "", "x", "NA", "true", "2013-01-31", "\"\"", "12345678901234567.89"];
        let look = |cells: &[&str], line: u64| {
            let mut guess = Guess::new("c", None);
            for (cell, line) in cells.iter().zip(line..) {
                let cell = match *cell {
                    "" => Cell::Null,
                    "\"\"" => Cell::Quoted(""),
                    cell => Cell::Text(cell),
                };
                guess.see(cell, line);
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
            "2013-02-30",
            "tru",
            "",
            "1 2",
            "1e999",
            "N14228",
            "é013-01-01x",
            "2013-01-01 10:00:00.0000001",
            "2013-01-01 10:00:00+02:00",
        ] {
            assert_eq!(of(&[text]), Type::Utf8, "{text}");
        }
        assert_eq!(of(&["1", "true"]), Type::Utf8);
        assert_eq!(of(&["2013-01-31", "1"]), Type::Utf8);
        assert_eq!(of(&[]), Type::Utf8);
        // What doubles would change.
        assert_eq!(of(&["9007199254740993", "1"]), Type::I64);
        assert_eq!(of(&["9007199254740993", "1.5"]), Type::decimal(17, 1).unwrap());
        assert_eq!(of(&["12345678901234567890.10"]), Type::decimal(22, 2).unwrap());
        assert_eq!(of(&["18446744073709551615", "5"]), Type::decimal(20, 0).unwrap());
        assert_eq!(of(&["12345678901234567.89", "1e300"]), Type::Utf8);
        assert_eq!(of(&["12345678901234567.89", "NaN"]), Type::Utf8);
        assert_eq!(of(&["1", &"9".repeat(39)]), Type::Utf8);
        let strings = |texts: &[&str]| {
            let mut guess = Guess::new("c", None);
            texts.iter().for_each(|text| guess.see(Cell::String(text), 1));
            guess.see(Cell::Number("1.5"), 1);
            guess.ty(guess.kinds)
        };
        assert_eq!(strings(&["5"]), Type::Utf8);
        assert_eq!(strings(&["NaN", "-inf"]), Type::F64);
    }

    // Keeps away: an empty text that is taken for NULL, and the other way round.
    #[test]
    fn empty_texts_are_no_nulls() {
        let nullable = |cells: &[Cell<'_>]| {
            let mut guess = Guess::new("c", None);
            cells.iter().for_each(|cell| guess.see(*cell, 1));
            Inference { guesses: vec![guess], records: 2 }.columns(false)[0].nullable
        };
        assert!(!nullable(&[Cell::Quoted(""), Cell::Text("a")]));
        assert!(nullable(&[Cell::Quoted(""), Cell::Text("1")]));
        assert!(nullable(&[Cell::Null, Cell::Text("a")]));
    }
}
