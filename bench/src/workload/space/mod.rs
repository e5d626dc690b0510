//! Columns of tables: encoded size and decoding, beside Parquet and DuckDB.
//!
//! All encoders get the same columns in memory. Parquet's sizes are those of the column chunks in the footer, DuckDB's
//! those of a database file with that column alone. Decoding is from memory into arrays of the column's type: no file
//! is read, so that what is compared is the formats.

mod ambo;
mod column;
mod duckdb;
mod flights;
mod generated;
mod parquet;
mod tpch;

use std::cell::RefCell;
use std::hint::black_box;
use std::path::Path;

use super::sheet::Sheet;
use crate::contender::{AMBO, AMBO_SIZE};
use crate::engine::{Failure, Result};
use crate::timing::fastest;
use ambo::{Arrays, Encoded};
use ambo_codec::column::Goal;
use column::Table;
use parquet::{File, Pages};

/// The row of a table's sums.
const TOTAL: &str = "total";

pub(super) fn run(sheet: &mut Sheet) -> Result<()> {
    let table = match sheet.case.name {
        "lineitem" => tpch::lineitem(sheet.options.scale),
        "orders" => tpch::orders(sheet.options.scale),
        "flights" => flights::read(&sheet.inputs.join("flights.csv"))?,
        "doubles" => generated::doubles(sheet.records),
        _ => generated::words(&sheet.inputs.join("words.txt"), sheet.records)?,
    };
    let rows = table.columns.first().map_or(0, |column| column.values.len());
    sheet.records = rows as u64;
    sheet.note(&format!("{rows} rows; {}", table.source));
    measure(sheet, &table, rows)?;
    duckdb_sizes(sheet, &table, rows)
}

/// Name of a column, or of the sums, in the figures.
fn label(table: &Table, column: &str) -> String {
    format!("{}: {column}", table.name)
}

/// Sums over the columns of one contender.
#[derive(Default, Clone, Copy)]
struct Sums {
    bytes: usize,
    seconds: f64,
}

/// Encodes and decodes every column, and adds the figures of the columns and of their sums.
fn measure(sheet: &mut Sheet, table: &Table, rows: usize) -> Result<()> {
    let files = [parquet::write(table, Pages::Snappy)?, parquet::write(table, Pages::Zstd)?];
    let names = [AMBO, AMBO_SIZE, Pages::Snappy.name(), Pages::Zstd.name()];
    let mut sums = [Sums::default(); 4];
    let mut raw_bytes = 0;
    for (at, column) in table.columns.iter().enumerate() {
        let blocks = [Goal::Speed, Goal::Size].map(|goal| ambo::encode_column(column, goal));
        let [speed, size] = blocks;
        let blocks = [speed?, size?];
        blocks.iter().try_for_each(|blocks| blocks.check(column))?;
        let seconds = decode(&blocks, &files, at, rows)?;
        let bytes =
            [blocks[0].bytes(), blocks[1].bytes(), files[0].column_bytes(at), files[1].column_bytes(at)];
        let name = label(table, &column.name);
        for (i, whose) in names.into_iter().enumerate() {
            let one = Sums { bytes: bytes[i], seconds: seconds[i] };
            add_figures(sheet, &name, whose, rows, column.values.raw_bytes(), one);
            sums[i].bytes += one.bytes;
            sums[i].seconds += one.seconds;
        }
        raw_bytes += column.values.raw_bytes();
        sheet.note(&format!("{}: {}", column.name, blocks[0].encodings()));
    }
    for (whose, sums) in names.into_iter().zip(sums) {
        add_figures(sheet, &label(table, TOTAL), whose, rows, raw_bytes, sums);
    }
    Ok(())
}

/// Seconds in which each decodes a column.
fn decode(blocks: &[Encoded; 2], files: &[File; 2], column: usize, rows: usize) -> Result<Vec<f64>> {
    let failure: RefCell<Option<Failure>> = RefCell::new(None);
    let checked = |found: Result<usize>| match found {
        Ok(found) if found == rows => {}
        Ok(found) => *failure.borrow_mut() = Some(format!("{found} of {rows} rows").into()),
        Err(error) => *failure.borrow_mut() = Some(error),
    };
    let mut arrays = [Arrays::default(), Arrays::default()];
    let mut works: Vec<Box<dyn FnMut() + '_>> = Vec::new();
    for (blocks, arrays) in blocks.iter().zip(&mut arrays) {
        works.push(Box::new(|| {
            checked(blocks.decode(arrays, &mut |arrays, _| {
                black_box(arrays);
            }));
        }));
    }
    for file in files {
        works.push(Box::new(|| checked(file.decode(column))));
    }
    let seconds = fastest(&mut works.iter_mut().map(|work| &mut **work as _).collect::<Vec<_>>());
    drop(works);
    failure.into_inner().map_or(Ok(seconds), Err)
}

fn add_figures(sheet: &mut Sheet, name: &str, whose: &str, rows: usize, raw_bytes: usize, sums: Sums) {
    sheet.figure(name, whose, "size", "bytes/row", sums.bytes as f64 / rows as f64);
    sheet.figure(name, whose, "decode", "GB/s", raw_bytes as f64 / sums.seconds / 1e9);
}

/// Adds DuckDB's sizes, or says why there are none.
fn duckdb_sizes(sheet: &mut Sheet, table: &Table, rows: usize) -> Result<()> {
    let sizes = duckdb::python(&sheet.inputs).and_then(|python| {
        let dir = sheet.dir.as_path();
        let file = dir.join("table.parquet");
        std::fs::write(&file, parquet::write(table, Pages::Snappy)?.bytes())?;
        duckdb::sizes(&python, Path::new(&file), dir)
    });
    let sizes = match sizes {
        Ok(sizes) if sizes.len() == table.columns.len() + 1 => sizes,
        Ok(sizes) => return Err(format!("DuckDB told {} sizes", sizes.len()).into()),
        Err(error) => {
            sheet.note(&format!("no sizes of DuckDB, which needs python3 with venv and PyPI: {error}"));
            return Ok(());
        }
    };
    let columns = table.columns.iter().map(|column| column.name.as_str());
    for (column, bytes) in std::iter::once(TOTAL).chain(columns).zip(sizes) {
        sheet.figure(&label(table, column), "duckdb", "size", "bytes/row", bytes as f64 / rows as f64);
    }
    Ok(())
}
