//! Kills a process in the middle of its commits, reopens, and looks for every acknowledged ticket.

use std::collections::BTreeMap;
use std::path::Path;
use std::time::{Duration, Instant};

use serde_json::{Value as Json, json};

use super::broken;
use super::office::Office;
use super::stage::Stage;
use super::writer::{FIRST_SELLER, SELLERS, flight, passenger};
use crate::crash::victim;
use ambo_cli::engine::{Access, Store, Tuning};
use ambo_cli::failure::Result;
use ambo_cli::output;

const LIFE: Duration = Duration::from_millis(1500);

/// What was left.
pub struct Report {
    pub acknowledged: u64,
    pub unsaid: u64,
    pub reopen: Duration,
    pub replayed: u64,
    pub log_bytes: u64,
    pub cut: Option<String>,
    pub check_time: Duration,
    pub check: String,
}

/// Lives, dies, reopens, compares, checks.
pub fn run(stage: &mut Stage<'_>, dir: &Path, tuning: &Tuning) -> Result<Report> {
    let words = ["demo-writer".to_string(), dir.display().to_string()];
    let lines = victim::run_and_kill(&words, LIFE)?;
    let mut acknowledged = BTreeMap::new();
    for (seller, number) in lines {
        acknowledged.insert(u64::from(seller), number);
    }
    if acknowledged.is_empty() {
        return Err(broken("the writer was killed before its first ticket"));
    }
    let start = Instant::now();
    let store = Store::open(dir, Access::Write, tuning)?;
    let reopen = start.elapsed();
    let office = Office::of(store)?;
    let mut connection = office.db.connect();
    let sql = format!(
        "select seller, count(*) as tickets, max(number) as last from bookings where seller >= {FIRST_SELLER} \
         group by seller order by seller"
    );
    stage.run(&mut connection, &sql)?;
    let unsaid = compare(&office, &acknowledged)?;
    office.audit(&mut connection)?;
    let start = Instant::now();
    let check = office.check()?;
    let check_time = start.elapsed();
    let recovery = office.db.recovery();
    let report = Report {
        acknowledged: acknowledged.values().sum(),
        unsaid,
        reopen,
        replayed: recovery.transactions,
        log_bytes: recovery.log_bytes,
        cut: recovery
            .cut
            .as_ref()
            .map(|cut| format!("{} bytes at the end of {}", cut.bytes_dropped, cut.file)),
        check_time,
        check: format!(
            "{} tables, {} entries, {} pages",
            check.tables,
            output::count(check.entries),
            output::count(check.pages)
        ),
    };
    drop(connection);
    office.close()?;
    Ok(report)
}

/// All acknowledged tickets are there, at most one more of each seller, each as it was sold, and none besides.
fn compare(office: &Office, acknowledged: &BTreeMap<u64, u64>) -> Result<u64> {
    let mut connection = office.db.connect();
    let mut unsaid = 0;
    for seller in 0..SELLERS {
        let promised = acknowledged.get(&seller).copied().unwrap_or_default();
        let number = FIRST_SELLER + seller as i64;
        let sql = "select number, flight_id, passenger from bookings where seller = ? order by number";
        let rows =
            connection.query(sql, (number,)).and_then(|rows| rows.map(|row| row?.into_values()).collect());
        let found: Vec<(u64, i64, String)> = office.or_fail(rows)?;
        let count = found.len() as u64;
        if !(promised..=promised + 1).contains(&count) {
            return Err(broken(format!(
                "seller {seller} acknowledged {promised} tickets, the database has {count}"
            )));
        }
        for (ticket, row) in (1..).zip(found) {
            if row != (ticket, flight(&office.ids, seller, ticket), passenger(seller, ticket)) {
                return Err(broken(format!("ticket {ticket} of seller {seller} is there as {row:?}")));
            }
        }
        unsaid += count - promised;
    }
    Ok(unsaid)
}

impl Report {
    pub fn to_json(&self) -> Json {
        json!({
            "acknowledged": self.acknowledged,
            "unsaid": self.unsaid,
            "sellers": SELLERS,
            "reopen_seconds": self.reopen.as_secs_f64(),
            "replayed": self.replayed,
            "log_bytes": self.log_bytes,
            "cut": self.cut,
            "check": self.check,
            "check_seconds": self.check_time.as_secs_f64(),
        })
    }
}
