//! Archives of the log, and what is restored from them: random operations, crashes and failures beside a model that knows each moment.

use std::{
    collections::BTreeMap,
    io,
    sync::{Arc, Mutex},
    time::Duration,
};

use ambo_codec::{Type, Value as Datum};
use ambo_engine::{
    Error, Result,
    catalog::{IndexDefinition, Storage, TableDefinition},
    database::{
        Engine, LoadOptions, Options, PointReport, RestorePoint, RestoredKey, RowFormat, Running, Sync,
    },
    id::{TableId, Timestamp},
    io::{
        Directories, Disk, Env, OpenMode,
        sim::{Fault, FaultKind, Op, SimDisk},
    },
    seal::{Key, KeySource},
};

use crate::{
    loads::columns,
    support::{Random, assert_sound, bytes, open, rows, small_options},
};

const PLACE: &str = "archive";
const SEEDS: u64 = 150;

/// The disk of an archive, by its name. It may be away.
#[derive(Debug)]
struct Place(Mutex<Option<SimDisk>>);

impl Place {
    fn new(seed: u64) -> Arc<Self> {
        Arc::new(Self(Mutex::new(Some(SimDisk::new(seed)))))
    }

    fn disk(&self) -> SimDisk {
        self.0.lock().unwrap().clone().expect("it is there")
    }

    fn files(&self) -> Vec<String> {
        let mut names = self.disk().list().unwrap();
        names.retain(|name| name.starts_with("log-"));
        names.sort();
        names
    }
}

impl Directories for Place {
    fn open(&self, place: &str, _create: bool) -> io::Result<Arc<dyn Disk>> {
        let disk = self.0.lock().unwrap().clone().filter(|_| place == PLACE);
        disk.map(|disk| Arc::new(disk) as _).ok_or_else(|| io::ErrorKind::NotFound.into())
    }
}

fn env(disk: &SimDisk, place: &Arc<Place>) -> Env {
    Env { directories: place.clone(), ..disk.env() }
}

fn as_disk(disk: &SimDisk) -> Arc<dyn Disk> {
    Arc::new(disk.clone())
}

fn read_only(options: &Options) -> Options {
    Options { read_only: true, ..options.clone() }
}

/// Another disk with the same files.
fn copy_of(disk: &SimDisk) -> SimDisk {
    let copy = SimDisk::new(5);
    for name in disk.list().unwrap() {
        let file = copy.open(&name, OpenMode::Create).unwrap();
        file.write_at(&disk.contents(&name).unwrap(), 0).unwrap();
    }
    copy
}

/// Restores to a new disk.
fn restore(
    backup: &SimDisk,
    place: &Place,
    options: &Options,
    point: RestorePoint,
) -> Result<(SimDisk, PointReport)> {
    let (from, _) = open(&backup.env(), &read_only(options))?;
    let target = SimDisk::new(77);
    let archive = as_disk(&place.disk());
    let report = from.restore_archived(&target.env(), &RestoredKey::Same, &archive, point)?;
    Ok((target, report))
}

/// Rows of tables by their names.
type State = BTreeMap<String, BTreeMap<Vec<u8>, Vec<u8>>>;

fn state_of(engine: &Arc<Engine>) -> State {
    let snapshot = engine.snapshot();
    let catalog = engine.current().catalog.clone();
    let tables = catalog.tables();
    let tables =
        tables.map(|(id, table)| (table.name.clone(), rows(&snapshot, id).unwrap().into_iter().collect()));
    tables.collect()
}

fn table_of(engine: &Arc<Engine>, name: &str) -> TableId {
    engine.current().catalog.find(name).unwrap().0
}

fn now(engine: &Arc<Engine>) -> u64 {
    engine.snapshot().timestamp().0
}

/// A database, its archive, its backups, and what it was at each moment.
struct World {
    random: Random,
    disk: SimDisk,
    place: Arc<Place>,
    options: Options,
    engine: Option<Arc<Engine>>,
    states: BTreeMap<u64, State>,
    /// Disks with backups, and their moments.
    backups: Vec<(SimDisk, u64)>,
    births: u64,
}

impl World {
    fn new(seed: u64, key: Option<KeySource>) -> Self {
        let mut random = Random::new(seed ^ 0xA5C);
        let options = Options {
            log_segment_bytes: *random.pick(&[4 << 10, 8 << 10, 64 << 10]),
            log_compression: random.one_in(3),
            sync: *random.pick(&[Sync::Commit, Sync::Commit, Sync::Off]),
            keep_log_bytes: *random.pick(&[0, 0, 64 << 10]),
            key,
            ..small_options()
        };
        let mut world = Self {
            random,
            disk: SimDisk::new(seed),
            place: Place::new(seed ^ 0xA2),
            options,
            engine: None,
            states: BTreeMap::new(),
            backups: Vec::new(),
            births: 0,
        };
        world.open();
        world.engine().set_archive(Some(PLACE)).unwrap();
        world.note();
        world
    }

    fn engine(&self) -> Arc<Engine> {
        self.engine.clone().expect("it is open")
    }

    fn open(&mut self) {
        let (engine, _) = open(&env(&self.disk, &self.place), &self.options).unwrap();
        self.engine = Some(engine);
        // What was not durable is gone, and its moments will be others.
        let at = now(&self.engine());
        self.states.split_off(&(at + 1));
    }

    /// Notes what the database is now.
    fn note(&mut self) {
        let engine = self.engine();
        self.states.insert(now(&engine), state_of(&engine));
    }

    fn at(&self, at: u64) -> State {
        self.states.range(..=at).next_back().map(|(_, state)| state.clone()).unwrap_or_default()
    }

    fn table(&mut self) -> Option<(String, TableId)> {
        let engine = self.engine();
        let names: Vec<_> = engine.current().catalog.tables().map(|(_, table)| table.name.clone()).collect();
        let name = (!names.is_empty()).then(|| self.random.pick(&names).clone())?;
        let id = table_of(&engine, &name);
        Some((name, id))
    }

    /// A row of a table, by a number.
    fn row(&mut self, id: TableId) -> (Vec<u8>, Vec<u8>) {
        let definition = self.engine().current().catalog.table(id).unwrap().clone();
        let number = self.random.below(120);
        if definition.is_raw() {
            let len = *self.random.pick(&[3, 20, 200, 2000]);
            return (format!("k{number:04}").into_bytes(), bytes(self.random.next(), len));
        }
        let format = RowFormat::new(definition).unwrap();
        let values = [Datum::I64(number as i64), Datum::I64(self.random.below(9) as i64)];
        (format.encode_key(&values, 0).unwrap(), format.encode_row(&values).unwrap())
    }

    fn create(&mut self) {
        self.births += 1;
        let name = format!("t{}", self.births);
        let definition = match self.random.below(3) {
            0 => TableDefinition::key_value(name),
            kind => TableDefinition::new(name)
                .column("id", Type::I64)
                .column("n", Type::I64)
                .primary_key(&["id"])
                .storage(if kind == 1 { Storage::Column } else { Storage::BTree }),
        };
        self.engine().create_table(definition).unwrap();
    }

    fn create_index(&mut self) {
        let Some((name, id)) = self.table() else { return };
        let engine = self.engine();
        if engine.current().catalog.table(id).unwrap().is_raw() {
            return;
        }
        self.births += 1;
        engine.create_index(&IndexDefinition::new(format!("i{}", self.births), name, &["n"])).unwrap();
    }

    fn long(&mut self) {
        let Some((_, id)) = self.table() else { return };
        let engine = self.engine();
        if engine.current().catalog.table(id).unwrap().is_raw() {
            let value = bytes(self.random.next(), (1 << 20) + self.random.below(5000) as usize);
            engine.put(id, b"long", &value).unwrap();
        }
    }

    fn batch(&mut self) {
        for _ in 0..self.random.below(30) {
            let Some((_, id)) = self.table() else { return };
            let (key, value) = self.row(id);
            if self.random.one_in(4) {
                self.engine().delete(id, &key).unwrap();
            } else {
                self.engine().put(id, &key, &value).unwrap();
            }
            self.note();
        }
    }

    fn delete_range(&mut self) {
        let Some((_, id)) = self.table() else { return };
        let (a, b) = (self.row(id).0, self.row(id).0);
        self.engine().delete_range(id, &a, Some(&b)).unwrap();
    }

    fn back_up(&mut self) {
        let disk = SimDisk::new(self.random.next());
        let report = self.engine().backup_to(&as_disk(&disk)).unwrap();
        self.backups.push((disk, report.timestamp.0));
    }

    fn reopen(&mut self) {
        let engine = self.engine.take().expect("it is open");
        match self.random.below(3) {
            0 => {
                engine.flush().unwrap();
                drop(engine);
            }
            1 => drop(engine),
            _ => {
                self.disk = self.disk.crash();
                drop(engine);
                let archive = self.place.disk().crash();
                *self.place.0.lock().unwrap() = Some(archive);
            }
        }
        self.open();
    }

    /// The archive fails for a while, or is away.
    fn disturb(&mut self) {
        let archive = self.place.disk();
        match self.random.below(3) {
            0 => *self.place.0.lock().unwrap() = None,
            1 => archive.set_capacity(Some(archive.used() + self.random.below(8 << 10))),
            _ => {
                let op = *self.random.pick(&[Op::Write, Op::Sync, Op::Rename, Op::SyncDirectory, Op::Create]);
                let kind = *self.random.pick(&[FaultKind::Io, FaultKind::NoSpace]);
                archive.inject(Fault {
                    op,
                    file_prefix: None,
                    after: self.random.below(4),
                    kind,
                    once: false,
                });
            }
        }
        self.batch();
        self.engine().flush().unwrap();
        self.note();
        let _ = self.engine().archive_log();
        archive.clear_faults();
        archive.set_capacity(None);
        *self.place.0.lock().unwrap() = Some(archive);
    }

    /// Restores to a random moment of what is archived, and compares.
    fn restore(&mut self) {
        let engine = self.engine();
        let archived = engine.archive_log().unwrap().timestamp.0;
        assert_eq!(archived, engine.snapshot().timestamp().0, "everything is archived on demand");
        assert_eq!(engine.archive_info().unwrap().waiting_bytes, 0);
        let Some((disk, backup)) = self.backups.last().filter(|_| self.random.one_in(2)).cloned() else {
            let Some((disk, backup)) = self.backups.first().cloned() else { return };
            return self.restore_from(&disk, backup, archived);
        };
        self.restore_from(&disk, backup, archived);
    }

    fn restore_from(&mut self, backup: &SimDisk, from: u64, to: u64) {
        let at = from + self.random.below(to - from + 1);
        let point = if at == to { RestorePoint::End } else { RestorePoint::Commit(Timestamp(at)) };
        let (target, report) = restore(backup, &self.place, &self.options, point).unwrap();
        assert!(report.timestamp.0 <= at, "{report:?}");
        let (engine, recovery) = open(&target.env(), &self.options).unwrap();
        assert!(recovery.is_clean(), "{recovery:?}");
        assert_sound(&engine);
        let restored = state_of(&engine);
        assert!(restored == self.at(at), "backup {from}, to {at} of {to}: other rows");
        // It goes on, and what it writes survives.
        let table = engine.create_table(TableDefinition::key_value("later")).unwrap();
        engine.put(table, b"a", b"b").unwrap();
        drop(engine);
        let (engine, _) = open(&target.env(), &self.options).unwrap();
        assert_eq!(engine.get(table_of(&engine, "later"), b"a").unwrap().unwrap()[..], b"b"[..]);
        assert_sound(&engine);
    }

    fn run(&mut self) {
        self.create();
        self.note();
        self.back_up();
        for _ in 0..25 {
            match self.random.below(16) {
                0 => self.create(),
                1 => self.create_index(),
                2 if self.random.one_in(3) => self.long(),
                3 => self.delete_range(),
                4 => self.back_up(),
                5 => self.engine().compact().unwrap(),
                6 => self.engine().flush().unwrap(),
                7 | 8 => self.reopen(),
                9 => self.disturb(),
                10 => drop(self.engine().archive_log().unwrap()),
                11 => self.restore(),
                12 if self.random.one_in(2) => {
                    if let Some((name, _)) = self.table() {
                        self.engine().drop_table(&name).unwrap();
                    }
                }
                _ => self.batch(),
            }
            self.note();
        }
        self.restore();
        assert_sound(&self.engine());
    }
}

fn run_all(key: Option<&KeySource>, seeds: u64) {
    let one = std::env::var("AMBO_SEED").ok().map(|seed| seed.parse().unwrap());
    let first = one.unwrap_or(0);
    let count = if one.is_some() { 1 } else { seeds };
    for seed in first..first + count {
        let run = || World::new(seed, key.cloned()).run();
        if std::panic::catch_unwind(std::panic::AssertUnwindSafe(run)).is_err() {
            panic!("AMBO_SEED={seed} fails");
        }
    }
}

/// Keeps away: a restored database that is another than the one at that moment, whatever failed and crashed meanwhile.
#[test]
fn a_restored_moment_is_what_it_was() {
    run_all(None, SEEDS);
}

/// Keeps away: the same where all is encrypted.
#[test]
fn a_restored_moment_of_an_encrypted_database() {
    run_all(Some(&KeySource::from(Key::new([7; 32]))), SEEDS / 3);
}

/// A database that is archived, with a backup of its first commit and `n` more.
fn archived(n: u64) -> (SimDisk, Arc<Place>, Arc<Engine>, SimDisk) {
    let (disk, place, backup) = (SimDisk::new(1), Place::new(2), SimDisk::new(3));
    let (engine, _) = open(&env(&disk, &place), &small_options()).unwrap();
    engine.set_archive(Some(PLACE)).unwrap();
    let table = engine.create_table(TableDefinition::key_value("t")).unwrap();
    engine.backup_to(&as_disk(&backup)).unwrap();
    for number in 0..n {
        engine.put(table, &number.to_be_bytes(), &bytes(number, 500)).unwrap();
    }
    engine.archive_log().unwrap();
    (disk, place, engine, backup)
}

fn refused(result: Result<(SimDisk, PointReport)>, what: &str) {
    match result {
        Err(error @ (Error::Invalid(_) | Error::NotFound(_) | Error::Damaged { .. })) => {
            assert!(error.to_string().contains(what), "{error}");
        }
        other => panic!("{what}: {:?}", other.map(|(_, report)| report)),
    }
}

/// Keeps away: a gap, a foreign or a damaged file that is passed over, and what it had with it.
#[test]
fn what_is_wrong_with_an_archive_is_told() {
    let (_, place, engine, backup) = archived(60);
    let options = small_options();
    let end = RestorePoint::End;
    restore(&backup, &place, &options, end).unwrap();
    let files = place.files();
    assert!(files.len() > 3, "{files:?}");
    let without = |names: &[String]| {
        let disk = copy_of(&place.disk());
        names.iter().for_each(|name| disk.remove(name).unwrap());
        Place(Mutex::new(Some(disk)))
    };
    refused(restore(&backup, &without(&files[2..3]), &options, end), "has a gap");
    refused(restore(&backup, &without(&files[..2]), &options, end), "begins behind commit");
    refused(restore(&backup, &Place(Mutex::new(Some(SimDisk::new(9)))), &options, end), "it has no files");
    for (name, offset) in [(&files[1], 20), (&files[1], 300), (&files[2], 70)] {
        let disk = copy_of(&place.disk());
        disk.corrupt(name, offset, b"?!").unwrap();
        refused(restore(&backup, &Place(Mutex::new(Some(disk))), &options, end), name);
    }
    let disk = copy_of(&place.disk());
    let cut = disk.open(&files[2], OpenMode::ReadWrite).unwrap();
    cut.set_len(cut.len().unwrap() - 8).unwrap();
    refused(restore(&backup, &Place(Mutex::new(Some(disk))), &options, end), "has a gap");
    let other = SimDisk::new(100);
    let (foreign, _) = open(&env(&other, &place), &options).unwrap();
    match foreign.set_archive(Some(PLACE)) {
        Err(Error::Invalid(why)) => assert!(why.contains("another database"), "{why}"),
        other => panic!("{other:?}"),
    }
    let foreign_backup = SimDisk::new(101);
    foreign.backup_to(&as_disk(&foreign_backup)).unwrap();
    refused(restore(&foreign_backup, &place, &options, end), "another database");
    assert_sound(&engine);
}

/// Keeps away: a point that is taken for another: before the backup, behind the archive, or between two commits.
#[test]
fn points_are_commits_or_times() {
    let (disk, place, backup) = (SimDisk::new(1), Place::new(2), SimDisk::new(3));
    let options = small_options();
    let (engine, _) = open(&env(&disk, &place), &options).unwrap();
    engine.set_archive(Some(PLACE)).unwrap();
    let clock = disk.clock();
    let wall = || Duration::from_secs(1_700_000_000) + ambo_engine::io::Clock::now(&*clock);
    let table = engine.create_table(TableDefinition::key_value("t")).unwrap();
    let before = wall();
    clock.advance(Duration::from_secs(60));
    engine.put(table, b"0", b"").unwrap();
    engine.backup_to(&as_disk(&backup)).unwrap();
    let first = engine.snapshot().timestamp();
    let mut times = Vec::new();
    for number in 1..20u64 {
        clock.advance(Duration::from_secs(60));
        engine.put(table, number.to_string().as_bytes(), b"").unwrap();
        times.push((wall(), number + 1));
    }
    engine.archive_log().unwrap();
    let count = |point| -> Result<(u64, PointReport)> {
        let (target, report) = restore(&backup, &place, &options, point)?;
        let (engine, _) = open(&target.env(), &options).unwrap();
        assert_sound(&engine);
        Ok((rows(&engine.snapshot(), table_of(&engine, "t")).unwrap().len() as u64, report))
    };
    for (time, expected) in &times[..times.len() - 1] {
        for late in [0, 30] {
            let (found, report) = count(RestorePoint::Time(*time + Duration::from_secs(late))).unwrap();
            assert_eq!(found, *expected, "{late} s after commit {expected}");
            assert_eq!(report.time, Some(*time));
        }
        assert_eq!(count(RestorePoint::Time(*time - Duration::from_secs(1))).unwrap().0, expected - 1);
    }
    for commit in 0..20 {
        assert_eq!(count(RestorePoint::Commit(Timestamp(first.0 + commit))).unwrap().0, commit + 1);
    }
    assert_eq!(count(RestorePoint::End).unwrap().0, 20);
    let told = |point, what: &str| {
        let error = count(point).map(drop).expect_err(what).to_string();
        assert!(error.contains(what), "{error}");
    };
    told(RestorePoint::Commit(Timestamp(first.0 - 1)), "is before the backup");
    told(RestorePoint::Commit(Timestamp(first.0 + 20)), "is not in the archive");
    told(RestorePoint::Time(before), "the time is before the backup");
    told(RestorePoint::Time(times[18].0 + Duration::from_secs(1)), "the archive ends before that time");
}

/// Keeps away: a log that goes although the archive could not take it, and one that fills the disk without a word.
#[test]
fn a_full_archive_keeps_the_log_and_says_so() {
    let (disk, place, backup) = (SimDisk::new(1), Place::new(2), SimDisk::new(3));
    let options = Options { archive_wait_bytes: 64 << 10, ..small_options() };
    let (engine, _) = open(&env(&disk, &place), &options).unwrap();
    engine.set_archive(Some(PLACE)).unwrap();
    let table = engine.create_table(TableDefinition::key_value("t")).unwrap();
    engine.backup_to(&as_disk(&backup)).unwrap();
    place.disk().set_capacity(Some(place.disk().used()));
    let mut written = 0u64;
    let error = loop {
        match engine.put(table, &written.to_be_bytes(), &bytes(written, 1000)) {
            Ok(()) => written += 1,
            Err(error) => break error,
        }
        assert!(written < 2000, "nothing is refused");
    };
    assert!(matches!(&error, Error::DiskFull(why) if why.contains("wait to be archived")), "{error}");
    let info = engine.archive_info().unwrap();
    assert!(info.waiting_bytes > 64 << 10 && info.failure.is_some(), "{info:?}");
    // Neither a crash nor an opening without the archive loses it.
    drop(engine);
    let disk = disk.crash();
    *place.0.lock().unwrap() = Some(place.disk().crash());
    let there = place.0.lock().unwrap().take().unwrap();
    let (engine, _) = open(&env(&disk, &place), &options).unwrap();
    engine.archive_log().unwrap_err();
    let info = engine.archive_info().unwrap();
    assert!(info.waiting_bytes > 64 << 10 && info.failure.is_some(), "{info:?}");
    drop(engine);
    there.set_capacity(None);
    *place.0.lock().unwrap() = Some(there);
    let (engine, _) = open(&env(&disk, &place), &options).unwrap();
    engine.archive_log().unwrap();
    engine.put(table, b"on", b"it goes").unwrap();
    engine.archive_log().unwrap();
    let (target, _) = restore(&backup, &place, &options, RestorePoint::End).unwrap();
    let (restored, _) = open(&target.env(), &options).unwrap();
    assert_eq!(state_of(&restored), state_of(&engine));
    assert_sound(&restored);
    assert_sound(&engine);
}

/// Keeps away: loads that are missing in silence, and a restore that fails for a table that is gone.
#[test]
fn what_went_past_the_log_is_told() {
    let (_, place, engine, backup) = archived(3);
    let options = small_options();
    let definition = TableDefinition::new("loaded")
        .column("id", Type::I64)
        .column("n", Type::I64)
        .primary_key(&["id"])
        .storage(Storage::Column);
    let loaded = engine.create_table(definition).unwrap();
    let before = engine.snapshot().timestamp();
    let load = engine.column_load(loaded, LoadOptions::default()).unwrap();
    let mut writer = load.writer();
    let definition = engine.current().catalog.table(loaded).unwrap().clone();
    writer.push(columns(&definition, &[vec![Datum::I64(1), Datum::I64(2)]])).unwrap();
    writer.finish().unwrap();
    load.finish().unwrap();
    engine.archive_log().unwrap();
    refused(restore(&backup, &place, &options, RestorePoint::End), "\"main.loaded\" past the log");
    restore(&backup, &place, &options, RestorePoint::Commit(before)).unwrap();
    let since = SimDisk::new(9);
    engine.backup_to(&as_disk(&since)).unwrap();
    engine.put(table_of(&engine, "t"), b"k", b"v").unwrap();
    engine.archive_log().unwrap();
    let (target, _) = restore(&since, &place, &options, RestorePoint::End).unwrap();
    let (restored, _) = open(&target.env(), &options).unwrap();
    assert_eq!(state_of(&restored), state_of(&engine));
    assert_sound(&restored);
    engine.drop_table("loaded").unwrap();
    engine.archive_log().unwrap();
    restore(&backup, &place, &options, RestorePoint::End).unwrap();
    // To memory and back.
    let pairs = engine.create_table(TableDefinition::key_value("moved")).unwrap();
    engine.put(pairs, b"k", b"v").unwrap();
    for storage in [Storage::Memory, Storage::BTree] {
        engine.set_storage("moved", storage).unwrap();
    }
    engine.archive_log().unwrap();
    refused(restore(&backup, &place, &options, RestorePoint::End), "\"main.moved\" past the log");
    assert_sound(&engine);
}

/// Keeps away: two histories in one archive, and a backup from before it that lacks what was loaded in between.
#[test]
fn histories_are_told_apart() {
    let (_, place, engine, backup) = archived(40);
    let options = small_options();
    let at = Timestamp(engine.snapshot().timestamp().0 - 20);
    let (target, _) = restore(&backup, &place, &options, RestorePoint::Commit(at)).unwrap();
    let (other, _) = open(&env(&target, &place), &options).unwrap();
    assert_eq!(other.archive_info(), None, "a restored database is archived by nobody's word");
    // It may go on behind a gap, over which nothing is restored.
    other.set_archive(Some(PLACE)).unwrap();
    other.put(table_of(&other, "t"), b"other", b"history").unwrap();
    other.archive_log().unwrap();
    refused(restore(&backup, &place, &options, RestorePoint::End), "has a gap");
    // The first one finds that the archive is not its own any more.
    engine.put(table_of(&engine, "t"), b"first", b"history").unwrap();
    engine.set_archive(None).unwrap();
    match engine.set_archive(Some(PLACE)) {
        Err(Error::Invalid(why)) => assert!(why.contains("another history"), "{why}"),
        other => panic!("{other:?}"),
    }
    assert_sound(&engine);
    assert_sound(&other);
}

/// Keeps away: an archive that a key which was changed makes unreadable, and what is written in plain.
#[test]
fn an_archive_follows_the_keys() {
    let key = |byte| KeySource::from(Key::new([byte; 32]));
    let options = |byte| Options { key: Some(key(byte)), ..small_options() };
    let (disk, place) = (SimDisk::new(1), Place::new(2));
    let [early, late] = [SimDisk::new(3), SimDisk::new(4)];
    let (engine, _) = open(&env(&disk, &place), &options(1)).unwrap();
    engine.set_archive(Some(PLACE)).unwrap();
    let table = engine.create_table(TableDefinition::key_value("t")).unwrap();
    engine.backup_to(&as_disk(&early)).unwrap();
    let marker = b"nobody may read this in the archive";
    engine.put(table, b"a", marker).unwrap();
    engine.set_key(&key(2)).unwrap();
    engine.backup_to(&as_disk(&late)).unwrap();
    engine.put(table, b"b", marker).unwrap();
    engine.archive_log().unwrap();
    for name in place.disk().list().unwrap() {
        let there = place.disk().contents(&name).unwrap();
        assert!(!there.windows(marker.len()).any(|window| window == marker), "{name} is plain");
    }
    refused(restore(&early, &place, &options(1), RestorePoint::End), "the archive's keys");
    let (target, _) = restore(&late, &place, &options(2), RestorePoint::End).unwrap();
    let (restored, _) = open(&target.env(), &options(2)).unwrap();
    assert_eq!(state_of(&restored), state_of(&engine));
    assert_sound(&restored);
}

/// Keeps away: an archive that is begun and not closed in order, by threads of its own.
#[test]
fn a_thread_archives() {
    let (disk, place, backup) = (SimDisk::new(1), Place::new(2), SimDisk::new(3));
    let options = Options { background_threads: true, background_merge: true, ..small_options() };
    let (engine, _) = Engine::open(env(&disk, &place), options.clone()).unwrap();
    let running = Running::start(engine).unwrap();
    let engine = running.engine();
    engine.set_archive(Some(PLACE)).unwrap();
    let table = engine.create_table(TableDefinition::key_value("t")).unwrap();
    engine.backup_to(&as_disk(&backup)).unwrap();
    std::thread::scope(|scope| {
        for thread in 0..3u64 {
            scope.spawn(move || {
                for number in 0..300u64 {
                    let key = [thread.to_be_bytes(), number.to_be_bytes()].concat();
                    engine.put(table, &key, &bytes(number, 300)).unwrap();
                }
            });
        }
    });
    let expected = state_of(engine);
    running.close().unwrap();
    assert_eq!(disk.list().unwrap().iter().filter(|name| name.starts_with("log-")).count(), 0);
    let (target, _) = restore(&backup, &place, &small_options(), RestorePoint::End).unwrap();
    let (restored, _) = open(&target.env(), &small_options()).unwrap();
    assert_eq!(state_of(&restored), expected);
    assert_sound(&restored);
}

/// Keeps away: a restore that was broken off and is taken for a database.
#[test]
fn a_restore_that_was_broken_off_is_refused() {
    let (_, place, _engine, backup) = archived(40);
    let options = small_options();
    let (from, _) = open(&backup.env(), &read_only(&options)).unwrap();
    for after in (0..400).step_by(9) {
        let target = SimDisk::new(after);
        target.inject(Fault { op: Op::Write, file_prefix: None, after, kind: FaultKind::Io, once: false });
        let archive = as_disk(&place.disk());
        let done = from.restore_archived(&target.env(), &RestoredKey::Same, &archive, RestorePoint::End);
        target.clear_faults();
        let target = target.crash();
        match (done, open(&target.env(), &Options { create: false, ..options.clone() })) {
            (Ok(_), Ok((engine, _))) => {
                assert_eq!(rows(&engine.snapshot(), table_of(&engine, "t")).unwrap().len(), 40);
                assert_sound(&engine);
            }
            (Ok(_), Err(error)) => panic!("restored, and not opened: {error}"),
            (Err(_), Err(Error::Invalid(why))) => assert!(why.contains("broken off"), "{why}"),
            (Err(_), Err(Error::NotFound(_))) => {}
            // Before the log is replayed it is the backup.
            (Err(_), Ok((engine, _))) => {
                assert_eq!(rows(&engine.snapshot(), table_of(&engine, "t")).unwrap().len(), 0);
            }
            (Err(_), Err(error)) => panic!("write {after}: {error}"),
        }
    }
}
