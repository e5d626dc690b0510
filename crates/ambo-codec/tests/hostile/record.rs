use crate::{Noise, targets::record};

// Keeps away a panic, memory without bound, or two readings of one record, on bytes that nobody wrote.
#[test]
fn decompress() {
    let mut noise = Noise(3);
    (0..200_000).for_each(|_| record::record_decompress(&noise.bytes()));
}

// Keeps away bytes that do not come back.
#[test]
fn round_trip() {
    let mut noise = Noise(4);
    (0..10_000)
        .for_each(|_| record::record_round_trip(&[noise.bytes(), noise.bytes(), noise.bytes()].concat()));
}

// Keeps away a panic by a dictionary that nobody trained.
#[test]
fn dictionary() {
    let mut noise = Noise(5);
    (0..3_000).for_each(|_| record::record_dictionary(&noise.bytes()));
}
