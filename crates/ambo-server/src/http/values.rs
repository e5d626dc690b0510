//! Values for the parameters of statements, from JSON.
//!
//! 1. `null`, booleans, numbers and texts are what they are. An integer without a point is exact up to 64 bits.
//! 2. An object says the rest: `{"base64": "…"}` is bytes; `{"type": "timestamp", "value": "2026-01-31 10:00:00"}` a value of a type.
//! 3. A statement whose parameters have names takes an object of values.

use ambo::{Datum, Type};
use ambo_sql::PreparedStatement;
use base64::{Engine, engine::general_purpose::STANDARD};
use serde_json::{Map, Value as Json};

use super::problem::Problem;

/// The values for a statement.
pub(crate) fn of(params: &Json, statement: &PreparedStatement) -> Result<Vec<Datum>, Problem> {
    match params {
        Json::Null => Ok(Vec::new()),
        Json::Array(values) => {
            let datum = |(nth, value)| datum(value).map_err(|wrong| at(&format!("${}", nth + 1), &wrong));
            values.iter().enumerate().map(datum).collect()
        }
        Json::Object(values) => named(values, statement),
        _ => Err(Problem::request(
            "\"params\" is an array of values, or an object if the parameters have names",
        )),
    }
}

fn named(values: &Map<String, Json>, statement: &PreparedStatement) -> Result<Vec<Datum>, Problem> {
    let names: Vec<_> = statement.parameter_names().collect();
    if let Some(unknown) = values.keys().find(|name| !names.contains(&Some(name.as_str()))) {
        return Err(Problem::request(format!("the statement has no parameter \"{unknown}\"")));
    }
    let value = |name: Option<&str>| {
        let name = name.ok_or_else(|| {
            Problem::request("a parameter of the statement has no name; give \"params\" as an array")
        })?;
        let value = values.get(name);
        let value = value
            .ok_or_else(|| Problem::request(format!("there is no value for the parameter \"{name}\"")))?;
        datum(value).map_err(|wrong| at(name, &wrong))
    };
    names.into_iter().map(value).collect()
}

fn at(parameter: &str, wrong: &str) -> Problem {
    Problem::request(format!("the parameter {parameter}: {wrong}"))
}

/// A value.
pub(crate) fn datum(value: &Json) -> Result<Datum, String> {
    Ok(match value {
        Json::Null => Datum::Null,
        Json::Bool(value) => Datum::Bool(*value),
        Json::Number(number) => match (number.as_i64(), number.as_u64(), number.as_f64()) {
            (Some(number), ..) => Datum::I64(number),
            (_, Some(number), _) => Datum::U64(number),
            (.., Some(number)) => Datum::F64(number),
            _ => return Err(format!("{number} is no number of 64 bits; give it as a text")),
        },
        Json::String(text) => Datum::Utf8(text.clone()),
        Json::Array(_) => return Err("an array is no value; give the text of a list".into()),
        Json::Object(fields) => return typed(fields),
    })
}

fn typed(fields: &Map<String, Json>) -> Result<Datum, String> {
    let text = |name: &str| fields.get(name).and_then(Json::as_str);
    if let (Some(bytes), 1) = (text("base64"), fields.len()) {
        return STANDARD.decode(bytes).map(Datum::Binary).map_err(|error| format!("no base64: {error}"));
    }
    let (Some(ty), Some(value), 2) = (text("type"), text("value"), fields.len()) else {
        return Err("an object is {\"base64\": …} or {\"type\": …, \"value\": …}, both texts".into());
    };
    ambo_files::datum::parse(value, type_named(ty)?)
}

fn type_named(name: &str) -> Result<Type, String> {
    let name = name.to_lowercase();
    if let Some(inner) = name.strip_prefix("decimal(").and_then(|rest| rest.strip_suffix(')')) {
        let digits = inner.split_once(',').and_then(|(precision, scale)| {
            Some((precision.trim().parse().ok()?, scale.trim().parse().ok()?))
        });
        let (precision, scale) = digits.ok_or("a decimal is decimal(precision,scale)")?;
        return Type::decimal(precision, scale).map_err(|error| error.to_string());
    }
    Ok(match name.as_str() {
        "boolean" => Type::Bool,
        "tinyint" => Type::I8,
        "smallint" => Type::I16,
        "integer" => Type::I32,
        "bigint" => Type::I64,
        "utinyint" => Type::U8,
        "usmallint" => Type::U16,
        "uinteger" => Type::U32,
        "ubigint" => Type::U64,
        "real" => Type::F32,
        "double" => Type::F64,
        "text" => Type::Utf8,
        "date" => Type::Date32,
        "time" => Type::Time64,
        "timestamp" => Type::Timestamp,
        "timestamptz" => Type::TimestampTz,
        _ => return Err(format!("there is no type \"{name}\" for parameters")),
    })
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    // Keeps away: digits that are lost on the way in.
    #[test]
    fn values_are_exact() {
        assert_eq!(datum(&json!(i64::MIN)), Ok(Datum::I64(i64::MIN)));
        assert_eq!(datum(&json!(u64::MAX)), Ok(Datum::U64(u64::MAX)));
        assert_eq!(datum(&json!(1.5)), Ok(Datum::F64(1.5)));
        assert_eq!(datum(&json!({"base64": "AP8="})), Ok(Datum::Binary(vec![0, 255])));
        let decimal = json!({"type": "decimal(20, 2)", "value": "123456789012345678.90"});
        assert_eq!(datum(&decimal), Ok(Datum::Decimal128 { unscaled: 12_345_678_901_234_567_890, scale: 2 }));
        let day = json!({"type": "date", "value": "1970-01-02"});
        assert_eq!(datum(&day), Ok(Datum::Date32(1)));
    }

    // Keeps away: objects that are taken for something else than they say.
    #[test]
    fn what_is_no_value_is_refused() {
        for wrong in [
            json!([1]),
            json!({}),
            json!({"base64": "!"}),
            json!({"type": "tinyint", "value": "300"}),
            json!({"type": "x", "value": "1"}),
        ] {
            assert!(datum(&wrong).is_err(), "{wrong}");
        }
    }
}
