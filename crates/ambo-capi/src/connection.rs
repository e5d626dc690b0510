//! # SQL: connections

use std::{
    ffi::{c_char, c_void},
    sync::{Arc, Mutex, TryLockError},
    time::Duration,
};

use ambo_face::{Class, ingest_mode};
use ambo_sql::{Interrupter, Reader, Source};
use arrow_array::ffi_stream::FFI_ArrowArrayStream;

use crate::{
    c::{Out, name, tell, text},
    database::{Base, Database},
    error::{Error, Failure, Result, ask, call, free},
    handle::{Child, Close, Handle, body, broken, closed, give, of, take},
    result::{QueryResult, ResultBody},
    status::{AMBO_OK, Status},
    stream::reader,
    transaction::{Content, Transaction, TransactionBody},
};

/// How often what runs is interrupted again, until it ends.
const AGAIN: Duration = Duration::from_millis(5);

/// A connection, and what ends its statements.
pub struct Connected {
    sql: Mutex<Option<ambo_sql::Connection>>,
    interrupter: Interrupter,
}

impl Close for Connected {
    fn close(&self) {
        self.interrupter.interrupt();
        self.end();
        // What is still taken of it ends, too.
        self.interrupter.interrupt();
    }
}

impl Connected {
    pub(crate) fn interrupter(&self) -> &Interrupter {
        &self.interrupter
    }

    /// Ends the statement that runs, and takes the connection away.
    fn end(&self) {
        // A statement that was about to begin forgets that it was interrupted. Where none runs, results that are still read go on.
        let sql = loop {
            match self.sql.try_lock() {
                Ok(mut sql) => break sql.take(),
                Err(TryLockError::Poisoned(sql)) => break sql.into_inner().take(),
                Err(TryLockError::WouldBlock) => {
                    self.interrupter.interrupt();
                    std::thread::sleep(AGAIN);
                }
            }
        };
        drop(sql);
    }
}

impl Child<Connected> {
    /// Does something with the connection, as the only one.
    pub(crate) fn with<R>(&self, act: impl FnOnce(&mut ambo_sql::Connection) -> Result<R>) -> Result<R> {
        act(self.content()?.sql.lock().map_err(broken)?.as_mut().ok_or_else(closed)?)
    }

    /// Does something in the transaction that is open.
    pub(crate) fn with_transaction<R>(
        &self,
        act: impl FnOnce(&mut ambo::Transaction) -> Result<R>,
    ) -> Result<R> {
        self.with(|connection| act(connection.transaction().ok_or_else(no_transaction)?))
    }

    /// Ends the transaction that is open.
    pub(crate) fn end_transaction(&self, statement: &str) -> Result<()> {
        self.with(|connection| {
            connection.transaction().ok_or_else(no_transaction)?;
            Ok(connection.execute(statement, ()).map(drop)?)
        })
    }
}

fn no_transaction() -> Failure {
    let mut error =
        ambo_face::Error::new(Class::Request, "no transaction that writes is open on the connection");
    error.sqlstate = "25P01";
    error.into()
}

/// A connection.
pub struct ConnectionBody(pub(crate) Child<Connected>);
body!(ConnectionBody, "connection", b"amboconn");

impl ConnectionBody {
    fn new(base: &Arc<Base>) -> Result<Self> {
        let connection = base.db()?.connect();
        let interrupter = connection.interrupter();
        Ok(Self(Child::new(base, Connected { sql: Mutex::new(Some(connection)), interrupter })?))
    }
}

/// A connection: what transactions, prepared statements and interruption belong to.
pub type Connection = Handle<ConnectionBody>;

/// Connects to a database.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ambo_connect(
    database: *mut Database,
    connection: *mut *mut Connection,
    error: *mut *mut Error,
) -> Status {
    call(error, || {
        let (base, connection) = (&of(database)?.0, Out::new("connection", connection)?);
        connection.set(give(ConnectionBody::new(base)?));
        Ok(AMBO_OK)
    })
}

/// Ends the statement that runs, rolls back what is open, and frees the connection. Results that are there stay, unless a statement had to
/// be ended; statements answer AMBO_CLOSED.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ambo_connection_free(connection: *mut *mut Connection) {
    ask((), || {
        if let Some(body) = take(connection)
            && let Ok(connected) = body.0.content()
        {
            connected.end();
        }
        Ok(())
    });
}

/// Ends the statement that runs, and all results of the connection whose rows are still computed, from any thread: they fail with
/// AMBO_CANCELLED and change nothing.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ambo_interrupt(connection: *const Connection) {
    ask((), || {
        of(connection)?.0.content()?.interrupter.interrupt();
        Ok(())
    });
}

/// How far the query is that runs, or ran last.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct ProgressFigures {
    /// Rows that were read.
    pub rows_read: u64,
    /// About how many that will be; UINT64_MAX if it is not known.
    pub rows_total: u64,
    /// Bytes that were written to temporary files.
    pub bytes_spilled: u64,
}

/// Says how far the query is that runs, from any thread. False if none does.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ambo_progress(
    connection: *const Connection,
    progress: *mut ProgressFigures,
) -> bool {
    ask(false, || {
        let Some(now) = of(connection)?.0.content()?.interrupter.progress() else { return Ok(false) };
        let rows_total = now.rows_total.unwrap_or(u64::MAX);
        tell(
            progress,
            ProgressFigures { rows_read: now.rows_read, rows_total, bytes_spilled: now.bytes_spilled },
        );
        Ok(true)
    })
}

/// What is called while a statement is waited for; false ends the statement.
pub type WaitFunction = Option<unsafe extern "C" fn(user: *mut c_void) -> bool>;

/// What the caller gives with a callback. Whoever registers it sees to it that the thread that runs a statement may use it.
struct User(*mut c_void);

// SAFETY: it is only handed back.
unsafe impl Send for User {}

impl User {
    fn get(&self) -> *mut c_void {
        self.0
    }
}

/// Has a function called about each so many milliseconds while a statement of the connection is waited for, by the thread that waits.
/// Where it returns false, the statement ends with AMBO_CANCELLED. NULL is none.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ambo_on_wait(
    connection: *mut Connection,
    milliseconds: u32,
    function: WaitFunction,
    user: *mut c_void,
    error: *mut *mut Error,
) -> Status {
    call(error, || {
        let user = User(user);
        of(connection)?.0.with(|connection| {
            connection.on_wait(Duration::from_millis(milliseconds.max(1).into()), move || match function {
                // SAFETY: it is what the caller registered for this.
                Some(function) => unsafe { function(user.get()) },
                None => true,
            });
            Ok(AMBO_OK)
        })
    })
}

/// Whether a transaction is open on a connection.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ambo_in_transaction(connection: *const Connection) -> bool {
    ask(false, || of(connection)?.0.with(|connection| Ok(connection.in_transaction())))
}

/// The transaction that was begun on a connection by BEGIN, for functions that take one: so SQL and keys are written together. It is for as
/// long as that is open; ambo_commit and ambo_rollback end it there. ambo_transaction_free leaves it open.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ambo_connection_transaction(
    connection: *mut Connection,
    transaction: *mut *mut Transaction,
    error: *mut *mut Error,
) -> Status {
    call(error, || {
        let (connection, transaction) = (of(connection)?, Out::new("transaction", transaction)?);
        connection.0.with_transaction(|_| Ok(()))?;
        let content = Content::Of(connection.0.clone(), Vec::new());
        transaction.set(give(TransactionBody::new(connection.0.base(), content)?));
        Ok(AMBO_OK)
    })
}

/// Frees the handle of ambo_connection_transaction alone; any other transaction is rolled back.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ambo_transaction_free(transaction: *mut *mut Transaction) {
    free(transaction);
}

/// A failure that knows its statement.
pub(crate) fn of_statement(error: ambo_sql::Error, statement: &str) -> Failure {
    ambo_face::Error::from(error).of(statement).into()
}

/// Runs a statement. Of several, one after the other, the rows are those of the last. `sql_size` may be AMBO_ZERO_ENDED.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ambo_query(
    connection: *mut Connection,
    sql: *const c_char,
    sql_size: usize,
    result: *mut *mut QueryResult,
    error: *mut *mut Error,
) -> Status {
    call(error, || {
        let (connection, sql) = (of(connection)?, text("the statement", sql, sql_size)?);
        let result = Out::new("result", result)?;
        let rows =
            connection.0.with(|connection| connection.run(sql, ()).map_err(|e| of_statement(e, sql)))?;
        result.set(give(ResultBody::new(&connection.0, rows, sql)?));
        Ok(AMBO_OK)
    })
}

/// Runs a statement, or several, whose rows are not wanted. `affected`, unless it is NULL, becomes how many rows the last inserted, changed
/// or deleted.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ambo_execute(
    connection: *mut Connection,
    sql: *const c_char,
    sql_size: usize,
    affected: *mut u64,
    error: *mut *mut Error,
) -> Status {
    call(error, || {
        let (connection, sql) = (of(connection)?, text("the statement", sql, sql_size)?);
        tell(affected, connection.0.with(|connection| finish(connection.run(sql, ()), sql))?);
        Ok(AMBO_OK)
    })
}

/// Takes all rows; says how many the statement inserted, changed or deleted.
pub(crate) fn finish(rows: ambo_sql::Result<ambo_sql::Rows<'static>>, statement: &str) -> Result<u64> {
    let done = rows.and_then(|rows| {
        let affected = rows.affected();
        rows.batches().try_for_each(|batch| batch.map(drop))?;
        Ok(affected.unwrap_or(0))
    });
    done.map_err(|error| of_statement(error, statement))
}

/// Puts the rows of a stream into a table, all or none; columns are found by their names. `mode` is "create", "append", "replace" or
/// "create_append". `options`, or NULL, stand behind the columns of a CREATE TABLE, such as "storage = memory". The stream is taken
/// whatever comes of it. `rows`, unless it is NULL, becomes their number.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ambo_ingest(
    connection: *mut Connection,
    table: *const c_char,
    mode: *const c_char,
    options: *const c_char,
    stream: *mut FFI_ArrowArrayStream,
    rows: *mut u64,
    error: *mut *mut Error,
) -> Status {
    call(error, || {
        let reader: Reader = reader(stream)?;
        let (table, mode) = (name("the table", table)?, ingest_mode(name("the mode", mode)?)?);
        let options = if options.is_null() { "" } else { name("the options", options)? };
        tell(
            rows,
            of(connection)?.0.with(|connection| Ok(connection.ingest(table, reader, mode, options)?))?,
        );
        Ok(AMBO_OK)
    })
}

/// Has statements of the connection read the rows of a stream under a name, once. The stream is taken whatever comes of it.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ambo_register(
    connection: *mut Connection,
    table: *const c_char,
    stream: *mut FFI_ArrowArrayStream,
    error: *mut *mut Error,
) -> Status {
    call(error, || {
        let source = Source::Once(reader(stream)?);
        let table = name("the name", table)?;
        of(connection)?.0.with(|connection| Ok(connection.register(table, source)?))?;
        Ok(AMBO_OK)
    })
}

/// Forgets what was registered under a name: AMBO_NOT_FOUND if there is nothing.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ambo_unregister(
    connection: *mut Connection,
    table: *const c_char,
    error: *mut *mut Error,
) -> Status {
    call(error, || {
        let table = name("the name", table)?;
        let known = of(connection)?.0.with(|connection| Ok(connection.unregister(table)))?;
        Ok(if known { AMBO_OK } else { crate::AMBO_NOT_FOUND })
    })
}
