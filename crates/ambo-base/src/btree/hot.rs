//! The inner pages of a tree, kept pinned and parsed as they are first used.
//!
//! A descent through them touches no counter that other threads change, looks up no page table, and checks
//! no header again. They are under half a percent of a tree; where even that is more than the pool can
//! spare, the store refuses ([`PageStore::read_hot`]) and the descent reads those pages as all others.

use std::sync::{Arc, OnceLock};

use ambo_pages::page::{HotPage, PageStore};
use ambo_types::{Result, id::PagePtr};

use super::{Found, inner::InnerView};

/// A place for an inner page: empty until it is first used, then forever the page, or that there was no
/// room for it.
pub(super) type HotSlot = OnceLock<Option<HotNode>>;

/// An inner page that stays pinned.
pub(super) struct HotNode {
    page: HotPage,
    pub view: InnerView,
    /// One for each child, if those are inner pages.
    children: Box<[HotSlot]>,
}

impl HotNode {
    fn read(
        store: &Arc<PageStore>,
        ptr: PagePtr,
        level: u8,
        wrong: &dyn Fn(&'static str) -> ambo_types::Error,
    ) -> Result<Option<Self>> {
        let Some(page) = store.read_hot(ptr)? else { return Ok(None) };
        let view = InnerView::parse(&page, level).map_err(wrong)?;
        let slots = if level > 1 { view.children() } else { 0 };
        Ok(Some(Self { page, view, children: (0..slots).map(|_| HotSlot::new()).collect() }))
    }

    /// The page's bytes.
    #[inline]
    pub(super) fn page(&self) -> &[u8] {
        &self.page
    }

    /// The place of child `index`; only where children are inner pages.
    #[inline]
    pub(super) fn slot(&self, index: usize) -> Found<&HotSlot> {
        self.children.get(index).ok_or("a child lies beyond the page")
    }
}

/// The page in a slot, which belongs to `ptr` at `level`; reads it the first time. `None` if there is no
/// room for it. `wrong` makes the error for a page with something wrong.
#[inline]
pub(super) fn node<'s>(
    slot: &'s HotSlot,
    store: &Arc<PageStore>,
    ptr: PagePtr,
    level: u8,
    wrong: &dyn Fn(&'static str) -> ambo_types::Error,
) -> Result<Option<&'s HotNode>> {
    if let Some(node) = slot.get() {
        debug_assert!(node.as_ref().is_none_or(|node| node.view.level == level), "a slot is of one page");
        return Ok(node.as_ref());
    }
    let node = HotNode::read(store, ptr, level, wrong)?;
    Ok(slot.get_or_init(|| node).as_ref())
}
