//! Indexes whose postings are in files (br64): scans with them beside rows that are looked at one by one, and what becomes of the files.

use std::{cell::Cell, collections::BTreeMap, sync::Arc};

use ambo_codec::{Type, Value as Datum, column::Compare};
use ambo_engine::{
    Error,
    catalog::{IndexDefinition, Storage, TableDefinition},
    database::{Engine, Isolation, Options, RowFormat, ScanPlan, TableScan},
    id::TableId,
    io::{
        Disk, OpenMode,
        sim::{Fault, FaultKind, Op, SimDisk},
    },
    scan::{Aggregate, AggregatePlan, Expression, Filter, Test},
    seal::{Key, KeySource},
};

use crate::{
    aggregate::assert_as_new,
    support::{Random, assert_sound, ids, open, small_options},
};

const COLUMNS: [&str; 5] = ["id", "town", "kind", "size", "other"];

/// `(id i64 key, town text or NULL, kind i16, size f64 or NULL, other i16 or NULL)`.
fn definition(storage: Storage) -> TableDefinition {
    TableDefinition::new("t")
        .column("id", Type::I64)
        .column_nullable("town", Type::Utf8)
        .column("kind", Type::I16)
        .column_nullable("size", Type::F64)
        .column_nullable("other", Type::I16)
        .primary_key(&["id"])
        .storage(storage)
}

fn indexes() -> Vec<IndexDefinition> {
    let mut indexes: Vec<_> = COLUMNS[..4]
        .iter()
        .map(|column| IndexDefinition::new(format!("by_{column}"), "t", &[column]).br64())
        .collect();
    indexes.push(IndexDefinition::new("by_both", "t", &["kind", "town"]).br64());
    indexes.push(IndexDefinition::new("by_any", "t", &["kind", "other"]).br64_any());
    indexes
}

fn row(random: &mut Random, id: i64) -> Vec<Datum> {
    let town = match random.below(6) {
        0 => Datum::Null,
        1 => Datum::from(format!("town {}", random.below(200))),
        _ => Datum::from(["Bern", "", "Brest", "Ghent"][random.below(4) as usize]),
    };
    let size = [Datum::Null, 0.0.into(), (-0.0).into(), f64::NAN.into(), 2.5.into()]
        [random.below(5) as usize]
        .clone();
    let other = if random.one_in(4) { Datum::Null } else { Datum::I16(random.below(50) as i16) };
    vec![id.into(), town, Datum::I16(random.below(50) as i16), size, other]
}

fn filter(random: &mut Random) -> Filter {
    let column = random.below(5) as usize;
    let constant = |random: &mut Random| loop {
        let id = random.below(3000) as i64;
        let value = row(random, id)[column].clone();
        // How NaN compares is for the tests of blocks.
        if !matches!(&value, Datum::F64(size) if size.is_nan()) && !value.is_null() {
            return value;
        }
    };
    let compare = |compare, random: &mut Random| Test::Compare(compare, constant(random));
    if random.one_in(5) {
        let Filter { column, test } = filter(random);
        return Filter { column, test: Test::Not(Box::new(test)) };
    }
    let test = match random.below(11) {
        0 => Test::IsNull,
        1 => Test::IsNotNull,
        2 => compare(Compare::NotEqual, random),
        3 => compare(Compare::Less, random),
        4 => compare(Compare::GreaterEqual, random),
        5 => Test::Between(constant(random), constant(random)),
        6 => Test::In((0..random.below(4)).map(|_| constant(random)).collect()),
        7 if column == 1 => Test::Prefix(b"town 1".to_vec()),
        _ => compare(Compare::Equal, random),
    };
    Filter { column, test }
}

fn answers(value: &Datum, test: &Test) -> bool {
    let order = |constant: &Datum| match (value, constant) {
        (Datum::Null, _) => None,
        (Datum::F64(a), Datum::F64(b)) if a.is_nan() => Some(a.total_cmp(b)),
        (Datum::F64(a), Datum::F64(b)) => a.partial_cmp(b),
        (a, b) => Some(a.as_ref().compare(b.as_ref())),
    };
    match test {
        Test::IsNull => value.is_null(),
        Test::IsNotNull => !value.is_null(),
        Test::Compare(Compare::Equal, constant) => order(constant).is_some_and(|order| order.is_eq()),
        Test::Compare(Compare::NotEqual, constant) => order(constant).is_some_and(|order| order.is_ne()),
        Test::Compare(Compare::Less, constant) => order(constant).is_some_and(|order| order.is_lt()),
        Test::Compare(Compare::GreaterEqual, constant) => order(constant).is_some_and(|order| order.is_ge()),
        Test::Between(low, high) => {
            order(low).is_some_and(|order| order.is_ge()) && order(high).is_some_and(|order| order.is_le())
        }
        Test::In(list) => list.iter().any(|constant| order(constant).is_some_and(|order| order.is_eq())),
        Test::Not(test) => !value.is_null() && !answers(value, test),
        Test::Prefix(prefix) => matches!(value, Datum::Utf8(text) if text.as_bytes().starts_with(prefix)),
        other => unreachable!("{other:?} is not asked here"),
    }
}

fn names(disk: &SimDisk, prefix: &str) -> Vec<String> {
    let names = disk.list().unwrap();
    names.into_iter().filter(|name| name.starts_with(prefix)).collect()
}

struct World {
    table: TableId,
    format: RowFormat,
    model: BTreeMap<i64, Vec<Datum>>,
    /// How many segments aggregates were put together of, and of how many of them leaves said all.
    aggregated: Cell<(u64, u64)>,
}

impl World {
    fn new(engine: &Arc<Engine>, storage: Storage) -> Self {
        let definition = definition(storage);
        let table = engine.create_table(definition).unwrap();
        let definition = engine.current().catalog.table(table).unwrap().clone();
        Self {
            table,
            format: RowFormat::new(definition).unwrap(),
            model: BTreeMap::new(),
            aggregated: Cell::default(),
        }
    }

    /// Puts and deletes some rows.
    fn write(&mut self, engine: &Arc<Engine>, random: &mut Random, rows: usize) {
        for _ in 0..rows {
            let id = random.below(3000) as i64;
            let row = row(random, id);
            let key = self.format.encode_key(&row, 0).unwrap();
            if random.one_in(4) {
                engine.delete(self.table, &key).unwrap();
                self.model.remove(&id);
            } else {
                engine.put(self.table, &key, &self.format.encode_row(&row).unwrap()).unwrap();
                self.model.insert(id, row);
            }
        }
    }

    /// Asks many questions, and counts their answers.
    fn compare(&self, engine: &Arc<Engine>, random: &mut Random) {
        let mut tx = engine.begin(Isolation::Snapshot).unwrap();
        let mut seen = self.model.clone();
        for _ in 0..50 {
            let id = random.below(3000) as i64;
            let row = row(random, id);
            let key = self.format.encode_key(&row, 0).unwrap();
            tx.put(self.table, &key, &self.format.encode_row(&row).unwrap()).unwrap();
            seen.insert(id, row);
        }
        let snapshot = engine.snapshot();
        for _ in 0..120 {
            let filters: Vec<_> = (0..1 + random.below(3)).map(|_| filter(random)).collect();
            let plan = ScanPlan { columns: vec![0], filters, ..ScanPlan::default() };
            let counted = ScanPlan { columns: vec![], ..plan.clone() };
            let is_meant = |row: &Vec<Datum>| {
                plan.filters.iter().all(|filter| answers(&row[filter.column], &filter.test))
            };
            let expected = |rows: &BTreeMap<i64, Vec<Datum>>| -> Vec<i64> {
                rows.iter().filter(|(_, row)| is_meant(row)).map(|(id, _)| *id).collect()
            };
            let (all, own) = (expected(&self.model), expected(&seen));
            let scan = |plan| snapshot.scan_columns(self.table, plan).unwrap();
            assert_eq!(ids(&scan(&plan)), all, "{:?}", plan.filters);
            assert_eq!(scan(&counted).count(1).unwrap(), all.len() as u64, "{:?}", plan.filters);
            assert_eq!(ids(&tx.scan_columns(self.table, &plan).unwrap()), own, "{:?}", plan.filters);
            let count = tx.scan_columns(self.table, &counted).unwrap().count(1).unwrap();
            assert_eq!(count, own.len() as u64, "{:?}", plan.filters);
        }
        for _ in 0..40 {
            self.compare_aggregates(random, &|plan| snapshot.scan_columns(self.table, plan).unwrap());
            self.compare_aggregates(random, &|plan| tx.scan_columns(self.table, plan).unwrap());
        }
    }

    /// Puts rows into groups of one column under conditions on it, mostly, and compares with what comes of a look at each row.
    fn compare_aggregates(&self, random: &mut Random, scan: &dyn Fn(&ScanPlan) -> TableScan) {
        let column = random.below(5) as usize;
        let wanted = random.below(3) as usize;
        let of_column = |random: &mut Random| loop {
            let filter = filter(random);
            if filter.column == column || random.one_in(20) {
                return filter;
            }
        };
        let filters: Vec<_> = (0..wanted).map(|_| of_column(random)).collect();
        let scan = scan(&ScanPlan { columns: vec![column], filters, ..ScanPlan::default() });
        let group_by = if random.one_in(2) { vec![0] } else { vec![] };
        let value = || Expression::Column(0);
        let all =
            [Aggregate::Rows, Aggregate::Count(value()), Aggregate::Min(value()), Aggregate::Max(value())];
        let aggregates = all.into_iter().filter(|_| random.one_in(2)).collect();
        let plan = AggregatePlan { group_by, aggregates };
        let (_, used) = scan.aggregate_told(&plan, 2).unwrap();
        let (parts, counted) = self.aggregated.get();
        self.aggregated.set((parts + used.parts, counted + used.counted));
        let definition = self.format.definition();
        assert_as_new(&scan, &[definition.columns[column].kind], &plan);
    }
}

/// Keeps away: rows that an index leaves out or adds, whatever they are compacted in, deleted from or replaced by, and whatever else is
/// asked; files that are missing after rows were compacted, or that stay when their segment or their index is gone.
#[test]
fn scans_select_what_rows_answer() {
    for storage in [Storage::Column, Storage::Append] {
        let disk = SimDisk::new(8);
        let mut random = Random::new(8);
        let (mut engine, _) = open(&disk.env(), &small_options()).unwrap();
        let mut world = World::new(&engine, storage);
        for (round, index) in indexes().into_iter().chain(indexes()).enumerate() {
            if round < indexes().len() {
                // Of rows that are there already, and for those to come.
                engine.create_index(&index).unwrap();
            }
            world.write(&engine, &mut random, 1200);
            match round % 4 {
                0 => engine.compact_due().unwrap(),
                1 => engine.compact().unwrap(),
                2 => engine.flush().unwrap(),
                _ => {
                    drop(engine);
                    engine = open(&disk.env(), &small_options()).unwrap().0;
                }
            }
            let (files, segments) = (names(&disk, "posting-").len(), names(&disk, "segment-").len());
            assert_eq!(files, segments * (round + 1).min(indexes().len()), "{storage:?}, round {round}");
            world.compare(&engine, &mut random);
        }
        let (parts, counted) = world.aggregated.get();
        assert!(counted * 8 > parts, "{counted} of {parts} segments are counted by leaves");
        assert_sound(&engine);
        for index in indexes() {
            engine.drop_index(&index.name).unwrap();
        }
        assert_eq!(names(&disk, "posting-"), Vec::<String>::new());
        assert_sound(&engine);
    }
}

/// Keeps away: files that a crash leaves behind for ever, and rows that are not found where one took a file with it.
#[test]
fn crashes() {
    let mut random = Random::new(21);
    let mut disk = SimDisk::new(21);
    let mut world = None;
    for round in 0..12 {
        let (engine, _) = open(&disk.env(), &small_options()).unwrap();
        let world = world.get_or_insert_with(|| World::new(&engine, Storage::Column));
        let index = IndexDefinition::new("by_kind", "t", &["kind"]).br64();
        match engine.create_index(&index) {
            Ok(_) | Err(Error::Exists(_)) => {}
            Err(error) => panic!("{error}"),
        }
        world.compare(&engine, &mut random);
        engine.compact_due().unwrap();
        let (files, segments) = (names(&disk, "posting-").len(), names(&disk, "segment-").len());
        assert_eq!(files, segments, "round {round}");
        world.write(&engine, &mut random, 900);
        if round % 3 > 0 {
            engine.compact().unwrap();
        }
        if round % 3 == 2 {
            engine.drop_index("by_kind").unwrap();
        }
        assert_sound(&engine);
        let next = disk.crash();
        drop(engine);
        disk = next;
    }
}

/// Keeps away: damage of a file that is passed over, and an index that cannot be mended.
#[test]
fn damage() {
    let disk = SimDisk::new(5);
    let mut random = Random::new(5);
    let (engine, _) = open(&disk.env(), &small_options()).unwrap();
    let mut world = World::new(&engine, Storage::Column);
    engine.create_index(&IndexDefinition::new("by_kind", "t", &["kind"]).br64()).unwrap();
    world.write(&engine, &mut random, 3000);
    engine.compact().unwrap();
    drop(engine);
    let name = names(&disk, "posting-").remove(0);
    let file = disk.open(&name, OpenMode::ReadWrite).unwrap();
    let mut byte = [0];
    for at in [3, file.len().unwrap() - 20] {
        file.read_at(&mut byte, at).unwrap();
        file.write_at(&[byte[0] ^ 4], at).unwrap();
        let (engine, _) = open(&disk.env(), &small_options()).unwrap();
        let test = Test::Between(Datum::I16(-5), Datum::I16(100));
        let equal = Test::Compare(Compare::Equal, Datum::I16(3));
        let asked = [test, equal].into_iter().find_map(|test| {
            let plan = ScanPlan {
                columns: vec![0],
                filters: vec![Filter { column: 2, test }],
                ..ScanPlan::default()
            };
            engine.snapshot().scan_columns(world.table, &plan).err()
        });
        let error = asked.expect("the file is damaged").to_string();
        assert!(error.contains(&name), "{error}");
        let report = engine.check().unwrap();
        assert!(report.problems.iter().any(|problem| problem.contains(&name)), "{:?}", report.problems);
        file.write_at(&byte, at).unwrap();
    }
    file.write_at(&[byte[0] ^ 4], file.len().unwrap() - 20).unwrap();
    let (engine, _) = open(&disk.env(), &small_options()).unwrap();
    engine.drop_index("by_kind").unwrap();
    engine.create_index(&IndexDefinition::new("by_kind", "t", &["kind"]).br64()).unwrap();
    world.compare(&engine, &mut random);
    assert_sound(&engine);
}

/// Keeps away: an index where none can be, and one that a transaction takes back.
#[test]
fn where_they_can_be() {
    let disk = SimDisk::new(11);
    let mut random = Random::new(11);
    let (engine, _) = open(&disk.env(), &small_options()).unwrap();
    let mut world = World::new(&engine, Storage::Column);
    engine.create_table(TableDefinition::new("b").column("id", Type::I64).primary_key(&["id"])).unwrap();
    let invalid = |index: IndexDefinition, what: &str| {
        let error = engine.create_index(&index).unwrap_err();
        assert!(matches!(error, Error::Invalid(_)) && error.to_string().contains(what), "{error}");
    };
    invalid(IndexDefinition::new("i", "b", &["id"]).br64(), "storage column or append");
    invalid(IndexDefinition::new("i", "t", &["id"]).br64().unique(), "not unique");
    invalid(IndexDefinition::new("i", "t", &["kind"]).br64_any(), "two columns or more");
    invalid(IndexDefinition::new("i", "t", &["kind", "town"]).br64_any(), "of one type");
    world.write(&engine, &mut random, 2000);
    engine.compact().unwrap();
    let mut tx = engine.begin(Isolation::Snapshot).unwrap();
    tx.create_index(&IndexDefinition::new("i", "t", &["kind"]).br64()).unwrap();
    tx.rollback();
    assert_eq!(names(&disk, "posting-"), Vec::<String>::new());
    let mut tx = engine.begin(Isolation::Snapshot).unwrap();
    tx.create_index(&IndexDefinition::new("i", "t", &["kind"]).br64()).unwrap();
    tx.commit().unwrap();
    world.compare(&engine, &mut random);
    engine.compact_due().unwrap();
    assert_eq!(names(&disk, "posting-").len(), names(&disk, "segment-").len());
    world.compare(&engine, &mut random);
    assert!(engine.set_storage("t", Storage::BTree).unwrap_err().to_string().contains("drop it first"));
    engine.set_storage("t", Storage::Append).unwrap();
    assert_eq!(names(&disk, "posting-").len(), names(&disk, "segment-").len());
    world.compare(&engine, &mut random);
    engine.drop_table("t").unwrap();
    engine.compact().unwrap();
    assert_eq!(names(&disk, "posting-"), Vec::<String>::new());
    assert_sound(&engine);
}

/// Keeps away: a full disk while a file is written that loses rows, leaves half of a file, or costs more than the request that met it.
#[test]
fn a_full_disk() {
    for op in [Op::Create, Op::Write, Op::Sync, Op::Rename] {
        let disk = SimDisk::new(13);
        let mut random = Random::new(13);
        let (engine, _) = open(&disk.env(), &small_options()).unwrap();
        let mut world = World::new(&engine, Storage::Column);
        engine.create_index(&IndexDefinition::new("by_kind", "t", &["kind"]).br64()).unwrap();
        world.write(&engine, &mut random, 1000);
        let file_prefix = Some("new-posting-".into());
        disk.inject(Fault { op, file_prefix, after: 0, kind: FaultKind::NoSpace, once: false });
        let error = engine.compact().unwrap_err();
        assert!(matches!(&error, Error::DiskFull(what) if what.contains("posting-")), "{op:?}: {error}");
        world.compare(&engine, &mut random);
        let index = IndexDefinition::new("by_town", "t", &["town"]).br64();
        engine.create_index(&index).unwrap();
        disk.clear_faults();
        engine.compact().unwrap();
        disk.inject(Fault {
            op,
            file_prefix: Some("new-posting-".into()),
            after: 0,
            kind: FaultKind::NoSpace,
            once: false,
        });
        let index = IndexDefinition::new("by_size", "t", &["size"]).br64();
        assert!(matches!(engine.create_index(&index), Err(Error::DiskFull(_))), "{op:?}");
        assert!(engine.current().catalog.find_index("by_size").is_err(), "{op:?}: it is not there");
        disk.clear_faults();
        engine.create_index(&index).unwrap();
        assert_eq!(names(&disk, "new-"), Vec::<String>::new(), "{op:?}");
        assert_eq!(names(&disk, "posting-").len(), 3 * names(&disk, "segment-").len(), "{op:?}");
        world.compare(&engine, &mut random);
        assert_sound(&engine);
    }
}

/// Keeps away: a backup without the files, with those of indexes that are gone, or in which rows are not found; and files of an encrypted
/// one that nobody can read.
#[test]
fn backups() {
    for key in [None, Some(KeySource::from(Key::new([7; 32])))] {
        let options = Options { key, ..small_options() };
        let (disk, target) = (SimDisk::new(15), SimDisk::new(16));
        let mut random = Random::new(15);
        let (engine, _) = open(&disk.env(), &options).unwrap();
        let mut world = World::new(&engine, Storage::Append);
        for index in indexes() {
            engine.create_index(&index).unwrap();
        }
        let to: Arc<dyn Disk> = Arc::new(target.clone());
        for round in 0..3 {
            world.write(&engine, &mut random, 700);
            engine.compact().unwrap();
            if round == 2 {
                engine.drop_index("by_any").unwrap();
            }
            engine.backup_to(&to).unwrap();
            assert_eq!(names(&target, "posting-"), names(&disk, "posting-"), "round {round}");
        }
        drop(to);
        let (copy, _) = open(&target.env(), &options).unwrap();
        assert_eq!(names(&target, "posting"), names(&disk, "posting"));
        world.compare(&copy, &mut random);
        assert_sound(&copy);
    }
}

/// Keeps away: aggregates that are not those of the rows where a segment is large, keys are few or many, rows are deleted or newer; and
/// rows that are looked at although leaves say all.
#[test]
fn aggregates_of_leaves() {
    let disk = SimDisk::new(17);
    let (engine, _) = open(&disk.env(), &Options { memtable_bytes: 1 << 20, ..small_options() }).unwrap();
    let definition = TableDefinition::new("t")
        .column("id", Type::I64)
        .column("few", Type::U8)
        .column_nullable("many", Type::I32)
        .column_nullable("text", Type::Utf8)
        .primary_key(&["id"])
        .storage(Storage::Column);
    let table = engine.create_table(definition).unwrap();
    let format = RowFormat::new(engine.current().catalog.table(table).unwrap().clone()).unwrap();
    let row = |id: i64| -> Vec<Datum> {
        let many = if id % 7 == 3 { Datum::Null } else { Datum::I32((id * 7919 % 1500 - 700) as i32) };
        let text = if id % 11 == 3 { Datum::Null } else { format!("text {}", id * id % 97).into() };
        vec![id.into(), Datum::U8((id * id % 13) as u8), many, text]
    };
    let put = |id: i64, like: i64| {
        let mut row = row(like);
        row[0] = id.into();
        let key = format.encode_key(&row, 0).unwrap();
        engine.put(table, &key, &format.encode_row(&row).unwrap()).unwrap();
    };
    for id in 0..6000 {
        put(id, id);
    }
    for column in ["few", "many", "text"] {
        let index = IndexDefinition::new(format!("by_{column}"), "t", &[column]).br64();
        engine.create_index(&index).unwrap();
    }
    engine.compact().unwrap();
    let types = [Type::U8, Type::I32, Type::Utf8];
    let compare = |is_counted: bool, what: &str| {
        for (place, ty) in types.iter().enumerate() {
            let scan = engine.snapshot();
            let plan = ScanPlan { columns: vec![place + 1], ..ScanPlan::default() };
            let scan = scan.scan_columns(table, &plan).unwrap();
            for group_by in [vec![], vec![0]] {
                let value = || Expression::Column(0);
                let aggregates =
                    vec![Aggregate::Count(value()), Aggregate::Min(value()), Aggregate::Max(value())];
                let plan = AggregatePlan { group_by, aggregates };
                let (_, used) = scan.aggregate_told(&plan, 1).unwrap();
                let expected = if is_counted { used.parts - used.kept } else { 0 };
                assert_eq!((used.counted, used.parts > 0), (expected, true), "{what}, {ty}, {used:?}");
                assert_as_new(&scan, &[*ty], &plan);
            }
        }
    };
    compare(true, "as written");
    for id in (0..6000).step_by(41) {
        put(id, id + 1);
    }
    compare(true, "with newer rows");
    for id in (7..6000).step_by(89) {
        engine.delete(table, &format.encode_key(&row(id), 0).unwrap()).unwrap();
    }
    compare(true, "with deleted ones");
    engine.flush().unwrap();
    engine.compact_due().unwrap();
    compare(true, "compacted as is due");
    for id in (0..6000).step_by(3) {
        put(id, id + 5);
    }
    compare(false, "with many newer rows");
    assert_sound(&engine);
}
