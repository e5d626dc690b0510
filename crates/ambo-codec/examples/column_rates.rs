//! How fast column blocks are written and read, and how small they are, by the shape of the data.
//!
//! `cargo run --release -p ambo-codec --example column_rates [SHAPE]`
//!
//! Every figure is the best of many short repetitions over a few blocks of 8,192 rows that stay in the cache, so that it is
//! the work that is measured and not the memory. GB/s are of decoded bytes. `/ copy` is the rate against a plain copy of
//! the decoded values into the same place in the same run. Values per cycle take the processor's clock from a chain of
//! additions of known length.
#![allow(clippy::print_stdout, missing_docs)]

use std::hint::black_box;
use std::time::Instant;

use ambo_codec::Value;
use ambo_codec::column::{Block, ColumnSlice, Compare, Element, Goal, Mask, Predicate, encode};

const ROWS: usize = 8192;
const BLOCKS: usize = 8;

/// The least seconds of one call.
fn best(mut work: impl FnMut()) -> f64 {
    let mut least = f64::INFINITY;
    let mut calls = 1;
    for _ in 0..40 {
        let start = Instant::now();
        (0..calls).for_each(|_| work());
        let elapsed = start.elapsed().as_secs_f64();
        least = least.min(elapsed / f64::from(calls));
        // Long enough for the clock, short enough to slip between interruptions.
        if elapsed < 200e-6 {
            calls *= 2;
        }
    }
    least
}

/// Cycles a second: a multiplication by a constant, which the next one waits for, takes three cycles.
fn clock() -> f64 {
    const STEPS: u64 = 10_000;
    let seconds = best(|| {
        let mut value = black_box(3u64);
        for _ in 0..STEPS {
            value = value.wrapping_mul(black_box(0x9e37_79b9_7f4a_7c15));
        }
        black_box(value);
    });
    3.0 * STEPS as f64 / seconds
}

struct Random(u64);

impl Random {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = self.0;
        mixed = (mixed ^ mixed >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ mixed >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ mixed >> 31
    }

    fn below(&mut self, end: u64) -> u64 {
        self.next() % end
    }
}

struct Report {
    clock: f64,
    only: Option<String>,
}

impl Report {
    fn column<E: Element + PartialOrd + Into<Value>>(
        &self,
        name: &str,
        values: &[E],
        slice: impl Fn(&[E]) -> ColumnSlice<'_>,
    ) {
        if self.only.as_ref().is_some_and(|only| !name.contains(only.as_str())) {
            return;
        }
        let chunks: Vec<&[E]> = values.chunks(ROWS).collect();
        let mut out = Vec::new();
        let blocks: Vec<Vec<u8>> = chunks
            .iter()
            .map(|chunk| {
                let mut bytes = Vec::new();
                encode(slice(chunk), None, Goal::Speed, &mut bytes).expect("few rows");
                bytes
            })
            .collect();
        let kind = slice(values).kind();
        let parsed: Vec<Block<'_>> =
            blocks.iter().map(|bytes| Block::parse(bytes, kind, ROWS).expect("just encoded")).collect();
        let encode_time = best(|| {
            for chunk in &chunks {
                out.clear();
                encode(slice(chunk), None, Goal::Speed, &mut out).expect("few rows");
            }
        });
        let mut decoded = vec![E::default(); values.len()];
        let decode_time = best(|| {
            for (block, out) in parsed.iter().zip(decoded.chunks_mut(ROWS)) {
                block.decode(0..ROWS, out).expect("of its kind");
            }
            black_box(&decoded);
        });
        let copy_time = best(|| {
            decoded.copy_from_slice(values);
            black_box(&decoded);
        });
        let mut random = Random(5);
        let places: Vec<usize> = (0..1000).map(|_| random.below(ROWS as u64) as usize).collect();
        let get_time = best(|| {
            for &place in &places {
                black_box(parsed[0].get_as::<E>(place).expect("of its kind"));
            }
        });
        let parse_get_time = best(|| {
            for &place in &places {
                let block = Block::parse(black_box(&blocks[0]), kind, ROWS).expect("just encoded");
                black_box(block.get_as::<E>(place).expect("of its kind"));
            }
        });
        let mut sorted: Vec<E> = values.to_vec();
        sorted.sort_by(|a, b| a.partial_cmp(b).expect("no NaN"));
        let median: Value = sorted[sorted.len() / 2].into();
        let mut masks: Vec<Mask> = (0..BLOCKS).map(|_| Mask::all(ROWS)).collect();
        let all = Mask::all(ROWS);
        let filter_time = best(|| {
            for (block, mask) in parsed.iter().zip(&mut masks) {
                mask.or(all.view());
                block.filter(Predicate::Compare(Compare::Less, median.as_ref()), mask).expect("comparable");
            }
            black_box(&masks);
        });
        let sum_time = best(|| {
            for block in &parsed {
                black_box(block.sum(None).ok());
            }
        });
        let bytes: usize = blocks.iter().map(Vec::len).sum();
        let decoded_bytes = size_of_val(values) as f64;
        let per_cycle = |seconds: f64| values.len() as f64 / seconds / self.clock;
        let encoding = parsed[0].encoding_name();
        println!(
            "| {name} | {encoding} | {:.2} | {:.1} | {:.2} | {:.1} | {:.2} | {:.2} | {:.2} | {:.2} | {:.0} | {:.0} |",
            bytes as f64 / values.len() as f64,
            decoded_bytes / bytes as f64,
            per_cycle(encode_time),
            decoded_bytes / decode_time / 1e9,
            copy_time / decode_time,
            per_cycle(decode_time),
            per_cycle(filter_time),
            per_cycle(sum_time),
            get_time / places.len() as f64 * 1e9,
            parse_get_time / places.len() as f64 * 1e9,
        );
    }
}

fn main() {
    let report = Report { clock: clock(), only: std::env::args().nth(1) };
    println!("clock {:.2} GHz; v/c: values per cycle; ns: nanoseconds", report.clock / 1e9);
    println!();
    println!(
        "| data | encoding | bytes a value | ratio | encode v/c | decode GB/s | / copy | decode v/c | filter v/c | sum v/c | get ns | parse + get ns |"
    );
    println!("|---|---|---|---|---|---|---|---|---|---|---|---|");
    let rows = ROWS * BLOCKS;
    let mut random = Random(1);
    let mut longs = |make: &mut dyn FnMut(u64, &mut Random) -> i64| {
        (0..rows as u64).map(|row| make(row, &mut random)).collect::<Vec<i64>>()
    };
    let constant = longs(&mut |_, _| 7);
    report.column("i64 constant", &constant, |values| ColumnSlice::I64(values));
    for bits in [1, 4, 7, 8, 12, 16, 20, 24, 32, 40, 56] {
        let values = longs(&mut |_, random| random.below(1 << bits) as i64);
        report.column(&format!("i64 {bits} bits"), &values, |values| ColumnSlice::I64(values));
    }
    for bits in [4, 12, 20] {
        let values: Vec<i32> =
            longs(&mut |_, random| random.below(1 << bits) as i64).iter().map(|&v| v as i32).collect();
        report.column(&format!("i32 {bits} bits"), &values, |values| ColumnSlice::I32(values));
    }
    let random_longs = longs(&mut |_, random| random.next() as i64);
    report.column("i64 random", &random_longs, |values| ColumnSlice::I64(values));
    let ids = longs(&mut |row, _| row as i64 * 3);
    report.column("i64 ascending by 3", &ids, |values| ColumnSlice::I64(values));
    let mut time = 1_700_000_000_000_000;
    let times = longs(&mut |_, random| {
        time += random.below(2_000_000) as i64;
        time
    });
    report.column("i64 timestamps", &times, |values| ColumnSlice::I64(values));
    let runs = longs(&mut |row, _| (row / 50 * 7919 % 10_007) as i64);
    report.column("i64 runs of 50", &runs, |values| ColumnSlice::I64(values));
    let few = longs(&mut |_, random| (random.below(200) as i64).wrapping_mul(0x1234_5678_9abc));
    report.column("i64 200 distinct", &few, |values| ColumnSlice::I64(values));
    let many = longs(&mut |_, random| (random.below(1000) as i64).wrapping_mul(0x1234_5678_9abc_def1));
    report.column("i64 1,000 distinct", &many, |values| ColumnSlice::I64(values));
    let outliers = longs(&mut |_, random| match random.below(3000) {
        0 => random.next() as i64,
        _ => random.below(100) as i64,
    });
    report.column("i64 7 bits, outliers", &outliers, |values| ColumnSlice::I64(values));
    let mut doubles = |make: &mut dyn FnMut(u64, &mut Random) -> f64| {
        (0..rows as u64).map(|row| make(row, &mut random)).collect::<Vec<f64>>()
    };
    let prices = doubles(&mut |_, random| random.below(10_000_000) as f64 / 100.0);
    report.column("f64 prices", &prices, |values| ColumnSlice::F64(values));
    let small = doubles(&mut |_, random| random.below(11) as f64 / 100.0);
    report.column("f64 discounts", &small, |values| ColumnSlice::F64(values));
    let sensor = doubles(&mut |_, random| match random.below(100) {
        0 => random.below(1 << 60) as f64 / 1e17,
        _ => random.below(100_000) as f64 / 1000.0,
    });
    report.column("f64 3 digits, 1 % exceptions", &sensor, |values| ColumnSlice::F64(values));
    let real = doubles(&mut |_, random| (random.next() >> 11) as f64 / (1u64 << 53) as f64);
    report.column("f64 random in 0..1", &real, |values| ColumnSlice::F64(values));
    let singles: Vec<f32> = prices.iter().map(|&price| (price / 100.0).round() as f32 / 10.0).collect();
    report.column("f32 prices", &singles, |values| ColumnSlice::F32(values));
}
