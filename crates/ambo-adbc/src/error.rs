//! Errors as ADBC has them.

use std::os::raw::c_char;

use adbc_core::error::{Error, Status};
use adbc_core::options::OptionValue;
use ambo_face::Class;

pub(crate) type Result<T> = adbc_core::error::Result<T>;

/// An error of Ambo's.
pub(crate) fn told(error: ambo_face::Error) -> Error {
    let status = match error.class {
        // A name is taken, not a key.
        Class::Integrity if error.sqlstate.starts_with("42") => Status::AlreadyExists,
        Class::Integrity => Status::Integrity,
        Class::Syntax | Class::Request => Status::InvalidArguments,
        Class::NotFound => Status::NotFound,
        Class::NotSupported => Status::NotImplemented,
        Class::Data => Status::InvalidData,
        Class::Cancelled => Status::Cancelled,
        Class::Closed => Status::InvalidState,
        Class::Internal => Status::Internal,
        _ => Status::IO,
    };
    let mut sqlstate = [0; 5];
    for (to, from) in sqlstate.iter_mut().zip(error.sqlstate.bytes()) {
        *to = from as c_char;
    }
    Error { sqlstate, ..Error::with_message_and_status(error.show(), status) }
}

/// The same of what SQL says.
pub(crate) fn told_sql(error: ambo_sql::Error) -> Error {
    told(error.into())
}

/// Does something, whose panics are errors.
pub(crate) fn caught<T>(act: impl FnOnce() -> Result<T>) -> Result<T> {
    let mut done = None;
    ambo_face::caught(|| {
        done = Some(act());
        Ok(())
    })
    .map_err(told)?;
    done.expect("it did not panic")
}

pub(crate) fn state(message: impl Into<String>) -> Error {
    Error::with_message_and_status(message, Status::InvalidState)
}

pub(crate) fn argument(message: impl Into<String>) -> Error {
    Error::with_message_and_status(message, Status::InvalidArguments)
}

pub(crate) fn missing(message: impl Into<String>) -> Error {
    Error::with_message_and_status(message, Status::NotImplemented)
}

/// There is no such option to be read.
pub(crate) fn no_option(name: &str) -> Error {
    Error::with_message_and_status(format!("there is no option \"{name}\""), Status::NotFound)
}

/// The text of an option.
pub(crate) fn text(name: &str, value: OptionValue) -> Result<String> {
    match value {
        OptionValue::String(text) => Ok(text),
        OptionValue::Int(number) => Ok(number.to_string()),
        OptionValue::Double(number) => Ok(number.to_string()),
        _ => Err(argument(format!("option \"{name}\" is a text"))),
    }
}

/// The truth of an option.
pub(crate) fn truth(name: &str, value: OptionValue) -> Result<bool> {
    match text(name, value)?.as_str() {
        "true" | "1" => Ok(true),
        "false" | "0" => Ok(false),
        other => Err(argument(format!("option \"{name}\" is true or false, not \"{other}\""))),
    }
}
