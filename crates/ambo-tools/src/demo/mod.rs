//! demo: a tour in SQL that loads real data, works on it in both ways at once, dies in the middle of writing and comes back; and the same
//! steps measured, for a comparison with other engines.
//!
//! ```text
//! tables ─▶ transactions ─▶ dashboards ─▶ workload ─▶ online ─▶ death ─▶ steps     stage shows statements
//!                └── office, clerk: who books, and the audit ──┘                   page, figures: what it was
//! ```

mod clerk;
mod dashboards;
pub mod data;
mod death;
mod office;
mod online;
mod page;
mod plan;
mod stage;
mod steps;
mod tables;
mod timing;
mod transactions;
mod workload;
pub mod writer;

use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use ambo_sql::Connection;
use clap::Args;
use serde_json::{Value as Json, json};

use ambo_cli::engine::{Access, Store, Tuning};
use ambo_cli::failure::{Failure, Result};
use ambo_cli::output::Output;
use dashboards::{DASHBOARDS, SALES};
use office::{Office, database};
use plan::Picks;
use stage::Stage;

/// Where to do the tour.
#[derive(Args, Clone, Debug)]
pub struct DemoArguments {
    /// The database's directory; must not be there yet
    pub dir: PathBuf,
    /// The directory with flights.csv, planes.csv, airlines.csv and airports.csv
    pub data: PathBuf,
    /// What the flights are, for the page at the end
    #[arg(long, default_value = "the given files")]
    pub source: String,
    /// How long the mixed workload runs, in seconds
    #[arg(long, default_value_t = 4.0, value_parser = seconds)]
    pub seconds: f64,
    /// Measure the steps of the comparison, too, and write all figures to this JSON file
    #[arg(long, value_name = "FILE")]
    pub figures: Option<PathBuf>,
}

fn seconds(text: &str) -> Result<f64, String> {
    match text.parse() {
        Ok(seconds) if (0.1..=3600.0).contains(&seconds) => Ok(seconds),
        _ => Err(format!("{text} is no number of seconds from 0.1 to 3600")),
    }
}

/// What the tour found out.
struct Account {
    source: String,
    rows: u64,
    csv_bytes: u64,
    load: Duration,
    /// All files of the database after the load.
    disk_bytes: u64,
    conflict: String,
    dashboards: Duration,
    workload: workload::Report,
    online: online::Report,
    death: death::Report,
    picks: Picks,
    /// How many processes wanted to run in the minute before the tour, if the system tells.
    load_average: Option<f64>,
    total: Duration,
}

/// Bookings of the workload have sellers from this number on.
const FIRST_BOOKER: i64 = 10;

/// Runs the command.
pub fn run(arguments: &DemoArguments, tuning: &Tuning, out: &mut Output) -> Result<()> {
    let dir = arguments.dir.as_path();
    if dir.exists() {
        let dir = dir.display();
        return Err(Failure::usage(format!("{dir}: the demo makes its own database; name a new directory")));
    }
    tables::find_files(&arguments.data)?;
    let steps = if arguments.figures.is_some() { 7 } else { 6 };
    let mut stage = Stage::new(out, dir, steps);
    let account = tour(arguments, tuning, &mut stage)?;
    if let Some(file) = &arguments.figures {
        let engines = measure(arguments, tuning, &mut stage)?;
        write_figures(file, &figures(arguments, &account, engines))?;
    }
    page::write(&account, dir, out)?;
    Ok(())
}

fn tour(arguments: &DemoArguments, tuning: &Tuning, stage: &mut Stage<'_>) -> Result<Account> {
    let (dir, start) = (arguments.dir.as_path(), Instant::now());
    let load_average = load_average();
    let time = Duration::from_secs_f64(arguments.seconds);
    stage.step("CSV files become tables")?;
    let (load, disk_bytes) = load(arguments, tuning, stage)?;
    let office = Office::open(dir, tuning)?;
    let picks = Picks::among(&office.ids);

    stage.step("Transactions on the flights that were loaded")?;
    let conflict = transactions::run(stage, &office)?;

    stage.step("The same rows in analytics")?;
    let dashboards = show_dashboards(stage, &mut office.db.connect())?;

    stage.step("Bookings, point reads, dashboards and audits at once")?;
    let workload = workload::run(&office, &picks, FIRST_BOOKER, time)?;
    stage.say(&page::workload(&workload).join("\n"))?;
    stage.say(&format!("\n{}", SALES.title))?;
    stage.run(&mut office.db.connect(), SALES.sql)?;

    stage.step("Another storage for the flights, while they are read and booked")?;
    let online = online::run(stage, &office, &picks, time / 5)?;
    stage.say(&page::online(&online).join("\n"))?;
    let rows = office.ids.len() as u64;
    office.close()?;

    stage.step("A process that books, killed with kill -9")?;
    let death = death::run(stage, dir, tuning)?;
    stage.say(&page::death(&death).join("\n"))?;
    Ok(Account {
        source: arguments.source.clone(),
        rows,
        csv_bytes: tables::file_bytes(&arguments.data),
        load,
        disk_bytes,
        conflict,
        dashboards,
        workload,
        online,
        death,
        picks,
        load_average,
        total: start.elapsed(),
    })
}

/// How long that took, and the bytes of the closed database.
fn load(arguments: &DemoArguments, tuning: &Tuning, stage: &mut Stage<'_>) -> Result<(Duration, u64)> {
    let dir = arguments.dir.as_path();
    let start = Instant::now();
    let store = Store::open(dir, Access::Create, tuning)?;
    let db = database(&store);
    tables::show(stage, &mut db.connect(), &arguments.data)?;
    drop(db);
    store.close()?;
    Ok((start.elapsed(), directory_bytes(dir)?))
}

/// How long all queries took together.
fn show_dashboards(stage: &mut Stage<'_>, connection: &mut Connection) -> Result<Duration> {
    let mut all = Duration::ZERO;
    for (number, dashboard) in DASHBOARDS.iter().enumerate() {
        let gap = if number == 0 { "" } else { "\n" };
        stage.say(&format!("{gap}{}", dashboard.title))?;
        all += stage.run(connection, dashboard.sql)?;
    }
    Ok(all)
}

/// The steps of the comparison, in both storages, in databases beside that of the tour.
fn measure(arguments: &DemoArguments, tuning: &Tuning, stage: &mut Stage<'_>) -> Result<Vec<Json>> {
    stage.step("The steps of the comparison, measured in new databases")?;
    let time = Duration::from_secs_f64(arguments.seconds);
    let mut engines = Vec::new();
    for storage in ["column", "btree"] {
        stage.say(&format!("flights and planes in storage {storage} …"))?;
        let mut name = arguments.dir.clone().into_os_string();
        name.push(format!("-{storage}"));
        let dir = PathBuf::from(name);
        remove(&dir)?;
        engines.push(steps::measure(&dir, &arguments.data, storage, time, tuning)?);
        remove(&dir)?;
    }
    Ok(engines)
}

/// Removes what an earlier run that was interrupted may have left.
fn remove(dir: &Path) -> Result<()> {
    match std::fs::remove_dir_all(dir) {
        Err(error) if error.kind() != std::io::ErrorKind::NotFound => Err(Failure::file(dir, &error)),
        _ => Ok(()),
    }
}

/// All that is known, for the page with plots and for the programs that do the same in other engines.
fn figures(arguments: &DemoArguments, account: &Account, engines: Vec<Json>) -> Json {
    json!({
        "source": account.source,
        "load_average": account.load_average,
        "plan": account.picks.to_json(account.rows, arguments.seconds),
        "engines": engines,
        "tour": {
            "rows": account.rows,
            "csv_bytes": account.csv_bytes,
            "load_seconds": account.load.as_secs_f64(),
            "disk_bytes": account.disk_bytes,
            "conflict": account.conflict,
            "dashboards_seconds": account.dashboards.as_secs_f64(),
            "workload": account.workload.to_json(),
            "online": account.online.to_json(),
            "death": account.death.to_json(),
            "seconds": account.total.as_secs_f64(),
        },
    })
}

fn load_average() -> Option<f64> {
    let text = std::fs::read_to_string("/proc/loadavg").ok()?;
    text.split(' ').next()?.parse().ok()
}

/// The file is there when it is whole.
fn write_figures(file: &Path, figures: &Json) -> Result<()> {
    let part = file.with_extension("part");
    std::fs::write(&part, figures.to_string())
        .and_then(|()| std::fs::rename(&part, file))
        .map_err(|error| Failure::file(file, &error))
}

/// The sum of the lengths of all files.
fn directory_bytes(dir: &Path) -> Result<u64> {
    let fail = |error: std::io::Error| Failure::file(dir, &error);
    let mut bytes = 0;
    for entry in std::fs::read_dir(dir).map_err(fail)? {
        let entry = entry.map_err(fail)?;
        bytes += match entry.file_type().map_err(fail)?.is_dir() {
            true => directory_bytes(&entry.path())?,
            false => entry.metadata().map_err(fail)?.len(),
        };
    }
    Ok(bytes)
}

/// Something that must hold does not.
fn broken(what: impl Into<String>) -> Failure {
    Failure::Database(format!("the demo found a mistake: {}", what.into()))
}
