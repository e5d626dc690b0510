//! Transactions on seats and bookings.
//!
//! Table `seats` maps a flight to its free seats, `bookings` a booking to its flight. Free seats and bookings
//! together never change in number: that is what the audits look for.

use ambo::{Database, Table, Transaction};

use super::{FLIGHTS, broken};
use crate::engine::{OrFail, Store};
use crate::failure::Result;

/// Flights that can be booked.
pub const FLIGHTS_ON_SALE: u64 = 1000;
/// Seats of each at the beginning.
pub const SEATS: u64 = 200;

/// The two tables.
#[derive(Clone)]
pub struct Office {
    db: Database,
    seats: Table,
    bookings: Table,
}

/// What a booking came to.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Booked {
    /// A seat, after so many conflicts.
    Seat { conflicts: u64 },
    /// The flight is full.
    Full,
}

/// What the transactions showed.
pub struct Report {
    pub flight: String,
    pub conflict: String,
    pub flights_on_sale: u64,
}

/// Makes the tables and shows one of each.
pub fn run(store: &Store) -> Result<Report> {
    let labels = labels(store)?;
    let office = Office::open(store)?;
    office.sell(&labels).or_fail(&store.dir)?;
    let flight = labels[0].clone();
    let conflict = show_conflict(store, &office, &flight)?;
    show_rollback(store, &office, &flight)?;
    show_savepoint(store, &office, &labels)?;
    office.audit(store)?;
    Ok(Report { flight, conflict, flights_on_sale: labels.len() as u64 })
}

/// The names of the flights on sale, taken evenly from the table.
pub fn labels(store: &Store) -> Result<Vec<String>> {
    let table = store.table(FLIGHTS)?;
    let step = (table.len().or_fail(&store.dir)? / FLIGHTS_ON_SALE).max(1) as usize;
    let key = table.definition().key.clone();
    let mut labels = Vec::new();
    for row in table.rows().or_fail(&store.dir)?.step_by(step).take(FLIGHTS_ON_SALE as usize) {
        let row = row.or_fail(&store.dir)?;
        let [when, carrier, flight] = [0, 1, 2].map(|i| row[key[i]].to_string());
        labels.push(format!("{carrier}{flight} {when}"));
    }
    match labels.is_empty() {
        true => Err(broken("there are no flights to book")),
        false => Ok(labels),
    }
}

fn number(value: Option<impl AsRef<[u8]>>) -> u64 {
    let text = value.and_then(|value| String::from_utf8(value.as_ref().to_vec()).ok());
    text.and_then(|text| text.parse().ok()).unwrap_or_default()
}

impl Office {
    /// Opens the tables, and makes them at the first time.
    pub fn open(store: &Store) -> Result<Self> {
        let seats = store.db.key_value("seats").or_fail(&store.dir)?;
        let bookings = store.db.key_value("bookings").or_fail(&store.dir)?;
        Ok(Self { db: store.db.clone(), seats, bookings })
    }

    /// Puts all flights on sale, in one transaction.
    fn sell(&self, labels: &[String]) -> ambo::Result<()> {
        let mut batch = self.db.batch();
        for label in labels {
            batch.put(&self.seats, label.as_bytes(), SEATS.to_string().as_bytes());
        }
        batch.commit().map(drop)
    }

    /// Takes a seat within a transaction; false when there is none.
    fn take(&self, tx: &mut Transaction, flight: &str, booking: &str) -> ambo::Result<bool> {
        let free = number(tx.get(&self.seats, flight.as_bytes())?);
        if free == 0 {
            return Ok(false);
        }
        tx.put(&self.seats, flight.as_bytes(), (free - 1).to_string().as_bytes())?;
        tx.put(&self.bookings, booking.as_bytes(), flight.as_bytes())?;
        Ok(true)
    }

    /// Books, again after each conflict.
    pub fn book(&self, flight: &str, booking: &str) -> ambo::Result<Booked> {
        let mut conflicts = 0;
        loop {
            let mut tx = self.db.begin()?;
            let outcome = self.take(&mut tx, flight, booking).and_then(|taken| match taken {
                true => tx.commit().map(|_| Booked::Seat { conflicts }),
                false => Ok(Booked::Full),
            });
            match outcome {
                Err(error) if error.is_retryable() => conflicts += 1,
                outcome => return outcome,
            }
        }
    }

    /// Gives a seat back; how many conflicts that took.
    pub fn cancel(&self, flight: &str, booking: &str) -> ambo::Result<u64> {
        let mut conflicts = 0;
        loop {
            let mut tx = self.db.begin()?;
            let free = number(tx.get(&self.seats, flight.as_bytes())?);
            tx.put(&self.seats, flight.as_bytes(), (free + 1).to_string().as_bytes())?;
            tx.delete(&self.bookings, booking.as_bytes())?;
            match tx.commit() {
                Err(error) if error.is_retryable() => conflicts += 1,
                outcome => return outcome.map(|_| conflicts),
            }
        }
    }

    /// In one snapshot: free seats plus bookings. Must always be the same.
    pub fn total(&self) -> ambo::Result<u64> {
        let snapshot = self.db.snapshot();
        let mut total = snapshot.count(&self.bookings, ..)?;
        for pair in snapshot.scan(&self.seats, ..)? {
            total += number(Some(pair?.1));
        }
        Ok(total)
    }

    /// Fails if a seat was lost or sold twice.
    pub fn audit(&self, store: &Store) -> Result<()> {
        let expected = self.seats.len().or_fail(&store.dir)? * SEATS;
        match self.total().or_fail(&store.dir)? {
            total if total == expected => Ok(()),
            total => Err(broken(format!("{expected} seats were put on sale, free and booked are {total}"))),
        }
    }
}

/// Two travellers read the same seats; the second to commit is told to retry.
fn show_conflict(store: &Store, office: &Office, flight: &str) -> Result<String> {
    let begin = || store.db.begin().or_fail(&store.dir);
    let (mut ada, mut bob) = (begin()?, begin()?);
    office.take(&mut ada, flight, "ada").or_fail(&store.dir)?;
    office.take(&mut bob, flight, "bob").or_fail(&store.dir)?;
    ada.commit().map(drop).or_fail(&store.dir)?;
    let conflict = match bob.commit() {
        Err(error) if error.is_retryable() => error.to_string(),
        Err(error) => return Err(error).or_fail(&store.dir),
        Ok(_) => return Err(broken("two transactions took the same seat")),
    };
    match office.book(flight, "bob").or_fail(&store.dir)? {
        Booked::Seat { .. } => Ok(conflict),
        Booked::Full => Err(broken("the flight is full after two bookings")),
    }
}

/// What is rolled back never was.
fn show_rollback(store: &Store, office: &Office, flight: &str) -> Result<()> {
    let mut tx = store.db.begin().or_fail(&store.dir)?;
    office.take(&mut tx, flight, "carol").or_fail(&store.dir)?;
    tx.rollback();
    match office.bookings.get(b"carol").or_fail(&store.dir)? {
        None => Ok(()),
        Some(_) => Err(broken("a booking that was rolled back is there")),
    }
}

/// The way out stays, the way back is chosen again.
fn show_savepoint(store: &Store, office: &Office, labels: &[String]) -> Result<()> {
    let [out, back, other] = [1, 2, 3].map(|i| &labels[i % labels.len()]);
    let mut tx = store.db.begin().or_fail(&store.dir)?;
    office.take(&mut tx, out, "dave out").or_fail(&store.dir)?;
    let savepoint = tx.savepoint();
    office.take(&mut tx, back, "dave back").or_fail(&store.dir)?;
    tx.rollback_to(savepoint).or_fail(&store.dir)?;
    office.take(&mut tx, other, "dave back").or_fail(&store.dir)?;
    tx.commit().map(drop).or_fail(&store.dir)?;
    let found = office.bookings.get(b"dave back").or_fail(&store.dir)?;
    match found.is_some_and(|flight| flight[..] == *other.as_bytes()) {
        true => Ok(()),
        false => Err(broken("the savepoint was not honoured")),
    }
}
