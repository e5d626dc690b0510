//! Size and speed of bitmaps beside the crates `roaring` and `croaring`, with runs optimised in both.
//!
//! `cargo run --release -p ambo-codec --example bitmap_rates [densities | postings]`. The peers are their 32-bit bitmaps, the
//! faster ones; ours hold 64-bit positions.
#![allow(clippy::print_stdout, reason = "an example that prints a table")]

use std::{hint::black_box, time::Instant};

use ambo_codec::bitmap::{Bitmap, BitmapRef, Positions};
use croaring::Portable;
use roaring::RoaringBitmap;

/// Positions of the densities.
const SPAN: u32 = 1 << 24;
const RECORDS: usize = 20_000_000;
const PROBES: u32 = 4096;

/// What all three can do.
trait Set: Sized {
    fn build(positions: &[u32]) -> Self;
    fn and(&self, other: &Self) -> Self;
    fn or(&self, other: &Self) -> Self;
    fn and_not(&self, other: &Self) -> Self;
    fn cardinality(&self) -> u64;
    fn contains(&self, position: u32) -> bool;
    fn rank(&self, position: u32) -> u64;
    fn select(&self, rank: u32) -> u32;
    fn sum(&self) -> u64;
    fn write(&self) -> Vec<u8>;
    fn read(bytes: &[u8]) -> Self;
    fn union(sets: &[&Self]) -> Self;
    fn clone_one_inserted(&self, position: u32) -> Self;
}

impl Set for Bitmap {
    fn build(positions: &[u32]) -> Self {
        Self::from_sorted(positions.iter().map(|&position| u64::from(position))).expect("ascending")
    }
    fn and(&self, other: &Self) -> Self {
        Positions::and(self, other)
    }
    fn or(&self, other: &Self) -> Self {
        Positions::or(self, other)
    }
    fn and_not(&self, other: &Self) -> Self {
        Positions::and_not(self, other)
    }
    fn cardinality(&self) -> u64 {
        Positions::cardinality(self)
    }
    fn contains(&self, position: u32) -> bool {
        Positions::contains(self, position.into())
    }
    fn rank(&self, position: u32) -> u64 {
        Positions::rank(self, position.into())
    }
    fn select(&self, rank: u32) -> u32 {
        Positions::select(self, rank.into()).unwrap_or(0) as u32
    }
    fn sum(&self) -> u64 {
        let mut sum = 0;
        for position in self.iter() {
            sum += position;
        }
        sum
    }
    fn write(&self) -> Vec<u8> {
        let mut bytes = Vec::new();
        self.encode(&mut bytes);
        bytes
    }
    fn read(bytes: &[u8]) -> Self {
        Self::decode(bytes).expect("just written")
    }
    fn union(sets: &[&Self]) -> Self {
        Self::union(sets.iter().copied())
    }
    fn clone_one_inserted(&self, position: u32) -> Self {
        let mut clone = self.clone();
        clone.insert(position.into());
        clone
    }
}

impl Set for RoaringBitmap {
    fn build(positions: &[u32]) -> Self {
        let mut set = Self::from_sorted_iter(positions.iter().copied()).expect("ascending");
        set.optimize();
        set
    }
    fn and(&self, other: &Self) -> Self {
        self & other
    }
    fn or(&self, other: &Self) -> Self {
        self | other
    }
    fn and_not(&self, other: &Self) -> Self {
        self - other
    }
    fn cardinality(&self) -> u64 {
        self.len()
    }
    fn contains(&self, position: u32) -> bool {
        self.contains(position)
    }
    fn rank(&self, position: u32) -> u64 {
        self.rank(position)
    }
    fn select(&self, rank: u32) -> u32 {
        self.select(rank).unwrap_or(0)
    }
    fn sum(&self) -> u64 {
        let mut sum = 0;
        for position in self {
            sum += u64::from(position);
        }
        sum
    }
    fn write(&self) -> Vec<u8> {
        let mut bytes = Vec::with_capacity(self.serialized_size());
        self.serialize_into(&mut bytes).expect("memory");
        bytes
    }
    fn read(bytes: &[u8]) -> Self {
        Self::deserialize_from(bytes).expect("just written")
    }
    fn union(sets: &[&Self]) -> Self {
        use roaring::MultiOps;
        sets.iter().copied().union()
    }
    fn clone_one_inserted(&self, position: u32) -> Self {
        let mut clone = self.clone();
        clone.insert(position);
        clone
    }
}

impl Set for croaring::Bitmap {
    fn build(positions: &[u32]) -> Self {
        let mut set = Self::of(positions);
        set.run_optimize();
        set
    }
    fn and(&self, other: &Self) -> Self {
        self.and(other)
    }
    fn or(&self, other: &Self) -> Self {
        self.or(other)
    }
    fn and_not(&self, other: &Self) -> Self {
        self.andnot(other)
    }
    fn cardinality(&self) -> u64 {
        self.cardinality()
    }
    fn contains(&self, position: u32) -> bool {
        self.contains(position)
    }
    fn rank(&self, position: u32) -> u64 {
        self.rank(position)
    }
    fn select(&self, rank: u32) -> u32 {
        self.select(rank).unwrap_or(0)
    }
    fn sum(&self) -> u64 {
        let mut sum = 0;
        for position in self.iter() {
            sum += u64::from(position);
        }
        sum
    }
    fn write(&self) -> Vec<u8> {
        self.serialize::<Portable>()
    }
    fn read(bytes: &[u8]) -> Self {
        Self::try_deserialize::<Portable>(bytes).expect("just written")
    }
    fn union(sets: &[&Self]) -> Self {
        Self::fast_or(sets)
    }
    fn clone_one_inserted(&self, position: u32) -> Self {
        let mut clone = self.clone();
        clone.add(position);
        clone
    }
}

/// SplitMix64.
struct Random(u64);

impl Random {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = self.0;
        mixed = (mixed ^ mixed >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ mixed >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ mixed >> 31
    }

    fn unit(&mut self) -> f64 {
        (self.next() >> 11) as f64 / (1u64 << 53) as f64
    }
}

/// The least time of several repetitions, in nanoseconds.
fn least<R>(mut work: impl FnMut() -> R) -> f64 {
    let begin = Instant::now();
    let mut least = f64::MAX;
    for repetition in 0..200 {
        if repetition >= 5 && begin.elapsed().as_millis() > 60 {
            break;
        }
        let start = Instant::now();
        black_box(work());
        least = least.min(start.elapsed().as_nanos() as f64);
    }
    least
}

const OPERATIONS: [&str; 14] = [
    "bytes",
    "build ns/position",
    "and µs",
    "or µs",
    "and-not µs",
    "cardinality ns",
    "contains ns",
    "rank ns",
    "select ns",
    "iterate ns/position",
    "serialise µs",
    "deserialise µs",
    "clone + insert µs",
    "union of 8 µs",
];

fn measure<S: Set>(sets: &[Vec<u32>]) -> [f64; 14] {
    let built: Vec<S> = sets.iter().map(|positions| S::build(positions)).collect();
    let (x, y) = (&built[0], &built[1]);
    let positions = sets[0].len() as f64;
    let mut random = Random(9);
    let probes: Vec<u32> = (0..PROBES).map(|_| random.next() as u32 % SPAN).collect();
    let ranks: Vec<u32> = probes.iter().map(|probe| probe % sets[0].len() as u32).collect();
    let bytes = x.write();
    let all: Vec<&S> = built.iter().collect();
    let each = f64::from(PROBES);
    let us = 1000.0;
    [
        bytes.len() as f64,
        least(|| S::build(&sets[0])) / positions,
        least(|| x.and(y)) / us,
        least(|| x.or(y)) / us,
        least(|| x.and_not(y)) / us,
        least(|| (0..100).map(|_| black_box(x).cardinality()).sum::<u64>()) / 100.0,
        least(|| probes.iter().filter(|&&probe| x.contains(probe)).count()) / each,
        least(|| probes.iter().map(|&probe| x.rank(probe)).sum::<u64>()) / each,
        least(|| ranks.iter().map(|&rank| u64::from(x.select(rank))).sum::<u64>()) / each,
        least(|| x.sum()) / positions,
        least(|| x.write()) / us,
        least(|| S::read(&bytes)) / us,
        least(|| x.clone_one_inserted(probes[0])) / us,
        least(|| S::union(&all)) / us,
    ]
}

fn densities() {
    let scattered = |density: f64| {
        move |random: &mut Random| -> Vec<u32> { (0..SPAN).filter(|_| random.unit() < density).collect() }
    };
    let clustered = |set: f64, unset: f64| {
        move |random: &mut Random| -> Vec<u32> {
            let mut positions = Vec::new();
            let mut at = 0;
            while at < SPAN {
                let run = (-random.unit().ln() * set) as u32 + 1;
                positions.extend(at..(at + run).min(SPAN));
                at += run + (-random.unit().ln() * unset) as u32 + 1;
            }
            positions
        }
    };
    type Make = Box<dyn Fn(&mut Random) -> Vec<u32>>;
    let data: [(&str, Make); 9] = [
        ("0.01 %", Box::new(scattered(0.0001))),
        ("0.1 %", Box::new(scattered(0.001))),
        ("1 %", Box::new(scattered(0.01))),
        ("10 %", Box::new(scattered(0.1))),
        ("50 %", Box::new(scattered(0.5))),
        ("99 %", Box::new(scattered(0.99))),
        ("99.99 %", Box::new(scattered(0.9999))),
        ("runs of 300, gaps of 700", Box::new(clustered(300.0, 700.0))),
        ("runs of 50,000, gaps of 50,000", Box::new(clustered(50_000.0, 50_000.0))),
    ];
    for (name, make) in data {
        let mut random = Random(5);
        let sets: Vec<Vec<u32>> = (0..8).map(|_| make(&mut random)).collect();
        table(
            name,
            &OPERATIONS,
            [measure::<Bitmap>(&sets), measure::<RoaringBitmap>(&sets), measure::<croaring::Bitmap>(&sets)],
        );
        in_place(&sets);
    }
}

/// What the peers have no equal of: bytes of pages read where they are, and masks for vectors of 1,024 rows.
fn in_place(sets: &[Vec<u32>]) {
    let (x, y) = (Bitmap::build(&sets[0]), Bitmap::build(&sets[1]));
    let (a, b) = (x.write(), y.write());
    let parse = least(|| BitmapRef::parse(&a));
    let both = least(|| {
        let (a, b) = (BitmapRef::parse(&a).expect("written"), BitmapRef::parse(&b).expect("written"));
        Positions::and(&a, &b)
    });
    let vectors = SPAN / 1024;
    let deselect = least(|| {
        let mut selection = [!0; 16];
        for vector in 0..vectors {
            selection.fill(!0);
            x.deselect_from(u64::from(vector) * 1024, &mut selection);
            black_box(&selection);
        }
    });
    println!(
        "in place: parse {:.2} µs, parse both and and them {:.2} µs, deselect {:.1} ns per 1,024 rows\n",
        parse / 1000.0,
        both / 1000.0,
        deselect / f64::from(vectors)
    );
}

fn table<const N: usize>(name: &str, operations: &[&str; N], [ambo, roaring, croaring]: [[f64; N]; 3]) {
    println!("{name}\n| | ambo | roaring | croaring | ambo / best peer |\n|---|---|---|---|---|");
    for (row, operation) in operations.iter().enumerate() {
        let best = roaring[row].min(croaring[row]);
        let places = if operation.starts_with("bytes") { 0 } else { 2 };
        println!(
            "| {operation} | {:.places$} | {:.places$} | {:.places$} | {:.2} |",
            ambo[row],
            roaring[row],
            croaring[row],
            ambo[row] / best
        );
    }
}

/// Postings of an index on a column of Zipfian keys: records by key.
fn postings(keys: usize) -> Vec<Vec<u32>> {
    let mut cumulative = Vec::with_capacity(keys);
    let mut sum = 0.0;
    for key in 0..keys {
        sum += 1.0 / (key + 1) as f64;
        cumulative.push(sum);
    }
    let mut random = Random(3);
    let mut postings = vec![Vec::new(); keys];
    for record in 0..RECORDS as u32 {
        let at = random.unit() * sum;
        postings[cumulative.partition_point(|&below| below < at).min(keys - 1)].push(record);
    }
    postings.retain(|records| !records.is_empty());
    postings
}

const OF_POSTINGS: [&str; 6] =
    ["bytes", "build ms", "serialise ms", "deserialise ms", "iterate ms", "union of all ms"];

fn measure_postings<S: Set>(postings: &[Vec<u32>]) -> [f64; 6] {
    let once = |work: &mut dyn FnMut()| {
        let mut least = f64::MAX;
        for _ in 0..3 {
            let start = Instant::now();
            work();
            least = least.min(start.elapsed().as_secs_f64() * 1000.0);
        }
        least
    };
    let mut sets: Vec<S> = Vec::new();
    let build = once(&mut || sets = postings.iter().map(|records| S::build(records)).collect());
    let mut bytes = Vec::new();
    let write = once(&mut || bytes = sets.iter().map(S::write).collect());
    let read = once(&mut || drop(black_box(bytes.iter().map(|bytes| S::read(bytes)).collect::<Vec<_>>())));
    let iterate = once(&mut || {
        black_box(sets.iter().map(S::sum).fold(0, u64::wrapping_add));
    });
    let all: Vec<&S> = sets.iter().collect();
    let union = once(&mut || drop(black_box(S::union(&all))));
    [bytes.iter().map(Vec::len).sum::<usize>() as f64, build, write, read, iterate, union]
}

fn all_postings() {
    for (name, keys) in [("8-bit keys", 256), ("32-bit keys", 1_500_000)] {
        let postings = postings(keys);
        let name = format!("postings of {RECORDS} records, {name}, {} of them", postings.len());
        table(
            &name,
            &OF_POSTINGS,
            [
                measure_postings::<Bitmap>(&postings),
                measure_postings::<RoaringBitmap>(&postings),
                measure_postings::<croaring::Bitmap>(&postings),
            ],
        );
        println!();
    }
}

fn main() {
    match std::env::args().nth(1).as_deref() {
        Some("densities") => densities(),
        Some("postings") => all_postings(),
        _ => {
            densities();
            all_postings();
        }
    }
}
