//! Aggregates that are asked again: what segments came to is kept, and answers are what they were without.

use ambo_sql::{Connection, Database};

use crate::common::{explained, figure, line, refused, rows, sound};

/// Of how many segments an aggregate was put together, and of how many of them nothing was read.
fn parts(connection: &mut Connection, query: &str) -> (u64, u64) {
    let plan = explained(connection, "explain analyze", query);
    let aggregate = line(&plan, "TableAggregate: ");
    (figure(&aggregate, "parts"), figure(&aggregate, "parts_kept"))
}

fn filled(storage: &str) -> Database {
    let db = Database::in_memory().unwrap();
    let mut connection = db.connect();
    connection
        .script(&format!(
            "create table events (at timestamptz, kind text, n int, x double) storage = {storage};
            insert into events select timestamptz '2026-01-01 00:00:00+00' + i * interval '1 minute', 'kind ' || i % 5,
                i % 1000, (i % 77) / 10 from generate_series(0, 19999) as s (i);"
        ))
        .unwrap();
    db.compact().unwrap();
    db
}

const DASHBOARD: [&str; 4] = [
    "select kind, count(*), sum(n), sum(x), avg(x), max(n) from events group by kind order by kind",
    "select count(*), sum(n * 2) filter (where n > 500) from events where n < 900",
    "select min(at), max(at), sum(x) from events where at >= '2026-01-02 00:00' and kind <> 'kind 3'",
    "select avg(n), count(x) from events where x between 1 and 5",
];

// Keeps away: a dashboard that reads all rows each time, and one that shows what was there when it was asked first.
#[test]
fn a_dashboard_reads_what_is_new() {
    for storage in ["column", "append"] {
        let db = filled(storage);
        let mut connection = db.connect();
        let answers = |connection: &mut Connection| DASHBOARD.map(|query| rows(connection, query));
        for query in DASHBOARD {
            assert_eq!(parts(&mut connection, query), (1, 0), "{query}");
            assert_eq!(parts(&mut connection, query), (1, 1), "{query}");
        }
        let first = answers(&mut connection);
        // New rows beside the segment, then in one of their own.
        let insert =
            "insert into events select timestamptz '2026-02-01 00:00:00+00' + i * interval '1 minute',
            'kind ' || i % 6, i, i / 10 from generate_series(0, 99) as s (i)";
        connection.execute(insert, ()).unwrap();
        let second = answers(&mut connection);
        for (query, (one, other)) in DASHBOARD.iter().zip(first.iter().zip(&second)) {
            assert_ne!(one, other, "{query}");
            assert_eq!(parts(&mut connection, query), (1, 1), "{query}");
        }
        // What a transaction has deleted itself does not count for it alone.
        connection.script("begin; delete from events where kind = 'kind 1'").unwrap();
        let own = answers(&mut connection);
        assert!(!own[0].contains("kind 1"), "{}", own[0]);
        assert_eq!(answers(&mut db.connect()), second);
        connection.script("rollback").unwrap();
        assert_eq!(answers(&mut connection), second);
        // Without, nothing is kept, and answers are the same.
        connection.script("set keep_partials = off").unwrap();
        assert_eq!(rows(&mut connection, "show keep_partials"), "off");
        assert_eq!(answers(&mut connection), second);
        assert_eq!(parts(&mut connection, DASHBOARD[0]), (1, 0));
        assert_eq!(db.info().unwrap().memory.partials, 0);
        connection.script("reset keep_partials").unwrap();
        assert_eq!(rows(&mut connection, "show keep_partials"), "on");
        assert_eq!(answers(&mut connection), second);
        assert_eq!(parts(&mut connection, DASHBOARD[0]), (1, 1));
        assert!(db.info().unwrap().memory.partials > 0);
        let error = refused(&mut connection, "set keep_partials = perhaps").to_string();
        assert!(error.contains("keep_partials is on or off, not perhaps"), "{error}");
        connection.script("alter table events add column y int default 3").unwrap();
        assert_eq!(rows(&mut connection, "select sum(y) from events"), (3 * 20_100).to_string());
        connection
            .script("alter table events drop column n; alter table events rename column y to n")
            .unwrap();
        assert_eq!(rows(&mut connection, "select sum(n) from events"), (3 * 20_100).to_string());
        sound(&db);
    }
}

// Keeps away: one answer for texts of times that mean another moment where another zone is set.
#[test]
fn what_a_session_sets_is_part_of_the_question() {
    let db = filled("column");
    let mut connection = db.connect();
    let query = "select count(*), sum(x) from events where at < '2026-01-02 00:00'";
    let mut found = Vec::new();
    for zone in ["UTC", "Europe/Brussels", "UTC", "America/New_York"] {
        connection.script(&format!("set timezone = '{zone}'")).unwrap();
        found.push(rows(&mut connection, query));
    }
    let minutes: Vec<_> = found.iter().map(|row| row.split(',').next().unwrap().to_owned()).collect();
    assert_eq!(minutes, ["1440", "1380", "1440", "1740"]);
    assert_eq!(found[0], found[2]);
    sound(&db);
}
