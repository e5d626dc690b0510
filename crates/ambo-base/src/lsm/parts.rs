//! The parts of the last level, to read from.

use std::sync::Arc;

use ambo_pages::page::{self, PageStore};
use ambo_types::{Error, Result};

use super::cursor::PartsCursor;
use crate::{
    btree::{CheckOptions, KeySum, Tree, TreeMeta, TreeRecord},
    ops::BaseReport,
    root::{PART, Root},
};

/// Trees without tombstones that follow each other.
#[derive(Clone, Debug, Default)]
pub struct Parts {
    trees: Vec<Arc<Tree>>,
    /// One for each tree; the first is empty.
    fences: Vec<Box<[u8]>>,
    /// How many rows are in front of each tree.
    before: Vec<u64>,
    rows: u64,
}

impl Parts {
    /// Parts with their fences, of which those without rows are left out.
    pub(super) fn new(parts: impl IntoIterator<Item = (Box<[u8]>, Arc<Tree>)>) -> Self {
        let mut all = Self::default();
        for (fence, tree) in parts {
            debug_assert_eq!(tree.meta().tombstones, 0, "below parts is nothing to be deleted");
            if tree.meta().is_empty() {
                continue;
            }
            // What was below the first is gone: it has all that is below the second.
            all.fences.push(if all.trees.is_empty() { Box::default() } else { fence });
            all.before.push(all.rows);
            all.rows = all.rows.saturating_add(tree.meta().rows);
            all.trees.push(tree);
        }
        assert!(all.fences.is_sorted_by(|one, next| one < next), "parts follow each other");
        all
    }

    /// The trees, in the order of their keys.
    pub fn trees(&self) -> &[Arc<Tree>] {
        &self.trees
    }

    /// Where a part begins: it has no smaller key.
    pub(super) fn fence(&self, part: usize) -> &[u8] {
        &self.fences[part]
    }

    /// Where it ends: all its keys are smaller, unless it is the last.
    pub(super) fn end(&self, part: usize) -> Option<&[u8]> {
        self.fences.get(part + 1).map(AsRef::as_ref)
    }

    /// The part that a key would be in. REQUIRES: there is one.
    pub(super) fn part_of(&self, key: &[u8]) -> usize {
        debug_assert!(!self.trees.is_empty(), "a key is sought where there are parts");
        self.fences.partition_point(|fence| **fence <= *key).saturating_sub(1)
    }

    /// How many rows there are.
    pub fn rows(&self) -> u64 {
        self.rows
    }

    /// The record of a key.
    #[inline]
    pub fn get(&self, key: &[u8]) -> Result<Option<TreeRecord<'_>>> {
        if self.trees.is_empty() { Ok(None) } else { self.trees[self.part_of(key)].get(key) }
    }

    /// How many rows have smaller keys.
    pub fn rank(&self, key: &[u8]) -> Result<u64> {
        if self.trees.is_empty() {
            return Ok(0);
        }
        let part = self.part_of(key);
        Ok(self.before[part].saturating_add(self.trees[part].rank(key)?))
    }

    /// The key at `position`, counted from zero.
    pub fn nth(&self, position: u64) -> Result<Option<Vec<u8>>> {
        if position >= self.rows {
            return Ok(None);
        }
        let part = self.before.partition_point(|before| *before <= position) - 1;
        self.trees[part].nth(position - self.before[part])
    }

    /// The sum of the keys from `lower` on and below `upper`.
    pub(super) fn sum_keys(&self, lower: Option<&[u8]>, upper: Option<&[u8]>) -> Result<KeySum> {
        let mut all = KeySum::default();
        for (part, tree) in self.trees.iter().enumerate() {
            let is_below = lower.zip(self.end(part)).is_some_and(|(lower, end)| end <= lower);
            let is_above = upper.is_some_and(|upper| upper <= self.fence(part));
            if !is_below && !is_above {
                let KeySum { count, sum } = tree.sum_keys(lower, upper)?;
                (all.count, all.sum) = (all.count + count, all.sum + sum);
            }
        }
        Ok(all)
    }

    /// A cursor, on no row yet; none where there are no rows.
    pub fn cursor(self: &Arc<Self>) -> Option<PartsCursor> {
        (!self.trees.is_empty()).then(|| PartsCursor::new(self.clone()))
    }

    /// What a checkpoint has to say of them.
    pub(super) fn roots(&self) -> Vec<Root> {
        let fences = self.fences.iter().map(AsRef::as_ref);
        let bytes = |(tree, fence): (&Arc<Tree>, &[u8])| [&tree.meta().encode()[..], fence].concat();
        let parts = self.trees.iter().zip(fences).map(bytes);
        parts.zip(0..).map(|(bytes, part)| Root { tag: PART, part, bytes }).collect()
    }

    /// The parts that these roots lead to.
    pub(super) fn open(roots: &[Root], store: &Arc<PageStore>) -> Result<Self> {
        let damaged = |what| Error::damaged(page::NAME, 0, format!("the catalog: {what}"));
        let mut sorted: Vec<_> = roots.iter().collect();
        sorted.sort_unstable_by_key(|root| root.part);
        let mut parts: Vec<(Box<[u8]>, Arc<Tree>)> = Vec::new();
        for (place, root) in (0..).zip(sorted) {
            let (meta, fence) = decode(root).filter(|_| root.part == place).ok_or_else(|| {
                damaged("a root that is not that of a part, or a part that is missing".to_owned())
            })?;
            let is_next = parts.last().map_or(fence.is_empty(), |(last, _)| **last < *fence);
            if !is_next || meta.is_empty() || meta.tombstones > 0 {
                return Err(damaged(format!("part {place} cannot be where it is")));
            }
            parts.push((fence.into(), Tree::open(store.clone(), meta)));
        }
        Ok(Self::new(parts))
    }

    /// Reads all of them.
    pub(super) fn check(self: &Arc<Self>, problems_max: usize) -> Result<BaseReport> {
        let mut report = BaseReport::default();
        let mut pages = Vec::new();
        for (part, tree) in self.trees.iter().enumerate() {
            let room = problems_max.saturating_sub(report.problems.len());
            let mut found = tree.check(&CheckOptions { tombstones_allowed: false, problems_max: room })?;
            report.problems.extend(
                found
                    .problems
                    .iter()
                    .map(|problem| format!("part {part}: page {}: {}", problem.page.number(), problem.what)),
            );
            if found.problems.is_empty() {
                report.problems.extend(self.check_fences(part, tree)?);
            }
            report.trees += 1;
            report.rows += found.counted.rows;
            pages.append(&mut found.pages);
        }
        report.problems.truncate(problems_max);
        pages.sort_unstable();
        report.pages = vec![("parts", pages)];
        Ok(report)
    }

    /// What is wrong with the first or the last key of a part.
    fn check_fences(&self, part: usize, tree: &Arc<Tree>) -> Result<Option<String>> {
        let (first, last) = (tree.first_key()?, tree.last_key()?);
        let is_within = first.is_some_and(|first| self.fence(part) <= first.as_slice())
            && last.is_some_and(|last| self.end(part).is_none_or(|end| last.as_slice() < end));
        Ok((!is_within).then(|| format!("part {part}: keys beyond its fences")))
    }
}

/// The tree and the fence of a part.
pub(super) fn decode(root: &Root) -> Option<(TreeMeta, &[u8])> {
    let (meta, fence) = root.bytes.split_at_checked(TreeMeta::BYTES)?;
    (root.tag == PART).then_some(())?;
    Some((TreeMeta::decode(meta)?, fence))
}
