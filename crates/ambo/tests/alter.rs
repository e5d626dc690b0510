//! Handles that are older than their table.

use ambo::{
    Column, Compare, Database, Datum, Error, IndexDefinition, LoadOptions, Storage, TableChange,
    TableDefinition, Test, Type,
};

fn db(storage: Storage) -> Database {
    let db = Database::in_memory().unwrap();
    let table = TableDefinition::new("t")
        .column("a", Type::I64)
        .column("id", Type::I64)
        .column("b", Type::Utf8)
        .primary_key(&["id"])
        .storage(storage);
    db.create_table(table).unwrap();
    db
}

/// Keeps away: a handle that reads or writes the column next to the one that was meant, or loses values of columns that it does not know.
#[test]
fn old_handles_mean_the_columns_they_know() {
    for storage in [Storage::BTree, Storage::Column] {
        let db = db(storage);
        let old = db.table("t").unwrap();
        old.insert_row(&[10.into(), 1.into(), "one".into()]).unwrap();
        db.compact().unwrap();
        let equal = |value: Datum| Test::Compare(Compare::Equal, value);
        let by_b = old.select(&["b"]).unwrap().filter("b", equal("one".into())).unwrap();
        let by_a = old.select(&[]).unwrap().filter("a", equal(10.into())).unwrap();
        db.change_table(
            "t",
            &[
                TableChange::DropColumn("a".into()),
                TableChange::AddColumn(Column::new("c", Type::I32).default_value(7)),
            ],
        )
        .unwrap();
        db.create_index(&IndexDefinition::new("i", "t", &["b"])).unwrap();
        db.create_index(&IndexDefinition::new("j", "t", &["c"])).unwrap();
        let new = db.table("t").unwrap();
        new.update_row(&[1.into()], |row| {
            row[2] = 8.into();
            Ok(())
        })
        .unwrap();
        // An old handle changes a row, and so does an old condition.
        old.update_row(&[1.into()], |row| {
            row[2] = "uno".into();
            Ok(())
        })
        .unwrap();
        assert_eq!(new.get_row(&[1.into()]).unwrap().unwrap(), [1i64.into(), "uno".into(), 8i32.into()]);
        assert_eq!(by_b.rows().unwrap().count(), 0);
        let by_b = old.select(&["b"]).unwrap().filter("b", equal("uno".into())).unwrap();
        by_b.update(|row| {
            row[2] = "one".into();
            Ok(())
        })
        .unwrap();
        assert_eq!(new.get_row(&[1.into()]).unwrap().unwrap()[1..], ["one".into(), 8i32.into()]);
        assert_eq!(old.index("i").unwrap().get(&["one".into()]).unwrap().unwrap()[2], "one".into());
        assert!(old.index("j").err().unwrap().to_string().contains("column \"c\""));
        let gone = by_a.rows().err().unwrap();
        assert!(matches!(&gone, Error::NotFound(what) if what.contains("\"a\"")), "{gone}");
        if storage == Storage::Column {
            let of_b = old.select(&["b"]).unwrap();
            assert_eq!(of_b.group_by(&["b"]).unwrap().aggregate(&[]).unwrap().run(1).unwrap().rows.len(), 1);
            let error = old.load(LoadOptions::default()).err().unwrap().to_string();
            assert!(error.contains("take a new one"), "{error}");
        }
        assert!(db.check().unwrap().is_sound());
    }
}
