//! The fuzz targets, for a moment, on bytes from a fixed seed and on their corpus: they need no nightly compiler here.

mod bitmap;
mod column;
mod column_text;
mod corpus;
mod integer;
mod record;
mod rows;
#[path = "../../fuzz/src/lib.rs"]
mod targets;

/// Bytes that look like rows and keys more often than noise does. The generator is SplitMix64.
struct Noise(u64);

impl Noise {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = self.0;
        mixed = (mixed ^ mixed >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ mixed >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ mixed >> 31
    }

    fn bytes(&mut self) -> Vec<u8> {
        let len = self.next() % 48;
        let common = [0x00, 0x01, 0x02, 0x22, 0x31, 0x7f, 0x80, 0xff];
        let byte = |random: u64| match random & 0x300 {
            0x300 => common[(random & 7) as usize],
            0x200 => random as u8 & 0x0f,
            _ => random as u8,
        };
        (0..len).map(|_| byte(self.next())).collect()
    }
}
