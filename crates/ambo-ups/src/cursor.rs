//! Cursors. A cursor points to an item by the key that this is stored under, and looks again where something was written since.

use ambo::{Cursor, Seek};

use crate::{
    data::{given, read_record, size_of_record, some},
    database::{SKIP_DUPLICATES, find_and_lend, insert_and_lend, is_beside, items_of},
    state::{At, Cur, State, free, give, number_of, of, ups_cursor_t, ups_db_t, ups_txn_t},
    status::{CURSOR_IS_NIL, Failure, INV_PARAMETER, KEY_NOT_FOUND, NOT_READY, Result, call, fail},
    structs::{ups_key_t, ups_record_t, ups_status_t},
};

const FIRST: u32 = 0x1;
const LAST: u32 = 0x2;
const NEXT: u32 = 0x4;
const PREVIOUS: u32 = 0x8;
const ONLY_DUPLICATES: u32 = 0x20;

/// Creates a cursor, which points to nothing.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ups_cursor_create(
    cursor: *mut *mut ups_cursor_t,
    db: *mut ups_db_t,
    txn: *mut ups_txn_t,
    _flags: u32,
) -> ups_status_t {
    call(|| {
        let (env, db) = of(db)?;
        let txn = number_of(env, txn)?;
        let cursor = given("cursor", cursor)?;
        let mut state = env.lock();
        state.db(db)?;
        let id = state.number();
        *cursor = give(env, id);
        state.cursors.insert(id, Cur { db, txn, at: None, open: None, handle: *cursor as usize });
        Ok(())
    })
}

/// Creates a cursor that points to the same item.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ups_cursor_clone(
    src: *mut ups_cursor_t,
    dest: *mut *mut ups_cursor_t,
) -> ups_status_t {
    call(|| {
        let (env, source) = of(src)?;
        let dest = given("dest", dest)?;
        let mut state = env.lock();
        let Cur { db, txn, at, .. } = state.cursor(source)?;
        let (db, txn, at) = (*db, *txn, at.clone());
        let id = state.number();
        *dest = give(env, id);
        state.cursors.insert(id, Cur { db, txn, at, open: None, handle: *dest as usize });
        Ok(())
    })
}

/// What moves a cursor, as things are now.
fn mover(state: &mut State, id: u64) -> Result<&mut Cursor> {
    let writes = state.writes;
    let cursor = state.cursor(id)?;
    let is_current = cursor.open.as_ref().is_some_and(|(_, then)| *then == writes);
    if !is_current {
        let opened = state.view(cursor.txn)?.cursor(&state.db(cursor.db)?.table)?;
        let opened = match state.cursors.get_mut(&id) {
            Some(cursor) => cursor.open.insert((opened, writes)),
            None => return fail(NOT_READY, "the cursor is closed"),
        };
        return Ok(&mut opened.0);
    }
    match state.cursors.get_mut(&id).and_then(|cursor| cursor.open.as_mut()) {
        Some((cursor, _)) => Ok(cursor),
        None => fail(NOT_READY, "the cursor is closed"),
    }
}

/// Moves to another item.
fn step(state: &mut State, id: u64, flags: u32) -> Result<At> {
    let at = state.cursor(id)?.at.clone();
    // From nowhere the next is the first.
    let direction = match (flags & (FIRST | LAST | NEXT | PREVIOUS), &at) {
        (NEXT, None) => FIRST,
        (PREVIOUS, None) => LAST,
        (direction, _) => direction,
    };
    if flags & ONLY_DUPLICATES != 0 && at.is_none() {
        return Err(Failure(CURSOR_IS_NIL));
    }
    // All items of the key that it points to.
    let bounds = match &at {
        Some(at) if flags & (SKIP_DUPLICATES | ONLY_DUPLICATES) != 0 => {
            let db = state.db(state.cursor(id)?.db)?;
            Some((db.stored(&at.key, 0)?, db.stored(&at.key, u64::MAX)?))
        }
        _ => None,
    };
    let at = at.map(|at| at.stored).unwrap_or_default();
    let skips = flags & SKIP_DUPLICATES != 0;
    let moved = mover(state, id)?;
    let found = match (direction, &bounds) {
        (FIRST, Some((low, _))) if !skips => moved.seek(Seek::Ge(low))?,
        (LAST, Some((_, high))) if !skips => moved.seek(Seek::Le(high))?,
        (FIRST, _) => moved.seek(Seek::First)?,
        (LAST, _) => moved.seek(Seek::Last)?,
        (NEXT, Some((_, high))) if skips => moved.seek(Seek::Gt(high))?,
        (PREVIOUS, Some((low, _))) if skips => moved.seek(Seek::Lt(low))?,
        (NEXT, _) if moved.is_valid() && moved.key() == at.as_slice() => moved.next()?,
        (NEXT, _) => moved.seek(Seek::Gt(&at))?,
        (PREVIOUS, _) if moved.is_valid() && moved.key() == at.as_slice() => moved.prev()?,
        (PREVIOUS, _) => moved.seek(Seek::Lt(&at))?,
        _ => {
            return fail(
                INV_PARAMETER,
                &format!("{flags:#x} are no flags to move by, or exclude one another"),
            );
        }
    };
    let is_within = |key: &[u8]| match &bounds {
        Some((low, high)) if !skips => key >= low.as_slice() && key <= high.as_slice(),
        _ => true,
    };
    if !found || !is_within(moved.key()) {
        return Err(Failure(KEY_NOT_FOUND));
    }
    let (stored, value) = (moved.key().to_vec(), moved.value()?.to_vec());
    let (key, _) = state.db(state.cursor(id)?.db)?.item(&stored, &value)?;
    Ok(At { stored, key })
}

/// Gives out the item that a cursor points to.
fn lend(
    state: &mut State,
    id: u64,
    key: Option<&mut ups_key_t>,
    record: Option<&mut ups_record_t>,
) -> Result<()> {
    let (db, txn, at) = pointed(state, id)?;
    let Some(value) = state.view(txn)?.get(&state.db(db)?.table, &at.stored)? else {
        // Somebody has erased it.
        return Err(Failure(CURSOR_IS_NIL));
    };
    let item = state.db(db)?.item(&at.stored, &value)?;
    let arena = state.arena(db, txn)?;
    if let Some(key) = key {
        arena.lend_key(key, &item.0)?;
    }
    if let Some(record) = record {
        arena.lend_record(record, &item.1)?;
    }
    Ok(())
}

/// The database and the transaction of a cursor, and what it points to.
fn pointed(state: &State, id: u64) -> Result<(u64, Option<u64>, At)> {
    let cursor = state.cursor(id)?;
    match &cursor.at {
        Some(at) => Ok((cursor.db, cursor.txn, at.clone())),
        None => Err(Failure(CURSOR_IS_NIL)),
    }
}

fn point(state: &mut State, id: u64, at: Option<At>) {
    if let Some(cursor) = state.cursors.get_mut(&id) {
        cursor.at = at;
    }
}

/// Moves a cursor, and gives out the item that it points to then.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ups_cursor_move(
    cursor: *mut ups_cursor_t,
    key: *mut ups_key_t,
    record: *mut ups_record_t,
    flags: u32,
) -> ups_status_t {
    call(|| {
        let (env, id) = of(cursor)?;
        let (key, record) = (some(key)?, some(record)?);
        let known = FIRST | LAST | NEXT | PREVIOUS | SKIP_DUPLICATES | ONLY_DUPLICATES;
        if flags & !known != 0 || flags & SKIP_DUPLICATES != 0 && flags & ONLY_DUPLICATES != 0 {
            return fail(
                INV_PARAMETER,
                &format!("{flags:#x} are no flags to move by, or exclude one another"),
            );
        }
        let mut state = env.lock();
        if flags & (FIRST | LAST | NEXT | PREVIOUS) != 0 {
            let at = step(&mut state, id, flags)?;
            point(&mut state, id, Some(at));
        }
        if key.is_none() && record.is_none() {
            return Ok(());
        }
        lend(&mut state, id, key, record)
    })
}

/// Points a cursor to a key, or to one near it.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ups_cursor_find(
    cursor: *mut ups_cursor_t,
    key: *mut ups_key_t,
    record: *mut ups_record_t,
    flags: u32,
) -> ups_status_t {
    call(|| {
        let (env, id) = of(cursor)?;
        let (key, record) = (given("the key", key)?, some(record)?);
        let mut state = env.lock();
        let Cur { db, txn, .. } = state.cursor(id)?;
        let of = (*db, *txn);
        let at = find_and_lend(&mut state, of, key, record, flags)?;
        point(&mut state, id, Some(at));
        Ok(())
    })
}

/// Inserts an item, and points to it.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ups_cursor_insert(
    cursor: *mut ups_cursor_t,
    key: *mut ups_key_t,
    record: *mut ups_record_t,
    flags: u32,
) -> ups_status_t {
    call(|| {
        let (env, id) = of(cursor)?;
        let (key, record) = (given("the key", key)?, given("the record", record)?);
        let mut state = env.lock();
        let Cur { db, txn, .. } = state.cursor(id)?;
        let of = (*db, *txn);
        let beside = match is_beside(flags) {
            true => Some(position(&state, id)?),
            false => None,
        };
        let at = insert_and_lend(&mut state, of, key, record, (flags, beside))?;
        point(&mut state, id, Some(at));
        Ok(())
    })
}

/// Among the items of its key, the position of that which a cursor points to.
fn position(state: &State, id: u64) -> Result<u64> {
    let (db, txn, at) = pointed(state, id)?;
    let of = state.db(db)?;
    let low = std::ops::Bound::Included(of.stored(&at.key, 0)?);
    state.view(txn)?.count(&of.table, (low, std::ops::Bound::Excluded(at.stored)))
}

/// Gives the item that a cursor points to another record.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ups_cursor_overwrite(
    cursor: *mut ups_cursor_t,
    record: *mut ups_record_t,
    _flags: u32,
) -> ups_status_t {
    call(|| {
        let (env, id) = of(cursor)?;
        let record = given("the record", record)?;
        let mut state = env.lock();
        let (db, txn, at) = pointed(&state, id)?;
        let record = read_record(&state.db(db)?.shape, record)?;
        state.write(db, txn, |db, transaction| {
            db.take(transaction, &at.key)?;
            let (_, value) = db.table.stored_row(&[at.key.clone(), record.clone()])?;
            Ok(transaction.put(&db.table, &at.stored, &value)?)
        })
    })
}

/// Erases the item that a cursor points to; it points to nothing then.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ups_cursor_erase(cursor: *mut ups_cursor_t, _flags: u32) -> ups_status_t {
    call(|| {
        let (env, id) = of(cursor)?;
        let mut state = env.lock();
        let (db, txn, at) = pointed(&state, id)?;
        state.write(db, txn, |db, transaction| {
            db.take(transaction, &at.key)?;
            Ok(transaction.delete(&db.table, &at.stored)?)
        })?;
        point(&mut state, id, None);
        Ok(())
    })
}

/// How many items the key has that a cursor points to.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ups_cursor_get_duplicate_count(
    cursor: *mut ups_cursor_t,
    count: *mut u32,
    _flags: u32,
) -> ups_status_t {
    call(|| {
        let (env, id) = of(cursor)?;
        let count = given("the count", count)?;
        let state = env.lock();
        let (db, txn, at) = pointed(&state, id)?;
        let of = state.db(db)?;
        *count = state.view(txn)?.count(&of.table, items_of(of, &at.key)?)? as u32;
        Ok(())
    })
}

/// Which of the items of its key a cursor points to, from 0.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ups_cursor_get_duplicate_position(
    cursor: *mut ups_cursor_t,
    place: *mut u32,
) -> ups_status_t {
    call(|| {
        let (env, id) = of(cursor)?;
        let place = given("the position", place)?;
        *place = position(&env.lock(), id)? as u32;
        Ok(())
    })
}

/// The size of the record that a cursor points to.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ups_cursor_get_record_size(
    cursor: *mut ups_cursor_t,
    size: *mut u32,
) -> ups_status_t {
    call(|| {
        let (env, id) = of(cursor)?;
        let size = given("the size", size)?;
        let state = env.lock();
        let (db, txn, at) = pointed(&state, id)?;
        let of = state.db(db)?;
        let Some(value) = state.view(txn)?.get(&of.table, &at.stored)? else {
            return Err(Failure(CURSOR_IS_NIL));
        };
        *size = size_of_record(&of.item(&at.stored, &value)?.1);
        Ok(())
    })
}

/// Closes a cursor.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ups_cursor_close(cursor: *mut ups_cursor_t) -> ups_status_t {
    call(|| {
        let (env, id) = of(cursor)?;
        let closed = env.lock().cursors.remove(&id);
        free(cursor);
        match closed {
            Some(_) => Ok(()),
            None => fail(NOT_READY, "the database was closed before"),
        }
    })
}
