//! What the leaves of a tree use their pages for.

use ambo_types::Result;

use super::{node::BODY, tree::Tree, walk::LeafWalker};

/// Bytes of a tree's leaves by use.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct TreeSpace {
    /// All that is used, page headers included.
    pub used: u64,
    /// Stored keys.
    pub keys: u64,
    /// Stored records, those in blobs as references, with what finds them.
    pub records: u64,
}

impl TreeSpace {
    /// The sum with another tree's.
    #[must_use]
    pub fn plus(self, other: Self) -> Self {
        Self {
            used: self.used + other.used,
            keys: self.keys + other.keys,
            records: self.records + other.records,
        }
    }
}

impl Tree {
    /// What leaves use their pages for. Of more than `leaves_max` leaves only about so many are read, spread over the tree, and the
    /// others taken to be like them.
    pub fn space(&self, leaves_max: u64) -> Result<TreeSpace> {
        let step = (self.meta().leaf_pages / leaves_max.max(1)).max(1);
        let (mut used, mut read, mut keys) = (0u64, 0u64, 0u64);
        let mut walker = LeafWalker::new(self);
        let mut number = 0;
        while walker.advance()? {
            let known = walker.summary().map(|summary| u64::from(summary.used));
            if number % step == 0 || known.is_none() {
                let (_, leaf) = walker.read()?;
                read += u64::from(leaf.used());
                keys += (leaf.keys.end() - BODY) as u64;
            }
            used += known.unwrap_or(read);
            number += 1;
        }
        let keys = (u128::from(keys) * u128::from(used) / u128::from(read.max(1))) as u64;
        Ok(TreeSpace { used, keys, records: used.saturating_sub(keys + number * BODY as u64) })
    }
}
