//! SQLSTATE of errors.

use ambo_sql::Database;

#[test]
fn errors_have_the_states_that_drivers_know() {
    let db = Database::in_memory().unwrap();
    let mut connection = db.connect();
    connection
        .script(
            "create table t (id int primary key, n int not null, small smallint, check (n > 0));
             create view v as select 1 as one;
             create unique index t_small on t (small);
             insert into t values (1, 1, 1)",
        )
        .unwrap();
    let states = [
        ("select", "42601"),
        ("selekt 1", "42601"),
        ("select * from missing", "42P01"),
        ("insert into missing values (1)", "42P01"),
        ("drop table missing", "42P01"),
        ("drop view missing", "42P01"),
        ("select missing from t", "42703"),
        ("select t.missing from t", "42703"),
        ("update t set missing = 1", "42703"),
        ("select missing(1)", "42883"),
        ("create table s.t (a int)", "3F000"),
        ("create table t (a int)", "42P07"),
        ("create view v as select 1", "42P07"),
        ("alter table t add column n int", "42701"),
        ("insert into t values (1, 1, 2)", "23505"),
        ("insert into t values (2, 1, 1)", "23505"),
        ("insert into t values (2, null, 2)", "23502"),
        ("insert into t values (2, 0, 2)", "23514"),
        ("select 1 / n from (values (0)) as v (n)", "22012"),
        ("select (id + 100000)::smallint from t", "22003"),
        ("select cast(n as int) from (values ('x')) as v (n)", "22P02"),
        ("select (select v from (values (1), (2)) as w (v))", "21000"),
        ("commit", "25P01"),
        ("rollback to savepoint s", "25P01"),
        ("execute missing", "26000"),
        ("insert into t (id, n) values ($1, 1)", "08P01"),
        ("select id from t as a, t as b", "42702"),
    ];
    for (statement, state) in states {
        let error = connection.sql(statement).and_then(|mut rows| rows.try_for_each(|row| row.map(drop)));
        let error = error.expect_err(statement);
        assert_eq!(error.sqlstate(), state, "{statement}: {error} ({:?})", error.kind());
    }
    connection.sql("begin read only").unwrap();
    assert_eq!(connection.sql("insert into t values (9, 9, 9)").err().unwrap().sqlstate(), "25006");
    assert_eq!(connection.sql("begin").err().unwrap().sqlstate(), "25001");
    connection.sql("commit").unwrap();
}

#[test]
fn conflicts_and_locks_have_states() {
    let db = Database::in_memory().unwrap();
    let (mut one, mut other) = (db.connect(), db.connect());
    one.script("create table t (id int primary key, n int); insert into t values (1, 1)").unwrap();
    one.script("begin; update t set n = 2 where id = 1").unwrap();
    other.script("begin; update t set n = 3 where id = 1").unwrap();
    one.sql("commit").unwrap();
    let error = other.sql("commit").err().unwrap();
    assert_eq!((error.sqlstate(), error.is_retryable()), ("40001", true));
}
