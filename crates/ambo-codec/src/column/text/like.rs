//! LIKE with `%` alone: how a string begins, what is in it in this order, and how it ends.

use std::ops::Range;

use memchr::memmem::Finder;

/// The pieces of a pattern between its `%`, made ready for many strings.
#[derive(Clone, Debug)]
pub(crate) struct Like<'p> {
    begin: Vec<u8>,
    parts: Vec<Finder<'p>>,
    end: Vec<u8>,
}

impl<'p> Like<'p> {
    /// The pattern whose pieces between `%` these are: `LIKE 'a%b%'` has `a`, `b` and an empty one. REQUIRES: two at least.
    pub(crate) fn new(pieces: &[&'p [u8]]) -> Self {
        let [begin, parts @ .., end] = pieces else { panic!("a pattern without %") };
        let parts = parts.iter().filter(|part| !part.is_empty()).map(|part| Finder::new(*part)).collect();
        Self { begin: begin.to_vec(), parts, end: end.to_vec() }
    }

    /// With constants of its own.
    pub(crate) fn into_owned(self) -> Like<'static> {
        let parts = self.parts.into_iter().map(Finder::into_owned).collect();
        Like { begin: self.begin, parts, end: self.end }
    }

    /// Whether a string is so.
    pub(crate) fn matches(&self, string: &[u8]) -> bool {
        let middle = string.strip_prefix(&self.begin[..]).and_then(|rest| rest.strip_suffix(&self.end[..]));
        middle.is_some_and(|middle| has_in_order(&self.parts, middle))
    }

    /// Calls `found` with the place of each string that is so, in ascending order. String `i` is from `offsets[i]` to `offsets[i + 1]`.
    ///
    /// All bytes are searched at once: that is quicker than a search for each string, of which most are short.
    pub(crate) fn find_all(&self, offsets: &[u32], data: &[u8], mut found: impl FnMut(usize)) {
        let strings = offsets.len().saturating_sub(1);
        let bounds = |place: usize| -> Range<usize> { offsets[place] as usize..offsets[place + 1] as usize };
        let Some((first, others)) = self.parts.split_first().filter(|_| self.begin.is_empty()) else {
            (0..strings).filter(|place| self.matches(&data[bounds(*place)])).for_each(found);
            return;
        };
        let (mut from, mut place) = (offsets.first().map_or(0, |first| *first as usize), 0);
        let last = offsets.last().map_or(0, |last| *last as usize);
        while let Some(hit) = first.find(&data[from..last]).map(|hit| from + hit) {
            place += offsets[place + 1..].partition_point(|end| *end as usize <= hit);
            let string = bounds(place);
            let behind = hit + first.needle().len();
            if behind <= string.end {
                let middle = data[behind..string.end].strip_suffix(&self.end[..]);
                if middle.is_some_and(|middle| has_in_order(others, middle)) {
                    found(place);
                }
                // The first hit leaves most to the other parts: a later one finds no more.
                (from, place) = (string.end, place + 1);
            } else {
                from = hit + 1;
            }
            if place >= strings {
                return;
            }
        }
    }
}

fn has_in_order(parts: &[Finder<'_>], string: &[u8]) -> bool {
    let mut rest = string;
    parts.iter().all(|part| match part.find(rest) {
        Some(at) => {
            rest = &rest[at + part.needle().len()..];
            true
        }
        None => false,
    })
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// The meaning of LIKE, one byte after the other.
    fn is_like(string: &[u8], pattern: &[u8]) -> bool {
        match pattern.split_first() {
            None => string.is_empty(),
            Some((b'%', rest)) => (0..=string.len()).any(|from| is_like(&string[from..], rest)),
            Some((byte, rest)) => string.first() == Some(byte) && is_like(&string[1..], rest),
        }
    }

    proptest! {
        /// Keeps away: a search of many strings at once that finds what reaches over two of them, or forgets one.
        #[test]
        fn patterns_find_what_like_means(
            strings in prop::collection::vec("[ab]{0,6}", 0..20),
            pattern in "[ab%]{0,3}%[ab%]{0,4}",
        ) {
            let pieces: Vec<&[u8]> = pattern.as_bytes().split(|byte| *byte == b'%').collect();
            let like = Like::new(&pieces);
            let mut offsets = vec![0];
            let mut data = Vec::new();
            for string in &strings {
                data.extend_from_slice(string.as_bytes());
                offsets.push(data.len() as u32);
                let expected = is_like(string.as_bytes(), pattern.as_bytes());
                prop_assert_eq!(like.matches(string.as_bytes()), expected, "{} {}", string, pattern);
            }
            let mut found = Vec::new();
            like.find_all(&offsets, &data, |place| found.push(place));
            let expected = strings.iter().enumerate().filter(|(_, one)| like.matches(one.as_bytes()));
            prop_assert_eq!(found, expected.map(|(place, _)| place).collect::<Vec<_>>());
        }
    }
}
