//! The databases that are open in this process, by their paths.
//!
//! 1. A path is open once, whoever opens it and however it is written: they share the database, and the last of them closes it.
//! 2. Who opens it again says nothing else about it than who opened it first.
//! 3. Who opens a path while it is being closed waits until that is done.

use std::{
    collections::HashMap,
    ops::Deref,
    path::{Path, PathBuf},
    sync::{Arc, Mutex, PoisonError},
};

#[cfg(not(feature = "sql"))]
use ambo::Database;
#[cfg(feature = "sql")]
use ambo_sql::Database;

use crate::{Class, Error, Options, Result, fork::Era};

/// What is opened in memory: it is nobody else's. With a name behind it, it is shared by all of this process that name it, until the last
/// of them closes it.
pub const MEMORY: &str = ":memory:";

/// A database that is open, for one who opened it. It derefs to [`Database`].
pub struct Opened {
    /// `None` only while it is dropped.
    db: Option<Database>,
    slot: Option<(PathBuf, Arc<Slot>)>,
    /// When it was opened.
    era: Era,
}

/// A path.
#[derive(Default)]
struct Slot(Mutex<Option<Entry>>);

/// What is open at a path.
struct Entry {
    db: Database,
    options: Options,
    /// How many have it.
    count: usize,
}

type Slots = HashMap<(Era, PathBuf), Arc<Slot>>;

static SLOTS: Mutex<Option<Slots>> = Mutex::new(None);

/// Opens the database in a directory, or [`MEMORY`].
///
/// # Errors
/// [`Class::Request`] if it is open with other options, with the first that differs; what the database says.
pub fn open(path: &str, options: &Options) -> Result<Opened> {
    let parts = options.parts()?;
    crate::fork::mind()?;
    let era = Era::now();
    if path == MEMORY {
        let db = made(parts, |store| store.open_in_memory())?;
        return Ok(Opened { db: Some(db), slot: None, era });
    }
    let is_named = path.strip_prefix(MEMORY).is_some();
    let path = if is_named { PathBuf::from(path) } else { whole(path)? };
    let slot = {
        let mut slots = SLOTS.lock().unwrap_or_else(PoisonError::into_inner);
        slots.get_or_insert_default().entry((era, path.clone())).or_default().clone()
    };
    let mut entry = slot.0.lock().unwrap_or_else(PoisonError::into_inner);
    let db = match &mut *entry {
        Some(entry) => {
            if let Some((name, there, wanted)) = entry.options.difference(options) {
                return Err(Error::new(
                    Class::Request,
                    format!("the database is open in this process with other options: {name} is {there}, not {wanted}"),
                )
                .with_hint("open it with the same options, or close it first"));
            }
            entry.count += 1;
            entry.db.clone()
        }
        None => {
            let open =
                |store: ambo::Options| if is_named { store.open_in_memory() } else { store.open(&path) };
            let db = made(parts, open)?;
            *entry = Some(Entry { db: db.clone(), options: options.clone(), count: 1 });
            db
        }
    };
    drop(entry);
    Ok(Opened { db: Some(db), slot: Some((path, slot)), era })
}

/// A database of what [`Options`] say.
#[cfg(feature = "sql")]
fn made(
    (store, sql): crate::options::Parts,
    open: impl FnOnce(ambo::Options) -> ambo::Result<ambo::Database>,
) -> Result<Database> {
    Ok(Database::with_options(open(store)?, sql))
}

#[cfg(not(feature = "sql"))]
fn made(
    (store, ()): crate::options::Parts,
    open: impl FnOnce(ambo::Options) -> ambo::Result<ambo::Database>,
) -> Result<Database> {
    Ok(open(store)?)
}

/// A path without links and dots, of something that may not be there yet.
fn whole(path: &str) -> Result<PathBuf> {
    let path = std::path::absolute(path)
        .map_err(|error| Error::new(Class::Request, format!("\"{path}\" is no path: {error}")))?;
    if let Ok(whole) = path.canonicalize() {
        return Ok(whole);
    }
    let parent = path.parent().and_then(|parent| parent.canonicalize().ok());
    Ok(match (parent, path.file_name()) {
        (Some(parent), Some(name)) => parent.join(name),
        _ => path,
    })
}

impl Opened {
    /// When it was opened: whether it may be used.
    pub fn era(&self) -> Era {
        self.era
    }

    /// Where it is; `None` if it is in memory.
    pub fn path(&self) -> Option<&Path> {
        self.slot
            .as_ref()
            .map(|(path, _)| path.as_path())
            .filter(|path| !path.to_string_lossy().starts_with(MEMORY))
    }
}

impl Deref for Opened {
    type Target = Database;

    fn deref(&self) -> &Database {
        self.db.as_ref().expect("it is there until it is dropped")
    }
}

impl Drop for Opened {
    fn drop(&mut self) {
        let (db, slot) = (self.db.take(), self.slot.take());
        if self.era.check().is_err() {
            // The threads that it would wait for are in the parent, and so are the files.
            std::mem::forget((db, slot));
            return;
        }
        let Some((path, slot)) = slot else { return };
        drop(db);
        let mut entry = slot.0.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(of) = &mut *entry {
            of.count -= 1;
            if of.count == 0 {
                // Closed while the slot is held: rule 3.
                *entry = None;
            }
        }
        drop(entry);
        let mut slots = SLOTS.lock().unwrap_or_else(PoisonError::into_inner);
        // This one, and that of the map: nobody else is about to open it.
        if Arc::strong_count(&slot) == 2 && slot.0.lock().unwrap_or_else(PoisonError::into_inner).is_none() {
            slots.get_or_insert_default().remove(&(self.era, path));
        }
    }
}

#[cfg(all(test, feature = "sql"))]
mod tests {
    use super::*;

    fn text(path: &Path) -> &str {
        path.to_str().unwrap()
    }

    #[test]
    fn a_path_is_open_once_and_closed_by_the_last() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("db");
        let one = open(text(&path), &Options::new()).unwrap();
        one.sql("create table t (id int)").unwrap();
        let other = open(&format!("{}/../db/.", text(&path)), &Options::new()).unwrap();
        other.sql("insert into t values (1)").unwrap();
        assert_eq!(one.sql("select * from t").unwrap().count(), 1);
        drop(one);
        other.sql("insert into t values (2)").unwrap();
        drop(other);
        // Whoever else may open it now.
        let db = ambo::Database::open(&path).unwrap();
        assert_eq!(db.table("t").unwrap().len().unwrap(), 2);
        assert!(db.check().unwrap().is_sound());
        drop(db);
        assert!(SLOTS.lock().unwrap().as_ref().unwrap().keys().all(|(_, known)| *known != path));
    }

    #[test]
    fn other_options_are_refused_by_name() {
        let dir = tempfile::tempdir().unwrap();
        let _one = open(text(dir.path()), &Options::new()).unwrap();
        let mut options = Options::new();
        options.set("cache_bytes", "64MiB").unwrap();
        let error = open(text(dir.path()), &options).err().unwrap();
        assert!(error.message.contains("cache_bytes is the default, not 64MiB"), "{error}");
    }

    #[test]
    fn databases_in_memory_are_ones_own() {
        let (one, other) = (open(MEMORY, &Options::new()).unwrap(), open(MEMORY, &Options::new()).unwrap());
        one.sql("create table t (id int)").unwrap();
        let error = other.sql("select * from t").err().unwrap();
        assert_eq!(error.kind(), ambo_sql::ErrorKind::NotFound, "{error}");
        assert_eq!(one.path(), None);
    }

    #[test]
    fn databases_in_memory_with_a_name_are_shared_until_the_last_is_closed() {
        let name = format!("{MEMORY}a name");
        let (one, other) = (open(&name, &Options::new()).unwrap(), open(&name, &Options::new()).unwrap());
        one.sql("create table t (id int)").unwrap();
        assert_eq!(other.sql("select * from t").unwrap().count(), 0);
        assert_eq!(one.path(), None);
        drop((one, other));
        let error = open(&name, &Options::new()).unwrap().sql("select * from t").err().unwrap();
        assert_eq!(error.kind(), ambo_sql::ErrorKind::NotFound, "{error}");
    }

    #[test]
    fn threads_that_open_and_close_never_meet_one_half_closed() {
        let dir = tempfile::tempdir().unwrap();
        let path = text(dir.path());
        open(path, &Options::new()).unwrap().sql("create table t (id bigint)").unwrap();
        std::thread::scope(|scope| {
            for thread in 0..4 {
                scope.spawn(move || {
                    for nth in 0..10 {
                        let db = open(path, &Options::new()).unwrap();
                        db.sql(&format!("insert into t values ({})", thread * 100 + nth)).unwrap();
                    }
                });
            }
        });
        let db = open(path, &Options::new()).unwrap();
        assert_eq!(db.sql("select * from t").unwrap().count(), 40);
        assert!(db.check().unwrap().is_sound());
    }
}
