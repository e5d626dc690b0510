//! Sums of keys, on whole leaves.

use std::sync::Arc;

use ambo_types::Result;

use super::{cursor::TreeCursor, tree::Tree};

/// How many keys there are in a range, and their sum.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct KeySum {
    /// Keys.
    pub count: u64,
    /// The sum of the keys, read as big-endian numbers.
    pub sum: u128,
}

impl KeySum {
    /// With one more key.
    pub fn add(&mut self, key: &[u8]) {
        self.count += 1;
        self.sum += number(key);
    }

    /// Without a key that is in it.
    pub fn remove(&mut self, key: &[u8]) {
        debug_assert!(self.count > 0 && self.sum >= number(key), "only a key that is in the sum goes");
        self.count -= 1;
        self.sum -= number(key);
    }
}

/// A key of up to 8 bytes as a number.
fn number(key: &[u8]) -> u128 {
    debug_assert!(key.len() <= 8, "keys that are summed up are numbers of up to 8 bytes");
    key.iter().fold(0, |number, byte| number << 8 | u128::from(*byte))
}

impl Tree {
    /// The sum of the keys with `lower <= key < upper`, tombstones included, all of one length of up to 8 bytes.
    ///
    /// # Errors
    /// [`Error::Damaged`](ambo_types::Error::Damaged) if the keys are otherwise.
    pub fn sum_keys(self: &Arc<Self>, lower: Option<&[u8]>, upper: Option<&[u8]>) -> Result<KeySum> {
        let mut cursor = self.cursor();
        let mut sum = KeySum::default();
        let mut there = match lower {
            Some(lower) => cursor.seek_ge(lower)?,
            None => cursor.seek_first()?,
        };
        while there {
            let whole = add_leaf(&cursor, upper, &mut sum)?;
            there = whole && cursor.next_leaf()?;
        }
        Ok(sum)
    }
}

/// Adds the leaf's keys from the cursor's on; whether that were all, up to its end.
fn add_leaf(cursor: &TreeCursor, upper: Option<&[u8]>, sum: &mut KeySum) -> Result<bool> {
    let (page, leaf, from) = cursor.leaf_from_here();
    let to = match upper {
        Some(upper) => leaf.keys.search(page, upper).map(|(index, _)| index.max(from)),
        None => Ok(leaf.len()),
    };
    let added = to.and_then(|to| Ok((to, leaf.keys.sum(page, from, to)?)));
    let (to, added) = added.map_err(|what| cursor.damaged(what))?;
    sum.count += (to - from) as u64;
    sum.sum += added;
    Ok(to == leaf.len())
}
