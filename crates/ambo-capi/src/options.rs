//! # Options

use std::{ffi::c_char, sync::Mutex};

use crate::{
    c::name,
    error::{self, Error, Result, call, free},
    handle::{Handle, body, broken, give, of, of_some},
    status::{AMBO_OK, Status},
};

/// How a database is opened.
pub struct OptionsBody(pub(crate) Mutex<ambo_face::Options>);
body!(OptionsBody, "options", b"ambooptn");

/// How a database is opened: options by name. Sizes are texts such as "256MiB", times such as "500ms", switches "true" and "false".
/// There are read_only, beside, create, sync ("commit", "off", or an interval such as "100ms"), cache_bytes, memtable_bytes,
/// transaction_bytes_max, page_size, log_compression, keep_log_bytes, keep_partials, archive, archive_wait_bytes, background_merge,
/// lock_timeout, plugin_directory, key_file, key_environment and passphrase_environment; and of SQL memory_bytes, threads and
/// default_storage.
pub type Options = Handle<OptionsBody>;

/// What was given, or the defaults.
pub(crate) fn given(options: *const Options) -> Result<ambo_face::Options> {
    match of_some(options)? {
        Some(options) => Ok(options.0.lock().map_err(broken)?.clone()),
        None => Ok(ambo_face::Options::new()),
    }
}

/// The defaults.
#[unsafe(no_mangle)]
pub extern "C" fn ambo_options_new() -> *mut Options {
    error::ask(std::ptr::null_mut(), || Ok(give(OptionsBody(Mutex::default()))))
}

/// Gives an option a value. What is wrong with it is said here.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ambo_options_set(
    options: *mut Options,
    option: *const c_char,
    value: *const c_char,
    error: *mut *mut Error,
) -> Status {
    call(error, || {
        let mut options = of(options)?.0.lock().map_err(broken)?;
        options.set(name("the option", option)?, name("the value", value)?)?;
        Ok(AMBO_OK)
    })
}

/// Frees options.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ambo_options_free(options: *mut *mut Options) {
    free(options);
}
