//! Column blocks from any bytes, and from encoded ones that were damaged. Strings are in `column_text`.

use ambo_codec::{
    ValueRef,
    column::{
        BitsView, Block, ColumnSlice, Compare, Element, Goal, Kind, Mask, Predicate, encode,
        envelope::{expand, is_compressed},
    },
};

/// The most bytes that a compressed block may ask for here.
const LIMIT: usize = 1 << 20;

/// Reads a block in every way. Of a block that verifies, all ways agree.
fn read<E: Element + PartialOrd>(block: &Block<'_>, constant: ValueRef<'_>) {
    let rows = block.rows();
    let sound = block.verify().is_ok();
    let mut all = vec![E::default(); rows];
    block.decode(0..rows, &mut all).expect("of its kind");
    let mut tail = vec![E::default(); rows - rows / 3];
    block.decode(rows / 3..rows, &mut tail).expect("of its kind");
    let mut positions = vec![0, rows / 2, rows.saturating_sub(1)];
    positions.retain(|&row| row < rows);
    let positions: Vec<u32> = positions.into_iter().map(|row| row as u32).collect();
    let mut picked = vec![E::default(); positions.len()];
    block.gather(&positions, &mut picked).expect("of its kind");
    for (&position, picked) in positions.iter().zip(&picked) {
        let row = position as usize;
        block.prefetch(row);
        let one = block.get_as::<E>(row).expect("of its kind");
        // NaNs differ from themselves.
        let same = |a: E, b: E| a == b || a.partial_cmp(&a).is_none();
        if sound && let Some(one) = one {
            assert!(same(one, all[row]) && same(*picked, all[row]));
            assert!(row < rows / 3 || same(one, tail[row - rows / 3]));
        }
    }
    let mut half = Mask::all(rows);
    half.clear_range(0..rows / 2);
    for predicate in [
        Predicate::IsNull,
        Predicate::Compare(Compare::Less, constant),
        Predicate::Compare(Compare::NotEqual, constant),
        Predicate::In(&[constant, ValueRef::Null]),
    ] {
        let mut mask = half.clone();
        block.filter(predicate, &mut mask).expect("comparable");
        assert!((0..rows / 2).all(|row| !mask.get(row)));
    }
    let _ = (block.sum(None), block.sum(Some(&half)));
    let _ = block.min_max(Some(&half));
    // Rows that do not ascend may be found anywhere, but among them.
    let least = block.min_max(None).ok().flatten().map(|(least, _)| least);
    for constant in [Some(constant), least.as_ref().map(|least| least.as_ref())].into_iter().flatten() {
        for rows in [0..rows, rows / 3..rows] {
            if let Some(found) = block.equal_range(rows.clone(), constant) {
                assert!(rows.start <= found.start && found.start <= found.end && found.end <= rows.end);
            }
        }
    }
    assert!(block.count(Some(&half)) <= block.count(None));
    if let Some(codes) = block.codes() {
        let mut numbers = vec![0; rows];
        codes.decode(0..rows, &mut numbers);
    }
}

fn read_kind(bytes: &[u8], kind: Kind, rows: usize) {
    let Ok(block) = Block::parse(bytes, kind, rows) else { return };
    match kind {
        Kind::Bool => read::<bool>(&block, ValueRef::Bool(true)),
        Kind::I8 => read::<i8>(&block, ValueRef::I64(5)),
        Kind::I16 => read::<i16>(&block, ValueRef::I64(5)),
        Kind::I32 => read::<i32>(&block, ValueRef::I64(5)),
        Kind::I64 => read::<i64>(&block, ValueRef::I64(5)),
        Kind::U8 => read::<u8>(&block, ValueRef::I64(5)),
        Kind::U16 => read::<u16>(&block, ValueRef::I64(5)),
        Kind::U32 => read::<u32>(&block, ValueRef::I64(5)),
        Kind::U64 => read::<u64>(&block, ValueRef::I64(5)),
        Kind::F32 => read::<f32>(&block, ValueRef::F64(0.5)),
        Kind::F64 => read::<f64>(&block, ValueRef::F64(0.5)),
        Kind::I128 => read::<i128>(&block, ValueRef::Decimal128 { unscaled: 5, scale: 0 }),
        Kind::Bytes => {
            let _ = (block.verify(), block.min_max(None), block.validity());
        }
    }
}

/// Any bytes behind a header that fits.
pub fn parse(bytes: &[u8]) {
    if let Ok(plain) = expand(bytes, LIMIT) {
        read_kind(&plain, Kind::I32, 100);
    }
    let Some((&[kind, encoding, validity, rows, scale], rest)) = bytes.split_first_chunk() else { return };
    let kind = Kind::ALL[usize::from(kind) % Kind::ALL.len()];
    let rows = usize::from(rows) * [1, 10, 257][usize::from(scale) % 3];
    let mut block = vec![1, kind.code(), encoding % 11, validity % 5];
    block.extend_from_slice(&(rows as u32).to_le_bytes());
    block.extend_from_slice(rest);
    // Short inputs become as long as packed vectors are.
    for padding in [0, 128, 1024] {
        block.resize(block.len() + padding, scale);
        read_kind(&block, kind, rows);
    }
}

/// A block that was encoded from the bytes, in which then some were changed.
pub fn damage(bytes: &[u8]) {
    let Some((&[kind, shape, flips], rest)) = bytes.split_first_chunk() else { return };
    let (patch, seed) = rest.split_at((usize::from(flips % 4) * 3).min(rest.len()));
    let mut value = 0u64;
    let values: Vec<u64> = (0..usize::from(shape) * 11)
        .map(|row| {
            let byte = u64::from(seed.get(row % seed.len().max(1)).copied().unwrap_or(7));
            value = match shape % 5 {
                0 => byte,
                1 => value.wrapping_add(byte << 20),
                2 if row % 37 != 0 => value,
                3 => (byte % 5) << 40,
                _ => byte.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> (shape % 60),
            };
            value
        })
        .collect();
    let validity: Vec<u64> = values.iter().map(|value| value | 0xff00_0000).collect();
    let validity = (shape & 1 == 0).then(|| BitsView::new(&validity, values.len()));
    let goal = if shape & 2 == 0 { Goal::Speed } else { Goal::Size };
    let kind = Kind::ALL[usize::from(kind) % Kind::ALL.len()];
    let mut block = Vec::new();
    let mut put = |slice: ColumnSlice<'_>| {
        encode(slice, validity, goal, &mut block).expect("few rows");
    };
    macro_rules! cast {
        ($native:ty) => {
            &values.iter().map(|&value| value as $native).collect::<Vec<_>>()
        };
    }
    match kind {
        Kind::Bool => put(ColumnSlice::Bool(BitsView::new(&values, values.len()))),
        Kind::I8 => put(ColumnSlice::I8(cast!(i8))),
        Kind::I16 => put(ColumnSlice::I16(cast!(i16))),
        Kind::I32 => put(ColumnSlice::I32(cast!(i32))),
        Kind::I64 => put(ColumnSlice::I64(cast!(i64))),
        Kind::U8 => put(ColumnSlice::U8(cast!(u8))),
        Kind::U16 => put(ColumnSlice::U16(cast!(u16))),
        Kind::U32 => put(ColumnSlice::U32(cast!(u32))),
        Kind::U64 => put(ColumnSlice::U64(&values)),
        Kind::F32 => {
            put(ColumnSlice::F32(&values.iter().map(|&value| value as f32 / 10.0).collect::<Vec<_>>()))
        }
        Kind::F64 => {
            put(ColumnSlice::F64(&values.iter().map(|&value| value as f64 / 10.0).collect::<Vec<_>>()))
        }
        Kind::I128 => put(ColumnSlice::I128(cast!(i128))),
        Kind::Bytes => return,
    }
    let changed = |mut block: Vec<u8>| {
        for patch in patch.chunks_exact(3) {
            let at = usize::from(u16::from_le_bytes([patch[0], patch[1]])) % block.len();
            block[at] = patch[2];
        }
        block
    };
    // Damage inside what was compressed, too.
    if is_compressed(&block) {
        let plain = expand(&block, LIMIT).expect("just encoded").into_owned();
        read_kind(&changed(plain), kind, values.len());
    }
    let block = changed(block);
    if let Ok(plain) = expand(&block, LIMIT) {
        read_kind(&plain, kind, values.len());
    }
}

/// Both, of the same bytes.
pub fn block(bytes: &[u8]) {
    parse(bytes);
    damage(bytes);
}
