//! What `json_transform(j, structure)` and `from_json` make of JSON: `{"a": "INTEGER", "b": ["VARCHAR"]}` says that it becomes a
//! `STRUCT(a INTEGER, b VARCHAR[])`.

use super::value::{Json, read};
use crate::names::quoted;

/// The type that a structure says, as a cast has it; `None` if it says none.
pub(crate) fn type_of_structure(structure: &str) -> Option<String> {
    type_of(&read(structure).ok()?)
}

fn type_of(structure: &Json<'_>) -> Option<String> {
    match structure {
        // A part that is JSON itself is a text, as in lists of JSON.
        Json::Text(name) if name.eq_ignore_ascii_case("json") => Some("VARCHAR".to_owned()),
        Json::Text(name) => crate::parse::parse_type(name).ok().map(|ty| ty.to_string()),
        Json::Array(items) => match &items[..] {
            [item] => Some(format!("{}[]", type_of(item)?)),
            _ => None,
        },
        Json::Object(fields) if !fields.is_empty() => {
            let fields = fields.iter().map(|(name, of)| Some(format!("{} {}", quoted(name), type_of(of)?)));
            Some(format!("STRUCT({})", fields.collect::<Option<Vec<_>>>()?.join(", ")))
        }
        _ => None,
    }
}
