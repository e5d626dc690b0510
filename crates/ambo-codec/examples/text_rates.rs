//! How small text blocks are, how fast they are encoded and decoded, and what one string costs; beside Snappy, LZ4
//! and Zstandard over pages laid out as Parquet's plain pages are.
//!
//! `cargo run --release -p ambo-codec --example text_rates [DATASET]`
#![allow(clippy::print_stdout, reason = "an example that prints a table")]

use std::{
    collections::{BTreeMap, BTreeSet},
    hint::black_box,
    time::Instant,
};

use ambo_codec::column::{
    BytesView, Goal,
    bits::{packed_len, width_of},
    text::{SharedTable, TextBlock, TextEncoding, TextTable, encode, encode_as},
};

const BLOCK: usize = 8192;
const BLOCKS: usize = 16;
const ROUNDS: usize = 7;
/// Bytes of a page that is compressed as a whole.
const PAGE: usize = 1 << 20;

/// SplitMix64, so that every run sees the same strings.
struct Random(u64);

impl Random {
    fn below(&mut self, bound: usize) -> usize {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = self.0;
        mixed = (mixed ^ mixed >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ mixed >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
        ((mixed ^ mixed >> 31) % bound as u64) as usize
    }

    fn pick<'t>(&mut self, texts: &[&'t str]) -> &'t str {
        texts[self.below(texts.len())]
    }

    /// A word of syllables, `count` of them.
    fn word(&mut self, count: usize) -> String {
        let onsets = ["b", "br", "c", "ch", "d", "f", "g", "h", "l", "m", "n", "p", "pr", "r", "s", "st", "t", "th", "v", "w"];
        let rimes = ["a", "an", "e", "er", "ing", "i", "in", "o", "on", "ou", "u", "al", "ent", "ate", "ion", "y", "le"];
        (0..count).map(|_| format!("{}{}", self.pick(&onsets), self.pick(&rimes))).collect()
    }
}

const NOUNS: [&str; 18] = [
    "packages", "requests", "accounts", "deposits", "foxes", "ideas", "theodolites", "pinto beans", "instructions",
    "dependencies", "excuses", "platelets", "asymptotes", "courts", "dolphins", "multipliers", "sauternes", "warthogs",
];
const VERBS: [&str; 16] = [
    "sleep", "wake", "are", "cajole", "haggle", "nag", "use", "boost", "affix", "detect", "integrate", "maintain",
    "nod", "was", "lose", "solve",
];
const ADJECTIVES: [&str; 14] = [
    "furious", "sly", "careful", "blithe", "quick", "fluffy", "slow", "quiet", "ruthless", "thin", "close", "final",
    "ironic", "regular",
];
const ADVERBS: [&str; 12] = [
    "sometimes", "always", "never", "furiously", "slyly", "carefully", "blithely", "quickly", "fluffily", "slowly",
    "quietly", "express",
];
const PREPOSITIONS: [&str; 10] =
    ["about", "above", "according to", "across", "after", "against", "along", "among", "around", "at the"];

/// Text of a grammar like TPC-H's.
fn prose(random: &mut Random, len: usize) -> String {
    let mut text = String::new();
    while text.len() < len {
        let noun = format!("{} {}", random.pick(&ADJECTIVES), random.pick(&NOUNS));
        let verb = format!("{} {}", random.pick(&ADVERBS), random.pick(&VERBS));
        let place = format!("{} the {}", random.pick(&PREPOSITIONS), random.pick(&NOUNS));
        let end = random.pick(&[". ", "; ", "? ", " ", ", "]);
        text += &match random.below(3) {
            0 => format!("{noun} {verb}{end}"),
            1 => format!("{noun} {verb} {place}{end}"),
            _ => format!("{verb} {noun} {place}{end}"),
        };
    }
    text
}

fn hex(random: &mut Random, digits: usize) -> String {
    (0..digits).map(|_| char::from(b"0123456789abcdef"[random.below(16)])).collect()
}

fn url(random: &mut Random, hosts: &[String], words: &[String]) -> String {
    // Some hosts and words are much more frequent than others.
    let mut skewed = |of: &[String]| {
        let bound = random.below(of.len()) + 1;
        of[random.below(bound)].clone()
    };
    let (host, path) = (skewed(hosts), [skewed(words), skewed(words), skewed(words)]);
    let scheme = random.pick(&["https://", "https://www.", "http://"]);
    let end = match random.below(3) {
        0 => format!("?id={}", random.below(1_000_000)),
        1 => format!(".html#{}", path[0]),
        _ => String::new(),
    };
    format!("{scheme}{host}/{}/{}-{}{end}", path[0], path[1], path[2])
}

type Strings = Vec<String>;

fn datasets() -> Vec<(&'static str, Strings)> {
    let rows = BLOCK * BLOCKS;
    let mut random = Random(1);
    let pool = prose(&mut random, 4 << 20);
    let comment = |random: &mut Random, short: usize, long: usize| {
        let (len, at) = (short + random.below(long - short + 1), random.below(pool.len() - 100));
        pool[at..at + len].to_owned()
    };
    let hosts: Strings =
        (0..300).map(|_| format!("{}.{}", random.word(3), random.pick(&["com", "org", "net", "de"]))).collect();
    let words: Strings = (0..3000).map(|index| random.word(1 + index % 4)).collect();
    let distinct: BTreeSet<String> = (0..rows * 2).map(|index| random.word(2 + index % 4)).collect();
    let modes = ["REG AIR", "AIR", "RAIL", "SHIP", "TRUCK", "MAIL", "FOB"];
    let instructions = ["DELIVER IN PERSON", "COLLECT COD", "NONE", "TAKE BACK RETURN"];
    let parts: [&[&str]; 3] = [
        &["STANDARD", "SMALL", "MEDIUM", "LARGE", "ECONOMY", "PROMO"],
        &["ANODIZED", "BURNISHED", "PLATED", "POLISHED", "BRUSHED"],
        &["TIN", "NICKEL", "BRASS", "STEEL", "COPPER"],
    ];
    let mut make = |name: &'static str, string: &mut dyn FnMut(&mut Random, usize) -> String| {
        (name, (0..rows).map(|row| string(&mut random, row)).collect::<Strings>())
    };
    let mut sets = vec![
        make("l_comment", &mut |random, _| comment(random, 10, 43)),
        make("o_comment", &mut |random, _| comment(random, 19, 78)),
        make("l_shipmode", &mut |random, _| random.pick(&modes).into()),
        make("l_shipinstruct", &mut |random, _| random.pick(&instructions).into()),
        make("l_returnflag", &mut |random, _| random.pick(&["A", "N", "R"]).into()),
        make("l_linestatus", &mut |random, row| if row < 60_000 { "F" } else { random.pick(&["O", "O", "F"]) }.into()),
        make("p_type", &mut |random, _| parts.map(|words| random.pick(words)).join(" ")),
        make("o_clerk", &mut |random, _| format!("Clerk#{:09}", random.below(1000))),
        make("c_name", &mut |_, row| format!("Customer#{row:09}")),
        make("c_phone", &mut |random, _| {
            let mut part = |low, bound| low + random.below(bound);
            format!("{}-{}-{}-{}", part(10, 25), part(100, 900), part(100, 900), part(1000, 9000))
        }),
        make("uuid", &mut |random, _| {
            let parts = [8, 4, 3, 3, 12].map(|digits| hex(random, digits));
            let variant = random.pick(&["8", "9", "a", "b"]);
            format!("{}-{}-4{}-{variant}{}-{}", parts[0], parts[1], parts[2], parts[3], parts[4])
        }),
        make("url", &mut |random, _| url(random, &hosts, &words)),
    ];
    let mut urls = sets.last().expect("just made").1.clone();
    urls.sort();
    sets.push(("url_sorted", urls));
    sets.push(("words", distinct.into_iter().take(rows).collect()));
    sets
}

/// The least time of some rounds, in seconds.
fn least(mut work: impl FnMut()) -> f64 {
    let round = |_| {
        let start = Instant::now();
        work();
        start.elapsed().as_secs_f64()
    };
    (0..ROUNDS).map(round).fold(f64::INFINITY, f64::min)
}

struct Data {
    offsets: Vec<u32>,
    bytes: Vec<u8>,
}

impl Data {
    fn new(strings: &Strings) -> Self {
        let (mut offsets, mut bytes) = (vec![0], Vec::new());
        for string in strings {
            bytes.extend_from_slice(string.as_bytes());
            offsets.push(bytes.len() as u32);
        }
        Self { offsets, bytes }
    }

    fn view(&self) -> BytesView<'_> {
        BytesView::new(&self.offsets, &self.bytes)
    }

    fn blocks(&self) -> impl Iterator<Item = BytesView<'_>> {
        (0..BLOCKS).map(|block| BytesView::new(&self.offsets[block * BLOCK..=(block + 1) * BLOCK], &self.bytes))
    }
}

fn line(name: &str, size: usize, data: &Data, encode: f64, decode: f64, get: Option<f64>) {
    let raw = data.bytes.len() as f64;
    let get = get.map_or(String::new(), |get| format!("{get:8.1}"));
    let (encode, decode) = (raw / encode / 1e9, raw / decode / 1e9);
    println!("  {name:26} {size:10} {:7.2} {encode:8.3} {decode:8.2} {get}", raw / size as f64);
}

/// Measures blocks that `encode` makes; nothing is printed when it makes none. Returns all bytes.
fn blocks(
    name: &str,
    data: &Data,
    table: Option<&TextTable>,
    encode: impl Fn(&BytesView<'_>, &mut Vec<u8>) -> Option<TextEncoding>,
) -> usize {
    let mut encoded: Vec<Vec<u8>> = Vec::new();
    let mut chosen = BTreeMap::new();
    for strings in data.blocks() {
        let mut bytes = Vec::new();
        let Some(encoding) = encode(&strings, &mut bytes) else { return 0 };
        *chosen.entry(encoding.name()).or_insert(0) += 1;
        encoded.push(bytes);
    }
    let encode_time = least(|| {
        for strings in data.blocks() {
            let mut bytes = Vec::new();
            encode(&strings, &mut bytes);
            black_box(bytes);
        }
    });
    let table_bytes = table.map_or(&[][..], TextTable::bytes);
    let shared = table.map(|table| SharedTable::parse(table.bytes()).expect("just made"));
    let parse = |bytes: &'_ [u8]| -> TextBlock<'_> {
        // The block lives no longer than its bytes here, which is all that is asked.
        TextBlock::parse(bytes, BLOCK, shared.as_ref()).expect("just encoded").clone()
    };
    let (mut offsets, mut out) = (Vec::new(), Vec::new());
    let decode_time = least(|| {
        for bytes in &encoded {
            offsets.clear();
            out.clear();
            parse(bytes).decode(0..BLOCK, &mut offsets, &mut out).expect("just encoded");
            black_box(&out);
        }
    });
    let mut random = Random(7);
    let rows: Vec<usize> = (0..2000).map(|_| random.below(BLOCK)).collect();
    let parsed: Vec<TextBlock<'_>> = encoded.iter().map(|bytes| parse(bytes)).collect();
    let gets = if name.contains("compressed") { 50 } else { rows.len() };
    let get_time = least(|| {
        for (index, row) in rows.iter().take(gets).enumerate() {
            out.clear();
            parsed[index % BLOCKS].get(*row, &mut out).expect("just encoded");
            black_box(&out);
        }
    });
    let size = encoded.iter().map(Vec::len).sum::<usize>() + table_bytes.len();
    let chosen: Vec<String> = chosen.into_iter().map(|(name, count)| format!("{name} {count}")).collect();
    let note = if chosen.len() == 1 && name.starts_with(' ') { String::new() } else { chosen.join(", ") };
    let get = get_time / gets as f64 * 1e9;
    line(&format!("{name} {note}"), size, data, encode_time, decode_time, Some(get));
    size
}

type Codec = fn(&[u8]) -> Vec<u8>;

/// A page as Parquet's PLAIN encoding lays it out: each length in four bytes, then the string.
fn pages(data: &Data) -> Vec<Vec<u8>> {
    let mut pages = vec![Vec::new()];
    for string in data.view().iter() {
        let page = pages.last_mut().expect("there is one");
        page.extend_from_slice(&(string.len() as u32).to_le_bytes());
        page.extend_from_slice(string);
        if page.len() >= PAGE {
            pages.push(Vec::new());
        }
    }
    pages
}

/// The size of a dictionary page and bit-packed codes, each compressed, when the dictionary is at most a page.
fn dictionary_size(data: &Data, compress: Codec) -> Option<usize> {
    let mut numbers: BTreeMap<&[u8], u64> = BTreeMap::new();
    let mut page = Vec::new();
    let codes: Vec<u64> = data
        .view()
        .iter()
        .map(|string| {
            let next = numbers.len() as u64;
            *numbers.entry(string).or_insert_with(|| {
                page.extend_from_slice(&(string.len() as u32).to_le_bytes());
                page.extend_from_slice(string);
                next
            })
        })
        .collect();
    if page.len() > PAGE {
        return None;
    }
    let width = width_of(numbers.len() as u64 - 1);
    let mut packed = Vec::with_capacity(packed_len(codes.len(), width));
    let (mut pending, mut bits) = (0u64, 0);
    for code in codes {
        pending |= code << bits;
        bits += width;
        while bits >= 8 {
            packed.push(pending as u8);
            pending >>= 8;
            bits -= 8;
        }
    }
    Some(compress(&page).len() + compress(&packed).len())
}

/// Measures a general compressor; returns the size that Parquet would have, about.
fn general(name: &str, data: &Data, compress: Codec, decompress: fn(&[u8], &mut [u8])) -> usize {
    let pages = pages(data);
    let compressed: Vec<Vec<u8>> = pages.iter().map(|page| compress(page)).collect();
    let encode_time = least(|| pages.iter().for_each(|page| drop(black_box(compress(page)))));
    let mut out = vec![0; 2 * PAGE];
    let decode_time = least(|| {
        for (bytes, page) in compressed.iter().zip(&pages) {
            decompress(bytes, &mut out[..page.len()]);
            black_box(&out);
        }
    });
    let plain = compressed.iter().map(Vec::len).sum();
    let size = dictionary_size(data, compress).map_or(plain, |size| size.min(plain));
    let name = format!("{name}, {}", if size < plain { "dictionary" } else { "plain" });
    line(&name, size, data, encode_time, decode_time, None);
    size
}

fn main() {
    let wanted = std::env::args().nth(1);
    let mut totals: BTreeMap<&str, usize> = BTreeMap::new();
    for (name, strings) in datasets() {
        if wanted.as_ref().is_some_and(|wanted| !name.contains(wanted.as_str())) {
            continue;
        }
        let data = Data::new(&strings);
        println!("{name}: {} strings, {} bytes; size, ratio, encode and decode GB/s, ns a get", strings.len(), data.bytes.len());
        let mut add = |name, size| *totals.entry(name).or_insert(0) += size;
        add("text", data.bytes.len());
        let start = Instant::now();
        let table = TextTable::train(&data.view(), Goal::Speed);
        let training = start.elapsed().as_secs_f64() * 1e3;
        let choose = |goal, table| {
            move |strings: &BytesView<'_>, out: &mut Vec<u8>| {
                Some(encode(strings, goal, table, out).expect("fits").encoding)
            }
        };
        add("speed", blocks("speed:", &data, None, choose(Goal::Speed, None)));
        add("speed, shared table", blocks("shared:", &data, Some(&table), choose(Goal::Speed, Some(&table))));
        add("size, shared table", blocks("size:", &data, Some(&table), choose(Goal::Size, Some(&table))));
        for encoding in TextEncoding::ALL {
            blocks(&format!("  {encoding}"), &data, Some(&table), |strings, out| {
                let suits = encode_as(encoding, strings, Goal::Size, Some(&table), out).expect("fits");
                suits.then_some(encoding)
            });
        }
        println!("  (training {training:.1} ms, table {} bytes)", table.bytes().len());
        add("snappy", general("snappy", &data, |bytes| snap::raw::Encoder::new().compress_vec(bytes).expect("fits"), |bytes, out| {
            snap::raw::Decoder::new().decompress(bytes, out).map(drop).expect("just compressed")
        }));
        add("lz4", general("lz4", &data, lz4_flex::block::compress, |bytes, out| {
            lz4_flex::block::decompress_into(bytes, out).map(drop).expect("just compressed")
        }));
        add("zstd", general("zstd -1", &data, |bytes| zstd::bulk::compress(bytes, 1).expect("fits"), |bytes, out| {
            zstd::bulk::decompress_to_buffer(bytes, out).map(drop).expect("just compressed")
        }));
    }
    println!("all: {totals:?}");
}
