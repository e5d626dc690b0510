//! Segments that no recovery needs, kept for those who follow changes.

use std::{collections::VecDeque, io};

use ambo_types::{
    Error, Result,
    id::{Lsn, Timestamp},
};

use super::{LogWriter, OldSegment};
use crate::{
    io::OpenMode,
    log::{
        changes::LoggedChanges,
        format::{SEGMENT_HEADER_BYTES, SegmentHeader, kept_name, kept_number, segment_name},
    },
};

/// A segment that is kept.
#[derive(Debug)]
pub(super) struct Kept {
    number: u64,
    bytes: u64,
}

impl LogWriter {
    /// From now on up to `bytes` of segments that no recovery needs are kept; what there is of earlier ones counts.
    pub fn keep(&mut self, bytes: u64) -> Result<()> {
        self.keep_bytes = bytes;
        let failed = |e| Error::io("looking for kept segments of the log", e);
        let names = self.disk.list().map_err(failed)?;
        let mut numbers: Vec<u64> = names.iter().filter_map(|name| kept_number(name)).collect();
        numbers.sort_unstable();
        let mut kept = VecDeque::new();
        for number in numbers {
            let file = self.disk.open(&kept_name(number), OpenMode::Read).map_err(failed)?;
            kept.push_back(Kept { number, bytes: file.len().map_err(failed)? });
        }
        self.kept = kept;
        if self.trim_kept()? { self.sync_names() } else { Ok(()) }
    }

    /// What was committed after `after`, of what is known durable. What is written meanwhile is not in it.
    ///
    /// # Errors
    /// [`Error::NotFound`] if the log does not reach back so far.
    pub fn changes_after(&self, after: Timestamp) -> Result<LoggedChanges> {
        let of_log = self.old.iter().map(|segment| segment.number);
        let of_log = of_log.chain(self.current.as_ref().map(|current| current.number));
        let kept = self.kept.iter().map(|kept| (kept_name(kept.number), kept.number));
        let names: Vec<_> = kept.chain(of_log.map(|number| (segment_name(number), number))).collect();
        let end = (self.durable, self.last_ts);
        LoggedChanges::open(&*self.disk, self.database, &names, after, end)
    }

    /// Keeps or removes a segment that no recovery needs. Durable with the next sync of the directory.
    pub(super) fn let_go(&mut self, segment: OldSegment) -> Result<()> {
        let name = segment_name(segment.number);
        let failed = |e| Error::io(format!("letting go of the log segment {name}"), e);
        if self.keep_bytes == 0 {
            return match self.disk.remove(&name) {
                Err(e) if e.kind() != io::ErrorKind::NotFound => Err(failed(e)),
                _ => Ok(()),
            };
        }
        let bytes = self.cut(&name, segment.end).map_err(failed)?;
        self.disk.rename(&name, &kept_name(segment.number)).map_err(failed)?;
        self.kept.push_back(Kept { number: segment.number, bytes });
        Ok(())
    }

    /// Gives back what was reserved and not used. Returns how many bytes are left.
    fn cut(&self, name: &str, end: Lsn) -> io::Result<u64> {
        let file = self.disk.open(name, OpenMode::ReadWrite)?;
        let mut header = [0; SEGMENT_HEADER_BYTES];
        file.read_at(&mut header, 0)?;
        let len = file.len()?;
        // What cannot be read is for the reader to tell.
        let Ok(header) = SegmentHeader::decode(&header) else { return Ok(len) };
        let used = SEGMENT_HEADER_BYTES as u64 + end.0.saturating_sub(header.start.0);
        if used < len {
            file.set_len(used)?;
        }
        Ok(used.min(len))
    }

    /// Removes the oldest segments that are more than is to be kept, or more than half of what the disk has free: history is not what fills
    /// it. Returns whether there were any.
    pub(super) fn trim_kept(&mut self) -> Result<bool> {
        if self.kept.is_empty() {
            return Ok(false);
        }
        let most = self.free_bytes().map_or(self.keep_bytes, |free| self.keep_bytes.min(free / 2));
        let mut bytes: u64 = self.kept.iter().map(|kept| kept.bytes).sum();
        let before = self.kept.len();
        while bytes > most
            && let Some(oldest) = self.kept.front()
        {
            let name = kept_name(oldest.number);
            match self.disk.remove(&name) {
                Err(e) if e.kind() != io::ErrorKind::NotFound => {
                    return Err(Error::io(format!("removing {name}"), e));
                }
                _ => {}
            }
            bytes -= oldest.bytes;
            self.kept.pop_front();
        }
        debug_assert_eq!(bytes, self.kept_bytes(), "bytes are those of segments that are kept");
        Ok(self.kept.len() < before)
    }

    fn sync_names(&self) -> Result<()> {
        self.disk.sync_directory().map_err(|e| Error::io("syncing the directory", e))
    }

    /// Bytes of segments that are kept.
    pub fn kept_bytes(&self) -> u64 {
        self.kept.iter().map(|kept| kept.bytes).sum()
    }
}
