//! # Many operations at once

use std::{ffi::c_void, ptr, sync::Arc};

use crate::{
    c::{bytes, many_mut},
    database::Database,
    error::{Error, Failure, Result, call},
    handle::{give, of, of_some},
    key_value::{AMBO_INSERT, AMBO_UPDATE, AMBO_UPSERT, put_in},
    owned::{Value, ValueBody},
    status::{AMBO_NOT_FOUND, AMBO_OK, Status},
    table::Table,
    transaction::{Transaction, alone},
};

/// Puts a pair, whether or not its key is there.
pub const AMBO_OP_UPSERT: i32 = 1;
/// Puts a pair if its key is not there; else its status becomes AMBO_EXISTS.
pub const AMBO_OP_INSERT: i32 = 2;
/// Puts a pair if its key is there; else its status becomes AMBO_NOT_FOUND.
pub const AMBO_OP_UPDATE: i32 = 3;
/// Deletes a key.
pub const AMBO_OP_DELETE: i32 = 4;
/// Gets the value of a key into `result`; if it is not there, its status becomes AMBO_NOT_FOUND.
pub const AMBO_OP_GET: i32 = 5;

/// One of many operations.
#[repr(C)]
pub struct Operation {
    /// The size of this structure: sizeof(ambo_operation).
    pub struct_size: u32,
    /// AMBO_OP_UPSERT and so on.
    pub kind: i32,
    /// A table of bytes.
    pub table: *mut Table,
    /// The key.
    pub key: *const c_void,
    /// Its size.
    pub key_size: usize,
    /// The value.
    pub value: *const c_void,
    /// Its size.
    pub value_size: usize,
    /// What came of it.
    pub status: Status,
    /// What was got, to be freed by the caller; else NULL.
    pub result: *mut Value,
}

/// An operation that was looked at.
struct Checked<'a> {
    kind: i32,
    table: &'a crate::table::TableBody,
    key: &'a [u8],
    value: &'a [u8],
}

/// What an operation came to, and what it got.
type Done = (Status, Option<ambo::Value>);

impl Checked<'_> {
    fn of<'a>(operation: &'a Operation, base: &Arc<crate::database::Base>) -> Result<Checked<'a>> {
        if operation.struct_size as usize != size_of::<Operation>() {
            return Err(Failure::misuse("an operation whose size is not sizeof(ambo_operation)"));
        }
        let table = of(operation.table)?;
        if !Arc::ptr_eq(table.0.base(), base) {
            return Err(Failure::misuse("an operation on a table of another database handle"));
        }
        let key = bytes("the key", operation.key, operation.key_size)?;
        let value = bytes("the value", operation.value, operation.value_size)?;
        Ok(Checked { kind: operation.kind, table, key, value })
    }

    fn run(&self, transaction: &mut ambo::Transaction) -> Result<Done> {
        let pair = (self.key, self.value);
        self.table.raw(|table| {
            Ok(match self.kind {
                AMBO_OP_UPSERT => (put_in(table, transaction, pair, AMBO_UPSERT)?, None),
                AMBO_OP_INSERT => (put_in(table, transaction, pair, AMBO_INSERT)?, None),
                AMBO_OP_UPDATE => (put_in(table, transaction, pair, AMBO_UPDATE)?, None),
                AMBO_OP_DELETE => {
                    transaction.delete(table, self.key)?;
                    (AMBO_OK, None)
                }
                AMBO_OP_GET => match ambo::Read::get(&*transaction, table, self.key)? {
                    None => (AMBO_NOT_FOUND, None),
                    found => (AMBO_OK, found),
                },
                kind => return Err(Failure::misuse(format!("{kind} is no kind of an operation"))),
            })
        })
    }
}

/// Does operations one after the other, as one commit or in a transaction. An error leaves nothing of them; keys that are there or not are
/// no errors, and stand in each `status`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ambo_apply(
    database: *mut Database,
    transaction: *mut Transaction,
    operations: *mut Operation,
    count: usize,
    error: *mut *mut Error,
) -> Status {
    call(error, || {
        let base = &of(database)?.0;
        let operations = many_mut("the operations", operations, count)?;
        let checked: Vec<_> = operations.iter().map(|one| Checked::of(one, base)).collect::<Result<_>>()?;
        let writes_alone = checked.iter().all(|one| matches!(one.kind, AMBO_OP_UPSERT | AMBO_OP_DELETE));
        let run = |transaction: &mut ambo::Transaction| -> Result<Vec<Done>> {
            checked.iter().map(|one| one.run(transaction)).collect()
        };
        let done = match of_some(transaction)? {
            Some(transaction) => {
                if !Arc::ptr_eq(transaction.0.base(), base) {
                    return Err(Failure::misuse("the transaction is of another database handle"));
                }
                transaction.within(run)?
            }
            None if writes_alone => {
                write_batch(&base.store()?, &checked)?;
                checked.iter().map(|_| (AMBO_OK, None)).collect()
            }
            None => alone(&base.store()?, run)?,
        };
        drop(checked);
        for (operation, (status, found)) in operations.iter_mut().zip(done) {
            operation.status = status;
            operation.result = found.map_or(ptr::null_mut(), |found| give(ValueBody::Stored(found)));
        }
        Ok(AMBO_OK)
    })
}

/// Writes that look at nothing need no transaction.
fn write_batch(db: &ambo::Database, operations: &[Checked<'_>]) -> Result<()> {
    let mut batch = db.batch();
    for one in operations {
        one.table.raw(|table| {
            match one.kind {
                AMBO_OP_DELETE => batch.delete(table, one.key),
                _ => batch.put(table, one.key, one.value),
            }
            Ok(())
        })?;
    }
    Ok(batch.commit()?)
}
