//! Ranges of keys that were deleted as a whole.
//!
//! They are kept as *fragments*, which do not overlap: where a range meets others it is cut, and each fragment has the timestamps of all
//! commits that deleted it. A commit to a key counts more than the deletion of a range by the same commit.
//!
//! **Thread safety.** Any method by any number of threads; deletions come in the order of their commits.
//!
//! 1. Where no range was ever deleted, a reader looks at one flag. Else readers share a lock, and wait for one who deletes a range.
//! 2. A snapshot at or after every `oldest` ever given finds what it always would have found.

use std::{collections::BTreeMap, ops::Bound};

use ambo_pages::sync::{AtomicUsize, Ordering};
use ambo_types::id::Timestamp;
use parking_lot::RwLock;
use smallvec::{SmallVec, smallvec};

/// A range of keys: from the lower bound on, and below the upper.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct DeletedRange {
    /// The first key in it.
    pub lower: Box<[u8]>,
    /// The first key behind it; none if there is no end.
    pub upper: Option<Box<[u8]>>,
}

impl DeletedRange {
    /// Whether a key is in it.
    pub fn has(&self, key: &[u8]) -> bool {
        *self.lower <= *key && is_below(key, self.upper.as_deref())
    }
}

fn is_below(key: &[u8], upper: Option<&[u8]>) -> bool {
    upper.is_none_or(|upper| key < upper)
}

/// The commits that deleted a fragment, ascending.
type Commits = SmallVec<[Timestamp; 2]>;

struct Fragment {
    upper: Option<Box<[u8]>>,
    commits: Commits,
}

impl Fragment {
    fn at(&self, at: Timestamp) -> Option<Timestamp> {
        self.commits.iter().rev().copied().find(|commit| *commit <= at)
    }

    /// One more commit has deleted it. Those are forgotten that no snapshot from `oldest` on has to know.
    fn add(&mut self, at: Timestamp, oldest: Timestamp) {
        let newest = self.commits.last().expect("a fragment was deleted");
        assert!(*newest <= at, "ranges are deleted in the order of commits");
        if *newest < at {
            self.commits.push(at);
        }
        let known = self.commits.iter().rposition(|commit| *commit <= oldest).unwrap_or(0);
        self.commits.drain(..known);
    }
}

type Fragments = BTreeMap<Box<[u8]>, Fragment>;

/// The deleted ranges of a memtable.
#[derive(Default)]
pub(super) struct Ranges {
    /// How often a range was deleted.
    count: AtomicUsize,
    fragments: RwLock<Fragments>,
}

impl Ranges {
    /// Whether no range was deleted yet.
    #[inline]
    pub fn is_empty(&self) -> bool {
        self.count.load(Ordering::Acquire) == 0
    }

    /// Deletes the keys from `lower` on and below `upper`.
    pub fn insert(&self, lower: &[u8], upper: Option<&[u8]>, at: Timestamp, oldest: Timestamp) {
        assert!(is_below(lower, upper), "a range has keys");
        let mut fragments = self.fragments.write();
        cut(&mut fragments, lower);
        upper.iter().for_each(|upper| cut(&mut fragments, upper));
        for (lower, fragment) in joined(&mut fragments, lower, upper, at, oldest) {
            let before = fragments.insert(lower, fragment);
            debug_assert!(before.is_none(), "fragments do not overlap");
        }
        if cfg!(debug_assertions) {
            verify(&fragments, lower, upper);
        }
        self.count.fetch_add(1, Ordering::Release);
    }

    /// When a key was deleted with a range, as a snapshot at `at` sees it.
    #[inline]
    pub fn deleted(&self, key: &[u8], at: Timestamp) -> Option<Timestamp> {
        if self.is_empty() {
            return None;
        }
        find(&self.fragments.read(), key).and_then(|(_, fragment)| fragment.at(at))
    }

    /// A range around a key all of which was deleted by `at`, if there is one.
    pub fn around(&self, key: &[u8], at: Timestamp) -> Option<DeletedRange> {
        if self.is_empty() {
            return None;
        }
        let fragments = self.fragments.read();
        let (lower, fragment) = find(&fragments, key).filter(|(_, fragment)| fragment.at(at).is_some())?;
        Some(DeletedRange { lower: lower.into(), upper: fragment.upper.clone() })
    }

    /// Whether a part of a range was deleted later than `since`.
    pub fn is_touched(&self, lower: &[u8], upper: Option<&[u8]>, since: Timestamp) -> bool {
        if self.is_empty() || !is_below(lower, upper) {
            return false;
        }
        let fragments = self.fragments.read();
        let above = (Bound::Excluded(lower), upper.map_or(Bound::Unbounded, Bound::Excluded));
        let of_lower = find(&fragments, lower).map(|(_, fragment)| fragment);
        let mut met = of_lower.into_iter().chain(fragments.range::<[u8], _>(above).map(|(_, met)| met));
        met.any(|fragment| fragment.commits.last().is_some_and(|commit| *commit > since))
    }

    /// All of them, ascending, those that meet as one.
    pub fn all(&self) -> Vec<DeletedRange> {
        let mut all: Vec<DeletedRange> = Vec::new();
        for (lower, fragment) in &*self.fragments.read() {
            match all.last_mut().filter(|last| last.upper.as_deref() == Some(lower)) {
                Some(last) => last.upper.clone_from(&fragment.upper),
                None => all.push(DeletedRange { lower: lower.clone(), upper: fragment.upper.clone() }),
            }
        }
        debug_assert!(all.is_sorted_by(|one, next| one.upper.as_ref().is_some_and(|end| *end < next.lower)));
        all
    }
}

/// That the fragments of a range are in order, and have the commits that deleted them.
fn verify(fragments: &Fragments, lower: &[u8], upper: Option<&[u8]>) {
    let inside = (Bound::Included(lower), upper.map_or(Bound::Unbounded, Bound::Excluded));
    let mut end = lower;
    for (lower, fragment) in fragments.range::<[u8], _>(inside) {
        assert_eq!(end, &**lower, "a range that was deleted has no gaps");
        assert!(is_below(lower, fragment.upper.as_deref()), "a fragment has keys");
        assert!(
            !fragment.commits.is_empty() && fragment.commits.is_sorted_by(|one, next| one < next),
            "commits that deleted a fragment ascend"
        );
        end = fragment.upper.as_deref().unwrap_or_default();
    }
    assert_eq!(end, upper.unwrap_or_default(), "a range ends where it was to end");
}
/// The fragment that a key is in.
fn find<'f>(fragments: &'f Fragments, key: &[u8]) -> Option<(&'f [u8], &'f Fragment)> {
    let below = (Bound::Unbounded, Bound::Included(key));
    let (lower, fragment) = fragments.range::<[u8], _>(below).next_back()?;
    is_below(key, fragment.upper.as_deref()).then_some((&**lower, fragment))
}

/// Has a fragment begin at `key` if one goes over it.
fn cut(fragments: &mut Fragments, key: &[u8]) {
    let below = (Bound::Unbounded, Bound::Excluded(key));
    let Some((_, fragment)) = fragments.range_mut::<[u8], _>(below).next_back() else { return };
    if is_below(key, fragment.upper.as_deref()) {
        let upper = fragment.upper.replace(key.into());
        let commits = fragment.commits.clone();
        fragments.insert(key.into(), Fragment { upper, commits });
    }
}

/// Takes the fragments of a range out, and returns what they become when it is deleted: with what was between them, and those as one that
/// differ no more.
fn joined(
    fragments: &mut Fragments,
    lower: &[u8],
    upper: Option<&[u8]>,
    at: Timestamp,
    oldest: Timestamp,
) -> Vec<(Box<[u8]>, Fragment)> {
    let mut made: Vec<(Box<[u8]>, Fragment)> = Vec::new();
    let mut push = |lower: Box<[u8]>, fragment: Fragment| match made.last_mut() {
        Some((_, last)) if last.commits == fragment.commits => last.upper = fragment.upper,
        _ => made.push((lower, fragment)),
    };
    let inside = (Bound::Included(lower), upper.map_or(Bound::Unbounded, Bound::Excluded));
    let keys: Vec<Box<[u8]>> = fragments.range::<[u8], _>(inside).map(|(lower, _)| lower.clone()).collect();
    // Where the next begins; none behind one without an end.
    let mut from: Option<Box<[u8]>> = Some(lower.into());
    for key in keys {
        let mut fragment = fragments.remove(&key).expect("it was just there");
        let begin = from.take().expect("nothing is behind a fragment without an end");
        if begin < key {
            push(begin, Fragment { upper: Some(key.clone()), commits: smallvec![at] });
        }
        fragment.add(at, oldest);
        from.clone_from(&fragment.upper);
        push(key, fragment);
    }
    if let Some(begin) = from
        && is_below(&begin, upper)
    {
        push(begin, Fragment { upper: upper.map(Into::into), commits: smallvec![at] });
    }
    made
}

#[cfg(all(test, not(feature = "shuttle")))]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn range(lower: u8, upper: Option<u8>) -> (Vec<u8>, Option<Vec<u8>>) {
        (vec![lower], upper.map(|upper| vec![upper]))
    }

    proptest! {
        /// Keeps away: a key that was deleted and is found, or was not and is not, at whatever moment; and a moment that is still read and
        /// forgotten.
        #[test]
        fn each_moment_has_its_ranges(deletions in prop::collection::vec((0u8..40, 0u8..44, 0u64..4), 1..40)) {
            let ranges = Ranges::default();
            let mut model: Vec<Vec<u64>> = vec![Vec::new(); 40];
            let (mut at, mut oldest) = (10, 0);
            for (lower, len, step) in deletions {
                at += step;
                // Half of the time nobody reads what was before the last commit but one.
                oldest = if step == 3 { at - 2 } else { oldest };
                let end = lower.saturating_add(len + 1);
                let (begin, upper) = range(lower, (end < 40).then_some(end));
                ranges.insert(&begin, upper.as_deref(), Timestamp(at), Timestamp(oldest));
                model.iter_mut().take(usize::from(end)).skip(usize::from(lower)).for_each(|of| of.push(at));
                for moment in oldest..=at + 1 {
                    for (key, commits) in model.iter().enumerate() {
                        let expected = commits.iter().rev().find(|commit| **commit <= moment);
                        let found = ranges.deleted(&[key as u8], Timestamp(moment));
                        prop_assert_eq!(found.map(|found| found.0), expected.copied());
                        let around = ranges.around(&[key as u8], Timestamp(moment));
                        prop_assert_eq!(around.is_some(), expected.is_some());
                        prop_assert!(around.is_none_or(|around| around.has(&[key as u8])));
                    }
                }
                let touched = |lower: usize, upper: usize, since| {
                    model[lower..upper].iter().any(|of| of.last().is_some_and(|commit| *commit > since))
                };
                for (lower, upper) in [(0, 40), (3, 9), (20, 21), (39, 40)] {
                    let is = ranges.is_touched(&[lower as u8], Some(&[upper as u8]), Timestamp(at - 1));
                    prop_assert_eq!(is, touched(lower, upper, at - 1));
                }
                let all = ranges.all();
                let is_in = |key: usize| all.iter().any(|range| range.has(&[key as u8]));
                prop_assert!((0..40).all(|key| is_in(key) != model[key].is_empty()));
            }
        }
    }

    /// Keeps away: memory for each deletion of the same keys, once nobody reads the older ones.
    #[test]
    fn what_nobody_reads_is_joined() {
        let ranges = Ranges::default();
        for number in 0..100u64 {
            ranges.insert(
                &[number as u8],
                Some(&[number as u8 + 1]),
                Timestamp(number + 1),
                Timestamp(number),
            );
        }
        assert_eq!(ranges.fragments.read().len(), 100);
        ranges.insert(&[0], None, Timestamp(200), Timestamp(200));
        assert_eq!(ranges.fragments.read().len(), 1);
        assert_eq!(ranges.deleted(&[255], Timestamp(199)), None);
        assert_eq!(ranges.all(), [DeletedRange { lower: [0].into(), upper: None }]);
    }
}
