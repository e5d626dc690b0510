//! How quickly writers may go while memtables are flushed: a law of a few figures, without clock or lock.
//!
//! A flush of what is frozen takes as long as its bytes, at the speed of the flushes before. Until it ends, writers share what is left of
//! the budget: so many bytes in so many seconds. When two thirds of that time are over, the end may as well be half as far away as the
//! flush is old: from there on what is left is used ever more slowly, and never used up. So a flush that takes longer than was thought
//! slows writers down, and does not stop them.
//!
//! In the long run a flush takes over what was written during the one before, in the time that this took: writers go at the speed of the
//! flush, and evenly.

/// The memtables at a moment.
#[derive(Clone, Copy, Debug)]
pub(super) struct Load {
    /// Bytes that memtables may have.
    pub budget: usize,
    /// Bytes that they have.
    pub used: usize,
    /// The flush that is under way or due.
    pub flush: Option<Flush>,
}

/// A flush that has not ended.
#[derive(Clone, Copy, Debug)]
pub(super) struct Flush {
    /// Bytes that it writes out.
    pub bytes: usize,
    /// Seconds since it began.
    pub age: f64,
}

impl Load {
    /// Seconds for each byte that is written, where flushes write `speed` bytes a second.
    pub fn pace(&self, speed: f64) -> f64 {
        let Some(flush) = self.flush else { return 0.0 };
        let left = (flush.bytes as f64 / speed - flush.age).max(flush.age / 2.0);
        let room = self.budget.saturating_sub(self.used).max(1) as f64;
        left / room
    }
}

/// The speed after a flush of `bytes` took `seconds`. A small one says nothing: its time is that of a sync.
pub(super) fn speed_after(speed: f64, budget: usize, bytes: usize, seconds: f64) -> f64 {
    match bytes >= budget / 8 && seconds > 0.0 {
        true => (speed + bytes as f64 / seconds) / 2.0,
        false => speed,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const BUDGET: usize = 128 << 20;
    const PUT: usize = 600;
    const PUT_SECONDS: f64 = 1.2e-6;

    /// What a writer that never rests has met.
    struct Met {
        longest_wait: f64,
        /// Bytes of each second.
        seconds: Vec<usize>,
        most_used: usize,
    }

    /// Writes for `seconds` of a clock of its own, while flushes go at the speed that `true_speed` gives for each.
    fn write_for(seconds: f64, guess: f64, true_speed: impl Fn(usize) -> f64) -> Met {
        let (mut now, mut speed) = (0.0, guess);
        let (mut active, mut frozen, mut began, mut flushes) = (0, 0, 0.0, 0);
        let mut met = Met { longest_wait: 0.0, seconds: vec![0; seconds as usize + 1], most_used: 0 };
        while now < seconds {
            if frozen > 0 && now - began >= frozen as f64 / true_speed(flushes) {
                speed = speed_after(speed, BUDGET, frozen, now - began);
                (frozen, flushes) = (0, flushes + 1);
            }
            if frozen == 0 && active >= BUDGET / 4 {
                (frozen, active, began) = (active, 0, now);
            }
            let flush = (frozen > 0).then_some(Flush { bytes: frozen, age: now - began });
            let wait = PUT as f64 * Load { budget: BUDGET, used: active + frozen, flush }.pace(speed);
            met.longest_wait = met.longest_wait.max(wait);
            now += PUT_SECONDS + wait;
            active += PUT;
            met.seconds[now.min(seconds) as usize] += PUT;
            met.most_used = met.most_used.max(active + frozen);
        }
        met
    }

    /// Keeps away: a put that waits for a whole flush, and writers that are much slower than the flush.
    #[test]
    fn writers_go_at_the_speed_of_the_flush_and_evenly() {
        for true_speed in [16e6, 40e6, 100e6, 300e6] {
            for guess in [true_speed, true_speed / 3.0, true_speed * 3.0] {
                let seconds = 30.0 * BUDGET as f64 / true_speed;
                let met = write_for(seconds, guess, |_| true_speed);
                let what = format!("{true_speed} bytes a second, taken for {guess}");
                assert!(met.longest_wait < 2e-3, "{what}: a put waited {} s", met.longest_wait);
                assert!(met.most_used < BUDGET, "{what}: the budget was used up");
                let bytes: usize = met.seconds.iter().sum();
                assert!(bytes as f64 / seconds > 0.95 * true_speed, "{what}: {bytes} bytes in {seconds} s");
                let last = &met.seconds[met.seconds.len() / 2..met.seconds.len() - 1];
                let (slow, quick) = (last.iter().min(), last.iter().max());
                if let (Some(slow), Some(quick)) = (slow, quick) {
                    assert!(*slow * 4 > *quick, "{what}: {slow} bytes in a second, {quick} in another");
                }
            }
        }
    }

    /// Keeps away: a stop where a flush takes several times as long as those before, because of a slow disk, say.
    #[test]
    fn a_slow_flush_slows_down_and_does_not_stop() {
        let met = write_for(60.0, 40e6, |flush| if flush % 4 == 3 { 8e6 } else { 40e6 });
        assert!(met.longest_wait < 20e-3, "a put waited {} s", met.longest_wait);
        assert!(met.most_used < BUDGET, "the budget was used up");
    }

    /// Keeps away: waiting where nothing is flushed, and a speed that a small flush spoils.
    #[test]
    fn what_is_not_flushed_and_what_is_small_change_nothing() {
        assert_eq!(Load { budget: BUDGET, used: BUDGET / 5, flush: None }.pace(1e6), 0.0);
        assert_eq!(speed_after(40e6, BUDGET, 1000, 1.0), 40e6);
        assert_eq!(speed_after(40e6, BUDGET, BUDGET / 4, 0.0), 40e6);
    }
}
