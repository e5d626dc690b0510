//! Which slot of the last level is merged next, and when.
//!
//! A merge of a slot rewrites its parts, whatever is above them. So it pays to wait until much is, and to take the slot with the most above
//! it: slots that were just merged have nothing, the next one has twice the average. What waits takes room and time of readers, so it is
//! bounded: [`Level::is_due`].

use std::{ops::Range, sync::Arc};

use ambo_types::Result;

use super::parts::Parts;
use crate::{
    Compaction,
    btree::{Tree, TreeMeta},
    runs::{RUNS_WANTED, due_within},
};

/// How many parts make a slot.
const SLOT_PARTS: u64 = 8;
/// Small tables wait until this part of them is above the last level, as those of storage `btree` do.
const SMALL_SHARE: u64 = 4;
/// Large ones until this part of them is, and a slot more.
const LARGE_SHARE: u64 = 10;
/// Runs become no larger than so many slots, or this part of the last level, by being merged with each other.
const RUN_SLOTS: u64 = 2;
const RUN_SHARE: u64 = 40;
/// A part is cut when it has so many times the pages that it should have.
const OVERSIZE: u64 = 2;

/// A range of keys that is merged by itself.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) struct Slot {
    /// The parts that have keys in it; the last may have others behind it.
    pub(super) parts: Range<usize>,
    pub(super) lower: Vec<u8>,
    /// None: up to the last key.
    pub(super) upper: Option<Vec<u8>>,
}

/// How large parts should be.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Sizes {
    pub(super) part_pages: u64,
}

/// Pages that merging a tree takes: long values are not touched by it.
fn work(meta: &TreeMeta) -> u64 {
    meta.leaf_pages + meta.inner_pages
}

impl Sizes {
    pub(super) fn new(part_bytes: u64, page_size: usize) -> Self {
        Self { part_pages: (part_bytes / page_size as u64).max(1) }
    }

    fn slot_pages(self) -> u64 {
        self.part_pages.saturating_mul(SLOT_PARTS)
    }

    /// The first part that is too large, and can be cut.
    pub(super) fn oversized(self, parts: &Parts) -> Option<usize> {
        let is_oversized =
            |meta: &TreeMeta| meta.height > 1 && meta.leaf_pages > self.part_pages.saturating_mul(OVERSIZE);
        parts.trees().iter().position(|tree| is_oversized(tree.meta()))
    }

    /// Keys that cut a tree into parts; none if it is one part.
    pub(super) fn cuts(self, tree: &Tree) -> Result<Vec<Vec<u8>>> {
        let meta = tree.meta();
        let count = (meta.leaf_pages + self.part_pages / 2) / self.part_pages;
        if count < 2 || meta.height < 2 {
            return Ok(Vec::new());
        }
        let position = |cut: u64| (u128::from(meta.rows) * u128::from(cut) / u128::from(count)) as u64;
        let mut cuts: Vec<Vec<u8>> = Vec::new();
        // Where rows are of very different sizes all may fall into the first leaf: the last leaf has another one before it.
        for position in (1..count).map(position).chain([meta.rows - 1]) {
            if let Some(key) = tree.separator_at(position)?
                && (cuts.is_empty() || position < meta.rows - 1)
                && cuts.last().is_none_or(|last| *last < key)
            {
                cuts.push(key);
            }
        }
        Ok(cuts)
    }
}

/// The last level and the runs above it, newest first.
#[derive(Clone, Copy)]
pub(super) struct Level<'l> {
    pub(super) parts: &'l Parts,
    pub(super) runs: &'l [Arc<Tree>],
    pub(super) sizes: Sizes,
}

impl Level<'_> {
    /// What of the runs is to be merged, if anything is: with a slot of the last level, or with each other.
    pub(super) fn due(&self) -> Option<Compaction> {
        let is_whole = self.sizes.oversized(self.parts).is_some() || self.is_due();
        if is_whole {
            return Some(Compaction { runs: self.runs.len(), whole: true });
        }
        let most = (RUN_SLOTS * self.sizes.slot_pages()).max(self.below() / RUN_SHARE);
        due_within(self.runs, most)
    }

    /// Whether there is so much above the last level that a slot of it is to be merged.
    fn is_due(&self) -> bool {
        let (above, below) = (self.above(), self.below());
        let most = (below / SMALL_SHARE).min(below / LARGE_SHARE + self.sizes.slot_pages());
        self.runs.len() >= RUNS_WANTED && above >= most
    }

    fn above(&self) -> u64 {
        self.runs.iter().map(|run| self.weight(run.meta(), run.meta().rows)).sum()
    }

    fn below(&self) -> u64 {
        self.parts.trees().iter().map(|tree| tree.meta().pages()).sum()
    }

    /// Pages that so many rows of a tree take, and those that its tombstones take away from below.
    fn weight(&self, meta: &TreeMeta, rows: u64) -> u64 {
        let deleted =
            u128::from(meta.tombstones) * u128::from(self.below()) / u128::from(self.parts.rows().max(1));
        let pages = u128::from(meta.pages()) + deleted;
        (pages * u128::from(rows)).div_ceil(u128::from(meta.rows.max(1))) as u64
    }

    /// The slot that is merged next. REQUIRES: there are runs.
    pub(super) fn next_slot(&self) -> Result<Slot> {
        let mut best: Option<(u64, u64, Slot)> = None;
        let mut ranks = vec![0; self.runs.len()];
        let mut from = 0;
        loop {
            let slot = self.slot_from(from);
            let above = self.take_ranks(&mut ranks, slot.upper.as_deref())?;
            let below = self.parts.trees()[slot.parts.clone()]
                .iter()
                .map(|tree| work(tree.meta()))
                .sum::<u64>()
                .max(1);
            let is_better = best.as_ref().is_none_or(|(best_above, best_below, _)| {
                u128::from(above) * u128::from(*best_below) > u128::from(*best_above) * u128::from(below)
            });
            from = slot.parts.end;
            if is_better {
                best = Some((above, below, slot));
            }
            if from >= self.parts.trees().len() {
                break;
            }
        }
        let (above, _, slot) = best.expect("there is a slot, if of no parts");
        debug_assert!(above > 0, "the rows of runs are in slots");
        let slot = self.trimmed(slot)?;
        self.narrowed(slot)
    }

    /// The parts from this one on that make a slot; without parts it is of all keys.
    pub(super) fn slot_from(&self, from: usize) -> Slot {
        let trees = self.parts.trees();
        let mut to = from;
        let mut pages = 0;
        while let Some(tree) = trees.get(to) {
            pages += work(tree.meta());
            if to > from && pages > self.sizes.slot_pages() {
                break;
            }
            to += 1;
        }
        let lower = if from == 0 { Vec::new() } else { self.parts.fence(from).to_vec() };
        let upper = to.checked_sub(1).and_then(|last| self.parts.end(last)).map(<[u8]>::to_vec);
        Slot { parts: from..to, lower, upper }
    }

    /// What runs have from where `ranks` are up to a key, and sets these to that key.
    fn take_ranks(&self, ranks: &mut [u64], upper: Option<&[u8]>) -> Result<u64> {
        let mut weight = 0;
        for (run, rank) in self.runs.iter().zip(ranks) {
            let to = upper.map_or(Ok(run.meta().rows), |upper| run.rank(upper))?;
            weight += self.weight(run.meta(), to.saturating_sub(*rank));
            *rank = to;
        }
        Ok(weight)
    }

    /// A slot without the parts at its ends that have nothing above them.
    fn trimmed(&self, slot: Slot) -> Result<Slot> {
        let Slot { mut parts, mut lower, mut upper } = slot;
        let is_free = |lower: &[u8], upper: Option<&[u8]>| -> Result<bool> {
            for run in self.runs {
                let (from, to) = rows_within(run, lower, upper)?;
                if from < to {
                    return Ok(false);
                }
            }
            Ok(true)
        };
        while parts.len() > 1
            && let Some(end) = self.parts.end(parts.start)
            && is_free(&lower, Some(end))?
        {
            lower = end.to_vec();
            parts.start += 1;
        }
        while parts.len() > 1
            && let fence = self.parts.fence(parts.end - 1)
            && is_free(fence, upper.as_deref())?
        {
            upper = Some(fence.to_vec());
            parts.end -= 1;
        }
        Ok(Slot { parts, lower, upper })
    }

    /// The beginning of a slot that has more above it than is merged at once.
    fn narrowed(&self, slot: Slot) -> Result<Slot> {
        let slot_pages = self.sizes.slot_pages();
        let mut largest: Option<(u64, u64, u64, &Tree)> = None;
        let mut all = 0;
        for run in self.runs {
            let (from, to) = rows_within(run, &slot.lower, slot.upper.as_deref())?;
            let meta = run.meta();
            let pages =
                (u128::from(work(meta)) * u128::from(to - from) / u128::from(meta.rows.max(1))) as u64;
            all += pages;
            if largest.is_none_or(|(most, ..)| pages > most) {
                largest = Some((pages, from, to, run));
            }
        }
        let Some((_, from, to, run)) = largest.filter(|_| all > 2 * slot_pages) else { return Ok(slot) };
        let rows = (u128::from(to - from) * u128::from(slot_pages) / u128::from(all)) as u64;
        let Some(upper) = run.separator_at(from + rows)? else { return Ok(slot) };
        let is_within = upper > slot.lower && slot.upper.as_ref().is_none_or(|end| upper < *end);
        if !is_within || run.rank(&upper)? <= from {
            return Ok(slot);
        }
        let parts = match slot.parts.is_empty() {
            true => slot.parts,
            false => {
                let last = self.parts.part_of(&upper);
                let is_cut = self.parts.fence(last) < upper.as_slice();
                slot.parts.start..(last + usize::from(is_cut)).max(slot.parts.start)
            }
        };
        Ok(Slot { parts, lower: slot.lower, upper: Some(upper) })
    }
}

/// The positions of the first row of a tree in a range, and of the first behind it.
pub(super) fn rows_within(tree: &Tree, lower: &[u8], upper: Option<&[u8]>) -> Result<(u64, u64)> {
    let from = if lower.is_empty() { 0 } else { tree.rank(lower)? };
    let to = upper.map_or(Ok(tree.meta().rows), |upper| tree.rank(upper))?;
    Ok((from, to.max(from)))
}
