//! Entries in any order into one packed tree, in bounded memory.
//!
//! Entries are gathered up to a number of bytes, sorted, and written as a tree; at the end the trees are merged into one. (External
//! sorting, Knuth, The Art of Computer Programming 3, 5.4.)

use std::sync::{Arc, atomic::AtomicBool};

use crate::{
    Result,
    base::btree::{BuildOptions, MergeOptions, Tree, TreeBuilder, TreeMeta, merge},
    page::{PageRange, PageStore},
    record::Record,
};

/// One entry among the bytes gathered.
struct Item {
    /// The first bytes of the key, which decide most comparisons.
    prefix: u64,
    at: usize,
    key: u32,
    /// The length of the value; [`TOMBSTONE`] if the entry is deleted.
    value: u32,
}

const TOMBSTONE: u32 = u32::MAX;

/// Sorts entries. Dropped before [`EntrySorter::finish`], nothing is left of it.
pub struct EntrySorter {
    store: Arc<PageStore>,
    bytes_max: usize,
    bytes: Vec<u8>,
    items: Vec<Item>,
    /// What was sorted so far, with its pages.
    trees: Vec<(TreeMeta, Vec<PageRange>)>,
    /// A key that came twice.
    twice: Option<Vec<u8>>,
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
    /// A sorter that gathers up to so many bytes at once.
    pub fn new(store: &Arc<PageStore>, bytes_max: usize) -> Self {
        Self {
            store: store.clone(),
            bytes_max,
            bytes: Vec::new(),
            items: Vec::new(),
            trees: Vec::new(),
            twice: None,
        }
    }

    /// Adds an entry.
    ///
    /// # Errors
    /// Those of writing pages.
    pub fn push(&mut self, key: &[u8], value: &[u8]) -> Result<()> {
        self.gather(key, value, value.len() as u32)
    }

    /// Takes an entry away that is in an older tree. Of this and an entry of the same key that is pushed later the later counts.
    ///
    /// # Errors
    /// Those of writing pages.
    pub fn push_tombstone(&mut self, key: &[u8]) -> Result<()> {
        self.gather(key, &[], TOMBSTONE)
    }

    fn gather(&mut self, key: &[u8], value: &[u8], len: u32) -> Result<()> {
        let taken = self.bytes.len() + self.items.len() * size_of::<Item>();
        if taken + key.len() + value.len() + size_of::<Item>() > self.bytes_max && !self.items.is_empty() {
            self.spill()?;
        }
        let item = Item { prefix: prefix(key), at: self.bytes.len(), key: key.len() as u32, value: len };
        self.items.push(item);
        self.bytes.extend_from_slice(key);
        self.bytes.extend_from_slice(value);
        Ok(())
    }

    /// Writes what was gathered as a tree.
    fn spill(&mut self) -> Result<()> {
        let bytes = &self.bytes;
        let key = |item: &Item| &bytes[item.at..item.at + item.key as usize];
        // Of the same key, what counts comes first.
        let rank = |item: &Item| item.value == TOMBSTONE;
        self.items.sort_unstable_by(|a, b| {
            a.prefix.cmp(&b.prefix).then_with(|| key(a).cmp(key(b))).then_with(|| rank(a).cmp(&rank(b)))
        });
        // It is read once more, in order, or not at all soon.
        let options = BuildOptions { keep_in_cache: self.store.is_memory(), ..BuildOptions::default() };
        let mut builder = TreeBuilder::new(&self.store, options);
        let mut last: Option<&[u8]> = None;
        for item in &self.items {
            let key = key(item);
            if last == Some(key) {
                if item.value != TOMBSTONE {
                    self.twice = Some(key.to_vec());
                }
                continue;
            }
            let record = match item.value {
                TOMBSTONE => Record::TOMBSTONE,
                len => Record::inline(&bytes[item.at + item.key as usize..][..len as usize]),
            };
            builder.push(key, record)?;
            last = Some(key);
        }
        self.trees.push(builder.finish_with_pages()?);
        self.items.clear();
        self.bytes.clear();
        Ok(())
    }

    /// All entries in one tree.
    ///
    /// # Errors
    /// Those of reading and writing pages, and [`crate::Error::Cancelled`] when `cancel` is set.
    pub fn finish(mut self, cancel: &AtomicBool) -> Result<SortedEntries> {
        if !self.items.is_empty() {
            self.spill()?;
        }
        let (meta, pages) = match self.trees.len() {
            0 => (TreeMeta::default(), Vec::new()),
            1 => self.trees.pop().expect("one"),
            _ => self.merge(cancel)?,
        };
        Ok(SortedEntries { meta, pages, twice: self.twice.take() })
    }

    /// The trees so far as one; their pages are free then.
    fn merge(&mut self, cancel: &AtomicBool) -> Result<(TreeMeta, Vec<PageRange>)> {
        // The newest first.
        let inputs: Vec<_> =
            self.trees.iter().rev().map(|(meta, _)| Tree::open(self.store.clone(), *meta)).collect();
        let options = MergeOptions {
            // Nothing is taken over, so the inputs can be freed.
            rewrite: true,
            build: BuildOptions { keep_in_cache: self.store.is_memory(), ..BuildOptions::default() },
            ..MergeOptions::new(cancel)
        };
        let merged = merge(&inputs, &options)?;
        if self.twice.is_none() && merged.meta.rows < inputs.iter().map(|tree| tree.meta().rows).sum() {
            match find_twice(&inputs) {
                Ok(twice) => self.twice = twice,
                Err(error) => {
                    self.store.free(merged.written);
                    return Err(error);
                }
            }
        }
        drop(inputs);
        self.free_trees();
        Ok((merged.meta, merged.written))
    }

    fn free_trees(&mut self) {
        for (_, pages) in self.trees.drain(..) {
            self.store.free(pages);
        }
    }
}

impl Drop for EntrySorter {
    fn drop(&mut self) {
        self.free_trees();
    }
}

/// A key that two of the trees have an entry for.
fn find_twice(trees: &[Arc<Tree>]) -> Result<Option<Vec<u8>>> {
    for (index, tree) in trees.iter().enumerate() {
        let mut cursor = tree.cursor();
        let mut there = cursor.seek_first()?;
        while there {
            for other in &trees[index + 1..] {
                let there = other.get(cursor.key())?;
                if there.is_some_and(|other| !other.record().is_tombstone())
                    && !cursor.record().is_tombstone()
                {
                    return Ok(Some(cursor.key().to_vec()));
                }
            }
            there = cursor.next()?;
        }
    }
    Ok(None)
}

/// The first eight bytes, zeros behind shorter keys: as numbers they are in the order of the keys, if they differ.
fn prefix(key: &[u8]) -> u64 {
    let mut bytes = [0; 8];
    let len = key.len().min(8);
    bytes[..len].copy_from_slice(&key[..len]);
    u64::from_be_bytes(bytes)
}
