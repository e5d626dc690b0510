//! Tables, rows, queries and transactions, over each storage.

use ambo_sql::{Database, ErrorKind};

use crate::common::{STORAGES, rows, sound};

#[test]
fn rows_go_in_and_come_out() {
    for storage in STORAGES {
        let dir = tempfile::tempdir().unwrap();
        let db = Database::open(dir.path()).unwrap();
        let mut connection = db.connect();
        connection
            .script(&format!(
                "create table t (id bigint primary key, name text, size decimal(10, 2), at timestamp, day date) storage = {storage};
                 insert into t values (1, 'one', 1.25, timestamp '2024-02-29 12:30:00', date '2024-02-29'), (2, null, null, null, null);
                 insert into t (name, id) values ('three', 3);"
            ))
            .unwrap();
        let all: Vec<(i64, Option<String>)> = connection
            .sql("select id, name from t order by id")
            .unwrap()
            .map(|row| row.unwrap().into_values().unwrap())
            .collect();
        assert_eq!(all, [(1, Some("one".into())), (2, None), (3, Some("three".into()))]);
        let row = connection
            .sql("select * from t where id = 1 and day > date '2024-01-01'")
            .unwrap()
            .single()
            .unwrap();
        assert_eq!(row.get::<f64>(2).unwrap(), 1.25);
        let sum: i64 = connection
            .query("select sum(id) from t where id >= $1", (2,))
            .unwrap()
            .single()
            .unwrap()
            .into_values()
            .unwrap();
        assert_eq!(sum, 5);
        let error = connection.sql("insert into t (id) values (9), (1)").err().unwrap();
        assert_eq!(error.kind(), ErrorKind::Constraint, "{error}");
        assert_eq!(connection.sql("select * from t").unwrap().count(), 3);
        sound(&db);
    }
}

#[test]
fn a_transaction_sees_what_it_wrote_and_others_do_not() {
    for storage in STORAGES {
        let db = Database::in_memory().unwrap();
        let (mut one, mut other) = (db.connect(), db.connect());
        one.script(&format!(
            "create table t (id int primary key, n int) storage = {storage}; insert into t values (1, 1)"
        ))
        .unwrap();
        one.script("begin; insert into t values (2, 2); savepoint s; insert into t values (3, 3);").unwrap();
        let count = |connection: &mut ambo_sql::Connection| -> i64 {
            connection
                .sql("select count(*) from t where n > 0")
                .unwrap()
                .single()
                .unwrap()
                .into_values()
                .unwrap()
        };
        assert_eq!((count(&mut one), count(&mut other)), (3, 1));
        one.sql("rollback to s").unwrap();
        assert_eq!((count(&mut one), count(&mut other)), (2, 1));
        // A statement that fails takes back what it did, and no more.
        assert!(one.sql("insert into t values (4, 4), (1, 1)").is_err());
        assert_eq!(count(&mut one), 2);
        one.sql("commit").unwrap();
        assert_eq!((count(&mut one), count(&mut other)), (2, 2));
        assert!(one.sql("commit").is_err());
        sound(&db);
    }
}

#[test]
fn mistakes_are_told_with_their_place() {
    let db = Database::in_memory().unwrap();
    let mut connection = db.connect();
    connection.script("create table customers (id int primary key, name text)").unwrap();
    let error = connection.sql("select nam from customers").err().unwrap();
    assert_eq!(error.kind(), ErrorKind::NotFound);
    assert_eq!(error.hint(), Some("did you mean \"name\"?"), "{error:?}");
    let error = connection.sql("select *\nfrom costumers").err().unwrap();
    assert_eq!(error.hint(), Some("did you mean \"customers\"?"), "{error:?}");
    assert_eq!(connection.sql("select 1 +").err().unwrap().kind(), ErrorKind::Syntax);
}

#[test]
fn columns_may_be_asked_for_twice() {
    let db = Database::in_memory().unwrap();
    let mut connection = db.connect();
    connection
        .script("create table t (a int primary key, b text); insert into t values (1, 'x'), (2, 'y')")
        .unwrap();
    let rows =
        connection.sql("select a, b, A, t.b, a + 1, a + 1 from t where b > '' order by a desc").unwrap();
    assert_eq!(rows.columns(), ["a", "b", "a", "b", "a + 1", "a + 1"]);
    let all: Vec<(i32, String, i32, String, i64, i64)> =
        rows.map(|row| row.unwrap().into_values().unwrap()).collect();
    assert_eq!(all, [(2, "y".into(), 2, "y".into(), 3, 3), (1, "x".into(), 1, "x".into(), 2, 2)]);
    let rows = connection.sql("select a, cast(a as text), count(*) as n from t group by 1, 2").unwrap();
    assert_eq!(rows.columns(), ["a", "cast(a as text)", "n"]);
    let value: f64 = connection.sql("select 2.5e300 * 2").unwrap().single().unwrap().into_values().unwrap();
    assert_eq!(value, 5e300);
}

#[test]
#[cfg(target_os = "linux")]
fn threads_of_statements_stand_behind_those_of_callers() {
    /// The 19th field, counted behind the name, which may have spaces.
    fn niceness(stat: &str) -> i64 {
        stat.rsplit_once(") ").unwrap().1.split(' ').nth(16).unwrap().parse().unwrap()
    }
    let own = niceness(&std::fs::read_to_string("/proc/thread-self/stat").unwrap());
    let db = Database::in_memory().unwrap();
    let mut c = db.connect();
    assert_eq!(rows(&mut c, "select count(distinct value % 7) from generate_series(1, 100000)"), "7");
    let mut seen = 0;
    for task in std::fs::read_dir("/proc/self/task").unwrap() {
        let path = task.unwrap().path().join("stat");
        // Threads of other tests come and go, and may just have begun.
        let begun = std::time::Instant::now();
        while let Ok(stat) = std::fs::read_to_string(&path)
            && stat.contains("(ambo-sql)")
        {
            if niceness(&stat) == own + 5 {
                seen += 1;
                break;
            }
            assert!(begun.elapsed().as_secs() < 10, "{stat}");
            std::thread::yield_now();
        }
    }
    assert!(seen > 0);
    assert_eq!(niceness(&std::fs::read_to_string("/proc/thread-self/stat").unwrap()), own);
}
