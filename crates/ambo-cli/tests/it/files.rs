//! load, dump, .import and .export have the reader and the writer of SQL.

use std::io::Write;

use crate::program::{Scratch, ambo, assert_sound, exists, rows};

// Keeps away: an empty text that is NULL when it is read back, bytes that are others, digits that are lost, by any of the commands.
#[test]
fn what_is_written_is_read_back() {
    let scratch = Scratch::new();
    let db = &scratch.db();
    let columns = "id int primary key, s text, b blob, d decimal(30, 10), f double";
    let script = format!(
        "create table t ({columns}); create table u ({columns}) storage = column;
         insert into t values (1, '', '', 12345678901234567890.0123456789, 'NaN'), (2, null, null, null, null), (3, 'NULL', 'a\"b,c', -1, 0.1);"
    );
    ambo(&[db, "-c", &script]).ok();
    let all = ambo(&[db, "-c", "select *, s is null, b is null from t order by id"]).ok();
    for name in ["d.csv", "d.tsv", "d.csv.gz", "d.jsonl", "d.jsonl.zst", "d.parquet"] {
        let dumped = scratch.path(&format!("dump.{name}")).display().to_string();
        let exported = scratch.path(&format!("export.{name}")).display().to_string();
        ambo(&["dump", db, "-t", "t", "--output", &dumped]).ok();
        ambo(&[db, "-c", &format!(".export {exported} t")]).ok();
        for file in [&dumped, &exported] {
            for door in [format!(".import {file} u"), format!("copy u from '{file}'")] {
                ambo(&[db, "-c", &door]).ok();
                let found = ambo(&[db, "-c", "select *, s is null, b is null from u order by id"]).ok();
                assert_eq!(found, all, "{door}");
                ambo(&[db, "-c", "delete from u"]).ok();
            }
        }
    }
    let csv = ambo(&["dump", db, "-t", "t"]).ok();
    assert_eq!(csv.lines().nth(1), Some("1,\"\",\"\",12345678901234567890.0123456789,NaN"));
    assert_eq!(csv.lines().nth(2), Some("2,,,,"));
    assert_eq!(ambo(&[db, "--csv", "-c", "select * from t order by id"]).ok(), csv);
    ambo(&["dump", db, "-t", "t", "--format", "parquet"]).fails(2, &["--output"]);
    ambo(&["dump", db, "-t", "t", "--output", "/dev/null"]).ok();
    assert!(std::fs::metadata("/dev/null").is_ok_and(|there| !there.is_file()));
    assert_sound(db);
}

// Keeps away: a rest of a file that is taken for a field, and a table that is left behind by a load of nothing.
#[test]
fn an_open_quote_is_an_error() {
    let scratch = Scratch::new();
    let db = &scratch.db();
    let file = scratch.file("open.csv", "id,name\n1,a\n2,\"never ends\n3,c\n");
    for storage in ["column", "btree"] {
        let load = ["load", db, &file, "--schema", "id:int,name:text", "--storage", storage];
        ambo(&load).fails(2, &["open.csv: line 3: a quote is opened", "table open was not made"]);
        let skipping = ambo(&[&load[..], &["--on-error", "skip"]].concat());
        assert!(skipping.err.contains("line 3: a quote is opened and never closed; skipped"), "{skipping:?}");
        skipping.ok();
        assert_eq!(rows(db, "open"), 2);
        ambo(&[db, "-c", "drop table open"]).ok();
    }
    let mut cut = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
    cut.write_all("id\n1\n2\n".repeat(1000).as_bytes()).unwrap();
    let mut cut = cut.finish().unwrap();
    cut.truncate(cut.len() / 2);
    let file = scratch.file("cut.csv.gz", cut);
    ambo(&["load", db, &file]).fails(2, &["cut.csv.gz: "]);
    assert!(exists(db));
    assert_sound(db);
}
