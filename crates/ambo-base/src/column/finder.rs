//! Finding many keys of a set, in order.

use std::cell::OnceCell;

use ambo_codec::column::VECTOR;
use ambo_types::Result;

use super::{
    run::{ColumnRun, Part, RunRow},
    schema::ColumnSchema,
    search::{Found, Probe, Window},
    set::{ColumnSet, RowPlace},
};
use crate::key_filter::KeyHash;

/// Of many keys, so many are best looked for together.
pub(super) const FOUND_TOGETHER: usize = 4096;

/// With so many keys for each vector of a group's keys its vectors are decoded, with fewer each key is sought in what is stored.
const DECODED_FROM: usize = 3;

/// Finds keys, one after the other or many together: quick if they are in order.
pub struct Finder<'s> {
    set: &'s ColumnSet,
    /// Where the last search in each run ended.
    windows: Vec<Option<Window>>,
    /// The runs, those with the most rows first: they have the most keys, and a key that was found is looked for no more.
    order: Vec<usize>,
}

impl<'s> Finder<'s> {
    /// Finds keys in a set.
    pub fn new(set: &'s ColumnSet) -> Self {
        let runs = set.runs();
        let mut order: Vec<_> = (0..runs.len()).collect();
        order.sort_by_cached_key(|run| std::cmp::Reverse(runs[*run].live_rows()));
        Self { set, windows: runs.iter().map(|_| None).collect(), order }
    }

    /// Where the row of a key is.
    pub fn find(&mut self, key: &[u8]) -> Result<Option<RowPlace>> {
        let schema = self.set.schema();
        let probe = Probe::new(schema, key);
        for run in self.order.iter().copied() {
            let window = self.windows[run].get_or_insert_with(|| Window::new(schema));
            if let Some(place) = self.set.runs()[run].find(schema, &probe, window)? {
                return Ok(Some(RowPlace { run, place }));
            }
        }
        Ok(None)
    }

    /// Where the rows of some keys are. REQUIRES: the keys ascend.
    ///
    /// One run is asked for all of them, and then the next for those that are left: a run's filter and its blocks stay at hand.
    pub fn find_all(&mut self, keys: &[&[u8]]) -> Result<Vec<Option<RowPlace>>> {
        debug_assert!(keys.is_sorted());
        let schema = self.set.schema();
        let sought = Sought {
            keys,
            hashes: keys.iter().map(|key| KeyHash::of(key)).collect(),
            probes: keys.iter().map(|_| OnceCell::new()).collect(),
        };
        let mut found = vec![None; keys.len()];
        let mut left: Vec<usize> = (0..keys.len()).collect();
        for run in self.order.iter().copied() {
            let window = self.windows[run].get_or_insert_with(|| Window::new(schema));
            self.set.runs()[run].find_all(schema, &sought, &left, window, &mut |key, place| {
                found[key] = Some(RowPlace { run, place });
            })?;
            left.retain(|key| found[*key].is_none());
        }
        Ok(found)
    }
}

/// Keys that are looked for together.
struct Sought<'k> {
    /// They ascend.
    keys: &'k [&'k [u8]],
    hashes: Vec<KeyHash>,
    /// Taken apart once a filter lets them through: for all runs, but not for none.
    probes: Vec<OnceCell<Probe<'k>>>,
}

impl<'k> Sought<'k> {
    fn probe(&self, schema: &ColumnSchema, key: usize) -> &Probe<'k> {
        self.probes[key].get_or_init(|| Probe::new(schema, self.keys[key]))
    }
}

impl ColumnRun {
    /// Looks for those of the keys, which ascend, that `left` names.
    fn find_all(
        &self,
        schema: &ColumnSchema,
        sought: &Sought<'_>,
        mut left: &[usize],
        window: &mut Window,
        found: &mut impl FnMut(usize, RunRow),
    ) -> Result<()> {
        for (index, part) in self.parts.iter().enumerate() {
            if left.is_empty() {
                break;
            }
            let directory = part.segment.directory();
            let (first, last) = (directory.first_key(), directory.last_key());
            let here;
            (here, left) = left.split_at(left.partition_point(|key| sought.keys[*key] <= last));
            let here = &here[here.partition_point(|key| sought.keys[*key] < first)..];
            part.find_all(schema, sought, here, window, &mut |key, row| {
                found(key, RunRow { part: index, row })
            })?;
        }
        Ok(())
    }
}

impl Part {
    /// Looks for those of the keys that `left` names, all of which are between its first and its last.
    fn find_all(
        &self,
        schema: &ColumnSchema,
        sought: &Sought<'_>,
        left: &[usize],
        window: &mut Window,
        found: &mut impl FnMut(usize, u32),
    ) -> Result<()> {
        debug_assert!(left.iter().all(|key| {
            let (key, directory) = (sought.keys[*key], self.segment.directory());
            directory.first_key() <= key && key <= directory.last_key()
        }));
        let maybe = match window.filter.of(&self.segment) {
            Some(filter) => filter.not_denied(left.iter().map(|key| (*key, sought.hashes[*key]))),
            None => left.to_vec(),
        };
        let directory = self.segment.directory();
        let mut maybe = &maybe[..];
        while let Some(first) = maybe.first() {
            let key = sought.keys[*first];
            let group = match window.stays(&self.segment, key) {
                Some(group) => group,
                None => {
                    let group = directory.group_for(key).expect("the key is not before the first");
                    window.enter(schema, &self.segment, group)?;
                    group
                }
            };
            let is_here = |key: &usize| {
                group + 1 == directory.groups() || sought.keys[*key] < directory.fence(group + 1)
            };
            let (here, behind) = maybe.split_at(maybe.partition_point(is_here));
            assert!(!here.is_empty(), "the first key is in the group that was found for it");
            let probes: Vec<_> = here.iter().map(|key| sought.probe(schema, *key)).collect();
            let vectors = directory.group(group).len().div_ceil(VECTOR);
            let decodes = probes.len() >= DECODED_FROM * vectors;
            let mut fruitless = 0;
            self.search_group(schema, &probes, decodes, window, |nth, place| match place {
                Found::At(row) if !self.is_deleted(row) => found(here[nth], row),
                Found::At(_) => {}
                Found::Before(_) => fruitless += 1,
            })?;
            for _ in 0..fruitless {
                self.note_fruitless(schema, window)?;
            }
            maybe = behind;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use ambo_pages::budget::MemoryBudget;
    use ambo_pages::io::sim::SimDisk;
    use ambo_types::TableDefinition;
    use std::{collections::BTreeMap, sync::Arc};

    use ambo_codec::bitmap::Bitmap;
    use proptest::prelude::*;

    use super::*;
    use crate::column::{RunBuilder, SegmentStore, unique::delete};

    /// A set of runs, each of parts, each of rows that are left or not; and where each key is left.
    fn set_of(runs: &[Vec<BTreeMap<u16, bool>>]) -> (ColumnSet, BTreeMap<Vec<u8>, RowPlace>) {
        let schema = Arc::new(ColumnSchema::new(&TableDefinition::key_value("t")).unwrap());
        let store = SegmentStore::new(SimDisk::new(0).env().disk.clone(), 77, &MemoryBudget::new(64 << 20));
        let mut places = BTreeMap::new();
        let mut made = Vec::new();
        for (number, parts) in runs.iter().enumerate() {
            let mut run = ColumnRun::default();
            for rows in parts.iter().filter(|rows| !rows.is_empty()) {
                let mut builder = RunBuilder::new(&store, &schema);
                rows.keys().for_each(|key| builder.push(&key.to_be_bytes(), b"value").unwrap());
                let mut part = builder.finish().unwrap().parts.pop().unwrap();
                let mut gone = Vec::new();
                for (row, (key, is_left)) in rows.iter().enumerate() {
                    // A key is left once.
                    let key = key.to_be_bytes().to_vec();
                    if *is_left && !places.contains_key(&key) {
                        let place = RunRow { part: run.parts.len(), row: row as u32 };
                        places.insert(key, RowPlace { run: number, place });
                    } else {
                        gone.push(row as u64);
                    }
                }
                delete(&mut part, &Bitmap::from_sorted(gone).unwrap());
                run.parts.push(part);
            }
            made.push(run);
        }
        (ColumnSet::new(store, schema, made), places)
    }

    /// Parts of a run, one behind the other, from keys and whether they are left.
    fn run() -> impl Strategy<Value = Vec<BTreeMap<u16, bool>>> {
        let rows = proptest::collection::btree_map(any::<u16>(), any::<bool>(), 0..3000);
        (rows, 0..=u16::MAX).prop_map(|(mut rows, at)| {
            let behind = rows.split_off(&at);
            vec![rows, behind]
        })
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(24))]

        /// Keeps away: keys that are missed, or found in another place, where many are looked for together: before, between and behind
        /// parts, twice, in rows that are gone, with filters and without.
        #[test]
        fn keys_are_found_together_as_one_by_one(
            runs in proptest::collection::vec(run(), 0..4),
            mut sought in proptest::collection::vec(any::<u16>(), 0..3000),
        ) {
            let (set, places) = set_of(&runs);
            let ends = |rows: &BTreeMap<u16, bool>| [rows.first_key_value(), rows.last_key_value()].map(|row| row.map(|(key, _)| *key));
            sought.extend(runs.iter().flatten().flat_map(ends).flatten());
            sought.sort_unstable();
            let keys: Vec<_> = sought.iter().map(|key| key.to_be_bytes()).collect();
            let keys: Vec<&[u8]> = keys.iter().map(|key| &key[..]).collect();
            let expected: Vec<_> = keys.iter().map(|key| places.get(*key).copied()).collect();
            let mut finder = Finder::new(&set);
            // Filters are made on the way.
            for keys_together in [keys.len().max(1), 100, 1] {
                let found = keys.chunks(keys_together).map(|keys| finder.find_all(keys).unwrap());
                prop_assert_eq!(&found.flatten().collect::<Vec<_>>(), &expected);
                let found = keys.iter().map(|key| finder.find(key).unwrap());
                prop_assert_eq!(&found.collect::<Vec<_>>(), &expected);
            }
        }
    }
}
