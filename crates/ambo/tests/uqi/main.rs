//! UQI by the face of the library: functions, conditions, ranges, plug-ins.

mod functions;
mod libraries;
mod plugins;
mod random;
mod ranges;

use ambo::{Database, Datum, Storage, TableDefinition, Type, uqi::UqiResult};

/// The one value of a query.
fn single(db: &Database, text: &str) -> Datum {
    let result = db.uqi(db, text).unwrap_or_else(|error| panic!("{text}: {error}"));
    result.single().unwrap_or_else(|| panic!("{text}: {result:?}"))
}

/// The rows of a query.
fn rows(result: &UqiResult) -> Vec<(Datum, Datum)> {
    let value = |stream: &ambo::uqi::Stream, row| {
        if stream.is_empty() { Datum::Null } else { stream.value(row).to_value() }
    };
    (0..result.rows()).map(|row| (value(&result.keys, row), value(&result.records, row))).collect()
}

/// What is wrong with a query.
fn error(db: &Database, text: &str) -> String {
    db.uqi(db, text).expect_err(text).to_string()
}

/// A table of keys and records of these types, as upscaledb's are.
fn create(db: &Database, name: &str, key: Type, value: Type, storage: Storage) -> ambo::Table {
    let table =
        TableDefinition::new(name).column("key", key).column_nullable("value", value).primary_key(&["key"]);
    db.create_table(table.storage(storage)).unwrap()
}
