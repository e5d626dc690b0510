//! Functions of geometries: their texts and bytes, and whether the rectangles around them meet.

use ambo::Geometry;
use ambo_files::{geometry_of_json, json_of_geometry};
use datafusion::common::{Result, exec_err};

use super::plain::{
    Form, Given,
    Kind::{self, Blob, Bool, Double, Text},
    Made, Named, plain,
};
use crate::logical::geometry_of;

pub(super) static ALL: [Named; 11] = [
    plain!(["st_astext", "st_aswkt"], [Kind::Geometry] => Text, |of| Ok(geometry(&of[0])?.to_string().into())),
    plain!(["st_aswkb", "st_asbinary"], [Kind::Geometry] => Blob, |of| Ok(of[0].bytes().to_vec().into())),
    plain!(["st_geomfromtext"], [Text] => Kind::Geometry, |of| made(Geometry::read(of[0].text()))),
    plain!(["st_geomfromwkb"], [Blob] => Kind::Geometry, |of| made(Geometry::of_wkb(of[0].bytes()))),
    plain!(["st_asgeojson"], [Kind::Geometry] => Kind::Json, |of| Ok(json_of_geometry(&geometry(&of[0])?).into())),
    plain!(["st_geomfromgeojson"], [Text] => Kind::Geometry, |of| made(geometry_of_json(of[0].text()))),
    plain!(["st_intersects_extent"], [Kind::Geometry, Kind::Geometry] => Bool, meet),
    plain!(["st_x"], [Kind::Geometry] => Double, |of| number(&of[0], 0)),
    plain!(["st_y"], [Kind::Geometry] => Double, |of| number(&of[0], 1)),
    plain!(["st_z"], [Kind::Geometry] => Double, |of| number(&of[0], 2)),
    plain!(["st_m"], [Kind::Geometry] => Double, |of| number(&of[0], 3)),
];

fn geometry(of: &Given<'_>) -> Result<Geometry> {
    geometry_of(of.bytes())
}

fn made(read: Result<Geometry, String>) -> Result<Made> {
    match read {
        Ok(geometry) => Ok(geometry.encode().into()),
        Err(what) => exec_err!("{what}"),
    }
}

fn meet(of: &[Given<'_>]) -> Result<Made> {
    Ok(geometry(&of[0])?.meets(&geometry(&of[1])?).into())
}

/// A number of a point; NULL of one that has none, or of something else.
fn number(of: &Given<'_>, nth: usize) -> Result<Made> {
    let geometry = geometry(of)?;
    let is_there = [true, true, geometry.has_z, geometry.has_m][nth];
    Ok(match geometry.shape {
        ambo::Shape::Point(point) => point.filter(|_| is_there).map(|point| point[nth]).into(),
        _ => return exec_err!("st_{} takes a point", ["x", "y", "z", "m"][nth]),
    })
}
