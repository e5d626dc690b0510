//! What columns of results are called.

use ambo_sql::{Connection, Database};

use crate::common::{STORAGES, rows};

fn names(connection: &mut Connection, statement: &str) -> Vec<String> {
    let rows = connection.sql(statement).unwrap_or_else(|error| panic!("{statement}: {error}"));
    let names = rows.schema().fields().iter().map(|field| field.name().clone()).collect();
    for row in rows {
        row.unwrap_or_else(|error| panic!("{statement}: {error}"));
    }
    names
}

fn tables(storage: &str) -> (Database, Connection) {
    let db = Database::in_memory().unwrap();
    let mut connection = db.connect();
    connection
        .script(&format!(
            "create table t (k int primary key, a int, d decimal(6, 2), e double, s text) storage = {storage};
             create table u (k int primary key, x int) storage = {storage};
             insert into t values (1, 10, 1.25, 0.5, 'one'), (2, 20, 2.50, 1.5, 'two'), (3, 20, null, null, null);
             insert into u values (1, 7), (2, 8);"
        ))
        .unwrap();
    (db, connection)
}

// Keeps away: the planner's names, such as `t.a + Int64(1)`, and casts that are called as what is cast.
#[test]
fn expressions_are_called_as_they_are_written() {
    let (_db, mut c) = tables("column");
    for (list, wanted) in [
        ("a + 1", &["a + 1"][..]),
        ("a+1, t.a, (a), A, t.\"a\"", &["a+1", "a", "a", "a", "a"]),
        ("a + 1, a + 1, a+1, a", &["a + 1", "a + 1", "a+1", "a"]),
        ("CAST(d AS INT), cast(d as int), d::int", &["CAST(d AS INT)", "cast(d as int)", "d::int"]),
        ("round(e,1), Round( e , 1 )", &["round(e,1)", "Round( e , 1 )"]),
        ("'it''s', E'a\\nb', -1, 1.5e3, null, true", &["'it''s'", "E'a\nb'", "-1", "1.5e3", "null", "true"]),
        ("case  when a = 10\n   then 'x' /* or */ else 'y' end", &["case when a = 10 then 'x' else 'y' end"]),
        ("a is distinct from k, a between 1 and 2", &["a is distinct from k", "a between 1 and 2"]),
        (
            "(select max(x) from u), exists (select 1 from u)",
            &["(select max(x) from u)", "exists (select 1 from u)"],
        ),
        ("row_number() over (partition by a order by k)", &["row_number() over (partition by a order by k)"]),
        (
            "substring(s from 1 for 2), extract(day from date '2024-01-02')",
            &["substring(s from 1 for 2)", "extract(day from date '2024-01-02')"],
        ),
        ("a x, a as \"X\", *", &["x", "X", "k", "a", "d", "e", "s"]),
        ("k, *, a + 1, a AS s", &["k", "k", "a", "d", "e", "s", "a + 1", "s"]),
    ] {
        for query in ["select {} from t", "select {} from t where k = 1", "select distinct {} from t"] {
            assert_eq!(names(&mut c, &query.replace("{}", list)), wanted, "{query}: {list}");
        }
    }
    for (query, wanted) in [
        ("select count(*), COUNT(*), count( * ) from t", &["count(*)", "COUNT(*)", "count( * )"][..]),
        ("select count(*) from t", &["count(*)"]),
        ("SELECT COUNT(*) FROM t", &["COUNT(*)"]),
        ("select sum(a)+1, max(d) filter (where k > 1) from t", &["sum(a)+1", "max(d) filter (where k > 1)"]),
        (
            "select a + 1, count(*) from t group by a + 1 having count(*) > 0 order by a + 1",
            &["a + 1", "count(*)"],
        ),
        ("select a+1 from t union all select x from u order by 1", &["a+1"]),
        ("select x from u union select a+1 from t", &["x"]),
        ("values (1, 2)", &["column1", "column2"]),
        ("select 1", &["1"]),
        ("with w as (select a*2 from t) select \"a*2\" + 1, * from w", &["\"a*2\" + 1", "a*2"]),
        ("select * from (select a+1 from t)", &["a+1"]),
        ("select \"a + 1\" from (select a + 1 from t)", &["a + 1"]),
        ("select q.\"count(*)\" from (select a, count(*) from t group by a) as q", &["count(*)"]),
        ("select \"a+1\" from (select *, a+1 from t) where \"a+1\" > 0 order by \"a+1\"", &["a+1"]),
        ("select *, a + 1 from (select a, a + 1 from t) as q", &["a", "a + 1", "a + 1"]),
        ("select v.\"x + 1\" from t, lateral (select x + 1 from u where u.k = t.k) as v", &["x + 1"]),
        ("select a + 1 from t order by \"a + 1\" desc", &["a + 1"]),
        ("select n.* from t as n natural join (select k, x + 1 from u)", &["k", "a", "d", "e", "s"]),
    ] {
        assert_eq!(names(&mut c, query), wanted, "{query}");
    }
    assert_eq!(rows(&mut c, "select \"a + 1\" * 2 from (select a + 1 from t) order by 1"), "22\n42\n42");
}

// Keeps away: other names where a statement needs no planner, or is prepared.
#[test]
fn short_cuts_have_the_same_names() {
    for storage in STORAGES {
        let (_db, mut c) = tables(storage);
        for (list, wanted) in
            [("a, 'x', K", &["a", "'x'", "k"][..]), ("a+1, 7", &["a+1", "7"]), ("t.a, (a)", &["a", "a"])]
        {
            for end in ["where k = 1", "where k in (1, 2)", "where k = 1 and a + 0 = 10"] {
                assert_eq!(names(&mut c, &format!("select {list} from t {end}")), wanted, "{list} {end}");
            }
        }
        let mut prepared = c.prepare("select ? + 1, ?").unwrap();
        for value in 1..4i64 {
            let row = prepared.query(&mut c, (value, value)).unwrap();
            let names: Vec<_> = row.schema().fields().iter().map(|field| field.name().clone()).collect();
            assert_eq!(names, ["? + 1", "?"]);
            assert_eq!(row.single().unwrap().into_values::<(i64, i64)>().unwrap(), (value + 1, value));
        }
        c.script("prepare p as select a + $1 from t where k = 1").unwrap();
        assert_eq!(names(&mut c, "execute p(2)"), ["a + $1"]);
    }
}

#[test]
fn tables_views_and_returning_have_the_same_names() {
    for storage in STORAGES {
        let (db, mut c) = tables(storage);
        c.script(
            "create table made as select a + 1, count(*), cast(sum(t.d) * 1.5 as double) from t group by a + 1;
             create view seen as select a+1, upper(s) from t;
             create view around as select *, \"a+1\" * 2 from seen;",
        )
        .unwrap();
        assert_eq!(
            names(&mut c, "select * from made"),
            ["a + 1", "count(*)", "cast(sum(t.d) * 1.5 as double)"]
        );
        c.script(
            "create table dotted (k int primary key, \"t.a\" int unique, \"dotted.k\" int);
             insert into dotted values (1, 2, 3), (2, 3, 5); update dotted set \"t.a\" = \"dotted.k\" + 10 where \"t.a\" = 2;
             create index by_dot on dotted (\"dotted.k\"); compact",
        )
        .unwrap();
        assert_eq!(
            names(&mut c, "select \"t.a\", k, dotted.\"dotted.k\" from dotted where k = 1"),
            ["t.a", "k", "dotted.k"]
        );
        assert_eq!(
            rows(&mut c, "select k, \"t.a\", \"dotted.k\" from dotted where \"dotted.k\" = 3"),
            "1, 13, 3"
        );
        assert_eq!(
            rows(&mut c, "select max(\"t.a\"), sum(\"dotted.k\") from dotted where k > 0 and \"t.a\" > 0"),
            "13, 8"
        );
        assert_eq!(
            rows(&mut c, "select a.k from dotted as a join dotted as b on a.\"dotted.k\" = b.\"t.a\" + 2"),
            "2"
        );
        assert_eq!(names(&mut c, "select * from seen"), ["a+1", "upper(s)"]);
        assert_eq!(names(&mut c, "select * from around"), ["a+1", "upper(s)", "\"a+1\" * 2"]);
        assert_eq!(rows(&mut c, "select max(\"a+1\") from seen"), "21");
        c.script("create or replace view seen as select a+1 from (select k as a from t)").unwrap();
        assert_eq!(rows(&mut c, "select max(\"a+1\") from seen"), "4");
        let returned = "insert into t (k, a) values (9, 1) returning k, a+1, t.a, upper(s), *";
        assert_eq!(names(&mut c, returned), ["k", "a+1", "a", "upper(s)", "k", "a", "d", "e", "s"]);
        assert_eq!(names(&mut c, "update t set a = 2 where k = 9 returning (a * 2), a"), ["(a * 2)", "a"]);
        assert_eq!(names(&mut c, "delete from t where k = 9 returning a - k"), ["a - k"]);
        assert!(c.sql("create view twice as select a + 1, a + 1 from t").is_err());
        drop(c);
        crate::common::sound(&db);
    }
}

// Keeps away: queries that are refused, or mean something else, since their columns have names.
#[test]
fn names_change_no_query() {
    let (_db, mut c) = tables("btree");
    for (query, wanted) in [
        ("select distinct a + 1 from t order by a + 1", "11\n21"),
        ("select distinct on (a + 1) a + 1, k from t order by a + 1, k desc", "11, 1\n21, 3"),
        ("select a + 1, a + 1 from t where k < 3 order by a + 1 desc, 2", "21, 21\n11, 11"),
        ("select a + 1, count(*) from t group by 1 order by 1", "11, 1\n21, 2"),
        ("select a + 1, count(*) from t group by all order by 1", "11, 1\n21, 2"),
        ("select a % 3, sum(a) from t group by a % 3 having sum(a) > 10 order by sum(a)", "2, 40"),
        (
            "select a + 1, grouping(a + 1), count(*) from t group by rollup(a + 1) order by 3, 1",
            "11, 0, 1\n21, 0, 2\nNULL, 1, 3",
        ),
        (
            "select a + 1, k from t qualify row_number() over (partition by a + 1 order by k) = 1 order by k",
            "11, 1\n21, 2",
        ),
        ("select sum(k) over (order by k), k + 0 from t order by k + 0", "1, 1\n3, 2\n6, 3"),
        ("select (select count(*) from u where u.k = t.k), k from t order by k", "1, 1\n1, 2\n0, 3"),
        (
            "select k from t where (a + 1, k) in (select a + 1, max(k) from t group by a + 1) order by k",
            "1\n3",
        ),
        ("select k from t where exists (select x + 1 from u where u.k = t.k) order by k", "1\n2"),
        ("select a + 1 from t union select x + 1 from u order by 1", "8\n9\n11\n21"),
        ("select a + 1 from t intersect select x + 3 from u", "11"),
        ("select -k from t except select -k from u", "-3"),
        (
            "with recursive r as (select 1 union all select \"1\" + 1 from r where \"1\" < 3) select * from r order by 1",
            "1\n2\n3",
        ),
        (
            "with recursive r (n) as (select 1 union all select n + 1 from r where n < 3) select sum(n) from r",
            "6",
        ),
        ("select max(a) + 1, min(a) from t having max(a) > 1 order by max(a)", "21, 10"),
        ("select k, k as k2, k * 1 from t order by k * 1 desc limit 1", "3, 3, 3"),
        ("select count(*), count(distinct a) from t", "3, 2"),
        ("select unnest([1, 2]), 3", "1, 3\n2, 3"),
        ("select coalesce(x, 0) from t left join u using (k) order by k", "7\n8\n0"),
        ("select a, sum(a) from t group by a order by sum(a), a", "10, 10\n20, 40"),
        ("select cast(a as text), a from t where k = 1 order by a", "10, 10"),
        ("select max(d), max(cast(d as int)) from t", "2.50, 3"),
        ("from t select a + 1 order by 1 limit 1", "11"),
    ] {
        assert_eq!(rows(&mut c, query), wanted, "{query}");
    }
}
