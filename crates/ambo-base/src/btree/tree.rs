//! A tree to read from.

use std::{fmt, ops::Deref, ops::Range, sync::Arc};

use ambo_pages::page::{Access, PageRange, PageRef, PageStore};
use ambo_types::{
    Error, Result,
    id::PagePtr,
    record::{Record, RecordKind},
};

use super::{
    CheckOptions, Found,
    cursor::TreeCursor,
    damaged,
    hot::{self, HotNode, HotSlot},
    inner::InnerView,
    leaf::{LeafView, Stored},
    merge::coalesce,
    meta::TreeMeta,
    packed, prefetch,
    walk::LeafWalker,
};
use crate::key_filter::KeyFilter;

/// An immutable tree. Any number of threads read it at once.
pub struct Tree {
    pub(super) store: Arc<PageStore>,
    meta: TreeMeta,
    root: HotSlot,
    /// Denies most keys that are not there; runs have one.
    filter: Option<Arc<KeyFilter>>,
}

impl Tree {
    /// The tree with this description. Nothing is read yet.
    pub fn open(store: Arc<PageStore>, meta: TreeMeta) -> Arc<Self> {
        Self::open_filtered(store, meta, None)
    }

    /// As [`Tree::open`], with a filter that has all its keys.
    pub fn open_filtered(store: Arc<PageStore>, meta: TreeMeta, filter: Option<KeyFilter>) -> Arc<Self> {
        assert_eq!(meta.root.is_null(), meta.height == 0, "a tree with levels has a root");
        Arc::new(Self { store, meta, root: HotSlot::new(), filter: filter.map(Arc::new) })
    }

    /// A tree of the same store that has no keys but some of this one's, whose filter does for it.
    pub fn rest(&self, meta: TreeMeta) -> Arc<Self> {
        debug_assert!(meta.rows <= self.meta.rows, "some of its keys");
        Arc::new(Self { store: self.store.clone(), meta, root: HotSlot::new(), filter: self.filter.clone() })
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
        if self.filter.as_ref().is_some_and(|filter| !filter.may_have(key)) {
            return Ok(None);
        }
        let Some((ptr, _)) = self.descend::<false, true>(key)? else { return Ok(None) };
        let page = self.store.read(ptr, Access::Point)?;
        prefetch::page_front(&page);
        match find(&page, key) {
            Ok(Some((Stored::Plain(kind), range))) => {
                Ok(Some(TreeRecord { page, kind, range, unpacked: None }))
            }
            Ok(Some((Stored::Packed, range))) => self.unpacked(ptr, page, range).map(Some),
            Ok(None) => Ok(None),
            Err(what) => Err(self.damaged(ptr, what)),
        }
    }

    /// A compressed record, as it was before.
    #[cold]
    fn unpacked<'a>(
        &'a self,
        ptr: PagePtr,
        page: PageRef<'a>,
        range: Range<usize>,
    ) -> Result<TreeRecord<'a>> {
        let mut value = Vec::new();
        packed::unpack(&self.store, &page[range.clone()], &mut value)
            .map_err(|what| self.damaged(ptr, what))?;
        Ok(TreeRecord { page, kind: RecordKind::Inline, range, unpacked: Some(value) })
    }

    /// How many entries, tombstones included, have smaller keys.
    pub fn rank(&self, key: &[u8]) -> Result<u64> {
        let Some((ptr, before)) = self.descend::<true, false>(key)? else { return Ok(0) };
        let page = self.store.read(ptr, Access::Point)?;
        prefetch::page_front(&page);
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

    /// All pages of the tree, blobs included, each once.
    ///
    /// # Errors
    /// [`Error::Damaged`] if they cannot all be told.
    pub fn all_pages(&self) -> Result<Vec<PageRange>> {
        if self.meta.blob_pages > 0 {
            // Blobs are known by the records that refer to them: every leaf has to be read.
            let options = CheckOptions { tombstones_allowed: true, problems_max: 1 };
            let (report, failure) = self.check_all(&options);
            if let Some(error) = failure {
                return Err(error);
            }
            return match report.problems.first() {
                Some(problem) => Err(self.damaged(problem.page, &problem.what)),
                None => Ok(report.pages),
            };
        }
        let mut walker = LeafWalker::new(self);
        let mut pages = Vec::new();
        while walker.advance()? {
            pages.push(PageRange::from(walker.leaf()));
        }
        pages.extend(walker.into_inner_pages().into_iter().map(PageRange::from));
        Ok(coalesce(pages))
    }

    /// A cursor, on no entry yet.
    pub fn cursor(self: &Arc<Self>) -> TreeCursor {
        TreeCursor::new(Arc::clone(self))
    }

    /// The leaf that would hold `key`, and if they are to be `COUNTED` how many entries are before it: that
    /// is one more cache line a level. None if there are no leaves, or its filter is asked and says that it does not.
    #[inline]
    fn descend<const COUNTED: bool, const FILTERED: bool>(
        &self,
        key: &[u8],
    ) -> Result<Option<(PagePtr, u64)>> {
        if self.meta.root.is_null() {
            return Ok(None);
        }
        let mut ptr = self.meta.root;
        let mut level = self.meta.height - 1;
        let mut before = 0u64;
        let mut slot = Some(&self.root);
        while level > 0 {
            let Some(node) = self.hot(slot, ptr, level)? else {
                return self.descend_cold::<COUNTED, FILTERED>(key, ptr, level, before);
            };
            let found = step::<COUNTED>(node.page(), &node.view, key).and_then(|(index, child, entries)| {
                slot = if level > 1 { Some(node.slot(index)?) } else { None };
                let is_denied = FILTERED && level == 1 && !node.view.may_have(node.page(), index, key)?;
                Ok((child, entries, is_denied))
            });
            let (child, entries, is_denied) = found.map_err(|what| self.damaged(ptr, what))?;
            if is_denied {
                return Ok(None);
            }
            before = before.saturating_add(entries);
            ptr = child;
            level -= 1;
        }
        Ok(Some((ptr, before)))
    }

    /// The inner page in `slot`, if there is one and it may stay in memory.
    #[inline]
    pub(super) fn hot<'s>(
        &self,
        slot: Option<&'s HotSlot>,
        ptr: PagePtr,
        level: u8,
    ) -> Result<Option<&'s HotNode>> {
        let Some(slot) = slot else { return Ok(None) };
        hot::node(slot, &self.store, ptr, level, &|what| self.damaged(ptr, what))
    }

    /// The slot of the root, if that is an inner page.
    pub(super) fn root_slot(&self) -> &HotSlot {
        &self.root
    }

    /// Goes on from an inner page that cannot stay in memory.
    fn descend_cold<const COUNTED: bool, const FILTERED: bool>(
        &self,
        key: &[u8],
        ptr: PagePtr,
        level: u8,
        before: u64,
    ) -> Result<Option<(PagePtr, u64)>> {
        let (mut ptr, mut before) = (ptr, before);
        for level in (1..=level).rev() {
            let page = self.store.read(ptr, Access::Inner)?;
            let found = InnerView::parse(&page, level).and_then(|view| {
                let (index, child, entries) = step::<COUNTED>(&page, &view, key)?;
                Ok((child, entries, FILTERED && level == 1 && !view.may_have(&page, index, key)?))
            });
            let (child, entries, is_denied) = found.map_err(|what| self.damaged(ptr, what))?;
            if is_denied {
                return Ok(None);
            }
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

/// From an inner page towards `key`: which child, where it is, and the entries before it in this page.
#[inline]
fn step<const COUNTED: bool>(page: &[u8], view: &InnerView, key: &[u8]) -> Found<(usize, PagePtr, u64)> {
    let index = view.child_of(page, key)?;
    let entries = if COUNTED { view.entries_before(page, index)? } else { 0 };
    Ok((index, view.child(page, index)?, entries))
}

/// The record of `key` in a leaf.
#[inline]
fn find(page: &[u8], key: &[u8]) -> Found<Option<(Stored, Range<usize>)>> {
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
    /// The bytes, if the page has them compressed.
    unpacked: Option<Vec<u8>>,
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
        match &self.unpacked {
            None => &self.page[self.range.clone()],
            Some(value) => value,
        }
    }
}

impl fmt::Debug for TreeRecord<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.record().fmt(f)
    }
}
