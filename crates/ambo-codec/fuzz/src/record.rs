//! Hostile bytes for `ambo_codec::record`.

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

/// Bytes that pass for a dictionary compress and decompress.
pub fn record_dictionary(bytes: &[u8]) {
    let codec = RecordCodec::Zstd { level: 3 };
    // What a dictionary that was trained begins with, and its number.
    let trained = [&[0x37, 0xa4, 0x30, 0xec, 1, 0, 0, 0][..], bytes].concat();
    for bytes in [bytes, &trained] {
        let Ok(dictionary) = Dictionary::from_bytes(codec, bytes) else { continue };
        let (mut stored, mut out) = (Vec::new(), Vec::new());
        Compressor::new(codec, Some(&dictionary)).compress(bytes, &mut stored);
        codec.decompress_into(Some(&dictionary), &stored, bytes.len(), &mut out).expect("just compressed");
        assert_eq!(out, bytes);
    }
}
