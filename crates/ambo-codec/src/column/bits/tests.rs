use proptest::prelude::*;

use super::*;

/// The format, a bit at a time.
fn reference(codes: &[u64], width: u32) -> Vec<u8> {
    let mut out = vec![0; packed_len(codes.len(), width)];
    let (lane, lanes) = (lane_bits(width) as usize, lanes(width));
    for (index, code) in codes.iter().enumerate() {
        let vector = index / VECTOR * width as usize * ROW;
        let (number, position) = (index % VECTOR / lanes, index % lanes);
        for bit in 0..width as usize {
            let stream = number * width as usize + bit;
            let at = vector + stream / lane * ROW + position * lane / 8 + stream % lane / 8;
            out[at] |= ((code >> bit & 1) as u8) << (stream % 8);
        }
    }
    out
}

fn codes(width: u32, count: usize, seed: u64) -> Vec<u64> {
    let mut state = seed;
    let mut next = || {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        state ^ state >> 29
    };
    (0..count).map(|_| next() & low_bits(width)).collect()
}

/// Runs a kernel at the base level, whatever the processor.
fn unpack_base(packed: Packed<'_>, range: Range<usize>) -> Vec<u64> {
    let mut out = vec![0; range.len()];
    Unpack { packed, range, out: &mut out }.run(Level::Base);
    out
}

// Keeps away a kernel that differs from the format, at any width and any length of the last vector.
#[test]
fn every_width_is_the_format() {
    for width in 0..=64 {
        for count in [0, 1, 15, 16, 17, 127, 128, 129, 1000, 1023, 1024, 1025, 3000] {
            let codes = codes(width, count, width.into());
            let mut bytes = Vec::new();
            pack(&codes, width, &mut bytes);
            assert_eq!(bytes, reference(&codes, width), "width {width}, {count} codes");
            let packed = Packed::parse(&bytes, width, count).unwrap();
            let mut out = vec![0u64; count];
            packed.unpack(0..count, &mut out);
            assert_eq!(out, codes, "width {width}, {count} codes");
            assert_eq!(unpack_base(packed, 0..count), codes);
            assert!((0..count).all(|index| packed.get(index) == codes[index]));
        }
    }
}

// Keeps away drift from the documented bytes.
#[test]
fn worked_examples() {
    let mut bytes = Vec::new();
    pack(&(1..=200).collect::<Vec<u8>>(), 8, &mut bytes);
    assert_eq!(bytes.len(), 2 * ROW);
    assert_eq!((bytes[0], bytes[127], bytes[128], bytes[199], bytes[200]), (1, 128, 129, 200, 0));

    let mut codes = [0u32; 130];
    (codes[0], codes[1], codes[128]) = (5, 7, 10);
    let mut bytes = Vec::new();
    pack(&codes, 4, &mut bytes);
    assert_eq!(bytes.len(), ROW);
    assert_eq!(bytes[..3], [0xa5, 0x07, 0]);
}

// Keeps away lengths that a hostile header could make a reader trust.
#[test]
fn refuses_other_lengths() {
    for (len, width, count) in
        [(127, 1, 1), (129, 1, 1), (0, 1, 1), (128, 1, 0), (128, 65, 1), (0, 7, usize::MAX)]
    {
        assert!(Packed::parse(&vec![0; len], width, count).is_err(), "{len} {width} {count}");
    }
    assert_eq!(Packed::parse(&[], 0, usize::MAX).unwrap().get(7), 0);
}

proptest! {
    // Keeps away ranges that are off by one, and narrow outputs that read another place.
    #[test]
    fn ranges(width in 0u32..=32, count in 0usize..3000, ends in any::<[prop::sample::Index; 2]>(), seed in any::<u64>()) {
        let codes = codes(width, count, seed);
        let mut bytes = Vec::new();
        pack(&codes, width, &mut bytes);
        let packed = Packed::parse(&bytes, width, count).unwrap();
        let mut ends = ends.map(|end| end.index(count + 1));
        ends.sort();
        let mut out = vec![0u32; ends[1] - ends[0]];
        packed.unpack(ends[0]..ends[1], &mut out);
        prop_assert!(out.iter().zip(&codes[ends[0]..]).all(|(&out, &code)| u64::from(out) == code));
    }
}
