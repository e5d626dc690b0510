//! Some columns of rows by their keys, beside the whole rows.

use ambo::{
    Column, Database, Datum, Error, Options, PickedColumns, Read, Row, Storage, Table, TableChange,
    TableDefinition, Type,
};
use proptest::prelude::*;

const NAMES: [&str; 6] = ["text", "k2", "number", "k1", "flag", "wide"];
const KEYS: i64 = 400;

/// The key is neither first nor in the order of the columns.
fn definition(storage: Storage) -> TableDefinition {
    TableDefinition::new("t")
        .column_nullable("text", Type::Utf8)
        .column("k2", Type::Utf8)
        .column("number", Type::I64)
        .column("k1", Type::I32)
        .column_nullable("flag", Type::Bool)
        .column("wide", Type::Binary)
        .primary_key(&["k1", "k2"])
        .storage(storage)
}

fn key(number: i64) -> [Datum; 2] {
    [((number % 7) as i32).into(), format!("k\0{number}").into()]
}

fn row(number: i64, round: i64) -> Row {
    let [k1, k2] = key(number);
    let text = match (number + round) % 3 {
        0 => Datum::Null,
        _ => format!("text {number} of {round}").into(),
    };
    let flag = if number % 5 == 0 { Datum::Null } else { (number % 2 == 0).into() };
    vec![text, k2, (number * round).into(), k1, flag, vec![round as u8; 60].into()]
}

/// All of what is picked is as in the row, read once and again.
fn compare(table: &Table, picked: &PickedColumns, places: &[usize]) {
    for number in 0..KEYS {
        let of = |row: Row| places.iter().map(|place| row[*place].clone()).collect::<Row>();
        let got = [picked.get(&key(number)).unwrap(), picked.get(&key(number)).unwrap()];
        let row = table.get_row(&key(number)).unwrap();
        assert!(
            row.as_ref().is_none_or(|row| !row[5].is_null()),
            "a row of which only some columns were kept"
        );
        let wanted = row.map(of);
        assert_eq!(got, [wanted.clone(), wanted.clone()], "{number}");
        let snapshot = table.database().snapshot();
        assert_eq!(picked.get_in(&snapshot, &key(number)).unwrap(), wanted);
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(24))]
    /// Keeps away: a value of another column, of another version, or NULL in the place of one, wherever rows are: in the memtable,
    /// compacted, kept as rows, or in a cache that has no room for them.
    #[test]
    fn picked_columns_are_those_of_the_row(
        storage in prop_oneof![Just(Storage::Column), Just(Storage::BTree), Just(Storage::Memory)],
        places in prop::collection::vec(0..NAMES.len(), 0..8),
        cache in prop_oneof![Just(1 << 20), Just(64 << 20)],
    ) {
        let dir = tempfile::tempdir().unwrap();
        let db = Options::new().cache_bytes(cache).open(dir.path()).unwrap();
        let table = db.create_table(definition(storage)).unwrap();
        let names: Vec<_> = places.iter().map(|place| NAMES[*place]).collect();
        let picked = table.pick(&names).unwrap();
        (0..KEYS).for_each(|number| table.upsert_row(&row(number, 1)).unwrap());
        compare(&table, &picked, &places);
        db.compact().unwrap();
        compare(&table, &picked, &places);
        (0..KEYS).step_by(3).for_each(|number| table.upsert_row(&row(number, 2)).unwrap());
        (0..KEYS).step_by(11).for_each(|number| assert!(table.delete_row(&key(number)).unwrap()));
        compare(&table, &picked, &places);
        let mut transaction = db.begin().unwrap();
        transaction.upsert_row(&table, &row(5, 9)).unwrap();
        transaction.delete_row(&table, &key(6)).unwrap();
        for number in 0..10 {
            let of = |row: Row| places.iter().map(|place| row[*place].clone()).collect::<Row>();
            let wanted = transaction.get_row(&table, &key(number)).unwrap().map(of);
            assert_eq!(picked.get_in(&transaction, &key(number)).unwrap(), wanted);
        }
        transaction.commit().unwrap();
        db.compact().unwrap();
        compare(&table, &picked, &places);
        assert_eq!(db.check().unwrap().problems, Vec::<String>::new());
    }
}

/// Keeps away: a handle that is older than its table and reads the column next to the one that was meant.
#[test]
fn old_picks_mean_the_columns_they_know() {
    for storage in [Storage::Column, Storage::BTree] {
        let db = Database::in_memory().unwrap();
        let old = db.create_table(definition(storage)).unwrap();
        (0..KEYS).for_each(|number| old.upsert_row(&row(number, 1)).unwrap());
        db.compact().unwrap();
        let places = [5, 2, 0, 3];
        let names = places.map(|place| NAMES[place]);
        let picked = old.pick(&names).unwrap();
        let changes = [
            TableChange::DropColumn("number".into()),
            TableChange::AddColumn(Column::new("c", Type::I32).default_value(7)),
        ];
        db.change_table("t", &changes).unwrap();
        let new = db.table("t").unwrap();
        let picked_new = new.pick(&["c", "text", "k1"]).unwrap();
        for _ in 0..2 {
            compare(&old, &picked, &places);
            compare(&new, &picked_new, &[5, 0, 2]);
            assert_eq!(picked_new.get(&key(1)).unwrap().unwrap()[0], Datum::I32(7));
            new.update_row(&key(3), |row| {
                row[0] = "other".into();
                Ok(())
            })
            .unwrap();
            db.compact().unwrap();
        }
        assert!(matches!(new.pick(&["number"]), Err(Error::NotFound(_))));
        assert_eq!(db.check().unwrap().problems, Vec::<String>::new());
    }
}

/// Keeps away: picks that only know tables whose rows are stored by their primary key, or are typed.
#[test]
fn rows_in_another_order_and_plain_values_are_picked_too() {
    let db = Database::in_memory().unwrap();
    let sorted = definition(Storage::Column).sort_key(&["number"]);
    let sorted = db.create_table(sorted).unwrap();
    (0..KEYS).for_each(|number| sorted.upsert_row(&row(number, 3)).unwrap());
    db.compact().unwrap();
    compare(&sorted, &sorted.pick(&["flag", "k1", "flag"]).unwrap(), &[4, 3, 4]);
    let plain = db.key_value("plain").unwrap();
    plain.put(b"k", b"v").unwrap();
    let columns = &plain.definition().columns;
    let value = plain.pick(&[&*columns[1].name, &*columns[0].name]).unwrap();
    for _ in 0..2 {
        assert_eq!(value.get(&[b"k"[..].into()]).unwrap(), Some(vec![b"v"[..].into(), b"k"[..].into()]));
        assert_eq!(value.get(&[b"l"[..].into()]).unwrap(), None);
        db.compact().unwrap();
    }
    assert_eq!(db.check().unwrap().problems, Vec::<String>::new());
}
