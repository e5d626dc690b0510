//! check and info, by way of the process that has the database open: what that one's SQL says.

use std::io::Write;
use std::path::Path;
use std::time::Instant;

use ambo::CheckReport;
use ambo_server::{Client, Host};
use arrow_array::RecordBatch;
use arrow_array::cast::AsArray;
use arrow_array::types::Int64Type;
use serde_json::json;

use super::failure;
use crate::command::check;
use crate::failure::{Failure, Result};
use crate::interrupt;
use crate::output::{self, Align, Output, Table};

/// Verifies the whole database, while others work with it.
pub fn check(mut client: Client, dir: &Path, out: &mut Output) -> Result<()> {
    let begun = Instant::now();
    let mut found = CheckReport::default();
    each(&mut client, "check database", |batch| {
        found.problems.extend(batch.column(0).as_string::<i32>().iter().flatten().map(str::to_owned));
    })?;
    check::report_problems(dir, &found, begun.elapsed(), out)
}

/// The figures of a table, as `ambo_catalog.tables` has them.
struct Figures {
    name: String,
    storage: String,
    /// Rows, bytes raw, stored and not compacted, runs, segments.
    numbers: [u64; 6],
}

const FIGURES: &str =
    "select table_schema, table_name, storage, rows, raw_bytes, stored_bytes, memtable_bytes, runs, segments
    from ambo_catalog.tables where table_catalog = current_database() order by 1, 2";

/// Shows all tables, or one.
pub fn info(mut client: Client, dir: &Path, only: Option<&str>, out: &mut Output) -> Result<()> {
    let mut all = Vec::new();
    each(&mut client, FIGURES, |batch| all.extend(figures(batch)))?;
    if let Some(only) = only {
        all.retain(|table| table.name == only);
        if all.is_empty() {
            return Err(Failure::Negative(format!("{}: there is no table \"{only}\"", dir.display())));
        }
    }
    match out.is_json() {
        true => Ok(out.json(&as_json(client.host(), &all))?),
        false => show(&all, out),
    }
}

fn figures(batch: &RecordBatch) -> Vec<Figures> {
    let text = |column: usize, row: usize| batch.column(column).as_string::<i32>().value(row).to_owned();
    let number = |column: usize, row: usize| {
        u64::try_from(batch.column(column).as_primitive::<Int64Type>().value(row)).unwrap_or(0)
    };
    let one = |row: usize| Figures {
        name: match text(0, row) {
            schema if schema == ambo::DEFAULT_SCHEMA => text(1, row),
            schema => format!("{schema}.{}", text(1, row)),
        },
        storage: text(2, row),
        numbers: std::array::from_fn(|nth| number(3 + nth, row)),
    };
    (0..batch.num_rows()).map(one).collect()
}

fn as_json(host: &Host, all: &[Figures]) -> serde_json::Value {
    let table = |table: &Figures| {
        let [rows, raw, stored, waiting, runs, segments] = table.numbers;
        json!({
            "name": table.name, "storage": table.storage, "rows": rows, "raw_bytes": raw, "stored_bytes": stored,
            "memtable_bytes": waiting, "runs": runs, "segments": segments,
        })
    };
    json!({ "process": host.pid, "tables": all.iter().map(table).collect::<Vec<_>>() })
}

fn show(all: &[Figures], out: &mut Output) -> Result<()> {
    use Align::{Left, Right};
    let mut table = Table::new([
        ("table", Left),
        ("storage", Left),
        ("rows", Right),
        ("raw", Right),
        ("stored", Right),
        ("uncompacted", Right),
        ("runs", Right),
        ("segments", Right),
    ]);
    for of in all {
        let [rows, raw, stored, waiting, runs, segments] = of.numbers;
        table.row(vec![
            of.name.clone(),
            of.storage.clone(),
            output::count(rows),
            output::bytes(raw),
            output::bytes(stored),
            output::bytes(waiting),
            runs.to_string(),
            output::count(segments),
        ]);
    }
    if all.is_empty() {
        writeln!(out, "no tables")?;
    }
    table.write(out, true)?;
    out.flush()?;
    Ok(())
}

/// Runs a query, and takes its batches.
fn each(client: &mut Client, sql: &str, mut take: impl FnMut(&RecordBatch)) -> Result<()> {
    interrupt::watch();
    let done = client.query(
        sql,
        || !interrupt::raised(),
        |batch| {
            take(batch);
            true
        },
    );
    done.map(drop).map_err(failure)
}
