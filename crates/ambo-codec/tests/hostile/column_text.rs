use crate::{Noise, targets::column_text};

/// Bytes that begin like a block more often than noise does.
fn block(noise: &mut Noise) -> Vec<u8> {
    let header = [noise.next() as u8 % 40, noise.next() as u8 % 4, noise.next() as u8 % 9, noise.next() as u8 % 99];
    [&header[..], &noise.bytes(), &noise.bytes()].concat()
}

// Keeps away a panic, or two readings of the same string, on bytes that nobody wrote.
#[test]
fn noise() {
    let mut noise = Noise(21);
    (0..200_000).for_each(|_| column_text::parse(&block(&mut noise)));
}

// Keeps away the same on blocks of which some bytes are others.
#[test]
fn damage() {
    let mut noise = Noise(22);
    for _ in 0..1_500 {
        let text: Vec<u8> = (0..8).flat_map(|_| noise.bytes()).collect();
        let header = [noise.next() as u8, noise.next() as u8, noise.next() as u8];
        column_text::damage(&[&header[..], &text].concat());
    }
}
