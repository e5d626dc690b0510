//! What is newer than the segments of a column table, as layers of columns, kept from scan to scan.
//!
//! Three layers at most, newest first: a transaction's own writes, the active delta, and what does not change any more, which is
//! frozen deltas and runs. Each hides the rows of those below it that have its keys, and replaces rows of the segments. The last two are
//! the same for every scan until something is written, frozen, spilled or settled, so they are kept with the table: the walk over
//! the delta, the look-up of replaced rows and the conversion into columns are done once. When a layer has to be made again, the places
//! that the one before found are taken over, for a key's place in the same segments stays: only new keys are looked up.
//!
//! # When a kept layer is right
//! A layer was made of certain deltas and runs, for certain segments, at a timestamp `t`. It is what a snapshot at `s` sees of them if
//! no version in those deltas is newer than `t` or than `s`. A delta's greatest timestamp is known, and was raised before the
//! commit was published. Snapshots in the past find greater ones; they make their own layer and keep none.

use std::sync::{Arc, Weak};

use ambo_codec::bitmap::{Bitmap, Positions};
use parking_lot::Mutex;

use super::{
    blobs::read_whole,
    cursor::{Cover, MergedCursor, Seek},
    engine::Engine,
    version::TableVersion,
};
use crate::{
    Result,
    base::{
        btree::Tree,
        column::{ColumnSet, FreshBuilder, FreshLayer},
    },
    delta::Delta,
    id::{TableId, Timestamp},
    record::RecordKind,
    transaction::write_set::TableWrites,
};

/// A layer, and which of its rows newer ones hide.
#[derive(Clone)]
pub(super) struct Fresh {
    pub layer: Arc<FreshLayer>,
    pub hidden: Vec<Arc<Bitmap>>,
}

/// A layer that is kept, and what it was made of: that is not kept alive by it, but nothing else gets its address.
struct Kept {
    deltas: Vec<Weak<Delta>>,
    runs: Vec<Weak<Tree>>,
    at: Timestamp,
    layer: Arc<FreshLayer>,
}

impl Kept {
    /// Whether it is what `deltas` and `runs` hold.
    fn is_of(&self, deltas: &[Arc<Delta>], runs: &[Arc<Tree>]) -> bool {
        let same_deltas = self.deltas.iter().map(Weak::as_ptr).eq(deltas.iter().map(Arc::as_ptr));
        let same_runs = self.runs.iter().map(Weak::as_ptr).eq(runs.iter().map(Arc::as_ptr));
        same_deltas && same_runs && deltas.iter().all(|delta| is_seen(delta, self.at))
    }
}

/// Whether a snapshot at `at` sees everything in a delta.
fn is_seen(delta: &Delta, at: Timestamp) -> bool {
    delta.timestamps().is_none_or(|(_, newest)| newest <= at)
}

/// The layers that are kept with a table.
#[derive(Default)]
pub struct FreshCache(Mutex<Memo>);

#[derive(Default)]
struct Memo {
    /// The segments in which replaced rows were looked up.
    columns: Weak<ColumnSet>,
    active: Option<Kept>,
    below: Option<Kept>,
    /// Rows of the layer below that the active one hides.
    hidden: Option<Arc<Bitmap>>,
}

impl FreshCache {
    /// Forgets the layers: what they were made of is settled.
    pub(super) fn clear(&self) {
        *self.0.lock() = Memo::default();
    }
}

/// What layers are made for.
pub(super) struct Request<'a> {
    pub table: &'a TableVersion,
    pub id: TableId,
    pub columns: &'a ColumnSet,
    pub at: Timestamp,
    /// Stored columns that the scan needs.
    pub needed: &'a [bool],
    /// Layers of more bytes are not kept.
    pub bytes_max: usize,
}

impl Request<'_> {
    /// Makes the layer of what `cover` says.
    fn make(&self, own: Option<TableWrites>, cover: Cover, known: &[&FreshLayer]) -> Result<FreshLayer> {
        let mut cursor = MergedCursor::new(self.table, own, self.at, cover);
        let mut builder = FreshBuilder::new(self.columns.schema(), self.needed, self.bytes_max);
        let mut there = cursor.seek(Seek::First)?;
        while there {
            let record = cursor.record();
            match record.kind {
                RecordKind::Tombstone => builder.push(cursor.key(), None)?,
                RecordKind::Inline => builder.push(cursor.key(), Some(record.bytes))?,
                RecordKind::Blob => {
                    let blob = Engine::decode_blob(record.bytes, self.id)?;
                    builder.push(cursor.key(), Some(&read_whole(&self.table.shared.store, &blob)?))?;
                }
            }
            there = cursor.next()?;
        }
        builder.finish(self.columns, known)
    }

    /// All layers that are not empty, newest first.
    pub(super) fn layers(&self, own: Option<TableWrites>) -> Result<Vec<Fresh>> {
        let table = self.table;
        let own = own.filter(|writes| !writes.is_empty());
        let is_current =
            std::iter::once(&table.active).chain(&table.frozen).all(|delta| is_seen(delta, self.at));
        let nothing_below = table.frozen.iter().all(|delta| delta.is_empty()) && table.runs.is_empty();
        if own.is_none() && table.active.is_empty() && nothing_below {
            return Ok(Vec::new());
        }
        if !is_current {
            let layer = Arc::new(self.make(own, Cover::AboveMain, &[])?);
            return Ok(vec![Fresh { layer, hidden: Vec::new() }]);
        }
        let mut layers = self.kept_layers()?;
        if let Some(own) = own {
            let known: Vec<&FreshLayer> = layers.iter().map(|fresh| &*fresh.layer).collect();
            let layer = self.make(Some(own), Cover::Own, &known)?;
            for fresh in &mut layers {
                fresh.hidden.extend(layer.hidden_in(&fresh.layer).map(Arc::new));
            }
            layers.insert(0, Fresh { layer: Arc::new(layer), hidden: Vec::new() });
        }
        layers.retain(|fresh| !fresh.layer.is_empty());
        Ok(layers)
    }

    /// The layers of the active delta and of what is below it, from those that are kept where they are right.
    fn kept_layers(&self) -> Result<Vec<Fresh>> {
        let table = self.table;
        let mut memo = table.shared.fresh.0.lock();
        if !std::ptr::eq(memo.columns.as_ptr(), self.columns) {
            *memo = Memo::default();
            memo.columns = table.columns.as_ref().map(Arc::downgrade).unwrap_or_default();
        }
        let mut is_new = false;
        let mut keep = |kept: &mut Option<Kept>, deltas: &[Arc<Delta>], runs: &[Arc<Tree>], layer| {
            is_new = true;
            *kept = Some(Kept {
                deltas: deltas.iter().map(Arc::downgrade).collect(),
                runs: runs.iter().map(Arc::downgrade).collect(),
                at: self.at,
                layer: Arc::new(layer),
            });
        };
        let layer = |kept: &Option<Kept>| kept.as_ref().map(|kept| kept.layer.clone());
        let (old_active, old_below) = (layer(&memo.active), layer(&memo.below));
        if !memo.below.as_ref().is_some_and(|kept| kept.is_of(&table.frozen, &table.runs)) {
            let known: Vec<&FreshLayer> = old_active.iter().chain(&old_below).map(|layer| &**layer).collect();
            let made = self.make(None, Cover::Frozen, &known)?;
            keep(&mut memo.below, &table.frozen, &table.runs, made);
        }
        let active = std::slice::from_ref(&table.active);
        if !memo.active.as_ref().is_some_and(|kept| kept.is_of(active, &[])) {
            let below = layer(&memo.below);
            let known: Vec<&FreshLayer> = old_active.iter().chain(&below).map(|layer| &**layer).collect();
            let made = self.make(None, Cover::Active, &known)?;
            keep(&mut memo.active, active, &[], made);
        }
        let (active, below) = (layer(&memo.active), layer(&memo.below));
        let (active, below) = (active.expect("just kept"), below.expect("just kept"));
        if is_new {
            memo.hidden = active.hidden_in(&below).map(Arc::new);
        }
        let hidden = memo.hidden.iter().cloned().collect();
        if active.bytes() + below.bytes() > self.bytes_max {
            *memo = Memo::default();
        }
        Ok(vec![Fresh { layer: active, hidden: Vec::new() }, Fresh { layer: below, hidden }])
    }
}

impl Fresh {
    /// Rows that are not hidden.
    pub(super) fn rows(&self) -> u64 {
        // Own writes may hide rows that the active delta hides too.
        let hidden = self.hidden.iter().map(|rows| rows.cardinality()).sum::<u64>();
        self.layer.rows().saturating_sub(hidden)
    }
}
