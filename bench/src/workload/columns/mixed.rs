//! A writer and a scanner, each alone and both together.

use std::time::{Duration, Instant};

use ambo::{Aggregate, Datum, Query, Sync, Table};

use super::integers::Integers;
use super::{Store, label};
use crate::engine::Result;
use crate::random::{Random, mix};
use crate::timing::thread_time;
use crate::workload::sheet::Sheet;

const COLUMNS: usize = 8;
/// Seconds of each phase, unless fewer are asked for.
const SECONDS: u64 = 6;

/// What one of them did.
struct Done {
    operations: u64,
    wall: Duration,
    processor: Duration,
}

impl Done {
    fn rate(&self) -> f64 {
        self.operations as f64 / self.wall.as_secs_f64()
    }

    fn rate_of_core(&self) -> f64 {
        self.operations as f64 / self.processor.as_secs_f64()
    }
}

pub fn run(sheet: &mut Sheet) -> Result<()> {
    let n = sheet.records;
    let data = Integers::new(COLUMNS, n, |row, column| match column {
        0 => row as i64,
        1 => (mix(row) % 100) as i64,
        _ => (mix(row * COLUMNS as u64 + column as u64) % 100_000) as i64,
    });
    let store = Store::open(sheet, "mixed", Sync::Off)?;
    let table = data.create(&store.db, "t")?;
    data.load(&table)?;
    let query = table.select(&[])?.group_by(&["c1"])?.aggregate(&[
        Aggregate::Rows,
        Aggregate::sum("c2"),
        Aggregate::sum("c3"),
    ])?;
    let time = Duration::from_secs(sheet.options.seconds.min(SECONDS));
    let scanner = scan(&query, time)?;
    let writer = write(&table, n, time, 1)?;
    store.db.compact_due()?;
    let (beside_scanner, beside_writer) = together(&table, &query, n, time)?;
    let both = [
        ("writer", "single upserts", writer, beside_scanner),
        ("scanner", "group-by, 1 thread", scanner, beside_writer),
    ];
    for (who, what, alone, together) in both {
        let name = |rest: &str| label("writer and scanner", n, &format!("{who} ({what}){rest}"));
        sheet.figure(&name(", alone"), "ambo", "rate", "1/s", alone.rate());
        sheet.figure(&name(", together"), "ambo", "rate", "1/s", together.rate());
        sheet.figure(&name(", alone"), "ambo", "rate of a core", "1/s", alone.rate_of_core());
        sheet.figure(&name(", together"), "ambo", "rate of a core", "1/s", together.rate_of_core());
        let share = |together: f64, alone: f64| 100.0 * together / alone;
        sheet.figure(
            &name(""),
            "ambo",
            "of the lone rate",
            "% of lone rate",
            share(together.rate(), alone.rate()),
        );
        let of_core = share(together.rate_of_core(), alone.rate_of_core());
        sheet.figure(&name(""), "ambo", "of the lone rate per core", "% of lone rate", of_core);
    }
    drop((table, query));
    let check = store.db.check()?;
    if !check.is_sound() {
        return Err(format!("the database is damaged: {check:?}").into());
    }
    store.close()?;
    Ok(())
}

/// Does something until time is up.
fn during(time: Duration, mut work: impl FnMut() -> Result<()>) -> Result<Done> {
    let (start, before) = (Instant::now(), thread_time());
    let mut operations = 0;
    while start.elapsed() < time {
        work()?;
        operations += 1;
    }
    Ok(Done { operations, wall: start.elapsed(), processor: thread_time() - before })
}

fn scan(query: &Query, time: Duration) -> Result<Done> {
    during(time, || match query.run(1)?.rows.len() {
        100 => Ok(()),
        groups => Err(format!("{groups} groups").into()),
    })
}

fn write(table: &Table, n: u64, time: Duration, seed: u64) -> Result<Done> {
    let mut random = Random::new(seed);
    during(time, || {
        let row: [Datum; COLUMNS] = std::array::from_fn(|column| {
            Datum::I64(random.below(match column {
                0 => n,
                1 => 100,
                _ => 100_000,
            }) as i64)
        });
        Ok(table.upsert_row(&row)?)
    })
}

fn together(table: &Table, query: &Query, n: u64, time: Duration) -> Result<(Done, Done)> {
    std::thread::scope(|scope| {
        let writer = scope.spawn(|| write(table, n, time, 2).map_err(|error| error.to_string()));
        let scanner = scan(query, time)?;
        let writer = writer.join().map_err(|_| "the writer panicked")??;
        Ok((writer, scanner))
    })
}
