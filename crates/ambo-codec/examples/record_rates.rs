//! How small each record codec makes records, and how fast it takes them and gives them back: Firebird's record
//! with one VARCHAR(8000) in UTF-8, and small records, as a point read meets them.
//!
//! `cargo run --release -p ambo-codec --example record_rates`
#![allow(clippy::print_stdout, reason = "an example that prints a table")]

use std::hint::black_box;
use std::time::{Duration, Instant};

use ambo_codec::record::{Compressor, Dictionary, RecordCodec};

/// Each codec is measured on each set for at least so long, both ways.
const BUDGET: Duration = Duration::from_millis(60);
const ROUNDS_MIN: usize = 4;
/// The sets are cut to this, so that they stay in the processor's second cache.
const SET_BYTES: usize = 256 << 10;
const DICTIONARY_BYTES: usize = 16 << 10;

/// SplitMix64, so that every run sees the same records.
struct Random(u64);

impl Random {
    fn below(&mut self, bound: u64) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = self.0;
        mixed = (mixed ^ mixed >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ mixed >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
        (mixed ^ mixed >> 31) % bound
    }
}

const WORDS: [&str; 24] = [
    "prodej",
    "nákup",
    "zboží",
    "kus",
    "sklad",
    "Praha",
    "Brno",
    "dodávka",
    "objednávka",
    "zaplaceno",
    "a",
    "na",
    "v",
    "cena",
    "Kč",
    "faktura",
    "číslo",
    "dne",
    "zákazník",
    "vrátil",
    "bez",
    "vady",
    "šroub",
    "M8",
];

/// Words and numbers of so many characters.
fn text(characters: usize, random: &mut Random) -> String {
    let mut text = String::new();
    while text.chars().count() < characters {
        match random.below(8) {
            0 => text.push_str(&random.below(100_000).to_string()),
            _ => text.push_str(WORDS[random.below(24) as usize]),
        }
        text.push(' ');
    }
    text.chars().take(characters).collect()
}

/// The record buffer of Firebird for a table with one VARCHAR of so many characters in UTF-8: four bytes of NULL
/// flags, two of length, four for each character, what is not used zero.
fn firebird_record(text: Option<&str>, characters: usize) -> Vec<u8> {
    let mut record = vec![0; 4 + 2 + 4 * characters];
    match text {
        None => record[0] = 1,
        Some(text) => {
            record[4..6].copy_from_slice(&(text.len() as u16).to_le_bytes());
            record[6..6 + text.len()].copy_from_slice(text.as_bytes());
        }
    }
    record
}

/// An order as a small document of about so many bytes.
fn document(len: usize, random: &mut Random) -> Vec<u8> {
    let mut document = format!("{{\"id\":{},\"items\":[", random.below(1 << 30));
    while document.len() < len {
        let (word, price) = (WORDS[random.below(24) as usize], random.below(90_000));
        document.push_str(&format!("{{\"sku\":\"{word}-{}\",\"price\":{price}}},", random.below(5000)));
    }
    document.push_str("]}");
    document.into_bytes()
}

struct Set {
    name: &'static str,
    records: Vec<Vec<u8>>,
}

impl Set {
    fn new(name: &'static str, mut record: impl FnMut(&mut Random) -> Vec<u8>) -> Self {
        let (mut records, mut bytes, mut random) = (Vec::new(), 0, Random(11));
        while bytes < SET_BYTES {
            let record = record(&mut random);
            bytes += record.len();
            records.push(record);
        }
        Self { name, records }
    }

    fn bytes(&self) -> usize {
        self.records.iter().map(Vec::len).sum()
    }

    /// Trained from other records than those that are measured.
    fn dictionary(&self, mut record: impl FnMut(&mut Random) -> Vec<u8>) -> Option<Dictionary> {
        let mut random = Random(12);
        let samples: Vec<Vec<u8>> = (0..8000).map(|_| record(&mut random)).collect();
        let refs: Vec<&[u8]> = samples.iter().map(Vec::as_slice).collect();
        Dictionary::train(&refs, DICTIONARY_BYTES)
    }
}

/// Nanoseconds of the fastest round.
fn best(mut round: impl FnMut()) -> f64 {
    let (begin, mut best) = (Instant::now(), f64::INFINITY);
    for rounds in 0.. {
        let start = Instant::now();
        round();
        // The first one fetches code and data.
        best = if rounds == 0 { best } else { best.min(start.elapsed().as_secs_f64() * 1e9) };
        if rounds >= ROUNDS_MIN && begin.elapsed() >= BUDGET {
            break;
        }
    }
    best
}

fn print(set: &Set, name: &str, stored: usize, encode: f64, decode: f64) {
    let (records, raw) = (set.records.len() as f64, set.bytes() as f64);
    println!(
        "{name:<14} {:>10.1} {:>9.2} {:>12.0} {:>12.0} {:>9.2} {:>9.2}",
        stored as f64 / records,
        raw / stored as f64,
        encode / records,
        decode / records,
        raw / encode,
        raw / decode,
    );
}

fn measure_raw(set: &Set) {
    let mut out = Vec::with_capacity(1 << 16);
    let copy = best(|| {
        for record in &set.records {
            out.clear();
            out.extend_from_slice(record);
            black_box(&out);
        }
    });
    print(set, "copy", set.bytes(), copy, copy);
}

fn measure(set: &Set, name: &str, codec: RecordCodec, dictionary: Option<&Dictionary>) {
    let mut compressor = Compressor::new(codec, dictionary);
    let compress = |raw: &Vec<u8>| {
        let mut stored = Vec::new();
        compressor.compress(raw, &mut stored);
        stored.shrink_to_fit();
        stored
    };
    let stored: Vec<Vec<u8>> = set.records.iter().map(compress).collect();
    let mut out = Vec::with_capacity(1 << 16);
    let encode = best(|| {
        for record in &set.records {
            out.clear();
            compressor.compress(record, &mut out);
            black_box(&out);
        }
    });
    let decode = best(|| {
        for (record, stored) in set.records.iter().zip(&stored) {
            out.clear();
            codec.decompress_into(dictionary, stored, record.len(), &mut out).expect("just compressed");
            black_box(&out);
        }
    });
    assert_eq!(&out, set.records.last().expect("records"));
    print(set, name, stored.iter().map(Vec::len).sum(), encode, decode);
}

fn measure_all(set: &Set, dictionary: Option<&Dictionary>) {
    println!("\n{}: {:.1} bytes a record", set.name, set.bytes() as f64 / set.records.len() as f64);
    println!(
        "{:<14} {:>10} {:>9} {:>12} {:>12} {:>9} {:>9}",
        "codec", "bytes", "smaller", "encode, ns", "decode, ns", "GB/s", "GB/s"
    );
    measure_raw(set);
    let levels =
        [RecordCodec::Zstd { level: 1 }, RecordCodec::Zstd { level: 9 }, RecordCodec::Zlib { level: 1 }];
    for codec in RecordCodec::ALL.into_iter().chain(levels) {
        measure(set, &codec.to_string(), codec, None);
    }
    if dictionary.is_some() {
        for level in [1, 3, 9] {
            measure(set, &format!("zstd:{level}, dict"), RecordCodec::Zstd { level }, dictionary);
        }
    }
}

fn main() {
    let firebird = [
        Set::new("VARCHAR(8000), all NULL", |_| firebird_record(None, 8000)),
        Set::new("VARCHAR(8000), 20 to 80 characters", |random| {
            let characters = 20 + random.below(61) as usize;
            firebird_record(Some(&text(characters, random)), 8000)
        }),
        Set::new("VARCHAR(8000), 7,000 to 8,000 characters", |random| {
            let characters = 7000 + random.below(1001) as usize;
            firebird_record(Some(&text(characters, random)), 8000)
        }),
        Set::new("32,006 random bytes", |random| (0..32_006).map(|_| random.below(256) as u8).collect()),
    ];
    for set in &firebird {
        measure_all(set, None);
    }
    for (name, len) in [("documents of 100 bytes", 100), ("of 1 KB", 1000), ("of 4 KB", 4000)] {
        let set = Set::new(name, |random| document(len, random));
        let dictionary = set.dictionary(|random| document(len, random));
        measure_all(&set, dictionary.as_ref());
    }
    let short = |random: &mut Random| {
        let characters = 5 + random.below(30) as usize;
        firebird_record(Some(&text(characters, random)), 50)
    };
    let set = Set::new("VARCHAR(50), 5 to 34 characters", short);
    let dictionary = set.dictionary(short);
    measure_all(&set, dictionary.as_ref());
}
