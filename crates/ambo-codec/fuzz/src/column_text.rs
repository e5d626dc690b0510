//! Text blocks and shared tables from any bytes.

use ambo_codec::column::{
    BytesView, Goal, Mask,
    text::{SharedTable, TextBlock, TextEncoding, TextPredicate, TextTable, encode_as},
};

/// Reads `block` in every way. What can be read as a whole must read the same in parts.
fn read(block: &TextBlock<'_>) {
    // Much decoded from little: allowed, but not of use here.
    if block.decoded_len() > 1 << 20 {
        return;
    }
    let rows = block.len();
    let (mut offsets, mut data) = (Vec::new(), Vec::new());
    let whole = block.decode(0..rows, &mut offsets, &mut data).is_ok();
    assert!(whole || offsets.is_empty() && data.is_empty());
    for row in [0, rows / 2, rows.saturating_sub(1)].into_iter().filter(|row| *row < rows) {
        let mut one = Vec::new();
        let got = block.get(row, &mut one);
        if whole {
            assert_eq!(got, Ok(()), "the whole can be read, so can its parts");
            assert_eq!(one, data[offsets[row] as usize..offsets[row + 1] as usize]);
        }
        let _ = block.borrow(row);
        let _ = block.decode(row..rows, &mut Vec::new(), &mut Vec::new());
        let _ = block.gather(&[row as u32, 0], &mut Vec::new(), &mut Vec::new());
    }
    for predicate in [
        TextPredicate::Le(b"furiously"),
        TextPredicate::Between(b"", b"m"),
        TextPredicate::In(&[b"", b"a"]),
        TextPredicate::Prefix(b"f"),
        TextPredicate::Contains(b"a"),
    ] {
        let mut selection = Mask::all(rows);
        if block.filter(&predicate, &mut selection).is_ok() && whole {
            for (row, ends) in offsets.windows(2).enumerate() {
                let string = &data[ends[0] as usize..ends[1] as usize];
                // A dictionary that is not in order may answer wrongly, but only damage makes one.
                if block.codes().is_none() {
                    assert_eq!(selection.get(row), predicate.matches(string));
                }
            }
        }
    }
    let _ = block.min_max();
    if let Some(codes) = block.codes() {
        let _ = codes.read(0..rows, &mut Vec::new());
    }
}

/// A block of any bytes, over a table of some of them.
pub fn parse(bytes: &[u8]) {
    let Some((&[rows, split], rest)) = bytes.split_first_chunk::<2>() else { return };
    let (table, block) = rest.split_at(usize::from(split).min(rest.len()));
    let shared = SharedTable::parse(table).ok();
    let rows = usize::from(rows) * if split & 1 == 0 { 1 } else { 250 };
    for block in [rest, block] {
        if let Ok(block) = TextBlock::parse(block, rows, shared.as_ref()) {
            read(&block);
        }
    }
}

/// A block that was encoded from some of the bytes and then damaged with the others.
pub fn damage(bytes: &[u8]) {
    let Some((&[number, len, flips], rest)) = bytes.split_first_chunk::<3>() else { return };
    let (patch, text) = rest.split_at((usize::from(flips % 4) * 2).min(rest.len()));
    let len = usize::from(len % 8) + 1;
    let offsets: Vec<u32> = (0..=text.len() / len).map(|row| (row * len) as u32).collect();
    let strings = BytesView::new(&offsets, text);
    let encoding = TextEncoding::ALL[usize::from(number) % TextEncoding::ALL.len()];
    let table = (number & 0x80 != 0).then(|| TextTable::train(&strings, Goal::Speed));
    let table = table.as_ref();
    let mut block = Vec::new();
    if !encode_as(encoding, &strings, Goal::Size, table, &mut block).expect("few strings") {
        return;
    }
    for patch in patch.chunks_exact(2) {
        let at = usize::from(patch[0]) % block.len();
        block[at] = patch[1];
    }
    if let Ok(block) = TextBlock::parse(&block, strings.len(), table.map(TextTable::shared)) {
        read(&block);
    }
}

/// Both, of the same bytes.
pub fn text(bytes: &[u8]) {
    parse(bytes);
    damage(bytes);
}
