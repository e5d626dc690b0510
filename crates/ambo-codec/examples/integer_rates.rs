//! How fast blocks of sorted integers are written, read, searched and summed, and how large they are, beside a plain
//! array and the crates `bitpacking` and `stream-vbyte`.
//!
//! `cargo run --release -p ambo-codec --example integer_rates`
//!
//! Times are the least of several rounds over data that stays in the second-level cache. Cycles are those of the time stamp
//! counter, which runs at the machine's nominal rate. Searches and selections are at random places of random blocks, each
//! depends on the one before. The shuffles of `stream-vbyte` want a nightly compiler, so it is its scalar decoder.
#![allow(clippy::print_stdout, reason = "an example that prints a table")]

use std::hint::black_box;
use std::time::Instant;

use ambo_codec::integer::{BlockMeasure, IntegerCodec, Word};
use bitpacking::{BitPacker, BitPacker4x, BitPacker8x};

/// Few enough to stay in a cache of 1 MiB as plain `u64`.
const VALUES: usize = 1 << 16;
const ROUNDS: usize = 60;
/// Searches a round.
const SEARCHES: usize = 4096;

/// SplitMix64, so that every run sees the same values.
struct Random(u64);

impl Random {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = self.0;
        mixed = (mixed ^ mixed >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ mixed >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ mixed >> 31
    }
}

/// Each a sequence of gaps: ones; runs of about 100 ones with leaps of about 30,000 (u64: 10^9) between; those of 10 million random
/// values over the whole word.
fn data<W: Word>(shape: &str) -> Vec<W> {
    let mut random = Random(11);
    let mut value = 1_000_000u64;
    let mean = if W::BITS == 32 { 429.0 } else { 1.8e12 };
    let leap = if W::BITS == 32 { 60_000 } else { 2_000_000_000 };
    let gap = |random: &mut Random| match shape {
        "dense" => 1,
        "clustered" if !random.next().is_multiple_of(100) => 1,
        "clustered" => 1 + random.next() % leap,
        _ => 1 + (-((random.next() >> 11) as f64 / (1u64 << 53) as f64).ln() * mean).min(1e18) as u64,
    };
    let next = |_| {
        value += gap(&mut random);
        W::from_u64(value)
    };
    (0..VALUES).map(next).collect()
}

/// The least time of a round in nanoseconds and cycles, for each of `count` things.
fn measure(count: usize, mut round: impl FnMut()) -> (f64, f64) {
    let mut best = (f64::INFINITY, f64::INFINITY);
    for _ in 0..ROUNDS {
        let (begin, cycles) = (Instant::now(), cycles());
        round();
        let (cycles, nanos) = (self::cycles() - cycles, begin.elapsed().as_secs_f64() * 1e9);
        best = (best.0.min(nanos / count as f64), best.1.min(cycles as f64 / count as f64));
    }
    best
}

#[cfg(target_arch = "x86_64")]
#[allow(unsafe_code, reason = "reading the time stamp counter")]
fn cycles() -> u64 {
    // SAFETY: Every x86-64 has the counter.
    unsafe { std::arch::x86_64::_rdtsc() }
}

#[cfg(not(target_arch = "x86_64"))]
fn cycles() -> u64 {
    0
}

/// One line of the table.
struct Line {
    name: String,
    bytes: f64,
    encode: f64,
    decode: (f64, f64),
    searched: Option<(f64, f64)>,
    sum: f64,
}

fn print<W: Word>(line: &Line) {
    let (nanos, cycles) = line.decode;
    let searched = match line.searched {
        Some((lower, select)) => format!("{lower:>8.1} {select:>8.1}"),
        None => format!("{:>8} {:>8}", "-", "-"),
    };
    println!(
        "{:<26} {:>7.3} {:>8.2} {:>8.3} {:>7.1} {:>7.2} {searched} {:>8.3}",
        line.name,
        line.bytes,
        line.encode,
        nanos,
        W::BYTES as f64 / nanos,
        1.0 / cycles,
        line.sum
    );
}

fn codec<W: Word>(codec: IntegerCodec, values: &[W]) -> Line {
    let len = codec.block_len();
    let chunks: Vec<&[W]> = values.chunks(len).collect();
    let mut bytes = Vec::with_capacity(values.len() * 10);
    let mut starts = Vec::new();
    let (encode, _) = measure(values.len(), || {
        bytes.clear();
        starts.clear();
        for chunk in &chunks {
            starts.push(bytes.len());
            codec.encode(chunk, &mut bytes);
        }
        black_box(&bytes);
    });
    let size = bytes.len();
    bytes.extend_from_slice(&[0; 64]);
    let block = |index: usize| {
        codec
            .block::<W>(&bytes[starts[index]..], chunks[index][0], chunks[index].len())
            .expect("just encoded")
    };
    let mut out = vec![W::default(); len];
    let decode = measure(values.len(), || {
        for (index, chunk) in chunks.iter().enumerate() {
            block(index).decode(&mut out[..chunk.len()]).expect("just encoded");
            black_box(&out);
        }
    });
    assert!(chunks.iter().enumerate().all(|(index, chunk)| {
        block(index).decode(&mut out[..chunk.len()]).is_ok() && out[..chunk.len()] == **chunk
    }));
    let mut random = Random(5);
    let places: Vec<usize> = (0..SEARCHES).map(|_| random.next() as usize % values.len()).collect();
    let (lower, _) = measure(SEARCHES, || {
        let mut before = 0;
        for &place in &places {
            let (found, _) = block(place / len + before).lower_bound(values[place]).expect("just encoded");
            before = black_box(found) >> 20;
        }
        black_box(before);
    });
    let (select, _) = measure(SEARCHES, || {
        let mut before = 0;
        for &place in &places {
            let value = block(place / len + before).select(place % len).expect("just encoded");
            before = usize::from(value == W::default());
        }
        black_box(before);
    });
    let (sum, _) = measure(values.len(), || {
        let sum: u128 = (0..chunks.len()).map(|index| block(index).sum().expect("just encoded")).sum();
        black_box(sum);
    });
    let bytes = size as f64 / values.len() as f64;
    Line { name: codec.name().into(), bytes, encode, decode, searched: Some((lower, select)), sum }
}

/// A plain array: copied in blocks, searched by halves without branches, summed by the compiler's vectors.
fn plain<W: Word>(values: &[W]) -> Line {
    let len = 256;
    let mut out = vec![W::default(); len];
    let decode = measure(values.len(), || {
        for chunk in values.chunks(len) {
            out.copy_from_slice(black_box(chunk));
            black_box(&out);
        }
    });
    let mut random = Random(5);
    let places: Vec<usize> = (0..SEARCHES).map(|_| random.next() as usize % values.len()).collect();
    let (lower, _) = measure(SEARCHES, || {
        let mut before = 0;
        for &place in &places {
            let begin = (place / len + before) * len;
            let found = values[begin..begin + len].partition_point(|value| *value < values[place]);
            before = black_box(found) >> 20;
        }
        black_box(before);
    });
    let (select, _) = measure(SEARCHES, || {
        let mut before = 0;
        for &place in &places {
            before = usize::from(values[place + before] == W::default());
        }
        black_box(before);
    });
    let (sum, _) = measure(values.len(), || {
        black_box(black_box(values).iter().fold(0u64, |sum, value| sum.wrapping_add(value.to_u64())));
    });
    let bytes = W::BYTES as f64;
    Line { name: "plain".into(), bytes, encode: decode.0, decode, searched: Some((lower, select)), sum }
}

/// What is packed, and what comes out.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Kind {
    Sorted,
    Distances,
    /// The distances, to each of which the first value is added.
    Values,
}

/// The crate `bitpacking`: sorted with deltas, or the distances from the first without.
fn bitpacking<P: BitPacker>(packer: P, name: &str, kind: Kind, values: &[u32]) -> Line {
    let sorted = kind == Kind::Sorted;
    let mut bytes = vec![0u8; values.len() * 4 + 64];
    let blocks: Vec<&[u32]> = values.chunks_exact(P::BLOCK_LEN).collect();
    let mut starts = Vec::new();
    let mut size = 0;
    let mut distances = vec![0u32; P::BLOCK_LEN];
    let (encode, _) = measure(values.len(), || {
        starts.clear();
        size = 0;
        for block in &blocks {
            let (bits, used);
            if sorted {
                bits = packer.num_bits_strictly_sorted(Some(block[0].wrapping_sub(1)), block);
                used = packer.compress_strictly_sorted(
                    Some(block[0].wrapping_sub(1)),
                    block,
                    &mut bytes[size..],
                    bits,
                );
            } else {
                distances.iter_mut().zip(*block).for_each(|(to, from)| *to = from - block[0]);
                bits = packer.num_bits(&distances);
                used = packer.compress(&distances, &mut bytes[size..], bits);
            }
            starts.push((size, bits));
            size += used;
        }
        black_box(&bytes);
    });
    let mut out = vec![0u32; P::BLOCK_LEN];
    let mut sum = 0;
    let mut round = |summing: bool| {
        for (&(at, bits), block) in starts.iter().zip(&blocks) {
            if sorted {
                packer.decompress_strictly_sorted(
                    Some(block[0].wrapping_sub(1)),
                    &bytes[at..],
                    &mut out,
                    bits,
                );
            } else {
                packer.decompress(&bytes[at..], &mut out, bits);
                if kind == Kind::Values {
                    out.iter_mut().for_each(|value| *value += block[0]);
                }
            }
            black_box(&out);
            if summing {
                sum += out.iter().map(|value| u64::from(*value)).sum::<u64>();
            }
        }
    };
    let decode = measure(values.len(), || round(false));
    let (sum, _) = measure(values.len(), || round(true));
    Line { name: name.into(), bytes: size as f64 / values.len() as f64, encode, decode, searched: None, sum }
}

/// The crate `stream-vbyte`, which has no deltas: of gaps, and their running sum in a second step.
fn stream_vbyte(name: &str, running_sum: bool, values: &[u32]) -> Line {
    use stream_vbyte::{decode, encode, scalar::Scalar};
    let mut bytes = vec![0u8; values.len() * 5 + 64];
    let mut starts = Vec::new();
    let mut size = 0;
    let mut gaps = [0u32; 256];
    let (encoding, _) = measure(values.len(), || {
        starts.clear();
        size = 0;
        for block in values.chunks_exact(256) {
            gaps[0] = 0;
            gaps[1..].iter_mut().zip(block.windows(2)).for_each(|(gap, pair)| *gap = pair[1] - pair[0] - 1);
            starts.push((size, block[0]));
            size += encode::encode::<Scalar>(&gaps, &mut bytes[size..]);
        }
        black_box(&bytes);
    });
    let decoding = measure(values.len(), || {
        for &(at, first) in &starts {
            decode::decode::<Scalar>(&bytes[at..], 256, &mut gaps);
            if running_sum {
                let mut value = first.wrapping_sub(1);
                for gap in &mut gaps {
                    value = value.wrapping_add(*gap).wrapping_add(1);
                    *gap = value;
                }
            }
            black_box(&gaps);
        }
    });
    let bytes = size as f64 / values.len() as f64;
    Line { name: name.into(), bytes, encode: encoding, decode: decoding, searched: None, sum: f64::NAN }
}

fn table<W: Word>(shape: &str, values: &[W], crates: impl FnOnce()) {
    println!("\nu{} {shape}", W::BITS);
    println!(
        "{:<26} {:>7} {:>8} {:>8} {:>7} {:>7} {:>8} {:>8} {:>8}",
        "", "bytes/v", "enc ns/v", "dec ns/v", "GB/s", "v/cycle", "find ns", "select", "sum ns/v"
    );
    print::<W>(&plain(values));
    for name in IntegerCodec::ALL {
        print::<W>(&codec(name, values));
    }
    crates();
    for name in [IntegerCodec::VByte, IntegerCodec::StreamVByte, IntegerCodec::Bp128] {
        let (nanos, _) = measure(values.len(), || {
            for block in values.chunks(name.block_len()) {
                let mut bytes = 0;
                block.iter().fold(BlockMeasure::new(name), |measure, value| {
                    let measure = measure.with(*value);
                    bytes += measure.bytes();
                    measure
                });
                black_box(bytes);
            }
        });
        println!("measure {name}: {nanos:.2} ns/v");
    }
}

fn main() {
    for shape in ["dense", "clustered", "random"] {
        let values = data::<u32>(shape);
        table(shape, &values, || {
            for line in [
                bitpacking(BitPacker4x::new(), "crate bitpacking 4x delta", Kind::Sorted, &values),
                bitpacking(BitPacker8x::new(), "crate bitpacking 8x delta", Kind::Sorted, &values),
                bitpacking(BitPacker4x::new(), "crate bitpacking 4x", Kind::Distances, &values),
                bitpacking(BitPacker8x::new(), "crate bitpacking 8x", Kind::Distances, &values),
                bitpacking(BitPacker8x::new(), "crate bitpacking 8x first", Kind::Values, &values),
                stream_vbyte("crate stream-vbyte gaps", false, &values),
                stream_vbyte("crate stream-vbyte + sum", true, &values),
            ] {
                print::<u32>(&line);
            }
        });
        table(shape, &data::<u64>(shape), || ());
    }
}
