//! What an encoder takes: borrowed values of one physical kind.

use super::{Kind, mask::BitsView};

/// Byte strings one behind the other, as Arrow lays them out: string `i` is
/// `data[offsets[i]..offsets[i + 1]]`.
#[derive(Clone, Copy, Debug)]
pub struct BytesView<'a> {
    offsets: &'a [u32],
    data: &'a [u8],
}

impl<'a> BytesView<'a> {
    /// REQUIRES: `offsets` is not empty, does not fall, and ends within `data`. Panics otherwise.
    pub fn new(offsets: &'a [u32], data: &'a [u8]) -> Self {
        assert!(offsets.is_sorted(), "offsets fall");
        let last = *offsets.last().expect("one offset more than strings");
        assert!(last as usize <= data.len(), "offsets point behind the data");
        Self { offsets, data }
    }

    /// How many strings.
    #[inline]
    pub fn len(&self) -> usize {
        self.offsets.len() - 1
    }

    /// Whether there is no string.
    #[inline]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// String `index`.
    #[inline]
    pub fn get(&self, index: usize) -> &'a [u8] {
        &self.data[self.offsets[index] as usize..self.offsets[index + 1] as usize]
    }

    /// The strings, first to last.
    pub fn iter(self) -> impl ExactSizeIterator<Item = &'a [u8]> + Clone {
        self.offsets.windows(2).map(move |ends| &self.data[ends[0] as usize..ends[1] as usize])
    }

    /// Where each string begins in [`BytesView::data`], and where the last one ends.
    #[inline]
    pub fn offsets(&self) -> &'a [u32] {
        self.offsets
    }

    /// The bytes of all strings; some in front and behind may belong to none.
    #[inline]
    pub fn data(&self) -> &'a [u8] {
        self.data
    }
}

/// The values of a block to be, of one physical kind. At the places of NULLs any value stands.
#[derive(Clone, Copy, Debug)]
#[non_exhaustive]
pub enum ColumnSlice<'a> {
    /// Booleans, a bit each.
    Bool(BitsView<'a>),
    /// See [`Kind::I8`].
    I8(&'a [i8]),
    /// See [`Kind::I16`].
    I16(&'a [i16]),
    /// See [`Kind::I32`].
    I32(&'a [i32]),
    /// See [`Kind::I64`].
    I64(&'a [i64]),
    /// See [`Kind::U8`].
    U8(&'a [u8]),
    /// See [`Kind::U16`].
    U16(&'a [u16]),
    /// See [`Kind::U32`].
    U32(&'a [u32]),
    /// See [`Kind::U64`].
    U64(&'a [u64]),
    /// See [`Kind::F32`].
    F32(&'a [f32]),
    /// See [`Kind::F64`].
    F64(&'a [f64]),
    /// See [`Kind::I128`].
    I128(&'a [i128]),
    /// Text or binary.
    Bytes(BytesView<'a>),
}

impl ColumnSlice<'_> {
    /// How many values, NULLs among them.
    pub fn len(&self) -> usize {
        match self {
            Self::Bool(values) => values.len(),
            Self::I8(values) => values.len(),
            Self::I16(values) => values.len(),
            Self::I32(values) => values.len(),
            Self::I64(values) => values.len(),
            Self::U8(values) => values.len(),
            Self::U16(values) => values.len(),
            Self::U32(values) => values.len(),
            Self::U64(values) => values.len(),
            Self::F32(values) => values.len(),
            Self::F64(values) => values.len(),
            Self::I128(values) => values.len(),
            Self::Bytes(values) => values.len(),
        }
    }

    /// Whether there is no value.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The physical kind of the values.
    pub fn kind(&self) -> Kind {
        match self {
            Self::Bool(_) => Kind::Bool,
            Self::I8(_) => Kind::I8,
            Self::I16(_) => Kind::I16,
            Self::I32(_) => Kind::I32,
            Self::I64(_) => Kind::I64,
            Self::U8(_) => Kind::U8,
            Self::U16(_) => Kind::U16,
            Self::U32(_) => Kind::U32,
            Self::U64(_) => Kind::U64,
            Self::F32(_) => Kind::F32,
            Self::F64(_) => Kind::F64,
            Self::I128(_) => Kind::I128,
            Self::Bytes(_) => Kind::Bytes,
        }
    }
}
