//! Randomness with a seed: a generator, a bijective mixer, and the zipfian distribution of YCSB.

/// Mixes 64 bits bijectively: different inputs give different outputs (finaliser of SplitMix64, Vigna 2015).
pub fn mix(value: u64) -> u64 {
    let mut z = value.wrapping_add(0x9e37_79b9_7f4a_7c15);
    z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    z ^ (z >> 31)
}

/// A fast generator (SplitMix64): what it costs is far below the cheapest operation measured.
#[derive(Debug, Clone)]
pub struct Random(u64);

impl Random {
    /// A generator of its own for each seed.
    pub fn new(seed: u64) -> Random {
        Random(mix(seed))
    }

    /// The next 64 bits.
    pub fn next_u64(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        mix(self.0)
    }

    /// A number below `bound`, which is not zero (multiply and shift, Lemire 2019, without rejection:
    /// the bias is below 2^-30 for the bounds used here).
    pub fn below(&mut self, bound: u64) -> u64 {
        ((u128::from(self.next_u64()) * u128::from(bound)) >> 64) as u64
    }

    /// A number in [0, 1).
    pub fn unit(&mut self) -> f64 {
        (self.next_u64() >> 11) as f64 / (1_u64 << 53) as f64
    }
}

/// Ranks 0 (most frequent) to n-1 with frequency proportional to 1 / (rank+1)^theta.
///
/// The algorithm of Gray et al., "Quickly generating billion-record synthetic databases", SIGMOD 1994, as in YCSB.
#[derive(Debug, Clone)]
pub struct Zipfian {
    items: u64,
    theta: f64,
    alpha: f64,
    zeta: f64,
    eta: f64,
}

impl Zipfian {
    /// The skew of YCSB.
    pub const THETA: f64 = 0.99;

    /// Prepares the distribution over `items` ranks; costs time linear in `items`.
    pub fn new(items: u64, theta: f64) -> Zipfian {
        assert!(items > 1, "a distribution needs at least two items");
        let zeta = (1..=items).map(|i| (i as f64).powf(-theta)).sum::<f64>();
        let zeta_two = 1.0 + 2_f64.powf(-theta);
        let eta = (1.0 - (2.0 / items as f64).powf(1.0 - theta)) / (1.0 - zeta_two / zeta);
        Zipfian { items, theta, alpha: 1.0 / (1.0 - theta), zeta, eta }
    }

    /// The next rank.
    pub fn rank(&self, random: &mut Random) -> u64 {
        let unit = random.unit();
        let scaled = unit * self.zeta;
        if scaled < 1.0 {
            return 0;
        }
        if scaled < 1.0 + 0.5_f64.powf(self.theta) {
            return 1;
        }
        let rank = (self.items as f64 * (self.eta * unit - self.eta + 1.0).powf(self.alpha)) as u64;
        rank.min(self.items - 1)
    }

    /// The next item: ranks scattered over all items, so that the popular ones are not neighbours.
    pub fn scrambled(&self, random: &mut Random) -> u64 {
        mix(self.rank(random)) % self.items
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn zipfian_frequencies_follow_the_law() {
        // Keeps away: a skew that is not the one that the tables name.
        let items = 10_000;
        let zipfian = Zipfian::new(items, Zipfian::THETA);
        let mut random = Random::new(7);
        let draws = 1_000_000;
        let mut counts = vec![0_u64; items as usize];
        for _ in 0..draws {
            counts[zipfian.rank(&mut random) as usize] += 1;
        }
        let zeta: f64 = (1..=items).map(|i| (i as f64).powf(-Zipfian::THETA)).sum();
        for rank in [0_usize, 1] {
            let expected = draws as f64 * ((rank + 1) as f64).powf(-Zipfian::THETA) / zeta;
            let seen = counts[rank] as f64;
            assert!((seen / expected - 1.0).abs() < 0.03, "rank {rank}: {seen} of {expected}");
        }
        // The algorithm approximates single ranks from 2 on; sums over decades are exact to some percent.
        for decade in [10_usize, 100, 1000] {
            let share = counts[..decade].iter().sum::<u64>() as f64 / draws as f64;
            let expected: f64 = (1..=decade).map(|i| (i as f64).powf(-Zipfian::THETA)).sum::<f64>() / zeta;
            assert!((share / expected - 1.0).abs() < 0.05, "first {decade}: {share} of {expected}");
        }
    }

    #[test]
    fn scrambled_items_stay_in_range_and_scatter() {
        // Keeps away: popular items that are neighbours, which would flatter engines with pages.
        let zipfian = Zipfian::new(1000, Zipfian::THETA);
        let mut random = Random::new(1);
        let mut counts = vec![0_u64; 1000];
        for _ in 0..100_000 {
            counts[zipfian.scrambled(&mut random) as usize] += 1;
        }
        let mut popular: Vec<usize> = (0..1000).collect();
        popular.sort_by_key(|&item| std::cmp::Reverse(counts[item]));
        assert!(popular[..4].windows(2).all(|pair| pair[0].abs_diff(pair[1]) > 1));
    }

    #[test]
    fn mixing_loses_nothing() {
        // Keeps away: two records with one key, so that fewer rows are stored than counted.
        let mut seen: Vec<u64> = (0..100_000).map(mix).collect();
        seen.sort_unstable();
        seen.dedup();
        assert_eq!(seen.len(), 100_000);
    }

    #[test]
    fn below_stays_below_and_reaches_all() {
        // Keeps away: reads of keys that were never written.
        let mut random = Random::new(3);
        let mut counts = [0_u64; 10];
        for _ in 0..10_000 {
            counts[random.below(10) as usize] += 1;
        }
        assert!(counts.iter().all(|&count| (800..1200).contains(&count)), "{counts:?}");
    }
}
