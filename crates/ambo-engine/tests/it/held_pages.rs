//! Pages that are read stay as they are until their last reader is done, whatever others do between two of its reads.

use std::{
    fmt, io,
    sync::{Arc, Mutex},
};

use ambo_codec::{Type, Value as Datum};
use ambo_engine::{
    Error,
    catalog::{Storage, TableDefinition},
    database::{Engine, LoadOptions, Options, RowFormat},
    id::TableId,
    io::{Disk, Env, File, Lock, OpenMode, sim::SimDisk},
};

use crate::{
    loads::columns,
    support::{assert_sound, bytes, open, rows, small_options},
};

/// What is done before several pages are read at once, as those of a long value are, for the next time: once, by whoever reads them. They
/// are read past the pool, so nobody waits for it meanwhile.
#[derive(Clone, Default)]
struct BeforeRead(Arc<Mutex<Option<Act>>>);

type Act = Box<dyn FnOnce() + Send>;

impl BeforeRead {
    fn set(&self, act: impl FnOnce() + Send + 'static) {
        let before = self.0.lock().unwrap().replace(Box::new(act));
        assert!(before.is_none(), "the last one was done");
    }

    fn is_done(&self) -> bool {
        self.0.lock().unwrap().is_none()
    }

    fn act(&self) {
        let act = self.0.lock().unwrap().take();
        if let Some(act) = act {
            act();
        }
    }
}

/// A disk that says when pages are read so.
#[derive(Clone)]
struct Watched {
    disk: Arc<dyn Disk>,
    before: BeforeRead,
}

struct WatchedFile {
    file: Arc<dyn File>,
    before: BeforeRead,
}

impl fmt::Debug for Watched {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.disk.fmt(f)
    }
}

impl fmt::Debug for WatchedFile {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.file.fmt(f)
    }
}

impl Disk for Watched {
    fn open(&self, name: &str, mode: OpenMode) -> io::Result<Arc<dyn File>> {
        let file = self.disk.open(name, mode)?;
        match name {
            "pages" => Ok(Arc::new(WatchedFile { file, before: self.before.clone() })),
            _ => Ok(file),
        }
    }
    fn remove(&self, name: &str) -> io::Result<()> {
        self.disk.remove(name)
    }
    fn rename(&self, from: &str, to: &str) -> io::Result<()> {
        self.disk.rename(from, to)
    }
    fn list(&self) -> io::Result<Vec<String>> {
        self.disk.list()
    }
    fn sync_directory(&self) -> io::Result<()> {
        self.disk.sync_directory()
    }
    fn free_bytes(&self) -> Option<u64> {
        self.disk.free_bytes()
    }
    fn lock(&self, name: &str, exclusive: bool) -> io::Result<Option<Box<dyn Lock>>> {
        self.disk.lock(name, exclusive)
    }
}

impl File for WatchedFile {
    fn read_at(&self, buffer: &mut [u8], offset: u64) -> io::Result<()> {
        if buffer.len() > PAGE {
            self.before.act();
        }
        self.file.read_at(buffer, offset)
    }
    fn write_at(&self, bytes: &[u8], offset: u64) -> io::Result<()> {
        self.file.write_at(bytes, offset)
    }
    fn len(&self) -> io::Result<u64> {
        self.file.len()
    }
    fn set_len(&self, len: u64) -> io::Result<()> {
        self.file.set_len(len)
    }
    fn allocate(&self, offset: u64, len: u64) -> io::Result<()> {
        self.file.allocate(offset, len)
    }
    fn punch_hole(&self, offset: u64, len: u64) -> io::Result<()> {
        self.file.punch_hole(offset, len)
    }
    fn sync(&self) -> io::Result<()> {
        self.file.sync()
    }
    fn will_need(&self, offset: u64, len: u64) {
        self.file.will_need(offset, len);
    }
    fn allocated_len(&self) -> io::Result<u64> {
        self.file.allocated_len()
    }
}

const PAGE: usize = 4096;
/// A row of so many bytes has pages of its own.
const LONG: usize = 6 * PAGE;
const ROWS: i64 = 400;

fn definition(name: &str, storage: Storage) -> TableDefinition {
    TableDefinition::new(name)
        .column("id", Type::I64)
        .column("value", Type::Binary)
        .primary_key(&["id"])
        .storage(storage)
}

fn watched() -> (BeforeRead, Arc<Engine>) {
    let before = BeforeRead::default();
    let env = SimDisk::new(5).env();
    let disk = Arc::new(Watched { disk: env.disk.clone(), before: before.clone() });
    let options = Options { page_size: PAGE, memtable_bytes: 4 << 20, ..small_options() };
    (before, open(&Env { disk, ..env }, &options).unwrap().0)
}

/// Puts every other row from `first` on, of which the first is a long one, and flushes them.
fn flush(engine: &Arc<Engine>, table: TableId, first: i64, seed: u64) {
    let format = RowFormat::new(engine.current().catalog.table(table).unwrap().clone()).unwrap();
    for id in (first..ROWS).step_by(2) {
        let len = if id == first { LONG } else { 100 };
        let row = vec![Datum::I64(id), Datum::from(&bytes(seed, len)[..])];
        engine.put(table, &format.encode_key(&row, 0).unwrap(), &format.encode_row(&row).unwrap()).unwrap();
    }
    engine.flush().unwrap();
}

/// Keeps away: a change of storage that looks at runs which are merged meanwhile and reads, and leaves in the cache, what is in their pages
/// by then.
#[test]
fn runs_that_a_change_of_storage_looks_at_may_be_merged() {
    let (before, engine) = watched();
    let table = engine.create_table(definition("t", Storage::BTree)).unwrap();
    flush(&engine, table, 0, 1);
    engine.compact().unwrap();
    let other = engine.create_table(definition("other", Storage::BTree)).unwrap();
    let (acts, there) = (before.clone(), engine.clone());
    before.set(move || {
        // The compacted part is being read. What comes now is looked at later, in two runs of which every leaf is merged.
        flush(&there, table, 0, 2);
        flush(&there, table, 1, 3);
        let engine = there.clone();
        acts.set(move || {
            // They are being looked at: merge them, and write to pages that are free now.
            engine.compact().unwrap();
            for seed in 4..8 {
                flush(&engine, other, (seed % 2) as i64, seed);
            }
        });
    });
    engine.set_storage("t", Storage::Column).unwrap();
    assert!(before.is_done());
    assert_eq!(rows(&engine.snapshot(), table).unwrap().len() as i64, ROWS);
    assert_sound(&engine);
    engine.compact().unwrap();
    assert_sound(&engine);
}

/// Keeps away: a load that compacts runs of a table which is dropped meanwhile, and reads what is in their pages by then.
#[test]
fn the_table_of_a_load_may_be_dropped_while_its_runs_are_compacted() {
    let (before, engine) = watched();
    let table = engine.create_table(definition("t", Storage::Column)).unwrap();
    let load = engine.column_load(table, LoadOptions::default()).unwrap();
    let mut writer = load.writer();
    let row = vec![Datum::I64(ROWS), Datum::from(&b"loaded"[..])];
    writer.push(columns(engine.current().catalog.table(table).unwrap(), &[row])).unwrap();
    writer.finish().unwrap();
    flush(&engine, table, 0, 1);
    flush(&engine, table, 1, 2);
    let there = engine.clone();
    before.set(move || {
        there.drop_table("t").unwrap();
        there.flush().unwrap();
        let other = there.create_table(definition("other", Storage::Column)).unwrap();
        for seed in 3..7 {
            flush(&there, other, (seed % 2) as i64, seed);
        }
    });
    let error = load.finish().unwrap_err();
    assert!(matches!(error, Error::NotFound(_)), "{error}");
    assert!(before.is_done());
    assert_sound(&engine);
}
