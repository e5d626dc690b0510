//! One kind of operation on every key, by several threads, timed one by one.

use std::sync::Mutex;
use std::time::{Duration, Instant};

use hdrhistogram::Histogram;
use serde_json::{Value as Json, json};

use super::nanoseconds;
use super::order::Order;
use ambo_cli::interrupt;
use ambo_cli::output;

/// What to run on which keys.
pub struct Phase<'a> {
    /// For the report.
    pub name: &'static str,
    /// The keys' numbers.
    pub order: &'a Order,
    /// Chooses another order of the same keys.
    pub seed: u64,
    /// Bytes of a key.
    pub key_bytes: usize,
    /// How many threads share the keys.
    pub threads: u16,
}

/// What a phase took.
pub struct Measured {
    /// The phase.
    pub name: &'static str,
    /// Records touched.
    pub records: u64,
    /// Operations that found nothing.
    pub missing: u64,
    /// From the start to the end of the last thread.
    pub elapsed: Duration,
    /// Nanoseconds of single operations.
    pub latency: Option<Histogram<u64>>,
}

#[derive(Default)]
struct Share {
    records: u64,
    missing: u64,
}

impl Phase<'_> {
    /// Runs the operation once for each key; it says how many records it touched.
    pub fn run(self, operation: &(dyn Fn(&[u8]) -> ambo::Result<u64> + Sync)) -> ambo::Result<Measured> {
        let total = Mutex::new((Share::default(), histogram()));
        let start = Instant::now();
        let outcomes: Vec<ambo::Result<()>> = std::thread::scope(|scope| {
            let work = |thread| {
                let (phase, total) = (&self, &total);
                scope.spawn(move || phase.work(u64::from(thread), operation, total))
            };
            let threads: Vec<_> = (0..self.threads).map(work).collect();
            threads.into_iter().map(|thread| thread.join().expect("a worker does not panic")).collect()
        });
        let elapsed = start.elapsed();
        outcomes.into_iter().collect::<ambo::Result<()>>()?;
        let (share, latency) = total.into_inner().expect("no worker panicked");
        Ok(Measured {
            name: self.name,
            records: share.records,
            missing: share.missing,
            elapsed,
            latency: Some(latency),
        })
    }

    fn work(
        &self,
        thread: u64,
        operation: &dyn Fn(&[u8]) -> ambo::Result<u64>,
        total: &Mutex<(Share, Histogram<u64>)>,
    ) -> ambo::Result<()> {
        let mut latency = histogram();
        let mut share = Share::default();
        let mut key = vec![0; self.key_bytes];
        let mut before = Instant::now();
        for position in self.order.share(thread) {
            if interrupt::raised() {
                break;
            }
            write_key(&mut key, self.order.number(position, self.seed));
            let records = operation(&key)?;
            share.records += records;
            share.missing += u64::from(records == 0);
            let now = Instant::now();
            latency.saturating_record((now - before).as_nanos() as u64);
            before = now;
        }
        let mut total = total.lock().expect("no worker panicked");
        total.0.records += share.records;
        total.0.missing += share.missing;
        total.1.add(&latency).expect("histograms of the same bounds");
        Ok(())
    }
}

fn histogram() -> Histogram<u64> {
    const MINUTE: u64 = 60_000_000_000;
    Histogram::new_with_bounds(1, MINUTE, 3).expect("the bounds are valid")
}

/// The number in decimal digits, padded with zeros.
fn write_key(key: &mut [u8], mut number: u64) {
    for digit in key.iter_mut().rev() {
        *digit = b'0' + (number % 10) as u8;
        number /= 10;
    }
}

const QUANTILES: [f64; 3] = [0.5, 0.99, 0.999];

impl Measured {
    /// A row of the report.
    pub fn row(&self) -> Vec<String> {
        let mut row = vec![
            self.name.to_string(),
            output::count(self.records),
            output::duration(self.elapsed),
            output::count(output::rate(self.records, self.elapsed)),
        ];
        match &self.latency {
            Some(latency) => {
                row.extend(QUANTILES.map(|quantile| nanoseconds(latency.value_at_quantile(quantile))));
                row.push(nanoseconds(latency.max()));
            }
            None => row.extend(std::iter::repeat_n(String::new(), 4)),
        }
        row
    }

    /// The same for programs.
    pub fn to_json(&self) -> Json {
        let mut json = json!({
            "phase": self.name,
            "records": self.records,
            "seconds": self.elapsed.as_secs_f64(),
            "records_per_second": output::rate(self.records, self.elapsed),
        });
        if let Some(latency) = &self.latency {
            let [p50, p99, p999] = QUANTILES.map(|quantile| latency.value_at_quantile(quantile));
            json["nanoseconds"] = json!({ "p50": p50, "p99": p99, "p99.9": p999, "max": latency.max() });
        }
        json
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    // Keeps away keys that run into each other because high digits are lost.
    #[test]
    fn keys() {
        let mut key = [0; 12];
        write_key(&mut key, 123_456_789_012);
        assert_eq!(&key, b"123456789012");
        write_key(&mut key, 7);
        assert_eq!(&key, b"000000000007");
    }
}
