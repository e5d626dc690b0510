//! Entries and their sorting.

use std::sync::{Arc, atomic::AtomicBool};

use ambo_codec::{Type, Value, ValueRef};
use proptest::prelude::*;

use super::{EntryFormat, EntrySorter};
use crate::{
    base::btree::Tree,
    catalog::{IndexKind, IndexOf, TableDefinition},
    id::TableId,
    page::PageStore,
};

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

fn refs(values: &[Value]) -> Vec<ValueRef<'_>> {
    values.iter().map(ValueRef::from).collect()
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
                let entry = format.entry_of(&refs(&a), &key).unwrap();
                prop_assert_eq!(format.row_key(&entry.key, &entry.value).unwrap(), &key[..]);
                prop_assert_eq!(entry.is_exclusive, unique && !a.contains(&Value::Null));
                let second = format.entry_of(&refs(&b), &other).unwrap();
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

/// Keeps away: entries that are lost, doubled or out of order between the parts that are sorted on their own; pages that stay behind; a key
/// that came twice and is not noticed, in one part or in two.
#[test]
fn entries_are_sorted_in_parts() {
    let entries = |count: u64| (0..count).map(|n| (n.wrapping_mul(0x9E37_79B9_7F4A_7C15)).to_be_bytes());
    for (count, again, bytes) in [
        (0, None, 1 << 10),
        (1, None, 1 << 10),
        (5000, None, 1 << 20),
        (5000, None, 4 << 10),
        (5000, Some(0), 1 << 20),
        (5000, Some(0), 4 << 10),
        (5000, Some(4999), 4 << 10),
    ] {
        let store = PageStore::memory(4096);
        let before = store.stats().used_pages;
        let mut sorter = EntrySorter::new(&store, bytes);
        for entry in entries(count) {
            sorter.push(&entry, &entry[..3]).unwrap();
        }
        let again = again.map(|n| entries(count).nth(n).unwrap());
        if let Some(entry) = again {
            sorter.push(&entry, b"again").unwrap();
        }
        let sorted = sorter.finish(&AtomicBool::new(false)).unwrap();
        assert_eq!(sorted.twice.as_deref(), again.as_ref().map(|key| &key[..]), "{count} {bytes}");
        assert_eq!(sorted.meta.rows, count);
        let used = store.stats().used_pages - before;
        assert_eq!(sorted.pages.iter().map(|range| range.pages).sum::<u64>(), used, "{count} {bytes}");
        let tree = Tree::open(Arc::clone(&store), sorted.meta);
        let mut cursor = tree.cursor();
        let mut there = cursor.seek_first().unwrap();
        let mut expected: Vec<_> = entries(count).collect();
        expected.sort_unstable();
        let mut expected = expected.iter();
        while there {
            let entry = expected.next().unwrap();
            assert_eq!(cursor.key(), entry);
            assert!(cursor.record().bytes == &entry[..3] || again == Some(*entry));
            there = cursor.next().unwrap();
        }
        assert!(expected.next().is_none());
    }
}
