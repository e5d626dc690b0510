//! Runs: trees of what was flushed, above the base of a table, newest first.
//!
//! # When they are merged
//!
//! A read looks into every run, so there must be few; a merge writes everything it takes, so it must take things of a
//! size. Runs are looked at from the newest on, taking the next one as long as it is at most `GROWTH` times what was
//! taken so far; a main tree is taken when all runs are and it is at most `MAIN_GROWTH` times as large. A merge happens when at least
//! [`RUNS_WANTED`] runs are there, so each byte is rewritten a logarithmic number of times (the tiered scheme of LSM trees: O'Neil et al.
//! 1996, and RocksDB's universal compaction).

use std::sync::Arc;

use ambo_codec::record::Dictionary;
use ambo_pages::page::PageRange;
use ambo_types::{Result, record::Record};

use super::{
    btree::{BuildOptions, MergeOptions, Merged, RowStream, Tree, TreeCursor, merge},
    compaction::{Compacted, Compaction, Made, Workshop},
    merge::{Head, Input, Tournament},
};

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
    choose(&runs.iter().map(|run| run.meta().pages()).collect::<Vec<_>>(), main, u64::MAX)
}

/// As [`due`], but what is made has at most so many pages unless runs are too many.
pub(super) fn due_within(runs: &[Arc<Tree>], most: u64) -> Option<Compaction> {
    choose(&runs.iter().map(|run| run.meta().pages()).collect::<Vec<_>>(), u64::MAX, most)
}

fn choose(runs: &[u64], main: u64, most: u64) -> Option<Compaction> {
    if runs.len() < RUNS_WANTED {
        return None;
    }
    let mut taken = runs[0];
    let mut count = 1;
    let fits = |taken: u64, next: u64| next <= taken * GROWTH && taken + next <= most;
    while count < runs.len() && (fits(taken, runs[count]) || runs.len() >= RUNS_MAX) {
        taken += runs[count];
        count += 1;
    }
    assert!(runs.len() < RUNS_MAX || count == runs.len(), "runs that are too many are all merged");
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

/// The newest row of each key of runs, which come newest first; tombstones among them.
pub struct NewestRows {
    runs: Tournament<Rows>,
    /// The key that was handed out last, where an older run has it, too.
    key: Vec<u8>,
    is_begun: bool,
}

/// The rows of one run.
struct Rows {
    cursor: TreeCursor,
    /// How many runs are newer.
    age: u32,
}

impl Input for Rows {
    fn head(&self) -> Head {
        if self.cursor.is_valid() { Head::new(self.cursor.key(), self.age) } else { Head::END }
    }

    fn key(&self) -> &[u8] {
        self.cursor.key()
    }
}

impl NewestRows {
    /// Of these runs.
    pub fn new(runs: &[Arc<Tree>]) -> Result<Self> {
        let rows = |(run, age): (&Arc<Tree>, u32)| {
            let mut cursor = run.cursor();
            cursor.seek_first()?;
            Ok(Rows { cursor, age })
        };
        let rows = runs.iter().zip(0..).map(rows).collect::<Result<Vec<_>>>()?;
        Ok(Self { runs: Tournament::new(rows), key: Vec::new(), is_begun: false })
    }

    /// Goes on to the next key.
    fn step(&mut self) -> Result<()> {
        let Some(winner) = self.runs.winner() else { return Ok(()) };
        let has_older = self.runs.second().is_some_and(|second| second.key() == winner.key());
        if has_older {
            self.key.clear();
            self.key.extend_from_slice(winner.key());
        }
        self.runs.step(|run| run.cursor.next().map(drop))?;
        while has_older && self.runs.winner().is_some_and(|winner| winner.key() == self.key) {
            self.runs.step(|run| run.cursor.next().map(drop))?;
        }
        Ok(())
    }
}

impl RowStream for NewestRows {
    fn next_row(&mut self) -> Result<Option<(&[u8], Record<'_>)>> {
        if self.is_begun {
            self.step()?;
        }
        self.is_begun = true;
        Ok(self.runs.winner().map(|run| (run.cursor.key(), run.cursor.record())))
    }
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
    assert!(
        inputs.iter().all(|tree| Arc::ptr_eq(tree.store(), workshop.store)),
        "the new tree is where those are that it is made of"
    );
    let options = MergeOptions {
        drop_tombstones,
        relocate_from: workshop.relocate_from,
        rewrite: workshop.rewrite,
        leave_out: workshop.leave_out,
        all_below: workshop.all_below,
        build: build.clone(),
        ..MergeOptions::new(workshop.cancel)
    };
    let merged = merge(inputs, &options)?;
    let tree = (!merged.meta.is_empty()).then(|| Tree::open(workshop.store.clone(), merged.meta));
    let dictionary = options.build.records.and_then(|records| records.dictionary);
    Ok(MergedTrees { tree, merged, dictionary })
}

impl MergedTrees {
    /// The tree, the pages that are new, and those that it does not refer to.
    pub(super) fn into_parts(self) -> (Option<Arc<Tree>>, Vec<PageRange>, Vec<PageRange>) {
        (self.tree, self.merged.written, self.merged.freed)
    }

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
            is_more: false,
        }
    }
}

#[cfg(test)]
mod tests {
    use ambo_pages::page::PageStore;
    use std::collections::BTreeMap;

    use super::*;
    use crate::btree::TreeBuilder;

    // Keeps away: an old row, one that is compacted twice or not at all, and a deleted one that comes back.
    #[test]
    fn the_newest_row_of_each_key() {
        for count in 0..7u64 {
            let store = PageStore::memory(4096);
            let (mut expected, mut runs) = (BTreeMap::new(), Vec::new());
            for run in (0..count).rev() {
                let mut builder = TreeBuilder::new(&store, BuildOptions::default());
                for key in (0..3000u64).filter(|key| key.wrapping_mul(0x9e37_79b9) >> 7 & run != 1) {
                    let key = (key / 2 * 2 + run % 2).to_be_bytes();
                    if builder.last_key() == Some(&key[..]) {
                        continue;
                    }
                    let value = (u64::from_be_bytes(key) % 3 != run % 3).then(|| vec![run as u8; 9]);
                    builder.push(&key, value.as_deref().map_or(Record::TOMBSTONE, Record::inline)).unwrap();
                    expected.insert(key.to_vec(), value);
                }
                runs.insert(0, Tree::open(store.clone(), builder.finish().unwrap()));
            }
            let mut rows = NewestRows::new(&runs).unwrap();
            let mut found = Vec::new();
            while let Some((key, record)) = rows.next_row().unwrap() {
                found.push((key.to_vec(), (!record.is_tombstone()).then(|| record.bytes.to_vec())));
            }
            assert_eq!(found, expected.into_iter().collect::<Vec<_>>(), "{count} runs");
        }
    }

    // Keeps away: rewriting a large tree for every small run, and ever more runs.
    #[test]
    fn merges_take_things_of_a_size() {
        assert_eq!(choose(&[10, 10, 10], 0, u64::MAX), None);
        assert_eq!(choose(&[10, 10, 10, 10], 1000, u64::MAX), Some(Compaction { runs: 4, whole: false }));
        assert_eq!(choose(&[10, 10, 10, 100], 1000, u64::MAX), Some(Compaction { runs: 3, whole: false }));
        assert_eq!(choose(&[10, 10, 30, 100], 400, u64::MAX), Some(Compaction { runs: 4, whole: true }));
        assert_eq!(choose(&[10, 100, 1000, 10_000], 1 << 20, u64::MAX), None);
        assert_eq!(choose(&[1; 16], 1 << 20, u64::MAX), Some(Compaction { runs: 16, whole: false }));
        assert_eq!(choose(&[10, 10, 10, 10], u64::MAX, 35), Some(Compaction { runs: 3, whole: false }));
        assert_eq!(choose(&[20, 20, 20, 20], u64::MAX, 35), None);
        assert_eq!(choose(&[20; 16], u64::MAX, 35), Some(Compaction { runs: 16, whole: false }));
    }

    /// Keeps away: write amplification that grows faster than a logarithm, and reads of many runs, under endless flushes.
    #[test]
    fn endless_flushes_stay_cheap() {
        let (mut runs, mut main, mut written, mut most) = (Vec::<u64>::new(), 0u64, 0u64, 0);
        let flushes = 2000;
        for _ in 0..flushes {
            runs.insert(0, 100);
            written += 100;
            while let Some(choice) = choose(&runs, main, u64::MAX) {
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
