//! Many operations at once.

use ambo::Datum;

use crate::{
    data::{given, read_key},
    database::{Item, erase, find},
    state::{Db, View, number_of, of, ups_db_t, ups_txn_t},
    status::{Failure, INV_PARAMETER, KEY_NOT_FOUND, Result, SUCCESS, call, fail},
    structs::{USER_ALLOC, ups_operation_t, ups_status_t},
};

const INSERT: i32 = 1;
const ERASE: i32 = 2;
const FIND: i32 = 3;

/// What an operation has given.
enum Given {
    Nothing,
    /// The number that an item was given.
    Key(Datum),
    /// What was found, with its key if that is another.
    Found(Option<Datum>, Datum),
}

/// Does one operation.
fn run(db: &Db, transaction: &mut ambo::Transaction, operation: &ups_operation_t) -> Result<Given> {
    match operation.kind {
        INSERT => {
            let item = Item::read(db, &operation.key, &operation.record, operation.flags)?;
            let (key, _) = item.insert(db, transaction)?;
            Ok(if item.key.is_none() { Given::Key(key) } else { Given::Nothing })
        }
        ERASE => {
            erase(db, transaction, &read_key(&db.shape, &operation.key)?)?;
            Ok(Given::Nothing)
        }
        FIND => {
            let wanted = read_key(&db.shape, &operation.key)?;
            let found = find(db, &View::Write(transaction), &wanted, operation.flags)?;
            let found = found.ok_or(Failure(KEY_NOT_FOUND))?;
            Ok(Given::Found((found.key != wanted).then_some(found.key), found.record))
        }
        kind => fail(INV_PARAMETER, &format!("{kind} is no kind of an operation")),
    }
}

/// Does operations one after the other, in a transaction or in one of their own. What comes of each stands in its result; one that fails
/// leaves the others. Records that are found have to be given memory, for what is lent is there once.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ups_db_bulk_operations(
    db: *mut ups_db_t,
    txn: *mut ups_txn_t,
    operations: *mut ups_operation_t,
    operations_length: usize,
    _flags: u32,
) -> ups_status_t {
    call(|| {
        let (env, id) = of(db)?;
        let txn = number_of(env, txn)?;
        given("the operations", operations)?;
        // SAFETY: it is neither NULL nor askew, and there are so many; nobody else uses them meanwhile.
        let operations = unsafe { std::slice::from_raw_parts_mut(operations, operations_length) };
        let lends = |one: &&ups_operation_t| one.kind == FIND && one.record.flags & USER_ALLOC == 0;
        if operations.iter().filter(lends).count() > 1 {
            return fail(
                INV_PARAMETER,
                "several records that are found need memory of the caller's: UPS_RECORD_USER_ALLOC",
            );
        }
        let mut state = env.lock();
        let done = state.write(id, txn, |db, transaction| {
            let one = |operation: &ups_operation_t| {
                let before = transaction.savepoint();
                let done = run(db, transaction, operation);
                if done.is_err() {
                    transaction.rollback_to(before)?;
                }
                Ok(done)
            };
            operations.iter().map(one).collect::<Result<Vec<_>>>()
        })?;
        let arena = state.arena(id, txn)?;
        for (operation, done) in operations.iter_mut().zip(done) {
            operation.result = match done {
                Ok(Given::Nothing) => SUCCESS,
                Ok(Given::Key(key)) => {
                    arena.lend_key(&mut operation.key, &key)?;
                    SUCCESS
                }
                Ok(Given::Found(key, record)) => {
                    if let Some(key) = key {
                        arena.lend_key(&mut operation.key, &key)?;
                    }
                    arena.lend_record(&mut operation.record, &record)?;
                    SUCCESS
                }
                Err(Failure(status)) => status,
            };
        }
        Ok(())
    })
}
