//! Hostile bytes for `ambo_codec::integer`.

use ambo_codec::integer::{BlockMeasure, IntegerCodec, Word};

/// The codec, the first value and the count from the front of `bytes`; the rest is a block of `u32` or `u64`. What passes the check of a
/// block is what its values encode to; what does not must not panic.
pub fn integer_block(bytes: &[u8]) {
    let Some((&[codec, wide, count, shift], bytes)) = bytes.split_first_chunk() else { return };
    let codec = IntegerCodec::ALL[usize::from(codec) % IntegerCodec::ALL.len()];
    let first = 0x0123_4567_89ab_cdef_u64 << (shift % 64);
    let count = usize::from(count) + 1;
    if wide & 1 == 0 {
        block(codec, first as u32, count, bytes);
    } else {
        block(codec, first, count, bytes);
    }
}

fn block<W: Word>(codec: IntegerCodec, first: W, count: usize, bytes: &[u8]) {
    let Ok(block) = codec.block(bytes, first, count) else { return };
    let mut values = vec![W::default(); count];
    let decoded = block.decode(&mut values);
    let used = block.bytes_used();
    let sum = block.sum();
    let last = block.last();
    for key in [first, W::from_u64(first.to_u64().wrapping_add(1000)), W::from_u64(u64::MAX)] {
        if let Ok((below, _)) = block.lower_bound(key) {
            assert!(below <= count);
        }
    }
    for index in [0, count / 2, count - 1] {
        let selected = block.select(index);
        assert!(decoded.is_err() || selected == Ok(values[index]));
        let mut range = vec![W::default(); count - index];
        let part = block.decode_range(index..count, &mut range);
        assert!(decoded.is_err() || (part.is_ok() && range[..] == values[index..]));
    }
    let mut appended = bytes.to_vec();
    let _ = codec.append(&mut appended, first, count, W::from_u64(u64::MAX));
    if block.check().is_err() {
        return;
    }
    let used = used.expect("a checked block has an end");
    assert!(used <= bytes.len());
    assert_eq!(last, Ok(values[count - 1]));
    assert_eq!(sum, Ok(values.iter().map(|value| u128::from(value.to_u64())).sum::<u128>()));
    let mut again = Vec::new();
    codec.encode(&values, &mut again);
    assert_eq!(again, bytes[..used]);
    let measure = values.iter().fold(BlockMeasure::new(codec), |measure, &value| measure.with(value));
    assert_eq!(measure.bytes(), used);
    for index in [0, count / 3, count - 1] {
        assert_eq!(block.lower_bound(values[index]), Ok((index, true)));
    }
}
