//! Aggregations that are equal are computed once (`slt/equal_aggregations.slt` has their answers).

use ambo_sql::{Database, SqlOptions};

use crate::common::{rows, sound};

const ROWS: u64 = 200_000;

fn filled(options: SqlOptions) -> Database {
    let db = Database::with_options(ambo::Database::in_memory().unwrap(), options);
    let mut connection = db.connect();
    connection.script("create table t (k int primary key, g int, v int) storage = column").unwrap();
    connection
        .execute(&format!("insert into t select i, i % 10, i % 7 from range(0, {ROWS}) as r(i)"), ())
        .unwrap();
    connection.script("compact").unwrap();
    db
}

/// How many places of a statement read shared rows.
fn places(connection: &mut ambo_sql::Connection, statement: &str) -> usize {
    rows(connection, &format!("explain {statement}")).matches("OnceExec").count()
}

#[test]
fn what_is_equal_is_shared_and_nothing_else() {
    let db = filled(SqlOptions::new());
    let connection = &mut db.connect();
    let sums = "select g, sum(v * 2) as s from t where v < 6 group by g";
    let cases = [
        (format!("with c as ({sums}) select * from c as a join c as b on a.s = b.s"), 2),
        (format!("with c as ({sums}) select * from c where s = (select max(s) from c)"), 2),
        (format!("select * from ({sums}) as a join ({sums}) as b on a.g = b.g"), 2),
        (format!("with c as ({sums}) select * from c"), 0),
        // Windows over groups, with what is below them; where only one place asks for a window, the groups alone.
        (format!("with c as (select g, s, rank() over (order by s) as r from ({sums})) select * from c as a join c as b on a.r = b.r + 1"), 2),
        (format!("with c as (select g, s, rank() over (order by s) as r from ({sums})) select * from c as a join c as b on a.s = b.s where a.r < 5"), 2),
        ("with c as (select k, rank() over (order by v) as r from t) select * from c as a join c as b on a.r = b.r + 1".to_owned(), 0),
        // Other rows: conditions that go into one place, other tables, other columns, values that vary.
        (format!("with c as ({sums}) select * from c as a join c as b on a.s = b.s where a.g < 3"), 0),
        (format!("select * from ({sums}) as a join (select g, sum(v * 3) as s from t where v < 6 group by g) as b on a.g = b.g"), 0),
        ("select * from (select g, sum(random()) as s from t group by g) as a join (select g, sum(random()) as s from t group by g) as b on a.g = b.g".to_owned(), 0),
    ];
    for (statement, shared) in cases {
        assert_eq!(places(connection, &statement), shared, "{statement}");
    }
    // Tables of one name.
    connection.script("create schema other; create table other.t (k int primary key, g int, v int); insert into other.t values (1, 1, 1)").unwrap();
    let both = "select (select sum(s) from (select g, sum(v + 1) as s from t group by g) as a), \
                (select sum(s) from (select g, sum(v + 1) as s from other.t as t group by g) as a)";
    assert_eq!(places(connection, both), 0);
    assert_eq!(rows(connection, both), format!("{}, 2", (0..ROWS).map(|i| i % 7 + 1).sum::<u64>()));
    sound(&db);
}

#[test]
fn rows_that_memory_has_no_room_for_are_read_from_a_file() {
    let groups = "with c as (select k + 1 as k, sum(v) as s, min(g) as m from t group by k + 1) \
                  select count(*), sum(s), sum(m) from (select * from c union all select * from c)";
    let right = {
        let db = filled(SqlOptions::new());
        let connection = &mut db.connect();
        assert_eq!(places(connection, groups), 2);
        rows(connection, groups)
    };
    for threads in [1, 2, 4] {
        let db = filled(SqlOptions::new().threads(threads).memory_bytes(8 << 20));
        let connection = &mut db.connect();
        let mut found = connection.sql(groups).unwrap();
        let row: Vec<String> =
            found.next().unwrap().unwrap().values().iter().map(ToString::to_string).collect();
        assert_eq!(row.join(", "), right);
        assert!(found.next().is_none());
        let shown = rows(connection, &format!("explain analyze {groups}"));
        let mut places = shown.split("OnceExec").skip(1).map(|place| place.split(']').next().unwrap());
        assert!(places.any(|place| place.contains("spill_count=1")), "{shown}");
    }
}

#[test]
fn readers_that_wait_for_each_other_end() {
    let db = filled(SqlOptions::new().threads(4).divide_finely(true));
    let connection = &mut db.connect();
    // One side of each join is read before the other is asked, and both read the same rows.
    let statement = "with c as (select g, sum(v * 2) as s from t group by g) \
        select count(*) from c as a join c as b on a.g = b.g join c as d on d.g = b.g left join c as e on e.s = d.s + 1 \
        where a.g in (select g from c where s > (select min(s) from c))";
    assert_eq!(rows(connection, statement), "8");
}
