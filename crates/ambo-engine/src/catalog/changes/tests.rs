//! What may be changed of a table, and what is in the way.

use ambo_codec::Type;
use ambo_types::IndexDefinition;

use super::*;

fn catalog() -> Catalog {
    let mut catalog = Catalog::default();
    let table = TableDefinition::new("t")
        .column("a", Type::I64)
        .column("id", Type::I64)
        .column_nullable("b", Type::Utf8)
        .column("c", Type::I32)
        .primary_key(&["id"])
        .check("positive", "c > 0");
    catalog.create_table(table).unwrap();
    catalog.create_table(TableDefinition::key_value("plain")).unwrap();
    catalog.create_index(&IndexDefinition::new("by_c", "t", &["c", "id"])).unwrap();
    catalog
}

fn change(catalog: &mut Catalog, changes: &[TableChange]) -> Result<Vec<CatalogChange>> {
    catalog.change_table("t", changes).map(|(_, changes)| changes)
}

fn drop(name: &str) -> TableChange {
    TableChange::DropColumn(name.into())
}

/// Keeps away: an index over another column after one before it is dropped, in memory or after a replay.
#[test]
fn indexes_keep_their_columns() {
    let mut catalog = catalog();
    let mut replayed = catalog.clone();
    let added = Column::new("d", Type::I32).default_value(7i64);
    let mut changes = change(
        &mut catalog,
        &[drop("a"), TableChange::AddColumn(added), TableChange::rename_column("c", "x")],
    )
    .unwrap();
    assert_eq!(changes.len(), 2);
    changes.extend(change(&mut catalog, &[drop("b")]).unwrap());
    let names = |catalog: &Catalog| {
        let (_, table) = catalog.find("t").unwrap();
        let (.., of) = catalog.find_index("by_c").unwrap();
        let names: Vec<_> = of.columns.iter().map(|index| table.columns[*index].name.clone()).collect();
        (names, table.columns.iter().map(|column| column.name.clone()).collect::<Vec<_>>())
    };
    assert_eq!(names(&catalog), (vec!["x".into(), "id".into()], vec!["id".into(), "x".into(), "d".into()]));
    for change in changes.iter().chain(&changes) {
        replayed.apply(&change.key, change.record()).unwrap();
    }
    assert_eq!(format!("{catalog:?}"), format!("{replayed:?}"));
    // The default was given as another integer.
    assert_eq!(catalog.find("t").unwrap().1.columns[2].default, Some(7i32.into()));
}

/// Keeps away: a change that leaves a table without its key, an index without its column, or rows without a value; and refusals that do not
/// say why.
#[test]
fn what_is_in_the_way_is_named() {
    let add = |column: Column| TableChange::AddColumn(column);
    for (wanted, part) in [
        (vec![drop("id")], "part of the primary key"),
        (vec![drop("c")], "index \"main.by_c\" is over it"),
        (vec![drop("cc")], "did you mean \"c\"?"),
        (vec![TableChange::rename_column("a", "b")], "\"b\" of table \"main.t\""),
        (vec![TableChange::rename_column("a", "x\ny")], "has a control character"),
        (vec![add(Column::new("b", Type::I8).nullable())], "\"b\" of table \"main.t\""),
        (vec![add(Column::new("n", Type::I8))], "no default value"),
        (vec![add(Column::new("n", Type::I8).default_value(300))], "does not fit"),
        (vec![add(Column::new("n", Type::Utf8).default_value("x".repeat(5000)))], "5000 bytes"),
        (
            vec![add(Column::new("n", Type::I8).default_value(ambo_codec::Value::Null))],
            "NULL, which it refuses",
        ),
        (vec![TableChange::DropNotNull("id".into())], "part of the key"),
        (vec![TableChange::DropNotNull("c".into())], "drop the index first"),
        (vec![TableChange::AddCheck(Check::new("positive", "a > 0"))], "check \"positive\""),
        (vec![TableChange::DropCheck("positve".into())], "did you mean \"positive\"?"),
        // The first is not done either.
        (vec![drop("a"), drop("a")], "column of table \"main.t\" \"a\""),
    ] {
        let mut catalog = catalog();
        let before = format!("{catalog:?}");
        let error = change(&mut catalog, &wanted).unwrap_err().to_string();
        assert!(error.contains(part), "{wanted:?}: {error}");
        assert_eq!(format!("{catalog:?}"), before);
    }
    let mut catalog = catalog();
    for wanted in
        [drop("value"), add(Column::new("n", Type::I8).nullable()), TableChange::DropNotNull("value".into())]
    {
        let error = catalog.change_table("plain", &[wanted]).unwrap_err().to_string();
        assert!(error.contains("plain key-value table"), "{error}");
    }
    let single = TableDefinition::new("single").column("x", Type::I8);
    catalog.create_table(single).unwrap();
    let error = catalog.change_table("single", &[drop("x")]).unwrap_err().to_string();
    assert!(error.contains("the only one"), "{error}");
    let error = catalog.change_table("by_c", &[drop("key")]).unwrap_err().to_string();
    assert!(error.contains("it is an index"), "{error}");
}

/// Keeps away: places of dropped columns that are used up for ever.
#[test]
fn truncating_forgets_dropped_columns() {
    let mut catalog = catalog();
    change(&mut catalog, &[drop("a")]).unwrap();
    assert_eq!(catalog.find("t").unwrap().1.dropped_columns(), 1);
    catalog.truncate_table("t").unwrap();
    assert_eq!(catalog.find("t").unwrap().1.dropped_columns(), 0);
    let (.., of) = catalog.find_index("by_c").unwrap();
    assert_eq!(of.columns, [2, 0]);
}
