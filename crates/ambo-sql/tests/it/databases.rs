//! Temporary objects and attached databases, where several connections or a directory are needed.

use std::time::{Duration, Instant};

use ambo_sql::{Connection, Database, ErrorKind};

use crate::common::{refused, rows, sound};

fn quoted(path: &std::path::Path) -> String {
    format!("'{}'", path.display())
}

/// Keeps away: temporary tables that others see, that stay, or that plans and statements which were read before do not see.
#[test]
fn what_is_temporary_is_of_one_connection() {
    let dir = tempfile::tempdir().unwrap();
    let db = Database::open(dir.path().join("db")).unwrap();
    let (mut one, mut other) = (db.connect(), db.connect());
    one.script("create table t (id int primary key, n int); insert into t values (1, 10)").unwrap();
    let mut by_key = one.prepare("select n from t where id = $1").unwrap();
    let n = |by_key: &mut ambo_sql::PreparedStatement, of: &mut Connection| -> i32 {
        by_key.query(of, (1,)).unwrap().single().unwrap().into_values().unwrap()
    };
    assert_eq!(n(&mut by_key, &mut one), 10);
    one.script("create temp table t (id int primary key, n int); insert into t values (1, 20)").unwrap();
    assert_eq!((n(&mut by_key, &mut one), n(&mut by_key, &mut other)), (20, 10));
    assert_eq!(refused(&mut other, "select * from temp.t").kind(), ErrorKind::NotFound);
    assert_eq!(db.tables(), ["main.t"]);
    // Rows that are still to come stay when the table is gone, and the connection too.
    let left = one.run("select n from t", ()).unwrap();
    one.sql("drop table t").unwrap();
    assert_eq!(n(&mut by_key, &mut one), 10);
    one.sql("create temp table u as select * from t").unwrap();
    drop(one);
    assert_eq!(left.count(), 1);
    drop((other, by_key));
    sound(&db);
    drop(db);
    let db = Database::open(dir.path().join("db")).unwrap();
    assert_eq!(db.tables(), ["main.t"]);
}

/// Keeps away: rows of an attached database that are lost, half of a transaction, and a second writer of a directory.
#[test]
fn an_attached_database_keeps_what_is_written() {
    let dir = tempfile::tempdir().unwrap();
    let (main, side) = (dir.path().join("main"), dir.path().join("side"));
    let attach = format!("attach {} as side", quoted(&side));
    let db = Database::open(&main).unwrap();
    let (mut one, mut other) = (db.connect(), db.connect());
    one.script("create table here (id int primary key)").unwrap();
    one.sql(&attach).unwrap();
    one.script("create table side.there (id int primary key, n int check (n > 0)); insert into side.there values (1, 1)").unwrap();
    // Both connections have the one that is open.
    other.sql(&attach).unwrap();
    one.script("begin; insert into side.there values (2, 2)").unwrap();
    assert_eq!(rows(&mut other, "select count(*) from side.there"), "1");
    let error = refused(&mut one, "insert into here values (2)");
    assert!(error.message().contains("has written to database \"side\""), "{error}");
    one.script("create temp table both as select * from side.there; commit").unwrap();
    assert_eq!(rows(&mut other, "select count(*) from side.there"), "2");
    assert_eq!(rows(&mut one, "select count(*) from both"), "2");
    // Who reads one and writes the other may.
    one.script("begin; insert into here select id from side.there; commit").unwrap();
    one.script("begin; insert into here values (7); rollback; begin; delete from side.there; rollback")
        .unwrap();
    assert_eq!(
        rows(&mut one, "select (select count(*) from here), (select count(*) from side.there)"),
        "2, 2"
    );
    // Not twice, and not the own one.
    let error = Database::open(&side).err().unwrap();
    assert!(matches!(error.storage(), Some(ambo::Error::InUse(_))), "{error}");
    assert!(refused(&mut one, &format!("attach {} as itself", quoted(&main))).storage().is_some());
    let error = refused(&mut other, &format!("attach {} as again (read_only)", quoted(&side)));
    assert!(error.message().contains("attached by another connection, to be written as well"), "{error}");
    drop((one, other));
    sound(&db);
    let side_db = Database::open(&side).unwrap();
    assert_eq!(rows(&mut side_db.connect(), "select * from there order by id"), "1, 1\n2, 2");
    sound(&side_db);
}

/// Keeps away: writes to what is attached to be read, and conflicts that another database brings into a transaction.
#[test]
fn an_attached_database_may_be_for_reading() {
    let dir = tempfile::tempdir().unwrap();
    let side = dir.path().join("side");
    Database::open(&side)
        .unwrap()
        .connect()
        .script("create table t (id int); insert into t values (5)")
        .unwrap();
    let db = Database::in_memory().unwrap();
    let mut connection = db.connect();
    assert!(
        refused(&mut connection, &format!("attach {} as x (read_only)", quoted(&dir.path().join("no"))))
            .storage()
            .is_some()
    );
    connection.sql(&format!("attach {} (read_only)", quoted(&side))).unwrap();
    let error = refused(&mut connection, "insert into side.t values (6)");
    assert_eq!((error.sqlstate(), error.kind()), ("25006", ErrorKind::Invalid), "{error}");
    assert_eq!(refused(&mut connection, "drop table side.t").sqlstate(), "25006");
    for level in ["read committed", "repeatable read", "serializable"] {
        connection.sql(&format!("begin transaction isolation level {level}")).unwrap();
        connection.script("savepoint s; create table copied as select * from side.t; rollback to s; create table copied as table side.t").unwrap();
        connection.script("commit; drop table copied").unwrap();
    }
    assert_eq!(refused(&mut connection, "select * from nowhere.main.t").sqlstate(), "3D000");
    connection.sql("detach side").unwrap();
    assert_eq!(refused(&mut connection, "select * from side.t").sqlstate(), "42P01");
    // Nobody has it any more.
    Database::open(&side).unwrap();
}

/// Keeps away: statements that go on behind their time, and those that end before it.
#[test]
fn statements_end_when_their_time_is_over() {
    let db = Database::in_memory().unwrap();
    let (mut one, mut other) = (db.connect(), db.connect());
    one.script(
        "create table t (id int primary key, n int); insert into t values (1, 1); set statement_timeout = 50",
    )
    .unwrap();
    let begun = Instant::now();
    let endless = "with recursive r (n) as (select 1 union all select n % 7 + 1 from r) select max(n) from r";
    let error = refused(&mut one, endless);
    assert_eq!((error.sqlstate(), error.kind()), ("57014", ErrorKind::Cancelled));
    assert!(error.message().contains("statement_timeout"), "{error}");
    assert!(begun.elapsed() >= Duration::from_millis(50));
    one.script("set statement_timeout = '1h'; set lock_timeout = 20").unwrap();
    // Who waits for a lock does so for the shorter of both.
    other.script("begin; select * from t where id = 1 for update").unwrap();
    one.sql("begin").unwrap();
    let error = refused(&mut one, "select * from t where id = 1 for update");
    assert_eq!(error.sqlstate(), "55P03", "{error}");
    one.script("set lock_timeout = '1h'; set statement_timeout = 20").unwrap();
    assert_eq!(refused(&mut one, "select * from t where id = 1 for update").sqlstate(), "57014");
    one.script("rollback; reset all").unwrap();
    // Rows have the time of their statement.
    one.sql("set statement_timeout = 30").unwrap();
    let many = "select * from generate_series(1, 100000000) g (n) where n % 50000000 = 7";
    let failed = match one.run(many, ()) {
        Ok(mut rows) => rows.find_map(Result::err),
        Err(error) => Some(error),
    };
    assert!(failed.is_none_or(|error| error.sqlstate() == "57014"));
    one.sql("set statement_timeout = 0").unwrap();
    assert_eq!(rows(&mut one, "select 1"), "1");
}
