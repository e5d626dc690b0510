//! Values for `?`, in the order of the text, and for `$1`.

use ambo_sql::{Connection, Database, Params};

use crate::common::{refused, rows};

fn answer(connection: &mut Connection, statement: &str, values: impl Params) -> String {
    let answer = connection.query(statement, values).unwrap_or_else(|error| panic!("{statement}: {error}"));
    let row = |row: ambo_sql::Result<ambo_sql::Row>| {
        let row = row.unwrap_or_else(|error| panic!("{statement}: {error}"));
        row.values().iter().map(ToString::to_string).collect::<Vec<_>>().join(", ")
    };
    answer.map(row).collect::<Vec<_>>().join("\n")
}

/// Keeps away: values that are taken in the order of the syntax tree, where OFFSET stands behind LIMIT and FROM behind SELECT.
#[test]
fn marks_are_counted_in_the_order_of_the_text() {
    let db = Database::in_memory().unwrap();
    let c = &mut db.connect();
    let series = "select v from generate_series(1, 9) as t (v) order by v offset ? limit ?";
    assert_eq!(answer(c, series, (3, 2)), "4\n5");
    assert_eq!(answer(c, "select x.a, ? as b from (select ? as a) as x", ("list", "from")), "from, list");
    let with = "with c as (select ? as k) select k, ? as l from c where ? = 'where'";
    assert_eq!(answer(c, with, ("with", "list", "where")), "with, list");
    let first = "from (select ? as a) select a, ? as b where ? = 3";
    assert_eq!(answer(c, first, (1, 2, 3)), "1, 2");
    let value = "select ?, (from (select ? as a) select a + ?), ?";
    assert_eq!(answer(c, value, (1, 2, 10, 4)), "1, 12, 4");
    let windows = "select sum(v) over (order by v rows between ? preceding and ? following) from (values (1), (2), (4)) as t (v) where v > ? order by v limit ?";
    if let Ok(answer) = c.query(windows, (1, 0, 0, 9)) {
        assert_eq!(answer.count(), 3);
    }
    let cases = "select case when ? then ? else ? end, ? between ? and ?, ? in (?, ?)";
    assert_eq!(answer(c, cases, (true, 1, 2, 5, 4, 6, 7, 8, 7)), "1, true, true");
    assert_eq!(answer(c, "select ?2 as a, ?1 as b, $2 as c", ("one", "two")), "two, one, two");
    assert_eq!(c.query("select ? + 1", (1,)).unwrap().columns(), ["? + 1"]);
}

/// Keeps away: the same, in statements that write.
#[test]
fn marks_of_statements_that_write_are_counted_in_the_order_of_the_text() {
    let db = Database::in_memory().unwrap();
    let c = &mut db.connect();
    c.script("create table t (k int primary key, n int, s text)").unwrap();
    let insert = "insert into t select v, v * ?, ? from generate_series(1, 9) as g (v) where v <= ? \
                  on conflict (k) do update set n = excluded.n + ?";
    c.execute(insert, (10, "a", 3, 1000)).unwrap();
    c.execute(insert, (10, "b", 1, 1000)).unwrap();
    assert_eq!(rows(c, "select * from t order by k"), "1, 1010, a\n2, 20, a\n3, 30, a");
    assert_eq!(answer(c, "update t set n = ?, s = ? where k = ? returning n + ?", (5, "five", 2, 1)), "6");
    let merge = "merge into t using (select ? as k, ? as n) as s on t.k = s.k when matched and s.n > ? then update set n = ? \
                 when not matched then insert (k, n, s) values (s.k, ?, ?)";
    c.execute(merge, (3, 7, 6, 77, 8, "z")).unwrap();
    c.execute(merge, (4, 7, 6, 77, 8, "z")).unwrap();
    assert_eq!(rows(c, "select * from t where k > 2 order by k"), "3, 77, a\n4, 8, z");
    c.execute(
        "with w as (select ? as n) delete from t where k between ? and ? and n <> (select n from w)",
        (5, 1, 4),
    )
    .unwrap();
    assert_eq!(rows(c, "select * from t"), "2, 5, five");
    c.execute("create table u as select k + ? as a, ? as b from t where n = ?", (1, "b", 5)).unwrap();
    assert_eq!(rows(c, "select * from u"), "3, b");
    let explained = answer(c, "explain select * from t where n = ? limit ?", (5, 1));
    assert!(explained.contains("5"), "{explained}");
    c.script("prepare p as from t select s where k = ?; prepare \"p.p\" as select ? || ?").unwrap();
    assert_eq!(rows(c, "execute p(2)"), "five");
    assert_eq!(rows(c, "execute \"p.p\"('a', 'b')"), "ab");
    c.sql("deallocate \"p.p\"").unwrap();
}

/// Keeps away: values of parameters of two kinds, of which nobody knows which is which.
#[test]
fn marks_and_numbers_do_not_mix() {
    let db = Database::in_memory().unwrap();
    let c = &mut db.connect();
    for statement in ["select ? + $1", "select $1 limit ?", "prepare x as select ?2, ?"] {
        assert!(refused(c, statement).to_string().contains("not both"), "{statement}");
    }
    c.script("select 1; create table t (a int)").unwrap();
    for (statement, said) in [
        ("create view v as select ? as a", "a view cannot have a parameter"),
        ("create table d (a int default ?)", "a default cannot have a parameter"),
    ] {
        let error = c.query(statement, (1,)).map(drop).unwrap_err().to_string();
        assert!(error.contains(said), "{statement}: {error}");
    }
    assert!(c.query("select ?", ()).is_err_and(|error| error.to_string().contains("$1")));
}
