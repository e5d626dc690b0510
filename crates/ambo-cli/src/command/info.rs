//! info: what is in a database, and how it is kept.

use std::io::Write;

use ambo::{Info, TableInfo};
use serde_json::{Value as Json, json};

use crate::compression;
use crate::engine::Store;
use crate::failure::{Failure, Result};
use crate::output::{self, Align, Form, Output, Table};
use crate::schema::{self, short_name};

/// Shows all tables, or one, and figures of the files, the cache and the log.
pub fn info(store: &Store, only: Option<&str>, out: &mut Output) -> Result<()> {
    let mut info = store.db.info().map_err(|error| Failure::engine(&store.dir, error))?;
    if let Some(only) = only {
        store.table(only)?;
        info.tables.retain(|table| name(table) == short_name(only));
    }
    if out.is_json() {
        let tables = info.tables.iter().map(|table| table_json(table, info.page_size)).collect();
        out.json(&database_json(store, &info, tables))?;
        return Ok(());
    }
    tables(&info, out)?;
    if only.is_some() {
        return columns(&info, out);
    }
    writeln!(out)?;
    figures(store, &info, out)
}

/// The list of tables.
pub fn tables(info: &Info, out: &mut Output) -> Result<()> {
    use Align::{Left, Right};
    let mut table = Table::new([
        ("table", Left),
        ("storage", Left),
        ("rows", Right),
        ("keys", Left),
        ("records", Left),
        ("raw", Right),
        ("stored", Right),
        ("ratio", Right),
        ("unsettled", Right),
        ("height", Right),
        ("runs", Right),
    ]);
    for t in &info.tables {
        table.row(vec![
            name(t).to_string(),
            t.definition.storage.name().to_string(),
            output::count(t.rows),
            compression::keys(&t.definition),
            compression::records(&t.definition),
            output::bytes(t.raw_bytes()),
            output::bytes(t.stored_bytes(info.page_size)),
            ratio(t, info.page_size).map_or(String::new(), |ratio| format!("{ratio:.2}")),
            output::bytes(t.delta_bytes),
            t.height.to_string(),
            t.runs.to_string(),
        ]);
    }
    if table.len() == 0 {
        writeln!(out, "no tables")?;
    }
    table.write(out, true)?;
    let outdated = |table: &&TableInfo| table.outdated;
    let told = if out.form == Form::Human { usize::MAX } else { 0 };
    for table in info.tables.iter().filter(outdated).take(told) {
        writeln!(
            out,
            "{} has pages from before its compression was changed; `ambo compact` rewrites them",
            name(table)
        )?;
    }
    Ok(())
}

fn name(table: &TableInfo) -> &str {
    short_name(&table.definition.name)
}

/// How many times as long as its pages the settled part of a table is.
fn ratio(table: &TableInfo, page_size: usize) -> Option<f64> {
    let stored = table.stored_bytes(page_size);
    (stored > 0).then(|| table.raw_bytes() as f64 / stored as f64)
}

fn columns(info: &Info, out: &mut Output) -> Result<()> {
    for table in &info.tables {
        let key = schema::key_of(&table.definition);
        writeln!(out)?;
        let mut list = Table::new([("column", Align::Left), ("type", Align::Left), ("", Align::Left)]);
        for column in schema::of(&table.definition) {
            let position = key.iter().position(|name| name == &column.name);
            let note = match (position, column.nullable) {
                (Some(position), _) => format!("key {}", position + 1),
                (None, true) => "nullable".into(),
                (None, false) => String::new(),
            };
            list.row(vec![column.name, column.ty.to_string(), note]);
        }
        list.write(out, true)?;
        if table.rows > 0 {
            writeln!(out)?;
            let mut list = Table::new([
                ("settled", Align::Left),
                ("codec", Align::Left),
                ("raw", Align::Right),
                ("stored", Align::Right),
            ]);
            let line = |what: &str, codec: String, raw: u64, stored: u64| {
                vec![what.into(), codec, output::bytes(raw), output::bytes(stored)]
            };
            let definition = &table.definition;
            list.row(line("keys", compression::keys(definition), table.key_bytes, table.space.keys));
            let blobs = table.blob_pages * info.page_size as u64;
            let records = table.space.records + blobs;
            list.row(line("records", compression::records(definition), table.value_bytes, records));
            list.row(line("pages", String::new(), table.raw_bytes(), table.stored_bytes(info.page_size)));
            list.write(out, true)?;
        }
    }
    Ok(())
}

fn figures(store: &Store, info: &Info, out: &mut Output) -> Result<()> {
    let reads = info.pages.hits + info.pages.misses;
    let hits = if reads == 0 {
        "no reads yet".into()
    } else {
        format!("{:.1} % hits", info.pages.hits as f64 * 100.0 / reads as f64)
    };
    let recovery = store.db.recovery();
    let mut list = Table::new([("what", Align::Left), ("", Align::Left)]);
    let mut line = |what: &str, text: String| list.row(vec![what.into(), text]);
    line("directory", store.dir.display().to_string());
    line(
        "pages",
        format!(
            "{} on disk in pages of {}, {} more to be reused",
            output::bytes(info.file_bytes),
            output::bytes(info.page_size as u64),
            output::bytes(info.pages.free_pages * info.page_size as u64)
        ),
    );
    line("log", format!("{} in {} segments", output::bytes(info.log_bytes), info.log_segments));
    line(
        "delta",
        format!(
            "{} of {} not yet settled",
            output::bytes(info.delta_bytes),
            output::bytes(info.delta_budget)
        ),
    );
    line(
        "cache",
        format!(
            "{} of {} in use, {hits}",
            output::bytes(info.pages.resident_bytes),
            output::bytes(info.cache_bytes)
        ),
    );
    line(
        "opened",
        format!(
            "in {}, {} transactions replayed from {} of log{}",
            output::duration(recovery.elapsed),
            output::count(recovery.transactions),
            output::bytes(recovery.log_bytes),
            if recovery.is_clean() { "" } else { "; it was not closed cleanly" }
        ),
    );
    list.write(out, false)?;
    Ok(())
}

fn table_json(table: &TableInfo, page_size: usize) -> Json {
    let definition = &table.definition;
    json!({
        "name": name(table),
        "storage": definition.storage.name(),
        "key_value": definition.is_raw(),
        "schema": schema::show(&schema::of(definition)),
        "key": schema::key_of(definition),
        "rows": table.rows,
        "key_compression": compression::keys(definition),
        "record_compression": compression::records(definition),
        "outdated": table.outdated,
        "key_bytes": table.key_bytes,
        "value_bytes": table.value_bytes,
        "leaf_pages": table.leaf_pages,
        "inner_pages": table.inner_pages,
        "blob_pages": table.blob_pages,
        "raw_bytes": table.raw_bytes(),
        "stored_bytes": table.stored_bytes(page_size),
        "stored_key_bytes": table.space.keys,
        "stored_record_bytes": table.space.records,
        "ratio": ratio(table, page_size),
        "height": table.height,
        "runs": table.runs,
        "delta_rows": table.delta_rows,
        "delta_bytes": table.delta_bytes,
    })
}

fn database_json(store: &Store, info: &Info, tables: Vec<Json>) -> Json {
    let recovery = store.db.recovery();
    json!({
        "directory": store.dir.display().to_string(),
        "tables": tables,
        "page_bytes": info.page_size,
        "file_bytes": info.file_bytes,
        "used_pages": info.pages.used_pages,
        "free_pages": info.pages.free_pages,
        "log_bytes": info.log_bytes,
        "log_segments": info.log_segments,
        "checkpoints": info.checkpoints,
        "delta_bytes": info.delta_bytes,
        "delta_budget_bytes": info.delta_budget,
        "cache": {
            "bytes": info.pages.resident_bytes,
            "budget_bytes": info.cache_bytes,
            "hits": info.pages.hits,
            "misses": info.pages.misses,
        },
        "recovery": {
            "clean": recovery.is_clean(),
            "transactions": recovery.transactions,
            "log_bytes": recovery.log_bytes,
            "seconds": recovery.elapsed.as_secs_f64(),
            "bytes_cut": recovery.cut.as_ref().map_or(0, |cut| cut.bytes_dropped),
        },
    })
}
