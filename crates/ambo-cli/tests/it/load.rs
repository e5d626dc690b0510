//! load and dump of tables with typed columns.

use std::io::Write;

use crate::program::{Scratch, ambo, ambo_with_input, assert_sound, rows};

const CITIES: &str = "\
id,name,people,area,capital,founded,seen
1,Delft,109000,24.06,false,1246-04-15,2024-05-01T10:00:00Z
2,\"Den Haag, \"\"the Hague\"\"\",,98.12,false,,2024-05-01 10:00:00.5
3,Amsterdam,931298,219,true,1275-10-27,
";

fn schema(db: &str, table: &str) -> String {
    ambo(&["info", db, "-t", table, "--json"]).json()["tables"][0]["schema"].as_str().unwrap().to_string()
}

// Keeps away: wrong types or wrong nullability from a file that has all kinds of columns.
#[test]
fn infers_types_and_nulls() {
    let scratch = Scratch::new();
    let db = &scratch.db();
    let file = scratch.file("cities.csv", CITIES);
    let report = ambo(&["load", db, &file, "--key", "id", "--json"]).json();
    assert_eq!((&report["table"], &report["rows"]), (&"cities".into(), &3.into()));
    let expected =
        "id:bigint,name:text,people:bigint?,area:double,capital:boolean,founded:date?,seen:timestamp?";
    assert_eq!(schema(db, "cities"), expected);
    let row = ambo(&["get", db, "-t", "cities", "2", "--json"]).json();
    let expected = serde_json::json!({"id": 2, "name": "Den Haag, \"the Hague\"", "people": null, "area": 98.12,
        "capital": false, "founded": null, "seen": "2024-05-01 10:00:00.5"});
    assert_eq!(row, expected);
    ambo(&["put", db, "4", "Leiden", "NULL", "23.27", "false", "NULL", "NULL"]).ok();
    assert_eq!(rows(db, "cities"), 4);
    ambo(&["del", db, "4"]).ok();
    assert_eq!(rows(db, "cities"), 3);
    assert_sound(db);
}

// Keeps away: a dump that loads as something else, in either form.
#[test]
fn dumps_round_trip() {
    let scratch = Scratch::new();
    let db = &scratch.db();
    ambo(&["load", db, &scratch.file("cities.csv", CITIES), "--key", "id"]).ok();
    let csv = ambo(&["dump", db, "-t", "cities"]).ok();
    let jsonl = ambo(&["dump", db, "-t", "cities", "--json"]).ok();
    assert_eq!(jsonl.lines().count(), 3);
    for (name, text) in [("from_csv.csv", &csv), ("from_json.jsonl", &jsonl)] {
        let table = name.split('.').next().unwrap();
        ambo(&["load", db, &scratch.file(name, text), "--key", "id"]).ok();
        assert_eq!(schema(db, table), schema(db, "cities"));
        assert_eq!(ambo(&["dump", db, "-t", table]).ok(), csv);
        assert_eq!(ambo(&["dump", db, "-t", table, "--format", "jsonl"]).ok(), jsonl);
    }
    // Empty text and NULL are two things if asked for.
    let two = scratch.file("two.csv", "id,note\n1,\n2,\\N\n");
    ambo(&["load", db, &two, "--key", "id", "--null", "\\N"]).ok();
    assert_eq!(ambo(&["dump", db, "-t", "two", "--null", "\\N"]).ok(), "id,note\n1,\n2,\\N\n");
}

// Keeps away: a type guessed from the first rows that a later row does not fit.
#[test]
fn late_surprises_widen_the_type() {
    let scratch = Scratch::new();
    let db = &scratch.db();
    let numbers: String = (0..5000).map(|i| format!("{i}\n")).collect();
    let file = scratch.file("n.csv", format!("n\n{numbers}0.5\n"));
    ambo(&["load", db, &file]).ok();
    assert_eq!(schema(db, "n"), "n:double");
    assert_eq!(rows(db, "n"), 5001);
    let sampled = ambo(&["load", db, &file, "--table", "sampled", "--sample", "100"]);
    sampled
        .fails(2, &["line 5002", "column \"n\"", "'0.5'", "--on-error skip", "table sampled was not made"]);
    let one = scratch.file("na.csv", "n,m\n1,x\nNA,y\n");
    let spoiled = ambo(&["load", db, &one]);
    assert!(spoiled.err.contains("--null 'NA' would make it bigint"), "{spoiled:?}");
    assert!(!spoiled.err.contains("column m"));
}

// Keeps away: a bad line that is not named, or that takes good rows with it.
#[test]
fn bad_lines_are_named() {
    let scratch = Scratch::new();
    let db = &scratch.db();
    let file = scratch.file("t.csv", "a,b\n1,2\n3\n5,x\n7,\"y\nz\"\n9,10\n1,1\n");
    let load = ["load", db, &file, "--schema", "a:bigint,b:bigint", "--key", "a"];
    ambo(&load).fails(2, &["t.csv", "line 3", "1 fields where 2", "table t was not made"]);
    let skipping = ambo(&[&load[..], &["--on-error", "skip"]].concat());
    for words in ["line 3: ", "line 4, column \"b\": 'x'", "line 5, column \"b\"", "line 8: exists already"] {
        assert!(skipping.err.contains(words), "no {words:?} in {skipping:?}");
    }
    assert!(skipping.ok().contains("4 records skipped"));
    assert_eq!(ambo(&["dump", db]).ok(), "a,b\n1,2\n9,10\n");
    ambo(&["load", db, &scratch.file("again.csv", "a,b\n9,11\n"), "-t", "t"])
        .fails(2, &["line 2", "exists already"]);
    ambo(&["load", db, &scratch.path("again.csv").display().to_string(), "-t", "t", "--replace"]).ok();
    assert_eq!(ambo(&["dump", db]).ok(), "a,b\n1,2\n9,11\n");
    let json = scratch.file("j.jsonl", "{\"a\": 1}\n\n{\"a\": tru}\n");
    ambo(&["load", db, &json]).fails(2, &["j.jsonl", "line 3", "character 10"]);
}

// Keeps away: batches before a failure that are gone, or a batch that is half there.
#[test]
fn whole_batches_stay() {
    let scratch = Scratch::new();
    let db = &scratch.db();
    let good: String = (0..250).map(|i| format!("{i}\n")).collect();
    let file = scratch.file("t.csv", format!("n\n{good}bad\n"));
    let load = ambo(&["load", db, &file, "--schema", "n:bigint", "--batch", "100"]);
    load.fails(2, &["line 252", "200 rows of it are in table t"]);
    assert_eq!(rows(db, "t"), 200);
    assert_sound(db);
}

// Keeps away: input forms that only work by accident: gzip, tabs, standard input, missing headers, JSON with holes.
#[test]
fn other_inputs() {
    let scratch = Scratch::new();
    let db = &scratch.db();
    let mut gzip = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
    gzip.write_all(CITIES.as_bytes()).unwrap();
    let packed = scratch.file("packed.csv.gz", gzip.finish().unwrap());
    ambo(&["load", db, &packed, "--key", "id"]).ok();
    assert_eq!(rows(db, "packed"), 3);
    ambo(&["load", db, &scratch.file("t.tsv", "a\tb\n1\tx,y\n")]).ok();
    assert_eq!(ambo(&["dump", db, "-t", "t", "--json"]).ok(), "{\"a\":1,\"b\":\"x,y\"}\n");
    ambo_with_input(&["load", db, "-", "-t", "piped", "--no-header", "--delimiter", ";"], "1;2\n3;4\n").ok();
    assert_eq!(ambo(&["dump", db, "-t", "piped"]).ok(), "column1,column2\n1,2\n3,4\n");
    let holes = "{\"a\": 1}\n{\"b\": [1, {\"c\": 2}], \"a\": 2}\n";
    ambo(&["load", db, &scratch.file("holes.jsonl", holes)]).ok();
    assert_eq!(schema(db, "holes"), "a:bigint,b:text?");
    assert!(
        ambo(&["dump", db, "-t", "holes", "--json"]).ok().contains("{\"a\":2,\"b\":\"[1, {\\\"c\\\": 2}]\"}")
    );
    assert_sound(db);
}

// Keeps away: a load into a table that is there which ignores what the table is.
#[test]
fn existing_tables_keep_their_columns() {
    let scratch = Scratch::new();
    let db = &scratch.db();
    ambo(&["load", db, &scratch.file("t.csv", "a,b\n1,x\n2,\n"), "--key", "a"]).ok();
    ambo(&["load", db, &scratch.file("more.csv", "b,a\ny,3\n"), "-t", "t"]).ok();
    ambo(&["load", db, &scratch.file("less.csv", "a\n4\n"), "-t", "t"]).ok();
    assert_eq!(ambo(&["dump", db]).ok(), "a,b\n1,x\n2,\n3,y\n4,\n");
    let load = |name: &str, text: &str| ambo(&["load", db, &scratch.file(name, text), "-t", "t"]);
    load("extra.csv", "a,c\n5,1\n").fails(2, &["no column c", "a, b"]);
    load("lacking.csv", "b\nz\n").fails(2, &["column a is missing"]);
    let key = ["load", db, &scratch.file("k.csv", "a,b\n"), "-t", "t", "--key", "b"];
    ambo(&key).fails(2, &["table t is there already"]);
    ambo(&["load", db, &scratch.file("e.csv", ""), "-t", "e"]).fails(2, &["e.csv", "empty"]);
    ambo(&["load", db, &scratch.file("k2.csv", "a,b\n1,2\n"), "--key", "c"])
        .fails(2, &["no column c for the key", "a, b"]);
    ambo(&["load", db, &scratch.file("n.csv", "a,b\n1,2\n,3\n"), "--key", "a"])
        .fails(2, &["line 3", "column \"a\""]);
}

// Keeps away: options that do not arrive at the table, figures that do not show them, and advice that cannot be followed.
#[test]
fn compression_is_chosen_changed_shown_and_advised() {
    let scratch = Scratch::new();
    let db = &scratch.db();
    let rows: String = (0..6000).map(|n| format!("{n},delivered by the clerk {}\n", n % 7)).collect();
    let file = scratch.file("orders.csv", format!("id,note\n{rows}"));
    ambo(&["load", db, &file, "--key", "id", "--key-compression", "bp128"]).ok();
    let table = || ambo(&["info", db, "--json"]).json()["tables"][0].clone();
    let before = table();
    assert_eq!(
        (&before["key_compression"], &before["record_compression"]),
        (&"bp128".into(), &"none".into())
    );
    assert!(before["stored_key_bytes"].as_u64().unwrap() * 10 < before["key_bytes"].as_u64().unwrap());

    let advice = ambo(&["advise", db, "orders", "--rows", "1000", "--json"]).json();
    let command = advice["recommended"].as_str().unwrap();
    assert!(command.contains("--record-compression") && !command.contains("--key-compression"), "{command}");
    assert!(ambo(&["advise", db, "orders"]).ok().contains("recommended: ambo alter"));
    let words: Vec<&str> = command.split(' ').skip(1).collect();
    ambo(&words).ok();
    assert_eq!(table()["outdated"], true);
    ambo(&["vacuum", db]).ok();
    let after = table();
    assert_eq!(after["outdated"], false);
    assert!(after["stored_bytes"].as_u64() < before["stored_bytes"].as_u64(), "{before} {after}");
    assert!(ambo(&["advise", db, "orders"]).ok().contains("leave it as it is"));
    assert_eq!(rows.lines().count() as u64, crate::program::rows(db, "orders"));
    assert_sound(db);

    // Too few for a dictionary: none is advised, for none would be trained.
    let small = ["advise", db, "small", "--json"];
    ambo(&[
        "load",
        db,
        &scratch.file("s.csv", format!("id,note\n{}", &rows[..60_000])),
        "-t",
        "small",
        "--key",
        "id",
    ])
    .ok();
    assert!(!ambo(&small).ok().contains("dictionary on"));

    ambo(&["alter", db, "orders"]).fails(2, &["--key-compression"]);
    ambo(&["alter", db, "order", "--record-compression", "none"]).fails(1, &["orders"]);
    ambo(&["load", db, &file, "-t", "orders", "--record-compression", "lz4"]).fails(2, &["ambo alter"]);
    ambo(&["put", db, "-t", "plain", "k", "v"]).ok();
    ambo(&["alter", db, "plain", "--key-compression", "for"]).fails(2, &["u32 or u64"]);
    ambo(&["-c", ".alter plain --record-compression zstd:19", db]).ok();
    assert!(ambo(&["info", db, "-t", "plain"]).ok().contains("zstd:19"));
}
