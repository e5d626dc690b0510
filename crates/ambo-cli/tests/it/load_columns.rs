//! load into column tables, from text and Parquet, by several threads.

use std::fmt::Write;
use std::fs::File;
use std::io::Write as _;
use std::sync::Arc;

use arrow_array::{
    ArrayRef, Date32Array, Decimal128Array, DictionaryArray, Float64Array, Int64Array, RecordBatch,
    StringArray, TimestampMillisecondArray, types::Int32Type,
};
use parquet::arrow::ArrowWriter;
use parquet::file::properties::WriterProperties;

use crate::program::{Scratch, ambo, assert_sound, rows};

const ROWS: i64 = 20_000;

/// Ids in an order of their own.
fn shuffled(row: i64) -> i64 {
    row * 7919 % ROWS
}

fn batch(ids: impl Iterator<Item = i64>) -> RecordBatch {
    let ids: Vec<i64> = ids.collect();
    let notes = ids.iter().map(|id| (id % 5 != 0).then(|| format!("note {}", id % 97)));
    let kinds: DictionaryArray<Int32Type> =
        ids.iter().map(|id| Some(["a", "bb", "ccc"][*id as usize % 3])).collect();
    let prices: Decimal128Array = ids.iter().map(|id| Some(i128::from(*id) * 25)).collect();
    let columns: [(&str, ArrayRef); 7] = [
        ("id", Arc::new(Int64Array::from(ids.clone()))),
        ("note", Arc::new(notes.collect::<StringArray>())),
        ("kind", Arc::new(kinds)),
        ("price", Arc::new(prices.with_precision_and_scale(12, 2).unwrap())),
        ("day", Arc::new(ids.iter().map(|id| Some(*id as i32)).collect::<Date32Array>())),
        ("seen", Arc::new(ids.iter().map(|id| Some(id * 1000)).collect::<TimestampMillisecondArray>())),
        ("share", Arc::new(ids.iter().map(|id| Some(*id as f64 / 4.0)).collect::<Float64Array>())),
    ];
    RecordBatch::try_from_iter(columns).unwrap()
}

/// A Parquet file of row groups of 1,000 rows.
fn parquet(scratch: &Scratch, name: &str, ids: impl Iterator<Item = i64>) -> String {
    let path = scratch.path(name);
    let batch = batch(ids);
    let properties = WriterProperties::builder().set_max_row_group_row_count(Some(1000)).build();
    let mut writer =
        ArrowWriter::try_new(File::create(&path).unwrap(), batch.schema(), Some(properties)).unwrap();
    writer.write(&batch).unwrap();
    writer.close().unwrap();
    path.display().to_string()
}

fn segments(scratch: &Scratch) -> usize {
    let entries = std::fs::read_dir(scratch.path("db")).unwrap();
    entries
        .filter(|entry| entry.as_ref().unwrap().file_name().to_string_lossy().starts_with("segment-"))
        .count()
}

// Keeps away: a value, NULL or row that is other in Parquet, in text, or in another storage.
#[test]
fn the_same_rows_from_all_forms() {
    let scratch = Scratch::new();
    let db = &scratch.db();
    let file = parquet(&scratch, "p.parquet", (0..ROWS).map(shuffled));
    let report = ambo(&["load", db, &file, "--key", "id", "--storage", "column", "--json"]).json();
    assert_eq!(
        (&report["rows"], &report["skipped"], &report["replaced"]),
        (&ROWS.into(), &0.into(), &0.into())
    );
    let schema = "id:bigint,note:text?,kind:text,price:decimal(12,2),day:date,seen:timestamp,share:double";
    assert_eq!(report["schema"], schema);
    assert!(segments(&scratch) > 0);
    let dump = ambo(&["dump", db, "-t", "p"]).ok();
    assert_eq!(dump.lines().count() as i64, ROWS + 1);
    assert_eq!(dump.lines().nth(8), Some("7,note 7,bb,1.75,1970-01-08,1970-01-01 00:00:07,1.75"));
    assert_eq!(dump.lines().nth(6), Some("5,,ccc,1.25,1970-01-06,1970-01-01 00:00:05,1.25"));

    // The name says nothing; the content does.
    std::fs::rename(&file, scratch.path("unnamed")).unwrap();
    ambo(&["load", db, &scratch.path("unnamed").display().to_string(), "-t", "rows", "--key", "id"]).ok();
    assert_eq!(ambo(&["dump", db, "-t", "rows"]).ok(), dump);

    let json = ambo(&["dump", db, "-t", "p", "--json"]).ok();
    let mut gzip = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
    gzip.write_all(dump.as_bytes()).unwrap();
    let gzip = gzip.finish().unwrap();
    for (name, bytes) in [("c.csv", dump.as_bytes()), ("j.jsonl", json.as_bytes()), ("z.csv.gz", &gzip)] {
        let file = scratch.file(name, bytes);
        let load = ["load", db, &file, "--key", "id", "--storage", "column", "--schema", schema];
        ambo(&load).ok();
        assert_eq!(ambo(&["dump", db, "-t", &name[..1]]).ok(), dump, "{name}");
    }
    assert_sound(db);
}

// Keeps away: a load of several files that is half there, and rows of the same key that are not noticed across them.
#[test]
fn several_files_are_one_load() {
    let scratch = Scratch::new();
    let db = &scratch.db();
    let first = &parquet(&scratch, "a.parquet", 0..3000);
    let second = &parquet(&scratch, "b.parquet", 2999..5000);
    let load = ["load", db, first, second, "--key", "id", "--storage", "column", "-t", "t"];
    ambo(&load).fails(2, &["(2999)", "--replace", "table t was not made"]);
    assert_eq!(segments(&scratch), 0);
    ambo(&["info", db, "-t", "t"]).fails(1, &["not found"]);
    let skipping = ambo(&[&load[..], &["--on-error", "skip"]].concat());
    assert!(skipping.ok().contains("1 records skipped"));
    assert_eq!(rows(db, "t"), 5000);
    ambo(&["load", db, first, "-t", "t"]).fails(2, &["exists already", "nothing of it is in table t"]);
    let replacing = ambo(&["load", db, first, second, "-t", "t", "--replace", "--json"]).json();
    assert_eq!((&replacing["rows"], &replacing["replaced"]), (&5000.into(), &5000.into()));
    assert_eq!(rows(db, "t"), 5000);
    // A table of rows takes several files, too.
    ambo(&["load", db, first, &parquet(&scratch, "c.parquet", 3000..3500), "--key", "id", "-t", "r"]).ok();
    assert_eq!(rows(db, "r"), 3500);
    assert_sound(db);
}

// Keeps away: another bad line than the first one named, wrong line numbers where the file was cut, records lost or doubled there.
#[test]
fn text_is_read_in_pieces() {
    let scratch = Scratch::new();
    let db = &scratch.db();
    let count = 60_000;
    let line =
        |id: u64| format!("{id},\"two\nlines, \"\"{}\"\"\",{}\n", id % 10, "x".repeat(id as usize % 100));
    let good: String = (0..count).fold(String::from("id,words,pad\n"), |text, id| text + &line(id));
    assert!(good.len() > 4 << 20, "several pieces");
    let load = |name: &str, text: &str, more: &[&str]| {
        let file = scratch.file(name, text);
        let schema = ["--schema", "id:bigint,words:text,pad:text", "--key", "id", "--storage", "column"];
        ambo(&[&["load", db, &file], &schema[..], more].concat())
    };
    load("good.csv", &good, &[]).ok();
    assert_eq!(ambo(&["dump", db, "-t", "good"]).ok(), good.replace(",\n", ",\"\"\n"));
    let mut bad = good.clone();
    let line_of = 2 * count + 2;
    write!(bad, "bad,a,b\n{}worse\n", line(count)).unwrap();
    load("bad.csv", &bad, &[]).fails(2, &[&format!("line {line_of}, column \"id\": 'bad'"), "was not made"]);
    let early = bad.replacen("\n500,", "\nfive,", 1);
    load("early.csv", &early, &[]).fails(2, &["line 1002, column \"id\": 'five'", "was not made"]);
    let skipped = load("skipped.csv", &early, &["--on-error", "skip"]);
    assert!(
        skipped.err.contains("line 1002, ") && skipped.err.contains(&format!("line {line_of}, ")),
        "{skipped:?}"
    );
    assert!(skipped.ok().contains("3 records skipped"));
    assert_eq!(rows(db, "skipped"), count);
    assert_sound(db);
}

// Keeps away: a panic, a hang, or a part of a file in the table, whatever is in the file.
#[test]
fn hostile_parquet() {
    let scratch = Scratch::new();
    let db = &scratch.db();
    let file = parquet(&scratch, "t.parquet", 0..2500);
    let good = std::fs::read(&file).unwrap();
    let mut state = 1u64;
    let mut next = || {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
        (state >> 33) as usize
    };
    for round in 0..40 {
        let mut bytes = good.clone();
        match round % 4 {
            0 => bytes.truncate(next() % good.len()),
            // The end, where the file says what is in it.
            1 => {
                let at = good.len() - 1 - next() % 2000;
                bytes[at] ^= 1 << (next() % 8);
            }
            _ => {
                let at = next() % good.len();
                bytes[at] = next() as u8;
            }
        }
        let name = format!("h{round}.parquet");
        let file = scratch.file(&name, bytes);
        let load = ambo(&[
            "load",
            db,
            &file,
            "--format",
            "parquet",
            "-t",
            "h",
            "--key",
            "id",
            "--storage",
            "column",
        ]);
        match load.code {
            Some(0) => {
                assert!(rows(db, "h") <= 2500);
                ambo(&["load", db, "--help"]).ok();
                ambo(&[db, "-c", ".drop h"]).ok();
            }
            Some(2) => assert!(load.err.contains(&name) || load.err.contains("key"), "{load:?}"),
            _ => panic!("round {round}: {load:?}"),
        }
    }
    assert_sound(db);
    assert_eq!(segments(&scratch), 0);
}
