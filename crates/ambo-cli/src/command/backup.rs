//! backup and restore.

use std::io::Write;
use std::path::Path;
use std::time::{Duration, Instant};

use ambo::{BackupReport, Database};
use serde_json::json;

use super::check;
use crate::engine::{Access, OrFail, Store, Tuning};
use crate::failure::{Failure, Result};
use crate::output::{self, Output};

/// Makes `to` a backup of the database in `dir`.
pub fn backup(dir: &Path, to: &Path, verify: bool, tuning: &Tuning, out: &mut Output) -> Result<()> {
    let store = open(dir, tuning)?;
    let start = Instant::now();
    let made = store.db.backup_to(to).or_fail(to)?;
    report(to, &made, start.elapsed(), out)?;
    store.close()?;
    if verify { check::check_dir(to, tuning, out) } else { Ok(()) }
}

/// Opens the database; if another process has it, that one can make the backup.
fn open(dir: &Path, tuning: &Tuning) -> Result<Store> {
    Store::open(dir, Access::Write, tuning).map_err(|failure| match failure {
        Failure::InUse(text) => Failure::InUse(format!(
            "{text}, or have that process make the backup: with BACKUP TO in SQL, or Database::backup_to"
        )),
        failure => failure,
    })
}

/// Makes `to` a database like the backup in `from`.
pub fn restore(from: &Path, to: &Path, out: &mut Output) -> Result<()> {
    let start = Instant::now();
    let made = Database::restore(from, to).or_fail(from)?;
    report(to, &made, start.elapsed(), out)
}

fn report(to: &Path, made: &BackupReport, elapsed: Duration, out: &mut Output) -> Result<()> {
    if out.is_json() {
        out.json(&json!({
            "timestamp": made.timestamp.0,
            "page_bytes": made.page_bytes,
            "linked": made.linked,
            "copied": made.copied,
            "copied_bytes": made.copied_bytes,
            "kept": made.kept,
            "removed": made.removed,
            "seconds": elapsed.as_secs_f64(),
        }))?;
        return Ok(());
    }
    writeln!(
        out,
        "{}: {} of pages; segments: {} linked, {} copied ({}), {} were there, {} removed; in {}",
        to.display(),
        output::bytes(made.page_bytes),
        output::count(made.linked),
        output::count(made.copied),
        output::bytes(made.copied_bytes),
        output::count(made.kept),
        output::count(made.removed),
        output::duration(elapsed)
    )?;
    Ok(())
}
