//! Native values of fixed width and their codes.

use super::{Code, Kind};

/// A number that a block holds: the eight integer types, `f32` and `f64`.
///
/// Its *code* is an unsigned integer of the same width, one to one, and in the order of [`crate::Value`]. Signed
/// integers are shifted to begin at zero. Floats begin at -∞, go on with -0.0 and 0.0 side by side, and end with +∞
/// and then all NaNs. So a comparison of any kind is one or two ranges of codes.
pub trait Native: Copy + PartialEq + Default + std::fmt::Debug + Send + Sync + 'static {
    /// The code's type.
    type Code: Code;
    /// The kind of blocks of these.
    const KIND: Kind;
    /// Whether this is a float.
    const FLOAT: bool = false;

    /// The code of the value.
    fn to_code(self) -> Self::Code;
    /// The value of a code, to the bit.
    fn from_code(code: Self::Code) -> Self;
    /// The first code of what is equal to the value.
    fn low_code(self) -> Self::Code {
        self.to_code()
    }
    /// The last code of what is equal to the value.
    fn high_code(self) -> Self::Code {
        self.to_code()
    }
    /// Appends the value, little-endian.
    fn write(self, out: &mut Vec<u8>);
    /// The value at the beginning of `bytes`. Panics when it is cut off.
    fn read(bytes: &[u8]) -> Self;
    /// The nearest double.
    fn to_f64(self) -> f64;
    /// The nearest value to a double; integers saturate.
    fn from_f64(value: f64) -> Self;
}

macro_rules! integers {
    ($($int:ty, $code:ty, $kind:ident, $shift:expr);*) => {$(
        impl Native for $int {
            type Code = $code;
            const KIND: Kind = Kind::$kind;

            #[inline(always)]
            fn to_code(self) -> $code {
                self as $code ^ $shift
            }
            #[inline(always)]
            fn from_code(code: $code) -> Self {
                (code ^ $shift) as Self
            }
            #[inline]
            fn write(self, out: &mut Vec<u8>) {
                out.extend_from_slice(&self.to_le_bytes());
            }
            #[inline(always)]
            fn read(bytes: &[u8]) -> Self {
                Self::from_le_bytes(*bytes.first_chunk().expect("checked by the caller"))
            }
            #[inline(always)]
            fn to_f64(self) -> f64 {
                self as f64
            }
            #[inline(always)]
            fn from_f64(value: f64) -> Self {
                value as Self
            }
        }
    )*};
}

integers!(
    i8, u8, I8, u8::SIGN;
    i16, u16, I16, u16::SIGN;
    i32, u32, I32, u32::SIGN;
    i64, u64, I64, u64::SIGN;
    u8, u8, U8, 0;
    u16, u16, U16, 0;
    u32, u32, U32, 0;
    u64, u64, U64, 0
);

macro_rules! floats {
    ($($float:ty, $code:ty, $signed:ty, $kind:ident);*) => {$(
        impl Native for $float {
            type Code = $code;
            const KIND: Kind = Kind::$kind;
            const FLOAT: bool = true;

            #[inline(always)]
            fn to_code(self) -> $code {
                // Complement all bits of a negative number, set the sign of a positive one; then -∞, which only
                // negative NaNs are below, becomes zero, and they wrap round to the end.
                let bits = self.to_bits();
                let negative = (bits as $signed >> (<$code>::BITS - 1)) as $code;
                (bits ^ (negative | <$code>::SIGN)).wrapping_sub(Self::LOWEST)
            }
            #[inline(always)]
            fn from_code(code: $code) -> Self {
                let ordered = code.wrapping_add(Self::LOWEST);
                let negative = !((ordered as $signed >> (<$code>::BITS - 1)) as $code);
                Self::from_bits(ordered ^ (negative | <$code>::SIGN))
            }
            #[inline]
            fn low_code(self) -> $code {
                if self == 0.0 {
                    return (-0.0 as $float).to_code();
                }
                if self.is_nan() { Self::INFINITY.to_code() + 1 } else { self.to_code() }
            }
            #[inline]
            fn high_code(self) -> $code {
                if self == 0.0 {
                    return (0.0 as $float).to_code();
                }
                if self.is_nan() { <$code>::MAX } else { self.to_code() }
            }
            #[inline]
            fn write(self, out: &mut Vec<u8>) {
                out.extend_from_slice(&self.to_le_bytes());
            }
            #[inline(always)]
            fn read(bytes: &[u8]) -> Self {
                Self::from_le_bytes(*bytes.first_chunk().expect("checked by the caller"))
            }
            #[inline(always)]
            fn to_f64(self) -> f64 {
                self.into()
            }
            #[inline(always)]
            fn from_f64(value: f64) -> Self {
                value as Self
            }
        }
    )*};
}

/// Where -∞ stands among the bits of all floats in their order.
trait Lowest {
    type Bits;
    const LOWEST: Self::Bits;
}

impl Lowest for f32 {
    type Bits = u32;
    const LOWEST: u32 = !f32::NEG_INFINITY.to_bits();
}

impl Lowest for f64 {
    type Bits = u64;
    const LOWEST: u64 = !f64::NEG_INFINITY.to_bits();
}

floats!(f32, u32, i32, F32; f64, u64, i64, F64);
