//! Giving space back to the file system while the database is in use.

use std::sync::Arc;

use ambo_base::BaseOps;
use ambo_types::{Result, id::PageNo};

use super::{checkpoint::Turnover, compact::HOLE_PAGES_MIN, engine::Engine, version_edit::VersionEdit};

/// What vacuuming achieved, in bytes of the `pages` file and of segments.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct VacuumReport {
    /// Bytes that the files occupied before.
    pub bytes_before: u64,
    /// Bytes that they occupy now.
    pub bytes_after: u64,
}

/// Moving pages down frees others behind them: after so many rounds little is left to gain.
const ROUNDS: usize = 4;

impl Engine {
    /// Compacts everything, writes tables anew that are not compressed as their definitions say, moves pages from the file's end into free
    /// space, and cuts the end off. Free space that readers of old snapshots still hold stays.
    pub fn vacuum(self: &Arc<Self>) -> Result<VacuumReport> {
        let bytes_before = self.data_bytes()?;
        self.compact()?;
        self.rewrite_all_outdated()?;
        for _ in 0..ROUNDS {
            let stats = self.store.stats();
            // A little room, so that what is rewritten finds a place below.
            let limit = stats.used_pages + stats.used_pages / 64 + 4;
            self.cut()?;
            if self.store.stats().file_pages <= limit {
                break;
            }
            let _merging_segments = self.merging_segments.lock();
            let _merging = self.merging.lock();
            let ids: Vec<_> = self.versions.load().tables.keys().copied().collect();
            for id in ids {
                self.merge_all(id, Some(PageNo(limit)))?;
            }
        }
        self.cut()?;
        self.store.punch_free(HOLE_PAGES_MIN)?;
        Ok(VacuumReport { bytes_before, bytes_after: self.data_bytes()? })
    }

    /// Bytes of the `pages` file and of the segments that the newest version has.
    fn data_bytes(&self) -> Result<u64> {
        let version = self.versions.load();
        let segments = version.tables.values().flat_map(|table| table.base.segments());
        Ok(self.store.file_bytes()? + segments.map(|segment| segment.file_bytes()).sum::<u64>())
    }

    /// Tables whose options were changed get what they say.
    fn rewrite_all_outdated(&self) -> Result<()> {
        let _merging = self.merging.lock();
        let ids: Vec<_> = self.versions.load().tables.keys().copied().collect();
        ids.into_iter().try_for_each(|id| self.rewrite_outdated(id))
    }

    /// Publishes a checkpoint that has nothing new, so that what was retired last is free in it, and cuts the file's end.
    fn cut(&self) -> Result<()> {
        let mut checkpoint = self.checkpoint.lock();
        self.sweep(&mut checkpoint);
        let locks = self.lock_versions_within(&mut checkpoint);
        self.apply(locks, VersionEdit::checkpoint(Turnover::default()))?;
        self.store.truncate_tail().map(drop)
    }
}
