//! Reading blocks with vectors: which instructions the machine has is looked up once, each operation is dispatched once a block.
//!
//! [`lanes::Lanes`] is what the operations in [`ops`] need of a vector; each instruction set implements it for both words. [`source`] has
//! the integers of each format a vector at a time.
#![allow(unsafe_code, reason = "vector instructions")]

mod avx2;
mod avx512;
mod lanes;
mod ops;
mod source;
mod tables;
mod unrolled;

use std::sync::atomic::{AtomicU8, Ordering};

use super::{Block, Damaged, Word, scalar};

/// The vectors of a word.
#[allow(private_bounds, reason = "only the operations here use them")]
pub(super) trait Vectors: Sized {
    type Avx512: lanes::Lanes<Word = Self>;
    type Avx2: lanes::Lanes<Word = Self>;
}

impl Vectors for u32 {
    type Avx512 = avx512::Words32;
    type Avx2 = avx2::Words32;
}

impl Vectors for u64 {
    type Avx512 = avx512::Words64;
    type Avx2 = avx2::Words64;
}

/// What the machine can do.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
#[repr(u8)]
pub(super) enum Level {
    Scalar = 1,
    Avx2 = 2,
    Avx512 = 3,
}

impl Level {
    /// The levels of the machine.
    #[cfg(test)]
    pub(super) fn all() -> Vec<Self> {
        [Self::Scalar, Self::Avx2, Self::Avx512].into_iter().filter(|level| *level <= Self::best()).collect()
    }

    /// The best that the machine can do.
    #[inline(always)]
    pub(super) fn best() -> Self {
        // Not yet looked up: zero. Everyone finds the same, so the order of memory does not matter.
        static BEST: AtomicU8 = AtomicU8::new(0);
        match BEST.load(Ordering::Relaxed) {
            3 => Self::Avx512,
            2 => Self::Avx2,
            1 => Self::Scalar,
            _ => {
                let level = Self::detect();
                BEST.store(level as u8, Ordering::Relaxed);
                level
            }
        }
    }

    #[cold]
    fn detect() -> Self {
        let avx2 = is_x86_feature_detected!("avx2")
            && is_x86_feature_detected!("bmi1")
            && is_x86_feature_detected!("bmi2")
            && is_x86_feature_detected!("popcnt");
        let avx512 = avx2
            && is_x86_feature_detected!("avx512f")
            && is_x86_feature_detected!("avx512bw")
            && is_x86_feature_detected!("avx512dq")
            && is_x86_feature_detected!("avx512vl")
            && is_x86_feature_detected!("avx512vbmi")
            && is_x86_feature_detected!("avx512vbmi2");
        if avx512 {
            Self::Avx512
        } else if avx2 {
            Self::Avx2
        } else {
            Self::Scalar
        }
    }
}

/// An operation for each level. REQUIRES: the machine has it.
macro_rules! dispatch {
    ($(#[$doc:meta])* $name:ident($($argument:ident: $type:ty),*) -> $result:ty) => {
        $(#[$doc])*
        #[inline]
        pub(super) fn $name<W: Word>(level: Level, block: &Block<'_, W>, $($argument: $type),*) -> Result<$result, Damaged> {
            #[target_feature(enable = "avx512f,avx512bw,avx512vl,avx512dq,avx512vbmi,avx512vbmi2,bmi1,bmi2,popcnt")]
            unsafe fn with_avx512<W: Word>(block: &Block<'_, W>, $($argument: $type),*) -> Result<$result, Damaged> {
                // SAFETY: The instructions of this function are those of the type.
                unsafe { ops::$name::<<W as Vectors>::Avx512>(block, $($argument),*) }
            }
            #[target_feature(enable = "avx2,bmi1,bmi2,popcnt")]
            unsafe fn with_avx2<W: Word>(block: &Block<'_, W>, $($argument: $type),*) -> Result<$result, Damaged> {
                // SAFETY: The instructions of this function are those of the type.
                unsafe { ops::$name::<<W as Vectors>::Avx2>(block, $($argument),*) }
            }
            match level {
                // SAFETY: The machine has the level.
                Level::Avx512 => unsafe { with_avx512(block, $($argument),*) },
                // SAFETY: The machine has the level.
                Level::Avx2 => unsafe { with_avx2(block, $($argument),*) },
                Level::Scalar => scalar::$name(block, $($argument),*),
            }
        }
    };
}

dispatch!(
    /// See [`decode`].
    decode_any(out: &mut [W]) -> ()
);
dispatch!(
    /// See [`Block::select`]; only for blocks of gaps.
    select(index: usize) -> W
);
dispatch!(
    /// See [`Block::lower_bound`]. REQUIRES: `key` is larger than the first value.
    lower_bound(key: W) -> (usize, bool)
);
dispatch!(
    /// See [`Block::sum`].
    sum() -> u128
);

/// See [`Block::decode`].
#[inline]
pub(super) fn decode<W: Word>(level: Level, block: &Block<'_, W>, out: &mut [W]) -> Result<(), Damaged> {
    // SAFETY: The machine has the level.
    let done = unsafe {
        match level {
            Level::Avx512 => ops::decode_whole::<<W as Vectors>::Avx512>(block, out),
            Level::Avx2 => ops::decode_whole::<<W as Vectors>::Avx2>(block, out),
            Level::Scalar => false,
        }
    };
    if done { Ok(()) } else { decode_any(level, block, out) }
}
