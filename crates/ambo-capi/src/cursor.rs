//! # Cursors

use std::{ffi::c_void, ops::Bound, sync::Mutex};

use ambo::{Bounds, Seek};
use ambo_face::Class;

use crate::{
    c::{Out, bytes},
    datum::{Datum, read_key},
    error::{Error, Failure, Result, call, free},
    handle::{Child, Handle, Single, body, give, of},
    key_value::{Range, bounds},
    rows::{Row, RowBody},
    status::{AMBO_NOT_FOUND, AMBO_OK, Status},
    table::{Table, check_raw},
    transaction::{Transaction, read},
};

/// Where a cursor stands.
pub struct Place {
    cursor: ambo::Cursor,
    table: ambo::Table,
    range: Bounds,
    /// Whether it stands on a row of its range.
    stands: bool,
}

/// A cursor over a table.
pub struct CursorBody(Child<Single<Place>>);
body!(CursorBody, "cursor", b"ambocurs");

/// A place in a table, as it was when the cursor was opened; or as the transaction saw it then.
pub type Cursor = Handle<CursorBody>;

/// To the first row.
pub const AMBO_FIRST: u32 = 1;
/// To the last row.
pub const AMBO_LAST: u32 = 2;
/// To the row with the key.
pub const AMBO_EQ: u32 = 3;
/// To the first row with the key or a greater one.
pub const AMBO_GE: u32 = 4;
/// To the first row with a greater key.
pub const AMBO_GT: u32 = 5;
/// To the last row with the key or a smaller one.
pub const AMBO_LE: u32 = 6;
/// To the last row with a smaller key.
pub const AMBO_LT: u32 = 7;

/// Where to go.
enum To {
    Forward(Bound<Vec<u8>>),
    Back(Bound<Vec<u8>>),
    /// To the first row between two keys that are in.
    Between(Vec<u8>, Vec<u8>),
}

impl Place {
    fn go(&mut self, to: To) -> Result<Status> {
        let found = match &to {
            To::Forward(from) => self.forward(from)?,
            To::Back(from) => self.back(from)?,
            To::Between(low, high) => {
                self.forward(&Bound::Included(low.clone()))? && self.cursor.key() <= high.as_slice()
            }
        };
        Ok(self.note(found))
    }

    /// To the first row from a key on, and from the beginning of the range on.
    fn forward(&mut self, from: &Bound<Vec<u8>>) -> Result<bool> {
        let from = later(from, &self.range.0);
        Ok(self.cursor.seek(match from {
            Bound::Included(key) => Seek::Ge(key),
            Bound::Excluded(key) => Seek::Gt(key),
            Bound::Unbounded => Seek::First,
        })?)
    }

    /// To the last row up to a key, and up to the end of the range.
    fn back(&mut self, from: &Bound<Vec<u8>>) -> Result<bool> {
        let from = earlier(from, &self.range.1);
        Ok(self.cursor.seek(match from {
            Bound::Included(key) => Seek::Le(key),
            Bound::Excluded(key) => Seek::Lt(key),
            Bound::Unbounded => Seek::Last,
        })?)
    }

    /// Takes note of whether it stands on a row of its range.
    fn note(&mut self, found: bool) -> Status {
        self.stands = found && {
            let key = self.cursor.key();
            let above = match &self.range.0 {
                Bound::Included(low) => key >= low.as_slice(),
                Bound::Excluded(low) => key > low.as_slice(),
                Bound::Unbounded => true,
            };
            above
                && match &self.range.1 {
                    Bound::Included(high) => key <= high.as_slice(),
                    Bound::Excluded(high) => key < high.as_slice(),
                    Bound::Unbounded => true,
                }
        };
        if self.stands { AMBO_OK } else { AMBO_NOT_FOUND }
    }

    fn check(&self) -> Result<()> {
        match self.stands {
            true => Ok(()),
            false => Err(Failure::new(Class::Request, "the cursor stands nowhere")),
        }
    }
}

/// The later of two lower ends.
fn later<'a>(one: &'a Bound<Vec<u8>>, other: &'a Bound<Vec<u8>>) -> &'a Bound<Vec<u8>> {
    match (one, other) {
        (Bound::Unbounded, other) => other,
        (one, Bound::Unbounded) => one,
        (Bound::Included(a) | Bound::Excluded(a), Bound::Included(b) | Bound::Excluded(b)) => {
            let is_later = a > b || a == b && matches!(one, Bound::Excluded(_));
            if is_later { one } else { other }
        }
    }
}

/// The earlier of two upper ends.
fn earlier<'a>(one: &'a Bound<Vec<u8>>, other: &'a Bound<Vec<u8>>) -> &'a Bound<Vec<u8>> {
    match (one, other) {
        (Bound::Unbounded, other) => other,
        (one, Bound::Unbounded) => one,
        (Bound::Included(a) | Bound::Excluded(a), Bound::Included(b) | Bound::Excluded(b)) => {
            let is_earlier = a < b || a == b && matches!(one, Bound::Excluded(_));
            if is_earlier { one } else { other }
        }
    }
}

/// Opens a cursor, which stands nowhere. It sees the table as it is now, or as the transaction sees it: not what is written later.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ambo_cursor_open(
    table: *const Table,
    transaction: *const Transaction,
    cursor: *mut *mut Cursor,
    error: *mut *mut Error,
) -> Status {
    call(error, || {
        let out = Out::new("cursor", cursor)?;
        let place = read(table, transaction, |table, view| {
            let cursor = view.cursor(table)?;
            let range = (Bound::Unbounded, Bound::Unbounded);
            Ok(Place { cursor, table: table.clone(), range, stands: false })
        })?;
        out.set(give(CursorBody(Child::new(of(table)?.0.base(), Mutex::new(Some(place)))?)));
        Ok(AMBO_OK)
    })
}

/// Has a cursor over keys that are bytes go to keys of a range alone. It stands nowhere then. NULL is everything.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ambo_cursor_set_range(
    cursor: *mut Cursor,
    range: *const Range,
    error: *mut *mut Error,
) -> Status {
    call(error, || {
        let bounds = bounds(range)?;
        of(cursor)?.0.with(|place| {
            check_raw(&place.table)?;
            (place.range, place.stands) = (bounds, false);
            Ok(AMBO_OK)
        })
    })
}

/// The same, of the keys that begin with a prefix.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ambo_cursor_set_prefix(
    cursor: *mut Cursor,
    prefix: *const c_void,
    prefix_size: usize,
    error: *mut *mut Error,
) -> Status {
    call(error, || {
        let prefix = bytes("the prefix", prefix, prefix_size)?;
        of(cursor)?.0.with(|place| {
            check_raw(&place.table)?;
            let upper = ambo::successor(prefix).map_or(Bound::Unbounded, Bound::Excluded);
            (place.range, place.stands) = ((Bound::Included(prefix.to_vec()), upper), false);
            Ok(AMBO_OK)
        })
    })
}

/// Where a way to seek goes, by the first and the last stored key that is meant; both are asked for where the way has a key.
fn way(how: u32, keys: impl FnOnce() -> Result<(Vec<u8>, Vec<u8>)>) -> Result<To> {
    Ok(match how {
        AMBO_FIRST => To::Forward(Bound::Unbounded),
        AMBO_LAST => To::Back(Bound::Unbounded),
        AMBO_EQ | AMBO_GE | AMBO_GT | AMBO_LE | AMBO_LT => {
            let (first, last) = keys()?;
            match how {
                AMBO_EQ => To::Between(first, last),
                AMBO_GE => To::Forward(Bound::Included(first)),
                AMBO_GT => To::Forward(Bound::Excluded(last)),
                AMBO_LE => To::Back(Bound::Included(last)),
                _ => To::Back(Bound::Excluded(first)),
            }
        }
        _ => return Err(Failure::misuse(format!("{how} is no way to seek"))),
    })
}

/// Goes somewhere: AMBO_OK, or AMBO_NOT_FOUND, and the cursor stands nowhere. For AMBO_FIRST and AMBO_LAST there is no key.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ambo_cursor_seek(
    cursor: *mut Cursor,
    how: u32,
    key: *const c_void,
    key_size: usize,
    error: *mut *mut Error,
) -> Status {
    call(error, || {
        let key = bytes("the key", key, key_size)?.to_vec();
        of(cursor)?.0.with(|place| {
            let to = way(how, || {
                check_raw(&place.table)?;
                Ok((key.clone(), key))
            })?;
            place.go(to)
        })
    })
}

/// The same in a table of typed columns, by values of all columns of its key. Of several rows of one key AMBO_EQ goes to the first.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ambo_cursor_seek_row(
    cursor: *mut Cursor,
    how: u32,
    key: *const Datum,
    key_columns: usize,
    error: *mut *mut Error,
) -> Status {
    call(error, || {
        let key = read_key(key, key_columns)?;
        of(cursor)?.0.with(|place| {
            let stored = |number: u64| stored_key(&place.table, &key, number);
            // Rows of one key differ in their numbers.
            let to = way(how, || Ok((stored(0)?, stored(u64::MAX)?)))?;
            place.go(to)
        })
    })
}

/// The stored key of a row with these values in all columns of its key.
fn stored_key(table: &ambo::Table, key: &[ambo::Datum], number: u64) -> Result<Vec<u8>> {
    let wanted = table.definition().key.len();
    if key.len() != wanted {
        let name = &table.definition().name;
        let message = format!("the key of table \"{name}\" has {wanted} columns, not {}", key.len());
        return Err(Failure::new(Class::Request, message));
    }
    Ok(table.stored_key_of(key, number)?)
}

/// Goes to the next row: AMBO_OK, or AMBO_NOT_FOUND, and the cursor stands nowhere.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ambo_cursor_next(cursor: *mut Cursor, error: *mut *mut Error) -> Status {
    call(error, || {
        of(cursor)?.0.with(|place| {
            let found = place.stands && place.cursor.next()?;
            Ok(place.note(found))
        })
    })
}

/// Goes to the row before: AMBO_OK, or AMBO_NOT_FOUND, and the cursor stands nowhere.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ambo_cursor_prev(cursor: *mut Cursor, error: *mut *mut Error) -> Status {
    call(error, || {
        of(cursor)?.0.with(|place| {
            let found = place.stands && place.cursor.prev()?;
            Ok(place.note(found))
        })
    })
}

/// Lends bytes of the row that a cursor stands on.
fn lend(
    cursor: *mut Cursor,
    data: *mut *const c_void,
    size: *mut usize,
    error: *mut *mut Error,
    find: impl FnOnce(&mut Place) -> Result<&[u8]>,
) -> Status {
    call(error, || {
        let (data, size) = (Out::new("data", data)?, Out::new("size", size)?);
        of(cursor)?.0.with(|place| {
            check_raw(&place.table)?;
            place.check()?;
            let bytes = find(place)?;
            data.set(bytes.as_ptr().cast());
            size.set(bytes.len());
            Ok(AMBO_OK)
        })
    })
}

/// Lends the key of the row that the cursor stands on, until the cursor goes on.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ambo_cursor_key(
    cursor: *mut Cursor,
    key: *mut *const c_void,
    key_size: *mut usize,
    error: *mut *mut Error,
) -> Status {
    lend(cursor, key, key_size, error, |place| Ok(place.cursor.key()))
}

/// Lends the value of the row that the cursor stands on, until the cursor goes on.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ambo_cursor_value(
    cursor: *mut Cursor,
    value: *mut *const c_void,
    value_size: *mut usize,
    error: *mut *mut Error,
) -> Status {
    lend(cursor, value, value_size, error, |place| Ok(place.cursor.value()?))
}

/// The values of the row that the cursor stands on, of any table.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ambo_cursor_row(
    cursor: *mut Cursor,
    row: *mut *mut Row,
    error: *mut *mut Error,
) -> Status {
    call(error, || {
        let row = Out::new("row", row)?;
        of(cursor)?.0.with(|place| {
            place.check()?;
            let key = place.cursor.key().to_vec();
            row.set(give(RowBody(place.table.row_of(&key, place.cursor.value()?)?)));
            Ok(AMBO_OK)
        })
    })
}

/// Frees a cursor.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ambo_cursor_free(cursor: *mut *mut Cursor) {
    free(cursor);
}
