//! A cursor over parts, both ways: that of one part, and then that of the next.

use std::{ops::ControlFlow, sync::Arc};

use ambo_types::{Result, record::Record};

use super::parts::Parts;
use crate::btree::{Tree, TreeCursor};

/// See the module. It moves as the cursor of a tree does.
#[derive(Debug)]
pub struct PartsCursor {
    cursor: TreeCursor,
    /// None where it is about one tree alone.
    parts: Option<Arc<Parts>>,
    part: usize,
}

impl PartsCursor {
    /// REQUIRES: there are parts.
    pub(super) fn new(parts: Arc<Parts>) -> Self {
        Self { cursor: parts.trees()[0].cursor(), parts: Some(parts), part: 0 }
    }

    /// A cursor over one tree, which is all there is.
    pub fn alone(tree: &Arc<Tree>) -> Self {
        Self { cursor: tree.cursor(), parts: None, part: 0 }
    }

    /// Whether there is an entry.
    #[inline]
    pub fn is_valid(&self) -> bool {
        self.cursor.is_valid()
    }

    /// The key. REQUIRES: there is an entry.
    #[inline]
    pub fn key(&self) -> &[u8] {
        self.cursor.key()
    }

    /// The record. REQUIRES: there is an entry.
    #[inline]
    pub fn record(&self) -> Record<'_> {
        self.cursor.record()
    }

    /// Goes to a part.
    fn enter(&mut self, part: usize) {
        if let Some(parts) = &self.parts
            && part != self.part
        {
            self.cursor = parts.trees()[part].cursor();
            self.part = part;
        }
    }

    fn enter_part_of(&mut self, key: &[u8]) {
        if let Some(parts) = &self.parts {
            self.enter(parts.part_of(key));
        }
    }

    fn last_part(&self) -> usize {
        self.parts.as_ref().map_or(0, |parts| parts.trees().len() - 1)
    }

    /// From behind the last entry of a part to the first of the next.
    fn go_on(&mut self, there: bool) -> Result<bool> {
        if there || self.part == self.last_part() {
            return Ok(there);
        }
        self.enter(self.part + 1);
        self.cursor.seek_first()
    }

    /// From before the first entry of a part to the last of the one before.
    fn go_back(&mut self, there: bool) -> Result<bool> {
        if there || self.part == 0 {
            return Ok(there);
        }
        self.enter(self.part - 1);
        self.cursor.seek_last()
    }

    /// Moves to the first entry.
    pub fn seek_first(&mut self) -> Result<bool> {
        self.enter(0);
        self.cursor.seek_first()
    }

    /// Moves to the last entry.
    pub fn seek_last(&mut self) -> Result<bool> {
        self.enter(self.last_part());
        self.cursor.seek_last()
    }

    /// Moves to the first entry with this key or a greater one.
    pub fn seek_ge(&mut self, key: &[u8]) -> Result<bool> {
        self.enter_part_of(key);
        let there = self.cursor.seek_ge(key)?;
        self.go_on(there)
    }

    /// Moves to the first entry with a greater key.
    pub fn seek_gt(&mut self, key: &[u8]) -> Result<bool> {
        self.enter_part_of(key);
        let there = self.cursor.seek_gt(key)?;
        self.go_on(there)
    }

    /// Moves to the last entry with this key or a smaller one.
    pub fn seek_le(&mut self, key: &[u8]) -> Result<bool> {
        self.enter_part_of(key);
        let there = self.cursor.seek_le(key)?;
        self.go_back(there)
    }

    /// Moves to the last entry with a smaller key.
    pub fn seek_lt(&mut self, key: &[u8]) -> Result<bool> {
        self.enter_part_of(key);
        let there = self.cursor.seek_lt(key)?;
        self.go_back(there)
    }

    /// Moves to the next entry.
    #[expect(clippy::should_implement_trait, reason = "it lends its entries, as all cursors do")]
    #[inline]
    pub fn next(&mut self) -> Result<bool> {
        let there = self.cursor.next()?;
        self.go_on(there)
    }

    /// Moves to the previous entry.
    #[inline]
    pub fn prev(&mut self) -> Result<bool> {
        let there = self.cursor.prev()?;
        self.go_back(there)
    }

    /// As [`TreeCursor::visit_leaf`].
    ///
    /// # Errors
    /// Those of `visit`, and a damaged page. The cursor is then anywhere.
    pub fn visit_leaf(
        &mut self,
        upper: Option<&[u8]>,
        with_keys: bool,
        visit: impl FnMut(&[u8], Record<'_>) -> Result<ControlFlow<()>>,
    ) -> Result<usize> {
        let visited = self.cursor.visit_leaf(upper, with_keys, visit)?;
        if visited > 0 {
            self.go_on(self.cursor.is_valid())?;
        }
        Ok(visited)
    }
}
