//! Keys and records of C's as values, and back.

use std::{ffi::c_void, slice};

use ambo::Datum;

use crate::{
    settings::{Kind, Shape},
    status::{INV_KEY_SIZE, INV_PARAMETER, INV_RECORD_SIZE, Result, fail},
    structs::{USER_ALLOC, ups_key_t, ups_record_t},
};

/// What a pointer points to. Called from what C calls alone, whose callers promise what upscaledb asks for.
pub(crate) fn given<'a, T>(what: &str, pointer: *mut T) -> Result<&'a mut T> {
    match pointer.is_null() || !pointer.is_aligned() {
        true => fail(INV_PARAMETER, &format!("{what} is NULL")),
        // SAFETY: it is neither NULL nor askew, and there, by upscaledb's rules; nobody else uses it meanwhile.
        false => Ok(unsafe { &mut *pointer }),
    }
}

/// The same, where NULL is none.
pub(crate) fn some<'a, T>(pointer: *mut T) -> Result<Option<&'a mut T>> {
    if pointer.is_null() { Ok(None) } else { given("the structure", pointer).map(Some) }
}

fn bytes<'a>(data: *mut c_void, size: usize) -> Result<&'a [u8]> {
    match (data.is_null(), size) {
        (_, 0) => Ok(&[]),
        (true, _) => fail(INV_PARAMETER, "there is a size, and no data"),
        // SAFETY: it is not NULL, and there are so many bytes by upscaledb's rules.
        (false, size) => Ok(unsafe { slice::from_raw_parts(data.cast(), size) }),
    }
}

/// A value of some bytes, which have the size of the kind.
fn datum(kind: Kind, bytes: &[u8]) -> Option<Datum> {
    Some(match kind {
        Kind::Binary => Datum::Binary(bytes.to_vec()),
        Kind::U8 => Datum::U8(u8::from_ne_bytes(bytes.try_into().ok()?)),
        Kind::U16 => Datum::U16(u16::from_ne_bytes(bytes.try_into().ok()?)),
        Kind::U32 => Datum::U32(u32::from_ne_bytes(bytes.try_into().ok()?)),
        Kind::U64 => Datum::U64(u64::from_ne_bytes(bytes.try_into().ok()?)),
        Kind::F32 => Datum::F32(f32::from_ne_bytes(bytes.try_into().ok()?)),
        Kind::F64 => Datum::F64(f64::from_ne_bytes(bytes.try_into().ok()?)),
    })
}

/// The bytes of a value.
fn raw(datum: &Datum) -> Vec<u8> {
    match datum {
        Datum::Binary(bytes) => bytes.clone(),
        Datum::U8(number) => number.to_ne_bytes().to_vec(),
        Datum::U16(number) => number.to_ne_bytes().to_vec(),
        Datum::U32(number) => number.to_ne_bytes().to_vec(),
        Datum::U64(number) => number.to_ne_bytes().to_vec(),
        Datum::F32(number) => number.to_ne_bytes().to_vec(),
        Datum::F64(number) => number.to_ne_bytes().to_vec(),
        _ => Vec::new(),
    }
}

/// A key.
pub(crate) fn read_key(shape: &Shape, key: &ups_key_t) -> Result<Datum> {
    let bytes = bytes(key.data, key.size.into())?;
    match shape.key_size {
        Some(size) if size as usize != bytes.len() => {
            fail(INV_KEY_SIZE, &format!("keys have {size} bytes, not {}", bytes.len()))
        }
        _ => datum(shape.key, bytes).map_or_else(|| fail(INV_KEY_SIZE, "the size of the key"), Ok),
    }
}

/// A record.
pub(crate) fn read_record(shape: &Shape, record: &ups_record_t) -> Result<Datum> {
    let bytes = bytes(record.data, record.size as usize)?;
    match shape.record_size {
        Some(size) if size as usize != bytes.len() => {
            fail(INV_RECORD_SIZE, &format!("records have {size} bytes, not {}", bytes.len()))
        }
        _ => datum(shape.record, bytes).map_or_else(|| fail(INV_RECORD_SIZE, "the size of the record"), Ok),
    }
}

/// What is lent of a database or a transaction until the next call with it.
#[derive(Default)]
pub(crate) struct Arena {
    key: Vec<u8>,
    record: Vec<u8>,
}

/// Puts bytes where the caller wants them, or lends them.
fn lend(kept: &mut Vec<u8>, bytes: Vec<u8>, data: &mut *mut c_void, flags: u32) {
    if flags & USER_ALLOC != 0 && !data.is_null() {
        // SAFETY: the caller's memory is large enough, by upscaledb's rules, and is none of ours.
        unsafe { slice::from_raw_parts_mut(data.cast::<u8>(), bytes.len()) }.copy_from_slice(&bytes);
        return;
    }
    *kept = bytes;
    *data = if kept.is_empty() { std::ptr::null_mut() } else { kept.as_mut_ptr().cast() };
}

impl Arena {
    /// Gives out a key.
    pub(crate) fn lend_key(&mut self, key: &mut ups_key_t, value: &Datum) -> Result<()> {
        let bytes = raw(value);
        let Ok(size) = u16::try_from(bytes.len()) else {
            return fail(INV_KEY_SIZE, "the key is longer than a ups_key_t can say");
        };
        key.size = size;
        lend(&mut self.key, bytes, &mut key.data, key.flags);
        Ok(())
    }

    /// Gives out a record.
    pub(crate) fn lend_record(&mut self, record: &mut ups_record_t, value: &Datum) -> Result<()> {
        let bytes = raw(value);
        let Ok(size) = u32::try_from(bytes.len()) else {
            return fail(INV_RECORD_SIZE, "the record is longer than a ups_record_t can say");
        };
        record.size = size;
        lend(&mut self.record, bytes, &mut record.data, record.flags);
        Ok(())
    }
}

/// How many bytes a record has.
pub(crate) fn size_of_record(value: &Datum) -> u32 {
    raw(value).len().try_into().unwrap_or(u32::MAX)
}
