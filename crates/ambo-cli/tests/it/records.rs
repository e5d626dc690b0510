//! put, get, del, scan, count, dump, info, check and vacuum.

use std::io::Read;

use crate::program::{Scratch, ambo, assert_sound, command, finish, rows};

// Keeps away: a value that comes back as other bytes than were put, in any of the forms it is shown in.
#[test]
fn bytes_come_back() {
    let scratch = Scratch::new();
    let db = &scratch.db();
    ambo(&["put", db, "k\\x00\\xff", "wörld\\n\\\\"]).ok();
    assert_eq!(ambo(&["get", db, "k\\0\\xff"]).ok(), "wörld\\n\\\\\n");
    assert_eq!(ambo(&["get", db, "--raw", "k\\0\\xff"]).ok(), "wörld\n\\");
    let json = ambo(&["get", db, "k\\0\\xff", "--json"]).json();
    assert_eq!((json["key"].as_str(), json["value"].as_str()), (Some("k\\0\\xff"), Some("wörld\\n\\\\")));
    ambo(&["put", db, "k\\0\\xff", ""]).ok();
    assert_eq!(ambo(&["get", db, "k\\0\\xff"]).ok(), "\n");
    ambo(&["put", db, "--", "--raw", "-1"]).ok();
    assert_eq!(ambo(&["get", db, "--", "--raw"]).ok(), "-1\n");
    ambo(&["del", db, "k\\0\\xff"]).ok();
    ambo(&["get", db, "k\\0\\xff"]).fails(1, &["not found", "k\\0\\xff"]);
    ambo(&["del", db, "k\\0\\xff"]).fails(1, &["not found"]);
    assert_sound(db);
}

// Keeps away: a file that is changed, or read whole into memory, on its way in and out.
#[test]
fn files_are_values() {
    let scratch = Scratch::new();
    let db = &scratch.db();
    let bytes: Vec<u8> = (0..3_000_000u32).map(|i| (i * 7 % 251) as u8).collect();
    let file = scratch.file("large", &bytes);
    ambo(&["put", db, "large", "--file", &file]).ok();
    let mut child = command(&["get", db, "large", "--raw"]).spawn().unwrap();
    let mut found = Vec::new();
    child.stdout.as_mut().unwrap().read_to_end(&mut found).unwrap();
    assert!(finish(child).code == Some(0) && found == bytes);
    assert_sound(db);
}

fn ten(scratch: &Scratch) -> String {
    let db = scratch.db();
    for i in 0..10 {
        ambo(&["put", &db, &format!("k{i}"), &format!("v{i}")]).ok();
    }
    db
}

// Keeps away: ranges that are off by one, and limits that are not limits.
#[test]
fn scans_and_counts() {
    let scratch = Scratch::new();
    let db = &ten(&scratch);
    assert_eq!(ambo(&["scan", db, "--from", "k2", "--to", "k4"]).ok(), "k2\tv2\nk3\tv3\n");
    assert_eq!(ambo(&["scan", db, "--reverse", "-n", "2"]).ok(), "k9\tv9\nk8\tv8\n");
    assert_eq!(ambo(&["scan", db, "--prefix", "k7"]).ok(), "k7\tv7\n");
    assert_eq!(ambo(&["scan", db, "--from", "x"]).ok(), "");
    assert_eq!(ambo(&["count", db, "--from", "k2"]).ok(), "8\n");
    assert_eq!(ambo(&["count", db, "--json"]).json()["count"], 10);
    let lines = ambo(&["scan", db, "--json"]).ok();
    let keys: Vec<String> = lines
        .lines()
        .map(|line| {
            serde_json::from_str::<serde_json::Value>(line).unwrap()["key"].as_str().unwrap().to_string()
        })
        .collect();
    assert_eq!(keys.len(), 10);
    assert!(keys.is_sorted());
}

// Keeps away: pairs that `dump` writes and `load` reads otherwise.
#[test]
fn pairs_round_trip() {
    let scratch = Scratch::new();
    let db = &scratch.db();
    for (key, value) in [("a\\x00,\"", "1\\n2"), ("b", ""), ("\\xff", "ü;")] {
        ambo(&["put", db, key, value]).ok();
    }
    for (format, name) in [("csv", "d.csv"), ("jsonl", "d.jsonl")] {
        let file = scratch.path(name).display().to_string();
        ambo(&["dump", db, "-t", "default", "--format", format, "--output", &file]).ok();
        ambo(&["load", db, &file, "--table", format, "--key-value"]).ok();
        assert_eq!(ambo(&["scan", db, "-t", format]).ok(), ambo(&["scan", db, "-t", "default"]).ok());
    }
    assert_sound(db);
}

// Keeps away: figures for programs that change their names or are no JSON.
#[test]
fn info_check_and_vacuum_for_programs() {
    let scratch = Scratch::new();
    let db = &ten(&scratch);
    let info = ambo(&["info", db, "--json"]).json();
    assert_eq!((&info["tables"][0]["name"], &info["tables"][0]["rows"]), (&"default".into(), &10.into()));
    assert!(info["file_bytes"].as_u64().is_some() && info["cache"]["hits"].as_u64().is_some());
    let vacuum = ambo(&["vacuum", db, "--json"]).json();
    assert!(vacuum["bytes_after"].as_u64().is_some());
    let check = ambo(&["check", db, "--json"]).json();
    assert_eq!((&check["sound"], &check["problems"]), (&true.into(), &serde_json::json!([])));
    assert!(ambo(&["check", db]).ok().contains("sound"));
    assert!(ambo(&["info", db]).ok().contains("default"));
    assert!(ambo(&["info", db, "-t", "default"]).ok().contains("binary"));
    assert_eq!(rows(db, "default"), 10);
}

// Keeps away: an error message, or a hang, when `head` has seen enough.
#[test]
fn broken_pipes_end_quietly() {
    let scratch = Scratch::new();
    let rows: String = (0..50_000).map(|i| format!("{i},some words to fill a pipe with\n")).collect();
    let file = scratch.file("many.csv", format!("id,words\n{rows}"));
    let db = &scratch.db();
    ambo(&["load", db, &file, "--key", "id"]).ok();
    for words in [&["scan", db][..], &["dump", db], &["scan", db, "--json"]] {
        let mut child = command(words).spawn().unwrap();
        let mut some = [0; 100];
        child.stdout.as_mut().unwrap().read_exact(&mut some).unwrap();
        drop(child.stdout.replace(command(&["--version"]).spawn().unwrap().stdout.take().unwrap()));
        let outcome = finish(child);
        assert_eq!((outcome.code, outcome.err.as_str()), (Some(0), ""), "{words:?}");
    }
}

// Keeps away: queries of UQI that are taken apart into words, or whose names end in bytes that are no text.
#[test]
fn uqi_computes_aggregates() {
    let scratch = Scratch::new();
    let db = &scratch.db();
    let made = "create table counts (key int primary key, value bigint); insert into counts values (1, 10), (2, 20), (7, 30);";
    ambo(&[db, "-c", made]).ok();
    assert_eq!(ambo(&["uqi", db, "SUM($record) FROM counts WHERE $key > 1"]).ok(), "SUM\t50\n");
    assert_eq!(ambo(&["uqi", db, "TOP($key) FROM counts LIMIT 2"]).ok(), "2\t20\n7\t30\n");
    assert_eq!(
        ambo(&[db, "-c", ".uqi COUNT($key) FROM counts WHERE $record IN (10,  30)"]).ok(),
        "COUNT\t2\n"
    );
    let json = ambo(&["uqi", db, "MAX($record) FROM counts", "--json"]).json();
    assert_eq!((json["key"].as_i64(), json["record"].as_i64()), (Some(7), Some(30)));
    ambo(&["uqi", db, "SUM($record) FROM nothing"]).fails(1, &["nothing"]);
    ambo(&["uqi", db, "\"f@lib.so\"($key) FROM counts"])
        .fails(2, &["no library is loaded before a directory"]);
    assert_sound(db);
}
