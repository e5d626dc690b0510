//! Column encodings beside a plain copy: blocks of 65,536 values, decoded one after the other into the same array.

use std::hint::black_box;

use ambo_codec::column::{BLOCK_ROWS_MAX, Block, ColumnSlice, Element, Goal, Kind, Native, encode};

use crate::contender::{AMBO, PLAIN};
use crate::engine::Result;
use crate::random::{Random, mix};
use crate::timing::{cycles_per_second, fastest};
use crate::workload::sheet::Sheet;

pub(super) fn run(sheet: &mut Sheet) -> Result<()> {
    let rows = sheet.records as usize;
    let mut random = Random::new(0xc01);
    for bits in [4, 8, 12, 16, 20, 28] {
        let values: Vec<i32> = (0..rows).map(|_| random.below(1 << bits) as i32 + 1000).collect();
        one(sheet, &format!("bit-packed i32, {bits} bits"), &values, |v| ColumnSlice::I32(v), Kind::I32)?;
    }
    for bits in [12, 40] {
        let values: Vec<i64> = (0..rows).map(|_| random.below(1 << bits) as i64 - 1000).collect();
        one(sheet, &format!("bit-packed i64, {bits} bits"), &values, |v| ColumnSlice::I64(v), Kind::I64)?;
    }
    let prices: Vec<f64> = (0..rows).map(|_| random.below(1_000_000) as f64 / 100.0).collect();
    one(sheet, "ALP f64, two decimals", &prices, |v| ColumnSlice::F64(v), Kind::F64)?;
    let mut spoilt = prices.clone();
    spoilt.iter_mut().step_by(100).for_each(|value| *value *= std::f64::consts::PI);
    one(sheet, "ALP f64, one in a hundred an exception", &spoilt, |v| ColumnSlice::F64(v), Kind::F64)?;
    let bits: Vec<f64> = (0..rows).map(|_| f64::from_bits(random.next_u64() >> 2)).collect();
    one(sheet, "random bits f64", &bits, |v| ColumnSlice::F64(v), Kind::F64)?;
    let mut time = 1_700_000_000_000_i64;
    let times: Vec<i64> = (0..rows)
        .map(|_| {
            time += random.below(2000) as i64;
            time
        })
        .collect();
    one(sheet, "ascending times i64", &times, |v| ColumnSlice::I64(v), Kind::I64)?;
    let runs: Vec<i64> = (0..rows).map(|i| (mix(i as u64 / 300) >> 20) as i64).collect();
    one(sheet, "runs of 300 i64", &runs, |v| ColumnSlice::I64(v), Kind::I64)?;
    let few: Vec<i64> = (0..rows).map(|_| mix(random.below(200)) as i64).collect();
    one(sheet, "200 different i64", &few, |v| ColumnSlice::I64(v), Kind::I64)
}

fn one<E: Element + Native + Default + Clone>(
    sheet: &mut Sheet,
    name: &str,
    values: &[E],
    slice: for<'a> fn(&'a [E]) -> ColumnSlice<'a>,
    kind: Kind,
) -> Result<()> {
    let mut encodings = Vec::new();
    let mut blocks: Vec<(Vec<u8>, usize)> = Vec::new();
    for values in values.chunks(BLOCK_ROWS_MAX) {
        let mut bytes = Vec::new();
        let summary = encode(slice(values), None, Goal::Speed, &mut bytes);
        encodings.extend(summary?.encoding);
        let mut out = vec![E::default(); values.len()];
        Block::parse(&bytes, kind, values.len())?.decode(0..values.len(), &mut out)?;
        if out != values {
            return Err(format!("{name}: other values came back").into());
        }
        blocks.push((bytes, values.len()));
    }
    let name = format!("columns: {name}");
    encodings.dedup();
    sheet.note(&format!("{name}: {encodings:?}"));
    let mut out = vec![E::default(); BLOCK_ROWS_MAX];
    let mut copy = out.clone();
    let hertz = cycles_per_second();
    let seconds = fastest(&mut [
        &mut || {
            for (bytes, rows) in &blocks {
                // What could fail has been tried above.
                let _ =
                    Block::parse(bytes, kind, *rows).map(|block| block.decode(0..*rows, &mut out[..*rows]));
                black_box(&out);
            }
        },
        &mut || {
            for values in values.chunks(BLOCK_ROWS_MAX) {
                copy[..values.len()].clone_from_slice(values);
                black_box(&copy);
            }
        },
        &mut || {
            for (bytes, rows) in &blocks {
                let _ = black_box(Block::parse(bytes, kind, *rows).and_then(|block| block.sum(None)));
            }
        },
    ]);
    let count = values.len() as f64;
    let raw = size_of_val(values) as f64;
    let bytes: usize = blocks.iter().map(|(bytes, _)| bytes.len()).sum();
    sheet.figure(&name, AMBO, "size", "bits/value", (bytes * 8) as f64 / count);
    for (whose, metric, seconds) in
        [(AMBO, "decode", seconds[0]), (PLAIN, "decode", seconds[1]), (AMBO, "sum", seconds[2])]
    {
        sheet.figure(&name, whose, metric, "GB/s", raw / seconds / 1e9);
        let per_cycle = format!("{metric} per cycle");
        sheet.figure(&name, whose, &per_cycle, "values/cycle", count / seconds / hertz);
    }
    Ok(())
}
