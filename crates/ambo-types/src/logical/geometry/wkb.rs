//! Geometries as bytes: what is stored, and WKB of any system.

use super::{DEPTH_MAX, Geometry, Point, Shape};

/// Flags of PostGIS beside the type.
const HAS_Z: u32 = 1 << 31;
const HAS_M: u32 = 1 << 30;
const HAS_SRID: u32 = 1 << 29;

type Read<T> = Result<T, String>;

impl Geometry {
    /// As it is stored.
    pub fn encode(&self) -> Vec<u8> {
        let mut out = Vec::new();
        self.put(&self.shape, &mut out);
        out
    }

    /// What is stored in the bytes.
    ///
    /// # Errors
    /// They are no geometry, or not in the one form that it has.
    pub fn decode(bytes: &[u8]) -> Read<Self> {
        let geometry = Self::of_wkb(bytes)?;
        match geometry.encode() == bytes {
            true => Ok(geometry),
            false => Err("a geometry in another form than the one that is stored".into()),
        }
    }

    /// Reads WKB, in either order of bytes, also with the flags of PostGIS.
    ///
    /// # Errors
    /// What is wrong with it.
    pub fn of_wkb(bytes: &[u8]) -> Read<Self> {
        let mut reader = Reader { bytes, is_little: true };
        let head = reader.head()?;
        let (has_z, has_m) = (head.has_z, head.has_m);
        let shape = reader.shape(&head, 0)?;
        match reader.bytes.len() {
            0 => Ok(Self { has_z, has_m, shape }),
            more => Err(format!("WKB with {more} bytes behind it")),
        }
    }

    fn put(&self, shape: &Shape, out: &mut Vec<u8>) {
        let count = |count: usize, out: &mut Vec<u8>| out.extend((count as u32).to_le_bytes());
        out.push(1);
        let ty = shape.number() + 1000 * u32::from(self.has_z) + 2000 * u32::from(self.has_m);
        out.extend(ty.to_le_bytes());
        let line = |points: &[Point], out: &mut Vec<u8>| {
            count(points.len(), out);
            points.iter().for_each(|point| self.put_point(point, out));
        };
        match shape {
            Shape::Point(point) => self.put_point(&point.unwrap_or([f64::NAN; 4]), out),
            Shape::Line(points) => line(points, out),
            Shape::Polygon(rings) => {
                count(rings.len(), out);
                rings.iter().for_each(|ring| line(ring, out));
            }
            Shape::Points(points) => {
                count(points.len(), out);
                points.iter().for_each(|point| self.put(&Shape::Point(*point), out));
            }
            Shape::Lines(lines) => {
                count(lines.len(), out);
                lines.iter().for_each(|points| self.put(&Shape::Line(points.clone()), out));
            }
            Shape::Polygons(polygons) => {
                count(polygons.len(), out);
                polygons.iter().for_each(|rings| self.put(&Shape::Polygon(rings.clone()), out));
            }
            Shape::Collection(shapes) => {
                count(shapes.len(), out);
                shapes.iter().for_each(|shape| self.put(shape, out));
            }
        }
    }

    fn put_point(&self, point: &Point, out: &mut Vec<u8>) {
        self.numbers(point).for_each(|number| out.extend(number.to_le_bytes()));
    }
}

struct Head {
    number: u32,
    has_z: bool,
    has_m: bool,
}

struct Reader<'a> {
    bytes: &'a [u8],
    is_little: bool,
}

impl Reader<'_> {
    fn take<const N: usize>(&mut self) -> Read<[u8; N]> {
        let (head, rest) = self.bytes.split_first_chunk::<N>().ok_or("WKB that is cut off")?;
        self.bytes = rest;
        Ok(*head)
    }

    fn u32(&mut self) -> Read<u32> {
        let bytes = self.take()?;
        Ok(if self.is_little { u32::from_le_bytes(bytes) } else { u32::from_be_bytes(bytes) })
    }

    /// How many of something follow, each of which has so many bytes at least.
    fn count(&mut self, least: usize) -> Read<usize> {
        let count = self.u32()? as usize;
        match count <= self.bytes.len() / least {
            true => Ok(count),
            false => Err("WKB that is cut off".into()),
        }
    }

    fn head(&mut self) -> Read<Head> {
        self.is_little = match self.take()? {
            [0] => false,
            [1] => true,
            [other] => return Err(format!("WKB that begins with {other}, and not with 0 or 1")),
        };
        let ty = self.u32()?;
        if ty & HAS_SRID > 0 {
            self.u32()?;
        }
        let number = ty & !(HAS_Z | HAS_M | HAS_SRID);
        let (has_z, has_m) = match number / 1000 {
            0 => (ty & HAS_Z > 0, ty & HAS_M > 0),
            1 => (true, false),
            2 => (false, true),
            3 => (true, true),
            _ => return Err(format!("WKB of an unknown type {ty}")),
        };
        Ok(Head { number: number % 1000, has_z, has_m })
    }

    fn point(&mut self, head: &Head) -> Read<Point> {
        let mut point = [0.; 4];
        for (number, is_there) in point.iter_mut().zip([true, true, head.has_z, head.has_m]) {
            if is_there {
                let bytes = self.take()?;
                *number = if self.is_little { f64::from_le_bytes(bytes) } else { f64::from_be_bytes(bytes) };
            }
        }
        Ok(point)
    }

    fn line(&mut self, head: &Head) -> Read<Vec<Point>> {
        (0..self.count(16)?).map(|_| self.point(head)).collect()
    }

    fn lines(&mut self, head: &Head) -> Read<Vec<Vec<Point>>> {
        (0..self.count(4)?).map(|_| self.line(head)).collect()
    }

    /// What is behind a head.
    fn shape(&mut self, head: &Head, depth: usize) -> Read<Shape> {
        Ok(match head.number {
            1 => {
                let point = self.point(head)?;
                let is_empty = point[0].is_nan() && point[1].is_nan();
                Shape::Point((!is_empty).then_some(point))
            }
            2 => Shape::Line(self.line(head)?),
            3 => Shape::Polygon(self.lines(head)?),
            4 => Shape::Points(self.parts(head, depth, |shape| match shape {
                Shape::Point(point) => Some(point),
                _ => None,
            })?),
            5 => Shape::Lines(self.parts(head, depth, |shape| match shape {
                Shape::Line(points) => Some(points),
                _ => None,
            })?),
            6 => Shape::Polygons(self.parts(head, depth, |shape| match shape {
                Shape::Polygon(rings) => Some(rings),
                _ => None,
            })?),
            7 => Shape::Collection(self.parts(head, depth, Some)?),
            other => return Err(format!("WKB of an unknown type {other}")),
        })
    }

    /// The parts of a geometry of many, of which each has a head of its own.
    fn parts<T>(&mut self, of: &Head, depth: usize, part: impl Fn(Shape) -> Option<T>) -> Read<Vec<T>> {
        if depth > DEPTH_MAX {
            return Err(format!("a geometry that is nested deeper than {DEPTH_MAX} levels"));
        }
        let is_little = self.is_little;
        let mut parts = Vec::new();
        for _ in 0..self.count(5)? {
            let head = self.head()?;
            if (head.has_z, head.has_m) != (of.has_z, of.has_m) {
                return Err("a geometry whose parts have other dimensions".into());
            }
            let shape = self.shape(&head, depth + 1)?;
            parts.push(part(shape).ok_or("a geometry with a part of another type")?);
            self.is_little = is_little;
        }
        Ok(parts)
    }
}
