//! Isolation levels, as two sessions see them.

use std::time::Duration;

use ambo_sql::{Connection, Database, ErrorKind};

fn accounts(options: ambo::Options) -> Database {
    let db = Database::new(options.open_in_memory().unwrap());
    db.connect()
        .script("create table t (id int primary key, n int unique); insert into t values (1, 10), (2, 20)")
        .unwrap();
    db
}

fn n(connection: &mut Connection, id: i32) -> i32 {
    connection.query("select n from t where id = $1", (id,)).unwrap().single().unwrap().into_values().unwrap()
}

fn count(connection: &mut Connection, condition: &str) -> i64 {
    let text = format!("select count(*) from t where {condition}");
    connection.sql(&text).unwrap().single().unwrap().into_values().unwrap()
}

/// Keeps away: statements under read committed that do not see what was committed before them, or see what was committed after they
/// began; and the same under snapshot.
#[test]
fn each_statement_reads_at_the_moment_that_its_level_says() {
    for (level, sees) in [
        ("read committed", true),
        ("read uncommitted", true),
        ("repeatable read", false),
        ("snapshot", false),
        ("serializable", false),
        ("read committed, read only", true),
        ("repeatable read, read only", false),
    ] {
        let db = accounts(ambo::Options::new());
        let (mut one, mut other) = (db.connect(), db.connect());
        one.sql(&format!("begin isolation level {level}")).unwrap();
        assert_eq!((n(&mut one, 1), count(&mut one, "n > 5")), (10, 2));
        other.script("begin; update t set n = 11 where id = 1; insert into t values (3, 30)").unwrap();
        assert_eq!((n(&mut one, 1), count(&mut one, "n > 5")), (10, 2), "{level}: it is not committed");
        other.sql("commit").unwrap();
        let seen = if sees { (11, 3) } else { (10, 2) };
        assert_eq!((n(&mut one, 1), count(&mut one, "n > 5")), seen, "{level}");
        one.sql("commit").unwrap();
        assert!(db.check().unwrap().is_sound());
    }
}

/// Keeps away: a statement that fails although it could look again, an update of a row as it was, and two rows with one unique value.
#[test]
fn a_statement_that_comes_second_waits_and_looks_again() {
    let db = accounts(ambo::Options::new().lock_timeout(Duration::from_secs(30)));
    let mut one = db.connect();
    one.script("begin isolation level read committed; update t set n = n + 1 where id = 1; insert into t values (4, 40)").unwrap();
    let second = std::thread::scope(|scope| {
        let second = scope.spawn(|| {
            let mut other = db.connect();
            other.sql("begin isolation level read committed").unwrap();
            let updated = other.execute("update t set n = n + 1 where n < 15", ()).unwrap();
            let twice = other.execute("insert into t values (5, 40)", ()).unwrap_err();
            assert_eq!(twice.kind(), ErrorKind::Constraint, "{twice}");
            let again = other
                .execute("insert into t values (4, 41) on conflict (id) do update set n = 42", ())
                .unwrap();
            other.sql("commit").unwrap();
            (updated, again)
        });
        std::thread::sleep(Duration::from_millis(50));
        one.sql("commit").unwrap();
        second.join().unwrap()
    });
    assert_eq!(second, (1, 1));
    assert_eq!((n(&mut one, 1), n(&mut one, 4)), (12, 42));
    assert!(db.check().unwrap().is_sound());
}

/// Keeps away: a snapshot that goes on as if nobody had come before it.
#[test]
fn under_snapshot_the_second_to_commit_begins_anew() {
    let db = accounts(ambo::Options::new());
    let (mut one, mut other) = (db.connect(), db.connect());
    for connection in [&mut one, &mut other] {
        connection
            .script("begin isolation level repeatable read; update t set n = n + 1 where id = 1")
            .unwrap();
    }
    one.sql("commit").unwrap();
    let error = other.sql("commit").map(drop).unwrap_err();
    assert!(error.is_retryable(), "{error}");
    assert_eq!(n(&mut one, 1), 11);
}

/// Keeps away: two migrations that both succeed where they change the same, and one that is seen in parts.
#[test]
fn migrations_of_two_sessions() {
    let db = accounts(ambo::Options::new());
    let (mut one, mut other) = (db.connect(), db.connect());
    one.script("begin; alter table t add column note text; create table log (id int primary key, what text)")
        .unwrap();
    other.script("begin; create table other (a int)").unwrap();
    assert_eq!(other.sql("select * from log").map(drop).unwrap_err().kind(), ErrorKind::NotFound);
    one.sql("insert into log select id, note from t").unwrap();
    one.sql("commit").unwrap();
    other.sql("commit").unwrap();
    assert_eq!(other.sql("select * from log").unwrap().count(), 2);
    for connection in [&mut one, &mut other] {
        connection.script("begin; alter table log add column at timestamp").unwrap();
    }
    one.sql("commit").unwrap();
    let error = other.sql("commit").map(drop).unwrap_err();
    assert!(error.is_retryable() && error.to_string().contains("log"), "{error}");
    assert!(db.check().unwrap().is_sound());
}

/// Keeps away: a table that another transaction made meanwhile, and that the short way of statements finds and tells of by its number.
#[test]
fn tables_that_are_newer_than_a_transaction_are_named() {
    let db = Database::in_memory().unwrap();
    let (mut one, mut other) = (db.connect(), db.connect());
    one.script("begin; select 1").unwrap();
    other.script("create table newer (id int primary key, n int); insert into newer values (1, 10)").unwrap();
    for statement in [
        "insert into newer values (2, 20)",
        "select n from newer where id = 1",
        "select count(*) from newer",
        "update newer set n = 1 where id = 1",
        "select max(n) from newer",
    ] {
        let error = one.sql(statement).err().unwrap_or_else(|| panic!("{statement}"));
        assert_eq!(
            error.message(),
            "table \"newer\" was created after this transaction began",
            "{statement}"
        );
        assert_eq!(error.kind(), ErrorKind::NotFound);
    }
    let error = one.sql("select * from none").err().unwrap();
    assert_eq!(error.message(), "there is no table \"none\"");
    one.sql("commit").unwrap();
    one.sql("insert into newer values (2, 20)").unwrap();
    one.script("begin; drop table newer").unwrap();
    let error = one.sql("select * from newer").err().unwrap();
    assert_eq!(error.message(), "there is no table \"newer\"");
    one.sql("rollback").unwrap();
    assert!(db.check().unwrap().is_sound());
}
