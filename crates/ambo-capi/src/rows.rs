//! # Rows of typed tables

use crate::{
    c::{Out, tell},
    datum::{Datum, read_key},
    error::{Error, Failure, ask, call, free},
    handle::{Handle, body, give, of},
    status::{AMBO_EXISTS, AMBO_NOT_FOUND, AMBO_OK, Status},
    table::Table,
    transaction::{Transaction, read, write},
};

/// The values of a row.
pub struct RowBody(pub(crate) Vec<ambo::Datum>);
body!(RowBody, "row", b"ambo_row");

/// The values of a row, which are there until it is freed.
pub type Row = Handle<RowBody>;

/// How many values a row has.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ambo_row_size(row: *const Row) -> usize {
    ask(0, || Ok(of(row)?.0.len()))
}

/// Lends the value of a column, from 0.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ambo_row_datum(
    row: *const Row,
    column: usize,
    datum: *mut Datum,
    error: *mut *mut Error,
) -> Status {
    call(error, || {
        let (row, datum) = (of(row)?, Out::new("datum", datum)?);
        let value =
            row.0.get(column).ok_or_else(|| Failure::misuse(format!("there is no column {column}")))?;
        datum.set(Datum::of(value));
        Ok(AMBO_OK)
    })
}

/// Frees a row.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ambo_row_free(row: *mut *mut Row) {
    free(row);
}

/// Adds a row: a value for each column of the table, in their order. AMBO_EXISTS if there is one with its key, or with
/// a value that has to be unique. `number`, unless it is NULL,
/// becomes that which the row was given, if the table numbers its rows; else 0.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ambo_row_insert(
    table: *mut Table,
    transaction: *mut Transaction,
    values: *const Datum,
    columns: usize,
    number: *mut u64,
    error: *mut *mut Error,
) -> Status {
    call(error, || {
        let row = read_key(values, columns)?;
        let inserted =
            write(table, transaction, |table, transaction| match transaction.insert_row(table, &row) {
                Err(ambo::Error::Exists(_)) => Ok(None),
                done => Ok(Some(done?)),
            })?;
        Ok(match inserted {
            Some(given) => {
                tell(number, given.unwrap_or(0));
                AMBO_OK
            }
            None => AMBO_EXISTS,
        })
    })
}

/// Adds a row, or replaces the one with its key.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ambo_row_upsert(
    table: *mut Table,
    transaction: *mut Transaction,
    values: *const Datum,
    columns: usize,
    error: *mut *mut Error,
) -> Status {
    call(error, || {
        let row = read_key(values, columns)?;
        write(table, transaction, |table, transaction| Ok(transaction.upsert_row(table, &row)?))?;
        Ok(AMBO_OK)
    })
}

/// The row with a primary key, or AMBO_NOT_FOUND.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ambo_row_get(
    table: *const Table,
    transaction: *const Transaction,
    key: *const Datum,
    key_columns: usize,
    row: *mut *mut Row,
    error: *mut *mut Error,
) -> Status {
    call(error, || {
        let (key, row) = (read_key(key, key_columns)?, Out::new("row", row)?);
        Ok(match read(table, transaction, |table, view| view.get_row(table, &key))? {
            Some(found) => {
                row.set(give(RowBody(found)));
                AMBO_OK
            }
            None => AMBO_NOT_FOUND,
        })
    })
}

/// Deletes the row with a primary key, or AMBO_NOT_FOUND.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ambo_row_delete(
    table: *mut Table,
    transaction: *mut Transaction,
    key: *const Datum,
    key_columns: usize,
    error: *mut *mut Error,
) -> Status {
    call(error, || {
        let key = read_key(key, key_columns)?;
        let deleted =
            write(table, transaction, |table, transaction| Ok(transaction.delete_row(table, &key)?))?;
        Ok(if deleted { AMBO_OK } else { AMBO_NOT_FOUND })
    })
}
