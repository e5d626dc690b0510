//! What happens to rows of a table with a filter, step by step.

use std::sync::{
    Arc, OnceLock,
    atomic::{AtomicI64, AtomicU64, Ordering},
};

use ambo_codec::Value as Datum;
use ambo_engine::{
    Error,
    catalog::{IndexDefinition, Retention, TableDefinition, TableOptions},
    database::{Engine, FilteredRow, IndexRange, Options},
    io::sim::{Fault, FaultKind, Op, SimDisk},
};

use super::{STORAGES, below, create, definition, put, with_filter};
use crate::support::{assert_sound, open, small_options};

fn count(engine: &Arc<Engine>) -> u64 {
    let (table, _) = engine.current().catalog.find("t").map(|(id, table)| (id, table.clone())).unwrap();
    engine.snapshot().count(table, None, None).unwrap()
}

// Keeps away: a row that a snapshot had and that it loses, values of unique indexes that nobody has and that are taken, and changes that
// the feed does not tell.
#[test]
fn a_row_is_deleted_as_by_anybody() {
    for storage in STORAGES {
        for is_settled in [false, true] {
            let (disk, bound) = (SimDisk::new(1), Arc::new(AtomicI64::new(0)));
            let (engine, _) = open(&disk.env(), &below(&bound)).unwrap();
            let t = create(&engine, storage);
            let unique = engine.create_index(&IndexDefinition::new("u", "t", &["n"]).unique()).unwrap();
            (0..2500).for_each(|id| put(&engine, &t, id, id));
            if is_settled {
                engine.compact().unwrap();
            }
            let before = engine.snapshot();
            bound.store(2000, Ordering::Relaxed);
            assert_eq!(count(&engine), 2500, "{storage:?}: nothing goes by itself");
            assert_eq!(engine.apply_filters().unwrap(), 2000, "{storage:?}");
            assert_eq!(before.count(t.0, None, None).unwrap(), 2500, "a snapshot keeps what it sees");
            assert_eq!(count(&engine), 500, "{storage:?}");
            let range = |n: &[Datum]| engine.snapshot().index_count(unique, IndexRange::Equal(n)).unwrap();
            assert_eq!((range(&[Datum::I64(7)]), range(&[Datum::I64(2007)])), (0, 1), "{storage:?}");
            bound.store(0, Ordering::Relaxed);
            put(&engine, &t, 9000, 7);
            assert_sound(&engine);
            drop(before);
            engine.compact().unwrap();
            assert_eq!(count(&engine), 501, "{storage:?}");
            assert_sound(&engine);
        }
    }
}

// Keeps away: rows that go where the program does not know the filter, and a filter that is forgotten when it is not there.
#[test]
fn rows_stay_where_the_filter_is_not_registered() {
    for storage in STORAGES.into_iter().filter(|storage| storage.traits().durable) {
        let (disk, bound) = (SimDisk::new(2), Arc::new(AtomicI64::new(5)));
        let (engine, _) = open(&disk.env(), &small_options()).unwrap();
        let t = create(&engine, storage);
        (0..10).for_each(|id| put(&engine, &t, id, id));
        engine.compact().unwrap();
        engine.vacuum().unwrap();
        assert_eq!(engine.apply_filters().unwrap(), 0);
        assert_eq!(count(&engine), 10, "{storage:?}");
        let error = engine.apply_filter_of("t").unwrap_err();
        assert!(matches!(&error, Error::NotFound(what) if what.contains("below")), "{error}");
        let info = engine.info().unwrap().filters;
        assert_eq!((info.len(), &*info[0].filter, info[0].is_registered), (1, "below", false));
        drop(engine);
        let (engine, _) = open(&disk.env(), &below(&bound)).unwrap();
        engine.compact().unwrap();
        assert_eq!(count(&engine), 5, "{storage:?}");
        let info = engine.info().unwrap().filters;
        assert_eq!((info[0].is_registered, info[0].removed, &info[0].error), (true, 5, &None));
        assert_sound(&engine);
    }
}

// Keeps away: rows that go although the filter has failed, a panic that stops the database, and a pass that says nothing of it.
#[test]
fn a_filter_that_fails_removes_nothing() {
    for storage in STORAGES {
        let asked = Arc::new(AtomicU64::new(0));
        let counted = asked.clone();
        let options =
            with_filter(move |row: &FilteredRow<'_>| match counted.fetch_add(1, Ordering::Relaxed) {
                0 => Err(Error::Invalid("it does not know".into())),
                1 => panic!("this is what the test is about"),
                2 => row.get("other").map(|_| false),
                _ => Ok(row.values()?[0] != Datum::I64(3)),
            });
        let disk = SimDisk::new(3);
        let (engine, _) = open(&disk.env(), &options).unwrap();
        let t = create(&engine, storage);
        (0..10).for_each(|id| put(&engine, &t, id, id));
        for said in ["it does not know", "panicked", "column \"other\""] {
            let error = engine.compact().unwrap_err().to_string();
            assert!(error.contains(said) && error.contains("main.t"), "{error}");
            let info = engine.info().unwrap().filters;
            assert!(info[0].error.as_ref().is_some_and(|error| error.contains(said)), "{info:?}");
            assert_eq!(count(&engine), 10, "{storage:?}");
        }
        engine.compact().unwrap();
        assert_eq!((count(&engine), engine.info().unwrap().filters[0].error.clone()), (9, None));
        assert_sound(&engine);
    }
}

// Keeps away: rows that go by a filter that the table has no longer when they do, or as they were before others wrote to them.
#[test]
fn what_changes_while_the_filter_is_asked_holds() {
    for storage in STORAGES {
        let there: Arc<OnceLock<Arc<Engine>>> = Arc::default();
        let (engine_of, asked) = (there.clone(), Arc::new(AtomicU64::new(0)));
        let options = with_filter(move |row: &FilteredRow<'_>| {
            let engine = engine_of.get().expect("it is open");
            match asked.fetch_add(1, Ordering::Relaxed) {
                // The row gets another value that is to stay.
                4 => {
                    let (table, definition) =
                        engine.current().catalog.find("t").map(|(id, of)| (id, of.clone())).unwrap();
                    let format = ambo_engine::database::RowFormat::new(definition).unwrap();
                    put(engine, &(table, format), 2, 1000);
                }
                // Now there is no filter any more.
                30 => engine.alter_table("t", &TableOptions::new().compaction_filter(None)).unwrap(),
                _ => {}
            }
            Ok(matches!(row.get("n")?, Datum::I64(n) if *n >= 10))
        });
        let disk = SimDisk::new(4);
        let (engine, _) = open(&disk.env(), &options).unwrap();
        assert!(there.set(engine.clone()).is_ok());
        let t = create(&engine, storage);
        (0..20).for_each(|id| put(&engine, &t, id, id));
        // The first commit has a conflict with the row that was written, the second with the filter that went.
        assert_eq!(engine.apply_filter_of("t").unwrap(), 0, "{storage:?}");
        assert_eq!(count(&engine), 20, "{storage:?}");
        engine.alter_table("t", &TableOptions::new().compaction_filter("below")).unwrap();
        assert_eq!(engine.apply_filters().unwrap(), 9, "{storage:?}");
        assert_eq!(count(&engine), 11, "{storage:?}");
        assert_sound(&engine);
    }
}

// Keeps away: a pass that loses what it has removed, or removes a part of a commit, where the disk fails in the middle of it.
#[test]
fn a_pass_that_is_cut_off_has_made_whole_commits() {
    let mut seen = std::collections::BTreeSet::new();
    for storage in STORAGES.into_iter().filter(|storage| storage.traits().durable) {
        for after in 0..10 {
            let (disk, bound) = (SimDisk::new(after), Arc::new(AtomicI64::new(0)));
            let options = Options { memtable_bytes: 1 << 20, ..below(&bound) };
            let (engine, _) = open(&disk.env(), &options).unwrap();
            let t = create(&engine, storage);
            engine.create_index(&IndexDefinition::new("i", "t", &["n"])).unwrap();
            (0..5000).for_each(|id| put(&engine, &t, id, id));
            engine.compact().unwrap();
            bound.store(4000, Ordering::Relaxed);
            disk.inject(Fault { op: Op::Write, file_prefix: None, after, kind: FaultKind::Io, once: true });
            let done = engine.apply_filters();
            let crashed = disk.crash();
            drop(engine);
            crashed.clear_faults();
            let (engine, _) = open(&crashed.env(), &options).unwrap();
            let gone = 5000 - count(&engine);
            assert!(gone == 4000 || gone.is_multiple_of(1024), "{storage:?}: {gone} rows");
            assert!(done.is_err() || gone == 4000, "{storage:?}: what was removed has come back");
            seen.insert(gone);
            assert_sound(&engine);
            engine.compact().unwrap();
            assert_eq!(count(&engine), 1000, "{storage:?}");
            assert_sound(&engine);
        }
    }
    assert!(seen.len() > 2, "{seen:?}");
}

// Keeps away: values of key-value tables that a filter sees with what is stored behind them, or does not see.
#[test]
fn values_are_seen_as_they_were_written() {
    for is_stamped in [false, true] {
        let options = with_filter(|row: &FilteredRow<'_>| {
            assert!(row.stored().len() >= 3 && row.stored().starts_with(b"abc"), "{:?}", row.stored());
            assert_eq!(row.values()?.len(), 2);
            Ok(row.stored() != b"abc" && row.key() != b"long")
        });
        let disk = SimDisk::new(5);
        let (engine, _) = open(&disk.env(), &options).unwrap();
        let plain = TableDefinition::key_value("t").compaction_filter("below");
        let hour = Retention { micros: 3_600_000_000 };
        let table = if is_stamped { plain.ttl_of_commits(hour) } else { plain };
        let table = engine.create_table(table).unwrap();
        engine.put(table, b"1", b"abc").unwrap();
        engine.put(table, b"2", b"abcd").unwrap();
        engine.put(table, b"long", &[b"abc", &[7; 50_000][..]].concat()).unwrap();
        engine.put(table, b"longer", &[b"abc", &[8; 50_000][..]].concat()).unwrap();
        engine.compact().unwrap();
        assert_eq!(count(&engine), 2);
        assert!(engine.get(table, b"longer").unwrap().is_some());
        assert_sound(&engine);
    }
}

// Keeps away: options of tables that are lost, or that a table cannot have.
#[test]
fn the_name_is_an_option_of_the_table() {
    let disk = SimDisk::new(6);
    let (engine, _) = open(&disk.env(), &small_options()).unwrap();
    engine.create_table(definition(STORAGES[0])).unwrap();
    let filter = |engine: &Engine| engine.current().catalog.find("t").unwrap().1.compaction_filter.clone();
    engine.alter_table("t", &TableOptions::new().compaction_filter("other")).unwrap();
    engine.alter_table("t", &TableOptions::new().key_compression(None)).unwrap();
    assert_eq!(filter(&engine).as_deref(), Some("other"));
    drop(engine);
    let (engine, _) = open(&disk.env(), &small_options()).unwrap();
    assert_eq!(filter(&engine).as_deref(), Some("other"), "an option outlives the process");
    engine.alter_table("t", &TableOptions::new().compaction_filter(None)).unwrap();
    assert_eq!(filter(&engine), None);
    assert!(matches!(engine.apply_filter_of("t").unwrap_err(), Error::Invalid(_)));
    assert!(engine.info().unwrap().filters.is_empty());
    assert_sound(&engine);
}
