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
