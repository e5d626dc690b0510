//! The greatest or the least values of a column, with their partners.

use std::{any::Any, collections::BinaryHeap};

use ambo_codec::{Type, Value, ValueRef};
use ambo_types::Result;

use super::{Aggregate, Batch, Input, Stream, UqiResult, functions::same};

/// A value that was found. Of equal ones that of the lesser key is kept longest, and of those of one key that which stands first.
#[derive(Clone, PartialEq, Eq, Debug)]
struct Found {
    value: Value,
    partner: Option<Value>,
    position: u64,
    /// Whether the partner is the key.
    has_key: bool,
}

impl Found {
    /// Which of equal values comes first.
    fn place(&self) -> (Option<&Value>, u64) {
        (self.partner.as_ref().filter(|_| self.has_key), self.position)
    }
}

/// The same in the order that the heap needs: what goes first is its greatest.
#[derive(Clone, PartialEq, Eq, Debug)]
struct Kept {
    found: Found,
    is_top: bool,
}

impl Ord for Kept {
    fn cmp(&self, other: &Self) -> std::cmp::Ordering {
        let by_value = self.found.value.cmp(&other.found.value);
        let worse = if self.is_top { by_value.reverse() } else { by_value };
        // The later is the worse.
        worse.then_with(|| self.found.place().cmp(&other.found.place()))
    }
}

impl PartialOrd for Kept {
    fn partial_cmp(&self, other: &Self) -> Option<std::cmp::Ordering> {
        Some(self.cmp(other))
    }
}

/// See the module.
#[derive(Clone)]
pub(super) struct Tops {
    input: Input,
    ty: Type,
    is_top: bool,
    limit: usize,
    /// Whether equal values count once.
    is_distinct: bool,
    kept: BinaryHeap<Kept>,
}

impl Tops {
    pub(super) fn new(input: Input, ty: Type, is_top: bool, limit: usize, is_distinct: bool) -> Self {
        Self { input, ty, is_top, limit, is_distinct, kept: BinaryHeap::new() }
    }

    /// Whether a value at a position would be kept.
    #[inline]
    fn wants(&self, value: ValueRef<'_>) -> bool {
        if self.kept.len() < self.limit {
            return true;
        }
        let Some(worst) = self.kept.peek() else { return false };
        let order = value.compare(worst.found.value.as_ref());
        // An equal one may stand before it, where another thread was earlier.
        if self.is_top { order.is_ge() } else { order.is_le() }
    }

    /// Takes a value in the place of the worst.
    pub(super) fn take(&mut self, value: ValueRef<'_>, position: u64, partner: Option<ValueRef<'_>>) {
        if !self.wants(value) {
            return;
        }
        let found = Found {
            value: value.to_value(),
            partner: partner.map(ValueRef::to_value),
            position,
            has_key: self.input.is_record,
        };
        self.keep(found);
    }

    fn keep(&mut self, found: Found) {
        let kept = Kept { found, is_top: self.is_top };
        if self.is_distinct
            && let Some(equal) = self.kept.iter().find(|other| other.found.value == kept.found.value)
        {
            if kept < *equal {
                let others = std::mem::take(&mut self.kept).into_iter();
                self.kept = others.filter(|other| other.found.value != kept.found.value).collect();
                self.kept.push(kept);
            }
            return;
        }
        if self.kept.len() < self.limit {
            self.kept.push(kept);
        } else if self.kept.peek().is_some_and(|worst| kept < *worst) {
            self.kept.pop();
            self.kept.push(kept);
        }
    }

    /// The values that were found, ascending, with their partners.
    pub(super) fn result(self) -> Result<UqiResult> {
        let mut found: Vec<_> = self.kept.into_iter().map(|kept| kept.found).collect();
        found.sort_by(|one, other| one.value.cmp(&other.value).then_with(|| one.place().cmp(&other.place())));
        let (mut values, mut partners) =
            (Stream::new(self.ty), Stream::new(self.input.second.unwrap_or(Type::Binary)));
        for one in &found {
            values.push(one.value.as_ref())?;
            if let Some(partner) = &one.partner {
                partners.push(partner.as_ref())?;
            }
        }
        Ok(match self.input.is_record {
            true => UqiResult { keys: partners, records: values },
            false => UqiResult { keys: values, records: partners },
        })
    }
}

impl Aggregate for Tops {
    fn many(&mut self, batch: &Batch<'_>) -> Result<()> {
        let Some(first) = &batch.first else { return Ok(()) };
        let second = &batch.second;
        batch.for_values(first, |row| {
            let value = first.value(row);
            if self.wants(value) {
                let partner = second.as_ref().map(|second| second.value(row));
                self.take(value, batch.position + row as u64, partner);
            }
        });
        Ok(())
    }

    fn merge(&mut self, other: Box<dyn Aggregate>) -> Result<()> {
        same::<Self>(other)?.kept.into_iter().for_each(|kept| self.keep(kept.found));
        Ok(())
    }

    fn finish(self: Box<Self>) -> Result<UqiResult> {
        self.result()
    }

    fn into_any(self: Box<Self>) -> Box<dyn Any> {
        self
    }

    fn copy(&self) -> Option<(Box<dyn Aggregate>, usize)> {
        let text = |value: &Value| value.as_ref().as_bytes().map_or(0, <[u8]>::len);
        let of = |kept: &Kept| text(&kept.found.value) + kept.found.partner.as_ref().map_or(0, text);
        let bytes = self.kept.iter().map(of).sum::<usize>() + self.kept.len() * size_of::<Kept>();
        Some((Box::new(self.clone()), size_of::<Self>() + bytes))
    }
}
