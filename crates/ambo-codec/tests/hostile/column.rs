use crate::{Noise, targets::column};

// Keeps away a panic, or memory without bound, on bytes that nobody wrote.
#[test]
fn blocks() {
    let mut noise = Noise(5);
    (0..30_000).for_each(|_| column::parse(&noise.bytes()));
}

// Keeps away a panic, and disagreement between ways to read what verifies, on blocks that were damaged.
#[test]
fn damaged_blocks() {
    let mut noise = Noise(6);
    (0..10_000).for_each(|_| column::damage(&noise.bytes()));
}
