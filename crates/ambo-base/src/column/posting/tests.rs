//! Files of postings beside a sorted map of the same rows.

use std::{collections::BTreeMap, ops::Bound, sync::Arc};

use ambo_codec::{Type, Value, ValueRef, bitmap::Positions, column::Compare};
use ambo_pages::{
    budget::MemoryBudget,
    io::{Disk, OpenMode, sim::SimDisk},
};
use ambo_scan::{Filter, Test, buffer::ColumnBuffer};
use ambo_types::id::TableId;

use super::{Asked, Gatherer, IndexSpec, PostingFile};
use crate::column::SegmentStore;

pub(super) const SEGMENT: u64 = 7;

pub(super) fn store() -> (Arc<dyn Disk>, Arc<SegmentStore>) {
    let disk: Arc<dyn Disk> = SimDisk::new(1).env().disk;
    let store = SegmentStore::new(
        disk.clone(),
        0x00ff_eedd_ccbb_aa99_8877_6655_4433_2211,
        &MemoryBudget::new(8 << 20),
    );
    (disk, store)
}

fn random(seed: &mut u64) -> u64 {
    *seed ^= *seed << 13;
    *seed ^= *seed >> 7;
    *seed ^= *seed << 17;
    *seed
}

/// A number below `of`, low ones far more often.
fn skewed(seed: &mut u64, of: u64) -> u64 {
    let unit = (random(seed) >> 11) as f64 / (1u64 << 53) as f64;
    (of as f64 * unit.powi(4)) as u64
}

fn value(seed: &mut u64, ty: Type, of: u64) -> Value {
    if random(seed).is_multiple_of(11) {
        return Value::Null;
    }
    let number = skewed(seed, of);
    match ty {
        Type::U8 => Value::U8(number as u8),
        Type::I16 => Value::I16(number as i16 - 40),
        Type::U32 => Value::U32((number as u32).wrapping_mul(0x9E37_79B1)),
        Type::I64 => Value::I64((number as i64 - 50).wrapping_mul(1 << 50)),
        Type::F64 => Value::F64(number as f64 - 20.5),
        Type::Bool => Value::Bool(number.is_multiple_of(2)),
        Type::Decimal128 { .. } => Value::Decimal128 { unscaled: i128::from(number) - 30, scale: 2 },
        Type::Utf8 => Value::Utf8(format!("{}{number}", "ab".repeat(number as usize % 7))),
        other => unreachable!("{other} is not among the types"),
    }
}

pub(super) fn columns(types: &[Type], rows: &[Vec<Value>]) -> Vec<ColumnBuffer> {
    let mut buffers: Vec<_> = types.iter().map(|ty| ColumnBuffer::new(*ty)).collect();
    for row in rows {
        buffers.iter_mut().zip(row).for_each(|(buffer, value)| buffer.push(value.as_ref()).unwrap());
    }
    buffers
}

pub(super) fn gathered(spec: &IndexSpec, types: &[Type], rows: &[Vec<Value>]) -> Gatherer {
    let mut gatherer = Gatherer::new(spec, types);
    for group in rows.chunks(1000) {
        let buffers = columns(types, group);
        gatherer.push(&spec.columns.iter().map(|column| &buffers[*column]).collect::<Vec<_>>()).unwrap();
    }
    gatherer
}

fn opened(store: &Arc<SegmentStore>, spec: &IndexSpec, types: &[Type], rows: u32) -> Arc<PostingFile> {
    let wanted = (spec.id.0, spec.fingerprint(types), spec.form(types).width());
    PostingFile::open(store, (SEGMENT, rows), wanted).unwrap().expect("it was written")
}

/// The rows of a sorted map that a test asks for.
fn meant(map: &BTreeMap<Vec<u8>, Vec<u64>>, lower: Bound<Vec<u8>>, upper: Bound<Vec<u8>>) -> Vec<u64> {
    let inside = |key: &Vec<u8>| {
        let above = match &lower {
            Bound::Unbounded => true,
            Bound::Included(low) => key >= low,
            Bound::Excluded(low) => key > low,
        };
        above
            && match &upper {
                Bound::Unbounded => true,
                Bound::Included(high) => key <= high,
                Bound::Excluded(high) => key < high,
            }
    };
    let mut rows: Vec<u64> =
        map.iter().filter(|(key, _)| inside(key)).flat_map(|(_, rows)| rows.clone()).collect();
    rows.sort_unstable();
    rows.dedup();
    rows
}

/// Keeps away: rows that a file leaves out or adds for any test of any type, a file that is found again otherwise than written, and one
/// that its own check refuses.
#[test]
fn files_answer_as_a_sorted_map_does() {
    let mut seed = 0x1234_5678_9ABC;
    let types = [
        (Type::U8, 40),
        (Type::I16, 3000),
        (Type::U32, 5000),
        (Type::I64, 100),
        (Type::F64, 700),
        (Type::Bool, 2),
        (Type::Decimal128 { precision: 9, scale: 2 }, 300),
        (Type::Utf8, 2000),
    ];
    for (ty, of) in types {
        let (_, store) = store();
        let rows: Vec<_> = (0..12_000).map(|_| vec![value(&mut seed, ty, of)]).collect();
        let spec = IndexSpec { id: TableId(9), columns: vec![0], any: false };
        gathered(&spec, &[ty], &rows).write(&store, SEGMENT).unwrap();
        let file = opened(&store, &spec, &[ty], rows.len() as u32);
        assert_eq!(file.check(gathered(&spec, &[ty], &rows)).unwrap(), Vec::<String>::new());
        let form = spec.form(&[ty]);
        let mut map: BTreeMap<Vec<u8>, Vec<u64>> = BTreeMap::new();
        for (at, row) in rows.iter().enumerate() {
            if let Some(key) = form.key(row[0].as_ref()) {
                map.entry(key).or_default().push(at as u64);
            }
        }
        assert_eq!(
            (file.keys(), file.postings()),
            (map.len() as u64, map.values().map(|rows| rows.len() as u64).sum())
        );
        let mut counts = Vec::new();
        file.each_list(|key, rows| counts.push((key, rows.len() as u64))).unwrap();
        assert_eq!(
            counts,
            map.iter().map(|(key, rows)| (key.clone(), rows.len() as u64)).collect::<Vec<_>>()
        );
        for _ in 0..300 {
            let mut one = || loop {
                let value = value(&mut seed, ty, of + 2);
                if !value.is_null() {
                    return value;
                }
            };
            let (a, b) = (one(), one());
            let key = |value: &Value| form.key(value.as_ref()).unwrap();
            let (included, excluded) =
                (|value| Bound::Included(key(value)), |value| Bound::Excluded(key(value)));
            let asked = match random(&mut seed) % 7 {
                0 => (Test::Compare(Compare::Equal, a.clone()), included(&a), included(&a)),
                1 => (Test::Compare(Compare::Less, a.clone()), Bound::Unbounded, excluded(&a)),
                2 => (Test::Compare(Compare::LessEqual, a.clone()), Bound::Unbounded, included(&a)),
                3 => (Test::Compare(Compare::Greater, a.clone()), excluded(&a), Bound::Unbounded),
                4 => (Test::Compare(Compare::GreaterEqual, a.clone()), included(&a), Bound::Unbounded),
                5 => (Test::Between(a.clone(), b.clone()), included(&a), included(&b)),
                _ => (Test::IsNotNull, Bound::Unbounded, Bound::Unbounded),
            };
            let (test, lower, upper) = asked;
            let expected = meant(&map, lower, upper);
            let filters = [Filter { column: 0, test }];
            let asked = Asked::new(std::slice::from_ref(&spec), &[ty], &filters);
            let [way] = &asked.0[..] else { panic!("{filters:?} is asked of the index") };
            assert_eq!(asked.count(&file).unwrap(), expected.len() as u64, "{filters:?}");
            match way.rows(&file, rows.len() as u32).unwrap() {
                Some(found) => assert_eq!(found.iter().collect::<Vec<_>>(), expected, "{filters:?}"),
                None => {
                    assert!(
                        expected.len() > rows.len() / 64,
                        "only many rows are left to blocks: {filters:?}"
                    )
                }
            }
        }
    }
}

/// Keeps away: rows of several columns that are not found by the first of them, or by all, NULL among them.
#[test]
fn indexes_of_several_columns() {
    let mut seed = 0xABCD_EF01;
    let types = [Type::U32, Type::Utf8, Type::U8, Type::U32];
    let rows: Vec<Vec<Value>> = (0..9000)
        .map(|_| {
            vec![
                value(&mut seed, types[0], 60),
                value(&mut seed, types[1], 30),
                value(&mut seed, types[2], 9),
                value(&mut seed, types[3], 60),
            ]
        })
        .collect();
    let (_, store) = store();
    let tuple = IndexSpec { id: TableId(9), columns: vec![2, 1, 0], any: false };
    let any = IndexSpec { id: TableId(10), columns: vec![0, 3], any: true };
    let specs = [tuple, any];
    for spec in &specs {
        gathered(spec, &types, &rows).write(&store, SEGMENT).unwrap();
    }
    let files: Vec<_> = specs.iter().map(|spec| opened(&store, spec, &types, rows.len() as u32)).collect();
    for (file, spec) in files.iter().zip(&specs) {
        assert_eq!(file.check(gathered(spec, &types, &rows)).unwrap(), Vec::<String>::new());
    }
    let equal =
        |column: usize, value: &Value| Filter { column, test: Test::Compare(Compare::Equal, value.clone()) };
    for _ in 0..400 {
        let like = &rows[random(&mut seed) as usize % rows.len()];
        let asked: Vec<usize> =
            [2, 1, 0, 3].into_iter().filter(|_| !random(&mut seed).is_multiple_of(3)).collect();
        let filters: Vec<_> = asked
            .iter()
            .filter(|column| !like[**column].is_null())
            .map(|column| equal(*column, &like[*column]))
            .collect();
        let ways = Asked::new(&specs, &types, &filters);
        let has = |column: usize| filters.iter().any(|filter| filter.column == column);
        assert_eq!(ways.0.iter().any(|way| way.is_exact), has(2), "its first column is asked: {filters:?}");
        for way in &ways.0 {
            let Some(found) = way.rows(&files[way.spec], rows.len() as u32).unwrap() else { continue };
            for (at, row) in rows.iter().enumerate() {
                let answers = |filter: &usize| {
                    let Filter { column, test: Test::Compare(_, value) } = &filters[*filter] else {
                        unreachable!()
                    };
                    match way.is_exact {
                        true => row[*column] == *value,
                        false => row[0] == *value || row[3] == *value,
                    }
                };
                assert_eq!(
                    found.contains(at as u64),
                    way.filters.iter().all(answers),
                    "row {at} of {filters:?}"
                );
            }
        }
    }
}

/// Keeps away: a byte of a file that is changed, or an end that is cut off, and not noticed, panics on it, and files of other segments
/// that are taken.
#[test]
fn damage_is_noticed() {
    let types = [Type::U32, Type::Utf8];
    let mut seed = 77;
    let rows: Vec<_> =
        (0..3000).map(|_| vec![value(&mut seed, types[0], 20), value(&mut seed, types[1], 400)]).collect();
    for column in 0..2 {
        let (disk, store) = store();
        let spec = IndexSpec { id: TableId(9), columns: vec![column], any: false };
        let written = gathered(&spec, &types, &rows).write(&store, SEGMENT).unwrap();
        let (name, len) = (written.name().to_owned(), written.file_bytes());
        drop(written);
        let mut bytes = vec![0; len as usize];
        disk.open(&name, OpenMode::Read).unwrap().read_at(&mut bytes, 0).unwrap();
        let wanted = (9, spec.fingerprint(&types), spec.form(&types).width());
        for at in (0..bytes.len()).step_by(7).chain(bytes.len() - 96..bytes.len()) {
            let mut other = bytes.clone();
            other[at] ^= 0x10;
            let (disk, store) = self::store();
            disk.open(&name, OpenMode::Create).unwrap().write_at(&other, 0).unwrap();
            let checked = PostingFile::open(&store, (SEGMENT, 3000), wanted)
                .and_then(|file| file.unwrap().check(gathered(&spec, &types, &rows)));
            let error = checked.expect_err(&format!("byte {at} of column {column}"));
            assert!(error.to_string().contains(&name), "{error}");
        }
        for len in (0..bytes.len()).step_by(11).chain(bytes.len() - 100..bytes.len()) {
            let (disk, store) = self::store();
            disk.open(&name, OpenMode::Create).unwrap().write_at(&bytes[..len], 0).unwrap();
            let checked = PostingFile::open(&store, (SEGMENT, 3000), wanted)
                .and_then(|file| file.unwrap().check(gathered(&spec, &types, &rows)));
            let error = checked.expect_err(&format!("{len} bytes of column {column}"));
            assert!(error.to_string().contains(&name), "{error}");
        }
        for (segment, wanted) in [((SEGMENT, 2999), wanted), ((SEGMENT, 3000), (9, wanted.1 ^ 1, wanted.2))] {
            let error = PostingFile::open(&store, segment, wanted).expect_err("a file of others");
            assert!(error.to_string().contains("of another segment or index"), "{error}");
        }
        assert!(PostingFile::open(&store, (8, 3000), wanted).unwrap().is_none());
    }
}

/// Keeps away: rows that are not found where a key has so many that its list lies apart, as gaps and as a bitmap.
#[test]
fn lists_apart() {
    let rows: Vec<_> = (0..100_000u64)
        .map(|row| {
            vec![Value::U8(if row % 100 == 3 || row % 471 == 5 {
                1
            } else if row > 60_000 {
                2
            } else {
                3
            })]
        })
        .collect();
    let (_, store) = store();
    let spec = IndexSpec { id: TableId(9), columns: vec![0], any: false };
    gathered(&spec, &[Type::U8], &rows).write(&store, SEGMENT).unwrap();
    let file = opened(&store, &spec, &[Type::U8], 100_000);
    assert!(file.file_bytes() < 30_000, "{} bytes", file.file_bytes());
    for number in 0..5u8 {
        let filters = [Filter { column: 0, test: Test::Compare(Compare::Equal, Value::U8(number)) }];
        let asked = Asked::new(std::slice::from_ref(&spec), &[Type::U8], &filters);
        let found = asked.0[0].rows(&file, 100_000).unwrap().unwrap();
        let is_meant = |(_, row): &(usize, &Vec<Value>)| row[0].as_ref() == ValueRef::U8(number);
        let expected: Vec<u64> = rows.iter().enumerate().filter(is_meant).map(|(at, _)| at as u64).collect();
        assert_eq!(found.iter().collect::<Vec<_>>(), expected);
    }
}
