//! Many short byte strings in one.

/// Byte strings one behind the other.
#[derive(Debug, Default)]
pub(super) struct Strings {
    ends: Vec<usize>,
    bytes: Vec<u8>,
}

impl Strings {
    pub(super) fn push(&mut self, string: &[u8]) {
        self.bytes.extend_from_slice(string);
        self.ends.push(self.bytes.len());
    }

    pub(super) fn len(&self) -> usize {
        self.ends.len()
    }

    pub(super) fn is_empty(&self) -> bool {
        self.ends.is_empty()
    }

    pub(super) fn clear(&mut self) {
        self.ends.clear();
        self.bytes.clear();
    }

    pub(super) fn all(&self) -> Vec<&[u8]> {
        (0..self.len()).map(|index| self.get(index)).collect()
    }

    /// Bytes of memory, when it has no room for more.
    pub(super) fn memory(&self) -> usize {
        self.bytes.len() + size_of_val(&*self.ends)
    }

    pub(super) fn shrink_to_fit(&mut self) {
        self.bytes.shrink_to_fit();
        self.ends.shrink_to_fit();
    }

    pub(super) fn get(&self, index: usize) -> &[u8] {
        let start = index.checked_sub(1).map_or(0, |before| self.ends[before]);
        &self.bytes[start..self.ends[index]]
    }

    /// Forgets what they are, not how many.
    pub(super) fn forget_bytes(&mut self) {
        self.bytes = Vec::new();
    }
}
