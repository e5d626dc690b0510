//! Ranges of keys as ranges of bytes.

use std::ops::Bound;

use super::KeySpec;
use crate::{Result, Value, ValueRef};

/// The keys from `lower`, included, to `upper`, excluded.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct KeyRange {
    /// The smallest bytes that a key of the range may have.
    pub lower: Vec<u8>,
    /// The smallest bytes behind the range; `None` when it goes on to the last key.
    pub upper: Option<Vec<u8>>,
}

impl KeyRange {
    /// Whether a key is in the range.
    pub fn contains(&self, key: &[u8]) -> bool {
        key >= self.lower.as_slice() && self.upper.as_deref().is_none_or(|upper| key < upper)
    }
}

/// The smallest bytes that are greater than everything that begins with `bytes`; `None` when there are none,
/// for `bytes` that are empty or all `FF`.
pub fn successor(bytes: &[u8]) -> Option<Vec<u8>> {
    let last = bytes.iter().rposition(|&byte| byte != 0xff)?;
    let mut next = bytes[..=last].to_vec();
    next[last] += 1;
    Some(next)
}

impl KeySpec {
    /// All keys whose first columns are equal to `values`; with no values, all keys.
    ///
    /// The bounds serve for inequalities as well: with `v` in an ascending column, `lower` begins `≥ v`
    /// and `upper` begins `> v`; in a descending one `lower` begins `≤ v` and `upper` begins `< v`.
    pub fn prefix_range(&self, values: &[ValueRef<'_>]) -> Result<KeyRange> {
        let mut lower = Vec::new();
        self.encode_prefix(values, &mut lower)?;
        // A whole key may end in raw bytes, which longer keys begin with: only itself is equal to it.
        let upper = match values.len() == self.columns.len() {
            true => Some([lower.as_slice(), &[0]].concat()),
            false => successor(&lower),
        };
        Ok(KeyRange { lower, upper })
    }

    /// All keys between two bounds on their first columns, each of as many values as it likes.
    pub fn range_between(&self, lower: Bound<&[Value]>, upper: Bound<&[Value]>) -> Result<KeyRange> {
        let range =
            |values: &[Value]| self.prefix_range(&values.iter().map(ValueRef::from).collect::<Vec<_>>());
        let lower = match lower {
            Bound::Unbounded => Vec::new(),
            Bound::Included(values) => range(values)?.lower,
            Bound::Excluded(values) => match range(values)?.upper {
                Some(lower) => lower,
                // Nothing is behind.
                None => return Ok(KeyRange { lower: Vec::new(), upper: Some(Vec::new()) }),
            },
        };
        let upper = match upper {
            Bound::Unbounded => None,
            Bound::Included(values) => range(values)?.upper,
            Bound::Excluded(values) => Some(range(values)?.lower),
        };
        Ok(KeyRange { lower, upper })
    }

    /// All keys whose first columns are equal to `values` but for the last of them, a text or bytes, with
    /// which the column only begins.
    pub fn starts_with_range(&self, values: &[ValueRef<'_>]) -> Result<KeyRange> {
        let mut lower = Vec::new();
        self.encode_open_prefix(values, &mut lower)?;
        let upper = successor(&lower);
        Ok(KeyRange { lower, upper })
    }
}
