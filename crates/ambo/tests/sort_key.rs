//! Tables whose rows are in the order of a sort key, beside a map by primary key.

use std::collections::BTreeMap;

use ambo::{
    ColumnBuffer, Compare, Database, Datum, Error, IndexDefinition, LoadOptions, Options, Read, Row, Storage,
    Sync, Table, TableDefinition, Test, Type,
};

/// `(id i64, name text, day date, size i64)`, by `(day, name)`; the primary key is `(id)`, or `(name, id)`.
fn definition(primary: &[&str], storage: Storage) -> TableDefinition {
    TableDefinition::new("t")
        .column("id", Type::I64)
        .column("name", Type::Utf8)
        .column("day", Type::Date32)
        .column_nullable("size", Type::I64)
        .sort_key(&["day", "name"])
        .primary_key(primary)
        .storage(storage)
}

fn row(id: i64, name: &str, day: i32, size: i64) -> Row {
    vec![id.into(), name.into(), Datum::Date32(day), size.into()]
}

struct Random(u64);

impl Random {
    fn below(&mut self, bound: u64) -> u64 {
        // Steele, Lea, Flood: SplitMix (OOPSLA 2014).
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        (z ^ (z >> 31)) % bound
    }
    fn row(&mut self, id: i64) -> Row {
        let name = ["", "a", "ab", "b"][self.below(4) as usize];
        row(id, name, self.below(20) as i32 - 10, self.below(5) as i64)
    }
}

fn sound(db: &Database) {
    assert_eq!(db.check().unwrap().problems, Vec::<String>::new());
}

fn by_sort_key(rows: &BTreeMap<i64, Row>) -> Vec<Row> {
    let mut rows: Vec<Row> = rows.values().cloned().collect();
    rows.sort_by_key(|row| {
        let Datum::Date32(day) = row[2] else { panic!("a day") };
        (day, row[1].to_string(), row[0].as_ref().as_i64())
    });
    rows
}

fn compare(db: &Database, table: &Table, model: &BTreeMap<i64, Row>) {
    let all: Vec<Row> = table.rows().unwrap().collect::<Result<_, _>>().unwrap();
    assert_eq!(all, by_sort_key(model));
    let by_id: Vec<Row> = table.rows_prefix(&[]).unwrap().collect::<Result<_, _>>().unwrap();
    assert_eq!(by_id, model.values().cloned().collect::<Vec<_>>());
    let back: Vec<Row> = table.rows_prefix(&[]).unwrap().rev().collect::<Result<_, _>>().unwrap();
    assert!(back.iter().eq(model.values().rev()));
    for id in 0..60 {
        assert_eq!(table.get_row(&[id.into()]).unwrap().as_ref(), model.get(&id), "{id}");
        let one: Vec<Row> = table.rows_prefix(&[id.into()]).unwrap().collect::<Result<_, _>>().unwrap();
        assert_eq!(one.first(), model.get(&id));
        assert_eq!(table.count_prefix(&[id.into()]).unwrap(), one.len() as u64);
    }
    assert_eq!(table.len().unwrap(), model.len() as u64);
    sound(db);
}

fn is_taken<T>(result: Result<T, Error>) -> bool {
    matches!(result, Err(Error::Exists(_)))
}

/// Keeps away: a row that is not found by its primary key, two rows of one, and rows out of order; in all storages, while rows compact,
/// after a change of the storage, another name and another opening.
#[test]
fn rows_by_primary_key_are_in_the_order_of_the_sort_key() {
    for (seed, storage) in [Storage::BTree, Storage::Memory, Storage::Column].into_iter().enumerate() {
        let dir = tempfile::tempdir().unwrap();
        let options = || Options::new().sync(Sync::Off);
        let mut db = options().open(dir.path()).unwrap();
        let mut table = db.create_table(definition(&["id"], storage)).unwrap();
        let mut model: BTreeMap<i64, Row> = BTreeMap::new();
        let mut random = Random(seed as u64);
        for step in 0..3000 {
            let id = random.below(50) as i64;
            let new = random.row(id);
            let there = model.contains_key(&id);
            match random.below(10) {
                0 => assert_eq!(is_taken(table.insert_row(&new)), there),
                1 => assert_eq!(table.insert_or_ignore(&new).unwrap(), !there),
                2 => assert_eq!(table.insert_or_replace(&new).unwrap(), u64::from(there)),
                3 => {
                    let add = |old: &mut Row, new: &[Datum]| {
                        old[2] = new[2].clone();
                        Ok(())
                    };
                    assert_eq!(table.insert_or_update(&new, add).unwrap(), !there);
                }
                4 => assert_eq!(table.delete_row(&[id.into()]).unwrap(), there),
                5 => {
                    // To another primary key, which may be taken.
                    let to = random.below(50) as i64;
                    let change = |row: &mut Row| {
                        row[0] = to.into();
                        Ok(())
                    };
                    let changed = table.update_row(&[id.into()], change);
                    if there && to != id && model.contains_key(&to) {
                        assert!(is_taken(changed));
                    } else {
                        assert_eq!(changed.unwrap(), there);
                        if let Some(mut row) = model.remove(&id) {
                            row[0] = to.into();
                            model.insert(to, row);
                        }
                    }
                    continue;
                }
                6 if step % 7 == 0 => {
                    let day = Test::Compare(Compare::Equal, new[2].clone());
                    let select = table.select(&[]).unwrap().filter("day", day).unwrap();
                    let tomorrow = |row: &mut Row| {
                        let Datum::Date32(day) = row[2] else { panic!("a day") };
                        row[2] = Datum::Date32((day + 1).min(9));
                        Ok(())
                    };
                    select.update(tomorrow).unwrap();
                    let changed = model.values_mut().filter(|row| row[2] == new[2]);
                    changed.for_each(|row| tomorrow(row).unwrap());
                    continue;
                }
                _ => table.upsert_row(&new).unwrap(),
            }
            match (table.get_row(&[id.into()]).unwrap(), step % 2) {
                (Some(row), _) => model.insert(id, row),
                (None, _) => model.remove(&id),
            };
            match random.below(400) {
                0 => db.compact().unwrap(),
                1 => db.flush().unwrap(),
                2 => compare(&db, &table, &model),
                3 if storage != Storage::Memory => {
                    let other = match table.definition().storage {
                        Storage::Column => Storage::BTree,
                        _ => Storage::Column,
                    };
                    db.set_storage("t", other).unwrap();
                    table = db.table("t").unwrap();
                }
                4 if storage != Storage::Memory => {
                    drop(table);
                    db.close().unwrap();
                    db = options().open(dir.path()).unwrap();
                    table = db.table("t").unwrap();
                }
                _ => {}
            }
        }
        compare(&db, &table, &model);
        db.compact().unwrap();
        compare(&db, &table, &model);

        assert_eq!(table.indexes(), ["main.t_primary"]);
        let error = db.drop_index("t_primary").unwrap_err().to_string();
        assert!(error.contains("keeps the primary key of table \"main.t\""), "{error}");
        db.rename_table("t", "u").unwrap();
        let renamed = db.table("u").unwrap();
        assert_eq!(renamed.indexes(), ["main.u_primary"]);
        compare(&db, &renamed, &model);
        db.truncate_table("u").unwrap();
        let empty = db.table("u").unwrap();
        compare(&db, &empty, &BTreeMap::new());
        empty.insert_row(&row(1, "x", 3, 4)).unwrap();
        assert!(is_taken(empty.insert_row(&row(1, "y", 5, 4))));
        db.drop_table("u").unwrap();
        // The name is free again; one that is taken is left alone.
        db.key_value("t_primary").unwrap();
        let again = db.create_table(definition(&["id"], storage)).unwrap();
        assert_eq!(again.indexes(), ["main.t_primary_2"]);
        sound(&db);
    }
}

/// Keeps away: two transactions that give two rows one primary key, in different places of the order.
#[test]
fn one_of_two_writers_of_a_primary_key_wins() {
    let db = Database::in_memory().unwrap();
    let table = db.create_table(definition(&["name", "id"], Storage::BTree)).unwrap();
    let (mut a, mut b) = (db.begin().unwrap(), db.begin().unwrap());
    a.insert_row(&table, &row(1, "x", 1, 0)).unwrap();
    b.upsert_row(&table, &row(1, "x", 2, 0)).unwrap();
    a.commit().unwrap();
    assert!(matches!(b.commit(), Err(Error::Conflict(_))));
    table.upsert_row(&row(1, "x", 2, 0)).unwrap();
    table.upsert_row(&row(2, "x", 1, 0)).unwrap();
    let of_x: Vec<Row> = table.rows_prefix(&["x".into()]).unwrap().collect::<Result<_, _>>().unwrap();
    assert_eq!(of_x, [row(1, "x", 2, 0), row(2, "x", 1, 0)]);
    // Within one transaction, too, and taken back with it.
    let mut tx = db.begin().unwrap();
    tx.upsert_row(&table, &row(1, "x", 7, 7)).unwrap();
    assert_eq!(tx.get_row(&table, &["x".into(), 1.into()]).unwrap().unwrap()[3], 7i64.into());
    let seen: Vec<Row> =
        tx.rows_prefix(&table, &["x".into()]).unwrap().rev().collect::<Result<_, _>>().unwrap();
    assert_eq!(seen, [row(2, "x", 1, 0), row(1, "x", 7, 7)]);
    assert!(tx.delete_row(&table, &["x".into(), 1.into()]).unwrap());
    tx.rollback();
    assert_eq!(table.get_row(&["x".into(), 1.into()]).unwrap(), Some(row(1, "x", 2, 0)));
    sound(&db);
}

/// Keeps away: numbers that are given out twice, where the number is not the end of the stored key, or is hidden behind the sort key.
#[test]
fn numbered_rows() {
    for storage in [Storage::BTree, Storage::Column] {
        let dir = tempfile::tempdir().unwrap();
        let db = Database::open(dir.path()).unwrap();
        let numbered = definition(&["id"], storage).auto_increment();
        let table = db.create_table(numbered).unwrap();
        let hidden = TableDefinition::new("h").column("x", Type::I64).column("day", Type::I32);
        let hidden = db.create_table(hidden.sort_key(&["day"]).storage(storage)).unwrap();
        let mut new = row(0, "n", 0, 0);
        for day in [5, 3, 4, 3] {
            (new[0], new[2]) = (Datum::Null, Datum::Date32(day));
            table.insert_row(&new).unwrap();
            hidden.insert_row(&[i64::from(day).into(), day.into()]).unwrap();
        }
        drop((table, hidden));
        db.close().unwrap();
        let db = Database::open(dir.path()).unwrap();
        let (table, hidden) = (db.table("t").unwrap(), db.table("h").unwrap());
        (new[0], new[2]) = (Datum::Null, Datum::Date32(3));
        assert_eq!(table.insert_row(&new).unwrap(), Some(5));
        hidden.insert_row(&[100.into(), 3i32.into()]).unwrap();
        db.compact().unwrap();
        let days: Vec<Row> = hidden.rows().unwrap().collect::<Result<_, _>>().unwrap();
        let firsts: Vec<i64> = days.iter().map(|row| row[0].as_ref().as_i64().unwrap()).collect();
        assert_eq!(firsts, [3, 3, 100, 4, 5], "equal ones in the order in which they came");
        assert_eq!(table.len().unwrap(), 5);
        let error = hidden.get_row(&[1.into()]).unwrap_err().to_string();
        assert!(error.contains("no primary key"), "{error}");
        assert!(hidden.sum_keys(..).is_err());
        assert!(hidden.indexes().is_empty());
        sound(&db);
    }
}

/// Keeps away: a load that brings a primary key twice, or one that is there, because the stored keys differ; and rows of a load that are
/// not found.
#[test]
fn loads() {
    let dir = tempfile::tempdir().unwrap();
    let db = Database::open(dir.path()).unwrap();
    let table = db.create_table(definition(&["id"], Storage::Column)).unwrap();
    let load = |rows: &[Row]| {
        let load = table.load(LoadOptions::default())?;
        let mut writer = load.writer();
        let mut columns: Vec<_> =
            table.definition().columns.iter().map(|column| ColumnBuffer::new(column.kind)).collect();
        for row in rows {
            columns.iter_mut().zip(row).for_each(|(column, value)| column.push(value.into()).unwrap());
        }
        writer.push(columns)?;
        writer.finish()?;
        load.finish()
    };
    let mut model = BTreeMap::new();
    let mut random = Random(3);
    for id in 0..40 {
        model.insert(id, random.row(id));
    }
    load(&model.values().rev().cloned().collect::<Vec<_>>()).unwrap();
    compare(&db, &table, &model);
    assert!(is_taken(load(&[row(50, "", 1, 1), row(50, "", 2, 1)])));
    assert!(is_taken(load(&[row(50, "", 1, 1), row(7, "", 99, 1)])));
    compare(&db, &table, &model);
    model.insert(55, row(55, "z", 0, 0));
    load(&[row(55, "z", 0, 0)]).unwrap();
    compare(&db, &table, &model);
}

/// Keeps away: zone maps that prune nothing, because rows lie in the order of the primary key.
#[test]
fn groups_without_rows_of_a_day_are_not_read() {
    let blocks = |sorted: bool| {
        let db = Options::new().sync(Sync::Off).open_in_memory().unwrap();
        let mut of =
            TableDefinition::new("t").column("id", Type::I64).column("day", Type::I32).primary_key(&["id"]);
        if sorted {
            of = of.sort_key(&["day"]);
        }
        let table = db.create_table(of.storage(Storage::Column)).unwrap();
        let load = table.load(LoadOptions::default()).unwrap();
        let (mut id, mut day) = (ColumnBuffer::new(Type::I64), ColumnBuffer::new(Type::I32));
        let mut random = Random(1);
        for n in 0..200_000i64 {
            id.push(n.into()).unwrap();
            day.push((random.below(1000) as i32).into()).unwrap();
        }
        let mut writer = load.writer();
        writer.push(vec![id, day]).unwrap();
        writer.finish().unwrap();
        load.finish().unwrap();
        db.compact().unwrap();
        let read = || {
            let info = db.info().unwrap();
            info.block_hits + info.block_misses
        };
        let before = read();
        let between = Test::Between(100i32.into(), 110i32.into());
        let scan = table.select(&["id"]).unwrap().filter("day", between).unwrap().scan().unwrap();
        let found = scan.count(1).unwrap();
        assert!(found > 1000 && found < 4000, "{found}");
        let blocks = read() - before;
        sound(&db);
        (blocks, found)
    };
    let ((unsorted, expected), (sorted, found)) = (blocks(false), blocks(true));
    assert_eq!(found, expected);
    // 200,000 rows are 25 groups; those of 11 days are in 2 of them at most.
    assert!(unsorted >= 25 && sorted <= 2, "{unsorted} {sorted}");
}

/// Keeps away: a sort key that cannot be, and a refusal that does not say why.
#[test]
fn sort_keys_that_cannot_be() {
    let db = Database::in_memory().unwrap();
    let of = || {
        TableDefinition::new("t")
            .column("id", Type::I64)
            .column_nullable("day", Type::I32)
            .primary_key(&["id"])
    };
    for (bad, what) in [
        (of().sort_key(&["day"]), "part of the sort key, so it cannot be NULL"),
        (of().sort_key(&["week"]), "the key's column \"week\" is not one of its columns"),
        (of().column("n", Type::I32).sort_key(&["n", "n"]), "twice in the sort key"),
        (of().column("n", Type::I32).sort_key(&["n"]).duplicates(), "duplicate keys"),
    ] {
        let error = db.create_table(bad).map(drop).unwrap_err().to_string();
        assert!(error.contains(what), "{error}");
    }
    // The primary key's own order is no sort key of its own.
    let table = db.create_table(of().sort_key(&["id"])).unwrap();
    assert!(!table.definition().has_sort_key() && table.indexes().is_empty());
    // Another order of its columns is.
    let of = TableDefinition::new("p").column("a", Type::I32).column("b", Type::I32).primary_key(&["a", "b"]);
    let table = db.create_table(of.sort_key(&["b"])).unwrap();
    db.create_index(&IndexDefinition::new("by_a", "p", &["a", "b"]).unique()).unwrap();
    for (a, b) in [(1, 9), (2, 1), (1, 5)] {
        table.insert_row(&[Datum::I32(a), Datum::I32(b)]).unwrap();
    }
    assert!(is_taken(table.insert_row(&[Datum::I32(1), Datum::I32(5)])));
    let of_1: Vec<Row> = table.rows_prefix(&[1.into()]).unwrap().collect::<Result<_, _>>().unwrap();
    assert_eq!(of_1, [vec![Datum::I32(1), Datum::I32(5)], vec![Datum::I32(1), Datum::I32(9)]]);
    assert!(table.delete_row(&[2.into(), 1.into()]).unwrap());
    sound(&db);
}

/// Keeps away: keys that point at other columns once one before them is dropped, in a table and in what is read of its definition.
#[test]
fn keys_stay_where_they_are_when_a_column_is_dropped() {
    let dir = tempfile::tempdir().unwrap();
    let row = |id: i64| [Datum::Null, Datum::I64(id % 3), Datum::I64(id)];
    {
        let db = Database::open(dir.path()).unwrap();
        let table = TableDefinition::new("t")
            .column_nullable("gone", Type::Utf8)
            .column("day", Type::I64)
            .column("id", Type::I64)
            .primary_key(&["id"])
            .sort_key(&["day"])
            .storage(Storage::Column);
        let table = db.create_table(table).unwrap();
        for id in 0..30 {
            table.insert_row(&row(id)).unwrap();
        }
        db.compact().unwrap();
        db.drop_column("t", "gone").unwrap();
    }
    let db = Database::open(dir.path()).unwrap();
    let table = db.table("t").unwrap();
    assert_eq!(
        (table.definition().sort_columns(), table.definition().primary_columns()),
        (&[0][..], &[1][..])
    );
    for id in 0..30 {
        assert_eq!(table.get_row(&[id.into()]).unwrap(), Some(row(id)[1..].to_vec()));
    }
    assert!(table.insert_row(&[5i64.into(), 7i64.into()]).is_err());
    assert!(table.delete_row(&[7i64.into()]).unwrap());
    assert_eq!(table.statistics().unwrap().rows.value, 29);
    let report = db.check().unwrap();
    assert!(report.is_sound(), "{report:?}");
}
