//! SQLite, in this process.

use rusqlite::{Connection, types::ValueRef};

use crate::{
    Result,
    answer::{Answer, Cell},
    peer::{Outcome, Peer, ROWS_MAX},
};

pub struct Sqlite {
    connection: Connection,
}

impl Sqlite {
    pub fn new() -> Result<Self> {
        let connection = Connection::open_in_memory()?;
        connection.execute_batch("pragma case_sensitive_like = on; pragma foreign_keys = on")?;
        Ok(Self { connection })
    }
}

impl Peer for Sqlite {
    fn reset(&mut self) -> Result<()> {
        *self = Self::new()?;
        Ok(())
    }

    fn run(&mut self, statement: &str) -> Result<Outcome> {
        match answer(&self.connection, statement) {
            Ok(outcome) => Ok(outcome),
            Err(error) => Ok(Outcome::Failed(error.to_string())),
        }
    }
}

fn answer(connection: &Connection, text: &str) -> rusqlite::Result<Outcome> {
    let mut statement = connection.prepare(text)?;
    let columns = statement.column_count();
    if columns == 0 {
        return Ok(Outcome::Changed(statement.execute([])? as u64));
    }
    let mut rows = statement.query([])?;
    let mut all = Vec::new();
    while let Some(row) = rows.next()? {
        let cell = |place| {
            Ok(match row.get_ref(place)? {
                ValueRef::Null => Cell::Null,
                ValueRef::Integer(number) => Cell::Exact(i128::from(number), 0),
                ValueRef::Real(number) => Cell::Double(number),
                ValueRef::Text(text) => Cell::Text(String::from_utf8_lossy(text).into_owned()),
                ValueRef::Blob(bytes) => Cell::Blob(bytes.to_owned()),
            })
        };
        all.push((0..columns).map(cell).collect::<rusqlite::Result<_>>()?);
        if all.len() > ROWS_MAX {
            return Ok(Outcome::TooMany);
        }
    }
    Ok(Outcome::Rows(Answer { rows: all, ..Answer::default() }))
}
