//! ALTER TABLE … SET STORAGE while others read and write the table: none of them may fail or be lost.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::{Duration, Instant};

use serde_json::{Value as Json, json};

use super::broken;
use super::clerk::Booked;
use super::office::Office;
use super::plan::Picks;
use super::stage::Stage;
use ambo_cli::failure::Result;

/// The seller of these bookings.
const SELLER: i64 = 50;
/// How often the counters are read for the plot.
const SAMPLE: Duration = Duration::from_millis(50);

/// What happened.
pub struct Report {
    pub reads: u64,
    pub booked: u64,
    pub conflicts: u64,
    pub slowest_read: Duration,
    pub slowest_booking: Duration,
    pub changes: Vec<Change>,
    samples: Vec<Sample>,
}

/// A change of the storage, in time from the beginning.
pub struct Change {
    pub to: &'static str,
    pub from: Duration,
    pub until: Duration,
}

/// Reads and bookings so far.
struct Sample {
    at: Duration,
    reads: u64,
    booked: u64,
}

#[derive(Default)]
struct Counters {
    reads: AtomicU64,
    booked: AtomicU64,
    conflicts: AtomicU64,
    stop: AtomicBool,
}

impl Counters {
    fn goes_on(&self) -> bool {
        !self.stop.load(Ordering::Relaxed)
    }
}

/// A reader and a booker work all the time, while the table becomes a btree and a column table again; `pause` is the time before, between
/// and after.
pub fn run(stage: &mut Stage<'_>, office: &Office, picks: &Picks, pause: Duration) -> Result<Report> {
    let carriers = carriers(office)?;
    let counters = Counters::default();
    let start = Instant::now();
    let (changed, reads, bookings, samples) = std::thread::scope(|scope| {
        let (counters, carriers) = (&counters, &carriers);
        let stopping = |result| {
            counters.stop.store(true, Ordering::Relaxed);
            result
        };
        let reader = scope.spawn(move || read(office, carriers, counters));
        let booker = scope.spawn(move || book(office, picks, counters));
        let sampler = scope.spawn(move || sample(start, counters));
        let changed = stopping(change(stage, office, start, pause, counters));
        let join = "no thread of the demo panics";
        (changed, reader.join().expect(join), booker.join().expect(join), sampler.join().expect(join))
    });
    let (slowest_read, sold, changes) = (reads?, bookings?, changed?);
    verify(office, &sold.flights)?;
    let count = |counter: &AtomicU64| counter.load(Ordering::Relaxed);
    Ok(Report {
        reads: count(&counters.reads),
        booked: sold.flights.len() as u64,
        conflicts: count(&counters.conflicts),
        slowest_read,
        slowest_booking: sold.slowest,
        changes,
        samples,
    })
}

fn change(
    stage: &mut Stage<'_>,
    office: &Office,
    start: Instant,
    pause: Duration,
    counters: &Counters,
) -> Result<Vec<Change>> {
    let mut connection = office.db.connect();
    let mut changes = Vec::new();
    std::thread::sleep(pause);
    for to in ["btree", "column"] {
        if !counters.goes_on() {
            break; // A thread has failed; it says why.
        }
        let from = start.elapsed();
        stage.run(&mut connection, &format!("alter table flights set storage = {to}"))?;
        changes.push(Change { to, from, until: start.elapsed() });
        std::thread::sleep(pause);
    }
    Ok(changes)
}

/// Flights with what has to be found under their keys.
fn carriers(office: &Office) -> Result<Vec<(i64, String, i32)>> {
    let rows = office.or_fail(office.db.sql("select id, carrier, flight from flights where id % 37 = 1"))?;
    office.or_fail(rows.map(|row| row?.into_values()).collect())
}

/// Reads random flights until the end. How long the slowest read took.
fn read(office: &Office, carriers: &[(i64, String, i32)], counters: &Counters) -> Result<Duration> {
    let _stop = StopAtEnd(counters);
    let mut connection = office.db.connect();
    let mut point = office.or_fail(connection.prepare("select carrier, flight from flights where id = ?"))?;
    let mut slowest = Duration::ZERO;
    for turn in 0u64.. {
        if !counters.goes_on() {
            break;
        }
        let (id, carrier, flight) = &carriers[(crate::bench::mix(turn) % carriers.len() as u64) as usize];
        let start = Instant::now();
        let row = point.query(&mut connection, (*id,)).and_then(|rows| rows.single()?.into_values());
        let found: (String, i32) = office.or_fail(row)?;
        slowest = slowest.max(start.elapsed());
        if (&found.0, found.1) != (carrier, *flight) {
            return Err(broken(format!("flight {id} was {carrier}{flight} and is {}{}", found.0, found.1)));
        }
        counters.reads.fetch_add(1, Ordering::Relaxed);
    }
    Ok(slowest)
}

struct Sold {
    /// By the number of the booking.
    flights: Vec<i64>,
    slowest: Duration,
}

fn book(office: &Office, picks: &Picks, counters: &Counters) -> Result<Sold> {
    let _stop = StopAtEnd(counters);
    let mut clerk = office.clerk()?;
    let mut sold = Sold { flights: Vec::new(), slowest: Duration::ZERO };
    for turn in 0u64.. {
        if !counters.goes_on() {
            break;
        }
        // Not the popular flights: these bookings stay.
        let flight = picks.keys[(turn + 100) as usize % picks.keys.len()];
        let start = Instant::now();
        let booked = office.or_fail(clerk.book(flight, SELLER, sold.flights.len() as i64, "online"))?;
        let Booked::Seat { conflicts } = booked else { continue };
        sold.slowest = sold.slowest.max(start.elapsed());
        sold.flights.push(flight);
        counters.booked.fetch_add(1, Ordering::Relaxed);
        counters.conflicts.fetch_add(conflicts, Ordering::Relaxed);
    }
    Ok(sold)
}

/// Whoever ends, by an error too, ends all.
struct StopAtEnd<'c>(&'c Counters);

impl Drop for StopAtEnd<'_> {
    fn drop(&mut self) {
        self.0.stop.store(true, Ordering::Relaxed);
    }
}

fn sample(start: Instant, counters: &Counters) -> Vec<Sample> {
    let mut samples = Vec::new();
    loop {
        let count = |counter: &AtomicU64| counter.load(Ordering::Relaxed);
        let (reads, booked) = (count(&counters.reads), count(&counters.booked));
        samples.push(Sample { at: start.elapsed(), reads, booked });
        if !counters.goes_on() {
            return samples;
        }
        std::thread::sleep(SAMPLE);
    }
}

/// Every booking that was confirmed is there, and no other; all seats are there; the database is sound.
fn verify(office: &Office, sold: &[i64]) -> Result<()> {
    let mut connection = office.db.connect();
    let rows = connection
        .query("select number, flight_id from bookings where seller = ? order by number", (SELLER,))
        .and_then(|rows| rows.map(|row| row?.into_values()).collect());
    let found: Vec<(i64, i64)> = office.or_fail(rows)?;
    let expected: Vec<(i64, i64)> = (0..).zip(sold.iter().copied()).collect();
    if found != expected {
        return Err(broken(format!(
            "{} bookings were confirmed while the storage changed, {} are there",
            expected.len(),
            found.len()
        )));
    }
    office.audit(&mut connection)?;
    office.check().map(drop)
}

impl Report {
    pub fn to_json(&self) -> Json {
        let change = |change: &Change| json!({ "to": change.to, "from": change.from.as_secs_f64(), "until": change.until.as_secs_f64() });
        let sample = |sample: &Sample| json!([sample.at.as_secs_f64(), sample.reads, sample.booked]);
        json!({
            "reads": self.reads,
            "booked": self.booked,
            "conflicts": self.conflicts,
            "slowest_read_seconds": self.slowest_read.as_secs_f64(),
            "slowest_booking_seconds": self.slowest_booking.as_secs_f64(),
            "changes": self.changes.iter().map(change).collect::<Vec<_>>(),
            "samples": self.samples.iter().map(sample).collect::<Vec<_>>(),
        })
    }
}
