//! The tour of `make demo`, on fewer flights, which are made up.

use serde_json::Value;

use crate::{assert_sound, program::Scratch, tools};

/// More than what a load takes row by row.
const FLIGHTS: &str = "40000";

fn read(path: &str) -> Value {
    serde_json::from_str(&std::fs::read_to_string(path).unwrap()).unwrap()
}

// Keeps away a demo that breaks unnoticed: it checks itself, and here that its figures are whole and its answers the same in both storages.
#[test]
fn the_tour() {
    let scratch = Scratch::new();
    let (db, data) = (scratch.db(), scratch.path("data").display().to_string());
    let figures = scratch.path("figures.json").display().to_string();
    tools(&["demo-data", &data, "--flights", FLIGHTS]).ok();
    let out = tools(&["demo", &db, &data, "--seconds", "1", "--figures", &figures]).ok();
    for words in [
        "── 1/7",
        "COPY 40,000 rows",
        "bob> commit;\nerror: ",
        "rollback to savepoint way_back",
        "alter table flights set storage = btree",
        "── 7/7",
        "What Ambo just did",
        "no seat was ever lost or sold twice",
        "every acknowledged ticket is there",
    ] {
        assert!(out.contains(words), "no {words:?} in {out}");
    }

    let figures = read(&figures);
    let tour = &figures["tour"];
    for count in [
        &tour["workload"]["booked"],
        &tour["workload"]["audits"],
        &tour["online"]["booked"],
        &tour["online"]["reads"],
        &tour["death"]["acknowledged"],
    ] {
        assert!(count.as_u64().unwrap() > 0, "{tour}");
    }
    let [column, btree] = &figures["engines"].as_array().unwrap()[..] else { panic!("{figures}") };
    let rows = |engine: &Value| -> Vec<Value> {
        engine["dashboards"].as_array().unwrap().iter().map(|dashboard| dashboard["rows"].clone()).collect()
    };
    assert_eq!(rows(column), rows(btree));
    assert!(rows(column).iter().all(|rows| !rows.as_array().unwrap().is_empty()));
    for engine in [column, btree] {
        assert_eq!(engine["conflict"]["other_row"]["told"], Value::Null, "{engine}");
        assert!(engine["conflict"]["same_row"]["told"].is_string(), "{engine}");
    }

    assert_sound(&db);
    assert!(!scratch.path("db-column").exists() && !scratch.path("db-btree").exists());
    // Whoever looks around afterwards finds what the page tells.
    let db = ambo_sql::Database::open(&db).unwrap();
    let mut connection = db.connect();
    let total = "select (select sum(seats_free) from flights) + (select count(*) from bookings)";
    let row = connection.query(total, ()).unwrap().next().unwrap().unwrap();
    assert_eq!(row.values()[0].to_string(), (40_000 * 200).to_string());
}

// Keeps away a tour that begins with what it cannot end, or that takes a database that somebody else has made.
#[test]
fn wrong_files() {
    let scratch = Scratch::new();
    let (db, data) = (scratch.db(), scratch.path("data").display().to_string());
    tools(&["demo", &db, &data]).fails(2, &["flights.csv", "No such file"]);
    tools(&["demo-data", &data, "--flights", "100"]).ok();
    std::fs::write(scratch.path("data").join("planes.csv"), "tailnum,seats\nN1,many\n").unwrap();
    tools(&["demo", &db, &data]).explains(2, &["planes.csv", "many"]);
    tools(&["demo", &db, &data]).fails(2, &["name a new directory"]);
}
