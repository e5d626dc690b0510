//! Ways to write rows that may be there, and to change rows by conditions, over tables of every storage.

use ambo::{
    Compare, Database, Datum, Error, IndexDefinition, Row, Storage, Table, TableDefinition, Test, Type,
};

/// `(id i64 key, name text unique, n i64)` with rows 0..10: `name` is `n0` … `n9`, `n` is ten times the id.
fn table(db: &Database, storage: Storage) -> Table {
    let definition = TableDefinition::new("t")
        .column("id", Type::I64)
        .column_nullable("name", Type::Utf8)
        .column("n", Type::I64)
        .primary_key(&["id"])
        .storage(storage);
    let table = db.create_table(definition).unwrap();
    db.create_index(&IndexDefinition::new("name", "t", &["name"]).unique()).unwrap();
    db.create_index(&IndexDefinition::new("n", "t", &["n"])).unwrap();
    for id in 0..10 {
        table.insert_row(&row(id, &format!("n{id}"), id * 10)).unwrap();
    }
    table
}

fn row(id: i64, name: &str, n: i64) -> Row {
    vec![id.into(), name.into(), n.into()]
}

fn all(table: &Table) -> Vec<Row> {
    table.rows().unwrap().collect::<Result<_, _>>().unwrap()
}

fn each_storage(test: impl Fn(&Database, &Table)) {
    for storage in [Storage::BTree, Storage::Memory, Storage::Column] {
        for compacted in [false, true] {
            let dir = tempfile::tempdir().unwrap();
            let db = Database::open(dir.path()).unwrap();
            let table = table(&db, storage);
            if compacted {
                db.compact().unwrap();
            }
            test(&db, &table);
            assert_eq!(db.check().unwrap().problems, Vec::<String>::new(), "{storage:?}");
        }
    }
}

/// Keeps away: a row that is ignored, replaced or changed although another way was asked for, and rows in the way by other columns than the
/// key.
#[test]
fn rows_that_are_there_already() {
    each_storage(|_, table| {
        assert!(!table.insert_or_ignore(&row(3, "new", 1)).unwrap());
        assert!(!table.insert_or_ignore(&row(20, "n3", 1)).unwrap(), "its name is taken");
        assert!(table.insert_or_ignore(&row(20, "n20", 1)).unwrap());
        assert_eq!(table.len().unwrap(), 11);
        // Of 4 the key is in the way, of 5 the name.
        assert_eq!(table.insert_or_replace(&row(4, "n5", -1)).unwrap(), 2);
        assert!(table.get_row(&[5.into()]).unwrap().is_none());
        assert_eq!(table.insert_or_replace(&row(4, "n5", -2)).unwrap(), 1, "itself");
        assert_eq!(table.insert_or_replace(&row(30, "n30", 0)).unwrap(), 0);
        let add = |old: &mut Row, new: &[Datum]| {
            old[2] = (old[2].as_ref().as_i64().unwrap() + new[2].as_ref().as_i64().unwrap()).into();
            Ok(())
        };
        assert!(!table.insert_or_update(&row(6, "ignored", 5), add).unwrap());
        assert_eq!(table.get_row(&[6.into()]).unwrap().unwrap(), row(6, "n6", 65));
        assert!(table.insert_or_update(&row(40, "n40", 5), add).unwrap());
        let taken = table.insert_or_update(&row(41, "n40", 5), add);
        assert!(matches!(taken, Err(Error::Exists(_))), "{taken:?}");
        assert!(
            table
                .update_row(&[6.into()], |row| {
                    row[0] = 60.into();
                    Ok(())
                })
                .unwrap(),
            "a row may move to another key"
        );
        assert!(table.get_row(&[6.into()]).unwrap().is_none());
        let taken = table.update_row(&[60.into()], |row| {
            row[0] = 7.into();
            Ok(())
        });
        assert!(matches!(taken, Err(Error::Exists(_))), "{taken:?}");
        assert_eq!(table.get_row(&[60.into()]).unwrap().unwrap(), row(60, "n6", 65));
        assert!(!table.update_row(&[99.into()], |_| panic!("there is no row")).unwrap());
    });
}

/// Keeps away: a statement that does a part of what it says, that sees its own work, or that minds values which only change hands.
#[test]
fn changes_by_condition_are_of_all_rows_or_none() {
    each_storage(|db, table| {
        let at_least = |n: i64| {
            table.select(&[]).unwrap().filter("n", Test::Compare(Compare::GreaterEqual, n.into())).unwrap()
        };
        assert!(at_least(85).rows().unwrap().path().contains("main.n"));
        let found: Vec<Row> = at_least(75).rows().unwrap().collect::<Result<_, _>>().unwrap();
        assert_eq!(found, [row(8, "n8", 80), row(9, "n9", 90)]);
        // Each row gets the key and the name of the next, which is in the way as long as it has not moved.
        let shift = |row: &mut Row| {
            let id = row[0].as_ref().as_i64().unwrap() + 1;
            row[0] = id.into();
            row[1] = format!("n{id}").into();
            Ok(())
        };
        assert_eq!(at_least(50).update(shift).unwrap(), 5);
        let ids: Vec<_> = all(table).iter().map(|row| row[0].as_ref().as_i64().unwrap()).collect();
        assert_eq!(ids, [0, 1, 2, 3, 4, 6, 7, 8, 9, 10]);
        // 4 would get the key of 5, which is free, and 3 that of 4: but all would be named alike.
        let before = all(table);
        let refused = at_least(0).update(|row| {
            row[1] = "same".into();
            Ok(())
        });
        assert!(matches!(refused, Err(Error::Exists(_))), "{refused:?}");
        assert_eq!(all(table), before);
        let mut tx = db.begin().unwrap();
        tx.insert_row(table, &row(100, "n100", 1000)).unwrap();
        assert_eq!(tx.delete_where(&at_least(60)).unwrap(), 5, "its own row, too");
        assert_eq!(tx.rows_where(&at_least(0)).unwrap().count(), 6);
        assert_eq!(at_least(60).rows().unwrap().count(), 4, "others see it when it is committed");
        tx.commit().unwrap();
        assert_eq!(at_least(0).delete().unwrap(), 6);
        assert!(table.is_empty().unwrap());
        assert_eq!(at_least(0).delete().unwrap(), 0);
    });
}

/// Keeps away: many rows that are changed or deleted by conditions other than few are, or not within the limit of a transaction.
#[test]
fn many_rows_by_conditions() {
    let columns = || TableDefinition::new("t").column("id", Type::I64).column("n", Type::I64);
    let definitions = [
        columns().primary_key(&["id"]),
        columns(),
        columns().sort_key(&["n"]),
        columns().primary_key(&["id"]).sort_key(&["n"]),
    ];
    for definition in definitions {
        let db = ambo::Options::new().transaction_bytes_max(1 << 20).open_in_memory().unwrap();
        let table = db.create_table(definition.column("v", Type::I64).storage(Storage::Column)).unwrap();
        db.create_index(&IndexDefinition::new("by_v", "t", &["v"])).unwrap();
        let load = table.load(ambo::LoadOptions::default()).unwrap();
        let mut writer = load.writer();
        let mut buffers = vec![ambo::ColumnBuffer::new(Type::I64); 3];
        for id in 0..100_000i64 {
            for (buffer, value) in buffers.iter_mut().zip([id, id % 10, 0]) {
                buffer.push(value.into()).unwrap();
            }
        }
        writer.push(buffers).unwrap();
        writer.finish().unwrap();
        load.finish().unwrap();
        let few = || Test::Compare(Compare::Less, 5i64.into());
        let select = |column: &str, test| table.select(&[]).unwrap().filter(column, test).unwrap();
        let changed = select("n", few()).update(|row| {
            row[2] = Datum::I64(7);
            Ok(())
        });
        assert_eq!(changed.unwrap(), 50_000);
        let seven = || Test::Compare(Compare::Equal, 7i64.into());
        assert_eq!(select("v", seven()).rows().unwrap().count(), 50_000);
        // Rows that move are changed by a transaction, which has a limit.
        let moved = select("n", few()).update(|row| {
            row[0] = Datum::I64(-1 - row[0].as_ref().as_i64().unwrap());
            row[1] = Datum::I64(100 + row[1].as_ref().as_i64().unwrap());
            Ok(())
        });
        if !table.definition().key.is_empty() {
            assert!(moved.unwrap_err().to_string().contains("the limit is"));
        }
        assert_eq!(select("v", seven()).delete().unwrap(), 50_000);
        assert_eq!(table.len().unwrap(), 50_000);
        assert_eq!(select("v", seven()).rows().unwrap().count(), 0);
        assert_eq!(db.check().unwrap().problems, Vec::<String>::new());
    }
}
