//! Bookings, cancellations, point reads and audits at the same time.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::{Duration, Instant};

use ambo::{Datum, Table};

use super::bookings::{Booked, Office, labels};
use super::{FLIGHTS, broken};
use crate::bench::mix;
use crate::engine::{OrFail, Store};
use crate::failure::Result;

const BOOKERS: u64 = 2;

/// What the threads did.
pub struct Report {
    pub elapsed: Duration,
    pub booked: u64,
    pub cancelled: u64,
    pub conflicts: u64,
    pub reads: u64,
    pub audits: u64,
}

#[derive(Default)]
struct Counters {
    booked: AtomicU64,
    cancelled: AtomicU64,
    conflicts: AtomicU64,
    reads: AtomicU64,
    audits: AtomicU64,
}

/// Two booking threads, a reader and an auditor, for so long.
pub fn run(store: &Store, time: Duration) -> Result<Report> {
    let office = Office::open(store)?;
    let labels = labels(store)?;
    let keys = keys(store)?;
    let table = store.table(FLIGHTS)?;
    let counters = Counters::default();
    let stop = AtomicBool::new(false);
    let start = Instant::now();
    std::thread::scope(|scope| {
        let (office, labels, keys, table, counters, stop) =
            (&office, &labels, &keys, &table, &counters, &stop);
        let mut threads: Vec<_> = (0..BOOKERS)
            .map(|booker| {
                scope.spawn(move || book(office, labels, booker, counters, stop).or_fail(&store.dir))
            })
            .collect();
        threads.push(scope.spawn(move || read(table, keys, counters, stop).or_fail(&store.dir)));
        threads.push(scope.spawn(move || audit(store, office, counters, stop)));
        while start.elapsed() < time && !threads.iter().any(|thread| thread.is_finished()) {
            std::thread::sleep(Duration::from_millis(10));
        }
        stop.store(true, Ordering::Relaxed);
        threads.into_iter().try_for_each(|thread| thread.join().expect("no thread of the demo panics"))
    })?;
    let elapsed = start.elapsed();
    office.audit(store)?;
    let count = |counter: &AtomicU64| counter.load(Ordering::Relaxed);
    Ok(Report {
        elapsed,
        booked: count(&counters.booked),
        cancelled: count(&counters.cancelled),
        conflicts: count(&counters.conflicts),
        reads: count(&counters.reads),
        audits: count(&counters.audits),
    })
}

/// Keys of every hundredth flight.
fn keys(store: &Store) -> Result<Vec<Vec<Datum>>> {
    let table = store.table(FLIGHTS)?;
    let key = table.definition().key.clone();
    let mut keys = Vec::new();
    for row in table.rows().or_fail(&store.dir)?.step_by(100) {
        let row = row.or_fail(&store.dir)?;
        keys.push(key.iter().map(|&column| row[column].clone()).collect());
    }
    Ok(keys)
}

/// Three bookings, then a cancellation of the last, all over the flights; some of them are fought over.
fn book(
    office: &Office,
    labels: &[String],
    booker: u64,
    counters: &Counters,
    stop: &AtomicBool,
) -> ambo::Result<()> {
    const POPULAR: u64 = 8;
    for turn in 0.. {
        if stop.load(Ordering::Relaxed) {
            break;
        }
        let dice = mix(booker << 48 ^ turn);
        let among = if dice >> 62 == 0 { POPULAR } else { labels.len() as u64 };
        let flight = &labels[(dice % among.min(labels.len() as u64)) as usize];
        let booking = format!("{booker}/{turn}");
        let Booked::Seat { conflicts } = office.book(flight, &booking)? else { continue };
        counters.booked.fetch_add(1, Ordering::Relaxed);
        counters.conflicts.fetch_add(conflicts, Ordering::Relaxed);
        if turn % 3 == 2 {
            let conflicts = office.cancel(flight, &booking)?;
            counters.cancelled.fetch_add(1, Ordering::Relaxed);
            counters.conflicts.fetch_add(conflicts, Ordering::Relaxed);
        }
    }
    Ok(())
}

fn read(table: &Table, keys: &[Vec<Datum>], counters: &Counters, stop: &AtomicBool) -> ambo::Result<()> {
    for turn in 0.. {
        if stop.load(Ordering::Relaxed) {
            break;
        }
        let key = &keys[(mix(turn) % keys.len() as u64) as usize];
        if table.get_row(key)?.is_none() {
            return Err(ambo::Error::NotFound(format!("the flight {key:?}, which was there")));
        }
        counters.reads.fetch_add(1, Ordering::Relaxed);
    }
    Ok(())
}

/// While the others write, every snapshot must have all seats.
fn audit(store: &Store, office: &Office, counters: &Counters, stop: &AtomicBool) -> Result<()> {
    while !stop.load(Ordering::Relaxed) {
        office.audit(store)?;
        counters.audits.fetch_add(1, Ordering::Relaxed);
        std::thread::sleep(Duration::from_millis(20));
    }
    match counters.audits.load(Ordering::Relaxed) {
        0 => Err(broken("there was no time for an audit")),
        _ => Ok(()),
    }
}
