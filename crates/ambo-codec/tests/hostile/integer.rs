//! Hostile bytes for `ambo_codec::integer`.

use crate::{Noise, targets::integer};

// Keeps away a panic, a read outside of the block, or two readings of the same block, on bytes that nobody wrote.
#[test]
fn blocks() {
    let mut noise = Noise(3);
    for round in 0..60_000 {
        let mut bytes = noise.bytes();
        if round % 4 == 0 {
            (0..40).for_each(|_| bytes.extend_from_slice(&noise.bytes()));
        }
        // Widths that a block can have, more often than chance would give them.
        if let (Some(header), true) = (bytes.get_mut(4), round % 3 == 0) {
            *header = (noise.next() % 34) as u8 | (noise.next() as u8 & 0x80);
        }
        // Short blocks more often: they are not cut off as soon.
        if let (Some(count), true) = (bytes.get_mut(2), round % 2 == 0) {
            *count %= 8;
        }
        integer::integer_block(&bytes);
    }
}
