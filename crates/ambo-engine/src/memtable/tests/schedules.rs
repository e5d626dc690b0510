//! Interleavings chosen by shuttle. Nodes hold four entries here, so a handful of keys splits leaves and roots.

use std::sync::Arc;

use ambo_types::{id::Timestamp, record::Record};
use shuttle::{check_pct, check_random, sync::atomic::AtomicU64, sync::atomic::Ordering, thread};

use super::memtable_of;
use crate::memtable::{Full, Inserter, Memtable};

const START: Timestamp = Timestamp(0);
const END: Timestamp = Timestamp(u64::MAX);
const ITERATIONS: usize = 3000;

/// Runs `scenario` under random schedules and under ones that find bugs of few ordering constraints (PCT).
fn explore(scenario: impl Fn() + Send + Sync + Copy + 'static) {
    check_random(scenario, ITERATIONS);
    check_pct(scenario, ITERATIONS, 3);
}

fn insert(memtable: &Memtable, inserter: &mut Inserter<'_>, key: &[u8], timestamp: u64) {
    inserter.insert(key, Timestamp(timestamp), Record::inline(key), START).expect("room");
    let version = memtable.get(key, END).expect("an own insert is visible");
    assert_eq!(version.record.bytes, key);
}

fn pass(memtable: &Memtable, is_forward: bool) -> Vec<Vec<u8>> {
    let mut keys = Vec::new();
    let mut cursor = memtable.cursor();
    let mut more = if is_forward { cursor.seek_first() } else { cursor.seek_last() };
    while more {
        assert_eq!(cursor.version_at(END).expect("a version").record.bytes, cursor.key());
        keys.push(cursor.key().to_vec());
        more = if is_forward { cursor.next() } else { cursor.prev() };
    }
    let is_ordered = |pair: &[Vec<u8>]| if is_forward { pair[0] < pair[1] } else { pair[0] > pair[1] };
    assert!(keys.windows(2).all(is_ordered), "{keys:?}");
    keys
}

/// Three writers of six keys each beside a reader that knows of some keys and passes over all.
fn writers_beside_readers(key: impl Fn(u8) -> Vec<u8> + Send + Sync + Copy + 'static) {
    let memtable = Arc::new(memtable_of(64 << 10));
    for i in [3, 9, 14] {
        insert(&memtable, &mut memtable.inserter(), &key(i), 1);
    }
    let writers: Vec<_> = (0..3u8)
        .map(|writer| {
            let memtable = Arc::clone(&memtable);
            thread::spawn(move || {
                let mut inserter = memtable.inserter();
                for i in (0..18).filter(|i| i % 3 == writer && ![3, 9, 14].contains(i)) {
                    insert(&memtable, &mut inserter, &key(i), 2);
                }
            })
        })
        .collect();
    let readers: Vec<_> = [true, false]
        .into_iter()
        .map(|is_forward| {
            let memtable = Arc::clone(&memtable);
            thread::spawn(move || {
                let seen = pass(&memtable, is_forward);
                assert!([3, 9, 14].into_iter().all(|i| seen.contains(&key(i))), "{seen:?}");
                assert!(seen.iter().all(|key| memtable.contains(key)));
            })
        })
        .collect();
    for thread in writers.into_iter().chain(readers) {
        thread.join().expect("no panic");
    }
    let mut keys: Vec<_> = (0..18).map(key).collect();
    keys.sort_unstable();
    assert_eq!(pass(&memtable, true), keys);
    keys.reverse();
    assert_eq!(pass(&memtable, false), keys);
    assert_eq!(memtable.rows(), 18);
}

// A key lost or misplaced when leaves, inner nodes and the root split under readers and other writers.
#[test]
fn scattered_inserts_under_any_schedule() {
    explore(|| writers_beside_readers(|i| vec![i.wrapping_mul(101)]));
}

// The same on the path of ascending keys, which goes past the descent.
#[test]
fn ascending_inserts_under_any_schedule() {
    explore(|| writers_beside_readers(|i| vec![b'k', i]));
}

// Words recomputed (longer and shorter shared prefixes) while they are searched.
#[test]
fn shared_prefixes_under_any_schedule() {
    explore(|| {
        writers_beside_readers(|i| match i % 4 {
            0 => vec![i],
            1 => [&b"prefix/prefix/"[..], &[i]].concat(),
            _ => [&b"prefix/"[..], &[0; 3][..usize::from(i % 3)], &[i]].concat(),
        })
    });
}

// A reader at the oldest snapshot that finds the chain cut before its version, or half a version.
#[test]
fn pruning_under_any_schedule() {
    explore(|| {
        let memtable = Arc::new(memtable_of(64 << 10));
        let oldest = Arc::new(AtomicU64::new(1));
        let put = |memtable: &Memtable, timestamp: u64, oldest| {
            let value = timestamp.to_be_bytes();
            memtable
                .insert(b"k", Timestamp(timestamp), Record::inline(&value), Timestamp(oldest))
                .expect("room");
        };
        put(&memtable, 1, 0);
        let writer = {
            let (memtable, oldest) = (Arc::clone(&memtable), Arc::clone(&oldest));
            thread::spawn(move || (2..8).for_each(|i| put(&memtable, i, oldest.load(Ordering::SeqCst))))
        };
        let reader = thread::spawn(move || {
            for _ in 0..4 {
                let snapshot = memtable.newest(b"k").expect("there");
                oldest.store(snapshot.0, Ordering::SeqCst);
                for _ in 0..2 {
                    let version = memtable.get(b"k", snapshot).expect("kept");
                    assert_eq!(version.timestamp, snapshot);
                    assert_eq!(version.record.bytes, snapshot.0.to_be_bytes());
                }
            }
        });
        writer.join().expect("no panic");
        reader.join().expect("no panic");
    });
}

// An insert that fails for lack of room in the middle of a split and leaves a lock behind, or half the split.
#[test]
fn running_full_under_any_schedule() {
    explore(|| {
        let memtable = Arc::new(memtable_of(12 << 10));
        let writers: Vec<_> = (0..2u8)
            .map(|writer| {
                let memtable = Arc::clone(&memtable);
                thread::spawn(move || {
                    let (mut inserted, mut inserter) = (Vec::new(), memtable.inserter());
                    for i in 0..120u8 {
                        let key = vec![i.wrapping_mul(2) + writer];
                        match inserter.insert(&key, Timestamp(1), Record::inline(&key), START) {
                            Ok(is_new) => assert!(is_new),
                            Err(Full) => break,
                        }
                        inserted.push(key);
                    }
                    inserted
                })
            })
            .collect();
        let mut keys: Vec<_> =
            writers.into_iter().flat_map(|writer| writer.join().expect("no panic")).collect();
        keys.sort_unstable();
        assert!(keys.len() < 240, "it never ran full");
        assert_eq!(pass(&memtable, true), keys);
    });
}

// A write that is passed over by who goes on from what was written before, because its number was given and not noted yet, or its version
// was too late.
#[test]
fn going_on_misses_no_write_under_any_schedule() {
    explore(|| {
        let memtable = Arc::new(memtable_of(64 << 10).with_journal());
        // The moment up to which all is inserted, as the publisher would say it: commits of each writer ascend.
        let done = Arc::new([const { AtomicU64::new(0) }; 2]);
        let writers: Vec<_> = (0..2u64)
            .map(|writer| {
                let (memtable, done) = (Arc::clone(&memtable), Arc::clone(&done));
                thread::spawn(move || {
                    for i in 1..=4u64 {
                        // Of its two keys it writes each twice.
                        let key = [writer as u8, (i % 2) as u8];
                        memtable.insert(&key, Timestamp(i), Record::inline(&[i as u8]), START).expect("room");
                        done[writer as usize].store(i, Ordering::SeqCst);
                    }
                })
            })
            .collect();
        let (mut next, mut known, mut at) = (0, std::collections::BTreeMap::new(), 0);
        while at < 4 {
            let since = at;
            at = done.iter().map(|done| done.load(Ordering::SeqCst)).min().unwrap_or(0);
            let written = memtable.written_since(next, Timestamp(at)).expect("a journal");
            next = written.next();
            for (key, mut versions) in written.in_order() {
                if let Some(version) = versions.find(|version| version.timestamp.0 <= at)
                    && version.timestamp.0 > since
                {
                    known.insert(key.to_vec(), version.record.bytes[0]);
                }
            }
            // What is known is what a snapshot at this moment sees.
            for key in (0..4u8).map(|nth| vec![nth / 2, nth % 2]) {
                let seen = memtable.get(&key, Timestamp(at)).map(|version| version.record.bytes[0]);
                assert_eq!(known.get(&key).copied(), seen, "{key:?} at {at}");
            }
            thread::yield_now();
        }
        for writer in writers {
            writer.join().expect("no panic");
        }
    });
}
