//! Processes that write and read one directory, killed with `kill -9` at any moment. Each reader holds what it finds to what was written.
//!
//! Others publish what is written, and read what is published.
//!
//! The processes are this test binary again, with a role in the environment. `AMBO_BESIDE_SECONDS=n` lets it go on for so long.

use std::{
    path::Path,
    process::{Child, Command, Stdio},
    sync::Arc,
    time::{Duration, Instant},
};

use ambo_engine::{
    Error,
    catalog::{Storage, TableDefinition},
    database::{Engine, Isolation, Options, PublishOptions, Running, Snapshot, Sync},
    id::TableId,
    io::Env,
};

use super::{all, column_table};
use crate::{
    loads::load_numbers,
    support::{Random, assert_sound, bytes, small_options},
};

const ROLE: &str = "AMBO_BESIDE_ROLE";
const PLACE: &str = "AMBO_BESIDE_PLACE";
const SECONDS: u64 = 8;
/// How long a reader lives that nobody kills.
const LIFE: Duration = Duration::from_secs(2);
const READERS: usize = 4;

/// Transaction n writes all rows of group n mod this.
const GROUPS: u64 = 40;
const ROWS: u64 = 8;
/// Rows of a load.
const LOADED: i64 = 50;

pub fn options() -> Options {
    Options {
        memtable_bytes: 256 << 10,
        log_segment_bytes: 64 << 10,
        background_threads: true,
        background_merge: true,
        // What the system has survives the death of a process.
        sync: Sync::Off,
        ..small_options()
    }
}

fn row(n: u64, row: u64) -> Vec<u8> {
    // Some are long values.
    bytes(n * ROWS + row, if n.is_multiple_of(13) && row == 0 { 30_000 } else { 200 + (n % 300) as usize })
}

fn table(snapshot: &Snapshot, name: &str) -> Option<TableId> {
    snapshot.catalog().find(name).ok().map(|(id, _)| id)
}

/// How many transactions a snapshot shows, which is all that there is to know of it.
pub fn verify(snapshot: &Snapshot) -> u64 {
    let Some(pairs) = table(snapshot, "pairs") else { return 0 };
    let rows = all(snapshot, pairs);
    let Some(((key, last), groups)) = rows.split_last() else { return 0 };
    assert_eq!(key, b"~");
    let last = u64::from_be_bytes(last[..].try_into().unwrap());
    let mut expected = Vec::new();
    for group in 0..GROUPS.min(last + 1) {
        // The last transaction of the group; there is no transaction 0.
        let n = last - (last + GROUPS - group) % GROUPS;
        if n > 0 {
            expected
                .extend((0..ROWS).map(|at| ([group.to_be_bytes(), at.to_be_bytes()].concat(), row(n, at))));
        }
    }
    assert_eq!(groups.len(), expected.len(), "after {last}");
    for (found, expected) in groups.iter().zip(&expected) {
        assert!(found == expected, "the row {:?} of transaction {last}", found.0);
    }
    if let Some(loaded) = table(snapshot, "loaded") {
        assert_eq!(all(snapshot, loaded).len() as i64 % LOADED, 0, "loads are whole");
    }
    last
}

fn write(place: &Path) -> ! {
    let (engine, _) = Engine::open(Env::os(place, true).unwrap(), options()).unwrap();
    let running = Running::start(engine).unwrap();
    let engine = running.engine();
    let has = |name: &str| engine.current().catalog.find(name).is_ok();
    if !has("pairs") {
        engine.create_table(TableDefinition::key_value("pairs")).unwrap();
    }
    if !has("loaded") {
        engine.create_table(column_table("loaded", Storage::Column)).unwrap();
    }
    let mut n = verify(&engine.snapshot());
    loop {
        n += 1;
        let (pairs, loaded) =
            (table(&engine.snapshot(), "pairs").unwrap(), table(&engine.snapshot(), "loaded"));
        let mut tx = engine.begin(Isolation::Snapshot).unwrap();
        for at in 0..ROWS {
            let key = [(n % GROUPS).to_be_bytes(), at.to_be_bytes()].concat();
            tx.put(pairs, &key, &row(n, at)).unwrap();
        }
        tx.put(pairs, b"~", &n.to_be_bytes()).unwrap();
        tx.commit().unwrap();
        match n % 400 {
            50 | 150 | 250 => {
                load_numbers(engine, loaded.unwrap(), n as i64 * LOADED..(n as i64 + 1) * LOADED)
            }
            300 => drop(engine.vacuum().unwrap()),
            350 => drop(engine.truncate_table("loaded").unwrap()),
            _ => {}
        }
    }
}

/// What is written is published beside it, at any moment.
fn publish(place: &Path) -> ! {
    let target = Env::os(place.with_extension("published"), true).unwrap().disk;
    let options = Options { beside: true, ..options() };
    let published = PublishOptions { keep: 2, grace: Duration::from_millis(300), bundle_bytes: 64 << 10 };
    loop {
        match Engine::open(Env::os(place, true).unwrap(), options.clone()) {
            Ok((engine, _)) => {
                let running = Running::start(engine).unwrap();
                for _ in 0..20 {
                    running.engine().publish_to(&target, &published).unwrap();
                    std::thread::sleep(Duration::from_millis(5));
                }
            }
            // As for any reader.
            Err(Error::InUse(_) | Error::NotFound(_)) => std::thread::sleep(Duration::from_millis(20)),
            Err(error) => panic!("{error}"),
        }
    }
}

/// Opens what is the newest, and reads it as long as it is kept.
fn follow(place: &Path) {
    let began = Instant::now();
    let place = place.with_extension("published");
    let options = Options { read_only: true, ..options() };
    let (mut newest, mut random) = (0, Random::new(u64::from(std::process::id())));
    while began.elapsed() < LIFE {
        let (engine, report) = match Env::os(&place, false).and_then(|env| Engine::open(env, options.clone()))
        {
            Ok(opened) => opened,
            // There is none yet.
            Err(Error::NotFound(_) | Error::Io { .. }) if newest == 0 => continue,
            Err(error) => panic!("{error}"),
        };
        assert!(report.is_clean());
        let engine = Arc::new(engine);
        let last = verify(&engine.snapshot());
        assert!(last >= newest, "{last} after {newest}");
        newest = last;
        if random.one_in(4) {
            assert_sound(&engine);
        }
    }
    assert!(newest > 0, "nothing was published");
}

fn read(place: &Path) {
    let began = Instant::now();
    let options = Options { beside: true, ..options() };
    let (mut held, mut newest) = (None, 0);
    let mut engine: Option<Running> = None;
    let mut random = Random::new(u64::from(std::process::id()));
    while began.elapsed() < LIFE {
        let Some(running) = &engine else {
            match Engine::open(Env::os(place, false).unwrap(), options.clone()) {
                Ok((opened, _)) => engine = Some(Running::start(opened).unwrap()),
                // Nobody writes, and the last checkpoint is not of one moment; or there is none yet.
                Err(Error::InUse(_) | Error::NotFound(_)) => std::thread::sleep(Duration::from_millis(20)),
                Err(error) => panic!("{error}"),
            }
            continue;
        };
        let engine: &Arc<Engine> = running.engine();
        match random.below(4) {
            0 => match engine.refresh(Duration::from_millis(500)) {
                // Whoever writes was killed, or is busy.
                Ok(_) | Err(Error::InUse(_)) => {}
                Err(error) => panic!("{error}"),
            },
            1 => assert_sound(engine),
            2 => std::thread::sleep(Duration::from_millis(random.below(300))),
            _ => {}
        }
        let snapshot = engine.snapshot();
        let last = verify(&snapshot);
        assert!(last >= newest, "{last} after {newest}");
        newest = last;
        match &held {
            Some((snapshot, last)) => assert_eq!(verify(snapshot), *last, "as when it began"),
            None => held = Some((snapshot, last)),
        }
        if random.one_in(6) {
            held = None;
        }
    }
}

/// Writes what time it is, and much else, as quickly as it can.
fn stamp(place: &Path) -> ! {
    let options = Options { sync: Sync::Off, ..Options::default() };
    let env = Env::os(place, true).unwrap();
    let running = Running::start(Engine::open(env.clone(), options).unwrap().0).unwrap();
    let engine = running.engine();
    let table = engine.create_table(TableDefinition::key_value("t")).unwrap();
    let mut random = Random::new(1);
    loop {
        engine.put(table, b"now", &(env.clock.wall().as_micros() as u64).to_le_bytes()).unwrap();
        for _ in 0..8 {
            let key = random.next() % 10_000_000;
            engine.put(table, &key.to_be_bytes(), &bytes(key, 500)).unwrap();
        }
    }
}

/// Looks how old what it sees is, 50 times a second, and on demand.
#[expect(clippy::print_stdout, reason = "it is asked for")]
fn age(place: &Path) {
    let env = Env::os(place, false).unwrap();
    let options = Options { beside: true, ..Options::default() };
    let running = Running::start(Engine::open(env.clone(), options).unwrap().0).unwrap();
    let engine = running.engine();
    engine.refresh(Duration::from_secs(10)).unwrap();
    let table = table(&engine.snapshot(), "t").unwrap();
    let age = || {
        let seen = engine.snapshot().get(table, b"now").unwrap().unwrap().to_vec();
        let seen = Duration::from_micros(u64::from_le_bytes(seen.try_into().unwrap()));
        env.clock.wall().saturating_sub(seen)
    };
    let began = Instant::now();
    let (mut ages, mut asked) = (Vec::new(), Vec::new());
    while began.elapsed() < Duration::from_secs(30) {
        std::thread::sleep(Duration::from_millis(20));
        ages.push(age());
        if ages.len() % 50 == 0 {
            let start = Instant::now();
            engine.refresh(Duration::from_secs(10)).unwrap();
            asked.push(start.elapsed());
        }
    }
    let told = |mut times: Vec<Duration>| {
        times.sort_unstable();
        let at = |share: usize| times[(times.len() - 1) * share / 100];
        format!("{}: median {:?}, p99 {:?}, most {:?}", times.len(), at(50), at(99), at(100))
    };
    println!("ages of {}; asked for {}", told(ages), told(asked));
}

/// How old what readers see is while somebody writes as quickly as he can. Run by hand, with `--ignored --nocapture`.
#[test]
#[ignore = "a measurement of half a minute"]
#[expect(clippy::print_stderr, reason = "it is asked for")]
fn measure_age() {
    let home = tempfile::tempdir().unwrap();
    let place = home.path().join("db");
    let _writer = Process::start("stamp", &place);
    std::thread::sleep(Duration::from_secs(3));
    let mut readers: Vec<_> = (0..READERS).map(|_| Process::start("age", &place)).collect();
    for reader in &mut readers {
        let (is_well, said) = loop {
            match reader.ended() {
                Some(ended) => break ended,
                None => std::thread::sleep(Duration::from_millis(100)),
            }
        };
        assert!(is_well, "{said}");
        eprintln!("{}", said.lines().find(|line| line.contains("ages of")).unwrap_or(&said));
    }
}

/// What the other processes do. There is nothing to be done without a role.
#[test]
fn as_a_process() {
    let Ok(role) = std::env::var(ROLE) else { return };
    let place = std::env::var_os(PLACE).expect("a directory");
    match &*role {
        "write" => write(Path::new(&place)),
        "stamp" => stamp(Path::new(&place)),
        "age" => age(Path::new(&place)),
        "publish" => publish(Path::new(&place)),
        "follow" => follow(Path::new(&place)),
        _ => read(Path::new(&place)),
    }
}

/// A process, which does not outlive this one.
struct Process(Child);

impl Process {
    fn start(role: &str, place: &Path) -> Self {
        let child = Command::new(std::env::current_exe().unwrap())
            .args(["--exact", "beside::processes::as_a_process", "--nocapture"])
            .env(ROLE, role)
            .env(PLACE, place)
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn();
        Self(child.unwrap())
    }

    /// What it said, if it has ended by itself.
    fn ended(&mut self) -> Option<(bool, String)> {
        use std::io::Read;
        let status = self.0.try_wait().unwrap()?;
        let mut said = String::new();
        self.0.stderr.take().unwrap().read_to_string(&mut said).unwrap();
        self.0.stdout.take().unwrap().read_to_string(&mut said).unwrap();
        Some((status.success(), said))
    }

    fn kill(mut self) {
        if let Some((is_well, said)) = self.ended() {
            assert!(is_well, "{said}");
        }
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        let _killed = self.0.kill();
        let _ended = self.0.wait();
    }
}

/// Keeps away: what a simulation of processes does not know: locks that outlive their process or go too early, torn reads of the
/// superblocks, and time.
#[test]
fn killed_processes() {
    let home = tempfile::tempdir().unwrap();
    let place = home.path().join("db");
    let seconds = std::env::var("AMBO_BESIDE_SECONDS").ok().and_then(|text| text.parse().ok());
    let end = Instant::now() + Duration::from_secs(seconds.unwrap_or(SECONDS));
    let mut random = Random::new(7);
    let mut writer = Process::start("write", &place);
    let mut readers: Vec<Process> = Vec::new();
    let mut ended = 0;
    while Instant::now() < end {
        std::thread::sleep(Duration::from_millis(20 + random.below(400)));
        if let Some((_, said)) = writer.ended() {
            panic!("the process that writes has ended: {said}");
        }
        for at in (0..readers.len()).rev() {
            if let Some((is_well, said)) = readers[at].ended() {
                assert!(is_well, "{said}");
                readers.swap_remove(at);
                ended += 1;
            }
        }
        while readers.len() < READERS {
            readers.push(Process::start("read", &place));
        }
        match random.below(6) {
            0 => {
                writer.kill();
                std::thread::sleep(Duration::from_millis(random.below(300)));
                writer = Process::start("write", &place);
            }
            1 => readers.swap_remove(random.below(READERS as u64) as usize).kill(),
            _ => {}
        }
    }
    writer.kill();
    readers.into_iter().for_each(Process::kill);
    assert!(ended > 0, "no reader came to its end");
    let (engine, _) = Engine::open(Env::os(&place, false).unwrap(), options()).unwrap();
    let engine = Arc::new(engine);
    assert!(verify(&engine.snapshot()) > 0);
    assert_eq!(engine.readers(), (0, None));
    assert_sound(&engine);
    engine.vacuum().unwrap();
    assert_sound(&engine);
}

/// Keeps away: half a publication that is read, one that lacks a file, and one that goes back, whoever is killed when.
#[test]
fn killed_publishers() {
    let home = tempfile::tempdir().unwrap();
    let place = home.path().join("db");
    let seconds = std::env::var("AMBO_BESIDE_SECONDS").ok().and_then(|text| text.parse().ok());
    let end = Instant::now() + Duration::from_secs(seconds.unwrap_or(SECONDS));
    let mut random = Random::new(8);
    let mut writer = Process::start("write", &place);
    let mut publisher = Process::start("publish", &place);
    let mut readers: Vec<Process> = Vec::new();
    let mut ended = 0;
    while Instant::now() < end {
        std::thread::sleep(Duration::from_millis(20 + random.below(300)));
        for process in [&mut writer, &mut publisher] {
            if let Some((_, said)) = process.ended() {
                panic!("a process has ended: {said}");
            }
        }
        for at in (0..readers.len()).rev() {
            if let Some((is_well, said)) = readers[at].ended() {
                assert!(is_well, "{said}");
                readers.swap_remove(at);
                ended += 1;
            }
        }
        while readers.len() < 2 && place.with_extension("published").join("publication").exists() {
            readers.push(Process::start("follow", &place));
        }
        match random.below(8) {
            0 => {
                writer.kill();
                writer = Process::start("write", &place);
            }
            1..4 => {
                publisher.kill();
                publisher = Process::start("publish", &place);
            }
            _ => {}
        }
    }
    writer.kill();
    publisher.kill();
    readers.into_iter().for_each(Process::kill);
    assert!(ended > 0, "no reader came to its end");
    // The next one goes on, and leaves nothing behind of those that were killed.
    let (engine, _) = Engine::open(Env::os(&place, false).unwrap(), options()).unwrap();
    let (engine, place) = (Arc::new(engine), place.with_extension("published"));
    let last = verify(&engine.snapshot());
    let target = Env::os(&place, false).unwrap().disk;
    let published = PublishOptions { keep: 1, grace: Duration::ZERO, bundle_bytes: 64 << 10 };
    let report = engine.publish_to(&target, &published).unwrap();
    assert_eq!(report.publications, 1);
    let named = |name: &String| name.ends_with(".new") || name == "bundle-new";
    assert!(!target.list().unwrap().iter().any(named), "something is left behind");
    let read_only = Options { read_only: true, ..options() };
    let (read, _) = Engine::open(Env::os(&place, false).unwrap(), read_only).unwrap();
    let read = Arc::new(read);
    assert_eq!(verify(&read.snapshot()), last);
    assert_sound(&read);
    assert_sound(&engine);
}
