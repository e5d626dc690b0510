//! Rows of the application as tables.

use std::sync::{
    Arc,
    atomic::{AtomicUsize, Ordering},
};

use ambo_sql::{Connection, Database, ErrorKind, Source};
use arrow::{
    array::{
        ArrayRef, DictionaryArray, Int64Array, LargeStringArray, RecordBatch, RecordBatchIterator,
        StringArray, StringViewArray, TimestampNanosecondArray,
    },
    datatypes::{Int32Type, Schema},
    error::ArrowError,
};

fn batch(numbers: std::ops::Range<i64>) -> RecordBatch {
    let n = Int64Array::from_iter_values(numbers.clone());
    let name = StringViewArray::from_iter_values(numbers.map(|n| format!("n{n}")));
    RecordBatch::try_from_iter([("n", Arc::new(n) as ArrayRef), ("Name", Arc::new(name))]).unwrap()
}

fn batches(batch: RecordBatch) -> Source {
    Source::Batches(batch.schema(), vec![batch])
}

fn count(connection: &mut Connection, query: &str) -> i64 {
    connection.sql(query).unwrap().single().unwrap().into_values().unwrap()
}

#[test]
fn batches_are_read_with_tables_as_often_as_is_asked_for() {
    let db = Database::in_memory().unwrap();
    let mut connection = db.connect();
    connection.register("Frame", batches(batch(0..100_000))).unwrap();
    connection
        .script("create table t (n bigint primary key); insert into t values (5), (99999), (100000)")
        .unwrap();
    assert_eq!(count(&mut connection, "select count(*) from frame join t using (n)"), 2);
    assert_eq!(
        count(&mut connection, "select count(*) from \"Frame\" as a join frame as b on a.n = b.n + 1"),
        99_999
    );
    assert_eq!(count(&mut connection, "select count(*) from frame where \"Name\" like 'n1%' and n < 20"), 11);
    connection.sql("insert into t select n + 200000 from frame").unwrap();
    assert_eq!(count(&mut connection, "select count(*) from t"), 100_003);
    // Nobody else knows it, and it can be forgotten.
    assert_eq!(db.sql("select * from frame").err().unwrap().kind(), ErrorKind::NotFound);
    assert!(connection.unregister("Frame") && !connection.unregister("Frame"));
    assert_eq!(connection.sql("select * from frame").err().unwrap().kind(), ErrorKind::NotFound);
    assert!(db.check().unwrap().is_sound());
}

#[test]
fn columns_have_types_of_tables() {
    let db = Database::in_memory().unwrap();
    let mut connection = db.connect();
    let words: DictionaryArray<Int32Type> = ["b", "a", "b"].into_iter().collect();
    let columns: [(&str, ArrayRef); 4] = [
        ("word", Arc::new(words)),
        ("large", Arc::new(LargeStringArray::from(vec![Some("x"), None, Some("z")]))),
        ("plain", Arc::new(StringArray::from(vec!["x", "y", "z"]))),
        ("at", Arc::new(TimestampNanosecondArray::from(vec![1_000, 2_000, 3_000]))),
    ];
    connection.register("f", batches(RecordBatch::try_from_iter(columns).unwrap())).unwrap();
    let rows =
        connection.sql("select word, large, plain, at from f where large = plain order by at desc").unwrap();
    let types: Vec<_> = rows.schema().fields().iter().map(|field| field.data_type().to_string()).collect();
    assert_eq!(types, ["Utf8", "Utf8", "Utf8", "Timestamp(µs)"]);
    let rows: Vec<(String, String)> =
        rows.map(|row| row.map(|row| (row.get(0).unwrap(), row.get(1).unwrap())).unwrap()).collect();
    assert_eq!(rows, [("b".into(), "z".into()), ("b".into(), "x".into())]);
    connection.sql("create table t as select * from f").unwrap();
    assert_eq!(count(&mut connection, "select count(*) from t"), 3);
}

#[test]
fn a_reader_is_read_once_and_an_opener_as_often_as_is_asked_for() {
    let db = Database::in_memory().unwrap();
    let mut connection = db.connect();
    let reader = |batch: RecordBatch| Box::new(RecordBatchIterator::new([Ok(batch.clone())], batch.schema()));
    connection.register("once", Source::Once(reader(batch(0..10)))).unwrap();
    assert_eq!(count(&mut connection, "select count(*) from once"), 10);
    let error = connection.sql("select count(*) from once").and_then(|rows| rows.single()).unwrap_err();
    assert!(error.message().contains("were read already"), "{error}");

    let opened = Arc::new(AtomicUsize::new(0));
    let (counted, whole) = (opened.clone(), batch(0..10));
    let schema = whole.schema();
    let open = move |columns: Option<&[usize]>| {
        counted.fetch_add(1, Ordering::SeqCst);
        let part = whole.project(columns.unwrap())?;
        assert_eq!(part.num_columns(), 1);
        Ok(reader(part) as ambo_sql::Reader)
    };
    connection.register("again", Source::Again(schema, Arc::new(open))).unwrap();
    assert_eq!(count(&mut connection, "select sum(n)::bigint from again"), 45);
    assert_eq!(count(&mut connection, "select count(\"Name\") from again"), 10);
    assert_eq!(opened.load(Ordering::SeqCst), 2);
}

#[test]
fn readers_that_fail_or_panic_are_errors() {
    let db = Database::in_memory().unwrap();
    let mut connection = db.connect();
    let schema = batch(0..1).schema();
    let failing = [Ok(batch(0..10)), Err(ArrowError::ComputeError("the network is gone".to_owned()))];
    connection
        .register("f", Source::Once(Box::new(RecordBatchIterator::new(failing, schema.clone()))))
        .unwrap();
    let error = connection.sql("select count(*) from f").and_then(|rows| rows.single()).unwrap_err();
    assert!(error.message().contains("the network is gone"), "{error}");

    let panicking = (0..2).map(|nth| if nth == 0 { Ok(batch(0..10)) } else { panic!("a reader of a test") });
    connection.register("f", Source::Once(Box::new(RecordBatchIterator::new(panicking, schema)))).unwrap();
    let error = connection.sql("select count(*) from f").and_then(|rows| rows.single()).unwrap_err();
    assert!(error.message().contains("panicked"), "{error}");
}

#[test]
fn names_of_tables_are_not_taken_and_columns_have_names_of_their_own() {
    let db = Database::in_memory().unwrap();
    let mut connection = db.connect();
    connection.script("create table t (n int); create view v as select 1 as one").unwrap();
    for name in ["t", "v"] {
        let error = connection.register(name, batches(batch(0..1))).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Constraint);
    }
    let n = Arc::new(Int64Array::from(vec![1])) as ArrayRef;
    let twice = RecordBatch::try_from_iter([("n", n.clone()), ("n", n)]).unwrap();
    assert!(connection.register("twice", batches(twice)).unwrap_err().message().contains("two columns"));
    let error =
        connection.register("none", Source::Batches(Arc::new(Schema::empty()), Vec::new())).unwrap_err();
    assert!(error.message().contains("no columns"), "{error}");
}

#[test]
fn what_is_missing_is_asked_for_once_a_statement() {
    let db = Database::in_memory().unwrap();
    let mut connection = db.connect();
    connection.script("create table stored (n bigint); insert into stored values (1)").unwrap();
    let (send, asked) = std::sync::mpsc::channel();
    connection.on_missing_table(move |name| {
        send.send(name.to_owned()).unwrap();
        (name == "frame").then(|| batches(batch(0..10)))
    });
    let query = "with c as (select 1 as n)
        select count(*) from frame as a, frame as b, stored, c where a.n = b.n and b.n = stored.n and stored.n = c.n";
    assert_eq!(count(&mut connection, query), 1);
    let names: Vec<_> = asked.try_iter().collect();
    assert_eq!(names.iter().filter(|name| *name == "frame").count(), 1, "{names:?}");
    assert!(!names.contains(&"stored".to_owned()));
    let error = connection.sql("select * from elsewhere").err().unwrap();
    assert_eq!((error.kind(), error.object()), (ErrorKind::NotFound, Some("elsewhere")));
    // What was found is of its statement.
    connection.sql("create table kept as select * from frame").unwrap();
    connection.on_missing_table(|_| None);
    assert_eq!(connection.sql("select * from frame").err().unwrap().kind(), ErrorKind::NotFound);
    assert_eq!(count(&mut connection, "select count(*) from kept"), 10);
}
