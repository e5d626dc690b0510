//! Which replaced versions may still be read.
//!
//! A page that a checkpoint retires may be reached from any older version, not only from the trees that were merged: a leaf or a blob is
//! handed on from tree to tree, and a memtable refers to the blob that its run took over. So pages wait until no version is left from the
//! first that could reach them to the last. Versions are numbered in their order.
//!
//! # Who may read a page
//!
//! 1. Whoever reads pages of a tree or a blob that a version reaches keeps *that version*, from before it takes the tree until its last
//!    read: as a snapshot, a guard of `versions`, an `Arc<DatabaseVersion>` or a [`KeptTable`](super::kept_table::KeptTable). An
//!    `Arc<Tree>` or `Arc<TableVersion>` keeps no page.
//! 2. The lock of versions keeps the current version as well, as long as it is held: nothing is retired without it. The lock of merging
//!    does not: a table that is dropped goes with the next checkpoint.
//! 3. Pages that no version reaches yet are read by whoever wrote them, who gives them back or publishes them.
//! 4. Segments need none of this: their files go with their last `Arc<Segment>`.
//!
//! Who breaks 1 reads what was written to the page since. Worse, it may read the page in the moment between its being forgotten by the pool
//! and its being written, and so leave what was there before for all others to find. The reading of a free page is an error; with
//! assertions even of one that is in the pool, and to write one that is there panics.

use std::{
    collections::VecDeque,
    sync::{Arc, Weak},
};

use ambo_pages::page::{Extents, PageRange};

use super::version::DatabaseVersion;

/// The versions that were replaced, in their order.
#[derive(Default)]
pub(super) struct Lineage {
    /// Those that may still be read, oldest first.
    replaced: VecDeque<Weak<DatabaseVersion>>,
    /// How many came before these: nobody has them any more.
    gone: u64,
    /// Pages of the file that no version before `at` reaches, as long as such versions may still be read.
    born: Vec<Born>,
}

struct Born {
    at: u64,
    pages: Extents,
}

impl Lineage {
    /// Notes that a version was replaced. REQUIRES: it can no longer be loaded.
    pub(super) fn replaced(&mut self, version: &Arc<DatabaseVersion>) {
        self.replaced.push_back(Arc::downgrade(version));
    }

    /// The number of the current version: how many were replaced so far.
    pub(super) fn count(&self) -> u64 {
        self.gone + self.replaced.len() as u64
    }

    /// Notes pages that the current version is the first to reach.
    pub(super) fn born(&mut self, pages: impl IntoIterator<Item = PageRange>) {
        if !self.replaced.is_empty() {
            debug_assert!(self.born.last().is_none_or(|last| last.at <= self.count()), "versions only go on");
            self.born.push(Born { at: self.count(), pages: pages.into_iter().collect() });
        }
    }

    /// Parts pages that nothing new reaches by the first version that does; what is not known counts as reached by all.
    pub(super) fn part(&mut self, retired: &[PageRange]) -> Vec<(u64, Vec<PageRange>)> {
        self.forget();
        let mut rest: Extents = retired.iter().copied().collect();
        let mut parts = Vec::new();
        for born in &mut self.born {
            let part: Vec<_> = retired.iter().flat_map(|range| born.pages.intersection(*range)).collect();
            for range in &part {
                born.pages.remove(*range);
                rest.remove(*range);
            }
            if !part.is_empty() {
                parts.push((born.at, part));
            }
        }
        parts.push((0, rest.iter().collect()));
        let pages = |(_, pages): &(u64, Vec<PageRange>)| pages.iter().map(|range| range.pages).sum::<u64>();
        let all: Extents = retired.iter().copied().collect();
        debug_assert_eq!(parts.iter().map(pages).sum::<u64>(), all.pages(), "each page is in one part");
        parts
    }

    /// The numbers of the replaced versions that may still be read, ascending.
    pub(super) fn read(&mut self) -> Vec<u64> {
        self.forget();
        let live = self.replaced.iter().enumerate().filter(|(_, version)| version.strong_count() > 0);
        live.map(|(index, _)| self.gone + index as u64).collect()
    }

    fn forget(&mut self) {
        while self.replaced.front().is_some_and(|version| version.strong_count() == 0) {
            self.replaced.pop_front();
            self.gone += 1;
        }
        // Whatever was born before all that are left may as well have been there always.
        self.born.retain(|born| born.at > self.gone);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::catalog::Catalog;
    use ambo_types::id::PageNo;
    use ambo_types::id::Timestamp;

    /// Keeps away: pages that are reused while an old snapshot reads them, and pages that it never saw kept for it.
    #[test]
    fn pages_are_parted_by_their_first_version() {
        let version = || {
            Arc::new(DatabaseVersion {
                since: Timestamp(0),
                beyond: Timestamp(0),
                index_epoch: 0,
                stem: None,
                under_ranges: None,
                compacted: Timestamp(0),
                catalog: Arc::new(Catalog::default()),
                tables: Default::default(),
            })
        };
        let pages = |start, count| PageRange::new(PageNo(start), count);
        let (old, new) = (version(), version());
        let mut lineage = Lineage::default();
        lineage.replaced(&old);
        lineage.born([pages(10, 10)]);
        lineage.replaced(&new);
        lineage.born([pages(30, 2)]);
        assert_eq!((lineage.read(), lineage.count()), (vec![0, 1], 2));
        drop(new);
        assert_eq!(lineage.read(), [0]);
        let parts = lineage.part(&[pages(5, 8), pages(31, 1)]);
        assert_eq!(parts, [(1, vec![pages(10, 3)]), (2, vec![pages(31, 1)]), (0, vec![pages(5, 5)])]);
        drop(old);
        assert!(lineage.read().is_empty());
        assert_eq!(lineage.part(&[pages(15, 1)]), [(0, vec![pages(15, 1)])]);
    }
}
