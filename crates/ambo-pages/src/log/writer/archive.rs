//! Segments that are archived before they may go (D9).

use ambo_types::id::{Lsn, Timestamp};

use super::{Current, LogWriter, OldSegment};
use crate::log::archive::ArchivedSegment;

/// How far the log is archived.
#[derive(Clone, Copy, Debug)]
pub(super) enum Archiving {
    /// It is not to be.
    Off,
    /// All before this position is in the archive.
    UpTo(Lsn),
}

impl Archiving {
    /// Whether a segment may be removed or renamed.
    pub fn lets_go(self, segment: &OldSegment) -> bool {
        match self {
            Self::Off => true,
            Self::UpTo(archived) => segment.end <= archived,
        }
    }
}

impl LogWriter {
    /// From now on no segment goes before it is archived; or none has to be.
    pub fn archive(&mut self, on: bool) {
        self.archiving = match (on, self.archiving) {
            (false, _) => Archiving::Off,
            (true, Archiving::Off) => Archiving::UpTo(Lsn(0)),
            (true, on) => on,
        };
    }

    /// Whether segments are archived before they go.
    pub fn is_archived(&self) -> bool {
        matches!(self.archiving, Archiving::UpTo(_))
    }

    /// The closed segments that are not archived and known durable, oldest first; and what the open one has that is durable, if that is
    /// asked for.
    pub fn to_archive(&self, with_open: bool) -> Vec<ArchivedSegment> {
        let archived = self.archived();
        let old = self.old.iter().map(|old| self.closed(old));
        let open = self.current.as_ref().filter(|_| with_open).map(|open| self.opened(open));
        old.filter(|segment| segment.end <= self.durable).chain(open).filter(|s| s.end > archived).collect()
    }

    /// All segments that there are, oldest first, up to where they are known durable.
    pub fn durable_segments(&self) -> Vec<ArchivedSegment> {
        let old = self.old.iter().map(|old| self.closed(old));
        old.chain(self.current.as_ref().map(|open| self.opened(open))).collect()
    }

    fn closed(&self, old: &OldSegment) -> ArchivedSegment {
        ArchivedSegment { number: old.number, end: old.end, last_ts: old.last_ts }
    }

    fn opened(&self, open: &Current) -> ArchivedSegment {
        let before = self.old.back().map_or(Timestamp(0), |old| old.last_ts);
        let last_ts = if self.durable == self.next_lsn { self.last_ts } else { before };
        ArchivedSegment { number: open.number, end: self.durable.max(open.start), last_ts }
    }

    /// All before this position is in the archive, durably.
    pub fn note_archived(&mut self, end: Lsn) {
        debug_assert!(end <= self.durable, "only what is durable is archived");
        if let Archiving::UpTo(archived) = &mut self.archiving {
            *archived = (*archived).max(end);
        }
    }

    /// The archive that was written to is another now, with all before this position.
    pub fn begin_archive(&mut self, end: Lsn) {
        self.archiving = Archiving::UpTo(end);
    }

    /// All before this position is in the archive.
    pub fn archived(&self) -> Lsn {
        match self.archiving {
            Archiving::Off => Lsn(0),
            Archiving::UpTo(archived) => archived,
        }
    }

    /// Closes the segment that is written to. From here on the log is archived, and nothing before.
    pub fn begin_archive_here(&mut self) {
        self.retire_current();
        self.archiving = Archiving::UpTo(self.next_lsn);
    }

    /// The position that the last checkpoint says to read from.
    pub fn from(&self) -> Lsn {
        self.from
    }

    /// Bytes of closed segments that wait to be archived.
    pub fn bytes_to_archive(&self) -> u64 {
        let waits = |old: &&OldSegment| !self.archiving.lets_go(old);
        self.old.iter().filter(waits).map(|old| old.bytes).sum()
    }
}
