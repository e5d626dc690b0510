//! Entries in any order into one packed tree, by several threads, in bounded memory.
//!
//! Each thread gathers entries and sorts them a few megabytes at a time. As long as there is memory, what was sorted stays there; else it
//! is merged into a tree. At the end the keys are cut into ranges, all that was sorted is merged range by range into trees, by as many
//! threads, and these, which have no keys between each other's, are joined without their leaves being read. (External sorting, Knuth, The
//! Art of Computer Programming 3, 5.4.)

use std::sync::{
    Arc,
    atomic::{AtomicBool, Ordering},
};

use ambo_base::{
    btree::{BuildOptions, MergeOptions, Tree, TreeBuilder, TreeMeta, merge},
    merge::{Input, Tournament},
};
use ambo_pages::{
    budget::MemoryBudget,
    page::{Extents, PageRange, PageStore},
};
use ambo_types::{Error, Result, parts::fold_parts, record::RecordKind};
use parking_lot::Mutex;

use super::{
    chunk::{Chunk, Gathered},
    entries::Entries,
};
use crate::samples::Samples;

/// Bytes that are gathered before they are sorted: this part of the budget, within bounds.
const GATHERED_SHARE: usize = 64;
const GATHERED_MIN: usize = 64 << 10;
const GATHERED_MAX: usize = 4 << 20;
/// Ranges have as many entries at least.
const RANGE_ENTRIES_MIN: u64 = 32 << 10;
/// Ranges for each thread, so that none waits long for another.
const RANGES_A_THREAD: u64 = 4;
/// Keys that are looked at for each range, in each of what was sorted.
const SAMPLES: u64 = 8;
/// How often a merge asks whether it is to end.
const ENTRIES_A_LOOK: u64 = 4096;

/// Sorts entries. Dropped before [`EntrySorter::finish`], nothing is left of it.
pub struct EntrySorter {
    store: Arc<PageStore>,
    memory: Arc<MemoryBudget>,
    /// The most bytes that a thread gathers.
    gathered_max: usize,
    sorted: Mutex<Sorted>,
}

/// What threads have sorted.
struct Sorted {
    chunks: Vec<Chunk>,
    trees: Trees,
    /// A key that came twice.
    twice: Option<Vec<u8>>,
}

/// Trees that are nobody else's: when they are dropped, their pages are free.
struct Trees {
    store: Arc<PageStore>,
    trees: Vec<(TreeMeta, Vec<PageRange>)>,
}

/// What one thread gathers for a sorter.
pub struct EntryGatherer<'s> {
    sorter: &'s EntrySorter,
    gathered: Gathered,
    chunks: Vec<Chunk>,
}

/// The entries in one tree.
pub struct SortedEntries {
    /// The tree; its pages are published by whoever installs it.
    pub meta: TreeMeta,
    /// Its pages.
    pub pages: Vec<PageRange>,
    /// A key that came twice, if one did. The tree has one of the two.
    pub twice: Option<Vec<u8>>,
}

impl EntrySorter {
    /// A sorter of entries into a tree of a store, with memory of a budget.
    pub fn new(store: &Arc<PageStore>, memory: &Arc<MemoryBudget>) -> Self {
        let trees = Trees { store: store.clone(), trees: Vec::new() };
        Self {
            store: store.clone(),
            memory: memory.clone(),
            gathered_max: (memory.limit() / GATHERED_SHARE).clamp(GATHERED_MIN, GATHERED_MAX),
            sorted: Mutex::new(Sorted { chunks: Vec::new(), trees, twice: None }),
        }
    }

    /// Somebody who gathers entries for it.
    pub fn gatherer(&self) -> EntryGatherer<'_> {
        EntryGatherer { sorter: self, gathered: Gathered::default(), chunks: Vec::new() }
    }

    /// All entries that gatherers have [handed in](EntryGatherer::finish) in one tree, made by up to `threads` threads.
    ///
    /// # Errors
    /// Those of reading and writing pages, and [`Error::Cancelled`] when `cancel` is set.
    pub fn finish(self, threads: usize, cancel: &AtomicBool) -> Result<SortedEntries> {
        let Self { store, sorted, .. } = self;
        let sorted = sorted.into_inner();
        let entries = sorted.chunks.iter().map(|chunk| chunk.len() as u64).sum::<u64>()
            + sorted.trees.trees.iter().map(|(meta, _)| meta.rows).sum::<u64>();
        let cuts = match threads {
            0 | 1 => Vec::new(),
            _ => sorted.cuts((entries / (threads as u64 * RANGES_A_THREAD)).max(RANGE_ENTRIES_MIN))?,
        };
        let twice = Mutex::new(sorted.twice.clone());
        let range = |trees: &mut Vec<(usize, Trees)>, number: usize| {
            let lower = number.checked_sub(1).map(|before| &cuts[before][..]);
            let inputs = sorted.inputs(lower, cuts.get(number).map(Vec::as_slice))?;
            let SortedEntries { meta, pages, twice: again } = build(&store, inputs, cancel)?;
            if again.is_some() {
                *twice.lock() = again;
            }
            trees.push((number, Trees { store: store.clone(), trees: vec![(meta, pages)] }));
            Ok(())
        };
        let mut built: Vec<_> =
            fold_parts(cuts.len() + 1, threads, Vec::new, range)?.into_iter().flatten().collect();
        built.sort_unstable_by_key(|(number, _)| *number);
        debug_assert!(built.iter().map(|(number, _)| *number).eq(0..=cuts.len()), "each range is built once");
        drop(sorted);
        let (meta, pages) = Trees::join(built.into_iter().map(|(_, trees)| trees), cancel)?;
        assert!(meta.rows <= entries, "nothing comes that was not gathered");
        Ok(SortedEntries { meta, pages, twice: twice.into_inner() })
    }
}

impl Sorted {
    /// Keys between ranges of about so many entries.
    fn cuts(&self, entries: u64) -> Result<Vec<Vec<u8>>> {
        let step = (entries / SAMPLES).max(1);
        let mut samples = Samples::default();
        for chunk in &self.chunks {
            let step = step.min(chunk.len() as u64 / 2 + 1) as usize;
            (step..chunk.len()).step_by(step).for_each(|index| samples.add(chunk.key(index), step as u64));
        }
        for tree in self.trees.open() {
            for position in (0..tree.meta().rows).step_by(step as usize).skip(1) {
                if let Some(key) = tree.separator_at(position)? {
                    samples.add(&key, step);
                }
            }
        }
        let cuts = samples.cut(entries);
        debug_assert!(cuts.is_sorted_by(|one, next| one < next), "ranges of keys that meet nowhere");
        Ok(cuts)
    }

    fn inputs(&self, lower: Option<&[u8]>, upper: Option<&[u8]>) -> Result<Vec<Entries<'_>>> {
        let chunks = self.chunks.iter().map(|chunk| Ok(Entries::of_chunk(chunk, lower, upper)));
        let trees = self.trees.open().map(|tree| Entries::of_tree(tree.cursor(), lower, upper));
        chunks.chain(trees).collect()
    }
}

impl Trees {
    fn open(&self) -> impl Iterator<Item = Arc<Tree>> + '_ {
        self.trees.iter().map(|(meta, _)| Tree::open(self.store.clone(), *meta))
    }

    /// One tree of all. REQUIRES: all keys of one are less than all of those behind it.
    fn join(all: impl Iterator<Item = Self>, cancel: &AtomicBool) -> Result<(TreeMeta, Vec<PageRange>)> {
        let mut all: Vec<_> = all.collect();
        all.retain(|trees| trees.trees.iter().any(|(meta, _)| !meta.is_empty()));
        if all.len() <= 1 {
            return Ok(all.pop().and_then(|mut trees| trees.trees.pop()).unwrap_or_default());
        }
        let store = all[0].store.clone();
        let inputs: Vec<_> = all.iter().flat_map(Self::open).collect();
        let options = MergeOptions { build: build_options(&store), ..MergeOptions::new(cancel) };
        let merged = merge(&inputs, &options)?;
        let rows = inputs.iter().map(|input| input.meta().rows).sum::<u64>();
        assert_eq!(merged.meta.rows, rows, "trees that are joined share no key");
        drop(inputs);
        let mut pages = Extents::default();
        let had =
            all.iter_mut().flat_map(|trees| std::mem::take(&mut trees.trees)).flat_map(|(_, pages)| pages);
        for range in had {
            pages.insert(range);
        }
        for range in &merged.freed {
            pages.remove(*range);
        }
        for range in merged.written {
            pages.insert(range);
        }
        store.free(merged.freed);
        Ok((merged.meta, pages.iter().collect()))
    }
}

impl Drop for Trees {
    fn drop(&mut self) {
        for (_, pages) in self.trees.drain(..) {
            self.store.free(pages);
        }
    }
}

impl EntryGatherer<'_> {
    /// Adds an entry.
    ///
    /// # Errors
    /// Those of writing pages.
    pub fn push(&mut self, key: &[u8], value: &[u8]) -> Result<()> {
        self.gather(key, Some(value))
    }

    /// Takes an entry away that is in an older tree. If there is an entry of the same key, too, that counts.
    ///
    /// # Errors
    /// Those of writing pages.
    pub fn push_tombstone(&mut self, key: &[u8]) -> Result<()> {
        self.gather(key, None)
    }

    fn gather(&mut self, key: &[u8], value: Option<&[u8]>) -> Result<()> {
        self.gathered.push(key, value);
        if self.gathered.bytes() >= self.sorter.gathered_max {
            self.sort()?;
        }
        Ok(())
    }

    fn sort(&mut self) -> Result<()> {
        let mut chunk = self.gathered.sort();
        chunk.charge = self.sorter.memory.charge_sorting(chunk.bytes());
        let is_charged = chunk.charge.is_some();
        self.chunks.push(chunk);
        if is_charged { Ok(()) } else { self.flush() }
    }

    /// Writes what was sorted as a tree.
    fn flush(&mut self) -> Result<()> {
        let EntrySorter { store, sorted, .. } = self.sorter;
        let inputs = self.chunks.iter().map(|chunk| Entries::of_chunk(chunk, None, None)).collect();
        let SortedEntries { meta, pages, twice } = build(store, inputs, &AtomicBool::new(false))?;
        debug_assert!(
            meta.rows <= self.chunks.iter().map(|chunk| chunk.len() as u64).sum::<u64>(),
            "nothing comes that was not gathered"
        );
        self.chunks.clear();
        let mut sorted = sorted.lock();
        sorted.trees.trees.push((meta, pages));
        sorted.twice = sorted.twice.take().or(twice);
        Ok(())
    }

    /// Hands in what was gathered.
    ///
    /// # Errors
    /// Those of writing pages.
    pub fn finish(mut self) -> Result<()> {
        if !self.gathered.is_empty() {
            self.sort()?;
        }
        self.sorter.sorted.lock().chunks.append(&mut self.chunks);
        Ok(())
    }
}

fn build_options(store: &PageStore) -> BuildOptions {
    // It is read once more, in order, or not at all soon.
    BuildOptions { keep_in_cache: store.is_memory(), ..BuildOptions::default() }
}

/// A tree of the entries of inputs.
fn build(store: &Arc<PageStore>, inputs: Vec<Entries<'_>>, cancel: &AtomicBool) -> Result<SortedEntries> {
    let mut builder = TreeBuilder::new(store, build_options(store));
    let mut twice = None;
    let mut entries = Tournament::new(inputs);
    while let Some(entry) = entries.winner() {
        let (key, record) = (entry.key(), entry.record());
        match record.kind {
            // Of the same key, what is deleted comes last.
            RecordKind::Tombstone if builder.last_key() == Some(key) => {}
            _ if builder.last_key() == Some(key) => twice = Some(key.to_vec()),
            RecordKind::Blob => builder.push_copied_blob(key, record.bytes)?,
            RecordKind::Inline | RecordKind::Tombstone => builder.push(key, record)?,
        }
        if builder.rows().is_multiple_of(ENTRIES_A_LOOK) && cancel.load(Ordering::Relaxed) {
            return Err(Error::Cancelled);
        }
        entries.step(Entries::step)?;
    }
    let (meta, pages) = builder.finish_with_pages()?;
    Ok(SortedEntries { meta, pages, twice })
}
