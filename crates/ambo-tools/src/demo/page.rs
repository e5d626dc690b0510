//! The page at the end of the tour, and what is said behind its steps.

use std::io::{self, Write};
use std::path::Path;

use super::tables::SEATS;
use super::timing::percentile;
use super::{Account, death, online, workload};
use ambo_cli::output::{Output, bytes, count, duration};

/// Writes what was done, how much of it and how long it took.
pub fn write(account: &Account, dir: &Path, out: &mut Output) -> io::Result<()> {
    let title = "What Ambo just did";
    writeln!(out, "\n{title}\n{}\n", "═".repeat(title.chars().count()))?;
    writeln!(out, "Data          {}", account.source)?;
    section(out, "Loaded", &loaded(account))?;
    section(
        out,
        "Transactions",
        &[
            format!("{} flights with {SEATS} seats each went on sale", count(account.rows)),
            "two travellers changed the same flight at once; the second was told".to_string(),
            format!("  \"{}\"", account.conflict),
            "and booked at the second try; a rollback and a savepoint left what they should".to_string(),
        ],
    )?;
    let queries = super::DASHBOARDS.len();
    let asked =
        format!("{queries} queries with joins, groups and top lists, each asked for the first time, in");
    section(out, "Analytics", &[format!("{asked} {}", duration(account.dashboards))])?;
    section(out, "All at once", &workload(&account.workload))?;
    section(out, "Online", &online(&account.online))?;
    section(out, "Killed", &death(&account.death))?;
    writeln!(
        out,
        "\nAll of this took {}. The database is in {dir}; look around:",
        duration(account.total),
        dir = dir.display()
    )?;
    writeln!(out, "  ambo {}             a SQL prompt; `.help` lists its commands", dir.display())?;
    writeln!(out, "  ambo info {}        tables and figures", dir.display())
}

fn loaded(account: &Account) -> [String; 2] {
    let share = account.disk_bytes as f64 * 100.0 / account.csv_bytes as f64;
    [
        format!("{} flights and what belongs to them in {}", count(account.rows), duration(account.load)),
        format!(
            "{} of CSV became {} on disk ({share:.0} %), keys and checksums included",
            bytes(account.csv_bytes),
            bytes(account.disk_bytes),
        ),
    ]
}

/// What four threads did.
pub fn workload(workload: &workload::Report) -> [String; 4] {
    [
        format!(
            "in {}, two threads made {} bookings and {} cancellations, each on the disk before it was confirmed",
            duration(workload.elapsed),
            count(workload.booked),
            count(workload.cancelled)
        ),
        format!(
            "({}), while a third read {} flights by their keys",
            conflicts(workload.conflicts),
            count(workload.reads)
        ),
        format!(
            "and a fourth asked {} dashboards, half of them answered within {},",
            count(workload.dashboards.len() as u64),
            duration(percentile(&workload.dashboards, 50))
        ),
        format!("and audited {} times: no seat was ever lost or sold twice", count(workload.audits)),
    ]
}

fn conflicts(number: u64) -> String {
    match number {
        0 => "no conflict".to_owned(),
        1 => "1 conflict, retried".to_owned(),
        number => format!("{} conflicts, all retried", count(number)),
    }
}

/// What went on while the storage changed.
pub fn online(online: &online::Report) -> Vec<String> {
    let mut lines: Vec<_> = online
        .changes
        .iter()
        .map(|change| format!("flights became {} in {}", change.to, duration(change.until - change.from)))
        .collect();
    lines.extend([
        format!(
            "meanwhile {} point reads, all with the right answer, the slowest in {}",
            count(online.reads),
            duration(online.slowest_read)
        ),
        format!(
            "and {} bookings, all found afterwards, the slowest in {} ({})",
            count(online.booked),
            duration(online.slowest_booking),
            conflicts(online.conflicts)
        ),
    ]);
    lines
}

/// What the killed process left.
pub fn death(death: &death::Report) -> [String; 5] {
    [
        format!("a process sold {} tickets with 4 threads until kill -9 struck", count(death.acknowledged)),
        format!(
            "reopened in {}: {} transactions replayed from {} of log",
            duration(death.reopen),
            count(death.replayed),
            bytes(death.log_bytes)
        ),
        match &death.cut {
            Some(cut) => format!("a torn commit, never acknowledged, was cut off: {cut}"),
            None => "the log ended between two commits: there was nothing to cut off".to_string(),
        },
        format!(
            "every acknowledged ticket is there; {} more had been committed but not yet confirmed",
            count(death.unsaid)
        ),
        format!("check of everything: {}, no problem, in {}", death.check, duration(death.check_time)),
    ]
}

fn section(out: &mut Output, name: &str, lines: &[String]) -> io::Result<()> {
    writeln!(out)?;
    for (i, line) in lines.iter().enumerate() {
        writeln!(out, "{:<14}{line}", if i == 0 { name } else { "" })?;
    }
    Ok(())
}
