//! Merging slots of the last level with what runs have above them.

use std::sync::Arc;

use ambo_pages::page;
use ambo_types::{Error, Result};

use super::{
    pages::Pages,
    parts::Parts,
    slots::{Level, Sizes, Slot, rows_within},
};
use crate::{
    Workshop,
    btree::{BuildOptions, Split, Tree, split},
    runs::merge_trees,
};

/// A part and its fence.
type Part = (Box<[u8]>, Arc<Tree>);

/// Slots of a level that are merged one after the other, to be published at once.
pub(super) struct Job<'w> {
    parts: Arc<Parts>,
    /// Newest first.
    runs: Vec<Arc<Tree>>,
    sizes: Sizes,
    build: BuildOptions,
    workshop: &'w Workshop<'w>,
    pages: Pages,
}

/// What a job made.
pub(super) struct Merged {
    pub(super) parts: Arc<Parts>,
    /// What is left of the runs, newest first.
    pub(super) runs: Vec<Arc<Tree>>,
    pub(super) pages: Pages,
    pub(super) build: BuildOptions,
}

impl<'w> Job<'w> {
    /// REQUIRES: all runs of the table.
    pub(super) fn new(
        parts: &Arc<Parts>,
        runs: &[Arc<Tree>],
        sizes: Sizes,
        workshop: &'w Workshop<'w>,
    ) -> Self {
        Self {
            parts: parts.clone(),
            runs: runs.to_vec(),
            sizes,
            build: workshop.build.clone(),
            workshop,
            pages: Pages::new(workshop.store),
        }
    }

    /// Has the records of these trees compressed with a dictionary, if they are to have one.
    fn train(&mut self, trees: &[Arc<Tree>]) -> Result<()> {
        if let Some(records) = &mut self.build.records
            && let Some(dictionary) = (self.workshop.train)(trees)?
        {
            records.dictionary = Some(dictionary);
        }
        Ok(())
    }

    fn level(&self) -> Level<'_> {
        Level { parts: &self.parts, runs: &self.runs, sizes: self.sizes }
    }

    /// Cuts a part that is too large.
    pub(super) fn cut(mut self, part: usize) -> Result<Merged> {
        let tree = self.parts.trees()[part].clone();
        let root = tree.meta().root;
        let cut = self.cut_tree(self.parts.fence(part).into(), tree)?;
        if cut.len() < 2 {
            let offset = root.number().0.saturating_mul(self.workshop.store.page_size() as u64);
            return Err(Error::damaged(page::NAME, offset, "inner pages do not have what their tree says"));
        }
        self.replace(part..part + 1, cut);
        Ok(self.finish())
    }

    /// Merges the slot that has the most above it.
    pub(super) fn merge_next(mut self) -> Result<Merged> {
        let slot = self.level().next_slot()?;
        self.merge_slot(slot, true)?;
        Ok(self.finish())
    }

    /// Merges all slots, of which each is written anew or moved as far as the workshop says.
    pub(super) fn merge_all(mut self) -> Result<Merged> {
        let all: Vec<_> = self.runs.iter().chain(self.parts.trees()).cloned().collect();
        self.train(&all)?;
        let mut from = 0;
        loop {
            let slot = self.level().slot_from(from);
            if self.is_left_alone(&slot) {
                return Ok(self.finish());
            }
            let is_last = slot.upper.is_none();
            from = slot.parts.start + self.merge_slot(slot, false)?;
            if is_last {
                return Ok(self.finish());
            }
        }
    }

    /// Whether there is nothing to be done in a slot and those behind it: all was merged, and from there on nothing is left out.
    fn is_left_alone(&self, slot: &Slot) -> bool {
        let is_rewritten = self.workshop.rewrite || self.workshop.relocate_from.is_some();
        let is_kept = self.workshop.all_below.is_some_and(|below| below <= &slot.lower[..]);
        self.runs.is_empty() && !is_rewritten && is_kept
    }

    /// Merges a slot. Returns of how many parts it is then.
    fn merge_slot(&mut self, slot: Slot, trains: bool) -> Result<usize> {
        let mut inputs = self.take_from_runs(&slot)?;
        let rest = self.take_parts(&slot, &mut inputs)?;
        if trains {
            self.train(&inputs)?;
        }
        let mut parts = Vec::new();
        if !inputs.is_empty() {
            let (merged, written, freed) =
                merge_trees(&inputs, true, &self.build, self.workshop)?.into_parts();
            self.pages.written(written);
            self.pages.replaced(freed);
            if let Some(merged) = merged {
                parts = self.cut_tree(slot.lower.as_slice().into(), merged)?;
            }
        }
        let made = parts.len();
        parts.extend(slot.upper.zip(rest).map(|(upper, rest)| (upper.into(), rest)));
        self.replace(slot.parts, parts);
        Ok(made)
    }

    /// Cuts out of the runs what they have in a slot, newest first. Runs of which nothing is left are gone.
    fn take_from_runs(&mut self, slot: &Slot) -> Result<Vec<Arc<Tree>>> {
        let (mut inside, mut left) = (Vec::new(), Vec::new());
        for run in std::mem::take(&mut self.runs) {
            let (from, to) = rows_within(&run, &slot.lower, slot.upper.as_deref())?;
            if from == to {
                left.push(run);
            } else if from == 0 && to == run.meta().rows {
                inside.push(run);
            } else {
                // What is in front of the slot, and behind it, stays one run.
                let front = (from > 0).then(|| (slot.lower.clone(), 0));
                let behind = slot.upper.clone().filter(|_| to < run.meta().rows).map(|upper| (upper, 1));
                let mut of: Vec<_> = front.iter().map(|_| 0).chain([1]).collect();
                of.extend(behind.iter().map(|_| 0));
                let at: Vec<_> = front.into_iter().chain(behind).map(|(at, _)| at).collect();
                let trees = self.split(&run, &at, &of)?;
                left.extend(trees[0].clone());
                inside.extend(trees[1].clone());
            }
        }
        self.runs = left;
        Ok(inside)
    }

    /// Adds the parts of a slot to what is merged. Returns what the last of them has behind it.
    fn take_parts(&mut self, slot: &Slot, inputs: &mut Vec<Arc<Tree>>) -> Result<Option<Arc<Tree>>> {
        inputs.extend_from_slice(&self.parts.trees()[slot.parts.clone()]);
        let is_cut = !slot.parts.is_empty() && slot.upper.is_some();
        let Some((last, upper)) = inputs.last().cloned().zip(slot.upper.clone()).filter(|_| is_cut) else {
            return Ok(None);
        };
        if last.rank(&upper)? == last.meta().rows {
            return Ok(None);
        }
        inputs.pop();
        let trees = self.split(&last, &[upper], &[0, 1])?;
        inputs.extend(trees[0].clone());
        Ok(trees[1].clone())
    }

    /// A tree as parts of about the size that they should have.
    fn cut_tree(&mut self, fence: Box<[u8]>, tree: Arc<Tree>) -> Result<Vec<Part>> {
        let cuts = self.sizes.cuts(&tree)?;
        if cuts.is_empty() {
            return Ok(vec![(fence, tree)]);
        }
        let of: Vec<_> = (0..=cuts.len()).collect();
        let trees = self.split(&tree, &cuts, &of)?;
        let fences = std::iter::once(fence).chain(cuts.into_iter().map(Into::into));
        Ok(fences.zip(trees).filter_map(|(fence, tree)| Some((fence, tree?))).collect())
    }

    /// Cuts a tree at keys; trees without rows are none.
    fn split(&mut self, tree: &Arc<Tree>, at: &[Vec<u8>], of: &[usize]) -> Result<Vec<Option<Arc<Tree>>>> {
        let Split { trees, freed, written } = split(tree, at, of, &self.build, self.workshop.cancel)?;
        self.pages.written(written);
        self.pages.replaced(freed);
        Ok(trees.into_iter().map(|meta| (!meta.is_empty()).then(|| tree.rest(meta))).collect())
    }

    /// Puts parts in the place of others.
    fn replace(&mut self, places: std::ops::Range<usize>, parts: Vec<Part>) {
        let of = |part: usize| -> Part { (self.parts.fence(part).into(), self.parts.trees()[part].clone()) };
        let before = (0..places.start).map(of);
        let behind = (places.end..self.parts.trees().len()).map(of);
        self.parts = Arc::new(Parts::new(before.chain(parts).chain(behind)));
    }

    fn finish(self) -> Merged {
        let Self { parts, runs, pages, build, .. } = self;
        Merged { parts, runs, pages, build }
    }
}
