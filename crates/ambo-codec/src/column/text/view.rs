//! Until `column::BytesView` is here.
/// Strings one after the other.
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
    pub fn len(&self) -> usize {
        self.offsets.len() - 1
    }
    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }
    /// String `index`.
    pub fn get(&self, index: usize) -> &'a [u8] {
        &self.data[self.offsets[index] as usize..self.offsets[index + 1] as usize]
    }
    /// All strings.
    pub fn iter(self) -> impl ExactSizeIterator<Item = &'a [u8]> + Clone {
        self.offsets.windows(2).map(move |ends| &self.data[ends[0] as usize..ends[1] as usize])
    }
    /// Offsets.
    pub fn offsets(&self) -> &'a [u32] {
        self.offsets
    }
    /// Data.
    pub fn data(&self) -> &'a [u8] {
        self.data
    }
}
