//! info: what is in a database, and how it is kept.

use std::io::Write;

use ambo::{Info, TableInfo};
use serde_json::{Value as Json, json};

use crate::engine::Store;
use crate::failure::{Failure, Result};
use crate::output::{self, Align, Output, Table};
use crate::schema::{self, short_name};

/// Shows all tables, or one, and figures of the files, the cache and the log.
pub fn info(store: &Store, only: Option<&str>, out: &mut Output) -> Result<()> {
    let mut info = store.db.info().map_err(|error| Failure::engine(&store.dir, error))?;
    if let Some(only) = only {
        store.table(only)?;
        info.tables.retain(|table| short_name(&table.name) == short_name(only));
    }
    if out.is_json() {
        let tables: Vec<Json> =
            info.tables.iter().map(|table| table_json(store, table)).collect::<Result<_>>()?;
        out.json(&database_json(store, &info, tables))?;
        return Ok(());
    }
    tables(&info, out)?;
    if only.is_some() {
        return columns(store, &info, out);
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
        ("keys", Right),
        ("values", Right),
        ("pages", Right),
        ("height", Right),
        ("runs", Right),
    ]);
    for t in &info.tables {
        table.row(vec![
            short_name(&t.name).to_string(),
            storage(t),
            output::count(t.rows),
            output::bytes(t.key_bytes),
            output::bytes(t.value_bytes),
            output::count(t.leaf_pages + t.inner_pages + t.blob_pages),
            t.height.to_string(),
            t.runs.to_string(),
        ]);
    }
    if table.len() == 0 {
        writeln!(out, "no tables")?;
    }
    table.write(out, true)?;
    Ok(())
}

fn storage(table: &TableInfo) -> String {
    format!("{:?}", table.storage).to_lowercase()
}

fn columns(store: &Store, info: &Info, out: &mut Output) -> Result<()> {
    for table in &info.tables {
        let handle = store.table(&table.name)?;
        let key = schema::key_of(handle.definition());
        writeln!(out)?;
        let mut list = Table::new([("column", Align::Left), ("type", Align::Left), ("", Align::Left)]);
        for column in schema::of(handle.definition()) {
            let position = key.iter().position(|name| name == &column.name);
            let note = match (position, column.nullable) {
                (Some(position), _) => format!("key {}", position + 1),
                (None, true) => "nullable".into(),
                (None, false) => String::new(),
            };
            list.row(vec![column.name, column.ty.to_string(), note]);
        }
        list.write(out, true)?;
    }
    Ok(())
}

fn figures(store: &Store, info: &Info, out: &mut Output) -> Result<()> {
    let reads = info.cache_hits + info.cache_misses;
    let hits = if reads == 0 {
        "no reads yet".into()
    } else {
        format!("{:.1} % hits", info.cache_hits as f64 * 100.0 / reads as f64)
    };
    let recovery = store.db.recovery();
    let mut list = Table::new([("what", Align::Left), ("", Align::Left)]);
    let mut line = |what: &str, text: String| list.row(vec![what.into(), text]);
    line("directory", store.dir.display().to_string());
    line(
        "pages",
        format!(
            "{} in pages of {}, {} free",
            output::bytes(info.file_bytes),
            output::bytes(info.page_size),
            output::bytes(info.free_pages * info.page_size)
        ),
    );
    line("log", output::bytes(info.log_bytes));
    line("delta", format!("{} not yet settled", output::bytes(info.delta_bytes)));
    line("cache", format!("{} in use, {hits}", output::bytes(info.cache_bytes)));
    line(
        "opened",
        format!(
            "in {}, {} transactions replayed from {} of log{}",
            output::duration(recovery.elapsed),
            output::count(recovery.transactions),
            output::bytes(recovery.log_bytes),
            if recovery.clean { "" } else { "; it was not closed cleanly" }
        ),
    );
    list.write(out, false)?;
    Ok(())
}

fn table_json(store: &Store, table: &TableInfo) -> Result<Json> {
    let handle = store.table(&table.name)?;
    let definition = handle.definition();
    Ok(json!({
        "name": short_name(&table.name),
        "storage": storage(table),
        "key_value": definition.is_raw(),
        "schema": schema::show(&schema::of(definition)),
        "key": schema::key_of(definition),
        "rows": table.rows,
        "key_bytes": table.key_bytes,
        "value_bytes": table.value_bytes,
        "leaf_pages": table.leaf_pages,
        "inner_pages": table.inner_pages,
        "blob_pages": table.blob_pages,
        "height": table.height,
        "runs": table.runs,
    }))
}

fn database_json(store: &Store, info: &Info, tables: Vec<Json>) -> Json {
    let recovery = store.db.recovery();
    json!({
        "directory": store.dir.display().to_string(),
        "tables": tables,
        "page_bytes": info.page_size,
        "file_bytes": info.file_bytes,
        "free_pages": info.free_pages,
        "log_bytes": info.log_bytes,
        "delta_bytes": info.delta_bytes,
        "cache": { "bytes": info.cache_bytes, "hits": info.cache_hits, "misses": info.cache_misses },
        "recovery": {
            "clean": recovery.clean,
            "transactions": recovery.transactions,
            "log_bytes": recovery.log_bytes,
            "seconds": recovery.elapsed.as_secs_f64(),
            "bytes_cut": recovery.cut.as_ref().map_or(0, |cut| cut.bytes_dropped),
        },
    })
}
