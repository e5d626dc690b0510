//! check and vacuum.

use std::io::Write;
use std::path::Path;
use std::time::{Duration, Instant};

use ambo::CheckReport;
use serde_json::json;

use crate::engine::{Access, OrFail, Store, Tuning};
use crate::failure::{Failure, Result};
use crate::output::{self, Output};

/// Verifies the whole database. Damage is a failure of its own kind, also when it is so bad that the database cannot
/// be opened.
pub fn check_dir(dir: &Path, tuning: &Tuning, out: &mut Output) -> Result<()> {
    match Store::open(dir, Access::Read, tuning) {
        Ok(store) => check(&store, out),
        Err(Failure::Corrupt { what, .. }) => closed(dir, &what, out),
        Err(failure) => Err(failure),
    }
}

/// So damaged that it cannot be opened: there is nothing to dump either.
fn closed(dir: &Path, what: &str, out: &mut Output) -> Result<()> {
    if out.is_json() {
        let found = CheckReport { problems: vec![what.into()], ..CheckReport::default() };
        return report(dir, &found, Duration::ZERO, out);
    }
    writeln!(out, "{what}")?;
    writeln!(out, "{}: it cannot be opened; restore from a backup", dir.display())?;
    Err(Failure::Damage)
}

/// Verifies an open database.
pub fn check(store: &Store, out: &mut Output) -> Result<()> {
    let start = Instant::now();
    let found = ambo_sql::Database::new(store.db.clone()).check().or_fail(&store.dir)?;
    report(&store.dir, &found, start.elapsed(), out)
}

/// Says what was found by a process that does not say how much it looked at.
#[cfg(feature = "http")]
pub fn report_problems(dir: &Path, found: &CheckReport, elapsed: Duration, out: &mut Output) -> Result<()> {
    if out.is_json() {
        let told = json!({
            "sound": found.is_sound(), "problems": found.problems, "seconds": elapsed.as_secs_f64(),
        });
        out.json(&told)?;
    } else {
        for problem in &found.problems {
            writeln!(out, "damaged: {problem}")?;
        }
        let (time, verdict) = (output::duration(elapsed), verdict(found.problems.len()));
        writeln!(out, "{}: checked in {time}: {verdict}", dir.display())?;
    }
    if found.is_sound() { Ok(()) } else { Err(Failure::Damage) }
}

fn report(dir: &Path, found: &CheckReport, elapsed: Duration, out: &mut Output) -> Result<()> {
    if out.is_json() {
        out.json(&json!({
            "sound": found.is_sound(),
            "problems": found.problems,
            "tables": found.tables,
            "trees": found.trees,
            "segments": found.segments,
            "indexes": found.indexes,
            "entries": found.entries,
            "pages": found.pages,
            "seconds": elapsed.as_secs_f64(),
        }))?;
    } else {
        for problem in &found.problems {
            writeln!(out, "damaged: {problem}")?;
        }
        writeln!(
            out,
            "{}: {} tables, {} indexes, {} entries, {} pages, {} segments checked in {}: {}",
            dir.display(),
            output::count(found.tables),
            output::count(found.indexes),
            output::count(found.entries),
            output::count(found.pages),
            output::count(found.segments),
            output::duration(elapsed),
            verdict(found.problems.len())
        )?;
    }
    if found.is_sound() { Ok(()) } else { Err(Failure::Damage) }
}

fn verdict(problems: usize) -> String {
    let what_to_do = "restore from a backup, or dump what can still be read";
    match problems {
        0 => "sound".into(),
        1 => format!("1 problem; {what_to_do}"),
        n => format!("{} problems; {what_to_do}", output::count(n as u64)),
    }
}

/// Compacts everything and gives free space back to the file system.
pub fn vacuum(store: &Store, out: &mut Output) -> Result<()> {
    let start = Instant::now();
    let report = store.db.vacuum().or_fail(&store.dir)?;
    let elapsed = start.elapsed();
    if out.is_json() {
        out.json(&json!({
            "bytes_before": report.bytes_before,
            "bytes_after": report.bytes_after,
            "seconds": elapsed.as_secs_f64(),
        }))?;
        return Ok(());
    }
    writeln!(
        out,
        "{}: {} before, {} now, in {}",
        store.dir.display(),
        output::bytes(report.bytes_before),
        output::bytes(report.bytes_after),
        output::duration(elapsed)
    )?;
    Ok(())
}
