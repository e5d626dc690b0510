//! Rows by conditions, beside a walk that looks at each.

use std::{collections::BTreeMap, sync::Arc};

use ambo_codec::{
    Type, Value as Datum,
    column::{Compare, KeySet},
};
use ambo_engine::{
    catalog::{IndexDefinition, Storage, TableDefinition},
    database::{Engine, FoundRows, Isolation, RowFormat},
    id::TableId,
    io::sim::SimDisk,
    scan::{Filter, Test},
};

use crate::support::{Random, assert_sound, open, small_options};

/// Columns `(a i32, b i16, c text or NULL, d i64, e f64)`; the key is `(a, b)`.
fn create(engine: &Arc<Engine>, storage: Storage) -> (TableId, RowFormat) {
    let definition = TableDefinition::new("t")
        .column("a", Type::I32)
        .column("b", Type::I16)
        .column_nullable("c", Type::Utf8)
        .column("d", Type::I64)
        .column("e", Type::F64)
        .primary_key(&["a", "b"])
        .storage(storage);
    let id = engine.create_table(definition).unwrap();
    let definition = engine.current().catalog.table(id).unwrap().clone();
    (id, RowFormat::new(definition).unwrap())
}

fn row(random: &mut Random) -> Vec<Datum> {
    let c = match random.below(6) {
        0 => Datum::Null,
        n => Datum::from(format!("{}{}", ["x", "xy", "y", "", "z"][n as usize - 1], random.below(4))),
    };
    let e = [0.0, -0.0, f64::NAN, 1.5, -3.25][random.below(5) as usize];
    vec![
        Datum::I32(random.below(40) as i32 - 20),
        Datum::I16(random.below(30) as i16),
        c,
        Datum::I64(random.below(12) as i64),
        Datum::F64(e),
    ]
}

/// A condition with constants of the column's type and of others.
fn filter(random: &mut Random) -> Filter {
    let column = random.below(5) as usize;
    let compares = [
        Compare::Equal,
        Compare::Equal,
        Compare::Equal,
        Compare::Less,
        Compare::LessEqual,
        Compare::Greater,
        Compare::GreaterEqual,
        Compare::NotEqual,
    ];
    let constant = |random: &mut Random| match random.below(8) {
        0 if column != 2 => Datum::F64(random.below(20) as f64 - 9.5),
        1 if column != 2 => Datum::I64(random.below(24) as i64 - 8),
        _ => row(random)[column].clone(),
    };
    let set = |random: &mut Random| KeySet::new((0..5).map(|_| random.below(24) as i64 - 8)).unwrap();
    let test = match random.below(11) {
        0 => Test::IsNull,
        1 => Test::IsNotNull,
        2 => Test::Between(constant(random), constant(random)),
        3 => Test::In((0..3).map(|_| constant(random)).collect()),
        4 if column == 2 => Test::Prefix(b"x".to_vec()),
        5 if column == 2 => Test::Like(vec![b"x".to_vec(), b"1".to_vec()]),
        6 if ![2, 4].contains(&column) => Test::Among(set(random).into()),
        7 => Test::Not(Box::new(Test::Between(constant(random), constant(random)))),
        _ => Test::Compare(*random.pick(&compares), constant(random)),
    };
    Filter { column, test }
}

fn collect(mut found: FoundRows<'_>, format: &RowFormat) -> Vec<String> {
    let mut rows = Vec::new();
    while let Some((key, row)) = found.next_row().unwrap() {
        rows.push(format!("{:?}", format.decode(&key, &row).unwrap()));
    }
    rows.sort();
    rows
}

/// Keeps away: a path that leaves a row out, or finds one twice; for all storages, compacted, not compacted and written by the transaction
/// itself.
#[test]
fn every_path_finds_what_a_walk_finds() {
    let mut paths: BTreeMap<String, u32> = BTreeMap::new();
    for (seed, storage) in
        [Storage::BTree, Storage::Memory, Storage::Column, Storage::Append].into_iter().enumerate()
    {
        let disk = SimDisk::new(seed as u64);
        let mut random = Random::new(100 + seed as u64);
        let (engine, _) = open(&disk.env(), &small_options()).unwrap();
        let (table, format) = create(&engine, storage);
        for index in [
            IndexDefinition::new("c", "t", &["c"]),
            IndexDefinition::new("d_hash", "t", &["d"]).hash(),
            IndexDefinition::new("dc", "t", &["d", "c"]),
            IndexDefinition::new("e", "t", &["e"]),
            IndexDefinition::new("cd_hash", "t", &["c", "d"]).hash(),
        ] {
            engine.create_index(&index).unwrap();
        }
        if storage.traits().by_column {
            engine.create_index(&IndexDefinition::new("d_bitmap", "t", &["d"]).bitmap()).unwrap();
        }
        for round in 0..3 {
            for _ in 0..500 {
                let row = row(&mut random);
                let key = format.encode_key(&row, 0).unwrap();
                match random.one_in(6) {
                    true => engine.delete(table, &key).unwrap(),
                    false => engine.put(table, &key, &format.encode_row(&row).unwrap()).unwrap(),
                }
            }
            if round == 1 {
                engine.compact().unwrap();
            }
            let mut tx = engine.begin(Isolation::Snapshot).unwrap();
            for _ in 0..40 {
                let row = row(&mut random);
                let key = format.encode_key(&row, 0).unwrap();
                match random.one_in(3) {
                    true => tx.delete(table, &key).unwrap(),
                    false => tx.put(table, &key, &format.encode_row(&row).unwrap()).unwrap(),
                }
            }
            let snapshot = engine.snapshot();
            for _ in 0..150 {
                let filters: Vec<_> = (0..random.below(4)).map(|_| filter(&mut random)).collect();
                for in_tx in [false, true] {
                    let find = |filters: &[Filter]| match in_tx {
                        true => tx.find_rows(table, filters),
                        false => snapshot.find_rows(table, filters),
                    };
                    let found = match find(&filters) {
                        Ok(found) => found,
                        // A constant that cannot be compared with the column.
                        Err(_) => continue,
                    };
                    *paths.entry(found.path()).or_default() += 1;
                    let found = collect(found, &format);
                    let expected = walk(&engine, table, &format, in_tx.then_some(&tx), &snapshot, &filters);
                    assert_eq!(found, expected, "{storage:?} {filters:?}");
                }
            }
        }
        assert_sound(&engine);
    }
    for path in [
        "all rows",
        "a range of keys",
        "several ranges of keys",
        "several indexes",
        "index \"main.dc\"",
        "index \"main.e\"",
        "look-ups in index \"main.dc\"",
        "look-ups in index \"main.c\"",
        "a scan of columns",
        "a scan of columns with bitmap indexes",
    ] {
        assert!(paths.contains_key(path), "no {path} among {paths:?}");
    }
}

/// Keeps away: rows that are lost, or all that are left, where the keys of several indexes are compared; with so many rows that they are.
#[test]
fn what_several_indexes_have_in_common() {
    for storage in [Storage::BTree, Storage::Column, Storage::Append] {
        compare_indexes(storage);
    }
}

fn compare_indexes(storage: Storage) {
    let disk = SimDisk::new(0);
    let mut random = Random::new(77);
    let (engine, _) = open(&disk.env(), &small_options()).unwrap();
    let (table, format) = create(&engine, storage);
    for index in [IndexDefinition::new("c", "t", &["c"]), IndexDefinition::new("d", "t", &["d"]).hash()] {
        engine.create_index(&index).unwrap();
    }
    let mut rows = Vec::new();
    for a in 0..200 {
        for b in 0..30i16 {
            let mut new = row(&mut random);
            (new[0], new[1]) = (Datum::I32(a), Datum::I16(b));
            let key = format.encode_key(&new, 0).unwrap();
            engine.put(table, &key, &format.encode_row(&new).unwrap()).unwrap();
            rows.push(new);
        }
    }
    engine.compact().unwrap();
    let snapshot = engine.snapshot();
    let equal = |column, value: Datum| Filter { column, test: Test::Compare(Compare::Equal, value) };
    let mut together = 0;
    for c in ["x0", "xy1", "y2", "1", "z3"] {
        for d in 0..12i64 {
            // A list of values is looked up value by value, and takes part.
            let two = vec![d.into(), Datum::Null, (d + 1).into(), d.into()];
            let listed = Filter { column: 3, test: Test::In(two) };
            for (of_d, last) in [(equal(3, d.into()), d), (listed, d + 1)] {
                let found = snapshot.find_rows(table, &[of_d, equal(2, c.into())]).unwrap();
                together += u32::from(found.path() == "several indexes");
                let is_meant = |row: &&Vec<Datum>| {
                    row[2] == Datum::from(c) && (d..=last).any(|d| row[3] == Datum::I64(d))
                };
                let mut expected: Vec<_> =
                    rows.iter().filter(is_meant).map(|row| format!("{row:?}")).collect();
                expected.sort();
                assert!(expected.len() > 5, "{c} {d}: {}", expected.len());
                assert_eq!(collect(found, &format), expected, "{c} {d}");
            }
        }
    }
    // So few rows are scanned in no time.
    let is_compared = if storage == Storage::BTree { together > 80 } else { together == 0 };
    assert!(is_compared, "{storage:?}: {together} of 120");
    // Nothing is in an empty list, and what no value of the column can be.
    for list in [vec![], vec![Datum::Null]] {
        let filter = Filter { column: 3, test: Test::In(list) };
        assert!(collect(snapshot.find_rows(table, &[filter]).unwrap(), &format).is_empty());
    }
    assert_sound(&engine);
}

/// The rows that answer all filters with yes, each compared as a value.
fn walk(
    engine: &Arc<Engine>,
    table: TableId,
    format: &RowFormat,
    tx: Option<&ambo_engine::database::Transaction>,
    snapshot: &ambo_engine::database::Snapshot,
    filters: &[Filter],
) -> Vec<String> {
    let definition = engine.current().catalog.table(table).unwrap().clone();
    let mut found = match tx {
        Some(tx) => tx.find_rows(table, &[]),
        None => snapshot.find_rows(table, &[]),
    }
    .unwrap();
    let mut rows = Vec::new();
    while let Some((key, row)) = found.next_row().unwrap() {
        let row = format.decode(&key, &row).unwrap();
        let kind = |column: usize| definition.columns[column].kind;
        if filters.iter().all(|filter| answers(&row[filter.column], &filter.test, kind(filter.column))) {
            rows.push(format!("{row:?}"));
        }
    }
    rows.sort();
    rows
}

/// What a condition says of a value, by comparing numbers as numbers and text as text.
fn answers(value: &Datum, test: &Test, kind: Type) -> bool {
    use std::cmp::Ordering::{Equal, Greater, Less};
    let order = |constant: &Datum| -> Option<std::cmp::Ordering> {
        if value.is_null() || constant.is_null() {
            return None;
        }
        if let (Datum::Utf8(a), Datum::Utf8(b)) = (value, constant) {
            return Some(a.as_bytes().cmp(b.as_bytes()));
        }
        assert!(kind != Type::Utf8, "texts are compared with texts");
        // Small numbers: exact as floats. NaN is equal to itself and greater than all.
        let (a, b) = (value.as_ref().as_f64().unwrap(), constant.as_ref().as_f64().unwrap());
        Some(match (a.is_nan(), b.is_nan()) {
            (true, true) => Equal,
            (true, false) => Greater,
            (false, true) => Less,
            (false, false) => a.partial_cmp(&b).unwrap(),
        })
    };
    match test {
        Test::IsNull => value.is_null(),
        Test::IsNotNull => !value.is_null(),
        Test::Prefix(prefix) => match value {
            Datum::Utf8(text) => text.as_bytes().starts_with(prefix),
            _ => false,
        },
        Test::Like(pieces) => match value {
            Datum::Utf8(text) => {
                text.as_bytes().starts_with(&pieces[0])
                    && text.as_bytes()[pieces[0].len()..].ends_with(&pieces[1])
            }
            _ => false,
        },
        Test::Among(set) => match value {
            Datum::Null => false,
            _ => set.iter().any(|key| order(&Datum::I64(key)) == Some(Equal)),
        },
        Test::Not(other) => {
            let has_null = matches!(&**other, Test::Between(low, high) if low.is_null() || high.is_null());
            !value.is_null() && !has_null && !answers(value, other, kind)
        }
        Test::Contains(_) => unreachable!("not asked here"),
        Test::Between(low, high) => {
            order(low).is_some_and(|order| order != Less) && order(high).is_some_and(|order| order != Greater)
        }
        Test::In(list) => list.iter().any(|constant| order(constant) == Some(Equal)),
        Test::Compare(compare, constant) => order(constant).is_some_and(|order| compare.holds(order)),
    }
}
