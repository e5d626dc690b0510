//! INSERT.

use ambo_sql::{Database, ErrorKind};

use crate::common::{enter, everywhere, refused, rows, sound, written};

#[test]
fn values_and_defaults() {
    everywhere(|c, storage| {
        c.script(&format!(
            "create table t (id int primary key, n bigint default 7, name text) storage = {storage};
             create table u (a int default 3, b text) storage = {storage};"
        ))
        .unwrap();
        enter(c);
        assert_eq!(written(c, "insert into t values (1, default, 'one'), (2, 20, null)"), 2);
        assert_eq!(written(c, "insert into t (name, id) values ('three', 3)"), 1);
        assert_eq!(written(c, "insert into t (id) values (4)"), 1);
        assert_eq!(written(c, "insert into u default values"), 1);
        assert_eq!(written(c, "insert into t (id, n) select id + 10, n * 2 from t where n > 7"), 1);
        assert_eq!(
            rows(c, "select * from t order by id"),
            "1, 7, one\n2, 20, NULL\n3, 7, three\n4, 7, NULL\n12, 40, NULL"
        );
        assert_eq!(rows(c, "select * from u"), "3, NULL");
        assert_eq!(
            written(c, "with w as (select 30 as id, 'w' as name) insert into t (id, name) select * from w"),
            1
        );
        assert_eq!(rows(c, "select name from t where id = 30"), "w");
        assert_eq!(
            written(
                c,
                "with w as (select 31 as id) insert into t values ((select id from w), 1, 'v'), (32, 2, null)"
            ),
            2
        );
        // Parameters among values of other types, and defaults behind them.
        c.query("insert into t values ($1, $2, $3), ($4, default, 'x')", (50, 5i64, "p", 51)).unwrap();
        assert_eq!(rows(c, "select * from t where id >= 50 order by id"), "50, 5, p\n51, 7, x");
    });
}

#[test]
fn values_are_made_to_fit_or_refused_with_row_and_column() {
    everywhere(|c, storage| {
        c.script(&format!(
            "create table t (id int primary key, s smallint, d decimal(10, 2), day date, name text not null) storage = {storage}"
        ))
        .unwrap();
        enter(c);
        c.sql("insert into t values (1, '5', 1.005, '2024-02-29', 'a'), (2, 2.5, 3, null, 12)").unwrap();
        assert_eq!(
            rows(c, "select s, d, day, name from t order by id"),
            "5, 1.01, 2024-02-29, a\n3, 3.00, NULL, 12"
        );
        let error = refused(c, "insert into t (id, s, name) values (3, 1, 'a'), (4, 70000, 'b')");
        assert!(error.to_string().contains("row 2: column \"s\""), "{error}");
        let error = refused(c, "insert into t (id, day, name) values (3, 'no day', 'a')");
        assert!(error.to_string().contains("row 1: column \"day\""), "{error}");
        let error = refused(c, "insert into t (id, name) values (3, 'a'), (4, null)");
        assert_eq!(error.kind(), ErrorKind::Constraint);
        assert!(error.to_string().contains("row 2: column \"name\""), "{error}");
        assert!(
            refused(c, "insert into t (id, name) values (3)").to_string().contains("1 values for 2 columns")
        );
        assert!(refused(c, "insert into t (id, id) values (3, 4)").to_string().contains("twice"));
        assert_eq!(
            refused(c, "insert into t (id, nam) values (3, 'a')").hint(),
            Some("did you mean \"name\"?")
        );
        assert!(refused(c, "insert into t (id, name) select 1, 'a', 3").to_string().contains("columns"));
        assert_eq!(rows(c, "select count(*) from t"), "2");
    });
}

#[test]
fn conflicts() {
    everywhere(|c, storage| {
        c.script(&format!(
            "create table t (id int primary key, mail text unique, n int default 0) storage = {storage};
             insert into t values (1, 'a', 1), (2, 'b', 2), (3, null, 3);"
        ))
        .unwrap();
        enter(c);
        assert_eq!(refused(c, "insert into t values (1, 'x', 0)").kind(), ErrorKind::Constraint);
        assert_eq!(refused(c, "insert into t values (9, 'a', 0)").kind(), ErrorKind::Constraint);
        assert_eq!(
            written(c, "insert into t values (1, 'x', 0), (4, 'b', 0), (5, 'e', 5) on conflict do nothing"),
            1
        );
        assert_eq!(written(c, "insert or ignore into t values (1, 'x', 0), (4, 'd', 4)"), 1);
        // Only what is named is ignored.
        assert_eq!(written(c, "insert into t values (1, 'x', 0) on conflict (id) do nothing"), 0);
        assert_eq!(
            refused(c, "insert into t values (8, 'a', 0) on conflict (id) do nothing").kind(),
            ErrorKind::Constraint
        );
        assert_eq!(written(c, "insert into t values (8, 'a', 0) on conflict (mail) do nothing"), 0);
        // One row twice: each time with what the time before left.
        assert_eq!(
            written(
                c,
                "insert into t values (1, 'x', 10), (1, 'y', 20), (6, 'f', 6), (6, 'f', 60)
                 on conflict (id) do update set n = t.n + excluded.n where excluded.n <> 7"
            ),
            4
        );
        assert_eq!(rows(c, "select * from t where id in (1, 6) order by id"), "1, a, 31\n6, f, 66");
        // Columns that stand alone are those of the table; conditions may leave the row as it is.
        assert_eq!(
            written(
                c,
                "insert into t values (2, 'q', 5) on conflict (id) do update set n = n + 1 where n > 100"
            ),
            0
        );
        assert_eq!(
            rows(
                c,
                "insert into t values (10, 'b', 5) on conflict on constraint t_mail_key
                 do update set id = excluded.id, n = (select max(n) from t) returning *, id + 1 as next"
            ),
            "10, b, 66, 11"
        );
        assert_eq!(
            written(c, "insert into t values (3, 'c', 5) on duplicate key update n = n + values(n)"),
            1
        );
        assert_eq!(rows(c, "select * from t where id = 3"), "3, NULL, 8");
        assert_eq!(written(c, "replace into t values (3, 'a', 100)"), 1);
        assert_eq!(
            rows(c, "select * from t order by id"),
            "3, a, 100\n4, d, 4\n5, e, 5\n6, f, 66\n10, b, 66"
        );
        assert_eq!(written(c, "insert or replace into t (id, mail) values (3, 'z')"), 1);
        assert_eq!(rows(c, "select * from t where id = 3"), "3, z, 0");
        let error = refused(c, "insert into t values (1, 'x', 0) on conflict (n) do nothing");
        assert!(error.to_string().contains("unique index of it is of (n)"), "{error}");
        assert_eq!(
            refused(c, "insert into t values (1, 'x', 0) on conflict on constraint t_mail_ky do nothing")
                .kind(),
            ErrorKind::NotFound
        );
    });
}

#[test]
fn what_was_inserted_is_returned() {
    everywhere(|c, storage| {
        c.script(&format!(
            "create table t (id int primary key, n int default 4) storage = {storage};
             create table other (id int, x text) storage = {storage};
             insert into other values (1, 'one')"
        ))
        .unwrap();
        enter(c);
        assert_eq!(rows(c, "insert into t (id) values (1), (2) returning *"), "1, 4\n2, 4");
        let mut returned = c.sql("insert into t values (3, 3) returning t.n * 2 as twice, id").unwrap();
        assert_eq!(
            (returned.columns(), returned.affected(), returned.tag()),
            (vec!["twice", "id"], Some(1), "INSERT")
        );
        assert_eq!(returned.next().unwrap().unwrap().into_values::<(i64, i64)>().unwrap(), (6, 3));
        drop(returned);
        let statement =
            "insert into t values (-1, 1) returning (select max(x) from other where other.id = t.n) as x";
        assert_eq!(rows(c, statement), "one");
        assert!(
            refused(c, "insert into t values (9, 9) returning count(*)").to_string().contains("several rows")
        );
        assert_eq!(rows(c, "select count(*) from t"), "4");
    });
}

#[test]
fn a_statement_inserts_all_rows_or_none() {
    everywhere(|c, storage| {
        c.script(&format!("create table t (id int primary key) storage = {storage}")).unwrap();
        enter(c);
        c.sql("insert into t values (5)").unwrap();
        assert!(c.sql("insert into t values (1), (2), (5), (6)").is_err());
        assert_eq!(rows(c, "select * from t"), "5");
        assert!(c.sql("insert into t select n.v from (values (7), (8), (7)) as n (v)").is_err());
        assert_eq!(rows(c, "select * from t"), "5");
    });
}

#[test]
fn many_rows_are_loaded_at_once() {
    let dir = tempfile::tempdir().unwrap();
    let db = Database::open(dir.path()).unwrap();
    let mut c = db.connect();
    c.script(
        "create table t (id bigint primary key, n bigint default 5, name text unique) storage = column;
         insert into t values (-1, 0, 'old')",
    )
    .unwrap();
    let seen = std::sync::Arc::new(std::sync::atomic::AtomicU64::new(0));
    let seen_too = seen.clone();
    c.on_progress(move |rows| {
        seen_too.fetch_max(rows, std::sync::atomic::Ordering::Relaxed);
    });
    let many = "select value, 'name ' || value from generate_series(1, 100000)";
    assert_eq!(written(&mut c, &format!("insert into t (id, name) {many}")), 100_000);
    assert_eq!(seen.load(std::sync::atomic::Ordering::Relaxed), 100_000);
    assert_eq!(rows(&mut c, "select count(*), sum(id), min(n), max(n) from t"), "100001, 5000049999, 0, 5");
    // Keys and unique values are looked at; nothing of a load that fails is there.
    assert_eq!(refused(&mut c, &format!("insert into t (id, name) {many}")).kind(), ErrorKind::Constraint);
    let others = "select value + 1000000, 'name ' || value from generate_series(1, 100000)";
    assert_eq!(refused(&mut c, &format!("insert into t (id, name) {others}")).kind(), ErrorKind::Constraint);
    let bad = "select value + 1000000, case value when 70000 then null else value end, null from generate_series(1, 100000)";
    assert_eq!(written(&mut c, &format!("insert into t {bad}")), 100_000);
    let bad =
        "select case value when 70000 then null else value + 5000000 end, 1 from generate_series(1, 100000)";
    let error = refused(&mut c, &format!("insert into t (id, n) {bad}"));
    assert_eq!(error.kind(), ErrorKind::Constraint, "{error}");
    assert!(error.to_string().contains(": column \"id\""), "{error}");
    assert_eq!(rows(&mut c, "select count(*) from t"), "200001");
    // Inside of a transaction they are part of it.
    c.sql("begin").unwrap();
    assert_eq!(
        written(
            &mut c,
            "insert into t (id, name) select value + 9000000, null from generate_series(1, 50000)"
        ),
        50_000
    );
    assert_eq!(rows(&mut c, "select count(*) from t"), "250001");
    c.sql("rollback").unwrap();
    assert_eq!(rows(&mut c, "select count(*) from t"), "200001");
    sound(&db);
}

#[test]
fn numbers_that_keys_are_given_are_returned() {
    for storage in [ambo::Storage::BTree, ambo::Storage::Column, ambo::Storage::Memory] {
        let db = Database::in_memory().unwrap();
        let table = ambo::TableDefinition::new("t")
            .column("id", ambo::Type::I64)
            .column_nullable("n", ambo::Type::I64);
        db.create_table(table.primary_key(&["id"]).auto_increment().storage(storage)).unwrap();
        db.create_index(&ambo::IndexDefinition::new("t_n", "t", &["n"]).unique()).unwrap();
        let mut c = db.connect();
        assert_eq!(rows(&mut c, "insert into t (n) values (10), (20) returning id"), "1\n2");
        assert_eq!(
            rows(&mut c, "insert into t values (null, 30), (7, 70), (null, 80) returning *"),
            "3, 30\n7, 70\n8, 80"
        );
        assert_eq!(
            rows(&mut c, "insert into t (n) values (10) on conflict (n) do update set n = 11 returning *"),
            "1, 11"
        );
        assert_eq!(rows(&mut c, "replace into t (n) values (11) returning *"), "9, 11");
        assert_eq!(
            written(&mut c, "insert into t (n) select value + 1000 from generate_series(1, 40000)"),
            40_000
        );
        assert_eq!(rows(&mut c, "select count(*), count(distinct id), min(id) from t"), "40005, 40005, 2");
        sound(&db);
    }
}

#[test]
fn many_rows_without_a_key_are_loaded_too() {
    let db = Database::in_memory().unwrap();
    let mut c = db.connect();
    c.script("create table t (a bigint, b text); insert into t values (0, 'before')").unwrap();
    let many = "with s as (select value from generate_series(1, 40000)) insert into t (b, a) select 'b' || value, value from s";
    assert_eq!(written(&mut c, many), 40_000);
    assert_eq!(written(&mut c, "insert into t select * from t"), 40_001);
    assert_eq!(rows(&mut c, "select count(*), sum(a), max(b) from t"), "80002, 1600040000, before");
    assert_eq!(written(&mut c, "delete from t where a > 0"), 80_000);
    assert_eq!(rows(&mut c, "select * from t"), "0, before\n0, before");
    sound(&db);
}

#[test]
fn serializable_transactions_that_only_insert_are_not_in_each_others_way() {
    let db = Database::in_memory().unwrap();
    let (mut one, mut other) = (db.connect(), db.connect());
    one.script("create table t (id int primary key)").unwrap();
    for (c, id) in [(&mut one, 1), (&mut other, 2)] {
        c.sql("begin isolation level serializable").unwrap();
        c.execute("insert into t values ($1)", (id,)).unwrap();
    }
    one.sql("commit").unwrap();
    other.sql("commit").unwrap();
    assert_eq!(rows(&mut one, "select count(*) from t"), "2");
    sound(&db);
}
