//! # Versions

use std::ffi::{CStr, c_char};

/// The version of the library as a text, such as "0.1.0". AMBO_VERSION is that of the header.
#[unsafe(no_mangle)]
pub extern "C" fn ambo_version() -> *const c_char {
    const TEXT: &str = concat!(env!("CARGO_PKG_VERSION"), "\0");
    const VERSION: &CStr = match CStr::from_bytes_with_nul(TEXT.as_bytes()) {
        Ok(version) => version,
        Err(_) => c"",
    };
    VERSION.as_ptr()
}

/// The version of the binary interface: what was compiled with AMBO_ABI_VERSION works with a library that says the same.
pub const AMBO_ABI_VERSION: u32 = 1;

/// See AMBO_ABI_VERSION.
#[unsafe(no_mangle)]
pub extern "C" fn ambo_abi_version() -> u32 {
    AMBO_ABI_VERSION
}

/// Whether the library has SQL: libambo has it, libambo-kv has not.
#[unsafe(no_mangle)]
pub extern "C" fn ambo_has_sql() -> bool {
    cfg!(feature = "sql")
}
