//! Column tables through the real program.

use std::fmt::Write;
use std::fs::OpenOptions;
use std::os::unix::fs::FileExt;
use std::path::PathBuf;

use serde_json::Value as Json;

use crate::program::{Scratch, ambo, assert_sound, command, finish, rows};

const ROWS: u64 = 20_000;

fn row(id: u64) -> String {
    let note = if id.is_multiple_of(10) { String::new() } else { format!("clerk {}", id % 7) };
    format!("{id},{note},{}.25", id / 100)
}

fn csv(ids: impl Iterator<Item = u64>) -> String {
    let mut text = String::from("id,note,price\n");
    ids.for_each(|id| writeln!(text, "{}", row(id)).unwrap());
    text
}

/// A column table `orders` with all of its rows in segments.
fn orders(scratch: &Scratch) -> String {
    let (db, file) = (scratch.db(), scratch.file("orders.csv", csv(0..ROWS)));
    let load = ["load", &db, &file, "--key", "id", "--storage", "column"];
    ambo(&[&load[..], &["--schema", "id:bigint,note:text?,price:double"]].concat()).ok();
    assert!(!segments(scratch).is_empty(), "a load leaves so many rows in segments");
    ambo(&["vacuum", &db]).ok();
    db
}

fn table(db: &str) -> Json {
    ambo(&["info", db, "-t", "orders", "--json"]).json()["tables"][0].clone()
}

fn segments(scratch: &Scratch) -> Vec<PathBuf> {
    let entries = std::fs::read_dir(scratch.path("db")).unwrap().map(|entry| entry.unwrap().path());
    let is_segment = |path: &PathBuf| path.file_name().unwrap().to_string_lossy().starts_with("segment-");
    let mut files: Vec<_> = entries.filter(is_segment).collect();
    files.sort();
    files
}

// Keeps away: rows that are other, lost or doubled once they are columns, in any of the ways to look at them.
#[test]
fn rows_come_back_from_segments() {
    let scratch = Scratch::new();
    let db = &orders(&scratch);
    assert_eq!(table(db)["storage"], "column");
    assert_eq!(rows(db, "orders"), ROWS);
    assert_eq!(ambo(&["dump", db]).ok(), csv(0..ROWS));
    assert_eq!(ambo(&["get", db, "777"]).ok(), "777\tclerk 0\t7.25\n");
    assert_eq!(ambo(&["get", db, "770"]).ok(), "770\tNULL\t7.25\n");
    ambo(&["get", db, &ROWS.to_string()]).fails(1, &["not found"]);
    assert_eq!(ambo(&["scan", db, "--prefix", "12345"]).ok(), "12345\tclerk 4\t123.25\n");
    assert_eq!(
        ambo(&["scan", db, "--reverse", "-n", "2"]).ok(),
        "19999\tclerk 0\t199.25\n19998\tclerk 6\t199.25\n"
    );

    // Updated, deleted and new ones, as rows and then as segments.
    ambo(&["put", db, "777", "changed", "1.5"]).ok();
    ambo(&["put", db, "20000", "new", "2.5"]).ok();
    for id in 100..200 {
        ambo(&["del", db, &id.to_string()]).ok();
    }
    let look = || {
        assert_eq!(ambo(&["get", db, "777"]).ok(), "777\tchanged\t1.5\n");
        ambo(&["get", db, "150"]).fails(1, &["not found"]);
        ambo(&["del", db, "150"]).fails(1, &["not found"]);
        assert_eq!(rows(db, "orders"), ROWS - 99);
        ambo(&["scan", db]).ok()
    };
    let before = look();
    ambo(&[db, "-c", ".compact"]).ok();
    assert_eq!(look(), before);
    assert!(table(db)["segments"]["deleted_rows"].as_u64().is_some_and(|rows| rows <= 101));
    ambo(&["vacuum", db]).ok();
    assert_eq!(look(), before);
    assert_eq!(table(db)["segments"]["deleted_rows"], 0);
    assert_sound(db);
}

// Keeps away: figures that do not add up, and a check that counts no segments.
#[test]
fn info_and_check_tell_of_segments() {
    let scratch = Scratch::new();
    let db = &orders(&scratch);
    let info = ambo(&["info", db, "--json"]).json();
    let table = &info["tables"][0];
    let segments = &table["segments"];
    let files = crate::columns::segments(&scratch);
    let bytes: u64 = files.iter().map(|file| file.metadata().unwrap().len()).sum();
    assert_eq!((&segments["segments"], &info["segments"]), (&files.len().into(), &files.len().into()));
    assert_eq!((&segments["file_bytes"], &info["segment_bytes"]), (&bytes.into(), &bytes.into()));
    assert_eq!((&segments["rows"], &segments["runs"]), (&ROWS.into(), &1.into()));
    assert_eq!(segments["groups"].as_u64(), Some(ROWS.div_ceil(8192)));
    let columns = table["columns"].as_array().unwrap();
    let of = |name: &str| columns.iter().map(|column| column[name].as_u64().unwrap()).collect::<Vec<_>>();
    assert_eq!(of("nulls"), [0, ROWS / 10, 0]);
    let stored = of("stored_bytes").iter().sum::<u64>() + segments["directory_bytes"].as_u64().unwrap();
    assert_eq!((stored, table["stored_bytes"].as_u64()), (bytes, Some(bytes)));
    assert_eq!(of("raw_bytes"), [ROWS * 8, ROWS / 10 * 9 * 7, ROWS * 8]);
    for column in columns {
        let read: u64 = column["encodings"].as_object().unwrap().values().map(|n| n.as_u64().unwrap()).sum();
        assert_eq!(column["blocks"], read, "few blocks are all read");
    }
    assert!(table["ratio"].as_f64().unwrap() > 4.0, "{table}");
    let text = ambo(&["info", db, "-t", "orders"]).ok();
    for words in ["by column", "bigint", "key 1", "nullable", "segments", "none of them deleted"] {
        assert!(text.contains(words), "no {words:?} in {text}");
    }
    assert!(ambo(&["info", db]).ok().contains("files"));
    assert_eq!(ambo(&["check", db, "--json"]).json()["segments"], files.len());
    assert!(ambo(&["check", db]).ok().contains("segments checked"));

    // Some of the rows deleted, in one place, so that the segment stays.
    let some: String = (0..1000).map(|id| format!(".del {id}\n")).collect();
    crate::program::ambo_with_input(&[db], &some).ok();
    ambo(&[db, "-c", ".compact"]).ok();
    assert_eq!(rows(db, "orders"), ROWS - 1000);
    assert_sound(db);

    // Without a key there is a column that has no name.
    ambo(&["load", db, &scratch.file("n.csv", "n\n1\n2\n"), "--storage", "column"]).ok();
    ambo(&["vacuum", db]).ok();
    assert!(ambo(&["info", db, "-t", "n"]).ok().contains("(row number)"));
}

// Keeps away: options that a column table ignores, and a storage that is said too late.
#[test]
fn storages_are_chosen_when_a_table_is_made() {
    let scratch = Scratch::new();
    let db = &scratch.db();
    let file = &scratch.file("t.csv", "a,b\n1,2\n");
    let column = ["load", db, file, "--key", "a", "--storage", "column"];
    for option in ["--record-compression=lz4", "--key-compression=for"] {
        let said = ambo(&[&column[..], &[option]].concat());
        said.fails(2, &["storage column", "--record-compression away", "--storage btree"]);
    }
    ambo(&column).ok();
    ambo(&["load", db, file, "-t", "t", "--storage", "btree"]).fails(2, &["there already", "--storage"]);
    ambo(&["alter", db, "t", "--record-compression", "lz4"])
        .fails(2, &["storage column", "nothing to change"]);
    ambo(&["advise", db, "t"]).fails(2, &["storage column", "ambo info"]);
    ambo(&[db, "-c", ".create c id:bigint,v:text --key id --storage column", "-c", ".put 1 x"]).ok();
    ambo(&[db, "-c", ".create kv --storage column", "-c", ".put k v", "-c", ".compact"]).ok();
    assert_eq!(ambo(&["get", db, "-t", "kv", "k"]).ok(), "v\n");
    ambo(&[db, "-c", ".create x --storage column --record-compression zstd"]).fails(2, &["--storage btree"]);
    ambo(&[db, "-c", ".create x --storage row"]).fails(2, &["row"]);
    let memory = ambo(&["load", db, file, "-t", "m", "--storage", "memory"]);
    assert!(memory.err.contains("gone when this command ends"), "{memory:?}");
    memory.ok();
    assert_eq!(rows(db, "m"), 0);
    let storages: Vec<_> = ambo(&["info", db, "--json"]).json()["tables"]
        .as_array()
        .unwrap()
        .iter()
        .map(|table| table["storage"].as_str().unwrap().to_string())
        .collect();
    assert_eq!(storages, ["column", "column", "column", "memory"]);
    let help = ambo(&["load", "--help"]).ok();
    assert!(help.contains("--storage") && help.contains("segments"), "{help}");
    assert_sound(db);
}

// Keeps away: a kill in the middle of compacting that loses or doubles rows, or leaves files of nobody.
#[test]
fn kill_9_while_compacting() {
    let scratch = Scratch::new();
    let db = &orders(&scratch);
    let file = scratch.file("more.csv", csv(ROWS / 2..ROWS * 5));
    for millis in [60, 200, 500] {
        let load = ["load", db, &file, "-t", "orders", "--replace", "--batch", "1000", "--memtable", "1M"];
        let mut child = command(&load).spawn().unwrap();
        std::thread::sleep(std::time::Duration::from_millis(millis));
        child.kill().unwrap();
        finish(child);
        assert_sound(db);
        let found = rows(db, "orders");
        assert!(found >= ROWS && found.is_multiple_of(1000), "{found}");
        assert_eq!(ambo(&["scan", db, "--prefix", "9999"]).ok(), "9999\tclerk 3\t99.25\n");
    }
    ambo(&["load", db, &file, "-t", "orders", "--replace"]).ok();
    ambo(&["vacuum", db]).ok();
    assert_eq!(ambo(&["dump", db]).ok(), csv(0..ROWS * 5));
    let info = ambo(&["info", db, "--json"]).json();
    assert_eq!(info["segments"], segments(&scratch).len(), "files that nobody has");
    assert_sound(db);
}

// Keeps away: a damaged, short or missing segment that is read as something else, or whose file is not named.
#[test]
fn wrong_segment_files_are_named() {
    let scratch = Scratch::new();
    let db = &orders(&scratch);
    let path = &segments(&scratch)[0];
    let name = path.file_name().unwrap().to_str().unwrap();
    let good = std::fs::read(path).unwrap();
    let refused = |what: &str| {
        let advice = format!("ambo check {db}");
        for words in [&["get", db, "777", "-t", "orders"][..], &["put", db, "-t", "orders", "1", "x", "1"]] {
            ambo(words).fails(3, &["damaged", name, what, &advice]);
        }
        let info = ambo(&["info", db]).ok();
        assert!(info.contains("orders: damaged") && info.contains(name) && info.contains(what), "{info}");
        assert_eq!(ambo(&["info", db, "--json"]).json()["damaged"][0]["name"], "orders");
        let check = ambo(&["check", db]);
        assert_eq!(check.code, Some(4), "{check:?}");
        for words in ["damaged: ", name, what, "1 problem; restore from a backup"] {
            assert!(check.out.contains(words), "no {words:?} in {check:?}");
        }
        assert!(!check.out.contains("ambo check"), "it is just being checked: {check:?}");
        assert!(ambo(&["check", db, "--json"]).out.contains(name));
        // Other tables are in use.
        ambo(&[db, "-c", ".create other", "-c", ".put k v", "-c", ".vacuum", "-c", ".drop other"]).ok();
    };
    std::fs::remove_file(path).unwrap();
    refused("missing");
    std::fs::write(path, &good[..good.len() - 1]).unwrap();
    refused(&format!("has {} bytes and should have {}", good.len() - 1, good.len()));
    std::fs::write(path, vec![0; good.len()]).unwrap();
    refused("does not begin as a segment does");
    // The end of the directory.
    let flip = |at: u64| {
        std::fs::write(path, &good).unwrap();
        let file = OpenOptions::new().write(true).open(path).unwrap();
        file.write_all_at(&[good[at as usize] ^ 0x10], at).unwrap();
    };
    flip(good.len() as u64 - 40);
    refused("checksum of the directory");

    // A block: the others can be read, and the check says where it is.
    flip(100);
    let check = ambo(&["check", db]);
    assert_eq!(check.code, Some(4), "{check:?}");
    assert!(check.out.contains(name) && check.out.contains("checksum of a block"), "{check:?}");
    ambo(&["get", db, "19999"]).ok();
    ambo(&["get", db, "5"]).fails(3, &[name, "checksum of a block", "ambo check"]);
    std::fs::write(path, &good).unwrap();
    assert_sound(db);
}
