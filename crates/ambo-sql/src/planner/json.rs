//! Forms of JSON: paths `->`, `->>`, `#>`, `#>>` and casts are functions; and so is `s ^@ t`, which is of texts.

use std::ops::ControlFlow;

use datafusion::sql::sqlparser::ast::{
    ArrayElemTypeDef, BinaryOperator, CastKind, DataType, Expr, TypedString, Value, ValueWithSpan,
};

use super::{patterns::call, trees};
use crate::{
    functions::{is_wild_path, of_structure},
    names::written,
    parse::parse_expression,
    walk::each_expr_mut,
};

/// What one of these forms means.
pub(super) fn json(expr: &Expr) -> Option<Expr> {
    match expr {
        Expr::BinaryOp { left, op, right } => {
            let function = match op {
                BinaryOperator::Arrow => "json_extract",
                BinaryOperator::LongArrow => "json_extract_string",
                BinaryOperator::HashArrow => "#>",
                BinaryOperator::HashLongArrow => "#>>",
                BinaryOperator::PGStartsWith => "starts_with",
                _ => return None,
            };
            let arguments = vec![left.as_ref().clone(), right.as_ref().clone()];
            Some(to_several(function, &arguments).unwrap_or_else(|| call(function, arguments)))
        }
        Expr::Cast { kind, expr, data_type, .. } if is_json(data_type) => {
            let function = if is_try(kind) { "try_cast_to_json" } else { "cast_to_json" };
            Some(call(function, vec![expr.as_ref().clone()]))
        }
        Expr::Cast { kind, expr: of, data_type, array, format } => {
            let mut ty = data_type.clone();
            if !as_texts(&mut ty) {
                return None;
            }
            let (kind, format) = (kind.clone(), format.clone());
            let function = if is_try(&kind) { "try_json_parts" } else { "json_parts" };
            let values = Expr::Cast { kind, expr: of.clone(), data_type: ty, array: *array, format };
            Some(call(function, vec![values, trees::text(&data_type.to_string())]))
        }
        // PostgreSQL's literal of bits.
        Expr::Value(ValueWithSpan { value: Value::SingleQuotedByteStringLiteral(bits), .. }) => {
            Some(Expr::Cast {
                kind: CastKind::Cast,
                expr: Box::new(trees::text(bits)),
                data_type: DataType::Bit(None),
                array: false,
                format: None,
            })
        }
        Expr::TypedString(TypedString { data_type, value, .. }) if is_json(data_type) => {
            Some(call("cast_to_json", vec![Expr::Value(value.clone())]))
        }
        _ => None,
    }
}

/// What `json_extract` is where its path leads to several places: then it gives a list.
pub(super) fn to_several(function: &str, arguments: &[Expr]) -> Option<Expr> {
    let [_, Expr::Value(path)] = arguments else { return None };
    let Value::SingleQuotedString(path) = &path.value else { return None };
    let of_list = match function {
        "json_extract" | "json_query" => "json_extract_list",
        "json_extract_string" => "json_extract_string_list",
        _ => return None,
    };
    is_wild_path(path).then(|| call(of_list, arguments.to_vec()))
}

/// Functions of a place in JSON, which give a list for a list of places.
const OF_PLACES: [&str; 4] = ["json_type", "json_exists", "json_keys", "json_array_length"];

/// Functions of JSON whose argument may be a list of JSON, which is an array: it is asked what kind and how long it is, not what is in it.
const OF_LISTS: [&str; 3] = ["json_type", "json_array_length", "json_valid"];

/// `json_type(j -> '$[*]')` is that of the array that the list is.
pub(super) fn of_list(function: &str, arguments: &[Expr]) -> Option<Expr> {
    let [list @ Expr::Function(of)] = arguments else { return None };
    let is_list = written(&of.name).is_ok_and(|name| name == "json_extract_list");
    (is_list && OF_LISTS.contains(&function))
        .then(|| call(function, vec![call("cast_to_json", vec![list.clone()])]))
}

/// `json_type(j, ['$.a', '$.b'])` is `[json_type(j, '$.a'), json_type(j, '$.b')]`.
pub(super) fn at_places(function: &str, arguments: &[Expr]) -> Option<Expr> {
    let [json, Expr::Array(places)] = arguments else { return None };
    let each = |place: &Expr| call(function, vec![json.clone(), place.clone()]);
    OF_PLACES.contains(&function).then(|| call("make_array", places.elem.iter().map(each).collect()))
}

/// What `json_transform` and `from_json` are: an expression of the parts of JSON, in which what does not fit is NULL.
pub(super) fn shaped(function: &str, arguments: &[Expr]) -> Option<Expr> {
    let is_strict = match function {
        "json_transform" | "from_json" => false,
        "json_transform_strict" | "from_json_strict" => true,
        _ => return None,
    };
    let [json, structure] = arguments else { return None };
    let said = match structure {
        Expr::Value(of) => match &of.value {
            Value::SingleQuotedString(structure) => of_structure(JSON, structure, is_strict),
            _ => None,
        },
        _ => None,
    };
    let Some(mut made) = said.and_then(|said| parse_expression(&said).ok()) else {
        let what = format!("{function} takes JSON and a structure of types, as '{{\"a\": \"INTEGER\"}}'");
        return Some(call("error", vec![trees::text(&what)]));
    };
    let text = Expr::Nested(Box::new(trees::cast_to_text(json.clone())));
    let _ = each_expr_mut(&mut made, |expr| {
        if matches!(expr, Expr::Identifier(name) if name.value == JSON[1..JSON.len() - 1]) {
            *expr = text.clone();
        }
        ControlFlow::<()>::Continue(())
    });
    Some(Expr::Nested(Box::new(made)))
}

/// Stands for the JSON that is transformed.
const JSON: &str = "\"\u{1}json\"";

fn is_try(kind: &CastKind) -> bool {
    matches!(kind, CastKind::TryCast | CastKind::SafeCast)
}

/// Writes JSON within a type as text. Returns whether there is some.
fn as_texts(ty: &mut DataType) -> bool {
    match ty {
        ty if is_json(ty) => {
            *ty = DataType::Text;
            true
        }
        DataType::Array(
            ArrayElemTypeDef::SquareBracket(item, _)
            | ArrayElemTypeDef::AngleBracket(item)
            | ArrayElemTypeDef::Parenthesis(item),
        ) => as_texts(item),
        DataType::Map(key, value) => as_texts(key) | as_texts(value),
        DataType::Struct(fields, _) => {
            fields.iter_mut().fold(false, |found, field| as_texts(&mut field.field_type) | found)
        }
        _ => false,
    }
}

fn is_json(ty: &DataType) -> bool {
    matches!(ty, DataType::JSON | DataType::JSONB)
}
