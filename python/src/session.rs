//! What a connection of Python's and all that comes from it share.

use std::{
    sync::{
        Arc, Mutex, MutexGuard, PoisonError, RwLock, Weak,
        atomic::{AtomicBool, Ordering},
    },
    time::Duration,
};

use ambo_face::{Class, Error, KeyValue, Opened, Result, View, caught};
use ambo_sql::Interrupter;
use pyo3::prelude::*;

use crate::{cursor::State, drawing::Drawing, errors::raise, frames};

/// How often a thread that waits looks for signals.
const SIGNALS: Duration = Duration::from_millis(50);
/// How often what runs is interrupted again, until it ends.
const AGAIN: Duration = Duration::from_millis(5);

/// See the module.
pub(crate) struct Session {
    opened: Mutex<Option<Opened>>,
    sql: Mutex<Option<ambo_sql::Connection>>,
    era: ambo_face::Era,
    interrupter: Interrupter,
    /// Whether a transaction is open: so that key-value tables need not ask the connection.
    in_transaction: AtomicBool,
    is_closed: AtomicBool,
    /// What Python raised in a hook: it is told instead of what came of that.
    raised: Arc<Mutex<Option<PyErr>>>,
    drawing: Arc<Drawing>,
    /// What is to be let go when the connection is closed.
    results: Mutex<Vec<Weak<Mutex<State>>>>,
    tables: Mutex<Vec<Weak<SharedTable>>>,
    others: Mutex<Vec<Weak<dyn LetGo>>>,
}

/// What holds something of the database, until it lets go of it.
trait LetGo: Send + Sync {
    fn let_go(&self);
}

impl<T: Send> LetGo for Mutex<Option<T>> {
    fn let_go(&self) {
        drop(lock(self).take());
    }
}

/// A table until the connection is closed.
pub(crate) type SharedTable = RwLock<Option<ambo_face::KeyValue>>;

/// A lock, whether or not somebody panicked with it.
pub(crate) fn lock<T>(of: &Mutex<T>) -> MutexGuard<'_, T> {
    of.lock().unwrap_or_else(PoisonError::into_inner)
}

pub(crate) fn closed() -> Error {
    Error::new(Class::Closed, "the connection is closed")
}

impl Session {
    pub(crate) fn new(opened: Opened, scan_frames: bool, progress: Option<bool>) -> Arc<Self> {
        let mut sql = opened.connect();
        let raised: Arc<Mutex<Option<PyErr>>> = Arc::default();
        let drawing = Arc::new(Drawing::new(progress));
        if scan_frames {
            let of_names = raised.clone();
            sql.on_missing_table(move |name| {
                let found = Python::try_attach(|py| frames::find(py, name))?;
                found.unwrap_or_else(|error| {
                    *lock(&of_names) = Some(error);
                    None
                })
            });
        }
        Arc::new_cyclic(|session| {
            sql.on_wait(SIGNALS, look_for_signals(session.clone(), raised.clone(), drawing.clone()));
            Self {
                era: opened.era(),
                interrupter: sql.interrupter(),
                opened: Mutex::new(Some(opened)),
                sql: Mutex::new(Some(sql)),
                in_transaction: AtomicBool::new(false),
                is_closed: AtomicBool::new(false),
                raised,
                drawing,
                results: Mutex::default(),
                tables: Mutex::default(),
                others: Mutex::default(),
            }
        })
    }

    /// Where the database is; `None` if it is in memory, or closed.
    pub(crate) fn path(&self) -> Option<String> {
        let opened = lock(&self.opened);
        opened.as_ref().and_then(|opened| opened.path()).map(|path| path.to_string_lossy().into_owned())
    }

    pub(crate) fn interrupter(&self) -> &Interrupter {
        &self.interrupter
    }

    pub(crate) fn in_transaction(&self) -> bool {
        self.in_transaction.load(Ordering::Acquire)
    }

    pub(crate) fn is_closed(&self) -> bool {
        self.is_closed.load(Ordering::Acquire)
    }

    /// Whether it may be used: it is open, and this process is the one that opened it.
    pub(crate) fn check(&self) -> Result<()> {
        self.era.check()?;
        if self.is_closed() { Err(closed()) } else { Ok(()) }
    }

    /// Does something with the connection, without the GIL and as the only one.
    pub(crate) fn with<T: Send>(
        &self,
        py: Python<'_>,
        act: impl FnOnce(&mut ambo_sql::Connection) -> Result<T> + Send,
    ) -> PyResult<T> {
        self.detached(py, || {
            let mut sql = lock(&self.sql);
            let connection = sql.as_mut().ok_or_else(closed)?;
            let done = act(connection);
            self.in_transaction.store(connection.in_transaction(), Ordering::Release);
            done
        })
    }

    /// Does something with the database, without the GIL.
    pub(crate) fn with_database<T: Send>(
        &self,
        py: Python<'_>,
        act: impl FnOnce(&ambo_sql::Database) -> Result<T> + Send,
    ) -> PyResult<T> {
        self.detached(py, || {
            let db = lock(&self.opened).as_ref().map(|opened| ambo_sql::Database::clone(opened));
            act(&db.ok_or_else(closed)?)
        })
    }

    /// Does something of the engine's without the GIL.
    pub(crate) fn detached<T: Send>(
        &self,
        py: Python<'_>,
        act: impl FnOnce() -> Result<T> + Send,
    ) -> PyResult<T> {
        self.drawing.begin();
        let done = py.detach(|| {
            caught(|| {
                self.era.check()?;
                act()
            })
        });
        self.drawing.end(py);
        done.map_err(|error| lock(&self.raised).take().unwrap_or_else(|| raise(py, &error)))
    }

    /// Does something with a view of key-value tables: of the open transaction, or of what there is now.
    pub(crate) fn read<T: Send>(
        &self,
        py: Python<'_>,
        table: &SharedTable,
        snapshot: Option<&ambo::Snapshot>,
        act: impl FnOnce(&KeyValue, View<'_>) -> Result<T> + Send,
    ) -> PyResult<T> {
        self.detached(py, || {
            let table = table.read().unwrap_or_else(PoisonError::into_inner);
            let table = table.as_ref().ok_or_else(closed)?;
            if let Some(snapshot) = snapshot {
                return act(table, View::Snapshot(snapshot));
            }
            self.of_transaction(|view| act(table, view.unwrap_or(View::Now(table.table().database()))))
        })
    }

    /// Does something with a view of the whole database: of the open transaction, or of what there is now.
    pub(crate) fn view<T: Send>(
        &self,
        py: Python<'_>,
        act: impl FnOnce(&ambo::Database, View<'_>) -> Result<T> + Send,
    ) -> PyResult<T> {
        self.detached(py, || {
            let db = lock(&self.opened).as_ref().map(|opened| ambo_sql::Database::clone(opened));
            let db = db.ok_or_else(closed)?;
            self.of_transaction(|view| act(&db, view.unwrap_or(View::Now(&db))))
        })
    }

    /// Does something with what the open transaction sees; with nothing, if none is open.
    fn of_transaction<T>(&self, act: impl FnOnce(Option<View<'_>>) -> Result<T>) -> Result<T> {
        if !self.in_transaction() {
            return act(None);
        }
        let mut sql = lock(&self.sql);
        let connection = sql.as_mut().ok_or_else(closed)?;
        if let Some(snapshot) = connection.read_only_view() {
            return act(Some(View::Snapshot(&snapshot)));
        }
        act(connection.transaction().map(|transaction| View::Transaction(transaction)))
    }

    /// Writes to a key-value table: in the open transaction, or as a commit of its own.
    pub(crate) fn write<T: Send>(
        &self,
        py: Python<'_>,
        table: &SharedTable,
        act: impl FnOnce(&KeyValue, Option<&mut ambo::Transaction>) -> Result<T> + Send,
    ) -> PyResult<T> {
        self.detached(py, || {
            let table = table.read().unwrap_or_else(PoisonError::into_inner);
            let table = table.as_ref().ok_or_else(closed)?;
            if !self.in_transaction() {
                return act(table, None);
            }
            let mut sql = lock(&self.sql);
            let connection = sql.as_mut().ok_or_else(closed)?;
            if connection.read_only_view().is_some() {
                return Err(ambo_sql::Error::new(
                    ambo_sql::ErrorKind::Invalid,
                    "the transaction is read only",
                )
                .into());
            }
            act(table, connection.transaction())
        })
    }

    /// What is drawn of statements.
    pub(crate) fn drawing(&self) -> &Arc<Drawing> {
        &self.drawing
    }

    /// Has a result go when the connection is closed.
    pub(crate) fn keep_result(&self, result: &Arc<Mutex<State>>) {
        keep(&mut lock(&self.results), result);
    }

    /// The same, of a table.
    pub(crate) fn keep_table(&self, table: &Arc<SharedTable>) {
        keep(&mut lock(&self.tables), table);
    }

    /// The same, of an iterator, a cursor and the like.
    pub(crate) fn keep<T: Send + 'static>(&self, one: &Arc<Mutex<Option<T>>>) {
        let mut all = lock(&self.others);
        if all.len() == all.capacity() {
            all.retain(|known| known.strong_count() > 0);
        }
        let one: Weak<dyn LetGo> = Arc::downgrade(one) as _;
        all.push(one);
    }

    /// Ends what runs, lets go of all that came from the connection, and closes it. Says whether a transaction was open.
    pub(crate) fn close(&self) -> bool {
        if self.is_closed.swap(true, Ordering::AcqRel) {
            return false;
        }
        let was_open = self.in_transaction.swap(false, Ordering::AcqRel);
        if self.era.check().is_err() {
            // In the child of a fork: whoever holds these locks is in the parent.
            if let Ok(mut opened) = self.opened.try_lock() {
                drop(opened.take());
            }
            if let Ok(mut sql) = self.sql.try_lock() {
                std::mem::forget(sql.take());
            }
            return false;
        }
        // A statement that was about to begin forgets that it was interrupted.
        let sql = loop {
            self.interrupter.interrupt();
            match self.sql.try_lock() {
                Ok(mut sql) => break sql.take(),
                Err(std::sync::TryLockError::Poisoned(sql)) => break sql.into_inner().take(),
                Err(std::sync::TryLockError::WouldBlock) => std::thread::sleep(AGAIN),
            }
        };
        for result in std::mem::take(&mut *lock(&self.results)) {
            if let Some(result) = result.upgrade() {
                *lock(&result) = State::Closed;
            }
        }
        for table in std::mem::take(&mut *lock(&self.tables)) {
            if let Some(table) = table.upgrade() {
                *table.write().unwrap_or_else(PoisonError::into_inner) = None;
            }
        }
        let others = std::mem::take(&mut *lock(&self.others));
        others.iter().filter_map(Weak::upgrade).for_each(|other| other.let_go());
        drop(sql);
        drop(lock(&self.opened).take());
        was_open
    }
}

/// What is done while a statement is waited for.
fn look_for_signals(
    session: Weak<Session>,
    raised: Arc<Mutex<Option<PyErr>>>,
    drawing: Arc<Drawing>,
) -> impl FnMut() -> bool + Send + 'static {
    move || {
        // Without an interpreter there are no signals to look for.
        let looked = Python::try_attach(|py| {
            py.check_signals()?;
            drawing.wait(py, || session.upgrade()?.interrupter.progress())
        });
        looked.unwrap_or(Ok(())).map_err(|error| *lock(&raised) = Some(error)).is_ok()
    }
}

/// Adds one of many, without those that are gone.
fn keep<T: ?Sized>(all: &mut Vec<Weak<T>>, one: &Arc<T>) {
    if all.len() == all.capacity() {
        all.retain(|known| known.strong_count() > 0);
    }
    all.push(Arc::downgrade(one));
}

impl Drop for Session {
    fn drop(&mut self) {
        self.close();
    }
}
