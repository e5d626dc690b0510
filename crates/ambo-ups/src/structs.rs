//! The structures that C fills, and flags.

#![allow(non_camel_case_types, reason = "the names are upscaledb's")]

use std::ffi::{c_int, c_void};

/// What a function returns.
pub type ups_status_t = c_int;

/// A key.
#[repr(C)]
pub struct ups_key_t {
    /// Its bytes.
    pub size: u16,
    /// Where they are.
    pub data: *mut c_void,
    /// `UPS_KEY_USER_ALLOC` or 0.
    pub flags: u32,
    /// How it was found: see `ups_key_get_approximate_match_type`.
    pub _flags: u32,
}

/// A record.
#[repr(C)]
pub struct ups_record_t {
    /// Its bytes.
    pub size: u32,
    /// Where they are.
    pub data: *mut c_void,
    /// `UPS_RECORD_USER_ALLOC` or 0.
    pub flags: u32,
}

/// A parameter.
#[repr(C)]
pub struct ups_parameter_t {
    /// Which.
    pub name: u32,
    /// Its value.
    pub value: u64,
}

/// One of many operations.
#[repr(C)]
pub struct ups_operation_t {
    /// `UPS_OP_INSERT` and so on.
    pub kind: c_int,
    /// Its key.
    pub key: ups_key_t,
    /// Its record.
    pub record: ups_record_t,
    /// Its flags.
    pub flags: u32,
    /// What came of it.
    pub result: ups_status_t,
}

pub(crate) const USER_ALLOC: u32 = 1;
