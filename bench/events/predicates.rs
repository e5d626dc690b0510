//! Conditions on records: rows a second of each evaluator, one thread, from memory and from the caches.

use std::hint::black_box;

use ambo::predicate::{
    Arithmetic, Compare, Layout, Operand, Predicate, Program, Vectors, can_represent, walk,
};

use crate::{
    Settings, Taken,
    flows::{address, column, layout, records},
    quickest,
};

/// Rows that fit into the caches that are near: 256 KiB.
const CACHED: usize = 4096;

fn equal(name: &str, value: impl Into<ambo::Datum>) -> Predicate {
    Predicate::column(column(name), Compare::Equal, value)
}

/// The conditions, with about how many rows they leave.
fn conditions() -> Vec<(&'static str, Predicate)> {
    let four = |src: Predicate, port: Predicate| {
        Predicate::And(vec![equal("proto", 0u8), port, equal("tos", 1u8), src])
    };
    let sum = Operand::column(column("bytes"))
        .with(Arithmetic::Divide, Operand::column(column("packets")))
        .with(Arithmetic::Add, Operand::column(column("tos")));
    vec![
        ("4 equalities, 1e-6", four(equal("src", address(77)), equal("dst_port", 443u16))),
        ("4 equalities, 1 %", four(equal("next_hop", 1u32), equal("dst_port", 443u16))),
        (
            "4 conditions, 50 %",
            Predicate::And(vec![
                Predicate::column(column("tos"), Compare::NotEqual, 0u8),
                Predicate::column(column("packets"), Compare::LessEqual, 40u64),
                Predicate::column(column("next_hop"), Compare::Less, 14u32),
                Predicate::column(column("bytes"), Compare::Greater, 100u64),
            ]),
        ),
        ("2 of 2 columns, OR", Predicate::Or(vec![equal("src", address(5)), equal("dst", address(5))])),
        (
            "arithmetic and an equality",
            Predicate::And(vec![
                Predicate::Compare(Compare::Greater, sum, Operand::literal(1400i64)),
                equal("proto", 0u8),
            ]),
        ),
    ]
}

/// The first condition, as a program for it alone would have it.
fn by_hand(layout: &Layout, records: &[u8], selected: &mut Vec<u64>) {
    let at = |name: &str| usize::from(layout.fields()[column(name)].offset);
    let (proto, port, tos, src) = (at("proto"), at("dst_port"), at("tos"), at("src"));
    let wanted = address(77);
    selected.clear();
    let mut word = 0;
    for (row, record) in records.as_chunks::<64>().0.iter().enumerate() {
        let is = record[proto] == 0
            && u16::from_le_bytes([record[port], record[port + 1]]) == 443
            && record[tos] == 1
            && u32::from_le_bytes([record[src], record[src + 1], record[src + 2], record[src + 3]]) == wanted;
        word |= u64::from(is) << (row % 64);
        if row % 64 == 63 {
            selected.push(word);
            word = 0;
        }
    }
    if !records.len().is_multiple_of(64 * 64) {
        selected.push(word);
    }
}

/// What an evaluator is measured by.
struct Lab<'l> {
    layout: &'l Layout,
    records: &'l [u8],
    runs: usize,
    evaluator: Option<&'l str>,
}

impl Lab<'_> {
    /// Runs an evaluator over all records, and over a few often; prints million rows a second, and returns how many were left.
    fn measure(
        &self,
        name: &str,
        evaluator: &str,
        mut select: impl FnMut(&[u8], &mut Vec<u64>),
    ) -> Option<u64> {
        if self.evaluator.is_some_and(|wanted| !evaluator.starts_with(wanted)) {
            return None;
        }
        let rows = self.records.len() / self.layout.size();
        let mut selected = Vec::new();
        let Taken { processor: ram, said: left, .. } = quickest(self.runs, || {
            select(self.records, &mut selected);
            selected.iter().map(|word| u64::from(word.count_ones())).sum::<u64>()
        });
        if self.evaluator.is_some() {
            println!("| {name} | {evaluator} | {:.0} | | | {left} |", rows as f64 / ram / 1e6);
            return Some(left);
        }
        let cached = &self.records[..CACHED.min(rows) * self.layout.size()];
        let times = (rows / CACHED).max(1);
        let Taken { processor: cache, .. } = quickest(self.runs, || {
            for _ in 0..times {
                select(black_box(cached), &mut selected);
                black_box(&selected);
            }
        });
        let rate = |rows: usize, seconds: f64| rows as f64 / seconds / 1e6;
        let gigabytes = self.records.len() as f64 / ram / 1e9;
        println!(
            "| {name} | {evaluator} | {:.0} | {gigabytes:.1} | {:.0} | {left} |",
            rate(rows, ram),
            rate(times * cached.len() / self.layout.size(), cache)
        );
        Some(left)
    }
}

pub fn run(settings: &Settings) -> Result<(), Box<dyn std::error::Error>> {
    let rows = settings.rows.unwrap_or(20_000_000);
    let (layout, records) = (layout(), records(rows));
    let columns_of: Vec<_> = layout.fields().iter().map(|field| field.ty).collect();
    println!(
        "{rows} records of {} bytes, {} columns, one thread, by processor time\n",
        layout.size(),
        columns_of.len()
    );
    println!("| condition | evaluator | M rows/s, memory | GB/s | M rows/s, caches | rows left |");
    println!("|---|---|--:|--:|--:|--:|");
    for (number, (name, predicate)) in conditions().into_iter().enumerate() {
        if settings.case.is_some_and(|case| case != number) {
            continue;
        }
        let evaluator = settings.evaluator.as_deref();
        let lab = Lab { layout: &layout, records: &records, runs: settings.runs, evaluator };
        let vectors = Vectors::of_records(&predicate, &layout)?;
        let left = lab.measure(name, "vectors", |records, selected| {
            let rows = records.len() / layout.size();
            vectors.select(&layout.columns(records), rows, selected).expect("no row is without an answer");
        });
        if can_represent(&predicate, &[&layout]) {
            let program = Program::new(&predicate, &[&layout])?;
            let of_program =
                lab.measure(name, "bytecode", |records, selected| program.select(records, selected));
            assert!(of_program.is_none() || left.is_none() || of_program == left, "evaluators agree");
        }
        let few = Lab { records: &records[..records.len().min(1 << 26)], runs: 1, ..lab };
        few.measure(name, "tree walk (1 M rows)", |records, selected| {
            selected.clear();
            for (row, record) in records.chunks_exact(layout.size()).enumerate() {
                if row % 64 == 0 {
                    selected.push(0);
                }
                let is = walk(&predicate, &|_, column| layout.value(record, column));
                let last = selected.len() - 1;
                selected[last] |= u64::from(is.is_ok_and(|is| is == Some(true))) << (row % 64);
            }
        });
        if number == 0 {
            let by_hand =
                lab.measure(name, "a loop by hand", |records, selected| by_hand(&layout, records, selected));
            assert!(by_hand.is_none() || left.is_none() || by_hand == left, "evaluators agree");
        }
    }
    Ok(())
}
