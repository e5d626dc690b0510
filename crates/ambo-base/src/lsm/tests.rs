//! What merging by slots costs, and that nothing is lost by it.

use std::{
    collections::BTreeMap,
    sync::{Arc, atomic::AtomicBool},
};

use ambo_pages::{
    io::sim::split_mix,
    page::{PageRange, PageStore},
};
use ambo_types::{
    Result,
    id::{PageNo, PagePtr},
    record::{Record, RecordKind},
};

use super::{LsmBase, Parts, slots::Sizes};
use crate::{
    BaseOps, Compacted, Compaction, Made, Root, Workshop,
    btree::{BuildOptions, RowStream, Tree, TreeBuilder, TreeMeta},
    root::{PART, TREE},
    runs::NewestRows,
};

const PAGE: usize = 4096;

/// A table as the engine keeps one: a base, and runs above it.
struct Table {
    store: Arc<PageStore>,
    base: LsmBase,
    build: BuildOptions,
    /// Newest first.
    runs: Vec<Arc<Tree>>,
    spilled: u64,
    /// The most pages that were used at once.
    most: u64,
    merges: u64,
    /// The most pages that one merge wrote.
    largest: u64,
}

impl Table {
    fn new(part_pages: u64) -> Self {
        let store = PageStore::memory(PAGE);
        let base = LsmBase::new(part_pages * PAGE as u64, PAGE);
        let build = BuildOptions { filters: true, ..BuildOptions::default() };
        Self { store, base, build, runs: Vec::new(), spilled: 0, most: 0, merges: 0, largest: 0 }
    }

    /// Writes rows as a run; `None` is a tombstone.
    fn spill(&mut self, rows: &BTreeMap<Vec<u8>, Option<Vec<u8>>>) {
        let mut builder = TreeBuilder::new(&self.store, self.build.clone());
        for (key, value) in rows {
            builder.push(key, value.as_deref().map_or(Record::TOMBSTONE, Record::inline)).unwrap();
        }
        let run = Tree::open(self.store.clone(), builder.finish().unwrap());
        self.spilled += run.meta().pages();
        self.put_run(0, run);
    }

    fn put_run(&mut self, place: usize, run: Arc<Tree>) {
        let is_lowest = place == self.runs.len() && self.base.rows() == 0;
        match is_lowest.then(|| self.base.adopted(&run)).flatten() {
            Some(base) => self.base = base,
            None => self.runs.insert(place, run),
        }
    }

    /// Does this; whether there is more of it.
    fn compact(&mut self, compaction: Compaction, rewrite: bool, relocate_from: Option<PageNo>) -> bool {
        let before = self.store.stats().bytes_written;
        let compacted = {
            let workshop = Workshop {
                store: &self.store,
                build: self.build.clone(),
                train: &|_| Ok(None),
                read_blob: &|_| unreachable!("blobs stay as they are"),
                copy_blob: None,
                relocate_from,
                rewrite,
                cancel: &AtomicBool::new(false),
                leave_out: None,
                all_below: None,
            };
            self.base.compact(&self.runs, compaction, &workshop).unwrap()
        };
        self.most = self.most.max(self.store.stats().used_pages);
        let written = (self.store.stats().bytes_written - before) / PAGE as u64;
        (self.merges, self.largest) = (self.merges + 1, self.largest.max(written));
        compacted.is_some_and(|compacted| self.install(compacted))
    }

    fn install(&mut self, compacted: Compacted<LsmBase>) -> bool {
        compacted.verify();
        let Compacted { inputs, made, retired, is_more, .. } = compacted;
        self.runs.retain(|run| !inputs.iter().any(|input| Arc::ptr_eq(run, input)));
        match made {
            Made::Run(run) => run.into_iter().for_each(|run| self.put_run(0, run)),
            Made::Base(base) => self.base = base,
            Made::Slot { base, runs } => {
                self.base = base;
                runs.into_iter().rev().for_each(|run| self.put_run(0, run));
            }
        }
        drop(inputs);
        self.store.free(retired);
        is_more
    }

    fn settle(&mut self) {
        while let Some(due) = self.base.due(&self.runs) {
            self.compact(due, false, None);
        }
    }

    fn compact_all(&mut self) {
        while self.compact(Compaction { runs: self.runs.len(), whole: true }, false, None) {}
        assert!(self.runs.is_empty());
    }

    /// All live rows, by what is newest.
    fn rows(&self) -> BTreeMap<Vec<u8>, Vec<u8>> {
        let mut rows = BTreeMap::new();
        let mut cursor = self.base.parts.cursor();
        while let Some(cursor) = &mut cursor
            && cursor.next().unwrap()
        {
            rows.insert(cursor.key().to_vec(), value(&self.store, cursor.record()));
        }
        let mut newest = NewestRows::new(&self.runs).unwrap();
        while let Some((key, record)) = newest.next_row().unwrap() {
            match record.kind {
                RecordKind::Tombstone => rows.remove(key),
                _ => rows.insert(key.to_vec(), value(&self.store, record)),
            };
        }
        rows
    }

    /// That parts are in order and sound, and that each page is somebody's.
    fn check(&self) {
        let report = self.base.check(10).unwrap();
        assert_eq!(report.problems, Vec::<String>::new());
        assert_eq!((report.rows, report.trees), (self.base.rows(), self.base.trees().len() as u64));
        let runs = self.runs.iter().flat_map(|run| run.all_pages().unwrap());
        let mut pages: Vec<PageRange> = self.base.pages().unwrap();
        pages.extend(runs);
        assert!(ambo_pages::page::are_disjoint(&pages));
        let pages: u64 = pages.iter().map(|range| range.pages).sum();
        let empty = PageStore::memory(PAGE).stats().used_pages;
        assert_eq!(self.store.stats().used_pages - empty, pages, "pages that belong to nobody");
    }

    fn live_pages(&self) -> u64 {
        self.base.trees().iter().map(|tree| tree.meta().pages()).sum()
    }
}

fn value(store: &Arc<PageStore>, record: Record<'_>) -> Vec<u8> {
    match record.kind {
        RecordKind::Blob => {
            let reference = ambo_pages::page::BlobRef::decode(record.bytes).unwrap();
            ambo_pages::page::BlobReader::new(store, reference).unwrap().read_all().unwrap()
        }
        _ => record.bytes.to_vec(),
    }
}

fn number(state: &mut u64) -> Vec<u8> {
    split_mix(state).to_be_bytes().to_vec()
}

// Keeps away: a merge of the whole table, ever more runs, and space that is never given back, under endless random writes.
#[test]
fn random_spills_stay_cheap() {
    let mut table = Table::new(64);
    let mut state = 1;
    let mut most_runs = 0;
    for _ in 0..2000 {
        let rows = (0..340).map(|_| (number(&mut state), Some(vec![7; 40])));
        table.spill(&rows.collect());
        table.settle();
        most_runs = most_runs.max(table.runs.len());
    }
    let slot = 8 * 64;
    let (live, written) = (table.live_pages(), table.store.stats().bytes_written / PAGE as u64);
    let above: u64 = table.runs.iter().map(|run| run.meta().pages()).sum();
    let amplification = written as f64 / table.spilled as f64;
    assert!(
        live > 12 * slot && table.base.trees().len() > 100,
        "{live} pages, {} parts",
        table.base.trees().len()
    );
    assert!(amplification <= 12.0, "write amplification {amplification}");
    assert!(table.largest <= 3 * slot, "a merge of {} of {live} pages", table.largest);
    let allowed = live * 112 / 100 + 4 * slot;
    assert!(table.most <= allowed, "{} pages at once, {live} in parts and {above} above", table.most);
    assert!(above <= live / 9 + 2 * slot && most_runs < 16, "{above} pages in {most_runs} runs");
    table.compact_all();
    table.check();
    assert_eq!(table.base.rows(), 2000 * 340);
}

// Keeps away: rewriting what comes in order.
#[test]
fn spills_in_order_are_linked() {
    // What is written anew are inner pages, of which filters of rows as short as these make three of one.
    for (filters, most) in [(false, 1.1), (true, 1.25)] {
        let mut table = Table::new(256);
        table.build.filters = filters;
        spill_in_order(&mut table, most);
    }
}

fn spill_in_order(table: &mut Table, most: f64) {
    for spill in 0..200u64 {
        let rows = (0..6000u64).map(|n| ((spill * 6000 + n).to_be_bytes().to_vec(), Some(vec![7; 40])));
        table.spill(&rows.collect());
        table.settle();
    }
    let written = table.store.stats().bytes_written / PAGE as u64;
    let amplification = written as f64 / table.spilled as f64;
    assert!(amplification <= most, "write amplification {amplification}");
    assert!(table.base.trees().len() > 20);
    table.compact_all();
    table.check();
    assert_eq!(table.base.rows(), 200 * 6000);
}

// Keeps away: rows that are lost, doubled or that come back, and pages that nobody has, whatever is merged in which order.
#[test]
fn slots_keep_what_is_newest() {
    for seed in 0..40 {
        let mut state = seed;
        let mut table = Table::new(1 + seed % 4);
        let mut model = BTreeMap::new();
        let (keys, spills) = (20 << (seed % 8), 10 + seed % 30);
        for spill in 0..spills {
            let mut rows = BTreeMap::new();
            for _ in 0..1 + split_mix(&mut state) % 200 {
                let mut key = (split_mix(&mut state) % keys).to_be_bytes().to_vec();
                key.resize(8 + (seed as usize % 3) * 150, b'k');
                let length = [0, 30, 90, 2000][(split_mix(&mut state) % 4) as usize];
                let is_deleted = split_mix(&mut state).is_multiple_of(3);
                rows.insert(key, (!is_deleted).then(|| vec![spill as u8; length]));
            }
            for (key, value) in &rows {
                match value {
                    Some(value) => model.insert(key.clone(), value.clone()),
                    None => model.remove(key),
                };
            }
            table.spill(&rows);
            let all = Compaction { runs: table.runs.len(), whole: true };
            match split_mix(&mut state) % 12 {
                0 => drop(table.compact(all, false, None)),
                1 => drop(table.compact(Compaction { whole: false, ..all }, false, None)),
                2 => drop(table.compact(all, true, None)),
                3 => drop(table.compact(all, false, Some(PageNo(20)))),
                4 => table.compact_all(),
                _ => table.settle(),
            }
            table.check();
            assert_eq!(table.rows(), model, "seed {seed}, spill {spill}");
        }
        table.compact_all();
        table.check();
        assert_eq!(table.rows(), model, "seed {seed}");
        let places = model.keys().enumerate().step_by(7);
        for (place, key) in places {
            assert_eq!(table.base.rank(key).unwrap(), place as u64);
            assert_eq!(table.base.parts.nth(place as u64).unwrap().as_ref(), Some(key));
        }
        assert_eq!(table.base.parts.nth(model.len() as u64).unwrap(), None);
    }
}

// Keeps away: sums that leave a part out, or count it twice.
#[test]
fn sums_go_over_parts() {
    let mut table = Table::new(1);
    let rows = (0..4000u64).map(|n| ((n * 2).to_be_bytes().to_vec(), Some(vec![1; 20])));
    table.spill(&rows.collect());
    table.compact_all();
    assert!(table.base.trees().len() > 10);
    for (lower, upper) in
        [(None, None), (Some(77), None), (None, Some(5000)), (Some(1000), Some(6001)), (Some(9), Some(9))]
    {
        let within = |n: &u64| lower.is_none_or(|lower| lower <= *n) && upper.is_none_or(|upper| *n < upper);
        let expected: Vec<_> = (0..4000).map(|n| n * 2).filter(within).collect();
        let bytes = |bound: Option<u64>| bound.map(u64::to_be_bytes);
        let (from, to) = (bytes(lower), bytes(upper));
        let found =
            table.base.sum_keys(from.as_ref().map(|b| &b[..]), to.as_ref().map(|b| &b[..])).unwrap().unwrap();
        assert_eq!(found.count, expected.len() as u64);
        assert_eq!(found.sum, expected.iter().map(|n| u128::from(*n)).sum::<u128>());
    }
}

// Keeps away: a change of the stored form that nobody noticed.
#[test]
fn the_worked_example_holds() {
    let store = PageStore::memory(PAGE);
    let tree = |page| {
        let root = PagePtr::new(PageNo(page), 1);
        let meta = TreeMeta { root, height: 1, rows: 1, leaf_pages: 1, key_bytes: 1, ..TreeMeta::default() };
        Tree::open(store.clone(), meta)
    };
    let parts = Parts::new([(Box::default(), tree(9)), (Box::from(&b"m"[..]), tree(12))]);
    let roots = parts.roots();
    assert_eq!(roots.iter().map(|root| (root.tag, root.part)).collect::<Vec<_>>(), [(3, 0), (3, 1)]);
    assert_eq!((roots[0].bytes.len(), roots[1].bytes.len()), (72, 73));
    assert_eq!(roots[1].bytes[..9], [12, 0, 0, 0, 0, 0, 1, 0, 1]);
    assert_eq!(roots[1].bytes[72..], *b"m");
    let turned: Vec<_> = roots.iter().rev().cloned().collect();
    assert_eq!(Parts::open(&turned, &store).unwrap().roots(), roots);
    assert!(Parts::open(&[], &store).unwrap().trees().is_empty());
}

// Keeps away: parts that are missing, doubled, out of order or empty.
#[test]
fn bad_roots_are_refused() {
    let store = PageStore::memory(PAGE);
    let meta = TreeMeta { root: PagePtr::new(PageNo(9), 1), height: 1, rows: 2, ..TreeMeta::default() };
    let root = |part, meta: TreeMeta, fence: &[u8]| Root {
        tag: PART,
        part,
        bytes: [&meta.encode()[..], fence].concat(),
    };
    let open = |roots: &[Root]| -> Result<Parts> { Parts::open(roots, &store) };
    assert!(open(&[root(0, meta, b""), root(1, meta, b"m")]).is_ok());
    let bad = [
        vec![root(1, meta, b"")],
        vec![root(0, meta, b""), root(2, meta, b"m")],
        vec![root(0, meta, b""), root(0, meta, b"m")],
        vec![root(0, meta, b"a")],
        vec![root(0, meta, b""), root(1, meta, b"")],
        vec![root(0, meta, b""), root(1, meta, b"m"), root(2, meta, b"m")],
        vec![root(0, TreeMeta::default(), b"")],
        vec![root(0, TreeMeta { tombstones: 1, ..meta }, b"")],
        vec![Root { tag: TREE, ..root(0, meta, b"") }],
        vec![Root { tag: PART, part: 0, bytes: vec![0; 71] }],
    ];
    for roots in bad {
        let error = open(&roots).unwrap_err().to_string();
        assert!(error.contains("part"), "{error}");
    }
}

// Keeps away: parts of which the check would not say that they overlap.
#[test]
fn the_check_sees_keys_beyond_fences() {
    let mut table = Table::new(1);
    let rows = (0..2000u64).map(|n| (n.to_be_bytes().to_vec(), Some(vec![1; 20])));
    table.spill(&rows.collect());
    table.compact_all();
    let mut roots = table.base.roots();
    assert!(roots.len() > 3);
    *roots[2].bytes.last_mut().unwrap() += 1;
    let base = LsmBase::new(4096, PAGE).open(&roots, &table.store).unwrap();
    assert!(base.check(10).unwrap().problems.iter().any(|problem| problem.contains("beyond its fences")));
}

// Keeps away: parts that are cut for ever, and slots that make no progress.
#[test]
fn rows_of_very_different_sizes_are_cut() {
    let mut table = Table::new(1);
    let mut rows: BTreeMap<_, _> =
        (0..300u64).map(|n| (n.to_be_bytes().to_vec(), Some(vec![1; 3]))).collect();
    for n in 0..6u64 {
        rows.insert([&(1000 + n).to_be_bytes()[..], &vec![9; 40_000]].concat(), Some(vec![2; 900]));
    }
    table.spill(&rows);
    table.settle();
    table.compact_all();
    table.check();
    assert!(Sizes::new(4096, PAGE).oversized(&table.base.parts).is_none());
    assert_eq!(table.base.rows(), 306);
}
