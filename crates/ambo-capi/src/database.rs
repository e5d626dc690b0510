//! # Databases

use std::{
    ffi::c_char,
    sync::{Arc, Mutex, PoisonError, RwLock, TryLockError, Weak},
};

use ambo_face::{Class, Era, Opened};

use crate::{
    c::{Out, name},
    error::{Error, Failure, Result, ask, call},
    handle::{Close, Handle, body, broken, closed, give, of, take},
    options::{Options, given},
    owned::{Names, NamesBody},
    status::{AMBO_OK, Status},
};

/// A database with whatever SQL it has.
#[cfg(feature = "sql")]
pub(crate) type Whole = ambo_sql::Database;
#[cfg(not(feature = "sql"))]
pub(crate) type Whole = ambo::Database;

/// What handles of a database share.
pub struct Base {
    opened: RwLock<Option<Opened>>,
    era: Era,
    /// What is taken away when it is closed.
    children: Mutex<Vec<Weak<dyn Close>>>,
}

impl Base {
    fn new(opened: Opened) -> Self {
        Self { era: opened.era(), opened: RwLock::new(Some(opened)), children: Mutex::default() }
    }

    /// Whether this process may use it.
    #[inline]
    pub(crate) fn check(&self) -> Result<()> {
        Ok(self.era.check()?)
    }

    /// The database.
    pub(crate) fn db(&self) -> Result<Whole> {
        self.check()?;
        let opened = self.opened.read().map_err(broken)?;
        Ok(Whole::clone(opened.as_ref().ok_or_else(closed)?))
    }

    /// The database without SQL.
    pub(crate) fn store(&self) -> Result<ambo::Database> {
        let whole = self.db()?;
        let store: &ambo::Database = &whole;
        Ok(store.clone())
    }

    /// Has something taken away when the database is closed.
    pub(crate) fn keep(&self, child: Arc<dyn Close>) -> Result<()> {
        self.check()?;
        // Nobody closes it between.
        let opened = self.opened.read().map_err(broken)?;
        if opened.is_none() {
            return Err(closed());
        }
        let mut children = self.children.lock().map_err(broken)?;
        if children.len() == children.capacity() {
            children.retain(|child| child.strong_count() > 0);
        }
        children.push(Arc::downgrade(&child));
        Ok(())
    }

    fn close(&self) {
        if self.era.check().is_err() {
            // Threads of the parent may have held the lock. What was opened knows that it is not to be closed here.
            match self.opened.try_write() {
                Ok(mut opened) => drop(opened.take()),
                Err(TryLockError::Poisoned(opened)) => drop(opened.into_inner().take()),
                Err(TryLockError::WouldBlock) => {}
            }
            return;
        }
        let opened = self.opened.write().unwrap_or_else(PoisonError::into_inner).take();
        let children = std::mem::take(&mut *self.children.lock().unwrap_or_else(PoisonError::into_inner));
        children.iter().filter_map(Weak::upgrade).for_each(|child| child.close());
        drop(opened);
    }
}

/// A database that somebody opened.
pub struct DatabaseBody(pub(crate) Arc<Base>);
body!(DatabaseBody, "database", b"ambodata");

/// An open database.
pub type Database = Handle<DatabaseBody>;

/// Opens the database in a directory, or creates it; ":memory:" is one in memory. A path that this process has open is opened again with
/// the same options. `options` may be NULL.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ambo_open(
    path: *const c_char,
    options: *const Options,
    database: *mut *mut Database,
    error: *mut *mut Error,
) -> Status {
    call(error, || {
        let database = Out::new("database", database)?;
        let path = name("the path", path)?;
        let options = given(options)?;
        let opened = ambo_face::open(path, &options)?;
        database.set(give(DatabaseBody(Arc::new(Base::new(opened)))));
        Ok(AMBO_OK)
    })
}

/// Closes a database, once all that this process opened it for are closed. What is not compacted is written before.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ambo_close(database: *mut *mut Database) {
    ask((), || {
        if let Some(DatabaseBody(base)) = take(database) {
            base.close();
        }
        Ok(())
    });
}

/// Does something with the database.
pub(crate) fn with(
    database: *const Database,
    error: *mut *mut Error,
    act: impl FnOnce(&Whole) -> Result<()>,
) -> Status {
    call(error, || {
        act(&of(database)?.0.db()?)?;
        Ok(AMBO_OK)
    })
}

/// Writes what memory holds of commits to pages, so that opening has nothing to replay.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ambo_flush(database: *mut Database, error: *mut *mut Error) -> Status {
    with(database, error, |db| Ok(db.flush()?))
}

/// Compacts all tables.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ambo_compact(database: *mut Database, error: *mut *mut Error) -> Status {
    with(database, error, |db| Ok(db.compact()?))
}

/// Waits until what is due to be compacted is.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ambo_settle(database: *mut Database, error: *mut *mut Error) -> Status {
    with(database, error, |db| Ok(db.compact_due()?))
}

/// Compacts, and gives free space back to the file system.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ambo_vacuum(database: *mut Database, error: *mut *mut Error) -> Status {
    with(database, error, |db| Ok(db.vacuum().map(drop)?))
}

/// Verifies every page and every row. `problems` says all that is wrong: no names, if nothing is.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ambo_check(
    database: *mut Database,
    problems: *mut *mut Names,
    error: *mut *mut Error,
) -> Status {
    with(database, error, |db| {
        let problems = Out::new("problems", problems)?;
        let report = db.check()?;
        problems.set(give(NamesBody::new(report.problems.iter().map(String::as_str))));
        Ok(())
    })
}

/// The names of all tables, as schema.table.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ambo_tables(
    database: *const Database,
    tables: *mut *mut Names,
    error: *mut *mut Error,
) -> Status {
    with(database, error, |db| {
        let tables = Out::new("tables", tables)?;
        tables.set(give(NamesBody::new(db.tables().iter().map(String::as_str))));
        Ok(())
    })
}

/// A figure of the database: page_size, file_bytes, segments, segment_bytes, cache_bytes, memtable_bytes, log_bytes, log_segments,
/// checkpoints, snapshots (that and how many transactions are open), data_keys (of an encrypted database; 0 of another), readers (in other
/// processes) or tables.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ambo_info(
    database: *const Database,
    figure: *const c_char,
    value: *mut u64,
    error: *mut *mut Error,
) -> Status {
    with(database, error, |db| {
        let (figure, value) = (name("the figure", figure)?, Out::new("value", value)?);
        let info = db.info()?;
        value.set(match figure {
            "page_size" => info.page_size as u64,
            "file_bytes" => info.file_bytes,
            "segments" => info.segments,
            "segment_bytes" => info.segment_bytes,
            "cache_bytes" => info.cache_bytes,
            "memtable_bytes" => info.memtable_bytes,
            "log_bytes" => info.log_bytes,
            "log_segments" => info.log_segments,
            "checkpoints" => info.checkpoints,
            "snapshots" => info.snapshots,
            "data_keys" => u64::from(info.data_keys),
            "readers" => info.readers.readers,
            "tables" => info.tables.len() as u64,
            _ => return Err(Failure::new(Class::Request, format!("there is no figure \"{figure}\""))),
        });
        Ok(())
    })
}
