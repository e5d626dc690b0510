//! Where columns are in stored rows.
//!
//! The columns of the key are in the stored key. Each other column has a *slot* of stored rows, which never moves: columns are
//! only ever added behind the others, and the slot of a dropped column stays, empty in rows that are written from then on. So no row is
//! rewritten when columns come and go; a row that ends before a slot reads the column's default, or NULL. The live columns have the slots
//! in their order, so a definition needs to remember of its past no more than the slots that were dropped.

use ambo_codec::{RowColumn, RowSpec, Type, Value};

use super::{COLUMNS_MAX, TableDefinition};

/// A slot whose column was dropped.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Dropped {
    pub slot: usize,
    pub kind: Type,
    /// What rows without it read as long as it was there.
    pub default: Option<Value>,
}

/// A slot of stored rows.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Slot<'d> {
    /// The column that has it, by its place in the definition; none if it was dropped.
    pub column: Option<usize>,
    /// What it holds.
    pub kind: Type,
    /// What rows without it read.
    pub default: Option<&'d Value>,
}

/// Where a column is stored. It stays the same as long as the column is there, while its place in the definition may change.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum StoredIn {
    /// In the key, at this place.
    Key(usize),
    /// In the row, in this slot.
    Row(usize),
}

impl TableDefinition {
    /// The slots of stored rows, in their order.
    pub fn slots(&self) -> Vec<Slot<'_>> {
        let mut live = (0..self.columns.len()).filter(|index| !self.key.contains(index));
        let mut dropped = self.dropped.iter().peekable();
        let mut slots = Vec::new();
        loop {
            if let Some(gone) = dropped.next_if(|dropped| dropped.slot == slots.len()) {
                slots.push(Slot { column: None, kind: gone.kind, default: gone.default.as_ref() });
            } else if let Some(index) = live.next() {
                let column = &self.columns[index];
                slots.push(Slot { column: Some(index), kind: column.kind, default: column.default.as_ref() });
            } else {
                return slots;
            }
        }
    }

    /// Where a column is stored. Panics if there is no such column.
    pub fn stored_in(&self, column: usize) -> StoredIn {
        if let Some(place) = self.key.iter().position(|&index| index == column) {
            return StoredIn::Key(place);
        }
        let slot = self.slots().iter().position(|slot| slot.column == Some(column));
        StoredIn::Row(slot.expect("a column is in the key or in the row"))
    }

    /// The column that is stored there, if it is not dropped.
    pub fn column_in(&self, stored: StoredIn) -> Option<usize> {
        match stored {
            StoredIn::Key(place) => self.key.get(place).copied(),
            StoredIn::Row(slot) => self.slots().get(slot)?.column,
        }
    }

    /// Whether both have the same columns, in the same places, whatever they are called.
    pub fn has_columns_of(&self, other: &Self) -> bool {
        let kind = |column: &super::Column| (column.kind, column.logical.clone());
        let kinds = |table: &Self| table.columns.iter().map(kind).collect::<Vec<_>>();
        let slots = |table: &Self| table.slots().iter().map(|slot| slot.column).collect::<Vec<_>>();
        self.key == other.key && kinds(self) == kinds(other) && slots(self) == slots(other)
    }

    /// How rows are stored. NULL can be in every slot, whatever the columns promise: in a dropped one, in rows from before a column
    /// refused it, and for handles that have an older definition.
    pub fn row_spec(&self) -> ambo_codec::Result<RowSpec> {
        let column = |slot: Slot<'_>| RowColumn {
            default: slot.default.cloned(),
            ..RowColumn::new(slot.kind).nullable()
        };
        RowSpec::new(self.slots().into_iter().map(column).collect())
    }

    /// Takes a column that is not in the key out of the definition; its slot stays.
    pub fn drop_column_at(&mut self, index: usize) {
        let StoredIn::Row(slot) = self.stored_in(index) else { unreachable!("a column of the key stays") };
        let column = self.columns.remove(index);
        let at = self.dropped.partition_point(|dropped| dropped.slot < slot);
        self.dropped.insert(at, Dropped { slot, kind: column.kind, default: column.default });
        self.key.iter_mut().filter(|key| **key > index).for_each(|key| *key -= 1);
        self.sorted_without(index);
        self.records.without(index);
        self.expiry.without(index);
    }

    /// Forgets dropped columns: no row has them.
    pub fn forget_dropped(&mut self) {
        self.dropped.clear();
    }

    /// How many slots belong to no column any more.
    pub fn dropped_columns(&self) -> usize {
        self.dropped.len()
    }

    /// What is wrong with slots and defaults, if anything.
    pub(super) fn check_slots(&self) -> Result<(), String> {
        let all = self.columns.len() + self.dropped.len();
        if all > COLUMNS_MAX {
            return Err(format!(
                "it has {} columns, and {} that were dropped; {COLUMNS_MAX} are possible, dropped ones count until the table is truncated",
                self.columns.len(),
                self.dropped.len()
            ));
        }
        let slots = all - self.key.len().min(all);
        let ascend = self.dropped.is_sorted_by(|a, b| a.slot < b.slot);
        if !ascend || self.dropped.last().is_some_and(|last| last.slot >= slots) {
            return Err("the places of dropped columns contradict each other".into());
        }
        if self.raw && !self.dropped.is_empty() {
            return Err("a plain key-value table has no dropped columns".into());
        }
        let refuses = |column: &&super::Column| !column.nullable && column.default == Some(Value::Null);
        match self.columns.iter().find(refuses) {
            Some(column) => {
                Err(format!("the default of column \"{}\" is NULL, which it refuses", column.name))
            }
            None => Ok(()),
        }
    }
}
