//! DECLARE, FETCH, MOVE, CLOSE: the rows of a query a part at a time. They go forward alone.

use arrow_schema::SchemaRef;

use super::{
    client::{Block, Client},
    command::{Cursor, Much},
    failure::Failure,
    message::Format,
    run::Running,
};

/// A cursor of a session.
pub(super) struct Declared {
    running: Running,
    /// Whether it outlives its transaction.
    holds: bool,
    /// Whether it was there before the transaction that is open.
    is_held: bool,
}

impl Client {
    pub fn declare(&mut self, cursor: &Cursor) -> Result<Running, Failure> {
        if self.block == Block::Idle && !cursor.holds {
            return Err(Failure::new("25P01", "DECLARE CURSOR can only be used in transaction blocks")
                .with_hint("BEGIN first, or DECLARE … CURSOR WITH HOLD"));
        }
        if self.cursors.contains_key(&cursor.name) {
            return Err(Failure::new("42P03", format!("cursor \"{}\" already exists", cursor.name)));
        }
        if cursor.scrolls {
            return Err(Failure::new("0A000", "cursors go forward alone")
                .with_hint("leave SCROLL away, or read the rows into a temporary table"));
        }
        let prepared = self.session.prepare(&cursor.query);
        let mut prepared = prepared.map_err(|error| Failure::of(&error, &cursor.query, 0))?;
        if prepared.writes() || prepared.is_maintenance() {
            return Err(Failure::new("42601", "a cursor is of a query"));
        }
        if prepared.parameters() > 0 {
            return Err(Failure::new("0A000", "the query of a cursor takes no parameters here"));
        }
        self.tell_engine();
        let rows = self.session.run(&mut prepared, Vec::new());
        let rows = rows.map_err(|error| Failure::of(&error, &cursor.query, 0))?;
        let running = self.running(rows, &prepared, &[], None)?;
        let declared = Declared { running, holds: cursor.holds, is_held: self.block == Block::Idle };
        self.cursors.insert(cursor.name.clone(), declared);
        if self.block == Block::Idle {
            self.hold_cursors()?;
        }
        Ok(Running::tag("DECLARE CURSOR"))
    }

    /// The rows that a FETCH has.
    pub fn rows_of_cursor(&self, name: &str) -> Result<SchemaRef, Failure> {
        let declared = self.cursors.get(name).ok_or_else(|| no_cursor(name))?;
        Ok(declared.running.shape.schema.clone())
    }

    pub fn fetch(&mut self, name: &str, much: Much, formats: &[Format]) -> Result<Running, Failure> {
        let rows = self.taken(name, much)?;
        let declared = self.cursors.get(name).ok_or_else(|| no_cursor(name))?;
        let shape = self.shape(declared.running.shape.schema.clone(), formats);
        Ok(Running::of_batches("FETCH", shape, rows))
    }

    /// FETCH without the rows.
    pub fn move_cursor(&mut self, name: &str, much: Much) -> Result<Running, Failure> {
        let rows = self.taken(name, much)?;
        let count = rows.iter().map(arrow_array::RecordBatch::num_rows).sum::<usize>();
        Ok(Running::counted("MOVE", count as u64))
    }

    fn taken(&mut self, name: &str, much: Much) -> Result<Vec<arrow_array::RecordBatch>, Failure> {
        let declared = self.cursors.get_mut(name).ok_or_else(|| no_cursor(name))?;
        match much {
            Much::Rows(count) => declared.running.take(count),
            Much::All => declared.running.take(u64::MAX),
            Much::Back => Err(Failure::new("55000", "cursor can only scan forward")
                .with_hint("FETCH FORWARD is what it does")),
        }
    }

    pub fn close(&mut self, name: Option<&str>) -> Result<Running, Failure> {
        match name {
            None => {
                self.cursors.clear();
                Ok(Running::tag("CLOSE CURSOR ALL"))
            }
            Some(name) => match self.cursors.remove(name) {
                Some(_) => Ok(Running::tag("CLOSE CURSOR")),
                None => Err(no_cursor(name)),
            },
        }
    }

    /// Reads what cursors that outlive their transaction have still to give, before that ends.
    pub fn hold_cursors(&mut self) -> Result<(), Failure> {
        for declared in self.cursors.values_mut().filter(|declared| declared.holds) {
            declared.running.read_all()?;
        }
        Ok(())
    }

    /// A transaction has ended: its cursors with it, unless they outlive it.
    pub fn end_cursors(&mut self, committed: bool) {
        self.cursors.retain(|_, declared| declared.holds && (committed || declared.is_held));
        self.cursors.values_mut().for_each(|declared| declared.is_held = true);
    }
}

fn no_cursor(name: &str) -> Failure {
    Failure::new("34000", format!("cursor \"{name}\" does not exist"))
}
