//! Sums over batches, exact for integers.

use ambo_codec::{Type, Value};
use ambo_engine::scan::FloatSum;
use ambo_types::{Error, Result};

use super::Batch;
use crate::predicate::{Column, Data};

/// A sum of numbers, and how many there were.
#[derive(Clone, Debug, Default)]
pub(super) struct Total {
    pub(super) count: u64,
    pub(super) integer: i128,
    /// Of sums of batches, each of which is rounded.
    pub(super) float: FloatSum,
}

/// Whether a type is one of integers or floats.
pub(super) fn is_number(ty: Type) -> bool {
    is_integer(ty) || matches!(ty, Type::F32 | Type::F64)
}

pub(super) fn is_integer(ty: Type) -> bool {
    use Type::{I8, I16, I32, I64, U8, U16, U32, U64};
    matches!(ty, I8 | I16 | I32 | I64 | U8 | U16 | U32 | U64)
}

/// Whether integers of a type are never less than zero.
fn is_unsigned(ty: Type) -> bool {
    matches!(ty, Type::U8 | Type::U16 | Type::U32 | Type::U64)
}

impl Total {
    /// Adds the selected numbers of a batch.
    pub(super) fn add(&mut self, batch: &Batch<'_>, column: &Column<'_>) {
        macro_rules! integers {
            ($($kind:ident $native:ty, $wide:ty;)*) => {
                match column.ty {
                    $(Type::$kind => {
                        let wide = |bytes: [u8; size_of::<$native>()]| <$wide>::from(<$native>::from_le_bytes(bytes));
                        let mut sum: i128 = 0;
                        self.count += each(
                            batch,
                            column,
                            |all| match all {
                                All::Dense(dense) => sum += dense_sum(dense, wide),
                                All::One(bytes) => sum += i128::from(wide(bytes)),
                            },
                        );
                        self.integer += sum;
                    })*
                    Type::F32 => self.floats(batch, column, |bytes: [u8; 4]| f32::from_le_bytes(bytes).into()),
                    Type::F64 => self.floats(batch, column, f64::from_le_bytes),
                    _ => {}
                }
            };
        }
        integers! {
            I8 i8, i64; I16 i16, i64; I32 i32, i64; I64 i64, i128;
            U8 u8, u64; U16 u16, u64; U32 u32, u64; U64 u64, i128;
        }
    }

    fn floats<const N: usize>(
        &mut self,
        batch: &Batch<'_>,
        column: &Column<'_>,
        of: impl Fn([u8; N]) -> f64,
    ) {
        let mut sum = 0.0;
        self.count += each(batch, column, |all| match all {
            All::Dense(dense) => sum += dense.iter().map(|bytes: &[u8; N]| of(*bytes)).sum::<f64>(),
            All::One(bytes) => sum += of(bytes),
        });
        self.float.add(sum);
    }

    pub(super) fn merge(&mut self, other: &Self) {
        self.count += other.count;
        self.integer += other.integer;
        self.float.merge(&other.float);
    }

    /// The sum of numbers of a type, in 64 bits.
    ///
    /// # Errors
    /// [`Error::Invalid`] if these do not hold it.
    pub(super) fn sum(&self, ty: Type) -> Result<(Type, Value)> {
        if !is_integer(ty) {
            return Ok((Type::F64, Value::F64(self.float.total())));
        }
        let overflow =
            |_| Error::Invalid(format!("overflow: the sum is {}, which 64 bits do not hold", self.integer));
        Ok(match is_unsigned(ty) {
            true => (Type::U64, Value::U64(self.integer.try_into().map_err(overflow)?)),
            false => (Type::I64, Value::I64(self.integer.try_into().map_err(overflow)?)),
        })
    }

    /// The average, if there are any.
    pub(super) fn average(&self, ty: Type) -> Option<f64> {
        let sum = if is_integer(ty) { self.integer as f64 } else { self.float.total() };
        (self.count > 0).then(|| sum / self.count as f64)
    }
}

/// The sum of numbers that lie one behind the other.
fn dense_sum<W, const N: usize>(dense: &[[u8; N]], wide: impl Fn([u8; N]) -> W) -> i128
where
    W: std::iter::Sum<W>,
    i128: From<W>,
{
    // 1,024 numbers of 32 bits do not fill 64.
    dense.chunks(1024).map(|chunk| i128::from(chunk.iter().map(|bytes| wide(*bytes)).sum::<W>())).sum()
}

/// Values that are added at once.
enum All<'a, const N: usize> {
    Dense(&'a [[u8; N]]),
    One([u8; N]),
}

/// Gives the selected values of a column: all at once where they lie one behind the other, else one by one. Returns how many.
fn each<const N: usize>(batch: &Batch<'_>, column: &Column<'_>, mut add: impl FnMut(All<'_, N>)) -> u64 {
    let Data::Strided { bytes, offset, stride } = column.data else { return 0 };
    let is_all = batch.selected.is_none() && matches!(column.nulls, crate::predicate::Nulls::None);
    if is_all && stride == N {
        add(All::Dense(bytes[offset..offset + batch.rows * N].as_chunks::<N>().0));
        return batch.rows as u64;
    }
    let mut count = 0;
    batch.for_values(column, |row| {
        let mut own = [0; N];
        own.copy_from_slice(&bytes[offset + row * stride..][..N]);
        add(All::One(own));
        count += 1;
    });
    count
}
