//! The steps that the comparison measures, in a database of their own. `demo/peers.py` does the same in other engines.

use std::fs::File;
use std::io::Write;
use std::path::Path;
use std::time::{Duration, Instant};

use ambo_sql::Connection;
use serde_json::{Value as Json, json};

use super::clerk::{FREE, TAKE};
use super::dashboards::DASHBOARDS;
use super::office::{Office, database};
use super::plan::{
    CALL, CALLS, DURABLE_ROUNDS, DURABLE_UPDATES, POINT, POINTS, Picks, REPEATS, RESET, ROUNDS, UPDATE,
    UPDATES,
};
use super::timing::Times;
use super::{broken, directory_bytes, tables, workload};
use ambo_cli::engine::{Access, Durability, Store, Tuning};
use ambo_cli::failure::{Failure, Result};

/// Does them all with wide tables of this storage, the last of them for so long. The figures.
pub fn measure(dir: &Path, data: &Path, storage: &str, time: Duration, tuning: &Tuning) -> Result<Json> {
    let synced = |sync| Tuning { sync: Some(sync), ..tuning.clone() };
    let (durable, off) = (synced(Durability::Commit), synced(Durability::Off));
    let load = load(dir, data, storage, &durable)?;
    let bytes = directory_bytes(dir)?;

    let office = Office::open(dir, &durable)?;
    let picks = Picks::among(&office.ids);
    let call = call(&office)?;
    let mut durable_updates = DurableUpdates::default();
    durable_updates.round(&office, &picks)?;
    let points = points(&office, &picks)?;
    durable_updates.round(&office, &picks)?;
    office.close()?;

    let office = Office::open(dir, &off)?;
    let updates = updates(&office, &picks, DURABLE_ROUNDS * DURABLE_UPDATES, UPDATES)?;
    office.close()?;

    let office = Office::open(dir, &durable)?;
    let dashboards = dashboards(&office)?;
    durable_updates.round(&office, &picks)?;
    let conflict = conflict(&office, &picks)?;
    durable_updates.round(&office, &picks)?;
    let together = workload::run(&office, &picks, 0, time)?;
    office.check()?;
    office.close()?;
    Ok(json!({
        "name": "Ambo",
        "storage": storage,
        "version": env!("CARGO_PKG_VERSION"),
        "load": load,
        "bytes": bytes,
        "call": call,
        "points": points.to_json(),
        "updates": { "durable": durable_updates.to_json()?, "off": updates.to_json() },
        "dashboards": dashboards,
        "conflict": conflict,
        "together": together.to_json(),
    }))
}

/// From CREATE TABLE to the closed database.
fn load(dir: &Path, data: &Path, storage: &str, tuning: &Tuning) -> Result<Json> {
    let start = Instant::now();
    let store = Store::open(dir, Access::Create, tuning)?;
    let db = database(&store);
    let rows = tables::fill(&mut db.connect(), storage, data, dir)?;
    super::stage::or_fail(db.sql("compact"), dir)?;
    drop(db);
    store.close()?;
    Ok(json!({ "seconds": start.elapsed().as_secs_f64(), "parse_seconds": 0, "rows": rows }))
}

/// What a call costs that reads nothing, and what the measuring does.
fn call(office: &Office) -> Result<Json> {
    let empty = Times::of(0..CALLS, |_| Ok::<_, Failure>(()))?;
    let mut connection = office.db.connect();
    let mut call = office.or_fail(connection.prepare(CALL))?;
    let calls = Times::of(0..CALLS, |_| call.query(&mut connection, (1,))?.single().map(drop));
    Ok(json!({
        "empty_us": empty.all.as_secs_f64() * 1e6 / CALLS as f64,
        "p50_us": office.or_fail(calls)?.to_json()["p50_us"],
    }))
}

/// The fastest of some rounds.
fn points(office: &Office, picks: &Picks) -> Result<Times> {
    let mut connection = office.db.connect();
    let mut point = office.or_fail(connection.prepare(POINT))?;
    let mut best: Option<Times> = None;
    for _ in 0..ROUNDS {
        let mut found = 0;
        let round = Times::of(&picks.keys[..POINTS], |id| {
            found += point.query(&mut connection, (*id,))?.collect::<ambo_sql::Result<Vec<_>>>()?.len();
            Ok(())
        });
        let round = office.or_fail(round)?;
        if found != round.count() {
            return Err(broken(format!("{found} of {} flights were found", round.count())));
        }
        if best.as_ref().is_none_or(|best| round.all < best.all) {
            best = Some(round);
        }
    }
    best.ok_or_else(|| broken("there was no round of point reads"))
}

fn updates(office: &Office, picks: &Picks, from: usize, count: usize) -> Result<Times> {
    let mut connection = office.db.connect();
    let mut update = office.or_fail(connection.prepare(UPDATE))?;
    let mut changed = 0;
    let times = Times::of(picks.updates(from, count), |(value, id)| {
        changed += update.execute(&mut connection, (value, id))?;
        Ok(())
    });
    let times = office.or_fail(times)?;
    match changed == times.count() as u64 {
        true => Ok(times),
        false => Err(broken(format!("{changed} of {} flights were changed", times.count()))),
    }
}

/// Updates that wait for the disk, and what a bare write and sync took at the same moments.
#[derive(Default)]
struct DurableUpdates {
    rounds: usize,
    times: Times,
    bare: Times,
}

impl DurableUpdates {
    fn round(&mut self, office: &Office, picks: &Picks) -> Result<()> {
        self.bare.extend(bare_syncs(&office.store.dir)?);
        self.times.extend(updates(office, picks, self.rounds * DURABLE_UPDATES, DURABLE_UPDATES)?);
        self.rounds += 1;
        Ok(())
    }

    fn to_json(&self) -> Result<Json> {
        if self.rounds != DURABLE_ROUNDS {
            return Err(broken("a round of durable updates was left out"));
        }
        let mut figures = self.times.to_json();
        figures["bare_p10_us"] = self.bare.to_json()["p10_us"].take();
        Ok(figures)
    }
}

/// Writes blocks of 4 KiB to a file on the database's disk, and waits for each to be there.
fn bare_syncs(dir: &Path) -> Result<Times> {
    let path = dir.with_extension("sync");
    let fail = |error: std::io::Error| Failure::file(&path, &error);
    let mut file = File::create(&path).map_err(fail)?;
    let times = Times::of(0..25, |_| file.write_all(&[1; 4096]).and_then(|()| file.sync_data()));
    std::fs::remove_file(&path).map_err(fail)?;
    times.map_err(fail)
}

fn dashboards(office: &Office) -> Result<Vec<Json>> {
    let mut connection = office.db.connect();
    let mut figures = Vec::new();
    for dashboard in &DASHBOARDS {
        let (mut seconds, mut rows) = (Vec::new(), Vec::new());
        for _ in 0..REPEATS {
            let (time, found) = office.or_fail(dashboard.run(&mut connection))?;
            seconds.push(time.as_secs_f64());
            rows = found;
        }
        figures.push(json!({ "name": dashboard.name, "seconds": seconds, "rows": rows }));
    }
    Ok(figures)
}

/// Two transactions that write: other rows, then the same row. What the second one is told, and when.
fn conflict(office: &Office, picks: &Picks) -> Result<Json> {
    let (one, other) = (picks.keys[0], picks.keys[1]);
    let outcome = json!({
        "other_row": two_writers(office, one, other)?,
        "same_row": two_writers(office, one, one)?,
    });
    let mut connection = office.db.connect();
    for id in [one, other] {
        office.or_fail(connection.execute(RESET, (id,)))?;
    }
    office.audit(&mut connection)?;
    Ok(outcome)
}

fn two_writers(office: &Office, one: i64, other: i64) -> Result<Json> {
    let (mut first, mut second) = (office.db.connect(), office.db.connect());
    let take = |connection: &mut Connection, id: i64| -> ambo_sql::Result<()> {
        connection.execute(FREE, (id,))?;
        connection.execute(TAKE, (id,)).map(drop)
    };
    office.or_fail(first.sql("begin").map(drop))?;
    office.or_fail(second.sql("begin").map(drop))?;
    office.or_fail(take(&mut first, one))?;
    let taken = take(&mut second, other);
    office.or_fail(first.sql("commit").map(drop))?;
    let (at, outcome) = match taken {
        Ok(()) => ("COMMIT", second.sql("commit").map(drop)),
        failed => ("UPDATE", failed),
    };
    match outcome {
        Ok(()) => Ok(json!({ "told": null, "at": null })),
        Err(error) if error.is_retryable() => Ok(json!({ "told": error.to_string(), "at": at })),
        Err(error) => office.or_fail(Err(error)),
    }
}
