//! Geometries of the simple features of OGC: points, lines, polygons, and collections of them, in two dimensions, with a height (Z), a
//! measure (M) or both.
//!
//! They are stored as WKB in one form: little-endian, the type with 1000 for Z and 2000 for M, an empty point with NaN for its numbers. So
//! equal bytes are equal geometries, but for zeros of either sign. Bytes have an order, which says nothing of places.
//!
//! | file | what |
//! |---|---|
//! | `wkb` | bytes, also of other systems: either order, the flags of PostGIS |
//! | `wkt` | texts |

mod wkb;
mod wkt;

/// Collections in collections, at most.
const DEPTH_MAX: usize = 32;

/// A point: x, y, z and m; 0 where a geometry has none.
pub type Point = [f64; 4];

/// See the module.
#[derive(Clone, Debug, PartialEq)]
pub struct Geometry {
    /// Whether points have a height.
    pub has_z: bool,
    /// Whether points have a measure.
    pub has_m: bool,
    /// What it is.
    pub shape: Shape,
}

/// What a geometry is.
#[derive(Clone, Debug, PartialEq)]
pub enum Shape {
    /// A point, or an empty one.
    Point(Option<Point>),
    /// The points of a line.
    Line(Vec<Point>),
    /// The rings of a polygon: the outer one, then holes.
    Polygon(Vec<Vec<Point>>),
    /// Points, some of which may be empty.
    Points(Vec<Option<Point>>),
    /// Lines.
    Lines(Vec<Vec<Point>>),
    /// Polygons.
    Polygons(Vec<Vec<Vec<Point>>>),
    /// Others.
    Collection(Vec<Shape>),
}

impl Shape {
    /// The number of the type in WKB.
    fn number(&self) -> u32 {
        match self {
            Self::Point(_) => 1,
            Self::Line(_) => 2,
            Self::Polygon(_) => 3,
            Self::Points(_) => 4,
            Self::Lines(_) => 5,
            Self::Polygons(_) => 6,
            Self::Collection(_) => 7,
        }
    }

    /// All points.
    fn each_point(&self, see: &mut impl FnMut(&Point)) {
        match self {
            Self::Point(point) => point.iter().for_each(see),
            Self::Line(points) => points.iter().for_each(see),
            Self::Points(points) => points.iter().flatten().for_each(see),
            Self::Polygon(lines) | Self::Lines(lines) => lines.iter().flatten().for_each(see),
            Self::Polygons(polygons) => polygons.iter().flatten().flatten().for_each(see),
            Self::Collection(shapes) => shapes.iter().for_each(|shape| shape.each_point(see)),
        }
    }
}

impl Geometry {
    /// The numbers of a point that this geometry has.
    pub fn numbers<'p>(&self, point: &'p Point) -> impl Iterator<Item = f64> + use<'p> {
        let is_there = [true, true, self.has_z, self.has_m];
        point.iter().zip(is_there).filter(|(_, is_there)| *is_there).map(|(number, _)| *number)
    }

    /// The least and the greatest x, y, z and m of all points; `None` without points.
    pub fn bounds(&self) -> Option<(Point, Point)> {
        let mut found: Option<(Point, Point)> = None;
        self.shape.each_point(&mut |point| {
            let (least, greatest) = found.get_or_insert((*point, *point));
            for at in 0..4 {
                least[at] = least[at].min(point[at]);
                greatest[at] = greatest[at].max(point[at]);
            }
        });
        found
    }

    /// Whether the least rectangles around two geometries have a point in common.
    pub fn meets(&self, other: &Self) -> bool {
        let (Some((from, to)), Some((other_from, other_to))) = (self.bounds(), other.bounds()) else {
            return false;
        };
        (0..2).all(|at| from[at] <= other_to[at] && other_from[at] <= to[at])
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const TEXTS: [&str; 16] = [
        "POINT (0 1.5)",
        "POINT EMPTY",
        "POINT Z EMPTY",
        "POINT M (1 2 4)",
        "POINT ZM (1 2 3 4)",
        "LINESTRING (0 0, 1 1, 2 2)",
        "LINESTRING Z (1 2 3, 4 5 6)",
        "POLYGON ((0 0, 4 0, 4 4, 0 4, 0 0), (1 1, 2 2, 3 3, 1 1))",
        "POLYGON EMPTY",
        "MULTIPOINT (1 2, EMPTY, 3 4)",
        "MULTILINESTRING M ((1 2 4, 3 4 6), (5 6 8, 7 8 10))",
        "MULTIPOLYGON (EMPTY, ((5 5, 7 5, 7 7, 5 7, 5 5)))",
        "GEOMETRYCOLLECTION (POINT (1 1), LINESTRING (0 0, 1 1))",
        "GEOMETRYCOLLECTION ZM (POINT ZM (1 2 3 4), LINESTRING ZM (3 4 5 6, 5 6 7 8))",
        "GEOMETRYCOLLECTION (GEOMETRYCOLLECTION (POINT (-122.4194 37.7749)))",
        "GEOMETRYCOLLECTION EMPTY",
    ];

    // Keeps away: geometries that come back as others, from texts, from what is stored, and from bytes of other systems.
    #[test]
    fn geometries_come_back() {
        for text in TEXTS {
            let geometry = Geometry::read(text).unwrap();
            assert_eq!(geometry.to_string(), text);
            let stored = geometry.encode();
            assert_eq!(Geometry::decode(&stored).unwrap().to_string(), text);
            for cut in 0..stored.len() {
                assert!(Geometry::of_wkb(&stored[..cut]).is_err(), "{text} {cut}");
            }
        }
        // Big-endian, with the flag of PostGIS for Z and a system of places.
        let wkb = [0, 0xA0, 0, 0, 1, 0, 0, 0x10, 0xE6];
        let numbers = [1f64, 2., 3.].map(f64::to_be_bytes).concat();
        let bytes = [&wkb[..], &numbers].concat();
        assert_eq!(Geometry::of_wkb(&bytes).unwrap().to_string(), "POINT Z (1 2 3)");
        assert!(Geometry::decode(&bytes).unwrap_err().contains("form"));
    }

    // Keeps away: forms of texts that other systems write, and texts that are none.
    #[test]
    fn texts_are_read() {
        for (text, like) in [
            ("pointz(1 2 3)", "POINT Z (1 2 3)"),
            (" Point ( 1.0\t-2e0 ) ", "POINT (1 -2)"),
            ("MULTIPOINT((1 2),(3 4))", "MULTIPOINT (1 2, 3 4)"),
            ("SRID=4326;POINT(1 2)", "POINT (1 2)"),
        ] {
            assert_eq!(Geometry::read(text).unwrap().to_string(), like);
        }
        for text in [
            "",
            "POINT",
            "POINT(1)",
            "POINT(1 2 3)",
            "POINT(1 2",
            "POINT(1 2) x",
            "ä POINT(0 1)",
            "CIRCLE(1 2)",
            "GEOMETRYCOLLECTION(POINT Z (1 2 3), POINT(1 2))",
            "POINT(a b)",
        ] {
            assert!(Geometry::read(text).is_err(), "{text}");
        }
        let deep = format!("{}POINT(1 2){}", "GEOMETRYCOLLECTION(".repeat(100_000), ")".repeat(100_000));
        assert!(Geometry::read(&deep).unwrap_err().contains("deep"));
    }

    // Keeps away: rectangles that are said to meet and do not.
    #[test]
    fn rectangles_meet() {
        let of = |text| Geometry::read(text).unwrap();
        let square = of("POLYGON((0 0, 4 0, 4 4, 0 4, 0 0))");
        assert!(square.meets(&of("POINT(4 4)")) && square.meets(&of("LINESTRING(-1 -1, 5 5)")));
        assert!(!square.meets(&of("POINT(4 5)")) && !square.meets(&of("POINT EMPTY")));
    }
}
