//! The numbers of the rows of an extent, where they are its key: as runs that ascend.

use std::ops::Range;

use ambo_codec::varint;

/// See the module.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub(crate) struct Numbers {
    /// The first number of each run.
    firsts: Vec<u64>,
    /// The record with which each begins.
    starts: Vec<u32>,
    count: u32,
}

impl Numbers {
    /// How many.
    pub(crate) fn count(&self) -> u32 {
        self.count
    }

    /// Appends a number, greater than those before.
    pub(super) fn push(&mut self, number: u64) {
        let next = self.firsts.last().zip(self.starts.last());
        if next.is_none_or(|(first, start)| first.checked_add(u64::from(self.count - start)) != Some(number))
        {
            self.firsts.push(number);
            self.starts.push(self.count);
        }
        self.count += 1;
    }

    /// The numbers of these records.
    pub(super) fn of(&self, records: Range<u32>, out: &mut Vec<u64>) {
        debug_assert!(records.end <= self.count);
        let mut at = records.start;
        let mut run = self.starts.partition_point(|start| *start <= at).saturating_sub(1);
        while at < records.end {
            let end = self.starts.get(run + 1).copied().unwrap_or(self.count).min(records.end);
            let first = self.firsts[run] + u64::from(at - self.starts[run]);
            out.extend((0..u64::from(end - at)).map(|more| first + more));
            (at, run) = (end, run + 1);
        }
    }

    /// As the directory has them: how many runs, and of each how far it begins behind the end of the one before, and its numbers.
    pub(super) fn encode(&self, out: &mut Vec<u8>) {
        varint::encode(self.firsts.len() as u64, out);
        let mut end = 0;
        for (run, first) in self.firsts.iter().enumerate() {
            let count = self.starts.get(run + 1).copied().unwrap_or(self.count) - self.starts[run];
            varint::encode(first - end, out);
            varint::encode(u64::from(count), out);
            end = first + u64::from(count - 1);
        }
    }

    pub(super) fn take(bytes: &mut &[u8]) -> Result<Self, &'static str> {
        const CUT: &str = "runs of numbers that are cut off";
        let runs = varint::take(bytes).ok_or(CUT)?;
        if runs > bytes.len() as u64 {
            return Err(CUT);
        }
        let mut numbers = Self::default();
        let mut last: Option<u64> = None;
        for _ in 0..runs {
            let behind = varint::take(bytes).ok_or(CUT)?;
            let count = varint::take(bytes).ok_or(CUT)?;
            let count =
                u32::try_from(count).ok().filter(|count| *count > 0).ok_or("a run without numbers")?;
            // A run that goes on where the last one ended would be one with it.
            let first = match last {
                Some(_) if behind < 2 => return Err("runs of numbers that are one"),
                Some(last) => last.checked_add(behind),
                None => Some(behind),
            };
            let end = first.and_then(|first| Some((first, first.checked_add(u64::from(count - 1))?)));
            let (first, end) = end.ok_or("numbers that no row has")?;
            numbers.firsts.push(first);
            numbers.starts.push(numbers.count);
            numbers.count = numbers.count.checked_add(count).ok_or("more numbers than records")?;
            last = Some(end);
        }
        Ok(numbers)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    // Keeps away: rows with the number of others, which are found, deleted and locked by it.
    #[test]
    fn numbers_are_those_that_came() {
        for seed in 0..200u64 {
            let mut random = seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1;
            let mut next = || {
                random = random.wrapping_mul(0x5851_f42d_4c95_7f2d).wrapping_add(99);
                random >> 33
            };
            let mut numbers = Numbers::default();
            let mut expected = Vec::new();
            let mut number = next() % 3;
            for _ in 0..next() % 300 {
                numbers.push(number);
                expected.push(number);
                number += if next() % 4 == 0 { 1 + next() % 1000 } else { 1 };
            }
            let mut bytes = Vec::new();
            numbers.encode(&mut bytes);
            let mut rest = &bytes[..];
            assert_eq!(Numbers::take(&mut rest), Ok(numbers.clone()));
            assert!(rest.is_empty());
            for _ in 0..20 {
                let start = next() as usize % (expected.len() + 1);
                let end = start + next() as usize % (expected.len() - start + 1);
                let mut found = Vec::new();
                numbers.of(start as u32..end as u32, &mut found);
                assert_eq!(found, expected[start..end]);
            }
        }
    }

    // Keeps away: numbers that wrap, and two ways to write the same.
    #[test]
    fn bad_runs_are_refused() {
        let run = |parts: &[u64]| {
            let mut bytes = Vec::new();
            parts.iter().for_each(|part| varint::encode(*part, &mut bytes));
            Numbers::take(&mut &bytes[..])
        };
        assert_eq!(run(&[2, 5, 3, 2, 1]).unwrap().firsts, [5, 9]);
        for bad in [
            &[1][..],
            &[1, 5],
            &[1, 5, 0],
            &[2, 5, 3, 1, 1],
            &[2, 5, 3, 0, 1],
            &[1, u64::MAX, 2],
            &[2, u64::MAX, 1, 2, 1],
            &[1, 0, 1 << 33],
            &[2, 0, u32::MAX as u64, 2, 9],
            &[u64::MAX],
        ] {
            assert!(run(bad).is_err(), "{bad:?}");
        }
    }
}
