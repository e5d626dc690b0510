use ambo_types::id::PageNo;
use proptest::prelude::*;

use super::*;
use crate::io::{Disk, OpenMode, sim::SimDisk};
use std::sync::Arc;

fn superblock(sequence: u64) -> Superblock {
    Superblock {
        page_size: 16384,
        database_id: 0x0123_4567_89ab_cdef_0011_2233_4455_6677,
        sequence,
        timestamp: Timestamp(sequence * 100),
        log_from: Lsn(sequence * 1000),
        file_pages: 64,
        free_list: FreeListRoot { first: PageNo(9), list_pages: 1, free_pages: 20 },
        catalog: vec![sequence as u8; CATALOG_BYTES_MAX],
        other: vec![7; 33],
    }
}

fn file(disk: &SimDisk) -> Arc<dyn File> {
    let file = disk.open(NAME, OpenMode::Create).unwrap();
    file.set_len(RESERVED_BYTES as u64).unwrap();
    disk.sync_directory().unwrap();
    file
}

/// A file with checkpoints 1..=`last`, all durable.
fn written(disk: &SimDisk, last: u64) -> Arc<dyn File> {
    let file = file(disk);
    for sequence in 1..=last {
        superblock(sequence).write(&*file).unwrap();
        file.sync().unwrap();
    }
    file
}

// Keeps away: a change of the format that nobody noticed.
#[test]
fn the_worked_example_holds() {
    let bytes = superblock(3).encode();
    assert_eq!(bytes[..16], *b"AMBOPAGE\x01\0\0\0\0\x40\0\0");
    assert_eq!(bytes[32..40], [3, 0, 0, 0, 0, 0, 0, 0]);
    assert_eq!(bytes[64..72], [9, 0, 0, 0, 0, 0, 0, 0]);
}

// Keeps away: any case of the table being decided otherwise.
#[test]
fn each_case_is_decided_as_the_table_says() {
    let disk = SimDisk::new(1);
    let file = written(&disk, 1);
    assert_eq!(Superblock::open(&*file).unwrap(), Opened { superblock: superblock(1), other: None });
    superblock(2).write(&*file).unwrap();
    assert_eq!(Superblock::open(&*file).unwrap(), Opened { superblock: superblock(2), other: None });

    file.write_at(&[0xff; 8], 2000).unwrap();
    let opened = Superblock::open(&*file).unwrap();
    assert_eq!(opened.superblock, superblock(1));
    assert!(opened.other.unwrap().contains("copy 0: checksum"));
    file.write_at(&[0xff; 8], 4096 + 2000).unwrap();
    let error = Superblock::open(&*file).unwrap_err();
    assert!(matches!(error, Error::Damaged { .. }));
    let text = error.to_string();
    assert!(text.contains("copy 0: checksum") && text.contains("copy 1: checksum"), "{text}");

    superblock(2).write(&*file).unwrap();
    superblock(5).write(&*file).unwrap();
    assert!(Superblock::open(&*file).unwrap_err().to_string().contains("do not belong together"));
    Superblock { database_id: 5, ..superblock(3) }.write(&*file).unwrap();
    assert!(Superblock::open(&*file).unwrap_err().to_string().contains("do not belong together"));
    superblock(4).write(&*file).unwrap();
    superblock(3).write(&*file).unwrap();
    assert_eq!(Superblock::open(&*file).unwrap().superblock, superblock(4));
}

fn with_version(version: u32) -> [u8; SUPERBLOCK_BYTES] {
    let mut bytes = superblock(2).encode();
    bytes[VERSION_AT..PAGE_SIZE_AT].copy_from_slice(&version.to_le_bytes());
    let crc = checksum(&bytes);
    bytes[CRC_AT..].copy_from_slice(&crc.to_le_bytes());
    bytes
}

// Keeps away: another program's file, or a newer one's, that is called damaged, or worse, opened.
#[test]
fn foreign_files_are_named_as_such() {
    let disk = SimDisk::new(1);
    let file = file(&disk);
    assert!(Superblock::open(&*file).unwrap_err().to_string().contains("never completed"));
    file.write_at(b"SQLite format 3\0", 0).unwrap();
    let error = Superblock::open(&*file).unwrap_err();
    assert!(
        matches!(error, Error::Invalid(_)) && error.to_string().contains("not an Ambo database"),
        "{error}"
    );
    file.set_len(100).unwrap();
    assert!(matches!(Superblock::open(&*file).unwrap_err(), Error::Invalid(_)));

    let file = written(&SimDisk::new(1), 1);
    file.write_at(&with_version(2), 0).unwrap();
    let error = Superblock::open(&*file).unwrap_err().to_string();
    assert!(error.contains("format version 2") && error.contains("newer"), "{error}");
    file.write_at(&with_version(0), 0).unwrap();
    assert_eq!(Superblock::open(&*file).unwrap().superblock, superblock(1));
}

proptest! {
    // Keeps away: a torn superblock that counts, and one that takes the other with it.
    #[test]
    fn torn_writes_leave_one_or_the_other(seed: u64, last in 1u64..5) {
        let disk = SimDisk::new(seed);
        let file = written(&disk, last);
        superblock(last + 1).write(&*file).unwrap();
        let disk = disk.crash();
        let file = disk.open(NAME, OpenMode::ReadWrite).unwrap();
        let opened = Superblock::open(&*file).unwrap();
        let sequence = opened.superblock.sequence;
        prop_assert!(sequence == last || sequence == last + 1);
        prop_assert_eq!(opened.superblock, superblock(sequence));
    }

    // Keeps away: a panic, or belief, when bytes are anything.
    #[test]
    fn hostile_bytes_are_no_superblock(at in 0usize..SUPERBLOCK_BYTES, bytes in proptest::collection::vec(any::<u8>(), 1..64), seal: bool) {
        let mut copy = superblock(2).encode();
        let end = (at + bytes.len()).min(CRC_AT);
        if at < end {
            copy[at..end].copy_from_slice(&bytes[..end - at]);
        }
        if seal {
            let crc = checksum(&copy);
            copy[CRC_AT..].copy_from_slice(&crc.to_le_bytes());
        }
        match decode(&copy, 0) {
            Copy::Valid(found) => prop_assert!(seal || found == superblock(2)),
            Copy::Newer(_) => prop_assert!(seal),
            _ => {}
        }
    }
}

// Keeps away: a copy that is taken for the other's, so that the next checkpoint is written over the only good one.
#[test]
fn a_copy_belongs_to_its_place() {
    let file = file(&SimDisk::new(1));
    file.write_at(&superblock(2).encode(), SUPERBLOCK_BYTES as u64).unwrap();
    let error = Superblock::open(&*file).unwrap_err().to_string();
    assert!(error.contains("sequence 2 in copy 1"), "{error}");
    superblock(2).write(&*file).unwrap();
    assert_eq!(Superblock::open(&*file).unwrap().superblock, superblock(2));
}
