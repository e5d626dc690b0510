//! Values that are stored out of line.

use std::{io::Read, sync::Arc};

use ambo_codec::{record::RecordCodec, varint};
use ambo_engine::page::{BlobReader, BlobRef, BlobWriter, PageStore};

use super::input::Input;

const PAGE: usize = 4096;
/// Bytes of a value that are compressed together.
const CHUNK: usize = 128 << 10;

fn with_store(with: impl FnOnce(&Arc<PageStore>)) {
    thread_local!(static STORE: Arc<PageStore> = PageStore::memory(PAGE));
    STORE.with(with);
}

/// A reference of any bytes, into a store with one blob and none.
pub fn reference(bytes: &[u8]) {
    let Some(blob) = BlobRef::decode(bytes) else { return };
    assert_eq!(BlobRef::decode(&blob.encode()), Some(blob.clone()));
    with_store(|store| {
        let mut writer = BlobWriter::new(store, None);
        writer.write_all(&[7; 3 * PAGE]).expect("memory has room");
        let other = writer.finish().expect("memory has room");
        if let Ok(mut reader) = BlobReader::new(store, blob.clone()) {
            let mut out = [0; 5000];
            for offset in [0, blob.bytes() / 2, blob.bytes().saturating_sub(1)] {
                if let Ok(read) = reader.read_at(offset, &mut out) {
                    assert!(read as u64 <= blob.bytes() - offset);
                }
            }
        }
        store.free(other.pages().iter().copied());
    });
}

/// A compressed blob whose chunks and index were damaged, or made up: what can be read as a whole reads the same in parts, and has
/// the length that the reference says.
pub fn chunks(bytes: &[u8]) {
    let mut input = Input(bytes);
    let codec = input.pick(&RecordCodec::ALL);
    let how = input.byte();
    let chunks = usize::from(how & 3);
    let mut len = chunks * CHUNK + input.number(2) as usize;
    with_store(|store| {
        // What a sound blob stores.
        let pattern = input.string();
        let value: Vec<u8> = match pattern {
            [] => vec![0; len],
            _ => pattern.iter().copied().cycle().take(len).collect(),
        };
        let mut writer = BlobWriter::new(store, Some(codec));
        writer.write_all(&value).expect("memory has room");
        let sound = writer.finish().expect("memory has room");
        let mut stored = if sound.codec().is_some() && how & 4 == 0 {
            stored_bytes(store, &sound)
        } else {
            input.take(4096).to_vec()
        };
        store.free(sound.pages().iter().copied());
        let before = stored.clone();
        input.damage(&mut stored);
        if how & 8 != 0 {
            len = input.number(3) as usize;
        }
        let same = stored == before && how & 12 == 0;
        let mut writer = BlobWriter::new(store, None);
        writer.write_all(&stored).expect("memory has room");
        let plain = writer.finish().expect("memory has room");
        if let Some(blob) = with_codec(&plain, len as u64, codec.number()) {
            read(store, &blob, same.then_some(&value[..]));
        }
        store.free(plain.pages().iter().copied());
    });
}

/// What a compressed blob has in its pages.
fn stored_bytes(store: &Arc<PageStore>, blob: &BlobRef) -> Vec<u8> {
    let encoded = blob.encode();
    let mut rest = &encoded[..];
    let _ = varint::take(&mut rest);
    let extents = rest;
    let _ = varint::take(&mut rest);
    for _ in 0..2 * blob.pages().len() {
        varint::take(&mut rest).expect("its own encoding");
    }
    let extents = &extents[..extents.len() - rest.len()];
    let stored = varint::take(&mut &rest[1..]).expect("behind the codec");
    let mut plain = Vec::new();
    varint::encode(stored, &mut plain);
    plain.extend_from_slice(extents);
    let plain = BlobRef::decode(&plain).expect("a reference without a codec");
    BlobReader::new(store, plain).and_then(|mut reader| reader.read_all()).expect("its own pages")
}

/// A reference to the same pages, as those of a compressed value of `len` bytes.
fn with_codec(plain: &BlobRef, len: u64, codec: u8) -> Option<BlobRef> {
    let encoded = plain.encode();
    let mut rest = &encoded[..];
    let stored = varint::take(&mut rest)?;
    let mut bytes = Vec::new();
    varint::encode(len, &mut bytes);
    bytes.extend_from_slice(rest);
    bytes.push(codec);
    varint::encode(stored, &mut bytes);
    BlobRef::decode(&bytes)
}

fn read(store: &Arc<PageStore>, blob: &BlobRef, expected: Option<&[u8]>) {
    let mut reader = match BlobReader::new(store, blob.clone()) {
        Ok(reader) => reader,
        Err(error) => {
            assert!(expected.is_none(), "{error}");
            return;
        }
    };
    let len = usize::try_from(blob.bytes()).expect("64 bits");
    let mut parts = vec![0; len];
    let mut readable = true;
    // From behind, and once more where reading failed.
    for at in (0..len).step_by(50_000).collect::<Vec<_>>().into_iter().rev() {
        let end = (at + 50_000).min(len);
        for _ in 0..2 {
            match reader.read_at(at as u64, &mut parts[at..end]) {
                Ok(read) => assert_eq!(read, end - at),
                Err(_) => readable = false,
            }
        }
    }
    let whole = reader.read_all();
    assert_eq!(whole.is_ok(), readable, "what cannot be read cannot be read twice");
    if let Ok(whole) = whole {
        assert!(whole == parts);
        assert!(expected.is_none_or(|expected| expected == whole));
        let mut streamed = Vec::new();
        reader.read_to_end(&mut streamed).expect("it was read before");
        assert!(streamed == whole);
    } else {
        assert!(expected.is_none());
    }
}
