//! Which filters postings answer, and how they are asked.

use std::ops::Bound;

use ambo_codec::{
    Type, Value, ValueRef,
    bitmap::{Bitmap, Positions},
    column::Compare,
    successor,
};
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

/// Which rows are asked for.
#[derive(Clone, PartialEq, Eq, Debug)]
enum Wanted {
    /// Those with a key of these ranges, which ascend.
    Keys(Vec<KeyRange>),
    /// Those with any other key.
    Others(Vec<KeyRange>),
    /// Those without a key.
    Keyless,
}

/// What is asked of one index.
#[derive(Clone, Debug)]
pub(in crate::column) struct Way {
    /// The index, by its place among those of the table.
    pub(in crate::column) spec: usize,
    /// The filters that it answers, by their places.
    pub(in crate::column) filters: Vec<usize>,
    /// Whether its rows are those that answer these filters, or others may be among them.
    pub(in crate::column) is_exact: bool,
    wanted: Wanted,
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

    /// How an index over one column alone is asked these filters, all of which it has to answer.
    pub(in crate::column) fn of_column(
        specs: &[IndexSpec],
        types: &[Type],
        filters: &[Filter],
        spec: usize,
    ) -> Option<Self> {
        let way = |at: usize| value_way(specs, types, filters, at, false).filter(|way| way.spec == spec);
        (0..filters.len()).map(way).collect::<Option<Vec<_>>>().map(Self)
    }

    /// Where the keys lie that all of it asks for, in stretches that ascend; none if rows without a key are asked for. REQUIRES: it is
    /// asked of this file alone.
    pub(in crate::column) fn stretches(&self, file: &PostingFile) -> Result<Option<Vec<(Place, Place)>>> {
        let mut all = vec![(file.first(), file.last())];
        for way in &self.0 {
            match way.stretches(file)? {
                Some(stretches) => all = common(&all, &stretches),
                None => return Ok(None),
            }
        }
        Ok(Some(all))
    }

    /// How many rows all of it asks for, deleted ones among them. REQUIRES: it is asked of this file alone, of one column.
    pub(in crate::column) fn count(&self, file: &PostingFile) -> Result<u64> {
        match (self.stretches(file)?, &self.0[..]) {
            (Some(stretches), _) => Ok(postings(&stretches)),
            (None, ways) if ways.iter().all(|way| way.wanted == Wanted::Keyless) => file.keyless_rows(),
            (None, _) => Ok(0),
        }
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
    let mut way = Way { spec: at, filters: Vec::new(), is_exact: true, wanted: Wanted::Keys(Vec::new()) };
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
        way.wanted = Wanted::Keys(vec![(Bound::Included(range.lower), upper)]);
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
    let wanted = wanted(&filter.test, &specs[spec].form(types), types[filter.column])?;
    // Where a row may stand under several keys all others have almost all of them.
    let is_of_use = !any || matches!(wanted, Wanted::Keys(_));
    is_of_use.then(|| Way { spec, filters: vec![at], is_exact: !any, wanted })
}

/// What a test asks for; none for what is not asked by keys.
fn wanted(test: &Test, form: &KeyForm, ty: Type) -> Option<Wanted> {
    let others = |test| {
        let mut ranges = ranges(test, form, ty)?;
        ranges.retain(has_room);
        Some(Wanted::Others(ranges))
    };
    match test {
        Test::IsNull => Some(Wanted::Keyless),
        Test::IsNotNull => Some(Wanted::Others(Vec::new())),
        Test::Compare(Compare::NotEqual, value) => others(&Test::Compare(Compare::Equal, value.clone())),
        Test::Not(test) => match &**test {
            Test::Compare(by, value) => wanted(&Test::Compare(by.negated(), value.clone()), form, ty),
            Test::Not(test) => wanted(test, form, ty),
            test => others(test),
        },
        test => ranges(test, form, ty).map(Wanted::Keys),
    }
}

/// Whether a key may lie in a range.
fn has_room((lower, upper): &KeyRange) -> bool {
    match (lower, upper) {
        (Bound::Unbounded, _) | (_, Bound::Unbounded) => true,
        (Bound::Included(low), Bound::Included(high)) => low <= high,
        (Bound::Included(low) | Bound::Excluded(low), Bound::Included(high) | Bound::Excluded(high)) => {
            low < high
        }
    }
}

/// The keys that lie in none of these ranges, which ascend and have room.
fn others(ranges: &[KeyRange]) -> Vec<KeyRange> {
    let turned = |bound: &Bound<Vec<u8>>| match bound {
        Bound::Unbounded => None,
        Bound::Included(key) => Some(Bound::Excluded(key.clone())),
        Bound::Excluded(key) => Some(Bound::Included(key.clone())),
    };
    let mut others = Vec::with_capacity(ranges.len() + 1);
    let mut from = Some(Bound::Unbounded);
    for (lower, upper) in ranges {
        others.extend(from.take().zip(turned(lower)));
        from = turned(upper);
    }
    others.extend(from.map(|from| (from, Bound::Unbounded)));
    others
}

/// The keys that a test asks for; none for what is not asked by ranges of them.
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
        _ => return None,
    })
}

/// What lies in both of two lists of stretches, each of which ascends.
fn common(a: &[(Place, Place)], b: &[(Place, Place)]) -> Vec<(Place, Place)> {
    let (mut a, mut b) = (a.iter().peekable(), b.iter().peekable());
    let mut both = Vec::new();
    while let (Some((from_a, to_a)), Some((from_b, to_b))) = (a.peek(), b.peek()) {
        let from = if from_a.keys < from_b.keys { from_b } else { from_a };
        let to = if to_a.keys < to_b.keys { to_a } else { to_b };
        if from.keys < to.keys {
            both.push((*from, *to));
        }
        if to_a.keys < to_b.keys {
            a.next()
        } else {
            b.next()
        };
    }
    both
}

impl Way {
    /// The rows of a segment of so many that it asks for; none if they are so many that blocks say it sooner.
    pub(in crate::column) fn rows(&self, file: &PostingFile, rows: u32) -> Result<Option<Bitmap>> {
        let has_all = file.postings() == u64::from(rows);
        let but = |taken: Bitmap| Bitmap::from_range(..u64::from(rows)).and_not(&taken);
        match &self.wanted {
            Wanted::Keys(ranges) => rows_of(file, &places(file, ranges)?, rows),
            // Rows without a key are none of these.
            Wanted::Others(ranges) if has_all => Ok(rows_of(file, &places(file, ranges)?, rows)?.map(but)),
            Wanted::Others(ranges) => rows_of(file, &places(file, &others(ranges))?, rows),
            Wanted::Keyless if has_all => Ok(Some(Bitmap::new())),
            Wanted::Keyless => Ok(rows_of(file, &[(file.first(), file.last())], rows)?.map(but)),
        }
    }

    /// How many places it takes to know what it asks for.
    pub(in crate::column) fn seeks(&self) -> usize {
        match &self.wanted {
            Wanted::Keys(ranges) | Wanted::Others(ranges) => 2 * ranges.len(),
            Wanted::Keyless => 0,
        }
    }

    /// Where the keys lie that it asks for; none if it asks for rows without one.
    fn stretches(&self, file: &PostingFile) -> Result<Option<Vec<(Place, Place)>>> {
        match &self.wanted {
            Wanted::Keys(ranges) => places(file, ranges).map(Some),
            Wanted::Others(ranges) => places(file, &others(ranges)).map(Some),
            Wanted::Keyless => Ok(None),
        }
    }
}

/// Postings of the keys of stretches.
fn postings(stretches: &[(Place, Place)]) -> u64 {
    stretches.iter().map(|(from, to)| to.postings - from.postings).sum()
}

/// Where the keys of ranges lie.
fn places(file: &PostingFile, ranges: &[KeyRange]) -> Result<Vec<(Place, Place)>> {
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
    ranges.iter().map(of_range).collect()
}

/// The rows of the keys of stretches, in a segment of so many; none if they are so many that blocks say it sooner.
fn rows_of(file: &PostingFile, places: &[(Place, Place)], rows: u32) -> Result<Option<Bitmap>> {
    let keys = places.iter().map(|(from, to)| to.keys - from.keys).sum::<u64>();
    let gaps = match keys <= KEYS_LOOKED_AT {
        true => places.iter().map(|between| file.gaps_between(*between)).sum::<Result<u64>>()?,
        false => postings(places),
    };
    if gaps > u64::from(rows) / ROWS_SHARE {
        return Ok(None);
    }
    let mut found = places.iter().filter(|(from, to)| from.keys < to.keys);
    let Some(first) = found.next() else { return Ok(Some(Bitmap::new())) };
    let mut sets = vec![file.rows_between(*first)?];
    for between in found {
        sets.push(file.rows_between(*between)?);
    }
    Ok(Some(match sets.len() {
        1 => sets.remove(0),
        _ => Bitmap::union(&sets),
    }))
}
