//! Filters of segments: which keys a segment certainly does not have.
//!
//! Keys in random order, as of UUIDs, lie between the keys of every run. To look for a new one in each of them costs more than to write it.
//! A filter says of nearly all that they are not there: it has more bits a key than that of a run of rows, for a load asks it for all of
//! its keys, and each that is let through is looked for.
//!
//! It follows from the keys, is made by who has looked in vain so often that reading all keys once would have cost as little, or by a load
//! that has its keys at hand because it asked other segments for them, and is kept in the cache of blocks until others need the room. It is
//! never in a file. Where keys come in order, segments are told apart by their first and last keys, and none is made.

use std::sync::{Arc, atomic::Ordering};

use ambo_pages::page::Access;
use ambo_types::Result;

use super::{
    SEGMENT_ROWS_MAX,
    keys::Keys,
    schema::ColumnSchema,
    segment::{CachedPart, Segment},
};
use crate::key_filter::{BYTES_MAX, KeyFilter, KeyHash, MANY_BITS, bytes_for};

/// A filter is made when so many keys were sought in vain as this part of the rows …
const FRUITLESS_SHARE: u32 = 16;
/// … and so many at least.
const FRUITLESS_MIN: u32 = 512;

const _: () = assert!(bytes_for(SEGMENT_ROWS_MAX, MANY_BITS) <= BYTES_MAX);

impl Segment {
    /// Notes that a key was sought in vain, between its first and its last. Returns whether the filter was made now.
    pub(super) fn note_fruitless(&self, schema: &ColumnSchema) -> Result<bool> {
        let due = (self.directory().rows() / FRUITLESS_SHARE).max(FRUITLESS_MIN);
        let count = self.fruitless.fetch_add(1, Ordering::Relaxed).wrapping_add(1);
        Ok(count.is_multiple_of(due) && self.key_filter(schema)?.is_some())
    }

    /// The filter of its keys, made if it has none now; `None` if there is no room for it.
    pub(super) fn key_filter(&self, schema: &ColumnSchema) -> Result<Option<KeyFilter<Arc<[u8]>>>> {
        self.filter_or(|| self.with_all_keys(schema))
    }

    /// Has a filter of these keys, which are those of all rows that anybody can ever see, if there is room for it.
    pub(super) fn keep_filter_of(&self, keys: &[KeyHash]) -> Result<()> {
        assert!(keys.len() <= self.directory().rows() as usize, "keys of its rows");
        let of_keys = || {
            let mut filter = self.empty_filter();
            filter.insert_all(keys.iter().copied());
            Ok(filter.into_bytes().into())
        };
        self.filter_or(of_keys).map(drop)
    }

    /// The filter in the cache, or else the one that `make` makes; `None` if there is no room for it.
    fn filter_or(&self, make: impl FnOnce() -> Result<Arc<[u8]>>) -> Result<Option<KeyFilter<Arc<[u8]>>>> {
        if !self.may_keep(bytes_for(self.directory().rows() as usize, MANY_BITS)) {
            return Ok(None);
        }
        let bytes = self.keep_or(CachedPart::Filter, Access::Point, make)?;
        debug_assert_eq!(bytes.len(), bytes_for(self.directory().rows() as usize, MANY_BITS));
        Ok(Some(KeyFilter::of(bytes)))
    }

    fn empty_filter(&self) -> KeyFilter {
        KeyFilter::new(self.directory().rows() as usize, MANY_BITS).expect("segments are not so large")
    }

    fn with_all_keys(&self, schema: &ColumnSchema) -> Result<Arc<[u8]>> {
        let mut filter = self.empty_filter();
        let mut hashes = Vec::new();
        let mut buffers = schema.buffers();
        buffers.truncate(schema.key_columns());
        for group in 0..self.directory().groups() {
            let rows = self.directory().group(group).len();
            buffers.iter_mut().for_each(ambo_scan::ColumnBuffer::clear);
            self.read_into(schema, &mut buffers, 0, group, 0..rows, Access::Scan)?;
            let keys = Keys::of(schema, &buffers).map_err(|error| self.damaged(0, error))?;
            hashes.clear();
            hashes.extend((0..rows).map(|row| keys.with(row, KeyHash::of)));
            filter.insert_all(hashes.iter().copied());
        }
        Ok(filter.into_bytes().into())
    }
}

/// The filter of the segment in which a search is.
#[derive(Default)]
pub(super) struct KnownFilter {
    /// None before the first search.
    segment: Option<u64>,
    /// None if it has none.
    filter: Option<KeyFilter<Arc<[u8]>>>,
}

impl KnownFilter {
    /// That of a segment, if it has one.
    pub(super) fn of(&mut self, segment: &Segment) -> Option<&KeyFilter<Arc<[u8]>>> {
        if self.segment != Some(segment.id()) {
            self.segment = Some(segment.id());
            self.filter = segment.kept(CachedPart::Filter).map(KeyFilter::of);
        }
        self.filter.as_ref()
    }
}

#[cfg(test)]
mod tests {
    use ambo_pages::budget::MemoryBudget;
    use ambo_pages::io::sim::SimDisk;
    use ambo_types::TableDefinition;
    use std::{
        collections::{BTreeMap, BTreeSet},
        ops::Range,
        sync::{Arc, atomic::AtomicBool},
    };

    use ambo_codec::bitmap::Bitmap;

    use crate::column::{
        ColumnSchema, ColumnSet, Finder, Part, RunBuilder, SegmentStore,
        key_stream::{KnownKeys, PartKeys, shared_with},
        segment::CachedPart,
        unique::delete,
    };

    /// Keys in random order.
    fn key(number: u64) -> Vec<u8> {
        number.wrapping_mul(0x9e37_79b9_7f4a_7c15).to_be_bytes().to_vec()
    }

    fn schema() -> Arc<ColumnSchema> {
        Arc::new(ColumnSchema::new(&TableDefinition::key_value("t")).unwrap())
    }

    /// A set of a run for each of the sets of keys, with a cache of so many bytes.
    fn set_of(runs: &[BTreeSet<Vec<u8>>], cache_bytes: usize) -> ColumnSet {
        let store =
            SegmentStore::new(SimDisk::new(0).env().disk.clone(), 77, &MemoryBudget::new(cache_bytes));
        let run = |keys: &BTreeSet<Vec<u8>>| {
            let mut builder = RunBuilder::new(&store, &schema());
            keys.iter().for_each(|key| builder.push(key, b"value").unwrap());
            builder.finish().unwrap()
        };
        let runs = runs.iter().map(run).collect();
        ColumnSet::new(store.clone(), schema(), runs)
    }

    fn has_filter(part: &Part) -> bool {
        part.segment.kept(CachedPart::Filter).is_some()
    }

    /// Keeps away: rows that are not found because a filter denies them; filters that are never made, or that a small cache is to keep.
    #[test]
    fn filters_come_with_fruitless_searches_and_deny_no_row() {
        let keys = |numbers: Range<u64>| numbers.map(key).collect::<BTreeSet<_>>();
        let expected: BTreeMap<_, _> = (15_000..45_000)
            .map(|number| (key(number), (number < 30_000).then_some(usize::from(number >= 20_000))))
            .collect();
        for (cache_bytes, is_made) in [(64 << 20, true), (1 << 17, false)] {
            let set = set_of(&[keys(0..20_000), keys(20_000..30_000)], cache_bytes);
            for _ in 0..3 {
                let mut finder = Finder::new(&set);
                for (key, run) in &expected {
                    assert_eq!(finder.find(key).unwrap().map(|found| found.run), *run);
                    assert_eq!(set.find(key).unwrap().map(|found| found.run), *run);
                }
            }
            assert!(set.parts().all(|part| has_filter(part) == is_made));
            let merged = set.merge_segments(true, &AtomicBool::new(false)).unwrap();
            assert_eq!(merged.runs().len(), 1);
            assert!(merged.parts().all(|part| has_filter(part) == is_made));
            for (key, run) in &expected {
                assert_eq!(merged.find(key).unwrap().is_some(), run.is_some());
            }
        }
    }

    /// Keeps away: filters of keys that nobody looks for in vain.
    #[test]
    fn what_is_merged_of_segments_without_filters_has_none() {
        let runs = [0, 1].map(|odd| (0..5_000).map(|number| key(2 * number + odd)).collect());
        let merged = set_of(&runs, 64 << 20).merge_segments(true, &AtomicBool::new(false)).unwrap();
        assert_eq!(merged.runs().len(), 1);
        assert!(!merged.parts().any(has_filter));
    }

    /// Keeps away: a filter of the keys of a load that is not that of its segment.
    #[test]
    fn the_keys_of_a_load_are_its_filter() {
        let set = set_of(&[(0..10_000).map(key).collect()], 64 << 20);
        let part = set.parts().next().unwrap();
        let keys = PartKeys::of(&schema(), part).unwrap().unwrap();
        part.segment.keep_filter_of(keys.hashes()).unwrap();
        let kept = part.segment.kept(CachedPart::Filter).unwrap();
        assert_eq!(kept, part.segment.with_all_keys(&schema()).unwrap());
    }

    /// Keeps away: filters for keys in order, which first and last keys tell apart.
    #[test]
    fn keys_in_order_need_no_filter() {
        let keys = |numbers: Range<u64>| numbers.map(|n| n.to_be_bytes().to_vec()).collect::<BTreeSet<_>>();
        let set = set_of(&[keys(0..20_000), keys(20_000..40_000)], 64 << 20);
        let mut finder = Finder::new(&set);
        for key in keys(0..60_000) {
            assert_eq!(finder.find(&key).unwrap().is_some(), key < 40_000u64.to_be_bytes().to_vec());
        }
        assert!(!set.parts().any(has_filter));
    }

    /// Keeps away: shared keys that are missed where few of one part are looked up in another, or where too many are for that.
    #[test]
    fn shared_keys_are_found_however_many_there_are() {
        let old: BTreeSet<_> = (0..40_000).map(key).collect();
        for shared in [0, 1, 100, 5_000, 12_000] {
            let new: BTreeSet<_> = (40_000 - shared..52_000 - shared).map(key).collect();
            let set = set_of(&[old.clone(), new.clone()], 64 << 20);
            let mut parts: Vec<Part> = set.parts().cloned().collect();
            // A row that is gone is in nobody's way.
            let gone = old.iter().position(|key| new.contains(key));
            if let Some(row) = gone {
                delete(&mut parts[0], &Bitmap::from_sorted(vec![row as u64]).unwrap());
            }
            let mut found = BTreeMap::new();
            let keys = PartKeys::of(&schema(), &parts[1]).unwrap().unwrap();
            for known in [None, Some(&keys)] {
                let mut these = BTreeMap::new();
                let others: (&[&Part], &KnownKeys<'_>) = (&[&parts[1]], &|_| Ok(known));
                shared_with(&schema(), &parts[0], others, &AtomicBool::new(false), |row, of, key| {
                    these.insert(key.to_vec(), (row, of));
                    Ok(())
                })
                .unwrap();
                assert!(known.is_none() || found == these);
                found = these;
            }
            let places =
                |keys: &BTreeSet<Vec<u8>>| keys.iter().cloned().zip(0u32..).collect::<BTreeMap<_, _>>();
            let (old, new) = (places(&old), places(&new));
            let expected: BTreeMap<_, _> = old
                .iter()
                .filter(|(_, row)| Some(**row as usize) != gone)
                .filter_map(|(key, row)| Some((key.clone(), (*row, (0, *new.get(key)?)))))
                .collect();
            assert!(found == expected, "{shared}: {} instead of {}", found.len(), expected.len());
            assert!(has_filter(&parts[0]));
        }
    }
}
