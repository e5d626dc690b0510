//! Segments that were merged while others went on with the set that they are from.

use std::{
    collections::{BTreeMap, HashMap, HashSet},
    sync::Arc,
};

use ambo_codec::bitmap::Bitmap;
use ambo_types::{Error, Result};

use super::{
    cursor::CursorRows,
    finder::{FOUND_TOGETHER, Finder},
    run::{ColumnRun, Part},
    set::{ColumnSet, RowPlace},
    unique::delete,
};
use ambo_scan::Strings;

impl ColumnSet {
    /// What this set, which [`ColumnSet::merge segments`] made of `from`, comes to if `from` became `now` meanwhile: what came to it is
    /// there, and what is gone is not.
    ///
    /// A row of `from` that is gone in `now` is deleted where this set has it. Each key of `now` is left once in it, and so it is here.
    pub fn rebased(&self, from: &Self, now: &Self) -> Result<Self> {
        let ids = |set: &Self| set.segments().map(|segment| segment.id()).collect::<HashSet<_>>();
        let (were, are) = (ids(from), ids(self));
        let parts_now: HashMap<u64, &Part> = now.parts().map(|part| (part.segment.id(), part)).collect();
        let made = self.with_parts(|part| (!were.contains(&part.segment.id())).then(|| part.clone()));
        let gone =
            from.minus(now).with_parts(|part| (!are.contains(&part.segment.id())).then(|| part.clone()));
        let made: HashMap<u64, Part> =
            without(made, gone)?.parts().map(|part| (part.segment.id(), part.clone())).collect();
        let kept = self.with_parts(|part| {
            let id = part.segment.id();
            made.get(&id).or_else(|| parts_now.get(&id).copied()).cloned()
        });
        let came = now.with_parts(|part| (!were.contains(&part.segment.id())).then(|| part.clone()));
        let mut runs: Vec<_> = kept.runs().iter().chain(came.runs()).cloned().collect();
        runs.iter_mut().for_each(|run| run.parts.retain(|part| part.live_rows() > 0));
        runs.retain(|run| !run.parts.is_empty());
        let rebased = Self::new(now.store().clone(), now.schema().clone(), runs);
        debug_assert_eq!(rebased.live_rows(), now.live_rows(), "each row is there once");
        Ok(rebased)
    }

    /// The same runs with other parts, or without them.
    fn with_parts(&self, part: impl Fn(&Part) -> Option<Part>) -> Self {
        let run = |run: &ColumnRun| ColumnRun { parts: run.parts.iter().filter_map(&part).collect() };
        let runs = self.runs().iter().map(run).filter(|run| !run.parts.is_empty()).collect();
        Self::new(self.store().clone(), self.schema().clone(), runs)
    }
}

/// A set without the rows that have the keys of another. REQUIRES: it has them all.
fn without(set: ColumnSet, gone: ColumnSet) -> Result<ColumnSet> {
    let mut rows: BTreeMap<(usize, usize), Bitmap> = BTreeMap::new();
    let mut keys = Strings::default();
    for mut cursor in Arc::new(gone).cursors(CursorRows::Keys) {
        // Keys ascend within a run.
        let mut finder = Finder::new(&set);
        let mut there = cursor.seek_first()?;
        while there {
            keys.clear();
            while there && keys.len() < FOUND_TOGETHER {
                keys.push(cursor.key());
                there = cursor.next()?;
            }
            for (key, found) in finder.find_all(&keys.all())?.into_iter().enumerate() {
                let Some(RowPlace { run, place }) = found else {
                    let key = keys.get(key).escape_ascii();
                    return Err(Error::Invalid(format!(
                        "a row was lost while segments were merged (key {key})"
                    )));
                };
                rows.entry((run, place.part)).or_default().insert(u64::from(place.row));
            }
        }
    }
    let mut runs = set.runs().to_vec();
    rows.iter().for_each(|((run, part), rows)| delete(&mut runs[*run].parts[*part], rows));
    Ok(ColumnSet::new(set.store().clone(), set.schema().clone(), runs))
}
