//! The time zone of a session.

use ambo::{Datum, Type};
use ambo_sql::Database;

fn rows(connection: &mut ambo_sql::Connection, sql: &str) -> Vec<Vec<String>> {
    let rows = connection.sql(sql).unwrap_or_else(|error| panic!("{sql}: {error}"));
    rows.map(|row| row.unwrap().values().iter().map(ToString::to_string).collect()).collect()
}

fn one(connection: &mut ambo_sql::Connection, sql: &str) -> String {
    rows(connection, sql)[0].join(" ")
}

/// Keeps away: texts, casts, days and plans that are kept which go by the clocks of another session than theirs.
#[test]
fn times_go_by_the_zone_of_the_session() {
    let db = Database::in_memory().unwrap();
    let (mut here, mut there) = (db.connect(), db.connect());
    here.script("create table t (k int primary key, t timestamp, z timestamptz)").unwrap();
    here.script("set time zone 'Europe/Brussels'").unwrap();
    assert_eq!(here.time_zone(), "Europe/Brussels");
    assert_eq!(one(&mut here, "show timezone"), "Europe/Brussels");
    assert_eq!(one(&mut there, "show time zone"), "UTC");
    let insert = "insert into t values ($1, $2, $3)";
    here.execute(insert, (1, "2024-07-01 12:00", "2024-07-01 12:00")).unwrap();
    there.execute(insert, (2, "2024-07-01 12:00", "2024-07-01 12:00")).unwrap();
    here.script("insert into t values (3, timestamptz '2024-01-01 00:00Z', timestamp '2024-01-01 00:00')")
        .unwrap();
    let all = rows(&mut there, "select t, z from t order by k");
    assert_eq!(all[0], ["2024-07-01 12:00:00", "2024-07-01 10:00:00+00"]);
    assert_eq!(all[1], ["2024-07-01 12:00:00", "2024-07-01 12:00:00+00"]);
    assert_eq!(all[2], ["2024-01-01 01:00:00", "2023-12-31 23:00:00+00"]);
    for _ in 0..3 {
        let text = "select cast(timestamptz '2024-07-01 12:00Z' as text)";
        assert_eq!(one(&mut here, text), "2024-07-01 14:00:00+02");
        assert_eq!(one(&mut there, text), "2024-07-01 12:00:00+00");
        assert_eq!(one(&mut here, "select k from t where z = '2024-07-01 12:00' order by k"), "1");
        assert_eq!(one(&mut there, "select k from t where z = '2024-07-01 12:00' order by k"), "2");
        assert_eq!(one(&mut here, "select k from t where t = z order by k"), "1");
        let day = "select cast(date_trunc('day', z) as text), extract(hour from z) from t where k = 1";
        assert_eq!(one(&mut here, day), "2024-07-01 00:00:00+02 12");
        assert_eq!(one(&mut there, day), "2024-07-01 00:00:00+00 10");
    }
    // A day of 23 hours.
    let next =
        "select timestamptz '2024-03-30 12:00+01' + interval '1 day' = timestamptz '2024-03-31 12:00+02'";
    assert_eq!(one(&mut here, next), "true");
    assert_eq!(one(&mut there, next), "false");
    let value = here.sql("select z from t where k = 1").unwrap().single().unwrap().values()[0].clone();
    assert_eq!(value, Datum::TimestampTz(1_719_828_000_000_000));
    let given = there.query("select k from t where z = $1", (value,)).unwrap().count();
    assert_eq!(given, 1);
    here.script("set timezone to default").unwrap();
    assert_eq!(here.time_zone(), "UTC");
    for wrong in ["set time zone 'Europe/Nowhere'", "set timezone = '+02'", "set time zone 20"] {
        assert!(here.sql(wrong).is_err(), "{wrong}");
    }
    here.script("set time zone interval '-03:30' hour to minute").unwrap();
    assert_eq!(
        one(&mut here, "select cast(timestamptz '2024-01-01 00:00Z' as text)"),
        "2023-12-31 20:30:00-03:30"
    );
    let definition = db.table("t").unwrap().definition().columns[2].kind;
    assert_eq!(definition, Type::TimestampTz);
}
