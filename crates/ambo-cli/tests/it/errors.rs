//! Wrong requests and wrong places: one line each, the right exit code, nothing made by mistake.

use std::os::unix::fs::FileExt;

use crate::program::{Scratch, ambo, exists};

// Keeps away: a database that is made by looking for one.
#[test]
fn missing_databases() {
    let scratch = Scratch::new();
    let db = &scratch.db();
    for words in
        [&["get", db, "k"][..], &["scan", db], &["info", db], &["check", db], &["dump", db], &["vacuum", db]]
    {
        ambo(words).fails(3, &["no database there", db]);
    }
    assert!(!exists(db));
}

// Keeps away: a directory of something else, or a plain file, that becomes a database.
#[test]
fn places_that_are_something_else() {
    let scratch = Scratch::new();
    let file = &scratch.file("plain", "text");
    ambo(&["get", file, "k"]).fails(3, &["not an Ambo database", file]);
    ambo(&["put", file, "k", "v"]).fails(3, &["not an Ambo database"]);
    let dir = scratch.path("other");
    std::fs::create_dir(&dir).unwrap();
    std::fs::write(dir.join("notes.txt"), "mine").unwrap();
    ambo(&["put", &dir.display().to_string(), "k", "v"]).fails(3, &["not an Ambo database"]);
    assert_eq!(std::fs::read_dir(&dir).unwrap().count(), 1);
    let pages = scratch.path("garbage");
    std::fs::create_dir(&pages).unwrap();
    std::fs::write(pages.join("pages"), vec![0xa5; 100_000]).unwrap();
    ambo(&["get", &pages.display().to_string(), "k"]).fails(3, &["not an Ambo database"]);
}

// Keeps away: paragraphs, panics and wrong codes for wrong words.
#[test]
fn wrong_words() {
    let scratch = Scratch::new();
    let db = &scratch.db();
    ambo(&["put", db, "k", "v"]).ok();
    ambo(&["put", db, "k"]).fails(2, &["a key and a value"]);
    ambo(&["put", db, "k", "\\q"]).fails(2, &["unknown escape \\q"]);
    ambo(&["get", db, "a", "b"]).fails(2, &["one key"]);
    ambo(&["get", db, "-t", "defualt", "k"]).fails(1, &["defualt"]);
    ambo(&["load", db, "/nowhere/f.csv"]).fails(2, &["/nowhere/f.csv: No such file or directory"]);
    ambo(&["load", db, &scratch.file("f.csv", "a\n1\n"), "--schema", "a:strange"])
        .fails(2, &["unknown type 'strange'"]);
    ambo(&["load", db, &scratch.path("f.csv").display().to_string(), "--delimiter", "ab"])
        .fails(2, &["one character"]);
    assert_eq!(ambo(&["put"]).code, Some(2));
    assert_eq!(ambo(&["get", db, "k", "--cache", "lots"]).code, Some(2));
    assert_eq!(ambo(&["--help"]).code, Some(0));
    ambo(&["chekc", "x"]).code.filter(|&code| code == 2).unwrap();
    ambo(&["chekc"]).fails(2, &["did you mean the command check"]);
    assert!(!exists("chekc"));
}

// Keeps away: damage that `check` does not see, or that is not told by its own exit code.
#[test]
fn check_finds_damage() {
    let scratch = Scratch::new();
    let db = &scratch.db();
    let rows: String = (0..20_000).map(|i| format!("{i},{}\n", i * 7919 % 100_003)).collect();
    ambo(&["load", db, &scratch.file("t.csv", format!("a,b\n{rows}")), "--key", "a"]).ok();
    ambo(&["vacuum", db]).ok();
    let pages = std::fs::OpenOptions::new().read(true).write(true).open(scratch.path("db/pages")).unwrap();
    // One byte in each page behind the first few, which hold the superblocks: some of them are leaves.
    let length = pages.metadata().unwrap().len();
    let mut hit = 0;
    for page in 4..length / 16_384 {
        let mut byte = [0];
        pages.read_exact_at(&mut byte, page * 16_384 + 8000).unwrap();
        pages.write_all_at(&[byte[0] ^ 0x40], page * 16_384 + 8000).unwrap();
        hit += 1;
    }
    assert!(hit > 0, "the file has {length} bytes");
    let outcome = ambo(&["check", db]);
    assert_eq!(outcome.code, Some(4), "{outcome:?}");
    assert!(outcome.out.contains("damaged: ") && outcome.out.contains("page"), "{outcome:?}");
    let outcome = ambo(&["check", db, "--json"]);
    assert_eq!(outcome.code, Some(4));
    let report: serde_json::Value = serde_json::from_str(&outcome.out).unwrap();
    assert!(report["sound"] == false && !report["problems"].as_array().unwrap().is_empty());
}
