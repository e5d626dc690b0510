//! Functions and predicates of others: in Rust, and what is known by name.

use std::{
    any::Any,
    collections::HashMap,
    path::{Path, PathBuf},
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

use ambo_codec::Type;
use ambo_types::{Error, Result};

use super::{
    Batch, UqiResult,
    c_abi::AmboUqiPlugin,
    c_plugin,
    library::Libraries,
    ups_abi::{self, UpsPlugin},
};

/// What a function or a predicate is called with.
#[derive(Clone, Copy, Debug)]
pub struct Input {
    /// The type of the first input.
    pub first: Option<Type>,
    /// The type of the second, where both were written or are asked for.
    pub second: Option<Type>,
    /// Whether the first is the record: then the second is the key.
    pub is_record: bool,
}

impl Input {
    /// The types of key and record, as far as they are asked for: C is told of them in this order.
    pub(super) fn key_and_record(&self) -> (Option<Type>, Option<Type>) {
        if self.is_record { (self.second, self.first) } else { (self.first, self.second) }
    }
}

/// An aggregate while it is computed: what one thread has seen so far.
pub trait Aggregate: Send {
    /// Takes rows.
    ///
    /// # Errors
    /// What ends the query, in words.
    fn many(&mut self, batch: &Batch<'_>) -> Result<()>;

    /// Takes what another thread has seen; asked of those whose plug-in [can be merged](AggregatePlugin::can_be_merged) alone.
    ///
    /// # Errors
    /// What ends the query.
    fn merge(&mut self, other: Box<dyn Aggregate>) -> Result<()>;

    /// The rows that it has found.
    ///
    /// # Errors
    /// What ends the query.
    fn finish(self: Box<Self>) -> Result<UqiResult>;

    /// Itself, so that `merge` knows what the other is.
    fn into_any(self: Box<Self>) -> Box<dyn Any>;

    /// Another of the same, and about how many bytes it takes, where it may be kept of rows that do not change; such merge to the same
    /// result in any order.
    fn copy(&self) -> Option<(Box<dyn Aggregate>, usize)> {
        None
    }
}

/// An aggregate function.
pub trait AggregatePlugin: Send + Sync {
    /// Begins, for a thread.
    ///
    /// # Errors
    /// [`Error::Invalid`] for input that it does not take.
    fn start(&self, input: &Input) -> Result<Box<dyn Aggregate>>;

    /// Whether several threads may each have a part. If not, one sees all rows, in the order of keys.
    fn can_be_merged(&self) -> bool {
        false
    }

    /// Whether it is given the other of key and record, too.
    fn needs_both(&self) -> bool {
        false
    }
}

/// A predicate that has begun.
pub trait RowTest: Send {
    /// Sets the bit of each row that answers with yes, of those selected; all bits are zero before.
    ///
    /// # Errors
    /// What ends the query.
    fn test(&mut self, batch: &Batch<'_>, bits: &mut [u64]) -> Result<()>;
}

/// A predicate.
pub trait PredicatePlugin: Send + Sync {
    /// Begins, for a thread.
    ///
    /// # Errors
    /// [`Error::Invalid`] for input that it does not take.
    fn start(&self, input: &Input) -> Result<Box<dyn RowTest>>;

    /// Whether it is given the other of key and record, too.
    fn needs_both(&self) -> bool {
        false
    }

    /// Whether several threads may ask at once, each what it has begun itself.
    fn any_thread(&self) -> bool {
        true
    }
}

/// A function of values of one input, as a predicate. NULL is not asked.
impl<F> PredicatePlugin for F
where
    F: Fn(ambo_codec::ValueRef<'_>) -> bool + Clone + Send + Sync + 'static,
{
    fn start(&self, _: &Input) -> Result<Box<dyn RowTest>> {
        struct Asked<F>(F);
        impl<F: Fn(ambo_codec::ValueRef<'_>) -> bool + Send> RowTest for Asked<F> {
            fn test(&mut self, batch: &Batch<'_>, bits: &mut [u64]) -> Result<()> {
                let Some(column) = batch.first else { return Ok(()) };
                batch.for_values(&column, |row| {
                    bits[row / 64] |= u64::from((self.0)(column.value(row))) << (row % 64);
                });
                Ok(())
            }
        }
        Ok(Box::new(Asked(self.clone())))
    }
}

#[derive(Default)]
struct Known {
    aggregates: HashMap<String, Arc<dyn AggregatePlugin>>,
    predicates: HashMap<String, Arc<dyn PredicatePlugin>>,
    directory: Option<PathBuf>,
    libraries: Libraries,
}

/// The functions and predicates that queries may call. Names are of any case.
#[derive(Default)]
pub struct Plugins(Mutex<Known>);

impl Plugins {
    fn lock(&self) -> MutexGuard<'_, Known> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Makes an aggregate known.
    ///
    /// # Errors
    /// [`Error::Exists`] if the name is taken, also by one of the functions that are built in.
    pub fn register_aggregate(&self, name: &str, plugin: impl AggregatePlugin + 'static) -> Result<()> {
        self.add_aggregate(name, Arc::new(plugin))
    }

    pub(super) fn add_aggregate(&self, name: &str, plugin: Arc<dyn AggregatePlugin>) -> Result<()> {
        let name = name.to_lowercase();
        let mut known = self.lock();
        if super::functions::of(&name).is_some() || known.aggregates.contains_key(&name) {
            return Err(taken(&name));
        }
        known.aggregates.insert(name, plugin);
        Ok(())
    }

    /// Makes a predicate known: a [`PredicatePlugin`], or a function of a value.
    ///
    /// # Errors
    /// [`Error::Exists`] if the name is taken.
    pub fn register_predicate(&self, name: &str, plugin: impl PredicatePlugin + 'static) -> Result<()> {
        self.add_predicate(name, Arc::new(plugin))
    }

    pub(super) fn add_predicate(&self, name: &str, plugin: Arc<dyn PredicatePlugin>) -> Result<()> {
        let name = name.to_lowercase();
        let mut known = self.lock();
        if known.predicates.contains_key(&name) {
            return Err(taken(&name));
        }
        known.predicates.insert(name, plugin);
        Ok(())
    }

    /// Makes a plug-in of a program's own known that is described as C does (`ambo_uqi.h`).
    ///
    /// # Errors
    /// As of others; [`Error::Invalid`] for a description that cannot be.
    ///
    /// # Safety
    /// The description and all that it points to stay as they are as long as the process runs, and its functions do what the header says.
    pub unsafe fn register_c(&self, plugin: *const AmboUqiPlugin) -> Result<()> {
        // SAFETY: as promised.
        unsafe { c_plugin::described(plugin) }?.add_to(self)
    }

    /// The same of upscaledb's descriptions.
    ///
    /// # Errors
    /// As [`Plugins::register_c`].
    ///
    /// # Safety
    /// As [`Plugins::register_c`]; the description itself is copied.
    pub unsafe fn register_ups(&self, plugin: *const UpsPlugin) -> Result<()> {
        // SAFETY: as promised.
        unsafe { ups_abi::described(plugin) }?.add_to(self)
    }

    /// From where libraries may be loaded; none are before this is said. What is in there runs in this process, with all that it may do: no
    /// library is taken whose file, or the directory, others than this user and root can write to.
    pub fn set_directory(&self, directory: impl AsRef<Path>) {
        self.lock().directory = Some(directory.as_ref().to_path_buf());
    }

    /// An aggregate by name: `function`, or `function@library`.
    pub(super) fn aggregate(&self, name: &str) -> Result<Arc<dyn AggregatePlugin>> {
        if let Some(library) = name.split_once('@') {
            return match self.load(library)? {
                Described::Aggregate(_, plugin) => Ok(plugin),
                Described::Predicate(..) => Err(other_kind(name, "a predicate, not an aggregate")),
            };
        }
        if let Some(known) = super::functions::of(name) {
            return Ok(known);
        }
        let known = self.lock();
        match known.aggregates.get(name) {
            Some(plugin) => Ok(plugin.clone()),
            None if known.predicates.contains_key(name) => {
                Err(other_kind(name, "a predicate; it stands behind WHERE"))
            }
            None => Err(unknown(name)),
        }
    }

    /// A predicate by name.
    pub(super) fn predicate(&self, name: &str) -> Result<Arc<dyn PredicatePlugin>> {
        if let Some(library) = name.split_once('@') {
            return match self.load(library)? {
                Described::Predicate(_, plugin) => Ok(plugin),
                Described::Aggregate(..) => Err(other_kind(name, "an aggregate, not a predicate")),
            };
        }
        let known = self.lock();
        match known.predicates.get(name) {
            Some(plugin) => Ok(plugin.clone()),
            None if super::functions::of(name).is_some() || known.aggregates.contains_key(name) => {
                Err(other_kind(name, "an aggregate; it does not stand behind WHERE"))
            }
            None => Err(unknown(name)),
        }
    }

    fn load(&self, (function, library): (&str, &str)) -> Result<Described> {
        let mut known = self.lock();
        let Known { directory, libraries, .. } = &mut *known;
        let Some(directory) = directory else {
            return Err(Error::Invalid(format!(
                "\"{function}@{library}\": no library is loaded before a directory for plug-ins was said"
            )));
        };
        libraries.function(directory, library, function)
    }
}

/// A plug-in as it was described.
pub(super) enum Described {
    Aggregate(String, Arc<dyn AggregatePlugin>),
    Predicate(String, Arc<dyn PredicatePlugin>),
}

impl Described {
    fn add_to(self, plugins: &Plugins) -> Result<()> {
        match self {
            Self::Aggregate(name, plugin) => plugins.add_aggregate(&name, plugin),
            Self::Predicate(name, plugin) => plugins.add_predicate(&name, plugin),
        }
    }
}

fn taken(name: &str) -> Error {
    Error::Exists(format!("a function \"{name}\" of UQI"))
}

fn unknown(name: &str) -> Error {
    Error::NotFound(format!(
        "function \"{name}\" of UQI; it is none of COUNT, SUM, AVERAGE, MIN, MAX, TOP, BOTTOM, VALUE, and was not registered"
    ))
}

fn other_kind(name: &str, what: &str) -> Error {
    Error::Invalid(format!("\"{name}\" is {what}"))
}
