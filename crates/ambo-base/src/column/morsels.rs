//! Morsels of segments and of rows that are not in segments yet.

use std::sync::Arc;

use ambo_codec::{
    Value,
    bitmap::{Bitmap, Positions},
    column::{BitsView, Block, Compare, Kind, Mask, Predicate},
};
use ambo_pages::page::Access;
use ambo_scan::{Filter, Morsel, RowGroup, Test};
use ambo_types::{Error, Result};

use super::{
    fresh::{FreshColumn, FreshGroup},
    run::Part,
    schema::ColumnSchema,
    seen::Seen,
};

/// A group of a segment.
struct SegmentGroup<'s> {
    segment: Seen<'s>,
    group: usize,
}

impl RowGroup for SegmentGroup<'_> {
    fn columns(&self) -> usize {
        self.segment.columns()
    }

    fn read(&self, column: usize) -> Result<Option<Arc<[u8]>>> {
        self.segment.block(column, self.group, Access::Scan).map(Some)
    }

    fn parse<'a>(&'a self, column: usize, read: Option<&'a [u8]>) -> Result<Block<'a>> {
        self.segment.parse(column, self.group, read.expect("a segment's blocks are read"))
    }

    fn bounds(&self, column: usize) -> Option<(Value, Value)> {
        self.segment.bounds(column, self.group)?.values(self.segment.kind(column))
    }

    fn may_match(&self, filter: &Filter) -> bool {
        may_match(self.segment, self.group, filter)
    }

    fn wrong(&self, column: usize, error: ambo_codec::Error) -> Error {
        match error {
            error @ ambo_codec::Error::Malformed { .. } => self.segment.damaged(column, self.group, error),
            error => Error::Invalid(error.to_string()),
        }
    }
}

impl RowGroup for &FreshGroup {
    fn columns(&self) -> usize {
        self.stored_columns()
    }

    fn read(&self, _column: usize) -> Result<Option<Arc<[u8]>>> {
        Ok(None)
    }

    fn parse<'a>(&'a self, column: usize, _read: Option<&'a [u8]>) -> Result<Block<'a>> {
        let FreshColumn { block, kind, .. } = self.column(column);
        Block::parse(block, *kind, self.rows()).map_err(|error| self.wrong(column, error))
    }

    fn bounds(&self, column: usize) -> Option<(Value, Value)> {
        self.column(column).bounds.clone()
    }

    fn may_match(&self, _filter: &Filter) -> bool {
        true
    }

    fn wrong(&self, _column: usize, error: ambo_codec::Error) -> Error {
        Error::Invalid(error.to_string())
    }
}

impl Part {
    /// The rows of a group that are left, `selected` by bitmap indexes, not replaced by newer ones, and answer all filters with yes; `None`
    /// if there are none.
    pub fn morsel<'s>(
        &'s self,
        schema: &'s ColumnSchema,
        group: usize,
        replaced: impl Iterator<Item = &'s Bitmap>,
        selected: Option<&Bitmap>,
        filters: &[Filter],
        projection: &'s [usize],
    ) -> Result<Option<Morsel<'s>>> {
        let segment = Seen::new(&self.segment, schema);
        debug_assert!(
            filters
                .iter()
                .map(|filter| filter.column)
                .chain(projection.iter().copied())
                .all(|c| c < segment.columns()),
            "filters and scans are of stored columns"
        );
        let rows = self.segment.directory().group(group);
        if !filters.iter().all(|filter| may_match(segment, group, filter)) {
            return Ok(None);
        }
        let mut mask = match selected {
            Some(selected) => {
                let mut words = vec![!0; rows.len().div_ceil(64)];
                selected.select_from(u64::from(rows.start), &mut words);
                Mask::from_bits(BitsView::new(&words, rows.len()))
            }
            None => Mask::all(rows.len()),
        };
        let deleted = self.deleted.as_ref().map(|deleted| &deleted.rows);
        for gone in deleted.into_iter().chain(replaced) {
            mask.deselect(gone, u64::from(rows.start));
        }
        Morsel::new(Box::new(SegmentGroup { segment, group }), mask, filters, projection)
    }
}

impl FreshGroup {
    /// The rows that are not hidden by newer ones and answer all filters with yes; `None` if there are none.
    pub fn morsel<'s>(
        &'s self,
        hidden: impl Iterator<Item = &'s Bitmap>,
        filters: &[Filter],
        projection: &'s [usize],
    ) -> Result<Option<Morsel<'s>>> {
        let mut mask = Mask::all(self.rows());
        hidden.for_each(|hidden| mask.deselect(hidden, self.first_row()));
        Morsel::new(Box::new(self), mask, filters, projection)
    }
}

/// What no value must answer with yes for all of them to answer a question with yes, where that can be said; floats aside, of which some
/// are no numbers.
fn opposites(test: &Test) -> Option<Vec<Test>> {
    // Beside a float that is no number whole numbers may answer both with no.
    let has_order = |value: &Value| !matches!(value, Value::Null | Value::F32(_) | Value::F64(_));
    let compare = |by, value: &Value| has_order(value).then(|| Test::Compare(by, value.clone()));
    Some(match test {
        Test::Compare(by, value) => vec![compare(by.negated(), value)?],
        Test::Between(low, high) => vec![compare(Compare::Less, low)?, compare(Compare::Greater, high)?],
        Test::IsNotNull => Vec::new(),
        _ => return None,
    })
}

impl Part {
    /// Whether the directory says that all rows answer a filter with yes.
    pub fn answers_whole(&self, schema: &ColumnSchema, filter: &Filter) -> bool {
        let segment = Seen::new(&self.segment, schema);
        let column = filter.column;
        if matches!(segment.kind(column), Kind::F32 | Kind::F64) {
            return false;
        }
        let Some(opposites) = opposites(&filter.test) else { return false };
        let opposites: Vec<_> = opposites.into_iter().map(|test| Filter { column, test }).collect();
        (0..self.segment.directory().groups()).all(|group| {
            segment.nulls(column, group) == 0
                && !opposites.iter().any(|opposite| may_match(segment, group, opposite))
        })
    }
}

/// Whether the directory allows that a row of a group answers a filter with yes.
pub fn may_match(segment: Seen<'_>, group: usize, filter: &Filter) -> bool {
    let nulls = segment.nulls(filter.column, group);
    let rows = segment.segment.directory().group(group).len() as u32;
    let kind = segment.kind(filter.column);
    debug_assert!(nulls <= rows, "values that are missing are those of rows");
    filter.test.with(|predicate| match predicate {
        Predicate::IsNull => nulls > 0,
        _ if nulls == rows => false,
        predicate => {
            segment.bounds(filter.column, group).is_none_or(|bounds| bounds.may_match(kind, predicate))
        }
    })
}
