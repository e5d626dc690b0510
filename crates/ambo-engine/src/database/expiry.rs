//! Rows that expire: which of the rows that are found are there at a moment.
//!
//! 1. Nothing is written when a row expires. Who reads has a *now*, fixed as his snapshot begins, and sees the rows whose time is later
//!    than that less the table's `ttl`. So all of a snapshot's doors answer alike, however long it lives.
//! 2. It is asked where versions of rows are told from each other: of what a look-up found ([`TableVersion::find_picked`]), of what a
//!    cursor or a walk stands on, and by scans of columns as one more filter. What is counted by position is walked instead.
//! 3. The engine's *now* never goes back while it is open. A version is loaded before *now* is taken: what a merge left out, by a *now*
//!    from before that version, has expired for all who read it. Snapshots from before read what they have.
//! 4. Values of a key-value table have the time of their commit behind them, eight bytes, little-endian. It is put there by `commit`, and
//!    by who writes in a transaction or to blobs; where values are handed out it is left away.
//! 5. Whoever is not to miss rows, as indexes and the check, says so by [`Moment::all`].

use std::{
    borrow::Cow,
    cell::RefCell,
    sync::{Arc, atomic::Ordering},
};

use ambo_base::column::ColumnSchema;
use ambo_codec::{KeySpec, Order, RowSpec, Type, Value, ValueRef, column::Compare};
use ambo_pages::page::{BlobReader, PageStore};
use ambo_scan::{Filter, Test};
use ambo_types::{
    Error, Result, StoredIn, TableDefinition,
    id::{TableId, Timestamp},
    record::{Record, RecordKind},
};

use super::{blobs::whole, engine::Engine, version::TableVersion};

const DAY: i64 = 86_400_000_000;

/// When something is read.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Moment {
    /// Commits up to this are seen.
    pub at: Timestamp,
    /// Rows are seen that have not expired then, in microseconds since 1970; all, if it is not said.
    pub now: Option<i64>,
}

impl Moment {
    /// With all rows that have expired.
    pub(super) const fn all(at: Timestamp) -> Self {
        Self { at, now: None }
    }
}

/// Where the time of a row is.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum TimeIn {
    Column(StoredIn),
    /// Behind the value.
    Stamp,
}

/// Bytes of the time that is kept behind values.
pub(super) const STAMP_BYTES: usize = 8;

/// When rows of a table expire, and where that stands in them.
#[derive(Debug)]
pub struct Expiry {
    /// The stored column.
    place: usize,
    stored: TimeIn,
    kind: Type,
    micros: i64,
    keys: KeySpec,
    rows: RowSpec,
}

thread_local! {
    static SCRATCH: RefCell<Vec<u8>> = const { RefCell::new(Vec::new()) };
}

impl Expiry {
    /// Of a table whose rows expire.
    pub(super) fn of(definition: &TableDefinition) -> Result<Option<Arc<Self>>> {
        let Some(ttl) = definition.expiry.ttl else { return Ok(None) };
        let column = definition.expiry.column.filter(|_| !definition.expiry.stamped);
        let invalid = |error: ambo_codec::Error| Error::Invalid(error.to_string());
        Ok(Some(Arc::new(Self {
            place: column.map_or(Ok(0), |column| Ok(ColumnSchema::new(definition)?.place(column)))?,
            stored: column.map_or(TimeIn::Stamp, |column| TimeIn::Column(definition.stored_in(column))),
            kind: column.map_or(Type::Timestamp, |column| definition.columns[column].kind),
            micros: i64::try_from(ttl.micros).unwrap_or(i64::MAX),
            keys: definition.key_spec().map_err(invalid)?,
            rows: definition.row_spec().map_err(invalid)?,
        })))
    }

    /// Whether both say the same of the same rows.
    pub(super) fn is_same(&self, other: &Self) -> bool {
        (self.place, self.stored, self.micros) == (other.place, other.stored, other.micros)
            && self.rows.columns().len() == other.rows.columns().len()
    }

    /// Rows of this time, and of those before it, have expired.
    pub(super) fn cut(&self, now: i64) -> i64 {
        now.saturating_sub(self.micros)
    }

    /// Whether a row has expired, by its stored key and row.
    pub(super) fn has_expired(&self, key: &[u8], row: &[u8], now: i64) -> Result<bool> {
        let cut = self.cut(now);
        let is_over = |time: ValueRef<'_>| micros(time).is_none_or(|time| time <= cut);
        let expired = match self.stored {
            TimeIn::Stamp => return Ok(stamp_of(row)? <= cut),
            TimeIn::Column(StoredIn::Row(slot)) => self.rows.decode_column(row, slot).map(is_over),
            TimeIn::Column(StoredIn::Key(part)) => SCRATCH.with_borrow_mut(|scratch| {
                let mut expired = false;
                let put = |_, time: ValueRef<'_>| {
                    expired = is_over(time);
                    Ok(())
                };
                self.keys.visit_columns(key, &[part], scratch, put).map(|()| expired)
            }),
        };
        expired.map_err(|error| {
            Error::damaged(ambo_pages::page::NAME, 0, format!("a row's time that cannot be read: {error}"))
        })
    }

    /// Where the rows begin that have not expired, if they are in the order of time: those of smaller keys have, and no others.
    pub(super) fn live_from(&self, now: i64) -> Option<Vec<u8>> {
        let is_in_order = self.keys.columns().first().is_some_and(|first| first.order == Order::Ascending);
        if self.stored != TimeIn::Column(StoredIn::Key(0)) || !is_in_order {
            return None;
        }
        let cut = self.cut(now);
        let first = match self.kind {
            Type::Date32 => Value::Date32(i32::try_from(cut.div_euclid(DAY)).ok()?.checked_add(1)?),
            Type::TimestampTz => Value::TimestampTz(cut.checked_add(1)?),
            _ => Value::Timestamp(cut.checked_add(1)?),
        };
        let mut key = Vec::new();
        self.keys.encode_prefix(&[first.as_ref()], &mut key).ok()?;
        Some(key)
    }

    /// What scans of stored columns ask rows: whether they have not expired.
    pub(super) fn filter(&self, now: i64) -> Filter {
        self.test(now, Compare::Greater)
    }

    /// Whether they have.
    pub(super) fn expired_filter(&self, now: i64) -> Filter {
        self.test(now, Compare::LessEqual)
    }

    fn test(&self, now: i64, compare: Compare) -> Filter {
        let cut = self.cut(now);
        let cut = match self.kind {
            // A day is its midnight. Days of so many microseconds fit in 32 bits.
            Type::Date32 => Value::Date32(cut.div_euclid(DAY) as i32),
            Type::TimestampTz => Value::TimestampTz(cut),
            _ => Value::Timestamp(cut),
        };
        Filter { column: self.place, test: Test::Compare(compare, cut) }
    }

    /// How long rows are there.
    pub(super) fn micros(&self) -> i64 {
        self.micros
    }

    /// Whether the key says it.
    pub(super) fn is_in_key(&self) -> bool {
        matches!(self.stored, TimeIn::Column(StoredIn::Key(_)))
    }

    /// Slots that are asked for, with that of the time.
    pub(super) fn with_slot(&self, picked: &[bool]) -> Vec<bool> {
        let mut picked = picked.to_vec();
        if let TimeIn::Column(StoredIn::Row(slot)) = self.stored {
            picked.resize(picked.len().max(slot + 1), false);
            picked[slot] = true;
        }
        picked
    }
}

/// The time behind a value.
fn stamp_of(value: &[u8]) -> Result<i64> {
    let stamp = value.last_chunk().ok_or_else(|| {
        let what = "a value without the time of its commit, in a table that keeps it";
        Error::damaged(ambo_pages::page::NAME, 0, what)
    })?;
    Ok(i64::from_le_bytes(*stamp))
}

/// A time in microseconds since 1970; none of NULL.
fn micros(time: ValueRef<'_>) -> Option<i64> {
    match time {
        ValueRef::Date32(day) => Some(i64::from(day).saturating_mul(DAY)),
        ValueRef::Timestamp(micros) | ValueRef::TimestampTz(micros) => Some(micros),
        _ => None,
    }
}

/// Says which records of a table have expired at a moment.
#[derive(Clone)]
pub(super) struct Expired {
    expiry: Arc<Expiry>,
    now: i64,
    store: Arc<PageStore>,
    table: TableId,
}

impl Expired {
    /// Whether the record has.
    pub(super) fn has(&self, key: &[u8], record: Record<'_>) -> Result<bool> {
        match self.expiry.is_in_key() {
            _ if record.is_tombstone() => Ok(false),
            true => self.expiry.has_expired(key, &[], self.now),
            false if self.expiry.stored == TimeIn::Stamp && record.kind == RecordKind::Blob => {
                let mut reader =
                    BlobReader::new(&self.store, Engine::decode_blob(record.bytes, self.table)?)?;
                let mut stamp = [0; STAMP_BYTES];
                let start = reader.len().saturating_sub(STAMP_BYTES as u64);
                let read = reader.read_at(start, &mut stamp)?;
                self.expiry.has_expired(key, &stamp[..read], self.now)
            }
            false => self.expiry.has_expired(key, &whole(&self.store, self.table, record)?, self.now),
        }
    }

    /// Whether keys are enough to say it.
    pub(super) fn is_in_key(&self) -> bool {
        self.expiry.is_in_key()
    }

    /// Where the rows begin that have not, if they are in the order of time.
    pub(super) fn live_from(&self) -> Option<Vec<u8>> {
        self.expiry.live_from(self.now)
    }
}

impl TableVersion {
    /// How many bytes behind a value are not the user's.
    #[inline]
    pub(super) fn hidden_bytes(&self) -> usize {
        if self.shared.stamped { STAMP_BYTES } else { 0 }
    }

    /// A value as the user has written it.
    #[inline]
    pub(super) fn shown<'v>(&self, value: &'v [u8]) -> &'v [u8] {
        &value[..value.len().saturating_sub(self.hidden_bytes())]
    }

    /// What says which records have expired at a moment; none if none has.
    pub(super) fn expired(&self, moment: Moment) -> Option<Expired> {
        let (expiry, now) = (self.shared.expiry.clone()?, moment.now?);
        Some(Expired { expiry, now, store: self.shared.store.clone(), table: self.shared.id })
    }

    /// Whether a record of a key has expired at a moment.
    #[inline]
    pub(super) fn has_expired(&self, key: &[u8], record: Record<'_>, moment: Moment) -> Result<bool> {
        match self.shared.expiry {
            None => Ok(false),
            Some(_) => self.expired(moment).map_or(Ok(false), |expired| expired.has(key, record)),
        }
    }
}

impl Engine {
    /// The time, in microseconds since 1970. It never goes back.
    pub(super) fn now(&self) -> i64 {
        let wall = i64::try_from(self.clock.wall().as_micros()).unwrap_or(i64::MAX);
        self.newest_now.fetch_max(wall, Ordering::SeqCst).max(wall)
    }

    /// What stands behind a value that is written now.
    pub(super) fn stamp(&self) -> [u8; STAMP_BYTES] {
        self.now().to_le_bytes()
    }

    /// A value as a table stores it.
    pub(super) fn stamped<'v>(&self, table: &TableVersion, value: &'v [u8]) -> Cow<'v, [u8]> {
        match table.shared.stamped {
            true => [value, &self.stamp()].concat().into(),
            false => value.into(),
        }
    }

    /// When a single read of a table happens that sees all that is committed. REQUIRES: the version of the table is loaded already.
    #[inline]
    pub(super) fn newest(&self, table: &TableVersion) -> Moment {
        let now = table.shared.expiry.as_ref().map(|_| self.now());
        Moment { at: super::engine::NEWEST, now }
    }
}
