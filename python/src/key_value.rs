//! Key-value tables as mappings of Python's, in the order of their keys.

use std::{
    ops::Bound as To,
    sync::{Arc, Mutex, PoisonError, RwLock},
};

use ambo::{Bounds, Cursor, Scan, Seek, Snapshot};
use ambo_face::{Class, Error, Kind, Result, Value};
use pyo3::{
    IntoPyObjectExt,
    exceptions::{PyKeyError, PyTypeError, PyValueError},
    prelude::*,
    sync::MutexExt,
    types::{PyByteArray, PyBytes, PyDict, PyInt, PyMapping, PyString, PyTuple},
};

use crate::{
    errors::raise_new,
    parameters::bytes,
    session::{Session, SharedTable, closed},
};

/// A key or a value of Python's.
pub(crate) type Owned = Value<'static>;

/// A table from keys to values. It is a `MutableMapping`, whose keys come in their order.
#[pyclass(frozen, module = "ambo", mapping, weakref)]
pub(crate) struct KeyValue {
    session: Arc<Session>,
    name: String,
    kinds: (Kind, Kind),
    table: Arc<SharedTable>,
    /// At which moment it is read, if not now.
    snapshot: Option<Arc<Snapshot>>,
}

/// A key or a value of a kind.
pub(crate) fn key_of(value: &Bound<'_, PyAny>, kind: Kind) -> PyResult<Owned> {
    let wrong = |wanted: &str| {
        let given = value.get_type().fully_qualified_name().map(|name| name.to_string_lossy().into_owned());
        PyTypeError::new_err(format!("{wanted} is wanted, not {}", given.unwrap_or_default()))
    };
    Ok(match kind {
        Kind::Bytes => {
            if value.is_instance_of::<PyString>() {
                return Err(wrong("bytes"));
            }
            Value::Bytes(bytes(value).map_err(|_| wrong("bytes"))?.into())
        }
        Kind::Text => {
            Value::Text(value.cast::<PyString>().map_err(|_| wrong("str"))?.to_cow()?.into_owned().into())
        }
        Kind::Int => {
            if !value.is_instance_of::<PyInt>() {
                return Err(wrong("int"));
            }
            Value::Int(value.extract()?)
        }
    })
}

/// A key or a value as Python's.
fn of_value<'py>(py: Python<'py>, value: &Value<'_>) -> PyResult<Bound<'py, PyAny>> {
    match value {
        Value::Bytes(bytes) => Ok(PyBytes::new(py, bytes).into_any()),
        Value::Text(text) => Ok(PyString::new(py, text).into_any()),
        Value::Int(number) => number.into_bound_py_any(py),
    }
}

/// Maps a key to a value, or deletes it, in a transaction or as a commit of its own.
pub(crate) fn put(
    table: &ambo_face::KeyValue,
    transaction: Option<&mut ambo::Transaction>,
    key: &Owned,
    value: Option<&Owned>,
) -> Result<()> {
    let of = table.table();
    match value {
        Some(value) => {
            let (key, value) = table.stored(key, value)?;
            match transaction {
                Some(transaction) => transaction.put(of, &key, &value)?,
                None => of.put(&key, &value)?,
            }
        }
        None => {
            let key = table.stored_key(key)?;
            match transaction {
                Some(transaction) => transaction.delete(of, &key)?,
                None => of.delete(&key)?,
            }
        }
    }
    Ok(())
}

impl KeyValue {
    pub(crate) fn new(session: &Arc<Session>, name: &str, table: ambo_face::KeyValue) -> Self {
        let kinds = (table.key_kind(), table.value_kind());
        let table = Arc::new(RwLock::new(Some(table)));
        session.keep_table(&table);
        Self { session: session.clone(), name: name.to_owned(), kinds, table, snapshot: None }
    }

    pub(crate) fn is_of(&self, session: &Arc<Session>) -> bool {
        Arc::ptr_eq(&self.session, session)
    }

    pub(crate) fn at(&self, snapshot: &Arc<Snapshot>) -> Self {
        Self {
            session: self.session.clone(),
            name: self.name.clone(),
            kinds: self.kinds,
            table: self.table.clone(),
            snapshot: Some(snapshot.clone()),
        }
    }

    pub(crate) fn key_kind(&self) -> Kind {
        self.kinds.0
    }

    pub(crate) fn value_kind(&self) -> Kind {
        self.kinds.1
    }

    pub(crate) fn shared(&self) -> Arc<SharedTable> {
        self.table.clone()
    }

    fn find<'py>(&self, py: Python<'py>, key: &Bound<'py, PyAny>) -> PyResult<Option<Bound<'py, PyAny>>> {
        let found = self.found(py, key)?;
        found
            .map(|found| match found {
                Found::Raw(value) => Ok(PyBytes::new(py, &value).into_any()),
                Found::Value(value) => of_value(py, &value),
            })
            .transpose()
    }

    fn found(&self, py: Python<'_>, key: &Bound<'_, PyAny>) -> PyResult<Option<Found>> {
        let key = key_of(key, self.kinds.0)?;
        let is_raw = self.kinds == (Kind::Bytes, Kind::Bytes);
        self.session.read(py, &self.table, self.snapshot.as_deref(), |table, view| {
            let stored = table.stored_key(&key)?;
            let Some(value) = table.get(view, &stored)? else { return Ok(None) };
            Ok(Some(if is_raw { Found::Raw(value) } else { Found::Value(table.pair(&stored, &value)?.1) }))
        })
    }

    fn get_into<'py>(
        &self,
        py: Python<'py>,
        key: &Bound<'py, PyAny>,
        default: Option<Bound<'py, PyAny>>,
        into: &Bound<'py, PyByteArray>,
    ) -> PyResult<Option<Bound<'py, PyAny>>> {
        let found = self.found(py, key)?;
        let bytes: &[u8] = match &found {
            None => return Ok(default),
            Some(Found::Raw(value)) => value,
            Some(Found::Value(Value::Bytes(value))) => value,
            Some(Found::Value(_)) => {
                return Err(PyTypeError::new_err("into is for tables whose values are bytes"));
            }
        };
        into.resize(bytes.len())?;
        // SAFETY: we have the GIL, and nothing of Python's runs while it is written.
        unsafe { into.as_bytes_mut() }.copy_from_slice(bytes);
        Ok(Some(into.clone().into_any()))
    }

    fn has(&self, py: Python<'_>, key: &Bound<'_, PyAny>) -> PyResult<bool> {
        let key = key_of(key, self.kinds.0)?;
        self.session.read(py, &self.table, self.snapshot.as_deref(), |table, view| {
            Ok(table.get(view, &table.stored_key(&key)?)?.is_some())
        })
    }

    fn store(&self, py: Python<'_>, key: &Owned, value: Option<&Owned>) -> PyResult<()> {
        self.require_now(py)?;
        self.session.write(py, &self.table, |table, transaction| put(table, transaction, key, value))
    }

    fn delete_bounds(&self, py: Python<'_>, bounds: Bounds) -> PyResult<()> {
        self.require_now(py)?;
        self.session.write(py, &self.table, |table, transaction| {
            let of = table.table();
            match transaction {
                Some(transaction) => transaction.delete_range(of, bounds)?,
                None => of.delete_range(bounds)?,
            }
            Ok(())
        })
    }

    fn require_now(&self, py: Python<'_>) -> PyResult<()> {
        match self.snapshot {
            None => Ok(()),
            Some(_) => Err(raise_new(py, Class::Request, "a table as it was cannot be written to")),
        }
    }

    /// The stored bounds between two keys.
    fn bounds(
        &self,
        py: Python<'_>,
        start: Option<&Bound<'_, PyAny>>,
        stop: Option<&Bound<'_, PyAny>>,
        start_inclusive: bool,
        stop_inclusive: bool,
    ) -> PyResult<Bounds> {
        let key = |key: Option<&Bound<'_, PyAny>>| {
            key.filter(|key| !key.is_none()).map(|key| key_of(key, self.kinds.0)).transpose()
        };
        let (start, stop) = (key(start)?, key(stop)?);
        let bound = |key: &'_ Option<Owned>, is_inclusive| match (key, is_inclusive) {
            (None, _) => To::Unbounded,
            (Some(key), true) => To::Included(key.clone()),
            (Some(key), false) => To::Excluded(key.clone()),
        };
        let (start, stop) = (bound(&start, start_inclusive), bound(&stop, stop_inclusive));
        self.with_table(py, |table| table.bounds(start.as_ref(), stop.as_ref()))
    }

    fn with_table<T: Send>(
        &self,
        py: Python<'_>,
        act: impl FnOnce(&ambo_face::KeyValue) -> Result<T> + Send,
    ) -> PyResult<T> {
        self.session.detached(py, || {
            let table = self.table.read().unwrap_or_else(PoisonError::into_inner);
            act(table.as_ref().ok_or_else(closed)?)
        })
    }

    fn pairs(
        &self,
        py: Python<'_>,
        bounds: Bounds,
        is_reverse: bool,
        limit: Option<usize>,
        what: What,
    ) -> PyResult<Pairs> {
        let scan = self.session.read(py, &self.table, self.snapshot.as_deref(), |table, view| {
            let scan = table.scan(view, bounds)?;
            Ok((if is_reverse { scan.rev() } else { scan }, table.clone()))
        })?;
        let scan = Arc::new(Mutex::new(Some((scan.0, scan.1, limit.unwrap_or(usize::MAX)))));
        self.session.keep(&scan);
        Ok(Pairs { session: self.session.clone(), scan, what })
    }

    fn everything(&self, py: Python<'_>, is_reverse: bool, what: What) -> PyResult<Pairs> {
        self.pairs(py, (To::Unbounded, To::Unbounded), is_reverse, None, what)
    }
}

enum Found {
    Raw(ambo::Value),
    Value(Owned),
}

/// What an iterator returns.
#[derive(Clone, Copy)]
enum What {
    Keys,
    Pairs,
}

#[pymethods]
impl KeyValue {
    fn __getitem__<'py>(&self, py: Python<'py>, key: &Bound<'py, PyAny>) -> PyResult<Bound<'py, PyAny>> {
        self.find(py, key)?.ok_or_else(|| PyKeyError::new_err(key.clone().unbind()))
    }

    fn __setitem__(&self, py: Python<'_>, key: &Bound<'_, PyAny>, value: &Bound<'_, PyAny>) -> PyResult<()> {
        self.store(py, &key_of(key, self.kinds.0)?, Some(&key_of(value, self.kinds.1)?))
    }

    fn __delitem__(&self, py: Python<'_>, key: &Bound<'_, PyAny>) -> PyResult<()> {
        match self.has(py, key)? {
            true => self.delete(py, key),
            false => Err(PyKeyError::new_err(key.clone().unbind())),
        }
    }

    fn __contains__(&self, py: Python<'_>, key: &Bound<'_, PyAny>) -> PyResult<bool> {
        self.has(py, key)
    }

    fn __len__(&self, py: Python<'_>) -> PyResult<usize> {
        self.session.read(py, &self.table, self.snapshot.as_deref(), |table, view| {
            table.count(view, ..).map(|count| count as usize)
        })
    }

    fn __bool__(&self, py: Python<'_>) -> PyResult<bool> {
        Ok(self
            .pairs(py, (To::Unbounded, To::Unbounded), false, Some(1), What::Keys)?
            .__next__(py)?
            .is_some())
    }

    fn __iter__(&self, py: Python<'_>) -> PyResult<Pairs> {
        self.everything(py, false, What::Keys)
    }

    fn __reversed__(&self, py: Python<'_>) -> PyResult<Pairs> {
        self.everything(py, true, What::Keys)
    }

    fn __eq__(&self, py: Python<'_>, other: &Bound<'_, PyAny>) -> PyResult<bool> {
        let Ok(other) = other.cast::<PyMapping>() else { return Ok(false) };
        if other.len()? != self.__len__(py)? {
            return Ok(false);
        }
        let pairs = self.everything(py, false, What::Pairs)?;
        while let Some(pair) = pairs.__next__(py)? {
            let (key, value): (Bound<'_, PyAny>, Bound<'_, PyAny>) = pair.extract()?;
            match other.get_item(&key) {
                Ok(there) if there.eq(&value)? => {}
                Ok(_) => return Ok(false),
                Err(error)
                    if error.is_instance_of::<PyKeyError>(py) || error.is_instance_of::<PyTypeError>(py) =>
                {
                    return Ok(false);
                }
                Err(error) => return Err(error),
            }
        }
        Ok(true)
    }

    /// The value of a key, or `default`. `into` is a `bytearray` that becomes the value, and is returned: nothing is made anew.
    ///
    /// >>> import ambo
    /// >>> kv = ambo.connect().kv("kv")
    /// >>> kv[b"key"] = b"value"
    /// >>> into = bytearray()
    /// >>> kv.get(b"key", into=into) is into, into
    /// (True, bytearray(b'value'))
    #[pyo3(signature = (key, default=None, *, into=None))]
    fn get<'py>(
        &self,
        py: Python<'py>,
        key: &Bound<'py, PyAny>,
        default: Option<Bound<'py, PyAny>>,
        into: Option<&Bound<'py, PyByteArray>>,
    ) -> PyResult<Option<Bound<'py, PyAny>>> {
        if let Some(into) = into {
            return self.get_into(py, key, default, into);
        }
        Ok(self.find(py, key)?.or(default))
    }

    /// Maps a key to a value.
    fn put(&self, py: Python<'_>, key: &Bound<'_, PyAny>, value: &Bound<'_, PyAny>) -> PyResult<()> {
        self.__setitem__(py, key, value)
    }

    /// Deletes a key, whether or not it is there.
    fn delete(&self, py: Python<'_>, key: &Bound<'_, PyAny>) -> PyResult<()> {
        self.store(py, &key_of(key, self.kinds.0)?, None)
    }

    /// Deletes a key and returns its value; if it is not there, `default`, if that is given.
    #[pyo3(signature = (key, *default))]
    fn pop<'py>(
        &self,
        py: Python<'py>,
        key: &Bound<'py, PyAny>,
        default: &Bound<'py, PyTuple>,
    ) -> PyResult<Bound<'py, PyAny>> {
        if default.len() > 1 {
            return Err(PyTypeError::new_err("pop takes a key and at most one default"));
        }
        match self.find(py, key)? {
            Some(value) => {
                self.delete(py, key)?;
                Ok(value)
            }
            None => default.get_item(0).map_err(|_| PyKeyError::new_err(key.clone().unbind())),
        }
    }

    /// Deletes the last pair and returns it.
    fn popitem<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        let last = self.everything(py, true, What::Pairs)?.__next__(py)?;
        let last = last.ok_or_else(|| PyKeyError::new_err("popitem(): the table is empty"))?;
        self.delete(py, &last.get_item(0)?)?;
        Ok(last)
    }

    /// The value of a key, which is set to `default` if it is not there.
    fn setdefault<'py>(
        &self,
        py: Python<'py>,
        key: &Bound<'py, PyAny>,
        default: Bound<'py, PyAny>,
    ) -> PyResult<Bound<'py, PyAny>> {
        match self.find(py, key)? {
            Some(value) => Ok(value),
            None => {
                self.__setitem__(py, key, &default)?;
                Ok(default)
            }
        }
    }

    /// Maps the keys of another mapping, or of pairs, and those that are named: as one commit.
    #[pyo3(signature = (other=None, /, **named))]
    fn update<'py>(
        &self,
        py: Python<'py>,
        other: Option<&Bound<'py, PyAny>>,
        named: Option<&Bound<'py, PyDict>>,
    ) -> PyResult<()> {
        self.require_now(py)?;
        let mut pairs = Vec::new();
        let mut add = |key: &Bound<'py, PyAny>, value: &Bound<'py, PyAny>| -> PyResult<()> {
            pairs.push((key_of(key, self.kinds.0)?, key_of(value, self.kinds.1)?));
            Ok(())
        };
        if let Some(other) = other {
            if other.hasattr("keys")? {
                for key in other.call_method0("keys")?.try_iter()? {
                    let key = key?;
                    add(&key, &other.get_item(&key)?)?;
                }
            } else {
                for pair in other.try_iter()? {
                    let pair = pair?;
                    if pair.len()? != 2 {
                        return Err(PyValueError::new_err("update takes pairs of a key and a value"));
                    }
                    add(&pair.get_item(0)?, &pair.get_item(1)?)?;
                }
            }
        }
        for (key, value) in named.into_iter().flatten() {
            add(key.as_any(), &value)?;
        }
        self.session.write(py, &self.table, |table, transaction| match transaction {
            Some(transaction) => {
                let before = transaction.savepoint();
                for (key, value) in &pairs {
                    if let Err(error) = put(table, Some(transaction), key, Some(value)) {
                        transaction.rollback_to(before)?;
                        return Err(error);
                    }
                }
                Ok(())
            }
            None => {
                let mut batch = table.table().database().batch();
                for (key, value) in &pairs {
                    let (key, value) = table.stored(key, value)?;
                    batch.put(table.table(), &key, &value);
                }
                Ok(batch.commit()?)
            }
        })
    }

    /// Deletes all pairs, as one commit.
    fn clear(&self, py: Python<'_>) -> PyResult<()> {
        self.delete_bounds(py, (To::Unbounded, To::Unbounded))
    }

    /// Deletes the pairs between two keys, as one commit. They are not read, so that many cost as little as few.
    ///
    /// >>> import ambo
    /// >>> kv = ambo.connect().kv("letters", key="str", value="int")
    /// >>> kv.update(a=1, b=2, c=3, d=4)
    /// >>> kv.delete_range("b", "d")
    /// >>> dict(kv)
    /// {'a': 1, 'd': 4}
    #[pyo3(signature = (start=None, stop=None, *, start_inclusive=true, stop_inclusive=false))]
    fn delete_range(
        &self,
        py: Python<'_>,
        start: Option<&Bound<'_, PyAny>>,
        stop: Option<&Bound<'_, PyAny>>,
        start_inclusive: bool,
        stop_inclusive: bool,
    ) -> PyResult<()> {
        let bounds = self.bounds(py, start, stop, start_inclusive, stop_inclusive)?;
        self.delete_bounds(py, bounds)
    }

    /// Deletes the pairs whose keys begin with a prefix, as one commit.
    fn delete_prefix(&self, py: Python<'_>, prefix: &Bound<'_, PyAny>) -> PyResult<()> {
        let prefix = key_of(prefix, self.kinds.0)?;
        let bounds = self.with_table(py, |table| table.prefix(&prefix))?;
        self.delete_bounds(py, bounds)
    }

    /// Locks a key until the end of the open transaction: others wait to lock it, and to commit what they wrote to it.
    fn lock(&self, py: Python<'_>, key: &Bound<'_, PyAny>) -> PyResult<()> {
        self.require_now(py)?;
        let key = key_of(key, self.kinds.0)?;
        self.session.write(py, &self.table, |table, transaction| {
            let transaction = transaction.ok_or_else(|| {
                Error::new(Class::Request, "a key is locked within a transaction, and none is open")
            })?;
            Ok(transaction.lock(table.table(), &table.stored_key(&key)?)?)
        })
    }

    /// The keys, as a view of the mapping.
    fn keys<'py>(slf: &Bound<'py, Self>) -> PyResult<Bound<'py, PyAny>> {
        slf.py().import("collections.abc")?.getattr("KeysView")?.call1((slf,))
    }

    /// The values, as a view of the mapping.
    fn values<'py>(slf: &Bound<'py, Self>) -> PyResult<Bound<'py, PyAny>> {
        slf.py().import("ambo._views")?.getattr("Values")?.call1((slf,))
    }

    /// The pairs, as a view of the mapping.
    fn items<'py>(slf: &Bound<'py, Self>) -> PyResult<Bound<'py, PyAny>> {
        slf.py().import("ambo._views")?.getattr("Items")?.call1((slf,))
    }

    /// The pairs between two keys, in their order or from the last to the first.
    ///
    /// >>> import ambo
    /// >>> kv = ambo.connect().kv("letters", key="str", value="int")
    /// >>> kv.update(a=1, b=2, c=3)
    /// >>> list(kv.range("b")), list(kv.range(stop="c", reverse=True))
    /// ([('b', 2), ('c', 3)], [('b', 2), ('a', 1)])
    #[pyo3(signature = (start=None, stop=None, *, reverse=false, start_inclusive=true, stop_inclusive=false, limit=None))]
    #[allow(clippy::too_many_arguments, reason = "in Python they have names")]
    fn range(
        &self,
        py: Python<'_>,
        start: Option<&Bound<'_, PyAny>>,
        stop: Option<&Bound<'_, PyAny>>,
        reverse: bool,
        start_inclusive: bool,
        stop_inclusive: bool,
        limit: Option<usize>,
    ) -> PyResult<Pairs> {
        let bounds = self.bounds(py, start, stop, start_inclusive, stop_inclusive)?;
        self.pairs(py, bounds, reverse, limit, What::Pairs)
    }

    /// The pairs whose keys begin with a prefix.
    #[pyo3(signature = (prefix, *, reverse=false, limit=None))]
    fn prefix(
        &self,
        py: Python<'_>,
        prefix: &Bound<'_, PyAny>,
        reverse: bool,
        limit: Option<usize>,
    ) -> PyResult<Pairs> {
        let prefix = key_of(prefix, self.kinds.0)?;
        let bounds = self.with_table(py, |table| table.prefix(&prefix))?;
        self.pairs(py, bounds, reverse, limit, What::Pairs)
    }

    /// How many pairs there are between two keys. Values are not read.
    #[pyo3(signature = (start=None, stop=None, *, start_inclusive=true, stop_inclusive=false))]
    fn count(
        &self,
        py: Python<'_>,
        start: Option<&Bound<'_, PyAny>>,
        stop: Option<&Bound<'_, PyAny>>,
        start_inclusive: bool,
        stop_inclusive: bool,
    ) -> PyResult<u64> {
        let bounds = self.bounds(py, start, stop, start_inclusive, stop_inclusive)?;
        self.session.read(py, &self.table, self.snapshot.as_deref(), |table, view| table.count(view, bounds))
    }

    /// The sum of the keys between two keys, which are integers. Values are not read, and compressed keys are summed as they are.
    ///
    /// >>> import ambo
    /// >>> kv = ambo.connect().kv("squares", key="int", value="int")
    /// >>> kv.update({n: n * n for n in range(101)})
    /// >>> kv.sum_keys(), kv.sum_keys(1, 10, stop_inclusive=True)
    /// (5050, 55)
    #[pyo3(signature = (start=None, stop=None, *, start_inclusive=true, stop_inclusive=false))]
    fn sum_keys(
        &self,
        py: Python<'_>,
        start: Option<&Bound<'_, PyAny>>,
        stop: Option<&Bound<'_, PyAny>>,
        start_inclusive: bool,
        stop_inclusive: bool,
    ) -> PyResult<i128> {
        let bounds = self.bounds(py, start, stop, start_inclusive, stop_inclusive)?;
        self.session
            .read(py, &self.table, self.snapshot.as_deref(), |table, view| table.sum_keys(view, bounds))
    }

    /// A cursor, which moves both ways.
    fn cursor(&self, py: Python<'_>) -> PyResult<KvCursor> {
        let (cursor, table) =
            self.session.read(py, &self.table, self.snapshot.as_deref(), |table, view| {
                Ok((table.cursor(view)?, table.clone()))
            })?;
        let at = Arc::new(Mutex::new(Some((cursor, table))));
        self.session.keep(&at);
        Ok(KvCursor { session: self.session.clone(), kinds: self.kinds, at })
    }

    /// The name of the table.
    #[getter]
    fn name(&self) -> &str {
        &self.name
    }

    fn __repr__(&self) -> String {
        format!("<ambo.KeyValue \"{}\">", self.name)
    }

    fn __reduce__(&self) -> PyResult<()> {
        Err(PyTypeError::new_err("a table cannot be pickled: connect again where it is wanted"))
    }
}

/// Pairs or keys of a range, as they were when the iterator was made.
#[pyclass(frozen, module = "ambo")]
pub(crate) struct Pairs {
    session: Arc<Session>,
    scan: Arc<SharedScan>,
    what: What,
}

/// A scan, what it is of, and how many pairs are left.
pub(crate) type SharedScan = Mutex<Option<(Scan, ambo_face::KeyValue, usize)>>;

#[pymethods]
impl Pairs {
    fn __iter__(slf: Bound<'_, Self>) -> Bound<'_, Self> {
        slf
    }

    fn __next__<'py>(&self, py: Python<'py>) -> PyResult<Option<Bound<'py, PyAny>>> {
        self.session.check().map_err(|error| crate::errors::raise(py, &error))?;
        let mut scan = self.scan.lock_py_attached(py).unwrap_or_else(PoisonError::into_inner);
        let at = &mut *scan;
        let next = self.session.detached(py, || {
            let Some((scan, table, left)) = at else { return Ok(None) };
            if *left == 0 {
                return Ok(None);
            }
            let Some(pair) = scan.next() else { return Ok(None) };
            *left -= 1;
            let (key, value) = pair?;
            Ok(Some(table.pair(&key, &value)?))
        })?;
        let Some((key, value)) = next else {
            *scan = None;
            return Ok(None);
        };
        let key = of_value(py, &key)?;
        Ok(Some(match self.what {
            What::Keys => key,
            What::Pairs => (key, of_value(py, &value)?).into_bound_py_any(py)?,
        }))
    }
}

/// A place in a table, as it was when the cursor was made.
#[pyclass(frozen, module = "ambo")]
pub(crate) struct KvCursor {
    session: Arc<Session>,
    kinds: (Kind, Kind),
    at: Arc<SharedCursor>,
}

/// A cursor, and what it is of.
pub(crate) type SharedCursor = Mutex<Option<(Cursor, ambo_face::KeyValue)>>;

impl KvCursor {
    fn with<T: Send>(
        &self,
        py: Python<'_>,
        act: impl FnOnce(&mut Cursor, &ambo_face::KeyValue) -> Result<T> + Send,
    ) -> PyResult<T> {
        let mut at = self.at.lock_py_attached(py).unwrap_or_else(PoisonError::into_inner);
        let at = &mut *at;
        self.session.detached(py, || {
            let (cursor, table) = at.as_mut().ok_or_else(closed)?;
            act(cursor, table)
        })
    }

    fn pair(&self, py: Python<'_>) -> PyResult<(Owned, Owned)> {
        self.with(py, |cursor, table| {
            if !cursor.is_valid() {
                return Err(Error::new(Class::Request, "the cursor stands nowhere"));
            }
            let (key, value) = (cursor.key().to_vec(), cursor.value()?);
            table.pair(&key, value)
        })
    }
}

#[pymethods]
impl KvCursor {
    /// Moves to the first pair; says whether there is one.
    fn first(&self, py: Python<'_>) -> PyResult<bool> {
        self.with(py, |cursor, _| Ok(cursor.seek(Seek::First)?))
    }

    /// Moves to the last pair; says whether there is one.
    fn last(&self, py: Python<'_>) -> PyResult<bool> {
        self.with(py, |cursor, _| Ok(cursor.seek(Seek::Last)?))
    }

    /// Moves to the next pair; says whether there is one.
    fn next(&self, py: Python<'_>) -> PyResult<bool> {
        self.with(py, |cursor, _| Ok(cursor.next()?))
    }

    /// Moves to the pair before; says whether there is one.
    fn prev(&self, py: Python<'_>) -> PyResult<bool> {
        self.with(py, |cursor, _| Ok(cursor.prev()?))
    }

    /// Moves to the pair with a key (`eq`), or the first with it or a greater one (`ge`), a greater one (`gt`), or the last with it or a
    /// smaller one (`le`), a smaller one (`lt`); says whether there is one.
    #[pyo3(signature = (key, how="ge"))]
    fn seek(&self, py: Python<'_>, key: &Bound<'_, PyAny>, how: &str) -> PyResult<bool> {
        let key = key_of(key, self.kinds.0)?;
        self.with(py, |cursor, table| {
            let key = table.stored_key(&key)?;
            Ok(match how {
                "eq" => cursor.seek_exact(&key)?,
                "ge" => cursor.seek(Seek::Ge(&key))?,
                "gt" => cursor.seek(Seek::Gt(&key))?,
                "le" => cursor.seek(Seek::Le(&key))?,
                "lt" => cursor.seek(Seek::Lt(&key))?,
                _ => {
                    return Err(Error::new(Class::Request, format!("there is no way to seek \"{how}\""))
                        .with_hint("there are eq, ge, gt, le and lt"));
                }
            })
        })
    }

    /// Whether it stands on a pair.
    #[getter]
    fn valid(&self, py: Python<'_>) -> PyResult<bool> {
        self.with(py, |cursor, _| Ok(cursor.is_valid()))
    }

    /// The key of the pair that it stands on.
    #[getter]
    fn key<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        of_value(py, &self.pair(py)?.0)
    }

    /// The value of the pair that it stands on.
    #[getter]
    fn value<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        of_value(py, &self.pair(py)?.1)
    }
}
