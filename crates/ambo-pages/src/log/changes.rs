//! Reading what was committed from the log, for those who follow changes. Recovery is another thing: there nobody writes.
//!
//! Only what is known durable is read: a crash may take the rest, and give its timestamps to other commits. Every group up to there is in
//! one of the segments, in order; so what is missing or wrong is damage, wherever it is.

use std::collections::VecDeque;

use ambo_types::{
    Error, Result,
    id::{Lsn, Timestamp},
};

use super::{
    recovery::{Buffers, Group, check_order, deliver},
    segment::{Found, Segment},
    transaction::{Operations, Origin},
};
use crate::io::{Disk, OpenMode};

/// The commits of a part of the log. It has its files open, so they stay readable whatever becomes of them.
#[derive(Debug)]
pub struct LoggedChanges {
    segments: VecDeque<Segment>,
    /// The end of what was read.
    lsn: Lsn,
    /// Nothing is read from here on.
    end: Lsn,
    after: Timestamp,
    last_ts: Timestamp,
    buffers: Buffers,
}

impl LoggedChanges {
    /// What was committed after `after` and is before `end`, in segments by name and number, oldest first; `last` is the last commit.
    pub(super) fn open(
        disk: &dyn Disk,
        database: u128,
        names: &[(String, u64)],
        after: Timestamp,
        (end, last): (Lsn, Timestamp),
    ) -> Result<Self> {
        let mut segments = VecDeque::new();
        for (name, number) in names {
            let mut segment = Segment::open_as(disk, name.clone(), *number, database, OpenMode::Read)?;
            segment.release();
            // A crash may leave one that was never written to. If it was, what it had is missed below.
            if segment.header.is_some() {
                segments.push_back(segment);
            }
        }
        let before = |segment: &Segment| segment.header.expect("it was looked at").last_ts;
        let reached = segments.front().map_or(last, before);
        if reached > after {
            return Err(too_old(after, reached));
        }
        // All commits of a segment but the last one that begins at or before the moment are at or before it.
        let from = segments.iter().rposition(|segment| before(segment) <= after).unwrap_or_default();
        segments.drain(..from);
        let lsn = segments.front().map_or(end, |segment| segment.header.expect("it was looked at").start);
        Ok(Self { segments, lsn, end, after, last_ts: Timestamp(0), buffers: Buffers::default() })
    }

    /// What was committed after `after`, in segments that follow each other and end there. REQUIRES: the first one begins at or before it.
    pub(super) fn of(segments: VecDeque<Segment>, after: Timestamp, end: Lsn) -> Self {
        let lsn = segments.front().map_or(end, |segment| segment.header.expect("it was looked at").start);
        Self { segments, lsn, end, after, last_ts: Timestamp(0), buffers: Buffers::default() }
    }

    /// Hands the commits of the next group to `visit`, in order; there may be none after the moment. False at the end.
    ///
    /// # Errors
    /// [`Error::Damaged`] for what is not as it was written.
    pub fn read_group<V>(&mut self, visit: &mut V) -> Result<bool>
    where
        V: FnMut(Timestamp, Operations<'_>) -> Result<()>,
    {
        while self.lsn < self.end {
            let Some(segment) = self.segments.front_mut() else {
                return Err(Error::damaged(
                    "log",
                    0,
                    format!("the log from position {} on is missing", self.lsn),
                ));
            };
            let offset = segment.offset(self.lsn).expect("it begins at or before the position");
            let reason = match segment.group(offset, Some(self.lsn))? {
                Found::Group(header) => {
                    let source = Origin { file: &segment.name.clone(), offset };
                    check_order(&header, self.last_ts, source)?;
                    let keys = segment.keys.clone();
                    let stored = segment.stored(offset, &header)?;
                    let group = Group { header: &header, stored, keys: keys.as_ref(), source };
                    deliver(&group, &mut self.buffers, self.after, visit)?;
                    (self.lsn, self.last_ts) = (header.end(), header.last_ts);
                    return Ok(true);
                }
                Found::Nothing(reason) => reason,
            };
            // Between two that follow each other there may be one that a crash has cut off.
            let goes_on = |next: &Segment| next.header.is_some_and(|header| header.start == self.lsn);
            let Some(next) = self.segments.iter().skip(1).position(goes_on) else {
                let what = format!("{reason}, but the log is durable up to position {}", self.end);
                return Err(Error::damaged(&self.segments[0].name, offset, what));
            };
            self.segments.drain(..=next);
        }
        Ok(false)
    }
}

fn too_old(after: Timestamp, oldest: Timestamp) -> Error {
    Error::NotFound(format!(
        "what was committed after {after}: the log reaches back to {oldest} only (Options::keep_log_bytes says how much is kept); \
         begin anew with a snapshot"
    ))
}
