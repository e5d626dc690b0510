//! CREATE INDEX.

use ambo::IndexDefinition;
use datafusion::sql::sqlparser::ast::{self, IndexType};

use super::{
    definition::{column_names, place},
    drop::all_indexes,
    table,
};
use crate::{
    Connection, Error, ErrorKind, Result, Rows,
    names::{about, about_object, ident, object, split},
};

const TAG: &str = "CREATE INDEX";

pub(super) fn run(connection: &mut Connection, create: &ast::CreateIndex) -> Result<Rows<'static>> {
    refuse(create)?;
    let table = table(&connection.definitions(), &create.table_name)?;
    let of = table.definition();
    let columns = column_names(&create.columns)?;
    columns.iter().try_for_each(|column| place(of, column).map(drop))?;
    let columns: Vec<_> = columns.iter().map(ident).collect();
    let (schema, short) = split(&of.name);
    let name = match &create.name {
        // In the schema of its table.
        Some(name) if let [own] = &name.0[..] => own.as_ident().map(ident).unwrap_or_default(),
        Some(name) => object(name)?,
        None => {
            let wanted = format!("{short}_{}_idx", columns.join("_"));
            let taken = table.indexes();
            let numbered = (1u64..).map(|number| format!("{wanted}{number}"));
            std::iter::once(wanted.clone())
                .chain(numbered)
                .find(|name| !taken.contains(&format!("{schema}.{name}")))
                .unwrap_or(wanted)
        }
    };
    let is_whole = create.name.as_ref().is_some_and(|name| name.0.len() > 1);
    let name = if is_whole { name } else { format!("{schema}.{name}") };
    let columns: Vec<_> = columns.iter().map(String::as_str).collect();
    let mut index = IndexDefinition::new(&name, &of.name, &columns);
    if create.unique {
        index = index.unique();
    }
    index = match &create.using {
        None | Some(IndexType::BTree) => index,
        Some(IndexType::Hash) => index.hash(),
        Some(IndexType::Custom(kind)) => match ident(kind).as_str() {
            // DuckDB's only kind, a tree, too.
            "ordered" | "art" => index,
            "bitmap" => index.bitmap(),
            other => return Err(about(no_kind(other), kind)),
        },
        Some(other) => return Err(no_kind(&other.to_string())),
    };
    match create_index(connection, &index) {
        Err(error)
            if create.if_not_exists && error.kind() == ErrorKind::Constraint && has(connection, &name) => {}
        made => made.map_err(|error| match &create.name {
            Some(name) => about_object(error, name),
            None => error,
        })?,
    }
    Ok(Rows::done(TAG, None))
}

/// Creates an index: in the open transaction, or else while the table stays in use.
pub(super) fn create_index(connection: &mut Connection, index: &IndexDefinition) -> Result<()> {
    match connection.in_transaction() {
        true => connection.write(&[], |work| Ok(work.transaction.create_index(index)?)),
        false => {
            let (db, interrupter) = (&connection.engine().db, connection.interrupter_ref());
            Ok(interrupter.watch(|cancel| db.create_index_until(index, cancel))?)
        }
    }
}

fn no_kind(name: &str) -> Error {
    Error::invalid(format!("there is no kind of index {name}"))
        .with_hint("there are ordered (also called btree), hash and bitmap")
}

fn has(connection: &Connection, index: &str) -> bool {
    all_indexes(&connection.definitions()).iter().any(|name| name == index)
}

fn refuse(create: &ast::CreateIndex) -> Result<()> {
    let what = match create {
        _ if create.predicate.is_some() => "an index over a part of the rows (WHERE)",
        _ if !create.include.is_empty() => "INCLUDE",
        _ if create.nulls_distinct == Some(false) => "NULLS NOT DISTINCT",
        _ if !create.with.is_empty()
            || !create.index_options.is_empty()
            || !create.alter_options.is_empty() =>
        {
            "options of an index"
        }
        // CONCURRENTLY is how every index is built.
        _ => return Ok(()),
    };
    Err(Error::invalid(format!("not supported: {what}")))
}
