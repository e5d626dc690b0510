//! Sorted sets of integer keys, as indexes have them.

use crate::random::Random;

/// How keys lie among all numbers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Keys {
    /// One after the other: record numbers.
    Dense,
    /// Runs of neighbours with small gaps, and wide gaps between runs: times, or numbers given out in blocks.
    Clustered,
    /// Anywhere.
    Random,
}

impl Keys {
    /// All of them.
    pub const ALL: [Keys; 3] = [Keys::Dense, Keys::Clustered, Keys::Random];

    /// The name in the figures.
    pub fn name(self) -> &'static str {
        match self {
            Keys::Dense => "dense",
            Keys::Clustered => "clustered",
            Keys::Random => "random",
        }
    }

    /// So many different keys of 32 bits, ascending.
    pub fn ascending(self, count: usize) -> Vec<u32> {
        let mut random = Random::new(0x6b65_7973);
        match self {
            Keys::Dense => (0..count as u32).collect(),
            Keys::Clustered => {
                // Gaps of 1 to 16 within a run of some hundred keys; what is left of the 32 bits lies between runs.
                let wide = ((u64::from(u32::MAX) / count as u64).saturating_sub(9) * 256).max(1);
                let mut key = 0_u64;
                let mut next = || {
                    let gap = 1 + random.below(16);
                    key += if random.below(256) == 0 { gap + random.below(2 * wide) } else { gap };
                    key
                };
                let keys: Vec<u64> = (0..count).map(|_| next()).collect();
                fold(keys)
            }
            Keys::Random => {
                // One key in each of `count` stretches of equal length: as even as random keys are, and all different.
                let stretch = (1_u64 << 32) / count as u64;
                (0..count as u64).map(|i| (i * stretch + random.below(stretch)) as u32).collect()
            }
        }
    }
}

/// Scales keys down where the gaps added up to more than 32 bits, keeping them different.
fn fold(keys: Vec<u64>) -> Vec<u32> {
    let largest = keys.last().copied().unwrap_or(0);
    let excess = largest.saturating_sub(u64::from(u32::MAX));
    if excess == 0 {
        return keys.into_iter().map(|key| key as u32).collect();
    }
    // Wide gaps give what is too much, in the order in which they come.
    let mut taken = 0;
    let mut before = 0;
    keys.into_iter()
        .map(|key| {
            let gap = key - before;
            before = key;
            taken += gap.saturating_sub(16).min(excess - taken);
            (key - taken) as u32
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_ascend_and_are_as_many_as_asked() {
        // Keeps away: rates of fewer keys than the tables name, and blocks that codecs refuse.
        for keys in Keys::ALL {
            for count in [1, 1000, 100_000] {
                let made = keys.ascending(count);
                assert_eq!(made.len(), count, "{keys:?}");
                assert!(made.is_sorted_by(|a, b| a < b), "{keys:?}");
            }
        }
        assert!(Keys::Random.ascending(1000)[999] > 4_000_000_000);
        let clustered = Keys::Clustered.ascending(100_000);
        let near = clustered.windows(2).filter(|pair| pair[1] - pair[0] <= 16).count();
        assert!((99_000..99_990).contains(&near), "{near}");
        assert!(clustered[99_999] > 1 << 30, "spread: {}", clustered[99_999]);
    }
}
