//! What instructions and loops do with values: one function a type and a comparison, made by the compiler of one text.

use ambo_codec::Type;

use super::Compare;

/// A value of fixed width, as it lies in records and columns.
pub(super) trait Fixed: Copy {
    /// The value at a place that need not be aligned.
    ///
    /// # Safety
    /// So many bytes are there.
    unsafe fn read(at: *const u8) -> Self;
    fn less(self, other: Self) -> bool;
    fn equal(self, other: Self) -> bool;
}

macro_rules! fixed {
    ($($native:ty: $less:expr, $equal:expr;)*) => {
        $(impl Fixed for $native {
            #[inline(always)]
            unsafe fn read(at: *const u8) -> Self {
                // SAFETY: so many bytes are there, and any of them are a value.
                let bytes = unsafe { at.cast::<[u8; size_of::<$native>()]>().read_unaligned() };
                <$native>::from_le_bytes(bytes)
            }
            #[inline(always)]
            fn less(self, other: Self) -> bool {
                let less: fn($native, $native) -> bool = $less;
                less(self, other)
            }
            #[inline(always)]
            fn equal(self, other: Self) -> bool {
                let equal: fn($native, $native) -> bool = $equal;
                equal(self, other)
            }
        })*
    };
}

fixed! {
    i8: |a, b| a < b, |a, b| a == b;
    i16: |a, b| a < b, |a, b| a == b;
    i32: |a, b| a < b, |a, b| a == b;
    i64: |a, b| a < b, |a, b| a == b;
    u8: |a, b| a < b, |a, b| a == b;
    u16: |a, b| a < b, |a, b| a == b;
    u32: |a, b| a < b, |a, b| a == b;
    u64: |a, b| a < b, |a, b| a == b;
    i128: |a, b| a < b, |a, b| a == b;
    // NaN equals NaN and is above all.
    f32: |a, b| (a < b) | (!a.is_nan() & b.is_nan()), |a, b| (a == b) | (a.is_nan() & b.is_nan());
    f64: |a, b| (a < b) | (!a.is_nan() & b.is_nan()), |a, b| (a == b) | (a.is_nan() & b.is_nan());
}

/// A comparison that is known when the program is compiled.
pub(super) trait By {
    fn holds<T: Fixed>(left: T, right: T) -> bool;
}

macro_rules! comparisons {
    ($($name:ident: |$left:ident, $right:ident| $holds:expr;)*) => {
        $(pub(super) struct $name;
        impl By for $name {
            #[inline(always)]
            fn holds<T: Fixed>($left: T, $right: T) -> bool {
                $holds
            }
        })*
    };
}

comparisons! {
    Equal: |a, b| a.equal(b);
    NotEqual: |a, b| !a.equal(b);
    Less: |a, b| a.less(b);
    LessEqual: |a, b| !b.less(a);
    Greater: |a, b| b.less(a);
    GreaterEqual: |a, b| !a.less(b);
}

/// What is made for each type and comparison.
pub(super) trait Each {
    type Made;
    fn of<T: Fixed + 'static, B: By + 'static>(self) -> Self::Made;
}

/// Makes it for a type of fixed width, and a comparison; none for text.
pub(super) fn for_each<E: Each>(each: E, ty: Type, by: Compare) -> Option<E::Made> {
    Some(match ty {
        Type::Bool | Type::U8 => by_each::<E, u8>(each, by),
        Type::I8 => by_each::<E, i8>(each, by),
        Type::I16 => by_each::<E, i16>(each, by),
        Type::I32 | Type::Date32 => by_each::<E, i32>(each, by),
        Type::I64 | Type::Time64 | Type::Timestamp | Type::TimestampTz => by_each::<E, i64>(each, by),
        Type::U16 => by_each::<E, u16>(each, by),
        Type::U32 => by_each::<E, u32>(each, by),
        Type::U64 => by_each::<E, u64>(each, by),
        Type::F32 => by_each::<E, f32>(each, by),
        Type::F64 => by_each::<E, f64>(each, by),
        Type::Decimal128 { .. } => by_each::<E, i128>(each, by),
        Type::Utf8 | Type::Binary => return None,
    })
}

fn by_each<E: Each, T: Fixed + 'static>(each: E, by: Compare) -> E::Made {
    match by {
        Compare::Equal => each.of::<T, Equal>(),
        Compare::NotEqual => each.of::<T, NotEqual>(),
        Compare::Less => each.of::<T, Less>(),
        Compare::LessEqual => each.of::<T, LessEqual>(),
        Compare::Greater => each.of::<T, Greater>(),
        Compare::GreaterEqual => each.of::<T, GreaterEqual>(),
    }
}
