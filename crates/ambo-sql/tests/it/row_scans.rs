//! Tables that are stored as rows, large enough for several partitions.

use ambo_sql::{Connection, Database, SqlOptions};

use crate::common::{explained, figure, line, rows, sound};

/// The same rows in a table of each storage.
fn database() -> Database {
    let db = Database::with_options(ambo::Database::in_memory().unwrap(), SqlOptions::new().threads(3));
    let mut connection = db.connect();
    for storage in ["btree", "memory", "column"] {
        let statements = format!(
            "create table {storage}_rows (a int, id bigint, n bigint, t text, primary key (a, id)) storage = {storage};
             insert into {storage}_rows select (i % 7)::int, i, nullif(i * 7 % 1000, 3), 'text ' || (i % 100)
                 from generate_series(1, 100000) as s (i);"
        );
        connection.script(&statements).unwrap();
    }
    db.compact().unwrap();
    db
}

const QUERIES: [&str; 9] = [
    "select t, count(*), count(n), sum(n), avg(n), max(id) from ROWS group by t order by t",
    "select a, sum(id) from ROWS group by a order by a",
    "select count(*), sum(n), min(t) from ROWS where n < 3",
    "select count(*) from ROWS where n is null and t like 'text 1%'",
    "select a, id, n, t from ROWS order by a, id limit 5 offset 33333",
    "select id from ROWS order by n desc nulls last, id limit 7",
    "select count(*), sum(id) from ROWS where a = 3 and id > 50000",
    "select count(*), sum(l.n) from ROWS l join ROWS r on l.a = r.a and l.id = r.id + 7 where r.n between 10 and 20",
    "select sum(x.n) from (select n from ROWS where a in (1, 5) limit 100000) x",
];

fn compare(connection: &mut Connection, when: &str) {
    for query in QUERIES {
        let expected = rows(connection, &query.replace("ROWS", "column_rows"));
        for storage in ["btree", "memory"] {
            let found = rows(connection, &query.replace("ROWS", &format!("{storage}_rows")));
            assert_eq!(found, expected, "{when}: {query}, {storage}");
        }
    }
}

#[test]
fn partitions_of_rows_have_all_of_them_once() {
    let db = database();
    let mut connection = db.connect();
    compare(&mut connection, "compacted");
    connection.script("begin").unwrap();
    for storage in ["btree", "memory", "column"] {
        let statements = format!(
            "update {storage}_rows set n = n + 1 where id % 10 = 0;
             delete from {storage}_rows where id % 1000 = 1;
             insert into {storage}_rows select 2, -i, i, 'new' from generate_series(1, 30000) as s (i);"
        );
        connection.script(&statements).unwrap();
    }
    compare(&mut connection, "in the transaction");
    let mut other = db.connect();
    compare(&mut other, "beside the transaction");
    assert_eq!(rows(&mut other, "select count(*) from btree_rows"), "100000");
    connection.script("commit").unwrap();
    compare(&mut connection, "committed");
    assert_eq!(rows(&mut connection, "select count(*) from btree_rows where id is not null"), "129900");
    sound(&db);
}

#[test]
fn rows_are_in_the_order_of_their_key() {
    let db = database();
    let mut connection = db.connect();
    let query = "select a, id from btree_rows order by a, id limit 3";
    let plan = explained(&mut connection, "explain", query);
    assert!(!plan.contains("SortExec"), "{plan}");
    assert!(plan.contains("SortPreservingMergeExec"), "several partitions: {plan}");
    assert_eq!(rows(&mut connection, query), "0, 7\n0, 14\n0, 21");
    let all = rows(&mut connection, "select a, id from btree_rows order by a, id");
    let keys: Vec<(i64, i64)> = all
        .lines()
        .map(|line| line.split_once(", ").unwrap())
        .map(|(a, id)| (a.parse().unwrap(), id.parse().unwrap()))
        .collect();
    assert!(keys.is_sorted() && keys.len() == 100_000);
    // By an index rows come in its order, and nothing is said of it.
    connection.script("create index by_t on btree_rows (t)").unwrap();
    let query = "select a, id from btree_rows where t = 'text 5' order by a, id limit 2";
    let plan = explained(&mut connection, "explain", query);
    assert!(plan.contains("by=index") && plan.contains("SortExec"), "{plan}");
    assert_eq!(rows(&mut connection, query), "0, 105\n0, 805");
    sound(&db);
}

#[test]
fn units_of_rows_are_asked_what_joins_look_for() {
    let db = database();
    let mut connection = db.connect();
    connection
        .script(
            "create table few (a int primary key, id bigint) storage = btree; insert into few values (2, 16)",
        )
        .unwrap();
    let query = "select r.t from few join btree_rows r on few.a = r.a and few.id = r.id where few.id > 0";
    assert_eq!(rows(&mut connection, query), "text 16");
    let plan = explained(&mut connection, "explain analyze", query);
    // Of a hundred thousand rows one is left by the bounds of the join's keys.
    assert_eq!(figure(&line(&plan, "TableScan: main.btree_rows"), "rows_decoded"), 1, "{plan}");
    sound(&db);
}
