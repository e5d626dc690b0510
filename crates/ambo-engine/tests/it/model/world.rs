//! An engine on a simulated disk, and the oracle beside it.

use std::{io::Write as _, sync::Arc};

use ambo_engine::{
    Error, Result,
    catalog::{KeyWidth, Storage, TableDefinition},
    database::{Engine, Isolation, KeySum, Options, Seek, Snapshot, Sync},
    id::TableId,
    io::sim::{Fault, FaultKind, Op, SimDisk},
    log::Operation as LogOperation,
    record::Record,
    seal::KeySource,
};

use super::{
    backup::Backups,
    definitions::{Ids, choose, possible, shape_of},
    oracle::{Change, Digest, End, Oracle, Rows, State, Table, difference, rows_difference},
    plan::{Compression, Keys, Kind, Operation, Range, Reopen, ValuePlan, Write},
    publish::Publications,
};
use crate::support::{Random, assert_sound, bytes, open, rows, small_options};

const SNAPSHOTS_MAX: usize = 3;

/// Everything that a run has.
pub struct World {
    pub disk: SimDisk,
    pub options: Options,
    engine: Option<Arc<Engine>>,
    pub ids: Ids,
    pub oracle: Oracle,
    snapshots: Vec<(Snapshot, State, Ids)>,
    pub births: u64,
    /// Whether the engine refuses writes.
    pub poisoned: bool,
    /// Whether faults may be waiting, or space may be short.
    pub disturbed: bool,
    pub random: Random,
    /// What it was backed up to.
    pub backups: Backups,
    /// Where it was published.
    pub publications: Publications,
    /// So many keys lie between two that are written one by one; loads write them all. Makes trees of several levels.
    spread: u64,
    /// The storage of tables that are stored in files, row by row.
    pub by_row: Storage,
    /// The storage of those that are stored by column.
    pub by_column: Storage,
    trace: bool,
}

/// The bytes of a key: integers with gaps, or short ones, some with a lot in common, some longer than a page.
fn key(keys: Keys, number: u64) -> Vec<u8> {
    match keys {
        Keys::Four => return (number as u32 + ((number as u32 % 7) << 9)).to_be_bytes().to_vec(),
        Keys::Eight => return (number + ((number % 5) << 40)).to_be_bytes().to_vec(),
        // Each with a sort key of its own.
        Keys::Sorted => {
            let number = number as u32;
            return [(number * 7 % 16).to_be_bytes(), number.to_be_bytes()].concat();
        }
        Keys::Any => {}
    }
    match number % 12 {
        0 => {
            let mut key = format!("long{:02}", number % 5).into_bytes();
            key.resize(300 + 150 * (number % 48) as usize, b'x');
            key.extend_from_slice(&number.to_be_bytes());
            key
        }
        1 => number.to_be_bytes().to_vec(),
        _ => format!("k{number:03}").into_bytes(),
    }
}

/// The keys of rows from `lower` on and below `upper`.
pub fn keys_between(rows: &Rows, lower: &[u8], upper: Option<&[u8]>) -> Vec<Vec<u8>> {
    let is_in = |key: &&Vec<u8>| &key[..] >= lower && upper.is_none_or(|upper| &key[..] < upper);
    rows.keys().filter(is_in).cloned().collect()
}

pub fn value(plan: ValuePlan) -> Vec<u8> {
    bytes(plan.seed, plan.len)
}

impl World {
    pub fn new(
        seed: u64,
        mut random: Random,
        by_row: Storage,
        by_column: Storage,
        key: Option<&KeySource>,
    ) -> Self {
        let options = Options {
            page_size: *random.pick(&[4096, 4096, 4096, 8192]),
            memtable_bytes: *random.pick(&[64 << 10, 64 << 10, 256 << 10]),
            log_segment_bytes: *random.pick(&[4 << 10, 16 << 10, 128 << 10]),
            log_compression: random.one_in(3),
            background_merge: random.one_in(2),
            sync: *random.pick(&[
                Sync::Commit,
                Sync::Commit,
                Sync::Off,
                Sync::Interval(std::time::Duration::from_secs(1)),
            ]),
            key: key.cloned(),
            ..small_options()
        };
        let disk = SimDisk::new(seed);
        let mut world = Self {
            disk,
            options,
            engine: None,
            ids: Ids::new(),
            oracle: Oracle::default(),
            snapshots: Vec::new(),
            births: 0,
            poisoned: false,
            disturbed: false,
            backups: Backups::new(seed),
            publications: Publications::new(seed),
            spread: if random.one_in(16) { 40 } else { 1 },
            by_row,
            by_column,
            random,
            trace: std::env::var("AMBO_TRACE").is_ok(),
        };
        world.open(End::Process);
        world
    }

    pub fn engine(&self) -> Arc<Engine> {
        self.engine.clone().expect("it is open between operations")
    }

    /// The key of a number in the table of that name.
    pub fn key(&self, table: &str, number: u64) -> Vec<u8> {
        self.key_of(self.oracle.now[table].keys, number)
    }

    /// The key of a number in a table of such keys.
    pub fn key_of(&self, keys: Keys, number: u64) -> Vec<u8> {
        key(keys, number * self.spread)
    }

    /// A number that tells whether two runs did the same to the disk.
    pub fn fingerprint(&self) -> (u64, u64) {
        let counters = self.disk.counters();
        (counters.bytes_written, counters.calls.values().sum())
    }

    #[expect(clippy::print_stderr, reason = "asked for by AMBO_TRACE")]
    pub fn trace(&self, what: impl FnOnce() -> String) {
        if self.trace {
            eprintln!("{}", what());
        }
    }

    pub fn run(&mut self, index: usize, operation: &Operation) {
        self.trace(|| format!("{index}: {operation:?}"));
        match operation {
            Operation::Write(write) => drop(self.write(*write)),
            Operation::Batch { writes, synced } => self.batch(writes, *synced),
            Operation::Stream { table, key, value } => self.stream(*table, *key, *value),
            Operation::Transaction { steps, serializable, synced, commit } => {
                self.transaction(steps, *serializable, *synced, *commit);
            }
            Operation::Load { table, first, rows, seed } => self.load(*table, *first, *rows, *seed),
            Operation::DeleteRange(range) => drop(self.delete_range(*range)),
            Operation::Flush => self.settle_down(|engine| engine.flush()),
            Operation::Compact => self.settle_down(|engine| engine.compact()),
            Operation::Vacuum => self.settle_down(|engine| engine.vacuum().map(drop)),
            Operation::Define(definition) => self.define(definition),
            Operation::SetStorage { table } => self.set_storage(*table),
            Operation::CreateIndex { table, on } => self.create_index(*table, *on),
            Operation::DropIndex { index } => self.drop_index(*index),
            Operation::Publish { fault, crash } => self.publish(fault.as_ref(), *crash),
            Operation::Backup { fault, crash } => self.back_up(fault.as_ref(), *crash),
            Operation::Snapshot => {
                if self.snapshots.len() < SNAPSHOTS_MAX {
                    self.snapshots.push((
                        self.engine().snapshot(),
                        self.oracle.now.clone(),
                        self.ids.clone(),
                    ));
                }
            }
            Operation::DropSnapshot => {
                if !self.snapshots.is_empty() {
                    let index = self.random.below(self.snapshots.len() as u64) as usize;
                    self.snapshots.remove(index);
                }
            }
            Operation::Verify => self.verify(),
            Operation::Check => {
                if !self.disturbed {
                    assert_sound(&self.engine());
                }
            }
            Operation::Inject(fault) => {
                self.disk.inject(fault.clone());
                self.disturbed = true;
            }
            Operation::Capacity(room) => {
                self.disk.set_capacity(Some(self.disk.used() + room));
                self.disturbed = true;
            }
            Operation::Heal => self.heal(),
            Operation::Reopen(how) => self.reopen(*how),
        }
        self.notice_poison();
        if self.poisoned && self.random.one_in(3) {
            self.trace(|| "reopened, as it refuses writes".into());
            let how = *self.random.pick(&[Reopen::Close, Reopen::Kill, Reopen::Crash]);
            self.reopen(how);
        }
    }

    pub fn heal(&mut self) {
        self.disk.clear_faults();
        self.disk.set_capacity(None);
        self.disturbed = false;
    }

    pub fn notice_poison(&mut self) {
        if !self.poisoned && matches!(self.engine().begin(Isolation::Snapshot), Err(Error::Poisoned(_))) {
            assert!(self.disturbed, "refuses writes, and nothing has failed");
            self.trace(|| "poisoned".into());
            self.poisoned = true;
        }
    }

    /// The name and id of a table that is there.
    pub fn table(&self, choice: u64) -> Option<(String, TableId)> {
        choose(&self.ids, choice)
    }

    pub fn is_synced(&self) -> bool {
        self.options.sync == Sync::Commit
    }

    /// Fails on errors that nothing explains.
    pub fn excuse(&self, error: &Error) {
        self.trace(|| format!("  {error}"));
        let known = matches!(error, Error::DiskFull(_) | Error::Io { .. } | Error::Poisoned(_));
        let known = known && (self.disturbed || self.poisoned);
        // A fault may keep an index from being built, and then from being dropped, until the database is opened again.
        let is_building = |index: &TableDefinition| index.index.as_ref().is_some_and(|index| !index.ready);
        let builds = error.to_string().contains("is being built");
        let builds = builds && self.engine().current().catalog.indexes().any(|(_, index)| is_building(index));
        assert!(known || builds, "unexpected: {error}");
    }

    /// Tells the oracle how a commit went. Returns whether it was acknowledged.
    pub fn note<T>(&mut self, result: Result<T>, changes: Vec<Change>, synced: bool) -> bool {
        match result {
            Ok(_) => {
                assert!(!self.poisoned, "a commit succeeds while writes are refused");
                self.oracle.commit(changes, synced);
                true
            }
            Err(error) => {
                self.excuse(&error);
                let before = self.poisoned;
                self.notice_poison();
                // M5: "disk full" says that nothing was written, the others leave it open if writes are refused from now on.
                let open = self.poisoned && !before && !matches!(error, Error::DiskFull(_));
                if open {
                    self.oracle.perhaps(changes);
                }
                false
            }
        }
    }

    pub fn write(&mut self, write: Write) -> bool {
        let Some((name, id)) = self.table(write.table) else { return false };
        let key = self.key(&name, write.key);
        let bytes = write.value.map(value);
        let engine = self.engine();
        let result = match &bytes {
            Some(bytes) => engine.put(id, &key, bytes),
            None => engine.delete(id, &key),
        };
        let change = Change::Row { table: name, key, value: bytes.as_deref().map(Digest::of) };
        if self.is_refused(&result, self.takes(&self.oracle.now, std::slice::from_ref(&change))) {
            return false;
        }
        self.note(result, vec![change], self.is_synced())
    }

    /// The bounds of a range of a table with such keys.
    pub fn bounds(&self, keys: Keys, range: Range) -> (Vec<u8>, Option<Vec<u8>>) {
        (self.key_of(keys, range.from), range.to.map(|to| self.key_of(keys, to)))
    }

    /// Deletes a range. Returns its table and the keys that were there, if it was acknowledged.
    pub fn delete_range(&mut self, range: Range) -> Option<(String, Vec<Vec<u8>>)> {
        let (name, id) = self.table(range.table)?;
        let table = &self.oracle.now[&name];
        let (lower, upper) = self.bounds(table.keys, range);
        let keys = keys_between(&table.rows, &lower, upper.as_deref());
        let is_logged = table.kind.is_logged();
        let result = self.engine().delete_range(id, &lower, upper.as_deref());
        if result.is_ok() && keys.is_empty() {
            return Some((name, keys));
        }
        let row = |key: &Vec<u8>| Change::Row { table: name.clone(), key: key.clone(), value: None };
        let changes = keys.iter().map(row).collect();
        self.note(result, changes, is_logged && self.is_synced()).then_some((name, keys))
    }

    fn batch(&mut self, writes: &[Write], synced: bool) {
        let mut rows = Vec::new();
        for write in writes {
            let Some((name, id)) = self.table(write.table) else { return };
            let bytes = write.value.filter(|plan| plan.len <= 1 << 20).map(value);
            let key = self.key(&name, write.key);
            rows.push((name, id, key, bytes));
        }
        let record = |bytes: &'_ Option<Vec<u8>>| bytes.is_some();
        let operations: Vec<_> = rows
            .iter()
            .map(|(_, table, key, bytes)| LogOperation {
                table: *table,
                key,
                record: match record(bytes) {
                    true => Record::inline(bytes.as_deref().expect("just asked")),
                    false => Record::TOMBSTONE,
                },
            })
            .collect();
        let result = self.engine().write_batch(&operations, synced.then_some(Sync::Commit));
        let changes = rows.iter().map(|(table, _, key, bytes)| Change::Row {
            table: table.clone(),
            key: key.clone(),
            value: bytes.as_deref().map(Digest::of),
        });
        let changes: Vec<_> = changes.collect();
        if self.is_refused(&result, self.takes(&self.oracle.now, &changes)) {
            return;
        }
        // Tables without a log do not become durable by a sync, nor does a commit to them alone make others so.
        let logged = rows.iter().any(|(table, ..)| self.oracle.now[table].kind.is_logged());
        self.note(result, changes, logged && (synced || self.is_synced()));
    }

    fn stream(&mut self, table: u64, number: u64, plan: ValuePlan) {
        let Some((name, id)) = self.table(table) else { return };
        let (key, bytes) = (self.key(&name, number), value(plan));
        let engine = self.engine();
        let write = || {
            let mut stream = engine.put_stream(id, &key)?;
            for part in bytes.chunks(5000) {
                if let Err(error) = stream.write_all(part) {
                    return Err(match error.downcast::<Error>() {
                        Ok(error) => error,
                        Err(error) => Error::io("writing", error),
                    });
                }
            }
            stream.finish()
        };
        let result = write();
        let change = Change::Row { table: name, key: key.clone(), value: Some(Digest::of(&bytes)) };
        if self.is_refused(&result, self.takes(&self.oracle.now, std::slice::from_ref(&change))) {
            return;
        }
        self.note(result, vec![change], self.is_synced());
    }

    fn load(&mut self, table: u64, first: u64, count: u64, seed: u64) {
        let Some((name, id)) = self.table(table) else { return };
        let table = self.oracle.now[&name].keys;
        let numbers = first * self.spread..(first + count) * self.spread;
        let mut numbers: Vec<_> = numbers.map(|number| key(table, number)).collect();
        numbers.sort();
        let engine = self.engine();
        let mut changes = Vec::new();
        let mut state = seed;
        let mut run = || {
            let mut load = engine.bulk_load(id)?;
            for key in &numbers {
                state = state.wrapping_mul(0x5851_F42D_4C95_7F2D).wrapping_add(1);
                let len = if state.is_multiple_of(9) { state >> 50 } else { state >> 57 };
                let bytes = bytes(state, len as usize);
                load.push(key, &bytes)?;
                changes.push(Change::Row {
                    table: name.clone(),
                    key: key.clone(),
                    value: Some(Digest::of(&bytes)),
                });
            }
            load.finish()
        };
        let result = run();
        if self.is_refused(&result, self.takes_at_once(&name, &changes)) {
            return;
        }
        let loaded = result.is_ok();
        if loaded {
            self.oracle.flushed();
        }
        self.note(result, changes, true);
        if loaded {
            self.oracle.flushed();
        }
    }

    /// Something that changes nothing that can be read, and makes everything durable.
    pub fn settle_down(&mut self, act: impl FnOnce(&Arc<Engine>) -> Result<()>) {
        match act(&self.engine()) {
            Ok(()) => self.oracle.flushed(),
            Err(error) => self.excuse(&error),
        }
    }

    fn set_storage(&mut self, table: u64) {
        let Some((name, id)) = self.table(table) else { return };
        let has_postings = self.has_postings(id);
        let table = &self.oracle.now[&name];
        let mut kinds = vec![(Kind::Logged, self.by_row), (Kind::Memory, Storage::Memory)];
        if table.keys == Keys::Any {
            // Values are any bytes, which only a key-value table has as a column.
            kinds.push((Kind::Column, self.by_column));
        }
        // Stored by row already, and it stays as it is.
        kinds.retain(|(kind, _)| *kind != table.kind && (*kind, table.kind) != (Kind::Logged, Kind::LogOff));
        if table.kind == Kind::LogOff {
            kinds.retain(|(kind, _)| *kind == Kind::Memory);
        }
        let (kind, storage) = *self.random.pick(&kinds);
        let compression = possible(table.compression, table.keys, kind);
        let result = self.engine().set_storage(&name, storage);
        if has_postings && kind != Kind::Column {
            assert!(matches!(result, Err(Error::Invalid(_) | Error::Poisoned(_))), "{result:?}");
            return;
        }
        let done = result.is_ok();
        if done {
            // It is a checkpoint; all that was before it is in it.
            self.oracle.flushed();
        }
        self.note(result, vec![Change::Reshape { name, kind, compression }], true);
    }

    /// Everything that can be read, now and through the snapshots.
    fn verify(&mut self) {
        let now = (self.engine().snapshot(), self.oracle.now.clone(), self.ids.clone());
        let snapshots = std::mem::take(&mut self.snapshots);
        for (snapshot, state, ids) in snapshots.iter().chain([&now]) {
            if let Err(error) = self.verify_snapshot(snapshot, state, ids) {
                self.excuse(&error);
            }
        }
        for (name, id) in &self.ids {
            let number = self.random.below(super::plan::KEYS);
            match self.engine().get(*id, &self.key(name, number)) {
                Ok(found) => assert_eq!(
                    found.map(|found| Digest::of(&found)),
                    self.oracle.now[name].rows.get(&self.key(name, number)).copied(),
                    "{name} {number}"
                ),
                Err(error) => self.excuse(&error),
            }
        }
        self.snapshots = snapshots;
    }

    fn verify_snapshot(&mut self, snapshot: &Snapshot, state: &State, ids: &Ids) -> Result<()> {
        for (name, table) in state {
            let id = ids[name];
            let found: Rows =
                rows(snapshot, id)?.into_iter().map(|(key, value)| (key, Digest::of(&value))).collect();
            assert!(
                found == table.rows,
                "at {}: {}",
                snapshot.timestamp(),
                rows_difference(name, &table.rows, &found)
            );
            assert_eq!(snapshot.count(id, None, None)?, table.rows.len() as u64, "{name}");
            let (lower, upper) = (self.random.below(48), self.random.below(48));
            let bound = |number| key(table.keys, number * self.spread);
            let (lower, upper) = (bound(lower), bound(upper));
            let expected = match lower < upper {
                true => table.rows.range(lower.clone()..upper.clone()).count(),
                false => 0,
            };
            assert_eq!(
                snapshot.count(id, Some(&lower), Some(&upper))?,
                expected as u64,
                "{name} {lower:?} {upper:?}"
            );
            if table.keys != Keys::Any {
                let sum = snapshot.sum_keys(id, Some(&lower), Some(&upper))?;
                let mut expected = KeySum::default();
                let within = table.rows.keys().filter(|key| (&lower..&upper).contains(key));
                within.for_each(|key| expected.add(key));
                assert_eq!(sum, expected, "{name} {lower:?} {upper:?}");
            }
            let found = snapshot.get(id, &lower)?.map(|value| Digest::of(&value));
            assert_eq!(found, table.rows.get(&lower).copied(), "{name} {lower:?}");
            let mut cursor = snapshot.cursor(id)?;
            let mut there = cursor.seek(Seek::Le(&upper))?;
            let mut expected = table.rows.range(..=upper.clone()).rev();
            while there {
                assert_eq!(Some(cursor.key()), expected.next().map(|(key, _)| &key[..]), "{name} backwards");
                there = cursor.prev()?;
            }
            assert!(expected.next().is_none(), "{name} backwards");
            self.verify_indexes(snapshot, id, table)?;
        }
        Ok(())
    }

    fn reopen(&mut self, how: Reopen) {
        self.verify();
        self.snapshots.clear();
        let used = self.used_at_rest(how);
        let end = match how {
            Reopen::Close => {
                self.settle_down(|engine| engine.flush());
                End::Process
            }
            Reopen::Kill => End::Process,
            Reopen::Crash => {
                self.disk = self.disk.crash();
                End::Power
            }
        };
        let engine = self.engine.take().expect("it is open");
        assert_eq!(Arc::strong_count(&engine), 1);
        drop(engine);
        self.heal();
        self.open(end);
        if let Some(used) = used {
            assert_eq!(
                used,
                self.engine().info().expect("figures").pages.used_pages,
                "pages were lost until the reopening"
            );
        }
    }

    /// Pages in use when nothing is under way and nobody reads; a reopening finds as many.
    fn used_at_rest(&mut self, how: Reopen) -> Option<u64> {
        if how != Reopen::Close || self.disturbed || self.poisoned {
            return None;
        }
        self.settle_down(|engine| engine.vacuum().map(drop));
        Some(self.engine().info().expect("figures").pages.used_pages)
    }

    /// Opens, perhaps in spite of faults, and compares what is there.
    fn open(&mut self, mut end: End) {
        if self.random.one_in(4) {
            let op = *self.random.pick(&[
                Op::Read,
                Op::Write,
                Op::Sync,
                Op::Create,
                Op::Rename,
                Op::SetLen,
                Op::Remove,
                Op::SyncDirectory,
            ]);
            let after = self.random.below(6);
            self.disk.inject(Fault { op, file_prefix: None, after, kind: FaultKind::Io, once: true });
            self.disturbed = true;
        }
        let mut opened = open(&self.disk.env(), &self.options);
        if let Err(error) = &opened {
            self.trace(|| format!("opening: {error}"));
            assert!(self.disturbed, "cannot be opened: {error}");
            assert!(matches!(error, Error::Io { .. } | Error::Poisoned(_)), "unexpected: {error}");
            if self.random.one_in(2) {
                self.disk = self.disk.crash();
                end = End::Power;
            }
            self.heal();
            opened = open(&self.disk.env(), &self.options);
        }
        self.heal();
        let (engine, report) = opened.unwrap_or_else(|error| panic!("cannot be opened: {error}"));
        self.trace(|| format!("opened: {report:?}"));
        self.poisoned = false;
        assert_sound(&engine);
        let (found, ids) = self.read_all(&engine).expect("nothing fails any more");
        self.trace(|| {
            let sizes: Vec<_> =
                found.iter().map(|(name, table)| (name, table.kind, table.rows.len())).collect();
            format!("found {sizes:?}")
        });
        self.oracle.reopened(end, &found).unwrap_or_else(|why| panic!("{why}"));
        self.ids = ids;
        self.engine = Some(engine);
        debug_assert!(difference(&self.oracle.now, &found).is_empty());
    }

    pub fn read_all(&self, engine: &Arc<Engine>) -> Result<(State, Ids)> {
        let (mut state, mut ids) = (State::new(), Ids::new());
        let snapshot = engine.snapshot();
        for (id, definition) in engine.current().catalog.tables() {
            let name = definition.name.strip_prefix("main.").expect("the default schema").to_owned();
            let kind = match (definition.storage, definition.log) {
                (Storage::Memory, _) => Kind::Memory,
                (storage, _) if storage == self.by_column => Kind::Column,
                (storage, logged) => {
                    assert_eq!(storage, self.by_row);
                    if logged { Kind::Logged } else { Kind::LogOff }
                }
            };
            let rows =
                rows(&snapshot, id)?.into_iter().map(|(key, value)| (key, Digest::of(&value))).collect();
            let keys = match definition.key_width() {
                _ if definition.has_sort_key() => Keys::Sorted,
                None => Keys::Any,
                Some(KeyWidth::Four) => Keys::Four,
                Some(KeyWidth::Eight) => Keys::Eight,
            };
            let compression = Compression {
                keys: definition.key_compression,
                records: definition.record_compression,
                dictionary: definition.record_dictionary,
            };
            ids.insert(name.clone(), id);
            let shape = shape_of(definition);
            state.insert(name, Table { birth: 0, kind, keys, compression, shape, rows });
        }
        Ok((state, ids))
    }
}
