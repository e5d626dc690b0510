//! Keys that cut a tree into parts, read off its inner pages.

use ambo_pages::page::{Access, PageRef};
use ambo_types::Result;

use super::{Found, inner::InnerView, tree::Tree};

impl Tree {
    /// The separator in front of the leaf that holds the entry at `position`, counted from zero: the entries from it on are those from
    /// about that position on. No leaf is read. `None` for the first leaf, and behind the last entry.
    pub fn separator_at(&self, position: u64) -> Result<Option<Vec<u8>>> {
        let meta = self.meta();
        if meta.root.is_null() || position >= meta.rows {
            return Ok(None);
        }
        let (mut ptr, mut position) = (meta.root, position);
        let mut separator = None;
        for level in (1..meta.height).rev() {
            let page = self.store.read(ptr, Access::Inner)?;
            let child = InnerView::parse(&page, level)
                .and_then(|view| step(&page, &view, position, &mut separator))
                .map_err(|what| self.damaged(ptr, what))?;
            (ptr, position) = child;
        }
        Ok(separator)
    }
}

/// The child with the entry at a position, and the position there. What is in front of it, unless it is the first.
fn step(
    page: &PageRef<'_>,
    view: &InnerView,
    position: u64,
    separator: &mut Option<Vec<u8>>,
) -> Found<(ambo_types::id::PagePtr, u64)> {
    let (index, rest) = view.child_at(page, position)?;
    debug_assert!(index < view.children() && rest <= position, "a position is within a child");
    if let Some(before) = index.checked_sub(1) {
        view.keys.key_into(page, before, separator.get_or_insert_default())?;
    }
    Ok((view.child(page, index)?, rest))
}
