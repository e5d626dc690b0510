//! What a query returned, in values that both databases have.

use std::fmt;

use ambo::Datum;
use rusqlite::types::ValueRef;

use crate::engine::Result;

/// Answers with more rows than these are not compared.
const ROWS_MAX: usize = 50_000;

/// A value. Booleans are 0 and 1, as in SQLite.
#[derive(Clone, Debug, PartialEq)]
pub enum Cell {
    Null,
    Number(f64),
    Text(String),
}

/// Rows.
pub struct Answer(pub Vec<Vec<Cell>>);

impl Answer {
    pub fn sorted(mut self) -> Self {
        self.0.sort_by_cached_key(|row| row.iter().map(Cell::rounded).collect::<Vec<_>>());
        self
    }

    /// Whether both have the same rows, but for how floats were added.
    pub fn is_like(&self, other: &Self) -> bool {
        self.0.len() == other.0.len() && self.0.iter().zip(&other.0).all(|(a, b)| rows_are_alike(a, b))
    }
}

fn rows_are_alike(a: &[Cell], b: &[Cell]) -> bool {
    let alike = |(a, b): (&Cell, &Cell)| match (a, b) {
        (Cell::Number(a), Cell::Number(b)) => (a - b).abs() <= 1e-9 * a.abs().max(b.abs()).max(1.0),
        (a, b) => a == b,
    };
    a.len() == b.len() && a.iter().zip(b).all(alike)
}

impl Cell {
    /// Text that is the same for values that are alike, nearly always.
    fn rounded(&self) -> String {
        match self {
            Self::Null => String::new(),
            Self::Number(number) => format!("1{number:.6}"),
            Self::Text(text) => format!("2{text}"),
        }
    }
}

impl fmt::Display for Answer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for row in self.0.iter().take(40) {
            let cells: Vec<_> = row.iter().map(|cell| format!("{cell:?}")).collect();
            writeln!(f, "  {}", cells.join(", "))?;
        }
        writeln!(f, "  {} rows", self.0.len())
    }
}

/// The answer of Ambo.
pub fn of_ambo(connection: &mut ambo_sql::Connection, query: &str) -> ambo_sql::Result<Answer> {
    let mut rows = Vec::new();
    for row in connection.sql(query)? {
        rows.push(row?.values().iter().map(of_datum).collect());
    }
    Ok(Answer(rows))
}

fn of_datum(value: &Datum) -> Cell {
    match value {
        Datum::Null => Cell::Null,
        Datum::Bool(value) => Cell::Number(f64::from(u8::from(*value))),
        Datum::Utf8(text) => Cell::Text(text.clone()),
        number => number.as_ref().as_f64().map_or_else(|| Cell::Text(number.to_string()), Cell::Number),
    }
}

/// The answer of SQLite; None if it has too many rows to be compared.
pub fn of_sqlite(connection: &rusqlite::Connection, query: &str) -> Result<Option<Answer>> {
    let mut statement = connection.prepare(query)?;
    let columns = statement.column_count();
    let mut rows = statement.query([])?;
    let mut all = Vec::new();
    while let Some(row) = rows.next()? {
        let cell = |place| -> Result<Cell> {
            Ok(match row.get_ref(place)? {
                ValueRef::Null => Cell::Null,
                ValueRef::Integer(number) => Cell::Number(number as f64),
                ValueRef::Real(number) => Cell::Number(number),
                ValueRef::Text(text) => Cell::Text(String::from_utf8_lossy(text).into_owned()),
                ValueRef::Blob(_) => return Err("a blob, which nothing asked for".into()),
            })
        };
        all.push((0..columns).map(cell).collect::<Result<_>>()?);
        if all.len() > ROWS_MAX {
            return Ok(None);
        }
    }
    Ok(Some(Answer(all)))
}
