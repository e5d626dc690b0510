//! Galloping search: the end of what is probably near.

/// How many of `count` things, of which the first ones hold, hold.
pub(super) fn gallop(count: usize, holds: impl Fn(usize) -> bool) -> usize {
    let mut step = 1;
    while step < count && holds(step) {
        step *= 2;
    }
    let (mut low, mut high) = (step / 2, step.min(count));
    while low < high {
        let middle = (low + high) / 2;
        if holds(middle) {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    low
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Keeps away: a stretch that is too long by one, or ends early for ever.
    #[test]
    fn galloping_finds_every_border() {
        for count in 0..40 {
            for border in 0..=count {
                assert_eq!(gallop(count, |index| index < border), border, "{border} of {count}");
            }
        }
    }
}
