//! A model of free space: random work, checkpoints, crashes at every step of them, and reopenings.
//!
//! The model knows which "trees" (sets of pages with known contents) exist, and which of them a superblock names. After each
//! reopening, every page of the file must be in exactly one of: a named tree, the list of free pages, the list itself, the
//! superblocks.

use std::collections::BTreeMap;

use ambo_types::id::{Lsn, Timestamp};
use proptest::prelude::*;

use super::*;
use crate::io::sim::split_mix;

/// Pages with their seeds.
type Pages = Vec<(PagePtr, u64)>;

/// The trees that a superblock names, by number.
type State = BTreeMap<u64, (Pages, Vec<PageRange>)>;

struct World {
    disk: SimDisk,
    store: Arc<PageStore>,
    random: u64,
    next_tree: u64,
    sequence: u64,
    /// Written, in no checkpoint.
    fresh: State,
    /// What the durable superblock names.
    durable: State,
    /// Retired trees that still have readers.
    readers: Vec<(Vec<Pages>, RetiredPages)>,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Stop {
    Never,
    Abort,
    BeforeSuperblock,
    SuperblockWritten,
    BeforeCommit,
}

impl World {
    fn new(seed: u64) -> Self {
        let disk = SimDisk::new(seed);
        let store = store_on(&disk, 16);
        disk.sync_directory().unwrap();
        let mut world = Self {
            disk,
            store,
            random: seed,
            next_tree: 0,
            sequence: 0,
            fresh: State::new(),
            durable: State::new(),
            readers: Vec::new(),
        };
        world.checkpoint(Stop::Never);
        world
    }

    fn below(&mut self, limit: usize) -> usize {
        (split_mix(&mut self.random) % limit.max(1) as u64) as usize
    }

    fn build(&mut self) {
        let mut writer = self.store.writer();
        let count = 1 + self.below(90);
        let mut pages = Pages::new();
        for _ in 0..count {
            let units = if self.below(20) == 0 { 3 } else { 1 };
            let seed = split_mix(&mut self.random);
            pages.push((writer.write(&page(units, seed)).unwrap(), seed));
        }
        let ranges = writer.finish().unwrap();
        self.fresh.insert(self.next_tree, (pages, ranges));
        self.next_tree += 1;
    }

    fn abandon(&mut self) {
        let mut writer = self.store.writer();
        for seed in 0..self.below(200) as u64 {
            writer.write(&page(1, seed)).unwrap();
        }
    }

    fn free_fresh(&mut self) {
        let nth = self.below(self.fresh.len());
        if let Some(tree) = self.fresh.keys().nth(nth).copied() {
            let (_, ranges) = self.fresh.remove(&tree).unwrap();
            self.store.free(ranges);
        }
    }

    fn drop_reader(&mut self) {
        if !self.readers.is_empty() {
            let nth = self.below(self.readers.len());
            self.readers.remove(nth);
        }
    }

    /// A checkpoint that publishes some fresh trees and retires some others, or part of one.
    fn checkpoint(&mut self, stop: Stop) {
        let (mut next, mut fresh) = (self.durable.clone(), self.fresh.clone());
        let (mut published, mut retired, mut gone) = (Vec::new(), Vec::new(), Vec::new());
        for tree in self.fresh.keys().copied().collect::<Vec<_>>() {
            if self.below(4) != 0 {
                let (pages, ranges) = fresh.remove(&tree).unwrap();
                published.extend_from_slice(&ranges);
                next.insert(tree, (pages, ranges));
            }
        }
        for tree in next.keys().copied().collect::<Vec<_>>() {
            if self.below(3) == 0 {
                let (pages, ranges) = next.remove(&tree).unwrap();
                retired.extend(ranges);
                gone.push(pages);
            }
        }
        let pending = self.store.begin_checkpoint(&published, &retired).unwrap();
        if stop == Stop::Abort {
            return pending.abort();
        }
        self.sequence += 1;
        let superblock = Superblock {
            page_size: PAGE as u32,
            database_id: 77,
            sequence: self.sequence,
            timestamp: Timestamp(self.sequence * 10),
            log_from: Lsn(0),
            file_pages: pending.file_pages(),
            free_list: pending.free_list(),
            catalog: b"catalog".to_vec(),
            other: Vec::new(),
        };
        let steps: [&dyn Fn(); 3] =
            [&|| self.store.sync().unwrap(), &|| self.store.write_superblock(&superblock).unwrap(), &|| {
                self.store.sync().unwrap()
            }];
        let done = match stop {
            Stop::BeforeSuperblock => 1,
            Stop::SuperblockWritten => 2,
            _ => 3,
        };
        steps[..done].iter().for_each(|step| step());
        if stop == Stop::Never {
            (self.durable, self.fresh) = (next, fresh);
            self.readers.push((gone, pending.commit()));
        } else {
            let old = self.durable.clone();
            self.crash(&[(self.sequence - 1, old), (self.sequence, next)]);
        }
    }

    /// Crashes and reopens; one of the states, by sequence, must be there, whole.
    fn crash(&mut self, states: &[(u64, State)]) {
        let disk = self.disk.crash();
        self.readers.clear();
        let file = disk.open(NAME, OpenMode::ReadWrite).unwrap();
        let superblock = Superblock::open(&*file).unwrap().superblock;
        let state = states.iter().find(|(sequence, _)| *sequence == superblock.sequence);
        self.durable = state.expect("a state that was written").1.clone();
        self.sequence = superblock.sequence;
        self.fresh.clear();
        self.store = PageStore::open(file, &options(16), &superblock).unwrap();
        self.disk = disk;
        self.check_partition(&superblock);
    }

    fn check_partition(&self, superblock: &Superblock) {
        let (free, list) = self.store.stored_free_list(superblock).unwrap();
        let trees = self.durable.values().flat_map(|(_, ranges)| ranges.iter().copied());
        let superblocks = PageRange::new(PageNo(0), 2);
        let mut all: Vec<_> = free.into_iter().chain(list).chain(trees).chain([superblocks]).collect();
        all.sort();
        let mut end = 0;
        for range in all {
            assert_eq!(range.start.0, end, "pages are lost, or in two places");
            end = range.end();
        }
        assert_eq!(end, superblock.file_pages);
    }

    /// Every page that somebody may read holds what it should, and is not free.
    fn check_pages(&self) {
        let trees = self.fresh.values().chain(self.durable.values()).map(|(pages, _)| pages);
        let read = self.readers.iter().flat_map(|(pages, _)| pages);
        for (ptr, seed) in trees.chain(read).flatten() {
            assert_page(&self.store, *ptr, *seed, Access::Scan);
            let space = self.store.space.lock();
            assert!(!space.is_free((*ptr).into()), "{ptr:?}");
        }
    }
}

fn run(seed: u64, steps: &[u8]) {
    let mut world = World::new(seed);
    for step in steps {
        match step {
            0..=5 => world.build(),
            6 => world.abandon(),
            7 | 8 => world.free_fresh(),
            9 | 10 => world.drop_reader(),
            11..=13 => world.checkpoint(Stop::Never),
            14 => world.checkpoint(Stop::Abort),
            15 => world.checkpoint(Stop::BeforeSuperblock),
            16 => world.checkpoint(Stop::SuperblockWritten),
            17 => world.checkpoint(Stop::BeforeCommit),
            18 => drop(world.store.truncate_tail().unwrap()),
            19 => drop(world.store.punch_free(4).unwrap()),
            _ => {
                let state = (world.sequence, world.durable.clone());
                world.crash(&[state]);
            }
        }
        world.check_pages();
    }
    // In the end, when all is retired and nobody reads, nothing but the superblocks and the list is in use.
    world.free_all();
}

impl World {
    fn free_all(&mut self) {
        while !self.fresh.is_empty() {
            self.free_fresh();
        }
        while !self.durable.is_empty() {
            self.checkpoint(Stop::Never);
        }
        self.readers.clear();
        let used = self.store.stats().used_pages;
        assert!(used <= 3, "{used} pages in use, and no tree");
        self.store.truncate_tail().unwrap();
        let list_page_at_most = self.store.stats().file_pages;
        assert_eq!(self.disk.contents(NAME).unwrap().len() as u64, list_page_at_most * PAGE as u64);
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(60))]

    // Keeps away: pages that are lost, given out twice, or overwritten while a checkpoint or a reader needs them.
    #[test]
    fn free_space_survives_everything(seed: u64, steps in proptest::collection::vec(0u8..22, 1..50)) {
        run(seed, &steps);
    }
}

// Keeps away: a list of free pages that only works while it fits into one page.
#[test]
fn a_list_of_many_runs_comes_back() {
    let disk = SimDisk::new(9);
    let store = store_on(&disk, 8);
    let ranges: Vec<_> = (0..12_000).map(|_| PageRange::new(store.allocate(1).unwrap(), 1)).collect();
    let kept: Vec<_> = ranges.iter().copied().filter(|range| range.start.0 % 2 == 0).collect();
    store.free(ranges.into_iter().filter(|range| range.start.0 % 2 == 1));
    let pending = store.begin_checkpoint(&kept, &[]).unwrap();
    assert!(pending.free_list().list_pages > 2, "{:?}", pending.free_list());
    let superblock = Superblock {
        page_size: PAGE as u32,
        database_id: 1,
        sequence: 1,
        timestamp: Timestamp(0),
        log_from: Lsn(0),
        file_pages: pending.file_pages(),
        free_list: pending.free_list(),
        catalog: Vec::new(),
        other: Vec::new(),
    };
    store.write_superblock(&superblock).unwrap();
    store.sync().unwrap();
    drop(pending.commit());
    let free = store.stats().free_pages;
    drop(store);
    let file = disk.open(NAME, OpenMode::ReadWrite).unwrap();
    let store = PageStore::open(file, &options(8), &superblock).unwrap();
    assert_eq!(store.stats().free_pages, free);
    // What the log refers to may be reserved, also twice, but nothing that a checkpoint has.
    let odd = PageRange::new(PageNo(kept[50].start.0 + 1), 1);
    store.reserve([odd]).unwrap();
    store.reserve([odd]).unwrap();
    assert_eq!(store.stats().free_pages, free - 1);
    for wrong in [kept[50], PageRange::new(PageNo(1 << 40), 1), PageRange::new(PageNo(u64::MAX - 3), 2)] {
        assert!(matches!(store.reserve([wrong]).unwrap_err(), Error::Damaged { .. }), "{wrong:?}");
    }
}

// Keeps away: a full disk that costs more than the request that met it.
#[test]
fn a_full_disk_fails_one_request() {
    let disk = SimDisk::new(9);
    disk.set_capacity(Some(8 << 20));
    let store = store_on(&disk, 8);
    let mut got = Vec::new();
    let error = loop {
        match store.allocate_run(16, 100) {
            Ok(range) => got.push(range),
            Err(error) => break error,
        }
    };
    assert!(matches!(error, Error::DiskFull(_)), "{error}");
    assert!(store.stats().file_pages * PAGE as u64 >= 7 << 20, "{:?}", store.stats());
    store.free(got);
    assert!(store.allocate_run(100, 100).is_ok());
}

// Keeps away: freeing what a checkpoint or somebody else has.
#[test]
#[should_panic(expected = "not all of it is in use outside a checkpoint")]
fn freeing_a_published_page_is_noticed() {
    let store = store(8);
    let ptr = write(&store, 1, false)[0];
    drop(store.begin_checkpoint(&[ptr.into()], &[]).unwrap().commit());
    store.free([ptr]);
}

// Keeps away: a file that ends before pages that are in use, opened as if nothing were wrong.
#[test]
fn a_file_that_is_too_short_is_damaged() {
    let mut world = World::new(3);
    while world.durable.is_empty() {
        world.build();
        world.checkpoint(Stop::Never);
    }
    let file = world.disk.open(NAME, OpenMode::ReadWrite).unwrap();
    let superblock = Superblock::open(&*file).unwrap().superblock;
    file.set_len(3 * PAGE as u64).unwrap();
    let error = PageStore::open(file, &options(8), &superblock).unwrap_err();
    assert!(matches!(error, Error::Damaged { .. }), "{error}");
}

// Keeps away: holes punched again and again, and space that is not given back.
#[test]
fn holes_are_punched_once() {
    let disk = SimDisk::new(2);
    let store = store_on(&disk, 8);
    let ptrs = write(&store, 512, false);
    store.sync().unwrap();
    let used = disk.used();
    store.free(ptrs[100..300].to_vec());
    assert_eq!(store.punch_free(150).unwrap(), 200);
    assert!(disk.used() <= used - 200 * PAGE as u64);
    assert_eq!(store.punch_free(150).unwrap(), 0);
    assert_page(&store, ptrs[300], 300, Access::Point);
    assert_eq!(write(&store, 1, false)[0], ptrs[100]);
}
