//! The page at the end of the tour.

use std::io::{self, Write};
use std::path::Path;

use super::Account;
use super::bookings::SEATS;
use crate::output::{Output, bytes, count, duration, rate};

/// Writes what was done, how much of it and how long it took.
pub fn write(account: &Account, dir: &Path, out: &mut Output) -> io::Result<()> {
    let Account { reads, transactions, workload, death, .. } = account;
    let title = "What Ambo just did";
    writeln!(out, "\n{title}\n{}\n", "═".repeat(title.chars().count()))?;
    writeln!(out, "Data          {}", account.source)?;
    section(
        out,
        "Loaded",
        &[
            format!(
                "{} rows of {} columns, types inferred from the file, in {} ({} rows/s)",
                count(reads.rows),
                reads.columns,
                duration(account.load),
                count(rate(reads.rows, account.load))
            ),
            format!(
                "{} of CSV became {} on disk ({:.0} %), checksums and ordered key included",
                bytes(account.csv_bytes),
                bytes(account.disk_bytes),
                account.disk_bytes as f64 * 100.0 / account.csv_bytes as f64
            ),
        ],
    )?;
    section(
        out,
        "Read",
        &[
            format!(
                "{} single flights by key, at random: {} each",
                count(reads.point_reads),
                duration(reads.point_time / reads.point_reads as u32)
            ),
            format!(
                "{} days one by one, {} flights, in {}",
                reads.days,
                count(reads.day_rows),
                duration(reads.day_time)
            ),
            format!(
                "all flights once, every column: {} ({} rows/s)",
                duration(reads.scan_time),
                count(rate(reads.rows, reads.scan_time))
            ),
            format!("mean departure delay: {}", origins(account)),
        ],
    )?;
    section(
        out,
        "Transactions",
        &[
            format!("{} flights with {SEATS} seats each went on sale", count(transactions.flights_on_sale)),
            format!("two travellers wanted a seat of {} at once; the second was told", transactions.flight),
            format!("  \"{}\"", transactions.conflict),
            "and got one at the second try; a rollback and a savepoint left what they should".to_string(),
        ],
    )?;
    section(
        out,
        "All at once",
        &[
            format!(
                "in {}: {} bookings and {} cancellations, each on the disk before it was confirmed",
                duration(workload.elapsed),
                count(workload.booked),
                count(workload.cancelled)
            ),
            format!(
                "({} conflicts, all retried), while a third thread read {} flights",
                count(workload.conflicts),
                count(workload.reads)
            ),
            format!(
                "and a fourth audited {} snapshots: no seat was ever lost or sold twice",
                count(workload.audits)
            ),
        ],
    )?;
    section(
        out,
        "Killed",
        &[
            format!(
                "a process sold {} tickets with 4 threads until kill -9 struck",
                count(death.acknowledged)
            ),
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
        ],
    )?;
    writeln!(
        out,
        "\nAll of it took {}. The database is in {dir}; look around:",
        duration(account.total),
        dir = dir.display()
    )?;
    writeln!(out, "  ambo {}             a SQL prompt; `.help` lists its commands", dir.display())?;
    writeln!(out, "  ambo info {}        tables and figures", dir.display())
}

fn section(out: &mut Output, name: &str, lines: &[String]) -> io::Result<()> {
    writeln!(out)?;
    for (i, line) in lines.iter().enumerate() {
        writeln!(out, "{:<14}{line}", if i == 0 { name } else { "" })?;
    }
    Ok(())
}

fn origins(account: &Account) -> String {
    let origin =
        |(name, flights, delay): &(String, u64, f64)| format!("{name} {delay:.1} min of {}", count(*flights));
    account.reads.origins.iter().map(origin).collect::<Vec<_>>().join(", ")
}
