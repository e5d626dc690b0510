//! # Loading sorted rows

use std::{ffi::c_void, sync::Mutex};

use crate::{
    c::{Out, bytes, tell},
    error::{Error, Failure, call, free},
    handle::{Child, Handle, Single, body, give, of, take},
    status::{AMBO_OK, Status},
    table::Table,
};

/// A load that was begun.
pub struct LoadBody(Child<Single<ambo::BulkLoad>>);
body!(LoadBody, "load", b"amboload");

/// Pairs in the order of their keys, straight to packed pages; all are there at once when it is finished.
pub type Load = Handle<LoadBody>;

/// Begins a load into a table of bytes.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ambo_load_begin(
    table: *mut Table,
    load: *mut *mut Load,
    error: *mut *mut Error,
) -> Status {
    call(error, || {
        let (table, load) = (of(table)?, Out::new("load", load)?);
        let begun = table.raw(|table| Ok(table.bulk_load()?))?;
        load.set(give(LoadBody(Child::new(table.0.base(), Mutex::new(Some(begun)))?)));
        Ok(AMBO_OK)
    })
}

/// Adds a pair, whose key is greater than that before.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ambo_load_push(
    load: *mut Load,
    key: *const c_void,
    key_size: usize,
    value: *const c_void,
    value_size: usize,
    error: *mut *mut Error,
) -> Status {
    call(error, || {
        let (key, value) = (bytes("the key", key, key_size)?, bytes("the value", value, value_size)?);
        of(load)?.0.with(|load| Ok(load.push(key, value)?))?;
        Ok(AMBO_OK)
    })
}

/// Publishes the pairs, which replace those of the same keys, and frees the handle. `rows`, unless it is NULL, becomes their number.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ambo_load_finish(
    load: *mut *mut Load,
    rows: *mut u64,
    error: *mut *mut Error,
) -> Status {
    call(error, || {
        let Some(body) = take(load) else {
            return Err(Failure::misuse("this is no load, or one that was finished"));
        };
        tell(rows, body.0.end()?.finish()?);
        Ok(AMBO_OK)
    })
}

/// Gives up a load: nothing of it is there.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ambo_load_free(load: *mut *mut Load) {
    free(load);
}
