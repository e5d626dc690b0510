//! # Errors

use std::{
    ffi::{CString, c_char},
    ptr,
};

use ambo_face::{Class, caught};

use crate::{
    handle::{self, Handle, body},
    status::{AMBO_INTERNAL, AMBO_MISUSE, Status, of_class},
};

/// The result of what a function does.
pub(crate) type Result<T, E = Failure> = std::result::Result<T, E>;

/// What went wrong, on its way to C.
#[derive(Debug)]
pub(crate) struct Failure {
    pub(crate) status: Status,
    pub(crate) error: ambo_face::Error,
}

impl Failure {
    pub(crate) fn new(class: Class, message: impl Into<String>) -> Self {
        ambo_face::Error::new(class, message).into()
    }

    /// A fault in the use of the interface.
    pub(crate) fn misuse(message: impl Into<String>) -> Self {
        let mut error = ambo_face::Error::new(Class::Request, message);
        error.sqlstate = "HY000";
        Self { status: AMBO_MISUSE, error }
    }
}

impl From<ambo_face::Error> for Failure {
    fn from(error: ambo_face::Error) -> Self {
        Self { status: of_class(error.class), error }
    }
}

impl From<ambo::Error> for Failure {
    fn from(error: ambo::Error) -> Self {
        ambo_face::Error::from(error).into()
    }
}

#[cfg(feature = "sql")]
impl From<ambo_sql::Error> for Failure {
    fn from(error: ambo_sql::Error) -> Self {
        ambo_face::Error::from(error).into()
    }
}

/// What is known of an error.
pub struct ErrorBody {
    status: Status,
    message: CString,
    shown: CString,
    sqlstate: CString,
    hint: Option<CString>,
    object: Option<CString>,
    place: Option<ambo_face::Place>,
}
body!(ErrorBody, "error", b"amboerro");

/// What went wrong. What it lends is there until it is freed.
pub type Error = Handle<ErrorBody>;

/// A text as C's. Zero bytes, which none can have, are left out.
pub(crate) fn c_text(text: &str) -> CString {
    CString::new(text.replace('\0', "")).unwrap_or_default()
}

impl From<Failure> for ErrorBody {
    fn from(Failure { status, error }: Failure) -> Self {
        Self {
            status,
            message: c_text(&error.message),
            shown: c_text(&error.show()),
            sqlstate: c_text(error.sqlstate),
            hint: error.hint.as_deref().map(c_text),
            object: error.object.as_deref().map(c_text),
            place: error.place,
        }
    }
}

/// Does what a function is for: nothing unwinds into C, and what goes wrong becomes a status and an object.
pub(crate) fn call(error: *mut *mut Error, act: impl FnOnce() -> Result<Status>) -> Status {
    let done = caught(|| Ok(act())).map_err(Failure::from).and_then(|done| done);
    match done {
        Ok(status) => status,
        Err(failure) => {
            let status = failure.status;
            if !error.is_null() {
                // An error that is left from before goes.
                let before = caught(|| Ok(handle::take(error)));
                let made = caught(|| Ok(handle::give(ErrorBody::from(failure)))).unwrap_or(ptr::null_mut());
                crate::c::tell(error, made);
                drop(before);
            }
            status
        }
    }
}

/// As [`call`], of what says nothing but yes, no, how many or where.
pub(crate) fn ask<T>(otherwise: T, act: impl FnOnce() -> Result<T>) -> T {
    caught(|| Ok(act())).ok().and_then(|done| done.ok()).unwrap_or(otherwise)
}

/// Drops something, quietly.
pub(crate) fn free<B: handle::Body>(place: *mut *mut Handle<B>) {
    ask((), || {
        drop(handle::take(place));
        Ok(())
    });
}

/// The status that the function returned.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ambo_error_status(error: *const Error) -> Status {
    ask(AMBO_INTERNAL, || Ok(handle::of(error)?.status))
}

/// What went wrong, in a sentence.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ambo_error_message(error: *const Error) -> *const c_char {
    ask(ptr::null(), || Ok(handle::of(error)?.message.as_ptr()))
}

/// The message, the line of the statement with a mark below the place, and what may help: what to show to people.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ambo_error_show(error: *const Error) -> *const c_char {
    ask(ptr::null(), || Ok(handle::of(error)?.shown.as_ptr()))
}

/// Five letters and digits, as the standard and PostgreSQL have them; HY000 for misuse.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ambo_error_sqlstate(error: *const Error) -> *const c_char {
    ask(ptr::null(), || Ok(handle::of(error)?.sqlstate.as_ptr()))
}

/// What may help, or NULL.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ambo_error_hint(error: *const Error) -> *const c_char {
    ask(ptr::null(), || Ok(handle::of(error)?.hint.as_ref().map_or(ptr::null(), |hint| hint.as_ptr())))
}

/// The name that is not there, or NULL.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ambo_error_object(error: *const Error) -> *const c_char {
    ask(ptr::null(), || Ok(handle::of(error)?.object.as_ref().map_or(ptr::null(), |name| name.as_ptr())))
}

/// The line of the statement, from 1; 0 if there is none.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ambo_error_line(error: *const Error) -> u64 {
    ask(0, || Ok(handle::of(error)?.place.map_or(0, |place| place.line)))
}

/// The character in the line, from 1; 0 if there is none.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ambo_error_column(error: *const Error) -> u64 {
    ask(0, || Ok(handle::of(error)?.place.map_or(0, |place| place.column)))
}

/// Whether the same transaction may succeed when it is run again.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ambo_error_retryable(error: *const Error) -> bool {
    ask(false, || Ok(handle::of(error)?.status == crate::AMBO_CONFLICT))
}

/// Frees an error.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ambo_error_free(error: *mut *mut Error) {
    free(error);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn panics_become_errors_and_one_takes_the_place_of_another() {
        let mut error = ptr::null_mut();
        for nth in 0..2 {
            assert_eq!(call(&mut error, || panic!("number {nth}")), AMBO_INTERNAL);
        }
        // SAFETY: it was just made, and is freed once.
        unsafe {
            let message = std::ffi::CStr::from_ptr(ambo_error_message(error)).to_str().unwrap();
            assert!(message.contains("number 1"), "{message}");
            ambo_error_free(&mut error);
            assert!(error.is_null());
            assert_eq!(ambo_error_status(error), AMBO_INTERNAL);
            ambo_error_free(&mut error);
        }
        assert_eq!(call(ptr::null_mut(), || Err(Failure::misuse("nobody is told"))), AMBO_MISUSE);
    }
}
