//! A walk over a range of keys of a table of rows, at one moment: the oldest tree leaf by leaf, and what is newer between its entries.
//!
//! A cursor merges its sources at each step, and puts each key together. Most rows are in one tree with nothing newer near them: between
//! two newer rows the entries of a leaf are given one after the other, and their keys only if they are wanted.

use std::{cell::Cell, ops::ControlFlow};

use ambo_base::{BaseOps, Lowest, lsm::PartsCursor};
use ambo_types::{
    Result,
    record::{Record, RecordKind},
};

use super::{
    cursor::{Cover, MergedCursor, Seek},
    expiry::{Expired, Moment},
    version::TableVersion,
};
use crate::transaction::write_set::TableWrites;

/// A table at a moment, its trees told apart: the oldest, and all that is newer.
#[derive(Clone)]
pub(super) struct Layers {
    /// The trees of the base, or the oldest run; none where memtables deleted ranges of its keys.
    pub(super) oldest: Option<Lowest>,
    /// Without what is the oldest.
    pub(super) newer: TableVersion,
    /// What of `newer` is walked.
    cover: Cover,
    pub(super) own: Option<TableWrites>,
    pub(super) at: Moment,
}

impl Layers {
    /// REQUIRES: a table that is stored as rows.
    pub(super) fn new(table: &TableVersion, own: Option<TableWrites>, at: Moment) -> Self {
        let mut newer = table.clone();
        let own = own.filter(|own| !own.is_empty());
        if newer.has_ranges() {
            return Self { oldest: None, newer, cover: Cover::Live, own, at };
        }
        let oldest = newer.base.take_lowest().or_else(|| newer.runs.pop().map(Lowest::Tree));
        debug_assert!(newer.base.is_empty(), "a base of rows is trees");
        Self { oldest, newer, cover: Cover::AboveBase, own, at }
    }
}

/// See the module.
pub(super) struct Walk {
    /// On its next entry.
    oldest: Option<PartsCursor>,
    /// On its next row, tombstones among them.
    newer: MergedCursor,
    upper: Option<Vec<u8>>,
    with_keys: bool,
    /// What says which rows have expired.
    expired: Option<Expired>,
    /// So many bytes behind values are not the user's.
    hidden: usize,
}

/// What came of a part of a walk.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Walked {
    /// The visitor broke; rows may be left.
    Broken,
    /// There are no more rows.
    End,
}

impl Walk {
    /// A walk from `lower` to below `upper`. Keys that it gives are empty unless `with_keys`, or known anyway.
    pub(super) fn new(layers: &Layers, lower: &[u8], upper: Option<&[u8]>, with_keys: bool) -> Result<Self> {
        let expired = layers.newer.expired(layers.at);
        let live = expired.as_ref().and_then(Expired::live_from);
        let lower = live.as_deref().map_or(lower, |live| live.max(lower));
        // From there on none has.
        let expired = expired.filter(|_| live.is_none());
        let mut oldest = layers.oldest.as_ref().and_then(Lowest::cursor);
        if let Some(oldest) = &mut oldest {
            oldest.seek_ge(lower)?;
        }
        let mut newer = MergedCursor::new(&layers.newer, layers.own.clone(), layers.at, layers.cover);
        newer.seek(Seek::Ge(lower))?;
        let with_keys = with_keys || expired.as_ref().is_some_and(Expired::is_in_key);
        Ok(Self {
            oldest,
            newer,
            upper: upper.map(<[u8]>::to_vec),
            with_keys,
            expired,
            hidden: layers.newer.hidden_bytes(),
        })
    }

    /// Gives rows to `visit`, in the order of their keys, until it breaks.
    pub(super) fn go_on(
        &mut self,
        mut visit: impl FnMut(&[u8], Record<'_>) -> Result<ControlFlow<()>>,
    ) -> Result<Walked> {
        let Self { oldest, newer, upper, with_keys, expired, hidden } = self;
        let upper = upper.as_deref();
        loop {
            let next =
                newer.is_valid().then(|| newer.key()).filter(|key| upper.is_none_or(|upper| *key < upper));
            let is_broken = Cell::new(false);
            let mut visit_live = |key: &[u8], record: Record<'_>| {
                if record.is_tombstone() {
                    return Ok(ControlFlow::Continue(()));
                }
                if let Some(expired) = expired
                    && expired.has(key, record)?
                {
                    return Ok(ControlFlow::Continue(()));
                }
                let record = match record.kind {
                    RecordKind::Inline => {
                        Record::inline(&record.bytes[..record.bytes.len().saturating_sub(*hidden)])
                    }
                    RecordKind::Blob | RecordKind::Tombstone => record,
                };
                let flow = visit(key, record)?;
                is_broken.set(flow.is_break());
                Ok(flow)
            };
            if let Some(oldest) = oldest {
                let until = next.or(upper);
                while !is_broken.get() && oldest.visit_leaf(until, *with_keys, &mut visit_live)? > 0 {}
            }
            if is_broken.get() {
                return Ok(Walked::Broken);
            }
            let Some(next) = next else { return Ok(Walked::End) };
            // The oldest tree stands on the first of its keys that is not less.
            if let Some(oldest) = oldest.as_mut().filter(|oldest| oldest.is_valid())
                && oldest.key() == next
            {
                oldest.next()?;
            }
            let _ = visit_live(next, newer.record())?;
            newer.next()?;
            if is_broken.get() {
                return Ok(Walked::Broken);
            }
        }
    }
}
