//! The measurement of a machine.

use crate::{assert_sound, program::Scratch, storages, tools};

// Keeps away: a benchmark that leaves its table behind or loses keys.
#[test]
fn bench_cleans_up() {
    let scratch = Scratch::new();
    let db = &scratch.db();
    let bench = ["bench", db, "--records", "2000", "--threads", "2", "--value-bytes", "50", "--sync", "off"];
    let report = tools(&[&bench[..], &["--json"]].concat()).json();
    let phases = report["phases"].as_array().unwrap();
    assert!(
        phases.len() >= 5 && phases.iter().all(|phase| phase["records_per_second"].as_u64().unwrap() > 0)
    );
    assert!(storages(db).is_empty());
    assert!(tools(&bench).ok().contains("get"));
    assert_sound(db);
}
