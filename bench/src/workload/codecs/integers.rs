//! Integer codecs on sorted blocks, beside the crates `bitpacking` and `stream-vbyte` and a plain array.
//!
//! Blocks are decoded one after the other into the same buffer of one block, as a cursor does. Peers do the same work:
//! where a codec stores differences, sums are part of decoding.

use std::hint::black_box;

use ambo_codec::integer::{IntegerCodec, Word};
use bitpacking::{BitPacker, BitPacker4x, BitPacker8x};

use crate::contender::{AMBO, PLAIN};
use crate::engine::Result;
use crate::random::Random;
use crate::timing::{cycles_per_second, fastest};
use crate::workload::keys::Keys;
use crate::workload::sheet::Sheet;

/// The largest block of any codec.
const BLOCK_MAX: usize = 256;

/// What blocks are decoded to, of all alike. On a line of the cache, as column buffers are: else where the stack happens to
/// lie would say whether wide writes cross a page, which costs a third of the time.
#[repr(align(64))]
struct Values<W>([W; BLOCK_MAX]);

pub(super) fn run(sheet: &mut Sheet) -> Result<()> {
    for keys in Keys::ALL {
        let narrow = keys.ascending(sheet.records as usize);
        for codec in IntegerCodec::ALL {
            one(sheet, keys, codec, &narrow, "u32")?;
        }
    }
    let narrow = Keys::Clustered.ascending(sheet.records as usize);
    let wide: Vec<u64> = narrow.iter().map(|&key| u64::from(key) * 3 + (1 << 40)).collect();
    for codec in IntegerCodec::ALL {
        one(sheet, Keys::Clustered, codec, &wide, "u64")?;
    }
    Ok(())
}

/// Integers of either width, as far as this suite needs them.
trait Integer: Word + Into<u64> {
    /// Decoders of other crates for the same blocks.
    fn peers(codec: IntegerCodec, values: &[Self]) -> Vec<(&'static str, Peer)>;
}

/// Another crate's blocks, and how it decodes one.
struct Peer {
    blocks: Vec<PeerBlock>,
    decode: fn(&PeerBlock, &mut [u32; BLOCK_MAX]),
}

struct PeerBlock {
    bytes: Vec<u8>,
    first: u32,
    count: usize,
    bits: u8,
}

impl Integer for u64 {
    fn peers(_: IntegerCodec, _: &[u64]) -> Vec<(&'static str, Peer)> {
        Vec::new()
    }
}

impl Integer for u32 {
    fn peers(codec: IntegerCodec, values: &[u32]) -> Vec<(&'static str, Peer)> {
        match codec {
            IntegerCodec::Bp128 => vec![("bitpacking", packed_differences(values))],
            IntegerCodec::SimdFor => vec![("bitpacking", packed_offsets(values))],
            IntegerCodec::StreamVByte => vec![
                (
                    "stream-vbyte crate",
                    stream_vbyte(values, |block, out| {
                        stream_vbyte_decode(block, out);
                        sums(block.first, &mut out[..block.count]);
                    }),
                ),
                ("stream-vbyte crate, differences only", stream_vbyte(values, stream_vbyte_decode)),
            ],
            _ => Vec::new(),
        }
    }
}

fn packed_differences(values: &[u32]) -> Peer {
    let packer = BitPacker4x::new();
    let blocks = values.chunks_exact(BitPacker4x::BLOCK_LEN).map(|block| {
        let bits = packer.num_bits_sorted(block[0], block);
        let mut bytes = vec![0; BitPacker4x::compressed_block_size(bits)];
        packer.compress_sorted(block[0], block, &mut bytes, bits);
        PeerBlock { bytes, first: block[0], count: block.len(), bits }
    });
    Peer {
        blocks: blocks.collect(),
        decode: |block, out| {
            BitPacker4x::new().decompress_sorted(
                block.first,
                &block.bytes,
                &mut out[..BitPacker4x::BLOCK_LEN],
                block.bits,
            );
        },
    }
}

fn packed_offsets(values: &[u32]) -> Peer {
    let packer = BitPacker8x::new();
    let blocks = values.chunks_exact(BitPacker8x::BLOCK_LEN).map(|block| {
        let offsets: Vec<u32> = block.iter().map(|value| value - block[0]).collect();
        let bits = packer.num_bits(&offsets);
        let mut bytes = vec![0; BitPacker8x::compressed_block_size(bits)];
        packer.compress(&offsets, &mut bytes, bits);
        PeerBlock { bytes, first: block[0], count: block.len(), bits }
    });
    Peer {
        blocks: blocks.collect(),
        decode: |block, out| {
            BitPacker8x::new().decompress(&block.bytes, out, block.bits);
            out.iter_mut().for_each(|value| *value = value.wrapping_add(block.first));
        },
    }
}

#[cfg(not(feature = "nightly"))]
type StreamVByteDecoder = stream_vbyte::scalar::Scalar;
#[cfg(feature = "nightly")]
type StreamVByteDecoder = stream_vbyte::x86::Ssse3;

fn stream_vbyte(values: &[u32], decode: fn(&PeerBlock, &mut [u32; BLOCK_MAX])) -> Peer {
    let blocks = values.chunks(BLOCK_MAX).map(|block| {
        let mut before = block[0];
        let differences: Vec<u32> = block
            .iter()
            .map(|&value| {
                let difference = value - before;
                before = value;
                difference
            })
            .collect();
        let mut bytes = vec![0; 5 * block.len() + 16];
        let used = stream_vbyte::encode::encode::<stream_vbyte::scalar::Scalar>(&differences, &mut bytes);
        bytes.truncate(used);
        PeerBlock { bytes, first: block[0], count: block.len(), bits: 0 }
    });
    Peer { blocks: blocks.collect(), decode }
}

fn stream_vbyte_decode(block: &PeerBlock, out: &mut [u32; BLOCK_MAX]) {
    stream_vbyte::decode::decode::<StreamVByteDecoder>(&block.bytes, block.count, &mut out[..]);
}

fn sums(first: u32, differences: &mut [u32]) {
    let mut sum = first;
    for value in differences {
        sum = sum.wrapping_add(*value);
        *value = sum;
    }
}

/// Our blocks of one codec.
struct Blocks<W> {
    bytes: Vec<u8>,
    /// Where each block's bytes begin, its first value, and its length.
    places: Vec<(usize, W, usize)>,
}

impl<W: Integer> Blocks<W> {
    fn new(codec: IntegerCodec, values: &[W]) -> Blocks<W> {
        let mut bytes = Vec::new();
        let places = values.chunks(codec.block_len()).map(|block| {
            let start = bytes.len();
            codec.encode(block, &mut bytes);
            (start, block[0], block.len())
        });
        let places = places.collect();
        Blocks { bytes, places }
    }

    /// Every block in turn.
    fn each(
        &self,
        codec: IntegerCodec,
        mut work: impl FnMut(
            usize,
            ambo_codec::integer::Block<'_, W>,
        ) -> std::result::Result<(), ambo_codec::Damaged>,
    ) {
        for (i, &(start, first, count)) in self.places.iter().enumerate() {
            let block = codec.block(&self.bytes[start..], first, count);
            // Damage would be a defect of the encoder; the check below finds it before anything is timed.
            let _ = block.and_then(|block| work(i, block));
        }
    }
}

fn one<W: Integer>(
    sheet: &mut Sheet,
    keys: Keys,
    codec: IntegerCodec,
    values: &[W],
    width: &str,
) -> Result<()> {
    let blocks = Blocks::new(codec, values);
    check(&blocks, codec, values)?;
    let name = format!("integers: {codec}, {} {width}", keys.name());
    let raw_bytes = size_of_val(values) as f64;
    let count = values.len() as f64;
    let bits = (blocks.bytes.len() * 8) as f64 / count;
    sheet.figure(&name, AMBO, "size", "bits/value", bits);

    let peers = W::peers(codec, values);
    let mut names = vec![AMBO, PLAIN];
    let mut decoded = vec![count, count];
    let mut works: Vec<Box<dyn FnMut() + '_>> = vec![
        Box::new(|| {
            let Values(out) = &mut Values([W::default(); BLOCK_MAX]);
            blocks.each(codec, |_, block| block.decode(&mut out[..block.len()]).map(|()| keep(&*out)));
        }),
        Box::new(|| {
            let Values(out) = &mut Values([W::default(); BLOCK_MAX]);
            for block in values.chunks(codec.block_len()) {
                out[..block.len()].copy_from_slice(block);
                keep(&*out);
            }
        }),
    ];
    for (peer_name, peer) in &peers {
        names.push(peer_name);
        decoded.push(peer.blocks.iter().map(|block| block.count).sum::<usize>() as f64);
        works.push(Box::new(|| {
            let Values(out) = &mut Values([0_u32; BLOCK_MAX]);
            for block in &peer.blocks {
                (peer.decode)(block, out);
                keep(&*out);
            }
        }));
        let bytes: usize = peer.blocks.iter().map(|block| block.bytes.len()).sum();
        sheet.figure(&name, peer_name, "size", "bits/value", (bytes * 8) as f64 / count);
    }
    let hertz = cycles_per_second();
    let seconds = run_all(&mut works);
    drop(works);
    for ((whose, seconds), count) in names.iter().zip(&seconds).zip(&decoded) {
        sheet.figure(&name, whose, "decode", "GB/s", count * size_of::<W>() as f64 / seconds / 1e9);
        sheet.figure(&name, whose, "decode per cycle", "values/cycle", count / seconds / hertz);
    }
    search(sheet, &name, codec, &blocks, values);

    let mut out = Vec::with_capacity(blocks.bytes.len() + 64);
    let seconds = fastest(&mut [&mut || {
        out.clear();
        values.chunks(codec.block_len()).for_each(|block| codec.encode(block, &mut out));
        black_box(&out);
    }]);
    sheet.figure(&name, AMBO, "encode", "GB/s", raw_bytes / seconds[0] / 1e9);
    Ok(())
}

/// Sums, searches and selections without decoding, beside those on a plain array.
fn search<W: Integer>(sheet: &mut Sheet, name: &str, codec: IntegerCodec, blocks: &Blocks<W>, values: &[W]) {
    let mut random = Random::new(9);
    let at: Vec<usize> = blocks.places.iter().map(|place| random.below(place.2 as u64) as usize).collect();
    let probes: Vec<W> =
        at.iter().zip(values.chunks(codec.block_len())).map(|(&at, block)| block[at]).collect();
    let mut works: Vec<Box<dyn FnMut() + '_>> = vec![
        Box::new(|| {
            let mut all = 0;
            blocks.each(codec, |_, block| block.sum().map(|sum| all += sum));
            keep(&all);
        }),
        Box::new(|| {
            let mut all = 0;
            for block in values.chunks(codec.block_len()) {
                all += u128::from(block.iter().map(|&value| value.into()).sum::<u64>());
            }
            keep(&all);
        }),
        Box::new(|| blocks.each(codec, |i, block| block.lower_bound(probes[i]).map(|found| keep(&found)))),
        Box::new(|| {
            for (block, probe) in values.chunks(codec.block_len()).zip(&probes) {
                keep(&block.binary_search(probe));
            }
        }),
        Box::new(|| blocks.each(codec, |i, block| block.select(at[i]).map(|value| keep(&value)))),
    ];
    let seconds = run_all(&mut works);
    drop(works);
    let gigabytes = size_of_val(values) as f64 / 1e9;
    let millions = probes.len() as f64 / 1e6;
    for (metric, unit, whose, amount, seconds) in [
        ("sum", "GB/s", AMBO, gigabytes, seconds[0]),
        ("sum", "GB/s", PLAIN, gigabytes, seconds[1]),
        ("lower bound", "million/s", AMBO, millions, seconds[2]),
        ("lower bound", "million/s", PLAIN, millions, seconds[3]),
        ("select", "million/s", AMBO, millions, seconds[4]),
    ] {
        sheet.figure(name, whose, metric, unit, amount / seconds);
    }
}

/// That what is timed decodes to what was encoded.
fn check<W: Integer>(blocks: &Blocks<W>, codec: IntegerCodec, values: &[W]) -> Result<()> {
    let mut decoded = Vec::with_capacity(values.len());
    for &(start, first, count) in &blocks.places {
        let mut out = vec![W::default(); count];
        codec.block(&blocks.bytes[start..], first, count)?.decode(&mut out)?;
        decoded.extend(out);
    }
    if decoded == values { Ok(()) } else { Err(format!("{codec} decoded other values").into()) }
}

fn run_all(works: &mut [Box<dyn FnMut() + '_>]) -> Vec<f64> {
    let mut works: Vec<&mut dyn FnMut()> = works.iter_mut().map(|work| &mut **work as _).collect();
    fastest(&mut works)
}

/// Uses a result, so that the work is not left out.
fn keep<T: ?Sized>(value: &T) {
    black_box(value);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn peers_decode_the_same_values() {
        // Keeps away: a comparison with a crate that was handed other data or other work.
        let values = Keys::Clustered.ascending(4096);
        for codec in IntegerCodec::ALL {
            for (name, peer) in u32::peers(codec, &values) {
                if name.ends_with("differences only") {
                    continue;
                }
                let mut decoded = Vec::new();
                for block in &peer.blocks {
                    let mut out = [0; BLOCK_MAX];
                    (peer.decode)(block, &mut out);
                    decoded.extend_from_slice(&out[..block.count]);
                }
                assert_eq!(decoded, values, "{name} for {codec}");
            }
        }
    }
}
