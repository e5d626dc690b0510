//! Hostile bytes for `ambo_codec::record`.

use std::sync::OnceLock;

use ambo_codec::record::{Compressor, Decompressor, Dictionary, RecordCodec};

/// Takes a codec from the front of `bytes`.
fn codec(bytes: &mut &[u8]) -> Option<RecordCodec> {
    let (&first, rest) = bytes.split_first()?;
    *bytes = rest;
    Some(RecordCodec::ALL[usize::from(first) % RecordCodec::ALL.len()])
}

/// Bytes that decompress give the length that was asked for; others leave the output as it was. Both ways to
/// decompress agree, and neither takes more memory than that length.
pub fn record_decompress(mut bytes: &[u8]) {
    let Some(codec) = codec(&mut bytes) else { return };
    let Some((len, bytes)) = bytes.split_first_chunk() else { return };
    // Mostly short lengths, some that no record has.
    let raw_len = match u16::from_le_bytes(*len) {
        len @ ..0xff00 => usize::from(len >> (len & 7)),
        len => usize::MAX >> (len & 0x3f),
    };
    let (mut owned, mut shared) = (Vec::new(), Vec::new());
    let result = Decompressor::new(codec, None).decompress(bytes, raw_len, &mut owned);
    assert_eq!(result, codec.decompress_into(None, bytes, raw_len, &mut shared));
    assert_eq!(owned, shared);
    assert_eq!(owned.len(), if result.is_ok() { raw_len } else { 0 });
    assert!(owned.capacity() <= raw_len.saturating_add(64));
}

/// Any bytes come back from every codec.
pub fn record_round_trip(mut bytes: &[u8]) {
    let Some(codec) = codec(&mut bytes) else { return };
    let (mut stored, mut out) = (Vec::new(), Vec::new());
    let mut compressor = Compressor::new(codec, None);
    for raw in [bytes, &bytes[bytes.len() / 2..]] {
        stored.clear();
        out.clear();
        compressor.compress(raw, &mut stored);
        codec.decompress_into(None, &stored, raw.len(), &mut out).expect("just compressed");
        assert_eq!(out, raw);
        let is_bounded = stored.len() <= raw.len() + raw.len() / 1000 + 3;
        assert!(codec != RecordCodec::ElektRle || is_bounded, "{} of {}", stored.len(), raw.len());
    }
}

/// A dictionary as it is trained.
fn trained() -> &'static [u8] {
    static TRAINED: OnceLock<Vec<u8>> = OnceLock::new();
    TRAINED.get_or_init(|| {
        let sample =
            |number: u64| format!("order {number} of customer {}", number * 7919 % 1000).into_bytes();
        let samples: Vec<Vec<u8>> = (0..2000).map(sample).collect();
        let samples: Vec<&[u8]> = samples.iter().map(Vec::as_slice).collect();
        Dictionary::train(&samples, 2048).expect("enough samples").bytes().to_vec()
    })
}

/// Bytes that pass for a dictionary compress and decompress: any, behind what a dictionary begins with, and one that was trained of which
/// then some bytes were changed or cut off.
pub fn record_dictionary(bytes: &[u8]) {
    let codec = RecordCodec::Zstd { level: 3 };
    let mut damaged = trained().to_vec();
    let (patch, rest) =
        bytes.split_at(bytes.len().min(bytes.first().map_or(0, |first| usize::from(first % 6) * 3)));
    for patch in patch.chunks_exact(3) {
        // As often in the tables at the front as in the text behind them.
        let reach = if patch[0] & 1 == 0 { 160 } else { damaged.len() };
        damaged[usize::from(u16::from_le_bytes([patch[0], patch[1]])) % reach] = patch[2];
    }
    if let Some(cut) = bytes.first().and_then(|first| first.checked_sub(128)) {
        damaged.truncate(usize::from(cut) * 20);
    }
    // Its number and the front of its tables.
    let made_up = [&[0x37, 0xa4, 0x30, 0xec, 1, 0, 0, 0][..], bytes].concat();
    for dictionary in [bytes, &made_up, &damaged] {
        let Ok(dictionary) = Dictionary::from_bytes(codec, dictionary) else { continue };
        for raw in [rest, b"order 77 of customer 963"] {
            let (mut stored, mut out) = (Vec::new(), Vec::new());
            Compressor::new(codec, Some(&dictionary)).compress(raw, &mut stored);
            codec.decompress_into(Some(&dictionary), &stored, raw.len(), &mut out).expect("just compressed");
            assert_eq!(out, raw);
        }
        // What was compressed by nobody may fail, but no more.
        let _ = codec.decompress_into(Some(&dictionary), rest, 100, &mut Vec::new());
    }
}
