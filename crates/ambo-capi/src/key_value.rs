//! # Keys and values

use std::{
    ffi::c_void,
    ops::Bound::{Excluded, Included, Unbounded},
    slice,
};

use ambo::Bounds;

use crate::{
    c::{Out, bytes, given, tell},
    error::{Error, Failure, Result, call},
    handle::{give, of},
    owned::{Value, ValueBody},
    status::{AMBO_CHANGED, AMBO_EXISTS, AMBO_NOT_FOUND, AMBO_OK, AMBO_TOO_SMALL, Status},
    table::{Table, check_raw},
    transaction::{Transaction, read, write},
};

/// Maps a key to a value; AMBO_NOT_FOUND if there is none.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ambo_get(
    table: *const Table,
    transaction: *const Transaction,
    key: *const c_void,
    key_size: usize,
    value: *mut *mut Value,
    error: *mut *mut Error,
) -> Status {
    call(error, || {
        let (key, value) = (bytes("the key", key, key_size)?, Out::new("value", value)?);
        let found = read(table, transaction, |table, view| {
            check_raw(table)?;
            view.get(table, key)
        })?;
        Ok(match found {
            Some(found) => {
                value.set(give(ValueBody::Stored(found)));
                AMBO_OK
            }
            None => AMBO_NOT_FOUND,
        })
    })
}

/// The same into a buffer. `value_size` becomes the size of the value; if the buffer is smaller, AMBO_TOO_SMALL, and nothing is written.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ambo_get_into(
    table: *const Table,
    transaction: *const Transaction,
    key: *const c_void,
    key_size: usize,
    buffer: *mut c_void,
    buffer_size: usize,
    value_size: *mut usize,
    error: *mut *mut Error,
) -> Status {
    call(error, || {
        let (key, size) = (bytes("the key", key, key_size)?, Out::new("value_size", value_size)?);
        if buffer.is_null() && buffer_size > 0 {
            return Err(Failure::misuse("the buffer is NULL"));
        }
        let into = |value: &[u8]| {
            size.set(value.len());
            if value.len() > buffer_size {
                return AMBO_TOO_SMALL;
            }
            if !value.is_empty() {
                // SAFETY: the buffer is not NULL and large enough, and is none of the table's memory.
                unsafe { slice::from_raw_parts_mut(buffer.cast::<u8>(), value.len()) }.copy_from_slice(value);
            }
            AMBO_OK
        };
        let found = match transaction.is_null() {
            true => of(table)?.raw(|table| Ok(table.get_with(key, into)?))?,
            false => read(table, transaction, |table, view| {
                check_raw(table)?;
                Ok(view.get(table, key)?.map(|value| into(&value)))
            })?,
        };
        Ok(found.unwrap_or(AMBO_NOT_FOUND))
    })
}

/// Whether a key is there: AMBO_OK or AMBO_NOT_FOUND.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ambo_contains(
    table: *const Table,
    transaction: *const Transaction,
    key: *const c_void,
    key_size: usize,
    error: *mut *mut Error,
) -> Status {
    call(error, || {
        let key = bytes("the key", key, key_size)?;
        let is_there = match transaction.is_null() {
            true => of(table)?.raw(|table| Ok(table.contains(key)?))?,
            false => read(table, transaction, |table, view| {
                check_raw(table)?;
                Ok(view.get(table, key)?.is_some())
            })?,
        };
        Ok(if is_there { AMBO_OK } else { AMBO_NOT_FOUND })
    })
}

/// Puts a pair, whether or not the key is there.
pub const AMBO_UPSERT: u32 = 0;
/// Puts a pair only if its key is not there; else AMBO_EXISTS.
pub const AMBO_INSERT: u32 = 1;
/// Puts a pair only if its key is there; else AMBO_NOT_FOUND.
pub const AMBO_UPDATE: u32 = 2;

/// Puts a pair in a transaction.
pub(crate) fn put_in(
    table: &ambo::Table,
    transaction: &mut ambo::Transaction,
    (key, value): (&[u8], &[u8]),
    how: u32,
) -> Result<Status> {
    if how != AMBO_UPSERT {
        let is_there = ambo::Read::get(&*transaction, table, key)?.is_some();
        match (how, is_there) {
            (AMBO_INSERT, true) => return Ok(AMBO_EXISTS),
            (AMBO_UPDATE, false) => return Ok(AMBO_NOT_FOUND),
            (AMBO_INSERT | AMBO_UPDATE, _) => {}
            _ => return Err(Failure::misuse(format!("{how:#x} is no way to put"))),
        }
    }
    transaction.put(table, key, value)?;
    Ok(AMBO_OK)
}

/// Maps a key to a value. `flags` is AMBO_UPSERT, AMBO_INSERT or AMBO_UPDATE.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ambo_put(
    table: *mut Table,
    transaction: *mut Transaction,
    key: *const c_void,
    key_size: usize,
    value: *const c_void,
    value_size: usize,
    flags: u32,
    error: *mut *mut Error,
) -> Status {
    call(error, || {
        let (key, value) = (bytes("the key", key, key_size)?, bytes("the value", value, value_size)?);
        if transaction.is_null() && flags == AMBO_UPSERT {
            of(table)?.raw(|table| Ok(table.put(key, value)?))?;
            return Ok(AMBO_OK);
        }
        write(table, transaction, |table, transaction| {
            check_raw(table)?;
            put_in(table, transaction, (key, value), flags)
        })
    })
}

/// Deletes a key; AMBO_OK whether or not it was there.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ambo_delete(
    table: *mut Table,
    transaction: *mut Transaction,
    key: *const c_void,
    key_size: usize,
    error: *mut *mut Error,
) -> Status {
    call(error, || {
        let key = bytes("the key", key, key_size)?;
        if transaction.is_null() {
            of(table)?.raw(|table| Ok(table.delete(key)?))?;
            return Ok(AMBO_OK);
        }
        write(table, transaction, |table, transaction| {
            check_raw(table)?;
            Ok(transaction.delete(table, key)?)
        })?;
        Ok(AMBO_OK)
    })
}

/// Maps a key to `value` if its value is `expected`, as one step; else AMBO_CHANGED. Where `expected` is NULL the key must not be there;
/// where `value` is NULL it is deleted.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ambo_compare_and_set(
    table: *mut Table,
    transaction: *mut Transaction,
    key: *const c_void,
    key_size: usize,
    expected: *const c_void,
    expected_size: usize,
    value: *const c_void,
    value_size: usize,
    error: *mut *mut Error,
) -> Status {
    call(error, || {
        let key = bytes("the key", key, key_size)?;
        let some = |what: &str, data: *const c_void, size: usize| match data.is_null() {
            true if size == 0 => Ok(None),
            _ => bytes(what, data, size).map(Some),
        };
        let expected = some("what is expected", expected, expected_size)?;
        let value = some("the value", value, value_size)?;
        write(table, transaction, |table, transaction| {
            check_raw(table)?;
            let there = ambo::Read::get(&*transaction, table, key)?;
            if there.as_deref() != expected {
                return Ok(AMBO_CHANGED);
            }
            match value {
                Some(value) => transaction.put(table, key, value)?,
                None => transaction.delete(table, key)?,
            }
            Ok(AMBO_OK)
        })
    })
}

/// The key at the lower end is not in the range.
pub const AMBO_LOWER_EXCLUDED: u32 = 1;
/// The key at the upper end is in the range.
pub const AMBO_UPPER_INCLUDED: u32 = 2;

/// A range of keys: from `lower` on and below `upper`, unless `flags` say otherwise. An end that is NULL is open.
#[repr(C)]
pub struct Range {
    /// The least key.
    pub lower: *const c_void,
    /// Its size.
    pub lower_size: usize,
    /// The first key behind the range.
    pub upper: *const c_void,
    /// Its size.
    pub upper_size: usize,
    /// AMBO_LOWER_EXCLUDED, AMBO_UPPER_INCLUDED, both, or 0.
    pub flags: u32,
}

/// The bounds of a range; of NULL, those of everything.
pub(crate) fn bounds(range: *const Range) -> Result<Bounds> {
    if range.is_null() {
        return Ok((Unbounded, Unbounded));
    }
    let range = given("the range", range)?;
    if range.flags & !(AMBO_LOWER_EXCLUDED | AMBO_UPPER_INCLUDED) != 0 {
        return Err(Failure::misuse(format!("{:#x} are no flags of a range", range.flags)));
    }
    let end = |what: &str, data: *const c_void, size: usize| match data.is_null() && size == 0 {
        true => Ok(None),
        false => bytes(what, data, size).map(|key| Some(key.to_vec())),
    };
    let lower = match end("the lower end", range.lower, range.lower_size)? {
        Some(key) if range.flags & AMBO_LOWER_EXCLUDED != 0 => Excluded(key),
        Some(key) => Included(key),
        None => Unbounded,
    };
    let upper = match end("the upper end", range.upper, range.upper_size)? {
        Some(key) if range.flags & AMBO_UPPER_INCLUDED != 0 => Included(key),
        Some(key) => Excluded(key),
        None => Unbounded,
    };
    Ok((lower, upper))
}

/// How many rows a range has; of NULL, how many the table has. Values are not read.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ambo_count(
    table: *const Table,
    transaction: *const Transaction,
    range: *const Range,
    count: *mut u64,
    error: *mut *mut Error,
) -> Status {
    call(error, || {
        let (bounds, count) = (bounds(range)?, Out::new("count", count)?);
        let is_whole = bounds == (Unbounded, Unbounded);
        count.set(read(table, transaction, |table, view| {
            if !is_whole {
                check_raw(table)?;
            }
            view.count(table, bounds)
        })?);
        Ok(AMBO_OK)
    })
}

/// Deletes the rows of a range of keys; of NULL, all rows. They are not read, so that many cost as little as few; only where the table has
/// indexes or is stored by column they are deleted one by one.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ambo_delete_range(
    table: *mut Table,
    transaction: *mut Transaction,
    range: *const Range,
    error: *mut *mut Error,
) -> Status {
    call(error, || {
        let bounds = bounds(range)?;
        let check = |table: &ambo::Table| match bounds == (Unbounded, Unbounded) {
            true => Ok(()),
            false => check_raw(table),
        };
        match transaction.is_null() {
            true => of(table)?.0.with(|table| {
                check(table)?;
                Ok(table.delete_range(bounds.clone())?)
            })?,
            false => write(table, transaction, |table, transaction| {
                check(table)?;
                Ok(transaction.delete_range(table, bounds.clone())?)
            })?,
        }
        Ok(AMBO_OK)
    })
}

/// The sum of all keys of a table whose key is one integer: its lower 64 bits, and in `upper`, which may be NULL, those above, as one
/// number of 128 bits with a sign.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ambo_sum_keys(
    table: *const Table,
    transaction: *const Transaction,
    sum: *mut u64,
    upper: *mut i64,
    error: *mut *mut Error,
) -> Status {
    call(error, || {
        let out = Out::new("sum", sum)?;
        let sum = read(table, transaction, |table, view| view.sum_keys(table, (Unbounded, Unbounded)))?;
        out.set(sum as u64);
        tell(upper, (sum >> 64) as i64);
        Ok(AMBO_OK)
    })
}
