//! Hostile bytes for `ambo_codec::bitmap`.

use ambo_codec::bitmap::{Bitmap, Positions};

use crate::{Noise, targets::bitmap};

// Keeps away a panic, an over-read or a false promise on bytes that nobody wrote.
#[test]
fn noise() {
    let mut noise = Noise(11);
    for _ in 0..100_000 {
        let mut bytes = noise.bytes();
        // Headers that get past the first checks.
        for (byte, plausible) in bytes.iter_mut().zip([1, 0x18, noise.next() as u8 % 4, 0]) {
            *byte = if noise.next().is_multiple_of(8) { *byte } else { plausible };
        }
        bitmap::bitmap_read(&bytes);
    }
}

// Keeps away the same on bitmaps that were damaged.
#[test]
fn damaged() {
    let mut noise = Noise(12);
    let sets = [
        Bitmap::from_sorted((0..50).map(|n| n * 1500)),
        Bitmap::from_sorted((0..9_000).map(|n| n * 3)),
        Bitmap::from_sorted((0..65_536).filter(|n| n % 20 != 0)),
        Bitmap::from_sorted((0..90_000).filter(|n| n % 1000 < 700)),
    ];
    for set in sets {
        let mut good = Vec::new();
        set.expect("ascending").encode(&mut good);
        for _ in 0..1_000 {
            let mut bytes = good.clone();
            for _ in 0..=noise.next() % 6 {
                // As often in the header as in the data.
                let reach = if noise.next().is_multiple_of(2) { 24 } else { bytes.len() as u64 };
                bytes[(noise.next() % reach) as usize] = noise.next() as u8;
            }
            bitmap::bitmap_read(&bytes);
        }
    }
}
