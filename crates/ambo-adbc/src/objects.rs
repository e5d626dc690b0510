//! What there is in a database: `get_objects`, of `information_schema`.

use std::{collections::BTreeMap, sync::Arc};

use adbc_core::{
    options::ObjectDepth,
    schemas::{
        COLUMN_SCHEMA, CONSTRAINT_SCHEMA, GET_OBJECTS_SCHEMA, OBJECTS_DB_SCHEMA_SCHEMA, TABLE_SCHEMA,
        USAGE_SCHEMA,
    },
};
use ambo::Datum;
use arrow_array::{ArrayRef, RecordBatch, new_null_array};

use crate::{
    connection::{CATALOG, KINDS},
    error::{Result, state},
    nested::{ints, lists, shorts, structs, texts, truths},
    result::{Reader, made},
    session::Session,
};

/// What was asked for: names are patterns as those of LIKE.
pub(crate) struct Asked<'a> {
    pub depth: ObjectDepth,
    pub catalog: Option<&'a str>,
    pub db_schema: Option<&'a str>,
    pub table_name: Option<&'a str>,
    pub table_type: Option<Vec<&'a str>>,
    pub column_name: Option<&'a str>,
}

/// A table by its schema and its name.
type Key = (String, String);

struct Table {
    key: Key,
    kind: &'static str,
}

struct Column {
    name: String,
    ordinal: Option<i32>,
    remarks: Option<String>,
    ty: Option<String>,
    precision: Option<i32>,
    scale: Option<i16>,
    is_nullable: bool,
    default: Option<String>,
    numbers_itself: bool,
    is_generated: bool,
}

struct Constraint {
    name: String,
    kind: String,
    columns: Vec<String>,
    /// What a foreign key refers to: schema, table, column.
    usage: Vec<[String; 3]>,
}

fn text(value: &Datum) -> Option<String> {
    match value {
        Datum::Utf8(text) => Some(text.clone()),
        _ => None,
    }
}

fn required(value: &Datum) -> String {
    text(value).unwrap_or_default()
}

fn int(value: &Datum) -> Option<i32> {
    match value {
        Datum::I32(number) => Some(*number),
        _ => None,
    }
}

fn key(row: &[Datum]) -> Key {
    (required(&row[0]), required(&row[1]))
}

fn pattern(of: Option<&str>) -> Datum {
    Datum::Utf8(of.unwrap_or("%").to_owned())
}

/// Everything that was asked for, in one row for the only catalog.
pub(crate) fn reader(session: &Arc<Session>, asked: &Asked<'_>) -> Result<Reader> {
    let is_wanted =
        session.values("SELECT $1 LIKE $2", &[Datum::Utf8(CATALOG.to_owned()), pattern(asked.catalog)])?;
    let schema = GET_OBJECTS_SCHEMA.clone();
    if is_wanted != [[Datum::Bool(true)]] {
        return Ok(made(schema, Vec::new()));
    }
    let schemas = match asked.depth {
        ObjectDepth::Catalogs => new_null_array(schema.field(1).data_type(), 1),
        _ => schemas(session, asked)?,
    };
    let batch = RecordBatch::try_new(schema.clone(), vec![texts([Some(CATALOG)]), schemas]);
    Ok(made(schema, vec![batch.map_err(|error| state(error.to_string()))?]))
}

fn schemas(session: &Arc<Session>, asked: &Asked<'_>) -> Result<ArrayRef> {
    let query = "SELECT schema_name FROM information_schema.schemata WHERE catalog_name = 'ambo' AND schema_name LIKE $1 ORDER BY 1";
    let names: Vec<_> =
        session.values(query, &[pattern(asked.db_schema)])?.iter().map(|row| required(&row[0])).collect();
    let mut columns = vec![("db_schema_name", texts(names.iter().map(|name| Some(name.as_str()))))];
    if !matches!(asked.depth, ObjectDepth::Schemas) {
        let tables = tables(session, asked)?;
        let length = |name: &String| Some(tables.iter().filter(|table| table.key.0 == *name).count());
        let lengths: Vec<_> = names.iter().map(length).collect();
        columns.push(("db_schema_tables", lists(table_structs(session, asked, &tables)?, &lengths)));
    }
    Ok(lists(structs(&OBJECTS_DB_SCHEMA_SCHEMA, names.len(), columns), &[Some(names.len())]))
}

fn tables(session: &Arc<Session>, asked: &Asked<'_>) -> Result<Vec<Table>> {
    let query = "SELECT table_schema, table_name, table_type FROM information_schema.tables
        WHERE table_catalog = 'ambo' AND table_schema LIKE $1 AND table_name LIKE $2 ORDER BY 1, 2";
    let rows = session.values(query, &[pattern(asked.db_schema), pattern(asked.table_name)])?;
    let tables = rows.iter().filter_map(|row| {
        let kind = KINDS.iter().find(|(_, known)| row[2] == Datum::Utf8((*known).to_owned()))?.0;
        let is_wanted = asked.table_type.as_ref().is_none_or(|kinds| kinds.contains(&kind));
        is_wanted.then(|| Table { key: key(row), kind })
    });
    Ok(tables.collect())
}

fn table_structs(session: &Arc<Session>, asked: &Asked<'_>, tables: &[Table]) -> Result<ArrayRef> {
    let mut arrays = vec![
        ("table_name", texts(tables.iter().map(|table| Some(table.key.1.as_str())))),
        ("table_type", texts(tables.iter().map(|table| Some(table.kind)))),
    ];
    if !matches!(asked.depth, ObjectDepth::Tables) {
        let (columns, constraints) = (columns(session, asked)?, constraints(session, asked)?);
        arrays.push(("table_columns", of_tables(tables, &columns, column_structs)));
        arrays.push(("table_constraints", of_tables(tables, &constraints, constraint_structs)));
    }
    Ok(structs(&TABLE_SCHEMA, tables.len(), arrays))
}

/// A list for each table of what it has.
fn of_tables<T>(
    tables: &[Table],
    all: &BTreeMap<Key, Vec<T>>,
    structs: impl Fn(&[&T]) -> ArrayRef,
) -> ArrayRef {
    let of = |table: &Table| all.get(&table.key).map_or(&[][..], Vec::as_slice);
    let lengths: Vec<_> = tables.iter().map(|table| Some(of(table).len())).collect();
    let flat: Vec<_> = tables.iter().flat_map(of).collect();
    lists(structs(&flat), &lengths)
}

fn columns(session: &Arc<Session>, asked: &Asked<'_>) -> Result<BTreeMap<Key, Vec<Column>>> {
    let query = "SELECT table_schema, table_name, column_name, ordinal_position, column_comment, data_type, numeric_precision,
            numeric_scale, is_nullable, column_default, is_identity, is_generated
        FROM information_schema.columns
        WHERE table_catalog = 'ambo' AND table_schema LIKE $1 AND table_name LIKE $2 AND column_name LIKE $3 ORDER BY 1, 2, 4";
    let params = [pattern(asked.db_schema), pattern(asked.table_name), pattern(asked.column_name)];
    let mut all: BTreeMap<_, Vec<_>> = BTreeMap::new();
    for row in session.values(query, &params)? {
        let is = |nth: usize, word: &str| row[nth] == Datum::Utf8(word.to_owned());
        all.entry(key(&row)).or_default().push(Column {
            name: required(&row[2]),
            ordinal: int(&row[3]),
            remarks: text(&row[4]),
            ty: text(&row[5]),
            precision: int(&row[6]),
            scale: int(&row[7]).map(|scale| scale as i16),
            is_nullable: is(8, "YES"),
            default: text(&row[9]),
            numbers_itself: is(10, "YES"),
            is_generated: is(11, "ALWAYS"),
        });
    }
    Ok(all)
}

fn column_structs(columns: &[&Column]) -> ArrayRef {
    let of_text = |value: fn(&Column) -> Option<&str>| texts(columns.iter().map(|column| value(column)));
    let arrays = vec![
        ("column_name", of_text(|column| Some(&column.name))),
        ("ordinal_position", ints(columns.iter().map(|column| column.ordinal))),
        ("remarks", of_text(|column| column.remarks.as_deref())),
        ("xdbc_type_name", of_text(|column| column.ty.as_deref())),
        ("xdbc_column_size", ints(columns.iter().map(|column| column.precision))),
        ("xdbc_decimal_digits", shorts(columns.iter().map(|column| column.scale))),
        ("xdbc_nullable", shorts(columns.iter().map(|column| Some(column.is_nullable.into())))),
        ("xdbc_column_def", of_text(|column| column.default.as_deref())),
        ("xdbc_is_nullable", of_text(|column| Some(if column.is_nullable { "YES" } else { "NO" }))),
        ("xdbc_is_autoincrement", truths(columns.iter().map(|column| column.numbers_itself))),
        ("xdbc_is_generatedcolumn", truths(columns.iter().map(|column| column.is_generated))),
    ];
    structs(&COLUMN_SCHEMA, columns.len(), arrays)
}

fn constraints(session: &Arc<Session>, asked: &Asked<'_>) -> Result<BTreeMap<Key, Vec<Constraint>>> {
    let query = "SELECT c.table_schema, c.table_name, c.constraint_name, c.constraint_type, k.column_name,
            k.referenced_table_schema, k.referenced_table_name, k.referenced_column_name
        FROM information_schema.table_constraints AS c LEFT JOIN information_schema.key_column_usage AS k
            ON c.constraint_name = k.constraint_name AND c.table_name = k.table_name AND c.table_schema = k.table_schema
                AND c.table_catalog = k.table_catalog
        WHERE c.table_catalog = 'ambo' AND c.table_schema LIKE $1 AND c.table_name LIKE $2 ORDER BY 1, 2, 3, k.ordinal_position";
    let mut all: BTreeMap<_, Vec<Constraint>> = BTreeMap::new();
    for row in session.values(query, &[pattern(asked.db_schema), pattern(asked.table_name)])? {
        let of_table = all.entry(key(&row)).or_default();
        let name = required(&row[2]);
        if of_table.last().is_none_or(|last| last.name != name) {
            of_table.push(Constraint {
                name,
                kind: required(&row[3]),
                columns: Vec::new(),
                usage: Vec::new(),
            });
        }
        let constraint = of_table.last_mut().expect("it was just seen to");
        constraint.columns.extend(text(&row[4]));
        if let (Some(schema), Some(table), Some(column)) = (text(&row[5]), text(&row[6]), text(&row[7])) {
            constraint.usage.push([schema, table, column]);
        }
    }
    Ok(all)
}

fn constraint_structs(constraints: &[&Constraint]) -> ArrayRef {
    let columns = texts(constraints.iter().flat_map(|of| &of.columns).map(|column| Some(column.as_str())));
    let lengths: Vec<_> = constraints.iter().map(|of| Some(of.columns.len())).collect();
    let usage: Vec<_> = constraints.iter().flat_map(|of| &of.usage).collect();
    let part = |nth: usize| texts(usage.iter().map(|parts| Some(parts[nth].as_str())));
    let usages = vec![
        ("fk_catalog", texts(usage.iter().map(|_| Some(CATALOG)))),
        ("fk_db_schema", part(0)),
        ("fk_table", part(1)),
        ("fk_column_name", part(2)),
    ];
    let usages = structs(&USAGE_SCHEMA, usage.len(), usages);
    let usage_lengths: Vec<_> =
        constraints.iter().map(|of| (of.kind == "FOREIGN KEY").then_some(of.usage.len())).collect();
    let arrays = vec![
        ("constraint_name", texts(constraints.iter().map(|of| Some(of.name.as_str())))),
        ("constraint_type", texts(constraints.iter().map(|of| Some(of.kind.as_str())))),
        ("constraint_column_names", lists(columns, &lengths)),
        ("constraint_column_usage", lists(usages, &usage_lengths)),
    ];
    structs(&CONSTRAINT_SCHEMA, constraints.len(), arrays)
}
