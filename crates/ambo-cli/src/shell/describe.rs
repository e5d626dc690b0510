//! What tables, columns and indexes there are: as rows, in the form that rows have.

use std::io::Write;
use std::sync::Arc;

use ambo::{Object, ObjectKind, Table, TableDefinition, TableInfo, Type};
use arrow_array::{ArrayRef, BooleanArray, RecordBatch, StringArray, UInt64Array};

use super::session::Session;
use super::settings::Mode;
use super::show;
use crate::datum;
use crate::engine::OrFail;
use crate::failure::{Failure, Result};
use crate::output::remark;
use crate::schema::short_name;

fn texts(values: impl Iterator<Item = String>) -> ArrayRef {
    Arc::new(StringArray::from_iter_values(values))
}

fn numbers(values: impl Iterator<Item = u64>) -> ArrayRef {
    Arc::new(UInt64Array::from_iter_values(values))
}

/// Shows columns as a statement's rows are.
fn show(session: &mut Session<'_>, columns: Vec<(&str, ArrayRef)>) -> Result<()> {
    let batch = RecordBatch::try_from_iter(columns)
        .map_err(|error| Failure::Database(format!("a list cannot be made: {error}")))?;
    let reader = show::Reader { max_rows: None, ..session.reader() };
    let mut show = show::show(session.settings.mode, &batch.schema(), reader);
    let out = match &mut session.file {
        Some((_, file)) => file,
        None => &mut *session.out,
    };
    show.batch(&batch, out)?;
    show.end(out)?;
    Ok(())
}

fn infos(session: &Session<'_>) -> Result<(Vec<TableInfo>, usize)> {
    let info = session.store.db.info().or_fail(&session.store.dir)?;
    for (table, what) in &info.damaged {
        remark(&format!("{}: {what}", short_name(&table.name)));
    }
    let mut tables = info.tables;
    tables.sort_by(|a, b| a.definition.name.cmp(&b.definition.name));
    Ok((tables, info.page_size))
}

fn name(definition: &TableDefinition) -> String {
    short_name(&definition.name).to_owned()
}

/// `.tables`
pub fn tables(session: &mut Session<'_>) -> Result<()> {
    let (tables, page_size) = infos(session)?;
    if tables.is_empty() && session.is_watched() {
        return Ok(writeln!(
            session.out,
            "there are no tables; CREATE TABLE makes one, .import loads a file"
        )?);
    }
    show(
        session,
        vec![
            ("table", texts(tables.iter().map(|table| name(&table.definition)))),
            ("storage", texts(tables.iter().map(|table| table.definition.storage.name().to_owned()))),
            ("columns", numbers(tables.iter().map(|table| table.definition.columns.len() as u64))),
            ("rows", numbers(tables.iter().map(|table| table.rows))),
            ("indexes", numbers(tables.iter().map(|table| table.indexes.len() as u64))),
            (
                "bytes",
                numbers(tables.iter().map(|table| table.stored_bytes(page_size) + table.memtable_bytes)),
            ),
        ],
    )
}

/// `.indexes`
pub fn indexes(session: &mut Session<'_>) -> Result<()> {
    let (tables, page_size) = infos(session)?;
    let of = |table: &TableInfo, index: &TableInfo| {
        let of = index.definition.index.as_ref()?;
        let columns = of.columns.iter().map(|&column| table.definition.columns[column].name.as_str());
        let columns = columns.collect::<Vec<_>>().join(", ");
        let state = if of.ready { "" } else { ", being built" };
        Some((columns, crate::index::kind(of.unique, of.kind) + state))
    };
    let all: Vec<_> =
        tables.iter().flat_map(|table| table.indexes.iter().map(move |index| (table, index))).collect();
    if all.is_empty() && session.is_watched() {
        return Ok(writeln!(session.out, "there are no indexes; CREATE INDEX makes one")?);
    }
    let each: Vec<_> = all.iter().map(|(table, index)| of(table, index).unwrap_or_default()).collect();
    show(
        session,
        vec![
            ("index", texts(all.iter().map(|(_, index)| name(&index.definition)))),
            ("table", texts(all.iter().map(|(table, _)| name(&table.definition)))),
            ("columns", texts(each.iter().map(|(columns, _)| columns.clone()))),
            ("kind", texts(each.iter().map(|(_, kind)| kind.clone()))),
            ("entries", numbers(all.iter().map(|(_, index)| index.rows))),
            (
                "bytes",
                numbers(all.iter().map(|(_, index)| index.stored_bytes(page_size) + index.memtable_bytes)),
            ),
        ],
    )
}

/// `.schemas`
pub fn schemas(session: &mut Session<'_>) -> Result<()> {
    let schemas = session.store.db.schemas();
    show(session, vec![("schema", texts(schemas.into_iter()))])
}

/// `.describe`
pub fn describe(session: &mut Session<'_>, wanted: &str) -> Result<()> {
    let table = session.store.table(wanted)?;
    let definition = table.definition();
    let columns = &definition.columns;
    let default =
        |column: &ambo::Column| column.default.as_ref().map_or(String::new(), |value| literal(value, column));
    let defaults = columns.iter().map(default);
    let primary = definition.primary_columns();
    let key = |place: usize| match primary.iter().position(|&column| column == place) {
        Some(nth) if primary.len() > 1 => format!("{}", nth + 1),
        Some(_) => "yes".to_owned(),
        None => String::new(),
    };
    show(
        session,
        vec![
            ("column", texts(columns.iter().map(|column| column.name.clone()))),
            ("type", texts(columns.iter().map(sql_type))),
            ("null", Arc::new(BooleanArray::from_iter(columns.iter().map(|column| Some(column.nullable))))),
            ("default", texts(defaults)),
            ("key", texts((0..columns.len()).map(key))),
        ],
    )?;
    if !session.is_watched() || session.settings.mode != Mode::Table {
        return Ok(());
    }
    let sorted: Vec<_> =
        definition.sort_columns().iter().map(|&column| quoted(&columns[column].name)).collect();
    let order = if sorted.is_empty() { String::new() } else { format!(", sort key ({})", sorted.join(", ")) };
    writeln!(session.out, "storage {}{order}", definition.storage.name())?;
    let (tables, _) = infos(session)?;
    let indexes = tables.iter().filter(|table| table.definition.name == definition.name);
    for index in indexes.flat_map(|of| index_statements(&table, of)) {
        writeln!(session.out, "{index}")?;
    }
    Ok(())
}

/// `.schema`: what makes types, sequences, tables, functions and views again, as SHOW CREATE says it of tables and views.
pub fn schema(session: &mut Session<'_>, only: Option<&str>) -> Result<()> {
    let (sequences, functions) = match only {
        None => (sequence_statements(session)?, function_statements(session)?),
        Some(_) => (Vec::new(), Vec::new()),
    };
    let mut views: Vec<_> = session.store.db.views().iter().map(|view| view.name.clone()).collect();
    let mut tables: Vec<_> = match only {
        None => infos(session)?.0.iter().map(|table| table.definition.name.clone()).collect(),
        Some(only) => {
            let is_it = |view: &String| short_name(view) == short_name(only);
            views.retain(is_it);
            match views.is_empty() {
                true => vec![session.store.table(only)?.definition().name.clone()],
                false => Vec::new(),
            }
        }
    };
    tables.sort_unstable();
    let tables = parents_first(session, tables)?;
    views.sort_unstable();
    // Columns name types, defaults sequences, and views functions.
    let mut all = if only.is_none() { type_statements(session) } else { Vec::new() };
    all.extend(sequences);
    for name in tables {
        all.push(statement(session, "TABLE", short_name(&name))?);
    }
    all.extend(functions);
    for name in views {
        all.push(statement(session, "VIEW", short_name(&name))?);
    }
    let out = match &mut session.file {
        Some((_, file)) => file,
        None => &mut *session.out,
    };
    all.iter().try_for_each(|text| writeln!(out, "{text}"))?;
    Ok(())
}

fn sequence_statements(session: &mut Session<'_>) -> Result<Vec<String>> {
    let text = "select sequence_schema || '.' || sequence_name, start_value, increment, minimum_value, maximum_value,
        case cycle_option when 'YES' then ' CYCLE' else '' end
        from information_schema.sequences order by 1";
    let rows = session.connection.sql(text).map_err(|error| Failure::Database(error.to_string()))?;
    rows.map(|row| {
        let row = row.and_then(|row| row.into_values::<(String, String, String, String, String, String)>());
        let (name, start, by, min, max, cycle) = row.map_err(|error| Failure::Database(error.to_string()))?;
        let path = quoted_path(short_name(&name));
        Ok(format!(
            "CREATE SEQUENCE {path} START {start} INCREMENT BY {by} MINVALUE {min} MAXVALUE {max}{cycle};"
        ))
    })
    .collect()
}

/// Tables behind those that their foreign keys refer to, as far as these do not refer to each other.
fn parents_first(session: &Session<'_>, tables: Vec<String>) -> Result<Vec<String>> {
    let mut waiting = Vec::with_capacity(tables.len());
    for name in tables {
        let definition = session.store.table(short_name(&name))?.definition().clone();
        let parent = |check: &ambo::Check| {
            let text = check.expression.strip_prefix("FOREIGN KEY (")?.split_once(") REFERENCES ")?.1;
            Some(text.split_once(" (")?.0.to_owned())
        };
        let parents: Vec<String> = definition.checks.iter().filter_map(parent).collect();
        waiting.push((quoted_path(short_name(&name)), name, parents));
    }
    let mut ordered = Vec::with_capacity(waiting.len());
    while !waiting.is_empty() {
        let waits = |of: &(String, String, Vec<String>)| {
            of.2.iter().any(|parent| *parent != of.0 && waiting.iter().any(|other| other.0 == *parent))
        };
        let next = waiting.iter().position(|of| !waits(of)).unwrap_or(0);
        ordered.push(waiting.remove(next).1);
    }
    Ok(ordered)
}

fn type_statements(session: &Session<'_>) -> Vec<String> {
    let db = &session.store.db;
    let mut types = db.definitions(db).objects(ObjectKind::Type);
    // Others may have enums within.
    types.sort_by_key(|of| !of.text.to_lowercase().starts_with("enum("));
    types
        .iter()
        .map(|of| format!("CREATE TYPE {} AS {};", quoted_path(short_name(&of.name)), of.text))
        .collect()
}

fn function_statements(session: &Session<'_>) -> Result<Vec<String>> {
    let db = &session.store.db;
    let functions = db.definitions(db).objects(ObjectKind::Function);
    let text = |of: &Object| format!("CREATE FUNCTION {}{};", quoted_path(short_name(&of.name)), of.text);
    Ok(functions.iter().map(|of| text(of)).collect())
}

/// The statements that make a table or a view.
fn statement(session: &mut Session<'_>, kind: &str, name: &str) -> Result<String> {
    let path = quoted_path(name);
    if kind == "TABLE" {
        let table = session.store.table(name)?;
        if table.definition().is_raw() {
            let storage = table.definition().storage.name();
            return Ok(format!("-- {path} is a key-value table: .create {path} --storage {storage}"));
        }
    }
    let rows = session.connection.sql(&format!("SHOW CREATE {kind} {path}"));
    let made = rows.and_then(|rows| rows.single()?.into_values::<(String, String)>());
    made.map(|(_, text)| text).map_err(|error| Failure::Database(error.to_string()))
}

/// The statements that make a table's indexes, but for the one that keeps its primary key.
fn index_statements(of: &Table, table: &TableInfo) -> Vec<String> {
    let statement = |index: &TableInfo| {
        if of.index(&index.definition.name).is_ok_and(|index| index.is_primary()) {
            return None;
        }
        let of = index.definition.index.as_ref()?;
        let columns: Vec<_> =
            of.columns.iter().map(|&column| quoted(&table.definition.columns[column].name)).collect();
        Some(format!(
            "CREATE {}INDEX {} ON {} USING {} ({});",
            if of.unique { "UNIQUE " } else { "" },
            quoted_path(short_name(&index.definition.name)),
            quoted_path(short_name(&table.definition.name)),
            of.kind.name(),
            columns.join(", ")
        ))
    };
    table.indexes.iter().filter_map(statement).collect()
}

/// A type as statements write it.
fn sql_type(column: &ambo::Column) -> String {
    if let Some(logical) = &column.logical {
        return logical.to_string();
    }
    match column.kind {
        Type::U8 => "tinyint unsigned".into(),
        Type::U16 => "smallint unsigned".into(),
        Type::U32 => "int unsigned".into(),
        Type::U64 => "bigint unsigned".into(),
        Type::Binary => "bytea".into(),
        other => other.to_string(),
    }
}

/// A value as statements write it.
fn literal(value: &ambo::Datum, column: &ambo::Column) -> String {
    match value {
        value if column.logical.is_some() => ambo_sql::stored_literal(value, column).unwrap_or_default(),
        ambo::Datum::Null => "NULL".into(),
        ambo::Datum::Bool(_) => value.to_string(),
        value if value.as_ref().as_f64().is_some() => datum::field(value).into_owned(),
        value => format!("'{}'", datum::field(value).replace('\'', "''")),
    }
}

/// A name as statements write it: between quotes where it would be read otherwise.
pub(super) fn quoted(name: &str) -> String {
    let is_plain = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '_';
    let begins_well = name.starts_with(|c: char| c.is_ascii_lowercase() || c == '_');
    match begins_well && name.chars().all(is_plain) && !super::keywords::is_reserved(name) {
        true => name.to_owned(),
        false => format!("\"{}\"", name.replace('"', "\"\"")),
    }
}

/// `schema.table`, each as it must be written.
pub(super) fn quoted_path(name: &str) -> String {
    name.splitn(2, '.').map(quoted).collect::<Vec<_>>().join(".")
}
