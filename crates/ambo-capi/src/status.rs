//! # Statuses

use std::ffi::{CStr, c_char};

use ambo_face::Class;

/// What a function answers.
pub type Status = i32;

macro_rules! statuses {
    ($($(#[$doc:meta])* $name:ident = $number:literal, $text:literal;)*) => {
        $($(#[$doc])* pub const $name: Status = $number;)*

        fn name(status: Status) -> &'static CStr {
            match status {
                $($name => $text,)*
                _ => c"unknown",
            }
        }
    };
}

statuses! {
    /// It was done.
    AMBO_OK = 0, c"ok";
    /// There is no such key, or no further row.
    AMBO_NOT_FOUND = 1, c"not found";
    /// The key is there already.
    AMBO_EXISTS = 2, c"exists";
    /// The buffer is too small; the size that is needed was said.
    AMBO_TOO_SMALL = 3, c"too small";
    /// The value is another one than was expected.
    AMBO_CHANGED = 4, c"changed";
    /// The first status that is an error: a NULL where none may be, a handle that was freed, an index that is too great.
    AMBO_MISUSE = 10, c"misuse";
    /// The text is no SQL.
    AMBO_SYNTAX = 11, c"syntax";
    /// A table, a column or the like is not there.
    AMBO_NO_SUCH_NAME = 12, c"no such name";
    /// It cannot be done as it is meant.
    AMBO_REQUEST = 13, c"request";
    /// It is understood, and not supported.
    AMBO_NOT_SUPPORTED = 14, c"not supported";
    /// A value is out of range, or no value of its type.
    AMBO_DATA = 15, c"data";
    /// A rule of a table forbids it, or a name is taken.
    AMBO_INTEGRITY = 16, c"integrity";
    /// Another transaction was in the way: roll back, and run the transaction again.
    AMBO_CONFLICT = 17, c"conflict";
    /// It was interrupted.
    AMBO_CANCELLED = 18, c"cancelled";
    /// No space is left on the disk.
    AMBO_DISK_FULL = 19, c"disk full";
    /// Somebody else has the database open, or it was opened before a fork.
    AMBO_IN_USE = 20, c"in use";
    /// It refuses writes since an earlier failure: open it again.
    AMBO_POISONED = 21, c"poisoned";
    /// What is on the disk is not what was written.
    AMBO_DAMAGED = 22, c"damaged";
    /// What is used was closed.
    AMBO_CLOSED = 23, c"closed";
    /// Something went wrong on the way: memory, a file.
    AMBO_OPERATIONAL = 24, c"operational";
    /// A fault of Ambo's own.
    AMBO_INTERNAL = 25, c"internal";
}

/// The name of a status.
#[unsafe(no_mangle)]
pub extern "C" fn ambo_status_name(status: Status) -> *const c_char {
    name(status).as_ptr()
}

/// The status of a class of errors.
pub(crate) fn of_class(class: Class) -> Status {
    match class {
        Class::Syntax => AMBO_SYNTAX,
        Class::NotFound => AMBO_NO_SUCH_NAME,
        Class::Request => AMBO_REQUEST,
        Class::NotSupported => AMBO_NOT_SUPPORTED,
        Class::Data => AMBO_DATA,
        Class::Integrity => AMBO_INTEGRITY,
        Class::Conflict => AMBO_CONFLICT,
        Class::Cancelled => AMBO_CANCELLED,
        Class::DiskFull => AMBO_DISK_FULL,
        Class::InUse => AMBO_IN_USE,
        Class::Poisoned => AMBO_POISONED,
        Class::Damaged => AMBO_DAMAGED,
        Class::Closed => AMBO_CLOSED,
        Class::Internal => AMBO_INTERNAL,
        _ => AMBO_OPERATIONAL,
    }
}
