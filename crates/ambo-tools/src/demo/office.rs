//! The open database of the demo, and the audit that must hold at every moment.

use std::path::Path;

use ambo_sql::{Connection, Database, SqlOptions};

use super::broken;
use super::clerk::{Clerk, total};
use super::stage::or_fail;
use super::tables::SEATS;
use ambo_cli::engine::{Access, Store, Tuning};
use ambo_cli::failure::Result;

/// As many threads work on a statement of any engine.
pub fn threads() -> usize {
    std::thread::available_parallelism().map_or(1, usize::from)
}

/// See the module.
pub struct Office {
    pub store: Store,
    pub db: Database,
    /// The flights on sale, in their order.
    pub ids: Vec<i64>,
}

impl Office {
    /// Opens the database, whose flights are loaded.
    pub fn open(dir: &Path, tuning: &Tuning) -> Result<Self> {
        Self::of(Store::open(dir, Access::Write, tuning)?)
    }

    /// SQL for an open store.
    pub fn of(store: Store) -> Result<Self> {
        let db = database(&store);
        let rows = or_fail(db.sql("select id from flights order by id"), &store.dir)?;
        let ids = rows.map(|row| row?.into_values()).collect::<ambo_sql::Result<Vec<i64>>>();
        let ids = or_fail(ids, &store.dir)?;
        match ids.is_empty() {
            true => Err(broken("there are no flights to book")),
            false => Ok(Self { store, db, ids }),
        }
    }

    /// Somebody who books.
    pub fn clerk(&self) -> Result<Clerk> {
        self.or_fail(Clerk::new(&self.db))
    }

    /// An answer of the database as this program's.
    pub fn or_fail<T>(&self, answer: ambo_sql::Result<T>) -> Result<T> {
        or_fail(answer, &self.store.dir)
    }

    /// Free seats and bookings together, as it must be.
    pub fn seats(&self) -> u64 {
        self.ids.len() as u64 * SEATS
    }

    /// Fails if a seat was lost or sold twice.
    pub fn audit(&self, connection: &mut Connection) -> Result<()> {
        let expected = self.seats();
        match self.or_fail(total(connection))? {
            total if total == expected => Ok(()),
            total => Err(broken(format!("{expected} seats were put on sale, free and booked are {total}"))),
        }
    }

    /// Verifies the whole database. What it read.
    pub fn check(&self) -> Result<ambo::CheckReport> {
        let report = self.or_fail(self.db.check().map_err(Into::into))?;
        match report.problems.first() {
            None => Ok(report),
            Some(problem) => Err(broken(problem.clone())),
        }
    }

    /// Closes the database, so that a failure to do so is heard.
    pub fn close(self) -> Result<()> {
        let Self { store, db, .. } = self;
        drop(db);
        store.close()
    }
}

/// SQL for an open store, with the threads that all have.
pub fn database(store: &Store) -> Database {
    Database::with_options(store.db.clone(), SqlOptions::new().threads(threads()))
}
