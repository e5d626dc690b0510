//! `ambo_catalog`: how many rows, bytes, segments and pages there are. The figures are those of `ambo info`.

use super::{BIGINT, BOOLEAN, Contents, TEXT, count, text};
use crate::{Result, databases::Kind, names::split, planner::Planner};
use ambo::{Datum, Info, TableInfo};

pub(super) fn tables(planner: &Planner<'_>) -> Result<Contents> {
    let mut rows = Vec::new();
    for place in planner.catalogs() {
        let seen = planner.place(place);
        let info = seen.engine.db.info()?;
        let row = |table| row_of(seen.name, &info, table);
        let shown = info.tables.iter().filter(|table| planner.shows(place, &table.definition.name));
        rows.extend(shown.map(row));
    }
    let columns = &[
        ("table_schema", TEXT),
        ("table_name", TEXT),
        ("storage", TEXT),
        ("rows", BIGINT),
        ("raw_bytes", BIGINT),
        ("stored_bytes", BIGINT),
        ("segments", BIGINT),
        ("pages", BIGINT),
        ("runs", BIGINT),
        ("memtable_rows", BIGINT),
        ("memtable_bytes", BIGINT),
        ("table_catalog", TEXT),
    ];
    Ok(Contents { columns, rows })
}

fn row_of(catalog: &str, info: &Info, table: &TableInfo) -> Vec<Datum> {
    let (schema, name) = split(&table.definition.name);
    vec![
        text(schema),
        text(name),
        text(table.definition.storage.name()),
        count(table.rows),
        count(table.raw_bytes()),
        count(table.stored_bytes(info.page_size)),
        count(table.segments.as_ref().map_or(0, |segments| segments.segments)),
        count(table.leaf_pages + table.inner_pages + table.blob_pages),
        count(table.runs),
        count(table.memtable_rows),
        count(table.memtable_bytes),
        text(catalog),
    ]
}

pub(super) fn indexes(planner: &Planner<'_>) -> Result<Contents> {
    let mut rows = Vec::new();
    for place in planner.catalogs() {
        let seen = planner.place(place);
        let info = seen.engine.db.info()?;
        let shown = info.tables.iter().filter(|table| planner.shows(place, &table.definition.name));
        let all = shown.flat_map(|table| table.indexes.iter().map(move |index| (table, index)));
        for (table, index) in all {
            let Some(of) = &index.definition.index else { continue };
            rows.push(vec![
                text(split(&table.definition.name).0),
                text(split(&table.definition.name).1),
                text(split(&index.definition.name).1),
                text(of.kind.name()),
                Datum::Bool(of.unique),
                count(index.rows),
                count(index.stored_bytes(info.page_size)),
                text(seen.name),
            ]);
        }
    }
    let columns = &[
        ("table_schema", TEXT),
        ("table_name", TEXT),
        ("index_name", TEXT),
        ("index_type", TEXT),
        ("is_unique", BOOLEAN),
        ("entries", BIGINT),
        ("stored_bytes", BIGINT),
        ("table_catalog", TEXT),
    ];
    Ok(Contents { columns, rows })
}

pub(super) fn database(planner: &Planner<'_>) -> Result<Contents> {
    let info = planner.place(0).engine.db.info()?;
    let figures = [
        ("page_size", info.page_size as u64),
        ("file_bytes", info.file_bytes),
        ("segments", info.segments),
        ("segment_bytes", info.segment_bytes),
        ("log_bytes", info.log_bytes),
        ("log_segments", info.log_segments),
        ("archive_waiting_bytes", info.archive.as_ref().map_or(0, |archive| archive.waiting_bytes)),
        ("memtable_bytes", info.memtable_bytes),
        ("memtable_budget", info.memtable_budget),
        ("cache_bytes", info.cache_bytes),
        ("block_cache_bytes", info.block_cache_bytes),
        ("block_hits", info.block_hits),
        ("block_misses", info.block_misses),
        ("checkpoints", info.checkpoints),
        ("snapshots", info.snapshots),
        ("readers", info.readers.readers),
        ("readers_oldest_age_ms", info.readers.oldest_age.map_or(0, |age| age.as_millis() as u64)),
        ("readers_held_bytes", held_bytes(&info)),
        ("publication", info.publication.unwrap_or(0)),
        ("data_keys", u64::from(info.data_keys)),
        ("damaged_tables", info.damaged.len() as u64),
    ];
    let rows = figures.iter().map(|(name, figure)| vec![text(*name), count(*figure)]).collect();
    Ok(Contents { columns: &[("figure", TEXT), ("value", BIGINT)], rows })
}

/// Bytes that are not reused as long as readers in other processes read what they do.
fn held_bytes(info: &ambo::Info) -> u64 {
    info.readers.held_pages * info.page_size as u64 + info.readers.held_segment_bytes
}

pub(super) fn databases(planner: &Planner<'_>) -> Result<Contents> {
    let row = |place: usize| {
        let seen = planner.place(place);
        let (read_only, kind) = match seen.kind {
            Kind::Main => (false, "main"),
            Kind::Temporary => (false, "temporary"),
            Kind::Attached { read_only, .. } => (read_only, "attached"),
        };
        let path = seen.path.map_or(Datum::Null, text);
        vec![text(seen.name), text(kind), path, Datum::Bool(read_only)]
    };
    let rows = planner.catalogs().into_iter().map(row).collect();
    let columns =
        &[("database_name", TEXT), ("database_type", TEXT), ("path", TEXT), ("is_read_only", BOOLEAN)];
    Ok(Contents { columns, rows })
}

pub(super) fn settings(planner: &Planner<'_>) -> Result<Contents> {
    let row = |(name, value, what): (&str, String, &str)| vec![text(name), text(value), text(what)];
    let rows = planner.settings()?.into_iter().map(row).collect();
    Ok(Contents { columns: &[("name", TEXT), ("value", TEXT), ("description", TEXT)], rows })
}
