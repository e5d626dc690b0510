//! What is newer than the segments of a column table, as layers of columns, kept from scan to scan.
//!
//! There are layers for each memtable and each run, and one for a transaction's own writes. Each hides the rows of those below it that have
//! its keys, and replaces rows of the segments. What a memtable holds when it is frozen is what its run holds when it is flushed, so a
//! layer follows its rows from the active memtable into a run, until they are compacted: the walk over them and their conversion into
//! columns are done once. Where the rows are that a layer replaces is looked up once, too; when rows are compacted or segments merged, only
//! those keys are looked up again whose row is not where it was, and only in segments that are new ([`FreshLayer::above`]).
//!
//! When something was written to the active memtable, its rows that are newer than its layers become one more layer above them, together
//! with those layers that have not [`GROWTH`] times as many writes: so layers are few, and a row is put into another one a few times only.
//! Which rows these are the memtable knows from the order in which they were written, so that no scan walks over all of them. The layer of
//! a transaction is made for each scan. Places of keys that other layers know are taken over.
//!
//! What is kept is charged to the budget of memory; if that has no room for it, nothing is kept with the table. Of rows that are too many
//! for it, columns are kept: those that scans have asked for. A scan that needs others makes the layer anew, with both.
//!
//! # When kept layers are right
//! The newest layer of a memtable was made at a timestamp `t`. Its layers are what a snapshot at `t` sees of the memtable, whatever is
//! written later; so with one of the rows that have a version behind `t` and up to `s` they are what a snapshot at `s` sees, and without it
//! if no version is newer than `t`. A memtable's greatest timestamp is known, and was raised before the commit was published. The layers of
//! a run are those of its memtable, if no version in that was newer than `t`, or one that was made of the run; a run does not change, and
//! all of it is seen by every snapshot that uses a version with it. A snapshot before `t` goes by the layers that are not behind it, and
//! keeps what it adds to itself. One that uses segments that are older than those that the kept layers are above makes a layer of
//! everything.

use std::{
    ops::Range,
    sync::{Arc, Weak},
};

use ambo_base::{
    btree::Tree,
    column::{ColumnSet, FreshBuilder, FreshLayer, Replaced},
};
use ambo_codec::bitmap::{Bitmap, Positions};
use ambo_types::{
    Result,
    id::{TableId, Timestamp},
    record::{Record, RecordKind},
};
use parking_lot::Mutex;

use super::{
    ahead::{Demand, WRITES_MIN},
    blobs::read_whole,
    cursor::{Cover, MergedCursor, Seek},
    engine::Engine,
    expiry::Moment,
    version::TableVersion,
};
use crate::{
    memtable::{Memtable, Version, Written},
    transaction::write_set::TableWrites,
};

/// How many times as many writes as all newer layers of its memtable a layer has that is left as it is.
const GROWTH: usize = 3;
/// Sorting rows that were written costs so many times as much as passing one by.
const SORTING: usize = 4;

/// As long as layers take no more than this part of what may be kept, those below them are of whole rows; then only some columns are kept
/// of rows.
const WHOLE_SHARE: usize = 2;

/// A layer, and which of its rows newer ones hide.
#[derive(Clone)]
pub(super) struct Fresh {
    pub layer: Arc<FreshLayer>,
    pub hidden: Option<Arc<Bitmap>>,
}

/// All that is newer than the segments.
#[derive(Clone, Default)]
pub(super) struct AllFresh {
    /// Newest first; none is empty.
    pub layers: Vec<Fresh>,
    /// The rows of the segments that they replace together.
    pub replaced: Arc<Replaced>,
}

/// What a layer is made of.
#[derive(Clone, Copy)]
enum LayerOf<'a> {
    Memtable(&'a Arc<Memtable>),
    Run(&'a Arc<Tree>),
}

/// A layer that is kept, and what it was made of: that is not kept alive by it, but nothing else gets its address.
#[derive(Clone)]
struct KeptLayer {
    memtable: Weak<Memtable>,
    /// What the memtable became.
    run: Weak<Tree>,
    at: Timestamp,
    /// Of a memtable's writes, in their order, the first and the first behind those that it is of.
    writes: Range<usize>,
    /// Whether it and those below it of the same run are all of the run.
    is_whole: bool,
    layer: Arc<FreshLayer>,
}

impl KeptLayer {
    fn is_of(&self, source: LayerOf<'_>) -> bool {
        match source {
            LayerOf::Memtable(memtable) => std::ptr::eq(self.memtable.as_ptr(), Arc::as_ptr(memtable)),
            LayerOf::Run(run) => std::ptr::eq(self.run.as_ptr(), Arc::as_ptr(run)),
        }
    }

    /// Whether it and those below it of the same source are all that a snapshot at `at` sees of it.
    fn is_right(&self, source: LayerOf<'_>, at: Timestamp) -> bool {
        match source {
            LayerOf::Memtable(memtable) => self.at == at || !memtable.is_later_than(self.at),
            LayerOf::Run(_) => self.is_whole,
        }
    }

    /// Whether it shows nothing of the source that a snapshot at `at` does not see.
    fn is_seen_by(&self, source: LayerOf<'_>, at: Timestamp) -> bool {
        match source {
            LayerOf::Memtable(_) => self.at <= at,
            LayerOf::Run(_) => self.is_whole,
        }
    }
}

/// The layers that are kept with a table.
#[derive(Default)]
pub struct FreshCache {
    memo: Mutex<Memo>,
    /// What scans to come will want of them.
    pub(super) demand: Demand,
}

#[derive(Clone, Default)]
struct Memo {
    /// The segments that the layers are above.
    set: u64,
    /// Newest first.
    kept: Vec<KeptLayer>,
    /// What each of them comes to with those below it.
    stacks: Vec<Stack>,
}

/// What layers come to that lie above each other.
#[derive(Clone, Default)]
struct Stack {
    /// Of each layer the rows that newer ones hide.
    hidden: Vec<Option<Arc<Bitmap>>>,
    replaced: Arc<Replaced>,
}

impl FreshCache {
    /// A frozen memtable is a run from now on.
    pub(super) fn flushed(&self, memtable: &Arc<Memtable>, run: &Arc<Tree>) {
        let mut memo = self.memo.lock();
        let mut kept: Vec<_> =
            memo.kept.iter_mut().filter(|kept| kept.is_of(LayerOf::Memtable(memtable))).collect();
        // A run at the bottom has no tombstones.
        let has_tombstones = kept.iter().any(|kept| kept.layer.has_tombstones());
        let is_whole = kept.first().is_some_and(|newest| !memtable.is_later_than(newest.at))
            && (!has_tombstones || run.meta().tombstones > 0);
        for kept in &mut kept {
            kept.run = Arc::downgrade(run);
            kept.is_whole = is_whole;
        }
    }

    /// Forgets what these runs hold: it is compacted.
    pub(super) fn compacted(&self, runs: &[Arc<Tree>]) {
        let mut memo = self.memo.lock();
        memo.kept.retain(|kept| !runs.iter().any(|run| kept.is_of(LayerOf::Run(run))));
        memo.stacks.clear();
    }
}

/// What layers are made for.
pub(super) struct FreshRequest<'a> {
    pub table: &'a TableVersion,
    pub id: TableId,
    pub columns: &'a ColumnSet,
    pub at: Timestamp,
    /// Stored columns that the scan needs.
    pub needed: &'a [bool],
    /// Layers of more bytes together are not kept.
    pub bytes_max: usize,
}

impl FreshRequest<'_> {
    /// Begins a layer of which up to so many bytes may be whole rows.
    fn builder(&self, room: usize, instead: &[&FreshLayer]) -> FreshBuilder<'_> {
        FreshBuilder::new(self.columns.schema(), self.needed, room, instead)
    }

    fn push(&self, builder: &mut FreshBuilder<'_>, key: &[u8], record: Record<'_>) -> Result<()> {
        match record.kind {
            RecordKind::Tombstone => builder.push(key, None),
            RecordKind::Inline => builder.push(key, Some(record.bytes)),
            RecordKind::Blob => {
                let blob = Engine::decode_blob(record.bytes, self.id)?;
                builder.push(key, Some(&read_whole(&self.table.shared.store, &blob)?))
            }
        }
    }

    /// Makes the layer of what `cover` says, own writes among it.
    fn make(&self, own: Option<TableWrites>, cover: Cover, known: &[&FreshLayer]) -> Result<FreshLayer> {
        let mut cursor = MergedCursor::new(self.table, own, Moment::all(self.at), cover);
        let mut builder = self.builder(self.bytes_max, &[]);
        let mut there = cursor.seek(Seek::First)?;
        while there {
            self.push(&mut builder, cursor.key(), cursor.record())?;
            there = cursor.next()?;
        }
        FreshLayer::new(builder.finish()?, self.columns, known)
    }

    /// Makes the layer of a run.
    fn make_of_run(&self, run: &Arc<Tree>, known: &[&FreshLayer], room: usize) -> Result<FreshLayer> {
        let mut builder = self.builder(room, known);
        let mut cursor = run.cursor();
        let mut there = cursor.seek_first()?;
        while there {
            self.push(&mut builder, cursor.key(), cursor.record())?;
            there = cursor.next()?;
        }
        FreshLayer::new(builder.finish()?, self.columns, known)
    }

    /// Makes the layer of a memtable's rows that are newer than `since`. `written` are all of these, and maybe others; without, all rows
    /// are looked at.
    fn make_of_memtable(
        &self,
        memtable: &Memtable,
        since: Option<Timestamp>,
        written: Option<Written<'_>>,
        known: &[&FreshLayer],
        room: usize,
    ) -> Result<FreshLayer> {
        let mut builder = self.builder(room, known);
        let mut take = |key: &[u8], version: Option<Version<'_>>| match version {
            Some(version) if since.is_none_or(|since| version.timestamp > since) => {
                self.push(&mut builder, key, version.record)
            }
            _ => Ok(()),
        };
        match written {
            Some(written) => {
                for (key, mut versions) in written.in_order() {
                    take(key, versions.find(|version| version.timestamp <= self.at))?;
                }
            }
            None => {
                let mut cursor = memtable.cursor();
                let mut there = cursor.seek_first();
                while there {
                    take(cursor.key(), cursor.version_at(self.at))?;
                    there = cursor.next();
                }
            }
        }
        FreshLayer::new(builder.finish()?, self.columns, known)
    }

    /// All layers that are not empty, newest first.
    pub(super) fn layers(&self, own: Option<TableWrites>) -> Result<AllFresh> {
        let table = self.table;
        let own = own.filter(|writes| !writes.is_empty());
        let nothing_below = table.frozen.iter().all(|memtable| memtable.is_empty()) && table.runs.is_empty();
        if own.is_none() && table.active.is_empty() && nothing_below {
            return Ok(AllFresh::default());
        }
        let Some(mut all) = self.kept_layers()? else {
            let layer = Arc::new(self.make(own, Cover::AboveBase, &[])?);
            let replaced = layer.replaced().clone();
            return Ok(AllFresh { layers: vec![Fresh { layer, hidden: None }], replaced });
        };
        if let Some(own) = own {
            let known: Vec<&FreshLayer> = all.layers.iter().map(|fresh| &*fresh.layer).collect();
            let layer = self.make(Some(own), Cover::Own, &known)?;
            for fresh in &mut all.layers {
                fresh.hidden = either(fresh.hidden.take(), layer.hidden_in(&fresh.layer).map(Arc::new));
            }
            all.replaced = all.replaced.or(layer.replaced());
            all.layers.insert(0, Fresh { layer: Arc::new(layer), hidden: None });
        }
        Ok(all)
    }

    /// The layers of all memtables and runs, from those that are kept where they are right; none if the segments are older than those of
    /// the kept ones.
    fn kept_layers(&self) -> Result<Option<AllFresh>> {
        let mut memo = self.table.shared.fresh.memo.lock();
        if !memo.kept.is_empty() && memo.set > self.columns.number() {
            return Ok(None);
        }
        let all = self.renew(&mut memo)?;
        if !memo.kept.is_empty() && self.table.active.versions_inserted() > WRITES_MIN {
            self.table.shared.fresh.demand.note(self.needed);
        }
        Ok(Some(all))
    }

    /// Makes what a scan to come will need: layers, and their columns. Nothing, if more writes than `writes_max` are in none. False if they
    /// are not kept.
    pub(super) fn make_ahead(&self, writes_max: usize) -> Result<bool> {
        let all = {
            // Who has it makes layers, too.
            let Some(mut memo) = self.table.shared.fresh.memo.try_lock() else { return Ok(true) };
            if memo.kept.iter().any(|kept| kept.at > self.at) || memo.set > self.columns.number() {
                return Ok(true);
            }
            let active = LayerOf::Memtable(&self.table.active);
            let known = memo.kept.iter().find(|kept| kept.is_of(active)).map_or(0, |kept| kept.writes.end);
            let is_above = memo.kept.is_empty() || memo.set == self.columns.number();
            let writes = self.table.active.versions_inserted().saturating_sub(known);
            if writes > writes_max || is_above && writes < WRITES_MIN {
                return Ok(true);
            }
            let all = self.renew(&mut memo)?;
            if memo.kept.is_empty() {
                return Ok(false);
            }
            all
        };
        for Fresh { layer, .. } in &all.layers {
            for group in 0..layer.groups() {
                layer.group(group, self.columns.schema(), self.needed)?;
            }
        }
        Ok(true)
    }

    /// The layers of all memtables and runs. They are kept, unless those that are kept show more or there is no room.
    fn renew(&self, memo: &mut Memo) -> Result<AllFresh> {
        let set = self.columns.number();
        let frozen = self.table.frozen.iter().filter(|memtable| !memtable.is_empty());
        let memtables = std::iter::once(&self.table.active).chain(frozen).map(LayerOf::Memtable);
        let sources = memtables.chain(self.table.runs.iter().map(LayerOf::Run));
        let mut kept = Vec::new();
        let mut room = self.bytes_max / WHOLE_SHARE;
        for source in sources {
            let layers = self.kept_of(source, &memo.kept, room)?;
            room = room.saturating_sub(layers.iter().map(|kept| kept.layer.bytes()).sum());
            kept.extend(layers);
        }
        if memo.kept.iter().any(|kept| kept.at > self.at) {
            // Later snapshots would have nothing of what is made for one in the past.
            return Ok(Memo::default().followed_by(set, kept).all_fresh());
        }
        *memo = std::mem::take(memo).followed_by(set, kept);
        self.table.shared.fresh.demand.note_made();
        let all = memo.all_fresh();
        let bytes: usize = memo.kept.iter().map(|kept| kept.layer.bytes()).sum();
        let memory = self.columns.memory();
        let has_room = bytes <= self.bytes_max && !memory.has_too_much_fresh();
        if !has_room || !memo.kept.iter().all(|kept| kept.layer.keep(memory)) {
            *memo = Memo::default();
        }
        Ok(all)
    }

    /// The layers of a memtable or a run: those that are kept, if they are right, or with new ones.
    fn kept_of(&self, source: LayerOf<'_>, kept: &[KeptLayer], room: usize) -> Result<Vec<KeptLayer>> {
        let is_known = |kept: &&KeptLayer| kept.is_of(source) && kept.is_seen_by(source, self.at);
        let mut known: Vec<KeptLayer> = kept.iter().filter(is_known).cloned().collect();
        for kept in known.iter_mut().filter(|kept| kept.layer.set() != self.columns.number()) {
            kept.layer = Arc::new(kept.layer.above(self.columns)?);
        }
        // Where one has not the columns, all are made anew, and know where the rows are that they replace.
        let of_use = if known.iter().all(|kept| kept.layer.serves(self.needed)) { known.len() } else { 0 };
        if known[..of_use].first().is_some_and(|newest| newest.is_right(source, self.at)) {
            return Ok(known);
        }
        let (newest, merged) = match source {
            LayerOf::Memtable(memtable) => {
                self.newest_of(memtable, &known[..of_use], &layers(&known), room)?
            }
            LayerOf::Run(run) => {
                let layer = Arc::new(self.make_of_run(run, &layers(&known), room)?);
                let (memtable, run) = (Weak::new(), Arc::downgrade(run));
                (KeptLayer { memtable, run, at: self.at, writes: 0..0, is_whole: true, layer }, of_use)
            }
        };
        known.truncate(of_use);
        Ok(std::iter::once(newest).chain(known.into_iter().skip(merged)).collect())
    }

    /// The layer of what was written to a memtable since its layers were made, and of how many of these, the newest first. `places`: layers
    /// that know where the rows are that its keys replace.
    fn newest_of(
        &self,
        memtable: &Arc<Memtable>,
        known: &[KeptLayer],
        places: &[&FreshLayer],
        room: usize,
    ) -> Result<(KeptLayer, usize)> {
        let mut first = known.first().map_or(0, |newest| newest.writes.end);
        let last = memtable.versions_inserted();
        let mut merged = 0;
        while let Some(newest) = known.get(merged)
            && newest.writes.len() < GROWTH * last.saturating_sub(first)
        {
            first = newest.writes.start;
            merged += 1;
        }
        let since = known.get(merged).map(|older| older.at);
        debug_assert!(since.is_none_or(|since| since <= self.at), "layers of the future are not built on");
        let written = memtable.written_since(first, self.at);
        let end = written.as_ref().map_or(last, Written::next);
        debug_assert!(first <= end, "writes of a layer begin before they end");
        let written = written.filter(|written| SORTING * written.writes() < memtable.rows());
        let layer = Arc::new(self.make_of_memtable(memtable, since, written, places, room)?);
        let (memtable, run) = (Arc::downgrade(memtable), Weak::new());
        Ok((KeptLayer { memtable, run, at: self.at, writes: first..end, is_whole: true, layer }, merged))
    }
}

fn layers(kept: &[KeptLayer]) -> Vec<&FreshLayer> {
    kept.iter().map(|kept| &*kept.layer).collect()
}

/// What is in either.
fn either(a: Option<Arc<Bitmap>>, b: Option<Arc<Bitmap>>) -> Option<Arc<Bitmap>> {
    match (a, b) {
        (Some(a), Some(b)) => Some(Arc::new(a.or(&*b))),
        (a, b) => a.or(b),
    }
}

impl Memo {
    /// What comes after it, with these layers above a set.
    fn followed_by(mut self, set: u64, kept: Vec<KeptLayer>) -> Self {
        let is_same = |(new, old): &(&KeptLayer, &KeptLayer)| Arc::ptr_eq(&new.layer, &old.layer);
        let same = kept.iter().rev().zip(self.kept.iter().rev()).take_while(is_same).count();
        debug_assert!(kept.iter().all(|kept| kept.layer.set() == set), "all layers are above one set");
        let same = same.min(self.stacks.len());
        let mut stacks = self.stacks.split_off(self.stacks.len() - same);
        for at in (0..kept.len() - same).rev() {
            let below = stacks.first().cloned().unwrap_or_default();
            stacks.insert(0, below.with(&kept[at..]));
        }
        debug_assert_eq!(stacks.len(), kept.len(), "a stack for each layer");
        Self { set, kept, stacks }
    }

    fn all_fresh(&self) -> AllFresh {
        let Some(all) = self.stacks.first() else { return AllFresh::default() };
        debug_assert_eq!(self.kept.len(), all.hidden.len(), "it is known of each layer what is hidden");
        let layers = self.kept.iter().zip(&all.hidden);
        let layers = layers.filter(|(kept, _)| !kept.layer.is_empty());
        let layers = layers.map(|(kept, hidden)| Fresh { layer: kept.layer.clone(), hidden: hidden.clone() });
        AllFresh { layers: layers.collect(), replaced: all.replaced.clone() }
    }
}

impl Stack {
    /// The same with one more layer above: the first of `kept`. REQUIRES: the stack is of the others.
    fn with(mut self, kept: &[KeptLayer]) -> Self {
        let Some((newest, older)) = kept.split_first() else { return self };
        debug_assert_eq!(self.hidden.len(), older.len(), "the stack is of the older layers");
        for (older, hidden) in older.iter().zip(&mut self.hidden) {
            *hidden = either(hidden.take(), newest.layer.hidden_in(&older.layer).map(Arc::new));
        }
        self.hidden.insert(0, None);
        self.replaced = newest.layer.replaced().or(&self.replaced);
        self
    }
}

impl Fresh {
    /// Rows that are not hidden.
    pub(super) fn rows(&self) -> u64 {
        self.layer.rows() - self.hidden.as_ref().map_or(0, |rows| rows.cardinality())
    }
}
