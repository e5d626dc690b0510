//! SQL from end to end.

mod basics;
mod fast;
mod tables;

/// Each test of tables runs over each of them.
const STORAGES: [&str; 3] = ["btree", "column", "memory"];

/// Checks the whole database.
fn sound(db: &ambo_sql::Database) {
    let report = db.check().unwrap();
    assert!(report.is_sound(), "{report:?}");
}
