//! Statuses, and telling what is wrong.

use std::{
    ffi::{CStr, CString, c_char, c_int},
    panic::{AssertUnwindSafe, catch_unwind},
    sync::Mutex,
};

use ambo::Error;

use crate::structs::ups_status_t;

macro_rules! statuses {
    ($($name:ident = $number:literal, $text:literal;)*) => {
        $(pub(crate) const $name: ups_status_t = $number;)*

        fn text(status: ups_status_t) -> &'static CStr {
            match status {
                $($name => $text,)*
                _ => c"Unknown error",
            }
        }
    };
}

statuses! {
    SUCCESS = 0, c"Success";
    INV_RECORD_SIZE = -2, c"Invalid record size";
    INV_KEY_SIZE = -3, c"Invalid key size";
    INV_PAGE_SIZE = -4, c"Invalid page size";
    INV_PARAMETER = -8, c"Invalid parameter";
    KEY_NOT_FOUND = -11, c"Key not found";
    DUPLICATE_KEY = -12, c"Duplicate key";
    INTEGRITY_VIOLATED = -13, c"Internal integrity violated";
    INTERNAL_ERROR = -14, c"Internal error";
    WRITE_PROTECTED = -15, c"Database opened in read-only mode";
    IO_ERROR = -18, c"System I/O error";
    NOT_IMPLEMENTED = -20, c"Operation not implemented";
    FILE_NOT_FOUND = -21, c"File not found";
    WOULD_BLOCK = -22, c"Operation would block";
    NOT_READY = -23, c"Object was not initialized correctly, or was closed";
    LIMITS_REACHED = -24, c"Database limits reached";
    CURSOR_STILL_OPEN = -29, c"Cursor must be closed prior to Transaction abort/commit";
    TXN_CONFLICT = -31, c"Operation conflicts with another Transaction";
    TXN_STILL_OPEN = -33, c"Database is modified by a Transaction that is open";
    CURSOR_IS_NIL = -100, c"Cursor points to NIL";
    DATABASE_NOT_FOUND = -200, c"Database not found";
    DATABASE_ALREADY_EXISTS = -201, c"Database name already exists";
    DATABASE_ALREADY_OPEN = -202, c"Database already open";
    PLUGIN_NOT_FOUND = -500, c"Plugin was not found";
    PARSER_ERROR = -501, c"Parser failed, invalid query";
    PLUGIN_ALREADY_EXISTS = -502, c"Plugin already exists";
}

/// What is wrong, as a status; whoever wants to know was told.
#[derive(Debug)]
pub(crate) struct Failure(pub(crate) ups_status_t);

pub(crate) type Result<T, E = Failure> = std::result::Result<T, E>;

type Handler = unsafe extern "C" fn(level: c_int, message: *const c_char);

static HANDLER: Mutex<Option<Handler>> = Mutex::new(None);

/// Tells the handler, if there is one.
pub(crate) fn fail<T>(status: ups_status_t, message: &str) -> Result<T> {
    let handler = *HANDLER.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
    if let Some(handler) = handler {
        let message = CString::new(message.replace('\0', "")).unwrap_or_default();
        // SAFETY: it was given for this, and the text is there while it is called.
        unsafe { handler(1, message.as_ptr()) }
    }
    Err(Failure(status))
}

impl From<Error> for Failure {
    fn from(error: Error) -> Self {
        let status = match &error {
            Error::Conflict(_) | Error::Lock(_) => TXN_CONFLICT,
            Error::Exists(_) => DUPLICATE_KEY,
            Error::NotFound(_) => DATABASE_NOT_FOUND,
            Error::Damaged { .. } => INTEGRITY_VIOLATED,
            Error::InUse(_) => WOULD_BLOCK,
            Error::DiskFull(_) | Error::Io { .. } | Error::Poisoned(_) => IO_ERROR,
            Error::Invalid(_) => INV_PARAMETER,
            _ => INTERNAL_ERROR,
        };
        // A conflict is part of the work.
        if status == TXN_CONFLICT {
            return Self(status);
        }
        fail::<()>(status, &error.to_string()).err().unwrap_or(Self(status))
    }
}

/// Does what a function is for.
pub(crate) fn call(act: impl FnOnce() -> Result<()>) -> ups_status_t {
    match catch_unwind(AssertUnwindSafe(act)) {
        Ok(Ok(())) => SUCCESS,
        Ok(Err(Failure(status))) => status,
        Err(_) => INTERNAL_ERROR,
    }
}

/// Has a function told why something cannot be done; NULL is none.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ups_set_error_handler(handler: Option<Handler>) {
    *HANDLER.lock().unwrap_or_else(std::sync::PoisonError::into_inner) = handler;
}

/// What a status means.
#[unsafe(no_mangle)]
pub extern "C" fn ups_strerror(status: ups_status_t) -> *const c_char {
    text(status).as_ptr()
}

/// The version of upscaledb whose interface this is.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ups_get_version(major: *mut u32, minor: *mut u32, revision: *mut u32) {
    for (place, number) in [(major, 2), (minor, 2), (revision, 1)] {
        if !place.is_null() {
            // SAFETY: it is not NULL, and a place for a number.
            unsafe { place.write(number) }
        }
    }
}
