//! info: what is in a database, and how it is kept.

use std::io::Write;

use ambo::{ColumnFigures, ColumnSpace, Info, TableDefinition, TableInfo};
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
        ("uncompacted", Right),
        ("height", Right),
        ("runs", Right),
        ("segments", Right),
    ]);
    for t in &info.tables {
        table.row(vec![
            name(t).to_string(),
            t.definition.storage.name().to_string(),
            output::count(t.rows),
            codec(t, compression::keys),
            codec(t, compression::records),
            output::bytes(t.raw_bytes()),
            output::bytes(t.stored_bytes(info.page_size)),
            ratio(t, info.page_size).map_or(String::new(), |ratio| format!("{ratio:.2}")),
            output::bytes(t.memtable_bytes),
            t.height.to_string(),
            t.runs.to_string(),
            t.segments.as_ref().map_or(String::new(), |segments| output::count(segments.segments)),
        ]);
    }
    if table.waiting() == 0 && info.damaged.is_empty() {
        writeln!(out, "no tables")?;
    }
    table.write(out, true)?;
    for (table, what) in &info.damaged {
        writeln!(out, "{}: {what}", short_name(&table.name))?;
    }
    let outdated = |table: &&TableInfo| table.outdated;
    let told = if out.form == Form::Human { usize::MAX } else { 0 };
    for table in info.tables.iter().filter(outdated).take(told) {
        writeln!(
            out,
            "{} has pages from before its compression was changed; `ambo vacuum` rewrites them",
            name(table)
        )?;
    }
    Ok(())
}

fn name(table: &TableInfo) -> &str {
    short_name(&table.definition.name)
}

/// How keys or records are compressed; in a column table each column is encoded by itself.
fn codec(table: &TableInfo, name: fn(&TableDefinition) -> String) -> String {
    match table.segments {
        Some(_) => "by column".into(),
        None => name(&table.definition),
    }
}

/// How many times as long as its pages and segments the compacted part of a table is.
fn ratio(table: &TableInfo, page_size: usize) -> Option<f64> {
    let stored = table.stored_bytes(page_size);
    (stored > 0).then(|| table.raw_bytes() as f64 / stored as f64)
}

fn columns(info: &Info, out: &mut Output) -> Result<()> {
    for table in &info.tables {
        writeln!(out)?;
        match &table.segments {
            Some(segments) => encoded_columns(table, segments, info.page_size, out)?,
            None => plain_columns(table, info.page_size, out)?,
        }
        indexes(table, info.page_size, out)?;
    }
    Ok(())
}

/// The columns of an index by name, in its order.
fn index_columns<'a>(table: &'a TableInfo, index: &TableInfo) -> Vec<&'a str> {
    let of = index.definition.index.as_ref().expect("an index");
    of.columns.iter().map(|&column| table.definition.columns[column].name.as_str()).collect()
}

fn indexes(table: &TableInfo, page_size: usize, out: &mut Output) -> Result<()> {
    use Align::{Left, Right};
    if table.indexes.is_empty() {
        return Ok(());
    }
    writeln!(out)?;
    let mut list = Table::new([
        ("index", Left),
        ("columns", Left),
        ("kind", Left),
        ("entries", Right),
        ("stored", Right),
        ("memtable", Right),
        ("height", Right),
        ("runs", Right),
    ]);
    for index in &table.indexes {
        let of = index.definition.index.as_ref().expect("an index");
        let state = if of.ready { "" } else { ", being built" };
        list.row(vec![
            name(index).to_owned(),
            index_columns(table, index).join(", "),
            crate::index::kind(of.unique, of.kind) + state,
            output::count(index.rows),
            output::bytes(index.stored_bytes(page_size)),
            output::bytes(index.memtable_bytes),
            index.height.to_string(),
            index.runs.to_string(),
        ]);
    }
    list.write(out, true)?;
    Ok(())
}

fn index_json(table: &TableInfo, index: &TableInfo, page_size: usize) -> Json {
    let of = index.definition.index.as_ref().expect("an index");
    json!({
        "name": name(index),
        "columns": index_columns(table, index),
        "kind": of.kind.name(),
        "unique": of.unique,
        "ready": of.ready,
        "entries": index.rows,
        "stored_bytes": index.stored_bytes(page_size),
        "memtable_bytes": index.memtable_bytes,
        "height": index.height,
        "runs": index.runs,
    })
}

/// What there is to know of a column beside its type: its places in primary key and sort key, or whether it may be NULL.
fn note(definition: &TableDefinition, column: usize) -> String {
    let place = |what: &str, columns: &[usize]| {
        let position = columns.iter().position(|&key| key == column)?;
        Some(format!("{what} {}", position + 1))
    };
    let places = [place("key", definition.primary_columns()), place("sort", definition.sort_columns())];
    let mut notes: Vec<String> = places.into_iter().flatten().collect();
    if definition.columns[column].nullable {
        notes.push("nullable".into());
    }
    if let (Some(ttl), true) = (definition.expiry.ttl, definition.expiry.column == Some(column)) {
        notes.push(format!("rows expire {ttl} after it"));
    }
    notes.join(", ")
}

fn plain_columns(table: &TableInfo, page_size: usize, out: &mut Output) -> Result<()> {
    let definition = &table.definition;
    let mut list = Table::new([("column", Align::Left), ("type", Align::Left), ("", Align::Left)]);
    for (number, column) in schema::of(definition).into_iter().enumerate() {
        list.row(vec![column.name, column.ty.to_string(), note(definition, number)]);
    }
    list.write(out, true)?;
    if table.rows > 0 {
        writeln!(out)?;
        let mut list = Table::new([
            ("compacted", Align::Left),
            ("codec", Align::Left),
            ("raw", Align::Right),
            ("stored", Align::Right),
        ]);
        let line = |what: &str, codec: String, raw: u64, stored: u64| {
            vec![what.into(), codec, output::bytes(raw), output::bytes(stored)]
        };
        list.row(line("keys", compression::keys(definition), table.key_bytes, table.space.keys));
        let records = table.space.records + table.blob_pages * page_size as u64;
        list.row(line("records", compression::records(definition), table.value_bytes, records));
        list.row(line("pages", String::new(), table.raw_bytes(), table.stored_bytes(page_size)));
        list.write(out, true)?;
    }
    Ok(())
}

/// The name of the column that a table without a key has, or one with duplicates.
const ROW_NUMBER: &str = "(row number)";

fn column_name(table: &TableInfo, column: &ColumnFigures) -> String {
    column.column.map_or(ROW_NUMBER.into(), |number| table.definition.columns[number].name.clone())
}

/// The columns of a column table, and what its segments hold.
fn encoded_columns(
    table: &TableInfo,
    segments: &ColumnSpace,
    page_size: usize,
    out: &mut Output,
) -> Result<()> {
    use Align::{Left, Right};
    let mut list = Table::new([
        ("column", Left),
        ("type", Left),
        ("", Left),
        ("encodings", Left),
        ("NULLs", Right),
        ("raw", Right),
        ("stored", Right),
        ("bytes a row", Right),
    ]);
    for column in &segments.columns {
        let encodings = column.encodings.iter().map(|(name, blocks)| format!("{name} {blocks}"));
        list.row(vec![
            column_name(table, column),
            column.kind.to_string(),
            column.column.map_or(String::new(), |number| note(&table.definition, number)),
            encodings.collect::<Vec<_>>().join(", "),
            output::count(column.nulls),
            output::bytes(column.raw_bytes),
            output::bytes(column.stored_bytes),
            share(column.stored_bytes, segments.rows).map_or(String::new(), |bytes| format!("{bytes:.2}")),
        ]);
    }
    list.write(out, true)?;
    writeln!(out)?;
    let mut list = Table::new([("what", Left), ("", Left)]);
    let mut line = |what: &str, text: String| list.row(vec![what.into(), text]);
    line(
        "segments",
        format!(
            "{} in {} runs, {} groups, {}, {} of them directories",
            output::count(segments.segments),
            output::count(segments.runs),
            output::count(segments.groups),
            output::bytes(segments.file_bytes),
            output::bytes(segments.directory_bytes),
        ),
    );
    line("rows", format!("{} in segments, {}", output::count(segments.rows), deleted(segments, page_size)));
    if segments.dropped_bytes > 0 {
        let bytes = output::bytes(segments.dropped_bytes);
        line("dropped columns", format!("{bytes}, until their segments are rewritten"));
    }
    let waiting = table.key_bytes + table.value_bytes;
    line("not yet in segments", format!("{} in {} runs of rows", output::bytes(waiting), table.runs));
    list.write(out, false)?;
    Ok(())
}

fn deleted(segments: &ColumnSpace, page_size: usize) -> String {
    match share(segments.deleted_rows, segments.rows) {
        Some(share) if share > 0.0 => format!(
            "{} of them deleted ({:.2} %), noted in {}",
            output::count(segments.deleted_rows),
            share * 100.0,
            output::bytes(segments.deleted_pages * page_size as u64),
        ),
        _ => "none of them deleted".into(),
    }
}

/// A part of a whole, if there is a whole.
fn share(part: u64, whole: u64) -> Option<f64> {
    (whole > 0).then(|| part as f64 / whole as f64)
}

fn held_bytes(info: &Info) -> u64 {
    info.readers.held_pages * info.page_size as u64 + info.readers.held_segment_bytes
}

/// Readers in other processes, in words.
fn readers(info: &Info) -> String {
    let age = |age| format!(" of a checkpoint that was made {} ago", output::duration(age));
    let age = info.readers.oldest_age.map_or(String::new(), age);
    let (readers, held) = (output::count(info.readers.readers), output::bytes(held_bytes(info)));
    format!("{readers}, the oldest{age}; {held} are not reused as long as they read")
}

fn figures(store: &Store, info: &Info, out: &mut Output) -> Result<()> {
    let reads = info.pages.hits + info.pages.misses;
    let block_reads = info.block_hits + info.block_misses;
    let rate = |hits, reads| {
        share(hits, reads).map_or("no reads yet".into(), |share| format!("{:.1} % hits", share * 100.0))
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
    if info.segments > 0 {
        let (segments, bytes) = (output::count(info.segments), output::bytes(info.segment_bytes));
        line("segments", format!("{bytes} on disk in {segments} files"));
    }
    line("log", format!("{} in {} segments", output::bytes(info.log_bytes), info.log_segments));
    if let Some(number) = info.publication {
        line("publication", output::count(number));
    }
    if info.readers.readers > 0 {
        line("readers beside", readers(info));
    }
    if let Some(archive) = &info.archive {
        let waiting = output::bytes(archive.waiting_bytes);
        let failure = archive.failure.as_ref().map_or(String::new(), |why| format!("; {why}"));
        line("archive of the log", format!("{}, {waiting} wait{failure}", archive.place));
    }
    line(
        "memtable",
        format!(
            "{} of {} not yet compacted",
            output::bytes(info.memtable_bytes),
            output::bytes(info.memtable_budget)
        ),
    );
    line("cache", cache(info));
    line("pages read", rate(info.pages.hits, reads));
    if info.segments > 0 {
        line("blocks read", rate(info.block_hits, block_reads));
    }
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

/// What the budget of memory is used for, parts that are not used left out.
fn cache(info: &Info) -> String {
    let memory = info.memory;
    let parts = [
        ("pages", memory.pages),
        ("blocks", memory.blocks),
        ("rows", memory.rows),
        ("fresh rows", memory.fresh),
        ("slots of blocks", memory.slots),
        ("results of aggregates", memory.partials),
    ];
    let parts = parts.iter().filter(|(_, bytes)| *bytes > 0);
    let parts: Vec<_> = parts.map(|(what, bytes)| format!("{} of {what}", output::bytes(*bytes))).collect();
    let sum = format!("{} of {} in use", output::bytes(memory.total), output::bytes(memory.limit));
    if parts.is_empty() { sum } else { format!("{sum}: {}", parts.join(", ")) }
}

fn table_json(table: &TableInfo, page_size: usize) -> Json {
    let definition = &table.definition;
    json!({
        "name": name(table),
        "storage": definition.storage.name(),
        "key_value": definition.is_raw(),
        "schema": schema::show(&schema::of(definition)),
        "key": schema::key_of(definition),
        "sort_key": schema::sort_key_of(definition),
        "rows": table.rows,
        "ttl": definition.expiry.ttl.map(|ttl| ttl.to_string()),
        "ttl_column": definition.expiry.column.map(|column| definition.columns[column].name.clone()),
        "compaction_filter": definition.compaction_filter,
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
        "memtable_rows": table.memtable_rows,
        "memtable_bytes": table.memtable_bytes,
        "segments": table.segments.as_ref().map(segments_json),
        "columns": table.segments.as_ref().map(|segments| columns_json(table, segments)),
        "indexes": table.indexes.iter().map(|index| index_json(table, index, page_size)).collect::<Vec<_>>(),
    })
}

fn segments_json(segments: &ColumnSpace) -> Json {
    json!({
        "segments": segments.segments,
        "runs": segments.runs,
        "groups": segments.groups,
        "rows": segments.rows,
        "deleted_rows": segments.deleted_rows,
        "deleted_share": share(segments.deleted_rows, segments.rows),
        "deleted_pages": segments.deleted_pages,
        "file_bytes": segments.file_bytes,
        "directory_bytes": segments.directory_bytes,
        "dropped_bytes": segments.dropped_bytes,
    })
}

/// The columns of a column table; one without a name is the hidden number of a row.
fn columns_json(table: &TableInfo, segments: &ColumnSpace) -> Vec<Json> {
    let column = |column: &ColumnFigures| {
        let encodings = column.encodings.iter().map(|(name, blocks)| (name.to_string(), Json::from(*blocks)));
        json!({
            "name": column.column.map(|number| &table.definition.columns[number].name),
            "type": column.kind.to_string(),
            "blocks": column.blocks,
            "encodings": Json::Object(encodings.collect()),
            "nulls": column.nulls,
            "raw_bytes": column.raw_bytes,
            "stored_bytes": column.stored_bytes,
            "bytes_a_row": share(column.stored_bytes, segments.rows),
        })
    };
    segments.columns.iter().map(column).collect()
}

fn database_json(store: &Store, info: &Info, tables: Vec<Json>) -> Json {
    let recovery = store.db.recovery();
    json!({
        "directory": store.dir.display().to_string(),
        "tables": tables,
        "damaged": info.damaged.iter().map(|(table, what)| {
            json!({ "name": short_name(&table.name), "what": what })
        }).collect::<Vec<_>>(),
        "page_bytes": info.page_size,
        "file_bytes": info.file_bytes,
        "segments": info.segments,
        "segment_bytes": info.segment_bytes,
        "used_pages": info.pages.used_pages,
        "free_pages": info.pages.free_pages,
        "log_bytes": info.log_bytes,
        "log_segments": info.log_segments,
        "archive": info.archive.as_ref().map(|archive| json!({
            "place": archive.place,
            "archived": archive.archived.0,
            "waiting_bytes": archive.waiting_bytes,
            "failure": archive.failure,
        })),
        "readers": {
            "readers": info.readers.readers,
            "oldest_age_seconds": info.readers.oldest_age.map(|age| age.as_secs_f64()),
            "held_bytes": held_bytes(info),
        },
        "publication": info.publication,
        "checkpoints": info.checkpoints,
        "encrypted": info.data_keys > 0,
        "data_keys": info.data_keys,
        "memtable_bytes": info.memtable_bytes,
        "memtable_budget_bytes": info.memtable_budget,
        "memory": {
            "budget_bytes": info.memory.limit,
            "bytes": info.memory.total,
            "page_bytes": info.memory.pages,
            "block_bytes": info.memory.blocks,
            "row_bytes": info.memory.rows,
            "fresh_bytes": info.memory.fresh,
            "slot_bytes": info.memory.slots,
            "partial_bytes": info.memory.partials,
        },
        "partials": {
            "questions": info.partials.questions,
            "values": info.partials.values,
        },
        "cache": {
            "bytes": info.pages.resident_bytes,
            "budget_bytes": info.cache_bytes,
            "hits": info.pages.hits,
            "misses": info.pages.misses,
        },
        "block_cache": {
            "bytes": info.block_cache_bytes,
            "budget_bytes": info.cache_bytes,
            "hits": info.block_hits,
            "misses": info.block_misses,
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
