//! Reading beside the process that writes: from its checkpoints, without the log.
//!
//! # Rules
//!
//! 1. A reader has a place in the file `readers` ([`ambo_pages::readers`]), where it says the oldest checkpoint that it reads. What that
//!    and all later ones have stays as it is.
//! 2. It follows: a later checkpoint becomes the next version of the database, whose timestamp is the one of the checkpoint. Tables whose
//!    roots are the same go on as they are, with what is cached of them.
//! 3. A version that was replaced is held as long as somebody reads it. Then the pages that only it had leave the pool, and after that the
//!    place names the next one. In that order: once the place says so, they may be written anew.
//! 4. Only checkpoints of one moment are read. A load, or a change of the catalog, is in the next checkpoint, whatever is not yet flushed
//!    of what was committed before it; the superblock says so, and the reader waits for the next one.
//! 5. If it cannot follow for some seconds, it says so to whoever reads, and does not go on to show what is old.
//!
//! What the superblock's other fields are, of a database that looks out for readers:
//!
//! | offset | size | meaning |
//! |---|---|---|
//! | 0 | 1 | 1 |
//! | 1 | 8 | timestamp of the newest commit that the checkpoint shows, whatever its own timestamp |
//!
//! Of a checkpoint without later commits that is zero or its timestamp at most: `01 00 00 00 00 00 00 00 00` of a new database.

use std::{
    collections::{HashMap, VecDeque},
    sync::{Arc, Weak},
    time::Duration,
};

use ambo_base::btree::Tree;
use ambo_pages::budget::MemoryBudget;
use ambo_pages::{
    io::{Env, File, OpenMode},
    page::{self, PageStore, PageStoreOptions, RetiredPages, superblock::Superblock},
    readers::{NOTHING, Reader},
    seal::key_file,
    sync::{AtomicU64, Ordering},
};
use ambo_types::{
    Error, Result,
    id::{TableId, Timestamp},
};
use parking_lot::Mutex;

use super::{
    archive_mark, backup_mark,
    checkpoint::CheckpointState,
    compression::load_dictionaries,
    damage::Damage,
    ddl::open_table,
    encryption,
    engine::Engine,
    open::{Opening, RecoveryReport, catalog_root, may_create, read_catalog, with_roots},
    options::Options,
    verify::verify,
    version::{DatabaseVersion, TableVersion},
};
use crate::catalog::{
    Catalog,
    roots::{CatalogRoots, TableRoots},
};

/// How often it looks whether there is a later checkpoint, when nobody begins to read.
pub(super) const FOLLOWED_EVERY: Duration = Duration::from_millis(500);
/// How often it looks at most when many begin to read.
const LOOKED_EVERY: Duration = Duration::from_millis(10);
/// How long it shows what is old when it cannot follow.
const LOST_AFTER: Duration = Duration::from_secs(5);
/// How often superblocks are read again that are being written, or torn.
const TORN_TRIES: u32 = 10;
/// How long to wait between two looks at something that another process does.
const WAIT: Duration = Duration::from_millis(2);
/// How long opening waits for a checkpoint that is of one moment.
const OPENING: Duration = Duration::from_secs(5);

const NOTE_VERSION: u8 = 1;
const NOTE_BYTES: usize = 9;
const _: () = assert!(NOTE_BYTES == size_of::<u8>() + size_of::<Timestamp>());
const _: () = assert!(NOTE_BYTES <= page::superblock::OTHER_BYTES_MAX);

/// What a superblock says of the newest commit that its checkpoint shows.
pub(super) fn note(beyond: Timestamp) -> Vec<u8> {
    [&[NOTE_VERSION][..], &beyond.0.to_le_bytes()].concat()
}

/// The newest commit that a checkpoint shows; none if it was written by a program that does not look out for readers.
fn noted(superblock: &Superblock) -> Option<Timestamp> {
    let (version, beyond) = superblock.other.split_first()?;
    let beyond = beyond.first_chunk::<8>().filter(|_| *version == NOTE_VERSION)?;
    Some(Timestamp(u64::from_le_bytes(*beyond)))
}

/// Whether a checkpoint is of one moment.
pub(super) fn is_whole(superblock: &Superblock) -> bool {
    noted(superblock).is_some_and(|beyond| beyond <= superblock.timestamp)
}

/// How a database is read beside its writer.
pub(super) struct Beside {
    env: Env,
    file: Arc<dyn File>,
    reader: Arc<Reader>,
    following: Mutex<Following>,
    /// When to look next, in nanoseconds of the clock.
    next_look: AtomicU64,
}

struct Following {
    /// The checkpoint of the current version.
    sequence: u64,
    database_id: u128,
    roots: HashMap<TableId, TableRoots>,
    /// Versions that were replaced and may still be read, oldest first.
    older: VecDeque<Older>,
    /// Pages that the newest checkpoint has no more, and the current version may have.
    retiring: Vec<RetiredPages>,
    /// Since when it cannot follow.
    lost: Option<Duration>,
    /// Whether that is said to those who read.
    is_refused: bool,
}

/// A version that was replaced.
struct Older {
    sequence: u64,
    version: Weak<DatabaseVersion>,
    /// Leave the pool when nobody reads it any more.
    _retired: Vec<RetiredPages>,
}

impl Beside {
    /// Lets go of what nobody reads any more.
    fn settle(&self, following: &mut Following) -> Result<()> {
        let before = following.older.len();
        while following.older.front().is_some_and(|older| older.version.strong_count() == 0) {
            // Its pages leave the pool here.
            following.older.pop_front();
        }
        match following.older.len() < before {
            true => {
                let oldest = following.older.front().map_or(following.sequence, |older| older.sequence);
                self.reader.hold(oldest)
            }
            false => Ok(()),
        }
    }
}

/// The newer superblock, of a file that may be written meanwhile.
fn newest(file: &dyn File) -> Result<Superblock> {
    let mut tries = 0;
    loop {
        match Superblock::open(file) {
            Ok(opened) if opened.other.is_none() || tries >= TORN_TRIES => return Ok(opened.superblock),
            Ok(_) => {}
            // Read while both were written in turn.
            Err(Error::Damaged { .. }) if tries < TORN_TRIES => {}
            Err(error) => return Err(error),
        }
        tries += 1;
        std::thread::sleep(WAIT);
    }
}

/// The newest checkpoint of one moment, held.
fn hold_newest(file: &dyn File, reader: &Reader) -> Result<Superblock> {
    let (mut asked, mut left) = (false, OPENING.as_nanos() / WAIT.as_nanos());
    loop {
        let superblock = newest(file)?;
        check_noted(&superblock)?;
        if is_whole(&superblock) {
            reader.hold(superblock.sequence)?;
            if newest(file)?.sequence == superblock.sequence {
                return Ok(superblock);
            }
            continue;
        }
        reader.hold(NOTHING)?;
        if !asked {
            reader.ask()?;
            asked = true;
        }
        if left == 0 {
            return Err(Error::InUse(
                "the last checkpoint is not of one moment, and nobody completes it: the process that writes is busy, or was killed; try again, or open the database for writing once".into(),
            ));
        }
        left -= 1;
        std::thread::sleep(WAIT);
    }
}

fn check_noted(superblock: &Superblock) -> Result<()> {
    match noted(superblock) {
        Some(_) => Ok(()),
        None => Err(Error::Invalid(
            "the database was last written by a program that does not look out for readers in other processes; open it for writing once with this version".into(),
        )),
    }
}

impl Engine {
    /// Opens the database in `env` beside the process that writes it.
    pub(super) fn open_beside(env: Env, options: Options) -> Result<(Self, RecoveryReport)> {
        let started = env.clock.now();
        let options = Options { read_only: true, create: false, ..options };
        archive_mark::check_restored(&env.disk)?;
        if backup_mark::read(&env.disk)?.is_some() {
            return Err(Error::Invalid(
                "a backup is not written to, and needs nobody who looks out for readers; open it read-only"
                    .into(),
            ));
        }
        may_create(&env, &options)?;
        let env = encryption::unlock(env, &options)?;
        let file = env
            .disk
            .open(page::NAME, OpenMode::Read)
            .map_err(|error| Error::io(format!("opening {}", page::NAME), error))?;
        let reader = Arc::new(Reader::join(&*env.disk, env.chance.next_u64())?);
        let superblock = hold_newest(&*file, &reader)?;
        let memory = MemoryBudget::new(options.cache_bytes);
        let page_options =
            PageStoreOptions { page_size: superblock.page_size as usize, memory: memory.clone() };
        let store = PageStore::open_beside(file.clone(), &page_options, &superblock, reader.clone())?;
        let following = Following {
            sequence: superblock.sequence,
            database_id: superblock.database_id,
            roots: HashMap::new(),
            older: VecDeque::new(),
            retiring: Vec::new(),
            lost: None,
            is_refused: false,
        };
        let mut opening = Opening::of_store(&env, &options, store, &memory, superblock, None)?;
        let clock = env.clock.clone();
        opening.beside = Some(Beside {
            env,
            file,
            reader,
            following: Mutex::new(following),
            next_look: AtomicU64::new(0),
        });
        let engine = opening.finish(None, None)?;
        let elapsed = clock.now().saturating_sub(started);
        Ok((engine, RecoveryReport { elapsed, ..RecoveryReport::default() }))
    }

    /// Whether it is read beside a process that writes.
    pub fn is_beside(&self) -> bool {
        self.beside.is_some()
    }

    /// Follows the process that writes, if it is read beside one and the last look was not just now.
    #[inline]
    pub(super) fn look(&self) {
        if let Some(beside) = &self.beside {
            self.look_due(beside);
        }
    }

    #[cold]
    fn look_due(&self, beside: &Beside) {
        let now = self.clock.now().as_nanos() as u64;
        let due = beside.next_look.load(Ordering::Relaxed);
        let next = now + LOOKED_EVERY.as_nanos() as u64;
        // One of those who begin at once looks.
        if now >= due
            && beside.next_look.compare_exchange(due, next, Ordering::Relaxed, Ordering::Relaxed).is_ok()
        {
            self.look_now();
        }
    }

    /// Follows the process that writes, if there is one, unless somebody is about it, or keeps the checkpoint.
    pub(super) fn look_now(&self) {
        let Some(beside) = &self.beside else { return };
        let (Some(mut checkpoint), Some(mut following)) =
            (self.checkpoint.try_lock(), beside.following.try_lock())
        else {
            return;
        };
        let Err(error) = self.follow(beside, &mut following, &mut checkpoint) else { return };
        let now = self.clock.now();
        let since = *following.lost.get_or_insert(now);
        if now.saturating_sub(since) >= LOST_AFTER && !following.is_refused {
            self.refuse(&mut following, &error);
        }
    }

    /// Sees everything that was committed until now in whatever process: that one is asked for a checkpoint, and waited for. Returns
    /// the moment that is seen. At once where the database is not read beside another process. If no process writes the database, what
    /// the last one left in its last checkpoint is seen.
    ///
    /// # Errors
    /// [`Error::InUse`] if the process that writes does not answer in time; why the checkpoint cannot be read.
    pub fn refresh(&self, timeout: Duration) -> Result<Timestamp> {
        let Some(beside) = &self.beside else { return Ok(self.pipeline.publisher.published()) };
        let request = beside.reader.ask()?;
        let mut left = (timeout.as_nanos() / WAIT.as_nanos()).max(1);
        while !beside.reader.is_answered(request)? {
            if left == 0 {
                match beside.reader.has_writer()? {
                    true => {
                        return Err(Error::InUse(format!(
                            "the process that writes the database has not made a checkpoint within {timeout:?}; try again, or allow more time"
                        )));
                    }
                    false => break,
                }
            }
            left -= 1;
            std::thread::sleep(WAIT);
        }
        let mut checkpoint = self.checkpoint.lock();
        self.follow(beside, &mut beside.following.lock(), &mut checkpoint)?;
        Ok(self.pipeline.publisher.published())
    }

    /// Makes the newest checkpoint the current version, if it is another.
    fn follow(
        &self,
        beside: &Beside,
        following: &mut Following,
        checkpoint: &mut CheckpointState,
    ) -> Result<()> {
        beside.settle(following)?;
        let superblock = newest(&*beside.file)?;
        if superblock.database_id != following.database_id || superblock.sequence < following.sequence {
            return Err(Error::Invalid("the directory has another database by now; open it again".into()));
        }
        check_noted(&superblock)?;
        let is_seen = superblock.sequence == following.sequence && following.lost.is_none();
        if is_seen || !is_whole(&superblock) {
            return Ok(());
        }
        let followed = match self.next_of(following, &superblock) {
            Err(_) if self.learn_keys(beside)? => self.next_of(following, &superblock)?,
            next => next?,
        };
        let old = self.install_followed(followed.version, superblock.timestamp);
        self.find_postings()?;
        let retired = std::mem::take(&mut following.retiring);
        let version = Arc::downgrade(&old);
        following.older.push_back(Older { sequence: following.sequence, version, _retired: retired });
        drop(old);
        following.sequence = superblock.sequence;
        following.roots = followed.roots;
        (following.lost, following.is_refused) = (None, false);
        checkpoint.follow(superblock, followed.catalog_pages);
        beside.settle(following)
    }

    /// Reads what a checkpoint has.
    fn next_of(&self, following: &mut Following, superblock: &Superblock) -> Result<Followed> {
        following.retiring.push(self.store.follow(superblock)?);
        let meta = catalog_root(superblock)?;
        let (catalog, roots) = read_catalog(&self.store, meta)?;
        load_dictionaries(&self.store, &catalog)?;
        let current = self.versions.load_full();
        let catalog = match rows_of(&catalog) == rows_of(&current.catalog) {
            true => current.catalog.clone(),
            false => Arc::new(catalog),
        };
        let (tables, roots) = self.tables_of(&current, following, &catalog, roots, superblock.timestamp)?;
        let mut version = DatabaseVersion {
            compacted: superblock.timestamp,
            catalog,
            since: superblock.timestamp,
            beyond: superblock.timestamp,
            index_epoch: current.index_epoch,
            stem: None,
            under_ranges: None,
            tables,
        };
        version.attach_indexes()?;
        if cfg!(debug_assertions) {
            verify(&version, None).map_err(|what| Error::damaged(page::NAME, 0, what))?;
        }
        let catalog_pages = Tree::open(self.store.clone(), meta).all_pages()?;
        Ok(Followed { version, roots, catalog_pages })
    }

    /// The tables of a checkpoint. Those that are as they were go on.
    fn tables_of(
        &self,
        current: &DatabaseVersion,
        following: &Following,
        catalog: &Catalog,
        mut found: CatalogRoots,
        at: Timestamp,
    ) -> Result<(Tables, HashMap<TableId, TableRoots>)> {
        let (mut tables, mut kept) = (Tables::default(), HashMap::new());
        for (id, definition) in catalog.all() {
            let roots = TableRoots { next_row: 0, ..found.remove(id) };
            let same = current.catalog.table(id).is_some_and(|before| before == definition)
                && following.roots.get(&id).is_some_and(|before| *before == roots);
            let table = match current.tables.get(&id).filter(|table| same && table.damage.is_none()) {
                Some(table) => table.clone(),
                None => {
                    let table = open_table(&self.memtables, self.place(), id, catalog, at)?;
                    hidden(with_roots(table, roots.clone())?, &definition.name)
                }
            };
            tables.insert(id, table);
            kept.insert(id, roots);
        }
        Ok((tables, kept))
    }

    /// Installs a version that another process has made. Returns the one before.
    fn install_followed(&self, version: DatabaseVersion, at: Timestamp) -> Arc<DatabaseVersion> {
        let _versions = self.version_lock.lock();
        let old = self.versions.load_full();
        // The version first: a snapshot that has found the moment before waits for this one; none has the old version at the new moment.
        self.install_version(version);
        self.pipeline.publisher.skip_to(at);
        self.snapshots.refresh(&self.pipeline.publisher);
        old
    }

    /// Has everybody who reads from now on be told why this process cannot follow.
    fn refuse(&self, following: &mut Following, error: &Error) {
        let _versions = self.version_lock.lock();
        let old = self.versions.load_full();
        let mut version = (*old).clone();
        let what = format!("the process that writes the database cannot be followed any more: {error}");
        let refused = Arc::new(Damage::elsewhere(what));
        for table in version.tables.values_mut() {
            Arc::make_mut(table).damage = Some(refused.clone());
        }
        self.install_version(version);
        // Who has begun before goes on to read.
        let version = Arc::downgrade(&old);
        following.older.push_back(Older { sequence: following.sequence, version, _retired: Vec::new() });
        following.is_refused = true;
    }

    /// Reads the keys of an encrypted database again, which may have more by now. Whether they have.
    fn learn_keys(&self, beside: &Beside) -> Result<bool> {
        let (Some(sealed), Some(source)) = (beside.env.disk.sealed(), &self.options.key) else {
            return Ok(false);
        };
        key_file::learn(&**sealed.inner(), sealed.keys(), source)
    }
}

type Tables = HashMap<TableId, Arc<TableVersion>, std::hash::BuildHasherDefault<super::version::IdHasher>>;

/// What was read of a checkpoint.
struct Followed {
    version: DatabaseVersion,
    roots: HashMap<TableId, TableRoots>,
    catalog_pages: Vec<page::PageRange>,
}

fn rows_of(catalog: &Catalog) -> Vec<(Vec<u8>, Vec<u8>)> {
    catalog.rows().into_iter().chain(catalog.view_rows()).chain(catalog.object_rows()).collect()
}

/// Says of a table in memory that its rows are in the other process.
pub(super) fn hidden(mut table: Arc<TableVersion>, name: &str) -> Arc<TableVersion> {
    if !table.is_durable() {
        let what = format!(
            "the rows of \"{name}\" are in the memory of the process that writes the database (storage memory), and are not seen from others; ask that process, or give the table another storage"
        );
        let table = Arc::make_mut(&mut table);
        table.damage = Some(Arc::new(Damage::elsewhere(what)));
        table.is_held = true;
    }
    table
}

#[cfg(test)]
mod tests {
    use super::*;
    use ambo_pages::page::FreeListRoot;
    use ambo_types::id::Lsn;

    // Keeps away: a checkpoint that shows half of what was committed, and one whose writer does not look out.
    #[test]
    fn a_superblock_says_whether_it_is_of_one_moment() {
        let superblock = |other| Superblock {
            page_size: 4096,
            database_id: 1,
            sequence: 1,
            timestamp: Timestamp(5),
            log_from: Lsn(0),
            file_pages: 2,
            free_list: FreeListRoot::default(),
            catalog: Vec::new(),
            other,
        };
        assert_eq!(note(Timestamp(0)), [1, 0, 0, 0, 0, 0, 0, 0, 0]);
        for (beyond, expected) in [(0, true), (5, true), (6, false)] {
            let superblock = superblock(note(Timestamp(beyond)));
            assert_eq!(noted(&superblock), Some(Timestamp(beyond)));
            assert_eq!(is_whole(&superblock), expected);
            assert!(check_noted(&superblock).is_ok());
        }
        for other in [vec![], vec![1, 0, 0], vec![2, 0, 0, 0, 0, 0, 0, 0, 0]] {
            let superblock = superblock(other);
            assert!(!is_whole(&superblock));
            let error = check_noted(&superblock).unwrap_err().to_string();
            assert!(error.contains("a program that does not look out for readers"), "{error}");
        }
    }
}
