//! What there is, as tables: `information_schema` (SQL:2016 part 11, as far as there is something to tell, with columns of ours behind),
//! and `ambo_catalog` with figures. They are made when they are asked for, of the schema and the tables at that moment.

pub(crate) mod familiar;
mod figures;
mod information;
mod objects;

use std::sync::Arc;

use ambo::{Datum, Index, Table};
use arrow::datatypes::{DataType, Field, Schema};
use datafusion::{catalog::TableProvider, datasource::MemTable};

use crate::{Error, Result, planner::Planner, value};

/// Schemas whose tables are not stored.
pub(crate) const SCHEMAS: [&str; 3] = ["information_schema", "ambo_catalog", "pg_catalog"];

/// The tables of the catalog.
pub(crate) const TABLES: [(&str, Make); 17] = [
    ("information_schema.schemata", information::schemata),
    ("information_schema.tables", information::tables),
    ("information_schema.columns", information::columns),
    ("information_schema.views", information::views),
    ("information_schema.table_constraints", information::table_constraints),
    ("information_schema.key_column_usage", information::key_column_usage),
    ("information_schema.check_constraints", information::check_constraints),
    ("information_schema.referential_constraints", information::referential_constraints),
    ("information_schema.statistics", information::statistics),
    ("information_schema.sequences", objects::sequences),
    ("information_schema.routines", objects::routines),
    ("ambo_catalog.tables", figures::tables),
    ("ambo_catalog.indexes", figures::indexes),
    ("ambo_catalog.database", figures::database),
    ("ambo_catalog.databases", figures::databases),
    ("ambo_catalog.settings", figures::settings),
    ("ambo_catalog.functions", objects::functions),
];

pub(crate) use information::default_text;

type Make = fn(&Planner<'_>) -> Result<Contents>;

/// A table of the catalog, and its rows.
pub(crate) struct Contents {
    columns: &'static [(&'static str, DataType)],
    rows: Vec<Vec<Datum>>,
}

const TEXT: DataType = DataType::Utf8;
const INTEGER: DataType = DataType::Int32;
const BIGINT: DataType = DataType::Int64;
const BOOLEAN: DataType = DataType::Boolean;

/// The table of the catalog of this name.
///
/// # Errors
/// No such table in the schemas of the catalog, and what goes wrong while figures are taken.
pub(crate) fn table(planner: &Planner<'_>, name: &str) -> Result<Option<Arc<dyn TableProvider>>> {
    let Some((schema, _)) = name.split_once('.') else { return Ok(None) };
    if !SCHEMAS.contains(&schema) {
        return Ok(None);
    }
    let Some((_, make)) = TABLES.iter().find(|(known, _)| *known == name) else {
        return Err(Error::not_found("table", name, TABLES.iter().map(|(name, _)| *name)));
    };
    let Contents { columns, rows } = make(planner)?;
    let fields = columns.iter().map(|(name, ty)| Field::new(*name, ty.clone(), true));
    let schema = Arc::new(Schema::new(fields.collect::<Vec<_>>()));
    let batch = value::batch(&schema, &rows)?;
    Ok(Some(Arc::new(MemTable::try_new(schema, vec![vec![batch]])?)))
}

fn text(value: impl Into<String>) -> Datum {
    Datum::Utf8(value.into())
}

fn optional(value: Option<&str>) -> Datum {
    value.map_or(Datum::Null, text)
}

fn yes(is: bool) -> Datum {
    text(if is { "YES" } else { "NO" })
}

fn count(number: u64) -> Datum {
    Datum::I64(i64::try_from(number).unwrap_or(i64::MAX))
}

fn ordinal(place: usize) -> Datum {
    Datum::I32(i32::try_from(place + 1).unwrap_or(i32::MAX))
}

/// The indexes of a table, without the one that keeps its primary key unique where it has a sort key.
pub(crate) fn indexes(table: &Table) -> Vec<Index> {
    // One that is being built or was dropped a moment ago is none.
    let all = table.indexes().into_iter().filter_map(|name| table.index(&name).ok());
    all.filter(|index| !index.is_primary()).collect()
}
