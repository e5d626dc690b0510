//! Columns that come, go and are renamed while a table has rows.

use std::{collections::BTreeMap, sync::Arc};

use ambo_codec::{Type, Value as Datum, column::Compare};
use ambo_engine::{
    Error,
    catalog::{Column, IndexDefinition, Storage, TableChange, TableDefinition, View},
    database::{CatalogEdit, Engine, IndexRange, Isolation, LoadOptions, RowFormat, ScanPlan, Snapshot},
    id::TableId,
    io::sim::SimDisk,
    scan::{Aggregate, AggregatePlan, Filter, Test},
};

use crate::{
    stop::Stop,
    support::{Random, assert_sound, open, rows, small_options},
};

/// A column is called by its number, whatever else its name says: `c7`, `c7_2`.
fn number(name: &str) -> u32 {
    name[1..].split('_').next().unwrap().parse().unwrap()
}

/// Values by numbers of columns.
type Row = BTreeMap<u32, Datum>;

const KINDS: [Type; 7] = [
    Type::I64,
    Type::I32,
    Type::Utf8,
    Type::Bool,
    Type::F64,
    Type::Date32,
    Type::Decimal128 { precision: 10, scale: 2 },
];

fn value(kind: Type, random: &mut Random) -> Datum {
    let small = random.below(4) as i32;
    match kind {
        Type::Utf8 => {
            Datum::from(["", "Oslo", "Lisbon", "a text that is longer than sixteen bytes"][small as usize])
        }
        Type::Bool => (small % 2 == 0).into(),
        Type::F64 => (f64::from(small) / 4.0).into(),
        Type::Date32 => Datum::Date32(small),
        Type::Decimal128 { scale, .. } => Datum::Decimal128 { unscaled: small.into(), scale },
        kind => Datum::I32(small).fit(kind).unwrap(),
    }
}

/// The rows of a table, and the formats that handles may have of it, the newest last.
struct World {
    disk: SimDisk,
    engine: Arc<Engine>,
    table: TableId,
    formats: Vec<Arc<RowFormat>>,
    rows: BTreeMap<i64, Row>,
    /// What a row without a column reads, of all columns there ever were.
    defaults: BTreeMap<u32, Datum>,
    snapshots: Vec<(Snapshot, Arc<RowFormat>, BTreeMap<i64, Row>)>,
    columns: u32,
    random: Random,
}

impl World {
    fn new(seed: u64, storage: Storage) -> Self {
        let disk = SimDisk::new(seed);
        let (engine, _) = open(&disk.env(), &small_options()).unwrap();
        // The key is in the middle, so that its place moves.
        let definition = TableDefinition::new("t")
            .column_nullable("c1", Type::I64)
            .column("c0", Type::I64)
            .column_nullable("c2", Type::Utf8)
            .primary_key(&["c0"])
            .storage(storage);
        let table = engine.create_table(definition).unwrap();
        let mut world = Self {
            disk,
            engine,
            table,
            formats: Vec::new(),
            rows: BTreeMap::new(),
            defaults: [1, 2].map(|column| (column, Datum::Null)).into(),
            snapshots: Vec::new(),
            columns: 3,
            random: Random::new(seed),
        };
        world.learn();
        world
    }

    fn definition(&self) -> Arc<TableDefinition> {
        self.engine.current().catalog.table(self.table).unwrap().clone()
    }

    /// Takes a new handle.
    fn learn(&mut self) {
        self.formats.push(Arc::new(RowFormat::new(self.definition()).unwrap()));
    }

    fn newest(&self) -> Arc<RowFormat> {
        self.formats.last().unwrap().clone()
    }

    /// A column that may be dropped or renamed.
    fn some_column(&mut self) -> Option<String> {
        let definition = self.definition();
        let free: Vec<_> = definition.columns.iter().filter(|column| column.name != "c0").collect();
        (!free.is_empty()).then(|| self.random.pick(&free).name.clone())
    }

    fn change(&mut self, changes: &[TableChange]) {
        self.engine.change_table("t", changes).unwrap();
        self.learn();
        let there: Vec<_> = self.definition().columns.iter().map(|column| number(&column.name)).collect();
        for row in self.rows.values_mut() {
            row.retain(|column, _| there.contains(column));
            for column in there.iter().filter(|column| **column != 0) {
                row.entry(*column).or_insert_with(|| self.defaults[column].clone());
            }
        }
    }

    fn add_column(&mut self) -> TableChange {
        let kind = *self.random.pick(&KINDS);
        let number = self.columns;
        self.columns += 1;
        let mut column = Column::new(format!("c{number}"), kind);
        let default = match self.random.below(3) {
            0 => Datum::Null,
            _ => value(kind, &mut self.random),
        };
        if default.is_null() || self.random.one_in(2) {
            column = column.nullable();
        }
        if !default.is_null() {
            column = column.default_value(default.clone());
        }
        self.defaults.insert(number, default);
        TableChange::AddColumn(column)
    }

    /// Writes rows with some handle, an old one perhaps; over what is there, or instead of it.
    fn write(&mut self) {
        for _ in 0..self.random.below(60) {
            let format = match self.random.one_in(3) {
                true => self.random.pick(&self.formats).clone(),
                false => self.newest(),
            };
            let id = self.random.below(90) as i64;
            let old = self.rows.get(&id).cloned();
            let mut row = Vec::new();
            for column in &format.definition().columns {
                row.push(match number(&column.name) {
                    0 => id.into(),
                    _ if column.nullable && self.random.one_in(3) => Datum::Null,
                    _ => value(column.kind, &mut self.random),
                });
            }
            let key = format.encode_key(&row, 0).unwrap();
            if self.random.one_in(4) {
                self.engine.delete(self.table, &key).unwrap();
                self.rows.remove(&id);
                continue;
            }
            let stored = self.engine.get(self.table, &key).unwrap();
            let over = stored.filter(|_| self.random.one_in(2));
            let bytes = match &over {
                Some(stored) => format.encode_row_over(&row, stored).unwrap(),
                None => format.encode_row(&row).unwrap(),
            };
            self.engine.put(self.table, &key, &bytes).unwrap();
            let mut new = Row::new();
            for column in &self.definition().columns {
                let number = number(&column.name);
                let known =
                    format.definition().columns.iter().position(|other| self::number(&other.name) == number);
                let kept = old.as_ref().filter(|_| over.is_some()).map(|old| old.get(&number));
                let value = match (known, kept) {
                    _ if number == 0 => continue,
                    (Some(index), _) => row[index].clone(),
                    (None, Some(kept)) => kept.unwrap().clone(),
                    (None, None) => self.defaults[&number].clone(),
                };
                new.insert(number, value);
            }
            self.rows.insert(id, new);
        }
    }

    fn step(&mut self) {
        match self.random.below(14) {
            0..5 => self.write(),
            5 | 6 => {
                let change = self.add_column();
                self.change(&[change]);
            }
            7 => {
                let Some(column) = self.some_column() else { return };
                match self.engine.change_table("t", &[TableChange::DropColumn(column.clone())]) {
                    Ok(()) => self.change(&[]),
                    Err(error) => {
                        assert!(error.to_string().contains("\"main.i\" is over it"), "{error}");
                        self.engine.drop_index("i").unwrap();
                    }
                }
            }
            8 => {
                let Some(column) = self.some_column() else { return };
                let to = format!("c{}_{}", number(&column), self.random.below(100));
                // It may be its name already; another change goes with it.
                let add = self.add_column();
                self.change(&[TableChange::rename_column(column, to), add]);
            }
            9 => self.engine.flush().unwrap(),
            10 => match self.random.below(3) {
                0 => self.engine.vacuum().map(drop).unwrap(),
                _ => self.engine.compact().unwrap(),
            },
            11 => {
                let storage =
                    *self.random.pick(&[Storage::BTree, Storage::Column, Storage::Memory, Storage::Append]);
                self.engine.set_storage("t", storage).unwrap();
            }
            12 => {
                let Some(column) = self.some_column() else { return };
                match self.engine.create_index(&IndexDefinition::new("i", "t", &[column.as_str(), "c0"])) {
                    Ok(_) | Err(Error::Exists(_)) => {}
                    Err(error) => panic!("{error}"),
                }
            }
            _ => {
                if self.random.one_in(2) {
                    self.snapshots.push((self.engine.snapshot(), self.newest(), self.rows.clone()));
                } else if self.random.one_in(3) {
                    self.reopen();
                }
            }
        }
    }

    fn reopen(&mut self) {
        self.snapshots.clear();
        if self.definition().storage == Storage::Memory {
            return;
        }
        self.disk = self.disk.crash();
        let definition = self.definition();
        let (engine, _) = open(&self.disk.env(), &small_options()).unwrap();
        self.engine = engine;
        assert_eq!(self.definition(), definition);
        // Handles do not outlive their database.
        self.formats.clear();
        self.learn();
    }

    fn verify(&mut self) {
        self.snapshots.push((self.engine.snapshot(), self.newest(), self.rows.clone()));
        for (snapshot, format, rows) in &self.snapshots {
            compare(snapshot, self.table, format, rows);
        }
        // An old handle reads what it knows.
        let old = self.random.pick(&self.formats).clone();
        for (key, row) in rows(&self.engine.snapshot(), self.table).unwrap() {
            old.decode(&key, &row).unwrap();
        }
        self.snapshots.pop();
        if self.snapshots.len() > 2 {
            self.snapshots.remove(0);
        }
        assert_sound(&self.engine);
    }
}

fn text(value: &Datum) -> String {
    format!("{value:?}")
}

/// All ways to read a table.
fn compare(snapshot: &Snapshot, table: TableId, format: &RowFormat, expected: &BTreeMap<i64, Row>) {
    let columns = &format.definition().columns;
    let typed = |key: &[u8], row: &[u8]| {
        let values = format.decode(key, row).unwrap();
        let mut row = Row::new();
        let mut id = None;
        for (column, value) in columns.iter().zip(values) {
            match number(&column.name) {
                0 => id = value.as_ref().as_i64(),
                number => drop(row.insert(number, value)),
            }
        }
        (id.unwrap(), row)
    };
    let found: BTreeMap<_, _> =
        rows(snapshot, table).unwrap().iter().map(|(key, row)| typed(key, row)).collect();
    assert_eq!(found, *expected);
    let definition = snapshot.catalog().table(table).unwrap();
    for (place, column) in columns.iter().enumerate().filter(|(_, column)| column.name != "c0") {
        let number = number(&column.name);
        let mut groups: BTreeMap<String, (Datum, u64)> = BTreeMap::new();
        for row in expected.values() {
            groups.entry(text(&row[&number])).or_insert((row[&number].clone(), 0)).1 += 1;
        }
        for (value, count) in groups.values() {
            let test =
                if value.is_null() { Test::IsNull } else { Test::Compare(Compare::Equal, value.clone()) };
            let filters = vec![Filter { column: place, test }];
            let mut rows = snapshot.find_rows(table, &filters).unwrap();
            let mut found = 0;
            while let Some((key, row)) = rows.next_row().unwrap() {
                assert_eq!(typed(&key, &row).1[&number], *value);
                found += 1;
            }
            assert_eq!(found, *count, "{column:?}, {value}");
            if definition.storage.traits().by_column {
                let scan = snapshot
                    .scan_columns(table, &ScanPlan { columns: vec![place], filters, ..ScanPlan::default() })
                    .unwrap();
                assert_eq!(scan.count(1).unwrap(), *count, "{column:?}, {value}");
            }
        }
        if definition.storage.traits().by_column {
            compare_scan(snapshot, table, place, &groups);
        }
    }
    if let Ok((index, _, of)) = snapshot.catalog().find_index("i") {
        let name = &columns[of.columns[0]].name;
        let values: Vec<_> = expected.values().map(|row| row[&number(name)].clone()).collect();
        for value in &values {
            let mut scan =
                snapshot.index_scan(index, IndexRange::Equal(std::slice::from_ref(value))).unwrap();
            let mut found = 0;
            while scan.next_key().unwrap().is_some() {
                found += 1;
            }
            assert_eq!(found, values.iter().filter(|other| text(other) == text(value)).count(), "{name}");
        }
    }
}

/// Groups, counts, bounds and bytes of a column of a column table.
fn compare_scan(snapshot: &Snapshot, table: TableId, place: usize, groups: &BTreeMap<String, (Datum, u64)>) {
    let scan = snapshot
        .scan_columns(table, &ScanPlan { columns: vec![place], filters: Vec::new(), ..ScanPlan::default() })
        .unwrap();
    let plan = AggregatePlan {
        group_by: vec![0],
        aggregates: vec![Aggregate::Rows, Aggregate::count(ambo_engine::scan::Expression::Column(0))],
    };
    let mut found: Vec<_> = scan.aggregate(&plan, 1).unwrap().rows;
    found.sort_by_key(|row| text(&row[0]));
    let count = |value: &Datum, count: u64| if value.is_null() { 0 } else { count as i64 };
    let expected: Vec<Vec<Datum>> = groups
        .values()
        .map(|(value, rows)| vec![value.clone(), Datum::I64(*rows as i64), Datum::I64(count(value, *rows))])
        .collect();
    assert_eq!(found, expected);
    let values: Vec<_> =
        groups.values().filter(|(value, _)| !value.is_null()).map(|(value, _)| value).collect();
    let bounds = scan.min_max(0, 1).unwrap();
    assert_eq!(bounds.is_some(), !values.is_empty());
    if let (Some((Datum::I64(low), Datum::I64(high))), Some(Datum::I64(_))) = (bounds, values.first()) {
        let numbers = || values.iter().filter_map(|value| value.as_ref().as_i64());
        assert_eq!((Some(low), Some(high)), (numbers().min(), numbers().max()));
    }
    let with_value = scan.fold(
        1,
        || 0,
        |count, morsel| {
            *count += morsel.count(0)?;
            let mut codes = Vec::new();
            if let Some((offsets, _)) = morsel.codes(0, &mut codes)? {
                assert!(
                    codes.len() == morsel.selected()
                        && codes.iter().all(|code| (*code as usize) < offsets.len() - 1)
                );
            }
            let (mut offsets, mut data) = (Vec::new(), Vec::new());
            if scan_is_text(groups) {
                morsel.texts(0, &mut offsets, &mut data)?;
                assert_eq!(offsets.len(), morsel.selected() + 1);
            }
            Ok(())
        },
    );
    let total: usize = with_value.unwrap().into_iter().sum();
    assert_eq!(
        total as u64,
        groups.values().filter(|(value, _)| !value.is_null()).map(|(_, rows)| rows).sum::<u64>()
    );
}

fn scan_is_text(groups: &BTreeMap<String, (Datum, u64)>) -> bool {
    groups.values().any(|(value, _)| matches!(value, Datum::Utf8(_)))
}

/// Keeps away: a row, a filter, an index, an aggregate or an old handle that sees another column's values, or none, after columns came and
/// went; before and after rows are compacted, stored otherwise, or read again after a crash.
#[test]
fn columns_come_and_go_under_rows() {
    for (seed, storage) in
        (0..24).zip([Storage::BTree, Storage::Column, Storage::Memory, Storage::Append].into_iter().cycle())
    {
        let mut world = World::new(seed, storage);
        for _ in 0..40 {
            world.step();
            if world.random.one_in(5) {
                world.verify();
            }
        }
        world.verify();
        world.reopen();
        world.verify();
    }
}

/// Keeps away: a transaction or a load that began before a change and leaves other rows than it was given.
#[test]
fn what_began_before_goes_on_with_the_older_columns() {
    for storage in [Storage::BTree, Storage::Column, Storage::Append] {
        let disk = SimDisk::new(3);
        let (engine, _) = open(&disk.env(), &small_options()).unwrap();
        let definition = TableDefinition::new("t")
            .column("id", Type::I64)
            .column("a", Type::I64)
            .column("b", Type::I64)
            .primary_key(&["id"])
            .storage(storage);
        let table = engine.create_table(definition).unwrap();
        let format = |engine: &Arc<Engine>| {
            RowFormat::new(engine.current().catalog.table(table).unwrap().clone()).unwrap()
        };
        let old = format(&engine);
        let row = |values: [i64; 3]| values.map(Datum::from);
        let put = |id| {
            let row = row([id, id * 10, id * 100]);
            engine.put(table, &old.encode_key(&row, 0).unwrap(), &old.encode_row(&row).unwrap()).unwrap();
        };
        put(1);
        engine.flush().unwrap();
        put(2);
        let mut tx = engine.begin(Isolation::Snapshot).unwrap();
        let load = storage.traits().by_column.then(|| {
            let load = engine.column_load(table, LoadOptions::default()).unwrap();
            let mut writer = load.writer();
            let mut columns = vec![ambo_engine::scan::ColumnBuffer::new(Type::I64); 3];
            for (column, value) in columns.iter_mut().zip([4i64, 40, 400]) {
                column.push(value.into()).unwrap();
            }
            writer.push(columns).unwrap();
            (load, writer)
        });
        let added = Column::new("c", Type::Utf8).default_value("new");
        let changes = [TableChange::DropColumn("a".into()), TableChange::AddColumn(added)];
        engine.change_table("t", &changes).unwrap();
        let new = format(&engine);
        let own = row([3, 30, 300]);
        let (key, bytes) = (old.encode_key(&own, 0).unwrap(), old.encode_row(&own).unwrap());
        tx.put(table, &key, &bytes).unwrap();
        assert_eq!(tx.catalog().find("t").unwrap().1.columns.len(), 3);
        assert_eq!(old.decode(&key, &tx.get(table, &key).unwrap().unwrap()).unwrap(), own);
        tx.commit().unwrap();
        if let Some((load, writer)) = load {
            writer.finish().unwrap();
            assert_eq!(load.finish().unwrap().rows, 1);
        } else {
            put(4);
        }
        let check = |engine: &Arc<Engine>| {
            let found = rows(&engine.snapshot(), table).unwrap();
            let found: Vec<_> = found.iter().map(|(key, row)| new.decode(key, row).unwrap()).collect();
            let expected = [1i64, 2, 3, 4].map(|id| vec![id.into(), (id * 100).into(), "new".into()]);
            assert_eq!(found, expected);
            assert_sound(engine);
        };
        check(&engine);
        // The old handle reads rows of both kinds; what is left of a dropped column, or NULL.
        for (key, row) in rows(&engine.snapshot(), table).unwrap() {
            assert_eq!(old.decode(&key, &row).unwrap()[2].as_ref().as_i64().unwrap() % 100, 0);
        }
        engine.compact().unwrap();
        check(&engine);
        let (again, _) = open(&disk.crash().env(), &small_options()).unwrap();
        check(&again);
    }
}

/// Keeps away: views and what SQL keeps with tables lost by a checkpoint, a log, or both.
#[test]
fn views_and_notes_outlive_crashes() {
    let disk = SimDisk::new(5);
    let (engine, _) = open(&disk.env(), &small_options()).unwrap();
    engine.define(&CatalogEdit::CreateSchema("s".into())).unwrap();
    engine.create_table(TableDefinition::new("t").column("x", Type::I64).check("positive", "x > 0")).unwrap();
    let long = format!("select {}", "x + ".repeat(10_000));
    engine
        .define(&CatalogEdit::CreateView { view: View::new("s.v", &long).comment("long"), replace: false })
        .unwrap();
    engine.define(&CatalogEdit::CreateView { view: View::new("w", "select 1"), replace: false }).unwrap();
    let set = TableChange::SetDefaultExpression { column: "x".into(), expression: Some("random()".into()) };
    engine.change_table("t", &[set, TableChange::SetComment(Some("numbers".into()))]).unwrap();
    let check = |disk: &SimDisk| {
        let (engine, _) = open(&disk.env(), &small_options()).unwrap();
        let catalog = engine.current().catalog.clone();
        let names: Vec<_> = catalog.views().map(|view| view.name.clone()).collect();
        assert_eq!(names, ["main.w", "s.v"]);
        assert_eq!(**catalog.find_view("s.v").unwrap(), View::new("s.v", &long).comment("long"));
        let (_, t) = catalog.find("t").unwrap();
        let expression = t.columns[0].default_expression.as_deref();
        assert_eq!((t.comment.as_deref(), expression), (Some("numbers"), Some("random()")));
        assert_eq!(t.checks.len(), 1);
        assert!(engine.define(&CatalogEdit::DropSchema("s".into())).unwrap_err().to_string().contains("s.v"));
        assert_sound(&engine);
        engine
    };
    // From the log, from a checkpoint, and from both.
    let disk = disk.crash();
    check(&disk).flush().unwrap();
    let disk = disk.crash();
    let engine = check(&disk);
    engine.define(&CatalogEdit::RenameView { from: "w".into(), to: "s.w".into() }).unwrap();
    engine.define(&CatalogEdit::RenameView { from: "s.w".into(), to: "w".into() }).unwrap();
    drop(engine);
    let disk = disk.crash();
    let engine = check(&disk);
    engine.define(&CatalogEdit::DropView("s.v".into())).unwrap();
    engine.define(&CatalogEdit::DropSchema("s".into())).unwrap();
    assert!(matches!(engine.current().catalog.find_view("s.v"), Err(Error::NotFound(_))));
    assert_sound(&engine);
}

/// A table of rows `(id, x)`, x nullable.
fn nullable(engine: &Arc<Engine>, storage: Storage) -> (TableId, RowFormat) {
    let definition = TableDefinition::new("t")
        .column("id", Type::I64)
        .column_nullable("x", Type::I64)
        .primary_key(&["id"])
        .storage(storage);
    let table = engine.create_table(definition).unwrap();
    (table, RowFormat::new(engine.current().catalog.table(table).unwrap().clone()).unwrap())
}

fn pair(format: &RowFormat, id: i64, x: Option<i64>) -> (Vec<u8>, Vec<u8>) {
    let row = [id.into(), x.map_or(Datum::Null, Datum::from)];
    (format.encode_key(&row, 0).unwrap(), format.encode_row(&row).unwrap())
}

/// Keeps away: a NULL in a column that refuses it, written by who does not know: an old handle, a transaction, a load; a refusal that stays
/// after the change failed; and one that is gone when the storage changes.
#[test]
fn no_null_slips_into_a_column_that_refuses_it() {
    for storage in [Storage::BTree, Storage::Column, Storage::Memory, Storage::Append] {
        let disk = SimDisk::new(9);
        let (engine, _) = open(&disk.env(), &small_options()).unwrap();
        let (table, old) = nullable(&engine, storage);
        let put = |id, x| {
            let (key, row) = pair(&old, id, x);
            engine.put(table, &key, &row)
        };
        put(1, Some(1)).unwrap();
        engine.flush().unwrap();
        put(2, None).unwrap();
        let error = engine.set_not_null("t", "x").unwrap_err().to_string();
        assert!(error.contains("the row with the key (2) has NULL there"), "{error}");
        put(3, None).unwrap();
        engine.compact().unwrap();
        assert!(engine.set_not_null("t", "x").is_err());
        for id in [2, 3] {
            engine.delete(table, &pair(&old, id, None).0).unwrap();
        }
        let mut tx = engine.begin(Isolation::Snapshot).unwrap();
        let (key, row) = pair(&old, 4, None);
        tx.put(table, &key, &row).unwrap();
        let mut bulk = engine.bulk_load(table).unwrap();
        let (key, row) = pair(&old, 5, None);
        bulk.push(&key, &row).unwrap();
        let load = storage.traits().by_column.then(|| {
            let load = engine.column_load(table, LoadOptions::default()).unwrap();
            let mut writer = load.writer();
            let mut columns = vec![ambo_engine::scan::ColumnBuffer::new(Type::I64); 2];
            columns[0].push(6i64.into()).unwrap();
            columns[1].push(ambo_codec::ValueRef::Null).unwrap();
            writer.push(columns).unwrap();
            writer.finish().unwrap();
            load
        });
        engine.set_not_null("t", "x").unwrap();
        engine.set_not_null("t", "x").unwrap();
        assert!(tx.commit().is_err());
        assert!(matches!(bulk.finish(), Err(Error::Conflict(_))));
        assert!(load.is_none_or(|load| matches!(load.finish(), Err(Error::Conflict(_)))));
        let refused = |id| {
            let error = put(id, None).unwrap_err().to_string();
            assert!(error.contains("NOT NULL"), "{error}");
        };
        refused(7);
        if storage == Storage::Column {
            engine.set_storage("t", Storage::BTree).unwrap();
            refused(7);
            engine.set_storage("t", Storage::Column).unwrap();
        }
        refused(7);
        engine.change_table("t", &[TableChange::AddColumn(Column::new("y", Type::Bool).nullable())]).unwrap();
        refused(7);
        put(8, Some(8)).unwrap();
        let ids = |engine: &Arc<Engine>| {
            let found = rows(&engine.snapshot(), table).unwrap();
            found.iter().map(|(key, row)| old.decode(key, row).unwrap()).collect::<Vec<_>>()
        };
        assert_eq!(ids(&engine), [[1i64.into(), 1i64.into()], [8i64.into(), 8i64.into()]]);
        assert_sound(&engine);
        engine.change_table("t", &[TableChange::DropNotNull("x".into())]).unwrap();
        put(9, None).unwrap();
        assert_eq!(ids(&engine).len(), 3);
        assert!(engine.set_not_null("t", "x").is_err());
        engine.create_index(&IndexDefinition::new("i", "t", &["x"])).unwrap();
        let error = engine.set_not_null("t", "x").unwrap_err().to_string();
        assert!(error.contains("\"main.i\" is over it"), "{error}");
        assert_sound(&engine);
    }
}

/// Keeps away: a NULL that a writer gets in while all rows are looked at, and writers that are refused for ever after it failed.
#[test]
fn writers_go_on_while_a_column_comes_to_refuse_null() {
    for storage in [Storage::BTree, Storage::Column, Storage::Append] {
        let options = ambo_engine::database::Options {
            background_threads: true,
            background_merge: true,
            lock_timeout: std::time::Duration::from_secs(5),
            ..small_options()
        };
        let disk = SimDisk::new(10);
        let (engine, _) = Engine::open(disk.env(), options).unwrap();
        let running = ambo_engine::database::Running::start(engine).unwrap();
        let engine = running.engine();
        let (table, old) = nullable(engine, storage);
        let stop = Stop::new();
        stop.scope(|scope| {
            for me in 0..2 {
                let (old, stop) = (&old, &stop);
                scope.spawn(move || {
                    let mut random = Random::new(me);
                    let mut null: Option<Vec<u8>> = None;
                    while stop.goes_on() {
                        // A NULL stays for a while.
                        if random.one_in(3)
                            && let Some(key) = null.take()
                        {
                            engine.delete(table, &key).unwrap();
                        }
                        let id = (random.below(50) * 2 + me) as i64;
                        let x = (!random.one_in(3) || null.is_some()).then_some(id);
                        let (key, row) = pair(old, id, x);
                        match engine.put(table, &key, &row) {
                            Ok(()) if x.is_none() => null = Some(key),
                            Ok(()) => {}
                            Err(error) => {
                                assert!(x.is_none() && error.to_string().contains("NOT NULL"), "{error}")
                            }
                        }
                    }
                });
            }
            let mut done = 0;
            let mut tries = 0;
            while done < 8 && tries < 100_000 {
                tries += 1;
                if engine.set_not_null("t", "x").is_err() {
                    continue;
                }
                done += 1;
                std::thread::sleep(std::time::Duration::from_millis(done % 3));
                let snapshot = engine.snapshot();
                let filters = [Filter { column: 1, test: Test::IsNull }];
                let found = snapshot.find_rows(table, &filters).unwrap().next_row().unwrap();
                assert_eq!(found, None);
                engine.change_table("t", &[TableChange::DropNotNull("x".into())]).unwrap();
            }
            assert_eq!(done, 8);
        });
        assert_sound(engine);
        running.close().unwrap();
    }
}

/// Keeps away: a table that is neither as it was nor as it was to be after a crash or a fault in the middle, and rows that do not fit what
/// it is.
#[test]
fn a_crash_in_the_middle_leaves_one_or_the_other() {
    use ambo_engine::io::sim::{Fault, FaultKind, Op};
    let mut seen = [0, 0];
    for (storage, op) in
        [Storage::BTree, Storage::Column].into_iter().flat_map(|s| [(s, Op::Write), (s, Op::Sync)])
    {
        for after in 0..14 {
            let disk = SimDisk::new(after);
            let (engine, _) = open(&disk.env(), &small_options()).unwrap();
            let (table, old) = nullable(&engine, storage);
            engine.create_index(&IndexDefinition::new("i", "t", &["x"])).unwrap();
            for id in 0..20 {
                let (key, row) = pair(&old, id, Some(id % 3));
                engine.put(table, &key, &row).unwrap();
                if id == 10 {
                    engine.compact().unwrap();
                }
            }
            disk.inject(Fault { op, file_prefix: None, after, kind: FaultKind::Io, once: true });
            let first = TableChange::AddColumn(Column::new("y", Type::I64).default_value(7i64));
            let second =
                [TableChange::rename_column("x", "z"), TableChange::SetComment(Some("changed".into()))];
            let work = || -> ambo_engine::Result<()> {
                engine.change_table("t", &[first])?;
                engine.flush()?;
                engine.change_table("t", &second)?;
                engine.compact()
            };
            let done = work().is_ok();
            drop(engine);
            let disk = disk.crash();
            let (engine, _) = open(&disk.env(), &small_options()).unwrap();
            let definition = engine.current().catalog.table(table).unwrap().clone();
            let names: Vec<_> = definition.columns.iter().map(|column| column.name.as_str()).collect();
            let changed = definition.comment.is_some();
            let expected: &[&str] = match (names.len(), changed) {
                (2, false) => &["id", "x"],
                (_, false) => &["id", "x", "y"],
                (_, true) => &["id", "z", "y"],
            };
            assert_eq!(names, expected);
            assert!(changed || !done);
            seen[usize::from(changed)] += 1;
            let format = RowFormat::new(definition.clone()).unwrap();
            let found = rows(&engine.snapshot(), table).unwrap();
            assert_eq!(found.len(), 20);
            for (id, (key, row)) in (0i64..).zip(&found) {
                let row = format.decode(key, row).unwrap();
                let all = [id.into(), (id % 3).into(), 7i64.into()];
                assert_eq!(row, all[..names.len()]);
            }
            assert_sound(&engine);
        }
    }
    assert!(seen.iter().all(|count| *count > 0), "{seen:?}");
}

/// Keeps away: a name without a table, or one that is both, after a crash while a table takes the place of another.
#[test]
fn a_table_takes_the_place_of_another_or_not() {
    use ambo_engine::io::sim::{Fault, FaultKind, Op};
    let mut seen = [0, 0];
    for (op, is_compacted) in [(Op::Write, false), (Op::Sync, false), (Op::Write, true), (Op::Sync, true)] {
        for after in 0..12 {
            let disk = SimDisk::new(after);
            let (engine, _) = open(&disk.env(), &small_options()).unwrap();
            let sorted = |name: &str| {
                let table = TableDefinition::new(name).column("id", Type::I64).column("x", Type::I64);
                table.primary_key(&["id"]).sort_key(&["x"]).storage(Storage::Column)
            };
            for (name, rows) in [("t", 20i64), ("new", 5)] {
                let table = engine.create_table(sorted(name)).unwrap();
                let format = RowFormat::new(engine.current().catalog.table(table).unwrap().clone()).unwrap();
                for id in 0..rows {
                    let row = [id.into(), (rows - id).into()];
                    let (key, row) = (format.encode_key(&row, 0).unwrap(), format.encode_row(&row).unwrap());
                    engine.put(table, &key, &row).unwrap();
                }
            }
            if is_compacted {
                engine.compact().unwrap();
            }
            disk.inject(Fault { op, file_prefix: None, after, kind: FaultKind::Io, once: true });
            let done = engine.define(&replace("t", "new")).is_ok();
            let compacted = engine.compact().is_ok();
            drop(engine);
            let disk = disk.crash();
            let (engine, _) = open(&disk.env(), &small_options()).unwrap();
            let names: Vec<_> =
                engine.current().catalog.tables().map(|(_, table)| table.name.clone()).collect();
            let replaced = names == ["main.t"];
            assert!(replaced || names == ["main.t", "main.new"], "{names:?}");
            assert!(replaced || !done);
            seen[usize::from(replaced)] += 1;
            let catalog = engine.current().catalog.clone();
            let (table, _) = catalog.find("t").unwrap();
            let count = rows(&engine.snapshot(), table).unwrap().len();
            assert_eq!(count, if replaced { 5 } else { 20 }, "{op:?} {after} {compacted}");
            assert_eq!(catalog.indexes_of(table).count(), 1);
            assert_sound(&engine);
            // What was not replaced still can be.
            if !replaced {
                engine.define(&replace("t", "new")).unwrap();
                assert_eq!(engine.current().catalog.tables().count(), 1);
                assert_sound(&engine);
            }
            assert!(matches!(engine.define(&replace("t", "t")), Err(Error::Invalid(_))));
            assert!(matches!(engine.define(&replace("t", "new")), Err(Error::NotFound(_))));
            // And one without rows in the place of it.
            let table = engine.define(&CatalogEdit::CreateOrReplaceTable(sorted("t"))).unwrap().unwrap();
            assert_eq!(rows(&engine.snapshot(), table).unwrap(), []);
            assert_sound(&engine);
        }
    }
    assert!(seen.iter().all(|count| *count > 0), "{seen:?}");
}

/// Keeps away: rows that lose a value, or get another's, when columns come and go while others write and what is written is compacted,
/// merged and stored otherwise in the background.
#[test]
fn columns_change_while_a_table_is_written_to() {
    let options = ambo_engine::database::Options {
        background_threads: true,
        background_merge: true,
        lock_timeout: std::time::Duration::from_secs(5),
        ..small_options()
    };
    for storage in [Storage::Column, Storage::BTree, Storage::Append] {
        let disk = SimDisk::new(11);
        let (engine, _) = Engine::open(disk.env(), options.clone()).unwrap();
        let running = ambo_engine::database::Running::start(engine).unwrap();
        let engine = running.engine();
        let (table, old) = nullable(engine, storage);
        engine.create_index(&IndexDefinition::new("i", "t", &["x"])).unwrap();
        let stop = Stop::new();
        let round_of = |name: &str| name.strip_prefix('c').map_or(0, |round| round.parse::<i64>().unwrap());
        let newest = |engine: &Arc<Engine>| {
            RowFormat::new(engine.current().catalog.table(table).unwrap().clone()).unwrap()
        };
        stop.scope(|scope| {
            for me in 0..2u64 {
                let (stop, old) = (&stop, &old);
                scope.spawn(move || {
                    let mut random = Random::new(me);
                    let mut rounds = 0;
                    while stop.goes_on() || rounds < 2000 {
                        rounds += 1;
                        let id = (random.below(300) * 2 + me) as i64;
                        if random.one_in(2) {
                            let (key, row) = pair(old, id, Some(id % 5));
                            engine.put(table, &key, &row).unwrap();
                            continue;
                        }
                        // Each other column has three times the id; x says up to which.
                        let format = newest(engine);
                        let last =
                            format.definition().columns.last().map_or(0, |column| round_of(&column.name));
                        let values = format.definition().columns.iter().map(|column| match &*column.name {
                            "id" => Datum::from(id),
                            "x" => Datum::from(last * 10 + id % 5),
                            _ => Datum::from(id * 3),
                        });
                        let row: Vec<_> = values.collect();
                        let key = format.encode_key(&row, 0).unwrap();
                        engine.put(table, &key, &format.encode_row(&row).unwrap()).unwrap();
                    }
                });
            }
            // So that columns change in the middle of it.
            scope.spawn(|| {
                while stop.goes_on() {
                    engine.compact().unwrap();
                }
            });
            let mut random = Random::new(7);
            for round in 1..150 {
                let names: Vec<_> = newest(engine).definition().columns[2..]
                    .iter()
                    .map(|column| column.name.clone())
                    .collect();
                let change = match (names.len(), random.one_in(3)) {
                    (0, _) | (1, false) => {
                        let default = Datum::from(-round);
                        TableChange::AddColumn(
                            Column::new(format!("c{round}"), Type::I64).default_value(default),
                        )
                    }
                    _ => TableChange::DropColumn(names[0].clone()),
                };
                engine.change_table("t", &[change]).unwrap();
                match random.below(4) {
                    0 => engine.compact().unwrap(),
                    1 => engine.flush().unwrap(),
                    2 if round % 10 == 0 => {
                        let to = match newest(engine).definition().storage {
                            Storage::Column => Storage::BTree,
                            _ => Storage::Column,
                        };
                        // Loads do not come in between, changes of columns are this thread's own.
                        engine.set_storage("t", to).unwrap();
                    }
                    _ => std::thread::sleep(std::time::Duration::from_millis(2)),
                }
            }
        });
        let check = |engine: &Arc<Engine>| {
            let format = newest(engine);
            let columns = &format.definition().columns;
            for (key, row) in rows(&engine.snapshot(), table).unwrap() {
                let row = format.decode(&key, &row).unwrap();
                let id = row[0].as_ref().as_i64().unwrap();
                let x = row[1].as_ref().as_i64().unwrap();
                assert_eq!(x % 10, id % 5);
                for (column, value) in columns.iter().zip(&row).skip(2) {
                    let round = round_of(&column.name);
                    let expected = if round <= x / 10 { id * 3 } else { -round };
                    assert_eq!(*value, expected.into(), "{id}, {x}, {}", column.name);
                }
            }
            assert_sound(engine);
        };
        check(engine);
        engine.compact().unwrap();
        check(engine);
        running.close().unwrap();
    }
}

fn replace(name: &str, with: &str) -> CatalogEdit {
    CatalogEdit::ReplaceTable { name: name.into(), with: with.into(), indexes: Vec::new() }
}
