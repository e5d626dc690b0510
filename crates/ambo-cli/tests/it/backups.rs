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

// Keeps away: a way back that ends elsewhere than at the commit or the time that was asked for.
#[test]
fn back_to_any_moment() {
    let scratch = Scratch::new();
    let db = &scratch.db();
    let [backup, archive, to_commit, to_time, to_end, late] =
        ["backup", "archive", "commit", "time", "end", "late"]
            .map(|name| scratch.path(name).display().to_string());
    ambo(&[db, "-c", "create table t (id int primary key, n int)"]).ok();
    ambo(&["archive", db]).fails(2, &["the log is not archived"]);
    let said = ambo(&["archive", db, &archive]).ok();
    assert!(said.contains("archived up to commit"), "{said}");
    ambo(&["backup", db, &backup]).ok();
    ambo(&[db, "-c", "insert into t select value, value from generate_series(1, 100) as s(value)"]).ok();
    let first = ambo(&["archive", db, "--json"]).json();
    std::thread::sleep(std::time::Duration::from_millis(20));
    let between = ambo(&[db, "--csv", "-c", "select now() at time zone 'UTC'"]).ok();
    let between = between.lines().last().unwrap().to_owned();
    std::thread::sleep(std::time::Duration::from_millis(20));
    ambo(&[db, "-c", "delete from t where id > 10"]).ok();
    let last = ambo(&["archive", db, "--json"]).json();
    assert!(last["timestamp"].as_u64() > first["timestamp"].as_u64(), "{first} {last}");
    let commit = first["timestamp"].to_string();
    ambo(&["restore", &backup, &to_commit, "--archive", &archive, "--to-commit", &commit]).ok();
    assert_eq!(rows(&to_commit, "t"), 100);
    ambo(&["restore", &backup, &to_time, "--archive", &archive, "--to", &between]).ok();
    assert_eq!(rows(&to_time, "t"), 100);
    let made = ambo(&["restore", &backup, &to_end, "--archive", &archive, "--json"]).json();
    assert_eq!(made["timestamp"], last["timestamp"], "{made}");
    assert_eq!(rows(&to_end, "t"), 10);
    for restored in [&to_commit, &to_time, &to_end] {
        assert_sound(restored);
    }
    let to_late = |time: &str| ambo(&["restore", &backup, &late, "--archive", &archive, "--to", time]);
    to_late("2999-01-01").fails(2, &["the archive ends before that time"]);
    to_late("2001-01-01").fails(2, &["the time is before the first commit behind the backup"]);
    to_late("soon").fails(2, &["a time such as"]);
    let lacking = ambo(&["restore", &backup, &late, "--to-commit", "5"]);
    assert!(lacking.code == Some(2) && lacking.err.contains("--archive <DIR>"), "{lacking:?}");
    let info = ambo(&["info", db]).ok();
    assert!(info.contains("archive of the log"), "{info}");
    ambo(&["archive", db, "--stop"]).ok();
    ambo(&["archive", db]).fails(2, &["the log is not archived"]);
}
