//! Rows of a column table by conditions: whole rows read, changed and deleted, with and without indexes.
//!
//! `cargo run --release -p ambo --example find_rows [million rows]`. The first time, and the best of 5, where nothing is written; one
//! thread, all in cache.

#![allow(clippy::print_stdout, reason = "a program that prints its measurements")]

use std::time::{Duration, Instant};

use ambo::{
    ColumnBuffer, Compare, Database, Datum, IndexDefinition, LoadOptions, Options, Select, Storage, Sync,
    Table, TableDefinition, Test, Type,
};

const VALUES: u64 = 20;
const PEOPLE: u64 = 1_000_000;
const TRIES: usize = 5;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let rows = std::env::args().nth(1).map_or(Ok(10), |number| number.parse::<u64>())? * 1_000_000;
    let dir = tempfile::tempdir()?;
    let db = Options::new().cache_bytes(1 << 30).sync(Sync::Off).open(dir.path())?;
    let table = load(&db, rows)?;
    db.compact()?;
    let equal = |value: Datum| Test::Compare(Compare::Equal, value);
    let between = |low: i32, high: i32| Test::Between(low.into(), high.into());
    let kind = table.select(&[])?.filter("kind", equal("kind 7".into()))?;
    let both = kind.clone().filter("town", equal(5i32.into()))?;
    let few = both.clone().filter("amount", Test::Compare(Compare::Less, 100_000i64.into()))?;
    let keys = table.select(&[])?.filter("id", Test::Between(0i64.into(), 99_999i64.into()))?;
    report("by one column", &kind)?;
    report("by two columns", &both)?;
    report("by three columns", &few)?;
    report("by 100,000 keys", &keys)?;
    report("by 100,000 keys and a column", &keys.filter("kind", equal("kind 7".into()))?)?;
    for column in ["kind", "town"] {
        db.create_index(&IndexDefinition::new(format!("bitmap_{column}"), "t", &[column]).bitmap())?;
    }
    both.scan()?.count(1)?;
    report("by two columns, bitmap indexes", &both)?;
    report("by three columns, two bitmap indexes", &few)?;
    db.create_index(&IndexDefinition::new("by_person", "t", &["person"]))?;
    db.compact()?;
    // Both columns have the same values, one has an index.
    for people in [1, 10, 100, 300, 1000, 3000, 10_000] {
        for column in ["person", "same"] {
            let some = table.select(&[])?.filter(column, between(1000, 999 + people))?;
            report(&format!("{people} people by \"{column}\""), &some)?;
        }
    }
    let some = both.clone().filter("person", between(1000, 3999))?;
    report("3000 people by \"person\", and two bitmap indexes", &some)?;
    let began = Instant::now();
    let changed = few.update(|row| {
        row[5] = Datum::I64(-1);
        Ok(())
    })?;
    println!("update by three columns: {:?} ({changed} rows)", began.elapsed());
    let began = Instant::now();
    let deleted = both.delete()?;
    println!("delete by two columns: {:?} ({deleted} rows)", began.elapsed());
    report("by one column, with newer rows", &kind)?;
    Ok(())
}

fn load(db: &Database, rows: u64) -> ambo::Result<Table> {
    let table = db.create_table(
        TableDefinition::new("t")
            .column("id", Type::I64)
            .column("kind", Type::Utf8)
            .column("town", Type::I32)
            .column("person", Type::I32)
            .column("same", Type::I32)
            .column("amount", Type::I64)
            .primary_key(&["id"])
            .storage(Storage::Column),
    )?;
    let load = table.load(LoadOptions::default())?;
    let mut writer = load.writer();
    let mut state = 1u64;
    for first in (0..rows).step_by(100_000) {
        let types = [Type::I64, Type::Utf8, Type::I32, Type::I32, Type::I32, Type::I64];
        let mut columns = types.map(ColumnBuffer::new);
        for id in first..rows.min(first + 100_000) {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            let person = ((state >> 12).wrapping_mul(0x9e37_79b9) >> 16) % PEOPLE;
            let row = [
                Datum::I64(id as i64),
                format!("kind {}", (state >> 33) % VALUES).into(),
                Datum::I32(((state >> 20) % VALUES) as i32),
                Datum::I32(person as i32),
                Datum::I32(person as i32),
                Datum::I64((state >> 40) as i64),
            ];
            for (column, value) in columns.iter_mut().zip(&row) {
                column.push(value.into()).map_err(|error| ambo::Error::Invalid(error.to_string()))?;
            }
        }
        writer.push(columns.into())?;
    }
    writer.finish()?;
    load.finish()?;
    Ok(table)
}

fn report(what: &str, select: &Select) -> ambo::Result<()> {
    let (mut first, mut least) = (None, Duration::MAX);
    let mut rows = 0;
    let path = select.rows()?.path();
    for _ in 0..TRIES {
        let began = Instant::now();
        rows = select.rows()?.collect::<ambo::Result<Vec<_>>>()?.len();
        let took = began.elapsed();
        first = first.or(Some(took));
        least = least.min(took);
    }
    println!("{what}: first {:?}, best {least:?} ({rows} rows, by {path})", first.unwrap_or(least));
    Ok(())
}
