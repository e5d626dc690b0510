//! # Transactions
//!
//! Where a function takes a transaction, NULL means what is committed now; what is written then is a commit of its own.

use std::{
    ffi::c_void,
    sync::{Arc, Mutex},
};

use ambo::{Bounds, Cursor, Datum, Read, Row, Savepoint, Snapshot, Sync};
use ambo_face::Class;

use crate::{
    c::{Out, bytes},
    database::{Base, Database},
    error::{Error, Failure, Result, call, free},
    handle::{Child, Handle, Single, body, give, of, of_some, take},
    status::{AMBO_OK, Status},
    table::{Table, TableBody},
};

/// What reads and writes of a transaction go to.
pub(crate) enum Content {
    /// One of its own, with the savepoints that it was given.
    Own(Box<ambo::Transaction>, Vec<Savepoint>),
    /// A moment.
    View(Snapshot),
    /// That which SQL has open on a connection, with savepoints of this handle.
    #[cfg(feature = "sql")]
    Of(Child<crate::connection::Connected>, Vec<Savepoint>),
}

/// A transaction.
pub struct TransactionBody(pub(crate) Child<Single<Content>>);
body!(TransactionBody, "transaction", b"ambotran");

/// Several reads and writes at one moment, all or none.
pub type Transaction = Handle<TransactionBody>;

/// A transaction that fails with AMBO_CONFLICT where it would not be as if it ran alone.
pub const AMBO_SERIALIZABLE: u32 = 1;
/// A transaction that only reads, at one moment: a snapshot. It blocks nobody, and is never blocked.
pub const AMBO_READ_ONLY: u32 = 2;
/// A transaction that sees what others commit meanwhile, from statement to statement.
pub const AMBO_READ_COMMITTED: u32 = 4;

impl TransactionBody {
    pub(crate) fn new(base: &Arc<Base>, content: Content) -> Result<Self> {
        Ok(Self(Child::new(base, Mutex::new(Some(content)))?))
    }

    /// That it is of the database that a table is of.
    fn check(&self, table: &TableBody) -> Result<()> {
        match Arc::ptr_eq(self.0.base(), table.0.base()) {
            true => Ok(()),
            false => Err(Failure::misuse("the transaction and the table are of different database handles")),
        }
    }

    /// That it is of a database.
    pub(crate) fn check_base(&self, base: &Arc<Base>) -> Result<()> {
        match Arc::ptr_eq(self.0.base(), base) {
            true => Ok(()),
            false => Err(Failure::misuse("the transaction is of another database handle")),
        }
    }
}

fn read_only() -> Failure {
    let mut error = ambo_face::Error::new(Class::Request, "the transaction is read only");
    error.sqlstate = "25006";
    error.into()
}

/// Where a table is read.
pub(crate) enum View<'a> {
    Now(&'a ambo::Database),
    Transaction(&'a ambo::Transaction),
    Snapshot(&'a Snapshot),
}

/// Reads the same of each view.
macro_rules! read {
    ($view:expr, $read:ident($($argument:expr),*)) => {
        match $view {
            View::Now(of) => Read::$read(*of, $($argument),*),
            View::Transaction(of) => Read::$read(*of, $($argument),*),
            View::Snapshot(of) => Read::$read(*of, $($argument),*),
        }
    };
}

impl View<'_> {
    pub(crate) fn get(&self, table: &ambo::Table, key: &[u8]) -> Result<Option<ambo::Value>> {
        Ok(read!(self, get(table, key))?)
    }

    pub(crate) fn cursor(&self, table: &ambo::Table) -> Result<Cursor> {
        Ok(read!(self, cursor(table))?)
    }

    pub(crate) fn count(&self, table: &ambo::Table, range: Bounds) -> Result<u64> {
        Ok(read!(self, count(table, range))?)
    }

    pub(crate) fn sum_keys(&self, table: &ambo::Table, range: Bounds) -> Result<i128> {
        Ok(read!(self, sum_keys(table, range))?)
    }

    pub(crate) fn get_row(&self, table: &ambo::Table, key: &[Datum]) -> Result<Option<Row>> {
        Ok(read!(self, get_row(table, key))?)
    }
}

/// Reads a table, as a transaction sees it or as it is now.
pub(crate) fn read<R>(
    table: *const Table,
    transaction: *const Transaction,
    act: impl FnOnce(&ambo::Table, View<'_>) -> Result<R>,
) -> Result<R> {
    let body = of(table)?;
    let Some(transaction) = of_some(transaction)? else {
        return body.0.with(|table| act(table, View::Now(table.database())));
    };
    transaction.check(body)?;
    body.0.with(|table| {
        transaction.0.with(|content| match content {
            Content::Own(transaction, _) => act(table, View::Transaction(transaction)),
            Content::View(snapshot) => act(table, View::Snapshot(snapshot)),
            #[cfg(feature = "sql")]
            Content::Of(connected, _) => {
                connected.with_transaction(|transaction| act(table, View::Transaction(transaction)))
            }
        })
    })
}

/// Writes in a transaction, or in one of its own, which is run again after a conflict. What fails in a transaction is taken back.
pub(crate) fn write<R>(
    table: *const Table,
    transaction: *const Transaction,
    mut act: impl FnMut(&ambo::Table, &mut ambo::Transaction) -> Result<R>,
) -> Result<R> {
    let body = of(table)?;
    let Some(transaction) = of_some(transaction)? else {
        return body.0.with(|table| alone(table.database(), |transaction| act(table, transaction)));
    };
    transaction.check(body)?;
    body.0.with(|table| transaction.within(|transaction| act(table, transaction)))
}

/// Does something in a transaction of its own, which is run again after a conflict.
pub(crate) fn alone<R>(
    db: &ambo::Database,
    mut act: impl FnMut(&mut ambo::Transaction) -> Result<R>,
) -> Result<R> {
    loop {
        let mut transaction = db.begin()?;
        let done = act(&mut transaction);
        let done = done.and_then(|done| transaction.commit().map(|()| done).map_err(Failure::from));
        match done {
            Err(failure) if failure.error.sqlstate == "40001" => {}
            done => return done,
        }
    }
}

impl TransactionBody {
    /// Does something in it, and takes that back if it fails.
    pub(crate) fn within<R>(&self, act: impl FnOnce(&mut ambo::Transaction) -> Result<R>) -> Result<R> {
        let guarded = |transaction: &mut ambo::Transaction| {
            let before = transaction.savepoint();
            let done = act(transaction);
            if done.is_err() {
                transaction.rollback_to(before)?;
            }
            done
        };
        self.0.with(|content| match content {
            Content::Own(transaction, _) => guarded(transaction),
            Content::View(_) => Err(read_only()),
            #[cfg(feature = "sql")]
            Content::Of(connected, _) => connected.with_transaction(guarded),
        })
    }

    /// The moment that it reads at.
    pub(crate) fn moment(&self) -> Result<ambo::Timestamp> {
        self.0.with(|content| match content {
            Content::Own(transaction, _) => Ok(transaction.timestamp()),
            Content::View(snapshot) => Ok(snapshot.timestamp()),
            #[cfg(feature = "sql")]
            Content::Of(connected, _) => {
                connected.with_transaction(|transaction| Ok(transaction.timestamp()))
            }
        })
    }

    /// Does something with it and its savepoints.
    fn with_savepoints<R>(
        &self,
        act: impl FnOnce(&mut ambo::Transaction, &mut Vec<Savepoint>) -> Result<R>,
    ) -> Result<R> {
        self.0.with(|content| match content {
            Content::Own(transaction, savepoints) => act(transaction, savepoints),
            Content::View(_) => Err(read_only()),
            #[cfg(feature = "sql")]
            Content::Of(connected, savepoints) => {
                connected.with_transaction(|transaction| act(transaction, savepoints))
            }
        })
    }
}

/// Begins a transaction. `flags` are 0 or one of AMBO_SERIALIZABLE, AMBO_READ_ONLY and AMBO_READ_COMMITTED.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ambo_begin(
    database: *mut Database,
    flags: u32,
    transaction: *mut *mut Transaction,
    error: *mut *mut Error,
) -> Status {
    call(error, || {
        let (base, transaction) = (&of(database)?.0, Out::new("transaction", transaction)?);
        let db = base.store()?;
        let content = match flags {
            0 => Content::Own(Box::new(db.begin()?), Vec::new()),
            AMBO_SERIALIZABLE => Content::Own(Box::new(db.begin_serializable()?), Vec::new()),
            AMBO_READ_COMMITTED => Content::Own(Box::new(db.begin_read_committed()?), Vec::new()),
            AMBO_READ_ONLY => Content::View(db.snapshot()),
            _ => {
                let message =
                    format!("{flags:#x} are no flags of a transaction, or several that exclude one another");
                return Err(Failure::misuse(message));
            }
        };
        transaction.set(give(TransactionBody::new(base, content)?));
        Ok(AMBO_OK)
    })
}

/// Begins a statement of a transaction that was begun with AMBO_READ_COMMITTED: what others have committed meanwhile is seen. For others
/// nothing changes.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ambo_refresh(transaction: *mut Transaction, error: *mut *mut Error) -> Status {
    call(error, || {
        of(transaction)?.with_savepoints(|transaction, _| Ok(transaction.refresh()?))?;
        Ok(AMBO_OK)
    })
}

/// Commits, and frees the handle whatever comes of it. After AMBO_CONFLICT nothing was written: run the transaction again.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ambo_commit(transaction: *mut *mut Transaction, error: *mut *mut Error) -> Status {
    call(error, || {
        Out::new("transaction", transaction)?;
        let Some(body) = take(transaction) else {
            return Err(Failure::misuse("this is no transaction, or one that has ended"));
        };
        match body.0.end()? {
            Content::Own(transaction, _) => transaction.commit()?,
            Content::View(_) => {}
            #[cfg(feature = "sql")]
            Content::Of(connected, _) => connected.end_transaction("commit")?,
        }
        Ok(AMBO_OK)
    })
}

/// Gives up a transaction, and frees the handle.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ambo_rollback(transaction: *mut *mut Transaction) {
    // What SQL has open is not the handle's own: it is told. All others are given up by being dropped.
    #[cfg(feature = "sql")]
    crate::error::ask((), || {
        let Some(body) = take(transaction) else { return Ok(()) };
        if let Content::Of(connected, _) = body.0.end()? {
            connected.end_transaction("rollback")?;
        }
        Ok(())
    });
    free(transaction);
}

/// Marks a moment of a transaction.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ambo_savepoint(
    transaction: *mut Transaction,
    savepoint: *mut u64,
    error: *mut *mut Error,
) -> Status {
    call(error, || {
        let (transaction, savepoint) = (of(transaction)?, Out::new("savepoint", savepoint)?);
        transaction.with_savepoints(|transaction, savepoints| {
            savepoint.set(savepoints.len() as u64);
            savepoints.push(transaction.savepoint());
            Ok(AMBO_OK)
        })
    })
}

/// Takes back what was written after a savepoint, which stays; those after it are gone.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ambo_rollback_to(
    transaction: *mut Transaction,
    savepoint: u64,
    error: *mut *mut Error,
) -> Status {
    call(error, || {
        of(transaction)?.with_savepoints(|transaction, savepoints| {
            let place = usize::try_from(savepoint).ok().filter(|place| *place < savepoints.len());
            let place = place.ok_or_else(|| Failure::misuse(format!("there is no savepoint {savepoint}")))?;
            transaction.rollback_to(savepoints[place])?;
            savepoints.truncate(place + 1);
            Ok(AMBO_OK)
        })
    })
}

/// Locks a key until the end of the transaction: others wait to write it.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ambo_lock(
    table: *mut Table,
    transaction: *mut Transaction,
    key: *const c_void,
    key_size: usize,
    error: *mut *mut Error,
) -> Status {
    call(error, || {
        let key = bytes("the key", key, key_size)?;
        let (body, transaction) = (of(table)?, of(transaction)?);
        transaction.check(body)?;
        body.raw(|table| transaction.within(|transaction| Ok(transaction.lock(table, key)?)))?;
        Ok(AMBO_OK)
    })
}

/// A commit that is durable when it returns.
pub const AMBO_SYNC_COMMIT: u32 = 1;
/// A commit that a crash of the machine may take back.
pub const AMBO_SYNC_OFF: u32 = 2;

/// Chooses how durable the commit of a transaction is, if not as the database is.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ambo_set_sync(
    transaction: *mut Transaction,
    sync: u32,
    error: *mut *mut Error,
) -> Status {
    call(error, || {
        let sync = match sync {
            AMBO_SYNC_COMMIT => Sync::Commit,
            AMBO_SYNC_OFF => Sync::Off,
            _ => return Err(Failure::misuse(format!("{sync} is no way to sync"))),
        };
        of(transaction)?.with_savepoints(|transaction, _| {
            transaction.set_sync(sync);
            Ok(AMBO_OK)
        })
    })
}
