//! The recovery cases R1 to R15 and the durability rules, one by one.

use super::*;
use crate::io::{
    OpenMode,
    sim::{Fault, FaultKind, Op as IoOp},
};

const FIRST: &str = "log-0000000000000001";
const SECOND: &str = "log-0000000000000002";
/// Bytes of the group of `put(_, 400)`, and so the offset of its second group.
const GROUP: u64 = 488;

fn damage(result: Result<(Vec<Transaction>, Recovery)>) -> (String, u64) {
    match result {
        Err(Error::Damaged { file, offset, .. }) => (file, offset),
        other => panic!("no damage but {other:?}"),
    }
}

fn flip(disk: &SimDisk, name: &str, offset: u64) {
    let byte = disk.contents(name).unwrap()[offset as usize];
    disk.corrupt(name, offset, &[byte ^ 1]).unwrap();
}

fn fault(disk: &SimDisk, op: IoOp, kind: FaultKind) {
    disk.inject(Fault { op, file_prefix: None, after: 0, kind, once: true });
}

#[test]
fn r1_r3_everything_is_read_up_to_the_zeros() {
    // Keeps away a clean log that is reported as torn, and the replay of what the checkpoint has.
    let (disk, log, transactions) = written(0, 30, 400);
    assert!(log.segments() > 3);
    let (read_back, recovery) = read_all(&disk).unwrap();
    assert_eq!(read_back, transactions);
    assert_eq!((recovery.groups, recovery.transactions, recovery.cut), (30, 30, None));
    assert_eq!(recovery.position.next_lsn, log.next_lsn());
    assert_eq!(recovery.position.last_ts, Timestamp(30));
    let start = Start { from: log.position_after(Timestamp(20)), after: Timestamp(20) };
    assert!(start.from > Lsn(0));
    let (read_back, _) = read(&disk, start, Access::ReadOnly).unwrap();
    assert_eq!(read_back, transactions[20..]);
}

#[test]
fn r2_writing_goes_on_in_a_new_segment() {
    // Keeps away a second opening that does not find what was written after the first.
    let (disk, log, mut transactions) = written(0, 3, 400);
    drop(log);
    for ts in 4..8 {
        let (read_back, recovery) = read_all(&disk).unwrap();
        assert_eq!(read_back, transactions);
        assert_eq!(recovery.cut, None);
        let mut log = writer(&disk, 4096, recovery.position);
        transactions.push(put(ts, 10));
        log.write_group(&mut group(&transactions[ts as usize - 1..])).unwrap();
    }
    assert_eq!(files(&disk).len(), 5);
}

#[test]
fn r2_a_segment_that_starts_here_hides_no_damage() {
    // Keeps away an empty segment that makes acknowledged groups look like what an earlier cut has left.
    let (disk, ..) = written(0, 5, 400);
    let start = format::SegmentHeader {
        number: 2,
        database: DATABASE,
        start: Lsn(GROUP),
        durable: Lsn(GROUP),
        last_ts: Timestamp(1),
    };
    disk.open(SECOND, OpenMode::Create).unwrap().write_at(&start.encode(), 0).unwrap();
    flip(&disk, FIRST, 64 + GROUP + 60);
    assert_eq!(damage(read_all(&disk)), (FIRST.to_owned(), 64 + GROUP));
}

#[test]
fn r4_a_torn_tail_is_cut_and_reported() {
    // Keeps away a crash in the middle of a write that makes the database refuse to open, or that goes unmentioned.
    let (disk, mut log, transactions) = written(0, 2, 400);
    for ts in 3..6 {
        log.write_group(&mut group(&[put(ts, 400)])).unwrap();
    }
    let at = 64 + 2 * GROUP;
    flip(&disk, FIRST, at + 100);
    for access in [Access::ReadOnly, Access::Write] {
        let (read_back, recovery) = read(&disk, Start::default(), access).unwrap();
        assert_eq!(read_back, transactions);
        let cut = recovery.cut.unwrap();
        assert_eq!((&*cut.file, cut.offset, cut.groups_dropped), (FIRST, at, 2));
        assert!((3 * GROUP - 8..=3 * GROUP).contains(&cut.bytes_dropped));
    }
    assert_eq!(disk.contents(FIRST).unwrap().len() as u64, at);
    let (read_back, recovery) = read_all(&disk).unwrap();
    assert_eq!((read_back, recovery.cut), (transactions, None));
}

#[test]
fn r4_a_cut_that_is_interrupted_can_be_made_again() {
    // Keeps away later segments that outlive the one that they follow, and then look like damage.
    for after in 0..12 {
        for crashed in [false, true] {
            let mut disk = SimDisk::new(after);
            let mut log = writer(&disk, 4096, LogPosition::default());
            for ts in 1..30 {
                log.write_group(&mut group(&[put(ts, 400)])).unwrap();
            }
            drop(log);
            flip(&disk, FIRST, 64 + 100);
            let op = if after < 6 { IoOp::Remove } else { IoOp::SyncDirectory };
            disk.inject(Fault { op, file_prefix: None, after: after % 6, kind: FaultKind::Io, once: true });
            let interrupted = read_all(&disk);
            assert!(interrupted.is_err() || after % 6 > 1);
            disk.clear_faults();
            if crashed {
                disk = disk.crash();
            }
            let (read_back, _) = read_all(&disk).unwrap();
            assert!(read_back.is_empty());
        }
    }
}

#[test]
fn r4_a_tail_over_segments_is_cut_whole() {
    // Keeps away later segments that a crash before the cut's end leaves behind.
    let (disk, mut log, _) = written(0, 2, 400);
    for ts in 3..30 {
        log.write_group(&mut group(&[put(ts, 400)])).unwrap();
    }
    flip(&disk, FIRST, 64 + 2 * GROUP + 100);
    let (read_back, recovery) = read_all(&disk).unwrap();
    assert_eq!((read_back.len(), files(&disk)), (2, vec![FIRST.to_owned()]));
    assert_eq!(recovery.cut.unwrap().groups_dropped, 26);
    assert!(recovery.position.next_segment > 3);
}

#[test]
fn r5_damage_before_what_was_durable_is_an_error() {
    // Keeps away acknowledged commits that vanish because a byte rotted.
    let (disk, log, _) = written(0, 30, 400);
    let names = files(&disk);
    for (i, name) in names.iter().enumerate() {
        let groups = if i + 1 < names.len() { 8 } else { 30 - 8 * i as u64 };
        for g in 0..groups.min(if i + 1 < names.len() { 8 } else { groups - 1 }) {
            let at = 64 + g * GROUP;
            flip(&disk, name, at + 60);
            for access in [Access::ReadOnly, Access::Write] {
                assert_eq!(damage(read(&disk, Start::default(), access)), (name.clone(), at));
            }
            flip(&disk, name, at + 60);
        }
    }
    drop(log);
    assert_eq!(read_all(&disk).unwrap().0.len(), 30);
}

#[test]
fn r6_a_missing_segment_is_an_error() {
    // Keeps away a log with a hole in the middle that is read as if it were whole.
    let (disk, ..) = written(0, 30, 400);
    disk.remove(SECOND).unwrap();
    let (file, offset) = damage(read_all(&disk));
    assert_eq!((&*file, offset), (FIRST, 64 + 8 * GROUP));
}

#[test]
fn r7_r8_the_first_segment_must_be_there() {
    // Keeps away a database that opens without the beginning of its log.
    let (disk, log, _) = written(0, 30, 400);
    let start = Start { from: log.position_after(Timestamp(10)), after: Timestamp(10) };
    disk.remove(FIRST).unwrap();
    assert_eq!(damage(read_all(&disk)).0, SECOND);
    assert_eq!(read(&disk, start, Access::ReadOnly).unwrap().0.len(), 20);
    let empty = SimDisk::new(0);
    let (read_back, recovery) = read(&empty, start, Access::Write).unwrap();
    assert!(read_back.is_empty());
    assert_eq!(recovery.position.next_lsn, start.from);
    assert_eq!(recovery.position.last_ts, Timestamp(10));
}

#[test]
fn r9_a_crash_while_a_segment_is_created_is_nothing() {
    // Keeps away a database that does not open because a segment has no header yet.
    for header in [&[][..], &[0; 64], b"AMBO-LOG\x01\x02\x03"] {
        let (disk, _, transactions) = written(0, 3, 400);
        disk.open(SECOND, OpenMode::Create).unwrap().write_at(header, 0).unwrap();
        let (read_back, recovery) = read_all(&disk).unwrap();
        assert_eq!((read_back, recovery.cut), (transactions, None));
        assert_eq!((files(&disk), recovery.position.next_segment), (vec![FIRST.to_owned()], 3));
    }
}

#[test]
fn r10_a_damaged_header_before_groups_is_an_error() {
    // Keeps away a whole segment that is taken for one that was never begun.
    let (disk, ..) = written(0, 10, 400);
    for name in [FIRST, SECOND] {
        flip(&disk, name, 20);
        assert_eq!(damage(read_all(&disk)), (name.to_owned(), 0));
        flip(&disk, name, 20);
    }
}

#[test]
fn r11_r12_foreign_segments_are_refused() {
    // Keeps away the log of another database, a renamed segment, and the log of a later version that is cut.
    let (disk, ..) = written(0, 10, 400);
    let other = recover(&dyn_disk(&disk), DATABASE + 1, Start::default(), Access::Write, |_, _| Ok(()));
    assert!(matches!(other, Err(Error::Damaged { offset: 0, .. })), "{other:?}");
    let mut header = disk.contents(FIRST).unwrap()[..64].to_vec();
    disk.corrupt(FIRST, 0, &disk.contents(SECOND).unwrap()[..64]).unwrap();
    assert_eq!(damage(read_all(&disk)), (FIRST.to_owned(), 0));
    header[12] = 3;
    let crc = crate::checksum::crc32c(&header[12..]);
    header[8..12].copy_from_slice(&crc.to_le_bytes());
    disk.corrupt(FIRST, 0, &header).unwrap();
    assert!(matches!(read_all(&disk), Err(Error::Invalid(_))));
}

#[test]
fn r13_obsolete_segments_are_removed_unread() {
    // Keeps away damage in what nobody needs from stopping an opening, and files that stay for ever.
    let (disk, log, transactions) = written(0, 30, 400);
    let start = Start { from: log.position_after(Timestamp(20)), after: Timestamp(20) };
    flip(&disk, FIRST, 200);
    let (read_back, _) = read(&disk, start, Access::Write).unwrap();
    assert_eq!(read_back, transactions[20..]);
    assert!(!files(&disk).contains(&FIRST.to_owned()));
    // When all is in the bases nothing is left.
    let start = Start { from: log.next_lsn(), after: Timestamp(30) };
    assert!(read(&disk, start, Access::Write).unwrap().0.is_empty());
    assert_eq!(files(&disk).len(), 0);
}

#[test]
fn r14_a_valid_group_with_nonsense_is_an_error() {
    // Keeps away a panic, or a silent skip, where the checksum is right and the contents are not.
    type Change = fn(&mut Vec<u8>, &mut format::GroupHeader);
    let changes: [Change; 9] = [
        |bytes, _| bytes[56 + 8] = 9,  // more operations than there are
        |bytes, _| bytes[56 + 8] = 0,  // fewer
        |bytes, _| bytes[56 + 17] = 9, // an unknown kind
        |_, header| header.transactions = 2,
        |_, header| header.last_ts = Timestamp(3),
        |_, header| (header.flags, header.raw) = (1, 900), // not LZ4
        |_, header| header.flags = 2,                      // unknown
        |_, header| header.raw += 1,
        |_, header| header.raw -= 1,
    ];
    for (i, change) in changes.into_iter().enumerate() {
        let (disk, ..) = written(0, 1, 100);
        let mut bytes = disk.contents(FIRST).unwrap()[64..].to_vec();
        let mut header = format::GroupHeader::decode(bytes[..56].try_into().unwrap()).unwrap();
        change(&mut bytes, &mut header);
        header.seal(&mut bytes[..56 + header.stored as usize], format::salt(1, DATABASE));
        disk.corrupt(FIRST, 64, &bytes).unwrap();
        assert_eq!(damage(read_all(&disk)), (FIRST.to_owned(), 64), "change {i}");
    }
}

#[test]
fn r6_a_lost_segment_that_nothing_claims_is_reported() {
    // Keeps away unsynced groups that vanish without a word because nothing of them is left but a gap.
    let (disk, mut log, transactions) = written(0, 2, 400);
    for ts in 3..10 {
        log.write_group(&mut group(&[put(ts, 400)])).unwrap();
    }
    disk.corrupt(FIRST, 64 + 2 * GROUP, &[0; 6 * GROUP as usize]).unwrap();
    disk.corrupt(SECOND, 64, &[0; GROUP as usize]).unwrap();
    let (read_back, recovery) = read_all(&disk).unwrap();
    assert_eq!(read_back, transactions);
    assert_eq!(recovery.cut.unwrap().offset, 64 + 2 * GROUP);
}

#[test]
fn r15_what_is_written_while_it_is_read_is_read() {
    // Keeps away a reader that takes zeros which it read a moment ago for damage.
    let disk = SimDisk::new(0);
    let mut log = writer(&disk, 8 << 20, LogPosition::default());
    log.write_group(&mut group(&[put(1, 10)])).unwrap();
    let mut seen = 0;
    let visit = |ts: Timestamp, _: Operations<'_>| {
        for next in (2..6).filter(|_| ts.0 == 1) {
            log.write_group(&mut group(&[put(next, 1 << 20)]))?;
            log.sync()?;
        }
        seen += 1;
        Ok(())
    };
    recover(&dyn_disk(&disk), DATABASE, Start::default(), Access::ReadOnly, visit).unwrap();
    assert_eq!(seen, 5);
}

#[test]
fn r15_a_reader_beside_a_writer_sees_no_damage() {
    // Keeps away a reader that takes a group which is being written for rot.
    let disk = SimDisk::new(0);
    let mut log = writer(&disk, 1 << 16, LogPosition::default());
    log.write_group(&mut group(&[put(1, 10)])).unwrap();
    std::thread::scope(|scope| {
        let reader = scope.spawn(|| {
            let mut seen = 0;
            while seen < 400 {
                let (read_back, _) = read(&disk, Start::default(), Access::ReadOnly).unwrap();
                assert!(read_back.iter().map(|t| t.0).eq(1..=read_back.len() as u64));
                assert!(read_back.len() >= seen);
                seen = read_back.len();
            }
        });
        for ts in 2..=400 {
            log.write_group(&mut group(&[put(ts, 700)])).unwrap();
            log.sync().unwrap();
        }
        reader.join().unwrap();
    });
}

#[test]
fn d6_segments_go_when_the_checkpoint_has_them() {
    // Keeps away a log that grows for ever, and one that loses what no base has.
    let (disk, mut log, transactions) = written(0, 30, 400);
    let before = log.bytes();
    let from = log.position_after(Timestamp(20));
    assert_eq!(log.remove_before(from).unwrap(), 2 * 4096);
    assert_eq!((log.bytes(), files(&disk).len()), (before - 2 * 4096, 2));
    let start = Start { from, after: Timestamp(20) };
    assert_eq!(read(&disk, start, Access::ReadOnly).unwrap().0, transactions[20..]);
    let end = log.next_lsn();
    log.remove_before(end).unwrap();
    assert_eq!((log.segments(), files(&disk).len()), (0, 0));
    log.write_group(&mut group(&[put(31, 10)])).unwrap();
    let start = Start { from: end, after: Timestamp(30) };
    log.sync().unwrap();
    assert_eq!(read(&disk.crash(), start, Access::Write).unwrap().0, [put(31, 10)]);
}

#[test]
fn d7_after_an_uncertain_failure_nothing_is_written() {
    // Keeps away a second sync that is believed though the first one failed.
    for op in [IoOp::Write, IoOp::Sync] {
        let (disk, mut log, _) = written(0, 2, 400);
        fault(&disk, op, FaultKind::Io);
        let failed = log.write_group(&mut group(&[put(3, 10)])).and_then(|_| log.sync());
        assert!(matches!(failed, Err(Error::Io { .. })), "{failed:?}");
        let again = log.write_group(&mut group(&[put(4, 10)]));
        assert!(matches!(again, Err(Error::Poisoned(_))), "{again:?}");
        assert!(matches!(log.sync(), Err(Error::Poisoned(_))));
    }
}

#[test]
fn d8_a_refused_group_does_not_come_back() {
    // Keeps away a commit that failed for lack of space and is there after a crash.
    // The larger one needs a new segment.
    let ways = [(IoOp::Write, 2000), (IoOp::Write, 4000), (IoOp::Create, 4000), (IoOp::Allocate, 4000)];
    for (seed, (op, bytes)) in (0..60).flat_map(|seed| ways.map(|way| (seed, way))) {
        let (disk, mut log, mut transactions) = written(seed, 2, 400);
        fault(&disk, op, FaultKind::NoSpace);
        // The value is zeros, as is the reserved space: a part of the group can look like the whole.
        let refused = (3, vec![(1, vec![1], RecordKind::Inline, vec![0; bytes])]);
        let answer = log.write_group(&mut group(std::slice::from_ref(&refused)));
        assert!(matches!(answer, Err(Error::DiskFull(_))), "{answer:?}");
        if seed % 2 == 0 {
            transactions.push(put(4, 20));
            log.write_group(&mut group(&transactions[2..])).unwrap();
            log.sync().unwrap();
        }
        let (read_back, _) = read_all(&disk.crash()).unwrap();
        assert_eq!(read_back, transactions, "seed {seed} {op:?} {bytes}");
    }
}

#[test]
fn a_full_disk_can_be_emptied_and_written_again() {
    // Keeps away a log that stays unusable after the disk was full.
    let disk = SimDisk::new(0);
    disk.set_capacity(Some(10 * 4096));
    let mut log = writer(&disk, 4096, LogPosition::default());
    let mut ts = 0;
    let full = loop {
        ts += 1;
        if let Err(e) = log.write_group(&mut group(&[put(ts, 900)])) {
            break e;
        }
    };
    assert!(matches!(full, Error::DiskFull(_)), "{full:?}");
    log.sync().unwrap();
    let from = log.position_after(Timestamp(ts / 2));
    log.remove_before(from).unwrap();
    log.write_group(&mut group(&[put(ts + 1, 900)])).unwrap();
    log.sync().unwrap();
    let start = Start { from, after: Timestamp(ts / 2) };
    let (read_back, _) = read(&disk.crash(), start, Access::Write).unwrap();
    let expected: Vec<u64> = (ts / 2 + 1..ts).chain([ts + 1]).collect();
    assert_eq!(read_back.iter().map(|t| t.0).collect::<Vec<_>>(), expected);
}

#[test]
fn a_group_larger_than_a_segment_has_its_own() {
    // Keeps away transactions that are refused for their size.
    let (disk, mut log, mut transactions) = written(0, 1, 10);
    transactions.extend([put(2, 100_000), put(3, 10)]);
    for transaction in &transactions[1..] {
        log.write_group(&mut group(std::slice::from_ref(transaction))).unwrap();
    }
    assert_eq!(read_all(&disk).unwrap().0, transactions);
}

#[test]
fn compressed_groups_come_back() {
    // Keeps away compression that loses bytes, that grows groups, or that is not used.
    let disk = SimDisk::new(0);
    let options = LogOptions { segment_bytes: 1 << 16, compress: true };
    let mut log = LogWriter::new(dyn_disk(&disk), options, DATABASE, LogPosition::default());
    let mut seed = 1;
    let noise = (0..5_000).map(|_| crate::io::sim::split_mix(&mut seed) as u8).collect();
    let transactions = [put(1, 5_000), (2, vec![(1, vec![1], RecordKind::Inline, noise)]), put(3, 20)];
    let mut ends = Vec::new();
    for transaction in &transactions {
        ends.push(log.write_group(&mut group(std::slice::from_ref(transaction))).unwrap().0);
    }
    assert!(ends[0] < 300, "{ends:?}");
    assert!((5_000..5_200).contains(&(ends[1] - ends[0])));
    let file = disk.contents(FIRST).unwrap();
    let flags = |at: u64| file[64 + at as usize + 16];
    assert_eq!([0, ends[0], ends[1]].map(flags), [1, 0, 0], "noise and little is stored as it is");
    assert_eq!(read_all(&disk).unwrap().0, transactions);
}

#[test]
fn encoded_outside_or_inside_is_the_same() {
    // Keeps away two encodings of a transaction.
    let mut one = GroupBuffer::new();
    let mut ops = EncodedOps::new();
    one.begin(Timestamp(7));
    for (key, record) in [(&b"a"[..], Record::inline(b"x")), (b"b", Record::TOMBSTONE)] {
        one.op(TableId(3), key, record);
        ops.op(TableId(3), key, record);
    }
    one.end().unwrap();
    let mut two = GroupBuffer::new();
    two.append_encoded(Timestamp(7), &ops).unwrap();
    assert_eq!(one.bytes_mut(), two.bytes_mut());
    let full = one.swap(two);
    assert_eq!((one.is_empty(), full.transactions(), full.first_ts()), (true, 1, Timestamp(7)));
}

#[test]
fn a_crash_during_the_cut_is_judged_alike() {
    // Keeps away a recovery that, interrupted, makes of a torn tail damage, or a second answer.
    for seed in 0..300 {
        let (disk, mut log, transactions) = written(seed, 2, 400);
        for ts in 3..30 {
            log.write_group(&mut group(&[put(ts, 400)])).unwrap();
        }
        drop(log);
        flip(&disk, FIRST, 64 + 2 * GROUP + 100);
        let ops = [IoOp::Remove, IoOp::SyncDirectory, IoOp::SetLen, IoOp::Sync, IoOp::Write];
        let op = ops[seed as usize % 5];
        disk.inject(Fault { op, file_prefix: None, after: seed / 5 % 3, kind: FaultKind::Io, once: true });
        let _ = read_all(&disk);
        let (read_back, _) = read_all(&disk.crash()).unwrap_or_else(|e| panic!("seed {seed} {op:?}: {e}"));
        assert_eq!(read_back, transactions);
    }
}
