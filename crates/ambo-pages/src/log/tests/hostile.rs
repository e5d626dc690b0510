//! Bytes that somebody changed.

use proptest::prelude::*;

use super::*;

/// Three segments with the transactions 1 to 12, all synced; the files' contents.
fn log_of_twelve(compress: bool) -> (SimDisk, Vec<Transaction>) {
    let disk = SimDisk::new(0);
    let options = LogOptions { segment_bytes: 2048, compress };
    let mut log = LogWriter::new(dyn_disk(&disk), options, DATABASE, LogPosition::default());
    let transactions: Vec<_> = (1..=12).map(|ts| put(ts, 300 + 50 * (ts as usize % 4))).collect();
    for transaction in &transactions {
        log.write_group(&mut group(std::slice::from_ref(transaction))).unwrap();
        log.sync().unwrap();
    }
    (disk, transactions)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(300))]

    #[test]
    fn any_change_is_damage_or_a_cut(
        compress: bool,
        changes in prop::collection::vec((0usize..3, 0u64..2048, prop::collection::vec(any::<u8>(), 1..20)), 1..4),
        read_only: bool,
    ) {
        // Keeps away a panic, a large allocation, or other rows than were written, whatever the bytes are.
        let (disk, transactions) = log_of_twelve(compress);
        let names = files(&disk);
        for (file, offset, bytes) in changes {
            disk.corrupt(&names[file % names.len()], offset, &bytes).unwrap();
        }
        let access = if read_only { Access::ReadOnly } else { Access::Write };
        match read(&disk, Start::default(), access) {
            Ok((read_back, recovery)) => {
                prop_assert!(read_back.len() <= 12 && read_back == transactions[..read_back.len()]);
                prop_assert!(read_back.len() == 12 || recovery.cut.is_some());
            }
            Err(Error::Damaged { .. } | Error::Invalid(_)) => {}
            Err(e) => prop_assert!(false, "{e}"),
        }
    }

    #[test]
    fn a_flip_in_what_was_durable_is_damage(
        compress: bool,
        at in 0usize..10_000,
        bit in 0u8..8,
    ) {
        // Keeps away a commit that vanishes in silence. What the last group does not claim is itself alone.
        let (disk, transactions) = log_of_twelve(compress);
        let names = files(&disk);
        let file = at % names.len();
        let mut bytes = disk.contents(&names[file]).unwrap();
        let at = at / names.len() % bytes.len();
        bytes[at] ^= 1 << bit;
        disk.corrupt(&names[file], 0, &bytes).unwrap();
        match read(&disk, Start::default(), Access::Write) {
            Err(Error::Damaged { file: named, .. }) => prop_assert_eq!(&named, &names[file]),
            Ok((read_back, recovery)) => {
                prop_assert!(read_back.len() >= 11, "{} of 12 read", read_back.len());
                prop_assert!(read_back == transactions[..read_back.len()]);
                prop_assert!(read_back.len() == 12 || recovery.cut.is_some());
            }
            Err(e) => prop_assert!(false, "{e}"),
        }
    }

    #[test]
    fn any_file_is_read_without_harm(bytes in prop::collection::vec(any::<u8>(), 0..4096), number in 1u64..4) {
        // Keeps away a panic over a file that is none of ours but has such a name.
        let (disk, _) = log_of_twelve(false);
        let name = format::segment_name(number);
        let file = disk.open(&name, crate::io::OpenMode::ReadWrite).unwrap();
        file.set_len(0).unwrap();
        file.write_at(&bytes, 0).unwrap();
        let _ = read(&disk, Start::default(), Access::Write);
    }

    #[test]
    fn hostile_payloads_under_a_right_checksum_are_refused(
        payload in prop::collection::vec(any::<u8>(), 0..200),
        raw: u32,
        flags in 0u32..3,
        transactions in 0u32..4,
        durable: u64,
        ts in (1u64..5, 1u64..5),
    ) {
        // Keeps away trust in a length because the checksum is right: whoever writes files can compute it.
        let (disk, _) = log_of_twelve(false);
        let mut bytes = vec![0; format::GROUP_HEADER_BYTES];
        bytes.extend_from_slice(&payload);
        let header = format::GroupHeader {
            stored: payload.len() as u32,
            raw,
            flags,
            transactions,
            lsn: Lsn(0),
            durable: Lsn(durable),
            first_ts: Timestamp(ts.0),
            last_ts: Timestamp(ts.1),
        };
        header.seal(&mut bytes, format::salt(1, DATABASE));
        disk.corrupt(&files(&disk)[0], 64, &bytes).unwrap();
        let _ = read(&disk, Start::default(), Access::Write);
    }

    #[test]
    fn hostile_lz4_under_a_right_checksum_is_refused_or_harmless(
        changes in prop::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 0..4),
        cut: prop::sample::Index,
        raw in prop_oneof![Just(322), 0u32..1000, any::<u32>()],
    ) {
        // Keeps away a decompression that reads or writes beyond its buffers, that believes any length, or that changes what was written.
        let raw_bytes = group(&[put(1, 290)]).raw().to_vec();
        let mut payload = lz4_flex::block::compress(&raw_bytes);
        for (at, byte) in &changes {
            let at = at.index(payload.len());
            payload[at] = *byte;
        }
        if !changes.is_empty() {
            payload.truncate(cut.index(payload.len() + 1));
        }
        let raw = if changes.is_empty() { raw_bytes.len() as u32 } else { raw };
        let (disk, _) = log_of_twelve(false);
        let mut bytes = vec![0; format::GROUP_HEADER_BYTES];
        bytes.extend_from_slice(&payload);
        let header = format::GroupHeader {
            stored: payload.len() as u32,
            raw,
            flags: format::FLAG_LZ4,
            transactions: 1,
            lsn: Lsn(0),
            durable: Lsn(0),
            first_ts: Timestamp(1),
            last_ts: Timestamp(1),
        };
        header.seal(&mut bytes, format::salt(1, DATABASE));
        disk.corrupt(&files(&disk)[0], 64, &bytes).unwrap();
        let found = read(&disk, Start::default(), Access::ReadOnly);
        if changes.is_empty() {
            match found {
                Ok((found, _)) => prop_assert_eq!(&found[0], &put(1, 290)),
                // What was written behind it is somewhere else now.
                Err(Error::Damaged { offset, .. }) => prop_assert!(offset > 64),
                Err(error) => prop_assert!(false, "{error}"),
            }
        } else {
            let refused = matches!(found, Ok(_) | Err(Error::Damaged { .. }));
            prop_assert!(refused, "{:?}", found.err());
        }
    }
}

/// Keeps away: a file with the last name that a segment can have, after which counting on would stop the program, or begin at zero.
#[test]
fn a_segment_with_the_last_number_is_damage() {
    let (disk, _) = log_of_twelve(false);
    let name = format::segment_name(u64::MAX);
    drop(disk.open(&name, crate::io::OpenMode::Create).unwrap());
    for access in [Access::ReadOnly, Access::Write] {
        match read(&disk, Start::default(), access) {
            Err(Error::Damaged { file, .. }) => assert_eq!(file, name),
            other => panic!("{:?}", other.map(|(transactions, _)| transactions.len())),
        }
    }
}
