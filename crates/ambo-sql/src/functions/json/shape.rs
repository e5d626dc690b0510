//! What `json_transform(j, structure)` and `from_json` make of JSON: `{"a": "INTEGER", "b": ["VARCHAR"]}` says that it becomes a
//! `STRUCT(a INTEGER, b VARCHAR[])`. It is an expression of the parts; names that the structure does not have are passed over.

use super::value::{Json, read};

/// The expression that makes a value of `json`, which is one, too; `None` if the structure says no type.
/// If it is strict, what does not fit, and names that are not there, are errors.
pub(crate) fn of_structure(json: &str, structure: &str, is_strict: bool) -> Option<String> {
    made(json, "$", &read(structure).ok()?, 0, is_strict)
}

fn text(value: &str) -> String {
    format!("'{}'", value.replace('\'', "''"))
}

/// A value of what stands at a path, so deep in lambdas.
fn made(json: &str, path: &str, structure: &Json<'_>, depth: usize, is_strict: bool) -> Option<String> {
    let at = text(path);
    let if_it_is = |kind: &str, value: String| {
        let otherwise = match is_strict {
            true => format!(
                " WHEN json_type({json}, {at}) <> 'NULL' THEN error(concat('expected {kind}, but there is ', json_extract({json}, {at})))"
            ),
            false => String::new(),
        };
        format!("CASE WHEN json_type({json}, {at}) = '{kind}' THEN {value}{otherwise} END")
    };
    match structure {
        // A part that is JSON itself is a text, as in lists of JSON.
        Json::Text(name) if name.eq_ignore_ascii_case("json") => {
            Some(format!("CAST(json_extract({json}, {at}) AS VARCHAR)"))
        }
        Json::Text(name) => {
            let ty = crate::parse::parse_type(name).ok()?;
            let cast = if is_strict { "CAST" } else { "TRY_CAST" };
            Some(format!("{cast}(json_extract_string({json}, {at}) AS {ty})"))
        }
        Json::Array(items) => {
            let [item] = &items[..] else { return None };
            let element = format!("json{depth}");
            let value = made(&element, "$", item, depth + 1, is_strict)?;
            let items = text(&format!("{path}[*]"));
            let list =
                format!("list_transform(json_extract_list({json}, {items}), lambda {element}: {value})");
            Some(if_it_is("ARRAY", list))
        }
        Json::Object(fields) if !fields.is_empty() => {
            let field = |name: &str, of: &Json<'_>| {
                let path = format!("{path}.\"{}\"", name.replace('\\', "\\\\").replace('"', "\\\""));
                let value = made(json, &path, of, depth, is_strict)?;
                let value = match is_strict {
                    true => format!(
                        "CASE WHEN json_exists({json}, {}) THEN {value} ELSE error({}) END",
                        text(&path),
                        text(&format!("the JSON has no {path}"))
                    ),
                    false => value,
                };
                Some(format!("{}, {value}", text(name)))
            };
            let fields = fields.iter().map(|(name, of)| field(name, of)).collect::<Option<Vec<_>>>()?;
            Some(if_it_is("OBJECT", format!("named_struct({})", fields.join(", "))))
        }
        _ => None,
    }
}
