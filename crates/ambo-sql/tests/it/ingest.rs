//! Rows of the application into tables.

use std::sync::Arc;

use ambo_sql::{Connection, Database, ErrorKind, IngestMode, Reader};
use arrow::{
    array::{ArrayRef, Int64Array, RecordBatch, RecordBatchIterator, StringArray},
    error::ArrowError,
};

fn rows(numbers: std::ops::Range<i64>) -> Reader {
    let n = Int64Array::from_iter_values(numbers.clone());
    let name = StringArray::from_iter_values(numbers.map(|n| format!("n{n}")));
    let batch =
        RecordBatch::try_from_iter([("name", Arc::new(name) as ArrayRef), ("n", Arc::new(n))]).unwrap();
    Box::new(RecordBatchIterator::new([Ok(batch.clone())], batch.schema()))
}

fn count(connection: &mut Connection, table: &str) -> i64 {
    let query = format!("select count(*) from {table}");
    connection.sql(&query).unwrap().single().unwrap().into_values().unwrap()
}

#[test]
fn modes_are_what_they_say() {
    let db = Database::in_memory().unwrap();
    let mut connection = db.connect();
    use IngestMode::{Append, Create, CreateAppend, Replace};
    let error = connection.ingest("t", rows(0..3), Append, "").unwrap_err();
    assert_eq!((error.kind(), error.sqlstate()), (ErrorKind::NotFound, "42P01"));
    assert_eq!(connection.ingest("t", rows(0..3), Create, "storage = btree").unwrap(), 3);
    let error = connection.ingest("t", rows(0..3), Create, "").unwrap_err();
    assert_eq!((error.kind(), error.sqlstate()), (ErrorKind::Constraint, "42P07"));
    assert_eq!(connection.ingest("t", rows(3..5), Append, "").unwrap(), 2);
    assert_eq!(connection.ingest("t", rows(5..6), CreateAppend, "").unwrap(), 1);
    assert_eq!(count(&mut connection, "t"), 6);
    assert_eq!(connection.ingest("t", rows(0..2), Replace, "").unwrap(), 2);
    assert_eq!(count(&mut connection, "t"), 2);
    assert_eq!(connection.ingest("Other Table", rows(0..2), CreateAppend, "").unwrap(), 2);
    assert_eq!(count(&mut connection, "\"Other Table\""), 2);
    assert!(db.check().unwrap().is_sound());
}

#[test]
fn columns_are_found_by_their_names() {
    let db = Database::in_memory().unwrap();
    let mut connection = db.connect();
    connection.script("create table t (id int default 7, n bigint primary key, name text)").unwrap();
    assert_eq!(connection.ingest("t", rows(10..12), IngestMode::Append, "").unwrap(), 2);
    let row = connection.sql("select id, n, name from t where n = 11").unwrap().single().unwrap();
    assert_eq!(row.into_values::<(i32, i64, String)>().unwrap(), (7, 11, "n11".to_owned()));
    connection.script("create table u (n bigint)").unwrap();
    let error = connection.ingest("u", rows(0..2), IngestMode::Append, "").unwrap_err();
    assert_eq!((error.sqlstate(), error.object()), ("42703", Some("name")));
    // A key that is taken takes back all.
    let error = connection.ingest("t", rows(11..100_000), IngestMode::Append, "").unwrap_err();
    assert_eq!((error.kind(), error.sqlstate()), (ErrorKind::Constraint, "23505"));
    assert_eq!(count(&mut connection, "t"), 2);
    assert!(db.check().unwrap().is_sound());
}

#[test]
fn rows_belong_to_the_open_transaction() {
    let db = Database::in_memory().unwrap();
    let mut connection = db.connect();
    connection.script("create table t (n bigint, name text); begin").unwrap();
    assert_eq!(connection.ingest("t", rows(0..50_000), IngestMode::Append, "").unwrap(), 50_000);
    assert_eq!(connection.ingest("new", rows(0..5), IngestMode::Create, "").unwrap(), 5);
    assert_eq!(count(&mut connection, "t"), 50_000);
    assert_eq!(count(&mut db.connect(), "t"), 0);
    connection.sql("rollback").unwrap();
    assert_eq!(count(&mut connection, "t"), 0);
    assert_eq!(connection.sql("select * from new").err().unwrap().kind(), ErrorKind::NotFound);
    // Outside of one many rows are a bulk load.
    assert_eq!(connection.ingest("t", rows(0..50_000), IngestMode::Append, "").unwrap(), 50_000);
    assert_eq!(count(&mut connection, "t"), 50_000);
    assert!(db.check().unwrap().is_sound());
}

#[test]
fn a_reader_that_fails_leaves_nothing() {
    let db = Database::in_memory().unwrap();
    let mut connection = db.connect();
    let schema = rows(0..1).schema();
    let failing = || {
        let batches =
            rows(0..40_000).chain([Err(ArrowError::ComputeError("the network is gone".to_owned()))]);
        Box::new(RecordBatchIterator::new(batches, schema.clone()))
    };
    let error = connection.ingest("t", failing(), IngestMode::Create, "").unwrap_err();
    assert!(error.message().contains("the network is gone"), "{error}");
    assert_eq!(connection.sql("select * from t").err().unwrap().kind(), ErrorKind::NotFound);
    connection.ingest("t", rows(0..2), IngestMode::Create, "").unwrap();
    connection.ingest("t", failing(), IngestMode::Append, "").unwrap_err();
    connection.ingest("t", failing(), IngestMode::Replace, "").unwrap_err();
    assert_eq!(count(&mut connection, "t"), 2);
    assert!(db.check().unwrap().is_sound());
}
