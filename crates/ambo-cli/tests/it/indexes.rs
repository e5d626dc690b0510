//! Indexes through the real program.

use crate::program::{Scratch, ambo, assert_sound, rows};

// Keeps away: an index that is not there when the program has ended, one that a put goes past, and messages that do not help.
#[test]
fn an_index_is_made_shown_obeyed_and_dropped() {
    let scratch = Scratch::new();
    let db = &scratch.db();
    let file = scratch.file("towns.csv", "id,town,country\n1,Bern,CH\n2,Basel,CH\n3,Brest,FR\n");
    for storage in ["btree", "column"] {
        let table = &format!("towns_{storage}");
        ambo(&["load", db, &file, "-t", table, "--key", "id", "--storage", storage]).ok();
        let by_town = &format!("by_town_{storage}");
        let made = ambo(&["create-index", db, by_town, table, "town", "--unique", "--hash"]).ok();
        assert!(made.contains(by_town) && made.contains("3 rows"), "{made}");
        let both = &format!("both_{storage}");
        ambo(&["create-index", db, both, table, "country,town"]).ok();
        let info = ambo(&["info", db, "-t", table, "--json"]).json();
        let indexes = &info["tables"][0]["indexes"];
        assert_eq!(indexes[0]["kind"], "hash");
        assert_eq!(indexes[0]["entries"], 3);
        assert_eq!(indexes[1]["columns"], serde_json::json!(["country", "town"]));
        let text = ambo(&["info", db, "-t", table]).ok();
        assert!(text.contains(by_town) && text.contains("unique hash"), "{text}");
        ambo(&["put", db, "-t", table, "4", "Bern", "US"]).fails(3, &["(town) = (Bern)", by_town]);
        ambo(&["put", db, "-t", table, "4", "Chur", "CH"]).ok();
        ambo(&["create-index", db, "again", table, "country", "--unique"]).fails(3, &["(country) = (CH)"]);
        ambo(&["create-index", db, both, table, "town"]).fails(3, &["exists already", both]);
        ambo(&["create-index", db, "other", table, "twon"]).fails(1, &["twon", "id, town, country"]);
        let checked = ambo(&["check", db, "--json"]).json();
        assert_eq!(checked["indexes"], if storage == "btree" { 2 } else { 4 });
        assert_sound(db);
        let bitmap = ["create-index", db, "of_country", table, "country", "--bitmap"];
        if storage == "btree" {
            ambo(&bitmap).fails(2, &["storage column"]);
        } else {
            ambo(&bitmap).ok();
            let info = ambo(&["info", db, "-t", table, "--json"]).json();
            assert_eq!(info["tables"][0]["indexes"][2]["kind"], "bitmap");
            ambo(&["alter", db, table, "--storage", "btree"]).fails(2, &["of_country", "drop it first"]);
            assert_sound(db);
            ambo(&["drop-index", db, "of_country"]).ok();
        }
    }
    // Indexes stay right when their table's storage is changed.
    let changed = ambo(&["alter", db, "towns_column", "--storage", "btree"]).ok();
    assert_eq!(changed, "table towns_column: storage btree\n");
    assert_sound(db);
    assert_eq!(
        ambo(&["alter", db, "towns_btree", "--storage", "column", "--json"]).json()["storage"],
        "column"
    );
    ambo(&["alter", db, "towns_btree", "--storage", "memory"]).fails(2, &["in memory"]);
    ambo(&["alter", db, "towns_btree", "--record-compression", "lz4"]).fails(2, &["encodes each column"]);
    ambo(&["alter", db, "towns_btree"]).fails(2, &["change what?", "--storage"]);
    assert_eq!(rows(db, "towns_btree"), 4);
    assert_sound(db);
    ambo(&["drop-index", db, "by_town_column"]).ok();
    ambo(&["drop-index", db, "by_town_column"]).fails(1, &["by_town_column"]);
    ambo(&["put", db, "-t", "towns_column", "5", "Bern", "US"]).ok();
    let prompt = ["-c", ".create-index p towns_column country", "-c", ".drop-index p"];
    ambo(&[&[&db[..]], &prompt[..]].concat()).ok();
    assert_sound(db);
}
