//! # Following what is committed
//!
//! A moment is the number of a commit. Who keeps ambo_changes_until with what was made of the changes goes on from there.

use std::{
    collections::VecDeque,
    ffi::{CString, c_char, c_void},
    ptr,
    sync::Mutex,
};

use ambo::{Committed, Fate, Timestamp};

use crate::{
    c::Out,
    database::Database,
    error::{Error, Result, ask, c_text, call, free},
    handle::{Child, Handle, Single, body, give, of, of_some, take},
    rows::{Row, RowBody},
    status::{AMBO_NOT_FOUND, AMBO_OK, Status},
    transaction::Transaction,
};

/// A row that was put: table, key and row are there.
pub const AMBO_CHANGE_WRITTEN: i32 = 1;
/// A row that was deleted: table and key are there.
pub const AMBO_CHANGE_DELETED: i32 = 2;
/// A row that was put and is too long for the log: table and key are there. Read it; if it is gone, a later change says so.
pub const AMBO_CHANGE_ELSEWHERE: i32 = 3;
/// A range of keys that was deleted: table, lower and upper are there.
pub const AMBO_CHANGE_RANGE: i32 = 4;
/// Definitions were changed.
pub const AMBO_CHANGE_DEFINED: i32 = 5;
/// Commits from `moment` to `last` that the log does not have, such as loads: who follows their tables reads them anew.
pub const AMBO_CHANGE_UNLOGGED: i32 = 6;

/// A change. What it lends is there until the changes go on.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct Change {
    /// AMBO_CHANGE_WRITTEN and so on.
    pub kind: i32,
    /// The commit that it is of. Changes of one commit come one after the other.
    pub moment: u64,
    /// The last moment of AMBO_CHANGE_UNLOGGED; else as moment.
    pub last: u64,
    /// The table, as schema.table, or NULL.
    pub table: *const c_char,
    /// The values of its key, or NULL. Of a table without one it is a hidden number.
    pub key: *const Row,
    /// Its values, or NULL.
    pub row: *const Row,
    /// The first key of a range as it is stored, or NULL.
    pub lower: *const c_void,
    /// Its size.
    pub lower_size: usize,
    /// The first key behind a range; NULL if there is no end.
    pub upper: *const c_void,
    /// Its size.
    pub upper_size: usize,
}

/// A row that is lent.
struct Lent(*mut Row);

// SAFETY: it is a box that nobody else frees, of what may be used by any thread.
unsafe impl Send for Lent {}

impl Lent {
    fn new(values: Vec<ambo::Datum>) -> Self {
        Self(give(RowBody(values)))
    }
}

impl Drop for Lent {
    fn drop(&mut self) {
        drop(take(&mut self.0));
    }
}

/// What a change lends.
struct Told {
    kind: i32,
    moment: u64,
    last: u64,
    table: Option<CString>,
    key: Option<Lent>,
    row: Option<Lent>,
    lower: Option<Vec<u8>>,
    upper: Option<Vec<u8>>,
}

impl Told {
    fn new(kind: i32, moment: Timestamp) -> Self {
        let (moment, last) = (moment.0, moment.0);
        Self { kind, moment, last, table: None, key: None, row: None, lower: None, upper: None }
    }

    fn change(&self) -> Change {
        let row = |row: &Option<Lent>| row.as_ref().map_or(ptr::null(), |row| row.0.cast_const());
        let bytes = |bytes: &Option<Vec<u8>>| match bytes {
            Some(bytes) => (bytes.as_ptr().cast(), bytes.len()),
            None => (ptr::null(), 0),
        };
        let ((lower, lower_size), (upper, upper_size)) = (bytes(&self.lower), bytes(&self.upper));
        Change {
            kind: self.kind,
            moment: self.moment,
            last: self.last,
            table: self.table.as_ref().map_or(ptr::null(), |table| table.as_ptr()),
            key: row(&self.key),
            row: row(&self.row),
            lower,
            lower_size,
            upper,
            upper_size,
        }
    }
}

/// Changes, and those of a commit that are not told yet: the first is what is lent.
pub(crate) struct Following {
    changes: ambo::Changes,
    told: VecDeque<Told>,
}

impl Following {
    fn next(&mut self) -> Result<Option<Change>> {
        self.told.pop_front();
        while self.told.is_empty() {
            let Some(committed) = self.changes.next().transpose()? else { return Ok(None) };
            self.told = parts(committed);
        }
        Ok(self.told.front().map(Told::change))
    }
}

/// The changes of a commit, one by one.
fn parts(committed: Committed) -> VecDeque<Told> {
    match committed {
        Committed::Unlogged { first, last } => {
            VecDeque::from([Told { last: last.0, ..Told::new(AMBO_CHANGE_UNLOGGED, first) }])
        }
        Committed::Commit { timestamp, ranges, rows, defines } => {
            let range = |of: ambo::CommittedRange| Told {
                table: Some(c_text(&of.table.name)),
                lower: Some(of.lower),
                upper: of.upper,
                ..Told::new(AMBO_CHANGE_RANGE, timestamp)
            };
            let row = |of: ambo::CommittedRow| {
                let (kind, row) = match of.fate {
                    Fate::Written(values) => (AMBO_CHANGE_WRITTEN, Some(Lent::new(values))),
                    Fate::Deleted => (AMBO_CHANGE_DELETED, None),
                    Fate::Elsewhere => (AMBO_CHANGE_ELSEWHERE, None),
                };
                let (table, key) = (Some(c_text(&of.table.name)), Some(Lent::new(of.key)));
                Told { table, key, row, ..Told::new(kind, timestamp) }
            };
            let defined = defines.then(|| Told::new(AMBO_CHANGE_DEFINED, timestamp));
            defined
                .into_iter()
                .chain(ranges.into_iter().map(range))
                .chain(rows.into_iter().map(row))
                .collect()
        }
    }
}

/// Changes that are followed.
pub struct ChangesBody(Child<Single<Following>>);
body!(ChangesBody, "changes", b"ambochng");

/// What was committed after one moment, up to another, in order.
pub type Changes = Handle<ChangesBody>;

/// The moment that a transaction reads at, or of NULL that of the last commit.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ambo_moment(
    database: *const Database,
    transaction: *const Transaction,
    moment: *mut u64,
    error: *mut *mut Error,
) -> Status {
    call(error, || {
        let (base, moment) = (&of(database)?.0, Out::new("moment", moment)?);
        moment.set(match of_some(transaction)? {
            None => base.store()?.snapshot().timestamp().0,
            Some(transaction) => {
                transaction.check_base(base)?;
                transaction.moment()?.0
            }
        });
        Ok(AMBO_OK)
    })
}

/// Begins to read what was committed after a moment, up to now. The log has it: the option keep_log_bytes says how much of that is kept.
/// Begin with the moment of a transaction that was begun with AMBO_READ_ONLY: read the tables there, and follow from there.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ambo_changes_open(
    database: *mut Database,
    since: u64,
    changes: *mut *mut Changes,
    error: *mut *mut Error,
) -> Status {
    call(error, || {
        let (base, changes) = (&of(database)?.0, Out::new("changes", changes)?);
        let following =
            Following { changes: base.store()?.changes_since(Timestamp(since))?, told: VecDeque::new() };
        changes.set(give(ChangesBody(Child::new(base, Mutex::new(Some(following)))?)));
        Ok(AMBO_OK)
    })
}

/// Everything up to this moment is in the changes: begin the next with it. 0 if they were closed.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ambo_changes_until(changes: *const Changes) -> u64 {
    ask(0, || of(changes)?.0.with(|following| Ok(following.changes.until().0)))
}

/// Goes to the next change: AMBO_OK, or AMBO_NOT_FOUND behind the last.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ambo_changes_next(
    changes: *mut Changes,
    change: *mut Change,
    error: *mut *mut Error,
) -> Status {
    call(error, || {
        let (changes, change) = (of(changes)?, Out::new("change", change)?);
        let next = changes.0.with(|following| {
            let next = following.next()?;
            Ok(next.map(|next| change.set(next)))
        })?;
        Ok(if next.is_some() { AMBO_OK } else { AMBO_NOT_FOUND })
    })
}

/// Frees changes.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ambo_changes_free(changes: *mut *mut Changes) {
    free(changes);
}
