//! Times of many operations in few numbers.

use std::time::{Duration, Instant};

use serde_json::{Value as Json, json};

/// The time below which so many of a hundred stayed; zero of none.
pub fn percentile(times: &[Duration], percent: usize) -> Duration {
    let mut sorted = times.to_vec();
    sorted.sort_unstable();
    let place = (sorted.len() * percent / 100).min(sorted.len().saturating_sub(1));
    sorted.get(place).copied().unwrap_or_default()
}

/// How long operations took, each and all.
#[derive(Default)]
pub struct Times {
    pub all: Duration,
    each: Vec<Duration>,
}

impl Times {
    /// Does something with each of the values.
    pub fn of<V, E>(
        values: impl IntoIterator<Item = V>,
        mut act: impl FnMut(V) -> Result<(), E>,
    ) -> Result<Self, E> {
        let begin = Instant::now();
        let mut each = Vec::new();
        for value in values {
            let start = Instant::now();
            act(value)?;
            each.push(start.elapsed());
        }
        Ok(Self { all: begin.elapsed(), each })
    }

    pub fn count(&self) -> usize {
        self.each.len()
    }

    /// These, and then those.
    pub fn extend(&mut self, others: Self) {
        self.all += others.all;
        self.each.extend(others.each);
    }

    pub fn to_json(&self) -> Json {
        let micros = |percent| percentile(&self.each, percent).as_secs_f64() * 1e6;
        json!({
            "count": self.each.len(),
            "seconds": self.all.as_secs_f64(),
            "p10_us": micros(10),
            "p50_us": micros(50),
            "p99_us": micros(99),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    // Keeps away a median that is the greatest time, and a panic for no times.
    #[test]
    fn percentiles() {
        let times: Vec<_> = (1..=100).rev().map(Duration::from_millis).collect();
        assert_eq!(percentile(&times, 50), Duration::from_millis(51));
        assert_eq!(percentile(&times, 99), Duration::from_millis(100));
        assert_eq!(percentile(&times[..1], 99), Duration::from_millis(100));
        assert_eq!(percentile(&[], 50), Duration::ZERO);
    }
}
