//! Scans of tables that are stored as rows, in parts: beside the whole, and beside a model.

use std::{
    collections::BTreeMap,
    sync::{
        Arc,
        atomic::{AtomicBool, AtomicUsize, Ordering},
    },
    thread,
    time::{Duration, Instant},
};

use ambo_codec::{Type, Value as Datum, column::Compare};
use ambo_engine::{
    Error,
    catalog::{Storage, TableDefinition},
    database::{Engine, Isolation, Options, RowFormat, RowScan, Running, ScanPlan, Snapshot, UnitRows},
    id::TableId,
    io::sim::SimDisk,
    scan::{Filter, Test},
};

use crate::support::{Random, assert_sound, bytes, open, small_options};

type Model = BTreeMap<Vec<u8>, Vec<Datum>>;

/// Columns `(a i32, b text, c i64 or NULL, d f64, e binary)`; the key is `(b, a)`.
fn create(engine: &Arc<Engine>, storage: Storage) -> (TableId, RowFormat) {
    let definition = TableDefinition::new("t")
        .column("a", Type::I32)
        .column("b", Type::Utf8)
        .column_nullable("c", Type::I64)
        .column("d", Type::F64)
        .column("e", Type::Binary)
        .primary_key(&["b", "a"])
        .storage(storage);
    let id = engine.create_table(definition).unwrap();
    let definition = engine.current().catalog.table(id).unwrap().clone();
    (id, RowFormat::new(definition).unwrap())
}

fn row(random: &mut Random) -> Vec<Datum> {
    // Some are long enough for a blob.
    let e = if random.one_in(100) { 6000 } else { random.below(30) as usize };
    vec![
        Datum::I32(random.below(400) as i32 - 200),
        format!("{}\0{}", ["x", "", "yz"][random.below(3) as usize], random.below(5)).into(),
        if random.one_in(5) { Datum::Null } else { Datum::I64(random.below(9) as i64) },
        Datum::F64([0.0, -0.0, f64::NAN, 1.5, -3.25][random.below(5) as usize]),
        Datum::Binary(bytes(random.next(), e)),
    ]
}

fn filter(random: &mut Random) -> Filter {
    let column = random.below(4) as usize;
    let compares = [Compare::Equal, Compare::Less, Compare::GreaterEqual, Compare::NotEqual];
    let constant = |random: &mut Random| row(random)[column].clone();
    let test = match random.below(5) {
        0 => Test::IsNull,
        1 => Test::IsNotNull,
        2 => Test::Between(constant(random), constant(random)),
        _ => Test::Compare(*random.pick(&compares), constant(random)),
    };
    Filter { column, test }
}

/// What a condition says of a value of its own type. NULL answers no to all but the question about it.
fn answers(value: &Datum, test: &Test) -> bool {
    let order = |constant: &Datum| (!value.is_null() && !constant.is_null()).then(|| value.cmp(constant));
    match test {
        Test::IsNull => value.is_null(),
        Test::IsNotNull => !value.is_null(),
        Test::Between(low, high) => {
            order(low).is_some_and(|order| order.is_ge()) && order(high).is_some_and(|order| order.is_le())
        }
        Test::Compare(compare, constant) => order(constant).is_some_and(|order| compare.holds(order)),
        _ => unreachable!("not asked here"),
    }
}

fn expected(model: &Model, plan: &ScanPlan) -> Vec<Vec<Datum>> {
    let is_meant = |row: &&Vec<Datum>| plan.filters.iter().all(|of| answers(&row[of.column], &of.test));
    let meant = model.values().filter(is_meant);
    meant.map(|row| plan.columns.iter().map(|column| row[*column].clone()).collect()).collect()
}

fn take(mut rows: UnitRows, batch: usize, out: &mut Vec<Vec<Datum>>) {
    while let Some((columns, count)) = rows.next_columns(batch).unwrap() {
        assert!(count <= batch && columns.iter().all(|column| column.len() == count));
        for row in 0..count {
            out.push(columns.iter().map(|column| column.get(row).unwrap().to_value()).collect());
        }
    }
    assert!(rows.next_columns(batch).unwrap().is_none(), "behind the last");
}

/// NaN is one value, and the zeros are two.
fn words(rows: &[Vec<Datum>]) -> Vec<String> {
    rows.iter().map(|row| format!("{row:?}")).collect()
}

/// A scan that was begun, and what it has to find, whatever happens meanwhile.
struct Begun {
    scan: Arc<RowScan>,
    expected: Vec<Vec<Datum>>,
    found: Vec<Vec<Datum>>,
    next: usize,
}

impl Begun {
    fn new(snapshot: Snapshot, table: TableId, plan: &ScanPlan, model: &Model, random: &mut Random) -> Self {
        let scan = snapshot.into_row_scan(table, plan).unwrap().with_unit_rows(1 + random.below(200));
        Self { scan: Arc::new(scan), expected: expected(model, plan), found: Vec::new(), next: 0 }
    }

    /// Reads the next unit. Says whether there was one.
    fn step(&mut self, random: &mut Random) -> bool {
        if self.next == self.scan.units().unwrap() {
            return false;
        }
        let batch = [1, 7, 1000][random.below(3) as usize];
        take(self.scan.unit(self.next, &[]).unwrap(), batch, &mut self.found);
        self.next += 1;
        true
    }

    /// Compares units with the whole, and both with the model. Returns how many units there were.
    fn finish(mut self, random: &mut Random) -> usize {
        while self.step(random) {}
        assert!(self.scan.is_in_order());
        assert_eq!(words(&self.found), words(&self.expected), "units in their order");
        let mut all = Vec::new();
        take(self.scan.all().unwrap(), 100, &mut all);
        assert_eq!(words(&all), words(&self.expected), "as one unit");
        self.next
    }
}

/// Keeps away: a row that is in two units or in none, is of another moment, lacks an own write, or is read with another's column, while
/// rows are written, frozen, flushed, merged and compacted between the making of units and their reading.
#[test]
fn units_are_the_whole_is_the_model() {
    let (mut scans, mut units) = (0, 0);
    for seed in 0..12 {
        let storage = if seed % 3 == 0 { Storage::Memory } else { Storage::BTree };
        let disk = SimDisk::new(seed);
        let mut random = Random::new(500 + seed);
        let (engine, _) = open(&disk.env(), &small_options()).unwrap();
        let (table, format) = create(&engine, storage);
        let mut model = Model::new();
        let mut begun: Vec<Begun> = Vec::new();
        for _ in 0..60 {
            let mut tx = engine.begin(Isolation::Snapshot).unwrap();
            let before = model.clone();
            for _ in 0..random.below(120) {
                let row = row(&mut random);
                let key = format.encode_key(&row, 0).unwrap();
                match random.one_in(4) {
                    true => {
                        tx.delete(table, &key).unwrap();
                        model.remove(&key);
                    }
                    false => {
                        tx.put(table, &key, &format.encode_row(&row).unwrap()).unwrap();
                        model.insert(key, row);
                    }
                }
            }
            for (snapshot, model) in [(tx.view(), &model), (engine.snapshot(), &before)] {
                let plan = ScanPlan {
                    columns: (0..random.below(6)).map(|_| random.below(5) as usize).collect(),
                    filters: (0..random.below(3)).map(|_| filter(&mut random)).collect(),
                    ..ScanPlan::default()
                };
                begun.push(Begun::new(snapshot, table, &plan, model, &mut random));
            }
            match random.one_in(5) {
                true => {
                    drop(tx);
                    model = before;
                }
                false => _ = tx.commit().unwrap(),
            }
            match random.below(8) {
                0 => engine.flush().unwrap(),
                1 => engine.compact().unwrap(),
                _ => {}
            }
            for begun in &mut begun {
                begun.step(&mut random);
            }
            if begun.len() > 6 {
                units += begun.swap_remove(random.below(6) as usize).finish(&mut random);
                scans += 1;
            }
        }
        for begun in begun {
            begun.finish(&mut random);
        }
        assert_sound(&engine);
    }
    assert!(units > scans * 5, "{units} units of {scans} scans");
}

/// Keeps away: cuts that are not where the rows are, so that one thread has most of the work: in trees, runs, memtables and own writes.
#[test]
fn units_have_about_as_many_rows() {
    for state in ["compacted", "in a memtable", "own", "in runs", "half newer"] {
        let disk = SimDisk::new(9);
        let (engine, _) =
            open(&disk.env(), &Options { memtable_bytes: 64 << 20, ..small_options() }).unwrap();
        let (table, format) = create(&engine, Storage::BTree);
        let mut random = Random::new(9);
        let mut tx = engine.begin(Isolation::Snapshot).unwrap();
        for n in 0..20_000 {
            let mut row = row(&mut random);
            (row[0], row[1], row[4]) = (Datum::I32(n), "all".into(), Datum::Binary(vec![1]));
            tx.put(table, &format.encode_key(&row, 0).unwrap(), &format.encode_row(&row).unwrap()).unwrap();
            if state == "in runs" && n % 5000 == 4999 || state == "half newer" && n == 10_000 {
                tx.commit().unwrap();
                engine.flush().unwrap();
                tx = engine.begin(Isolation::Snapshot).unwrap();
            }
        }
        let snapshot = match state {
            "own" => tx.view(),
            _ => {
                tx.commit().unwrap();
                if state == "compacted" {
                    engine.compact().unwrap();
                }
                engine.snapshot()
            }
        };
        let plan = ScanPlan { columns: vec![0], filters: Vec::new(), ..ScanPlan::default() };
        let scan = Arc::new(snapshot.into_row_scan(table, &plan).unwrap().with_unit_rows(1000));
        let rows = |unit| {
            let mut rows = Vec::new();
            take(scan.unit(unit, &[]).unwrap(), 300, &mut rows);
            rows.len()
        };
        let rows: Vec<usize> = (0..scan.units().unwrap()).map(rows).collect();
        assert_eq!(rows.iter().sum::<usize>(), 20_000, "{state}");
        assert!((10..=25).contains(&rows.len()), "{state}: {rows:?}");
        assert!(rows.iter().all(|rows| *rows < 2500), "{state}: {rows:?}");
        drop(scan);
        assert_sound(&engine);
    }
}

/// Keeps away: filters that are given to a unit being forgotten, or asked of the wrong column; units of rows that an index leads to.
#[test]
fn a_unit_answers_more_questions() {
    let disk = SimDisk::new(4);
    let mut random = Random::new(4);
    let (engine, _) = open(&disk.env(), &small_options()).unwrap();
    let (table, format) = create(&engine, Storage::BTree);
    let index = ambo_engine::catalog::IndexDefinition::new("c", "t", &["c", "a"]);
    engine.create_index(&index).unwrap();
    let mut model = Model::new();
    for _ in 0..3000 {
        let row = row(&mut random);
        let key = format.encode_key(&row, 0).unwrap();
        engine.put(table, &key, &format.encode_row(&row).unwrap()).unwrap();
        model.insert(key, row);
    }
    engine.compact().unwrap();
    let equal = |column, value: Datum| Filter { column, test: Test::Compare(Compare::Equal, value) };
    let mut paths = BTreeMap::new();
    for round in 0..40 {
        let filters = match round % 2 {
            0 => vec![equal(2, Datum::I64(round % 9)), equal(0, Datum::I32(round as i32 * 5 - 100))],
            _ => vec![filter(&mut random)],
        };
        let mut plan = ScanPlan { columns: vec![4, 3, 0, 1], filters, ..ScanPlan::default() };
        let scan = engine.snapshot().into_row_scan(table, &plan).unwrap().with_unit_rows(100);
        *paths.entry(scan.path().to_owned()).or_insert(0) += 1;
        let scan = Arc::new(scan);
        // Of the key's first column, too, which leaves part of the keys.
        let (place, column, test) = match round % 3 {
            0 => (1, 3, Test::Compare(Compare::Less, Datum::F64(1.0))),
            1 => (3, 1, Test::Between("x\x001".into(), "x\x003".into())),
            _ => (3, 1, Test::Compare(Compare::Equal, "\x002".into())),
        };
        let more = [scan.filter(place, test.clone()).unwrap()];
        // Twice: rows that an index led to are gone after the first time.
        for _ in 0..2 {
            let mut found = Vec::new();
            (0..scan.units().unwrap()).for_each(|unit| take(scan.unit(unit, &more).unwrap(), 50, &mut found));
            plan.filters.push(Filter { column, test: test.clone() });
            let (mut found, mut expected) = (words(&found), words(&expected(&model, &plan)));
            plan.filters.pop();
            found.sort();
            expected.sort();
            assert_eq!(found, expected, "{}", scan.path());
        }
    }
    assert!(paths.contains_key("index \"main.c\"") && paths.contains_key("all rows"), "{paths:?}");
    assert_sound(&engine);
}

/// Keeps away: raw records and long values that are read as something else, in a table without columns of its own.
#[test]
fn keys_and_values_as_they_are() {
    let disk = SimDisk::new(5);
    let (engine, _) = open(&disk.env(), &small_options()).unwrap();
    let table = engine.create_table(TableDefinition::key_value("t")).unwrap();
    let value = |n: u32| bytes(n.into(), if n.is_multiple_of(50) { 30_000 } else { n as usize % 40 });
    for n in 0..600u32 {
        engine.put(table, &n.to_be_bytes(), &value(n)).unwrap();
        if n == 300 {
            engine.compact().unwrap();
        }
    }
    for columns in [vec![0, 1], vec![1], vec![0], vec![]] {
        let plan = ScanPlan { columns: columns.clone(), filters: Vec::new(), ..ScanPlan::default() };
        let scan = Arc::new(engine.snapshot().into_row_scan(table, &plan).unwrap().with_unit_rows(50));
        let mut found = Vec::new();
        (0..scan.units().unwrap()).for_each(|unit| take(scan.unit(unit, &[]).unwrap(), 20, &mut found));
        let cell = |n: u32, column| match column {
            0 => Datum::Binary(n.to_be_bytes().to_vec()),
            _ => Datum::Binary(value(n)),
        };
        let row = |n| columns.iter().map(|column| cell(n, *column)).collect();
        assert!(found == (0..600).map(row).collect::<Vec<Vec<Datum>>>(), "{columns:?}");
    }
    assert_sound(&engine);
}

/// Keeps away: pages that a scan, left before its end, keeps for good; and pages that are used again while it reads.
#[test]
fn a_scan_keeps_its_pages_until_it_is_dropped() {
    let disk = SimDisk::new(6);
    let mut random = Random::new(6);
    let (engine, _) = open(&disk.env(), &small_options()).unwrap();
    let (table, format) = create(&engine, Storage::BTree);
    let mut model = Model::new();
    let mut write = |model: &mut Model| {
        for n in 0..4000 {
            let mut row = row(&mut random);
            (row[0], row[1], row[4]) = (Datum::I32(n), "t".into(), Datum::Binary(bytes(random.next(), 40)));
            let key = format.encode_key(&row, 0).unwrap();
            engine.put(table, &key, &format.encode_row(&row).unwrap()).unwrap();
            model.insert(key, row);
        }
        engine.compact().unwrap();
        engine.info().unwrap().pages.used_pages
    };
    let first = write(&mut model);
    let plan = ScanPlan { columns: vec![4, 0], filters: Vec::new(), ..ScanPlan::default() };
    let expected = expected(&model, &plan);
    let scan = engine.snapshot().into_row_scan(table, &plan).unwrap().with_unit_rows(500);
    let scan = Arc::new(scan);
    let units = scan.units().unwrap();
    let mut half_read = scan.unit(0, &[]).unwrap();
    half_read.next_columns(10).unwrap().unwrap();
    let kept = write(&mut model);
    assert!(kept > first * 3 / 2, "{first} pages, {kept} with the scan's");
    let mut found = Vec::new();
    (0..units).for_each(|unit| take(scan.unit(unit, &[]).unwrap(), 100, &mut found));
    assert!(found == expected);
    drop(scan);
    write(&mut model);
    // A unit that is still read holds all that the scan held.
    let (columns, _) = half_read.next_columns(1).unwrap().unwrap();
    assert_eq!(columns[0].get(0).unwrap().to_value(), expected[10][0]);
    drop(half_read);
    write(&mut model);
    let after = write(&mut model);
    assert!(after < first * 5 / 4, "{first} pages, {after} afterwards");
    assert_sound(&engine);
}

/// Moves money about, and accounts too: the sum stays what it is.
fn transfer(engine: &Arc<Engine>, table: TableId, random: &mut Random) -> Result<(), Error> {
    let mut tx = engine.begin(Isolation::Snapshot)?;
    let read = |tx: &ambo_engine::database::Transaction, key: &[u8]| {
        let value = tx.get(table, key)?;
        Ok::<_, Error>(value.map_or(0, |value| u64::from_le_bytes(value[..8].try_into().unwrap())))
    };
    let (from, to) = (random.below(5000).to_be_bytes(), random.below(5000).to_be_bytes());
    if from == to {
        return Ok(());
    }
    let (had, has) = (read(&tx, &from)?, read(&tx, &to)?);
    let amount = if random.one_in(3) { had } else { random.below(had + 1) };
    match had - amount {
        0 => tx.delete(table, &from)?,
        left => tx.put(table, &from, &left.to_le_bytes())?,
    }
    match has + amount {
        0 => {}
        sum => tx.put(table, &to, &sum.to_le_bytes())?,
    }
    tx.commit().map(|_| ())
}

/// Keeps away: two threads that see different moments, or a row twice or never, while others write and the table is flushed and merged
/// beneath them.
#[test]
fn two_threads_read_one_moment() {
    const TOTAL: u64 = 3000 * 1000;
    let disk = SimDisk::new(7);
    let options = Options {
        background_threads: true,
        background_merge: true,
        lock_timeout: Duration::from_secs(5),
        ..small_options()
    };
    let running = Running::start(Engine::open(disk.env(), options).unwrap().0).unwrap();
    let engine = running.engine();
    let table = engine.create_table(TableDefinition::key_value("t")).unwrap();
    for n in 0..3000u64 {
        engine.put(table, &n.to_be_bytes(), &1000u64.to_le_bytes()).unwrap();
    }
    let is_over = AtomicBool::new(false);
    let scans = thread::scope(|scope| {
        let writers: Vec<_> = (0..3)
            .map(|writer| {
                let is_over = &is_over;
                scope.spawn(move || {
                    let mut random = Random::new(writer);
                    while !is_over.load(Ordering::Relaxed) {
                        match transfer(engine, table, &mut random) {
                            Ok(()) | Err(Error::Conflict(_)) => {}
                            Err(error) => panic!("{error}"),
                        }
                    }
                })
            })
            .collect();
        // Writers end when a scan fails, too.
        let over = Over(&is_over);
        let (mut scans, begin) = (0, Instant::now());
        while begin.elapsed() < Duration::from_secs(4) {
            let plan = ScanPlan { columns: vec![0, 1], filters: Vec::new(), ..ScanPlan::default() };
            let scan = engine.snapshot().into_row_scan(table, &plan).unwrap().with_unit_rows(200);
            assert_eq!(sum(&Arc::new(scan)), TOTAL, "scan {scans}");
            scans += 1;
        }
        drop(over);
        writers.into_iter().for_each(|writer| writer.join().unwrap());
        scans
    });
    assert!(scans > 20, "{scans}");
    assert_sound(engine);
}

/// Says that it is over when it is dropped.
struct Over<'a>(&'a AtomicBool);

impl Drop for Over<'_> {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Relaxed);
    }
}

/// The sum of all values, by two threads, each of which sees keys ascend.
fn sum(scan: &Arc<RowScan>) -> u64 {
    let next = AtomicUsize::new(0);
    let units = scan.units().unwrap();
    let read = || {
        let (mut sum, mut last) = (0, Vec::new());
        loop {
            let unit = next.fetch_add(1, Ordering::Relaxed);
            if unit >= units {
                return sum;
            }
            let mut rows = Vec::new();
            take(scan.unit(unit, &[]).unwrap(), 64, &mut rows);
            for row in rows {
                let [Datum::Binary(key), Datum::Binary(value)] = &row[..] else { panic!("{row:?}") };
                assert!(*key > last, "keys ascend");
                last = key.clone();
                sum += u64::from_le_bytes(value[..8].try_into().unwrap());
            }
        }
    };
    thread::scope(|scope| {
        let other = scope.spawn(read);
        read() + other.join().unwrap()
    })
}
