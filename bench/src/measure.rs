//! What is measured: latencies of operations, and memory, processor time and written bytes of the process.

use std::path::Path;
use std::time::{Duration, Instant};

use hdrhistogram::Histogram;

/// The largest latency that is told apart, in nanoseconds: two minutes.
const LATENCY_NS_MAX: u64 = 120_000_000_000;

/// Latencies of one thread's operations, in nanoseconds, to three digits.
#[derive(Debug, Clone)]
pub struct Latencies(Histogram<u64>);

impl Latencies {
    /// An empty recorder.
    pub fn new() -> Latencies {
        let bounds = Histogram::new_with_bounds(1, LATENCY_NS_MAX, 3);
        Latencies(bounds.unwrap_or_else(|error| unreachable!("constant bounds: {error}")))
    }

    /// Counts one operation.
    pub fn record(&mut self, took: Duration) {
        self.0.saturating_record((took.as_nanos() as u64).max(1));
    }

    /// Adds another thread's operations.
    pub fn add(&mut self, other: &Latencies) {
        self.0 += &other.0;
    }

    /// Name and value in microseconds of the percentiles that the tables show.
    pub fn percentiles(&self) -> [(&'static str, f64); 4] {
        let us = |ns: u64| ns as f64 / 1000.0;
        [
            ("p50", us(self.0.value_at_quantile(0.5))),
            ("p99", us(self.0.value_at_quantile(0.99))),
            ("p99.9", us(self.0.value_at_quantile(0.999))),
            ("max", us(self.0.max())),
        ]
    }

    /// Whether nothing was recorded.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
}

/// What the process used so far.
#[derive(Debug, Clone, Copy, Default)]
pub struct Usage {
    /// Time on processors, user and system, all threads.
    pub cpu: Duration,
    /// Bytes that the process caused to be sent to the disk (`write_bytes` of /proc/self/io).
    pub written_bytes: u64,
    /// Peak of resident memory, the file pages that it maps included (`VmHWM`).
    pub memory_peak_bytes: u64,
}

impl Usage {
    /// Reads the counters of this process.
    pub fn now() -> Usage {
        Usage {
            cpu: processor_time(),
            written_bytes: field("/proc/self/io", "write_bytes:"),
            memory_peak_bytes: field("/proc/self/status", "VmHWM:") * 1024,
        }
    }
}

/// Time on processors, user and system, of all threads of this process.
pub fn processor_time() -> Duration {
    let clock = rustix::time::clock_gettime(rustix::time::ClockId::ProcessCPUTime);
    Duration::new(clock.tv_sec as u64, clock.tv_nsec as u32)
}

/// The number behind a name in a file of /proc; zero where the kernel does not tell.
fn field(path: &str, name: &str) -> u64 {
    let text = std::fs::read_to_string(path).unwrap_or_default();
    number_after(&text, name)
}

fn number_after(text: &str, name: &str) -> u64 {
    text.lines()
        .find_map(|line| line.strip_prefix(name))
        .and_then(|rest| rest.split_whitespace().next()?.parse().ok())
        .unwrap_or(0)
}

/// Bytes that the files below a directory take on the disk: allocated blocks, so that holes do not count.
pub fn disk_bytes(dir: &Path) -> u64 {
    let Ok(entries) = std::fs::read_dir(dir) else {
        return 0;
    };
    entries
        .flatten()
        .map(|entry| match rustix::fs::lstat(entry.path()) {
            Ok(_) if entry.path().is_dir() => disk_bytes(&entry.path()),
            // A file may vanish meanwhile (a background thread removes it): then it takes nothing.
            Ok(stat) => stat.st_blocks as u64 * 512,
            Err(_) => 0,
        })
        .sum()
}

/// The cost of one reading of the clock, in nanoseconds: what timing adds to each timed operation.
pub fn clock_cost_ns() -> f64 {
    let rounds = 100_000;
    let start = Instant::now();
    for _ in 0..rounds {
        std::hint::black_box(Instant::now());
    }
    start.elapsed().as_nanos() as f64 / f64::from(rounds)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn percentiles_of_known_latencies() {
        // Keeps away: percentiles in the wrong unit or of one thread only.
        let mut first = Latencies::new();
        let mut second = Latencies::new();
        for us in 1..=500 {
            first.record(Duration::from_micros(us));
            second.record(Duration::from_micros(us + 500));
        }
        first.add(&second);
        let [p50, p99, p999, max] = first.percentiles().map(|(_, value)| value);
        assert!((p50 - 500.0).abs() < 1.0 && (p99 - 990.0).abs() < 1.0, "{p50} {p99}");
        assert!((p999 - 999.0).abs() < 1.0 && (max - 1000.0).abs() < 1.0, "{p999} {max}");
    }

    #[test]
    fn proc_fields_are_found_by_whole_name() {
        // Keeps away: `write_bytes` read from the line `cancelled_write_bytes`.
        let text = "wchar: 7\ncancelled_write_bytes: 9\nwrite_bytes: 4096\nVmHWM:\t  12 kB\n";
        assert_eq!(number_after(text, "write_bytes:"), 4096);
        assert_eq!(number_after(text, "VmHWM:"), 12);
        assert_eq!(number_after(text, "missing:"), 0);
    }

    #[test]
    fn holes_take_no_disk() {
        // Keeps away: a sparse map file (LMDB) counted with its address space.
        let dir = std::env::temp_dir().join(format!("ambo-bench-holes-{}", std::process::id()));
        std::fs::create_dir_all(dir.join("inner")).expect("a temporary directory");
        let file = std::fs::File::create(dir.join("inner/sparse")).expect("a file");
        file.set_len(64 << 20).expect("a hole");
        assert!(disk_bytes(&dir) < 1 << 20);
        std::fs::remove_dir_all(&dir).expect("removal");
    }
}
