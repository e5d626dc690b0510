//! How fast rows of 16 columns are encoded and decoded, and how large they are.
//!
//! `cargo run --release -p ambo-codec --example row_rate`
#![allow(clippy::print_stdout, reason = "an example that prints a table")]

use std::hint::black_box;
use std::time::Instant;

use ambo_codec::{KeyColumn, KeySpec, Result, RowColumn, RowSpec, Type, Value, ValueRef, varint};

/// Few enough that they stay in the processor's cache, too many for its branch predictor to learn.
const ROWS: usize = 4_000;
const ROUNDS: usize = 200;

/// Sixteen columns of a flight: identifiers, codes, times, delays with NULLs, an amount, a rare remark.
fn columns() -> Vec<RowColumn> {
    vec![
        RowColumn::new(Type::I64),
        RowColumn::new(Type::Timestamp),
        RowColumn::new(Type::Utf8),
        RowColumn::new(Type::I32),
        RowColumn::new(Type::Utf8).nullable(),
        RowColumn::new(Type::Utf8),
        RowColumn::new(Type::Utf8),
        RowColumn::new(Type::I32).nullable(),
        RowColumn::new(Type::I32),
        RowColumn::new(Type::F64).nullable(),
        RowColumn::new(Type::F64).nullable(),
        RowColumn::new(Type::F64).nullable(),
        RowColumn::new(Type::F64),
        RowColumn::new(Type::F64),
        RowColumn::new(Type::Bool),
        RowColumn::new(Type::Utf8).nullable(),
    ]
}

/// SplitMix64, so that every run sees the same rows.
struct Random(u64);

impl Random {
    fn below(&mut self, bound: u64) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = self.0;
        mixed = (mixed ^ mixed >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ mixed >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
        (mixed ^ mixed >> 31) % bound
    }

    fn pick(&mut self, texts: &[&str]) -> Value {
        texts[self.below(texts.len() as u64) as usize].into()
    }
}

fn row(id: usize, random: &mut Random) -> Vec<Value> {
    let cancelled = random.below(40) == 0;
    let measured = |value: f64| if cancelled { Value::Null } else { value.into() };
    let (delay, arrival, air) = (measured(-3.0), measured(12.0), measured(227.0));
    let scheduled = 1_357_000_000 + 60 * random.below(525_600) as i64;
    let remark = if random.below(50) == 0 { "diverted because of weather".into() } else { Value::Null };
    vec![
        (id as i64).into(),
        Value::Timestamp(scheduled * 1_000_000),
        random.pick(&["UA", "AA", "B6", "DL", "EV", "MQ"]),
        (random.below(6000) as i32).into(),
        format!("N{:05}", random.below(99_999)).into(),
        random.pick(&["EWR", "JFK", "LGA"]),
        random.pick(&["ORD", "ATL", "LAX", "BOS", "MCO", "CLT", "SFO"]),
        if cancelled { Value::Null } else { (random.below(2400) as i32).into() },
        (random.below(2400) as i32).into(),
        delay,
        arrival,
        air,
        (random.below(5000) as f64).into(),
        (random.below(100_000) as f64 / 100.0).into(),
        cancelled.into(),
        remark,
    ]
}

/// The size of a record as sqlite.org/fileformat2.html (section 2.1) has it, for a table of the same columns:
/// dates and times as integers, doubles that are integers as integers (what REAL columns store).
fn sqlite_size(values: &[Value]) -> usize {
    let (mut header, mut body) = (0, 0);
    for value in values {
        let integer = match value.as_ref() {
            ValueRef::F64(value) if value == value.trunc() && value.abs() < 1e14 => Some(value as i64),
            ValueRef::Bool(value) => Some(value.into()),
            value => value.as_i64(),
        };
        let text = value.as_ref().as_bytes().map(<[u8]>::len);
        let (serial, size) = match (integer, text) {
            (Some(0 | 1), _) => (8, 0),
            (Some(integer), _) => (6, sqlite_integer(integer)),
            (None, Some(len)) => (13 + 2 * len, len),
            (None, None) if value.is_null() => (0, 0),
            (None, None) => (7, 8),
        };
        header += sqlite_varint(serial);
        body += size;
    }
    header + sqlite_varint(header + 1) + body
}

fn sqlite_integer(value: i64) -> usize {
    let bits = 65 - (value ^ value >> 63).leading_zeros() as usize;
    [1, 2, 3, 4, 6, 8].into_iter().find(|bytes| 8 * bytes >= bits).unwrap_or(8)
}

fn sqlite_varint(value: usize) -> usize {
    varint::len(value as u64)
}

/// Every column at its full width; texts with a length of 4 bytes; a bit a column for NULL.
fn fixed_size(values: &[Value]) -> usize {
    let size = |(value, column): (&Value, RowColumn)| match column.ty.fixed_width() {
        Some(width) => width,
        None => 4 + value.as_ref().as_bytes().map_or(0, <[u8]>::len),
    };
    values.len().div_ceil(8) + values.iter().zip(columns()).map(size).sum::<usize>()
}

/// Prints the best of several rounds, in nanoseconds a row and millions of rows a second.
fn measure(name: &str, mut round: impl FnMut() -> Result<()>) -> Result<()> {
    let mut best = f64::INFINITY;
    for _ in 0..ROUNDS {
        let begin = Instant::now();
        round()?;
        best = best.min(begin.elapsed().as_secs_f64());
    }
    let nanos = best * 1e9 / ROWS as f64;
    println!("{name:<34} {nanos:>8.1} ns a row {:>8.2} M rows/s", 1e3 / nanos);
    Ok(())
}

fn main() -> Result<()> {
    let spec = RowSpec::new(columns())?;
    let mut random = Random(7);
    let values: Vec<Vec<Value>> = (0..ROWS).map(|id| row(id, &mut random)).collect();
    let refs: Vec<Vec<ValueRef<'_>>> =
        values.iter().map(|row| row.iter().map(Value::as_ref).collect()).collect();
    let mut rows = Vec::new();
    for row in &refs {
        let mut bytes = Vec::new();
        spec.encode(row, &mut bytes)?;
        rows.push(bytes);
    }
    let mean = |total: usize| total as f64 / ROWS as f64;
    println!("bytes a row: ambo {:.1}", mean(rows.iter().map(Vec::len).sum()));
    println!("bytes a row: SQLite's record {:.1}", mean(values.iter().map(|row| sqlite_size(row)).sum()));
    println!("bytes a row: fixed width {:.1}", mean(values.iter().map(|row| fixed_size(row)).sum()));

    let mut out = Vec::new();
    measure("encode 16 columns", || {
        for row in &refs {
            out.clear();
            spec.encode(row, &mut out)?;
            black_box(&out);
        }
        Ok(())
    })?;
    measure("decode 16 columns", || {
        let mut fields = Vec::with_capacity(16);
        for row in &rows {
            fields.clear();
            spec.decode(row, &mut fields)?;
            black_box(&fields);
        }
        Ok(())
    })?;
    for columns in [&[0][..], &[13], &[14], &[0, 12, 13]] {
        let projection = spec.projection(columns)?;
        measure(&format!("decode columns {columns:?}"), || {
            let mut fields = Vec::with_capacity(4);
            for row in &rows {
                fields.clear();
                spec.decode_projection(&projection, row, &mut fields)?;
                black_box(&fields);
            }
            Ok(())
        })?;
    }
    measure_keys(&refs)
}

fn measure_keys(rows: &[Vec<ValueRef<'_>>]) -> Result<()> {
    let one = KeySpec::new(vec![KeyColumn::new(Type::I64)])?;
    let two = KeySpec::new(vec![KeyColumn::new(Type::Utf8), KeyColumn::new(Type::I64)])?;
    let mut key = Vec::new();
    measure("encode a key of a bigint", || {
        for row in rows {
            key.clear();
            one.encode(&row[..1], &mut key)?;
            black_box(&key);
        }
        Ok(())
    })?;
    measure("encode a key of (text, bigint)", || {
        for row in rows {
            key.clear();
            two.encode(&[row[2], row[0]], &mut key)?;
            black_box(&key);
        }
        Ok(())
    })?;
    let (mut scratch, mut count) = (Vec::new(), 0);
    measure("decode a key of (text, bigint)", || {
        for _ in rows {
            let mut fields = Vec::new();
            two.decode_refs(&key, &mut scratch, &mut fields)?;
            count += black_box(fields).len();
        }
        Ok(())
    })
}
