//! The process that is killed: commits the [plan](super::plan)'s transactions and acknowledges them.

use std::io::Write;
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use ambo::{Storage, Table, TableDefinition};
use clap::{Args, ValueEnum};

use super::CrashArguments;
use super::plan::{Step, TABLES, counter_key};
use super::verify::generation;
use ambo_cli::engine::{Access, Durability, OrFail, Store, Tuning};
use ambo_cli::failure::{Failure, Result};
use ambo_cli::storage::StorageName;

/// What the parent wishes of a round.
#[derive(Args, Clone, Debug)]
pub struct WriterArguments {
    /// The database's directory
    pub dir: PathBuf,
    /// How many writing threads
    #[arg(long)]
    pub threads: u32,
    /// Memory for rows not yet compacted, in bytes
    #[arg(long)]
    pub memtable_bytes: usize,
    /// When a commit counts as done
    #[arg(long)]
    pub durability: Durability,
    /// Where new tables keep their rows; without it, some here and some there
    #[arg(long)]
    pub storage: Option<StorageName>,
    /// Flush, compact, vacuum, and make and drop tables all the while
    #[arg(long)]
    pub housekeep: bool,
}

impl WriterArguments {
    /// The wishes of a round, drawn by its dice.
    pub fn of_dice(arguments: &CrashArguments, dice: u64) -> Self {
        Self {
            dir: arguments.dir.clone(),
            threads: arguments.threads,
            // A small memtable flushes and merges all the time, a large one leaves everything to the log.
            memtable_bytes: if dice & 1 == 0 { 1 << 20 } else { 64 << 20 },
            // A killed process loses nothing even if it never waits for the disk.
            durability: if dice & 2 == 0 { Durability::Commit } else { Durability::Off },
            storage: arguments.storage,
            housekeep: dice & 4 == 0,
        }
    }

    /// Where a table keeps its rows, by its number; a transaction spans them all.
    fn storage_of(&self, number: usize) -> Storage {
        let mixed = if number == 1 { StorageName::Btree } else { StorageName::Column };
        self.storage.unwrap_or(mixed).into()
    }

    /// The command line that [`run`] gets.
    pub fn to_words(&self) -> Vec<String> {
        let durability = match self.durability {
            Durability::Commit => "commit",
            Durability::Off => "off",
        };
        let mut words = vec![
            "crash-writer".to_string(),
            self.dir.display().to_string(),
            format!("--threads={}", self.threads),
            format!("--memtable-bytes={}", self.memtable_bytes),
            format!("--durability={durability}"),
        ];
        if let Some(storage) = self.storage.and_then(|storage| storage.to_possible_value()) {
            words.push(format!("--storage={}", storage.get_name()));
        }
        if self.housekeep {
            words.push("--housekeep".into());
        }
        words
    }
}

/// Runs until it is killed, or until nobody listens any more.
pub fn run(arguments: &WriterArguments) -> Result<()> {
    let tuning = Tuning {
        memtable: Some(arguments.memtable_bytes),
        sync: Some(arguments.durability),
        ..Tuning::default()
    };
    let store = Store::open(&arguments.dir, Access::Create, &tuning)?;
    let tables = [0, 1, 2].map(|number| open_or_create(&store, TABLES[number], arguments.storage_of(number)));
    let [a, b, c] = tables;
    let tables = [a?, b?, c?];
    let stop = AtomicBool::new(false);
    std::thread::scope(|scope| {
        let housekeeper = arguments
            .housekeep
            .then(|| scope.spawn(|| stopping(&stop, || housekeep(&store, arguments, &stop))));
        let write = |writer| {
            let (store, tables, stop) = (&store, &tables, &stop);
            scope.spawn(move || stopping(stop, || write(store, tables, writer, stop)))
        };
        let writers: Vec<_> = (0..arguments.threads).map(write).collect();
        let mut threads = writers.into_iter().chain(housekeeper);
        threads.try_for_each(|thread| thread.join().expect("no thread of the writer panics"))
    })
}

fn open_or_create(store: &Store, name: &str, storage: Storage) -> Result<Table> {
    if let Some(table) = store.find_table(name)? {
        return Ok(table);
    }
    store.db.create_table(TableDefinition::key_value(name).storage(storage)).or_fail(&store.dir)
}

/// When one thread ends, all do.
fn stopping(stop: &AtomicBool, work: impl FnOnce() -> Result<()>) -> Result<()> {
    let result = work();
    stop.store(true, Ordering::Relaxed);
    result
}

/// Everything that moves or drops pages, while the others write.
fn housekeep(store: &Store, arguments: &WriterArguments, stop: &AtomicBool) -> Result<()> {
    for turn in 0usize.. {
        if stop.load(Ordering::Relaxed) {
            break;
        }
        match turn % 4 {
            0 => store.db.flush(),
            1 => store.db.compact(),
            2 => store.db.vacuum().map(drop),
            _ => come_and_go(store, arguments.storage_of(turn / 4 % 2)),
        }
        .or_fail(&store.dir)?;
        std::thread::sleep(Duration::from_millis(10));
    }
    Ok(())
}

/// A table that is made, filled, emptied or renamed, and dropped. One that a crash left is dropped first.
fn come_and_go(store: &Store, storage: Storage) -> ambo::Result<()> {
    const NAMES: [&str; 2] = ["scratch", "renamed"];
    for name in NAMES {
        match store.db.drop_table(name) {
            Err(ambo::Error::NotFound(_)) | Ok(()) => {}
            Err(error) => return Err(error),
        }
    }
    let table = store.db.create_table(TableDefinition::key_value(NAMES[0]).storage(storage))?;
    for number in 0..50u8 {
        table.put(&[number], &vec![number; 400 * usize::from(number)])?;
    }
    store.db.rename_table(NAMES[0], NAMES[1])?;
    store.db.truncate_table(NAMES[1])?;
    store.db.table(NAMES[1])?.put(b"k", b"v")?;
    store.db.drop_table(NAMES[1])
}

fn write(store: &Store, tables: &[Table; 3], writer: u32, stop: &AtomicBool) -> Result<()> {
    let mut generation = generation(store, writer)?;
    while !stop.load(Ordering::Relaxed) {
        generation += 1;
        retrying(|| commit(store, tables, writer, generation)).or_fail(&store.dir)?;
        acknowledge(writer, generation)?;
    }
    Ok(())
}

/// Runs a transaction until it meets no conflict. The writers share no rows, but a checkpoint may be in the way.
pub fn retrying(mut transaction: impl FnMut() -> ambo::Result<()>) -> ambo::Result<()> {
    loop {
        match transaction() {
            Err(error) if error.is_retryable() => {}
            outcome => return outcome,
        }
    }
}

fn commit(store: &Store, tables: &[Table; 3], writer: u32, generation: u64) -> ambo::Result<()> {
    let step = Step::new(writer, generation);
    let (key, counter) = (step.key(), counter_key(writer));
    let generation = generation.to_string();
    if step.in_batch() {
        let mut batch = store.db.batch();
        for (number, table) in tables.iter().enumerate() {
            match step.deletes() {
                true => batch.delete(table, &key),
                false => batch.put(table, &key, &step.value(number)),
            }
        }
        batch.put(&tables[0], &counter, generation.as_bytes());
        return batch.commit();
    }
    let mut tx = store.db.begin()?;
    for (number, table) in tables.iter().enumerate() {
        match step.deletes() {
            true => tx.delete(table, &key).map(drop)?,
            false => tx.put(table, &key, &step.value(number))?,
        }
    }
    tx.put(&tables[0], &counter, generation.as_bytes())?;
    tx.commit().map(drop)
}

/// One write of one line: the parent sees all of it or nothing.
fn acknowledge(writer: u32, generation: u64) -> Result<()> {
    let line = format!("{writer} {generation}\n");
    let mut pipe = std::io::stdout().lock();
    pipe.write_all(line.as_bytes()).and_then(|()| pipe.flush()).map_err(Failure::from)
}
