//! Segments on disks that have no room for whole ones.

use super::*;
use crate::io::sim::{Fault, FaultKind, Op as IoOp};

const WHOLE: u64 = 64 << 20;

fn small(bytes: u64) -> (SimDisk, LogWriter) {
    let disk = SimDisk::new(bytes);
    disk.set_capacity(Some(bytes));
    let log = writer(&disk, WHOLE, LogPosition::default());
    (disk, log)
}

fn write(log: &mut LogWriter, ts: u64, value_bytes: usize) -> Result<Lsn> {
    log.write_group(&mut group(&[put(ts, value_bytes)]))
}

/// Writes from `ts` on until the disk is full; the timestamp that was refused.
fn fill(log: &mut LogWriter, mut ts: u64, value_bytes: usize) -> u64 {
    loop {
        match write(log, ts, value_bytes) {
            Ok(_) => ts += 1,
            Err(Error::DiskFull(_)) => return ts,
            Err(e) => panic!("{e}"),
        }
    }
}

fn timestamps(transactions: &[Transaction]) -> Vec<u64> {
    transactions.iter().map(|(ts, _)| *ts).collect()
}

#[test]
fn a_segment_takes_an_eighth_of_a_small_disk() {
    // Keeps away a first write that needs 64 MiB, and a log that leaves no room for a checkpoint.
    for (capacity, segment) in [(8 << 20, 1 << 20), (1 << 20, 128 << 10), (256 << 10, 64 << 10)] {
        let (disk, mut log) = small(capacity);
        write(&mut log, 1, 100).unwrap();
        assert_eq!(log.bytes(), segment, "of {capacity}");
        log.sync().unwrap();
        assert_eq!(read_all(&disk.crash()).unwrap().0, [put(1, 100)]);
    }
    let (_, mut log) = small(8 * WHOLE);
    write(&mut log, 1, 100).unwrap();
    assert_eq!(log.bytes(), WHOLE);
}

#[test]
fn space_that_is_refused_is_tried_in_smaller_steps() {
    // Keeps away a disk that is called full because of a quota that the file system does not tell.
    let disk = SimDisk::new(0);
    let mut log = writer(&disk, WHOLE, LogPosition::default());
    for _ in 0..3 {
        let fault =
            Fault { op: IoOp::Allocate, file_prefix: None, after: 0, kind: FaultKind::NoSpace, once: true };
        disk.inject(fault);
    }
    write(&mut log, 1, 100).unwrap();
    assert_eq!((log.bytes(), files(&disk).len()), (WHOLE / 64, 1));
    write(&mut log, 2, 100).unwrap();
    log.sync().unwrap();
    assert_eq!(timestamps(&read_all(&disk.crash()).unwrap().0), [1, 2]);
}

#[test]
fn a_small_disk_is_used_to_its_end_and_again() {
    // Keeps away space that the log cannot use, groups that are lost or come back on a full disk, and one that stays unusable.
    for capacity in [300 << 10, 1 << 20, 3 << 20] {
        let (disk, mut log) = small(capacity);
        let full = fill(&mut log, 1, 900);
        log.sync().unwrap();
        assert!(capacity - disk.used() < 4096, "{} of {capacity}", disk.used());
        assert!(log.next_lsn().0 > capacity / 8 * 7, "{} bytes of groups in {capacity}", log.next_lsn());

        let half = Start { from: log.position_after(Timestamp(full / 2)), after: Timestamp(full / 2) };
        log.remove_before(half.from).unwrap();
        let again = fill(&mut log, full, 900);
        assert!(again > full + full / 4, "{full}, then {again}");
        log.sync().unwrap();
        let (transactions, _) = read(&disk.crash(), half, Access::Write).unwrap();
        assert_eq!(timestamps(&transactions), (full / 2 + 1..again).collect::<Vec<_>>());
    }
}

#[test]
fn a_checkpoint_is_asked_for_when_a_small_segment_is_used_up() {
    // Keeps away a log that fills a small disk though all of it could go, and checkpoints for nothing where there is room.
    let (_, mut log) = small(1 << 20);
    write(&mut log, 1, 100).unwrap();
    assert!(!log.take_crowded(), "nothing could go yet");
    let mut ts = 1;
    while log.segments() < 2 {
        ts += 1;
        write(&mut log, ts, 1000).unwrap();
    }
    assert!(log.take_crowded());
    assert!(!log.take_crowded(), "it says so once");

    let (_, mut log, _) = written(0, 30, 900);
    assert!(log.segments() > 2 && !log.take_crowded(), "segments of 4 KiB are what was asked for");
}

#[test]
fn segments_leave_room_for_a_checkpoint() {
    // Keeps away a log that takes the room of the only thing that could let it go, and a full disk that refuses deletes.
    const PAGES: u64 = 64 << 10;
    for capacity in [1 << 20, 8 << 20] {
        let (disk, mut log) = small(capacity);
        log.keep_room(PAGES);
        let mut ts = 1;
        while !log.is_tight() {
            write(&mut log, ts, 900).unwrap();
            ts += 1;
        }
        let full = fill(&mut log, ts, 900);
        assert!(full > ts, "what is kept for deletes can be written to");
        // A file takes whole blocks.
        let left = capacity - disk.used() + 4096;
        assert!(left >= 2 * log.next_lsn().0 + PAGES, "{left} of {capacity}, and {} of log", log.next_lsn());

        log.remove_before(log.next_lsn()).unwrap();
        assert!(!log.weigh_room());
        let again = fill(&mut log, full, 900);
        assert!(again - full > full / 4 * 3, "{full}, then {again}: what is let go can be written again");
    }
}
