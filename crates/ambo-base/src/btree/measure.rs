//! Rates of the tree by itself, in memory: `cargo test --release -p ambo-engine -- --ignored --nocapture
//! btree::measure`.
#![expect(clippy::print_stdout, reason = "the figures are the result")]

use std::{
    hint::black_box,
    sync::{Arc, atomic::AtomicBool},
    time::Instant,
};

use ambo_codec::integer::IntegerCodec;
use ambo_pages::page::PageStore;
use ambo_types::record::Record;

use super::*;

const PAGE: usize = 16 << 10;

fn scattered(n: u64) -> [u8; 12] {
    let mut key = [0; 12];
    key[..8].copy_from_slice(&n.wrapping_mul(0x9e37_79b9_7f4a_7c15).to_be_bytes());
    key[8..].copy_from_slice(&(n as u32).to_be_bytes());
    key
}

fn sorted(from: u64, count: u64, step: u64) -> Vec<[u8; 12]> {
    let mut keys: Vec<_> = (0..count).map(|n| scattered(from + n * step)).collect();
    keys.sort_unstable();
    keys
}

fn build(store: &Arc<PageStore>, keys: &[impl AsRef<[u8]>], value: &[u8]) -> Arc<Tree> {
    let mut builder = TreeBuilder::new(store, BuildOptions::default());
    for key in keys {
        builder.push(key.as_ref(), Record::inline(value)).unwrap();
    }
    Tree::open(Arc::clone(store), builder.finish().unwrap())
}

/// Nanoseconds that this thread was on a processor: what others run does not count.
fn processor_nanos() -> u64 {
    let figures = std::fs::read_to_string("/proc/thread-self/schedstat").unwrap_or_default();
    figures.split(' ').next().and_then(|first| first.parse().ok()).unwrap_or(0)
}

struct Start(Instant, u64);

fn begin() -> Start {
    Start(Instant::now(), processor_nanos())
}

fn report(what: &str, count: u64, start: Start) {
    let nanos = start.0.elapsed().as_nanos() as f64 / count as f64;
    let own = (processor_nanos() - start.1) as f64 / count as f64;
    println!("{what:<45} {nanos:8.1} ns each, {own:8.1} ns on a processor");
}

#[test]
#[ignore = "a measurement"]
fn rates() {
    const ROWS: u64 = 1_000_000;
    let store = PageStore::memory(PAGE);
    let keys = sorted(0, ROWS, 1);
    for round in 0..2 {
        let start = begin();
        let tree = build(&store, &keys, &[7; 500]);
        report(&format!("build 12+500, round {round}"), ROWS, start);
        if round == 0 {
            store.free(tree.check(&CheckOptions::default()).unwrap().pages);
            continue;
        }
        println!("{:?}", tree.meta());
        gets(&tree, ROWS);
        scans(&tree, ROWS);
        merges(&store, &tree);
    }
    let keys: Vec<[u8; 24]> = (0..2_000_000u64)
        .map(|n| {
            let mut key = [0; 24];
            key[8..16].copy_from_slice(&n.to_be_bytes());
            key[16..].copy_from_slice(&n.wrapping_mul(0x9e37_79b9_7f4a_7c15).to_be_bytes());
            key
        })
        .collect();
    for _ in 0..3 {
        let start = begin();
        let tree = build(&store, &keys, &[7; 150]);
        report("build 24+150", keys.len() as u64, start);
        scans(&tree, keys.len() as u64);
        store.free(tree.check(&CheckOptions::default()).unwrap().pages);
    }
    let keys: Vec<[u8; 8]> = (0..4_000_000u64).map(|n| n.to_be_bytes()).collect();
    let start = begin();
    let tree = build(&store, &keys, &[7; 8]);
    report("build 8+8", keys.len() as u64, start);
    scans(&tree, keys.len() as u64);
}

fn gets(tree: &Arc<Tree>, rows: u64) {
    for round in 0..3 {
        let start = begin();
        let mut x = 1u64;
        for _ in 0..rows {
            x = x.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            let record = tree.get(&scattered((x >> 33) % rows)).unwrap().unwrap();
            black_box(record[0]);
        }
        report(&format!("random get, round {round}"), rows, start);
    }
    let start = begin();
    for n in 0..rows {
        black_box(tree.rank(&scattered(n)).unwrap());
    }
    report("random rank", rows, start);
    let mut cursor = tree.cursor();
    let start = begin();
    for n in 0..rows {
        black_box(cursor.seek_ge(&scattered(n)).unwrap());
    }
    report("random seek", rows, start);
}

fn scans(tree: &Arc<Tree>, rows: u64) {
    for _ in 0..2 {
        let mut cursor = tree.cursor();
        let start = begin();
        let (mut count, mut bytes) = (0, 0);
        while cursor.next().unwrap() {
            count += 1;
            bytes += cursor.key().len() + cursor.record().bytes.len();
        }
        report("scan", rows, start);
        assert_eq!((count, bytes as u64), (rows, tree.meta().key_bytes + tree.meta().value_bytes));
    }
    let mut cursor = tree.cursor();
    let start = begin();
    let mut sum = 0u64;
    while cursor.prev().unwrap() || (sum == 0 && cursor.seek_last().unwrap()) {
        sum += u64::from(cursor.record().bytes[0]);
    }
    report("scan backwards, reading a byte", rows, start);
    black_box(sum);
}

fn merges(store: &Arc<PageStore>, main: &Arc<Tree>) {
    let cancel = AtomicBool::new(false);
    for (what, run) in [
        ("merge 100 k scattered into 1 M", build(store, &sorted(5_000_000, 100_000, 1), &[8; 500])),
        ("merge 1 k scattered into 1 M", build(store, &sorted(5_000_000, 1_000, 1), &[8; 500])),
    ] {
        let start = begin();
        let merged = merge(&[run, Arc::clone(main)], &MergeOptions::new(&cancel)).unwrap();
        report(what, merged.meta.rows, start);
        println!(
            "{} adopted, {} merged leaves, {} rows",
            merged.adopted_leaves, merged.merged_leaves, merged.merged_rows
        );
    }
}

#[test]
#[ignore = "a measurement"]
fn compressed_rates() {
    const ROWS: u32 = 2_000_000;
    let dense: Vec<[u8; 4]> = (0..ROWS).map(|n| (n + 7).to_be_bytes()).collect();
    let mut random: Vec<[u8; 4]> = (0..ROWS).map(|n| n.wrapping_mul(0x9e37_79b9).to_be_bytes()).collect();
    random.sort_unstable();
    let shuffled: Vec<usize> = (0..ROWS as usize).map(|n| n * 1_000_003 % ROWS as usize).collect();
    for (shape, keys, value) in
        [("dense, no records", &dense, &b""[..]), ("dense", &dense, &[7; 8]), ("random", &random, &[7; 8])]
    {
        for codec in [None].into_iter().chain(IntegerCodec::ALL.map(Some)) {
            let name = codec.map_or("none", IntegerCodec::name);
            let store = PageStore::memory(PAGE);
            let options = || BuildOptions { keys: codec.map(|codec| (codec, 4)), ..BuildOptions::default() };
            let once = |options| {
                let mut builder = TreeBuilder::new(&store, options);
                for key in keys {
                    builder.push(key, Record::inline(value)).unwrap();
                }
                Tree::open(Arc::clone(&store), builder.finish().unwrap())
            };
            drop(once(options()));
            let start = begin();
            let tree = once(options());
            report(&format!("{shape:<18} {name:<13} build"), u64::from(ROWS), start);
            let start = begin();
            for at in &shuffled {
                black_box(tree.get(&keys[*at]).unwrap().unwrap());
            }
            report(&format!("{shape:<18} {name:<13} get"), u64::from(ROWS), start);
            let start = begin();
            let mut cursor = tree.cursor();
            while cursor.next().unwrap() {
                black_box(cursor.key());
            }
            report(&format!("{shape:<18} {name:<13} scan"), u64::from(ROWS), start);
            let start = begin();
            for _ in 0..10 {
                black_box(tree.sum_keys(None, None).unwrap());
            }
            report(&format!("{shape:<18} {name:<13} sum"), 10 * u64::from(ROWS), start);
            println!(
                "{:<33} {:5.2} bytes a key",
                "",
                tree.space(u64::MAX).unwrap().keys as f64 / f64::from(ROWS)
            );
        }
    }
}

/// Runs whose keys lie between each other's, of `count` rows in all.
fn interleaved(store: &Arc<PageStore>, runs: u64, count: u64, prefix: &[u8], value: &[u8]) -> Vec<Arc<Tree>> {
    let run = |run: u64| {
        let keys: Vec<Vec<u8>> =
            sorted(run, count / runs, runs).iter().map(|key| [prefix, key].concat()).collect();
        build(store, &keys, value)
    };
    (0..runs).map(run).collect()
}

#[test]
#[ignore = "a measurement"]
fn merges_of_runs() {
    const ROWS: u64 = 1_000_000;
    let cancel = AtomicBool::new(false);
    for (what, prefix, value) in
        [("12+20", &b""[..], &[7; 20][..]), ("32+20", b"the same of all keys", &[7; 20])]
    {
        for runs in [2, 4, 8, 16] {
            let store = PageStore::memory(PAGE);
            let trees = interleaved(&store, runs, ROWS, prefix, value);
            for _ in 0..3 {
                let start = begin();
                let merged = merge(&trees, &MergeOptions::new(&cancel)).unwrap();
                report(&format!("merge {runs} runs of {what}"), merged.merged_rows, start);
                store.free(merged.written);
            }
        }
    }
}
