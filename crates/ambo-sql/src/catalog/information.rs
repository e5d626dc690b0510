//! `information_schema`.

use std::sync::Arc;

use ambo::arrow::column_type;
use ambo::{Column, Datum, Table, TableDefinition, Type, View};

use super::{BOOLEAN, Contents, INTEGER, SCHEMAS, TABLES, TEXT, optional, ordinal, text, yes};
use crate::{
    Result,
    databases::{Kind, MAIN, Seen},
    foreign_keys::{ForeignKey, is_kept_text},
    hidden::{self, is_hidden},
    names::split,
    pg_catalog,
    planner::Planner,
    statement::{column_type_in_full, literal, of_kind, table_text, view_text},
    value,
};

/// A handle of each table, by name, with its database.
fn all_tables<'p>(planner: &'p Planner<'_>) -> Result<Vec<(&'p Seen<'p>, Table)>> {
    let mut all = Vec::new();
    for place in planner.catalogs() {
        let seen = planner.place(place);
        let db = seen.definitions();
        for name in db.tables() {
            match db.table(&name) {
                Ok(table) if !planner.shows(place, &table.definition().name) => {}
                Ok(table) => all.push((seen, table)),
                // Dropped a moment ago.
                Err(ambo::Error::NotFound(_)) => {}
                Err(error) => return Err(error.into()),
            }
        }
    }
    Ok(all)
}

/// Each view, with the place of its database.
fn all_views(planner: &Planner<'_>) -> Vec<(usize, Arc<View>)> {
    let of =
        |place: usize| planner.place(place).definitions().views().into_iter().map(move |view| (place, view));
    let is_shown = |(place, view): &(usize, Arc<View>)| planner.shows(*place, &view.name);
    planner.catalogs().into_iter().flat_map(of).filter(is_shown).collect()
}

pub(super) fn schemata(planner: &Planner<'_>) -> Result<Contents> {
    let mut rows = Vec::new();
    for seen in planner.catalogs().into_iter().map(|place| planner.place(place)) {
        rows.extend(seen.definitions().schemas().iter().map(|name| vec![text(seen.name), text(name)]));
        if seen.kind == Kind::Main {
            let own = SCHEMAS.iter().filter(|name| **name != pg_catalog::SCHEMA);
            rows.extend(own.map(|name| vec![text(seen.name), text(*name)]));
        }
    }
    Ok(Contents { columns: &[("catalog_name", TEXT), ("schema_name", TEXT)], rows })
}

pub(super) fn tables(planner: &Planner<'_>) -> Result<Contents> {
    let mut rows = Vec::new();
    let row = |catalog: &str, name: &str, kind: &str, of: [Option<&str>; 3]| {
        let (schema, name) = split(name);
        let row = [catalog, schema, name, kind].map(text);
        row.into_iter().chain(of.map(optional)).collect()
    };
    for (seen, table) in all_tables(planner)? {
        let of = table.definition();
        let kind = if seen.kind == Kind::Temporary { "LOCAL TEMPORARY" } else { "BASE TABLE" };
        let made = of_kind(table_text(&table)?, seen.kind);
        let more = [Some(of.storage.name()), of.comment.as_deref(), Some(made.as_str())];
        rows.push(row(seen.name, &of.name, kind, more));
    }
    for (place, view) in all_views(planner) {
        let made = of_kind(view_text(&view), planner.place(place).kind);
        let more = [None, view.comment.as_deref(), Some(made.as_str())];
        rows.push(row(planner.place(place).name, &view.name, "VIEW", more));
    }
    rows.extend(TABLES.iter().map(|(name, _)| row(MAIN, name, "SYSTEM VIEW", [None; 3])));
    let columns = &[
        ("table_catalog", TEXT),
        ("table_schema", TEXT),
        ("table_name", TEXT),
        ("table_type", TEXT),
        ("storage", TEXT),
        ("table_comment", TEXT),
        ("definition", TEXT),
    ];
    Ok(Contents { columns, rows })
}

pub(super) fn columns(planner: &Planner<'_>) -> Result<Contents> {
    let mut rows = Vec::new();
    for (seen, table) in all_tables(planner)? {
        let of = table.definition();
        for (nth, place) in hidden::seen(of).enumerate() {
            let column = &of.columns[place];
            rows.push(column_row(seen.name, &of.name, nth, column, of.numbers_itself(place))?);
        }
    }
    for (of, view) in all_views(planner) {
        // One that cannot be planned any more has no columns.
        let Ok(plan) = planner.view(of, &view.name, &view.query) else { continue };
        for (place, field) in plan.schema().fields().iter().enumerate() {
            let column = value::column_of(field);
            let mut column = column.unwrap_or_else(|| Column::new(field.name(), Type::Utf8));
            column.nullable = field.is_nullable();
            rows.push(column_row(planner.place(of).name, &view.name, place, &column, false)?);
        }
    }
    let columns = &[
        ("table_catalog", TEXT),
        ("table_schema", TEXT),
        ("table_name", TEXT),
        ("column_name", TEXT),
        ("ordinal_position", INTEGER),
        ("column_default", TEXT),
        ("is_nullable", TEXT),
        ("data_type", TEXT),
        ("numeric_precision", INTEGER),
        ("numeric_scale", INTEGER),
        ("is_identity", TEXT),
        ("column_comment", TEXT),
        ("is_generated", TEXT),
        ("generation_expression", TEXT),
    ];
    Ok(Contents { columns, rows })
}

fn column_row(
    catalog: &str,
    table: &str,
    place: usize,
    column: &Column,
    numbers_itself: bool,
) -> Result<Vec<Datum>> {
    let (schema, name) = split(table);
    let (precision, scale) = match column.kind {
        Type::Decimal128 { precision, scale } => (Datum::I32(precision.into()), Datum::I32(scale.into())),
        _ => (Datum::Null, Datum::Null),
    };
    Ok(vec![
        text(catalog),
        text(schema),
        text(name),
        text(&column.name),
        ordinal(place),
        default_text(column)?.map_or(Datum::Null, text),
        yes(column.nullable),
        text(column_type_in_full(column)),
        precision,
        scale,
        yes(numbers_itself),
        optional(column.comment.as_deref()),
        text(if column.generated().is_some() { "ALWAYS" } else { "NEVER" }),
        optional(column.generated()),
    ])
}

/// What is inserted where no value is given, as an expression.
pub(crate) fn default_text(column: &Column) -> Result<Option<String>> {
    if column.generated().is_some() {
        return Ok(None);
    }
    match (&column.default_expression, &column.default) {
        (Some(text), _) if text == "NULL" => Ok(None),
        (Some(text), _) => Ok(Some(text.clone())),
        (None, Some(value)) => literal(value, &column_type(column)).map(Some),
        (None, None) => Ok(None),
    }
}

pub(super) fn views(planner: &Planner<'_>) -> Result<Contents> {
    let row = |(place, view): (usize, Arc<View>)| {
        let (schema, name) = split(&view.name);
        [planner.place(place).name, schema, name, &view.query, "NONE", "NO"].map(text).to_vec()
    };
    let rows = all_views(planner).into_iter().map(row).collect();
    let columns = &[
        ("table_catalog", TEXT),
        ("table_schema", TEXT),
        ("table_name", TEXT),
        ("view_definition", TEXT),
        ("check_option", TEXT),
        ("is_updatable", TEXT),
    ];
    Ok(Contents { columns, rows })
}

/// A constraint: its name, its kind, and the places of its columns.
type Constraint = (String, &'static str, Vec<usize>);

/// Keys, and what else keeps rows unique.
fn key_constraints(table: &Table) -> Vec<Constraint> {
    let of = table.definition();
    let mut all = Vec::new();
    let primary = of.primary_columns();
    if !primary.is_empty() && !of.duplicates {
        all.push((format!("{}_pkey", split(&of.name).1), "PRIMARY KEY", primary.to_vec()));
    }
    for index in super::indexes(table) {
        // One over expressions is no constraint.
        if index.is_unique() && !index.columns().iter().any(|place| is_hidden(&of.columns[*place])) {
            all.push((split(index.name()).1.to_owned(), "UNIQUE", index.columns().to_vec()));
        }
    }
    all
}

/// Whether a check is a condition that users have given.
fn is_condition(of: &TableDefinition, check: &ambo::Check) -> bool {
    !of.is_of_generated(check) && !is_kept_text(&check.expression)
}

pub(super) fn table_constraints(planner: &Planner<'_>) -> Result<Contents> {
    let mut rows = Vec::new();
    for (seen, table) in all_tables(planner)? {
        let of = table.definition();
        let (schema, name) = split(&of.name);
        let mut row = |constraint: &str, kind: &str, is_deferrable: bool, is_deferred: bool| {
            rows.push(vec![
                text(seen.name),
                text(schema),
                text(constraint),
                text(seen.name),
                text(schema),
                text(name),
                text(kind),
                yes(is_deferrable),
                yes(is_deferred),
            ]);
        };
        key_constraints(&table).iter().for_each(|(name, kind, _)| row(name, kind, false, false));
        for key in ForeignKey::all(of)? {
            row(&key.name, "FOREIGN KEY", key.is_deferrable, key.is_deferred);
        }
        of.checks
            .iter()
            .filter(|check| is_condition(of, check))
            .for_each(|check| row(&check.name, "CHECK", false, false));
    }
    let columns = &[
        ("constraint_catalog", TEXT),
        ("constraint_schema", TEXT),
        ("constraint_name", TEXT),
        ("table_catalog", TEXT),
        ("table_schema", TEXT),
        ("table_name", TEXT),
        ("constraint_type", TEXT),
        ("is_deferrable", TEXT),
        ("initially_deferred", TEXT),
    ];
    Ok(Contents { columns, rows })
}

pub(super) fn key_column_usage(planner: &Planner<'_>) -> Result<Contents> {
    let mut rows = Vec::new();
    for (seen, table) in all_tables(planner)? {
        let of = table.definition();
        let (schema, name) = split(&of.name);
        let row = |constraint: &str, nth: usize, column: &str| {
            let (constraint, table) = ([text(schema), text(constraint)], [text(schema), text(name)]);
            let mut row = vec![text(seen.name)];
            row.extend(constraint);
            row.push(text(seen.name));
            row.extend(table);
            row.extend([text(column), ordinal(nth)]);
            row
        };
        for (constraint, _, columns) in key_constraints(&table) {
            for (nth, column) in columns.iter().enumerate() {
                let mut row = row(&constraint, nth, &of.columns[*column].name);
                row.extend([Datum::Null, Datum::Null, Datum::Null, Datum::Null]);
                rows.push(row);
            }
        }
        for key in ForeignKey::all(of)? {
            let unique = unique_of(seen, &key);
            let place = |referred: &String| unique.as_ref()?.1.iter().position(|column| column == referred);
            let (parent_schema, parent) = split(&key.parent);
            for (nth, (column, referred)) in key.columns.iter().zip(&key.referred).enumerate() {
                let mut row = row(&key.name, nth, column);
                row.push(place(referred).map_or(Datum::Null, ordinal));
                row.extend([text(parent_schema), text(parent), text(referred)]);
                rows.push(row);
            }
        }
    }
    let columns = &[
        ("constraint_catalog", TEXT),
        ("constraint_schema", TEXT),
        ("constraint_name", TEXT),
        ("table_catalog", TEXT),
        ("table_schema", TEXT),
        ("table_name", TEXT),
        ("column_name", TEXT),
        ("ordinal_position", INTEGER),
        ("position_in_unique_constraint", INTEGER),
        // As MySQL has them.
        ("referenced_table_schema", TEXT),
        ("referenced_table_name", TEXT),
        ("referenced_column_name", TEXT),
    ];
    Ok(Contents { columns, rows })
}

/// The key that a foreign key refers to: its name and its columns.
fn unique_of(seen: &Seen<'_>, key: &ForeignKey) -> Option<(String, Vec<String>)> {
    let parent = seen.definitions().table(&key.parent).ok()?;
    let name = |place: &usize| parent.definition().columns[*place].name.clone();
    let all = key_constraints(&parent).into_iter();
    let mut all =
        all.map(|(constraint, _, places)| (constraint, places.iter().map(name).collect::<Vec<_>>()));
    all.find(|(_, columns)| {
        columns.len() == key.referred.len() && columns.iter().all(|column| key.referred.contains(column))
    })
}

pub(super) fn check_constraints(planner: &Planner<'_>) -> Result<Contents> {
    let row = |catalog: &str, of: &TableDefinition, check: &ambo::Check| {
        [catalog, split(&of.name).0, &check.name, &check.expression].map(text).to_vec()
    };
    let mut rows = Vec::new();
    for (seen, table) in all_tables(planner)? {
        let of = table.definition();
        let of_users = of.checks.iter().filter(|check| is_condition(of, check));
        rows.extend(of_users.map(|check| row(seen.name, of, check)));
    }
    let columns = &[
        ("constraint_catalog", TEXT),
        ("constraint_schema", TEXT),
        ("constraint_name", TEXT),
        ("check_clause", TEXT),
    ];
    Ok(Contents { columns, rows })
}

pub(super) fn referential_constraints(planner: &Planner<'_>) -> Result<Contents> {
    let mut rows = Vec::new();
    for (seen, table) in all_tables(planner)? {
        for key in ForeignKey::all(table.definition())? {
            let (child, parent) = (split(&key.child).0, split(&key.parent).0);
            let unique = unique_of(seen, &key).map(|(name, _)| name);
            rows.push(vec![
                text(seen.name),
                text(child),
                text(&key.name),
                text(seen.name),
                text(parent),
                optional(unique.as_deref()),
                text("NONE"),
                text(key.on_update.to_string()),
                text(key.on_delete.to_string()),
            ]);
        }
    }
    let columns = &[
        ("constraint_catalog", TEXT),
        ("constraint_schema", TEXT),
        ("constraint_name", TEXT),
        ("unique_constraint_catalog", TEXT),
        ("unique_constraint_schema", TEXT),
        ("unique_constraint_name", TEXT),
        ("match_option", TEXT),
        ("update_rule", TEXT),
        ("delete_rule", TEXT),
    ];
    Ok(Contents { columns, rows })
}

/// Indexes, a row for each column, as MySQL has them.
pub(super) fn statistics(planner: &Planner<'_>) -> Result<Contents> {
    let mut rows = Vec::new();
    for (seen, table) in all_tables(planner)? {
        let of = table.definition();
        let (schema, name) = split(&of.name);
        let mut row =
            |index: &str, unique: bool, kind: &str, columns: &[usize], texts: Option<Vec<String>>| {
                for (nth, column) in columns.iter().enumerate() {
                    let shown = match (&texts, is_hidden(&of.columns[*column])) {
                        (Some(texts), true) => &texts[nth],
                        _ => &of.columns[*column].name,
                    };
                    rows.push(vec![
                        text(seen.name),
                        text(schema),
                        text(name),
                        Datum::Bool(!unique),
                        text(index),
                        ordinal(nth),
                        text(shown),
                        yes(of.columns[*column].nullable),
                        text(kind),
                    ]);
                }
            };
        row("PRIMARY", !of.duplicates, "ordered", of.primary_columns(), None);
        for index in super::indexes(&table) {
            let (texts, _) = hidden::index_text(of, &index)?;
            row(split(index.name()).1, index.is_unique(), index.kind().name(), index.columns(), Some(texts));
        }
    }
    let columns = &[
        ("table_catalog", TEXT),
        ("table_schema", TEXT),
        ("table_name", TEXT),
        ("non_unique", BOOLEAN),
        ("index_name", TEXT),
        ("seq_in_index", INTEGER),
        ("column_name", TEXT),
        ("nullable", TEXT),
        ("index_type", TEXT),
    ];
    Ok(Contents { columns, rows })
}
