//! Entries of a leaf one behind the other, without a step of the cursor for each.

use std::ops::ControlFlow;

use ambo_types::{Result, record::Record};

use super::{
    cursor::TreeCursor,
    key_reader::KeyReader,
    leaf::{LeafView, Stored},
    packed,
    tree::Tree,
};

/// What a cursor lends to a visit of its leaf.
#[derive(Default)]
pub(super) struct Scratch {
    pub(super) keys: KeyReader,
    pub(super) key: Vec<u8>,
    pub(super) unpacked: Vec<u8>,
}

impl TreeCursor {
    /// Gives entries from the current one on to `visit`, those in the same leaf that are below `upper`, and goes to the first that it was
    /// not given. Returns how many were visited: none from no entry, or from one that is not below `upper`. Keys are empty unless
    /// `with_keys`: to put one together takes longer than to find its record. A visitor that breaks has seen the last entry.
    ///
    /// # Errors
    /// Those of `visit`, and a damaged page. The cursor is then anywhere.
    pub fn visit_leaf(
        &mut self,
        upper: Option<&[u8]>,
        with_keys: bool,
        mut visit: impl FnMut(&[u8], Record<'_>) -> Result<ControlFlow<()>>,
    ) -> Result<usize> {
        if !self.is_valid() {
            return Ok(0);
        }
        let (page, leaf, from) = self.leaf_from_here();
        let to = match upper {
            Some(upper) => leaf.keys.search(page, upper).map_err(|what| self.damaged(what))?.0,
            None => leaf.len(),
        };
        let len = leaf.len();
        let mut at = from;
        let mut scratch = self.take_scratch();
        let walked = self.walk_leaf(&mut scratch, &mut at, to, with_keys, &mut visit);
        self.put_scratch(scratch);
        walked?;
        debug_assert!(
            (from..=to.max(from)).contains(&at),
            "entries are visited from the current one on, and none behind the bound"
        );
        if at > from {
            let _ = if at < len { self.settle(at)? } else { self.next_leaf()? };
        }
        Ok(at - from)
    }

    /// Visits entries of the leaf, from `at` on, which it moves.
    #[inline]
    fn walk_leaf(
        &self,
        scratch: &mut Scratch,
        at: &mut usize,
        to: usize,
        with_keys: bool,
        visit: &mut impl FnMut(&[u8], Record<'_>) -> Result<ControlFlow<()>>,
    ) -> Result<()> {
        let (page, leaf, _) = self.leaf_from_here();
        let Scratch { keys, key, unpacked } = scratch;
        while *at < to {
            if with_keys {
                keys.key_into(page, &leaf.keys, *at, key).map_err(|what| self.damaged(what))?;
            }
            let record = record(self.tree(), page, leaf, *at, unpacked);
            let record = record.map_err(|what| self.damaged(what))?;
            *at += 1;
            if visit(if with_keys { key } else { &[] }, record)?.is_break() {
                break;
            }
        }
        Ok(())
    }
}

/// The record of an entry; `unpacked` holds it if the leaf has it compressed.
#[inline]
fn record<'p>(
    tree: &Tree,
    page: &'p [u8],
    leaf: &LeafView,
    index: usize,
    unpacked: &'p mut Vec<u8>,
) -> super::Found<Record<'p>> {
    let (stored, range) = leaf.record(page, index)?;
    match stored {
        Stored::Plain(kind) => Ok(Record { kind, bytes: &page[range] }),
        Stored::Packed => {
            packed::unpack(&tree.store, &page[range], unpacked)?;
            Ok(Record::inline(unpacked))
        }
    }
}
