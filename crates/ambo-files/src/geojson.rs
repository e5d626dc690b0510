//! GeoJSON (RFC 7946): geometries as JSON and back, and features as objects whose members are columns.
//!
//! GeoJSON has no measures, and no place for an empty point among others; both are left out.

use std::fmt::Write;

use ambo::{Geometry, Point, Shape};
use serde_json::Value as Json;

/// Collections in collections, at most.
const DEPTH_MAX: usize = 32;

const NAMES: [&str; 7] =
    ["Point", "LineString", "Polygon", "MultiPoint", "MultiLineString", "MultiPolygon", "GeometryCollection"];

/// A geometry as GeoJSON.
pub fn json_of_geometry(geometry: &Geometry) -> String {
    let mut out = String::new();
    put(geometry, &geometry.shape, &mut out);
    out
}

/// The least rectangle, or box, around a geometry, as GeoJSON has it: first all that is least. `None` without points.
pub fn box_of_geometry(geometry: &Geometry) -> Option<String> {
    let (least, greatest) = geometry.bounds()?;
    let numbers = if geometry.has_z { 3 } else { 2 };
    let mut out = String::new();
    list(least[..numbers].iter().chain(&greatest[..numbers]), &mut out, |number, out| {
        put_number(*number, out)
    });
    Some(out)
}

fn put(of: &Geometry, shape: &Shape, out: &mut String) {
    let point = |point: &Point, out: &mut String| {
        let numbers = &point[..if of.has_z { 3 } else { 2 }];
        list(numbers.iter(), out, |number, out| put_number(*number, out));
    };
    let line = |points: &Vec<Point>, out: &mut String| list(points.iter(), out, point);
    let lines = |all: &Vec<Vec<Point>>, out: &mut String| list(all.iter(), out, line);
    let nth = match shape {
        Shape::Point(_) => 0,
        Shape::Line(_) => 1,
        Shape::Polygon(_) => 2,
        Shape::Points(_) => 3,
        Shape::Lines(_) => 4,
        Shape::Polygons(_) => 5,
        Shape::Collection(_) => 6,
    };
    // Memory takes any text.
    let _ = write!(out, "{{\"type\":\"{}\",\"{}\":", NAMES[nth], within(nth));
    match shape {
        Shape::Point(None) => out.push_str("[]"),
        Shape::Point(Some(of)) => point(of, out),
        Shape::Line(points) => line(points, out),
        Shape::Polygon(all) | Shape::Lines(all) => lines(all, out),
        Shape::Points(points) => list(points.iter().flatten(), out, point),
        Shape::Polygons(all) => list(all.iter(), out, lines),
        Shape::Collection(shapes) => list(shapes.iter(), out, |shape, out| put(of, shape, out)),
    }
    out.push('}');
}

/// The member that has what a type is made of.
fn within(nth: usize) -> &'static str {
    if nth == 6 { "geometries" } else { "coordinates" }
}

fn list<T>(items: impl Iterator<Item = T>, out: &mut String, put: impl Fn(T, &mut String)) {
    out.push('[');
    for (nth, item) in items.enumerate() {
        out.push_str(if nth > 0 { "," } else { "" });
        put(item, out);
    }
    out.push(']');
}

fn put_number(number: f64, out: &mut String) {
    // What no number of JSON is, is nothing. Memory takes any text.
    let _ = match number.is_finite() {
        true => write!(out, "{number:?}"),
        false => write!(out, "null"),
    };
}

type Read<T> = std::result::Result<T, String>;

/// The geometry that GeoJSON says. A height anywhere gives all points one; what is no part of a geometry, and numbers behind the third,
/// are left out.
///
/// # Errors
/// What is wrong with it.
pub fn geometry_of_json(text: &str) -> Read<Geometry> {
    let json: Json = serde_json::from_str(text).map_err(|error| format!("GeoJSON: {error}"))?;
    let mut reader = Reader { has_z: false };
    let shape = reader.shape(&json, 0)?;
    Ok(Geometry { has_z: reader.has_z, has_m: false, shape })
}

/// Whether an object is a geometry by its members, as they are written.
pub(crate) fn is_geometry<'a>(ty: &str, mut members: impl Iterator<Item = (&'a str, &'a str)>) -> bool {
    let Some(nth) = NAMES.iter().position(|name| *name == ty) else { return false };
    members.any(|(name, value)| name == within(nth) && value.starts_with('['))
}

struct Reader {
    has_z: bool,
}

impl Reader {
    fn shape(&mut self, json: &Json, depth: usize) -> Read<Shape> {
        if depth > DEPTH_MAX {
            return Err(format!("GeoJSON: a geometry that is nested deeper than {DEPTH_MAX} levels"));
        }
        let Json::Object(members) = json else { return Err("GeoJSON: a geometry is an object".into()) };
        let Some(Json::String(name)) = members.get("type") else {
            return Err("GeoJSON: a geometry has a text \"type\"".into());
        };
        let nth = NAMES.iter().position(|known| known == name);
        let nth = nth.ok_or_else(|| format!("GeoJSON: there is no type \"{name}\" of geometries"))?;
        let Some(Json::Array(of)) = members.get(within(nth)) else {
            return Err(format!("GeoJSON: a {name} has an array \"{}\"", within(nth)));
        };
        Ok(match nth {
            0 if of.is_empty() => Shape::Point(None),
            0 => Shape::Point(Some(self.numbers(name, of)?)),
            1 => Shape::Line(self.points(name, of)?),
            2 => Shape::Polygon(self.lines(name, of)?),
            3 => Shape::Points(self.points(name, of)?.into_iter().map(Some).collect()),
            4 => Shape::Lines(self.lines(name, of)?),
            5 => Shape::Polygons(self.each(name, of, Self::lines)?),
            _ => Shape::Collection(of.iter().map(|of| self.shape(of, depth + 1)).collect::<Read<_>>()?),
        })
    }

    fn each<T>(
        &mut self,
        name: &str,
        of: &[Json],
        read: fn(&mut Self, &str, &[Json]) -> Read<T>,
    ) -> Read<Vec<T>> {
        let one = |of: &Json| match of {
            Json::Array(of) => read(self, name, of),
            _ => Err(format!("GeoJSON: the coordinates of a {name} have a value where an array is to be")),
        };
        of.iter().map(one).collect()
    }

    fn points(&mut self, name: &str, of: &[Json]) -> Read<Vec<Point>> {
        self.each(name, of, Self::numbers)
    }

    fn lines(&mut self, name: &str, of: &[Json]) -> Read<Vec<Vec<Point>>> {
        self.each(name, of, Self::points)
    }

    fn numbers(&mut self, name: &str, of: &[Json]) -> Read<Point> {
        if of.len() < 2 {
            return Err(format!("GeoJSON: a point of a {name} has two numbers at least"));
        }
        let mut point = [0.; 4];
        for (number, of) in point.iter_mut().zip(of).take(3) {
            *number = of.as_f64().ok_or_else(|| {
                format!("GeoJSON: a point of a {name} has something in it that is no number")
            })?;
        }
        self.has_z |= of.len() > 2;
        Ok(point)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    // Keeps away: geometries that come back from GeoJSON as others.
    #[test]
    fn geometries_come_back() {
        for (text, json) in [
            ("POINT (1 2.5)", "{\"type\":\"Point\",\"coordinates\":[1.0,2.5]}"),
            ("POINT EMPTY", "{\"type\":\"Point\",\"coordinates\":[]}"),
            (
                "LINESTRING Z (1 2 3, 4 5 6)",
                "{\"type\":\"LineString\",\"coordinates\":[[1.0,2.0,3.0],[4.0,5.0,6.0]]}",
            ),
            (
                "GEOMETRYCOLLECTION (POINT (0 0), MULTIPOLYGON (((0 0, 1 0, 1 1, 0 0))))",
                "{\"type\":\"GeometryCollection\",\"geometries\":[{\"type\":\"Point\",\"coordinates\":[0.0,0.0]},\
                 {\"type\":\"MultiPolygon\",\"coordinates\":[[[[0.0,0.0],[1.0,0.0],[1.0,1.0],[0.0,0.0]]]]}]}",
            ),
        ] {
            assert_eq!(json_of_geometry(&Geometry::read(text).unwrap()), json);
            assert_eq!(geometry_of_json(json).unwrap().to_string(), text);
        }
        let mixed =
            geometry_of_json("{\"type\":\"LineString\",\"coordinates\":[[1,2],[3,4,5,6]],\"bbox\":[]}");
        assert_eq!(mixed.unwrap().to_string(), "LINESTRING Z (1 2 0, 3 4 5)");
        let line = Geometry::read("LINESTRING (0 4, 3 -1)").unwrap();
        assert_eq!(box_of_geometry(&line).unwrap(), "[0.0,-1.0,3.0,4.0]");
        assert_eq!(box_of_geometry(&Geometry::read("POINT EMPTY").unwrap()), None);
    }

    // Keeps away: objects that are taken for geometries, and a stack that is used up by one.
    #[test]
    fn others_are_refused() {
        let collections = "{\"type\":\"GeometryCollection\",\"geometries\":[".repeat(40);
        let deep = format!("{collections}{}", "]}".repeat(40));
        let arrays =
            format!("{{\"type\":\"Point\",\"coordinates\":{}{}}}", "[".repeat(9000), "]".repeat(9000));
        for (json, what) in [
            ("{\"type\":\"Nope\",\"coordinates\":[1,2]}", "no type \"Nope\""),
            ("{\"coordinates\":[1,2]}", "a text \"type\""),
            ("{\"type\":\"Point\"}", "an array \"coordinates\""),
            ("{\"type\":\"Point\",\"coordinates\":[\"a\",\"b\"]}", "no number"),
            ("{\"type\":\"Point\",\"coordinates\":[1]}", "two numbers"),
            ("{\"type\":\"Polygon\",\"coordinates\":[1,2]}", "an array is to be"),
            ("{\"type\":\"GeometryCollection\"}", "an array \"geometries\""),
            ("[1,2]", "an object"),
            (&deep, "deeper"),
            (&arrays, "recursion limit"),
        ] {
            let error = geometry_of_json(json).unwrap_err();
            assert!(error.contains(what), "{error}");
        }
    }
}
