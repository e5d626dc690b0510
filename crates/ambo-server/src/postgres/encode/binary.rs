//! Values in PostgreSQL's binary form.

/// Days from 1970-01-01 to 2000-01-01, where PostgreSQL begins to count.
pub(in super::super) const EPOCH_DAYS: i32 = 10_957;
pub(in super::super) const EPOCH_MICROS: i64 = EPOCH_DAYS as i64 * 86_400_000_000;

/// A day. The ends of time are those of its integers.
pub(super) fn date(days: i32, out: &mut Vec<u8>) {
    let days = match days {
        i32::MAX | i32::MIN => days,
        days => days.saturating_sub(EPOCH_DAYS),
    };
    out.extend(days.to_be_bytes());
}

pub(super) fn timestamp(micros: i64, out: &mut Vec<u8>) {
    let micros = match micros {
        i64::MAX | i64::MIN => micros,
        micros => micros.saturating_sub(EPOCH_MICROS),
    };
    out.extend(micros.to_be_bytes());
}

pub(super) fn time(nanos: i64, out: &mut Vec<u8>) {
    out.extend((nanos / 1000).to_be_bytes());
}

pub(super) fn interval(months: i32, days: i32, nanos: i64, out: &mut Vec<u8>) {
    out.extend((nanos / 1000).to_be_bytes());
    out.extend(days.to_be_bytes());
    out.extend(months.to_be_bytes());
}
