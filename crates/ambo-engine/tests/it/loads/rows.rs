//! Tables of all types, rows for them, and rows as columns.

use std::{ops::Range, sync::Arc};

use ambo_codec::{Type, Value};
use ambo_engine::{
    catalog::TableDefinition,
    database::{Engine, LoadOptions, RowFormat},
    id::TableId,
    scan::ColumnBuffer,
};

use crate::support::{Random, by_column, bytes};

/// A row: a value for each column.
pub type Row = Vec<Value>;

pub fn decimal() -> Type {
    Type::decimal(12, 2).unwrap()
}

fn all_types() -> [Type; 17] {
    [
        Type::Bool,
        Type::I8,
        Type::I16,
        Type::I32,
        Type::I64,
        Type::U8,
        Type::U16,
        Type::U32,
        Type::U64,
        Type::F32,
        Type::F64,
        decimal(),
        Type::Date32,
        Type::Time64,
        Type::Timestamp,
        Type::Utf8,
        Type::Binary,
    ]
}

/// A column table; its key is of one of several shapes.
pub fn definition(random: &mut Random) -> TableDefinition {
    let keys: [&[Type]; 8] = [
        &[Type::I32],
        &[Type::I64, Type::I32],
        &[Type::Utf8],
        &[decimal(), Type::Date32],
        &[Type::F64],
        &[Type::Binary, Type::U8],
        &[Type::Bool, Type::U16, Type::Timestamp],
        &[],
    ];
    let key = *random.pick(&keys);
    let storage = by_column(random.below(3));
    if key.is_empty() {
        return TableDefinition::key_value("t").storage(storage);
    }
    let mut definition = TableDefinition::new("t");
    let names = ["a", "b", "c"];
    // The key's columns stand among the others.
    let types = all_types();
    for (index, ty) in types.iter().enumerate() {
        if let Some(place) = index.checked_sub(3).filter(|place| *place < key.len()) {
            definition = definition.column(names[place], key[place]);
        }
        definition = match index % 3 {
            0 => definition.column(format!("v{index}"), *ty),
            _ => definition.column_nullable(format!("v{index}"), *ty),
        };
    }
    let mut order: Vec<_> = names[..key.len()].to_vec();
    if random.one_in(2) {
        order.reverse();
    }
    definition.primary_key(&order).storage(storage)
}

/// A value of that type from a few, so that keys meet.
fn value(ty: Type, random: &mut Random, few: u64) -> Value {
    let n = random.below(few);
    let signed = n as i64 - few as i64 / 2;
    match ty {
        Type::Bool => Value::Bool(n.is_multiple_of(2)),
        Type::I8 => Value::I8(signed as i8),
        Type::I16 => Value::I16(signed as i16),
        Type::I32 => Value::I32(signed as i32 * 1000),
        Type::I64 => Value::I64(signed << 40),
        Type::U8 => Value::U8(n as u8),
        Type::U16 => Value::U16(n as u16),
        Type::U32 => Value::U32(n as u32),
        Type::U64 => Value::U64(n.wrapping_mul(0x9E37_79B9_7F4A_7C15)),
        Type::F32 => Value::F32(signed as f32 / 3.0),
        Type::F64 if n == 1 => Value::F64(f64::NAN),
        // Both zeros: as keys they are the same.
        Type::F64 if n == 2 => Value::F64(-0.0),
        Type::F64 if n == 3 => Value::F64(0.0),
        Type::F64 => Value::F64(signed as f64 / 7.0),
        Type::Decimal128 { scale, .. } => Value::Decimal128 { unscaled: i128::from(signed) * 12345, scale },
        Type::Date32 => Value::Date32(signed as i32),
        Type::Time64 => Value::Time64(n as i64 * 1_000_000),
        Type::Timestamp => Value::Timestamp(signed * 1_000_003),
        Type::TimestampTz => Value::TimestampTz(signed * 1_000_003),
        Type::Utf8 => Value::Utf8(format!("{}é{n}", "x".repeat(n as usize % 40))),
        Type::Binary => Value::Binary(bytes(n, n as usize % 50)),
    }
}

pub fn row(definition: &TableDefinition, random: &mut Random) -> Row {
    let column = |(index, column): (usize, &ambo_engine::catalog::Column)| {
        if column.nullable && random.one_in(3) {
            return Value::Null;
        }
        let few = if definition.key.contains(&index) { 40 } else { 200 };
        value(column.kind, random, few)
    };
    definition.columns.iter().enumerate().map(column).collect()
}

pub fn columns(definition: &TableDefinition, rows: &[Row]) -> Vec<ColumnBuffer> {
    let mut columns: Vec<_> =
        definition.columns.iter().map(|column| ColumnBuffer::new(column.kind)).collect();
    for row in rows {
        columns.iter_mut().zip(row).for_each(|(column, value)| column.push(value.as_ref()).unwrap());
    }
    columns
}

/// The stored key and record.
pub fn stored(format: &RowFormat, row: &Row) -> (Vec<u8>, Vec<u8>) {
    (format.encode_key(row, 0).unwrap(), format.encode_row(row).unwrap())
}

/// Loads a table of two numbers: ids, and less their values.
pub fn load_numbers(engine: &Arc<Engine>, table: TableId, ids: Range<i64>) {
    let definition = engine.current().catalog.table(table).unwrap().clone();
    let load = engine.column_load(table, LoadOptions::default()).unwrap();
    let mut writer = load.writer();
    let rows: Vec<_> = ids.map(|id| vec![Value::I64(id), Value::I64(-id)]).collect();
    writer.push(columns(&definition, &rows)).unwrap();
    writer.finish().unwrap();
    load.finish().unwrap();
}
