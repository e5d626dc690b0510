//! UPDATE.

use ambo_sql::ErrorKind;

use crate::common::{enter, everywhere, refused, rows, sorted, sound, written};

#[test]
fn rows_are_changed_as_conditions_say() {
    everywhere(|c, storage| {
        c.script(&format!(
            "create table t (id int primary key, n int default 9, name text) storage = {storage};
             create table s (id int, x int) storage = {storage};
             insert into t values (1, 1, 'a'), (2, 2, 'b'), (3, 3, 'c'), (4, null, 'd');
             insert into s values (2, 20), (3, 30), (3, 31);"
        ))
        .unwrap();
        enter(c);
        // What a provider of the planner would be told is "all rows".
        assert_eq!(written(c, "update t set n = 0 where id = 1 and id = 2"), 0);
        assert_eq!(written(c, "update t set n = 0 where false"), 0);
        assert_eq!(written(c, "update t set n = 0 where null"), 0);
        assert_eq!(written(c, "update t set n = n + 10 where id in (select id from s where x = 20)"), 1);
        assert_eq!(rows(c, "select n from t order by id"), "1\n12\n3\nNULL");
        assert_eq!(
            written(c, "update t set n = 100 where exists (select 1 from s where s.id = t.id and x > 30)"),
            1
        );
        assert_eq!(
            written(c, "update t set n = n + 1 where not exists (select * from s where s.id = t.id)"),
            2
        );
        assert_eq!(rows(c, "select n from t order by id"), "2\n12\n100\nNULL");
        assert_eq!(
            written(
                c,
                "update main.t set n = (select max(x) from s where s.id = t.id), name = upper(name) where main.t.id < 4"
            ),
            3
        );
        assert_eq!(rows(c, "select n, name from t order by id"), "NULL, A\n20, B\n31, C\nNULL, d");
        assert_eq!(written(c, "update t as u set (n, name) = (u.id * 2, default) where u.n is null"), 2);
        assert_eq!(rows(c, "select n, name from t order by id"), "2, NULL\n20, B\n31, C\n8, NULL");
        assert_eq!(
            written(
                c,
                "update t set (n, name) = (select min(x), count(*) from s where s.id = t.id) where id = 3"
            ),
            1
        );
        assert_eq!(written(c, "update t set n = default where id = 1"), 1);
        assert_eq!(rows(c, "select n, name from t where id in (1, 3) order by id"), "9, NULL\n30, 2");
        assert_eq!(written(c, "update t set n = id"), 4);
        assert_eq!(rows(c, "select id from t where n = 3"), "3");
        assert_eq!(c.execute("update t set n = $2 where id = $1", (1, 77)).unwrap(), 1);
        assert_eq!(c.execute("update t set n = ? where id = ?", (78, 2)).unwrap(), 1);
        assert_eq!(rows(c, "select n from t where id < 3 order by id"), "77\n78");
        assert_eq!(
            written(c, "with w as (select 4 as id, 44 as n) update t set n = w.n from w where w.id = t.id"),
            1
        );
        assert_eq!(rows(c, "select n from t where id = 4"), "44");
        assert_eq!(written(c, "update t set n = 0 where id in (select id from t where id > 2)"), 2);
    });
}

#[test]
fn values_that_are_unique_change_hands() {
    everywhere(|c, storage| {
        c.script(&format!(
            "create table t (id int primary key, u int unique) storage = {storage};
             insert into t values (1, 10), (2, 20), (3, 30);"
        ))
        .unwrap();
        enter(c);
        assert_eq!(written(c, "update t set id = id + 1"), 3);
        assert_eq!(written(c, "update t set id = 6 - id"), 3);
        assert_eq!(rows(c, "select * from t order by id"), "2, 30\n3, 20\n4, 10");
        assert_eq!(written(c, "update t set u = 40 - u"), 3);
        assert_eq!(rows(c, "select * from t order by id"), "2, 10\n3, 20\n4, 30");
        assert_eq!(written(c, "update t set u = case u when 10 then 20 else 10 end where u < 30"), 2);
        assert_eq!(rows(c, "select id from t where u = 20"), "2");
        // Two rows with one value are refused, and nothing is changed.
        assert_eq!(refused(c, "update t set u = 5").kind(), ErrorKind::Constraint);
        assert_eq!(refused(c, "update t set id = 7 where u < 30").kind(), ErrorKind::Constraint);
        assert_eq!(refused(c, "update t set id = 4 where id = 2").kind(), ErrorKind::Constraint);
        assert_eq!(refused(c, "update t set id = null where id = 2").kind(), ErrorKind::Constraint);
        assert_eq!(rows(c, "select * from t order by id"), "2, 20\n3, 10\n4, 30");
    });
}

#[test]
fn other_tables_say_what_becomes_of_rows() {
    everywhere(|c, storage| {
        c.script(&format!(
            "create table t (a int, b text) storage = {storage};
             create table s (a int, b text) storage = {storage};
             insert into t values (1, 'x'), (1, 'y'), (2, 'z');
             insert into s values (1, 'one'), (2, 'two'), (2, 'zwei'), (3, 'three');"
        ))
        .unwrap();
        enter(c);
        assert_eq!(
            sorted(
                c,
                "update t set b = t.b || s.b from s where s.a = t.a and s.b <> 'zwei' returning t.a, s.b as s, t.b"
            ),
            "1, one, xone\n1, one, yone\n2, two, ztwo"
        );
        // Two rows of the other table: one of them is taken, the row is changed once.
        assert_eq!(written(c, "update t set b = s.b from s where t.a = s.a and s.a = 2"), 1);
        assert!(["two", "zwei"].contains(&rows(c, "select b from t where a = 2").as_str()));
        // The table with itself, and by tables that have no primary key either.
        assert_eq!(written(c, "update t set b = o.b from t as o where o.a = 2 and t.a = 1"), 2);
        assert_eq!(rows(c, "select count(distinct b) from t"), "1");
        assert_eq!(
            written(
                c,
                "update t set a = 0 where a in (select a from s where a = 2) and b in (select b from t)"
            ),
            1
        );
        assert_eq!(
            rows(c, "update t set a = a + 5 where a = 0 returning *"),
            "5, two".replace("two", &rows(c, "select b from t limit 1"))
        );
        assert!(
            refused(c, "update t set b = 1 from s where s.a = t.a limit 1").to_string().contains("LIMIT")
        );
    });
}

#[test]
fn some_of_the_rows_in_an_order() {
    everywhere(|c, storage| {
        c.script(&format!(
            "create table t (id int primary key, n int) storage = {storage};
             insert into t select value, 10 - value from generate_series(1, 9)"
        ))
        .unwrap();
        enter(c);
        assert_eq!(written(c, "update t set n = 0 order by n limit 2"), 2);
        assert_eq!(rows(c, "select id from t where n = 0 order by id"), "8\n9");
        let error = refused(c, "update t set n = 'x' where id = 3");
        assert!(error.to_string().contains("column \"n\""), "{error}");
        assert_eq!(refused(c, "update t set m = 1").hint(), Some("did you mean \"n\"?"));
        assert_eq!(refused(c, "update u set m = 1").kind(), ErrorKind::NotFound);
        assert!(refused(c, "update t set n = 1, n = 2").to_string().contains("twice"));
        assert!(refused(c, "update t set (id, n) = (1, 2, 3)").to_string().contains("2 columns"));
        assert!(refused(c, "update t set n = 10 / (id - 5)").to_string().to_lowercase().contains("zero"));
        assert_eq!(rows(c, "select count(*) from t where n = 0"), "2");
    });
}

#[test]
fn read_only_transactions_write_nothing() {
    let db = ambo_sql::Database::in_memory().unwrap();
    let mut c = db.connect();
    c.script("create table t (id int primary key); insert into t values (1); begin read only").unwrap();
    for statement in ["update t set id = 2", "delete from t", "insert into t values (5)"] {
        assert!(refused(&mut c, statement).to_string().contains("read only"));
    }
    c.sql("commit").unwrap();
    assert_eq!(rows(&mut c, "select * from t"), "1");
}

#[test]
fn serializable_transactions_know_what_statements_read() {
    let db = ambo_sql::Database::in_memory().unwrap();
    let (mut one, mut other) = (db.connect(), db.connect());
    one.script("create table t (id int primary key, n int); insert into t values (1, 1), (2, 1)").unwrap();
    // Each sees that both are on duty, and takes one off.
    for c in [&mut one, &mut other] {
        c.sql("begin isolation level serializable").unwrap();
    }
    written(&mut one, "update t set n = 0 where id = 1 and (select sum(n) from t) = 2");
    written(&mut other, "update t set n = 0 where id = 2 and (select sum(n) from t) = 2");
    one.sql("commit").unwrap();
    assert!(refused(&mut other, "commit").is_retryable());
    assert_eq!(rows(&mut one, "select sum(n) from t"), "1");
}

#[test]
fn indexes_follow() {
    for storage in crate::common::STORAGES {
        let db = ambo_sql::Database::in_memory().unwrap();
        let mut c = db.connect();
        c.script(&format!(
            "create table t (id int primary key, n int, name text) storage = {storage};
             insert into t select value, value % 10, 'n' || value from generate_series(1, 1000)"
        ))
        .unwrap();
        db.create_index(&ambo::IndexDefinition::new("t_n", "t", &["n"])).unwrap();
        db.create_index(&ambo::IndexDefinition::new("t_name", "t", &["name"]).hash().unique()).unwrap();
        assert_eq!(written(&mut c, "update t set n = n + 1, name = name || 'x' where n < 5"), 500);
        assert_eq!(rows(&mut c, "select count(*) from t where n = 5"), "200");
        assert_eq!(rows(&mut c, "select id from t where name = 'n20x'"), "20");
        assert_eq!(written(&mut c, "update t set id = id + 10000, n = 77 where n = 5"), 200);
        assert_eq!(rows(&mut c, "select count(*) from t where n = 77"), "200");
        assert_eq!(written(&mut c, "delete from t where n = 77"), 200);
        assert_eq!(rows(&mut c, "select count(*) from t"), "800");
        sound(&db);
    }
}
