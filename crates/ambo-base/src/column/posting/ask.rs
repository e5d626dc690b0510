//! Which filters postings answer, and how they are asked.

use std::ops::Bound;

use ambo_codec::{Type, Value, ValueRef, bitmap::Bitmap, column::Compare, successor};
use ambo_scan::{Filter, Test};
use ambo_types::Result;

use super::{
    file::{Place, PostingFile},
    keys::{IndexSpec, KeyForm},
};

/// Of so many keys it is known which have bitmaps, that are taken as they are.
const KEYS_LOOKED_AT: u64 = 64;
/// Rows are made of gaps if these are no more than this part of a segment's: beyond, to look at its blocks costs less.
const ROWS_SHARE: u64 = 64;

/// Keys between two bounds.
type KeyRange = (Bound<Vec<u8>>, Bound<Vec<u8>>);

/// What is asked of one index.
#[derive(Clone, Debug)]
pub(in crate::column) struct Way {
    /// The index, by its place among those of the table.
    pub(in crate::column) spec: usize,
    /// The filters that it answers, by their places.
    pub(in crate::column) filters: Vec<usize>,
    /// Whether its rows are those that answer these filters, or others may be among them.
    pub(in crate::column) is_exact: bool,
    ranges: Vec<KeyRange>,
}

/// What is asked of indexes, for some filters.
#[derive(Clone, Debug, Default)]
pub(in crate::column) struct Asked(pub(in crate::column) Vec<Way>);

impl Asked {
    /// How these filters are asked of these indexes: each of one at most, of several columns where that answers several filters.
    pub(in crate::column) fn new(specs: &[IndexSpec], types: &[Type], filters: &[Filter]) -> Self {
        let mut ways: Vec<Way> = Vec::new();
        let is_left = |ways: &[Way], filter: usize| !ways.iter().any(|way| way.filters.contains(&filter));
        for least in [2, 1] {
            let mut tuples: Vec<_> = specs.iter().enumerate().collect();
            tuples.retain(|(_, spec)| !spec.any && spec.columns.len() > 1);
            loop {
                let left = |filter: usize| is_left(&ways, filter);
                let found = tuples.iter().map(|(at, spec)| tuple_way(*at, spec, types, filters, &left));
                let best = found.max_by_key(|way| way.filters.len());
                match best.filter(|way| way.filters.len() >= least) {
                    Some(way) => ways.push(way),
                    None => break,
                }
            }
            for at in 0..filters.len() {
                if is_left(&ways, at) {
                    ways.extend(value_way(specs, types, filters, at, false));
                }
            }
        }
        for at in 0..filters.len() {
            if is_left(&ways, at) {
                ways.extend(value_way(specs, types, filters, at, true));
            }
        }
        Self(ways)
    }

    /// How each of these filters is asked; none if one of them is not.
    pub(in crate::column) fn each(specs: &[IndexSpec], types: &[Type], filters: &[Filter]) -> Option<Self> {
        let way = |at: usize| {
            value_way(specs, types, filters, at, false).or_else(|| value_way(specs, types, filters, at, true))
        };
        (0..filters.len()).map(way).collect::<Option<Vec<_>>>().map(Self)
    }

    /// Whether a filter is answered: it need not be asked of rows where all files are there.
    pub(in crate::column) fn answers(&self, filter: usize) -> bool {
        self.0.iter().any(|way| way.is_exact && way.filters.contains(&filter))
    }
}

/// What an index of several columns is asked: the values of its first ones.
fn tuple_way(
    at: usize,
    spec: &IndexSpec,
    types: &[Type],
    filters: &[Filter],
    is_left: &impl Fn(usize) -> bool,
) -> Way {
    let mut way = Way { spec: at, filters: Vec::new(), is_exact: true, ranges: Vec::new() };
    let mut values: Vec<ValueRef<'_>> = Vec::new();
    for column in &spec.columns {
        let equal = filters.iter().enumerate().find_map(|(place, filter)| match &filter.test {
            Test::Compare(Compare::Equal, value)
                if filter.column == *column && is_left(place) && is_value(value, types[*column]) =>
            {
                Some((place, value))
            }
            _ => None,
        });
        let Some((place, value)) = equal else { break };
        way.filters.push(place);
        values.push(value.as_ref());
    }
    let KeyForm::Tuple(keys) = spec.form(types) else { unreachable!("it has several columns") };
    if let Ok(range) = keys.prefix_range(&values) {
        let upper = range.upper.map_or(Bound::Unbounded, Bound::Excluded);
        way.ranges.push((Bound::Included(range.lower), upper));
        way
    } else {
        Way { filters: Vec::new(), ..way }
    }
}

fn is_value(value: &Value, ty: Type) -> bool {
    !value.is_null() && value.as_ref().is_of(ty)
}

/// What an index of values is asked for a filter.
fn value_way(specs: &[IndexSpec], types: &[Type], filters: &[Filter], at: usize, any: bool) -> Option<Way> {
    let filter = &filters[at];
    let is_over = |spec: &IndexSpec| match any {
        true => spec.any && spec.columns.contains(&filter.column),
        false => spec.columns == [filter.column],
    };
    let spec = specs.iter().position(is_over)?;
    let ranges = ranges(&filter.test, &specs[spec].form(types), types[filter.column])?;
    Some(Way { spec, filters: vec![at], is_exact: !any, ranges })
}

/// The keys that a test asks for; none for what is not asked by keys.
fn ranges(test: &Test, form: &KeyForm, ty: Type) -> Option<Vec<KeyRange>> {
    let key = |value: &Value| form.key(value.as_ref());
    let one = |key: Vec<u8>| (Bound::Included(key.clone()), Bound::Included(key));
    Some(match test {
        Test::Compare(Compare::Equal, value) => vec![one(key(value)?)],
        Test::Compare(Compare::Less, value) => vec![(Bound::Unbounded, Bound::Excluded(key(value)?))],
        Test::Compare(Compare::LessEqual, value) => vec![(Bound::Unbounded, Bound::Included(key(value)?))],
        Test::Compare(Compare::Greater, value) => vec![(Bound::Excluded(key(value)?), Bound::Unbounded)],
        Test::Compare(Compare::GreaterEqual, value) => vec![(Bound::Included(key(value)?), Bound::Unbounded)],
        Test::Between(low, high) => vec![(Bound::Included(key(low)?), Bound::Included(key(high)?))],
        Test::In(values) => {
            let values = values.iter().filter(|value| !value.is_null());
            let mut keys = values.map(key).collect::<Option<Vec<_>>>()?;
            keys.sort_unstable();
            keys.dedup();
            keys.into_iter().map(one).collect()
        }
        Test::Prefix(prefix) if matches!(ty, Type::Utf8 | Type::Binary) => {
            let upper = successor(prefix).map_or(Bound::Unbounded, Bound::Excluded);
            vec![(Bound::Included(prefix.clone()), upper)]
        }
        Test::IsNotNull => vec![(Bound::Unbounded, Bound::Unbounded)],
        _ => return None,
    })
}

impl Way {
    /// The rows of a segment of so many that it asks for; none if they are so many that blocks say it sooner.
    pub(in crate::column) fn rows(&self, file: &PostingFile, rows: u32) -> Result<Option<Bitmap>> {
        let places = self.places(file)?;
        let keys = places.iter().map(|(from, to)| to.keys - from.keys).sum::<u64>();
        let gaps = match keys <= KEYS_LOOKED_AT {
            true => places.iter().map(|between| file.gaps_between(*between)).sum::<Result<u64>>()?,
            false => places.iter().map(|(from, to)| to.postings - from.postings).sum(),
        };
        if gaps > u64::from(rows) / ROWS_SHARE {
            return Ok(None);
        }
        let mut found = places.into_iter().filter(|(from, to)| from.keys < to.keys);
        let Some(first) = found.next() else { return Ok(Some(Bitmap::new())) };
        let mut sets = vec![file.rows_between(first)?];
        for between in found {
            sets.push(file.rows_between(between)?);
        }
        Ok(Some(match sets.len() {
            1 => sets.remove(0),
            _ => Bitmap::union(&sets),
        }))
    }

    /// How many rows it asks for, deleted ones among them. REQUIRES: it is exact.
    pub(in crate::column) fn count(&self, file: &PostingFile) -> Result<u64> {
        debug_assert!(self.is_exact, "a row may stand under several keys");
        Ok(self.places(file)?.iter().map(|(from, to)| to.postings - from.postings).sum())
    }

    fn places(&self, file: &PostingFile) -> Result<Vec<(Place, Place)>> {
        let of_range = |(lower, upper): &KeyRange| {
            let from = match lower {
                Bound::Unbounded => file.first(),
                Bound::Included(key) => file.seek(key, false)?,
                Bound::Excluded(key) => file.seek(key, true)?,
            };
            let to = match upper {
                Bound::Unbounded => file.last(),
                Bound::Included(key) => file.seek(key, true)?,
                Bound::Excluded(key) => file.seek(key, false)?,
            };
            // Bounds may be the wrong way round.
            Ok(if to.keys < from.keys { (from, from) } else { (from, to) })
        };
        self.ranges.iter().map(of_range).collect()
    }
}
