//! What is found at opening: crashes while a database is created, damage, what others have open.

use std::sync::Arc;

use ambo_codec::{Type, integer::IntegerCodec, record::RecordCodec};
use ambo_engine::{
    Error,
    catalog::{TableDefinition, TableOptions},
    database::{Engine, Options, Running, Sync},
    id::TableId,
    io::{
        Disk, Env,
        sim::{Fault, FaultKind, Op, SimDisk},
    },
};

use crate::support::{assert_sound, bytes, open, rows, small_options};

const ROWS: u32 = 400;

fn key(n: u32) -> Vec<u8> {
    format!("key{n:05}").into_bytes()
}

/// A database with rows in pages and, if asked, in the log.
fn filled(disk: &SimDisk, flushed: bool) -> TableId {
    let (engine, _) = open(&disk.env(), &Options { memtable_bytes: 1 << 20, ..small_options() }).unwrap();
    let table = engine.create_table(TableDefinition::key_value("t")).unwrap();
    for n in 0..ROWS {
        engine.put(table, &key(n), &bytes(u64::from(n), 100)).unwrap();
    }
    if flushed {
        engine.compact().unwrap();
    }
    table
}

fn error_of(disk: &SimDisk) -> Error {
    open(&disk.env(), &small_options()).err().expect("it cannot be opened")
}

fn logs(disk: &SimDisk) -> Vec<String> {
    let mut names = disk.list().unwrap();
    names.retain(|name| name.starts_with("log-"));
    names.sort();
    names
}

/// Keeps away: a crash or failure while a database is created that leaves something that cannot be opened.
#[test]
fn creation_can_be_cut_short_anywhere() {
    for op in [
        Op::Create,
        Op::Write,
        Op::SetLen,
        Op::Sync,
        Op::Rename,
        Op::SyncDirectory,
        Op::Read,
        Op::Open,
        Op::List,
    ] {
        for after in 0..12 {
            for crashed in [false, true] {
                let mut disk = SimDisk::new(after);
                disk.inject(Fault { op, file_prefix: None, after, kind: FaultKind::Io, once: false });
                let first = open(&disk.env(), &small_options());
                let worked =
                    first.and_then(|(engine, _)| engine.create_table(TableDefinition::key_value("t")));
                disk.clear_faults();
                if crashed {
                    disk = disk.crash();
                }
                let (engine, _) =
                    open(&disk.env(), &small_options()).unwrap_or_else(|e| panic!("{op:?} {after}: {e}"));
                if worked.is_ok() {
                    assert!(engine.current().catalog.find("t").is_ok(), "{op:?} {after}");
                }
                assert_sound(&engine);
            }
        }
    }
}

/// Keeps away: an empty new database in the place of one whose pages are gone.
#[test]
fn lost_pages_are_not_replaced() {
    let disk = SimDisk::new(1);
    filled(&disk, false);
    disk.remove("pages").unwrap();
    let error = error_of(&disk);
    assert!(matches!(&error, Error::Damaged { file, .. } if file == "pages"), "{error}");

    // Closed in order, it has no log either.
    let disk = SimDisk::new(1);
    let (engine, _) = Engine::open(disk.env(), small_options()).unwrap();
    drop(Running::start(engine).unwrap());
    for name in disk.list().unwrap().iter().filter(|name| *name != "lock") {
        disk.remove(name).unwrap();
    }
    for options in [small_options(), Options { read_only: true, ..small_options() }] {
        let error = open(&disk.env(), &options).err().expect("there is nothing to open");
        assert!(error.to_string().contains("was here"), "{error}");
    }
    disk.remove("lock").unwrap();
    open(&disk.env(), &small_options()).unwrap();
}

/// Keeps away: files of others or of later versions that are opened, or overwritten.
#[test]
fn foreign_and_newer_files_are_refused() {
    let disk = SimDisk::new(1);
    let file = disk.open("pages", ambo_engine::io::OpenMode::Create).unwrap();
    file.write_at(&[b'x'; 20_000], 0).unwrap();
    let error = error_of(&disk);
    assert!(matches!(error, Error::Invalid(_)), "{error}");
    assert_eq!(disk.contents("pages").unwrap(), [b'x'; 20_000]);

    let disk = SimDisk::new(2);
    filled(&disk, true);
    for slot in [0, 4096] {
        let mut copy = disk.contents("pages").unwrap()[slot..slot + 4096].to_vec();
        copy[8..12].copy_from_slice(&2u32.to_le_bytes());
        let crc = crc_fast::checksum(crc_fast::CrcAlgorithm::Crc32Iscsi, &copy[..4092]) as u32;
        copy[4092..].copy_from_slice(&crc.to_le_bytes());
        disk.corrupt("pages", slot as u64, &copy).unwrap();
    }
    let error = error_of(&disk);
    assert!(matches!(error, Error::Invalid(_)) && error.to_string().contains("version 2"), "{error}");
}

/// Keeps away: a lost database because one superblock is; and silence about it.
#[test]
fn one_superblock_is_enough_where_it_is_the_newer() {
    let disk = SimDisk::new(3);
    let table = filled(&disk, true);
    let pages = disk.contents("pages").unwrap();
    let sequence =
        |slot: usize| u64::from_le_bytes(pages[slot * 4096 + 32..slot * 4096 + 40].try_into().unwrap());
    let older = if sequence(0) < sequence(1) { 0 } else { 1 };
    disk.corrupt("pages", older * 4096 + 100, &[0xFF; 8]).unwrap();
    let (engine, report) = open(&disk.env(), &small_options()).unwrap();
    assert!(report.superblock.is_some_and(|what| what.contains("checksum")));
    assert_eq!(rows(&engine.snapshot(), table).unwrap().len(), ROWS as usize);
    drop(engine);

    let disk = SimDisk::new(3);
    filled(&disk, true);
    for slot in [0, 4096] {
        disk.corrupt("pages", slot + 100, &[0xFF; 8]).unwrap();
    }
    let error = error_of(&disk);
    assert!(matches!(&error, Error::Damaged { file, offset: 0, .. } if file == "pages"), "{error}");
}

/// Keeps away: a log with a hole that is read as if it were whole.
#[test]
fn a_missing_log_segment_is_damage() {
    let disk = SimDisk::new(4);
    filled(&disk, false);
    let logs = logs(&disk);
    assert!(logs.len() > 4, "{logs:?}");
    for missing in [&logs[0], &logs[logs.len() / 2]] {
        let disk = SimDisk::new(4);
        filled(&disk, false);
        disk.remove(missing).unwrap();
        let error = error_of(&disk);
        assert!(matches!(&error, Error::Damaged { file, .. } if file.starts_with("log-")), "{error}");
    }
}

/// Keeps away: damage in the log that is taken for its end, so that acknowledged commits are skipped in silence.
#[test]
fn a_flipped_byte_in_the_log_is_named() {
    let disk = SimDisk::new(5);
    filled(&disk, false);
    let name = logs(&disk)[1].clone();
    let len = disk.contents(&name).unwrap().len() as u64;
    for step in 0..40 {
        let disk = SimDisk::new(5);
        filled(&disk, false);
        let before = disk.contents(&name).unwrap();
        let at = len * step / 40;
        disk.corrupt(&name, at, &[before[at as usize] ^ 0x40]).unwrap();
        let harmless = before[at as usize..].iter().all(|byte| *byte == 0);
        match open(&disk.env(), &small_options()) {
            Err(Error::Damaged { file, .. }) => assert_eq!(file, name, "byte {at}"),
            Err(error) => panic!("byte {at}: {error}"),
            // What was reserved behind the last group belongs to nothing.
            Ok((engine, _)) => {
                assert!(harmless, "byte {at} of {name} was flipped, and nobody noticed");
                let (table, _) = engine.current().catalog.find("t").unwrap();
                assert_eq!(rows(&engine.snapshot(), table).unwrap().len(), ROWS as usize);
            }
        }
    }
}

/// Keeps away: a damaged page that is read as something else, a panic, and a check that finds nothing.
#[test]
fn flipped_bytes_in_pages_are_named() {
    let source = SimDisk::new(6);
    let table = filled(&source, true);
    let pages = source.contents("pages").unwrap();
    let used: Vec<usize> =
        (2..pages.len() / 4096).filter(|n| pages[n * 4096..][..4096].iter().any(|b| *b != 0)).collect();
    for page in used {
        let disk = SimDisk::new(6);
        filled(&disk, true);
        let at = page * 4096 + 1000 * (page % 4) + 5;
        disk.corrupt("pages", at as u64, &[pages[at] ^ 1]).unwrap();
        match open(&disk.env(), &small_options()) {
            Err(Error::Damaged { file, offset, .. }) => {
                assert_eq!((file.as_str(), offset as usize / 4096), ("pages", page));
            }
            Err(error) => panic!("page {page}: {error}"),
            Ok((engine, _)) => {
                let report = engine.check().unwrap();
                let read = rows(&engine.snapshot(), table);
                match read {
                    Err(Error::Damaged { file, offset, .. }) => {
                        assert_eq!((file.as_str(), offset as usize / 4096), ("pages", page));
                        assert!(!report.is_sound(), "page {page}");
                        assert!(
                            report.problems.iter().any(|what| what.contains(&format!("page {page}"))),
                            "{report:?}"
                        );
                    }
                    Err(error) => panic!("page {page}: {error}"),
                    // A page that was freed before.
                    Ok(read) => assert_eq!(read.len(), ROWS as usize),
                }
            }
        }
    }
}

/// Keeps away: a first writer that waits for ever because the log alone fills the budget.
#[test]
fn a_log_larger_than_the_budget_is_flushed() {
    for sync in [Sync::Commit, Sync::Off] {
        let disk = SimDisk::new(11);
        let large = Options { memtable_bytes: 4 << 20, sync, ..small_options() };
        let (engine, _) = open(&disk.env(), &large).unwrap();
        let table = engine.create_table(TableDefinition::key_value("t")).unwrap();
        for n in 0..2000 {
            engine.put(table, &key(n), &bytes(u64::from(n), 200)).unwrap();
        }
        drop(engine);
        let (engine, report) = open(&disk.env(), &Options { sync, ..small_options() }).unwrap();
        assert_eq!(report.transactions, 2001);
        engine.put(table, b"one more", b"").unwrap();
        assert!(engine.info().unwrap().memtable_bytes < 64 << 10);
        assert_eq!(rows(&engine.snapshot(), table).unwrap().len(), 2001);
        assert_sound(&engine);
    }
}

/// Keeps away: two writers of one database.
#[test]
fn opened_twice_is_in_use() {
    let disk = SimDisk::new(7);
    let first = open(&disk.env(), &small_options()).unwrap();
    assert!(matches!(open(&disk.env(), &small_options()), Err(Error::InUse(_))));
    drop(first);
    open(&disk.env(), &small_options()).unwrap();

    let directory = tempfile::tempdir().unwrap();
    let env = Env::os(directory.path(), true).unwrap();
    let _first = open(&env, &small_options()).unwrap();
    assert!(matches!(open(&env, &small_options()), Err(Error::InUse(_))));
}

/// Keeps away: a reader that needs to write, that writes, or that keeps other readers out.
#[test]
fn read_only_reads_and_changes_nothing() {
    for flushed in [false, true] {
        let disk = SimDisk::new(8);
        let table = filled(&disk, flushed);
        let before: Vec<_> =
            disk.list().unwrap().into_iter().map(|name| (disk.contents(&name).unwrap(), name)).collect();
        let options = Options { read_only: true, ..small_options() };
        let readers: Vec<Arc<Engine>> = (0..2).map(|_| open(&disk.env(), &options).unwrap().0).collect();
        for engine in &readers {
            assert_eq!(rows(&engine.snapshot(), table).unwrap().len(), ROWS as usize);
            assert_eq!(engine.get(table, &key(7)).unwrap().unwrap(), bytes(7, 100));
            assert!(matches!(engine.put(table, b"x", b"y"), Err(Error::Invalid(_))));
            assert!(matches!(engine.create_table(TableDefinition::key_value("u")), Err(Error::Invalid(_))));
            assert!(matches!(engine.flush(), Err(Error::Invalid(_))));
            assert_sound(engine);
            engine.info().unwrap();
        }
        drop(readers);
        let after: Vec<_> =
            disk.list().unwrap().into_iter().map(|name| (disk.contents(&name).unwrap(), name)).collect();
        assert!(before == after, "a reader has written");
    }
    let options = Options { read_only: true, ..small_options() };
    assert!(matches!(open(&SimDisk::new(9).env(), &options), Err(Error::NotFound(_))));
    let options = Options { create: false, ..small_options() };
    assert!(matches!(open(&SimDisk::new(9).env(), &options), Err(Error::NotFound(_))));
}

/// Keeps away: a closed database that has something to replay, and a report that hides it when it was not closed.
#[test]
fn the_report_says_how_it_was_left() {
    for sync in [Sync::Commit, Sync::Off] {
        let disk = SimDisk::new(10);
        let options = Options { sync, ..small_options() };
        let (engine, report) = Engine::open(disk.env(), options.clone()).unwrap();
        assert!(report.created);
        let running = Running::start(engine).unwrap();
        let table = running.engine().create_table(TableDefinition::key_value("t")).unwrap();
        running.engine().put(table, b"k", b"v").unwrap();
        drop(running);
        let (engine, report) = open(&disk.env(), &options).unwrap();
        assert!(!report.created && report.is_clean(), "{report:?}");
        engine.put(table, b"k", b"w").unwrap();
        drop(engine);
        let (engine, report) = open(&disk.env(), &options).unwrap();
        assert!(!report.is_clean() && report.transactions == 1, "{report:?}");
        assert_eq!(engine.get(table, b"k").unwrap().unwrap(), b"w");
    }
}

/// Keeps away: a file that grows with every rewriting while somebody reads for long.
#[test]
fn a_long_reader_keeps_only_what_it_sees() {
    let disk = SimDisk::new(12);
    let table = filled(&disk, true);
    let (engine, _) = open(&disk.env(), &small_options()).unwrap();
    let reader = engine.snapshot();
    let used = || engine.info().unwrap().pages.used_pages;
    let before = used();
    for round in 1..20 {
        for n in 0..ROWS {
            engine.put(table, &key(n), &bytes(u64::from(n + round), 100)).unwrap();
        }
        engine.compact().unwrap();
    }
    assert!(used() < before * 5, "{} pages are in use, {before} were", used());
    let expected: Vec<_> = (0..ROWS).map(|n| (key(n), bytes(u64::from(n), 100))).collect();
    assert!(rows(&reader, table).unwrap() == expected);
    drop(reader);
    engine.vacuum().unwrap();
    assert!(used() < before * 2, "{} pages are in use, {before} were", used());
    assert_sound(&engine);
}

/// Keeps away: options that are lost with the log or with the checkpoint, and a change of what cannot be.
#[test]
fn changed_options_are_there_after_a_crash() {
    let of = |engine: &Engine| {
        let catalog = engine.current().catalog.clone();
        let (_, table) = catalog.find("n").unwrap();
        (table.key_compression, table.record_compression, table.record_dictionary)
    };
    let zstd = Some(RecordCodec::Zstd { level: 9 });
    for flushed in [false, true] {
        let disk = SimDisk::new(13);
        let (engine, _) = open(&disk.env(), &small_options()).unwrap();
        let numbers = TableDefinition::new("n").column("k", Type::U32).primary_key(&["k"]);
        engine.create_table(numbers.key_compression(IntegerCodec::Bp128)).unwrap();
        let change = TableOptions::new().record_compression(zstd).record_dictionary(true);
        engine.alter_table("n", &change).unwrap();
        if flushed {
            engine.flush().unwrap();
        }
        drop(engine);
        let disk = disk.crash();
        let (engine, _) = open(&disk.env(), &small_options()).unwrap();
        assert_eq!(of(&engine), (Some(IntegerCodec::Bp128), zstd, true));
        engine.alter_table("n", &TableOptions::new().record_compression(RecordCodec::Lz4)).unwrap();
        assert_eq!(of(&engine), (Some(IntegerCodec::Bp128), Some(RecordCodec::Lz4), false));
        engine.create_table(TableDefinition::key_value("t")).unwrap();
        let error = engine.alter_table("t", &TableOptions::new().key_compression(IntegerCodec::For));
        assert!(matches!(error, Err(Error::Invalid(_))), "{error:?}");
        let error = engine.alter_table("m", &TableOptions::new());
        assert!(matches!(error, Err(Error::NotFound(_))), "{error:?}");
    }
}
