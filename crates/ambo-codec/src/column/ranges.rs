//! Sets of codes as ranges: what every predicate becomes before it meets a block.

use super::Code;

/// Inclusive ranges of codes, increasing, neither overlapping nor touching.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Ranges<C> {
    list: Vec<(C, C)>,
}

/// What a set of codes does to the codes from one to another.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Verdict {
    All,
    None,
    Some,
}

/// A code of any width, 128 bits included.
pub(crate) trait Point: Copy + Ord {
    /// The next code, unless this is the last.
    fn next(self) -> Option<Self>;
    /// The code before, unless this is the first.
    fn previous(self) -> Option<Self>;
    const FIRST: Self;
    const LAST: Self;
}

macro_rules! points {
    ($($int:ty),*) => {$(
        impl Point for $int {
            const FIRST: Self = 0;
            const LAST: Self = <$int>::MAX;
            #[inline]
            fn next(self) -> Option<Self> {
                self.checked_add(1)
            }
            #[inline]
            fn previous(self) -> Option<Self> {
                self.checked_sub(1)
            }
        }
    )*};
}

points!(u8, u16, u32, u64, u128);

impl<C: Point> Ranges<C> {
    /// No code.
    pub(crate) fn none() -> Self {
        Self { list: Vec::new() }
    }

    /// The codes from `low` to `high`, none when `high` is below `low`.
    pub(crate) fn one(low: C, high: C) -> Self {
        Self { list: if low <= high { vec![(low, high)] } else { Vec::new() } }
    }

    /// The union of any ranges.
    pub(crate) fn union(mut parts: Vec<(C, C)>) -> Self {
        parts.retain(|(low, high)| low <= high);
        parts.sort_unstable();
        let mut list: Vec<(C, C)> = Vec::with_capacity(parts.len());
        for (low, high) in parts {
            match list.last_mut() {
                Some((_, end)) if end.next().is_none_or(|next| low <= next) => *end = high.max(*end),
                _ => list.push((low, high)),
            }
        }
        Self { list }
    }

    /// Every code that is not in the set.
    pub(crate) fn complement(&self) -> Self {
        let mut list = Vec::with_capacity(self.list.len() + 1);
        let mut from = Some(C::FIRST);
        for &(low, high) in &self.list {
            if let (Some(from), Some(to)) = (from, low.previous())
                && from <= to
            {
                list.push((from, to));
            }
            from = high.next();
        }
        list.extend(from.map(|from| (from, C::LAST)));
        Self { list }
    }

    #[inline]
    pub(crate) fn as_slice(&self) -> &[(C, C)] {
        &self.list
    }

    /// Whether `code` is in the set.
    #[inline]
    pub(crate) fn contains(&self, code: C) -> bool {
        contains(&self.list, code)
    }

    /// The set as seen from codes `low` to `high`, which `map` takes to another type, monotone.
    pub(crate) fn clip<D: Point>(&self, low: C, high: C, map: impl Fn(C) -> D) -> Ranges<D> {
        let overlapping = self.overlapping(low, high);
        let list = overlapping.iter().map(|&(from, to)| (map(from.max(low)), map(to.min(high))));
        Ranges { list: list.collect() }
    }

    /// The ranges that share a code with those from `low` to `high`.
    #[inline]
    pub(crate) fn overlapping(&self, low: C, high: C) -> &[(C, C)] {
        let from = self.list.partition_point(|range| range.1 < low);
        let to = self.list.partition_point(|range| range.0 <= high);
        self.list.get(from..to).unwrap_or(&[])
    }

    /// What the set does to the codes from `low` to `high`.
    #[inline]
    pub(crate) fn verdict(&self, low: C, high: C) -> Verdict {
        match self.overlapping(low, high) {
            [] => Verdict::None,
            &[(from, to)] if from <= low && high <= to => Verdict::All,
            _ => Verdict::Some,
        }
    }
}

/// Whether `code` is in one of `ranges`, which are in order.
#[inline]
pub(crate) fn contains<C: Copy + Ord>(ranges: &[(C, C)], code: C) -> bool {
    let index = ranges.partition_point(|range| range.1 < code);
    ranges.get(index).is_some_and(|range| range.0 <= code)
}

impl<C: Point + Code> Ranges<C> {
    /// The set of `map(code)` for a monotone `map` from positions below `count` to codes: the positions whose
    /// code is in the set.
    pub(crate) fn positions(&self, count: usize, code: impl Fn(usize) -> C) -> Vec<(usize, usize)> {
        let first = |reached: &dyn Fn(C) -> bool| {
            let (mut low, mut high) = (0, count);
            while low < high {
                let middle = (low + high) / 2;
                if reached(code(middle)) { high = middle } else { low = middle + 1 }
            }
            low
        };
        let list =
            self.list.iter().map(|&(low, high)| (first(&|code| code >= low), first(&|code| code > high)));
        list.filter(|(from, to)| from < to).map(|(from, to)| (from, to - 1)).collect()
    }
}
