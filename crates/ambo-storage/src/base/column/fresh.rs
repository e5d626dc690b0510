//! Rows that are not in segments yet, as columns for scans.
//!
//! A [`FreshLayer`] is what some deltas and runs hold at one moment: the newest row of each of their keys, and the place of the row
//! that it replaces in the segments. Rows are kept as bytes; a column of a few thousand of them is encoded when a scan first asks for
//! it, by the thread that asks, and kept with the layer, so that a layer that scans share is converted once.

use std::sync::OnceLock;

use ambo_codec::{
    Value,
    bitmap::Bitmap,
    column::{Goal, Kind, encode},
};
use parking_lot::Mutex;

use super::{
    buffer::ColumnBuffer,
    schema::ColumnSchema,
    set::{ColumnSet, Finder, RowPlace},
};
use crate::{Error, Result};

/// Rows of one group.
const GROUP_ROWS: usize = 8 << 10;
/// With fewer keys to find, threads cost more than they gain.
const KEYS_A_THREAD: usize = 8 << 10;

/// A column of a group.
#[derive(Debug)]
pub(super) struct FreshColumn {
    pub kind: Kind,
    pub block: Vec<u8>,
    /// Its least and greatest value.
    pub bounds: Option<(Value, Value)>,
}

/// Byte strings one behind the other.
#[derive(Debug, Default)]
struct Strings {
    ends: Vec<usize>,
    bytes: Vec<u8>,
}

impl Strings {
    fn push(&mut self, string: &[u8]) {
        self.bytes.extend_from_slice(string);
        self.ends.push(self.bytes.len());
    }

    fn len(&self) -> usize {
        self.ends.len()
    }

    fn get(&self, index: usize) -> &[u8] {
        let start = index.checked_sub(1).map_or(0, |before| self.ends[before]);
        &self.bytes[start..self.ends[index]]
    }
}

/// A few thousand rows of a layer.
#[derive(Debug)]
pub struct FreshGroup {
    /// Its first row among those of the layer.
    first: u32,
    keys: Strings,
    records: Strings,
    /// Each stored column, once it was asked for.
    columns: Vec<OnceLock<FreshColumn>>,
    /// Held while columns are made.
    making: Mutex<()>,
}

impl FreshGroup {
    fn new(first: u32, columns: usize) -> Self {
        let columns = (0..columns).map(|_| OnceLock::new()).collect();
        Self {
            first,
            keys: Strings::default(),
            records: Strings::default(),
            columns,
            making: Mutex::default(),
        }
    }

    /// How many rows.
    pub(super) fn rows(&self) -> usize {
        self.keys.len()
    }

    /// Its first row among those of the layer.
    pub(super) fn first_row(&self) -> u64 {
        self.first.into()
    }

    /// How many stored columns there are.
    pub(super) fn stored_columns(&self) -> usize {
        self.columns.len()
    }

    /// A column that [`FreshGroup::prepare`] was asked for.
    pub(super) fn column(&self, column: usize) -> &FreshColumn {
        self.columns[column].get().expect("a column that the scan asked for")
    }

    /// Makes the stored columns that are `needed`.
    fn prepare(&self, schema: &ColumnSchema, needed: &[bool]) -> Result<()> {
        let missing = |column: &usize| needed[*column] && self.columns[*column].get().is_none();
        if !(0..needed.len()).any(|column| missing(&column)) {
            return Ok(());
        }
        let _making = self.making.lock();
        let mut buffers: Vec<(usize, ColumnBuffer)> = (0..needed.len())
            .filter(missing)
            .map(|column| (column, ColumnBuffer::new(schema.types()[column])))
            .collect();
        let unreadable =
            |error: ambo_codec::Error| Error::Invalid(format!("a row that cannot be read: {error}"));
        for row in 0..self.rows() {
            schema.push_some(self.keys.get(row), self.records.get(row), &mut buffers).map_err(unreadable)?;
        }
        for (column, buffer) in buffers {
            let mut block = Vec::new();
            let summary = encode(buffer.slice(), buffer.validity(), Goal::Speed, &mut block)
                .map_err(|error| Error::Invalid(error.to_string()))?;
            let _ = self.columns[column].set(FreshColumn {
                kind: Kind::of(buffer.ty()),
                block,
                bounds: summary.min.zip(summary.max),
            });
        }
        Ok(())
    }
}

/// Where a key of a layer is.
#[derive(Clone, Copy, Debug)]
struct Key {
    /// Its row among those of all groups; none of a key that is deleted.
    row: Option<u32>,
    /// The row of the segments that it replaces.
    place: Option<RowPlace>,
}

/// See the module.
#[derive(Debug)]
pub struct FreshLayer {
    /// All keys, in order.
    names: Strings,
    keys: Vec<Key>,
    groups: Vec<FreshGroup>,
    /// Rows of each part of each run of the segments that this layer replaces.
    replaced: Vec<Vec<Option<Bitmap>>>,
    rows: u32,
    bytes: usize,
}

/// Takes the rows of a layer in the order of their keys.
pub struct FreshBuilder<'s> {
    schema: &'s ColumnSchema,
    /// Beyond so many bytes only the columns that are needed now are kept of rows.
    bytes_max: usize,
    /// Those of the key among them, for scans in order.
    needed: Vec<bool>,
    layer: FreshLayer,
}

impl<'s> FreshBuilder<'s> {
    /// Begins a layer for a scan that needs some stored columns.
    pub fn new(schema: &'s ColumnSchema, needed: &[bool], bytes_max: usize) -> Self {
        let mut needed = needed.to_vec();
        needed[..schema.key_columns()].fill(true);
        let layer = FreshLayer {
            names: Strings::default(),
            keys: Vec::new(),
            groups: Vec::new(),
            replaced: Vec::new(),
            rows: 0,
            bytes: 0,
        };
        Self { schema, bytes_max, needed, layer }
    }

    /// Appends the newest row of a key, or that it is deleted.
    pub fn push(&mut self, key: &[u8], record: Option<&[u8]>) -> Result<()> {
        let layer = &mut self.layer;
        let columns = self.schema.types().len();
        layer.names.push(key);
        let row = record.is_some().then_some(layer.rows);
        layer.keys.push(Key { row, place: None });
        layer.bytes += key.len() + size_of::<Key>();
        let Some(record) = record else { return Ok(()) };
        if layer.groups.last().is_none_or(|group| group.rows() == GROUP_ROWS) {
            if layer.bytes > self.bytes_max {
                // Too many to be kept: what this scan needs of them is less.
                for group in layer.groups.iter_mut().filter(|group| group.records.len() > 0) {
                    group.prepare(self.schema, &self.needed)?;
                    (group.records, group.keys.bytes) = (Strings::default(), Vec::new());
                }
            }
            layer.groups.push(FreshGroup::new(layer.rows, columns));
        }
        let group = layer.groups.last_mut().expect("just pushed");
        group.keys.push(key);
        group.records.push(record);
        layer.rows += 1;
        layer.bytes += key.len() + record.len();
        Ok(())
    }

    /// The layer, with the rows of `set` that it replaces. Places of keys that older layers know are taken from there: they have to be
    /// of the same set.
    pub fn finish(self, set: &ColumnSet, known: &[&FreshLayer]) -> Result<FreshLayer> {
        let mut layer = self.layer;
        let mut unknown = Vec::new();
        let mut at = vec![0; known.len()];
        'keys: for index in 0..layer.keys.len() {
            let name = layer.names.get(index);
            for (other, at) in known.iter().zip(&mut at) {
                *at = other.search_from(*at, name);
                if *at < other.keys.len() && other.names.get(*at) == name {
                    layer.keys[index].place = other.keys[*at].place;
                    continue 'keys;
                }
            }
            unknown.push(index);
        }
        for (indexes, places) in find_all(set, &layer.names, &unknown)? {
            indexes.iter().zip(places).for_each(|(index, place)| layer.keys[*index].place = place);
        }
        let mut rows: Vec<Vec<Vec<u64>>> =
            set.runs().iter().map(|run| vec![Vec::new(); run.parts.len()]).collect();
        for RowPlace { run, place } in layer.keys.iter().filter_map(|key| key.place) {
            rows[run][place.part].push(place.row.into());
        }
        let bitmap = |rows: Vec<u64>| {
            (!rows.is_empty()).then(|| Bitmap::from_sorted(rows).expect("rows ascend with their keys"))
        };
        layer.replaced = rows.into_iter().map(|parts| parts.into_iter().map(bitmap).collect()).collect();
        Ok(layer)
    }
}

/// Some keys, and the places where they are.
type Places<'k> = Vec<(&'k [usize], Vec<Option<RowPlace>>)>;

/// Finds keys, which ascend; many by several threads.
fn find_all<'k>(set: &ColumnSet, names: &Strings, keys: &'k [usize]) -> Result<Places<'k>> {
    let find = |keys: &'k [usize]| -> Result<_> {
        let mut finder = Finder::new(set);
        let places = keys.iter().map(|key| finder.find(names.get(*key))).collect::<Result<Vec<_>>>()?;
        Ok((keys, places))
    };
    let threads = std::thread::available_parallelism().map_or(1, usize::from).min(keys.len() / KEYS_A_THREAD);
    if threads < 2 {
        return Ok(vec![find(keys)?]);
    }
    std::thread::scope(|scope| {
        let chunks = keys.chunks(keys.len().div_ceil(threads));
        let threads: Vec<_> = chunks.map(|keys| scope.spawn(move || find(keys))).collect();
        let join = |thread: std::thread::ScopedJoinHandle<'_, Result<_>>| {
            thread.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic))
        };
        threads.into_iter().map(join).collect()
    })
}

impl FreshLayer {
    /// Rows, without keys that are deleted.
    pub fn rows(&self) -> u64 {
        self.rows.into()
    }

    /// Whether it changes nothing.
    pub fn is_empty(&self) -> bool {
        self.keys.is_empty()
    }

    /// Bytes of its keys and records.
    pub fn bytes(&self) -> usize {
        self.bytes
    }

    /// How many groups its rows are in.
    pub fn groups(&self) -> usize {
        self.groups.len()
    }

    /// A group of rows, with the stored columns that are needed.
    pub fn group(&self, group: usize, schema: &ColumnSchema, needed: &[bool]) -> Result<&FreshGroup> {
        let group = &self.groups[group];
        group.prepare(schema, needed)?;
        Ok(group)
    }

    /// The rows of a part of a run that it replaces.
    pub fn replaced(&self, run: usize, part: usize) -> Option<&Bitmap> {
        self.replaced[run][part].as_ref()
    }

    /// The first key at or behind `from` that is not less than `name`. Steps double, for keys of one layer are often near in another.
    fn search_from(&self, from: usize, name: &[u8]) -> usize {
        let (mut low, mut step) = (from, 1);
        while low + step < self.keys.len() && self.names.get(low + step) < name {
            low += step;
            step *= 2;
        }
        let mut high = (low + step).min(self.keys.len());
        while low < high {
            let middle = (low + high) / 2;
            match self.names.get(middle) < name {
                true => low = middle + 1,
                false => high = middle,
            }
        }
        low
    }

    /// The rows of an older layer whose keys this one has too; none if there are none.
    pub fn hidden_in(&self, older: &Self) -> Option<Bitmap> {
        let mut rows = Vec::new();
        let mut at = 0;
        for index in 0..self.keys.len() {
            let name = self.names.get(index);
            at = older.search_from(at, name);
            if at == older.keys.len() {
                break;
            }
            if older.names.get(at) == name {
                rows.extend(older.keys[at].row.map(u64::from));
            }
        }
        (!rows.is_empty()).then(|| Bitmap::from_sorted(rows).expect("rows ascend with their keys"))
    }
}
