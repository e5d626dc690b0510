//! Measures indexes whose postings are in files (br64) over records of network flows: what they take, and what they cost while rows are
//! ingested; and a few questions with and without them.
//!
//! ```text
//! cargo run --release -p ambo --example br64 -- DIR [millions of rows] [append | column]
//! ```
#![allow(clippy::print_stdout, reason = "a program for the terminal")]
#![allow(clippy::disallowed_methods, reason = "real time and real files are what is measured")]

use std::{
    path::Path,
    time::{Duration, Instant},
};

use ambo::{
    Aggregate, ColumnBuffer, Compare, Database, Datum, IndexDefinition, LoadOptions, Query, Select, Storage,
    Table, TableDefinition, Test, Type,
};

#[path = "../../../bench/events/flows.rs"]
mod flows;

/// Rows that are pushed at once.
const BATCH: usize = 64 << 10;
const RUNS: usize = 5;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let mut arguments = std::env::args().skip(1);
    let dir = arguments.next().ok_or("which directory?")?;
    let millions: usize = arguments.next().unwrap_or_else(|| "4".into()).parse()?;
    let storage = match arguments.next().as_deref() {
        None | Some("append") => Storage::Append,
        Some("column") => Storage::Column,
        Some(other) => return Err(format!("storage {other}: append or column").into()),
    };
    let rows = millions * 1_000_000;
    let batches = columns(rows);
    let plain = load(&Path::new(&dir).join("plain"), storage, &batches, false)?;
    let indexed = load(&Path::new(&dir).join("indexed"), storage, &batches, true)?;
    ask(&plain.1, &indexed.1)?;
    // What is kept of segments would hide what it costs to ask.
    plain.0.keep_partials(false);
    indexed.0.keep_partials(false);
    let source = IndexDefinition::new("by_src", "flows", &["src"]).br64();
    indexed.0.create_index(&source)?;
    aggregate(&plain.1, &indexed.1)?;
    Ok(())
}

/// The records as columns, some thousand rows each.
fn columns(rows: usize) -> Vec<Vec<ColumnBuffer>> {
    let layout = flows::layout();
    let records = flows::records(rows);
    let mut batches = Vec::new();
    for batch in records.chunks(BATCH * layout.size()) {
        let mut columns: Vec<_> = flows::COLUMNS.iter().map(|(_, ty)| ColumnBuffer::new(*ty)).collect();
        for record in batch.chunks_exact(layout.size()) {
            for ((column, field), (_, ty)) in columns.iter_mut().zip(layout.fields()).zip(flows::COLUMNS) {
                let bytes = &record[usize::from(field.offset)..];
                let value = match ty {
                    Type::I64 => Datum::I64(i64::from_le_bytes(bytes[..8].try_into().expect("8 bytes"))),
                    Type::U64 => Datum::U64(u64::from_le_bytes(bytes[..8].try_into().expect("8 bytes"))),
                    Type::U32 => Datum::U32(u32::from_le_bytes(bytes[..4].try_into().expect("4 bytes"))),
                    Type::U16 => Datum::U16(u16::from_le_bytes(bytes[..2].try_into().expect("2 bytes"))),
                    _ => Datum::U8(bytes[0]),
                };
                column.push(value.as_ref()).expect("a value of the column");
            }
        }
        batches.push(columns);
    }
    batches
}

/// Ingests all of it, and says how long that took and what the files take.
fn load(
    dir: &Path,
    storage: Storage,
    batches: &[Vec<ColumnBuffer>],
    is_indexed: bool,
) -> Result<(Database, Table), Box<dyn std::error::Error>> {
    let db = Database::open(dir)?;
    let columns = flows::COLUMNS.iter();
    let table = columns.fold(TableDefinition::new("flows"), |table, (name, ty)| table.column(*name, *ty));
    let table = db.create_table(table.storage(storage))?;
    if is_indexed {
        db.create_index(&IndexDefinition::new("by_address", "flows", &["src", "dst"]).br64_any())?;
        db.create_index(&IndexDefinition::new("by_proto", "flows", &["proto"]).br64())?;
    }
    let begun = Instant::now();
    let ingest = table.ingest("flows", LoadOptions::default())?;
    let mut writer = ingest.writer();
    for batch in batches {
        writer.push(batch.clone())?;
    }
    let rows = ingest.checkpoint(b"all")?.rows;
    let took = begun.elapsed();
    println!(
        "{} of storage {}: {rows} rows in {:.2} s, {:.2} M rows/s",
        if is_indexed { "with two indexes" } else { "without an index" },
        storage.name(),
        took.as_secs_f64(),
        rows as f64 / took.as_secs_f64() / 1e6
    );
    let info = db.info()?;
    let space = info.tables.iter().find_map(|table| table.segments.as_ref()).ok_or("it has segments")?;
    let raw = rows * 64;
    println!(
        "  table {} bytes, {:.4} of the records",
        space.file_bytes,
        space.file_bytes as f64 / raw as f64
    );
    for index in &space.postings {
        println!(
            "  index: {} bytes in {} files, {:.3} % of the records; {} keys, {} postings, {:.2} bytes each",
            index.file_bytes,
            index.files,
            100.0 * index.file_bytes as f64 / raw as f64,
            index.keys,
            index.postings,
            index.file_bytes as f64 / index.postings as f64
        );
    }
    Ok((db, table))
}

/// Some questions, asked of both tables.
fn ask(plain: &Table, indexed: &Table) -> ambo::Result<()> {
    let equal = |value: Datum| Test::Compare(Compare::Equal, value);
    let (few, many) = (flows::address(300_000), flows::address(0));
    let questions: [(&str, &[(&str, Test)]); 5] = [
        ("count of an address, few rows", &[("src", equal(Datum::U32(few)))]),
        ("count of an address, many rows", &[("src", equal(Datum::U32(many)))]),
        ("count of a protocol", &[("proto", equal(Datum::U8(17)))]),
        ("count of protocols", &[("proto", Test::Between(Datum::U8(5), Datum::U8(30)))]),
        ("address and protocol", &[("src", equal(Datum::U32(many))), ("proto", equal(Datum::U8(3)))]),
    ];
    for (what, filters) in questions {
        let select = |table: &Table| -> ambo::Result<Select> {
            filters
                .iter()
                .try_fold(table.select(&[])?, |select, (name, test)| select.filter(name, test.clone()))
        };
        let mut best = [Duration::MAX; 2];
        let mut counts = [0; 2];
        for _ in 0..RUNS {
            for (place, table) in [plain, indexed].into_iter().enumerate() {
                let begun = Instant::now();
                counts[place] = select(table)?.scan()?.count(1)?;
                best[place] = best[place].min(begun.elapsed());
            }
        }
        assert_eq!(counts[0], counts[1], "{what}");
        let micros = best.map(|time| time.as_secs_f64() * 1e6);
        println!(
            "{what}: {} rows, {:.0} µs without, {:.0} µs with the index",
            counts[0], micros[0], micros[1]
        );
    }
    Ok(())
}

/// A question about one column: its words, the column, a condition on it, whether its values make groups, and what is computed.
type Question<'q> = (&'q str, &'q str, Option<Test>, bool, Vec<Aggregate>);

/// Some groups of both tables.
fn aggregate(plain: &Table, indexed: &Table) -> ambo::Result<()> {
    let between = |low: u8, high: u8| Test::Between(Datum::U8(low), Datum::U8(high));
    let sources = Test::Between(Datum::U32(1 << 30), Datum::U32((1 << 30) + (1 << 24)));
    let questions: [Question<'_>; 7] = [
        ("rows of each protocol", "proto", None, true, vec![Aggregate::Rows]),
        ("different protocols", "proto", None, true, vec![]),
        ("rows of protocols 5 to 30", "proto", Some(between(5, 30)), true, vec![Aggregate::Rows]),
        (
            "rows of protocols but one",
            "proto",
            Some(Test::Not(Box::new(between(6, 6)))),
            false,
            vec![Aggregate::Rows],
        ),
        (
            "least and greatest source of a range",
            "src",
            Some(sources.clone()),
            false,
            ["src"].iter().flat_map(|name| [Aggregate::min(*name), Aggregate::max(*name)]).collect(),
        ),
        ("rows of each source of a range", "src", Some(sources), true, vec![Aggregate::Rows]),
        ("rows of each source", "src", None, true, vec![Aggregate::Rows]),
    ];
    for (what, column, test, is_grouped, aggregates) in questions {
        let query = |table: &Table| -> ambo::Result<Query> {
            let select = table.select(&[])?;
            let select = match &test {
                Some(test) => select.filter(column, test.clone())?,
                None => select,
            };
            let by: &[&str] = if is_grouped { &[column] } else { &[] };
            select.group_by(by)?.aggregate(&aggregates)
        };
        let mut best = [Duration::MAX; 2];
        let mut groups = [Vec::new(), Vec::new()];
        for _ in 0..RUNS {
            for (place, table) in [plain, indexed].into_iter().enumerate() {
                let begun = Instant::now();
                groups[place] = query(table)?.run(1)?.rows;
                best[place] = best[place].min(begun.elapsed());
            }
        }
        assert_eq!(groups[0], groups[1], "{what}");
        let micros = best.map(|time| time.as_secs_f64() * 1e6);
        println!(
            "{what}: {} groups, {:.0} µs without, {:.0} µs with the index {}",
            groups[0].len(),
            micros[0],
            micros[1],
            query(indexed)?.counting_index()?.unwrap_or_default()
        );
    }
    Ok(())
}
