//! check and compact.

use std::io::Write;
use std::time::Instant;

use serde_json::json;

use crate::engine::{OrFail, Store};
use crate::failure::{Failure, Result};
use crate::output::{self, Output};

/// Verifies the whole database. Damage is a failure of its own kind.
pub fn check(store: &Store, out: &mut Output) -> Result<()> {
    let start = Instant::now();
    let report = store.db.check().or_fail(&store.dir)?;
    let elapsed = start.elapsed();
    let sound = report.is_sound();
    if out.is_json() {
        out.json(&json!({
            "sound": sound,
            "problems": report.problems,
            "tables": report.tables,
            "trees": report.trees,
            "entries": report.entries,
            "pages": report.pages,
            "seconds": elapsed.as_secs_f64(),
        }))?;
    } else {
        for problem in &report.problems {
            writeln!(out, "damaged: {problem}")?;
        }
        let verdict = match report.problems.len() {
            0 => "sound".to_string(),
            1 => "1 problem; restore from a backup, or dump what can still be read".to_string(),
            n => format!(
                "{} problems; restore from a backup, or dump what can still be read",
                output::count(n as u64)
            ),
        };
        writeln!(
            out,
            "{}: {} tables, {} entries, {} pages checked in {}: {verdict}",
            store.dir.display(),
            output::count(report.tables),
            output::count(report.entries),
            output::count(report.pages),
            output::duration(elapsed),
        )?;
    }
    if sound { Ok(()) } else { Err(Failure::Damage) }
}

/// Settles everything and gives free space back to the file system.
pub fn compact(store: &Store, out: &mut Output) -> Result<()> {
    let start = Instant::now();
    let report = store.db.compact().or_fail(&store.dir)?;
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
