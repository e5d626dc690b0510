use std::{
    io::{Read, Seek, SeekFrom, Write},
    sync::Arc,
};

use ambo_codec::record::RecordCodec;
use proptest::prelude::*;

use super::*;
use crate::{
    io::{Disk, OpenMode, sim::SimDisk},
    page::PageStoreOptions,
};

const PAGE: usize = 4096;
const PAYLOAD: usize = PAGE - HEADER_BYTES;

fn store(disk: &SimDisk) -> Arc<PageStore> {
    let file = disk.open(NAME, OpenMode::Create).unwrap();
    PageStore::create(
        file,
        &PageStoreOptions { page_size: PAGE, memory: crate::budget::MemoryBudget::new(1 << 20) },
    )
    .unwrap()
}

fn both() -> [Arc<PageStore>; 2] {
    [PageStore::memory(PAGE), store(&SimDisk::new(1))]
}

fn value(len: usize, seed: u64) -> Vec<u8> {
    (0..len as u64).map(|at| ((at + seed).wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 56) as u8).collect()
}

fn write(store: &Arc<PageStore>, value: &[u8], chunk: usize) -> BlobRef {
    let mut writer = BlobWriter::new(store, None);
    for part in value.chunks(chunk) {
        writer.write_all(part).unwrap();
    }
    writer.finish().unwrap()
}

// Keeps away: a change of the format that nobody noticed.
#[test]
fn the_worked_example_holds() {
    let extents = vec![PageRange::new(PageNo(7), 2), PageRange::new(PageNo(300), 1)];
    let blob = BlobRef { bytes: 40_000, stored: 40_000, codec: None, extents };
    let bytes = [0xc0, 0xb8, 0x02, 0x02, 0x07, 0x02, 0xac, 0x02, 0x01];
    assert_eq!(blob.encode(), bytes);
    assert_eq!(BlobRef::decode(&bytes), Some(blob));
}

// Keeps away: values that come back otherwise, at the lengths where pages, buffers and extents begin and end.
#[test]
fn values_of_many_lengths_come_back() {
    for store in both() {
        let edges = [PAYLOAD, 2 * PAYLOAD, 64 * PAYLOAD, 256 * PAYLOAD, 300 * PAYLOAD];
        let lens =
            edges.into_iter().flat_map(|edge| edge - 1..=edge + 1).chain([0, 1, PAGE, 3_000_000, 10_000_001]);
        for len in lens {
            let value = value(len, len as u64);
            let used = store.stats().used_pages;
            let blob = write(&store, &value, 100_003);
            assert_eq!(blob.bytes(), len as u64);
            assert_eq!(store.stats().used_pages - used, len.div_ceil(PAYLOAD) as u64, "no page too many");
            let blob = BlobRef::decode(&blob.encode()).unwrap();
            let mut reader = BlobReader::new(&store, blob.clone()).unwrap();
            assert!(reader.read_all().unwrap() == value, "length {len}");
            let mut streamed = Vec::new();
            reader.read_to_end(&mut streamed).unwrap();
            assert!(streamed == value, "length {len}, streamed");
            store.free(blob.pages().iter().copied());
            assert_eq!(store.stats().used_pages, used);
        }
    }
}

// Keeps away: values longer than the largest extent, and space that such a value leaves allocated.
#[test]
fn a_long_value_takes_several_extents() {
    let store = PageStore::memory(PAGE);
    let piece = value(1 << 20, 5);
    let mut writer = BlobWriter::new(&store, None);
    for number in 0..150u8 {
        writer.write_all(&[number]).unwrap();
        writer.write_all(&piece).unwrap();
    }
    let blob = writer.finish().unwrap();
    let mut reader = BlobReader::new(&store, blob).unwrap();
    let mut got = vec![0; 1 + piece.len()];
    for number in (0..150u8).step_by(7).chain([149]) {
        let offset = u64::from(number) * got.len() as u64;
        assert_eq!(reader.read_at(offset, &mut got).unwrap(), got.len());
        assert!(got[0] == number && got[1..] == piece, "piece {number}");
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(48))]

    // Keeps away: reads at odd places that are off by a page, a header or a buffer, in a fragmented file.
    #[test]
    fn reads_at_any_place_are_right(len in 0usize..900_000, reads in proptest::collection::vec((any::<u32>(), 0usize..400_000), 1..20), chunk in 1usize..300_000) {
        for store in both() {
            let holes: Vec<_> = (0..64).map(|_| store.allocate(1).unwrap()).collect();
            store.free(holes.iter().step_by(3).map(|number| PageRange::new(*number, 1)));
            let value = value(len, 3);
            let blob = write(&store, &value, chunk);
            let mut reader = BlobReader::new(&store, blob).unwrap();
            for &(offset, want) in &reads {
                let offset = offset as usize % (len + 10);
                let mut out = vec![0; want];
                reader.seek(SeekFrom::Start(offset as u64)).unwrap();
                let got = reader.read(&mut out).unwrap();
                let expected = &value[offset.min(len)..(offset + want).min(len)];
                prop_assert_eq!(got, expected.len());
                prop_assert!(&out[..got] == expected);
            }
        }
    }

    // Keeps away: a hostile reference that panics, allocates without bound, or leads outside.
    #[test]
    fn hostile_references_are_refused(bytes in proptest::collection::vec(any::<u8>(), 0..40)) {
        if let Some(blob) = BlobRef::decode(&bytes) {
            for store in both() {
                if let Ok(mut reader) = BlobReader::new(&store, blob.clone()) {
                    let mut out = [0; 100];
                    prop_assert!(blob.bytes() == 0 || reader.read_at(0, &mut out).is_err());
                }
            }
        }
    }

    // Keeps away: references that come back as others.
    #[test]
    fn references_come_back(extents in proptest::collection::vec((1u64..PAGES_MAX / 2, 1u64..PAGES_MAX / 2), 1..30), bytes in 1..VALUE_BYTES_MAX) {
        let extents = extents.into_iter().map(|(start, pages)| PageRange::new(PageNo(start), pages)).collect();
        let blob = BlobRef { bytes, stored: bytes, codec: None, extents };
        let mut encoded = blob.encode();
        prop_assert_eq!(BlobRef::decode(&encoded), Some(blob));
        encoded.push(0);
        prop_assert_eq!(BlobRef::decode(&encoded), None);
    }
}

// Keeps away: damage inside a long value that is handed out as the value.
#[test]
fn damage_in_a_blob_is_reported() {
    let disk = SimDisk::new(1);
    let store = store(&disk);
    let blob = write(&store, &value(50 * PAYLOAD, 1), 1 << 20);
    store.sync().unwrap();
    let number = blob.pages()[0].start.0 + 30;
    disk.corrupt(NAME, number * PAGE as u64 + 77, &[1, 2, 3]).unwrap();
    let mut reader = BlobReader::new(&store, blob).unwrap();
    let error = reader.read_all().unwrap_err();
    assert!(matches!(&error, Error::Damaged { offset, .. } if *offset == number * PAGE as u64), "{error}");
    let mut one = [0];
    assert_eq!(reader.read_at(0, &mut one).unwrap(), 1, "the undamaged part can be read");
    assert!(reader.read_to_end(&mut Vec::new()).is_err());
}

// Keeps away: a tree's page that is handed out as a part of a value.
#[test]
fn only_blob_pages_are_read() {
    let store = store(&SimDisk::new(1));
    let mut page = vec![0; PAGE];
    header::set_header(&mut page, PageKind::Leaf, 0);
    let mut writer = store.writer();
    let ptr = writer.write(&page).unwrap();
    writer.finish().unwrap();
    let mut reader =
        BlobReader::new(&store, BlobRef { bytes: 10, stored: 10, codec: None, extents: vec![ptr.into()] })
            .unwrap();
    assert!(reader.read_all().unwrap_err().to_string().contains("should be of a blob"));
}

// Keeps away: space lost when a value is abandoned half way.
#[test]
fn a_dropped_writer_frees_its_pages() {
    for store in both() {
        let used = store.stats().used_pages;
        let mut writer = BlobWriter::new(&store, None);
        Write::write_all(&mut writer, &value(5_000_000, 1)).unwrap();
        drop(writer);
        assert_eq!(store.stats().used_pages, used);
    }
}

/// A reference to `stored` in pages, as what a value of `bytes` bytes became with LZ4.
fn as_compressed(store: &Arc<PageStore>, stored: &[u8], bytes: u64) -> BlobRef {
    BlobRef { bytes, codec: Some(RecordCodec::Lz4.number()), ..write(store, stored, 1 << 20) }
}

// Keeps away: chunks and an index that do not belong together, a read that never ends over them, and a short one.
#[test]
fn chunks_are_as_long_as_they_should_be() {
    let store = PageStore::memory(PAGE);
    let raw = |len: u32| (len | CHUNK_RAW).to_le_bytes();
    let sound = [&[7; 10][..], &raw(10)].concat();
    let mut reader = BlobReader::new(&store, as_compressed(&store, &sound, 10)).unwrap();
    assert_eq!(reader.read_all().unwrap(), [7; 10]);
    let gap = [&[7; 13][..], &raw(10)].concat();
    let (too_short, too_long) = ([&[7; 9][..], &raw(9)].concat(), [&[7; 11][..], &raw(11)].concat());
    let beyond = [&[7; 10][..], &raw(11)].concat();
    for stored in [&gap[..], &too_short, &too_long, &beyond, &sound[..3]] {
        let read = BlobReader::new(&store, as_compressed(&store, stored, 10))
            .and_then(|mut reader| reader.read_all());
        assert!(read.is_err(), "{stored:02x?}");
    }
    let huge = vec![7; CHUNK_BYTES + 1];
    let stored = [&huge[..], &raw(huge.len() as u32)].concat();
    assert!(BlobReader::new(&store, as_compressed(&store, &stored, 10)).is_err());
}

// Keeps away: a chunk that could not be read and is taken for another one, or for the one before.
#[test]
fn a_damaged_chunk_leaves_the_others() {
    let store = PageStore::memory(PAGE);
    let value = value(3 * CHUNK_BYTES, 4).iter().map(|byte| byte & 0xf0).collect::<Vec<_>>();
    let mut writer = BlobWriter::new(&store, Some(RecordCodec::Zlib { level: 1 }));
    writer.write_all(&value).unwrap();
    let blob = writer.finish().unwrap();
    let plain = BlobRef { bytes: blob.stored, codec: None, ..blob.clone() };
    let mut stored = BlobReader::new(&store, plain).unwrap().read_all().unwrap();
    let first = u32::from_le_bytes(*stored.last_chunk::<12>().unwrap().first_chunk().unwrap()) as usize;
    stored[first..first + 2].fill(0xff);
    let damaged = BlobRef { bytes: blob.bytes, codec: blob.codec, ..write(&store, &stored, 1 << 20) };
    let mut reader = BlobReader::new(&store, damaged).unwrap();
    let mut part = [0; 100];
    for _ in 0..2 {
        for (chunk, sound) in [(0, true), (1, false), (1, false), (0, true), (2, true), (1, false), (2, true)]
        {
            let at = chunk * CHUNK_BYTES + 50;
            assert_eq!(reader.read_at(at as u64, &mut part).is_ok(), sound, "chunk {chunk}");
            assert!(!sound || part == value[at..at + 100]);
        }
    }
}
