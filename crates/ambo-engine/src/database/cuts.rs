//! Keys that cut a range of a table's keys into parts with about as many rows.
//!
//! Any keys would do: parts follow from the keys alone, so each key of the range is in one of them, whatever becomes of the table. Inner
//! pages of trees and the upper levels of memtables say where rows are, and no row is read for it.

use ambo_base::{Lowest, btree::Tree};
use ambo_types::Result;

use super::{count::newer_rows, walk::Layers};
use crate::{memtable::Memtable, samples::Samples};

/// Parts have about so many rows, where the table has enough.
const PART_ROWS: u64 = 16 << 10;
/// In large tables they have more, up to so many.
const PART_ROWS_MAX: u64 = 64 << 10;
/// As long as there are no more parts than these.
const PARTS: u64 = 1 << 10;
/// Keys that are looked at for each part, where several trees and memtables have rows.
const SAMPLES: u64 = 4;

/// A range of keys.
#[derive(Clone, Debug, Default)]
pub(super) struct KeyBounds {
    pub lower: Vec<u8>,
    /// Not in it; none is unbounded.
    pub upper: Option<Vec<u8>>,
}

/// About how many rows a range has, at most.
pub(super) fn rows_about(layers: &Layers, range: &KeyBounds) -> Result<u64> {
    let mut rows = layers.own.as_ref().map_or(0, |own| own.len() as u64);
    if let Some(oldest) = &layers.oldest {
        let from = if range.lower.is_empty() { 0 } else { oldest.rank(&range.lower)? };
        let to = range.upper.as_deref().map_or(Ok(oldest.rows()), |upper| oldest.rank(upper))?;
        rows += to.saturating_sub(from);
    }
    Ok(rows + newer_rows(&layers.newer))
}

/// How many rows a part of a table with so many rows has.
pub(super) fn part_rows(rows: u64) -> u64 {
    (rows / PARTS).clamp(PART_ROWS, PART_ROWS_MAX)
}

/// Keys in a range, ascending, at which to cut it into parts of about so many of its rows.
pub(super) fn cuts(layers: &Layers, range: &KeyBounds, rows: u64, part: u64) -> Result<Vec<Vec<u8>>> {
    if rows < 2 * part {
        return Ok(Vec::new());
    }
    let mut chosen = Chosen { range, step: (part / SAMPLES).max(1), samples: Samples::default() };
    let oldest = layers.oldest.iter().flat_map(Lowest::trees);
    for tree in oldest.chain(layers.newer.trees()) {
        chosen.add_tree(tree)?;
    }
    let memtables = std::iter::once(&layers.newer.active).chain(&layers.newer.frozen);
    memtables.for_each(|memtable| chosen.add_memtable(memtable));
    if let Some(own) = &layers.own {
        let step = chosen.step as usize;
        own.keys().step_by(step).skip(1).for_each(|key| chosen.add(key, step as u64));
    }
    let cuts = chosen.samples.cut(part);
    debug_assert!(cuts.is_sorted_by(|one, next| one < next), "parts follow each other");
    Ok(cuts)
}

/// The positions of a tree's first entry in a range, and of the first behind it.
fn positions(tree: &Tree, range: &KeyBounds) -> Result<(u64, u64)> {
    let from = if range.lower.is_empty() { 0 } else { tree.rank(&range.lower)? };
    let to = range.upper.as_deref().map_or(Ok(tree.meta().rows), |upper| tree.rank(upper))?;
    Ok((from, to.max(from)))
}

/// Some keys of a range.
struct Chosen<'r> {
    range: &'r KeyBounds,
    /// A tree's samples are so many rows apart.
    step: u64,
    samples: Samples,
}

impl Chosen<'_> {
    fn add(&mut self, key: &[u8], rows: u64) {
        let KeyBounds { lower, upper } = self.range;
        if key > &lower[..] && upper.as_deref().is_none_or(|upper| key < upper) {
            self.samples.add(key, rows);
        }
    }

    fn add_tree(&mut self, tree: &Tree) -> Result<()> {
        let (from, to) = positions(tree, self.range)?;
        for position in (from..to).step_by(self.step as usize).skip(1) {
            if let Some(key) = tree.separator_at(position)? {
                self.add(&key, self.step);
            }
        }
        Ok(())
    }

    fn add_memtable(&mut self, memtable: &Memtable) {
        let rows = memtable.rows() as u64;
        let keys = memtable.separators((rows / self.step) as usize);
        let each = rows / (keys.len() as u64 + 1);
        keys.into_iter().for_each(|key| self.add(key, each));
    }
}
