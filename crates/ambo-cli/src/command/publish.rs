//! publish.

use std::io::Write;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use ambo::{PublishOptions, PublishReport};
use serde_json::json;

use crate::engine::{Access, OrFail, Store, Tuning};
use crate::failure::{Failure, Result};
use crate::interrupt;
use crate::output::{self, Output};

/// How long to wait between two looks at whether Ctrl-C came.
const LOOKED_EVERY: Duration = Duration::from_millis(50);

/// How and how often.
#[derive(clap::Args, Clone, Debug)]
pub struct PublishArguments {
    /// The database's directory
    pub dir: PathBuf,
    /// The directory of publications: an empty one, a new one, or that of earlier publications of this database
    pub to: PathBuf,
    /// How many of the newest publications are kept at least
    #[arg(long, value_name = "N", default_value_t = PublishOptions::default().keep)]
    pub keep: usize,
    /// For how long a publication is kept after a newer one was made, such as 90s, 10m or 1h
    #[arg(long, value_name = "TIME", value_parser = parse_time, default_value = "10m")]
    pub grace: Duration,
    /// Publish again and again in this time, if something was committed, until Ctrl-C
    #[arg(long, value_name = "TIME", value_parser = parse_time)]
    pub every: Option<Duration>,
}

/// `90s`, `10m`, `1h`, `500ms`; seconds, if nothing is said.
fn parse_time(text: &str) -> Result<Duration, String> {
    let text = text.trim();
    let digits = text.trim_end_matches(|c: char| c.is_ascii_alphabetic());
    let millis: u64 = match &text[digits.len()..] {
        "ms" => 1,
        "" | "s" => 1000,
        "m" => 60_000,
        "h" => 3_600_000,
        other => return Err(format!("unknown unit {other}; there are ms, s, m and h")),
    };
    let number: u64 = digits.trim().parse().map_err(|_| format!("{text} is no time, such as 10m"))?;
    let millis = number.checked_mul(millis).ok_or_else(|| format!("{text} is too long"))?;
    Ok(Duration::from_millis(millis))
}

/// Publishes the database once, or again and again.
pub fn publish(arguments: &PublishArguments, tuning: &Tuning, out: &mut Output) -> Result<()> {
    let PublishArguments { dir, to, keep, grace, every } = arguments;
    let options = PublishOptions { keep: *keep, grace: *grace, ..PublishOptions::default() };
    let access = if tuning.beside { Access::Read } else { Access::Write };
    let store = Store::open(dir, access, tuning).map_err(|failure| match failure {
        Failure::InUse(text) => Failure::InUse(format!(
            "{text}, or publish beside it with --beside, or have that process publish: with PUBLISH TO in SQL, or Database::publish_to"
        )),
        failure => failure,
    })?;
    interrupt::watch();
    loop {
        let start = Instant::now();
        let made = store.db.publish_to(to, &options).or_fail(to)?;
        if made.is_new || every.is_none() {
            report(to, &made, start.elapsed(), out)?;
        }
        let Some(every) = every else { break };
        while !interrupt::raised() && start.elapsed() < *every {
            std::thread::sleep(LOOKED_EVERY.min(every.saturating_sub(start.elapsed())));
        }
        if interrupt::raised() {
            break;
        }
    }
    store.close()
}

fn report(to: &Path, made: &PublishReport, elapsed: Duration, out: &mut Output) -> Result<()> {
    if out.is_json() {
        out.json(&json!({
            "publication": made.number,
            "timestamp": made.timestamp.0,
            "new": made.is_new,
            "written": made.written,
            "written_bytes": made.written_bytes,
            "linked": made.linked,
            "kept": made.kept,
            "publications": made.publications,
            "publications_removed": made.publications_removed,
            "removed": made.removed,
            "seconds": elapsed.as_secs_f64(),
        }))?;
        return Ok(());
    }
    let what = if made.is_new { "" } else { " was there already: nothing was committed since" };
    writeln!(
        out,
        "{}: publication {}{what}; files: {} written ({}), {} linked, {} were there, {} removed; {} publications are kept; in {}",
        to.display(),
        made.number,
        output::count(made.written),
        output::bytes(made.written_bytes),
        output::count(made.linked),
        output::count(made.kept),
        output::count(made.removed),
        output::count(made.publications),
        output::duration(elapsed)
    )?;
    out.flush()?;
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    // Keeps away a misread unit: 10 minutes as 10 seconds.
    #[test]
    fn times() {
        let millis = |text| parse_time(text).map(|time| time.as_millis());
        assert_eq!(
            ["5", "500ms", "2s", "10m", "1h"].map(millis),
            [5000, 500, 2000, 600_000, 3_600_000].map(Ok)
        );
        for text in ["", "s", "1d", "-1s", "99999999999999999999h", "9999999999999999h"] {
            assert!(parse_time(text).is_err(), "{text}");
        }
    }
}
