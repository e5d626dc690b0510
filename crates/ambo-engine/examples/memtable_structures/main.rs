//! Measures candidates for the memtable's structure beside each other: decision 0001 has the figures.
//!
//! `cargo run --release -p ambo-engine --example memtable_structures [-- STRUCTURE [ROWS]]`, where STRUCTURE is `memtable`, `pooled` (the
//! memtable with memory that an earlier one left), `skiplist` (arena, prefix words), `crossbeam` (crossbeam-skiplist) or `all`.

#![allow(clippy::print_stdout, reason = "a program that prints its measurements")]

mod skiplist;

use std::{
    hint::black_box,
    sync::{
        Arc, LazyLock,
        atomic::{AtomicU64, Ordering},
    },
    thread,
    time::Instant,
};

use ambo_engine::{
    id::Timestamp,
    memtable::{MemoryPool, Memtable},
    record::Record,
};

/// One candidate: a map with a timestamp a value.
trait Candidate: Sync {
    const NAME: &'static str;
    fn new(reserve: usize) -> Self;
    fn insert(&self, key: &[u8], timestamp: u64, value: &[u8]);
    fn get(&self, key: &[u8]) -> Option<usize>;
    /// Rows and the sum of the first bytes of their values.
    fn scan(&self) -> (usize, u64);
    fn bytes(&self) -> Option<usize>;
}

impl Candidate for Memtable {
    const NAME: &'static str = "B+tree, optimistic lock coupling";
    fn new(reserve: usize) -> Self {
        Self::new(reserve).expect("addresses")
    }
    fn insert(&self, key: &[u8], timestamp: u64, value: &[u8]) {
        self.insert(key, Timestamp(timestamp), Record::inline(value), Timestamp(0)).expect("room");
    }
    fn get(&self, key: &[u8]) -> Option<usize> {
        self.get(key, Timestamp(u64::MAX)).map(|version| version.record.bytes.len())
    }
    fn scan(&self) -> (usize, u64) {
        let mut cursor = self.cursor();
        let (mut rows, mut sum) = (0, 0);
        let mut more = cursor.seek_first();
        while more {
            if let Some(version) = cursor.version_at(Timestamp(u64::MAX)) {
                rows += 1;
                sum += u64::from(version.record.bytes[0]);
            }
            more = cursor.next();
        }
        (rows, sum)
    }
    fn bytes(&self) -> Option<usize> {
        Some(Memtable::bytes(self))
    }
}

/// A memtable whose memory an earlier one left, as in a database that has been running for a while.
struct Pooled(Memtable);

static POOL: LazyLock<Arc<MemoryPool>> = LazyLock::new(|| MemoryPool::new(1 << 30));

impl Candidate for Pooled {
    const NAME: &'static str = "the same, memory from a pool";
    fn new(reserve: usize) -> Self {
        Self(Memtable::new_in(&POOL, reserve).expect("addresses"))
    }
    fn insert(&self, key: &[u8], timestamp: u64, value: &[u8]) {
        Candidate::insert(&self.0, key, timestamp, value);
    }
    fn get(&self, key: &[u8]) -> Option<usize> {
        Candidate::get(&self.0, key)
    }
    fn scan(&self) -> (usize, u64) {
        self.0.scan()
    }
    fn bytes(&self) -> Option<usize> {
        Some(self.0.bytes())
    }
}

impl Candidate for skiplist::SkipList {
    const NAME: &'static str = "arena skip list, prefix words";
    fn new(reserve: usize) -> Self {
        Self::new(reserve)
    }
    fn insert(&self, key: &[u8], timestamp: u64, value: &[u8]) {
        self.insert(key, timestamp, value);
    }
    fn get(&self, key: &[u8]) -> Option<usize> {
        self.get(key).map(|(_, value)| value.len())
    }
    fn scan(&self) -> (usize, u64) {
        self.iter().fold((0, 0), |(rows, sum), (_, _, value)| (rows + 1, sum + u64::from(value[0])))
    }
    fn bytes(&self) -> Option<usize> {
        Some(self.bytes())
    }
}

type Crossbeam = crossbeam_skiplist::SkipMap<Box<[u8]>, (u64, Box<[u8]>)>;

impl Candidate for Crossbeam {
    const NAME: &'static str = "crossbeam-skiplist";
    fn new(_: usize) -> Self {
        Self::new()
    }
    fn insert(&self, key: &[u8], timestamp: u64, value: &[u8]) {
        self.insert(key.into(), (timestamp, value.into()));
    }
    fn get(&self, key: &[u8]) -> Option<usize> {
        self.get(key).map(|entry| entry.value().1.len())
    }
    fn scan(&self) -> (usize, u64) {
        self.iter().fold((0, 0), |(rows, sum), entry| (rows + 1, sum + u64::from(entry.value().1[0])))
    }
    fn bytes(&self) -> Option<usize> {
        None
    }
}

/// A set of rows: the key of row `i`, and how long the values are.
#[derive(Clone, Copy)]
struct Workload {
    name: &'static str,
    key: fn(u64) -> ([u8; 12], usize),
    value_bytes: usize,
}

const WORKLOADS: [Workload; 3] = [
    Workload { name: "12-byte random keys, 500-byte values", key: random_key, value_bytes: 500 },
    Workload { name: "12-digit random keys, 500-byte values", key: digits_key, value_bytes: 500 },
    Workload { name: "8-byte ascending keys, 8-byte values", key: ascending_key, value_bytes: 8 },
];

/// A bijection that scatters (the finalizer of splitmix64).
fn scatter(i: u64) -> u64 {
    let i = (i ^ (i >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let i = (i ^ (i >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    i ^ (i >> 31)
}
fn random_key(i: u64) -> ([u8; 12], usize) {
    let mut key = [0; 12];
    key[..8].copy_from_slice(&scatter(i).to_be_bytes());
    key[8..].copy_from_slice(&(i as u32).to_be_bytes());
    (key, 12)
}
fn digits_key(i: u64) -> ([u8; 12], usize) {
    let mut key = [0; 12];
    // An odd factor modulo a power of ten that it shares no divisor with: every number once, scattered.
    let mut rest = i.wrapping_mul(7_368_787) % 10_000_000;
    for digit in key.iter_mut().rev() {
        *digit = b'0' + (rest % 10) as u8;
        rest /= 10;
    }
    (key, 12)
}
fn ascending_key(i: u64) -> ([u8; 12], usize) {
    let mut key = [0; 12];
    key[..8].copy_from_slice(&i.to_be_bytes());
    (key, 8)
}

/// Resident bytes of this process.
fn resident() -> usize {
    let status = std::fs::read_to_string("/proc/self/statm").unwrap_or_default();
    let pages: usize = status.split_whitespace().nth(1).and_then(|pages| pages.parse().ok()).unwrap_or(0);
    pages * 4096
}

/// Nanoseconds this thread has had of a processor, which says more than a clock on a busy machine.
fn processor_time() -> u64 {
    let schedule = std::fs::read_to_string("/proc/thread-self/schedstat").unwrap_or_default();
    schedule.split_whitespace().next().and_then(|time| time.parse().ok()).unwrap_or(0)
}

/// What `count` operations on `threads` threads took: nanoseconds each by the clock, and of processor time.
fn timed(threads: u64, count: u64, operation: impl Fn(u64) + Sync) -> String {
    let next = AtomicU64::new(0);
    const BATCH: u64 = 64;
    let used = AtomicU64::new(0);
    let begin = Instant::now();
    thread::scope(|scope| {
        for _ in 0..threads {
            scope.spawn(|| {
                let begin = processor_time();
                loop {
                    let from = next.fetch_add(BATCH, Ordering::Relaxed);
                    if from >= count {
                        break;
                    }
                    (from..count.min(from + BATCH)).for_each(&operation);
                }
                used.fetch_add(processor_time() - begin, Ordering::Relaxed);
            });
        }
    });
    let elapsed = begin.elapsed().as_nanos() as u64 / count;
    format!("{elapsed} ({})", used.into_inner() / count)
}

fn measure<C: Candidate>(workload: &Workload, rows: u64) {
    let value = vec![7u8; workload.value_bytes];
    let key_bytes = (workload.key)(0).1;
    let raw = rows as usize * (key_bytes + workload.value_bytes);
    for threads in [1, 2, 16] {
        let before = resident();
        let map = C::new(raw * 2);
        let insert = timed(threads, rows, |i| {
            let (key, len) = (workload.key)(i);
            map.insert(&key[..len], i + 1, &value);
        });
        let taken = resident().saturating_sub(before);
        let get = timed(threads, rows, |i| {
            let (key, len) = (workload.key)(scatter(i) % rows);
            assert_eq!(map.get(&key[..len]), Some(workload.value_bytes));
        });
        let begin = processor_time();
        let (seen, sum) = black_box(map.scan());
        let scan = (processor_time() - begin) as f64 / rows as f64;
        assert_eq!((seen as u64, sum), (rows, rows * 7));
        let bytes =
            map.bytes().map_or("–".to_owned(), |bytes| format!("{:.1}", bytes as f64 / rows as f64));
        let begin = processor_time();
        drop(map);
        let dropped = (processor_time() - begin) as f64 / rows as f64;
        println!(
            "| {} | {} | {threads} | {insert} | {get} | {scan:.0} | {dropped:.0} | {bytes} | {:.1} |",
            workload.name,
            C::NAME,
            taken as f64 / rows as f64
        );
    }
}

/// Nanoseconds of processor time that one read of a random place in 540 MB takes when it waits for the one before: what a
/// miss of all caches costs here and now, to judge the other figures by.
fn miss() -> u64 {
    const LINES: usize = 1 << 23;
    const STEPS: u64 = 2_000_000;
    let memory: Vec<[u64; 8]> = (0..LINES as u64).map(|i| [scatter(i); 8]).collect();
    let begin = processor_time();
    let last = (0..STEPS).fold(1, |at, step| memory[(at as usize).wrapping_add(step as usize) % LINES][0]);
    let end = processor_time();
    black_box(last);
    (end - begin) / STEPS
}

fn main() {
    let mut arguments = std::env::args().skip(1);
    let which = arguments.next().unwrap_or_else(|| "all".to_owned());
    let rows = arguments.next().and_then(|rows| rows.parse().ok()).unwrap_or(1_000_000);
    println!("A random read that misses all caches: {} ns.", miss());
    println!(
        "Nanoseconds by the clock (of processor time, all threads together); scan and drop: of processor time.\n"
    );
    println!(
        "| workload ({rows} rows) | structure | threads | insert ns | get ns | scan ns a row | drop ns a row | bytes a row | resident a row |"
    );
    println!("|---|---|---|---|---|---|---|---|---|");
    for workload in &WORKLOADS {
        if matches!(&*which, "all" | "memtable") {
            measure::<Memtable>(workload, rows);
        }
        if matches!(&*which, "all" | "pooled") {
            measure::<Pooled>(workload, rows);
        }
        if matches!(&*which, "all" | "skiplist") {
            measure::<skiplist::SkipList>(workload, rows);
        }
        if matches!(&*which, "all" | "crossbeam") {
            measure::<Crossbeam>(workload, rows);
        }
    }
}
