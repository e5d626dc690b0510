//! `GET /openapi.json`: what there is to ask for, for programs.

use axum::{
    http::{HeaderValue, header},
    response::{IntoResponse, Response},
};

/// The document.
pub(crate) const DOCUMENT: &str = include_str!("openapi.json");

/// `GET /openapi.json`.
pub(crate) async fn document() -> Response {
    let mut response = DOCUMENT.into_response();
    response.headers_mut().insert(header::CONTENT_TYPE, HeaderValue::from_static("application/json"));
    response
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use serde_json::Value;

    /// The routes as they stand in the source: a path, and what is done there.
    fn routes() -> BTreeSet<(String, String)> {
        let source = include_str!("mod.rs");
        let mut routes = BTreeSet::new();
        for line in source.lines().filter_map(|line| line.trim().strip_prefix(".route(\"")) {
            let (path, rest) = line.split_once('"').unwrap();
            for method in ["get", "post", "put", "delete"] {
                if rest.contains(&format!("{method}(")) {
                    routes.insert((path.replace("{*key}", "{key}"), method.to_owned()));
                }
            }
        }
        routes
    }

    // Keeps away: routes that the document does not have, and what it has that is not there.
    #[test]
    fn the_document_has_all_routes() {
        let document: Value = serde_json::from_str(super::DOCUMENT).unwrap();
        assert_eq!(document["openapi"], "3.1.0");
        let mut said = BTreeSet::new();
        for (path, item) in document["paths"].as_object().unwrap() {
            for (method, operation) in
                item.as_object().unwrap().iter().filter(|(name, _)| *name != "parameters")
            {
                assert!(
                    operation["summary"].is_string() && operation["responses"].is_object(),
                    "{method} {path}"
                );
                said.insert((path.clone(), method.clone()));
            }
        }
        let known: BTreeSet<_> = routes().into_iter().filter(|(path, _)| !is_console(path)).collect();
        assert!(known.len() > 20, "{known:?}");
        assert_eq!(said, known);
    }

    fn is_console(path: &str) -> bool {
        path == "/" || path.starts_with("/console/") || path.starts_with("/api1/")
    }

    // Keeps away: references to nothing.
    #[test]
    fn references_lead_somewhere() {
        let document: Value = serde_json::from_str(super::DOCUMENT).unwrap();
        let mut left = vec![&document];
        while let Some(value) = left.pop() {
            match value {
                Value::Object(fields) => {
                    if let Some(Value::String(reference)) = fields.get("$ref") {
                        let place = reference.strip_prefix('#').unwrap();
                        assert!(document.pointer(place).is_some(), "{reference}");
                    }
                    left.extend(fields.values());
                }
                Value::Array(values) => left.extend(values),
                _ => {}
            }
        }
    }
}
