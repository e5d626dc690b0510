//! Statements of any number of rows: column tables whose transactions would be too small for them.

use ambo_sql::{Connection, Database, ErrorKind};

use crate::common::{refused, rows, sound, written};
use crate::stop::Stop;

/// A table with rows `0..100_000` of `id, u, v, name`, in a database whose transactions hold a few thousand.
fn world(definition: &str) -> (Database, Connection) {
    let options = ambo::Options::new().transaction_bytes_max(1 << 20);
    let db = Database::new(options.open_in_memory().unwrap());
    let mut c = db.connect();
    c.script(&format!("create table t (id int {definition}")).unwrap();
    let insert =
        "insert into t select v, v * 2, v % 10, 'name ' || (v % 1000) from generate_series(0, 99999) g(v)";
    assert_eq!(written(&mut c, insert), 100_000);
    (db, c)
}

/// Tables whose rows are told apart by a key, by another than the order that they lie in, and by numbers.
const TABLES: [&str; 5] = [
    "primary key, u int, v int, name text) storage = column",
    "primary key, u int unique, v int, name text) storage = column",
    "primary key, u int, v int, name text) storage = column sort key (name)",
    ", u int, v int, name text) storage = column",
    ", u int, v int, name text) storage = column sort key (u)",
];

#[test]
fn rows_are_changed_and_deleted() {
    for table in TABLES {
        let (db, mut c) = world(table);
        let c = &mut c;
        assert_eq!(written(c, "update t set v = v + 100 where id % 2 = 0"), 50_000);
        let sums = "select count(*), sum(v), sum(id), count(distinct name) from t";
        assert_eq!(rows(c, sums), "100000, 5450000, 4999950000, 1000", "{table}");
        // One of the rows that match a row changes it.
        assert_eq!(
            written(c, "update t set v = 7 from (values (0), (0), (1)) s(k) where s.k = id % 2"),
            100_000
        );
        assert_eq!(rows(c, sums), "100000, 700000, 4999950000, 1000", "{table}");
        assert_eq!(
            written(c, "delete from t using (values (3), (3)) s(k) where id % 2 = 1 and id > k"),
            49_998
        );
        assert_eq!(rows(c, "select count(*), sum(id) from t"), "50002, 2499950004", "{table}");
        assert_eq!(rows(c, "select v, name from t where id = 88888"), "7, name 888", "{table}");
        sound(&db);
        c.script("compact").unwrap();
        assert_eq!(written(c, "delete from t"), 50_002);
        assert_eq!(rows(c, "select count(*) from t"), "0");
        sound(&db);
    }
}

/// Keeps away: rules and unique values that only rows one by one are held to, and statements that fail halfway.
#[test]
fn rules_hold() {
    let rules = "primary key, u int unique, v int not null check (v < 1000), name text) storage = column";
    let (db, mut c) = world(rules);
    let c = &mut c;
    let all = "select count(*), sum(u), sum(v) from t";
    let before = rows(c, all);
    let error = refused(c, "update t set v = id");
    assert!(error.kind() == ErrorKind::Constraint && error.to_string().contains("check"), "{error}");
    let error = refused(c, "update t set v = case when id < 90000 then 1 end");
    assert!(error.to_string().contains(": column \"v\" of table \"t\" cannot be NULL"), "{error}");
    let error = refused(c, "update t set u = u / 4");
    assert_eq!(error.kind(), ErrorKind::Constraint, "{error}");
    let error = refused(c, "update t set v = 1 / (id - 99000)");
    assert_eq!(error.kind(), ErrorKind::Execution, "{error}");
    assert_eq!(rows(c, all), before);
    sound(&db);
    // Unique values change hands.
    assert_eq!(written(c, "update t set u = 199998 - u"), 100_000);
    assert_eq!(rows(c, all), before);
    assert_eq!(rows(c, "select id from t where u = 2"), "99998");
    sound(&db);
}

/// Keeps away: a part of a transaction that is not taken back with it, and statements that give back rows.
#[test]
fn parts_of_transactions_are_not_done_in_bulk() {
    let (db, mut c) = world(TABLES[0]);
    let c = &mut c;
    c.sql("begin").unwrap();
    let error = refused(c, "delete from t");
    assert!(error.to_string().contains("the limit is"), "{error}");
    assert_eq!(written(c, "delete from t where id < 2000"), 2000);
    c.sql("rollback").unwrap();
    assert_eq!(rows(c, "select count(*) from t"), "100000");
    assert_eq!(rows(c, "delete from t where id < 3 returning id"), "0\n1\n2");
    // Keys that change are those of rows that move: a transaction.
    let error = refused(c, "update t set id = id + 1");
    assert!(error.to_string().contains("the limit is"), "{error}");
    sound(&db);
}

/// Keeps away: rows that are counted, left out or put in the place of others other than one by one.
#[test]
fn rows_in_the_way() {
    let from = "select v, v, 5, 'new' from generate_series(50000, 149999) g(v)";
    let insert = [
        (format!("insert or replace into t {from}"), 100_000, 50_000, 100_000),
        (
            format!(
                "insert into t {from} on conflict (id) do update set u = excluded.u, v = excluded.v, name = excluded.name"
            ),
            100_000,
            50_000,
            100_000,
        ),
        (format!("insert into t {from} on conflict do nothing"), 50_000, 100_000, 50_000),
        (format!("insert or ignore into t {from}"), 50_000, 100_000, 50_000),
    ];
    for (statement, count, old, new) in insert {
        let (db, mut c) = world(TABLES[0]);
        let c = &mut c;
        assert_eq!(written(c, &statement), count, "{statement}");
        let counts =
            "select count(*) filter (where name <> 'new'), count(*) filter (where name = 'new') from t";
        assert_eq!(rows(c, counts), format!("{old}, {new}"), "{statement}");
        sound(&db);
    }
    let (db, mut c) = world(TABLES[0]);
    let error = refused(&mut c, &format!("insert into t {from}"));
    assert_eq!(error.kind(), ErrorKind::Constraint, "{error}");
    // What keeps something of the old row is done row by row.
    let some = format!("insert into t {from} on conflict (id) do update set v = excluded.v");
    assert!(refused(&mut c, &some).to_string().contains("the limit is"));
    sound(&db);
}

/// Keeps away: an UPDATE of all rows that gives up beside a connection that writes without rest, and one of the two losing what it wrote.
#[test]
fn updates_of_all_rows_end_beside_a_writer_that_does_not_rest() {
    let (db, mut c) = world("primary key, u int, v int, name text) storage = column");
    let stop = Stop::new();
    let count = stop.scope(|scope| {
        let writer = scope.spawn(|| {
            let (mut connection, mut count) = (db.connect(), 0i64);
            let mut update = connection.prepare("update t set v = v + 1 where id = $1").unwrap();
            while stop.goes_on() {
                assert_eq!(update.execute(&mut connection, (count * 31 % 100_000,)).unwrap(), 1);
                count += 1;
            }
            count
        });
        assert_eq!(written(&mut c, "update t set u = u + 1"), 100_000);
        assert_eq!(written(&mut c, "update t set u = u + 1 where id >= 1000"), 99_000);
        stop.now();
        writer.join().unwrap()
    });
    let wanted = format!("100000, {}, {}", 450_000 + count, 9_999_900_000i64 + 199_000);
    assert_eq!(rows(&mut c, "select count(*), sum(v), sum(u) from t"), wanted);
    sound(&db);
}
