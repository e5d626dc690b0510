//! Predicates on strings, evaluated on what is stored: on codes where there is a dictionary, symbol by symbol to the
//! first difference where there are symbols, on the bytes where they are as they are.

use std::{cmp::Ordering, ops::Range};

use memchr::memmem::Finder;

use super::{
    Mask, TextBlock,
    block::Body,
    dictionary::Dictionary,
    fsst::Fsst,
    strings::Strings,
    symbols::{Comparison, Constant},
};
use crate::Result;

/// Strings that are decoded at once where there is no other way.
const RUN: usize = 1024;
/// Up to so many strings of `IN` are compared one by one with symbols.
const IN_ONE_BY_ONE: usize = 4;

/// What strings are to be, in the order of `memcmp`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum TextPredicate<'p> {
    /// `= x`
    Eq(&'p [u8]),
    /// `<> x`
    Ne(&'p [u8]),
    /// `< x`
    Lt(&'p [u8]),
    /// `<= x`
    Le(&'p [u8]),
    /// `> x`
    Gt(&'p [u8]),
    /// `>= x`
    Ge(&'p [u8]),
    /// `BETWEEN x AND y`, both included.
    Between(&'p [u8], &'p [u8]),
    /// `IN (x, y, …)`
    In(&'p [&'p [u8]]),
    /// `LIKE 'x%'`
    Prefix(&'p [u8]),
    /// `LIKE '%x%'`
    Contains(&'p [u8]),
}

impl TextPredicate<'_> {
    /// Whether `string` is so.
    pub fn matches(&self, string: &[u8]) -> bool {
        Prepared::new(self).matches(string)
    }
}

/// A predicate, made ready for many strings.
enum Prepared<'p> {
    /// One comparison.
    Compare(fn(Comparison) -> bool, Constant),
    Between(Constant, Constant),
    /// In ascending order.
    In(Vec<Constant>),
    Contains(Finder<'p>),
}

impl<'p> Prepared<'p> {
    fn new(predicate: &TextPredicate<'p>) -> Self {
        let compare = |test, bytes| Self::Compare(test, Constant::new(bytes));
        match *predicate {
            TextPredicate::Eq(bytes) => compare(|it| it.ordering == Ordering::Equal, bytes),
            TextPredicate::Ne(bytes) => compare(|it| it.ordering != Ordering::Equal, bytes),
            TextPredicate::Lt(bytes) => compare(|it| it.ordering == Ordering::Less, bytes),
            TextPredicate::Le(bytes) => compare(|it| it.ordering != Ordering::Greater, bytes),
            TextPredicate::Gt(bytes) => compare(|it| it.ordering == Ordering::Greater, bytes),
            TextPredicate::Ge(bytes) => compare(|it| it.ordering != Ordering::Less, bytes),
            TextPredicate::Prefix(bytes) => compare(|it| it.prefix, bytes),
            TextPredicate::Between(low, high) => Self::Between(Constant::new(low), Constant::new(high)),
            TextPredicate::In(strings) => {
                let mut strings: Vec<&[u8]> = strings.to_vec();
                strings.sort_unstable();
                strings.dedup();
                Self::In(strings.into_iter().map(Constant::new).collect())
            }
            TextPredicate::Contains(bytes) => Self::Contains(Finder::new(bytes)),
        }
    }

    fn matches(&self, string: &[u8]) -> bool {
        match self {
            Self::Compare(test, constant) => test(compare(string, constant.bytes())),
            Self::Between(low, high) => low.bytes() <= string && string <= high.bytes(),
            Self::In(strings) => strings.binary_search_by(|other| other.bytes().cmp(string)).is_ok(),
            Self::Contains(finder) => finder.find(string).is_some(),
        }
    }
}

fn compare(string: &[u8], constant: &[u8]) -> Comparison {
    Comparison { ordering: string.cmp(constant), prefix: string.starts_with(constant) }
}

impl TextBlock<'_> {
    /// Takes from `selection` the rows that are not as `predicate` says. Rows that are not selected are not looked at.
    ///
    /// # Errors
    /// Bytes that no encoder wrote; `selection` is then any part of what it was.
    ///
    /// # Panics
    /// When `selection` has another number of rows.
    pub fn filter(&self, predicate: &TextPredicate<'_>, selection: &mut Mask) -> Result<()> {
        assert_eq!(selection.len(), self.len(), "a selection of other rows");
        let prepared = Prepared::new(predicate);
        match &self.body {
            Body::Constant(string) => {
                if !prepared.matches(string) {
                    selection.clear();
                }
                Ok(())
            }
            Body::Dictionary(dictionary) => {
                let wanted = Wanted::new(predicate, &prepared, dictionary.entries()?);
                on_codes(dictionary, &wanted, selection);
                Ok(())
            }
            Body::Raw(bounds, bytes) => by_runs(selection, |rows, selection| {
                let mut matching = Mask::none(selection.len());
                bounds.each(rows, |row, bounds| {
                    if selection.get(row) && prepared.matches(&bytes[bounds]) {
                        matching.set(row, true);
                    }
                })?;
                Ok(matching)
            }),
            Body::Fsst(fsst) => on_symbols(fsst, &prepared, selection),
            _ => by_runs(selection, |rows, selection| self.decoded_matching(&prepared, rows, selection)),
        }
    }

    /// The rows of `rows` that are selected and match, by decoding them.
    fn decoded_matching(&self, prepared: &Prepared<'_>, rows: Range<usize>, selection: &Mask) -> Result<Mask> {
        let (mut offsets, mut data) = (Vec::new(), Vec::new());
        self.decode(rows.clone(), &mut offsets, &mut data)?;
        let mut matching = Mask::none(selection.len());
        for (row, ends) in rows.zip(offsets.windows(2)) {
            if selection.get(row) && prepared.matches(&data[ends[0] as usize..ends[1] as usize]) {
                matching.set(row, true);
            }
        }
        Ok(matching)
    }
}
