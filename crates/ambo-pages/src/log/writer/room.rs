//! How much of the disk the log takes, and what it leaves.
//!
//! A log that has filled the disk can be let go by a checkpoint only, and a checkpoint has to write what the log holds. So a segment is
//! only made if that has room beside it. Above this there is a little that is kept for deletes: the writer says when it has come to
//! that, and its caller refuses everything else.

use super::{Current, LogWriter};

/// A segment takes at most one part in so many of the free disk. A checkpoint needs room for what the log holds, and it must find
/// that before the log is gone.
const FREE_SHARE: u64 = 8;
/// A segment is not made smaller for the share: each costs syncs of its own.
const SHARE_BYTES_MIN: u64 = 64 << 10;
/// A checkpoint writes at most so many times what the log has of it: pages are half full in the worst case.
const PAGES_PER_LOG: u64 = 2;
/// What is kept for deletes, beyond what checkpoints need.
const DELETES_BYTES: u64 = 128 << 10;

impl LogWriter {
    /// From now on segments leave room for a checkpoint of what the log holds: for its rows, and for `bytes` besides. Where the disk
    /// does not say what is free they cannot.
    pub fn keep_room(&mut self, bytes: u64) {
        self.checkpoint_bytes = Some(bytes);
    }

    /// What is free on the log's disk; `None` if that has no limit or is not known.
    pub fn free_bytes(&self) -> Option<u64> {
        self.disk.free_bytes()
    }

    /// Whether what is left is kept for deletes.
    pub fn is_tight(&self) -> bool {
        self.tight
    }

    /// Looks again how much room there is. Returns [`LogWriter::is_tight`].
    pub fn weigh_room(&mut self) -> bool {
        self.tight = match self.current {
            Some(Current { len, .. }) => !self.has_room(DELETES_BYTES, len),
            None => !self.has_room(DELETES_BYTES + SHARE_BYTES_MIN, SHARE_BYTES_MIN),
        };
        self.tight
    }

    /// Whether the disk has room for `bytes`, and for a checkpoint once the log holds `more` bytes than now.
    pub(super) fn has_room(&self, bytes: u64, more: u64) -> bool {
        let (Some(besides), Some(free)) = (self.checkpoint_bytes, self.free_bytes()) else { return true };
        free >= bytes + (self.held_bytes() + more) * PAGES_PER_LOG + besides
    }

    /// Bytes of the groups since the last checkpoint, before they were compressed: as much less as it was for all that were written.
    fn held_bytes(&self) -> u64 {
        debug_assert!(self.from <= self.next_lsn, "a checkpoint is not ahead of the log");
        let stored = self.next_lsn.0 - self.from.0;
        let raw = u128::from(stored) * u128::from(self.written.raw) / u128::from(self.written.stored.max(1));
        stored.max(u64::try_from(raw).unwrap_or(u64::MAX))
    }

    /// The size of a segment, as the options say or as the free disk allows.
    pub(super) fn segment_bytes(&self) -> u64 {
        let wanted = self.options.segment_bytes;
        match self.free_bytes() {
            Some(free) => wanted.min((free / FREE_SHARE).max(SHARE_BYTES_MIN)),
            None => wanted,
        }
    }

    /// Whether, since this was last asked, the log went on in another segment and the disk had no room for a whole one: a checkpoint
    /// that lets segments go is due.
    pub fn take_crowded(&mut self) -> bool {
        std::mem::take(&mut self.crowded)
    }
}
