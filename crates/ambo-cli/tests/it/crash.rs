//! A few rounds of what `make crash` does for hours.

use crate::program::{Scratch, ambo, assert_sound};

// Keeps away: lost acknowledged commits, torn transactions and damage after kill -9, with all options of the rounds.
#[test]
fn some_crashes() {
    let scratch = Scratch::new();
    let db = &scratch.db();
    let report = ambo(&["crash-loop", db, "--rounds", "8", "--threads", "3", "--seed", "7", "--json"]).json();
    assert!(report["acknowledged"].as_u64().unwrap() > 0, "{report}");
    assert!(report["verified"].as_u64().unwrap() > 0, "{report}");
    let tables = ambo(&["info", db, "--json"]).json()["tables"].as_array().unwrap().clone();
    for storage in ["btree", "column"] {
        assert!(tables.iter().any(|table| table["storage"] == storage), "no table of storage {storage}");
    }
    // A second run goes on with what is there.
    ambo(&["crash-loop", db, "--rounds", "2", "--threads", "3", "--seed", "8"]).ok();
    assert_sound(db);
}

// Keeps away: a storage that is said and not used, and crashes of a memory table that are taken for losses.
#[test]
fn crashes_of_one_storage() {
    let scratch = Scratch::new();
    let db = &scratch.db();
    ambo(&["crash-loop", db, "--rounds", "2", "--seed", "3", "--storage", "column"]).ok();
    let tables = ambo(&["info", db, "--json"]).json()["tables"].as_array().unwrap().clone();
    assert!(tables.iter().all(|table| table["storage"] == "column"), "{tables:?}");
    assert_eq!(ambo(&["crash-loop", db, "--storage", "memory"]).code, Some(2));
    assert_sound(db);
}
