//! Databases: finding, inserting, erasing, counting.

use std::ops::Bound::{Included, Unbounded};

use ambo::{Bounds, Datum, Read, Seek, Transaction};

use crate::{
    data::{given, read_key, read_record, some},
    environment::AUTO_CLEANUP,
    settings,
    state::{At, Db, Env, State, View, free, number_of, of, ups_cursor_t, ups_db_t, ups_env_t, ups_txn_t},
    status::{
        CURSOR_STILL_OPEN, DUPLICATE_KEY, Failure, INTEGRITY_VIOLATED, INV_PARAMETER, KEY_NOT_FOUND,
        LIMITS_REACHED, NOT_IMPLEMENTED, NOT_READY, Result, TXN_STILL_OPEN, call, fail,
    },
    structs::{ups_key_t, ups_parameter_t, ups_record_t, ups_status_t},
};

const OVERWRITE: u32 = 0x1;
const DUPLICATE: u32 = 0x2;
const BEFORE: u32 = 0x4;
const AFTER: u32 = 0x8;
const FIRST: u32 = 0x10;
const LAST: u32 = 0x20;
/// What only says how to go about it.
const HINTS: u32 = 0x40 | 0x100 | 0x8_0000 | 0x10_0000;
const FIND_LT: u32 = 0x1000;
const FIND_GT: u32 = 0x2000;
const FIND_EQ: u32 = 0x4000;
pub(crate) const SKIP_DUPLICATES: u32 = 0x10;

/// What was found.
pub(crate) struct Found {
    pub(crate) stored: Vec<u8>,
    pub(crate) key: Datum,
    pub(crate) record: Datum,
    /// -1 for a smaller key than was asked for, 1 for a greater one.
    side: i32,
}

/// All items of a key.
pub(crate) fn items_of(db: &Db, key: &Datum) -> Result<Bounds> {
    Ok((Included(db.stored(key, 0)?), Included(db.stored(key, u64::MAX)?)))
}

/// Looks for a key as flags say; of several items of one, the first.
pub(crate) fn find(db: &Db, view: &View<'_>, key: &Datum, flags: u32) -> Result<Option<Found>> {
    let wanted = match flags & !(HINTS) {
        0 => FIND_EQ,
        flags if flags & !(FIND_LT | FIND_GT | FIND_EQ) == 0 => flags,
        _ => return fail(INV_PARAMETER, &format!("{flags:#x} are no flags to find by")),
    };
    let (low, high) = (db.stored(key, 0)?, db.stored(key, u64::MAX)?);
    let mut cursor = view.cursor(&db.table)?;
    let mut side = 0;
    let mut found = wanted & FIND_EQ != 0 && cursor.seek(Seek::Ge(&low))? && cursor.key() <= high.as_slice();
    if !found && wanted & FIND_LT != 0 {
        side = -1;
        found = cursor.seek(Seek::Lt(&low))?;
        if found && db.shape.has_duplicates() {
            // The first of its items.
            let at = cursor.key().to_vec();
            let (smaller, _) = db.item(&at, cursor.value()?)?;
            found = cursor.seek(Seek::Ge(&db.stored(&smaller, 0)?))?;
        }
    }
    if !found && wanted & FIND_GT != 0 {
        side = 1;
        found = cursor.seek(Seek::Gt(&high))?;
    }
    if !found {
        return Ok(None);
    }
    let stored = cursor.key().to_vec();
    let (key, record) = db.item(&stored, cursor.value()?)?;
    Ok(Some(Found { stored, key, record, side }))
}

/// What is returned of how a key was found.
pub(crate) fn note_side(key: &mut ups_key_t, found: &Found) {
    key._flags = match found.side {
        -1 => 1,
        1 => 2,
        _ => 0,
    };
}

/// Finds the record of a key, or of one near it.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ups_db_find(
    db: *mut ups_db_t,
    txn: *mut ups_txn_t,
    key: *mut ups_key_t,
    record: *mut ups_record_t,
    flags: u32,
) -> ups_status_t {
    call(|| {
        let (env, id) = of(db)?;
        let txn = number_of(env, txn)?;
        let (key, record) = (given("the key", key)?, some(record)?);
        let mut state = env.lock();
        find_and_lend(&mut state, (id, txn), key, record, flags).map(drop)
    })
}

/// Finds, and gives out what was found; says where that is.
pub(crate) fn find_and_lend(
    state: &mut State,
    (db, txn): (u64, Option<u64>),
    key: &mut ups_key_t,
    record: Option<&mut ups_record_t>,
    flags: u32,
) -> Result<At> {
    let of = state.db(db)?;
    let wanted = read_key(&of.shape, key)?;
    let Some(found) = find(of, &state.view(txn)?, &wanted, flags)? else {
        return Err(Failure(KEY_NOT_FOUND));
    };
    note_side(key, &found);
    let arena = state.arena(db, txn)?;
    if found.side != 0 {
        arena.lend_key(key, &found.key)?;
    }
    if let Some(record) = record {
        arena.lend_record(record, &found.record)?;
    }
    Ok(At { stored: found.stored, key: found.key })
}

/// How a key was found: -1 is a smaller one, 1 a greater one, 0 the key itself.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ups_key_get_approximate_match_type(key: *mut ups_key_t) -> i32 {
    match some(key) {
        Ok(Some(ups_key_t { _flags: 1, .. })) => -1,
        Ok(Some(ups_key_t { _flags: 2, .. })) => 1,
        _ => 0,
    }
}

/// An item to be inserted. Without a key its database numbers it.
pub(crate) struct Item {
    pub(crate) key: Option<Datum>,
    pub(crate) record: Datum,
    pub(crate) flags: u32,
    /// Among the items of its key, the position of that which the cursor points to.
    pub(crate) beside: Option<u64>,
}

impl Item {
    /// What a caller gives.
    pub(crate) fn read(db: &Db, key: &ups_key_t, record: &ups_record_t, flags: u32) -> Result<Self> {
        let is_numbered = db.shape.is_numbered();
        let places = BEFORE | AFTER | FIRST | LAST;
        if flags & !(OVERWRITE | DUPLICATE | places | HINTS) != 0
            || flags & OVERWRITE != 0 && flags & (DUPLICATE | places) != 0
        {
            return fail(
                INV_PARAMETER,
                &format!("{flags:#x} are no flags to insert by, or exclude one another"),
            );
        }
        if flags & (DUPLICATE | places) != 0 && !db.shape.has_duplicates() {
            return fail(INV_PARAMETER, "the database was created without UPS_ENABLE_DUPLICATE_KEYS");
        }
        let key = match is_numbered && flags & OVERWRITE == 0 {
            true => {
                let is_user = key.flags & crate::structs::USER_ALLOC != 0 && !key.data.is_null();
                if !is_user && (key.size != 0 || !key.data.is_null()) {
                    return fail(
                        INV_PARAMETER,
                        "the key of a record number is empty, or memory of the caller's",
                    );
                }
                None
            }
            false => Some(read_key(&db.shape, key)?),
        };
        Ok(Self { key, record: read_record(&db.shape, record)?, flags, beside: None })
    }

    /// Inserts it. Returns its key and where it is stored.
    pub(crate) fn insert(&self, db: &Db, transaction: &mut Transaction) -> Result<(Datum, Vec<u8>)> {
        let table = &db.table;
        let Some(key) = &self.key else {
            let number = match transaction.insert_row(table, &[Datum::Null, self.record.clone()]) {
                Ok(number) => number.unwrap_or(0),
                Err(ambo::Error::Invalid(why)) => return fail(LIMITS_REACHED, &why),
                Err(error) => return Err(error.into()),
            };
            let key = match db.shape.key {
                settings::Kind::U32 => Datum::U32(number as u32),
                _ => Datum::U64(number),
            };
            let stored = db.stored(&key, 0)?;
            return Ok((key, stored));
        };
        db.take(transaction, key)?;
        let row = [key.clone(), self.record.clone()];
        if db.shape.has_duplicates() {
            return Ok((key.clone(), self.insert_among(db, transaction, key, &row)?));
        }
        if self.flags & OVERWRITE != 0 {
            transaction.upsert_row(table, &row)?;
        } else {
            match transaction.insert_row(table, &row) {
                Err(ambo::Error::Exists(_)) => return Err(Failure(DUPLICATE_KEY)),
                done => drop(done?),
            }
        }
        Ok((key.clone(), db.stored(key, 0)?))
    }

    /// Inserts it among the items of its key. Returns where it is stored.
    fn insert_among(
        &self,
        db: &Db,
        transaction: &mut Transaction,
        key: &Datum,
        row: &[Datum; 2],
    ) -> Result<Vec<u8>> {
        let table = &db.table;
        let range = || items_of(db, key);
        let first = Read::scan(&*transaction, table, range()?)?.next().transpose()?;
        if self.flags & OVERWRITE != 0
            && let Some((stored, _)) = &first
        {
            let (_, value) = table.stored_row(row)?;
            transaction.put(table, stored, &value)?;
            return Ok(stored.to_vec());
        }
        if first.is_some() && self.flags & (OVERWRITE | DUPLICATE | BEFORE | AFTER | FIRST | LAST) == 0 {
            return Err(Failure(DUPLICATE_KEY));
        }
        let place = match (first, self.beside) {
            (Some(_), Some(position)) if self.flags & BEFORE != 0 => ambo::Place::Before(position),
            (Some(_), Some(position)) if self.flags & AFTER != 0 => ambo::Place::After(position),
            (Some(_), _) if self.flags & FIRST != 0 => ambo::Place::First,
            _ => ambo::Place::Last,
        };
        transaction.insert_duplicate(table, row, place)?;
        let mut items = Read::scan(&*transaction, table, range()?)?;
        let inserted = match place {
            ambo::Place::First => items.next(),
            ambo::Place::Last => items.rev().next(),
            ambo::Place::Before(position) => items.nth(position as usize),
            ambo::Place::After(position) => items.nth(position as usize + 1),
        };
        match inserted.transpose()? {
            Some((stored, _)) => Ok(stored.to_vec()),
            None => fail(INTEGRITY_VIOLATED, "an item that was just inserted is not there"),
        }
    }
}

/// Whether what is inserted has its place beside another.
pub(crate) fn is_beside(flags: u32) -> bool {
    flags & (BEFORE | AFTER) != 0
}

/// Inserts an item, and gives out the number that it was given.
pub(crate) fn insert_and_lend(
    state: &mut State,
    (db, txn): (u64, Option<u64>),
    key: &mut ups_key_t,
    record: &ups_record_t,
    (flags, beside): (u32, Option<u64>),
) -> Result<At> {
    let mut item = Item::read(state.db(db)?, key, record, flags)?;
    item.beside = beside;
    let (inserted, stored) = state.write(db, txn, |db, transaction| item.insert(db, transaction))?;
    if item.key.is_none() {
        state.arena(db, txn)?.lend_key(key, &inserted)?;
    }
    Ok(At { stored, key: inserted })
}

/// Inserts an item.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ups_db_insert(
    db: *mut ups_db_t,
    txn: *mut ups_txn_t,
    key: *mut ups_key_t,
    record: *mut ups_record_t,
    flags: u32,
) -> ups_status_t {
    call(|| {
        let (env, id) = of(db)?;
        let txn = number_of(env, txn)?;
        let (key, record) = (given("the key", key)?, given("the record", record)?);
        if is_beside(flags) {
            return fail(INV_PARAMETER, "only a cursor inserts beside an item");
        }
        insert_and_lend(&mut env.lock(), (id, txn), key, record, (flags, None)).map(drop)
    })
}

/// Erases all items of a key.
pub(crate) fn erase(db: &Db, transaction: &mut Transaction, key: &Datum) -> Result<()> {
    db.take(transaction, key)?;
    let items: Vec<_> =
        Read::scan(&*transaction, &db.table, items_of(db, key)?)?.collect::<Result<_, _>>()?;
    if items.is_empty() {
        return Err(Failure(KEY_NOT_FOUND));
    }
    for (stored, _) in items {
        transaction.delete(&db.table, &stored)?;
    }
    Ok(())
}

/// Erases a key with all its items.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ups_db_erase(
    db: *mut ups_db_t,
    txn: *mut ups_txn_t,
    key: *mut ups_key_t,
    _flags: u32,
) -> ups_status_t {
    call(|| {
        let (env, id) = of(db)?;
        let txn = number_of(env, txn)?;
        let mut state = env.lock();
        let key = read_key(&state.db(id)?.shape, given("the key", key)?)?;
        state.write(id, txn, |db, transaction| erase(db, transaction, &key))
    })
}

/// How many items there are; with `UPS_SKIP_DUPLICATES`, how many keys.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ups_db_count(
    db: *mut ups_db_t,
    txn: *mut ups_txn_t,
    flags: u32,
    count: *mut u64,
) -> ups_status_t {
    call(|| {
        let (env, id) = of(db)?;
        let txn = number_of(env, txn)?;
        let count = given("the count", count)?;
        if flags & !SKIP_DUPLICATES != 0 {
            return fail(INV_PARAMETER, &format!("{flags:#x} are no flags to count by"));
        }
        let state = env.lock();
        let (db, view) = (state.db(id)?, state.view(txn)?);
        *count = match flags & SKIP_DUPLICATES != 0 && db.shape.has_duplicates() {
            true => count_keys(db, &view)?,
            false => view.count(&db.table, (Unbounded, Unbounded))?,
        };
        Ok(())
    })
}

fn count_keys(db: &Db, view: &View<'_>) -> Result<u64> {
    let mut cursor = view.cursor(&db.table)?;
    let (mut keys, mut found) = (0, cursor.seek(Seek::First)?);
    while found {
        keys += 1;
        let at = cursor.key().to_vec();
        let (key, _) = db.item(&at, cursor.value()?)?;
        found = cursor.seek(Seek::Gt(&db.stored(&key, u64::MAX)?))?;
    }
    Ok(keys)
}

/// Says what a database is.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ups_db_get_parameters(
    db: *mut ups_db_t,
    param: *mut ups_parameter_t,
) -> ups_status_t {
    call(|| {
        let (env, id) = of(db)?;
        let state = env.lock();
        let db = state.db(id)?;
        given("the parameters", param)?;
        let page_size = state.database()?.info()?.page_size as u64;
        settings::each(param, |name, value| {
            *value = match name {
                settings::PARAM_FLAGS => u64::from(db.shape.flags | state.flags),
                settings::PARAM_DATABASE_NAME => db.name.into(),
                settings::PARAM_KEY_TYPE => db.shape.key.number(),
                settings::PARAM_KEY_SIZE => db.shape.key_size.map_or(u16::MAX.into(), u64::from),
                settings::PARAM_RECORD_TYPE => db.shape.record.number(),
                settings::PARAM_RECORD_SIZE => db.shape.record_size.map_or(u32::MAX.into(), u64::from),
                settings::PARAM_KEY_COMPRESSION => db.shape.key_compression,
                settings::PARAM_RECORD_COMPRESSION => db.shape.record_compression,
                // An estimate, as there.
                settings::PARAM_MAX_KEYS => page_size / u64::from(db.shape.key_size.unwrap_or(32) + 8),
                name => return fail(INV_PARAMETER, &format!("{name:#x} is no parameter of a database")),
            };
            Ok(())
        })
    })
}

/// The environment of a database.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ups_db_get_env(db: *mut ups_db_t) -> *mut ups_env_t {
    let env = |(env, _): (&std::sync::Arc<Env>, u64)| env.lock().handle as *mut ups_env_t;
    of(db).map_or(std::ptr::null_mut(), env)
}

/// Verifies the whole environment.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ups_db_check_integrity(db: *mut ups_db_t, _flags: u32) -> ups_status_t {
    call(|| {
        let report = of(db)?.0.lock().database()?.check()?;
        match report.problems.first() {
            Some(problem) => fail(INTEGRITY_VIOLATED, problem),
            None => Ok(()),
        }
    })
}

/// Keys in an order of the program's own are not supported.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ups_register_compare(
    _name: *const std::ffi::c_char,
    _function: *const std::ffi::c_void,
) -> ups_status_t {
    call(|| fail(NOT_IMPLEMENTED, "keys in an order of the program's own are not supported"))
}

/// Keys in an order of the program's own are not supported.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ups_db_set_compare_func(
    _db: *mut ups_db_t,
    _function: *const std::ffi::c_void,
) -> ups_status_t {
    call(|| fail(NOT_IMPLEMENTED, "keys in an order of the program's own are not supported"))
}

/// Closes a database, and with `UPS_AUTO_CLEANUP` its cursors.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ups_db_close(db: *mut ups_db_t, flags: u32) -> ups_status_t {
    call(|| {
        let (env, id) = of(db)?;
        let mut state = env.lock();
        let open: Vec<u64> =
            state.cursors.iter().filter(|(_, cursor)| cursor.db == id).map(|(id, _)| *id).collect();
        if !open.is_empty() && flags & AUTO_CLEANUP == 0 {
            return fail(CURSOR_STILL_OPEN, "a cursor of the database is open");
        }
        if let Some(db) = state.dbs.get(&id)
            && state.txns.values().any(|txn| txn.modified.contains(&db.name))
        {
            return fail(TXN_STILL_OPEN, "a transaction that has written to the database is open");
        }
        for cursor in open {
            if let Some(cursor) = state.cursors.remove(&cursor) {
                free(cursor.handle as *mut ups_cursor_t);
            }
        }
        let closed = state.dbs.remove(&id);
        drop(state);
        free(db);
        match closed {
            Some(_) => Ok(()),
            None => fail(NOT_READY, "the environment is closed"),
        }
    })
}
