//! What tables are: created, changed, shown, and their rules kept.

use ambo::Datum;
use ambo_sql::{Connection, Database, ErrorKind};

use crate::common::{STORAGES, sound};

fn connect(storage: &str) -> (Database, Connection) {
    let db = Database::in_memory().unwrap();
    let mut connection = db.connect();
    connection.sql(&format!("set default_storage = {storage}")).unwrap();
    (db, connection)
}

fn rows(connection: &mut Connection, question: &str) -> Vec<Vec<String>> {
    let rows = connection.sql(question).unwrap_or_else(|error| panic!("{question}: {error}"));
    rows.map(|row| row.unwrap().values().iter().map(Datum::to_string).collect()).collect()
}

fn one(connection: &mut Connection, question: &str) -> String {
    connection.sql(question).unwrap().single().unwrap().values().last().unwrap().to_string()
}

fn fails(connection: &mut Connection, statement: &str) -> ambo_sql::Error {
    match connection.sql(statement) {
        Err(error) => error,
        Ok(_) => panic!("{statement} was done"),
    }
}

/// Keeps away: a text of SHOW CREATE that makes another table.
#[test]
fn a_table_is_made_again_of_its_text() {
    for storage in STORAGES {
        let (db, mut connection) = connect(storage);
        connection
            .script(
                "create schema \"Odd\";
                 create table \"Odd\".\"select\" (
                    id bigint primary key auto_increment comment 'it''s a number',
                    \"Name\" varchar(20) not null default 'a''b' unique,
                    price decimal(10, 2) default -1.5,
                    at timestamp default now(),
                    day date default date '2024-02-29',
                    bits blob default X'00FF',
                    flag boolean default true,
                    small tinyint unsigned check (small < 100),
                    constraint both_set check (flag or price > 0)
                 ) comment = 'odd' with (compaction_filter = 'it''s old');
                 create index by_day on \"Odd\".\"select\" using hash (day, flag);
                 comment on column \"Odd\".\"select\".price is 'in euro';",
            )
            .unwrap();
        let text = one(&mut connection, "show create table \"Odd\".\"select\"");
        connection.script("drop table \"Odd\".\"select\"").unwrap();
        connection.script(&text).unwrap_or_else(|error| panic!("{text}: {error}"));
        assert_eq!(one(&mut connection, "show create table \"Odd\".\"select\""), text);
        let error = fails(&mut connection, "insert into \"Odd\".\"select\" (small) values (100)");
        assert_eq!(error.kind(), ErrorKind::Constraint, "{error}");
        connection.script("insert into \"Odd\".\"select\" (small) values (1)").unwrap();
        let row = rows(
            &mut connection,
            "select id, \"Name\", price, day, flag, at > timestamp '2020-01-01' from \"Odd\".\"select\"",
        );
        assert_eq!(
            row,
            [["1", "a'b", "-1.50", "2024-02-29", "true", "true"]].map(|row| row.map(str::to_owned).to_vec())
        );
        sound(&db);
    }
}

/// Keeps away: a check or a default that is text only.
#[test]
fn rows_obey_the_rules_of_their_table() {
    for storage in STORAGES {
        let (db, mut connection) = connect(storage);
        connection
            .script(
                "create table t (id int primary key, n int default 1 + 1 check (n > 0), r double default random(),
                                 at timestamp default now(), constraint small check (n < 10 or id > 100))",
            )
            .unwrap();
        connection.script("insert into t (id) select * from generate_series(1, 50)").unwrap();
        assert_eq!(one(&mut connection, "select count(distinct at) from t"), "1");
        assert_eq!(one(&mut connection, "select count(distinct r) > 40 from t"), "true");
        assert_eq!(one(&mut connection, "select min(n) + max(n) from t"), "4");
        let error = fails(&mut connection, "insert into t (id, n) values (60, 5), (61, 0)");
        assert_eq!(error.kind(), ErrorKind::Constraint, "{error}");
        assert!(
            error.message().contains("\"t_n_check\"") && error.message().contains("id = 61, n = 0"),
            "{error}"
        );
        let error = fails(&mut connection, "insert into t (id, n) values (60, 10)");
        assert!(error.message().contains("\"small\""), "{error}");
        // NULL is not false.
        connection.script("insert into t (id, n) values (60, null), (101, 10)").unwrap();
        assert_eq!(one(&mut connection, "select count(*) from t"), "52");

        connection.script("alter table t rename column n to \"N\"").unwrap();
        assert!(
            fails(&mut connection, "insert into t (id, \"N\") values (70, 0)")
                .message()
                .contains("t_n_check")
        );
        let error = fails(&mut connection, "alter table t drop column \"N\"");
        assert!(error.message().contains("t_n_check"), "{error}");
        connection
            .script("alter table t drop constraint t_n_check; alter table t drop constraint small")
            .unwrap();
        connection
            .script("insert into t (id, \"N\") values (70, 0); alter table t drop column \"N\"")
            .unwrap();

        assert!(fails(&mut connection, "alter table t add check (id < 70)").message().contains("id = 70"));
        connection.script("alter table t add constraint few check (id < 102)").unwrap();
        assert!(fails(&mut connection, "insert into t (id) values (102)").message().contains("\"few\""));
        sound(&db);
    }
}

#[test]
fn columns_come_with_their_defaults() {
    for storage in STORAGES {
        let (db, mut connection) = connect(storage);
        connection.script("create table t (id int primary key); insert into t values (1)").unwrap();
        connection.script("alter table t add column a int not null default 5, add column b text").unwrap();
        connection
            .script("alter table t add column if not exists a int; insert into t (id) values (2)")
            .unwrap();
        connection
            .script("alter table t alter column a set default 6; insert into t (id) values (3)")
            .unwrap();
        connection
            .script("alter table t alter column a drop not null; alter table t alter a drop default")
            .unwrap();
        connection
            .script("insert into t (id) values (4); alter table t add column c timestamp default now()")
            .unwrap();
        assert_eq!(
            rows(&mut connection, "select id, a, b from t order by id"),
            [["1", "5", "NULL"], ["2", "5", "NULL"], ["3", "6", "NULL"], ["4", "NULL", "NULL"]]
                .map(|row| row.map(str::to_owned).to_vec())
        );
        assert_eq!(one(&mut connection, "select count(distinct c) from t"), "1");
        let error = fails(&mut connection, "alter table t add column r double default random()");
        assert!(error.hint().is_some(), "{error}");
        assert_eq!(
            fails(&mut connection, "alter table t alter column a set not null").kind(),
            ErrorKind::Constraint
        );
        let error = fails(&mut connection, "alter table t add column z int default 1 check (id < 4)");
        assert_eq!(error.kind(), ErrorKind::Constraint, "{error}");
        assert_eq!(rows(&mut connection, "describe t").len(), 4);
        sound(&db);
    }
}

#[test]
fn a_table_of_a_query_is_there_whole_or_not_at_all() {
    for storage in STORAGES {
        let (db, mut connection) = connect(storage);
        connection
            .script("create table a as select value as id, value % 7 as n, 'x' || value as name from generate_series(1, 40000)")
            .unwrap();
        assert_eq!(one(&mut connection, "select count(*) from a where n = 3"), "5714");
        let error =
            fails(&mut connection, "create table b (id int primary key, n int) as select n, id from a");
        assert!(error.message().contains("key"), "{error}");
        fails(&mut connection, "create table b as select 10 / (n - n) from a");
        fails(&mut connection, "create table b (id int, n int check (n < 6)) as select id, n from a");
        fails(&mut connection, "create table b (id int, n int unique) as select id, n from a");
        assert!(!db.tables().contains(&"main.b".to_owned()));
        connection.script("create or replace table a (id bigint primary key, n tinyint) as select id, n from a where n < 2").unwrap();
        assert_eq!(one(&mut connection, "select count(*) from a"), "11429");
        assert_eq!(db.tables(), ["main.a"]);
        sound(&db);
    }
}

/// Keeps away: views that never end, and errors with places in a text that nobody wrote.
#[test]
fn views_are_checked_and_expanded() {
    let (db, mut connection) = connect("column");
    connection
        .script(
            "create table t (id int primary key, n int); insert into t values (1, 10), (2, 20), (3, 30);
             create view v as select id, n * 2 as twice from t where id > 1;
             create view w (a, b) as select * from v where twice > 50",
        )
        .unwrap();
    assert_eq!(rows(&mut connection, "select b, a from w"), [["60", "3"]]);
    assert_eq!(one(&mut connection, "select count(*) from v join w on v.id = w.a"), "1");
    let of_views = "select count(*) from information_schema.columns where table_name in ('v', 'w')";
    assert_eq!(one(&mut connection, of_views), "4");
    let error = fails(&mut connection, "create view x as select nn from t");
    assert_eq!(
        (error.kind(), error.place().map(|place| place.column)),
        (ErrorKind::NotFound, Some(25)),
        "{error}"
    );
    assert!(
        fails(&mut connection, "create or replace view v as select a as id, b as twice from w")
            .message()
            .contains("itself")
    );
    fails(&mut connection, "create view v as select 1 as one");
    fails(&mut connection, "create view x (a, b, c) as select 1, 2");
    fails(&mut connection, "create view x as select id, id from t");
    fails(&mut connection, "create view x as select $1");
    connection.script("alter table t rename column n to m").unwrap();
    let error = fails(&mut connection, "select * from w");
    assert!(error.message().contains("view \"main.v\"") || error.message().contains("view \"v\""), "{error}");
    assert_eq!(error.place().map(|place| place.column), Some(15));
    connection.script("create or replace view v as select id, m * 2 as twice from t; drop view w").unwrap();
    assert_eq!(one(&mut connection, "select sum(twice) from v"), "120");
    assert!(fails(&mut connection, "drop table v").message().contains("view"));
    assert!(fails(&mut connection, "drop view t").message().contains("table"));
    assert_eq!(fails(&mut connection, "drop view vv").hint(), Some("did you mean \"v\"?"));
    sound(&db);
}

#[test]
fn mistakes_in_definitions_have_their_places() {
    let (_, mut connection) = connect("column");
    connection.script("create table items (id int primary key, price double)").unwrap();
    let mistakes = [
        ("create table t (a int, b itn)", 24, "there is no type"),
        ("create table t (a int, primary key (b))", 37, "no column \"b\""),
        ("create table t (a int) sort key (c)", 34, "no column \"c\""),
        ("create table t (a int default x)", 31, "default of column \"a\""),
        ("create table t (a int check (b > 1))", 30, "no column \"b\""),
        ("create table t (a int) storage = bread", 34, "storage"),
        ("alter table items drop column prise", 31, "no column \"prise\""),
        ("alter table itms rename to x", 13, "no table \"itms\""),
        ("create index on items (prize)", 24, "no column \"prize\""),
        ("create index i on items using gist2 (price)", 31, "kind of index"),
        ("truncate table itemz", 16, "no table"),
        ("comment on column items.prices is 'x'", 25, "no column"),
        ("drop table itemx", 12, "no table"),
    ];
    for (statement, column, message) in mistakes {
        let error = fails(&mut connection, statement);
        assert_eq!(error.place().map(|place| place.column), Some(column), "{statement}: {error}");
        assert!(error.message().contains(message), "{statement}: {error}");
    }
    for statement in [
        "create table t (a int check (a > (select 1)))",
        "create table t (a int check (sum(a) > 1))",
        "create table t (a int check (a + 1))",
        "create table t (a int default (select 1))",
        "create table t (a int default 'x')",
        "create table t (a int primary key, b int primary key)",
        "create table t (a int references nothing)",
        "create temporary table main.t (a int)",
        "create table t ()",
        "create table t (a int, a int)",
        "create table items as select 1 as a",
        "alter table items alter column price type date",
    ] {
        fails(&mut connection, statement);
    }
    connection.script("begin").unwrap();
    for statement in ["alter table items set storage = memory", "vacuum"] {
        assert!(fails(&mut connection, statement).message().contains("transaction"), "{statement}");
    }
    connection.script("rollback").unwrap();
    assert_eq!(rows(&mut connection, "show tables").len(), 1);
}

/// Keeps away: rows that are forbidden by a check which only SQL can evaluate, and that CHECK DATABASE is silent about.
#[test]
fn the_whole_check_evaluates_what_only_sql_can() {
    for storage in STORAGES {
        let db = Database::in_memory().unwrap();
        let c = &mut db.connect();
        c.script(&format!("create table t (id int primary key, s text) with (storage = {storage})")).unwrap();
        c.script("insert into t values (1, 'A'), (2, 'b'), (3, null), (4, 'c')").unwrap();
        sound(&db);
        db.add_check("t", ambo::Check::new("upper", "upper(s) = s")).unwrap();
        let expected = "main.t: check \"upper\" forbids 2 rows: upper(s) = s";
        assert_eq!(rows(c, "check database"), [[expected]]);
        assert_eq!(db.check().unwrap().problems, [expected]);
        c.script("delete from t where id in (2, 4)").unwrap();
        sound(&db);
        db.add_check("t", ambo::Check::new("gone", "nosuch(s) = s")).unwrap();
        assert!(rows(c, "check database")[0][0].starts_with("main.t: check \"gone\": "));
    }
}

/// Keeps away: rows that come without SQL and have other values in generated columns, and a check that is silent about them.
#[test]
fn generated_columns_are_held_to_what_they_are_computed_of() {
    for storage in STORAGES {
        let db = Database::in_memory().unwrap();
        let c = &mut db.connect();
        let columns = "id int primary key, n int, twice int generated always as (n * 2) stored";
        c.script(&format!("create table t ({columns}) with (storage = {storage})")).unwrap();
        c.script("insert into t (id, n) values (1, 5)").unwrap();
        sound(&db);
        let table = db.table("t").unwrap();
        let row = [2.into(), 5.into(), 11.into()];
        let error = table.insert_row(&row).unwrap_err();
        assert!(error.to_string().contains("write the row with SQL"), "{error}");
        table.checked_by_caller().insert_row(&row).unwrap();
        let problems = db.check().unwrap().problems;
        assert!(matches!(&problems[..], [one] if one.contains("twice_generated")), "{problems:?}");
        c.script("update t set n = 5 where id = 2").unwrap();
        sound(&db);
    }
}

/// Keeps away: rows that refer to none, made without SQL or unnoticed by the check; and others' rows that refer to what goes meanwhile.
#[test]
fn no_door_leaves_rows_that_refer_to_none() {
    for storage in STORAGES {
        let patience = std::time::Duration::from_millis(30);
        let db = ambo::Options::new().lock_timeout(patience).open_in_memory().unwrap();
        let db = Database::with_options(db, ambo_sql::SqlOptions::new());
        let c = &mut db.connect();
        c.script(&format!(
            "create table p (id int primary key) with (storage = {storage});
             create table c (id int primary key, p int references p) with (storage = {storage});
             insert into p values (1), (2), (3); insert into c values (1, 1)"
        ))
        .unwrap();
        sound(&db);
        let (parent, child) = (db.table("p").unwrap(), db.table("c").unwrap());
        assert!(child.insert_row(&[2.into(), 9.into()]).is_err());
        assert!(parent.delete_row(&[1.into()]).is_err());
        assert!(parent.select(&[]).unwrap().delete().is_err());
        assert!(db.truncate_table("p").is_err() && db.drop_table("p").is_err());
        let mut transaction = db.begin().unwrap();
        assert!(transaction.delete_row(&parent, &[1.into()]).is_err());
        drop(transaction);
        child.checked_by_caller().insert_row(&[2.into(), 9.into()]).unwrap();
        let problems = db.check().unwrap().problems;
        assert!(matches!(&problems[..], [one] if one.contains("c_p_fkey")), "{problems:?}");
        c.script("delete from c where id = 2").unwrap();
        sound(&db);
        // One refers to what another deletes: whoever comes first, no row is left that refers to none.
        for deleter_first in [false, true] {
            let (mut one, mut other) = (db.connect(), db.connect());
            one.script("begin").unwrap();
            other.script("begin").unwrap();
            let mut steps =
                [(&mut one, "insert into c values (7, 2)"), (&mut other, "delete from p where id = 2")];
            if deleter_first {
                steps.reverse();
            }
            let [(first, first_does), (second, second_does)] = steps;
            first.script(first_does).unwrap();
            let done = second.script(second_does);
            assert!(first.script("commit").is_ok() || done.is_ok());
            let _ = second.script("commit").or_else(|_| second.script("rollback"));
            sound(&db);
            c.script("delete from c where id = 7; insert into p values (2) on conflict do nothing").unwrap();
        }
    }
}
