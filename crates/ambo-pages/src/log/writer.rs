//! Writing groups and rolling segments. The rules that are named D1 … are in the [parent](super)'s documentation.

use std::{collections::VecDeque, io, sync::Arc};

use ambo_types::{
    Error, Result,
    id::{Lsn, Timestamp},
};

use super::{
    LogOptions, LogPosition, OldSegment,
    buffer::GroupBuffer,
    compress::GroupCompressor,
    format::{
        FLAG_LZ4, FLAG_TIMED, GroupHeader, SEGMENT_HEADER_BYTES, SegmentHeader, padded_len, salt,
        segment_name,
    },
    sealing::GroupSealer,
};
use crate::io::{Clock, Disk, File, OpenMode};
use archive::Archiving;
use keep::Kept;

mod archive;
mod keep;
mod room;

/// How many positions a segment is divided into for [`LogWriter::position_after`].
const MARKS_PER_SEGMENT: u64 = 64;
/// A segment that the disk has no room for is tried again, so many times smaller.
const STEP: u64 = 4;

/// Writes the log. One thread at a time; syncs run beside through [`SyncTicket`]s.
#[derive(Debug)]
pub struct LogWriter {
    disk: Arc<dyn Disk>,
    options: LogOptions,
    database: u128,
    /// The segment that is written to. None until the first group, so that an opening costs no file.
    current: Option<Current>,
    old: VecDeque<OldSegment>,
    /// Segments that no recovery needs, for those who follow changes, and how many bytes of them there may be.
    kept: VecDeque<Kept>,
    keep_bytes: u64,
    next_segment: u64,
    next_lsn: Lsn,
    last_ts: Timestamp,
    /// Everything before is known durable (D3).
    durable: Lsn,
    unsynced: Vec<Unsynced>,
    /// Group ends with the last timestamp before each, sparse.
    marks: VecDeque<(Lsn, Timestamp)>,
    /// The checkpoint's position: what is before may be gone.
    from: Lsn,
    /// None when groups are stored as they are.
    compressor: Option<GroupCompressor>,
    /// None when the database is not encrypted.
    sealer: Option<GroupSealer>,
    /// Whether a segment became full that the disk had no more room for; see [`LogWriter::take_crowded`].
    crowded: bool,
    /// What a checkpoint needs besides what the log holds; see [`LogWriter::keep_room`].
    checkpoint_bytes: Option<u64>,
    /// Whether what is left of the disk is kept for deletes; see [`LogWriter::is_tight`].
    tight: bool,
    written: Written,
    /// What groups have their times from; without it they have none.
    clock: Option<Arc<dyn Clock>>,
    /// The time of the last group, in microseconds since 1970 began.
    last_time: u64,
    archiving: Archiving,
    failure: Option<String>,
}

#[derive(Debug)]
struct Current {
    number: u64,
    file: Arc<dyn File>,
    salt: u32,
    start: Lsn,
    /// Reserved bytes of the file.
    len: u64,
}

impl Current {
    fn offset(&self, lsn: Lsn) -> u64 {
        SEGMENT_HEADER_BYTES as u64 + (lsn.0 - self.start.0)
    }
}

/// Bytes of the groups that this writer wrote.
#[derive(Clone, Copy, Default, Debug)]
struct Written {
    raw: u64,
    /// After compression.
    stored: u64,
}

/// A file with groups that are not known durable.
#[derive(Debug)]
struct Unsynced {
    number: u64,
    file: Arc<dyn File>,
    end: Lsn,
}

/// What must be synced to make the log durable up to a position (D1).
#[derive(Clone, Debug)]
pub struct SyncTicket {
    files: Vec<Arc<dyn File>>,
    end: Lsn,
}

impl SyncTicket {
    /// Everything before this position is durable once [`SyncTicket::sync`] has succeeded.
    pub fn end(&self) -> Lsn {
        self.end
    }

    /// Syncs. Tell the writer of success with [`LogWriter::note_durable`], and of failure with [`LogWriter::poison`].
    pub fn sync(&self) -> Result<()> {
        self.files.iter().try_for_each(|file| file.sync()).map_err(|e| uncertain("syncing the log", e))
    }
}

/// A failure after which it is not known what is on disk: even for lack of space it is no [`Error::DiskFull`], which
/// says that nothing is lost.
fn uncertain(what: impl Into<String>, source: io::Error) -> Error {
    Error::Io { what: what.into(), source }
}

/// Whether no header, of a group or a segment, has begun to be written at `offset`.
fn is_blank(file: &dyn File, offset: u64) -> io::Result<bool> {
    let mut magic = [0; 8];
    match file.read_at(&mut magic, offset) {
        Err(e) if e.kind() == io::ErrorKind::UnexpectedEof => Ok(true),
        read => read.map(|()| magic == [0; 8]),
    }
}

impl LogWriter {
    /// A writer that goes on at `position`. Nothing is created before the first group.
    pub fn new(disk: Arc<dyn Disk>, options: LogOptions, database: u128, position: LogPosition) -> Self {
        debug_assert!(position.from <= position.next_lsn, "a checkpoint is not ahead of the log");
        let marks = position.segments.iter().map(|s| (s.end, s.last_ts)).collect();
        Self {
            sealer: GroupSealer::of(&*disk),
            disk,
            compressor: options.compress.then(GroupCompressor::new),
            options,
            database,
            current: None,
            old: position.segments.into(),
            kept: VecDeque::new(),
            keep_bytes: 0,
            next_segment: position.next_segment,
            next_lsn: position.next_lsn,
            last_ts: position.last_ts,
            durable: position.next_lsn,
            unsynced: Vec::new(),
            marks,
            from: position.from,
            crowded: false,
            checkpoint_bytes: None,
            tight: false,
            written: Written::default(),
            clock: None,
            last_time: position.last_time.map_or(0, |time| time.as_micros() as u64),
            archiving: Archiving::Off,
            failure: None,
        }
    }

    /// From now on groups have the time at which they are written.
    pub fn note_times(&mut self, clock: Arc<dyn Clock>) {
        self.clock = Some(clock);
    }

    /// Writes a group (nothing if it is empty) and returns where it ends. The buffer stays as it is.
    ///
    /// On [`Error::DiskFull`] the group is not in the log and the writer goes on (D8). After any other
    /// error it is not known whether the group is in the log, and the writer refuses everything (D7).
    ///
    /// # Panics
    /// If the group's timestamps are not after those already written.
    pub fn write_group(&mut self, group: &mut GroupBuffer) -> Result<Lsn> {
        self.usable()?;
        if group.is_empty() {
            return Ok(self.next_lsn);
        }
        assert!(group.first_ts() > self.last_ts, "groups are written in the order of their timestamps");
        let Some(clock) = &self.clock else { return self.write_stamped(group, 0) };
        self.last_time = self.last_time.max(clock.wall().as_micros() as u64);
        group.stamp(self.last_time);
        let written = self.write_stamped(group, FLAG_TIMED);
        group.unstamp();
        written
    }

    /// Writes a group as it is.
    fn write_stamped(&mut self, group: &mut GroupBuffer, timed: u32) -> Result<Lsn> {
        let compressed = self.compressor.as_mut().is_some_and(|compressor| compressor.compress(group.raw()));
        let packed = match (&self.compressor, compressed) {
            (Some(compressor), true) => compressor.stored_len(),
            _ => group.raw_len(),
        };
        let (added, flag) = self.sealer.as_ref().map_or((0, 0), |_| GroupSealer::ADDS);
        let stored = packed + added;
        let len = padded_len(stored);
        self.ensure_room(len)?;
        let header = GroupHeader {
            stored: stored as u32,
            raw: group.raw_len() as u32,
            flags: flag | timed | if compressed { FLAG_LZ4 } else { 0 },
            transactions: group.transactions(),
            lsn: self.next_lsn,
            durable: self.durable,
            first_ts: group.first_ts(),
            last_ts: group.last_ts(),
        };
        let current = self.current.as_ref().expect("a segment with room");
        let bytes = match &mut self.compressor {
            Some(compressor) if compressed => compressor.bytes_mut(),
            _ => group.bytes_mut(),
        };
        // The group stays as it is: it may be written again.
        let bytes = match &mut self.sealer {
            Some(sealer) => sealer.seal(&header, bytes)?,
            None => bytes,
        };
        header.seal(bytes, current.salt);
        let unpadded = bytes.len();
        bytes.resize(len as usize, 0);
        assert!(current.offset(self.next_lsn) + len <= current.len, "a segment has room for a group");
        let written = current.file.write_at(bytes, current.offset(self.next_lsn));
        bytes.truncate(unpadded);
        if let Some(compressor) = &mut self.compressor {
            compressor.trim();
        }
        if let Some(sealer) = &mut self.sealer {
            sealer.trim();
        }
        match written {
            Ok(()) => Ok(self.wrote(&header)),
            Err(e) => Err(self.refused(e)),
        }
    }

    /// Takes a written group over into the positions.
    fn wrote(&mut self, header: &GroupHeader) -> Lsn {
        let current = self.current.as_ref().expect("it was written to");
        debug_assert_eq!(header.lsn, self.next_lsn, "a group begins where the one before ends");
        debug_assert!(
            self.marks.back().is_none_or(|(lsn, last)| *lsn <= self.next_lsn && *last <= self.last_ts),
            "marks go on with the log"
        );
        self.written.raw += u64::from(header.raw);
        self.written.stored += u64::from(header.stored);
        (self.next_lsn, self.last_ts) = (header.end(), header.last_ts);
        match self.unsynced.last_mut() {
            Some(last) if last.number == current.number => last.end = self.next_lsn,
            _ => self.unsynced.push(Unsynced {
                number: current.number,
                file: Arc::clone(&current.file),
                end: self.next_lsn,
            }),
        }
        let apart = self.options.segment_bytes / MARKS_PER_SEGMENT;
        if self.marks.back().is_none_or(|(lsn, _)| self.next_lsn.0 - lsn.0 >= apart) {
            self.marks.push_back((self.next_lsn, self.last_ts));
        }
        self.next_lsn
    }

    /// Handles a write that failed: by D8 or by D7.
    fn refused(&mut self, e: io::Error) -> Error {
        let error = Error::io("writing the log", e);
        if !matches!(error, Error::DiskFull(_)) {
            return self.fail(error);
        }
        match self.erase() {
            Ok(()) => error,
            Err(e) => self.fail(uncertain("erasing a refused group from the log", e)),
        }
    }

    /// Makes durable that no group is at the end of the log, though one may have been written in part (D8).
    fn erase(&self) -> io::Result<()> {
        let current = self.current.as_ref().expect("it was written to");
        let offset = current.offset(self.next_lsn);
        if !is_blank(&*current.file, offset)? {
            // These bytes are allocated, so there is space for zeros.
            current.file.write_at(&[0; 8], offset)?;
            current.file.sync()?;
        }
        Ok(())
    }

    /// Makes the current segment one that has room for a group of `len` bytes.
    fn ensure_room(&mut self, len: u64) -> Result<()> {
        if self.current.as_ref().is_some_and(|c| c.offset(self.next_lsn) + len <= c.len) {
            return Ok(());
        }
        match self.create_segment(len) {
            Ok(next) => {
                self.retire_current();
                self.crowded |= next.len < self.options.segment_bytes && !self.old.is_empty();
                self.current = Some(next);
                self.weigh_room();
                Ok(())
            }
            Err(e @ Error::DiskFull(_)) => Err(e),
            Err(e) => Err(self.fail(e)),
        }
    }

    /// Creates a segment for a group of `group_len` bytes and those after it, as large as the disk allows.
    fn create_segment(&mut self, group_len: u64) -> Result<Current> {
        let least = SEGMENT_HEADER_BYTES as u64 + group_len;
        let mut len = self.segment_bytes().max(least);
        loop {
            let made = match self.has_room(len, len) {
                true => self.create_segment_of(len),
                false => {
                    Err(Error::DiskFull("making a log segment; the rest is kept for a checkpoint".into()))
                }
            };
            match made {
                Err(Error::DiskFull(_)) if len > least => len = (len / STEP).max(least),
                created => return created,
            }
        }
    }

    /// Creates a segment of `len` bytes that starts at the end of the log, durably (D2). The header comes last: what a lack of space
    /// leaves behind has none and is nothing to recovery (R9). The number is not used again.
    fn create_segment_of(&mut self, len: u64) -> Result<Current> {
        let number = self.next_segment;
        self.next_segment += 1;
        debug_assert!(self.old.back().is_none_or(|old| old.number < number), "numbers of segments only grow");
        let name = segment_name(number);
        let header = SegmentHeader {
            number,
            database: self.database,
            start: self.next_lsn,
            durable: self.durable,
            last_ts: self.last_ts,
        };
        let what = || format!("creating the log segment {name}");
        let create = || -> io::Result<Arc<dyn File>> {
            let file = self.disk.open(&name, OpenMode::Create)?;
            file.allocate(0, len)?;
            self.disk.sync_directory()?;
            match file.write_at(&header.encode(), 0) {
                Err(e) if !is_blank(&*file, 0)? => Err(io::Error::other(e)),
                written => written.map(|()| file),
            }
        };
        match create() {
            Ok(file) => {
                file.sync().map_err(|e| uncertain(what(), e))?;
                Ok(Current { number, file, salt: salt(number, self.database), start: self.next_lsn, len })
            }
            Err(e) => {
                // Gives the space back if it can; the file does no harm.
                let _ = self.disk.remove(&name);
                Err(Error::io(what(), e))
            }
        }
    }

    fn retire_current(&mut self) {
        if let Some(current) = self.current.take() {
            self.old.push_back(OldSegment {
                number: current.number,
                end: self.next_lsn,
                last_ts: self.last_ts,
                bytes: current.len,
            });
            self.marks.push_back((self.next_lsn, self.last_ts));
        }
    }

    /// What must be synced so that all groups written until now are durable.
    pub fn sync_ticket(&self) -> SyncTicket {
        debug_assert!(self.unsynced.is_sorted_by(|one, next| one.end < next.end), "files end in their order");
        SyncTicket { files: self.unsynced.iter().map(|u| Arc::clone(&u.file)).collect(), end: self.next_lsn }
    }

    /// A ticket was synced: everything before `end` is durable.
    pub fn note_durable(&mut self, end: Lsn) {
        debug_assert!(end <= self.next_lsn, "what is durable was written");
        self.durable = self.durable.max(end);
        self.unsynced.retain(|u| u.end > end);
    }

    /// Syncs everything written until now, in this thread.
    pub fn sync(&mut self) -> Result<()> {
        self.usable()?;
        let ticket = self.sync_ticket();
        match ticket.sync() {
            Ok(()) => {
                self.note_durable(ticket.end);
                Ok(())
            }
            Err(e) => Err(self.fail(e)),
        }
    }

    /// The greatest known end of a group before which all transactions are at or before `ts`: a checkpoint
    /// that holds everything up to `ts` says to read from here. At most a 64th of a segment is read in vain, or a group.
    pub fn position_after(&self, ts: Timestamp) -> Lsn {
        if self.last_ts <= ts {
            return self.next_lsn;
        }
        let covered = self.marks.partition_point(|(_, last)| *last <= ts);
        match covered {
            0 => self.from,
            n => self.marks[n - 1].0.max(self.from),
        }
    }

    /// Removes the segments that end at or before `from`, the position that a durable checkpoint says to read from (D6).
    /// Returns the bytes of the files removed.
    pub fn remove_before(&mut self, from: Lsn) -> Result<u64> {
        debug_assert!(from <= self.next_lsn, "a checkpoint is not ahead of the log");
        // What is before is in durable bases (D3).
        self.note_durable(from);
        if self.current.as_ref().is_some_and(|c| c.start < self.next_lsn) && self.next_lsn <= from {
            self.retire_current();
        }
        let mut bytes = 0;
        while let Some(segment) = self.old.front().filter(|s| s.end <= from && self.archiving.lets_go(s)) {
            let segment = *segment;
            bytes += segment.bytes;
            self.let_go(segment)?;
            self.old.pop_front();
        }
        let trimmed = self.trim_kept()?;
        if bytes > 0 || trimmed {
            self.disk.sync_directory().map_err(|e| Error::io("syncing the directory", e))?;
        }
        self.from = self.from.max(from);
        let stale = self.marks.partition_point(|(lsn, _)| *lsn <= from);
        self.marks.drain(..stale);
        Ok(bytes)
    }

    /// Refuses everything from now on (D7), because of a failure that the caller saw.
    pub fn poison(&mut self, why: impl Into<String>) {
        self.failure.get_or_insert_with(|| why.into());
    }

    fn fail(&mut self, error: Error) -> Error {
        self.poison(error.to_string());
        error
    }

    fn usable(&self) -> Result<()> {
        match &self.failure {
            Some(why) => Err(Error::Poisoned(why.clone())),
            None => Ok(()),
        }
    }

    /// Where the next group begins.
    pub fn next_lsn(&self) -> Lsn {
        self.next_lsn
    }

    /// Everything before this position is known durable.
    pub fn durable(&self) -> Lsn {
        self.durable
    }

    /// The timestamp of the last transaction written.
    pub fn last_ts(&self) -> Timestamp {
        self.last_ts
    }

    /// How many segment files there are.
    pub fn segments(&self) -> usize {
        self.old.len() + usize::from(self.current.is_some())
    }

    /// The bytes that the segment files take.
    pub fn bytes(&self) -> u64 {
        self.old.iter().map(|s| s.bytes).sum::<u64>() + self.current.as_ref().map_or(0, |c| c.len)
    }
}
