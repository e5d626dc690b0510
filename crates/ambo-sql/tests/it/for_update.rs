//! SELECT … FOR UPDATE.

use crate::common::{STORAGES, refused, rows, sorted, sound, written};

#[test]
fn rows_are_locked_to_the_end_of_the_transaction() {
    for (storage, key) in STORAGES.into_iter().flat_map(|storage| [(storage, "primary key"), (storage, "")]) {
        let db = ambo_sql::Database::in_memory().unwrap();
        let (mut one, mut other) = (db.connect(), db.connect());
        one.script(&format!(
            "create table t (id int {key}, n int) storage = {storage}; insert into t values (1, 1), (2, 2), (3, 3)"
        ))
        .unwrap();
        one.sql("begin").unwrap();
        assert_eq!(
            rows(&mut one, "select *, n + 1 as m from t where id < 3 order by n desc limit 1 for update"),
            "2, 2, 3"
        );
        // Others that write it meet a conflict, or wait and meet one.
        let thread = std::thread::spawn(move || {
            other.sql("begin").unwrap();
            assert_eq!(written(&mut other, "update t set n = 30 where id = 3"), 1);
            assert_eq!(rows(&mut other, "select n from t where id = 3 for update"), "30");
            other.sql("commit").unwrap();
            other.sql("begin").unwrap();
            let error = refused(&mut other, "select t.* from t where id = 2 for update of t");
            assert!(error.is_retryable(), "{error}");
            other.sql("rollback").unwrap();
            other
        });
        std::thread::sleep(std::time::Duration::from_millis(200));
        assert_eq!(written(&mut one, "update t set n = 20 where id = 2"), 1);
        one.sql("commit").unwrap();
        let mut other = thread.join().unwrap();
        assert_eq!(sorted(&mut other, "select n from t for update"), "1\n20\n30");
        other.sql("prepare locked as select n from t where id = $1 for update").unwrap();
        assert_eq!(rows(&mut other, "execute locked(2)"), "20");
        for wrong in [
            "select * from t, t as u for update",
            "select * from t join t as u on true for update",
            "select count(*) from t for update",
            "select n from t group by n for update",
            "select distinct n from t for update",
            "select n, row_number() over () from t for update",
            "select 1 for update",
            "select * from t union select * from t for update",
            "select * from (select * from t) as t for update",
            "select * from t where n in (select n from t for update)",
            "insert into t select * from t for update",
            "select * from t for share",
            "select * from t for update nowait",
            "select * from t for update of u",
        ] {
            refused(&mut other, wrong);
        }
        other.sql("begin read only").unwrap();
        assert!(refused(&mut other, "select * from t for update").to_string().contains("read only"));
        other.sql("rollback").unwrap();
        sound(&db);
    }
}

/// A statement in a transaction of its own waits for a lock, and then begins anew: what it met was seen by nobody.
#[test]
fn statements_by_themselves_begin_anew() {
    for storage in STORAGES {
        let db = ambo_sql::Database::in_memory().unwrap();
        let (mut one, mut other) = (db.connect(), db.connect());
        one.script(&format!(
            "create table t (id int primary key, n int) storage = {storage}; insert into t values (1, 1), (2, 2)"
        ))
        .unwrap();
        one.sql("begin").unwrap();
        assert_eq!(rows(&mut one, "select n from t where id = 1 for update"), "1");
        let thread = std::thread::spawn(move || {
            let locked = rows(&mut other, "select n from t where id = 1 for update");
            let changed = rows(&mut other, "update t set n = n + 1 where id = 1 returning n");
            (locked, changed)
        });
        std::thread::sleep(std::time::Duration::from_millis(200));
        assert_eq!(written(&mut one, "update t set n = 10 where id = 1"), 1);
        one.sql("commit").unwrap();
        assert_eq!(thread.join().unwrap(), ("10".to_owned(), "11".to_owned()));
        sound(&db);
    }
}

/// A lock that is never to be had ends the statement with an error, after a while.
#[test]
fn statements_by_themselves_give_up() {
    let options = ambo::Options::new().lock_timeout(std::time::Duration::from_millis(20));
    let db = ambo_sql::Database::new(options.open_in_memory().unwrap());
    let (mut one, mut other) = (db.connect(), db.connect());
    one.script("create table t (id int primary key, n int); insert into t values (1, 1); begin").unwrap();
    assert_eq!(rows(&mut one, "select n from t for update"), "1");
    assert!(refused(&mut other, "select n from t for update").is_retryable());
    assert!(refused(&mut other, "update t set n = 2 where id = 1").is_retryable());
    one.sql("rollback").unwrap();
    assert_eq!(written(&mut other, "update t set n = 2 where id = 1"), 1);
    sound(&db);
}
