//! What types of columns are called in answers.

use arrow_schema::{DataType, Field};

/// The name that SQL has for the type of a column.
pub(crate) fn name(field: &Field) -> String {
    let is_json = field.metadata().get("ARROW:extension:name").is_some_and(|name| name == "arrow.json");
    match field.data_type() {
        _ if is_json => "json".into(),
        ty => of(ty),
    }
}

fn of(ty: &DataType) -> String {
    match ty {
        DataType::Null => "null".into(),
        DataType::Boolean => "boolean".into(),
        DataType::Int8 => "tinyint".into(),
        DataType::Int16 => "smallint".into(),
        DataType::Int32 => "integer".into(),
        DataType::Int64 => "bigint".into(),
        DataType::UInt8 => "utinyint".into(),
        DataType::UInt16 => "usmallint".into(),
        DataType::UInt32 => "uinteger".into(),
        DataType::UInt64 => "ubigint".into(),
        DataType::Float16 | DataType::Float32 => "real".into(),
        DataType::Float64 => "double".into(),
        DataType::Decimal32(precision, scale)
        | DataType::Decimal64(precision, scale)
        | DataType::Decimal128(precision, scale)
        | DataType::Decimal256(precision, scale) => format!("decimal({precision},{scale})"),
        DataType::Utf8 | DataType::LargeUtf8 | DataType::Utf8View => "text".into(),
        DataType::FixedSizeBinary(16) => "uuid".into(),
        DataType::Binary | DataType::LargeBinary | DataType::BinaryView | DataType::FixedSizeBinary(_) => {
            "blob".into()
        }
        DataType::Date32 | DataType::Date64 => "date".into(),
        DataType::Time32(_) | DataType::Time64(_) => "time".into(),
        DataType::Timestamp(_, None) => "timestamp".into(),
        DataType::Timestamp(_, Some(_)) => "timestamptz".into(),
        DataType::Interval(_) | DataType::Duration(_) => "interval".into(),
        DataType::List(item) | DataType::LargeList(item) => format!("{}[]", of(item.data_type())),
        DataType::Struct(fields) => {
            let fields: Vec<_> = fields
                .iter()
                .map(|field| format!("\"{}\" {}", field.name(), of(field.data_type())))
                .collect();
            format!("struct({})", fields.join(", "))
        }
        DataType::Map(entries, _) => match entries.data_type() {
            DataType::Struct(fields) if fields.len() == 2 => {
                format!("map({}, {})", of(fields[0].data_type()), of(fields[1].data_type()))
            }
            _ => "map".into(),
        },
        DataType::Dictionary(_, values) => of(values),
        other => ambo_sql::type_in_sql(other),
    }
}
