//! The log: what was committed, in order, before it is anywhere else on disk.
//!
//! The log is a sequence of **groups**, each of one or more whole transactions, in segment files named `log-` and the segment's
//! number in 16 hexadecimal digits. A position in the log as a whole is an [`Lsn`]; it counts the bytes of groups,
//! not of segment headers, and runs on across segments. The formats are in [`mod@format`] and [`transaction`].
//!
//! There are no threads here and timestamps are given by the caller: it fills a [`GroupBuffer`], hands it to
//! [`LogWriter::write_group`], and syncs with a [`SyncTicket`] while others fill the next buffer.
//!
//! # Durability rules
//!
//! * **D1** A group is one write. It is durable, and its transactions may be acknowledged as durable, when a [`SyncTicket`]
//!   taken after its write has been synced with success: the ticket holds every file with groups that are not known durable.
//! * **D2** A segment's reserved space, header and name are durable before its first group is written.
//! * **D3** The `durable` position in a group or segment header claims only what is so: everything before it was synced, or is
//!   in the bases of a durable checkpoint.
//! * **D4** A group that was written is never overwritten with other bytes. After an opening, writing goes on in a new segment.
//! * **D5** Recovery makes durable what it delivered before the writer exists, for the writer claims it (D3): what no group claims is
//!   *written again* and synced, since after a failed sync the page cache shows what the disk does not have. A tail is cut in this order:
//!   later segments are removed, the directory is synced, the segment is cut, the segment is synced. A crash in between leaves a tail that
//!   the next recovery judges alike.
//! * **D6** A segment is removed when it ends at or before the position that a durable checkpoint says to read from;
//!   the directory is synced before the removal is reported.
//!   If the log is to be kept for those who follow changes ([`LogWriter::keep`]), the segment is cut to its groups and renamed instead.
//!   Recovery does not know kept segments; the oldest go when they are more than is to be kept.
//! * **D9** While the log is archived ([`LogWriter::archive`]) no segment is removed or renamed before its groups are in the archive,
//!   durably. Only what is durable is archived (D1, D3), so what is there is never taken back by a crash.
//! * **D7** After a failed sync, or a write or creation that failed for another reason than space, what is on disk is not certain. The
//!   writer refuses everything from then on ([`Error::Poisoned`](ambo_types::Error::Poisoned)).
//! * **D8** A group that was refused for lack of space is erased, durably, before that is reported: what was
//!   refused does not come back. If it cannot be erased, D7 holds.
//!
//! # Space
//!
//! A segment's space is reserved when it is created ([`LogOptions::segment_bytes`]), so that groups go into space that is there. On a
//! small disk it gets an eighth of what is free, 64 KiB at least; when that is refused, a quarter of it, and so on down to what its first
//! group needs. Only then is the disk full. Once such a segment is used up, the writer asks for a checkpoint
//! ([`LogWriter::take_crowded`]), which lets the log before it go. No segment takes the room that this checkpoint needs, and the last
//! before that is for deletes ([`LogWriter::keep_room`]). No size is part of the format.
//!
//! # Recovery: what is found, what is done
//!
//! Reading starts at the checkpoint's position, in the last segment with the greatest start at or before it, and
//! goes on group by group. It stops at a position X where no valid group is: wrong magic, length, checksum or position, zeros, or
//! the end of the file.
//!
//! | | found | done |
//! |---|---|---|
//! | **R1** | a valid group at X | its transactions after the checkpoint's timestamp are delivered |
//! | **R2** | none at X, and nothing behind it in the segment claims `durable > X`; a later segment starts at X | reading goes on there. What lies behind X was cut by an earlier recovery, or is what is left of a refused group; whole groups there are reported |
//! | **R3** | none at X; only zeros behind X, no later group | the normal end |
//! | **R4** | none at X; other bytes or valid groups behind, but none claims `durable > X` | a torn tail: never acknowledged as durable. Cut and reported |
//! | **R5** | none at X; a later group or segment header claims `durable > X` | [`Error::Damaged`](ambo_types::Error::Damaged) at X |
//! | **R6** | later segments start behind X, the one at X is missing | as R4 or R5: what they claim decides |
//! | **R7** | segments, but none starts at or before the checkpoint's position | `Damaged`: the first one needed is missing |
//! | **R8** | no segment at all | an empty log that starts at the checkpoint's position |
//! | **R9** | a segment with no valid header and no valid group | a crash while it was created (D2): removed, not reported |
//! | **R10** | a segment with no valid header but a valid group | `Damaged` at its byte 0: by D2 the header was durable |
//! | **R11** | a valid header with another database, another number than the name, a start that goes back | `Damaged` at its byte 0 |
//! | **R12** | a valid header of an unknown version | `Invalid`: a later program wrote it |
//! | **R13** | segments wholly before the checkpoint's position | removed unread, or kept: a crash came before that (D6); while the log is archived they stay (D9) |
//! | **R14** | a valid group whose contents cannot be read, or whose timestamps go back | `Damaged` at the group |
//! | **R15** | read-only, R5 | X is read once more, as a living writer may have been in between; then as R5 |
//!
//! Read-only recovery judges alike and changes nothing. What it cannot see: damage to groups that were synced but that no later
//! group claims, such as the very last one, looks like a torn tail, and is reported as a cut.

use std::time::Duration;

use ambo_types::id::{Lsn, Timestamp};

pub mod archive;
pub mod buffer;
pub mod changes;
mod compress;
pub mod format;
pub mod recovery;
mod sealing;
mod segment;
mod tail;
pub mod transaction;
pub mod writer;

pub use self::{
    archive::{ArchivedLog, ArchivedSegment, Copied},
    buffer::{EncodedOps, GroupBuffer},
    changes::LoggedChanges,
    recovery::{Access, Cut, Recovery, Start, recover},
    transaction::{Operation, Operations},
    writer::{LogWriter, SyncTicket},
};

/// How the log is written.
#[derive(Clone, Debug)]
pub struct LogOptions {
    /// The size of a segment file, in bytes; reserved when it is created. A larger group gets a segment of its own, and a small disk gets
    /// smaller segments.
    pub segment_bytes: u64,
    /// Whether groups are compressed (LZ4) where that pays.
    pub compress: bool,
}

impl Default for LogOptions {
    fn default() -> Self {
        Self { segment_bytes: 64 << 20, compress: false }
    }
}

/// Where a writer goes on; comes from [`recover`], or is [`LogPosition::default`] for a new database.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct LogPosition {
    /// The number of the next segment; greater than that of any file there.
    pub next_segment: u64,
    /// Where the next group begins. Everything before is durable.
    pub next_lsn: Lsn,
    /// Where reading began: the checkpoint's position.
    pub from: Lsn,
    /// The timestamp of the last transaction before.
    pub last_ts: Timestamp,
    /// When that was, since 1970 began, if it was read.
    pub last_time: Option<Duration>,
    /// The segments that are there, oldest first.
    pub segments: Vec<OldSegment>,
}

impl Default for LogPosition {
    fn default() -> Self {
        Self {
            next_segment: 1,
            next_lsn: Lsn(0),
            from: Lsn(0),
            last_ts: Timestamp(0),
            last_time: None,
            segments: Vec::new(),
        }
    }
}

/// A segment that is no longer written to.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct OldSegment {
    /// Its number.
    pub number: u64,
    /// Where its last group ends.
    pub end: Lsn,
    /// The timestamp of its last transaction, or of the last one before it.
    pub last_ts: Timestamp,
    /// The bytes that it takes on disk.
    pub bytes: u64,
}

#[cfg(test)]
mod tests;
