//! What a fuzz target does with rows of a COPY.

use super::{
    options::{Form, Kind},
    rows::{Field, Rows},
};

/// The rows of bytes that come in parts of so many.
fn rows_of(form: &Form, bytes: &[u8], part: usize) -> (Vec<Vec<Field>>, bool) {
    let (mut rows, mut all) = (Rows::new(form), Vec::new());
    let mut take = |row: &[Field]| {
        all.push(row.to_vec());
        Ok(())
    };
    let pushed = bytes.chunks(part.max(1)).try_for_each(|bytes| rows.push(bytes, &mut take));
    let is_done = pushed.and_then(|()| rows.finish(&mut take)).is_ok();
    (all, is_done)
}

/// Rows are the same in whichever parts they come. The first byte says which form they have.
pub(crate) fn rows(bytes: &[u8]) {
    let Some((first, bytes)) = bytes.split_first() else { return };
    let (kind, delimiter) = match first % 3 {
        0 => (Kind::Text, b'\t'),
        1 => (Kind::Csv, b','),
        _ => (Kind::Binary, b'\t'),
    };
    let form =
        Form { kind, delimiter, null: String::new(), header: first & 4 != 0, quote: b'"', escape: b'"' };
    let whole = rows_of(&form, bytes, bytes.len());
    assert!(whole.0.iter().flatten().flatten().map(Vec::len).sum::<usize>() <= bytes.len());
    let parts = rows_of(&form, bytes, 1 + usize::from(first >> 3));
    assert_eq!(whole.1, parts.1, "in parts it ends otherwise");
    assert!(!whole.1 || whole.0 == parts.0, "in parts the rows are others");
}
