//! Geometries as texts (WKT).

use std::fmt;

use super::{DEPTH_MAX, Geometry, Point, Shape};

/// The names of types, by their numbers.
const NAMES: [&str; 7] =
    ["POINT", "LINESTRING", "POLYGON", "MULTIPOINT", "MULTILINESTRING", "MULTIPOLYGON", "GEOMETRYCOLLECTION"];

type Read<T> = Result<T, String>;

impl Geometry {
    /// Reads a text. What stands before it of a system of places, `SRID=4326;`, is left out.
    ///
    /// # Errors
    /// What is wrong with it, and where.
    pub fn read(text: &str) -> Read<Self> {
        let mut reader = Reader { text, at: 0, dimensions: None };
        let found = reader.whole();
        found.map_err(|what| {
            let shown: String = text.chars().take(60).collect();
            format!("'{shown}' is no geometry: {what}, at byte {}", reader.at)
        })
    }
}

struct Reader<'t> {
    text: &'t str,
    at: usize,
    /// Whether there are Z and M, as the first type says.
    dimensions: Option<(bool, bool)>,
}

impl<'t> Reader<'t> {
    fn rest(&mut self) -> &'t str {
        let rest = &self.text[self.at..];
        let trimmed = rest.trim_start();
        self.at += rest.len() - trimmed.len();
        trimmed
    }

    fn is(&mut self, sign: char) -> bool {
        let is = self.rest().starts_with(sign);
        self.at += usize::from(is);
        is
    }

    fn expect(&mut self, sign: char) -> Read<()> {
        match self.is(sign) {
            true => Ok(()),
            false => Err(format!("'{sign}' is missing")),
        }
    }

    /// The next letters, in capitals.
    fn word(&mut self) -> String {
        let rest = self.rest();
        let end = rest.find(|sign: char| !sign.is_ascii_alphabetic()).unwrap_or(rest.len());
        self.at += end;
        rest[..end].to_ascii_uppercase()
    }

    fn is_word(&mut self, wanted: &str) -> bool {
        let at = self.at;
        let is = self.word() == wanted;
        if !is {
            self.at = at;
        }
        is
    }

    fn whole(&mut self) -> Read<Geometry> {
        let rest = self.rest();
        if rest.get(..5).is_some_and(|head| head.eq_ignore_ascii_case("SRID=")) {
            let end = rest.find(';').ok_or("a system of places without an end")?;
            self.at += end + 1;
        }
        let shape = self.shape(0)?;
        match self.rest().is_empty() {
            true => {
                let (has_z, has_m) = self.dimensions.unwrap_or_default();
                Ok(Geometry { has_z, has_m, shape })
            }
            false => Err("something follows".into()),
        }
    }

    /// A type, and which numbers its points have.
    fn shape(&mut self, depth: usize) -> Read<Shape> {
        if depth > DEPTH_MAX {
            return Err(format!("it is nested deeper than {DEPTH_MAX} levels"));
        }
        let word = self.word();
        let named = |word: &str| NAMES.iter().position(|name| *name == word);
        let (found, dimensions) = match named(&word) {
            Some(found) => (found, self.dimensions_apart()),
            None => {
                let ends = [("ZM", (true, true)), ("Z", (true, false)), ("M", (false, true))];
                let found =
                    ends.into_iter().find_map(|(end, of)| Some((named(word.strip_suffix(end)?)?, of)));
                found.ok_or("the name of a type is missing, as POINT")?
            }
        };
        if *self.dimensions.get_or_insert(dimensions) != dimensions {
            return Err("parts of a geometry have other dimensions".into());
        }
        Ok(match found {
            0 => Shape::Point(if self.is_word("EMPTY") { None } else { self.in_brackets(Self::point)? }),
            1 => Shape::Line(self.list(Self::full)?),
            2 => Shape::Polygon(self.list(|reader| reader.list(Self::full))?),
            3 => Shape::Points(self.list(Self::any_point)?),
            4 => Shape::Lines(self.list(|reader| reader.list(Self::full))?),
            5 => Shape::Polygons(self.list(|reader| reader.list(|reader| reader.list(Self::full)))?),
            _ => Shape::Collection(self.list(|reader| reader.shape(depth + 1))?),
        })
    }

    /// `Z`, `M` or `ZM` behind the name of a type.
    fn dimensions_apart(&mut self) -> (bool, bool) {
        let at = self.at;
        match self.word().as_str() {
            "ZM" => (true, true),
            "Z" => (true, false),
            "M" => (false, true),
            _ => {
                self.at = at;
                (false, false)
            }
        }
    }

    fn in_brackets<T>(&mut self, read: impl FnOnce(&mut Self) -> Read<T>) -> Read<T> {
        self.expect('(')?;
        let read = read(self)?;
        self.expect(')')?;
        Ok(read)
    }

    /// `EMPTY`, or items between brackets.
    fn list<T>(&mut self, mut item: impl FnMut(&mut Self) -> Read<T>) -> Read<Vec<T>> {
        if self.is_word("EMPTY") {
            return Ok(Vec::new());
        }
        self.in_brackets(|reader| {
            let mut items = vec![item(reader)?];
            while reader.is(',') {
                items.push(item(reader)?);
            }
            Ok(items)
        })
    }

    fn number(&mut self) -> Read<f64> {
        let rest = self.rest();
        let end = rest.find(|sign: char| sign.is_whitespace() || "(),".contains(sign)).unwrap_or(rest.len());
        let number = rest[..end].parse().map_err(|_| "a number is missing".to_owned());
        self.at += if number.is_ok() { end } else { 0 };
        number
    }

    fn full(&mut self) -> Read<Point> {
        let (has_z, has_m) = self.dimensions.unwrap_or_default();
        let mut point = [0.; 4];
        for (number, is_there) in point.iter_mut().zip([true, true, has_z, has_m]) {
            if is_there {
                *number = self.number()?;
            }
        }
        Ok(point)
    }

    /// A point; one without places is empty.
    fn point(&mut self) -> Read<Option<Point>> {
        let point = self.full()?;
        let is_empty = point[0].is_nan() && point[1].is_nan();
        Ok((!is_empty).then_some(point))
    }

    /// A point of many: `1 2`, `(1 2)` or `EMPTY`.
    fn any_point(&mut self) -> Read<Option<Point>> {
        if self.is_word("EMPTY") {
            return Ok(None);
        }
        match self.rest().starts_with('(') {
            true => self.in_brackets(Self::point),
            false => self.point(),
        }
    }
}

impl Geometry {
    fn write(&self, shape: &Shape, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let dimensions = match (self.has_z, self.has_m) {
            (false, false) => "",
            (true, false) => " Z",
            (false, true) => " M",
            (true, true) => " ZM",
        };
        write!(f, "{}{dimensions} ", NAMES[shape.number() as usize - 1])?;
        let line = |points: &Vec<Point>, f: &mut fmt::Formatter<'_>| {
            list(points, f, |point, f| self.write_point(point, f))
        };
        let lines = |all: &Vec<Vec<Point>>, f: &mut fmt::Formatter<'_>| list(all, f, line);
        let point = |point: &Option<Point>, f: &mut fmt::Formatter<'_>| match point {
            Some(point) => self.write_point(point, f),
            None => f.write_str("EMPTY"),
        };
        match shape {
            Shape::Point(None) => f.write_str("EMPTY"),
            Shape::Point(Some(point)) => {
                f.write_str("(")?;
                self.write_point(point, f)?;
                f.write_str(")")
            }
            Shape::Line(points) => line(points, f),
            Shape::Polygon(all) | Shape::Lines(all) => lines(all, f),
            Shape::Points(points) => list(points, f, point),
            Shape::Polygons(all) => list(all, f, lines),
            Shape::Collection(shapes) => list(shapes, f, |shape, f| self.write(shape, f)),
        }
    }

    fn write_point(&self, point: &Point, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (nth, number) in self.numbers(point).enumerate() {
            let before = if nth > 0 { " " } else { "" };
            match number.is_nan() {
                true => write!(f, "{before}nan")?,
                false => write!(f, "{before}{number}")?,
            }
        }
        Ok(())
    }
}

/// Items between brackets.
fn list<T>(
    items: &[T],
    f: &mut fmt::Formatter<'_>,
    item: impl Fn(&T, &mut fmt::Formatter<'_>) -> fmt::Result,
) -> fmt::Result {
    if items.is_empty() {
        return f.write_str("EMPTY");
    }
    for (nth, of) in items.iter().enumerate() {
        f.write_str(if nth > 0 { ", " } else { "(" })?;
        item(of, f)?;
    }
    f.write_str(")")
}

impl fmt::Display for Geometry {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.write(&self.shape, f)
    }
}
