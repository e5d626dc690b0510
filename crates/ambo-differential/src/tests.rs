//! A few seeds of each oracle, in every run of the tests.

use crate::{
    duckdb::DuckDb,
    oracle::Oracle,
    run::{Language, Plan, STEPS, Tally},
    sqlite::Sqlite,
};

fn plan(dir: &std::path::Path, language: Language, databases: u64) -> Plan<'_> {
    Plan { language, seed: 1, databases, steps: STEPS, dir, reduces: true }
}

fn is_alike(tally: &Tally, found: &[String]) {
    assert!(tally.differences.is_empty(), "{}\n{}", found.join("\n"), tally.report());
    assert!(tally.queries > 100, "{}", tally.report());
}

#[test]
fn answers_are_those_of_sqlite() {
    // Keeps away: wrong rows of joins, subqueries, groups, windows and set operations.
    let (mut tally, mut found) = (Tally::default(), Vec::new());
    let dir = std::env::temp_dir().join("ambo-differential-tests");
    let mut tell = |text: &str| found.push(text.to_owned());
    plan(&dir, Language::Narrow, 8).run(&mut Sqlite::new().unwrap(), &mut tally, &mut tell).unwrap();
    is_alike(&tally, &found);
}

#[test]
#[ignore = "it needs DuckDB in Python (AMBO_DUCKDB_PYTHON), and differences are left that 0028 names"]
fn answers_are_those_of_duckdb() {
    // Keeps away: wrong values and types of numbers, times, texts, and of what SQLite does not have.
    let python = std::env::var("AMBO_DUCKDB_PYTHON").expect("AMBO_DUCKDB_PYTHON is a Python with DuckDB");
    let (mut tally, mut found) = (Tally::default(), Vec::new());
    let dir = std::env::temp_dir().join("ambo-differential-tests");
    let mut tell = |text: &str| found.push(text.to_owned());
    plan(&dir, Language::Wide, 15).run(&mut DuckDb::new(&python).unwrap(), &mut tally, &mut tell).unwrap();
    is_alike(&tally, &found);
}

#[test]
fn conditions_are_one_wherever_they_stand() {
    // Keeps away: rows that a filter loses where it is pushed down, looked up in an index, or made part of a join.
    for oracle in [Oracle::NoRec, Oracle::Tlp] {
        let (mut tally, mut found) = (Tally::default(), Vec::new());
        oracle.run(1, 1, &mut tally, &mut |text| found.push(text.to_owned())).unwrap();
        is_alike(&tally, &found);
    }
}
