//! Each key once: rows of a load among themselves, and against the rows that are there.
//!
//! Nothing is kept for a row but a bit where it loses: keys are compared where the ranges of segments overlap, by a merge of sorted streams
//! ([`super::key_stream`]).

use std::{
    collections::{BTreeMap, HashMap},
    sync::{Arc, OnceLock, atomic::AtomicBool},
};

use ambo_codec::bitmap::{Bitmap, Positions};
use ambo_types::{Error, Result, parts::fold_parts};

use super::{
    chunk::LoadedPart,
    key_stream::{PartKeys, shared, shared_with},
    keys::{Duplicates, shown, twice},
    run::{ColumnRun, Deleted, Part},
    schema::ColumnSchema,
    set::ColumnSet,
};

/// Of loads with no more parts the keys are kept in memory while they are compared.
const PARTS_KEPT: usize = 4;

/// The segments of a load, each key at most once in all of them, ready to join a set.
pub struct LoadedParts {
    schema: Arc<ColumnSchema>,
    duplicates: Duplicates,
    /// Whether its rows are keys of rows that go.
    removes: bool,
    parts: Vec<Part>,
    /// The keys of each part, once they were needed; `None` if they are too many to be kept.
    keys: Vec<OnceLock<Option<PartKeys>>>,
    /// What was found about parts of the set: it holds as long as they do not change.
    known: HashMap<u64, Known>,
}

/// The rows of one part of a set that the load has, too.
struct Known {
    /// The part when it was looked at.
    of: Part,
    rows: Bitmap,
    /// The same rows in the load, by part.
    loaded: BTreeMap<usize, Bitmap>,
}

/// A set with the rows of a load in it.
pub struct Joined {
    /// The set.
    pub set: ColumnSet,
    /// Rows of the load that are in it.
    pub rows: u64,
    /// Rows of the set that gave way.
    pub replaced: u64,
}

impl LoadedParts {
    /// Sorts out which rows of the same key stay. Returns how many rows were left out.
    ///
    /// # Errors
    /// [`Error::Exists`] with a key that is twice in the load, if none may be left out; [`Error::Cancelled`].
    pub fn new(
        schema: Arc<ColumnSchema>,
        mut loaded: Vec<LoadedPart>,
        duplicates: Duplicates,
        cancel: &AtomicBool,
    ) -> Result<(Self, u64)> {
        loaded.sort_by(|a, b| first_key(&a.part).cmp(first_key(&b.part)));
        let live = |part: &Part| u64::from(part.live_rows());
        let came = loaded.iter().map(|loaded| live(&loaded.part)).sum::<u64>();
        let mut left_out = 0;
        let mut start = 0;
        while start < loaded.len() {
            let end = overlapping(&loaded, start);
            if end - start > 1 {
                left_out += compact(&schema, &mut loaded[start..end], duplicates, cancel)?;
            }
            start = end;
        }
        let parts: Vec<_> = loaded.into_iter().map(|loaded| loaded.part).collect();
        let parts: Vec<_> = parts.into_iter().filter(|part| part.live_rows() > 0).collect();
        assert_eq!(parts.iter().map(live).sum::<u64>() + left_out, came, "a row stays or is left out");
        let keys = parts.iter().map(|_| OnceLock::new()).collect();
        Ok((Self { schema, duplicates, removes: false, parts, keys, known: HashMap::new() }, left_out))
    }

    /// The same as keys: rows of a set that have them go, and nothing comes.
    #[must_use]
    pub fn as_removed(self) -> Self {
        Self { removes: true, ..self }
    }

    /// Whether there is no row.
    pub fn is_empty(&self) -> bool {
        self.parts.is_empty()
    }

    /// The rows as a set of their own, for look-ups.
    pub fn alone(&self, like: &ColumnSet) -> ColumnSet {
        let runs = arrange(self.parts.clone());
        ColumnSet::new(like.store().clone(), self.schema.clone(), runs)
    }

    /// Whether its rows may have NULL where a schema refuses it.
    pub fn is_laxer_than(&self, schema: &ColumnSchema) -> bool {
        self.schema.is_laxer_than(schema)
    }

    /// That a key of the load is in the table already.
    pub fn exists(&self, key: &[u8]) -> Error {
        Error::Exists(format!("a row with the key {}", shown(&self.schema, key)))
    }

    /// Compares the keys with those of a set, in several threads. What was compared before and has not changed is known still.
    ///
    /// # Errors
    /// [`Error::Exists`] with a key that the set has, if that is refused; [`Error::Cancelled`].
    pub fn compare(&mut self, set: &ColumnSet, threads: usize, cancel: &AtomicBool) -> Result<()> {
        let is_known =
            |part: &Part| self.known.get(&part.segment.id()).is_some_and(|known| known.of.is_same(part));
        let due: Vec<&Part> = set.parts().filter(|part| !is_known(part)).collect();
        let compare = |found: &mut Vec<(u64, Known)>, index: usize| {
            let part: &Part = due[index];
            found.push((part.segment.id(), self.compare_part(part, cancel)?));
            Ok(())
        };
        let found = fold_parts(due.len(), threads, Vec::new, compare)?;
        self.known.extend(found.into_iter().flatten());
        Ok(())
    }

    fn compare_part(&self, old: &Part, cancel: &AtomicBool) -> Result<Known> {
        let mut known = Known { of: old.clone(), rows: Bitmap::new(), loaded: BTreeMap::new() };
        let numbers: Vec<_> = (0..self.parts.len()).filter(|&part| overlap(old, &self.parts[part])).collect();
        if numbers.is_empty() || old.live_rows() == 0 {
            return Ok(known);
        }
        let parts: Vec<_> = numbers.iter().map(|part| &self.parts[*part]).collect();
        let keys = |part: usize| self.keys_of(numbers[part]);
        shared_with(&self.schema, old, (&parts, &keys), cancel, |old_row, (part, row), key| {
            if self.duplicates == Duplicates::Refuse {
                return Err(self.exists(key));
            }
            known.rows.insert(u64::from(old_row));
            known.loaded.entry(numbers[part]).or_default().insert(u64::from(row));
            Ok(())
        })?;
        Ok(known)
    }

    /// The keys of a part, if the load is small enough to keep them.
    fn keys_of(&self, part: usize) -> Result<Option<&PartKeys>> {
        if self.parts.len() > PARTS_KEPT {
            return Ok(None);
        }
        if let Some(known) = self.keys[part].get() {
            return Ok(known.as_ref());
        }
        let keys = PartKeys::of(&self.schema, &self.parts[part])?;
        if let Some(keys) = &keys
            && !self.removes
        {
            // The next load asks this one.
            self.parts[part].segment.keep_filter_of(keys.hashes())?;
        }
        Ok(self.keys[part].get_or_init(|| keys).as_ref())
    }

    /// The set with these rows, or without those of these keys. REQUIRES: it was compared.
    pub fn join(&self, set: &ColumnSet) -> Joined {
        let mut runs = set.runs().to_vec();
        let mut parts = self.parts.clone();
        let mut replaced = 0;
        for part in runs.iter_mut().flat_map(|run| &mut run.parts) {
            let known = &self.known[&part.segment.id()];
            assert!(known.of.is_same(part), "it was compared as it is now");
            match self.duplicates {
                Duplicates::Refuse => {}
                Duplicates::KeepLast => {
                    replaced += known.rows.cardinality();
                    delete(part, &known.rows);
                }
                Duplicates::KeepFirst => {
                    known.loaded.iter().for_each(|(number, rows)| delete(&mut parts[*number], rows));
                }
            }
        }
        runs.iter_mut().for_each(|run| run.parts.retain(|part| part.live_rows() > 0));
        runs.retain(|run| !run.parts.is_empty());
        parts.retain(|part| part.live_rows() > 0 && !self.removes);
        let rows = parts.iter().map(|part| u64::from(part.live_rows())).sum();
        runs.extend(arrange(parts));
        let before = set.live_rows();
        let set = ColumnSet::new(set.store().clone(), set.schema().clone(), runs);
        assert_eq!(set.live_rows() + replaced, before + rows, "a row goes for each that replaces it");
        Joined { set, rows, replaced }
    }
}

fn first_key(part: &Part) -> &[u8] {
    part.segment.directory().first_key()
}

fn last_key(part: &Part) -> &[u8] {
    part.segment.directory().last_key()
}

fn overlap(a: &Part, b: &Part) -> bool {
    first_key(a) <= last_key(b) && first_key(b) <= last_key(a)
}

/// The end of the parts, sorted by their first keys, that `start` hangs together with.
fn overlapping(loaded: &[LoadedPart], start: usize) -> usize {
    let mut end = start + 1;
    let mut last = last_key(&loaded[start].part);
    while let Some(next) = loaded.get(end)
        && first_key(&next.part) <= last
    {
        last = last.max(last_key(&next.part));
        end += 1;
    }
    end
}

/// Leaves of rows of the same key the first or the last. Returns how many rows went.
fn compact(
    schema: &ColumnSchema,
    loaded: &mut [LoadedPart],
    duplicates: Duplicates,
    cancel: &AtomicBool,
) -> Result<u64> {
    let mut losers = vec![Bitmap::new(); loaded.len()];
    let parts: Vec<_> = loaded.iter().map(|loaded| &loaded.part).collect();
    shared(schema, &parts, cancel, |places, key| {
        let order = |place: &&(usize, u32)| loaded[place.0].order;
        let winner = match duplicates {
            Duplicates::Refuse => return Err(twice(schema, key)),
            Duplicates::KeepFirst => places.iter().min_by_key(order),
            Duplicates::KeepLast => places.iter().max_by_key(order),
        };
        for place @ (part, row) in places {
            if Some(place) != winner {
                losers[*part].insert(u64::from(*row));
            }
        }
        Ok(())
    })?;
    let count = losers.iter().map(Bitmap::cardinality).sum();
    loaded.iter_mut().zip(&losers).for_each(|(loaded, rows)| delete(&mut loaded.part, rows));
    Ok(count)
}

/// Marks rows as deleted, beside those that are.
pub(super) fn delete(part: &mut Part, rows: &Bitmap) {
    if rows.cardinality() == 0 {
        return;
    }
    assert!(rows.last() < Some(part.rows().into()), "rows of the segment");
    let gone = part.deleted_rows();
    let found = rows.cardinality();
    let rows = match &part.deleted {
        Some(before) => before.rows.or(rows),
        None => rows.clone(),
    };
    let count = rows.cardinality() as u32;
    debug_assert_eq!(u64::from(count), u64::from(gone) + found, "a row is deleted once");
    part.deleted = Some(Arc::new(Deleted { rows, count, blob: None }));
}

/// Parts as runs, as few as there can be: each part goes behind one that ends before it begins.
fn arrange(mut parts: Vec<Part>) -> Vec<ColumnRun> {
    parts.sort_by(|a, b| first_key(a).cmp(first_key(b)));
    let mut runs: Vec<ColumnRun> = Vec::new();
    for part in parts {
        let is_before =
            |run: &&mut ColumnRun| run.parts.last().is_none_or(|last| last_key(last) < first_key(&part));
        match runs.iter_mut().find(is_before) {
            Some(run) => run.parts.push(part),
            None => runs.push(ColumnRun { parts: vec![part] }),
        }
    }
    debug_assert!(runs.iter().all(ColumnRun::is_in_order));
    runs
}
