//! Many short byte strings in one.

/// Byte strings one behind the other.
#[derive(Debug, Default)]
pub struct Strings {
    ends: Vec<usize>,
    bytes: Vec<u8>,
}

impl Strings {
    /// Appends one.
    pub fn push(&mut self, string: &[u8]) {
        let end = self.ends.last().copied().unwrap_or_default();
        assert_eq!(end, self.bytes.len(), "strings lie one behind the other, and none is forgotten");
        self.bytes.extend_from_slice(string);
        self.ends.push(self.bytes.len());
    }

    /// How many.
    pub fn len(&self) -> usize {
        self.ends.len()
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.ends.is_empty()
    }

    /// Forgets all.
    pub fn clear(&mut self) {
        self.ends.clear();
        self.bytes.clear();
    }

    /// All of them.
    pub fn all(&self) -> Vec<&[u8]> {
        (0..self.len()).map(|index| self.get(index)).collect()
    }

    /// Bytes of memory, when it has no room for more.
    pub fn memory(&self) -> usize {
        self.bytes.len() + size_of_val(&*self.ends)
    }

    /// Gives back memory that is not in use.
    pub fn shrink_to_fit(&mut self) {
        self.bytes.shrink_to_fit();
        self.ends.shrink_to_fit();
    }

    /// One of them. Panics if there are not so many.
    pub fn get(&self, index: usize) -> &[u8] {
        let start = index.checked_sub(1).map_or(0, |before| self.ends[before]);
        debug_assert!(start <= self.ends[index], "strings lie one behind the other");
        &self.bytes[start..self.ends[index]]
    }

    /// Forgets what they are, not how many.
    pub fn forget_bytes(&mut self) {
        self.bytes = Vec::new();
    }
}
