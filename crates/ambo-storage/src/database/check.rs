//! The check of a whole database.

use std::sync::Arc;

use super::engine::Engine;
use crate::{
    Result,
    base::btree::{CheckOptions, Tree, TreeMeta},
    page::{self, PageRange},
};

/// What a check found.
#[derive(Clone, Debug, Default)]
pub struct CheckReport {
    /// Everything that is wrong, each with its place.
    pub problems: Vec<String>,
    /// Tables whose trees were walked.
    pub tables: u64,
    /// Trees: main trees and runs.
    pub trees: u64,
    /// Segments of column tables.
    pub segments: u64,
    /// Indexes whose entries were compared with the rows of their tables.
    pub indexes: u64,
    /// Entries in trees, and rows in segments.
    pub entries: u64,
    /// Pages that were reached, and those on the list of free pages.
    pub pages: u64,
}

impl CheckReport {
    /// Whether nothing is wrong.
    pub fn is_sound(&self) -> bool {
        self.problems.is_empty()
    }
}

/// More problems than these are not listed.
pub(super) const PROBLEMS_MAX: usize = 1000;

impl Engine {
    /// Walks every page of the last checkpoint: checksums, order, counts, and that each page of the file is used once or free; and
    /// compares every index with the rows of its table. Spills and merges wait meanwhile; reads and writes go on.
    ///
    /// # Errors
    /// None for damage, which is reported.
    pub fn check(self: &Arc<Self>) -> Result<CheckReport> {
        let checkpoint = self.checkpoint.lock();
        let version = self.versions.load_full();
        let mut report = CheckReport::default();
        let mut reached: Vec<(PageRange, String)> = Vec::new();
        for (id, table) in &version.tables {
            let definition = version.catalog.table(*id);
            report.tables += u64::from(definition.is_some_and(|table| table.index.is_none()));
            let name = definition.map_or_else(|| format!("table {id}"), |table| table.name.clone());
            let in_file = Arc::ptr_eq(&table.shared.store, &self.store);
            for (index, tree) in table.trees().enumerate() {
                let is_main = index == table.runs.len();
                let what =
                    if is_main { format!("{name}, main tree") } else { format!("{name}, run {index}") };
                let pages = check_tree(tree, !is_main, &what, &mut report)?;
                if in_file {
                    reached.extend(pages.into_iter().map(|range| (range, what.clone())));
                }
            }
            if let Some(damage) = &table.damage {
                report.problems.push(format!("{name}: {}", damage.error()));
                let pages = damage.pages.iter().copied();
                reached.extend(pages.map(|range| (range, format!("{name}, deleted rows"))));
            }
            if let Some(columns) = &table.columns {
                let found = columns.check()?;
                report.segments += found.segments;
                report.entries += found.rows;
                report.problems.extend(found.problems.into_iter().map(|what| format!("{name}, {what}")));
                reached.extend(columns.deleted_pages().map(|range| (range, format!("{name}, deleted rows"))));
            }
        }
        for table in &*self.dropped.lock() {
            if Arc::ptr_eq(&table.shared.store, &self.store) {
                let columns = table.columns.iter().flat_map(|columns| columns.deleted_pages());
                let damaged = table.damage.iter().flat_map(|damage| damage.pages.iter().copied());
                reached.extend(columns.chain(damaged).map(|range| (range, "a dropped table".to_owned())));
                for tree in table.trees() {
                    reached.extend(
                        tree.all_pages()?.into_iter().map(|range| (range, "a dropped table".to_owned())),
                    );
                }
            }
        }
        let superblock = checkpoint.superblock();
        let meta = TreeMeta::decode(&superblock.catalog).unwrap_or_default();
        let catalog = Tree::open(self.store.clone(), meta);
        let pages = check_tree(&catalog, false, "the catalog", &mut report)?;
        reached.extend(pages.into_iter().map(|range| (range, "the catalog".to_owned())));
        match self.store.stored_free_list(superblock) {
            Ok((free, list)) => {
                reached.extend(free.into_iter().map(|range| (range, "the list of free pages".to_owned())));
                reached.extend(
                    list.into_iter().map(|range| (range, "the pages of the free list itself".to_owned())),
                );
                account(
                    reached,
                    page::reserved_pages(self.store.page_size()),
                    superblock.file_pages,
                    &mut report,
                );
            }
            Err(error) => report.problems.push(format!("the list of free pages: {error}")),
        }
        super::index_check::check_indexes(&self.snapshot(), self.index_threads(), &mut report)?;
        report.problems.truncate(PROBLEMS_MAX);
        Ok(report)
    }
}

fn check_tree(
    tree: &Arc<Tree>,
    tombstones_allowed: bool,
    what: &str,
    report: &mut CheckReport,
) -> Result<Vec<PageRange>> {
    let found = tree.check(&CheckOptions { tombstones_allowed, problems_max: PROBLEMS_MAX })?;
    report.trees += 1;
    report.entries += found.counted.rows;
    report.problems.extend(
        found
            .problems
            .iter()
            .map(|problem| format!("{what}: page {}: {}", problem.page.number(), problem.what)),
    );
    Ok(found.pages)
}

/// Every page from `first` to `end` has exactly one owner.
fn account(mut reached: Vec<(PageRange, String)>, first: u64, end: u64, report: &mut CheckReport) {
    reached.sort_by_key(|(range, _)| range.start);
    let mut next = first;
    let mut before = "the superblocks".to_owned();
    for (range, owner) in reached {
        report.pages += range.pages;
        if range.start.0 < next {
            report.problems.push(format!("page {} belongs to {before} and to {owner}", range.start));
        } else if range.start.0 > next {
            report
                .problems
                .push(format!("pages {next} to {} belong to nobody and are not free", range.start.0 - 1));
        }
        next = next.max(range.end());
        before = owner;
    }
    match next.cmp(&end) {
        std::cmp::Ordering::Less => {
            report.problems.push(format!("pages {next} to {} belong to nobody and are not free", end - 1));
        }
        std::cmp::Ordering::Greater => {
            report
                .problems
                .push(format!("{before} has page {}, beyond the end of the file ({end})", next - 1));
        }
        std::cmp::Ordering::Equal => {}
    }
}
