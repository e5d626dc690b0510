//! The rows of a memtable in the order in which versions of them came: so what was written since a moment is found without a walk over all
//! rows.
//!
//! A version has the number that the memtable's count of versions had before it, and its row is noted under that number. Chunks of numbers
//! double, so that nothing is ever moved.
//!
//! **Thread safety.** Any number of threads note and read.
//!
//! 1. A number is noted by one thread, once. What is not noted yet reads as nothing.
//! 2. Whoever knows that an insert has returned finds its row noted.

use std::sync::OnceLock;

use super::{
    arena::{At, AtomicAt},
    row::Row,
};

/// Numbers of the first chunk; each has twice as many as the one before.
const FIRST_CHUNK: usize = 1 << 10;
/// Enough for 2³² versions, which no memtable has.
const CHUNKS: usize = 23;

/// See the module.
#[derive(Default)]
pub(super) struct Journal {
    chunks: [OnceLock<Box<[AtomicAt<Row>]>>; CHUNKS],
}

/// The chunk of a number, and its place there.
fn place(number: usize) -> (usize, usize) {
    let chunk = (number / FIRST_CHUNK + 1).ilog2() as usize;
    (chunk, number - FIRST_CHUNK * ((1 << chunk) - 1))
}

impl Journal {
    /// Notes whose version has a number.
    pub(super) fn note(&self, number: usize, row: At<Row>) {
        let (chunk, place) = place(number);
        let rows = self.chunks[chunk].get_or_init(|| {
            let empty = || AtomicAt::new(At::NULL);
            (0..FIRST_CHUNK << chunk).map(|_| empty()).collect()
        });
        debug_assert!(rows[place].load().is_null(), "a number is noted once");
        rows[place].store(row);
    }

    /// The row whose version has a number, if it is noted.
    pub(super) fn row(&self, number: usize) -> Option<At<Row>> {
        let (chunk, place) = place(number);
        let row = self.chunks.get(chunk)?.get()?[place].load();
        (!row.is_null()).then_some(row)
    }

    /// Bytes for so many versions.
    pub(super) fn bytes(versions: usize) -> usize {
        match versions {
            0 => 0,
            _ => (FIRST_CHUNK * ((2 << place(versions - 1).0) - 1)) * size_of::<AtomicAt<Row>>(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    // Numbers that share a place, or lie outside of their chunk.
    #[test]
    fn numbers_have_places_of_their_own() {
        let mut expected = (0, 0);
        for number in 0..100 * FIRST_CHUNK {
            assert_eq!(place(number), expected);
            expected.1 += 1;
            if expected.1 == FIRST_CHUNK << expected.0 {
                expected = (expected.0 + 1, 0);
            }
        }
        assert!(place(u32::MAX as usize).0 < CHUNKS);
        assert_eq!(Journal::bytes(0), 0);
        assert_eq!(Journal::bytes(FIRST_CHUNK), FIRST_CHUNK * 4);
        assert_eq!(Journal::bytes(FIRST_CHUNK + 1), FIRST_CHUNK * 3 * 4);
    }
}
