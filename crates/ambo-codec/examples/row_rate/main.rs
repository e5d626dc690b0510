//! How fast rows are encoded and decoded, and how large they are, beside fixed widths and SQLite's record.
//!
//! `cargo run --release -p ambo-codec --example row_rate`
#![allow(clippy::print_stdout, reason = "an example that prints a table")]

mod peers;
mod tables;

use std::hint::black_box;
use std::time::Instant;

use ambo_codec::record::{Compressor, RecordCodec};
use ambo_codec::{KeyColumn, KeySpec, Result, RowSpec, Type, ValueRef};
use peers::{Fixed, Format, Sqlite, arrow_row_size};
use tables::Table;

/// Few enough that they stay in the processor's cache, too many for its branch predictor to learn.
const ROWS: usize = 4_000;
/// Rows of 300 columns are large.
const WIDE_ROWS: usize = 400;
const ROUNDS: usize = 60;
/// What of rows is compressed together in a page.
const PAGE: usize = 16 << 10;

/// Nanoseconds a row, the best of several rounds.
fn best(rows: usize, mut round: impl FnMut()) -> f64 {
    let mut best = f64::INFINITY;
    for _ in 0..ROUNDS {
        let begin = Instant::now();
        round();
        best = best.min(begin.elapsed().as_secs_f64());
    }
    best * 1e9 / rows as f64
}

fn print(name: &str, nanos: f64) {
    println!("{name:<34} {nanos:>8.1} ns a row {:>8.2} M rows/s", 1e3 / nanos);
}

fn stored(format: &impl Format, rows: &[Vec<ValueRef<'_>>]) -> Vec<Vec<u8>> {
    let row = |values: &Vec<ValueRef<'_>>| {
        let mut row = Vec::new();
        format.encode(values, &mut row);
        row
    };
    rows.iter().map(row).collect()
}

fn compressed_size<'a>(codec: RecordCodec, parts: impl Iterator<Item = &'a [u8]>) -> usize {
    let mut compressor = Compressor::new(codec, None);
    let mut out = Vec::new();
    parts.for_each(|part| compressor.compress(part, &mut out));
    out.len()
}

/// Measures a format; prints it beside the bytes of a row of fixed width, which it returns.
fn measure_format(name: &str, format: &impl Format, values: &[Vec<ValueRef<'_>>], fixed: Option<f64>) -> f64 {
    let rows = stored(format, values);
    let count = rows.len();
    let mean = |bytes: usize| bytes as f64 / count as f64;
    let size = mean(rows.iter().map(Vec::len).sum());
    let mut out = Vec::new();
    let encode = best(count, || {
        for row in values {
            out.clear();
            format.encode(row, &mut out);
            black_box(&out);
        }
    });
    let mut fields = Vec::new();
    let decode = best(count, || {
        for row in &rows {
            fields.clear();
            format.decode(row, &mut fields);
            black_box(&fields);
        }
    });
    assert_eq!(Some(&fields), values.last());
    let pages = rows.concat();
    println!(
        "{name:<14} {size:>8.1} {:>6.2} {encode:>9.0} {decode:>9.0} {:>9.1} {:>9.1} {:>9.1} {:>9.1}",
        size / fixed.unwrap_or(size),
        mean(compressed_size(RecordCodec::Lz4, rows.iter().map(Vec::as_slice))),
        mean(compressed_size(RecordCodec::ElektRle, rows.iter().map(Vec::as_slice))),
        mean(compressed_size(RecordCodec::Lz4, pages.chunks(PAGE))),
        mean(compressed_size(RecordCodec::Zstd { level: 3 }, pages.chunks(PAGE))),
    );
    fixed.unwrap_or(size)
}

fn compare(table: &Table) -> Result<()> {
    let (values, spec) = (table.refs(), RowSpec::new(table.columns.clone())?);
    println!(
        "\n{}\n{:<14} {:>8} {:>6} {:>9} {:>9} {:>9} {:>9} {:>9} {:>9}",
        table.name,
        "format",
        "bytes",
        "ratio",
        "encode",
        "decode",
        "LZ4 row",
        "RLE row",
        "LZ4 page",
        "zstd page"
    );
    let fixed = measure_format("fixed widths", &Fixed(&table.columns), &values, None);
    measure_format("SQLite", &Sqlite(&table.columns), &values, Some(fixed));
    measure_format("Ambo", &spec, &values, Some(fixed));
    let arrow: usize = values.iter().map(|row| arrow_row_size(&table.columns, row)).sum();
    let arrow = arrow as f64 / values.len() as f64;
    println!("{:<14} {arrow:>8.1} {:>6.2}", "Arrow's rows", arrow / fixed);
    Ok(())
}

fn main() -> Result<()> {
    let flights = tables::flights(ROWS);
    println!(
        "bytes a row and of fixed widths; ns a row; bytes a row compressed by row and by page of 16 KiB"
    );
    compare(&flights)?;
    for table in [tables::sparse_ones, tables::sparse_amounts, tables::sparse_random] {
        compare(&table(WIDE_ROWS))?;
    }
    compare(&tables::positions(ROWS))?;
    compare(&tables::texts(ROWS))?;
    println!();
    measure_columns(&flights)?;
    measure_keys(&flights.refs())
}

fn measure_columns(table: &Table) -> Result<()> {
    let spec = RowSpec::new(table.columns.clone())?;
    let rows = stored(&spec, &table.refs());
    for columns in [&[0][..], &[13], &[14], &[0, 12, 13]] {
        let projection = spec.projection(columns)?;
        let mut fields = Vec::new();
        let nanos = best(rows.len(), || {
            for row in &rows {
                fields.clear();
                spec.decode_projection(&projection, row, &mut fields).expect("just encoded");
                black_box(&fields);
            }
        });
        print(&format!("decode columns {columns:?}"), nanos);
    }
    Ok(())
}

fn measure_keys(rows: &[Vec<ValueRef<'_>>]) -> Result<()> {
    let one = KeySpec::new(vec![KeyColumn::new(Type::I64)])?;
    let two = KeySpec::new(vec![KeyColumn::new(Type::Utf8), KeyColumn::new(Type::I64)])?;
    let mut key = Vec::new();
    let nanos = best(rows.len(), || {
        for row in rows {
            key.clear();
            one.encode(&row[..1], &mut key).expect("a key");
            black_box(&key);
        }
    });
    print("encode a key of a bigint", nanos);
    let nanos = best(rows.len(), || {
        for row in rows {
            key.clear();
            two.encode(&[row[2], row[0]], &mut key).expect("a key");
            black_box(&key);
        }
    });
    print("encode a key of (text, bigint)", nanos);
    let (mut scratch, mut count) = (Vec::new(), 0);
    let nanos = best(rows.len(), || {
        for _ in rows {
            let mut fields = Vec::new();
            two.decode_refs(&key, &mut scratch, &mut fields).expect("a key");
            count += black_box(fields).len();
        }
    });
    print("decode a key of (text, bigint)", nanos);
    Ok(())
}
