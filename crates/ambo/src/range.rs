//! Ranges of keys, in all the forms that `..` has.

use std::ops::{Bound, Range, RangeFrom, RangeFull, RangeInclusive, RangeTo, RangeToInclusive};

/// A lower and an upper bound.
pub type Bounds = (Bound<Vec<u8>>, Bound<Vec<u8>>);

/// A range of keys: `..`, `a..b`, `a..=b`, `a..`, `..b`, `..=b`, or a pair of [`Bound`]s, of anything that is bytes.
pub trait KeyRange {
    /// The lower and the upper bound.
    fn into_bounds(self) -> Bounds;
}

fn bytes(key: &(impl AsRef<[u8]> + ?Sized)) -> Vec<u8> {
    key.as_ref().to_vec()
}

impl KeyRange for RangeFull {
    fn into_bounds(self) -> Bounds {
        (Bound::Unbounded, Bound::Unbounded)
    }
}

impl<K: AsRef<[u8]>> KeyRange for Range<K> {
    fn into_bounds(self) -> Bounds {
        (Bound::Included(bytes(&self.start)), Bound::Excluded(bytes(&self.end)))
    }
}

impl<K: AsRef<[u8]>> KeyRange for RangeInclusive<K> {
    fn into_bounds(self) -> Bounds {
        (Bound::Included(bytes(self.start())), Bound::Included(bytes(self.end())))
    }
}

impl<K: AsRef<[u8]>> KeyRange for RangeFrom<K> {
    fn into_bounds(self) -> Bounds {
        (Bound::Included(bytes(&self.start)), Bound::Unbounded)
    }
}

impl<K: AsRef<[u8]>> KeyRange for RangeTo<K> {
    fn into_bounds(self) -> Bounds {
        (Bound::Unbounded, Bound::Excluded(bytes(&self.end)))
    }
}

impl<K: AsRef<[u8]>> KeyRange for RangeToInclusive<K> {
    fn into_bounds(self) -> Bounds {
        (Bound::Unbounded, Bound::Included(bytes(&self.end)))
    }
}

impl<K: AsRef<[u8]>> KeyRange for (Bound<K>, Bound<K>) {
    fn into_bounds(self) -> Bounds {
        let own = |bound: Bound<K>| match bound {
            Bound::Included(key) => Bound::Included(bytes(&key)),
            Bound::Excluded(key) => Bound::Excluded(bytes(&key)),
            Bound::Unbounded => Bound::Unbounded,
        };
        (own(self.0), own(self.1))
    }
}

/// The bounds of all keys that begin with `prefix`.
pub(crate) fn prefix_bounds(prefix: &[u8]) -> Bounds {
    let upper = ambo_codec::successor(prefix).map_or(Bound::Unbounded, Bound::Excluded);
    (Bound::Included(prefix.to_vec()), upper)
}

/// A range as "from this key on" and "below this key": the key behind `k` is `k` and a zero byte.
pub(crate) fn half_open(bounds: Bounds) -> (Option<Vec<u8>>, Option<Vec<u8>>) {
    let behind = |mut key: Vec<u8>| {
        key.push(0);
        key
    };
    let lower = match bounds.0 {
        Bound::Included(key) => Some(key),
        Bound::Excluded(key) => Some(behind(key)),
        Bound::Unbounded => None,
    };
    let upper = match bounds.1 {
        Bound::Excluded(key) => Some(key),
        Bound::Included(key) => Some(behind(key)),
        Bound::Unbounded => None,
    };
    (lower, upper)
}
