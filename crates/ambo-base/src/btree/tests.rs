//! Tests of whole trees: the conformance suite, and models with random shapes, merges and damage.

use std::{
    collections::BTreeSet,
    panic::AssertUnwindSafe,
    sync::{Arc, atomic::AtomicBool},
};

use ambo_types::{
    Result,
    id::PageNo,
    record::{Record, RecordKind},
};
use proptest::prelude::*;

use super::*;
use crate::conformance::{self, Model, Subject, SubjectCursor, Value};
use ambo_pages::{
    budget::MemoryBudget,
    io::{
        Disk, OpenMode,
        sim::{Fault, FaultKind, Op, SimDisk},
    },
    page::{Access, PageRange, PageStore, PageStoreOptions},
};

pub(super) const PAGE: usize = 4096;

fn build(store: &Arc<PageStore>, model: &Model, fanout_max: usize) -> Arc<Tree> {
    build_with(store, model, BuildOptions { fanout_max, filters: true, ..BuildOptions::default() })
}

fn build_with(store: &Arc<PageStore>, model: &Model, options: BuildOptions) -> Arc<Tree> {
    let mut builder = TreeBuilder::new(store, options);
    for (key, value) in model {
        let record = value.as_ref().map_or(Record::TOMBSTONE, |value| Record::inline(value));
        builder.push(key, record).unwrap();
    }
    Tree::open(Arc::clone(store), builder.finish().unwrap())
}

pub(super) fn value(store: &Arc<PageStore>, record: Record<'_>) -> Value {
    match record.kind {
        RecordKind::Inline => Some(record.bytes.to_vec()),
        RecordKind::Blob => Some(super::value::read_blob(store, record.bytes).unwrap()),
        RecordKind::Tombstone => None,
    }
}

/// A tree that owns its store.
pub(super) struct TreeSubject(pub(super) Arc<Tree>);

impl Subject for TreeSubject {
    fn get(&self, key: &[u8]) -> Option<Value> {
        self.0.get(key).unwrap().map(|record| value(&self.0.store, record.record()))
    }
    fn cursor(&self) -> Box<dyn SubjectCursor + '_> {
        Box::new(self.0.cursor())
    }
    fn rank(&self, key: &[u8]) -> u64 {
        self.0.rank(key).unwrap()
    }
    fn nth(&self, position: u64) -> Option<Vec<u8>> {
        self.0.nth(position).unwrap()
    }
    fn check(&self) {
        check(&self.0, true);
    }
}

impl SubjectCursor for TreeCursor {
    fn seek_first(&mut self) -> bool {
        TreeCursor::seek_first(self).unwrap()
    }
    fn seek_last(&mut self) -> bool {
        TreeCursor::seek_last(self).unwrap()
    }
    fn seek_ge(&mut self, key: &[u8]) -> bool {
        TreeCursor::seek_ge(self, key).unwrap()
    }
    fn seek_gt(&mut self, key: &[u8]) -> bool {
        TreeCursor::seek_gt(self, key).unwrap()
    }
    fn seek_le(&mut self, key: &[u8]) -> bool {
        TreeCursor::seek_le(self, key).unwrap()
    }
    fn seek_lt(&mut self, key: &[u8]) -> bool {
        TreeCursor::seek_lt(self, key).unwrap()
    }
    fn next(&mut self) -> bool {
        TreeCursor::next(self).unwrap()
    }
    fn prev(&mut self) -> bool {
        TreeCursor::prev(self).unwrap()
    }
    fn key(&self) -> Vec<u8> {
        TreeCursor::key(self).to_vec()
    }
    fn value(&self) -> Value {
        value(&self.tree().store, self.record())
    }
}

/// The pages of a tree, after checking it.
pub(super) fn check(tree: &Tree, tombstones_allowed: bool) -> BTreeSet<u64> {
    let report = tree.check(&CheckOptions { tombstones_allowed, problems_max: 10 }).unwrap();
    assert_eq!(report.problems, []);
    numbers(&report.pages)
}

fn numbers(ranges: &[PageRange]) -> BTreeSet<u64> {
    let all: Vec<u64> = ranges.iter().flat_map(|range| range.start.0..range.end()).collect();
    let set: BTreeSet<u64> = all.iter().copied().collect();
    assert_eq!(set.len(), all.len(), "each page once");
    set
}

// Keeps away: all that conformance.rs lists, in packed pages.
#[test]
fn packed_trees_conform() {
    conformance::run(&|model| Box::new(TreeSubject(build(&PageStore::memory(PAGE), model, usize::MAX))));
}

// Keeps away: the same where trees are high, so that every border between pages is crossed at every level.
#[test]
fn high_trees_conform() {
    conformance::run(&|model| {
        let tree = build(&PageStore::memory(PAGE), model, 3);
        assert!(model.len() < 1000 || tree.meta().height >= 5);
        Box::new(TreeSubject(tree))
    });
}

// Keeps away: leaves that are left half empty by a bulk load, and a last leaf with next to nothing in it.
#[test]
fn bulk_loads_are_packed() {
    let store = PageStore::memory(16 << 10);
    // Some of these end just behind a full leaf.
    for count in [5000u64].into_iter().chain(200..240) {
        let model: Model = (0..count).map(|n| ((n * 7).to_be_bytes().to_vec(), Some(vec![1; 500]))).collect();
        let tree = build(&store, &model, usize::MAX);
        let raw = tree.meta().key_bytes + tree.meta().value_bytes;
        let leaves = tree.meta().leaf_pages * (16 << 10);
        assert!(leaves < raw * 106 / 100 + (16 << 10), "{leaves} bytes for {raw}");
        let mut walker = walk::LeafWalker::new(&tree);
        while walker.advance().unwrap() {
            assert!(walker.summary().unwrap().used > 4000);
        }
    }
}

fn key_strategy() -> impl Strategy<Value = Vec<u8>> {
    prop_oneof![
        4 => proptest::collection::vec(0u8..4, 0..6),
        4 => any::<u16>().prop_map(|n| (u64::from(n) * 5).to_be_bytes().to_vec()),
        2 => (0u8..3, any::<u8>()).prop_map(|(group, n)| [&[b'a' + group; 600][..], &[n]].concat()),
        1 => (0u8..4, 1usize..9000).prop_map(|(group, len)| vec![group; len]),
    ]
}

fn value_strategy() -> impl Strategy<Value = Value> {
    prop_oneof![
        4 => proptest::collection::vec(any::<u8>(), 8).prop_map(Some),
        4 => (any::<u8>(), 0usize..300).prop_map(|(byte, len)| Some(vec![byte; len])),
        1 => (any::<u8>(), 0usize..20_000).prop_map(|(byte, len)| Some(vec![byte; len])),
        3 => Just(None),
    ]
}

fn model_strategy(rows: usize) -> impl Strategy<Value = Model> {
    proptest::collection::btree_map(key_strategy(), value_strategy(), 0..rows)
}

fn merged_model(inputs: &[Model], drop_tombstones: bool) -> Model {
    let mut merged = Model::new();
    for input in inputs.iter().rev() {
        merged.extend(input.iter().map(|(key, value)| (key.clone(), value.clone())));
    }
    if drop_tombstones {
        merged.retain(|_, value| value.is_some());
    }
    merged
}

/// Merges, and compares the result and the pages that it frees with what they must be.
fn merge_and_compare(
    store: &Arc<PageStore>,
    trees: &[Arc<Tree>],
    models: &[Model],
    options: &MergeOptions<'_>,
) -> (Arc<Tree>, Merged) {
    let before: BTreeSet<u64> = trees.iter().flat_map(|tree| check(tree, true)).collect();
    let merged = merge(trees, options).unwrap();
    let tree = Tree::open(Arc::clone(store), merged.meta);
    let after = check(&tree, !options.drop_tombstones);
    conformance::compare(&TreeSubject(Arc::clone(&tree)), &merged_model(models, options.drop_tombstones));
    let freed = numbers(&merged.freed);
    let gone: BTreeSet<u64> = before.difference(&after).copied().collect();
    assert_eq!(freed, gone, "freed are exactly the pages that the inputs had and the output has not");
    let new: BTreeSet<u64> = after.difference(&before).copied().collect();
    assert_eq!(numbers(&merged.written), new, "written are exactly the pages that only the output has");
    assert_eq!(numbers(&tree.all_pages().unwrap()), after);
    (tree, merged)
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 48, max_shrink_iters: 400, ..ProptestConfig::default() })]

    // Keeps away: any difference between a tree and a sorted map, whatever keys and values are like.
    #[test]
    fn trees_are_sorted_maps(model in model_strategy(120), fanout_max in prop_oneof![Just(usize::MAX), 2usize..6]) {
        let tree = build(&PageStore::memory(PAGE), &model, fanout_max);
        check(&tree, true);
        conformance::compare(&TreeSubject(tree), &model);
    }

    // Keeps away: merges that lose, resurrect or reorder rows, adopt what they must not, or free too much
    // or too little.
    #[test]
    fn merges_are_unions(
        models in proptest::collection::vec(model_strategy(60), 1..4),
        drop_tombstones: bool,
        fanout_max in prop_oneof![Just(usize::MAX), 2usize..6],
        filters: bool,
    ) {
        let store = PageStore::memory(PAGE);
        let trees: Vec<_> = models.iter().map(|model| build(&store, model, fanout_max)).collect();
        let cancel = AtomicBool::new(false);
        let build = BuildOptions { fanout_max, filters, ..BuildOptions::default() };
        let options = MergeOptions { drop_tombstones, build, ..MergeOptions::new(&cancel) };
        merge_and_compare(&store, &trees, &models, &options);
    }

    // Keeps away: adoption with wrong separators: dense trees of many full leaves, of which a few rows
    // change.
    #[test]
    fn few_changes_adopt_most_leaves(
        changes in proptest::collection::btree_map(0u64..20_000, any::<Option<u8>>(), 0..6),
        drop_tombstones: bool,
        shift in 0u64..3,
    ) {
        let store = PageStore::memory(PAGE);
        let main: Model = (0..2000u64).map(|n| ((n * 10).to_be_bytes().to_vec(), Some(vec![7; 100]))).collect();
        let run: Model = changes
            .iter()
            .map(|(n, value)| ((n + shift).to_be_bytes().to_vec(), value.map(|byte| vec![byte; 90])))
            .collect();
        let models = [run, main];
        let trees = [build(&store, &models[0], usize::MAX), build(&store, &models[1], usize::MAX)];
        let cancel = AtomicBool::new(false);
        let options = MergeOptions { drop_tombstones, ..MergeOptions::new(&cancel) };
        let leaves = trees[1].meta().leaf_pages;
        let (_, merged) = merge_and_compare(&store, &trees, &models, &options);
        prop_assert!(merged.adopted_leaves + 4 * changes.len() as u64 + 1 >= leaves, "{merged:?} of {leaves}");
    }
}

// Keeps away: a merge of disjoint trees that rewrites them.
#[test]
fn disjoint_trees_are_adopted_whole() {
    let store = PageStore::memory(PAGE);
    let models: Vec<Model> = [2000u64, 0, 1000]
        .iter()
        .map(|from| (*from..from + 1000).map(|n| (n.to_be_bytes().to_vec(), Some(vec![1; 100]))).collect())
        .collect();
    let trees: Vec<_> = models.iter().map(|model| build(&store, model, usize::MAX)).collect();
    let leaves: u64 = trees.iter().map(|tree| tree.meta().leaf_pages).sum();
    let cancel = AtomicBool::new(false);
    let (_, merged) = merge_and_compare(&store, &trees, &models, &MergeOptions::new(&cancel));
    assert!(merged.adopted_leaves + 3 >= leaves, "{merged:?}");
}

// Keeps away: a compaction that leaves pages beyond the cut.
#[test]
fn relocation_moves_leaves_down() {
    let store = PageStore::memory(PAGE);
    let model: Model = (0..2000u64)
        .map(|n| (n.to_be_bytes().to_vec(), Some(vec![n as u8; if n % 50 == 0 { 9000 } else { 90 }])))
        .collect();
    // More room than is needed, as a writer and the blobs take it in runs.
    let room = build(
        &store,
        &(0..8000u64).map(|n| (n.to_be_bytes().to_vec(), Some(vec![1; 500]))).collect(),
        usize::MAX,
    );
    let tree = build(&store, &model, usize::MAX);
    let pages = check(&room, false);
    let cut = *pages.last().unwrap() + 1;
    let report = room.check(&CheckOptions::default()).unwrap();
    store.free(report.pages);
    let cancel = AtomicBool::new(false);
    let options = MergeOptions { relocate_from: Some(PageNo(cut)), ..MergeOptions::new(&cancel) };
    let (moved, merged) = merge_and_compare(&store, &[tree], &[model], &options);
    assert_eq!(merged.adopted_leaves, 0);
    let beyond = check(&moved, false).iter().filter(|page| **page >= cut).count();
    assert_eq!(beyond, 0, "all is below page {cut}");
}

// Keeps away: a cancelled or failed merge that leaks pages.
#[test]
fn cancelled_merges_and_dropped_builders_free_their_pages() {
    let store = PageStore::memory(PAGE);
    let model: Model =
        (0..5000u64).map(|n| (n.to_be_bytes().to_vec(), Some(vec![1; (n % 1500) as usize]))).collect();
    let tree = build(&store, &model, usize::MAX);
    let next = store.allocate(1).unwrap();
    store.free([PageRange::new(next, 1)]);
    let cancel = AtomicBool::new(false);
    let stop = |_| cancel.store(true, std::sync::atomic::Ordering::Relaxed);
    let options = MergeOptions {
        relocate_from: Some(PageNo(0)),
        throttle: Some(&stop),
        throttle_bytes: 1 << 18,
        ..MergeOptions::new(&cancel)
    };
    let error = merge(&[Arc::clone(&tree)], &options).unwrap_err();
    assert!(matches!(error, ambo_types::Error::Cancelled), "{error}");
    let mut builder = TreeBuilder::new(&store, BuildOptions::default());
    for key in model.keys() {
        builder.push(key, Record::inline(&[5; 2000])).unwrap();
    }
    builder.abort();
    assert_eq!(store.allocate(1).unwrap(), next, "everything behind the tree is free again");
    check(&tree, false);
}

// Keeps away: keys out of order or too long that end in a tree.
#[test]
fn wrong_pushes_are_refused() {
    let store = PageStore::memory(PAGE);
    let mut builder = TreeBuilder::new(&store, BuildOptions::default());
    builder.push(b"b", Record::inline(b"")).unwrap();
    assert!(matches!(
        builder.push(&[b'c'; 64 * 1024 + 1], Record::inline(b"")),
        Err(ambo_types::Error::Invalid(_))
    ));
    for key in [b"b", b"a"] {
        let push = AssertUnwindSafe(|| builder.push(key, Record::inline(b"")));
        assert!(std::panic::catch_unwind(push).is_err());
    }
}

/// Writes `page` where nothing was.
pub(super) fn write_page(store: &Arc<PageStore>, page: &[u8]) -> ambo_types::id::PagePtr {
    let mut writer = store.writer();
    let ptr = writer.write(page).unwrap();
    writer.finish().unwrap();
    ptr
}

/// Does everything that reads a tree; errors are fine, panics are not.
pub(super) fn exercise(tree: &Arc<Tree>, keys: &[Vec<u8>]) {
    let scan = |forward: bool| -> Result<()> {
        let mut cursor = tree.cursor();
        let mut any = if forward { cursor.seek_first()? } else { cursor.seek_last()? };
        for _ in 0..20_000 {
            if !any {
                break;
            }
            let _ = (cursor.key().len(), cursor.record().bytes.len());
            any = if forward { cursor.next()? } else { cursor.prev()? };
        }
        Ok(())
    };
    let _ = (scan(true), scan(false));
    for key in keys {
        let _ = tree.get(key).map(|record| record.map(|record| record.len()));
        let _ = (tree.rank(key), tree.cursor().seek_ge(key), tree.cursor().seek_lt(key));
    }
    let _ = (tree.nth(0), tree.nth(tree.meta().rows / 2), tree.nth(tree.meta().rows.saturating_sub(1)));
    let _ = tree.check(&CheckOptions::default());
    let cancel = AtomicBool::new(false);
    for drop_tombstones in [false, true] {
        let options = MergeOptions { drop_tombstones, ..MergeOptions::new(&cancel) };
        let _ = merge(&[Arc::clone(tree)], &options);
        let _ = merge(&[Arc::clone(tree), Arc::clone(tree)], &options);
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 800, ..ProptestConfig::default() })]

    // Keeps away: a panic, an endless loop or a read outside of the page where a page is damaged but its
    // checksum is right.
    #[test]
    fn damaged_pages_never_panic(
        model in proptest::collection::btree_map(key_strategy(), value_strategy(), 1..40),
        fanout_max in prop_oneof![Just(usize::MAX), 2usize..6],
        damage in proptest::collection::vec((any::<prop::sample::Index>(), any::<u8>(), 0u8..3), 1..5),
        which: prop::sample::Index,
    ) {
        let store = PageStore::memory(PAGE);
        let tree = build(&store, &model, fanout_max);
        let keys: Vec<_> = model.keys().cloned().collect();
        let ptr = if tree.meta().height > 1 && which.index(2) == 0 {
            let mut walker = walk::LeafWalker::new(&tree);
            walker.advance().unwrap();
            walker.leaf()
        } else {
            tree.meta().root
        };
        let mut page = store.read(ptr, Access::Point).unwrap().to_vec();
        for (at, byte, place) in &damage {
            // The header, the lists behind it, or anywhere.
            let range = 16..[48, 300, page.len()][usize::from(*place)];
            let at = range.start + at.index(range.len());
            page[at] = *byte;
        }
        let written = write_page(&store, &page);
        let mut meta = *tree.meta();
        if ptr == meta.root {
            meta.root = written;
        } else {
            let root = store.read(meta.root, Access::Point).unwrap().to_vec();
            let at = root.windows(8).position(|bytes| bytes == ptr.0.to_le_bytes());
            let Some(at) = at else { return Ok(()) };
            let mut root = root;
            root[at..at + 8].copy_from_slice(&written.0.to_le_bytes());
            meta.root = write_page(&store, &root);
        }
        exercise(&Tree::open(Arc::clone(&store), meta), &keys);
    }
}

// Keeps away: a check that passes whatever is wrong, or stops at the first problem.
#[test]
fn check_names_what_is_wrong() {
    let store = PageStore::memory(PAGE);
    let model: Model = (0..100u64).map(|n| (vec![b'k', n as u8], Some(vec![n as u8; 8]))).collect();
    let tree = build(&store, &model, 10);
    let root = store.read(tree.meta().root, Access::Point).unwrap().to_vec();
    let problems = |page: &[u8], rows: u64| -> String {
        let root = write_page(&store, page);
        let tree = Tree::open(Arc::clone(&store), TreeMeta { root, rows, ..*tree.meta() });
        let report = tree.check(&CheckOptions::default()).unwrap();
        report
            .problems
            .iter()
            .map(|problem| format!("{}: {}\n", problem.page.number(), problem.what))
            .collect()
    };
    assert_eq!(problems(&root, 100), "");
    assert!(problems(&root, 101).contains("counted"));
    let view = inner::InnerView::parse(&root, 1).unwrap();
    let first = view.child(&root, 0).unwrap().0.to_le_bytes();
    let second = view.child(&root, 1).unwrap().0.to_le_bytes();
    let at = root.windows(8).position(|bytes| bytes == first).unwrap();

    let mut twice = root.clone();
    twice[at + 8..at + 16].copy_from_slice(&first);
    assert!(problems(&twice, 100).contains("reached twice"));

    let mut swapped = root.clone();
    swapped[at..at + 8].copy_from_slice(&second);
    swapped[at + 8..at + 16].copy_from_slice(&first);
    let found = problems(&swapped, 100);
    assert!(found.contains("not within the separators") && found.contains("not greater"), "{found}");
    assert!(found.lines().count() > 10, "all are named: {found}");

    let mut counts = root.clone();
    let ends = at + 8 * view.children();
    counts[ends] += 1;
    let found = problems(&counts, 100);
    assert!(found.contains("child 0 has 10 entries, the count says 11"), "{found}");
    assert!(found.contains("child 1 has 10 entries, the count says 9"), "{found}");

    let mut summary = root.clone();
    summary[ends + 8 * view.children() + 4] = 1;
    assert!(problems(&summary, 100).contains("summary says"));

    let mut filter = root.clone();
    let of_first = view.filter(&root, 0).unwrap();
    let at = root.windows(of_first.len()).position(|bytes| bytes == of_first).unwrap();
    filter[at..at + of_first.len()].fill(0);
    assert!(problems(&filter, 100).contains("denied by the filter above"));
}

/// A store in a file of a simulated disk, of which `frames` pages fit into memory.
fn file_store(disk: &SimDisk, frames: usize) -> Arc<PageStore> {
    let file = disk.open(ambo_pages::page::NAME, OpenMode::Create).unwrap();
    PageStore::create(file, &PageStoreOptions { page_size: PAGE, memory: MemoryBudget::new(frames * PAGE) })
        .unwrap()
}

// Keeps away: trees that only work while all their pages, or all their inner pages, stay in memory.
#[test]
fn trees_in_a_file_with_a_tiny_pool_conform() {
    for fanout_max in [usize::MAX, 3] {
        conformance::run(&|model| {
            Box::new(TreeSubject(build(&file_store(&SimDisk::new(1), 12), model, fanout_max)))
        });
    }
}

// Keeps away: a failed read that panics, that spoils the cursor for later, or that passes for the end of
// the scan.
#[test]
fn failed_reads_are_errors_and_pass() {
    let disk = SimDisk::new(1);
    let store = file_store(&disk, 12);
    let model: Model = (0..3000u64).map(|n| (n.to_be_bytes().to_vec(), Some(vec![1; 100]))).collect();
    let tree = build(&store, &model, 8);
    let mut cursor = tree.cursor();
    let mut failures = 0;
    for after in 0..40 {
        disk.inject(Fault { op: Op::Read, file_prefix: None, after, kind: FaultKind::Io, once: true });
        let mut count = 0;
        let mut step = cursor.seek_first();
        while let Ok(true) = step {
            count += 1;
            step = cursor.next();
        }
        match step {
            Ok(_) => assert_eq!(count, model.len()),
            Err(_) => failures += 1,
        }
        disk.clear_faults();
        assert!(cursor.seek_ge(&1500u64.to_be_bytes()).unwrap());
        assert_eq!(cursor.key(), 1500u64.to_be_bytes());
    }
    assert!(failures > 30, "{failures} failures were seen");
}

// Keeps away: a build that fails in the middle and keeps its pages.
#[test]
fn failed_writes_free_what_was_written() {
    let disk = SimDisk::new(1);
    let store = file_store(&disk, 12);
    let free = store.stats().used_pages;
    disk.set_capacity(Some(disk.used() + (3 << 20)));
    let mut builder = TreeBuilder::new(&store, BuildOptions::default());
    let error = (0..1_000_000u64)
        .find_map(|n| builder.push(&n.to_be_bytes(), Record::inline(&[1; 1500])).err())
        .expect("the disk is full");
    assert!(matches!(error, ambo_types::Error::DiskFull(_)), "{error}");
    drop(builder);
    assert_eq!(store.stats().used_pages, free);
}

// Keeps away: a change of the stored forms that nobody noticed.
#[test]
fn the_worked_examples_hold() {
    let store = PageStore::memory(PAGE);
    let model: Model = [(b"k1".to_vec(), Some(b"abc".to_vec())), (b"k2".to_vec(), None)].into();
    let tree = build(&store, &model, usize::MAX);
    let page = store.read(tree.meta().root, Access::Point).unwrap();
    assert_eq!(page[4..8], [1, 1, 0, 0]);
    let header = [
        [2, 0, 0, 0],
        [1, 2, 2, 0],
        [1, 0, 0, 0],
        [48, 0, 0, 0],
        [1, 0, 0, 0],
        [3, 0, 0, 0],
        [1, 0, 0, 0],
        [62, 0, 0, 0],
    ];
    assert_eq!(page[16..48], *header.as_flattened());
    assert_eq!(page[48..59], *b"k12\0\0\x03\0\x03\0\x01\x03");
    assert!(page[59..4093].iter().all(|byte| *byte == 0));
    assert_eq!(page[4093..], *b"abc");

    let model: Model = (0..3u8).map(|n| (vec![b'k', n * 2, 9], Some(vec![n]))).collect();
    let options = BuildOptions { fanout_max: 2, ..BuildOptions::default() };
    let tree = build_with(&store, &model, options);
    let page = store.read(tree.meta().root, Access::Point).unwrap();
    assert_eq!(page[4..8], [2, 1, 0, 0]);
    let header =
        [[1, 0, 0, 0], [1, 1, 0, 0], [2, 0, 0, 0], [48, 0, 0, 0], [0; 4], [0; 4], [0; 4], [146, 0, 0, 0]];
    assert_eq!(page[16..48], *header.as_flattened());
    assert_eq!(page[48..50], *b"k\x04");
    let word = |at: usize| u64::from_le_bytes(page[at..at + 8].try_into().unwrap());
    assert_eq!((word(66), word(74)), (2, 3), "entries up to the end of each child");
    let used = 48 + 2 + 1 + 2 * 2; // headers, records, prefix "k", suffixes
    assert_eq!((word(82), word(90), word(98), word(106)), (used, 6, 2, 0));

    let filtered = build(&store, &model, 2);
    let filtered = store.read(filtered.meta().root, Access::Point).unwrap();
    assert_eq!((filtered[22], filtered[44]), (8, 157), "flag 3 and what is used");
    assert_eq!(filtered[82..146], page[82..146], "the same summaries");
    assert_eq!(filtered[146..152], [0, 0, 3, 0, 5, 0], "two filters, of three bytes and of two");
    assert!(leaf_filter::may_have(&filtered[152..155], b"k\x02\x09"));
    assert!(leaf_filter::may_have(&filtered[155..157], b"k\x04\x09"));
    assert!(page[146..157].iter().all(|byte| *byte == 0));
}

proptest! {
    // Keeps away: a search in a key list that differs from that in a sorted list, most of all around the 8
    // bytes that are compared as a number.
    #[test]
    fn key_lists_are_searched_as_sorted_lists(
        keys in proptest::collection::btree_set(
            prop_oneof![
                (1usize..20, proptest::collection::vec(0u8..3, 12)).prop_map(|(len, key)| key[..len.min(12)].to_vec()),
                proptest::collection::vec(prop_oneof![Just(0u8), Just(0xff)], 9),
            ],
            1..60,
        ),
        width in 0usize..13,
        probes in proptest::collection::vec(proptest::collection::vec(0u8..3, 0..13), 30),
    ) {
        let keys: BTreeSet<Vec<u8>> = match width {
            0 => keys,
            width => keys.into_iter().map(|mut key| { key.resize(width, 0); key }).collect(),
        };
        let mut draft = draft::LeafDraft::new(PAGE, None);
        for key in &keys {
            prop_assert!(draft.push(&draft::Entry::plain(key, Record::inline(b""), 0, 0)));
        }
        let (page, _) = draft.encode();
        let view = leaf::LeafView::parse(page).unwrap();
        let sorted: Vec<_> = keys.iter().cloned().collect();
        for probe in probes.iter().chain(&sorted) {
            let expected = match sorted.binary_search(probe) {
                Ok(index) => (index, true),
                Err(index) => (index, false),
            };
            prop_assert_eq!(view.keys.search(page, probe), Ok(expected));
        }
    }
}
