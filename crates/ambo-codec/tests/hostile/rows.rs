use crate::{Noise, targets::rows};

// Keeps away a panic, or two readings of the same key, on bytes that nobody wrote.
#[test]
fn keys() {
    let mut noise = Noise(1);
    (0..300_000).for_each(|_| rows::key_decode(&noise.bytes()));
}

// Keeps away a panic, or two readings of the same row, on bytes that nobody wrote.
#[test]
fn rows() {
    let mut noise = Noise(2);
    (0..300_000).for_each(|_| rows::row_decode(&noise.bytes()));
}
