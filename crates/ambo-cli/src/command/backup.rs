//! backup and restore.

use std::io::Write;
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;
use std::time::{Duration, Instant};

use ambo::{BackupReport, Key, KeySource, RestoredKey};
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
pub(super) fn open(dir: &Path, tuning: &Tuning) -> Result<Store> {
    Store::open(dir, Access::Write, tuning).map_err(|failure| match failure {
        Failure::InUse(text) => Failure::InUse(format!(
            "{text}, or have that process make the backup: with BACKUP TO in SQL, or Database::backup_to"
        )),
        failure => failure,
    })
}

/// Makes `to` a database like the backup in `from`.
pub fn restore(from: &Path, to: &Path, key: &RestoredKey, tuning: &Tuning, out: &mut Output) -> Result<()> {
    let start = Instant::now();
    let made = tuning.options().restore(from, to, key).or_fail(from)?;
    report(to, &made, start.elapsed(), out)
}

/// Lets another key open the database.
pub fn rekey(dir: &Path, key: KeySource, tuning: &Tuning, out: &mut Output) -> Result<()> {
    let store = open(dir, tuning)?;
    store.db.set_key(key).or_fail(dir)?;
    let keys = store.db.info().or_fail(dir)?.data_keys;
    store.close()?;
    match out.is_json() {
        true => out.json(&json!({ "data_keys": keys }))?,
        false => writeln!(out, "{}: the new key opens it; {keys} data keys", dir.display())?,
    }
    Ok(())
}

/// Writes a new key to a file that is not there, which only its owner may read.
pub fn new_key(file: &Path) -> Result<()> {
    let key = Key::random().or_fail(file)?;
    let options = std::fs::OpenOptions::new().write(true).create_new(true).mode(0o600).open(file);
    let written = options.and_then(|mut opened| {
        writeln!(opened, "{}", *key.to_hex())?;
        opened.sync_all()
    });
    written.map_err(|error| Failure::file(file, &error))
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
