//! backup and restore, and BACKUP TO.

use std::process::Stdio;

use crate::program::{Scratch, ambo, assert_sound, command, finish, rows};

// Keeps away: a backup that lacks rows, one that a second backup breaks, and a restored database that is not the first.
#[test]
fn backup_verify_and_restore() {
    let scratch = Scratch::new();
    let db = &scratch.db();
    let [backup, again] = ["backup", "again"].map(|name| scratch.path(name).display().to_string());
    ambo(&[db, "-c", "create table t (id int primary key, n int) with (storage = column)"]).ok();
    ambo(&[db, "-c", "insert into t select value, value * 2 from generate_series(1, 50000)"]).ok();
    let said = ambo(&["backup", db, &backup, "--verify"]).ok();
    assert!(said.contains("of pages") && said.contains("sound"), "{said}");
    ambo(&[db, "-c", "delete from t where id > 40000"]).ok();
    let json = ambo(&["backup", db, &backup, "--json"]).json();
    assert!(json["page_bytes"].as_u64().unwrap() > 0, "{json}");
    ambo(&["restore", &backup, &again]).ok();
    assert_eq!(rows(&again, "t"), 40_000);
    assert_sound(&again);
    ambo(&["restore", &backup, &again]).fails(2, &["is no backup"]);
    ambo(&["backup", db, &again]).fails(2, &["is no backup"]);
    ambo(&["check", &backup]).ok();
    ambo(&["backup", db, &backup]).ok();
}

// Keeps away: a backup of a database in use that fails without a word of what to do, and SQL that cannot make it.
#[test]
fn a_database_in_use_makes_its_own_backup() {
    let scratch = Scratch::new();
    let db = &scratch.db();
    let backup = scratch.path("back'up").display().to_string();
    ambo(&[db, "-c", "create table t (id int primary key)"]).ok();
    let mut shell = command(&[db]).stdin(Stdio::piped()).spawn().unwrap();
    let mut lines = shell.stdin.take().unwrap();
    use std::io::Write;
    writeln!(lines, "insert into t values (1); backup to '{}';", backup.replace('\'', "''")).unwrap();
    lines.flush().unwrap();
    while !scratch.path("back'up").join("pages").exists() {
        assert!(shell.try_wait().unwrap().is_none(), "the shell ended");
        std::thread::sleep(std::time::Duration::from_millis(10));
    }
    ambo(&["backup", db, &scratch.path("other").display().to_string()])
        .fails(3, &["another process", "BACKUP TO in SQL"]);
    drop(lines);
    finish(shell).ok();
    assert_eq!(rows(&backup, "t"), 1);
    ambo(&[db, "-c", "begin; backup to 'x'"]).explains(2, &["BACKUP TO is not done inside of a transaction"]);
}

// Keeps away: a key that opens nothing or everything, and a restored database that is encrypted otherwise than was asked.
#[test]
fn an_encrypted_database_has_its_key() {
    let scratch = Scratch::new();
    let db = &scratch.db();
    let [key, new_key, backup, plain] =
        ["key", "new", "backup", "plain"].map(|name| scratch.path(name).display().to_string());
    ambo(&["new-key", &key]).ok();
    ambo(&["new-key", &new_key]).ok();
    ambo(&[db, "--key-file", &key, "-c", "create table t (id int primary key)"]).ok();
    ambo(&["check", db]).fails(2, &["the database is encrypted"]);
    ambo(&["check", db, "--key-file", &new_key]).fails(2, &["is not the one"]);
    ambo(&["rekey", db, "--key-file", &key, "--new-key-file", &new_key]).ok();
    ambo(&["check", db, "--key-file", &key]).fails(2, &["is not the one"]);
    ambo(&["backup", db, &backup, "--verify", "--key-file", &new_key]).ok();
    ambo(&["restore", &backup, &plain, "--plain", "--key-file", &new_key]).ok();
    assert_sound(&plain);
    let info = ambo(&["info", db, "--json", "--key-file", &new_key]).json();
    assert_eq!(info["data_keys"], 2, "{info}");
}
