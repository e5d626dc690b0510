//! Walking the leaves of a tree from left to right by their parents, without reading them.

use ambo_pages::page::{Access, PageRef};
use ambo_types::{Result, id::PagePtr};

use super::{
    Found,
    inner::InnerView,
    leaf::{LeafSummary, LeafView},
    tree::Tree,
};

struct Step<'t> {
    page: PageRef<'t>,
    ptr: PagePtr,
    view: InnerView,
    index: usize,
}

/// Visits each leaf of a tree once. The bounds say what its keys may be: `lower()` ≤ key < `upper()`.
pub(super) struct LeafWalker<'t> {
    tree: &'t Tree,
    path: Vec<Step<'t>>,
    leaf: PagePtr,
    entries: u64,
    /// Of a leaf that is the root nothing is known.
    summary: Option<LeafSummary>,
    lower: Vec<u8>,
    upper: Option<Vec<u8>>,
    started: bool,
    /// All inner pages visited so far.
    inner: Vec<PagePtr>,
}

impl<'t> LeafWalker<'t> {
    /// A walker before the first leaf.
    pub(super) fn new(tree: &'t Tree) -> Self {
        Self {
            tree,
            path: Vec::new(),
            leaf: PagePtr::NULL,
            entries: 0,
            summary: None,
            lower: Vec::new(),
            upper: None,
            started: false,
            inner: Vec::new(),
        }
    }

    /// Steps to the next leaf; `false` behind the last.
    pub(super) fn advance(&mut self) -> Result<bool> {
        if !self.started {
            self.started = true;
            if self.tree.meta().root.is_null() {
                return Ok(false);
            }
            let meta = self.tree.meta();
            self.descend(meta.root, meta.height)?;
            return Ok(true);
        }
        while let Some(step) = self.path.last_mut() {
            step.index += 1;
            if step.index < step.view.children() {
                let height = step.view.level;
                let (ptr, at) = (step.ptr, step.view.child(&step.page, step.index));
                let child = at.map_err(|what| self.tree.damaged(ptr, what))?;
                std::mem::swap(&mut self.lower, self.upper.get_or_insert_default());
                self.descend(child, height)?;
                return Ok(true);
            }
            self.path.pop();
        }
        Ok(false)
    }

    fn descend(&mut self, ptr: PagePtr, height: u8) -> Result<()> {
        let mut ptr = ptr;
        for level in (1..height).rev() {
            let page = self.tree.store.read(ptr, Access::Inner)?;
            let view = InnerView::parse(&page, level).map_err(|what| self.tree.damaged(ptr, what))?;
            let child = view.child(&page, 0).map_err(|what| self.tree.damaged(ptr, what))?;
            self.inner.push(ptr);
            self.path.push(Step { page, ptr, view, index: 0 });
            ptr = child;
        }
        debug_assert_eq!(self.path.len() + 1, usize::from(self.tree.meta().height), "a step for each level");
        self.leaf = ptr;
        self.entries = self.tree.meta().rows;
        self.summary = None;
        if let Some(parent) = self.path.last() {
            let known = parent
                .view
                .entries(&parent.page, parent.index)
                .and_then(|entries| Ok((entries, parent.view.summary(&parent.page, parent.index)?)));
            let (entries, summary) = known.map_err(|what| self.tree.damaged(parent.ptr, what))?;
            (self.entries, self.summary) = (entries, Some(summary));
        }
        self.find_upper()
    }

    /// The separator to the right of the leaf, in the nearest page above that has one.
    fn find_upper(&mut self) -> Result<()> {
        let Some(step) = self.path.iter().rev().find(|step| step.index + 1 < step.view.children()) else {
            self.upper = None;
            return Ok(());
        };
        let upper = self.upper.get_or_insert_default();
        let found: Found<()> = step.view.keys.key_into(&step.page, step.index, upper);
        found.map_err(|what| self.tree.damaged(step.ptr, what))
    }

    /// Where the leaf is.
    pub(super) fn leaf(&self) -> PagePtr {
        self.leaf
    }

    /// How many entries the leaf has, by its parent.
    pub(super) fn entries(&self) -> u64 {
        self.entries
    }

    /// What else its parent says; `None` if the leaf is the root.
    pub(super) fn summary(&self) -> Option<LeafSummary> {
        self.summary
    }

    /// The filter of its keys that its parent has; without bytes if there is none.
    pub(super) fn filter(&self) -> Result<&[u8]> {
        let Some(parent) = self.path.last() else { return Ok(&[]) };
        let filter = parent.view.filter(&parent.page, parent.index);
        filter.map_err(|what| self.tree.damaged(parent.ptr, what))
    }

    /// All keys of the leaf are at or above this.
    pub(super) fn lower(&self) -> &[u8] {
        &self.lower
    }

    /// All keys of the leaf are below this, and all that follow are not; `None` for the last leaf.
    pub(super) fn upper(&self) -> Option<&[u8]> {
        self.upper.as_deref()
    }

    /// Reads the leaf.
    pub(super) fn read(&self) -> Result<(PageRef<'t>, LeafView)> {
        debug_assert!(!self.leaf.is_null(), "a leaf is read after a step to it");
        let page = self.tree.store.read(self.leaf, Access::Scan)?;
        let view = LeafView::parse(&page).map_err(|what| self.tree.damaged(self.leaf, what))?;
        Ok((page, view))
    }

    /// The inner pages visited so far; all of them once behind the last leaf.
    pub(super) fn into_inner_pages(self) -> Vec<PagePtr> {
        debug_assert!(self.path.is_empty(), "behind the last leaf all are known");
        self.inner
    }
}
