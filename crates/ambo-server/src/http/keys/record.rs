//! Keys and values in bodies, and ranges of keys.
//!
//! JSON has texts alone: a key or a value that is UTF-8 stands in `key`, `value`; others as base64 in `key_base64`, `value_base64`. The
//! type `application/vnd.ambo.kv` has bytes as they are: lengths as 32 bits, little-endian, of key and value, then both; the length 2³²
//! - 1 of a value is a key without one: a deletion, or a listing of keys.

use std::ops::Bound;

use ambo::Bounds;
use axum::http::{HeaderMap, StatusCode, header};
use base64::{Engine, engine::general_purpose::STANDARD};
use serde_json::{Map, Value as Json, json};

use crate::http::{body::Asked, problem::Problem};

/// The type of bodies with bytes as they are.
const BINARY: &str = "application/vnd.ambo.kv";
/// The length that says that there is no value.
const NO_VALUE: u32 = u32::MAX;

/// What must hold of the value that is there.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) enum Condition {
    None,
    /// It has one of these tags.
    Match(String),
    /// It has none of these tags; `*`: there is none.
    NoneMatch(String),
}

impl Condition {
    pub(super) fn of_headers(headers: &HeaderMap) -> Result<Self, Problem> {
        let text = |name| {
            let value = headers.get(name).map(|value: &axum::http::HeaderValue| value.to_str()).transpose();
            value.map_err(|_| Problem::request("a tag is no text"))
        };
        Ok(match (text(header::IF_MATCH)?, text(header::IF_NONE_MATCH)?) {
            (None, None) => Self::None,
            (Some(tags), None) => Self::Match(tags.into()),
            (None, Some(tags)) => Self::NoneMatch(tags.into()),
            _ => return Err(Problem::request("If-Match and If-None-Match exclude each other")),
        })
    }
}

/// A key with its new value, or without one.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) struct Change {
    pub key: Vec<u8>,
    pub value: Option<Vec<u8>>,
    pub condition: Condition,
}

/// The changes of a body.
pub(super) fn changes(media: &str, body: &[u8]) -> Result<Vec<Change>, Problem> {
    let wrong = |error: serde_json::Error| Problem::request(format!("the body is no JSON: {error}"));
    match media {
        BINARY => binary(body),
        "application/json" | "application/x-ndjson" | "application/ndjson" => {
            let mut changes = Vec::new();
            for value in serde_json::Deserializer::from_slice(body).into_iter::<Json>() {
                match value.map_err(wrong)? {
                    Json::Array(values) => {
                        for value in values {
                            changes.push(change(&value, changes.len())?);
                        }
                    }
                    value => changes.push(change(&value, changes.len())?),
                }
            }
            Ok(changes)
        }
        other => Err(Problem::new(
            StatusCode::UNSUPPORTED_MEDIA_TYPE,
            "media_type",
            format!("a batch is application/json, application/x-ndjson or {BINARY}, not {other}"),
        )),
    }
}

fn change(value: &Json, nth: usize) -> Result<Change, Problem> {
    let at = |detail: String| Problem { statement: Some(nth), ..Problem::request(detail) };
    let fields = value.as_object().ok_or_else(|| at("a change is an object".into()))?;
    let known = ["op", "key", "key_base64", "value", "value_base64", "if_match", "if_none_match"];
    if let Some(unknown) = fields.keys().find(|name| !known.contains(&name.as_str())) {
        return Err(at(format!("there is no field \"{unknown}\" here; there are {}", known.join(", "))));
    }
    let key = bytes(fields, "key").map_err(at)?.ok_or_else(|| at("a change has a \"key\"".into()))?;
    let value = bytes(fields, "value").map_err(at)?;
    let text = |name: &str| match fields.get(name) {
        None => Ok(None),
        Some(Json::String(text)) => Ok(Some(text.as_str())),
        // A condition that is passed over would let the change through.
        Some(other) => Err(at(format!("\"{name}\" is a text, not {other}"))),
    };
    let value = match (text("op")?.unwrap_or("put"), value) {
        ("put", Some(value)) => Some(value),
        ("delete", None) => None,
        ("put", None) => return Err(at("a put has a \"value\"".into())),
        ("delete", Some(_)) => return Err(at("a delete has no \"value\"".into())),
        (other, _) => return Err(at(format!("\"op\" is put or delete, not {other}"))),
    };
    let condition = match (text("if_match")?, text("if_none_match")?) {
        (None, None) => Condition::None,
        (Some(tags), None) => Condition::Match(tags.into()),
        (None, Some(tags)) => Condition::NoneMatch(tags.into()),
        _ => return Err(at("if_match and if_none_match exclude each other".into())),
    };
    Ok(Change { key, value, condition })
}

fn bytes(fields: &Map<String, Json>, name: &str) -> Result<Option<Vec<u8>>, String> {
    let encoded = format!("{name}_base64");
    match (fields.get(name), fields.get(&encoded)) {
        (None, None) => Ok(None),
        (Some(Json::String(text)), None) => Ok(Some(text.clone().into_bytes())),
        (None, Some(Json::String(text))) => {
            STANDARD.decode(text).map(Some).map_err(|error| format!("\"{encoded}\" is no base64: {error}"))
        }
        _ => Err(format!("one of \"{name}\" and \"{encoded}\" is to be a text")),
    }
}

fn binary(mut body: &[u8]) -> Result<Vec<Change>, Problem> {
    let mut changes = Vec::new();
    while !body.is_empty() {
        let cut = |nth: usize| Problem {
            statement: Some(nth),
            ..Problem::request("the body ends within a record")
        };
        let nth = changes.len();
        let (lengths, rest) = body.split_first_chunk::<8>().ok_or_else(|| cut(nth))?;
        let [a, b, c, d, e, f, g, h] = *lengths;
        let (key, value) = (u32::from_le_bytes([a, b, c, d]), u32::from_le_bytes([e, f, g, h]));
        let (key, rest) = rest.split_at_checked(key as usize).ok_or_else(|| cut(nth))?;
        let (value, rest) = match value {
            NO_VALUE => (None, rest),
            length => {
                let (value, rest) = rest.split_at_checked(length as usize).ok_or_else(|| cut(nth))?;
                (Some(value.to_vec()), rest)
            }
        };
        changes.push(Change { key: key.to_vec(), value, condition: Condition::None });
        body = rest;
    }
    Ok(changes)
}

/// The range that is asked for.
pub(super) fn range(asked: &Asked) -> Result<Bounds, Problem> {
    let own = |name: &str| asked.bytes(name).map(<[u8]>::to_vec);
    let (mut lower, mut upper) = match own("prefix") {
        None => (Bound::Unbounded, Bound::Unbounded),
        Some(prefix) => {
            let upper = successor(&prefix).map_or(Bound::Unbounded, Bound::Excluded);
            (Bound::Included(prefix), upper)
        }
    };
    if let Some(from) = own("from") {
        lower = narrower(lower, Bound::Included(from), true);
    }
    if let Some(to) = own("to") {
        upper = narrower(upper, Bound::Excluded(to), false);
    }
    if let Some(after) = own("after") {
        match asked.truth("reverse")? {
            false => lower = narrower(lower, Bound::Excluded(after), true),
            true => upper = narrower(upper, Bound::Excluded(after), false),
        }
    }
    Ok((lower, upper))
}

/// The bound that leaves less.
fn narrower(one: Bound<Vec<u8>>, other: Bound<Vec<u8>>, is_lower: bool) -> Bound<Vec<u8>> {
    let rank = |bound: &Bound<Vec<u8>>| match bound {
        Bound::Unbounded => None,
        Bound::Included(key) => Some((key.clone(), false)),
        Bound::Excluded(key) => Some((key.clone(), true)),
    };
    match (rank(&one), rank(&other)) {
        (None, _) => other,
        (_, None) => one,
        (Some((a, a_out)), Some((b, b_out))) => {
            let takes_other = match a.cmp(&b) {
                std::cmp::Ordering::Equal => b_out && !a_out,
                order => (order == std::cmp::Ordering::Less) == is_lower,
            };
            if takes_other { other } else { one }
        }
    }
}

/// The least key above all that begin with a prefix.
fn successor(prefix: &[u8]) -> Option<Vec<u8>> {
    let last = prefix.iter().rposition(|byte| *byte != 0xff)?;
    let mut next = prefix[..=last].to_vec();
    next[last] += 1;
    Some(next)
}

/// How rows are listed.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Form {
    Lines,
    Binary,
}

impl Form {
    pub(super) fn accepted(accept: Option<&str>) -> Result<Self, Problem> {
        let mut kinds =
            accept.unwrap_or("*/*").split(',').map(|kind| kind.split(';').next().unwrap_or_default().trim());
        let form = kinds.find_map(|kind| match kind {
            BINARY => Some(Self::Binary),
            "*/*" | "application/*" | "application/x-ndjson" | "application/ndjson" | "application/json" => {
                Some(Self::Lines)
            }
            _ => None,
        });
        form.ok_or_else(|| {
            let detail = format!("rows are application/x-ndjson or {BINARY}");
            Problem::new(StatusCode::NOT_ACCEPTABLE, "media_type", detail)
        })
    }

    pub(super) fn content_type(self) -> &'static str {
        match self {
            Self::Lines => "application/x-ndjson",
            Self::Binary => BINARY,
        }
    }

    /// Appends a row.
    pub(super) fn row(self, key: &[u8], value: Option<&[u8]>, out: &mut Vec<u8>) {
        match self {
            Self::Lines => {
                let mut row = json!({});
                field(&mut row, "key", key);
                if let Some(value) = value {
                    field(&mut row, "value", value);
                }
                out.extend_from_slice(row.to_string().as_bytes());
                out.push(b'\n');
            }
            Self::Binary => {
                out.extend_from_slice(&(key.len() as u32).to_le_bytes());
                let length = value.map_or(NO_VALUE, |value| value.len() as u32);
                out.extend_from_slice(&length.to_le_bytes());
                out.extend_from_slice(key);
                out.extend_from_slice(value.unwrap_or_default());
            }
        }
    }

    /// Says what went wrong, where there is a way to say it.
    pub(super) fn broken(self, error: &Json, out: &mut Vec<u8>) {
        if self == Self::Lines {
            out.extend_from_slice(format!("{{\"error\":{error}}}\n").as_bytes());
        }
    }
}

fn field(row: &mut Json, name: &str, bytes: &[u8]) {
    match std::str::from_utf8(bytes) {
        Ok(text) => row[name] = text.into(),
        Err(_) => row[format!("{name}_base64")] = STANDARD.encode(bytes).into(),
    }
}

/// What a fuzz target does with the bytes of a batch: what is read comes back as it was.
pub(crate) fn fuzz_batch(bytes: &[u8]) {
    if let Ok(changes) = changes(BINARY, bytes) {
        let rows =
            changes.iter().map(|change| 8 + change.key.len() + change.value.as_ref().map_or(0, Vec::len));
        assert_eq!(rows.sum::<usize>(), bytes.len());
    }
    let _changes_or_not = changes("application/x-ndjson", bytes);
}

/// What a fuzz target does with the query of a range.
pub(crate) fn fuzz_range(bytes: &[u8]) {
    let query: String = bytes.iter().map(|byte| format!("%{byte:02x}")).collect();
    let plain = String::from_utf8_lossy(bytes);
    for query in
        [plain.as_ref(), &format!("prefix={query}&after={query}"), &format!("from={query}&to=b&reverse")]
    {
        let Ok(uri) = format!("/kv/t?{query}").parse::<axum::http::Uri>() else { continue };
        let Ok(asked) = Asked::of(&uri) else { continue };
        let _range_or_not = range(&asked);
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn put(key: &[u8], value: Option<&[u8]>) -> Change {
        Change { key: key.to_vec(), value: value.map(<[u8]>::to_vec), condition: Condition::None }
    }

    #[test]
    fn changes_are_read() {
        let body = br#"{"key": "a", "value": "1"} {"op": "delete", "key_base64": "/w=="}"#;
        assert_eq!(
            changes("application/x-ndjson", body).unwrap(),
            [put(b"a", Some(b"1")), put(b"\xff", None)]
        );
        let body = br#"[{"key": "a", "value_base64": "AP8=", "if_none_match": "*"}]"#;
        let expected = Change { condition: Condition::NoneMatch("*".into()), ..put(b"a", Some(b"\0\xff")) };
        assert_eq!(changes("application/json", body).unwrap(), [expected]);
        for (wrong, detail) in [
            ("[1]", "a change is an object"),
            ("{}", "a change has a \"key\""),
            ("{\"key\": 1}", "one of \"key\" and \"key_base64\" is to be a text"),
            ("{\"key\": \"a\"}", "a put has a \"value\""),
            ("{\"key\":\"a\",\"value\":\"\",\"op\":\"x\"}", "\"op\" is put or delete, not x"),
            ("{\"key\":\"a\",\"value\":\"\",\"op\":1}", "\"op\" is a text, not 1"),
            ("{\"key\":\"a\",\"value\":\"\",\"if_match\":1}", "\"if_match\" is a text, not 1"),
            ("{", "EOF while parsing"),
        ] {
            let problem = changes("application/json", wrong.as_bytes()).unwrap_err();
            assert_eq!(problem.status, StatusCode::BAD_REQUEST, "{wrong}");
            assert!(problem.detail.contains(detail), "{wrong}: {}", problem.detail);
        }
        assert_eq!(changes("text/plain", b"").unwrap_err().status, StatusCode::UNSUPPORTED_MEDIA_TYPE);
    }

    #[test]
    fn ranges_are_cut() {
        let of =
            |query: &str| range(&Asked::of(&format!("/kv/t?{query}").parse().unwrap()).unwrap()).unwrap();
        let (included, excluded) =
            (|key: &str| Bound::Included(key.into()), |key: &str| Bound::Excluded(key.into()));
        assert_eq!(of(""), (Bound::Unbounded, Bound::Unbounded));
        assert_eq!(of("prefix=a"), (included("a"), excluded("b")));
        assert_eq!(of("prefix=%ff"), (Bound::Included(vec![0xff]), Bound::Unbounded));
        assert_eq!(of("prefix=a&after=ab"), (excluded("ab"), excluded("b")));
        assert_eq!(of("from=b&to=d&after=c&reverse"), (included("b"), excluded("c")));
        assert_eq!(of("from=a&after=a"), (excluded("a"), Bound::Unbounded));
    }

    proptest! {
        // Keeps away: a panic on foreign bytes, and rows that come back as others.
        #[test]
        fn rows_come_back(rows: Vec<(Vec<u8>, Option<Vec<u8>>)>) {
            let mut bytes = Vec::new();
            let mut lines = Vec::new();
            for (key, value) in &rows {
                Form::Binary.row(key, value.as_deref(), &mut bytes);
                if value.is_some() {
                    Form::Lines.row(key, value.as_deref(), &mut lines);
                }
            }
            let all: Vec<_> = rows.iter().map(|(key, value)| put(key, value.as_deref())).collect();
            prop_assert_eq!(changes(BINARY, &bytes).unwrap(), all.clone());
            let with_values: Vec<_> = all.into_iter().filter(|change| change.value.is_some()).collect();
            prop_assert_eq!(changes("application/x-ndjson", &lines).unwrap(), with_values);
        }

        #[test]
        fn foreign_bytes_are_refused_or_read(body: Vec<u8>) {
            let _either = changes(BINARY, &body);
            let _or = changes("application/json", &body);
        }
    }
}
