//! # UQI
//!
//! Aggregates of keys and records, such as SUM($key) FROM numbers WHERE $record > 5; the language stands in Ambo's book. Functions of
//! others are described in ambo_uqi.h, and come from the directory that the option plugin_directory names.

use std::{
    ffi::{c_char, c_void},
    ptr,
};

use ambo::{
    Bounds,
    uqi::{Stream, UqiResult},
};

use crate::{
    c::{Out, text},
    database::Database,
    error::{Error, Failure, Result, ask, call, free},
    handle::{Handle, body, give, of, of_some},
    key_value::{Range, bounds},
    status::{AMBO_OK, Status},
    transaction::{Content, Transaction},
};

/// What a query has found.
pub struct UqiRowsBody(UqiResult);
body!(UqiRowsBody, "rows", b"ambouqir");

/// The rows of a query of UQI: keys and records. What it lends is there until it is freed.
pub type UqiRows = Handle<UqiRowsBody>;

/// The keys of rows.
pub const AMBO_UQI_KEYS: u32 = 0;
/// Their records.
pub const AMBO_UQI_RECORDS: u32 = 1;

/// Computes a query, of which `query` is the text, AMBO_ZERO_ENDED or of a size.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ambo_uqi(
    database: *mut Database,
    transaction: *const Transaction,
    query: *const c_char,
    query_size: usize,
    rows: *mut *mut UqiRows,
    error: *mut *mut Error,
) -> Status {
    call(error, || {
        run(database, transaction, text("the query", query, query_size)?, bounds(ptr::null())?, rows)
    })
}

/// The same of the rows of a range of keys, as ambo_cursor_key lends them. NULL is everything.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ambo_uqi_between(
    database: *mut Database,
    transaction: *const Transaction,
    query: *const c_char,
    query_size: usize,
    range: *const Range,
    rows: *mut *mut UqiRows,
    error: *mut *mut Error,
) -> Status {
    call(error, || run(database, transaction, text("the query", query, query_size)?, bounds(range)?, rows))
}

fn run(
    database: *mut Database,
    transaction: *const Transaction,
    query: &str,
    range: Bounds,
    rows: *mut *mut UqiRows,
) -> Result<Status> {
    let (base, rows) = (&of(database)?.0, Out::new("rows", rows)?);
    let db = base.store()?;
    let found = match of_some(transaction)? {
        None => db.uqi_between(&db, query, range)?,
        Some(transaction) => {
            transaction.check_base(base)?;
            transaction.0.with(|content| {
                Ok(match content {
                    Content::Own(transaction, _) => db.uqi_between(&**transaction, query, range)?,
                    Content::View(snapshot) => db.uqi_between(snapshot, query, range)?,
                    #[cfg(feature = "sql")]
                    Content::Of(connected, _) => connected
                        .with_transaction(|transaction| Ok(db.uqi_between(transaction, query, range)?))?,
                })
            })?
        }
    };
    rows.set(give(UqiRowsBody(found)));
    Ok(AMBO_OK)
}

/// How many rows there are.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ambo_uqi_rows_count(rows: *const UqiRows) -> usize {
    ask(0, || Ok(of(rows)?.0.rows()))
}

/// Keys or records.
fn stream<'r>(rows: *const UqiRows, which: u32) -> Result<&'r Stream> {
    let result = &of(rows)?.0;
    match which {
        AMBO_UQI_KEYS => Ok(&result.keys),
        AMBO_UQI_RECORDS => Ok(&result.records),
        _ => Err(Failure::misuse(format!("{which} is neither AMBO_UQI_KEYS nor AMBO_UQI_RECORDS"))),
    }
}

/// The type of keys or records, as in ambo_uqi.h.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ambo_uqi_rows_type(rows: *const UqiRows, which: u32) -> u32 {
    ask(0, || Ok(stream(rows, which)?.ty().code().into()))
}

/// The key or the record of a row, and its size; NULL if there is none, or it is NULL.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ambo_uqi_rows_at(
    rows: *const UqiRows,
    which: u32,
    row: usize,
    size: *mut usize,
) -> *const c_void {
    let (data, length) = ask((ptr::null(), 0), || {
        let stream = stream(rows, which)?;
        if row >= stream.len() || stream.value(row).is_null() {
            return Ok((ptr::null(), 0));
        }
        let bytes = stream.bytes(row);
        Ok((bytes.as_ptr().cast(), bytes.len()))
    });
    crate::c::tell(size, length);
    data
}

/// All keys or all records one behind the other, and how many bytes that are: an array, if values of the type have one width.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ambo_uqi_rows_data(
    rows: *const UqiRows,
    which: u32,
    size: *mut usize,
) -> *const c_void {
    let (data, length) = ask((ptr::null(), 0), || {
        let data = stream(rows, which)?.data();
        Ok((data.as_ptr().cast(), data.len()))
    });
    crate::c::tell(size, length);
    data
}

/// Frees rows.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ambo_uqi_rows_free(rows: *mut *mut UqiRows) {
    free(rows);
}
