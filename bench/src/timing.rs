//! Times of short pieces of work: a low one of several repetitions, in processor time and in cycles.

use std::hint::black_box;
use std::time::Duration;

/// A measurement repeats until it took this long altogether.
const BUDGET: Duration = Duration::from_millis(150);
/// What lies between two readings of the clock takes at least about so long.
const STRETCH: Duration = Duration::from_micros(50);
/// Repetitions at least, however long one takes.
const REPETITIONS_MIN: usize = 5;
/// Steps of the chain that the clock's rate is read from, and the cycles of one: an exclusive or and a 64-bit
/// multiplication, each waiting for the one before, 1 + 3 cycles on x86 since Haswell and Zen (Agner Fog's tables).
const CHAIN_STEPS: u64 = 200_000;
const CHAIN_STEP_CYCLES: f64 = 4.0;

/// Time of this thread on a processor: what other processes use of it does not count.
pub fn thread_time() -> Duration {
    let clock = rustix::time::clock_gettime(rustix::time::ClockId::ThreadCPUTime);
    Duration::new(clock.tv_sec as u64, clock.tv_nsec as u32)
}

/// The time of several pieces of work, in seconds each: the lower quartile of several repetitions. They take turns, so
/// that a disturbance of the machine falls on all. The first round is not counted: it touches the memory, and shows how
/// often short work has to be done for the clock's own cost not to matter.
///
/// Not the minimum: a virtual machine takes what its host stole off the clock of whichever thread runs when it hears of
/// it, so that now and then work seems to take no time at all.
pub fn fastest(works: &mut [&mut dyn FnMut()]) -> Vec<f64> {
    let mut samples = vec![Vec::new(); works.len()];
    let times: Vec<u32> = works
        .iter_mut()
        .map(|work| {
            let before = thread_time();
            work();
            let took = (thread_time() - before).max(Duration::from_nanos(100));
            (STRETCH.as_nanos() / took.as_nanos() + 1) as u32
        })
        .collect();
    let start = thread_time();
    let budget = BUDGET * works.len() as u32;
    let mut round = 0;
    while round < REPETITIONS_MIN || thread_time() - start < budget {
        for ((work, samples), &times) in works.iter_mut().zip(&mut samples).zip(&times) {
            let before = thread_time();
            (0..times).for_each(|_| work());
            samples.push((thread_time() - before).as_secs_f64() / f64::from(times));
        }
        round += 1;
    }
    samples.into_iter().map(lower_quartile).collect()
}

/// REQUIRES: there are samples.
fn lower_quartile(mut samples: Vec<f64>) -> f64 {
    let at = samples.len() / 4;
    *samples.select_nth_unstable_by(at, f64::total_cmp).1
}

/// Cycles of the processor in a second, as it runs now.
pub fn cycles_per_second() -> f64 {
    let factor = black_box(0x9e37_79b9_7f4a_7c15_u64);
    let mut work = || {
        let mut value = black_box(1_u64);
        for _ in 0..CHAIN_STEPS {
            value = (value ^ 0x5555).wrapping_mul(factor);
        }
        black_box(value);
    };
    let seconds = fastest(&mut [&mut work])[0];
    CHAIN_STEPS as f64 * CHAIN_STEP_CYCLES / seconds
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_clock_has_a_rate_that_processors_have() {
        // Keeps away: values per cycle from a chain that the compiler took away.
        let rate = cycles_per_second();
        assert!((0.5e9..8e9).contains(&rate), "{rate}");
    }

    #[test]
    fn a_clock_that_stood_still_once_is_not_believed() {
        // Keeps away: infinite rates, and peers that take no time.
        assert_eq!(lower_quartile(vec![4.0, 0.0, 3.0, 5.0, 9.0]), 3.0);
    }

    #[test]
    fn longer_work_takes_longer() {
        // Keeps away: figures that stand beside the wrong piece of work.
        let sum = |n: u64| black_box((0..n).map(|i| black_box(i) * i).sum::<u64>());
        let mut short = || {
            sum(1000);
        };
        let mut long = || {
            sum(20_000);
        };
        let times = fastest(&mut [&mut long, &mut short]);
        assert!(times[0] > 5.0 * times[1], "{times:?}");
    }
}
