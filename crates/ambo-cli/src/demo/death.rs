//! Kills a process in the middle of its commits, reopens, and looks for every acknowledged ticket.

use std::collections::BTreeMap;
use std::path::Path;
use std::time::{Duration, Instant};

use super::bookings::Office;
use super::broken;
use super::writer::{SELLERS, TICKETS, count_key, ticket, ticket_key};
use crate::crash::victim;
use crate::engine::{Access, OrFail, Store, Tuning};
use crate::failure::Result;
use crate::output;

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
pub fn run(dir: &Path, tuning: &Tuning) -> Result<Report> {
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
    let unsaid = compare(&store, &acknowledged)?;
    Office::open(&store)?.audit(&store)?;
    let start = Instant::now();
    let check = store.db.check().or_fail(dir)?;
    let check_time = start.elapsed();
    if let Some(problem) = check.problems.first() {
        return Err(broken(problem.clone()));
    }
    let recovery = store.db.recovery();
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
    store.close()?;
    Ok(report)
}

/// All acknowledged tickets are there, at most one more of each seller, and the counts agree with the tickets.
fn compare(store: &Store, acknowledged: &BTreeMap<u64, u64>) -> Result<u64> {
    let tickets = store.table(TICKETS)?;
    let mut unsaid = 0;
    for seller in 0..SELLERS {
        let promised = acknowledged.get(&seller).copied().unwrap_or_default();
        let count = tickets.get(&count_key(seller)).or_fail(&store.dir)?;
        let count = count
            .and_then(|text| String::from_utf8(text.to_vec()).ok()?.parse::<u64>().ok())
            .unwrap_or_default();
        if !(promised..=promised + 1).contains(&count) {
            return Err(broken(format!(
                "seller {seller} acknowledged {promised} tickets, the database has {count}"
            )));
        }
        for number in 1..=count + 1 {
            let found = tickets.get(&ticket_key(seller, number)).or_fail(&store.dir)?;
            let expected = (number <= count).then(|| ticket(seller, number));
            if found.map(|ticket| ticket.to_vec()) != expected {
                return Err(broken(format!(
                    "ticket {number} of seller {seller} does not agree with the count {count}"
                )));
            }
        }
        unsaid += count - promised;
    }
    Ok(unsaid)
}
