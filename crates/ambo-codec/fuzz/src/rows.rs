//! Keys and rows from any bytes. The columns are made from the first bytes, the rest is decoded.

use ambo_codec::{KeyColumn, KeySpec, RowColumn, RowSpec, Type, Value, ValueRef};

/// Takes up to `count_max` column types, each with a byte of flags, from the front of `bytes`.
fn columns(bytes: &mut &[u8], count_max: usize) -> Vec<(Type, u8)> {
    let mut columns = Vec::new();
    let Some((&count, rest)) = bytes.split_first() else { return columns };
    *bytes = rest;
    for _ in 0..usize::from(count) % (count_max + 1) {
        let Some((&flags, rest)) = bytes.split_first() else { break };
        let code = flags % 17 + 1;
        let ty =
            if code == 12 { Type::decimal(38, 4).ok() } else { Type::decode(&[code]).ok().map(|(ty, _)| ty) };
        columns.push((ty.expect("1 to 17 are types"), flags / 17));
        *bytes = rest;
    }
    columns
}

fn refs(values: &[Value]) -> Vec<ValueRef<'_>> {
    values.iter().map(Value::as_ref).collect()
}

/// A key that decodes is what its values encode to.
pub fn key_decode(mut bytes: &[u8]) {
    let columns = columns(&mut bytes, 4).into_iter().map(|(ty, flags)| {
        let column = KeyColumn::new(ty);
        let column = if flags & 1 != 0 { column.descending() } else { column };
        if flags & 2 != 0 { column.nullable() } else { column }
    });
    let Ok(spec) = KeySpec::new(columns.collect()) else { return };
    let _ = spec.prefix_len(bytes, 1);
    if let Ok(values) = spec.decode(bytes) {
        let mut again = Vec::new();
        spec.encode(&refs(&values), &mut again).expect("decoded values fit");
        assert_eq!(again, bytes);
        let range = spec.prefix_range(&refs(&values)[..1]).expect("decoded values fit");
        assert!(range.contains(bytes));
    }
}

/// A row that decodes encodes to a row of the same values, and all ways to read it agree.
pub fn row_decode(mut bytes: &[u8]) {
    let columns = columns(&mut bytes, 12).into_iter().map(|(ty, flags)| {
        let column = RowColumn::new(ty);
        let column = if flags & 1 != 0 { column.nullable() } else { column };
        let has_default = flags & 2 != 0 && ty == Type::I64;
        if has_default { column.with_default(-5i64) } else { column }
    });
    let Ok(spec) = RowSpec::new(columns.collect()) else { return };
    let all: Vec<usize> = (0..spec.columns().len()).collect();
    let projection = spec.projection(&all).expect("its own columns");
    let mut projected = Vec::new();
    let projects = spec.decode_projection(&projection, bytes, &mut projected).is_ok();
    for column in all {
        let _ = spec.decode_column(bytes, column);
    }
    let mut whole = Vec::new();
    let decodes = spec.decode(bytes, &mut whole).is_ok();
    assert_eq!(decodes, spec.decode_values(bytes).is_ok());
    if let Ok(values) = spec.decode_values(bytes) {
        assert!(projects);
        assert_eq!(whole, refs(&values));
        assert_eq!(projected, refs(&values));
        let mut again = Vec::new();
        spec.encode(&refs(&values), &mut again).expect("decoded values fit");
        assert_eq!(spec.decode_values(&again).expect("just encoded"), values);
    }
}
