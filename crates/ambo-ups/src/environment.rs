//! Environments.

use std::{
    collections::BTreeMap,
    ffi::{CString, c_char},
    path::Path,
};

use ambo::Database;

use crate::{
    data::given,
    settings::{self, IN_MEMORY, Opening, READ_ONLY, Shape, each, text},
    state::{Db, Env, Inner, State, free, give, of, ups_cursor_t, ups_db_t, ups_env_t, ups_txn_t},
    status::{
        DATABASE_ALREADY_EXISTS, DATABASE_ALREADY_OPEN, DATABASE_NOT_FOUND, FILE_NOT_FOUND, INV_PARAMETER,
        IO_ERROR, LIMITS_REACHED, NOT_IMPLEMENTED, Result, WRITE_PROTECTED, call, fail,
    },
    structs::{ups_parameter_t, ups_status_t},
};

/// Names from here on are upscaledb's own.
const RESERVED: u16 = 0xf000;
/// Closes databases and cursors, too.
pub(crate) const AUTO_CLEANUP: u32 = 1;
const AUTO_COMMIT: u32 = 8;

/// The table of a database.
fn table_name(name: u16) -> Result<String> {
    match name {
        0 | RESERVED.. => fail(INV_PARAMETER, &format!("{name} is no name of a database: 1 to 61439 are")),
        name => Ok(format!("db_{name}")),
    }
}

/// The names of the databases that there are.
fn names(db: &Database) -> Vec<u16> {
    let number = |name: &String| name.strip_prefix("main.db_")?.parse().ok();
    let mut names: Vec<u16> = db.tables().iter().filter_map(number).collect();
    names.sort_unstable();
    names
}

/// Opens an environment, or creates it.
fn open(
    env: *mut *mut ups_env_t,
    filename: *const c_char,
    (flags, mode): (u32, u32),
    parameters: *const ups_parameter_t,
    is_new: bool,
) -> Result<()> {
    let env = given("env", env)?;
    let filename = text(filename)?;
    let opening = Opening::of(flags, parameters)?;
    let (cache_bytes, journal_compression) = (opening.cache_bytes, opening.journal_compression);
    let db = match filename {
        _ if flags & IN_MEMORY != 0 && is_new => opening.options.open_in_memory()?,
        None => return fail(INV_PARAMETER, "the file name is NULL"),
        Some(name) if name.starts_with("ups://") => {
            return fail(NOT_IMPLEMENTED, "environments of other machines are not opened");
        }
        Some(name) if Path::new(name).is_file() => {
            return fail(IO_ERROR, &format!("{name} is a file: an environment of Ambo's is a directory"));
        }
        Some(name) if !is_new && !Path::new(name).exists() => {
            return fail(FILE_NOT_FOUND, &format!("{name} is not there"));
        }
        Some(_) if is_new && flags & READ_ONLY != 0 => {
            return fail(INV_PARAMETER, "what is new is not opened for reading only");
        }
        Some(name) => opening.options.create(is_new).open(name)?,
    };
    if is_new {
        // What was there is overwritten: the databases, and nothing else that somebody may keep in the directory.
        names(&db)
            .into_iter()
            .try_for_each(|name| db.drop_table(&table_name(name)?).map_err(crate::status::Failure::from))?;
    }
    let state = State {
        db: Some(db),
        handle: 0,
        flags,
        mode,
        filename: filename.filter(|_| flags & IN_MEMORY == 0).and_then(|name| CString::new(name).ok()),
        cache_bytes,
        journal_compression,
        next: 0,
        writes: 0,
        dbs: BTreeMap::new(),
        txns: BTreeMap::new(),
        cursors: BTreeMap::new(),
    };
    let opened = Env::new(state);
    *env = give(&opened, 0);
    opened.lock().handle = *env as usize;
    Ok(())
}

/// Creates an environment. What was there is overwritten.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ups_env_create(
    env: *mut *mut ups_env_t,
    filename: *const c_char,
    flags: u32,
    mode: u32,
    param: *const ups_parameter_t,
) -> ups_status_t {
    call(|| open(env, filename, (flags, mode), param, true))
}

/// Opens an environment.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ups_env_open(
    env: *mut *mut ups_env_t,
    filename: *const c_char,
    flags: u32,
    param: *const ups_parameter_t,
) -> ups_status_t {
    call(|| open(env, filename, (flags, 0), param, false))
}

/// Says what an environment has.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ups_env_get_parameters(
    env: *mut ups_env_t,
    param: *mut ups_parameter_t,
) -> ups_status_t {
    call(|| {
        let state = of(env)?.0.lock();
        let page_size = state.database()?.info()?.page_size as u64;
        given("the parameters", param)?;
        each(param, |name, value| {
            *value = match name {
                settings::PARAM_CACHE_SIZE => state.cache_bytes,
                settings::PARAM_PAGE_SIZE => page_size,
                settings::PARAM_MAX_DATABASES => u64::from(RESERVED - 1),
                settings::PARAM_FLAGS => state.flags.into(),
                settings::PARAM_FILEMODE => state.mode.into(),
                settings::PARAM_FILENAME => {
                    state.filename.as_ref().map_or(0, |name| name.as_ptr() as usize as u64)
                }
                settings::PARAM_JOURNAL_COMPRESSION => state.journal_compression,
                name => {
                    return fail(INV_PARAMETER, &format!("{name:#x} is no parameter of an environment"));
                }
            };
            Ok(())
        })
    })
}

/// A handle of a database of an environment.
fn opened(
    env: *mut ups_env_t,
    db: *mut *mut ups_db_t,
    name: u16,
    find: impl FnOnce(&State, &str) -> Result<(ambo::Table, Shape, bool)>,
) -> Result<()> {
    let (env, _) = of(env)?;
    let db = given("db", db)?;
    let mut state = env.lock();
    let table = table_name(name)?;
    if state.dbs.values().any(|db| db.name == name) {
        return fail(DATABASE_ALREADY_OPEN, &format!("database {name} is open"));
    }
    let (table, shape, is_read_only) = find(&state, &table)?;
    let id = state.number();
    *db = give(env, id);
    let handle = *db as usize;
    state.dbs.insert(id, Db { name, table, shape, is_read_only, arena: Default::default(), handle });
    Ok(())
}

/// Creates a database.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ups_env_create_db(
    env: *mut ups_env_t,
    db: *mut *mut ups_db_t,
    name: u16,
    flags: u32,
    params: *const ups_parameter_t,
) -> ups_status_t {
    call(|| {
        let shape = Shape::of(flags, params)?;
        opened(env, db, name, |state, table| {
            let store = state.database()?;
            if state.flags & READ_ONLY != 0 {
                return fail(WRITE_PROTECTED, "the environment is open for reading only");
            }
            if store.table(table).is_ok() {
                return fail(DATABASE_ALREADY_EXISTS, &format!("there is a database {name}"));
            }
            Ok((store.create_table(shape.table(table)?)?, shape, false))
        })
    })
}

/// Opens a database.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ups_env_open_db(
    env: *mut ups_env_t,
    db: *mut *mut ups_db_t,
    name: u16,
    flags: u32,
    params: *const ups_parameter_t,
) -> ups_status_t {
    call(|| {
        if flags & !READ_ONLY != 0 {
            return fail(INV_PARAMETER, &format!("{flags:#x} are no flags to open a database with"));
        }
        // What is not kept in upscaledb is kept here.
        each(params.cast_mut(), |name, _| match name {
            settings::PARAM_RECORD_COMPRESSION | settings::PARAM_KEY_COMPRESSION => Ok(()),
            name => fail(INV_PARAMETER, &format!("{name:#x} is no parameter to open a database with")),
        })?;
        opened(env, db, name, |state, table| {
            let Ok(table) = state.database()?.table(table) else {
                return fail(DATABASE_NOT_FOUND, &format!("there is no database {name}"));
            };
            let shape = Shape::of_table(table.definition())?;
            Ok((table, shape, (flags | state.flags) & READ_ONLY != 0))
        })
    })
}

/// Gives a database another name.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ups_env_rename_db(
    env: *mut ups_env_t,
    oldname: u16,
    newname: u16,
    flags: u32,
) -> ups_status_t {
    call(|| {
        let mut state = of(env)?.0.lock();
        let (from, to) = (table_name(oldname)?, table_name(newname)?);
        if flags != 0 {
            return fail(INV_PARAMETER, "there are no flags to rename with");
        }
        let store = state.database()?;
        if store.table(&from).is_err() {
            return fail(DATABASE_NOT_FOUND, &format!("there is no database {oldname}"));
        }
        if store.table(&to).is_ok() {
            return fail(DATABASE_ALREADY_EXISTS, &format!("there is a database {newname}"));
        }
        store.rename_table(&from, &to)?;
        state.dbs.values_mut().filter(|db| db.name == oldname).for_each(|db| db.name = newname);
        Ok(())
    })
}

/// Deletes a database that is not open.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ups_env_erase_db(env: *mut ups_env_t, name: u16, flags: u32) -> ups_status_t {
    call(|| {
        let state = of(env)?.0.lock();
        let table = table_name(name)?;
        if flags != 0 {
            return fail(INV_PARAMETER, "there are no flags to erase with");
        }
        if state.dbs.values().any(|db| db.name == name) {
            return fail(DATABASE_ALREADY_OPEN, &format!("database {name} is open"));
        }
        let store = state.database()?;
        if store.table(&table).is_err() {
            return fail(DATABASE_NOT_FOUND, &format!("there is no database {name}"));
        }
        Ok(store.drop_table(&table)?)
    })
}

/// Writes everything to pages.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ups_env_flush(env: *mut ups_env_t, _flags: u32) -> ups_status_t {
    call(|| {
        let state = of(env)?.0.lock();
        match state.flags & READ_ONLY {
            0 => Ok(state.database()?.flush()?),
            _ => Ok(()),
        }
    })
}

/// The names of all databases.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ups_env_get_database_names(
    env: *mut ups_env_t,
    list: *mut u16,
    length: *mut u32,
) -> ups_status_t {
    call(|| {
        let state = of(env)?.0.lock();
        let (length, _) = (given("the length", length)?, given("the names", list)?);
        let names = names(state.database()?);
        let room = std::mem::replace(length, names.len() as u32) as usize;
        if room < names.len() {
            return fail(LIMITS_REACHED, &format!("there are {} databases", names.len()));
        }
        for (place, name) in names.into_iter().enumerate() {
            // SAFETY: there is room for so many.
            unsafe { list.add(place).write(name) }
        }
        Ok(())
    })
}

/// Closes an environment, and with `UPS_AUTO_CLEANUP` all that is open in it. Transactions that are open end.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ups_env_close(env: *mut ups_env_t, flags: u32) -> ups_status_t {
    call(|| {
        let mut state = of(env)?.0.lock();
        state.cursors.values_mut().for_each(|cursor| cursor.open = None);
        let mut committed = Ok(());
        for (_, txn) in std::mem::take(&mut state.txns) {
            if let Inner::Write(transaction) = txn.inner
                && flags & AUTO_COMMIT != 0
            {
                committed = committed.and(transaction.commit());
            }
            free(txn.handle as *mut ups_txn_t);
        }
        let (cursors, dbs) = (std::mem::take(&mut state.cursors), std::mem::take(&mut state.dbs));
        let db = state.db.take();
        drop(state);
        if flags & AUTO_CLEANUP != 0 {
            cursors.values().for_each(|cursor| free(cursor.handle as *mut ups_cursor_t));
            dbs.values().for_each(|db| free(db.handle as *mut ups_db_t));
        }
        drop((cursors, dbs));
        let closed = db.map_or(Ok(()), Database::close);
        free(env);
        committed?;
        Ok(closed?)
    })
}
