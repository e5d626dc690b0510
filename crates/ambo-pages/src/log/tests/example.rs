//! The format by example.

use super::*;

#[test]
fn a_segment_with_a_group_is_these_bytes() {
    // Keeps away a change of the format that old files do not survive.
    let disk = SimDisk::new(0);
    let mut log = writer(&disk, 4096, LogPosition::default());
    let transaction = (
        5,
        vec![
            (1, b"ab".to_vec(), RecordKind::Inline, b"xyz".to_vec()),
            (300, b"k".to_vec(), RecordKind::Tombstone, vec![]),
        ],
    );
    let end = log.write_group(&mut group(&[transaction])).unwrap();
    assert_eq!(end, Lsn(88));
    assert_eq!(files(&disk), ["log-0000000000000001"]);
    let bytes = disk.contents("log-0000000000000001").unwrap();
    assert_eq!(bytes.len(), 4096);
    #[rustfmt::skip]
    let expected: [u8; 88] = [
        b'G', b'R', b'P', b'1',                // magic
        5, 242, 246, 62,                      // checksum
        30, 0, 0, 0,                           // stored bytes
        30, 0, 0, 0,                           // raw bytes
        0, 0, 0, 0,                            // flags
        1, 0, 0, 0,                            // transactions
        0, 0, 0, 0, 0, 0, 0, 0,                // position
        0, 0, 0, 0, 0, 0, 0, 0,                // durable
        5, 0, 0, 0, 0, 0, 0, 0,                // first timestamp
        5, 0, 0, 0, 0, 0, 0, 0,                // last timestamp
        // The transaction:
        5, 0, 0, 0, 0, 0, 0, 0,                // timestamp
        2, 0, 0, 0,                            // operations
        14, 0, 0, 0,                           // bytes
        1, 1, 2, b'a', b'b', 3, b'x', b'y', b'z', // table 1, inline, key, value
        0xAC, 2, 3, 1, b'k',                   // table 300, tombstone, key
        0, 0,                                  // padding
    ];
    assert_eq!(bytes[64..64 + 88], expected);
    assert!(bytes[64 + 88..].iter().all(|b| *b == 0));
}

#[test]
fn a_compressed_group_is_an_lz4_block() {
    // Keeps away compressed groups that a later version, or another LZ4, does not read.
    let disk = SimDisk::new(0);
    let put = (5, vec![(1, b"k".to_vec(), RecordKind::Inline, vec![b'z'; 300])]);
    let compressing = LogOptions { segment_bytes: 4096, compress: true };
    let mut log = LogWriter::new(dyn_disk(&disk), compressing, DATABASE, LogPosition::default());
    log.write_group(&mut group(std::slice::from_ref(&put))).unwrap();
    #[rustfmt::skip]
    let stored: [u8; 35] = [
        0xFF, 8,                               // 15 + 8 literals; then a match of 4 + 15 and more
        5, 0, 0, 0, 0, 0, 0, 0,                // timestamp
        1, 0, 0, 0,                            // operations
        0x32, 1, 0, 0,                         // bytes
        1, 1, 1, b'k', 0xAC, 2, b'z',          // table 1, inline, key, 300 bytes of value, the first of them
        1, 0,                                  // from one byte back
        0xFF, 20,                              // 255 + 20 more: 294 bytes
        0x50, b'z', b'z', b'z', b'z', b'z',    // 5 literals
    ];
    let header = |stored| format::GroupHeader {
        stored,
        raw: 322,
        flags: format::FLAG_LZ4,
        transactions: 1,
        lsn: Lsn(0),
        durable: Lsn(0),
        first_ts: Timestamp(5),
        last_ts: Timestamp(5),
    };
    let written = disk.contents("log-0000000000000001").unwrap()[64..].to_vec();
    let found = format::GroupHeader::decode(written[..56].try_into().unwrap()).unwrap();
    assert_eq!(found, header(found.stored));
    assert!(found.stored as usize <= stored.len(), "{found:?}");
    assert_eq!(read_all(&disk).unwrap().0, std::slice::from_ref(&put));

    // The example in the place of what this encoder has made.
    let mut example = [&[0; format::GROUP_HEADER_BYTES][..], &stored].concat();
    header(35).seal(&mut example, format::salt(1, DATABASE));
    example.resize(96, 0);
    disk.corrupt("log-0000000000000001", 64, &example).unwrap();
    assert_eq!(read_all(&disk).unwrap().0, [put]);
}

#[test]
fn a_timed_group_ends_with_its_time() {
    // Keeps away times that another version does not find, and those that go back with the system's clock.
    let disk = SimDisk::new(0);
    let mut log = writer(&disk, 4096, LogPosition { last_time: Some(LATER), ..LogPosition::default() });
    log.note_times(disk.clock());
    let mut first = group(&[put(5, 3)]);
    log.write_group(&mut first).unwrap();
    assert_eq!(first.raw_len(), 28, "the group stays as it is");
    let bytes = disk.contents("log-0000000000000001").unwrap();
    let number = |at: usize| u32::from_le_bytes(bytes[at..at + 4].try_into().unwrap());
    assert_eq!(
        (number(64 + 8), number(64 + 12), number(64 + 16)),
        (36, 36, 4),
        "stored and raw bytes, flags"
    );
    assert_eq!(bytes[64 + 56 + 28..][..8], 1_700_000_100_000_000_u64.to_le_bytes());
    disk.clock().advance(std::time::Duration::from_secs(200));
    log.write_group(&mut group(&[put(6, 3)])).unwrap();
    let mut times = Vec::new();
    let recovered = recover(&dyn_disk(&disk), DATABASE, Start::default(), Access::Write, |_, operations| {
        times.push(operations.time().unwrap().as_secs());
        Ok(())
    });
    assert_eq!(times, [1_700_000_100, 1_700_000_200]);
    let last = recovered.unwrap().position.last_time;
    assert_eq!(last, Some(std::time::Duration::from_secs(1_700_000_200)));
}

/// What the clock of the test's world is behind of.
const LATER: std::time::Duration = std::time::Duration::from_secs(1_700_000_100);
