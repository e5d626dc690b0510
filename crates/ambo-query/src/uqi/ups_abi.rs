//! Plug-ins as upscaledb describes them.
//!
//! Its plug-ins put what they have found into a result by functions that the host has to have: `uqi_result_add_row` and others, which the
//! library of upscaledb's interface exports.

use std::{
    any::Any,
    ffi::{CStr, c_char, c_int, c_void},
    sync::Arc,
};

use ambo_codec::Type;
use ambo_types::{Error, Result};

use super::{
    Aggregate, AggregatePlugin, Batch, Input, PredicatePlugin, RowTest, UqiResult,
    c_plugin::spread,
    plugin::Described,
    rows_for_c::{Part, RowsForC},
};
use crate::predicate::width;

const PREDICATE: u32 = 1;
const AGGREGATE: u32 = 2;
const BOTH_STREAMS: u32 = 1;

type Row = unsafe extern "C" fn(*mut c_void, *const c_void, u32, *const c_void, u32);

/// A plug-in, as `uqi_plugin_t`.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
#[expect(missing_docs, reason = "they are upscaledb's")]
pub struct UpsPlugin {
    pub name: *const c_char,
    pub kind: u32,
    pub flags: u32,
    pub plugin_version: u32,
    pub init: Option<unsafe extern "C" fn(c_int, c_int, u32, c_int, u32, *const c_char) -> *mut c_void>,
    pub cleanup: Option<unsafe extern "C" fn(*mut c_void)>,
    pub agg_single: Option<Row>,
    pub agg_many: Option<unsafe extern "C" fn(*mut c_void, *const c_void, *const c_void, usize)>,
    pub pred: Option<unsafe extern "C" fn(*mut c_void, *const c_void, u32, *const c_void, u32) -> c_int>,
    pub results: Option<unsafe extern "C" fn(*mut c_void, *mut UqiResult)>,
}

const _: () = assert!(size_of::<UpsPlugin>() == 72 || size_of::<usize>() != 8, "as upscaledb has it");

#[derive(Clone)]
struct Plugin {
    name: String,
    of: UpsPlugin,
}

// SAFETY: what it points to is there and stays as it is: whoever registers it promises that. By upscaledb's rules plug-ins are called by
// any thread, with a state for each.
unsafe impl Send for Plugin {}
// SAFETY: as above.
unsafe impl Sync for Plugin {}

/// Looks through a description.
///
/// # Safety
/// As of [`super::Plugins::register_ups`].
pub(super) unsafe fn described(plugin: *const UpsPlugin) -> Result<Described> {
    let invalid = |what: String| Error::Invalid(format!("a plug-in of UQI: {what}"));
    if plugin.is_null() || !plugin.is_aligned() {
        return Err(invalid("the description is NULL".into()));
    }
    // SAFETY: it is there, as promised.
    let of = unsafe { *plugin };
    if of.name.is_null() {
        return Err(invalid("it has no name".into()));
    }
    // SAFETY: it is not NULL, and a text by upscaledb's rules.
    let name = unsafe { CStr::from_ptr(of.name) };
    let name = name.to_str().map_err(|_| invalid("its name is not UTF-8".into()))?.to_lowercase();
    let plugin = Arc::new(Plugin { name: name.clone(), of });
    match of.kind {
        _ if of.plugin_version != 0 => {
            Err(invalid(format!("\"{name}\" is of version {}, and only 0 is known", of.plugin_version)))
        }
        AGGREGATE if of.agg_single.is_some() && of.results.is_some() => {
            Ok(Described::Aggregate(name, plugin))
        }
        AGGREGATE => Err(invalid(format!("aggregate \"{name}\" needs `agg_single` and `results`"))),
        PREDICATE if of.pred.is_some() => Ok(Described::Predicate(name, plugin)),
        PREDICATE => Err(invalid(format!("predicate \"{name}\" needs `pred`"))),
        kind => Err(invalid(format!("\"{name}\" is of type {kind}; 1 is a predicate, 2 an aggregate"))),
    }
}

/// The number that upscaledb has for a type: bytes for those that it has not.
pub(super) fn number(ty: Option<Type>) -> c_int {
    match ty {
        Some(Type::U8) => 3,
        Some(Type::U16) => 5,
        Some(Type::U32) => 7,
        Some(Type::U64) => 9,
        Some(Type::F32) => 11,
        Some(Type::F64) => 12,
        _ => 0,
    }
}

struct State {
    plugin: Plugin,
    input: Input,
    state: *mut c_void,
    rows: RowsForC,
}

// SAFETY: a state is used by one thread at a time.
unsafe impl Send for State {}

impl State {
    fn new(plugin: &Plugin, input: &Input) -> Self {
        let (key, record) = input.key_and_record();
        let size = |ty: Option<Type>, any: u32| ty.and_then(width).map_or(any, |width| width as u32);
        let streams = i32::from(key.is_some()) | i32::from(record.is_some()) << 1;
        let state = match plugin.of.init {
            // SAFETY: the function is one by upscaledb's rules.
            Some(init) => unsafe {
                init(
                    streams,
                    number(key),
                    size(key, u16::MAX.into()),
                    number(record),
                    size(record, u32::MAX),
                    std::ptr::null(),
                )
            },
            None => std::ptr::null_mut(),
        };
        Self { plugin: plugin.clone(), input: *input, state, rows: RowsForC::default() }
    }
}

impl Drop for State {
    fn drop(&mut self) {
        if let Some(cleanup) = self.plugin.of.cleanup {
            // SAFETY: the state is what `init` made, and nobody uses it any more.
            unsafe { cleanup(self.state) }
        }
    }
}

impl AggregatePlugin for Plugin {
    fn start(&self, input: &Input) -> Result<Box<dyn Aggregate>> {
        Ok(Box::new(State::new(self, input)))
    }

    fn needs_both(&self) -> bool {
        self.of.flags & BOTH_STREAMS != 0
    }
}

impl PredicatePlugin for Plugin {
    fn start(&self, input: &Input) -> Result<Box<dyn RowTest>> {
        Ok(Box::new(State::new(self, input)))
    }

    fn needs_both(&self) -> bool {
        self.of.flags & BOTH_STREAMS != 0
    }
}

/// Where a row is, and its size.
fn row_of(part: Option<Part<'_>>, row: usize) -> (*const c_void, u32) {
    part.map_or((std::ptr::null(), 0), |part| {
        let bytes = part.row(row);
        (bytes.as_ptr().cast(), bytes.len() as u32)
    })
}

impl Aggregate for State {
    fn many(&mut self, batch: &Batch<'_>) -> Result<()> {
        let mut rows = std::mem::take(&mut self.rows);
        let parts = rows.lay(batch, &self.input);
        let count = parts.rows;
        let is_fixed = [parts.key, parts.record].iter().flatten().all(|part| part.offsets.is_none());
        let data = |part: Option<Part<'_>>| part.map_or(std::ptr::null(), |part| part.data.as_ptr().cast());
        match (self.plugin.of.agg_many, self.plugin.of.agg_single) {
            (Some(many), _) if is_fixed && count > 0 => {
                // SAFETY: so many values of fixed width are there while it is called; the state is what `init` made.
                unsafe { many(self.state, data(parts.key), data(parts.record), count) }
            }
            (_, Some(single)) => {
                for row in 0..count {
                    let ((key, key_size), (record, record_size)) =
                        (row_of(parts.key, row), row_of(parts.record, row));
                    // SAFETY: as above.
                    unsafe { single(self.state, key, key_size, record, record_size) }
                }
            }
            (_, None) => {}
        }
        self.rows = rows;
        Ok(())
    }

    fn merge(&mut self, _: Box<dyn Aggregate>) -> Result<()> {
        Err(Error::Invalid(format!("plug-in \"{}\" cannot be merged", self.plugin.name)))
    }

    fn finish(self: Box<Self>) -> Result<UqiResult> {
        let mut result = UqiResult::default();
        if let Some(results) = self.plugin.of.results {
            // SAFETY: the state is what `init` made, and the result is there while it is called.
            unsafe { results(self.state, &mut result) }
        }
        Ok(result)
    }

    fn into_any(self: Box<Self>) -> Box<dyn Any> {
        self
    }
}

impl RowTest for State {
    fn test(&mut self, batch: &Batch<'_>, bits: &mut [u64]) -> Result<()> {
        let mut rows = std::mem::take(&mut self.rows);
        let parts = rows.lay(batch, &self.input);
        let count = parts.rows;
        let mut mask = vec![0u64; count.div_ceil(64)];
        if let Some(pred) = self.plugin.of.pred {
            for row in 0..count {
                let ((key, key_size), (record, record_size)) =
                    (row_of(parts.key, row), row_of(parts.record, row));
                // SAFETY: the bytes are there while it is called, and the state is what `init` made.
                let is = unsafe { pred(self.state, key, key_size, record, record_size) } != 0;
                mask[row / 64] |= u64::from(is) << (row % 64);
            }
        }
        spread(&mask, count, &rows.places, bits);
        self.rows = rows;
        Ok(())
    }
}
