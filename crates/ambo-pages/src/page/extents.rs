//! A set of page numbers, kept as the longest possible runs.

use std::collections::{BTreeMap, BTreeSet};

use ambo_types::id::{PageNo, PagePtr};

/// Consecutive pages.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct PageRange {
    /// The first page.
    pub start: PageNo,
    /// How many pages.
    pub pages: u64,
}

impl PageRange {
    /// `pages` pages from `start`.
    pub fn new(start: PageNo, pages: u64) -> Self {
        Self { start, pages }
    }
    /// The number of the page after the last.
    pub fn end(self) -> u64 {
        self.start.0 + self.pages
    }
}

/// Whether no page is in two of these ranges; for assertions.
pub fn are_disjoint(ranges: &[PageRange]) -> bool {
    let mut sorted = ranges.to_vec();
    sorted.sort_unstable();
    sorted.array_windows().all(|[one, next]| one.end() <= next.start.0)
}

impl From<PagePtr> for PageRange {
    fn from(ptr: PagePtr) -> Self {
        Self { start: ptr.number(), pages: u64::from(ptr.units()) }
    }
}

/// Runs are found by length through one set a power of two: class `c` holds the starts of the runs of
/// `2^c ..= 2^(c+1) - 1` pages.
const CLASSES: usize = 64;
/// How many runs of the one class that holds too short ones as well are tried before a longer class is taken.
const TRIES: usize = 32;

/// A set of pages: ordered, runs never touch each other.
#[derive(Clone, Debug, Default)]
pub struct Extents {
    runs: BTreeMap<u64, u64>,
    classes: Option<Box<[BTreeSet<u64>; CLASSES]>>,
    pages: u64,
}

impl Extents {
    /// An empty set.
    pub fn new() -> Self {
        Self::default()
    }

    /// An empty set in which runs can be searched by length.
    pub fn searchable() -> Self {
        Self { classes: Some(Box::new(std::array::from_fn(|_| BTreeSet::new()))), ..Self::default() }
    }

    /// A copy in which runs cannot be searched by length.
    pub fn plain(&self) -> Self {
        Self { runs: self.runs.clone(), classes: None, pages: self.pages }
    }

    /// How many pages are in the set.
    pub fn pages(&self) -> u64 {
        self.pages
    }

    /// The runs in ascending order.
    pub fn iter(&self) -> impl Iterator<Item = PageRange> + '_ {
        self.runs.iter().map(|(&start, &pages)| PageRange::new(PageNo(start), pages))
    }

    /// The last run.
    pub fn last(&self) -> Option<PageRange> {
        self.runs.last_key_value().map(|(&start, &pages)| PageRange::new(PageNo(start), pages))
    }

    /// The pages of `range` that are in the set, as runs.
    pub fn intersection(&self, range: PageRange) -> Vec<PageRange> {
        let (start, end) = (range.start.0, range.end());
        let before = self.runs.range(..start).next_back();
        before
            .into_iter()
            .chain(self.runs.range(start..end))
            .filter_map(|(&s, &n)| {
                let (s, e) = (s.max(start), (s + n).min(end));
                (s < e).then(|| PageRange::new(PageNo(s), e - s))
            })
            .collect()
    }

    /// Whether all pages of `range` are in the set.
    pub fn contains(&self, range: PageRange) -> bool {
        let run = self.runs.range(..=range.start.0).next_back();
        range.pages == 0 || run.is_some_and(|(&start, &pages)| range.end() <= start + pages)
    }

    /// Adds pages; those that are in the set already stay. Returns how many are new.
    pub fn insert(&mut self, range: PageRange) -> u64 {
        if range.pages == 0 {
            return 0;
        }
        let known: u64 = self.intersection(range).iter().map(|run| run.pages).sum();
        let (mut start, mut end) = (range.start.0, range.end());
        if let Some((&s, &n)) = self.runs.range(..start).next_back()
            && s + n >= start
        {
            start = s;
            end = end.max(s + n);
        }
        while let Some((&s, &n)) = self.runs.range(start..=end).next() {
            end = end.max(s + n);
            self.drop_run(s, n);
        }
        self.add_run(start, end - start);
        range.pages - known
    }

    /// Removes pages; those that are not in the set are passed over. Returns how many were in it.
    pub fn remove(&mut self, range: PageRange) -> u64 {
        let mut removed = 0;
        for part in self.intersection(range) {
            let (&s, &n) = self.runs.range(..=part.start.0).next_back().expect("an intersecting run");
            self.drop_run(s, n);
            self.add_run(s, part.start.0 - s);
            self.add_run(part.end(), s + n - part.end());
            removed += part.pages;
        }
        removed
    }

    /// Takes a run of at least `least` and at most `wanted` pages.
    pub fn take_run(&mut self, least: u64, wanted: u64) -> Option<PageRange> {
        let start = self.find(least)?;
        let range = PageRange::new(PageNo(start), self.runs[&start].min(wanted));
        debug_assert!((least..=wanted).contains(&range.pages), "as many pages are taken as are asked for");
        self.remove(range);
        Some(range)
    }

    /// The start of a low run of at least `pages` pages.
    fn find(&self, pages: u64) -> Option<u64> {
        assert!(pages > 0, "a run has pages");
        let classes = self.classes.as_ref().expect("only searchable sets are searched");
        let class = pages.ilog2() as usize;
        let fits = |start: &&u64| self.runs[*start] >= pages;
        // A run of the same class may be too short; one of any class above is long enough.
        let tries = if pages.is_power_of_two() { 1 } else { TRIES };
        let near = classes[class].iter().take(tries).find(fits);
        let far = classes[class + 1..].iter().filter_map(BTreeSet::first).min();
        let low = near.into_iter().chain(far).min().copied();
        low.or_else(|| classes[class].iter().find(fits).copied())
    }

    fn add_run(&mut self, start: u64, pages: u64) {
        if pages > 0 {
            debug_assert!(self.is_apart(start, pages), "runs never touch each other");
            self.runs.insert(start, pages);
            self.pages += pages;
            if let Some(classes) = &mut self.classes {
                classes[pages.ilog2() as usize].insert(start);
            }
        }
    }

    /// Whether no run is in the way of one with these pages, or touches it; for assertions.
    fn is_apart(&self, start: u64, pages: u64) -> bool {
        let before = self.runs.range(..=start).next_back();
        let behind = self.runs.range(start..).next();
        before.is_none_or(|(from, of)| from + of < start)
            && behind.is_none_or(|(from, _)| start + pages < *from)
    }
    fn drop_run(&mut self, start: u64, pages: u64) {
        let dropped = self.runs.remove(&start);
        debug_assert_eq!(dropped, Some(pages), "a run that goes is there");
        self.pages -= pages;
        if let Some(classes) = &mut self.classes {
            classes[pages.ilog2() as usize].remove(&start);
        }
    }
}

impl FromIterator<PageRange> for Extents {
    fn from_iter<T: IntoIterator<Item = PageRange>>(ranges: T) -> Self {
        let mut set = Self::new();
        for range in ranges {
            set.insert(range);
        }
        set
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn range(start: u64, pages: u64) -> PageRange {
        PageRange::new(PageNo(start), pages)
    }

    proptest! {
        // Keeps away: runs that overlap, touch, or lose pages when ranges are added and removed in any order.
        #[test]
        fn extents_are_a_set(steps in proptest::collection::vec((0u8..4, 0u64..200, 0u64..40), 1..120)) {
            let mut set = Extents::searchable();
            let mut model = BTreeSet::new();
            for (what, start, pages) in steps {
                let span = start..start + pages;
                match what {
                    0 => {
                        let new = span.filter(|&p| model.insert(p)).count() as u64;
                        prop_assert_eq!(set.insert(range(start, pages)), new);
                    }
                    1 => {
                        let gone = span.filter(|p| model.remove(p)).count() as u64;
                        prop_assert_eq!(set.remove(range(start, pages)), gone);
                    }
                    2 => {
                        let inside = span.clone().all(|p| model.contains(&p));
                        prop_assert_eq!(set.contains(range(start, pages)), inside);
                        let both: u64 = set.intersection(range(start, pages)).iter().map(|r| r.pages).sum();
                        prop_assert_eq!(both, span.filter(|p| model.contains(p)).count() as u64);
                    }
                    _ => {
                        let pages = pages.max(1);
                        let fits = |&s: &u64| (s..s + pages).all(|p| model.contains(&p));
                        let any = model.iter().copied().find(|s| fits(s));
                        let got = set.take_run(pages, pages).map(|r| r.start);
                        prop_assert_eq!(got.is_some(), any.is_some());
                        if let Some(PageNo(s)) = got {
                            prop_assert!(fits(&s));
                            (s..s + pages).for_each(|p| assert!(model.remove(&p)));
                        }
                    }
                }
                let flat: Vec<u64> = set.iter().flat_map(|r| r.start.0..r.end()).collect();
                prop_assert_eq!(flat, model.iter().copied().collect::<Vec<_>>());
                prop_assert_eq!(set.pages(), model.len() as u64);
                let runs: Vec<_> = set.iter().collect();
                prop_assert!(runs.windows(2).all(|w| w[0].end() < w[1].start.0), "runs touch");
            }
        }
    }
}
