//! Every codec, word and operation against a plain vector.

use proptest::prelude::*;

use super::{simd::Level, *};

/// Gaps of many shapes: dense runs, strides, small, mixed, wide; the first value anywhere.
fn values<W: Word>(len_max: usize) -> impl Strategy<Value = Vec<W>> {
    let bits = W::BITS as u32;
    let gaps = (0..=bits, any::<bool>(), 0u64..20, prop::collection::vec(any::<(u64, u8)>(), 0..len_max))
        .prop_map(move |(bits, mixed, step, random)| {
            let shifted = |(value, spread): &(u64, u8)| {
                let bits = if mixed { u32::from(*spread) % (bits + 1) } else { bits };
                (u128::from(*value) >> (64 - bits)) as u64
            };
            (step, random.iter().map(shifted).collect::<Vec<_>>())
        });
    (any::<u64>(), gaps).prop_map(move |(first, (step, gaps))| {
        let max = W::from_u64(u64::MAX).to_u64();
        let mut value = W::from_u64(first).to_u64();
        let needed = gaps.iter().map(|&gap| u128::from(gap) + u128::from(step) + 1).sum::<u128>();
        if u128::from(value) + needed > u128::from(max) {
            value = (u128::from(max).saturating_sub(needed)) as u64;
        }
        let mut values = vec![W::from_u64(value)];
        for gap in gaps {
            let Some(next) =
                value.checked_add(gap).and_then(|v| v.checked_add(step + 1)).filter(|v| *v <= max)
            else {
                break;
            };
            value = next;
            values.push(W::from_u64(value));
        }
        values
    })
}

/// All operations of a block that is read from `bytes`.
fn check_block<W: Word>(
    codec: IntegerCodec,
    values: &[W],
    bytes: &[u8],
    probes: &[u64],
) -> Result<(), TestCaseError> {
    let block = codec.block(bytes, values[0], values.len()).unwrap();
    prop_assert_eq!(block.len(), values.len());
    let mut decoded = vec![W::default(); values.len()];
    block.decode(&mut decoded).unwrap();
    prop_assert_eq!(&decoded, values);
    prop_assert_eq!(block.sum().unwrap(), values.iter().map(|v| u128::from(v.to_u64())).sum::<u128>());
    prop_assert_eq!(block.last().unwrap(), *values.last().unwrap());
    for &probe in probes {
        let index = probe as usize % values.len();
        prop_assert_eq!(block.select(index).unwrap(), values[index]);
        let near = values[index].to_u64();
        for key in [near.wrapping_sub(1), near, near.wrapping_add(1), probe] {
            let key = W::from_u64(key);
            let below = values.partition_point(|value| *value < key);
            let expected = (below, values.get(below) == Some(&key));
            prop_assert_eq!(block.lower_bound(key).unwrap(), expected);
            prop_assert_eq!(block.count_below(key).unwrap(), below);
        }
        let end = index + (probe >> 32) as usize % (values.len() - index + 1);
        let mut part = vec![W::default(); end - index];
        block.decode_range(index..end, &mut part).unwrap();
        prop_assert_eq!(&part[..], &values[index..end]);
    }
    Ok(())
}

/// Each level gives what the scalar code gives, on any bytes. Sums of damaged blocks may differ.
fn check_levels<W: Word>(
    codec: IntegerCodec,
    bytes: &[u8],
    first: W,
    count: usize,
    probes: &[u64],
) -> Result<(), TestCaseError> {
    let Ok(block) = codec.block(bytes, first, count) else { return Ok(()) };
    let decode = |level| {
        let mut out = vec![W::default(); count];
        simd::decode(level, &block, &mut out).map(|()| out)
    };
    let expected = decode(Level::Scalar);
    let increasing = expected.as_ref().is_ok_and(|values| values.windows(2).all(|pair| pair[0] < pair[1]));
    for level in Level::all() {
        prop_assert_eq!(&decode(level).ok(), &expected.clone().ok(), "{:?} {} decode", level, codec);
        let sum = simd::sum(level, &block);
        prop_assert_eq!(sum.is_ok(), expected.is_ok());
        if increasing {
            prop_assert_eq!(sum.ok(), simd::sum(Level::Scalar, &block).ok(), "{:?} {} sum", level, codec);
        }
        for &probe in probes {
            if scalar::frame(&block).is_none() {
                let index = probe as usize % count;
                let selected = simd::select(level, &block, index).ok();
                let scalar = simd::select(Level::Scalar, &block, index).ok();
                prop_assert!(selected == scalar || expected.is_err(), "{:?} {} select", level, codec);
            }
            let key = match &expected {
                Ok(values) => W::from_u64(values[probe as usize % count].to_u64().wrapping_add(probe >> 62)),
                Err(_) => W::from_u64(probe),
            };
            let found = simd::lower_bound(level, &block, key);
            if increasing && key > first {
                prop_assert_eq!(
                    found,
                    simd::lower_bound(Level::Scalar, &block, key),
                    "{:?} {}",
                    level,
                    codec
                );
            } else if let Ok((below, _)) = found {
                prop_assert!(below <= count);
            }
        }
    }
    Ok(())
}

/// Encodes, reads with and without slack, measures, appends.
fn check_codec<W: Word>(codec: IntegerCodec, values: &[W], probes: &[u64]) -> Result<(), TestCaseError> {
    let values = &values[..values.len().min(codec.block_len())];
    let mut bytes = vec![0xee];
    codec.encode(values, &mut bytes);
    let bytes = &bytes[1..];
    prop_assert_eq!(codec.encoded_size(values), bytes.len());
    let exact: Box<[u8]> = bytes.into();
    check_block(codec, values, &exact, probes)?;
    check_levels(codec, &exact, values[0], values.len(), probes)?;
    let mut slack = bytes.to_vec();
    slack.extend_from_slice(&[0xa5; 80]);
    check_block(codec, values, &slack, probes)?;
    check_levels(codec, &slack, values[0], values.len(), probes)?;
    let block = codec.block(&slack, values[0], values.len()).unwrap();
    prop_assert_eq!(block.bytes_used().unwrap(), bytes.len());
    prop_assert!(block.check().is_ok());
    if let Some(short) = bytes.len().checked_sub(1) {
        let read = codec.block(&bytes[..short], values[0], values.len());
        prop_assert!(read.and_then(|block| block.bytes_used()).is_err());
        let read = codec.block(&bytes[..short], values[0], values.len());
        prop_assert!(read.and_then(|block| block.sum()).is_err());
    }
    let (last, head) = values.split_last().unwrap();
    if !head.is_empty() {
        let mut appended = Vec::new();
        codec.encode(head, &mut appended);
        codec.append(&mut appended, head[0], head.len(), *last).unwrap();
        prop_assert_eq!(&appended[..], bytes);
    }
    Ok(())
}

proptest! {
    // Keeps away any codec that loses a value, finds another, or takes more bytes than it said, for both words.
    #[test]
    fn every_operation_u32(values in values::<u32>(257), probes in any::<[u64; 6]>()) {
        for codec in IntegerCodec::ALL {
            check_codec(codec, &values, &probes)?;
        }
    }

    #[test]
    fn every_operation_u64(values in values::<u64>(257), probes in any::<[u64; 6]>()) {
        for codec in IntegerCodec::ALL {
            check_codec(codec, &values, &probes)?;
        }
    }

    // Keeps away vectors that read other bytes than the scalar code, or panic, on bytes that nobody wrote.
    #[test]
    fn levels_agree_on_any_bytes(
        mut bytes in prop::collection::vec(prop_oneof![any::<u8>(), Just(0x80), Just(0xff), 0u8..0x40], 0..700),
        header in 0u8..66,
        count in 1usize..257,
        first in any::<u64>(),
        probes in any::<[u64; 3]>(),
    ) {
        for codec in IntegerCodec::ALL {
            let count = (count - 1) % codec.block_len() + 1;
            if let (IntegerCodec::For | IntegerCodec::SimdFor | IntegerCodec::Bp128, Some(byte)) = (codec, bytes.first_mut()) {
                *byte = header;
            }
            check_levels(codec, &bytes, first as u32, count, &probes)?;
            check_levels(codec, &bytes, first, count, &probes)?;
        }
    }

    // Keeps away a page builder that overfills a page because the measure is not what is written.
    #[test]
    fn measure_is_exact_at_every_length(values in values::<u64>(257)) {
        for codec in IntegerCodec::ALL {
            let mut measure = BlockMeasure::new(codec);
            prop_assert_eq!(measure.bytes(), 0);
            for end in 1..=values.len().min(codec.block_len()) {
                measure = measure.with(values[end - 1]);
                if end % 7 == 0 || end < 20 {
                    let mut bytes = Vec::new();
                    codec.encode(&values[..end], &mut bytes);
                    prop_assert_eq!((measure.len(), measure.bytes()), (end, bytes.len()));
                }
            }
        }
    }
}

/// A whole block on each level, whose distances are `width` bits wide.
fn check_width<W: Word>(width: u32, random: &mut impl FnMut() -> u64) {
    // Room for the line below the distances, at the largest widths.
    let max = (u64::MAX >> (64 - width)).min(W::from_u64(u64::MAX).to_u64() - 300);
    for codec in IntegerCodec::ALL {
        let count = codec.block_len();
        let mut distances: Vec<u64> = (0..count).map(|_| random() % (max / 2 + 1)).collect();
        (distances[0], distances[count - 1]) = (0, max);
        distances.sort_unstable();
        let value = |(index, distance): (usize, &u64)| W::from_u64(3 + index as u64 + distance);
        let values: Vec<W> = distances.iter().enumerate().map(value).collect();
        let probes = [random(), random(), random(), count as u64 - 1];
        check_codec(codec, &values, &probes).unwrap();
    }
}

// Keeps away a width whose constants are wrong: random blocks are seldom whole.
#[test]
fn whole_blocks_of_every_width() {
    let mut state = 1u64;
    let mut random = || {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        state.rotate_left(32)
    };
    for _ in 0..4 {
        (1..=32).for_each(|width| check_width::<u32>(width, &mut random));
        (1..=64).for_each(|width| check_width::<u64>(width, &mut random));
    }
}

/// The block of `values`.
fn encoded<W: Word>(codec: IntegerCodec, values: &[W]) -> Vec<u8> {
    let mut bytes = Vec::new();
    codec.encode(values, &mut bytes);
    bytes
}

// Keeps away drift from the documented bytes (docs/formats/integers.md).
#[test]
fn worked_examples() {
    use IntegerCodec::*;
    let (narrow, wide) = ([1000u32, 1001, 1005, 1300], [1000u64, 1001, 1005, 1300]);
    for codec in [VByte, MaskedVByte] {
        assert_eq!(encoded(codec, &narrow), [0x00, 0x03, 0xa6, 0x02]);
        assert_eq!(encoded(codec, &wide), [0x00, 0x03, 0xa6, 0x02]);
    }
    assert_eq!(encoded(GroupVarint, &narrow), [0x10, 0x00, 0x03, 0x26, 0x01]);
    assert_eq!(encoded(StreamVByte, &narrow), [0x24, 0x03, 0x26, 0x01]);
    for codec in [GroupVarint, StreamVByte] {
        assert_eq!(encoded(codec, &wide), [0x10, 0x02, 0x03, 0x26, 0x01]);
    }
    assert_eq!(encoded(For, &narrow), [0x09, 0x00, 0x06, 0xa4, 0x04]);
    assert_eq!(encoded(For, &wide), [0x09, 0x00, 0x06, 0xa4, 0x04]);
    let mut lanes = vec![0x09, 0, 0, 0, 0, 0x03, 0, 0, 0, 0x29, 0x01, 0, 0];
    lanes.resize(33, 0);
    assert_eq!(encoded(SimdFor, &narrow), lanes);
    assert_eq!(encoded(Bp128, &narrow), [0x09, 0x00, 0x06, 0x98, 0x04]);
    assert_eq!(encoded(Bp128, &wide), [0x09, 0x00, 0x06, 0x98, 0x04]);
    for codec in [For, SimdFor, Bp128] {
        assert_eq!(encoded(codec, &[10u32, 20, 30, 40]), [0x80, 0x09]);
        assert_eq!(encoded(codec, &[7u64, 8, 9, 10]), [0x00]);
    }
    for codec in IntegerCodec::ALL {
        assert_eq!(encoded(codec, &[u64::MAX]), []);
    }
}

// Keeps away a full or disordered block that loses values in silence.
#[test]
fn append_refuses() {
    for codec in IntegerCodec::ALL {
        let values: Vec<u32> = (5..5 + codec.block_len() as u32).collect();
        let mut bytes = encoded(codec, &values);
        let before = bytes.clone();
        assert!(codec.append(&mut bytes, 5, values.len(), 9000u32).is_err());
        let last = *values.last().unwrap();
        assert!(codec.append(&mut bytes, 5, values.len() - 1, last - 1).is_err());
        assert_eq!(bytes, before);
    }
}

// Keeps away a block whose step no two of its values can be apart.
#[test]
fn a_step_wider_than_the_word_is_refused() {
    // Width 0 and a step of 2^32 - 1, then of 2^32.
    let (widest, wider) = ([0x80, 0xff, 0xff, 0xff, 0xff, 0x0f], [0x80, 0x80, 0x80, 0x80, 0x80, 0x10]);
    for codec in [IntegerCodec::For, IntegerCodec::SimdFor, IntegerCodec::Bp128] {
        assert!(codec.block(&widest, 0u32, 2).is_ok());
        assert!(codec.block(&wider, 0u32, 2).is_err());
        assert!(codec.block(&wider, 0u64, 2).is_ok());
    }
}

// Keeps away a value that is appended behind what only follows the block, as in a page.
#[test]
fn append_leaves_out_what_follows_the_block() {
    for codec in IntegerCodec::ALL {
        for count in [1, 2, 5, 17, 64, 100] {
            let values: Vec<u32> = (0..=count).map(|n| n * n * 300).collect();
            let mut bytes = encoded(codec, &values[..count as usize]);
            bytes.extend_from_slice(&[0xaa; 9]);
            codec.append(&mut bytes, 0, count as usize, values[count as usize]).unwrap();
            assert_eq!(bytes, encoded(codec, &values), "{codec}, {count}");
        }
    }
}
