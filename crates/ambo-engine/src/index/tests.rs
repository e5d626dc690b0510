//! Entries and their sorting.

use std::sync::{Arc, atomic::AtomicBool};

use ambo_base::btree::{CheckOptions, Tree};
use ambo_codec::{Type, Value, ValueRef};
use ambo_pages::{budget::MemoryBudget, page::PageStore};
use ambo_types::{Error, IndexKind, IndexOf, Result, TableDefinition, id::TableId};
use proptest::prelude::*;

use super::{Entry, EntryFormat, EntrySorter};

/// A table `(key any, text, number)` and one of its indexes.
fn format(kind: IndexKind, unique: bool) -> EntryFormat {
    let table = TableDefinition::new("t")
        .column("key", Type::Binary)
        .column_nullable("text", Type::Utf8)
        .column_nullable("number", Type::I16)
        .primary_key(&["key"]);
    let of = IndexOf { table: TableId(1), columns: vec![1, 2], kind, unique, ready: true };
    EntryFormat::new("main.i", &of, &table).unwrap()
}

fn values() -> impl Strategy<Value = Vec<Value>> {
    let text = prop_oneof![Just(Value::Null), "[\0ab]{0,4}".prop_map(Value::from)];
    let number = prop_oneof![Just(Value::Null), (-3i16..3).prop_map(Value::I16)];
    (text, number).prop_map(|(text, number)| vec![text, number])
}

fn refs(values: &[Value]) -> impl Iterator<Item = Result<ValueRef<'_>>> {
    values.iter().map(|value| Ok(ValueRef::from(value)))
}

proptest! {
    /// Keeps away: entries out of the order of their values, a row key that is cut elsewhere, a range with too much or too little in it.
    #[test]
    fn entries_are_in_the_order_of_values_and_keys(
        a in values(), b in values(), key in proptest::collection::vec(0u8..3, 0..5), other in proptest::collection::vec(0u8..3, 0..5),
    ) {
        for unique in [false, true] {
            for kind in [IndexKind::Ordered, IndexKind::Hash] {
                let format = format(kind, unique);
                let (mut entry, mut second) = (Entry::default(), Entry::default());
                format.write_entry_of(refs(&a), &key, &mut entry).unwrap();
                prop_assert_eq!(format.row_key(&entry.key, &entry.value).unwrap(), &key[..]);
                prop_assert_eq!(entry.is_exclusive, unique && !a.contains(&Value::Null));
                format.write_entry_of(refs(&b), &other, &mut second).unwrap();
                let range = format.prefix(&a).unwrap();
                prop_assert!(range.contains(&entry.key));
                prop_assert_eq!(range.contains(&second.key), a == b);
                if entry.is_exclusive {
                    prop_assert_eq!(entry.key == second.key, a == b);
                }
                if kind == IndexKind::Hash {
                    continue;
                }
                // NULL is least, and text compares by its bytes.
                let order = |row: &[Value]| row.iter().map(|value| match value {
                    Value::Null => vec![0],
                    Value::Utf8(text) => [&[1], text.as_bytes()].concat(),
                    Value::I16(number) => vec![1, (number + 100) as u8],
                    other => panic!("{other}"),
                }).collect::<Vec<_>>();
                if a != b {
                    prop_assert_eq!(entry.key < second.key, order(&a) < order(&b));
                } else if !entry.is_exclusive {
                    prop_assert_eq!(entry.key < second.key, key < other);
                }
            }
        }
    }
}

/// Keys in a random order.
fn keys(count: u64) -> impl Iterator<Item = [u8; 12]> {
    (0..count).map(|n| {
        let mut key = [b'k'; 12];
        // Of some the first eight bytes are the same.
        key[4..].copy_from_slice(&n.wrapping_mul(0x9E37_79B9_7F4A_7C15).to_be_bytes());
        if n % 7 == 0 {
            key[..4].fill(0);
            key[4..8].fill(0);
        }
        key
    })
}

/// Keeps away: entries that are lost, doubled or out of order between chunks, trees, threads and ranges; pages and memory that stay behind;
/// a key that came twice and is not noticed, in one part or in two; a tombstone that counts beside an entry.
#[test]
fn entries_are_sorted_in_parts() {
    for (count, again, memory, threads) in [
        (0, None, 1 << 20, 2),
        (1, None, 1 << 20, 1),
        (5000, Some(0), 64 << 20, 1),
        (200_000, None, 64 << 20, 1),
        (200_000, None, 64 << 20, 3),
        (200_000, Some(0), 1 << 20, 1),
        (200_000, None, 1 << 20, 3),
        (200_000, Some(0), 1 << 20, 3),
        (200_000, Some(199_999), 64 << 20, 2),
    ] {
        let what = format!("{count} {again:?} {memory} {threads}");
        let store = PageStore::memory(4096);
        let before = store.stats().used_pages;
        let memory = MemoryBudget::new(memory);
        let sorter = EntrySorter::new(&store, &memory);
        let again = again.map(|n| keys(count).nth(n).unwrap());
        std::thread::scope(|scope| {
            for thread in 0..threads {
                let (sorter, again) = (&sorter, &again);
                scope.spawn(move || {
                    let mut gatherer = sorter.gatherer();
                    for (number, key) in keys(count).enumerate().filter(|(n, _)| n % threads == thread) {
                        // Tombstones come first, later, and alone.
                        if number % 3 == 0 {
                            gatherer.push_tombstone(&key).unwrap();
                        }
                        if number % 9 != 0 {
                            gatherer.push(&key, &key[9..]).unwrap();
                        }
                        if number % 5 == 0 {
                            gatherer.push_tombstone(&key).unwrap();
                        }
                    }
                    if let Some(again) = again.as_ref().filter(|_| thread == 0) {
                        gatherer.push(again, &again[9..]).unwrap();
                        gatherer.push(again, &again[9..]).unwrap();
                    }
                    gatherer.finish().unwrap();
                });
            }
        });
        let sorted = sorter.finish(threads, &AtomicBool::new(false)).unwrap();
        assert_eq!(sorted.twice.as_deref(), again.as_ref().map(|key| &key[..]), "{what}");
        assert_eq!(memory.in_use().total, 0, "{what}");
        let used = store.stats().used_pages - before;
        assert_eq!(sorted.pages.iter().map(|range| range.pages).sum::<u64>(), used, "{what}");
        let tree = Tree::open(Arc::clone(&store), sorted.meta);
        let mut expected: Vec<_> = keys(count).zip(0..).collect();
        expected.sort_unstable();
        let mut cursor = tree.cursor();
        let mut there = cursor.seek_first().unwrap();
        for (key, number) in expected {
            assert!(there, "{what}");
            assert_eq!(cursor.key(), key, "{what}");
            let is_gone = number % 9 == 0 && again != Some(key);
            assert_eq!(cursor.record().is_tombstone(), is_gone, "{what} {number}");
            assert!(is_gone || cursor.record().bytes == &key[9..], "{what} {number}");
            there = cursor.next().unwrap();
        }
        assert!(!there, "{what}");
        let report =
            tree.check(&CheckOptions { tombstones_allowed: true, ..CheckOptions::default() }).unwrap();
        assert!(report.problems.is_empty(), "{what} {:?}", report.problems);
    }
}

/// Keeps away: pages or memory of entries that nobody wants any more.
#[test]
fn a_sorter_that_is_given_up_leaves_nothing() {
    let store = PageStore::memory(4096);
    let before = store.stats().used_pages;
    let memory = MemoryBudget::new(1 << 20);
    let sort = || {
        let sorter = EntrySorter::new(&store, &memory);
        let mut gatherer = sorter.gatherer();
        keys(50_000).for_each(|key| gatherer.push(&key, b"").unwrap());
        assert!(store.stats().used_pages > before, "some of it is flushed");
        gatherer.finish().unwrap();
        sorter
    };
    drop(sort());
    let cancelled = sort().finish(2, &AtomicBool::new(true)).err();
    assert!(matches!(cancelled, Some(Error::Cancelled)), "{cancelled:?}");
    assert_eq!(store.stats().used_pages, before);
    assert_eq!(memory.in_use().total, 0);
}
