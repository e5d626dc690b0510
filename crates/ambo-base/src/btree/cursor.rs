//! A cursor over a tree, both ways.
//!
//! It keeps its leaf and the inner pages above it pinned, so that a step within a leaf touches nothing but
//! the leaf, and a step to the next leaf mostly one inner page.

use std::{
    cmp::Ordering,
    fmt,
    ops::{Deref, Range},
    sync::Arc,
};

use ambo_pages::page::{Access, OwnedPage};
use ambo_types::{
    Result,
    id::PagePtr,
    record::{Record, RecordKind},
};

use super::{
    hot::{HotNode, HotSlot},
    inner::InnerView,
    key_reader::KeyReader,
    leaf::{LeafView, Stored},
    packed, prefetch,
    stretch::Scratch,
    tree::Tree,
};

/// An inner page on the way to the leaf, and which child was taken.
struct Step {
    page: StepPage,
    ptr: PagePtr,
    view: InnerView,
    index: usize,
}

/// How an inner page is held.
enum StepPage {
    /// By the tree, which the cursor keeps alive: never lent out for longer than the cursor lives.
    Hot(&'static HotNode),
    Owned(OwnedPage),
}

impl Deref for StepPage {
    type Target = [u8];
    #[inline]
    fn deref(&self) -> &[u8] {
        match self {
            Self::Hot(node) => node.page(),
            Self::Owned(page) => page,
        }
    }
}

impl Step {
    /// The slot of the child that was taken, if that is an inner page and this one is hot.
    fn slot(&self) -> Option<&HotSlot> {
        match &self.page {
            StepPage::Hot(node) if self.view.level > 1 => node.slot(self.index).ok(),
            _ => None,
        }
    }
}

/// The leaf.
struct Leaf {
    page: OwnedPage,
    ptr: PagePtr,
    view: LeafView,
}

/// Where a cursor is.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Position {
    /// Before the first entry, where a new cursor is.
    Before,
    /// On an entry.
    On,
    /// Behind the last.
    Behind,
}

/// Walks the entries of a tree, which it keeps alive. Before the first seek it is before the first entry. A
/// step or seek that finds no entry says `false` and leaves it before the first or behind the last entry,
/// from where it can step back.
pub struct TreeCursor {
    /// From the root down; empty until the first seek, or if the root is a leaf.
    path: Vec<Step>,
    leaf: Option<Leaf>,
    tree: Arc<Tree>,
    place: Position,
    index: usize,
    /// The current key; its first `prefix` bytes are the leaf's.
    key: Vec<u8>,
    prefix: usize,
    keys: KeyReader,
    kind: RecordKind,
    record: Range<usize>,
    /// Whether the leaf has the current record compressed; then `unpacked` is the record.
    packed: bool,
    unpacked: Vec<u8>,
}

/// Which child or entry a descent takes.
#[derive(Clone, Copy)]
enum Towards<'k> {
    First,
    Last,
    Key(&'k [u8]),
}

impl TreeCursor {
    pub(super) fn new(tree: Arc<Tree>) -> Self {
        Self {
            path: Vec::new(),
            leaf: None,
            tree,
            place: Position::Before,
            index: 0,
            key: Vec::new(),
            prefix: 0,
            keys: KeyReader::default(),
            kind: RecordKind::Tombstone,
            record: 0..0,
            packed: false,
            unpacked: Vec::new(),
        }
    }

    /// The tree.
    pub fn tree(&self) -> &Arc<Tree> {
        &self.tree
    }

    /// Whether the tree has tombstones, which a merge of several trees must look at.
    #[inline]
    pub fn has_tombstones(&self) -> bool {
        self.tree.meta().tombstones > 0
    }

    /// Whether the cursor is on an entry.
    #[inline]
    pub fn is_valid(&self) -> bool {
        self.place == Position::On
    }

    /// The current entry's key.
    ///
    /// # Panics
    /// If the cursor is on no entry.
    #[inline]
    pub fn key(&self) -> &[u8] {
        assert!(self.is_valid(), "the cursor is on an entry");
        &self.key
    }

    /// The current entry's record.
    ///
    /// # Panics
    /// If the cursor is on no entry.
    #[inline]
    pub fn record(&self) -> Record<'_> {
        assert!(self.is_valid(), "the cursor is on an entry");
        if self.packed {
            return Record::inline(&self.unpacked);
        }
        let leaf = self.leaf.as_ref().expect("an entry is in a leaf");
        Record { kind: self.kind, bytes: &leaf.page[self.record.clone()] }
    }

    /// Goes to the first entry.
    pub fn seek_first(&mut self) -> Result<bool> {
        if !self.descend(Towards::First)? {
            return Ok(self.leave(Position::Behind));
        }
        self.settle(0)
    }

    /// Goes to the last entry.
    pub fn seek_last(&mut self) -> Result<bool> {
        if !self.descend(Towards::Last)? {
            return Ok(self.leave(Position::Before));
        }
        self.settle(self.leaf_len() - 1)
    }

    /// Goes to the first entry whose key is `key` or greater.
    pub fn seek_ge(&mut self, key: &[u8]) -> Result<bool> {
        match self.search(key)? {
            Some((index, _)) => self.settle_or_next(index),
            None => Ok(self.leave(Position::Behind)),
        }
    }

    /// Goes to the first entry whose key is greater than `key`.
    pub fn seek_gt(&mut self, key: &[u8]) -> Result<bool> {
        match self.search(key)? {
            Some((index, equal)) => self.settle_or_next(index + usize::from(equal)),
            None => Ok(self.leave(Position::Behind)),
        }
    }

    /// Goes to the last entry whose key is `key` or smaller.
    pub fn seek_le(&mut self, key: &[u8]) -> Result<bool> {
        match self.search(key)? {
            Some((index, equal)) => self.settle_or_previous(index + usize::from(equal)),
            None => Ok(self.leave(Position::Before)),
        }
    }

    /// Goes to the last entry whose key is smaller than `key`.
    pub fn seek_lt(&mut self, key: &[u8]) -> Result<bool> {
        match self.search(key)? {
            Some((index, _)) => self.settle_or_previous(index),
            None => Ok(self.leave(Position::Before)),
        }
    }

    /// Goes to the entry at `position`, counted from zero.
    pub fn seek_nth(&mut self, position: u64) -> Result<bool> {
        if position >= self.tree.meta().rows {
            return Ok(self.leave(Position::Behind));
        }
        self.place = Position::Before;
        self.path.clear();
        let mut ptr = self.tree.meta().root;
        let mut position = position;
        for level in (1..self.tree.meta().height).rev() {
            let (page, view) = self.read_inner(ptr, level)?;
            let (index, rest) =
                view.child_at(&page, position).map_err(|what| self.tree.damaged(ptr, what))?;
            let child = view.child(&page, index).map_err(|what| self.tree.damaged(ptr, what))?;
            self.path.push(Step { page, ptr, view, index });
            (ptr, position) = (child, rest);
        }
        self.enter(ptr, Access::Point)?;
        if position >= self.leaf_len() as u64 {
            return Err(self.tree.damaged(ptr, "a leaf holds fewer entries than its parent says"));
        }
        self.settle(position as usize)
    }

    /// Steps to the next entry; from before the first, to the first.
    #[inline]
    #[expect(clippy::should_implement_trait, reason = "an iterator cannot lend")]
    pub fn next(&mut self) -> Result<bool> {
        match self.place {
            Position::On if self.index + 1 < self.leaf_len() => self.settle(self.index + 1),
            Position::On => self.next_leaf(),
            Position::Before => self.seek_first(),
            Position::Behind => Ok(false),
        }
    }

    /// Steps to the previous entry; from behind the last, to the last.
    #[inline]
    pub fn prev(&mut self) -> Result<bool> {
        match self.place {
            Position::On if self.index > 0 => self.settle(self.index - 1),
            Position::On => self.previous_leaf(),
            Position::Behind => self.seek_last(),
            Position::Before => Ok(false),
        }
    }

    #[inline]
    fn leaf_len(&self) -> usize {
        self.leaf.as_ref().map_or(0, |leaf| leaf.view.len())
    }

    #[cold]
    fn leave(&mut self, place: Position) -> bool {
        self.place = place;
        false
    }

    fn settle_or_next(&mut self, index: usize) -> Result<bool> {
        if index < self.leaf_len() { self.settle(index) } else { self.next_leaf() }
    }

    fn settle_or_previous(&mut self, index: usize) -> Result<bool> {
        if index > 0 { self.settle(index - 1) } else { self.previous_leaf() }
    }

    /// Makes entry `index` of the leaf the current one.
    #[inline]
    pub(super) fn settle(&mut self, index: usize) -> Result<bool> {
        let leaf = self.leaf.as_ref().expect("an entry is in a leaf");
        debug_assert!(index < leaf.view.len(), "whoever settles knows how many entries there are");
        let page: &[u8] = &leaf.page;
        let found = self.keys.suffix(page, &leaf.view.keys, index).and_then(|suffix| {
            let (stored, record) = leaf.view.record(page, index)?;
            self.packed = stored == Stored::Packed;
            self.kind = match stored {
                Stored::Plain(kind) => kind,
                Stored::Packed => {
                    packed::unpack(&self.tree.store, &page[record.clone()], &mut self.unpacked)?;
                    RecordKind::Inline
                }
            };
            Ok((suffix, record))
        });
        match found {
            Ok((suffix, record)) => {
                self.key.truncate(self.prefix);
                self.key.extend_from_slice(suffix);
                (self.record, self.index, self.place) = (record, index, Position::On);
                Ok(true)
            }
            Err(what) => {
                let error = self.tree.damaged(leaf.ptr, what);
                self.leave(Position::Before);
                Err(error)
            }
        }
    }

    /// The leaf that would hold `key`: the number of its entries with smaller keys, and whether the next
    /// has the key itself. `None` if the tree is empty.
    fn search(&mut self, key: &[u8]) -> Result<Option<(usize, bool)>> {
        if !self.descend(Towards::Key(key))? {
            return Ok(None);
        }
        let leaf = self.leaf.as_ref().expect("a descent ends in a leaf");
        leaf.view.keys.search(&leaf.page, key).map(Some).map_err(|what| self.tree.damaged(leaf.ptr, what))
    }

    /// Goes from the root to a leaf; `false` if the tree is empty.
    fn descend(&mut self, towards: Towards<'_>) -> Result<bool> {
        self.place = Position::Before;
        let root = self.tree.meta().root;
        if root.is_null() {
            return Ok(false);
        }
        self.path.clear();
        let access = if matches!(towards, Towards::Key(_)) { Access::Point } else { Access::Scan };
        self.descend_from(root, self.tree.meta().height, towards, access)?;
        Ok(true)
    }

    /// Goes from the page at `ptr`, the root of a subtree with `height` levels, to a leaf.
    fn descend_from(&mut self, ptr: PagePtr, height: u8, towards: Towards<'_>, access: Access) -> Result<()> {
        let mut ptr = ptr;
        for level in (1..height).rev() {
            let (page, view) = self.read_inner(ptr, level)?;
            let index = match towards {
                Towards::First => Ok(0),
                Towards::Last => Ok(view.children() - 1),
                Towards::Key(key) => view.child_of(&page, key),
            };
            let found = index.and_then(|index| Ok((index, view.child(&page, index)?)));
            let (index, child) = found.map_err(|what| self.tree.damaged(ptr, what))?;
            self.path.push(Step { page, ptr, view, index });
            ptr = child;
        }
        self.enter(ptr, access)
    }

    /// The inner page at `ptr`, which is the root or the child that the last step of the path took.
    fn read_inner(&self, ptr: PagePtr, level: u8) -> Result<(StepPage, InnerView)> {
        debug_assert_eq!(
            self.path.last().map_or(self.tree.meta().height, |step| step.view.level),
            level + 1,
            "a page is one level below the one that leads to it"
        );
        let slot = match self.path.last() {
            Some(step) => step.slot(),
            None => Some(self.tree.root_slot()),
        };
        if let Some(node) = self.tree.hot(slot, ptr, level)? {
            // SAFETY: the node is in the tree's memory, where it stays unmoved until the tree is dropped;
            // `self.tree` keeps the tree alive for longer than `self.path`, from which the reference is not
            // lent for longer than `self` is borrowed.
            let node = unsafe { std::mem::transmute::<&HotNode, &'static HotNode>(node) };
            return Ok((StepPage::Hot(node), node.view));
        }
        let page = self.tree.store.read_owned(ptr, Access::Inner)?;
        let view = InnerView::parse(&page, level).map_err(|what| self.tree.damaged(ptr, what))?;
        Ok((StepPage::Owned(page), view))
    }

    /// Makes the page at `ptr` the cursor's leaf.
    fn enter(&mut self, ptr: PagePtr, access: Access) -> Result<()> {
        debug_assert_eq!(self.path.len() + 1, usize::from(self.tree.meta().height), "a step for each level");
        self.place = Position::Before;
        let page = match self.leaf.take() {
            Some(mut leaf) => {
                leaf.page.replace(ptr, access)?;
                leaf.page
            }
            None => self.tree.store.read_owned(ptr, access)?,
        };
        prefetch::page_front(&page);
        let view = LeafView::parse(&page).map_err(|what| self.tree.damaged(ptr, what))?;
        let prefix = view.keys.prefix(&page);
        self.prefix = prefix.len();
        self.keys.reset();
        self.key.clear();
        self.key.extend_from_slice(prefix);
        self.leaf = Some(Leaf { page, ptr, view });
        Ok(())
    }

    /// The current leaf, and which of its entries is the current one.
    pub(super) fn leaf_from_here(&self) -> (&[u8], &LeafView, usize) {
        debug_assert!(self.is_valid(), "the cursor is on an entry");
        let leaf = self.leaf.as_ref().expect("an entry is in a leaf");
        (&leaf.page, &leaf.view, self.index)
    }

    /// Lends what steps use; until it is back the cursor has no key.
    pub(super) fn take_scratch(&mut self) -> Scratch {
        let (key, unpacked) = (std::mem::take(&mut self.key), std::mem::take(&mut self.unpacked));
        Scratch { keys: std::mem::take(&mut self.keys), key, unpacked }
    }

    /// Takes back what was lent: the key is one of the same leaf.
    pub(super) fn put_scratch(&mut self, scratch: Scratch) {
        debug_assert!(
            self.key.is_empty() && self.unpacked.is_empty(),
            "the cursor stays where it is while its key is lent"
        );
        Scratch { keys: self.keys, key: self.key, unpacked: self.unpacked } = scratch;
    }

    /// That `what` is wrong with the current leaf.
    #[cold]
    pub(super) fn damaged(&self, what: &str) -> ambo_types::Error {
        self.tree.damaged(self.leaf.as_ref().map_or(PagePtr::NULL, |leaf| leaf.ptr), what)
    }

    /// Steps to the first entry of the next leaf.
    pub(super) fn next_leaf(&mut self) -> Result<bool> {
        while let Some(step) = self.path.last_mut() {
            step.index += 1;
            if step.index < step.view.children() {
                self.descend_here(Towards::First)?;
                return self.settle(0);
            }
            self.path.pop();
        }
        Ok(self.leave(Position::Behind))
    }

    fn previous_leaf(&mut self) -> Result<bool> {
        while let Some(step) = self.path.last_mut() {
            if step.index > 0 {
                step.index -= 1;
                self.descend_here(Towards::Last)?;
                return self.settle(self.leaf_len() - 1);
            }
            self.path.pop();
        }
        Ok(self.leave(Position::Before))
    }

    /// Goes down from the child that the last step of the path points at.
    fn descend_here(&mut self, towards: Towards<'_>) -> Result<()> {
        let step = self.path.last().expect("a leaf has a parent here");
        debug_assert!(step.index < step.view.children(), "the step went on within its page");
        let child = step.view.child(&step.page, step.index);
        let child = child.map_err(|what| self.tree.damaged(step.ptr, what))?;
        self.descend_from(child, step.view.level, towards, Access::Scan)
    }

    /// Orders the current key against `key`.
    pub fn cmp_key(&self, key: &[u8]) -> Ordering {
        self.key().cmp(key)
    }
}

impl fmt::Debug for TreeCursor {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("TreeCursor")
            .field("place", &self.place)
            .field("key", &self.key)
            .finish_non_exhaustive()
    }
}
