//! What there is: catalogs, schemas, tables, keys. It is asked for with SQL, so a role is told what it may see.

use std::sync::Arc;

use ambo::Datum;
use ambo_sql::Connection;
use arrow_array::{ArrayRef, Int32Array, RecordBatch, StringArray, UInt8Array};
use arrow_flight::sql::{Command, CommandGetCrossReference};
use arrow_schema::{DataType, Field, Schema};
use tonic::Status;

use super::{Done, Flight, status, wrong};
use crate::http::{catalog::quoted, guard::Client, sessions};

/// What the database is called.
pub(super) const CATALOG: &str = "ambo";

const SCHEMAS: &str = "
    select schema_name from information_schema.schemata where catalog_name = 'ambo' order by 1";

const TABLES: &str = "
    select table_schema, table_name, table_type from information_schema.tables
     where table_catalog = 'ambo' order by 1, 2";

const PRIMARY: &str = "
    select table_schema, table_name, column_name, ordinal_position, constraint_name
      from information_schema.key_column_usage
     where constraint_name in (select constraint_name from information_schema.table_constraints where constraint_type = 'PRIMARY KEY')
     order by 1, 2, 4";

/// A foreign key: where it is, and where it leads.
const FOREIGN: &str = "
    select n.nspname, c.relname, a.attname, fn.nspname, fc.relname, fa.attname, k.place, k.conname,
           k.confupdtype, k.confdeltype
      from (select *, unnest(range(1, len(conkey)::int + 1)) as place
              from pg_catalog.pg_constraint where contype = 'f') k
      join pg_catalog.pg_class c on c.oid = k.conrelid
      join pg_catalog.pg_namespace n on n.oid = c.relnamespace
      join pg_catalog.pg_attribute a on a.attrelid = c.oid and a.attnum = k.conkey[k.place]
      join pg_catalog.pg_class fc on fc.oid = k.confrelid
      join pg_catalog.pg_namespace fn on fn.oid = fc.relnamespace
      join pg_catalog.pg_attribute fa on fa.attrelid = fc.oid and fa.attnum = k.confkey[k.place]
     order by 4, 5, 1, 2, 7";

type Row = Vec<Datum>;

fn ask(connection: &mut Connection, sql: &str) -> Done<Vec<Row>> {
    let rows = connection.query(sql, ()).map_err(status)?;
    rows.map(|row| row.map(|row| row.values().to_vec()).map_err(status)).collect()
}

fn text(value: &Datum) -> String {
    match value {
        Datum::Utf8(text) => text.clone(),
        other => other.to_string(),
    }
}

fn number(value: &Datum) -> i32 {
    value.as_ref().as_i64().and_then(|number| i32::try_from(number).ok()).unwrap_or(0)
}

/// The name of the schema that is always there, as SQL has it.
fn schema(value: &Datum) -> String {
    match text(value) {
        public if public == "public" => ambo::DEFAULT_SCHEMA.to_owned(),
        other => other,
    }
}

impl Flight {
    /// The rows of what is asked for.
    pub(super) async fn metadata(&self, client: &Client, command: Command) -> Done<RecordBatch> {
        let mut session = sessions::open(&self.app, client).map_err(status)?;
        let told = tokio::task::spawn_blocking(move || tell(&mut session.connection, command));
        told.await.map_err(|error| Status::internal(error.to_string()))?
    }
}

fn tell(connection: &mut Connection, command: Command) -> Done<RecordBatch> {
    match command {
        Command::CommandGetCatalogs(command) => {
            let mut of = command.into_builder();
            of.append(CATALOG);
            of.build().map_err(wrong)
        }
        Command::CommandGetDbSchemas(command) => {
            let mut of = command.into_builder();
            for row in ask(connection, SCHEMAS)? {
                of.append(CATALOG, text(&row[0]));
            }
            of.build().map_err(wrong)
        }
        Command::CommandGetTables(command) => {
            let with_schema = command.include_schema;
            let mut of = command.into_builder();
            for row in ask(connection, TABLES)? {
                let (schema, name, kind) = (text(&row[0]), text(&row[1]), text(&row[2]));
                let columns =
                    if with_schema { columns_of(connection, &schema, &name) } else { Schema::empty() };
                let kind = if kind == "VIEW" { "VIEW" } else { "TABLE" };
                of.append(CATALOG, schema, name, kind, &columns).map_err(wrong)?;
            }
            of.build().map_err(wrong)
        }
        Command::CommandGetTableTypes(command) => {
            let mut of = command.into_builder();
            of.append("TABLE");
            of.append("VIEW");
            of.build().map_err(wrong)
        }
        Command::CommandGetPrimaryKeys(command) => {
            let rows = ask(connection, PRIMARY)?.into_iter().filter(|row| {
                text(&row[1]) == command.table
                    && command.db_schema.as_ref().is_none_or(|of| *of == text(&row[0]))
            });
            primary(&rows.collect::<Vec<_>>())
        }
        Command::CommandGetExportedKeys(command) => {
            let of = (command.db_schema.as_deref(), command.table.as_str());
            foreign(connection, Some(of), None)
        }
        Command::CommandGetImportedKeys(command) => {
            let of = (command.db_schema.as_deref(), command.table.as_str());
            foreign(connection, None, Some(of))
        }
        Command::CommandGetCrossReference(command) => {
            let CommandGetCrossReference { pk_db_schema, pk_table, fk_db_schema, fk_table, .. } = command;
            foreign(
                connection,
                Some((pk_db_schema.as_deref(), &pk_table)),
                Some((fk_db_schema.as_deref(), &fk_table)),
            )
        }
        other => Err(Status::unimplemented(format!("nothing is told of {}", other.type_url()))),
    }
}

/// The columns of a table; none of a view that cannot be planned any more.
fn columns_of(connection: &mut Connection, schema: &str, name: &str) -> Schema {
    let sql = format!("SELECT * FROM {}", quoted(&format!("{schema}.{name}")));
    let described = connection.prepare(&sql).and_then(|statement| connection.describe(&statement));
    let found = described.ok().and_then(|described| described.schema);
    found.map_or_else(Schema::empty, |schema| schema.as_ref().clone())
}

fn texts(values: impl Iterator<Item = Option<String>>) -> ArrayRef {
    Arc::new(values.collect::<StringArray>())
}

fn primary(rows: &[Row]) -> Done<RecordBatch> {
    let field = |name: &str, nullable| Field::new(name, DataType::Utf8, nullable);
    let fields = vec![
        field("catalog_name", true),
        field("db_schema_name", true),
        field("table_name", false),
        field("column_name", false),
        Field::new("key_sequence", DataType::Int32, false),
        field("key_name", true),
    ];
    let column = |nth: usize| texts(rows.iter().map(move |row| Some(text(&row[nth]))));
    let places: Int32Array = rows.iter().map(|row| Some(number(&row[3]))).collect();
    let columns = vec![
        texts(rows.iter().map(|_| Some(CATALOG.to_owned()))),
        column(0),
        column(1),
        column(2),
        Arc::new(places),
        column(4),
    ];
    RecordBatch::try_new(Arc::new(Schema::new(fields)), columns).map_err(wrong)
}

/// What is done, as the format has it: 0 cascades, 1 restricts, 2 sets NULL, 3 does nothing, 4 sets the default.
fn rule(value: &Datum) -> u8 {
    match text(value).as_str() {
        "c" => 0,
        "r" => 1,
        "n" => 2,
        "d" => 4,
        _ => 3,
    }
}

type Table<'a> = (Option<&'a str>, &'a str);

fn foreign(connection: &mut Connection, to: Option<Table<'_>>, from: Option<Table<'_>>) -> Done<RecordBatch> {
    let is = |wanted: Option<Table<'_>>, row: &Row, place: usize| match wanted {
        None => true,
        Some((of, name)) => text(&row[place + 1]) == name && of.is_none_or(|of| of == schema(&row[place])),
    };
    let rows: Vec<Row> =
        ask(connection, FOREIGN)?.into_iter().filter(|row| is(from, row, 0) && is(to, row, 3)).collect();
    let field = |name: &str, nullable| Field::new(name, DataType::Utf8, nullable);
    let fields = vec![
        field("pk_catalog_name", true),
        field("pk_db_schema_name", true),
        field("pk_table_name", false),
        field("pk_column_name", false),
        field("fk_catalog_name", true),
        field("fk_db_schema_name", true),
        field("fk_table_name", false),
        field("fk_column_name", false),
        Field::new("key_sequence", DataType::Int32, false),
        field("fk_key_name", true),
        field("pk_key_name", true),
        Field::new("update_rule", DataType::UInt8, false),
        Field::new("delete_rule", DataType::UInt8, false),
    ];
    let catalog = || texts(rows.iter().map(|_| Some(CATALOG.to_owned())));
    let schemas = |nth: usize| texts(rows.iter().map(move |row| Some(schema(&row[nth]))));
    let column = |nth: usize| texts(rows.iter().map(move |row| Some(text(&row[nth]))));
    let rules = |nth: usize| -> ArrayRef {
        Arc::new(rows.iter().map(|row| Some(rule(&row[nth]))).collect::<UInt8Array>())
    };
    let places: Int32Array = rows.iter().map(|row| Some(number(&row[6]))).collect();
    let columns = vec![
        catalog(),
        schemas(3),
        column(4),
        column(5),
        catalog(),
        schemas(0),
        column(1),
        column(2),
        Arc::new(places),
        column(7),
        texts(rows.iter().map(|_| None)),
        rules(8),
        rules(9),
    ];
    RecordBatch::try_new(Arc::new(Schema::new(fields)), columns).map_err(wrong)
}
