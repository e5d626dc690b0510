//! Groups and segments of the log.

use std::sync::Arc;

use ambo_engine::{
    Error,
    id::{Lsn, TableId, Timestamp},
    io::{Disk, OpenMode, sim::SimDisk},
    log::{
        Access, GroupBuffer, LogOptions, LogPosition, LogWriter, Start,
        format::{GROUP_HEADER_BYTES, GroupHeader, SegmentHeader, salt, segment_name},
        recover,
    },
    record::Record,
};

use super::input::Input;

const DATABASE: u128 = 5;

/// Groups of any bytes behind headers and checksums that fit.
pub fn group(bytes: &[u8]) {
    let mut input = Input(bytes);
    let mut log = SegmentHeader {
        number: 1,
        database: DATABASE,
        start: Lsn(0),
        durable: Lsn(0),
        last_ts: Timestamp(0),
    }
    .encode()
    .to_vec();
    let (mut lsn, mut next) = (0, 1);
    for _ in 0..input.byte() % 3 + 1 {
        let how = input.byte();
        let count = u64::from(how & 3);
        let mut raw = Vec::new();
        for ts in next..next + count {
            transaction(&mut input, ts, &mut raw);
        }
        input.damage(&mut raw);
        let mut len = raw.len() as u32;
        let mut payload = raw;
        let mut flags = 0;
        if how & 4 != 0 {
            payload = lz4_flex::block::compress(&payload);
            input.damage(&mut payload);
            flags = 1;
        }
        if how & 8 != 0 {
            len = input.number(4) as u32;
        }
        if how & 16 != 0 {
            flags = input.byte().into();
        }
        let mut group = vec![0; GROUP_HEADER_BYTES];
        group.extend_from_slice(&payload);
        let header = GroupHeader {
            stored: payload.len() as u32,
            raw: len,
            flags,
            transactions: count as u32,
            lsn: Lsn(lsn),
            durable: Lsn(lsn),
            first_ts: Timestamp(next),
            last_ts: Timestamp(next + count.max(1) - 1),
        };
        header.seal(&mut group, salt(1, DATABASE));
        group.resize(header.padded_len() as usize, 0);
        log.extend_from_slice(&group);
        (lsn, next) = (lsn + group.len() as u64, next + count);
    }
    read(&[log], Access::ReadOnly, |_, _| {});
}

/// A transaction of operations on any keys and values.
fn transaction(input: &mut Input<'_>, ts: u64, raw: &mut Vec<u8>) {
    let mut operations = Vec::new();
    let count = input.byte() % 4;
    for _ in 0..count {
        operations.push(input.byte());
        operations.push(input.byte() % 5);
        let key = input.string();
        operations.push(key.len() as u8 & 0x7f);
        operations.extend_from_slice(key);
        if operations.len() & 1 == 0 {
            let run = usize::from(input.byte());
            operations.extend_from_slice(&[0x80 | run as u8, (run >> 7) as u8]);
            operations.resize(operations.len() + run, b'z');
        }
    }
    raw.extend_from_slice(&ts.to_le_bytes());
    raw.extend_from_slice(&u32::from(count).to_le_bytes());
    raw.extend_from_slice(&(operations.len() as u32).to_le_bytes());
    raw.extend_from_slice(&operations);
}

/// Segments as the writer makes them, in which then some bytes are changed: what is read is a front of what was written. Whoever
/// changes more than a few bytes may have computed the checksum.
pub fn segment(bytes: &[u8]) {
    let mut input = Input(bytes);
    let how = input.byte();
    let disk = SimDisk::new(0);
    let options = LogOptions { segment_bytes: 1024, compress: how & 1 != 0 };
    let mut log = LogWriter::new(Arc::new(disk.clone()), options, DATABASE, LogPosition::default());
    let mut written = Vec::new();
    for ts in 1..=u64::from(input.byte() % 8) {
        let value = vec![ts as u8; usize::from(input.byte()) * 2];
        let mut group = GroupBuffer::new();
        group.begin(Timestamp(ts));
        group.op(TableId(1), b"key", Record::inline(&value));
        group.end().expect("a short group");
        log.write_group(&mut group).expect("room");
        if how & 2 != 0 {
            log.sync().expect("no fault");
        }
        written.push(value);
    }
    drop(log);
    let mut files: Vec<Vec<u8>> = Vec::new();
    let mut names = disk.list().expect("no fault");
    names.sort_unstable();
    for name in &names {
        files.push(disk.contents(name).expect("its own file"));
    }
    let before = files.clone();
    if !files.is_empty() {
        for _ in 0..input.byte() % 3 + 1 {
            let file = usize::from(input.byte()) % files.len();
            input.damage(&mut files[file]);
        }
    }
    let access = if how & 4 != 0 { Access::ReadOnly } else { Access::Write };
    let changed =
        before.concat().iter().zip(files.concat()).filter(|(before, after)| **before != *after).count();
    let mut number = 0;
    read(&files, access, |ts, value| {
        number += 1;
        if changed <= 4 {
            assert_eq!(ts, number as u64);
            assert_eq!(value, written[number - 1]);
        }
    });
}

/// Recovers a log of these segments.
fn read(files: &[Vec<u8>], access: Access, mut visit: impl FnMut(u64, &[u8])) {
    let disk = SimDisk::new(0);
    for (number, bytes) in files.iter().enumerate() {
        let file = disk.open(&segment_name(number as u64 + 1), OpenMode::Create).expect("a new file");
        file.write_at(bytes, 0).expect("room");
    }
    let disk: Arc<dyn Disk> = Arc::new(disk);
    let found = recover(&disk, DATABASE, Start::default(), access, |ts, operations| {
        for operation in operations {
            visit(ts.0, operation?.record.bytes);
        }
        Ok(())
    });
    match found {
        Ok(_) | Err(Error::Damaged { .. } | Error::Invalid(_)) => {}
        Err(error) => panic!("{error}"),
    }
}
