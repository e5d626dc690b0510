//! Codes: unsigned integers of four widths, in whose order the values of a block are.

use std::fmt::Debug;

/// `u8`, `u16`, `u32` or `u64`.
pub trait Code: Copy + Ord + Default + Debug + Send + Sync + 'static + sealed::Sealed {
    /// Bits.
    const BITS: u32;
    /// The largest code.
    const MAX: Self;
    /// The highest bit alone: the code of a signed zero.
    const SIGN: Self;
    /// Bytes.
    const SIZE: usize = Self::BITS as usize / 8;

    /// The low bits of `value`.
    fn truncate(value: u64) -> Self;
    /// The code as 64 bits.
    fn widen(self) -> u64;
    /// Sum modulo 2^BITS.
    fn add(self, other: Self) -> Self;
    /// Difference modulo 2^BITS.
    fn sub(self, other: Self) -> Self;
    /// Product modulo 2^BITS.
    fn mul(self, other: Self) -> Self;
    /// Appends the code, little-endian.
    fn write(self, out: &mut Vec<u8>);
    /// The code at the beginning of `bytes`. Panics when it is cut off.
    fn read(bytes: &[u8]) -> Self;
}

mod sealed {
    pub trait Sealed {}
}

macro_rules! codes {
    ($($int:ty),*) => {$(
        impl sealed::Sealed for $int {}
        impl Code for $int {
            const BITS: u32 = <$int>::BITS;
            const MAX: Self = <$int>::MAX;
            const SIGN: Self = 1 << (<$int>::BITS - 1);

            #[inline(always)]
            fn truncate(value: u64) -> Self {
                value as Self
            }
            #[inline(always)]
            fn widen(self) -> u64 {
                self.into()
            }
            #[inline(always)]
            fn add(self, other: Self) -> Self {
                self.wrapping_add(other)
            }
            #[inline(always)]
            fn sub(self, other: Self) -> Self {
                self.wrapping_sub(other)
            }
            #[inline(always)]
            fn mul(self, other: Self) -> Self {
                self.wrapping_mul(other)
            }
            #[inline]
            fn write(self, out: &mut Vec<u8>) {
                out.extend_from_slice(&self.to_le_bytes());
            }
            #[inline(always)]
            fn read(bytes: &[u8]) -> Self {
                Self::from_le_bytes(*bytes.first_chunk().expect("checked by the caller"))
            }
        }
    )*};
}

codes!(u8, u16, u32, u64);
