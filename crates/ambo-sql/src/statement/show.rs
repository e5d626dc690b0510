//! SHOW and DESCRIBE: questions to the catalog in a few words.

use std::sync::Arc;

use ambo::{Datum, qualify};
use arrow::datatypes::{DataType, Field, Schema};
use datafusion::sql::sqlparser::{
    ast::{
        self, ObjectName, ShowCreateObject, ShowStatementFilter, ShowStatementFilterPosition,
        ShowStatementOptions,
    },
    parser::Parser,
};

use super::{create_table::exists, create_text, query, set, table, types::literal};
use crate::{
    Connection, Error, Result, Rows, catalog,
    databases::{Kind, MAIN},
    names::{about_object, ident, object, shown, split},
    parse::DIALECT,
    rights::denied,
    rows::Source,
};

/// Whether a statement is a question to the catalog that begins with SHOW.
pub(crate) fn is_show(statement: &ast::Statement) -> bool {
    use ast::Statement as S;
    matches!(
        statement,
        S::ShowTables { .. }
            | S::ShowViews { .. }
            | S::ShowColumns { .. }
            | S::ShowSchemas { .. }
            | S::ShowDatabases { .. }
            | S::ShowCreate { .. }
            | S::ShowVariable { .. }
            | S::ShowVariables { .. }
    )
}

pub(super) fn run(connection: &mut Connection, statement: &ast::Statement) -> Result<Rows<'static>> {
    use ast::Statement as S;
    match statement {
        S::ShowTables { show_options, .. } => {
            tables(connection, show_options, "table_type in ('BASE TABLE', 'LOCAL TEMPORARY', 'VIEW')")
        }
        S::ShowViews { materialized: false, show_options, .. } => {
            tables(connection, show_options, "table_type = 'VIEW'")
        }
        S::ShowSchemas { show_options, .. } => {
            let filter = filter(show_options, "schema_name")?;
            let of = string(connection.session.path.database())?;
            ask(
                connection,
                &format!(
                    "select schema_name from information_schema.schemata \
                     where catalog_name = {of} and {filter} order by schema_name"
                ),
            )
        }
        S::ShowDatabases { show_options, .. } => {
            let filter = filter(show_options, "database_name")?;
            let text = format!(
                "select database_name from ambo_catalog.databases \
                 where database_type <> 'temporary' and {filter} order by database_name"
            );
            ask(connection, &text)
        }
        S::ShowColumns { show_options, .. } => match parent(show_options) {
            Some(name) => columns(connection, name, &filter(show_options, "column_name")?),
            None => Err(Error::invalid("SHOW COLUMNS FROM which table?")),
        },
        S::ExplainTable { table_name, .. } => columns(connection, table_name, "true"),
        S::ShowCreate { obj_type, obj_name } => show_create(connection, obj_type, obj_name),
        S::ShowVariables { .. } => settings(connection),
        S::ShowVariable { variable } => {
            let words: Vec<_> = variable.iter().map(ident).collect();
            match &words.iter().map(String::as_str).collect::<Vec<_>>()[..] {
                ["indexes" | "index" | "indices" | "keys", "from" | "in" | "on", ..] => {
                    let name = ObjectName::from(variable[2..].to_vec());
                    indexes(connection, &name)
                }
                ["all" | "settings"] => settings(connection),
                ["time", "zone"] => {
                    let schema = Arc::new(Schema::new(vec![Field::new("timezone", DataType::Utf8, false)]));
                    let value = vec![Datum::Utf8(connection.time_zone())];
                    Ok(Rows::new(schema, Source::Values([value].into())).with_tag("SHOW", None))
                }
                [name] => {
                    let value = set::setting(connection.engine(), &connection.session, name)?;
                    let schema = Arc::new(Schema::new(vec![Field::new(*name, DataType::Utf8, false)]));
                    Ok(Rows::new(schema, Source::Values([vec![Datum::Utf8(value)]].into()))
                        .with_tag("SHOW", None))
                }
                _ => Err(not_shown(&words.join(" "))),
            }
        }
        other => Err(not_shown(other.to_string().trim_start_matches("SHOW "))),
    }
}

fn not_shown(what: &str) -> Error {
    Error::invalid(format!("not supported: SHOW {what}")).with_hint(
        "there are SHOW TABLES, VIEWS, SCHEMAS, COLUMNS FROM, INDEXES FROM, CREATE TABLE, SETTINGS; and information_schema",
    )
}

/// Asks the catalog.
pub(super) fn ask(connection: &mut Connection, text: &str) -> Result<Rows<'static>> {
    let statement = Parser::new(&DIALECT).try_with_sql(text)?.parse_statement()?;
    Ok(query::run(connection, statement, &[])?.with_tag("SHOW", None))
}

fn string(text: &str) -> Result<String> {
    literal(&text.into(), &arrow::datatypes::DataType::Utf8)
}

/// The name behind FROM or IN.
fn parent(options: &ShowStatementOptions) -> Option<&ObjectName> {
    options.show_in.as_ref()?.parent_name.as_ref()
}

/// What LIKE or WHERE say, as a condition.
fn filter(options: &ShowStatementOptions, column: &str) -> Result<String> {
    let Some(position) = &options.filter_position else { return Ok("true".into()) };
    let (ShowStatementFilterPosition::Infix(filter) | ShowStatementFilterPosition::Suffix(filter)) = position;
    Ok(match filter {
        ShowStatementFilter::Like(pattern) | ShowStatementFilter::NoKeyword(pattern) => {
            format!("{column} like {}", string(pattern)?)
        }
        ShowStatementFilter::ILike(pattern) => format!("{column} ilike {}", string(pattern)?),
        ShowStatementFilter::Where(condition) => format!("({condition})"),
    })
}

fn tables(connection: &mut Connection, options: &ShowStatementOptions, kinds: &str) -> Result<Rows<'static>> {
    let filter = filter(options, "table_name")?;
    let of = match parent(options) {
        None => format!("table_catalog in ('temp', {})", string(connection.session.path.database())?),
        Some(name) => {
            let parts: Vec<_> = name.0.iter().filter_map(|part| part.as_ident()).map(ident).collect();
            let (database, schema) =
                connection.schema_named(&parts).map_err(|error| about_object(error, name))?;
            let schema =
                schema.map(|schema| Ok::<_, Error>(format!("table_schema = {} and ", string(&schema)?)));
            format!("{}table_catalog = {}", schema.transpose()?.unwrap_or_default(), string(&database)?)
        }
    };
    let filter = format!("{of} and {filter}");
    ask(
        connection,
        &format!(
            "select table_schema, table_name, table_type, storage, table_comment from information_schema.tables \
         where {kinds} and {filter} order by table_schema, table_name"
        ),
    )
}

fn columns(connection: &mut Connection, name: &ObjectName, filter: &str) -> Result<Rows<'static>> {
    let qualified = qualify(&object(name)?)?;
    if !exists(&connection.definitions(), &qualified)? {
        table(&connection.definitions(), name)?;
    }
    let (schema, short) = split(&qualified);
    // Tables of the catalog are those of the connection's own database.
    let is_catalog = catalog::SCHEMAS.contains(&schema);
    let database = if is_catalog { MAIN.to_owned() } else { connection.home.name.clone() };
    ask(
        connection,
        &format!(
            "select column_name, data_type, is_nullable, \
         (select max('PRIMARY KEY') from information_schema.statistics s where s.table_catalog = c.table_catalog \
          and s.table_schema = c.table_schema and s.table_name = c.table_name and s.column_name = c.column_name and s.index_name = 'PRIMARY') as key, \
         column_default, column_comment from information_schema.columns c \
         where table_catalog = {} and table_schema = {} and table_name = {} and {filter} order by ordinal_position",
            string(&database)?,
            string(schema)?,
            string(short)?
        ),
    )
}

fn indexes(connection: &mut Connection, name: &ObjectName) -> Result<Rows<'static>> {
    let qualified = table(&connection.definitions(), name)?.definition().name.clone();
    let (schema, short) = split(&qualified);
    ask(
        connection,
        &format!(
            "select index_name, column_name, seq_in_index, non_unique, index_type from information_schema.statistics \
         where table_catalog = {} and table_schema = {} and table_name = {} order by index_name <> 'PRIMARY', index_name, seq_in_index",
            string(&connection.home.name.clone())?,
            string(schema)?,
            string(short)?
        ),
    )
}

fn show_create(connection: &Connection, kind: &ShowCreateObject, name: &ObjectName) -> Result<Rows<'static>> {
    let db = &connection.definitions();
    let qualified = qualify(&object(name)?)?;
    match connection.session.restricted() {
        Some(role) if connection.home.kind != Kind::Temporary && !role.may_see(db, &qualified) => {
            return Err(denied("table", &qualified));
        }
        _ => {}
    }
    let view = db.views().into_iter().find(|view| view.name == qualified);
    let text = match (kind, view) {
        (ShowCreateObject::Table | ShowCreateObject::View, Some(view)) => create_text::view_text(&view),
        (ShowCreateObject::Table, None) => create_text::table_text(&table(db, name)?)?,
        (ShowCreateObject::View, None) => {
            let views = db.views();
            let known = views.iter().map(|view| shown(&view.name));
            return Err(about_object(Error::not_found("view", shown(&qualified), known), name));
        }
        (other, _) => return Err(not_shown(&format!("CREATE {other}"))),
    };
    let text = create_text::of_kind(text, connection.home.kind);
    let fields = ["name", "statement"].map(|name| Field::new(name, DataType::Utf8, false));
    let row = vec![Datum::Utf8(shown(&qualified).to_owned()), Datum::Utf8(text)];
    Ok(Rows::new(Arc::new(Schema::new(fields.to_vec())), Source::Values([row].into())).with_tag("SHOW", None))
}

fn settings(connection: &Connection) -> Result<Rows<'static>> {
    let fields = ["name", "value", "description"].map(|name| Field::new(name, DataType::Utf8, false));
    let row = |(name, what): &(&str, &str)| -> Result<Vec<Datum>> {
        Ok(vec![
            (*name).into(),
            Datum::Utf8(set::setting(connection.engine(), &connection.session, name)?),
            (*what).into(),
        ])
    };
    let rows = set::SETTINGS.iter().map(row).collect::<Result<_>>()?;
    Ok(Rows::new(Arc::new(Schema::new(fields.to_vec())), Source::Values(rows)).with_tag("SHOW", None))
}
