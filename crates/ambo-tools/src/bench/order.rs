//! The numbers 0 … N-1 in an order that looks random, without storing it.

/// A permutation by a Feistel network over the next even power of two, walking on until a number is below
/// N (J. Black, P. Rogaway, "Ciphers with Arbitrary Finite Domains", 2002).
#[derive(Clone, Debug)]
pub struct Order {
    count: u64,
    half_bits: u32,
    threads: u64,
}

const ROUNDS: u64 = 4;

impl Order {
    /// The numbers below `count`, shared by so many threads.
    pub fn new(count: u64, threads: u64) -> Self {
        let bits = u64::BITS - count.saturating_sub(1).leading_zeros();
        Self { count, half_bits: bits.div_ceil(2).max(1), threads }
    }

    /// The positions in the order that a thread works off.
    pub fn share(&self, thread: u64) -> impl Iterator<Item = u64> + use<> {
        (thread..self.count).step_by(self.threads as usize)
    }

    /// The number at a position.
    pub fn number(&self, position: u64, seed: u64) -> u64 {
        let mut number = self.scramble(position, seed);
        while number >= self.count {
            number = self.scramble(number, seed);
        }
        number
    }

    fn scramble(&self, number: u64, seed: u64) -> u64 {
        let mask = (1 << self.half_bits) - 1;
        let (mut left, mut right) = (number >> self.half_bits, number & mask);
        for round in 0..ROUNDS {
            let mixed = mix(right ^ seed.rotate_left(32) ^ (round << 56));
            (left, right) = (right, left ^ (mixed & mask));
        }
        left << self.half_bits | right
    }
}

/// The finaliser of SplitMix64 (G. Steele, D. Lea, C. Flood, 2014).
pub fn mix(number: u64) -> u64 {
    let mut z = number.wrapping_add(0x9e37_79b9_7f4a_7c15);
    z = (z ^ z >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    z = (z ^ z >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
    z ^ z >> 31
}

#[cfg(test)]
mod tests {
    use super::*;

    // Keeps away keys that are put twice or never, which would make gets miss.
    #[test]
    fn every_number_once() {
        for count in [1, 2, 3, 1000, 4096, 4097] {
            let order = Order::new(count, 3);
            let positions = (0..3).flat_map(|thread| order.share(thread));
            let mut numbers: Vec<u64> = positions.map(|position| order.number(position, 7)).collect();
            assert!(count < 1000 || !numbers.is_sorted());
            numbers.sort_unstable();
            assert_eq!(numbers, (0..count).collect::<Vec<_>>());
        }
    }
}
