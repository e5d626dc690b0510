//! check and compact.

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
    let mut found = store.db.check().or_fail(&store.dir)?;
    found.problems.extend(forbidden(store)?);
    report(&store.dir, &found, start.elapsed(), out)
}

/// A table's name as SQL takes it.
fn quoted(name: &str) -> String {
    let quoted = |part: &str| format!("\"{}\"", part.replace('"', "\"\""));
    match name.split_once('.') {
        Some((schema, table)) => format!("{}.{}", quoted(schema), quoted(table)),
        None => quoted(name),
    }
}

/// Rows that checks forbid which only SQL can evaluate.
fn forbidden(store: &Store) -> Result<Vec<String>> {
    let mut problems = Vec::new();
    let mut connection = ambo_sql::Database::new(store.db.clone()).connect();
    for name in store.db.tables() {
        let Ok(table) = store.db.table(&name) else { continue };
        for check in table.checks_for_sql() {
            let query = format!("select count(*) from {} where not ({})", quoted(&name), check.expression);
            let counted =
                connection.sql(&query).and_then(|rows| rows.map(|row| row?.into_values()).collect());
            match counted {
                Ok::<Vec<i64>, _>(rows) if rows == [0] => {}
                Ok(rows) => problems.push(format!(
                    "{name}: check \"{}\" forbids rows ({}): {}",
                    check.name,
                    rows.iter().sum::<i64>(),
                    check.expression
                )),
                Err(error) => problems.push(format!("{name}: check \"{}\": {}", check.name, error.message())),
            }
        }
    }
    Ok(problems)
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
