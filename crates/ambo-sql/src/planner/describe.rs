//! DESCRIBE and SUMMARIZE of a query: its columns, and what stands in them, as rows.

use arrow::datatypes::DataType;
use datafusion::sql::sqlparser::ast::{Select, SelectItem, TableFactor, With};

use super::{
    ask::Ask,
    trees::{self, mark},
};
use crate::{
    Error, Result,
    error::type_in_sql,
    parse::{DESCRIBE, SUMMARIZE},
};

/// The columns of a description.
const DESCRIPTION: [&str; 6] = ["column_name", "column_type", "null", "key", "default", "extra"];

/// Writes out what a SELECT with one of their marks means.
pub(super) fn write_out(select: &mut Select, with: Option<&With>, ask: &Ask<'_>) -> Result<()> {
    let what = match select.projection.first() {
        Some(SelectItem::UnnamedExpr(first)) => mark(first).map(str::to_owned),
        _ => None,
    };
    let is_summary = match what.as_deref() {
        Some(DESCRIBE) => false,
        Some(SUMMARIZE) => true,
        _ => return Ok(()),
    };
    let mut query = trees::query("SELECT * FROM it");
    trees::select(&mut query).from.clone_from(&select.from);
    query.with = with.cloned();
    let schema = ask.schema(query)?;
    if schema.fields().is_empty() {
        return Err(Error::invalid("a query without columns has no description"));
    }
    let quote = |text: &str| format!("'{}'", text.replace('\'', "''"));
    let mut columns = vec![Vec::new(); if is_summary { SUMMARY.len() } else { DESCRIPTION.len() }];
    for (table, field) in schema.iter() {
        let mut row = vec![quote(&shown(field.name())), quote(&type_in_sql(field.data_type()))];
        if is_summary {
            let parts = table.map(|table| table.to_vec()).unwrap_or_default();
            let parts = parts.iter().map(String::as_str).chain([field.name().as_str()]);
            let column =
                parts.map(|part| format!("\"{}\"", part.replace('"', "\"\""))).collect::<Vec<_>>().join(".");
            row.extend(summary(&column, field.data_type()));
        } else {
            row.push(if field.is_nullable() { "'YES'" } else { "'NO'" }.to_owned());
            row.extend(["CAST(NULL AS VARCHAR)"; 3].map(str::to_owned));
        }
        for (column, value) in columns.iter_mut().zip(row) {
            column.push(value);
        }
    }
    // A list of each column in one row, made rows of: so they stay in order, and the tables are read once.
    let names = if is_summary { &SUMMARY[..] } else { &DESCRIPTION[..] };
    let lists = columns.iter().enumerate().map(|(nth, values)| format!("[{}] AS l{nth}", values.join(", ")));
    let shown = names.iter().enumerate().map(|(nth, name)| format!("unnest(l{nth}) AS \"{name}\""));
    let mut around = trees::query(&format!(
        "SELECT {} FROM (SELECT {} FROM it) AS lists",
        shown.collect::<Vec<_>>().join(", "),
        lists.collect::<Vec<_>>().join(", ")
    ));
    if let TableFactor::Derived { subquery, .. } = &mut trees::select(&mut around).from[0].relation {
        let inner = trees::select(subquery);
        inner.from = if is_summary { select.from.clone() } else { Vec::new() };
    }
    let mut described = trees::query("SELECT * FROM (SELECT 1) AS description");
    let outer = trees::select(&mut described);
    if let TableFactor::Derived { subquery, .. } = &mut outer.from[0].relation {
        **subquery = around;
    }
    select.projection = std::mem::take(&mut outer.projection);
    select.from = std::mem::take(&mut outer.from);
    Ok(())
}

/// A name without what was added to tell it from others.
fn shown(name: &str) -> String {
    super::rewrite::unmarked(name).to_owned()
}

const SUMMARY: [&str; 12] = [
    "column_name",
    "column_type",
    "min",
    "max",
    "approx_unique",
    "avg",
    "std",
    "q25",
    "q50",
    "q75",
    "count",
    "null_percentage",
];

/// What stands in a column: texts, and numbers of rows.
fn summary(column: &str, data_type: &DataType) -> [String; 10] {
    let none = "CAST(NULL AS VARCHAR)";
    let text = |expr: String| format!("CAST({expr} AS VARCHAR)");
    let is_plain = !data_type.is_nested();
    let is_number = data_type.is_numeric();
    let of = |is_there: bool, expr: String| if is_there { text(expr) } else { none.to_owned() };
    let quantile = |share: &str| format!("approx_percentile_cont({share}) WITHIN GROUP (ORDER BY {column})");
    let unique = match is_plain {
        true => format!("CAST(approx_distinct({column}) AS BIGINT)"),
        false => "CAST(NULL AS BIGINT)".to_owned(),
    };
    [
        of(is_plain, format!("min({column})")),
        of(is_plain, format!("max({column})")),
        unique,
        of(is_number, format!("avg(CAST({column} AS DOUBLE))")),
        of(is_number, format!("stddev(CAST({column} AS DOUBLE))")),
        of(is_number, quantile("0.25")),
        of(is_number, quantile("0.5")),
        of(is_number, quantile("0.75")),
        "count(*)".to_owned(),
        format!(
            "CASE WHEN count(*) = 0 THEN CAST(NULL AS DECIMAL(9, 2)) \
             ELSE CAST(round(100.0 * (count(*) - count({column})) / count(*), 2) AS DECIMAL(9, 2)) END"
        ),
    ]
}
