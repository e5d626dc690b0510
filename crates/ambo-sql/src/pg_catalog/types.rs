//! Types: which of PostgreSQL's a column has, and what they are called.

use std::{collections::HashMap, sync::LazyLock};

use ambo::{Column, Logical, Part, Type};

use super::shape::{CATALOG, Cell, Shape, constant_rows};

/// A type of PostgreSQL's own.
pub(super) struct Own {
    pub name: String,
    pub length: i64,
    pub by_value: bool,
    pub align: String,
    pub storage: String,
    pub collation: i64,
    pub array: i64,
    pub item: i64,
}

/// Those by number.
pub(super) static OWN: LazyLock<HashMap<i64, Own>> = LazyLock::new(|| {
    let Some(shape) = CATALOG.iter().find(|shape| shape.name == "pg_type") else { return HashMap::new() };
    constant_rows("pg_type").lines().filter_map(|line| own(shape, line)).collect()
});

fn own(shape: &Shape, line: &str) -> Option<(i64, Own)> {
    let row = shape.parsed(line);
    let int = |name: &str| match row.get(shape.place(name)?)? {
        Cell::Int(number) => Some(*number),
        _ => None,
    };
    let text = |name: &str| match row.get(shape.place(name)?)? {
        Cell::Text(text) => Some(text.clone()),
        _ => None,
    };
    let by_value = matches!(row.get(shape.place("typbyval")?)?, Cell::Bool(true));
    Some((
        int("oid")?,
        Own {
            name: text("typname")?,
            length: int("typlen")?,
            by_value,
            align: text("typalign")?,
            storage: text("typstorage")?,
            collation: int("typcollation")?,
            array: int("typarray")?,
            item: int("typelem")?,
        },
    ))
}

/// The type of a column, with what the number of its digits or its length makes of it. `named` gives the types that users have created.
pub(super) fn of_column(
    column: &Column,
    length: Option<u64>,
    named: &dyn Fn(&str) -> Option<(i64, i64)>,
) -> (i64, i64) {
    match (&column.logical, length) {
        (Some(logical), _) => of_logical(logical, named),
        (None, Some(most)) => (1043, i64::try_from(most).unwrap_or(i64::MAX).saturating_add(4)),
        (None, None) => of_type(column.kind),
    }
}

fn of_type(ty: Type) -> (i64, i64) {
    let oid = match ty {
        Type::Bool => 16,
        Type::I8 | Type::U8 | Type::I16 => 21,
        Type::I32 | Type::U16 => 23,
        Type::I64 | Type::U32 => 20,
        Type::U64 => 1700,
        Type::F32 => 700,
        Type::F64 => 701,
        Type::Decimal128 { precision, scale } => {
            return (1700, ((i64::from(precision) << 16) | (i64::from(scale) & 0x7ff)) + 4);
        }
        Type::Date32 => 1082,
        Type::Time64 => 1083,
        Type::Timestamp => 1114,
        Type::TimestampTz => 1184,
        Type::Binary => 17,
        _ => 25,
    };
    (oid, -1)
}

fn of_logical(logical: &Logical, named: &dyn Fn(&str) -> Option<(i64, i64)>) -> (i64, i64) {
    let oid = match logical {
        Logical::Uuid => 2950,
        Logical::Interval => 1186,
        Logical::Json => 114,
        // Bits that vary; geometries are no type of PostgreSQL's own.
        Logical::Bit => 1562,
        Logical::Geometry => 25,
        Logical::Collated(_) => 25,
        Logical::List(item) | Logical::Array(item, _) => array_of(item, named),
        Logical::Struct(_) => 2249,
        Logical::Map(..) => 25,
        Logical::Enum(of) => of.name.as_deref().and_then(named).map_or(25, |(oid, _)| oid),
    };
    (oid, -1)
}

/// Arrays of several dimensions have the type of arrays of one.
fn array_of(item: &Part, named: &dyn Fn(&str) -> Option<(i64, i64)>) -> i64 {
    let (oid, _) = match item {
        Part::Plain(ty) => of_type(*ty),
        Part::Logical(Logical::List(item) | Logical::Array(item, _)) => return array_of(item, named),
        Part::Logical(Logical::Enum(of)) => {
            return of.name.as_deref().and_then(named).map_or(1009, |(_, array)| array);
        }
        Part::Logical(logical) => of_logical(logical, named),
    };
    OWN.get(&oid).map_or(1009, |own| own.array)
}

/// What `format_type` says of PostgreSQL's own types.
pub(super) fn formatted(oid: i64, modifier: Option<i64>) -> Option<String> {
    let own = OWN.get(&oid)?;
    if own.item != 0 && own.length == -1 && own.name.starts_with('_') {
        return formatted(own.item, modifier).map(|item| format!("{item}[]"));
    }
    let modifier = modifier.filter(|modifier| *modifier >= 0);
    let length = modifier.map(|modifier| modifier - 4);
    Some(match (oid, modifier) {
        (16, _) => "boolean".to_owned(),
        (20, _) => "bigint".to_owned(),
        (21, _) => "smallint".to_owned(),
        (23, _) => "integer".to_owned(),
        (700, _) => "real".to_owned(),
        (701, _) => "double precision".to_owned(),
        (18, _) => "\"char\"".to_owned(),
        (1042, None) => "character".to_owned(),
        (1042, Some(_)) => format!("character({})", length.unwrap_or(1)),
        (1043, None) => "character varying".to_owned(),
        (1043, Some(_)) => format!("character varying({})", length.unwrap_or(1)),
        (1700, None) => "numeric".to_owned(),
        (1700, Some(_)) => {
            let of = length.unwrap_or(0);
            format!("numeric({},{})", (of >> 16) & 0xffff, of & 0x7ff)
        }
        (1083, _) => "time without time zone".to_owned(),
        (1266, _) => "time with time zone".to_owned(),
        (1114, _) => "timestamp without time zone".to_owned(),
        (1184, _) => "timestamp with time zone".to_owned(),
        (1560, _) => "bit".to_owned(),
        (1562, _) => "bit varying".to_owned(),
        _ => own.name.clone(),
    })
}

/// The number of one of PostgreSQL's own types by a name that statements have for it.
pub(super) fn by_name(name: &str) -> Option<i64> {
    let name = name.trim();
    if let Some(item) = name.strip_suffix("[]") {
        return by_name(item)
            .and_then(|item| OWN.get(&item))
            .map(|own| own.array)
            .filter(|array| *array != 0);
    }
    let plain = name.strip_prefix("pg_catalog.").unwrap_or(name);
    if let Some(quoted) = plain.strip_prefix('"').and_then(|rest| rest.strip_suffix('"')) {
        return exactly(quoted);
    }
    let plain = plain.to_lowercase();
    let plain = plain.split('(').next().unwrap_or_default().trim();
    Some(match plain {
        "boolean" => 16,
        "bigint" => 20,
        "smallint" => 21,
        "int" | "integer" => 23,
        "real" => 700,
        "double precision" | "float" => 701,
        "character varying" => 1043,
        "character" | "char" => 1042,
        "decimal" | "dec" => 1700,
        "time without time zone" => 1083,
        "time with time zone" => 1266,
        "timestamp without time zone" => 1114,
        "timestamp with time zone" => 1184,
        "bit varying" => 1562,
        plain => return exactly(plain),
    })
}

fn exactly(name: &str) -> Option<i64> {
    OWN.iter().find(|(_, own)| own.name == name).map(|(oid, _)| *oid)
}
