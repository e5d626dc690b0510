//! Queries: `ups/upscaledb_uqi.h`.

#![allow(non_camel_case_types, reason = "the names are upscaledb's")]

use std::{
    ffi::{c_char, c_int, c_void},
    panic::{AssertUnwindSafe, catch_unwind},
    slice,
    sync::{Mutex, PoisonError},
};

use ambo::{
    Database, Error, Type,
    uqi::{Statement, Stream, Target, UpsPlugin, UqiResult},
};

use crate::{
    data::given,
    settings::{Kind, text},
    state::{At, State, View, of, ups_cursor_t, ups_env_t},
    status::{INV_PARAMETER, PARSER_ERROR, PLUGIN_ALREADY_EXISTS, PLUGIN_NOT_FOUND, Result, call, fail},
    structs::{ups_key_t, ups_record_t, ups_status_t},
};

/// The rows of a query.
pub type uqi_result_t = UqiResult;

/// A plug-in that was registered, for all environments.
struct Registered(UpsPlugin);

// SAFETY: by upscaledb's rules plug-ins stay as they are, and are called by any thread.
unsafe impl Send for Registered {}

static PLUGINS: Mutex<Vec<Registered>> = Mutex::new(Vec::new());

/// Makes a plug-in known.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn uqi_register_plugin(descriptor: *mut UpsPlugin) -> ups_status_t {
    call(|| {
        let descriptor = *given("the descriptor", descriptor)?;
        // One that is known already is found out by a store of functions.
        let mut plugins = PLUGINS.lock().unwrap_or_else(PoisonError::into_inner);
        let store = ambo::uqi::Plugins::default();
        let known = plugins.iter().map(|known| &known.0).chain([&descriptor]);
        for plugin in known {
            // SAFETY: by upscaledb's rules plug-ins stay as they are.
            match unsafe { store.register_ups(plugin) } {
                Ok(()) => {}
                Err(Error::Exists(name)) => return fail(PLUGIN_ALREADY_EXISTS, &name),
                Err(error) => return fail(INV_PARAMETER, &error.to_string()),
            }
        }
        plugins.push(Registered(descriptor));
        Ok(())
    })
}

/// Tells a database of the plug-ins that were registered.
fn tell(db: &Database) {
    for Registered(plugin) in &*PLUGINS.lock().unwrap_or_else(PoisonError::into_inner) {
        // SAFETY: by upscaledb's rules plug-ins stay as they are. One that it knows already is refused.
        let _ = unsafe { db.uqi_plugins().register_ups(plugin) };
    }
}

/// Runs a query.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn uqi_select(
    env: *mut ups_env_t,
    query: *const c_char,
    result: *mut *mut uqi_result_t,
) -> ups_status_t {
    // SAFETY: as promised to this function.
    unsafe { uqi_select_range(env, query, std::ptr::null_mut(), std::ptr::null(), result) }
}

/// Runs a query of a range, which begins and ends at cursors.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn uqi_select_range(
    env: *mut ups_env_t,
    query: *const c_char,
    begin: *mut ups_cursor_t,
    end: *const ups_cursor_t,
    result: *mut *mut uqi_result_t,
) -> ups_status_t {
    call(|| {
        let (env, _) = of(env)?;
        let result = given("result", result)?;
        let Some(query) = text(query)? else { return fail(INV_PARAMETER, "the query is NULL") };
        let cursor = |cursor: *const ups_cursor_t| -> Result<Option<u64>> {
            if cursor.is_null() {
                return Ok(None);
            }
            match of(cursor)? {
                (of_cursor, id) if std::sync::Arc::ptr_eq(env, of_cursor) => Ok(Some(id)),
                _ => fail(INV_PARAMETER, "the cursor is of another environment"),
            }
        };
        let (begin, end) = (cursor(begin)?, cursor(end)?);
        let mut state = env.lock();
        let found = select(&mut state, query, begin, end)?;
        *result = Box::into_raw(Box::new(found));
        Ok(())
    })
}

fn select(state: &mut State, query: &str, begin: Option<u64>, end: Option<u64>) -> Result<UqiResult> {
    let statement = Statement::parse(query).or_else(|error| fail(PARSER_ERROR, &error.to_string()))?;
    let mut txn = None;
    let mut place = |cursor: Option<u64>| -> Result<Option<At>> {
        let Some(cursor) = cursor else { return Ok(None) };
        let of = state.cursor(cursor)?;
        if *statement.target() != Target::Number(state.db(of.db)?.name) {
            return fail(INV_PARAMETER, "a cursor is of another database than the query");
        }
        txn = of.txn.or(txn);
        match &of.at {
            Some(at) => Ok(Some(at.clone())),
            None => fail(INV_PARAMETER, "a cursor points to nothing"),
        }
    };
    let (from, to) = (place(begin)?, place(end)?);
    let db = state.database()?;
    tell(db);
    let bounds = (
        from.map_or(std::ops::Bound::Unbounded, |at| std::ops::Bound::Included(at.stored)),
        to.as_ref().map_or(std::ops::Bound::Unbounded, |at| std::ops::Bound::Excluded(at.stored.clone())),
    );
    let found = match state.view(txn)? {
        View::Now(view) => db.uqi_between(view, query, bounds),
        View::Write(view) => db.uqi_between(view, query, bounds),
        View::Read(view) => db.uqi_between(view, query, bounds),
    };
    let found = found.or_else(|error| match error {
        Error::NotFound(what) if what.starts_with("function") => fail(PLUGIN_NOT_FOUND, &what),
        Error::Invalid(what) => fail(PARSER_ERROR, &what),
        error => Err(error.into()),
    })?;
    if let Some(begin) = begin.and_then(|begin| state.cursors.get_mut(&begin)) {
        begin.at = to;
    }
    Ok(found)
}

/// What upscaledb calls a type.
fn number(ty: Type) -> u32 {
    match ty {
        Type::U8 => 3,
        Type::U16 => 5,
        Type::U32 => 7,
        Type::U64 => 9,
        Type::F32 => 11,
        Type::F64 => 12,
        _ => 0,
    }
}

/// What a result says; nothing unwinds into C, and of no result there is nothing.
fn ask<T>(result: *const uqi_result_t, none: T, say: impl FnOnce(&UqiResult) -> T) -> T {
    if result.is_null() || !result.is_aligned() {
        return none;
    }
    // SAFETY: it is neither NULL nor askew, and a result by upscaledb's rules.
    let result = unsafe { &*result };
    catch_unwind(AssertUnwindSafe(|| say(result))).unwrap_or(none)
}

/// How many rows there are.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn uqi_result_get_row_count(result: *mut uqi_result_t) -> u32 {
    ask(result, 0, |result| result.rows() as u32)
}

/// The type of keys.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn uqi_result_get_key_type(result: *mut uqi_result_t) -> u32 {
    ask(result, 0, |result| number(result.keys.ty()))
}

/// The type of records.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn uqi_result_get_record_type(result: *mut uqi_result_t) -> u32 {
    ask(result, 0, |result| number(result.records.ty()))
}

/// Where a value is, and how large.
fn lent(stream: &Stream, row: u32) -> (*mut c_void, usize) {
    match (row as usize) < stream.len() {
        true => {
            let bytes = stream.bytes(row as usize);
            (bytes.as_ptr().cast_mut().cast(), bytes.len())
        }
        false => (std::ptr::null_mut(), 0),
    }
}

/// The key of a row.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn uqi_result_get_key(result: *mut uqi_result_t, row: u32, key: *mut ups_key_t) {
    let (data, size) = ask(result, (std::ptr::null_mut(), 0), |result| lent(&result.keys, row));
    if let Ok(key) = given("the key", key) {
        (key.data, key.size) = (data, size as u16);
    }
}

/// The record of a row.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn uqi_result_get_record(
    result: *mut uqi_result_t,
    row: u32,
    record: *mut ups_record_t,
) {
    let (data, size) = ask(result, (std::ptr::null_mut(), 0), |result| lent(&result.records, row));
    if let Ok(record) = given("the record", record) {
        (record.data, record.size) = (data, size as u32);
    }
}

fn all_of(stream: &Stream) -> (*mut c_void, usize) {
    (stream.data().as_ptr().cast_mut().cast(), stream.data().len())
}

fn give_all((data, size): (*mut c_void, usize), place: *mut u32) -> *mut c_void {
    if let Ok(place) = given("size", place) {
        *place = size as u32;
    }
    data
}

/// All keys.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn uqi_result_get_key_data(result: *mut uqi_result_t, size: *mut u32) -> *mut c_void {
    give_all(ask(result, (std::ptr::null_mut(), 0), |result| all_of(&result.keys)), size)
}

/// All records.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn uqi_result_get_record_data(
    result: *mut uqi_result_t,
    size: *mut u32,
) -> *mut c_void {
    give_all(ask(result, (std::ptr::null_mut(), 0), |result| all_of(&result.records)), size)
}

/// Frees a result.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn uqi_result_close(result: *mut uqi_result_t) {
    if !result.is_null() && result.is_aligned() {
        // SAFETY: it was given by a query, and not closed, by upscaledb's rules.
        drop(unsafe { Box::from_raw(result) });
    }
}

/// What a plug-in does with a result.
fn with(result: *mut uqi_result_t, act: impl FnOnce(&mut UqiResult) -> Result<()>) {
    let _ = call(|| act(given("the result", result)?));
}

/// Says what keys and records are.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn uqi_result_initialize(result: *mut uqi_result_t, key: c_int, record: c_int) {
    with(result, |result| {
        let ty = |number: c_int| -> Result<Type> { Ok(Kind::of(number as u64)?.column()) };
        *result = UqiResult::new(ty(key)?, ty(record)?);
        Ok(())
    });
}

/// Appends a row.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn uqi_result_add_row(
    result: *mut uqi_result_t,
    key: *const c_void,
    key_size: u32,
    record: *const c_void,
    record_size: u32,
) {
    let bytes = |data: *const c_void, size: u32| match data.is_null() || size == 0 {
        true => &[][..],
        // SAFETY: so many bytes are there by upscaledb's rules.
        false => unsafe { slice::from_raw_parts(data.cast::<u8>(), size as usize) },
    };
    with(result, |result| Ok(result.add_row(bytes(key, key_size), bytes(record, record_size))?));
}

/// Moves what a result has to another.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn uqi_result_move(destination: *mut uqi_result_t, source: *mut uqi_result_t) {
    with(destination, |destination| {
        if !std::ptr::eq(destination, source) {
            *destination = std::mem::take(given("the source", source)?);
        }
        Ok(())
    });
}
