//! Pages that come and go while a base is made of another in several steps.

use std::sync::Arc;

use ambo_pages::page::{Extents, PageRange, PageStore};

/// What was written in one step and is replaced in a later one was never published: it is free again in the end, whatever comes of it all.
/// What is written and stays is the caller's once all is done, and freed if that is given up.
pub(super) struct Pages {
    store: Arc<PageStore>,
    born: Extents,
    retired: Vec<PageRange>,
    passed: Vec<PageRange>,
}

impl Pages {
    pub(super) fn new(store: &Arc<PageStore>) -> Self {
        Self { store: store.clone(), born: Extents::new(), retired: Vec::new(), passed: Vec::new() }
    }

    /// A step wrote these pages.
    pub(super) fn written(&mut self, pages: Vec<PageRange>) {
        for range in pages {
            self.born.insert(range);
        }
    }

    /// Nothing refers to these pages any more.
    pub(super) fn replaced(&mut self, pages: Vec<PageRange>) {
        for range in pages {
            let mut from = range.start.0;
            let passed = self.born.intersection(range);
            for own in &passed {
                self.retire(from, own.start.0);
                from = own.end();
            }
            self.retire(from, range.end());
            self.born.remove(range);
            self.passed.extend(passed);
        }
    }

    fn retire(&mut self, from: u64, to: u64) {
        if from < to {
            self.retired.push(PageRange::new(ambo_types::id::PageNo(from), to - from));
        }
    }

    /// What is new, and what nothing new reads.
    pub(super) fn finish(mut self) -> (Vec<PageRange>, Vec<PageRange>) {
        let born = std::mem::take(&mut self.born);
        (born.iter().collect(), std::mem::take(&mut self.retired))
    }
}

impl Drop for Pages {
    fn drop(&mut self) {
        self.store.free(self.passed.drain(..));
        self.store.free(self.born.iter());
    }
}
