//! Loads that are interrupted: politely by Ctrl-C, and by kill -9.

use std::fmt::Write;
use std::fs::File;
use std::os::unix::fs::FileExt;
use std::process::Child;
use std::time::{Duration, Instant};

use crate::program::{Scratch, ambo, assert_sound, command, finish, rows};

const BATCH: u64 = 500;

/// A file that takes longer to load than a test should run.
fn long_file(scratch: &Scratch) -> String {
    let mut text = String::from("id,words,number\n");
    for id in 0..1_000_000 {
        writeln!(text, "{id},some words for line {id},{}", id * 3).unwrap();
    }
    scratch.file("long.csv", text)
}

/// A load that has begun to write.
fn loading(scratch: &Scratch) -> Child {
    loading_into(scratch, &long_file(scratch), &["--key", "id"])
}

fn loading_into(scratch: &Scratch, file: &str, more: &[&str]) -> Child {
    let (db, batch) = (scratch.db(), BATCH.to_string());
    let words = [
        "load",
        &db,
        file,
        "--table",
        "t",
        "--schema",
        "id:bigint,words:text,number:bigint",
        "--batch",
        &batch,
    ];
    let child = command(&[&words, more].concat()).spawn().unwrap();
    let start = Instant::now();
    // The log grows as batches are committed.
    while !log_is_used(scratch) {
        assert!(start.elapsed() < Duration::from_secs(30), "the load does not begin");
        std::thread::sleep(Duration::from_millis(5));
    }
    child
}

/// Whether a log file has something written behind its beginning; its length says nothing, as it may grow in advance.
fn log_is_used(scratch: &Scratch) -> bool {
    let Ok(entries) = std::fs::read_dir(scratch.path("db")) else { return false };
    let logs = entries
        .filter_map(Result::ok)
        .filter(|entry| entry.file_name().to_string_lossy().starts_with("log-"));
    logs.filter_map(|entry| File::open(entry.path()).ok()).any(|log| {
        let mut bytes = [0; 64];
        log.read_exact_at(&mut bytes, 200_000).is_ok() && bytes.iter().any(|&byte| byte != 0)
    })
}

fn kill(child: &Child, signal: &str) {
    let status = std::process::Command::new("kill").args([signal, &child.id().to_string()]).status().unwrap();
    assert!(status.success());
}

// Keeps away: a load that Ctrl-C leaves half done, or a report that does not agree with the table.
#[test]
fn control_c_keeps_whole_batches() {
    let scratch = Scratch::new();
    let child = loading(&scratch);
    kill(&child, "-INT");
    let outcome = finish(child);
    assert_eq!(outcome.code, Some(130), "{outcome:?}");
    let said: String =
        outcome.err.split("Ctrl-C: ").nth(1).unwrap().split(' ').next().unwrap().replace(',', "");
    let found = rows(&scratch.db(), "t");
    assert_eq!(found.to_string(), said, "{outcome:?}");
    assert!(found > 0 && found < 1_000_000 && found.is_multiple_of(BATCH), "{found}");
    // It goes on where it was: what is there is refused, the rest can be loaded.
    ambo(&["get", &scratch.db(), &(found - 1).to_string()]).ok();
    ambo(&["get", &scratch.db(), &found.to_string()]).fails(1, &["not found"]);
    assert_sound(&scratch.db());
}

// Keeps away: a killed load that tears a batch or damages the database.
#[test]
fn kill_9_keeps_whole_batches() {
    let scratch = Scratch::new();
    let child = loading(&scratch);
    kill(&child, "-KILL");
    assert_eq!(finish(child).code, None);
    assert_sound(&scratch.db());
    let found = rows(&scratch.db(), "t");
    assert!(found > 0 && found.is_multiple_of(BATCH), "{found}");
    let ids = ambo(&["scan", &scratch.db(), "--reverse", "-n", "1"]).ok();
    assert!(ids.starts_with(&format!("{}\t", found - 1)), "{ids}");
}

// Keeps away: hidden row numbers that are given a second time after a crash, so that new rows overwrite old ones.
#[test]
fn row_numbers_go_on_after_kill_9() {
    let scratch = Scratch::new();
    let (db, file) = (&scratch.db(), long_file(&scratch));
    let child = loading_into(&scratch, &file, &[]);
    kill(&child, "-KILL");
    finish(child);
    let before = rows(db, "t");
    assert!(before > 0);
    ambo(&["load", db, &scratch.file("more.csv", "id,words,number\n-1,more,0\n-2,more,0\n"), "--table", "t"])
        .ok();
    assert_eq!(rows(db, "t"), before + 2);
    assert!(ambo(&["scan", db, "--reverse", "-n", "1"]).ok().starts_with("-2\t"));
    assert_sound(db);
}

/// A load into a column table that has written a segment.
fn loading_columns(scratch: &Scratch) -> Child {
    let (db, file) = (scratch.db(), long_file(scratch));
    let schema = "id:bigint,words:text,number:bigint";
    let words =
        ["load", &db, &file, "--table", "c", "--schema", schema, "--key", "id", "--storage", "column"];
    let child = command(&words).spawn().unwrap();
    let start = Instant::now();
    while segments(scratch) == 0 {
        assert!(start.elapsed() < Duration::from_secs(30), "the load does not begin");
        std::thread::sleep(Duration::from_millis(1));
    }
    child
}

fn segments(scratch: &Scratch) -> usize {
    let Ok(entries) = std::fs::read_dir(scratch.path("db")) else { return 0 };
    let names = entries.filter_map(Result::ok).map(|entry| entry.file_name());
    names.filter(|name| name.to_string_lossy().starts_with("segment-")).count()
}

// Keeps away: a load of columns that leaves rows, files or an empty table when it is stopped, and does not say so.
#[test]
fn stopped_loads_of_columns_leave_nothing() {
    let scratch = Scratch::new();
    let db = &scratch.db();
    let child = loading_columns(&scratch);
    kill(&child, "-INT");
    let outcome = finish(child);
    assert_eq!(outcome.code, Some(130), "{outcome:?}");
    assert!(outcome.err.contains("stopped by Ctrl-C: nothing of it was loaded"), "{outcome:?}");
    assert_eq!(segments(&scratch), 0);
    ambo(&["info", db, "-t", "c"]).fails(1, &["not found"]);
    assert_sound(db);

    let child = loading_columns(&scratch);
    kill(&child, "-KILL");
    assert_eq!(finish(child).code, None);
    assert_sound(db);
    assert_eq!(rows(db, "c"), 0);
    ambo(&["vacuum", db]).ok();
    assert_eq!(segments(&scratch), 0, "files that no checkpoint knows go when the database is opened");
    let file = scratch.path("long.csv").display().to_string();
    assert!(ambo(&["load", db, &file, "-t", "c"]).ok().contains("1,000,000 rows"));
    assert_eq!(rows(db, "c"), 1_000_000);
    assert_sound(db);
}

// Keeps away: a script that goes on with a statement of hours after a polite kill, as of `timeout`.
#[test]
fn a_polite_kill_ends_the_statement_of_a_script() {
    for signal in ["-INT", "-TERM"] {
        let scratch = Scratch::new();
        let numbers = "generate_series(1, 1000000)";
        let sql = format!(
            "create table t (k bigint primary key); insert into t values (1);
             select count(*) from {numbers} a(x), {numbers} b(x) where a.x * b.x = 7 and a.x + b.x < 0;"
        );
        let child = command(&[&scratch.db(), "-c", &sql]).spawn().unwrap();
        let start = Instant::now();
        while !scratch.path("db").is_dir() || start.elapsed() < Duration::from_secs(1) {
            assert!(start.elapsed() < Duration::from_secs(30), "the script does not begin");
            std::thread::sleep(Duration::from_millis(5));
        }
        kill(&child, signal);
        let asked = Instant::now();
        let outcome = finish(child);
        assert!(asked.elapsed() < Duration::from_secs(20), "{signal}: {:?}", asked.elapsed());
        assert_eq!(outcome.code, Some(130), "{outcome:?}");
        assert_sound(&scratch.db());
    }
}
