//! Rows that outlive what they came from, and several at once.

use std::{
    sync::{Arc, mpsc::RecvTimeoutError},
    time::{Duration, Instant},
};

use ambo_sql::{Database, ErrorKind};

fn numbers(db: &Database, rows: u32) {
    db.sql(&format!("create table t as select value::bigint as n from range({rows}) as r (value)")).unwrap();
}

#[test]
fn several_results_are_taken_at_once_beside_statements() {
    let db = Database::in_memory().unwrap();
    numbers(&db, 30_000);
    let mut connection = db.connect();
    let mut one = connection.run("select n from t order by n", ()).unwrap();
    let mut other = connection.run("select n from t order by n desc", ()).unwrap();
    for nth in 0..20_000i64 {
        assert_eq!(one.next().unwrap().unwrap().into_values::<i64>().unwrap(), nth);
        assert_eq!(other.next().unwrap().unwrap().into_values::<i64>().unwrap(), 29_999 - nth);
        if nth == 100 {
            assert_eq!(connection.execute("delete from t where n >= 10000", ()).unwrap(), 20_000);
        }
    }
    assert_eq!((one.count(), other.count()), (10_000, 10_000));
    assert!(db.check().unwrap().is_sound());
}

#[test]
fn rows_are_those_of_their_moment_when_the_transaction_has_ended() {
    let db = Database::in_memory().unwrap();
    numbers(&db, 10_000);
    let mut connection = db.connect();
    for end in ["commit", "rollback"] {
        connection.script("begin; delete from t where n % 2 = 0; insert into t values (-1)").unwrap();
        let rows = connection.run("select n from t where n < 9999", ()).unwrap();
        connection.sql(end).unwrap();
        connection.sql("delete from t where n = -1 or n > 5000").unwrap();
        assert_eq!(rows.count(), 5000);
        connection.script("truncate t; insert into t select value from range(10000) as r (value)").unwrap();
    }
}

#[test]
fn rows_keep_what_computes_them() {
    let rows = {
        let db = Database::in_memory().unwrap();
        numbers(&db, 50_000);
        db.connect().run("select a.n from t as a join t as b on a.n = b.n", ()).unwrap()
    };
    assert_eq!(rows.count(), 50_000);
}

#[test]
fn rows_are_taken_by_other_threads_and_interrupted_together() {
    let db = Database::in_memory().unwrap();
    numbers(&db, 100_000);
    let mut connection = db.connect();
    let long = "select count(*) from t as a, t as b where (a.n * b.n) % 7 = 3";
    let interrupter = connection.interrupter();
    let rows: Vec<_> = (0..2).map(|_| connection.run(long, ()).unwrap()).collect();
    let threads: Vec<_> =
        rows.into_iter().map(|rows| std::thread::spawn(move || rows.single().unwrap_err().kind())).collect();
    std::thread::sleep(Duration::from_millis(200));
    interrupter.interrupt();
    for thread in threads {
        assert_eq!(thread.join().unwrap(), ErrorKind::Cancelled);
    }
    assert_eq!(connection.sql("select 1").unwrap().count(), 1);
}

#[test]
fn a_hook_ends_a_statement_and_leaves_the_transaction() {
    let db = Database::in_memory().unwrap();
    numbers(&db, 100_000);
    let mut connection = db.connect();
    connection.script("begin; insert into t values (-1)").unwrap();
    let ends = Arc::new(std::sync::atomic::AtomicBool::new(true));
    let asked = ends.clone();
    let act = move || !asked.load(std::sync::atomic::Ordering::Relaxed);
    connection.on_wait(Duration::from_millis(5), act);
    let long = "select count(*) from t as a, t as b where (a.n * b.n) % 7 = 3";
    let error = connection.sql(long).and_then(|rows| rows.single()).unwrap_err();
    assert_eq!((error.kind(), error.sqlstate()), (ErrorKind::Cancelled, "57014"));
    ends.store(false, std::sync::atomic::Ordering::Relaxed);
    assert!(connection.in_transaction());
    let here: i64 = connection
        .sql("select count(*) from t where n = -1")
        .unwrap()
        .single()
        .unwrap()
        .into_values()
        .unwrap();
    assert_eq!(here, 1);
}

#[test]
fn an_index_that_is_given_up_is_not_there() {
    let db = Database::in_memory().unwrap();
    numbers(&db, 300_000);
    let mut connection = db.connect();
    let begun = Instant::now();
    connection.on_wait(Duration::from_millis(1), || false);
    let error = connection.sql("create index t_n on t (n)").err().unwrap();
    assert_eq!(error.kind(), ErrorKind::Cancelled, "{error} after {:?}", begun.elapsed());
    assert!(db.check().unwrap().is_sound());
    connection.on_wait(Duration::from_millis(1), || true);
    connection.sql("create index t_n on t (n)").unwrap();
    let found: i64 =
        connection.sql("select n from t where n = 77").unwrap().single().unwrap().into_values().unwrap();
    assert_eq!(found, 77);
    assert!(db.check().unwrap().is_sound());
}

#[test]
fn who_asks_is_told_how_far_a_query_is() {
    let db = Database::in_memory().unwrap();
    numbers(&db, 100_000);
    let mut connection = db.connect();
    let interrupter = connection.interrupter();
    let mut rows = connection.run("select n from t", ()).unwrap();
    rows.next().unwrap().unwrap();
    let progress = interrupter.progress().unwrap();
    assert!(progress.rows_read > 0, "{progress:?}");
    assert_eq!((progress.rows_total, progress.bytes_spilled), (Some(100_000), 0));
    assert_eq!(rows.by_ref().count(), 99_999);
    // Nothing of it is left.
    drop(rows);
    assert_eq!(interrupter.progress(), None);
}

// Keeps away: a statement that waits and cannot be ended.
#[test]
fn what_sleeps_ends_when_it_is_told_to() {
    let db = Database::in_memory().unwrap();
    let mut connection = db.connect();
    let begun = Instant::now();
    let interrupter = connection.interrupter();
    let (done, is_done) = std::sync::mpsc::channel::<()>();
    // Until it is heard: before the statement began, it is not meant.
    let other = std::thread::spawn(move || {
        while is_done.recv_timeout(Duration::from_millis(20)) == Err(RecvTimeoutError::Timeout) {
            interrupter.interrupt();
        }
    });
    let slept = connection.sql("select pg_sleep(600)").and_then(|rows| rows.single().map(drop));
    assert_eq!(slept.unwrap_err().kind(), ErrorKind::Cancelled);
    drop(done);
    other.join().unwrap();
    connection.sql("set statement_timeout = 50").unwrap();
    let slept = connection.sql("select pg_sleep(600) from range(3)").and_then(|rows| rows.single().map(drop));
    let error = slept.unwrap_err();
    assert!(error.message().contains("statement_timeout"), "{error}");
    assert!(begun.elapsed() < Duration::from_secs(300));
}
