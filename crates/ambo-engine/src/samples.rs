//! Keys that cut sorted rows into parts of about as many, chosen among some of their keys.

/// Some keys, each with the rows that it stands for.
#[derive(Default)]
pub(crate) struct Samples {
    keys: Vec<(Vec<u8>, u64)>,
}

impl Samples {
    /// Adds a key that stands for so many rows in front of it.
    pub(crate) fn add(&mut self, key: &[u8], rows: u64) {
        self.keys.push((key.to_vec(), rows));
    }

    /// The keys in front of which there are as many rows as a part has, since the one before.
    pub(crate) fn cut(mut self, part: u64) -> Vec<Vec<u8>> {
        self.keys.sort_unstable();
        let mut cuts: Vec<Vec<u8>> = Vec::new();
        let mut rows = 0;
        for (key, each) in self.keys {
            rows += each;
            if rows >= part && cuts.last() != Some(&key) {
                cuts.push(key);
                rows = 0;
            }
        }
        debug_assert!(cuts.is_sorted_by(|one, other| one < other));
        cuts
    }
}
