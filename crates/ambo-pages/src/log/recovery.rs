//! Reading the log back. The cases R1 … and the rules D1 … are in the [parent](super)'s documentation.

use std::{sync::Arc, time::Duration};

use ambo_types::{
    Error, Result,
    id::{Lsn, Timestamp},
};

use super::{
    LogPosition, OldSegment,
    format::{
        FLAG_LZ4, FLAG_SEALED, FLAG_TIMED, GROUP_BYTES_MAX, GroupHeader, SEGMENT_HEADER_BYTES, TIME_BYTES,
        kept_number, segment_name, segment_number,
    },
    sealing,
    segment::{Behind, Found, Segment},
    tail,
    transaction::{Operations, Origin, Transactions},
};
use crate::{
    io::{Disk, OpenMode},
    seal::Keys,
};

/// What the checkpoint says about where to read from.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Start {
    /// Everything in groups before this position is in the bases. It is a position that [`LogWriter`](super::LogWriter) has
    /// returned, or zero.
    pub from: Lsn,
    /// Transactions up to this one are in the bases, wherever they are in the log.
    pub after: Timestamp,
}

/// Whether recovery may change the files.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Access {
    /// The caller holds the lock of the writer: a torn tail is cut, and what was read is made durable.
    Write,
    /// As `Write`, and segments that are not needed any more are kept for those who follow changes.
    WriteAndKeep,
    /// As `Write`, and all segments stay, for whoever archives them first.
    WriteAndArchive,
    /// Nothing is changed, and another process may be writing.
    ReadOnly,
}

/// A torn tail: bytes that were written but never acknowledged as durable.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Cut {
    /// The segment's file.
    pub file: String,
    /// Where in it the tail begins.
    pub offset: u64,
    /// Bytes dropped, in this file and later ones.
    pub bytes_dropped: u64,
    /// Among them, groups that are whole but come after a gap. At least as many were lost.
    pub groups_dropped: u64,
    /// Why reading could not go on.
    pub reason: &'static str,
}

/// What was read, and where writing goes on.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Recovery {
    /// Groups read.
    pub groups: u64,
    /// Transactions delivered.
    pub transactions: u64,
    /// Bytes of the groups read.
    pub bytes: u64,
    /// What was cut (or would be, when read-only).
    pub cut: Option<Cut>,
    /// For [`LogWriter::new`](super::LogWriter::new), if not read-only.
    pub position: LogPosition,
}

/// Reads the log of the database with the id `database` from `start` on, and hands every transaction after
/// `start.after` to `visit`, in order. One group is in memory at a time.
pub fn recover<V>(
    disk: &Arc<dyn Disk>,
    database: u128,
    start: Start,
    access: Access,
    mut visit: V,
) -> Result<Recovery>
where
    V: FnMut(Timestamp, Operations<'_>) -> Result<()>,
{
    let (mut segments, highest) = open_segments(&**disk, database, access)?;
    let first = tail::first_segment(&mut segments, start.from)?;
    let stay = access == Access::WriteAndArchive;
    // R13: the segments before the first are not read.
    let unread = tail::ends_of(&segments[..(first + 1).min(segments.len())]);
    let stays = |segment: &Segment| stay && segment.header.is_some();
    let obsolete: Vec<u64> = segments.drain(..first).filter(|s| !stays(s)).map(|s| s.number).collect();
    let mut reader = Reader {
        segments,
        at: 0,
        lsn: start.from,
        recovery: Recovery::new(start),
        ends: Vec::new(),
        durable: start.from,
    };
    let (tail, reason) = reader.read(start.after, access, &mut visit)?;
    let Reader { segments, at, lsn, mut recovery, mut ends, durable } = reader;
    debug_assert!(lsn >= start.from, "reading goes on from its start");
    recovery.position.next_lsn = lsn;
    let no_number =
        || Error::damaged(segment_name(highest), 0, "no segment of the log can have a greater number");
    recovery.position.next_segment = highest.checked_add(1).ok_or_else(no_number)?;
    let mut log = tail::Log { segments, at, end: lsn };
    recovery.cut = log.torn_tail(&tail, reason)?.or(recovery.cut);
    if access != Access::ReadOnly {
        let let_go = if access == Access::WriteAndKeep { tail::keep } else { tail::remove };
        let needed = if stay { None } else { Some(start.from) };
        let len = log.settle(&**disk, needed, durable, &obsolete, let_go)?;
        if let (true, Some(last)) = (stay || lsn > start.from, ends.last_mut()) {
            last.bytes = len;
            recovery.position.segments = ends;
        }
        if stay {
            recovery.position.segments.splice(0..0, unread);
        }
    }
    Ok(recovery)
}

impl Recovery {
    fn new(start: Start) -> Self {
        let position = LogPosition {
            next_segment: 1,
            next_lsn: start.from,
            from: start.from,
            last_ts: start.after,
            last_time: None,
            segments: Vec::new(),
        };
        Self { groups: 0, transactions: 0, bytes: 0, cut: None, position }
    }
}

/// All segments by number, and the greatest number that there is, those of kept segments among them.
fn open_segments(disk: &dyn Disk, database: u128, access: Access) -> Result<(Vec<Segment>, u64)> {
    let names = disk.list().map_err(|e| Error::io("listing the directory", e))?;
    let mut numbers: Vec<u64> = names.iter().filter_map(|name| segment_number(name)).collect();
    numbers.sort_unstable();
    let kept = names.iter().filter_map(|name| kept_number(name));
    let highest = kept.chain(numbers.last().copied()).max().unwrap_or(0);
    let mode = match access {
        Access::Write | Access::WriteAndKeep | Access::WriteAndArchive => OpenMode::ReadWrite,
        Access::ReadOnly => OpenMode::Read,
    };
    let open = |number| {
        let mut segment = Segment::open(disk, number, database, mode)?;
        segment.release();
        Ok(segment)
    };
    Ok((numbers.into_iter().map(open).collect::<Result<_>>()?, highest))
}

/// The reading itself.
struct Reader {
    segments: Vec<Segment>,
    /// The index of the segment that is read.
    at: usize,
    /// The end of what was read.
    lsn: Lsn,
    recovery: Recovery,
    /// The segments that were read, with their ends.
    ends: Vec<OldSegment>,
    /// The greatest claim of a group that was read: what is before was durable.
    durable: Lsn,
}

impl Reader {
    /// Reads to the end; returns what is behind it and why it is there.
    fn read<V>(&mut self, after: Timestamp, access: Access, visit: &mut V) -> Result<(Behind, &'static str)>
    where
        V: FnMut(Timestamp, Operations<'_>) -> Result<()>,
    {
        let mut buffers = Buffers::default();
        let mut last_ts = Timestamp(0);
        let mut read_again = access == Access::ReadOnly;
        if self.segments.is_empty() {
            return Ok((Behind::default(), "there is no log")); // R8
        }
        loop {
            let segment = &mut self.segments[self.at];
            let offset = segment.offset(self.lsn).expect("reading begins at or after the start");
            let reason = match segment.group(offset, Some(self.lsn))? {
                Found::Group(header) => {
                    // R1
                    let source = Origin { file: &segment.name.clone(), offset };
                    check_order(&header, last_ts, source)?;
                    let keys = segment.keys.clone();
                    let stored = segment.stored(offset, &header)?;
                    let group = Group { header: &header, stored, keys: keys.as_ref(), source };
                    let mut time = None;
                    let mut visit = |ts, operations: Operations<'_>| {
                        time = operations.time();
                        visit(ts, operations)
                    };
                    self.recovery.transactions += deliver(&group, &mut buffers, after, &mut visit)?;
                    self.recovery.position.last_time = time.max(self.recovery.position.last_time);
                    self.recovery.groups += 1;
                    self.recovery.bytes += header.padded_len();
                    self.durable = self.durable.max(header.durable);
                    (self.lsn, last_ts) = (header.end(), header.last_ts);
                    self.recovery.position.last_ts = self.recovery.position.last_ts.max(last_ts);
                    read_again = access == Access::ReadOnly;
                    continue;
                }
                Found::Nothing(reason) => reason,
            };
            if let Some(next) = self.continuation(offset, reason)? {
                self.note_end();
                self.at = next;
                continue;
            }
            let tail = tail::behind(&mut self.segments[self.at..], self.lsn)?;
            if read_again && tail.claim > self.lsn {
                // R15
                tail::refresh(&mut self.segments[self.at..])?;
                read_again = false;
                continue;
            }
            self.note_end();
            return Ok((tail, reason));
        }
    }

    /// R2: the later segment that goes on here, if nothing behind here claims that more was durable.
    fn continuation(&mut self, offset: u64, reason: &'static str) -> Result<Option<usize>> {
        let (lsn, at) = (self.lsn, self.at);
        let later = self.segments[at + 1..].iter().position(|s| s.header.is_some_and(|h| h.start == lsn));
        let Some(later) = later else { return Ok(None) };
        let segment = &mut self.segments[at];
        let behind = segment.behind(offset)?;
        if behind.claim > lsn {
            return Ok(None);
        }
        if behind.groups > 0 {
            // The writer failed before it could use the next segment, or a cut was undone by a crash.
            self.recovery.cut = Some(Cut {
                file: segment.name.clone(),
                offset,
                bytes_dropped: behind.bytes,
                groups_dropped: behind.groups,
                reason,
            });
        }
        Ok(Some(at + 1 + later))
    }

    fn note_end(&mut self) {
        let segment = &mut self.segments[self.at];
        segment.release();
        debug_assert!(
            self.ends.last().is_none_or(|before| before.end <= self.lsn),
            "segments end in their order"
        );
        self.ends.push(OldSegment {
            number: segment.number,
            end: self.lsn,
            last_ts: self.recovery.position.last_ts,
            bytes: segment.len,
        });
    }
}

/// R14, for what the header says.
pub(super) fn check_order(header: &GroupHeader, last_ts: Timestamp, source: Origin<'_>) -> Result<()> {
    if header.first_ts <= last_ts || header.last_ts < header.first_ts {
        return Err(source.damaged("the timestamps of this group go back"));
    }
    if header.flags & !(FLAG_LZ4 | FLAG_SEALED | FLAG_TIMED) != 0 {
        return Err(source.damaged("this group has unknown flags"));
    }
    Ok(())
}

/// A group as it was found.
pub(super) struct Group<'g> {
    pub header: &'g GroupHeader,
    pub stored: &'g [u8],
    pub keys: Option<&'g Arc<Keys>>,
    pub source: Origin<'g>,
}

/// Memory that is used from group to group.
#[derive(Debug, Default)]
pub(super) struct Buffers {
    /// What was sealed.
    opened: Vec<u8>,
    /// What was compressed.
    raw: Vec<u8>,
}

/// Hands the transactions of a group to `visit`; returns how many.
pub(super) fn deliver<V>(
    group: &Group<'_>,
    buffers: &mut Buffers,
    after: Timestamp,
    visit: &mut V,
) -> Result<u64>
where
    V: FnMut(Timestamp, Operations<'_>) -> Result<()>,
{
    let Group { header, stored, keys, source } = *group;
    if header.last_ts <= after {
        return Ok(0);
    }
    let stored = sealing::open(keys, header, stored, &mut buffers.opened, source)?;
    let bytes = match header.flags & FLAG_LZ4 {
        0 => stored,
        _ => decompress(header, stored, &mut buffers.raw, source)?,
    };
    if bytes.len() != header.raw as usize {
        return Err(source.damaged("this group has another length than it says"));
    }
    let (bytes, time) = match header.flags & FLAG_TIMED {
        0 => (bytes, None),
        _ => {
            let split = bytes.split_last_chunk::<TIME_BYTES>();
            let (bytes, time) = split.ok_or_else(|| source.damaged("this group has no time"))?;
            (bytes, Some(Duration::from_micros(u64::from_le_bytes(*time))))
        }
    };
    let (mut read, mut delivered, mut last) = (0, 0, Timestamp(0));
    for transaction in Transactions::new(bytes, time, source) {
        let (ts, operations) = transaction?;
        if ts <= last || ts < header.first_ts || ts > header.last_ts {
            return Err(source.damaged("the timestamps in this group are not in order"));
        }
        (last, read) = (ts, read + 1);
        if ts > after {
            visit(ts, operations)?;
            delivered += 1;
        }
    }
    if read != header.transactions || last != header.last_ts {
        return Err(source.damaged("this group has other transactions than it says"));
    }
    Ok(delivered)
}

/// The raw bytes of a compressed group.
fn decompress<'r>(
    header: &GroupHeader,
    stored: &[u8],
    raw: &'r mut Vec<u8>,
    source: Origin<'_>,
) -> Result<&'r [u8]> {
    let len = header.raw as usize;
    // A byte of an LZ4 block stands for at most 255 bytes: what says more would only make us allocate.
    if len > GROUP_BYTES_MAX || len / 255 > stored.len() {
        return Err(source.damaged("this group says that it is larger than it can be"));
    }
    raw.clear();
    raw.resize(len, 0);
    match lz4_flex::block::decompress_into(stored, raw) {
        Ok(n) if n == len => Ok(raw),
        _ => Err(source.damaged("this group cannot be decompressed")),
    }
}

/// The name of a segment that is gone, or of the file where one should be.
pub(super) fn missing(number: u64, from: Lsn) -> Error {
    let what = format!("the log from position {from} on is missing; the first segment there begins later");
    Error::damaged(segment_name(number), SEGMENT_HEADER_BYTES as u64, what)
}
