//! The ends of the log: which segment is the first that counts, and whether what lies behind the last valid group is
//! a torn tail or damage. The cases R1 … and the rules D1 … are in the [parent](super)'s documentation.

use std::io;

use ambo_types::{Error, Result, id::Lsn};

use super::{
    OldSegment,
    format::{SEGMENT_HEADER_BYTES, kept_name, segment_name},
    recovery::{Cut, missing},
    segment::{Behind, Segment},
};
use crate::io::Disk;

/// The index of the first segment to read from `from` on; everything before it is obsolete. If there is none, that of the
/// end, where every segment is without contents (R9).
pub(super) fn first_segment(segments: &mut [Segment], from: Lsn) -> Result<usize> {
    let starts = |s: &Segment| s.header.map(|h| h.start);
    let greatest = segments.iter().filter_map(starts).filter(|start| *start <= from).max();
    let first = match greatest {
        // Of several with one start all but the last are empty.
        Some(start) => segments.iter().rposition(|s| starts(s) == Some(start)).expect("it has a segment"),
        None => 0,
    };
    for segment in &mut segments[first..] {
        if segment.header.is_none() && segment.behind(0)?.groups > 0 {
            // The header was durable before the groups; if it is there now, its writer is alive.
            segment.refresh()?;
            if segment.header.is_none() {
                return Err(Error::damaged(&segment.name, 0, "the segment's header is not valid")); // R10
            }
        }
        segment.release();
    }
    if greatest.is_some() {
        return Ok(first);
    }
    match segments.iter().find(|s| s.header.is_some()) {
        Some(later) => Err(missing(later.number, from)), // R7
        None => Ok(segments.len()),
    }
}

/// Looks again at segments that a living writer may have written to (R15).
pub(super) fn refresh(segments: &mut [Segment]) -> Result<()> {
    segments.iter_mut().try_for_each(|segment| {
        segment.refresh()?;
        segment.release();
        Ok(())
    })
}

/// What is behind `end`, in all segments together. `segments` begins with the one that `end` is in.
pub(super) fn behind(segments: &mut [Segment], end: Lsn) -> Result<Behind> {
    let mut all = Behind::default();
    for (i, segment) in segments.iter_mut().enumerate() {
        let offset = match i {
            0 => segment.offset(end).expect("the end is in the segment"),
            _ => SEGMENT_HEADER_BYTES as u64,
        };
        let one = segment.behind(offset)?;
        segment.release();
        if let (true, Some(header)) = (i > 0, segment.header) {
            if header.start < end && one.groups > 0 {
                return Err(Error::damaged(
                    &segment.name,
                    0,
                    "the segment begins before the one before it ends",
                )); // R11
            }
            all.gap |= header.start > end;
            all.claim = all.claim.max(header.durable);
        }
        all.bytes += one.bytes;
        all.groups += one.groups;
        all.claim = all.claim.max(one.claim);
    }
    Ok(all)
}

/// The segments from the first that counts on, and where reading ended.
pub(super) struct Log {
    pub segments: Vec<Segment>,
    /// The index of the segment that reading ended in.
    pub at: usize,
    pub end: Lsn,
}

impl Log {
    /// Judges what is behind the end: R3, R4, R5 or R6.
    pub fn torn_tail(&self, tail: &Behind, reason: &'static str) -> Result<Option<Cut>> {
        let Some(segment) = self.segments.get(self.at) else { return Ok(None) };
        let offset = segment.offset(self.end).expect("the end is in the segment");
        if tail.claim > self.end {
            let what = format!(
                "{reason}, but the log was durable up to position {} (this is {})",
                tail.claim, self.end
            );
            return Err(Error::damaged(&segment.name, offset, what));
        }
        Ok((tail.bytes > 0 || tail.gap).then(|| Cut {
            file: segment.name.clone(),
            offset,
            bytes_dropped: tail.bytes,
            groups_dropped: tail.groups,
            reason,
        }))
    }

    /// Makes what was read durable, and removes everything else, in the order of D5. What is before `durable` was durable
    /// already. What is in the bases, which are before `from`, is let go as `let_go` does, if anything may. Returns the length of the last
    /// segment that goes on being the log.
    pub fn settle(
        &mut self,
        disk: &dyn Disk,
        from: Option<Lsn>,
        durable: Lsn,
        obsolete: &[u64],
        let_go: fn(&dyn Disk, &[u64]) -> Result<()>,
    ) -> Result<u64> {
        let mut later = self.segments.split_off((self.at + 1).min(self.segments.len()));
        later.extend(self.segments.extract_if(.., |segment| segment.header.is_none()));
        // Nothing is needed if nothing was read: everything is in the bases.
        let read = if from.is_none_or(|from| self.end > from) { 0 } else { self.segments.len() };
        let before: Vec<u64> = self.segments.drain(..read).map(|segment| segment.number).collect();
        let starts: Vec<Lsn> = self.segments.iter().filter_map(|s| s.header.map(|h| h.start)).collect();
        debug_assert_eq!(starts.len(), self.segments.len(), "segments that stay have headers");
        for (i, segment) in self.segments.iter_mut().enumerate() {
            let end = starts.get(i + 1).map_or(self.end, |next| (*next).min(self.end));
            let begin = starts[i].max(durable);
            if begin < end {
                segment.make_durable(begin, end)?;
            }
        }
        if !later.is_empty() {
            // First and durably: without the segment that they follow they would look like damage (R7).
            remove(disk, &later.iter().map(|segment| segment.number).collect::<Vec<_>>())?;
        }
        let_go(disk, &[obsolete, &before].concat())?;
        let Some(last) = self.segments.last() else { return Ok(0) };
        let offset = last.offset(self.end).expect("the end is in the segment");
        if last.len > offset {
            let cut = last.file.set_len(offset).and_then(|()| last.file.sync());
            cut.map_err(|e| Error::io(format!("cutting {}", last.name), e))?;
        }
        Ok(offset)
    }
}

/// The segments that others follow, with their ends: all but the last of those with a header.
pub(super) fn ends_of(segments: &[Segment]) -> Vec<OldSegment> {
    let with_headers: Vec<_> =
        segments.iter().filter_map(|segment| Some((segment, segment.header?))).collect();
    let pairs = with_headers.windows(2);
    let old = pairs.map(|pair| {
        let ((segment, _), (_, next)) = (pair[0], pair[1]);
        OldSegment { number: segment.number, end: next.start, last_ts: next.last_ts, bytes: segment.len }
    });
    old.collect()
}

/// Keeps segments for those who follow changes, durably.
pub(super) fn keep(disk: &dyn Disk, numbers: &[u64]) -> Result<()> {
    for number in numbers {
        let (from, to) = (segment_name(*number), kept_name(*number));
        disk.rename(&from, &to).map_err(|e| Error::io(format!("renaming {from} to {to}"), e))?;
    }
    disk.sync_directory().map_err(|e| Error::io("syncing the directory", e))
}

/// Removes segments, durably.
pub(super) fn remove(disk: &dyn Disk, numbers: &[u64]) -> Result<()> {
    for number in numbers {
        let name = segment_name(*number);
        match disk.remove(&name) {
            Err(e) if e.kind() != io::ErrorKind::NotFound => {
                return Err(Error::io(format!("removing {name}"), e));
            }
            _ => {}
        }
    }
    disk.sync_directory().map_err(|e| Error::io("syncing the directory", e))
}
