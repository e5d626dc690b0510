//! Random rows and conditions: queries say what a loop over the rows says, whatever the storage and however much of it is compacted.

use ambo::{
    Database, Datum, Read, Storage, TableDefinition, Type,
    predicate::{Compare, Operand, Predicate, walk},
};
use proptest::prelude::*;

use crate::rows;

/// What UQI says, and what is expected of it.
fn check(db: &Database, left: &[(i32, Option<i64>)], condition: &str) -> Result<(), TestCaseError> {
    let query = |text: &str| db.uqi(db, &format!("{text} FROM t {condition}")).unwrap();
    prop_assert_eq!(query("COUNT($key)").single(), Some(Datum::U64(left.len() as u64)));
    let keys: i64 = left.iter().map(|(key, _)| i64::from(*key)).sum();
    prop_assert_eq!(query("SUM($key)").single(), Some(Datum::I64(keys)));
    let values: Vec<_> = left.iter().filter_map(|(key, value)| value.map(|value| (value, *key))).collect();
    let sum: i64 = values.iter().map(|(value, _)| value).sum();
    prop_assert_eq!(query("SUM($record)").single(), Some(Datum::I64(sum)));
    let mut best = values.clone();
    best.sort_by_key(|(value, key)| (std::cmp::Reverse(*value), *key));
    best.truncate(3);
    best.sort_unstable();
    let found = rows(&query_limit(db, condition));
    let expected: Vec<_> = best.iter().map(|(value, key)| (Datum::I32(*key), Datum::I64(*value))).collect();
    prop_assert_eq!(found, expected);
    let all = rows(&query("VALUE($key)"));
    let mut all: Vec<_> = all.into_iter().map(|(key, _)| key).collect();
    all.sort();
    prop_assert_eq!(all, left.iter().map(|(key, _)| Datum::I32(*key)).collect::<Vec<_>>());
    Ok(())
}

fn query_limit(db: &Database, condition: &str) -> ambo::uqi::UqiResult {
    db.uqi(db, &format!("TOP($record) FROM t {condition} LIMIT 3")).unwrap()
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 40, ..ProptestConfig::default() })]

    #[test]
    fn queries_say_what_a_loop_says(
        changes in proptest::collection::vec((-40..40i32, proptest::option::of(-5..20i64), 0..8u8), 1..120),
        flush_at in 0..120usize,
        (bound, low) in (-5..20i64, -40..40i32),
        storage in proptest::sample::select(vec![Storage::BTree, Storage::Column, Storage::Append, Storage::Memory]),
    ) {
        let db = Database::in_memory().unwrap();
        let t = TableDefinition::new("t").column("key", Type::I32).column_nullable("value", Type::I64);
        let t = db.create_table(t.primary_key(&["key"]).storage(storage)).unwrap();
        let mut model = std::collections::BTreeMap::new();
        for (number, (key, value, what)) in changes.iter().enumerate() {
            if *what == 0 {
                t.delete_row(&[(*key).into()]).unwrap();
                model.remove(key);
            } else {
                t.upsert_row(&[(*key).into(), value.map_or(Datum::Null, Datum::I64)]).unwrap();
                model.insert(*key, *value);
            }
            if number == flush_at {
                db.compact().unwrap();
                // What is kept from here on is asked for again when rows were added, changed and deleted.
                let so_far: Vec<_> = model.iter().map(|(key, value)| (*key, *value)).collect();
                check(&db, &so_far, "")?;
            }
        }
        let all: Vec<_> = model.into_iter().collect();
        check(&db, &all, "")?;
        let conditions = [
            (format!("WHERE $record < {bound}"), Predicate::column(1, Compare::Less, bound)),
            (
                format!("WHERE NOT ($record = {bound} AND $key >= {low})"),
                Predicate::And(vec![
                    Predicate::column(1, Compare::Equal, bound),
                    Predicate::column(0, Compare::GreaterEqual, low),
                ])
                .not(),
            ),
            (
                format!("WHERE $key BETWEEN {low} AND 30 OR $record IN ({bound}, 3)"),
                Predicate::Or(vec![
                    Predicate::Between(Operand::column(0), Operand::literal(low), Operand::literal(30i32)),
                    Predicate::In(Operand::column(1), vec![bound.into(), 3i64.into()]),
                ]),
            ),
        ];
        for (text, predicate) in conditions {
            let is_left = |(key, value): &(i32, Option<i64>)| {
                let row = [Datum::I32(*key), value.map_or(Datum::Null, Datum::I64)];
                // The tree walk has no rows that outlive it.
                let row: &'static [Datum] = Vec::leak(row.to_vec());
                let predicate: &'static Predicate = Box::leak(Box::new(predicate.clone()));
                walk(predicate, &|_, column| row[column].as_ref()).unwrap() == Some(true)
            };
            let left: Vec<_> = all.iter().copied().filter(is_left).collect();
            // Anew, of what is kept, and without.
            check(&db, &left, &text)?;
            check(&db, &left, &text)?;
            db.keep_partials(false);
            check(&db, &left, &text)?;
            db.keep_partials(None);
        }
        // Of a snapshot while others write.
        let before = db.snapshot();
        t.upsert_row(&[100i32.into(), 1000i64.into()]).unwrap();
        prop_assert_eq!(db.uqi(&before, "COUNT($key) FROM t").unwrap().single(), Some(Datum::U64(all.len() as u64)));
        prop_assert_eq!(before.count(&t, ..).unwrap(), all.len() as u64);
    }
}

/// Enough rows for several parts, which two threads take.
#[test]
fn parts_are_put_together() {
    let dir = tempfile::tempdir().unwrap();
    let db = Database::open(dir.path()).unwrap();
    let t = db.typed::<u32, u64>("t").unwrap();
    let mut load = t.table().bulk_load().unwrap();
    for number in 0..400_000u32 {
        let (key, value) =
            t.table().stored_row(&[(number * 3).into(), u64::from(number % 1000).into()]).unwrap();
        load.push(&key, &value).unwrap();
    }
    load.finish().unwrap();
    t.put(1, 5).unwrap();
    assert_eq!(crate::single(&db, "COUNT($key) FROM t"), Datum::U64(400_001));
    let keys: u64 = (0..400_000u64).map(|number| number * 3).sum::<u64>() + 1;
    assert_eq!(crate::single(&db, "SUM($key) FROM t"), Datum::U64(keys));
    assert_eq!(crate::single(&db, "SUM($key) FROM t WHERE $key >= 0 AND $key % 3 <= 1"), Datum::U64(keys));
    let values: u64 = 400 * (0..1000).sum::<u64>() + 5;
    assert_eq!(crate::single(&db, "SUM($record) FROM t"), Datum::U64(values));
    assert_eq!(crate::single(&db, "COUNT($record) FROM t WHERE $record = 999"), Datum::U64(400));
    let top = rows(&db.uqi(&db, "TOP($record) FROM t LIMIT 2").unwrap());
    assert_eq!(top, [999u32, 1999].map(|number| (Datum::U32(number * 3), Datum::U64(999))));
    let all = db.uqi(&db, "VALUE($key, $record) FROM t WHERE $record < 2").unwrap();
    assert_eq!(all.rows(), 800);
    assert!(all.keys.data().as_chunks::<4>().0.iter().map(|bytes| u32::from_le_bytes(*bytes)).is_sorted());
    assert!(db.check().unwrap().problems.is_empty());
}

/// Keeps away: results of extents and segments that are read again although nothing is new, and those that are kept of what may answer
/// otherwise.
#[test]
fn what_segments_come_to_is_kept() {
    for storage in [Storage::Column, Storage::Append] {
        let db = Database::in_memory().unwrap();
        let t = TableDefinition::new("t").column("n", Type::I32).column_nullable("x", Type::F64);
        let t = db.create_table(t.storage(storage)).unwrap();
        let put = |n: i32| {
            t.insert_row(&[n.into(), Datum::F64(f64::from(n) / 10.0)]).unwrap();
        };
        (0..20_000).for_each(|n| put(n % 777));
        db.compact().unwrap();
        let kept = || db.info().unwrap().partials.values;
        db.uqi_plugins()
            .register_predicate("even", |n: ambo::DatumRef<'_>| n.as_i64().is_some_and(|n| n % 2 == 0))
            .unwrap();
        let ask = |text: &str| rows(&db.uqi(&db, text).unwrap());
        let queries = [
            "SUM(x) FROM t",
            "AVERAGE(x) FROM t WHERE n < 300 OR n = 500",
            "COUNT(x) FROM t WHERE n < 300 AND n * 2 > 100",
            "MAX(x) FROM t WHERE n < 700",
            "TOP(n) FROM t LIMIT 5",
            "SUM(x) FROM t WHERE n < 300",
        ];
        let mut first = Vec::new();
        for (number, query) in (1..).zip(queries) {
            first.push(ask(query));
            assert_eq!(kept(), number, "{query}");
        }
        let again: Vec<_> = queries.iter().map(|query| ask(query)).collect();
        assert_eq!(again, first);
        for query in ["SUM(x) FROM t WHERE even(n)", "VALUE(x) FROM t WHERE n = 5"] {
            ask(query);
            assert_eq!(kept(), queries.len() as u64, "{query}");
        }
        // New rows are added to what is kept; the answer is that without it, to the last bit.
        (0..500).for_each(|n| put(-n));
        let new: Vec<_> = queries.iter().map(|query| ask(query)).collect();
        assert_ne!(new, first);
        db.keep_partials(false);
        let without: Vec<_> = queries.iter().map(|query| ask(query)).collect();
        assert_eq!(format!("{new:?}"), format!("{without:?}"));
        assert_eq!(kept(), 0);
        assert!(db.check().unwrap().problems.is_empty());
    }
}
