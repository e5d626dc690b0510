//! Who books: a connection with the statements of a booking, and transactions that are run again after a conflict.
//!
//! A flight has its free seats in `flights.seats_free`, a booking is a row of `bookings`. Both change in one transaction, so free seats and
//! bookings together never change in number. That is what audits look for.

use ambo_sql::{Connection, Database, PreparedStatement, Result};

use super::dashboards::TOTAL;

/// The statements, which the comparison gives to other engines as they are.
pub const FREE: &str = "select seats_free from flights where id = ?";
pub const TAKE: &str = "update flights set seats_free = seats_free - 1 where id = ?";
pub const GIVE: &str = "update flights set seats_free = seats_free + 1 where id = ?";
pub const BOOK: &str = "insert into bookings values (?, ?, ?, ?)";
pub const CANCEL: &str = "delete from bookings where seller = ? and number = ?";

/// What a booking came to.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Booked {
    /// A seat, after so many conflicts.
    Seat { conflicts: u64 },
    /// The flight is full.
    Full,
}

/// A connection and its statements.
pub struct Clerk {
    connection: Connection,
    free: PreparedStatement,
    take: PreparedStatement,
    give: PreparedStatement,
    book: PreparedStatement,
    cancel: PreparedStatement,
}

impl Clerk {
    pub fn new(db: &Database) -> Result<Self> {
        let connection = db.connect();
        let prepare = |sql| connection.prepare(sql);
        let [free, take, give] = [prepare(FREE)?, prepare(TAKE)?, prepare(GIVE)?];
        let [book, cancel] = [prepare(BOOK)?, prepare(CANCEL)?];
        Ok(Self { connection, free, take, give, book, cancel })
    }

    /// Books a seat, again after each conflict.
    pub fn book(&mut self, flight: i64, seller: i64, number: i64, passenger: &str) -> Result<Booked> {
        let (taken, conflicts) = self.transact(|clerk| {
            let connection = &mut clerk.connection;
            let free: i64 = clerk.free.query(connection, (flight,))?.single()?.into_values()?;
            if free == 0 {
                return Ok(false);
            }
            clerk.take.execute(connection, (flight,))?;
            clerk.book.execute(connection, (seller, number, flight, passenger))?;
            Ok(true)
        })?;
        Ok(if taken { Booked::Seat { conflicts } } else { Booked::Full })
    }

    /// Gives a seat back; how many conflicts that took.
    pub fn cancel(&mut self, flight: i64, seller: i64, number: i64) -> Result<u64> {
        let cancelled = self.transact(|clerk| {
            clerk.give.execute(&mut clerk.connection, (flight,))?;
            clerk.cancel.execute(&mut clerk.connection, (seller, number))?;
            Ok(true)
        })?;
        Ok(cancelled.1)
    }

    /// Does something in a transaction, and commits it if it says so. After a conflict all is done again. Also how many there were.
    fn transact(&mut self, mut act: impl FnMut(&mut Self) -> Result<bool>) -> Result<(bool, u64)> {
        let mut conflicts = 0;
        loop {
            self.connection.sql("begin")?;
            let outcome = act(self).and_then(|commits| {
                self.connection.sql(if commits { "commit" } else { "rollback" })?;
                Ok(commits)
            });
            if self.connection.in_transaction() {
                self.connection.sql("rollback")?;
            }
            match outcome {
                Err(error) if error.is_retryable() => conflicts += 1,
                outcome => return Ok((outcome?, conflicts)),
            }
        }
    }
}

/// Free seats and bookings, at one moment.
pub fn total(connection: &mut Connection) -> Result<u64> {
    connection.sql(TOTAL)?.single()?.into_values()
}
