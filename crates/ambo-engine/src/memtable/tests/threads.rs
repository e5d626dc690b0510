//! Real threads, many more than processors.

use std::{
    sync::atomic::{AtomicU64, Ordering},
    thread,
};

use ambo_types::{id::Timestamp, record::Record};

use crate::memtable::{MemoryPool, Memtable};

const START: Timestamp = Timestamp(0);

fn scattered(i: u64) -> [u8; 8] {
    i.wrapping_mul(0x9e37_79b9_7f4a_7c15).to_be_bytes()
}

// A key lost in a split, or out of order in a pass, while 8 threads insert and 4 read.
#[test]
fn readers_beside_writers_miss_nothing() {
    const WRITERS: u64 = 8;
    const EACH: u64 = 20_000;
    let memtable = Memtable::new(1 << 20).expect("addresses");
    let done: [AtomicU64; WRITERS as usize] = Default::default();
    thread::scope(|scope| {
        for writer in 0..WRITERS {
            let (memtable, done) = (&memtable, &done[writer as usize]);
            scope.spawn(move || {
                let mut inserter = memtable.inserter();
                for i in 0..EACH {
                    let key = scattered(writer * EACH + i);
                    inserter.insert(&key, Timestamp(i + 1), Record::inline(&key), START).expect("room");
                    assert!(memtable.contains(&key), "an own insert is visible");
                    done.store(i + 1, Ordering::Release);
                }
            });
        }
        for reader in 0..4u64 {
            let (memtable, done) = (&memtable, &done);
            scope.spawn(move || {
                let mut round = reader;
                while done.iter().any(|done| done.load(Ordering::Acquire) < EACH) {
                    round += 1;
                    let writer = round % WRITERS;
                    let there = done[writer as usize].load(Ordering::Acquire);
                    for i in (round * 31 % 97..there).step_by(97) {
                        let key = scattered(writer * EACH + i);
                        assert_eq!(
                            memtable.get(&key, Timestamp(u64::MAX)).expect("inserted").record.bytes,
                            key
                        );
                    }
                    check_pass(memtable, reader % 2 == 0);
                }
            });
        }
    });
    assert_eq!(memtable.rows() as u64, WRITERS * EACH);
    assert_eq!(check_pass(&memtable, true), WRITERS * EACH);
    assert_eq!(check_pass(&memtable, false), WRITERS * EACH);
}

/// Passes over everything; the number of rows, which is at least what was there at the beginning.
fn check_pass(memtable: &Memtable, is_forward: bool) -> u64 {
    let at_least = memtable.rows() as u64;
    let mut cursor = memtable.cursor();
    let mut more = if is_forward { cursor.seek_first() } else { cursor.seek_last() };
    let mut before: Option<Vec<u8>> = None;
    let mut rows = 0;
    while more {
        if let Some(before) = &before {
            assert!(if is_forward { &before[..] < cursor.key() } else { &before[..] > cursor.key() });
        }
        let version = cursor.version_at(Timestamp(u64::MAX)).expect("a version");
        assert_eq!(version.record.bytes, cursor.key());
        before = Some(cursor.key().to_vec());
        rows += 1;
        more = if is_forward { cursor.next() } else { cursor.prev() };
    }
    assert!(rows >= at_least, "{rows} of {at_least} rows");
    rows
}

// Ascending keys from many threads at once: the rightmost leaf is everybody's.
#[test]
fn ascending_keys_from_many_threads() {
    const COUNT: u64 = 200_000;
    let memtable = Memtable::new(1 << 20).expect("addresses");
    let next = AtomicU64::new(0);
    thread::scope(|scope| {
        for _ in 0..16 {
            scope.spawn(|| {
                loop {
                    let i = next.fetch_add(1, Ordering::Relaxed);
                    if i >= COUNT {
                        break;
                    }
                    let key = i.to_be_bytes();
                    memtable.insert(&key, Timestamp(i + 1), Record::inline(&key), START).expect("room");
                }
            });
        }
    });
    assert_eq!(check_pass(&memtable, true), COUNT);
    assert_eq!(memtable.timestamps(), Some((Timestamp(1), Timestamp(COUNT))));
}

// A version cut off under a reader at the oldest snapshot.
#[test]
fn the_oldest_snapshot_is_served_while_versions_are_cut_off() {
    const COUNT: u64 = 100_000;
    let memtable = Memtable::new(1 << 20).expect("addresses");
    let oldest = AtomicU64::new(1);
    memtable.insert(b"k", Timestamp(1), Record::inline(&1u64.to_be_bytes()), START).expect("room");
    thread::scope(|scope| {
        scope.spawn(|| {
            for i in 2..COUNT {
                let oldest = Timestamp(oldest.load(Ordering::Acquire));
                memtable.insert(b"k", Timestamp(i), Record::inline(&i.to_be_bytes()), oldest).expect("room");
            }
        });
        scope.spawn(|| {
            loop {
                let newest = memtable.newest(b"k").expect("there").0;
                oldest.store(newest, Ordering::Release);
                for _ in 0..20 {
                    let version = memtable.get(b"k", Timestamp(newest)).expect("kept");
                    assert_eq!(version.record.bytes, version.timestamp.0.to_be_bytes());
                    assert_eq!(version.timestamp.0, newest);
                }
                if newest == COUNT - 1 {
                    break;
                }
            }
        });
    });
}

// Memory of an earlier memtable moved under the hands of a writer, or its contents shining through.
#[test]
fn memtables_that_follow_each_other_share_memory() {
    const COUNT: u64 = 60_000;
    let pool = MemoryPool::new(64 << 20);
    let value = [9; 480];
    for round in 0..4 {
        let memtable = Memtable::new_in(&pool, 1 << 20).expect("addresses");
        let next = AtomicU64::new(0);
        thread::scope(|scope| {
            for _ in 0..4 {
                scope.spawn(|| {
                    loop {
                        let i = next.fetch_add(1, Ordering::Relaxed);
                        if i >= COUNT {
                            break;
                        }
                        let record = Record::inline(&value);
                        memtable
                            .insert(&scattered(i + round), Timestamp(i + 1), record, START)
                            .expect("room");
                    }
                });
            }
        });
        assert_eq!(memtable.rows() as u64, COUNT);
        for i in 0..COUNT {
            let version = memtable.get(&scattered(i + round), Timestamp(u64::MAX)).expect("inserted");
            assert_eq!(version.record.bytes, value);
        }
        assert!(!memtable.contains(&scattered(COUNT + round)) && pool.bytes() < 4 << 20);
        let bytes = memtable.bytes();
        drop(memtable);
        assert!(pool.bytes() + (10 << 20) > bytes && pool.bytes() <= bytes, "{} of {bytes}", pool.bytes());
    }
}

// A write that the order of writes does not know, or that is passed over because an earlier one was on its way.
#[test]
fn what_was_written_is_met_going_on() {
    const WRITERS: u64 = 6;
    const EACH: u64 = 20_000;
    let memtable = Memtable::new(1 << 20).expect("addresses").with_journal();
    let done: [AtomicU64; WRITERS as usize] = Default::default();
    // Every key is written twice.
    let key = |writer: u64, i: u64| scattered(writer * EACH + i % (EACH / 2));
    thread::scope(|scope| {
        for writer in 0..WRITERS {
            let (memtable, done) = (&memtable, &done[writer as usize]);
            scope.spawn(move || {
                for i in 0..EACH {
                    let key = key(writer, i);
                    memtable.insert(&key, Timestamp(i + 1), Record::inline(&key), START).expect("room");
                    done.store(i + 1, Ordering::Release);
                }
            });
        }
        scope.spawn(|| {
            let (mut next, mut seen) = (0, std::collections::HashMap::new());
            let mut is_last = false;
            while !is_last {
                let there: Vec<u64> = done.iter().map(|done| done.load(Ordering::Acquire)).collect();
                is_last = there.iter().all(|there| *there == EACH);
                // A moment before some of what is there, until all is.
                let at = Timestamp(there.iter().copied().min().unwrap_or(0));
                let written = memtable.written_since(next, at).expect("a journal");
                assert!(written.next() >= next);
                next = written.next();
                let mut last: Vec<u8> = Vec::new();
                for (key, mut versions) in written.in_order() {
                    assert!(last.is_empty() || *last < *key, "in order, each once");
                    last = key.to_vec();
                    let newest = versions.next().expect("a version").timestamp;
                    if newest > at {
                        continue;
                    }
                    assert!(seen.insert(last.clone(), newest).is_none_or(|before| before <= newest));
                }
                for (writer, there) in (0..).zip(there) {
                    for i in at.0.min(there).saturating_sub(50)..at.0.min(there) {
                        let is_later = memtable.newest(&key(writer, i)).is_some_and(|newest| newest > at);
                        let seen = seen.get(&key(writer, i)[..]);
                        assert!(is_later || seen.is_some_and(|seen| *seen > Timestamp(i)), "it was met");
                    }
                }
            }
            assert_eq!(next as u64, WRITERS * EACH);
            assert_eq!(seen.len() as u64, WRITERS * EACH / 2);
        });
    });
}
