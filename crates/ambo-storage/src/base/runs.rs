//! Runs: trees of what was flushed, above the base of a table, newest first.
//!
//! # When they are merged
//!
//! A read looks into every run, so there must be few; a merge writes everything it takes, so it must take things of a
//! size. Runs are looked at from the newest on, taking the next one as long as it is at most [`GROWTH`] times what was
//! taken so far; a main tree is taken when all runs are and it is at most [`MAIN_GROWTH`] times as large. A merge happens when at least
//! [`RUNS_WANTED`] runs are there, so each byte is rewritten a logarithmic number of times (the tiered scheme of LSM trees: O'Neil et al.
//! 1996, and RocksDB's universal compaction).

use std::sync::Arc;

use ambo_codec::record::Dictionary;

use super::{
    btree::{BuildOptions, MergeOptions, Merged, Tree, merge},
    compaction::{Compacted, Compaction, Made, Workshop},
};
use crate::Result;

/// So many make a merge.
pub const RUNS_WANTED: usize = 4;
const GROWTH: u64 = 2;
const MAIN_GROWTH: u64 = 4;
/// With so many runs everything is merged, whatever its size.
pub const RUNS_MAX: usize = 16;

/// What of the newest runs is to be merged, of a table whose compacted part stays as it is.
pub fn due(runs: &[Arc<Tree>]) -> Option<Compaction> {
    due_above(runs, u64::MAX)
}

/// The same where the main tree has so many pages.
pub(super) fn due_above(runs: &[Arc<Tree>], main: u64) -> Option<Compaction> {
    choose(&runs.iter().map(|run| run.meta().pages()).collect::<Vec<_>>(), main)
}

fn choose(runs: &[u64], main: u64) -> Option<Compaction> {
    if runs.len() < RUNS_WANTED {
        return None;
    }
    let mut taken = runs[0];
    let mut count = 1;
    while count < runs.len() && (runs[count] <= taken * GROWTH || runs.len() >= RUNS_MAX) {
        taken += runs[count];
        count += 1;
    }
    let whole = count == runs.len() && main <= taken * MAIN_GROWTH;
    (count > 1 || whole).then_some(Compaction { runs: count, whole })
}

/// Merges runs of a table whose compacted part stays as it is. Tombstones stay.
pub fn compact<B>(runs: &[Arc<Tree>], workshop: &Workshop<'_>) -> Result<Option<Compacted<B>>> {
    if runs.is_empty() {
        return Ok(None);
    }
    let merged = merge_trees(runs, false, &workshop.build, workshop)?;
    Ok(Some(merged.into_compacted(runs, Made::Run)))
}

/// Trees that became one, or nothing.
pub(super) struct MergedTrees {
    tree: Option<Arc<Tree>>,
    merged: Merged,
    dictionary: Option<(u32, Dictionary)>,
}

/// Merges trees, the newest first. Without tombstones, if nothing is below.
pub(super) fn merge_trees(
    inputs: &[Arc<Tree>],
    drop_tombstones: bool,
    build: &BuildOptions,
    workshop: &Workshop<'_>,
) -> Result<MergedTrees> {
    let options = MergeOptions {
        drop_tombstones,
        relocate_from: workshop.relocate_from,
        rewrite: workshop.rewrite,
        build: build.clone(),
        ..MergeOptions::new(workshop.cancel)
    };
    let merged = merge(inputs, &options)?;
    let tree = (!merged.meta.is_empty()).then(|| Tree::open(workshop.store.clone(), merged.meta));
    let dictionary = options.build.records.and_then(|records| records.dictionary);
    Ok(MergedTrees { tree, merged, dictionary })
}

impl MergedTrees {
    /// What was made of these runs.
    pub(super) fn into_compacted<B>(
        self,
        runs: &[Arc<Tree>],
        made: impl FnOnce(Option<Arc<Tree>>) -> Made<B>,
    ) -> Compacted<B> {
        Compacted {
            inputs: runs.to_vec(),
            made: made(self.tree),
            born: self.merged.written,
            retired: self.merged.freed,
            new_segments: Vec::new(),
            old_segments: Vec::new(),
            dictionary: self.dictionary,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    // Keeps away: rewriting a large tree for every small run, and ever more runs.
    #[test]
    fn merges_take_things_of_a_size() {
        assert_eq!(choose(&[10, 10, 10], 0), None);
        assert_eq!(choose(&[10, 10, 10, 10], 1000), Some(Compaction { runs: 4, whole: false }));
        assert_eq!(choose(&[10, 10, 10, 100], 1000), Some(Compaction { runs: 3, whole: false }));
        assert_eq!(choose(&[10, 10, 30, 100], 400), Some(Compaction { runs: 4, whole: true }));
        assert_eq!(choose(&[10, 100, 1000, 10_000], 1 << 20), None);
        assert_eq!(choose(&[1; 16], 1 << 20), Some(Compaction { runs: 16, whole: false }));
    }

    /// Keeps away: write amplification that grows faster than a logarithm, and reads of many runs, under endless flushes.
    #[test]
    fn endless_flushes_stay_cheap() {
        let (mut runs, mut main, mut written, mut most) = (Vec::<u64>::new(), 0u64, 0u64, 0);
        let flushes = 2000;
        for _ in 0..flushes {
            runs.insert(0, 100);
            written += 100;
            while let Some(choice) = choose(&runs, main) {
                let mut merged: u64 = runs.drain(..choice.runs).sum();
                if choice.whole {
                    merged += main;
                    main = merged;
                } else {
                    runs.insert(0, merged);
                }
                written += merged;
            }
            most = most.max(runs.len());
        }
        assert!(written / (flushes * 100) <= 12, "write amplification {}", written / (flushes * 100));
        assert!(most < RUNS_MAX, "{most} runs");
    }
}
