//! One thread, compared with an ordered map.

use std::{cmp::Reverse, collections::BTreeMap, sync::Arc};

use ambo_types::{
    id::Timestamp,
    record::{KEY_BYTES_MAX, Record, RecordKind},
};
use proptest::prelude::*;

use super::memtable_of;
use crate::memtable::Memtable;

type Model = BTreeMap<(Vec<u8>, Reverse<u64>), (RecordKind, Vec<u8>)>;

const START: Timestamp = Timestamp(0);

fn kind() -> impl Strategy<Value = RecordKind> {
    prop_oneof![Just(RecordKind::Inline), Just(RecordKind::Blob), Just(RecordKind::Tombstone)]
}

/// Keys that share prefixes, are prefixes of each other, contain zeros, or are long.
fn key() -> impl Strategy<Value = Vec<u8>> {
    let prefix = prop_oneof![
        Just(vec![]),
        Just(b"table/".to_vec()),
        Just(b"table/index/0000".to_vec()),
        Just(vec![0; 9]),
        Just(vec![0xff; 20]),
    ];
    let tail = prop_oneof![
        4 => prop::collection::vec(prop_oneof![Just(0u8), Just(1), Just(b'a'), Just(0xff)], 0..12),
        4 => prop::collection::vec(any::<u8>(), 0..12),
        1 => (any::<u8>(), 0..KEY_BYTES_MAX - 64, any::<u8>()).prop_map(|(fill, len, last)| {
            let mut key = vec![fill % 3; len];
            key.push(last);
            key
        }),
    ];
    (prefix, tail).prop_map(|(mut prefix, tail)| {
        prefix.extend(tail);
        prefix
    })
}

/// What is inserted: keys, often the same again, each with a record.
fn inserts(len: usize) -> impl Strategy<Value = Vec<(Vec<u8>, RecordKind, u8)>> {
    (
        prop::collection::vec(key(), 1..len),
        prop::collection::vec((any::<prop::sample::Index>(), kind(), 0..40u8), 1..len * 2),
    )
        .prop_map(|(keys, picks)| {
            let again = picks.into_iter().map(|(index, kind, len)| (index.get(&keys).clone(), kind, len));
            again.collect()
        })
}

fn fill(inserts: &[(Vec<u8>, RecordKind, u8)]) -> (Memtable, Model) {
    let memtable = Memtable::new(1 << 20).expect("addresses");
    let mut model = Model::new();
    // Goes on from the leaf of the key before, which is that of the next one often enough.
    let mut inserter = memtable.inserter();
    for (index, (key, kind, len)) in inserts.iter().enumerate() {
        let timestamp = index as u64 + 1;
        let value = vec![timestamp as u8; if *kind == RecordKind::Tombstone { 0 } else { usize::from(*len) }];
        let is_new = !model.keys().any(|(known, _)| known == key);
        let record = Record { kind: *kind, bytes: &value };
        assert_eq!(inserter.insert(key, Timestamp(timestamp), record, START), Ok(is_new));
        model.insert((key.clone(), Reverse(timestamp)), (*kind, value));
    }
    (memtable, model)
}

fn model_at(model: &Model, key: &[u8], at: u64) -> Option<(u64, RecordKind, Vec<u8>)> {
    let from = (key.to_vec(), Reverse(at));
    let ((found, timestamp), (kind, value)) = model.range(from..).next()?;
    (found == key).then(|| (timestamp.0, *kind, value.clone()))
}

fn memtable_at(memtable: &Memtable, key: &[u8], at: u64) -> Option<(u64, RecordKind, Vec<u8>)> {
    let version = memtable.get(key, Timestamp(at))?;
    Some((version.timestamp.0, version.record.kind, version.record.bytes.to_vec()))
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(48))]

    // A key found under another's version, a snapshot that sees a later commit, a lost key.
    #[test]
    fn gets_match_an_ordered_map(inserts in inserts(300), strangers in prop::collection::vec(key(), 0..20)) {
        let (memtable, model) = fill(&inserts);
        for key in inserts.iter().map(|(key, ..)| key).chain(&strangers) {
            for at in [0, 1, inserts.len() as u64 / 2, u64::MAX] {
                prop_assert_eq!(memtable_at(&memtable, key, at), model_at(&model, key, at));
            }
            let newest = model_at(&model, key, u64::MAX).map(|(timestamp, ..)| Timestamp(timestamp));
            prop_assert_eq!(memtable.newest(key), newest);
            prop_assert_eq!(memtable.contains(key), newest.is_some());
        }
        prop_assert_eq!(memtable.versions_inserted(), model.len());
        prop_assert_eq!(memtable.timestamps(), Some((Timestamp(1), Timestamp(inserts.len() as u64))));
    }

    // A pass that leaves out, repeats or misplaces a key, in either direction.
    #[test]
    fn passes_match_an_ordered_map(inserts in inserts(300)) {
        let (memtable, model) = fill(&inserts);
        let mut keys: Vec<Vec<u8>> = model.keys().map(|(key, _)| key.clone()).collect();
        keys.dedup();
        prop_assert_eq!(memtable.rows(), keys.len());
        let memtable = Arc::new(memtable);
        let mut cursor = memtable.owned_cursor();
        let mut at = 0;
        let mut more = cursor.seek_first();
        while more {
            prop_assert_eq!(cursor.key(), &keys[at][..]);
            prop_assert_eq!(cursor.versions().count(), model.keys().filter(|(key, _)| *key == keys[at]).count());
            at += 1;
            more = cursor.next();
        }
        prop_assert_eq!(at, keys.len());
        more = cursor.seek_last();
        while more {
            at -= 1;
            prop_assert_eq!(cursor.key(), &keys[at][..]);
            more = cursor.prev();
        }
        prop_assert_eq!(at, 0);
    }

    // A seek that is off by one at a leaf's edge, at a fence, between equal words or at a key that is not there.
    #[test]
    fn seeks_match_an_ordered_map(inserts in inserts(300), strangers in prop::collection::vec(key(), 0..30)) {
        let (memtable, model) = fill(&inserts);
        let mut keys: Vec<Vec<u8>> = model.keys().map(|(key, _)| key.clone()).collect();
        keys.dedup();
        let mut cursor = memtable.cursor();
        for key in keys.iter().chain(&strangers) {
            let below = keys.partition_point(|known| known < key);
            let through = keys.partition_point(|known| known <= key);
            for (found, expected) in [
                (cursor.seek_ge(key).then(|| cursor.key().to_vec()), keys.get(below)),
                (cursor.seek_gt(key).then(|| cursor.key().to_vec()), keys.get(through)),
                (cursor.seek_le(key).then(|| cursor.key().to_vec()), through.checked_sub(1).map(|at| &keys[at])),
                (cursor.seek_lt(key).then(|| cursor.key().to_vec()), below.checked_sub(1).map(|at| &keys[at])),
            ] {
                prop_assert_eq!(found.as_ref(), expected);
            }
            // Turning round in the middle of a pass.
            if cursor.seek_ge(key) {
                let here = cursor.key().to_vec();
                if cursor.next() {
                    prop_assert!(cursor.prev());
                    prop_assert_eq!(cursor.key(), &here[..]);
                }
            }
        }
    }

    // A version cut off that a snapshot from the oldest on still has to see.
    #[test]
    fn pruning_keeps_what_the_oldest_snapshot_sees(steps in prop::collection::vec((0..6u8, 0..4u64), 1..120)) {
        let memtable = Memtable::new(1 << 20).expect("addresses");
        let mut model = Model::new();
        let mut oldest = 0;
        for (index, (key, advance)) in steps.iter().enumerate() {
            let timestamp = index as u64 + 1;
            oldest = (oldest + advance).min(timestamp - 1);
            let value = timestamp.to_be_bytes();
            memtable.insert(&[*key], Timestamp(timestamp), Record::inline(&value), Timestamp(oldest)).expect("room");
            model.insert((vec![*key], Reverse(timestamp)), (RecordKind::Inline, value.to_vec()));
            for at in oldest..=timestamp {
                for key in 0..6 {
                    prop_assert_eq!(memtable_at(&memtable, &[key], at), model_at(&model, &[key], at));
                }
            }
        }
    }
}

// Ascending, descending and scattered loads of many leaves and levels: splits at both edges and in the middle.
#[test]
fn large_loads_keep_every_key_in_order() {
    type Order = fn(u64) -> u64;
    let orders: [Order; 4] =
        [|i| i, |i| u64::MAX - i, |i| i.wrapping_mul(0x9e37_79b9_7f4a_7c15), |i| i % 2 * 1_000_000 + i / 2];
    for order in orders {
        for prefix in [&b""[..], b"a long common prefix of all the keys/"] {
            let memtable = Memtable::new(1 << 20).expect("addresses");
            let key = |i: u64| [prefix, &order(i).to_be_bytes()].concat();
            const COUNT: u64 = 60_000;
            for i in 0..COUNT {
                memtable
                    .insert(&key(i), Timestamp(i + 1), Record::inline(&i.to_le_bytes()), START)
                    .expect("room");
            }
            for i in 0..COUNT {
                let version = memtable.get(&key(i), Timestamp(u64::MAX)).expect("inserted");
                assert_eq!(version.record.bytes, i.to_le_bytes());
                assert!(memtable.get(&key(i), Timestamp(i)).is_none());
            }
            let mut keys: Vec<_> = (0..COUNT).map(key).collect();
            keys.sort_unstable();
            let mut cursor = memtable.cursor();
            assert!(cursor.seek_first());
            for key in &keys {
                assert_eq!(cursor.key(), key);
                cursor.next();
            }
            assert!(!cursor.is_valid());
        }
    }
}

// Half-empty leaves after a sequential load: they double the memtable's overhead.
#[test]
fn ascending_loads_pack_their_leaves() {
    let memtable = Memtable::new(1 << 20).expect("addresses");
    const COUNT: usize = 100_000;
    for i in 0..COUNT as u64 {
        memtable.insert(&i.to_be_bytes(), Timestamp(1), Record::inline(&[0; 8]), START).expect("room");
    }
    let overhead = memtable.bytes() as f64 / COUNT as f64 - (8.0 + 8.0 + 16.0 + 8.0);
    assert!(overhead < 14.5, "{overhead} bytes a row beside the row itself");
}

// A failed insert that leaves half a change behind, or a memtable that cannot be read any more once it is full.
#[test]
fn a_full_memtable_refuses_and_stays_whole() {
    let memtable = memtable_of(256 << 10);
    let value = [7; 100];
    let mut rows = 0u64;
    while memtable.insert(
        &(rows * 7919 % 65_536).to_be_bytes(),
        Timestamp(rows + 1),
        Record::inline(&value),
        START,
    ) == Ok(true)
    {
        rows += 1;
    }
    assert!(rows > 1000, "{rows}");
    assert_eq!(memtable.rows() as u64, rows);
    assert_eq!(
        memtable.insert(b"large", Timestamp(rows + 1), Record::inline(&[0; 1 << 20]), START),
        Err(crate::memtable::Full)
    );
    let mut cursor = memtable.cursor();
    let mut seen = 0;
    let mut more = cursor.seek_first();
    while more {
        seen += 1;
        assert!(memtable.contains(cursor.key()));
        more = cursor.next();
    }
    assert_eq!(seen, rows);
}

// Memory that ends just when a split needs it: keys moved to a node that nothing leads to.
#[test]
fn running_full_within_a_split_loses_nothing() {
    for filler in (0..5000).step_by(16) {
        let memtable = memtable_of(8 << 10);
        memtable.insert(&[], Timestamp(1), Record::inline(&vec![0; filler]), START).expect("room");
        let inserted = (1..=255u8)
            .take_while(|i| {
                memtable.insert(&[i.wrapping_mul(77)], Timestamp(1), Record::inline(&[]), START).is_ok()
            })
            .count();
        assert!((10..255).contains(&inserted), "{inserted}");
        let mut cursor = memtable.cursor();
        let mut seen = 0;
        let mut more = cursor.seek_first();
        while more {
            seen += 1;
            more = cursor.next();
        }
        assert_eq!(seen, inserted + 1, "with a filler of {filler} bytes");
    }
}

// An empty memtable, where every edge is the same edge.
#[test]
fn an_empty_memtable_has_nothing() {
    let memtable = Memtable::new(0).expect("addresses");
    assert!(
        memtable.is_empty() && memtable.timestamps().is_none() && memtable.get(b"", Timestamp(1)).is_none()
    );
    let mut cursor = memtable.cursor();
    assert!(
        !cursor.seek_first()
            && !cursor.seek_last()
            && !cursor.seek_lt(b"a")
            && !cursor.next()
            && !cursor.prev()
    );
    assert!(memtable.bytes() < 4096);
}

// Values at the limit of what a record in the log may bring.
#[test]
fn a_value_of_64_mib_fits() {
    let memtable = Memtable::new(0).expect("addresses");
    let value = vec![3; 64 << 20];
    for timestamp in 1..=2 {
        memtable.insert(b"k", Timestamp(timestamp), Record::inline(&value), START).expect("room");
    }
    assert_eq!(memtable.get(b"k", Timestamp(1)).expect("there").record.bytes.len(), value.len());
}

// A version that would be hidden behind a later one for ever.
#[test]
#[should_panic(expected = "order of their commits")]
fn an_older_version_on_top_is_refused() {
    let memtable = Memtable::new(0).expect("addresses");
    for timestamp in [2, 1] {
        let _ = memtable.insert(b"k", Timestamp(timestamp), Record::TOMBSTONE, START);
    }
}
