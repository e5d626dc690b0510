//! What postings in files say of the values of a column in a segment: how many rows have each, before one is looked at.
//!
//! Rows that are deleted or replaced by newer ones are in the lists. Their values are read, where they are few, and what has each of them
//! less is subtracted. (To intersect lists with the set of these rows would be to read all of the lists: no less than to look at all rows.)

use std::sync::Arc;

use ambo_codec::{
    Type, Value, ValueRef,
    bitmap::{Bitmap, Positions},
};
use ambo_pages::page::Access;
use ambo_scan::{ColumnBuffer, CountedColumn, Filter, ValueCounts};
use ambo_types::{Result, id::TableId};

use super::{
    posting::{Asked, Gatherer, IndexSpec, Place, PostingFile, Way},
    run::Part,
    schema::ColumnSchema,
    seen::Seen,
    set::ColumnSet,
};

/// With more keys than this part of a segment's rows it takes longer to put keys together than rows.
const KEYS_SHARE: u64 = 2;
/// With more rows that do not count than this part of a segment's, all rows are looked at.
const GONE_SHARE: u64 = 8;

/// What a file says of a part: it has only to be read.
#[derive(Debug)]
pub struct PartCounts {
    file: Arc<PostingFile>,
    spec: IndexSpec,
    ty: Type,
    stretches: Vec<(Place, Place)>,
    /// Whether rows without a value count.
    has_nulls: bool,
    only_ends: bool,
}

/// Keys are looked up so often, at most, to say how many rows answer a question.
const SEEKS_MAX: usize = 256;

/// Of the first rows in the order of a column no more are counted, deleted ones among them.
const FIRST_MAX: u64 = 1 << 14;

/// The index over a stored column alone.
fn index_over(schema: &ColumnSchema, column: usize) -> Option<usize> {
    schema.indexed().iter().position(|spec| !spec.any && spec.columns == [column])
}

/// The index that says how many rows which answer filters of stored columns have each value of a column, where its files are there.
pub fn counting_index(set: &ColumnSet, column: usize, filters: &[Filter]) -> Option<TableId> {
    let schema = set.schema();
    let spec = index_over(schema, column)?;
    Asked::of_column(schema.indexed(), schema.types(), filters, spec)?;
    Some(schema.indexed()[spec].id)
}

impl ColumnSet {
    /// How many rows answer filters of one stored column, of leaves of postings alone, and of how many rows: of all in segments, deleted
    /// ones among them, or of some of the segments where there are many. None where files do not say it.
    ///
    /// # Errors
    /// A file that is damaged.
    pub fn count_answers(&self, filters: &[Filter]) -> Result<Option<(u64, u64)>> {
        let schema = self.schema();
        let Some(spec) = filters.first().and_then(|filter| index_over(schema, filter.column)) else {
            return Ok(None);
        };
        let Some(ways) = Asked::of_column(schema.indexed(), schema.types(), filters, spec) else {
            return Ok(None);
        };
        let seeks: usize = ways.0.iter().map(Way::seeks).sum();
        if seeks > SEEKS_MAX {
            return Ok(None);
        }
        let parts: Vec<_> = self.parts().collect();
        let step = (parts.len() * seeks).div_ceil(SEEKS_MAX).max(1);
        let (mut answers, mut rows) = (0, 0);
        for part in parts.into_iter().step_by(step) {
            let Some(file) = part.segment.postings_files().get(schema.indexed()[spec].id)? else {
                return Ok(None);
            };
            answers += ways.count(&file)?;
            rows += u64::from(part.rows());
        }
        Ok(Some((answers, rows)))
    }

    /// How many different values a stored column has at least and at most, deleted rows among its rows, as postings say it; none where
    /// they do not.
    pub fn distinct_bounds(&self, column: usize) -> Option<(u64, u64)> {
        let index = self.schema().indexed()[index_over(self.schema(), column)?].id;
        let mut bounds = None;
        for part in self.parts() {
            let keys = part.segment.postings_files().get(index).ok()??.keys();
            let (least, most) = bounds.unwrap_or_default();
            bounds = Some((keys.max(least), keys + most));
        }
        bounds
    }
}

impl ColumnSet {
    /// A value that at least so many rows of segments are no greater than, deleted ones aside, or no less: the least one that leaves of
    /// postings know. None where they do not know one.
    ///
    /// # Errors
    /// A file that is damaged.
    pub fn bound_of_first(&self, column: usize, rows: u64, from_last: bool) -> Result<Option<Value>> {
        let Some(spec) = index_over(self.schema(), column) else { return Ok(None) };
        let (index, ty) = (self.schema().indexed()[spec].id, self.schema().types()[column]);
        let mut found: Vec<(Value, u64)> = Vec::new();
        let mut wanted = rows;
        for part in self.parts() {
            // Segments whose files are not there may only have more such rows.
            if part.segment.postings_files().get(index)?.is_none() {
                continue;
            }
            wanted += u64::from(part.deleted_rows());
            if wanted > FIRST_MAX {
                return Ok(None);
            }
        }
        for part in self.parts() {
            let Some(file) = part.segment.postings_files().get(index)? else { continue };
            let ValueCounts { values, rows } = file.first_counts(wanted, from_last, ty)?;
            for (place, rows) in rows.into_iter().enumerate() {
                let value = values.get(place).expect("text that was looked at");
                found.push((value.to_value(), rows));
            }
        }
        found.sort_by(|(a, _), (b, _)| a.as_ref().compare(b.as_ref()));
        if from_last {
            found.reverse();
        }
        let mut counted = 0;
        Ok(found.into_iter().find_map(|(value, rows)| {
            counted += rows;
            (counted >= wanted).then_some(value)
        }))
    }
}

impl Part {
    /// What a file says of the values that a stored column has in the rows that answer filters, without those that are gone; none where
    /// rows are to be looked at.
    ///
    /// # Errors
    /// A file that is damaged.
    pub fn counts(
        &self,
        schema: &ColumnSchema,
        (column, asked): (usize, CountedColumn),
        filters: &[Filter],
        gone: Option<&Bitmap>,
    ) -> Result<Option<PartCounts>> {
        let Some(spec) = index_over(schema, column) else { return Ok(None) };
        let left: Vec<_> =
            filters.iter().filter(|filter| !self.answers_whole(schema, filter)).cloned().collect();
        let Some(ways) = Asked::of_column(schema.indexed(), schema.types(), &left, spec) else {
            return Ok(None);
        };
        let spec = schema.indexed()[spec].clone();
        let Some(file) = self.segment.postings_files().get(spec.id)? else { return Ok(None) };
        let rows = u64::from(self.rows());
        if gone.is_some_and(|gone| gone.cardinality() > rows / GONE_SHARE) {
            return Ok(None);
        }
        let Some(stretches) = ways.stretches(&file)? else { return Ok(None) };
        let keys: u64 = stretches.iter().map(|(from, to)| to.keys - from.keys).sum();
        let only_ends = asked.only_ends && gone.is_none();
        if !only_ends && keys > rows / KEYS_SHARE {
            return Ok(None);
        }
        let ty = schema.types()[column];
        Ok(Some(PartCounts { file, spec, ty, stretches, has_nulls: left.is_empty(), only_ends }))
    }
}

impl PartCounts {
    /// Reads it, of the same part, without the rows that are gone.
    ///
    /// # Errors
    /// Damage, and what the operating system refuses.
    pub fn read(&self, part: &Part, schema: &ColumnSchema, gone: Option<&Bitmap>) -> Result<ValueCounts> {
        let mut found = match self.only_ends {
            true => self.file.ends(&self.stretches, self.ty)?,
            false => {
                let gone = gone.map(|gone| part.gathered(schema, &self.spec, gone)).transpose()?;
                self.file.value_counts(&self.stretches, self.ty, gone)?
            }
        };
        if self.has_nulls {
            let live = u64::from(part.rows()) - gone.map_or(0, Positions::cardinality);
            let values: u64 = match self.only_ends {
                true => self.file.postings(),
                false => found.rows.iter().sum(),
            };
            let Some(nulls) = live.checked_sub(values) else {
                return Err(self.file.other_rows());
            };
            if nulls > 0 {
                let pushed = found.values.push(ValueRef::Null);
                pushed.expect("there is room for NULL");
                found.rows.push(nulls);
            }
        }
        Ok(found)
    }
}

impl Part {
    /// What an index has of some rows.
    fn gathered(&self, schema: &ColumnSchema, spec: &IndexSpec, rows: &Bitmap) -> Result<Gatherer> {
        let (segment, column) = (Seen::new(&self.segment, schema), spec.columns[0]);
        let mut gatherer = Gatherer::new(spec, schema.types());
        let mut buffer = ColumnBuffer::new(schema.types()[column]);
        for group in 0..self.segment.directory().groups() {
            let of_group = self.segment.directory().group(group);
            let places = rows.range(u64::from(of_group.start)..u64::from(of_group.end));
            let places: Vec<u32> = places.map(|row| row as u32 - of_group.start).collect();
            if places.is_empty() {
                continue;
            }
            let bytes = segment.block(column, group, Access::Scan)?;
            let block = segment.parse(column, group, &bytes)?;
            buffer.clear();
            let read = buffer.append_places(&block, &places).and_then(|()| gatherer.push(&[&buffer]));
            read.map_err(|error| segment.damaged(column, group, error))?;
        }
        Ok(gatherer)
    }
}
