//! Compacting: new rows become a run of their own, the rows that they replace are marked as deleted, and runs are merged.
//!
//! # When runs are merged
//!
//! A look-up asks every run whose keys are around its key, so there must be few; a merge writes all that it takes. Runs belong to a
//! level by their rows, each level holding [`FANOUT`] times as much as the one before. As soon as a level has [`FANOUT`] runs, they are
//! merged with all smaller ones into one of a higher level, so a row is rewritten once a level: a logarithmic number of times (the
//! tiered scheme of LSM trees). Besides, a segment without rows goes at once, and one of which [`WORN_PERCENT`] is deleted is
//! written anew.

use std::{collections::BTreeMap, sync::atomic::AtomicBool};

use ambo_codec::bitmap::Bitmap;
use ambo_pages::sync::Ordering;
use ambo_types::{
    Error, Result,
    record::{Record, RecordKind},
};

use super::{
    builder::RunBuilder,
    finder::{FOUND_TOGETHER, Finder},
    merge::merge,
    run::{ColumnRun, Part},
    segment::CachedPart,
    set::{ColumnSet, RowPlace},
    unique::delete,
};
use crate::btree::RowStream;
use ambo_scan::Strings;

/// Runs of a level, and how much larger the next level's are.
const FANOUT: usize = 4;
/// Rows of the runs of the lowest level.
const LEVEL_ROWS: u64 = 64 << 10;
/// A segment is worn if so many hundredths of its rows are deleted: scans pass by them …
const WORN_PERCENT: u64 = 20;
/// … and if all is to be merged, if so many are: then its space counts, not what it costs to write it.
const WORN_PERCENT_OF_ALL: u64 = 13;

/// Reads a long value that a record refers to.
pub type ReadBlob<'a> = dyn Fn(&[u8]) -> Result<Vec<u8>> + 'a;

impl ColumnSet {
    /// Takes in rows that are newer than its own, in key order, tombstones among them.
    ///
    /// New segments are written and synced, their directory entries are not. They go again unless they are kept
    /// ([`super::Segment::keep`]).
    pub fn compact(
        &self,
        rows: &mut dyn RowStream,
        read_blob: &ReadBlob<'_>,
        cancel: &AtomicBool,
    ) -> Result<ColumnSet> {
        let mut builder = RunBuilder::new(self.store(), self.schema());
        let mut replaced: BTreeMap<(usize, usize), Vec<u64>> = BTreeMap::new();
        let mut finder = Finder::new(self);
        let mut keys = Strings::default();
        let (mut came, mut gone) = (0, 0);
        loop {
            if cancel.load(Ordering::Relaxed) {
                return Err(Error::Cancelled);
            }
            keys.clear();
            while keys.len() < FOUND_TOGETHER
                && let Some((key, record)) = rows.next_row()?
            {
                push(&mut builder, key, record, read_blob)?;
                came += u64::from(record.kind != RecordKind::Tombstone);
                keys.push(key);
            }
            if keys.is_empty() {
                break;
            }
            for RowPlace { run, place } in finder.find_all(&keys.all())?.into_iter().flatten() {
                replaced.entry((run, place.part)).or_default().push(u64::from(place.row));
            }
        }
        let mut runs = self.runs().to_vec();
        for ((run, part), rows) in replaced {
            gone += rows.len() as u64;
            let rows = Bitmap::from_sorted(rows).expect("rows of a segment ascend with their keys");
            delete(&mut runs[run].parts[part], &rows);
        }
        let run = builder.finish()?;
        assert_eq!(run.live_rows(), came, "all rows that came are in segments");
        if !run.parts.is_empty() {
            runs.push(run);
        }
        let new = self.with_runs(runs);
        assert_eq!(new.live_rows() + gone, self.live_rows() + came, "a row goes for each that replaces it");
        Ok(new)
    }

    /// Whether [`Self::merge segments`] has something to do.
    pub fn is_segment_merge_due(&self) -> bool {
        let mut rows: Vec<_> = self.runs().iter().map(ColumnRun::live_rows).collect();
        rows.sort_unstable_by(|a, b| b.cmp(a));
        due_of(&rows).is_some() || self.parts().any(|part| is_worn(part, false))
    }

    /// Merges runs that are due, and rewrites segments of which much is deleted. `all`: everything into one run.
    pub fn merge_segments(&self, all: bool, cancel: &AtomicBool) -> Result<ColumnSet> {
        let mut runs = self.runs().to_vec();
        runs.iter_mut().for_each(|run| run.parts.retain(|part| part.live_rows() > 0));
        runs.retain(|run| !run.parts.is_empty());
        // Largest first, so that those to be merged are the last.
        runs.sort_by_key(|run| std::cmp::Reverse(run.live_rows()));
        while let Some(first) = if all { everything(&runs) } else { due(&runs) } {
            let merged = {
                let inputs: Vec<_> = runs[first..].iter().collect();
                self.merge(&inputs, cancel)?
            };
            runs.truncate(first);
            runs.push(merged);
            runs.sort_by_key(|run| std::cmp::Reverse(run.live_rows()));
        }
        for run in &mut runs {
            if run.parts.iter().any(|part| is_worn(part, all)) {
                *run = self.rewrite_worn(run, all, cancel)?;
            }
        }
        let new = self.with_runs(runs);
        assert_eq!(new.live_rows(), self.live_rows(), "merging keeps all rows that are left");
        Ok(new)
    }

    /// Writes the worn segments of a run anew, neighbours together.
    fn rewrite_worn(&self, run: &ColumnRun, all: bool, cancel: &AtomicBool) -> Result<ColumnRun> {
        let mut parts = Vec::new();
        for group in run.parts.chunk_by(|a, b| is_worn(a, all) == is_worn(b, all)) {
            match is_worn(&group[0], all) {
                false => parts.extend_from_slice(group),
                true => {
                    let worn = ColumnRun { parts: group.to_vec() };
                    parts.extend(self.merge(&[&worn], cancel)?.parts);
                }
            }
        }
        let written = ColumnRun { parts };
        debug_assert!(written.is_in_order(), "segments of a run follow each other");
        debug_assert_eq!(written.live_rows(), run.live_rows(), "rows that are left stay");
        Ok(written)
    }

    /// Merges runs. What comes of segments that have filters of their keys has some, too: else the next look-ups or loads would have to
    /// make them.
    fn merge(&self, runs: &[&ColumnRun], cancel: &AtomicBool) -> Result<ColumnRun> {
        let merged = merge(self.store(), self.schema(), runs, cancel)?;
        let rows = runs.iter().map(|run| run.live_rows()).sum::<u64>();
        assert_eq!(merged.live_rows(), rows, "merging keeps all rows that are left");
        if runs.iter().flat_map(|run| &run.parts).any(|part| part.segment.has_kept(CachedPart::Filter)) {
            for part in &merged.parts {
                part.segment.key_filter(self.schema())?;
            }
        }
        Ok(merged)
    }

    fn with_runs(&self, runs: Vec<ColumnRun>) -> Self {
        Self::new(self.store().clone(), self.schema().clone(), runs)
    }
}

fn push(builder: &mut RunBuilder, key: &[u8], record: Record<'_>, read_blob: &ReadBlob<'_>) -> Result<()> {
    match record.kind {
        RecordKind::Inline => builder.push(key, record.bytes),
        RecordKind::Blob => builder.push(key, &read_blob(record.bytes)?),
        RecordKind::Tombstone => Ok(()),
    }
}

fn is_worn(part: &Part, all: bool) -> bool {
    let percent = if all { WORN_PERCENT_OF_ALL } else { WORN_PERCENT };
    u64::from(part.deleted_rows()) * 100 >= u64::from(part.rows()) * percent
}

fn level(rows: u64) -> u32 {
    (rows / LEVEL_ROWS).checked_ilog(FANOUT as u64).map_or(0, |level| level + 1)
}

/// The first of the runs, largest first, that is to be merged with all that follow it.
fn due(runs: &[ColumnRun]) -> Option<usize> {
    due_of(&runs.iter().map(ColumnRun::live_rows).collect::<Vec<_>>())
}

fn due_of(rows: &[u64]) -> Option<usize> {
    debug_assert!(rows.is_sorted_by(|one, next| one >= next), "the largest run comes first");
    // The highest level that is full: what is below it goes with it.
    let mut start = 0;
    for same in rows.chunk_by(|a, b| level(*a) == level(*b)) {
        if same.len() >= FANOUT {
            return Some(start);
        }
        start += same.len();
    }
    None
}

fn everything(runs: &[ColumnRun]) -> Option<usize> {
    (runs.len() > 1).then_some(0)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Keeps away: write amplification that grows faster than a logarithm, and ever more runs, under endless compacting.
    #[test]
    fn endless_compacting_stays_cheap() {
        let (mut runs, mut written, mut most) = (Vec::<u64>::new(), 0u64, 0);
        let (flushes, rows) = (20_000, 10_000);
        for _ in 0..flushes {
            runs.push(rows);
            written += rows;
            runs.sort_by_key(|rows| std::cmp::Reverse(*rows));
            while let Some(first) = due_of(&runs) {
                let merged: u64 = runs.drain(first..).sum();
                written += merged;
                runs.push(merged);
                runs.sort_by_key(|rows| std::cmp::Reverse(*rows));
            }
            most = most.max(runs.len());
        }
        let amplification = written as f64 / (flushes * rows) as f64;
        assert!(amplification < 10.0, "write amplification {amplification}");
        assert!(most < 24, "{most} runs");
        assert_eq!(due_of(&[1 << 40, 1 << 30, 5, 4, 3]), None);
        assert_eq!(due_of(&[1 << 40, 1 << 30, 5, 4, 3, 3]), Some(2));
    }
}
