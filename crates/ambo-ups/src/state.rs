//! Environments with all that is open in them, and handles.

#![allow(non_camel_case_types, reason = "the names are upscaledb's")]

use std::{
    collections::{BTreeMap, BTreeSet},
    ffi::CString,
    sync::{
        Arc, Mutex, MutexGuard, PoisonError,
        atomic::{AtomicU64, Ordering},
    },
};

use ambo::{Bounds, Cursor, Database, Datum, Read, Row, Snapshot, Table, Transaction, Value};

use crate::{
    data::Arena,
    settings::Shape,
    status::{
        Failure, INTERNAL_ERROR, INV_PARAMETER, NOT_READY, Result, TXN_CONFLICT, WRITE_PROTECTED, fail,
    },
};

/// What handles have a part in.
pub struct Env(Mutex<State>);

/// What is open.
pub(crate) struct State {
    /// `None` once it is closed.
    pub(crate) db: Option<Database>,
    /// The handle of the environment.
    pub(crate) handle: usize,
    pub(crate) flags: u32,
    pub(crate) mode: u32,
    pub(crate) filename: Option<CString>,
    pub(crate) cache_bytes: u64,
    pub(crate) journal_compression: u64,
    /// The number of the next thing.
    pub(crate) next: u64,
    /// How often something was written: cursors that were opened before look again.
    pub(crate) writes: u64,
    pub(crate) dbs: BTreeMap<u64, Db>,
    pub(crate) txns: BTreeMap<u64, Txn>,
    pub(crate) cursors: BTreeMap<u64, Cur>,
}

/// A database.
pub(crate) struct Db {
    pub(crate) name: u16,
    pub(crate) table: Table,
    pub(crate) shape: Shape,
    pub(crate) is_read_only: bool,
    pub(crate) arena: Arena,
    /// The handle, for whom cleaning up frees it.
    pub(crate) handle: usize,
}

/// A transaction.
pub(crate) struct Txn {
    pub(crate) inner: Inner,
    pub(crate) name: Option<CString>,
    /// The databases that it has written to.
    pub(crate) modified: BTreeSet<u16>,
    pub(crate) arena: Arena,
    pub(crate) handle: usize,
}

/// What a transaction is.
pub(crate) enum Inner {
    Write(Box<Transaction>),
    Read(Snapshot),
}

/// What a cursor points to.
#[derive(Clone)]
pub(crate) struct At {
    /// The key that the item is stored under.
    pub(crate) stored: Vec<u8>,
    pub(crate) key: Datum,
}

/// A cursor.
pub(crate) struct Cur {
    pub(crate) db: u64,
    pub(crate) txn: Option<u64>,
    pub(crate) at: Option<At>,
    /// What it moves by, and how much had been written when that was opened.
    pub(crate) open: Option<(Cursor, u64)>,
    pub(crate) handle: usize,
}

/// Where a database is read.
pub(crate) enum View<'a> {
    Now(&'a Database),
    Write(&'a Transaction),
    Read(&'a Snapshot),
}

macro_rules! read {
    ($view:expr, $read:ident($($argument:expr),*)) => {
        match $view {
            View::Now(of) => Read::$read(*of, $($argument),*),
            View::Write(of) => Read::$read(*of, $($argument),*),
            View::Read(of) => Read::$read(*of, $($argument),*),
        }
    };
}

impl View<'_> {
    pub(crate) fn get(&self, table: &Table, key: &[u8]) -> Result<Option<Value>> {
        Ok(read!(self, get(table, key))?)
    }

    pub(crate) fn cursor(&self, table: &Table) -> Result<Cursor> {
        Ok(read!(self, cursor(table))?)
    }

    pub(crate) fn count(&self, table: &Table, range: Bounds) -> Result<u64> {
        Ok(read!(self, count(table, range))?)
    }
}

impl Txn {
    pub(crate) fn view(&self) -> View<'_> {
        match &self.inner {
            Inner::Write(transaction) => View::Write(transaction),
            Inner::Read(snapshot) => View::Read(snapshot),
        }
    }
}

impl State {
    /// The number of a new thing.
    pub(crate) fn number(&mut self) -> u64 {
        self.next += 1;
        self.next
    }

    pub(crate) fn database(&self) -> Result<&Database> {
        self.db.as_ref().map_or_else(|| fail(NOT_READY, "the environment is closed"), Ok)
    }

    pub(crate) fn db(&self, id: u64) -> Result<&Db> {
        self.dbs.get(&id).map_or_else(|| fail(NOT_READY, "the database is closed"), Ok)
    }

    pub(crate) fn cursor(&self, id: u64) -> Result<&Cur> {
        self.cursors.get(&id).map_or_else(|| fail(NOT_READY, "the cursor is closed"), Ok)
    }

    pub(crate) fn txn(&self, id: u64) -> Result<&Txn> {
        self.txns.get(&id).map_or_else(|| fail(NOT_READY, "the transaction has ended"), Ok)
    }

    /// Where a transaction reads, or what there is now.
    pub(crate) fn view(&self, txn: Option<u64>) -> Result<View<'_>> {
        match txn {
            Some(txn) => Ok(self.txn(txn)?.view()),
            None => Ok(View::Now(self.database()?)),
        }
    }

    /// What is lent to callers of a transaction, or of a database without one.
    pub(crate) fn arena(&mut self, db: u64, txn: Option<u64>) -> Result<&mut Arena> {
        let arena = match txn {
            Some(txn) => self.txns.get_mut(&txn).map(|txn| &mut txn.arena),
            None => self.dbs.get_mut(&db).map(|db| &mut db.arena),
        };
        arena.map_or_else(|| fail(NOT_READY, "what was used is closed"), Ok)
    }

    /// Writes in a transaction, or in one of its own, which is run again where others were faster.
    pub(crate) fn write<R>(
        &mut self,
        db: u64,
        txn: Option<u64>,
        mut act: impl FnMut(&Db, &mut Transaction) -> Result<R>,
    ) -> Result<R> {
        let of = self.dbs.get(&db).map_or_else(|| fail(NOT_READY, "the database is closed"), Ok)?;
        if of.is_read_only {
            return fail(WRITE_PROTECTED, "the database is open for reading only");
        }
        let written = match txn {
            Some(txn) => {
                let ended = || fail(NOT_READY, "the transaction has ended");
                let txn = self.txns.get_mut(&txn).map_or_else(ended, Ok)?;
                let Inner::Write(transaction) = &mut txn.inner else {
                    return fail(WRITE_PROTECTED, "the transaction only reads");
                };
                let before = transaction.savepoint();
                let written = act(of, transaction);
                match written {
                    Ok(_) => drop(txn.modified.insert(of.name)),
                    Err(_) => transaction.rollback_to(before)?,
                }
                written
            }
            None => {
                let store =
                    self.db.as_ref().map_or_else(|| fail(NOT_READY, "the environment is closed"), Ok)?;
                loop {
                    let mut transaction = store.begin()?;
                    let done = match act(of, &mut transaction) {
                        Ok(done) => done,
                        Err(failure) => break Err(failure),
                    };
                    match transaction.commit() {
                        Ok(()) => break Ok(done),
                        Err(ambo::Error::Conflict(_)) => {}
                        Err(error) => break Err(error.into()),
                    }
                }
            }
        };
        self.writes += 1;
        written
    }
}

impl Db {
    /// The stored key of a key; `number` is that of one of several items.
    pub(crate) fn stored(&self, key: &Datum, number: u64) -> Result<Vec<u8>> {
        Ok(self.table.stored_key_of(std::slice::from_ref(key), number)?)
    }

    /// The key and the record that are stored so.
    pub(crate) fn item(&self, stored: &[u8], value: &[u8]) -> Result<(Datum, Datum)> {
        let row: Row = self.table.row_of(stored, value)?;
        match <[Datum; 2]>::try_from(row) {
            Ok([key, record]) => Ok((key, record)),
            Err(_) => fail(INTERNAL_ERROR, "a row that has not two columns"),
        }
    }

    /// Takes a key for a transaction: another that has it and has not ended is a conflict, as in upscaledb.
    pub(crate) fn take(&self, transaction: &mut Transaction, key: &Datum) -> Result<()> {
        match transaction.lock(&self.table, &self.stored(key, 0)?) {
            Err(ambo::Error::Lock(_) | ambo::Error::Conflict(_)) => Err(Failure(TXN_CONFLICT)),
            done => Ok(done?),
        }
    }
}

impl Env {
    pub(crate) fn new(state: State) -> Arc<Self> {
        Arc::new(Self(Mutex::new(state)))
    }

    pub(crate) fn lock(&self) -> MutexGuard<'_, State> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// What C has a pointer to: which thing of which environment.
pub(crate) trait Handle: Sized {
    const TAG: u64;
    const NAME: &'static str;
    fn new(env: Arc<Env>, id: u64) -> Self;
    fn tag(&self) -> &AtomicU64;
    fn parts(&self) -> (&Arc<Env>, u64);
}

macro_rules! handle {
    ($name:ident, $text:literal, $tag:literal) => {
        /// A handle.
        #[repr(C)]
        pub struct $name {
            tag: AtomicU64,
            env: Arc<Env>,
            id: u64,
        }

        impl Handle for $name {
            const TAG: u64 = u64::from_le_bytes(*$tag);
            const NAME: &'static str = $text;

            fn new(env: Arc<Env>, id: u64) -> Self {
                Self { tag: AtomicU64::new(Self::TAG), env, id }
            }

            fn tag(&self) -> &AtomicU64 {
                &self.tag
            }

            fn parts(&self) -> (&Arc<Env>, u64) {
                (&self.env, self.id)
            }
        }
    };
}

handle!(ups_env_t, "environment", b"ups_env_");
handle!(ups_db_t, "database", b"ups_db__");
handle!(ups_txn_t, "transaction", b"ups_txn_");
handle!(ups_cursor_t, "cursor", b"ups_curs");

/// A new handle.
pub(crate) fn give<H: Handle>(env: &Arc<Env>, id: u64) -> *mut H {
    Box::into_raw(Box::new(H::new(env.clone(), id)))
}

/// What a handle is of. Called from what C calls alone.
pub(crate) fn of<'a, H: Handle + 'a>(handle: *const H) -> Result<(&'a Arc<Env>, u64)> {
    if handle.is_null() || !handle.is_aligned() {
        return fail(INV_PARAMETER, &format!("the {} is NULL", H::NAME));
    }
    // SAFETY: it is neither NULL nor askew, and a handle by upscaledb's rules; one that was freed is found out while its memory is
    // nothing else.
    let handle = unsafe { &*handle };
    match handle.tag().load(Ordering::Relaxed) == H::TAG {
        true => Ok(handle.parts()),
        false => fail(NOT_READY, &format!("this is no {}, or one that was closed", H::NAME)),
    }
}

/// The number of a transaction, which has to be of an environment; `None` of NULL.
pub(crate) fn number_of(env: &Arc<Env>, txn: *const ups_txn_t) -> Result<Option<u64>> {
    if txn.is_null() {
        return Ok(None);
    }
    let (of_txn, id) = of(txn)?;
    match Arc::ptr_eq(env, of_txn) {
        true => Ok(Some(id)),
        false => fail(INV_PARAMETER, "the transaction is of another environment"),
    }
}

/// Frees a handle. REQUIRES: it was given, and not freed; nobody else uses it.
pub(crate) fn free<H: Handle>(handle: *mut H) {
    // SAFETY: as required.
    unsafe {
        (*handle).tag().store(0, Ordering::SeqCst);
        drop(Box::from_raw(handle));
    }
}
