//! Opening: the last checkpoint, then the log's tail.
//!
//! | found | done |
//! |---|---|
//! | no `pages` file, `create` set | a new database: `pages` is written under another name, synced, renamed |
//! | no `pages` file, but segments of a log, or a lock file that names a database | [`Error::Damaged`]: it was lost, and nothing new takes its place |
//! | no `pages` file, `create` not set, or read-only | [`Error::NotFound`] |
//! | `pages.new` left by a crash while creating | removed |
//! | `pages` with a valid superblock | its checkpoint is loaded, the log behind it is replayed into memtables |
//! | a superblock chosen | it is written again and synced before anything builds on it: after a failed sync only the page cache may have it |
//! | one superblock bad | the other counts; the report says so |
//! | no valid superblock | [`Error::Damaged`], nothing is changed |
//! | an index that is not ready | building it was interrupted: it is dropped, unless read-only |
//! | a segment of a column table, or its deleted rows, missing or unreadable | the table answers with [`Error::Damaged`], the others are opened: `damage` |
//! | the log: see the case table of `log` | a torn tail is cut and reported; damage is an error |
//! | the lock held by another | [`Error::InUse`], unless it is to be read beside that one: `beside` |
//! | readers in other processes that hold an older checkpoint | what is free waits for them, and so do files that no checkpoint names |
//! | the mark of a backup, with or without `pages` | see `backup_mark` |
//! | the file `keys`, a key given | see `encryption` |
//! | the file `archive` | the log goes when it is archived: `archive` |
//! | the file `publication` | see `published` |
//! | the file `restoring` | refused: a restore was broken off |

use std::{sync::Arc, time::Duration};

use ambo_base::{
    BaseOps, Stores,
    btree::{Tree, TreeMeta},
    column::SegmentStore,
};
use ambo_pages::{
    budget::MemoryBudget,
    io::{Env, Lock, OpenMode},
    log::{self, Access, Cut, LogOptions, LogPosition, LogWriter, Operation, Operations, Recovery, Start},
    page::{self, FreeListRoot, PageStore, PageStoreOptions, blob::BlobRef, superblock::Superblock},
    readers::Watch,
    sync::Ordering,
};
use ambo_types::{
    Error, Result,
    id::{Lsn, TableId, Timestamp},
    record::{Record, RecordKind},
};

use super::{
    archive::Archiver,
    archive_mark, backup_mark,
    beside::{self, Beside},
    blobs::{FreshBlob, whole},
    checkpoint::CheckpointState,
    compression::load_dictionaries,
    damage::Damage,
    ddl::open_table,
    encryption,
    engine::{Engine, Parts},
    memtables::Memtables,
    notes::{self, NOTES_TABLE, Note},
    options::Options,
    point::Restored,
    published,
    ranges::{RANGES_TABLE, TableRange},
    table::RowFormat,
    verify::verify,
    version::{DatabaseVersion, TableVersion},
    whole_file,
};
use crate::{
    catalog,
    catalog::CATALOG_TABLE,
    catalog::Catalog,
    catalog::roots::{CatalogRoots, TableRoots},
    transaction::pipeline::Pipeline,
};

pub(super) const LOCK_FILE: &str = "lock";
/// Digits of a database's id.
const ID_DIGITS: usize = 32;
pub(super) const NEW_PAGES_FILE: &str = "pages.new";

/// Ids of segments go on from the number of the checkpoint times this, so that none is given twice, not even that of a segment that is
/// gone: a backup may have its file.
const SEGMENTS_PER_CHECKPOINT: u64 = 1 << 20;

/// What opening found and did.
#[derive(Clone, Debug, Default)]
pub struct RecoveryReport {
    /// Whether the database was created.
    pub created: bool,
    /// Transactions that were in the log only.
    pub transactions: u64,
    /// Bytes of log that were read.
    pub log_bytes: u64,
    /// How long opening took.
    pub elapsed: Duration,
    /// The torn end of the log that was cut off, if there was one: what was never acknowledged as durable.
    pub cut: Option<Cut>,
    /// What is wrong with the superblock that was not used: after a crash a torn write, which is no loss.
    pub superblock: Option<String>,
}

impl RecoveryReport {
    /// Whether the database was closed in order before.
    pub fn is_clean(&self) -> bool {
        self.transactions == 0 && self.cut.is_none() && self.superblock.is_none()
    }
}

impl Engine {
    /// Opens the database in `env`, or creates it.
    pub fn open(env: Env, options: Options) -> Result<(Self, RecoveryReport)> {
        options.validate()?;
        if let Some(published) = Self::open_published(&env, &options)? {
            return Ok(published);
        }
        if options.beside {
            return Self::open_beside(env, options);
        }
        let started = env.clock.now();
        let lock = take_lock(&env, &options)?;
        assert!(options.read_only || lock.is_some(), "who writes a database has its lock");
        archive_mark::check_restored(&env.disk)?;
        backup_mark::leave(&env.disk, options.read_only)?;
        let place = archive_mark::read(&env.disk)?;
        let env = encryption::unlock(env, &options)?;
        let created = create_if_absent(&env, &options)?;
        let mut opening = Opening::checkpoint(&env, &options)?;
        opening.archive = place;
        if lock.is_some() && !options.read_only {
            mark(&env, opening.superblock.database_id);
        }
        let recovery = opening.replay_log()?;
        let clock = env.clock.clone();
        let mut report = RecoveryReport {
            created,
            transactions: recovery.transactions,
            log_bytes: recovery.bytes,
            cut: recovery.cut.clone(),
            superblock: opening.other_superblock.take(),
            elapsed: Duration::ZERO,
        };
        let engine = opening.finish(Some(recovery.position), lock)?;
        if !engine.options.read_only {
            engine.drop_unready_indexes()?;
            engine.sweep_postings()?;
        }
        engine.find_postings()?;
        report.elapsed = clock.now().saturating_sub(started);
        Ok((engine, report))
    }
}

pub(super) fn take_lock(env: &Env, options: &Options) -> Result<Option<Box<dyn Lock>>> {
    let lock = match env.disk.lock(LOCK_FILE, !options.read_only) {
        Ok(lock) => lock,
        // A reader of a directory that it may not write to goes without: nobody can write there.
        Err(error) if options.read_only && error.kind() == std::io::ErrorKind::PermissionDenied => {
            return Ok(None);
        }
        Err(error) if options.read_only && error.kind() == std::io::ErrorKind::NotFound => return Ok(None),
        Err(error) => return Err(Error::io(format!("locking {LOCK_FILE}"), error)),
    };
    match lock {
        Some(lock) => Ok(Some(lock)),
        None => {
            Err(Error::InUse("another process, or another handle in this one, has the database open".into()))
        }
    }
}

/// Whether there is no database and one may be created.
///
/// # Errors
/// [`Error::NotFound`] if none is to be created, [`Error::Damaged`] if there was one.
pub(super) fn may_create(env: &Env, options: &Options) -> Result<bool> {
    let names = env.disk.list().map_err(|error| Error::io("listing the database directory", error))?;
    if names.iter().any(|name| name == page::NAME) {
        return Ok(false);
    }
    if let Some(database) = marked(env, &names) {
        return Err(Error::damaged(
            page::NAME,
            0,
            format!(
                "the file is missing, but the database {database} was here; put it back from a copy, or remove {LOCK_FILE} to begin anew"
            ),
        ));
    }
    if options.read_only || !options.create {
        return Err(Error::NotFound("a database in this directory (it has no file \"pages\")".into()));
    }
    if let Some(log) = names.iter().find(|name| name.starts_with("log-")) {
        return Err(Error::damaged(
            page::NAME,
            0,
            format!("the file is missing, but there is a log ({log})"),
        ));
    }
    if let Some(name) = names.iter().find(|name| published::is_of_publication(name)) {
        return Err(Error::Invalid(format!(
            "the directory has what is left of a publication that was broken off ({name}); publish again, or remove the directory"
        )));
    }
    Ok(true)
}

fn create_if_absent(env: &Env, options: &Options) -> Result<bool> {
    if !may_create(env, options)? {
        return Ok(false);
    }
    whole_file::remove_if_there(&env.disk, NEW_PAGES_FILE)?;
    let file = env
        .disk
        .open(NEW_PAGES_FILE, OpenMode::Create)
        .map_err(|error| Error::io(format!("creating {NEW_PAGES_FILE}"), error))?;
    let superblock = Superblock {
        page_size: options.page_size as u32,
        database_id: u128::from(env.chance.next_u64()) << 64 | u128::from(env.chance.next_u64()),
        sequence: 1,
        timestamp: Timestamp(0),
        log_from: Lsn(0),
        file_pages: page::reserved_pages(options.page_size),
        free_list: FreeListRoot::default(),
        catalog: TreeMeta::default().encode().to_vec(),
        other: beside::note(Timestamp(0)),
    };
    debug_assert!(
        TreeMeta::decode(&superblock.catalog).is_some_and(|catalog| catalog.is_empty()),
        "a new database has an empty catalog"
    );
    file.set_len(superblock.file_pages * options.page_size as u64)
        .map_err(|error| Error::io(format!("writing {NEW_PAGES_FILE}"), error))?;
    superblock.write(&*file)?;
    file.sync().map_err(|error| Error::io(format!("syncing {NEW_PAGES_FILE}"), error))?;
    let renamed = env.disk.rename(NEW_PAGES_FILE, page::NAME).and_then(|()| env.disk.sync_directory());
    renamed.map_err(|error| Error::io(format!("renaming {NEW_PAGES_FILE} to {}", page::NAME), error))?;
    Ok(true)
}

/// The database that the lock file says is here: its id in hexadecimal digits.
fn marked(env: &Env, names: &[String]) -> Option<String> {
    names.iter().find(|name| *name == LOCK_FILE)?;
    let file = env.disk.open(LOCK_FILE, OpenMode::Read).ok()?;
    let mut digits = [0; ID_DIGITS];
    file.read_at(&mut digits, 0).ok()?;
    let digits = std::str::from_utf8(&digits).ok()?;
    digits.bytes().all(|digit| digit.is_ascii_hexdigit()).then(|| digits.to_owned())
}

/// Writes the database's id into the lock file, if it is not there, so that lost pages are told from a directory that never had
/// any. A help and no promise: a failure, such as a full disk, keeps nobody from opening.
fn mark(env: &Env, database: u128) {
    let mark = || -> std::io::Result<()> {
        if marked(env, &env.disk.list()?).is_none() {
            let file = match env.disk.open(LOCK_FILE, OpenMode::ReadWrite) {
                Err(error) if error.kind() == std::io::ErrorKind::NotFound => {
                    env.disk.open(LOCK_FILE, OpenMode::Create)?
                }
                file => file?,
            };
            file.write_at(format!("{database:0ID_DIGITS$x}").as_bytes(), 0)?;
            file.sync()?;
        }
        Ok(())
    };
    let _ = mark();
}

/// A database that is being opened.
pub(super) struct Opening {
    env: Env,
    options: Options,
    /// Where the log is archived.
    archive: Option<String>,
    /// What is known of the log that is replayed, if it is an archived one.
    pub(super) restored: Option<Restored>,
    store: Arc<PageStore>,
    segments: Arc<SegmentStore>,
    memtables: Memtables,
    pub(super) superblock: Superblock,
    other_superblock: Option<String>,
    version: DatabaseVersion,
    checkpoint: CheckpointState,
    pub(super) last: Timestamp,
    dropped: Vec<Arc<TableVersion>>,
    fresh_blobs: Vec<FreshBlob>,
    pub(super) replayed_bytes: usize,
    /// Formats of tables whose keys end in a number, to go on counting.
    numbered: std::collections::HashMap<TableId, RowFormat>,
    /// Who reads beside this process, if that writes.
    readers: Option<Watch>,
    /// Files that no checkpoint names, and that readers of an older one may have; none if there are no such readers.
    left: Option<Vec<u64>>,
    /// How it is read beside another process.
    pub(super) beside: Option<Beside>,
}

impl Opening {
    /// Loads the last checkpoint.
    pub(super) fn checkpoint(env: &Env, options: &Options) -> Result<Self> {
        let mode = if options.read_only { OpenMode::Read } else { OpenMode::ReadWrite };
        let file = env
            .disk
            .open(page::NAME, mode)
            .map_err(|error| Error::io(format!("opening {}", page::NAME), error))?;
        let opened = Superblock::open(&*file)?;
        let superblock = opened.superblock;
        if !options.read_only {
            // After a failed sync and a restart the page cache shows what the device does not have: before anything builds on this
            // checkpoint it is written again.
            superblock.write_again(&*file)?;
            file.sync().map_err(|error| Error::io(format!("syncing {}", page::NAME), error))?;
        }
        let page_options = page_options(&superblock, options);
        let store = PageStore::open(file.clone(), &page_options, &superblock)?;
        Self::of_store(env, options, store, &page_options.memory, superblock, opened.other)
    }

    /// As [`Opening::checkpoint`], of a store with its superblock.
    pub(super) fn of_store(
        env: &Env,
        options: &Options,
        store: Arc<PageStore>,
        memory: &Arc<MemoryBudget>,
        superblock: Superblock,
        other_superblock: Option<String>,
    ) -> Result<Self> {
        let meta = catalog_root(&superblock)?;
        let segments = SegmentStore::new(env.disk.clone(), superblock.database_id, memory);
        segments.partials().turn(options.keep_partials);
        let (catalog, mut roots) = read_catalog(&store, meta)?;
        let unknown = segments.sweep(&roots.segments().collect())?;
        let readers = (!options.read_only).then(|| Watch::new(env.disk.clone()));
        let held = readers.as_ref().and_then(|readers| readers.held().oldest);
        let left = match held.filter(|oldest| *oldest < superblock.sequence) {
            Some(_) => Some(unknown),
            None if options.read_only => None,
            None => {
                unknown.into_iter().try_for_each(|id| segments.remove(id))?;
                None
            }
        };
        segments.note_id((superblock.sequence - 1).saturating_mul(SEGMENTS_PER_CHECKPOINT));
        load_dictionaries(&store, &catalog)?;
        let catalog_pages = Tree::open(store.clone(), meta).all_pages()?;
        let memtables = Memtables::new(options);
        let mut version = DatabaseVersion {
            compacted: superblock.timestamp,
            catalog: Arc::new(catalog),
            tables: Default::default(),
            since: superblock.timestamp,
            beyond: Timestamp(0),
            index_epoch: 0,
            stem: None,
            under_ranges: None,
        };
        let mut numbered = std::collections::HashMap::new();
        for (id, definition) in version.catalog.clone().all() {
            let place = Stores { pages: &store, segments: &segments, part_bytes: options.part_bytes };
            let table = open_table(&memtables, place, id, &version.catalog, superblock.timestamp)?;
            let mut table = with_roots(table, roots.remove(id))?;
            if options.beside {
                table = beside::hidden(table, &definition.name);
            }
            version.tables.insert(id, table);
            note_numbered(&mut numbered, id, definition)?;
        }
        Ok(Self {
            checkpoint: CheckpointState::new(&superblock, catalog_pages),
            env: env.clone(),
            memtables,
            options: options.clone(),
            archive: None,
            restored: None,
            store,
            segments,
            last: superblock.timestamp,
            superblock,
            other_superblock,
            version,
            dropped: Vec::new(),
            fresh_blobs: Vec::new(),
            replayed_bytes: 0,
            numbered,
            readers,
            left,
            beside: None,
        })
    }

    /// Brings everything that is only in the log into memtables.
    fn replay_log(&mut self) -> Result<Recovery> {
        let disk = self.env.disk.clone();
        let start = Start { from: self.superblock.log_from, after: self.superblock.timestamp };
        let access = match (self.options.read_only, self.options.keep_log_bytes) {
            (true, _) => Access::ReadOnly,
            (false, _) if self.archive.is_some() => Access::WriteAndArchive,
            (false, 0) => Access::Write,
            (false, _) => Access::WriteAndKeep,
        };
        log::recover(&disk, self.superblock.database_id, start, access, |at, operations| {
            self.replay(at, operations)
        })
    }

    pub(super) fn replay(&mut self, at: Timestamp, operations: Operations<'_>) -> Result<()> {
        assert!(at > self.version.compacted, "what the checkpoint has is not replayed");
        self.last = self.last.max(at);
        for operation in operations {
            let operation = operation?;
            match operation.table {
                CATALOG_TABLE => self.replay_catalog(at, &operation)?,
                RANGES_TABLE => self.replay_range(at, &operation)?,
                NOTES_TABLE => self.replay_note(at, &operation)?,
                _ => self.replay_row(at, &operation)?,
            }
        }
        Ok(())
    }

    fn replay_catalog(&mut self, at: Timestamp, operation: &Operation<'_>) -> Result<()> {
        let catalog = Arc::make_mut(&mut self.version.catalog);
        let damaged = |what: String| Error::damaged("log", 0, format!("the transaction {at}: {what}"));
        let was_unready = |catalog: &Catalog, id| {
            let definition = catalog.table(id).and_then(|definition| definition.index.as_ref());
            definition.is_some_and(|index| !index.ready)
        };
        let unready = catalog::table_row(operation.key).filter(|id| was_unready(catalog, *id));
        catalog.apply(operation.key, operation.record).map_err(damaged)?;
        let Some(id) = catalog::table_row(operation.key) else { return Ok(()) };
        if let (Some(restored), Some(_)) = (&mut self.restored, unready)
            && catalog.index_unready(id)
        {
            // The log has the entries of later rows only.
            restored.to_build.insert(id);
        }
        match catalog.table(id).cloned() {
            None => {
                // Its pages are part of the checkpoint; the next one retires them.
                self.dropped.extend(self.version.tables.remove(&id));
                self.numbered.remove(&id);
                if let Some(restored) = &mut self.restored {
                    restored.stale.remove(&id);
                }
            }
            Some(definition) if !self.version.tables.contains_key(&id) => {
                let part_bytes = self.options.part_bytes;
                let place = Stores { pages: &self.store, segments: &self.segments, part_bytes };
                let table = open_table(&self.memtables, place, id, &self.version.catalog, at)?;
                self.version.tables.insert(id, table);
                note_numbered(&mut self.numbered, id, &definition)?;
            }
            // Renamed, or its options or columns changed. The checkpoint knows its storage better.
            Some(definition) => {
                let storage = self.version.tables[&id].shared.storage;
                if definition.storage != storage {
                    Arc::make_mut(&mut self.version.catalog).set_storage(id, storage)?;
                }
                self.version.reform(id)?;
            }
        }
        Ok(())
    }

    /// The table that a transaction writes to; none if nothing of that is left.
    fn written_table(
        version: &DatabaseVersion,
        at: Timestamp,
        id: TableId,
    ) -> Result<Option<&Arc<TableVersion>>> {
        let Some(table) = version.tables.get(&id) else {
            // Written before the table was dropped; the checkpoint, or an earlier row of the log, knows that it is gone.
            return match version.catalog.was_used(id) {
                true => Ok(None),
                false => Err(Error::damaged(
                    "log",
                    0,
                    format!("the transaction {at} writes to table {id}, which never was"),
                )),
            };
        };
        // It was logged before the checkpoint moved it to memory, where nothing of it is left.
        Ok(Some(table).filter(|table| table.is_durable()))
    }

    fn replay_range(&mut self, at: Timestamp, operation: &Operation<'_>) -> Result<()> {
        let range = TableRange::decode(operation).ok_or_else(|| {
            Error::damaged("log", 0, format!("the transaction {at} deletes a range that cannot be read"))
        })?;
        if let Some(table) = Self::written_table(&self.version, at, range.table)? {
            range.delete_in(&table.active, at, at);
            self.replayed_bytes +=
                operation.key.len() + operation.record.bytes.len() + super::commit::ROW_OVERHEAD;
        }
        Ok(())
    }

    /// Notes are for who restores an archived log.
    fn replay_note(&mut self, at: Timestamp, operation: &Operation<'_>) -> Result<()> {
        let Some(restored) = &mut self.restored else { return Ok(()) };
        match Note::decode(operation).ok_or_else(|| notes::damaged(at))? {
            Note::LongValue(bytes) => restored.long_value = Some(bytes.to_vec()),
            Note::Unlogged(table) => {
                let is_kept = |table: &Arc<TableVersion>| table.is_durable() && table.shared.logged;
                if self.version.tables.get(&table).is_some_and(is_kept) {
                    restored.stale.entry(table).or_insert(at);
                }
            }
            Note::Begin => {}
        }
        Ok(())
    }

    /// Writes the long value of a row of an archived log to pages of its own. Returns its record; none if the log does not have it.
    fn restore_long(&mut self, at: Timestamp, operation: &Operation<'_>) -> Result<Option<Vec<u8>>> {
        let restored = self.restored.as_mut().expect("an archived log is replayed");
        let Some(value) = restored.long_value.take() else {
            restored.stale.entry(operation.table).or_insert(at);
            return Ok(None);
        };
        let (store, blob) = Engine::write_blob(&self.version, operation.table, &value)?;
        let record = blob.encode();
        self.fresh_blobs.push(FreshBlob { table: operation.table, store, at, blob });
        Ok(Some(record))
    }

    fn replay_row(&mut self, at: Timestamp, operation: &Operation<'_>) -> Result<()> {
        if Self::written_table(&self.version, at, operation.table)?.is_none() {
            return Ok(());
        }
        let is_long = operation.record.kind == RecordKind::Blob;
        if is_long && self.restored.is_some() {
            let Some(bytes) = self.restore_long(at, operation)? else { return Ok(()) };
            let record = Record { kind: RecordKind::Blob, bytes: &bytes };
            return self.insert_row(at, &Operation { record, ..*operation });
        }
        if is_long {
            let blob = BlobRef::decode(operation.record.bytes).ok_or_else(|| {
                Error::damaged(
                    "log",
                    0,
                    format!("the transaction {at} has a blob reference that cannot be read"),
                )
            })?;
            let store = self.version.table(operation.table)?.shared.store.clone();
            self.store.reserve(blob.pages().iter().copied())?;
            self.fresh_blobs.push(FreshBlob { table: operation.table, store, at, blob });
        }
        self.insert_row(at, operation)
    }

    fn insert_row(&mut self, at: Timestamp, operation: &Operation<'_>) -> Result<()> {
        let Some(table) = Self::written_table(&self.version, at, operation.table)? else { return Ok(()) };
        if let Some(number) =
            self.numbered.get(&operation.table).and_then(|format| format.number_of(operation.key))
        {
            table.shared.note_row_number(number);
        }
        self.replayed_bytes +=
            operation.key.len() + operation.record.bytes.len() + super::commit::ROW_OVERHEAD;
        // No snapshot is older than what is being replayed: only the newest versions are kept.
        let inserted = table.active.insert(operation.key, at, operation.record, at);
        inserted.map(drop).map_err(|full| {
            Error::Invalid(format!(
                "the log holds more than memtable_bytes {} can take ({full}); open with more",
                self.options.memtable_bytes
            ))
        })
    }

    /// `position`: where the log goes on, if it is written.
    pub(super) fn finish(
        mut self,
        position: Option<LogPosition>,
        lock: Option<Box<dyn Lock>>,
    ) -> Result<Engine> {
        self.version.attach_indexes()?;
        if cfg!(debug_assertions) {
            // What is read from files is damaged where it breaks an invariant.
            verify(&self.version, None).map_err(|what| Error::damaged(page::NAME, 0, what))?;
        }
        assert!(self.last >= self.version.compacted, "the newest commit is no older than the checkpoint");
        // What the log brought to the catalog is in every checkpoint from now on, rows that it brought only in those of later moments.
        self.version.beyond = self.last;
        if let Some(left) = self.left.take() {
            self.checkpoint.hold_free(&self.store, &self.segments, left);
        }
        let log_options = LogOptions {
            segment_bytes: self.options.log_segment_bytes,
            compress: self.options.log_compression,
        };
        let mut writer = position.filter(|_| !self.options.read_only).map(|position| {
            LogWriter::new(self.env.disk.clone(), log_options, self.superblock.database_id, position)
        });
        if let Some(log) = &mut writer {
            log.keep(self.options.keep_log_bytes)?;
            log.archive(self.archive.is_some());
            log.note_times(self.env.clock.clone());
        }
        let pipeline = Pipeline::new(self.last, writer, self.store.clone());
        Ok(Engine::new(Parts {
            options: self.options,
            store: self.store,
            clock: self.env.clock.clone(),
            segments: self.segments,
            version: self.version,
            memtables: self.memtables,
            pipeline,
            checkpoint: self.checkpoint,
            dropped: self.dropped,
            fresh_blobs: self.fresh_blobs,
            memtable_bytes: self.replayed_bytes,
            archiver: Archiver::new(self.env.directories.clone(), self.archive),
            readers: self.readers,
            beside: self.beside,
            lock,
        }))
    }
}

fn page_options(superblock: &Superblock, options: &Options) -> PageStoreOptions {
    PageStoreOptions {
        page_size: superblock.page_size as usize,
        memory: MemoryBudget::new(options.cache_bytes),
    }
}

/// The root of the catalog's tree.
pub(super) fn catalog_root(superblock: &Superblock) -> Result<TreeMeta> {
    TreeMeta::decode(&superblock.catalog)
        .ok_or_else(|| Error::damaged(page::NAME, 0, "the superblock's catalog root cannot be read"))
}

fn note_numbered(
    numbered: &mut std::collections::HashMap<TableId, RowFormat>,
    id: TableId,
    definition: &Arc<catalog::TableDefinition>,
) -> Result<()> {
    if definition.has_hidden_key() || definition.auto_increment {
        numbered.insert(id, RowFormat::new(definition.clone())?);
    }
    Ok(())
}

/// Definitions and roots from a checkpoint's catalog.
pub(super) fn read_catalog(store: &Arc<PageStore>, meta: TreeMeta) -> Result<(Catalog, CatalogRoots)> {
    let (mut catalog, mut roots) = (Catalog::default(), CatalogRoots::default());
    if meta.is_empty() {
        return Ok((catalog, roots));
    }
    let damaged = |what: String| Error::damaged(page::NAME, 0, format!("the catalog: {what}"));
    let mut cursor = Tree::open(store.clone(), meta).cursor();
    let mut there = cursor.seek_first()?;
    while there {
        let value = whole(store, CATALOG_TABLE, cursor.record())?;
        if !roots.take(cursor.key(), &value).map_err(damaged)? {
            catalog.apply(cursor.key(), Record::inline(&value)).map_err(damaged)?;
        }
        there = cursor.next()?;
    }
    Ok((catalog, roots))
}

/// A table with its runs and its base. If that cannot be read, neither can the table.
pub(super) fn with_roots(mut table: Arc<TableVersion>, roots: TableRoots) -> Result<Arc<TableVersion>> {
    let version = Arc::make_mut(&mut table);
    version.shared.next_row.fetch_max(roots.next_row.max(1), Ordering::Relaxed);
    if !version.is_durable() {
        return Ok(table);
    }
    let (id, store) = (version.shared.id, &version.shared.store);
    version.runs = roots.runs.into_iter().map(|meta| Tree::open(store.clone(), meta)).collect();
    let damaged = |what| Error::damaged(page::NAME, 0, format!("the catalog: table {id}: {what}"));
    let pages = version.base.pages_of(&roots.base).map_err(damaged)?;
    match version.base.open(&roots.base, store) {
        Ok(base) => version.base = base,
        Err(error) => {
            version.damage = Some(Arc::new(Damage::of(error, roots.base, pages)?));
            version.is_held = true;
        }
    }
    Ok(table)
}
