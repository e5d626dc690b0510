//! Bookings, cancellations, point reads, dashboards and audits at the same time.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::{Duration, Instant};

use serde_json::{Value as Json, json};

use super::broken;
use super::clerk::Booked;
use super::dashboards::{DASHBOARDS, SALES};
use super::office::Office;
use super::plan::{POINT, Picks};
use super::timing::percentile;
use ambo_cli::failure::Result;

/// Threads that book.
pub const BOOKERS: u64 = 2;

/// What the threads did.
pub struct Report {
    pub elapsed: Duration,
    pub booked: u64,
    pub cancelled: u64,
    pub conflicts: u64,
    pub reads: u64,
    pub audits: u64,
    pub dashboards: Vec<Duration>,
}

#[derive(Default)]
struct Counters {
    booked: AtomicU64,
    cancelled: AtomicU64,
    conflicts: AtomicU64,
    reads: AtomicU64,
    audits: AtomicU64,
}

/// Two threads that book, a reader, and an analyst who audits after each query, for so long. Sellers have numbers from `first_seller` on.
pub fn run(office: &Office, picks: &Picks, first_seller: i64, time: Duration) -> Result<Report> {
    let counters = Counters::default();
    let stop = AtomicBool::new(false);
    let start = Instant::now();
    let dashboards = std::thread::scope(|scope| {
        let (counters, stop) = (&counters, &stop);
        let mut threads: Vec<_> = (0..BOOKERS)
            .map(|booker| scope.spawn(move || book(office, picks, booker, first_seller, counters, stop)))
            .collect();
        threads.push(scope.spawn(move || read(office, picks, counters, stop)));
        let analyst = scope.spawn(move || analyse(office, counters, stop));
        let is_finished = || threads.iter().any(|thread| thread.is_finished()) || analyst.is_finished();
        while start.elapsed() < time && !is_finished() {
            std::thread::sleep(Duration::from_millis(5));
        }
        stop.store(true, Ordering::Relaxed);
        threads.into_iter().try_for_each(|thread| thread.join().expect("no thread of the demo panics"))?;
        analyst.join().expect("no thread of the demo panics")
    })?;
    let elapsed = start.elapsed();
    office.audit(&mut office.db.connect())?;
    let count = |counter: &AtomicU64| counter.load(Ordering::Relaxed);
    Ok(Report {
        elapsed,
        booked: count(&counters.booked),
        cancelled: count(&counters.cancelled),
        conflicts: count(&counters.conflicts),
        reads: count(&counters.reads),
        audits: count(&counters.audits),
        dashboards,
    })
}

/// Books all over the flights; some of them are fought over, and those bookings are all cancelled, so that they do not sell out. Of the
/// others a third is cancelled.
fn book(
    office: &Office,
    picks: &Picks,
    booker: u64,
    first_seller: i64,
    counters: &Counters,
    stop: &AtomicBool,
) -> Result<()> {
    let mut clerk = office.clerk()?;
    let seller = first_seller + booker as i64;
    for turn in 0i64.. {
        if stop.load(Ordering::Relaxed) {
            break;
        }
        let (flight, is_popular) = picks.flight(turn as u64, booker);
        let booked = office.or_fail(clerk.book(flight, seller, turn, "demo"))?;
        let Booked::Seat { conflicts } = booked else { continue };
        counters.booked.fetch_add(1, Ordering::Relaxed);
        counters.conflicts.fetch_add(conflicts, Ordering::Relaxed);
        if is_popular || turn % 3 == 2 {
            let conflicts = office.or_fail(clerk.cancel(flight, seller, turn))?;
            counters.cancelled.fetch_add(1, Ordering::Relaxed);
            counters.conflicts.fetch_add(conflicts, Ordering::Relaxed);
        }
    }
    Ok(())
}

fn read(office: &Office, picks: &Picks, counters: &Counters, stop: &AtomicBool) -> Result<()> {
    let mut connection = office.db.connect();
    let mut point = office.or_fail(connection.prepare(POINT))?;
    for id in picks.keys.iter().cycle() {
        if stop.load(Ordering::Relaxed) {
            break;
        }
        let found = office.or_fail(point.query(&mut connection, (*id,)))?.count();
        if found != 1 {
            return Err(broken(format!("flight {id} was there and is not found")));
        }
        counters.reads.fetch_add(1, Ordering::Relaxed);
    }
    Ok(())
}

/// While the others write, every query sees one moment, in which all seats are there.
fn analyse(office: &Office, counters: &Counters, stop: &AtomicBool) -> Result<Vec<Duration>> {
    let mut connection = office.db.connect();
    let mut times = Vec::new();
    for dashboard in DASHBOARDS.iter().chain([&SALES]).cycle() {
        if stop.load(Ordering::Relaxed) {
            break;
        }
        times.push(office.or_fail(dashboard.run(&mut connection))?.0);
        office.audit(&mut connection)?;
        counters.audits.fetch_add(1, Ordering::Relaxed);
    }
    match times.is_empty() {
        true => Err(broken("there was no time for an audit")),
        false => Ok(times),
    }
}

impl Report {
    pub fn to_json(&self) -> Json {
        json!({
            "seconds": self.elapsed.as_secs_f64(),
            "booked": self.booked,
            "cancelled": self.cancelled,
            "conflicts": self.conflicts,
            "reads": self.reads,
            "audits": self.audits,
            "dashboards": self.dashboards.len(),
            "dashboard_p50_seconds": percentile(&self.dashboards, 50).as_secs_f64(),
        })
    }
}
