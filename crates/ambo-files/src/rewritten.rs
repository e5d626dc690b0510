//! Values of JSON as lines of other objects: values that are no objects as the only member of one, and features of GeoJSON as objects of
//! their properties. What is made is kept in a nameless file, for all that reads.

use std::{
    collections::BTreeMap,
    fs::File,
    io::{self, BufRead, BufWriter, Read, Write},
    path::Path,
};

use crate::{
    Error, Result,
    geojson::{geometry_of_json, is_geometry},
    json::{Kind, Object},
    json_values::elements,
};

const BUFFER_BYTES: usize = 256 << 10;
/// What the column of features' geometries is called.
pub(crate) const GEOMETRY: &str = "geometry";

/// Whether the first value of lines is no object.
pub(crate) fn begins_otherwise(lines: impl Read) -> io::Result<bool> {
    let mut bytes = io::BufReader::new(lines).bytes();
    let first = bytes.find(|byte| {
        let is_blank = |byte: &u8| byte.is_ascii_whitespace() || !byte.is_ascii();
        !byte.as_ref().is_ok_and(is_blank)
    });
    Ok(first.transpose()?.is_some_and(|byte| byte != b'{'))
}

/// Writes what a function makes of each line that says something, one behind the other.
fn each_line(
    path: &Path,
    lines: impl Read,
    mut made: impl FnMut(&str, &mut Vec<u8>) -> std::result::Result<(), String>,
) -> Result<File> {
    let fail = |error: io::Error| Error::io(path, &error);
    let mut out = BufWriter::with_capacity(BUFFER_BYTES, tempfile::tempfile().map_err(fail)?);
    let mut lines = io::BufReader::with_capacity(BUFFER_BYTES, lines);
    let (mut line, mut number, mut bytes) = (Vec::new(), 0, Vec::new());
    while lines.read_until(b'\n', &mut line).map_err(fail)? > 0 {
        number += 1;
        let text = std::str::from_utf8(&line);
        let text = text.map_err(|_| Error::in_file(path, format!("line {number}: the text is not UTF-8")))?;
        let text = text.trim_start_matches('\u{feff}').trim();
        match text.is_empty() {
            // Lines keep their numbers.
            true => bytes.push(b'\n'),
            false => made(text, &mut bytes)
                .map_err(|what| Error::in_file(path, format!("line {number}: {what}")))?,
        }
        out.write_all(&bytes).map_err(fail)?;
        bytes.clear();
        line.clear();
    }
    out.into_inner().map_err(|error| fail(error.into_error()))
}

/// Each value as the member of this name of an object.
pub(crate) fn wrapped(path: &Path, lines: impl Read, name: &str) -> Result<File> {
    let name = serde_json::Value::from(name);
    each_line(path, lines, |value, out| {
        out.extend_from_slice(format!("{{{name}:{value}}}\n").as_bytes());
        Ok(())
    })
}

/// What is known of members that were geometries.
#[derive(Default)]
struct Geometries {
    /// By the name: whether something else was there, too.
    seen: BTreeMap<String, bool>,
    /// Whether what is no geometry, though it says so, is NULL.
    skips_bad: bool,
}

/// Features, collections of them, geometries, and other objects: a line of an object for each, in which a geometry is its text. Returns
/// the names of the members that are geometries wherever they are something.
pub(crate) fn features(path: &Path, lines: impl Read, skips_bad: bool) -> Result<(File, Vec<String>)> {
    let mut geometries = Geometries { skips_bad, ..Geometries::default() };
    let file = each_line(path, lines, |value, out| match geometries.value(value, out) {
        // Who reads passes over it.
        Err(_) if skips_bad => {
            out.clear();
            out.extend_from_slice(format!("{value}\n").as_bytes());
            Ok(())
        }
        done => done,
    })?;
    let named = geometries.seen.into_iter().filter(|(_, is_mixed)| !is_mixed).map(|(name, _)| name);
    Ok((file, named.collect()))
}

/// The members of an object as they are written, but for texts, which are what they say.
fn members<'a>(object: &'a Object, text: &'a str) -> impl Iterator<Item = (&'a str, &'a str, Kind)> {
    (0..object.len()).map(|nth| {
        let (value, kind) = object.value(text, nth);
        (object.name(text, nth), value, kind)
    })
}

fn type_of<'a>(object: &'a Object, text: &'a str) -> &'a str {
    let found = members(object, text).find(|(name, _, kind)| *name == "type" && *kind == Kind::String);
    found.map_or("", |(_, ty, _)| ty)
}

fn is_of_geometry(object: &Object, text: &str) -> bool {
    let values = members(object, text).map(|(name, value, _)| (name, value));
    is_geometry(type_of(object, text), values)
}

/// A member of a line: its name, its value as it is written, and what it is.
type Member<'a> = (&'a str, &'a str, Kind);

impl Geometries {
    fn value(&mut self, text: &str, out: &mut Vec<u8>) -> std::result::Result<(), String> {
        let mut object = Object::default();
        object.read(text)?;
        match type_of(&object, text) {
            "FeatureCollection" => {
                let of_features = |(name, value, kind): &Member<'_>| {
                    *name == "features" && *kind == Kind::Nested && value.starts_with('[')
                };
                match members(&object, text).find(of_features) {
                    Some((_, features, _)) => {
                        elements(features).into_iter().try_for_each(|feature| self.value(feature, out))
                    }
                    None => self.line(members(&object, text).collect(), out),
                }
            }
            "Feature" => self.feature(&object, text, out),
            _ if is_of_geometry(&object, text) => self.line(vec![(GEOMETRY, text, Kind::Nested)], out),
            _ => self.line(members(&object, text).collect(), out),
        }
    }

    /// The geometry, the other members of a feature, then its properties.
    fn feature(&mut self, object: &Object, text: &str, out: &mut Vec<u8>) -> std::result::Result<(), String> {
        let (mut own, mut properties) = (Vec::new(), "");
        for member in members(object, text) {
            match member.0 {
                "type" => {}
                "properties" => properties = if member.2 == Kind::Nested { member.1 } else { "" },
                GEOMETRY => own.insert(0, member),
                _ => own.push(member),
            }
        }
        let mut of_properties = Object::default();
        if properties.starts_with('{') {
            of_properties.read(properties)?;
            let free = |member: &Member<'_>| !own.iter().any(|known: &Member<'_>| known.0 == member.0);
            let others: Vec<_> = members(&of_properties, properties).filter(free).collect();
            own.extend(others);
        }
        self.line(own, out)
    }

    fn line(&mut self, of: Vec<Member<'_>>, out: &mut Vec<u8>) -> std::result::Result<(), String> {
        let quoted = |text: &str| serde_json::Value::from(text).to_string();
        let mut parts = Vec::with_capacity(of.len());
        for (name, value, kind) in of {
            let geometry = match kind {
                Kind::Nested if value.starts_with('{') => self.geometry(value)?,
                _ => None,
            };
            let is_other = geometry.is_none() && kind != Kind::Null;
            if is_other || geometry.is_some() {
                let is_mixed = self.seen.entry(name.to_owned()).or_insert(is_other);
                *is_mixed |= is_other;
            }
            let value = match (geometry, kind) {
                (Some(geometry), _) => geometry,
                (None, Kind::String) => quoted(value),
                (None, _) => value.to_owned(),
            };
            parts.push(format!("{}:{value}", quoted(name)));
        }
        out.extend_from_slice(format!("{{{}}}\n", parts.join(",")).as_bytes());
        Ok(())
    }

    /// A geometry as a text; `None` of an object that is none.
    fn geometry(&self, value: &str) -> std::result::Result<Option<String>, String> {
        let mut object = Object::default();
        object.read(value)?;
        if !is_of_geometry(&object, value) {
            return Ok(None);
        }
        match geometry_of_json(value) {
            Ok(geometry) => Ok(Some(serde_json::Value::from(geometry.to_string()).to_string())),
            Err(_) if self.skips_bad => Ok(Some("null".to_owned())),
            Err(what) => Err(what),
        }
    }
}

#[cfg(test)]
mod tests {
    use std::io::Seek;

    use super::*;

    fn said(mut file: File) -> String {
        let mut said = String::new();
        file.rewind().unwrap();
        file.read_to_string(&mut said).unwrap();
        said
    }

    // Keeps away: features that are lost, and properties that take the place of what a feature has itself.
    #[test]
    fn features_become_lines() {
        let collection = r#"{"type":"FeatureCollection","name":"x","features":[
            {"type":"Feature","id":7,"geometry":{"type":"Point","coordinates":[1,2]},"properties":{"id":9,"a":"x\"y"}},
            {"type":"Feature","geometry":null,"properties":{"a":"b","at":{"type":"Point","coordinates":[3,4]}}}]}"#;
        let line = collection.replace('\n', "");
        let (file, geometries) = features(Path::new("f"), line.as_bytes(), false).unwrap();
        assert_eq!(
            said(file),
            "{\"geometry\":\"POINT (1 2)\",\"id\":7,\"a\":\"x\\\"y\"}\n\
             {\"geometry\":null,\"a\":\"b\",\"at\":\"POINT (3 4)\"}\n"
        );
        assert_eq!(geometries, ["at", "geometry"]);
        let others =
            "{\"g\":{\"type\":\"Point\",\"coordinates\":[1,2]}}\n{\"g\":{\"other\":1}}\n{\"type\":\"point\"}";
        let (file, geometries) = features(Path::new("f"), others.as_bytes(), false).unwrap();
        assert_eq!(said(file), "{\"g\":\"POINT (1 2)\"}\n{\"g\":{\"other\":1}}\n{\"type\":\"point\"}\n");
        assert!(geometries.is_empty());
        let bad = "{\"type\":\"Point\",\"coordinates\":[\"a\",2]}";
        let error = features(Path::new("f"), bad.as_bytes(), false).unwrap_err().to_string();
        assert!(error.contains("line 1") && error.contains("no number"), "{error}");
        let (file, _) = features(Path::new("f"), bad.as_bytes(), true).unwrap();
        assert_eq!(said(file), "{\"geometry\":null}\n");
    }

    // Keeps away: values that are no objects and are refused.
    #[test]
    fn values_become_members() {
        let file = wrapped(Path::new("f"), &b"1\n\n[2, 3]\n\"x\""[..], "json").unwrap();
        assert_eq!(said(file), "{\"json\":1}\n\n{\"json\":[2, 3]}\n{\"json\":\"x\"}\n");
        assert!(begins_otherwise(&b"\n [1]"[..]).unwrap() && !begins_otherwise(&b" {}"[..]).unwrap());
        assert!(!begins_otherwise(&b""[..]).unwrap());
    }
}
