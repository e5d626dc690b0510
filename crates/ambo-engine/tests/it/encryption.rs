//! Encrypted databases: what is on the disk, who may open it, and what becomes of other keys.

use std::sync::Arc;

use ambo_codec::{Type, Value as Datum};
use ambo_engine::{
    Error,
    catalog::{Storage, TableDefinition},
    database::{Engine, LoadOptions, Options, RestoredKey},
    id::{TableId, Timestamp},
    io::{
        Disk, OpenMode,
        sim::{Fault, FaultKind, Op, SimDisk},
    },
    seal::{Key, KeySource},
};

use crate::{
    loads::columns,
    support::{Random, assert_sound, bytes, open, rows, small_options},
};

/// What is looked for in the files: in values, in names of tables, and in the log.
const MARKER: &str = "the-marker-that-nobody-may-read";

fn key(byte: u8) -> KeySource {
    Key::new([byte; 32]).into()
}

fn options(key: Option<KeySource>) -> Options {
    Options { key, keep_log_bytes: 1 << 20, ..small_options() }
}

fn as_disk(disk: &SimDisk) -> Arc<dyn Disk> {
    Arc::new(disk.clone())
}

/// A database with rows in trees, segments, extents and the log.
fn fill(engine: &Arc<Engine>) -> Vec<TableId> {
    let pairs = engine.create_table(TableDefinition::key_value(format!("{MARKER}-pairs"))).unwrap();
    let of_columns = |name: &str, storage| {
        TableDefinition::new(name).column("id", Type::I64).column("text", Type::Utf8).storage(storage)
    };
    let segments = engine.create_table(of_columns("segments", Storage::Column).primary_key(&["id"])).unwrap();
    let extents = TableDefinition::new("extents").column("a", Type::I64).column("b", Type::I64);
    let extents = engine.create_table(extents.storage(Storage::Append)).unwrap();
    let load = |table: TableId, rows: &[Vec<Datum>]| {
        let definition = engine.current().catalog.table(table).unwrap().clone();
        let load = engine.column_load(table, LoadOptions::default()).unwrap();
        let mut writer = load.writer();
        writer.push(columns(&definition, rows)).unwrap();
        writer.finish().unwrap();
        load.finish().unwrap();
    };
    let text = |id: i64| Datum::Utf8(format!("{MARKER} {id}"));
    load(segments, &(0..400).map(|id| vec![Datum::I64(id), text(id)]).collect::<Vec<_>>());
    // Eight letters of it are a number.
    let number = i64::from_le_bytes(MARKER.as_bytes()[..8].try_into().unwrap());
    load(extents, &(0..400).map(|id| vec![Datum::I64(id), Datum::I64(number)]).collect::<Vec<_>>());
    for id in 0..300u64 {
        let long = if id % 50 == 0 { 30_000 } else { 50 };
        let value = [MARKER.as_bytes(), &bytes(id, long)].concat();
        engine.put(pairs, &id.to_be_bytes(), &value).unwrap();
    }
    engine.flush().unwrap();
    for id in 300..320u64 {
        engine.put(pairs, &id.to_be_bytes(), MARKER.as_bytes()).unwrap();
    }
    vec![pairs, segments, extents]
}

fn all_rows(engine: &Arc<Engine>, tables: &[TableId]) -> Vec<Vec<(Vec<u8>, Vec<u8>)>> {
    let snapshot = engine.snapshot();
    tables.iter().map(|table| rows(&snapshot, *table).unwrap()).collect()
}

fn files(disk: &SimDisk) -> Vec<(String, Vec<u8>)> {
    let names = disk.list().unwrap();
    names.into_iter().map(|name| (name.clone(), disk.contents(&name).unwrap())).collect()
}

/// How often the marker's first eight letters are in a file.
fn marked(disk: &SimDisk) -> usize {
    let part = &MARKER.as_bytes()[..8];
    let count = |bytes: &[u8]| bytes.windows(part.len()).filter(|window| *window == part).count();
    files(disk).iter().map(|(_, bytes)| count(bytes)).sum()
}

fn invalid(result: ambo_engine::Result<impl Sized>, what: &str) {
    match result {
        Err(Error::Invalid(text)) => assert!(text.contains(what), "{text}"),
        Err(error) => panic!("another error: {error}"),
        Ok(_) => panic!("it was opened: {what}"),
    }
}

/// Keeps away: plain text in a file of an encrypted database, of its backup, or of its log, and one that reads otherwise than a plain one.
#[test]
fn no_file_has_what_was_written() {
    let (plain, sealed, backup) = (SimDisk::new(1), SimDisk::new(2), SimDisk::new(3));
    let (engine, _) = open(&plain.env(), &options(None)).unwrap();
    let tables = fill(&engine);
    let expected = all_rows(&engine, &tables);
    assert!(marked(&plain) > 100, "the marker is found where nothing is encrypted");
    drop(engine);

    let (engine, _) = open(&sealed.env(), &options(Some(key(1)))).unwrap();
    assert_eq!(fill(&engine), tables);
    assert_eq!(marked(&sealed), 0);
    engine.backup_to(&as_disk(&backup)).unwrap();
    assert!(all_rows(&engine, &tables) == expected);
    let mut feed = engine.changes_since(Timestamp(0)).unwrap();
    let mut commits = 0;
    while feed.next().unwrap().is_some() {
        commits += 1;
    }
    assert!(commits > 300, "kept segments of the log are read");
    assert_sound(&engine);
    drop(engine);
    for disk in [sealed.crash(), backup] {
        assert_eq!(marked(&disk), 0);
        let (engine, _) = open(&disk.env(), &options(Some(key(1)))).unwrap();
        assert!(all_rows(&engine, &tables) == expected);
        assert_eq!(engine.data_keys(), Some(1));
        assert_sound(&engine);
    }
}

/// Keeps away: a wrong key, or none, or one too many, that is not told as such, and a directory that such an opening changes.
#[test]
fn another_key_is_an_error_that_says_so() {
    let (plain, sealed) = (SimDisk::new(1), SimDisk::new(2));
    drop(open(&plain.env(), &options(None)).unwrap());
    let (engine, _) = open(&sealed.env(), &options(Some(key(1)))).unwrap();
    let tables = fill(&engine);
    drop(engine);
    let before = files(&sealed);
    for read_only in [false, true] {
        let open = |disk: &SimDisk, key| {
            Engine::open(disk.env(), Options { read_only, ..options(key) }).map(|(engine, _)| engine)
        };
        invalid(open(&sealed, None), "the database is encrypted; open it with its key");
        invalid(open(&sealed, Some(key(2))), "the key is not the one that it was encrypted with");
        invalid(open(&plain, Some(key(1))), "the database is not encrypted");
        let refusing = KeySource::Call(Arc::new(|| Err(Error::Invalid("the keeper is away".into()))));
        invalid(open(&sealed, Some(refusing)), "the keeper is away");
    }
    assert!(files(&sealed) == before, "who does not know the key changes nothing");
    let asked = KeySource::Call(Arc::new(|| Ok(Key::new([1; 32]))));
    let (engine, _) = open(&sealed.env(), &options(Some(asked))).unwrap();
    assert_eq!(rows(&engine.snapshot(), tables[1]).unwrap().len(), 400);
    let (engine, _) = open(&plain.env(), &options(None)).unwrap();
    assert_eq!(engine.data_keys(), None);
    invalid(engine.set_key(&key(1)), "the database is not encrypted");
}

/// Keeps away: other rows than were written, or a panic, where a file was changed or cut; what is said is that it is damaged.
#[test]
fn changed_and_cut_files_are_errors() {
    let sealed = SimDisk::new(2);
    let (engine, _) = open(&sealed.env(), &options(Some(key(1)))).unwrap();
    let tables = fill(&engine);
    let expected = all_rows(&engine, &tables);
    engine.flush().unwrap();
    drop(engine);
    let mut random = Random::new(5);
    let mut refused = 0;
    let whole = files(&sealed);
    let is_read =
        |name: &&(String, Vec<u8>)| ["pages", "segment", "keys"].iter().any(|of| name.0.starts_with(of));
    let read: Vec<_> = whole.iter().filter(is_read).collect();
    for round in 0..400 {
        let disk = SimDisk::new(3);
        let (changed, _) = random.pick(&read);
        for (name, bytes) in &whole {
            let mut bytes = bytes.clone();
            if name == changed && !bytes.is_empty() {
                let at = random.below(bytes.len() as u64) as usize;
                match round % 4 {
                    0 => bytes.truncate(at),
                    1 => bytes[at..].fill(0),
                    _ => bytes[at] ^= 1 << random.below(8),
                }
            }
            disk.open(name, OpenMode::Create).unwrap().write_at(&bytes, 0).unwrap();
        }
        let opened = Engine::open(disk.env(), Options { read_only: true, ..options(Some(key(1))) });
        let Ok((engine, _)) = opened else {
            refused += 1;
            continue;
        };
        let engine = Arc::new(engine);
        for (table, expected) in tables.iter().zip(&expected) {
            match rows(&engine.snapshot(), *table) {
                Ok(found) => assert!(found == *expected, "round {round}: {changed} has other rows"),
                Err(Error::Damaged { .. } | Error::NotFound(_)) => refused += 1,
                Err(error) => panic!("round {round}: {changed}: {error}"),
            }
        }
    }
    assert!(refused > 60, "{refused}: what was changed was hardly ever read");
}

/// Keeps away: rows that a change of the key loses, a key that still opens what it should not, and one that a crash leaves with none.
#[test]
fn a_key_is_changed_at_once() {
    for seed in 0..60 {
        let disk = SimDisk::new(seed);
        let (engine, _) = open(&disk.env(), &options(Some(key(1)))).unwrap();
        let tables = fill(&engine);
        if seed % 2 == 1 {
            let op = [Op::Write, Op::Sync, Op::Rename, Op::SyncDirectory][seed as usize / 2 % 4];
            let prefix = (op != Op::SyncDirectory).then(|| "keys".to_owned());
            disk.inject(Fault { op, file_prefix: prefix, after: 0, kind: FaultKind::Io, once: true });
        }
        let changed = engine.set_key(&key(2));
        disk.clear_faults();
        engine.put(tables[0], b"after", MARKER.as_bytes()).unwrap();
        engine.flush().unwrap();
        let expected = all_rows(&engine, &tables);
        drop(engine);
        let disk = disk.crash();
        let opens = |key| Engine::open(disk.env(), Options { read_only: true, ..options(Some(key)) });
        let (old, new) = (opens(key(1)).is_ok(), opens(key(2)).is_ok());
        assert!(old != new && (changed.is_err() || new), "seed {seed}: {changed:?}, {old}, {new}");
        let (engine, _) = open(&disk.env(), &options(Some(key(if new { 2 } else { 1 })))).unwrap();
        assert!(all_rows(&engine, &tables) == expected, "seed {seed}");
        if changed.is_ok() {
            assert_eq!(engine.data_keys(), Some(2));
        }
        engine.vacuum().unwrap();
        assert_sound(&engine);
        assert_eq!(marked(&disk), 0);
    }
}

/// Keeps away: a backup that needs a key which it does not have, and one that is written in plain text by mistake.
#[test]
fn backups_go_with_their_key() {
    let (sealed, backup) = (SimDisk::new(1), SimDisk::new(2));
    let (engine, _) = open(&sealed.env(), &options(Some(key(1)))).unwrap();
    let tables = fill(&engine);
    engine.backup_to(&as_disk(&backup)).unwrap();
    engine.set_key(&key(2)).unwrap();
    engine.put(tables[0], b"later", MARKER.as_bytes()).unwrap();
    let report = engine.backup_to(&as_disk(&backup)).unwrap();
    assert!(report.kept > 0, "what was there stays: {report:?}");
    let expected = all_rows(&engine, &tables);
    drop(engine);

    invalid(open(&backup.env(), &Options { read_only: true, ..options(Some(key(1))) }), "the key is not");
    let (engine, _) = open(&backup.env(), &Options { read_only: true, ..options(Some(key(2))) }).unwrap();
    let ways = [
        (RestoredKey::Same, Some(key(2))),
        (RestoredKey::Plain, None),
        (RestoredKey::New(key(3)), Some(key(3))),
    ];
    for (way, key) in ways {
        let disk = SimDisk::new(9);
        engine.restore_with_key(&as_disk(&disk), &way).unwrap();
        assert_eq!(marked(&disk) == 0, key.is_some(), "{way:?}");
        let (restored, _) = open(&disk.env(), &options(key)).unwrap();
        assert!(all_rows(&restored, &tables) == expected, "{way:?}");
        assert_sound(&restored);
        invalid(
            restored.restore_with_key(&as_disk(&sealed), &RestoredKey::Plain),
            "to an empty directory only",
        );
    }
}

/// Keeps away: an old backup whose data keys are overwritten by those of a database that was put back to before them.
#[test]
fn a_backup_with_later_keys_is_not_replaced() {
    let (sealed, backup, put_back) = (SimDisk::new(1), SimDisk::new(2), SimDisk::new(3));
    let (engine, _) = open(&sealed.env(), &options(Some(key(1)))).unwrap();
    fill(&engine);
    engine.restore_to(&as_disk(&put_back)).unwrap();
    engine.set_key(&key(1)).unwrap();
    engine.backup_to(&as_disk(&backup)).unwrap();
    let (earlier, _) = open(&put_back.env(), &options(Some(key(1)))).unwrap();
    invalid(earlier.backup_to(&as_disk(&backup)), "put back to an earlier state");
    let (engine, _) = open(&backup.env(), &Options { read_only: true, ..options(Some(key(1))) }).unwrap();
    assert_sound(&engine);
}
