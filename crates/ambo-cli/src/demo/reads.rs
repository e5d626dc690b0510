//! Reads of the flights: single ones, the flights of a day, all of them.

use std::collections::BTreeMap;
use std::time::{Duration, Instant};

use ambo::{Datum, Table};

use super::{FLIGHTS, broken};
use crate::bench::mix;
use crate::engine::{OrFail, Store};
use crate::failure::Result;
use crate::schema;

const POINT_READS: u64 = 100_000;
const MICROS_PER_HOUR: i64 = 3_600_000_000;
const MICROS_PER_DAY: i64 = 24 * MICROS_PER_HOUR;

/// What was read, and how fast.
pub struct Report {
    pub rows: u64,
    pub columns: usize,
    pub point_reads: u64,
    pub point_time: Duration,
    pub days: u64,
    pub day_rows: u64,
    pub day_time: Duration,
    pub scan_time: Duration,
    /// Origin, flights, mean departure delay in minutes.
    pub origins: Vec<(String, u64, f64)>,
}

/// Reads in three ways.
pub fn run(store: &Store) -> Result<Report> {
    let table = store.table(FLIGHTS)?;
    let start = Instant::now();
    let seen = scan(store, &table)?;
    let scan_time = start.elapsed();
    let counted = table.len().or_fail(&store.dir)?;
    if counted != seen.keys.len() as u64 {
        return Err(broken(format!("{} rows were scanned, {counted} are counted", seen.keys.len())));
    }
    let start = Instant::now();
    for i in 0..POINT_READS {
        let key = &seen.keys[(mix(i) % counted) as usize];
        let row = table.get_row(key).or_fail(&store.dir)?;
        row.ok_or_else(|| broken(format!("the flight {key:?} was scanned and is not found")))?;
    }
    let point_time = start.elapsed();
    let start = Instant::now();
    let mut day_rows = 0;
    let first = seen.days.keys().next().copied().unwrap_or_default();
    for (&day, &expected) in &seen.days {
        let found = flights_of_day(store, &table, day)?;
        if found != expected {
            return Err(broken(format!(
                "day {}: {expected} flights were scanned, {found} found",
                day - first
            )));
        }
        day_rows += found;
    }
    let origins = seen.origins.into_iter();
    Ok(Report {
        rows: counted,
        columns: table.definition().columns.len(),
        point_reads: POINT_READS,
        point_time,
        days: seen.days.len() as u64,
        day_rows,
        day_time: start.elapsed(),
        scan_time,
        origins: origins
            .map(|(name, (flights, flown, delay))| (name, flights, delay / flown.max(1.0)))
            .collect(),
    })
}

#[derive(Default)]
struct Seen {
    keys: Vec<Vec<Datum>>,
    /// Flights a day since 1970.
    days: BTreeMap<i64, u64>,
    /// By origin: flights, flights that flew, the sum of their delays.
    origins: BTreeMap<String, (u64, f64, f64)>,
}

fn scan(store: &Store, table: &Table) -> Result<Seen> {
    let columns = schema::of(table.definition());
    let position = |name: &str| {
        let found = columns.iter().position(|column| column.name == name);
        found.ok_or_else(|| broken(format!("the file has no column {name}")))
    };
    let (origin, delay) = (position("origin")?, position("dep_delay")?);
    let key = [position("time_hour")?, position("carrier")?, position("flight")?];
    let mut seen = Seen::default();
    for row in table.rows().or_fail(&store.dir)? {
        let row = row.or_fail(&store.dir)?;
        let when = row[key[0]].as_ref().as_i64().unwrap_or_default();
        *seen.days.entry(when.div_euclid(MICROS_PER_DAY)).or_default() += 1;
        let name = row[origin].as_ref().as_str().unwrap_or_default();
        if !seen.origins.contains_key(name) {
            seen.origins.insert(name.to_string(), (0, 0.0, 0.0));
        }
        if let Some(sums) = seen.origins.get_mut(name) {
            sums.0 += 1;
            if let Some(minutes) = row[delay].as_ref().as_f64() {
                sums.1 += 1.0;
                sums.2 += minutes;
            }
        }
        seen.keys.push(key.map(|column| row[column].clone()).to_vec());
    }
    Ok(seen)
}

/// How many flights a day has, read hour by hour: `time_hour` is the key's first column.
fn flights_of_day(store: &Store, table: &Table, day: i64) -> Result<u64> {
    let mut count = 0;
    for hour in 0..24 {
        let time_hour = Datum::Timestamp(day * MICROS_PER_DAY + hour * MICROS_PER_HOUR);
        for row in table.rows_prefix(&[time_hour]).or_fail(&store.dir)? {
            row.or_fail(&store.dir)?;
            count += 1;
        }
    }
    Ok(count)
}
