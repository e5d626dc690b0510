//! # Bytes and names that the library hands out

use std::{
    ffi::{CString, c_char, c_void},
    ptr,
};

use crate::{
    error::{ask, c_text, free},
    handle::{Handle, body, of},
};

/// Bytes.
pub enum ValueBody {
    /// Where they lie in a table.
    Stored(ambo::Value),
    /// Their own.
    Own(Vec<u8>),
}
body!(ValueBody, "value", b"ambovalu");

impl ValueBody {
    fn bytes(&self) -> &[u8] {
        match self {
            Self::Stored(value) => value,
            Self::Own(bytes) => bytes,
        }
    }
}

/// Bytes, which are there until they are freed. They hold memory of the cache, so do not keep many.
pub type Value = Handle<ValueBody>;

/// The bytes.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ambo_value_data(value: *const Value) -> *const c_void {
    ask(ptr::null(), || Ok(of(value)?.bytes().as_ptr().cast()))
}

/// How many there are.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ambo_value_size(value: *const Value) -> usize {
    ask(0, || Ok(of(value)?.bytes().len()))
}

/// Frees a value.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ambo_value_free(value: *mut *mut Value) {
    free(value);
}

/// Names.
pub struct NamesBody(Vec<CString>);
body!(NamesBody, "names", b"ambonams");

impl NamesBody {
    pub(crate) fn new<'a>(names: impl Iterator<Item = &'a str>) -> Self {
        Self(names.map(c_text).collect())
    }
}

/// Names, one after the other.
pub type Names = Handle<NamesBody>;

/// How many there are.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ambo_names_count(names: *const Names) -> usize {
    ask(0, || Ok(of(names)?.0.len()))
}

/// The name at a place, from 0; NULL behind the last.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ambo_names_at(names: *const Names, place: usize) -> *const c_char {
    ask(ptr::null(), || Ok(of(names)?.0.get(place).map_or(ptr::null(), |name| name.as_ptr())))
}

/// Frees names.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ambo_names_free(names: *mut *mut Names) {
    free(names);
}
