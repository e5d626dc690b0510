//! What C gives, as what Rust takes. The functions here are called from those that C calls alone, whose callers promise what the rules of
//! the crate ask for: a pointer that is not NULL points to what the header says.

use std::{
    ffi::{CStr, c_char, c_void},
    slice,
};

use crate::error::{Failure, Result};

/// The size of a text that ends in a zero byte: its size is looked for.
pub const AMBO_ZERO_ENDED: usize = usize::MAX;

/// A text that ends in a zero byte.
pub(crate) fn name<'a>(what: &str, text: *const c_char) -> Result<&'a str> {
    if text.is_null() {
        return Err(Failure::misuse(format!("{what} is NULL")));
    }
    // SAFETY: it is not NULL, and ends in a zero byte by rule 3.
    let bytes = unsafe { CStr::from_ptr(text) };
    bytes.to_str().map_err(|_| Failure::misuse(format!("{what} is not UTF-8")))
}

/// A text of a size, or one that ends in a zero byte.
pub(crate) fn text<'a>(what: &str, text: *const c_char, size: usize) -> Result<&'a str> {
    if size == AMBO_ZERO_ENDED {
        return name(what, text);
    }
    std::str::from_utf8(bytes(what, text.cast(), size)?)
        .map_err(|_| Failure::misuse(format!("{what} is not UTF-8")))
}

/// Bytes; of none the pointer may be NULL.
pub(crate) fn bytes<'a>(what: &str, data: *const c_void, size: usize) -> Result<&'a [u8]> {
    match (data.is_null(), size) {
        (_, 0) => Ok(&[]),
        (true, _) => Err(Failure::misuse(format!("{what} is NULL, and its size is {size}"))),
        (false, size) if size > isize::MAX as usize => {
            Err(Failure::misuse(format!("{what} cannot have {size} bytes")))
        }
        // SAFETY: it is not NULL, and there are so many bytes by rule 3.
        (false, size) => Ok(unsafe { slice::from_raw_parts(data.cast(), size) }),
    }
}

/// Things one after the other; of none the pointer may be NULL.
pub(crate) fn many<'a, T>(what: &str, data: *const T, count: usize) -> Result<&'a [T]> {
    if count == 0 {
        return Ok(&[]);
    }
    if data.is_null() || !data.is_aligned() || count > isize::MAX as usize / size_of::<T>() {
        return Err(Failure::misuse(format!("{what} are not {count} at a place in memory")));
    }
    // SAFETY: it is neither NULL nor askew, and there are so many by the header.
    Ok(unsafe { slice::from_raw_parts(data, count) })
}

/// The same, to be written to.
pub(crate) fn many_mut<'a, T>(what: &str, data: *mut T, count: usize) -> Result<&'a mut [T]> {
    if count == 0 {
        return Ok(&mut []);
    }
    if data.is_null() || !data.is_aligned() || count > isize::MAX as usize / size_of::<T>() {
        return Err(Failure::misuse(format!("{what} are not {count} at a place in memory")));
    }
    // SAFETY: it is neither NULL nor askew, there are so many by the header, and nobody else uses them meanwhile.
    Ok(unsafe { slice::from_raw_parts_mut(data, count) })
}

/// Something that the caller has filled.
pub(crate) fn given<'a, T>(what: &str, data: *const T) -> Result<&'a T> {
    many(what, data, 1)?.first().ok_or_else(|| Failure::misuse(format!("{what} is NULL")))
}

/// Where a result goes. It need not hold anything before.
pub(crate) struct Out<T>(*mut T);

impl<T> Out<T> {
    /// One that has to be there.
    pub(crate) fn new(what: &str, place: *mut T) -> Result<Self> {
        match place.is_null() || !place.is_aligned() {
            true => Err(Failure::misuse(format!("{what}, where the result goes, is NULL"))),
            false => Ok(Self(place)),
        }
    }

    /// What is there now. To be called of what held something before.
    #[cfg(feature = "sql")]
    pub(crate) fn peek(&self) -> T
    where
        T: Copy,
    {
        // SAFETY: it is neither NULL nor askew, and holds something by the header.
        unsafe { self.0.read() }
    }

    pub(crate) fn set(&self, value: T) {
        // SAFETY: it is neither NULL nor askew, and may be written to by the header.
        unsafe { self.0.write(value) }
    }
}

/// Sets what the caller wants to know, if it wants to.
pub(crate) fn tell<T>(place: *mut T, value: T) {
    if !place.is_null() {
        // SAFETY: it is not NULL, and may be written to by the header.
        unsafe { place.write(value) }
    }
}
