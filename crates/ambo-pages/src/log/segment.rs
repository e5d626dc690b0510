//! Reading one segment file: its header, its groups, and what is behind them.

use std::{io, sync::Arc};

use ambo_types::{Error, Result, id::Lsn};

use super::format::{
    GROUP_ALIGN, GROUP_HEADER_BYTES, GROUP_MAGIC, GroupHeader, NoHeader, SEGMENT_HEADER_BYTES, SegmentHeader,
    salt, segment_name,
};
use crate::{
    io::{Disk, File, OpenMode},
    seal::Keys,
};

/// How much is read at once, at least; a larger group is read whole.
const WINDOW_BYTES: u64 = 1 << 20;

/// A segment file, as it was found.
#[derive(Debug)]
pub(super) struct Segment {
    pub number: u64,
    pub name: String,
    pub file: Arc<dyn File>,
    /// None if there is no valid one.
    pub header: Option<SegmentHeader>,
    pub len: u64,
    /// Of an encrypted database.
    pub keys: Option<Arc<Keys>>,
    database: u128,
    salt: u32,
    window: Vec<u8>,
    window_at: u64,
}

/// What is at a position of a segment.
pub(super) enum Found {
    /// A valid group.
    Group(GroupHeader),
    /// No valid group, and why.
    Nothing(&'static str),
}

/// What is behind a position of a segment.
#[derive(Debug, Default)]
pub(super) struct Behind {
    /// Bytes up to the last that is not zero.
    pub bytes: u64,
    /// Valid groups.
    pub groups: u64,
    /// The greatest `durable` that any of them claims.
    pub claim: Lsn,
    /// Whether a later segment begins behind a gap.
    pub gap: bool,
}

impl Segment {
    /// Opens a segment and reads its header; see the cases R9 to R12 for what is an error.
    pub fn open(disk: &dyn Disk, number: u64, database: u128, mode: OpenMode) -> Result<Self> {
        Self::open_as(disk, segment_name(number), number, database, mode)
    }

    /// As [`Segment::open`], for a file of that name.
    pub fn open_as(
        disk: &dyn Disk,
        name: String,
        number: u64,
        database: u128,
        mode: OpenMode,
    ) -> Result<Self> {
        let file = disk.open(&name, mode).map_err(|e| Error::io(format!("opening {name}"), e))?;
        let mut segment = Self {
            number,
            name,
            file,
            header: None,
            len: 0,
            keys: disk.sealed().map(|sealed| Arc::clone(sealed.keys())),
            database,
            salt: salt(number, database),
            window: Vec::new(),
            window_at: 0,
        };
        segment.refresh()?;
        Ok(segment)
    }

    /// Forgets what was read, asks for the length again, and for the header if there was none: a living writer may have
    /// been busy.
    pub fn refresh(&mut self) -> Result<()> {
        self.window.clear();
        self.len = self.file.len().map_err(|e| self.failed(e))?;
        if self.header.is_none() {
            self.header = self.read_header()?;
        }
        Ok(())
    }

    fn read_header(&mut self) -> Result<Option<SegmentHeader>> {
        let Some(bytes) = self.get(0, SEGMENT_HEADER_BYTES)? else { return Ok(None) };
        let header = match SegmentHeader::decode(bytes.try_into().expect("a header's bytes")) {
            Ok(header) => header,
            Err(NoHeader::Bad) => return Ok(None),
            Err(NoHeader::Version(v)) => {
                return Err(Error::Invalid(format!(
                    "{} has the log format {v}, which a later program wrote",
                    self.name
                )));
            }
        };
        if header.database != self.database {
            return Err(Error::damaged(&self.name, 0, "the segment belongs to another database"));
        }
        if header.number != self.number {
            let what = format!("the segment has the number {:#x} inside", header.number);
            return Err(Error::damaged(&self.name, 0, what));
        }
        Ok(Some(header))
    }

    /// Where the last group ends, if there is nothing else behind it up to the file's end.
    pub fn end(&self) -> Option<Lsn> {
        let start = self.header?.start;
        Some(Lsn(start.0.saturating_add(self.len.checked_sub(SEGMENT_HEADER_BYTES as u64)?)))
    }

    /// Gives the memory of the window back.
    pub fn release(&mut self) {
        self.window = Vec::new();
    }

    pub fn failed(&self, e: io::Error) -> Error {
        Error::io(format!("reading {}", self.name), e)
    }

    /// The file offset of a position, if the header is valid and the position not before it.
    pub fn offset(&self, lsn: Lsn) -> Option<u64> {
        let start = self.header?.start;
        Some((SEGMENT_HEADER_BYTES as u64).saturating_add(lsn.0.checked_sub(start.0)?))
    }

    /// `len` bytes at `offset`; `None` if the file ends before.
    pub fn get(&mut self, offset: u64, len: usize) -> Result<Option<&[u8]>> {
        let Some(end) = offset.checked_add(len as u64).filter(|end| *end <= self.len) else {
            return Ok(None);
        };
        let window_end = self.window_at + self.window.len() as u64;
        if offset < self.window_at || end > window_end {
            let take = (len as u64).max(WINDOW_BYTES).min(self.len - offset) as usize;
            self.window.resize(take, 0);
            // Not to keep the memory of one large group for the rest of the log.
            self.window.shrink_to(take.max(WINDOW_BYTES as usize));
            self.window_at = offset;
            if let Err(e) = self.file.read_at(&mut self.window, offset) {
                self.window.clear();
                return Err(self.failed(e));
            }
        }
        let at = (offset - self.window_at) as usize;
        Ok(Some(&self.window[at..at + len]))
    }

    /// Looks for a group at `offset`, where `lsn` is (if known).
    pub fn group(&mut self, offset: u64, lsn: Option<Lsn>) -> Result<Found> {
        let Some(bytes) = self.get(offset, GROUP_HEADER_BYTES)? else {
            return Ok(Found::Nothing("the file ends here"));
        };
        let Some(header) = GroupHeader::decode(bytes.try_into().expect("a header's bytes")) else {
            return Ok(Found::Nothing("there is no group here"));
        };
        if lsn.is_some_and(|lsn| lsn != header.lsn) {
            return Ok(Found::Nothing("the group here belongs to another position"));
        }
        let salt = self.salt;
        match self.get(offset, GROUP_HEADER_BYTES + header.stored as usize)? {
            None => Ok(Found::Nothing("the group here is longer than the file")),
            Some(group) if GroupHeader::verify(group, salt) => Ok(Found::Group(header)),
            Some(_) => Ok(Found::Nothing("the group here has a wrong checksum")),
        }
    }

    /// The stored bytes of a group that [`Segment::group`] has found.
    pub fn stored(&mut self, offset: u64, header: &GroupHeader) -> Result<&[u8]> {
        let group = self.get(offset, GROUP_HEADER_BYTES + header.stored as usize)?;
        Ok(&group.expect("it was found there")[GROUP_HEADER_BYTES..])
    }

    /// Looks at everything from `offset` to the end: at each aligned position, as lengths there cannot be trusted.
    pub fn behind(&mut self, offset: u64) -> Result<Behind> {
        let mut behind = Behind::default();
        let end = self.last_byte(offset)?;
        behind.bytes = end.saturating_sub(offset);
        let mut at = offset.next_multiple_of(GROUP_ALIGN as u64);
        while let Some(hit) = self.next_magic(at, end)? {
            let lsn = self.header.map(|h| Lsn(h.start.0.wrapping_add(hit - SEGMENT_HEADER_BYTES as u64)));
            at = hit + GROUP_ALIGN as u64;
            if let Found::Group(header) = self.group(hit, lsn)? {
                behind.groups += 1;
                behind.claim = behind.claim.max(header.durable);
                at = hit.saturating_add(header.padded_len());
            }
        }
        Ok(behind)
    }

    /// Writes the bytes between two positions once more, and syncs. A sync alone does not do: if one failed before, the
    /// page cache still shows what the disk does not have, and takes it for clean.
    pub fn make_durable(&mut self, begin: Lsn, end: Lsn) -> Result<()> {
        let span = (self.offset(begin), self.offset(end));
        let (Some(mut at), Some(end)) = span else { unreachable!("the positions are in the segment") };
        let file = Arc::clone(&self.file);
        let what = format!("making {} durable", self.name);
        let failed = |e| Error::io(&*what, e);
        while at < end {
            let take = WINDOW_BYTES.min(end - at) as usize;
            let bytes = self.get(at, take)?.expect("it was read before");
            file.write_at(bytes, at).map_err(failed)?;
            at += take as u64;
        }
        file.sync().map_err(failed)?;
        self.release();
        Ok(())
    }

    /// The end of the last byte that is not zero, at or after `offset`; `offset` if there is none.
    fn last_byte(&mut self, offset: u64) -> Result<u64> {
        let (mut at, mut last) = (offset, offset);
        while at < self.len {
            let take = WINDOW_BYTES.min(self.len - at) as usize;
            let bytes = self.get(at, take)?.expect("within the file");
            // Folding lets the compiler compare many bytes at once; most of a preallocated file is zeros.
            for (i, chunk) in bytes.chunks(4096).enumerate().rev() {
                if chunk.iter().fold(0, |all, byte| all | byte) != 0 {
                    let in_chunk = chunk.iter().rposition(|byte| *byte != 0).expect("one is not zero");
                    last = at + (i * 4096 + in_chunk) as u64 + 1;
                    break;
                }
            }
            at += take as u64;
        }
        Ok(last)
    }

    /// The first aligned position at or after `at` and before `end` with a group's magic.
    fn next_magic(&mut self, mut at: u64, end: u64) -> Result<Option<u64>> {
        while at < end && at + GROUP_ALIGN as u64 <= self.len {
            let take = WINDOW_BYTES.min(self.len - at) as usize / GROUP_ALIGN * GROUP_ALIGN;
            let bytes = self.get(at, take)?.expect("within the file");
            let hit = bytes.chunks_exact(GROUP_ALIGN).position(|chunk| chunk[..4] == GROUP_MAGIC);
            if let Some(hit) = hit {
                return Ok(Some(at + (hit * GROUP_ALIGN) as u64));
            }
            at += take as u64;
        }
        Ok(None)
    }
}
