//! # Tables

use std::{
    ffi::c_char,
    sync::{Arc, RwLock},
};

use ambo::{TableDefinition, TableOptions};
use ambo_face::Class;

use crate::{
    c::{Out, name},
    database::{Base, Database},
    definition::{Definition, table_options},
    error::{Error, Failure, Result, call, free},
    handle::{Child, Handle, Shared, body, give, of},
    owned::{Names, NamesBody},
    status::{AMBO_OK, Status},
};

/// A table of a database.
pub struct TableBody(pub(crate) Child<Shared<ambo::Table>>);
body!(TableBody, "table", b"ambotabl");

/// A table. Threads that read much have a handle each, so that they do not wait for one another's counts.
pub type Table = Handle<TableBody>;

impl TableBody {
    fn new(base: &Arc<Base>, table: ambo::Table) -> Result<Self> {
        Ok(Self(Child::new(base, RwLock::new(Some(table)))?))
    }

    /// Does something with a table whose keys and values are bytes.
    #[inline]
    pub(crate) fn raw<R>(&self, act: impl FnOnce(&ambo::Table) -> Result<R>) -> Result<R> {
        self.0.with(|table| {
            check_raw(table)?;
            act(table)
        })
    }
}

#[inline]
pub(crate) fn check_raw(table: &ambo::Table) -> Result<()> {
    if table.definition().is_raw() {
        return Ok(());
    }
    let message = format!("table \"{}\" has typed columns", table.definition().name);
    let error = ambo_face::Error::new(Class::Request, message);
    Err(error.with_hint("use the functions on rows: ambo_row_insert, ambo_row_get and so on").into())
}

/// Does something that makes or finds a table.
fn found(
    database: *const Database,
    table: *mut *mut Table,
    error: *mut *mut Error,
    find: impl FnOnce(&ambo::Database) -> Result<ambo::Table>,
) -> Status {
    call(error, || {
        let (base, table) = (&of(database)?.0, Out::new("table", table)?);
        table.set(give(TableBody::new(base, find(&base.store()?)?)?));
        Ok(AMBO_OK)
    })
}

/// The table of a name whose keys and values are bytes; it is created when it is not there.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ambo_key_value(
    database: *mut Database,
    table_name: *const c_char,
    table: *mut *mut Table,
    error: *mut *mut Error,
) -> Status {
    found(database, table, error, |db| Ok(db.key_value(name("the name of the table", table_name)?)?))
}

/// Creates a table.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ambo_table_create(
    database: *mut Database,
    definition: *const Definition,
    table: *mut *mut Table,
    error: *mut *mut Error,
) -> Status {
    found(database, table, error, |db| Ok(db.create_table(of(definition)?.parts()?.table())?))
}

/// The table of a name (table, or schema.table), which has to be there.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ambo_table_open(
    database: *const Database,
    table_name: *const c_char,
    table: *mut *mut Table,
    error: *mut *mut Error,
) -> Status {
    found(database, table, error, |db| Ok(db.table(name("the name of the table", table_name)?)?))
}

/// Changes tables by their names.
fn change(
    database: *const Database,
    table: *const c_char,
    error: *mut *mut Error,
    act: impl FnOnce(&ambo::Database, &str) -> Result<()>,
) -> Status {
    call(error, || {
        act(&of(database)?.0.store()?, name("the name of the table", table)?)?;
        Ok(AMBO_OK)
    })
}

/// Drops a table with everything in it.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ambo_table_drop(
    database: *mut Database,
    table: *const c_char,
    error: *mut *mut Error,
) -> Status {
    change(database, table, error, |db, table| Ok(db.drop_table(table)?))
}

/// Deletes all rows of a table.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ambo_table_truncate(
    database: *mut Database,
    table: *const c_char,
    error: *mut *mut Error,
) -> Status {
    change(database, table, error, |db, table| Ok(db.truncate_table(table)?))
}

/// Renames a table.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ambo_table_rename(
    database: *mut Database,
    table: *const c_char,
    new_name: *const c_char,
    error: *mut *mut Error,
) -> Status {
    change(database, table, error, |db, table| Ok(db.rename_table(table, name("the new name", new_name)?)?))
}

/// The option that rows expire by a column, or by none.
fn ttl_column(table: &TableDefinition, column: &str) -> Result<TableOptions> {
    if column == "none" {
        return Ok(TableOptions::new().ttl_column(None));
    }
    let place = table.column_index(column).ok_or_else(|| {
        Failure::new(Class::Request, format!("table \"{}\" has no column \"{column}\"", table.name))
    })?;
    Ok(TableOptions::new().ttl_column(table.stored_in(place)))
}

/// Changes an option of a table that may have rows: key_compression, record_compression, record_dictionary, ttl or ttl_column ("none" ends
/// them). What is compacted from now on is stored that way; ambo_vacuum rewrites the rest.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ambo_table_alter(
    database: *mut Database,
    table: *const c_char,
    option: *const c_char,
    value: *const c_char,
    error: *mut *mut Error,
) -> Status {
    change(database, table, error, |db, table| {
        let (option, value) = (name("the option", option)?, name("the value", value)?);
        let options = match option {
            "ttl_column" => Some(ttl_column(db.table(table)?.definition(), value)?),
            option => table_options(option, value)?,
        };
        let options = options.ok_or_else(|| {
            let message = format!("option {option} cannot be changed");
            let hint = "there are key_compression, record_compression, record_dictionary, ttl and ttl_column";
            Failure::from(ambo_face::Error::new(Class::Request, message).with_hint(hint))
        })?;
        Ok(db.alter_table(table, options)?)
    })
}

/// Tells something of what a table is.
fn told(
    table: *const Table,
    names: *mut *mut Names,
    error: *mut *mut Error,
    tell: impl FnOnce(&TableDefinition) -> Vec<String>,
) -> Status {
    call(error, || {
        let (table, names) = (of(table)?, Out::new("names", names)?);
        let told = table.0.with(|table| Ok(tell(table.definition())))?;
        names.set(give(NamesBody::new(told.iter().map(String::as_str))));
        Ok(AMBO_OK)
    })
}

/// The names of a table's columns, as they were when it was opened. A table of bytes has key and value.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ambo_table_columns(
    table: *const Table,
    names: *mut *mut Names,
    error: *mut *mut Error,
) -> Status {
    told(table, names, error, |of| of.columns.iter().map(|column| column.name.clone()).collect())
}

/// The types of a table's columns, as SQL has them.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ambo_table_types(
    table: *const Table,
    types: *mut *mut Names,
    error: *mut *mut Error,
) -> Status {
    told(table, types, error, |of| of.columns.iter().map(|column| column.type_name()).collect())
}

/// The columns of a table's primary key.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ambo_table_key(
    table: *const Table,
    names: *mut *mut Names,
    error: *mut *mut Error,
) -> Status {
    told(table, names, error, |of| {
        of.primary_columns().iter().map(|place| of.columns[*place].name.clone()).collect()
    })
}

/// Frees a table's handle. Cursors over the table stay.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ambo_table_free(table: *mut *mut Table) {
    free(table);
}
