//! The types of columns as letters behind `query`, and the mode that writes them into the files.

use std::path::Path;

use arrow::datatypes::DataType;
use sqllogictest::{ColumnType, MakeConnection, Record, RecordOutput, Runner};

use crate::Session;

/// What a failure says of them.
pub const LEGEND: &str = "The letters behind `query` are the types of the columns: I integers, D decimals, R doubles and reals, B booleans, T texts, X blobs, U UUIDs, \
     A dates, M times of day, P timestamps, Z timestamps with time zone, V intervals, L lists, S structs and maps, N NULL alone.\n\
     If [Actual] is what the statement should return, write it into the file.";

/// The letter of a type.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Letter(char);

impl Letter {
    pub fn of(data_type: &DataType) -> Self {
        Self(match data_type {
            data_type if data_type.is_integer() => 'I',
            data_type if data_type.is_floating() => 'R',
            DataType::Decimal32(..)
            | DataType::Decimal64(..)
            | DataType::Decimal128(..)
            | DataType::Decimal256(..) => 'D',
            DataType::Boolean => 'B',
            DataType::Utf8 | DataType::LargeUtf8 | DataType::Utf8View => 'T',
            DataType::FixedSizeBinary(16) => 'U',
            DataType::Binary
            | DataType::LargeBinary
            | DataType::BinaryView
            | DataType::FixedSizeBinary(_) => 'X',
            DataType::Date32 | DataType::Date64 => 'A',
            DataType::Time32(_) | DataType::Time64(_) => 'M',
            DataType::Timestamp(_, None) => 'P',
            DataType::Timestamp(_, Some(_)) => 'Z',
            DataType::Interval(_) | DataType::Duration(_) => 'V',
            DataType::List(_)
            | DataType::LargeList(_)
            | DataType::FixedSizeList(..)
            | DataType::ListView(_)
            | DataType::LargeListView(_) => 'L',
            DataType::Struct(_) | DataType::Map(..) => 'S',
            DataType::Null => 'N',
            DataType::Dictionary(_, values) => return Self::of(values),
            _ => '?',
        })
    }
}

impl ColumnType for Letter {
    fn from_char(letter: char) -> Option<Self> {
        Some(Self(letter))
    }

    fn to_char(&self) -> char {
        self.0
    }
}

/// Writes behind each `query` of a file what types the statements of it return. Returns how many were others before.
pub fn write<M: MakeConnection<Conn = Session>>(file: &Path, runner: &mut Runner<Session, M>) -> usize {
    let text = std::fs::read_to_string(file).expect("a file");
    let mut lines: Vec<String> = text.lines().map(str::to_owned).collect();
    let mut changed = 0;
    let records = sqllogictest::parse_file::<Letter>(file).expect("the form of the tests");
    let threads = tokio::runtime::Builder::new_current_thread().build().expect("a runtime");
    for record in records {
        let place = match &record {
            Record::Halt { .. } => break,
            Record::Query { loc, .. } => Some(loc.line() as usize - 1),
            _ => None,
        };
        let output = threads.block_on(runner.apply_record(record));
        let (Some(place), RecordOutput::Query { types, error: None, .. }) = (place, output) else { continue };
        let letters: String = types.iter().map(Letter::to_char).collect();
        let mut words: Vec<&str> = lines[place].split(' ').collect();
        if words.len() > 1 && words[1] != letters && words[1] != "error" {
            words[1] = &letters;
            lines[place] = words.join(" ");
            changed += 1;
        }
    }
    if changed > 0 {
        std::fs::write(file, lines.join("\n") + "\n").expect("a file");
    }
    changed
}
