//! Which replaced versions may still be read.
//!
//! A page that a checkpoint retires may be reached from any older version, not only from the trees that were merged: a leaf or a blob is
//! handed on from tree to tree, and a delta refers to the blob that its run took over. So pages wait until every version that was
//! replaced before them is gone.

use std::{
    collections::VecDeque,
    sync::{Arc, Weak},
};

use super::version::DatabaseVersion;

/// The versions that were replaced, in their order.
#[derive(Default)]
pub(super) struct Lineage {
    /// Those that may still be read, oldest first.
    replaced: VecDeque<Weak<DatabaseVersion>>,
    /// How many came before these: nobody has them any more.
    gone: u64,
}

impl Lineage {
    /// Notes that a version was replaced. REQUIRES: it can no longer be loaded.
    pub(super) fn replaced(&mut self, version: &Arc<DatabaseVersion>) {
        self.replaced.push_back(Arc::downgrade(version));
    }

    /// How many versions were replaced so far.
    pub(super) fn count(&self) -> u64 {
        self.gone + self.replaced.len() as u64
    }

    /// How many of the oldest are gone.
    pub(super) fn gone(&mut self) -> u64 {
        while self.replaced.front().is_some_and(|version| version.strong_count() == 0) {
            self.replaced.pop_front();
            self.gone += 1;
        }
        self.gone
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{catalog::Catalog, id::Timestamp};

    /// Keeps away: pages that are reused while an old snapshot reads them through a leaf or a blob that was handed on.
    #[test]
    fn an_old_reader_holds_everything_after_it() {
        let version = || {
            Arc::new(DatabaseVersion {
                settled: Timestamp(0),
                catalog: Arc::new(Catalog::default()),
                tables: Default::default(),
            })
        };
        let (old, new) = (version(), version());
        let mut lineage = Lineage::default();
        lineage.replaced(&old);
        lineage.replaced(&new);
        drop(new);
        assert_eq!((lineage.gone(), lineage.count()), (0, 2));
        drop(old);
        assert_eq!((lineage.gone(), lineage.count()), (2, 2));
    }
}
