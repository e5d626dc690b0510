//! What keys and inner pages know: no record is read, and most keys are not.

use std::sync::Arc;

use ambo_codec::{Type, ValueRef};
use ambo_engine::database::{KeySum, RowFormat, ScanPlan, Seek, Snapshot};
use ambo_types::{Result, TableDefinition, id::TableId, parts::fold_parts};

use super::{
    Input, UqiResult,
    functions::{Function, counted, totalled},
    numbers::{Total, is_integer},
    reader::Range,
    tops::Tops,
};

/// Parts of a sum of keys have so many rows: compressed keys are summed far quicker than rows are read.
const PART_ROWS: u64 = 512 << 10;

/// What is asked of keys.
pub(super) struct ByKey<'q> {
    pub(super) snapshot: &'q Snapshot,
    pub(super) table: TableId,
    pub(super) definition: &'q Arc<TableDefinition>,
    pub(super) range: Range<'q>,
    pub(super) threads: usize,
}

impl ByKey<'_> {
    /// The one column of the stored key, if there is one, and no two rows have the same.
    pub(super) fn column(&self) -> Option<usize> {
        let definition = self.definition;
        match definition.key[..] {
            [column] if !definition.duplicates && !definition.has_sort_key() => Some(column),
            _ => None,
        }
    }

    pub(super) fn count(&self) -> Result<UqiResult> {
        counted(self.snapshot.count(self.table, self.range.lower, self.range.upper)?)
    }

    /// SUM or AVERAGE of keys that are integers; `None` if the storage has no such sum.
    pub(super) fn sum(&self, function: Function) -> Result<Option<UqiResult>> {
        let Some(column) = self.column() else { return Ok(None) };
        let ty = self.definition.columns[column].kind;
        if !is_integer(ty) || self.definition.storage.traits().by_column {
            return Ok(None);
        }
        let KeySum { count, sum } = self.key_sum()?;
        // The stored form of a signed integer is itself plus this, so that it orders as bytes.
        let offset = match ty {
            Type::I8 => 1i128 << 7,
            Type::I16 => 1 << 15,
            Type::I32 => 1 << 31,
            Type::I64 => 1 << 63,
            _ => 0,
        };
        let integer = sum as i128 - offset * i128::from(count);
        let total = Total { count, integer, ..Total::default() };
        totalled(function, ty, &total).map(Some)
    }

    fn key_sum(&self) -> Result<KeySum> {
        let (snapshot, table, Range { lower, upper }) = (self.snapshot, self.table, self.range);
        if self.threads < 2 {
            return snapshot.sum_keys(table, lower, upper);
        }
        let plan = ScanPlan::default();
        let scan = snapshot.clone().into_range_scan(table, &plan, lower.unwrap_or_default(), upper)?;
        let scan = scan.with_unit_rows(PART_ROWS);
        let sums = fold_parts(scan.units()?, self.threads, KeySum::default, |so_far, part| {
            let (lower, upper) = scan.unit_bounds(part)?;
            let KeySum { count, sum } = snapshot.sum_keys(table, Some(&lower), upper.as_deref())?;
            so_far.count += count;
            so_far.sum += sum;
            Ok(())
        })?;
        Ok(sums.into_iter().fold(KeySum::default(), |one, other| KeySum {
            count: one.count + other.count,
            sum: one.sum + other.sum,
        }))
    }

    /// The greatest or the least keys, with their records: those at an end of the range.
    pub(super) fn ends(
        &self,
        input: Input,
        (key, record): (usize, Option<usize>),
        (is_top, limit): (bool, usize),
    ) -> Result<UqiResult> {
        let ty = self.definition.columns[key].kind;
        let format = RowFormat::new(self.definition.clone())?;
        let mut tops = Tops::new(input, ty, is_top, limit, false);
        let mut cursor = self.snapshot.cursor(self.table)?;
        let mut there = match (is_top, self.range) {
            (true, Range { upper: Some(upper), .. }) => cursor.seek(Seek::Lt(upper))?,
            (true, _) => cursor.seek(Seek::Last)?,
            (false, Range { lower: Some(lower), .. }) => cursor.seek(Seek::Ge(lower))?,
            (false, _) => cursor.seek(Seek::First)?,
        };
        let mut found = 0;
        while there && found < limit && self.is_within(cursor.key()) {
            let (key_bytes, value) = cursor.row()?;
            let row = match record {
                Some(_) => format.decode(key_bytes, value)?,
                None => format.decode_key(key_bytes)?,
            };
            // A key that is decoded alone has the columns of the key.
            let of_key = if record.is_some() { key } else { 0 };
            let partner = record.map(|record| row[record].as_ref());
            tops.take(row.get(of_key).map_or(ValueRef::Null, |key| key.as_ref()), found as u64, partner);
            found += 1;
            there = if is_top { cursor.prev()? } else { cursor.next()? };
        }
        tops.result()
    }

    fn is_within(&self, key: &[u8]) -> bool {
        self.range.lower.is_none_or(|lower| key >= lower) && self.range.upper.is_none_or(|upper| key < upper)
    }
}
