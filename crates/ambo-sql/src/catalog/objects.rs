//! Sequences and functions in `information_schema`.

use std::sync::Arc;

use ambo::{Object, ObjectKind};

use super::{Contents, TEXT, text, yes};
use crate::{Result, functions::known, names::split, planner::Planner, sequences::Definition};

/// Objects of a kind, with the names of their databases.
fn all<'p>(planner: &'p Planner<'_>, kind: ObjectKind) -> Vec<(&'p str, Arc<Object>)> {
    let of = |place: usize| {
        let seen = planner.place(place);
        seen.definitions().objects(kind).into_iter().map(move |object| (seen.name, object))
    };
    planner.catalogs().into_iter().flat_map(of).collect()
}

/// Numbers are texts, as the standard and PostgreSQL have them.
pub(super) fn sequences(planner: &Planner<'_>) -> Result<Contents> {
    let mut rows = Vec::new();
    for (catalog, object) in all(planner, ObjectKind::Sequence) {
        let (schema, name) = split(&object.name);
        let of = Definition::read(&object.text)?;
        let numbers = [of.start, of.min, of.max, of.increment].map(|number| text(number.to_string()));
        let names = [text(catalog), text(schema), text(name), text("bigint")];
        rows.push(names.into_iter().chain(numbers).chain([yes(of.cycle)]).collect());
    }
    let columns = &[
        ("sequence_catalog", TEXT),
        ("sequence_schema", TEXT),
        ("sequence_name", TEXT),
        ("data_type", TEXT),
        ("start_value", TEXT),
        ("minimum_value", TEXT),
        ("maximum_value", TEXT),
        ("increment", TEXT),
        ("cycle_option", TEXT),
    ];
    Ok(Contents { columns, rows })
}

/// The functions that users have created.
pub(super) fn routines(planner: &Planner<'_>) -> Result<Contents> {
    let mut rows = Vec::new();
    for (catalog, object) in all(planner, ObjectKind::Function) {
        let (schema, name) = split(&object.name);
        let names = [catalog, schema, name, "FUNCTION", "SQL", object.text.as_str()];
        rows.push(names.map(text).to_vec());
    }
    let columns = &[
        ("routine_catalog", TEXT),
        ("routine_schema", TEXT),
        ("routine_name", TEXT),
        ("routine_type", TEXT),
        ("routine_body", TEXT),
        ("routine_definition", TEXT),
    ];
    Ok(Contents { columns, rows })
}

/// Those that are there in each database.
pub(super) fn functions(planner: &Planner<'_>) -> Result<Contents> {
    let row = |(name, kind): (String, &str)| vec![text(name), text(kind)];
    let rows = known(planner.state()).into_iter().map(row).collect();
    Ok(Contents { columns: &[("function_name", TEXT), ("function_type", TEXT)], rows })
}
