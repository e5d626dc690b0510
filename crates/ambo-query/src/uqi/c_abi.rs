//! Plug-ins as C describes them: the structures of `ambo_uqi.h`.
//!
//! Fields are added at the ends alone, where `struct_size` says whether they are there. What is otherwise another interface has another
//! number.

use std::ffi::{c_char, c_void};

/// The number of the interface.
pub const AMBO_UQI_ABI: u32 = 1;

pub(super) const PREDICATE: u32 = 1;
pub(super) const AGGREGATE: u32 = 2;

/// It is given keys and records, whichever was written.
pub(super) const BOTH_STREAMS: u32 = 1;
/// Each thread may have a state of its own; an aggregate then has to have `merge`.
pub(super) const ANY_THREAD: u32 = 2;

/// Some bytes.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct AmboBytes {
    /// Where they are; NULL if there are none.
    pub data: *const u8,
    /// How many.
    pub len: u64,
}

impl AmboBytes {
    pub(super) fn of(bytes: Option<&[u8]>) -> Self {
        match bytes {
            Some(bytes) => Self { data: bytes.as_ptr(), len: bytes.len() as u64 },
            None => Self { data: std::ptr::null(), len: 0 },
        }
    }
}

/// What a plug-in is called with.
#[repr(C)]
#[derive(Debug)]
pub struct AmboUqiInput {
    /// The bytes of this structure.
    pub struct_size: u32,
    /// 1: there are keys; 2: there are records.
    pub streams: u32,
    /// The type of keys, as in `ambo_uqi.h`.
    pub key_type: u32,
    /// The bytes of a key; 0 if they differ.
    pub key_size: u32,
    /// The type of records.
    pub record_type: u32,
    /// The bytes of a record; 0 if they differ.
    pub record_size: u32,
}

/// Rows.
#[repr(C)]
#[derive(Debug)]
pub struct AmboUqiBatch {
    /// The bytes of this structure.
    pub struct_size: u32,
    /// 0.
    pub reserved: u32,
    /// How many.
    pub rows: u64,
    /// All keys one behind the other; NULL if there are none.
    pub key_data: *const u8,
    /// Where each begins, and where the last ends; NULL if all have `key_size` bytes.
    pub key_offsets: *const u64,
    /// The same of records.
    pub record_data: *const u8,
    /// The same of records.
    pub record_offsets: *const u64,
}

/// Where a plug-in puts what it has found.
#[repr(C)]
#[derive(Debug)]
pub struct AmboUqiResult {
    /// The bytes of this structure.
    pub struct_size: u32,
    /// 0.
    pub reserved: u32,
    /// What the functions below need.
    pub host: *mut c_void,
    /// Says of which types keys and records are, before the first row; else they are bytes.
    pub types: unsafe extern "C" fn(*mut AmboUqiResult, key_type: u32, record_type: u32) -> i32,
    /// Adds a row; less than 0 if it cannot be.
    pub add_row: unsafe extern "C" fn(*mut AmboUqiResult, key: AmboBytes, record: AmboBytes) -> i32,
    /// Says what is wrong, as the text of an error.
    pub fail: unsafe extern "C" fn(*mut AmboUqiResult, message: *const c_char),
}

/// A plug-in.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
#[expect(missing_docs, reason = "they stand in ambo_uqi.h")]
pub struct AmboUqiPlugin {
    pub struct_size: u32,
    pub abi: u32,
    pub name: *const c_char,
    pub kind: u32,
    pub flags: u32,
    pub init: Option<unsafe extern "C" fn(*const AmboUqiInput, *mut *mut c_void) -> i32>,
    pub cleanup: Option<unsafe extern "C" fn(*mut c_void)>,
    pub one: Option<unsafe extern "C" fn(*mut c_void, AmboBytes, AmboBytes) -> i32>,
    pub many: Option<unsafe extern "C" fn(*mut c_void, *const AmboUqiBatch) -> i32>,
    pub test: Option<unsafe extern "C" fn(*mut c_void, AmboBytes, AmboBytes) -> i32>,
    pub test_many: Option<unsafe extern "C" fn(*mut c_void, *const AmboUqiBatch, *mut u64) -> i32>,
    pub merge: Option<unsafe extern "C" fn(*mut c_void, *mut c_void) -> i32>,
    pub finish: Option<unsafe extern "C" fn(*mut c_void, *mut AmboUqiResult) -> i32>,
}
