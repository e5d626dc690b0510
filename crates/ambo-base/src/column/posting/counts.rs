//! How many rows have each of the values of a column, of leaves alone.

use ambo_codec::{Type, Value, ValueRef, column::Kind};
use ambo_scan::{Bounds, ColumnBuffer, ValueCounts};
use ambo_types::{Error, Result};

use super::{
    file::{Place, PostingFile},
    gather::{Gatherer, Key},
    keys,
};

/// Rows that do not count, by their keys.
#[derive(Default)]
struct Gone {
    keys: Vec<(OwnedKey, u64)>,
    next: usize,
}

#[derive(Debug)]
enum OwnedKey {
    Number(u64),
    Text(Box<[u8]>),
}

impl OwnedKey {
    fn as_key(&self) -> Key<'_> {
        match self {
            Self::Number(number) => Key::Number(*number),
            Self::Text(text) => Key::Text(text),
        }
    }
}

impl Gone {
    fn new(gathered: Gatherer) -> Self {
        let mut keys = Vec::new();
        gathered.finish(|key, rows| {
            let key = match key {
                Key::Number(number) => OwnedKey::Number(number),
                Key::Text(text) => OwnedKey::Text(text.into()),
            };
            keys.push((key, rows.len() as u64));
        });
        Self { keys, next: 0 }
    }

    /// How many rows with a key do not count. REQUIRES: keys ascend from call to call.
    fn of(&mut self, key: Key<'_>) -> u64 {
        while let Some((gone, rows)) = self.keys.get(self.next) {
            match gone.as_key().cmp(&key) {
                std::cmp::Ordering::Less => self.next += 1,
                std::cmp::Ordering::Equal => return *rows,
                std::cmp::Ordering::Greater => break,
            }
        }
        0
    }
}

impl PostingFile {
    /// The values whose keys lie between places, which ascend, and how many rows have each, without those that are gone. REQUIRES: it is
    /// over a column of this type alone.
    pub(in crate::column) fn value_counts(
        &self,
        places: &[(Place, Place)],
        ty: Type,
        gone: Option<Gatherer>,
    ) -> Result<ValueCounts> {
        debug_assert!(places.is_sorted_by(|a, b| a.1.keys <= b.0.keys), "keys ascend");
        let mut gone = gone.map(Gone::new).unwrap_or_default();
        let mut found = ValueCounts { values: ColumnBuffer::new(ty), rows: Vec::new() };
        for between in places {
            self.leaves(*between, |root, number, leaf, keys| {
                for key in keys {
                    let (key, rows) = (leaf.key(key), leaf.count(key));
                    let wrong = |what: &str| self.damaged(root.entry(number).at, what);
                    let left = rows.checked_sub(gone.of(key));
                    let left = left.ok_or_else(|| wrong("a key that fewer rows have than were deleted"))?;
                    if left > 0 {
                        push(&mut found.values, key).map_err(|what| wrong(&what))?;
                        found.rows.push(left);
                    }
                }
                Ok(())
            })?;
        }
        Ok(found)
    }

    /// The first values, or the last ones from the last on, and how many rows have each: so many that at least `rows` have one of them, or
    /// all. REQUIRES: as of [`PostingFile::value_counts`].
    pub(in crate::column) fn first_counts(
        &self,
        rows: u64,
        from_last: bool,
        ty: Type,
    ) -> Result<ValueCounts> {
        let mut found = ValueCounts { values: ColumnBuffer::new(ty), rows: Vec::new() };
        let (mut counted, keys) = (0, self.keys());
        let mut nth = 0;
        while nth < keys && counted < rows {
            let key = if from_last { keys - 1 - nth } else { nth };
            nth += self.with_key(key, |leaf, place| {
                // As far as the leaf goes.
                let mut taken = 0;
                let places = if from_last {
                    (0..=place).rev().collect()
                } else {
                    (place..leaf.len()).collect::<Vec<_>>()
                };
                for place in places {
                    if counted >= rows {
                        break;
                    }
                    push(&mut found.values, leaf.key(place))?;
                    found.rows.push(leaf.count(place));
                    counted += leaf.count(place);
                    taken += 1;
                }
                Ok(taken)
            })?;
        }
        Ok(found)
    }

    /// That it has other rows than its segment.
    pub(in crate::column) fn other_rows(&self) -> Error {
        self.damaged(0, "it has more rows than its segment")
    }

    /// How many rows of its segment have no key. REQUIRES: none has several.
    pub(in crate::column) fn keyless_rows(&self) -> Result<u64> {
        u64::from(self.rows()).checked_sub(self.postings()).ok_or_else(|| self.other_rows())
    }

    /// The first and the last value whose keys lie between places. REQUIRES: as of [`PostingFile::value_counts`].
    pub(in crate::column) fn ends(&self, places: &[(Place, Place)], ty: Type) -> Result<ValueCounts> {
        let mut found = ValueCounts { values: ColumnBuffer::new(ty), rows: Vec::new() };
        let has_keys = |between: &&(Place, Place)| between.0.keys < between.1.keys;
        let first = places.iter().find(has_keys).map(|(from, _)| from.keys);
        let last = places.iter().rfind(has_keys).map(|(_, to)| to.keys - 1);
        let mut ends: Vec<u64> = first.into_iter().chain(last).collect();
        ends.dedup();
        for end in ends {
            self.with_key(end, |leaf, key| {
                push(&mut found.values, leaf.key(key))?;
                found.rows.push(leaf.count(key));
                Ok(())
            })?;
        }
        Ok(found)
    }
}

/// Appends the value that has a key.
fn push(values: &mut ColumnBuffer, key: Key<'_>) -> std::result::Result<(), String> {
    let none = || "a key that is of no value of its column".to_owned();
    let kind = Kind::of(values.ty());
    let decoded: Value;
    let value = match key {
        Key::Number(number) => {
            decoded = keys::value(number, kind).ok_or_else(none)?;
            decoded.as_ref()
        }
        Key::Text(text) if kind == Kind::Bytes => {
            if values.ty() == Type::Utf8 && std::str::from_utf8(text).is_err() {
                return Err("a key that is no text".into());
            }
            ValueRef::Binary(text)
        }
        Key::Text(bytes) => {
            decoded = Bounds::decode(kind, bytes).ok_or_else(none)?;
            decoded.as_ref()
        }
    };
    values.push(value).map_err(|error| error.to_string())
}
