//! A few rounds of what `make crash` does for hours.

use ambo::Storage;

use crate::{assert_sound, program::Scratch, storages, tools};

// Keeps away: lost acknowledged commits, torn transactions and damage after kill -9, with all options of the rounds.
#[test]
fn some_crashes() {
    let scratch = Scratch::new();
    let db = &scratch.db();
    let report =
        tools(&["crash-loop", db, "--rounds", "8", "--threads", "3", "--seed", "7", "--json"]).json();
    assert!(report["acknowledged"].as_u64().unwrap() > 0, "{report}");
    assert!(report["verified"].as_u64().unwrap() > 0, "{report}");
    let used = storages(db);
    for storage in [Storage::BTree, Storage::Column] {
        assert!(used.contains(&storage), "no table of storage {storage:?}");
    }
    // A second run goes on with what is there.
    tools(&["crash-loop", db, "--rounds", "2", "--threads", "3", "--seed", "8"]).ok();
    assert_sound(db);
}

// Keeps away: a storage that is said and not used, and crashes of a memory table that are taken for losses.
#[test]
fn crashes_of_one_storage() {
    let scratch = Scratch::new();
    let db = &scratch.db();
    tools(&["crash-loop", db, "--rounds", "2", "--seed", "3", "--storage", "column"]).ok();
    assert!(storages(db).iter().all(|storage| *storage == Storage::Column));
    assert_eq!(tools(&["crash-loop", db, "--storage", "memory"]).code, Some(2));
    assert_sound(db);
}
