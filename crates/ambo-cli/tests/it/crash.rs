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
    // A second run goes on with what is there.
    ambo(&["crash-loop", db, "--rounds", "2", "--threads", "3", "--seed", "8"]).ok();
    assert_sound(db);
}
