use proptest::prelude::*;

use super::*;
use crate::Damaged;

fn compressed(codec: RecordCodec, raw: &[u8]) -> Vec<u8> {
    let mut out = Vec::new();
    Compressor::new(codec, None).compress(raw, &mut out);
    out
}

/// All codecs, some at levels that are not the usual ones.
fn codecs() -> impl Iterator<Item = RecordCodec> {
    let levels = [1, 9].map(|level| RecordCodec::Zlib { level });
    let more = [1, 19].map(|level| RecordCodec::Zstd { level });
    RecordCodec::ALL.into_iter().chain(levels).chain(more)
}

/// Runs, words and noise: what records are made of.
fn record() -> impl Strategy<Value = Vec<u8>> {
    let piece = prop_oneof![
        3 => (prop_oneof![Just(0u8), Just(b' '), any::<u8>()], 0usize..200).prop_map(|(byte, len)| vec![byte; len]),
        2 => "[a-e ]{0,20}".prop_map(String::into_bytes),
        2 => prop::collection::vec(any::<u8>(), 0..90),
        1 => (any::<u8>(), 4000usize..9000).prop_map(|(byte, len)| vec![byte; len]),
    ];
    prop::collection::vec(piece, 0..12).prop_map(|pieces| pieces.concat())
}

proptest! {
    // Keeps away a record that reads back as another, and state that leaks from one record into the next.
    #[test]
    fn round_trip(records in prop::collection::vec(record(), 1..5)) {
        for codec in codecs() {
            let (mut compressor, mut decompressor) =
                (Compressor::new(codec, None), Decompressor::new(codec, None));
            for raw in &records {
                let mut stored = vec![1, 2, 3];
                compressor.compress(raw, &mut stored);
                let mut out = vec![9];
                prop_assert_eq!(decompressor.decompress(&stored[3..], raw.len(), &mut out), Ok(()));
                prop_assert!(stored[..3] == [1, 2, 3] && out[0] == 9 && out[1..] == raw[..], "{}", codec);
                out.clear();
                prop_assert_eq!(codec.decompress_into(None, &stored[3..], raw.len(), &mut out), Ok(()));
                prop_assert_eq!(&out, raw);
            }
        }
    }

    // Keeps away a wrong length that passes for the right one, and an output that a failure leaves changed.
    #[test]
    fn another_length_is_refused(raw in record(), wrong in 0usize..20_000) {
        for codec in codecs() {
            let stored = compressed(codec, &raw);
            for wrong in [wrong, raw.len() + 1, raw.len().wrapping_sub(1), usize::MAX] {
                let mut out = vec![9];
                let result = codec.decompress_into(None, &stored, wrong, &mut out);
                if wrong != raw.len() {
                    prop_assert!(result.is_err(), "{} took {} for {}", codec, wrong, raw.len());
                    prop_assert_eq!(&out, &[9]);
                }
            }
        }
    }

    // Keeps away a record that is cut off and passes, and allocation by a length that nobody checked.
    #[test]
    fn a_cut_record_is_refused(raw in record(), cut in any::<prop::sample::Index>()) {
        for codec in codecs() {
            let stored = compressed(codec, &raw);
            let cut = cut.index(stored.len().max(1));
            if !raw.is_empty() && cut < stored.len() {
                let mut out = Vec::new();
                prop_assert!(codec.decompress_into(None, &stored[..cut], raw.len(), &mut out).is_err(), "{}", codec);
                prop_assert!(out.is_empty());
            }
        }
    }

    // Keeps away run lengths that grow a record by more than they promise.
    #[test]
    fn growth_is_bounded(raw in record()) {
        prop_assert!(compressed(RecordCodec::ElektRle, &raw).len() <= elekt::encoded_len_max(raw.len()));
        prop_assert!(compressed(RecordCodec::FirebirdRle, &raw).len() <= firebird::encoded_len_max(raw.len()));
        prop_assert!(compressed(RecordCodec::Lzf, &raw).len() <= lzf::encoded_len_max(raw.len()));
    }

    // Keeps away growth by the shortest runs, between literals of all header lengths.
    #[test]
    fn short_runs_do_not_grow(runs in prop::collection::vec((0u8..3, 1usize..6, 0usize..6000), 1..8)) {
        let mut raw = Vec::new();
        for (byte, run, literal) in runs {
            raw.extend(std::iter::repeat_n(byte, run));
            raw.extend((0..literal).map(|index| 3 + (index % 200) as u8));
        }
        let stored = compressed(RecordCodec::ElektRle, &raw);
        prop_assert!(stored.len() <= raw.len() + raw.len() / 4161 + 3);
        let mut out = Vec::new();
        RecordCodec::ElektRle.decompress_into(None, &stored, raw.len(), &mut out).expect("just compressed");
        prop_assert_eq!(out, raw);
    }
}

// Keeps away wrong lengths at the borders of headers, also where a run is longer than one block holds.
#[test]
fn elekt_lengths_at_borders() {
    let borders = [1, 2, 3, 4, 34, 35, 64, 65, 4_130, 4_131, 4_160, 4_161, 1_052_706, 1_052_736, 2_105_472];
    let noise: Vec<u8> = (0..2_106_000).map(|index: u32| (index % 251) as u8 + 1).collect();
    for len in borders.into_iter().flat_map(|border: usize| border.saturating_sub(2)..border + 3) {
        for raw in [vec![0; len], vec![7; len], noise[..len].to_vec()] {
            let stored = compressed(RecordCodec::ElektRle, &raw);
            assert!(stored.len() <= elekt::encoded_len_max(len));
            let mut out = Vec::new();
            assert_eq!(RecordCodec::ElektRle.decompress_into(None, &stored, len, &mut out), Ok(()));
            assert!(out == raw, "{len} bytes");
        }
    }
}

/// A codec, a record, and the bytes that it is stored in.
type Example = (RecordCodec, Vec<u8>, Vec<u8>);

// Keeps away drift from the documented bytes.
#[test]
fn worked_examples() {
    let delft = |zeros: usize| [&b"Delft"[..], &vec![0; zeros]].concat();
    let examples: [Example; 8] = [
        (RecordCodec::ElektRle, delft(995), [b"\x04Delft", &[0xb3, 0xa2][..]].concat()),
        (RecordCodec::ElektRle, vec![0; 32_002], vec![0xe0, 0xc1, 0x6c]),
        (RecordCodec::ElektRle, vec![b'-'; 20], vec![0x91, b'-']),
        (RecordCodec::ElektRle, vec![b'-'; 36], vec![0xc0, 0x01, b'-']),
        (RecordCodec::ElektRle, vec![b'-'; 70_000], vec![0xf1, 0x4d, 0x01, b'-']),
        (RecordCodec::FirebirdRle, delft(300), [b"\x05Delft", &[0x80, 0, 0x80, 0, 0xd4, 0][..]].concat()),
        (RecordCodec::Lzf, b"abcabcabcabc".to_vec(), b"\x02abc\xe0\x00\x02".to_vec()),
        (RecordCodec::Lzf, b"Delft".to_vec(), b"\x04Delft".to_vec()),
    ];
    for (codec, raw, stored) in examples {
        assert_eq!(compressed(codec, &raw), stored, "{codec}");
    }
}

// Keeps away decoders that take what no encoder writes.
#[test]
fn damage_is_refused() {
    let refused: [(RecordCodec, &[u8], usize); 12] = [
        (RecordCodec::ElektRle, &[0x41], 1),
        (RecordCodec::ElektRle, &[0x41], 3),
        (RecordCodec::ElektRle, &[0x02, 1, 2], 3),
        (RecordCodec::ElektRle, &[0x80], 3),
        (RecordCodec::ElektRle, &[0xb0], 65),
        (RecordCodec::ElektRle, &[0xe0, 0], 4161),
        (RecordCodec::FirebirdRle, &[0], 0),
        (RecordCodec::FirebirdRle, &[0xff], 1),
        (RecordCodec::FirebirdRle, &[2, 1], 2),
        (RecordCodec::Lzf, &[0x00, 1, 0x20, 0x01], 4),
        (RecordCodec::Lzf, &[0x00, 1, 0x20], 4),
        (RecordCodec::Lzf, &[0x00, 1, 0xe0, 0], 10),
    ];
    for (codec, bytes, raw_len) in refused {
        let mut out = Vec::new();
        assert!(codec.decompress_into(None, bytes, raw_len, &mut out).is_err(), "{codec} took {bytes:02x?}");
    }
    let mut out = Vec::new();
    let result = RecordCodec::Lz4.decompress_into(None, &[0; 4], 1 << 50, &mut out);
    assert_eq!(result, Err(Damaged("a compressed record too short for its length")));
    assert_eq!(out.capacity(), 0);
}

fn samples() -> Vec<Vec<u8>> {
    let line = |id: usize| {
        let (city, status) = (["Delft", "Gouda", "Leiden"][id % 3], ["open", "paid"][id % 2]);
        format!("{{\"order\":{id},\"customer\":\"{city} {}\",\"status\":\"{status}\"}}", id * 7919 % 10_007)
    };
    (0..2_000).map(|id| line(id).into_bytes()).collect()
}

// Keeps away a dictionary that saves nothing, that is lost when it is stored, or that leaks into records without one.
#[test]
fn dictionary() {
    let samples = samples();
    let refs: Vec<&[u8]> = samples.iter().map(Vec::as_slice).collect();
    let trained = Dictionary::train(&refs, 4096).expect("samples enough");
    assert!(trained.bytes().len() <= 4096);
    let codec = RecordCodec::Zstd { level: 3 };
    let stored = Dictionary::from_bytes(codec, trained.bytes()).expect("its own bytes");

    let mut with = Compressor::new(codec, Some(&trained));
    let mut without = Compressor::new(codec, None);
    let mut decompressor = Decompressor::new(codec, Some(&stored));
    let (mut len_with, mut len_without) = (0, 0);
    for raw in &samples {
        let (mut small, mut large, mut out) = (Vec::new(), Vec::new(), Vec::new());
        with.compress(raw, &mut small);
        without.compress(raw, &mut large);
        (len_with, len_without) = (len_with + small.len(), len_without + large.len());
        decompressor.decompress(&small, raw.len(), &mut out).expect("the same dictionary");
        assert_eq!(&out, raw);
        out.clear();
        codec.decompress_into(Some(&trained), &small, raw.len(), &mut out).expect("the same dictionary");
        codec.decompress_into(None, &large, raw.len(), &mut out).expect("no dictionary");
        assert_eq!(out, [&raw[..], raw].concat());
    }
    assert!(2 * len_with < len_without, "{len_with} with, {len_without} without");
}

// Keeps away a panic by a damaged dictionary, and any bytes that pass for one.
#[test]
fn damaged_dictionaries() {
    let samples = samples();
    let refs: Vec<&[u8]> = samples.iter().map(Vec::as_slice).collect();
    let codec = RecordCodec::Zstd { level: 3 };
    assert!(Dictionary::train(&refs[..3], 4096).is_none());
    assert!(Dictionary::train(&[], 4096).is_none());
    assert!(Dictionary::train(&refs, 0).is_none());
    assert!(Dictionary::from_bytes(codec, b"").is_err());
    assert!(Dictionary::from_bytes(codec, b"not a dictionary").is_err());
    let trained = Dictionary::train(&refs, 1024).expect("samples enough");
    assert!(Dictionary::from_bytes(RecordCodec::Lz4, trained.bytes()).is_err());
    for at in 0..trained.bytes().len() {
        assert!(at > 200 || Dictionary::from_bytes(codec, &trained.bytes()[..at.min(40)]).is_err());
        let mut bytes = trained.bytes().to_vec();
        bytes[at] ^= 0x55;
        if let Ok(dictionary) = Dictionary::from_bytes(codec, &bytes) {
            let (mut stored, mut out) = (Vec::new(), Vec::new());
            Compressor::new(codec, Some(&dictionary)).compress(&samples[0], &mut stored);
            codec.decompress_into(Some(&dictionary), &stored, samples[0].len(), &mut out).expect("the same");
            assert_eq!(out, samples[0]);
        }
    }
}

// Keeps away a record that is read although something follows it: it is not what was written.
#[test]
fn bytes_behind_a_record_are_refused() {
    for codec in codecs() {
        for raw in [&b"Delft Delft Delft Delft"[..], &[0; 300], b"x"] {
            let mut stored = compressed(codec, raw);
            stored.push(0);
            let mut out = Vec::new();
            assert!(codec.decompress_into(None, &stored, raw.len(), &mut out).is_err(), "{codec}");
            assert!(out.is_empty());
        }
    }
}

// Keeps away runs that are long enough to be worth a block and do not get one.
#[test]
fn the_shortest_runs_are_used() {
    let elekt = |raw: &[u8]| compressed(RecordCodec::ElektRle, raw);
    assert_eq!(elekt(&[0, 0]), [0x41]);
    assert_eq!(elekt(&[5, 5, 5]), [0x80, 5]);
    assert_eq!(elekt(&[5, 5]), [0x01, 5, 5]);
    assert_eq!(elekt(&[1, 0, 0, 0]), [0x00, 1, 0x42]);
    assert_eq!(elekt(&[1, 5, 5, 5, 5]), [0x00, 1, 0x81, 5]);
    assert_eq!(compressed(RecordCodec::FirebirdRle, &[5, 5, 5]), [0xfd, 5]);
}

// Keeps away an LZF copy from further than its 13 bits reach.
#[test]
fn lzf_reaches_as_far_as_its_distances() {
    let stored = |distance: usize| {
        let mut raw = b"needle in a haystack".to_vec();
        raw.resize(distance, 0);
        raw.extend_from_slice(b"needle in a haystack");
        let stored = compressed(RecordCodec::Lzf, &raw);
        let mut out = Vec::new();
        RecordCodec::Lzf.decompress_into(None, &stored, raw.len(), &mut out).unwrap();
        assert!(out == raw, "{distance}");
        stored.len()
    };
    assert!((8_180..8_200).all(|distance| stored(distance) > 0));
    assert!(stored(8_192) + 10 < stored(8_193));
}
