//! The check of a whole database.

use std::sync::Arc;

use ambo_base::{
    BaseOps,
    btree::{CheckOptions, Tree, TreeMeta},
};
use ambo_pages::page::{self, Extents, PageRange, PageStore};
use ambo_types::Result;

use super::{checkpoint::CheckpointState, engine::Engine, version::TableVersion};

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
    /// Pages that are being written: of merges, loads, and long values of transactions that are under way. Without any of these, and
    /// without a failure that the database refuses writes for, there are none.
    pub pages_in_flight: u64,
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
    /// Walks every page of the last checkpoint: checksums, order, counts. Each page of the file has one owner: a tree, a long value,
    /// deleted rows, the list of free pages, or whoever waits for its last reader. Each index is compared with the rows of its table.
    /// Flushes and merges wait meanwhile; reads and writes go on.
    ///
    /// # Errors
    /// None for damage, which is reported.
    pub fn check(self: &Arc<Self>) -> Result<CheckReport> {
        let checkpoint = self.checkpoint.lock();
        let (version, dropped) = {
            // A table is in the one or in the other.
            let _versions = self.version_lock.lock();
            (self.versions.load_full(), self.dropped.lock().clone())
        };
        let mut report = CheckReport::default();
        let mut owned = Owned::default();
        for (id, table) in &version.tables {
            let definition = version.catalog.table(*id);
            report.tables += u64::from(definition.is_some_and(|table| table.index.is_none()));
            let name = definition.map_or_else(|| format!("table {id}"), |table| table.name.clone());
            if Arc::ptr_eq(&table.shared.store, &self.store) {
                check_table(table, &name, &mut owned, &mut report)?;
            } else {
                let mut in_memory = Owned::default();
                check_table(table, &name, &mut in_memory, &mut report)?;
                let store = &table.shared.store;
                in_memory.add(READERS, checkpoint.buried(store));
                in_memory.check_memory(self.values_in_memtables(store), store, &mut report);
            }
        }
        for table in dropped.iter().filter(|table| Arc::ptr_eq(&table.shared.store, &self.store)) {
            let damaged = table.damage.iter().flat_map(|damage| damage.pages.iter().copied());
            owned.add("a dropped table", damaged.chain(table.pages()?));
        }
        let superblock = checkpoint.superblock();
        let meta = TreeMeta::decode(&superblock.catalog).unwrap_or_default();
        let catalog = Tree::open(self.store.clone(), meta);
        owned.add("the catalog", check_tree(&catalog, false, "the catalog", &mut report)?);
        match self.store.stored_free_list(superblock) {
            Ok(stored) => self.check_owners(owned, stored, &checkpoint, &mut report),
            Err(error) => report.problems.push(format!("the list of free pages: {error}")),
        }
        super::index_check::check_indexes(
            &self.snapshot().with_expired(),
            self.index_threads(),
            &mut report,
        )?;
        report.problems.truncate(PROBLEMS_MAX);
        Ok(report)
    }

    /// That each page has one owner: at the last checkpoint, and now.
    fn check_owners(
        &self,
        published: Owned,
        (free, list): (Vec<PageRange>, Vec<PageRange>),
        checkpoint: &CheckpointState,
        report: &mut CheckReport,
    ) {
        let first = page::reserved_pages(self.store.page_size());
        let mut stored = published.clone();
        stored.add(FREE, free);
        stored.add(LIST, list);
        report.pages += stored.pages();
        let problems = stored.account(first, checkpoint.superblock().file_pages);
        if !problems.is_empty() {
            return report.problems.extend(problems);
        }
        // What commits refer to stays until the next checkpoint: it is asked for first.
        let values = self.values_in_memtables(&self.store);
        let buried: Vec<_> = checkpoint.buried(&self.store).collect();
        let mut owners = self.store.owners();
        let mut running = published;
        report.problems.extend(take_written(&mut owners.unpublished, VALUE, &values));
        report.problems.extend(take_written(&mut owners.unpublished, READERS, &buried));
        running.add(VALUE, values);
        running.add(READERS, buried.into_iter().chain(owners.waiting));
        running.add(FREE, owners.free);
        running.add(LIST, owners.list);
        running.add("whoever writes it", owners.unpublished.iter());
        report.pages_in_flight += owners.unpublished.pages();
        let problems = running.account(first, owners.end);
        report.problems.extend(problems.into_iter().map(|what| format!("since the last checkpoint: {what}")));
    }

    /// The pages of long values in a store that memtables refer to.
    fn values_in_memtables(&self, store: &Arc<PageStore>) -> Vec<PageRange> {
        let fresh = self.fresh_blobs.lock();
        let of_store = fresh.iter().filter(|fresh| Arc::ptr_eq(&fresh.store, store));
        of_store.flat_map(|fresh| fresh.blob.pages().iter().copied()).collect()
    }
}

/// Who pages belong to that no table has.
const FREE: &str = "the list of free pages";
const LIST: &str = "the pages of the free list itself";
const VALUE: &str = "a long value in a memtable";
const READERS: &str = "readers of older versions";

/// Takes pages from those that are written, which `owner` has; what is wrong if they are not among them.
fn take_written(written: &mut Extents, owner: &str, pages: &[PageRange]) -> Vec<String> {
    let missing = pages.iter().filter(|range| written.remove(**range) < range.pages);
    missing.map(|range| format!("page {} belongs to {owner}, and is not kept", range.start)).collect()
}

/// Pages and who they belong to.
#[derive(Clone, Default)]
struct Owned(Vec<(PageRange, Arc<str>)>);

impl Owned {
    fn add(&mut self, owner: &str, pages: impl IntoIterator<Item = PageRange>) {
        let owner: Arc<str> = owner.into();
        self.0.extend(pages.into_iter().map(|range| (range, owner.clone())));
    }

    fn pages(&self) -> u64 {
        self.0.iter().map(|(range, _)| range.pages).sum()
    }

    /// What is wrong unless every page from `first` to `end` has exactly one owner.
    fn account(mut self, first: u64, end: u64) -> Vec<String> {
        self.0.sort_by_key(|(range, _)| range.start);
        let mut problems = Vec::new();
        let mut next = first;
        let mut before: Arc<str> = "the superblocks".into();
        let unowned =
            |from: u64, to: u64| format!("pages {from} to {} belong to nobody and are not free", to - 1);
        for (range, owner) in self.0 {
            if range.start.0 < next {
                problems.push(format!("page {} belongs to {before} and to {owner}", range.start));
            } else if range.start.0 > next {
                problems.push(unowned(next, range.start.0));
            }
            next = next.max(range.end());
            before = owner;
        }
        match next.cmp(&end) {
            std::cmp::Ordering::Less => problems.push(unowned(next, end)),
            std::cmp::Ordering::Greater => {
                problems.push(format!("{before} has page {}, beyond the end of the file ({end})", next - 1));
            }
            std::cmp::Ordering::Equal => {}
        }
        problems
    }

    /// That no page of a table in memory has two owners, or is free.
    fn check_memory(mut self, values: Vec<PageRange>, store: &PageStore, report: &mut CheckReport) {
        self.add(VALUE, values);
        self.0.sort_by_key(|(range, _)| range.start);
        for pair in self.0.windows(2) {
            let ((range, before), (next, owner)) = (&pair[0], &pair[1]);
            if next.start.0 < range.end() {
                report.problems.push(format!("page {} belongs to {before} and to {owner}", next.start));
            }
        }
        let mut owners = store.owners();
        for (range, owner) in &self.0 {
            report.problems.extend(take_written(&mut owners.unpublished, owner, &[*range]));
        }
        report.pages_in_flight += owners.unpublished.pages();
    }
}

/// Checks what is compacted of a table, and notes its pages.
fn check_table(table: &TableVersion, name: &str, owned: &mut Owned, report: &mut CheckReport) -> Result<()> {
    for (index, run) in table.runs.iter().enumerate() {
        let what = format!("{name}, run {index}");
        owned.add(&what, check_tree(run, true, &what, report)?);
    }
    if let Some(damage) = table.damage.as_ref().filter(|damage| !damage.is_elsewhere()) {
        report.problems.push(format!("{name}: {}", damage.error()));
        owned.add(&format!("{name}, damaged"), damage.pages.iter().copied());
    }
    let found = table.base.check(PROBLEMS_MAX)?;
    report.trees += found.trees;
    report.segments += found.segments;
    report.entries += found.rows;
    report.problems.extend(found.problems.into_iter().map(|what| format!("{name}, {what}")));
    for (what, pages) in found.pages {
        owned.add(&format!("{name}, {what}"), pages);
    }
    Ok(())
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::database::{Options, blobs::FreshBlob, checkpoint::Turnover, version_edit::VersionEdit};
    use ambo_pages::io::sim::SimDisk;
    use ambo_pages::page::blob::BlobWriter;
    use ambo_types::Storage;
    use ambo_types::TableDefinition;
    use ambo_types::id::TableId;
    use ambo_types::id::Timestamp;

    fn engine() -> (Arc<Engine>, TableId) {
        let options = Options { background_threads: false, page_size: 4096, ..Options::default() };
        let engine = Arc::new(Engine::open(SimDisk::new(1).env(), options).unwrap().0);
        let table = engine.create_table(TableDefinition::key_value("t")).unwrap();
        engine.put(table, b"key", &vec![7; 3 << 20]).unwrap();
        assert!(engine.check().unwrap().is_sound());
        engine.flush().unwrap();
        engine.put(table, b"other", &vec![7; 3 << 20]).unwrap();
        assert!(engine.check().unwrap().is_sound());
        (engine, table)
    }

    #[track_caller]
    fn assert_found(engine: &Arc<Engine>, what: &str) {
        let problems = engine.check().unwrap().problems;
        assert!(problems.len() == 1 && problems[0].contains(what), "{problems:#?}");
    }

    // Keeps away: pages of a checkpoint that nothing leads to, so that the file never gets smaller.
    #[test]
    fn published_pages_without_an_owner_are_found() {
        let (engine, _) = engine();
        let lost = PageRange::new(engine.store.allocate(1).unwrap(), 1);
        let edit = VersionEdit::checkpoint(Turnover { born: vec![lost], ..Turnover::default() });
        engine.apply(engine.lock_checkpoint(), edit).unwrap();
        assert_found(&engine, &format!("pages {0} to {0} belong to nobody", lost.start));
    }

    // Keeps away: pages that a running database loses, until it is opened again.
    #[test]
    fn pages_that_are_lost_while_it_runs_are_found() {
        let (engine, _) = engine();
        let lost = engine.store.lose_page();
        assert_found(
            &engine,
            &format!("since the last checkpoint: pages {0} to {0} belong to nobody", lost.start),
        );
    }

    // Keeps away: pages that whoever wrote them forgets to give back, in the file and in memory.
    #[test]
    fn pages_that_nobody_published_are_counted() {
        let (engine, _) = engine();
        assert_eq!(engine.check().unwrap().pages_in_flight, 0);
        engine.store.allocate(3).unwrap();
        let definition = TableDefinition::key_value("m").storage(Storage::Memory);
        let memory = engine.create_table(definition).unwrap();
        engine.put(memory, b"key", &vec![7; 3 << 20]).unwrap();
        engine.flush().unwrap();
        assert_eq!(engine.check().unwrap().pages_in_flight, 3);
        let store = engine.current().table(memory).unwrap().shared.store.clone();
        let page = store.allocate(1).unwrap();
        let report = engine.check().unwrap();
        assert!(report.is_sound());
        assert_eq!(report.pages_in_flight, 4);
        store.free([PageRange::new(page, 1)]);
    }

    // Keeps away: a long value whose pages are given to others before it is flushed.
    #[test]
    fn long_values_in_memtables_keep_their_pages() {
        let (engine, table) = engine();
        let mut writer = BlobWriter::new(&engine.store, None);
        writer.write_all(&[1; 100]).unwrap();
        let blob = writer.finish().unwrap();
        engine.store.free(blob.pages().iter().copied());
        let what =
            format!("page {} belongs to a long value in a memtable, and is not kept", blob.pages()[0].start);
        let store = engine.store.clone();
        engine.fresh_blobs.lock().push(FreshBlob { table, store, at: Timestamp(9), blob });
        let problems = engine.check().unwrap().problems;
        assert!(problems[0].contains(&what), "{problems:#?}");
    }
}
