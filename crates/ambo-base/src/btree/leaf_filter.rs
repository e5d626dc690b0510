//! A filter of the keys of one leaf, which its parent has: says "certainly not here" for most keys that the leaf does not have, without
//! the leaf being read.
//!
//! A Bloom filter of [`BITS`] bits a key, of which each key sets [`PROBES`] by double hashing (Kirsch and Mitzenmacher 2006): about one
//! foreign key in a hundred is let through. It belongs to its leaf and not to a tree, so that it goes with the leaf where this is linked by
//! another tree, and costs a look-up no page: who comes to the parent has it.

use rapidhash::v3::rapidhash_v3;

/// Bits of a key.
const BITS: usize = 10;
/// Bits that a key sets.
const PROBES: u32 = 6;
/// A filter that takes more than this part of a page is not made: keys without records are by the hundred thousand in one leaf.
const PAGE_SHARE: usize = 16;

/// The filter of so many keys, in a tree of pages of so many bytes. It is empty, and denies nothing, where it would be too large.
pub(super) fn build<'k>(keys: impl ExactSizeIterator<Item = &'k [u8]>, page_size: usize) -> Vec<u8> {
    let bytes = (keys.len() * BITS).div_ceil(8);
    if bytes > page_size / PAGE_SHARE {
        return Vec::new();
    }
    let mut filter = vec![0; bytes];
    for key in keys {
        for (byte, bit) in places(key, bytes) {
            filter[byte] |= bit;
        }
        debug_assert!(may_have(&filter, key), "what is in it is not denied");
    }
    filter
}

/// False if a leaf with this filter certainly has no such key.
#[inline]
pub(super) fn may_have(filter: &[u8], key: &[u8]) -> bool {
    filter.is_empty() || places(key, filter.len()).all(|(byte, bit)| filter[byte] & bit != 0)
}

/// Where the bits of a key are: byte and bit.
#[inline]
fn places(key: &[u8], bytes: usize) -> impl Iterator<Item = (usize, u8)> {
    let hash = rapidhash_v3(key);
    let (first, step) = (hash as u32, (hash >> 32) as u32 | 1);
    (0..PROBES).map(move |probe| {
        let at = (u64::from(first.wrapping_add(step.wrapping_mul(probe))) * (bytes as u64 * 8)) >> 32;
        ((at / 8) as usize, 1 << (at % 8))
    })
}

#[cfg(test)]
mod tests {
    use std::sync::{Arc, atomic::AtomicBool};

    use ambo_pages::{
        budget::MemoryBudget,
        io::{Disk, OpenMode, sim::SimDisk},
        page::{NAME, PageStore, PageStoreOptions},
    };
    use ambo_types::record::Record;

    use super::*;
    use crate::btree::{BuildOptions, CheckOptions, MergeOptions, Tree, TreeBuilder, merge, split};

    /// Keeps away: a key that a leaf has and its filter denies, which would be a lost row; a filter that lets everything through; and one
    /// that takes as much as the leaf.
    #[test]
    fn keys_are_never_denied_and_foreign_ones_mostly() {
        let key = |number: usize| format!("key {number}").into_bytes();
        for count in [1, 2, 30, 60, 400, 800] {
            let keys: Vec<_> = (0..count).map(key).collect();
            let filter = build(keys.iter().map(Vec::as_slice), 16 << 10);
            assert!(keys.iter().all(|key| may_have(&filter, key)));
            let let_through =
                (count..count + 100_000).filter(|number| may_have(&filter, &key(*number))).count();
            assert!(let_through < 2_500, "{let_through} of 100,000 for {count} keys");
        }
        let many: Vec<_> = (0..1000).map(key).collect();
        let filter = build(many.iter().map(Vec::as_slice), 16 << 10);
        assert!(filter.is_empty() && may_have(&filter, b"any"));
    }

    /// Keeps away: a change of the stored form that nobody noticed.
    #[test]
    fn the_worked_example_holds() {
        let filter = build([&b"k1"[..], b"k2"].into_iter(), 4096);
        assert_eq!(filter, [0xd4, 0x1a, 0xb2]);
    }

    const PAGE: usize = 4096;
    const ROWS: u64 = 4000;

    /// Pages that are read where all odd keys are looked up, which are not there.
    fn pages_read(tree: &Arc<Tree>) -> u64 {
        let before = tree.store().stats().bytes_read;
        for number in 0..ROWS {
            // Not one leaf after the other.
            let number = (number.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 40) % ROWS * 2 + 1;
            assert!(tree.get(&number.to_be_bytes()).unwrap().is_none());
        }
        (tree.store().stats().bytes_read - before) / PAGE as u64
    }

    /// Keeps away: look-ups of keys that are not there that read leaves, in trees that were built, merged with leaves being linked, and
    /// cut; and filters in trees that are to have none.
    #[test]
    fn filters_go_with_their_leaves() {
        let disk = SimDisk::new(1);
        let file = disk.open(NAME, OpenMode::Create).unwrap();
        let options = PageStoreOptions { page_size: PAGE, memory: MemoryBudget::new(64 * PAGE) };
        let store = PageStore::create(file, &options).unwrap();
        let tree_of = |filters: bool, numbers: &mut dyn Iterator<Item = u64>| {
            let mut builder = TreeBuilder::new(&store, BuildOptions { filters, ..BuildOptions::default() });
            numbers
                .for_each(|number| builder.push(&number.to_be_bytes(), Record::inline(&[7; 100])).unwrap());
            Tree::open(store.clone(), builder.finish().unwrap())
        };
        let tree = tree_of(true, &mut (0..ROWS).map(|number| number * 2));
        let without = tree_of(false, &mut (0..ROWS).map(|number| number * 2));
        // Inner pages are read, too.
        let (some, all) = (pages_read(&tree), pages_read(&without));
        assert!(some * 10 < all && all > ROWS / 8, "{some} of {all} pages");

        let cancel = AtomicBool::new(false);
        let build = BuildOptions { filters: true, ..BuildOptions::default() };
        let run = tree_of(true, &mut [100, 4000].into_iter());
        let options = MergeOptions { build: build.clone(), ..MergeOptions::new(&cancel) };
        let merged = merge(&[run.clone(), tree.clone()], &options).unwrap();
        assert!(merged.adopted_leaves > 50, "{merged:?}");
        let merged = Tree::open(store.clone(), merged.meta);
        assert!(pages_read(&merged) * 10 < all);

        let at = [3001_u64.to_be_bytes().to_vec()];
        for part in split(&merged, &at, &[0, 1], &build, &cancel).unwrap().trees {
            let part = Tree::open(store.clone(), part);
            assert!(pages_read(&part) * 10 < all);
            assert_eq!(part.check(&CheckOptions::default()).unwrap().problems, []);
        }
        let unfiltered = MergeOptions::new(&cancel);
        let unfiltered = merge(&[run, tree.clone()], &unfiltered).unwrap();
        assert!(unfiltered.meta.inner_pages < tree.meta().inner_pages, "{unfiltered:?}");
    }
}
