//! archive, and restore to a point in time.

use std::io::Write;
use std::path::Path;
use std::time::{Duration, Instant};

use ambo::{Datum, RestorePoint, RestoredKey, Timestamp, Type};
use serde_json::json;

use super::backup;
use crate::arguments::PointArguments;
use crate::engine::{OrFail, Tuning};
use crate::failure::{Failure, Result};
use crate::output::{self, Output};

/// Archives the log: from now on to a directory, or what was committed until now, or not any more.
pub fn archive(dir: &Path, to: Option<&Path>, stop: bool, tuning: &Tuning, out: &mut Output) -> Result<()> {
    let store = backup::open(dir, tuning)?;
    if stop {
        store.db.stop_archive().or_fail(dir)?;
        return store.close();
    }
    if let Some(to) = to {
        store.db.archive_to(to).or_fail(to)?;
    }
    let done = store.db.archive_log().or_fail(dir)?;
    let place = store.db.archive_info().map(|info| info.place).unwrap_or_default();
    store.close()?;
    match out.is_json() {
        true => out.json(&json!({
            "archive": place,
            "timestamp": done.timestamp.0,
            "files": done.files,
            "bytes": done.bytes,
        }))?,
        false => writeln!(
            out,
            "{place}: archived up to commit {}, {} files written ({})",
            done.timestamp,
            output::count(done.files),
            output::bytes(done.bytes)
        )?,
    }
    Ok(())
}

/// Makes `to` a database like the backup in `from` with the archived log, up to a point.
pub fn restore(
    from: &Path,
    to: &Path,
    key: &RestoredKey,
    (archive, point): (&Path, RestorePoint),
    tuning: &Tuning,
    out: &mut Output,
) -> Result<()> {
    let start = Instant::now();
    let made = tuning.options().restore_archived(from, to, key, archive, point).or_fail(from)?;
    let time = made.time.map(written);
    match out.is_json() {
        true => out.json(&json!({
            "timestamp": made.timestamp.0,
            "time": time,
            "transactions": made.transactions,
            "page_bytes": made.backup.page_bytes,
            "seconds": start.elapsed().as_secs_f64(),
        }))?,
        false => writeln!(
            out,
            "{}: as of commit {}{}; {} commits behind the backup; in {}",
            to.display(),
            made.timestamp,
            time.map_or(String::new(), |time| format!(", {time} UTC")),
            output::count(made.transactions),
            output::duration(start.elapsed())
        )?,
    }
    Ok(())
}

/// A time since 1970 began, as text.
fn written(time: Duration) -> String {
    i64::try_from(time.as_micros()).map_or_else(|_| "?".into(), |micros| Datum::Timestamp(micros).to_string())
}

impl PointArguments {
    /// Up to where.
    pub fn point(&self) -> Result<RestorePoint> {
        let Some(text) = &self.time else {
            return Ok(self
                .commit
                .map_or(RestorePoint::End, |commit| RestorePoint::Commit(Timestamp(commit))));
        };
        let wrong =
            || Failure::usage(format!("--to {text}: a time such as '2026-01-31 12:00:00' is possible"));
        match Datum::parse(text, Type::TimestampTz) {
            Ok(Datum::TimestampTz(micros)) => u64::try_from(micros)
                .map(|micros| RestorePoint::Time(Duration::from_micros(micros)))
                .map_err(|_| wrong()),
            _ => Err(wrong()),
        }
    }
}
