//! Paths to the rows that conditions leave: by the table's key, or by an index.
//!
//! Conditions of equality name values for the first columns of a key or an index; one more condition may bound the column behind them. A
//! list of values for one of the first columns is as many paths, followed one after the other. Each path can be asked how many entries it
//! has, which costs a few look-ups.

use std::{ops::Bound, sync::Arc};

use ambo_codec::{KeyRange, Type, Value as Datum, column::Compare};
use ambo_scan::{Filter, Test};
use ambo_types::{Error, Result, TableDefinition, id::TableId};

use super::{
    cursor::Seek,
    find::{Fetch, ReadView},
    index_scan::IndexRange,
    indexes::TableIndex,
};

/// A list of more values is not looked up one by one.
const LISTED_MAX: usize = 1000;

/// All paths that the filters leave, one for the key and for each index that they say something of.
pub(super) fn paths(
    view: &dyn ReadView,
    id: TableId,
    definition: &TableDefinition,
    filters: &[Filter],
) -> Result<Vec<Path>> {
    let mut paths = Vec::new();
    paths.extend(each_listed(&definition.key, definition, filters, |filters| key_path(definition, filters))?);
    for index in view.version().table(id)?.indexes.iter().filter(|index| index.is_ready()) {
        let path = |filters: &[Filter]| Ok(index_path(index, definition, filters));
        paths.extend(each_listed(&index.format.of().columns, definition, filters, path)?);
    }
    Ok(paths)
}

/// Bounds of a column, or of the first columns.
type Bounds<T> = (Bound<T>, Bound<T>);

/// Where rows may be.
pub(super) enum Path {
    /// In a range of keys.
    Keys { lower: Vec<u8>, upper: Option<Vec<u8>> },
    /// In a range of an index.
    Index { index: Arc<TableIndex>, range: Leading },
    /// In one of these, no two of which have a row in common: a look-up for each value of a list.
    Several(Vec<Path>),
}

/// What filters say of the first columns of a key or an index.
pub(super) enum Leading {
    /// They are equal to these values.
    Equal(Vec<Datum>),
    /// They lie between these: equal to all values but the last, which is a bound.
    Between(Bounds<Vec<Datum>>),
}

/// The path that filters leave; with a list of values for one of the first of these columns, one for each value.
fn each_listed(
    columns: &[usize],
    definition: &TableDefinition,
    filters: &[Filter],
    path: impl Fn(&[Filter]) -> Result<Option<Path>>,
) -> Result<Option<Path>> {
    let kind = |column: usize| definition.columns[column].kind;
    let listed = columns.iter().find(|column| equal_to(filters, **column, kind(**column)).is_none());
    let values = listed.and_then(|column| listed_for(filters, *column, kind(*column)));
    let (Some(&column), Some(values)) = (listed, values) else { return path(filters) };
    let mut paths = Vec::new();
    for value in values {
        let equal = Filter { column, test: Test::Compare(Compare::Equal, value) };
        let filters: Vec<_> = filters.iter().cloned().chain([equal]).collect();
        match path(&filters)? {
            Some(path) => paths.push((path.lower()?, path)),
            None => return Ok(None),
        }
    }
    // Equal values, and values with one hash, are looked up once.
    paths.sort_by(|(a, _), (b, _)| a.cmp(b));
    paths.dedup_by(|(a, _), (b, _)| a == b);
    debug_assert!(
        paths.iter().all(|(_, path)| !matches!(path, Path::Several(_))),
        "a list of paths has no lists in it"
    );
    Ok(Some(Path::Several(paths.into_iter().map(|(_, path)| path).collect())))
}

/// The values of which a column has to have one, if they are not too many.
fn listed_for(filters: &[Filter], column: usize, kind: Type) -> Option<Vec<Datum>> {
    filters.iter().filter(|filter| filter.column == column).find_map(|filter| match &filter.test {
        Test::In(values) if values.len() <= LISTED_MAX => {
            let values = values.iter().filter(|value| !value.is_null());
            values.map(|value| value.clone().fit(kind).ok()).collect()
        }
        _ => None,
    })
}

/// The value that a column has to be equal to.
fn equal_to(filters: &[Filter], column: usize, kind: Type) -> Option<Datum> {
    filters.iter().filter(|filter| filter.column == column).find_map(|filter| match &filter.test {
        Test::Compare(Compare::Equal, value) if !value.is_null() => value.clone().fit(kind).ok(),
        _ => None,
    })
}

/// Bounds of a column.
fn bounds_of(filters: &[Filter], column: usize, kind: Type) -> Option<Bounds<Datum>> {
    let fit = |value: &Datum| (!value.is_null()).then(|| value.clone().fit(kind).ok()).flatten();
    let (mut low, mut high) = (Bound::Unbounded, Bound::Unbounded);
    for filter in filters.iter().filter(|filter| filter.column == column) {
        match &filter.test {
            Test::Compare(Compare::Less, value) => high = fit(value).map_or(high, Bound::Excluded),
            Test::Compare(Compare::LessEqual, value) => high = fit(value).map_or(high, Bound::Included),
            Test::Compare(Compare::Greater, value) => low = fit(value).map_or(low, Bound::Excluded),
            Test::Compare(Compare::GreaterEqual, value) => low = fit(value).map_or(low, Bound::Included),
            Test::Between(from, to) => {
                low = fit(from).map_or(low, Bound::Included);
                high = fit(to).map_or(high, Bound::Included);
            }
            _ => {}
        }
    }
    (!matches!((&low, &high), (Bound::Unbounded, Bound::Unbounded))).then_some((low, high))
}

/// What the filters say of the first of these columns, if anything.
fn leading(columns: &[usize], definition: &TableDefinition, filters: &[Filter]) -> Option<Leading> {
    let mut equal = Vec::new();
    for &column in columns {
        let kind = definition.columns[column].kind;
        if let Some(value) = equal_to(filters, column, kind) {
            equal.push(value);
            continue;
        }
        let Some((low, high)) = bounds_of(filters, column, kind) else { break };
        let behind_equal = |bound: Bound<Datum>| match bound {
            // All that begins with the equal values.
            Bound::Unbounded => Bound::Included(equal.clone()),
            Bound::Included(value) => Bound::Included([&equal[..], &[value]].concat()),
            Bound::Excluded(value) => Bound::Excluded([&equal[..], &[value]].concat()),
        };
        return Some(Leading::Between((behind_equal(low), behind_equal(high))));
    }
    (!equal.is_empty()).then_some(Leading::Equal(equal))
}

/// The range of keys that the filters leave, if they leave out some.
fn key_path(definition: &TableDefinition, filters: &[Filter]) -> Result<Option<Path>> {
    let range = key_range(definition, filters)?;
    Ok(range.map(|KeyRange { lower, upper }| Path::Keys { lower, upper }))
}

/// As [`key_path`], the range itself.
pub(super) fn key_range(definition: &TableDefinition, filters: &[Filter]) -> Result<Option<KeyRange>> {
    let Some(leading) = leading(&definition.key, definition, filters) else { return Ok(None) };
    let invalid = |error: ambo_codec::Error| Error::Invalid(error.to_string());
    let spec = definition.key_spec().map_err(invalid)?;
    let (lower, upper) = match leading {
        Leading::Equal(values) => (Bound::Included(values.clone()), Bound::Included(values)),
        Leading::Between(bounds) => bounds,
    };
    let range = spec.range_between(lower.as_ref().map(Vec::as_slice), upper.as_ref().map(Vec::as_slice));
    range.map_err(invalid).map(Some)
}

/// The part of an index that the filters leave, if they leave out some.
fn index_path(index: &Arc<TableIndex>, definition: &TableDefinition, filters: &[Filter]) -> Option<Path> {
    let columns = &index.format.of().columns;
    let range = leading(columns, definition, filters)?;
    let is_whole = matches!(&range, Leading::Equal(values) if values.len() == columns.len());
    (is_whole || !index.format.is_hashed()).then(|| Path::Index { index: index.clone(), range })
}

impl Leading {
    fn as_range(&self) -> IndexRange<'_> {
        match self {
            Self::Equal(values) => IndexRange::Equal(values),
            Self::Between((lower, upper)) => {
                IndexRange::Between(lower.as_ref().map(Vec::as_slice), upper.as_ref().map(Vec::as_slice))
            }
        }
    }
}

impl Path {
    pub(super) fn count(&self, view: &dyn ReadView, table: TableId) -> Result<u64> {
        match self {
            Self::Keys { lower, upper } => view.count_in(table, lower, upper.as_deref()),
            Self::Index { index, range } => {
                let range = index.key_range(range.as_range())?;
                view.count_in(index.id, &range.lower, range.upper.as_deref())
            }
            Self::Several(paths) => paths.iter().map(|path| path.count(view, table)).sum(),
        }
    }

    /// Where it begins.
    fn lower(&self) -> Result<Vec<u8>> {
        Ok(match self {
            Self::Keys { lower, .. } => lower.clone(),
            Self::Index { index, range } => index.key_range(range.as_range())?.lower,
            Self::Several(_) => Vec::new(),
        })
    }

    pub(super) fn source(self, view: &dyn ReadView, table: TableId) -> Result<Fetch> {
        match self {
            Self::Keys { lower, upper } => {
                let cursor = view.rows_in(table, &lower, upper.as_deref())?;
                Ok(Fetch::Walk { cursor, lower, upper, started: false })
            }
            Self::Index { index, range } => view.entries(index.id, range.as_range()).map(Fetch::Index),
            Self::Several(paths) => Ok(Fetch::Several {
                what: match paths.first() {
                    Some(Self::Index { index, .. }) => {
                        format!("look-ups in index \"{}\"", index.format.name())
                    }
                    _ => "several ranges of keys".into(),
                },
                paths: paths.into_iter(),
                now: None,
            }),
        }
    }

    /// The keys of all rows on the path, in order.
    pub(super) fn keys(self, view: &dyn ReadView, table: TableId) -> Result<Vec<Vec<u8>>> {
        let mut keys = Vec::new();
        self.source(view, table)?.append_keys(view, table, &mut keys)?;
        keys.sort_unstable();
        Ok(keys)
    }
}

impl Fetch {
    fn append_keys(self, view: &dyn ReadView, table: TableId, keys: &mut Vec<Vec<u8>>) -> Result<()> {
        match self {
            Self::Walk { mut cursor, lower, upper, .. } => {
                let mut there = cursor.seek(Seek::Ge(&lower))?;
                while there && upper.as_deref().is_none_or(|upper| cursor.key() < upper) {
                    keys.push(cursor.key().to_vec());
                    there = cursor.next()?;
                }
            }
            Self::Index(mut scan) => {
                while let Some(key) = scan.next_key()? {
                    keys.push(key.to_vec());
                }
            }
            Self::Keys(more) => keys.extend(more),
            Self::Several { paths, .. } => {
                for path in paths {
                    path.source(view, table)?.append_keys(view, table, keys)?;
                }
            }
        }
        Ok(())
    }
}
