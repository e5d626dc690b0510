//! Sums of doubles that are exact until they are asked for, so that they do not depend on the order in which numbers came, on threads, or
//! on what was added up before.
//!
//! A double is an integer of 53 bits times two to the power of `place - 1074`, with a place from 0 to 2,045. Integers of 32 places that lie
//! together are added in one *bin* of 128 bits, moved to the left by what their place is above the first of the bin: 84 bits at most, so
//! that eight million millions of them fit. Numbers of a column mostly share one bin or two. The sum is rounded once, to the nearest
//! double, to the even one of two. What is not finite is added beside it: the sum is infinite, or no number, then.
//!
//! (A small superaccumulator, as in Neal: Fast exact summation using small and large superaccumulators, 2015.)

/// Places of a bin.
const BIN_PLACES: usize = 32;
/// Bins that there may be.
const BINS: usize = 64;
/// Limbs of 32 bits of a sum: those of the last bin reach over three more, and one is for its sign.
const LIMBS: usize = BINS + 4;
/// The bits of a double behind its first.
const MANTISSA: u32 = 52;

/// See the module.
#[derive(Clone, Debug, Default)]
pub struct FloatSum {
    first: i128,
    /// The number of the first bin.
    number: u8,
    others: Option<Box<Others>>,
}

/// What few sums have.
#[derive(Clone, Debug, Default)]
struct Others {
    /// Further bins by their numbers, each once, in any order.
    bins: Vec<(u8, i128)>,
    /// The sum of what is not finite; zero if nothing is.
    infinite: f64,
}

impl FloatSum {
    /// Adds a number.
    #[inline]
    pub fn add(&mut self, number: f64) {
        let bits = number.to_bits();
        let exponent = (bits >> MANTISSA) as usize & 0x7ff;
        if exponent == 0x7ff {
            return self.others.get_or_insert_default().infinite += number;
        }
        let mantissa = bits & ((1 << MANTISSA) - 1) | u64::from(exponent != 0) << MANTISSA;
        if mantissa == 0 {
            return;
        }
        let place = exponent.max(1) - 1;
        let moved = i128::from(mantissa) << (place % BIN_PLACES);
        self.add_to_bin((place / BIN_PLACES) as u8, if number < 0.0 { -moved } else { moved });
    }

    #[inline]
    fn add_to_bin(&mut self, number: u8, moved: i128) {
        if self.number == number || (self.first == 0 && self.others.is_none()) {
            self.number = number;
            self.first += moved;
            return;
        }
        let bins = &mut self.others.get_or_insert_default().bins;
        match bins.iter_mut().find(|(known, _)| *known == number) {
            Some((_, sum)) => *sum += moved,
            None => bins.push((number, moved)),
        }
    }

    /// Adds all that another sum is of.
    pub fn merge(&mut self, other: &Self) {
        if other.first != 0 {
            self.add_to_bin(other.number, other.first);
        }
        let Some(others) = &other.others else { return };
        others.bins.iter().for_each(|(number, sum)| self.add_to_bin(*number, *sum));
        if others.infinite != 0.0 {
            self.others.get_or_insert_default().infinite += others.infinite;
        }
    }

    /// The sum, rounded once.
    pub fn total(&self) -> f64 {
        match &self.others {
            Some(others) if others.infinite.is_nan() => f64::NAN,
            Some(others) if others.infinite != 0.0 => others.infinite,
            None if self.first == 0 => 0.0,
            // Neither the smallest nor the greatest of all numbers: a product with a power of two is exact.
            None if (2..BINS as u8 - 2).contains(&self.number) => {
                let power = usize::from(self.number) * BIN_PLACES + 1023 - 1074;
                self.first as f64 * f64::from_bits((power as u64) << MANTISSA)
            }
            _ => self.rounded(),
        }
    }

    /// Bytes beside the sum itself.
    pub fn bytes(&self) -> usize {
        let others = self.others.as_ref();
        others.map_or(0, |of| size_of::<Others>() + of.bins.capacity() * size_of::<(u8, i128)>())
    }

    fn rounded(&self) -> f64 {
        let mut bins = [0i128; BINS];
        bins[usize::from(self.number)] = self.first;
        for (number, sum) in self.others.iter().flat_map(|others| &others.bins) {
            bins[usize::from(*number)] += sum;
        }
        let (mut limbs, mut carry) = ([0u32; LIMBS], 0i128);
        for (place, limb) in limbs.iter_mut().enumerate() {
            let sum = carry + bins.get(place).unwrap_or(&0);
            *limb = sum as u32;
            carry = sum >> 32;
        }
        debug_assert!(carry == 0 || carry == -1, "the last limb has the sign");
        if carry == 0 {
            return nearest(&limbs);
        }
        let mut borrow = true;
        for limb in &mut limbs {
            (*limb, borrow) = (!*limb).overflowing_add(u32::from(borrow));
        }
        -nearest(&limbs)
    }
}

/// The double nearest to an integer, times two to the power of -1074.
fn nearest(limbs: &[u32; LIMBS]) -> f64 {
    let Some(last) = limbs.iter().rposition(|limb| *limb != 0) else { return 0.0 };
    let bits = last * 32 + 32 - limbs[last].leading_zeros() as usize;
    let bit = |place: usize| limbs[place / 32] >> (place % 32) & 1;
    let some =
        |from: usize, to: usize| (from..to).rev().fold(0u64, |some, place| some << 1 | u64::from(bit(place)));
    let kept = MANTISSA as usize + 1;
    if bits <= kept {
        // Numbers in the order of their bits, from zero on, are multiples of the least.
        return f64::from_bits(some(0, bits));
    }
    let shift = bits - kept;
    let mantissa = some(shift, bits) & ((1 << MANTISSA) - 1);
    let whole = (shift as u64 + 1) << MANTISSA | mantissa;
    let half = bit(shift - 1) == 1;
    let is_more = (0..shift - 1).any(|place| bit(place) == 1);
    let up = half && (is_more || mantissa & 1 == 1);
    // A carry goes into the exponent, as it should. Too large a number is infinite.
    f64::from_bits((whole + u64::from(up)).min(f64::INFINITY.to_bits()))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sum(numbers: &[f64]) -> f64 {
        let mut sum = FloatSum::default();
        numbers.iter().for_each(|number| sum.add(*number));
        sum.total()
    }

    /// Numbers of all sizes, some of them few, from a seed.
    fn numbers(seed: u64, count: usize, narrow: bool) -> Vec<f64> {
        let mut state = seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1;
        let mut next = || {
            state ^= state << 13;
            state ^= state >> 7;
            state ^= state << 17;
            state
        };
        let number = |bits: u64| match narrow {
            true => (bits >> 11) as f64 / 1e12 - 4000.0,
            false => f64::from_bits(bits),
        };
        std::iter::repeat_with(|| number(next())).filter(|number| number.is_finite()).take(count).collect()
    }

    // Keeps away: sums that are rounded on the way, or to the wrong side, at both ends of what doubles are.
    #[test]
    fn sums_are_exact() {
        assert_eq!(sum(&[]).to_bits(), 0);
        assert_eq!(sum(&[-0.0]).to_bits(), 0);
        assert_eq!(sum(&[0.1; 10]), 1.0);
        assert_eq!(sum(&[1e16, 1.0, -1e16]), 1.0);
        assert_eq!(sum(&[f64::MAX, f64::MAX, -f64::MAX]), f64::MAX);
        assert_eq!(sum(&[f64::MAX, f64::MAX]), f64::INFINITY);
        assert_eq!(sum(&[-f64::MAX, -f64::MAX]), f64::NEG_INFINITY);
        assert_eq!(sum(&[f64::MAX, 1e291, 1e291]), f64::MAX);
        assert_eq!(sum(&[f64::MAX, 2f64.powi(970)]), f64::INFINITY);
        let least = f64::from_bits(1);
        assert_eq!(sum(&[least; 3]), f64::from_bits(3));
        assert_eq!(sum(&[f64::MIN_POSITIVE, -least]), f64::from_bits((1 << 52) - 1));
        // Half of the last bit goes to the even side, and anything more up.
        let (even, odd) = (1.0, 1.0 + f64::EPSILON);
        let half = f64::EPSILON / 2.0;
        assert_eq!(sum(&[even, half]), even);
        assert_eq!(sum(&[odd, half]), odd + f64::EPSILON);
        assert_eq!(sum(&[even, half, least]), odd);
        assert_eq!(sum(&[-even, -half, -least]), -odd);
        for (numbers, total) in
            [(&[f64::INFINITY, 1.0][..], f64::INFINITY), (&[f64::NEG_INFINITY, f64::MAX], f64::NEG_INFINITY)]
        {
            assert_eq!(sum(numbers), total);
        }
        assert!(sum(&[f64::INFINITY, f64::NEG_INFINITY]).is_nan() && sum(&[1.0, f64::NAN]).is_nan());
    }

    // Keeps away: sums that depend on the order or on what was put together first, and those that are not what is told of one number.
    #[test]
    fn order_does_not_matter() {
        for seed in 0..200 {
            let mut numbers = numbers(seed, 1 + seed as usize % 50, seed % 2 == 0);
            for number in &numbers {
                assert_eq!(sum(&[*number]), *number);
                assert_eq!(sum(&[*number, *number, -*number]), *number);
            }
            let total = sum(&numbers);
            let (left, right) = numbers.split_at(numbers.len() / 3);
            let mut merged = FloatSum::default();
            for part in [right, left] {
                let mut sum = FloatSum::default();
                part.iter().for_each(|number| sum.add(*number));
                merged.merge(&sum);
            }
            assert_eq!(merged.total().to_bits(), total.to_bits());
            let negated: Vec<_> = numbers.iter().map(|number| -number).collect();
            assert_eq!(sum(&negated), -total);
            numbers.extend(negated.into_iter().rev());
            assert_eq!(sum(&numbers).to_bits(), 0);
        }
    }

    // Keeps away: a short cut that rounds otherwise than the long way.
    #[test]
    fn one_bin_is_rounded_as_several_are() {
        for seed in 0..500 {
            let mut sum = FloatSum::default();
            numbers(seed, 40, true).into_iter().for_each(|number| sum.add(number));
            assert_eq!(sum.total().to_bits(), sum.rounded().to_bits());
            let small = FloatSum { number: 2 + (seed % 60) as u8, first: sum.first, others: None };
            assert_eq!(small.total().to_bits(), small.rounded().to_bits());
        }
    }
}
