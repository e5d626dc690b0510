//! Numbers as people read them.

use std::time::Duration;

/// `1234567` as `1,234,567`.
pub fn count(number: u64) -> String {
    let digits = number.to_string();
    let mut text = String::with_capacity(digits.len() + digits.len() / 3);
    for (i, digit) in digits.chars().enumerate() {
        if i > 0 && (digits.len() - i).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

/// A size in the unit that leaves it readable: `512 B`, `12.0 KiB`, `1.5 MiB`, `2.25 GiB`.
pub fn bytes(size: u64) -> String {
    const KIB: f64 = 1024.0;
    let size_f = size as f64;
    match size {
        0..1024 => format!("{size} B"),
        1024..1_048_576 => format!("{:.1} KiB", size_f / KIB),
        1_048_576..10_737_418_240 => format!("{} MiB", tenths(size_f / KIB / KIB)),
        _ => format!("{:.2} GiB", size_f / KIB / KIB / KIB),
    }
}

/// One digit behind the point, and separators before it.
fn tenths(number: f64) -> String {
    let tenths = (number * 10.0).round() as u64;
    format!("{}.{}", count(tenths / 10), tenths % 10)
}

/// `850 µs`, `12.3 ms`, `4.56 s`, `3 min 20 s`.
pub fn duration(time: Duration) -> String {
    let seconds = time.as_secs_f64();
    match seconds {
        s if s < 1e-6 => format!("{} ns", time.as_nanos()),
        s if s < 1e-3 => format!("{:.1} µs", s * 1e6),
        s if s < 1.0 => format!("{:.1} ms", s * 1e3),
        s if s < 120.0 => format!("{s:.2} s"),
        s => format!("{} min {} s", s as u64 / 60, s as u64 % 60),
    }
}

/// How many a second, rounded.
pub fn rate(number: u64, time: Duration) -> u64 {
    (number as f64 / time.as_secs_f64().max(1e-9)).round() as u64
}

#[cfg(test)]
mod tests {
    use super::*;

    // Keeps away misplaced separators and units.
    #[test]
    fn numbers() {
        assert_eq!(
            [0, 999, 1000, 336_776, 1_234_567].map(count),
            ["0", "999", "1,000", "336,776", "1,234,567"]
        );
        assert_eq!(
            [0, 1023, 1024, 1_572_864, 2_000_000_000, 20_000_000_000].map(bytes),
            ["0 B", "1023 B", "1.0 KiB", "1.5 MiB", "1,907.3 MiB", "18.63 GiB"]
        );
        let times = [0.000_000_5, 0.000_85, 0.0123, 4.56, 200.0].map(Duration::from_secs_f64).map(duration);
        assert_eq!(times, ["500 ns", "850.0 µs", "12.3 ms", "4.56 s", "3 min 20 s"]);
    }
}
