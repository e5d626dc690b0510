//! Predicates on strings, evaluated on what is stored: on codes where there is a dictionary, symbol by symbol to the
//! first difference where there are symbols, on the bytes where they are as they are.

use std::{cmp::Ordering, ops::Range};

use super::{
    Mask, TextBlock,
    block::Body,
    dictionary::Dictionary,
    fsst::Fsst,
    like::Like,
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
    /// `LIKE 'x%y%z'`, by what is between the `%`: two pieces at least, which may be empty.
    Like(&'p [&'p [u8]]),
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
    Like(Box<Like<'p>>),
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
            TextPredicate::Contains(bytes) => Self::Like(Box::new(Like::new(&[b"", bytes, b""]))),
            TextPredicate::Like(pieces) => Self::Like(Box::new(Like::new(pieces))),
        }
    }

    fn matches(&self, string: &[u8]) -> bool {
        match self {
            Self::Compare(test, constant) => test(compare(string, constant.bytes())),
            Self::Between(low, high) => low.bytes() <= string && string <= high.bytes(),
            Self::In(strings) => strings.binary_search_by(|other| other.bytes().cmp(string)).is_ok(),
            Self::Like(like) => like.matches(string),
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
                let wanted = MatchingCodes::new(predicate, &prepared, dictionary.entries()?);
                on_codes(dictionary, &wanted, selection)
            }
            Body::Raw(bounds, bytes) => by_runs(selection, |rows, selection| {
                bounds.each(rows, |row, bounds| {
                    if selection.get(row) && !prepared.matches(&bytes[bounds]) {
                        selection.set(row, false);
                    }
                })
            }),
            Body::Fsst(fsst) => on_symbols(fsst, &prepared, selection),
            _ => by_runs(selection, |rows, selection| {
                let (mut offsets, mut data) = (Vec::new(), Vec::new());
                self.decode(rows.clone(), &mut offsets, &mut data)?;
                test(rows, &offsets, &data, &prepared, selection);
                Ok(())
            }),
        }
    }
}

/// Calls `run` with the rows of each run that has selected ones.
fn by_runs(selection: &mut Mask, mut run: impl FnMut(Range<usize>, &mut Mask) -> Result<()>) -> Result<()> {
    for start in (0..selection.len()).step_by(RUN) {
        let rows = start..(start + RUN).min(selection.len());
        if selection.words()[start / 64..rows.end.div_ceil(64)].iter().any(|word| *word != 0) {
            run(rows, selection)?;
        }
    }
    Ok(())
}

/// Takes out the rows of `rows`, which are decoded, that do not match.
fn test(rows: Range<usize>, offsets: &[u32], data: &[u8], prepared: &Prepared<'_>, selection: &mut Mask) {
    if let Prepared::Like(like) = prepared {
        let mut next = rows.start;
        like.find_all(offsets, data, |place| {
            selection.clear_range(next..rows.start + place);
            next = rows.start + place + 1;
        });
        selection.clear_range(next..rows.end);
        return;
    }
    for (row, ends) in rows.zip(offsets.windows(2)) {
        if selection.get(row) && !prepared.matches(&data[ends[0] as usize..ends[1] as usize]) {
            selection.set(row, false);
        }
    }
}

fn on_symbols(fsst: &Fsst<'_>, prepared: &Prepared<'_>, selection: &mut Mask) -> Result<()> {
    let symbols = fsst.symbols();
    let one_by_one = |codes: &[u8]| -> Result<bool> {
        Ok(match prepared {
            Prepared::Compare(test, constant) => test(symbols.compare(codes, constant)?),
            Prepared::Between(low, high) => {
                symbols.compare(codes, low)?.ordering != Ordering::Less
                    && symbols.compare(codes, high)?.ordering != Ordering::Greater
            }
            Prepared::In(strings) => {
                for string in strings {
                    if symbols.compare(codes, string)?.ordering == Ordering::Equal {
                        return Ok(true);
                    }
                }
                false
            }
            Prepared::Like(_) => unreachable!("strings are decoded to be searched"),
        })
    };
    let decode = match prepared {
        Prepared::Like(_) => true,
        Prepared::In(strings) => strings.len() > IN_ONE_BY_ONE,
        _ => false,
    };
    by_runs(selection, |rows, selection| {
        if decode {
            let (mut offsets, mut data) = (vec![0], Vec::new());
            fsst.decode(rows.clone(), &mut offsets, &mut data)?;
            test(rows, &offsets, &data, prepared, selection);
            return Ok(());
        }
        let mut outcome = Ok(());
        fsst.each(rows, |row, codes| {
            if outcome.is_ok() && selection.get(row) {
                match one_by_one(codes) {
                    Ok(matches) => selection.set(row, matches),
                    Err(error) => outcome = Err(error),
                }
            }
        })?;
        outcome
    })
}

/// The codes of the entries that match.
enum MatchingCodes {
    /// All from the first to before the second, or, when `true`, all others.
    Range(Range<u32>, bool),
    /// The set bits.
    Some(Vec<bool>),
}

impl MatchingCodes {
    fn new(predicate: &TextPredicate<'_>, prepared: &Prepared<'_>, entries: &Strings) -> Self {
        let view = entries.view();
        let count = entries.len() as u32;
        // How many entries come before the first that `behind` holds for.
        let before = |behind: &dyn Fn(&[u8]) -> bool| {
            let (mut low, mut high) = (0, count);
            while low < high {
                let middle = low.midpoint(high);
                if behind(view.get(middle as usize)) { high = middle } else { low = middle + 1 }
            }
            low
        };
        let at = |string: &[u8]| before(&|entry| entry >= string);
        let after = |string: &[u8]| before(&|entry| entry > string);
        let range = |range| Self::Range(range, false);
        match *predicate {
            TextPredicate::Eq(string) => range(at(string)..after(string)),
            TextPredicate::Ne(string) => Self::Range(at(string)..after(string), true),
            TextPredicate::Lt(string) => range(0..at(string)),
            TextPredicate::Le(string) => range(0..after(string)),
            TextPredicate::Gt(string) => range(after(string)..count),
            TextPredicate::Ge(string) => range(at(string)..count),
            TextPredicate::Between(low, high) => range(at(low)..after(high)),
            TextPredicate::Prefix(prefix) => {
                range(at(prefix)..before(&|entry| entry > prefix && !entry.starts_with(prefix)))
            }
            TextPredicate::In(_) | TextPredicate::Contains(_) | TextPredicate::Like(_) => {
                Self::Some(view.iter().map(|entry| prepared.matches(entry)).collect())
            }
        }
    }
}

/// Takes out the rows whose codes are not wanted.
fn on_codes(dictionary: &Dictionary<'_>, wanted: &MatchingCodes, selection: &mut Mask) -> Result<()> {
    let mut codes = Vec::new();
    by_runs(selection, |rows, selection| {
        dictionary.codes(rows.clone(), &mut codes);
        let words = &mut selection.words_mut()[rows.start / 64..rows.end.div_ceil(64)];
        for (word, codes) in words.iter_mut().zip(codes.chunks(64)) {
            let bits = match wanted {
                MatchingCodes::Range(range, others) => {
                    let len = range.end.saturating_sub(range.start);
                    bits(codes, |code| (code.wrapping_sub(range.start) < len) != *others)
                }
                MatchingCodes::Some(wanted) => bits(codes, |code| wanted.get(code as usize) == Some(&true)),
            };
            *word &= bits;
        }
        Ok(())
    })
}

/// A bit for each code: whether it is wanted.
#[inline]
fn bits(codes: &[u32], wanted: impl Fn(u32) -> bool) -> u64 {
    codes.iter().enumerate().fold(0, |bits, (index, code)| bits | u64::from(wanted(*code)) << index)
}
