//! Tests of the pool: under threads, with few frames, with none.

use std::{
    sync::atomic::{AtomicBool, Ordering},
    thread,
};

use super::*;
use crate::{
    budget::{Kind, tests::Counted},
    io::sim::{Fault, FaultKind, Op, split_mix},
};

fn pool(store: &PageStore) -> &super::super::pool::Pool {
    match &store.backing {
        Backing::File(pages) => &pages.pool,
        Backing::Memory(_) => panic!("a store in memory has no pool"),
    }
}

fn fault(op: Op) -> Fault {
    Fault { op, file_prefix: None, after: 0, kind: FaultKind::Io, once: false }
}

// Keeps away: a reader that sees another page's bytes, or half of a page, while frames change hands.
#[test]
fn sixteen_threads_share_few_frames() {
    let store = store(24);
    let ptrs = write(&store, 400, true);
    thread::scope(|scope| {
        for thread in 0..16u64 {
            let (store, ptrs) = (&store, &ptrs);
            scope.spawn(move || {
                let mut random = thread;
                let mut held: Vec<(PageRef<'_>, u64)> = Vec::new();
                for step in 0..1500u64 {
                    // Half of all reads meet on few pages.
                    let r = split_mix(&mut random);
                    let seed = if r & 1 == 0 { r >> 8 & 7 } else { (r >> 8) % ptrs.len() as u64 };
                    let access = [Access::Point, Access::Scan, Access::Inner][(r >> 4) as usize % 3];
                    let got = store.read(ptrs[seed as usize], access).unwrap();
                    assert!(is_page(&got, seed), "page {seed}");
                    if step % 5 == 0 {
                        held.push((got.clone(), seed));
                    }
                    if held.len() > 4 {
                        let (kept, seed) = held.remove(0);
                        assert!(is_page(&kept, seed), "pinned page {seed}");
                    }
                }
            });
        }
    });
    pool(&store).assert_unpinned();
    let stats = store.stats();
    assert!(stats.misses > 400 && stats.hits > 1000, "{stats:?}");
}

// Keeps away: pages freed, reused and read by many threads with the contents that they had before.
#[test]
fn reused_pages_show_their_new_contents() {
    for store in [store(16), PageStore::memory(PAGE)] {
        thread::scope(|scope| {
            for thread in 0..8u64 {
                let store = &store;
                scope.spawn(move || {
                    for round in 0..60u64 {
                        let mut writer = store.writer();
                        let seeds: Vec<u64> = (0..12).map(|i| thread << 32 | round << 8 | i).collect();
                        let units = |seed: u64| if seed % 12 == 7 { 2 } else { 1 };
                        let ptrs: Vec<_> =
                            seeds.iter().map(|s| writer.write(&page(units(*s), *s)).unwrap()).collect();
                        writer.finish().unwrap();
                        for (ptr, seed) in ptrs.iter().zip(&seeds) {
                            assert_page(store, *ptr, *seed, Access::Point);
                        }
                        store.free(ptrs);
                    }
                });
            }
        });
        assert_eq!(store.stats().used_pages, 2);
    }
}

// Keeps away: a read that fails, or waits for ever, because all frames are pinned.
#[test]
fn a_read_succeeds_when_every_frame_is_pinned() {
    let store = store(8);
    let ptrs = write(&store, 40, false);
    let pins: Vec<_> = ptrs.iter().map(|ptr| store.read(*ptr, Access::Inner).unwrap()).collect();
    for (seed, pin) in pins.iter().enumerate() {
        assert!(is_page(pin, seed as u64));
    }
    assert!(store.stats().overflows >= 30, "{:?}", store.stats());
    drop(pins);
    pool(&store).assert_unpinned();
    let overflows = store.stats().overflows;
    for (seed, ptr) in ptrs.iter().enumerate() {
        assert_page(&store, *ptr, seed as u64, Access::Point);
    }
    assert_eq!(store.stats().overflows, overflows, "frames are to be had again");
}

// Keeps away: memory beyond the budget.
#[test]
fn the_budget_holds() {
    let store = store(64);
    let ptrs = write(&store, 1000, true);
    for (seed, ptr) in ptrs.iter().enumerate() {
        assert_page(&store, *ptr, seed as u64, Access::Scan);
        assert!(store.stats().resident_bytes <= 64 * PAGE as u64, "{:?}", store.stats());
    }
}

// Keeps away: a scan that pushes out the pages that point reads use.
#[test]
fn a_scan_leaves_the_used_pages() {
    let store = store(128);
    let ptrs = write(&store, 2000, false);
    let used = &ptrs[..64];
    for _ in 0..3 {
        used.iter().for_each(|ptr| drop(store.read(*ptr, Access::Point).unwrap()));
    }
    ptrs[64..].iter().for_each(|ptr| drop(store.read(*ptr, Access::Scan).unwrap()));
    let before = store.stats().misses;
    used.iter().for_each(|ptr| drop(store.read(*ptr, Access::Point).unwrap()));
    assert_eq!(store.stats().misses, before);
}

// Keeps away: pages that count as cached though their write failed, and readers that wait for a read that failed.
#[test]
fn failed_reads_and_writes_leave_nothing_behind() {
    let disk = SimDisk::new(5);
    let store = store_on(&disk, 8);
    let ptrs = write(&store, 30, false);
    let used = store.stats().used_pages;
    disk.inject(fault(Op::Read));
    thread::scope(|scope| {
        for _ in 0..4 {
            scope.spawn(|| {
                for ptr in &ptrs[8..] {
                    let error = store.read(*ptr, Access::Point).unwrap_err();
                    assert!(error.to_string().contains("reading 4096 bytes"), "{error}");
                }
            });
        }
    });
    disk.clear_faults();
    for (seed, ptr) in ptrs.iter().enumerate() {
        assert_page(&store, *ptr, seed as u64, Access::Point);
    }
    disk.inject(fault(Op::Write));
    let mut writer = store.writer();
    let ptr = writer.write(&page(1, 7)).unwrap();
    assert!(writer.flush().unwrap_err().to_string().contains("writing 4096 bytes"));
    // The failed write may have written all, some or nothing of it: in any case the file is asked.
    let misses = store.stats().misses;
    drop(store.read(ptr, Access::Point));
    assert_eq!(store.stats().misses, misses + 1);
    drop(writer);
    assert_eq!(store.stats().used_pages, used);
}

// Keeps away: an owned page that outlives its store, or loses its pin when it moves.
#[test]
fn owned_pages_keep_the_store_alive() {
    let store = store(8);
    let ptrs = write(&store, 20, true);
    let mut owned = store.read_owned(ptrs[0], Access::Scan).unwrap();
    let copy = owned.clone();
    drop(store);
    for (seed, ptr) in ptrs.iter().enumerate() {
        owned.replace(*ptr, Access::Scan).unwrap();
        assert!(is_page(&owned, seed as u64));
    }
    assert!(is_page(&copy, 0));
    assert!(owned.replace(PagePtr::NULL, Access::Scan).is_err());
    assert!(is_page(&owned, 19));
}

// Keeps away: trees that pin the whole pool.
#[test]
fn hot_pages_are_bounded() {
    let store = store(256);
    let ptrs = write(&store, 32, false);
    let mut hot: Vec<_> = ptrs.iter().map_while(|ptr| store.read_hot(*ptr).unwrap()).collect();
    assert_eq!(hot.len(), 8);
    assert!(is_page(&hot[7], 7));
    hot.pop();
    assert!(store.read_hot(ptrs[20]).unwrap().is_some());
    assert!(store.read_hot(PagePtr::new(PageNo(9999), 1)).is_err());
    assert!(store.read_hot(ptrs[21]).unwrap().is_some(), "a failed read gives its share back");
    drop(hot);
    pool(&store).assert_unpinned();
}

// Keeps away: pages of several units that are read from the file each time, kept beyond their share, or kept after they
// were freed and their place was given to others.
#[test]
fn pages_of_several_units_are_cached_until_freed() {
    let store = store(256);
    let write = |seeds: std::ops::Range<u64>| -> Vec<PagePtr> {
        let mut writer = store.writer();
        let ptrs = seeds.map(|seed| writer.write(&page(3, seed)).unwrap()).collect();
        writer.finish().unwrap();
        ptrs
    };
    let ptrs = write(0..4);
    let read = |from: u64| {
        (from..).zip(&ptrs).for_each(|(seed, ptr)| assert_page(&store, *ptr, seed, Access::Point))
    };
    read(0);
    assert_eq!(store.stats().misses, 4);
    read(0);
    assert_eq!(store.stats().misses, 4);
    store.free(ptrs.iter().copied());
    assert_eq!(write(100..104), ptrs);
    read(100);
    let more = write(200..240);
    for (seed, ptr) in (200..).zip(&more) {
        assert_page(&store, *ptr, seed, Access::Point);
    }
    assert!(store.stats().resident_bytes <= 256 * PAGE as u64);
    read(100);
}

fn missed(store: &PageStore, ptrs: &[PagePtr], from: u64) -> u64 {
    let before = store.stats().misses;
    (from..).zip(ptrs).for_each(|(seed, ptr)| assert_page(store, *ptr, seed, Access::Point));
    store.stats().misses - before
}

// Keeps away: memory that is not given back, that is given back while somebody reads it, pages that are used and go all the same, and
// frames that are lost to the pool.
#[test]
fn memory_is_given_back_and_taken_again() {
    let memory = MemoryBudget::new(256 * PAGE);
    let store = store_in(&memory);
    let ptrs = write(&store, 256, false);
    missed(&store, &ptrs, 0);
    assert_eq!(memory.used(Kind::Pages), 256 * PAGE);
    // One page of each stretch is pinned, and a few more are used.
    let pins: Vec<_> = ptrs.iter().step_by(16).map(|ptr| store.read(*ptr, Access::Point).unwrap()).collect();
    for bytes in [PAGE, 100 * PAGE, 60 * PAGE] {
        missed(&store, &ptrs[240..], 240);
        store.give(bytes);
    }
    let held = memory.used(Kind::Pages);
    assert!((60 * PAGE..=95 * PAGE).contains(&held), "{held}");
    assert_eq!(store.stats().resident_bytes, held as u64);
    assert!(missed(&store, &ptrs[240..], 240) <= 2, "they were used lately");
    // All that is not pinned goes, and is read again.
    store.give(usize::MAX / 2);
    assert!(memory.used(Kind::Pages) <= (pins.len() + 4) * PAGE, "{memory:?}");
    assert!(pins.iter().zip((0..).step_by(16)).all(|(pin, seed)| is_page(pin, seed)));
    assert_eq!(missed(&store, &ptrs, 0), 256 - pins.len() as u64);
    assert_eq!(memory.used(Kind::Pages), 256 * PAGE);
    drop(pins);
    assert_eq!(missed(&store, &ptrs, 0), 0);
    // What is free is given first, and nothing is lost by it.
    store.free(ptrs[..50].iter().copied());
    store.give_spare(40 * PAGE);
    assert_eq!(memory.used(Kind::Pages), 216 * PAGE);
    assert_eq!(missed(&store, &ptrs[50..], 50), 0);
    store.give(usize::MAX / 2);
    assert_eq!(memory.used(Kind::Pages), 4 * PAGE, "the least that works");
}

// Keeps away: readers that see other pages' bytes, or wait for ever, while pages move and frames come and go.
#[test]
fn threads_read_while_memory_comes_and_goes() {
    let memory = MemoryBudget::new(96 * PAGE);
    let store = store_in(&memory);
    let ptrs = write(&store, 120, false);
    thread::scope(|scope| {
        let readers: Vec<_> = (0..6u64)
            .map(|thread| {
                let (store, ptrs) = (&store, &ptrs);
                scope.spawn(move || {
                    let mut random = thread;
                    let mut held: Vec<(PageRef<'_>, u64)> = Vec::new();
                    for _ in 0..20_000 {
                        let r = split_mix(&mut random);
                        let seed = if r & 3 != 0 { r >> 8 & 31 } else { (r >> 8) % ptrs.len() as u64 };
                        let page = store
                            .read(ptrs[seed as usize], [Access::Point, Access::Scan][(r >> 4) as usize % 2])
                            .unwrap();
                        assert!(is_page(&page, seed), "page {seed}");
                        held.push((page, seed));
                        if held.len() > 6 {
                            let (page, seed) = held.swap_remove((r >> 20) as usize % 7);
                            assert!(is_page(&page, seed), "pinned page {seed}");
                        }
                    }
                })
            })
            .collect();
        // Another writes pages and frees them, so that some are forgotten while they move.
        let writer = scope.spawn(|| {
            for round in 0..400u64 {
                let mut writer = store.writer();
                let ptrs: Vec<_> =
                    (0..8).map(|at| writer.write(&page(1, round << 8 | at)).unwrap()).collect();
                writer.finish().unwrap();
                (0..)
                    .zip(&ptrs)
                    .for_each(|(at, ptr)| assert_page(&store, *ptr, round << 8 | at, Access::Point));
                store.free(ptrs);
            }
        });
        let mut given = 0;
        while !(writer.is_finished() && readers.iter().all(|reader| reader.is_finished())) {
            let before = memory.used(Kind::Pages);
            store.give(24 * PAGE);
            given += before.saturating_sub(memory.used(Kind::Pages));
            thread::yield_now();
        }
        assert!(given > 100 * PAGE, "{given}");
    });
    pool(&store).assert_unpinned();
    store.give(usize::MAX / 2);
    assert_eq!(memory.used(Kind::Pages), 4 * PAGE);
    missed(&store, &ptrs, 0);
    assert_eq!(store.stats().resident_bytes, 96 * PAGE as u64);
}

// Keeps away: a pool that does not tell what more memory would have kept, tells so of pages that no memory would have kept, or does not use
// what it gets.
#[test]
fn the_budget_learns_what_is_missed() {
    for access in [Access::Point, Access::Scan] {
        let memory = MemoryBudget::new(256 * PAGE);
        let blocks = Counted::new(&memory, Cache::Segments, Kind::Blocks);
        // Others have seven eighths.
        while memory.used(Kind::Blocks) < 224 * PAGE && memory.take(Kind::Blocks, PAGE) {}
        let store = store_in(&memory);
        let ptrs = write(&store, 1000, false);
        let read = |ptrs: &[PagePtr]| ptrs.iter().for_each(|ptr| drop(store.read(*ptr, access).unwrap()));
        (0..4).for_each(|_| read(&ptrs));
        let used = memory.used(Kind::Pages);
        assert!((32 * PAGE..=48 * PAGE).contains(&used), "a thousand pages do not fit: {used}");
        (0..8).for_each(|_| read(&ptrs[..150]));
        let misses = store.stats().misses;
        read(&ptrs[..150]);
        assert_eq!(store.stats().misses, misses, "{access:?}: a hundred and fifty do: {memory:?}");
        drop(blocks);
    }
}

// Keeps away: a page that was just written and cannot be read, because its frame went to another before its entry led there.
#[test]
fn what_was_just_written_is_read_while_frames_go() {
    let memory = MemoryBudget::new(24 * PAGE);
    let store = store_in(&memory);
    let ptrs = write(&store, 64, false);
    let is_over = AtomicBool::new(false);
    thread::scope(|scope| {
        for thread in 0..3u64 {
            let (store, ptrs, is_over) = (&store, &ptrs, &is_over);
            scope.spawn(move || {
                let mut random = thread;
                while !is_over.load(Ordering::Relaxed) {
                    let seed = split_mix(&mut random) % ptrs.len() as u64;
                    assert_page(store, ptrs[seed as usize], seed, Access::Scan);
                    if thread == 0 {
                        store.give(4 * PAGE);
                    }
                }
            });
        }
        for round in 0..20_000u64 {
            let mut writer = store.writer();
            let ptrs: Vec<_> = (0..4).map(|at| writer.write(&page(1, round << 8 | at)).unwrap()).collect();
            writer.finish().unwrap();
            (0..).zip(&ptrs).for_each(|(at, ptr)| assert_page(&store, *ptr, round << 8 | at, Access::Point));
            store.free(ptrs);
        }
        is_over.store(true, Ordering::Relaxed);
    });
}
