//! What bitmap indexes, in memory or in files, say of the rows of a set: which of them answer some filters with yes, before any of them is
//! touched.

use ambo_codec::bitmap::{Bitmap, Positions};
use ambo_types::{Result, id::TableId};

use super::{
    posting::{Asked, Way},
    postings::wanted,
    run::Part,
    set::ColumnSet,
};
use ambo_scan::Filter;

/// Rows of the parts of a set.
#[derive(Debug)]
pub struct Selection {
    /// By run and part; none where no filter is answered.
    rows: Vec<Vec<Option<Selected>>>,
}

/// Rows of a part.
#[derive(Debug)]
pub struct Selected {
    /// Their positions. Deleted ones may be among them.
    pub rows: Bitmap,
    /// Whether all filters were answered: a column with too many values in this segment has no postings.
    pub is_whole: bool,
}

/// Whether postings answer a filter of a stored column: it asks for values of the column.
pub fn is_answered(set: &ColumnSet, filter: &Filter) -> bool {
    wanted(filter, set.schema().types()[filter.column]).is_some()
}

/// Whether postings that answer a filter of a stored column are there, and have not to be made first.
pub fn is_answered_at_once(set: &ColumnSet, filter: &Filter) -> bool {
    is_answered(set, filter)
        && set.segments().all(|segment| !segment.has(filter.column) || segment.has_postings(filter.column))
}

/// Whether postings in files answer one of these filters of stored columns, or leave few rows for it.
pub fn answers_at_once(set: &ColumnSet, filters: &[Filter]) -> bool {
    let schema = set.schema();
    !Asked::new(schema.indexed(), schema.types(), filters).0.is_empty()
}

/// What is asked of the indexes of a set.
struct Questions<'f> {
    filters: &'f [Filter],
    /// What postings in files are asked.
    asked: Asked,
    /// What bitmap indexes in memory are asked: column and values, by filters.
    wanted: Vec<Option<Vec<Vec<u8>>>>,
    /// Of each of these, rows that nothing of it asks for may be left out.
    either: Vec<Asked>,
}

impl<'f> Questions<'f> {
    /// Filters of these columns are asked of bitmap indexes in memory, where files do not answer them.
    fn new(set: &ColumnSet, filters: &'f [Filter], either: &[Vec<Filter>], bitmaps: &[usize]) -> Self {
        let schema = set.schema();
        let asked = Asked::new(schema.indexed(), schema.types(), filters);
        let values = |(place, filter): (usize, &Filter)| match bitmaps.contains(&filter.column) {
            true if !asked.answers(place) => wanted(filter, schema.types()[filter.column]),
            _ => None,
        };
        let wanted = filters.iter().enumerate().map(values).collect();
        let each = |one: &Vec<Filter>| Asked::each(schema.indexed(), schema.types(), one);
        let either = either.iter().filter_map(each).collect();
        Self { filters, asked, wanted, either }
    }

    /// The filters that are left for rows to answer.
    fn left(&self) -> Vec<Filter> {
        let is_left = |place: &usize| self.wanted[*place].is_none() && !self.asked.answers(*place);
        (0..self.filters.len()).filter(is_left).map(|place| self.filters[place].clone()).collect()
    }

    fn of_part(&self, set: &ColumnSet, part: &Part) -> Result<Option<Selected>> {
        let mut common: Option<Bitmap> = None;
        let mut is_whole = true;
        let mut take = |rows: Bitmap| {
            common = Some(match common.take() {
                None => rows,
                Some(others) => others.and(&rows),
            });
        };
        for way in &self.asked.0 {
            let rows = rows_of(set, part, way)?;
            is_whole &= rows.is_some() || !way.is_exact;
            rows.into_iter().for_each(&mut take);
        }
        for either in &self.either {
            let rows =
                either.0.iter().map(|way| rows_of(set, part, way)).collect::<Result<Option<Vec<_>>>>()?;
            rows.iter().map(Bitmap::union).for_each(&mut take);
        }
        for (filter, values) in self.filters.iter().zip(&self.wanted) {
            let Some(values) = values else { continue };
            let rows = part.segment.rows_with(filter.column, values)?;
            is_whole &= rows.is_some();
            rows.into_iter().for_each(&mut take);
        }
        let selected = common.map(|rows| Selected { rows, is_whole });
        debug_assert!(selected.iter().all(|these| these.rows.last() < Some(part.rows().into())));
        Ok(selected)
    }
}

/// The rows of a part that are asked for; none if its file is not there, or does not say it well.
fn rows_of(set: &ColumnSet, part: &Part, way: &Way) -> Result<Option<Bitmap>> {
    let file = part.segment.postings_files().get(set.schema().indexed()[way.spec].id)?;
    file.map_or(Ok(None), |file| way.rows(&file, part.rows()))
}

/// The indexes with postings in files that filters of stored columns are asked of.
pub fn asked_indexes(set: &ColumnSet, filters: &[Filter], either: &[Vec<Filter>]) -> Vec<TableId> {
    let questions = Questions::new(set, filters, either, &[]);
    let ways = questions.asked.0.iter().chain(questions.either.iter().flat_map(|asked| &asked.0));
    let mut asked: Vec<_> = ways.map(|way| set.schema().indexed()[way.spec].id).collect();
    asked.sort_unstable();
    asked.dedup();
    asked
}

impl Selection {
    /// The rows that answer these filters, as far as indexes say in each segment, and the filters that they say nothing of. Bitmap indexes
    /// in memory are asked about these columns. Of each set of `either`, rows that answer none of it may be left out. None if no index says
    /// anything.
    pub fn new(
        set: &ColumnSet,
        filters: &[Filter],
        either: &[Vec<Filter>],
        bitmaps: &[usize],
    ) -> Result<Option<(Self, Vec<Filter>)>> {
        let questions = Questions::new(set, filters, either, bitmaps);
        let is_asked = !questions.asked.0.is_empty() || !questions.either.is_empty();
        if !is_asked && questions.wanted.iter().all(Option::is_none) {
            return Ok(None);
        }
        let of_run = |parts: &[Part]| -> Result<Vec<_>> {
            parts.iter().map(|part| questions.of_part(set, part)).collect()
        };
        let rows = set.runs().iter().map(|run| of_run(&run.parts)).collect::<Result<Vec<_>>>()?;
        Ok(Some((Self { rows }, questions.left())))
    }

    /// How many rows of a set answer filters that one index is asked for, of leaves of postings alone; none if that takes more than they
    /// say.
    pub fn count_alone(set: &ColumnSet, filters: &[Filter]) -> Result<Option<u64>> {
        let schema = set.schema();
        let (specs, types) = (schema.indexed(), schema.types());
        let asked = Asked::new(specs, types, filters);
        let Some(spec) = asked.0.first().map(|way| way.spec) else { return Ok(None) };
        let asked = match &asked.0[..] {
            [way] if way.is_exact && way.filters.len() == filters.len() => asked,
            _ => match Asked::of_column(specs, types, filters, spec) {
                Some(asked) => asked,
                None => return Ok(None),
            },
        };
        let mut count = 0;
        for part in set.parts() {
            let file = part.segment.postings_files().get(specs[spec].id)?;
            let (None, Some(file)) = (&part.deleted, file) else { return Ok(None) };
            count += asked.count(&file)?;
        }
        Ok(Some(count))
    }

    /// How many rows of a part are left of those that answer, without `gone`; none if filters were not answered.
    pub fn count<'g>(
        &self,
        set: &'g ColumnSet,
        (run, part): (usize, usize),
        gone: impl Iterator<Item = &'g Bitmap>,
    ) -> Option<u64> {
        let selected = self.of(run, part).filter(|selected| selected.is_whole)?;
        let deleted = set.runs()[run].parts[part].deleted.as_ref().map(|deleted| &deleted.rows);
        let mut gone = gone.chain(deleted);
        let Some(first) = gone.next() else { return Some(selected.rows.cardinality()) };
        let left = gone.fold(selected.rows.and_not(first), |left, gone| left.and_not(gone));
        Some(left.cardinality())
    }

    /// The rows of a part, if they are known.
    pub fn of(&self, run: usize, part: usize) -> Option<&Selected> {
        self.rows[run][part].as_ref()
    }
}
