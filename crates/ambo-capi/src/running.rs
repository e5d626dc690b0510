//! What a statement still computes while it is taken.

use std::sync::{Arc, Mutex};

use ambo_sql::Interrupter;

use crate::{
    connection::Connected,
    error::Result,
    handle::{Child, Close, Single, broken, closed},
};

/// Rows of a connection, and what ends them: whoever waits for the next must not keep the database from being closed.
pub(crate) struct Running<T> {
    rows: Single<T>,
    interrupter: Interrupter,
}

impl<T: Send> Close for Running<T> {
    fn close(&self) {
        // No statement begins any more that would forget it: connections are closed before their results.
        self.interrupter.interrupt();
        self.rows.close();
    }
}

impl<T: Send> Child<Running<T>> {
    /// Rows of a connection.
    pub(crate) fn of(connection: &Child<Connected>, rows: T) -> Result<Self> {
        let interrupter = connection.content()?.interrupter().clone();
        Self::new(connection.base(), Running { rows: Mutex::new(Some(rows)), interrupter })
    }

    /// Does something with them, as the only one.
    pub(crate) fn with<R>(&self, act: impl FnOnce(&mut T) -> Result<R>) -> Result<R> {
        act(self.content()?.rows.lock().map_err(broken)?.as_mut().ok_or_else(closed)?)
    }

    /// Turns them into something else that is taken.
    pub(crate) fn turned<U: Send>(&self, turn: impl FnOnce(T) -> Result<U>) -> Result<Child<Running<U>>> {
        let running: &Arc<Running<T>> = self.content()?;
        let rows = running.rows.lock().map_err(broken)?.take().ok_or_else(closed)?;
        let (rows, interrupter) = (Mutex::new(Some(turn(rows)?)), running.interrupter.clone());
        Child::new(self.base(), Running { rows, interrupter })
    }
}
