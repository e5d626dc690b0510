//! Merging trees into one, leaf by leaf.
//!
//! A leaf that overlaps nothing, and in which nothing is to be changed, is *adopted*: the new tree refers
//! to it as it is, and it is not even read, as its parent's separators bound its keys. All other entries go
//! through a [`TreeBuilder`], the newest of each key.
//!
//! Each input is, at any moment, at a leaf that is not read yet (its next key is at or above the leaf's
//! lower bound) or at an entry of a leaf that is (its next key is known). The input with the smallest next
//! key, or bound, has its turn: if only the bound is known, the leaf is adopted or read; else its entries
//! are taken as far as no other input can have one.

use std::{
    cmp::Ordering as Order,
    fmt,
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
};

use super::{
    builder::{Adopted, BuildOptions, Ceiling, TreeBuilder},
    key_reader::KeyReader,
    leaf::{LeafSummary, LeafView, Stored},
    meta::TreeMeta,
    tree::Tree,
    value,
    walk::LeafWalker,
};
use crate::{
    Error, Result,
    id::PageNo,
    page::{PageRange, PageRef},
    record::{Record, RecordKind},
};

/// How trees are merged.
pub struct MergeOptions<'a> {
    /// Leave out tombstones, and what they delete: right if nothing older than the inputs is left.
    pub drop_tombstones: bool,
    /// Write anew all leaves and blobs that reach to or beyond this page, so that the file can be cut there.
    pub relocate_from: Option<PageNo>,
    /// Write anew all leaves and blobs, so that all are compressed as [`MergeOptions::build`] says.
    pub rewrite: bool,
    /// Stops the merge with [`Error::Cancelled`] soon after it is set.
    pub cancel: &'a AtomicBool,
    /// Called with the bytes of entries merged since the last call, about every
    /// [`MergeOptions::throttle_bytes`]; may sleep.
    pub throttle: Option<&'a (dyn Fn(u64) + Sync)>,
    /// How often to call it.
    pub throttle_bytes: u64,
    /// How the new tree is built.
    pub build: BuildOptions,
}

impl<'a> MergeOptions<'a> {
    /// Keeps tombstones, relocates nothing, never sleeps.
    pub fn new(cancel: &'a AtomicBool) -> Self {
        Self {
            drop_tombstones: false,
            relocate_from: None,
            rewrite: false,
            cancel,
            throttle: None,
            throttle_bytes: 1 << 20,
            build: BuildOptions::default(),
        }
    }
}

impl fmt::Debug for MergeOptions<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("MergeOptions")
            .field("drop_tombstones", &self.drop_tombstones)
            .field("relocate_from", &self.relocate_from)
            .finish_non_exhaustive()
    }
}

/// The outcome of a merge.
#[derive(Debug, Default)]
pub struct Merged {
    /// The new tree.
    pub meta: TreeMeta,
    /// Pages of the inputs that the new tree does not refer to: to be retired with the inputs.
    pub freed: Vec<PageRange>,
    /// Pages that the merge wrote, blobs included: to be published with the new tree.
    pub written: Vec<PageRange>,
    /// Leaves adopted.
    pub adopted_leaves: u64,
    /// Leaves of the inputs that were taken apart.
    pub merged_leaves: u64,
    /// Entries that went through the builder.
    pub merged_rows: u64,
}

/// Merges trees of one store, the newest first, into a new one. The inputs stay as they are.
pub fn merge(inputs: &[Arc<Tree>], options: &MergeOptions<'_>) -> Result<Merged> {
    let Some(first) = inputs.first() else { return Ok(Merged::default()) };
    assert!(
        inputs.iter().all(|tree| Arc::ptr_eq(&tree.store, &first.store)),
        "trees of one store are merged: pages are adopted"
    );
    let mut sources = Vec::with_capacity(inputs.len());
    for tree in inputs {
        sources.push(Source::start(tree)?);
    }
    let mut merge = Merge {
        builder: TreeBuilder::new(&first.store, options.build.clone()),
        page_size: first.store.page_size(),
        sources,
        options,
        merged: Merged::default(),
        limit: Vec::new(),
        key: Vec::new(),
        unreported: 0,
    };
    while let Some(turn) = merge.least() {
        merge.take_turn(turn)?;
    }
    merge.finish()
}

/// A leaf that is read.
struct Open<'t> {
    page: PageRef<'t>,
    view: LeafView,
    index: usize,
    key: Vec<u8>,
}

impl Open<'_> {
    fn record(&self, tree: &Tree, walker: &LeafWalker<'_>) -> Result<(Stored, &[u8])> {
        let found = self.view.record(&self.page, self.index);
        let (stored, range) = found.map_err(|what| tree.damaged(walker.leaf(), what))?;
        Ok((stored, &self.page[range]))
    }
}

const BLOB: Stored = Stored::Plain(RecordKind::Blob);
const TOMBSTONE: Stored = Stored::Plain(RecordKind::Tombstone);

/// One input.
struct Source<'t> {
    tree: &'t Tree,
    walker: LeafWalker<'t>,
    /// `None`: at a leaf that is not read.
    open: Option<Open<'t>>,
    done: bool,
    /// The buffer of a closed leaf's key.
    spare: Vec<u8>,
    keys: KeyReader,
}

impl<'t> Source<'t> {
    fn start(tree: &'t Tree) -> Result<Self> {
        let mut source = Self {
            tree,
            walker: LeafWalker::new(tree),
            open: None,
            done: false,
            spare: Vec::new(),
            keys: KeyReader::default(),
        };
        source.next_leaf()?;
        Ok(source)
    }

    /// The next key, or a bound at or below it.
    fn bound(&self) -> &[u8] {
        self.open.as_ref().map_or(self.walker.lower(), |open| &open.key)
    }

    fn next_leaf(&mut self) -> Result<()> {
        if let Some(open) = self.open.take() {
            self.spare = open.key;
        }
        self.done = !self.walker.advance()?;
        Ok(())
    }

    /// Reads the leaf.
    fn open(&mut self) -> Result<()> {
        let (page, view) = self.walker.read()?;
        let key = std::mem::take(&mut self.spare);
        self.keys.reset();
        self.open = Some(Open { page, view, index: 0, key });
        self.load_key()
    }

    fn load_key(&mut self) -> Result<()> {
        let open = self.open.as_mut().expect("an open leaf");
        let loaded = self.keys.key_into(&open.page, &open.view.keys, open.index, &mut open.key);
        loaded.map_err(|what| self.tree.damaged(self.walker.leaf(), what))
    }

    /// Steps to the next entry of the open leaf, or to the next leaf.
    fn next_row(&mut self) -> Result<()> {
        let open = self.open.as_mut().expect("an open leaf");
        open.index += 1;
        if open.index < open.view.len() { self.load_key() } else { self.next_leaf() }
    }
}

struct Merge<'t, 'o> {
    builder: TreeBuilder,
    page_size: usize,
    sources: Vec<Source<'t>>,
    options: &'o MergeOptions<'o>,
    merged: Merged,
    /// The smallest next key or bound of the inputs that do not have the turn.
    limit: Vec<u8>,
    key: Vec<u8>,
    unreported: u64,
}

impl Merge<'_, '_> {
    /// The input with the smallest next key or bound. Among equals one whose leaf is not read (it may have
    /// smaller keys than all others), then the newest.
    fn least(&self) -> Option<usize> {
        let order = |a: &Source<'_>, b: &Source<'_>| {
            a.bound().cmp(b.bound()).then(a.open.is_some().cmp(&b.open.is_some()))
        };
        let mut least: Option<usize> = None;
        for (index, source) in self.sources.iter().enumerate().filter(|(_, source)| !source.done) {
            if least.is_none_or(|least| order(source, &self.sources[least]) == Order::Less) {
                least = Some(index);
            }
        }
        least
    }

    fn take_turn(&mut self, turn: usize) -> Result<()> {
        if self.options.cancel.load(Ordering::Relaxed) {
            return Err(Error::Cancelled);
        }
        if self.sources[turn].open.is_none() {
            if self.adopt_unread(turn)? {
                return Ok(());
            }
            self.sources[turn].open()?;
            if self.adopt_read(turn)? {
                return Ok(());
            }
            self.merged.freed.push(self.sources[turn].walker.leaf().into());
            self.merged.merged_leaves += 1;
            // What was a bound is a key now: another input may have the turn.
            return Ok(());
        }
        if self.drop_older(turn)? { self.take_row(turn) } else { self.take_rows(turn) }
    }

    /// Whether a leaf may become part of the new tree as it is, as far as its contents are concerned.
    fn is_adoptable(&self, turn: usize, summary: Option<LeafSummary>) -> bool {
        let leaf = self.sources[turn].walker.leaf();
        let Some(summary) = summary else { return false };
        let relocated = self.options.rewrite
            || self.options.relocate_from.is_some_and(|from| {
                leaf.number().0 + u64::from(leaf.units()) > from.0 || summary.blob_pages > 0
            });
        let full = summary.used as usize * 2 >= usize::from(leaf.units()) * self.page_size;
        full && !relocated
            && !(self.options.drop_tombstones && summary.tombstones > 0)
            && self.builder.is_ready_to_adopt()
    }

    /// Adopts the leaf by what its parents say, if they say enough.
    fn adopt_unread(&mut self, turn: usize) -> Result<bool> {
        let source = &self.sources[turn];
        let mut others =
            self.sources.iter().enumerate().filter(|(index, other)| *index != turn && !other.done);
        let ceiling = match source.walker.upper() {
            Some(upper) if others.all(|(_, other)| other.bound() >= upper) => Ceiling::Below(upper),
            None if others.next().is_none() => Ceiling::End,
            _ => return Ok(false),
        };
        let summary = source.walker.summary();
        if !self.is_adoptable(turn, summary) || !self.builder.is_behind_all(source.walker.lower()) {
            return Ok(false);
        }
        self.builder.adopt_leaf(&Adopted {
            ptr: source.walker.leaf(),
            entries: source.walker.entries(),
            summary: summary.unwrap_or_default(),
            lower: source.walker.lower(),
            ceiling,
            compression: source.tree.meta().compression,
        })?;
        self.merged.adopted_leaves += 1;
        self.sources[turn].next_leaf()?;
        Ok(true)
    }

    /// Adopts a leaf that had to be read, as its bounds alone left open whether it overlaps another.
    fn adopt_read(&mut self, turn: usize) -> Result<bool> {
        let summary = self.sources[turn].walker.summary();
        if !self.is_adoptable(turn, summary) {
            return Ok(false);
        }
        let source = &self.sources[turn];
        let open = source.open.as_ref().expect("just read");
        let loaded = open.view.keys.key_into(&open.page, open.view.len() - 1, &mut self.key);
        loaded.map_err(|what| source.tree.damaged(source.walker.leaf(), what))?;
        let mut others =
            self.sources.iter().enumerate().filter(|(index, other)| *index != turn && !other.done);
        if others.any(|(_, other)| other.bound() <= self.key.as_slice())
            || !self.builder.is_behind_all(&open.key)
        {
            return Ok(false);
        }
        self.builder.adopt_leaf(&Adopted {
            ptr: source.walker.leaf(),
            entries: source.walker.entries(),
            summary: summary.unwrap_or_default(),
            lower: &open.key,
            ceiling: Ceiling::Last(&self.key),
            compression: source.tree.meta().compression,
        })?;
        self.merged.adopted_leaves += 1;
        self.sources[turn].next_leaf()?;
        Ok(true)
    }

    /// Steps the other inputs past the key whose turn it is; whether there was one that had it.
    fn drop_older(&mut self, turn: usize) -> Result<bool> {
        let mut any = false;
        for index in 0..self.sources.len() {
            let source = &self.sources[index];
            if index == turn
                || source.done
                || source.open.is_none()
                || source.bound() != self.sources[turn].bound()
            {
                continue;
            }
            assert!(index > turn, "of equal keys the newest has its turn");
            let open = source.open.as_ref().expect("checked above");
            let (stored, bytes) = open.record(source.tree, &source.walker)?;
            if stored == BLOB {
                value::add_blob_pages(bytes, &mut self.merged.freed)?;
            }
            self.sources[index].next_row()?;
            any = true;
        }
        Ok(any)
    }

    /// Takes entries while no other input can have a smaller or equal key.
    fn take_rows(&mut self, turn: usize) -> Result<()> {
        let others = self.sources.iter().enumerate().filter(|(index, other)| *index != turn && !other.done);
        let limited = match others.map(|(_, other)| other.bound()).min() {
            Some(limit) => {
                self.limit.clear();
                self.limit.extend_from_slice(limit);
                true
            }
            None => false,
        };
        // The first is taken even if a bound is equal to it: then there is an unread leaf, which would have
        // had the turn.
        loop {
            self.take_row(turn)?;
            let source = &self.sources[turn];
            if source.done || source.open.is_none() || (limited && source.bound() >= self.limit.as_slice()) {
                return Ok(());
            }
        }
    }

    /// Takes the entry whose turn it is.
    fn take_row(&mut self, turn: usize) -> Result<()> {
        let source = &self.sources[turn];
        let open = source.open.as_ref().expect("an open leaf");
        let (stored, bytes) = open.record(source.tree, &source.walker)?;
        self.merged.merged_rows += 1;
        self.unreported += (open.key.len() + bytes.len()) as u64;
        if !self.builder.is_behind_all(&open.key) {
            return Err(source.tree.damaged(source.walker.leaf(), "keys out of order"));
        }
        match stored {
            // Nothing is left of it.
            TOMBSTONE if self.options.drop_tombstones => (),
            BLOB if self.is_relocated(bytes)? => {
                self.unreported += value::blob_size(bytes)?.0;
                self.builder.push_copied_blob(&open.key, bytes)?;
                value::add_blob_pages(bytes, &mut self.merged.freed)?;
            }
            Stored::Plain(kind) => self.builder.push(&open.key, Record { kind, bytes })?,
            Stored::Packed => self.builder.push_packed(&open.key, bytes)?,
        }
        self.sources[turn].next_row()?;
        if self.unreported >= self.options.throttle_bytes {
            if let Some(throttle) = self.options.throttle {
                throttle(self.unreported);
            }
            self.unreported = 0;
        }
        Ok(())
    }

    fn is_relocated(&self, reference: &[u8]) -> Result<bool> {
        if self.options.rewrite {
            return Ok(true);
        }
        let Some(from) = self.options.relocate_from else { return Ok(false) };
        let mut pages = Vec::new();
        value::add_blob_pages(reference, &mut pages)?;
        Ok(pages.iter().any(|range| range.end() > from.0))
    }

    fn finish(self) -> Result<Merged> {
        let Self { builder, sources, mut merged, .. } = self;
        (merged.meta, merged.written) = builder.finish_with_pages()?;
        for source in sources {
            merged.freed.extend(source.walker.into_inner_pages().into_iter().map(PageRange::from));
        }
        merged.freed = coalesce(merged.freed);
        Ok(merged)
    }
}

/// The same pages in ascending, separate ranges.
pub(super) fn coalesce(mut ranges: Vec<PageRange>) -> Vec<PageRange> {
    ranges.sort_unstable();
    let mut joined: Vec<PageRange> = Vec::new();
    for range in ranges {
        match joined.last_mut() {
            Some(last) if last.end() == range.start.0 => last.pages += range.pages,
            _ => joined.push(range),
        }
    }
    joined
}
