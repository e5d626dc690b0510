//! The two integers that blocks are made of.

use std::{fmt::Debug, hash::Hash};

mod sealed {
    #[cfg(target_arch = "x86_64")]
    #[allow(private_bounds, reason = "the vectors of a word are nobody's business")]
    pub trait Sealed: super::super::simd::Vectors {}
    #[cfg(not(target_arch = "x86_64"))]
    pub trait Sealed {}
    impl Sealed for u32 {}
    impl Sealed for u64 {}
}

/// `u32` or `u64`.
pub trait Word: sealed::Sealed + Copy + Ord + Hash + Default + Debug + Send + Sync + 'static {
    /// 32 or 64.
    const BITS: usize;
    /// 4 or 8.
    const BYTES: usize = Self::BITS / 8;
    /// The value in 64 bits.
    fn to_u64(self) -> u64;
    /// The low bits of `value`.
    fn from_u64(value: u64) -> Self;
}

impl Word for u32 {
    const BITS: usize = 32;
    #[inline(always)]
    fn to_u64(self) -> u64 {
        self.into()
    }
    #[inline(always)]
    fn from_u64(value: u64) -> Self {
        value as u32
    }
}

impl Word for u64 {
    const BITS: usize = 64;
    #[inline(always)]
    fn to_u64(self) -> u64 {
        self
    }
    #[inline(always)]
    fn from_u64(value: u64) -> Self {
        value
    }
}
