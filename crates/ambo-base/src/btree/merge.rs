//! Merging trees into one, leaf by leaf.
//!
//! A leaf that overlaps nothing, and in which nothing is to be changed, is *adopted*: the new tree refers
//! to it as it is, and it is not even read, as its parent's separators bound its keys. All other entries go
//! through a [`TreeBuilder`], the newest of each key.
//!
//! Each input is, at any moment, at a leaf that is not read yet (its next key is at or above the leaf's
//! lower bound) or at an entry of a leaf that is (its next key is known). The input with the smallest next
//! key, or bound, has its turn ([`Tournament`]): if only the bound is known, the leaf is adopted or read;
//! else its entries are taken as far as no other input can have one.

use std::{
    fmt,
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
};

use ambo_pages::page::{PageRange, PageRef};
use ambo_types::{
    Error, Result,
    id::PageNo,
    record::{Record, RecordKind},
};

use super::{
    builder::{Adopted, BuildOptions, Ceiling, TreeBuilder},
    key_reader::KeyReader,
    leaf::{LeafSummary, LeafView, Stored},
    meta::TreeMeta,
    packed,
    tree::Tree,
    value,
    walk::LeafWalker,
};
use crate::{
    compaction::LeaveOut,
    merge::{Head, Input, Tournament},
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
    /// What is left out: it is as if it were deleted. Leaves that have such records are not adopted.
    pub leave_out: Option<&'a LeaveOut<'a>>,
    /// If keys alone say what is left out: all records of keys below this, and no others. Leaves of such keys are not read.
    pub all_below: Option<&'a [u8]>,
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
            leave_out: None,
            all_below: None,
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
    /// Leaves of which nothing was kept, and that were not read.
    pub skipped_leaves: u64,
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
    assert!(inputs.len() <= READ as usize, "ages are less than what marks a leaf that is read");
    let sources = inputs.iter().zip(0..).map(|(tree, age)| TreeInput::start(tree, age));
    let sources = Tournament::new(sources.collect::<Result<_>>()?);
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
    while merge.sources.winner().is_some() {
        merge.take_turn()?;
        merge.sources.replay();
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
struct TreeInput<'t> {
    tree: &'t Tree,
    /// How many inputs are newer.
    age: u32,
    walker: LeafWalker<'t>,
    /// `None`: at a leaf that is not read.
    open: Option<Open<'t>>,
    done: bool,
    /// The buffer of a closed leaf's key.
    spare: Vec<u8>,
    keys: KeyReader,
}

/// Among equals one whose leaf is not read comes first: it may have smaller keys than all others. Then the newest.
const READ: u32 = 1 << 16;

impl Input for TreeInput<'_> {
    #[inline]
    fn head(&self) -> Head {
        let rank = if self.open.is_some() { READ | self.age } else { self.age };
        if self.done { Head::END } else { Head::new(self.bound(), rank) }
    }

    #[inline]
    fn key(&self) -> &[u8] {
        self.bound()
    }
}

impl<'t> TreeInput<'t> {
    fn start(tree: &'t Tree, age: u32) -> Result<Self> {
        let mut source = Self {
            tree,
            age,
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
    /// The winner has its turn.
    sources: Tournament<TreeInput<'t>>,
    options: &'o MergeOptions<'o>,
    merged: Merged,
    /// The smallest next key or bound of the inputs that do not have the turn.
    limit: Vec<u8>,
    key: Vec<u8>,
    unreported: u64,
}

impl<'t> Merge<'t, '_> {
    /// The input that has its turn.
    fn source(&mut self) -> &mut TreeInput<'t> {
        self.sources.winner_mut().expect("an input has its turn")
    }

    fn take_turn(&mut self) -> Result<()> {
        debug_assert!(!self.source().done, "an input has its turn as long as it has entries");
        if self.options.cancel.load(Ordering::Relaxed) {
            return Err(Error::Cancelled);
        }
        if self.source().open.is_some() {
            return self.take_rows();
        }
        if self.skip_unread()? || self.adopt_unread()? {
            return Ok(());
        }
        self.source().open()?;
        if self.adopt_read()? {
            return Ok(());
        }
        let leaf = self.source().walker.leaf();
        self.merged.freed.push(leaf.into());
        self.merged.merged_leaves += 1;
        // What was a bound is a key now: another input may have the turn.
        Ok(())
    }

    /// Whether a leaf may become part of the new tree as it is, as far as its contents are concerned.
    fn is_adoptable(&self, source: &TreeInput<'_>, summary: Option<LeafSummary>) -> bool {
        let leaf = source.walker.leaf();
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

    /// Goes past a leaf all of whose records are left out, without reading it. Not where older records would come to light, or long values
    /// have to be freed.
    fn skip_unread(&mut self) -> Result<bool> {
        let Some(below) = self.options.all_below.filter(|_| self.options.drop_tombstones) else {
            return Ok(false);
        };
        let walker = &self.sources.winner().expect("an input has its turn").walker;
        let is_below = walker.upper().is_some_and(|upper| upper <= below);
        if !is_below || walker.summary().is_none_or(|summary| summary.blob_pages > 0) {
            return Ok(false);
        }
        self.merged.freed.push(walker.leaf().into());
        self.merged.skipped_leaves += 1;
        self.source().next_leaf()?;
        Ok(true)
    }

    /// Adopts the leaf by what its parents say, if they say enough.
    fn adopt_unread(&mut self) -> Result<bool> {
        let source = self.sources.winner().expect("an input has its turn");
        let second = self.sources.second().map(TreeInput::bound);
        let ceiling = match source.walker.upper() {
            Some(upper) if second.is_none_or(|second| second >= upper) => Ceiling::Below(upper),
            None if second.is_none() => Ceiling::End,
            _ => return Ok(false),
        };
        let summary = source.walker.summary();
        // What it has is to be seen first, if something may be left out.
        let is_live = self.options.all_below.is_some_and(|below| source.walker.lower() >= below);
        let is_unseen = self.options.leave_out.is_some() && !is_live;
        if is_unseen
            || !self.is_adoptable(source, summary)
            || !self.builder.is_behind_all(source.walker.lower())
        {
            return Ok(false);
        }
        self.builder.adopt_leaf(&Adopted {
            ptr: source.walker.leaf(),
            entries: source.walker.entries(),
            summary: summary.unwrap_or_default(),
            filter: source.walker.filter()?,
            lower: source.walker.lower(),
            ceiling,
            compression: source.tree.meta().compression,
        })?;
        self.merged.adopted_leaves += 1;
        self.source().next_leaf()?;
        Ok(true)
    }

    /// Adopts a leaf that had to be read, as its bounds alone left open whether it overlaps another.
    fn adopt_read(&mut self) -> Result<bool> {
        let source = self.sources.winner().expect("an input has its turn");
        let summary = source.walker.summary();
        if !self.is_adoptable(source, summary) {
            return Ok(false);
        }
        let open = source.open.as_ref().expect("just read");
        let loaded = open.view.keys.key_into(&open.page, open.view.len() - 1, &mut self.key);
        loaded.map_err(|what| source.tree.damaged(source.walker.leaf(), what))?;
        if self.sources.second().is_some_and(|second| second.bound() <= self.key.as_slice())
            || !self.builder.is_behind_all(&open.key)
            || self.loses_some(source, open)?
        {
            return Ok(false);
        }
        self.builder.adopt_leaf(&Adopted {
            ptr: source.walker.leaf(),
            entries: source.walker.entries(),
            summary: summary.unwrap_or_default(),
            filter: source.walker.filter()?,
            lower: &open.key,
            ceiling: Ceiling::Last(&self.key),
            compression: source.tree.meta().compression,
        })?;
        self.merged.adopted_leaves += 1;
        self.source().next_leaf()?;
        Ok(true)
    }

    /// Whether a record of a leaf is left out.
    fn loses_some(&self, source: &TreeInput<'_>, open: &Open<'_>) -> Result<bool> {
        if self.options.leave_out.is_none() {
            return Ok(false);
        }
        let mut keys = KeyReader::default();
        let mut key = Vec::new();
        for index in 0..open.view.len() {
            let damaged = |what| source.tree.damaged(source.walker.leaf(), what);
            keys.key_into(&open.page, &open.view.keys, index, &mut key).map_err(damaged)?;
            let (stored, range) = open.view.record(&open.page, index).map_err(damaged)?;
            if self.is_left_out(source, &key, stored, &open.page[range])? {
                return Ok(true);
            }
        }
        Ok(false)
    }

    /// Whether a record is left out.
    fn is_left_out(&self, source: &TreeInput<'_>, key: &[u8], stored: Stored, bytes: &[u8]) -> Result<bool> {
        let Some(leave_out) = self.options.leave_out else { return Ok(false) };
        match stored {
            TOMBSTONE => Ok(false),
            Stored::Plain(kind) => leave_out(key, Record { kind, bytes }),
            Stored::Packed => {
                let mut unpacked = Vec::new();
                packed::unpack(&source.tree.store, bytes, &mut unpacked)
                    .map_err(|what| source.tree.damaged(source.walker.leaf(), what))?;
                leave_out(key, Record::inline(&unpacked))
            }
        }
    }

    /// Takes entries while no other input can have a smaller or equal key. Of equal keys the newest, whose turn it is.
    fn take_rows(&mut self) -> Result<()> {
        let turn = self.sources.winner().expect("an input has its turn");
        let second = self.sources.second();
        let is_limited = second.is_some();
        let has_older = second.is_some_and(|second| second.bound() == turn.bound());
        if let Some(second) = second {
            self.limit.clear();
            self.limit.extend_from_slice(second.bound());
        }
        // The first is taken even if a bound is equal to it: an unread leaf would have had the turn.
        loop {
            self.take_row()?;
            let source = self.source();
            if source.done || source.open.is_none() || has_older {
                break;
            }
            let source = self.sources.winner().expect("an input has its turn");
            if is_limited && source.bound() >= self.limit.as_slice() {
                break;
            }
        }
        if has_older { self.drop_older() } else { Ok(()) }
    }

    /// Steps the other inputs past the key that was taken, which is in `limit`.
    fn drop_older(&mut self) -> Result<()> {
        self.sources.replay();
        while let Some(source) = self.sources.winner()
            && source.bound() == self.limit
            && let Some(open) = &source.open
        {
            let (stored, bytes) = open.record(source.tree, &source.walker)?;
            if stored == BLOB {
                value::add_blob_pages(bytes, &mut self.merged.freed)?;
            }
            self.source().next_row()?;
            self.sources.replay();
        }
        Ok(())
    }

    /// Takes the entry whose turn it is.
    fn take_row(&mut self) -> Result<()> {
        let source = self.sources.winner().expect("an input has its turn");
        let open = source.open.as_ref().expect("an open leaf");
        let (stored, bytes) = open.record(source.tree, &source.walker)?;
        self.merged.merged_rows += 1;
        self.unreported += (open.key.len() + bytes.len()) as u64;
        if !self.builder.is_behind_all(&open.key) {
            return Err(source.tree.damaged(source.walker.leaf(), "keys out of order"));
        }
        let is_left_out = self.is_left_out(source, &open.key, stored, bytes)?;
        if is_left_out && stored == BLOB {
            value::add_blob_pages(bytes, &mut self.merged.freed)?;
        }
        match stored {
            _ if is_left_out && self.options.drop_tombstones => (),
            // An older record of the key is hidden by it still.
            _ if is_left_out => self.builder.push(&open.key, Record::TOMBSTONE)?,
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
        self.source().next_row()?;
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
        let Self { builder, sources, mut merged, options, .. } = self;
        (merged.meta, merged.written) = builder.finish_with_pages()?;
        assert!(!options.drop_tombstones || merged.meta.tombstones == 0, "nothing is left to be deleted");
        assert!(
            merged.adopted_leaves > 0 || merged.meta.rows <= merged.merged_rows,
            "entries come from the inputs, or with a leaf of theirs"
        );
        for source in sources.into_inputs() {
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
