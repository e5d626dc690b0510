//! All ways to look at a table, beside what is known to be there.

use std::sync::Arc;

use ambo_codec::{Value as Datum, column::Compare};
use ambo_engine::{
    database::{Engine, IndexRange, RowFormat, ScanPlan, Seek, Snapshot, TableScan, Transaction},
    id::TableId,
    scan::{Aggregate, AggregatePlan, Expression, Filter, Test},
};

use super::world::{AT, ID, Indexes, NUMBER, Rows, TEXT, UNIQUE};
use crate::support::{Random, rows};

/// What was met, so that a test that meets nothing fails.
#[derive(Default, Debug)]
pub struct Seen {
    pub expired: u64,
    scans: u64,
    units: u64,
    index_rows: u64,
    exact: u64,
}

impl Seen {
    pub fn assert_all(&self) {
        let Self { expired, scans, units, index_rows, .. } = self;
        assert!(*expired > 1000 && *scans > 50 && *units > 50 && *index_rows > 100, "{self:?}");
    }
}

fn stored(format: &RowFormat, rows: &Rows) -> Vec<(Vec<u8>, Vec<u8>)> {
    rows.iter().map(|(key, row)| (key.clone(), format.encode_row(row).unwrap())).collect()
}

/// Single reads.
pub fn compare_engine(engine: &Arc<Engine>, table: TableId, format: &RowFormat, visible: &Rows, all: &Rows) {
    for (key, row) in all {
        let expected = visible.get(key).map(|row| format.encode_row(row).unwrap());
        let found = engine.get(table, key).unwrap().map(|value| value.to_vec());
        assert_eq!(found, expected, "{row:?}");
        assert_eq!(engine.contains(table, key).unwrap(), expected.is_some());
        assert_eq!(engine.get_with(table, key, <[u8]>::to_vec).unwrap(), expected);
        assert_eq!(engine.get_stream(table, key).unwrap().is_some(), expected.is_some());
        let picked = format.pick(&[NUMBER]).unwrap();
        let found = engine.get_picked(table, key, Some(&picked)).unwrap();
        let found = found.map(|value| format.decode_picked(&picked, key, &value).unwrap()[0].clone());
        assert_eq!(found, visible.get(key).map(|row| row[NUMBER].clone()));
    }
}

/// What a transaction has written is there for itself, unless it has expired.
pub fn compare_transaction(tx: &Transaction, table: TableId, format: &RowFormat, visible: &Rows, all: &Rows) {
    for key in all.keys() {
        let expected = visible.get(key).map(|row| format.encode_row(row).unwrap());
        assert_eq!(tx.get(table, key).unwrap().map(|value| value.to_vec()), expected);
    }
    assert_eq!(tx.count(table, None, None).unwrap(), visible.len() as u64);
    let mut found = tx.find_rows(table, &[]).unwrap();
    let mut rows = Vec::new();
    while let Some(row) = found.next_row().unwrap() {
        rows.push(row);
    }
    rows.sort();
    assert_eq!(rows, stored(format, visible));
}

fn filters(random: &mut Random, visible: &Rows) -> Vec<Filter> {
    let mut filters = Vec::new();
    for _ in 0..random.below(3) {
        let column = [ID, AT, UNIQUE, NUMBER, TEXT][random.below(5) as usize];
        let of = visible.values().nth(random.below(visible.len().max(1) as u64) as usize);
        let Some(value) = of.map(|row| row[column].clone()).filter(|value| !value.is_null()) else {
            continue;
        };
        let compare = *random.pick(&[Compare::Equal, Compare::LessEqual, Compare::Greater]);
        filters.push(Filter { column, test: Test::Compare(compare, value) });
    }
    filters
}

fn answers(row: &[Datum], filters: &[Filter]) -> bool {
    filters.iter().all(|Filter { column, test }| match test {
        Test::Compare(compare, value) => !row[*column].is_null() && compare.holds(row[*column].cmp(value)),
        other => panic!("{other}"),
    })
}

/// A snapshot.
pub fn compare(
    snapshot: &Snapshot,
    table: TableId,
    format: &RowFormat,
    indexes: &Indexes,
    visible: &Rows,
    random: &mut Random,
    seen: &mut Seen,
) {
    let expected = stored(format, visible);
    assert_eq!(rows(snapshot, table).unwrap(), expected);
    compare_cursor(snapshot, table, &expected, random);
    for filters in [Vec::new(), filters(random, visible), filters(random, visible)] {
        let meant: Rows = visible
            .iter()
            .filter(|(_, row)| answers(row, &filters))
            .map(|(key, row)| (key.clone(), row.clone()))
            .collect();
        let mut found = Vec::new();
        let mut rows = snapshot.find_rows(table, &filters).unwrap();
        let path = rows.path();
        while let Some(row) = rows.next_row().unwrap() {
            found.push(row);
        }
        found.sort();
        assert_eq!(found, stored(format, &meant), "{path}: {filters:?}");
        compare_scans(snapshot, table, &filters, &meant, random, seen);
    }
    compare_indexes(snapshot, table, indexes, visible, seen);
    let statistics = snapshot.statistics(table).unwrap();
    let count = visible.len() as u64;
    assert!(statistics.rows.value >= count, "at most so many");
    let exact = statistics.columns.iter().filter(|column| {
        column.min.iter().chain(&column.max).any(|bound| bound.is_exact) || column.nulls.is_exact
    });
    seen.exact += exact.count() as u64;
    assert!(!statistics.rows.is_exact && seen.exact == 0, "nothing is known of what has expired");
    for column in [ID, AT, NUMBER] {
        let Some(mut values) = snapshot.distinct_values(table, column).unwrap() else { continue };
        let mut expected: Vec<_> = visible.values().map(|row| row[column].clone()).collect();
        expected.sort();
        expected.dedup();
        let mut found = Vec::new();
        while let Some(value) = values.next_value().unwrap() {
            found.push(value);
        }
        assert_eq!(found, expected);
    }
}

fn compare_cursor(snapshot: &Snapshot, table: TableId, expected: &[(Vec<u8>, Vec<u8>)], random: &mut Random) {
    assert_eq!(snapshot.count(table, None, None).unwrap(), expected.len() as u64);
    let mut cursor = snapshot.cursor(table).unwrap();
    let mut there = cursor.seek(Seek::Last).unwrap();
    for (key, row) in expected.iter().rev() {
        assert!(there);
        assert_eq!(cursor.row().unwrap(), (&key[..], &row[..]));
        there = cursor.prev().unwrap();
    }
    assert!(!there);
    for _ in 0..4 {
        let Some((key, row)) = expected.get(random.below(expected.len().max(1) as u64) as usize) else {
            return;
        };
        let below = expected.iter().filter(|(other, _)| other < key).count() as u64;
        assert_eq!(snapshot.count(table, None, Some(key)).unwrap(), below);
        assert_eq!(snapshot.count(table, Some(key), None).unwrap(), expected.len() as u64 - below);
        assert!(cursor.seek_exact(key).unwrap());
        assert_eq!(cursor.value().unwrap(), row);
        assert_eq!(cursor.seek(Seek::Lt(key)).unwrap(), below > 0);
    }
}

fn compare_scans(
    snapshot: &Snapshot,
    table: TableId,
    filters: &[Filter],
    meant: &Rows,
    random: &mut Random,
    seen: &mut Seen,
) {
    let threads = if random.one_in(2) { 1 } else { 4 };
    let columns = vec![NUMBER, UNIQUE];
    let mut expected: Vec<Vec<Datum>> =
        meant.values().map(|row| columns.iter().map(|column| row[*column].clone()).collect()).collect();
    expected.sort();
    let plan = ScanPlan { columns, filters: filters.to_vec(), ..ScanPlan::default() };
    let scan = snapshot.clone().into_row_scan(table, &plan).unwrap();
    let scan = Arc::new(scan.with_unit_rows(1 + random.below(100)));
    let mut found = Vec::new();
    for unit in 0..scan.units().unwrap() {
        seen.units += 1;
        let mut rows = scan.unit(unit, &[]).unwrap();
        while let Some((columns, count)) = rows.next_columns(50).unwrap() {
            found.extend((0..count).map(|row| {
                columns.iter().map(|column| column.get(row).unwrap().to_value()).collect::<Vec<_>>()
            }));
        }
    }
    found.sort();
    assert_eq!(found, expected, "{}", scan.path());
    let Ok(scan) = snapshot.scan_columns(table, &plan) else { return };
    seen.scans += 1;
    compare_columns(&scan, threads, &expected);
}

fn compare_columns(scan: &TableScan, threads: usize, expected: &[Vec<Datum>]) {
    assert_eq!(scan.count(threads).unwrap(), expected.len() as u64);
    let number = |value: &Datum| match value {
        Datum::I64(number) => *number,
        other => panic!("{other}"),
    };
    // Twice, for what segments come to is kept.
    for _ in 0..2 {
        let aggregates = vec![
            Aggregate::Rows,
            Aggregate::Sum(Expression::Column(1)),
            Aggregate::Min(Expression::Column(1)),
        ];
        let plan = AggregatePlan { group_by: vec![0], aggregates };
        let groups = scan.aggregate(&plan, threads).unwrap();
        let mut found: Vec<(i64, u64, i128, i64)> = groups
            .rows
            .iter()
            .map(|row| {
                let sum = row[2].to_string().parse().unwrap();
                let rows = row[1].to_string().parse().unwrap();
                (number(&row[0]), rows, sum, number(&row[3]))
            })
            .collect();
        found.sort_unstable();
        let mut wanted: std::collections::BTreeMap<i64, (u64, i128, i64)> = Default::default();
        for row in expected {
            let (group, value) = (number(&row[0]), number(&row[1]));
            let entry = wanted.entry(group).or_insert((0, 0, i64::MAX));
            *entry = (entry.0 + 1, entry.1 + i128::from(value), entry.2.min(value));
        }
        let wanted: Vec<_> =
            wanted.into_iter().map(|(group, (rows, sum, min))| (group, rows, sum, min)).collect();
        assert_eq!(found, wanted);
        let all = AggregatePlan { group_by: Vec::new(), aggregates: vec![Aggregate::Rows] };
        let rows = scan.aggregate(&all, threads).unwrap().rows[0][0].to_string();
        assert_eq!(rows, expected.len().to_string());
    }
    let bounds = scan.min_max(1, threads).unwrap();
    let values = || expected.iter().map(|row| number(&row[1]));
    let wanted = values().min().zip(values().max()).map(|(low, high)| (Datum::I64(low), Datum::I64(high)));
    assert_eq!(bounds, wanted);
}

fn compare_indexes(snapshot: &Snapshot, table: TableId, indexes: &Indexes, visible: &Rows, seen: &mut Seen) {
    let of = [(indexes.unique, UNIQUE), (indexes.number, NUMBER), (indexes.text, TEXT), (indexes.at, AT)];
    for (index, column) in of.into_iter().filter_map(|(index, column)| Some((index?, column))) {
        let mut values: Vec<_> = visible.values().map(|row| row[column].clone()).collect();
        values.sort();
        values.dedup();
        if column == UNIQUE {
            values = (0..400).map(Datum::I64).collect();
        }
        for value in values {
            let expected: Vec<_> =
                visible.iter().filter(|(_, row)| row[column] == value).map(|(key, _)| key.clone()).collect();
            let value = [value];
            let mut scan = snapshot.index_scan(index, IndexRange::Equal(&value)).unwrap();
            let mut found = Vec::new();
            while let Some(key) = scan.next_key().unwrap().map(<[u8]>::to_vec) {
                let row = snapshot.get(table, &key).unwrap().expect("an entry has a row that is there");
                if scan.is_meant(&key, &row).unwrap() {
                    found.push(key);
                }
            }
            found.sort();
            seen.index_rows += found.len() as u64;
            assert_eq!(found, expected, "{value:?}");
            let count = snapshot.index_count(index, IndexRange::Equal(&value)).unwrap();
            assert_eq!(count, expected.len() as u64, "{value:?}");
            let first = snapshot.index_get(index, &value).unwrap().map(|(key, _)| key);
            assert_eq!(first.is_some(), !expected.is_empty());
            assert!(first.is_none_or(|first| expected.contains(&first)));
        }
    }
}
