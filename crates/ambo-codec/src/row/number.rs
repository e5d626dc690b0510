//! Numbers as a code and up to eight bytes, and back.
//!
//! `pack_*` gives the code and the payload; `unpack_*` gives the number, or `None` for a code that the type does
//! not use or a payload out of its range. The payload of code SHORT begins with its length, in the lowest byte.

use super::code::*;
use crate::calendar::NANOS_PER_SECOND;
use crate::varint::{unzigzag, zigzag};

const SECONDS_PER_DAY: i64 = 86_400;
const MICROS_PER_SECOND: i64 = 1_000_000;
const MICROS_PER_MILLI: i64 = 1_000;

/// A code and its payload, of which as many low bytes count as the code says.
pub(super) type Packed = (u8, u64);

fn bytes_of(value: u64) -> usize {
    (64 - value.leading_zeros() as usize).div_ceil(8)
}

pub(super) fn pack_unsigned(value: u64) -> Packed {
    if value == 1 {
        return (ONE, 0);
    }
    (CODE_FOR_BYTES[bytes_of(value)], value)
}

/// The codes of a whole number of any width, a bit each.
const INTEGER_CODES: u16 = 1 << ZERO | 1 << ONE | 1 << W1 | 1 << W2 | 1 << W3 | 1 << W4 | 1 << W6 | 1 << W8;

/// Without branches on the code, which no processor predicts: ZERO and ONE come with a payload of 0.
#[inline]
pub(super) fn unpack_unsigned(code: u8, payload: u64) -> Option<u64> {
    (INTEGER_CODES >> code & 1 == 1).then_some(payload | u64::from(code == ONE))
}

pub(super) fn pack_signed(value: i64) -> Packed {
    if value == 1 {
        return (ONE, 0);
    }
    let payload = zigzag(value);
    (CODE_FOR_BYTES[bytes_of(payload)], payload)
}

#[inline]
pub(super) fn unpack_signed(code: u8, payload: u64) -> Option<i64> {
    let payload = payload | u64::from(code == ONE) << 1;
    (INTEGER_CODES >> code & 1 == 1).then_some(unzigzag(payload))
}

const _: () = assert!(zigzag(1) == 1 << 1);

/// Nanoseconds; whole seconds of a day take three bytes.
pub(super) fn pack_time(nanos: i64) -> Packed {
    let seconds = nanos / NANOS_PER_SECOND;
    if nanos % NANOS_PER_SECOND == 0 && (1..1 << 24).contains(&seconds) {
        return (W3, seconds as u64);
    }
    match pack_signed(nanos) {
        (W3, payload) => (W4, payload),
        packed => packed,
    }
}

pub(super) fn unpack_time(code: u8, payload: u64) -> Option<i64> {
    match code {
        W3 => Some(payload as i64 * NANOS_PER_SECOND),
        _ => unpack_signed(code, payload),
    }
}

/// Microseconds; midnights take two bytes, whole seconds four, whole milliseconds six.
pub(super) fn pack_timestamp(micros: i64) -> Packed {
    let packed = pack_signed(micros);
    if !matches!(packed.0, W6 | W8) {
        return packed;
    }
    if micros % MICROS_PER_SECOND == 0 {
        let seconds = micros / MICROS_PER_SECOND;
        let days = zigzag(seconds / SECONDS_PER_DAY);
        if seconds % SECONDS_PER_DAY == 0 && bytes_of(days) <= 2 {
            return (W2B, days);
        }
        if bytes_of(zigzag(seconds)) <= 4 {
            return (W4B, zigzag(seconds));
        }
    }
    let millis = zigzag(micros / MICROS_PER_MILLI);
    if micros % MICROS_PER_MILLI == 0 && bytes_of(millis) <= 6 {
        return (W6, millis);
    }
    (W8, zigzag(micros))
}

pub(super) fn unpack_timestamp(code: u8, payload: u64) -> Option<i64> {
    match code {
        W2B => Some(unzigzag(payload) * SECONDS_PER_DAY * MICROS_PER_SECOND),
        W4B => Some(unzigzag(payload) * MICROS_PER_SECOND),
        W6 => Some(unzigzag(payload) * MICROS_PER_MILLI),
        _ => unpack_signed(code, payload),
    }
}

const HUNDREDTHS_W2: i64 = 1 << 15;
const HUNDREDTHS_W3: i64 = 1 << 23;
const HUNDREDTHS_W4: i64 = 1 << 31;
const INTEGER_W6: i64 = 1 << 47;

/// The float as an integer, if it is one to the bit (-0.0 is not).
fn integer_of(value: f64) -> Option<i64> {
    let integer = value as i64;
    ((integer as f64).to_bits() == value.to_bits()).then_some(integer)
}

/// The nearest number of hundredths; the caller checks that it gives the float back.
fn nearest_hundredths(value: f64) -> i64 {
    (value * 100.0 + 0.5f64.copysign(value)) as i64
}

fn of_hundredths(hundredths: i64) -> f64 {
    hundredths as f64 / 100.0
}

/// The code of a float that is this integer of at most two bytes.
fn pack_small_integer(integer: i64) -> Option<Packed> {
    match integer {
        0 => Some((ZERO, 0)),
        1 => Some((ONE, 0)),
        -0x80..0x80 => Some((W1, zigzag(integer))),
        -0x8000..0x8000 => Some((W2, zigzag(integer))),
        _ => None,
    }
}

pub(super) fn pack_double(value: f64) -> Packed {
    let integer = integer_of(value);
    if let Some(packed) = integer.and_then(pack_small_integer) {
        return packed;
    }
    let hundredths = nearest_hundredths(value);
    let magnitude = hundredths.unsigned_abs() as i64;
    let exact = of_hundredths(hundredths).to_bits() == value.to_bits();
    if exact && (0..HUNDREDTHS_W3).contains(&magnitude) {
        let code = if magnitude < HUNDREDTHS_W2 { W2B } else { W3 };
        return (code, zigzag(hundredths));
    }
    let single = value as f32;
    if f64::from(single).to_bits() == value.to_bits() && !value.is_nan() {
        return (W4, single.to_bits().into());
    }
    if exact && (0..HUNDREDTHS_W4).contains(&magnitude) {
        return (W4B, zigzag(hundredths));
    }
    match integer {
        Some(integer) if (-INTEGER_W6..INTEGER_W6).contains(&integer) => (W6, zigzag(integer)),
        _ => pack_digits(value).unwrap_or((W8, value.to_bits())),
    }
}

/// The fewest digits behind the point that a float with code SHORT has; the low three bits say how many more.
const DIGITS_MIN: usize = 2;
const DIGITS_MAX: usize = DIGITS_MIN + 7;
const TEN_TO: [f64; DIGITS_MAX + 1] = [1e0, 1e1, 1e2, 1e3, 1e4, 1e5, 1e6, 1e7, 1e8, 1e9];
/// The longest digits that are shorter than the float, in bytes.
const DIGITS_BYTES: usize = 6;

/// A float of few decimal digits, as the digits and how many of them are behind the point.
///
/// One test finds all of them up to two millions: the float times 10^9, rounded, is exact to a quarter, and its quotient
/// by 10^9 is the nearest float to those digits, however many zeros they end with. Larger floats are tested with five
/// digits behind the point.
fn pack_digits(value: f64) -> Option<Packed> {
    let magnitude = value.abs();
    let mut behind = if magnitude < 2e6 { DIGITS_MAX } else { 5 };
    if magnitude >= 2e10 {
        return None;
    }
    let mut digits = (value * TEN_TO[behind] + 0.5f64.copysign(value)) as i64;
    if (digits as f64 / TEN_TO[behind]).to_bits() != value.to_bits() {
        return None;
    }
    while behind > DIGITS_MIN && digits % 10 == 0 {
        digits /= 10;
        behind -= 1;
    }
    let packed = zigzag(digits).checked_mul(8)? | (behind - DIGITS_MIN) as u64;
    let bytes = bytes_of(packed);
    (bytes <= DIGITS_BYTES).then_some((SHORT, packed << 8 | bytes as u64))
}

/// The float of digits without their length, `bytes` of them.
pub(super) fn unpack_digits(packed: u64, bytes: usize) -> Option<f64> {
    let behind = DIGITS_MIN + (packed & 7) as usize;
    (1..=DIGITS_BYTES).contains(&bytes).then(|| unzigzag(packed >> 3) as f64 / TEN_TO[behind])
}

pub(super) fn unpack_double(code: u8, payload: u64) -> Option<f64> {
    match code {
        ZERO => Some(0.0),
        ONE => Some(1.0),
        W1 | W2 | W6 => Some(unzigzag(payload) as f64),
        W2B | W3 | W4B => Some(of_hundredths(unzigzag(payload))),
        W4 => Some(f32::from_bits(payload as u32).into()),
        W8 => Some(f64::from_bits(payload)),
        _ => None,
    }
}

pub(super) fn pack_single(value: f32) -> Packed {
    let wide = f64::from(value);
    if let Some(packed) = integer_of(wide).and_then(pack_small_integer) {
        return packed;
    }
    let hundredths = nearest_hundredths(wide);
    let magnitude = hundredths.unsigned_abs() as i64;
    let exact = (of_hundredths(hundredths) as f32).to_bits() == value.to_bits();
    if exact && (0..HUNDREDTHS_W3).contains(&magnitude) {
        let code = if magnitude < HUNDREDTHS_W2 { W2B } else { W3 };
        return (code, zigzag(hundredths));
    }
    (W4, value.to_bits().into())
}

pub(super) fn unpack_single(code: u8, payload: u64) -> Option<f32> {
    match code {
        ZERO => Some(0.0),
        ONE => Some(1.0),
        W1 | W2 => Some(unzigzag(payload) as f32),
        W2B | W3 => Some(of_hundredths(unzigzag(payload)) as f32),
        W4 => Some(f32::from_bits(payload as u32)),
        _ => None,
    }
}
