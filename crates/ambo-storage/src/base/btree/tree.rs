//! A tree to read from.

use std::{fmt, ops::Deref, ops::Range, sync::Arc};

use parking_lot::Mutex;

use super::{Found, cursor::TreeCursor, damaged, inner::InnerView, leaf::LeafView, meta::TreeMeta};
use crate::{
    Error, Result,
    id::PagePtr,
    page::{Access, PageRange, PageRef, PageStore},
    record::{Record, RecordKind},
};

/// An immutable tree. Any number of threads read it at once.
pub struct Tree {
    pub(super) store: Arc<PageStore>,
    meta: TreeMeta,
    /// Pages to retire when the tree is dropped.
    garbage: Mutex<Vec<PageRange>>,
}

impl Tree {
    /// The tree with this description. Nothing is read yet.
    pub fn open(store: Arc<PageStore>, meta: TreeMeta) -> Arc<Self> {
        Arc::new(Self { store, meta, garbage: Mutex::default() })
    }

    /// The tree's description.
    pub fn meta(&self) -> &TreeMeta {
        &self.meta
    }

    /// The store of the tree's pages.
    pub fn store(&self) -> &Arc<PageStore> {
        &self.store
    }

    /// The record of `key`. It stays pinned in memory until it is dropped.
    pub fn get<'a>(&'a self, key: &[u8]) -> Result<Option<TreeRecord<'a>>> {
        let Some((ptr, _)) = self.descend(key)? else { return Ok(None) };
        let page = self.store.read(ptr, Access::Point)?;
        match find(&page, key) {
            Ok(Some((kind, range))) => Ok(Some(TreeRecord { page, kind, range })),
            Ok(None) => Ok(None),
            Err(what) => Err(self.damaged(ptr, what)),
        }
    }

    /// How many entries, tombstones included, have smaller keys.
    pub fn rank(&self, key: &[u8]) -> Result<u64> {
        let Some((ptr, before)) = self.descend(key)? else { return Ok(0) };
        let page = self.store.read(ptr, Access::Point)?;
        let index = LeafView::parse(&page).and_then(|leaf| leaf.keys.search(&page, key));
        let (index, _) = index.map_err(|what| self.damaged(ptr, what))?;
        Ok(before.saturating_add(index as u64))
    }

    /// The key at `position`, counted from zero, tombstones included.
    pub fn nth(self: &Arc<Self>, position: u64) -> Result<Option<Vec<u8>>> {
        let mut cursor = self.cursor();
        Ok(cursor.seek_nth(position)?.then(|| cursor.key().to_vec()))
    }

    /// The smallest key.
    pub fn first_key(self: &Arc<Self>) -> Result<Option<Vec<u8>>> {
        let mut cursor = self.cursor();
        Ok(cursor.seek_first()?.then(|| cursor.key().to_vec()))
    }

    /// The greatest key.
    pub fn last_key(self: &Arc<Self>) -> Result<Option<Vec<u8>>> {
        let mut cursor = self.cursor();
        Ok(cursor.seek_last()?.then(|| cursor.key().to_vec()))
    }

    /// A cursor, on no entry yet.
    pub fn cursor(self: &Arc<Self>) -> TreeCursor {
        TreeCursor::new(Arc::clone(self))
    }

    /// Pages that only this tree and older ones refer to, as a newer one has replaced it: they are retired when the
    /// tree is dropped.
    pub fn set_garbage(&self, ranges: Vec<PageRange>) {
        *self.garbage.lock() = ranges;
    }

    /// The leaf that would hold `key`, and how many entries are before it.
    #[inline]
    fn descend(&self, key: &[u8]) -> Result<Option<(PagePtr, u64)>> {
        if self.meta.root.is_null() {
            return Ok(None);
        }
        let mut ptr = self.meta.root;
        let mut before = 0u64;
        for level in (1..self.meta.height).rev() {
            let page = self.store.read(ptr, Access::Inner)?;
            let (child, entries) = step(&page, level, key).map_err(|what| self.damaged(ptr, what))?;
            before = before.saturating_add(entries);
            ptr = child;
        }
        Ok(Some((ptr, before)))
    }

    #[cold]
    pub(super) fn damaged(&self, ptr: PagePtr, what: &str) -> Error {
        damaged(&self.store, ptr, what)
    }
}

/// From an inner page towards `key`: the child, and the entries before it in this page.
#[inline]
fn step(page: &[u8], level: u8, key: &[u8]) -> Found<(PagePtr, u64)> {
    let inner = InnerView::parse(page, level)?;
    let index = inner.child_of(page, key)?;
    Ok((inner.child(page, index)?, inner.entries_before(page, index)?))
}

/// The record of `key` in a leaf.
#[inline]
fn find(page: &[u8], key: &[u8]) -> Found<Option<(RecordKind, Range<usize>)>> {
    let leaf = LeafView::parse(page)?;
    let (index, equal) = leaf.keys.search(page, key)?;
    if equal { leaf.record(page, index).map(Some) } else { Ok(None) }
}

impl fmt::Debug for Tree {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Tree").field("meta", &self.meta).finish_non_exhaustive()
    }
}

/// A record in a pinned page: dereferences to its bytes.
pub struct TreeRecord<'a> {
    page: PageRef<'a>,
    kind: RecordKind,
    range: Range<usize>,
}

impl TreeRecord<'_> {
    /// What the bytes are.
    pub fn kind(&self) -> RecordKind {
        self.kind
    }

    /// Kind and bytes.
    pub fn record(&self) -> Record<'_> {
        Record { kind: self.kind, bytes: self }
    }
}

impl Deref for TreeRecord<'_> {
    type Target = [u8];
    fn deref(&self) -> &[u8] {
        &self.page[self.range.clone()]
    }
}

impl fmt::Debug for TreeRecord<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.record().fmt(f)
    }
}
