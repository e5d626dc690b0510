//! Plug-ins of C's as aggregates and predicates.

use std::{
    any::Any,
    ffi::{CStr, c_char, c_void},
    panic::{AssertUnwindSafe, catch_unwind},
    sync::Arc,
};

use ambo_codec::Type;
use ambo_types::{Error, Result};

use super::{
    Aggregate, AggregatePlugin, Batch, Input, PredicatePlugin, RowTest, UqiResult,
    c_abi::{
        AGGREGATE, AMBO_UQI_ABI, ANY_THREAD, AmboBytes, AmboUqiInput, AmboUqiPlugin, AmboUqiResult,
        BOTH_STREAMS, PREDICATE,
    },
    functions::same,
    plugin::Described,
    rows_for_c::{Part, RowsForC, as_batch},
};
use crate::predicate::width;

/// A description that was looked through.
#[derive(Clone)]
struct Plugin {
    name: String,
    of: AmboUqiPlugin,
}

// SAFETY: what it points to is there and stays as it is: whoever registers it promises that; C's functions are told by flags whether they
// may be called by several threads, each with a state of its own.
unsafe impl Send for Plugin {}
// SAFETY: as above.
unsafe impl Sync for Plugin {}

/// Looks through a description.
///
/// # Safety
/// As of [`super::Plugins::register_c`].
pub(super) unsafe fn described(plugin: *const AmboUqiPlugin) -> Result<Described> {
    let invalid = |what: String| Error::Invalid(format!("a plug-in of UQI: {what}"));
    if plugin.is_null() || !plugin.is_aligned() {
        return Err(invalid("the description is NULL".into()));
    }
    // SAFETY: these two fields are there in all versions, as promised.
    let (size, abi) = unsafe { ((*plugin).struct_size as usize, (*plugin).abi) };
    if abi != AMBO_UQI_ABI {
        return Err(invalid(format!(
            "it was made for interface {abi}, and this is interface {AMBO_UQI_ABI}"
        )));
    }
    if size < size_of::<AmboUqiPlugin>() {
        return Err(invalid(format!(
            "its description has {size} bytes, and {} are needed",
            size_of::<AmboUqiPlugin>()
        )));
    }
    // SAFETY: it is as large as it says, as promised.
    let of = unsafe { *plugin };
    if of.name.is_null() {
        return Err(invalid("it has no name".into()));
    }
    // SAFETY: it is not NULL, and a text by the header.
    let name = unsafe { CStr::from_ptr(of.name) };
    let name = name.to_str().map_err(|_| invalid("its name is not UTF-8".into()))?.to_lowercase();
    let plugin = Plugin { name: name.clone(), of };
    match of.kind {
        AGGREGATE if (of.one.is_some() || of.many.is_some()) && of.finish.is_some() => {
            Ok(Described::Aggregate(name, Arc::new(plugin)))
        }
        AGGREGATE => Err(invalid(format!("aggregate \"{name}\" needs `finish`, and `one` or `many`"))),
        PREDICATE if of.test.is_some() || of.test_many.is_some() => {
            Ok(Described::Predicate(name, Arc::new(plugin)))
        }
        PREDICATE => Err(invalid(format!("predicate \"{name}\" needs `test` or `test_many`"))),
        kind => Err(invalid(format!("\"{name}\" is of kind {kind}; 1 is a predicate, 2 an aggregate"))),
    }
}

/// A state that C has made.
struct State {
    plugin: Plugin,
    input: Input,
    state: *mut c_void,
    rows: RowsForC,
}

// SAFETY: a state is used by one thread at a time, and goes to another only where the plug-in allows it, or none but that has it.
unsafe impl Send for State {}

impl State {
    fn new(plugin: &Plugin, input: &Input) -> Result<Self> {
        let mut of = Self {
            plugin: plugin.clone(),
            input: *input,
            state: std::ptr::null_mut(),
            rows: RowsForC::default(),
        };
        if let Some(init) = plugin.of.init {
            let given = given(input);
            // SAFETY: the structure is there, and the function is one by the header.
            let status = unsafe { init(&given, &mut of.state) };
            of.check(status, "init")?;
        }
        Ok(of)
    }

    fn check(&self, status: i32, what: &str) -> Result<()> {
        match status < 0 {
            true => {
                Err(Error::Invalid(format!("plug-in \"{}\": `{what}` answered {status}", self.plugin.name)))
            }
            false => Ok(()),
        }
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

/// What C is told of the input.
fn given(input: &Input) -> AmboUqiInput {
    let (key, record) = input.key_and_record();
    let code = |ty: Option<Type>| ty.map_or(0, |ty| ty.code().into());
    let size = |ty: Option<Type>| ty.and_then(width).unwrap_or(0) as u32;
    AmboUqiInput {
        struct_size: size_of::<AmboUqiInput>() as u32,
        streams: u32::from(key.is_some()) | u32::from(record.is_some()) << 1,
        key_type: code(key),
        key_size: size(key),
        record_type: code(record),
        record_size: size(record),
    }
}

impl AggregatePlugin for Plugin {
    fn start(&self, input: &Input) -> Result<Box<dyn Aggregate>> {
        Ok(Box::new(State::new(self, input)?))
    }

    fn can_be_merged(&self) -> bool {
        self.of.flags & ANY_THREAD != 0 && self.of.merge.is_some()
    }

    fn needs_both(&self) -> bool {
        self.of.flags & BOTH_STREAMS != 0
    }
}

impl PredicatePlugin for Plugin {
    fn start(&self, input: &Input) -> Result<Box<dyn RowTest>> {
        Ok(Box::new(State::new(self, input)?))
    }

    fn needs_both(&self) -> bool {
        self.of.flags & BOTH_STREAMS != 0
    }

    fn any_thread(&self) -> bool {
        self.of.flags & ANY_THREAD != 0
    }
}

fn row_of(part: Option<Part<'_>>, row: usize) -> AmboBytes {
    AmboBytes::of(part.map(|part| part.row(row)))
}

impl Aggregate for State {
    fn many(&mut self, batch: &Batch<'_>) -> Result<()> {
        let mut rows = std::mem::take(&mut self.rows);
        let parts = rows.lay(batch, &self.input);
        let count = parts.rows;
        let done = match (self.plugin.of.many, self.plugin.of.one) {
            _ if count == 0 => Ok(()),
            (Some(many), _) => {
                let given = as_batch(&parts);
                // SAFETY: the rows are there while it is called, and the state is what `init` made.
                let status = unsafe { many(self.state, &given) };
                self.check(status, "many")
            }
            (None, Some(one)) => (0..count).try_for_each(|row| {
                // SAFETY: as above.
                let status = unsafe { one(self.state, row_of(parts.key, row), row_of(parts.record, row)) };
                self.check(status, "one")
            }),
            (None, None) => Ok(()),
        };
        self.rows = rows;
        done
    }

    fn merge(&mut self, other: Box<dyn Aggregate>) -> Result<()> {
        let other = same::<Self>(other)?;
        let Some(merge) = self.plugin.of.merge else {
            return Err(Error::Invalid(format!("plug-in \"{}\" cannot be merged", self.plugin.name)));
        };
        // SAFETY: both states are what `init` made, and nobody else uses them.
        let status = unsafe { merge(self.state, other.state) };
        self.check(status, "merge")
    }

    fn finish(self: Box<Self>) -> Result<UqiResult> {
        let mut host = Host { result: UqiResult::default(), error: None };
        let mut given = AmboUqiResult {
            struct_size: size_of::<AmboUqiResult>() as u32,
            reserved: 0,
            host: (&raw mut host).cast(),
            types,
            add_row,
            fail,
        };
        let status = match self.plugin.of.finish {
            // SAFETY: the state is what `init` made, and the structure is there while it is called.
            Some(finish) => unsafe { finish(self.state, &mut given) },
            None => 0,
        };
        match host.error {
            Some(error) => Err(Error::Invalid(format!("plug-in \"{}\": {error}", self.plugin.name))),
            None => self.check(status, "finish").map(|()| host.result),
        }
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
        let done = match (self.plugin.of.test_many, self.plugin.of.test) {
            _ if count == 0 => Ok(()),
            (Some(test_many), _) => {
                let given = as_batch(&parts);
                // SAFETY: the rows and a bit for each are there while it is called, and the state is what `init` made.
                let status = unsafe { test_many(self.state, &given, mask.as_mut_ptr()) };
                self.check(status, "test_many")
            }
            (None, Some(test)) => (0..count).try_for_each(|row| {
                // SAFETY: as above.
                let status = unsafe { test(self.state, row_of(parts.key, row), row_of(parts.record, row)) };
                mask[row / 64] |= u64::from(status > 0) << (row % 64);
                self.check(status, "test")
            }),
            (None, None) => Ok(()),
        };
        spread(&mask, count, &rows.places, bits);
        self.rows = rows;
        done
    }
}

/// Sets the bits of rows by their places in the batch; without places all rows were asked.
pub(super) fn spread(mask: &[u64], count: usize, places: &[u32], bits: &mut [u64]) {
    for row in (0..count).filter(|row| mask[row / 64] >> (row % 64) & 1 == 1) {
        let place = places.get(row).map_or(row, |place| *place as usize);
        bits[place / 64] |= 1 << (place % 64);
    }
}

/// What the functions below find.
struct Host {
    result: UqiResult,
    error: Option<String>,
}

/// Does what C asks of a result; nothing unwinds into C.
///
/// # Safety
/// The structure is one that [`Aggregate::finish`] gave, while it is called.
unsafe fn host(of: *mut AmboUqiResult, act: impl FnOnce(&mut Host) -> Result<(), String>) -> i32 {
    // SAFETY: it is there, and nobody else uses it.
    let host = unsafe { &mut *(*of).host.cast::<Host>() };
    let done = catch_unwind(AssertUnwindSafe(|| act(host)));
    let error = match done {
        Ok(Ok(())) => return 0,
        Ok(Err(error)) => error,
        Err(_) => "a result could not be put together".into(),
    };
    host.error.get_or_insert(error);
    -1
}

unsafe extern "C" fn types(of: *mut AmboUqiResult, key: u32, record: u32) -> i32 {
    let ty = |code: u32| type_of(code).ok_or_else(|| format!("{code} is no type of a result"));
    // SAFETY: as required of C by the header.
    unsafe {
        host(of, |host| {
            if host.result.rows() > 0 {
                return Err("types are said before the first row".into());
            }
            host.result = UqiResult::new(ty(key)?, ty(record)?);
            Ok(())
        })
    }
}

/// The type of a number; decimals, which have more than one, are none.
fn type_of(code: u32) -> Option<Type> {
    let (ty, _) = Type::decode(&[u8::try_from(code).ok()?]).ok()?;
    Some(ty)
}

unsafe extern "C" fn add_row(of: *mut AmboUqiResult, key: AmboBytes, record: AmboBytes) -> i32 {
    // SAFETY: as required of C by the header: so many bytes are there.
    unsafe {
        let (key, record) = (bytes(key), bytes(record));
        host(of, |host| host.result.add_row(key, record).map_err(|error| error.to_string()))
    }
}

/// # Safety
/// So many bytes are there, unless the pointer is NULL.
unsafe fn bytes<'a>(of: AmboBytes) -> &'a [u8] {
    match of.data.is_null() || of.len == 0 {
        true => &[],
        // SAFETY: as required.
        false => unsafe { std::slice::from_raw_parts(of.data, of.len as usize) },
    }
}

unsafe extern "C" fn fail(of: *mut AmboUqiResult, message: *const c_char) {
    // SAFETY: as required of C by the header: a text, or NULL.
    unsafe {
        let message = match message.is_null() {
            true => "it failed".into(),
            false => CStr::from_ptr(message).to_string_lossy().into_owned(),
        };
        host(of, |_| Err(message));
    }
}
