//! Checking a whole tree: every page, every key, every count.

use std::collections::BTreeMap;

use ambo_pages::page::{Access, PageRange};
use ambo_types::{
    Error, Result,
    id::PagePtr,
    record::{KEY_BYTES_MAX, RecordKind},
};

use super::{
    inner::InnerView,
    key_reader::KeyReader,
    leaf::{LeafSummary, LeafView, Stored},
    leaf_filter,
    meta::TreeMeta,
    packed,
    tree::Tree,
    value,
};

/// What is expected of a tree.
#[derive(Clone, Copy, Debug)]
pub struct CheckOptions {
    /// Tombstones are right (in a run), or not (in a main tree).
    pub tombstones_allowed: bool,
    /// Stop after this many problems.
    pub problems_max: usize,
}

impl Default for CheckOptions {
    fn default() -> Self {
        Self { tombstones_allowed: false, problems_max: 100 }
    }
}

/// Something that is wrong.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct TreeProblem {
    /// The page where it shows.
    pub page: PagePtr,
    /// What is wrong.
    pub what: String,
}

/// What a check found.
#[derive(Clone, Debug, Default)]
pub struct TreeReport {
    /// All that is wrong, up to the limit.
    pub problems: Vec<TreeProblem>,
    /// The pages of leaves, inner pages and blobs, each once, ascending; what lies under damaged pages is
    /// missing.
    pub pages: Vec<PageRange>,
    /// Counted anew; the root and height are the tree's own.
    pub counted: TreeMeta,
}

impl Tree {
    /// Reads every page and checks all that can be: checksums, kinds, levels, the order of keys within and
    /// across pages, that separators bound their children, the counts and summaries at every level, that no
    /// page is reached twice, and that the totals are the description's. Blobs are checked for their
    /// references, not read.
    ///
    /// # Errors
    /// None for damage, which is reported.
    pub fn check(&self, options: &CheckOptions) -> Result<TreeReport> {
        Ok(self.check_all(options).0)
    }

    /// As [`Tree::check`]; also gives the first error that is no damage. It is among the problems too: a page that the device does not
    /// give is of no use.
    pub(super) fn check_all(&self, options: &CheckOptions) -> (TreeReport, Option<Error>) {
        let mut check = Check {
            tree: self,
            options,
            report: TreeReport::default(),
            seen: BTreeMap::new(),
            last_key: None,
            unpacked: Vec::new(),
            filter: Vec::new(),
            failure: None,
        };
        let meta = *self.meta();
        if !meta.root.is_null() {
            check.subtree(meta.root, meta.height, None, None);
        }
        let (mut report, failure) = (check.report, check.failure);
        report.counted.root = meta.root;
        report.counted.height = meta.height;
        report.counted.compression = meta.compression;
        if report.problems.is_empty() && report.counted != meta {
            let what = format!("the tree's description says {meta:?}, counted {:?}", report.counted);
            report.problems.push(TreeProblem { page: meta.root, what });
        }
        let pages = std::mem::take(&mut report.pages);
        report.pages = super::merge::coalesce(pages);
        debug_assert!(
            report.pages.is_sorted_by(|one, next| one.end() < next.start.0),
            "pages that are reached are told once, in order"
        );
        (report, failure)
    }
}

struct Check<'t> {
    tree: &'t Tree,
    options: &'t CheckOptions,
    report: TreeReport,
    /// Start and end of each range of pages that was reached.
    seen: BTreeMap<u64, u64>,
    last_key: Option<Vec<u8>>,
    /// A buffer for compressed records.
    unpacked: Vec<u8>,
    /// Of the leaf that is next.
    filter: Vec<u8>,
    failure: Option<Error>,
}

impl Check<'_> {
    fn problem(&mut self, page: PagePtr, what: impl Into<String>) {
        if self.report.problems.len() < self.options.problems_max {
            self.report.problems.push(TreeProblem { page, what: what.into() });
        }
    }

    fn is_full(&self) -> bool {
        self.report.problems.len() >= self.options.problems_max
    }

    /// Notes pages; `false` if one of them is reached a second time.
    fn claim(&mut self, page: PagePtr, range: PageRange) -> bool {
        let (start, end) = (range.start.0, range.start.0.saturating_add(range.pages));
        let before = self.seen.range(..end).next_back();
        let fresh = before.is_none_or(|(_, before_end)| *before_end <= start);
        if fresh {
            self.seen.insert(start, end);
            self.report.pages.push(range);
        } else {
            self.problem(page, format!("pages {start}..{end} are reached twice"));
        }
        fresh
    }

    /// Checks a subtree; the entries in it. Its keys are to be at or above `lower` and below `upper`.
    fn subtree(
        &mut self,
        ptr: PagePtr,
        height: u8,
        lower: Option<&[u8]>,
        upper: Option<&[u8]>,
    ) -> (u64, LeafSummary) {
        let nothing = (0, LeafSummary::default());
        if self.is_full() || !self.claim(ptr, ptr.into()) {
            return nothing;
        }
        let access = if height > 1 { Access::Inner } else { Access::Scan };
        let page = match self.tree.store.read(ptr, access) {
            Ok(page) => page,
            Err(error) => {
                self.problem(ptr, error.to_string());
                if !matches!(error, Error::Damaged { .. }) {
                    self.failure.get_or_insert(error);
                }
                return nothing;
            }
        };
        if height > 1 {
            match InnerView::parse(&page, height - 1) {
                Ok(view) => (self.inner(ptr, &page, &view, lower, upper), LeafSummary::default()),
                Err(what) => {
                    self.problem(ptr, what);
                    nothing
                }
            }
        } else {
            match LeafView::parse(&page) {
                Ok(view) => self.leaf(ptr, &page, &view, lower, upper),
                Err(what) => {
                    self.problem(ptr, what);
                    nothing
                }
            }
        }
    }

    fn inner(
        &mut self,
        ptr: PagePtr,
        page: &[u8],
        view: &InnerView,
        lower: Option<&[u8]>,
        upper: Option<&[u8]>,
    ) -> u64 {
        self.report.counted.inner_pages += u64::from(ptr.units());
        let mut left: Option<Vec<u8>> = lower.map(<[u8]>::to_vec);
        let mut total = 0u64;
        for index in 0..view.children() {
            if self.is_full() {
                break;
            }
            let mut right: Option<Vec<u8>> = upper.map(<[u8]>::to_vec);
            if index + 1 < view.children() {
                let mut separator = Vec::new();
                if let Err(what) = view.keys.key_into(page, index, &mut separator) {
                    self.problem(ptr, format!("separator {index}: {what}"));
                    break;
                }
                if left.as_ref().is_some_and(|left| *left >= separator)
                    || upper.is_some_and(|upper| separator.as_slice() >= upper)
                {
                    self.problem(ptr, format!("separator {index} is out of order"));
                }
                right = Some(separator);
            }
            self.child(ptr, page, view, index, left.as_deref(), right.as_deref(), &mut total);
            left = right;
        }
        total
    }

    #[expect(clippy::too_many_arguments, reason = "one child of one page within its bounds")]
    fn child(
        &mut self,
        ptr: PagePtr,
        page: &[u8],
        view: &InnerView,
        index: usize,
        left: Option<&[u8]>,
        right: Option<&[u8]>,
        total: &mut u64,
    ) {
        let (child, entries) =
            match view.child(page, index).and_then(|child| Ok((child, view.entries(page, index)?))) {
                Ok(found) => found,
                Err(what) => return self.problem(ptr, format!("child {index}: {what}")),
            };
        let before = self.report.problems.len();
        if view.level == 1 {
            match view.filter(page, index) {
                Ok(filter) => filter.clone_into(&mut self.filter),
                Err(what) => return self.problem(ptr, format!("child {index}: {what}")),
            }
        }
        let (counted, summary) = self.subtree(child, view.level, left, right);
        *total = total.saturating_add(entries);
        if self.report.problems.len() > before {
            // What is wrong below is said already; the counts follow from it.
            return;
        }
        if counted != entries {
            self.problem(ptr, format!("child {index} has {counted} entries, the count says {entries}"));
        }
        if view.level == 1 {
            match view.summary(page, index) {
                Ok(known) if known == summary => (),
                Ok(known) => {
                    self.problem(ptr, format!("child {index} is {summary:?}, the summary says {known:?}"))
                }
                Err(what) => self.problem(ptr, format!("child {index}: {what}")),
            }
        }
    }

    fn leaf(
        &mut self,
        ptr: PagePtr,
        page: &[u8],
        view: &LeafView,
        lower: Option<&[u8]>,
        upper: Option<&[u8]>,
    ) -> (u64, LeafSummary) {
        self.report.counted.leaf_pages += u64::from(ptr.units());
        let mut summary = LeafSummary { used: view.used(), ..LeafSummary::default() };
        let (mut key, mut keys) = (Vec::new(), KeyReader::default());
        for index in 0..view.len() {
            if let Err(what) = keys.key_into(page, &view.keys, index, &mut key) {
                self.problem(ptr, format!("key {index}: {what}"));
                break;
            }
            let ordered = self.last_key.as_ref().is_none_or(|last| *last < key);
            let bounded = lower.is_none_or(|lower| lower <= key.as_slice())
                && upper.is_none_or(|upper| key.as_slice() < upper);
            if !ordered {
                self.problem(ptr, format!("key {index} is not greater than the one before"));
            }
            if !bounded {
                self.problem(ptr, format!("key {index} is not within the separators above"));
            }
            if key.len() > KEY_BYTES_MAX {
                self.problem(ptr, format!("key {index} has {} bytes", key.len()));
            }
            if !leaf_filter::may_have(&self.filter, &key) {
                self.problem(ptr, format!("key {index} is denied by the filter above"));
            }
            summary.key_bytes += key.len() as u64;
            let last = self.last_key.get_or_insert_default();
            std::mem::swap(last, &mut key);
            self.record(ptr, page, view, index, &mut summary);
            if self.is_full() {
                break;
            }
        }
        if summary.tombstones != view.tombstones() {
            let (counted, known) = (summary.tombstones, view.tombstones());
            self.problem(ptr, format!("{counted} tombstones, the header says {known}"));
        }
        let counted = &mut self.report.counted;
        counted.rows += view.len() as u64;
        counted.tombstones += u64::from(summary.tombstones);
        counted.key_bytes += summary.key_bytes;
        counted.value_bytes += summary.value_bytes;
        counted.blob_pages += summary.blob_pages;
        (view.len() as u64, summary)
    }

    fn record(
        &mut self,
        ptr: PagePtr,
        page: &[u8],
        view: &LeafView,
        index: usize,
        summary: &mut LeafSummary,
    ) {
        let (stored, range) = match view.record(page, index) {
            Ok(record) => record,
            Err(what) => return self.problem(ptr, format!("record {index}: {what}")),
        };
        let bytes = &page[range];
        let kind = match stored {
            Stored::Plain(kind) => kind,
            Stored::Packed => {
                return match packed::unpack(&self.tree.store, bytes, &mut self.unpacked) {
                    Ok(()) => summary.value_bytes += self.unpacked.len() as u64,
                    Err(what) => self.problem(ptr, format!("record {index}: {what}")),
                };
            }
        };
        match kind {
            RecordKind::Inline => summary.value_bytes += bytes.len() as u64,
            RecordKind::Tombstone => {
                summary.tombstones += 1;
                if !bytes.is_empty() {
                    self.problem(ptr, format!("tombstone {index} has a value"));
                }
                if !self.options.tombstones_allowed {
                    self.problem(ptr, format!("entry {index} is a tombstone in a tree that has none"));
                }
            }
            RecordKind::Blob => {
                let mut pages = Vec::new();
                let size = value::blob_size(bytes);
                match size.and_then(|size| value::add_blob_pages(bytes, &mut pages).map(|()| size)) {
                    Ok((bytes, blob_pages)) => {
                        summary.value_bytes = summary.value_bytes.saturating_add(bytes);
                        summary.blob_pages = summary.blob_pages.saturating_add(blob_pages);
                        for range in pages {
                            self.claim(ptr, range);
                        }
                    }
                    Err(error) => self.problem(ptr, format!("record {index}: {error}")),
                }
            }
        }
    }
}
