//! The same kernel compiled for several instruction sets, chosen as the program runs.
//!
//! A kernel is plain safe code whose loops the compiler vectorises. [`run`] calls a clone of it that was
//! compiled for AVX-512 or AVX2 when the processor has them. Other architectures have one clone, for what
//! they always have (NEON on 64-bit ARM).

#![allow(unsafe_code)]

/// Instruction sets, lowest first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Level {
    /// What every processor of the architecture has.
    Base,
    /// AVX2.
    #[cfg(target_arch = "x86_64")]
    Avx2,
    /// AVX-512 with the extensions that all processors since Ice Lake and Zen 4 have.
    #[cfg(target_arch = "x86_64")]
    Avx512,
}

/// Work that is compiled for each level. `run`, and everything that its loops call, must be `#[inline(always)]`:
/// what is not inlined is compiled for the base level.
pub trait Kernel {
    /// What comes of it.
    type Output;

    /// Does it, at a level that the processor has.
    fn run(self, level: Level) -> Self::Output;
}

/// The best level of this processor.
#[inline]
pub(crate) fn level() -> Level {
    #[cfg(target_arch = "x86_64")]
    {
        if is_x86_feature_detected!("avx512vbmi")
            && is_x86_feature_detected!("avx512bw")
            && is_x86_feature_detected!("avx512dq")
            && is_x86_feature_detected!("avx512vl")
        {
            return Level::Avx512;
        }
        if is_x86_feature_detected!("avx2") && is_x86_feature_detected!("bmi2") {
            return Level::Avx2;
        }
    }
    Level::Base
}

/// Runs the clone for the best level of this processor.
#[inline]
pub fn run<K: Kernel>(kernel: K) -> K::Output {
    match level() {
        Level::Base => kernel.run(Level::Base),
        #[cfg(target_arch = "x86_64")]
        // SAFETY: `level` has found AVX2 and BMI2.
        Level::Avx2 => unsafe { run_avx2(kernel) },
        #[cfg(target_arch = "x86_64")]
        // SAFETY: `level` has found these extensions of AVX-512, which imply AVX-512F, and with them AVX2.
        Level::Avx512 => unsafe { run_avx512(kernel) },
    }
}

#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx2,bmi1,bmi2,lzcnt,popcnt")]
fn run_avx2<K: Kernel>(kernel: K) -> K::Output {
    kernel.run(Level::Avx2)
}

#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl,avx512vbmi,avx2,bmi1,bmi2,lzcnt,popcnt")]
fn run_avx512<K: Kernel>(kernel: K) -> K::Output {
    kernel.run(Level::Avx512)
}
