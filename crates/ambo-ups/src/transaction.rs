//! Transactions.

use std::{
    collections::BTreeSet,
    ffi::{CString, c_char, c_void},
    ptr,
};

use crate::{
    data::given,
    settings::{TRANSACTIONS, text},
    state::{Inner, Txn, free, give, of, ups_env_t, ups_txn_t},
    status::{CURSOR_STILL_OPEN, INV_PARAMETER, NOT_READY, Result, call, fail},
    structs::ups_status_t,
};

const ONLY_READS: u32 = 1;
const TEMPORARY: u32 = 2;

/// Begins a transaction.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ups_txn_begin(
    txn: *mut *mut ups_txn_t,
    env: *mut ups_env_t,
    name: *const c_char,
    _reserved: *mut c_void,
    flags: u32,
) -> ups_status_t {
    call(|| {
        let (env, _) = of(env)?;
        let txn = given("txn", txn)?;
        let name = text(name)?.and_then(|name| CString::new(name).ok());
        let mut state = env.lock();
        if state.flags & TRANSACTIONS == 0 {
            return fail(INV_PARAMETER, "the environment was opened without UPS_ENABLE_TRANSACTIONS");
        }
        let inner = match flags & !TEMPORARY {
            0 => Inner::Write(Box::new(state.database()?.begin()?)),
            ONLY_READS => Inner::Read(state.database()?.snapshot()),
            other => return fail(INV_PARAMETER, &format!("{other:#x} are no flags of a transaction")),
        };
        let id = state.number();
        *txn = give(env, id);
        let begun =
            Txn { inner, name, modified: BTreeSet::new(), arena: Default::default(), handle: *txn as usize };
        state.txns.insert(id, begun);
        Ok(())
    })
}

/// The name of a transaction; NULL if it has none.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ups_txn_get_name(txn: *mut ups_txn_t) -> *const c_char {
    let name = || -> Result<*const c_char> {
        let (env, id) = of(txn)?;
        let state = env.lock();
        Ok(state.txn(id)?.name.as_ref().map_or(ptr::null(), |name| name.as_ptr()))
    };
    name().unwrap_or(ptr::null())
}

/// Ends a transaction.
fn end(txn: *mut ups_txn_t, act: impl FnOnce(Inner) -> Result<()>) -> Result<()> {
    let (env, id) = of(txn)?;
    let mut state = env.lock();
    if state.cursors.values().any(|cursor| cursor.txn == Some(id)) {
        return fail(CURSOR_STILL_OPEN, "a cursor of the transaction is open");
    }
    let Some(ended) = state.txns.remove(&id) else { return fail(NOT_READY, "the transaction has ended") };
    state.writes += 1;
    let done = act(ended.inner);
    drop(state);
    free(txn);
    done
}

/// Commits a transaction.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ups_txn_commit(txn: *mut ups_txn_t, _flags: u32) -> ups_status_t {
    call(|| {
        end(txn, |inner| match inner {
            Inner::Write(transaction) => Ok(transaction.commit()?),
            Inner::Read(_) => Ok(()),
        })
    })
}

/// Gives a transaction up.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ups_txn_abort(txn: *mut ups_txn_t, _flags: u32) -> ups_status_t {
    call(|| {
        end(txn, |inner| {
            drop(inner);
            Ok(())
        })
    })
}
